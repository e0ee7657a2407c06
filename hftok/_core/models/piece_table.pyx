"""Longest match by hashing: candidates of every length at once instead of a walk byte by byte.

A trie finds the longest match by a chain of look-ups, each waiting for the one before; on a vocabulary of 30,000 strings
most of them miss the near caches. Here the candidates are the text's prefixes, the longest first: a hash of each (two
multiplications of masked words, independent of each other) is tried on a Bloom filter of some 100 KiB, and only what passes
is looked up, in a table that holds the first 16 bytes of each string, so that nothing is ever decided by a hash alone.
Prefixes end between code points; the strings do too.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

cdef enum:
    INLINE = 16
    CHAIN = 64               # blocks of 8 bytes whose hashes are kept while one text is looked up

cdef extern from *:
    """
    #include <stdint.h>
    static const uint64_t ht_mask8[9] = {0, 0xFFull, 0xFFFFull, 0xFFFFFFull, 0xFFFFFFFFull, 0xFFFFFFFFFFull, 0xFFFFFFFFFFFFull,
                                         0xFFFFFFFFFFFFFFull, ~0ull};
    static inline uint64_t ht_piece_hash(uint64_t lo, uint64_t hi) {
        uint64_t h = (lo ^ (hi * 0xD6E8FEB86659FD93ull)) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 32;
        return h * 0xD6E8FEB86659FD93ull;
    }
    static inline uint64_t ht_bloom_bits(uint64_t h) { return (1ull << (h & 63)) | (1ull << ((h >> 6) & 63)); }
    """
    const uint64_t ht_mask8[9]
    uint64_t ht_piece_hash(uint64_t lo, uint64_t hi) noexcept nogil
    uint64_t ht_bloom_bits(uint64_t h) noexcept nogil


cdef int pieces_init(PieceTable *t, int64_t expected) noexcept nogil:
    cdef uint64_t slots = 64, words = 64
    memset(t, 0, sizeof(PieceTable))
    while slots < <uint64_t>expected * 2:
        slots *= 2
    while words * 2 < <uint64_t>expected:
        words *= 2
    t.pieces = <Piece *>calloc(<size_t>slots, sizeof(Piece))
    t.bloom = <uint64_t *>calloc(<size_t>words, 8)
    t.reach = <uint8_t *>calloc(65536, 1)
    if t.pieces == NULL or t.bloom == NULL or t.reach == NULL:
        pieces_free(t)
        return -1
    t.mask = slots - 1
    t.bloom_mask = words - 1
    return 0


cdef void pieces_free(PieceTable *t) noexcept nogil:
    free(t.pieces)
    free(t.bloom)
    free(t.arena)
    free(t.reach)
    memset(t, 0, sizeof(PieceTable))


cdef inline void _words(const uint8_t *text, int64_t size, uint64_t *lo, uint64_t *hi) noexcept nogil:
    """The first 16 bytes of a text, zero padded."""
    cdef uint64_t buffer[2]
    if size >= INLINE:
        memcpy(lo, text, 8)
        memcpy(hi, text + 8, 8)
        return
    buffer[0] = buffer[1] = 0
    memcpy(buffer, text, <size_t>size)
    lo[0] = buffer[0]
    hi[0] = buffer[1]


cdef int64_t _chain(const uint8_t *text, int64_t size, uint64_t *chain) noexcept nogil:
    """Hashes of the prefixes of whole 8-byte blocks: chain[i] is that of i blocks. Returns the number of blocks."""
    cdef uint64_t w
    cdef int64_t i = 0, n = size >> 3
    if n >= CHAIN:
        n = CHAIN - 1
    chain[0] = 0
    while i < n:
        memcpy(&w, text + 8 * i, 8)
        chain[i + 1] = ht_piece_hash(chain[i], w)
        i += 1
    return n


cdef inline uint64_t _finish(const uint8_t *text, int64_t size, const uint64_t *chain) noexcept nogil:
    """Hash of a prefix of more than 16 bytes, from the chain and its last few bytes."""
    cdef uint64_t w = 0
    memcpy(&w, text + (size & ~<int64_t>7), <size_t>(size & 7))
    return ht_piece_hash(chain[size >> 3] + <uint64_t>size, w)


cdef uint64_t _long_hash(const uint8_t *text, int64_t size) noexcept nogil:
    """The same without a chain, for any size."""
    cdef uint64_t h = 0, w
    cdef int64_t i = 0
    while i + 8 <= size:
        memcpy(&w, text + i, 8)
        h = ht_piece_hash(h, w)
        i += 8
    w = 0
    memcpy(&w, text + i, <size_t>(size - i))
    return ht_piece_hash(h + <uint64_t>size, w)


cdef int pieces_add(PieceTable *t, const uint8_t *text, int64_t size, uint32_t id) noexcept nogil:
    cdef uint64_t lo, hi, h, slot
    cdef int64_t capacity
    cdef uint8_t *arena
    cdef Piece *p
    if size == 0:
        return 0
    if t.n * 2 > <int64_t>t.mask:
        return -1                    # the caller said how many there would be
    if size <= INLINE:
        _words(text, size, &lo, &hi)
        h = ht_piece_hash(lo, hi)
    else:
        h = _long_hash(text, size)
        lo = h
        hi = <uint64_t>t.arena_used
    slot = (h >> 20) & t.mask
    while t.pieces[slot].size:
        p = &t.pieces[slot]
        if p.size == <uint32_t>size and p.lo == lo and (
                p.hi == hi if size <= INLINE else memcmp(t.arena + p.hi, text, <size_t>size) == 0):
            p.id = id
            return 0
        slot = (slot + 1) & t.mask
    if size > INLINE:
        if t.arena_used + size > t.arena_capacity:
            capacity = (t.arena_capacity + size) * 2
            arena = <uint8_t *>realloc(t.arena, <size_t>capacity)
            if arena == NULL:
                return -1
            t.arena = arena
            t.arena_capacity = capacity
        memcpy(t.arena + t.arena_used, text, <size_t>size)
        t.arena_used += size
    p = &t.pieces[slot]
    p.lo = lo
    p.hi = hi
    p.size = <uint32_t>size
    p.id = id
    t.bloom[(h >> 16) & t.bloom_mask] |= ht_bloom_bits(h)
    t.n += 1
    if size > t.longest:
        t.longest = size
    if size == 1:
        t.single[text[0]] = 1
    elif t.reach[text[0] | <uint32_t>text[1] << 8] < size:
        t.reach[text[0] | <uint32_t>text[1] << 8] = <uint8_t>(size if size < 255 else 255)
    return 0


cdef int64_t pieces_longest(const PieceTable *t, const uint8_t *text, int64_t size, uint32_t *id) noexcept nogil:
    cdef uint64_t lo, hi, a, b, h, bits, slot
    cdef uint64_t chain[CHAIN]
    cdef int64_t k, blocks = -1
    cdef const Piece *p
    k = t.reach[text[0] | <uint32_t>text[1] << 8] if size > 1 else 0
    if k == 255:
        k = t.longest
    if k > size:
        k = size
    if k == 0:
        k = t.single[text[0]]
    while k > INLINE:
        if k == size or (text[k] & 0xC0) != 0x80:
            if blocks < 0:
                blocks = _chain(text, k, chain)
            h = _finish(text, k, chain) if k >> 3 <= blocks else _long_hash(text, k)
            bits = ht_bloom_bits(h)
            if (t.bloom[(h >> 16) & t.bloom_mask] & bits) == bits:
                slot = (h >> 20) & t.mask
                while t.pieces[slot].size:
                    p = &t.pieces[slot]
                    if p.lo == h and p.size == <uint32_t>k and memcmp(t.arena + p.hi, text, <size_t>k) == 0:
                        id[0] = p.id
                        return k
                    slot = (slot + 1) & t.mask
        k -= 1
    _words(text, size, &lo, &hi)
    while k > 0:
        if k == size or (text[k] & 0xC0) != 0x80:
            if k <= 8:
                a = lo & ht_mask8[k]
                b = 0
            else:
                a = lo
                b = hi & ht_mask8[k - 8]
            h = ht_piece_hash(a, b)
            bits = ht_bloom_bits(h)
            if (t.bloom[(h >> 16) & t.bloom_mask] & bits) == bits:
                slot = (h >> 20) & t.mask
                while t.pieces[slot].size:
                    p = &t.pieces[slot]
                    if p.lo == a and p.hi == b and p.size == <uint32_t>k:
                        id[0] = p.id
                        return k
                    slot = (slot + 1) & t.mask
        k -= 1
    return 0
