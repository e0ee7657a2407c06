"""Segmentations of a text into Unigram pieces: expected counts, the best one, the second best.

What it does: `add_expected` sums each piece's expected count over all segmentations (the E-step), `add_best` counts the
pieces of the best segmentation, `second_best` finds the two best segmentations of a piece's own text. Texts and pieces are
symbols (characters numbered in code point order); a piece trie finds the edges.

Rules of the reference: populate_nodes in models/unigram/model.rs (edges by position and length; a character that is no piece gets
an unknown edge, 10 below the lowest score), populate_marginal, viterbi and nbest in models/unigram/lattice.rs (of equal
scores the first edge in order of beginnings wins; nbest's heap decides between equal hypotheses, so it is the same heap, move for
move).

The reference sums paths as logarithms, two transcendental functions an edge. Here probabilities themselves are added and
multiplied, with powers of two taken out before they get too small: the same sums, rounded differently in the last places,
where the reference differs from run to run as well.
"""
from libc.math cimport isnan, ldexp
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from hftok._core.training.progress cimport Watch, stopped

cdef enum:
    BEGINNING = -1
    END = -2
    SHIFT = 300

cdef double SMALL = ldexp(1.0, -SHIFT)
cdef double LARGE = ldexp(1.0, SHIFT)


# The trie


cdef void trie_free(PieceTrie *t) noexcept nogil:
    free(t.root)
    free(t.node)
    memset(t, 0, sizeof(PieceTrie))


cdef struct PieceText:
    const uint32_t *text
    const int64_t *start

ctypedef int64_t Sorted
ctypedef PieceText SortContext


cdef inline bint comes_before(const int64_t *a, const int64_t *b, const PieceText *pieces) noexcept nogil:
    cdef int64_t i = pieces.start[a[0]]
    cdef int64_t j = pieces.start[b[0]]
    cdef int64_t i_end = pieces.start[a[0] + 1]
    cdef int64_t j_end = pieces.start[b[0] + 1]
    while i < i_end and j < j_end:
        if pieces.text[i] != pieces.text[j]:
            return pieces.text[i] < pieces.text[j]
        i += 1
        j += 1
    return i == i_end and j < j_end


include "merge_sort.pxi"


cdef int sort_pieces(const uint32_t *text, const int64_t *start, int64_t *order, int64_t n, Watch *watch) noexcept nogil:
    """The indices 0 to n - 1 by the symbols of their pieces, equal ones by index. 0, or -1 without memory or where it was told to
    stop."""
    cdef PieceText pieces
    cdef int64_t i
    pieces.text = text
    pieces.start = start
    for i in range(n):
        order[i] = i
    return merge_sort(order, n, &pieces, watch)


cdef struct Branch:             # pieces low .. high - 1 of the order share `depth` symbols, which lead to `node`
    int64_t low
    int64_t high
    int64_t depth
    uint32_t node


