"""Byte-pair encoding of one pre-token: characters to symbols, symbols merged, symbols to tokens.

Rules (reference: models/bpe/model.rs `merge_word`, `tokenize_with_cache`, `tokenize`):
- Each character is looked up with the continuing subword prefix before it (not for the first) and the end-of-word suffix
  after it (only for the last). Its length is the character's, affixes not counted.
- An unknown character becomes the tokens of its bytes (affixes included, each one byte long) if byte fallback is on and all
  are there; else the unk token, one for a run if fuse_unk; else, where no unk token is set, nothing at all.
- An unk token is held back until the next known character or the end: byte tokens that come between go before it.
- A token's offsets are the sums of the lengths before it, so they slip where characters vanish or affix bytes are counted.
- ignore_merges: a pre-token that is in the vocabulary is that token, unless dropout is on.

It leaves to others: the merging itself (`merges`), pre-tokenization, caching of words.
"""
from cpython.object cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memmove, memset

from hftok._core.early_chars cimport EarlyTable, early_symbol
from hftok._core.models.merges cimport (
    MergeScratch, MergeTable, NO_RANK, NO_SYMBOL, SMALL, fill_pair_ranks, merge_scratch_free, merge_small, merge_symbols,
    merge_with_dropout, place_key,
)
from hftok._core.models.model cimport (
    MODEL_MISSING_UNK, MODEL_NO_MEMORY, MODEL_OK, Model, ModelToken, TokenVec, VALUE_TEXT, VALUE_VOCAB,
)
from hftok._core.models.safe_cuts cimport SafeCuts, may_join, next_cut
from hftok._core.models.vocab_map cimport VocabMap, VocabTable, bytes_differ, vocab_entry, vocab_find
from hftok._core.random cimport random_fix
from hftok._core.stored cimport Block, demand, view
from hftok._core.text cimport utf8_decode, utf8_encode, utf8_len

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject *op) noexcept
    int PyGC_Enable() noexcept
    int PyGC_Disable() noexcept

cdef extern from "publish.h" nogil:
    void *ht_acquire(void **slot)

cdef enum:
    UNCUT = 24                   # words of up to this many bytes are merged whole
    NO_CHAR = 0xFFFFFFFF
    MOST_EARLY = 1 << 30         # bytes of a word whose characters are looked at
    KEPT_SYMBOLS = 1 << 20       # a scratch that grew beyond this gives its memory back after the word

# The ByteLevel character of each byte (pre_tokenizers/byte_level.rs bytes_char): printable Latin-1 stands for itself, the
# other bytes, in order, for the code points from 256 on.
cdef uint16_t BYTE_CHAR[256]


cdef void fill_byte_chars() noexcept nogil:
    cdef int b, other = 256
    for b in range(512):
        CHAR_BYTE[b] = -1
    for b in range(256):
        if 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b:
            BYTE_CHAR[b] = <uint16_t>b
        else:
            BYTE_CHAR[b] = <uint16_t>other
            other += 1
        CHAR_BYTE[BYTE_CHAR[b]] = <int16_t>b


fill_byte_chars()


cdef int64_t byte_chars(const uint8_t *raw, int64_t size, uint8_t *out) noexcept nogil:
    cdef int64_t i, n = 0
    for i in range(size):
        n += utf8_encode(BYTE_CHAR[raw[i]], out + n)
    return n


cdef int64_t raw_bytes(const uint8_t *text, int64_t size, uint8_t *out, int64_t most) noexcept nogil:
    cdef int64_t i = 0, n = 0
    cdef int length
    cdef uint32_t cp
    while i < size:
        if n == most:
            return 0
        cp = utf8_decode(text + i, &length)
        if cp >= 512 or CHAR_BYTE[cp] < 0:
            return 0
        out[n] = <uint8_t>CHAR_BYTE[cp]
        n += 1
        i += length
    return n


cdef int64_t find_whole(const VocabTable *t, const uint8_t *raw, int64_t size) noexcept nogil:
    cdef uint8_t text[2 * SMALL]
    return vocab_find(t, text, byte_chars(raw, size, text))


cdef inline uint32_t char_id(const CharTable *t, uint32_t cp) noexcept nogil:
    return t.ids[(<uint32_t>t.page[cp >> 8] << 8) | (cp & 255)]


