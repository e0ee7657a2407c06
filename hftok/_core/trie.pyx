"""A byte trie as an edge table (see trie.pxd): WordPiece vocabularies and added tokens."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

cdef enum:
    MAX_NODES = (1 << 24) - 1


cdef int trie_init(ByteTrie *t, int64_t expected_edges) noexcept nogil:
    cdef int64_t slots = 256
    memset(t, 0, sizeof(ByteTrie))
    while slots < expected_edges * 2 and slots < <int64_t>1 << 30:
        slots *= 2
    t.edges = <Edge *>calloc(<size_t>slots, sizeof(Edge))
    t.node_capacity = expected_edges + 16
    t.values = <uint32_t *>malloc(<size_t>t.node_capacity * 4)
    if t.edges == NULL or t.values == NULL:
        trie_free(t)
        return -1
    t.mask = <uint32_t>(slots - 1)
    t.n_nodes = 1
    t.values[0] = TRIE_NONE
    return 0


cdef void trie_free(ByteTrie *t) noexcept nogil:
    free(t.edges)
    free(t.values)
    memset(t, 0, sizeof(ByteTrie))


cdef inline uint32_t _home(uint32_t key) noexcept nogil:
    return <uint32_t>((<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15) >> 32)


cdef int _grow_edges(ByteTrie *t) noexcept nogil:
    cdef int64_t slots = (<int64_t>t.mask + 1) * 2, i
    cdef Edge *edges = <Edge *>calloc(<size_t>slots, sizeof(Edge))
    cdef uint32_t slot, mask = <uint32_t>(slots - 1)
    if edges == NULL:
        return -1
    for i in range(<int64_t>t.mask + 1):
        if t.edges[i].key:
            slot = _home(t.edges[i].key) & mask
            while edges[slot].key:
                slot = (slot + 1) & mask
            edges[slot] = t.edges[i]
    free(t.edges)
    t.edges = edges
    t.mask = mask
    return 0


cdef uint32_t trie_add(ByteTrie *t, uint32_t node, const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i
    cdef uint32_t key, slot
    cdef uint32_t *values
    for i in range(size):
        key = ((node << 8) | text[i]) + 1
        slot = _home(key) & t.mask
        while t.edges[slot].key != 0 and t.edges[slot].key != key:
            slot = (slot + 1) & t.mask
        if t.edges[slot].key == key:
            node = t.edges[slot].child
            continue
        if t.n_nodes >= MAX_NODES:
            return TRIE_NONE
        if t.n_nodes == t.node_capacity:
            values = <uint32_t *>realloc(t.values, <size_t>t.node_capacity * 8)
            if values == NULL:
                return TRIE_NONE
            t.values = values
            t.node_capacity *= 2
        node = <uint32_t>t.n_nodes
        t.values[node] = TRIE_NONE
        t.n_nodes += 1
        t.edges[slot].key = key
        t.edges[slot].child = node
        t.n_edges += 1
        if t.n_edges * 4 > (<int64_t>t.mask + 1) * 3:
            if _grow_edges(t) != 0:
                return TRIE_NONE
    return node


cdef uint32_t trie_find(const ByteTrie *t, uint32_t node, const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i
    for i in range(size):
        node = trie_step(t, node, text[i])
        if node == TRIE_NONE:
            return TRIE_NONE
    return node
