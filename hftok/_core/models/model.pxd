# What every model kernel offers the engine: tokenize one pre-token (normalized UTF-8 bytes) into a token vector.
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef enum:
    MODEL_OK = 0
    MODEL_NO_MEMORY = 1      # -> MemoryError
    MODEL_MISSING_UNK = 2    # the unk token is needed and not in the vocabulary -> Exception, the model's message
    MODEL_BAD_SCORES = 3     # Unigram sampling met weights that are no distribution -> ValueError, the model's message

cdef enum:
    VALUE_VOCAB = 0          # the token's string is the vocabulary's string of its id
    VALUE_TEXT = 1           # ... is the text [start, end) of the pre-token (Unigram's unknown pieces)
    VALUE_UNK = 2            # ... is the model's unk_token string

cdef struct ModelToken:
    uint32_t id
    uint32_t value           # VALUE_*
    int64_t start            # bytes, relative to the pre-token
    int64_t end

cdef struct TokenVec:
    ModelToken *data
    int64_t size
    int64_t capacity

cdef int tv_push(TokenVec *v, uint32_t id, int value, int64_t start, int64_t end) noexcept nogil
cdef void tv_free(TokenVec *v) noexcept nogil

cdef class Model:
    """Base of the model kernels. Immutable after construction; `tokenize` is safe from many threads at once, each with
    its own vector and scratch."""
    cdef object _vocab                  # dict[str, int]; None: `make_vocab` gives it when it is asked for
    cdef object make_vocab
    cdef object _vocab_r                # dict[int, str], made when first asked for
    cdef public bint knows_itself       # a vocabulary string of up to 16 bytes, as a pre-token, is one token: its own id
    cdef public bint text_values        # a token's string may be the text itself (VALUE_TEXT)
    cdef public bint chunk_independent  # the tokens of a pre-token depend on its text alone (no dropout, no sampling) and lie in it
    # Append the tokens of one pre-token. `scratch` is a per-thread void* that a model may fill (see new_scratch).
    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil
    cdef void *new_scratch(self) noexcept nogil        # NULL where a model needs none
    cdef void free_scratch(self, void *scratch) noexcept nogil
