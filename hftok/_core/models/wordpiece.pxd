from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.models.model cimport Model, TokenVec
from hftok._core.trie cimport ByteTrie


cdef class WordPieceModel(Model):
    cdef ByteTrie trie
    cdef uint32_t continuing          # the trie node of the continuing subword prefix, or TRIE_NONE
    cdef int64_t max_chars
    cdef uint32_t unk
    cdef bint has_unk
    cdef readonly str unk_token
    cdef readonly str continuing_subword_prefix
    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil
