# A byte trie as an edge table: (node, byte) -> node in one open-addressed array. Quick to build (one probe per byte, no
# sorting), one probe per byte to walk. Immutable once built.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef enum:
    TRIE_NONE = 0xFFFFFFFF

cdef struct Edge:
    uint32_t key             # node << 8 | byte, plus 1 (0 = empty)
    uint32_t child

cdef struct ByteTrie:
    Edge *edges
    uint32_t mask
    int64_t n_edges
    uint32_t *values         # per node: the value of the string that ends there, or TRIE_NONE
    int64_t n_nodes
    int64_t node_capacity

cdef int trie_init(ByteTrie *t, int64_t expected_edges) noexcept nogil
cdef void trie_free(ByteTrie *t) noexcept nogil
# The node of a string, made if need be; TRIE_NONE where memory or node numbers (2^24) run out.
cdef uint32_t trie_add(ByteTrie *t, uint32_t node, const uint8_t *text, int64_t size) noexcept nogil
cdef uint32_t trie_find(const ByteTrie *t, uint32_t node, const uint8_t *text, int64_t size) noexcept nogil

cdef inline uint32_t trie_step(const ByteTrie *t, uint32_t node, uint8_t byte) noexcept nogil:
    """The child of node by byte, or TRIE_NONE."""
    cdef uint32_t key = ((node << 8) | byte) + 1
    cdef uint32_t slot = <uint32_t>((<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15) >> 32) & t.mask
    cdef Edge e
    while True:
        e = t.edges[slot]
        if e.key == key:
            return e.child
        if e.key == 0:
            return TRIE_NONE
        slot = (slot + 1) & t.mask
