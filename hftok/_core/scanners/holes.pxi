# The words of a flush that the cache does not know, encoded side by side.
#
# On text that is new every fiftieth word must be merged, and merging one word is a chain of look-ups in a table that is larger
# than the near caches: each waits for the one before, some 100 ns at a time. A flush (scanners/lookup.pxi) therefore passes
# such words over, remembers where their tokens belong (a hole in the ids), and comes here at its end. The words are looked up
# where else they may be (the neighbour bucket, the tokens known beforehand), and what is left is merged in lanes: one step of
# each lane in turn, which asks for the memory that its next step will read. Then the ids are moved apart and the holes filled.
#
# The merges are those of merges.pyx `merge_small`: lowest rank first, then leftmost; see there for why that is the reference's
# answer. Words here have at most LONG_KEY bytes. Models that look for whole words first (ignore_merges) come here only if every
# such word of 16 bytes is among the seeds; longer ones are looked up in the vocabulary.
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memmove, memset

from hftok._core.chunk_cache cimport (
    LONG_KEY, MAX_SPILLED, META_COUNT, Value, cache_find_anywhere, cache_find_long, cache_insert, cache_insert_long, cache_spill,
    put_cut, put_ids,
)
from hftok._core.early_chars cimport early_symbol
from hftok._core.models.bpe cimport find_whole
from hftok._core.models.merges cimport (
    ID_BITS, NO_KEY, RANK_BITS, PairTable, highest_bit, lowest_bit, may_merge, pair_hash, place_key, prefetch, slot_rank,
)
from hftok._core.seeds cimport NO_SEED, may_be_long, seeds_find
from hftok._core.worker cimport BATCH, HOLE_IDS, HOLES, SCAN_OK, Hole, WordMerges, Worker, worker_id_room

cdef extern from "least.h" nogil:
    enum:
        HT_LEAST_STEP
    int32_t ht_least(const int32_t *v, int n)

cdef enum:
    LANES = 12


cdef struct Lane:
    uint32_t ids[HOLE_IDS]
    int32_t key[HOLE_IDS]    # rank << 6 | place, or NO_KEY
    uint64_t alive           # a bit for each symbol that still begins something
    uint64_t right_pair      # two pairs whose slots are asked for, ...
    uint64_t left_pair
    const uint64_t *right_slot       # ... the slots (of a pair that surely does not merge, one that is empty), ...
    const uint64_t *left_slot
    int right                # ... and the places of their left parts
    int left
    int32_t chosen           # key of the merge that is next, when its id is asked for; else NO_KEY
    int padded
    uint64_t pending         # places of pairs whose slots are asked for at the beginning
    const uint64_t *slots[HOLE_IDS]
    Hole *hole


cdef uint64_t EMPTY_SLOT = <uint64_t>-1


# Whether a pair merges cannot be foreseen, and a wrong guess costs more than the rest of a step: so there is no branch on it.

cdef inline const uint64_t *ask(const PairTable *t, uint64_t pair, bint there) noexcept nogil:
    """Where the pair's rank is, on its way; an empty slot if the filter says that it has none, or if it is not `there`."""
    cdef uint64_t h = pair_hash(t, pair)
    cdef size_t may = <size_t>(may_merge(t, h) & there)
    cdef const uint64_t *slot = <const uint64_t *>(
        (<size_t>&t.packed[h & t.mask] & (0 - may)) | (<size_t>&EMPTY_SLOT & (may - 1)))
    prefetch(slot)
    return slot


cdef inline int32_t slot_key(const PairTable *t, uint64_t pair, const uint64_t *slot, int place) noexcept nogil:
    cdef uint64_t s = slot[0]
    cdef uint32_t same = s >> RANK_BITS == pair
    if not same and s != <uint64_t>-1:
        return place_key(slot_rank(t, pair, pair_hash(t, pair)), <uint32_t>place)       # someone else's slot
    s = (s & ((1u << RANK_BITS) - 1)) << 6 | <uint32_t>place
    return <int32_t>((<uint32_t>s & (0 - same)) | (<uint32_t>NO_KEY & (same - 1)))


