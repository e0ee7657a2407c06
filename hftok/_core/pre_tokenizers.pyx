"""Pre-tokenizers: every component of the reference's pre_tokenizers/*.rs over the kernels of normalized.

A spec is a tuple of the component's name and its arguments, nested for Sequence:
("BertPreTokenizer",), ("Whitespace",), ("WhitespaceSplit",), ("Punctuation", behavior), ("Digits", individual),
("ByteLevel", add_prefix_space, trim_offsets, use_regex), ("Metaspace", replacement, prepend_scheme, split),
("Split", "String" | "Regex", pattern, behavior, invert), ("CharDelimiterSplit", char), ("UnicodeScripts",),
("FixedLength", length), ("Sequence", (spec, ...)), ("Custom", object with a method pre_tokenize).
behavior: "removed", "isolated", "merged_with_previous", "merged_with_next" or "contiguous".

Left to others: alignment and slices (normalized), patterns, what custom components see (pretokenized).
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from hftok._core.normalized cimport (
    CONTIGUOUS, ISOLATED, MERGED_WITH_NEXT, MERGED_WITH_PREVIOUS, PT_PANIC, PT_PYTHON, REMOVED, CharTest, PreTokenized,
    Split, ns_prepend, ns_replace_byte, pt_begin_splits, pt_check, pt_compact, pt_copy, pt_end_splits, pt_free, pt_init,
    pt_invert_matches, pt_match_chars, pt_match_literal, pt_push_split, pt_reset, pt_slice, pt_split_by_matches,
)
from hftok._core.normalizers cimport byte_level
from hftok._core.patterns cimport Pattern
from hftok._core.pretokenized cimport CharCursor, PreTokenizedString, PreTokenizedText, call_pre_tokenizer, char_span
from hftok._core.text cimport utf8_decode, utf8_len
from hftok._core.unicode cimport (
    UC_NUMERIC, UC_PUNCTUATION, UC_SCRIPT_ANY, UC_WHITESPACE, UC_WORD, uc_props, uc_script_fixed,
)

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

BEHAVIORS = {
    "removed": REMOVED,
    "isolated": ISOLATED,
    "merged_with_previous": MERGED_WITH_PREVIOUS,
    "merged_with_next": MERGED_WITH_NEXT,
    "contiguous": CONTIGUOUS,
}


cdef int is_whitespace(uint32_t cp) noexcept nogil:
    return (uc_props(cp) & UC_WHITESPACE) != 0


cdef int is_punctuation(uint32_t cp) noexcept nogil:
    return (uc_props(cp) & UC_PUNCTUATION) != 0


cdef int is_numeric(uint32_t cp) noexcept nogil:
    return (uc_props(cp) & UC_NUMERIC) != 0


cdef inline int push(PreTokenized *p, const Split *s, int64_t start, int64_t end) noexcept nogil:
    """Push a piece of a split unless it is empty."""
    cdef Split piece
    if start == end:
        return 0
    piece = pt_slice(p, s, start, end)
    return pt_push_split(p, &piece)


# ---------------------------------------------------------------------------------------------------------------------
# Steps

cdef class Step:
    cdef int run(self, PreTokenized *p) noexcept nogil:
        return 0


cdef class Splitter(Step):
    """A step that takes one split at a time: pushes what it becomes."""

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        return pt_push_split(p, s)

    cdef int run(self, PreTokenized *p) noexcept nogil:
        cdef int64_t i
        cdef Split s
        pt_begin_splits(p)
        for i in range(p.n_splits):
            s = p.splits[i]
            if s.token >= 0:
                pt_push_split(p, &s)
            else:
                self.cut(p, &s)
            if p.error:
                return p.error
        pt_end_splits(p)
        return p.error


cdef class CharSplit(Splitter):
    """Splits at the characters that a test holds for."""
    cdef CharTest test
    cdef int behavior

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        if pt_match_chars(p, s, self.test):
            return p.error
        return pt_split_by_matches(p, s, self.behavior)


cdef class WhitespaceSplit(Splitter):
    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef const uint8_t *text = p.text + s.start
        cdef int64_t size = s.end - s.start, i = 0, start = 0
        cdef int length
        while i < size:
            if uc_props(utf8_decode(text + i, &length)) & UC_WHITESPACE:
                push(p, s, start, i)
                start = i + length
            i += length
        return push(p, s, start, size)


cdef class Bert(Splitter):
    """White space vanishes, then punctuation stands alone: both cuts in one pass."""

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef const uint8_t *text = p.text + s.start
        cdef int64_t size = s.end - s.start, i = 0, start = 0
        cdef int length
        cdef uint32_t props
        while i < size:
            props = uc_props(utf8_decode(text + i, &length))
            if props & (UC_WHITESPACE | UC_PUNCTUATION):
                push(p, s, start, i)
                if not props & UC_WHITESPACE:
                    push(p, s, i, i + length)
                start = i + length
            i += length
        return push(p, s, start, size)


cdef class Whitespace(Splitter):
    """The matches of the regex crate's \\w+|[^\\w\\s]+."""

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef const uint8_t *text = p.text + s.start
        cdef int64_t size = s.end - s.start, i = 0, start = 0
        cdef int length
        cdef uint32_t props, kind, run = UC_WHITESPACE
        while i < size:
            props = uc_props(utf8_decode(text + i, &length))
            kind = UC_WORD if props & UC_WORD else props & UC_WHITESPACE
            if kind != run:
                if run != UC_WHITESPACE:
                    push(p, s, start, i)
                start = i
                run = kind
            i += length
        if run != UC_WHITESPACE:
            push(p, s, start, size)
        return p.error


