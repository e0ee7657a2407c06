"""A worker's cache of chunks (bytes of a pre-token -> its ids), and the rules that keep it within its budget.

Pre-tokens of at most 16 bytes live in a table of 64-byte buckets, two keys and two values each; the scan kernels look at the
home bucket themselves (simd/block.h) and come here for its neighbour, with which it shares 128 aligned bytes. Pre-tokens of
17 to 48 bytes live in lines of 64 bytes: the home line, where the kernels look, or one of the seven beside it.
Of those up to 4096 a line holds the length, a hash and both ends, and the arena the whole text, behind the answer (rules
made of dashes, addresses: rare, and dear to encode). Longer ones are never stored. A value holds up to four ids; longer answers lie in an arena, in blocks with free lists.

Budget. Tables start small and double, while all of it fits the budget, when every second bucket (every fourth line) has a key; as long
as they are small they double earlier, for what finds its home bucket full costs several times as much. A table that cannot grow
any more is filled to twice that; then a chunk is let in at its second sighting only (a bitmap of hashes remembers the first) and takes
a slot of its home bucket, so the cost of a full cache is bounded, nothing is ever wiped and memory never grows. What is in the cache never changes an answer.

A key of at most 16 bytes that finds both of its buckets full goes to the long table (`aside`). When it is asked for there it comes
first in its home bucket, whose second key goes aside instead: what is asked for comes home, however many strings of the
vocabulary were put there beforehand. It leaves a vacated line behind, which is not empty: keys behind it are still found.

An empty slot has the key zero; chunks with a NUL byte are not cached, so no chunk has that key, nor that of a vacated line.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

cdef extern from "block.h" nogil:
    const uint8_t *ht_value(const ht_key *key, const uint8_t *bucket)

cdef extern from "memory.h" nogil:
    void *ht_aligned(size_t size)
    void ht_aligned_free(void *p)
    void ht_huge(void *p, size_t size)
    void *ht_reserve(size_t size)
    void ht_unreserve(void *p, size_t size)

import os

cdef uint64_t SECRET = int.from_bytes(os.urandom(8), "little")

cdef enum:
    FIRST_BUCKETS = 512          # 32 KiB
    RESERVE_FROM = 2097152       # bytes of a table from which on it has addresses to grow into
    EARLY_BUCKETS = 4096         # 256 KiB: a table that is smaller grows with an eighth of its keys
    FIRST_LONG = 64              # 4 KiB
    LONG_TRIES = 8               # lines that a long key may be in, a power of two: its home line and those beside it
    EARLY_LONG = 16384           # 1 MiB: likewise with a quarter of its keys
    BLOCK_WORDS = 8
    DOOR_WORDS = 8192            # 64 KiB: 524,288 bits

cdef enum:
    # Where a long key was put.
    NO_LINE = 0
    NEW_LINE = 1                 # one that was empty
    OLD_LINE = 2                 # one that was vacated


cdef uint8_t *_table(int64_t lines) noexcept nogil:
    cdef size_t size = <size_t>lines * 64
    cdef uint8_t *t = <uint8_t *>ht_aligned(size)
    if t != NULL:
        ht_huge(t, size)
        memset(t, 0, size)
    return t


cdef int cache_init(ChunkCache *c, int64_t budget, hash_key_fn hash_key, hash_long_fn hash_long) noexcept nogil:
    memset(c, 0, sizeof(ChunkCache))
    c.budget = budget
    c.hash_key = hash_key
    c.hash_long = hash_long
    c.table = _table(FIRST_BUCKETS)
    c.long_table = _table(FIRST_LONG)
    if c.table == NULL or c.long_table == NULL:
        cache_free(c)
        return -1
    c.mask = FIRST_BUCKETS - 1
    c.long_mask = FIRST_LONG - 1
    return 0


cdef void cache_free(ChunkCache *c) noexcept nogil:
    _drop_table(c.table, &c.reserved)
    _drop_table(c.long_table, &c.long_reserved)
    free(c.arena)
    free(c.door)
    memset(c, 0, sizeof(ChunkCache))


cdef void cache_clear(ChunkCache *c) noexcept nogil:
    """Forget everything and give the memory back."""
    cdef int64_t budget = c.budget
    cdef hash_key_fn hash_key = c.hash_key
    cdef hash_long_fn hash_long = c.hash_long
    cdef ChunkCache fresh
    if cache_init(&fresh, budget, hash_key, hash_long) == 0:
        cache_free(c)
        c[0] = fresh


cdef int64_t cache_bytes(const ChunkCache *c) noexcept nogil:
    return (<int64_t>c.mask + 1 + <int64_t>c.long_mask + 1) * 64 + c.arena_capacity * 4 + (DOOR_WORDS * 8 if c.door != NULL else 0)


cdef int cache_reserve(ChunkCache *c, int64_t count) noexcept nogil:
    """Grow the short table of an empty cache for `count` keys; 0, or -1 without memory."""
    cdef int64_t buckets = FIRST_BUCKETS
    cdef uint8_t *table
    while buckets < count:
        buckets *= 2
    table = _table(buckets)
    if table == NULL:
        return -1
    _drop_table(c.table, &c.reserved)
    c.table = table
    c.mask = <uint32_t>(buckets - 1)
    return 0


cdef int cache_adopt(ChunkCache *c, const ChunkCache *prototype) noexcept nogil:
    """Start from a prototype's short table (seeded with the vocabulary) where the budget allows; what was there is forgotten."""
    cdef int64_t size = (<int64_t>prototype.mask + 1) * 64
    cdef uint8_t *t
    if size * 2 > c.budget:
        return 0
    t = <uint8_t *>ht_aligned(<size_t>size)
    if t == NULL:
        return -1
    ht_huge(t, <size_t>size)
    memcpy(t, prototype.table, <size_t>size)
    _drop_table(c.table, &c.reserved)
    c.table = t
    c.mask = prototype.mask
    c.count = prototype.count
    return 0


