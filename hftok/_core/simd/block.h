/* 64-byte blocks: classification, position lists, word keys and hashes, one implementation per instruction set.
 *
 * The tier is chosen by the compiler flags of the including module (AVX-512 VBMI2 + VAES, AVX2 + AES, NEON, plain C); all
 * tiers give the same masks, positions and keys, and tests compare them. Hashes differ between tiers: a table is only
 * ever used by the tier that made it.
 *
 * Classes. Each ASCII byte has a class byte: bits RUN0/RUN1 hold the run class (0 = separator), ISOLATE marks a byte
 * that is a pre-token of its own, SPECIAL one that the block code must not decide. Bytes >= 0x80 are special.
 */
#ifndef HFTOK_BLOCK_H
#define HFTOK_BLOCK_H

#include <stdint.h>
#include <string.h>

#define HT_RUN0 1
#define HT_RUN1 2
#define HT_ISOLATE 4
#define HT_SPECIAL 8
#define HT_FIRST 16      /* begins an added token, if the next byte is HT_SECOND */
#define HT_SECOND 32

#if defined(HT_SCALAR)
/* the plain C tier, asked for by the including module */
#elif defined(__AVX512VBMI2__) && defined(__AVX512VBMI__) && defined(__VAES__)
#define HT_AVX512 1
#elif defined(__AVX2__)
#define HT_AVX2 1
#elif defined(__ARM_NEON) || defined(__aarch64__)
#define HT_NEON 1
#endif

