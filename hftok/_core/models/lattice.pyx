"""All ways to cut a text into pieces, and drawing one of them: Unigram with alpha.

Rules (reference: models/unigram/model.rs `populate_nodes`, models/unigram/lattice.rs `sample`, `sample_nbest`, `nbest`,
`viterbi`): a node for each piece that occurs, and one for the unk piece at a character that is no piece itself. `sample`
draws from all paths, going back from the end; the forward weights multiply by theta at every step, not once. `sample_nbest`
draws from the n best paths, found by A*. Which of several paths of equal score are among the n follows from the reference's
heap (dary_heap, four children, a comparison that never says "equal"), so that heap is kept to the step. Draws come from our
own generator: the distribution is the reference's, the draws are not.

Where the reference panics (no path, weights that are not a finite positive sum) the answer is LATTICE_BAD_SCORES.

It leaves to others: the best path alone (`unigram`), fusing unknown pieces, ids of the pieces' strings, training.
"""
from libc.math cimport INFINITY, exp, isfinite, log
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc

from hftok._core.double_array cimport TRIE_END, Trie, trie_child
from hftok._core.random cimport Random, random_double
from hftok._core.text cimport utf8_len

cdef enum:
    BOS = 0
    EOS = 1
    AGENDA_LIMIT = 100000    # lattice.rs nbest: beyond this many hypotheses only the best few are kept
    AGENDA_KEPT = 512


cdef inline int grow(void **data, int64_t *capacity, int64_t wanted, size_t item) noexcept nogil:
    cdef void *p
    if wanted <= capacity[0]:
        return LATTICE_OK
    wanted += wanted // 2 + 16
    p = realloc(data[0], <size_t>wanted * item)
    if p == NULL:
        return LATTICE_NO_MEMORY
    data[0] = p
    capacity[0] = wanted
    return LATTICE_OK


cdef void lattice_free(Lattice *l) noexcept nogil:
    free(l.nodes)
    free(l.first_beginning)
    free(l.first_ending)
    free(l.last_ending)
    free(l.path)
    free(l.weights)
    free(l.hypotheses)
    free(l.agenda)
    free(l.found)


cdef inline int insert(Lattice *l, int64_t id, int64_t begin, int64_t length, double score) noexcept nogil:
    cdef LatticeNode *node
    cdef int64_t end = begin + length
    if grow(<void **>&l.nodes, &l.capacity, l.count + 1, sizeof(LatticeNode)) != LATTICE_OK:
        return LATTICE_NO_MEMORY
    node = &l.nodes[l.count]
    node.id = id
    node.begin = begin
    node.length = length
    node.score = score
    node.alpha = node.best_score = 0.0
    node.best_left = -1
    node.next_ending = -1
    if l.first_ending[end] < 0:
        l.first_ending[end] = l.count
    else:
        l.nodes[l.last_ending[end]].next_ending = l.count
    l.last_ending[end] = l.count
    l.count += 1
    return LATTICE_OK


cdef int lattice_fill(
        Lattice *l, const Trie *trie, const uint8_t *text, int64_t size, int64_t unk_id, double unk_score,
        int64_t vocab_size) noexcept nogil:
    """Make the nodes of a text. unk_id < 0: no node for unknown characters."""
    cdef int64_t begin = 0, i, capacity, length
    cdef uint32_t node
    cdef bint single
    cdef int error = 0
    if l.positions < size + 2:
        capacity = 0
        error |= grow(<void **>&l.first_beginning, &capacity, size + 2, sizeof(int64_t))
        capacity = 0
        error |= grow(<void **>&l.first_ending, &capacity, size + 2, sizeof(int64_t))
        capacity = 0
        error |= grow(<void **>&l.last_ending, &capacity, size + 2, sizeof(int64_t))
        if error:
            return LATTICE_NO_MEMORY
        l.positions = capacity
    l.text = text
    l.size = size
    l.count = 0
    for i in range(size + 1):
        l.first_ending[i] = -1
    # bos ends at 0; eos begins and, as no other node does, is met at the end only: it is not among the nodes that end there.
    if insert(l, vocab_size + 1, 0, 0, 0.0) != LATTICE_OK or insert(l, vocab_size + 2, 0, 0, 0.0) != LATTICE_OK:
        return LATTICE_NO_MEMORY
    l.nodes[BOS].next_ending = -1
    l.last_ending[0] = BOS
    l.nodes[EOS].begin = size
    while begin < size:
        l.first_beginning[begin] = l.count
        length = utf8_len(text[begin])
        single = False
        node = 0
        for i in range(begin, size):
            node = trie_child(trie, node, text[i])
            if node == 0:
                break
            if trie.units[node].base & <uint32_t>TRIE_END:
                if insert(l, trie.ids[node], begin, i + 1 - begin, trie.scores[trie.ids[node]]) != LATTICE_OK:
                    return LATTICE_NO_MEMORY
                single |= i + 1 - begin == length
        if not single and unk_id >= 0:
            if insert(l, unk_id, begin, length, unk_score) != LATTICE_OK:
                return LATTICE_NO_MEMORY
        begin += length
    l.first_beginning[size] = l.count
    return LATTICE_OK