cdef int trie_build(PieceTrie *t, uint32_t symbols, const uint32_t *text, const int64_t *start, const int64_t *order, int64_t n,
                    uint32_t *node) noexcept nogil:
    """Make the trie of the n pieces that `order` names, sorted; `node` gets each one's node, by place in the order. Empty pieces
    come first and get node 0. All ids are -1. 0, or -1 without memory.

    Children stand together, and a node's first child's children come right after them: most steps stay on a cache line or two.
    """
    cdef Branch *stack
    cdef Branch *grown
    cdef Branch b
    cdef PieceNode *nodes
    cdef int64_t size = 0
    cdef int64_t capacity = 256
    cdef int64_t i, run, first, k
    cdef uint32_t symbol
    trie_free(t)
    t.symbols = symbols
    t.root = <uint32_t *>calloc(<size_t>symbols + 1, sizeof(uint32_t))
    t.capacity = n + 1024
    t.node = <PieceNode *>malloc(<size_t>t.capacity * sizeof(PieceNode))
    stack = <Branch *>malloc(<size_t>capacity * sizeof(Branch))
    if t.root == NULL or t.node == NULL or stack == NULL:
        free(stack)
        return -1
    t.nodes = 1
    t.node[0].children = 0
    t.node[0].id = -1
    i = 0
    while i < n and start[order[i] + 1] == start[order[i]]:
        node[i] = 0
        i += 1
    stack[0].low = i
    stack[0].high = n
    stack[0].depth = 0
    stack[0].node = 0
    size = 1
    while size:
        size -= 1
        b = stack[size]
        # Pieces that end at this node come first.
        while b.low < b.high and start[order[b.low] + 1] - start[order[b.low]] == b.depth:
            node[b.low] = b.node
            b.low += 1
        if b.low == b.high:
            continue
        first = t.nodes
        i = b.low
        while i < b.high:
            symbol = text[start[order[i]] + b.depth]
            run = i
            while i < b.high and text[start[order[i]] + b.depth] == symbol:
                i += 1
            if t.nodes == t.capacity:
                if 2 * t.capacity >= <int64_t>0xFFFFFFFF:
                    free(stack)
                    return -1
                nodes = <PieceNode *>realloc(t.node, <size_t>(2 * t.capacity) * sizeof(PieceNode))
                if nodes == NULL:
                    free(stack)
                    return -1
                t.node = nodes
                t.capacity *= 2
            if size == capacity:
                grown = <Branch *>realloc(stack, <size_t>(2 * capacity) * sizeof(Branch))
                if grown == NULL:
                    free(stack)
                    return -1
                stack = grown
                capacity *= 2
            k = t.nodes
            t.nodes += 1
            t.node[k].symbol = symbol
            t.node[k].id = -1
            t.node[k].first = t.node[k].children = 0
            if b.depth == 0:
                t.root[symbol] = <uint32_t>k
            stack[size].low = run
            stack[size].high = i
            stack[size].depth = b.depth + 1
            stack[size].node = <uint32_t>k
            size += 1
        if b.depth:
            t.node[b.node].first = <uint32_t>first
            t.node[b.node].children = <uint32_t>(t.nodes - first)
        # The stack is served from its end: turn the new branches round, so that the first child comes next.
        i = size - (t.nodes - first)
        k = size - 1
        while i < k:
            b = stack[i]
            stack[i] = stack[k]
            stack[k] = b
            i += 1
            k -= 1
    free(stack)
    return 0


cdef inline uint32_t trie_step(const PieceTrie *t, uint32_t node, uint32_t symbol) noexcept nogil:
    """The child of a node, 0 where there is none."""
    cdef uint32_t low = t.node[node].first
    cdef uint32_t high = low + t.node[node].children
    cdef uint32_t middle
    while high - low > 4:
        middle = (low + high) >> 1
        if t.node[middle].symbol > symbol:
            high = middle
        else:
            low = middle
    while low < high:
        if t.node[low].symbol == symbol:
            return low
        low += 1
    return 0


# The lattice


cdef void lattice_free(Lattice *l) noexcept nogil:
    free(l.edge)
    free(l.alpha)
    free(l.beta)
    free(l.shift)
    free(l.first)
    free(l.last)
    free(l.hypothesis)
    free(l.heap)
    memset(l, 0, sizeof(Lattice))


cdef int reserve_positions(Lattice *l, int64_t n) noexcept nogil:
    """Room for a text of n symbols. Contents are lost."""
    n += 1
    if n <= l.positions:
        return 0
    n = max(n, 2 * l.positions, <int64_t>64)
    free(l.alpha)
    free(l.beta)
    free(l.shift)
    free(l.first)
    free(l.last)
    l.positions = 0
    l.alpha = <double *>malloc(<size_t>n * sizeof(double))
    l.beta = <double *>malloc(<size_t>n * sizeof(double))
    l.shift = <int64_t *>malloc(<size_t>n * sizeof(int64_t))
    l.first = <int32_t *>malloc(<size_t>n * sizeof(int32_t))
    l.last = <int32_t *>malloc(<size_t>n * sizeof(int32_t))
    if l.alpha == NULL or l.beta == NULL or l.shift == NULL or l.first == NULL or l.last == NULL:
        l.failed = 1
        return -1
    l.positions = n
    return 0


