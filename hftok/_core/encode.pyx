"""encode and encode_batch: inputs to Encoding objects.

One short text, and a few of them, go straight from a worker to the Encoding (`encode_text`), where nothing is cut or padded.
Rows that need no truncation come out lazy: the final ids, type ids and masks of the whole batch lie in one block, laid out by
the post-processor's row plan; tokens, offsets and word ids are made from the kept text when somebody reads them, by encoding
that row once more with everything on. Rows that are truncated (and post-processors without a plan) go through the object
form of every stage (post_process.pyx), which is the definition; so do all rows where a second run might answer something else
(`repeatable`).

Under truncation the reference stops tokenizing a sequence once max_length tokens are there (`tokenize_with_limit`), so that
later windows are missing from `overflowing`; `full_overflow` keeps them, as versions before 0.23.1 did.
"""
from cpython.list cimport PyList_CheckExact, PyList_GET_SIZE
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from hftok._core.documents cimport Documents
from hftok._core.encoding cimport (
    LAZY_SPANS, LAZY_TOKENS, Block, Column, Encoding, EncodingSource, block_data, block_drop, block_new, encoding_from_arrays,
    encoding_over_block, encoding_set_range, encoding_set_spans, encoding_set_tokens,
)
from hftok._core.engine cimport SHORT, Affix, Call, Context, Engine, WorkerBox
from hftok._core.exact cimport VALUE_ADDED, ExactState, ExactToken, Pipeline
from hftok._core.inputs cimport InputRow, Inputs, inputs_batch, inputs_single, is_text
from hftok._core.models.bpe cimport BPEModel
from hftok._core.models.model cimport VALUE_TEXT, VALUE_UNK
from hftok._core.models.unigram cimport UnigramModel
from hftok._core.normalized cimport PT_PYTHON
from hftok._core.row_plan cimport ITEM_SPECIAL, Item, RowPlan
from hftok._core.rows cimport Encoded
from hftok._core.worker cimport Worker

from hftok._core.post_process import pad_encodings, post_process
from hftok._core.row_plan import make_plan

cdef enum:
    DIRECT_WORD = 1 << 30
    FEW = 8                  # short texts that are encoded sooner one by one than as a batch


cpdef bint repeatable(Engine engine):
    """Whether a text has the same tokens each time: no dropout, no sampling, no Python component, which may do as it likes and
    is to be asked once."""
    if engine.pipeline.needs_gil:
        return False
    if isinstance(engine.pipeline.model, BPEModel):
        return not (<BPEModel>engine.pipeline.model).sampling
    if isinstance(engine.pipeline.model, UnigramModel):
        return not (<UnigramModel>engine.pipeline.model).sampling
    return True


cdef class Settings:
    """One immutable snapshot of what a call needs beside the engine.

    post_processor: spec or None. truncation: None or (max_length, stride, strategy, direction). padding: None or (length or
    None, direction, pad_to_multiple_of or None, pad_id, pad_type_id, pad_token).
    """
    def __init__(self, post_processor, truncation, padding, full_overflow, counts):
        self.post_processor = post_processor
        self.truncation = truncation
        self.padding = padding
        self.full_overflow = full_overflow
        self.counts = counts             # special tokens added to (one sequence, a pair)
        self.plans = {}
        self.with_special = self.without_special = None
        self.plan_with_special = self.plan_without_special = None

    def affix(self, bint add_special_tokens):
        """The special tokens around a single sequence (Affix), or None where the post-processor does something else."""
        return self.affix_of(add_special_tokens)

    cdef Affix affix_of(self, bint add_special_tokens):
        cdef Affix affix = self.with_special if add_special_tokens else self.without_special
        if affix is None:
            plan = self.plan(False, add_special_tokens)
            if plan is not None and plan.is_wrapped_sequence:
                affix = Affix(plan.prefix, plan.suffix)
                if add_special_tokens:
                    self.plan_with_special = plan
                    self.with_special = affix
                else:
                    self.plan_without_special = plan
                    self.without_special = affix
        return affix

    @property
    def trims(self):
        """Whether the post-processor changes offsets."""
        plan = self.plan(False, True)
        return plan is None or plan.trims

    def added(self, bint is_pair):
        """Special tokens that the post-processor adds."""
        return self.counts[1 if is_pair else 0]

    def plan(self, bint is_pair, bint add_special_tokens, bint bare_types=False):
        """The RowPlan, or None."""
        key = (is_pair, add_special_tokens, bare_types)
        try:
            return self.plans[key]
        except KeyError:
            plan = self.plans[key] = make_plan(self.post_processor, is_pair, add_special_tokens, 0 if bare_types else 1)
            return plan


