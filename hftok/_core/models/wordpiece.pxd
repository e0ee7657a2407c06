from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.models.model cimport Model, TokenVec
from hftok._core.models.piece_table cimport PieceTable
from hftok._core.models.vocab_map cimport VocabMap


cdef class WordPieceModel(Model):
    cdef VocabMap map
    cdef PieceTable first             # every string: what a word may begin with
    cdef PieceTable following         # strings with the continuing subword prefix, without it
    cdef int64_t max_chars
    cdef uint32_t unk
    cdef bint has_unk
    cdef readonly str unk_token
    cdef readonly str continuing_subword_prefix
    cdef int fill(self, VocabMap vocab, str unk_token, str continuing_subword_prefix, max_input_chars_per_word) except -1
    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil
