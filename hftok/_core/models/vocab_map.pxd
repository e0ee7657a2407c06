# The vocabulary as C: string bytes -> id, by one open-addressing table over one block of text.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from hftok._core.stored cimport Block

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    static inline uint64_t hftok_load64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
    static inline uint64_t hftok_load32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }

    static inline uint64_t hftok_mix(uint64_t h, uint64_t v) {
        h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
        return h ^ (h >> 29);
    }

    /* Hash of n bytes at p. Reads nothing outside [p, p + n): short keys are read as two loads that overlap. */
    static inline uint64_t hftok_hash_bytes(const uint8_t *p, int64_t n, uint64_t seed) {
        uint64_t h = seed ^ ((uint64_t)n * UINT64_C(0xD6E8FEB86659FD93));
        if (n >= 8) {
            int64_t i;
            for (i = 0; i + 8 < n; i += 8) h = hftok_mix(h, hftok_load64(p + i));
            h = hftok_mix(h, hftok_load64(p + n - 8));
        } else if (n >= 4) {
            h = hftok_mix(h, hftok_load32(p) | (hftok_load32(p + n - 4) << 32));
        } else if (n > 0) {
            h = hftok_mix(h, (uint64_t)p[0] | ((uint64_t)p[n >> 1] << 8) | ((uint64_t)p[n - 1] << 16));
        }
        h *= UINT64_C(0xBF58476D1CE4E5B9);
        return h ^ (h >> 32);
    }
    """
    uint64_t hash_bytes "hftok_hash_bytes"(const uint8_t *p, int64_t n, uint64_t seed) noexcept nogil
    int bytes_differ "memcmp"(const void *a, const void *b, size_t n) noexcept nogil

# A growing block of bytes.
cdef struct ByteBuffer:
    uint8_t *data
    int64_t size
    int64_t capacity

cdef int buffer_reserve(ByteBuffer *b, int64_t extra) except -1      # MemoryError
cdef int append_utf8(ByteBuffer *b, str text) except -1              # UnicodeEncodeError on a lone surrogate
cdef const uint8_t *utf8_view(str text, ByteBuffer *b, int64_t *size) except NULL

# Whether n texts, one after the other, are UTF-8 each by itself.
cdef bint are_texts(const uint8_t *text, const int64_t *offsets, int64_t n) noexcept nogil
# A str of what is UTF-8.
cdef str text_of(const uint8_t *p, int64_t n)

cdef struct VocabTable:
    ByteBuffer text          # every string, one after the other, in the order of the dict
    int64_t *offsets         # string i is text[offsets[i], offsets[i + 1])
    uint32_t *ids            # its id
    uint64_t *slots          # hash's upper 32 bits | i + 1; 0 is free
    uint64_t mask
    uint64_t seed
    int64_t size             # number of strings
    int64_t longest          # bytes of the longest string


cdef inline int64_t vocab_entry_hashed(const VocabTable *t, const uint8_t *p, int64_t n, uint64_t hash) noexcept nogil:
    """Index of the string in the vocabulary, or -1. hash: its `hash_bytes`."""
    cdef uint64_t s, tag = hash >> 32, k = hash & t.mask
    cdef int64_t i
    while True:
        s = t.slots[k]
        if s == 0:
            return -1
        if s >> 32 == tag:
            i = <int64_t>(s & 0xFFFFFFFFu) - 1
            if t.offsets[i + 1] - t.offsets[i] == n and bytes_differ(t.text.data + t.offsets[i], p, <size_t>n) == 0:
                return i
        k = (k + 1) & t.mask


cdef inline int64_t vocab_entry(const VocabTable *t, const uint8_t *p, int64_t n) noexcept nogil:
    """Index of the string in the vocabulary, or -1."""
    if n > t.longest:
        return -1
    return vocab_entry_hashed(t, p, n, hash_bytes(p, n, t.seed))


cdef inline int64_t vocab_find(const VocabTable *t, const uint8_t *p, int64_t n) noexcept nogil:
    """Id of the string, or -1."""
    cdef int64_t i = vocab_entry(t, p, n)
    return <int64_t>t.ids[i] if i >= 0 else -1


cdef class VocabMap:
    """Read-only map from UTF-8 strings to ids, made from a dict or a text; shared by the models that look strings up."""
    cdef VocabTable table
    cdef Block block                     # keeps the memory of arrays that are borrowed
    cdef bint borrowed
    cdef readonly bint unique_ids        # no two strings share an id
    cdef readonly uint32_t max_id
    cdef bint in_order                   # the ids are 0, 1, 2, ... (not looked for in a dict)
    @staticmethod
    cdef VocabMap of_texts(ByteBuffer text, int64_t *offsets, uint32_t *ids, int64_t n)
    cdef bint fill_slots(self, bint compare) noexcept
    cdef str text(self, int64_t entry)
    cdef bint _ids_differ(self) except -1
