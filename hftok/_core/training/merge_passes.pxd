# Merging in one pass over the text: see merge_passes.pyx.
from libc.stdint cimport int64_t

from hftok._core.training.merge_state cimport Engine

# Apply the batch; *done grows by the slots looked at. ENGINE_DONE or ENGINE_NO_MEMORY.
cdef int apply_pass(Engine *e, int64_t *done) noexcept nogil
