# A set of strings for longest-match-first: which of the vocabulary's strings is the longest that a text begins with?
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef struct Piece:
    uint64_t lo              # the string's bytes, zero padded; longer than 16: hash, and offset in the arena
    uint64_t hi
    uint32_t size            # 0: empty slot
    uint32_t id
    uint64_t reserved

cdef struct PieceTable:
    Piece *pieces
    uint64_t mask
    uint64_t *bloom
    uint64_t bloom_mask
    uint8_t *arena
    int64_t arena_used
    int64_t arena_capacity
    int64_t longest          # bytes
    uint8_t *reach           # by a text's first two bytes: length of the longest string of two bytes and more (255: or more)
    uint8_t single[256]      # 1: the byte alone is a string
    int64_t n

cdef int pieces_init(PieceTable *t, int64_t expected) noexcept nogil
cdef void pieces_free(PieceTable *t) noexcept nogil
# 0; -1: no memory. A string that is there gets the new id. Empty strings are ignored.
cdef int pieces_add(PieceTable *t, const uint8_t *text, int64_t size, uint32_t id) noexcept nogil
# Length of the longest string that text (of whole code points) begins with, 0 if none; its id in *id.
cdef int64_t pieces_longest(const PieceTable *t, const uint8_t *text, int64_t size, uint32_t *id) noexcept nogil
