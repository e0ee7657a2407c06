"""Normalizers: every component of the reference's normalizers/*.rs over the kernels of normalized.

A spec is a tuple of the component's name and its arguments, nested for Sequence:
("BertNormalizer", clean_text, handle_chinese_chars, strip_accents (None or bool), lowercase), ("Lowercase",), ("NFC",),
("NFD",), ("NFKC",), ("NFKD",), ("StripAccents",), ("Strip", left, right), ("Replace", "String" | "Regex", pattern,
content), ("Prepend", text), ("Nmt",), ("ByteLevel",), ("Precompiled", charsmap), ("Sequence", (spec, ...)),
("Custom", object with a method normalize).

Left to others: alignment (normalized), patterns, the charsmap (precompiled), what custom components see (pretokenized).
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from hftok._core.normal_forms cimport ns_nfc, ns_nfd, ns_nfkc, ns_nfkd
from hftok._core.normalized cimport (
    PT_PANIC, PT_PYTHON, Align, PreTokenized, Split, ns_filter, ns_filter_above_ascii, ns_lowercase, ns_map,
    ns_place, ns_prepend, ns_replace, ns_replace_byte, ns_spans_all, ns_strip, ns_transform, pt_check, pt_copy, pt_free, pt_init,
    pt_push_change, pt_reserve, pt_reset,
)
from hftok._core.patterns cimport Pattern
from hftok._core.precompiled cimport Charsmap
from hftok._core.pretokenized cimport NormalizedString, NormalizedText, call_normalizer
from hftok._core.text cimport utf8_decode, utf8_encode
from hftok._core.unicode cimport (
    UC_CHINESE, UC_COMBINING_MARK, UC_MARK_NONSPACING, UC_OTHER, UC_WHITESPACE, uc_props,
)

ctypedef int (*Kernel)(PreTokenized *, Split *) noexcept nogil


# ---------------------------------------------------------------------------------------------------------------------
# Characters

cdef int clean(uint32_t cp) noexcept nogil:
    """What BertNormalizer's clean_text keeps: not NUL, U+FFFD or a control character, of which \\t \\n \\r are none."""
    if cp == 9 or cp == 10 or cp == 13:
        return 1
    return not (cp == 0 or cp == 0xFFFD or uc_props(cp) & UC_OTHER)


cdef uint32_t blank_to_space(uint32_t cp) noexcept nogil:
    return 32 if uc_props(cp) & UC_WHITESPACE else cp


cdef int not_nonspacing(uint32_t cp) noexcept nogil:
    return not (uc_props(cp) & UC_MARK_NONSPACING)


cdef int not_combining(uint32_t cp) noexcept nogil:
    return not (uc_props(cp) & UC_COMBINING_MARK)


cdef int nmt_keeps(uint32_t cp) noexcept nogil:
    return not (
        1 <= cp <= 8 or cp == 0x0B or 0x0E <= cp <= 0x1F or cp == 0x7F or cp == 0x8F or cp == 0x9F
    )


cdef uint32_t nmt_map(uint32_t cp) noexcept nogil:
    if (
        cp == 9 or cp == 10 or cp == 12 or cp == 13 or cp == 0x1680 or 0x200B <= cp <= 0x200F or cp == 0x2028
        or cp == 0x2029 or cp == 0x2581 or cp == 0xFEFF or cp == 0xFFFD
    ):
        return 32
    return cp


# ---------------------------------------------------------------------------------------------------------------------
# Kernels without arguments

# What clean_text makes of ASCII: the character to write, or 0xFF for none.
cdef uint8_t CLEAN[128]


cdef void make_clean() noexcept:
    cdef uint32_t c
    for c in range(128):
        CLEAN[c] = <uint8_t>blank_to_space(c) if clean(c) else 0xFF


make_clean()


