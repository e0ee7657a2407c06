/* Character classes of a 64-byte block as bit masks, for the scanners of regular expressions (scanners/families).
 *
 * An alphabet gives every code point eight flags. `ht_ascii_flags` gives the flags of a block's ASCII bytes as eight masks,
 * bit i for byte i; `ht_all_flags` has those of the characters beyond ASCII, too (`wanted`: their bytes, whole characters),
 * painted on all bytes of the character, so that "the byte before" means "the character before" wherever a character
 * begins. The rest is algebra on such masks.
 *
 * Tiers as in block.h, chosen by the compiler flags of the including module; all give the same masks. The code points'
 * flags are in leaves of 64 (one for each value of a UTF-8 sequence's last six bits), equal leaves kept once.
 * What a flag means, and who fills the leaves, is the business of scanners/families/classes.pxi.
 */
#ifndef HFTOK_CLASSES_H
#define HFTOK_CLASSES_H

#include "block.h"

#if defined(_MSC_VER)
#define HT_NOINLINE static __declspec(noinline)
static __forceinline int ht_clz64(uint64_t x) { unsigned long i; _BitScanReverse64(&i, x); return 63 - (int)i; }
#else
#define HT_NOINLINE static __attribute__((noinline))
HT_INLINE int ht_clz64(uint64_t x) { return __builtin_clzll(x); }
#endif

typedef struct {
    const uint16_t *page;       /* number of the leaf of each code point >> 6 */
    const uint8_t *leaf;        /* 64 flag bytes per leaf; leaves 0 and 1 are those of ASCII */
    uint8_t column[8][16];      /* per flag: for each low nibble, bit h set where byte (h << 4 | low) has the flag */
} ht_alphabet;

/* The stretches of 256 code points (four leaves) that characters beyond ASCII were last of: a text's next ones are mostly of the same, and
 * what is tried whatever the text may be needs no branch. A stretch is all characters whose first two bytes are, in the bits of `mask`,
 * `first` and `second`. */
#define HT_STRETCHES 4
typedef struct {
    int known, next;
    const uint8_t *leaf[HT_STRETCHES][4];
    struct { uint8_t first_mask[64], first[64], second_mask[64], second[64]; } of[HT_STRETCHES];    /* 64 times each */
} ht_stretches;

/* Masks of the eight flags; written out, not an array, so that those not used cost nothing. */
typedef struct { uint64_t flag1, flag2, flag4, flag8, flag16, flag32, flag64, flag128; } ht_flags;
#define HT_EACH_FLAG(X) X(1, 0) X(2, 1) X(4, 2) X(8, 3) X(16, 4) X(32, 5) X(64, 6) X(128, 7)

/* ---------------------------------------------------------------- algebra */

/* The members of runs that are reached from seeds: each seed's run from the seed on. Seeds outside runs reach nothing;
 * one run must not hold two seeds. */
HT_INLINE uint64_t ht_reach(uint64_t seeds, uint64_t runs) {
    const uint64_t s = seeds & runs;
    return runs & ~(runs + s);
}

/* The bits right after the runs that hold a seed (one seed per run, at its start); a run that ends with bit 63 has none. */
HT_INLINE uint64_t ht_after(uint64_t seeds, uint64_t runs) { return (runs + seeds) & ~runs; }

/* Marks on the lead bytes of characters, painted on all their bytes. */
HT_INLINE uint64_t ht_paint(uint64_t leads, uint64_t continuation) {
    return leads | ht_reach(leads << 1, continuation);
}

/* Marks on the last bytes of characters, moved to their lead bytes. */
HT_INLINE uint64_t ht_lead(uint64_t last, uint64_t continuation) {
    uint64_t inside = last & continuation, found = last ^ inside;
    while (HT_UNLIKELY(inside != 0)) {
        inside >>= 1;
        found |= inside & ~continuation;
        inside &= continuation;
    }
    return found;
}

