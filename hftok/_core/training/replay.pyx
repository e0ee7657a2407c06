"""Going on from an earlier training: its merges, applied to the words before new ones are looked for.

What it does: merges every word for itself, lowest rank first and leftmost first, and closes the text up. Where the merges came
from training without affixes this is the state that the training had after them: a token's merges all come after the one that
makes it, so going through the word by ranks and going through all words merge by merge are the same.

Rule of the reference: do_train of models/bpe/trainer.rs as the engines follow it; the reference itself cannot go on. New merges
are left to merge_engine, finding out whether a vocabulary can be gone on from to the caller.
"""
from libc.stdint cimport INT64_MAX, UINT32_MAX, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

from hftok._core.training.merge_state cimport Engine, reserve_merges
from hftok._core.training.pair_index cimport PairTable, pair_key, table_append, table_find, table_free, table_zero
from hftok._core.training.progress cimport watched_for
from hftok._core.training.slots cimport FIRST_ID, GAP, Segment, slot_t, slots_gather

cdef enum:
    SHORT = 64                  # tokens of a word that is gone through again and again; longer ones keep a queue

cdef int64_t NO_RANK = INT64_MAX

# One thread's room for a long word.
cdef struct Scratch:
    uint32_t *id
    int64_t *before
    int64_t *after
    uint64_t *queue             # rank << 32 | place, a binary heap
    int64_t queued
    int64_t capacity
    int failed

cdef struct Replay:
    Engine *engine
    PairTable rank              # a pair's row is its rank
    const uint32_t *merge
    Scratch *scratch


cdef inline int64_t rank_of(const Replay *r, uint32_t left, uint32_t right) noexcept nogil:
    cdef int64_t row = table_find(&r.rank, pair_key(left, right))
    return NO_RANK if row < 0 else row


cdef inline uint32_t made_by(const Replay *r, int64_t rank) noexcept nogil:
    return r.merge[3 * rank + 2] + FIRST_ID


cdef int64_t merge_short(const Replay *r, slot_t *s, int64_t n) noexcept nogil:
    """Merge a word in place; returns its new length."""
    cdef int64_t rank[SHORT]
    cdef int64_t i, best
    for i in range(n - 1):
        rank[i] = rank_of(r, s[i], s[i + 1])
    while n > 1:
        best = 0
        for i in range(1, n - 1):
            if rank[i] < rank[best]:
                best = i
        if rank[best] == NO_RANK:
            break
        s[best] = <slot_t>made_by(r, rank[best])
        for i in range(best + 1, n - 1):
            s[i] = s[i + 1]
        for i in range(best, n - 2):
            rank[i] = rank[i + 1]
        n -= 1
        if best:
            rank[best - 1] = rank_of(r, s[best - 1], s[best])
        if best < n - 1:
            rank[best] = rank_of(r, s[best], s[best + 1])
    return n


cdef void push(Scratch *w, uint64_t entry) noexcept nogil:
    cdef int64_t i = w.queued
    cdef int64_t parent
    w.queued += 1
    while i:
        parent = (i - 1) >> 1
        if w.queue[parent] <= entry:
            break
        w.queue[i] = w.queue[parent]
        i = parent
    w.queue[i] = entry


cdef uint64_t pop(Scratch *w) noexcept nogil:
    cdef uint64_t top = w.queue[0]
    cdef uint64_t entry
    cdef int64_t i = 0
    cdef int64_t child
    w.queued -= 1
    entry = w.queue[w.queued]
    while True:
        child = 2 * i + 1
        if child >= w.queued:
            break
        if child + 1 < w.queued and w.queue[child + 1] < w.queue[child]:
            child += 1
        if w.queue[child] >= entry:
            break
        w.queue[i] = w.queue[child]
        i = child
    w.queue[i] = entry
    return top


cdef int reserve_word(Scratch *w, int64_t n) noexcept nogil:
    """0, or -1 without memory."""
    cdef int64_t capacity = n + (n >> 1)
    cdef void *grown
    if n <= w.capacity:
        return 0
    w.capacity = 0
    grown = realloc(w.id, <size_t>capacity * sizeof(uint32_t))
    if grown == NULL:
        return -1
    w.id = <uint32_t *>grown
    grown = realloc(w.before, <size_t>capacity * sizeof(int64_t))
    if grown == NULL:
        return -1
    w.before = <int64_t *>grown
    grown = realloc(w.after, <size_t>capacity * sizeof(int64_t))
    if grown == NULL:
        return -1
    w.after = <int64_t *>grown
    # Each merge leaves two entries behind at most.
    grown = realloc(w.queue, <size_t>(3 * capacity) * sizeof(uint64_t))
    if grown == NULL:
        return -1
    w.queue = <uint64_t *>grown
    w.capacity = capacity
    return 0


