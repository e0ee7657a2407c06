"""A trie over bytes, as a double array, built in one pass over sorted strings.

Prefix search is what Unigram asks of its vocabulary: at each character, all tokens that begin there (reference:
models/unigram/trie.rs, a tree of hash maps). Here a step costs one look at one unit: the child of node s by byte b is unit
base(s) ^ b if that unit's check is s. XOR keeps all children of a node in one block of 256 units, so no walk leaves the
array, whatever the byte. Every base belongs to one node, so the byte can stand for the check: `steps` holds the units in four
bytes each, and walks, which wait for memory more than for anything else, find four times as many of them in a cache.

Strings are sorted by multikey quicksort (three-way, byte by byte) and placed depth first. For a node with several children a
place is sought among the free units of the last few blocks only, which bounds the time whatever the strings; what stays free
in older blocks is given up.

It leaves to others: what an id or a score means; deletion and change.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from hftok._core.text cimport utf8_encode

cdef enum:
    TRIALS = 32              # free units tried for a node with several children
    OPEN_BLOCKS = 16         # blocks whose free units are still on offer

# One string while building.
cdef struct Key:
    const uint8_t *p
    int64_t n
    int64_t index

# Free units form a ring through `next` and `previous` (indices); `head` is where a search begins.
cdef struct Builder:
    Trie *trie
    uint32_t *next
    uint32_t *previous
    uint32_t head
    int64_t free_units
    uint8_t *taken           # per unit number: it is the base of a node


cdef inline int byte_at(const Key *k, int64_t depth) noexcept nogil:
    return k.p[depth] if depth < k.n else -1


cdef inline void swap(Key *a, Key *b) noexcept nogil:
    cdef Key t = a[0]
    a[0] = b[0]
    b[0] = t


cdef inline bint before(const Key *a, const Key *b, int64_t depth) noexcept nogil:
    """Order of two strings that agree up to depth; equal strings in the order of their indices."""
    cdef int64_t n = a.n if a.n < b.n else b.n
    while depth < n:
        if a.p[depth] != b.p[depth]:
            return a.p[depth] < b.p[depth]
        depth += 1
    return a.index < b.index if a.n == b.n else a.n < b.n


cdef void sort_keys(Key *keys, int64_t n, int64_t depth) noexcept nogil:
    cdef int64_t i, j, low, high
    cdef int pivot, b, c
    cdef Key k
    while n > 1:
        if n <= 12:
            for i in range(1, n):
                k = keys[i]
                j = i
                while j > 0 and before(&k, &keys[j - 1], depth):
                    keys[j] = keys[j - 1]
                    j -= 1
                keys[j] = k
            return
        # Median of three, then three ways: below, equal, above.
        pivot = byte_at(&keys[n // 2], depth)
        b = byte_at(&keys[0], depth)
        c = byte_at(&keys[n - 1], depth)
        if (b <= pivot) == (pivot <= c):
            pass
        elif (pivot <= b) == (b <= c):
            pivot = b
        else:
            pivot = c
        low = 0
        high = n
        i = 0
        while i < high:
            b = byte_at(&keys[i], depth)
            if b < pivot:
                swap(&keys[low], &keys[i])
                low += 1
                i += 1
            elif b > pivot:
                high -= 1
                swap(&keys[i], &keys[high])
            else:
                i += 1
        if pivot < 0:
            # These are one and the same string; nothing sorts before the end of a string, so low is 0.
            last_index_last(keys, high)
            keys += high
            n -= high
            continue
        # Go on with the largest part and leave the others to a call each: calls nest no deeper than log2(n).
        if high - low >= low and high - low >= n - high:
            sort_keys(keys, low, depth)
            sort_keys(keys + high, n - high, depth)
            keys += low
            n = high - low
            depth += 1
        elif low >= n - high:
            sort_keys(keys + low, high - low, depth + 1)
            sort_keys(keys + high, n - high, depth)
            n = low
        else:
            sort_keys(keys, low, depth)
            sort_keys(keys + low, high - low, depth + 1)
            keys += high
            n -= high


cdef void last_index_last(Key *keys, int64_t n) noexcept nogil:
    """Of equal strings only the last one counts: bring it to the end."""
    cdef int64_t i
    for i in range(n - 1):
        if keys[i].index > keys[n - 1].index:
            swap(&keys[i], &keys[n - 1])


cdef int add_block(Builder *b) noexcept nogil:
    cdef Trie *t = b.trie
    cdef int64_t capacity, i, first = t.size
    cdef void *p
    cdef uint32_t last
    if first + 256 > <int64_t>1 << 31:
        return -1
    if first + 256 > t.capacity:
        capacity = t.capacity * 2 if t.capacity else 4096
        p = realloc(t.units, <size_t>capacity * sizeof(Unit))
        if p == NULL:
            return -1
        t.units = <Unit *>p
        p = realloc(b.taken, <size_t>capacity)
        if p == NULL:
            return -1
        b.taken = <uint8_t *>p
        p = realloc(t.ids, <size_t>capacity * sizeof(uint32_t))
        if p == NULL:
            return -1
        t.ids = <uint32_t *>p
        p = realloc(b.next, <size_t>capacity * sizeof(uint32_t))
        if p == NULL:
            return -1
        b.next = <uint32_t *>p
        p = realloc(b.previous, <size_t>capacity * sizeof(uint32_t))
        if p == NULL:
            return -1
        b.previous = <uint32_t *>p
        t.capacity = capacity
    memset(t.units + first, 0, 256 * sizeof(Unit))
    memset(t.ids + first, 0, 256 * sizeof(uint32_t))
    memset(b.taken + first, 0, 256)
    for i in range(first, first + 256):
        t.units[i].check = TRIE_FREE
        b.next[i] = <uint32_t>(i + 1)
        b.previous[i] = <uint32_t>(i - 1)
    # Into the ring, before its head: the units tried first are the oldest.
    if b.free_units == 0:
        b.head = <uint32_t>first
        b.next[first + 255] = <uint32_t>first
        b.previous[first] = <uint32_t>(first + 255)
    else:
        last = b.previous[b.head]
        b.next[last] = <uint32_t>first
        b.previous[first] = last
        b.next[first + 255] = b.head
        b.previous[b.head] = <uint32_t>(first + 255)
    b.free_units += 256
    t.size += 256
    i = first - 256 * OPEN_BLOCKS
    if i >= 0:
        for i in range(i, i + 256):
            if t.units[i].check == TRIE_FREE and i != 0:
                unlink(b, <uint32_t>i)
    return 0


cdef inline void unlink(Builder *b, uint32_t i) noexcept nogil:
    cdef uint32_t n = b.next[i], p = b.previous[i]
    b.next[p] = n
    b.previous[n] = p
    if b.head == i:
        b.head = n
    b.free_units -= 1


cdef int64_t find_base(Builder *b, const uint8_t *labels, int count) noexcept nogil:
    """A base that no other node has and under which every label's unit is free, or -1."""
    cdef Trie *t = b.trie
    cdef int64_t trials = TRIALS
    cdef uint32_t unit, base
    cdef int i
    if b.free_units < trials:
        trials = b.free_units
    unit = b.head
    while trials > 0:
        base = unit ^ labels[0]
        i = count + 1 if b.taken[base] else 1
        while i < count and t.units[base ^ labels[i]].check == TRIE_FREE and base ^ labels[i] != 0:
            i += 1
        if i == count:
            return base
        unit = b.next[unit]
        trials -= 1
    base = <uint32_t>t.size
    return base if add_block(b) == 0 else -1


