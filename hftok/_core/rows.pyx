"""Rows of tokens as arrays: one flat array with row offsets, a padded matrix, Python lists.

Everything here is output: the engine encodes sequences, this module lays their tokens out. Arrays are allocated once, at
their final size, and filled by the threads.
"""
cimport numpy as cnp
from cpython.list cimport PyList_CheckExact, PyList_GET_ITEM, PyList_GET_SIZE, PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from hftok._core.array_memory cimport adopt, new_array, new_int64, new_uint32
from hftok._core.documents cimport Doc, Documents, Unit
from hftok._core.engine cimport SHORT, Affix, Call, Engine, WorkerBox
from hftok._core.parallel cimport parallel_for
from hftok._core.places cimport place_unit, places_fit, places_free
from hftok._core.row_plan cimport ITEM_SPECIAL, Item, RowPlan
from hftok._core.truncation cimport kept_tokens, truncated_lengths
from hftok._core.worker cimport Worker, worker_begin

from hftok._core import cpu, parallel

cnp.import_array()

cdef extern from "matrix.h" nogil:
    void ht_repeat(int64_t *out, int64_t n, int64_t value, int tier)
    void ht_widen(int64_t *out, const uint32_t *values, int64_t n, int tier)

cdef enum:
    PARALLEL_CELLS = 1 << 17 # cells of a padded matrix from which on several threads write it
    PAD_ROWS = 256           # rows of a padded matrix that one thread writes at a time
    ADOPT_TOKENS = 16384     # results of one thread from this size on are its own buffer


cdef Documents documents_of(object texts, str what="texts"):
    """The documents of a list (or any iterable) of str. TypeError for anything else."""
    cdef Documents d = Documents()
    cdef object item
    cdef Py_ssize_t i
    if PyUnicode_Check(texts) or isinstance(texts, (bytes, bytearray)):
        raise TypeError(f"{what} must be a list of str, not one {type(texts).__name__}: wrap it in a list")
    # A snapshot keeps every string alive while other Python threads run.
    texts = list(texts)
    i = d.add_list(texts)
    if i < PyList_GET_SIZE(texts):
        item = <object>PyList_GET_ITEM(texts, i)
        raise TypeError(f"{what}[{i}] is of type {type(item).__name__}: TextInputSequence must be str")
    return d


cdef class Encoded:
    """Tokens of one call, still in the workers' buffers. Internal; `release` gives the workers back."""
    def __cinit__(self):
        self.boxes = []
        self.units = NULL
        self.ends = NULL
        self.cut = True
        self.gathers = False
        memset(&self.places, 0, sizeof(Places))
        self.n_units = self.n_rows = self.total = self.last_unit = 0

    def __dealloc__(self):
        self.release()
        places_free(&self.places)
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
        call.whole = not self.cut
        call.places = &self.places if self.gathers else NULL
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
            if self.units[i].finishes and not self.units[i].placed:
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
    if not u.placed:
        place_unit(u, c.workers[u.thread], c.ids, c.spans, NULL)


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
    cdef Worker *w
    cdef void *p
    cdef cnp.npy_intp shape[2]
    cdef object ids, offsets, pairs = None
    cdef int64_t *o
    shape[0] = e.total
    shape[1] = 2
    if len(e.boxes) == 1 and e.total >= ADOPT_TOKENS:
        # One thread did it all, in order: its buffer is the result.
        w = (<WorkerBox>e.boxes[0]).w
        p = w.ids
        w.ids = NULL
        w.id_capacity = 0
        ids = adopt(p, shape, 1, cnp.NPY_UINT32)
        if spans:
            p = w.spans
            w.spans = NULL
            pairs = adopt(p, shape, 2, cnp.NPY_INT32)
    elif e.places.ids != NULL:
        if places_fit(&e.places, e.total):
            raise MemoryError("no memory for the tokens")
        _copy_out(e, e.places.ids, e.places.spans, par)
        p = e.places.ids
        e.places.ids = NULL
        ids = adopt(p, shape, 1, cnp.NPY_UINT32)
        if spans:
            p = e.places.spans
            e.places.spans = NULL
            pairs = adopt(p, shape, 2, cnp.NPY_INT32)
    else:
        ids = new_array(1, shape, cnp.NPY_UINT32, 4)
        if spans:
            pairs = new_array(2, shape, cnp.NPY_INT32, 4)
        _copy_out(e, <uint32_t *>cnp.PyArray_DATA(<cnp.ndarray>ids),
                  <int32_t *>cnp.PyArray_DATA(<cnp.ndarray>pairs) if spans else NULL, par)
    shape[0] = e.n_rows + 1
    offsets = cnp.PyArray_EMPTY(1, shape, cnp.NPY_INT64, 0)
    o = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>offsets)
    o[0] = 0
    memcpy(o + 1, e.ends, <size_t>e.n_rows * 8)
    e.release()
    return ids, offsets, pairs


