"""The merges of a BPE vocabulary, and the loop that applies them.

Rule (reference: models/bpe/model.rs `BpeBuilder::build`, models/bpe/word.rs `Word::merge_all`): the merge on line i of the
list has rank i; of two lines with the same pair of ids the later one holds. A queue orders candidates by rank, then by
position; an entry whose symbols have changed is dropped, unless the pair now there merges into the same id.

Three loops give the same answer. Rows of up to 64 symbols: scan for the lowest (rank, position), merge, repeat. Up to 2048: the
same by blocks. Longer rows, and vocabularies outside the proof below: the queue itself, a heap of 64-bit keys over a linked list.

The scan is right where a stale queue entry never passes the reference's test. An entry for (l, r) -> X stays at its
position while l or r grows; the test passes only if the pair that is then there also merges into X. If ids and strings
correspond one to one and every right part is longer than the continuing subword prefix, each merge makes a strictly longer
string, so that later pair makes a string longer than X. `scannable` says that both conditions hold.

It leaves to others: turning text into symbols, unknown characters, word caches.
"""
import os
from array import array

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from hftok._core.models.vocab_map cimport (
    ByteBuffer, VocabMap, VocabTable, buffer_reserve, bytes_differ, utf8_view, vocab_entry,
)
from hftok._core.random cimport Random, random_float, random_ready
from hftok._core.stored cimport Block, demand, view

cdef extern from "memory.h" nogil:
    void *ht_aligned(size_t size)
    void ht_aligned_free(void *p)
    void ht_huge(void *p, size_t size)

cdef extern from "stored_checks.h" nogil:
    int64_t ht_check_ranks(const uint64_t *slots, int64_t count, int64_t n, int bits)
    bint ht_none_beyond(const uint32_t *numbers, int64_t n, uint32_t limit)
    bint ht_counts_up(const uint32_t *numbers, int64_t n, uint32_t first)

cdef extern from "least.h" nogil:
    enum:
        HT_LEAST_STEP
    int32_t ht_least(const int32_t *v, int n)

cdef enum:
    MIDDLE = 2048            # rows of up to this many symbols are scanned by blocks
    BLOCK = 16               # a multiple of HT_LEAST_STEP, as SMALL and BLOCKS are
    BLOCKS = 128             # MIDDLE / BLOCK
    MIDDLE_WORDS = 32        # MIDDLE / 64
    FILTER_BITS = 4          # at least so many bits of the filter for each pair
    RUNS = 128               # runs of equal symbols in a row that is merged by runs

cdef uint64_t MULTIPLIER = int.from_bytes(os.urandom(8), "little") | 1


# --- merging -----------------------------------------------------------------------------------------------------------

cdef int merge_small(const PairTable *t, uint32_t *ids, int64_t *starts, int32_t *key, int n) noexcept nogil:
    # `alive` has a bit for each symbol that still begins something; keys of dead symbols are NO_KEY, so that the scan
    # may run over all of them without a branch. The position in the key's low bits makes the leftmost win a tie.
    cdef uint64_t alive = <uint64_t>-1 if n == 64 else (<uint64_t>1 << n) - 1
    cdef uint64_t above, below
    cdef int32_t m
    cdef int i, j, k, padded = (n + HT_LEAST_STEP - 1) & -HT_LEAST_STEP
    cdef uint32_t id
    for i in range(n - 1, padded):
        key[i] = NO_KEY
    while True:
        m = ht_least(key, padded)
        if m == NO_KEY:
            break
        i = m & 63
        id = <uint32_t>(m >> 6) + t.first_merged if t.in_order else t.merged[m >> 6]
        ids[i] = id
        above = alive & (<uint64_t>-2 << i)
        j = lowest_bit(above)
        key[j] = NO_KEY
        above &= above - 1
        alive ^= <uint64_t>1 << j
        key[i] = NO_KEY
        below = alive & ((<uint64_t>1 << i) - 1)
        if below and above:
            # Both sides' places are on their way before either is looked at.
            prefetch_pair(t, ids[highest_bit(below)], id)
        if above:
            key[i] = place_key(pair_rank(t, id, ids[lowest_bit(above)]), i)
        if below:
            k = highest_bit(below)
            key[k] = place_key(pair_rank(t, ids[k], id), k)
    k = 0
    while alive:
        i = lowest_bit(alive)
        alive &= alive - 1
        ids[k] = ids[i]
        if starts != NULL:
            starts[k] = starts[i]
        k += 1
    return k


cdef inline int64_t alive_before(const uint64_t *alive, int64_t i) noexcept nogil:
    """The place of the symbol before place i, or -1."""
    cdef int64_t w = i >> 6
    cdef uint64_t bits = alive[w] & ((<uint64_t>1 << (i & 63)) - 1)
    while bits == 0:
        w -= 1
        if w < 0:
            return -1
        bits = alive[w]
    return (w << 6) + highest_bit(bits)


cdef inline int64_t alive_behind(const uint64_t *alive, int64_t words, int64_t i) noexcept nogil:
    """The place of the symbol behind place i, or -1."""
    cdef int64_t w = i >> 6
    cdef uint64_t bits = alive[w] & (<uint64_t>-2 << (i & 63))
    while bits == 0:
        w += 1
        if w == words:
            return -1
        bits = alive[w]
    return (w << 6) + lowest_bit(bits)


