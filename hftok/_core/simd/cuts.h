/* Safe cuts (models/safe_cuts.pyx) between characters of three bytes, the bulk of Chinese, Japanese and Korean, and between those
 * of ASCII: 16 pairs at once where the tier has the instructions; elsewhere the runs are empty, and the caller goes from character to character. */
#ifndef HFTOK_CUTS_H
#define HFTOK_CUTS_H
#include "block.h"

#if defined(HT_AVX512)
/* Sixteen characters of three bytes each, the first bytes of v: four bytes a lane, the last one 0. */
HT_INLINE __m512i ht_thirds(__m512i v) {
    const __m512i thirds = _mm512_set_epi8(0, 47, 46, 45, 0, 44, 43, 42, 0, 41, 40, 39, 0, 38, 37, 36, 0, 35, 34, 33, 0, 32, 31, 30,
                                           0, 29, 28, 27, 0, 26, 25, 24, 0, 23, 22, 21, 0, 20, 19, 18, 0, 17, 16, 15, 0, 14, 13, 12,
                                           0, 11, 10, 9, 0, 8, 7, 6, 0, 5, 4, 3, 0, 2, 1, 0);
    return _mm512_maskz_permutexvar_epi8(0x7777777777777777ull, thirds, v);
}

HT_INLINE __m512i ht_thirds_code_points(__m512i x) {
    return _mm512_or_si512(
        _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(x, _mm512_set1_epi32(0xF)), 12),
                        _mm512_srli_epi32(_mm512_and_si512(x, _mm512_set1_epi32(0x3F00)), 2)),
        _mm512_srli_epi32(_mm512_and_si512(x, _mm512_set1_epi32(0x3F0000)), 16));
}

/* cut_product of pairs of characters below U+10000: keys are those of the left ones (cut_key). */
HT_INLINE __m512i ht_cut_products(__m512i keys, __m512i right) {
    return _mm512_mullo_epi32(_mm512_xor_si512(keys, right), _mm512_set1_epi32((int)0x9E3779B1u));
}

/* Bit 0 of each lane of `live`: some merge joins the pair with that product; it is set in the other lanes. */
HT_INLINE __m512i ht_joined(__m512i products, __mmask16 live, const uint64_t *bits, uint32_t mask) {
    const __m512i h = _mm512_and_si512(_mm512_xor_si512(products, _mm512_srli_epi32(products, 15)), _mm512_set1_epi32((int)mask));
    const __m512i words = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-1), live, _mm512_srli_epi32(h, 5), (const void *)bits, 4);
    return _mm512_srlv_epi32(words, _mm512_and_si512(h, _mm512_set1_epi32(31)));
}

/* How many of the characters of p[0:n], which is valid UTF-8 and begins a character, have three bytes, one after the other; 16 at
 * most. 64 bytes are readable. */
HT_INLINE int ht_wide_run(const uint8_t *p, int64_t n) {
    const __m512i v = _mm512_loadu_si512((const void *)p);
    const uint64_t leads = _mm512_cmpeq_epi8_mask(_mm512_and_si512(v, _mm512_set1_epi8((char)0xF0)), _mm512_set1_epi8((char)0xE0));
    const uint64_t thirds = 0x0000249249249249ull;               /* bits 0, 3, ... 45 */
    const int run = ht_ctz64((thirds & ~leads) | (uint64_t)1 << 48) / 3;
    return run * 3 <= n ? run : (int)(n / 3);
}

/* p[0:3c] is c <= 16 characters of three bytes behind a character with the key `left` (cut_key) and the last byte `last`. Writes
 * base + 3i for each character i that no merge joins to the one before it, and returns their number; room for 16. */
