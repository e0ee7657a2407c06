# The textbook merge engine: see merge_engine.pyx.
from libc.stdint cimport int64_t

from hftok._core.training.merge_state cimport Engine

cdef int engine_run(Engine *e, int64_t work) noexcept nogil
