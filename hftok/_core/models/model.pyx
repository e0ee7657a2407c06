"""Base of the model kernels: the token vector and the vocabulary look-ups that all models share."""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc


cdef int tv_push(TokenVec *v, uint32_t id, int value, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t capacity
    cdef ModelToken *data
    if v.size == v.capacity:
        capacity = v.capacity * 2 if v.capacity else 64
        data = <ModelToken *>realloc(v.data, <size_t>capacity * sizeof(ModelToken))
        if data == NULL:
            return MODEL_NO_MEMORY
        v.data = data
        v.capacity = capacity
    v.data[v.size].id = id
    v.data[v.size].value = <uint32_t>value
    v.data[v.size].start = start
    v.data[v.size].end = end
    v.size += 1
    return MODEL_OK


cdef void tv_free(TokenVec *v) noexcept nogil:
    free(v.data)
    v.data = NULL
    v.size = v.capacity = 0


cdef class Model:
    def __init__(self, dict vocab):
        self._vocab = vocab
        self._vocab_r = None
        self.chunk_independent = True

    @property
    def vocab(self):
        """dict[str, int]: the vocabulary."""
        if self._vocab is None:
            self._vocab = self.make_vocab()
        return self._vocab

    @property
    def vocab_r(self):
        """id -> string. Where two strings share an id the later one in the vocabulary's order wins (the reference: hash order)."""
        if self._vocab_r is None:
            self._vocab_r = {i: t for t, i in self.vocab.items()}
        return self._vocab_r

    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil:
        return MODEL_OK

    cdef void *new_scratch(self) noexcept nogil:
        return NULL

    cdef void free_scratch(self, void *scratch) noexcept nogil:
        pass

    def missing_unk(self):
        """The exception of MODEL_MISSING_UNK."""
        return Exception("the model needs its unk token, which is not in the vocabulary")

    def bad_scores(self):
        """The exception of MODEL_BAD_SCORES."""
        return ValueError("the scores give no distribution to sample from")

    def tokenize_str(self, str text):
        """Tokens of one pre-token as (id, value, (start, end)) with byte offsets, as the reference's Model.tokenize."""
        cdef bytes data = text.encode("utf-8")
        cdef const uint8_t *p = data
        cdef int64_t n = len(data)
        cdef TokenVec v
        cdef void *scratch = self.new_scratch()
        cdef int error
        cdef int64_t i
        v.data = NULL
        v.size = v.capacity = 0
        try:
            with nogil:
                error = self.tokenize(p, n, &v, scratch)
            if error == MODEL_NO_MEMORY:
                raise MemoryError("out of memory while tokenizing")
            if error == MODEL_MISSING_UNK:
                raise self.missing_unk()
            if error == MODEL_BAD_SCORES:
                raise self.bad_scores()
            result = []
            for i in range(v.size):
                if v.data[i].value == VALUE_TEXT:
                    value = data[v.data[i].start:v.data[i].end].decode("utf-8", "replace")
                elif v.data[i].value == VALUE_UNK:
                    value = self.unk_string()
                else:
                    value = self.vocab_r.get(v.data[i].id)
                result.append((v.data[i].id, value, (v.data[i].start, v.data[i].end)))
            return result
        finally:
            tv_free(&v)
            self.free_scratch(scratch)

    def unk_string(self):
        return None