HT_INLINE int ht_cut_wide(const uint8_t *p, int c, uint32_t left, uint32_t last, const uint8_t *gate, const uint64_t *bits,
                          uint32_t mask, uint32_t base, uint32_t *out) {
    const __m512i x = ht_thirds(_mm512_loadu_si512((const void *)p)), right = ht_thirds_code_points(x);
    const __m512i before = _mm512_alignr_epi32(_mm512_slli_epi32(right, 16), _mm512_set1_epi32((int)left), 15);
    const __m512i lasts = _mm512_alignr_epi32(_mm512_srli_epi32(x, 16), _mm512_set1_epi32((int)last), 15);
    const __m512i pair = _mm512_or_si512(_mm512_slli_epi32(lasts, 8), _mm512_and_si512(x, _mm512_set1_epi32(0xFF)));
    const __mmask16 live = (__mmask16)((1u << c) - 1);
    const __m512i joined = ht_joined(ht_cut_products(before, right), live, bits, mask);
    const __m512i gated = _mm512_srlv_epi32(_mm512_i32gather_epi32(_mm512_srli_epi32(pair, 5), (const void *)gate, 4),
                                            _mm512_and_si512(pair, _mm512_set1_epi32(31)));
    const __mmask16 cut = _mm512_mask_testn_epi32_mask(live, _mm512_or_si512(joined, gated), _mm512_set1_epi32(1));
    _mm512_storeu_si512((void *)out, _mm512_maskz_compress_epi32(cut, _mm512_add_epi32(
        _mm512_set1_epi32((int)base), _mm512_set_epi32(45, 42, 39, 36, 33, 30, 27, 24, 21, 18, 15, 12, 9, 6, 3, 0))));
    return ht_popcount64(cut);
}

/* p[0:n] is valid UTF-8 that begins a character. Sets the bits of `wide` for all bytes of characters of three bytes from U+3000 on,
 * and the bit of `cuts` at the first byte of each of these that no merge joins to the character before it; the first character has
 * none before it. If marks is not NULL, the bit of `marked` is set where a marked word may begin with the character before and this one
 * (CutTable). The sets have n / 64 + 2 words and are cleared here; 64 bytes behind p[0:n] are readable. wide_gate is that part of gate in
 * which both bytes belong to such characters; a blank is taken for the character `blank`. Returns whether there are any. */
