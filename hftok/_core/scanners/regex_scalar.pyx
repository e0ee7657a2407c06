"""The scanners of regular expressions, scalar tier (see regex_body.pxi)."""
cdef extern from *:
    """
    #define HT_SCALAR 1
    """
include "regex_body.pxi"
