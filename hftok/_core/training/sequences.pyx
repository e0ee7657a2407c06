"""From a sequence to its words: the pipeline of a tokenizer up to its pre-tokens, without an object per word.

What it does: Words is a compiled pipeline, a Lane is what one thread needs to run it. Four kinds of pipelines have a way of their
own through a text: those that cut by character classes (the engine's scanner), the byte-level patterns (pattern_words),
Metaspace, and no pre-tokenizer at all. A pattern alone, as rustbpe has it, is the fifth. A sequence in which an added token may occur, or whose pipeline is of none of these
kinds, takes the exact path. All ways give the same words.

Rule of the reference: train in tokenizer/mod.rs. Every split of a sequence becomes a word, recognized added tokens included; the
empty string is none. Where a pipeline ends in ByteLevel, words are the bytes that its characters stand for (`symbols`): half the
memory, and nothing to be written for each word. Left to others: counting (tally), files, texts and threads (feed).
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memset

from hftok._core.added_tokens cimport AddedMatcher, Matcher, match_token
from hftok._core.char_tables cimport CharClassifier
from hftok._core.exact cimport Pipeline, state_free, state_init
from hftok._core.models.wordlevel cimport WordLevelModel
from hftok._core.normalized cimport PT_NO_MEMORY, PT_OK, PT_TOO_LONG, PreTokenized, Split, pt_reset
from hftok._core.rust_pattern cimport RustPattern
from hftok._core.scanners.pattern_words cimport (
    FAMILY_CL100K, FAMILY_GPT2, FAMILY_NONE, PatternRule, cl100k_end, gpt2_end, o200k_end, rule_of,
)
from hftok._core.text cimport utf8_decode, utf8_encode, utf8_len
from hftok._core.training.tally cimport tally_add
from hftok._core.training.words cimport WordCounts
from hftok._core.unicode cimport UC_NUMERIC, uc_props, uc_stable
from hftok._core.worker cimport (
    KNOWN, MATCH_NONE, SCAN_NO_MEMORY, Hit, Worker, is_separator, worker_begin, worker_free, worker_new, worker_reset, worker_room,
)

from hftok._core.char_tables import flatten, plan
from hftok._core.engine import _scanner_module, _tier
from hftok._core.normalizers import NormalizerProgram
from hftok._core.pre_tokenizers import GPT2_PATTERN, PreTokenizerProgram
from hftok._core.training.symbols import byte_level_characters
from hftok._core.training.words import check

cdef enum Digits:
    DIGITS_NONE = 0
    DIGITS_RUNS = 1             # numbers are split off before the pattern looks: in runs,
    DIGITS_EACH = 2             # or each by itself

cdef enum:
    HELD = 1 << 14              # chunk text that a scanner may hold back
    REGION_ERROR = 128          # PT_* errors that come through the scanner
    CHARACTERS = 0x144          # code points below are those that ByteLevel writes

cdef uint8_t[CHARACTERS] BYTE_OF
cdef uint8_t[CHARACTERS] IS_WRITTEN
cdef uint8_t[512] CHARACTER
cdef uint8_t[256] CHARACTER_SIZE


cdef int make_byte_tables() except -1:
    cdef int b
    cdef uint32_t c
    cdef uint8_t[4] buffer
    memset(buffer, 0, sizeof(buffer))
    for b, c in enumerate(byte_level_characters()):
        BYTE_OF[c] = b
        IS_WRITTEN[c] = 1
        CHARACTER_SIZE[b] = <uint8_t>utf8_encode(c, buffer)
        CHARACTER[2 * b] = buffer[0]
        CHARACTER[2 * b + 1] = buffer[1]
    return 0


make_byte_tables()


def is_written(token):
    """Whether the text of an added token consists of characters that ByteLevel writes for bytes. The white space that it takes
    along does not."""
    text, _, _, lstrip, rstrip, _ = token
    return not lstrip and not rstrip and all(ord(c) < CHARACTERS and IS_WRITTEN[<uint32_t>ord(c)] for c in text)


cdef class Words:
    """The pipeline of a tokenizer, for training. Immutable.

    normalizer_spec, pre_tokenizer_spec  descriptions, or None
    raw, normalized                      added tokens to find in the text as it is, and in the normalized text: see AddedMatcher
    exact                                take no shortcut (for tests)
    characters                           words are strings, even where they could be bytes

    symbols  what the words are, for train_bpe: "byte_level" where they are the bytes behind ByteLevel's characters, else "characters"

    >>> Words(None, ("ByteLevel", False, True, True)).way
    'pattern'
    """

    def __init__(self, normalizer_spec, pre_tokenizer_spec, list raw=[], list normalized=[], bint exact=False,
                 bint characters=False):
        cdef list steps = flatten(pre_tokenizer_spec)
        self.model = WordLevelModel({})
        self.pipeline = Pipeline(
            self.model,
            None if normalizer_spec is None else NormalizerProgram(normalizer_spec),
            None if pre_tokenizer_spec is None else PreTokenizerProgram(pre_tokenizer_spec),
            AddedMatcher(raw), AddedMatcher(normalized))
        memset(&self.plan, 0, sizeof(Plan))
        self.plan.pipeline = <void *>self.pipeline
        self.plan.kernels = <const Kernels *><size_t>_scanner_module("charclass", _tier).kernels()
        self.plan.normalizes = normalizer_spec is not None
        if raw:
            self.plan.raw = &self.pipeline.raw.m
        if normalized:
            self.plan.normalized = &self.pipeline.normalized.m
        byte_level = len(steps) > 0 and steps[len(steps) - 1][0] == "ByteLevel"
        # The words of added tokens are their texts: they must be writable as bytes, too.
        self.plan.to_bytes = (byte_level and not characters and all(map(is_written, raw))
                              and all(map(is_written, normalized)))
        self.plan.to_characters = byte_level and not self.plan.to_bytes
        self.symbols = "byte_level" if self.plan.to_bytes else "characters"
        self.plan.way = WAY_EXACT if exact or self.pipeline.needs_gil else self.choose(normalizer_spec, steps)

    @staticmethod
    def of_pattern(str pattern not None, bint exact=False):
        """The words of rustbpe: matches of a pattern as the regex crates read it, as bytes; empty ones are none.

        Raises ValueError: not a pattern, or (UnsupportedTokenizerError) one that cannot be reproduced.
        """
        cdef Words self = Words(None, None)
        self.symbols = "bytes"
        self.plan.rule = rule_of(pattern, True)
        if exact or self.plan.rule.family == FAMILY_NONE:
            self.regex = RustPattern(pattern)
            self.plan.regex = <void *>self.regex
            self.plan.way = WAY_REGEX
        else:
            self.plan.way = WAY_PATTERN
        return self

    @property
    def way(self):
        """How sequences are read: "exact", "classes", "pattern", "metaspace", "whole" or "regex"."""
        return ("exact", "classes", "pattern", "metaspace", "whole", "regex")[self.plan.way]

    @property
    def needs_gil(self):
        """Whether a component is a Python object."""
        return self.pipeline.needs_gil

    cdef int choose(self, normalizer_spec, list steps) except -1:
        """The way of sequences; the plan gets what it needs."""
        cdef list names = [step[0] for step in steps]
        planned = plan(normalizer_spec, ("Sequence", tuple(steps))) if steps else None
        if planned is not None:
            if self.plan.normalized != NULL and planned[0]:
                return WAY_EXACT     # the scanner has no normalized text to search for tokens
            self.classifier = CharClassifier(self.model, planned[0], planned[1], b"", bytes(256), True)
            self.plan.joint = (self.plan.raw == NULL and self.plan.normalized == NULL and self.classifier.drops_whitespace
                               and is_separator(&self.classifier.t, 10)
                               and is_separator(&self.classifier.t, 32))
            return WAY_CLASSES
        self.read_normalizer(flatten(normalizer_spec))
        if not steps:
            return WAY_WHOLE
        if names == ["Metaspace"]:
            _, replacement, scheme, self.plan.mark_splits = steps[0]
            if scheme == "first" and self.plan.normalizes and not self.plan.stable:
                return WAY_EXACT     # which is for texts whose first character is still there
            self.mark = replacement.encode("utf-8")
            self.plan.mark = self.mark
            self.plan.mark_size = len(self.mark)
            self.plan.mark_first = scheme != "never"
            return WAY_METASPACE
        if names == ["Digits", "ByteLevel"]:
            if steps[1][1] or not steps[1][3]:
                return WAY_EXACT     # the space would be put before every piece
            self.plan.digits = DIGITS_EACH if steps[0][1] else DIGITS_RUNS
            self.plan.rule = rule_of(GPT2_PATTERN, False)
            return WAY_PATTERN
        if names == ["ByteLevel"]:
            if not steps[0][3]:
                return WAY_EXACT
            self.plan.prefix_space = steps[0][1]
            self.plan.rule = rule_of(GPT2_PATTERN, False)
            return WAY_PATTERN
        if names[0] == "Split" and names[1:] in ([], ["ByteLevel"]) and steps[0][1] == "Regex":
            _, _, pattern, behavior, invert = steps[0]
            # Matches leave nothing between them, so these keep the matches and nothing else.
            if behavior != "isolated" and not (behavior == "removed" and invert):
                return WAY_EXACT
            if names[1:] and (steps[1][1] or steps[1][3]):
                return WAY_EXACT
            self.plan.rule = rule_of(pattern, False)
            return WAY_EXACT if self.plan.rule.family == FAMILY_NONE else WAY_PATTERN
        return WAY_EXACT

    cdef int read_normalizer(self, list stages) except -1:
        """Which texts the normalizers leave alone, in terms of uc_stable's bits."""
        bits = {"NFD": 1, "NFKD": 2, "NFC": 4, "NFKC": 8, "Lowercase": 16}
        if all(stage[0] in bits for stage in stages):
            for stage in stages:
                self.plan.stable |= bits[stage[0]]
                self.plan.lower |= stage[0] == "Lowercase"
        return 0

    cdef int open_lane(self, Lane *lane, Tally *tally) except -1:
        memset(lane, 0, sizeof(Lane))
        lane.plan = &self.plan
        lane.tally = tally
        state_init(&lane.exact, self.model)
        if self.plan.way == WAY_CLASSES:
            lane.scanner = worker_new(self.plan.kernels, &self.classifier.t, 65536)
            if lane.scanner == NULL:
                raise MemoryError("out of memory while counting words")
            worker_reset(lane.scanner)
            lane.scanner.context = lane
            lane.scanner.match = match_token
            lane.scanner.matcher = &self.pipeline.raw.m
            lane.scanner.region = region
            lane.scanner.hold = 1
        return 0

    cdef void close_lane(self, Lane *lane) noexcept:
        worker_free(lane.scanner)
        state_free(&lane.exact, self.model)
        free(lane.normal)
        free(lane.line)
        free(lane.word)
        free(lane.transcoded)
        memset(lane, 0, sizeof(Lane))


cdef inline int room(uint8_t **p, int64_t *size, int64_t need) noexcept nogil:
    cdef uint8_t *grown
    if need <= size[0]:
        return 0
    need += need >> 2
    grown = <uint8_t *>realloc(p[0], <size_t>need)
    if grown == NULL:
        return PT_NO_MEMORY
    p[0] = grown
    size[0] = need
    return 0


# ---------------------------------------------------------------------- words in other characters

cdef int add_as_characters(Lane *lane, const uint8_t *word, int64_t n) noexcept nogil:
    """Count a word of bytes as ByteLevel's characters."""
    cdef int64_t i, k = 0
    if room(&lane.word, &lane.word_size, 2 * n + 16):
        return PT_NO_MEMORY
    for i in range(n):
        lane.word[k] = CHARACTER[2 * word[i]]
        lane.word[k + 1] = CHARACTER[2 * word[i] + 1]
        k += CHARACTER_SIZE[word[i]]
    tally_add(lane.tally, lane.word, k, lane.word + lane.word_size)
    return 0


cdef int add_as_bytes(Lane *lane, const uint8_t *word, int64_t n) noexcept nogil:
    """Count a word of ByteLevel's characters as the bytes behind them."""
    cdef int64_t i = 0, k = 0
    cdef int length = 1
    if room(&lane.word, &lane.word_size, n + 16):
        return PT_NO_MEMORY
    while i < n:
        lane.word[k] = BYTE_OF[utf8_decode(word + i, &length)]
        i += length
        k += 1
    tally_add(lane.tally, lane.word, k, lane.word + lane.word_size)
    return 0


def as_characters(WordCounts words not None):
    """Word counts of bytes as those of the characters that ByteLevel writes for them.

    >>> from hftok._core.training.words import WordCounts
    >>> as_characters(WordCounts({b" a": 2})).to_dict()
    {'Ġa': 2}
    """
    cdef WordCounts made = WordCounts()
    cdef int64_t i, j, k
    cdef int64_t size = 0
    cdef uint8_t b
    cdef int failed
    with nogil:
        for j in range(words.offset[words.size]):
            size += CHARACTER_SIZE[words.text[j]]
        failed = made.reserve_exactly(words.size, size)
        if not failed:
            k = 0
            for i in range(words.size):
                for j in range(words.offset[i], words.offset[i + 1]):
                    b = words.text[j]
                    made.text[k] = CHARACTER[2 * b]
                    k += 1
                    if CHARACTER_SIZE[b] > 1:
                        made.text[k] = CHARACTER[2 * b + 1]
                        k += 1
                made.offset[i + 1] = k
                made.count[i] = words.count[i]
            made.size = words.size
    check(failed)
    return made


# ---------------------------------------------------------------------- the exact path

cdef int exact_sequence(Lane *lane, const uint8_t *text, int64_t size) noexcept nogil:
    cdef PreTokenized *p = &lane.exact.pt
    cdef int64_t i, n
    cdef int error = (<Pipeline>lane.plan.pipeline).split(&lane.exact, text, size)
    if error:
        p.error = PT_OK
        return error
    for i in range(p.n_splits):
        n = p.splits[i].end - p.splits[i].start
        if n == 0:
            continue
        if lane.plan.to_bytes:
            error = add_as_bytes(lane, p.text + p.splits[i].start, n)
            if error:
                return error
        else:
            tally_add(lane.tally, p.text + p.splits[i].start, n, p.text + p.splits[i].end)
    return 0