cdef inline int add_edge(Lattice *l, int64_t begin, int64_t end, int32_t id) noexcept nogil:
    cdef int64_t capacity
    cdef void *grown
    if l.edges == l.edge_capacity:
        capacity = max(2 * l.edge_capacity, <int64_t>256)
        if capacity >= <int64_t>0x7FFFFFFF:
            l.failed = 1
            return -1
        grown = realloc(l.edge, <size_t>capacity * sizeof(Edge))
        if grown == NULL:
            l.failed = 1
            return -1
        l.edge = <Edge *>grown
        l.edge_capacity = capacity
    l.edge[l.edges].begin = <uint32_t>begin
    l.edge[l.edges].end = <uint32_t>end
    l.edge[l.edges].id = id
    l.edges += 1
    return 0


cdef inline int add_edges(const PieceTrie *t, Lattice *l, const uint32_t *text, int64_t begin, int64_t n) noexcept nogil:
    """The edges that begin at a position, shortest first, the unknown one (id -1) last."""
    cdef uint32_t node = t.root[text[begin]]
    cdef int64_t end = begin + 1
    cdef bint single = False
    while node:
        if t.node[node].id >= 0:
            if add_edge(l, begin, end, t.node[node].id):
                return -1
            if end == begin + 1:
                single = True
        if end == n:
            break
        node = trie_step(t, node, text[end])
        end += 1
    return 0 if single else add_edge(l, begin, begin + 1, -1)


cdef inline double probability(const PieceModel *m, int32_t id) noexcept nogil:
    return m.unk_probability if id < 0 else m.probability[id]


cdef inline double score(const PieceModel *m, int32_t id) noexcept nogil:
    return m.unk_score if id < 0 else m.score[id]


cdef void add_expected(const PieceModel *m, Lattice *l, const uint32_t *text, int64_t n, double count,
                       double *expected) noexcept nogil:
    """Add count times the expected number of each piece in a segmentation of the text."""
    cdef double *alpha
    cdef double *beta
    cdef int64_t *shift
    cdef int64_t i, b, k, far
    cdef int64_t taken = 0           # binary places taken out so far
    cdef double a, p, v
    cdef Edge *e
    if n == 0 or l.failed or reserve_positions(l, n):
        return
    alpha = l.alpha
    beta = l.beta
    shift = l.shift
    l.edges = 0
    memset(alpha, 0, <size_t>(n + 1) * sizeof(double))
    memset(beta, 0, <size_t>(n + 1) * sizeof(double))
    alpha[0] = 1.0
    far = 0
    for b in range(n + 1):
        # Sums further on are under way; all from b on share one scale.
        while 0.0 < alpha[b] < SMALL:
            for i in range(b, far + 1):
                alpha[i] *= LARGE
            taken += SHIFT
        shift[b] = taken
        if b == n:
            break
        k = l.edges
        if add_edges(&m.trie, l, text, b, n):
            return
        a = alpha[b]
        for i in range(k, l.edges):
            e = &l.edge[i]
            alpha[e.end] += a * probability(m, e.id)
            if e.end > far:
                far = e.end
    if isnan(alpha[n]) or alpha[n] == 0.0:
        l.failed = 2
        return
    beta[n] = 1.0
    taken = 0
    i = l.edges - 1
    while i >= 0:
        # Edges of one beginning.
        b = l.edge[i].begin
        while i >= 0 and l.edge[i].begin == b:
            e = &l.edge[i]
            v = probability(m, e.id) * beta[e.end]
            beta[b] += v
            p = alpha[b] * v / alpha[n]
            k = shift[n] - shift[b] - taken
            if k:
                p = ldexp(p, <int>k)
            expected[0 if e.id < 0 else e.id] += count * p
            i -= 1
        while 0.0 < beta[b] < SMALL:
            for k in range(b, min(b + m.longest, n) + 1):
                beta[k] *= LARGE
            taken += SHIFT