# ---------------------------------------------------------------------- one sequence with everything

cdef struct Tokens:
    # Tokens of one sequence: parallel arrays.
    Py_ssize_t n
    uint32_t *ids
    uint64_t *spans
    int64_t *words


cdef void _free(Tokens *t) noexcept:
    free(t.ids)
    free(t.spans)
    free(t.words)
    memset(t, 0, sizeof(Tokens))


cdef int _reserve(Tokens *t, Py_ssize_t n) except -1:
    memset(t, 0, sizeof(Tokens))
    t.ids = <uint32_t *>malloc(<size_t>(n + 1) * 4)
    t.spans = <uint64_t *>malloc(<size_t>(n + 1) * 16)
    t.words = <int64_t *>malloc(<size_t>(n + 1) * 8)
    if t.ids == NULL or t.spans == NULL or t.words == NULL:
        _free(t)
        raise MemoryError("no memory for an Encoding")
    return 0


cdef int _grow(Tokens *t, Py_ssize_t n) except -1:
    """Room for n tokens, keeping what is there."""
    cdef void *p
    p = realloc(t.ids, <size_t>(n + 1) * 4)
    if p != NULL:
        t.ids = <uint32_t *>p
        p = realloc(t.spans, <size_t>(n + 1) * 16)
    if p != NULL:
        t.spans = <uint64_t *>p
        p = realloc(t.words, <size_t>(n + 1) * 8)
    if p == NULL:
        raise MemoryError("no memory for an Encoding")
    t.words = <int64_t *>p
    return 0


cdef list _token_strings(Engine engine, object text, const uint32_t *ids, Py_ssize_t n):
    """Strings of a sequence's tokens where all of them are the vocabulary's."""
    cdef list strings = engine.strings_for(n)
    cdef Py_ssize_t i
    cdef list out = [None] * n
    for i in range(n):
        out[i] = engine.string_of(ids[i], strings)
    return out


cdef list _full(Engine engine, list texts, Py_ssize_t start, Py_ssize_t count, bint pretokenized, int64_t limit, bint left, Tokens *out):
    """Everything about one sequence (one text, or `count` words), read up to `limit` tokens: fills `out`, returns the strings."""
    if limit >= 0 or engine.pipeline.model.text_values or not repeatable(engine):
        # Truncated: the exact path stops where the reference stops, and so meets no error that lies behind.
        return _exact(engine, texts, start, count, pretokenized, limit, left, out)
    cdef Documents d = Documents()
    cdef Encoded e = Encoded()
    cdef Py_ssize_t i, k, n
    cdef int64_t begin = 0
    cdef const Worker *w
    for i in range(count):
        d.add_str(texts[start + i])
    d.keep = texts
    # parallel=False: one unit after the other, all in the first worker, so the tokens lie together.
    e.encode(engine, d, None, 0, True, True, False, False)
    w = e.worker(0)
    for k in range(e.total):
        if w.words[k] & DIRECT_WORD:
            e.release()
            return _exact(engine, texts, start, count, pretokenized, limit, left, out)
    _reserve(out, e.total)
    out.n = e.total
    for i in range(count):
        n = e.ends[i] - begin
        for k in range(begin, begin + n):
            out.ids[k] = w.ids[k]
            out.spans[2 * k] = w.spans[2 * k]
            out.spans[2 * k + 1] = w.spans[2 * k + 1]
            out.words[k] = i if pretokenized else w.words[k]
        begin += n
    e.release()
    try:
        return _token_strings(engine, texts, out.ids, out.n)
    except BaseException:
        _free(out)
        raise