cdef bint begin_chars(Lane *lane, const WordMerges *m, const uint8_t *text, int n) noexcept nogil:
    """Begin with characters where they are symbols from the start; False: there are none."""
    cdef uint64_t chars = 0, alive = 0, left
    cdef int i = 0, j, length = 0
    while i < n:
        lane.ids[i] = early_symbol(m.early, m.byte_ids, text, i, n, &length)
        alive |= <uint64_t>1 << i
        chars |= <uint64_t>(length > 1) << i
        i += length
    if not chars:
        return False
    lane.alive = alive
    for i in range(lane.padded):
        lane.key[i] = NO_KEY
    # The pairs of two bytes are in a table of their own; those of characters are asked for.
    left = alive & (alive - 1)
    i = 0
    while left:
        j = lowest_bit(left)
        left &= left - 1
        if (chars >> i | chars >> j) & 1:
            lane.slots[i] = ask(m.table, (<uint64_t>lane.ids[i] << ID_BITS) | lane.ids[j], True)
            lane.pending |= <uint64_t>1 << i
        else:
            lane.key[i] = place_key(m.byte_pairs[<uint32_t>text[i] << 8 | text[j]], <uint32_t>i)
        i = j
    return True


cdef void take_pending(Lane *lane, const PairTable *t) noexcept nogil:
    cdef uint64_t pending = lane.pending
    cdef int i
    while pending:
        i = lowest_bit(pending)
        pending &= pending - 1
        lane.key[i] = slot_key(
            t, (<uint64_t>lane.ids[i] << ID_BITS) | lane.ids[lowest_bit(lane.alive & (<uint64_t>-2 << i))], lane.slots[i], i)
    lane.pending = 0


cdef inline void begin_lane(Lane *lane, const WordMerges *m, Hole *hole) noexcept nogil:
    cdef const uint8_t *text = hole.key
    cdef int i, n = <int>hole.size
    lane.hole = hole
    lane.pending = 0
    lane.padded = (n + HT_LEAST_STEP - 1) & -HT_LEAST_STEP
    lane.right = lane.left = 0
    lane.right_slot = lane.left_slot = NULL
    lane.chosen = NO_KEY
    if m.early != NULL and begin_chars(lane, m, text, n):
        return
    lane.alive = (<uint64_t>1 << n) - 1
    lane.ids[0] = m.byte_ids[text[0]]
    for i in range(n - 1):
        lane.ids[i + 1] = m.byte_ids[text[i + 1]]
        lane.key[i] = place_key(m.byte_pairs[<uint32_t>text[i] << 8 | text[i + 1]], <uint32_t>i)
    for i in range(n - 1, lane.padded):
        lane.key[i] = NO_KEY


cdef inline bint step_lane(Lane *lane, const PairTable *t) noexcept nogil:
    """One merge, or half of one where the merged token's id must be read; False if none is left."""
    cdef int32_t m = lane.chosen, left, right
    cdef int i, j, k
    cdef uint32_t id
    cdef uint64_t above, below
    if lane.pending:
        take_pending(lane, t)
    if m == NO_KEY:
        # The two places that are waited for hold NO_KEY: what comes is compared apart, so that no load waits for its store.
        m = ht_least(lane.key, lane.padded)
        if lane.right_slot != NULL:
            left = slot_key(t, lane.left_pair, lane.left_slot, lane.left)
            right = slot_key(t, lane.right_pair, lane.right_slot, lane.right)
            lane.key[lane.left] = left
            lane.key[lane.right] = right         # the later one: the first symbol's left place is itself
            m = left if left < m else m
            m = right if right < m else m
        if m == NO_KEY:
            return False
        if not t.in_order:
            prefetch(&t.merged[m >> 6])
            lane.chosen = m
            lane.right_slot = NULL
            return True
    lane.chosen = NO_KEY
    i = m & 63
    id = <uint32_t>(m >> 6) + t.first_merged if t.in_order else t.merged[m >> 6]
    lane.ids[i] = id
    above = lane.alive & (<uint64_t>-2 << i)
    j = lowest_bit(above)
    above &= above - 1
    lane.alive ^= <uint64_t>1 << j
    below = lane.alive & ((<uint64_t>1 << i) - 1)
    k = highest_bit(below | 1)
    lane.key[j] = lane.key[i] = lane.key[k] = NO_KEY
    lane.right = i
    lane.left = k
    lane.right_pair = (<uint64_t>id << ID_BITS) | lane.ids[lowest_bit(above | (<uint64_t>1 << (HOLE_IDS - 1)))]
    lane.left_pair = (<uint64_t>lane.ids[k] << ID_BITS) | id
    lane.right_slot = ask(t, lane.right_pair, above != 0)
    lane.left_slot = ask(t, lane.left_pair, below != 0)
    return True