cdef object ids_of_text(Engine engine, object text, Affix affix, bint exact):
    """Ids of one text as a uint32 array."""
    cdef Documents d
    cdef Encoded e
    cdef WorkerBox box
    cdef cnp.npy_intp n
    cdef int64_t end = 0
    cdef object ids
    if not PyUnicode_Check(text):
        raise TypeError(f"text is of type {type(text).__name__}: TextInputSequence must be str")
    if exact or PyUnicode_GET_LENGTH(text) > SHORT:
        d = Documents()
        d.add_str(text)
        e = Encoded()
        e.gathers = True
        e.encode(engine, d, affix, 0, False, False, None, exact)
        return _ragged(e, False, None)[0]
    box = engine.checkout(1)
    try:
        engine.encode_short(box, text, affix, 0, &end)
        n = box.w.n_ids
        ids = new_uint32(n)
        if n:                # else the worker may have no buffer yet
            memcpy(cnp.PyArray_DATA(<cnp.ndarray>ids), box.w.ids, <size_t>n * 4)
        return ids
    finally:
        engine.checkin(box)


def encode_one(Engine engine not None, text, Affix affix, bint exact=False):
    """Ids of one text as a uint32 array."""
    return ids_of_text(engine, text, affix, exact)


def encode_batch(Engine engine not None, texts, Affix affix, bint spans=False, par=None, bint exact=False):
    """Ids of many texts: (ids uint32, row offsets int64, character spans int32 (n, 2) or None)."""
    cdef Encoded e = Encoded()
    e.gathers = True
    e.encode(engine, documents_of(texts), affix, 0, spans, False, par, exact)
    return _ragged(e, spans, par)


def encode_documents(Engine engine not None, Documents documents not None, Affix affix, bint spans=False, par=None, bint exact=False):
    """As encode_batch, for documents that a source has collected."""
    cdef Encoded e = Encoded()
    e.gathers = True
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


# ---------------------------------------------------------------------- padded matrices

cdef struct Matrix:
    const uint32_t **ids     # per document: its tokens
    int64_t *keep_a          # per row: tokens kept of A, of B
    int64_t *keep_b
    const int64_t *n         # per document: its tokens
    int64_t rows
    int64_t width
    const Item *items
    int n_items
    int left_padding
    int left_truncation
    uint32_t pad_id
    uint32_t pad_type_id
    int64_t *out_ids
    int64_t *out_types       # NULL: not wanted
    int64_t *out_attention
    int64_t *out_special


cdef int _tier = {"avx2": 1, "avx512": 2}.get(cpu.choose(), 0)


cdef inline void _fill(int64_t *p, int64_t n, int64_t value) noexcept nogil:
    ht_repeat(p, n, value, _tier)


cdef inline void _widen(int64_t *out, const uint32_t *ids, int64_t n) noexcept nogil:
    ht_widen(out, ids, n, _tier)


cdef void _write_rows(void *ctx, int64_t group, int thread) noexcept nogil:
    cdef Matrix *m = <Matrix *>ctx
    cdef int64_t row, last = (group + 1) * PAD_ROWS, at, n, doc, pads, base
    cdef int i
    cdef const Item *item
    cdef const uint32_t *ids
    if last > m.rows:
        last = m.rows
    for row in range(group * PAD_ROWS, last):
        base = row * m.width
        n = 0
        for i in range(m.n_items):
            n += m.items[i].n if m.items[i].kind == ITEM_SPECIAL else m.keep_a[row] if m.items[i].kind == 0 else m.keep_b[row]
        pads = m.width - n
        at = base
        if m.left_padding:
            _pad(m, at, pads)
            at += pads
        if m.out_attention != NULL:
            _fill(m.out_attention + at, n, 1)
        for i in range(m.n_items):
            item = &m.items[i]
            if item.kind == ITEM_SPECIAL:
                n = item.n
                ids = item.ids
            else:
                doc = row if item.kind == 0 else m.rows + row
                n = m.keep_a[row] if item.kind == 0 else m.keep_b[row]
                ids = m.ids[doc]
                if m.left_truncation:
                    ids += m.n[doc] - n
            _widen(m.out_ids + at, ids, n)
            if m.out_types != NULL:
                _fill(m.out_types + at, n, item.type_id)
            if m.out_special != NULL:
                _fill(m.out_special + at, n, item.kind == ITEM_SPECIAL)
            at += n
        if not m.left_padding:
            _pad(m, at, pads)


cdef inline void _pad(Matrix *m, int64_t at, int64_t n) noexcept nogil:
    _fill(m.out_ids + at, n, m.pad_id)
    if m.out_types != NULL:
        _fill(m.out_types + at, n, m.pad_type_id)
    if m.out_attention != NULL:
        _fill(m.out_attention + at, n, 0)
    if m.out_special != NULL:
        _fill(m.out_special + at, n, 1)


