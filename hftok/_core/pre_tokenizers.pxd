from hftok._core.normalized cimport PreTokenized, Split
cdef class PreTokenizerProgram:
    cdef readonly bint needs_gil
    cdef int run(self, PreTokenized *p) noexcept nogil
