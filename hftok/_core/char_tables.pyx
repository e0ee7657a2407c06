"""Character tables: what each code point does to the chunks of a pipeline that works character by character.

`plan(normalizer_spec, pre_tokenizer_spec)` decides whether a pipeline is of that kind: every normalizer stage maps one code
point at a time (BertNormalizer, Lowercase, NFx, StripAccents, Nmt, one-character Replace), every pre-tokenizer stage cuts
by character classes (BertPreTokenizer, Whitespace, WhitespaceSplit, Punctuation, Digits). `plan_runs` does so for CLIP's
kind, a pattern that takes runs of letters and the like, with ByteLevel behind it. `CharClassifier` then makes the
table, a page of 256 code points when it is first needed, by running the exact normalizer on each code point and reading
off the classes of what comes out. So the table holds no Unicode knowledge of its own, and every pipeline gets its table from
the kernels that define what is right.

Where is one code point not the whole truth? Only in the Unicode normal forms: marks are reordered, and NFC composes with what
went before; and in a character map (Precompiled), which looks up whole grapheme clusters. A code point that can take part in that as the second one (it begins with a non-starter behind NFD or NFKD and
survives; or it is not "NFC quick check: yes") is an escape: the scanner gives the text around it to the exact path. Where NFC
sees the text first, the character before it is looked at (`joins_before`), and most marks are none after all. All
others have the same effect in every context, since any interaction needs an escape as its second partner.

Clusters: the map is asked for one as a whole only below six bytes (normalizers/precompiled.rs). So short a cluster is a
character with an extending one behind it (Extend, SpacingMark or ZWJ; what else joins, Hangul, flags, emoji and conjuncts,
is longer), CR LF, or a Prepend character with something behind it. `metaspace_chunks` refuses maps for which the last two
matter. An extending character of two bytes is an escape, a longer one where a short character stands before it. One more thing reaches across characters, though only in
offsets: what the map removes is booked on the character written before it, and where that was the last of several that one
character became, it takes the removed one's place (`replace` there).
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from hftok._core.exact cimport ExactState, state_free, state_init
from hftok._core.models.model cimport Model
from hftok._core.normalized cimport PT_PANIC, PreTokenized, Split, pt_reset
from hftok._core.normalizers cimport NormalizerProgram
from hftok._core.text cimport utf8_decode, utf8_encode
from hftok._core.unicode cimport (
    UC_GB_CONJUNCT_EXTEND, UC_GB_EXTEND, UC_GB_LINKER, UC_GB_SPACING_MARK, UC_GB_ZWJ, UC_GC_LO, UC_GC_LU, UC_GC_ND, UC_GC_NO,
    UC_NUMERIC, UC_PUNCTUATION, UC_WHITESPACE, UC_WORD, uc_ccc, uc_compose, uc_decompose, uc_grapheme_class, uc_onig_category,
    uc_onig_space, uc_props, uc_stable,
)
from hftok._core.worker cimport (
    ACT_DROP, ACT_ESCAPE, ACT_ISOLATE, ACT_KNOWN, ACT_RUN1, ACT_SEPARATOR, ACT_UNFINISHED, BEGINS_TOKEN, BEGINS_WORD, DEPENDS_BEFORE, DEPENDS_GROWN, DEPENDS_MARK, DEPENDS_NEXT, GROWS, HT_FIRST, HT_ISOLATE, HT_RUN0, HT_RUN1, HT_SECOND,
    HT_SPECIAL, KNOWN, PAGES,
    CharEntry, CharTables,
)

from hftok._core.pre_tokenizers import PreTokenizerProgram
from hftok._core.scanners.recognise import form_of, recognise_runs

cdef extern from "publish.h" nogil:
    void *ht_publish(void **slot, void *p)
    void ht_put_cell(uint64_t *cell, uint64_t value)

cdef extern from "mixed.h" nogil:
    uint64_t HT_CELL_FILLED

cdef enum:
    CLASS_REMOVED = -1
    CLASS_ISOLATED = -2      # otherwise a label >= 0

NORMALIZERS = {"BertNormalizer", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "StripAccents", "Nmt"}
COMPOSING = {"NFC", "NFKC"}
MAX_STAGE_RULES = MAX_RULES


def flatten(spec):
    """The stages of a spec, sequences opened; [] for None.

    >>> flatten(("Sequence", (("NFD",), ("Sequence", (("Lowercase",),)))))
    [('NFD',), ('Lowercase',)]
    """
    if spec is None:
        return []
    if spec[0] == "Sequence":
        return [stage for part in spec[1] for stage in flatten(part)]
    return [spec]


def rule_of(stage):
    """The rule of a pre-tokenizer that cuts by character classes, or None."""
    kind = stage[0]
    if kind == "BertPreTokenizer":
        return RULE_BERT
    if kind == "WhitespaceSplit":
        return RULE_WHITESPACE
    if kind == "Whitespace":
        return RULE_WORDS
    if kind == "Punctuation":
        return {"isolated": RULE_PUNCT_ISOLATED, "removed": RULE_PUNCT_REMOVED, "contiguous": RULE_PUNCT_RUNS}.get(stage[1])
    if kind == "Digits":
        return RULE_DIGIT_ISOLATED if stage[1] else RULE_DIGIT_RUNS
    return None


def plan(normalizer_spec, pre_tokenizer_spec):
    """(normalizer stages, rules) if the pipeline works character by character, else None.

    >>> plan(("Lowercase",), ("WhitespaceSplit",))
    ([('Lowercase',)], [0])
    >>> plan(("Prepend", "_"), ("WhitespaceSplit",)) is None
    True
    """
    stages = flatten(normalizer_spec)
    for stage in stages:
        if stage[0] == "Replace" and stage[1] == "String" and len(stage[2]) == 1 and not uc_ccc(ord(stage[2])):
            continue
        if stage[0] not in NORMALIZERS:
            return None
    composing = [i for i, stage in enumerate(stages) if stage[0] in COMPOSING]
    if len(composing) > 1:
        return None
    rules = [rule_of(stage) for stage in flatten(pre_tokenizer_spec)]
    if None in rules or not rules or len(rules) > MAX_RULES:
        return None
    return stages, rules


def plan_runs(normalizer_spec, pre_tokenizer_spec):
    r"""(normalizer stages, rules, words) of a pipeline of CLIP's kind, else None. words: what the pattern takes besides runs, as
    (bytes, bits for those with which a piece begins).

    >>> pattern = r"'s|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"
    >>> split = ("Split", "Regex", pattern, "removed", True)
    >>> plan_runs(("Lowercase",), ("Sequence", (split, ("ByteLevel", False, True, True))))
    ([('Lowercase',)], [9], [(b"'s", 1)])
    """
    cdef int at
    found = recognise_runs(pre_tokenizer_spec)
    if found is None:
        return None
    stages = []
    for stage in flatten(normalizer_spec):
        # White space stays that, and goes. Nothing else may make or remove one of the words' characters: they are looked for in the text
        # as it is, but for the case.
        if stage[0] == "Replace":
            if stage[1] != "Regex" or not stage[3] or not all(uc_onig_space(ord(c)) for c in stage[3]):
                return None
            if form_of(stage[2]) not in (form_of(r"\s+"), form_of(r"\s")):
                return None
        elif stage[0] in ("NFC", "Lowercase"):
            stages.append(stage)
        else:
            return None
    if stages.count(("NFC",)) > 1:
        return None
    program = PreTokenizerProgram(pre_tokenizer_spec)
    words = []
    for word in found:
        at = begins = 0
        for piece, _ in program.pre_tokenize_str(word):      # of ASCII, which ByteLevel leaves as it is
            begins |= 1 << at
            at += len(piece)
        words.append((word.encode(), begins))
    return stages, [RULE_LETTERS], words


cdef inline bint keeps(uint32_t cp) noexcept nogil:
    """Whether NFC leaves a character alone where it stands alone."""
    cdef uint32_t parts[18]
    return uc_decompose(cp, parts) == 1 and parts[0] == cp


cdef bint joins_before(uint32_t before, uint32_t cp) noexcept nogil:
    """Whether NFC may do something to a character that depends on marks (DEPENDS_MARK) and stands behind `before`. UAX 15, quick
    check: marks that are in order and join nothing stay. What joins is asked of the last starter, which `before` is if it is
    none of the marks and falls apart into nothing."""
    cdef int ccc = uc_ccc(cp)
    if uc_stable(cp) & 4:
        return uc_ccc(before) > ccc
    return uc_compose(before, cp) != 0 or (ccc != 0 and (uc_ccc(before) != 0 or not keeps(before)))


cdef CharEntry *_make_page(CharTables *tables, uint32_t page) noexcept nogil:
    return (<CharClassifier>tables.context).make_page(page)


cdef class CharClassifier:
    """The character table of one pipeline. Pages are made on demand, by any thread; everything else is immutable."""

    def __cinit__(self):
        memset(&self.t, 0, sizeof(CharTables))

    def __init__(self, Model model not None, list stages, list rules, bytes first_bytes, bytes second_bytes, bint finish_all=False,
                 marks=None, words=None):
        # first_bytes: bytes that begin a raw added token; second_bytes: 256 flags, bytes that may follow these
        # finish_all: no unfinished entries, so that chunk text is normalized text (searched for added tokens)
        # words: of plan_runs; ByteLevel stands behind the chunks then
        self.finish_all = finish_all
        self.model = model
        cdef int i
        cdef uint32_t cp
        self.full = NormalizerProgram(("Sequence", tuple(stages)))
        composing = [i for i, stage in enumerate(stages) if stage[0] in COMPOSING]
        self.composes = bool(composing)
        self.stable = 8 if any(stages[i][0] == "NFKC" for i in composing) else 4
        self.first_composes = stages[:1] == [("NFC",)] and marks is None
        self.before_composing = NormalizerProgram(("Sequence", tuple(stages[:composing[0]]))) if composing else None
        self.decomposes = any(
            stage[0] in ("NFD", "NFKD") or (stage[0] == "BertNormalizer" and (stage[4] if stage[3] is None else stage[3]))
            for stage in stages)
        self.n_rules = len(rules)
        for i, rule in enumerate(rules):
            self.rules[i] = rule
        self.labels[0] = self.labels[1] = self.labels[2] = -1
        self.drops_whitespace = any(rule in (RULE_WHITESPACE, RULE_BERT, RULE_WORDS, RULE_LETTERS) for rule in rules)
        for i in range(len(first_bytes)):
            self.t.first[first_bytes[i]] = BEGINS_TOKEN
            if first_bytes[i] >= 128:
                self.t.high_first = 1
        if marks is not None:
            # What chunks of words with marks need (metaspace_chunks.Marks).
            self.finish_all = True
            self.mark = ord(marks.mark)
            self.t.spaced = marks.spaced
            for pair in marks.doubles:
                self.doubles[ord(pair[0])] = ord(pair[1])
            for i, stage in enumerate(stages):
                if stage[0] == "Precompiled":
                    self.has_map = True
                    before = [s for s in stages[:i] if not (s[0] == "Replace" and s[2] in marks.doubles)]
                    if before:
                        self.before_map = NormalizerProgram(("Sequence", tuple(before)))
        self.t.make_page = _make_page
        self.t.context = <void *>self
        # Run classes are given out here and never later: ASCII first, then one of each kind that ASCII may lack. A label
        # that finds no class left (there are three) makes its code points escapes.
        for cp in range(128):
            self._assign(self.classify(cp))
        for character in "\u00e9\u00b2\u0663\u20ac\u201c":
            self._assign(self.classify(ord(character)))
        if words is not None:
            self.finish_all = True
            self.in_bytes = True
            self.t.word_run = self._label(self.classify(c"'"))
            for text, begins in words:
                self.t.words[self.t.n_words].size = len(text)
                self.t.words[self.t.n_words].begins = begins
                for i in range(len(text)):
                    self.t.words[self.t.n_words].text[i] = text[i]
                self.t.first[text[0]] |= BEGINS_WORD
                self.t.n_words += 1
        self.t.cells = <uint64_t *>calloc(65536, 8)          # its memory is there where it is filled in
        if self.make_page(0) == NULL:
            raise MemoryError("no memory for the character table")
        self._make_ascii(second_bytes)

    def __dealloc__(self):
        cdef int i
        for i in range(PAGES):
            free(self.t.pages[i])
        free(self.t.cells)

    cdef void _assign(self, int label) noexcept nogil:
        """Give a label the next free run class, if it has none."""
        cdef int i
        if label < 0 or self._label(label):
            return
        for i in range(3):
            if self.labels[i] < 0:
                self.labels[i] = label
                return

    cdef int _label(self, int label) noexcept nogil:
        """Run class (1..3) of a label; 0 if it has none."""
        cdef int i
        for i in range(3):
            if self.labels[i] == label and label >= 0:
                return i + 1
        return 0

    cdef int classify(self, uint32_t cp) noexcept nogil:
        """What the pre-tokenizers do with a (normalized) code point: removed, isolated, or the label of its run."""
        cdef uint32_t props = uc_props(cp)
        cdef int i, label = 0, isolated = 0, rule
        for i in range(self.n_rules):
            rule = self.rules[i]
            if rule == RULE_LETTERS:
                if uc_onig_space(cp):
                    return CLASS_REMOVED
                if UC_GC_ND <= uc_onig_category(cp) <= UC_GC_NO:
                    return CLASS_ISOLATED
                return UC_GC_LU <= uc_onig_category(cp) <= UC_GC_LO
            if rule <= RULE_WORDS and props & UC_WHITESPACE:
                return CLASS_REMOVED
            if rule == RULE_SPACE and cp == 32:
                return CLASS_REMOVED
            if rule == RULE_PUNCT_REMOVED and props & UC_PUNCTUATION:
                return CLASS_REMOVED
            if (rule == RULE_BERT or rule == RULE_PUNCT_ISOLATED) and props & UC_PUNCTUATION:
                isolated = 1
            elif rule == RULE_DIGIT_ISOLATED and props & UC_NUMERIC:
                isolated = 1
            elif rule == RULE_WORDS:
                label = label * 2 + (1 if props & UC_WORD else 0)
            elif rule == RULE_PUNCT_RUNS:
                label = label * 2 + (1 if props & UC_PUNCTUATION else 0)
            elif rule == RULE_DIGIT_RUNS:
                label = label * 2 + (1 if props & UC_NUMERIC else 0)
        return CLASS_ISOLATED if isolated else label

    cdef bint joins(self, uint32_t cp) noexcept nogil:
        """Whether a character extends the grapheme cluster before it."""
        cdef int kind = uc_grapheme_class(cp)
        return (
            kind == UC_GB_EXTEND or kind == UC_GB_CONJUNCT_EXTEND or kind == UC_GB_LINKER or kind == UC_GB_SPACING_MARK or kind == UC_GB_ZWJ
        )

    cdef int make_entry(self, ExactState *x, uint32_t cp, CharEntry *entry) noexcept nogil:
        """Fill the entry of one code point; 0, or the error of the exact path."""
        cdef PreTokenized *p = &x.pt
        cdef uint32_t id
        cdef uint8_t raw[4]
        cdef uint8_t again[64]
        cdef int n_raw = utf8_encode(cp, raw), length, cls, run = 0, first, last, before = 0, after = 0, size
        cdef int64_t i
        cdef Split s
        cdef const uint8_t *q
        cdef uint32_t c
        memset(entry, 0, sizeof(CharEntry))
        entry.action = ACT_ESCAPE
        if self.has_map:
            if self.before_map is None:
                if self.joins(cp):
                    if n_raw < 3:
                        return 0
                    entry.depends |= DEPENDS_BEFORE
            else:
                pt_reset(p, raw, n_raw)
                s = p.splits[0]
                self.before_map.run(p, &s)
                if p.error:
                    return p.error
                if s.end > s.start:
                    c = utf8_decode(p.text + s.start, &length)
                    if self.joins(c) or (self.decomposes and uc_ccc(c)):
                        return 0
        if cp < 128 and self.doubles[cp]:
            entry.depends |= DEPENDS_NEXT
            entry.bytes[3] = self.doubles[cp]
        if self.composes:
            pt_reset(p, raw, n_raw)
            s = p.splits[0]
            self.before_composing.run(p, &s)
            if p.error:
                return p.error
            if s.end > s.start:
                c = utf8_decode(p.text + s.start, &length)
                if uc_ccc(c) or not uc_stable(c) & self.stable:
                    if not self.first_composes or c != cp or not keeps(c):
                        return 0
                    entry.depends |= DEPENDS_MARK
        pt_reset(p, raw, n_raw)
        s = p.splits[0]
        self.full.run(p, &s)
        if p.error == PT_PANIC and self.has_map:
            p.error = 0              # a broken map: the exact path says so where the character is met
            return 0
        if p.error:
            return p.error
        size = <int>(s.end - s.start)
        if size == 0:
            entry.action = ACT_DROP
            if self.has_map:
                entry.depends = DEPENDS_GROWN
            return 0
        if size > 60:
            return 0
        c = utf8_decode(p.text + s.start, &length)
        if self.decomposes and uc_ccc(c):
            return 0
        if length < size:
            entry.depends |= GROWS
        memcpy(again, p.text + s.start, size)
        # Classes of what came out: separators around one chunk, or separators only; anything else is an escape.
        first = -1
        last = -1
        i = 0
        while i < size:
            c = utf8_decode(again + i, &length)
            if c == self.mark and self.mark:
                return 0
            cls = self.classify(c)
            if cls == CLASS_REMOVED:
                if first < 0:
                    before = 1
                else:
                    after = 1
            else:
                if after:
                    return 0
                if first < 0:
                    first = <int>i
                    run = cls
                elif cls != run or cls == CLASS_ISOLATED:
                    return 0
                last = <int>i + length
            i += length
        if first < 0:
            if size == 1 or not self.t.spaced:
                entry.action = ACT_SEPARATOR
            return 0
        if before != after:
            return 0
        if before or run == CLASS_ISOLATED:
            if last - first > 4 or self.t.spaced:
                return 0
            entry.action = ACT_ISOLATE
            if not self.mark and not self.in_bytes and not entry.depends & DEPENDS_MARK and last - first == n_raw and memcmp(again + first, raw, n_raw) == 0 and cp >= 128:
                x.pieces.size = 0
                if self.model.tokenize(raw, n_raw, &x.pieces, x.model_scratch) == 0 and x.pieces.size == 1:
                    id = x.pieces.data[0].id
                    if id < KNOWN:
                        entry.action = ACT_KNOWN
                        entry.size = <uint8_t>n_raw
                        memcpy(entry.bytes, &id, 4)
                        return 0
        else:
            run = self._label(run)
            if run == 0:
                return 0
            entry.action = <uint8_t>run
        if self.mark or self.in_bytes:
            # Chunk text is final here: only this table makes it.
            if last - first > 4:
                entry.action = ACT_ESCAPE
                return 0
            entry.size = <uint8_t>(last - first)
            memcpy(entry.bytes, again + first, last - first)
            if entry.depends & DEPENDS_NEXT and entry.size == 4:
                entry.action = ACT_ESCAPE
            return 0
        # Entries are final or finishable only if normalizing twice is normalizing once.
        pt_reset(p, again + first, last - first)
        s = p.splits[0]
        self.full.run(p, &s)
        if p.error:
            return p.error
        if not before and (s.end - s.start != last - first or memcmp(p.text + s.start, again + first, last - first) != 0):
            entry.action = ACT_ESCAPE
            return 0
        if last - first > 4 and self.finish_all:
            entry.action = ACT_ESCAPE
        elif last - first > 4:
            entry.action |= ACT_UNFINISHED
            entry.size = <uint8_t>n_raw
            memcpy(entry.bytes, raw, n_raw)
        else:
            entry.size = <uint8_t>(last - first)
            memcpy(entry.bytes, again + first, last - first)
        return 0

    cdef CharEntry *make_page(self, uint32_t page) noexcept nogil:
        """Make a page and publish it (or take the one that another thread published first); NULL without memory."""
        cdef CharEntry *entries = <CharEntry *>calloc(256, sizeof(CharEntry))
        cdef CharEntry *kept
        cdef ExactState x
        cdef uint32_t i, cp
        cdef uint64_t cell
        cdef int error = 0
        if entries == NULL:
            return NULL
        state_init(&x, self.model)
        for i in range(256):
            cp = page * 256 + i
            if 0xD800 <= cp < 0xE000 or cp > 0x10FFFF:
                entries[i].action = ACT_ESCAPE
                continue
            error = self.make_entry(&x, cp, &entries[i])
            if error:
                break
        state_free(&x, self.model)
        if error:
            free(entries)
            return NULL
        kept = <CharEntry *>ht_publish(&self.t.pages[page], entries)
        if kept != entries:
            free(entries)
        elif page < 256 and self.t.cells != NULL:
            for i in range(256):
                if page * 256 + i < 0xFFFF:
                    memcpy(&cell, &entries[i], 8)
                    ht_put_cell(&self.t.cells[page * 256 + i], cell | HT_CELL_FILLED)
        return kept

    cdef _make_ascii(self, bytes second_bytes):
        cdef CharEntry *page = <CharEntry *>self.t.pages[0]
        cdef CharEntry *e
        cdef int i, k, bit, identity = 1, lower = 1, cls
        memset(&self.t.ascii, 0, sizeof(self.t.ascii))
        for i in range(128):
            e = &page[i]
            cls = 0
            self.t.ascii.map[i] = <uint8_t>i
            if e.depends & DEPENDS_NEXT:
                cls = HT_FIRST      # looked at one by one where the next byte may be its second
                self.t.ascii.any_first = 1
            if e.action == ACT_SEPARATOR and (i == 32 or not self.t.spaced):
                pass
            elif e.action == ACT_ISOLATE and e.size == 1:
                cls |= HT_ISOLATE
                self.t.ascii.map[i] = e.bytes[0]
            elif ACT_RUN1 <= e.action <= 3 and e.size == 1:
                cls |= e.action
                self.t.ascii.map[i] = e.bytes[0]
            else:
                cls |= HT_SPECIAL
            if self.t.first[i]:
                cls |= HT_FIRST
                self.t.ascii.any_first = 1
            if second_bytes[i]:
                cls |= HT_SECOND
            self.t.ascii.cls[i] = <uint8_t>cls
            if self.t.ascii.map[i] != i:
                identity = 0
            if self.t.ascii.map[i] != (i + 32 if 65 <= i <= 90 else i):
                lower = 0
            if cls & HT_RUN1:
                self.t.ascii.two_runs = 1
            for bit in range(6):
                if cls >> bit & 1:
                    self.t.ascii.columns[bit][i & 15] |= <uint8_t>(1 << (i >> 4))
        for k in range(self.t.n_words):
            for i in range(128):
                if self.t.ascii.map[i] == self.t.words[k].text[1]:
                    self.t.ascii.cls[i] |= HT_SECOND
                    self.t.ascii.columns[5][i & 15] |= <uint8_t>(1 << (i >> 4))
        self.t.ascii.high_second = any(second_bytes[128:])
        self.t.ascii.map_kind = 0 if identity else 1 if lower else 2
        for i in range(128):
            if self.doubles[i]:
                self.t.ascii.cls[self.doubles[i]] |= HT_SECOND
                self.t.ascii.columns[5][self.doubles[i] & 15] |= <uint8_t>(1 << (self.doubles[i] >> 4))
        self.keeps_nul = page[0].action != ACT_DROP and page[0].action != ACT_SEPARATOR

    def removes(self, uint32_t cp):
        """Whether the pre-tokenizers drop a code point of the normalized text."""
        return self.classify(cp) == CLASS_REMOVED

    def entry(self, int cp):
        """(action, bytes) of a code point, for tests."""
        cdef uint32_t c = cp
        cdef CharEntry *page = <CharEntry *>self.t.pages[c >> 8]
        if page == NULL:
            page = self.make_page(c >> 8)
            if page == NULL:
                raise MemoryError("no memory for the character table")
        return page[c & 255].action, (<char *>page[c & 255].bytes)[:page[c & 255].size]
