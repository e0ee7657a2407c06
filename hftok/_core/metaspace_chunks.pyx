"""Words with word marks as chunks: pipelines that end in Metaspace, for the scanner of character classes.

Two kinds. Behind WhitespaceSplit (T5, XLM-R, XLNet) white space separates words and is gone; Metaspace puts its mark
before each. Alone (ALBERT, DeBERTa, BigBird) it turns every space into a mark that begins a word; most such normalizers
first make one space of many (Replace of " {2,}", by a space or by the mark). Rules: pre_tokenizers/metaspace.rs.

A chunk is the word without its mark: the key needs no room for it, and the model gets mark + word only where the cache
does not know the word. A chunk whose mark is a character of the text (Metaspace alone: the space) begins with a space,
whose place is the mark's; its own marks can never be spaces, since Metaspace replaced them. The mark that Metaspace puts
before a word has the place of the word's first character.

Why chunks are independent: each is one pre-token, and the model sees one pre-token at a time (tokenizer/mod.rs,
do_tokenize). Unigram fuses unknown pieces inside the text that it is given, never beyond (models/unigram/model.rs), as BPE's
fuse_unk does. So a chunk's tokens depend on its text and on whether it has a mark, and both are in the key.

What the scanner must not decide is known before it starts (`admits`: text that Strip leaves around added tokens, tokens that
take a mark's space along, characters removed at a text's beginning, whose removal shifts every offset behind them) or is an
escape of the character table (the mark itself in the text, replaced pairs like ``, characters that depend on others).
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport realloc
from libc.string cimport memchr, memcpy, memset

from hftok._core.added_tokens cimport AddedMatcher, Matcher, match_token
from hftok._core.char_tables cimport RULE_BERT, RULE_SPACE, RULE_WHITESPACE, RULE_WORDS, CharClassifier
from hftok._core.exact cimport ExactState, Pipeline, char_index
from hftok._core.models.model cimport MODEL_NO_MEMORY, Model, ModelToken
from hftok._core.normalized cimport PreTokenized, Split, pt_reset
from hftok._core.normalizers cimport NormalizerProgram
from hftok._core.pre_tokenizers cimport PreTokenizerProgram
from hftok._core.precompiled cimport Charsmap
from hftok._core.text cimport utf8_decode, utf8_encode, utf8_len, utf8_prev
from hftok._core.unicode cimport UC_GB_PREPEND, UC_WHITESPACE, uc_ccc, uc_grapheme_class, uc_props
from hftok._core.worker cimport (
    ACT_DROP, ACT_ESCAPE, ACT_SEPARATOR, DEPENDS_BEFORE, DEPENDS_NEXT, MATCH_TOKEN, SCAN_NO_MEMORY, SPACED_ALL, SPACED_LAST, SPACED_NOT, CharEntry, Hit,
    Worker, char_entry, is_separator, worker_direct, worker_room,
)

from hftok._core.char_tables import COMPOSING, MAX_STAGE_RULES, NORMALIZERS, flatten, rule_of

cdef enum:
    ERROR_EXACT = 128        # the exact path's errors, as in engine.pyx


class Marks:
    """What a pipeline does with its words.

    Attributes:
        mark: the word mark, one character.
        scheme: "always", "first" or "never".
        spaced: SPACED_* of worker.pxd.
        stages: the normalizer's stages without Strip.
        rules: the pre-tokenizers before Metaspace, as CharClassifier takes them.
        doubles: pairs of ASCII characters that the first stages replace.
        strip: (left, right) of a Strip at the beginning.
        pre_tokenizers: the stages before Metaspace.
    """

    __slots__ = ("mark", "scheme", "spaced", "stages", "rules", "doubles", "strip", "pre_tokenizers")

    def __init__(self, **values):
        for name in self.__slots__:
            setattr(self, name, values[name])


def plan_marks(normalizer_spec, pre_tokenizer_spec):
    """Marks of a pipeline that the scanner can serve, or None.

    >>> marks = plan_marks(("Lowercase",), ("Sequence", (("WhitespaceSplit",), ("Metaspace", "\\u2581", "always", True))))
    >>> marks.spaced, marks.stages, marks.rules
    (0, [('Lowercase',)], [0])
    >>> plan_marks(("Prepend", "_"), ("Metaspace", "\\u2581", "always", True)) is None
    True
    """
    splits = flatten(pre_tokenizer_spec)
    metaspace = splits.pop() if splits else ("",)
    if metaspace[0] != "Metaspace" or not metaspace[3]:
        return None
    _, mark, scheme, _ = metaspace
    if mark in " \0":
        return None
    stages = flatten(normalizer_spec)
    strip = (False, False)
    if stages and stages[0][0] == "Strip":
        strip = (bool(stages[0][1]), bool(stages[0][2]))
        stages = stages[1:]
    joined = None
    n_stages = len(stages)
    if stages and stages[n_stages - 1][:3] == ("Replace", "Regex", " {2,}") and stages[n_stages - 1][3] in (" ", mark):
        joined = stages[n_stages - 1][3]
        n_stages -= 1
    doubles = []
    mapped = 0
    for i, stage in enumerate(stages[:n_stages]):
        kind = stage[0]
        if kind == "Replace":
            if stage[1] != "String":
                return None
            pattern = stage[2]
            if len(pattern) == 1 and pattern not in " \0" and not uc_ccc(ord(pattern)):
                mapped += 1
                continue
            # Pairs are looked for in the raw text: nothing but other pairs may come before them. Two of one first character
            # would need two marks in the table.
            if (
                len(pattern) != 2 or len(doubles) != i or not pattern.isascii() or any(c.isspace() or c == "\0" for c in pattern)
                or any(c.isspace() for c in stage[3]) or any(d[0] == pattern[0] and d != pattern for d in doubles)
            ):
                return None
            doubles.append(pattern)
        elif kind == "Precompiled":
            mapped += 1
        elif kind not in NORMALIZERS:
            return None
        elif kind in ("BertNormalizer", "NFKC", "NFKD"):
            mapped += 1
    if sum(stage[0] == "Precompiled" for stage in stages) > 1 or sum(stage[0] in COMPOSING for stage in stages) > 1:
        return None
    if splits:
        rules = [rule_of(stage) for stage in splits]
        if None in rules or len(rules) > MAX_STAGE_RULES or not any(rule in (RULE_WHITESPACE, RULE_BERT, RULE_WORDS) for rule in rules):
            return None
        if joined == mark:
            return None          # two spaces would join words
        spaced = SPACED_NOT
    else:
        if joined == mark and mapped:
            return None          # a region that ends in such a mark does not tell it from the text's own
        rules = [RULE_SPACE]
        spaced = SPACED_LAST if joined is not None else SPACED_ALL
    return Marks(mark=mark, scheme=scheme, spaced=spaced, stages=stages, rules=rules, doubles=doubles, strip=strip, pre_tokenizers=splits)


cdef bint key_may_begin(Charsmap map_, const uint8_t *text, int64_t size) noexcept nogil:
    """Whether some key of a character map begins with these bytes, or they with a key."""
    cdef int64_t node = 0, i
    cdef uint32_t unit
    if map_.trie_size == 0:
        return True
    unit = map_.trie[0]
    node ^= <int64_t>(unit >> 10) << ((unit & 512) >> 6)
    for i in range(size):
        node ^= text[i]
        if node >= map_.trie_size:
            return True
        unit = map_.trie[node]
        if unit & (<uint32_t>0x80000000 | 255) != text[i]:
            return False
        if unit >> 8 & 1:
            return True
        node ^= <int64_t>(unit >> 10) << ((unit & 512) >> 6)
    return True


cdef int check_map(Charsmap map_) except -1:
    """Refuse a map for which a space or a Prepend character (Arabic number signs and the like) can matter to what follows."""
    cdef uint32_t cp
    cdef uint8_t text[4]
    cdef int n
    text[0] = c' '
    if key_may_begin(map_, text, 1):
        raise ValueError("the character map has rules for spaces with something behind them")
    for cp in range(0x80, 0x10000):
        if not 0xD800 <= cp < 0xE000 and uc_grapheme_class(cp) == UC_GB_PREPEND:
            n = utf8_encode(cp, text)
            if key_may_begin(map_, text, n):
                raise ValueError("the character map has rules for characters that join the one behind them")
    return 0


cdef Bytes byte_set(flags):
    cdef Bytes b
    cdef int i
    memset(&b, 0, sizeof(Bytes))
    for i in range(256):
        if flags[i]:
            b.flags[i] = 1
            if 0 <= b.n < 4:
                b.few[b.n] = <uint8_t>i
                b.n += 1
            else:
                b.n = -1
    return b


cdef bint holds_byte(const Bytes *bytes, const uint8_t *text, int64_t size) noexcept nogil:
    """Whether one of the bytes is in a text; True where they are too many to be looked for."""
    cdef int k
    for k in range(bytes.n):
        if memchr(text, bytes.few[k], <size_t>size) != NULL:
            return True
    return bytes.n < 0


cdef class MarkedWords:
    """The rules of one tokenizer, and its character table. ValueError says why the pipeline cannot be scanned."""

    def __init__(self, Pipeline pipeline not None, marks not None):
        cdef int i
        cdef AddedMatcher raw = pipeline.raw, normalized = pipeline.normalized
        if not pipeline.model.chunk_independent:
            raise ValueError("the model's answer depends on more than the word")
        if raw.m.matches_empty or raw.m.begins_blank or normalized.m.matches_empty:
            raise ValueError("an added token is empty or begins with white space")
        if any(marks.mark in pattern.decode("utf-8") for pattern in normalized.patterns):
            raise ValueError("a normalized added token holds the word mark")
        self.marks = marks
        self.model = pipeline.model
        self.raw = raw
        self.mark_object = marks.mark.encode("utf-8")
        self.mark = self.mark_object
        self.mark_size = len(self.mark_object)
        self.prepends = marks.scheme == "always"
        self.first = marks.scheme == "first"
        self.strip_left, self.strip_right = marks.strip
        for stage in marks.stages:
            if stage[0] == "Precompiled":
                self.has_map = True
                self.drops_before_map = marks.stages[0] is not stage
                check_map(Charsmap(stage[1]))
        first = bytes([i for i in range(256) if raw.m.first[i]])
        second = bytes([raw.m.second[i] for i in range(256)])
        self.classifier = CharClassifier(pipeline.model, marks.stages, marks.rules, first, second, True, marks)
        if self.classifier.entry(32)[0] != ACT_SEPARATOR:
            raise ValueError("the normalizer does not leave spaces alone")
        self.normalizer = self.classifier.full
        lines = [self.normalizer.normalize_str(text) for text in ("\r", "\n", "\r\n")]
        self.joins_lines = lines[0] + lines[1] != lines[2]
        if self.joins_lines and not (
            self.classifier.entry(13)[0] == ACT_SEPARATOR and self.classifier.entry(10)[0] == ACT_SEPARATOR and lines[2]
            and all(self.classifier.removes(ord(c)) for c in lines[2])
        ):
            raise ValueError("the normalizer has a rule for CR LF that is not one for each")
        scheme = "never" if self.first else marks.scheme
        self.pre_tokenizer = PreTokenizerProgram(("Sequence", (*marks.pre_tokenizers, ("Metaspace", marks.mark, scheme, True))))
        # White space that an added token takes along on its left must not be part of a chunk.
        blanks = [self.normalizer.normalize_str(chr(cp)) for cp in range(0x3001) if uc_props(cp) & UC_WHITESPACE]
        self.keeps_blanks = bool(marks.spaced) or not all(self.classifier.removes(ord(c)) for blank in blanks for c in blank)
        self.tokens = byte_set([raw.m.first[i] for i in range(256)])
        takers = [0] * 256
        for i, pattern in enumerate(raw.patterns):
            if raw.m.rules[i].lstrip:
                takers[pattern[0]] = 1
        self.takers = byte_set(takers)
        self.cuts_units = not raw.holds_blanks and not (raw.takes_blanks and marks.spaced) and (
            self.prepends or not (self.strip_left or self.strip_right))

    def entry(self, int cp):
        """(action, bytes) of a code point in the character table, for tests."""
        return self.classifier.entry(cp)

    cdef bint settled(self, const uint8_t *text, int64_t at, int64_t size) noexcept nogil:
        """Whether a text's first character stays and is not changed by the next, so that nothing is removed in front. What
        Precompiled removes there is booked nowhere (normalizers/precompiled.rs, `replace`), and all offsets shift."""
        cdef const CharEntry *e
        cdef int length
        if at >= size:
            return True
        e = char_entry(&self.classifier.t, utf8_decode(text + at, &length))
        if e == NULL or e.action == ACT_DROP or e.action == ACT_ESCAPE:
            return False
        if e.depends & DEPENDS_NEXT and at + 1 < size and text[at + 1] == e.bytes[3]:
            return False             # what replaces the pair has the place of its second character
        if at + length >= size:
            return True
        e = char_entry(&self.classifier.t, utf8_decode(text + at + length, &length))
        return e != NULL and e.action != ACT_ESCAPE and not e.depends & DEPENDS_BEFORE

    cdef bint token_admits(self, const uint8_t *text, int64_t size, int64_t at, bint spans) noexcept nogil:
        """Whether the added token at `at`, if there is one, lets the scanner take the document."""
        cdef Hit hit
        if match_token(&self.raw.m, text, size, at, 0, &hit) != MATCH_TOKEN:
            return True
        if self.strip_left or self.strip_right or (self.keeps_blanks and hit.start < at):
            return False
        return not (spans and self.has_map) or self.settled(text, hit.end, size)

    cdef bint tokens_admit(self, const Bytes *bytes, const uint8_t *text, int64_t size, bint spans) noexcept nogil:
        cdef const uint8_t *p
        cdef int64_t i
        cdef int k
        if bytes.n < 0:
            for i in range(size):
                if bytes.flags[text[i]] and not self.token_admits(text, size, i, spans):
                    return False
        for k in range(bytes.n):
            p = text
            while p < text + size:
                p = <const uint8_t *>memchr(p, bytes.few[k], <size_t>(text + size - p))
                if p == NULL:
                    break
                if not self.token_admits(text, size, p - text, spans):
                    return False
                p += 1
        return True

    cdef bint admits(self, const uint8_t **text, int64_t *size, uint32_t *skipped, bint spans, bint begins, bint finishes) noexcept nogil:
        cdef const uint8_t *t = text[0]
        cdef const uint8_t *p
        cdef int64_t n = size[0], i
        cdef int length
        skipped[0] = 0
        if self.strip_left or self.strip_right or (spans and self.has_map):
            if not self.tokens_admit(&self.tokens, t, n, spans):
                return False
        elif self.keeps_blanks and not self.tokens_admit(&self.takers, t, n, spans):
            return False
        if self.joins_lines and (self.classifier.t.spaced == SPACED_ALL or (spans and self.classifier.t.spaced)):
            # Which of the two the space stands for, or how many there are, shows.
            i = 0
            while i + 1 < n:         # the last one joins nothing
                p = <const uint8_t *>memchr(t + i, 13, <size_t>(n - 1 - i))
                if p == NULL:
                    break
                if p[1] == 10 or self.drops_before_map:
                    return False
                i = p - t + 1
        if self.strip_left and begins:
            while n:
                if not uc_props(utf8_decode(t, &length)) & UC_WHITESPACE:
                    break
                t += length
                n -= length
                skipped[0] += 1
        if self.strip_right and finishes:
            while n:
                p = utf8_prev(t + n)
                if not uc_props(utf8_decode(p, &length)) & UC_WHITESPACE:
                    break
                n = p - t
        if begins and (self.first or (spans and self.has_map)) and not self.settled(t, 0, n):
            return False
        text[0] = t
        size[0] = n
        return True

    cdef int mark_first(self, Worker *w, const uint8_t *text, int64_t size, uint32_t skipped) noexcept nogil:
        """Metaspace "first": a mark for the piece that begins at the document's first byte, unless it has one."""
        cdef int64_t k = w.first_chunk, start, n
        cdef const CharEntry *e
        cdef int length, error
        if size == 0 or k >= w.n_starts or skipped:
            return 0
        e = char_entry(&self.classifier.t, utf8_decode(text, &length))
        if e == NULL:
            return SCAN_NO_MEMORY
        if e.action == ACT_SEPARATOR:
            return 0
        if w.n_starts > w.n_ends:
            w.ends[w.n_ends] = <uint32_t>w.used
            w.n_ends += 1
            w.run = 0
        start = w.starts[k]
        n = <int64_t>w.ends[k] - start
        if n == 0 or w.text[start] == c' ':
            return 0
        error = worker_room(w, n + 1, 1)
        if error:
            return error
        w.text[w.used] = c' '
        memcpy(w.text + w.used + 1, w.text + start, <size_t>n)
        if w.want_spans or w.want_words:
            w.index[w.used] = w.index[start]
            memcpy(w.index + w.used + 1, w.index + start, <size_t>n * 4)
        w.starts[k] = <uint32_t>w.used
        w.used += n + 1
        w.ends[k] = <uint32_t>w.used
        return 0

    cdef int tokenize(self, ExactState *x, const uint8_t *text, int64_t n, uint8_t **buffer, int64_t *room) noexcept nogil:
        cdef int64_t own = n > 0 and text[0] == c' ', shift, i, need = n - own + self.mark_size
        cdef ModelToken *piece
        cdef void *p
        cdef int error
        if not own and not self.prepends:
            return self.model.tokenize(text, n, &x.pieces, x.model_scratch)
        if room[0] < need:
            p = realloc(buffer[0], <size_t>(2 * need + 64))
            if p == NULL:
                return MODEL_NO_MEMORY
            buffer[0] = <uint8_t *>p
            room[0] = 2 * need + 64
        memcpy(buffer[0], self.mark, <size_t>self.mark_size)
        memcpy(buffer[0] + self.mark_size, text + own, <size_t>(n - own))
        error = self.model.tokenize(buffer[0], need, &x.pieces, x.model_scratch)
        # Back to places in the chunk. The mark is its first byte: the space, or the word's first character.
        shift = self.mark_size - own
        for i in range(x.pieces.size):
            piece = &x.pieces.data[i]
            piece.start = piece.start - shift if piece.start >= self.mark_size else 0
            piece.end = piece.end - shift if piece.end > self.mark_size else 1
        return error

    cdef int region(self, Worker *w, ExactState *x, const uint8_t *text, int64_t start, int64_t end, int64_t size, uint32_t character) noexcept nogil:
        cdef PreTokenized *p = &x.pt
        cdef int error
        if self.has_map and not self.classifier.t.spaced and start > 0 and is_separator(&self.classifier.t, text[start - 1]):
            # The separator is there in the whole text as well: an extending character joins it, and clusters that begin with
            # a space are in no map; and what is removed at the beginning is booked on it.
            start -= 1
            character -= 1
        pt_reset(p, text + start, end - start)
        if p.error:
            return p.error + ERROR_EXACT
        self.normalizer.run(p, &p.splits[0])
        if self.classifier.t.spaced == SPACED_LAST and end < size and text[end] == c' ':
            # A space at the end is one of the run of spaces that goes on behind the region.
            while p.splits[0].end > p.splits[0].start and p.text[p.splits[0].end - 1] == c' ':
                p.splits[0].end -= 1
        if not p.error:
            self.pre_tokenizer.run(p)
        if p.error:
            return p.error + ERROR_EXACT
        error = self.push(w, x, character)
        return SCAN_NO_MEMORY if error < 0 else error

    cdef int push(self, Worker *w, ExactState *x, uint32_t character) noexcept nogil:
        cdef PreTokenized *p = &x.pt
        cdef int64_t i, k, n, size, cursor = 0, chars = 0, first = w.n_starts, used = w.used, directs = w.n_directs, a, b
        cdef bint marked
        cdef const uint8_t *text
        cdef Split *s
        cdef int error
        for i in range(p.n_splits):
            s = &p.splits[i]
            size = s.end - s.start
            text = p.text + s.start
            error = worker_room(w, size + 256, 256)
            if error:
                return error
            if s.token >= 0:
                a = b = 0
                if w.want_spans and s.ostart < p.size:
                    a = character + char_index(p.original, &cursor, &chars, s.ostart)
                    b = character + (char_index(p.original, &cursor, &chars, s.oend - 1) + 1 if s.oend > s.ostart else 0)
                error = worker_direct(w, <uint32_t>s.token, <uint32_t>a, <uint32_t>b)
                if error:
                    return error
                continue
            if size == 0 or memchr(text, 0, <size_t>size) != NULL:
                break
            marked = size >= self.mark_size
            for k in range(self.mark_size):
                marked = marked and text[k] == self.mark[k]
            if self.prepends and not marked:
                break
            w.starts[w.n_starts] = <uint32_t>w.used
            k = 0
            if marked:
                k = self.mark_size
                if not self.prepends or size == k or p.align[s.start].start != p.align[s.start + k].start:
                    w.text[w.used] = c' '
                    if w.want_spans:
                        if p.align[s.start].end <= p.align[s.start].start:
                            break
                        w.index[w.used] = character + char_index(p.original, &cursor, &chars, p.align[s.start].start)
                    w.used += 1
            memcpy(w.text + w.used, text + k, <size_t>(size - k))
            if w.want_spans:
                for n in range(size - k):
                    if p.align[s.start + k + n].end <= p.align[s.start + k + n].start:
                        break
                    w.index[w.used + n] = character + char_index(p.original, &cursor, &chars, p.align[s.start + k + n].start)
                else:
                    n = size - k
                if n < size - k:
                    break
            w.used += size - k
            w.ends[w.n_ends] = <uint32_t>w.used
            w.n_starts += 1
            w.n_ends += 1
        else:
            return 0
        w.n_starts = w.n_ends = first
        w.used = used
        w.n_directs = directs
        return -1