cdef int raise_pending() except -1:
    """The exception of a Python component, which is set."""
    return -1


cdef list _exact(Engine engine, list texts, Py_ssize_t start, Py_ssize_t count, bint pretokenized, int64_t limit, bint left, Tokens *out):
    """The same by the exact path, with the strings that are the text's own (added tokens, unknown pieces)."""
    cdef WorkerBox box = engine.checkout(1)
    cdef ExactState *x = &box.context.exact
    cdef bytes data
    cdef Py_ssize_t i, k, at = 0
    cdef ExactToken *t
    cdef int error
    cdef list table = None, strings = []
    memset(out, 0, sizeof(Tokens))
    try:
        _reserve(out, 0)
        for i in range(count):
            data = texts[start + i].encode("utf-8")
            error = engine.pipeline.split(x, data, len(data))
            if error == 0:
                error = engine.pipeline.tokens(x, limit, left, True)
            if error == PT_PYTHON:
                raise_pending()
            if error:
                raise engine.pipeline.failure(error)
            _grow(out, at + x.n_tokens)
            table = engine.strings_for(x.n_tokens)
            for k in range(x.n_tokens):
                t = &x.tokens[k]
                out.ids[at + k] = t.id
                out.spans[2 * (at + k)] = t.start
                out.spans[2 * (at + k) + 1] = t.end
                out.words[at + k] = i if pretokenized else t.word
                if t.value == VALUE_ADDED or t.value == VALUE_TEXT:
                    strings.append((<char *>x.pt.text)[t.text_start:t.text_end].decode("utf-8"))
                elif t.value == VALUE_UNK:
                    strings.append(engine.pipeline.model.unk_string())
                else:
                    strings.append(engine.string_of(t.id, table))
            at += x.n_tokens
        out.n = at
        return strings
    except BaseException:
        _free(out)
        raise
    finally:
        engine.checkin(box)


cdef Encoding _sequence(Engine engine, Inputs inputs, Py_ssize_t start, Py_ssize_t count, uint32_t type_id, int64_t limit, bint left,
                        bint bare):
    """The Encoding of one sequence, before post-processing. bare: encode_batch_fast's, with ids only."""
    cdef Tokens t
    cdef list strings = _full(engine, inputs.texts, start, count, inputs.pretokenized, limit, left, &t)
    try:
        if bare:
            return encoding_from_arrays(t.n, t.ids, NULL, 0, NULL, 0, NULL, 1, NULL, NULL, [""] * t.n)
        return encoding_from_arrays(t.n, t.ids, NULL, type_id, NULL, 0, NULL, 1, t.spans, t.words, strings)
    finally:
        _free(&t)


# ---------------------------------------------------------------------- lazy rows

