# Unigram training's lattices: see lattice.pyx.
from libc.stdint cimport int32_t, int64_t, uint32_t

from hftok._core.training.progress cimport Watch

cdef struct PieceNode:
    uint32_t symbol
    int32_t id                  # the piece that ends here, or -1
    uint32_t first              # its children stand together, by ascending symbol
    uint32_t children

# Pieces by their symbols. Node 0 is no node.
cdef struct PieceTrie:
    uint32_t *root              # by first symbol
    uint32_t symbols
    PieceNode *node
    int64_t nodes
    int64_t capacity

cdef struct Edge:
    uint32_t begin
    uint32_t end
    int32_t id
    int32_t before              # best paths: the edge before it, -1 for the beginning
    int32_t next                # the next edge with the same end, in order of beginnings
    double best                 # score of the best path up to and with this edge

cdef struct Hypothesis:
    double fx
    double gx
    int32_t edge                # -1: the beginning; -2: the end
    int32_t next

# What one thread needs for one text at a time.
cdef struct Lattice:
    Edge *edge
    int64_t edges, edge_capacity
    double *alpha               # by position
    double *beta
    int64_t *shift
    int32_t *first              # by position: first and last edge that end there
    int32_t *last
    int64_t positions
    Hypothesis *hypothesis
    int64_t hypotheses, hypothesis_capacity
    int32_t *heap
    int64_t heap_size, heap_capacity
    int failed                  # 1: no memory, 2: not a number

cdef struct PieceModel:
    PieceTrie trie
    const double *score         # by piece id
    const double *probability   # exp(score)
    double unk_score
    double unk_probability
    int64_t longest             # symbols of the longest piece

cdef int sort_pieces(const uint32_t *text, const int64_t *start, int64_t *order, int64_t n, Watch *watch) noexcept nogil
cdef int trie_build(PieceTrie *t, uint32_t symbols, const uint32_t *text, const int64_t *start, const int64_t *order, int64_t n,
                    uint32_t *node) noexcept nogil
cdef void trie_free(PieceTrie *t) noexcept nogil
cdef void lattice_free(Lattice *l) noexcept nogil
cdef void add_expected(const PieceModel *m, Lattice *l, const uint32_t *text, int64_t n, double count,
                       double *expected) noexcept nogil
cdef void add_best(const PieceModel *m, Lattice *l, const uint32_t *text, int64_t n, double count,
                   double *frequency) noexcept nogil
cdef int second_best(const PieceModel *m, Lattice *l, const uint32_t *text, int64_t n, int32_t *path,
                     int64_t *size) noexcept nogil
