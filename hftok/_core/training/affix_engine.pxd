# The merge engine for texts where strings are made in several ways: see affix_engine.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from hftok._core.training.pair_index cimport PairTable
from hftok._core.training.progress cimport Watch
from hftok._core.training.slots cimport WordSource
from hftok._core.training.token_strings cimport TokenStrings

# A pair in the queue, with the words in which it was born: the reference's `Merge`.
cdef struct Candidate:
    uint64_t count
    uint64_t key
    int64_t list

cdef struct WordList:
    int64_t *word
    int64_t size
    int64_t capacity

cdef struct AffixEngine:
    # Settings
    int64_t vocab_size
    uint64_t min_frequency
    int64_t max_length
    const uint8_t *prefix
    int64_t prefix_size
    # State
    TokenStrings strings
    uint32_t *id                # symbols of all words; each word shrinks in place
    int64_t *length             # initial symbols under each
    int64_t *start              # by word
    int64_t *size
    uint64_t *count
    int64_t words
    PairTable table             # every pair ever seen, negative counts too
    PairTable fresh             # pairs born by the merge in work; the count is the index of their list
    WordList *list
    int64_t lists, list_capacity
    int64_t *free_list
    int64_t free_lists
    Candidate *candidate        # heap
    int64_t candidates, candidate_capacity
    uint32_t *merge             # left, right, made per merge
    int64_t merges, merge_capacity
    int64_t below_zero          # merges whose count was below zero

cdef int affix_init(AffixEngine *e) noexcept nogil
cdef int affix_load(AffixEngine *e, const WordSource *words, Watch *watch) noexcept nogil
cdef int affix_run(AffixEngine *e, int64_t work) noexcept nogil
cdef void affix_free(AffixEngine *e) noexcept nogil