cdef inline bint _empty(const uint8_t *key) noexcept nogil:
    return (<const uint64_t *>key)[0] == 0      # a chunk's first byte is never NUL


cdef Value *cache_find_overflow(ChunkCache *c, const ht_key *key, uint32_t hash) noexcept nogil:
    """The value of a key that is not in its home bucket: in the one beside it, or NULL. A key that is found comes first in its home
    bucket, whose first one comes second, whose second one goes where the key was: of keys that are asked for often two stay at
    home, however many others there are."""
    cdef uint8_t *home = c.table + <size_t>(hash & c.mask) * 64
    cdef uint8_t *b = c.table + <size_t>((hash ^ 1) & c.mask) * 64
    cdef uint8_t value[16]
    if memcmp(b, key, 16) != 0:
        b += 16
        if memcmp(b, key, 16) != 0:
            return NULL
    memcpy(value, b + 32, 16)
    memcpy(b, home + 16, 16)
    memcpy(b + 32, home + 48, 16)
    memcpy(home + 16, home, 16)
    memcpy(home + 48, home + 32, 16)
    memcpy(home, key, 16)
    memcpy(home + 32, value, 16)
    return <Value *>(home + 32)


cdef inline bint _vacated(const uint8_t *line) noexcept nogil:
    # 1, NULs, 1: a chunk has no NUL, and a text's line (cache_text_key) has its length in bytes 2 and 3.
    return line[0] == 1 and line[1] == 0 and line[2] == 0 and line[3] == 0 and line[LONG_KEY - 1] == 1


cdef inline void _vacate(uint8_t *line) noexcept nogil:
    memset(line, 0, 64)
    line[0] = line[LONG_KEY - 1] = 1


cdef inline void _aside(const ht_key *key, uint8_t *key48) noexcept nogil:
    memset(key48, 0, LONG_KEY)
    memcpy(key48, key, 16)


cdef Value *cache_find_aside(ChunkCache *c, const ht_key *key, uint32_t hash) noexcept nogil:
    """The value of a key that found both of its buckets full and went to the long table, or NULL. One that is found goes home, if
    there is a line for the key whose place it takes."""
    cdef const uint8_t *pair = c.table + <size_t>(hash & c.mask & ~<uint32_t>1) * 64
    cdef uint8_t *home = c.table + <size_t>(hash & c.mask) * 64
    cdef uint8_t long_key[LONG_KEY]
    cdef Value *found
    cdef int placed
    if _empty(pair) or _empty(pair + 16) or _empty(pair + 64) or _empty(pair + 80):
        return NULL
    _aside(key, long_key)
    found = cache_find_long(c, long_key, c.hash_long(long_key))
    if found == NULL:
        return NULL
    _aside(<const ht_key *>(home + 16), long_key)
    placed = _place_long(c.long_table, c.long_mask, long_key, c.hash_long(long_key), <const Value *>(home + 48),
                         c.long_count * 2 <= <int64_t>c.long_mask)
    if placed == NO_LINE:
        return found
    c.long_count += placed == NEW_LINE
    # The first key of the bucket stands second now: of two that are asked for in turn, neither drives the other out.
    memcpy(home + 16, home, 16)
    memcpy(home + 48, home + 32, 16)
    memcpy(home, key, 16)
    memcpy(home + 32, found, 16)
    _vacate(<uint8_t *>found - LONG_KEY)
    return <Value *>(home + 32)


