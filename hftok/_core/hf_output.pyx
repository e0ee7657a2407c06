"""Rows of tokens as the columns of a transformers result: lists of Python ints, or int64 matrices.

What it does: writes input_ids, token_type_ids, attention_mask, special_tokens_mask, offset_mapping, length and
overflow_to_sample_mapping of rows that are laid out as numbers (`Rows`); every value once, matrices by several threads where
there are many rows. NumPy arrays are what torch tensors share.
Rule of the reference: `TokenizersBackend._convert_encoding` of transformers (which columns, in which order), padding as
Encoding::pad of the tokenizers library.
Left to others: which tokens a row has (hf_rows.pyx).
"""
cimport numpy as cnp
from cpython.list cimport PyList_New
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from hftok._core.array_memory cimport new_int64
from hftok._core.parallel cimport parallel_for
from hftok._core.pylist cimport fill_constant, fill_pairs, fill_u32, int_from_u64
from hftok._core.row_plan cimport ITEM_SPECIAL, Item

from hftok._core import cpu, parallel

cnp.import_array()

cdef extern from "matrix.h" nogil:
    void ht_repeat(int64_t *out, int64_t n, int64_t value, int tier)
    void ht_widen(int64_t *out, const uint32_t *values, int64_t n, int tier)
    void ht_mask(int64_t *out, int64_t ones, int64_t zeros, int tier)

cdef enum:
    GROUP = 256              # rows that one thread writes at a time
    MANY = 16                # rows from which on lists are made without the collector

cdef enum Column:
    IDS
    TYPES
    ATTENTION
    SPECIAL
    OFFSETS

cdef object _no_span = (0, 0)
cdef object _one = 1
cdef object _zero = 0
cdef object _from_numpy = None           # torch.from_numpy


cdef object output(Rows *r):
    global _from_numpy
    if r.want.tensors == LISTS:
        return _lists(r)
    if r.want.tensors == TORCH and _from_numpy is None:
        from torch import from_numpy
        _from_numpy = from_numpy
    return _matrices(r)


# ---------------------------------------------------------------------- matrices

cdef object _matrices(Rows *r):
    cdef cnp.npy_intp shape[3]
    cdef int64_t i, width
    cdef dict result = {}
    cdef int64_t *values
    cdef int threads
    width = width_of(r, 0)
    for i in range(r.n):
        if width_of(r, i) != width:
            return None
    if width == 0 and r.want.offsets:
        return None
    r.width = width
    shape[0] = r.n
    shape[1] = width
    shape[2] = 2
    result["input_ids"] = _matrix(r, 2, shape, &r.ids)
    if r.want.types:
        result["token_type_ids"] = _matrix(r, 2, shape, &r.types)
    if r.want.attention:
        result["attention_mask"] = _matrix(r, 2, shape, &r.attention)
    if r.want.special:
        result["special_tokens_mask"] = _matrix(r, 2, shape, &r.special)
    if r.want.offsets:
        result["offset_mapping"] = _matrix(r, 3, shape, &r.offsets)
    if r.want.length:
        result["length"] = _matrix(r, 1, shape, &values)
        for i in range(r.n):
            values[i] = width
    if r.want.overflow:
        result["overflow_to_sample_mapping"] = _matrix(r, 1, shape, &values)
        for i in range(r.n):
            values[i] = r.rows[i].sample
    r.no_types = r.types != NULL and r.pad_type_id == 0
    for i in range(r.n_items):
        if r.items[i].type_id:
            r.no_types = False
    i = (r.n + GROUP - 1) // GROUP
    if i == 1:
        _write_group(r, 0, 0)
    else:
        threads = parallel.threads_for(i, None)
        with nogil:
            parallel_for(_write_group, r, i, threads)
    return result["input_ids"] if r.want.only_ids else result


cdef object _matrix(const Rows *r, int dimensions, cnp.npy_intp *shape, int64_t **data):
    cdef object a = new_int64(dimensions, shape)
    data[0] = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>a)
    return _from_numpy(a) if r.want.tensors == TORCH else a


cdef int _tier = {"avx2": 1, "avx512": 2}.get(cpu.choose(), 0)


cdef inline void _fill(int64_t *p, int64_t n, int64_t value) noexcept nogil:
    ht_repeat(p, n, value, _tier)


cdef inline void _widen(int64_t *out, const uint32_t *values, int64_t n) noexcept nogil:
    ht_widen(out, values, n, _tier)


cdef inline void _pad(const Rows *r, int64_t at, int64_t n) noexcept nogil:
    """Padding in all matrices but the attention mask."""
    _fill(r.ids + at, n, r.pad_id)
    if r.types != NULL and not r.no_types:
        _fill(r.types + at, n, r.pad_type_id)
    if r.special != NULL:
        _fill(r.special + at, n, 1)
    if r.offsets != NULL:
        _fill(r.offsets + 2 * at, 2 * n, 0)