def encode_padded(Engine engine not None, settings, texts, pairs, truncation, length, multiple, str padding_side, pad_id, pad_type_id,
                  bint add_special_tokens, bint want_attention, bint want_types, bint want_special, par=None):
    """int64 matrices of rows: see Tokenizer.encode_batch_padded. truncation: (max_length, strategy, side) or None; length: fixed
    width or None. None where the post-processor has no row plan."""
    cdef RowPlan plan
    cdef Documents d, second
    cdef Encoded e = Encoded()
    cdef Matrix m
    cdef int64_t i, row, room = -1, added = 0, width = 0, begin = 0, failed = 0, limit = 0
    cdef Py_ssize_t first = 0
    cdef const int32_t *words
    cdef bint counted = False
    cdef int strategy = 0
    cdef bint is_pair = pairs is not None
    cdef cnp.npy_intp shape[2]
    cdef int64_t *n = NULL
    cdef const uint32_t **ids = NULL
    cdef int64_t *keep = NULL
    cdef Unit *u
    cdef int threads
    plan = settings.plan(is_pair, add_special_tokens)
    if plan is None:
        raise ValueError("this post-processor does not make rows of a fixed form: use encode_batch")
    d = documents_of(texts)
    memset(&m, 0, sizeof(m))
    m.rows = d.n
    if is_pair:
        second = documents_of(pairs, "pairs")
        if second.n != d.n:
            raise ValueError(f"texts and pairs differ in length: {d.n} and {second.n}")
        for i in range(second.n):
            d.add(second.docs[i].data, second.docs[i].size, second.docs[i].kind)
        d.bytes = d.bytes // 2 + second.bytes
        d.keep = (d.keep, second.keep)
    if truncation is not None:
        max_length, name, side = truncation
        added = settings.added(is_pair) if add_special_tokens else 0
        if max_length < added:
            raise ValueError(f"max_length is {max_length}, but the special tokens alone are {added}: use at least {added}")
        room = min(max_length, 1 << 60) - added
        strategy = {"longest_first": 0, "only_first": 1, "only_second": 2}[name]
        m.left_truncation = side == "left"
        # What is cut from a pair (and whether only_second can cut at all) depends on how far each sequence is read.
        counted = is_pair or strategy == 2
    e.cut = False
    if room >= 0 and not m.left_truncation and not (counted and strategy == 2):
        limit = (room + added if counted else room) or 1
    e.encode(engine, d, None, limit, False, counted, par, False)
    n = <int64_t *>malloc(<size_t>(d.n + 1) * 8)
    ids = <const uint32_t **>malloc(<size_t>(d.n + 1) * sizeof(void *))
    keep = <int64_t *>malloc(<size_t>(2 * m.rows + 1) * 8)
    try:
        if n == NULL or ids == NULL or keep == NULL:
            raise MemoryError("no memory for the rows")
        for i in range(e.n_units):
            u = &e.units[i]
            for row in range(u.first, u.last):
                n[row] = e.ends[row] - begin
                ids[row] = e.worker(u.thread).ids + u.at + (begin - u.row)
                if counted and not (strategy == 2 and row < m.rows):
                    words = e.worker(u.thread).words + u.at + (begin - u.row)
                    n[row] = kept_tokens(words, n[row], (room + added) or 1, m.left_truncation, &first)
                    ids[row] += first
                begin = e.ends[row]
        m.n = n
        m.ids = ids
        m.keep_a = keep
        m.keep_b = keep + m.rows
        m.items = plan.items
        m.n_items = plan.n_items
        m.left_padding = padding_side == "left"
        m.pad_id = pad_id
        m.pad_type_id = pad_type_id
        for row in range(m.rows):
            m.keep_a[row] = n[row]
            m.keep_b[row] = n[m.rows + row] if is_pair else 0
            if room >= 0:
                failed = truncated_lengths(&m.keep_a[row], &m.keep_b[row] if is_pair else NULL, room, strategy)
                if failed == 1:
                    raise Exception("Truncation error: Sequence to truncate too short to respect the provided max_length")
                if failed == 2:
                    raise Exception("Truncation error: Second sequence not provided")
            begin = plan.n_special
            for i in range(plan.n_items):
                if plan.items[i].kind != ITEM_SPECIAL:
                    begin += m.keep_a[row] if plan.items[i].kind == 0 else m.keep_b[row]
            if begin > width:
                width = begin
        if length is not None:
            if length < width:
                raise ValueError(f"a row has {width} tokens and does not fit a width of {length}: give max_length, or a larger one")
            width = length
        if multiple:
            i = multiple
            width += (i - width % i) % i             # C's %: its sign is the dividend's
        m.width = width
        shape[0] = m.rows
        shape[1] = width
        result = {}
        result["input_ids"] = _matrix(shape, &m.out_ids)
        if want_types:
            result["token_type_ids"] = _matrix(shape, &m.out_types)
        if want_attention:
            result["attention_mask"] = _matrix(shape, &m.out_attention)
        if want_special:
            result["special_tokens_mask"] = _matrix(shape, &m.out_special)
        i = (m.rows + PAD_ROWS - 1) // PAD_ROWS
        if m.rows * width < PARALLEL_CELLS:
            parallel_for(_write_rows, &m, i, 1)
        else:
            threads = parallel.threads_for(i, par)
            with nogil:
                parallel_for(_write_rows, &m, i, threads)
        return result
    finally:
        free(n)
        free(ids)
        free(keep)
        e.release()


cdef object _matrix(cnp.npy_intp *shape, int64_t **data):
    a = new_int64(2, shape)
    data[0] = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>a)
    return a
