"""tiktoken's encoder: a text's pieces, found by the pattern, become tokens by ranks.

Rule (tiktoken 0.14, src/lib.rs `encode_ordinary`, `encode`): the pattern's matches are the pieces, what lies between is
dropped, each piece is encoded alone (`ranks`). Special tokens are sought first, leftmost first; one that is not allowed is
text. The text between two of them is searched by itself, so the pattern sees no further. Where one special token begins
with another, the reference tries them in the order of its hash table: `rust_hash_order` gives that order.

Where pieces are is decided in three places: for patterns of a family that has a scanner by that, 64 bytes at a time
(`scanned`, scanners/); for others of the usual ones, which match something everywhere, by hand (`usual`, with
`pattern_words`); for all others by the matcher (`matched`). Pieces of up to 48 bytes are looked up in the worker's cache first.
In text beyond ASCII a piece is cut before that where no token has the characters of both sides next to each other: no merge joins
them (safe_cuts). Parts come again where whole runs of Chinese do not. A part is looked up as a whole, as pieces are but parts
would not be; so this is done only where merging makes every such token, which is looked at once some text has been seen.
Text that a user controls becomes a special token only if the caller allowed that token: only `encode` with a set of
allowed ones writes the number of a special token.

It leaves to others: Python arguments and results (`rank_encoding`).
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from hftok._core.chunk_cache cimport (
    INLINE_IDS, LONG_KEY, MAX_SPILLED, META_COUNT, ChunkCache, Value, cache_clear, cache_find_long, cache_find_overflow, cache_free,
    cache_init, cache_insert, cache_insert_long, cache_spill, ht_key, put_ids,
)
from hftok._core.models.merges cimport MergeScratch, merge_scratch_free
from hftok._core.models.ranks cimport RANKS_EMPTY, RANKS_NO_BYTE, RankTable, ranks_encode
from hftok._core.models.safe_cuts cimport CutTable, SafeCuts, next_cut as next_safe_cut
from hftok._core.models.vocab_map cimport ByteBuffer, VocabMap, vocab_entry
from hftok._core.normalized cimport PT_NO_MEMORY, PT_PANIC, pt_free, pt_init
from hftok._core.rust_pattern cimport RustPattern
from hftok._core.scanners.cuts cimport next_cut
from hftok._core.scanners.pattern_words cimport FAMILY_NONE, match_end, rule_of
from hftok._core.text cimport utf8_len

from hftok._core.engine import _scanner_module, _tier
from hftok._core.raw_rules import INSIDE_CHARACTERS
from hftok._core.scanners.recognise import recognise_rust

cdef enum:
    AHEAD = 32               # pieces that are found before the first of them is looked up
    BEFORE = 64              # bytes before a text that a scanner may read, ...
    BEHIND = 128             # ... and behind it
    SLICE = 4096             # bytes of text from which on a place to cut is looked for
    CUT_FROM = 7             # bytes of a piece from which on it is cut where it can be
    PROVE_AT = 1 << 21       # bytes of text beyond ASCII from which on it pays to look whether pieces can be cut
    SLICE_MOST = 1 << 26     # a longer text without such a place is left to the matcher

cdef extern from "block.h" nogil:
    ht_key ht_make_key(const uint8_t *p, uint32_t n)       # 16 bytes are read, whatever n is
    void ht_unpack(const uint8_t *v, uint32_t *out)

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #if defined(__GNUC__) || defined(__clang__)
    #define HFTOK_RANK_PREFETCH(p) __builtin_prefetch(p)
    #else
    #define HFTOK_RANK_PREFETCH(p) ((void)(p))
    #endif

    static inline uint32_t hftok_rank_hash(ht_key k) {
        uint64_t h = (k.lo ^ UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93);
        h ^= h >> 32;
        h = (h ^ k.hi) * UINT64_C(0xBF58476D1CE4E5B9);
        return (uint32_t)(h >> 32);
    }

    static uint32_t hftok_rank_hash_key(ht_key k) { return hftok_rank_hash(k); }

    static uint32_t hftok_rank_hash_long(const uint8_t *key) {
        uint64_t h = UINT64_C(0x9E3779B97F4A7C15), v;
        int i;
        for (i = 0; i < 48; i += 8) {
            memcpy(&v, key + i, 8);
            h = (h ^ v) * UINT64_C(0xD6E8FEB86659FD93);
            h ^= h >> 32;
        }
        return (uint32_t)h;
    }

    /* n bytes at p, 1..16, zero after them; nothing outside them is read. */
    static inline ht_key hftok_rank_key(const uint8_t *p, int64_t n) {
        ht_key k;
        uint64_t a, b;
        if (n >= 8) {
            memcpy(&a, p, 8);
            memcpy(&b, p + n - 8, 8);
            k.lo = a;
            k.hi = n == 8 ? 0 : b >> (8 * (16 - n));
        } else if (n >= 4) {
            uint32_t x, y;
            memcpy(&x, p, 4);
            memcpy(&y, p + n - 4, 4);
            k.lo = x | ((uint64_t)y << (8 * (n - 4)));
            k.hi = 0;
        } else {
            k.lo = p[0] | ((uint64_t)p[n >> 1] << (8 * (n >> 1))) | ((uint64_t)p[n - 1] << (8 * (n - 1)));
            k.hi = 0;
        }
        return k;
    }
    """
    void prefetch "HFTOK_RANK_PREFETCH"(const void *p) noexcept nogil
    uint32_t rank_hash "hftok_rank_hash"(ht_key k) noexcept nogil
    uint32_t rank_hash_key "hftok_rank_hash_key"(ht_key k) noexcept nogil
    uint32_t rank_hash_long "hftok_rank_hash_long"(const uint8_t *key) noexcept nogil
    ht_key rank_key "hftok_rank_key"(const uint8_t *p, int64_t n) noexcept nogil


