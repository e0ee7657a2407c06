"""Telling how far a training has come, and stopping it.

What it does: a Progress calls the caller's report now and then and looks for signals. Long work without the GIL asks its Watch
between pieces of about a million symbols, always from the calling thread and outside of parallel regions; when a signal's handler
has raised (Ctrl-C), that work ends as it would without memory, and `fail` raises what the handler did. So people wait for the
end of a piece, not of a stage, and nobody takes the GIL who does not need it.

The stages and their names are those of the reference (setup_progress and update_progress of the trainers); what is shown of them is
left to hftok.training.progress. The reference itself heeds Ctrl-C only while it reads an iterator.
"""
import time

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t

from hftok._core.parallel cimport parallel_body, parallel_for

cdef extern from *:
    """
    #include <time.h>
    #include <stdint.h>
    static int64_t hftok_nanoseconds(void) {
        struct timespec now;
        timespec_get(&now, TIME_UTC);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }
    """
    int64_t nanoseconds "hftok_nanoseconds"() noexcept nogil

cdef enum:
    PATIENCE = 100_000_000      # nanoseconds between two looks


cdef class Progress:
    """Calls `report(stage, current, total)` at most every 0.1 s, and looks for Ctrl-C as often."""

    def __cinit__(self, report):
        self.report = report
        self.last = time.monotonic()
        self.watch.progress = <void *>self
        self.watch.last = nanoseconds()
        self.watch.stop = False

    def step(self, stage, current, total):
        """A stage has come so far."""
        PyErr_CheckSignals()
        if self.report is not None and time.monotonic() - self.last >= 0.1:
            self.report(stage, current, total)
            self.last = time.monotonic()

    def finish(self, stage, total):
        """The last report of a stage, which is always made."""
        PyErr_CheckSignals()
        if self.report is not None:
            self.report(stage, total, total)
            self.last = time.monotonic()

    cdef int fail(self, str message) except -1:
        """Raise what stopped the work: what a signal's handler raised, or else a MemoryError with the message."""
        if self.error is not None:
            error = self.error
            self.error = None
            raise error
        raise MemoryError(message)


cdef Watch *watch_of(Progress progress) noexcept:
    return NULL if progress is None else &progress.watch


cdef bint look(void *progress) noexcept with gil:
    try:
        PyErr_CheckSignals()
    except BaseException as error:
        (<Progress>progress).error = error
        return True
    return False


cdef bint stopped(Watch *watch) noexcept nogil:
    cdef int64_t now
    if watch == NULL or watch.stop:
        return watch != NULL
    now = nanoseconds()
    # A clock that is set back counts as time gone by.
    if 0 <= now - watch.last < PATIENCE:
        return False
    watch.stop = look(watch.progress)
    watch.last = nanoseconds()
    return watch.stop


cdef struct Slice:
    parallel_body body
    void *ctx
    int64_t first


cdef void run_slice(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Slice *s = <Slice *>ctx
    s.body(s.ctx, s.first + i, thread)


cdef int watched_for(parallel_body body, void *ctx, int64_t n, int threads, Watch *watch) noexcept nogil:
    cdef Slice s
    cdef int64_t share = 4 * threads
    cdef int64_t count, begin, took
    if watch == NULL:
        parallel_for(body, ctx, n, threads)
        return 0
    s.body = body
    s.ctx = ctx
    s.first = 0
    while s.first < n:
        count = min(share, n - s.first)
        begin = nanoseconds()
        parallel_for(run_slice, &s, count, threads)
        s.first += count
        took = nanoseconds() - begin
        if took < PATIENCE // 4:
            share *= 2
        elif took > PATIENCE and share > threads:
            share = max(share // 2, <int64_t>threads)
        if stopped(watch):
            return -1
    return 0
