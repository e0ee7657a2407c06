"""The pickled form of an Encoding: JSON bytes, the same that the reference writes.

What it does: `dump` writes the nine fields in the reference's order without spaces, `load` reads them back and checks
every value. Text in exactly that form, the only one that pickles have, is read directly into columns; any other is parsed
by a JSON library and checked field by field, which also finds what is wrong with it. The sequence ranges are written in
ascending order (a hash map in the reference: any order).
Rule of the reference: serde's derived form of tokenizer/encoding.rs; a sequence of fields in place of the map is read too,
unknown fields are ignored, a damaged state is an Exception ("Error while attempting to unpickle Encoding: ...").
Unlike the reference, which takes columns of different lengths and panics later, they are refused here.
Left to others: the Encoding itself (encoding.pyx).
"""
import re

import orjson

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, strlen

from hftok._core.encoding cimport (
    LAZY_ALL, Column, Encoding, SequenceRange, encoding_from_arrays, encoding_set_overflowing, encoding_set_range)
from hftok._core.text cimport utf8_encode


cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except -1
    void Py_LeaveRecursiveCall()
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)


cdef extern from *:
    """
    /* The characters of an ASCII str, or NULL. */
    static inline const uint8_t *hftok_compact_ascii(PyObject *s) {
        return PyUnicode_IS_COMPACT_ASCII(s) ? (const uint8_t *)PyUnicode_1BYTE_DATA(s) : NULL;
    }
    """
    const uint8_t *compact_ascii "hftok_compact_ascii"(object s)


cdef tuple FIELDS = (
    "ids", "type_ids", "tokens", "words", "offsets", "special_tokens_mask", "attention_mask", "overflowing", "sequence_ranges")
cdef object SEQUENCE_KEY = re.compile(r"0|[1-9][0-9]*").fullmatch


class _Damaged(Exception):
    """What is wrong with a state."""


# --- writing ---------------------------------------------------------------------------------------------------------

cdef struct Text:
    uint8_t *data
    Py_ssize_t size
    Py_ssize_t capacity


cdef int room(Text *t, Py_ssize_t n) except -1:
    cdef Py_ssize_t capacity
    cdef uint8_t *data
    if t.capacity - t.size < n:
        capacity = 2 * t.capacity + n
        data = <uint8_t *>realloc(t.data, <size_t>capacity)
        if data == NULL:
            raise MemoryError("no memory for the state of an Encoding")
        t.data = data
        t.capacity = capacity
    return 0


# Each of these writes at p, where there is room, and returns where it stopped.

cdef inline uint8_t *put(uint8_t *p, const char *literal) noexcept:
    cdef size_t n = strlen(literal)
    memcpy(p, literal, n)
    return p + n


cdef inline uint8_t *put_number(uint8_t *p, uint64_t value) noexcept:
    cdef uint8_t digits[20]
    cdef int n = 20
    if value < 10:
        p[0] = <uint8_t>(c"0" + value)
        return p + 1
    while value:
        n -= 1
        digits[n] = <uint8_t>(c"0" + value % 10)
        value //= 10
    memcpy(p, digits + n, <size_t>(20 - n))
    return p + (20 - n)


