# JSON as the reference reads it.
#
# The reference goes through serde_json, which is not "any JSON library": numbers are folded digit by digit into 64
# bits and scaled by a power of ten once (so many decimals land one unit in the last place beside the correctly
# rounded value, and the scores of a Unigram model are such decimals), `-0` and integers beyond 64 bits are floats,
# nesting stops at 127, lone surrogates are refused, a repeated key is an error for some readers and "the last one
# wins" for others. `loads` follows these rules and gives the same messages at the same places (serde_json 1.0.151:
# src/de.rs, src/read.rs). Left to others: what the values mean (hftok.serialization and the component modules), the
# look-up of merges (merge_ids).
import numpy as np

from cpython.dict cimport PyDict_SetItem
from cpython.list cimport PyList_Append
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isinf
from libc.stdint cimport INT32_MAX, UINT32_MAX, UINT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy

from hftok._core.json_text cimport NO_ESCAPE, escaped, hex4, is_ascii, plain_end
from hftok._core.merge_ids cimport RawMerge, VocabEntry, last_of_each_pair, resolve_texts
from hftok._core.model_tables cimport merges_of_texts, read_pieces, read_vocab
from hftok._core.models.vocab_map cimport VocabMap
from hftok._core.text cimport utf8_encode

from hftok._core.merge_ids import MergeIds

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    void *PyUnicode_DATA(object text)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    unsigned long long PyLong_AsUnsignedLongLongMask(object value) except? <unsigned long long>-1
    void PyObject_GC_UnTrack(PyObject *op) noexcept
    int PyGC_Enable() noexcept
    int PyGC_Disable() noexcept

cdef enum:
    MAX_DEPTH = 127            # serde_json: 128 remaining levels, the last one is the error

cdef double[309] POW10
cdef int _i
for _i in range(309):
    POW10[_i] = float(f"1e{_i}")


# The kinds of models whose vocabulary is small, and read as a dict.
_AS_OBJECTS = frozenset(("WordLevel",))


class JsonSyntaxError(Exception):
    """The text is not JSON; the message says what was met where (line, byte column), in serde_json's words."""


class RepeatedKeys(dict):
    """An object in which a key came twice. The dict holds the last values, `repeated` the keys; of the outermost object
    `overwritten` has the earlier (key, value) pairs."""

    repeated = frozenset()
    overwritten = ()


