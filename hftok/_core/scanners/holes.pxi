# The words of a flush that the cache does not know, encoded side by side.
#
# On text that is new every fiftieth word must be merged, and merging one word is a chain of look-ups in a table that is larger
# than the near caches: each waits for the one before, some 100 ns at a time. A flush (scanners/lookup.pxi) therefore passes
# such words over, remembers where their tokens belong (a hole in the ids), and comes here at its end. The words are looked up
# where else they may be (the neighbour bucket, the tokens known beforehand), and what is left is merged in lanes: each lane
# chooses its next merge, then each makes it and asks for the memory that the next choice will read. Then the ids are moved apart
# and the holes filled.
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
from hftok._core.early_chars cimport early_id
from hftok._core.models.bpe cimport find_whole
from hftok._core.models.merges cimport (
    ID_BITS, NO_KEY, NO_SYMBOL, RANK_BITS, PairTable, highest_bit, lowest_bit, may_merge, pair_hash, place_key, prefetch, slot_rank,
)
from hftok._core.seeds cimport NO_SEED, may_be_long, seeds_find
from hftok._core.worker cimport BATCH, HOLES, SCAN_OK, Hole, WordMerges, Worker, worker_id_room

cdef extern from "word_rows.h" nogil:
    enum:
        HT_ROW
    void ht_word_row(const uint8_t *text, int n, const uint32_t *byte_ids, const uint32_t *pair_ranks, uint32_t *ids, int32_t *keys)
    bint ht_row_high(const uint8_t *text, int n)
    int32_t ht_row_least(const int32_t *keys, int n, int32_t one, int32_t other)
    int32_t ht_slot_key(uint64_t slot, uint64_t pair, int rank_bits, int place)
    bint ht_slot_other(uint64_t slot, uint64_t pair, int rank_bits)
    int ht_row_symbols(const uint32_t *ids, uint64_t alive, int n, uint32_t *out)

cdef enum:
    LANES = 16


cdef struct Lane:
    uint32_t ids[HT_ROW]     # of a word of at most LONG_KEY bytes
    int32_t key[HT_ROW]      # rank << 6 | place, or NO_KEY
    uint64_t alive           # a bit for each symbol that still begins something
    uint64_t right_pair      # two pairs whose slots are asked for, ...
    uint64_t left_pair
    const uint64_t *right_slot       # ... the slots (of a pair that surely does not merge, one that is empty), ...
    const uint64_t *left_slot
    int right                # ... and the places of their left parts
    int left
    int32_t chosen           # key of the merge that is next; NO_KEY while `pending` is waited for
    int size                 # bytes of the word
    uint64_t pending         # places of pairs whose slots are asked for at the beginning
    const uint64_t *slots[HT_ROW]
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
    if ht_slot_other(slot[0], pair, RANK_BITS):
        return place_key(slot_rank(t, pair, pair_hash(t, pair)), <uint32_t>place)
    return ht_slot_key(slot[0], pair, RANK_BITS, place)


cdef void begin_chars(Lane *lane, const WordMerges *m, const uint8_t *text, int n) noexcept nogil:
    """Put characters where they are symbols from the start in the places of their bytes."""
    cdef uint64_t chars = 0, leads = lane.alive, left
    cdef uint32_t id
    cdef int i, j, length
    i = 0
    while i < n:
        length = 1
        if text[i] >= 0xC2:
            id = early_id(m.early, text, i, n, &length)
            if id != NO_SYMBOL:
                lane.ids[i] = id
                chars |= <uint64_t>1 << i
                lane.alive &= ~(((<uint64_t>2 << (length - 1)) - 2) << i)
            else:
                length = 1
        i += length
    # The pairs of two bytes have their keys; those of characters are asked for.
    left = leads & ~lane.alive
    while left:
        lane.key[lowest_bit(left)] = NO_KEY
        left &= left - 1
    left = (chars | chars >> 1) & lane.alive
    lane.pending = left & ((<uint64_t>1 << highest_bit(lane.alive)) - 1)
    while left:
        i = lowest_bit(left)
        left &= left - 1
        lane.key[i] = NO_KEY
        if lane.pending >> i & 1:
            j = lowest_bit(lane.alive & (<uint64_t>-2 << i))
            lane.slots[i] = ask(m.table, (<uint64_t>lane.ids[i] << ID_BITS) | lane.ids[j], True)


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
    cdef int n = <int>hole.size
    lane.hole = hole
    lane.size = n
    lane.pending = 0
    lane.alive = (<uint64_t>1 << n) - 1
    lane.right = lane.left = n - 1           # which begins no pair
    lane.right_pair = lane.left_pair = 0
    lane.right_slot = lane.left_slot = &EMPTY_SLOT
    ht_word_row(hole.key, n, m.byte_ids, m.byte_pairs, lane.ids, lane.key)
    if m.early != NULL and ht_row_high(hole.key, n):
        begin_chars(lane, m, hole.key, n)


