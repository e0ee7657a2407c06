cimport numpy as cnp

# Arrays of that shape, with values that are not set.
cdef object new_int64(int dimensions, cnp.npy_intp *shape)
cdef object new_array(int dimensions, cnp.npy_intp *shape, int kind, int item_size)

# Memory of the same kind for buffers that may become arrays (`adopt`): as malloc, realloc and free.
cdef void *kept_malloc(size_t size) noexcept nogil
cdef void *kept_realloc(void *data, size_t size) noexcept nogil
cdef void kept_free(void *data) noexcept nogil
# An array over a buffer of kept memory, which it owns from now on.
cdef object adopt(void *data, cnp.npy_intp *shape, int dimensions, int kind)
# A short uint32 array of n values, with the least around it. Its memory is NumPy's own.
cdef object new_uint32(cnp.npy_intp n)
