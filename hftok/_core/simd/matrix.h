/* Stretches of int64 matrices: ids widened, one value over and over, ones and zeros of a mask. `tier`: HT_MATRIX_AVX2 and
 * HT_MATRIX_AVX512 where the machine has them (hftok._core.cpu), else 0. Modules that write matrices are compiled once, for any
 * machine, and a row is too short for a call through a pointer to pay. Matrices of a large batch go beyond the near caches:
 * stores of whole cache lines take a fifth less time there than halves of them. */
#ifndef HFTOK_MATRIX_H
#define HFTOK_MATRIX_H
#include <stdint.h>

#define HT_MATRIX_AVX2 1
#define HT_MATRIX_AVX512 2

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#include <immintrin.h>
#define HT_WIDE_MATRIX 1
#define HT_FOR_AVX2 __attribute__((target("avx2")))
#define HT_FOR_AVX512 __attribute__((target("avx512f,avx512vl")))

/* From four values on the last store overlaps the one before. */
HT_FOR_AVX2 static void ht_widen_avx2(int64_t *out, const uint32_t *values, int64_t n) {
    int64_t i;
    for (i = 0; i + 4 <= n; i += 4)
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(values + i))));
    if (i < n)
        _mm256_storeu_si256((__m256i *)(out + n - 4), _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(values + n - 4))));
}
HT_FOR_AVX2 static inline void ht_repeat_four(int64_t *out, int64_t n, int64_t value) {
    const __m256i v = _mm256_set1_epi64x(value);
    int64_t i;
    for (i = 0; i + 4 <= n; i += 4) _mm256_storeu_si256((__m256i *)(out + i), v);
    if (i < n) _mm256_storeu_si256((__m256i *)(out + n - 4), v);
}
HT_FOR_AVX2 static void ht_repeat_avx2(int64_t *out, int64_t n, int64_t value) { ht_repeat_four(out, n, value); }

HT_FOR_AVX512 static void ht_widen_avx512(int64_t *out, const uint32_t *values, int64_t n) {
    int64_t i;
    for (i = 0; i + 8 <= n; i += 8)
        _mm512_storeu_si512((void *)(out + i), _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(values + i))));
    if (i < n) {
        const __mmask8 rest = (__mmask8)((1u << (n - i)) - 1);
        _mm512_mask_storeu_epi64((void *)(out + i), rest, _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(rest, (const void *)(values + i))));
    }
}
/* The first and the last store may cross cache lines, those between fill one each. */
HT_FOR_AVX512 static inline void ht_repeat_eight(int64_t *out, int64_t n, int64_t value) {
    const __m512i v = _mm512_set1_epi64(value);
    int64_t i;
    if (n < 8) {
        _mm512_mask_storeu_epi64((void *)out, (__mmask8)((1u << n) - 1), v);
        return;
    }
    _mm512_storeu_si512((void *)out, v);
    for (i = 8 - (int64_t)(((uintptr_t)out >> 3) & 7); i + 8 <= n; i += 8) _mm512_storeu_si512((void *)(out + i), v);
    _mm512_storeu_si512((void *)(out + n - 8), v);
}
HT_FOR_AVX512 static void ht_repeat_avx512(int64_t *out, int64_t n, int64_t value) { ht_repeat_eight(out, n, value); }
HT_FOR_AVX512 static void ht_mask_avx512(int64_t *out, int64_t ones, int64_t zeros) {
    ht_repeat_eight(out, ones, 1);
    ht_repeat_eight(out + ones, zeros, 0);
}
#endif

/* Apart: a compiler that makes loops of sixteen at a time of these, where each row needs one or two steps, slows the callers. */
#if defined(__GNUC__)
__attribute__((noinline, unused))
#endif
static void ht_widen_plain(int64_t *out, const uint32_t *values, int64_t n) {
    int64_t i;
    for (i = 0; i < n; i++) out[i] = values[i];
}
#if defined(__GNUC__)
__attribute__((noinline, unused))
#endif
static void ht_repeat_plain(int64_t *out, int64_t n, int64_t value) {
    int64_t i;
    for (i = 0; i < n; i++) out[i] = value;
}

/* out[i] = values[i] */
static inline void ht_widen(int64_t *out, const uint32_t *values, int64_t n, int tier) {
    if (n == 1) { *out = *values; return; }
#ifdef HT_WIDE_MATRIX
    if (tier == HT_MATRIX_AVX512) { ht_widen_avx512(out, values, n); return; }
    if (n >= 4 && tier == HT_MATRIX_AVX2) { ht_widen_avx2(out, values, n); return; }
#endif
    (void)tier;
    ht_widen_plain(out, values, n);
}

/* out[i] = value */
static inline void ht_repeat(int64_t *out, int64_t n, int64_t value, int tier) {
#ifdef HT_WIDE_MATRIX
    if (tier == HT_MATRIX_AVX512) { ht_repeat_avx512(out, n, value); return; }
    if (n >= 4 && tier == HT_MATRIX_AVX2) { ht_repeat_avx2(out, n, value); return; }
#endif
    (void)tier;
    ht_repeat_plain(out, n, value);
}

/* Ones, then zeros: an attention mask with its padding on the right. */
static inline void ht_mask(int64_t *out, int64_t ones, int64_t zeros, int tier) {
#ifdef HT_WIDE_MATRIX
    if (tier == HT_MATRIX_AVX512) { ht_mask_avx512(out, ones, zeros); return; }
#endif
    ht_repeat(out, ones, 1, tier);
    ht_repeat(out + ones, zeros, 0, tier);
}
#endif
