"""Rows of tokens as arrays: one flat array with row offsets, a padded matrix, Python lists.

Everything here is output: the engine encodes sequences, this module lays their tokens out. Arrays are allocated once, at
their final size, and filled by the threads.
"""
cimport numpy as cnp
from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.ref cimport Py_INCREF, PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from hftok._core.documents cimport Doc, Documents, Unit
from hftok._core.engine cimport Affix, Call, Engine, WorkerBox
from hftok._core.parallel cimport parallel_for
from hftok._core.worker cimport Worker, worker_begin

from hftok._core import parallel

cnp.import_array()

cdef enum:
    PAD_ROWS = 256           # rows of a padded matrix that one thread writes at a time
    SIDE_RIGHT = 0
    SIDE_LEFT = 1


cdef Documents documents_of(object texts, str what="texts"):
    """The documents of a list (or any iterable) of str. TypeError for anything else."""
    cdef Documents d = Documents()
    cdef object item
    cdef Py_ssize_t i
    if PyUnicode_Check(texts) or isinstance(texts, (bytes, bytearray)):
        raise TypeError(f"{what} must be a list of str, not one {type(texts).__name__}: wrap it in a list")
    # A snapshot keeps every string alive while other Python threads run.
    d.keep = texts = list(texts)
    for i in range(PyList_GET_SIZE(texts)):
        item = <object>PyList_GET_ITEM(texts, i)
        if not PyUnicode_Check(item):
            raise TypeError(f"{what}[{i}] is of type {type(item).__name__}: TextInputSequence must be str")
        d.add_str(item)
    return d


cdef class Encoded:
    """Tokens of one call, still in the workers' buffers. Internal; `release` gives the workers back."""
    def __cinit__(self):
        self.boxes = []
        self.units = NULL
        self.ends = NULL
        self.n_units = self.n_rows = self.total = self.last_unit = 0

    def __dealloc__(self):
        self.release()
        free(self.units)
        free(self.ends)

    cdef void release(self):
        if self.engine is not None:
            for box in self.boxes:
                self.engine.checkin(box)
        self.boxes = []

    cdef const Worker *worker(self, int thread):
        return (<WorkerBox>self.boxes[thread]).w

    cdef int encode(self, Engine engine, Documents documents, Affix affix, int64_t limit, bint spans, bint words, object par,
                    bint exact) except -1:
        cdef Call call
        cdef int64_t i, row, at = 0, shift
        memset(&call, 0, sizeof(Call))
        self.engine = engine
        self.documents = documents
        self.n_rows = documents.n
        self.ends = <int64_t *>malloc(<size_t>(documents.n + 1) * 8)
        if self.ends == NULL:
            raise MemoryError("no memory for the rows")
        call.row_ends = self.ends
        call.limit = limit
        call.want_spans = spans
        call.want_words = words
        call.exact = exact
        if affix is not None:
            call.prefix = affix.data
            call.n_prefix = affix.n_prefix
            call.suffix = affix.data + affix.n_prefix
            call.n_suffix = affix.n_suffix
        try:
            engine.run(&call, documents, self.boxes, par, &self.n_units)
        finally:
            self.units = call.units
        # Rows end where their worker's buffer says; make that a position in the whole.
        for i in range(self.n_units):
            shift = at - self.units[i].at
            self.units[i].row = at
            if self.units[i].finishes:
                for row in range(self.units[i].first, self.units[i].last):
                    self.ends[row] += shift
            at += self.units[i].n
        self.total = at
        return 0

    cdef void copy_ids(self, int64_t at, int64_t n, uint32_t *out):
        cdef Unit *u
        cdef int64_t k
        if self.last_unit >= self.n_units or self.units[self.last_unit].row > at:
            self.last_unit = 0
        while n > 0 and self.last_unit < self.n_units:
            u = &self.units[self.last_unit]
            if at >= u.row + u.n:
                self.last_unit += 1
                continue
            k = u.row + u.n - at
            if k > n:
                k = n
            memcpy(out, self.worker(u.thread).ids + u.at + (at - u.row), <size_t>k * 4)
            out += k
            at += k
            n -= k


cdef struct Copy:
    Unit *units
    Worker **workers
    uint32_t *ids
    int32_t *spans


