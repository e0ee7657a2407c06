# A hash of short words by their ends, for sets of bits that may hold a word too many.
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t word_hash(const uint8_t *text, int64_t size) noexcept nogil:
    """Its upper half is good. 8 bytes from the word's first on are readable."""
    cdef uint64_t first = 0, last = 0
    memcpy(&first, text, 8)
    if size < 8:
        first &= ((<uint64_t>1 << (8 * size)) - 1)
    else:
        memcpy(&last, text + size - 8, 8)
    return (first ^ (last * <uint64_t>0xC2B2AE3D27D4EB4F) ^ <uint64_t>size) * <uint64_t>0x9E3779B97F4A7C15
