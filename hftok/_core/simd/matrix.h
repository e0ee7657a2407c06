/* Stretches of int64 matrices: ids widened, one value over and over. `wide`: the machine has AVX2 (hftok._core.cpu). Modules that
 * write matrices are compiled once, for any machine, and a row is too short for a call through a pointer to pay. */
#ifndef HFTOK_MATRIX_H
#define HFTOK_MATRIX_H
#include <stdint.h>

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#include <immintrin.h>
/* From four values on the last store overlaps the one before. */
__attribute__((target("avx2"))) static void ht_widen_avx2(int64_t *out, const uint32_t *values, int64_t n) {
    int64_t i;
    for (i = 0; i + 4 <= n; i += 4)
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(values + i))));
    if (i < n)
        _mm256_storeu_si256((__m256i *)(out + n - 4), _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(values + n - 4))));
}
__attribute__((target("avx2"))) static void ht_repeat_avx2(int64_t *out, int64_t n, int64_t value) {
    const __m256i v = _mm256_set1_epi64x(value);
    int64_t i;
    for (i = 0; i + 4 <= n; i += 4) _mm256_storeu_si256((__m256i *)(out + i), v);
    if (i < n) _mm256_storeu_si256((__m256i *)(out + n - 4), v);
}
#define HT_WIDE_MATRIX 1
#endif

static inline void ht_widen(int64_t *out, const uint32_t *values, int64_t n, int wide) {
    int64_t i;
#ifdef HT_WIDE_MATRIX
    if (wide && n >= 4) { ht_widen_avx2(out, values, n); return; }
#endif
    (void)wide;
    for (i = 0; i < n; i++) out[i] = values[i];
}

static inline void ht_repeat(int64_t *out, int64_t n, int64_t value, int wide) {
    int64_t i;
#ifdef HT_WIDE_MATRIX
    if (wide && n >= 4) { ht_repeat_avx2(out, n, value); return; }
#endif
    (void)wide;
    for (i = 0; i < n; i++) out[i] = value;
}
#endif
