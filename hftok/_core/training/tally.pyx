"""Counting words with many threads, each distinct word kept once.

What it does: a thread counts into its Tally. Short words stay in a small direct-mapped cache, which soaks up the frequent ones;
what falls out of it, and long words, are sent to outboxes, one for each of 64 shards. Now and then `collect` lets every shard
take its words out of all outboxes, shards in parallel. So there are no locks, a shard's tables are small enough for the
processor's caches while it works, and memory holds each word once whatever the number of threads.

The order of the words depends on the threads; no trainer's result depends on that order. Rule of the reference: the
`feed` of every trainer (models/*/trainer.rs). Finding words is left to the feed, what is done with them to words and word_files.
"""
from libc.stdint cimport UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset

from hftok._core.parallel cimport parallel_for
from hftok._core.training.token_strings cimport string_hash
from hftok._core.training.words cimport WordCounts

from hftok._core.training.words import check


cdef int tally_init(Tally *t) noexcept nogil:
    """0, or -1 without memory."""
    memset(t, 0, sizeof(Tally))
    t.cache = <Recent *>calloc(<size_t>1 << CACHE_BITS, sizeof(Recent))
    return -1 if t.cache == NULL else 0


cdef void tally_free(Tally *t) noexcept nogil:
    cdef int i
    free(t.cache)
    for i in range(SHARDS):
        free(t.outbox[i].data)
    memset(t, 0, sizeof(Tally))


cdef void tally_send(Tally *t, const uint8_t *word, int64_t n, uint64_t times) noexcept nogil:
    """Put a word into its shard's outbox."""
    cdef Outbox *o = &t.outbox[string_hash(word, n) & (SHARDS - 1)]
    cdef int64_t capacity
    cdef uint64_t header
    cdef void *grown
    while n >= <int64_t>UINT32_MAX or times > <uint64_t>UINT32_MAX:
        # Headers have 32 bits for each. Longer words cannot be (texts are below 4 GiB); counts are sent in parts.
        if n >= <int64_t>UINT32_MAX:
            t.failed = 1
            return
        tally_send(t, word, n, <uint64_t>UINT32_MAX)
        times -= <uint64_t>UINT32_MAX
    if o.used + n + 8 > o.capacity:
        capacity = max(o.used + n + 8, o.capacity + (o.capacity >> 1), <int64_t>4096)
        grown = realloc(o.data, <size_t>capacity)
        if grown == NULL:
            t.failed = 1
            return
        o.data = <uint8_t *>grown
        o.capacity = capacity
    header = times << 32 | <uint64_t>n
    memcpy(o.data + o.used, &header, 8)
    memcpy(o.data + o.used + 8, word, <size_t>n)
    o.used += n + 8
    t.bytes += n + 8


cdef void tally_evict(Tally *t, Recent *r) noexcept nogil:
    """Send a word of the cache off."""
    cdef uint64_t word[2]
    cdef int64_t n = <int64_t>(r.high >> 56)
    word[0] = r.low
    word[1] = r.high
    tally_send(t, <const uint8_t *>word, n, r.count)
    r.count = 0


cdef void tally_flush(Tally *t) noexcept nogil:
    """Send off all of the cache."""
    cdef int64_t i
    for i in range(<int64_t>1 << CACHE_BITS):
        if t.cache[i].count:
            tally_evict(t, &t.cache[i])
        t.cache[i].low = t.cache[i].high = 0


# Shards

cdef struct Collection:
    Tally *tally
    int threads
    Shard *shard
    int error[SHARDS]


cdef int shard_reserve(Shard *s, int64_t words, int64_t text) noexcept nogil:
    """Room for `words` words and `text` bytes in all. 0, or -1 without memory."""
    cdef int64_t n, i
    cdef void *grown
    cdef uint64_t *slot
    cdef uint64_t h, mask
    cdef int bits = s.bits
    if text > s.text_capacity:
        n = max(text, s.text_capacity + (s.text_capacity >> 2), <int64_t>4096)
        grown = realloc(s.text, <size_t>n)
        if grown == NULL:
            return -1
        s.text = <uint8_t *>grown
        s.text_capacity = n
    if words > s.capacity:
        n = max(words, s.capacity + (s.capacity >> 2), <int64_t>256)
        if n >= <int64_t>UINT32_MAX:
            return -1
        grown = realloc(s.count, <size_t>n * sizeof(uint64_t))
        if grown == NULL:
            return -1
        s.count = <uint64_t *>grown
        grown = realloc(s.offset, <size_t>n * sizeof(int64_t))
        if grown == NULL:
            return -1
        s.offset = <int64_t *>grown
        s.capacity = n
    while bits == 0 or (<int64_t>3 << bits) < 4 * words:
        bits = bits + 1 if bits else 9
    if bits != s.bits:
        slot = <uint64_t *>calloc(<size_t>1 << bits, sizeof(uint64_t))
        if slot == NULL:
            return -1
        mask = (<uint64_t>1 << bits) - 1
        if s.slot != NULL:
            for i in range(<int64_t>1 << s.bits):
                if s.slot[i]:
                    # The upper half of the hash is all that a place depends on: tables stay below 2**32 slots.
                    h = s.slot[i] >> (64 - bits)
                    while slot[h]:
                        h = (h + 1) & mask
                    slot[h] = s.slot[i]
        free(s.slot)
        s.slot = slot
        s.bits = bits
    return 0


