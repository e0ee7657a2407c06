# JSON as the reference writes it: serde_json 1.0.151 (src/ser.rs), floats with the digits and in the form of crate
# zmij.
#
# Compact or pretty (two blanks a level); strings with the shortest escapes and non-ASCII text as it is; a float has
# the fewest digits that read back as the same number, positional from 1e-5 below 1e16 (single precision: from 1e-6
# below 1e13), and is null where it is not finite. Left to others: what is written (hftok.representation), and the
# text of `repr`.
import numpy as np

from cpython.dict cimport PyDict_Next
from cpython.mem cimport PyMem_Free
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset, strchr, strlen

cdef extern from "Python.h":
    void *PyUnicode_DATA(object text)
    bint PyUnicode_IS_COMPACT_ASCII(object text)
    int Py_DTSF_ADD_DOT_0
    char *PyOS_double_to_string(double value, char code, int precision, int flags, int *kind) except NULL


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
    """A finite number as (negative, digits, point): 0.d1d2d3... * 10^point, the fewest digits that read back as x."""
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
        value: dict with str keys, list, tuple, iterator (read once), str, int, float (not finite: null), `Float32`,
            bool, None.
        pretty: with line breaks.

    >>> dumps({"a": [1, 1e-7, 0.5, "é\\n"]})
    '{"a":[1,1e-7,0.5,"é\\\\n"]}'
    """
    cdef Writer writer = Writer(pretty)
    writer.value(value)
    return PyUnicode_DecodeUTF8(writer.out, writer.size, NULL)
