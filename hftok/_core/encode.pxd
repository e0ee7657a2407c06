from libc.stdint cimport int32_t, int64_t

# Which of a sequence's n tokens the reference's `tokenize_with_limit` would have made: the result's number of them, from
# first[0] on. words: their word numbers, added tokens flagged; limit: max_length, 0: no limit.
cdef Py_ssize_t kept_tokens(const int32_t *words, Py_ssize_t n, int64_t limit, bint left, Py_ssize_t *first) noexcept
