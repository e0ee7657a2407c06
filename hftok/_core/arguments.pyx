"""Python arguments as the reference converts them.

What it does: ints, bools, strings and lists of them from Python objects, with the exception types and sentences that
pyo3 0.29 gives in the reference: `__index__` is honoured, bool counts as int but int not as bool (numpy's bool does), a
negative or too large int is an OverflowError, anything with the sequence protocol is a list except str, a string that
holds a lone surrogate is a UnicodeEncodeError. Where the reference notes which parameter was meant, so does this.
Rule of the reference: pyo3's FromPyObject for u32, u64, bool, String and Vec.
Left to others: arity and keyword names (Cython's own checks, TypeError as in the reference).
"""
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer)
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc


cdef extern from "Python.h":
    int PySequence_Check(object o)
    object PyNumber_Index(object o)
    long long PyLong_AsLongLong(object o) except? -1
    unsigned long long PyLong_AsUnsignedLongLong(object o) except? 0xFFFFFFFFFFFFFFFF
    int PyLong_CheckExact(object o)
    int PyUnicode_CheckExact(object o)
    object PyUnicode_FromObject(object o)
    Py_ssize_t PyList_GET_SIZE(object o)
    PyObject *PyList_GET_ITEM(object o, Py_ssize_t i)


cdef extern from *:
    """
    #include <stdint.h>

    /* 1 and *v for an exact int of one digit (below 2**30), the usual id; 0: take the long way. */
    static inline int hftok_small_int(PyObject *o, uint32_t *v) {
    #if !defined(CYTHON_COMPILING_IN_CPYTHON) || !CYTHON_COMPILING_IN_CPYTHON
        (void)o; (void)v; return 0;
    #else
        if (!PyLong_CheckExact(o)) return 0;
    #if PY_VERSION_HEX >= 0x030C0000
        {
            Py_ssize_t x;
            if (!PyUnstable_Long_IsCompact((PyLongObject *)o)) return 0;
            x = PyUnstable_Long_CompactValue((PyLongObject *)o);
            if (x < 0) return 0;
            *v = (uint32_t)x;
            return 1;
        }
    #else
        {
            Py_ssize_t size = Py_SIZE(o);
            if (size == 1) { *v = (uint32_t)((PyLongObject *)o)->ob_digit[0]; return 1; }
            if (size == 0) { *v = 0; return 1; }
            return 0;
        }
    #endif
    #endif
    }

    /* n ints of `size` bytes and struct-module kind to uint32; 0: no int kind, or one is out of range. */
    static int hftok_copy_ints(uint32_t *to, const void *from, Py_ssize_t n, Py_ssize_t size, char kind) {
        Py_ssize_t i;
        uint64_t bad = 0;
        int is_signed = kind == 'b' || kind == 'h' || kind == 'i' || kind == 'l' || kind == 'q';
        if ((uintptr_t)from % (size_t)(size > 0 ? size : 1)) return 0;     /* not aligned: the slow way */
        if (!is_signed && kind != 'B' && kind != 'H' && kind != 'I' && kind != 'L' && kind != 'Q') return 0;
    #define HFTOK_COPY(type) { const type *p = (const type *)from; \
        for (i = 0; i < n; i++) { bad |= (uint64_t)(int64_t)p[i]; to[i] = (uint32_t)p[i]; } break; }
        switch (is_signed ? -size : size) {
            case 1: HFTOK_COPY(uint8_t)
            case 2: HFTOK_COPY(uint16_t)
            case 4: { const uint32_t *p = (const uint32_t *)from; for (i = 0; i < n; i++) to[i] = p[i]; break; }
            case 8: HFTOK_COPY(uint64_t)
            case -1: HFTOK_COPY(int8_t)
            case -2: HFTOK_COPY(int16_t)
            case -4: HFTOK_COPY(int32_t)
            case -8: HFTOK_COPY(int64_t)
            default: return 0;
        }
    #undef HFTOK_COPY
        return (bad >> 32) == 0;
    }

    /* Whether a str holds a code point U+D800..U+DFFF. */
    static int hftok_has_surrogate(PyObject *s) {
        Py_ssize_t i, n = PyUnicode_GET_LENGTH(s);
        int kind = PyUnicode_KIND(s);
        if (kind == PyUnicode_1BYTE_KIND) return 0;
        if (kind == PyUnicode_2BYTE_KIND) {
            const Py_UCS2 *p = PyUnicode_2BYTE_DATA(s);
            for (i = 0; i < n; i++) if ((p[i] & 0xF800) == 0xD800) return 1;
        } else {
            const Py_UCS4 *p = PyUnicode_4BYTE_DATA(s);
            for (i = 0; i < n; i++) if ((p[i] & 0xFFFFF800u) == 0xD800) return 1;
        }
        return 0;
    }
    """
    bint copy_ints "hftok_copy_ints"(uint32_t *to, const void *source, Py_ssize_t n, Py_ssize_t size, char kind)
    int hftok_small_int(PyObject *o, uint32_t *v)
    int hftok_has_surrogate(object s)


cdef str _type_name(object value):
    return "None" if value is None else f"{type(value).__name__}"


