"""Padded matrices from lists of ints: what `pad` of a transformers tokenizer and the data collators make.

What it does: reads rows of Python ints into one int64 matrix, filled up on the right or left.
Rule of the reference: PreTrainedTokenizerBase.pad and _pad of transformers, for lists of lists of exact ints.
Left to others: everything else; None tells that the rows are not of this kind.
"""
cimport numpy as cnp
from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from hftok._core.array_memory cimport new_int64

cnp.import_array()

cdef extern from "Python.h":
    bint PyLong_CheckExact(object o)
    long long PyLong_AsLongLongAndOverflow(object o, int *overflow) except? -1


def lengths_of_rows(list rows not None):
    """(the longest row, the shortest), or None where one is no list.

    >>> lengths_of_rows([[1, 2], [3]])
    (2, 1)
    """
    cdef Py_ssize_t i, n, longest = 0, shortest = -1
    for i in range(PyList_GET_SIZE(rows)):
        row = <object>PyList_GET_ITEM(rows, i)
        if not PyList_CheckExact(row):
            return None
        n = PyList_GET_SIZE(row)
        if n > longest:
            longest = n
        if shortest < 0 or n < shortest:
            shortest = n
    return longest, shortest


def padded_matrix(list rows not None, list like not None, Py_ssize_t width, int64_t fill, bint left):
    """Rows of ints as an int64 matrix of that width; None where a row is no list of ints, or not as long as that of `like`.

    >>> padded_matrix([[1, 2], [3]], [[1, 2], [3]], 3, 0, False).tolist()
    [[1, 2, 0], [3, 0, 0]]
    """
    cdef cnp.npy_intp shape[2]
    cdef Py_ssize_t i, k, n, begin, end
    cdef int64_t *p
    cdef object matrix, row, item
    cdef int overflow = 0
    shape[0] = PyList_GET_SIZE(rows)
    shape[1] = width
    matrix = new_int64(2, shape)
    p = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>matrix)
    for i in range(PyList_GET_SIZE(rows)):
        row = <object>PyList_GET_ITEM(rows, i)
        if not PyList_CheckExact(row):
            return None
        n = PyList_GET_SIZE(row)
        if n > width or n != PyList_GET_SIZE(<object>PyList_GET_ITEM(like, i)):
            return None
        begin = width - n if left else 0
        end = begin + n
        for k in range(begin):
            p[k] = fill
        for k in range(n):
            item = <object>PyList_GET_ITEM(row, k)
            if not PyLong_CheckExact(item):
                return None
            p[begin + k] = PyLong_AsLongLongAndOverflow(item, &overflow)
            if overflow:
                return None
        for k in range(end, width):
            p[k] = fill
        p += width
    return matrix
