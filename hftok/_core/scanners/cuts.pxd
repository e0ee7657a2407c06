# Places where a long text can be cut into slices for a family's scanner: in all families a chunk begins there, whatever comes
# before and behind. These are the commonest ones, not all: a space between a letter or digit and a letter, and the commonest
# marks of Chinese text behind an ideograph. (`recognise.py` names the families, families/ states their rules.)
from libc.stdint cimport int64_t, uint8_t


cdef inline bint alphanumeric(uint8_t b) noexcept nogil:
    return 97 <= (b | 32) <= 122 or 48 <= b <= 57


cdef inline bint is_han_start(const uint8_t *p) noexcept nogil:
    """U+4E00..U+9FA5 begins here (three bytes are readable)."""
    return 0xE4 <= p[0] <= 0xE9 and not (p[0] == 0xE4 and p[1] < 0xB8) and not (p[0] == 0xE9 and (p[1] > 0xBE or (p[1] == 0xBE and p[2] > 0xA5)))


cdef inline bint is_stop_mark(const uint8_t *p) noexcept nogil:
    """An ideographic comma or full stop, or a fullwidth comma, begins here (three bytes are readable)."""
    return (p[0] == 0xE3 and p[1] == 0x80 and (p[2] == 0x81 or p[2] == 0x82)) or (p[0] == 0xEF and p[1] == 0xBC and p[2] == 0x8C)


cdef inline int64_t next_cut(const uint8_t *text, int64_t begin, int64_t end) noexcept nogil:
    """The first such place in [begin, end), or -1. Three bytes before begin and three behind end are the text's, too."""
    cdef int64_t i
    for i in range(begin, end):
        if text[i] == c' ':
            if alphanumeric(text[i - 1]) and 97 <= (text[i + 1] | 32) <= 122:
                return i
        elif text[i] >= 0xE3 and is_stop_mark(text + i) and is_han_start(text + i - 3):
            return i
    return -1
