# Chunks whose only token is known from the vocabulary alone; see seeds.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from hftok._core.chunk_cache cimport LONG_KEY, hash_key_fn, ht_key
from hftok._core.models.bpe cimport BPEModel
from hftok._core.models.word_hash cimport word_hash
from hftok._core.stored cimport Block

cdef enum:
    NO_SEED = 0xFFFFFFFF
    LONG_BITS = 16           # of a number of a bit
    PASSED = 3               # place of a bucket's bits

cdef struct SeedTable:
    # Buckets of 64 bytes: three keys, three ids, and a bit (`passed_bit`) for each key that found the bucket full and went on. An
    # empty slot has the key 0.
    uint8_t *table
    uint32_t mask            # number of buckets - 1
    # For a model that looks for whole words, else NULL: those of 17 to LONG_KEY bytes, as bits by `long_bit`.
    uint64_t *longer


cdef inline uint64_t long_bit(const uint8_t *text, int64_t size) noexcept nogil:
    return word_hash(text, size) >> (64 - LONG_BITS)


cdef inline bint may_be_long(const SeedTable *seeds, const uint8_t *text, int64_t size) noexcept nogil:
    """Whether a word of 17 to LONG_KEY bytes may be a token, where there is such a set."""
    cdef uint64_t bit = long_bit(text, size)
    return seeds.longer[bit >> 6] >> (bit & 63) & 1

# Whether the rule holds for this model, and its ids are dense enough for arrays.
cdef bint provable(BPEModel model) noexcept

# Ranks by id: of the merge that makes the token from its own text; BASE for a symbol that text begins with; UNPROVED.
cdef enum:
    BASE = -1
    UNPROVED = -2

cdef int32_t *ranks_of_making(BPEModel model) except NULL

cdef class Proof:
    cdef uint8_t *proved     # a bit for each id: its token is what its own text is encoded to. NULL: not looked into yet
    cdef Block block         # keeps the memory of bits that are borrowed
    cdef bint borrowed
    cdef int find_tokens(self, BPEModel model) except -1
    cdef inline bint holds(self, uint32_t id) noexcept nogil:
        return self.proved[id >> 3] >> (id & 7) & 1

# A table of the tokens of at most 16 bytes that are what their own text is encoded to: all of them. Whether there is any;
# seeds_free gives the memory back.
cdef bint seed_table(SeedTable *seeds, hash_key_fn hash_key, BPEModel model, bint marks) except -1
cdef void seeds_free(SeedTable *seeds) noexcept nogil
cdef list unproved_words(BPEModel model)


cdef inline uint32_t passed_bit(uint32_t hash) noexcept nogil:
    return <uint32_t>1 << (hash >> 27)


cdef inline uint32_t seeds_find(const SeedTable *seeds, const ht_key *key, uint32_t hash) noexcept nogil:
    """The id of the only token of a chunk, or NO_SEED."""
    # Which of the slots holds a key cannot be foreseen: no branch depends on it.
    cdef uint32_t bit = passed_bit(hash)
    cdef const uint8_t *b
    cdef const ht_key *k
    cdef const uint32_t *ids
    cdef uint32_t first, second, third, id
    while True:
        b = seeds.table + (<size_t>(hash & seeds.mask) << 6)
        k = <const ht_key *>b
        ids = <const uint32_t *>(b + 48)
        first = 0 - <uint32_t>(((k[0].lo ^ key.lo) | (k[0].hi ^ key.hi)) == 0)
        second = 0 - <uint32_t>(((k[1].lo ^ key.lo) | (k[1].hi ^ key.hi)) == 0)
        third = 0 - <uint32_t>(((k[2].lo ^ key.lo) | (k[2].hi ^ key.hi)) == 0)
        id = (ids[0] & first) | (ids[1] & second) | (ids[2] & third) | ~(first | second | third)
        if not (ids[PASSED] & bit & (0 - <uint32_t>(id == NO_SEED))):
            return id
        hash += 1