/* Where the run of `runs` begins that ends with bit 63 of the block: bits from there on are not in sight of its end. 64 if
 * bit 63 is in none. */
HT_INLINE int ht_trailing(uint64_t runs) { return ~runs ? 64 - ht_clz64(~runs) : 0; }

/* Bits of a character that goes on behind the block (p: the block, 64 bytes of it, `high` not 0): its lead byte and up. */
HT_INLINE uint64_t ht_unfinished(const uint8_t *p, uint64_t continuation) {
    const int last = 63 - ht_clz64(~continuation | 1);
    const uint8_t b = p[last];
    const int length = b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4;
    return last + length > 64 ? ~(uint64_t)0 << last : 0;
}

HT_INLINE uint8_t ht_flag_byte(const ht_alphabet *a, const uint8_t *p) {    /* of the character at p */
    const uint8_t b = p[0];
    if (b < 0x80) return a->leaf[b];
    if (b < 0xE0) return a->leaf[(uint32_t)a->page[b & 31] * 64 + (p[1] & 63)];
    if (b < 0xF0) return a->leaf[(uint32_t)a->page[((uint32_t)(b & 15) << 6) | (p[1] & 63)] * 64 + (p[2] & 63)];
    return a->leaf[(uint32_t)a->page[((uint32_t)(b & 7) << 12) | ((uint32_t)(p[1] & 63) << 6) | (p[2] & 63)] * 64 + (p[3] & 63)];
}

/* ---------------------------------------------------------------- masks of 64 bytes at p */
#if defined(HT_AVX512)
HT_INLINE uint64_t ht_equal(const uint8_t *p, uint8_t b) {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512((const void *)p), _mm512_set1_epi8((char)b));
}
HT_INLINE uint64_t ht_high(const uint8_t *p) { return _mm512_movepi8_mask(_mm512_loadu_si512((const void *)p)); }
HT_INLINE uint64_t ht_continuation(const uint8_t *p) {
    return _mm512_cmplt_epi8_mask(_mm512_loadu_si512((const void *)p), _mm512_set1_epi8((char)0xC0));
}
HT_INLINE void ht_flag_masks(__m512i c, ht_flags *f) {
#define HT_X(value, number) f->flag##value = _mm512_test_epi8_mask(c, _mm512_set1_epi8((char)value));
    HT_EACH_FLAG(HT_X)
#undef HT_X
}
/* The flags of the ASCII bytes; 0 at all others. */
HT_INLINE __m512i ht_ascii_classes(const ht_alphabet *a, const uint8_t *p) {
    const __m512i v = _mm512_loadu_si512((const void *)p);
    return _mm512_maskz_permutex2var_epi8(~_mm512_movepi8_mask(v), _mm512_loadu_si512((const void *)a->leaf), v,
                                          _mm512_loadu_si512((const void *)(a->leaf + 64)));
}
HT_INLINE void ht_ascii_flags(const ht_alphabet *a, const uint8_t *p, ht_flags *f) { ht_flag_masks(ht_ascii_classes(a, p), f); }

HT_INLINE void ht_stretch(ht_stretches *s, int k, const ht_alphabet *a, uint8_t first, uint8_t second) {
    const int two = first < 0xE0;
    const uint16_t *page = a->page + (two ? (uint32_t)(first & 0x1C) : (uint32_t)(first & 15) << 6 | (uint32_t)(second & 0x3C));
    int i;
    memset(s->of[k].first_mask, two ? 0xFC : 0xFF, 64);
    memset(s->of[k].first, two ? first & 0xFC : first, 64);
    memset(s->of[k].second_mask, two ? 0 : 0xFC, 64);
    memset(s->of[k].second, two ? 0 : second & 0xFC, 64);
    for (i = 0; i < 4; i++) s->leaf[k][i] = a->leaf + page[i] * 64;
}