#if defined(HT_AVX512) || defined(HT_AVX2)
#include <immintrin.h>
#endif
#if defined(HT_NEON)
#include <arm_neon.h>
#endif
#if defined(_MSC_VER)
#include <intrin.h>
#define HT_INLINE static __forceinline
#define HT_APART static
#define HT_LIKELY(x) (x)
#define HT_UNLIKELY(x) (x)
static __forceinline int ht_ctz64(uint64_t x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
static __forceinline int ht_popcount64(uint64_t x) { return (int)__popcnt64(x); }
#define HT_PREFETCH(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
#else
#define HT_INLINE static inline __attribute__((always_inline))
#define HT_APART static __attribute__((noinline, unused))   /* inlined it would lack registers */
#define HT_LIKELY(x) __builtin_expect(!!(x), 1)
#define HT_UNLIKELY(x) __builtin_expect(!!(x), 0)
HT_INLINE int ht_ctz64(uint64_t x) { return __builtin_ctzll(x); }
HT_INLINE int ht_popcount64(uint64_t x) { return __builtin_popcountll(x); }
#define HT_PREFETCH(p) __builtin_prefetch((const void *)(p), 0, 3)
#endif
/* The same in a function that does nothing else: such a one has no effect, GCC finds, and leaves its calls out. */
#if defined(__GNUC__) && defined(__x86_64__)
#define HT_PREFETCH_ONLY(p) __asm__ volatile("prefetcht0 %0" : : "m"(*(const uint8_t *)(p)))
#elif defined(__GNUC__) && defined(__aarch64__)
#define HT_PREFETCH_ONLY(p) __asm__ volatile("prfm pldl1keep, %0" : : "Q"(*(const uint8_t *)(p)))
#else
#define HT_PREFETCH_ONLY(p) HT_PREFETCH(p)
#endif

/* The ASCII half of a character table, in the forms that the tiers want. */
typedef struct {
    uint8_t cls[128];        /* class byte of each ASCII byte */
    uint8_t map[128];        /* what it becomes */
    uint8_t columns[6][16];  /* per class bit: for each low nibble, bit h set where byte (h << 4 | low) has the class bit */
    int32_t map_kind;        /* 0: map is the identity, 1: A-Z to a-z, 2: anything else */
    int32_t two_runs;        /* RUN1 is used at all */
    int32_t any_first;       /* HT_FIRST is used at all */
    int32_t high_second;     /* bytes >= 0x80 count as HT_SECOND */
} ht_ascii;

typedef struct { uint64_t run0, run1, isolate, special, high; } ht_masks;   /* high: bytes >= 0x80 */

/* FIRST bytes become special where the next byte may continue a token, or is not in sight (the block's last byte). */
HT_INLINE uint64_t ht_candidates(uint64_t first, uint64_t second, int n) {
    return first & ((second >> 1) | ((uint64_t)1 << (n - 1)));
}

HT_INLINE uint64_t ht_low_bits(int n) { return n >= 64 ? ~(uint64_t)0 : (((uint64_t)1 << n) - 1); }

/* ---------------------------------------------------------------- classify: n (1..64) bytes at p; mapped bytes go to
 * out, which always gets 64 bytes written (those from n on are unspecified); bits from n on are 0. */
#if defined(HT_AVX512)
HT_INLINE void ht_classify(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, ht_masks *m) {
    const __mmask64 live = ht_low_bits(n);
    const __m512i v = n == 64 ? _mm512_loadu_si512((const void *)p) : _mm512_maskz_loadu_epi8(live, (const void *)p);
    const __m512i c = _mm512_permutex2var_epi8(_mm512_loadu_si512((const void *)t->cls), v,
                                               _mm512_loadu_si512((const void *)(t->cls + 64)));
    const __m512i l = _mm512_permutex2var_epi8(_mm512_loadu_si512((const void *)t->map), v,
                                               _mm512_loadu_si512((const void *)(t->map + 64)));
    _mm512_storeu_si512((void *)out, l);
    m->run0 = _mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_RUN0)) & live;
    m->run1 = _mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_RUN1)) & live;
    m->isolate = _mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_ISOLATE)) & live;
    m->high = _mm512_movepi8_mask(v) & live;
    m->special = (_mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_SPECIAL)) & live) | m->high;
    if (t->any_first) {
        const __mmask64 first = _mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_FIRST)) & ~_mm512_movepi8_mask(v) & live;
        if (first) {
            const __mmask64 high = _mm512_movepi8_mask(v);
            const __mmask64 second = _mm512_test_epi8_mask(c, _mm512_set1_epi8(HT_SECOND)) & ~high;
            m->special |= ht_candidates(first, t->high_second ? second | high : second, n);
        }
    }
}
#elif defined(HT_AVX2)
HT_INLINE uint32_t ht_plane32(const uint8_t *column, __m256i low, __m256i row) {
    const __m256i c = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)column)), low);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(c, row), _mm256_setzero_si256()));
}
HT_INLINE void ht_classify(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, ht_masks *m) {
    uint8_t tail[64];
    int h;
    uint64_t first = 0, second = 0, high = 0;
    const uint64_t live = ht_low_bits(n);
    const __m256i rows = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0,
                                          1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0);
    if (n < 64) { memset(tail, 0, 64); memcpy(tail, p, (size_t)n); p = tail; }
    m->run0 = m->run1 = m->isolate = m->special = 0;
    for (h = 0; h < 2; h++) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(p + 32 * h));
        const __m256i low = _mm256_and_si256(v, _mm256_set1_epi8(15));
        const __m256i row = _mm256_shuffle_epi8(rows, _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(15)));
        __m256i l = v;
        m->run0 |= (uint64_t)ht_plane32(t->columns[0], low, row) << (32 * h);
        if (t->two_runs) m->run1 |= (uint64_t)ht_plane32(t->columns[1], low, row) << (32 * h);
        m->isolate |= (uint64_t)ht_plane32(t->columns[2], low, row) << (32 * h);
        high |= (uint64_t)(uint32_t)_mm256_movemask_epi8(v) << (32 * h);
        m->special |= (uint64_t)ht_plane32(t->columns[3], low, row) << (32 * h);
        if (t->any_first) {
            first |= (uint64_t)ht_plane32(t->columns[4], low, row) << (32 * h);
            second |= (uint64_t)ht_plane32(t->columns[5], low, row) << (32 * h);
        }
        if (t->map_kind == 1) {
            const __m256i upper = _mm256_and_si256(_mm256_cmpgt_epi8(v, _mm256_set1_epi8('A' - 1)),
                                                   _mm256_cmpgt_epi8(_mm256_set1_epi8('Z' + 1), v));
            l = _mm256_or_si256(v, _mm256_and_si256(upper, _mm256_set1_epi8(0x20)));
        }
        _mm256_storeu_si256((__m256i *)(out + 32 * h), l);
    }
    if (t->map_kind == 2) for (h = 0; h < n; h++) out[h] = t->map[p[h] & 127];
    m->special |= high;
    m->high = high & live;
    if (first & live) m->special |= ht_candidates(first & live, t->high_second ? second | high : second, n);
    m->run0 &= live; m->run1 &= live; m->isolate &= live; m->special &= live;
}
#elif defined(HT_NEON)
HT_INLINE uint64_t ht_movemask64(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    const uint8x16_t bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint8x16_t s0 = vpaddq_u8(vandq_u8(a, bit), vandq_u8(b, bit));
    uint8x16_t s1 = vpaddq_u8(vandq_u8(c, bit), vandq_u8(d, bit));
    s0 = vpaddq_u8(s0, s1);
    s0 = vpaddq_u8(s0, s0);
    return vgetq_lane_u64(vreinterpretq_u64_u8(s0), 0);
}
HT_INLINE void ht_classify(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, ht_masks *m) {
    uint8_t tail[64];
    int i, b;
    const uint64_t live = ht_low_bits(n);
    const uint8_t rowbits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0};
    const uint8x16_t rows = vld1q_u8(rowbits);
    uint8x16_t hit[6][4], high[4];
    uint64_t high_mask;
    if (n < 64) { memset(tail, 0, 64); memcpy(tail, p, (size_t)n); p = tail; }
    for (i = 0; i < 4; i++) {
        const uint8x16_t v = vld1q_u8(p + 16 * i);
        const uint8x16_t low = vandq_u8(v, vdupq_n_u8(15));
        const uint8x16_t row = vqtbl1q_u8(rows, vshrq_n_u8(v, 4));
        uint8x16_t l = v;
        for (b = 0; b < 6; b++) hit[b][i] = vtstq_u8(vqtbl1q_u8(vld1q_u8(t->columns[b]), low), row);
        high[i] = vcgeq_u8(v, vdupq_n_u8(0x80));
        if (t->map_kind == 1) {
            const uint8x16_t upper = vandq_u8(vcgeq_u8(v, vdupq_n_u8('A')), vcleq_u8(v, vdupq_n_u8('Z')));
            l = vorrq_u8(v, vandq_u8(upper, vdupq_n_u8(0x20)));
        }
        vst1q_u8(out + 16 * i, l);
    }
    if (t->map_kind == 2) for (i = 0; i < n; i++) out[i] = t->map[p[i] & 127];
    m->run0 = ht_movemask64(hit[0][0], hit[0][1], hit[0][2], hit[0][3]) & live;
    m->run1 = ht_movemask64(hit[1][0], hit[1][1], hit[1][2], hit[1][3]) & live;
    m->isolate = ht_movemask64(hit[2][0], hit[2][1], hit[2][2], hit[2][3]) & live;
    high_mask = ht_movemask64(high[0], high[1], high[2], high[3]);
    m->high = high_mask & live;
    m->special = (ht_movemask64(hit[3][0], hit[3][1], hit[3][2], hit[3][3]) | high_mask) & live;
    if (t->any_first) {
        const uint64_t first = ht_movemask64(hit[4][0], hit[4][1], hit[4][2], hit[4][3]) & live;
        if (first) {
            const uint64_t second = ht_movemask64(hit[5][0], hit[5][1], hit[5][2], hit[5][3]);
            m->special |= ht_candidates(first, t->high_second ? second | high_mask : second, n);
        }
    }
}
#else
HT_INLINE void ht_classify(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, ht_masks *m) {
    uint64_t run0 = 0, run1 = 0, isolate = 0, special = 0, high = 0;
    int i;
    for (i = 0; i < n; i++) {
        const uint8_t b = p[i], c = b < 128 ? t->cls[b] : HT_SPECIAL;
        out[i] = t->map[b & 127];
        run0 |= (uint64_t)(c & 1) << i;
        run1 |= (uint64_t)((c >> 1) & 1) << i;
        isolate |= (uint64_t)((c >> 2) & 1) << i;
        special |= (uint64_t)((c >> 3) & 1) << i;
        high |= (uint64_t)(b >> 7) << i;
        if (c & HT_FIRST) {
            const uint8_t next = i + 1 < n ? p[i + 1] : 0;
            if (i + 1 == n || (next < 128 ? t->cls[next] & HT_SECOND : t->high_second)) special |= (uint64_t)1 << i;
        }
    }
    m->run0 = run0; m->run1 = run1; m->isolate = isolate; m->special = special; m->high = high;
}
#endif

