# The text of a training run as slots: see slots.pyx.
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t

from hftok._core.text cimport utf8_decode
from hftok._core.training.progress cimport Watch

# Slot values: two marks, then id + FIRST_ID. Shifting all ids alike keeps their order, and a mark is then an ordinary small
# index, so that kernels need no test for it.
cdef enum:
    LOOK = 1 << 20          # symbols, about, between two looks at a Watch

cdef enum:
    GAP = 0                 # the end of a word
    DEAD = 1                # inside a token that spans three slots or more
    FIRST_ID = 2

ctypedef fused slot_t:
    uint16_t
    uint32_t

# Words with counts, and the internal id of each of their symbols (0: the symbol is dropped).
cdef struct WordSource:
    const uint8_t *text
    const int64_t *offset       # n + 1
    const uint64_t *count
    int64_t n
    bint characters             # a symbol is a code point (text is valid UTF-8), else a byte
    bint drops                  # some symbol of some word is dropped
    const uint32_t *inner       # by code point or byte: for symbols that are neither first nor last in the word,
    const uint32_t *first       # first but not last,
    const uint32_t *last        # last but not first,
    const uint32_t *only        # first and last

# A run of slots whose words all have the same count.
cdef struct Segment:
    int64_t start
    int64_t size
    int64_t weight

cdef struct Slots:
    void *data
    bint wide                   # uint32 slots, else uint16
    int64_t capacity
    Segment *segment            # ascending, disjoint; each holds whole words and ends with a GAP
    int64_t segments
    int64_t *chunk              # the first segment of each chunk (chunks + 1 entries): the units of parallel work
    int64_t chunks
    int64_t chunk_size          # slots that a chunk should have

cdef void slots_zero(Slots *s) noexcept nogil
cdef void slots_free(Slots *s) noexcept nogil
cdef int64_t slots_used(const Slots *s) noexcept nogil
cdef int slots_layout(Slots *s, const WordSource *words, bint wide, Watch *watch) noexcept nogil
cdef int slots_gather(Slots *s, const uint32_t *span, Watch *watch) noexcept nogil
cdef int slots_widen(Slots *s) noexcept nogil


cdef inline int64_t word_write(const WordSource *w, int64_t i, slot_t *out) noexcept nogil:
    """Write the internal ids of word i; returns how many. Places count from the word as given, dropped symbols included
    (tokenize_words in models/bpe/trainer.rs: the affixes of a symbol are chosen before its neighbours are dropped)."""
    cdef const uint8_t *p = w.text + w.offset[i]
    cdef const uint8_t *end = w.text + w.offset[i + 1]
    cdef const uint32_t *table
    cdef int64_t n = 0
    cdef int length = 1
    cdef uint32_t c, id
    cdef bint first = True
    while p < end:
        if w.characters:
            c = utf8_decode(p, &length)
        else:
            c = p[0]
        p += length
        if first:
            table = w.only if p >= end else w.first
            first = False
        else:
            table = w.last if p >= end else w.inner
        id = table[c]
        if id:
            out[n] = <slot_t>id
            n += 1
    return n


cdef inline int64_t word_size(const WordSource *w, int64_t i) noexcept nogil:
    """How many ids word_write would write."""
    cdef const uint8_t *p = w.text + w.offset[i]
    cdef const uint8_t *end = w.text + w.offset[i + 1]
    cdef const uint32_t *table
    cdef int64_t n = 0
    cdef int length = 1
    cdef uint32_t c
    cdef bint first = True
    if not w.drops:
        if not w.characters:
            return end - p
        while p < end:
            n += (p[0] & 0xC0) != 0x80
            p += 1
        return n
    while p < end:
        if w.characters:
            c = utf8_decode(p, &length)
        else:
            c = p[0]
        p += length
        if first:
            table = w.only if p >= end else w.first
            first = False
        else:
            table = w.last if p >= end else w.inner
        n += table[c] != 0
    return n
