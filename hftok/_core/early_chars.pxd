# Characters that may be taken as symbols at once; see early_chars.pyx.
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from hftok._core.models.bpe cimport BPEModel
from hftok._core.models.merges cimport NO_SYMBOL

cdef struct EarlyChar:
    uint32_t id              # of the character's token, or NO_SYMBOL
    uint16_t left            # maps of the bytes that may be before it, ...
    uint16_t right           # ... and behind

cdef struct EarlyTable:
    EarlyChar *chars         # by code point below U+10000
    uint64_t *maps           # 256 bits each


cdef inline bint in_map(const EarlyTable *t, uint32_t map, uint8_t byte) noexcept nogil:
    return t.maps[map * 4 + (byte >> 6)] >> (byte & 63) & 1


cdef inline uint32_t early_id(const EarlyTable *t, const uint8_t *text, int i, int n, int *length) noexcept nogil:
    """The token that the character at text[i] of text[:n] becomes whatever else is there, and its length in bytes; or NO_SYMBOL."""
    cdef uint8_t lead = text[i]
    cdef uint32_t cp
    cdef const EarlyChar *c
    cdef int end
    if lead < 0xC2 or lead >= 0xF0:
        return NO_SYMBOL
    end = i + 2 + (lead >= 0xE0)
    if end > n or text[i + 1] & 0xC0 != 0x80 or text[end - 1] & 0xC0 != 0x80:
        return NO_SYMBOL
    if lead < 0xE0:
        cp = <uint32_t>(lead & 31) << 6 | (text[i + 1] & 63)
    else:
        cp = <uint32_t>(lead & 15) << 12 | <uint32_t>(text[i + 1] & 63) << 6 | (text[i + 2] & 63)
    c = t.chars + cp
    if c.id == NO_SYMBOL or (i and not in_map(t, c.left, text[i - 1])) or (end < n and not in_map(t, c.right, text[end])):
        return NO_SYMBOL
    length[0] = end - i
    return c.id


cdef inline uint32_t early_symbol(const EarlyTable *t, const uint32_t *byte_ids, const uint8_t *text, int i, int n, int *length) noexcept nogil:
    """The symbol that begins at text[i] of text[:n], and its length in bytes: a character where it is one from the start, else a byte."""
    cdef uint32_t id = early_id(t, text, i, n, length)
    if id != NO_SYMBOL:
        return id
    length[0] = 1
    return byte_ids[text[i]]


cdef class EarlyChars:
    cdef EarlyTable table
    @staticmethod
    cdef EarlyChars of_chars(BPEModel model)

# Those of a model, made when they are first asked for (some ten ms, mostly without the GIL); None where the rule does not hold for it.
# marks: spaces stand for U+2581, and symbols are characters.
cdef EarlyChars early_chars(BPEModel model, bint marks)
