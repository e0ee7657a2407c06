"""The character-class scanner, scalar tier (see charclass_body.pxi)."""
cdef extern from *:
    """
    #define HT_SCALAR 1
    """
include "charclass_body.pxi"