cdef inline void offer(const Replay *r, Scratch *w, int64_t i, int64_t j) noexcept nogil:
    cdef int64_t rank = rank_of(r, w.id[i], w.id[j])
    if rank != NO_RANK:
        push(w, <uint64_t>rank << 32 | <uint64_t>i)


cdef int64_t merge_long(const Replay *r, Scratch *w, slot_t *s, int64_t n) noexcept nogil:
    """As merge_short, by a queue. Sets `failed` without memory."""
    cdef int64_t i, j, k, rank, out = 0
    cdef uint64_t entry
    if n >= <int64_t>UINT32_MAX or reserve_word(w, n):
        w.failed = 1
        return n
    w.queued = 0
    for i in range(n):
        w.id[i] = s[i]
        w.before[i] = i - 1
        w.after[i] = i + 1
    for i in range(n - 1):
        offer(r, w, i, i + 1)
    while w.queued:
        entry = pop(w)
        i = <int64_t>(entry & <uint64_t>UINT32_MAX)
        rank = <int64_t>(entry >> 32)
        if w.id[i] == GAP:
            continue
        j = w.after[i]
        # A place may hold another pair by now.
        if j >= n or rank_of(r, w.id[i], w.id[j]) != rank:
            continue
        w.id[i] = made_by(r, rank)
        w.id[j] = GAP
        k = w.after[j]
        w.after[i] = k
        if k < n:
            w.before[k] = i
            offer(r, w, i, k)
        if w.before[i] >= 0:
            offer(r, w, w.before[i], i)
    i = 0
    while i < n:
        s[out] = <slot_t>w.id[i]
        out += 1
        i = w.after[i]
    return out


cdef int64_t replay_segment(const Replay *r, Scratch *w, slot_t *s, const Segment *g, int64_t out) noexcept nogil:
    """Merge the words of a segment and write them from slot `out` on (at or before its start); returns where the next goes."""
    cdef int64_t i = g.start
    cdef int64_t end = g.start + g.size
    cdef int64_t n, k, j
    while i < end:
        n = 0
        while s[i + n] != GAP:
            n += 1
        k = merge_short(r, s + i, n) if n <= SHORT else merge_long(r, w, s + i, n)
        if k > 1:                        # one token holds no pair
            for j in range(k):
                s[out + j] = s[i + j]
            s[out + k] = GAP
            out += k + 1
        i += n + 1
    return out


cdef void replay_chunk(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Replay *r = <Replay *>ctx
    cdef Engine *e = r.engine
    cdef Segment *g
    cdef int64_t k, next
    cdef int64_t out = e.slots.segment[e.slots.chunk[i]].start
    for k in range(e.slots.chunk[i], e.slots.chunk[i + 1]):
        g = &e.slots.segment[k]
        if e.slots.wide:
            next = replay_segment(r, &r.scratch[thread], <uint32_t *>e.slots.data, g, out)
        else:
            next = replay_segment(r, &r.scratch[thread], <uint16_t *>e.slots.data, g, out)
        g.start = out
        g.size = next - out
        out = next


cdef int replay(Engine *e, const uint32_t *merge, int64_t n) noexcept nogil:
    cdef Replay r
    cdef int64_t i
    cdef int failed = 0
    cdef int t
    r.engine = e
    r.merge = merge
    table_zero(&r.rank)
    r.scratch = <Scratch *>calloc(<size_t>e.threads, sizeof(Scratch))
    if r.scratch == NULL:
        return -1
    for i in range(n):
        if table_append(&r.rank, pair_key(merge[3 * i] + FIRST_ID, merge[3 * i + 1] + FIRST_ID), 0) < 0 or reserve_merges(e):
            failed = -1
            break
        e.merge[3 * i] = merge[3 * i]
        e.merge[3 * i + 1] = merge[3 * i + 1]
        e.merge[3 * i + 2] = merge[3 * i + 2]
        e.merges += 1
        e.live[merge[3 * i + 2]] = 1
        e.length[merge[3 * i + 2]] = max(e.length[merge[3 * i]], <int64_t>1) + max(e.length[merge[3 * i + 1]], <int64_t>1)
    if not failed:
        failed = watched_for(replay_chunk, &r, e.slots.chunks, e.threads, e.watch)
        for t in range(e.threads):
            failed |= r.scratch[t].failed
        failed = -1 if failed or slots_gather(&e.slots, NULL, e.watch) else 0
    for t in range(e.threads):
        free(r.scratch[t].id)
        free(r.scratch[t].before)
        free(r.scratch[t].after)
        free(r.scratch[t].queue)
    free(r.scratch)
    table_free(&r.rank)
    return failed
