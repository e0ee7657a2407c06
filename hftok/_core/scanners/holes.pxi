# The words of a flush that the cache does not know, encoded side by side.
#
# On text that is new every fiftieth word must be merged, and merging one word is a chain of look-ups in a table that is larger
# than the near caches: each waits for the one before, some 100 ns at a time. A flush (scanners/lookup.pxi) therefore passes
# such words over, remembers where their tokens belong (a hole in the ids), and comes here at its end. The words are looked up
# where else they may be (the neighbour bucket, the tokens known beforehand), and what is left is merged in lanes: one step of
# each lane in turn, which asks for the memory that its next step will read. Then the ids are moved apart and the holes filled.
#
# The merges are those of merges.pyx `merge_small`: lowest rank first, then leftmost; see there for why that is the reference's
# answer. Words here have at most 16 bytes. Models that look for whole words first (ignore_merges) come here only if every such word is
# among the seeds.
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, memset

from hftok._core.chunk_cache cimport (
    INLINE_IDS, MAX_SPILLED, META_COUNT, META_CUT1, META_CUT2, Value, cache_find_anywhere, cache_insert,
    cache_spill,
)
from hftok._core.models.merges cimport (
    ID_BITS, NO_KEY, PairTable, highest_bit, lowest_bit, may_merge, min_key, pair_hash, place_key, prefetch, slot_rank,
)
from hftok._core.seeds cimport NO_SEED, seeds_find
from hftok._core.worker cimport BATCH, HOLE_IDS, HOLES, SCAN_OK, Hole, WordMerges, Worker, worker_id_room

cdef enum:
    LANES = 12


cdef struct Lane:
    uint32_t ids[HOLE_IDS]
    int32_t key[HOLE_IDS]    # rank << 6 | place, or NO_KEY
    uint64_t right_pair      # pairs whose slots are asked for, ...
    uint64_t left_pair
    int right                # ... and the places of their left parts; -1: none is asked for
    int left
    int32_t chosen           # key of the merge that is next, when its id is asked for; else NO_KEY
    int padded
    uint64_t alive           # a bit for each symbol that still begins something
    Hole *hole


cdef inline int32_t slot_key(const PairTable *t, uint64_t pair, int place) noexcept nogil:
    """The key of a pair that has passed the filter."""
    return place_key(slot_rank(t, pair, pair_hash(t, pair)), <uint32_t>place)


cdef inline bint ask(const PairTable *t, uint64_t pair) noexcept nogil:
    """Whether the pair may merge; then its slot is on its way."""
    cdef uint64_t h = pair_hash(t, pair)
    if not may_merge(t, h):
        return False
    prefetch(&t.packed[h & t.mask])
    return True


cdef inline void begin_lane(Lane *lane, const WordMerges *m, Hole *hole) noexcept nogil:
    cdef const uint8_t *text = <const uint8_t *>&hole.key
    cdef int i, n = <int>hole.size
    lane.hole = hole
    lane.alive = (<uint64_t>1 << n) - 1
    lane.padded = (n + 3) & ~3
    lane.right = lane.left = -1
    lane.chosen = NO_KEY
    lane.ids[0] = m.byte_ids[text[0]]
    for i in range(n - 1):
        lane.ids[i + 1] = m.byte_ids[text[i + 1]]
        lane.key[i] = place_key(m.byte_pairs[<uint32_t>text[i] << 8 | text[i + 1]], <uint32_t>i)
    for i in range(n - 1, lane.padded):
        lane.key[i] = NO_KEY


cdef inline bint step_lane(Lane *lane, const PairTable *t) noexcept nogil:
    """One merge, or half of one where the merged token's id must be read; False if none is left."""
    cdef int32_t m = lane.chosen
    cdef int i, j, k
    cdef uint32_t id
    cdef uint64_t above, below
    if m == NO_KEY:
        if lane.right >= 0:
            lane.key[lane.right] = slot_key(t, lane.right_pair, lane.right)
            lane.right = -1
        if lane.left >= 0:
            lane.key[lane.left] = slot_key(t, lane.left_pair, lane.left)
            lane.left = -1
        m = min_key(lane.key, lane.padded)
        if m == NO_KEY:
            return False
        if not t.in_order:
            prefetch(&t.merged[m >> 6])
            lane.chosen = m
            return True
    lane.chosen = NO_KEY
    i = m & 63
    id = <uint32_t>(m >> 6) + t.first_merged if t.in_order else t.merged[m >> 6]
    lane.ids[i] = id
    above = lane.alive & (<uint64_t>-2 << i)
    j = lowest_bit(above)
    lane.key[j] = NO_KEY
    lane.key[i] = NO_KEY
    above &= above - 1
    lane.alive ^= <uint64_t>1 << j
    below = lane.alive & ((<uint64_t>1 << i) - 1)
    if above:
        lane.right_pair = (<uint64_t>id << ID_BITS) | lane.ids[lowest_bit(above)]
        if ask(t, lane.right_pair):
            lane.right = i
    if below:
        k = highest_bit(below)
        lane.key[k] = NO_KEY
        lane.left_pair = (<uint64_t>lane.ids[k] << ID_BITS) | id
        if ask(t, lane.left_pair):
            lane.left = k
    return True


