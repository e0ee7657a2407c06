"""The rows of a transformers tokenizer's call, made from the engine's tokens without an Encoding in between.

What it does: a `Plan` is one call's settings, resolved; `run` takes texts (one, a batch, pairs of them, or words of them) and
gives the BatchEncoding that `TokenizersBackend._encode_plus` of transformers gives: lists of ints, or int64 matrices that
NumPy arrays and torch tensors share. Truncation, windows (overflow with stride) and padding are laid out as numbers here;
hf_output.pyx writes the values.
Rule of the reference: `TokenizersBackend._encode_plus` of transformers for the inputs; truncate_encodings,
Encoding::truncate and Encoding::merge_with of the tokenizers library for the rows.
Left to others: whatever is not of this simple form gives None, and the caller goes the way over Encoding objects
(hftok/hf/calls.py); arguments are resolved there too. Encodings of a result are made when somebody asks for them.
"""
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from hftok._core.documents cimport Documents, Unit
from hftok._core.engine cimport SHORT, Engine, WorkerBox
from hftok._core.hf_output cimport LISTS, NUMPY, TORCH, Row, Rows, Sequence, output, width_of
from hftok._core.row_plan cimport RowPlan
from hftok._core.rows cimport Encoded
from hftok._core.truncation cimport kept_tokens, truncated_lengths
from hftok._core.worker cimport Worker

from hftok._core import encode as _encode

cdef enum:
    NOT_HERE = 1             # this input is for the other way
    READ_ON = 2              # token counts as the reference stops reading are needed
    FEW = 64                 # sequences of a call that are laid out on the stack
    UNKNOWN = 255            # spaces of a token that are not known here

cdef extern from *:
    # A new instance, without __init__.
    """
    static PyObject *hftok_new(PyObject *type, PyObject *args) { return ((PyTypeObject *)type)->tp_new((PyTypeObject *)type, args, NULL); }
    """
    object hftok_new(object type, object args)

cdef object _batch_encoding_class = None  # transformers' BatchEncoding
cdef object _no_arguments = ()


def connect(batch_encoding):
    """Give this module transformers' BatchEncoding."""
    global _batch_encoding_class
    if not isinstance(batch_encoding, type):
        raise TypeError(f"{batch_encoding!r} is no class")
    _batch_encoding_class = batch_encoding


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
        if not p.want.overflow:
            return encodings
        return [e for encoding in encodings for e in (encoding, *encoding.overflowing)]