#if defined(HT_AVX512)
/* base + each of the first n bytes of packed, to dst, of which up to 64 entries may be written. */
HT_INLINE void ht_put_offsets(__m512i packed, int n, uint32_t base, uint32_t *dst) {
    const __m512i offset = _mm512_set1_epi32((int)base);
    _mm512_storeu_si512((void *)dst, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed)), offset));
    if (HT_UNLIKELY(n > 16)) {
        _mm512_storeu_si512((void *)(dst + 16), _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 1)), offset));
        if (HT_UNLIKELY(n > 32)) {
            _mm512_storeu_si512((void *)(dst + 32), _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 2)), offset));
            _mm512_storeu_si512((void *)(dst + 48), _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 3)), offset));
        }
    }
}
#endif

/* ---------------------------------------------------------------- positions: base + index of every set bit of mask, in
 * order, to dst; returns their number. Up to 64 entries of dst may be written whatever the number is. */
#if defined(HT_AVX512)
HT_INLINE int ht_positions(uint64_t mask, uint32_t base, uint32_t *dst) {
    const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,
                                         42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22,
                                         21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i packed = _mm512_maskz_compress_epi8((__mmask64)mask, iota);
    const int n = ht_popcount64(mask);
    ht_put_offsets(packed, n, base, dst);
    return n;
}
#else
HT_INLINE int ht_positions(uint64_t mask, uint32_t base, uint32_t *dst) {
    const int n = ht_popcount64(mask);
    int i = 0;
    while (mask) {
        /* four at a time, without a branch on each: surplus entries repeat index 64 and are never read */
        dst[i] = base + (uint32_t)ht_ctz64(mask); mask &= mask - 1;
        if (!mask) break;
        dst[i + 1] = base + (uint32_t)ht_ctz64(mask); mask &= mask - 1;
        if (!mask) break;
        dst[i + 2] = base + (uint32_t)ht_ctz64(mask); mask &= mask - 1;
        if (!mask) break;
        dst[i + 3] = base + (uint32_t)ht_ctz64(mask); mask &= mask - 1;
        i += 4;
    }
    return n;
}
#endif

