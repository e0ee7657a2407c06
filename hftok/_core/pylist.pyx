"""Python lists made from C arrays.

What it does: turns columns of ids, offsets and word ids into the lists that the public properties return. Ints below
2**18 (vocabulary ids, positions in most texts) come from a table that keeps each one once it was made, so that a list
of ids costs a pointer copy per id instead of an allocation; the table holds at most 262,144 ints (10 MiB) for the life
of the process. Tuples of ints hold no references to containers, so they are taken out of the collector's sight at once,
as the collector itself would do on its first pass; while a long list is made the collector rests.
Rule of the reference: none, the values are the reference's and so are the types (plain list, tuple, int, None).
Left to others: which columns exist and when they are filled (encoding.pyx).
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t


cdef extern from *:
    """
    #include <stdlib.h>
    #define HFTOK_INT_TABLE ((uint64_t)1 << 18)
    #define HFTOK_GC_REST 512   /* above this length a list of tuples is made with the collector off */

    static PyObject **hftok_int_table = NULL;

    static int hftok_int_table_init(void) {
    #ifndef Py_GIL_DISABLED
        /* calloc: pages that are never used are never touched */
        hftok_int_table = (PyObject **)calloc((size_t)HFTOK_INT_TABLE, sizeof(PyObject *));
        if (!hftok_int_table) { PyErr_NoMemory(); return -1; }
    #endif
        return 0;
    }

    static inline PyObject *hftok_int(uint64_t v) {
    #ifndef Py_GIL_DISABLED   /* without the GIL two threads could fill one entry */
        if (v < HFTOK_INT_TABLE) {
            PyObject *o = hftok_int_table[v];
            if (!o) {
                o = PyLong_FromUnsignedLongLong((unsigned long long)v);
                if (!o) return NULL;
                hftok_int_table[v] = o;
            }
            Py_INCREF(o);
            return o;
        }
    #endif
        return PyLong_FromUnsignedLongLong((unsigned long long)v);
    }

    static PyObject *hftok_list_u32(const uint32_t *values, Py_ssize_t n) {
        PyObject *list = PyList_New(n);
        Py_ssize_t i;
        if (!list) return NULL;
        for (i = 0; i < n; i++) {
            PyObject *o = hftok_int(values[i]);
            if (!o) { Py_DECREF(list); return NULL; }
            PyList_SET_ITEM(list, i, o);
        }
        return list;
    }

    static PyObject *hftok_list_constant(PyObject *value, Py_ssize_t n) {
        PyObject *list = PyList_New(n);
        Py_ssize_t i;
        if (!list) return NULL;
        for (i = 0; i < n; i++) { Py_INCREF(value); PyList_SET_ITEM(list, i, value); }
        return list;
    }

    static PyObject *hftok_list_optional(const int64_t *values, Py_ssize_t n) {
        PyObject *list = PyList_New(n);
        Py_ssize_t i;
        if (!list) return NULL;
        for (i = 0; i < n; i++) {
            PyObject *o;
            if (values[i] < 0) { o = Py_None; Py_INCREF(o); }
            else { o = hftok_int((uint64_t)values[i]); if (!o) { Py_DECREF(list); return NULL; } }
            PyList_SET_ITEM(list, i, o);
        }
        return list;
    }

    static PyObject *hftok_pair(uint64_t a, uint64_t b) {
        PyObject *x = hftok_int(a), *y, *t;
        if (!x) return NULL;
        y = hftok_int(b);
        if (!y) { Py_DECREF(x); return NULL; }
        t = PyTuple_New(2);
        if (!t) { Py_DECREF(x); Py_DECREF(y); return NULL; }
        PyTuple_SET_ITEM(t, 0, x);
        PyTuple_SET_ITEM(t, 1, y);
        PyObject_GC_UnTrack(t);
        return t;
    }

    static PyObject *hftok_list_pairs(const uint64_t *pairs, Py_ssize_t n) {
        PyObject *list = PyList_New(n), *zero = NULL;
        Py_ssize_t i;
        int rest = 0;
        if (!list) return NULL;
    #ifndef Py_GIL_DISABLED
        if (n > HFTOK_GC_REST) rest = PyGC_Disable();
    #endif
        for (i = 0; i < n; i++) {
            uint64_t a = pairs[2 * i], b = pairs[2 * i + 1];
            PyObject *t;
            if ((a | b) == 0 && zero) { t = zero; Py_INCREF(t); }   /* special and padding tokens share one tuple */
            else {
                t = hftok_pair(a, b);
                if (!t) { Py_CLEAR(list); break; }
                if ((a | b) == 0) zero = t;
            }
            PyList_SET_ITEM(list, i, t);
        }
    #ifndef Py_GIL_DISABLED
        if (rest) PyGC_Enable();
    #endif
        return list;
    }

    static int hftok_fill_u32(PyObject *list, Py_ssize_t at, const uint32_t *values, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i < n; i++) {
            PyObject *o = hftok_int(values[i]);
            if (!o) return -1;
            PyList_SET_ITEM(list, at + i, o);
        }
        return 0;
    }

    static int hftok_fill_constant(PyObject *list, Py_ssize_t at, PyObject *value, Py_ssize_t n) {
        Py_ssize_t i;
        for (i = 0; i < n; i++) { Py_INCREF(value); PyList_SET_ITEM(list, at + i, value); }
        return 0;
    }

    static int hftok_fill_pairs(PyObject *list, Py_ssize_t at, const uint32_t *pairs, Py_ssize_t n) {
        Py_ssize_t i;
        int rest = 0, result = 0;
    #ifndef Py_GIL_DISABLED
        if (n > HFTOK_GC_REST) rest = PyGC_Disable();
    #endif
        for (i = 0; i < n; i++) {
            PyObject *t = hftok_pair(pairs[2 * i], pairs[2 * i + 1]);
            if (!t) { result = -1; break; }
            PyList_SET_ITEM(list, at + i, t);
        }
    #ifndef Py_GIL_DISABLED
        if (rest) PyGC_Enable();
    #endif
        return result;
    }
    """
    int hftok_int_table_init() except -1
    object hftok_int(uint64_t v)
    object hftok_list_u32(const uint32_t *values, Py_ssize_t n)
    object hftok_list_constant(object value, Py_ssize_t n)
    object hftok_list_optional(const int64_t *values, Py_ssize_t n)
    object hftok_list_pairs(const uint64_t *pairs, Py_ssize_t n)
    int hftok_fill_u32(object out, Py_ssize_t at, const uint32_t *values, Py_ssize_t n) except -1
    int hftok_fill_constant(object out, Py_ssize_t at, object value, Py_ssize_t n) except -1
    int hftok_fill_pairs(object out, Py_ssize_t at, const uint32_t *pairs, Py_ssize_t n) except -1


cdef list list_from_u32(const uint32_t *values, Py_ssize_t n):
    return <list>hftok_list_u32(values, n)


cdef list list_of_constant(object value, Py_ssize_t n):
    return <list>hftok_list_constant(value, n)


cdef list list_of_pairs(const uint64_t *pairs, Py_ssize_t n):
    return <list>hftok_list_pairs(pairs, n)


cdef list list_of_optional(const int64_t *values, Py_ssize_t n):
    return <list>hftok_list_optional(values, n)


cdef object int_from_u64(uint64_t value):
    return hftok_int(value)


cdef int fill_u32(list out, Py_ssize_t at, const uint32_t *values, Py_ssize_t n) except -1:
    return hftok_fill_u32(out, at, values, n)


cdef int fill_constant(list out, Py_ssize_t at, object value, Py_ssize_t n) except -1:
    return hftok_fill_constant(out, at, value, n)


cdef int fill_pairs(list out, Py_ssize_t at, const uint32_t *pairs, Py_ssize_t n) except -1:
    return hftok_fill_pairs(out, at, pairs, n)


hftok_int_table_init()