cdef object _not_an_instance(object value, str wanted):
    # pyo3's wording: the type's name and "object", or just 'None'.
    if value is None:
        return TypeError(f"'None' is not an instance of '{wanted}'")
    return TypeError(f"'{type(value).__name__}' object is not an instance of '{wanted}'")


cdef int _note(object error, str name) except -1:
    if name is not None:
        error.add_note(f"while processing '{name}'")
    return 0


cdef uint32_t _u32(object value) except? 0xFFFFFFFF:
    cdef long long number
    value = PyNumber_Index(value)
    try:
        number = PyLong_AsLongLong(value)
    except OverflowError:
        raise OverflowError("Python int too large to convert to C long") from None
    if number < 0 or number > 0xFFFFFFFF:
        raise OverflowError("out of range integral type conversion attempted")
    return <uint32_t>number


cdef uint32_t u32_argument(object value, str name) except? 0xFFFFFFFF:
    cdef uint32_t small
    if hftok_small_int(<PyObject *>value, &small):
        return small
    try:
        return _u32(value)
    except BaseException as error:
        _note(error, name)
        raise


cdef uint64_t usize_argument(object value, str name) except? 0xFFFFFFFFFFFFFFFF:
    cdef uint32_t small
    if hftok_small_int(<PyObject *>value, &small):
        return small
    try:
        return PyLong_AsUnsignedLongLong(PyNumber_Index(value))
    except BaseException as error:
        _note(error, name)
        raise


cdef bint bool_argument(object value, str name) except -1:
    if value is True:
        return True
    if value is False:
        return False
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    error = _not_an_instance(value, "bool")
    _note(error, name)
    raise error


cdef str _str(object value):
    if not isinstance(value, str):
        raise _not_an_instance(value, "str")
    if not PyUnicode_CheckExact(value):
        value = PyUnicode_FromObject(value)
    if hftok_has_surrogate(value):
        (<str>value).encode("utf-8")      # raises UnicodeEncodeError
    return <str>value


cdef str str_argument(object value, str name):
    if PyUnicode_CheckExact(value) and not hftok_has_surrogate(value):
        return <str>value
    try:
        return _str(value)
    except BaseException as error:
        _note(error, name)
        raise


cdef int check_sequence(object value) except -1:
    if isinstance(value, str):
        raise TypeError("Can't extract `str` to `Vec`")
    if not PySequence_Check(value):
        raise _not_an_instance(value, "Sequence")
    return 0


cdef list str_list_argument(object value, str name):
    cdef list result
    try:
        check_sequence(value)
        result = list(value)
        for i in range(len(result)):
            result[i] = _str(result[i])
        return result
    except BaseException as error:
        _note(error, name)
        raise


cdef uint32_t *_u32_list(list value, Py_ssize_t *n) except NULL:
    # An item's __index__ may change the list, so its length is read again at every step.
    cdef Py_ssize_t i = 0, capacity = PyList_GET_SIZE(value)
    cdef uint32_t *data = <uint32_t *>malloc(<size_t>(capacity + 1) * sizeof(uint32_t))
    cdef uint32_t *bigger
    cdef uint32_t number
    if data == NULL:
        raise MemoryError("out of memory while reading a list of ids")
    try:
        while i < PyList_GET_SIZE(value):
            if not hftok_small_int(PyList_GET_ITEM(value, i), &number):
                number = _u32(<object>PyList_GET_ITEM(value, i))
            if i == capacity:
                capacity = 2 * capacity + 16
                bigger = <uint32_t *>realloc(data, <size_t>(capacity + 1) * sizeof(uint32_t))
                if bigger == NULL:
                    raise MemoryError("out of memory while reading a list of ids")
                data = bigger
            data[i] = number
            i += 1
    except BaseException:
        free(data)
        raise
    n[0] = i
    return data


cdef uint32_t *_u32_buffer(object value, Py_ssize_t *n) except? NULL:
    """An array of native ints, copied. NULL without an exception where it is not one, or a number is out of range: the
    way through Python objects then finds what is wrong."""
    cdef Py_buffer view
    cdef uint32_t *data = NULL
    try:
        PyObject_GetBuffer(value, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
    except (BufferError, ValueError):
        return NULL
    if view.ndim == 1 and view.format != NULL and view.format[0] and not view.format[1]:
        data = <uint32_t *>malloc(<size_t>(view.shape[0] + 1) * sizeof(uint32_t))
        if data != NULL:
            n[0] = view.shape[0]
            if not copy_ints(data, view.buf, n[0], view.itemsize, view.format[0]):
                free(data)
                data = NULL
    PyBuffer_Release(&view)
    return data


cdef uint32_t *u32_array_argument(object value, str name, Py_ssize_t *n) except NULL:
    cdef uint32_t *data
    try:
        if type(value) is list:
            return _u32_list(<list>value, n)
        check_sequence(value)
        if PyObject_CheckBuffer(value):
            data = _u32_buffer(value, n)
            if data != NULL:
                return data
        return _u32_list(list(value), n)
    except BaseException as error:
        _note(error, name)
        raise
