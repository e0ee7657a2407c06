/* NH, a universal hash: blocks of 4096 bytes to 32 bytes each, for a key that whoever made the blocks does not know.

   For two different blocks the chance, over the key, that their hashes are equal is at most 2^-128 (Black et al., UMAC, with
   64-bit words and two rounds over a shifted key). Many times as fast as a cryptographic hash, which is then needed for a
   hundredth of the bytes only. */
#ifndef HFTOK_UNIVERSAL_HASH_H
#define HFTOK_UNIVERSAL_HASH_H
#include <stdint.h>
#include <string.h>
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#endif

#define HT_NH_BLOCK 4096
#define HT_NH_WORDS (HT_NH_BLOCK / 8)
#define HT_NH_KEY (HT_NH_WORDS + 2)

static inline void ht_nh_add(uint64_t *low, uint64_t *high, uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    const unsigned __int128 product = (unsigned __int128)a * b;
    const unsigned __int128 sum = (((unsigned __int128)*high << 64) | *low) + product;
    *low = (uint64_t)sum;
    *high = (uint64_t)(sum >> 64);
#else
    uint64_t top, bottom;
#if defined(_MSC_VER) && defined(_M_X64)
    bottom = _umul128(a, b, &top);
#else
    const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    const uint64_t x = al * bl, y = ah * bl + (x >> 32), z = al * bh + (uint32_t)y;
    bottom = (z << 32) | (uint32_t)x;
    top = ah * bh + (y >> 32) + (z >> 32);
#endif
    *low += bottom;
    *high += top + (*low < bottom);
#endif
}

static inline void ht_nh(const uint8_t *p, const uint64_t *key, uint64_t *out) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    int i;
    for (i = 0; i < HT_NH_WORDS; i += 2) {
        uint64_t m, n;
        memcpy(&m, p + 8 * i, 8);
        memcpy(&n, p + 8 * i + 8, 8);
        ht_nh_add(&a, &b, m + key[i], n + key[i + 1]);
        ht_nh_add(&c, &d, m + key[i + 2], n + key[i + 3]);
    }
    out[0] = a;
    out[1] = b;
    out[2] = c;
    out[3] = d;
}
#endif
