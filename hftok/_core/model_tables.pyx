"""The big tables of a tokenizer.json - vocabulary, pieces, merges - from JSON text to the arrays that the models use.

A vocabulary of a quarter of a million tokens is half a million Python objects as a dict, and takes longer to make than all
that encoding needs of it. Here the text of each entry is copied once, behind the one before it, and the tables are made over
that; strings, dicts and lists are made of them when somebody asks (hftok.stored_fields).

Rule: what json_reader gives for the same text, for the usual form of each table. Whatever else there is (a string twice, an id
beyond 32 bits or no integer, an exponent, an escape or a byte that is not allowed, more elements than two, a merge whose parts
are not in the vocabulary) is left to json_reader and the readers of the models, which know what to make of it or what to say.

Scores are read as serde_json reads them (see json_reader): digits into 64 bits, divided once by a power of ten.
"""
from libc.stdint cimport UINT32_MAX, UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcpy, memset

from hftok._core.json_text cimport NO_ESCAPE, escaped, hex4, is_ascii, plain_end
from hftok._core.merge_ids cimport RawMerge
from hftok._core.models.merges cimport MergeTable, prefetch
from hftok._core.models.piece_list cimport PieceList
from hftok._core.models.vocab_map cimport (
    ByteBuffer, VocabMap, VocabTable, are_texts, bytes_differ, hash_bytes, vocab_entry_hashed,
)
from hftok._core.text cimport utf8_encode

cdef enum:
    PLAIN = 0
    IRREGULAR = 1            # not the plain form
    NO_MEMORY = 2
    BATCH = 64               # strings that are looked up together
    MOST_PLACES = 22         # digits behind the point, above which nothing is gained

cdef double[MOST_PLACES + 1] POWERS
cdef int _i
for _i in range(MOST_PLACES + 1):
    POWERS[_i] = float(f"1e{_i}")

# What has been read of a table.
cdef struct Table:
    ByteBuffer text
    int64_t *offsets
    uint32_t *ids            # of a vocabulary
    double *scores           # of pieces
    int64_t n
    int64_t capacity
    bint high                # some byte is beyond ASCII


cdef inline const uint8_t *after_blanks(const uint8_t *p, const uint8_t *end) noexcept nogil:
    cdef uint64_t w
    while p < end and (p[0] == c" " or p[0] == c"\n" or p[0] == c"\t" or p[0] == c"\r"):
        p += 1
        while end - p >= 8:
            memcpy(&w, p, 8)
            if w != 0x2020202020202020ULL:
                break
            p += 8
    return p


cdef inline const uint8_t *past(uint8_t c, const uint8_t *p, const uint8_t *end) noexcept nogil:
    """Behind that character, blanks before it passed over; NULL where there is another."""
    p = after_blanks(p, end)
    return p + 1 if p < end and p[0] == c else NULL


cdef int64_t unescape(const uint8_t *p, int64_t n, uint8_t *out) noexcept nogil:
    """The text of the source of a string, at most as long as that; its length, or -1 where an escape is not allowed."""
    cdef const uint8_t *end = p + n
    cdef const uint8_t *stop
    cdef uint8_t *q = out
    cdef int c, low
    while p < end:
        stop = <const uint8_t *>memchr(p, c"\\", <size_t>(end - p))
        if stop == NULL:
            stop = end
        memcpy(q, p, <size_t>(stop - p))
        q += stop - p
        p = stop
        if p == end:
            break
        if end - p < 2:
            return -1
        c = p[1]
        p += 2
        if c == c"u":
            if end - p < 4:
                return -1
            c = hex4(p)
            p += 4
            if c < 0 or 0xDC00 <= c <= 0xDFFF:
                return -1
            if 0xD800 <= c <= 0xDBFF:
                if end - p < 6 or p[0] != c"\\" or p[1] != c"u":
                    return -1
                low = hex4(p + 2)
                p += 6
                if not 0xDC00 <= low <= 0xDFFF:
                    return -1
                c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00)
            q += utf8_encode(<uint32_t>c, q)
            continue
        c = escaped(<uint8_t>c)
        if c == NO_ESCAPE:
            return -1
        q[0] = <uint8_t>c
        q += 1
    return q - out