cdef uint8_t *put_column(uint8_t *p, const char *name, Column c, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    p = put(p, name)
    for i in range(n):
        p = put_number(p, c.data[i] if c.data != NULL else c.value)
        p[0] = c","
        p += 1
    return p - 1 if n else p


cdef uint8_t *put_string(uint8_t *p, str text):
    cdef Py_ssize_t i, n = len(text)
    cdef Py_UCS4 c
    cdef const char *hexadecimal = b"0123456789abcdef"
    cdef const uint8_t *ascii_data = compact_ascii(text)
    p[0] = c'"'
    p += 1
    for i in range(n):
        c = ascii_data[i] if ascii_data != NULL else text[i]
        if c >= 0x80:
            p += utf8_encode(c, p)
        elif c == c'"' or c == c"\\":
            p[0] = c"\\"
            p[1] = <uint8_t>c
            p += 2
        elif c >= 0x20:
            p[0] = <uint8_t>c
            p += 1
        elif c == 8:
            p = put(p, b"\\b")
        elif c == 9:
            p = put(p, b"\\t")
        elif c == 10:
            p = put(p, b"\\n")
        elif c == 12:
            p = put(p, b"\\f")
        elif c == 13:
            p = put(p, b"\\r")
        else:
            p = put(p, b"\\u001" if c >= 16 else b"\\u000")
            p[0] = <uint8_t>hexadecimal[<uint32_t>c & 15]
            p += 1
    p[0] = c'"'
    return p + 1


cdef int put_encoding(Text *t, Encoding e) except -1:
    cdef const SequenceRange *r
    cdef Py_ssize_t i, characters = 0
    cdef Encoding piece
    cdef uint8_t *p
    cdef bint comma = False
    e.materialize(LAZY_ALL)
    for i in range(e.n):
        characters += len(<str>e.token_list[i])
    # Upper bounds: 11 bytes for a 32-bit number and its comma, 45 for a pair of 64-bit ones, 6 for a character.
    room(t, 400 + (5 * 11 + 45 + 3) * e.n + 6 * characters)
    p = t.data + t.size
    p = put_column(p, b'{"ids":[', e.id_column, e.n)
    p = put_column(p, b'],"type_ids":[', e.type_id_column, e.n)
    p = put(p, b'],"tokens":[')
    for i in range(e.n):
        if i:
            p[0] = c","
            p += 1
        p = put_string(p, <str>e.token_list[i])
    p = put(p, b'],"words":[')
    for i in range(e.n):
        if i:
            p[0] = c","
            p += 1
        if e.word_column == NULL or e.word_column[i] < 0:
            p = put(p, b"null")
        else:
            p = put_number(p, <uint64_t>e.word_column[i])
    p = put(p, b'],"offsets":[')
    for i in range(e.n):
        if i:
            p[0] = c","
            p += 1
        p[0] = c"["
        p = put_number(p + 1, e.offset_pairs[2 * i] if e.offset_pairs != NULL else 0)
        p[0] = c","
        p = put_number(p + 1, e.offset_pairs[2 * i + 1] if e.offset_pairs != NULL else 0)
        p[0] = c"]"
        p += 1
    p = put_column(p, b'],"special_tokens_mask":[', e.special_column, e.n)
    p = put_column(p, b'],"attention_mask":[', e.attention_column, e.n)
    p = put(p, b'],"overflowing":[')
    t.size = p - t.data
    if e.overflow is not None:
        Py_EnterRecursiveCall(" while pickling overflowing encodings")
        try:
            for piece in e.overflow:
                if comma:
                    room(t, 1)
                    t.data[t.size] = c","
                    t.size += 1
                comma = True
                put_encoding(t, piece)
        finally:
            Py_LeaveRecursiveCall()
    room(t, 100 + 100 * e.n_ranges)
    p = put(t.data + t.size, b'],"sequence_ranges":{')
    r = e.ranges()
    for i in range(e.n_ranges):
        p = put(p, b',"' if i else b'"')
        p = put_number(p, r[i].sequence)
        p = put(p, b'":{"start":')
        p = put_number(p, r[i].start)
        p = put(p, b',"end":')
        p = put_number(p, r[i].end)
        p = put(p, b"}")
    p = put(p, b"}}")
    t.size = p - t.data
    return 0


def dump(Encoding encoding not None):
    """The state of an Encoding as the reference pickles it, bytes."""
    cdef Text t
    t.data = NULL
    t.size = t.capacity = 0
    try:
        put_encoding(&t, encoding)
        return PyBytes_FromStringAndSize(<char *>t.data, t.size)
    finally:
        free(t.data)


# --- reading ---------------------------------------------------------------------------------------------------------

def load(state):
    """The Encoding of a pickled state.

    Raises:
        TypeError: `state` is not bytes.
        Exception: the bytes hold no state of an Encoding.
    """
    cdef Reader r
    cdef Encoding e
    if not isinstance(state, bytes):
        if state is None:
            raise TypeError("'None' is not an instance of 'bytes'")
        raise TypeError(f"'{type(state).__name__}' object is not an instance of 'bytes'")
    r.at = <const uint8_t *>PyBytes_AS_STRING(state)
    r.end = r.at + PyBytes_GET_SIZE(state)
    try:
        e = read_encoding(&r)
        if e is not None and r.at == r.end:
            return e
        return _encoding(orjson.loads(state))
    except (_Damaged, orjson.JSONDecodeError, RecursionError) as error:
        raise Exception(f"Error while attempting to unpickle Encoding: {error}") from None


cdef struct Reader:
    const uint8_t *at
    const uint8_t *end


# The functions below read the form that `dump` writes. False or None: it is another; nothing is said about what is wrong.

cdef inline bint take(Reader *r, const char *literal) noexcept:
    cdef size_t n = strlen(literal)
    if <size_t>(r.end - r.at) < n or memcmp(r.at, literal, n) != 0:
        return False
    r.at += n
    return True


cdef inline bint take_number(Reader *r, uint64_t top, uint64_t *value) noexcept:
    cdef uint64_t v = 0, digit
    cdef const uint8_t *start = r.at
    while r.at < r.end and c"0" <= r.at[0] <= c"9":
        digit = <uint64_t>(r.at[0] - c"0")
        if v > (top - digit) // 10:
            return False
        v = 10 * v + digit
        r.at += 1
    value[0] = v
    return r.at > start and (start[0] != c"0" or r.at == start + 1)


cdef uint32_t *read_ids(Reader *r, Py_ssize_t *n) except NULL:
    """The first column, whose length decides that of the others; malloc'ed. *n < 0: not this form."""
    cdef Py_ssize_t size = 0, capacity = 64
    cdef uint64_t value
    cdef uint32_t *data = <uint32_t *>malloc(<size_t>capacity * sizeof(uint32_t))
    cdef uint32_t *grown
    if data == NULL:
        raise MemoryError("no memory for the ids of an Encoding")
    n[0] = -1
    if not take(r, b'{"ids":['):
        return data
    if take(r, b"]"):
        n[0] = 0
        return data
    while True:
        if size == capacity:
            capacity *= 2
            grown = <uint32_t *>realloc(data, <size_t>capacity * sizeof(uint32_t))
            if grown == NULL:
                free(data)
                raise MemoryError("no memory for the ids of an Encoding")
            data = grown
        if not take_number(r, 0xFFFFFFFF, &value):
            return data
        data[size] = <uint32_t>value
        size += 1
        if take(r, b"]"):
            n[0] = size
            return data
        if not take(r, b","):
            return data


cdef bint read_column(Reader *r, const char *name, uint32_t *out, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    cdef uint64_t value
    if not take(r, name):
        return False
    for i in range(n):
        if (i and not take(r, b",")) or not take_number(r, 0xFFFFFFFF, &value):
            return False
        out[i] = <uint32_t>value
    return take(r, b"]")


cdef str read_string(Reader *r):
    cdef const uint8_t *start
    cdef bint escaped = False
    if not take(r, b'"'):
        return None
    start = r.at
    while r.at < r.end and r.at[0] != c'"':
        if r.at[0] < 0x20:
            return None
        if r.at[0] == c"\\":
            escaped = True
            r.at += 1
            if r.at == r.end:
                return None
        r.at += 1
    if r.at == r.end:
        return None
    r.at += 1
    try:
        if escaped:
            return orjson.loads((<const char *>start - 1)[:r.at - start + 1])
        return PyUnicode_DecodeUTF8(<const char *>start, r.at - 1 - start, NULL)
    except ValueError:
        return None


cdef Encoding read_encoding(Reader *r):
    cdef Py_ssize_t i, n
    cdef uint32_t *ids = NULL
    cdef uint32_t *rows
    cdef uint64_t *pairs
    cdef int64_t *words
    cdef uint64_t value, start, stop
    cdef void *memory = NULL
    cdef list tokens = [], overflowing = []
    cdef Encoding e, piece
    cdef str token
    try:
        ids = read_ids(r, &n)
        if n < 0:
            return None
        memory = malloc(<size_t>n * (3 * sizeof(uint64_t) + 3 * sizeof(uint32_t)) + 1)
        if memory == NULL:
            raise MemoryError(f"no memory for an Encoding of {n} tokens")
        pairs = <uint64_t *>memory
        words = <int64_t *>(pairs + 2 * n)
        rows = <uint32_t *>(words + n)
        if not read_column(r, b',"type_ids":[', rows, n) or not take(r, b',"tokens":['):
            return None
        for i in range(n):
            if i and not take(r, b","):
                return None
            token = read_string(r)
            if token is None:
                return None
            tokens.append(token)
        if not take(r, b'],"words":['):
            return None
        for i in range(n):
            if i and not take(r, b","):
                return None
            if take(r, b"null"):
                words[i] = -1
            elif take_number(r, 0xFFFFFFFF, &value):
                words[i] = <int64_t>value
            else:
                return None
        if not take(r, b'],"offsets":['):
            return None
        for i in range(n):
            if not (take(r, b",[" if i else b"[") and take_number(r, 0xFFFFFFFFFFFFFFFF, pairs + 2 * i) and take(r, b",")
                    and take_number(r, 0xFFFFFFFFFFFFFFFF, pairs + 2 * i + 1) and take(r, b"]")):
                return None
        if not (take(r, b"]") and read_column(r, b',"special_tokens_mask":[', rows + n, n)
                and read_column(r, b',"attention_mask":[', rows + 2 * n, n) and take(r, b',"overflowing":[')):
            return None
        e = encoding_from_arrays(n, ids, rows, 0, rows + n, 0, rows + 2 * n, 0, pairs, words, tokens)
    finally:
        free(ids)
        free(memory)
    Py_EnterRecursiveCall(" in nested `overflowing`")
    try:
        while not take(r, b"]"):
            if overflowing and not take(r, b","):
                return None
            piece = read_encoding(r)
            if piece is None:
                return None
            overflowing.append(piece)
    finally:
        Py_LeaveRecursiveCall()
    encoding_set_overflowing(e, overflowing)
    if not take(r, b',"sequence_ranges":{'):
        return None
    while not take(r, b"}"):
        if not (take(r, b',"' if e.n_ranges else b'"') and take_number(r, 0xFFFFFFFFFFFFFFFF, &value)
                and take(r, b'":{"start":') and take_number(r, 0xFFFFFFFFFFFFFFFF, &start)
                and take(r, b',"end":') and take_number(r, 0xFFFFFFFFFFFFFFFF, &stop) and take(r, b"}")):
            return None
        encoding_set_range(e, value, start, stop)
    return e if take(r, b"}") else None


# What follows reads any JSON, and says what is wrong.

cdef Encoding _encoding(object state):
    cdef Encoding e
    cdef list values, column, pair, overflowing
    cdef Py_ssize_t i, n
    cdef uint64_t *pairs
    cdef int64_t *words
    cdef uint32_t *rows
    cdef void *memory
    if isinstance(state, dict):
        for name in FIELDS:
            if name not in state:
                raise _Damaged(f"missing field `{name}`")
        values = [state[name] for name in FIELDS]
    elif isinstance(state, list):
        if len(<list>state) != len(FIELDS):
            raise _Damaged(f"a list of {len(state)} fields instead of {len(FIELDS)}")
        values = <list>state
    else:
        raise _Damaged(f"invalid type: {_kind(state)}, expected the fields of an Encoding")
    for i in range(8):
        if not isinstance(values[i], list):
            raise _Damaged(f"invalid type: {_kind(values[i])}, expected a list for `{FIELDS[i]}`")
    n = len(<list>values[0])
    for i in range(7):
        if len(<list>values[i]) != n:
            raise _Damaged(
                f"`{FIELDS[i]}` has {len(<list>values[i])} entries and `ids` {n}: all columns must have the same length")
    memory = malloc(<size_t>n * (3 * sizeof(uint64_t) + 4 * sizeof(uint32_t)) + 1)
    if memory == NULL:
        raise MemoryError(f"no memory for an Encoding of {n} tokens")
    try:
        pairs = <uint64_t *>memory
        words = <int64_t *>(pairs + 2 * n)
        rows = <uint32_t *>(words + n)
        _u32_column(values[0], rows, "ids")
        _u32_column(values[1], rows + n, "type_ids")
        _u32_column(values[5], rows + 2 * n, "special_tokens_mask")
        _u32_column(values[6], rows + 3 * n, "attention_mask")
        column = <list>values[2]
        for i in range(n):
            if type(column[i]) is not str:
                raise _Damaged(f"invalid type: {_kind(column[i])}, expected a string in `tokens`")
        column = <list>values[3]
        for i in range(n):
            words[i] = -1 if column[i] is None else <int64_t>_number(column[i], 0xFFFFFFFF, "words")
        column = <list>values[4]
        for i in range(n):
            if not isinstance(column[i], list) or len(<list>column[i]) != 2:
                raise _Damaged("an entry of `offsets` is no pair of numbers")
            pair = <list>column[i]
            pairs[2 * i] = _number(pair[0], 0xFFFFFFFFFFFFFFFF, "offsets")
            pairs[2 * i + 1] = _number(pair[1], 0xFFFFFFFFFFFFFFFF, "offsets")
        e = encoding_from_arrays(n, rows, rows + n, 0, rows + 2 * n, 0, rows + 3 * n, 0, pairs, words, (<list>values[2])[:])
    finally:
        free(memory)
    Py_EnterRecursiveCall(" in nested `overflowing`")
    try:
        overflowing = [_encoding(piece) for piece in values[7]]
    finally:
        Py_LeaveRecursiveCall()
    encoding_set_overflowing(e, overflowing)
    _ranges(e, values[8])
    return e


cdef int _ranges(Encoding e, object ranges) except -1:
    if not isinstance(ranges, dict):
        raise _Damaged(f"invalid type: {_kind(ranges)}, expected a map for `sequence_ranges`")
    for key, span in (<dict>ranges).items():
        if SEQUENCE_KEY(key) is None:
            raise _Damaged(f"the key {key!r} of `sequence_ranges` is no sequence number")
        if isinstance(span, dict):
            if span.keys() != {"start", "end"}:
                raise _Damaged("an entry of `sequence_ranges` must have `start` and `end` and nothing else")
            span = [span["start"], span["end"]]
        elif not isinstance(span, list) or len(<list>span) != 2:
            raise _Damaged("an entry of `sequence_ranges` is no range")
        encoding_set_range(
            e, _number(int(key), 0xFFFFFFFFFFFFFFFF, "sequence_ranges"), _number(span[0], 0xFFFFFFFFFFFFFFFF, "sequence_ranges"),
            _number(span[1], 0xFFFFFFFFFFFFFFFF, "sequence_ranges"))
    return 0


cdef int _u32_column(list column, uint32_t *out, str name) except -1:
    cdef Py_ssize_t i
    for i in range(len(column)):
        out[i] = <uint32_t>_number(column[i], 0xFFFFFFFF, name)
    return 0


cdef uint64_t _number(object value, uint64_t top, str name) except? 0xFFFFFFFFFFFFFFFF:
    if type(value) is not int:
        raise _Damaged(f"invalid type: {_kind(value)}, expected a number in `{name}`")
    if not 0 <= value <= top:
        raise _Damaged(f"invalid value: {value}, expected a number from 0 to {top} in `{name}`")
    return <uint64_t>value


cdef str _kind(object value):
    if value is None:
        return "null"
    names = {"int": "integer", "float": "floating point number", "bool": "boolean", "str": "string", "dict": "map"}
    return names.get(type(value).__name__, "list")