cdef int find_best(const PieceModel *m, Lattice *l, const uint32_t *text, int64_t n) noexcept nogil:
    """Best paths to every edge. The last edge of the best path, or -1 with l.failed set."""
    cdef int64_t b, i, k
    cdef int32_t j, top, before
    cdef double s, best, highest
    cdef bint close
    cdef Edge *e
    if reserve_positions(l, n):
        return -1
    for b in range(n + 1):
        l.first[b] = l.last[b] = -1
    l.edges = 0
    for b in range(n + 1):
        # The first of the highest edges that end here. Adding one more score can round two different sums to the same
        # number, and then the earlier edge wins: only where one is that close are all compared again.
        top = -1
        highest = 0.0
        j = l.first[b]
        while j >= 0:
            if top < 0 or l.edge[j].best > highest:
                top = j
                highest = l.edge[j].best
            j = l.edge[j].next
        close = False
        j = l.first[b]
        while j >= 0 and j != top:
            if highest - l.edge[j].best < 1e-6:
                close = True
            j = l.edge[j].next
        if b == n:
            return top
        k = l.edges
        if add_edges(&m.trie, l, text, b, n):
            return -1
        for i in range(k, l.edges):
            e = &l.edge[i]
            s = score(m, e.id)
            best = highest + s
            before = top
            if close:
                before = -1
                j = l.first[b]
                while j >= 0:
                    if before < 0 or l.edge[j].best + s > best:
                        before = j
                        best = l.edge[j].best + s
                    j = l.edge[j].next
            e.before = before if b else BEGINNING
            e.best = best
            e.next = -1
            if l.first[e.end] < 0:
                l.first[e.end] = <int32_t>i
            else:
                l.edge[l.last[e.end]].next = <int32_t>i
            l.last[e.end] = <int32_t>i
    return -1


cdef void add_best(const PieceModel *m, Lattice *l, const uint32_t *text, int64_t n, double count,
                   double *frequency) noexcept nogil:
    """Add count to each piece of the best segmentation, as often as it stands in it."""
    cdef int32_t i
    if n == 0 or l.failed:
        return
    i = find_best(m, l, text, n)
    while i >= 0:
        frequency[0 if l.edge[i].id < 0 else l.edge[i].id] += count
        i = l.edge[i].before


# The two best paths


cdef inline int add_hypothesis(Lattice *l, int32_t edge, int32_t next, double fx, double gx) noexcept nogil:
    """A new hypothesis, pushed into the heap."""
    cdef int64_t capacity
    cdef void *grown
    cdef Hypothesis *h
    if l.hypotheses == l.hypothesis_capacity:
        capacity = max(2 * l.hypothesis_capacity, <int64_t>256)
        if capacity >= <int64_t>0x7FFFFFFF:
            l.failed = 1
            return -1
        grown = realloc(l.hypothesis, <size_t>capacity * sizeof(Hypothesis))
        if grown == NULL:
            l.failed = 1
            return -1
        l.hypothesis = <Hypothesis *>grown
        l.hypothesis_capacity = capacity
    if l.heap_size == l.heap_capacity:
        capacity = max(2 * l.heap_capacity, <int64_t>256)
        grown = realloc(l.heap, <size_t>capacity * sizeof(int32_t))
        if grown == NULL:
            l.failed = 1
            return -1
        l.heap = <int32_t *>grown
        l.heap_capacity = capacity
    h = &l.hypothesis[l.hypotheses]
    h.edge = edge
    h.next = next
    h.fx = fx
    h.gx = gx
    l.heap_size += 1
    heap_rise(l, l.heap_size - 1, <int32_t>l.hypotheses)
    l.hypotheses += 1
    return 0


