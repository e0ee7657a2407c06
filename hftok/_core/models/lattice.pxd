# All ways to cut a text into pieces, and sampling from them; see lattice.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.double_array cimport Trie
from hftok._core.random cimport Random

cdef enum:
    LATTICE_OK = 0
    LATTICE_NO_MEMORY = 1
    LATTICE_BAD_SCORES = 2

cdef struct LatticeNode:
    int64_t id               # of the piece; bos and eos have ids beyond the vocabulary
    int64_t begin
    int64_t length
    int64_t next_ending      # the node after this one among those that end at the same place, or -1
    int64_t best_left        # Viterbi: the node to the left, or -1
    double best_score        # Viterbi: score of the best path up to here
    double score
    double alpha             # log of the weight of all paths up to here

cdef struct Hypothesis:
    int64_t node
    int64_t next             # towards the end of the text, or -1
    double fx
    double gx

cdef struct Lattice:
    LatticeNode *nodes       # 0 is bos, 1 is eos
    int64_t count
    int64_t capacity
    const uint8_t *text
    int64_t size             # of the text
    int64_t *first_beginning # first node that begins at or after each character
    int64_t *first_ending    # -1: none
    int64_t *last_ending
    int64_t positions        # room in these three
    int64_t *path            # the answer: nodes from left to right, bos and eos left out
    int64_t path_length
    int64_t path_capacity
    double *weights
    int64_t weights_capacity
    Hypothesis *hypotheses
    int64_t hypotheses_capacity
    int64_t *agenda
    int64_t agenda_capacity
    int64_t *found           # the hypotheses that reached bos
    int64_t found_capacity

cdef int lattice_fill(
    Lattice *l, const Trie *trie, const uint8_t *text, int64_t size, int64_t unk_id, double unk_score,
    int64_t vocab_size) noexcept nogil
cdef int lattice_sample(Lattice *l, double theta, Random *random) noexcept nogil
cdef int lattice_sample_nbest(Lattice *l, int64_t n, double theta, Random *random) noexcept nogil
cdef void lattice_free(Lattice *l) noexcept nogil