cdef inline double log_sum_exp(double x, double y, bint first) noexcept nogil:
    cdef double low, high
    if first:
        return y
    low, high = (y, x) if x > y else (x, y)
    if high > low + 50.0:
        return high
    return high + log(exp(low - high) + 1.0)


cdef int draw(const double *weights, int64_t n, Random *random, int64_t *chosen) noexcept nogil:
    """Draw an index by weight (rand's WeightedIndex). LATTICE_BAD_SCORES: a weight is negative or NaN, or all are 0; chosen
    is then -1. An infinite sum is LATTICE_BAD_SCORES with chosen -2."""
    cdef double total = 0.0, u
    cdef int64_t i
    chosen[0] = -1
    for i in range(n):
        if not weights[i] >= 0.0:
            return LATTICE_BAD_SCORES
        total += weights[i]
    if n == 0 or total == 0.0:
        return LATTICE_BAD_SCORES
    if not isfinite(total):
        chosen[0] = -2
        return LATTICE_BAD_SCORES
    u = random_double(random) * total
    total = 0.0
    for i in range(n - 1):
        total += weights[i]
        if total > u:
            chosen[0] = i
            return LATTICE_OK
    chosen[0] = n - 1
    return LATTICE_OK


cdef inline void reverse_path(Lattice *l) noexcept nogil:
    cdef int64_t i = 0, j = l.path_length - 1
    while i < j:
        l.path[i], l.path[j] = l.path[j], l.path[i]
        i += 1
        j -= 1


cdef inline void forward_weights(Lattice *l, int64_t r, double theta) noexcept nogil:
    cdef int64_t left = l.first_ending[l.nodes[r].begin]
    cdef int64_t first_id
    if left < 0:
        return
    # lattice.rs sample: the sum starts anew at each node that *equals* the first one, and nodes are equal by id.
    first_id = l.nodes[left].id
    while left >= 0:
        l.nodes[r].alpha = log_sum_exp(
            l.nodes[r].alpha, theta * (l.nodes[left].score + l.nodes[left].alpha), l.nodes[left].id == first_id)
        left = l.nodes[left].next_ending


cdef int lattice_sample(Lattice *l, double theta, Random *random) noexcept nogil:
    cdef int64_t r, k, n, left, chosen = 0, node = EOS
    cdef double z
    cdef int error
    for r in range(2, l.count):
        forward_weights(l, r, theta)
    forward_weights(l, EOS, theta)
    z = l.nodes[EOS].alpha
    l.path_length = 0
    while True:
        n = 0
        left = l.first_ending[l.nodes[node].begin]
        while left >= 0:
            if grow(<void **>&l.weights, &l.weights_capacity, n + 1, sizeof(double)) != LATTICE_OK:
                return LATTICE_NO_MEMORY
            l.weights[n] = exp(l.nodes[left].alpha + theta * l.nodes[left].score - z)
            n += 1
            left = l.nodes[left].next_ending
        error = draw(l.weights, n, random, &chosen)
        if error != LATTICE_OK:
            return error
        left = l.first_ending[l.nodes[node].begin]
        for k in range(chosen):
            left = l.nodes[left].next_ending
        node = left
        if node == BOS:
            break
        z = l.nodes[node].alpha
        if grow(<void **>&l.path, &l.path_capacity, l.path_length + 1, sizeof(int64_t)) != LATTICE_OK:
            return LATTICE_NO_MEMORY
        l.path[l.path_length] = node
        l.path_length += 1
    reverse_path(l)
    return LATTICE_OK