cdef int shard_add(Shard *s, const uint8_t *word, int64_t n, uint64_t times) noexcept nogil:
    """0, or -1 without memory, -2 where the count would pass 2**64 - 1."""
    cdef uint64_t h = string_hash(word, n)
    cdef uint64_t high = h & <uint64_t>0xFFFFFFFF00000000
    cdef uint64_t mask, at, found
    cdef int64_t i, start, size
    if s.bits == 0 and shard_reserve(s, 1, 1):
        return -1
    mask = (<uint64_t>1 << s.bits) - 1
    at = h >> (64 - s.bits)
    while s.slot[at]:
        found = s.slot[at]
        if found & <uint64_t>0xFFFFFFFF00000000 == high:
            i = <int64_t>(found & <uint64_t>0xFFFFFFFF) - 1
            start = s.offset[i]
            size = (s.offset[i + 1] if i + 1 < s.size else s.text_size) - start
            if size == n and memcmp(s.text + start, word, <size_t>n) == 0:
                if s.count[i] > UINT64_MAX - times:
                    return -2
                s.count[i] += times
                return 0
        at = (at + 1) & mask
    if shard_reserve(s, s.size + 1, s.text_size + n):
        return -1
    mask = (<uint64_t>1 << s.bits) - 1
    at = h >> (64 - s.bits)
    while s.slot[at]:
        at = (at + 1) & mask
    s.slot[at] = high | <uint64_t>(s.size + 1)
    memcpy(s.text + s.text_size, word, <size_t>n)
    s.offset[s.size] = s.text_size
    s.count[s.size] = times
    s.text_size += n
    s.size += 1
    return 0


cdef void shard_collect(void *ctx, int64_t i, int thread) noexcept nogil:
    """Take one shard's words out of all outboxes."""
    cdef Collection *c = <Collection *>ctx
    cdef Outbox *o
    cdef int64_t at, n
    cdef uint64_t header
    cdef int t
    for t in range(c.threads):
        o = &c.tally[t].outbox[i]
        at = 0
        while at < o.used and c.error[i] == 0:
            memcpy(&header, o.data + at, 8)
            n = <int64_t>(header & <uint64_t>0xFFFFFFFF)
            c.error[i] = shard_add(&c.shard[i], o.data + at + 8, n, header >> 32)
            at += n + 8
        o.used = 0


cdef void shard_free(Shard *s) noexcept nogil:
    free(s.text)
    free(s.offset)
    free(s.count)
    free(s.slot)
    memset(s, 0, sizeof(Shard))


cdef class Tallies:
    def __cinit__(self, int threads):
        cdef int i
        self.tally = <Tally *>calloc(<size_t>threads, sizeof(Tally))
        self.shard = <Shard *>calloc(SHARDS, sizeof(Shard))
        if self.tally == NULL or self.shard == NULL:
            raise MemoryError("out of memory while counting words")
        self.threads = threads
        for i in range(threads):
            if tally_init(&self.tally[i]):
                raise MemoryError("out of memory while counting words")

    def __dealloc__(self):
        cdef int i
        if self.tally != NULL:
            for i in range(self.threads):
                tally_free(&self.tally[i])
        if self.shard != NULL:
            for i in range(SHARDS):
                shard_free(&self.shard[i])
        free(self.tally)
        free(self.shard)

    cdef int collect(self, int64_t least) except -1:
        """Empty the outboxes into the shards, if they hold `least` bytes or more."""
        cdef Collection c
        cdef int i
        cdef int64_t held = 0
        for i in range(self.threads):
            if self.tally[i].failed:
                check(-1)
            held += self.tally[i].bytes
        if held < least:
            return 0
        c.tally = self.tally
        c.threads = self.threads
        c.shard = self.shard
        memset(c.error, 0, sizeof(c.error))
        with nogil:
            # Threads that are woken for little cost more than they save.
            parallel_for(shard_collect, &c, SHARDS, self.threads if held >= 1 << 18 else 1)
        for i in range(self.threads):
            self.tally[i].bytes = 0
        for i in range(SHARDS):
            check(c.error[i])
        return 0

    @property
    def nbytes(self):
        """Bytes of memory in use by the shards."""
        cdef int i
        total = 0
        for i in range(SHARDS):
            total += self.shard[i].text_capacity + 16 * self.shard[i].capacity
            if self.shard[i].slot != NULL:
                total += 8 << self.shard[i].bits
        return total

    def __len__(self):
        """Words in the shards."""
        cdef int i
        total = 0
        for i in range(SHARDS):
            total += self.shard[i].size
        return total

    cdef WordCounts take(self):
        """All words counted, which are forgotten here. Each shard's memory is given back once its words are copied."""
        cdef WordCounts words = WordCounts()
        cdef Shard *s
        cdef int64_t n = 0, text = 0, at = 0, j
        cdef int i
        cdef int failed
        for i in range(self.threads):
            tally_flush(&self.tally[i])
        self.collect(0)
        for i in range(SHARDS):
            n += self.shard[i].size
            text += self.shard[i].text_size
        with nogil:
            failed = words.reserve_exactly(n, text)
            if not failed:
                n = 0
                for i in range(SHARDS):
                    s = &self.shard[i]
                    free(s.slot)
                    s.slot = NULL
                    s.bits = 0
                    if s.size:
                        memcpy(words.text + at, s.text, <size_t>s.text_size)
                        memcpy(words.count + n, s.count, <size_t>s.size * sizeof(uint64_t))
                    for j in range(s.size):
                        words.offset[n + j] = at + s.offset[j]
                    n += s.size
                    at += s.text_size
                    shard_free(s)
                words.offset[n] = at
                words.size = n
        if failed:
            check(-1)
        return words
