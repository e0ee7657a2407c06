"""The outputs of a transformers tokenizer's call, made from the engine's tokens without an Encoding in between.

What it does: a `Plan` is one call's settings, resolved; `run` takes texts (one, a batch, pairs of them, or words of them) and
gives the BatchEncoding that `TokenizersBackend._encode_plus` of transformers gives: lists of ints, or int64 matrices that
NumPy arrays and torch tensors share. Truncation, windows (overflow with stride) and padding are laid out as numbers first,
then every value is written once.
Rule of the reference: tokenization_utils_tokenizers.py (`_encode_plus`, `_convert_encoding`) for what is in the result and
in which order; truncate_encodings, Encoding::truncate and Encoding::merge_with of the tokenizers library for the rows.
Left to others: whatever is not of this simple form gives None, and the caller goes the way over Encoding objects
(hftok/hf/calls.py); arguments are resolved there too. Encodings of a result are made when somebody asks for them.
"""
cimport numpy as cnp
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE, PyList_New
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from hftok._core.documents cimport Documents
from hftok._core.engine cimport Engine
from hftok._core.parallel cimport parallel_for
from hftok._core.pylist cimport fill_constant, fill_pairs, fill_u32, int_from_u64
from hftok._core.row_plan cimport ITEM_SPECIAL, Item, RowPlan
from hftok._core.rows cimport Encoded
from hftok._core.truncation cimport kept_tokens, truncated_lengths
from hftok._core.worker cimport Worker

from hftok._core import encode as _encode
from hftok._core import parallel

cnp.import_array()

cdef enum:
    GROUP = 256              # rows that one thread writes at a time
    NOT_HERE = 1             # this input is for the other way
    READ_ON = 2              # token counts as the reference stops reading are needed

cdef object _none_pair = (0, 0)
cdef object _one = 1
cdef object _zero = 0
cdef object _batch_encoding_class = None  # transformers' BatchEncoding
cdef object _new = None                  # its __new__
cdef object _from_numpy = None           # torch.from_numpy


def connect(batch_encoding):
    """Give this module transformers' BatchEncoding."""
    global _batch_encoding_class, _new
    _batch_encoding_class = batch_encoding
    _new = batch_encoding.__new__


cdef struct Sequence:
    # Tokens of one sequence: of a text, or of the words of one.
    const uint32_t *ids
    const uint32_t *spans
    int64_t n


cdef struct Row:
    # One row of the result: a stretch of sequence A, and of B.
    int64_t sample           # which input it is of
    int64_t first_a
    int64_t n_a
    int64_t first_b
    int64_t n_b
    int64_t length           # with special tokens, without padding


cdef struct Rows:
    Sequence *sequences      # `per` for each sample
    int per
    Row *rows
    int64_t n
    int64_t capacity
    int64_t samples
    int bare                 # lists: one row, not in a list of rows
    int64_t width            # after padding, where rows are padded
    int64_t longest
    const Item *items
    int n_items
    int64_t n_special
    int pads
    int left_padding
    uint32_t pad_id
    uint32_t pad_type_id
    # Matrices, where wanted.
    int64_t *ids
    int64_t *types
    int64_t *attention
    int64_t *special
    int64_t *offsets


cdef class LazyEncodings:
    """The Encodings of a result, made when asked for: the call once more, over Encoding objects."""
    cdef Plan plan
    cdef object text
    cdef object pair
    cdef bint batched

    def make(self):
        """A list of Encoding, as BatchEncoding holds it."""
        cdef list encodings
        cdef object items
        cdef Plan p = self.plan
        if not self.batched:
            items = [(self.text, self.pair)] if self.pair is not None else [self.text]
        elif self.pair is not None:
            items = list(zip(self.text, self.pair))
        else:
            items = self.text
        encodings = _encode.encode_batch(p.engine, p.settings, items, p.is_split, p.add_special_tokens)
        if not p.want_overflow:
            return encodings
        return [e for encoding in encodings for e in (encoding, *encoding.overflowing)]


