# The exact path: added tokens, normalizer, pre-tokenizer and model on one sequence, with alignments. See exact.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from hftok._core.added_tokens cimport AddedMatcher
from hftok._core.models.model cimport Model, TokenVec
from hftok._core.normalized cimport PreTokenized
from hftok._core.normalizers cimport NormalizerProgram
from hftok._core.pre_tokenizers cimport PreTokenizerProgram

cdef enum:
    VALUE_ADDED = 3          # the token's string is the normalized text of an added token

cdef struct ExactToken:
    uint32_t id
    uint32_t value           # VALUE_*
    uint32_t start           # characters of the sequence
    uint32_t end
    int32_t word             # number of the split
    int32_t reserved
    int64_t text_start       # VALUE_TEXT, VALUE_ADDED: bytes [text_start, text_end) of pt.text
    int64_t text_end

cdef struct ExactState:
    PreTokenized pt
    TokenVec pieces
    void *model_scratch
    ExactToken *tokens
    int64_t n_tokens
    int64_t capacity

cdef int state_init(ExactState *x, Model model) noexcept nogil
cdef void state_free(ExactState *x, Model model) noexcept nogil

cdef class Pipeline:
    cdef readonly NormalizerProgram normalizer
    cdef readonly PreTokenizerProgram pre_tokenizer
    cdef readonly Model model
    cdef readonly AddedMatcher raw
    cdef readonly AddedMatcher normalized
    cdef readonly bint needs_gil
    # Steps up to the pre-tokens (in x.pt.splits); then the model on them. 0 or an error: PT_* below 16, MODEL_* + 16.
    cdef int split(self, ExactState *x, const uint8_t *text, int64_t size) noexcept nogil
    # limit >= 0: stop as the reference does once that many tokens are there (after a pre-token); left: count from the end.
    cdef int tokens(self, ExactState *x, int64_t limit, bint left, bint spans) noexcept nogil
    cdef object failure(self, int error)

cdef uint32_t char_index(const uint8_t *text, int64_t *cursor, int64_t *chars, int64_t at) noexcept nogil
