# JSON as the reference reads and writes it.
#
# The reference goes through serde_json, which is not "any JSON library": numbers are folded digit by digit into 64 bits and
# scaled by a power of ten once (so many decimals land one unit in the last place beside the correctly rounded value, and the
# scores of a Unigram model are such decimals), `-0` and integers beyond 64 bits are floats, nesting stops at 127, lone
# surrogates are refused, a repeated key is an error for some readers and "the last one wins" for others. `loads` follows
# these rules (serde_json 1.0.151: src/de.rs, src/read.rs) and `dumps` its writer (src/ser.rs, floats as crate zmij prints them).
# The merges of a BPE model, half a million pairs of strings, are turned into ids while their text is at hand, without an
# object per string. Left to others: what the values mean (hftok.serialization and the component modules).
import numpy as np

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem
from cpython.list cimport PyList_Append
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite, isinf
from libc.stdint cimport INT32_MAX, UINT32_MAX, UINT64_MAX, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset, strchr, strlen

cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    void *PyUnicode_DATA(object text)
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    object PyUnicode_Concat(object left, object right)
    unsigned long long PyLong_AsUnsignedLongLongMask(object value) except? <unsigned long long>-1
    void PyObject_GC_UnTrack(PyObject *op) noexcept
    int PyGC_Enable() noexcept
    int PyGC_Disable() noexcept
    int Py_DTSF_ADD_DOT_0
    char *PyOS_double_to_string(double value, char code, int precision, int flags, int *kind) except NULL
    unsigned long long PyLong_AsUnsignedLongLong(object value) except? <unsigned long long>-1
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1

cdef extern from *:
    """
    #if defined(_MSC_VER) && !defined(__clang__)
    #define __builtin_prefetch(address) ((void)0)
    #endif
    """
    void __builtin_prefetch(const void *address) noexcept nogil

cdef enum:
    MAX_DEPTH = 127            # serde_json: 128 remaining levels, the last one is the error
    BATCH = 32                 # look-ups in flight

cdef double[309] POW10
cdef int _i
for _i in range(309):
    POW10[_i] = float(f"1e{_i}")


class JsonSyntaxError(Exception):
    """The text is not JSON; the message says what was met where (line, byte column), in serde_json's words."""


class RepeatedKeys(dict):
    """An object in which a key came twice. The dict holds the last values, `repeated` the keys; of the outermost object
    `overwritten` has the earlier (key, value) pairs."""

    repeated = frozenset()
    overwritten = ()


class MergeIds:
    """The merges of a BPE model as ids: `rows` is a uint32 array (n, 3) of left id, right id and id of the merged token, by
    rising rank, no two rows with the same pair; `vocab` is the dict that the ids are from."""

    __slots__ = ("rows", "vocab")

    def __init__(self, rows, vocab):
        self.rows = rows
        self.vocab = vocab


cdef struct VocabEntry:
    uint32_t start             # source text of the token, between its quotation marks
    uint32_t size
    uint32_t id


cdef struct RawMerge:
    uint32_t left
    uint32_t left_size
    uint32_t right
    uint32_t right_size


cdef struct Slot:
    # The token's source text where it has at most 8 bytes, else where it starts: most look-ups touch this one line of memory.
    uint64_t head
    uint32_t id
    uint16_t tag
    uint16_t size              # 0: free


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
            if key == "merges":
                self.skip_blank()
                merges_at = self.pos
                raw_merges = self.raw_merges()
                value = None if raw_merges > 0 else self.value()
            elif key == "vocab":
                vocab_entries = -1
                if self.skip_blank() == c"{":
                    value = self.vocab(&vocab_entries)
                else:
                    value = self.pieces()
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

    # ---- the big tables of a tokenizer: no object per entry where the general form would make a list ------------------

    cdef inline bint literal(self, uint8_t c) noexcept:
        if self.skip_blank() != c:
            return False
        self.pos += 1
        return True

    cdef object vocab(self, int64_t *count):
        """The object of "vocab". Where it maps distinct source texts to ids, `count` tells how many; `entries` has them."""
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
        """After the opening quotation mark: where the source text lies. Its escapes and UTF-8 are not checked; `hidden` is
        set where an escape may stand for an ASCII character."""
        cdef const uint8_t *p = self.data + self.pos
        cdef const uint8_t *end = self.data + self.size
        while p < end and p[0] != c'"':
            if p[0] < 0x20:
                return False
            if p[0] == c"\\":
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
        """The value of "merges" as source texts: an array of arrays of two strings, or of strings with one blank inside.
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
                    self.literal(c"[") and self.literal(c'"') and self.raw_string(&merge.left, &merge.left_size, &hidden)
                    and self.literal(c",") and self.literal(c'"')
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
        """`MergeIds` where every part and every whole of the merges is a token by its source text, else the plain value."""
        cdef int64_t end = self.pos
        cdef int depth = self.depth
        rows = None
        if vocab_entries > 0 and not model.get("continuing_subword_prefix"):
            rows = np.empty((raw_merges, 3), dtype=np.uint32)
            if self.resolve(vocab_entries, raw_merges, rows):
                return MergeIds(_last_of_each_pair(rows, rows), model["vocab"])
        self.pos = begin
        self.depth = depth + 1
        value = self.value()
        self.pos = end
        self.depth = depth
        return value

    cdef bint resolve(self, int64_t vocab_entries, int64_t n, uint32_t[:, ::1] rows) except -1:
        cdef uint64_t capacity = 1024, mask, h
        cdef Slot *slots
        cdef Slot slot
        cdef int64_t i, j, k, batch
        cdef int part
        cdef uint64_t[3 * BATCH] hashes
        cdef uint64_t[3 * BATCH] heads
        cdef uint32_t[3 * BATCH] sizes
        cdef uint8_t *whole
        cdef bint found = True
        cdef RawMerge m
        cdef int64_t longest = 0
        while capacity < 2 * <uint64_t>vocab_entries:
            capacity *= 2
        mask = capacity - 1
        for i in range(n):
            longest = max(longest, <int64_t>self.raw[i].left_size + self.raw[i].right_size)
        if longest > 0xFFFF:
            return False
        slots = <Slot *>calloc(<size_t>capacity, sizeof(Slot))
        whole = <uint8_t *>malloc(<size_t>(longest + 8) * BATCH)
        if slots == NULL or whole == NULL:
            free(slots)
            free(whole)
            raise MemoryError("out of memory while reading merges")
        with nogil:
            for i in range(vocab_entries):
                if self.entries[i].size == 0:
                    continue  # a merge with an empty part goes the general way
                h = hash_text(self.data + self.entries[i].start, self.entries[i].size, &slot.head)
                slot.tag = <uint16_t>(h >> 48)
                slot.size = <uint16_t>self.entries[i].size
                slot.id = self.entries[i].id
                if slot.size > 8:
                    slot.head = self.entries[i].start
                h &= mask
                while slots[h].size:
                    h = (h + 1) & mask
                slots[h] = slot
            i = 0
            while i < n and found:
                batch = min(<int64_t>BATCH, n - i)
                for j in range(batch):
                    m = self.raw[i + j]
                    if m.left_size == 0 or m.right_size == 0:
                        found = False
                    memcpy(whole + j * longest, self.data + m.left, m.left_size)
                    memcpy(whole + j * longest + m.left_size, self.data + m.right, m.right_size)
                    sizes[3 * j] = m.left_size
                    sizes[3 * j + 1] = m.right_size
                    sizes[3 * j + 2] = m.left_size + m.right_size
                    hashes[3 * j] = hash_text(self.data + m.left, m.left_size, &heads[3 * j])
                    hashes[3 * j + 1] = hash_text(self.data + m.right, m.right_size, &heads[3 * j + 1])
                    hashes[3 * j + 2] = hash_text(whole + j * longest, sizes[3 * j + 2], &heads[3 * j + 2])
                    for part in range(3):
                        __builtin_prefetch(slots + (hashes[3 * j + part] & mask))
                for j in range(batch):
                    m = self.raw[i + j]
                    for part in range(3):
                        k = 3 * j + part
                        h = hashes[k] & mask
                        while slots[h].size:
                            slot = slots[h]
                            if slot.size == sizes[k] and slot.tag == <uint16_t>(hashes[k] >> 48):
                                if slot.size <= 8:
                                    if slot.head == heads[k]:
                                        break
                                elif memcmp(
                                    self.data + slot.head,
                                    self.data + m.left if part == 0 else self.data + m.right if part == 1
                                    else whole + j * longest,
                                    slot.size,
                                ) == 0:
                                    break
                            h = (h + 1) & mask
                        if slots[h].size == 0:
                            found = False
                            break
                        rows[i + j, part] = slots[h].id
                i += batch
        free(slots)
        free(whole)
        return found

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
                # Text and number: no cycle can go through it. The collector would find that out at its first pass over all.
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
        cdef uint64_t w, high = 0, hit
        cdef uint64_t ones = 0x0101010101010101ULL
        while end - p >= 8:
            memcpy(&w, p, 8)
            hit = ((w - ones * 0x20) & ~w) | (((w ^ (ones * 0x22)) - ones) & ~(w ^ (ones * 0x22)))
            hit = (hit | (((w ^ (ones * 0x5C)) - ones) & ~(w ^ (ones * 0x5C)))) & (ones << 7)
            if hit:
                break
            high |= w
            p += 8
        while p < end and p[0] != c'"' and p[0] != c"\\" and p[0] >= 0x20:
            high |= p[0]
            p += 1
        if p < end and p[0] == c'"':
            self.pos = p + 1 - self.data
            return self.text(begin, p - begin, (high & (ones << 7)) == 0)
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
        if c < 0x80:
            u[0] = <uint8_t>c
            return self.keep(u, 1)
        if c < 0x800:
            u[0] = <uint8_t>(0xC0 | (c >> 6))
            u[1] = <uint8_t>(0x80 | (c & 0x3F))
            return self.keep(u, 2)
        if c < 0x10000:
            u[0] = <uint8_t>(0xE0 | (c >> 12))
            u[1] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
            u[2] = <uint8_t>(0x80 | (c & 0x3F))
            return self.keep(u, 3)
        u[0] = <uint8_t>(0xF0 | (c >> 18))
        u[1] = <uint8_t>(0x80 | ((c >> 12) & 0x3F))
        u[2] = <uint8_t>(0x80 | ((c >> 6) & 0x3F))
        u[3] = <uint8_t>(0x80 | (c & 0x3F))
        return self.keep(u, 4)

    cdef int64_t hex4(self) except -1:
        cdef int64_t n = 0
        cdef int i
        cdef uint8_t c
        cdef bint good = True
        if self.size - self.pos < 4:
            self.pos = self.size
            raise self.error("EOF while parsing a string")
        for i in range(4):
            c = self.data[self.pos + i]
            if c"0" <= c <= c"9":
                n = n * 16 + (c - c"0")
            elif c"a" <= c | 0x20 <= c"f":
                n = n * 16 + ((c | 0x20) - c"a" + 10)
            else:
                good = False
        self.pos += 4
        if not good:
            raise self.error("invalid escape")
        return n

    cdef int escape(self) except -1:
        cdef uint8_t c
        cdef int64_t n, low
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
        if c == c"b":
            c = 8
        elif c == c"f":
            c = 12
        elif c == c"n":
            c = 10
        elif c == c"r":
            c = 13
        elif c == c"t":
            c = 9
        elif c != c'"' and c != c"\\" and c != c"/":
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


def loads(data, fields=None):
    """Reads one JSON text.

    Args:
        data: `str`, or `bytes` of UTF-8 (checked inside strings, where alone it can matter).
        fields: the keys that the outermost object may have; None: any.

    Returns:
        dict, list, str, int (within 64 bits), float, bool or None. An object with a repeated key is a `RepeatedKeys`. The
        value of a key "merges" that is an array of pairs of tokens of the object's "vocab" (`["a", "b"]` or `"a b"`) is
        `MergeIds`; the value of a key "vocab" that is an array of `[string, number]` is a list of `(str, float)` tuples.

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
    reader.data = <const uint8_t *>start
    reader.size = size
    # Nothing that is made here can be part of a cycle; a collection per 700 containers would take longer than the reading.
    collecting = PyGC_Disable()
    try:
        result = reader.value()
        if reader.skip_blank() != -1:
            raise reader.peek_error("trailing characters")
    finally:
        if collecting:
            PyGC_Enable()
    return result


# ---- checks and look-ups over big tables ---------------------------------------------------------------------------------


def first_bad_id(dict vocab not None):
    """The first key of a JSON object whose value is not an integer in [0, 2^32), or None."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t position = 0
    cdef int overflow
    cdef long long n
    while PyDict_Next(vocab, &position, &key, &value):
        if not PyLong_CheckExact(<object>value):
            return <object>key
        n = PyLong_AsLongLongAndOverflow(<object>value, &overflow)
        if overflow or not 0 <= n <= UINT32_MAX:
            return <object>key
    return None


class MergeError(Exception):
    """A merge that the vocabulary cannot serve: a part, or the whole, is not in it."""


class MergePanic(MergeError):
    """One of those at which the reference panics: the whole is longer than any token, or a part shorter than the prefix."""


def resolve_merges(dict vocab not None, list merges not None, Py_ssize_t prefix_size):
    """Merges as ids.

    Args:
        vocab: token -> id.
        merges: list of pairs of strings.
        prefix_size: bytes that the right part loses when it is joined to the left one (the continuing subword prefix).

    Returns:
        uint32 array of shape (n, 3): left id, right id, id of the merged token, by rising rank. Of merges with the same two
        ids only the last is kept, at its own rank (models/bpe/model.rs, BpeBuilder::build collects them into a map).

    Raises:
        MergeError: "Token `x` out of vocabulary"; a MergePanic where the reference panics.
    """
    cdef Py_ssize_t i, n = len(merges)
    cdef uint32_t left, right, merged
    result = np.empty((n, 3), dtype=np.uint32)
    cdef uint32_t[:, ::1] out = result
    for i in range(n):
        a, b = merges[i]
        left = _id_of(vocab, a)
        right = _id_of(vocab, b)
        if prefix_size == 0:
            whole = PyUnicode_Concat(a, b)
        else:
            tail = (<str>b).encode()
            if len(tail) < prefix_size:
                raise MergePanic(f"the merge of `{a}` and `{b}` does not carry the continuing subword prefix")
            # A cut inside a character gives bytes that no token has.
            whole = (<str>a).encode() + tail[prefix_size:]
            try:
                whole = whole.decode()
            except UnicodeDecodeError:
                raise MergeError(f"Token `{whole.decode('utf-8', 'replace')}` out of vocabulary") from None
        if whole not in vocab and len(whole.encode()) > max(len(token.encode()) for token in vocab):
            raise MergePanic(f"Token `{whole}` out of vocabulary")
        merged = _id_of(vocab, whole)
        out[i, 0] = left
        out[i, 1] = right
        out[i, 2] = merged
    return _last_of_each_pair(result, out)


cdef uint32_t _id_of(dict vocab, object token) except? 0xFFFFFFFF:
    cdef PyObject *found = PyDict_GetItemWithError(vocab, token)
    if found == NULL:
        raise MergeError(f"Token `{token}` out of vocabulary")
    return <uint32_t>PyLong_AsUnsignedLongLong(<object>found)


cdef object _last_of_each_pair(result, uint32_t[:, ::1] rows):
    cdef int64_t n = rows.shape[0], i
    cdef uint64_t mask = 1, h
    cdef int64_t *slot
    while mask < <uint64_t>n * 2:
        mask *= 2
    slot = <int64_t *>malloc(<size_t>mask * sizeof(int64_t))
    if slot == NULL:
        raise MemoryError("out of memory while reading merges")
    memset(slot, 0xFF, <size_t>mask * sizeof(int64_t))
    mask -= 1
    repeated = None
    for i in range(n - 1, -1, -1):
        h = ((<uint64_t>rows[i, 0] << 32) | rows[i, 1]) * 0x9E3779B97F4A7C15ULL
        h = (h ^ (h >> 32)) & mask
        while slot[h] >= 0 and (rows[slot[h], 0] != rows[i, 0] or rows[slot[h], 1] != rows[i, 1]):
            h = (h + 1) & mask
        if slot[h] >= 0:
            if repeated is None:
                repeated = []
            repeated.append(i)
        else:
            slot[h] = i
    free(slot)
    return result if repeated is None else np.delete(result, repeated, axis=0)


# ---- writing -------------------------------------------------------------------------------------------------------------


cdef inline uint64_t hash_text(const uint8_t *text, uint32_t size, uint64_t *head) noexcept nogil:
    """Hash of a text; `head` gets its first 8 bytes, zeros after the end."""
    cdef uint64_t h = <uint64_t>size * 0x9E3779B97F4A7C15ULL, w = 0
    cdef uint32_t i = 8
    memcpy(&w, text, min(size, <uint32_t>8))
    head[0] = w
    h = (h ^ w) * 0xD6E8FEB86659FD93ULL
    h ^= h >> 32
    while i < size:
        w = 0
        memcpy(&w, text + i, min(size - i, <uint32_t>8))
        h = (h ^ w) * 0xD6E8FEB86659FD93ULL
        h ^= h >> 32
        i += 8
    return h * 0x9E3779B97F4A7C15ULL


cdef class Float32:
    """A number that is written with the digits of a single precision float."""
    cdef readonly double value

    def __init__(self, double value):
        self.value = value


cdef class Writer:
    cdef char *out
    cdef int64_t size
    cdef int64_t capacity
    cdef bint pretty
    cdef int64_t indent

    def __cinit__(self, bint pretty):
        self.out = NULL
        self.size = self.capacity = self.indent = 0
        self.pretty = pretty

    def __dealloc__(self):
        free(self.out)

    cdef int reserve(self, int64_t more) except -1:
        cdef int64_t capacity
        cdef char *grown
        if self.size + more > self.capacity:
            capacity = 2 * self.capacity + more + 256
            grown = <char *>realloc(self.out, <size_t>capacity)
            if grown == NULL:
                raise MemoryError("out of memory while writing JSON")
            self.out = grown
            self.capacity = capacity
        return 0

    cdef int put(self, const char *text, int64_t size) except -1:
        self.reserve(size)
        memcpy(self.out + self.size, text, <size_t>size)
        self.size += size
        return 0

    cdef inline int put_char(self, char c) except -1:
        if self.size == self.capacity:
            self.reserve(1)
        self.out[self.size] = c
        self.size += 1
        return 0

    cdef int new_line(self) except -1:
        cdef int64_t spaces = 2 * self.indent
        if not self.pretty:
            return 0
        self.reserve(spaces + 1)
        self.out[self.size] = c"\n"
        memset(self.out + self.size + 1, c" ", <size_t>spaces)
        self.size += spaces + 1
        return 0

    cdef int string(self, str text) except -1:
        cdef Py_ssize_t n, i, run = 0
        cdef const uint8_t *p
        cdef uint8_t c
        cdef char e
        # ASCII strings give their own bytes; AsUTF8 on others would keep a second copy inside every token string.
        if PyUnicode_IS_COMPACT_ASCII(text):
            encoded = None
            p = <const uint8_t *>PyUnicode_DATA(text)
            n = len(text)
        else:
            encoded = text.encode("utf-8")
            p = <const uint8_t *><char *>(<bytes>encoded)
            n = len(<bytes>encoded)
        self.reserve(n + 2)
        self.put_char(c'"')
        for i in range(n):
            c = p[i]
            if c >= 0x20 and c != c'"' and c != c"\\":
                continue
            if i > run:
                self.put(<const char *>p + run, i - run)
            run = i + 1
            self.put_char(c"\\")
            if c == c'"' or c == c"\\":
                self.put_char(<char>c)
            elif c == 8:
                self.put_char(c"b")
            elif c == 9:
                self.put_char(c"t")
            elif c == 10:
                self.put_char(c"n")
            elif c == 12:
                self.put_char(c"f")
            elif c == 13:
                self.put_char(c"r")
            else:
                self.put(b"u00", 3)
                self.put_char(b"0123456789abcdef"[c >> 4])
                self.put_char(b"0123456789abcdef"[c & 15])
        if n > run:
            self.put(<const char *>p + run, n - run)
        return self.put_char(c'"')

    cdef int number(self, double x, bint single) except -1:
        """Shortest digits that read back as the same number; positional from 1e-5 (single: 1e-6) below 1e16 (1e13)."""
        cdef bytes digits
        cdef char *text
        cdef int result
        if not isfinite(x):
            return self.put(b"null", 4)
        if not single:
            text = PyOS_double_to_string(x, c"r", 0, Py_DTSF_ADD_DOT_0, NULL)
            # Python's repr is positional from 1e-4 below 1e16, and the digits are the same.
            if strchr(text, c"e") == NULL:
                result = self.put(text, strlen(text))
                PyMem_Free(text)
                return result
            PyMem_Free(text)
        digits = shortest_digits(x, single)
        return self.put(digits, len(digits))

    cdef int value(self, object x) except -1:
        cdef bytes digits
        if x is None:
            return self.put(b"null", 4)
        if x is True:
            return self.put(b"true", 4)
        if x is False:
            return self.put(b"false", 5)
        if isinstance(x, str):
            return self.string(x)
        if isinstance(x, int):
            digits = b"%d" % x
            return self.put(digits, len(digits))
        if isinstance(x, float):
            return self.number(x, False)
        if isinstance(x, Float32):
            return self.number((<Float32>x).value, True)
        if isinstance(x, dict):
            return self.map(x if type(x) is dict else dict(x))
        if isinstance(x, (list, tuple)) or hasattr(x, "__next__"):
            return self.sequence(x)
        raise TypeError(f"cannot write {type(x).__name__} as JSON")

    cdef int map(self, dict x) except -1:
        cdef PyObject *key
        cdef PyObject *item
        cdef Py_ssize_t position = 0
        cdef bint first = True
        if not x:
            return self.put(b"{}", 2)
        self.put_char(c"{")
        self.indent += 1
        while PyDict_Next(x, &position, &key, &item):
            if not first:
                self.put_char(c",")
            first = False
            self.new_line()
            if not isinstance(<object>key, str):
                raise TypeError("the keys of a JSON object are strings")
            self.string(<object>key)
            self.put_char(c":")
            if self.pretty:
                self.put_char(c" ")
            self.value(<object>item)
        self.indent -= 1
        self.new_line()
        return self.put_char(c"}")

    cdef int sequence(self, object x) except -1:
        cdef bint first = True
        self.put_char(c"[")
        self.indent += 1
        for item in x:
            if not first:
                self.put_char(c",")
            first = False
            self.new_line()
            if type(item) is str:
                self.string(item)
            else:
                self.value(item)
        self.indent -= 1
        if not first:
            self.new_line()
        return self.put_char(c"]")


def decimal_parts(double x, bint single=False):
    """A finite number as (negative, digits, point): 0.d1d2d3... * 10^point with the fewest digits that read back as x."""
    cdef char *text
    cdef bytes raw
    if single:
        # A decimal of at most nine digits is its own shortest double, so the digits survive the detour.
        raw = str(np.float32(x)).encode()
        x = float(raw)
    text = PyOS_double_to_string(x, c"r", 0, 0, NULL)
    try:
        raw = text
    finally:
        PyMem_Free(text)
    negative = raw.startswith(b"-")
    mantissa, _, exponent = raw.lstrip(b"-").partition(b"e")
    whole, _, fraction = mantissa.partition(b".")
    point = len(whole) + (int(exponent) if exponent else 0)
    digits = whole + fraction
    stripped = digits.lstrip(b"0")
    if not stripped:
        return negative, b"0", 1
    point -= len(digits) - len(stripped)
    return negative, stripped.rstrip(b"0"), point


cdef bytes shortest_digits(double x, bint single):
    negative, digits, point = decimal_parts(x, single)
    cdef Py_ssize_t n = len(digits)
    cdef int e = point - 1
    if (-6 if single else -5) <= e <= (12 if single else 15):
        if point <= 0:
            body = b"0." + b"0" * -point + digits
        elif point >= n:
            body = digits + b"0" * (point - n) + b".0"
        else:
            body = digits[:point] + b"." + digits[point:]
    else:
        body = digits[:1] + (b"." + digits[1:] if n > 1 else b"") + b"e%+d" % e
    return b"-" + body if negative else body


def dumps(value, bint pretty=False):
    """Writes a value as serde_json does: no blanks, or (pretty) two blanks a level; non-ASCII text stays as it is.

    Args:
        value: dict with str keys, list, tuple, iterator (read once), str, int, float (not finite: null), `Float32`, bool, None.

    >>> dumps({"a": [1, 1e-7, 0.5, "é\\n"]})
    '{"a":[1,1e-7,0.5,"é\\\\n"]}'
    """
    cdef Writer writer = Writer(pretty)
    writer.value(value)
    return PyUnicode_DecodeUTF8(writer.out, writer.size, NULL)