cdef int grow(Table *t, bint scores) noexcept nogil:
    """Room for more entries: an offset more than those."""
    cdef int64_t capacity = 2 * t.capacity + 8192
    cdef void *p = realloc(t.offsets, <size_t>(capacity + 1) * sizeof(int64_t))
    if p == NULL:
        return NO_MEMORY
    t.offsets = <int64_t *>p
    if scores:
        p = realloc(t.scores, <size_t>capacity * sizeof(double))
        if p == NULL:
            return NO_MEMORY
        t.scores = <double *>p
    else:
        p = realloc(t.ids, <size_t>(capacity + 1) * sizeof(uint32_t))
        if p == NULL:
            return NO_MEMORY
        t.ids = <uint32_t *>p
    t.capacity = capacity
    return PLAIN


cdef int read_string(Table *t, const uint8_t **at, const uint8_t *end) noexcept nogil:
    """From behind the opening quotation mark to behind the closing one: the text to the end of t.text."""
    cdef const uint8_t *begin = at[0]
    cdef const uint8_t *p = begin
    cdef uint64_t high = 0
    cdef int64_t n, capacity
    cdef bint has_escapes = False
    cdef uint8_t *data
    while True:
        p = plain_end(p, end, &high)
        if p < end and p[0] == c'"':
            break
        if end - p < 2 or p[0] != c"\\":
            return IRREGULAR
        has_escapes = True
        p += 2
    n = p - begin
    if t.text.capacity - t.text.size < n or t.text.data == NULL:
        capacity = 2 * (t.text.size + n) + 65536
        data = <uint8_t *>realloc(t.text.data, <size_t>capacity)
        if data == NULL:
            return NO_MEMORY
        t.text.data = data
        t.text.capacity = capacity
    if has_escapes:
        t.high = True
        n = unescape(begin, n, t.text.data + t.text.size)
        if n < 0:
            return IRREGULAR
    else:
        t.high |= not is_ascii(high)
        memcpy(t.text.data + t.text.size, begin, <size_t>n)
    t.text.size += n
    at[0] = p + 1
    return PLAIN


cdef int read_text(Table *t, const uint8_t **at, const uint8_t *end, bint scores) noexcept nogil:
    """`read_string` of the next entry."""
    if t.n == t.capacity and grow(t, scores) != PLAIN:
        return NO_MEMORY
    t.offsets[t.n] = t.text.size
    return read_string(t, at, end)


cdef int read_id(uint32_t *id, const uint8_t **at, const uint8_t *end) noexcept nogil:
    cdef const uint8_t *p = at[0]
    cdef uint64_t n
    if p == end or not c"0" <= p[0] <= c"9":
        return IRREGULAR
    n = p[0] - c"0"
    p += 1
    if n == 0 and p < end and c"0" <= p[0] <= c"9":
        return IRREGULAR
    while p < end and c"0" <= p[0] <= c"9":
        n = 10 * n + (p[0] - c"0")
        if n > UINT32_MAX:
            return IRREGULAR
        p += 1
    if p == end or p[0] == c"." or (p[0] | 0x20) == c"e":
        return IRREGULAR
    id[0] = <uint32_t>n
    at[0] = p
    return PLAIN


cdef int read_score(double *score, const uint8_t **at, const uint8_t *end) noexcept nogil:
    cdef const uint8_t *p = at[0]
    cdef uint64_t n
    cdef int places = 0
    cdef bint negative = p < end and p[0] == c"-"
    cdef double f
    p += negative
    if p == end or not c"0" <= p[0] <= c"9":
        return IRREGULAR
    n = p[0] - c"0"
    p += 1
    if n == 0 and p < end and c"0" <= p[0] <= c"9":
        return IRREGULAR
    while p < end and c"0" <= p[0] <= c"9":
        if n > (UINT64_MAX - 9) // 10:
            return IRREGULAR
        n = 10 * n + (p[0] - c"0")
        p += 1
    if p < end and p[0] == c".":
        p += 1
        while p < end and c"0" <= p[0] <= c"9":
            if n > (UINT64_MAX - 9) // 10 or places == MOST_PLACES:
                return IRREGULAR
            n = 10 * n + (p[0] - c"0")
            places += 1
            p += 1
        if places == 0:
            return IRREGULAR
    if p == end or (p[0] | 0x20) == c"e" or p[0] == c".":
        return IRREGULAR
    f = <double>n
    if places:
        f /= POWERS[places]
    score[0] = -f if negative else f
    at[0] = p
    return PLAIN


cdef int sound_text(Table *t) noexcept nogil:
    """The end of reading: every string is UTF-8 by itself."""
    t.offsets[t.n] = t.text.size
    return PLAIN if not t.high or are_texts(t.text.data, t.offsets, t.n) else IRREGULAR


