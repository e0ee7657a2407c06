# The pieces of a Unigram vocabulary with their scores, as arrays; see piece_list.pyx.
from libc.stdint cimport int64_t

from hftok._core.models.vocab_map cimport ByteBuffer
from hftok._core.stored cimport Block

cdef class PieceList:
    """Read-only pieces in the order of their ids."""
    cdef ByteBuffer text                     # every piece, one after the other
    cdef int64_t *offsets                    # piece i is text[offsets[i], offsets[i + 1])
    cdef double *scores
    cdef readonly int64_t size
    cdef Block block                         # keeps the memory of arrays that are borrowed
    cdef bint borrowed
