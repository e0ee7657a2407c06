"""The BPE merge loop as the reference runs it, word by word: for texts where one string is made in several ways.

With a continuing subword prefix or an end of word suffix whose characters occur in the text, a merge can form a string that
is already a token. The reference (do_train in models/bpe/trainer.rs, `merge` in models/bpe/word.rs) then takes the old id, and
what follows from its bookkeeping shows in its output, so it is kept here to the letter:

- a pair can be born again; its count goes on from what was left of it, for the count of a merged pair is never cleared;
- each birth queues an entry of its own, with the words of that birth only, and a merge touches only these words;
- losses are counted even for pairs that were refused for their length, so counts can fall below zero, and a negative count
  in the queue is read as a number near 2**64 and merged first (but a pair is queued only while its count is above zero);
- a pair that is merged twice keeps its last rank (done by the caller).

The reference queues the births of one merge in the order of a hash map, which differs from run to run, and where two entries
have equal count and pair its output can differ, too. Here births are queued in the order of their first sight.
merge_engine does the same work many times faster wherever no string is made twice, and reports when one is.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from hftok._core.training.merge_state cimport ENGINE_DONE, ENGINE_NO_MEMORY, ENGINE_PAUSED
from hftok._core.training.pair_index cimport (
    PairTable, pair_key, table_append, table_find, table_free, table_reserve, table_zero)
from hftok._core.training.progress cimport Watch, stopped
from hftok._core.training.slots cimport FIRST_ID, LOOK, WordSource, word_size, word_write
from hftok._core.training.token_strings cimport TokenStrings, strings_free, strings_join, strings_zero


cdef int affix_init(AffixEngine *e) noexcept nogil:
    memset(e, 0, sizeof(AffixEngine))
    strings_zero(&e.strings)
    table_zero(&e.table)
    table_zero(&e.fresh)
    return -1 if table_reserve(&e.table, 1) or table_reserve(&e.fresh, 1) else 0


cdef void affix_free(AffixEngine *e) noexcept nogil:
    cdef int64_t i
    strings_free(&e.strings)
    free(e.id)
    free(e.length)
    free(e.start)
    free(e.size)
    free(e.count)
    table_free(&e.table)
    table_free(&e.fresh)
    for i in range(e.lists):
        free(e.list[i].word)
    free(e.list)
    free(e.free_list)
    free(e.candidate)
    free(e.merge)
    memset(e, 0, sizeof(AffixEngine))


# The queue: highest count, then lowest pair. Entries of equal count and pair do exist, and which one comes first shows in the
# merges, so this is move for move the heap that the reference uses (eight children, an entry never overtakes an equal one on
# its way up, of equal children the last goes up, what fills a hole sinks to the bottom before it rises).


cdef inline int compare(const Candidate *a, const Candidate *b) noexcept nogil:
    if a.count != b.count:
        return 1 if a.count > b.count else -1
    return (a.key < b.key) - (a.key > b.key)


cdef void rise(AffixEngine *e, int64_t i, Candidate c) noexcept nogil:
    cdef int64_t parent
    while i:
        parent = (i - 1) // 8
        if compare(&c, &e.candidate[parent]) <= 0:
            break
        e.candidate[i] = e.candidate[parent]
        i = parent
    e.candidate[i] = c


cdef int push(AffixEngine *e, uint64_t count, uint64_t key, int64_t list) noexcept nogil:
    cdef int64_t n
    cdef void *grown
    cdef Candidate c
    if e.candidates == e.candidate_capacity:
        n = max(2 * e.candidate_capacity, <int64_t>256)
        grown = realloc(e.candidate, <size_t>n * sizeof(Candidate))
        if grown == NULL:
            return -1
        e.candidate = <Candidate *>grown
        e.candidate_capacity = n
    c.count = count
    c.key = key
    c.list = list
    e.candidates += 1
    rise(e, e.candidates - 1, c)
    return 0


cdef Candidate pop(AffixEngine *e) noexcept nogil:
    cdef Candidate top = e.candidate[0]
    cdef Candidate c
    cdef int64_t i = 0
    cdef int64_t child, best, k
    e.candidates -= 1
    if e.candidates == 0:
        return top
    c = e.candidate[e.candidates]
    while True:
        child = 8 * i + 1
        if child >= e.candidates:
            break
        best = child
        for k in range(child + 1, min(child + 8, e.candidates)):
            if compare(&e.candidate[best], &e.candidate[k]) <= 0:
                best = k
        e.candidate[i] = e.candidate[best]
        i = best
    rise(e, i, c)
    return top


# Births


cdef int add_birth(AffixEngine *e, uint64_t key, int64_t word) noexcept nogil:
    """Note that the merge in work gives birth to a pair in a word. Words come in ascending order."""
    cdef int64_t row = table_find(&e.fresh, key)
    cdef int64_t n
    cdef void *grown
    cdef WordList *w
    if row < 0:
        if e.free_lists:
            e.free_lists -= 1
            n = e.free_list[e.free_lists]
        else:
            if e.lists == e.list_capacity:
                n = max(2 * e.list_capacity, <int64_t>256)
                grown = realloc(e.list, <size_t>n * sizeof(WordList))
                if grown == NULL:
                    return -1
                e.list = <WordList *>grown
                grown = realloc(e.free_list, <size_t>n * sizeof(int64_t))
                if grown == NULL:
                    return -1
                e.free_list = <int64_t *>grown
                e.list_capacity = n
            n = e.lists
            e.lists += 1
            memset(&e.list[n], 0, sizeof(WordList))
        row = table_append(&e.fresh, key, n)
        if row < 0:
            return -1
    w = &e.list[e.fresh.count[row]]
    if w.size and w.word[w.size - 1] == word:
        return 0
    if w.size == w.capacity:
        n = max(2 * w.capacity, <int64_t>4)
        grown = realloc(w.word, <size_t>n * sizeof(int64_t))
        if grown == NULL:
            return -1
        w.word = <int64_t *>grown
        w.capacity = n
    w.word[w.size] = word
    w.size += 1
    return 0


cdef void drop_list(AffixEngine *e, int64_t list) noexcept nogil:
    free(e.list[list].word)
    memset(&e.list[list], 0, sizeof(WordList))
    e.free_list[e.free_lists] = list
    e.free_lists += 1


cdef int queue_births(AffixEngine *e) noexcept nogil:
    """Queue the newborn pairs whose count is above zero."""
    cdef int64_t i, row
    for i in range(e.fresh.rows):
        row = table_find(&e.table, e.fresh.key[i])
        if e.table.count[row] > 0:
            if push(e, <uint64_t>e.table.count[row], e.fresh.key[i], e.fresh.count[i]):
                return -1
        else:
            drop_list(e, e.fresh.count[i])
    table_free(&e.fresh)
    return table_reserve(&e.fresh, 1)


cdef inline int change(AffixEngine *e, uint32_t left, uint32_t right, int64_t by) noexcept nogil:
    cdef uint64_t key = pair_key(left, right)
    cdef int64_t row = table_find(&e.table, key)
    if row < 0:
        return -1 if table_append(&e.table, key, by) < 0 else 0
    e.table.count[row] += by
    return 0


# The loop


cdef int affix_load(AffixEngine *e, const WordSource *words, Watch *watch) noexcept nogil:
    """Lay out the words and queue their pairs. 0, or -1 without memory or where it was told to stop."""
    cdef int64_t looked = 0
    cdef int64_t i, k, n
    cdef int64_t total = 0
    cdef int64_t kept = 0
    for i in range(words.n):
        if words.count[i]:
            n = word_size(words, i)
            if n > 1:
                total += n
                kept += 1
    e.id = <uint32_t *>malloc(<size_t>(total + 1) * sizeof(uint32_t))
    e.length = <int64_t *>malloc(<size_t>(total + 1) * sizeof(int64_t))
    e.start = <int64_t *>malloc(<size_t>(kept + 1) * sizeof(int64_t))
    e.size = <int64_t *>malloc(<size_t>(kept + 1) * sizeof(int64_t))
    e.count = <uint64_t *>malloc(<size_t>(kept + 1) * sizeof(uint64_t))
    if e.id == NULL or e.length == NULL or e.start == NULL or e.size == NULL or e.count == NULL:
        return -1
    total = 0
    for i in range(words.n):
        if words.offset[i] - looked >= LOOK // 8:
            looked = words.offset[i]
            if stopped(watch):
                return -1
        if words.count[i] == 0 or word_size(words, i) < 2:
            continue
        n = word_write(words, i, e.id + total)
        e.start[e.words] = total
        e.size[e.words] = n
        e.count[e.words] = words.count[i]
        for k in range(total, total + n):
            e.length[k] = 1
            if k > total:
                if (change(e, e.id[k - 1], e.id[k], <int64_t>words.count[i])
                        or add_birth(e, pair_key(e.id[k - 1], e.id[k]), e.words)):
                    return -1
        e.words += 1
        total += n
    return queue_births(e)


cdef int affix_run(AffixEngine *e, int64_t work) noexcept nogil:
    """Make merges; ENGINE_PAUSED after about `work` symbols have been looked at, else a final status."""
    cdef Candidate top
    cdef int64_t row, made, i
    cdef int64_t done = 0
    cdef uint64_t count
    cdef uint32_t left, right
    cdef bint fresh = False
    while done < work:
        if e.strings.size >= e.vocab_size or e.candidates == 0:
            return ENGINE_DONE
        top = pop(e)
        done += 8
        row = table_find(&e.table, top.key)
        count = <uint64_t>e.table.count[row]
        if count != top.count:
            if push(e, count, top.key, top.list):
                return ENGINE_NO_MEMORY
            continue
        if count < 1 or count < e.min_frequency:
            return ENGINE_DONE
        e.below_zero += e.table.count[row] < 0
        left = <uint32_t>(top.key >> 32)
        right = <uint32_t>top.key
        made = strings_join(&e.strings, left - FIRST_ID, right - FIRST_ID, e.prefix, e.prefix_size, &fresh)
        if made < 0 or note_merge(e, left - FIRST_ID, right - FIRST_ID, <uint32_t>made):
            return ENGINE_NO_MEMORY
        for i in range(e.list[top.list].size):
            if merge_word(e, e.list[top.list].word[i], left, right, <uint32_t>(made + FIRST_ID)):
                return ENGINE_NO_MEMORY
            done += e.size[e.list[top.list].word[i]]
        drop_list(e, top.list)
        if queue_births(e):
            return ENGINE_NO_MEMORY
    return ENGINE_PAUSED


cdef int note_merge(AffixEngine *e, uint32_t left, uint32_t right, uint32_t made) noexcept nogil:
    cdef int64_t n
    cdef void *grown
    if e.merges == e.merge_capacity:
        n = max(2 * e.merge_capacity, <int64_t>1024)
        grown = realloc(e.merge, <size_t>n * 3 * sizeof(uint32_t))
        if grown == NULL:
            return -1
        e.merge = <uint32_t *>grown
        e.merge_capacity = n
    e.merge[3 * e.merges] = left
    e.merge[3 * e.merges + 1] = right
    e.merge[3 * e.merges + 2] = made
    e.merges += 1
    return 0


cdef int merge_word(AffixEngine *e, int64_t word, uint32_t left, uint32_t right, uint32_t made) noexcept nogil:
    """Merge a pair in one word from left to right, with all changes of counts. 0, or -1 without memory."""
    cdef uint32_t *id = e.id + e.start[word]
    cdef int64_t *length = e.length + e.start[word]
    cdef int64_t n = e.size[word]
    cdef int64_t count = <int64_t>e.count[word]
    cdef int64_t i = 0
    cdef int64_t out = 0
    cdef int64_t joined
    while i < n:
        if id[i] != left or i + 1 >= n or id[i + 1] != right:
            id[out] = id[i]
            length[out] = length[i]
            out += 1
            i += 1
            continue
        joined = length[i] + length[i + 1]
        if out:
            if change(e, id[out - 1], left, -count):
                return -1
            if length[out - 1] + joined < e.max_length:
                if change(e, id[out - 1], made, count) or add_birth(e, pair_key(id[out - 1], made), word):
                    return -1
        if i + 2 < n:
            if change(e, right, id[i + 2], -count):
                return -1
            if length[i + 2] + joined < e.max_length:
                if change(e, made, id[i + 2], count) or add_birth(e, pair_key(made, id[i + 2]), word):
                    return -1
        id[out] = made
        length[out] = joined
        out += 1
        i += 2
    e.size[word] = out
    return 0
