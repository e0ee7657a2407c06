"""NormalizedString and PreTokenizedString: what custom normalizers and pre-tokenizers see.

Rules: bindings/python/src/utils/normalization.rs and pretokenization.rs over the kernels of normalized. A component gets a
reference (`...RefMut`) that works on the engine's own document and refuses any use after the call, as the reference
implementation's does. Errors leave the object as it was. Where the reference panics (a callback that raises or returns
the wrong type) the callback's exception, or a TypeError or ValueError, comes out instead.

Left to others: the kernels (normalized), patterns, Encoding.
"""
from cpython.slice cimport PySlice_Check
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from hftok._core.arguments cimport str_argument, u32_argument, usize_argument
from hftok._core.encoding cimport Encoding, encoding_from_arrays
from hftok._core.normal_forms cimport ns_nfc, ns_nfd, ns_nfkc, ns_nfkd
from hftok._core.normalized cimport (
    CONTIGUOUS, ISOLATED, MERGED_WITH_NEXT, MERGED_WITH_PREVIOUS, PT_OK, PT_PANIC, REMOVED, Align, PreTokenized, Split,
    ns_append, ns_clear, ns_lowercase, ns_original_span, ns_prepend, ns_replace, ns_strip,
    ns_transform, ns_uppercase, pt_apply_behavior, pt_begin_splits, pt_check, pt_copy, pt_end_splits, pt_free, pt_init,
    pt_match_literal, pt_push_change, pt_push_split, pt_reserve, pt_reset, pt_slice,
)
from hftok._core.patterns cimport Pattern
from hftok._core.text cimport utf8_decode, utf8_len

BEHAVIORS = {
    "removed": REMOVED,
    "isolated": ISOLATED,
    "merged_with_previous": MERGED_WITH_PREVIOUS,
    "merged_with_next": MERGED_WITH_NEXT,
    "contiguous": CONTIGUOUS,
}


class Token:
    """The plainest token there is: what get_splits returns unless `set_token_type` has named another class."""

    def __init__(self, id, value, offsets):
        self.id = id
        self.value = value
        self.offsets = offsets


token_type = Token


def set_token_type(cls):
    """Name the class of the tokens that get_splits returns; it is made as cls(id, value, offsets)."""
    global token_type
    token_type = cls


cdef int fail_with(PreTokenized *p) except -1:
    """Raise the document's error, if there is one, and forget it."""
    cdef int error = p.error
    p.error = PT_OK
    return pt_check(error)


cdef int behavior_argument(object behavior) except -1:
    found = BEHAVIORS.get(str_argument(behavior, "behavior"))
    if found is None:
        raise ValueError(
            "Wrong value for SplitDelimiterBehavior, expected one of: "
            "`removed, isolated, merged_with_previous, merged_with_next, contiguous`"
        )
    return found


cdef int find_matches(object pattern, PreTokenized *p, const Split *s) except -1:
    """Matches of what NormalizedString.split and replace take: a str, or a Regex (an object with a str `pattern`)."""
    cdef object expression = pattern_argument(pattern)
    cdef bytes literal
    cdef Pattern compiled
    if expression is None:
        literal = pattern.encode("utf-8")
        pt_match_literal(p, s, literal, len(literal))
    else:
        compiled = compiled_regex(expression)
        compiled.match(p, s)
    return fail_with(p)


cdef object pattern_argument(object pattern):
    """The expression of a Regex; None for a str."""
    if isinstance(pattern, str):
        try:
            pattern.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TypeError(f"a pattern must be a str or a Regex: {error}") from None
        return None
    expression = getattr(pattern, "pattern", None)
    if not isinstance(expression, str):
        raise TypeError(f"a pattern must be a str or a Regex, not {type(pattern).__name__}")
    return expression


cdef dict _compiled = {}


cdef Pattern compiled_regex(str expression):
    cdef Pattern found = _compiled.get(expression)
    if found is None:
        if len(_compiled) >= 64:
            _compiled.clear()
        found = _compiled[expression] = Pattern("Regex", expression)
    return found


