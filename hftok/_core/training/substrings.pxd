# Repeated substrings of a text: see substrings.pyx.
from libc.stdint cimport int64_t, uint32_t

from hftok._core.training.progress cimport Watch

# A substring that occurs `count` times, at `start` among other places.
cdef struct Substring:
    int64_t score               # count * size
    uint32_t start
    uint32_t size

cdef struct SubstringList:
    Substring *item
    int64_t size
    int64_t capacity

cdef int repeated_substrings(const uint32_t *text, int64_t n, uint32_t symbols, int64_t longest, int threads,
                             SubstringList *out, Watch *watch) noexcept nogil
cdef int keep_best(SubstringList *list, const uint32_t *text, int64_t most, Watch *watch) noexcept nogil
