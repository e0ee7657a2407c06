# A worker's cache of chunks: bytes of a pre-token -> ids and piece boundaries. See chunk_cache.pyx.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "block.h":
    ctypedef struct ht_key:
        uint64_t lo
        uint64_t hi

ctypedef uint32_t (*hash_key_fn)(ht_key key) noexcept nogil
ctypedef uint32_t (*hash_long_fn)(const uint8_t *key48) noexcept nogil

cdef enum:
    LONG_KEY = 48            # longest pre-token that is cached with its text as the key, bytes
    LONGEST_TEXT = 4096      # longest pre-token that is cached
    INLINE_IDS = 4
    INLINE_BYTES = 3         # of each: ids from 2**24 on are spilled
    MAX_SPILLED = 252        # longest answer that is cached, tokens
    BLOCK_CLASSES = 192      # sizes of the arena's blocks: enough for MAX_SPILLED tokens and LONGEST_TEXT bytes
    # meta word of a value: count in the low bits, 0 = spilled
    META_COUNT = 15
    META_WHOLE = 16          # the tokens stand for the whole chunk (one unknown token)
    META_CUT = 8             # bit position of the first cut (end of token 0, bytes), 6 bits; that of the next is ...
    META_CUT_STEP = 8        # ... so much further

cdef struct Value:           # 16 bytes; up to four ids of three bytes each, or, spilled:
    uint32_t block           # offset of the block in the arena
    uint32_t count           # number of tokens
    uint32_t text_words      # words of the chunk's text that follow the answer in the block
    uint32_t meta

cdef struct ChunkCache:
    uint8_t *table           # buckets of 64 bytes: two keys, two values; an empty slot has the key 0
    uint32_t mask            # number of buckets - 1
    int64_t reserved         # bytes of addresses that the table has to grow into, 0 = none
    int64_t count
    uint8_t *long_table      # lines of 64 bytes: a key of 48, a value
    uint32_t long_mask
    int64_t long_reserved    # as `reserved`
    int64_t long_count
    uint32_t *arena          # spilled answers: n ids, then n pairs of uint16 (first byte, last byte)
    int64_t arena_used
    int64_t arena_capacity
    uint32_t free_blocks[BLOCK_CLASSES] # heads of the free lists by size class (8 words each), 0 = none
    uint64_t *door           # first sightings, a bit each, once the tables cannot grow
    int64_t door_count
    int64_t budget           # bytes that the tables and the arena may take together
    hash_key_fn hash_key
    hash_long_fn hash_long


cdef inline bint put_ids(Value *v, const uint32_t *ids, int64_t n) noexcept nogil:
    """Make v the answer of n tokens, without cuts; False, and v is as it was, if it must be spilled."""
    cdef uint32_t all = 0
    cdef int64_t i
    cdef uint8_t *p = <uint8_t *>v
    if n > INLINE_IDS:
        return False
    for i in range(n):
        all |= ids[i]
    if all >> (8 * INLINE_BYTES):
        return False
    v.block = v.count = v.text_words = 0
    v.meta = <uint32_t>n
    for i in range(n):
        p[0] = <uint8_t>ids[i]
        p[1] = <uint8_t>(ids[i] >> 8)
        p[2] = <uint8_t>(ids[i] >> 16)
        p += INLINE_BYTES
    return True


cdef inline void put_cut(Value *v, int64_t i, uint32_t at) noexcept nogil:
    """Token i, which is not the first, begins at that byte of the chunk."""
    v.meta |= at << (META_CUT + META_CUT_STEP * (i - 1))


cdef inline uint32_t cut_of(const Value *v, int64_t i) noexcept nogil:
    return (v.meta >> (META_CUT + META_CUT_STEP * (i - 1))) & 63


cdef int cache_init(ChunkCache *c, int64_t budget, hash_key_fn hash_key, hash_long_fn hash_long) noexcept nogil
cdef void cache_free(ChunkCache *c) noexcept nogil
cdef void cache_clear(ChunkCache *c) noexcept nogil
cdef int64_t cache_bytes(const ChunkCache *c) noexcept nogil
cdef int cache_reserve(ChunkCache *c, int64_t count) noexcept nogil
cdef int cache_adopt(ChunkCache *c, const ChunkCache *prototype) noexcept nogil
cdef Value *cache_find_overflow(ChunkCache *c, const ht_key *key, uint32_t hash) noexcept nogil
cdef const Value *cache_find_anywhere(ChunkCache *c, const ht_key *key, uint32_t hash) noexcept nogil
cdef Value *cache_find_aside(ChunkCache *c, const ht_key *key, uint32_t hash) noexcept nogil
cdef Value *cache_find_long(const ChunkCache *c, const uint8_t *key48, uint32_t hash) noexcept nogil
# Room for a spilled answer of n tokens and so many words of text, or 0 where there is none.
cdef uint32_t cache_spill(ChunkCache *c, int64_t n, int64_t text_words) noexcept nogil
cdef void cache_text_key(const uint8_t *text, int64_t n, uint8_t *key48) noexcept nogil
cdef void cache_insert(ChunkCache *c, const ht_key *key, uint32_t hash, const Value *value) noexcept nogil
cdef void cache_insert_long(ChunkCache *c, const uint8_t *key48, uint32_t hash, const Value *value) noexcept nogil
