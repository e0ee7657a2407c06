"""Where text can be cut so that byte-pair encoding of each side alone gives the tokens of the whole.

Merging starts from characters (bytes, for byte-level vocabularies) and every merge joins two neighbours. So if no line of the
list of merges has a left part that ends with character a and a right part that begins with character b, nothing ever joins
across a|b: the two sides do not know of each other, ranks included. Real vocabularies join a few ten thousand of the many
million pairs of characters, so that CJK text, and text whose words are not split beforehand, falls into short pieces.

The argument needs symbols to be what their strings say (ids and strings one to one, no affixes; `scannable` in `merges`), and
symbols that stand for something else (unk, byte tokens) to take part in no merge; who cuts has to see to that.

In byte-level vocabularies a part may hold only some bytes of a character: such a line marks the last byte on its left and
the first on its right, and all characters that share these two bytes stay joined. Answers err on the side of "joined" only.

It leaves to others: the encoding (`bpe`), and deciding when cutting pays.
"""
from array import array

from libc.stdint cimport int16_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from hftok._core.models.merges cimport MergeTable
from hftok._core.models.vocab_map cimport VocabTable
from hftok._core.stored cimport Block, demand, view
from hftok._core.text cimport utf8_decode, utf8_len, utf8_prev


cdef enum:
    PROBE = 0x4E00
    WIDE = 0xE3              # first byte of the characters that scanners call wide: three bytes, from U+3000 on


cdef inline bint is_continuation(uint8_t b) noexcept nogil:
    return b & 0xC0 == 0x80


cdef inline int char_at(const uint8_t *p, int64_t n) noexcept nogil:
    """Length of the character at p if it is whole within n bytes, else 0."""
    cdef int length, i
    if is_continuation(p[0]):
        return 0
    length = utf8_len(p[0])
    if length > n:
        return 0
    for i in range(1, length):
        if not is_continuation(p[i]):
            return 0
    return length


cdef void mark_word(CutTable *t, const uint8_t *text, int64_t size) noexcept nogil:
    cdef uint64_t bit = word_bit(t, text, size)
    cdef int first = char_at(text, size), length = 0
    cdef uint32_t product
    t.whole[bit >> 6] |= <uint64_t>1 << (bit & 63)
    t.sizes[text[0]] |= size_bit(size)
    if first != 3 or text[0] < WIDE:
        return
    if size == 3:
        t.marks_char = 1
    elif text[3] >= WIDE and char_at(text + 3, size - 3) == 3:
        product = cut_product(utf8_decode(text, &length), utf8_decode(text + 3, &length))
        t.marks[product >> 25] |= <uint8_t>(1 << (product >> 22 & 7))
        t.marks[128 + (product >> 15 & 127)] |= <uint8_t>(1 << (product >> 12 & 7))


cdef bint stays_whole(const CutTable *t, const uint8_t *text, int64_t begin, int64_t end, const uint32_t *cuts, int64_t n) noexcept nogil:
    cdef int64_t i
    if is_marked(t, text + begin, end - begin):
        return True
    for i in range(n):
        if is_marked(t, text + begin, cuts[i] - begin):
            return True
        begin = cuts[i]
    return is_marked(t, text + begin, end - begin)


cdef int64_t next_cut(const CutTable *t, const uint8_t *text, int64_t begin, int64_t size) noexcept nogil:
    cdef int64_t at = begin
    cdef int length, decoded = 0
    cdef uint32_t left = 0, right
    cdef bint whole = False          # the character before `at` is whole, and `left`
    while at < size:
        length = char_at(text + at, size - at)
        if length == 0:
            whole = False
            at += 1
            continue
        right = utf8_decode(text + at, &decoded)
        if whole and not may_join(t, left, text[at - 1], right, text[at]):
            return at
        left = right
        whole = True
        at += length
    return size


