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
    uint64_t beyond = 0, free_slots = 0;
    int64_t i;
    for (i = 0; i < count; i++) {
        const uint64_t next = slots[i] + 1, is_taken = (next | (0 - next)) >> 63;
        beyond |= ((uint64_t)n - 1 - (slots[i] & mask)) & (0 - is_taken);
        free_slots += is_taken ^ 1;
    }
    return beyond >> 63 ? -1 : (int64_t)free_slots;
}

/* The greatest of n numbers; 0 if there are none. */
static inline uint32_t ht_greatest(const uint32_t *numbers, int64_t n) {
    uint32_t greatest = 0;
    int64_t i;
    for (i = 0; i < n; i++) greatest = numbers[i] > greatest ? numbers[i] : greatest;
    return greatest;
}
#endif
