/* The least of some numbers: the merge that comes next (models/merges, scanners/holes.pxi). */
#ifndef HFTOK_LEAST_H
#define HFTOK_LEAST_H
#include "block.h"

/* The least of v[0:n]; n > 0 is a multiple of HT_LEAST_STEP. */
#if defined(HT_AVX512)
#define HT_LEAST_STEP 16
HT_INLINE int32_t ht_least(const int32_t *v, int n) {
    __m512i m = _mm512_loadu_si512((const void *)v);
    int i;
    for (i = 16; i < n; i += 16) m = _mm512_min_epi32(m, _mm512_loadu_si512((const void *)(v + i)));
    return _mm512_reduce_min_epi32(m);
}
#elif defined(HT_AVX2)
#define HT_LEAST_STEP 8
HT_INLINE int32_t ht_least(const int32_t *v, int n) {
    __m256i m = _mm256_loadu_si256((const __m256i *)v);
    __m128i h;
    int i;
    for (i = 8; i < n; i += 8) m = _mm256_min_epi32(m, _mm256_loadu_si256((const __m256i *)(v + i)));
    h = _mm_min_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    h = _mm_min_epi32(h, _mm_shuffle_epi32(h, 0x4E));
    h = _mm_min_epi32(h, _mm_shuffle_epi32(h, 0xB1));
    return _mm_cvtsi128_si32(h);
}
#else
#define HT_LEAST_STEP 4
/* Four running minima, which the compiler may keep in one vector register. */
HT_INLINE int32_t ht_least(const int32_t *v, int n) {
    int32_t a = v[0], b = v[1], c = v[2], d = v[3];
    int i;
    for (i = 4; i < n; i += 4) {
        a = v[i] < a ? v[i] : a;
        b = v[i + 1] < b ? v[i + 1] : b;
        c = v[i + 2] < c ? v[i + 2] : c;
        d = v[i + 3] < d ? v[i + 3] : d;
    }
    a = b < a ? b : a;
    c = d < c ? d : c;
    return c < a ? c : a;
}
#endif

#endif
