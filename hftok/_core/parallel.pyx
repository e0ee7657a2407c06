"""The one module that knows OpenMP: how many threads a call may use, and a `prange` over its work units.

Rules. `parallel=False` runs on the calling thread; `None` (default) uses `TOKENIZERS_PARALLELISM` if it is set, and is
serial inside a multiprocessing worker; `True` asks for threads in any case. The number of threads is `OMP_NUM_THREADS`, if
set, else the number of cores that this process may use (affinity and, on Linux, the cgroup's CPU quota). A forked child
always runs on the calling thread: libgomp's threads do not survive a fork, and where the parent had opened a parallel region
(we or anybody who shares the library) a region opened in the child would wait for them for ever.

Without OpenMP (`HAVE_OPENMP` false) everything runs on the calling thread, with the same output.
"""
import os
import sys

from cython.parallel cimport prange
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #define HFTOK_OPENMP 1
    static int hftok_thread(void) { return omp_get_thread_num(); }
    static int hftok_processors(void) { return omp_get_num_procs(); }
    #else
    #define HFTOK_OPENMP 0
    static int hftok_thread(void) { return 0; }
    static int hftok_processors(void) { return 1; }
    #endif
    """
    int HFTOK_OPENMP
    int hftok_thread() noexcept nogil
    int hftok_processors() noexcept nogil

HAVE_OPENMP = bool(HFTOK_OPENMP)

cdef bint _forked = False            # this process is a forked child


def _after_fork_in_child():
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


cdef void parallel_for(parallel_body body, void *ctx, int64_t n, int threads) noexcept nogil:
    cdef int64_t i
    if threads <= 1 or n <= 1:
        for i in range(n):
            body(ctx, i, 0)
        return
    for i in prange(n, num_threads=threads, schedule="dynamic", chunksize=1):
        body(ctx, i, hftok_thread())


def _quota():
    """CPUs that the cgroup allows, rounded up; a large number where it says nothing."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as f:
            quota, period = f.read().split()[:2]
        if quota != "max":
            return max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        pass
    return 1 << 20


_cores = None


def cores():
    """Cores that this process may use."""
    global _cores
    if _cores is None:
        try:
            n = len(os.sched_getaffinity(0))
        except AttributeError:
            n = os.cpu_count() or 1
        # With OMP_PROC_BIND the calling thread keeps to one core, and only the runtime knows of the others.
        n = max(n, hftok_processors())
        _cores = max(1, min(n, _quota()))
    return _cores


def _environment_threads():
    """OMP_NUM_THREADS (its first number), or None."""
    value = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return int(value) if value.isdigit() and int(value) > 0 else None


def max_threads():
    """Threads that a parallel call uses: OMP_NUM_THREADS, else the cores of this process.

    >>> max_threads() >= 1
    True
    """
    return _environment_threads() or cores()


def _in_worker_process():
    """Inside a multiprocessing worker, whose siblings already use the other cores."""
    mp = sys.modules.get("multiprocessing.process")
    return mp is not None and mp.parent_process() is not None


def enabled(parallel=None):
    """Whether a call with this `parallel=` may use several threads.

    >>> enabled(False)
    False
    """
    if not HFTOK_OPENMP or _forked or parallel is False:
        return False
    if parallel:
        return True
    value = os.environ.get("TOKENIZERS_PARALLELISM")
    if value is not None:
        # As the reference reads it: these words, in any case, mean no; anything else yes.
        return value.lower() not in ("", "off", "false", "f", "no", "n", "0")
    return not _in_worker_process()


cpdef int threads_for(int64_t units, parallel=None):
    """Threads for a call with `units` work units."""
    if units <= 1 or parallel is False or not enabled(parallel):
        return 1
    return <int>min(<int64_t>max_threads(), units)
