# The source of JSON strings: what all readers (json_reader, model_tables, json_line) have to know of it.
from libc.stdint cimport uint8_t, uint64_t

cdef extern from "json_plain.h" nogil:
    # The first quotation mark, backslash or control character from p on, or the end. high: the bytes before it, or-ed, as far as
    # is_ascii asks.
    const uint8_t *plain_end "ht_json_plain"(const uint8_t *p, const uint8_t *end, uint64_t *high)

cdef enum:
    NO_ESCAPE = 0            # no letter stands for this character


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
