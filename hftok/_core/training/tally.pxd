# Words counted by many threads: see tally.pyx.
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from hftok._core.training.token_strings cimport string_hash
from hftok._core.training.words cimport WordCounts

cdef enum:
    SHARD_BITS = 6
    SHARDS = 64
    CACHE_BITS = 14
    SHORT = 15                  # bytes of a word that is kept in the cache

# A short word: its bytes, zeros, and in the last byte its length. low == high == 0: nothing.
cdef struct Recent:
    uint64_t low
    uint64_t high
    uint64_t count

# Words on their way to a shard: a header (count << 32 | size), then the bytes, again and again.
cdef struct Outbox:
    uint8_t *data
    int64_t used
    int64_t capacity

cdef struct Tally:
    # What one thread counts into.
    Recent *cache
    Outbox outbox[SHARDS]
    int64_t bytes               # in the outboxes
    int failed                  # out of memory: some words are lost

cdef struct Shard:
    # The words whose hash ends in the shard's number, in the order of their first sight.
    uint8_t *text
    int64_t text_size
    int64_t text_capacity
    int64_t *offset
    uint64_t *count
    int64_t size
    int64_t capacity
    uint64_t *slot              # upper half of the hash, then word + 1; 0: empty
    int bits

cdef int tally_init(Tally *t) noexcept nogil
cdef void tally_free(Tally *t) noexcept nogil
cdef void tally_flush(Tally *t) noexcept nogil
cdef void tally_send(Tally *t, const uint8_t *word, int64_t n, uint64_t times) noexcept nogil
cdef void tally_evict(Tally *t, Recent *r) noexcept nogil


cdef inline void tally_add(Tally *t, const uint8_t *word, int64_t n, const uint8_t *limit) noexcept nogil:
    """Count a word of n > 0 bytes; memory may be read up to `limit`."""
    cdef uint64_t low, high
    cdef uint64_t h
    cdef Recent *r
    if n > SHORT:
        tally_send(t, word, n, 1)
        return
    low = high = 0
    if word + 16 <= limit:
        memcpy(&low, word, 8)
        memcpy(&high, word + 8, 8)
        if n < 8:
            low &= (<uint64_t>1 << (8 * n)) - 1
            high = 0
        else:
            high &= (<uint64_t>1 << (8 * (n - 8))) - 1
    else:
        memcpy(&low, word, <size_t>min(n, <int64_t>8))
        if n > 8:
            memcpy(&high, word + 8, <size_t>(n - 8))
    high |= <uint64_t>n << 56
    h = (low ^ (high << 23 | high >> 41)) * <uint64_t>0x9E3779B97F4A7C15
    r = &t.cache[(h ^ h >> 29) * <uint64_t>0xD6E8FEB86659FD93 >> (64 - CACHE_BITS)]
    if r.low == low and r.high == high:
        r.count += 1
        return
    if r.count:
        tally_evict(t, r)
    r.low = low
    r.high = high
    r.count = 1


cdef class Tallies:
    """The words counted so far: what the shards hold, and a Tally for each thread."""
    cdef Tally *tally           # by thread
    cdef int threads
    cdef Shard *shard
    cdef int collect(self, int64_t least) except -1
    cdef WordCounts take(self)