cdef class Plan:
    """The settings of a call, resolved. Made by hftok/hf/calls.py; never changed.

    engine, settings: what the backend encodes with. truncation: None or TruncationParams; padding: None or PaddingParams.
    names: model_input_names. tensors: None, "np" or "pt". warn_above: rows of more tokens are warned about, None: never.
    trim_table: where offsets are wanted and the post-processor trims them. takes_one, takes_batches: other
    inputs are for the other way.
    ValueError where no rows of this form can be made here.
    """

    def __init__(self, Engine engine not None, settings, truncation, padding, special_as_text, full_overflow, names, pad_token,
                 add_special_tokens, is_split, want_types, want_attention, want_special, want_offsets, want_length,
                 want_overflow, only_ids, tensors, warn_above, TrimTable trim_table=None, takes_one=True,
                 takes_batches=True):
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
        self.takes_one = takes_one
        self.takes_batches = takes_batches
        self.single = settings.plan(False, add_special_tokens)
        self.pair = settings.plan(True, add_special_tokens)
        if self.single is None or self.pair is None:
            raise ValueError("the post-processor does not make rows of a fixed form")
        self.sequences_single = _sequences_of(self.single)
        self.sequences_pair = _sequences_of(self.pair)
        memset(&self.want, 0, sizeof(self.want))
        self.want.types = want_types and not only_ids
        self.want.attention = want_attention and not only_ids
        self.want.special = want_special and not only_ids
        self.want.offsets = want_offsets and not only_ids
        self.want.length = want_length and not only_ids
        self.want.overflow = want_overflow
        self.want.only_ids = only_ids
        self.takes_short = takes_one and not is_split and not self.want.offsets and not want_overflow
        if self.want.offsets and (self.single.trims or self.pair.trims):
            stages = trimming_stages(settings.post_processor)
            if len(stages) != 1 or trim_table is None:
                raise ValueError("the post-processor trims offsets more than once")
            self.trim = trim_table
            self.first_space_is_a_prefix = stages[0]
        self.max_length = -1
        if truncation is not None:
            self.max_length = min(truncation[0], 1 << 40)
            self.stride = min(truncation[1], 1 << 40)
            self.strategy = {"longest_first": 0, "only_first": 1, "only_second": 2}[truncation[2]]
            self.left_truncation = truncation[3] == "left"
            self.room_single = self.max_length - (settings.added(False) if add_special_tokens else 0)
            self.room_pair = self.max_length - (settings.added(True) if add_special_tokens else 0)
        if padding is not None:
            self.pads = True
            self.pad_length = -1 if padding[0] is None else min(padding[0], 1 << 40)
            self.left_padding = padding[1] == "left"
            self.pad_multiple = min(padding[2] or 0, 1 << 40)
            self.pad_id = padding[3]
            self.pad_type_id = padding[4]
        if tensors is None:
            self.want.tensors = LISTS
        elif tensors == "np":
            self.want.tensors = NUMPY
        elif tensors == "pt":
            self.want.tensors = TORCH
        else:
            raise ValueError(f"no tensors of type {tensors!r} here")
        self.warn_above = -1 if warn_above is None else min(warn_above, 1 << 60)

    cdef object run(self, object tokenizer, object backend, bint is_shown, object text, object pair):
        """The result, or None where this input is for the other way. tokenizer: the transformers object; is_shown: its backend
        shows this plan's settings already."""
        cdef Documents d
        cdef Rows r
        cdef bint batched = False
        cdef int64_t samples = 1
        cdef int64_t *ends = NULL
        cdef object result
        cdef Sequence few_sequences[FEW]
        cdef Row few_rows[FEW]
        memset(&r, 0, sizeof(r))
        r.want = self.want
        r.per = 1
        if pair is None and self.takes_short and PyUnicode_Check(text) and PyUnicode_GET_LENGTH(text) <= SHORT:
            if not is_shown:
                backend._publish(self, self.truncation, self.padding, self.special_as_text, self.full_overflow)
            result = _row_of_short(self, &r, text)
            if result is not None and self.warn_above >= 0 and r.longest > self.warn_above:
                tokenizer._eventual_warn_about_too_long_sequence(range(r.longest), None, True)
            if result is None or self.want.only_ids:
                return result
            return _batch_encoding(self, result, text, None, False, False)
        d = Documents()
        try:
            if not self.is_split:
                if PyUnicode_Check(text):
                    if not self.takes_one:
                        return None
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
                    if not self.takes_batches:
                        return None
                    if not isinstance(text, (list, tuple)) or not (pair is None or isinstance(pair, (list, tuple))):
                        return None
                    text = list(text)
                    samples = PyList_GET_SIZE(text)
                    if samples == 0:
                        return None
                    if pair is None and not PyUnicode_Check(<object>PyList_GET_ITEM(text, 0)):
                        split = _texts_of_pairs(text)
                        if split is None:
                            return None
                        text, pair = split
                    if pair is None:
                        if d.add_list(text) < samples:
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
                if not (self.takes_batches if batched else self.takes_one):
                    return None
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
            r.bare = not batched and not self.want.overflow
            if samples * r.per <= FEW and not self.want.overflow:
                r.sequences = few_sequences
                r.rows = few_rows
                r.capacity = FEW
            result = _rows(self, d, &r, ends, False)
            if result is READ_AGAIN:
                result = _rows(self, d, &r, ends, True)
            if result is None:
                return None
            if self.warn_above >= 0 and r.longest > self.warn_above:
                _warn(self, tokenizer, &r)
            if self.want.only_ids:
                return result
            return _batch_encoding(self, result, text, pair, batched, r.per == 2)
        finally:
            free(ends)
            if r.sequences != few_sequences:
                free(r.sequences)
                free(r.rows)