#define HT_WIDE_CUTS 1
HT_APART int ht_wide_cuts(const uint8_t *p, int64_t n, const uint8_t *gate, const uint8_t *wide_gate, const uint64_t *bits,
                          uint32_t mask, const uint8_t *marks, uint32_t blank, uint64_t *wide, uint64_t *cuts, uint64_t *marked) {
    const uint64_t every_third = 0x0000249249249249ull;          /* bits 0, 3, ... 45 */
    const __m512i gate_low = _mm512_loadu_si512((const void *)wide_gate), gate_high = _mm512_loadu_si512((const void *)(wide_gate + 64));
    __m512i marks0 = gate_low, marks1 = gate_low, marks2 = gate_low, marks3 = gate_low;
    int64_t at = 0;
    int any = 0;
    memset(wide, 0, (size_t)(n / 64 + 2) * 8);
    memset(cuts, 0, (size_t)(n / 64 + 2) * 8);
    if (marks) {
        memset(marked, 0, (size_t)(n / 64 + 2) * 8);
        marks0 = _mm512_loadu_si512((const void *)marks);
        marks1 = _mm512_loadu_si512((const void *)(marks + 64));
        marks2 = _mm512_loadu_si512((const void *)(marks + 128));
        marks3 = _mm512_loadu_si512((const void *)(marks + 192));
    }
    while (at < n) {
        __m512i v = _mm512_loadu_si512((const void *)(p + at)), x, right, before, lasts, product, joined, gated;
        uint64_t leads = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8((char)0xE3)), _mm512_set1_epi8(13));
        uint32_t key = 0, not_first = 0xFFFE;
        __mmask16 live, cut;
        int run, skip;
        if (!leads) { at += 64; continue; }
        skip = ht_ctz64(leads);
        if (skip) {
            at += skip;
            if (at >= n) break;
            v = _mm512_loadu_si512((const void *)(p + at));
            leads = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8((char)0xE3)), _mm512_set1_epi8(13));
        }
        run = ht_ctz64((every_third & ~leads) | (uint64_t)1 << 48) / 3;
        if (run * 3 > n - at) run = (int)((n - at) / 3);
        live = (__mmask16)((1u << run) - 1);
        if (at) {
            uint32_t left = p[at - 1], pair = left << 8 | p[at];
            if (left == ' ' && blank != ' ') {
                left = blank;
                pair = (0x80 | (blank & 63)) << 8 | p[at];
            }
            else if (left >= 0x80) {
                if (p[at - 2] >= 0xC0) left = (uint32_t)(p[at - 2] & 31) << 6 | (left & 63);
                else if (p[at - 3] >= 0xE0) left = (uint32_t)(p[at - 3] & 15) << 12 | (uint32_t)(p[at - 2] & 63) << 6 | (left & 63);
                else left = (uint32_t)(p[at - 4] & 7) << 18 | (uint32_t)(p[at - 3] & 63) << 12 | (uint32_t)(p[at - 2] & 63) << 6 | (left & 63);
            }
            key = (left << 16) ^ ((left >> 16) * 0x85EBCA6Bu);
            not_first |= (uint32_t)(~gate[pair >> 3] >> (pair & 7)) & 1;
        }
        x = ht_thirds(v);
        right = ht_thirds_code_points(x);
        before = _mm512_alignr_epi32(_mm512_slli_epi32(right, 16), _mm512_set1_epi32((int)key), 15);
        product = ht_cut_products(before, right);
        joined = ht_joined(product, live, bits, mask);
        /* the gate of two such characters: 64 last bytes times 16 first ones */
        lasts = _mm512_alignr_epi32(_mm512_srli_epi32(x, 16), _mm512_setzero_si512(), 15);
        gated = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(lasts, _mm512_set1_epi32(0x3F)), 1),
                                _mm512_and_si512(_mm512_srli_epi32(x, 3), _mm512_set1_epi32(1)));
        gated = _mm512_permutex2var_epi8(gate_low, gated, gate_high);
        gated = _mm512_maskz_srlv_epi32(0xFFFE, gated, _mm512_and_si512(x, _mm512_set1_epi32(7)));
        cut = (__mmask16)(_mm512_mask_testn_epi32_mask(live, _mm512_or_si512(joined, gated), _mm512_set1_epi32(1)) & not_first);
        {
            const uint64_t all = ht_low_bits(3 * run), places = _pdep_u64(cut, every_third);
            const int64_t word = at >> 6;
            const int shift = (int)(at & 63);
            wide[word] |= all << shift;
            wide[word + 1] |= (all >> 1) >> (63 - shift);
            cuts[word] |= places << shift;
            cuts[word + 1] |= (places >> 1) >> (63 - shift);
            if (marks) {
                /* two bits of two tables, by seven and three bits of the product each */
                const __m512i one = _mm512_srlv_epi32(
                    _mm512_permutex2var_epi8(marks0, _mm512_srli_epi32(product, 25), marks1),
                    _mm512_and_si512(_mm512_srli_epi32(product, 22), _mm512_set1_epi32(7)));
                const __m512i two = _mm512_srlv_epi32(
                    _mm512_permutex2var_epi8(marks2, _mm512_and_si512(_mm512_srli_epi32(product, 15), _mm512_set1_epi32(127)), marks3),
                    _mm512_and_si512(_mm512_srli_epi32(product, 12), _mm512_set1_epi32(7)));
                const uint64_t found = _pdep_u64(
                    _mm512_mask_test_epi32_mask(live, _mm512_and_si512(one, two), _mm512_set1_epi32(1)), every_third);
                marked[word] |= found << shift;
                marked[word + 1] |= (found >> 1) >> (63 - shift);
            }
        }
        any = 1;
        at += 3 * run;
    }
    return any;
}

/* p[-1:n] is text. Sets the bit of `cuts` at each byte of ASCII behind another one that no merge joins to it (joins: bit (left << 7 |
 * right)), and that of `others` at each first byte of a character that is neither such a one nor in `wide`. 64 bytes behind p[0:n]
 * are readable. */
HT_APART void ht_ascii_cuts(const uint8_t *p, int64_t n, const uint32_t *joins, const uint64_t *wide, uint64_t *cuts, uint64_t *others) {
    const __m512i bits = _mm512_set1_epi64((long long)0x8040201008040201ull);
    const uint8_t *table = (const uint8_t *)joins;
    int64_t i;
    for (i = 0; i < n; i += 64) {
        const uint64_t live = ht_low_bits(n - i < 64 ? (int)(n - i) : 64);
        const __m512i right = _mm512_loadu_si512((const void *)(p + i)), left = _mm512_loadu_si512((const void *)(p + i - 1));
        const uint64_t high = _mm512_movepi8_mask(right), pairs = live & ~(high | _mm512_movepi8_mask(left));
        others[i >> 6] = live & ~pairs & ~wide[i >> 6] & ~(high & _mm512_cmplt_epi8_mask(right, _mm512_set1_epi8((char)0xC0)));
        if (!pairs) continue;
        {
            /* sixteen rows of 128 bytes, by the upper four bits of the left byte */
            const __m512i row = _mm512_and_si512(_mm512_srli_epi16(left, 3), _mm512_set1_epi8(15));
            const __m512i column = _mm512_or_si512(_mm512_and_si512(_mm512_slli_epi16(left, 4), _mm512_set1_epi8(0x70)),
                                                   _mm512_and_si512(_mm512_srli_epi16(right, 3), _mm512_set1_epi8(15)));
            __m512i found = _mm512_setzero_si512();
            int q;
            for (q = 0; q < 16; q++)
                found = _mm512_mask_mov_epi8(found, _mm512_cmpeq_epi8_mask(row, _mm512_set1_epi8((char)q)), _mm512_permutex2var_epi8(
                    _mm512_loadu_si512((const void *)(table + 128 * q)), column, _mm512_loadu_si512((const void *)(table + 128 * q + 64))));
            cuts[i >> 6] |= pairs & _mm512_testn_epi8_mask(found, _mm512_shuffle_epi8(bits, _mm512_and_si512(right, _mm512_set1_epi8(7))));
        }
    }
}