/* The flags of the characters beyond ASCII, painted; 0 at all other bytes. */
HT_NOINLINE __m512i ht_high_classes(const ht_alphabet *a, const uint8_t *p, uint64_t wanted, ht_stretches *s) {
    const __m512i before = _mm512_set_epi8(62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
                                           40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20,
                                           19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0);
    const __m512i v = _mm512_loadu_si512((const void *)p);
    const __m512i second = _mm512_loadu_si512((const void *)(p + 1)), third = _mm512_loadu_si512((const void *)(p + 2));
    const __mmask64 continuation = _mm512_mask_cmplt_epi8_mask(wanted, v, _mm512_set1_epi8((char)0xC0));
    const uint64_t leads = wanted & ~continuation;
    /* A leaf is chosen by the last two bits of the last byte but one, its entry by the last six of the last one. Of the former the last
     * bit chooses between the two tables of a permutation, the one before it between two permutations. */
    const __mmask64 two = _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8((char)0xE0));
    const __m512i x = _mm512_mask_mov_epi8(second, two, v), y = _mm512_mask_mov_epi8(third, two, second);
    const __m512i index = _mm512_or_si512(_mm512_and_si512(y, _mm512_set1_epi8(63)),
                                          _mm512_and_si512(_mm512_slli_epi16(x, 6), _mm512_set1_epi8(64)));
    const __mmask64 upper = _mm512_test_epi8_mask(x, _mm512_set1_epi8(2));
    __m512i c = _mm512_setzero_si512();
    uint64_t rest = leads;
    int k;
#define HT_AT(bytes) _mm512_loadu_si512((const void *)(bytes))
#define HT_TRY(k)                                                                                                             \
    {                                                                                                                         \
        const __mmask64 like = _mm512_mask_cmpeq_epi8_mask(rest, _mm512_and_si512(v, HT_AT(s->of[k].first_mask)),             \
                                                           HT_AT(s->of[k].first));                                            \
        const __mmask64 at = _mm512_mask_cmpeq_epi8_mask(like, _mm512_and_si512(second, HT_AT(s->of[k].second_mask)),         \
                                                         HT_AT(s->of[k].second));                                             \
        c = _mm512_mask_mov_epi8(c, at & ~upper,                                                                              \
                                 _mm512_permutex2var_epi8(HT_AT(s->leaf[k][0]), index, HT_AT(s->leaf[k][1])));                \
        c = _mm512_mask_mov_epi8(c, at & upper,                                                                               \
                                 _mm512_permutex2var_epi8(HT_AT(s->leaf[k][2]), index, HT_AT(s->leaf[k][3])));                \
        rest &= ~at;                                                                                                          \
    }
    if (HT_UNLIKELY(!s->known)) {
        ht_stretch(s, 0, a, 0xC0, 0);            /* U+00C0: letters with accents */
        ht_stretch(s, 1, a, 0xC4, 0);
        ht_stretch(s, 2, a, 0xE2, 0x80);         /* U+2000: punctuation */
        ht_stretch(s, 3, a, 0xD0, 0);            /* U+0400: Cyrillic */
        s->next = 3;
        s->known = 1;
    }
    HT_TRY(0)
    HT_TRY(1)
    HT_TRY(2)
    HT_TRY(3)
    if (rest) {
        /* U+4E00-9F7F and U+AC00-D77F: each of them all of one kind in every alphabet */
        const uint64_t han = rest & (_mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8((char)0xE5)), _mm512_set1_epi8(3))
            | (_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xE4)) & _mm512_cmpge_epu8_mask(second, _mm512_set1_epi8((char)0xB8)))
            | (_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xE9)) & _mm512_cmplt_epu8_mask(second, _mm512_set1_epi8((char)0xBE))));
        c = _mm512_mask_set1_epi8(c, han, (char)a->leaf[a->page[0x5000 >> 6] * 64]);
        rest &= ~han;
        if (rest) {
            const uint64_t hangul = rest & (_mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8((char)0xEB)), _mm512_set1_epi8(1))
                | (_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xEA)) & _mm512_cmpge_epu8_mask(second, _mm512_set1_epi8((char)0xB0)))
                | (_mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8((char)0xED)) & _mm512_cmplt_epu8_mask(second, _mm512_set1_epi8((char)0x9E))));
            c = _mm512_mask_set1_epi8(c, hangul, (char)a->leaf[a->page[0xB000 >> 6] * 64]);
            rest &= ~hangul;
        }
        while (rest) {
            const int i = ht_ctz64(rest);
            if (p[i] < 0xF0) {
                k = s->next = (s->next + 1) % HT_STRETCHES;
                ht_stretch(s, k, a, p[i], p[i + 1]);
                HT_TRY(k)
            } else {
                c = _mm512_mask_set1_epi8(c, rest & (0 - rest), (char)ht_flag_byte(a, p + i));
                rest &= rest - 1;
            }
        }
    }