cdef object _batch_encoding(Plan p, dict data, object text, object pair, bint batched, bint is_pair):
    cdef LazyEncodings lazy = LazyEncodings.__new__(LazyEncodings)
    cdef object made = hftok_new(_batch_encoding_class, _no_arguments)
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
        n = width_of(r, i)
        if n > p.warn_above:
            tokenizer._eventual_warn_about_too_long_sequence(range(n), None, True)
            return None


cdef object _rows(Plan p, Documents d, Rows *r, int64_t *ends, bint as_stopped):
    """The dict of the result; None or READ_AGAIN. as_stopped: count tokens as the reference stops reading."""
    cdef Encoded e = Encoded()
    cdef RowPlan plan = p.pair if r.per == 2 else p.single
    cdef bint words = (as_stopped or p.want.overflow) and p.max_length >= 0 and not p.full_overflow
    cdef int64_t limit = 0
    cdef int found
    cdef uint32_t *flat = NULL
    cdef uint32_t *flat_spans = NULL
    cdef uint32_t *trimmed = NULL
    if p.max_length >= 0 and not words and not p.left_truncation and ends == NULL \
            and (not p.full_overflow or (r.per == 1 and not p.want.overflow)):
        limit = p.max_length
    try:
        e.encode(p.engine, d, None, limit, p.want.offsets, words, None, False)
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
        if p.want.offsets and not _spans(p, r, &trimmed):
            return None
        return output(r)
    finally:
        free(trimmed)
        free(flat)
        free(flat_spans)
        e.release()


cdef object _row_of_short(Plan p, Rows *r, object text):
    """`_rows` of one short text, of which no offsets and no windows are wanted."""
    cdef WorkerBox box
    cdef Sequence sequence
    cdef Row row
    cdef int64_t end = 0
    box = p.engine.checkout(1)
    try:
        p.engine.encode_short(box, text, None, p.max_length if p.max_length >= 0 and not p.left_truncation else 0, &end)
        sequence.ids = box.w.ids
        sequence.spans = NULL
        sequence.n = box.w.n_ids
        r.sequences = &sequence
        r.rows = &row
        r.capacity = r.samples = 1
        r.bare = True
        r.items = p.single.items
        r.n_items = p.single.n_items
        r.n_special = p.single.n_special
        return None if _layout(p, r, False) else output(r)
    finally:
        r.sequences = NULL
        r.rows = NULL
        p.engine.checkin(box)


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


cdef tuple _texts_of_pairs(list rows):
    """Pairs of texts as two lists; None where one is no pair."""
    cdef list a = [], b = []
    for row in rows:
        if not isinstance(row, (list, tuple)) or len(row) != 2:
            return None
        a.append(row[0])
        b.append(row[1])
    return a, b


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
    cdef bint spans = p.want.offsets
    cdef bint inside
    if r.sequences == NULL:
        r.sequences = <Sequence *>malloc(<size_t>(n + 1) * sizeof(Sequence))
        if r.sequences == NULL:
            raise MemoryError("no memory for the sequences")
    if ends == NULL and not words and _whole_documents(e, r, spans):
        return 0
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


cdef bint _whole_documents(Encoded e, Rows *r, bint spans):
    """`_sequences` where each one is a document and none was cut into units; False: one was."""
    cdef int64_t u, k, at, begin = 0
    cdef const Unit *unit
    cdef const Worker *w
    cdef Sequence *s
    for u in range(e.n_units):
        if not (e.units[u].begins and e.units[u].finishes):
            return False
    for u in range(e.n_units):
        unit = &e.units[u]
        w = e.worker(unit.thread)
        for k in range(unit.first, unit.last):
            s = &r.sequences[k]
            at = unit.at + (begin - unit.row)
            s.ids = w.ids + at
            s.spans = w.spans + 2 * at if spans else NULL
            s.n = e.ends[k] - begin
            begin = e.ends[k]
    return True


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