/* Those of the bits `at` at which a character begins, p[i] for bit i, that no merge joins to the one before it, where all symbols are
 * whole characters and the two are not both ASCII: a blank is taken for the character `blank`, and next to characters of four bytes nothing is
 * known. 3 bytes before p and 66 from there on are readable. */
HT_APART uint64_t ht_other_cuts(const uint8_t *p, uint64_t at, const uint64_t *bits, uint32_t mask, uint32_t blank) {
    const __m512i low = _mm512_set1_epi32(0x3F), ascii = _mm512_set1_epi32(0x80), space = _mm512_set1_epi32(' ');
    const __m512i mark = _mm512_set1_epi32((int)blank);
    const int n = ht_popcount64(at);
    uint8_t near_by[6][64];      /* of each character, three bytes before it and three from it on */
    uint64_t found = 0;
    int i;
    for (i = 0; i < 6; i++)
        _mm512_storeu_si512((void *)near_by[i], _mm512_maskz_compress_epi8(at, _mm512_loadu_si512((const void *)(p + i - 3))));
    for (i = 0; i < n; i += 16) {
#define HT_NEAR(k) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(near_by[k] + i)))
        const __m512i l3 = HT_NEAR(0), l2 = HT_NEAR(1), l1 = HT_NEAR(2), r0 = HT_NEAR(3), r1 = HT_NEAR(4), r2 = HT_NEAR(5);
#undef HT_NEAR
        const __mmask16 live = (__mmask16)(n - i < 16 ? (1u << (n - i)) - 1 : 0xFFFF);
        const __mmask16 right2 = _mm512_cmpge_epu32_mask(r0, ascii), right3 = _mm512_cmpge_epu32_mask(r0, _mm512_set1_epi32(0xE0));
        const __mmask16 left2 = _mm512_cmpge_epu32_mask(l1, ascii), left3 = left2 & _mm512_cmplt_epu32_mask(l2, _mm512_set1_epi32(0xC0));
        const __mmask16 known = live & _mm512_cmplt_epu32_mask(r0, _mm512_set1_epi32(0xF0))
                                & ~(left3 & _mm512_cmplt_epu32_mask(l3, _mm512_set1_epi32(0xC0)));
        const __m512i m = _mm512_and_si512(r1, low), e = _mm512_and_si512(l1, low), d = _mm512_and_si512(l2, low);
        __m512i right = r0, left = l1, joined;
        right = _mm512_mask_mov_epi32(right, right2, _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(r0, _mm512_set1_epi32(0x1F)), 6), m));
        right = _mm512_mask_mov_epi32(right, right3, _mm512_or_si512(_mm512_slli_epi32(_mm512_or_si512(
            _mm512_slli_epi32(_mm512_and_si512(r0, _mm512_set1_epi32(0xF)), 6), m), 6), _mm512_and_si512(r2, low)));
        left = _mm512_mask_mov_epi32(left, left2, _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(l2, _mm512_set1_epi32(0x1F)), 6), e));
        left = _mm512_mask_mov_epi32(left, left3, _mm512_or_si512(_mm512_slli_epi32(_mm512_or_si512(
            _mm512_slli_epi32(_mm512_and_si512(l3, _mm512_set1_epi32(0xF)), 6), d), 6), e));
        right = _mm512_mask_mov_epi32(right, _mm512_cmpeq_epi32_mask(right, space), mark);
        left = _mm512_mask_mov_epi32(left, _mm512_cmpeq_epi32_mask(left, space), mark);
        joined = ht_joined(ht_cut_products(_mm512_slli_epi32(left, 16), right), known, bits, mask);
        found |= (uint64_t)_mm512_mask_testn_epi32_mask(known, joined, _mm512_set1_epi32(1)) << i;
    }
    return _pdep_u64(found, at);
}