cdef str text_of(const PreTokenized *p, const Split *s):
    return (<const char *>p.text)[s.start:s.end].decode("utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# NormalizedString

cdef class NormalizedText:
    """Base of NormalizedString: the methods that change or read one text."""

    cdef int open(self) except -1:
        if self.p == NULL:
            raise Exception("Cannot use a NormalizedStringRefMut outside `normalize`")
        if self.busy:
            raise RuntimeError("Already borrowed: a callback must not use the string that it is called for")
        return 0

    cdef int apply(self, Transformation f) except -1:
        self.open()
        f(self.p, self.s)
        return fail_with(self.p)

    @property
    def normalized(self):
        """The text as it stands."""
        self.open()
        return text_of(self.p, self.s)

    @property
    def original(self):
        """The part of the original text that this one comes from."""
        self.open()
        cdef int64_t start = self.s.ostart, end = self.s.oend
        if start == end:
            return ""
        if self.data is None:
            if end > self.p.size:
                return ""
            return (<const char *>self.p.original)[start:end].decode("utf-8")
        return (<bytes>self.data)[start:end].decode("utf-8")

    def nfd(self):
        """Normalization form D, in place."""
        self.apply(ns_nfd)

    def nfkd(self):
        """Normalization form KD, in place."""
        self.apply(ns_nfkd)

    def nfc(self):
        """Normalization form C, in place."""
        self.apply(ns_nfc)

    def nfkc(self):
        """Normalization form KC, in place."""
        self.apply(ns_nfkc)

    def lowercase(self):
        """Lowercase, in place."""
        self.apply(ns_lowercase)

    def uppercase(self):
        """Uppercase, in place."""
        self.apply(ns_uppercase)

    def clear(self):
        """Remove all of the text; the original stays."""
        self.apply(ns_clear)

    def prepend(self, s):
        """Put a text before this one, unless this one is empty; it is aligned with the first character.

        >>> n = NormalizedString("bc"); n.prepend("a"); n.normalized
        'abc'
        """
        cdef bytes data = str_argument(s, "s").encode("utf-8")
        self.open()
        ns_prepend(self.p, self.s, data, len(data))
        fail_with(self.p)

    def append(self, s):
        """Put a text after this one; it is aligned with the last character."""
        cdef bytes data = str_argument(s, "s").encode("utf-8")
        self.open()
        ns_append(self.p, self.s, data, len(data))
        fail_with(self.p)

    def lstrip(self):
        """Remove the white space at the start."""
        self.open()
        ns_strip(self.p, self.s, 1, 0)
        fail_with(self.p)

    def rstrip(self):
        """Remove the white space at the end."""
        self.open()
        ns_strip(self.p, self.s, 0, 1)
        fail_with(self.p)

    def strip(self):
        """Remove the white space at both ends."""
        self.open()
        ns_strip(self.p, self.s, 1, 1)
        fail_with(self.p)

    cdef list called(self, object func, str signature):
        """What `func` returns for every character."""
        self.open()
        if not callable(func):
            raise TypeError(signature)
        cdef str text = text_of(self.p, self.s)
        self.busy = True
        try:
            return [func(c) for c in text]
        finally:
            self.busy = False

    def filter(self, func):
        """Keep the characters for which `func(character)` is True."""
        cdef str signature = "`filter` expect a callable with the signature: `fn(char) -> bool`"
        cdef list kept = self.called(func, signature)
        cdef int64_t i = self.s.start, end = self.s.end, removed = 0, first = 0, k = 0
        cdef int length, any_kept = 0
        cdef uint32_t cp, last = 0
        for keep in kept:
            if keep is not True and keep is not False:
                raise TypeError(signature)
        self.open()
        self.p.n_changes = 0
        while i < end:
            cp = utf8_decode(self.p.text + i, &length)
            i += length
            if kept[k] is True:
                if any_kept:
                    pt_push_change(self.p, last, -<int>removed)
                else:
                    first = removed
                any_kept = 1
                last = cp
                removed = 0
            else:
                removed += 1
            k += 1
        if any_kept:
            pt_push_change(self.p, last, -<int>removed)
        if not self.p.error:
            ns_transform(self.p, self.s, first)
        fail_with(self.p)

    def for_each(self, func):
        """Call `func(character)` for every character."""
        self.called(func, "`for_each` expect a callable with the signature: `fn(char)`")

    def map(self, func):
        """Replace every character by the one that `func(character)` returns.

        >>> n = NormalizedString("abc"); n.map(str.upper); n.normalized
        'ABC'
        """
        cdef str signature = "`map` expect a callable with the signature: `fn(char) -> char`"
        cdef list mapped = self.called(func, signature)
        cdef str c
        for value in mapped:
            if not isinstance(value, str):
                raise TypeError(signature)
            if not value:
                raise ValueError(signature)
        "".join(mapped).encode("utf-8")     # no lone surrogates
        self.open()
        self.p.n_changes = 0
        for value in mapped:
            c = value
            pt_push_change(self.p, <uint32_t>c[0], 0)
        if not self.p.error:
            ns_transform(self.p, self.s, 0)
        fail_with(self.p)

    def slice(self, range):
        """A part of the text, by characters, as a NormalizedString of its own; None where there is nothing.

        Args:
            range: a number, a pair (start, end) or a slice. Negative numbers count back from the length in *bytes*, as
                they do in the reference.

        >>> NormalizedString("héllo").slice((0, 2)).normalized
        'hé'
        """
        self.open()
        return sliced(self, range)

    def split(self, pattern, behavior):
        """The pieces between (and, as `behavior` says, with) the matches of a pattern.

        Args:
            pattern: a str or a Regex.
            behavior: "removed", "isolated", "merged_with_previous", "merged_with_next" or "contiguous".

        Returns:
            list of NormalizedString, empty pieces included.

        Raises:
            ValueError: an unknown behavior, or an empty str as pattern of a text that the reference panics on.

        >>> [n.normalized for n in NormalizedString("a-b").split("-", "isolated")]
        ['a', '-', 'b']
        """
        cdef int how
        cdef int64_t i, start, end, size
        cdef Split piece
        pattern_argument(pattern)
        how = behavior_argument(behavior)
        self.open()
        find_matches(pattern, self.p, self.s)
        pt_apply_behavior(self.p, how)
        size = self.s.end - self.s.start
        pieces = []
        for i in range(self.p.n_matches):
            start = self.p.matches[i].start
            end = self.p.matches[i].end
            if not (boundary(self.p, self.s, start) and boundary(self.p, self.s, end)):
                raise ValueError("an empty pattern cannot split this text (the reference panics): use a Regex")
            piece = pt_slice(self.p, self.s, start, end)
            pieces.append(string_of(self.p, &piece, self.document()))
        return pieces

    cdef object document(self):
        """The bytes that original spans refer to, for an object that outlives this one."""
        if self.data is None:
            self.data = (<const char *>self.p.original)[:self.p.size]
        return self.data

    def replace(self, pattern, content):
        """Replace the matches of a pattern (a str or a Regex) by a text, in place."""
        cdef bytes data = str_argument(content, "content").encode("utf-8")
        self.open()
        find_matches(pattern, self.p, self.s)
        ns_replace(self.p, self.s, data, len(data))
        fail_with(self.p)

    def _alignments(self):
        """For each byte of the normalized text the span (start, end) of original bytes it comes from."""
        cdef int64_t i
        self.open()
        return [(self.p.align[i].start, self.p.align[i].end) for i in range(self.s.start, self.s.end)]


cdef bint boundary(const PreTokenized *p, const Split *s, int64_t at) noexcept nogil:
    if at < 0 or at > s.end - s.start:
        return False
    return at == s.end - s.start or (p.text[s.start + at] & 0xC0) != 0x80


cdef class NormalizedString(NormalizedText):
    """A text that is changed step by step and still knows which part of the original every character comes from.

    Args:
        sequence: the text.

    >>> n = NormalizedString("Ab"); n.lowercase(); n
    NormalizedString(original="Ab", normalized="ab")
    >>> n[0].original
    'A'
    """

    def __cinit__(self, *args, **kwargs):
        pt_init(&self.own)
        self.p = &self.own
        self.s = &self.own_split

    def __init__(self, sequence):
        cdef bytes data = str_argument(sequence, "sequence").encode("utf-8")
        pt_reset(&self.own, data, len(data))
        fail_with(&self.own)
        self.data = data
        self.own_split = self.own.splits[0]

    def __dealloc__(self):
        pt_free(&self.own)

    def __getitem__(self, range):
        self.open()
        return sliced(self, range)

    def __repr__(self):
        return f'NormalizedString(original="{self.original}", normalized="{self.normalized}")'

    def __str__(self):
        return self.normalized


cdef NormalizedString string_of(const PreTokenized *p, const Split *s, object data):
    """A NormalizedString with a copy of a split."""
    cdef NormalizedString n = NormalizedString.__new__(NormalizedString)
    cdef int64_t size = s.end - s.start
    n.data = data
    n.own.original = <bytes>data
    n.own.size = len(<bytes>data)
    pt_reserve(&n.own, size)
    fail_with(&n.own)
    if size:
        memcpy(n.own.text, p.text + s.start, <size_t>size)
        memcpy(n.own.align, p.align + s.start, <size_t>size * sizeof(Align))
    n.own.used = size
    n.own_split = s[0]
    n.own_split.start = 0
    n.own_split.end = size
    n.own_split.token = -1
    n.own_split.origin = 0
    return n


cdef object sliced(NormalizedText text, object range):
    """Characters of a range, read as the reference reads it: a number, a pair or a slice, in 64-bit arithmetic."""
    cdef int64_t size = text.s.end - text.s.start, i = 0, at = 0, first = -1, last = -1
    cdef uint64_t start, end, take
    cdef const uint8_t *p = text.p.text + text.s.start
    cdef Split piece
    if PySlice_Check(range):
        lower, upper, _ = range.indices(size)
        start, end = lower & 0xFFFFFFFFFFFFFFFF, upper & 0xFFFFFFFFFFFFFFFF
    elif isinstance(range, tuple):
        if len(range) != 2:
            raise TypeError("a range is a number, a pair (start, end) or a slice")
        try:
            start, end = usize_argument(range[0], None), usize_argument(range[1], None)
        except OverflowError as error:
            # Whatever is wrong, none of the three forms fits (bindings/python/src/utils/normalization.rs, PyRange).
            raise TypeError(f"the numbers of a range must be 0 or more and fit into 64 bits: {error}") from None
    else:
        try:
            index = range.__index__()
        except AttributeError:
            raise TypeError("a range is a number, a pair (start, end) or a slice") from None
        if not -(1 << 63) <= index < 1 << 63:
            raise TypeError("the number of a range must fit into 64 bits")
        if index < 0:
            if -index > size:
                raise ValueError(f"{-index} is bigger than max len")
            start = size + index
        else:
            start = index
        end = start + 1
    if start == 0 and end == 0:
        first = last = 0
    else:
        take = 1 if start == end else end - start   # an end before the start wraps round: all that follows
        while i < size and take > 0:
            if <uint64_t>at >= start:
                if first < 0:
                    first = i
                last = i if start == end else i + utf8_len(p[i])
                take -= 1
            at += 1
            i += utf8_len(p[i])
    if first < 0:
        return None
    piece = pt_slice(text.p, text.s, first, last)
    return string_of(text.p, &piece, text.document())


cdef class NormalizedStringRefMut(NormalizedText):
    """A NormalizedString that a component is called with; of no use after the call."""

    def __init__(self):
        raise TypeError("cannot create 'NormalizedStringRefMut' instances")

    cdef void close(self) noexcept:
        self.p = NULL
        self.s = NULL


# ---------------------------------------------------------------------------------------------------------------------
# PreTokenizedString

cdef object wrapped(object error):
    """What the reference makes of an exception in a callback: an Exception with its type and message."""
    made = Exception(f"{type(error).__name__}: {error}")
    made.__cause__ = error
    return made


cdef class PreTokenizedText:
    """Base of PreTokenizedString: a text cut into splits, some of which may have tokens."""

    cdef int open(self) except -1:
        if self.p == NULL:
            raise Exception("Cannot use a PreTokenizedStringRefMut outside `pre_tokenize`")
        if self.busy:
            raise RuntimeError("Already borrowed: a callback must not use the string that it is called for")
        return 0

    cdef object origin(self, int64_t k):
        if self.origins is None:
            self.origins = [(<const char *>self.p.original)[:self.p.size]]
        return self.origins[k] if k < len(self.origins) else self.origins[0]

    cdef list tokens_of(self, const Split *s):
        """The tokens of a split that has some."""
        if self.tokens is not None:
            return self.tokens[s.token]
        return [token_type(s.token, text_of(self.p, s), (0, s.end - s.start))]

    def _held_bytes(self):
        """Memory that the document holds."""
        self.open()
        return (
            (self.p.capacity + self.p.spare_capacity) * (1 + sizeof(Align))
            + (self.p.split_capacity + self.p.fresh_capacity) * sizeof(Split)
        )

    def split(self, func):
        """Split every split that has no tokens.

        Args:
            func: called with (index of the split, NormalizedString); returns a list of NormalizedString, made by `split`
                or `slice` of the one it got. Empty ones are dropped.
        """
        cdef int64_t i
        cdef Split piece
        cdef NormalizedString n
        self.open()
        if not callable(func):
            raise TypeError(
                "`split` expect a callable with the signature: "
                "`fn(index: int, normalized: NormalizedString) -> List[NormalizedString]`"
            )
        made = []
        self.busy = True
        try:
            for i in range(self.p.n_splits):
                if self.p.splits[i].token >= 0:
                    made.append(None)
                    continue
                n = string_of(self.p, &self.p.splits[i], self.origin(self.p.splits[i].origin))
                pieces = func(i, n)
                if isinstance(pieces, str) or not hasattr(type(pieces), "__getitem__"):
                    raise TypeError(f"'{type(pieces).__name__}' object cannot be converted to 'Sequence'")
                pieces = list(pieces)
                for piece_object in pieces:
                    if type(piece_object) is not NormalizedString:
                        raise TypeError(f"'{type(piece_object).__name__}' object cannot be converted to 'NormalizedString'")
                    (<NormalizedString>piece_object).open()
                made.append(pieces)
        except Exception as error:
            raise wrapped(error) from error
        finally:
            self.busy = False
        pt_begin_splits(self.p)
        for i in range(self.p.n_splits):
            pieces = made[i]
            if pieces is None:
                pt_push_split(self.p, &self.p.splits[i])
                continue
            for piece_object in pieces:
                n = piece_object
                piece = n.own_split
                self.adopt(n, &piece)
                pt_push_split(self.p, &piece)
        pt_end_splits(self.p)
        fail_with(self.p)

    cdef int adopt(self, NormalizedString n, Split *piece) except -1:
        """Copy a string's text into the arena."""
        cdef int64_t size = n.own_split.end - n.own_split.start, k
        self.origin(0)
        for k in range(len(self.origins)):
            if self.origins[k] is n.data:
                break
        else:
            k = len(self.origins)
            self.origins.append(n.data)
        piece.origin = k
        piece.token = -1
        pt_reserve(self.p, size)
        fail_with(self.p)
        if size:
            memcpy(self.p.text + self.p.used, n.own.text + n.own_split.start, <size_t>size)
            memcpy(self.p.align + self.p.used, n.own.align + n.own_split.start, <size_t>size * sizeof(Align))
        piece.start = self.p.used
        piece.end = self.p.used + size
        self.p.used += size
        return 0

    def normalize(self, func):
        """Call `func(normalized)` for every split that has no tokens; it changes the string that it gets in place."""
        cdef int64_t i
        cdef PreTokenized saved, swap
        self.open()
        if not callable(func):
            raise TypeError("`normalize` expect a callable with the signature: `fn(normalized: NormalizedString)`")
        pt_init(&saved)
        try:
            pt_copy(&saved, self.p)
            pt_check(saved.error)
            self.busy = True
            try:
                for i in range(self.p.n_splits):
                    if self.p.splits[i].token < 0:
                        call_with_reference(func, self.p, &self.p.splits[i], self.origin(self.p.splits[i].origin))
            except Exception as error:
                saved.stack, self.p.stack = self.p.stack, saved.stack
                saved.stack_capacity, self.p.stack_capacity = self.p.stack_capacity, saved.stack_capacity
                swap = self.p[0]
                self.p[0] = saved
                saved = swap
                raise wrapped(error) from error
            finally:
                self.busy = False
        finally:
            pt_free(&saved)

    def tokenize(self, func):
        """Give tokens to every split that has none: `func(text)` returns its list of Token, with offsets in bytes."""
        cdef int64_t i
        self.open()
        if not callable(func):
            raise TypeError("`tokenize` expect a callable with the signature: `fn(str) -> List[Token]`")
        if self.tokens is None:
            raise ValueError("a custom pre-tokenizer cannot tokenize: leave that to the model")
        made = {}
        self.busy = True
        try:
            for i in range(self.p.n_splits):
                if self.p.splits[i].token < 0:
                    tokens = func(text_of(self.p, &self.p.splits[i]))
                    if not isinstance(tokens, list):
                        raise TypeError(f"'{type(tokens).__name__}' object cannot be converted to 'PyList'")
                    for token in tokens:
                        if not (hasattr(token, "id") and hasattr(token, "value") and hasattr(token, "offsets")):
                            raise TypeError(f"'{type(token).__name__}' object cannot be converted to 'Token'")
                    made[i] = list(tokens)
        except Exception as error:
            raise wrapped(error) from error
        finally:
            self.busy = False
        for at, tokens in made.items():
            self.p.splits[<int64_t>at].token = len(self.tokens)
            self.tokens.append(tokens)

    def to_encoding(self, type_id=0, word_idx=None):
        """The Encoding of the tokens, with offsets in characters of the original text.

        Args:
            type_id: the type id of all tokens.
            word_idx: the word id of all tokens; None: each split is a word.

        Raises:
            Exception: a split has no tokens.
        """
        cdef uint32_t type_number = u32_argument(type_id, "type_id")
        cdef int64_t word = -1, i, a, b
        cdef Py_ssize_t n = 0, at = 0
        cdef CharCursor cursor
        cdef uint32_t *ids
        cdef uint64_t *spans
        cdef int64_t *words
        cdef list values = [], tokens
        if word_idx is not None:
            word = u32_argument(word_idx, "word_idx")
        self.open()
        of_split = []
        for i in range(self.p.n_splits):
            if self.p.splits[i].token < 0:
                raise Exception("Split has not been tokenized, call `PreTokenizedString::tokenize` first")
            tokens = self.tokens_of(&self.p.splits[i])
            of_split.append(tokens)
            n += len(tokens)
        ids = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
        spans = <uint64_t *>malloc(<size_t>(n + 1) * 2 * sizeof(uint64_t))
        words = <int64_t *>malloc(<size_t>(n + 1) * sizeof(int64_t))
        try:
            if ids == NULL or spans == NULL or words == NULL:
                raise MemoryError("out of memory while making an encoding")
            cursor.byte = cursor.chars = 0
            for i in range(self.p.n_splits):
                for token in of_split[i]:
                    ids[at] = token.id
                    values.append(token.value)
                    start, end = token.offsets
                    ns_original_span(self.p, &self.p.splits[i], start, end, &a, &b)
                    char_span(self.p, &cursor, &a, &b)
                    spans[2 * at] = <uint64_t>a
                    spans[2 * at + 1] = <uint64_t>b
                    words[at] = i if word < 0 else word
                    at += 1
            return encoding_from_arrays(n, ids, NULL, type_number, NULL, 0, NULL, 1, spans, words, values)
        finally:
            free(ids)
            free(spans)
            free(words)

    def get_splits(self, offset_referential="original", offset_type="char"):
        """The splits: a list of (text, (start, end), tokens or None).

        Args:
            offset_referential: "original", or "normalized": offsets in the concatenated texts of the splits.
            offset_type: "char" or "byte".

        >>> PreTokenizedString("é b").get_splits(offset_type="byte")
        [('é b', (0, 4), None)]
        """
        cdef str referential = str_argument(offset_referential, "offset_referential")
        cdef str kind
        cdef int64_t i, a, b, offset = 0
        cdef CharCursor cursor
        if referential not in ("original", "normalized"):
            raise ValueError("Wrong value for OffsetReferential, expected one of `original, normalized`")
        kind = str_argument(offset_type, "offset_type")
        if kind not in ("byte", "char"):
            raise ValueError("Wrong value for OffsetType, expected one of `byte, char`")
        self.open()
        cursor.byte = cursor.chars = 0
        result = []
        for i in range(self.p.n_splits):
            if referential == "original":
                a = self.p.splits[i].ostart
                b = self.p.splits[i].oend
            else:
                a = offset
                offset += self.p.splits[i].end - self.p.splits[i].start
                b = offset
            if kind == "char":
                # Normalized offsets are converted by the original text as well, as the reference does.
                char_span(self.p, &cursor, &a, &b)
            tokens = list(self.tokens_of(&self.p.splits[i])) if self.p.splits[i].token >= 0 else None
            result.append((text_of(self.p, &self.p.splits[i]), (a, b), tokens))
        return result


cdef class PreTokenizedString(PreTokenizedText):
    """A text cut into splits, each of which can be normalized and given tokens.

    Args:
        s: the text.

    >>> p = PreTokenizedString("a b"); p.split(lambda i, n: n.split(" ", "removed")); p.get_splits()
    [('a', (0, 1), None), ('b', (2, 3), None)]
    """

    def __cinit__(self, *args, **kwargs):
        pt_init(&self.own)
        self.p = &self.own

    def __init__(self, s):
        cdef bytes data = str_argument(s, "s").encode("utf-8")
        pt_reset(&self.own, data, len(data))
        fail_with(&self.own)
        self.origins = [data]
        self.tokens = []

    def __dealloc__(self):
        pt_free(&self.own)


cdef class PreTokenizedStringRefMut(PreTokenizedText):
    """A PreTokenizedString that a component is called with; of no use after the call."""

    def __init__(self):
        raise TypeError("cannot create 'PreTokenizedStringRefMut' instances")

    cdef void close(self) noexcept:
        self.p = NULL


# ---------------------------------------------------------------------------------------------------------------------
# Offsets, components

cdef int64_t char_index(const uint8_t *text, CharCursor *c, int64_t at) noexcept nogil:
    """Number of the character that holds byte `at`."""
    while c.byte <= at:
        c.chars += (text[c.byte] & 0xC0) != 0x80
        c.byte += 1
    while c.byte > at + 1:
        c.byte -= 1
        c.chars -= (text[c.byte] & 0xC0) != 0x80
    return c.chars - 1


cdef void char_span(const PreTokenized *p, CharCursor *c, int64_t *start, int64_t *end) noexcept nogil:
    """A span that begins outside the text stays as it is; one that ends outside ends after its last byte's character, or
    two after its start where that byte is outside, too."""
    cdef int64_t first
    if start[0] < 0 or start[0] >= p.size:
        return
    first = char_index(p.original, c, start[0])
    if 0 <= end[0] < p.size:
        end[0] = char_index(p.original, c, end[0])
    elif 0 <= end[0] - 1 < p.size:
        end[0] = char_index(p.original, c, end[0] - 1) + 1
    else:
        end[0] = first + 2
    start[0] = first


cdef int call_with_reference(object func, PreTokenized *p, Split *s, object data) except -1:
    cdef NormalizedStringRefMut reference = NormalizedStringRefMut.__new__(NormalizedStringRefMut)
    reference.p = p
    reference.s = s
    reference.data = data
    try:
        func(reference)
    finally:
        reference.close()
    return 0


cdef int call_normalizer(object component, PreTokenized *p, Split *s) except -1:
    try:
        call_with_reference(component.normalize, p, s, None)
    except Exception as error:
        raise wrapped(error) from error
    return 0


cdef int call_pre_tokenizer(object component, PreTokenized *p) except -1:
    cdef PreTokenizedStringRefMut reference = PreTokenizedStringRefMut.__new__(PreTokenizedStringRefMut)
    reference.p = p
    try:
        component.pre_tokenize(reference)
    except Exception as error:
        raise wrapped(error) from error
    finally:
        reference.close()
    return 0