#undef HT_TRY
#undef HT_AT
    c = _mm512_mask_permutexvar_epi8(c, continuation, before, c);
    c = _mm512_mask_permutexvar_epi8(c, continuation, before, c);
    return _mm512_mask_permutexvar_epi8(c, continuation, before, c);
}
HT_INLINE void ht_all_flags(const ht_alphabet *a, const uint8_t *p, uint64_t wanted, ht_stretches *s, ht_flags *f) {
    const __m512i high = ht_high_classes(a, p, wanted, s);
    ht_flag_masks(_mm512_or_si512(ht_ascii_classes(a, p), high), f);
}
#else

#if defined(HT_AVX2)
HT_INLINE uint64_t ht_pair(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | ((uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32);
}
HT_INLINE uint64_t ht_equal(const uint8_t *p, uint8_t b) {
    const __m256i c = _mm256_set1_epi8((char)b);
    return ht_pair(_mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)p), c),
                   _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(p + 32)), c));
}
HT_INLINE uint64_t ht_high(const uint8_t *p) {
    return ht_pair(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 32)));
}
HT_INLINE uint64_t ht_continuation(const uint8_t *p) {
    const __m256i c = _mm256_set1_epi8((char)0xC0);
    return ht_pair(_mm256_cmpgt_epi8(c, _mm256_loadu_si256((const __m256i *)p)),
                   _mm256_cmpgt_epi8(c, _mm256_loadu_si256((const __m256i *)(p + 32))));
}
HT_INLINE void ht_ascii_flags(const ht_alphabet *a, const uint8_t *p, ht_flags *f) {
    const __m256i rows = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0,
                                          1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256i v0 = _mm256_loadu_si256((const __m256i *)p), v1 = _mm256_loadu_si256((const __m256i *)(p + 32));
    const __m256i low0 = _mm256_and_si256(v0, nibble), low1 = _mm256_and_si256(v1, nibble);
    const __m256i row0 = _mm256_shuffle_epi8(rows, _mm256_and_si256(_mm256_srli_epi16(v0, 4), nibble));
    const __m256i row1 = _mm256_shuffle_epi8(rows, _mm256_and_si256(_mm256_srli_epi16(v1, 4), nibble));
    const __m256i zero = _mm256_setzero_si256();
    __m256i column;
#define HT_X(value, number)                                                                               \
    column = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)a->column[number]));            \
    f->flag##value = ~ht_pair(_mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(column, low0), row0), zero), \
                              _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(column, low1), row1), zero));
    HT_EACH_FLAG(HT_X)
