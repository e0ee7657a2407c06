# Text to token numbers by ranks: pieces, caches, special tokens. See rank_bpe.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.chunk_cache cimport ChunkCache, ht_key
from hftok._core.models.merges cimport MergeScratch
from hftok._core.models.ranks cimport RankTable
from hftok._core.models.safe_cuts cimport CutTable, SafeCuts
from hftok._core.models.vocab_map cimport VocabTable
from hftok._core.normalized cimport PreTokenized
from hftok._core.rust_pattern cimport RustPattern
from hftok._core.scanners.pattern_words cimport PatternRule
from hftok._core.worker cimport boundaries_fn

cdef enum:
    RANK_OK = 0
    RANK_NO_MEMORY = -1
    RANK_EMPTY = -2          # the pattern matched nothing at all, which is no token
    RANK_NO_BYTE = -3
    RANK_PATTERN = -4        # the matcher gave up
    RANK_ENDLESS = -5        # an allowed special token is empty

# What one thread owns while it encodes.
cdef struct RankWorker:
    PreTokenized matcher     # the pattern's stack
    uint8_t *slice           # a slice of the text, with what a scanner may read around it
    uint32_t *starts         # where its pieces begin
    uint32_t *parts          # ... and the parts of them that are encoded by themselves
    int64_t slice_capacity
    MergeScratch merge
    ChunkCache cache
    int64_t budget
    uint32_t *row            # entries of one piece
    int64_t row_capacity
    uint32_t *ids            # the output
    int64_t n_ids
    int64_t capacity
    int64_t last             # how many of them the last piece gave; 0 after a special token
    RankWorker *next

cdef class RankEncoder:
    """Pattern, ranks and special tokens; immutable but for its pool of workers."""
    cdef readonly RankTable table
    cdef RustPattern pattern
    cdef boundaries_fn boundaries    # the scanner of the pattern's family, or NULL
    cdef bint cuttable               # ... and it ends no piece inside a character
    cdef int64_t seen                # bytes of text beyond ASCII, until `prove` has run
    cdef SafeCuts safe_cuts
    cdef const CutTable *cuts        # its table, or NULL: pieces are not cut
    cdef PatternRule rule            # of the pattern, if it is one of the usual ones
    cdef VocabTable specials         # entry -> number
    cdef uint32_t *order             # where specials begin alike: their order in the reference, else NULL
    cdef uint8_t first[256]          # bytes that special tokens begin with; all, if one is empty
    cdef int only_first              # the byte that all of them begin with, or -1
    cdef int64_t *lengths            # the different lengths of specials, in bytes
    cdef int64_t n_lengths
    cdef readonly bint has_empty
    cdef public bint skips_empty     # empty pieces are nothing, not an error
    cdef RankWorker *idle

    cdef RankWorker *take(self, int64_t budget) except NULL
    cdef void give(self, RankWorker *w)
    # The special token at p, of n bytes that are left: its entry, or -1.
    cdef int64_t special_at(self, const uint8_t *p, int64_t n) noexcept nogil
    # The first special token from `at` on that `chosen` (NULL: every one) has: its entry, and its place in `at`; or -1.
    cdef int64_t find_special(self, const uint8_t *text, int64_t size, int64_t *at, const uint8_t *chosen) noexcept nogil
    # Whether the text holds one of the chosen ones anywhere: the entry of the leftmost, or -1.
    cdef int64_t holds_special(self, const uint8_t *text, int64_t size, const uint8_t *chosen) noexcept nogil
    # Where the pieces are: the end of the first one that begins at `at` or later, and its beginning in `start`; negative
    # at the end. `last` is the end of the piece before, -1 at first.
    cdef int64_t next_piece(
        self, RankWorker *w, const uint8_t *text, int64_t size, int64_t at, int64_t last, int64_t *start) noexcept nogil
    # Append the tokens of a text without, and with, special tokens: RANK_OK or another RANK_*.
    cdef int ordinary(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil
    cdef int encode(self, RankWorker *w, const uint8_t *text, int64_t size, const uint8_t *allowed) noexcept nogil
    # The same for one piece; `whole`: look it up before merging.
    cdef int piece(self, RankWorker *w, const uint8_t *p, int64_t n, bint whole) noexcept nogil
    cdef int cached_piece(self, RankWorker *w, const uint8_t *p, int64_t n) noexcept nogil
    cdef int keyed_piece(
        self, RankWorker *w, const uint8_t *p, int64_t n, const ht_key *key, uint32_t hash) noexcept nogil
    cdef int new_piece(self, RankWorker *w, const uint8_t *p, int64_t n) noexcept nogil
    # Told of text beyond ASCII: sees at some point whether pieces can be cut.
    cdef int saw(self, int64_t size) except -1
    # `ordinary` where there is a scanner for the pattern, where there is a rule, and for any pattern.
    cdef int scanned(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil
    cdef int usual(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil
    cdef int matched(self, RankWorker *w, const uint8_t *text, int64_t size) noexcept nogil
    cdef int64_t candidate(self, const uint8_t *text, int64_t size, int64_t at) noexcept nogil

cdef int rank_check(int error) except -1
