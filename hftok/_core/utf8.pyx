"""Checking bytes that should be UTF-8, and reading them where they are not.

Bytes of files are checked by the thread that encodes them. Invalid parts become U+FFFD, one per maximal subpart of an
ill-formed sequence (Unicode 3.9, table 3-8), which is what Python's errors="replace" gives.
"""
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy


cdef inline int _sequence(const uint8_t *p, int64_t left, bint *valid) noexcept nogil:
    """Length of the sequence at p (a non-ASCII byte): a whole code point, or the maximal subpart of an ill-formed one."""
    cdef uint8_t a = p[0], low = 0x80, high = 0xBF
    cdef int need, i
    valid[0] = False
    if a < 0xC2 or a > 0xF4:
        return 1
    need = 1 if a < 0xE0 else 2 if a < 0xF0 else 3
    if a == 0xE0:
        low = 0xA0
    elif a == 0xED:
        high = 0x9F
    elif a == 0xF0:
        low = 0x90
    elif a == 0xF4:
        high = 0x8F
    for i in range(1, need + 1):
        if i >= left or p[i] < low or p[i] > high:
            return i
        low = 0x80
        high = 0xBF
    valid[0] = True
    return need + 1


cdef int64_t utf8_valid_prefix(const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i = 0
    cdef uint64_t a, b
    cdef bint valid
    cdef int n
    while i < size:
        if text[i] < 0x80:
            if i + 16 <= size:
                memcpy(&a, text + i, 8)
                memcpy(&b, text + i + 8, 8)
                if not ((a | b) & <uint64_t>0x8080808080808080):
                    i += 16
                    continue
            i += 1
            continue
        n = _sequence(text + i, size - i, &valid)
        if not valid:
            return i
        i += n
    return size


cdef int64_t utf8_repaired_size(const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i = 0, total = 0
    cdef bint valid
    cdef int n
    while i < size:
        if text[i] < 0x80:
            i += 1
            total += 1
            continue
        n = _sequence(text + i, size - i, &valid)
        total += n if valid else 3
        i += n
    return total


cdef int64_t utf8_repair(const uint8_t *text, int64_t size, uint8_t *out) noexcept nogil:
    cdef int64_t i = 0
    cdef uint8_t *o = out
    cdef bint valid
    cdef int n
    while i < size:
        if text[i] < 0x80:
            o[0] = text[i]
            o += 1
            i += 1
            continue
        n = _sequence(text + i, size - i, &valid)
        if valid:
            memcpy(o, text + i, n)
            o += n
        else:
            o[0] = 0xEF
            o[1] = 0xBF
            o[2] = 0xBD
            o += 3
        i += n
    return o - out


def repair(bytes data):
    """The text of bytes, invalid parts read as U+FFFD.

    >>> repair(b"a\\xff\\xe4\\xb8b")
    'a\\ufffd\\ufffdb'
    """
    cdef const uint8_t *p = data
    cdef int64_t n = len(data)
    cdef bytearray out = bytearray(utf8_repaired_size(p, n))
    if len(out):
        utf8_repair(p, n, <uint8_t *><char *>out)
    return out.decode("utf-8")


def valid_prefix(bytes data):
    """Length of the valid prefix of bytes.

    >>> valid_prefix(b"ab\\xff")
    2
    """
    return utf8_valid_prefix(data, len(data))
