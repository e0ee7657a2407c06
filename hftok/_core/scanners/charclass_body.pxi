# Scanner of the pipelines in which a pre-token is a run of characters of one class: BertPreTokenizer, Whitespace,
# WhitespaceSplit, Punctuation, Digits and their sequences, behind any normalizer that works character by character
# (BertNormalizer, Lowercase, NFD + StripAccents, NFC, ...). Compiled once per CPU tier.
#
# ASCII goes 64 bytes at a time: classes and mapped bytes come from ht_classify, boundaries from shifts of the class masks
# (a chunk begins where the class differs from the one before; an isolated character is a chunk). Everything else goes
# character by character through the two-level table of worker.pxd, whose entries the engine makes by running the exact
# normalizer and the pre-tokenizer's classes on each code point. Where a code point's effect depends on its neighbours
# (ACT_ESCAPE), the text between the separators around it is given to the exact path, which appends its chunks.
#
# `spaced` is for pipelines that turn separators into word marks (Metaspace alone): a separator begins the chunk that it
# precedes and is written there as a space. Either each one does, or the last one of a run. There is one run class then and no
# isolated character; run 2 is a chunk that holds nothing but its space so far.
#
# Some patterns have words before their runs ('s, <|endoftext|>): where a run of that class would begin and such a word is there, it is
# taken instead. Their first bytes are special like those of added tokens.
#
# The scan knows nothing of models: chunks end up in worker.starts/ends over worker.text, and `flush` (lookup.pxi) looks them up.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from hftok._core.char_tables cimport joins_before
from hftok._core.text cimport utf8_decode, utf8_prev
from hftok._core.worker cimport (
    ACT_DROP, ACT_ESCAPE, ACT_ISOLATE, ACT_KNOWN, ACT_RUN3, ACT_SEPARATOR, ACT_UNFINISHED, BEGINS_TOKEN, BEGINS_WORD, DEPENDS_BEFORE, DEPENDS_GROWN,
    DEPENDS_MARK, DEPENDS_NEXT, GROWS, KNOWN, MATCH_NONE, MATCH_TOKEN, SCAN_FULL, SCAN_NO_MEMORY, SCAN_OK, SPACED_LAST, CharEntry, CharTables, Hit, RunWord, Worker, char_entry, is_separator,
    worker_direct, worker_room,
)

include "lookup.pxi"

cdef extern from "publish.h" nogil:
    void *ht_acquire(void **slot)

cdef extern from "mixed.h" nogil:
    ctypedef struct ht_mixed:
        int bytes
        int chars
        int used
        int n
        uint8_t at[64]
        uint8_t cls[64]
        uint32_t word[64]
    enum:
        HT_RUN0, HT_RUN1, HT_ISOLATE, HT_MIXED_KNOWN, HT_MIXED_UNFINISHED
    void ht_read_mixed(const uint8_t *p, int n, const uint64_t *cells, uint8_t *out, ht_mixed *m)
    void ht_read_mixed_numbered(const uint8_t *p, int n, const uint64_t *cells, uint8_t *out, uint32_t *index, uint32_t character, ht_mixed *m)
    uint64_t ht_with_class(const uint8_t *cls, int bit)
    int ht_places(uint64_t mask, const uint8_t *at, uint32_t base, uint32_t *dst)
    int ht_popcount64(uint64_t x)

cdef enum:
    FLUSH_TEXT = 16384       # bytes of chunk text that may pile up inside a document
    STEP = 256               # room for text and chunks that is made before a block or a stretch of characters
    MIXED = 6                # bytes of longer characters from which on the rest of a block is read at once


cdef struct Cursor:
    # The scan's place, kept in registers; stored into the worker before anything else looks at it.
    int64_t used
    int64_t n_starts
    int64_t n_ends
    uint32_t run
    uint32_t character


cdef struct Checkpoint:
    # A place at or before the last separator, to which the scan can go back.
    int64_t at
    int64_t n_directs
    Cursor c


cdef inline Cursor load(const Worker *w) noexcept nogil:
    cdef Cursor c
    c.used = w.used
    c.n_starts = w.n_starts
    c.n_ends = w.n_ends
    c.run = w.run
    c.character = w.character
    return c