cdef bint holds_token(const Matcher *m, const uint8_t *text, int64_t size) noexcept nogil:
    """Whether an added token may occur in a text, accepted or not."""
    cdef int64_t i
    cdef Hit hit
    if m.matches_empty:
        return True
    for i in range(size):
        if m.first[text[i]] and match_token(m, text, size, i, 0, &hit) != MATCH_NONE:
            return True
    return False


# ---------------------------------------------------------------------- normalizing

cdef inline bint is_ascii(const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i = 0
    cdef uint64_t bits = 0, eight
    while i + 8 <= size:
        memcpy(&eight, text + i, 8)
        bits |= eight
        i += 8
    while i < size:
        bits |= text[i]
        i += 1
    return not (bits & <uint64_t>0x8080808080808080)


cdef bint is_stable(const uint8_t *text, int64_t size, int bits) noexcept nogil:
    """Whether the normal forms of these bits change no code point of a text."""
    cdef int64_t i = 0
    cdef int length = 1
    while i < size:
        if text[i] < 0x80:
            i += 1
            continue
        if (uc_stable(utf8_decode(text + i, &length)) & bits) != bits:
            return False
        i += length
    return True


cdef int normalize(Lane *lane, const uint8_t **text, int64_t *size, const uint8_t **limit) noexcept nogil:
    """The normalized sequence: itself where it can be seen that nothing changes, else a copy."""
    cdef const uint8_t *t = text[0]
    cdef int64_t n = size[0], i
    cdef PreTokenized *p = &lane.exact.pt
    cdef int error
    if lane.plan.stable:
        if is_ascii(t, n):
            if not lane.plan.lower:
                return 0
            if room(&lane.normal, &lane.normal_size, n + 16):
                return PT_NO_MEMORY
            for i in range(n):
                lane.normal[i] = t[i] | (0x20 if c'A' <= t[i] <= c'Z' else 0)
            text[0] = lane.normal
            limit[0] = lane.normal + lane.normal_size
            return 0
        if not lane.plan.lower and is_stable(t, n, lane.plan.stable):
            return 0
    pt_reset(p, t, n)
    if not p.error:
        (<Pipeline>lane.plan.pipeline).normalizer.run(p, &p.splits[0])
    if p.error:
        error = p.error
        p.error = PT_OK
        return error
    text[0] = p.text + p.splits[0].start
    size[0] = p.splits[0].end - p.splits[0].start
    limit[0] = text[0] + size[0]
    return 0


# ---------------------------------------------------------------------- patterns

cdef inline int64_t next_match(const PatternRule *rule, const uint8_t *text, int64_t i, int64_t size) noexcept nogil:
    if rule.family == FAMILY_GPT2:
        return gpt2_end(text, i, size)
    if rule.family == FAMILY_CL100K:
        return cl100k_end(text, i, size, rule.digits, rule.newlines)
    return o200k_end(text, i, size, rule.digits, rule.newlines)


cdef int pattern_text(Lane *lane, const uint8_t *text, int64_t size, const uint8_t *limit) noexcept nogil:
    """The pattern's matches in a text. The loops are told apart so that each has one pattern's code in it."""
    cdef PatternRule rule = lane.plan.rule
    cdef int64_t i = 0, j
    cdef int error
    if lane.plan.to_characters:
        while i < size:
            j = next_match(&rule, text, i, size)
            error = add_as_characters(lane, text + i, j - i)
            if error:
                return error
            i = j
    elif rule.family == FAMILY_GPT2:
        while i < size:
            j = gpt2_end(text, i, size)
            tally_add(lane.tally, text + i, j - i, limit)
            i = j
    elif rule.family == FAMILY_CL100K:
        while i < size:
            j = cl100k_end(text, i, size, rule.digits, rule.newlines)
            tally_add(lane.tally, text + i, j - i, limit)
            i = j
    else:
        while i < size:
            j = o200k_end(text, i, size, rule.digits, rule.newlines)
            tally_add(lane.tally, text + i, j - i, limit)
            i = j
    return 0


cdef int pattern_between_digits(Lane *lane, const uint8_t *text, int64_t size, const uint8_t *limit) noexcept nogil:
    """Numbers apart, then the pattern in each piece."""
    cdef int64_t i = 0, start = 0
    cdef int length = 1
    cdef int error = 0
    cdef bint number
    cdef bint before = False
    while i < size and error == 0:
        if text[i] < 0x80:
            length = 1
            number = c'0' <= text[i] <= c'9'
        else:
            number = (uc_props(utf8_decode(text + i, &length)) & UC_NUMERIC) != 0
        if i > start and (number != before or (number and lane.plan.digits == DIGITS_EACH)):
            error = pattern_text(lane, text + start, i - start, limit)
            start = i
        before = number
        i += length
    return pattern_text(lane, text + start, size - start, limit) if error == 0 else error


cdef int pattern_sequence(Lane *lane, const uint8_t *text, int64_t size, const uint8_t *limit) noexcept nogil:
    if lane.plan.prefix_space and text[0] != c' ':
        if room(&lane.line, &lane.line_size, size + 17):
            return PT_NO_MEMORY
        lane.line[0] = c' '
        memcpy(lane.line + 1, text, <size_t>size)
        text = lane.line
        size += 1
        limit = lane.line + lane.line_size
    if lane.plan.digits:
        return pattern_between_digits(lane, text, size, limit)
    return pattern_text(lane, text, size, limit)


cdef int regex_sequence(Lane *lane, const uint8_t *text, int64_t size, const uint8_t *limit) noexcept nogil:
    """The matches of any pattern; what lies between them is no word."""
    cdef PreTokenized *p = &lane.exact.pt
    cdef int64_t at = 0, last = -1, start = 0, end
    cdef int error
    while True:
        end = (<RustPattern>lane.plan.regex).next(p, text, size, at, last, &start)
        if end < 0:
            break
        last = at = end
        if end > start:
            tally_add(lane.tally, text + start, end - start, limit)
        else:
            at += utf8_len(text[end]) if end < size else 1
    error = p.error
    p.error = PT_OK
    return error


# ---------------------------------------------------------------------- Metaspace

cdef int metaspace_sequence(Lane *lane, const uint8_t *text, int64_t size) noexcept nogil:
    """Blanks become the replacement, one is put first, and a word begins at each."""
    cdef const uint8_t *mark = lane.plan.mark
    cdef int64_t k = lane.plan.mark_size
    cdef int64_t i, n = 0, start = 0
    cdef uint8_t *out
    cdef const uint8_t *limit
    if room(&lane.line, &lane.line_size, k * (size + 1) + 16):
        return PT_NO_MEMORY
    out = lane.line
    limit = out + lane.line_size
    if lane.plan.mark_first and text[0] != c' ' and (size < k or memcmp(text, mark, <size_t>k) != 0):
        memcpy(out, mark, <size_t>k)
        n = k
    for i in range(size):
        if text[i] == c' ':
            memcpy(out + n, mark, <size_t>k)
            n += k
        else:
            out[n] = text[i]
            n += 1
    if lane.plan.mark_splits:
        i = 1
        while i + k <= n:
            if out[i] == mark[0] and memcmp(out + i, mark, <size_t>k) == 0:
                tally_add(lane.tally, out + start, i - start, limit)
                start = i
                i += k
            else:
                i += 1
    tally_add(lane.tally, out + start, n - start, limit)
    return 0


# ---------------------------------------------------------------------- character classes

cdef void finish_sequences(Lane *lane) noexcept nogil:
    """Count the chunks that the scanner holds back."""
    cdef Worker *w = lane.scanner
    cdef int64_t k
    cdef uint32_t start, end
    if w == NULL:
        return
    for k in range(w.n_ends):
        start = w.starts[k]
        end = w.ends[k]
        if end >= KNOWN:
            end = start + <uint32_t>utf8_len(w.text[start])
        if end > start:
            tally_add(lane.tally, w.text + start, end - start, w.text + w.capacity)
    w.n_starts = w.n_ends = w.used = 0


cdef int class_sequence(Lane *lane, const uint8_t *text, int64_t size) noexcept nogil:
    cdef Worker *w = lane.scanner
    cdef int error
    if size >= <int64_t>0x7FFF0000:
        return exact_sequence(lane, text, size)
    worker_begin(w, 0)
    error = w.kernels.scan(w, text, size)
    if error:
        w.n_starts = w.n_ends = w.used = 0
        w.run = 0
        return error - REGION_ERROR if error > REGION_ERROR else PT_NO_MEMORY if error == SCAN_NO_MEMORY else PT_TOO_LONG
    if w.n_starts > w.n_ends:
        w.ends[w.n_ends] = <uint32_t>w.used
        w.n_ends += 1
    w.run = 0
    if w.used >= HELD:
        finish_sequences(lane)
    return 0


cdef int region(Worker *w, const uint8_t *text, int64_t start, int64_t end, uint32_t character) noexcept nogil:
    """The scanner's callback: the chunks of a stretch of text that it must not decide."""
    cdef Lane *lane = <Lane *>w.context
    cdef PreTokenized *p = &lane.exact.pt
    cdef Split *s
    cdef int64_t i, size
    cdef int error
    pt_reset(p, text + start, end - start)
    if not p.error and lane.plan.normalizes:
        (<Pipeline>lane.plan.pipeline).normalizer.run(p, &p.splits[0])
    if not p.error:
        (<Pipeline>lane.plan.pipeline).pre_tokenizer.run(p)
    if p.error:
        error = p.error
        p.error = PT_OK
        return error + REGION_ERROR
    for i in range(p.n_splits):
        s = &p.splits[i]
        size = s.end - s.start
        error = worker_room(w, size + 256, 256)
        if error:
            return error
        memcpy(w.text + w.used, p.text + s.start, <size_t>size)
        w.starts[w.n_starts] = <uint32_t>w.used
        w.used += size
        w.ends[w.n_ends] = <uint32_t>w.used
        w.n_starts += 1
        w.n_ends += 1
    return 0


# ---------------------------------------------------------------------- sequences

cdef int count_sequence(Lane *lane, const uint8_t *text, int64_t size, const uint8_t *limit) noexcept nogil:
    cdef const Plan *plan = lane.plan
    cdef const uint8_t *given = text
    cdef int64_t given_size = size
    cdef int error
    if size == 0:
        return 0
    if plan.way == WAY_EXACT or (plan.raw != NULL and holds_token(plan.raw, text, size)):
        return exact_sequence(lane, text, size)
    if plan.normalizes and plan.way != WAY_CLASSES:
        error = normalize(lane, &text, &size, &limit)
        if error or size == 0:
            return error
    if plan.normalized != NULL and holds_token(plan.normalized, text, size):
        return exact_sequence(lane, given, given_size)
    if plan.way == WAY_CLASSES:
        return class_sequence(lane, text, size)
    if plan.way == WAY_PATTERN:
        return pattern_sequence(lane, text, size, limit)
    if plan.way == WAY_METASPACE:
        return metaspace_sequence(lane, text, size)
    if plan.way == WAY_REGEX:
        return regex_sequence(lane, text, size, limit)
    tally_add(lane.tally, text, size, limit)
    return 0


cdef inline bint is_letter(uint8_t b) noexcept nogil:
    return c'a' <= (b | 0x20) <= c'z'


cdef int64_t cut_sequence(const Plan *plan, const uint8_t *text, int64_t at, int64_t size) noexcept nogil:
    """Before a space between a letter and a letter: there every byte-level pattern, Metaspace and whatever drops white space begin
    anew, and no first-piece rule looks at a piece that begins with a space. Added tokens and normalizers may look across."""
    cdef int64_t i = max(at, <int64_t>1)
    if plan.raw != NULL or plan.normalized != NULL or plan.way in (WAY_EXACT, WAY_WHOLE, WAY_REGEX):
        return size
    if plan.way == WAY_METASPACE and not plan.mark_splits:
        return size
    if plan.way == WAY_CLASSES:
        if not plan.joint:
            return size
    elif plan.normalizes:
        return size
    while i + 1 < size:
        if text[i] == c' ' and is_letter(text[i + 1]) and is_letter(text[i - 1]):
            return i
        i += 1
    return size