cdef class Reader:
    """One pass over one text. Not reentrant; made and dropped by `loads`."""
    cdef const uint8_t *data
    cdef int64_t size
    cdef int64_t pos
    cdef int depth
    cdef uint8_t *scratch
    cdef int64_t scratch_size
    cdef int64_t scratch_capacity
    cdef object fields         # keys of the outermost object; None: any
    cdef bint tables           # the big tables of the object under "model" are not to be Python objects
    cdef bint in_model         # that is the one that is read
    # the vocabulary and the merges of the object that was read last
    cdef VocabEntry *entries
    cdef int64_t entry_count
    cdef int64_t entry_capacity
    cdef RawMerge *raw
    cdef int64_t raw_count
    cdef int64_t raw_capacity

    def __cinit__(self):
        self.scratch = NULL
        self.scratch_capacity = self.scratch_size = 0
        self.pos = self.depth = 0
        self.entries = NULL
        self.entry_count = self.entry_capacity = 0
        self.raw = NULL
        self.raw_count = self.raw_capacity = 0

    def __dealloc__(self):
        free(self.scratch)
        free(self.entries)
        free(self.raw)

    # ---- errors ----------------------------------------------------------------------------------------------------

    cdef object error_at(self, str what, int64_t index):
        cdef int64_t i, line = 1, line_start = 0
        for i in range(index):
            if self.data[i] == c"\n":
                line += 1
                line_start = i + 1
        return JsonSyntaxError(f"{what} at line {line} column {index - line_start}")

    cdef object error(self, str what):
        return self.error_at(what, self.pos)

    cdef object peek_error(self, str what):
        return self.error_at(what, min(self.size, self.pos + 1))

    # ---- scanning --------------------------------------------------------------------------------------------------

    cdef inline int skip_blank(self) noexcept:
        """The next byte that is not blank, not consumed; -1 at the end."""
        cdef const uint8_t *p = self.data + self.pos
        cdef const uint8_t *end = self.data + self.size
        cdef uint64_t w
        while p < end and (p[0] == c" " or p[0] == c"\n" or p[0] == c"\t" or p[0] == c"\r"):
            p += 1
            while end - p >= 8:
                memcpy(&w, p, 8)
                if w != 0x2020202020202020ULL:
                    break
                p += 8
        self.pos = p - self.data
        return p[0] if p < end else -1

    cdef inline int peek(self) noexcept:
        return self.data[self.pos] if self.pos < self.size else 0

    cdef int word(self, const char *rest) except -1:
        self.pos += 1
        while rest[0] != 0:
            if self.pos >= self.size:
                raise self.error("EOF while parsing a value")
            self.pos += 1
            if self.data[self.pos - 1] != <uint8_t>rest[0]:
                raise self.error("expected ident")
            rest += 1
        return 0

    cdef object value(self):
        cdef int c = self.skip_blank()
        if c == c'"':
            self.pos += 1
            return self.string()
        if c == c"[":
            return self.read_array()
        if c == c"{":
            return self.read_object()
        if c == c"-":
            self.pos += 1
            return self.number(False)
        if c"0" <= c <= c"9":
            return self.number(True)
        if c == c"n":
            self.word(b"ull")
            return None
        if c == c"t":
            self.word(b"rue")
            return True
        if c == c"f":
            self.word(b"alse")
            return False
        if c == -1:
            raise self.peek_error("EOF while parsing a value")
        raise self.peek_error("expected value")

    cdef int enter(self) except -1:
        if self.depth >= MAX_DEPTH:
            raise self.peek_error("recursion limit exceeded")
        self.depth += 1
        self.pos += 1
        return 0

    cdef bint next_element(self, bint first) except -1:
        """Stands on an element, or consumed the closing bracket (False)."""
        cdef int c = self.skip_blank()
        if c == -1:
            raise self.peek_error("EOF while parsing a list")
        if c == c"]":
            self.pos += 1
            return False
        if first:
            return True
        if c != c",":
            raise self.peek_error("expected `,` or `]`")
        self.pos += 1
        c = self.skip_blank()
        if c == c"]":
            raise self.peek_error("trailing comma")
        if c == -1:
            raise self.peek_error("EOF while parsing a value")
        return True

    cdef list read_array(self):
        cdef list result = []
        cdef bint first = True
        self.enter()
        while self.next_element(first):
            first = False
            PyList_Append(result, self.value())
        self.depth -= 1
        return result

    cdef bint next_key(self, bint first) except -1:
        cdef int c = self.skip_blank()
        if c == -1:
            raise self.peek_error("EOF while parsing an object")
        if c == c"}":
            self.pos += 1
            return False
        if first:
            if c != c'"':
                raise self.peek_error("key must be a string")
            return True
        if c != c",":
            raise self.peek_error("expected `,` or `}`")
        self.pos += 1
        c = self.skip_blank()
        if c == c'"':
            return True
        if c == c"}":
            raise self.peek_error("trailing comma")
        if c == -1:
            raise self.peek_error("EOF while parsing a value")
        raise self.peek_error("key must be a string")

    cdef object read_object(self):
        cdef dict result = {}
        cdef set repeated = None
        cdef list overwritten = []
        cdef bint first = True
        cdef int c
        cdef int64_t merges_at = -1, vocab_entries = -1, raw_merges = -1
        self.enter()
        while self.next_key(first):
            first = False
            self.pos += 1
            key = self.string()
            c = self.skip_blank()
            if self.depth == 1 and self.fields is not None and key not in self.fields:
                # The reference's reader of a tokenizer passes over a key that it does not know without its value
                # (tokenizer/serialization.rs): such a key may stand alone, and may not have one.
                if c == c":":
                    raise self.peek_error(f"unknown field `{key}`, expected one of " + ", ".join(self.fields))
                continue
            if c != c":":
                raise self.peek_error("EOF while parsing an object" if c == -1 else "expected `:`")
            self.pos += 1
            if self.depth == 1:
                self.in_model = self.tables and key == "model"
            if key == "merges":
                self.skip_blank()
                merges_at = self.pos
                raw_merges = self.raw_merges()
                value = None if raw_merges > 0 else self.value()
            elif key == "vocab":
                vocab_entries = -1
                c = self.skip_blank()
                value = None
                if self.in_model and self.depth == 2 and not self.has_small_vocab(result.get("type")):
                    if c == c"{":
                        value = read_vocab(self.data, self.size, &self.pos)
                    elif c == c"[":
                        value = read_pieces(self.data, self.size, &self.pos)
                if value is None:
                    value = self.vocab(&vocab_entries) if c == c"{" else self.pieces()
            else:
                value = self.value()
            if key in result:
                if repeated is None:
                    repeated = set()
                repeated.add(key)
                if self.depth == 1:
                    overwritten.append((key, result[key]))
            PyDict_SetItem(result, key, value)
        self.depth -= 1
        if raw_merges > 0:
            result["merges"] = self.merges(result, merges_at, vocab_entries, raw_merges)
        if repeated is not None:
            marked = RepeatedKeys(result)
            marked.repeated = frozenset(repeated)
            marked.overwritten = tuple(overwritten)
            return marked
        return result

    cdef bint has_small_vocab(self, object kind):
        return type(kind) is str and kind in _AS_OBJECTS

    # ---- the big tables of a tokenizer: no object per entry where the general form would make a list -----------------

    cdef inline bint literal(self, uint8_t c) noexcept:
        if self.skip_blank() != c:
            return False
        self.pos += 1
        return True

    cdef object vocab(self, int64_t *count):
        """The object of "vocab". Where it maps distinct texts to ids, `count` tells how many, and `entries` has them."""
        cdef dict result = {}
        cdef set repeated = None
        cdef bint first = True, ids = self.size <= UINT32_MAX
        cdef Py_ssize_t before
        cdef int64_t start, size, n = 0
        cdef int c
        cdef uint64_t id_
        cdef VocabEntry *grown
        self.enter()
        self.entry_count = 0
        while self.next_key(first):
            first = False
            self.pos += 1
            start = self.pos
            key = self.string()
            size = self.pos - 1 - start
            c = self.skip_blank()
            if c != c":":
                raise self.peek_error("EOF while parsing an object" if c == -1 else "expected `:`")
            self.pos += 1
            value = self.value()
            before = len(result)
            PyDict_SetItem(result, key, value)
            if len(result) == before:
                if repeated is None:
                    repeated = set()
                repeated.add(key)
            if ids:
                if not PyLong_CheckExact(value) or size > 0xFFFF:
                    ids = False
                    continue
                id_ = <uint64_t>PyLong_AsUnsignedLongLongMask(value)
                if id_ > UINT32_MAX:
                    ids = False
                    continue
                if n == self.entry_capacity:
                    self.entry_capacity = 2 * n + 1024
                    grown = <VocabEntry *>realloc(self.entries, <size_t>self.entry_capacity * sizeof(VocabEntry))
                    if grown == NULL:
                        raise MemoryError("out of memory while reading JSON")
                    self.entries = grown
                self.entries[n].start = <uint32_t>start
                self.entries[n].size = <uint32_t>size
                self.entries[n].id = <uint32_t>id_
                n += 1
        self.depth -= 1
        self.entry_count = n
        count[0] = n if ids and repeated is None else -1
        if repeated is not None:
            marked = RepeatedKeys(result)
            marked.repeated = frozenset(repeated)
            return marked
        return result

    cdef inline bint raw_string(self, uint32_t *start, uint32_t *size, bint *hidden) noexcept:
        """After the opening quotation mark: where the source text lies. Its escapes and UTF-8 are not checked;
        `hidden` is set where an escape may stand for an ASCII character."""
        cdef const uint8_t *p = self.data + self.pos
        cdef const uint8_t *end = self.data + self.size
        while p < end and p[0] != c'"':
            if p[0] < 0x20:
                return False
            if p[0] == c"\\":
                if end - p < 2:
                    return False
                if end - p > 3 and p[1] == c"u" and p[2] == c"0" and p[3] == c"0":
                    hidden[0] = True
                p += 1
            p += 1
        if p >= end:
            return False
        start[0] = <uint32_t>self.pos
        size[0] = <uint32_t>(p - self.data - self.pos)
        self.pos = p + 1 - self.data
        return True

    cdef int64_t raw_merges(self) except -2:
        """The value of "merges" as source texts: an array of arrays of two strings, or of strings with one blank.
        Returns how many there are; -1, and nothing is consumed, for any other form (and for none: the form is open)."""
        cdef int64_t begin = self.pos, n = 0
        cdef RawMerge merge
        cdef RawMerge *grown
        cdef bint hidden, in_pairs
        cdef const uint8_t *blank
        if self.depth + 2 > MAX_DEPTH or self.size > UINT32_MAX or not self.literal(c"["):
            self.pos = begin
            return -1
        in_pairs = self.skip_blank() == c"["
        while True:
            hidden = False
            if in_pairs:
                if not (
                    self.literal(c"[") and self.literal(c'"')
                    and self.raw_string(&merge.left, &merge.left_size, &hidden) and self.literal(c",")
                    and self.literal(c'"')
                    and self.raw_string(&merge.right, &merge.right_size, &hidden) and self.literal(c"]")
                ):
                    break
            else:
                if not (self.literal(c'"') and self.raw_string(&merge.left, &merge.left_size, &hidden)):
                    break
                # A line that starts with "#version" is dropped by the reference (models/bpe/model.rs); not here.
                if hidden or (merge.left_size >= 8 and memcmp(self.data + merge.left, b"#version", 8) == 0):
                    break
                blank = <const uint8_t *>memchr(self.data + merge.left, c" ", merge.left_size)
                if blank == NULL:
                    break
                merge.right = <uint32_t>(blank + 1 - self.data)
                merge.right_size = merge.left + merge.left_size - merge.right
                merge.left_size = <uint32_t>(blank - self.data) - merge.left
                if memchr(blank + 1, c" ", merge.right_size) != NULL:
                    break
            if n == self.raw_capacity:
                self.raw_capacity = 2 * n + 1024
                grown = <RawMerge *>realloc(self.raw, <size_t>self.raw_capacity * sizeof(RawMerge))
                if grown == NULL:
                    raise MemoryError("out of memory while reading JSON")
                self.raw = grown
            self.raw[n] = merge
            n += 1
            if self.literal(c","):
                continue
            if self.literal(c"]"):
                return n
            break
        self.pos = begin
        return -1

    cdef object merges(self, dict model, int64_t begin, int64_t vocab_entries, int64_t raw_merges):
        """`MergeIds` where each part and each whole of the merges is a token by its source text, else the value. A MergeTable
        where the vocabulary is a VocabMap."""
        cdef int64_t end = self.pos
        cdef int depth = self.depth
        rows = None
        vocab = model.get("vocab")
        if type(vocab) is VocabMap and not model.get("continuing_subword_prefix"):
            table = merges_of_texts(vocab, self.data, self.raw, raw_merges)
            if table is not None:
                return table
        if vocab_entries > 0 and not model.get("continuing_subword_prefix"):
            rows = np.empty((raw_merges, 3), dtype=np.uint32)
            if resolve_texts(self.data, self.entries, vocab_entries, self.raw, raw_merges, rows):
                return MergeIds(last_of_each_pair(rows, rows), model["vocab"])
        self.pos = begin
        self.depth = depth + 1
        value = self.value()
        self.pos = end
        self.depth = depth
        return value

    cdef object pieces(self):
        """The value of "vocab": a list of (str, float) where it is an array of such arrays, else what `value` gives."""
        cdef int64_t begin = self.pos
        cdef list result = []
        cdef int c
        if self.depth + 2 <= MAX_DEPTH and self.literal(c"[") and self.skip_blank() != c"]":
            while True:
                if not (self.literal(c"[") and self.literal(c'"')):
                    break
                text = self.string()
                if not self.literal(c","):
                    break
                c = self.skip_blank()
                if not (c == c"-" or c"0" <= c <= c"9"):
                    break
                if c == c"-":
                    self.pos += 1
                score = self.number(c != c"-")
                if not self.literal(c"]"):
                    break
                piece = (text, score if type(score) is float else float(score))
                # No cycle can go through text and number; the collector would find that out at its first pass.
                PyObject_GC_UnTrack(<PyObject *>piece)
                PyList_Append(result, piece)
                if self.literal(c","):
                    continue
                if self.literal(c"]"):
                    return result
                break
        self.pos = begin
        return self.value()

    # ---- strings ---------------------------------------------------------------------------------------------------

    cdef str string(self):
        """After the opening quotation mark."""
        cdef const uint8_t *p = self.data + self.pos
        cdef const uint8_t *end = self.data + self.size
        cdef const uint8_t *begin = p
        cdef uint64_t high = 0
        p = plain_end(p, end, &high)
        if p < end and p[0] == c'"':
            self.pos = p + 1 - self.data
            return self.text(begin, p - begin, is_ascii(high))
        return self.string_with_escapes(begin, p)

    cdef str string_with_escapes(self, const uint8_t *begin, const uint8_t *p):
        cdef const uint8_t *end = self.data + self.size
        cdef const uint8_t *start = begin
        self.scratch_size = 0
        while True:
            while p < end and p[0] != c'"' and p[0] != c"\\" and p[0] >= 0x20:
                p += 1
            self.pos = p - self.data
            if p == end:
                raise self.error("EOF while parsing a string")
            self.keep(start, p - start)
            self.pos += 1
            if p[0] == c'"':
                return self.text(self.scratch, self.scratch_size, False)
            if p[0] != c"\\":
                raise self.error("control character (\\u0000-\\u001F) found while parsing a string")
            self.escape()
            p = start = self.data + self.pos

    cdef int keep(self, const uint8_t *bytes_, int64_t size) except -1:
        cdef int64_t capacity
        cdef uint8_t *grown
        if self.scratch_size + size > self.scratch_capacity:
            capacity = 2 * (self.scratch_size + size) + 64
            grown = <uint8_t *>realloc(self.scratch, <size_t>capacity)
            if grown == NULL:
                raise MemoryError("out of memory while reading JSON")
            self.scratch = grown
            self.scratch_capacity = capacity
        if size:
            memcpy(self.scratch + self.scratch_size, bytes_, <size_t>size)
        self.scratch_size += size
        return 0

    cdef int keep_code_point(self, uint32_t c) except -1:
        cdef uint8_t[4] u
        return self.keep(u, utf8_encode(c, u))

    cdef int hex4(self) except -1:
        cdef int n
        if self.size - self.pos < 4:
            self.pos = self.size
            raise self.error("EOF while parsing a string")
        n = hex4(self.data + self.pos)
        self.pos += 4
        if n < 0:
            raise self.error("invalid escape")
        return n

    cdef int escape(self) except -1:
        cdef uint8_t c
        cdef int n, low
        if self.pos >= self.size:
            raise self.error("EOF while parsing a string")
        c = self.data[self.pos]
        self.pos += 1
        if c == c"u":
            n = self.hex4()
            if 0xDC00 <= n <= 0xDFFF:
                raise self.error("lone leading surrogate in hex escape")
            if 0xD800 <= n <= 0xDBFF:
                for c in b"\\u":
                    if self.pos >= self.size:
                        raise self.error("EOF while parsing a string")
                    self.pos += 1
                    if self.data[self.pos - 1] != c:
                        raise self.error("unexpected end of hex escape")
                low = self.hex4()
                if not 0xDC00 <= low <= 0xDFFF:
                    raise self.error("lone leading surrogate in hex escape")
                n = 0x10000 + ((n - 0xD800) << 10) + (low - 0xDC00)
            return self.keep_code_point(<uint32_t>n)
        c = escaped(c)
        if c == NO_ESCAPE:
            raise self.error("invalid escape")
        return self.keep(&c, 1)

    cdef str text(self, const uint8_t *bytes_, int64_t size, bint ascii):
        cdef str result
        if size == 0:
            return ""
        if ascii and size > 1:
            result = PyUnicode_New(size, 127)
            memcpy(PyUnicode_DATA(result), bytes_, <size_t>size)
            return result
        try:
            return PyUnicode_DecodeUTF8(<const char *>bytes_, size, NULL)
        except UnicodeDecodeError:
            raise self.error("invalid unicode code point") from None

    # ---- numbers ---------------------------------------------------------------------------------------------------

    cdef object number(self, bint positive):
        """After the sign. int within [-2^63, 2^64), else float; `-0` is a float."""
        cdef uint64_t n = 0
        cdef int digit
        cdef int32_t exponent = 0
        if self.pos >= self.size:
            raise self.error("EOF while parsing a value")
        self.pos += 1
        digit = <int>self.data[self.pos - 1] - c"0"
        if digit == 0:
            if c"0" <= self.peek() <= c"9":
                raise self.peek_error("invalid number")
        elif 1 <= digit <= 9:
            n = <uint64_t>digit
            while c"0" <= self.peek() <= c"9":
                digit = self.peek() - c"0"
                if n > (UINT64_MAX - <uint64_t>digit) // 10:
                    # beyond 64 bits: the digits that are left only move the exponent
                    while c"0" <= self.peek() <= c"9":
                        self.pos += 1
                        if exponent < INT32_MAX:
                            exponent += 1
                    if self.peek() == c".":
                        return self.decimals(positive, n, exponent)
                    if self.peek() | 0x20 == c"e":
                        return self.exponent(positive, n, exponent)
                    return self.scaled(positive, n, exponent)
                n = n * 10 + <uint64_t>digit
                self.pos += 1
        else:
            raise self.error("invalid number")
        if self.peek() == c".":
            return self.decimals(positive, n, 0)
        if self.peek() | 0x20 == c"e":
            return self.exponent(positive, n, 0)
        if positive:
            return n
        if n == 0 or n > <uint64_t>1 << 63:
            return -<double>n
        if n == <uint64_t>1 << 63:
            return -(1 << 63)
        return -<int64_t>n

    cdef object decimals(self, bint positive, uint64_t n, int32_t exponent):
        cdef int32_t places = 0
        cdef int digit
        self.pos += 1
        while c"0" <= self.peek() <= c"9":
            digit = self.peek() - c"0"
            if n > (UINT64_MAX - <uint64_t>digit) // 10:
                # serde_json ignores the digits that do not fit, it does not round
                while c"0" <= self.peek() <= c"9":
                    self.pos += 1
                break
            n = n * 10 + <uint64_t>digit
            self.pos += 1
            places += 1
        else:
            if places == 0:
                raise self.peek_error("invalid number" if self.pos < self.size else "EOF while parsing a value")
        if self.peek() | 0x20 == c"e":
            return self.exponent(positive, n, exponent - places)
        return self.scaled(positive, n, exponent - places)

    cdef object exponent(self, bint positive, uint64_t n, int32_t start):
        cdef bint up = True
        cdef int64_t e
        cdef int digit
        self.pos += 1
        if self.peek() == c"+" or self.peek() == c"-":
            up = self.peek() == c"+"
            self.pos += 1
        if self.pos >= self.size:
            raise self.error("EOF while parsing a value")
        self.pos += 1
        e = <int64_t>self.data[self.pos - 1] - c"0"
        if not 0 <= e <= 9:
            raise self.error("invalid number")
        while c"0" <= self.peek() <= c"9":
            digit = self.peek() - c"0"
            self.pos += 1
            e = e * 10 + digit
            if e > INT32_MAX:
                if n != 0 and up:
                    raise self.error("number out of range")
                while c"0" <= self.peek() <= c"9":
                    self.pos += 1
                return 0.0 if positive else -0.0
        e = start + e if up else start - e
        return self.scaled(positive, n, <int32_t>max(min(e, INT32_MAX), -INT32_MAX))

    cdef object scaled(self, bint positive, uint64_t n, int32_t exponent):
        """n * 10^exponent as serde_json computes it: one rounding of n, one of the product or quotient."""
        cdef double f = <double>n
        while True:
            if -308 <= exponent <= 308:
                if exponent >= 0:
                    f *= POW10[exponent]
                    if isinf(f):
                        raise self.error("number out of range")
                else:
                    f /= POW10[-exponent]
                break
            if f == 0.0:
                break
            if exponent >= 0:
                raise self.error("number out of range")
            f /= 1e308
            exponent += 308
        return f if positive else -f