cdef int rank_check(int error) except -1:
    """Raise what an error code stands for."""
    if error == RANK_OK:
        return 0
    if error == RANK_NO_MEMORY:
        raise MemoryError("out of memory while encoding")
    if error == RANK_EMPTY:
        raise ValueError(
            "there is nothing to encode: the pattern (or the caller) gave an empty piece, and the vocabulary has no empty "
            "token; use a pattern whose matches are never empty")
    if error == RANK_NO_BYTE:
        raise ValueError(
            "the text has a byte that is no token; put all 256 single bytes into mergeable_ranks, so that any text can be "
            "encoded")
    if error == RANK_ENDLESS:
        raise ValueError("an empty special token is allowed: it would match for ever; leave it out of allowed_special")
    raise ValueError("the pattern needs too many steps on this text")


cdef void worker_free(RankWorker *w) noexcept nogil:
    if w != NULL:
        pt_free(&w.matcher)
        merge_scratch_free(&w.merge)
        cache_free(&w.cache)
        free(w.slice)
        free(w.starts)
        free(w.parts)
        free(w.row)
        free(w.ids)
        free(w)


cdef inline int id_room(RankWorker *w, int64_t n) noexcept nogil:
    cdef int64_t capacity
    cdef uint32_t *ids
    if w.n_ids + n <= w.capacity:
        return 0
    capacity = w.capacity + (w.capacity >> 1) + n + 256
    ids = <uint32_t *>realloc(w.ids, <size_t>capacity * 4)
    if ids == NULL:
        return -1
    w.ids = ids
    w.capacity = capacity
    return 0


cdef inline int row_room(RankWorker *w, int64_t n) noexcept nogil:
    cdef uint32_t *row
    if n <= w.row_capacity:
        return 0
    row = <uint32_t *>realloc(w.row, <size_t>(n + (n >> 2) + 64) * 4)
    if row == NULL:
        return -1
    w.row = row
    w.row_capacity = n + (n >> 2) + 64
    return 0