cdef void fill_wide_gate(CutTable *t) noexcept nogil:
    """Bit (first byte & 7) of byte ((last byte & 63) << 1 | first byte >> 3 & 1), for first bytes from 0xE0 on: what scanners keep
    in two registers."""
    cdef int last
    for last in range(64):
        memcpy(t.wide_gate + 2 * last, t.gate + ((0x80 | last) << 8 | 0xE0) // 8, 2)


cdef class SafeCuts:
    def __cinit__(self):
        memset(&self.table, 0, sizeof(CutTable))

    def __dealloc__(self):
        if not self.borrowed:
            free(self.table.bits)

    def __init__(self, MergeTable merges not None, dict byte_of_char=None):
        """Read the merges. byte_of_char: the byte of each ByteLevel character (code point -> byte), for a vocabulary whose
        symbols are bytes; None for one whose symbols are characters. Raises MemoryError."""
        cdef int16_t byte_of[512]
        cdef uint64_t wanted = 1 << 16
        if self.table.bits != NULL:
            raise RuntimeError("SafeCuts are filled once, when they are made")
        # At most as many pairs as merges, mostly far fewer; some 8 bits for each keep wrong "joined" answers rare.
        while wanted < <uint64_t>merges.table.ranks * 8 and wanted < 1 << 21:
            wanted *= 2
        self.table.bits = <uint64_t *>calloc(<size_t>(wanted >> 6), sizeof(uint64_t))
        if self.table.bits == NULL:
            raise MemoryError("out of memory while reading the merges")
        self.table.mask = wanted - 1
        if byte_of_char is None:
            self.add_chars(merges)
        else:
            for i in range(512):
                byte_of[i] = byte_of_char.get(i, -1)
            self.add_bytes(merges, byte_of)
        fill_wide_gate(&self.table)

    @staticmethod
    cdef SafeCuts of_tokens(const VocabTable *tokens):
        """Where any two tokens that make a third may be merged, a merge joins two characters only where some token has them side
        by side, or parts of them."""
        cdef SafeCuts self = SafeCuts.__new__(SafeCuts)
        cdef uint64_t bits = 1 << 21
        cdef int64_t i
        self.table.bits = <uint64_t *>calloc(<size_t>(bits >> 6), sizeof(uint64_t))
        if self.table.bits == NULL:
            raise MemoryError("out of memory while reading the tokens")
        self.table.mask = bits - 1
        for i in range(tokens.size):
            self.add_token(tokens.text.data + tokens.offsets[i], tokens.offsets[i + 1] - tokens.offsets[i])
        fill_wide_gate(&self.table)
        return self

    cdef int add_token(self, const uint8_t *p, int64_t n) except -1:
        cdef int64_t i, left
        cdef int length = 0
        cdef uint32_t k
        for i in range(1, n):
            if is_continuation(p[i]):
                continue
            left = i - 1
            while left > 0 and i - left < 4 and is_continuation(p[left]):
                left -= 1
            if char_at(p + left, i - left) == i - left and char_at(p + i, n - i) != 0:
                self.add_pair(utf8_decode(p + left, &length), p[i - 1], utf8_decode(p + i, &length), p[i])
            else:
                k = (<uint32_t>p[i - 1] << 8) | p[i]
                self.table.gate[k >> 3] |= <uint8_t>(1 << (k & 7))
        return 0

    cdef void add_pair(self, uint32_t left, uint8_t left_last, uint32_t right, uint8_t right_first) noexcept nogil:
        cdef uint64_t h
        cdef uint32_t k
        if left < 128 and right < 128:
            k = (left << 8) | right
            self.table.gate[k >> 3] |= <uint8_t>(1 << (k & 7))
            return
        h = cut_hash(left, right) & self.table.mask
        self.pairs += not self.table.bits[h >> 6] >> (h & 63) & 1
        self.table.bits[h >> 6] |= <uint64_t>1 << (h & 63)

    cdef int add_chars(self, MergeTable merges) except -1:
        cdef const VocabTable *v = &merges.vocab.table
        cdef const uint8_t *left
        cdef const uint8_t *right
        cdef int64_t rank, l, r
        cdef int length = 0
        cdef uint32_t a, b
        for rank in range(merges.table.ranks):
            l = merges.parts[2 * rank]
            r = merges.parts[2 * rank + 1]
            if v.offsets[l] == v.offsets[l + 1] or v.offsets[r] == v.offsets[r + 1]:
                continue  # no symbol is the empty string
            left = v.text.data + v.offsets[l + 1]
            right = v.text.data + v.offsets[r]
            a = utf8_decode(utf8_prev(left), &length)
            b = utf8_decode(right, &length)
            self.add_pair(a, (left - 1)[0], b, right[0])
        return 0

    cdef int add_bytes(self, MergeTable merges, const int16_t *byte_of) except -1:
        cdef const VocabTable *v = &merges.vocab.table
        cdef const uint8_t *p
        cdef const uint8_t *begin
        cdef const uint8_t *end
        cdef int64_t rank, l, r
        cdef int length = 0, n, m, b
        cdef uint8_t tail[4]      # the last bytes of the left part, tail[4 - n:]
        cdef uint8_t head[4]      # the first bytes of the right part, head[:m]
        cdef uint32_t k
        for rank in range(merges.table.ranks):
            l = merges.parts[2 * rank]
            r = merges.parts[2 * rank + 1]
            p = v.text.data + v.offsets[r]
            end = v.text.data + v.offsets[r + 1]
            m = 0
            while p < end and m < 4:
                b = byte_of_char_at(p, byte_of, &length)
                if b < 0:
                    break
                head[m] = <uint8_t>b
                m += 1
                p += length
            # A part with a character that is no ByteLevel character is never made from bytes: if it is among these, the line
            # does not matter; if it lies deeper, marking a pair too many does no harm.
            if m == 0 or is_continuation(head[0]) or (p < end and m < 4):
                continue
            begin = v.text.data + v.offsets[l]
            p = v.text.data + v.offsets[l + 1]
            n = 0
            b = 0
            while p > begin and n < 4:
                p = utf8_prev(p)
                b = byte_of_char_at(p, byte_of, &length)
                if b < 0:
                    break
                n += 1
                tail[4 - n] = <uint8_t>b
                if not is_continuation(<uint8_t>b):
                    break
            if n == 0 or b < 0:
                continue
            if is_continuation(tail[4 - n]):
                if n == 4:
                    continue  # four continuation bytes follow no lead byte
                k = (<uint32_t>tail[3] << 8) | head[0]  # the end of a character
            elif utf8_len(tail[4 - n]) != n:
                continue  # ends inside a character, or in bytes that are none: not at this side of a cut
            elif m < utf8_len(head[0]):
                k = (<uint32_t>tail[3] << 8) | head[0]  # the beginning of a character
            else:
                if char_at(head, m) != 0:
                    self.add_pair(utf8_decode(tail + 4 - n, &length), tail[3], utf8_decode(head, &length), head[0])
                continue
            self.table.gate[k >> 3] |= <uint8_t>(1 << (k & 7))
        return 0

    def sections(self):
        """The arrays by name (see stored)."""
        return {
            "cuts.numbers": array("Q", [self.pairs, self.table.mask, cut_hash(PROBE, PROBE + 1)]).tobytes(),
            "cuts.gate": view(self.table.gate, sizeof(self.table.gate)),
            "cuts.bits": view(self.table.bits, <int64_t>(self.table.mask + 1) >> 3),
        }

    @staticmethod
    def of_block(Block block not None):
        """The cuts over the arrays of a block. StoredError where they are damaged."""
        cdef SafeCuts self = SafeCuts.__new__(SafeCuts)
        cdef const uint64_t *numbers = <const uint64_t *>block.exactly("cuts.numbers", 8, 3)
        self.block = block
        self.borrowed = True
        self.pairs = <int64_t>numbers[0]
        self.table.mask = numbers[1]
        demand(numbers[2] == cut_hash(PROBE, PROBE + 1))     # the hash of today is that of then
        demand(63 <= self.table.mask < <uint64_t>1 << 40 and self.table.mask & (self.table.mask + 1) == 0)
        memcpy(self.table.gate, block.exactly("cuts.gate", 1, sizeof(self.table.gate)), sizeof(self.table.gate))
        fill_wide_gate(&self.table)
        self.table.bits = <uint64_t *>block.exactly("cuts.bits", 8, <int64_t>(self.table.mask + 1) >> 6)
        return self

    def cut(self, bytes text not None):
        """The pieces of a text between safe cuts, for tests and inspection."""
        cdef int64_t begin = 0, end, size = len(text)
        cdef const uint8_t *p = text
        pieces = []
        while begin < size:
            end = next_cut(&self.table, p, begin, size)
            pieces.append(text[begin:end])
            begin = end
        return pieces


cdef inline int byte_of_char_at(const uint8_t *p, const int16_t *byte_of, int *length) noexcept nogil:
    cdef uint32_t cp = utf8_decode(p, length)
    return byte_of[cp] if cp < 512 else -1
