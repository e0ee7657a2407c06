# A set of byte strings as a double array: walks byte by byte, with a score and an id at the strings' ends.
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef enum:
    TRIE_END = 0x80000000    # of Unit.base: a string ends here
    TRIE_FREE = 0xFFFFFFFF   # of Unit.check: no node
    STEP_END = 0x100         # of Trie.steps: a string ends here
    STEP_BASE = 9            # ... the bits above the label and STEP_END

cdef struct Unit:
    uint32_t base            # child by byte b is at base ^ b; upper bit: TRIE_END
    uint32_t check           # the parent's index

cdef struct Trie:
    Unit *units              # a multiple of 256; the root is unit 0
    double *scores           # of the string that ends at a unit
    uint32_t *ids            # its id
    # A unit in four bytes, for walks: label, STEP_END, base. Child b of a node is at base ^ b if its label is b, because no two
    # nodes have one base. The root's is steps[0]. NULL in a trie of more than 2**23 units: their bases do not fit.
    uint32_t *steps
    float *short_scores      # the scores, where all of them are floats of 32 bits (SentencePiece's are) and there are steps; or NULL
    int64_t size
    int64_t capacity

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
# last one's id and score hold; empty strings are passed over. 0, or -1 when out of memory or beyond 2**31 units.
cdef int trie_build(
    Trie *t, const uint8_t *text, const int64_t *offsets, const double *scores, int64_t n) noexcept nogil
cdef void trie_free(Trie *t) noexcept nogil
