# The source of JSON strings: what both readers (json_reader, model_tables) have to know of it.
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    NO_ESCAPE = 0            # no letter stands for this character


cdef inline const uint8_t *plain_end(const uint8_t *p, const uint8_t *end, uint64_t *high) noexcept nogil:
    """The first quotation mark, backslash or control character from p on, or the end. high: the bytes before it, or-ed."""
    cdef uint64_t w, hit
    cdef uint64_t ones = 0x0101010101010101ULL
    while end - p >= 8:
        memcpy(&w, p, 8)
        hit = ((w - ones * 0x20) & ~w) | (((w ^ (ones * 0x22)) - ones) & ~(w ^ (ones * 0x22)))
        hit = (hit | (((w ^ (ones * 0x5C)) - ones) & ~(w ^ (ones * 0x5C)))) & (ones << 7)
        if hit:
            break
        high[0] |= w
        p += 8
    while p < end and p[0] != c'"' and p[0] != c"\\" and p[0] >= 0x20:
        high[0] |= p[0]
        p += 1
    return p


cdef inline bint is_ascii(uint64_t high) noexcept nogil:
    """Whether all bytes that were or-ed together are."""
    return high & 0x8080808080808080ULL == 0


cdef inline int hex4(const uint8_t *p) noexcept nogil:
    """Four hexadecimal digits, or -1."""
    cdef int i, n = 0
    cdef uint8_t c
    for i in range(4):
        c = p[i]
        if c"0" <= c <= c"9":
            n = n * 16 + (c - c"0")
        elif c"a" <= (c | 0x20) <= c"f":
            n = n * 16 + ((c | 0x20) - c"a" + 10)
        else:
            return -1
    return n


cdef inline uint8_t escaped(uint8_t c) noexcept nogil:
    """The character that a backslash and this one stand for (not `u`), or NO_ESCAPE."""
    if c == c"b":
        return 8
    if c == c"f":
        return 12
    if c == c"n":
        return 10
    if c == c"r":
        return 13
    if c == c"t":
        return 9
    return c if c == c'"' or c == c"\\" or c == c"/" else NO_ESCAPE
