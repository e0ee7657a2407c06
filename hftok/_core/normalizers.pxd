from hftok._core.normalized cimport PreTokenized, Split
cdef class NormalizerProgram:
    cdef readonly bint needs_gil
    cdef int kinds[16]
    cdef int n
    cdef bint flags[4]
    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil
