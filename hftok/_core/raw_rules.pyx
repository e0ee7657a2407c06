"""Which pipelines the scanner of raw text serves, and its rules for each (see scanners/raw_body.pxi).

`plan_raw(normalizer_spec, pre_tokenizer_spec)` tells the two kinds apart:

- byte-level: the pre-tokenizer is one that `recognise` knows and turns bytes into ByteLevel characters; the normalizer is
  none or one Unicode normal form. The model's symbols are bytes, or what its vocabulary knows of their characters.
- unsplit: a space becomes U+2581 and nothing splits the text (Llama 2, Mistral, Gemma): the whole text between two added
  tokens is one pre-token, which the model's table of safe cuts takes apart. Exact as long as every character is a token or
  falls back to bytes that are: what is dropped or fused would be seen across a cut.

Added tokens. Those of the raw pass cut the text first and those of the normalized pass what is left, each by the rules of
`added_tokens`. Where the normalizer leaves the text alone, the normalized pass can look at the raw text; where it may not,
texts that could hold such a token (behind the normalizer) take the exact path.
"""
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from hftok._core.added_tokens cimport AddedMatcher
from hftok._core.exact cimport Pipeline
from hftok._core.models.bpe cimport BPEModel
from hftok._core.models.merges cimport NO_SYMBOL, fill_pair_ranks
from hftok._core.models.safe_cuts cimport CutTable, SafeCuts, mark_word, may_join
from hftok._core.seeds cimport unproved_words
from hftok._core.unicode cimport uc_ccc, uc_decompose, uc_decompose_compat, uc_second, uc_stable
from hftok._core.worker cimport (
    HT_FIRST, HT_SECOND, KIND_CHANGES, KIND_JOINS, PREFIX_ALWAYS, PREFIX_FIRST, PREFIX_NONE, PREFIX_SPACE, Finder, boundaries_fn,
)

from hftok._core.char_tables import flatten
from hftok._core.scanners.recognise import recognise

cdef extern from "publish.h" nogil:
    void *ht_publish(void **slot, void *p)

cdef enum:
    MOST_MARKED = 1 << 14    # words that are not to be cut: with 64 bits for each, at most one other in 64 has such a bit

MARK = "\u2581"

cdef extern from "unicode_tables.h" nogil:
    const uint8_t *uc_norm_block "hftok_uc_norm_1"  # by cp >> 5: code points with one block and equal lower bits have one uc_stable

# Normal forms, and the bit of uc_stable that tells that a character keeps its text as it is.
_FORMS = {"NFD": 1, "NFKD": 2, "NFC": 4, "NFKC": 8}

# Families whose chunks may begin inside a character, where nothing is known of what joins.
INSIDE_CHARACTERS = frozenset({"falcon"})


def plan_raw(normalizer_spec, pre_tokenizer_spec):
    """(kind, family, prefix, stable) of a pipeline that the scanner of raw text can serve, or None. kind: "bytes" or
    "unsplit"; prefix: PREFIX_*; stable: bit of uc_stable.

    >>> plan_raw(("Replace", "String", " ", "\u2581"), None)
    ('unsplit', None, 0, 0)
    >>> plan_raw(("Lowercase",), None) is None
    True
    """
    stages = flatten(normalizer_spec)
    splits = flatten(pre_tokenizer_spec)
    if any(stage[0] == "ByteLevel" for stage in splits):
        if len(stages) > 1 or (stages and stages[0][0] not in _FORMS):
            return None
        family = recognise(pre_tokenizer_spec)
        if family is None:
            return None
        prefix = PREFIX_NONE
        if any(stage[0] == "ByteLevel" and stage[1] for stage in splits):
            if len(splits) > 1:
                return None          # every part of a split text would get its own space
            prefix = PREFIX_SPACE
        return "bytes", family, prefix, _FORMS[stages[0][0]] if stages else 0
    return _plan_unsplit(stages, splits)


def _plan_unsplit(stages, splits):
    prefix = PREFIX_NONE
    replaced = False
    stages = list(stages)
    if stages and stages[0] == ("Prepend", MARK):
        prefix = PREFIX_ALWAYS
        stages = stages[1:]
    if stages and stages[0] == ("Replace", "String", " ", MARK):
        replaced = True
        stages = stages[1:]
    if stages or len(splits) > 1:
        return None
    if not splits:
        return ("unsplit", None, prefix, 0) if replaced else None
    if splits[0][:3] == ("Split", "String", " ") and replaced:
        return "unsplit", None, prefix, 0        # there is no space left to split at
    if splits[0][0] == "Metaspace" and splits[0][1] == MARK and not splits[0][3] and prefix == PREFIX_NONE:
        return "unsplit", None, {"first": PREFIX_FIRST, "always": PREFIX_SPACE, "never": PREFIX_NONE}[splits[0][2]], 0
    return None


cdef uint32_t[4][2064] _stable


cdef int number_of(int bit):
    """0 to 3: NFD, NFKD, NFC, NFKC."""
    cdef int which = 0
    while bit >> which != 1:
        which += 1
    return which


cdef const uint32_t *stable_bits(int bit):
    """A bit for each code point below U+10000: uc_stable has `bit`; and for each first byte of UTF-8 whether all characters have it
    that begin so (simd/stable.h). Made once a process."""
    cdef int which = number_of(bit), block, cp, i, number
    cdef uint8_t *whole
    cdef uint32_t[256] words             # by uc_norm_block, which most blocks of 32 code points share with others
    cdef bint[256] known
    if not _stable[which][0]:        # U+0000 is stable
        whole = <uint8_t *>&_stable[which][2048]
        memset(whole, 1, 64)
        memset(known, 0, sizeof(known))
        for block in range(2048):
            cp, number = 32 * block, uc_norm_block[block]
            if not known[number]:
                words[number] = 0
                for i in range(32):
                    words[number] |= <uint32_t>(uc_stable(cp + i) & bit != 0) << i
                known[number] = True
            _stable[which][block] = words[number]
            if words[number] != 0xFFFFFFFF and cp >= 0x80 and not 0xD800 <= cp < 0xE000:
                whole[(0xC0 | cp >> 6 if cp < 0x800 else 0xE0 | cp >> 12) & 63] = 0
        _stable[which][0] |= 1
    return _stable[which]


cdef uint8_t[4][65536] _kinds
cdef bint[4] _has_kinds


cdef const uint8_t *mark_kinds(int bit):
    """What the code points below U+10000 are to a normal form: RawRules.kinds. Made once a process."""
    cdef int which = number_of(bit), cp, ccc
    cdef bint compat = which & 1, composes = which >= 2
    cdef uint32_t parts[18]
    cdef const uint32_t *stable = stable_bits(bit)
    if _has_kinds[which]:
        return _kinds[which]
    for cp in range(128, 0x10000):
        if stable[cp >> 5] >> (cp & 31) & 1:
            continue
        ccc = uc_ccc(cp)
        if (uc_decompose_compat(cp, parts) if compat else uc_decompose(cp, parts)) != 1 or parts[0] != <uint32_t>cp:
            _kinds[which][cp] = KIND_CHANGES
        elif composes and (uc_second(cp) or 0x1161 <= cp < 0x1176 or 0x11A8 <= cp < 0x11C3):
            _kinds[which][cp] = KIND_JOINS
        else:
            _kinds[which][cp] = <uint8_t>ccc if ccc else KIND_CHANGES
    _has_kinds[which] = True
    return _kinds[which]


cdef class RawScanner:
    """The rules of one tokenizer. boundaries: address of the family's scanner, 0 for unsplit text. ValueError says why the
    tokenizer cannot be scanned."""

    def __cinit__(self):
        memset(&self.rules, 0, sizeof(self.rules))
        self.char_pairs = NULL
        self.word_cuts.whole = NULL

    def __dealloc__(self):
        free(self.char_pairs)
        free(self.word_cuts.whole)

    def __init__(self, Pipeline pipeline not None, plan not None, size_t boundaries=0):
        cdef int i
        cdef AddedMatcher raw = pipeline.raw, normalized = pipeline.normalized
        kind, self.family, self.rules.prefix, self.rules.stable = plan
        if not isinstance(pipeline.model, BPEModel):
            raise ValueError("no scanner for this pipeline and this model")
        self.model = pipeline.model
        if not self.model.chunk_independent:
            raise ValueError("the model's answer depends on more than the word")
        for matcher in (raw, normalized):
            if (<AddedMatcher>matcher).m.matches_empty:
                raise ValueError("an added token is empty")
            if (<AddedMatcher>matcher).m.begins_blank and (<AddedMatcher>matcher).takes_blanks:
                raise ValueError("some added token strips white space, and some begins with it")
        self.rules.boundaries = <boundaries_fn>boundaries
        if self.rules.stable:
            self.rules.stable_bits = stable_bits(self.rules.stable)
            self.rules.kinds = mark_kinds(self.rules.stable)
        if kind == "unsplit":
            self.set_up_spaces()
            if normalized.size:
                self.check = self.bare_tokens(normalized)
                normalized = None
        else:
            # What the normalizer makes may be an added token, or hold a byte that the vocabulary lacks. (Where it lacks many, or marks
            # the ends of words, the model is given ByteLevel characters and knows what to do.)
            self.all_stable = (normalized.size or (self.model.byte_level and self.model.n_lacking)) and self.rules.stable
            for i in range(256):
                self.rules.cut_after[i] = 48 <= i <= 57 or 97 <= (i | 32) <= 122
            if not self.model.ignore_merges:
                self.allow_cuts()
        if normalized is not None and normalized.size and raw.size:
            self.rules.has_outer = 1
            self.watch(&self.rules.outer, raw)
            self.watch(&self.rules.inner, normalized)
        else:
            self.watch(&self.rules.inner, normalized if normalized is not None and normalized.size else raw)
        self.rules.unchecked = self.check is None
        self.cuts_units = self.check is None and not self.all_stable and not (raw.meets_cut or pipeline.normalized.meets_cut)
        self.lacks_none = True
        for i in range(256):
            self.lacking[i] = (self.char_ids[i] if self.rules.marks else self.model.byte_ids[i]) == NO_SYMBOL
            if self.lacking[i] and i not in (0xC0, 0xC1) and i < 0xF5:
                self.lacks_none = False
        self.keep = pipeline

    cdef int watch(self, Finder *f, AddedMatcher matcher) except -1:
        cdef int i, bit, flags
        f.matcher = &matcher.m
        high = []
        for i in range(256):
            f.first[i] = matcher.m.first[i]
            f.second[i] = matcher.m.second[i]
            if i >= 128:
                f.ascii.high_second |= f.second[i]
                if f.first[i]:
                    high.append(i)
                continue
            flags = (HT_FIRST if f.first[i] else 0) | (HT_SECOND if f.second[i] else 0)
            f.ascii.cls[i] = <uint8_t>flags
            f.ascii.map[i] = <uint8_t>i
            f.ascii.any_first |= f.first[i]
            for bit in range(6):
                if flags >> bit & 1:
                    f.ascii.columns[bit][i & 15] |= <uint8_t>(1 << (i >> 4))
        f.n_high = len(high) if len(high) <= 4 else -1
        for i in range(f.n_high):
            f.high[i] = high[i]
        return 0

    cdef object set_up_spaces(self):
        """Cuts between characters that nothing joins, spaces read as U+2581."""
        cdef BPEModel model = self.model
        cdef int i, left, right
        cdef bint bytes_known = model.byte_fallback
        self.family = "unsplit"
        for i in range(256):
            bytes_known = bytes_known and model.byte_fallback_ids[i] >= 0
        if model.char_cuts is None or model.ignore_merges or model.prefix_size or model.suffix_size or model.byte_level:
            raise ValueError("the model's merges leave no safe cuts")
        # Unknown characters leave a trace across cuts where they vanish (offsets slip) or are fused.
        if not bytes_known and (model.byte_fallback or model.unk_token is None or model.fuse_unk):
            raise ValueError("unknown characters may be dropped or fused across a cut")
        self.rules.marks = 1
        self.rules.cuts = &model.char_cuts.table
        for i in range(128):
            self.rules.joins_mark[i] = may_join(&model.char_cuts.table, i, i, 0x2581, 0xE2)
            self.rules.cut_after[i] = (48 <= i <= 57 or 97 <= (i | 32) <= 122) and not self.rules.joins_mark[i]
        self.rules.joins_mark[32] = 1            # a run of spaces stays together
        self.char_pairs = <uint32_t *>malloc(65536 * 4)
        if self.char_pairs == NULL:
            raise MemoryError("no memory for the scanner's tables")
        for i in range(256):
            text = MARK if i == 32 else chr(i)
            found = model.map.get(text) if i < 128 else None
            self.char_ids[i] = NO_SYMBOL if found is None else found
        fill_pair_ranks(&model.merge_table.table, self.char_ids, self.char_pairs)
        for i in range(128 * 128):
            left, right = i >> 7, i & 127
            if may_join(
                    &model.char_cuts.table, 0x2581 if left == 32 else left, 0x81 if left == 32 else left,
                    0x2581 if right == 32 else right, 0xE2 if right == 32 else right):
                self.rules.ascii_joins[i >> 5] |= <uint32_t>1 << (i & 31)

    def bare_tokens(self, AddedMatcher normalized not None):
        """The tokens of the normalized pass as they would stand in raw text. A mark inside stands for a space; one at an end
        may have been put there."""
        bare = []
        for pattern in normalized.patterns:
            text = pattern.decode("utf-8").replace(MARK, " ").strip(" ")
            if not text:
                raise ValueError("an added token holds marks or spaces only")
            bare.append((text, 0, False, False, False, False))
        return AddedMatcher(bare)

    def allow_cuts(self):
        """Byte-level text: cut chunks from now on where that cannot change a token. A model that looks for whole words must not
        miss one, nor find one in a part of a word. Tokens that are what the merges make of their text anyhow do not
        matter; the others are marked, and a word that is one, or would have one for a part, stays whole. To know them the vocabulary
        has to be looked through, which only a large call is worth."""
        cdef CutTable *cuts
        if self.rules.marks or self.model.byte_cuts is None or self.family in INSIDE_CHARACTERS:
            return
        cuts = &self.model.byte_cuts.table
        words = unproved_words(self.model) if self.model.ignore_merges else []
        if words is None or len(words) > MOST_MARKED:
            return
        if words:
            if self.word_cuts.whole != NULL:
                return
            self.word_cuts = cuts[0]
            cuts = &self.word_cuts
            cuts.whole_mask = (<uint64_t>64 << (len(words) - 1).bit_length()) - 1
            cuts.whole = <uint64_t *>calloc(<size_t>(cuts.whole_mask >> 6) + 1, 8)
            if cuts.whole == NULL:
                raise MemoryError("no memory for the scanner's tables")
            for word in words:
                padded = word + bytes(8)
                mark_word(cuts, padded, len(word))
        ht_publish(<void **>&self.rules.cuts, cuts)      # other threads may be scanning
