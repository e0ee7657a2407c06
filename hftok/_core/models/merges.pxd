# The merges of a BPE vocabulary and the loop that applies them to a row of symbols. Knows ids only: what text a symbol
# stands for is the business of bpe.pyx (characters) and of the fast path (bytes).
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from hftok._core.models.vocab_map cimport VocabMap
from hftok._core.random cimport Random
from hftok._core.stored cimport Block

cdef enum:
    NO_RANK = 0xFFFFFFFF         # these two symbols do not merge
    RANK_BITS = 22               # of a packed slot; ids have 21 bits there
    ID_BITS = 21
    SMALL = 64                   # rows of up to this many symbols are merged by scanning
    SMALL_RANK_LIMIT = 1 << 25   # ... where rank and position fit one positive int32
    NO_KEY = 0x7FFFFFFF
    NO_SYMBOL = 0xFFFFFFFF       # in place of an id: there is no such symbol

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(_MSC_VER)
    #include <intrin.h>
    #include <xmmintrin.h>
    #define hftok_prefetch(p) _mm_prefetch((const char *)(p), _MM_HINT_T0)
    static inline int hftok_lowest_bit(uint64_t v) { unsigned long i; _BitScanForward64(&i, v); return (int)i; }
    static inline int hftok_highest_bit(uint64_t v) { unsigned long i; _BitScanReverse64(&i, v); return (int)i; }
    #else
    #define hftok_prefetch(p) __builtin_prefetch(p)
    static inline int hftok_lowest_bit(uint64_t v) { return __builtin_ctzll(v); }
    static inline int hftok_highest_bit(uint64_t v) { return 63 - __builtin_clzll(v); }
    #endif
    """
    int lowest_bit "hftok_lowest_bit"(uint64_t v) noexcept nogil     # v != 0
    int highest_bit "hftok_highest_bit"(uint64_t v) noexcept nogil   # v != 0
    void prefetch "hftok_prefetch"(const void *p) noexcept nogil

cdef struct WideSlot:
    uint64_t pair
    uint32_t rank            # NO_RANK: free
    uint32_t unused

cdef struct PairTable:
    uint64_t *packed         # left (21 bits) | right (21) | rank (22), all ones where free; NULL where ids or ranks do not fit
    WideSlot *wide           # then this
    uint64_t mask
    uint64_t *filter         # bit by hash: set where some pair merges. Small enough for the near caches, which the table is
    uint64_t filter_mask     # not, and most look-ups are for pairs that do not merge
    uint64_t multiplier      # odd, drawn per process: with it, no list of merges collides by design
    uint32_t *merged         # rank -> id of the merged token
    uint32_t first_merged    # in_order: rank + first_merged is that id, and no memory is waited for
    bint in_order
    int64_t ranks            # number of lines in the list of merges
    bint scannable           # repeated "lowest rank, leftmost" gives what the reference's queue gives: see merges.pyx


cdef inline uint64_t pair_hash(const PairTable *t, uint64_t pair) noexcept nogil:
    pair *= t.multiplier
    return pair ^ (pair >> 32)


cdef inline uint64_t filter_bit(const PairTable *t, uint64_t hash) noexcept nogil:
    return (hash >> 20) & t.filter_mask


cdef inline void prefetch_pair(const PairTable *t, uint32_t left, uint32_t right) noexcept nogil:
    if t.packed != NULL:
        prefetch(&t.packed[pair_hash(t, (<uint64_t>left << ID_BITS) | right) & t.mask])


cdef inline bint may_merge(const PairTable *t, uint64_t hash) noexcept nogil:
    """Whether a packed pair with that hash passes the filter; if not, it has no rank."""
    cdef uint64_t s = filter_bit(t, hash)
    return t.filter[s >> 6] >> (s & 63) & 1


cdef inline uint32_t slot_rank(const PairTable *t, uint64_t pair, uint64_t hash) noexcept nogil:
    """Rank of a packed pair, or NO_RANK, by the table alone."""
    cdef uint64_t k = hash & t.mask, s
    while True:
        s = t.packed[k]
        if s >> RANK_BITS == pair:
            return <uint32_t>(s & ((1u << RANK_BITS) - 1))
        if s == <uint64_t>-1:
            return NO_RANK
        k = (k + 1) & t.mask


cdef inline int32_t place_key(uint32_t rank, uint32_t place) noexcept nogil:
    """What rows of up to SMALL symbols are scanned for: the lowest rank, then the leftmost place; NO_KEY for NO_RANK."""
    return <int32_t>((rank << 6) | place) if rank != NO_RANK else NO_KEY


cdef inline uint32_t pair_rank(const PairTable *t, uint32_t left, uint32_t right) noexcept nogil:
    """Rank of the merge of two symbols, or NO_RANK."""
    cdef uint64_t pair, k
    if t.packed != NULL:
        pair = (<uint64_t>left << ID_BITS) | right
        k = pair_hash(t, pair)
        return slot_rank(t, pair, k) if may_merge(t, k) else NO_RANK
    pair = (<uint64_t>left << 32) | right
    k = pair_hash(t, pair) & t.mask
    while True:
        if t.wide[k].rank == NO_RANK or t.wide[k].pair == pair:
            return t.wide[k].rank
        k = (k + 1) & t.mask

# The ranks of all pairs of 256 symbols, ranks[i << 8 | j] for ids[i] and ids[j]; NO_RANK where one of them is NO_SYMBOL.
cdef void fill_pair_ranks(const PairTable *t, const uint32_t *ids, uint32_t *ranks) noexcept nogil

# Room for so many pairs, empty; packed where ids and ranks fit their bits.
cdef int pair_table_reserve(PairTable *t, int64_t pairs, bint packed) except -1
# Set the rank of a pair; whether the pair is new. No more pairs than reserved.
cdef bint pair_table_put(PairTable *t, uint64_t left, uint64_t right, uint32_t rank) noexcept nogil
cdef void pair_table_free(PairTable *t) noexcept nogil

# What one thread needs to merge: arrays that grow with the longest row seen.
cdef struct MergeScratch:
    int64_t *next            # index of the symbol to the right, or -1
    int64_t *previous
    uint32_t *rank           # rank of the pair (this symbol, next symbol)
    uint64_t *heap           # rank << position_bits | position
    uint64_t *skipped
    int64_t capacity         # of next, previous, rank
    int64_t heap_capacity
    int64_t skipped_capacity
    Random random

cdef void merge_scratch_free(MergeScratch *s) noexcept nogil

# Merge a row of n symbols in place. ids[i] and starts[i] (NULL: not wanted) are moved together, so that starts keeps the
# start of each symbol's first part. Returns the number of symbols left, or -1 when out of memory.
cdef int64_t merge_symbols(const PairTable *t, uint32_t *ids, int64_t *starts, int64_t n, MergeScratch *s) noexcept nogil

# The same for n <= SMALL, in scannable tables, with the keys (rank << 6 | i, or NO_KEY) of the n - 1 pairs at hand.
cdef int merge_small(const PairTable *t, uint32_t *ids, int64_t *starts, int32_t *key, int n) noexcept nogil

# With dropout: each candidate that comes up is passed over with probability p, until the next merge is made.
cdef int64_t merge_with_dropout(
    const PairTable *t, uint32_t *ids, int64_t *starts, int64_t n, float p, MergeScratch *s) noexcept nogil

cdef class MergeTable:
    """Read-only table of merges, made from the vocabulary and the list; shared by the models that differ in options only."""
    cdef PairTable table
    cdef readonly int64_t distinct           # number of different pairs
    cdef uint32_t *parts                     # left and right part of each rank: places in the vocabulary's table
    cdef uint8_t *is_part                    # bit for each place in the vocabulary: some merge takes it
    cdef readonly int64_t prefix_length      # bytes that the right part lost
    cdef readonly VocabMap vocab
    cdef object proof                        # what seeds.pyx found out about these merges, or None
    cdef object early                        # ... and early_chars.pyx
    cdef Block block                         # keeps the memory of arrays that are borrowed
    cdef bint borrowed
    @staticmethod
    cdef MergeTable of_entries(VocabMap vocab, uint32_t *parts, const uint32_t *wholes, int64_t n)
    cdef int fill(self, int64_t prefix_length, list merges) except -1
    cdef int fill_ids(self, const uint32_t[:, ::1] rows) except -1
    cdef int build_slots(self) except -1
