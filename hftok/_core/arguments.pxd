# Python arguments converted as the reference converts them. `name` is the parameter's name, for the note that the
# reference adds to the exception ("while processing 'ids'"); None adds no note.
from libc.stdint cimport uint32_t, uint64_t

cdef uint32_t u32_argument(object value, str name) except? 0xFFFFFFFF
cdef uint64_t usize_argument(object value, str name) except? 0xFFFFFFFFFFFFFFFF
cdef bint bool_argument(object value, str name) except -1
cdef str str_argument(object value, str name)
cdef list str_list_argument(object value, str name)
# A malloc'ed array for the caller to free(); never NULL on success. *n gets its length.
cdef uint32_t *u32_array_argument(object value, str name, Py_ssize_t *n) except NULL
# TypeError unless `value` can be taken for a Vec.
cdef int check_sequence(object value) except -1
