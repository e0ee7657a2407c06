/* Whether text is left as it is by a normal form: a bit for each code point below U+10000, asked for 16 characters at once.
 * Behind these bits (2048 words) follow 64 bytes: 1 at [b & 63] if all characters whose first byte is b have the bit. */
#ifndef HFTOK_STABLE_H
#define HFTOK_STABLE_H
#include "block.h"

#if defined(HT_AVX512)
HT_INLINE int ht_stable_16(__m128i b0, __m128i b1, __m128i b2, uint32_t live, const uint32_t *bits) {
    const __m512i x0 = _mm512_cvtepu8_epi32(b0), x1 = _mm512_cvtepu8_epi32(b1), x2 = _mm512_cvtepu8_epi32(b2);
    const __m512i low = _mm512_set1_epi32(0x3F);
    const __m512i m = _mm512_and_si512(x1, low);
    const __m512i two = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(x0, _mm512_set1_epi32(0x1F)), 6), m);
    const __m512i three = _mm512_or_si512(_mm512_slli_epi32(_mm512_or_si512(_mm512_slli_epi32(
        _mm512_and_si512(x0, _mm512_set1_epi32(0xF)), 6), m), 6), _mm512_and_si512(x2, low));
    const __m512i cp = _mm512_mask_mov_epi32(two, _mm512_cmpge_epu32_mask(x0, _mm512_set1_epi32(0xE0)), three);
    const __m512i word = _mm512_i32gather_epi32(_mm512_srli_epi32(cp, 5), (const void *)bits, 4);
    const __m512i bit = _mm512_srlv_epi32(word, _mm512_and_si512(cp, _mm512_set1_epi32(31)));
    return (_mm512_testn_epi32_mask(bit, _mm512_set1_epi32(1)) & live) == 0;
}

/* p[0:n] is valid UTF-8 and begins a character; 66 bytes are readable. How many of the first 64 bytes (or of all, if there are
 * fewer) hold whole characters that are stable, these standing for themselves; -1 if one is not; 0 if one has four bytes: the
 * caller looks at it. */
HT_INLINE int ht_stable_block(const uint8_t *p, int64_t n, const uint32_t *bits) {
    const __m512i v = _mm512_loadu_si512((const void *)p);
    const int size = n < 64 ? (int)n : 64;
    const uint64_t high = _mm512_movepi8_mask(v) & ht_low_bits(size);
    uint64_t leads, wide, asked;
    int ends = size;
    if (!high) return size;
    leads = _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xC0)) & high;
    if (_mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xF0)) & high) return 0;
    wide = _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xE0)) & leads;
    asked = leads & ~_mm512_test_epi8_mask(_mm512_permutexvar_epi8(v, _mm512_loadu_si512((const void *)(bits + 2048))),
                                             _mm512_set1_epi8(1));
    if (asked) {
        const __m512i a = _mm512_maskz_compress_epi8(asked, v);
        const __m512i b = _mm512_maskz_compress_epi8(asked, _mm512_loadu_si512((const void *)(p + 1)));
        const __m512i c = _mm512_maskz_compress_epi8(asked, _mm512_loadu_si512((const void *)(p + 2)));
        const uint64_t live = ht_low_bits(ht_popcount64(asked));
        if (!ht_stable_16(_mm512_castsi512_si128(a), _mm512_castsi512_si128(b), _mm512_castsi512_si128(c), (uint32_t)live & 0xFFFF, bits))
            return -1;
        if (live >> 16 && !ht_stable_16(_mm512_extracti32x4_epi32(a, 1), _mm512_extracti32x4_epi32(b, 1),
                                        _mm512_extracti32x4_epi32(c, 1), (uint32_t)(live >> 16) & 0xFFFF, bits))
            return -1;
    }
    /* The last character may end behind the block. */
    if (size == 64) {
        if (leads >> 63) ends = 65;
        if (wide >> 63) ends = 66;
        else if (wide >> 62 & 1) ends = 65;
    }
    return ends;
}
#else
HT_INLINE int ht_stable_block(const uint8_t *p, int64_t n, const uint32_t *bits) { (void)p; (void)n; (void)bits; return 0; }
#endif

#endif