cdef int slice_room(RankWorker *w, int64_t n) noexcept nogil:
    """Room for a slice of n bytes."""
    cdef uint8_t *grown
    cdef uint32_t *starts
    if n <= w.slice_capacity:
        return 0
    n += n >> 1
    grown = <uint8_t *>realloc(w.slice, <size_t>(n + BEFORE + BEHIND))
    if grown == NULL:
        return -1
    w.slice = grown
    starts = <uint32_t *>realloc(w.starts, <size_t>(n + BEHIND) * 4)
    if starts == NULL:
        return -1
    w.starts = starts
    starts = <uint32_t *>realloc(w.parts, <size_t>(n + BEHIND) * 4)
    if starts == NULL:
        return -1
    w.parts = starts
    memset(w.slice, 0, <size_t>(n + BEFORE + BEHIND))
    w.slice_capacity = n
    return 0


cdef inline bint cacheable(const uint8_t *p, int64_t n) noexcept nogil:
    """A key is zero behind the piece and never zero at its beginning (chunk_cache): no NUL at either end."""
    return 0 < n <= LONG_KEY and p[0] != 0 and p[n - 1] != 0


cdef inline bint beyond_ascii(const uint8_t *p, int64_t n) noexcept nogil:
    """Whether a byte is not ASCII; what lies up to seven bytes behind may count, too."""
    cdef int64_t i
    cdef uint64_t v, all = 0
    for i in range(0, n, 8):
        memcpy(&v, p + i, 8)
        all |= v
    return all & <uint64_t>0x8080808080808080 != 0


cdef int64_t cut_pieces(const CutTable *t, const uint8_t *text, const uint32_t *starts, int64_t count, uint32_t *out,
                        int64_t *last) noexcept nogil:
    """Write the beginnings of the pieces' parts, and the end of all behind them; their number. `last`: the first part of the
    last piece. Parts have a character beyond ASCII: cuts are made only between two of them."""
    cdef int64_t i, at, end, n = 0
    for i in range(count):
        at = starts[i]
        end = starts[i + 1]
        last[0] = n
        out[n] = <uint32_t>at
        n += 1
        if end - at < CUT_FROM or not beyond_ascii(text + at, end - at):
            continue
        while True:
            at = next_safe_cut(t, text, at, end)
            if at >= end:
                break
            if text[at] >= 128 and text[at - 1] >= 128:
                out[n] = <uint32_t>at
                n += 1
    out[n] = starts[count]
    return n


cdef inline int emit(RankWorker *w, const Value *v) noexcept nogil:
    """Append the tokens of a cached piece."""
    cdef uint32_t n = v.meta & META_COUNT
    cdef const uint32_t *ids
    if id_room(w, INLINE_IDS) != 0:
        return -1
    if n != 0:
        # Four at once, of which n count.
        ht_unpack(<const uint8_t *>v, w.ids + w.n_ids)
    else:
        n = v.count
        if id_room(w, n) != 0:
            return -1
        memcpy(w.ids + w.n_ids, w.cache.arena + v.block, <size_t>n * 4)
    w.n_ids += n
    w.last = n
    return 0


cdef inline void remember(RankWorker *w, const uint8_t *p, int64_t n, const uint32_t *ids, int64_t count) noexcept nogil:
    """Put a piece and its tokens into the cache."""
    cdef Value v
    cdef ht_key key
    cdef uint8_t line[LONG_KEY]
    memset(&v, 0, sizeof(Value))
    if not put_ids(&v, ids, count):
        v.block = cache_spill(&w.cache, count, 0)
        v.count = <uint32_t>count
        if v.block == 0:
            return
        memcpy(w.cache.arena + v.block, ids, <size_t>count * 4)
    if n <= 16:
        key = rank_key(p, n)
        cache_insert(&w.cache, &key, rank_hash(key), &v)
    else:
        memset(line, 0, LONG_KEY)
        memcpy(line, p, <size_t>n)
        cache_insert_long(&w.cache, line, rank_hash_long(line), &v)