cdef inline int _add_row(Rows *r, int64_t sample, int64_t first_a, int64_t n_a, int64_t first_b, int64_t n_b) except -1:
    cdef Row *row
    if r.n == r.capacity:
        _more_rows(r)
    row = &r.rows[r.n]
    row.sample = sample
    row.first_a = first_a
    row.n_a = n_a
    row.first_b = first_b
    row.n_b = n_b
    row.length = r.n_special + r.times_a * n_a + r.times_b * n_b
    if row.length > r.longest:
        r.longest = row.length
    r.n += 1
    return 0


cdef int _more_rows(Rows *r) except -1:
    cdef int64_t capacity = r.capacity * 2 if r.capacity else r.samples
    cdef Row *rows = <Row *>realloc(r.rows, <size_t>capacity * sizeof(Row))
    if rows == NULL:
        raise MemoryError("no memory for the rows")
    r.rows = rows
    r.capacity = capacity
    return 0


cdef int64_t _uncut_rows(Rows *r, int64_t most) except -1:
    """Rows of one sequence each, up to the first one of more than `most` tokens; their number."""
    cdef int64_t k, n, longest = 0, more = r.n_special
    cdef int64_t times = r.times_a
    cdef const Sequence *s = r.sequences
    cdef Row *row
    while r.capacity < r.samples:
        _more_rows(r)
    row = r.rows
    for k in range(r.samples):
        n = s[k].n
        if n > most:
            break
        row.sample = k
        row.n_a = n
        row.first_a = row.first_b = row.n_b = 0
        row.length = more + times * n
        if row.length > longest:
            longest = row.length
        row += 1
    else:
        k = r.samples
    r.n = k
    r.longest = longest
    return k


cdef int _layout(Plan p, Rows *r, bint stopped) except -1:
    """The rows: which stretch of which sequence, and how wide. 0, or why not."""
    cdef int64_t k, n_a, n_b, keep_a, keep_b, room, first_width = 0
    cdef bint is_pair = r.per == 2
    cdef bint both
    r.n = 0
    r.longest = 0
    r.times_a = r.times_b = 0
    for k in range(r.n_items):
        r.times_a += r.items[k].kind == 0
        r.times_b += r.items[k].kind == 1
    room = p.room_pair if is_pair else p.room_single
    if p.max_length >= 0 and room <= 0:
        return NOT_HERE
    k = 0 if is_pair else _uncut_rows(r, room if p.max_length >= 0 else INT64_MAX)
    for k in range(k, r.samples):
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
            if (0 < keep_a <= p.stride and keep_a < n_a) or (0 < keep_b <= p.stride and keep_b < n_b):
                return NOT_HERE      # the reference gives up (Encoding::truncate)
        if not p.want.overflow or (keep_a == n_a and keep_b == n_b):
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


# ---------------------------------------------------------------------- offsets

def trimming_stages(spec):
    """For each processor of a spec that trims offsets: whether it takes a first space for one that was put there.

    >>> trimming_stages(("Sequence", (("ByteLevel", True, True, True), ("TemplateProcessing",))))
    [True]
    """
    if spec is None:
        return []
    if spec[0] == "Sequence":
        return [stage for part in spec[1] for stage in trimming_stages(part)]
    if spec[0] == "ByteLevel":
        return [spec[1]] if spec[2] else []
    if spec[0] == "RobertaProcessing":
        return [spec[4]] if spec[3] else []
    return []


cdef inline bint _is_space(Py_UCS4 c) noexcept:
    # U+0120 stands for a space in byte-level tokens; the rest is Rust's char::is_whitespace (White_Space).
    if c < 0x80:
        return c == 0x20 or 9 <= c <= 13
    return (c == 0x120 or c == 0x85 or c == 0xA0 or c == 0x1680 or 0x2000 <= c <= 0x200A or c == 0x2028 or c == 0x2029
            or c == 0x202F or c == 0x205F or c == 0x3000)