/* ---------------------------------------------------------------- keys: the bytes of a pre-token of at most 16 bytes,
 * zero padded. A longer or an empty one gets the key of all ones, which no UTF-8 text has, so that it misses. */
typedef struct { uint64_t lo, hi; } ht_key;

HT_INLINE ht_key ht_make_key(const uint8_t *p, uint32_t n) {   /* reads 16 bytes at p whatever n is */
    ht_key k;
    memcpy(&k, p, 16);
    if (HT_UNLIKELY(n - 1 >= 16)) { k.lo = k.hi = ~(uint64_t)0; return k; }
    if (n <= 8) { k.hi = 0; if (n < 8) k.lo &= ((uint64_t)1 << (8 * n)) - 1; }
    else if (n < 16) k.hi &= ((uint64_t)1 << (8 * (n - 8))) - 1;
    return k;
}

#define HT_K1 0x9E3779B97F4A7C15ull
#define HT_K2 0xD6E8FEB86659FD93ull

#if defined(HT_AVX512) || (defined(HT_AVX2) && defined(__AES__))
#define HT_AES 1
HT_INLINE __m128i ht_hash_vec(__m128i k) {
    const __m128i c1 = _mm_set_epi64x((long long)HT_K1, (long long)HT_K2);
    const __m128i c2 = _mm_set_epi64x((long long)HT_K2, (long long)HT_K1);
    return _mm_aesenc_si128(_mm_aesenc_si128(_mm_xor_si128(k, c1), c2), c1);
}
HT_INLINE uint32_t ht_hash_key(ht_key k) {
    return (uint32_t)_mm_cvtsi128_si32(ht_hash_vec(_mm_set_epi64x((long long)k.hi, (long long)k.lo)));
}
#else
HT_INLINE uint32_t ht_hash_key(ht_key k) {
    uint64_t h = (k.lo ^ HT_K1) * HT_K2;
    h ^= h >> 32;
    h = (h + k.hi) * HT_K1;
    h ^= h >> 29;
    h *= HT_K2;
    return (uint32_t)(h >> 32);
}
#endif

