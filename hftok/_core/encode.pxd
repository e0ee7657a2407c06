# What a call needs beside the engine. See encode.pyx.
from hftok._core.engine cimport Affix

cdef class Settings:
    cdef readonly object post_processor
    cdef readonly object truncation
    cdef readonly object padding
    cdef readonly bint full_overflow
    cdef dict plans
    cdef Affix with_special          # around a single sequence; None: not made yet, or there is none
    cdef Affix without_special
    cdef object counts
    cdef Affix affix_of(self, bint add_special_tokens)