cdef int vocab_entries(Table *t, const uint8_t **at, const uint8_t *end) noexcept nogil:
    cdef const uint8_t *p = past(c"{", at[0], end)
    cdef int error
    while True:
        p = past(c'"', p, end) if p != NULL else NULL
        if p == NULL:
            return IRREGULAR
        error = read_text(t, &p, end, False)
        if error != PLAIN:
            return error
        p = past(c":", p, end)
        if p == NULL:
            return IRREGULAR
        p = after_blanks(p, end)
        error = read_id(&t.ids[t.n], &p, end)
        if error != PLAIN:
            return error
        t.n += 1
        p = after_blanks(p, end)
        if p < end and p[0] == c"}":
            break
        p = past(c",", p, end)
    if t.n >= UINT32_MAX:
        return IRREGULAR
    at[0] = p + 1
    return sound_text(t)


cdef int piece_entries(Table *t, const uint8_t **at, const uint8_t *end) noexcept nogil:
    cdef const uint8_t *p = past(c"[", at[0], end)
    cdef int error
    while True:
        p = past(c"[", p, end) if p != NULL else NULL
        p = past(c'"', p, end) if p != NULL else NULL
        if p == NULL:
            return IRREGULAR
        error = read_text(t, &p, end, True)
        if error != PLAIN:
            return error
        if t.text.size - t.offsets[t.n] >= UINT32_MAX:
            return IRREGULAR
        p = past(c",", p, end)
        if p == NULL:
            return IRREGULAR
        p = after_blanks(p, end)
        error = read_score(&t.scores[t.n], &p, end)
        if error != PLAIN:
            return error
        t.n += 1
        p = past(c"]", p, end)
        if p == NULL:
            return IRREGULAR
        p = after_blanks(p, end)
        if p < end and p[0] == c"]":
            break
        p = past(c",", p, end)
    if t.n >= UINT32_MAX:
        return IRREGULAR
    at[0] = p + 1
    return sound_text(t)


cdef void table_free(Table *t) noexcept nogil:
    free(t.text.data)
    free(t.offsets)
    free(t.ids)
    free(t.scores)


cdef VocabMap read_vocab(const uint8_t *data, int64_t size, int64_t *pos):
    cdef Table t
    cdef const uint8_t *p = data + pos[0]
    cdef int error
    cdef VocabMap vocab
    memset(&t, 0, sizeof(Table))
    with nogil:
        error = vocab_entries(&t, &p, data + size)
    if error != PLAIN:
        table_free(&t)
        if error == NO_MEMORY:
            raise MemoryError("out of memory while reading the vocabulary")
        return None
    vocab = VocabMap.of_texts(t.text, t.offsets, t.ids, t.n)
    if vocab is not None:
        pos[0] = p - data
    return vocab


cdef PieceList read_pieces(const uint8_t *data, int64_t size, int64_t *pos):
    cdef Table t
    cdef const uint8_t *p = data + pos[0]
    cdef int error
    cdef PieceList pieces
    memset(&t, 0, sizeof(Table))
    with nogil:
        error = piece_entries(&t, &p, data + size)
    if error != PLAIN:
        table_free(&t)
        if error == NO_MEMORY:
            raise MemoryError("out of memory while reading the vocabulary")
        return None
    pieces = PieceList.__new__(PieceList)
    pieces.text = t.text
    pieces.offsets = t.offsets
    pieces.scores = t.scores
    pieces.size = t.n
    pos[0] = p - data
    return pieces


# ---- merges ----------------------------------------------------------------------------------------------------------

# A string that is looked up: its places in memory are asked for some steps ahead.
cdef struct Lookup:
    const uint8_t *p
    int64_t n
    uint64_t hash


cdef inline int64_t first_place(const VocabTable *v, uint64_t hash) noexcept nogil:
    """The first entry whose hash looks the same, or -1: mostly the one that is meant."""
    cdef uint64_t k = hash & v.mask
    while v.slots[k] != 0:
        if v.slots[k] >> 32 == hash >> 32:
            return <int64_t>(v.slots[k] & 0xFFFFFFFFu) - 1
        k = (k + 1) & v.mask
    return -1


cdef inline bint is_whole(const VocabTable *v, int64_t entry, const Lookup *left, const Lookup *right) noexcept nogil:
    """Whether an entry is two strings, one after the other."""
    cdef const uint8_t *text
    if entry >= v.size or v.offsets[entry + 1] - v.offsets[entry] != left.n + right.n:
        return False
    text = v.text.data + v.offsets[entry]
    return bytes_differ(text, left.p, <size_t>left.n) == 0 and bytes_differ(text + left.n, right.p, <size_t>right.n) == 0


