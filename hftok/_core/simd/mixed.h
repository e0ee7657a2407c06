/* Text in which ASCII and longer characters stand side by side: up to 64 bytes at a time, without a branch that could go either
 * way. Each character is looked up in a table of the CharEntry (worker.pxd) of the code points below U+FFFF, what it becomes is
 * written, and its class is noted; where chunks begin and end follows from the classes of all of them at once, as it does
 * for ASCII (scanners/charclass_body.pxi).
 *
 * A character that depends on its neighbours, that the table does not have yet, or from U+FFFF on, ends the stretch before it.
 */
#ifndef HFTOK_MIXED_H
#define HFTOK_MIXED_H

#include "block.h"

/* A loop that needs all registers: not to be merged into its caller. */
#if defined(_MSC_VER)
#define HT_APART static __declspec(noinline)
#else
#define HT_APART static __attribute__((noinline))
#endif

enum { HT_MIXED_KNOWN = 8, HT_MIXED_DROP = 16, HT_MIXED_STOP = 32, HT_MIXED_UNFINISHED = 64 };

/* A cell of the table: a CharEntry as one number (action, size and `depends` in the low half, bytes in the high one), with this
 * bit, which no entry has; a cell without it is not filled in. */
#define HT_CELL_FILLED 0x80000000u
#define HT_CELL_DEPENDS 0x00170000u

typedef struct {
    int bytes;               /* of the text that were read */
    int chars;               /* that these are */
    int used;                /* bytes that were written */
    int n;                   /* characters that did not vanish: the next three arrays have so many entries */
    uint8_t at[64];          /* where each begins, from the first written byte on */
    uint8_t cls[64];         /* HT_RUN0, HT_RUN1, HT_ISOLATE, with HT_MIXED_KNOWN, HT_MIXED_UNFINISHED; zeros from n on */
    uint32_t word[64];       /* the id of one with HT_MIXED_KNOWN */
} ht_mixed;

/* What an entry's action, with its flag ACT_UNFINISHED, comes to. */
static const uint8_t ht_mixed_class[16] = {
    0, 1, 2, 3, HT_ISOLATE, HT_MIXED_DROP, HT_MIXED_STOP, HT_ISOLATE | HT_MIXED_KNOWN,
    HT_MIXED_UNFINISHED, 1 | HT_MIXED_UNFINISHED, 2 | HT_MIXED_UNFINISHED, 3 | HT_MIXED_UNFINISHED,
    HT_MIXED_STOP, HT_MIXED_STOP, HT_MIXED_STOP, HT_MIXED_STOP,
};
static const uint8_t ht_utf8_length[16] = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 3, 4};

/* The characters that begin in the n bytes at p (1..64, valid UTF-8 from a character's first byte on; four more bytes are
 * readable). What they become goes to out, which has room for 256 bytes and 4 more; `numbered`: with the number of each
 * byte's character in `index` (`character` for the first). A last character that reaches beyond the n bytes is left out. */
