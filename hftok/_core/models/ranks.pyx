"""A BPE vocabulary given by ranks: which tokens a piece of text becomes.

Rule (tiktoken 0.14, src/lib.rs `byte_pair_encode`): a piece that is a token is that token. Any other begins as its single
bytes; of all neighbours whose concatenation is a token the pair with the lowest rank is merged, the leftmost of equals,
until none is left. There is no list of merges: every way to cut a token into two tokens is one.

Here each such cut becomes a line of a pair table, so that merging compares pairs of numbers and no bytes; the loops are
those of `merges`, with the token's place in the order of ranks as its rank. A byte that is no token takes part in merges
all the same and is an error only where it is left over; a token of rank 2**32 - 1 is never the result of a merge.

It leaves to others: where pieces begin (`rank_bpe`), special tokens, caches.
"""
import operator
import os

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE

from hftok._core.models.merges cimport (
    ID_BITS, NO_RANK, RANK_BITS, SMALL_RANK_LIMIT, MergeScratch, merge_scratch_free, merge_symbols, pair_rank, pair_table_free, pair_table_put,
    pair_table_reserve,
)
from hftok._core.models.vocab_map cimport (
    VocabTable, buffer_reserve, bytes_differ, hash_bytes, vocab_entry,
)

cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")


cdef int64_t ranks_encode(
    const Ranks *r, const uint8_t *piece, int64_t n, uint32_t *out, MergeScratch *s, bint whole
) noexcept nogil:
    cdef int64_t i
    if whole:
        i = vocab_entry(&r.tokens, piece, n)
        if i >= 0:
            out[0] = <uint32_t>i
            return 1
    if n == 0:
        return RANKS_EMPTY
    for i in range(n):
        out[i] = r.bytes[piece[i]]
    n = merge_symbols(&r.pairs, out, NULL, n, s)
    for i in range(n):
        if out[i] >= r.tokens.size:
            return RANKS_NO_BYTE
    return n


cdef inline int64_t symbol(const Ranks *r, const uint8_t *p, int64_t n) noexcept nogil:
    """The symbol of the bytes, or -1."""
    return r.bytes[p[0]] if n == 1 else vocab_entry(&r.tokens, p, n)


def token_bytes(object key):
    """A key of `mergeable_ranks` as bytes: bytes, or a sequence of numbers below 256 as pyo3 reads Vec<u8>."""
    if isinstance(key, bytes):
        return bytes(key)
    if isinstance(key, str) or not hasattr(key, "__getitem__"):
        raise TypeError(f"mergeable_ranks maps bytes to int, not {type(key).__name__} to int")
    values = list(map(operator.index, key))
    if not all(0 <= value < 256 for value in values):
        raise OverflowError("mergeable_ranks has a key with a number that is no byte")
    return bytes(values)