/* ---------------------------------------------------------------- long keys: 17 to 48 bytes, zero padded to 48. */
HT_INLINE uint32_t ht_hash_long(const uint8_t *key48) {
    ht_key a, b, c;
    memcpy(&a, key48, 16); memcpy(&b, key48 + 16, 16); memcpy(&c, key48 + 32, 16);
#if defined(HT_AES)
    {
        __m128i x = _mm_set_epi64x((long long)a.hi, (long long)a.lo);
        __m128i y = _mm_set_epi64x((long long)b.hi, (long long)b.lo);
        __m128i z = _mm_set_epi64x((long long)c.hi, (long long)c.lo);
        return (uint32_t)_mm_cvtsi128_si32(ht_hash_vec(_mm_xor_si128(ht_hash_vec(_mm_aesenc_si128(x, y)), z)));
    }
#else
    {
        ht_key k;
        k.lo = (a.lo ^ HT_K1) * HT_K2 + (b.lo ^ HT_K2) * HT_K1 + c.lo;
        k.hi = (a.hi ^ HT_K2) * HT_K1 + (b.hi ^ HT_K1) * HT_K2 + c.hi;
        k.lo ^= (k.lo >> 31) + k.hi; 
        return ht_hash_key(k);
    }
#endif
}

/* Chunks. starts[i] is a position in the chunk text; ends[i] is the end, or HT_KNOWN | id for a chunk whose only token is known
 * from the character table (a character that is a pre-token of its own). */
#define HT_KNOWN 0x80000000u

/* Zero-padded copy of a pre-token of 17 to 48 bytes (48 bytes at p are readable). */
HT_INLINE void ht_long_key(const uint8_t *p, uint32_t n, uint8_t *key48) {
#if defined(HT_AVX512)
    _mm512_mask_storeu_epi8((void *)key48, 0xFFFFFFFFFFFFull, _mm512_maskz_loadu_epi8(ht_low_bits((int)n), (const void *)p));
#else
    memset(key48, 0, 48);
    memcpy(key48, p, n);
#endif
}

/* Whether p[0:n], n at most 64, is ASCII and none of its bytes is one of `which` (256, each 0 or 1). */
HT_INLINE int ht_none_of(const uint8_t *p, int n, const uint8_t *which) {
#if defined(HT_AVX512)
    const __m512i v = _mm512_maskz_loadu_epi8(ht_low_bits(n), (const void *)p);
    const __m512i hit = _mm512_permutex2var_epi8(_mm512_loadu_si512((const void *)which), v, _mm512_loadu_si512((const void *)(which + 64)));
    return !(ht_low_bits(n) & (_mm512_test_epi8_mask(hit, hit) | _mm512_movepi8_mask(v)));
#else
    uint8_t hit = 0;
    int i;
    for (i = 0; i < n; i++) hit |= (uint8_t)(which[p[i]] | p[i] >> 7);
    return !hit;
#endif
}

/* Keys of n chunks of text (readable for 48 bytes past every start) and the places of their home buckets (64 bytes each, as
 * byte offsets into the table), which are fetched ahead; so are the home lines of longer chunks, whose hash is in the key's
 * upper half. Every chunk gets a place inside the table, and one that has no key of its own the lower half of all ones, which
 * no UTF-8 text has. n is at most 128; arrays have room for n rounded up to 4. Returns 0 if no chunk is
 * longer than 48 bytes; empty and known ones may count, too. */