cdef inline bint at_most(const Lattice *l, int32_t a, int32_t b) noexcept nogil:
    """The order that the reference's heap sees: two equal hypotheses are each greater than the other (`impl Ord for
    Hypothesis`)."""
    return l.hypothesis[a].fx < l.hypothesis[b].fx


cdef void heap_rise(Lattice *l, int64_t i, int32_t x) noexcept nogil:
    cdef int64_t parent
    while i:
        parent = (i - 1) // 4
        if at_most(l, x, l.heap[parent]):
            break
        l.heap[i] = l.heap[parent]
        i = parent
    l.heap[i] = x


cdef int32_t heap_pop(Lattice *l) noexcept nogil:
    """Take the first: what was last sinks to the bottom by way of the greatest children, then rises."""
    cdef int32_t top = l.heap[0]
    cdef int32_t x
    cdef int64_t i = 0
    cdef int64_t child, a, b, k
    l.heap_size -= 1
    if l.heap_size == 0:
        return top
    x = l.heap[l.heap_size]
    child = 1
    while child + 4 <= l.heap_size:
        a = child + at_most(l, l.heap[child], l.heap[child + 1])
        b = child + 2 + at_most(l, l.heap[child + 2], l.heap[child + 3])
        if at_most(l, l.heap[a], l.heap[b]):
            a = b
        l.heap[i] = l.heap[a]
        i = a
        child = 4 * i + 1
    if child < l.heap_size:
        a = child
        for k in range(child + 1, l.heap_size):
            if at_most(l, l.heap[a], l.heap[k]):
                a = k
        l.heap[i] = l.heap[a]
        i = a
    heap_rise(l, i, x)
    return top


cdef int second_best(const PieceModel *m, Lattice *l, const uint32_t *text, int64_t n, int32_t *path,
                     int64_t *size) noexcept nogil:
    """The two best segmentations of a text of at least one symbol.

    Returns 0 where there is only one, 1 where the best one has several pieces, 2 where it is a single piece; then the
    second best one's ids (0: unknown) are in path (room for n), their number in size. -1 with l.failed set.
    """
    cdef int32_t top, j, h
    cdef int64_t position, i, k
    cdef int64_t found = 0
    cdef int64_t best_size = 0
    cdef int32_t kept[20]
    if l.failed or find_best(m, l, text, n) < 0:
        return -1
    l.hypotheses = l.heap_size = 0
    if add_hypothesis(l, END, -1, 0.0, 0.0):
        return -1
    while l.heap_size:
        top = heap_pop(l)
        if l.hypothesis[top].edge == BEGINNING:
            k = 0
            h = l.hypothesis[top].next
            while l.hypothesis[h].edge != END:
                if found:
                    j = l.edge[l.hypothesis[h].edge].id
                    path[k] = 0 if j < 0 else j
                k += 1
                h = l.hypothesis[h].next
            if found:
                size[0] = k
                return 1 if best_size > 1 else 2
            found = 1
            best_size = k
            continue
        position = n if l.hypothesis[top].edge == END else l.edge[l.hypothesis[top].edge].begin
        if position == 0:
            if add_hypothesis(l, BEGINNING, top, l.hypothesis[top].gx, l.hypothesis[top].gx):
                return -1
            continue
        j = l.first[position]
        while j >= 0:
            if add_hypothesis(l, j, top, l.edge[j].best + l.hypothesis[top].gx,
                              score(m, l.edge[j].id) + l.hypothesis[top].gx):
                return -1
            j = l.edge[j].next
        if l.heap_size > 100_000:
            # The reference cuts an agenda that grows so large down to its 20 best (10 for each path asked for).
            for i in range(20):
                kept[i] = heap_pop(l)
            l.heap_size = 0
            for i in range(20):
                l.heap_size += 1
                heap_rise(l, l.heap_size - 1, kept[i])
    return 0