cdef class Plan:
    """The settings of a call, resolved. Made by hftok/hf/calls.py; never changed.

    engine, settings: what the backend encodes with. truncation: None or TruncationParams; padding: None or PaddingParams.
    names: model_input_names. tensors: None, "np" or "pt". warn_above: rows of more tokens are warned about, None: never.
    ValueError where no rows of this form can be made here.
    """

    def __init__(self, Engine engine not None, settings, truncation, padding, special_as_text, full_overflow, names, pad_token,
                 add_special_tokens, is_split, want_types, want_attention, want_special, want_offsets, want_length,
                 want_overflow, only_ids, tensors, warn_above):
        global _from_numpy
        self.engine = engine
        self.settings = settings
        self.truncation = truncation
        self.padding = padding
        self.special_as_text = special_as_text
        self.full_overflow = full_overflow
        self.names = names
        self.names_seen = tuple(names)
        self.pad_token = pad_token
        self.add_special_tokens = add_special_tokens
        self.is_split = is_split
        self.single = settings.plan(False, add_special_tokens)
        self.pair = settings.plan(True, add_special_tokens)
        if self.single is None or self.pair is None:
            raise ValueError("the post-processor does not make rows of a fixed form")
        self.sequences_single = _sequences_of(self.single)
        self.sequences_pair = _sequences_of(self.pair)
        self.want_types = want_types
        self.want_attention = want_attention
        self.want_special = want_special
        self.want_offsets = want_offsets
        self.want_length = want_length
        self.want_overflow = want_overflow
        self.only_ids = only_ids
        if want_offsets and (self.single.trims or self.pair.trims):
            raise ValueError("the post-processor trims offsets")
        self.max_length = -1
        if truncation is not None:
            self.max_length = min(truncation[0], 1 << 40)
            self.stride = min(truncation[1], 1 << 40)
            self.strategy = {"longest_first": 0, "only_first": 1, "only_second": 2}[truncation[2]]
            self.left_truncation = truncation[3] == "left"
            self.room_single = self.max_length - (settings.added(False) if add_special_tokens else 0)
            self.room_pair = self.max_length - (settings.added(True) if add_special_tokens else 0)
            if self.room_single <= self.stride or self.room_pair <= self.stride:
                raise ValueError("a length that leaves no room")
        if padding is not None:
            self.pads = True
            self.pad_length = -1 if padding[0] is None else min(padding[0], 1 << 40)
            self.left_padding = padding[1] == "left"
            self.pad_multiple = min(padding[2] or 0, 1 << 40)
            self.pad_id = padding[3]
            self.pad_type_id = padding[4]
        if tensors is None:
            self.tensors = LISTS
        elif tensors == "np":
            self.tensors = NUMPY
        elif tensors == "pt":
            self.tensors = TORCH
            if _from_numpy is None:
                from torch import from_numpy
                _from_numpy = from_numpy
        else:
            raise ValueError(f"no tensors of type {tensors!r} here")
        self.warn_above = -1 if warn_above is None else min(warn_above, 1 << 60)

    cdef object run(self, object tokenizer, object backend, bint is_shown, object text, object pair):
        """The result, or None where this input is for the other way. tokenizer: the transformers object; is_shown: its backend
        shows this plan's settings already."""
        cdef Documents d = Documents()
        cdef Rows r
        cdef bint batched = False
        cdef int64_t samples = 1
        cdef int64_t *ends = NULL
        cdef object result
        memset(&r, 0, sizeof(r))
        r.per = 1
        try:
            if not self.is_split:
                if PyUnicode_Check(text):
                    d.add_str(text)
                    if pair is not None:
                        if not PyUnicode_Check(pair):
                            return None
                        if len(pair):
                            d.add_str(pair)
                            r.per = 2
                        else:
                            pair = None
                else:
                    batched = True
                    if not isinstance(text, (list, tuple)) or not (pair is None or isinstance(pair, (list, tuple))):
                        return None
                    text = list(text)
                    samples = PyList_GET_SIZE(text)
                    if samples == 0:
                        return None
                    if pair is None:
                        if not _add_texts(d, text):
                            return None
                    else:
                        pair = list(pair)
                        if PyList_GET_SIZE(pair) != samples or not _add_pairs(d, text, pair):
                            return None
                        r.per = 2
            else:
                if not isinstance(text, (list, tuple)) or not (pair is None or isinstance(pair, (list, tuple))):
                    return None
                batched = len(text) > 0 and isinstance(text[0], (list, tuple))
                if not batched:
                    if not pair:
                        pair = None
                    text = list(text)
                    pair = None if pair is None else list(pair)
                else:
                    samples = len(text)
                    text = _words_of_all(text)
                    if text is None:
                        return None
                    if pair is not None:
                        pair = _words_of_all(pair)
                        if pair is None or len(pair) != samples:
                            return None
                r.per = 1 if pair is None else 2
                ends = <int64_t *>malloc(<size_t>(2 * samples + 1) * 8)
                if ends == NULL:
                    raise MemoryError("no memory for the words")
                if not _add_words(d, text, pair, batched, ends):
                    return None
            if not is_shown:
                backend._publish(self, self.truncation, self.padding, self.special_as_text, self.full_overflow)
            r.samples = samples
            r.bare = not batched and not self.want_overflow
            result = _rows(self, d, &r, ends, False)
            if result is READ_AGAIN:
                result = _rows(self, d, &r, ends, True)
            if result is None:
                return None
            if self.warn_above >= 0 and r.longest > self.warn_above:
                _warn(self, tokenizer, &r)
            if self.only_ids:
                return result
            return _batch_encoding(self, result, text, pair, batched, r.per == 2)
        finally:
            free(ends)
            free(r.sequences)
            free(r.rows)