cdef class RankEncoder:
    def __cinit__(self):
        memset(&self.specials, 0, sizeof(VocabTable))
        memset(self.first, 0, 256)
        self.boundaries = NULL
        self.cuts = NULL
        self.only_first = -1
        self.order = NULL
        self.lengths = NULL
        self.idle = NULL

    def __dealloc__(self):
        cdef RankWorker *w
        while self.idle != NULL:
            w = self.idle
            self.idle = w.next
            worker_free(w)
        free(self.order)
        free(self.lengths)
        free(self.specials.text.data)
        free(self.specials.offsets)
        free(self.specials.ids)
        free(self.specials.slots)

    def __init__(self, RankTable table not None, RustPattern pattern not None, dict specials not None, order=None):
        """specials: str -> number. order: where one special token begins with another, the place of each in the order that
        they are tried in."""
        cdef VocabMap map_
        cdef int64_t i, length
        if self.lengths != NULL:
            raise RuntimeError("a RankEncoder is filled once, when it is made")
        self.table = table
        self.pattern = pattern
        self.rule = rule_of(pattern.pattern, True)
        family = recognise_rust(pattern.pattern)
        if family is not None:
            self.boundaries = <boundaries_fn><size_t>_scanner_module("regex", _tier).kernels()[family]
            self.cuttable = family not in INSIDE_CHARACTERS
        map_ = VocabMap(specials)
        # Taken over whole: the map is nobody else's.
        self.specials = map_.table
        memset(&map_.table, 0, sizeof(VocabTable))
        self.lengths = <int64_t *>malloc(<size_t>(self.specials.size + 1) * sizeof(int64_t))
        if self.lengths == NULL:
            raise MemoryError("out of memory while reading the special tokens")
        found = set()
        for i in range(self.specials.size):
            length = self.specials.offsets[i + 1] - self.specials.offsets[i]
            if length == 0:
                self.has_empty = True
                memset(self.first, 1, 256)
            else:
                self.first[self.specials.text.data[self.specials.offsets[i]]] = 1
            found.add(length)
        for length in sorted(found):
            self.lengths[self.n_lengths] = length
            self.n_lengths += 1
        firsts = [i for i in range(256) if self.first[i]]
        if len(firsts) == 1:
            self.only_first = firsts[0]
        if order is not None:
            self.order = <uint32_t *>malloc(<size_t>(self.specials.size + 1) * sizeof(uint32_t))
            if self.order == NULL:
                raise MemoryError("out of memory while reading the special tokens")
            for i, key in enumerate(specials):
                self.order[i] = order[key]

    @cython.critical_section
    cdef RankWorker *take(self, int64_t budget) except NULL:
        """A worker of the pool, or a new one; its output is empty."""
        cdef RankWorker *w = self.idle
        if w != NULL:
            self.idle = w.next
            if w.budget != budget:
                w.cache.budget = budget
                cache_clear(&w.cache)
                w.budget = budget
        else:
            w = <RankWorker *>calloc(1, sizeof(RankWorker))
            if w == NULL or cache_init(&w.cache, budget, rank_hash_key, rank_hash_long) != 0:
                free(w)
                raise MemoryError("out of memory for an encoder's buffers")
            pt_init(&w.matcher)
            w.budget = budget
            if id_room(w, 64) != 0 or row_room(w, 64) != 0:
                worker_free(w)
                raise MemoryError("out of memory for an encoder's buffers")
        w.n_ids = w.last = 0
        w.next = NULL
        return w

    @cython.critical_section
    cdef void give(self, RankWorker *w):
        if w.capacity > 1 << 24:         # 64 MiB of output are not kept
            free(w.ids)
            w.ids = NULL
            w.capacity = 0
        if w.slice_capacity > 1 << 20:
            free(w.slice)
            free(w.starts)
            free(w.parts)
            w.slice = NULL
            w.starts = w.parts = NULL
            w.slice_capacity = 0
        w.matcher.error = 0
        w.next = self.idle
        self.idle = w

    cdef int saw(self, int64_t size) except -1:
        if self.cuttable:
            self.seen += size
            if self.seen >= PROVE_AT:
                self.cuttable = False
                if self.table.merges_make_tokens():
                    self.safe_cuts = SafeCuts.of_tokens(&self.table.r.tokens)
                    self.cuts = &self.safe_cuts.table
        return 0

    # -- special tokens

    cdef int64_t special_at(self, const uint8_t *p, int64_t n) noexcept nogil:
        cdef int64_t k, entry, best = -1
        for k in range(self.n_lengths):
            if self.lengths[k] > n:
                break
            entry = vocab_entry(&self.specials, p, self.lengths[k])
            if entry >= 0:
                if self.order == NULL:
                    return entry
                if best < 0 or self.order[entry] < self.order[best]:
                    best = entry
        return best

    cdef int64_t candidate(self, const uint8_t *text, int64_t size, int64_t at) noexcept nogil:
        """The next byte from `at` on that a special token begins with, or size."""
        cdef const uint8_t *found
        if self.only_first >= 0 and at < size:
            found = <const uint8_t *>memchr(text + at, self.only_first, <size_t>(size - at))
            return size if found == NULL else found - text
        while at < size and not self.first[text[at]]:
            at += 1
        return at

    cdef int64_t find_special(self, const uint8_t *text, int64_t size, int64_t *at, const uint8_t *chosen) noexcept nogil:
        cdef int64_t i = at[0], entry
        while i <= size:
            i = self.candidate(text, size, i)
            if i == size and not self.has_empty:
                return -1
            entry = self.special_at(text + i, size - i)
            if entry >= 0 and (chosen == NULL or chosen[entry]):
                at[0] = i
                return entry
            i += utf8_len(text[i]) if i < size else 1
        return -1

    cdef int64_t holds_special(self, const uint8_t *text, int64_t size, const uint8_t *chosen) noexcept nogil:
        cdef int64_t i = self.candidate(text, size, 0), k, entry
        while i < size:
            for k in range(self.n_lengths):
                if self.lengths[k] > size - i:
                    break
                entry = vocab_entry(&self.specials, text + i, self.lengths[k])
                if entry >= 0 and (chosen == NULL or chosen[entry]):
                    return entry
            i = self.candidate(text, size, i + 1)
        return -1

    # -- pieces

    cdef int64_t next_piece(
        self, RankWorker *w, const uint8_t *text, int64_t size, int64_t at, int64_t last, int64_t *start
    ) noexcept nogil:
        if self.rule.family != FAMILY_NONE:
            if at >= size:
                return -1
            start[0] = at                # the matches of these patterns follow one another without gaps
            return match_end(&self.rule, text, at, size)
        return self.pattern.next(&w.matcher, text, size, at, last, start)

    cdef int piece(self, RankWorker *w, const uint8_t *p, int64_t n, bint whole) noexcept nogil:
        cdef int64_t count, i
        cdef uint32_t *out
        if row_room(w, n + 1) != 0:
            return RANK_NO_MEMORY
        count = ranks_encode(&self.table.r, p, n, w.row, &w.merge, whole)
        if count < 0:
            return <int>count
        if id_room(w, count) != 0:
            return RANK_NO_MEMORY
        out = w.ids + w.n_ids
        for i in range(count):
            out[i] = self.table.r.tokens.ids[w.row[i]]
        w.n_ids += count
        w.last = count
        return RANK_OK

    cdef int cached_piece(self, RankWorker *w, const uint8_t *p, int64_t n) noexcept nogil:
        """`piece` through the cache."""
        cdef ht_key key
        cdef Value *v
        cdef uint8_t line[LONG_KEY]
        if not cacheable(p, n):
            return self.piece(w, p, n, True)
        if n <= 16:
            key = rank_key(p, n)
            return self.keyed_piece(w, p, n, &key, rank_hash(key))
        memset(line, 0, LONG_KEY)
        memcpy(line, p, <size_t>n)
        v = cache_find_long(&w.cache, line, rank_hash_long(line))
        return emit(w, v) if v != NULL else self.new_piece(w, p, n)

    cdef int keyed_piece(
        self, RankWorker *w, const uint8_t *p, int64_t n, const ht_key *key, uint32_t hash
    ) noexcept nogil:
        cdef uint8_t *bucket = w.cache.table + <size_t>(hash & w.cache.mask) * 64
        cdef Value *v
        if memcmp(bucket, key, 16) == 0:
            return emit(w, <Value *>(bucket + 32))
        if memcmp(bucket + 16, key, 16) == 0:
            return emit(w, <Value *>(bucket + 48))
        v = cache_find_overflow(&w.cache, key, hash)
        return emit(w, v) if v != NULL else self.new_piece(w, p, n)

    cdef int new_piece(self, RankWorker *w, const uint8_t *p, int64_t n) noexcept nogil:
        """A piece that the cache does not know, and then does."""
        cdef int64_t before = w.n_ids
        cdef int error = self.piece(w, p, n, True)
        if error == RANK_OK and w.n_ids - before <= MAX_SPILLED:
            remember(w, p, n, w.ids + before, w.n_ids - before)
        return error

    cdef int usual(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil:
        """`ordinary` for the usual patterns: some pieces are found ahead, so that their places in the cache are on their
        way when they are looked up."""
        cdef int64_t ends[AHEAD]
        cdef ht_key keys[AHEAD]
        cdef uint32_t hashes[AHEAD]
        cdef bint keyed[AHEAD]
        cdef int64_t at = 0, start, end
        cdef int count, i, error
        while at < size:
            start = at
            count = 0
            while count < AHEAD and at < size:
                end = match_end(&self.rule, text, at, size)
                ends[count] = end
                keyed[count] = end - at <= 16 and cacheable(text + at, end - at)
                if keyed[count]:
                    keys[count] = rank_key(text + at, end - at)
                    hashes[count] = rank_hash(keys[count])
                    prefetch(w.cache.table + <size_t>(hashes[count] & w.cache.mask) * 64)
                at = end
                count += 1
            for i in range(count):
                if keyed[i]:
                    error = self.keyed_piece(w, text + start, ends[i] - start, &keys[i], hashes[i])
                else:
                    error = self.cached_piece(w, text + start, ends[i] - start)
                if error != RANK_OK:
                    return error
                start = ends[i]
        return RANK_OK

    cdef int scanned(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil:
        """`ordinary` for patterns of a family: a slice of some KiB at a time, cut where a piece begins in any case."""
        cdef ht_key keys[AHEAD]
        cdef uint8_t *buckets[AHEAD]
        cdef int64_t at = 0, end, n, i
        cdef int64_t count, k, m, last, begun
        cdef uint8_t *slice
        cdef uint32_t *starts
        cdef uint8_t *bucket
        cdef uint8_t *table
        cdef const Value *value
        cdef uint32_t *out
        cdef uint32_t hash
        cdef int error
        while at < size:
            end = size
            if size - at > SLICE:
                end = next_cut(text, at + SLICE, min(size - 3, at + SLICE_MOST))
                if end < 0 and size - at > SLICE_MOST:
                    return self.matched(w, text + at, size - at)
                if end < 0:
                    end = size
            n = end - at
            if slice_room(w, n) != 0:
                return RANK_NO_MEMORY
            slice = w.slice + BEFORE
            starts = w.starts
            memcpy(slice, text + at, <size_t>n)
            count = self.boundaries(slice, n, 0, starts)
            starts[count] = <uint32_t>n
            last = count - 1
            if self.cuts != NULL and beyond_ascii(slice, n):
                count = cut_pieces(self.cuts, slice, starts, count, w.parts, &last)
                starts = w.parts
            i = 0
            begun = w.n_ids
            while i < count:
                m = min(count - i, <int64_t>AHEAD)
                for k in range(m):
                    n = starts[i + k + 1] - starts[i + k]
                    bucket = slice + starts[i + k]
                    buckets[k] = NULL
                    if n <= 16 and bucket[0] != 0 and bucket[n - 1] != 0:
                        keys[k] = ht_make_key(bucket, <uint32_t>n)
                        hash = rank_hash(keys[k])
                        buckets[k] = w.cache.table + <size_t>(hash & w.cache.mask) * 64
                        prefetch(buckets[k])
                if id_room(w, INLINE_IDS * AHEAD) != 0:
                    return RANK_NO_MEMORY
                out = w.ids + w.n_ids
                for k in range(m):
                    bucket = buckets[k]
                    if i + k == last:
                        begun = out - w.ids
                    value = NULL
                    if bucket != NULL:
                        if memcmp(bucket, &keys[k], 16) == 0:
                            value = <const Value *>(bucket + 32)
                        elif memcmp(bucket + 16, &keys[k], 16) == 0:
                            value = <const Value *>(bucket + 48)
                    if value != NULL and value.meta & META_COUNT:
                        # Four tokens at once, of which some count.
                        ht_unpack(<const uint8_t *>value, out)
                        out += value.meta & META_COUNT
                        continue
                    w.n_ids = out - w.ids
                    table = w.cache.table
                    error = self.cached_piece(w, slice + starts[i + k], starts[i + k + 1] - starts[i + k])
                    if error != RANK_OK:
                        return error
                    if id_room(w, INLINE_IDS * AHEAD) != 0:
                        return RANK_NO_MEMORY
                    out = w.ids + w.n_ids
                    if w.cache.table != table:
                        m = k + 1            # the places of the pieces to come have moved
                        break
                w.n_ids = out - w.ids
                i += m
            w.last = w.n_ids - begun
            at = end
        return RANK_OK

    cdef int ordinary(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil:
        if self.boundaries != NULL:
            return self.scanned(w, text, size)
        if self.rule.family != FAMILY_NONE:
            return self.usual(w, text, size)
        return self.matched(w, text, size)

    cdef int matched(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil:
        cdef int64_t at = 0, last = -1, start = 0, end
        cdef int error
        while True:
            end = self.next_piece(w, text, size, at, last, &start)
            if end < 0:
                break
            if end > start or not self.skips_empty:
                error = self.cached_piece(w, text + start, end - start)
                if error != RANK_OK:
                    return error
            last = at = end
            if end == start:
                at += utf8_len(text[end]) if end < size else 1
        if w.matcher.error:
            return RANK_NO_MEMORY if w.matcher.error == PT_NO_MEMORY else RANK_PATTERN
        return RANK_OK

    cdef int encode(self, RankWorker *w, const uint8_t *text, int64_t size, const uint8_t *allowed) noexcept nogil:
        cdef int64_t start = 0, at, entry
        cdef int error
        w.last = 0
        while True:
            at = start
            entry = self.find_special(text, size, &at, allowed) if allowed != NULL else -1
            error = self.ordinary(w, text + start, (at if entry >= 0 else size) - start)
            if error != RANK_OK or entry < 0:
                return error
            if id_room(w, 1) != 0:
                return RANK_NO_MEMORY
            w.ids[w.n_ids] = self.specials.ids[entry]
            w.n_ids += 1
            w.last = 0
            start = at + self.specials.offsets[entry + 1] - self.specials.offsets[entry]
            if start == at:
                return RANK_ENDLESS