cdef bint source_text(Lookup *s, const uint8_t *p, int64_t n, uint8_t *room) noexcept nogil:
    """The text of the source of a string: where it lies, or in `room`, where it has escapes. False: not allowed, or empty."""
    s.p = p
    s.n = n
    if n and memchr(p, c"\\", <size_t>n) != NULL:
        s.p = room
        s.n = unescape(p, n, room)
    return s.n > 0


cdef int find_merges(const VocabTable *v, const uint8_t *data, const RawMerge *raw, int64_t n, uint32_t *parts, uint32_t *wholes,
                     uint8_t *rooms, int64_t room) noexcept nogil:
    """Places in the vocabulary of the parts and wholes of merges. rooms: `room` bytes for each part of a batch, and twice that
    for a whole."""
    cdef Lookup found[2 * BATCH]
    cdef Lookup whole
    cdef int64_t i, j, k, place, last = -1
    cdef int batch
    i = 0
    while i < n:
        batch = <int>(BATCH if n - i > BATCH else n - i)
        for j in range(batch):
            k = 2 * j
            if (not source_text(&found[k], data + raw[i + j].left, raw[i + j].left_size, rooms + k * room)
                    or not source_text(&found[k + 1], data + raw[i + j].right, raw[i + j].right_size, rooms + (k + 1) * room)):
                return IRREGULAR
            for k in range(2 * j, 2 * j + 2):
                if found[k].n > v.longest:
                    return IRREGULAR
                found[k].hash = hash_bytes(found[k].p, found[k].n, v.seed)
                prefetch(&v.slots[found[k].hash & v.mask])
        for k in range(2 * batch):
            place = first_place(v, found[k].hash)
            if place < 0:
                return IRREGULAR
            parts[2 * i + k] = <uint32_t>place
            prefetch(&v.offsets[place])
        for k in range(2 * batch):
            prefetch(v.text.data + v.offsets[parts[2 * i + k]])
        for k in range(2 * batch):
            place = vocab_entry_hashed(v, found[k].p, found[k].n, found[k].hash)
            if place < 0:
                return IRREGULAR
            parts[2 * i + k] = <uint32_t>place
        for j in range(batch):
            # Tokens that are made by successive merges mostly follow each other in the vocabulary.
            k = 2 * j
            if is_whole(v, last + 1, &found[k], &found[k + 1]):
                last += 1
            elif last < 0 or not is_whole(v, last, &found[k], &found[k + 1]):
                whole.p = rooms + 2 * BATCH * room
                whole.n = found[k].n + found[k + 1].n
                if whole.n > v.longest:
                    return IRREGULAR
                memcpy(rooms + 2 * BATCH * room, found[k].p, <size_t>found[k].n)
                memcpy(rooms + 2 * BATCH * room + found[k].n, found[k + 1].p, <size_t>found[k + 1].n)
                whole.hash = hash_bytes(whole.p, whole.n, v.seed)
                last = vocab_entry_hashed(v, whole.p, whole.n, whole.hash)
                if last < 0:
                    return IRREGULAR
            wholes[i + j] = <uint32_t>last
        i += batch
    return PLAIN


cdef MergeTable merges_of_texts(VocabMap vocab, const uint8_t *data, const RawMerge *raw, int64_t n):
    cdef int64_t i, room = 0
    cdef uint32_t *parts
    cdef uint32_t *wholes
    cdef uint8_t *rooms
    cdef int error
    for i in range(n):
        if raw[i].left_size > room:
            room = raw[i].left_size
        if raw[i].right_size > room:
            room = raw[i].right_size
    if room > 1 << 16:
        return None
    parts = <uint32_t *>malloc(<size_t>(2 * n + 2) * sizeof(uint32_t))
    wholes = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
    rooms = <uint8_t *>malloc(<size_t>(2 * BATCH + 2) * <size_t>(room + 8))
    if parts == NULL or wholes == NULL or rooms == NULL:
        free(parts)
        free(wholes)
        free(rooms)
        raise MemoryError("out of memory while reading the merges")
    with nogil:
        error = find_merges(&vocab.table, data, raw, n, parts, wholes, rooms, room + 8)
    free(rooms)
    if error != PLAIN:
        free(parts)
        free(wholes)
        return None
    try:
        return MergeTable.of_entries(vocab, parts, wholes, n)
    finally:
        free(wholes)