HT_APART int ht_fill(const uint8_t *text, const uint32_t *starts, const uint32_t *ends, int n, ht_key *keys, uint32_t *places,
                       const uint8_t *table, uint32_t bucket_mask, const uint8_t *long_table, uint32_t long_mask) {
    int i = 0;
#if !defined(HT_AVX512)
    int longer = 0;
#else
    const __m512i lane = _mm512_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6,
                                         5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12,
                                         11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i spread = _mm512_set_epi8(12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 8, 8, 8, 8, 8, 8, 8, 8, 8,
                                           8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0,
                                           0, 0, 0, 0, 0, 0, 0, 0);
    const __m512i c1 = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)HT_K1, (long long)HT_K2));
    const __m512i c2 = _mm512_broadcast_i32x4(_mm_set_epi64x((long long)HT_K2, (long long)HT_K1));
    const __m512i pick = _mm512_set_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 12, 8, 4, 0);
    const __m128i buckets = _mm_set1_epi32((int)bucket_mask);
    uint32_t wait[128 + 4];
    int n_wait = 0, longer = 0, j;
    for (; i + 4 <= n; i += 4) {
        const __m128i s = _mm_loadu_si128((const __m128i *)(starts + i));
        const __m128i e = _mm_loadu_si128((const __m128i *)(ends + i));
        const __m128i len = _mm_sub_epi32(e, s);
        /* length - 1 >= 16 (unsigned): empty, long or known. Which chunks are long is not foreseen: they are noted, and wait. */
        const __m128i less = _mm_sub_epi32(len, _mm_set1_epi32(1));
        const __mmask8 odd = _mm_cmpge_epu32_mask(less, _mm_set1_epi32(16));
        const __mmask8 far = _mm_mask_cmple_epu32_mask(odd, less, _mm_set1_epi32(47));
        __m512i k, h;
        if (HT_UNLIKELY(odd == 15) && _mm_movemask_ps(_mm_castsi128_ps(e)) == 15) {
            _mm512_storeu_si512((void *)(keys + i), _mm512_set1_epi64(-1));
            _mm_storeu_si128((__m128i *)(places + i), _mm_setzero_si128());
            continue;
        }
        _mm_storeu_si128((__m128i *)(wait + n_wait), _mm_maskz_compress_epi32(far, _mm_add_epi32(_mm_set1_epi32(i), _mm_setr_epi32(0, 1, 2, 3))));
        n_wait += ht_popcount64(far);
        longer += ht_popcount64((uint64_t)(odd & ~far));
        k = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(text + starts[i])));
        k = _mm512_inserti32x4(k, _mm_loadu_si128((const __m128i *)(text + starts[i + 1])), 1);
        k = _mm512_inserti32x4(k, _mm_loadu_si128((const __m128i *)(text + starts[i + 2])), 2);
        k = _mm512_inserti32x4(k, _mm_loadu_si128((const __m128i *)(text + starts[i + 3])), 3);
        k = _mm512_maskz_mov_epi8(_mm512_cmplt_epu8_mask(lane, _mm512_permutexvar_epi8(spread, _mm512_castsi128_si512(len))), k);
        k = _mm512_mask_set1_epi64(k, (__mmask8)(_pdep_u32(odd, 0x55) * 3), -1);
        _mm512_storeu_si512((void *)(keys + i), k);
        h = _mm512_aesenc_epi128(_mm512_aesenc_epi128(_mm512_xor_si512(k, c1), c2), c1);
        _mm_storeu_si128((__m128i *)(places + i),
                         _mm_slli_epi32(_mm_and_si128(_mm512_castsi512_si128(_mm512_permutexvar_epi32(pick, h)), buckets), 6));
        HT_PREFETCH(table + places[i]);
        HT_PREFETCH(table + places[i + 1]);
        HT_PREFETCH(table + places[i + 2]);
        HT_PREFETCH(table + places[i + 3]);
    }
    for (j = 0; j < n_wait; j++) {
        const uint32_t w = wait[j];
        uint8_t key48[48];
        ht_long_key(text + starts[w], ends[w] - starts[w], key48);
        keys[w].hi = ht_hash_long(key48);
        HT_PREFETCH(long_table + ((size_t)(keys[w].hi & long_mask) << 6));
    }
#endif
    for (; i < n; i++) {
        const uint32_t m = ends[i] - starts[i];
        keys[i] = ht_make_key(text + starts[i], m);
        if (HT_UNLIKELY(m - 17 <= 31)) {
            uint8_t key48[48];
            ht_long_key(text + starts[i], m, key48);
            keys[i].hi = ht_hash_long(key48);
            HT_PREFETCH(long_table + ((size_t)(keys[i].hi & long_mask) << 6));
        }
        longer += m > 48;
        places[i] = (ht_hash_key(keys[i]) & bucket_mask) << 6;
        HT_PREFETCH(table + places[i]);
    }
    return longer;
}

/* What ht_emit looks in: a bucket is two keys, then their two values, in one cache line; a line of the long table a key of 48
 * bytes and a value; a value four ids of three bytes, then a word with their number in the low four bits, or, where that is 0, the place
 * of its ids in the arena and their number. 8 ids may be read past any place in the arena. */
typedef struct {
    const uint8_t *table, *long_table;
    const uint32_t *arena;
    uint32_t long_mask;
    const uint8_t *text;
    const uint32_t *starts, *ends;    /* of the chunks that keys and places belong to */
} ht_tables;

