/* Copying a block of raw text while looking for the bytes that may begin an added token; needs block.h's tiers. */
#ifndef HFTOK_FIND_H
#define HFTOK_FIND_H

#include "block.h"

/* n (1..64) bytes at p go to out, which always gets 64 bytes written. Returns the ASCII bytes that begin a token, if their
 * next byte may go on with it (or is not in sight); *high gets the bytes >= 0x80. */
#if defined(HT_AVX512)
HT_INLINE uint64_t ht_find(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, uint64_t *high) {
    const __mmask64 live = ht_low_bits(n);
    const __m512i v = n == 64 ? _mm512_loadu_si512((const void *)p) : _mm512_maskz_loadu_epi8(live, (const void *)p);
    const uint64_t h = _mm512_movepi8_mask(v);
    _mm512_storeu_si512((void *)out, v);
    *high = h;
    if (t->any_first) {
        const __m512i c = _mm512_permutex2var_epi8(_mm512_loadu_si512((const void *)t->cls), v,
                                                   _mm512_loadu_si512((const void *)(t->cls + 64)));
        const __mmask64 first = _mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_FIRST)) & ~h & live;
        if (first) {
            const __mmask64 second = _mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_SECOND)) & ~h;
            return ht_candidates(first, t->high_second ? second | h : second, n);
        }
    }
    return 0;
}
HT_INLINE uint64_t ht_equal(const uint8_t *p, int n, uint8_t byte) {
    return _mm512_mask_cmpeq_epi8_mask(ht_low_bits(n), _mm512_maskz_loadu_epi8(ht_low_bits(n), (const void *)p), _mm512_set1_epi8((char)byte));
}
#elif defined(HT_AVX2)
HT_INLINE uint64_t ht_find(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, uint64_t *high) {
    uint8_t tail[64];
    int h;
    uint64_t first = 0, second = 0, top = 0;
    const uint64_t live = ht_low_bits(n);
    const __m256i rows = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0,
                                          1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0);
    if (n < 64) { memset(tail, 0, 64); memcpy(tail, p, (size_t)n); p = tail; }
    for (h = 0; h < 2; h++) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(p + 32 * h));
        _mm256_storeu_si256((__m256i *)(out + 32 * h), v);
        top |= (uint64_t)(uint32_t)_mm256_movemask_epi8(v) << (32 * h);
        if (t->any_first) {
            const __m256i low = _mm256_and_si256(v, _mm256_set1_epi8(15));
            const __m256i row = _mm256_shuffle_epi8(rows, _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15)));
            first |= (uint64_t)ht_plane32(t->columns[4], low, row) << (32 * h);
            second |= (uint64_t)ht_plane32(t->columns[5], low, row) << (32 * h);
        }
    }
    *high = top;
    first &= ~top & live;
    if (first) return ht_candidates(first, t->high_second ? second | top : second & ~top, n);
    return 0;
}
HT_INLINE uint64_t ht_equal(const uint8_t *p, int n, uint8_t byte) {
    uint8_t tail[64];
    const __m256i b = _mm256_set1_epi8((char)byte);
    uint64_t m;
    if (n < 64) { memset(tail, 0, 64); memcpy(tail, p, (size_t)n); p = tail; }
    m = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), b));
    m |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)), b)) << 32;
    return m & ht_low_bits(n);
}
#elif defined(HT_NEON)
HT_INLINE uint64_t ht_find(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, uint64_t *high) {
    uint8_t tail[64];
    int i;
    const uint64_t live = ht_low_bits(n);
    const uint8_t rowbits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0};
    const uint8x16_t rows = vld1q_u8(rowbits);
    uint8x16_t a[4], b[4], c[4];
    if (n < 64) { memset(tail, 0, 64); memcpy(tail, p, (size_t)n); p = tail; }
    for (i = 0; i < 4; i++) {
        const uint8x16_t v = vld1q_u8(p + 16 * i);
        const uint8x16_t low = vandq_u8(v, vdupq_n_u8(15));
        const uint8x16_t row = vqtbl1q_u8(rows, vshrq_n_u8(v, 4));
        vst1q_u8(out + 16 * i, v);
        c[i] = vcgeq_u8(v, vdupq_n_u8(0x80));
        a[i] = vtstq_u8(vqtbl1q_u8(vld1q_u8(t->columns[4]), low), row);
        b[i] = vtstq_u8(vqtbl1q_u8(vld1q_u8(t->columns[5]), low), row);
    }
    *high = ht_movemask64(c[0], c[1], c[2], c[3]);
    if (t->any_first) {
        const uint64_t first = ht_movemask64(a[0], a[1], a[2], a[3]) & ~*high & live;
        if (first) {
            const uint64_t second = ht_movemask64(b[0], b[1], b[2], b[3]) & ~*high;
            return ht_candidates(first, t->high_second ? second | *high : second, n);
        }
    }
    return 0;
}
HT_INLINE uint64_t ht_equal(const uint8_t *p, int n, uint8_t byte) {
    uint8_t tail[64];
    const uint8x16_t b = vdupq_n_u8(byte);
    if (n < 64) { memset(tail, 0, 64); memcpy(tail, p, (size_t)n); p = tail; }
    return ht_movemask64(vceqq_u8(vld1q_u8(p), b), vceqq_u8(vld1q_u8(p + 16), b), vceqq_u8(vld1q_u8(p + 32), b),
                         vceqq_u8(vld1q_u8(p + 48), b)) & ht_low_bits(n);
}
#else
HT_INLINE uint64_t ht_find(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, uint64_t *high) {
    uint64_t found = 0, top = 0;
    int i;
    memcpy(out, p, (size_t)n);
    for (i = 0; i < n; i++) {
        const uint8_t b = p[i];
        top |= (uint64_t)(b >> 7) << i;
        if (b < 128 && t->cls[b] & HT_FIRST) {
            const uint8_t next = i + 1 < n ? p[i + 1] : 0;
            if (i + 1 == n || (next < 128 ? t->cls[next] & HT_SECOND : t->high_second)) found |= (uint64_t)1 << i;
        }
    }
    *high = top;
    return found;
}
HT_INLINE uint64_t ht_equal(const uint8_t *p, int n, uint8_t byte) {
    uint64_t m = 0;
    int i;
    for (i = 0; i < n; i++) m |= (uint64_t)(p[i] == byte) << i;
    return m;
}
#endif

/* Whether some of p[0:n] is a byte from 0xE3 on: the first of a character from U+3000 on, where words are not divided by blanks.
 * n <= 64, 64 bytes are readable. */
HT_INLINE int ht_any_undivided(const uint8_t *p, int n) {
#if defined(HT_AVX512)
    return (_mm512_cmpge_epu8_mask(_mm512_loadu_si512((const void *)p), _mm512_set1_epi8((char)0xE3)) & ht_low_bits(n)) != 0;
#else
    uint64_t v, found = 0;
    int i;
    for (i = 0; i < n; i += 8) {
        memcpy(&v, p + i, 8);
        v = ((v & 0x7F7F7F7F7F7F7F7Full) + 0x1D1D1D1D1D1D1D1Dull) & v & 0x8080808080808080ull;     /* 0x63 + 0x1D: the highest bit */
        found |= n - i < 8 ? v & ht_low_bits(8 * (n - i)) : v;
    }
    return found != 0;
#endif
}

#endif
