"""Repeated substrings of a text, the seeds of a Unigram vocabulary.

What it does: finds every substring of 2 to `longest` symbols that does not touch a boundary (symbol 0), occurs at least twice,
and is followed by at least two different symbols (a boundary is one); with the number of its occurrences. These are the
inner nodes of the text's suffix tree, which is what the reference takes from its suffix array (make_seed_sentence_pieces in
models/unigram/trainer.rs, esaxx). So `ab` is not found where each of its occurrences is followed by the same symbol; and
where all end their words, it is not found either.

How: suffixes are sorted symbol by symbol, group by group, no deeper than `longest` symbols; where a group of equal prefixes falls
apart there is a node. Groups by first symbol are units of parallel work. What the caller keeps is sorted by value, so the
order in which threads find it never shows.
"""
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from hftok._core.training.pair_index cimport kth_largest
from hftok._core.training.progress cimport Watch, stopped, watched_for

cdef struct Group:
    int64_t start
    int64_t end
    int64_t depth               # symbols that all its suffixes share

cdef struct Search:
    const uint32_t *text
    int64_t longest
    uint32_t *place             # suffixes, grouped by first symbol
    uint32_t *key               # scratch of the same size: the symbol at the depth in work
    const int64_t *first        # where the group of each first symbol begins
    SubstringList *found        # one per thread
    int *failed


cdef int append(SubstringList *list, int64_t score, uint32_t start, uint32_t size) noexcept nogil:
    cdef int64_t capacity
    cdef void *grown
    if list.size == list.capacity:
        capacity = max(2 * list.capacity, <int64_t>1024)
        grown = realloc(list.item, <size_t>capacity * sizeof(Substring))
        if grown == NULL:
            return -1
        list.item = <Substring *>grown
        list.capacity = capacity
    list.item[list.size].score = score
    list.item[list.size].start = start
    list.item[list.size].size = size
    list.size += 1
    return 0


cdef void sort_pairs(uint32_t *key, uint32_t *value, int64_t low, int64_t high) noexcept nogil:
    """Sort both arrays by key between low and high, both included. Quicksort, the smaller half first, then insertion."""
    cdef int64_t i, j, a, b
    cdef uint32_t pivot, x, y
    while high - low > 16:
        x = key[low]
        y = key[high]
        pivot = key[low + ((high - low) >> 1)]
        pivot = max(min(x, y), min(max(x, y), pivot))
        i = low
        j = high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                x = key[i]
                key[i] = key[j]
                key[j] = x
                x = value[i]
                value[i] = value[j]
                value[j] = x
                i += 1
                j -= 1
        if j - low < high - i:
            sort_pairs(key, value, low, j)
            low = i
        else:
            sort_pairs(key, value, i, high)
            high = j
    for i in range(low + 1, high + 1):
        x = key[i]
        y = value[i]
        j = i - 1
        while j >= low and key[j] > x:
            key[j + 1] = key[j]
            value[j + 1] = value[j]
            j -= 1
        key[j + 1] = x
        value[j + 1] = y


cdef int search_group(Search *s, int64_t start, int64_t end, SubstringList *found) noexcept nogil:
    """All nodes below one first symbol. 0, or -1 without memory."""
    cdef Group *stack
    cdef Group *grown
    cdef Group g
    cdef int64_t size = 1
    cdef int64_t capacity = 64
    cdef int64_t i, run
    if end - start < 2:
        return 0
    stack = <Group *>malloc(<size_t>capacity * sizeof(Group))
    if stack == NULL:
        return -1
    stack[0].start = start
    stack[0].end = end
    stack[0].depth = 1
    while size:
        size -= 1
        g = stack[size]
        for i in range(g.start, g.end):
            s.key[i] = s.text[s.place[i] + g.depth]
        sort_pairs(s.key, s.place, g.start, g.end - 1)
        if s.key[g.start] != s.key[g.end - 1] and g.depth > 1:
            if append(found, (g.end - g.start) * g.depth, s.place[g.start], <uint32_t>g.depth):
                free(stack)
                return -1
        if g.depth == s.longest:
            continue
        run = g.start
        for i in range(g.start + 1, g.end + 1):
            if i < g.end and s.key[i] == s.key[run]:
                continue
            if i - run > 1 and s.key[run] != 0:
                if size == capacity:
                    grown = <Group *>realloc(stack, <size_t>(2 * capacity) * sizeof(Group))
                    if grown == NULL:
                        free(stack)
                        return -1
                    stack = grown
                    capacity *= 2
                stack[size].start = run
                stack[size].end = i
                stack[size].depth = g.depth + 1
                size += 1
            run = i
    free(stack)
    return 0