cdef const Value *cache_find_anywhere(ChunkCache *c, const ht_key *key, uint32_t hash) noexcept nogil:
    """The value of a key, wherever it is, or NULL."""
    cdef const Value *v = <const Value *>ht_value(key, c.table + <size_t>(hash & c.mask) * 64)
    if v == NULL:
        v = cache_find_overflow(c, key, hash)
    return v if v != NULL else cache_find_aside(c, key, hash)


cdef Value *cache_find_long(const ChunkCache *c, const uint8_t *key48, uint32_t hash) noexcept nogil:
    """The value of a long key, or NULL. One that is not in its home line changes places with the key that is, unless that
    would come to stand behind a free line, where it is not searched."""
    cdef uint8_t *home = c.long_table + <size_t>(hash & c.long_mask) * 64
    cdef uint8_t *line
    cdef uint8_t held[64]
    cdef uint32_t other
    cdef int k, j
    for k in range(LONG_TRIES):
        line = c.long_table + <size_t>((hash ^ <uint32_t>k) & c.long_mask) * 64
        if memcmp(line, key48, LONG_KEY) == 0:
            if k == 0:
                return <Value *>(home + LONG_KEY)
            other = c.hash_long(home)
            for j in range(<int>((other ^ hash ^ <uint32_t>k) & (LONG_TRIES - 1))):
                if _empty(c.long_table + <size_t>((other ^ <uint32_t>j) & c.long_mask) * 64):
                    return <Value *>(line + LONG_KEY)
            memcpy(held, home, 64)
            memcpy(home, line, 64)
            memcpy(line, held, 64)
            return <Value *>(home + LONG_KEY)
        if _empty(line):
            break
    return NULL


cdef void cache_text_key(const uint8_t *text, int64_t n, uint8_t *key48) noexcept nogil:
    """The line key of a text of more than LONG_KEY bytes. Its second byte is NUL: no key of a whole chunk is like it."""
    cdef uint64_t h = SECRET, eight = 0
    cdef int64_t i = 0
    while i < n:
        memcpy(&eight, text + (i if i + 8 <= n else n - 8), 8)
        h = (h ^ eight) * <uint64_t>0x9E3779B97F4A7C15
        h ^= h >> 29
        i += 8
    memset(key48, 0, 16)
    key48[0] = 1
    key48[2] = <uint8_t>(n & 0xFF)
    key48[3] = <uint8_t>(n >> 8)
    memcpy(key48 + 8, &h, 8)
    memcpy(key48 + 16, text, 16)
    memcpy(key48 + 32, text + n - 16, 16)


