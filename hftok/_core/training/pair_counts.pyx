"""Counting the pairs of a text from scratch, those below a threshold left out.

What it does: `count_pairs` fills a table with every pair of adjacent ids whose weighted count is at least a threshold, which
it chooses itself so that the table holds about as many pairs as the caller wants. Few ids: a dense matrix. Else two readings of
the text: the first adds each pair's weight to one of a few million cells (a cell bounds the counts of its pairs from above), the
second counts exactly, and only pairs whose cell reaches the threshold: a text has far more rare pairs than frequent ones,
and the rare ones never get a table entry.

Rule of the reference: `count_pairs` of models/bpe/trainer.rs, a count per adjacent window, so AAA holds (A, A) twice. The
reference counts in 32 bits and wraps; here counts have 64 bits.
"""
from libc.stdint cimport INT64_MAX, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc

from hftok._core.training.pair_index cimport (
    PairTable, kth_largest, pair_hash, pair_key, table_add, table_append, table_find, table_free, table_reserve, table_zero)
from hftok._core.training.progress cimport Watch, watched_for
from hftok._core.training.slots cimport GAP, Segment, Slots, slot_t, slots_used

cdef extern from "training/relaxed.h":
    void add64 "hftok_add64"(uint64_t *p, uint64_t v) noexcept nogil

cdef enum:
    BUCKETS = 16 * 64           # of the histogram of cells: 16 to an octave

cdef struct Count:
    const Slots *slots
    int64_t ids
    int threads
    int64_t *dense              # threads x ids x ids
    uint64_t *cell
    int bits
    uint64_t threshold
    PairTable *table            # one per thread
    int *failed                 # one per thread
    Watch *watch


cdef void dense_segment(const slot_t *s, const Segment *g, int64_t *matrix, int64_t ids) noexcept nogil:
    # Pairs with a GAP land in row or column 0, which nobody reads.
    cdef int64_t i
    for i in range(g.start, g.start + g.size - 1):
        matrix[<int64_t>s[i] * ids + s[i + 1]] += g.weight


