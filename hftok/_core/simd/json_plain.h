/* Where a JSON string stops being plain: at a quote, a backslash or a control character, 16 or 8 bytes at a time. */
#ifndef HFTOK_JSON_PLAIN_H
#define HFTOK_JSON_PLAIN_H
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) && !defined(_MSC_VER)
#include <emmintrin.h>
#define HT_JSON_SSE2 1
#endif
/* The first such byte in [p, end), or end. *high: of the bytes before it, the highest bits are or-ed to it, wherever they stand. */
static inline const uint8_t *ht_json_plain(const uint8_t *p, const uint8_t *end, uint64_t *high) {
#if defined(HT_JSON_SSE2)
    const __m128i quote = _mm_set1_epi8(34), slash = _mm_set1_epi8(92), control = _mm_set1_epi8(31);
    while (end - p >= 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)p);
        const __m128i stop = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
                                          _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
        const int found = _mm_movemask_epi8(stop), beyond = _mm_movemask_epi8(v);
        if (found) {
            if (beyond & (found - 1) & ~found) *high |= 0x80;
            return p + __builtin_ctz((unsigned)found);
        }
        if (beyond) *high |= 0x80;
        p += 16;
    }
#else
    const uint64_t ones = 0x0101010101010101ULL, high = ones << 7;
    while (end - p >= 8) {
        uint64_t v, q, s;
        memcpy(&v, p, 8);
        q = v ^ ones * 34;
        s = v ^ ones * 92;
        /* A byte of zero, or below 32, shows in its highest bit; carries reach only what comes after such a byte. */
        if ((((q - ones) & ~q) | ((s - ones) & ~s) | ((v - ones * 32) & ~v)) & high) break;
        *high |= v;
        p += 8;
    }
#endif
    while (p < end && *p != 34 && *p != 92 && *p >= 32) *high |= *p++;
    return p;
}
#endif