#define HT_CUTS_MIXED 1
/* The first characters, 16 at most, of p[0:n], whatever their scripts, up to one of four bytes, behind the character `left` with the
 * key `key` and the last byte `last`. Writes base + i for each that begins at i, unless a merge joins it to the one before it or
 * both are ASCII, and returns their number; room for 16. *size becomes the bytes of the characters. 66 bytes are readable. */
HT_INLINE int ht_cut_mixed(const uint8_t *p, int64_t n, uint32_t left, uint32_t key, uint32_t last, const uint8_t *gate,
                           const uint64_t *bits, uint32_t mask, uint32_t base, uint32_t *out, int *size) {
    const __m512i iota = _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41,
                                         40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,
                                         17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i v = _mm512_loadu_si512((const void *)p), low = _mm512_set1_epi32(0x3F);
    uint64_t leads = ~_mm512_cmplt_epi8_mask(v, _mm512_set1_epi8((char)0xC0));
    const uint64_t four = _mm512_cmpge_epu8_mask(v, _mm512_set1_epi8((char)0xF0));
    int c, at;
    if (n < 64) leads &= ht_low_bits((int)n);
    leads &= four ? ht_low_bits(ht_ctz64(four)) : ~(uint64_t)0;
    c = ht_popcount64(leads);
    if (c == 0) return 0;
    if (c > 16) c = 16;
    {
        const __m128i places = _mm512_castsi512_si128(_mm512_maskz_compress_epi8(leads, iota));
        const __m512i x0 = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(_mm512_maskz_compress_epi8(leads, v)));
        const __m512i x1 = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(
            _mm512_maskz_compress_epi8(leads, _mm512_loadu_si512((const void *)(p + 1)))));
        const __m512i x2 = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(
            _mm512_maskz_compress_epi8(leads, _mm512_loadu_si512((const void *)(p + 2)))));
        const __mmask16 two = _mm512_cmpge_epu32_mask(x0, _mm512_set1_epi32(0x80)), three = _mm512_cmpge_epu32_mask(x0, _mm512_set1_epi32(0xE0));
        const __m512i m = _mm512_and_si512(x1, low);
        const __m512i cp2 = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(x0, _mm512_set1_epi32(0x1F)), 6), m);
        const __m512i cp3 = _mm512_or_si512(_mm512_slli_epi32(_mm512_or_si512(_mm512_slli_epi32(
            _mm512_and_si512(x0, _mm512_set1_epi32(0xF)), 6), m), 6), _mm512_and_si512(x2, low));
        const __m512i right = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(x0, two, cp2), three, cp3);
        const __m512i ends = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(x0, two, x1), three, x2);
        const __m512i before = _mm512_alignr_epi32(right, _mm512_set1_epi32((int)left), 15);
        const __m512i keys = _mm512_alignr_epi32(_mm512_slli_epi32(right, 16), _mm512_set1_epi32((int)key), 15);
        const __m512i lasts = _mm512_alignr_epi32(ends, _mm512_set1_epi32((int)last), 15);
        const __m512i pair = _mm512_or_si512(_mm512_slli_epi32(lasts, 8), x0);
        const __mmask16 beyond = _mm512_cmpge_epu32_mask(_mm512_or_si512(before, right), _mm512_set1_epi32(0x80)) & (__mmask16)((1u << c) - 1);
        __m512i joined, gated;
        __mmask16 cut;
        at = _mm_extract_epi8(_mm_shuffle_epi8(places, _mm_set1_epi8((char)(c - 1))), 0);
        *size = at + (p[at] < 0x80 ? 1 : p[at] < 0xE0 ? 2 : 3);
        if (!beyond) return 0;
        joined = ht_joined(ht_cut_products(keys, right), beyond, bits, mask);
        gated = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-1), beyond, _mm512_srli_epi32(pair, 5), (const void *)gate, 4);
        gated = _mm512_srlv_epi32(gated, _mm512_and_si512(pair, _mm512_set1_epi32(31)));
        cut = _mm512_mask_testn_epi32_mask(beyond, _mm512_or_si512(joined, gated), _mm512_set1_epi32(1));
        _mm512_storeu_si512((void *)out, _mm512_maskz_compress_epi32(cut, _mm512_add_epi32(
            _mm512_set1_epi32((int)base), _mm512_cvtepu8_epi32(places))));
        return ht_popcount64(cut);
    }
}

