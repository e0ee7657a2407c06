"""The pickled form of an Encoding: JSON bytes, the same that the reference writes.

What it does: `dump` writes the nine fields in the reference's order without spaces, `load` reads them back and checks
every value. The sequence ranges are written in ascending order (a hash map in the reference: any order).
Rule of the reference: serde's derived form of tokenizer/encoding.rs; a sequence of fields in place of the map is read too,
unknown fields are ignored, a damaged state is an Exception ("Error while attempting to unpickle Encoding: ...").
Unlike the reference, which takes columns of different lengths and panics later, they are refused here.
Left to others: the Encoding itself (encoding.pyx).
"""
import re

import orjson

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from hftok._core.encoding cimport (
    Encoding, SequenceRange, encoding_from_arrays, encoding_set_overflowing, encoding_set_range)


cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except -1
    void Py_LeaveRecursiveCall()


cdef tuple FIELDS = (
    "ids", "type_ids", "tokens", "words", "offsets", "special_tokens_mask", "attention_mask", "overflowing", "sequence_ranges")
cdef object SEQUENCE_KEY = re.compile(r"0|[1-9][0-9]*").fullmatch


class _Damaged(Exception):
    """What is wrong with a state."""


def dump(Encoding encoding not None):
    """The state of an Encoding as the reference pickles it, bytes."""
    return orjson.dumps(_fields(encoding))


cdef dict _fields(Encoding e):
    cdef const SequenceRange *r
    cdef int i
    cdef Encoding piece
    cdef list overflowing = []
    cdef dict ranges = {}
    Py_EnterRecursiveCall(" while pickling overflowing encodings")
    try:
        if e.overflow is not None:
            for piece in e.overflow:
                overflowing.append(_fields(piece))
    finally:
        Py_LeaveRecursiveCall()
    r = e.ranges()
    for i in range(e.n_ranges):
        ranges[str(r[i].sequence)] = {"start": r[i].start, "end": r[i].end}
    return {
        "ids": e.ids,
        "type_ids": e.type_ids,
        "tokens": e.tokens,
        "words": e.word_ids,
        "offsets": e.offsets,
        "special_tokens_mask": e.special_tokens_mask,
        "attention_mask": e.attention_mask,
        "overflowing": overflowing,
        "sequence_ranges": ranges,
    }


def load(state):
    """The Encoding of a pickled state.

    Raises:
        TypeError: `state` is not bytes.
        Exception: the bytes hold no state of an Encoding.
    """
    if not isinstance(state, bytes):
        if state is None:
            raise TypeError("'None' is not an instance of 'bytes'")
        raise TypeError(f"'{type(state).__name__}' object is not an instance of 'bytes'")
    try:
        return _encoding(orjson.loads(state))
    except (_Damaged, orjson.JSONDecodeError, RecursionError) as error:
        raise Exception(f"Error while attempting to unpickle Encoding: {error}") from None


cdef Encoding _encoding(object state):
    cdef Encoding e
    cdef list values, column, pair, overflowing
    cdef Py_ssize_t i, n
    cdef uint64_t *pairs
    cdef int64_t *words
    cdef uint32_t *rows
    cdef void *room
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
            raise _Damaged(f"`{FIELDS[i]}` has {len(<list>values[i])} entries and `ids` {n}: all columns must have the same length")
    room = malloc(<size_t>n * (3 * sizeof(uint64_t) + 4 * sizeof(uint32_t)) + 1)
    if room == NULL:
        raise MemoryError(f"no memory for an Encoding of {n} tokens")
    try:
        pairs = <uint64_t *>room
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
        free(room)
    _ranges(e, values[8])
    Py_EnterRecursiveCall(" in nested `overflowing`")
    try:
        overflowing = [_encoding(piece) for piece in values[7]]
    finally:
        Py_LeaveRecursiveCall()
    encoding_set_overflowing(e, overflowing)
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
    return {"int": "integer", "float": "floating point number", "bool": "boolean", "str": "string", "list": "list", "dict": "map"}[
        type(value).__name__]
