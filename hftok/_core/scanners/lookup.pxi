# Looking chunks up, for every scanner; compiled once per CPU tier. `flush` takes the chunks that a scan has left in
# worker.starts/ends over worker.text, in order, finds each in the worker's cache and writes its tokens; what is not in its home
# bucket goes to worker.miss.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from hftok._core.chunk_cache cimport LONG_KEY, LONGEST_TEXT, MAX_SPILLED, META_COUNT, Value, cache_text_key, cut_of, ht_key
from hftok._core.early_chars cimport early_id
from hftok._core.models.merges cimport NO_SYMBOL
from hftok._core.worker cimport (
    BATCH, HOLES, KNOWN, KNOWN_SIZE, SCAN_OK, Hole, Kernels, WordMerges, Worker, ht_ascii, id_room, valid_fn,
)

cdef extern from "block.h" nogil:
    ctypedef struct ht_masks:
        uint64_t run0
        uint64_t run1
        uint64_t isolate
        uint64_t special
        uint64_t high
    void ht_classify(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, ht_masks *m)
    int ht_positions(uint64_t mask, uint32_t base, uint32_t *dst)
    int ht_fill(const uint8_t *text, const uint32_t *starts, const uint32_t *ends, int n, ht_key *keys, uint32_t *places,
                const uint8_t *table, uint32_t bucket_mask, const uint8_t *long_table, uint32_t long_mask)
    ctypedef struct ht_tables:
        const uint8_t *table
        const uint8_t *long_table
        const uint32_t *arena
        uint32_t long_mask
        const uint8_t *text
        const uint32_t *starts
        const uint32_t *ends
    int ht_emit(const ht_key *keys, const uint32_t *places, const ht_tables *t, int i, int n, uint32_t **out, uint32_t **at)
    const uint8_t *ht_value(const ht_key *key, const uint8_t *bucket)
    uint32_t ht_hash_key(ht_key key)
    uint32_t ht_hash_long(const uint8_t *key48)
    void ht_long_key(const uint8_t *p, uint32_t n, uint8_t *key48)
    bint ht_none_of(const uint8_t *p, int n, const uint8_t *which)
    void ht_iota(uint32_t base, int n, uint32_t *out)
    int ht_ctz64(uint64_t x)
    uint64_t ht_low_bits(int n)
    bint HT_LIKELY(bint x)
    bint HT_UNLIKELY(bint x)
    void HT_PREFETCH(const void *p)
    void HT_PREFETCH_ONLY(const void *p)

include "../emit.pxi"

cdef enum:
    CROWD = 8                # chunks of a batch that miss their home buckets, for it to pay to look for those of the next one at once


cdef inline bint has_symbols(const WordMerges *m, const uint8_t *text, uint32_t size) noexcept nogil:
    """Whether a word of at most LONG_KEY bytes, with as many to read, is made of symbols."""
    cdef uint32_t i = 0
    cdef int length = 1
    if m.lacks_none or ht_none_of(text, <int>size, m.lacking):
        return True
    while i < size:
        if m.byte_ids[text[i]] != NO_SYMBOL:
            i += 1
            continue
        if m.early == NULL or early_id(m.early, text, <int>i, <int>size, &length) == NO_SYMBOL:
            return False
        i += <uint32_t>length
    return True


cdef inline void leave_hole(Worker *w, const uint8_t *text, const ht_key *key, uint32_t place, uint32_t size) noexcept nogil:
    """Pass a word over; where else it may be is fetched meanwhile."""
    cdef Hole *hole = w.holes + w.n_holes
    hole.at = w.n_ids
    hole.mark = w.mark
    hole.size = size
    w.n_holes += 1
    if size > 16:
        ht_long_key(text, size, hole.key)
        hole.hash = <uint32_t>key.hi
        HT_PREFETCH(w.cache.long_table + (<size_t>((hole.hash ^ 1) & w.cache.long_mask) << 6))
        return
    memcpy(hole.key, key, 16)
    hole.hash = ht_hash_key(key[0])
    HT_PREFETCH(w.cache.table + (place ^ 64))
    if w.merges.seeds != NULL:
        HT_PREFETCH(w.merges.seeds.table + (<size_t>(hole.hash & w.merges.seeds.mask) << 6))