cdef void search_symbol(void *ctx, int64_t i, int thread) noexcept nogil:
    """Unit i of the work: symbol i + 1, for suffixes that begin with a boundary are of no interest."""
    cdef Search *s = <Search *>ctx
    if not s.failed[thread] and search_group(s, s.first[i + 2], s.first[i + 3], &s.found[thread]):
        s.failed[thread] = 1


cdef int repeated_substrings(const uint32_t *text, int64_t n, uint32_t symbols, int64_t longest, int threads,
                             SubstringList *out, Watch *watch) noexcept nogil:
    """Fill an empty `out`, in no order. Symbols are below `symbols`, the text ends with a boundary (or is empty) and has fewer
    than 2**32 - 1 symbols. 0, or -1 without memory or where it was told to stop; the caller frees out.item in any case."""
    cdef Search s
    cdef int64_t *first = <int64_t *>calloc(<size_t>symbols + 2, sizeof(int64_t))
    cdef int64_t i, at
    cdef int result = 0
    cdef int t
    s.text = text
    s.longest = longest
    s.first = first
    s.place = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
    s.key = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
    s.found = <SubstringList *>calloc(<size_t>threads, sizeof(SubstringList))
    s.failed = <int *>calloc(<size_t>threads, sizeof(int))
    if first == NULL or s.place == NULL or s.key == NULL or s.found == NULL or s.failed == NULL:
        result = -1
    elif longest >= 2:
        # Counting sort by first symbol: first[c + 1] becomes the start of the group of c.
        for i in range(n):
            first[text[i] + 1] += 1
        at = 0
        for i in range(<int64_t>symbols + 2):
            at += first[i]
            first[i] = at
        for i in range(n - 1, -1, -1):
            first[text[i] + 1] -= 1
            s.place[first[text[i] + 1]] = <uint32_t>i
        # ... and the group of c now runs from first[c + 1] to first[c + 2].
        result = watched_for(search_symbol, &s, <int64_t>symbols - 1, threads, watch)
        for t in range(threads):
            if s.failed[t]:
                result = -1
            for i in range(s.found[t].size):
                if result == 0 and append(out, s.found[t].item[i].score, s.found[t].item[i].start, s.found[t].item[i].size):
                    result = -1
    if s.found != NULL:
        for t in range(threads):
            free(s.found[t].item)
    free(first)
    free(s.place)
    free(s.key)
    free(s.found)
    free(s.failed)
    return result


# The best


ctypedef Substring Sorted
ctypedef uint32_t SortContext


cdef inline bint comes_before(const Substring *a, const Substring *b, const uint32_t *text) noexcept nogil:
    """Higher score first, then the greater string: the reference sorts (score, symbols) in reverse."""
    cdef int64_t i
    if a.score != b.score:
        return a.score > b.score
    for i in range(min(a.size, b.size)):
        if text[a.start + i] != text[b.start + i]:
            return text[a.start + i] > text[b.start + i]
    return a.size > b.size


include "merge_sort.pxi"


cdef int keep_best(SubstringList *list, const uint32_t *text, int64_t most, Watch *watch) noexcept nogil:
    """Sort by score, then by the greater string, and keep the first `most`. 0, or -1 without memory."""
    cdef int64_t *score
    cdef int64_t i, bound
    cdef int64_t n = 0
    if list.size > most:
        # Only what can be among them is sorted.
        score = <int64_t *>malloc(<size_t>list.size * sizeof(int64_t))
        if score == NULL:
            return -1
        for i in range(list.size):
            score[i] = list.item[i].score
        bound = kth_largest(score, list.size, max(most, <int64_t>1))
        free(score)
        for i in range(list.size):
            if list.item[i].score >= bound:
                list.item[n] = list.item[i]
                n += 1
        list.size = n
    if merge_sort(list.item, list.size, text, watch):
        return -1
    if list.size > most:
        list.size = most
    return 0