cdef class Batch(EncodingSource):
    """Where the lazy Encodings of one call get tokens, offsets and word ids."""
    cdef Engine engine
    cdef Inputs inputs
    cdef RowPlan single
    cdef RowPlan pair
    cdef object padding

    cdef int fill(self, Encoding e, int missing) except -1:
        cdef InputRow *r = &self.inputs.rows[e.key]
        cdef RowPlan plan = self.pair if r.n_b >= 0 else self.single
        cdef Tokens a, b
        cdef Tokens *t
        cdef list strings_a = None, strings_b = None, tokens, out
        cdef Py_ssize_t at = 0, i, k, pads
        cdef uint64_t *spans = NULL
        cdef int64_t *words = NULL
        memset(&a, 0, sizeof(a))
        memset(&b, 0, sizeof(b))
        try:
            strings_a = _full(self.engine, self.inputs.texts, r.a, r.n_a, self.inputs.pretokenized, -1, False, &a)
            if r.n_b >= 0:
                strings_b = _full(self.engine, self.inputs.texts, r.a + r.n_a, r.n_b, self.inputs.pretokenized, -1, False, &b)
            # Other threads ran meanwhile. What one of them has filled in is in use, and the Encoding may be longer by now.
            missing &= e.lazy
            if not missing:
                return 0
            out = [None] * e.n
            spans = <uint64_t *>calloc(<size_t>(e.n + 1), 16)
            words = <int64_t *>malloc(<size_t>(e.n + 1) * 8)
            if spans == NULL or words == NULL:
                raise MemoryError("no memory for an Encoding")
            pads = e.n - _row_length(plan, a.n, b.n)
            if self.padding is not None and self.padding[1] == "left":
                at = pads
            for i in range(e.n):
                words[i] = -1
            if pads:
                for i in range(pads):
                    out[i if at else e.n - pads + i] = self.padding[5]
            for i in range(plan.n_items):
                if plan.items[i].kind == ITEM_SPECIAL:
                    tokens = <list>plan.tokens[i]
                    for k in range(plan.items[i].n):
                        out[at + k] = tokens[k]
                    at += plan.items[i].n
                    continue
                t = &a if plan.items[i].kind == 0 else &b
                tokens = strings_a if plan.items[i].kind == 0 else strings_b
                for k in range(t.n):
                    out[at + k] = tokens[k]
                memcpy(spans + 2 * at, t.spans, <size_t>t.n * 16)
                memcpy(words + at, t.words, <size_t>t.n * 8)
                at += t.n
            if missing & LAZY_TOKENS:
                encoding_set_tokens(e, out)
            if missing & LAZY_SPANS:
                encoding_set_spans(e, spans, words)
        finally:
            _free(&a)
            _free(&b)
            free(spans)
            free(words)
        return 0


cdef inline Py_ssize_t _row_length(RowPlan plan, Py_ssize_t n_a, Py_ssize_t n_b):
    cdef Py_ssize_t n = plan.n_special
    cdef int i
    for i in range(plan.n_items):
        if plan.items[i].kind == 0:
            n += n_a
        elif plan.items[i].kind == 1:
            n += n_b
    return n