cdef void _write_group(void *ctx, int64_t group, int thread) noexcept nogil:
    cdef const Rows *r = <const Rows *>ctx
    # What every row asks for, read once: a store into a matrix might change *r, for all that the compiler knows.
    cdef int64_t *ids = r.ids
    cdef int64_t *types = NULL if r.no_types else r.types
    cdef int64_t *attention = r.attention
    cdef int64_t *special = r.special
    cdef int64_t *offsets = r.offsets
    cdef bint more = types != NULL or special != NULL or offsets != NULL
    cdef bint left = r.left_padding
    cdef int64_t width = r.width, i, first = group * GROUP, last = first + GROUP, at, n, from_, pads
    cdef const Item *items = r.items
    cdef const Item *item
    cdef const Item *behind = items + r.n_items
    cdef const Row *row
    cdef const Sequence *s
    if last > r.n:
        last = r.n
    if r.no_types:
        memset(r.types + first * width, 0, <size_t>((last - first) * width) * 8)
    for i in range(first, last):
        row = &r.rows[i]
        at = i * width
        pads = width - row.length
        if attention != NULL:
            if left:
                _fill(attention + at, pads, 0)
                _fill(attention + at + pads, row.length, 1)
            else:
                ht_mask(attention + at, row.length, pads, _tier)
        if left:
            _pad(r, at, pads)
            at += pads
        item = items
        while item != behind:
            if item.kind == ITEM_SPECIAL:
                n = item.n
                _widen(ids + at, item.ids, n)
                if offsets != NULL:
                    _fill(offsets + 2 * at, 2 * n, 0)
            else:
                s = &r.sequences[row.sample * r.per + item.kind]
                n = row.n_a if item.kind == 0 else row.n_b
                from_ = row.first_a if item.kind == 0 else row.first_b
                _widen(ids + at, s.ids + from_, n)
                if offsets != NULL:
                    _widen(offsets + 2 * at, row.spans_a if item.kind == 0 else row.spans_b, 2 * n)
            if more:
                if types != NULL:
                    _fill(types + at, n, item.type_id)
                if special != NULL:
                    _fill(special + at, n, item.kind == ITEM_SPECIAL)
            at += n
            item += 1
        if not left:
            if more:
                _pad(r, at, pads)
            else:
                _fill(ids + at, pads, r.pad_id)


# ---------------------------------------------------------------------- lists

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    static int hftok_collector_rests(void) { return 0; }
    #else
    static int hftok_collector_rests(void) { return PyGC_Disable(); }
    #endif
    """
    bint _collector_rests "hftok_collector_rests"()
    int PyGC_Enable()


cdef object _lists(Rows *r):
    """The rows as Python has them. While there are many to make the collector rests: it would look at all of them a dozen times, and
    nothing of it can be garbage. Nobody else runs meanwhile."""
    cdef bint rests = r.n > MANY and _collector_rests()
    try:
        return _columns(r)
    finally:
        if rests:
            PyGC_Enable()


cdef object _columns(Rows *r):
    cdef dict result
    cdef list rows
    cdef int64_t i
    if r.want.only_ids:
        return _column(r, IDS)
    result = {"input_ids": _column(r, IDS)}
    if r.want.types:
        result["token_type_ids"] = _column(r, TYPES)
    if r.want.attention:
        result["attention_mask"] = _column(r, ATTENTION)
    if r.want.special:
        result["special_tokens_mask"] = _column(r, SPECIAL)
    if r.want.offsets:
        result["offset_mapping"] = _column(r, OFFSETS)
    if r.want.length:
        rows = []
        for i in range(r.n):
            rows.append(width_of(r, i))
        result["length"] = rows
    if r.want.overflow:
        rows = []
        for i in range(r.n):
            rows.append(r.rows[i].sample)
        result["overflow_to_sample_mapping"] = rows
    return result


cdef list _column(Rows *r, Column column):
    cdef list rows
    cdef int64_t i
    if r.bare:
        return _list_of_row(r, &r.rows[0], column)
    rows = []
    for i in range(r.n):
        rows.append(_list_of_row(r, &r.rows[i], column))
    return rows


cdef list _list_of_row(Rows *r, const Row *row, Column column):
    cdef int64_t pads = r.width - row.length if r.pads and r.width > row.length else 0
    cdef Py_ssize_t at = 0
    cdef int k
    cdef int64_t n, first
    cdef const Item *item
    cdef const Sequence *s
    cdef list out = PyList_New(row.length + pads)
    if pads and r.left_padding:
        _pad_list(r, out, at, pads, column)
        at += pads
    if column == ATTENTION:
        fill_constant(out, at, _one, row.length)
        at += row.length
    else:
        for k in range(r.n_items):
            item = &r.items[k]
            if item.kind == ITEM_SPECIAL:
                n = item.n
            else:
                n = row.n_a if item.kind == 0 else row.n_b
            if column == TYPES:
                fill_constant(out, at, _one if item.type_id == 1 else _zero if item.type_id == 0 else int_from_u64(item.type_id), n)
            elif column == SPECIAL:
                fill_constant(out, at, _one if item.kind == ITEM_SPECIAL else _zero, n)
            elif item.kind == ITEM_SPECIAL:
                if column == IDS:
                    fill_u32(out, at, item.ids, n)
                else:
                    fill_constant(out, at, _no_span, n)
            else:
                first = row.first_a if item.kind == 0 else row.first_b
                s = &r.sequences[row.sample * r.per + item.kind]
                if column == IDS:
                    fill_u32(out, at, s.ids + first, n)
                else:
                    fill_pairs(out, at, row.spans_a if item.kind == 0 else row.spans_b, n)
            at += n
    if pads and not r.left_padding:
        _pad_list(r, out, at, pads, column)
    return out


cdef int _pad_list(Rows *r, list out, Py_ssize_t at, int64_t n, Column column) except -1:
    if column == IDS:
        return fill_constant(out, at, int_from_u64(r.pad_id), n)
    if column == TYPES:
        return fill_constant(out, at, int_from_u64(r.pad_type_id), n)
    if column == ATTENTION:
        return fill_constant(out, at, _zero, n)
    if column == SPECIAL:
        return fill_constant(out, at, _one, n)
    return fill_constant(out, at, _no_span, n)
