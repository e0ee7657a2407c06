/* The table of mergeable pairs, and the loop that merges a short row of symbols.
 *
 * Rule: repeat "merge the pair of lowest rank, the leftmost of those" until no pair merges (merges.pyx says where this is
 * what the reference's queue gives). The loop is written for a processor that guesses branches and waits for memory: which
 * pairs merge cannot be guessed, so nothing branches on it. Ends of the row are symbols that merge with nothing; a look-up
 * reads two neighbouring slots and selects; only a pair that is in neither, where both are taken, goes on searching.
 *
 * Leaves to others: filling the table (merges.pyx), rows that are longer, tables with larger ids (the queue).
 */
#ifndef HFTOK_PAIR_TABLE_H
#define HFTOK_PAIR_TABLE_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
static __inline int hftok_lowest_bit(uint64_t v) { unsigned long i; _BitScanForward64(&i, v); return (int)i; }
static __inline int hftok_highest_bit(uint64_t v) { unsigned long i; _BitScanReverse64(&i, v); return (int)i; }
#define HFTOK_RARE(x) (x)
#else
static inline int hftok_lowest_bit(uint64_t v) { return __builtin_ctzll(v); }
static inline int hftok_highest_bit(uint64_t v) { return 63 - __builtin_clzll(v); }
#define HFTOK_RARE(x) __builtin_expect(!!(x), 0)
#endif

enum {
    HFTOK_ID_BITS = 21,
    HFTOK_RANK_BITS = 22,
    HFTOK_NO_SYMBOL = (1 << 21) - 1, /* beyond any id of a packed table */
    HFTOK_NO_KEY = 0x7FFFFFFF,
    HFTOK_SMALL = 62                 /* symbols of a short row: with its two ends they fill 64 bits */
};

typedef struct {
    uint64_t *slots;     /* size + 1 of them, the last one a copy of the first: left << 43 | right << 22 | rank, or all ones */
    uint64_t size;       /* below 2**32 */
    uint64_t multiplier; /* odd, drawn once per process: with it, no list of merges collides by design */
} hftok_packed;

static inline uint64_t hftok_pair(uint32_t left, uint32_t right) { return ((uint64_t)left << HFTOK_ID_BITS) | right; }

static inline uint64_t hftok_slot(const hftok_packed *t, uint64_t pair) {
    return ((pair * t->multiplier) >> 32) * t->size >> 32;
}

/* Slot's value for a pair that is in neither of its first two slots, both taken; all ones if it is not there at all. */
static uint64_t hftok_search_on(const hftok_packed *t, uint64_t pair, uint64_t k) {
    for (;;) {
        k = k + 1 < t->size ? k + 1 : 0;
        if (t->slots[k] >> HFTOK_RANK_BITS == pair || t->slots[k] == UINT64_MAX) return t->slots[k];
    }
}

/* Rank of a pair, or UINT32_MAX. */
static inline uint32_t hftok_packed_rank(const hftok_packed *t, uint32_t left, uint32_t right) {
    const uint64_t pair = hftok_pair(left, right), k = hftok_slot(t, pair);
    const uint64_t a = t->slots[k], b = t->slots[k + 1];
    uint64_t v;
    if (a >> HFTOK_RANK_BITS == pair) v = a;
    else if (b >> HFTOK_RANK_BITS == pair && a != UINT64_MAX) v = b;
    else if (a == UINT64_MAX || b == UINT64_MAX) return UINT32_MAX;
    else v = hftok_search_on(t, pair, k + 1 < t->size ? k + 1 : 0);
    return v == UINT64_MAX ? UINT32_MAX : (uint32_t)(v & ((1u << HFTOK_RANK_BITS) - 1));
}

/* rank << 6 | position, or NO_KEY. `there`: neither symbol is an end; an end reads slot 0, which is at hand. */
static inline int32_t hftok_pair_key(const hftok_packed *t, uint32_t left, uint32_t right, uint32_t position, int there) {
    const uint64_t pair = hftok_pair(left, right), k = hftok_slot(t, pair) & (0 - (uint64_t)there);
    const uint64_t a = t->slots[k], b = t->slots[k + 1];
    /* All ones where a slot holds the pair: a selection that no compiler turns into a branch. */
    const uint64_t in_a = 0 - (uint64_t)(a >> HFTOK_RANK_BITS == pair), in_b = 0 - (uint64_t)(b >> HFTOK_RANK_BITS == pair);
    uint64_t found = in_a | in_b, v = (a & in_a) | (b & in_b);
    if (HFTOK_RARE(((found == 0) & (a != UINT64_MAX) & (b != UINT64_MAX) & there) != 0)) {
        v = hftok_search_on(t, pair, k + 1 < t->size ? k + 1 : 0);
        found = 0 - (uint64_t)(v != UINT64_MAX);
    }
    v = ((v & ((1u << HFTOK_RANK_BITS) - 1)) << 6) | position;
    return (int32_t)((v & found) | (HFTOK_NO_KEY & ~found));
}

/* Smallest of 16 keys. Four running minima, which the compiler keeps in one vector register. */
static inline int32_t hftok_min_of_16(const int32_t *key) {
    int32_t a = key[0], b = key[1], c = key[2], d = key[3];
    int i;
    for (i = 4; i < 16; i += 4) {
        a = key[i] < a ? key[i] : a;
        b = key[i + 1] < b ? key[i + 1] : b;
        c = key[i + 2] < c ? key[i + 2] : c;
        d = key[i + 3] < d ? key[i + 3] : d;
    }
    a = b < a ? b : a;
    c = d < c ? d : c;
    return c < a ? c : a;
}

/* Merge n <= SMALL symbols, symbol[1 .. n], with room for symbol[n + 1]; key[i] is the key of symbols i and i + 1 for
 * 0 < i < n, with room for 64. merged: rank -> id. Returns the set of places that still begin a symbol, one bit each. */
static inline uint64_t hftok_merge_small(
        const hftok_packed *t, const uint32_t *merged, uint32_t *symbol, int32_t *key, int n) {
    const int padded = (n + 16) & ~15; /* n keys and key[0], in full steps of 16: nearly always one */
    uint64_t alive = ((uint64_t)4 << n) - 1; /* both ends included; n = 62: 4 << 62 is 0, and all bits are set */
    int i;
    symbol[0] = symbol[n + 1] = HFTOK_NO_SYMBOL;
    key[0] = HFTOK_NO_KEY;
    for (i = n; i < padded; i++) key[i] = HFTOK_NO_KEY;
    for (;;) {
        int32_t lowest = hftok_min_of_16(key);
        uint64_t above;
        uint32_t id;
        int at, removed, right, left;
        for (i = 16; i < padded; i += 16) {
            const int32_t other = hftok_min_of_16(key + i);
            lowest = other < lowest ? other : lowest;
        }
        if (lowest == HFTOK_NO_KEY) break;
        at = lowest & 63;
        id = merged[lowest >> 6];
        above = alive & (~(uint64_t)1 << at);
        removed = hftok_lowest_bit(above);
        right = hftok_lowest_bit(above & (above - 1));
        left = hftok_highest_bit(alive & (((uint64_t)1 << at) - 1));
        alive ^= (uint64_t)1 << removed;
        symbol[at] = id;
        key[removed] = HFTOK_NO_KEY;
        key[at] = hftok_pair_key(t, id, symbol[right], (uint32_t)at, right <= n);
        key[left] = hftok_pair_key(t, symbol[left], id, (uint32_t)left, left > 0);
    }
    return alive & (((uint64_t)2 << n) - 2);
}

#endif