#undef HT_X
}
/* The eight masks of 64 flag bytes. */
HT_INLINE void ht_split(const uint8_t *c, ht_flags *f) {
    const __m256i v0 = _mm256_loadu_si256((const __m256i *)c), v1 = _mm256_loadu_si256((const __m256i *)(c + 32));
#define HT_X(value, number) f->flag##value = ht_pair(_mm256_slli_epi16(v0, 7 - number), _mm256_slli_epi16(v1, 7 - number));
    HT_EACH_FLAG(HT_X)
#undef HT_X
}
#elif defined(HT_NEON)
HT_INLINE uint64_t ht_equal(const uint8_t *p, uint8_t b) {
    const uint8x16_t c = vdupq_n_u8(b);
    return ht_movemask64(vceqq_u8(vld1q_u8(p), c), vceqq_u8(vld1q_u8(p + 16), c), vceqq_u8(vld1q_u8(p + 32), c),
                         vceqq_u8(vld1q_u8(p + 48), c));
}
HT_INLINE uint64_t ht_high(const uint8_t *p) {
    const uint8x16_t c = vdupq_n_u8(0x80);
    return ht_movemask64(vcgeq_u8(vld1q_u8(p), c), vcgeq_u8(vld1q_u8(p + 16), c), vcgeq_u8(vld1q_u8(p + 32), c),
                         vcgeq_u8(vld1q_u8(p + 48), c));
}
HT_INLINE uint64_t ht_continuation(const uint8_t *p) {
    const int8x16_t c = vdupq_n_s8((int8_t)0xC0);
    return ht_movemask64(vcltq_s8(vreinterpretq_s8_u8(vld1q_u8(p)), c), vcltq_s8(vreinterpretq_s8_u8(vld1q_u8(p + 16)), c),
                         vcltq_s8(vreinterpretq_s8_u8(vld1q_u8(p + 32)), c), vcltq_s8(vreinterpretq_s8_u8(vld1q_u8(p + 48)), c));
}
HT_INLINE void ht_ascii_flags(const ht_alphabet *a, const uint8_t *p, ht_flags *f) {
    const uint8_t rowbits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0};
    const uint8x16_t rows = vld1q_u8(rowbits);
    uint8x16_t low[4], row[4], column;
    int j;
    for (j = 0; j < 4; j++) {
        const uint8x16_t v = vld1q_u8(p + 16 * j);
        low[j] = vandq_u8(v, vdupq_n_u8(15));
        row[j] = vqtbl1q_u8(rows, vshrq_n_u8(v, 4));
    }
#define HT_X(value, number)                                                                                              \
    column = vld1q_u8(a->column[number]);                                                                               \
    f->flag##value = ht_movemask64(vtstq_u8(vqtbl1q_u8(column, low[0]), row[0]), vtstq_u8(vqtbl1q_u8(column, low[1]), row[1]), \
                                   vtstq_u8(vqtbl1q_u8(column, low[2]), row[2]), vtstq_u8(vqtbl1q_u8(column, low[3]), row[3]));
    HT_EACH_FLAG(HT_X)
#undef HT_X
}
HT_INLINE void ht_split(const uint8_t *c, ht_flags *f) {
    const uint8x16_t v0 = vld1q_u8(c), v1 = vld1q_u8(c + 16), v2 = vld1q_u8(c + 32), v3 = vld1q_u8(c + 48);
    uint8x16_t b;
#define HT_X(value, number)      \
    b = vdupq_n_u8(value);       \
    f->flag##value = ht_movemask64(vtstq_u8(v0, b), vtstq_u8(v1, b), vtstq_u8(v2, b), vtstq_u8(v3, b));
    HT_EACH_FLAG(HT_X)
#undef HT_X
}
#else
/* Eight bytes at a time: bit 7 of each byte of x, gathered. */
HT_INLINE uint64_t ht_gather8(uint64_t x) { return ((x & 0x8080808080808080ull) >> 7) * 0x0102040810204080ull >> 56; }
HT_INLINE uint64_t ht_load8(const uint8_t *p) {     /* in memory order, whatever the machine's is */
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32
           | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}