cdef inline void end_lane(Lane *lane) noexcept nogil:
    cdef Hole *hole = lane.hole
    cdef uint64_t alive = lane.alive
    cdef uint32_t n = 0
    cdef int i
    hole.begins = <uint32_t>alive
    while alive:
        i = lowest_bit(alive)
        alive &= alive - 1
        hole.ids[n] = lane.ids[i]
        n += 1
    hole.count = n


cdef void merge_holes(const WordMerges *m, Hole **holes, int64_t n) noexcept nogil:
    cdef Lane lanes[LANES]
    cdef int64_t next = 0
    cdef int i, active = 0
    while active < LANES and next < n:
        begin_lane(&lanes[active], m, holes[next])
        active += 1
        next += 1
    while active:
        i = 0
        while i < active:
            if step_lane(&lanes[i], m.table):
                i += 1
                continue
            end_lane(&lanes[i])
            if next < n:
                begin_lane(&lanes[i], m, holes[next])
                next += 1
                i += 1
            else:
                active -= 1
                if i != active:
                    lanes[i] = lanes[active]


cdef inline void read_value(Hole *hole, const Value *v, const uint32_t *arena) noexcept nogil:
    hole.count = v.meta & META_COUNT
    if hole.count:
        memcpy(hole.ids, v, 12)
        return
    hole.count = v.id1           # of at most 16 bytes, so of at most 16 tokens
    memcpy(hole.ids, arena + v.id0, <size_t>hole.count * 4)


cdef void keep(Worker *w, const Hole *hole) noexcept nogil:
    """Put what a word was merged to into the cache."""
    cdef Value value
    cdef uint32_t spill, begins = hole.begins, i, start, end
    cdef uint32_t *block
    memset(&value, 0, sizeof(Value))
    if hole.count <= INLINE_IDS:
        memcpy(&value, hole.ids, hole.count * 4)
        value.meta = hole.count
        begins &= begins - 1
        if hole.count > 1:
            value.meta |= <uint32_t>lowest_bit(begins) << META_CUT1
            begins &= begins - 1
        if hole.count > 2:
            value.meta |= <uint32_t>lowest_bit(begins) << META_CUT2
    else:
        spill = cache_spill(&w.cache, hole.count, 0)
        if spill == 0:
            return
        block = w.cache.arena + spill
        for i in range(hole.count):
            start = <uint32_t>lowest_bit(begins)
            begins &= begins - 1
            end = <uint32_t>lowest_bit(begins) if begins else hole.size
            block[i] = hole.ids[i]
            block[hole.count + i] = start << 16 | (end - 1)
        value.id0 = spill
        value.id1 = hole.count
    cache_insert(&w.cache, &hole.key, hole.hash, &value)


cdef int fill_holes(Worker *w) noexcept nogil:
    cdef const WordMerges *m = w.merges
    cdef Hole *todo[HOLES]
    cdef int16_t same[HOLES]         # the earlier hole with the same word, or -1
    cdef uint16_t seen[2 * HOLES]    # number of a hole + 1, by hash
    cdef Hole *hole
    cdef const Value *v
    cdef int64_t i, k, n = 0, extra = 0, size, source, target, row
    cdef int error
    w.beyond += w.n_holes
    memset(seen, 0, sizeof(seen))
    for i in range(w.n_holes):
        hole = &w.holes[i]
        same[i] = -1
        k = hole.hash & (2 * HOLES - 1)
        while seen[k] and memcmp(&w.holes[seen[k] - 1].key, &hole.key, 16) != 0:
            k = (k + 1) & (2 * HOLES - 1)
        if seen[k]:
            same[i] = <int16_t>(seen[k] - 1)
            continue
        seen[k] = <uint16_t>(i + 1)
        v = cache_find_anywhere(&w.cache, &hole.key, hole.hash)
        if v != NULL:
            read_value(hole, v, w.cache.arena)
            continue
        if m.seeds != NULL:
            hole.ids[0] = seeds_find(m.seeds, &hole.key, hole.hash)
            if hole.ids[0] != NO_SEED:
                hole.count = hole.begins = 1
                keep(w, hole)
                continue
        todo[n] = hole
        n += 1
    w.misses += n
    merge_holes(m, todo, n)
    for i in range(n):
        keep(w, todo[i])
    for i in range(w.n_holes):
        if same[i] >= 0:
            w.holes[i].count = w.holes[same[i]].count
            memcpy(w.holes[i].ids, w.holes[same[i]].ids, sizeof(w.holes[i].ids))
        extra += w.holes[i].count
    error = worker_id_room(w, extra + (MAX_SPILLED + 4) * BATCH)      # as much as the flush counts on
    if error:
        return error
    # Rows that ended since the last time end so much later.
    size = 0
    k = 0
    for row in range(w.holes[0].mark, w.mark):
        while k < w.n_holes and w.holes[k].mark <= row:
            size += w.holes[k].count
            k += 1
        w.row_ends[w.marks[row].row] += size
    # From the back, what stands behind a hole goes to its place.
    source = w.n_ids
    target = w.n_ids = source + extra
    for i in range(w.n_holes - 1, -1, -1):
        hole = &w.holes[i]
        size = source - hole.at
        target -= size
        source -= size
        memmove(w.ids + target, w.ids + source, <size_t>size * 4)
        target -= hole.count
        memcpy(w.ids + target, hole.ids, <size_t>hole.count * 4)
    w.n_holes = 0
    return SCAN_OK
