# Merges of an earlier training, applied before new ones: see replay.pyx.
from libc.stdint cimport int64_t, uint32_t

from hftok._core.training.merge_state cimport Engine

# Apply `n` merges (left, right and made vocabulary ids, by rank; no pair twice) to the words of an engine that has been loaded. 0, or
# -1 without memory or where its watch told it to stop.
cdef int replay(Engine *e, const uint32_t *merge, int64_t n) noexcept nogil