cdef void ask_texts(Worker *w, int64_t first, int n) noexcept nogil:
    """Ask for the lines of those of n chunks that are too long for a key of their own, and for what these lines name in the arena. The
    hashes are kept in the upper halves of their keys."""
    cdef uint8_t key[LONG_KEY]
    cdef uint32_t size
    cdef const Value *v
    cdef uint64_t at
    cdef int which[BATCH]
    cdef int i, k, count = 0
    for i in range(n):
        size = w.ends[first + i] - w.starts[first + i]
        if LONG_KEY < size <= LONGEST_TEXT and w.ends[first + i] < KNOWN:
            cache_text_key(w.text + w.starts[first + i], size, key)
            w.keys[i].hi = ht_hash_long(key)
            HT_PREFETCH(w.cache.long_table + (<size_t>(w.keys[i].hi & w.cache.long_mask) << 6))
            which[count] = i
            count += 1
    for k in range(count):
        v = <const Value *>(w.cache.long_table + (<size_t>(w.keys[which[k]].hi & w.cache.long_mask) << 6) + LONG_KEY)
        if v.meta & META_COUNT == 0 and v.block:
            at = <uint64_t>v.block
            HT_PREFETCH(w.cache.arena + at)
            HT_PREFETCH(w.cache.arena + at + 2 * <uint64_t>v.count)


cdef inline void make_keys(Worker *w, int64_t first, int n) noexcept nogil:
    """The keys of n chunks, and their places; what these look-ups will read is asked for."""
    if ht_fill(w.text, w.starts + first, w.ends + first, n, w.keys, w.places, w.cache.table, w.cache.mask, w.cache.long_table,
               w.cache.long_mask):
        ask_texts(w, first, n)


cdef void ask_beside(Worker *w, int first, int n) noexcept nogil:
    """Ask for the neighbour buckets of those chunks of a batch that are not in their home bucket."""
    cdef int i
    for i in range(first, n):
        if ht_value(&w.keys[i], w.cache.table + w.places[i]) == NULL:
            HT_PREFETCH_ONLY(w.cache.table + (w.places[i] ^ 64))


cdef inline int flush_chunks(Worker *w, bint full) noexcept nogil:
    """Look up every chunk, in order, and write the tokens; no chunk may be open. `full`: spans or words are wanted."""
    cdef int64_t n = w.n_ends
    cdef int64_t pos = 0, end, base = 0, filled = 0, k, j
    cdef const uint8_t *v
    cdef const uint8_t *word
    cdef uint32_t *out
    cdef uint32_t size
    cdef int error, stop, missed = 0
    cdef bint asks = False
    cdef ht_tables tables
    tables.text = w.text
    for k in range(w.n_marks + 1):
        end = w.marks[k].chunk if k < w.n_marks else n
        if not w.row_begun and (k < w.n_marks or end > pos):
            error = id_room(w, w.n_prefix + w.n_suffix + 4 * BATCH)
            if error:
                return error
            emit_around(w, w.prefix, w.n_prefix)
            w.row_begun = 1
        while pos < end:
            if pos == filled:
                j = n - filled
                if j > BATCH:
                    j = BATCH
                error = id_room(w, (MAX_SPILLED + 4) * BATCH)
                if error:
                    return error
                make_keys(w, filled, <int>j)
                asks = missed >= CROWD
                missed = 0
                base = filled
                filled += j
            stop = <int>((end if end < filled else filled) - base)
            j = pos - base
            while j < stop:
                if w.ends[base + j] >= KNOWN:
                    # A stretch of characters whose ids are known.
                    while j < stop and w.ends[base + j] >= KNOWN:
                        w.ids[w.n_ids] = w.ends[base + j] & KNOWN_SIZE
                        if full:
                            if w.want_spans:
                                emit_span(w, w.n_ids, w.index[w.starts[base + j]], w.index[w.starts[base + j]] + 1)
                            if w.want_words:
                                w.words[w.n_ids] = w.word
                            w.word += 1
                        w.n_ids += 1
                        j += 1
                    continue
                if not full:
                    out = w.ids + w.n_ids
                    tables.table = w.cache.table
                    tables.long_table = w.cache.long_table
                    tables.long_mask = w.cache.long_mask
                    tables.arena = w.cache.arena
                    tables.starts = w.starts + base
                    tables.ends = w.ends + base
                    j = ht_emit(w.keys, w.places, &tables, <int>j, stop, &out, NULL)
                    w.n_ids = out - w.ids
                    if j == stop:
                        break
                    if w.ends[base + j] >= KNOWN:
                        continue
                    if w.merges != NULL:
                        word = w.text + w.starts[base + j]
                        size = w.ends[base + j] - w.starts[base + j]
                        if size - 1 < w.merges.longest and has_symbols(w.merges, word, size):
                            if w.n_holes == HOLES:
                                error = w.kernels.fill(w)
                                if error:
                                    return error
                            leave_hole(w, word, &w.keys[j], w.places[j], size)
                            j += 1
                            continue
                # One chunk with everything: spans, or not in its home bucket.
                v = ht_value(&w.keys[j], w.cache.table + w.places[j]) if w.keys[j].lo != <uint64_t>0xFFFFFFFFFFFFFFFF else NULL
                if v != NULL:
                    emit_value(w, base + j, <const Value *>v, full)
                else:
                    if asks:
                        asks = False
                        ask_beside(w, <int>j + 1, <int>(filled - base))
                    missed += 1
                    error = w.miss(w, base + j, &w.keys[j])
                    if error:
                        return error
                if full:
                    w.word += w.joined == NULL or not w.joined[base + j + 1]
                j += 1
            pos = base + j
        if k < w.n_marks:
            error = id_room(w, w.n_suffix + w.n_prefix + 4 * BATCH)
            if error:
                return error
            emit_around(w, w.suffix, w.n_suffix)
            w.row_ends[w.marks[k].row] = w.n_ids
            w.row_begun = 0
            w.word = 0
            w.mark += 1
    if w.n_holes:
        error = w.kernels.fill(w)
        if error:
            return error
    w.mark = 0
    end_flush(w, n)
    return SCAN_OK


