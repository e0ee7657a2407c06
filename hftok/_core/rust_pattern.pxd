from libc.stdint cimport int64_t, uint8_t

from hftok._core.normalized cimport PreTokenized
from hftok._core.patterns cimport Pattern

cdef class RustPattern(Pattern):
    # The next match from `at` on, `last` being the end of the match before it (-1: none): its end, and its beginning in
    # `start`; negative: there is none, or p.error is set. After an empty match go on one character behind its end.
    cdef int64_t next(
        self, PreTokenized *p, const uint8_t *text, int64_t size, int64_t at, int64_t last, int64_t *start
    ) noexcept nogil