cdef class RankTable:
    def __cinit__(self):
        memset(&self.r, 0, sizeof(Ranks))

    def __dealloc__(self):
        free(self.r.tokens.text.data)
        free(self.r.tokens.offsets)
        free(self.r.tokens.ids)
        free(self.r.tokens.slots)
        pair_table_free(&self.r.pairs)
        free(self.r.pairs.merged)

    def __init__(self, dict ranks not None):
        """Read a dict of bytes -> rank.

        Raises TypeError for other types, OverflowError for a rank outside 0..2**32 - 1, ValueError for a rank that two
        tokens share (where the reference panics), MemoryError.
        """
        if self.r.tokens.offsets != NULL:
            raise RuntimeError("a RankTable is filled once, when it is made")
        for key in ranks:
            if not PyBytes_CheckExact(key):
                ranks = {token_bytes(key): rank for key, rank in ranks.items()}
                break
        self.fill(ranks)
        self.build_pairs()

    def __len__(self):
        return self.r.tokens.size

    cdef int fill(self, dict ranks) except -1:
        cdef VocabTable *t = &self.r.tokens
        cdef int64_t n = len(ranks), i = 0, size, longest = 0, total = 0
        cdef uint64_t slots = 16, h, k
        cdef object items
        cdef bint ordered = True
        cdef uint32_t last = 0, rank
        if n >= 0xFFFFFF00:
            raise OverflowError("a vocabulary holds fewer than 2**32 - 256 tokens")
        while slots < <uint64_t>n * 2:
            slots *= 2
        t.offsets = <int64_t *>malloc(<size_t>(n + 1) * sizeof(int64_t))
        t.ids = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
        t.slots = <uint64_t *>calloc(<size_t>slots, sizeof(uint64_t))
        if t.offsets == NULL or t.ids == NULL or t.slots == NULL:
            raise MemoryError("out of memory while reading the ranks")
        t.mask = slots - 1
        t.seed = SEED
        for key, value in ranks.items():
            rank = rank_of(value)
            ordered = ordered and (i == 0 or rank > last)
            last = rank
            i += 1
            total += PyBytes_GET_SIZE(key)
        buffer_reserve(&t.text, total + 16)
        items = ranks.items() if ordered else sorted(ranks.items(), key=operator.itemgetter(1))
        i = 0
        for key, value in items:
            size = PyBytes_GET_SIZE(key)
            rank = rank_of(value)
            if i > 0 and rank == t.ids[i - 1]:
                raise ValueError(
                    f"two tokens have the rank {rank}: {bytes(self.token(i - 1))!r} and {key!r}; give each token a rank "
                    "of its own")
            t.offsets[i] = t.text.size
            memcpy(t.text.data + t.text.size, PyBytes_AS_STRING(key), <size_t>size)
            t.text.size += size
            t.offsets[i + 1] = t.text.size
            t.ids[i] = rank
            longest = max(longest, size)
            i += 1
        t.offsets[n] = t.text.size
        t.size = n
        t.longest = longest
        self.largest = t.ids[n - 1] if n else 0
        for i in range(n):
            h = hash_bytes(t.text.data + t.offsets[i], t.offsets[i + 1] - t.offsets[i], t.seed)
            k = h & t.mask
            while t.slots[k] != 0:
                k = (k + 1) & t.mask
            t.slots[k] = (h >> 32 << 32) | <uint64_t>(i + 1)
        return 0

    cdef int build_pairs(self) except -1:
        """Fill the pair table with every cut of every token into two symbols."""
        cdef Ranks *r = &self.r
        cdef VocabTable *v = &r.tokens
        cdef uint8_t byte
        cdef int64_t i, cut, size, left, right, count = 0, room = 0
        cdef const uint8_t *p
        cdef uint32_t *rows = NULL
        cdef uint32_t *more
        cdef int b
        cdef bint packed = v.size + 256 < (1 << ID_BITS) - 1 and v.size < (1 << RANK_BITS) - 1
        for b in range(256):
            byte = <uint8_t>b
            i = vocab_entry(v, &byte, 1)
            r.bytes[b] = <uint32_t>(i if i >= 0 else v.size + b)
        r.pairs.merged = <uint32_t *>malloc(<size_t>(v.size + 1) * sizeof(uint32_t))
        # At most one cut for each byte of a token but its first.
        rows = <uint32_t *>malloc(<size_t>(3 * v.text.size + 3) * sizeof(uint32_t))
        if rows == NULL or r.pairs.merged == NULL:
            free(rows)
            raise MemoryError("out of memory while reading the ranks")
        with nogil:
            for i in range(v.size):
                r.pairs.merged[i] = <uint32_t>i
                size = v.offsets[i + 1] - v.offsets[i]
                if size < 2 or v.ids[i] == 0xFFFFFFFFu:
                    continue
                p = v.text.data + v.offsets[i]
                for cut in range(1, size):
                    left = symbol(r, p, cut)
                    if left < 0:
                        continue
                    right = symbol(r, p + cut, size - cut)
                    if right < 0:
                        continue
                    rows[3 * count] = <uint32_t>left
                    rows[3 * count + 1] = <uint32_t>right
                    rows[3 * count + 2] = <uint32_t>i
                    count += 1
        r.pairs.ranks = v.size
        # Tokens differ as strings and as numbers, and a merge makes a longer one: what `merges` asks for.
        r.pairs.scannable = v.size < SMALL_RANK_LIMIT
        try:
            pair_table_reserve(&r.pairs, count, packed)
        except MemoryError:
            free(rows)
            raise
        with nogil:
            for i in range(count):
                pair_table_put(&r.pairs, rows[3 * i], rows[3 * i + 1], rows[3 * i + 2])
        free(rows)
        return 0

    cdef bytes token(self, int64_t entry):
        cdef VocabTable *t = &self.r.tokens
        return (<char *>t.text.data)[t.offsets[entry]:t.offsets[entry + 1]]

    cdef bint merges_make_tokens(self) except -1:
        """Whether each token with a character beyond ASCII is what merging makes of its bytes, so that for such pieces it is all
        one whether they are looked up or merged."""
        cdef VocabTable *t = &self.r.tokens
        cdef MergeScratch scratch
        cdef int64_t i, k, size, count = 1
        cdef const uint8_t *p
        cdef uint32_t *row = <uint32_t *>malloc(<size_t>(t.longest + 1) * sizeof(uint32_t))
        if row == NULL:
            raise MemoryError("out of memory while merging tokens")
        memset(&scratch, 0, sizeof(MergeScratch))
        with nogil:
            for i in range(t.size):
                p = t.text.data + t.offsets[i]
                size = t.offsets[i + 1] - t.offsets[i]
                for k in range(size):
                    if p[k] >= 128:
                        count = ranks_encode(&self.r, p, size, row, &scratch, False)
                        if count == 1 and row[0] != <uint32_t>i:
                            count = 2
                        break
                if count != 1:
                    break
        merge_scratch_free(&scratch)
        free(row)
        if count == RANKS_NO_MEMORY:
            raise MemoryError("out of memory while merging tokens")
        return count == 1

    def last_merges(self):
        """For each token, in the order of ranks, the entries of the two tokens that are left when its bytes have been merged
        by all lower ranks: an int64 array of shape (n, 2), -1 where it is a single byte or more than two are left."""
        cdef VocabTable *t = &self.r.tokens
        cdef int64_t i, k, n, size, best
        cdef uint32_t rank, lowest
        cdef int64_t[:, ::1] out = np.full((t.size, 2), -1, dtype=np.int64)
        cdef uint32_t *row = <uint32_t *>malloc(<size_t>(t.longest + 1) * sizeof(uint32_t))
        if row == NULL:
            raise MemoryError("out of memory while merging tokens")
        with nogil:
            for i in range(t.size):
                size = t.offsets[i + 1] - t.offsets[i]
                for k in range(size):
                    row[k] = self.r.bytes[t.text.data[t.offsets[i] + k]]
                n = size
                while n > 2:
                    lowest = NO_RANK
                    best = -1
                    for k in range(n - 1):
                        rank = pair_rank(&self.r.pairs, row[k], row[k + 1])
                        if rank < lowest:
                            lowest = rank
                            best = k
                    if best < 0 or lowest >= <uint64_t>i:
                        break
                    row[best] = lowest
                    n -= 1
                    for k in range(best + 1, n):
                        row[k] = row[k + 1]
                # Two that could still be merged by a lower rank cannot: they are the token itself.
                if n == 2 and size >= 2:
                    out[i, 0] = row[0]
                    out[i, 1] = row[1]
        free(row)
        return np.asarray(out)

    def tokens(self):
        """Every token, in the order of ranks."""
        cdef int64_t i
        return [self.token(i) for i in range(self.r.tokens.size)]


cdef uint32_t rank_of(object value) except? 0xFFFFFFFE:
    cdef object number = operator.index(value)
    if not 0 <= number <= 0xFFFFFFFF:
        raise OverflowError(f"{number} is no rank: tokens are numbered from 0 to 2**32 - 1")
    return <uint32_t>number