cdef class PatternSplit(Splitter):
    cdef Pattern pattern
    cdef int behavior
    cdef bint invert

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        if self.pattern.match(p, s):
            return p.error
        if self.invert:
            pt_invert_matches(p)
        return pt_split_by_matches(p, s, self.behavior)


cdef class Delimiter(Splitter):
    cdef bytes char_object
    cdef const uint8_t *char_
    cdef int64_t size

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        if pt_match_literal(p, s, self.char_, self.size):
            return p.error
        return pt_split_by_matches(p, s, REMOVED)


cdef class ByteLevel(Splitter):
    cdef bint add_prefix_space
    cdef Pattern pattern        # None: no split

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        if self.add_prefix_space and (s.end == s.start or p.text[s.start] != c' '):
            if ns_prepend(p, s, b" ", 1):
                return p.error
        if self.pattern is None:
            return pt_push_split(p, s)
        if self.pattern.match(p, s):
            return p.error
        return pt_split_by_matches(p, s, ISOLATED)

    cdef int run(self, PreTokenized *p) noexcept nogil:
        cdef int64_t i
        if Splitter.run(self, p):
            return p.error
        for i in range(p.n_splits):
            if p.splits[i].token < 0 and byte_level(p, &p.splits[i]):
                return p.error
        return pt_compact(p)


cdef enum:
    PREPEND_FIRST = 0
    PREPEND_NEVER = 1
    PREPEND_ALWAYS = 2


cdef class Metaspace(Splitter):
    cdef bytes replacement_object
    cdef const uint8_t *replacement
    cdef int64_t size
    cdef int scheme
    cdef bint split

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef int64_t i
        cdef int prefixed
        if ns_replace_byte(p, s, c' ', self.replacement, self.size):
            return p.error
        if self.scheme == PREPEND_ALWAYS or (self.scheme == PREPEND_FIRST and s.ostart == 0):
            prefixed = s.end - s.start >= self.size
            i = 0
            while prefixed and i < self.size:
                prefixed = p.text[s.start + i] == self.replacement[i]
                i += 1
            if not prefixed and ns_prepend(p, s, self.replacement, self.size):
                return p.error
        if not self.split:
            return pt_push_split(p, s)
        if pt_match_literal(p, s, self.replacement, self.size):
            return p.error
        return pt_split_by_matches(p, s, MERGED_WITH_NEXT)


