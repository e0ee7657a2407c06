from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from hftok._core.exact cimport ExactState
from hftok._core.models.model cimport Model
from hftok._core.normalizers cimport NormalizerProgram
from hftok._core.worker cimport CharEntry, CharTables

cdef enum ClassRule:
    RULE_WHITESPACE = 0      # white space is dropped
    RULE_BERT = 1            # ... and punctuation isolated
    RULE_WORDS = 2           # white space dropped, \w and the rest are runs (Whitespace)
    RULE_PUNCT_ISOLATED = 3
    RULE_PUNCT_REMOVED = 4
    RULE_PUNCT_RUNS = 5
    RULE_DIGIT_ISOLATED = 6
    RULE_DIGIT_RUNS = 7
    RULE_SPACE = 8           # spaces are dropped, other white space is not
    RULE_LETTERS = 9         # white space dropped, numbers isolated, letters and the rest are runs (recognise_runs)

cdef enum:
    MAX_RULES = 8

# Whether NFC may change a character with DEPENDS_MARK behind another one.
cdef bint joins_before(uint32_t before, uint32_t cp) noexcept nogil

cdef class CharClassifier:
    cdef CharTables t
    cdef Model model
    cdef NormalizerProgram full
    cdef NormalizerProgram before_composing      # the stages before the NFC or NFKC one
    cdef bint composes
    cdef int stable                              # bit of uc_stable that tells that a character passes that stage as it is
    cdef bint first_composes                     # NFC sees the raw text
    cdef bint decomposes
    cdef bint finish_all
    cdef bint in_bytes                           # ByteLevel comes behind: the model sees other characters than chunks have
    cdef uint32_t mark                           # the word mark, which chunks leave out; 0: none
    cdef bint has_map                            # a stage looks up grapheme clusters (Precompiled) ...
    cdef NormalizerProgram before_map            # ... behind these; None: it sees the raw text
    cdef uint8_t doubles[128]                    # ASCII pairs that a stage replaces: the second of the first; 0: none
    cdef int rules[MAX_RULES]
    cdef int n_rules
    cdef int labels[3]                           # label of run class 1, 2, 3; -1 = not taken yet
    cdef readonly bint drops_whitespace
    cdef readonly bint keeps_nul                 # NUL may be part of a chunk: documents with it go to the exact path
    cdef void _assign(self, int label) noexcept nogil
    cdef int _label(self, int label) noexcept nogil
    cdef int classify(self, uint32_t cp) noexcept nogil
    cdef bint joins(self, uint32_t cp) noexcept nogil
    cdef int make_entry(self, ExactState *x, uint32_t cp, CharEntry *entry) noexcept nogil
    cdef CharEntry *make_page(self, uint32_t page) noexcept nogil
    cdef _make_ascii(self, bytes second_bytes)