cdef void dense_chunk(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Count *c = <Count *>ctx
    cdef int64_t k
    cdef int64_t *matrix = c.dense + thread * c.ids * c.ids
    for k in range(c.slots.chunk[i], c.slots.chunk[i + 1]):
        if c.slots.wide:
            dense_segment(<const uint32_t *>c.slots.data, &c.slots.segment[k], matrix, c.ids)
        else:
            dense_segment(<const uint16_t *>c.slots.data, &c.slots.segment[k], matrix, c.ids)


cdef void sketch_segment(const slot_t *s, const Segment *g, Count *c) noexcept nogil:
    cdef int64_t i
    cdef int shift = 64 - c.bits
    cdef uint64_t h
    for i in range(g.start, g.start + g.size - 1):
        if s[i] == GAP or s[i + 1] == GAP:
            continue
        h = pair_hash(pair_key(s[i], s[i + 1])) >> shift
        if c.threads > 1:
            add64(&c.cell[h], <uint64_t>g.weight)
        else:
            c.cell[h] += <uint64_t>g.weight


cdef void sketch_chunk(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Count *c = <Count *>ctx
    cdef int64_t k
    for k in range(c.slots.chunk[i], c.slots.chunk[i + 1]):
        if c.slots.wide:
            sketch_segment(<const uint32_t *>c.slots.data, &c.slots.segment[k], c)
        else:
            sketch_segment(<const uint16_t *>c.slots.data, &c.slots.segment[k], c)


cdef int exact_segment(const slot_t *s, const Segment *g, Count *c, PairTable *table) noexcept nogil:
    cdef int64_t i
    cdef int shift = 64 - c.bits
    cdef uint64_t key
    for i in range(g.start, g.start + g.size - 1):
        if s[i] == GAP or s[i + 1] == GAP:
            continue
        key = pair_key(s[i], s[i + 1])
        if c.cell[pair_hash(key) >> shift] >= c.threshold and table_add(table, key, g.weight):
            return -1
    return 0


cdef void exact_chunk(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Count *c = <Count *>ctx
    cdef int64_t k
    cdef int failed = 0
    for k in range(c.slots.chunk[i], c.slots.chunk[i + 1]):
        if c.slots.wide:
            failed |= exact_segment(<const uint32_t *>c.slots.data, &c.slots.segment[k], c, &c.table[thread])
        else:
            failed |= exact_segment(<const uint16_t *>c.slots.data, &c.slots.segment[k], c, &c.table[thread])
    if failed:
        c.failed[thread] = 1


cdef int keep(PairTable *out, const PairTable *counted, int64_t threshold) noexcept nogil:
    cdef int64_t i
    for i in range(counted.rows):
        if counted.count[i] >= threshold and table_append(out, counted.key[i], counted.count[i]) < 0:
            return -1
    return 0


cdef int64_t ceiling(int64_t below, int64_t least) noexcept nogil:
    """The highest threshold that makes progress after `below`."""
    cdef int64_t t = below - max(below // 4, <int64_t>1)
    return max(t, least)


cdef int count_pairs(const Slots *slots, int64_t ids, int64_t wanted, int64_t least, int64_t below, int threads,
                     int64_t dense_ids, PairTable *out, int64_t *threshold, Watch *watch) noexcept nogil:
    """Count the pairs of closed-up slots (no DEAD) into `out`, which is emptied first.

    ids        internal ids run from 0 to ids - 1
    wanted     about how many pairs the table should hold; more only where the counts leave no choice
    least      no threshold below this (1 or more)
    below      every count is known to be below this (INT64_MAX: nothing known); the threshold will be, too
    dense_ids  up to this many ids the counts are a matrix, ids * ids * 8 bytes for each thread
    threshold  set to the count from which on the table is complete
    watch      asked whether to go on
    Returns 0, or -1 without memory or where it was told to stop (`out` is then empty).
    """
    cdef Count c
    cdef int result
    c.slots = slots
    c.ids = ids
    c.threads = threads
    c.watch = watch
    c.dense = NULL
    c.cell = NULL
    c.bits = 0
    c.threshold = 0
    c.table = <PairTable *>calloc(<size_t>threads, sizeof(PairTable))
    c.failed = <int *>calloc(<size_t>threads, sizeof(int))
    table_free(out)
    if c.table == NULL or c.failed == NULL or table_reserve(out, 1):
        result = -1
    elif ids <= dense_ids:
        result = count_dense(&c, wanted, least, below, out, threshold)
    else:
        result = count_sketched(&c, wanted, least, below, out, threshold)
    if c.table != NULL:
        for i in range(threads):
            table_free(&c.table[i])
    free(c.table)
    free(c.failed)
    free(c.dense)
    free(c.cell)
    if result:
        table_free(out)
    return result


cdef int count_dense(Count *c, int64_t wanted, int64_t least, int64_t below, PairTable *out, int64_t *threshold) noexcept nogil:
    cdef int64_t cells = c.ids * c.ids
    cdef int64_t i, j, n, t
    cdef int64_t *counts
    c.dense = <int64_t *>calloc(<size_t>(cells * c.threads), sizeof(int64_t))
    if c.dense == NULL:
        return -1
    if watched_for(dense_chunk, c, c.slots.chunks, c.threads, c.watch):
        return -1
    n = 0
    for i in range(1, c.ids):
        for j in range(i * c.ids + 1, (i + 1) * c.ids):
            for t in range(1, c.threads):
                c.dense[j] += c.dense[t * cells + j]
            n += c.dense[j] != 0
    threshold[0] = least
    if n > wanted:
        counts = <int64_t *>malloc(<size_t>n * sizeof(int64_t))
        if counts == NULL:
            return -1
        n = 0
        for i in range(1, c.ids):
            for j in range(i * c.ids + 1, (i + 1) * c.ids):
                if c.dense[j] != 0:
                    counts[n] = c.dense[j]
                    n += 1
        threshold[0] = max(least, min(kth_largest(counts, n, wanted), ceiling(below, least)))
        free(counts)
    for i in range(1, c.ids):
        for j in range(1, c.ids):
            if c.dense[i * c.ids + j] >= threshold[0]:
                if table_append(out, pair_key(<uint32_t>i, <uint32_t>j), c.dense[i * c.ids + j]) < 0:
                    return -1
    return 0


cdef inline int bucket_of(uint64_t v) noexcept nogil:
    cdef int e = 0
    cdef uint64_t x = v
    if v < 16:
        return <int>v
    while x >= 32:
        x >>= 1
        e += 1
    return (e + 1) * 16 + <int>(x - 16)


cdef inline int64_t bucket_start(int b) noexcept nogil:
    if b < 16:
        return b
    return (<int64_t>16 + (b & 15)) << ((b >> 4) - 1)


cdef int count_sketched(Count *c, int64_t wanted, int64_t least, int64_t below, PairTable *out,
                        int64_t *threshold) noexcept nogil:
    cdef int64_t histogram[BUCKETS]
    cdef int64_t i, n, cells
    cdef int64_t used = slots_used(c.slots)
    cdef int b, t
    # A cell for every four slots: where pairs are many, a cell's other pairs add less than what they hide.
    c.bits = 12
    while c.bits < 28 and (<int64_t>4 << c.bits) < used:
        c.bits += 1
    cells = <int64_t>1 << c.bits
    c.cell = <uint64_t *>calloc(<size_t>cells, sizeof(uint64_t))
    if c.cell == NULL:
        return -1
    if watched_for(sketch_chunk, c, c.slots.chunks, c.threads, c.watch):
        return -1
    for b in range(BUCKETS):
        histogram[b] = 0
    for i in range(cells):
        histogram[bucket_of(c.cell[i])] += 1
    # The lowest bucket above which there are at most `wanted` cells.
    n = 0
    b = BUCKETS - 1
    while b > 1 and (n == 0 or n + histogram[b] <= wanted):
        n += histogram[b]
        b -= 1
    threshold[0] = max(least, min(bucket_start(b + 1 if b > 1 or n + histogram[1] > wanted else 1), ceiling(below, least)))
    while True:
        c.threshold = <uint64_t>threshold[0]
        for t in range(c.threads):
            if table_reserve(&c.table[t], 1):
                return -1
        if watched_for(exact_chunk, c, c.slots.chunks, c.threads, c.watch):
            return -1
        for t in range(c.threads):
            if c.failed[t]:
                return -1
        for t in range(1, c.threads):
            for i in range(c.table[t].rows):
                if table_add(&c.table[0], c.table[t].key[i], c.table[t].count[i]):
                    return -1
            table_free(&c.table[t])
        if keep(out, &c.table[0], threshold[0]):
            return -1
        table_free(&c.table[0])
        if out.rows or threshold[0] <= least:
            return 0
        # Every cell above the threshold was a sum of small counts: go lower.
        threshold[0] = max(least, threshold[0] // 4)