#if defined(HT_AVX512)
/* Sixteen characters at a time. */
HT_INLINE void ht_read_each(const uint8_t *p, int n, const uint64_t *cells, uint8_t *out, uint32_t *index, uint32_t character,
                            int numbered, ht_mixed *m) {
    /* Of 64 bytes, what begins where; then of sixteen at once: four bytes, the code point, the table's cell, classes and sizes. */
    const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
                                         40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
                                         17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i quads = _mm512_set1_epi32(0x03020100);
    const __m512i each = _mm512_set_epi8(15, 15, 15, 15, 14, 14, 14, 14, 13, 13, 13, 13, 12, 12, 12, 12, 11, 11, 11, 11, 10, 10, 10, 10,
                                         9, 9, 9, 9, 8, 8, 8, 8, 7, 7, 7, 7, 6, 6, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2,
                                         1, 1, 1, 1, 0, 0, 0, 0);
    const __m128i classes = _mm_loadu_si128((const __m128i *)ht_mixed_class);
    const __m128i lengths = _mm_loadu_si128((const __m128i *)ht_utf8_length);
    const __m512i swap = _mm512_set4_epi32(0x0C0D0E0F, 0x08090A0B, 0x04050607, 0x00010203);
    const __m512i v = _mm512_maskz_loadu_epi8(ht_low_bits(n), (const void *)p);
    const uint64_t begins = _mm512_cmpge_epi8_mask(v, _mm512_set1_epi8(-64)) & ht_low_bits(n);
    const __m512i places = _mm512_maskz_compress_epi8(begins, iota);
    int chars = ht_popcount64(begins), done = 0, used = 0, kept = 0, bytes = n;
    uint8_t where[64];
    _mm512_storeu_si512((void *)where, places);
    if (where[chars - 1] + ht_utf8_length[p[where[chars - 1]] >> 4] > n) bytes = where[--chars];
    _mm512_storeu_si512((void *)m->cls, _mm512_setzero_si512());
    while (done < chars) {
        const int g = chars - done < 16 ? chars - done : 16;
        const __mmask16 live = (__mmask16)(((uint32_t)1 << g) - 1);
        const __m128i at8 = _mm_loadu_si128((const __m128i *)(where + done));     /* reads within where: done is 0, 16, 32 or 48 */
        const __m512i at = _mm512_cvtepu8_epi32(at8);
        /* Bytes at, at + 1, at + 2, at + 3 of each; those behind the block are not of the character. */
        const __m512i spread = _mm512_add_epi8(_mm512_shuffle_epi8(at, _mm512_set4_epi32(0x0C0C0C0C, 0x08080808, 0x04040404, 0)), quads);
        const __m512i raw = _mm512_maskz_permutexvar_epi8(_mm512_cmplt_epu8_mask(spread, _mm512_set1_epi8(64)), spread, v);
        const __m512i big = _mm512_shuffle_epi8(raw, swap);
        const __m512i lead = _mm512_srli_epi32(big, 28);
        const __m512i length = _mm512_and_si512(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(lengths), lead), _mm512_set1_epi32(255));
        /* The six bits of each byte side by side; the first byte keeps seven, and loses its length bits by the shifts below. */
        const __m512i parts = _mm512_or_si512(
            _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(big, 6), _mm512_set1_epi32(0x7F << 18)),
                            _mm512_and_si512(_mm512_srli_epi32(big, 4), _mm512_set1_epi32(63 << 12))),
            _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(big, 2), _mm512_set1_epi32(63 << 6)),
                            _mm512_and_si512(big, _mm512_set1_epi32(63))));
        /* length 1: 25 bits stay, 2: 23, 3: 22, 4: 21; then everything behind the character goes. */
        const __m512i over = _mm512_and_si512(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_setr_epi8(
            0, 7, 9, 10, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), length), _mm512_set1_epi32(255));
        const __m512i behind = _mm512_and_si512(_mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_setr_epi8(
            0, 18, 12, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), length), _mm512_set1_epi32(255));
        const __m512i cp = _mm512_srlv_epi32(_mm512_srlv_epi32(_mm512_sllv_epi32(parts, over), over), behind);
        const __m512i cell = _mm512_min_epu32(cp, _mm512_set1_epi32(0xFFFF));
        __m512i a, b, words, heads, value;
        __m128i cls, size, sum;
        __mmask16 stop, known, stay;
        __mmask64 mask;
        int here, count;
        a = _mm512_i32gather_epi64(_mm512_castsi512_si256(cell), (const void *)cells, 8);
        b = _mm512_i32gather_epi64(_mm512_extracti64x4_epi64(cell, 1), (const void *)cells, 8);
        heads = _mm512_permutex2var_epi32(a, _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0), b);
        words = _mm512_permutex2var_epi32(a, _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1), b);
        cls = _mm_shuffle_epi8(classes, _mm512_cvtepi32_epi8(_mm512_and_si512(heads, _mm512_set1_epi32(15))));
        size = _mm512_cvtepi32_epi8(_mm512_srli_epi32(heads, 8));
        stop = _mm512_test_epi32_mask(_mm512_xor_si512(heads, _mm512_set1_epi32((int)HT_CELL_FILLED)),
                                      _mm512_set1_epi32((int)(HT_CELL_FILLED | HT_CELL_DEPENDS)));
        stop = (stop | _mm_test_epi8_mask(cls, _mm_set1_epi8(HT_MIXED_STOP))) & live;
        here = stop ? ht_ctz64(stop) : g;
        size = _mm_maskz_mov_epi8((__mmask16)(((uint32_t)1 << here) - 1), size);
        known = _mm_test_epi8_mask(cls, _mm_set1_epi8(HT_MIXED_KNOWN));
        value = _mm512_mask_mov_epi32(words, known, raw);
        mask = _mm512_cmplt_epu8_mask(quads, _mm512_permutexvar_epi8(each, _mm512_castsi128_si512(size)));
        count = ht_popcount64(mask);
        _mm512_storeu_si512((void *)(out + used), _mm512_maskz_compress_epi8(mask, value));
        if (numbered) {
            __m512i number = _mm512_set1_epi32((int)character + done);
            int q;
            for (q = 0; q < 4; q++) {
                const __mmask16 part = (__mmask16)(mask >> (16 * q));
                const __m512i four = _mm512_add_epi32(number, _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0));
                _mm512_storeu_si512((void *)index, _mm512_maskz_compress_epi32(part, four));
                index += ht_popcount64(part);
                number = _mm512_add_epi32(number, _mm512_set1_epi32(4));
            }
        }
        /* Where each begins: the sizes before it. */
        sum = _mm_add_epi8(size, _mm_slli_si128(size, 1));
        sum = _mm_add_epi8(sum, _mm_slli_si128(sum, 2));
        sum = _mm_add_epi8(sum, _mm_slli_si128(sum, 4));
        sum = _mm_add_epi8(sum, _mm_slli_si128(sum, 8));
        sum = _mm_add_epi8(_mm_sub_epi8(sum, size), _mm_set1_epi8((char)used));
        stay = (__mmask16)(((uint32_t)1 << here) - 1) & ~_mm_test_epi8_mask(cls, _mm_set1_epi8(HT_MIXED_DROP));
        _mm_storeu_si128((__m128i *)(m->at + kept), _mm_maskz_compress_epi8(stay, sum));
        _mm_storeu_si128((__m128i *)(m->cls + kept), _mm_maskz_compress_epi8(stay, cls));
        _mm512_storeu_si512((void *)(m->word + kept), _mm512_maskz_compress_epi32(stay, words));
        kept += ht_popcount64(stay);
        used += count;
        if (stop) {
            bytes = where[done + here];
            done += here;
            break;
        }
        done += g;
    }
    m->bytes = bytes;
    m->chars = done;
    m->used = used;
    m->n = kept;
}
#else
HT_INLINE void ht_read_each(const uint8_t *p, int n, const uint64_t *cells, uint8_t *out, uint32_t *index, uint32_t character,
                            int numbered, ht_mixed *m) {
    static const uint8_t lead[16] = {0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0x7F, 0, 0, 0, 0, 0x1F, 0x1F, 0x0F, 0x07};
    size_t used = 0, kept = 0;
    int at = 0, chars = 0;
    memset(m->cls, 0, 64);
    while (at < n) {
        const uint8_t *q = p + at;
        const int length = ht_utf8_length[q[0] >> 4];
        uint32_t raw, cp, cls, known;
        uint64_t cell;
        cp = (uint32_t)(q[0] & lead[q[0] >> 4]) << 18 | (uint32_t)(q[1] & 63) << 12 | (uint32_t)(q[2] & 63) << 6 | (q[3] & 63);
        cp >>= 24 - 6 * length;
        cell = cells[cp < 0xFFFF ? cp : 0xFFFF] ^ HT_CELL_FILLED;
        cls = ht_mixed_class[cell & 15];
        if ((cls & HT_MIXED_STOP) | (cell & (HT_CELL_FILLED | HT_CELL_DEPENDS)) | (at + length > n)) break;
        memcpy(&raw, q, 4);
        m->word[kept] = (uint32_t)(cell >> 32);
        known = 0 - (cls >> 3 & 1);                      /* all ones: the character itself is written */
        raw = (raw & known) | (m->word[kept] & ~known);
        memcpy(out + used, &raw, 4);
        if (numbered) index[used] = index[used + 1] = index[used + 2] = index[used + 3] = character + (uint32_t)chars;
        m->at[kept] = (uint8_t)used;
        m->cls[kept] = (uint8_t)cls;
        kept += ~(cls >> 4) & 1;
        used += (size_t)(cell >> 8) & 255;
        at += length;
        chars++;
    }
    if (kept < 64) m->cls[kept] = 0;
    m->bytes = at;
    m->chars = chars;
    m->used = (int)used;
    m->n = (int)kept;
}
#endif