cdef int place(Builder *b, Key *keys, int64_t n, int64_t depth, uint32_t node) noexcept nogil:
    """Place the subtree of a node, whose keys agree up to depth. The largest child is gone on with here and the others get a
    call each, so that calls nest no deeper than log2(n), whatever the strings."""
    cdef uint8_t labels[256]
    cdef int64_t ends[256]
    cdef int64_t i, start, base, largest_start, largest
    cdef int count, c, chosen
    cdef uint32_t child
    while True:
        # Of equal strings the last in order is the last in the list.
        i = 0
        while i < n and keys[i].n == depth:
            i += 1
        if i > 0 and depth > 0:
            b.trie.units[node].base |= <uint32_t>TRIE_END
            b.trie.ids[node] = <uint32_t>keys[i - 1].index
        keys += i
        n -= i
        if n == 0:
            return 0
        count = 0
        i = 0
        while i < n:
            labels[count] = keys[i].p[depth]
            i = end_of_group(keys, n, i, depth)
            ends[count] = i
            count += 1
        base = find_base(b, labels, count)
        if base < 0:
            return -1
        b.trie.units[node].base |= <uint32_t>base
        b.taken[base] = 1
        for c in range(count):
            child = <uint32_t>base ^ labels[c]
            b.trie.units[child].check = node
            unlink(b, child)
        chosen = 0
        largest_start = start = 0
        largest = ends[0]
        for c in range(1, count):
            start = ends[c - 1]
            if ends[c] - start > largest:
                largest = ends[c] - start
                largest_start = start
                chosen = c
        start = 0
        for c in range(count):
            if c != chosen and place(b, keys + start, ends[c] - start, depth + 1, <uint32_t>base ^ labels[c]) != 0:
                return -1
            start = ends[c]
        keys += largest_start
        n = largest
        node = <uint32_t>base ^ labels[chosen]
        depth += 1


