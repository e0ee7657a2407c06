# Arrays of kernels as one block of memory, which can be written to a file and read again; see stored.pyx.
from libc.stdint cimport int64_t, uint8_t

cdef class Block:
    """What a file held. Its arrays are used where they lie, by kernels that keep a reference to the block."""
    cdef uint8_t *data
    cdef readonly int64_t size
    cdef readonly dict sections              # name -> (offset, bytes)
    # The array of a section, `count` items of `item` bytes; StoredError where there is none, or no whole number of them.
    cdef void *array(self, str name, int64_t item, int64_t *count) except NULL
    # The same, of so many items exactly.
    cdef void *exactly(self, str name, int64_t item, int64_t count) except NULL

# StoredError unless the condition holds.
cdef int demand(bint condition) except -1
# Memory as a read-only view, for writing it out. Whoever owns it must outlive the view.
cdef object view(const void *p, int64_t size)
cdef bytes copied(const void *p, int64_t size)