cdef int clean_text(PreTokenized *p, Split *s) noexcept nogil:
    """Control characters go, blanks become spaces. Nothing gets longer and everything keeps its own alignment: in place."""
    cdef int64_t i = s.start, end = s.end, out
    cdef uint8_t *text = p.text
    cdef Align *align = p.align
    cdef uint8_t c
    cdef int length, k
    cdef uint32_t cp, props
    if not ns_spans_all(p, s):
        if ns_filter(p, s, clean):
            return p.error
        return ns_map(p, s, blank_to_space)
    while i < end and text[i] < 0x80 and CLEAN[text[i]] == text[i]:
        i += 1
    out = i
    while i < end:
        if text[i] < 0x80:
            c = CLEAN[text[i]]
            text[out] = c
            align[out] = align[i]
            out += c != 0xFF
            i += 1
            continue
        cp = utf8_decode(text + i, &length)
        props = uc_props(cp)
        if props & UC_WHITESPACE and not props & UC_OTHER:
            text[out] = c' '
            align[out] = align[i]
            out += 1
        elif not (props & UC_OTHER) and cp != 0xFFFD:
            for k in range(length):
                text[out + k] = text[i + k]
                align[out + k] = align[i + k]
            out += length
        i += length
    if p.used == end:
        p.used = out
    s.end = out
    return 0


