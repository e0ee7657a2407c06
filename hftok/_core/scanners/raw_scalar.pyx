"""The scanner of raw text, scalar tier (see raw_body.pxi)."""
cdef extern from *:
    """
    #define HT_SCALAR 1
    """
include "raw_body.pxi"
