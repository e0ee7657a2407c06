/* Rows of symbols of short words, merged side by side (scanners/holes.pxi). Which pairs merge, and which merge comes next, no processor
 * can foresee: nothing here branches on it. */
#ifndef HFTOK_WORD_ROWS_H
#define HFTOK_WORD_ROWS_H
#include "block.h"

#define HT_ROW 48                /* places of a row: as many as the longest word here has bytes (LONG_KEY) */
#define HT_ROW_END 0x7FFFFFFF    /* key of a place that merges with nothing (NO_KEY of models/merges) */

/* The row of the bytes of text[0:n], 0 < n <= 48, with 48 bytes to read: each byte's id, and the key (rank << 6 | place) of the pair that
 * begins there, if it has a rank. All 48 keys are written, and ids up to n rounded up to 16. */
HT_INLINE void ht_word_row(const uint8_t *text, int n, const uint32_t *byte_ids, const uint32_t *pair_ranks, uint32_t *ids, int32_t *keys) {
    int i;
#if defined(HT_AVX512)
    const __m512i end = _mm512_set1_epi32(HT_ROW_END), step = _mm512_set1_epi32(16);
    __m512i place = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const uint64_t pairs = ((uint64_t)1 << (n - 1)) - 1;
    _mm512_storeu_si512((void *)(keys + 16), end);
    _mm512_storeu_si512((void *)(keys + 32), end);
    for (i = 0; i < n; i += 16) {
        const __mmask16 some = (__mmask16)(pairs >> i);
        const __m512i a = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(text + i)));
        const __m512i b = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(some, text + i + 1));
        const __m512i ranks = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-1), some, _mm512_or_si512(_mm512_slli_epi32(a, 8), b), pair_ranks, 4);
        _mm512_storeu_si512((void *)(ids + i), _mm512_i32gather_epi32(a, byte_ids, 4));
        _mm512_storeu_si512((void *)(keys + i), _mm512_mask_or_epi32(end, _mm512_cmpneq_epi32_mask(ranks, _mm512_set1_epi32(-1)),
                                                                     _mm512_slli_epi32(ranks, 6), place));
        place = _mm512_add_epi32(place, step);
    }
#else
    for (i = 0; i < n - 1; i++) {
        const uint32_t rank = pair_ranks[(uint32_t)text[i] << 8 | text[i + 1]];
        const uint32_t none = 0 - (uint32_t)(rank == 0xFFFFFFFF);
        ids[i] = byte_ids[text[i]];
        keys[i] = (int32_t)(((rank << 6 | (uint32_t)i) & ~none) | (HT_ROW_END & none));
    }
    ids[n - 1] = byte_ids[text[n - 1]];
    for (i = n - 1; i < HT_ROW; i++) keys[i] = HT_ROW_END;
#endif
}

/* Whether any byte of text[0:n] is above 0x7F; behind it are NULs up to the 16th byte, or for more than 16 bytes up to the 48th. */
HT_INLINE int ht_row_high(const uint8_t *text, int n) {
    uint64_t w[6];
    memcpy(w, text, 16);
    w[0] |= w[1];
    if (n > 16) {
        memcpy(w + 2, text + 16, 32);
        w[0] |= w[2] | w[3] | w[4] | w[5];
    }
    return (w[0] & 0x8080808080808080u) != 0;
}

/* The least of the row's keys, of which the first n (rounded up to 16) may be other than HT_ROW_END, and of two more. */
HT_INLINE int32_t ht_row_least(const int32_t *keys, int n, int32_t one, int32_t other) {
#if defined(HT_AVX512)
    const __m512i m = _mm512_min_epi32(_mm512_min_epi32(_mm512_loadu_si512((const void *)keys), _mm512_loadu_si512((const void *)(keys + 16))),
                                       _mm512_loadu_si512((const void *)(keys + 32)));
    const __m256i h = _mm256_min_epi32(_mm512_castsi512_si256(m), _mm512_extracti64x4_epi64(m, 1));
    __m128i q = _mm_min_epi32(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1));
    (void)n;
#elif defined(HT_AVX2)
    __m256i m = _mm256_loadu_si256((const __m256i *)keys);
    __m128i q;
    int i;
    for (i = 8; i < n; i += 8) m = _mm256_min_epi32(m, _mm256_loadu_si256((const __m256i *)(keys + i)));
    q = _mm_min_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
#endif
#if defined(HT_AVX512) || defined(HT_AVX2)
    q = _mm_min_epi32(q, _mm_shuffle_epi32(q, 0x4E));
    q = _mm_min_epi32(q, _mm_unpacklo_epi32(_mm_cvtsi32_si128(one), _mm_cvtsi32_si128(other)));     /* only two places count now */
    q = _mm_min_epi32(q, _mm_shuffle_epi32(q, 0xE1));
    return _mm_cvtsi128_si32(q);
#else
    int32_t least = one < other ? one : other;
    int i;
    for (i = 0; i < n; i++) least = keys[i] < least ? keys[i] : least;
    return least;
#endif
}

/* The key that a slot of the table of pairs (pair << rank_bits | rank, or all ones) gives a place; HT_ROW_END if it is not that of `pair`. */
HT_INLINE int32_t ht_slot_key(uint64_t slot, uint64_t pair, int rank_bits, int place) {
    const uint32_t other = 0 - (uint32_t)(slot >> rank_bits != pair);
    const uint32_t key = ((uint32_t)slot & ((1u << rank_bits) - 1)) << 6 | (uint32_t)place;
    return (int32_t)((key & ~other) | (HT_ROW_END & other));
}

/* Whether that slot is taken by a pair that is another: not zero if so. */
HT_INLINE uint64_t ht_slot_other(uint64_t slot, uint64_t pair, int rank_bits) {
    uint64_t differs = (slot >> rank_bits) ^ pair, taken = slot + 1;
    differs = (differs | (0 - differs)) >> 63;
    taken = (taken | (0 - taken)) >> 63;
    return differs & taken;
}

/* The ids at the places in `alive`, which lie below n, one after the other; how many they are. Some 16 too many may be written. */
HT_INLINE int ht_row_symbols(const uint32_t *ids, uint64_t alive, int n, uint32_t *out) {
    int count = 0, i;
#if defined(HT_AVX512)
    for (i = 0; i < n; i += 16) {
        const __mmask16 some = (__mmask16)(alive >> i);
        _mm512_storeu_si512((void *)(out + count), _mm512_maskz_compress_epi32(some, _mm512_loadu_si512((const void *)(ids + i))));
        count += ht_popcount64(some);
    }
#else
    (void)n;
    for (; alive; alive &= alive - 1) out[count++] = ids[i = ht_ctz64(alive)];
#endif
    return count;
}

#endif
