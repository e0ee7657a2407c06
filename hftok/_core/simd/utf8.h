/* Is this UTF-8? The table look-up method of Keiser and Lemire ("Validating UTF-8 in less than one instruction per byte",
 * 2021): three 16-entry tables, by the high and low nibble of a byte and the high nibble of the next one, agree on a bit
 * exactly where the two bytes cannot stand together; the third and fourth bytes of long sequences are checked apart.
 * AVX-512 and AVX2; other tiers check byte by byte (utf8.pyx). */
#ifndef HFTOK_UTF8_H
#define HFTOK_UTF8_H
#include "block.h"

#if defined(HT_AVX512) || defined(HT_AVX2)
#define HT_UTF8_SIMD 1

#define U8_TOO_SHORT 1      /* 11______ 0_______, 11______ 11______ */
#define U8_TOO_LONG 2       /* 0_______ 10______ */
#define U8_OVERLONG_3 4     /* 11100000 100_____ */
#define U8_TOO_LARGE 8      /* 11110100 1001____ and above */
#define U8_SURROGATE 16     /* 11101101 101_____ */
#define U8_OVERLONG_2 32    /* 1100000_ 10______ */
#define U8_TOO_LARGE_1000 64 /* 11110101 1000____ and above */
#define U8_OVERLONG_4 64    /* 11110000 1000____ */
#define U8_TWO_CONTS 128    /* 10______ 10______ */
#define U8_CARRY (U8_TOO_SHORT | U8_TOO_LONG | U8_TWO_CONTS)

HT_INLINE __m256i ht_u8_errors(__m256i input, __m256i previous) {
    const __m256i prev1 = _mm256_alignr_epi8(input, _mm256_permute2x128_si256(previous, input, 0x21), 15);
    const __m256i prev2 = _mm256_alignr_epi8(input, _mm256_permute2x128_si256(previous, input, 0x21), 14);
    const __m256i prev3 = _mm256_alignr_epi8(input, _mm256_permute2x128_si256(previous, input, 0x21), 13);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m128i high1 = _mm_setr_epi8(
        U8_TOO_LONG, U8_TOO_LONG, U8_TOO_LONG, U8_TOO_LONG, U8_TOO_LONG, U8_TOO_LONG, U8_TOO_LONG, U8_TOO_LONG,
        (char)U8_TWO_CONTS, (char)U8_TWO_CONTS, (char)U8_TWO_CONTS, (char)U8_TWO_CONTS,
        U8_TOO_SHORT | U8_OVERLONG_2, U8_TOO_SHORT, U8_TOO_SHORT | U8_OVERLONG_3 | U8_SURROGATE,
        U8_TOO_SHORT | U8_TOO_LARGE | U8_TOO_LARGE_1000 | U8_OVERLONG_4);
    const __m128i low1 = _mm_setr_epi8(
        (char)(U8_CARRY | U8_OVERLONG_3 | U8_OVERLONG_2 | U8_OVERLONG_4), (char)(U8_CARRY | U8_OVERLONG_2), (char)U8_CARRY,
        (char)U8_CARRY, (char)(U8_CARRY | U8_TOO_LARGE), (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000),
        (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000), (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000),
        (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000), (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000),
        (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000), (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000),
        (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000), (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000 | U8_SURROGATE),
        (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000), (char)(U8_CARRY | U8_TOO_LARGE | U8_TOO_LARGE_1000));
    const __m128i high2 = _mm_setr_epi8(
        U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT,
        (char)(U8_TOO_LONG | U8_OVERLONG_2 | U8_TWO_CONTS | U8_OVERLONG_3 | U8_TOO_LARGE_1000 | U8_OVERLONG_4),
        (char)(U8_TOO_LONG | U8_OVERLONG_2 | U8_TWO_CONTS | U8_OVERLONG_3 | U8_TOO_LARGE),
        (char)(U8_TOO_LONG | U8_OVERLONG_2 | U8_TWO_CONTS | U8_SURROGATE | U8_TOO_LARGE),
        (char)(U8_TOO_LONG | U8_OVERLONG_2 | U8_TWO_CONTS | U8_SURROGATE | U8_TOO_LARGE),
        U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT, U8_TOO_SHORT);
    const __m256i special = _mm256_and_si256(
        _mm256_and_si256(
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high1), _mm256_and_si256(_mm256_srli_epi16(prev1, 4), nibble)),
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low1), _mm256_and_si256(prev1, nibble))),
        _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high2), _mm256_and_si256(_mm256_srli_epi16(input, 4), nibble)));
    /* third byte of a sequence of three or four, fourth of one of four: bit 7 must be set there and only there */
    const __m256i third = _mm256_subs_epu8(prev2, _mm256_set1_epi8((char)(0xE0 - 0x80)));
    const __m256i fourth = _mm256_subs_epu8(prev3, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    const __m256i must = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
    return _mm256_xor_si256(must, special);
}

/* The last bytes of a block that begin a sequence which does not end in it. */
HT_INLINE __m256i ht_u8_incomplete(__m256i input) {
    const __m256i top = _mm256_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                         -1, -1, -1, -1, -1, (char)(0xF0 - 1), (char)(0xE0 - 1), (char)(0xC0 - 1));
    return _mm256_subs_epu8(input, top);
}

/* 1 if text is valid UTF-8. */
static int ht_utf8_valid(const uint8_t *text, int64_t size) {
    __m256i error = _mm256_setzero_si256(), previous = _mm256_setzero_si256(), incomplete = _mm256_setzero_si256();
    int64_t i = 0;
    uint8_t tail[64];
    while (i < size) {
        __m256i a, b;
        if (i + 64 <= size) {
            a = _mm256_loadu_si256((const __m256i *)(text + i));
            b = _mm256_loadu_si256((const __m256i *)(text + i + 32));
        } else {
            memset(tail, 0, 64);
            memcpy(tail, text + i, (size_t)(size - i));
            a = _mm256_loadu_si256((const __m256i *)tail);
            b = _mm256_loadu_si256((const __m256i *)(tail + 32));
        }
        if (!_mm256_movemask_epi8(_mm256_or_si256(a, b))) {
            error = _mm256_or_si256(error, incomplete);
            incomplete = _mm256_setzero_si256();
        } else {
            error = _mm256_or_si256(error, ht_u8_errors(a, previous));
            error = _mm256_or_si256(error, ht_u8_errors(b, a));
            incomplete = ht_u8_incomplete(b);
        }
        previous = b;
        i += 64;
    }
    error = _mm256_or_si256(error, incomplete);
    return _mm256_testz_si256(error, error);
}
#endif
#endif
