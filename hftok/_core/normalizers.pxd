# Normalizers compiled from descriptions (specs, nested tuples of the component's name and arguments).
from libc.stdint cimport int64_t, uint8_t

from hftok._core.normalized cimport PreTokenized, Split
from hftok._core.patterns cimport Pattern


cdef class Step:
    """One normalizer: changes a split's text in place. Returns 0 or the document's error; immutable."""
    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil


cdef class NormalizerProgram:
    cdef readonly bint needs_gil        # run only with the GIL held: a component is a Python object
    cdef readonly object spec
    cdef Step root
    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil


# GPT-2's table: each byte as one character (normalizer and pre-tokenizer ByteLevel).
cdef int byte_level(PreTokenized *p, Split *s) noexcept nogil
