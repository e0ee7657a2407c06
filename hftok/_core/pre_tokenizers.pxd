# Pre-tokenizers compiled from descriptions (specs, nested tuples of the component's name and arguments).
from hftok._core.normalized cimport PreTokenized


cdef class Step:
    """One pre-tokenizer: splits every split that has no token. Returns 0 or the document's error; immutable."""
    cdef int run(self, PreTokenized *p) noexcept nogil


cdef class PreTokenizerProgram:
    cdef readonly bint needs_gil        # run only with the GIL held: a component is a Python object
    cdef readonly object spec
    cdef Step root
    cdef int run(self, PreTokenized *p) noexcept nogil
