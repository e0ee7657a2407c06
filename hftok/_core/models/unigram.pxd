# Unigram segmentation of one pre-token; see unigram.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from hftok._core.double_array cimport Trie
from hftok._core.models.lattice cimport Lattice
from hftok._core.models.model cimport Model, ModelToken, TokenVec
from hftok._core.models.piece_list cimport PieceList
from hftok._core.random cimport Random
from hftok._core.stored cimport Block

cdef class Pieces:
    """Read-only pieces with their scores, as a trie; shared by the models that differ in options only."""
    cdef Trie trie
    cdef PieceList pieces
    cdef Block block             # keeps the memory of arrays that are borrowed
    cdef bint borrowed
    cdef readonly int64_t size
    cdef double min_score
    cdef int find_byte_ids(self) except -1
    cdef int64_t byte_ids[256]   # "<0x00>" ...; -1: not in the vocabulary

# The best way to end at a position: the last piece and the score up to here.
cdef struct Best:
    double score
    uint32_t unit            # the piece's unit in the trie; 0: an unknown character
    uint32_t length          # its bytes; 0: nothing ends here (yet)

cdef struct UnigramScratch:
    Best *best
    int64_t capacity
    Lattice lattice
    Random random

cdef class UnigramModel(Model):
    cdef Pieces pieces
    cdef list _vocab_list                    # [(piece, score), ...] by id; None: `make_pieces` gives it when it is asked for
    cdef object make_pieces
    cdef int64_t _unk_id                     # -1: none
    cdef readonly bint byte_fallback
    cdef readonly object alpha, nbest_size
    cdef double unk_score
    cdef double alpha_value
    cdef int64_t nbest_value                 # 0: from all paths
    cdef bint sampling                       # alpha is set and not 0: no cache may keep an answer
    cdef bint fixed_seed
    cdef uint64_t seed

    cdef int set_options(self, object unk_id, bint byte_fallback, object alpha, object nbest_size) except -1
    cdef int best_path(self, const uint8_t *text, int64_t size, UnigramScratch *s) noexcept nogil
    cdef ModelToken *put_unknown(self, const uint8_t *text, int64_t start, int64_t end, ModelToken *last) noexcept nogil
    cdef int emit_best(self, const uint8_t *text, int64_t size, UnigramScratch *s, TokenVec *out) noexcept nogil
    cdef int emit_path(self, const uint8_t *text, UnigramScratch *s, TokenVec *out) noexcept nogil
