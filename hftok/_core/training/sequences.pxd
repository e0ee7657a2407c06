# One sequence to its words: see sequences.pyx.
from libc.stdint cimport int64_t, uint8_t

from hftok._core.added_tokens cimport Matcher
from hftok._core.char_tables cimport CharClassifier
from hftok._core.exact cimport ExactState, Pipeline
from hftok._core.models.model cimport Model
from hftok._core.rust_pattern cimport RustPattern
from hftok._core.scanners.pattern_words cimport PatternRule
from hftok._core.training.tally cimport Tally
from hftok._core.worker cimport Kernels, Worker

cdef enum Way:
    WAY_EXACT = 0
    WAY_CLASSES = 1             # the engine's character class scanner
    WAY_PATTERN = 2
    WAY_METASPACE = 3
    WAY_WHOLE = 4               # the sequence is the word
    WAY_REGEX = 5               # any pattern of the regex crates

cdef struct Plan:
    # How the sequences of a pipeline are read. Pointers are borrowed from the Words object.
    int way
    void *pipeline
    const Kernels *kernels
    const Matcher *raw          # added tokens of either pass; NULL: there are none
    const Matcher *normalized
    bint normalizes
    int stable                  # the normalizers leave texts alone whose code points have these bits of uc_stable; 0: not known
    bint lower                  # ... and which have no capital letters
    bint joint                  # lines need not be told apart
    bint to_bytes               # words of the exact path are written as the bytes behind ByteLevel's characters
    bint to_characters          # words of the pattern are written as these characters
    PatternRule rule
    void *regex                 # RustPattern
    int digits
    bint prefix_space           # ByteLevel puts a space first
    const uint8_t *mark         # Metaspace
    int64_t mark_size
    bint mark_first
    bint mark_splits

cdef struct Lane:
    # What one thread needs.
    const Plan *plan
    Tally *tally
    Worker *scanner             # NULL: not needed
    ExactState exact
    uint8_t *normal             # scratch: the normalized sequence, ...
    int64_t normal_size
    uint8_t *line               # ... the sequence with blanks replaced, ...
    int64_t line_size
    uint8_t *word               # ... and a word in other characters
    int64_t word_size
    uint8_t *transcoded         # for the caller
    int64_t transcoded_size

cdef class Words:
    cdef Plan plan
    cdef Pipeline pipeline
    cdef CharClassifier classifier
    cdef Model model
    cdef RustPattern regex
    cdef bytes mark
    cdef readonly str symbols
    cdef int choose(self, normalizer_spec, list steps) except -1
    cdef int read_normalizer(self, list stages) except -1
    cdef int open_lane(self, Lane *lane, Tally *tally) except -1
    cdef void close_lane(self, Lane *lane) noexcept

# Count the words of one sequence of valid UTF-8; memory may be read up to `limit`. 0, or a PT_* error. What a scanner holds back
# is counted by finish_sequences.
cdef int count_sequence(Lane *lane, const uint8_t *text, int64_t size, const uint8_t *limit) noexcept nogil
cdef void finish_sequences(Lane *lane) noexcept nogil
# A place > at where a sequence may be cut in two that have the same words, or `size` if none is near or there cannot be any.
cdef int64_t cut_sequence(const Plan *plan, const uint8_t *text, int64_t at, int64_t size) noexcept nogil