cdef inline int64_t end_of_group(const Key *keys, int64_t n, int64_t i, int64_t depth) noexcept nogil:
    """Where the run of keys with keys[i]'s byte at depth ends: doubling steps, then halving."""
    cdef uint8_t c = keys[i].p[depth]
    cdef int64_t step = 1
    if i + 1 == n or keys[i + 1].p[depth] != c:
        return i + 1
    if keys[n - 1].p[depth] == c:
        return n
    while i + step < n and keys[i + step].p[depth] == c:
        i += step
        step *= 2
    while step > 0:
        while i + step < n and keys[i + step].p[depth] == c:
            i += step
        step //= 2
    return i + 1


cdef int make_steps(Builder *b) noexcept nogil:
    cdef Trie *t = b.trie
    cdef const Unit *u
    cdef int64_t i
    cdef uint32_t label
    if t.size > <int64_t>1 << (32 - STEP_BASE):
        return 0
    t.steps = <uint32_t *>malloc(<size_t>t.size * sizeof(uint32_t))
    t.codes = <uint32_t *>calloc(<size_t>t.size, sizeof(uint32_t))
    if t.steps == NULL or t.codes == NULL:
        return -1
    for i in range(t.size):
        u = &t.units[i]
        if u.check != TRIE_FREE:
            label = (t.units[u.check].base ^ <uint32_t>i) & 0xFF
        else:
            # Nobody's child: the label of a base that nobody has. A block with a free unit has one, since each base in it has
            # a child in it.
            label = 0
            while label < 255 and b.taken[<uint32_t>i ^ label]:
                label += 1
        t.steps[i] = label | (u.base & ~<uint32_t>TRIE_END) << STEP_BASE
        if u.base & <uint32_t>TRIE_END:
            t.steps[i] |= STEP_END
            t.codes[i] = code_of(t.scores[t.ids[i]])
    return 0


cdef int trie_build(
        Trie *t, const uint8_t *text, const int64_t *offsets, const double *scores, int64_t n) noexcept nogil:
    cdef Builder b
    cdef Key *keys = <Key *>malloc(<size_t>(n + 1) * sizeof(Key))
    cdef int64_t i
    cdef int error = -1
    memset(&b, 0, sizeof(Builder))
    memset(t, 0, sizeof(Trie))
    if keys == NULL:
        return -1
    b.trie = t
    t.scores = scores
    for i in range(n):
        keys[i].p = text + offsets[i]
        keys[i].n = offsets[i + 1] - offsets[i]
        keys[i].index = i
    sort_keys(keys, n, 0)
    if add_block(&b) == 0:
        unlink(&b, 0)  # the root; it keeps TRIE_FREE as its check, so that no node takes it for a child
        b.taken[0] = 1           # the base of those without children
        error = place(&b, keys, n, 0, 0)
    if error == 0:
        error = make_steps(&b)
    if error == 0 and t.steps != NULL:
        error = trie_starts(t)
    free(b.taken)
    free(keys)
    free(b.next)
    free(b.previous)
    if error != 0:
        trie_free(t)
    return error


cdef int trie_starts(Trie *t) noexcept nogil:
    cdef uint8_t text[4]
    cdef uint32_t cp = 0, base, unit, step
    cdef int i, n, shift
    t.starts = <TrieStart *>calloc(TRIE_STARTS, sizeof(TrieStart))
    if t.starts == NULL:
        return -1
    while cp < TRIE_STARTS:
        n = utf8_encode(cp, text)
        base = t.steps[0] >> STEP_BASE
        for i in range(n):
            unit = base ^ text[i]
            step = t.steps[unit]
            if step & 0xFF != text[i]:
                # Nor does anything begin with the other characters that have these first bytes.
                shift = 6 * (n - 1 - i)
                cp = ((cp >> shift) + 1) << shift
                break
            base = step >> STEP_BASE
        else:
            t.starts[cp].unit = unit
            t.starts[cp].step = step
            cp += 1
    return 0


cdef void trie_free(Trie *t) noexcept nogil:
    free(t.units)
    free(t.ids)
    free(t.steps)
    free(t.starts)
    free(t.codes)
    memset(t, 0, sizeof(Trie))
