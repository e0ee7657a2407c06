/* A copy to memory that is not read again soon: past the caches, so that its lines are not fetched first to be overwritten. */
#ifndef HFTOK_STREAM_H
#define HFTOK_STREAM_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static inline void ht_stream(void *to, const void *from, size_t size) {
    char *o = (char *)to;
    const char *p = (const char *)from;
    size_t head = (64 - (uintptr_t)o % 64) % 64;
    if (size < 4096) {
        memcpy(o, p, size);
        return;
    }
    memcpy(o, p, head);
    o += head;
    p += head;
    size -= head;
    for (; size >= 64; size -= 64, o += 64, p += 64) {
        const __m128i a = _mm_loadu_si128((const __m128i *)p), b = _mm_loadu_si128((const __m128i *)(p + 16));
        const __m128i c = _mm_loadu_si128((const __m128i *)(p + 32)), d = _mm_loadu_si128((const __m128i *)(p + 48));
        _mm_stream_si128((__m128i *)o, a);
        _mm_stream_si128((__m128i *)(o + 16), b);
        _mm_stream_si128((__m128i *)(o + 32), c);
        _mm_stream_si128((__m128i *)(o + 48), d);
    }
    memcpy(o, p, size);
    _mm_sfence();            /* such stores are seen in any order until then */
}
#else
static inline void ht_stream(void *to, const void *from, size_t size) { memcpy(to, from, size); }
#endif
#endif