cdef object _batch_encoding(Plan p, dict data, object text, object pair, bint batched, bint is_pair):
    cdef LazyEncodings lazy = LazyEncodings.__new__(LazyEncodings)
    cdef object made = _new(_batch_encoding_class)
    lazy.plan = p
    lazy.text = text
    lazy.pair = pair
    lazy.batched = batched
    made.data = data
    made._n_sequences = p.sequences_pair if is_pair else p.sequences_single
    made._lazy_encodings = lazy
    return made


cdef object _warn(Plan p, object tokenizer, Rows *r):
    """transformers looks at every row, in order; the first one that is too long is the one that the warning names."""
    cdef int64_t i, n
    for i in range(r.n):
        n = max(r.rows[i].length, r.width) if r.pads else r.rows[i].length
        if n > p.warn_above:
            tokenizer._eventual_warn_about_too_long_sequence(range(n), None, True)
            return None


cdef object _rows(Plan p, Documents d, Rows *r, int64_t *ends, bint as_stopped):
    """The dict of the result; None or READ_AGAIN. as_stopped: count tokens as the reference stops reading."""
    cdef Encoded e = Encoded()
    cdef RowPlan plan = p.pair if r.per == 2 else p.single
    cdef bint words = (as_stopped or p.want_overflow) and p.max_length >= 0 and not p.full_overflow
    cdef int64_t limit = 0
    cdef int found
    cdef uint32_t *flat = NULL
    cdef uint32_t *flat_spans = NULL
    if p.max_length >= 0 and not words and not p.left_truncation and not p.full_overflow and ends == NULL:
        limit = p.max_length
    try:
        e.encode(p.engine, d, None, limit, p.want_offsets, words, None, False)
        found = _sequences(p, e, r, ends, words, &flat, &flat_spans)
        if found == NOT_HERE:
            return None
        r.items = plan.items
        r.n_items = plan.n_items
        r.n_special = plan.n_special
        found = _layout(p, r, words)
        if found == READ_ON:
            return READ_AGAIN
        if found == NOT_HERE:
            return None
        if p.tensors != LISTS:
            return _matrices(p, r)
        return _lists(p, r)
    finally:
        free(flat)
        free(flat_spans)
        e.release()