cdef class UnicodeScripts(Splitter):
    """Cuts where the script changes; what stands before the first character with a script is lost, as in the reference."""

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef const uint8_t *text = p.text + s.start
        cdef int64_t size = s.end - s.start, i = 0, start = -1
        cdef int length, script, last = -1
        while i < size:
            script = uc_script_fixed(utf8_decode(text + i, &length))
            if script != UC_SCRIPT_ANY:
                if script != last:
                    if start >= 0:
                        push(p, s, start, i)
                    start = i
                last = script
            i += length
        if start >= 0:
            push(p, s, start, size)
        return p.error


cdef class FixedLength(Splitter):
    cdef uint64_t length

    cdef int cut(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef const uint8_t *text = p.text + s.start
        cdef int64_t size = s.end - s.start, i = 0, start = 0
        cdef uint64_t n = 0
        if size and self.length == 0:
            p.error = PT_PANIC
            return p.error
        while i < size:
            if n == self.length:
                push(p, s, start, i)
                start = i
                n = 0
            i += utf8_len(text[i])
            n += 1
        return push(p, s, start, size)


cdef class Custom(Step):
    cdef object component

    cdef int run(self, PreTokenized *p) noexcept nogil:
        with gil:
            try:
                call_pre_tokenizer(self.component, p)
            except BaseException as error:
                PyErr_SetObject(type(error), error)
                if p.error == 0:
                    p.error = PT_PYTHON
        return p.error


cdef class Sequence(Step):
    cdef list steps
    cdef void **pointers
    cdef int64_t n

    def __cinit__(self):
        self.pointers = NULL

    def __dealloc__(self):
        free(self.pointers)

    cdef int run(self, PreTokenized *p) noexcept nogil:
        cdef int64_t i
        for i in range(self.n):
            if (<Step>self.pointers[i]).run(p):
                return p.error
        return 0


cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)


cdef int behavior_of(object name) except -1:
    if name not in BEHAVIORS:
        raise ValueError(f"there is no behavior {name!r}: use one of {', '.join(BEHAVIORS)}")
    return BEHAVIORS[name]


cdef Pattern _gpt2 = None


cdef Pattern gpt2_pattern():
    global _gpt2
    if _gpt2 is None:
        _gpt2 = Pattern("Regex", GPT2_PATTERN)
    return _gpt2


cdef Step char_split(CharTest test, object behavior):
    cdef CharSplit step = CharSplit()
    step.test = test
    step.behavior = behavior_of(behavior)
    return step


