from libc.stdint cimport int64_t

ctypedef void (*parallel_body)(void *ctx, int64_t i, int thread) noexcept nogil

# body(ctx, i, thread) for i in [0, n), over at most `threads` threads; thread numbers are 0 .. threads-1, and one number is
# never in two calls at once. Handed out one by one in order, so bodies must not depend on who runs them.
cdef void parallel_for(parallel_body body, void *ctx, int64_t n, int threads) noexcept nogil