cdef void _copy_unit(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Copy *c = <Copy *>ctx
    cdef Unit *u = &c.units[i]
    cdef Worker *w = c.workers[u.thread]
    memcpy(c.ids + u.row, w.ids + u.at, <size_t>u.n * 4)
    if c.spans != NULL:
        memcpy(c.spans + 2 * u.row, w.spans + 2 * u.at, <size_t>u.n * 8)


cdef int _copy_out(Encoded e, uint32_t *ids, int32_t *spans, object par) except -1:
    cdef Copy c
    cdef int threads = parallel.threads_for(e.n_units, par)
    cdef int64_t i
    c.units = e.units
    c.ids = ids
    c.spans = spans
    c.workers = <Worker **>malloc(<size_t>(len(e.boxes) + 1) * sizeof(void *))
    if c.workers == NULL:
        raise MemoryError("no memory for the rows")
    for i in range(len(e.boxes)):
        c.workers[i] = (<WorkerBox>e.boxes[i]).w
    if e.total < 4096:
        parallel_for(_copy_unit, &c, e.n_units, 1)
    else:
        with nogil:
            parallel_for(_copy_unit, &c, e.n_units, threads)
    free(c.workers)
    return 0


cdef object _ragged(Encoded e, bint spans, object par):
    """(ids uint32 (n,), row offsets int64 (rows + 1,), spans int32 (n, 2) or None)"""
    cdef cnp.npy_intp shape[2]
    cdef object ids, offsets, pairs = None
    cdef int64_t *o
    shape[0] = e.total
    shape[1] = 2
    ids = cnp.PyArray_EMPTY(1, shape, cnp.NPY_UINT32, 0)
    if spans:
        pairs = cnp.PyArray_EMPTY(2, shape, cnp.NPY_INT32, 0)
    shape[0] = e.n_rows + 1
    offsets = cnp.PyArray_EMPTY(1, shape, cnp.NPY_INT64, 0)
    o = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>offsets)
    o[0] = 0
    memcpy(o + 1, e.ends, <size_t>e.n_rows * 8)
    _copy_out(e, <uint32_t *>cnp.PyArray_DATA(<cnp.ndarray>ids),
              <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>pairs) if spans else NULL, par)
    e.release()
    return ids, offsets, pairs


def encode_one(Engine engine not None, text, Affix affix, bint exact=False):
    """Ids of one text as a uint32 array."""
    cdef Documents d
    cdef Encoded e = Encoded()
    cdef cnp.npy_intp n
    cdef object ids
    if not PyUnicode_Check(text):
        raise TypeError(f"text is of type {type(text).__name__}: TextInputSequence must be str")
    d = Documents()
    d.add_str(text)
    e.encode(engine, d, affix, 0, False, False, False if d.bytes < 65536 else None, exact)
    n = e.total
    ids = cnp.PyArray_EMPTY(1, &n, cnp.NPY_UINT32, 0)
    _copy_out(e, <uint32_t *>cnp.PyArray_DATA(<cnp.ndarray>ids), NULL, None)
    e.release()
    return ids


def encode_batch(Engine engine not None, texts, Affix affix, bint spans=False, par=None, bint exact=False):
    """Ids of many texts: (ids uint32, row offsets int64, character spans int32 (n, 2) or None)."""
    cdef Encoded e = Encoded()
    e.encode(engine, documents_of(texts), affix, 0, spans, False, par, exact)
    return _ragged(e, spans, par)


def encode_documents(Engine engine not None, Documents documents not None, Affix affix, bint spans=False, par=None, bint exact=False):
    """As encode_batch, for documents that a source has collected."""
    cdef Encoded e = Encoded()
    e.encode(engine, documents, affix, 0, spans, False, par, exact)
    return _ragged(e, spans, par)


def count_tokens(Engine engine not None, texts, Affix affix, par=None):
    """Tokens of each text (int64), without keeping the ids."""
    cdef Encoded e = Encoded()
    cdef cnp.npy_intp n
    cdef object counts
    cdef int64_t *c
    cdef int64_t i, previous = 0
    e.encode(engine, documents_of(texts), affix, 0, False, False, par, False)
    n = e.n_rows
    counts = cnp.PyArray_EMPTY(1, &n, cnp.NPY_INT64, 0)
    c = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>counts)
    for i in range(e.n_rows):
        c[i] = e.ends[i] - previous
        previous = e.ends[i]
    e.release()
    return counts
