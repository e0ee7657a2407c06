# The strings of a vocabulary under construction: bytes in id order, and a table from string to id.
#
# Used by both merge engines to tell whether the string that a merge makes is already in the vocabulary, as the reference
# asks its `word_to_id` (models/bpe/trainer.rs, do_train). Strings are raw bytes; UTF-8 where the symbols are characters.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

cdef struct TokenStrings:
    uint8_t *text
    int64_t text_capacity
    int64_t *offset             # size + 1 entries
    int64_t size
    int64_t capacity
    uint32_t *slot              # id + 1; 0: empty
    int bits


cdef inline uint64_t string_hash(const uint8_t *p, int64_t n) noexcept nogil:
    cdef uint64_t h = <uint64_t>n * <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t word
    cdef int64_t i = 0
    while i + 8 <= n:
        memcpy(&word, p + i, 8)
        h = (h ^ word) * <uint64_t>0xD6E8FEB86659FD93
        h ^= h >> 32
        i += 8
    if i < n:
        word = 0
        memcpy(&word, p + i, <size_t>(n - i))
        h = (h ^ word) * <uint64_t>0xD6E8FEB86659FD93
        h ^= h >> 32
    return h * <uint64_t>0x9E3779B97F4A7C15


cdef inline void strings_zero(TokenStrings *s) noexcept nogil:
    s.text = NULL
    s.offset = NULL
    s.slot = NULL
    s.text_capacity = s.size = s.capacity = 0
    s.bits = 0


cdef inline void strings_free(TokenStrings *s) noexcept nogil:
    free(s.text)
    free(s.offset)
    free(s.slot)
    strings_zero(s)


cdef inline int strings_reserve(TokenStrings *s, int64_t size, int64_t text) noexcept nogil:
    """Room for `size` strings in all, and for `text` more bytes. 0, or -1 without memory."""
    cdef int64_t capacity, i
    cdef void *grown
    cdef uint32_t *slot
    cdef uint64_t mask, h
    cdef int bits = s.bits
    cdef int64_t used = s.offset[s.size] if s.size else 0
    if size >= <int64_t>0xFFFFFFF0:
        return -1
    if used + text > s.text_capacity:
        capacity = max(used + text, s.text_capacity + (s.text_capacity >> 1), <int64_t>4096)
        grown = realloc(s.text, <size_t>capacity)
        if grown == NULL:
            return -1
        s.text = <uint8_t *>grown
        s.text_capacity = capacity
    if size > s.capacity or s.offset == NULL:
        capacity = max(size, s.capacity + (s.capacity >> 1), <int64_t>1024)
        grown = realloc(s.offset, <size_t>(capacity + 1) * sizeof(int64_t))
        if grown == NULL:
            return -1
        if s.offset == NULL:
            (<int64_t *>grown)[0] = 0
        s.offset = <int64_t *>grown
        s.capacity = capacity
    while bits == 0 or (<int64_t>1 << bits) < 2 * size:
        bits = bits + 1 if bits else 10
    if bits != s.bits:
        slot = <uint32_t *>calloc(<size_t>1 << bits, sizeof(uint32_t))
        if slot == NULL:
            return -1
        free(s.slot)
        s.slot = slot
        s.bits = bits
        mask = (<uint64_t>1 << bits) - 1
        for i in range(s.size):
            h = string_hash(s.text + s.offset[i], s.offset[i + 1] - s.offset[i]) >> (64 - bits)
            while slot[h]:
                h = (h + 1) & mask
            slot[h] = <uint32_t>(i + 1)
    return 0


cdef inline int64_t strings_find(const TokenStrings *s, const uint8_t *p, int64_t n) noexcept nogil:
    """The id of a string, or -1."""
    cdef uint64_t mask = (<uint64_t>1 << s.bits) - 1
    cdef uint64_t h
    cdef int64_t i
    if s.size == 0:
        return -1
    h = string_hash(p, n) >> (64 - s.bits)
    while s.slot[h]:
        i = <int64_t>s.slot[h] - 1
        if s.offset[i + 1] - s.offset[i] == n and memcmp(s.text + s.offset[i], p, <size_t>n) == 0:
            return i
        h = (h + 1) & mask
    return -1


cdef inline int64_t strings_commit(TokenStrings *s, int64_t n) noexcept nogil:
    """Make the n bytes that stand after the last string a string of its own (room is there); its id."""
    cdef uint64_t mask = (<uint64_t>1 << s.bits) - 1
    cdef uint64_t h = string_hash(s.text + s.offset[s.size], n) >> (64 - s.bits)
    while s.slot[h]:
        h = (h + 1) & mask
    s.slot[h] = <uint32_t>(s.size + 1)
    s.offset[s.size + 1] = s.offset[s.size] + n
    s.size += 1
    return s.size - 1


cdef inline int64_t strings_append(TokenStrings *s, const uint8_t *p, int64_t n) noexcept nogil:
    """Add a string that is not there yet; its id, or -1 without memory."""
    if strings_reserve(s, s.size + 1, n):
        return -1
    if n:
        memcpy(s.text + s.offset[s.size], p, <size_t>n)
    return strings_commit(s, n)


cdef inline int64_t strings_join(TokenStrings *s, int64_t left, int64_t right, const uint8_t *prefix, int64_t prefix_size,
                                 bint *fresh) noexcept nogil:
    """The id of the string that merging two ids makes: left + right, where right loses the continuing subword prefix if it
    starts with it. Added if new (then *fresh). -1 without memory."""
    cdef int64_t n = s.offset[left + 1] - s.offset[left]
    cdef int64_t m = s.offset[right + 1] - s.offset[right]
    cdef int64_t start = s.offset[right]
    cdef int64_t found
    cdef uint8_t *p
    if prefix_size and m >= prefix_size and memcmp(s.text + start, prefix, <size_t>prefix_size) == 0:
        start += prefix_size
        m -= prefix_size
    if strings_reserve(s, s.size + 1, n + m):
        return -1
    p = s.text + s.offset[s.size]
    memcpy(p, s.text + s.offset[left], <size_t>n)
    memcpy(p + n, s.text + start, <size_t>m)
    found = strings_find(s, p, n + m)
    fresh[0] = found < 0
    return strings_commit(s, n + m) if found < 0 else found