cdef object _matrices(Plan p, Rows *r):
    cdef cnp.npy_intp shape[3]
    cdef int64_t i, width
    cdef dict result = {}
    cdef int64_t *values
    cdef int threads
    width = max(r.rows[0].length, r.width) if r.pads else r.rows[0].length
    for i in range(r.n):
        if (max(r.rows[i].length, r.width) if r.pads else r.rows[i].length) != width:
            return None
    if width == 0 and p.want_offsets:
        return None
    r.width = width
    shape[0] = r.n
    shape[1] = width
    shape[2] = 2
    result["input_ids"] = _matrix(p, 2, shape, &r.ids)
    if p.only_ids:
        _write_group(r, 0, 0)
        for i in range(1, (r.n + GROUP - 1) // GROUP):
            _write_group(r, i, 0)
        return result["input_ids"]
    if p.want_types:
        result["token_type_ids"] = _matrix(p, 2, shape, &r.types)
    if p.want_attention:
        result["attention_mask"] = _matrix(p, 2, shape, &r.attention)
    if p.want_special:
        result["special_tokens_mask"] = _matrix(p, 2, shape, &r.special)
    if p.want_offsets:
        result["offset_mapping"] = _matrix(p, 3, shape, &r.offsets)
    if p.want_length:
        result["length"] = _matrix(p, 1, shape, &values)
        for i in range(r.n):
            values[i] = width
    if p.want_overflow:
        result["overflow_to_sample_mapping"] = _matrix(p, 1, shape, &values)
        for i in range(r.n):
            values[i] = r.rows[i].sample
    i = (r.n + GROUP - 1) // GROUP
    if i == 1:
        _write_group(r, 0, 0)
    else:
        threads = parallel.threads_for(i, None)
        with nogil:
            parallel_for(_write_group, r, i, threads)
    return result


cdef object _matrix(Plan p, int dimensions, cnp.npy_intp *shape, int64_t **data):
    cdef object a = cnp.PyArray_EMPTY(dimensions, shape, cnp.NPY_INT64, 0)
    data[0] = <int64_t *>cnp.PyArray_DATA(<cnp.ndarray>a)
    return _from_numpy(a) if p.tensors == TORCH else a


cdef object _lists(Plan p, Rows *r):
    cdef dict result
    cdef list rows
    cdef int64_t i
    if p.only_ids:
        return _column(r, IDS)
    result = {"input_ids": _column(r, IDS)}
    if p.want_types:
        result["token_type_ids"] = _column(r, TYPES)
    if p.want_attention:
        result["attention_mask"] = _column(r, ATTENTION)
    if p.want_special:
        result["special_tokens_mask"] = _column(r, SPECIAL)
    if p.want_offsets:
        result["offset_mapping"] = _column(r, OFFSETS)
    if p.want_length:
        rows = []
        for i in range(r.n):
            rows.append(max(r.rows[i].length, r.width) if r.pads else r.rows[i].length)
        result["length"] = rows
    if p.want_overflow:
        rows = []
        for i in range(r.n):
            rows.append(r.rows[i].sample)
        result["overflow_to_sample_mapping"] = rows
    return result


cdef object READ_AGAIN = object()


cdef object _sequences_of(RowPlan plan):
    """Encoding.n_sequences of such a row: the sequences whose ranges are recorded, 1 where none is."""
    cdef int i, a = 0, b = 0
    if not plan.ranges:
        return 1
    for i in range(plan.n_items):
        if plan.items[i].kind == 0:
            a = 1
        elif plan.items[i].kind == 1:
            b = 1
    return a + b or 1


# ---------------------------------------------------------------------- inputs

cdef bint _add_texts(Documents d, list texts) except -1:
    cdef Py_ssize_t i
    cdef object text
    for i in range(PyList_GET_SIZE(texts)):
        text = <object>PyList_GET_ITEM(texts, i)
        if not PyUnicode_Check(text):
            return False
        d.add_str(text)
    d.keep = texts
    return True


cdef bint _add_pairs(Documents d, list texts, list pairs) except -1:
    cdef Py_ssize_t i
    cdef object a, b
    for i in range(PyList_GET_SIZE(texts)):
        a = <object>PyList_GET_ITEM(texts, i)
        b = <object>PyList_GET_ITEM(pairs, i)
        if not PyUnicode_Check(a) or not PyUnicode_Check(b):
            return False
        d.add_str(a)
        d.add_str(b)
    d.keep = (texts, pairs)
    return True


cdef list _words_of_all(object rows):
    """Rows of words as lists of their own; None where one is no row of words."""
    cdef list result = []
    for row in rows:
        if not isinstance(row, (list, tuple)):
            return None
        result.append(list(row))
    return result


cdef bint _add_words(Documents d, list text, list pair, bint batched, int64_t *ends) except -1:
    cdef Py_ssize_t i, n = len(text) if batched else 1
    cdef Py_ssize_t k = 0
    cdef list words
    for i in range(n):
        words = <list>text[i] if batched else text
        for word in words:
            if not PyUnicode_Check(word):
                return False
            d.add_str(word)
        ends[k] = d.n
        k += 1
        if pair is not None:
            words = <list>pair[i] if batched else pair
            for word in words:
                if not PyUnicode_Check(word):
                    return False
                d.add_str(word)
            ends[k] = d.n
            k += 1
    d.keep = (text, pair)
    return True


# ---------------------------------------------------------------------- layout

cdef int _sequences(Plan p, Encoded e, Rows *r, int64_t *ends, bint words, uint32_t **flat, uint32_t **flat_spans) except -1:
    """Where each sequence's tokens are. ends: per sequence the end of its documents, NULL where each is one document."""
    cdef int64_t n = r.samples * r.per, k, doc = 0, last, at = 0, u = 0
    cdef const Worker *w = NULL
    cdef Sequence *s
    cdef Py_ssize_t first
    cdef int64_t begin, end, limit
    cdef bint spans = p.want_offsets
    cdef bint inside
    r.sequences = <Sequence *>realloc(r.sequences, <size_t>(n + 1) * sizeof(Sequence))
    if r.sequences == NULL:
        raise MemoryError("no memory for the sequences")
    for k in range(n):
        s = &r.sequences[k]
        last = doc + 1 if ends == NULL else ends[k]
        begin = at
        end = e.ends[last - 1] if last > doc else at
        while u < e.n_units and e.units[u].row + e.units[u].n <= begin and u + 1 < e.n_units:
            u += 1
        inside = e.n_units == 0 or end <= e.units[u].row + e.units[u].n
        if inside:
            if e.n_units == 0:
                s.ids = s.spans = NULL
            else:
                w = e.worker(e.units[u].thread)
                s.ids = w.ids + e.units[u].at + (begin - e.units[u].row)
                s.spans = w.spans + 2 * (e.units[u].at + (begin - e.units[u].row)) if spans else NULL
        else:
            # The sequence lies in several workers' buffers: lay all tokens of the call side by side, once.
            if flat[0] == NULL:
                _flatten(e, spans, flat, flat_spans)
            s.ids = flat[0] + begin
            s.spans = flat_spans[0] + 2 * begin if spans else NULL
        s.n = end - begin
        if words and s.n:
            if not inside:
                return NOT_HERE
            # A sequence that the strategy does not cut is read to its end (do_tokenize in the tokenizers library).
            limit = 0 if p.strategy == 2 and k % r.per == 0 else p.max_length
            if ends == NULL:
                s.n = kept_tokens(w.words + e.units[u].at + (begin - e.units[u].row), s.n, limit, p.left_truncation, &first)
                s.ids += first
                if spans:
                    s.spans += 2 * first
            elif limit:
                # Each word is read by itself, up to the limit.
                for doc in range(doc, last):
                    if e.ends[doc] - (e.ends[doc - 1] if doc else 0) >= limit:
                        return NOT_HERE
        at = end
        doc = last
    return 0


cdef int _flatten(Encoded e, bint spans, uint32_t **flat, uint32_t **flat_spans) except -1:
    cdef int64_t i, k
    cdef const Worker *w
    flat[0] = <uint32_t *>malloc(<size_t>(e.total + 1) * 4)
    if spans:
        flat_spans[0] = <uint32_t *>malloc(<size_t>(e.total + 1) * 8)
    if flat[0] == NULL or (spans and flat_spans[0] == NULL):
        raise MemoryError("no memory for the tokens")
    e.copy_ids(0, e.total, flat[0])
    if spans:
        for i in range(e.n_units):
            w = e.worker(e.units[i].thread)
            for k in range(2 * e.units[i].n):
                flat_spans[0][2 * e.units[i].row + k] = w.spans[2 * e.units[i].at + k]
    return 0


cdef int _add_row(Rows *r, int64_t sample, int64_t first_a, int64_t n_a, int64_t first_b, int64_t n_b) except -1:
    cdef Row *row
    cdef Row *rows
    cdef int64_t capacity
    cdef int i
    if r.n == r.capacity:
        capacity = r.capacity * 2 if r.capacity else r.samples
        rows = <Row *>realloc(r.rows, <size_t>capacity * sizeof(Row))
        if rows == NULL:
            raise MemoryError("no memory for the rows")
        r.rows = rows
        r.capacity = capacity
    row = &r.rows[r.n]
    row.sample = sample
    row.first_a = first_a
    row.n_a = n_a
    row.first_b = first_b
    row.n_b = n_b
    row.length = r.n_special
    for i in range(r.n_items):
        if r.items[i].kind == 0:
            row.length += n_a
        elif r.items[i].kind == 1:
            row.length += n_b
    if row.length > r.longest:
        r.longest = row.length
    r.n += 1
    return 0


cdef int _layout(Plan p, Rows *r, bint stopped) except -1:
    """The rows: which stretch of which sequence, and how wide. 0, or why not."""
    cdef int64_t k, n_a, n_b, keep_a, keep_b, room, first_width = 0
    cdef bint is_pair = r.per == 2
    cdef bint both
    r.n = 0
    r.longest = 0
    room = p.room_pair if is_pair else p.room_single
    for k in range(r.samples):
        n_a = r.sequences[k * r.per].n
        n_b = r.sequences[k * r.per + 1].n if is_pair else 0
        keep_a = n_a
        keep_b = n_b
        if p.max_length >= 0 and n_a + n_b > room:
            if is_pair and p.strategy == 0 and not stopped and not p.full_overflow and room & 1 and n_a >= p.max_length \
                    and n_b >= p.max_length:
                # Which sequence gets the odd token depends on where the reference stops reading them.
                return READ_ON
            if truncated_lengths(&keep_a, &keep_b if is_pair else NULL, room, p.strategy):
                return NOT_HERE      # an error, which the other way raises
        if not p.want_overflow or (keep_a == n_a and keep_b == n_b):
            _add_row(r, k, n_a - keep_a if p.left_truncation else 0, keep_a, n_b - keep_b if p.left_truncation else 0, keep_b)
        elif keep_b == n_b:
            if not _windows(p, r, k, n_a, keep_a, True, n_b):
                return NOT_HERE
        elif keep_a == n_a:
            if not _windows(p, r, k, n_b, keep_b, False, n_a):
                return NOT_HERE
        else:
            return NOT_HERE
    r.pads = p.pads
    if p.pads:
        r.left_padding = p.left_padding
        r.pad_id = p.pad_id
        r.pad_type_id = p.pad_type_id
        r.width = r.longest if p.pad_length < 0 else p.pad_length
        if p.pad_multiple:
            r.width += (p.pad_multiple - r.width % p.pad_multiple) % p.pad_multiple
        if r.width > 1 << 40:
            raise MemoryError(f"no memory to pad to {r.width} tokens")
        if r.width > r.longest:
            r.longest = r.width
    return 0


cdef bint _windows(Plan p, Rows *r, int64_t sample, int64_t n, int64_t size, bint of_a, int64_t other) except -1:
    """The windows of a sequence of n tokens that is cut to `size` (reference: Encoding::truncate): each begins stride tokens
    before the end of the one before; the first is the row itself, the others are its overflow."""
    cdef int64_t step = size - p.stride, start, stop
    if size <= 0 or step <= 0:
        return False
    if not p.left_truncation:
        start = 0
        while True:
            stop = start + size
            if stop > n:
                stop = n
            if of_a:
                _add_row(r, sample, start, stop - start, 0, other)
            else:
                _add_row(r, sample, 0, other, start, stop - start)
            if stop == n:
                return True
            start += step
    stop = n
    while True:
        start = stop - size
        if start < 0:
            start = 0
        if of_a:
            _add_row(r, sample, start, stop - start, 0, other)
        else:
            _add_row(r, sample, 0, other, start, stop - start)
        if start == 0:
            return True
        stop -= step


# ---------------------------------------------------------------------- matrices

cdef inline void _fill(int64_t *p, int64_t n, int64_t value) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        p[i] = value


cdef inline void _widen(int64_t *out, const uint32_t *values, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = values[i]


cdef inline void _pad(Rows *r, int64_t at, int64_t n) noexcept nogil:
    _fill(r.ids + at, n, r.pad_id)
    if r.types != NULL:
        _fill(r.types + at, n, r.pad_type_id)
    if r.attention != NULL:
        _fill(r.attention + at, n, 0)
    if r.special != NULL:
        _fill(r.special + at, n, 1)
    if r.offsets != NULL:
        _fill(r.offsets + 2 * at, 2 * n, 0)


cdef void _write_group(void *ctx, int64_t group, int thread) noexcept nogil:
    cdef Rows *r = <Rows *>ctx
    cdef int64_t i, last = (group + 1) * GROUP, at, n, first
    cdef int k
    cdef const Item *item
    cdef const Row *row
    cdef const Sequence *s
    if last > r.n:
        last = r.n
    for i in range(group * GROUP, last):
        row = &r.rows[i]
        at = i * r.width
        if r.left_padding:
            _pad(r, at, r.width - row.length)
            at += r.width - row.length
        if r.attention != NULL:
            _fill(r.attention + at, row.length, 1)
        for k in range(r.n_items):
            item = &r.items[k]
            if item.kind == ITEM_SPECIAL:
                n = item.n
                _widen(r.ids + at, item.ids, n)
                if r.offsets != NULL:
                    _fill(r.offsets + 2 * at, 2 * n, 0)
            else:
                s = &r.sequences[row.sample * r.per + item.kind]
                n = row.n_a if item.kind == 0 else row.n_b
                first = row.first_a if item.kind == 0 else row.first_b
                _widen(r.ids + at, s.ids + first, n)
                if r.offsets != NULL:
                    _widen(r.offsets + 2 * at, s.spans + 2 * first, 2 * n)
            if r.types != NULL:
                _fill(r.types + at, n, item.type_id)
            if r.special != NULL:
                _fill(r.special + at, n, item.kind == ITEM_SPECIAL)
            at += n
        if not r.left_padding:
            _pad(r, at, r.width - row.length)


# ---------------------------------------------------------------------- lists

cdef enum Column:
    IDS
    TYPES
    ATTENTION
    SPECIAL
    OFFSETS


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
                    fill_constant(out, at, _none_pair, n)
            else:
                first = row.first_a if item.kind == 0 else row.first_b
                s = &r.sequences[row.sample * r.per + item.kind]
                if column == IDS:
                    fill_u32(out, at, s.ids + first, n)
                else:
                    fill_pairs(out, at, s.spans + 2 * first, n)
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
    return fill_constant(out, at, _none_pair, n)