cdef inline int32_t choose(Lane *lane, const PairTable *t) noexcept nogil:
    """The key of the merge that is next, NO_KEY if none is left."""
    # The two places that are waited for hold NO_KEY: what comes is compared apart, so that no load waits for its store.
    cdef int32_t left = slot_key(t, lane.left_pair, lane.left_slot, lane.left)
    cdef int32_t right = slot_key(t, lane.right_pair, lane.right_slot, lane.right)
    cdef int32_t m = ht_row_least(lane.key, lane.size, left, right)
    lane.key[lane.left] = left
    lane.key[lane.right] = right         # the later one: the first symbol's left place is itself
    return m


cdef inline void merge_chosen(Lane *lane, const PairTable *t) noexcept nogil:
    cdef int32_t m = lane.chosen
    cdef int i = m & 63, j, k
    cdef uint32_t id = <uint32_t>(m >> 6) + t.first_merged if t.in_order else t.merged[m >> 6]
    cdef uint64_t above = lane.alive & (<uint64_t>-2 << i), below
    lane.ids[i] = id
    j = lowest_bit(above)
    above &= above - 1
    lane.alive ^= <uint64_t>1 << j
    below = lane.alive & ((<uint64_t>1 << i) - 1)
    k = highest_bit(below | 1)
    lane.key[j] = lane.key[i] = lane.key[k] = NO_KEY
    lane.right = i
    lane.left = k
    lane.right_pair = (<uint64_t>id << ID_BITS) | lane.ids[lowest_bit(above | (<uint64_t>1 << (HT_ROW - 1)))]
    lane.left_pair = (<uint64_t>lane.ids[k] << ID_BITS) | id
    lane.right_slot = ask(t, lane.right_pair, above != 0)
    lane.left_slot = ask(t, lane.left_pair, below != 0)


cdef void merge_holes(const WordMerges *m, Hole **holes, int64_t n) noexcept nogil:
    cdef Lane lanes[LANES]
    cdef Lane *lane
    cdef const PairTable *t = m.table
    cdef int64_t next = 0
    cdef int i, active = 0
    cdef int32_t chosen
    memset(lanes, 0, sizeof(lanes))
    while active < LANES and next < n:
        begin_lane(&lanes[active], m, holes[next])
        active += 1
        next += 1
    while active:
        i = 0
        while i < active:
            lane = &lanes[i]
            chosen = NO_KEY
            if not lane.pending:
                chosen = choose(lane, t)
                if chosen == NO_KEY:
                    lane.hole.begins = lane.alive
                    lane.hole.count = ht_row_symbols(lane.ids, lane.alive, lane.size, lane.hole.ids)
                    if next < n:
                        begin_lane(lane, m, holes[next])
                        next += 1
                    else:
                        active -= 1
                        if i != active:
                            lanes[i] = lanes[active]
                    continue
                if not t.in_order:
                    prefetch(&t.merged[chosen >> 6])
            lane.chosen = chosen
            i += 1
        for i in range(active):
            if lanes[i].pending:
                take_pending(&lanes[i], t)
            else:
                merge_chosen(&lanes[i], t)


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
