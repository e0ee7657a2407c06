# The initial symbols of a training run: see symbols.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.training.slots cimport WordSource
from hftok._core.training.words cimport WordCounts

cdef int64_t valid_size(const uint8_t *p, int64_t left) noexcept nogil


cdef class Symbols:
    cdef readonly list vocab            # bytes, in id order: special tokens, alphabet, symbols with affixes
    cdef WordCounts words
    cdef WordSource source
    cdef uint32_t *inner                # by code point or byte: id + FIRST_ID, 0 where dropped
    cdef uint32_t *first                # ... with the affixes that a place in the word asks for; may be one table
    cdef uint32_t *last
    cdef uint32_t *only
    cdef int64_t table_size
    cdef list _used                     # ids that occur in the words

    cdef uint32_t *new_table(self) except NULL