/* How many characters of p[0:n] are ASCII, one after the other; 16 at most. 16 bytes are readable. */
HT_INLINE int ht_ascii_run(const uint8_t *p, int64_t n) {
    const int run = ht_ctz64((uint64_t)(uint32_t)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)p)) | (uint64_t)1 << 16);
    return run <= n ? run : (int)n;
}

/* p[-1:c] is ASCII, c <= 16. Writes base + i for each i that no merge joins to the character before it, and returns their number;
 * room for 16. joins: bit (left << 7 | right). */
HT_INLINE int ht_cut_ascii(const uint8_t *p, int c, const uint32_t *joins, uint32_t base, uint32_t *out) {
    const __m512i right = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p));
    const __m512i left = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p - 1)));
    const __m512i pair = _mm512_or_si512(_mm512_slli_epi32(left, 7), right);
    const __mmask16 live = (__mmask16)((1u << c) - 1);
    const __m512i word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), live, _mm512_srli_epi32(pair, 5), (const void *)joins, 4);
    const __m512i bit = _mm512_srlv_epi32(word, _mm512_and_si512(pair, _mm512_set1_epi32(31)));
    const __mmask16 cut = (__mmask16)(_mm512_testn_epi32_mask(bit, _mm512_set1_epi32(1)) & live);
    if (cut)
        _mm512_storeu_si512((void *)out, _mm512_maskz_compress_epi32(cut, _mm512_add_epi32(
            _mm512_set1_epi32((int)base), _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0))));
    return ht_popcount64(cut);
}
#else
#define HT_WIDE_CUTS 0
HT_INLINE int ht_wide_cuts(const uint8_t *p, int64_t n, const uint8_t *gate, const uint8_t *wide_gate, const uint64_t *bits,
                           uint32_t mask, const uint8_t *marks, uint32_t blank, uint64_t *wide, uint64_t *cuts, uint64_t *marked) {
    (void)p; (void)n; (void)gate; (void)wide_gate; (void)bits; (void)mask; (void)marks; (void)blank; (void)wide; (void)cuts; (void)marked;
    return 0;
}
HT_INLINE void ht_ascii_cuts(const uint8_t *p, int64_t n, const uint32_t *joins, const uint64_t *wide, uint64_t *cuts, uint64_t *others) {
    (void)p; (void)n; (void)joins; (void)wide; (void)cuts; (void)others;
}
HT_INLINE uint64_t ht_other_cuts(const uint8_t *p, uint64_t at, const uint64_t *bits, uint32_t mask, uint32_t blank) {
    (void)p; (void)at; (void)bits; (void)mask; (void)blank;
    return 0;
}
#define HT_CUTS_MIXED 0
HT_INLINE int ht_cut_mixed(const uint8_t *p, int64_t n, uint32_t left, uint32_t key, uint32_t last, const uint8_t *gate,
                           const uint64_t *bits, uint32_t mask, uint32_t base, uint32_t *out, int *size) {
    (void)p; (void)n; (void)left; (void)key; (void)last; (void)gate; (void)bits; (void)mask; (void)base; (void)out; (void)size;
    return 0;
}
HT_INLINE int ht_ascii_run(const uint8_t *p, int64_t n) { (void)p; (void)n; return 0; }
HT_INLINE int ht_cut_ascii(const uint8_t *p, int c, const uint32_t *joins, uint32_t base, uint32_t *out) {
    (void)p; (void)c; (void)joins; (void)base; (void)out;
    return 0;
}
HT_INLINE int ht_wide_run(const uint8_t *p, int64_t n) { (void)p; (void)n; return 0; }
HT_INLINE int ht_cut_wide(const uint8_t *p, int c, uint32_t left, uint32_t last, const uint8_t *gate, const uint64_t *bits,
                          uint32_t mask, uint32_t base, uint32_t *out) {
    (void)p; (void)c; (void)left; (void)last; (void)gate; (void)bits; (void)mask; (void)base; (void)out;
    return 0;
}
#endif

#endif
