"""From words to initial symbols: special tokens, alphabet, affixes, and the id of each.

What it does: counts the characters (or bytes) of all words, settles which are kept and in which order they get ids, and
makes the tables by which slots and affix_engine read words as symbols.

Rules of the reference (models/bpe/trainer.rs): `add_special_tokens` (list order, duplicates skipped), `compute_alphabet`
(characters weighted by word count, those of the initial alphabet without bound; the limit keeps the most frequent; ids in code
point order), `tokenize_words` (the prefix on every character but the first, the suffix on the last, dropped characters
counted; such a symbol gets its id when first met).

Where the reference is random we are not: of characters with equal counts the limit keeps the lowest code points (there: the
order of a hash map), and symbols with affixes get their ids as they are met in the words in the order of the words' bytes
(there: in the order in which a hash map gives the words; what is the same in all of its orders is so here), or in the order
that `base_symbol_order` asks for.
"""
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from hftok._core.text cimport utf8_decode
from hftok._core.training.progress cimport Progress, Watch, stopped, watch_of
from hftok._core.training.slots cimport FIRST_ID, LOOK
from hftok._core.training.words cimport WordCounts

MODES = ("characters", "byte_level", "bytes")


def byte_level_characters():
    """The character that the reference's ByteLevel pre-tokenizer writes for each byte, as a list of 256 code points: the byte
    itself where it is a visible Latin-1 character, else 256, 257, ... in turn (pre_tokenizers/byte_level.rs, bytes_char)."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {b: b for b in visible}
    for b in range(256):
        if b not in table:
            table[b] = 256 + len(table) - len(visible)
    return [table[b] for b in range(256)]


cdef int64_t valid_size(const uint8_t *p, int64_t left) noexcept nogil:
    """Length of the code point at p, or 0 where it is not UTF-8 (too long, surrogate, out of range, cut off)."""
    cdef uint8_t a = p[0]
    cdef uint8_t b
    if a < 0x80:
        return 1
    if a < 0xC2 or a > 0xF4:
        return 0
    if left < 2 or p[1] & 0xC0 != 0x80:
        return 0
    if a < 0xE0:
        return 2
    b = p[1]
    if left < 3 or p[2] & 0xC0 != 0x80:
        return 0
    if a < 0xF0:
        return 0 if (a == 0xE0 and b < 0xA0) or (a == 0xED and b >= 0xA0) else 3
    if left < 4 or p[3] & 0xC0 != 0x80:
        return 0
    return 0 if (a == 0xF0 and b < 0x90) or (a == 0xF4 and b >= 0x90) else 4


cdef int64_t count_symbols(const WordSource *w, uint64_t *count, uint8_t *places, Watch *watch) noexcept nogil:
    """Weighted count of every symbol, and the places where it stands in words (1 first, 2 inner, 4 last, 8 only).
    0, -1 where all counts together pass 2**63 - 1, -2 where it was told to stop, or 1 + the index of a word that is not UTF-8."""
    cdef int64_t i, n, symbols
    cdef const uint8_t *p
    cdef const uint8_t *end
    cdef uint32_t c
    cdef int length
    cdef uint64_t room = <uint64_t>INT64_MAX
    cdef uint64_t weight
    cdef bint first
    cdef int64_t looked = 0
    for i in range(w.n):
        if w.offset[i] - looked >= LOOK:
            looked = w.offset[i]
            if stopped(watch):
                return -2
        weight = w.count[i]
        if weight == 0:
            continue
        p = w.text + w.offset[i]
        end = w.text + w.offset[i + 1]
        first = True
        symbols = 0
        while p < end:
            if w.characters:
                n = valid_size(p, end - p)
                if n == 0:
                    return 1 + i
                c = utf8_decode(p, &length)
                p += n
            else:
                c = p[0]
                p += 1
            count[c] += weight
            if first:
                places[c] |= 8 if p >= end else 1
                first = False
            else:
                places[c] |= 4 if p >= end else 2
            symbols += 1
        # Every pair's count, and every sum that the engines make, stays below this total.
        if weight > room // <uint64_t>max(symbols, <int64_t>1):
            return -1
        room -= weight * <uint64_t>symbols
    return 0


cdef struct Sight:               # of a character in one kind of place: the first word, in the order of their bytes, that has it
    uint64_t key                 # that word's first eight bytes, as a number that is ordered as they are
    int64_t word                 # 1 + its index; 0: none yet
    int64_t at                   # which byte of it


cdef bint sorts_before(const WordSource *w, const uint8_t *rank, int64_t a, int64_t b) noexcept nogil:
    cdef int64_t size_a = w.offset[a + 1] - w.offset[a], size_b = w.offset[b + 1] - w.offset[b], i
    cdef const uint8_t *p = w.text + w.offset[a]
    cdef const uint8_t *q = w.text + w.offset[b]
    for i in range(min(size_a, size_b)):
        if p[i] != q[i]:
            return rank[p[i]] < rank[q[i]]
    return size_a < size_b


cdef int find_sights(const WordSource *w, const uint8_t *rank, const uint32_t *number, Sight *sights, Watch *watch) noexcept nogil:
    """Of each character c that has a number, sights[3 * (number[c] - 1)] and the two behind it: as an inner, the last and the only
    one of a word. rank: place of each byte in the order of bytes. Words are UTF-8 where characters are asked for (count_symbols
    has seen them). -2 where it was told to stop."""
    cdef int64_t i, k, at, size, looked = 0
    cdef const uint8_t *p
    cdef uint32_t c
    cdef int length = 1, kind
    cdef uint64_t key
    cdef Sight *sight
    for i in range(w.n):
        if w.offset[i] - looked >= LOOK:
            looked = w.offset[i]
            if stopped(watch):
                return -2
        if w.count[i] == 0:
            continue
        p = w.text + w.offset[i]
        size = w.offset[i + 1] - w.offset[i]
        key = 0
        for k in range(8):
            key = key << 8 | (rank[p[k]] if k < size else 0)
        at = 0
        while at < size:
            if w.characters:
                c = utf8_decode(p + at, &length)
            else:
                c = p[at]
            kind = 0 if at else -1
            if at + length >= size:
                kind = 1 if at else 2
            if kind >= 0 and number[c]:
                sight = &sights[3 * <int64_t>(number[c] - 1) + kind]
                if sight.word == 0 or key < sight.key or (
                        key == sight.key and sight.word - 1 != i and sorts_before(w, rank, i, sight.word - 1)):
                    sight.key = key
                    sight.word = i + 1
                    sight.at = at
            at += length
    return 0


cdef class Symbols:
    """The initial symbols of `words`.

    mode  "characters": words are UTF-8, symbols are characters;
          "byte_level": words are raw bytes, symbols are the characters that ByteLevel writes for them;
          "bytes": words are raw bytes and so are the symbols, all 256 of them with ids 0 to 255; special tokens come after.
    """

    def __cinit__(self):
        self.inner = self.first = self.last = self.only = NULL

    def __dealloc__(self):
        if self.first != self.inner:
            free(self.first)
        if self.last != self.inner:
            free(self.last)
        if self.only != self.inner:
            free(self.only)
        free(self.inner)

    def __init__(self, WordCounts words not None, str mode="characters", special_tokens=(), limit_alphabet=None,
                 initial_alphabet=(), str prefix=None, str suffix=None, base_symbol_order=None, Progress clock=None):
        if mode not in MODES:
            raise ValueError(f"symbols must be one of {', '.join(MODES)}, not {mode!r}")
        self.words = words
        self.table_size = 0x110000 if mode == "characters" else 256
        self.source.text = words.text
        self.source.offset = words.offset
        self.source.count = words.count
        self.source.n = words.size
        self.source.characters = mode == "characters"
        self.source.drops = False
        cdef uint64_t *count = <uint64_t *>calloc(<size_t>self.table_size, sizeof(uint64_t))
        cdef uint8_t *places = <uint8_t *>calloc(<size_t>self.table_size, 1)
        cdef int64_t result
        cdef int64_t i
        cdef Watch *watch = watch_of(clock)
        try:
            if count == NULL or places == NULL:
                raise MemoryError("out of memory while counting characters")
            with nogil:
                result = count_symbols(&self.source, count, places, watch)
            if result == -2:
                clock.fail("")
            if result < 0:
                raise OverflowError("the counts of all symbols add up to more than 2**63 - 1; scale the word counts down")
            if result:
                word = dict(list(words.items())[result - 1:result]).popitem()[0] if words.size < 1000 else b""
                raise ValueError(f"a word is not valid UTF-8{': ' + repr(word) if word else ''}; "
                                 "count raw bytes with symbols='byte_level' or 'bytes'")
            seen = {i: (count[i], places[i]) for i in range(self.table_size) if places[i]}
        finally:
            free(count)
            free(places)
        if mode == "bytes":
            if prefix or suffix or limit_alphabet is not None or base_symbol_order is not None:
                raise ValueError("symbols='bytes' has neither affixes nor a limited alphabet: every byte is a symbol")
            self.number_bytes(seen, special_tokens)
        else:
            strings = byte_level_characters() if mode == "byte_level" else None
            self.number_characters(seen, strings, special_tokens, limit_alphabet, initial_alphabet, prefix or "", suffix or "",
                                   base_symbol_order, clock)
        self.source.inner = self.inner
        self.source.first = self.first
        self.source.last = self.last
        self.source.only = self.only

    cdef uint32_t *new_table(self) except NULL:
        cdef uint32_t *table = <uint32_t *>calloc(<size_t>self.table_size, sizeof(uint32_t))
        if table == NULL:
            raise MemoryError("out of memory while numbering characters")
        return table

    def number_bytes(self, dict seen, special_tokens):
        cdef int i
        self.inner = self.new_table()
        self.first = self.last = self.only = self.inner
        self.vocab = [bytes([i]) for i in range(256)]
        for i in range(256):
            self.inner[i] = i + FIRST_ID
        self._used = sorted(seen)
        known = set(self.vocab)
        for token in special_tokens:
            data = token.encode("utf-8")
            if data not in known:
                known.add(data)
                self.vocab.append(data)

    def number_characters(self, dict seen, strings, special_tokens, limit_alphabet, initial_alphabet, str prefix, str suffix,
                          base_symbol_order, Progress clock):
        cdef int64_t c
        ids = {}
        for token in special_tokens:
            ids.setdefault(token, len(ids))
        alphabet = {(strings[c] if strings else c): count for c, (count, _) in seen.items()}
        for text in initial_alphabet:
            if text:
                alphabet[ord(text[0])] = 1 << 64
        kept = sorted(alphabet)
        if limit_alphabet is not None and len(kept) > limit_alphabet:
            kept = sorted(sorted(kept, key=lambda x: (-alphabet[x], x))[:limit_alphabet])
        for c in kept:
            ids.setdefault(chr(c), len(ids))
        self.inner = self.new_table()
        if not prefix and not suffix:
            self.first = self.last = self.only = self.inner
            for c in seen:
                # A character that the limit has dropped is still kept where a special token is that character.
                id = ids.get(chr(strings[c] if strings else c))
                if id is None:
                    self.source.drops = True
                else:
                    self.inner[c] = id + FIRST_ID
            self._used = sorted({self.inner[c] - FIRST_ID for c in seen if self.inner[c]})
        else:
            self.first = self.new_table()
            self.last = self.new_table()
            self.only = self.new_table()
            wanted = {}
            for c, (_, places) in seen.items():
                char = chr(strings[c] if strings else c)
                if char not in ids:
                    self.source.drops = True
                    continue
                for place, symbol in ((1, char), (2, prefix + char), (4, prefix + char + suffix), (8, char + suffix)):
                    if places & place:
                        wanted.setdefault(symbol, []).append((c, place))
            order = [s for s in base_symbol_order if s in wanted] if base_symbol_order is not None else []
            for symbol in [*order, *self.as_met(wanted, strings, clock)]:
                ids.setdefault(symbol, len(ids))
            used = set()
            for symbol, uses in wanted.items():
                id = ids[symbol]
                used.add(id)
                for c, place in uses:
                    if place == 1:
                        self.first[c] = id + FIRST_ID
                    elif place == 2:
                        self.inner[c] = id + FIRST_ID
                    elif place == 4:
                        self.last[c] = id + FIRST_ID
                    else:
                        self.only[c] = id + FIRST_ID
            self._used = sorted(used)
        self.vocab = [s.encode("utf-8") for s in ids]

    def as_met(self, dict wanted, strings, Progress clock):
        """The symbols of `wanted` ({symbol: [(character, place)]}), in the order in which the words, sorted, have them; words of
        bytes are sorted as the characters that `strings` writes for them. Those symbols that are the alphabet's have their
        ids, and may stand anywhere."""
        cdef uint32_t *number = self.new_table()
        cdef Sight *sights = NULL
        cdef const Sight *sight
        cdef int64_t c, place
        cdef int status
        cdef Watch *watch = watch_of(clock)
        cdef const WordSource *source = &self.source
        places_of_bytes = sorted(range(256), key=strings.__getitem__) if strings else range(256)
        cdef bytes ranks = bytes(sorted(range(256), key=places_of_bytes.__getitem__))
        cdef const uint8_t *rank = ranks
        try:
            characters = sorted({c for uses in wanted.values() for c, _ in uses})
            for i, c in enumerate(characters):
                number[c] = <uint32_t>(i + 1)
            sights = <Sight *>calloc(<size_t>len(characters) * 3 + 1, sizeof(Sight))
            if sights == NULL:
                raise MemoryError("out of memory while numbering characters")
            with nogil:
                status = find_sights(source, rank, number, sights, watch)
            if status:
                clock.fail("")
            met = {}
            for symbol, uses in wanted.items():
                for c, place in uses:
                    if place == 1:
                        continue
                    sight = &sights[3 * <int64_t>(number[c] - 1) + (0 if place == 2 else 1 if place == 4 else 2)]
                    met.setdefault(symbol, []).append((sight.word - 1, sight.at))
        finally:
            free(number)
            free(sights)
        words = {}
        for places in met.values():
            for c, _ in places:
                words[c] = (<const char *>source.text + source.offset[c])[:source.offset[c + 1] - source.offset[c]].translate(ranks)
        turn = {word: i for i, word in enumerate(sorted(words, key=words.__getitem__))}
        return sorted(met, key=lambda symbol: min((turn[word], at) for word, at in met[symbol]))

    @property
    def used(self):
        """The ids that occur in the words, ascending."""
        return self._used