cdef int64_t merge_blocks(const PairTable *t, uint32_t *ids, int64_t *starts, int64_t n) noexcept nogil:
    """As merge_small, for up to MIDDLE symbols: the lowest rank of each block of 16 places is kept, and the lowest of those is
    looked for."""
    cdef int32_t key[MIDDLE]
    cdef int32_t low[BLOCKS]
    cdef uint64_t alive[MIDDLE_WORDS]
    cdef int64_t blocks = (n + BLOCK - 1) // BLOCK, words = (n + 63) >> 6, i, j, k, b
    cdef int padded = <int>((blocks + HT_LEAST_STEP - 1) & -HT_LEAST_STEP)
    cdef int32_t m
    cdef uint32_t id
    for i in range(n - 1):
        key[i] = rank_key(pair_rank(t, ids[i], ids[i + 1]))
    for i in range(n - 1, blocks * BLOCK):
        key[i] = NO_KEY
    for b in range(blocks):
        low[b] = ht_least(key + b * BLOCK, BLOCK)
    for b in range(blocks, padded):
        low[b] = NO_KEY
    for i in range(words):
        alive[i] = <uint64_t>-1
    if n & 63:
        alive[words - 1] = (<uint64_t>1 << (n & 63)) - 1
    while True:
        m = ht_least(low, padded)
        if m == NO_KEY:
            break
        b = 0
        while low[b] != m:
            b += 1
        i = b * BLOCK
        while key[i] != m:
            i += 1
        id = <uint32_t>m + t.first_merged if t.in_order else t.merged[m]
        ids[i] = id
        j = alive_behind(alive, words, i)
        alive[j >> 6] ^= <uint64_t>1 << (j & 63)
        key[i] = key[j] = NO_KEY
        k = alive_behind(alive, words, i)
        if k >= 0:
            key[i] = rank_key(pair_rank(t, id, ids[k]))
        k = alive_before(alive, i)
        if k >= 0:
            key[k] = rank_key(pair_rank(t, ids[k], id))
            if k // BLOCK != b:
                low[k // BLOCK] = ht_least(key + k // BLOCK * BLOCK, BLOCK)
        if j // BLOCK != b:
            low[j // BLOCK] = ht_least(key + j // BLOCK * BLOCK, BLOCK)
        low[b] = ht_least(key + b * BLOCK, BLOCK)
    i = k = 0
    while i >= 0:
        ids[k] = ids[i]
        if starts != NULL:
            starts[k] = starts[i]
        k += 1
        i = alive_behind(alive, words, i)
    return k


cdef struct Run:
    uint32_t id
    int64_t count            # that many symbols with this id, side by side
    int64_t width            # how many symbols of the beginning each of them is


cdef inline int push_run(Run *runs, int n, uint32_t id, int64_t count, int64_t width) noexcept nogil:
    """Append symbols to n runs; the number of runs then, or RUNS + 1 if that cannot be."""
    if n and runs[n - 1].id == id:
        if runs[n - 1].width != width:
            return RUNS + 1
        runs[n - 1].count += count
        return n
    if n >= RUNS:
        return RUNS + 1
    runs[n].id = id
    runs[n].count = count
    runs[n].width = width
    return n + 1


cdef int merge_once(const PairTable *t, const Run *runs, int n, uint32_t rank, const uint32_t *after, Run *out) noexcept nogil:
    """Merge the pair of that rank, the lowest of all, wherever it stands, from the left to the right; the number of runs that come of
    it. RUNS + 1 if a pair that arises on the way does not come after `rank`: then it would be merged before the places to come."""
    cdef int i, k = 0
    cdef uint32_t id = t.merged[rank]
    cdef int64_t count, taken = 0        # symbols of run i that the place before has taken
    for i in range(n):
        count = runs[i].count - taken
        taken = 0
        if count == 0:
            continue
        if count > 1 and after[2 * i] == rank:
            # a pair of equal symbols: two by two, and one may be left
            if ((k and pair_rank(t, out[k - 1].id, id) <= rank)
                    or (count > 2 and pair_rank(t, id, runs[i].id) <= rank)
                    or (count > 3 and pair_rank(t, id, id) <= rank)
                    or (count % 2 == 0 and i + 1 < n and pair_rank(t, id, runs[i + 1].id) <= rank)):
                return RUNS + 1
            k = push_run(out, k, id, count // 2, 2 * runs[i].width)
            if k <= RUNS and count % 2:
                k = push_run(out, k, runs[i].id, 1, runs[i].width)
        elif i + 1 < n and after[2 * i + 1] == rank:
            if count > 1:
                k = push_run(out, k, runs[i].id, count - 1, runs[i].width)
                if k > RUNS:
                    return k
            if k and pair_rank(t, out[k - 1].id, id) <= rank:
                return RUNS + 1
            if runs[i + 1].count > 1:
                if pair_rank(t, id, runs[i + 1].id) <= rank:
                    return RUNS + 1
            elif i + 2 < n and pair_rank(t, id, runs[i + 2].id) <= rank:
                return RUNS + 1
            k = push_run(out, k, id, 1, runs[i].width + runs[i + 1].width)
            taken = 1
        else:
            k = push_run(out, k, runs[i].id, count, runs[i].width)
        if k > RUNS:
            return k
    return k


cdef int64_t merge_runs(const PairTable *t, uint32_t *ids, int64_t *starts, int64_t n) noexcept nogil:
    """Rows that are few runs of equal symbols each (rules made of dashes, indentation, padding): all places of the pair with the
    lowest rank are merged at once, so a run of n symbols takes log n steps. It is what one merge after the other comes to
    where every pair that arises ranks behind the one that is being merged, which is looked at each time. The number of symbols,
    or -1 (and nothing has changed) where the row is not such a one."""
    cdef Run runs[2][RUNS]
    cdef uint32_t after[2 * RUNS]        # ranks of the pairs inside each run, and of its last symbol with the first of the next run
    cdef int now = 0, m = 0, i
    cdef int64_t k = 0, at = 0, j
    cdef uint32_t rank
    for j in range(n):
        if j == 0 or ids[j] != ids[j - 1]:
            if m == RUNS // 4 or m * 8 > j + 64:
                return -1
            m += 1
            runs[0][m - 1].id = ids[j]
            runs[0][m - 1].count = 0
            runs[0][m - 1].width = 1
        runs[0][m - 1].count += 1
    while True:
        rank = NO_RANK
        for i in range(m):
            after[2 * i] = pair_rank(t, runs[now][i].id, runs[now][i].id) if runs[now][i].count > 1 else NO_RANK
            after[2 * i + 1] = pair_rank(t, runs[now][i].id, runs[now][i + 1].id) if i + 1 < m else NO_RANK
            rank = after[2 * i] if after[2 * i] < rank else rank
            rank = after[2 * i + 1] if after[2 * i + 1] < rank else rank
        if rank == NO_RANK:
            break
        m = merge_once(t, runs[now], m, rank, after, runs[1 - now])
        if m > RUNS:
            return -1
        now = 1 - now
    for i in range(m):
        for j in range(runs[now][i].count):
            ids[k] = runs[now][i].id
            if starts != NULL:
                starts[k] = starts[at]
            at += runs[now][i].width
            k += 1
    return k


cdef inline int32_t rank_key(uint32_t rank) noexcept nogil:
    return <int32_t>rank if rank != NO_RANK else NO_KEY


cdef inline int64_t bit_length(uint64_t v) noexcept nogil:
    return highest_bit(v) + 1 if v else 0


cdef inline void sift_down(uint64_t *heap, int64_t n, int64_t i) noexcept nogil:
    cdef uint64_t v = heap[i], low
    cdef int64_t child, last, best
    while True:
        child = 4 * i + 1
        if child >= n:
            break
        best = child
        low = heap[child]
        last = child + 4 if child + 4 < n else n
        child += 1
        while child < last:
            if heap[child] < low:
                low = heap[child]
                best = child
            child += 1
        if low >= v:
            break
        heap[i] = low
        i = best
    heap[i] = v


cdef inline void sift_up(uint64_t *heap, int64_t i) noexcept nogil:
    cdef uint64_t v = heap[i]
    cdef int64_t parent
    while i > 0:
        parent = (i - 1) >> 2
        if heap[parent] <= v:
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = v


cdef inline int reserve_keys(uint64_t **keys, int64_t *capacity, int64_t wanted) noexcept nogil:
    cdef uint64_t *data
    if wanted <= capacity[0]:
        return 0
    wanted += wanted // 2 + 64
    data = <uint64_t *>realloc(keys[0], <size_t>wanted * sizeof(uint64_t))
    if data == NULL:
        return -1
    keys[0] = data
    capacity[0] = wanted
    return 0


cdef int reserve_rows(MergeScratch *s, int64_t n) noexcept nogil:
    if n <= s.capacity:
        return 0
    free(s.next)
    free(s.previous)
    free(s.rank)
    s.next = <int64_t *>malloc(<size_t>n * sizeof(int64_t))
    s.previous = <int64_t *>malloc(<size_t>n * sizeof(int64_t))
    s.rank = <uint32_t *>malloc(<size_t>n * sizeof(uint32_t))
    s.capacity = n
    if s.next == NULL or s.previous == NULL or s.rank == NULL:
        free(s.next)
        free(s.previous)
        free(s.rank)
        s.next = NULL
        s.previous = NULL
        s.rank = NULL
        s.capacity = 0
        return -1
    return 0


cdef void merge_scratch_free(MergeScratch *s) noexcept nogil:
    free(s.next)
    free(s.previous)
    free(s.rank)
    free(s.heap)
    free(s.skipped)
    s.next = NULL
    s.previous = NULL
    s.rank = NULL
    s.heap = NULL
    s.skipped = NULL
    s.capacity = s.heap_capacity = s.skipped_capacity = 0


cdef int64_t start_queue(const PairTable *t, const uint32_t *ids, int64_t n, int shift, MergeScratch *s) noexcept nogil:
    """Fill the linked list and the heap; returns the heap's size or -1. A pair appears once for each time it arises, so the
    heap never holds more than 3n entries: n - 1 at first, two for each of up to n - 1 merges."""
    cdef int64_t i, size = 0
    cdef uint32_t rank
    cdef uint32_t left, right
    if n > s.capacity and reserve_rows(s, n + n // 4) != 0:
        return -1
    if reserve_keys(&s.heap, &s.heap_capacity, n) != 0:
        return -1
    for i in range(n):
        s.next[i] = i + 1
        s.previous[i] = i - 1
    s.next[n - 1] = -1
    s.rank[n - 1] = NO_RANK
    left = ids[0]
    for i in range(n - 1):
        right = ids[i + 1]
        rank = pair_rank(t, left, right)
        left = right
        s.rank[i] = rank
        if rank != NO_RANK:
            s.heap[size] = (<uint64_t>rank << shift) | <uint64_t>i
            size += 1
    i = (size + 2) >> 2  # parents come before this
    while i > 0:
        i -= 1
        sift_down(s.heap, size, i)
    return size


cdef inline int take(const PairTable *t, uint32_t *ids, uint64_t entry, int shift, int64_t *size, MergeScratch *s) noexcept nogil:
    """Apply the queue entry if it still holds, and queue the pairs that arise. -1: out of memory."""
    cdef int64_t i = <int64_t>(entry & ((<uint64_t>1 << shift) - 1))
    cdef int64_t j, k
    cdef uint32_t rank = <uint32_t>(entry >> shift)
    cdef uint32_t now = s.rank[i], id
    # A symbol that was merged away, or has none to its right, has NO_RANK.
    if now == NO_RANK or (now != rank and t.merged[now] != t.merged[rank]):
        return 0
    if reserve_keys(&s.heap, &s.heap_capacity, size[0] + 2) != 0:
        return -1
    id = t.merged[rank]
    j = s.next[i]
    k = s.next[j]
    ids[i] = id
    s.next[i] = k
    s.rank[j] = NO_RANK
    s.rank[i] = NO_RANK
    if s.previous[i] >= 0:
        j = s.previous[i]
        rank = pair_rank(t, ids[j], id)
        s.rank[j] = rank
        if rank != NO_RANK:
            s.heap[size[0]] = (<uint64_t>rank << shift) | <uint64_t>j
            sift_up(s.heap, size[0])
            size[0] += 1
    if k >= 0:
        s.previous[k] = i
        rank = pair_rank(t, id, ids[k])
        s.rank[i] = rank
        if rank != NO_RANK:
            s.heap[size[0]] = (<uint64_t>rank << shift) | <uint64_t>i
            sift_up(s.heap, size[0])
            size[0] += 1
    return 0


cdef inline uint64_t pop(uint64_t *heap, int64_t *size) noexcept nogil:
    cdef uint64_t top = heap[0]
    size[0] -= 1
    if size[0] > 0:
        heap[0] = heap[size[0]]
        sift_down(heap, size[0], 0)
    return top


cdef int64_t gather(uint32_t *ids, int64_t *starts, MergeScratch *s) noexcept nogil:
    cdef int64_t i = 0, k = 0
    while i >= 0:
        ids[k] = ids[i]
        if starts != NULL:
            starts[k] = starts[i]
        k += 1
        i = s.next[i]
    return k


cdef int64_t merge_symbols(const PairTable *t, uint32_t *ids, int64_t *starts, int64_t n, MergeScratch *s) noexcept nogil:
    cdef int32_t key[SMALL]
    cdef int64_t i, size
    cdef int shift
    cdef uint32_t left, right
    if n < 2:
        return n
    if n <= SMALL and t.scannable:
        left = ids[0]
        for i in range(n - 1):
            right = ids[i + 1]
            key[i] = place_key(pair_rank(t, left, right), <uint32_t>i)
            left = right
        return merge_small(t, ids, starts, key, <int>n)
    if t.scannable:
        size = merge_runs(t, ids, starts, n)
        if size >= 0:
            return size
        if n <= MIDDLE:
            return merge_blocks(t, ids, starts, n)
    shift = <int>bit_length(<uint64_t>n)
    if shift + bit_length(<uint64_t>t.ranks) > 64:
        return -1  # not before a row takes more memory than there is
    size = start_queue(t, ids, n, shift, s)
    if size < 0:
        return -1
    while size > 0:
        if take(t, ids, pop(s.heap, &size), shift, &size, s) != 0:
            return -1
    return gather(ids, starts, s)


cdef int64_t merge_with_dropout(
    const PairTable *t, uint32_t *ids, int64_t *starts, int64_t n, float p, MergeScratch *s) noexcept nogil:
    # word.rs merge_all: an entry that comes up is set aside with probability p; the entries set aside return to the queue
    # when one that is not passed over comes up, stale or not. Hence the queue, stale entries included, and no shortcut.
    cdef int64_t size, skipped = 0, i
    cdef uint64_t entry
    cdef int shift
    if n < 2 or p >= 1.0:
        return n  # a draw is below 1: every entry is passed over
    if not p > 0.0:
        return merge_symbols(t, ids, starts, n, s)  # no draw is below p, and none is below NaN
    random_ready(&s.random)
    shift = <int>bit_length(<uint64_t>n)
    if shift + bit_length(<uint64_t>t.ranks) > 64:
        return -1
    size = start_queue(t, ids, n, shift, s)
    if size < 0:
        return -1
    while size > 0:
        entry = pop(s.heap, &size)
        if random_float(&s.random) < p:
            if reserve_keys(&s.skipped, &s.skipped_capacity, skipped + 1) != 0:
                return -1
            s.skipped[skipped] = entry
            skipped += 1
            continue
        if reserve_keys(&s.heap, &s.heap_capacity, size + skipped) != 0:
            return -1
        for i in range(skipped):
            s.heap[size] = s.skipped[i]
            sift_up(s.heap, size)
            size += 1
        skipped = 0
        if take(t, ids, entry, shift, &size, s) != 0:
            return -1
    return gather(ids, starts, s)


# --- the table ---------------------------------------------------------------------------------------------------------

cdef inline int64_t find_near(const VocabTable *t, const uint8_t *p, int64_t n, int64_t *near) noexcept nogil:
    """vocab_entry, with a guess: tokens made by successive merges mostly follow each other in the vocabulary."""
    cdef int64_t i = near[0], k
    for k in range(2):
        if i < t.size and t.offsets[i + 1] - t.offsets[i] == n and bytes_differ(t.text.data + t.offsets[i], p, <size_t>n) == 0:
            near[0] = i
            return i
        i += 1
    i = vocab_entry(t, p, n)
    if i >= 0:
        near[0] = i
    return i


cdef void fill_pair_ranks(const PairTable *t, const uint32_t *ids, uint32_t *ranks) noexcept nogil:
    cdef int i, j
    for i in range(256):
        for j in range(256):
            ranks[i << 8 | j] = NO_RANK if ids[i] == NO_SYMBOL or ids[j] == NO_SYMBOL else pair_rank(t, ids[i], ids[j])


cdef int pair_table_reserve(PairTable *t, int64_t pairs, bint packed) except -1:
    cdef uint64_t slots = 16, bits = 1 << 12
    while slots < <uint64_t>pairs * 2:
        slots *= 2
    t.mask = slots - 1
    t.multiplier = MULTIPLIER
    if packed:
        while bits < <uint64_t>pairs * FILTER_BITS:
            bits *= 2
        t.packed = <uint64_t *>ht_aligned(<size_t>slots * sizeof(uint64_t))
        if t.packed != NULL:
            ht_huge(t.packed, <size_t>slots * sizeof(uint64_t))
        t.filter = <uint64_t *>calloc(<size_t>(bits >> 6), sizeof(uint64_t))
        if t.packed == NULL or t.filter == NULL:
            raise MemoryError("out of memory while reading the merges")
        memset(t.packed, 0xFF, <size_t>slots * sizeof(uint64_t))
        t.filter_mask = bits - 1
    else:
        t.wide = <WideSlot *>malloc(<size_t>slots * sizeof(WideSlot))
        if t.wide == NULL:
            raise MemoryError("out of memory while reading the merges")
        memset(t.wide, 0xFF, <size_t>slots * sizeof(WideSlot))
    return 0


cdef bint pair_table_put(PairTable *t, uint64_t left, uint64_t right, uint32_t rank) noexcept nogil:
    cdef uint64_t pair, k
    cdef bint fresh
    if t.packed != NULL:
        pair = (left << ID_BITS) | right
        k = filter_bit(t, pair_hash(t, pair))
        t.filter[k >> 6] |= <uint64_t>1 << (k & 63)
        k = pair_hash(t, pair) & t.mask
        while t.packed[k] != <uint64_t>-1 and t.packed[k] >> RANK_BITS != pair:
            k = (k + 1) & t.mask
        fresh = t.packed[k] == <uint64_t>-1
        t.packed[k] = (pair << RANK_BITS) | rank
        return fresh
    pair = (left << 32) | right
    k = pair_hash(t, pair) & t.mask
    while t.wide[k].rank != NO_RANK and t.wide[k].pair != pair:
        k = (k + 1) & t.mask
    fresh = t.wide[k].rank == NO_RANK
    t.wide[k].pair = pair
    t.wide[k].rank = rank
    return fresh


cdef void pair_table_free(PairTable *t) noexcept nogil:
    ht_aligned_free(t.packed)
    free(t.wide)
    free(t.filter)
    t.packed = NULL
    t.wide = NULL
    t.filter = NULL


cdef class MergeTable:
    def __cinit__(self):
        memset(&self.table, 0, sizeof(PairTable))
        self.parts = NULL
        self.is_part = NULL

    def __dealloc__(self):
        if self.borrowed:
            return
        pair_table_free(&self.table)
        free(self.table.merged)
        free(self.parts)
        free(self.is_part)

    def __init__(self, VocabMap vocab not None, merges not None, str prefix=None):
        """Read merges: a list of `"left right"` lines (lines that begin with `#version` do not count) or of pairs of strings;
        or a uint32 array (n, 3) of left id, right id and merged id, all of tokens of the vocabulary.

        Raises Exception with the reference's sentence for a line that is not two parts and for a part, or a result, that is
        not in the vocabulary; ValueError where the reference panics; TypeError for items of other types; MemoryError.
        """
        if self.parts != NULL:
            raise RuntimeError("a MergeTable is filled once, when it is made")
        self.vocab = vocab
        self.prefix_length = len(prefix.encode("utf-8")) if prefix else 0
        if isinstance(merges, list):
            self.fill(self.prefix_length, merges)
        else:
            self.fill_ids(merges)
        self.build_slots()

    @staticmethod
    cdef MergeTable of_entries(VocabMap vocab, uint32_t *parts, const uint32_t *wholes, int64_t n):
        """The merges whose left and right parts are strings `parts` (2n) of the vocabulary, and whose results `wholes`, by
        their places; each whole is its left and right part one after the other, neither of them empty. Takes `parts` over."""
        cdef MergeTable self = MergeTable.__new__(MergeTable)
        cdef VocabTable *v = &vocab.table
        cdef int64_t i
        self.vocab = vocab
        self.parts = parts
        self.table.merged = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
        self.is_part = <uint8_t *>calloc(<size_t>(v.size >> 3) + 1, 1)
        if self.table.merged == NULL or self.is_part == NULL:
            raise MemoryError("out of memory while reading the merges")
        for i in range(2 * n):
            self.is_part[parts[i] >> 3] |= 1 << (parts[i] & 7)
        for i in range(n):
            self.table.merged[i] = v.ids[wholes[i]]
        self.table.ranks = n
        self.table.scannable = vocab.unique_ids and n < SMALL_RANK_LIMIT
        self.build_slots()
        return self

    cdef int fill_ids(self, const uint32_t[:, ::1] rows) except -1:
        cdef VocabTable *v = &self.vocab.table
        cdef int64_t total = rows.shape[0], rank, k, e
        cdef int64_t entries[3]
        cdef int64_t sizes[3]
        cdef bint growing = True
        cdef dict far = {}
        cdef uint32_t *near = NULL
        if rows.shape[1] != 3:
            raise ValueError("merges as ids are rows of left id, right id and merged id")
        if total >= 0xFFFFFFFE:
            raise OverflowError("a BPE model holds fewer than 2**32 - 2 merges")
        self.parts = <uint32_t *>malloc(<size_t>(2 * total + 2) * sizeof(uint32_t))
        self.table.merged = <uint32_t *>malloc(<size_t>(total + 1) * sizeof(uint32_t))
        self.is_part = <uint8_t *>calloc(<size_t>(v.size >> 3) + 1, 1)
        if self.parts == NULL or self.table.merged == NULL or self.is_part == NULL:
            raise MemoryError("out of memory while reading the merges")
        if self.vocab.max_id < 4 * v.size + 65536:
            near = <uint32_t *>malloc(<size_t>(self.vocab.max_id + 1) * sizeof(uint32_t))
            if near == NULL:
                raise MemoryError("out of memory while reading the merges")
            memset(near, 0xFF, <size_t>(self.vocab.max_id + 1) * sizeof(uint32_t))
            for e in range(v.size):
                near[v.ids[e]] = <uint32_t>e
        else:
            far = {v.ids[e]: e for e in range(v.size)}
        for rank in range(total):
            for k in range(3):
                if near == NULL:
                    entries[k] = far.get(rows[rank, k], -1)
                else:
                    entries[k] = <int32_t>near[rows[rank, k]] if rows[rank, k] <= <uint64_t>self.vocab.max_id else -1
                if entries[k] < 0:
                    free(near)
                    raise ValueError(f"id {rows[rank, k]} of merge {rank} is not in the vocabulary")
                sizes[k] = v.offsets[entries[k] + 1] - v.offsets[entries[k]]
            if sizes[2] == sizes[0]:
                growing = False
            if sizes[2] != sizes[0] + sizes[1]:
                # Made with a continuing subword prefix, whatever the model's prefix is now.
                self.prefix_length = max(self.prefix_length, sizes[0] + sizes[1] - sizes[2], 1)
            for k in range(2):
                self.parts[2 * rank + k] = <uint32_t>entries[k]
                self.is_part[entries[k] >> 3] |= 1 << (entries[k] & 7)
            self.table.merged[rank] = rows[rank, 2]
        free(near)
        self.table.ranks = total
        self.table.scannable = growing and self.vocab.unique_ids and total < SMALL_RANK_LIMIT
        return 0

    cdef int fill(self, int64_t prefix_length, list merges) except -1:
        cdef VocabTable *v = &self.vocab.table
        cdef int64_t total = len(merges)
        cdef int64_t rank = 0, i, size_a = 0, size_b = 0, size, e, space
        cdef int64_t near = 0
        cdef uint32_t *ids
        cdef ByteBuffer buffer_a, buffer_b, joined
        cdef const uint8_t *a = NULL
        cdef const uint8_t *b = NULL
        cdef bint growing = True
        cdef bint lines
        if total >= 0xFFFFFFFE:
            raise OverflowError("a BPE model holds fewer than 2**32 - 2 merges")
        self.parts = <uint32_t *>malloc(<size_t>(2 * total + 2) * sizeof(uint32_t))
        self.table.merged = <uint32_t *>malloc(<size_t>(total + 1) * sizeof(uint32_t))
        self.is_part = <uint8_t *>calloc(<size_t>(v.size >> 3) + 1, 1)
        if self.parts == NULL or self.table.merged == NULL or self.is_part == NULL:
            raise MemoryError("out of memory while reading the merges")
        memset(&buffer_a, 0, sizeof(ByteBuffer))
        memset(&buffer_b, 0, sizeof(ByteBuffer))
        memset(&joined, 0, sizeof(ByteBuffer))
        ids = v.ids
        lines = total > 0 and isinstance(merges[0], str)
        try:
            for i in range(total):
                item = merges[i]
                if lines:
                    if not isinstance(item, str):
                        raise TypeError("merges are all lines or all pairs, not a mixture")
                    a = utf8_view(<str>item, &buffer_a, &size)
                    if size >= 8 and bytes_differ(a, b"#version", 8) == 0:
                        continue
                    space = one_space(a, size)
                    if space < 0:
                        raise bad_line(rank)
                    size_a = space
                    b = a + space + 1
                    size_b = size - space - 1
                else:
                    first, second = pair_of(item)
                    a = utf8_view(<str>first, &buffer_a, &size_a)
                    b = utf8_view(<str>second, &buffer_b, &size_b)
                e = vocab_entry(v, a, size_a)
                if e < 0:
                    raise self.out_of_vocabulary(a[:size_a], merges, i, rank)
                self.parts[2 * rank] = <uint32_t>e
                self.is_part[e >> 3] |= 1 << (e & 7)
                e = vocab_entry(v, b, size_b)
                if e < 0:
                    raise self.out_of_vocabulary(b[:size_b], merges, i, rank)
                self.parts[2 * rank + 1] = <uint32_t>e
                self.is_part[e >> 3] |= 1 << (e & 7)
                # model.rs build: the result is left + right without its first prefix_length bytes, whatever they are; it is
                # put together in a buffer as long as the longest string of the vocabulary (a longer result is a panic).
                if size_b < prefix_length:
                    raise ValueError(
                        f"Error while initializing BPE: the right part of merge {i} is shorter than the continuing "
                        "subword prefix; give the parts as they stand in the vocabulary, prefix included")
                if size_b == prefix_length:
                    growing = False
                size = size_a + size_b - prefix_length
                joined.size = 0
                buffer_reserve(&joined, size)
                memcpy(joined.data, a, <size_t>size_a)
                memcpy(joined.data + size_a, b + prefix_length, <size_t>(size_b - prefix_length))
                e = find_near(v, joined.data, size, &near)
                if e < 0:
                    raise self.out_of_vocabulary(joined.data[:size], merges, i, rank, panic=size > v.longest)
                self.table.merged[rank] = ids[e]
                rank += 1
        finally:
            free(buffer_a.data)
            free(buffer_b.data)
            free(joined.data)
        self.table.ranks = rank
        self.table.scannable = growing and self.vocab.unique_ids and rank < SMALL_RANK_LIMIT
        return 0

    def out_of_vocabulary(self, bytes token, list merges, int64_t i, int64_t rank, bint panic=False):
        """The exception for a token that is not in the vocabulary. The reference reads all lines before it looks any up."""
        if isinstance(merges[0], str):
            for line in merges[i + 1:]:
                if not line.startswith("#version"):
                    rank += 1
                    if line.count(" ") != 1:
                        return bad_line(rank)
        kind = ValueError if panic else Exception
        return kind(f"Error while initializing BPE: Token `{token.decode('utf-8', 'replace')}` out of vocabulary")

    cdef int build_slots(self) except -1:
        cdef PairTable *t = &self.table
        cdef const uint32_t *ids = self.vocab.table.ids
        cdef int64_t rank
        cdef bint packed = self.vocab.max_id < (1 << ID_BITS) - 1 and t.ranks < (1 << RANK_BITS) - 1
        pair_table_reserve(t, t.ranks, packed)
        t.in_order = True
        for rank in range(t.ranks):
            t.in_order = t.in_order and t.merged[rank] == t.merged[0] + <uint64_t>rank
        t.first_merged = t.merged[0] if t.ranks else 0
        for rank in range(t.ranks):
            # A later line with the same pair takes the place of the earlier one.
            self.distinct += pair_table_put(t, ids[self.parts[2 * rank]], ids[self.parts[2 * rank + 1]], <uint32_t>rank)
        return 0

    # ---- as a part of a block ------------------------------------------------------------------------------------------

    def sections(self):
        """The arrays by name (see stored), the random multiplier of the hash with them; None for a table of wide slots."""
        cdef const PairTable *t = &self.table
        if t.packed == NULL:
            return None
        numbers = array("Q", [
            t.ranks, t.mask, t.filter_mask, t.multiplier, t.first_merged, t.in_order, t.scannable, self.distinct,
            self.prefix_length])
        return {
            "merges.numbers": numbers.tobytes(),
            "merges.parts": view(self.parts, 2 * t.ranks * sizeof(uint32_t)),
            "merges.merged": view(t.merged, t.ranks * sizeof(uint32_t)),
            "merges.is_part": view(self.is_part, (self.vocab.table.size >> 3) + 1),
            "merges.packed": view(t.packed, <int64_t>(t.mask + 1) * sizeof(uint64_t)),
            "merges.filter": view(t.filter, <int64_t>(t.filter_mask + 1) >> 3),
        }

    @staticmethod
    def of_block(Block block not None, VocabMap vocab not None):
        """The merges of that vocabulary over the arrays of a block. StoredError where they are damaged."""
        cdef MergeTable self = MergeTable.__new__(MergeTable)
        cdef PairTable *t = &self.table
        cdef const uint64_t *numbers = <const uint64_t *>block.exactly("merges.numbers", 8, 9)
        cdef int64_t n, i, size = vocab.table.size, free_slots
        cdef const uint32_t *ids = vocab.table.ids
        cdef uint64_t slot
        cdef bint good, in_order
        self.block = block
        self.borrowed = True
        self.vocab = vocab
        demand(numbers[0] < (1 << RANK_BITS) - 1 and vocab.max_id < (1 << ID_BITS) - 1)
        demand(numbers[1] < <uint64_t>1 << 40 and 64 <= numbers[2] < <uint64_t>1 << 40)
        t.ranks = n = <int64_t>numbers[0]
        t.mask = numbers[1]
        t.filter_mask = numbers[2]
        t.multiplier = numbers[3]
        t.first_merged = <uint32_t>numbers[4]
        t.in_order = numbers[5] == 1
        t.scannable = numbers[6] == 1 and n < SMALL_RANK_LIMIT
        self.distinct = <int64_t>numbers[7]
        self.prefix_length = <int64_t>numbers[8]
        demand(t.mask & (t.mask + 1) == 0 and t.filter_mask & (t.filter_mask + 1) == 0)
        self.parts = <uint32_t *>block.exactly("merges.parts", sizeof(uint32_t), 2 * n)
        t.merged = <uint32_t *>block.exactly("merges.merged", sizeof(uint32_t), n)
        self.is_part = <uint8_t *>block.exactly("merges.is_part", 1, (size >> 3) + 1)
        t.packed = <uint64_t *>block.exactly("merges.packed", sizeof(uint64_t), <int64_t>t.mask + 1)
        t.filter = <uint64_t *>block.exactly("merges.filter", sizeof(uint64_t), <int64_t>(t.filter_mask + 1) >> 6)
        with nogil:
            good = n == 0 or size > 0            # the size of a VocabMap has 32 bits
            if n > 0 and good:
                good = ht_none_beyond(self.parts, 2 * n, <uint32_t>(size - 1)) and ht_none_beyond(t.merged, n, vocab.max_id)
            in_order = ht_counts_up(t.merged, n, t.first_merged)
            free_slots = ht_check_ranks(t.packed, <int64_t>t.mask + 1, n, RANK_BITS)
        demand(good and in_order == t.in_order and free_slots > 0 and free_slots == <int64_t>t.mask + 1 - self.distinct)
        # The hash of today gives the places of then (a line that comes again later has the later rank).
        for i in range(0, n, n // 64 + 1):
            slot = pair_rank(t, ids[self.parts[2 * i]], ids[self.parts[2 * i + 1]])
            demand(slot == <uint64_t>i or (i < <int64_t>slot < n and self.distinct < n))
        return self

    def __len__(self):
        return self.table.ranks

    def rows(self):
        """The merges as ids: uint32 (n, 3) of left id, right id, id of the merged token, by rank."""
        cdef const uint32_t *ids = self.vocab.table.ids
        cdef int64_t i
        result = np.empty((self.table.ranks, 3), dtype=np.uint32)
        cdef uint32_t[:, ::1] out = result
        for i in range(self.table.ranks):
            out[i, 0] = ids[self.parts[2 * i]]
            out[i, 1] = ids[self.parts[2 * i + 1]]
            out[i, 2] = self.table.merged[i]
        return result

    @property
    def scannable(self):
        return bool(self.table.scannable)

    def to_list(self):
        """The merges that hold, as (left id, right id) in the order of rank: a pair that is listed twice counts once, in its
        later place."""
        cdef const uint32_t *ids = self.vocab.table.ids
        cdef int64_t rank
        cdef uint32_t left, right
        result = []
        for rank in range(self.table.ranks):
            left = ids[self.parts[2 * rank]]
            right = ids[self.parts[2 * rank + 1]]
            if pair_rank(&self.table, left, right) == <uint32_t>rank:
                result.append((left, right))
        return result


cdef inline int64_t one_space(const uint8_t *p, int64_t n) noexcept nogil:
    """Position of the space where there is exactly one, else -1."""
    cdef int64_t i, at = -1
    for i in range(n):
        if p[i] == 32:
            if at >= 0:
                return -1
            at = i
    return at


cdef tuple pair_of(object item):
    if type(item) is list or type(item) is tuple:
        if len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], str):
            return item[0], item[1]
    raise TypeError(f"a merge is a pair of strings, not {item!r:.80}")


def bad_line(int64_t rank):
    return Exception(f"Error while initializing BPE: Merges text file invalid at line {rank + 1}")