HT_APART void ht_read_mixed(const uint8_t *p, int n, const uint64_t *cells, uint8_t *out, ht_mixed *m) {
    ht_read_each(p, n, cells, out, NULL, 0, 0, m);
}

HT_APART void ht_read_mixed_numbered(const uint8_t *p, int n, const uint64_t *cells, uint8_t *out, uint32_t *index,
                                     uint32_t character, ht_mixed *m) {
    ht_read_each(p, n, cells, out, index, character, 1, m);
}

/* A bit for each of the 64 class bytes that has `bit`. */
HT_INLINE uint64_t ht_with_class(const uint8_t *cls, int bit) {
#if defined(HT_AVX512)
    return _mm512_test_epi8_mask(_mm512_loadu_si512((const void *)cls), _mm512_set1_epi8((char)bit));
#elif defined(HT_AVX2)
    const __m256i b = _mm256_set1_epi8((char)bit), zero = _mm256_setzero_si256();
    const uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(_mm256_loadu_si256((const __m256i *)cls), b), zero));
    const uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_and_si256(_mm256_loadu_si256((const __m256i *)(cls + 32)), b), zero));
    return ~((uint64_t)high << 32 | low);
#else
    uint64_t mask = 0;
    int i;
    for (i = 0; i < 64; i++) mask |= (uint64_t)((cls[i] & bit) != 0) << i;
    return mask;
#endif
}

/* base + at[i] for every set bit i of mask, in order, to dst; returns their number. Up to 64 entries may be written. */
HT_INLINE int ht_places(uint64_t mask, const uint8_t *at, uint32_t base, uint32_t *dst) {
    const int n = ht_popcount64(mask);
#if defined(HT_AVX512)
    const __m512i packed = _mm512_maskz_compress_epi8((__mmask64)mask, _mm512_loadu_si512((const void *)at));
    ht_put_offsets(packed, n, base, dst);
#else
    while (mask) {
        *dst++ = base + at[ht_ctz64(mask)];
        mask &= mask - 1;
    }
#endif
    return n;
}

#endif
