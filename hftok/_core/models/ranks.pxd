# A BPE vocabulary given by ranks alone: bytes -> rank. See ranks.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.models.merges cimport MergeScratch, PairTable
from hftok._core.models.vocab_map cimport VocabTable

cdef enum:
    RANKS_NO_MEMORY = -1
    RANKS_EMPTY = -2         # nothing to encode, and the vocabulary has no empty token
    RANKS_NO_BYTE = -3       # a byte that is no token is left over

cdef struct Ranks:
    VocabTable tokens        # entry i is the token of the i-th lowest rank, which is ids[i]
    PairTable pairs          # of entries; a byte that is no token is symbol size + byte
    uint32_t bytes[256]      # the symbols of single bytes

# Entries of a piece's tokens, into `out` (room for n, at least 1): their number, or RANKS_*. Whole: the piece may be a
# token as it is, whatever merging would give.
cdef int64_t ranks_encode(
    const Ranks *r, const uint8_t *piece, int64_t n, uint32_t *out, MergeScratch *s, bint whole) noexcept nogil

cdef class RankTable:
    """Tokens and their ranks; immutable."""
    cdef Ranks r
    cdef readonly uint32_t largest           # the largest rank
    cdef int fill(self, dict ranks) except -1
    cdef int build_pairs(self) except -1
    cdef bytes token(self, int64_t entry)
    cdef bint merges_make_tokens(self) except -1         # ... all of them that have a character beyond ASCII
