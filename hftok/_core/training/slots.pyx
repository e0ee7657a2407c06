"""The text of a training run: unique words as one flat array of ids, a word's count known from where it stands.

What it does: lays the words out by descending count, one slot per initial symbol and a GAP after each word, so that the weight
of a slot is constant over long runs (segments) and no word needs a record of its own; cuts the segments into chunks for
threads; and closes the array up again after merges (`slots_gather`), dropping words that have become a single token, which
hold no pair any more.

Rule of the reference: `tokenize_words` of models/bpe/trainer.rs (which symbols a word has). Merging is left to merge_engine.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memmove

from hftok._core.training.pair_index cimport PairTable, table_add, table_find, table_free, table_reserve, table_zero
from hftok._core.training.progress cimport Watch, stopped


cdef void slots_zero(Slots *s) noexcept nogil:
    s.data = NULL
    s.segment = NULL
    s.chunk = NULL
    s.wide = False
    s.capacity = s.segments = s.chunks = 0
    s.chunk_size = 1 << 18


cdef void slots_free(Slots *s) noexcept nogil:
    free(s.data)
    free(s.segment)
    free(s.chunk)
    slots_zero(s)


cdef int64_t slots_used(const Slots *s) noexcept nogil:
    """Slots in use, gaps included."""
    cdef int64_t i, n = 0
    for i in range(s.segments):
        n += s.segment[i].size
    return n


cdef int by_weight(const void *a, const void *b) noexcept nogil:
    cdef int64_t x = (<const Segment *>a).weight
    cdef int64_t y = (<const Segment *>b).weight
    return (x < y) - (x > y)


cdef int64_t next_word(const Slots *s, int64_t i) noexcept nogil:
    """The first slot at or after i that begins a word (the slot before it is a GAP)."""
    if s.wide:
        while (<uint32_t *>s.data)[i - 1] != GAP:
            i += 1
    else:
        while (<uint16_t *>s.data)[i - 1] != GAP:
            i += 1
    return i


cdef int cut(Slots *s) noexcept nogil:
    """Cut the segments at word boundaries into chunks of about chunk_size slots. 0, or -1 without memory."""
    cdef int64_t total = slots_used(s)
    cdef int64_t most = s.segments + total // s.chunk_size + 2
    cdef Segment *segment = <Segment *>malloc(<size_t>most * sizeof(Segment))
    cdef int64_t *chunk = <int64_t *>malloc(<size_t>(total // s.chunk_size + 2) * sizeof(int64_t))
    cdef int64_t i, at, end, stop
    cdef int64_t n = 0
    cdef int64_t chunks = 0
    cdef int64_t filled = 0          # slots in the chunk under construction
    if segment == NULL or chunk == NULL:
        free(segment)
        free(chunk)
        return -1
    chunk[0] = 0
    for i in range(s.segments):
        at = s.segment[i].start
        end = at + s.segment[i].size
        while at < end:
            stop = end
            if s.chunk_size - filled < end - at:
                stop = next_word(s, at + s.chunk_size - filled)
            segment[n].start = at
            segment[n].size = stop - at
            segment[n].weight = s.segment[i].weight
            n += 1
            filled += stop - at
            at = stop
            if filled >= s.chunk_size:
                chunks += 1
                chunk[chunks] = n
                filled = 0
    if filled:
        chunks += 1
        chunk[chunks] = n
    free(s.segment)
    free(s.chunk)
    s.segment = segment
    s.segments = n
    s.chunk = chunk
    s.chunks = chunks
    return 0


cdef int slots_layout(Slots *s, const WordSource *words, bint wide, Watch *watch) noexcept nogil:
    """Fill an empty `s`. Words of fewer than two symbols or of count 0 have no pair and are left out. 0, or -1 without memory or
    where it was told to stop."""
    cdef PairTable bands             # key: word count; count: slots that its words need, then where its next word goes
    cdef int64_t i, n, row, total = 1
    cdef int64_t looked = 0
    cdef int failed = 0
    table_zero(&bands)
    if table_reserve(&bands, 64):
        return -1
    for i in range(words.n):
        if words.offset[i] - looked >= LOOK:
            looked = words.offset[i]
            failed |= stopped(watch)
        if failed:
            table_free(&bands)
            return -1
        if words.count[i] == 0:
            continue
        n = word_size(words, i)
        failed = n >= 2 and table_add(&bands, words.count[i], n + 1)
    s.segments = bands.rows
    s.segment = <Segment *>malloc(<size_t>(bands.rows + 1) * sizeof(Segment))
    if failed or s.segment == NULL:
        table_free(&bands)
        return -1
    for i in range(bands.rows):
        s.segment[i].weight = <int64_t>bands.key[i]
        s.segment[i].size = bands.count[i]
    qsort(s.segment, <size_t>s.segments, sizeof(Segment), &by_weight)
    for i in range(s.segments):
        s.segment[i].start = total
        row = table_find(&bands, <uint64_t>s.segment[i].weight)
        bands.count[row] = total
        total += s.segment[i].size
    s.wide = wide
    s.capacity = total
    s.data = malloc(<size_t>s.capacity * (4 if wide else 2))
    if s.data == NULL:
        table_free(&bands)
        return -1
    if wide:
        failed = write_words(<uint32_t *>s.data, words, &bands, watch)
    else:
        failed = write_words(<uint16_t *>s.data, words, &bands, watch)
    table_free(&bands)
    return -1 if failed else cut(s)


cdef int write_words(slot_t *data, const WordSource *words, PairTable *bands, Watch *watch) noexcept nogil:
    cdef int64_t i, n, row, at
    cdef int64_t looked = 0
    data[0] = GAP
    for i in range(words.n):
        if words.offset[i] - looked >= LOOK:
            looked = words.offset[i]
            if stopped(watch):
                return -1
        if words.count[i] == 0:
            continue
        row = table_find(bands, words.count[i])
        if row < 0:
            continue                 # no word of this count has a pair
        if word_size(words, i) < 2:
            continue
        at = bands.count[row]
        n = word_write(words, i, data + at)
        data[at + n] = GAP
        bands.count[row] = at + n + 1
    return 0


cdef int64_t close_up(slot_t *data, int64_t start, int64_t size, int64_t out, const uint32_t *span) noexcept nogil:
    """Move one segment down to `out`, one slot per token; returns where the next one goes."""
    cdef int64_t i = start
    cdef int64_t end = start + size
    cdef int64_t word = out
    cdef slot_t t
    if span == NULL:
        if out != start:
            memmove(data + out, data + start, <size_t>size * sizeof(slot_t))
        return out + size
    while i < end:
        t = data[i]
        data[out] = t
        out += 1
        if t == GAP:
            if out - word == 2:
                out = word           # one token: the word has no pair any more
            word = out
            i += 1
        else:
            i += span[t]
    return out


cdef int slots_gather(Slots *s, const uint32_t *span, Watch *watch) noexcept nogil:
    """Close the array up: segments follow one another without holes. With `span` (slots that a token of each id takes), a
    token takes one slot afterwards. 0, or -1 without memory or where it was told to stop (the slots are of no use then)."""
    cdef int64_t i, next
    cdef int64_t out = 1
    cdef int64_t n = 0
    for i in range(s.segments):
        if i % 16 == 0 and stopped(watch):
            return -1
        if s.wide:
            next = close_up(<uint32_t *>s.data, s.segment[i].start, s.segment[i].size, out, span)
        else:
            next = close_up(<uint16_t *>s.data, s.segment[i].start, s.segment[i].size, out, span)
        if next == out:
            continue
        if n and s.segment[n - 1].weight == s.segment[i].weight:
            s.segment[n - 1].size += next - out
        else:
            s.segment[n].weight = s.segment[i].weight
            s.segment[n].start = out
            s.segment[n].size = next - out
            n += 1
        out = next
    s.segments = n
    shrink(s, out)
    return cut(s)


cdef void shrink(Slots *s, int64_t used) noexcept nogil:
    """Give back memory that closing up has freed, where it is worth the call."""
    cdef void *data
    if used < s.capacity // 2:
        data = realloc(s.data, <size_t>(used) * (4 if s.wide else 2))
        if data != NULL:
            s.data = data
            s.capacity = used


cdef int slots_widen(Slots *s) noexcept nogil:
    """uint16 to uint32 slots, everything where it was. 0, or -1 without memory (nothing changed)."""
    cdef uint32_t *data = <uint32_t *>malloc(<size_t>s.capacity * 4)
    cdef int64_t i, j
    if data == NULL:
        return -1
    data[0] = GAP
    for i in range(s.segments):
        for j in range(s.segment[i].start, s.segment[i].start + s.segment[i].size):
            data[j] = (<uint16_t *>s.data)[j]
    free(s.data)
    s.data = data
    s.wide = True
    return 0
