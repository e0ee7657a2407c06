"""One thread's mutable state: chunk text, chunks, output, cache; and its life.

A document is scanned into chunks (scanners/), which pile up over documents until there are enough to look up in one go
(`flush`); marks remember where documents end, so that short texts share the pipeline of long ones. Workers are checked out
of a pool for the length of a call; nothing here is shared, apart from the character tables, whose pages are published
atomically.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from hftok._core.array_memory cimport kept_free, kept_realloc
from hftok._core.chunk_cache cimport MAX_SPILLED, cache_free, cache_init

cdef extern from "memory.h" nogil:
    void ht_huge(void *p, size_t size)

cdef extern from "publish.h" nogil:
    void *ht_acquire(void **slot)

cdef enum:
    PAD = 128                # scans write whole blocks past the end, key loads read them
    FIRST_TEXT = 8192
    FIRST_CHUNKS = 2048
    FLUSH_AT = 4096          # chunks that may pile up over documents


cdef Worker *worker_new(const Kernels *kernels, CharTables *tables, int64_t cache_budget) noexcept nogil:
    cdef Worker *w = <Worker *>calloc(1, sizeof(Worker))
    if w == NULL:
        return NULL
    w.kernels = kernels
    w.tables = tables
    w.holes = <Hole *>malloc(HOLES * sizeof(Hole))
    if (w.holes == NULL or cache_init(&w.cache, cache_budget, kernels.hash_key, kernels.hash_long) != 0
            or worker_room(w, FIRST_TEXT, FIRST_CHUNKS) != 0):
        worker_free(w)
        return NULL
    return w


cdef void worker_free(Worker *w) noexcept nogil:
    if w == NULL:
        return
    cache_free(&w.cache)
    free(w.text)
    free(w.index)
    free(w.starts)
    free(w.ends)
    free(w.joined)
    free(w.directs)
    free(w.marks)
    free(w.holes)
    kept_free(w.ids)
    kept_free(w.spans)
    free(w.words)
    free(w)


cdef void worker_reset(Worker *w) noexcept nogil:
    """Ready for a call: no chunks, no output. Buffers and cache stay."""
    w.used = w.n_starts = w.n_ends = w.n_directs = w.next_direct = w.n_marks = 0
    w.n_ids = w.n_holes = w.mark = 0
    w.word = 0
    w.row_begun = 0
    w.run = w.character = 0
    w.first_chunk = w.flushed_chunks = 0
    w.limit = 0
    w.hold = w.unfinished = 0
    w.begins = 1
    w.prefix = w.suffix = NULL
    w.n_prefix = w.n_suffix = 0
    w.row_ends = NULL
    w.want_spans = w.want_words = 0
    w.error = SCAN_OK


cdef int worker_room(Worker *w, int64_t bytes, int64_t chunks) noexcept nogil:
    """Room for `bytes` more of chunk text (with padding) and `chunks` more chunks; 0, or SCAN_NO_MEMORY."""
    cdef int64_t capacity
    cdef void *p
    if w.used + bytes + PAD > w.capacity:
        capacity = w.capacity * 2
        if capacity < w.used + bytes + PAD:
            capacity = w.used + bytes + PAD
        if capacity >= <int64_t>KNOWN - 0x100:           # an end from there on would be read as a known id
            return SCAN_NO_MEMORY
        p = realloc(w.text, <size_t>capacity)
        if p == NULL:
            return SCAN_NO_MEMORY
        w.text = <uint8_t *>p
        p = realloc(w.index, <size_t>capacity * 4)
        if p == NULL:
            return SCAN_NO_MEMORY
        w.index = <uint32_t *>p
        w.capacity = capacity
    if w.n_starts + chunks + PAD > w.chunk_capacity:
        capacity = w.chunk_capacity * 2
        if capacity < w.n_starts + chunks + PAD:
            capacity = w.n_starts + chunks + PAD
        p = realloc(w.starts, <size_t>capacity * 4)
        if p == NULL:
            return SCAN_NO_MEMORY
        w.starts = <uint32_t *>p
        p = realloc(w.ends, <size_t>capacity * 4)
        if p == NULL:
            return SCAN_NO_MEMORY
        w.ends = <uint32_t *>p
        if w.joined != NULL:
            p = realloc(w.joined, <size_t>capacity)
            if p == NULL:
                return SCAN_NO_MEMORY
            w.joined = <uint8_t *>p
            memset(w.joined + w.chunk_capacity, 0, <size_t>(capacity - w.chunk_capacity))
        w.chunk_capacity = capacity
    return SCAN_OK


cdef int worker_join_room(Worker *w) noexcept nogil:
    if w.joined == NULL:
        w.joined = <uint8_t *>calloc(<size_t>w.chunk_capacity, 1)
        if w.joined == NULL:
            return SCAN_NO_MEMORY
    return SCAN_OK


cdef void worker_drop_ids(Worker *w) noexcept nogil:
    kept_free(w.ids)
    kept_free(w.spans)
    free(w.words)
    w.ids = NULL
    w.spans = NULL
    w.words = NULL
    w.id_capacity = 0


cdef int worker_id_room(Worker *w, int64_t tokens) noexcept nogil:
    """Room for `tokens` more tokens of output; 0, or SCAN_NO_MEMORY."""
    cdef int64_t capacity, wanted
    cdef void *p
    if w.n_ids == 0 and w.n_ids + tokens + 8 > w.id_capacity:
        # Nothing to keep: no copy of what a smaller call has left. A flush asks for room for whatever its chunks may give
        # (lookup.pxi), in the end too: for what is expected and no more the answer would be twice as much.
        wanted = w.expected
        if wanted > (MAX_SPILLED + 4) * BATCH:
            wanted += (MAX_SPILLED + 4) * BATCH
        if wanted > tokens:
            tokens = wanted
        worker_drop_ids(w)
    if w.n_ids + tokens + 8 > w.id_capacity or (w.want_spans and w.spans == NULL) or (w.want_words and w.words == NULL):
        capacity = w.id_capacity
        if w.n_ids + tokens + 8 > capacity:
            capacity = capacity * 2 if capacity * 2 > w.n_ids + tokens + 8 else w.n_ids + tokens + 8
        p = kept_realloc(w.ids, <size_t>capacity * 4)
        if p == NULL:
            return SCAN_NO_MEMORY
        w.ids = <uint32_t *>p
        ht_huge(p, <size_t>capacity * 4)
        if w.want_spans or w.spans != NULL:
            p = kept_realloc(w.spans, <size_t>capacity * 8)
            if p == NULL:
                return SCAN_NO_MEMORY
            w.spans = <uint32_t *>p
            ht_huge(p, <size_t>capacity * 8)
        if w.want_words or w.words != NULL:
            p = realloc(w.words, <size_t>capacity * 4)
            if p == NULL:
                return SCAN_NO_MEMORY
            w.words = <int32_t *>p
        w.id_capacity = capacity
    return SCAN_OK


cdef int worker_direct(Worker *w, uint32_t id, uint32_t start, uint32_t end) noexcept nogil:
    """A chunk whose id is known. No chunk may be open."""
    cdef int64_t capacity
    cdef void *p
    if w.n_directs == w.direct_capacity:
        capacity = w.direct_capacity * 2 if w.direct_capacity else 64
        p = realloc(w.directs, <size_t>capacity * sizeof(Direct))
        if p == NULL:
            return SCAN_NO_MEMORY
        w.directs = <Direct *>p
        w.direct_capacity = capacity
    w.directs[w.n_directs].id = id
    w.directs[w.n_directs].start = start
    w.directs[w.n_directs].end = end
    w.n_directs += 1
    w.added += 1
    w.starts[w.n_starts] = <uint32_t>w.used
    w.ends[w.n_ends] = <uint32_t>w.used
    w.n_starts += 1
    w.n_ends += 1
    return SCAN_OK


cdef int worker_begin(Worker *w, int64_t limit) noexcept nogil:
    w.run = 0
    w.character = 0
    w.first_chunk = w.n_starts
    w.flushed_chunks = 0
    w.added = 0
    w.limit = limit
    return SCAN_OK


cdef int worker_end(Worker *w, int64_t row) noexcept nogil:
    """Close the open chunk and mark the end of document `row`."""
    cdef int64_t capacity
    cdef void *p
    if w.n_starts > w.n_ends:
        w.ends[w.n_ends] = <uint32_t>w.used
        w.n_ends += 1
    w.run = 0
    if w.n_marks == w.mark_capacity:
        capacity = w.mark_capacity * 2 if w.mark_capacity else 256
        p = realloc(w.marks, <size_t>capacity * sizeof(Mark))
        if p == NULL:
            return SCAN_NO_MEMORY
        w.marks = <Mark *>p
        w.mark_capacity = capacity
    w.marks[w.n_marks].chunk = w.n_starts
    w.marks[w.n_marks].row = row
    w.n_marks += 1
    if w.n_starts >= FLUSH_AT or w.n_marks >= FLUSH_AT:
        return w.kernels.flush(w)
    return SCAN_OK


cdef const CharEntry *char_entry(CharTables *tables, uint32_t cp) noexcept nogil:
    cdef CharEntry *page = <CharEntry *>ht_acquire(&tables.pages[cp >> 8])
    if page == NULL:
        page = tables.make_page(tables, cp >> 8)
        if page == NULL:
            return NULL
    return &page[cp & 255]