cdef class CharIds:
    def __cinit__(self):
        memset(self.tables, 0, sizeof(self.tables))

    def __dealloc__(self):
        cdef int i
        if not self.borrowed:
            for i in range(4):
                free(self.tables[i].ids)

    def __init__(self, VocabMap vocab not None, bytes prefix not None, bytes suffix not None):
        cdef VocabTable *v = &vocab.table
        cdef const uint8_t *p
        cdef const uint8_t *pre = prefix
        cdef const uint8_t *suf = suffix
        cdef int64_t n, i, before = len(prefix), after = len(suffix)
        cdef int place, places, length = 0
        cdef uint32_t cp
        for place in range(4):
            # Without a prefix (suffix), one table serves for both places.
            self.by_place[place] = &self.tables[(place & 1 if before else 0) | (place & 2 if after else 0)]
        for place in range(4):
            if self.by_place[place] != &self.tables[place]:
                continue
            self.add(&self.tables[place], 0, NO_ID)
            for i in range(v.size):
                p = v.text.data + v.offsets[i]
                n = v.offsets[i + 1] - v.offsets[i]
                if place & 1:
                    if n < before or bytes_differ(p, pre, <size_t>before) != 0:
                        continue
                    p += before
                    n -= before
                if place & 2:
                    n -= after
                    if n < 0 or bytes_differ(p + n, suf, <size_t>after) != 0:
                        continue
                if 0 < n <= 4 and utf8_len(p[0]) == n:
                    cp = utf8_decode(p, &length)
                    self.add(&self.tables[place], cp, v.ids[i])

    @staticmethod
    def of_block(Block block not None):
        """The characters of a vocabulary without affixes, over the arrays of a block."""
        cdef CharIds self = CharIds.__new__(CharIds)
        cdef CharTable *t = &self.tables[0]
        cdef int64_t i, count = 0
        self.block = block
        self.borrowed = True
        memcpy(t.page, block.exactly("chars.page", 2, 0x1100), sizeof(t.page))
        t.ids = <uint32_t *>block.array("chars.ids", 256 * sizeof(uint32_t), &count)
        t.pages = count
        for i in range(4):
            self.by_place[i] = t
        for i in range(0x1100):
            demand(t.page[i] < count)
        return self

    def sections(self):
        """The arrays by name (see stored), of a vocabulary without affixes."""
        cdef const CharTable *t = &self.tables[0]
        return {
            "chars.page": view(t.page, sizeof(t.page)),
            "chars.ids": view(t.ids, t.pages * 256 * sizeof(uint32_t)),
        }

    cdef int add(self, CharTable *table, uint32_t cp, uint32_t id) except -1:
        cdef uint32_t *ids
        cdef int64_t pages = table.pages
        if table.page[cp >> 8] == 0:
            # The first call makes the empty page 0 and a page for the code points below 256.
            ids = <uint32_t *>realloc(table.ids, <size_t>(pages + 2) * 256 * sizeof(uint32_t))
            if ids == NULL:
                raise MemoryError("out of memory while reading the vocabulary")
            table.ids = ids
            if pages == 0:
                memset(ids, 0xFF, 256 * sizeof(uint32_t))
                pages = 1
            memset(ids + 256 * pages, 0xFF, 256 * sizeof(uint32_t))
            table.page[cp >> 8] = <uint16_t>pages
            table.pages = pages + 1
        table.ids[(<uint32_t>table.page[cp >> 8] << 8) | (cp & 255)] = id
        return 0


cdef inline int reserve(BPEScratch *s, int64_t capacity) noexcept nogil:
    cdef uint32_t *ids
    cdef int64_t *starts
    if capacity <= s.capacity:
        return 0
    capacity += capacity // 2 + 64
    ids = <uint32_t *>realloc(s.ids, <size_t>capacity * sizeof(uint32_t))
    if ids != NULL:
        s.ids = ids
    starts = <int64_t *>realloc(s.starts, <size_t>capacity * sizeof(int64_t))
    if starts != NULL:
        s.starts = starts
    if ids == NULL or starts == NULL:
        return -1
    s.capacity = capacity
    return 0


cdef inline void begin_bytes(
        uint32_t *ids, int64_t *starts, const uint8_t *raw, int64_t begin, int64_t end, const uint32_t *byte_ids) noexcept nogil:
    cdef int64_t i
    for i in range(end - begin):
        ids[i] = byte_ids[raw[begin + i]]
    if starts != NULL:
        for i in range(end - begin):
            starts[i] = begin + i


cdef int64_t begin_chars(uint32_t *ids, int64_t *starts, const uint8_t *raw, int64_t begin, int64_t end, const uint32_t *byte_ids,
                         const EarlyTable *early) noexcept nogil:
    """The same with characters where they are symbols from the start; the number of symbols."""
    cdef int64_t i = begin, n = 0
    cdef int length
    while i < end:
        ids[n] = early_symbol(early, byte_ids, raw + begin, <int>(i - begin), <int>(end - begin), &length)
        if starts != NULL:
            starts[n] = i
        n += 1
        i += length
    return n