cdef list _encode(Engine engine, Settings settings, Inputs inputs, bint add_special_tokens, bint bare, object parallel):
    """Encodings of all rows, padded."""
    cdef Documents d = Documents()
    cdef Encoded e = Encoded()
    cdef Py_ssize_t i, k, row, length = 0, total = 0, n_a, n_b, pads, at, start
    cdef RowPlan single = settings.plan(False, add_special_tokens, bare)
    cdef RowPlan pair = settings.plan(True, add_special_tokens, bare)
    cdef RowPlan plan
    cdef InputRow *r
    cdef int64_t max_length = -1, room, limit = 0
    cdef bint has_limit = settings.truncation is not None, left = False, lazy, whole
    cdef list result = [None] * inputs.n_rows, eager = []
    cdef Py_ssize_t *lengths
    cdef Batch source
    cdef Block *block = NULL
    cdef uint32_t *out
    cdef uint32_t *base = NULL
    cdef Column ids, types, special, attention
    cdef Encoding encoding
    cdef const Worker *w
    if has_limit:
        max_length = min(settings.truncation[0], 1 << 60)
        left = settings.truncation[3] == "left" and not settings.full_overflow
    for text in inputs.texts:
        d.add_str(text)
    d.keep = inputs.texts
    try:
        whole = repeatable(engine)
        if whole:
            e.encode(engine, d, None, 0, False, False, parallel, False)
    except Exception:
        # An error may lie where the reference does not read any more.
        if not has_limit:
            raise
        e.release()
        whole = False
    lengths = <Py_ssize_t *>malloc(<size_t>(inputs.n_rows + 1) * sizeof(Py_ssize_t))
    if lengths == NULL:
        raise MemoryError("no memory for the Encodings")
    try:
        # Which rows are lazy, and how long they are.
        for row in range(inputs.n_rows):
            r = &inputs.rows[row]
            plan = pair if r.n_b >= 0 else single
            n_a = _tokens_of(e, r.a, r.n_a) if whole else 0
            n_b = _tokens_of(e, r.a + r.n_a, r.n_b) if whole and r.n_b > 0 else 0
            lazy = plan is not None and not plan.trims and whole
            if lazy and has_limit:
                room = max_length - settings.added(r.n_b >= 0) if add_special_tokens else max_length
                # Read from the end, a sequence that fills the limit loses the pre-tokens without tokens at its beginning, and
                # its word ids count from there.
                lazy = n_a + n_b <= room and room > 0 and not (left and (n_a >= max_length or n_b >= max_length))
            if not lazy:
                lengths[row] = -1
                eager.append(row)
                result[row] = _eager_row(engine, settings, inputs, r, add_special_tokens, bare)
                length = max(length, (<Encoding>result[row]).n)
            else:
                lengths[row] = _row_length(plan, n_a, n_b)
                length = max(length, lengths[row])
        if settings.padding is not None:
            if settings.padding[0] is not None:
                length = settings.padding[0]
            if settings.padding[2]:
                k = settings.padding[2]
                length += (k - length % k) % k       # C's %: its sign is the dividend's
            if length > (1 << 40):
                raise MemoryError(f"no memory to pad to {length} tokens")
        for row in range(inputs.n_rows):
            if lengths[row] >= 0:
                total += max(lengths[row], length) if settings.padding is not None else lengths[row]
        if total:
            block = block_new(<size_t>total * 16)
            if block == NULL:
                raise MemoryError("no memory for the Encodings")
            base = <uint32_t *>block_data(block)
        source = Batch()
        source.engine = engine
        source.inputs = inputs
        source.single = single
        source.pair = pair
        source.padding = settings.padding
        at = 0
        for row in range(inputs.n_rows):
            if lengths[row] < 0:
                continue
            r = &inputs.rows[row]
            plan = pair if r.n_b >= 0 else single
            k = lengths[row]
            pads = max(length - k, 0) if settings.padding is not None else 0
            ids.value = types.value = special.value = attention.value = 0
            ids.data = types.data = special.data = attention.data = NULL
            if k + pads:
                ids.data = base + at
                types.data = base + total + at
                special.data = base + 2 * total + at
                attention.data = base + 3 * total + at
                _write_row(e, plan, r, settings.padding, pads, base, total, at)
            encoding = encoding_over_block(k + pads, block, ids, types, special, attention, source, row)
            if bare:
                encoding_set_tokens(encoding, _bare_tokens(plan, r, e, settings.padding, pads, k))
                encoding_set_spans(encoding, NULL, NULL)
            if plan.ranges:
                start = pads if pads and settings.padding[1] == "left" else 0
                n_a = _tokens_of(e, r.a, r.n_a)
                n_b = _tokens_of(e, r.a + r.n_a, r.n_b) if r.n_b > 0 else 0
                for i in range(plan.n_items):
                    if plan.items[i].kind == ITEM_SPECIAL:
                        start += plan.items[i].n
                    elif plan.items[i].kind == 0:
                        encoding_set_range(encoding, 0, start, start + n_a)
                        start += n_a
                    else:
                        encoding_set_range(encoding, 1, start, start + n_b)
                        start += n_b
            result[row] = encoding
            at += k + pads
        if eager and settings.padding is not None:
            pad_encodings([result[row] for row in eager], (length, *settings.padding[1:2], None, *settings.padding[3:]))
    finally:
        free(lengths)
        if block != NULL:
            block_drop(block)
        e.release()
    return result


