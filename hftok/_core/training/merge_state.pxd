# The state of the textbook merge engine: see merge_state.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memset

from hftok._core.training.pair_index cimport PairQueue, PairTable
from hftok._core.training.progress cimport Watch
from hftok._core.training.slots cimport FIRST_ID, Slots, WordSource
from hftok._core.training.token_strings cimport TokenStrings

cdef enum:
    # What engine_run and its parts return
    ENGINE_DONE = 0
    ENGINE_PAUSED = 1           # call again
    ENGINE_COLLISION = 2        # a merge would form a token that exists: this text is for affix_engine
    ENGINE_NO_MEMORY = 3

cdef enum:
    # Engine.role
    IS_LEFT = 1
    IS_RIGHT = 2

cdef enum:
    PASS_RULES = 64             # most rules in a pass
    CODES = PASS_RULES + 1      # 0, and a small number for each
    NARROW_IDS = 65536          # internal ids that a uint16 slot can hold
    LONG_WORK = 1 << 22         # slots from which a batch is worth looking at the clock in between

# One merge of the batch in work.
cdef struct Rule:
    uint32_t left
    uint32_t right
    uint32_t made               # the id that it makes (internal ids, as in the slots)
    int worker                  # whose lists hold the results
    int64_t row
    uint32_t *place             # where it occurs; the true occurrences after they are rewritten
    int64_t places
    int64_t first_near          # where its neighbours are kept
    int64_t first_loss, losses
    int64_t first_birth, births

# A neighbour id of a merge's occurrences, on one side.
cdef struct Neighbour:
    int64_t weight
    uint32_t places
    uint32_t birth              # 1 + its birth, within the rule

cdef struct Loss:
    int64_t row
    int64_t weight

cdef struct Birth:
    uint64_t key
    int64_t count
    uint32_t *place
    int64_t places

# What one thread writes.
cdef struct Worker:
    int64_t *left_sum           # passes: weight by rule and left neighbour
    int64_t *right_sum
    int64_t cells
    int64_t applied
    Neighbour *left             # lists: by neighbour id
    Neighbour *right
    uint32_t *touched           # the neighbour ids in use, left ones from the front, right ones after them
    Loss *loss
    int64_t losses, loss_capacity
    Birth *birth
    int64_t births, birth_capacity
    void *block                 # occurrence lists of newborn pairs: chained blocks, filled from the front
    int64_t block_used, block_size
    int64_t block_bytes
    int failed

cdef struct Engine:
    # Settings
    int64_t vocab_size
    int64_t least               # no merge below this count; at least 1
    int64_t max_length          # a newborn pair's two lengths must sum to less
    int64_t memory_limit        # bytes for occurrence lists and rows; INT64_MAX: no limit
    const uint8_t *prefix
    int64_t prefix_size
    int threads
    Watch *watch                # asked whether to go on; where not, work ends with ENGINE_NO_MEMORY
    int64_t pass_share          # a batch that occurs in fewer than 1 / pass_share of the slots goes by lists
    int64_t batch_limit         # most rules in a batch
    int64_t spare_rows          # pairs to keep beyond twice the merges still to make
    int64_t sum_cells           # passes: cells of a thread's sums, on a side
    int64_t serial_places       # lists: batches with fewer occurrences are not worth waking threads for
    int64_t dense_ids           # up to this many ids pairs are counted in a matrix
    # State
    Slots slots
    TokenStrings strings        # of vocabulary ids (internal id - FIRST_ID)
    uint8_t *live               # by vocabulary id: the token occurs, or has occurred, in the text
    int64_t *length             # by vocabulary id: symbols per token
    uint32_t *span              # by internal id: slots per token, since the slots were last closed up
    uint8_t *role               # by internal id: place in the batch's rules
    uint8_t *left_code          # by internal id: passes' small numbers for the left ids of a batch, and the right ones
    uint8_t *right_code
    int64_t id_capacity
    uint32_t *merge             # left, right, made per merge
    int64_t merges, merge_capacity
    PairTable table
    PairQueue queue
    int64_t threshold           # the table and queue are complete from this count on
    int64_t row_limit
    bint listed                 # occurrence lists are in place
    uint32_t **place            # by row
    uint32_t *places
    int64_t row_capacity
    uint32_t *place_block       # the lists made by the last scan
    int64_t place_block_size
    Rule *rule
    int64_t rules, rule_capacity
    uint32_t first_made         # the batch makes ids first_made .. first_made + rules - 1
    int64_t row_width           # passes: internal ids when the batch was chosen
    uint8_t *match              # passes: rule + 1 by left code and right code
    int64_t applied             # passes: merged occurrences in a pass, a moving average
    Worker *worker
    void *near                  # lists: left and right neighbour of each occurrence in the batch, as slots
    int64_t near_capacity
    bint near_wide
    int64_t *segment_end        # lists: by segment
    # Statistics
    int64_t passes, batches, scans

cdef int engine_init(Engine *e, int threads) noexcept nogil
cdef int engine_load(Engine *e, const WordSource *words, const int64_t *used, int64_t n) noexcept nogil
cdef void engine_free(Engine *e) noexcept nogil
cdef int reserve_ids(Engine *e, int64_t ids) noexcept nogil
cdef int reserve_rows(Engine *e, int64_t rows) noexcept nogil
cdef int reserve_merges(Engine *e) noexcept nogil
cdef uint32_t *take_places(Worker *w, int64_t n) noexcept nogil
cdef void drop_lists(Engine *e) noexcept nogil
cdef int64_t wanted_rows(const Engine *e) noexcept nogil
cdef int64_t add_row(Engine *e, uint64_t key, int64_t count) noexcept nogil
cdef int prune(Engine *e) noexcept nogil
cdef void end_batch(Engine *e) noexcept nogil


cdef inline int grow(void **p, int64_t old, int64_t new, size_t item, bint zeroed) noexcept nogil:
    cdef void *grown = realloc(p[0], <size_t>new * item)
    if grown == NULL:
        return -1
    p[0] = grown
    if zeroed:
        memset(<char *>grown + <size_t>old * item, 0, <size_t>(new - old) * item)
    return 0


cdef inline bint made_now(const Engine *e, uint32_t id) noexcept nogil:
    """Whether the batch in work makes this id."""
    return <uint32_t>(id - e.first_made) < <uint32_t>e.rules


cdef inline bint born(const Engine *e, uint32_t left, uint32_t right, int64_t count) noexcept nogil:
    """Whether a newborn pair is to be kept. Its length is checked now, once (`merge` of models/bpe/word.rs)."""
    return count >= e.threshold and e.length[left - FIRST_ID] + e.length[right - FIRST_ID] < e.max_length
