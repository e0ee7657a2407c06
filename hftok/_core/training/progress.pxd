# Progress and interruption of a training: see progress.pyx.
from libc.stdint cimport int64_t

from hftok._core.parallel cimport parallel_body

# What nogil code knows of a Progress: enough to ask now and then whether to go on.
cdef struct Watch:
    void *progress              # the Progress, which outlives this
    int64_t last                # when it was last asked, in nanoseconds
    bint stop


cdef class Progress:
    cdef object report
    cdef double last
    cdef object error           # what a signal's handler raised while nogil code was at work
    cdef Watch watch
    cdef int fail(self, str message) except -1


# The Watch of a Progress, or NULL for None.
cdef Watch *watch_of(Progress progress) noexcept
# Whether to give up: looks for Ctrl-C, at most every 0.1 s. Nothing for other threads than the caller's. NULL: never.
cdef bint stopped(Watch *watch) noexcept nogil
# parallel_for in slices, between which it asks. 0, or -1 where it was told to stop, and some units are not done.
cdef int watched_for(parallel_body body, void *ctx, int64_t n, int threads, Watch *watch) noexcept nogil