cdef list _bare_tokens(RowPlan plan, InputRow *r, Encoded e, object padding, Py_ssize_t pads, Py_ssize_t k):
    """encode_batch_fast's tokens: empty, but for special tokens and padding."""
    cdef list tokens = []
    cdef int i
    for i in range(plan.n_items):
        if plan.items[i].kind == ITEM_SPECIAL:
            tokens += plan.tokens[i]
        elif plan.items[i].kind == 0:
            tokens += [""] * _tokens_of(e, r.a, r.n_a)
        else:
            tokens += [""] * (_tokens_of(e, r.a + r.n_a, r.n_b) if r.n_b > 0 else 0)
    if pads:
        tokens = [padding[5]] * pads + tokens if padding[1] == "left" else tokens + [padding[5]] * pads
    return tokens


cdef inline Py_ssize_t _tokens_of(Encoded e, Py_ssize_t first, Py_ssize_t count):
    """Tokens of `count` consecutive texts."""
    if count <= 0:
        return 0
    return e.ends[first + count - 1] - (e.ends[first - 1] if first > 0 else 0)


cdef int _write_row(Encoded e, RowPlan plan, InputRow *r, object padding, Py_ssize_t pads, uint32_t *base, Py_ssize_t total,
                    Py_ssize_t at) except -1:
    """One row's ids, type ids, special tokens mask and attention mask: four arrays of `total` entries behind `base`."""
    cdef uint32_t *ids = base
    cdef uint32_t *types = base + total
    cdef uint32_t *special = base + 2 * total
    cdef uint32_t *attention = base + 3 * total
    cdef Py_ssize_t i, k, n, first
    cdef uint32_t pad_id, pad_type
    cdef bint left = pads > 0 and padding[1] == "left"
    cdef Item *item
    if pads:
        pad_id = padding[3]
        pad_type = padding[4]
        first = at if left else at + _row_length(plan, _tokens_of(e, r.a, r.n_a),
                                                 _tokens_of(e, r.a + r.n_a, r.n_b) if r.n_b > 0 else 0)
        for k in range(first, first + pads):
            ids[k] = pad_id
            types[k] = pad_type
            special[k] = 1
            attention[k] = 0
        if left:
            at += pads
    for i in range(plan.n_items):
        item = &plan.items[i]
        if item.kind == ITEM_SPECIAL:
            n = item.n
            memcpy(ids + at, item.ids, <size_t>n * 4)
        else:
            first = r.a if item.kind == 0 else r.a + r.n_a
            n = _tokens_of(e, first, r.n_a if item.kind == 0 else r.n_b)
            if n:
                e.copy_ids(e.ends[first - 1] if first > 0 else 0, n, ids + at)
        for k in range(n):
            types[at + k] = item.type_id
            special[at + k] = item.kind == ITEM_SPECIAL
            attention[at + k] = 1
        at += n
    return 0


cdef Encoding _eager_row(Engine engine, Settings settings, Inputs inputs, InputRow *r, bint add_special_tokens, bint bare):
    """One row through the object form of every stage, without padding."""
    cdef int64_t limit_a = -1, limit_b = -1
    cdef bint left = False
    cdef Encoding a, b = None
    if settings.truncation is not None and not settings.full_overflow:
        max_length, _, strategy, direction = settings.truncation
        left = direction == "left"
        limit_b = min(max_length, 1 << 60)
        # A sequence that the strategy does not cut is not stopped early (do_tokenize asks for its type id).
        limit_a = -1 if strategy == "only_second" else limit_b
    a = _sequence(engine, inputs, r.a, r.n_a, 0, limit_a, left, bare)
    if r.n_b >= 0:
        b = _sequence(engine, inputs, r.a + r.n_a, r.n_b, 1, limit_b, left, bare)
    return post_process(a, b, add_special_tokens, settings.truncation, None, settings.post_processor)


