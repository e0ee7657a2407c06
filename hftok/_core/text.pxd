# UTF-8 as C: reading and writing one code point. Input is valid UTF-8 wherever these are used (Python str, or bytes
# that `sources` has checked), so a decoder needs no error branch; `utf8_check` is for text that comes from elsewhere.
from libc.stdint cimport int64_t, uint8_t, uint32_t


cdef extern from *:
    """
    #include <stdint.h>
    #include <stddef.h>

    /* Decode the code point at p; *len gets its length in bytes (1..4). p must point at the lead byte of valid UTF-8. */
    static inline uint32_t hftok_utf8_decode(const uint8_t *p, int *len) {
        uint32_t c = p[0];
        if (c < 0x80) { *len = 1; return c; }
        if (c < 0xE0) { *len = 2; return ((c & 0x1F) << 6) | (p[1] & 0x3F); }
        if (c < 0xF0) { *len = 3; return ((c & 0x0F) << 12) | ((uint32_t)(p[1] & 0x3F) << 6) | (p[2] & 0x3F); }
        *len = 4;
        return ((c & 0x07) << 18) | ((uint32_t)(p[1] & 0x3F) << 12) | ((uint32_t)(p[2] & 0x3F) << 6) | (p[3] & 0x3F);
    }

    /* Length in bytes of the code point whose lead byte is b. */
    static inline int hftok_utf8_len(uint8_t b) { return b < 0x80 ? 1 : b < 0xE0 ? 2 : b < 0xF0 ? 3 : 4; }

    /* Length in bytes of code point c once encoded. */
    static inline int hftok_utf8_size(uint32_t c) { return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4; }

    /* Encode c at p (room for 4 bytes); returns the length. */
    static inline int hftok_utf8_encode(uint32_t c, uint8_t *p) {
        if (c < 0x80) { p[0] = (uint8_t)c; return 1; }
        if (c < 0x800) { p[0] = (uint8_t)(0xC0 | (c >> 6)); p[1] = (uint8_t)(0x80 | (c & 0x3F)); return 2; }
        if (c < 0x10000) {
            p[0] = (uint8_t)(0xE0 | (c >> 12)); p[1] = (uint8_t)(0x80 | ((c >> 6) & 0x3F));
            p[2] = (uint8_t)(0x80 | (c & 0x3F)); return 3;
        }
        p[0] = (uint8_t)(0xF0 | (c >> 18)); p[1] = (uint8_t)(0x80 | ((c >> 12) & 0x3F));
        p[2] = (uint8_t)(0x80 | ((c >> 6) & 0x3F)); p[3] = (uint8_t)(0x80 | (c & 0x3F)); return 4;
    }

    /* Step back to the lead byte of the code point that ends just before p. */
    static inline const uint8_t *hftok_utf8_prev(const uint8_t *p) {
        do { --p; } while ((*p & 0xC0) == 0x80);
        return p;
    }
    """
    uint32_t utf8_decode "hftok_utf8_decode"(const uint8_t *p, int *length) noexcept nogil
    int utf8_len "hftok_utf8_len"(uint8_t lead) noexcept nogil
    int utf8_size "hftok_utf8_size"(uint32_t cp) noexcept nogil
    int utf8_encode "hftok_utf8_encode"(uint32_t cp, uint8_t *p) noexcept nogil
    const uint8_t *utf8_prev "hftok_utf8_prev"(const uint8_t *p) noexcept nogil
