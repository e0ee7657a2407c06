# Counting the pairs of a text: see pair_counts.pyx.
from libc.stdint cimport int64_t

from hftok._core.training.pair_index cimport PairTable
from hftok._core.training.progress cimport Watch
from hftok._core.training.slots cimport Slots

cdef int count_pairs(const Slots *slots, int64_t ids, int64_t wanted, int64_t least, int64_t below, int threads,
                     int64_t dense_ids, PairTable *out, int64_t *threshold, Watch *watch) noexcept nogil
