from libc.stdint cimport int32_t, int64_t

cdef Py_ssize_t kept_tokens(const int32_t *words, Py_ssize_t n, int64_t limit, bint left, Py_ssize_t *first) noexcept nogil
cdef int64_t truncated_lengths(int64_t *a, int64_t *b, int64_t room, int strategy) noexcept nogil