/* The four ids of a value. */
HT_INLINE void ht_unpack(const uint8_t *v, uint32_t *out) {
#if defined(HT_AVX512) || defined(HT_AVX2)
    _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)v),
                                                      _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1)));
#else
    uint32_t w[3];
    memcpy(w, v, 12);
    out[0] = w[0] & 0xFFFFFF;
    out[1] = w[0] >> 24 | (w[1] & 0xFFFF) << 8;
    out[2] = w[1] >> 16 | (w[2] & 0xFF) << 16;
    out[3] = w[2] >> 8;
#endif
}

/* Write the ids of chunks [i, n) at *out, as long as each is in its home bucket or home line; *out moves on, and the index of
 * the first chunk that is not (or n) comes back. Up to 8 ids too many are written. at[i] gets the place of the first id of chunk
 * i, where at is not NULL. */
HT_INLINE int ht_emit(const ht_key *keys, const uint32_t *places, const ht_tables *t, int i, int n, uint32_t **out, uint32_t **at) {
    uint32_t *o = *out;
    const uint8_t *table = t->table;
    for (; i < n; i++) {
        const uint8_t *b = table + places[i];
        const uint8_t *v;
        uint32_t count;
#if defined(HT_AVX512) || defined(HT_AVX2)
        const __m256i k = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(keys + i)));
        const int equal = _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)b), k)));
        const int hit = equal & (equal >> 1) & 5;           /* bit 0: the first key, bit 2: the second */
        v = b + 32 + ((hit & 4) << 2);
#else
        const ht_key *k = (const ht_key *)b;
        const int second = ((k[1].lo ^ keys[i].lo) | (k[1].hi ^ keys[i].hi)) == 0;
        const int hit = (((k[0].lo ^ keys[i].lo) | (k[0].hi ^ keys[i].hi)) == 0) | second;
        v = b + 32 + (second << 4);
#endif
        if (HT_UNLIKELY(!hit)) {
            const uint32_t size = t->ends[i] - t->starts[i];
            const uint8_t *line;
            if (size - 17 > 31) break;
            line = t->long_table + ((size_t)(keys[i].hi & t->long_mask) << 6);
#if defined(HT_AVX512)
            if (_mm512_mask_cmpneq_epi8_mask(0xFFFFFFFFFFFFull, _mm512_load_si512((const void *)line),
                                             _mm512_maskz_loadu_epi8(ht_low_bits((int)size), (const void *)(t->text + t->starts[i]))))
                break;
#else
            {
                uint8_t key48[48];
                ht_long_key(t->text + t->starts[i], size, key48);
                if (memcmp(line, key48, 48) != 0) break;
            }
#endif
            v = line + 48;
        }
        if (at) at[i] = o;
        ht_unpack(v, o);
        memcpy(&count, v + 12, 4);
        count &= 15;
        if (HT_UNLIKELY(!count)) {
            uint32_t at, j;
            memcpy(&at, v, 4);
            memcpy(&count, v + 4, 4);
            for (j = 0; j < count; j += 8) memcpy(o + j, t->arena + at + j, 32);
        }
        o += count;
    }
    *out = o;
    return i;
}

/* The value of a chunk's home bucket, or NULL: as ht_emit finds it. */
HT_INLINE const uint8_t *ht_value(const ht_key *key, const uint8_t *bucket) {
    const ht_key *k = (const ht_key *)bucket;
    if (((k[0].lo ^ key->lo) | (k[0].hi ^ key->hi)) == 0) return bucket + 32;
    if (((k[1].lo ^ key->lo) | (k[1].hi ^ key->hi)) == 0) return bucket + 48;
    return NULL;
}

/* out[i] = base + i for n rounded up to 16 entries: character indices of a run of ASCII. */
HT_INLINE void ht_iota(uint32_t base, int n, uint32_t *out) {
    int i;
#if defined(HT_AVX512)
    __m512i v = _mm512_add_epi32(_mm512_set1_epi32((int)base), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    for (i = 0; i < n; i += 16) {
        _mm512_storeu_si512((void *)(out + i), v);
        v = _mm512_add_epi32(v, _mm512_set1_epi32(16));
    }
#else
    const int m = (n + 15) & ~15;
    for (i = 0; i < m; i++) out[i] = base + (uint32_t)i;
#endif
}

#endif