cdef int space_chinese(PreTokenized *p, Split *s) noexcept nogil:
    """A space on both sides of each ideograph, all three aligned with it."""
    cdef int64_t i = s.start, end = s.end, at, copied = s.start, k
    cdef int length
    cdef uint32_t cp
    cdef Align align
    if not ns_spans_all(p, s):
        p.n_changes = 0
        while i < end:
            cp = utf8_decode(p.text + i, &length)
            i += length
            if uc_props(cp) & UC_CHINESE:
                pt_push_change(p, 32, 0)
                pt_push_change(p, cp, 1)
                pt_push_change(p, 32, 1)
            else:
                pt_push_change(p, cp, 0)
            if p.error:
                return p.error
        return ns_transform(p, s, 0)
    at = -1
    while i < end:
        # No ideograph takes fewer than three bytes.
        if p.text[i] < 0xE0:
            i += 1
            continue
        cp = utf8_decode(p.text + i, &length)
        if uc_props(cp) & UC_CHINESE:
            if at < 0:
                # Two more bytes for every three that are left, at most.
                if pt_reserve(p, (end - s.start) + 2 * ((end - i) // 3 + 1)):
                    return p.error
                at = p.used
            if i > copied:
                memcpy(p.text + at, p.text + copied, <size_t>(i - copied))
                memcpy(p.align + at, p.align + copied, <size_t>(i - copied) * sizeof(Align))
                at += i - copied
            align = p.align[i]
            p.text[at] = c' '
            memcpy(p.text + at + 1, p.text + i, <size_t>length)
            p.text[at + 1 + length] = c' '
            for k in range(length + 2):
                p.align[at + k] = align
            at += length + 2
            copied = i + length
        i += length
    if at < 0:
        return 0
    if end > copied:
        memcpy(p.text + at, p.text + copied, <size_t>(end - copied))
        memcpy(p.align + at, p.align + copied, <size_t>(end - copied) * sizeof(Align))
        at += end - copied
    ns_place(p, s, at - p.used)
    return 0


cdef int bert_strip_accents(PreTokenized *p, Split *s) noexcept nogil:
    if ns_nfd(p, s):
        return p.error
    return ns_filter_above_ascii(p, s, not_nonspacing)


cdef int strip_accents(PreTokenized *p, Split *s) noexcept nogil:
    return ns_filter_above_ascii(p, s, not_combining)


cdef int nmt(PreTokenized *p, Split *s) noexcept nogil:
    if ns_filter(p, s, nmt_keeps):
        return p.error
    return ns_map(p, s, nmt_map)


# Each byte as UTF-8 of its character: one or two bytes, in the low 16 bits, and their number above.
cdef uint32_t BYTE_CHARS[256]


cdef void make_byte_chars() noexcept:
    cdef int b, others = 0
    cdef uint32_t cp
    cdef uint8_t out[4]
    cdef int n
    for b in range(256):
        if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or 0xAE <= b:
            cp = b
        else:
            cp = 256 + others
            others += 1
        n = utf8_encode(cp, out)
        BYTE_CHARS[b] = out[0] | ((<uint32_t>out[1] << 8) if n == 2 else 0) | (<uint32_t>n << 16)


make_byte_chars()


cdef int byte_level(PreTokenized *p, Split *s) noexcept nogil:
    cdef int64_t i = s.start, end = s.end, at
    cdef uint32_t c
    cdef uint8_t *text
    cdef Align *align
    if i == end:
        return 0
    if not ns_spans_all(p, s):
        p.n_changes = 0
        while i < end:
            c = BYTE_CHARS[p.text[i]]
            c = c & 0xFF if c >> 16 == 1 else ((c & 0x1F) << 6) | (c >> 8 & 0x3F)
            if pt_push_change(p, c, (p.text[i] & 0xC0) == 0x80):
                return p.error
            i += 1
        return ns_transform(p, s, 0)
    # Printable ASCII stays as it is.
    while i < end and 0x21 <= p.text[i] <= 0x7E:
        i += 1
    if i == end:
        return 0
    if pt_reserve(p, 2 * (end - s.start) + 1):
        return p.error
    text = p.text
    align = p.align
    at = p.used
    if i > s.start:
        memcpy(text + at, text + s.start, <size_t>(i - s.start))
        memcpy(align + at, align + s.start, <size_t>(i - s.start) * sizeof(Align))
        at += i - s.start
    while i < end:
        # Two bytes are written, one or both of them count.
        c = BYTE_CHARS[text[i]]
        text[at] = <uint8_t>c
        text[at + 1] = <uint8_t>(c >> 8)
        align[at] = align[at + 1] = align[i]
        at += c >> 16
        i += 1
    ns_place(p, s, at - p.used)
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Steps

cdef class Step:
    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        return 0


cdef class Simple(Step):
    """A kernel without arguments."""
    cdef Kernel kernel

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        return self.kernel(p, s)


cdef class Bert(Step):
    cdef bint clean_text, chinese, accents, lowercase

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        if self.clean_text and clean_text(p, s):
            return p.error
        if self.chinese and space_chinese(p, s):
            return p.error
        if self.accents and bert_strip_accents(p, s):
            return p.error
        if self.lowercase and ns_lowercase(p, s):
            return p.error
        return 0


cdef class Strip(Step):
    cdef bint left, right

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        # Both at once and one after the other differ where nothing but blanks is left.
        if self.left or self.right:
            return ns_strip(p, s, self.left, self.right)
        return 0


cdef class Replace(Step):
    cdef Pattern pattern
    cdef bytes content_object
    cdef const uint8_t *content
    cdef int64_t size

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        if self.pattern.literal != NULL and self.pattern.literal_size == 1:
            return ns_replace_byte(p, s, self.pattern.literal[0], self.content, self.size)
        if self.pattern.match(p, s):
            return p.error
        return ns_replace(p, s, self.content, self.size)


cdef class Prepend(Step):
    cdef bytes text_object
    cdef const uint8_t *text
    cdef int64_t size

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        return ns_prepend(p, s, self.text, self.size)


cdef class Precompiled(Step):
    cdef Charsmap charsmap

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        return self.charsmap.normalize(p, s)


cdef class Custom(Step):
    cdef object component

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        with gil:
            try:
                call_normalizer(self.component, p, s)
            except BaseException as error:
                raise_later(error)
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

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef int64_t i
        for i in range(self.n):
            if (<Step>self.pointers[i]).run(p, s):
                return p.error
        return 0


cdef extern from "Python.h":
    void PyErr_SetObject(object type, object value)


cdef void raise_later(object error) noexcept:
    """Leave an exception set for whoever gets PT_PYTHON."""
    PyErr_SetObject(type(error), error)


cdef Step simple(Kernel kernel):
    cdef Simple step = Simple()
    step.kernel = kernel
    return step


cdef Step build(object spec, list custom):
    cdef str name
    cdef Bert bert
    cdef Strip strip
    cdef Replace replace
    cdef Prepend prepend
    cdef Precompiled precompiled
    cdef Custom python
    cdef Sequence sequence
    cdef int64_t i
    if not isinstance(spec, tuple) or not spec or not isinstance(spec[0], str):
        raise ValueError(f"a normalizer's spec is a tuple that begins with its name, not {spec!r}")
    name = spec[0]
    if name == "BertNormalizer":
        bert = Bert()
        _, bert.clean_text, bert.chinese, accents, bert.lowercase = spec
        bert.accents = bert.lowercase if accents is None else accents
        return bert
    if name == "Strip":
        strip = Strip()
        _, strip.left, strip.right = spec
        return strip
    if name == "Replace":
        replace = Replace()
        _, kind, pattern, content = spec
        replace.pattern = Pattern(kind, pattern)
        replace.content_object = content.encode("utf-8")
        replace.content = replace.content_object
        replace.size = len(replace.content_object)
        return replace
    if name == "Prepend":
        prepend = Prepend()
        prepend.text_object = spec[1].encode("utf-8")
        prepend.text = prepend.text_object
        prepend.size = len(prepend.text_object)
        return prepend
    if name == "Precompiled":
        precompiled = Precompiled()
        precompiled.charsmap = Charsmap(spec[1])
        return precompiled
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
            raise MemoryError("out of memory while compiling a normalizer")
        for i in range(sequence.n):
            sequence.pointers[i] = <void *>sequence.steps[i]
        return sequence
    if name == "Lowercase":
        return simple(ns_lowercase)
    if name == "NFC":
        return simple(ns_nfc)
    if name == "NFD":
        return simple(ns_nfd)
    if name == "NFKC":
        return simple(ns_nfkc)
    if name == "NFKD":
        return simple(ns_nfkd)
    if name == "StripAccents":
        return simple(strip_accents)
    if name == "Nmt":
        return simple(nmt)
    if name == "ByteLevel":
        return simple(byte_level)
    raise ValueError(f"there is no normalizer {name!r}")


cdef class NormalizerProgram:
    """A compiled normalizer.

    Args:
        spec: the description, a nested tuple (see the module's docstring).

    Raises:
        ValueError: no such normalizer; UnsupportedTokenizerError, its subclass: one that cannot be reproduced.
        Exception: a pattern that is no regular expression.

    >>> NormalizerProgram(("Sequence", (("NFD",), ("StripAccents",)))).normalize_str("é")
    'e'
    """

    def __init__(self, spec):
        custom = []
        self.spec = spec
        self.root = build(spec, custom)
        self.needs_gil = len(custom) > 0

    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        if p.error:
            return p.error
        return self.root.run(p, s)

    def normalize_str(self, str sequence not None):
        """The normalized text."""
        cdef bytes data = sequence.encode("utf-8")
        cdef PreTokenized p
        cdef int error
        pt_init(&p)
        try:
            pt_reset(&p, data, len(data))
            pt_check(p.error)
            if self.needs_gil:
                error = self.run(&p, p.splits)
            else:
                with nogil:
                    error = self.run(&p, p.splits)
            pt_check(error)
            return (<const char *>p.text)[p.splits[0].start:p.splits[0].end].decode("utf-8")
        finally:
            pt_free(&p)

    def normalize(self, NormalizedText normalized not None):
        """Normalize a NormalizedString (or the reference that a custom component got) in place."""
        cdef PreTokenized saved, other
        cdef Split split
        cdef int error
        normalized.open()
        split = normalized.s[0]
        if not isinstance(normalized, NormalizedString):
            error = self.run(normalized.p, normalized.s)
            if error:
                normalized.p.error = 0
                pt_check(error)
            return
        # A step that fails leaves the steps before it done: work on a copy and keep it only if all went well.
        pt_init(&saved)
        try:
            pt_copy(&saved, normalized.p)
            pt_check(saved.error)
            error = self.run(normalized.p, normalized.s)
            if error:
                other = normalized.p[0]
                normalized.p[0] = saved
                saved = other
                normalized.s[0] = split
                pt_check(error)
        finally:
            pt_free(&saved)