def loads(data, fields=None, tables=False):
    """Reads one JSON text.

    Args:
        data: `str`, or `bytes` of UTF-8 (checked inside strings, where alone it can matter).
        fields: the keys that the outermost object may have; None: any.
        tables: under the key "model", make a VocabMap, a PieceList and a MergeTable (see model_tables) of "vocab" and
            "merges" where they have the usual form.

    Returns:
        dict, list, str, int (within 64 bits), float, bool or None. An object with a repeated key is a `RepeatedKeys`.
        The value of a key "merges" that is an array of pairs of tokens of the object's "vocab" (`["a", "b"]` or `"a b"`)
        is `MergeIds`; the value of a key "vocab" that is an array of `[string, number]` is a list of `(str, float)`
        tuples.

    Raises:
        JsonSyntaxError: the text is not JSON, nests deeper than 127, or holds a number beyond the range of a double.
        UnicodeEncodeError: a `str` with a lone surrogate.

    >>> loads('{"a": [1, -2.5, null, true]}')
    {'a': [1, -2.5, None, True]}
    """
    cdef Reader reader = Reader()
    cdef Py_ssize_t size
    cdef const char *start
    cdef bytes raw
    cdef bint collecting
    if isinstance(data, str):
        start = PyUnicode_AsUTF8AndSize(data, &size)
    else:
        raw = data
        start = raw
        size = len(raw)
    reader.fields = fields
    reader.tables = tables
    reader.data = <const uint8_t *>start
    reader.size = size
    # Nothing that is made here is part of a cycle; a collection per 700 containers would take longer than the reading.
    collecting = PyGC_Disable()
    try:
        result = reader.value()
        if reader.skip_blank() != -1:
            raise reader.peek_error("trailing characters")
    finally:
        if collecting:
            PyGC_Enable()
    return result
