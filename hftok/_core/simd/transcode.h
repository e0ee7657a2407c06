/* Python's string storage (Latin-1, UCS-2, UCS-4) to UTF-8. Each returns the number of bytes written, or -1 - i where the
 * code unit at index i is a surrogate (a Python str may hold lone ones; UTF-8 cannot). Runs of ASCII are copied eight at a
 * time. `out` has room for 2, 3 or 4 bytes per code unit, plus 16. */
#ifndef HFTOK_TRANSCODE_H
#define HFTOK_TRANSCODE_H
#include <stdint.h>
#include <string.h>

static int64_t ht_from_latin1(const uint8_t *s, int64_t n, uint8_t *out) {
    uint8_t *o = out;
    int64_t i = 0;
    while (i < n) {
        if (i + 8 <= n) {
            uint64_t w;
            memcpy(&w, s + i, 8);
            if (!(w & 0x8080808080808080ull)) { memcpy(o, &w, 8); o += 8; i += 8; continue; }
        }
        {
            const uint8_t c = s[i++];
            if (c < 0x80) *o++ = c;
            else { o[0] = (uint8_t)(0xC0 | (c >> 6)); o[1] = (uint8_t)(0x80 | (c & 0x3F)); o += 2; }
        }
    }
    return o - out;
}

static int64_t ht_from_ucs2(const uint16_t *s, int64_t n, uint8_t *out) {
    uint8_t *o = out;
    int64_t i = 0;
    while (i < n) {
        if (i + 8 <= n) {
            uint64_t a, b;
            memcpy(&a, s + i, 8);
            memcpy(&b, s + i + 4, 8);
            if (!((a | b) & 0xFF80FF80FF80FF80ull)) {
                int k;
                for (k = 0; k < 8; k++) o[k] = (uint8_t)s[i + k];
                o += 8; i += 8;
                continue;
            }
        }
        {
            const uint32_t c = s[i];
            if (c < 0x80) *o++ = (uint8_t)c;
            else if (c < 0x800) { o[0] = (uint8_t)(0xC0 | (c >> 6)); o[1] = (uint8_t)(0x80 | (c & 0x3F)); o += 2; }
            else if (c - 0xD800u < 0x800u) return -1 - i;
            else {
                o[0] = (uint8_t)(0xE0 | (c >> 12)); o[1] = (uint8_t)(0x80 | ((c >> 6) & 0x3F)); o[2] = (uint8_t)(0x80 | (c & 0x3F));
                o += 3;
            }
            i++;
        }
    }
    return o - out;
}

static int64_t ht_from_ucs4(const uint32_t *s, int64_t n, uint8_t *out) {
    uint8_t *o = out;
    int64_t i;
    for (i = 0; i < n; i++) {
        const uint32_t c = s[i];
        if (c < 0x80) *o++ = (uint8_t)c;
        else if (c < 0x800) { o[0] = (uint8_t)(0xC0 | (c >> 6)); o[1] = (uint8_t)(0x80 | (c & 0x3F)); o += 2; }
        else if (c < 0x10000) {
            if (c - 0xD800u < 0x800u) return -1 - i;
            o[0] = (uint8_t)(0xE0 | (c >> 12)); o[1] = (uint8_t)(0x80 | ((c >> 6) & 0x3F)); o[2] = (uint8_t)(0x80 | (c & 0x3F));
            o += 3;
        } else {
            o[0] = (uint8_t)(0xF0 | (c >> 18)); o[1] = (uint8_t)(0x80 | ((c >> 12) & 0x3F));
            o[2] = (uint8_t)(0x80 | ((c >> 6) & 0x3F)); o[3] = (uint8_t)(0x80 | (c & 0x3F));
            o += 4;
        }
    }
    return o - out;
}
#endif