cdef inline void end_flush(Worker *w, int64_t n) noexcept nogil:
    w.unfinished = 0
    w.lookups += n
    w.flushed_chunks += n - w.first_chunk
    w.first_chunk = 0
    w.n_starts = w.n_ends = w.n_marks = w.n_directs = w.next_direct = w.used = 0


cdef inline int flush_bare(Worker *w) noexcept nogil:
    """The same for ids alone and documents without tokens around them: chunks are looked up without regard to where one document
    ends, of which short ones have one every few dozen chunks, and their ends are read off afterwards."""
    cdef int64_t n = w.n_ends, base = 0, k = 0, j, count
    cdef int64_t document_end = w.marks[0].chunk if w.n_marks else -1
    cdef uint32_t *out
    cdef uint32_t *begins[BATCH]     # where each chunk's tokens are
    cdef int error, stop, missed = 0
    cdef bint asks
    cdef ht_tables tables
    while base < n:
        count = n - base if n - base < BATCH else BATCH
        error = id_room(w, (MAX_SPILLED + 4) * BATCH)
        if error:
            return error
        make_keys(w, base, <int>count)
        asks = missed >= CROWD
        missed = 0
        j = 0
        while j < count:
            while document_end == base + j:
                k = end_row(w, k, w.n_ids, &document_end)
            if w.ends[base + j] >= KNOWN:
                w.ids[w.n_ids] = w.ends[base + j] & KNOWN_SIZE
                w.n_ids += 1
                j += 1
                continue
            out = w.ids + w.n_ids
            tables.text = w.text
            tables.table = w.cache.table
            tables.long_table = w.cache.long_table
            tables.long_mask = w.cache.long_mask
            tables.arena = w.cache.arena
            tables.starts = w.starts + base
            tables.ends = w.ends + base
            stop = ht_emit(w.keys, w.places, &tables, <int>j, <int>count, &out, begins)
            while 0 <= document_end < base + stop:
                k = end_row(w, k, begins[document_end - base] - w.ids, &document_end)
            w.n_ids = out - w.ids
            j = stop
            if j == count or w.ends[base + j] >= KNOWN:
                continue
            while document_end == base + j:
                k = end_row(w, k, w.n_ids, &document_end)
            if asks:
                asks = False
                ask_beside(w, <int>j + 1, <int>count)
            error = w.miss(w, base + j, &w.keys[j])
            if error:
                return error
            missed += 1
            j += 1
        base += count
    while k < w.n_marks:
        k = end_row(w, k, w.n_ids, &document_end)
    end_flush(w, n)
    return SCAN_OK


cdef inline int64_t end_row(Worker *w, int64_t k, int64_t at, int64_t *next_end) noexcept nogil:
    """Say that the document of mark k ends at ids[at]; the number of the next mark, whose chunk *next_end gets (-1: none)."""
    w.row_ends[w.marks[k].row] = at
    w.row_begun = 0
    k += 1
    next_end[0] = w.marks[k].chunk if k < w.n_marks else -1
    return k


cdef int flush(Worker *w) noexcept nogil:
    if w.want_spans or w.want_words:
        return flush_chunks(w, True)
    if w.merges == NULL and w.n_prefix == 0 and w.n_suffix == 0:
        return flush_bare(w)
    return flush_chunks(w, False)
