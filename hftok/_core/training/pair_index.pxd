# Pairs of ids with their counts: an open-addressing table whose rows never move, and the queue that serves the best pair.
#
# The order of the queue is the reference's (models/bpe/trainer.rs, `impl Ord for Merge`): highest count first, then the
# lowest (left id, right id). A pair is one 64-bit key, left id in the upper half, so that key order is pair order.
#
# A pair's count only falls after its birth (without affixes, see merge_engine), so the queue is lazy: an entry keeps the
# count it was pushed with, and whoever pops an entry whose row has fallen behind pushes it again with the row's count.
# The queue is a 4-ary heap: half the levels of a binary one, and the four children share one or two cache lines.
#
# Rows are removed only by building a new table. Sizes are 64 bit; the number of rows is below 2**32 - 1.
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

cdef struct PairTable:
    uint64_t *slot              # tag in the upper 32 bits, row + 1 in the lower; 0: empty
    int bits                    # log2 of the number of slots
    uint64_t *key
    int64_t *count
    int64_t rows
    int64_t row_capacity

cdef struct QueueEntry:
    int64_t count
    uint64_t key
    int64_t row

cdef struct PairQueue:
    QueueEntry *entry
    int64_t size
    int64_t capacity


cdef inline uint64_t pair_key(uint32_t left, uint32_t right) noexcept nogil:
    return (<uint64_t>left << 32) | right


cdef inline uint64_t pair_hash(uint64_t key) noexcept nogil:
    cdef uint64_t h = key * <uint64_t>0x9E3779B97F4A7C15
    h ^= h >> 32
    return h * <uint64_t>0xD6E8FEB86659FD93


cdef inline void table_zero(PairTable *t) noexcept nogil:
    t.slot = NULL
    t.key = NULL
    t.count = NULL
    t.bits = 0
    t.rows = t.row_capacity = 0


cdef inline void table_free(PairTable *t) noexcept nogil:
    free(t.slot)
    free(t.key)
    free(t.count)
    table_zero(t)


cdef inline void table_place(PairTable *t, uint64_t h, int64_t row) noexcept nogil:
    cdef uint64_t mask = (<uint64_t>1 << t.bits) - 1
    cdef uint64_t i = h >> (64 - t.bits)
    while t.slot[i] != 0:
        i = (i + 1) & mask
    t.slot[i] = ((h & <uint64_t>0xFFFFFFFF) << 32) | <uint64_t>(row + 1)


cdef inline int table_reserve(PairTable *t, int64_t rows) noexcept nogil:
    """Room for `rows` rows in all. 0, or -1 without memory (the table is as it was)."""
    cdef int bits = t.bits
    cdef int64_t capacity, i
    cdef void *grown
    cdef uint64_t *slot
    if rows >= <int64_t>0xFFFFFFFE:
        return -1
    if rows > t.row_capacity:
        capacity = t.row_capacity + (t.row_capacity >> 1)
        if capacity < rows:
            capacity = rows
        if capacity < 64:
            capacity = 64
        grown = realloc(t.key, <size_t>capacity * sizeof(uint64_t))
        if grown == NULL:
            return -1
        t.key = <uint64_t *>grown
        grown = realloc(t.count, <size_t>capacity * sizeof(int64_t))
        if grown == NULL:
            return -1
        t.count = <int64_t *>grown
        t.row_capacity = capacity
    # At most half full: most look-ups are of pairs that are not there, and these stop at the first empty slot.
    while bits == 0 or (<int64_t>1 << bits) < 2 * rows:
        bits = bits + 1 if bits else 7
    if bits != t.bits:
        slot = <uint64_t *>calloc(<size_t>1 << bits, sizeof(uint64_t))
        if slot == NULL:
            return -1
        free(t.slot)
        t.slot = slot
        t.bits = bits
        for i in range(t.rows):
            table_place(t, pair_hash(t.key[i]), i)
    return 0


cdef inline int64_t table_find(const PairTable *t, uint64_t key) noexcept nogil:
    """The row of `key`, or -1."""
    cdef uint64_t h = pair_hash(key)
    cdef uint64_t mask = (<uint64_t>1 << t.bits) - 1
    cdef uint64_t i = h >> (64 - t.bits)
    cdef uint64_t tag = h & <uint64_t>0xFFFFFFFF
    cdef uint64_t s
    cdef int64_t row
    while True:
        s = t.slot[i]
        if s == 0:
            return -1
        if (s >> 32) == tag:
            row = <int64_t>(s & <uint64_t>0xFFFFFFFF) - 1
            if t.key[row] == key:
                return row
        i = (i + 1) & mask