cdef inline void end_lane(Lane *lane) noexcept nogil:
    cdef Hole *hole = lane.hole
    cdef uint64_t alive = lane.alive
    cdef uint32_t n = 0
    cdef int i
    hole.begins = alive
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
    memset(lanes, 0, sizeof(lanes))
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
        ht_unpack(<const uint8_t *>v, hole.ids)
        return
    hole.count = v.count         # as many as the word has bytes at most
    memcpy(hole.ids, arena + v.block, <size_t>hole.count * 4)


cdef void keep(Worker *w, const Hole *hole) noexcept nogil:
    """Put what a word was merged to into the cache."""
    cdef Value value
    cdef uint64_t begins = hole.begins
    cdef uint32_t spill, i, start, end
    cdef uint32_t *block
    memset(&value, 0, sizeof(Value))
    if put_ids(&value, hole.ids, hole.count):
        for i in range(1, hole.count):
            begins &= begins - 1
            put_cut(&value, i, <uint32_t>lowest_bit(begins))
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
        value.block = spill
        value.count = hole.count
    if hole.size > 16:
        cache_insert_long(&w.cache, hole.key, hole.hash, &value)
    else:
        cache_insert(&w.cache, <const ht_key *>hole.key, hole.hash, &value)


cdef inline const Value *find_cached(Worker *w, const Hole *hole) noexcept nogil:
    if hole.size > 16:
        return cache_find_long(&w.cache, hole.key, hole.hash)
    return cache_find_anywhere(&w.cache, <const ht_key *>hole.key, hole.hash)


cdef inline bint find_token(const WordMerges *m, Hole *hole) noexcept nogil:
    """Whether the word is one token, as far as it is known without merging."""
    cdef int64_t id
    if hole.size > 16:
        id = -1
        if m.whole != NULL and (m.seeds == NULL or m.seeds.longer == NULL or may_be_long(m.seeds, hole.key, hole.size)):
            id = find_whole(m.whole, hole.key, hole.size)
        hole.ids[0] = <uint32_t>id
        return id >= 0
    if m.seeds == NULL:
        return False
    hole.ids[0] = seeds_find(m.seeds, <const ht_key *>hole.key, hole.hash)
    return hole.ids[0] != NO_SEED


cdef inline bint same_word(const Hole *one, const Hole *other) noexcept nogil:
    return one.size == other.size and memcmp(one.key, other.key, LONG_KEY if one.size > 16 else 16) == 0


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
        while seen[k] and not same_word(&w.holes[seen[k] - 1], hole):
            k = (k + 1) & (2 * HOLES - 1)
        if seen[k]:
            same[i] = <int16_t>(seen[k] - 1)
            continue
        seen[k] = <uint16_t>(i + 1)
        v = find_cached(w, hole)
        if v != NULL:
            read_value(hole, v, w.cache.arena)
            continue
        if find_token(m, hole):
            hole.count = 1
            hole.begins = 1
            keep(w, hole)
            continue
        todo[n] = hole
        n += 1
    w.misses += n
    if n:
        merge_holes(m, todo, n)
    for i in range(n):
        keep(w, todo[i])
    for i in range(w.n_holes):
        if same[i] >= 0:
            w.holes[i].count = w.holes[same[i]].count
            memcpy(w.holes[i].ids, w.holes[same[i]].ids, <size_t>w.holes[i].count * 4)
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