cdef inline int _block_class(int64_t n, int64_t words) noexcept nogil:
    return <int>((2 * n + words + BLOCK_WORDS - 1) // BLOCK_WORDS)


cdef uint32_t cache_spill(ChunkCache *c, int64_t n, int64_t text_words) noexcept nogil:
    cdef int cls = _block_class(n, text_words)
    cdef int64_t words = <int64_t>cls * BLOCK_WORDS
    cdef uint32_t at
    cdef int64_t capacity
    cdef uint32_t *arena
    if n > MAX_SPILLED or cls >= BLOCK_CLASSES:
        return 0
    at = c.free_blocks[cls]
    if at != 0:
        c.free_blocks[cls] = c.arena[at]
        return at
    if c.arena_used + words > c.arena_capacity:
        capacity = c.arena_capacity * 2 if c.arena_capacity else 4096
        if capacity * 4 > c.budget // 4 or cache_bytes(c) + (capacity - c.arena_capacity) * 4 > c.budget:
            return 0
        arena = <uint32_t *>realloc(c.arena, <size_t>(capacity + BLOCK_WORDS) * 4)       # ids are read eight at a time
        if arena == NULL:
            return 0
        c.arena = arena
        c.arena_capacity = capacity
        if c.arena_used == 0:
            c.arena_used = BLOCK_WORDS       # offset 0 means none
    at = <uint32_t>c.arena_used
    c.arena_used += words
    return at


cdef inline void _release(ChunkCache *c, const Value *v) noexcept nogil:
    """Give a replaced or refused value's block back."""
    cdef int cls
    if (v.meta & META_COUNT) == 0 and v.block != 0:
        cls = _block_class(v.count, v.text_words)
        c.arena[v.block] = c.free_blocks[cls]
        c.free_blocks[cls] = v.block


cdef bint _second_sighting(ChunkCache *c, uint32_t hash) noexcept nogil:
    cdef uint32_t h = hash * <uint32_t>0x9E3779B1
    cdef uint32_t word = (h >> 6) & (DOOR_WORDS - 1)
    cdef uint64_t bit = <uint64_t>1 << (h & 63)
    if c.door == NULL:
        c.door = <uint64_t *>calloc(DOOR_WORDS, 8)
        if c.door == NULL:
            return False
    if c.door[word] & bit:
        return True
    c.door[word] |= bit
    c.door_count += 1
    if c.door_count > DOOR_WORDS * 32:
        memset(c.door, 0, DOOR_WORDS * 8)
        c.door_count = 0
    return False


cdef inline bint _place(uint8_t *table, uint32_t mask, const ht_key *key, uint32_t hash, const Value *value) noexcept nogil:
    """Put a key into a free slot of its two buckets."""
    cdef uint8_t *b = table + <size_t>(hash & mask) * 64
    cdef int k
    for k in range(2):
        if _empty(b):
            memcpy(b, key, 16)
            memcpy(b + 32, value, 16)
            return True
        if _empty(b + 16):
            memcpy(b + 16, key, 16)
            memcpy(b + 48, value, 16)
            return True
        b = table + <size_t>((hash ^ 1) & mask) * 64
    return False


cdef bint _make_twice(uint8_t **table, int64_t *reserved, int64_t size, int64_t most) noexcept nogil:
    """Memory for a table of `size` bytes to become twice as long, its second half zero; False: there is none. most: bytes that it
    may ever have."""
    cdef uint8_t *moved = NULL
    cdef int64_t room = 0
    if 2 * size <= reserved[0]:
        return True
    if 2 * size >= RESERVE_FROM:
        # From here on in place: fresh memory is dear, and copies are made of it.
        room = 2 * size
        while room * 2 <= most:
            room *= 2
        moved = <uint8_t *>ht_reserve(<size_t>room)
    if moved == NULL:
        room = 0
        moved = _table(2 * size // 64)
        if moved == NULL:
            return False
    memcpy(moved, table[0], <size_t>size)
    _drop_table(table[0], reserved)
    table[0] = moved
    reserved[0] = room
    return True


cdef void _drop_table(uint8_t *table, int64_t *reserved) noexcept nogil:
    if reserved[0]:
        ht_unreserve(table, <size_t>reserved[0])
    else:
        ht_aligned_free(table)
    reserved[0] = 0


cdef bint _grow(ChunkCache *c) noexcept nogil:
    """Twice the buckets. A bucket's number is the end of its keys' hash, so a key stays in its bucket or goes to the one as far
    behind as the table was long, which is empty, into the same slot."""
    cdef int64_t old = <int64_t>c.mask + 1, i, slot
    cdef int64_t size = old * 64
    cdef uint8_t *b
    cdef ht_key key
    if old * 128 > c.budget // 2 or cache_bytes(c) + size > c.budget or old >= <int64_t>1 << 30:
        return False
    if not _make_twice(&c.table, &c.reserved, size, c.budget // 2):
        return False
    for i in range(old):
        b = c.table + i * 64
        for slot in range(2):
            if not _empty(b + slot * 16):
                memcpy(&key, b + slot * 16, 16)
                if c.hash_key(key) & old:
                    memcpy(b + size + slot * 16, b + slot * 16, 16)
                    memcpy(b + size + 32 + slot * 16, b + 32 + slot * 16, 16)
                    memset(b + slot * 16, 0, 16)
    c.mask = <uint32_t>(old * 2 - 1)
    return True


cdef void cache_insert(ChunkCache *c, const ht_key *key, uint32_t hash, const Value *value) noexcept nogil:
    """Let a chunk in, or not: after this `value`'s block belongs to the cache. May move the table."""
    cdef uint8_t *b
    cdef uint8_t long_key[LONG_KEY]
    cdef int slot
    if c.mask < EARLY_BUCKETS - 1 and c.count > <int64_t>c.mask // 8:
        _grow(c)
    if c.count * 2 > <int64_t>c.mask:            # more than one key in two buckets
        if not _grow(c) and c.count > <int64_t>c.mask and not _second_sighting(c, hash):
            _release(c, value)
            return
    if _place(c.table, c.mask, key, hash, value):
        c.count += 1
        return
    if c.count <= <int64_t>c.mask:
        # Its buckets are full before the table is: aside, where `cache_find_aside` looks.
        _aside(key, long_key)
        cache_insert_long(c, long_key, c.hash_long(long_key), value)
        return
    b = c.table + <size_t>(hash & c.mask) * 64
    slot = <int>(hash >> 31)
    _release(c, <Value *>(b + 32 + slot * 16))
    memcpy(b + slot * 16, key, 16)
    memcpy(b + 32 + slot * 16, value, 16)


cdef int _place_long(uint8_t *table, uint32_t mask, const uint8_t *key48, uint32_t hash, const Value *value, bint new) noexcept nogil:
    """Put a key into the first of its lines that is free or vacated; a free one only if `new`. Lines are never emptied, so what comes
    behind a free one is not searched."""
    cdef uint8_t *line
    cdef bint empty
    cdef int k
    for k in range(LONG_TRIES):
        line = table + <size_t>((hash ^ <uint32_t>k) & mask) * 64
        empty = _empty(line)
        if empty and not new:
            return NO_LINE
        if empty or _vacated(line):
            memcpy(line, key48, LONG_KEY)
            memcpy(line + LONG_KEY, value, 16)
            return NEW_LINE if empty else OLD_LINE
    return NO_LINE


cdef bint _grow_long(ChunkCache *c) noexcept nogil:
    """Twice the lines. A key's lines are LONG_TRIES neighbours, the end of its hash says which; so the keys of one such group stay
    in it or go to the one as far behind as the table was long, which is empty."""
    cdef int64_t old = <int64_t>c.long_mask + 1, size = old * 64, count = 0, i, k
    cdef uint8_t *line
    cdef uint8_t *lines
    cdef uint8_t group[LONG_TRIES * 64]
    if old * 128 > c.budget // 4 or cache_bytes(c) + size > c.budget or old >= <int64_t>1 << 30:
        return False
    if not _make_twice(&c.long_table, &c.long_reserved, size, c.budget // 4):
        return False
    c.long_mask = <uint32_t>(old * 2 - 1)
    for i in range(old // LONG_TRIES):
        lines = c.long_table + i * LONG_TRIES * 64
        memcpy(group, lines, LONG_TRIES * 64)
        memset(lines, 0, LONG_TRIES * 64)
        for k in range(LONG_TRIES):
            line = group + k * 64
            if not _empty(line) and not _vacated(line):
                _place_long(c.long_table, c.long_mask, line, c.hash_long(line), <Value *>(line + LONG_KEY), True)
                count += 1
    c.long_count = count
    return True


cdef void cache_insert_long(ChunkCache *c, const uint8_t *key48, uint32_t hash, const Value *value) noexcept nogil:
    cdef uint8_t *line
    cdef int placed
    if c.long_mask < EARLY_LONG - 1 and c.long_count * 8 > <int64_t>c.long_mask:
        _grow_long(c)
    if c.long_count * 4 > <int64_t>c.long_mask:  # more than one line in four
        if not _grow_long(c) and c.long_count * 2 > <int64_t>c.long_mask and not _second_sighting(c, hash):
            _release(c, value)
            return
    placed = _place_long(c.long_table, c.long_mask, key48, hash, value, True)
    if placed != NO_LINE:
        c.long_count += placed == NEW_LINE
        return
    line = c.long_table + <size_t>(hash & c.long_mask) * 64
    _release(c, <Value *>(line + LONG_KEY))
    memcpy(line, key48, LONG_KEY)
    memcpy(line + LONG_KEY, value, 16)
