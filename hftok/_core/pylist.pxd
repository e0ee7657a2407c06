# Python lists made from C arrays: what the properties of Encoding and the id results of the engine hand out.
# Every function returns a new list and holds the GIL; an allocation failure raises MemoryError.
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef list list_from_u32(const uint32_t *values, Py_ssize_t n)
cdef list list_of_constant(object value, Py_ssize_t n)
# 2 * n numbers -> n tuples (start, end)
cdef list list_of_pairs(const uint64_t *pairs, Py_ssize_t n)
# -1 -> None
cdef list list_of_optional(const int64_t *values, Py_ssize_t n)
cdef object int_from_u64(uint64_t value)

# The same values into the slots [at, at + n) of a list from PyList_New, which are still empty.
cdef int fill_u32(list out, Py_ssize_t at, const uint32_t *values, Py_ssize_t n) except -1
cdef int fill_constant(list out, Py_ssize_t at, object value, Py_ssize_t n) except -1
cdef int fill_pairs(list out, Py_ssize_t at, const uint32_t *pairs, Py_ssize_t n) except -1