cdef class ShortText(EncodingSource):
    """Where the lazy Encoding of one short text gets tokens, offsets and word ids."""
    cdef Engine engine
    cdef RowPlan plan
    cdef object text

    cdef int fill(self, Encoding e, int missing) except -1:
        cdef Batch batch = Batch()
        batch.engine = self.engine
        batch.inputs = inputs_single(self.text, None, False)
        batch.single = batch.pair = self.plan
        return batch.fill(e, missing)


cdef Encoding encode_text(Engine engine, Settings settings, object text, bint add_special_tokens):
    cdef RowPlan plan
    cdef Affix affix
    cdef WorkerBox box
    cdef ShortText source
    cdef Encoding encoding
    cdef Block *block
    cdef Column ids, types, special, attention
    cdef uint32_t *out
    cdef Py_ssize_t n, i
    cdef int64_t end = 0
    cdef bint one_type = True
    if settings.truncation is not None or settings.padding is not None:
        return None
    affix = settings.affix_of(add_special_tokens)
    plan = settings.plan_with_special if add_special_tokens else settings.plan_without_special
    if affix is None or plan.trims or not is_text(text) or not repeatable(engine):
        return None
    for i in range(1, plan.n_items):
        one_type = one_type and plan.items[i].type_id == plan.items[0].type_id
    if not one_type:
        return None
    box = engine.checkout(1)
    try:
        engine.encode_short(box, text, affix, 0, &end)
        n = box.w.n_ids
        block = block_new(<size_t>n * 8)
        if block == NULL:
            raise MemoryError("no memory for the Encodings")
        out = <uint32_t *>block_data(block)
        if n:                # else the worker may have no buffer yet
            memcpy(out, box.w.ids, <size_t>n * 4)
    finally:
        engine.checkin(box)
    # A column of one value has no memory (encoding.pxd).
    ids.data = out
    types.data = attention.data = special.data = NULL
    ids.value = special.value = 0
    types.value = plan.items[0].type_id
    attention.value = 1
    if plan.n_special:
        special.data = out + n
        memset(out + n, 0, <size_t>n * 4)
        for i in range(affix.n_prefix):
            out[n + i] = 1
        for i in range(affix.n_suffix):
            out[2 * n - 1 - i] = 1
    try:
        source = ShortText.__new__(ShortText)
        source.engine = engine
        source.plan = plan
        source.text = text
        encoding = encoding_over_block(n, block, ids, types, special, attention, source, 0)
    finally:
        block_drop(block)
    if plan.ranges:
        encoding_set_range(encoding, 0, affix.n_prefix, n - affix.n_suffix)
    return encoding


cdef list _few(Engine engine, Settings settings, list texts, bint add_special_tokens):
    """The Encodings of some short texts, one after the other, or None. texts: nobody else's list."""
    cdef object text
    cdef list result = []
    cdef Encoding encoding
    for text in texts:
        # All are looked at before the first is encoded: what is no input is the first error.
        if not PyUnicode_Check(text) or PyUnicode_GET_LENGTH(text) > SHORT or not is_text(text):
            return None
    for text in texts:
        encoding = encode_text(engine, settings, text, add_special_tokens)
        if encoding is None:
            return None
        result.append(encoding)
    return result


def encode(Engine engine not None, Settings settings not None, sequence, pair, bint is_pretokenized, bint add_special_tokens):
    """The Encoding of one input (reference: Tokenizer.encode)."""
    return _encode(engine, settings, inputs_single(sequence, pair, is_pretokenized), add_special_tokens, False, None)[0]


def encode_batch(Engine engine not None, Settings settings not None, items, bint is_pretokenized, bint add_special_tokens,
                 bint bare=False, parallel=None):
    """The Encodings of a batch (reference: Tokenizer.encode_batch; bare: encode_batch_fast)."""
    cdef list few
    if not is_pretokenized and not bare and PyList_CheckExact(items) and PyList_GET_SIZE(items) <= FEW:
        few = _few(engine, settings, list(items), add_special_tokens)
        if few is not None:
            return few
    return _encode(engine, settings, inputs_batch(items, is_pretokenized), add_special_tokens, bare, parallel)
