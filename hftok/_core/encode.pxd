# What a call needs beside the engine. See encode.pyx.
from hftok._core.encoding cimport Encoding
from hftok._core.engine cimport Affix, Engine
from hftok._core.row_plan cimport RowPlan

cdef class Settings:
    cdef readonly object post_processor
    cdef readonly object truncation
    cdef readonly object padding
    cdef readonly bint full_overflow
    cdef dict plans
    cdef Affix with_special          # around a single sequence; None: not made yet, or there is none
    cdef Affix without_special
    cdef RowPlan plan_with_special   # what these are made from, once they are
    cdef RowPlan plan_without_special
    cdef object counts
    cdef Affix affix_of(self, bint add_special_tokens)

# The Encoding of one short text, or None where it is not of the simplest form. See encode.pyx.
cdef Encoding encode_text(Engine engine, Settings settings, object text, bint add_special_tokens)