cdef int viterbi(Lattice *l) noexcept nogil:
    """Best scores of all nodes and the best path. The path is empty where some character begins no node; the scores of what
    comes after it then stay as they were."""
    cdef int64_t p = 0, next, r, end, left, node
    cdef double score
    l.path_length = 0
    while True:
        if p < l.size:
            next = p + utf8_len(l.text[p])
            r = l.first_beginning[p]
            end = l.first_beginning[next]
        else:
            next = p
            r = EOS
            end = EOS + 1
        if r == end or l.first_ending[p] < 0:
            return LATTICE_OK
        while r < end:
            l.nodes[r].best_left = -1
            left = l.first_ending[p]
            while left >= 0:
                score = l.nodes[left].best_score + l.nodes[r].score
                if l.nodes[r].best_left < 0 or score > l.nodes[r].best_score:
                    l.nodes[r].best_left = left
                    l.nodes[r].best_score = score
                left = l.nodes[left].next_ending
            r += 1
        if p == l.size:
            break
        p = next
    node = l.nodes[EOS].best_left
    while node != BOS:
        if grow(<void **>&l.path, &l.path_capacity, l.path_length + 1, sizeof(int64_t)) != LATTICE_OK:
            return LATTICE_NO_MEMORY
        l.path[l.path_length] = node
        l.path_length += 1
        node = l.nodes[node].best_left
    reverse_path(l)
    return LATTICE_OK


# --- the agenda: dary_heap's push and pop, comparison by comparison --------------------------------------------------------

cdef inline bint less(const Lattice *l, int64_t a, int64_t b) noexcept nogil:
    return l.hypotheses[a].fx < l.hypotheses[b].fx


cdef inline void rise(Lattice *l, int64_t i) noexcept nogil:
    # Equal goes up: the reference's comparison calls the newcomer "greater" then.
    cdef int64_t item = l.agenda[i], parent
    while i > 0:
        parent = (i - 1) // 4
        if less(l, item, l.agenda[parent]):
            break
        l.agenda[i] = l.agenda[parent]
        i = parent
    l.agenda[i] = item


cdef inline int64_t pop_best(Lattice *l, int64_t *size) noexcept nogil:
    cdef int64_t item, top, i = 0, child = 1, a, b, n
    size[0] -= 1
    n = size[0]
    item = l.agenda[n]
    if n == 0:
        return item
    top = l.agenda[0]
    while child + 4 <= n:
        # Of four siblings: the better of each two, then the better of those; the earlier one where they are equal.
        a = child + less(l, l.agenda[child], l.agenda[child + 1])
        b = child + 2 + less(l, l.agenda[child + 2], l.agenda[child + 3])
        child = b if less(l, l.agenda[a], l.agenda[b]) else a
        l.agenda[i] = l.agenda[child]
        i = child
        child = 4 * i + 1
    if child < n:
        a = child
        for b in range(child + 1, n):
            if less(l, l.agenda[a], l.agenda[b]):
                a = b
        l.agenda[i] = l.agenda[a]
        i = a
    l.agenda[i] = item
    rise(l, i)
    return top


cdef int push_hypothesis(
        Lattice *l, int64_t *count, int64_t *size, int64_t node, int64_t next, double fx, double gx) noexcept nogil:
    cdef Hypothesis *h
    if grow(<void **>&l.hypotheses, &l.hypotheses_capacity, count[0] + 1, sizeof(Hypothesis)) != LATTICE_OK:
        return LATTICE_NO_MEMORY
    if grow(<void **>&l.agenda, &l.agenda_capacity, size[0] + 1, sizeof(int64_t)) != LATTICE_OK:
        return LATTICE_NO_MEMORY
    h = &l.hypotheses[count[0]]
    h.node = node
    h.next = next
    h.fx = fx
    h.gx = gx
    l.agenda[size[0]] = count[0]
    rise(l, size[0])
    count[0] += 1
    size[0] += 1
    return LATTICE_OK