cdef class TrimTable:
    """How many spaces each token of the vocabulary begins and ends with (reference: process_offsets in pre_tokenizers/
    byte_level.rs). Tokens whose string is not known before the text is (added tokens that take blanks with them) are marked.

    engine: whose vocabulary. added: (id, content, takes blanks) of the added tokens.
    """

    def __init__(self, Engine engine not None, added):
        cdef list strings = engine.strings()
        cdef Py_ssize_t i, k, n
        cdef str token
        self.n = len(strings)
        for id, content, takes_blanks in added:
            self.n = max(self.n, id + 1)
        if not strings or self.n > 4 * len(strings) + 1024:
            raise ValueError("ids without order")
        if engine.pipeline.model.text_values:
            raise ValueError("tokens with strings of their own")
        self.leading = <uint8_t *>calloc(<size_t>self.n + 1, 1)
        self.trailing = <uint8_t *>calloc(<size_t>self.n + 1, 1)
        if self.leading == NULL or self.trailing == NULL:
            raise MemoryError("no memory for the spaces of tokens")
        for i in range(len(strings)):
            if strings[i] is None:
                continue
            token = <str>strings[i]
            n = len(token)
            if n == 0 or not (_is_space(token[0]) or _is_space(token[n - 1])):
                continue
            k = 0
            while k < n and k < UNKNOWN and _is_space(token[k]):
                k += 1
            self.leading[i] = <uint8_t>k
            k = 0
            while k < n and k < UNKNOWN and _is_space(token[n - 1 - k]):
                k += 1
            self.trailing[i] = <uint8_t>k
        for id, content, takes_blanks in added:
            if takes_blanks or not content or content != content.strip() or content.strip("\u0120") != content:
                self.leading[<Py_ssize_t>id] = UNKNOWN

    def __dealloc__(self):
        free(self.leading)
        free(self.trailing)


cdef bint _spans(Plan p, Rows *r, uint32_t **trimmed) except -1:
    """Give every row its offsets, trimmed where the post-processor trims them. False: not for here."""
    cdef int64_t i, n = 0
    cdef Row *row
    cdef Sequence *s
    cdef uint32_t *at
    for i in range(r.n):
        row = &r.rows[i]
        s = &r.sequences[row.sample * r.per]
        row.spans_a = s.spans + 2 * row.first_a
        row.spans_b = NULL
        if r.per == 2:
            row.spans_b = r.sequences[row.sample * 2 + 1].spans + 2 * row.first_b
        n += row.n_a + row.n_b
    if p.trim is None:
        return True
    trimmed[0] = at = <uint32_t *>malloc(<size_t>(n + 1) * 8)
    if at == NULL:
        raise MemoryError("no memory for the offsets")
    for i in range(r.n):
        row = &r.rows[i]
        s = &r.sequences[row.sample * r.per]
        if not _trim(p, s.ids + row.first_a, row.spans_a, row.n_a, at):
            return False
        row.spans_a = at
        at += 2 * row.n_a
        if r.per == 2:
            s = &r.sequences[row.sample * 2 + 1]
            if not _trim(p, s.ids + row.first_b, row.spans_b, row.n_b, at):
                return False
            row.spans_b = at
            at += 2 * row.n_b
    return True


cdef bint _trim(Plan p, const uint32_t *ids, const uint32_t *spans, int64_t n, uint32_t *out) noexcept:
    cdef int64_t i
    cdef uint32_t start, end, leading, trailing
    for i in range(n):
        if ids[i] >= p.trim.n or p.trim.leading[ids[i]] == UNKNOWN:
            return False
        leading = p.trim.leading[ids[i]]
        trailing = p.trim.trailing[ids[i]]
        start = spans[2 * i]
        end = spans[2 * i + 1]
        if leading:
            # A single space at the start may be the one that add_prefix_space put there: it is not in the text.
            if p.first_space_is_a_prefix and leading == 1 and (i == 0 or start == 0):
                leading = 0
            start = min(start + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, start)
        out[2 * i] = start
        out[2 * i + 1] = end
    return True