cdef inline int64_t table_append(PairTable *t, uint64_t key, int64_t count) noexcept nogil:
    """Add a key that is not there yet; its row, or -1 without memory."""
    if table_reserve(t, t.rows + 1):
        return -1
    t.key[t.rows] = key
    t.count[t.rows] = count
    table_place(t, pair_hash(key), t.rows)
    t.rows += 1
    return t.rows - 1


cdef inline int table_add(PairTable *t, uint64_t key, int64_t count) noexcept nogil:
    """Add to the count of `key`. 0, or -1 without memory."""
    cdef int64_t row = table_find(t, key)
    if row < 0:
        return -1 if table_append(t, key, count) < 0 else 0
    t.count[row] += count
    return 0


# The queue


cdef inline bint entry_before(const QueueEntry *a, const QueueEntry *b) noexcept nogil:
    return a.count > b.count or (a.count == b.count and a.key < b.key)


cdef inline void queue_zero(PairQueue *q) noexcept nogil:
    q.entry = NULL
    q.size = q.capacity = 0


cdef inline void queue_free(PairQueue *q) noexcept nogil:
    free(q.entry)
    queue_zero(q)


cdef inline int queue_reserve(PairQueue *q, int64_t size) noexcept nogil:
    cdef int64_t capacity
    cdef void *grown
    if size <= q.capacity:
        return 0
    capacity = q.capacity + (q.capacity >> 1)
    if capacity < size:
        capacity = size
    if capacity < 64:
        capacity = 64
    grown = realloc(q.entry, <size_t>capacity * sizeof(QueueEntry))
    if grown == NULL:
        return -1
    q.entry = <QueueEntry *>grown
    q.capacity = capacity
    return 0


cdef inline void queue_sink(PairQueue *q, int64_t i, QueueEntry e) noexcept nogil:
    """Put `e` at place i or below, where the heap wants it."""
    cdef int64_t child, best, last, k
    while True:
        child = 4 * i + 1
        if child >= q.size:
            break
        best = child
        last = child + 4 if child + 4 < q.size else q.size
        for k in range(child + 1, last):
            if entry_before(&q.entry[k], &q.entry[best]):
                best = k
        if not entry_before(&q.entry[best], &e):
            break
        q.entry[i] = q.entry[best]
        i = best
    q.entry[i] = e


cdef inline int queue_push(PairQueue *q, int64_t count, uint64_t key, int64_t row) noexcept nogil:
    """0, or -1 without memory."""
    cdef int64_t i = q.size
    cdef int64_t parent
    cdef QueueEntry e
    if queue_reserve(q, i + 1):
        return -1
    e.count = count
    e.key = key
    e.row = row
    q.size += 1
    while i:
        parent = (i - 1) >> 2
        if not entry_before(&e, &q.entry[parent]):
            break
        q.entry[i] = q.entry[parent]
        i = parent
    q.entry[i] = e
    return 0


cdef inline void queue_drop_top(PairQueue *q) noexcept nogil:
    q.size -= 1
    if q.size:
        queue_sink(q, 0, q.entry[q.size])


cdef inline void queue_replace_top(PairQueue *q, int64_t count) noexcept nogil:
    """Give the first entry its row's count of now."""
    cdef QueueEntry e = q.entry[0]
    e.count = count
    queue_sink(q, 0, e)


cdef inline void queue_order(PairQueue *q) noexcept nogil:
    """Make a heap of entries in any order."""
    cdef int64_t i
    if q.size < 2:
        return
    for i in range((q.size - 2) >> 2, -1, -1):
        queue_sink(q, i, q.entry[i])


cdef inline int queue_from_table(PairQueue *q, const PairTable *t, int64_t least) noexcept nogil:
    """The queue of all rows whose count is at least `least`. 0, or -1 without memory."""
    cdef int64_t i
    q.size = 0
    if queue_reserve(q, t.rows):
        return -1
    for i in range(t.rows):
        if t.count[i] >= least:
            q.entry[q.size].count = t.count[i]
            q.entry[q.size].key = t.key[i]
            q.entry[q.size].row = i
            q.size += 1
    queue_order(q)
    return 0


cdef inline int64_t kth_largest(int64_t *v, int64_t n, int64_t k) noexcept nogil:
    """The k-th largest (from 1) of v[0:n], which is reordered. Quickselect with the middle of three as pivot."""
    cdef int64_t low = 0
    cdef int64_t high = n - 1
    cdef int64_t i, j, a, b, c, pivot, x
    k -= 1
    while low < high:
        a = v[low]
        b = v[low + ((high - low) >> 1)]
        c = v[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i = low
        j = high
        while i <= j:
            while v[i] > pivot:
                i += 1
            while v[j] < pivot:
                j -= 1
            if i <= j:
                x = v[i]
                v[i] = v[j]
                v[j] = x
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return v[k]
    return v[k]