cdef int shrink_agenda(Lattice *l, int64_t *size, int64_t n) noexcept nogil:
    """Keep the best min(512, 10 n): take them out in order and put them back in that order."""
    cdef int64_t kept[AGENDA_KEPT]
    cdef int64_t wanted = n * 10 if n < 52 else AGENDA_KEPT, i
    for i in range(wanted):
        kept[i] = pop_best(l, size)
    for i in range(wanted):
        l.agenda[i] = kept[i]
        rise(l, i)
    size[0] = wanted
    return LATTICE_OK


cdef int nbest(Lattice *l, int64_t n, int64_t *found) noexcept nogil:
    """Up to n best paths, n >= 2, best first: l.found[i] is the hypothesis at bos of the i-th."""
    cdef int64_t count = 0, size = 0, top, left
    cdef Hypothesis h
    cdef int error
    found[0] = 0
    if push_hypothesis(l, &count, &size, EOS, -1, l.nodes[EOS].score, l.nodes[EOS].score) != LATTICE_OK:
        return LATTICE_NO_MEMORY
    error = viterbi(l)
    if error != LATTICE_OK:
        return error
    while size > 0:
        top = pop_best(l, &size)
        h = l.hypotheses[top]
        if h.node == BOS:
            if grow(<void **>&l.found, &l.found_capacity, found[0] + 1, sizeof(int64_t)) != LATTICE_OK:
                return LATTICE_NO_MEMORY
            l.found[found[0]] = top
            found[0] += 1
            if found[0] == n:
                break
            continue
        left = l.first_ending[l.nodes[h.node].begin]
        while left >= 0:
            error = push_hypothesis(
                l, &count, &size, left, top, l.nodes[left].best_score + h.gx, l.nodes[left].score + h.gx)
            if error != LATTICE_OK:
                return error
            left = l.nodes[left].next_ending
        if size > AGENDA_LIMIT:
            shrink_agenda(l, &size, n)
    return LATTICE_OK


cdef int lattice_sample_nbest(Lattice *l, int64_t n, double theta, Random *random) noexcept nogil:
    cdef int64_t found = 0, i, h, chosen = 0
    cdef double score
    cdef int error
    if n == 1:  # the best path; its weight is still made into a distribution (lattice.rs sample_nbest)
        error = viterbi(l)
        score = 0.0
        for i in range(l.path_length):
            score += l.nodes[l.path[i]].score
        return LATTICE_BAD_SCORES if error == LATTICE_OK and exp(theta * score) == INFINITY else error
    error = nbest(l, n, &found)
    if error != LATTICE_OK or found == 0:
        return error  # no path reached bos: what Viterbi left stands, as in the reference
    if grow(<void **>&l.weights, &l.weights_capacity, found, sizeof(double)) != LATTICE_OK:
        return LATTICE_NO_MEMORY
    for i in range(found):
        score = 0.0
        h = l.hypotheses[l.found[i]].next
        while l.hypotheses[h].next >= 0:
            score += l.nodes[l.hypotheses[h].node].score
            h = l.hypotheses[h].next
        l.weights[i] = exp(theta * score)
    if draw(l.weights, found, random, &chosen) != LATTICE_OK:
        if chosen == -2:
            return LATTICE_BAD_SCORES
        chosen = 0  # the best path, where the weights are no distribution
    l.path_length = 0
    h = l.hypotheses[l.found[chosen]].next
    while l.hypotheses[h].next >= 0:
        if grow(<void **>&l.path, &l.path_capacity, l.path_length + 1, sizeof(int64_t)) != LATTICE_OK:
            return LATTICE_NO_MEMORY
        l.path[l.path_length] = l.hypotheses[h].node
        l.path_length += 1
        h = l.hypotheses[h].next
    return LATTICE_OK
