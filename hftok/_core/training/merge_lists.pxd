# Merging through lists of occurrences: see merge_lists.pyx.
from libc.stdint cimport int64_t

from hftok._core.training.merge_state cimport Engine

# Make the lists of all rows; from then on the engine is `listed`. The slots must be closed up.
cdef int fill_lists(Engine *e) noexcept nogil
# Apply the batch; *done grows by the work done, in slots. Both return ENGINE_DONE or ENGINE_NO_MEMORY.
cdef int apply_lists(Engine *e, int64_t *done) noexcept nogil
