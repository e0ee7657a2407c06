# A set of byte strings as a double array: walks byte by byte, with a score and an id at the strings' ends.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    TRIE_END = 0x80000000    # of Unit.base: a string ends here
    TRIE_FREE = 0xFFFFFFFF   # of Unit.check: no node
    STEP_END = 0x100         # of Trie.steps: a string ends here
    STEP_BASE = 9            # ... the bits above the label and STEP_END

cdef struct Unit:
    uint32_t base            # child by byte b is at base ^ b; upper bit: TRIE_END
    uint32_t check           # the parent's index

# The first steps of a walk, which are the same for all that begins with a character.
cdef struct TrieStart:
    uint32_t unit            # of the character; 0: no string begins with it
    uint32_t step            # that unit's; 0: that of a unit without children

cdef enum:
    TRIE_STARTS = 0x10000

cdef struct Trie:
    Unit *units              # a multiple of 256; the root is unit 0
    uint32_t *ids            # of the string that ends at a unit
    const double *scores     # by id; not the trie's own
    # A unit in four bytes, for walks: label, STEP_END, base. Child b of a node is at base ^ b if its label is b, because no two
    # nodes have one base. The root's is steps[0]. NULL in a trie of more than 2**23 units: their bases do not fit.
    uint32_t *steps
    TrieStart *starts        # where a character below U+10000 leads, by code point, where there are steps; or NULL
    uint32_t *codes          # scores by unit, in half the bytes (`coded_score`), where there are steps; or NULL
    int64_t size
    int64_t capacity

# A negative score of 2**-64 to 2**64 that is a number of 32 bits, or one of its two neighbours in 64 bits, as a code: SentencePiece's
# scores are 32-bit numbers, which come out of JSON a bit off (serde_json reads decimals without rounding the last bit). The code is
# the upper 32 bits of the number without its sign, from that exponent on, and 0, 1 or 2 for the neighbour.
cdef enum:
    CODE_NONE = 0            # another score: see `scores`
    CODE_SHIFT = 29          # bits that a number of 64 bits has more

cdef extern from *:
    """
    /* -(2**-64) less one bit: its neighbour. */
    #define HFTOK_CODE_FIRST ((uint64_t)0xBBF0000000000000ULL - 1)
    """
    uint64_t CODE_FIRST "HFTOK_CODE_FIRST"

cdef inline double coded_score(uint32_t code) noexcept nogil:
    """The score of a code that is not CODE_NONE."""
    cdef uint64_t bits = (<uint64_t>(code & ~<uint32_t>3) << (CODE_SHIFT - 2)) + (code & 3) + CODE_FIRST
    cdef double score
    memcpy(&score, &bits, 8)
    return score


cdef inline uint32_t code_of(double score) noexcept nogil:
    """The code of a score, or CODE_NONE."""
    cdef uint64_t bits, low
    memcpy(&bits, &score, 8)
    bits -= CODE_FIRST
    low = bits & ((<uint64_t>1 << CODE_SHIFT) - 1)
    if low > 2 or bits >> (CODE_SHIFT + 30):
        return CODE_NONE
    return <uint32_t>(bits >> CODE_SHIFT) << 2 | <uint32_t>low


cdef inline double unit_score(const Trie *t, uint32_t unit) noexcept nogil:
    """The score of the string that ends at a unit; with steps."""
    cdef uint32_t code = t.codes[unit]
    return coded_score(code) if code != CODE_NONE else t.scores[t.ids[unit]]


cdef inline uint32_t trie_child(const Trie *t, uint32_t node, uint8_t b) noexcept nogil:
    """The child of a node by one byte, or 0 (the root is nobody's child)."""
    cdef uint32_t child = (t.units[node].base & <uint32_t>0x7FFFFFFF) ^ b
    return child if t.units[child].check == node else 0


cdef inline int64_t trie_find(const Trie *t, const uint8_t *p, int64_t n) noexcept nogil:
    """Id of a string, or -1. The empty string is never found."""
    cdef uint32_t node = 0
    cdef int64_t i
    for i in range(n):
        node = trie_child(t, node, p[i])
        if node == 0:
            return -1
    if n == 0 or not t.units[node].base & <uint32_t>TRIE_END:
        return -1
    return <int64_t>t.ids[node]

# Build from strings that lie one after the other in `text`, string i in [offsets[i], offsets[i + 1]); of equal strings the
# last one's id and score hold; empty strings are passed over. `scores` stays with the trie, and must live as long. 0, or -1 when
# out of memory or beyond 2**31 units.
cdef int trie_build(
    Trie *t, const uint8_t *text, const int64_t *offsets, const double *scores, int64_t n) noexcept nogil
# Make `starts` of a trie that has steps. 0, or -1 when out of memory.
cdef int trie_starts(Trie *t) noexcept nogil
cdef void trie_free(Trie *t) noexcept nogil
