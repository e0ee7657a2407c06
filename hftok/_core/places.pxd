# Where the tokens of several threads go while they are still being made. See places.pyx.
from libc.stdint cimport int32_t, int64_t, uint32_t

from hftok._core.documents cimport Unit
from hftok._core.worker cimport Worker

cdef extern from "pythread.h":
    ctypedef void *PyThread_type_lock

cdef struct Places:
    uint32_t *ids            # the result: kept memory (array_memory), NULL where threads keep what they make
    int32_t *spans           # likewise, or NULL
    int64_t capacity         # tokens
    int64_t frontier         # the first unit whose place is not known: one before it is not done
    int64_t total            # tokens of those before it
    int64_t *first           # per thread: its units that are done and not placed, a list through Unit.later; -1: none
    int64_t *last
    PyThread_type_lock lock

# Begin a call: room for `tokens` tokens (and their spans). 0, or -1 without memory, and then nothing is held.
cdef int places_begin(Places *p, int64_t tokens, bint spans, int threads) noexcept nogil
# The same from the start again, for other units.
cdef void places_restart(Places *p, int threads) noexcept nogil
# Unit i is done, by this thread, and its tokens are the last in the worker's buffers.
cdef void places_done(Places *p, Unit *units, int64_t n_units, int64_t i, Worker *w, int64_t *row_ends) noexcept nogil
# Room for all tokens, once nobody works any more; 0 or -1.
cdef int places_fit(Places *p, int64_t tokens) noexcept nogil
# Give back what is held.
cdef void places_free(Places *p) noexcept nogil
# A unit's tokens to their place, `Unit.row`; row_ends: become positions in the whole, or NULL.
cdef void place_unit(Unit *u, const Worker *w, uint32_t *ids, int32_t *spans, int64_t *row_ends) noexcept nogil
