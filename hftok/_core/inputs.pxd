# What a caller of encode / encode_batch gave, as sequences. See inputs.pyx.

cdef struct InputRow:
    Py_ssize_t a             # first text of sequence A; B begins where A ends
    Py_ssize_t n_a           # texts of A (1 for raw text, the words otherwise)
    Py_ssize_t n_b           # texts of B, -1: no pair

cdef class Inputs:
    cdef list texts          # every text of the call, in order, exact str or subclasses
    cdef InputRow *rows
    cdef Py_ssize_t n_rows
    cdef Py_ssize_t capacity
    cdef readonly bint pretokenized
    cdef int add(self, object a, object b) except -1

cdef bint is_text(object o) except -1          # a str that has a UTF-8 form
cdef Inputs inputs_single(object sequence, object pair, bint pretokenized)
cdef Inputs inputs_batch(object items, bint pretokenized)
