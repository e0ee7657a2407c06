# UTF-8 that arrives byte by byte, or that may be none: which bytes may start a sequence and which may follow. With these
# one U+FFFD stands for each maximal part of a sequence, as in Rust's from_utf8_lossy.
from libc.stdint cimport int64_t, uint8_t

cdef inline int sequence_length(uint8_t b) noexcept nogil:
    # Length of the sequence that starts with b; 0: none does.
    if b < 0x80:
        return 1
    if b < 0xC2:
        return 0
    if b < 0xE0:
        return 2
    if b < 0xF0:
        return 3
    return 4 if b < 0xF5 else 0


cdef inline bint may_follow(const uint8_t *held, int n, uint8_t b) noexcept nogil:
    # Whether b may come after the n >= 1 bytes of an unfinished sequence.
    if n == 1:
        if held[0] == 0xE0:
            return 0xA0 <= b <= 0xBF
        if held[0] == 0xED:
            return 0x80 <= b <= 0x9F
        if held[0] == 0xF0:
            return 0x90 <= b <= 0xBF
        if held[0] == 0xF4:
            return 0x80 <= b <= 0x8F
    return 0x80 <= b <= 0xBF


cdef inline bint is_utf8(const uint8_t *data, int64_t n) noexcept nogil:
    cdef int64_t i = 0
    cdef int length, k
    while i < n:
        length = sequence_length(data[i])
        if length == 0 or length > n - i:
            return False
        for k in range(1, length):
            if not may_follow(data + i, k, data[i + k]):
                return False
        i += length
    return True


cdef inline bint ends_in_replacement(const uint8_t *data, int64_t n) noexcept nogil:
    return n >= 3 and data[n - 3] == 0xEF and data[n - 2] == 0xBF and data[n - 1] == 0xBD


# Write U+FFFD count times.
cdef inline void write_replacements(uint8_t *out, int64_t count) noexcept nogil:
    cdef int64_t i
    for i in range(count):
        out[3 * i] = 0xEF
        out[3 * i + 1] = 0xBF
        out[3 * i + 2] = 0xBD
