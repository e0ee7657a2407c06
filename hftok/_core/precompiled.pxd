# SentencePiece's precompiled character maps.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.normalized cimport PreTokenized, Split


cdef class Charsmap:
    cdef uint32_t *trie             # a double array
    cdef int64_t trie_size
    cdef bytes _replacements
    cdef const uint8_t *replacements    # NUL-terminated texts, one after the other
    cdef int64_t replacements_size
    cdef uint8_t settled[256]           # ASCII characters that stay as they are and stand alone before ASCII
    cdef int find(self, const uint8_t *text, int64_t size, int64_t *start, int64_t *end) noexcept nogil
    cdef int normalize(self, PreTokenized *p, Split *s) noexcept nogil
    cdef int push_replacement(
        self, PreTokenized *p, int64_t start, int64_t end, int64_t first, int64_t last
    ) noexcept nogil
