"""Arguments of encode and encode_batch, told apart as the reference tells them apart.

Reference: TextInputSequence, PreTokenizedInputSequence, TextEncodeInput, PreTokenizedEncodeInput (bindings, tokenizer.rs):
a raw text is a str; a pre-tokenized one is a list or tuple of str, or a NumPy array of str (dtype U or object); a pair is a
tuple of two, or any sequence of length two. What is no input raises the reference's TypeError. A str with a lone surrogate
is no text there, and is found here.

NumPy arrays of dtype U are read, by the reference and so by us, as UTF-8 from the array's UCS-4 memory: three NUL characters
follow each character of an ASCII word (BertNormalizer drops them again, offsets show them), and an array with non-ASCII
characters is no input. Use a list, or dtype object.
"""
from cpython.list cimport PyList_CheckExact
from cpython.unicode cimport PyUnicode_Check, PyUnicode_KIND, PyUnicode_GET_LENGTH, PyUnicode_DATA
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.stdlib cimport free, realloc

import numpy as np

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object o)


cdef bint is_text(object o) except -1:
    """A str that has a UTF-8 form."""
    cdef Py_ssize_t i, n
    cdef int kind
    cdef const uint16_t *two
    cdef const uint32_t *four
    if not PyUnicode_Check(o):
        return False
    if PyUnicode_IS_COMPACT_ASCII(o):
        return True
    kind = PyUnicode_KIND(o)
    n = PyUnicode_GET_LENGTH(o)
    if kind == 2:
        two = <const uint16_t *>PyUnicode_DATA(o)
        for i in range(n):
            if 0xD800 <= two[i] < 0xE000:
                return False
    elif kind == 4:
        four = <const uint32_t *>PyUnicode_DATA(o)
        for i in range(n):
            if 0xD800 <= four[i] < 0xE000:
                return False
    return True


cdef object words_of(object o):
    """The words of a pre-tokenized sequence as a list or tuple, or None where it is none."""
    if isinstance(o, np.ndarray):
        if o.ndim != 1:
            return None
        if o.dtype.kind == "U" and o.flags.forc:
            try:
                return [item.tobytes().decode("utf-8") for item in o.view(f"V{o.dtype.itemsize}")]
            except UnicodeDecodeError:
                return None
        if o.dtype.kind != "O" or not all(isinstance(item, str) for item in o):
            return None
        return [item.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for item in o]
    elif not isinstance(o, (list, tuple)):
        return None
    for word in o:
        if not is_text(word):
            return None
    return o


cdef object pair_of(object o):
    """The two elements of a sequence of length two (no str), or None."""
    if PyUnicode_Check(o) or isinstance(o, (dict, set, frozenset)):
        return None
    try:
        if len(o) != 2:
            return None
        return o[0], o[1]
    except (TypeError, KeyError, IndexError):
        return None


cdef class Inputs:
    def __cinit__(self):
        self.texts = []
        self.rows = NULL
        self.n_rows = self.capacity = 0

    def __dealloc__(self):
        free(self.rows)

    cdef int add(self, object a, object b) except -1:
        """One row: texts (raw) or sequences of words; b may be None."""
        cdef Py_ssize_t capacity
        cdef InputRow *rows
        cdef InputRow *r
        if self.n_rows == self.capacity:
            capacity = self.capacity * 2 if self.capacity else 8
            rows = <InputRow *>realloc(self.rows, <size_t>capacity * sizeof(InputRow))
            if rows == NULL:
                raise MemoryError("no memory for the inputs")
            self.rows = rows
            self.capacity = capacity
        r = &self.rows[self.n_rows]
        r.a = len(self.texts)
        r.n_b = -1
        if self.pretokenized:
            self.texts.extend(a)
            r.n_a = len(a)
            if b is not None:
                self.texts.extend(b)
                r.n_b = len(b)
        else:
            self.texts.append(a)
            r.n_a = 1
            if b is not None:
                self.texts.append(b)
                r.n_b = 1
        self.n_rows += 1
        return 0


cdef object _sequence(object o, bint pretokenized):
    if pretokenized:
        words = words_of(o)
        if words is None:
            raise TypeError("PreTokenizedInputSequence must be Union[List[str], Tuple[str]]")
        return words
    if not is_text(o):
        raise TypeError("TextInputSequence must be str")
    return o


cdef Inputs inputs_single(object sequence, object pair, bint pretokenized):
    cdef Inputs inputs = Inputs()
    inputs.pretokenized = pretokenized
    inputs.add(_sequence(sequence, pretokenized), None if pair is None else _sequence(pair, pretokenized))
    return inputs


cdef Inputs inputs_batch(object items, bint pretokenized):
    cdef Inputs inputs = Inputs()
    cdef object item, a, b
    inputs.pretokenized = pretokenized
    if PyUnicode_Check(items):
        raise TypeError("Can't extract `str` to `Vec`")
    if not PyList_CheckExact(items):
        if isinstance(items, (set, frozenset, dict)) or not (hasattr(items, "__len__") and hasattr(items, "__getitem__")):
            raise TypeError(f"'{type(items).__name__}' object is not an instance of 'Sequence'")
        items = list(items)
    for item in items:
        if pretokenized:
            a = words_of(item)
            if a is not None:
                inputs.add(a, None)
                continue
            found = pair_of(item)
            if found is not None:
                inputs.add(_sequence(found[0], True), _sequence(found[1], True))
                continue
            raise TypeError("PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, "
                            "Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]]")
        if is_text(item):
            inputs.add(item, None)
            continue
        found = pair_of(item)
        if found is not None:
            inputs.add(_sequence(found[0], False), _sequence(found[1], False))
            continue
        raise TypeError("TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]")
    return inputs
