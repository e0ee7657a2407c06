/* Checks of hash tables that were read from a file: without branches, so that compilers take several slots at a time. */
#ifndef HFTOK_STORED_CHECKS_H
#define HFTOK_STORED_CHECKS_H
#include <stdint.h>

/* Slots of vocab_map: 0, or the upper half of a hash and, below, the number 1..n of an entry. The number of free slots; -1 if
   some slot is neither. */
static inline int64_t ht_check_entries(const uint64_t *slots, int64_t count, int64_t n) {
    uint64_t beyond = 0, stray = 0, free_slots = 0;
    int64_t i;
    for (i = 0; i < count; i++) {
        const uint64_t low = slots[i] & 0xFFFFFFFFu, is_free = (low - 1) >> 63;
        beyond |= (uint64_t)n - low;
        stray |= slots[i] & (0 - is_free);
        free_slots += is_free;
    }
    return beyond >> 63 || stray ? -1 : (int64_t)free_slots;
}

/* Packed slots of merges: all ones, or a pair and, in the lowest `bits`, a rank below n. Answers as above. */
static inline int64_t ht_check_ranks(const uint64_t *slots, int64_t count, int64_t n, int bits) {
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint64_t stray = 0, free_slots = 0;
    int64_t i;
    if ((uint64_t)n > mask) return -1;
    for (i = 0; i < count; i++) {
        /* A free slot's lowest bits are a rank beyond n, too: what is beyond must be free. */
        const uint64_t is_free = ((uint64_t)n - 1 - (slots[i] & mask)) >> 63;
        stray |= ~slots[i] & (0 - is_free);
        free_slots += is_free;
    }
    return stray ? -1 : (int64_t)free_slots;
}

/* Whether offsets ascend from the first to the last of n + 1, in steps of which the longest is `longest`. */
static inline int ht_check_offsets(const int64_t *offsets, int64_t n, int64_t longest) {
    uint64_t wrong = 0, equal = 0;
    int64_t i;
    if (n == 0) return longest == 0;
    for (i = 0; i < n; i++) {
        const uint64_t size = (uint64_t)offsets[i + 1] - (uint64_t)offsets[i], rest = (uint64_t)longest - size;
        wrong |= size | rest;
        equal |= (rest - 1) & ~rest;
    }
    return longest >= 0 && !(wrong >> 63) && equal >> 63;
}

/* Whether none of n numbers is greater than the limit. */
static inline int ht_none_beyond(const uint32_t *numbers, int64_t n, uint32_t limit) {
    uint32_t beyond = 0;
    int64_t i;
    if (limit >> 31) {
        for (i = 0; i < n; i++) beyond |= (uint32_t)(numbers[i] > limit) << 31;
    } else {
        for (i = 0; i < n; i++) beyond |= numbers[i] | (limit - numbers[i]);
    }
    return !(beyond >> 31);
}

/* The greatest of n numbers; 0 if there are none. */
static inline uint32_t ht_greatest(const uint32_t *numbers, int64_t n) {
    uint32_t greatest = 0;
    int64_t i;
    for (i = 0; i < n; i++) greatest = numbers[i] > greatest ? numbers[i] : greatest;
    return greatest;
}

/* Whether n numbers are first, first + 1, ... */
static inline int ht_counts_up(const uint32_t *numbers, int64_t n, uint32_t first) {
    uint32_t other = 0;
    int64_t i;
    if (n > 0 && (uint64_t)n - 1 > UINT32_MAX - first) return 0;
    for (i = 0; i < n; i++) other |= numbers[i] - (first + (uint32_t)i);
    return other == 0;
}
#endif