cdef Step build(object spec, list custom):
    cdef str name
    cdef ByteLevel bytes_
    cdef Metaspace metaspace
    cdef PatternSplit pattern_split
    cdef Delimiter delimiter
    cdef FixedLength fixed
    cdef Custom python
    cdef Sequence sequence
    cdef int64_t i
    if not isinstance(spec, tuple) or not spec or not isinstance(spec[0], str):
        raise ValueError(f"a pre-tokenizer's spec is a tuple that begins with its name, not {spec!r}")
    name = spec[0]
    if name == "BertPreTokenizer":
        return Bert()
    if name == "Whitespace":
        return Whitespace()
    if name == "WhitespaceSplit":
        return WhitespaceSplit()
    if name == "Punctuation":
        return char_split(is_punctuation, spec[1])
    if name == "Digits":
        return char_split(is_numeric, "isolated" if spec[1] else "contiguous")
    if name == "ByteLevel":
        bytes_ = ByteLevel()
        _, bytes_.add_prefix_space, _, use_regex = spec
        bytes_.pattern = gpt2_pattern() if use_regex else None
        return bytes_
    if name == "Metaspace":
        metaspace = Metaspace()
        _, replacement, scheme, metaspace.split = spec
        metaspace.replacement_object = one_character(replacement)
        metaspace.replacement = metaspace.replacement_object
        metaspace.size = len(metaspace.replacement_object)
        schemes = {"first": PREPEND_FIRST, "never": PREPEND_NEVER, "always": PREPEND_ALWAYS}
        if scheme not in schemes:
            raise ValueError(f"there is no prepend scheme {scheme!r}: use one of {', '.join(schemes)}")
        metaspace.scheme = schemes[scheme]
        return metaspace
    if name == "Split":
        pattern_split = PatternSplit()
        _, kind, pattern, behavior, pattern_split.invert = spec
        pattern_split.pattern = Pattern(kind, pattern)
        pattern_split.behavior = behavior_of(behavior)
        return pattern_split
    if name == "CharDelimiterSplit":
        delimiter = Delimiter()
        delimiter.char_object = one_character(spec[1])
        delimiter.char_ = delimiter.char_object
        delimiter.size = len(delimiter.char_object)
        return delimiter
    if name == "UnicodeScripts":
        return UnicodeScripts()
    if name == "FixedLength":
        fixed = FixedLength()
        fixed.length = spec[1]
        return fixed
    if name == "Custom":
        python = Custom()
        python.component = spec[1]
        custom.append(spec[1])
        return python
    if name == "Sequence":
        sequence = Sequence()
        sequence.steps = [build(part, custom) for part in spec[1]]
        sequence.n = len(sequence.steps)
        sequence.pointers = <void **>malloc(<size_t>(sequence.n + 1) * sizeof(void *))
        if sequence.pointers == NULL:
            raise MemoryError("out of memory while compiling a pre-tokenizer")
        for i in range(sequence.n):
            sequence.pointers[i] = <void *>sequence.steps[i]
        return sequence
    raise ValueError(f"there is no pre-tokenizer {name!r}")


cdef bytes one_character(object text):
    if not isinstance(text, str) or len(text) != 1:
        raise ValueError(f"expected one character, not {text!r}")
    return text.encode("utf-8")


cdef class PreTokenizerProgram:
    """A compiled pre-tokenizer.

    Args:
        spec: the description, a nested tuple (see the module's docstring).

    Raises:
        ValueError: no such pre-tokenizer; UnsupportedTokenizerError, its subclass: one that cannot be reproduced.
        Exception: a pattern that is no regular expression.

    >>> PreTokenizerProgram(("Whitespace",)).pre_tokenize_str("hi, you")
    [('hi', (0, 2)), (',', (2, 3)), ('you', (4, 7))]
    """

    def __init__(self, spec):
        custom = []
        self.spec = spec
        self.root = build(spec, custom)
        self.needs_gil = len(custom) > 0

    cdef int run(self, PreTokenized *p) noexcept nogil:
        if p.error:
            return p.error
        return self.root.run(p)

    def pre_tokenize_str(self, str sequence not None):
        """The pieces of a text, each with its start and end in characters of the text: list of (str, (int, int))."""
        cdef bytes data = sequence.encode("utf-8")
        cdef PreTokenized p
        cdef CharCursor cursor
        cdef int64_t i, a, b
        cdef int error
        pt_init(&p)
        try:
            pt_reset(&p, data, len(data))
            pt_check(p.error)
            if self.needs_gil:
                error = self.run(&p)
            else:
                with nogil:
                    error = self.run(&p)
            pt_check(error)
            cursor.byte = cursor.chars = 0
            result = []
            for i in range(p.n_splits):
                a = p.splits[i].ostart
                b = p.splits[i].oend
                char_span(&p, &cursor, &a, &b)
                result.append(((<const char *>p.text)[p.splits[i].start:p.splits[i].end].decode("utf-8"), (a, b)))
            return result
        finally:
            pt_free(&p)

    def pre_tokenize(self, PreTokenizedText pretok not None):
        """Split a PreTokenizedString in place; nothing changes if an error is raised."""
        cdef PreTokenized saved, other
        cdef int error
        pretok.open()
        pt_init(&saved)
        try:
            pt_copy(&saved, pretok.p)
            pt_check(saved.error)
            error = self.run(pretok.p)
            if error:
                other = pretok.p[0]
                pretok.p[0] = saved
                saved = other
                pt_check(error)
        finally:
            pt_free(&saved)
