"""The places of the tokens of several threads in one array, found while they work.

What it does: units of work are handed out in order, so those that are under way are neighbours. Once all units before one
are done, it is known where its tokens belong, and the thread that made them copies them there, while they are still in
its cache, and uses its buffer again. Without this, all tokens would be written out, read and written a second time when the
last unit is done.
The room is what the call is expected to need. What turns out to lie beyond stays in the workers' buffers, as does what is
done while an earlier unit is not: the caller copies it in the end (rows.pyx).
Left to others: how many tokens to expect (the engine), and arrays.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from hftok._core.array_memory cimport kept_free, kept_malloc, kept_realloc

cdef extern from "stream.h" nogil:
    void ht_stream(void *to, const void *start, size_t size)

cdef extern from "pythread.h":
    PyThread_type_lock PyThread_allocate_lock() nogil
    void PyThread_free_lock(PyThread_type_lock lock) nogil
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil


cdef int places_begin(Places *p, int64_t tokens, bint spans, int threads) noexcept nogil:
    memset(p, 0, sizeof(Places))
    p.capacity = tokens
    p.ids = <uint32_t *>kept_malloc(<size_t>tokens * 4)
    p.spans = <int32_t *>kept_malloc(<size_t>tokens * 8) if spans else NULL
    p.first = <int64_t *>malloc(<size_t>threads * 16)
    p.lock = PyThread_allocate_lock()
    if p.ids == NULL or (spans and p.spans == NULL) or p.first == NULL or p.lock == NULL:
        places_free(p)
        return -1
    p.last = p.first + threads
    places_restart(p, threads)
    return 0


cdef void places_restart(Places *p, int threads) noexcept nogil:
    cdef int i
    p.frontier = p.total = 0
    for i in range(threads):
        p.first[i] = -1


cdef void places_free(Places *p) noexcept nogil:
    kept_free(p.ids)
    kept_free(p.spans)
    free(p.first)
    if p.lock != NULL:
        PyThread_free_lock(p.lock)
    memset(p, 0, sizeof(Places))


cdef void place_unit(Unit *u, const Worker *w, uint32_t *ids, int32_t *spans, int64_t *row_ends) noexcept nogil:
    cdef int64_t row, shift = u.row - u.at
    if u.n:
        ht_stream(ids + u.row, w.ids + u.at, <size_t>u.n * 4)
    if u.n and spans != NULL:
        ht_stream(spans + 2 * u.row, w.spans + 2 * u.at, <size_t>u.n * 8)
    if row_ends != NULL and u.finishes:
        for row in range(u.first, u.last):
            row_ends[row] += shift


cdef void places_done(Places *p, Unit *units, int64_t n_units, int64_t i, Worker *w, int64_t *row_ends) noexcept nogil:
    cdef Unit *u = &units[i]
    cdef int thread = u.thread
    cdef int64_t frontier
    # What this thread has done is the others' to see, and the other way round, because all of it is said under the lock.
    PyThread_acquire_lock(p.lock, 1)
    u.done = 1
    while p.frontier < n_units and units[p.frontier].done:
        units[p.frontier].row = p.total
        p.total += units[p.frontier].n
        p.frontier += 1
    frontier = p.frontier
    PyThread_release_lock(p.lock)
    u.later = -1
    if p.first[thread] < 0:
        p.first[thread] = i
    else:
        units[p.last[thread]].later = i
    p.last[thread] = i
    while 0 <= p.first[thread] < frontier:
        u = &units[p.first[thread]]
        if u.row + u.n > p.capacity:
            return
        place_unit(u, w, p.ids, p.spans, row_ends)
        u.placed = 1
        p.first[thread] = u.later
    if p.first[thread] < 0:
        w.n_ids = 0


cdef int places_fit(Places *p, int64_t tokens) noexcept nogil:
    cdef void *moved
    if tokens <= p.capacity:
        return 0
    moved = kept_realloc(p.ids, <size_t>tokens * 4)
    if moved == NULL:
        return -1
    p.ids = <uint32_t *>moved
    if p.spans != NULL:
        moved = kept_realloc(p.spans, <size_t>tokens * 8)
        if moved == NULL:
            return -1
        p.spans = <int32_t *>moved
    p.capacity = tokens
    return 0
