"""Characters that the merges of a byte-level vocabulary put together before anything else reaches them.

A character beyond ASCII begins as two or three symbols, one a byte. In most places its own merges come first, and then it might as
well have been one symbol from the start: half of all merges of Cyrillic, two thirds of those of Thai and Chinese are of this kind.

Rule. Merging takes the lowest rank first, then the leftmost place (reference: models/bpe/word.rs `merge_all`). Let a
character's bytes, left alone, become one token in steps of ranks r1, r2, ... A step is safe from what stands before the character
if every merge whose right part is the character's leftmost symbol at that time, and whose left part ends with the byte before,
comes later in the list than the step; in the same way from what stands behind. A symbol's last byte is that of the text, whatever was
merged to its left, so a byte tells enough. If, besides, every merge that takes what a step makes comes later in the list than the step,
nothing that would have happened before it happens otherwise when the character is whole from the start: until then all merges
that are made have lower ranks, and none of them touches the character.

It needs ids and strings to correspond one to one (`provable` in seeds). Characters of four bytes are left as they are.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from hftok._core.models.bpe cimport CHAR_BYTE, BPEModel, raw_bytes
from hftok._core.models.merges cimport NO_RANK, NO_SYMBOL, MergeTable, PairTable, pair_rank
from hftok._core.models.vocab_map cimport VocabTable
from hftok._core.seeds cimport provable
from hftok._core.text cimport utf8_decode, utf8_len, utf8_prev

cdef extern from "publish.h" nogil:
    void *ht_publish(void **slot, void *p)

cdef enum:
    CHARS = 0x10000
    MOST_ROWS = 4096         # symbols of one or two bytes that are looked at
    MOST_MAPS = 0x8000
    MAP_SLOTS = 0x10000


cdef struct Edges:
    # Up to two merges at one side of a character: rows of `uses`, and the ranks below which nothing may come.
    int n
    int32_t row[2]
    uint32_t rank[2]


cdef struct Uses:
    uint32_t *first          # by id: the first line that takes the token, on either side
    int32_t *row_of          # by id: row of a symbol of one or two bytes, or -1
    uint32_t *right          # [row][byte]: the first line that takes it as right part behind a left part that ends with the byte
    uint32_t *left           # [row][byte]: ... as left part before a right part that begins with the byte
    uint16_t *slots          # map number + 1, by hash
    int32_t rows
    int32_t n_maps


cdef inline int byte_of(const uint8_t *p) noexcept nogil:
    """The byte that the ByteLevel character at p stands for, or -1."""
    cdef int length
    cdef uint32_t cp = utf8_decode(p, &length)
    return CHAR_BYTE[cp] if cp < 512 else -1


cdef inline bint is_empty(const VocabTable *v, int64_t entry) noexcept nogil:
    return v.offsets[entry] == v.offsets[entry + 1]


cdef inline int last_byte(const VocabTable *v, int64_t entry) noexcept nogil:
    return -1 if is_empty(v, entry) else byte_of(utf8_prev(v.text.data + v.offsets[entry + 1]))


cdef inline int first_byte(const VocabTable *v, int64_t entry) noexcept nogil:
    return -1 if is_empty(v, entry) else byte_of(v.text.data + v.offsets[entry])


cdef void number_symbols(Uses *u, const VocabTable *v) noexcept nogil:
    cdef uint8_t raw[2]
    cdef int64_t i, n
    for i in range(v.size):
        n = v.offsets[i + 1] - v.offsets[i]
        # A ByteLevel character has one byte or two.
        if n <= 4 and u.rows < MOST_ROWS and raw_bytes(v.text.data + v.offsets[i], n, raw, 2):
            u.row_of[v.ids[i]] = u.rows
            u.rows += 1


cdef void find_uses(Uses *u, MergeTable merges, const VocabTable *v) noexcept nogil:
    cdef const PairTable *t = &merges.table
    cdef int64_t left, right, at
    cdef uint32_t rank
    cdef int byte
    for rank in range(<uint32_t>t.ranks):
        left = merges.parts[2 * rank]
        right = merges.parts[2 * rank + 1]
        if u.first[v.ids[left]] == NO_RANK:
            u.first[v.ids[left]] = rank
        if u.first[v.ids[right]] == NO_RANK:
            u.first[v.ids[right]] = rank
        at = u.row_of[v.ids[right]]
        if at >= 0:
            byte = last_byte(v, left)
            if byte >= 0 and u.right[at << 8 | byte] == NO_RANK:
                u.right[at << 8 | byte] = rank
        at = u.row_of[v.ids[left]]
        if at >= 0:
            byte = first_byte(v, right)
            if byte >= 0 and u.left[at << 8 | byte] == NO_RANK:
                u.left[at << 8 | byte] = rank


cdef int map_of(EarlyTable *e, Uses *u, const uint32_t *rows, const Edges *edges) noexcept nogil:
    """The number of the map of bytes that the merges at one side are safe from; -1: of none, or there are too many maps."""
    cdef uint64_t map[4]
    cdef uint64_t hash = 0
    cdef const uint32_t *row
    cdef uint32_t k
    cdef int i, b, number
    map[0] = map[1] = map[2] = map[3] = <uint64_t>-1
    for i in range(edges.n):
        row = rows + (<int64_t>edges.row[i] << 8)
        for b in range(256):
            map[b >> 6] &= ~(<uint64_t>(row[b] < edges.rank[i]) << (b & 63))
    if map[0] | map[1] | map[2] | map[3] == 0:
        return -1
    for i in range(4):
        hash = (hash ^ map[i]) * <uint64_t>0x9E3779B97F4A7C15
        hash ^= hash >> 32
    k = <uint32_t>hash & (MAP_SLOTS - 1)
    while u.slots[k]:
        number = u.slots[k] - 1
        if memcmp(e.maps + 4 * number, map, 32) == 0:
            return number
        k = (k + 1) & (MAP_SLOTS - 1)
    if u.n_maps == MOST_MAPS:
        return -1
    number = u.n_maps
    u.n_maps += 1
    u.slots[k] = <uint16_t>(number + 1)
    memcpy(e.maps + 4 * number, map, 32)
    return number


cdef bint together(const PairTable *t, const Uses *u, const uint32_t *byte_ids, const uint8_t *raw, int n, uint32_t id, Edges *left,
                   Edges *right) noexcept nogil:
    """Whether the bytes of a character, left alone, become its token, no merge taking what a step makes before it; and the merges
    at both sides."""
    cdef uint32_t ids[3]
    cdef uint32_t rank, other
    cdef int i, k
    left.n = right.n = 0
    for i in range(n):
        ids[i] = byte_ids[raw[i]]
        if ids[i] == NO_SYMBOL:
            return False
    while n > 1:
        k = 0
        rank = pair_rank(t, ids[0], ids[1])
        if n == 3:
            other = pair_rank(t, ids[1], ids[2])
            if other < rank:         # NO_RANK is the highest
                rank = other
                k = 1
        if rank == NO_RANK or u.first[t.merged[rank]] < rank:
            return False
        if k == 0:
            left.row[left.n] = u.row_of[ids[0]]
            left.rank[left.n] = rank
            left.n += 1
        if k == n - 2:
            right.row[right.n] = u.row_of[ids[n - 1]]
            right.rank[right.n] = rank
            right.n += 1
        if u.row_of[ids[0]] < 0 or u.row_of[ids[n - 1]] < 0:
            return False
        ids[k] = t.merged[rank]
        for i in range(k + 1, n - 1):
            ids[i] = ids[i + 1]
        n -= 1
    return ids[0] == id


cdef void find_chars(EarlyTable *e, Uses *u, MergeTable merges, const VocabTable *v, const uint32_t *byte_ids) noexcept nogil:
    cdef uint8_t raw[4]
    cdef int64_t i
    cdef int n, length, left, right
    cdef uint32_t cp
    cdef Edges before, behind
    for i in range(v.size):
        # All bytes of such a character are ByteLevel characters of two bytes.
        n = <int>(v.offsets[i + 1] - v.offsets[i]) if v.offsets[i + 1] - v.offsets[i] <= 6 else 0
        if n != 4 and n != 6 or raw_bytes(v.text.data + v.offsets[i], n, raw, 3) != n // 2:
            continue
        n //= 2
        if n == 2 and (raw[0] < 0xC2 or raw[0] >= 0xE0) or n == 3 and raw[0] >> 4 != 14:
            continue
        if raw[1] & 0xC0 != 0x80 or raw[n - 1] & 0xC0 != 0x80:
            continue
        cp = utf8_decode(raw, &length)
        if cp < (0x80 if n == 2 else 0x800) or not together(&merges.table, u, byte_ids, raw, n, v.ids[i], &before, &behind):
            continue
        left = map_of(e, u, u.right, &before)
        right = map_of(e, u, u.left, &behind)
        if left < 0 or right < 0:
            continue
        e.chars[cp].id = v.ids[i]
        e.chars[cp].left = <uint16_t>left
        e.chars[cp].right = <uint16_t>right


cdef class EarlyChars:
    """Read-only; shared by all models with the same merges."""

    def __cinit__(self):
        memset(&self.table, 0, sizeof(EarlyTable))

    def __dealloc__(self):
        free(self.table.chars)
        free(self.table.maps)

    def __init__(self, BPEModel model not None):
        cdef MergeTable merges = model.merge_table
        cdef const VocabTable *v = &model.map.table
        cdef int64_t n = <int64_t>model.map.max_id + 1, size = 0
        cdef Uses u
        if self.table.chars != NULL:
            raise RuntimeError("EarlyChars are filled once, when they are made")
        memset(&u, 0, sizeof(Uses))
        self.table.chars = <EarlyChar *>malloc(CHARS * sizeof(EarlyChar))
        self.table.maps = <uint64_t *>malloc(MOST_MAPS * 32)
        u.first = <uint32_t *>malloc(<size_t>n * 4)
        u.row_of = <int32_t *>malloc(<size_t>n * 4)
        u.slots = <uint16_t *>calloc(MAP_SLOTS, 2)
        try:
            if self.table.chars == NULL or self.table.maps == NULL or u.first == NULL or u.row_of == NULL or u.slots == NULL:
                raise MemoryError("out of memory while looking through the merges")
            with nogil:
                memset(self.table.chars, 0xFF, CHARS * sizeof(EarlyChar))        # NO_SYMBOL
                memset(u.first, 0xFF, <size_t>n * 4)                             # NO_RANK
                memset(u.row_of, 0xFF, <size_t>n * 4)                            # -1
                number_symbols(&u, v)
                size = <int64_t>(u.rows + 1) * 256 * 4
                u.right = <uint32_t *>malloc(<size_t>size)
                u.left = <uint32_t *>malloc(<size_t>size)
                if u.right != NULL and u.left != NULL:
                    memset(u.right, 0xFF, <size_t>size)
                    memset(u.left, 0xFF, <size_t>size)
                    find_uses(&u, merges, v)
                    find_chars(&self.table, &u, merges, v, model.byte_ids)
            if u.right == NULL or u.left == NULL:
                raise MemoryError("out of memory while looking through the merges")
        finally:
            free(u.first)
            free(u.row_of)
            free(u.right)
            free(u.left)
            free(u.slots)

    @staticmethod
    cdef EarlyChars of_chars(BPEModel model):
        """For a vocabulary whose symbols are characters: each that is a token is one from the start, whatever is around it."""
        cdef EarlyChars self = EarlyChars.__new__(EarlyChars)
        cdef const VocabTable *v = &model.map.table
        cdef const uint8_t *p
        cdef int64_t i, n
        cdef int length = 0
        cdef uint32_t cp
        self.table.chars = <EarlyChar *>malloc(CHARS * sizeof(EarlyChar))
        self.table.maps = <uint64_t *>malloc(32)
        if self.table.chars == NULL or self.table.maps == NULL:
            raise MemoryError("out of memory while looking through the vocabulary")
        with nogil:
            memset(self.table.chars, 0xFF, CHARS * sizeof(EarlyChar))            # NO_SYMBOL
            memset(self.table.maps, 0xFF, 32)
            for i in range(v.size):
                n = v.offsets[i + 1] - v.offsets[i]
                p = v.text.data + v.offsets[i]
                if (n == 2 or n == 3) and utf8_len(p[0]) == n:
                    cp = utf8_decode(p, &length)
                    self.table.chars[cp].id = v.ids[i]
                    self.table.chars[cp].left = self.table.chars[cp].right = 0
        return self

    def find(self, text, int64_t place):
        """The id of the character of UTF-8 bytes text that begins at a place if it is a symbol at once there, or None."""
        cdef bytes data = bytes(text)
        cdef int length = 0
        cdef uint32_t id
        if not 0 <= place < len(data):
            raise IndexError("there is no such place in the text")
        id = early_id(&self.table, data, <int>place, <int>len(data), &length)
        return None if id == NO_SYMBOL else id

    def count(self):
        """int: how many characters are symbols at once at some places."""
        return sum(1 for i in range(CHARS) if self.table.chars[i].id != NO_SYMBOL)


cdef EarlyChars early_chars(BPEModel model, bint marks):
    cdef MergeTable merges = model.merge_table
    cdef EarlyChars made
    if marks:
        return EarlyChars.of_chars(model)
    if not model.byte_level or not provable(model):
        return None
    if merges.early is None:
        made = EarlyChars(model)
        if merges.early is None:     # two threads make the same
            merges.early = made
    made = merges.early
    ht_publish(&model.early, &made.table)
    return made


def of_model(BPEModel model not None):
    """The early characters of a model, for tests and inspection: EarlyChars or None."""
    return early_chars(model, False)
