cimport numpy as cnp

# An int64 array of that shape, with values that are not set.
cdef object new_int64(int dimensions, cnp.npy_intp *shape)