cdef inline void store(Worker *w, Cursor c) noexcept nogil:
    w.used = c.used
    w.n_starts = c.n_starts
    w.n_ends = c.n_ends
    w.run = c.run
    w.character = c.character


cdef inline int64_t count_characters(const uint8_t *text, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t n = 0
    while start < end:
        n += (text[start] & 0xC0) != 0x80
        start += 1
    return n


cdef inline bint eight_ascii(const uint8_t *text) noexcept nogil:
    """Whether the next eight bytes are ASCII."""
    cdef uint64_t eight
    memcpy(&eight, text, 8)
    return not (eight & <uint64_t>0x8080808080808080)


cdef inline const CharEntry *peek(CharTables *t, const uint8_t *text, int *length) noexcept nogil:
    """The entry of the code point at text, if it is not ASCII and its page is there already, else NULL."""
    cdef const CharEntry *entry
    cdef uint32_t cp
    if text[0] < 128:
        return NULL
    cp = utf8_decode(text, length)
    entry = <const CharEntry *>ht_acquire(&t.pages[cp >> 8])
    if entry != NULL:
        entry = &entry[cp & 255]
    return entry


cdef bint is_escape(CharTables *t, const CharEntry *entry, const uint8_t *text, int64_t i, int64_t floor, int64_t size, int length) noexcept nogil:
    """Whether the neighbours make an escape of a code point that depends on them."""
    cdef const CharEntry *before
    cdef int before_length
    if entry.depends & DEPENDS_NEXT and i + 1 < size and text[i + 1] == entry.bytes[3]:
        return True
    if i == floor:
        return False
    # The character before has at most 5 - length bytes. (No character that depends so has fewer than three itself.)
    if entry.depends & DEPENDS_BEFORE and (text[i - 1] < 128 or (length < 4 and i - 1 > floor and text[i - 2] >= 0xC0)):
        return True
    if entry.depends & DEPENDS_MARK and joins_before(utf8_decode(utf8_prev(text + i), &before_length), utf8_decode(text + i, &length)):
        return True
    if entry.depends & DEPENDS_GROWN:
        before = char_entry(t, utf8_decode(utf8_prev(text + i), &length))
        return before == NULL or before.depends & GROWS
    return False


cdef const RunWord *word_at(Worker *w, const uint8_t *text, int64_t i, int64_t stop, int64_t size, int64_t taken, int64_t *skip) noexcept nogil:
    """The word of the pattern at text[i:stop], or NULL. An added token ends the text that the pattern sees. skip: where the
    search for these goes on."""
    cdef CharTables *t = w.tables
    cdef const RunWord *word
    cdef Hit hit
    cdef int64_t n
    cdef int k, found
    for k in range(t.n_words):
        word = &t.words[k]
        if stop - i < word.size:
            continue
        n = 0
        while n < word.size and text[i + n] < 128 and t.ascii.map[text[i + n]] == word.text[n]:
            n += 1
        if n < word.size:
            continue
        for n in range(i + 1, i + word.size):
            if t.first[text[n]] & BEGINS_TOKEN and n >= skip[0]:
                found = w.match(w.matcher, text, size, n, taken, &hit)
                if found == MATCH_TOKEN:
                    break
                if found != MATCH_NONE:
                    skip[0] = hit.resume
        else:
            return word
    return NULL


cdef inline int mixed_block(Worker *w, const uint8_t *text, int n, int64_t size, Cursor *c, bint full) noexcept nogil:
    """Read the n bytes at text, of `size` that are left, or less (mixed.h); how many."""
    cdef ht_mixed m
    cdef uint8_t tail[72]
    cdef uint64_t live, r0, r1, iso, known, p0, p1, pi, differs, begins
    cdef int64_t first = c.n_starts
    cdef int k
    cdef uint8_t closing
    if size < n + 4:
        memcpy(tail, text, <size_t>n)
        memset(tail + n, 0, 4)
        text = tail
    if full:
        ht_read_mixed_numbered(text, n, w.tables.cells, w.text + c.used, w.index + c.used, c.character, &m)
    else:
        ht_read_mixed(text, n, w.tables.cells, w.text + c.used, &m)
    if m.bytes == 0:
        return 0
    if m.n:
        live = ht_low_bits(m.n)
        r0 = ht_with_class(m.cls, HT_RUN0)
        r1 = ht_with_class(m.cls, HT_RUN1)
        iso = ht_with_class(m.cls, HT_ISOLATE)
        p0 = (r0 << 1) | (c.run & 1)
        p1 = (r1 << 1) | (c.run >> 1)
        pi = iso << 1
        differs = (r0 ^ p0) | (r1 ^ p1) | iso | pi
        begins = differs & (r0 | r1 | iso)
        c.n_starts += ht_places(begins, m.at, <uint32_t>c.used, w.starts + c.n_starts)
        c.n_ends += ht_places(differs & (p0 | p1 | pi) & live, m.at, <uint32_t>c.used, w.ends + c.n_ends)
        closing = m.cls[m.n - 1]
        w.ends[c.n_ends] = <uint32_t>(c.used + m.used)
        c.n_ends += closing & HT_ISOLATE != 0
        c.run = closing & (HT_RUN0 | HT_RUN1)
        known = ht_with_class(m.cls, HT_MIXED_KNOWN)
        while known:
            k = ht_ctz64(known)
            known &= known - 1
            w.ends[first + ht_popcount64(begins & ht_low_bits(k))] = KNOWN | m.word[k]
        if ht_with_class(m.cls, HT_MIXED_UNFINISHED):
            w.unfinished = 1
    c.used += m.used
    c.character += <uint32_t>m.chars
    return m.bytes


cdef inline int scan_text(Worker *w, const uint8_t *text, int64_t size, bint full, bint spaced) noexcept nogil:
    cdef CharTables *t = w.tables
    cdef bint last = t.spaced == SPACED_LAST
    cdef int64_t i = 0, stop = size, region_end = 0, skip = 0, r, room
    cdef int64_t floor = 0           # no escape reaches behind it
    cdef int64_t taken = 0           # end of the last added token: the next one takes no blanks before it
    cdef Checkpoint check
    cdef Cursor c = load(w), after
    cdef ht_masks m
    cdef uint64_t live, r0, r1, iso, p0, p1, pi, differs, blanks, begins, closes
    cdef int n, nb, length, error, found
    cdef uint32_t cp, first
    cdef uint8_t byte, action
    cdef const CharEntry *entry
    cdef const RunWord *word
    cdef Hit hit
    cdef bint ahead = False      # `hit` ends the region
    cdef uint8_t *buf = w.text
    cdef uint32_t *starts = w.starts
    cdef uint32_t *ends = w.ends
    cdef uint32_t *index = w.index
    check.at = 0
    check.n_directs = w.n_directs
    check.c = c
    while True:
        while i < stop:
            # Room for a block; and now and then a flush, after a separator only, so that no escape reaches behind it.
            if HT_UNLIKELY(c.used + STEP > w.capacity or c.n_starts + STEP > w.chunk_capacity or c.used > FLUSH_TEXT):
                store(w, c)
                if c.used > FLUSH_TEXT and not w.hold and i > floor and (
                    c.run == 1 and is_separator(t, text[i]) if spaced else c.run == 0 and is_separator(t, text[i - 1])
                ):
                    if spaced:
                        ends[c.n_ends] = <uint32_t>c.used
                        c.n_ends += 1
                        c.run = 0
                        store(w, c)
                    error = flush(w)
                    if error:
                        return error
                    c = load(w)
                    check.at = i
                    check.n_directs = w.n_directs
                    check.c = c
                    floor = i
                error = worker_room(w, STEP, STEP)
                if error:
                    return error
                buf = w.text
                starts = w.starts
                ends = w.ends
                index = w.index
            if w.limit and w.flushed_chunks + c.n_ends - w.first_chunk - w.added >= w.limit:
                c.n_starts = c.n_ends
                c.run = 0
                store(w, c)
                return SCAN_FULL
            n = <int>(stop - i) if stop - i < 64 else 64
            ht_classify(&t.ascii, text + i, n, buf + c.used, &m)
            nb = ht_ctz64(m.special) if m.special else n
            if nb and spaced:
                live = ht_low_bits(nb)
                blanks = ~m.run0 & live
                if blanks:
                    check.at = i
                    check.n_directs = w.n_directs
                    check.c = c
                if last:
                    c.n_starts -= c.run == 2 and blanks & 1 != 0
                    begins = blanks & ~(blanks >> 1)
                    closes = blanks & ~((blanks << 1) | (c.run == 2))
                else:
                    begins = closes = blanks
                if c.run == 0:
                    begins |= ~blanks & 1
                    closes &= ~<uint64_t>1
                c.n_starts += ht_positions(begins, <uint32_t>c.used, starts + c.n_starts)
                c.n_ends += ht_positions(closes, <uint32_t>c.used, ends + c.n_ends)
                if full:
                    ht_iota(c.character, nb, index + c.used)
                c.used += nb
                c.character += <uint32_t>nb
                i += nb
                c.run = 1 + <uint32_t>((blanks >> (nb - 1)) & 1)
                if nb == n:
                    continue
            elif nb:
                live = ht_low_bits(nb)
                r0 = m.run0 & live
                r1 = m.run1 & live
                iso = m.isolate & live
                p0 = (r0 << 1) | (c.run & 1)
                p1 = (r1 << 1) | (c.run >> 1)
                pi = iso << 1
                differs = (r0 ^ p0) | (r1 ^ p1) | iso | pi
                if (r0 | r1 | iso) != live:
                    check.at = i
                    check.n_directs = w.n_directs
                    check.c = c
                c.n_starts += ht_positions(differs & (r0 | r1 | iso), <uint32_t>c.used, starts + c.n_starts)
                c.n_ends += ht_positions(differs & (p0 | p1 | pi) & live, <uint32_t>c.used, ends + c.n_ends)
                if full:
                    ht_iota(c.character, nb, index + c.used)
                c.used += nb
                c.character += <uint32_t>nb
                i += nb
                ends[c.n_ends] = <uint32_t>c.used
                c.n_ends += (iso >> (nb - 1)) & 1
                c.run = <uint32_t>(((r0 >> (nb - 1)) & 1) | (((r1 >> (nb - 1)) & 1) << 1))
                if nb == n:
                    continue
            if not spaced and not t.high_first and t.cells != NULL and ht_popcount64(m.high) >= MIXED:
                # Up to what may be an added token.
                live = (m.special & ~m.high) >> nb
                n -= nb
                if live:
                    n = ht_ctz64(live)
                if n:
                    after = c
                    length = mixed_block(w, text + i, n, size - i, &after, full)
                    if ~((m.run0 | m.run1 | m.isolate | m.special) >> nb) & ht_low_bits(length):
                        check.at = i
                        check.n_directs = w.n_directs
                        check.c = c
                    c = after
                    i += length
                    # All of it, or all but a character that the block cuts.
                    if length and length >= n - 3:
                        continue
            # Character by character, until eight bytes of ASCII are in sight or the room is used up.
            room = c.used + STEP - 64
            while i < stop and c.used < room:
                byte = text[i]
                if HT_UNLIKELY(t.first[byte]):
                    found = w.match(w.matcher, text, size, i, taken, &hit) if t.first[byte] & BEGINS_TOKEN and i >= skip else MATCH_NONE
                    if found == MATCH_TOKEN:
                        ends[c.n_ends] = <uint32_t>c.used
                        c.n_ends += c.run != 0
                        c.run = 0
                        # Characters of the blanks that it takes along on the left were counted already.
                        first = c.character - <uint32_t>count_characters(text, hit.start, i)
                        c.character += <uint32_t>count_characters(text, i, hit.end)
                        store(w, c)
                        error = worker_direct(w, hit.id, first, c.character)
                        if error:
                            return error
                        c = load(w)
                        i = hit.end
                        floor = taken = i
                        skip = hit.resume
                        check.at = i
                        check.n_directs = w.n_directs
                        check.c = c
                        break
                    if found != MATCH_NONE:
                        skip = hit.resume
                    if t.first[byte] & BEGINS_WORD and c.run != t.word_run:
                        word = word_at(w, text, i, stop, size, taken, &skip)
                        if word != NULL:
                            ends[c.n_ends] = <uint32_t>c.used
                            c.n_ends += c.run != 0
                            c.run = 0
                            for n in range(<int>word.size):
                                if word.begins >> n & 1:
                                    if n:
                                        ends[c.n_ends] = <uint32_t>c.used
                                        c.n_ends += 1
                                    starts[c.n_starts] = <uint32_t>c.used
                                    c.n_starts += 1
                                buf[c.used] = word.text[n]
                                if full:
                                    index[c.used] = c.character
                                c.used += 1
                                c.character += 1
                            ends[c.n_ends] = <uint32_t>c.used
                            c.n_ends += 1
                            i += word.size
                            if i + 8 <= stop and eight_ascii(text + i):
                                break
                            continue
                cp = utf8_decode(text + i, &length)
                entry = <const CharEntry *>ht_acquire(&t.pages[cp >> 8])
                if HT_UNLIKELY(entry == NULL):
                    entry = char_entry(t, cp)
                    if entry == NULL:
                        return SCAN_NO_MEMORY
                else:
                    entry = entry + (cp & 255)
                action = entry.action
                if HT_UNLIKELY(entry.depends != 0) and is_escape(t, entry, text, i, floor, size, length):
                    action = ACT_ESCAPE
                if action == ACT_KNOWN:
                    ends[c.n_ends] = <uint32_t>c.used
                    c.n_ends += c.run != 0
                    c.run = 0
                    starts[c.n_starts] = <uint32_t>c.used
                    c.n_starts += 1
                    memcpy(&first, entry.bytes, 4)
                    ends[c.n_ends] = KNOWN | first
                    c.n_ends += 1
                    if full:
                        index[c.used] = c.character
                    # The text is kept for the search for normalized added tokens.
                    memcpy(buf + c.used, text + i, <size_t>length)
                    c.used += length
                    # On through a stretch of the like.
                    while not t.high_first and c.used < room and i + length < stop:
                        entry = peek(t, text + i + length, &found)
                        if entry == NULL or entry.action != ACT_KNOWN:
                            break
                        i += length
                        length = found
                        c.character += 1
                        starts[c.n_starts] = <uint32_t>c.used
                        c.n_starts += 1
                        memcpy(&first, entry.bytes, 4)
                        ends[c.n_ends] = KNOWN | first
                        c.n_ends += 1
                        if full:
                            index[c.used] = c.character
                        memcpy(buf + c.used, text + i, <size_t>length)
                        c.used += length
                elif (action & 7) <= ACT_RUN3 and action != ACT_SEPARATOR:
                    if action & ACT_UNFINISHED:
                        w.unfinished = 1
                    if spaced:
                        starts[c.n_starts] = <uint32_t>c.used
                        c.n_starts += c.run == 0
                        c.run = 1
                    elif c.run != <uint32_t>(action & 3):
                        ends[c.n_ends] = <uint32_t>c.used
                        c.n_ends += c.run != 0
                        starts[c.n_starts] = <uint32_t>c.used
                        c.n_starts += 1
                        c.run = action & 3
                    memcpy(buf + c.used, entry.bytes, 4)
                    if full:
                        index[c.used] = c.character
                        index[c.used + 1] = c.character
                        index[c.used + 2] = c.character
                        index[c.used + 3] = c.character
                    c.used += entry.size
                    # On through a stretch of the same class.
                    while not t.high_first and c.used < room and i + length < stop:
                        entry = peek(t, text + i + length, &found)
                        if entry == NULL or entry.action != action or (entry.depends != 0 and (length < 3 or entry.depends & DEPENDS_MARK)):
                            break
                        i += length
                        length = found
                        c.character += 1
                        memcpy(buf + c.used, entry.bytes, 4)
                        if full:
                            index[c.used] = c.character
                            index[c.used + 1] = c.character
                            index[c.used + 2] = c.character
                            index[c.used + 3] = c.character
                        c.used += entry.size
                elif action == ACT_ISOLATE:
                    ends[c.n_ends] = <uint32_t>c.used
                    c.n_ends += c.run != 0
                    c.run = 0
                    starts[c.n_starts] = <uint32_t>c.used
                    c.n_starts += 1
                    memcpy(buf + c.used, entry.bytes, 4)
                    if full:
                        index[c.used] = c.character
                        index[c.used + 1] = c.character
                        index[c.used + 2] = c.character
                        index[c.used + 3] = c.character
                    c.used += entry.size
                    ends[c.n_ends] = <uint32_t>c.used
                    c.n_ends += 1
                elif action == ACT_SEPARATOR:
                    if spaced:
                        if is_separator(t, byte):
                            check.at = i
                            check.n_directs = w.n_directs
                            check.c = c
                        if c.run == 2 and last:
                            c.n_starts -= 1
                        else:
                            ends[c.n_ends] = <uint32_t>c.used
                            c.n_ends += c.run != 0
                        starts[c.n_starts] = <uint32_t>c.used
                        c.n_starts += 1
                        c.run = 2
                        buf[c.used] = c' '
                        if full:
                            index[c.used] = c.character
                        c.used += 1
                    else:
                        ends[c.n_ends] = <uint32_t>c.used
                        c.n_ends += c.run != 0
                        c.run = 0
                    if byte < 128:
                        i += 1
                        c.character += 1
                        if not spaced:
                            check.at = i
                            check.n_directs = w.n_directs
                            check.c = c
                        if i + 8 <= stop and eight_ascii(text + i):
                            break
                        continue
                elif action != ACT_DROP:
                    # Escape: go back to the last separator, scan up to it, then hand the text up to the next one over.
                    r = i
                    while r > floor and not is_separator(t, text[r - 1]):
                        r -= 1
                    if spaced and r > floor:
                        r -= 1
                    region_end = i + length
                    while region_end < size:
                        byte = text[region_end]
                        if is_separator(t, byte):
                            break
                        if t.first[byte] & BEGINS_TOKEN and region_end >= skip:
                            found = w.match(w.matcher, text, size, region_end, taken, &hit)
                            if found == MATCH_TOKEN:
                                # The region ends where the blanks that the token takes along begin.
                                region_end = hit.start if hit.start > r else r
                                ahead = True
                                break
                            if found != MATCH_NONE:
                                skip = hit.resume
                        region_end += 1
                    i = check.at
                    c = check.c
                    w.n_directs = check.n_directs
                    # `skip` stays: matches refused up to region_end were decided the same way the first time.
                    stop = r
                    break
                i += length
                c.character += 1
                if i + 8 <= stop and eight_ascii(text + i):
                    break
        if stop == size:
            store(w, c)
            return SCAN_OK
        # The text before an escape has been scanned; now the escape's own region.
        if spaced and last and c.run == 2:
            c.n_starts -= 1          # the region brings the last separator along
            c.run = 0
        ends[c.n_ends] = <uint32_t>c.used
        c.n_ends += c.run != 0
        c.run = 0
        store(w, c)
        if region_end > stop:
            error = w.region(w, text, stop, region_end, c.character)
            if error:
                return error
            c = load(w)
            c.character += <uint32_t>count_characters(text, stop, region_end)
        i = region_end
        if ahead:
            ahead = False
            first = c.character - <uint32_t>count_characters(text, hit.start, i)
            c.character += <uint32_t>count_characters(text, i, hit.end)
            store(w, c)
            error = worker_direct(w, hit.id, first, c.character)
            if error:
                return error
            c = load(w)
            i = taken = hit.end
            skip = hit.resume
        buf = w.text
        starts = w.starts
        ends = w.ends
        index = w.index
        floor = i
        stop = size
        check.at = i
        check.n_directs = w.n_directs
        check.c = c


cdef int scan(Worker *w, const uint8_t *text, int64_t size) noexcept nogil:
    cdef bint full = w.want_spans or w.want_words
    if w.tables.spaced:
        return scan_text(w, text, size, True, True) if full else scan_text(w, text, size, False, True)
    return scan_text(w, text, size, True, False) if full else scan_text(w, text, size, False, False)


include "tier.pxi"