cdef inline int reserve_text(BPEScratch *s, int64_t size) noexcept nogil:
    cdef uint8_t *text
    if s.text_capacity < size:
        text = <uint8_t *>realloc(s.text, <size_t>(size + size // 2 + 64))
        if text == NULL:
            return -1
        s.text = text
        s.text_capacity = size + size // 2 + 64
    return 0


cdef inline void text_starts(BPEScratch *s, int64_t n) noexcept nogil:
    """Turn n starts in s.text, raw bytes, into starts in the ByteLevel text (one or two bytes for each)."""
    cdef int64_t i, at = 0, k = 0
    for i in range(n):
        while k < s.starts[i]:
            at += 1 if BYTE_CHAR[s.text[k]] < 128 else 2
            k += 1
        s.starts[i] = at


cdef inline int add_cut(BPEScratch *s) noexcept nogil:
    cdef int64_t *cuts
    if s.size == 0:
        return 0
    if s.cut_count == s.cut_capacity:
        cuts = <int64_t *>realloc(s.cuts, <size_t>(2 * s.cut_capacity + 64) * sizeof(int64_t))
        if cuts == NULL:
            return -1
        s.cuts = cuts
        s.cut_capacity = 2 * s.cut_capacity + 64
    s.cuts[s.cut_count] = s.size
    s.cut_count += 1
    return 0


cdef inline void add_symbol(BPEScratch *s, uint32_t id, int64_t length) noexcept nogil:
    s.ids[s.size] = id
    s.starts[s.size] = s.end
    s.size += 1
    s.end += length


cdef inline int push_tokens(TokenVec *out, const uint32_t *ids, const int64_t *starts, int64_t n, int64_t end) noexcept nogil:
    cdef int64_t i, capacity
    cdef ModelToken *t
    if out.capacity - out.size < n:
        capacity = 2 * out.capacity if 2 * out.capacity >= out.size + n else out.size + n
        t = <ModelToken *>realloc(out.data, <size_t>capacity * sizeof(ModelToken))
        if t == NULL:
            return MODEL_NO_MEMORY
        out.data = t
        out.capacity = capacity
    t = out.data + out.size
    for i in range(n):
        t[i].id = ids[i]
        t[i].value = VALUE_VOCAB
        t[i].start = starts[i]
        t[i].end = starts[i + 1] if i + 1 < n else end
    out.size += n
    return MODEL_OK


cdef class BPEModel(Model):
    """BPE over one pre-token.

    vocab: dict of str -> id (0 .. 2**32 - 1). merges: list of pairs of strings, or of lines "left right", by rank.
    dropout: probability (rounded to float32, as the reference does) or None. Raises Exception with the reference's sentence
    for a dropout outside 0..1, a bad line, or a merge outside the vocabulary; ValueError where the reference panics.

    >>> model = BPEModel({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> model.tokenize_str("abab")
    [(2, 'ab', (0, 2)), (2, 'ab', (2, 4))]
    """

    def __cinit__(self):
        self.byte_pairs = NULL

    def __dealloc__(self):
        if not self.borrowed:
            free(self.byte_pairs)

    def __init__(self, dict vocab not None, merges not None, dropout=None, unk_token=None,
                 continuing_subword_prefix=None, end_of_word_suffix=None, bint fuse_unk=False, bint byte_fallback=False,
                 bint ignore_merges=False):
        cdef float p
        Model.__init__(self, vocab)
        if dropout is not None:
            p = dropout
            if not 0.0 <= p <= 1.0:
                raise Exception("Error while initializing BPE: Dropout should be between 0 and 1, inclusive")
        self.map = VocabMap(vocab)
        self.merge_table = MergeTable(self.map, merges, continuing_subword_prefix)
        self.set_options(dropout, unk_token, continuing_subword_prefix, end_of_word_suffix, fuse_unk, byte_fallback,
                         ignore_merges)
        self.find_cuts(None)

    def merge_pairs(self, list tokens not None):
        """The merges as list of (left, right), by rank. tokens: those of the vocabulary, in its order."""
        cdef const uint32_t *parts = self.merge_table.parts
        cdef int64_t i
        cdef list result = []
        cdef tuple pair
        cdef bint collecting
        if len(tokens) != self.map.table.size:
            raise ValueError("these are not the tokens of this model's vocabulary")
        collecting = PyGC_Disable()  # there is nothing to collect, and it would be looked for every 700 tuples
        try:
            for i in range(self.merge_table.table.ranks):
                pair = (tokens[parts[2 * i]], tokens[parts[2 * i + 1]])
                PyObject_GC_UnTrack(<PyObject *>pair)    # no cycle goes through two strings
                result.append(pair)
        finally:
            if collecting:
                PyGC_Enable()
        return result

    def stored_size(self):
        """int: the number of tokens."""
        return self.map.table.size

    def stored_vocab(self):
        """The vocabulary, made anew: dict of str -> id."""
        return self.map.to_dict()

    def find(self, str token not None):
        """The id of a token, or None."""
        return self.map.get(token)

    def stored_rows(self):
        """The merges of a model of a block as ids: uint32 (n, 3) of left id, right id, id of the merged token, by rank."""
        return self.merge_table.rows()

    cdef bint makes_texts(self):
        return self._vocab is None and self.map.in_order

    cdef object text_of(self, uint32_t id):
        return self.map.text(id) if id < <uint64_t>self.map.table.size else None

    def replace(self, **options):
        """A model with other options over the same vocabulary and merges; takes milliseconds. As with the reference's
        setters, nothing is checked and the merges are not made anew for another prefix."""
        cdef BPEModel new = BPEModel.__new__(BPEModel)
        chosen = {name: getattr(self, name) for name in OPTIONS}
        for name in options:
            if name not in chosen:
                raise TypeError(f"a BPE model has no option {name!r}")
        chosen.update(options)
        Model.__init__(new, self._vocab)
        new.make_vocab = self.make_vocab
        new._vocab_r = self._vocab_r
        new.map = self.map
        new.merge_table = self.merge_table
        if (options.keys() & {"continuing_subword_prefix", "end_of_word_suffix"}) == set():
            new.chars = self.chars
        new.set_options(
            chosen["dropout"], chosen["unk_token"], chosen["continuing_subword_prefix"], chosen["end_of_word_suffix"],
            chosen["fuse_unk"], chosen["byte_fallback"], chosen["ignore_merges"])
        new.find_cuts(self)
        return new

    # ---- as a part of a block ------------------------------------------------------------------------------------------

    def sections(self):
        """The arrays by name (see stored); None for a model that is not to be stored: with affixes, or ids or merges that do
        not fit packed slots."""
        cdef SafeCuts cuts = self.byte_cuts if self.byte_level else self.char_cuts
        sections = self.merge_table.sections()
        if sections is None or self.prefix_size or self.suffix_size or self.merge_table.prefix_length:
            return None
        sections.update(self.map.sections())
        sections.update(self.chars.sections())
        if self.byte_level:
            sections["bpe.byte_pairs"] = view(self.byte_pairs, 65536 * sizeof(uint32_t))
        if cuts is not None:
            sections.update(cuts.sections())
        return sections

    @staticmethod
    def of_tables(MergeTable merges not None, make_vocab, dropout, unk_token, continuing_subword_prefix, end_of_word_suffix,
                  bint fuse_unk, bint byte_fallback, bint ignore_merges):
        """A model of merges of a vocabulary. make_vocab: gives that as a dict when it is asked for."""
        cdef BPEModel new = BPEModel.__new__(BPEModel)
        Model.__init__(new, None)
        new.make_vocab = make_vocab
        new.map = merges.vocab
        new.merge_table = merges
        new.set_options(dropout, unk_token, continuing_subword_prefix, end_of_word_suffix, fuse_unk, byte_fallback,
                        ignore_merges)
        new.find_cuts(None)
        return new

    @staticmethod
    def of_block(Block block not None, make_vocab, dropout, unk_token, continuing_subword_prefix, end_of_word_suffix,
                 bint fuse_unk, bint byte_fallback, bint ignore_merges):
        """A model over the arrays of a block. make_vocab: gives the vocabulary as a dict when it is asked for. StoredError where
        the block is damaged."""
        cdef BPEModel new = BPEModel.__new__(BPEModel)
        demand(not continuing_subword_prefix and not end_of_word_suffix)
        Model.__init__(new, None)
        new.make_vocab = make_vocab
        new.block = block
        new.map = VocabMap.of_block(block)
        new.merge_table = MergeTable.of_block(block, new.map)
        new.chars = CharIds.of_block(block)
        demand(new.merge_table.prefix_length == 0)
        new.set_options(dropout, unk_token, continuing_subword_prefix, end_of_word_suffix, fuse_unk, byte_fallback,
                        ignore_merges)
        new.find_cuts(None)
        return new

    cdef int set_options(self, object dropout, object unk_token, object prefix, object suffix, bint fuse_unk,
                         bint byte_fallback, bint ignore_merges) except -1:
        cdef int b
        self.has_dropout = dropout is not None
        self._dropout = <float>dropout if dropout is not None else 0.0
        self.sampling = self.has_dropout and self._dropout != 0.0
        self.text_values = ignore_merges and not self.map.unique_ids
        self.unk_token = unk_token
        self.continuing_subword_prefix = prefix
        self.end_of_word_suffix = suffix
        self.fuse_unk = fuse_unk
        self.byte_fallback = byte_fallback
        self.ignore_merges = ignore_merges
        self.prefix_bytes = prefix.encode("utf-8") if prefix else b""
        self.suffix_bytes = suffix.encode("utf-8") if suffix else b""
        self.prefix_data = self.prefix_bytes
        self.suffix_data = self.suffix_bytes
        self.prefix_size = len(self.prefix_bytes)
        self.suffix_size = len(self.suffix_bytes)
        # The byte tokens of a character with an affix stand for the affix's bytes too: they reach beyond the pre-token.
        self.chunk_independent = not self.sampling and not (byte_fallback and (self.prefix_size or self.suffix_size))
        if self.chars is None:
            self.chars = CharIds(self.map, self.prefix_bytes, self.suffix_bytes)
        self.unk_id = -1
        if unk_token is not None:
            found = self.map.get(unk_token)
            self.unk_id = -1 if found is None else <int64_t>found
        for b in range(256):
            found = self.map.get(f"<0x{b:02X}>")
            self.byte_fallback_ids[b] = -1 if found is None else <int64_t>found
        self.find_byte_level()
        return 0

    cdef int find_byte_level(self) except -1:
        cdef int b
        if self.prefix_size or self.suffix_size:
            return 0
        for b in range(256):
            found = self.map.get(chr(BYTE_CHAR[b]))
            self.lacks[b] = found is None
            self.byte_ids[b] = NO_SYMBOL if found is None else found
            if found is not None:
                continue
            if b not in (0xC0, 0xC1) and b < 0xF5:
                # Control characters, planes that hold next to nothing: such text is left to `symbols`. (A vocabulary of
                # characters, with tokens for bytes beside them, may hold many of these characters too, and is none of this.)
                if self.n_lacking == MOST_LACKING or self.byte_fallback:
                    return 0
                self.lacking[self.n_lacking] = <uint8_t>b
                self.n_lacking += 1
        if self.block is not None:
            self.borrowed = True
            self.byte_pairs = <uint32_t *>self.block.exactly("bpe.byte_pairs", sizeof(uint32_t), 65536)
            for b in range(65536):
                demand(self.byte_pairs[b] == NO_RANK or self.byte_pairs[b] < self.merge_table.table.ranks)
            self.byte_level = True
            return 0
        self.byte_pairs = <uint32_t *>malloc(65536 * sizeof(uint32_t))
        if self.byte_pairs == NULL:
            raise MemoryError("out of memory while reading the vocabulary")
        fill_pair_ranks(&self.merge_table.table, self.byte_ids, self.byte_pairs)
        self.byte_level = True
        return 0

    cdef int find_cuts(self, BPEModel source) except -1:
        """Where words may be cut, if symbols are what their strings say; taken over from a model with the same merges."""
        cdef int b
        if not self.merge_table.table.scannable or self.merge_table.prefix_length or self.prefix_size or self.suffix_size:
            return 0
        if self.unk_token is not None and self.takes_part(self.unk_token):
            return 0
        for b in range(256):
            if self.byte_fallback and self.takes_part(f"<0x{b:02X}>"):
                return 0
        if self.byte_level:
            self.byte_cuts = None if source is None else source.byte_cuts
            if self.byte_cuts is None and self.block is not None:
                self.byte_cuts = SafeCuts.of_block(self.block)
            if self.byte_cuts is None:
                self.byte_cuts = SafeCuts(self.merge_table, {BYTE_CHAR[b]: b for b in range(256)})
        else:
            self.char_cuts = None if source is None else source.char_cuts
            if self.char_cuts is None and self.block is not None:
                self.char_cuts = SafeCuts.of_block(self.block)
            if self.char_cuts is None:
                self.char_cuts = SafeCuts(self.merge_table)
        return 0

    def takes_part(self, str token not None):
        """Is the token the left or right part of some merge?"""
        cdef bytes text = token.encode("utf-8")
        cdef int64_t e = vocab_entry(&self.map.table, text, len(text))
        return e >= 0 and (self.merge_table.is_part[e >> 3] >> (e & 7) & 1) == 1

    def cut(self, bytes text not None):
        """The pieces of a text that are encoded by themselves when it is long: one piece where the proof does not hold."""
        cdef SafeCuts cuts = self.byte_cuts if self.byte_level else self.char_cuts
        return [text] if cuts is None else cuts.cut(text)

    @property
    def dropout(self):
        return self._dropout if self.has_dropout else None

    @property
    def scannable(self):
        """bool: short words may be merged by scanning (see `merges`); otherwise every word takes the queue."""
        return self.merge_table.scannable

    @property
    def merges(self):
        """list[tuple[str, str]]: the merges that hold, by rank, as the reference writes them."""
        cdef dict names = self.vocab_r
        return [(names[left], names[right]) for left, right in self.merge_table.to_list()]

    def missing_unk(self):
        return Exception(f"Unk token `{self.unk_token}` not found in the vocabulary")

    def fix_seed(self, seed):
        """For tests: each scratch made from now on draws from a stream that follows from the seed and from how many were made
        before. None: seeds come from the operating system again."""
        self.fixed_seed = seed is not None
        self.seed = 0 if seed is None else seed

    def tokenize_each(self, words):
        """Generator over many pre-tokens with one thread's memory, as the engine keeps it: lists of (id, start, end) in bytes."""
        cdef void *scratch = self.new_scratch()
        cdef TokenVec v
        cdef bytes data
        cdef int error
        cdef int64_t i
        memset(&v, 0, sizeof(TokenVec))
        try:
            for word in words:
                data = word.encode("utf-8")
                v.size = 0
                error = self.tokenize(data, len(data), &v, scratch)
                if error == MODEL_NO_MEMORY:
                    raise MemoryError("out of memory while tokenizing")
                if error == MODEL_MISSING_UNK:
                    raise self.missing_unk()
                yield [(v.data[i].id, v.data[i].start, v.data[i].end) for i in range(v.size)]
        finally:
            free(v.data)
            self.free_scratch(scratch)

    # --- encoding ------------------------------------------------------------------------------------------------------

    cdef void *new_scratch(self) noexcept nogil:
        cdef BPEScratch *s = <BPEScratch *>calloc(1, sizeof(BPEScratch))
        if s != NULL and self.fixed_seed:
            random_fix(&s.merge.random, self.seed)
            self.seed += <uint64_t>0x632BE59BD9B4E019
        return s

    cdef void free_scratch(self, void *scratch) noexcept nogil:
        cdef BPEScratch *s = <BPEScratch *>scratch
        if s != NULL:
            free(s.ids)
            free(s.starts)
            free(s.cuts)
            free(s.text)
            merge_scratch_free(&s.merge)
            free(s)

    cdef int symbols(self, const uint8_t *text, int64_t size, BPEScratch *s) noexcept nogil:
        """Split a word into symbols: s.ids, s.starts, s.size, s.end."""
        cdef int64_t i = 0, j, next, unk_length = -1, id, k
        cdef int length = 0
        cdef uint32_t cp, found
        cdef const CharTable *middle = self.chars.by_place[1]
        cdef const CharTable *table
        cdef bint known
        # Cuts are noted between symbols, not characters: a character that vanished lies between no two symbols, and what is
        # not a known character (unk, byte tokens) merges with nothing, so there is always a cut before and after it.
        cdef bint cutting = size > UNCUT and self.char_cuts is not None and not self.sampling
        cdef uint32_t before = NO_CHAR
        cdef uint8_t before_last = 0
        s.size = s.end = s.cut_count = 0
        # A character gives at most as many symbols as it has bytes; affix bytes are reserved where they are used.
        if reserve(s, size + 1) != 0:
            return MODEL_NO_MEMORY
        while i < size:
            cp = utf8_decode(text + i, &length)
            next = i + length
            table = middle
            if i == 0 or next == size:
                table = self.chars.by_place[(1 if i else 0) | (2 if next == size else 0)]
            found = char_id(table, cp)
            if found != NO_ID or (self.map.max_id == NO_ID and self.is_largest_id(cp, i, next == size)):
                if unk_length >= 0:
                    add_symbol(s, <uint32_t>self.unk_id, unk_length)
                    unk_length = -1
                    before = NO_CHAR
                if cutting:
                    if before == NO_CHAR or not may_join(&self.char_cuts.table, before, before_last, cp, text[i]):
                        if add_cut(s) != 0:
                            return MODEL_NO_MEMORY
                    before = cp
                    before_last = text[next - 1]
                add_symbol(s, found, length)
                i = next
                continue
            if self.byte_fallback:
                known = True
                for k in range(length):
                    known &= self.byte_fallback_ids[text[i + k]] >= 0
                if i:
                    for k in range(self.prefix_size):
                        known &= self.byte_fallback_ids[self.prefix_data[k]] >= 0
                if next == size:
                    for k in range(self.suffix_size):
                        known &= self.byte_fallback_ids[self.suffix_data[k]] >= 0
                if known:
                    before = NO_CHAR
                    if cutting and add_cut(s) != 0:
                        return MODEL_NO_MEMORY
                    if self.prefix_size + self.suffix_size:
                        if reserve(s, s.size + (size - i) + self.prefix_size + self.suffix_size + 1) != 0:
                            return MODEL_NO_MEMORY
                    if i:
                        for k in range(self.prefix_size):
                            add_symbol(s, <uint32_t>self.byte_fallback_ids[self.prefix_data[k]], 1)
                    for k in range(length):
                        add_symbol(s, <uint32_t>self.byte_fallback_ids[text[i + k]], 1)
                    if next == size:
                        for k in range(self.suffix_size):
                            add_symbol(s, <uint32_t>self.byte_fallback_ids[self.suffix_data[k]], 1)
                    i = next
                    continue
            if self.unk_token is not None:
                if unk_length >= 0 and self.fuse_unk:
                    unk_length += length
                else:
                    if unk_length >= 0:
                        add_symbol(s, <uint32_t>self.unk_id, unk_length)
                    if self.unk_id < 0:
                        return MODEL_MISSING_UNK
                    unk_length = length
            i = next
        if unk_length >= 0:
            add_symbol(s, <uint32_t>self.unk_id, unk_length)
        return MODEL_OK

    cdef bint is_largest_id(self, uint32_t cp, int64_t place, bint last) noexcept nogil:
        """Tells the character whose id is 2**32 - 1, the mark of an empty entry, from one that is not in the vocabulary."""
        cdef uint8_t short_text[64]
        cdef int64_t n = 0, before = self.prefix_size if place else 0, after = self.suffix_size if last else 0
        cdef int64_t id
        cdef uint8_t *p = short_text
        if before + after + 4 > 64:
            p = <uint8_t *>malloc(<size_t>(before + after + 4))
            if p == NULL:
                return False
        memcpy(p, self.prefix_data, <size_t>before)
        n = before + utf8_encode(cp, p + before)
        memcpy(p + n, self.suffix_data, <size_t>after)
        id = vocab_find(&self.map.table, p, n + after)
        if p != short_text:
            free(p)
        return id >= 0

    cdef int64_t merge(self, BPEScratch *s) noexcept nogil:
        cdef int64_t i, n, begin = 0, end, done = 0
        if self.sampling:
            return merge_with_dropout(&self.merge_table.table, s.ids, s.starts, s.size, self._dropout, &s.merge)
        if s.cut_count == 0:
            return merge_symbols(&self.merge_table.table, s.ids, s.starts, s.size, &s.merge)
        for i in range(s.cut_count + 1):
            end = s.cuts[i] if i < s.cut_count else s.size
            n = end - begin
            if n > 1:
                n = merge_symbols(&self.merge_table.table, s.ids + begin, s.starts + begin, n, &s.merge)
                if n < 0:
                    return -1
            if done != begin:
                memmove(s.ids + done, s.ids + begin, <size_t>n * sizeof(uint32_t))
                memmove(s.starts + done, s.starts + begin, <size_t>n * sizeof(int64_t))
            done += n
            begin = end
        return done

    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil:
        cdef BPEScratch *s = <BPEScratch *>scratch
        cdef int64_t id, n, zero = 0
        cdef uint32_t found
        cdef int error
        if size == 0:
            return MODEL_OK
        if s == NULL:
            return MODEL_NO_MEMORY
        if self.ignore_merges and not self.sampling:
            id = vocab_find(&self.map.table, text, size)
            if id >= 0:
                found = <uint32_t>id
                error = push_tokens(out, &found, &zero, 1, size)
                if error == MODEL_OK and not self.map.unique_ids:
                    out.data[out.size - 1].value = VALUE_TEXT
                return error
        n = self.bytes_of(text, size, s) if self.byte_level and not self.sampling else -1
        if n == -2:
            error = MODEL_NO_MEMORY
        elif n >= 0:
            # ByteLevel text: the same as its bytes, by the shorter way.
            n = self.encode_pieces(s.text, n, s.ids, s.starts, s)
            error = MODEL_OK
            if n >= 0:
                text_starts(s, n)
                s.end = size
        else:
            error = self.symbols(text, size, s)
            if error == MODEL_OK:
                n = self.merge(s)
        if error == MODEL_OK:
            error = push_tokens(out, s.ids, s.starts, n, s.end) if n >= 0 else MODEL_NO_MEMORY
        if s.capacity > KEPT_SYMBOLS:
            free(s.text)
            s.text = NULL
            s.text_capacity = 0
            free(s.ids)
            free(s.starts)
            s.ids = NULL
            s.starts = NULL
            free(s.cuts)
            s.cuts = NULL
            s.capacity = s.cut_capacity = 0
            merge_scratch_free(&s.merge)
        return error

    cdef int64_t bytes_of(self, const uint8_t *text, int64_t size, BPEScratch *s) noexcept nogil:
        """The bytes that ByteLevel text stands for, in s.text; their number, -1 where some character is no ByteLevel
        character, -2 when out of memory."""
        cdef int64_t i = 0, n = 0
        cdef int length = 0
        cdef uint32_t cp
        if reserve(s, size + 1) != 0 or reserve_text(s, size) != 0:
            return -2
        while i < size:
            cp = utf8_decode(text + i, &length)
            if cp >= 512 or CHAR_BYTE[cp] < 0 or self.lacks[CHAR_BYTE[cp]]:
                return -1
            s.text[n] = <uint8_t>CHAR_BYTE[cp]
            n += 1
            i += length
        return n

    cdef int64_t encode_bytes(
            self, const uint8_t *raw, int64_t size, uint32_t *ids, int64_t *starts, void *scratch) noexcept nogil:
        cdef BPEScratch *s = <BPEScratch *>scratch
        cdef int64_t id
        if size == 0:
            return 0
        if s == NULL:
            return -1
        if self.ignore_merges and not self.sampling and size <= self.map.table.longest:
            if reserve_text(s, 2 * size) != 0:
                return -1
            id = vocab_find(&self.map.table, s.text, byte_chars(raw, size, s.text))
            if id >= 0:
                ids[0] = <uint32_t>id
                if starts != NULL:
                    starts[0] = 0
                return 1
        if self.sampling:
            begin_bytes(ids, starts, raw, 0, size, self.byte_ids)
            return merge_with_dropout(&self.merge_table.table, ids, starts, size, self._dropout, &s.merge)
        return self.encode_pieces(raw, size, ids, starts, s)

    cdef int64_t encode_pieces(
            self, const uint8_t *raw, int64_t size, uint32_t *ids, int64_t *starts, BPEScratch *s) noexcept nogil:
        cdef int64_t n = 0, m, begin = 0, end
        if size <= UNCUT or self.byte_cuts is None:
            return self.encode_piece(raw, 0, size, ids, starts, s)
        # Pieces are encoded where they will stay: a piece never gives more ids than it has bytes.
        while begin < size:
            end = next_cut(&self.byte_cuts.table, raw, begin, size)
            m = self.encode_piece(raw, begin, end, ids + n, starts + n if starts != NULL else NULL, s)
            if m < 0:
                return -1
            n += m
            begin = end
        return n

    cdef int64_t encode_piece(self, const uint8_t *raw, int64_t begin, int64_t end, uint32_t *ids, int64_t *starts,
                              BPEScratch *s) noexcept nogil:
        cdef int32_t key[SMALL]
        cdef int64_t i, n, size = end - begin
        cdef const EarlyTable *early = <const EarlyTable *>ht_acquire(&self.early)
        if early != NULL and 1 < size <= MOST_EARLY:
            n = begin_chars(ids, starts, raw, begin, end, self.byte_ids, early)
            if n < size:
                return merge_symbols(&self.merge_table.table, ids, starts, n, &s.merge)
        else:
            begin_bytes(ids, starts, raw, begin, end, self.byte_ids)
        if size == 1:
            return 1
        if size > SMALL or not self.merge_table.table.scannable:
            return merge_symbols(&self.merge_table.table, ids, starts, size, &s.merge)
        raw += begin
        for i in range(size - 1):
            key[i] = place_key(self.byte_pairs[(<int>raw[i] << 8) | raw[i + 1]], <uint32_t>i)
        return merge_small(&self.merge_table.table, ids, starts, key, <int>size)

    def tokenize_bytes(self, bytes raw not None):
        """Tokens of raw bytes under a byte-level vocabulary, as (id, start, end) in bytes of the input.

        Raises ValueError where some byte has no token."""
        cdef int64_t size = len(raw), n, i
        cdef const uint8_t *p = raw
        cdef void *scratch
        cdef uint32_t *ids
        cdef int64_t *starts
        if not self.byte_level or any(self.lacks[p[i]] for i in range(size)):
            raise ValueError("this vocabulary lacks some of the 256 ByteLevel characters; use tokenize_str")
        scratch = self.new_scratch()
        ids = <uint32_t *>malloc(<size_t>(size + 1) * sizeof(uint32_t))
        starts = <int64_t *>malloc(<size_t>(size + 1) * sizeof(int64_t))
        try:
            if scratch == NULL or ids == NULL or starts == NULL:
                raise MemoryError("out of memory while tokenizing")
            with nogil:
                n = self.encode_bytes(p, size, ids, starts, scratch)
            if n < 0:
                raise MemoryError("out of memory while tokenizing")
            return [(ids[i], starts[i], starts[i + 1] if i + 1 < n else size) for i in range(n)]
        finally:
            free(ids)
            free(starts)
            self.free_scratch(scratch)


OPTIONS = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
           "ignore_merges")