HT_INLINE uint64_t ht_equal(const uint8_t *p, uint8_t b) {
    uint64_t m = 0;
    int i;
    for (i = 0; i < 64; i += 8) {
        const uint64_t x = ht_load8(p + i) ^ (b * 0x0101010101010101ull);
        const uint64_t differs = ((x & 0x7F7F7F7F7F7F7F7Full) + 0x7F7F7F7F7F7F7F7Full) | x;
        m |= ht_gather8(~differs) << i;
    }
    return m;
}
HT_INLINE uint64_t ht_high(const uint8_t *p) {
    uint64_t m = 0;
    int i;
    for (i = 0; i < 64; i += 8) m |= ht_gather8(ht_load8(p + i)) << i;
    return m;
}
HT_INLINE uint64_t ht_continuation(const uint8_t *p) {
    uint64_t m = 0;
    int i;
    for (i = 0; i < 64; i += 8) {
        const uint64_t x = ht_load8(p + i);
        m |= ht_gather8(x & ~(x << 1)) << i;
    }
    return m;
}
HT_INLINE void ht_split(const uint8_t *c, ht_flags *f) {
    int i;
    memset(f, 0, sizeof *f);
    for (i = 0; i < 64; i += 8) {
        const uint64_t x = ht_load8(c + i);
#define HT_X(value, number) f->flag##value |= ht_gather8(x << (7 - number)) << i;
        HT_EACH_FLAG(HT_X)
#undef HT_X
    }
}
HT_INLINE void ht_ascii_flags(const ht_alphabet *a, const uint8_t *p, ht_flags *f) {
    uint8_t c[64];
    int i;
    for (i = 0; i < 64; i++) c[i] = p[i] < 0x80 ? a->leaf[p[i]] : 0;
    ht_split(c, f);
}
#endif

HT_NOINLINE void ht_add_flags(const ht_alphabet *a, const uint8_t *p, uint64_t wanted, ht_flags *f) {
    uint64_t leads = wanted & ~ht_continuation(p);
    uint8_t c[68];
    ht_flags g;
    while (leads) {     /* four bytes each: what is too many is overwritten by the next character, or not wanted */
        const int at = ht_ctz64(leads);
        memset(c + at, ht_flag_byte(a, p + at), 4);
        leads &= leads - 1;
    }
    ht_split(c, &g);
#define HT_X(value, number) f->flag##value |= g.flag##value & wanted;
    HT_EACH_FLAG(HT_X)
#undef HT_X
}
HT_INLINE void ht_all_flags(const ht_alphabet *a, const uint8_t *p, uint64_t wanted, ht_stretches *s, ht_flags *f) {
    ht_flags g;
    (void)s;
    ht_ascii_flags(a, p, &g);
    ht_add_flags(a, p, wanted, &g);
    *f = g;
}
#endif

/* As ht_positions of block.h, but for the number of entries that are written without a branch: some 14 of 64 bytes begin a
 * chunk, and a branch on 16 would often mislead, as would one on each where there is no vector form. */
#if defined(HT_AVX512)
HT_INLINE int ht_starts(uint64_t mask, uint32_t base, uint32_t *dst) {
    const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43,
                                         42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22,
                                         21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i packed = _mm512_maskz_compress_epi8((__mmask64)mask, iota);
    const __m512i offset = _mm512_set1_epi32((int)base);
    const int n = ht_popcount64(mask);
#define HT_STORE(k) \
    _mm512_storeu_si512((void *)(dst + 16 * k), _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, k)), offset))
    HT_STORE(0);
    HT_STORE(1);
    if (HT_UNLIKELY(n > 32)) {
        HT_STORE(2);
        HT_STORE(3);
    }
#undef HT_STORE
    return n;
}
#else
HT_INLINE int ht_starts(uint64_t mask, uint32_t base, uint32_t *dst) {
    const int n = ht_popcount64(mask);
    int i = 0;
    do {
        int j;
        for (j = 0; j < 8; j++) {
            dst[i + j] = base + (uint32_t)ht_ctz64(mask | (uint64_t)1 << 63);
            mask &= mask - 1;
        }
        i += 8;
    } while (HT_UNLIKELY(i < n));
    return n;
}
#endif

#endif
