"""The compiled tokenizer: pipeline, scanner, caches, and the batch loop that all entry points share.

An Engine is immutable: a change to the tokenizer makes a new one. It encodes sequences; what is done with rows of tokens
(special tokens of pairs, truncation, padding, arrays and objects) is in rows.pyx. Where the pipeline has a scanner and the
model's answer depends on the chunk alone, documents take the fast path (scan, look up, emit); otherwise, and for documents
that the scanner must not decide, the exact path. Both give the same tokens.

Documents are dealt out in units of at most about 1 MiB; huge ones are cut between words. Each thread appends to its own worker's
buffers; units say where their tokens are, so the result never depends on who did what.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

from hftok._core.added_tokens cimport AddedMatcher, Matcher, match_token
from hftok._core.char_tables cimport CharClassifier
from hftok._core.chunk_cache cimport (
    INLINE_IDS, LONG_KEY, LONGEST_TEXT, MAX_SPILLED, META_COUNT, Value, cache_adopt, cache_bytes, cache_clear,
    cache_find_aside, cache_find_long, cache_find_overflow, cache_free, cache_init, cache_insert, cache_insert_long,
    cache_reserve, cache_spill, cache_text_key, cut_of, ht_key, put_cut, put_ids,
)
from hftok._core.documents cimport (
    DOC_ERR_MEMORY, DOC_ERR_SURROGATE, DOC_RAW, DOC_UCS2, DOC_UCS4, DOC_UTF8, Doc, Documents, Unit, doc_of_str, doc_text,
)
from hftok._core.early_chars cimport early_chars
from hftok._core.exact cimport VALUE_ADDED, ExactState, Pipeline, char_index, state_free, state_init
from hftok._core.metaspace_chunks cimport MarkedWords, byte_set, holds_byte
from hftok._core.models.bpe cimport CHAR_BYTE, BPEModel, BPEScratch, byte_chars
from hftok._core.models.merges cimport PairTable
from hftok._core.models.model cimport MODEL_MISSING_UNK, MODEL_NO_MEMORY, Model, TokenVec, tv_push
from hftok._core.models.vocab_map cimport VocabTable
from hftok._core.models.wordpiece cimport WordPieceModel
from hftok._core.normalized cimport PT_NO_MEMORY, PT_PYTHON, PT_TOO_LONG, PreTokenized, Split, pt_reset
from hftok._core.parallel cimport parallel_for
from hftok._core.places cimport places_begin, places_done, places_restart
from hftok._core.raw_rules cimport RawScanner
from hftok._core.seeds cimport NO_SEED, seed_table, seeds_find, seeds_free
from hftok._core.text cimport utf8_decode, utf8_len
from hftok._core.unicode cimport all_stable
from hftok._core.worker cimport (
    ACT_UNFINISHED, BATCH, KNOWN, MATCH_NONE, PREFIX_ALWAYS, SCAN_FULL, SCAN_MISSING_UNK, SCAN_NO_MEMORY, SCAN_OK, SCAN_TOO_LONG, CharEntry, Direct, Hit,
    Kernels, Worker, char_entry, is_separator, worker_begin, worker_direct, worker_drop_ids, worker_end, worker_free, worker_id_room, worker_new, worker_reset, worker_room,
)

cdef extern from "publish.h" nogil:
    void *ht_take(void **slot)
    bint ht_put(void **slot, void *p)

import importlib
import os

from hftok._core import cpu, parallel
from hftok._core.char_tables import plan, plan_runs
from hftok._core.metaspace_chunks import plan_marks
from hftok._core.raw_rules import plan_raw

include "emit.pxi"

cdef enum:
    UNIT_MOST = 1 << 18      # bytes of text in a work unit: at most (its tokens then fit a core's cache), ...
    UNIT_LEAST = 1 << 16     # ... and at least, so that waking a thread up pays
    LEARN_AT = 1 << 15       # bytes of text in a call from which on it tells how many tokens to expect of others
    PLACE_AT = 1 << 20       # bytes of text in a call from which on several threads put their tokens where they belong at once
    PROVE_AT = 1 << 22       # bytes of text in all calls from which on a BPE vocabulary is looked through for what it proves
    HOLD_BYTES = 8192        # bytes of text in a call below which the GIL is kept: some 20 us
    SEED_AT = 32768          # bytes of text in a call from which a worker's cache starts from the seeded prototype
    KEEP_BYTES = 1 << 26     # an output buffer larger than this is not kept from call to call
    ERROR_DOCUMENT = 64      # offsets of error classes in Call.error
    ERROR_EXACT = 128
    DIRECT_WORD = 1 << 30    # flag in a token's word number: it is an added token

CORE_CACHE_BYTES = 64 << 20      # by default, for each core of the process, ...
MOST_CACHE_BYTES = 512 << 20     # ... and at most

cdef int64_t LONGEST_SCANNED = 0xFFFF0000    # bytes of a document: chunks are 32-bit places

cdef int64_t _cache_bytes = -1


cdef int64_t cache_bytes_allowed() except -1:
    global _cache_bytes
    if _cache_bytes < 0:
        value = os.environ.get("HFTOK_CACHE_BYTES", "").strip()
        _cache_bytes = int(value) if value.isdigit() else min(CORE_CACHE_BYTES * parallel.cores(), MOST_CACHE_BYTES)
    return _cache_bytes


def cache_budget():
    """Bytes that the caches of one tokenizer may take, over all its threads: HFTOK_CACHE_BYTES, or 64 MiB for each core of the
    process, at most 512 MiB."""
    return cache_bytes_allowed()


def set_cache_bytes(n):
    """Limit the caches of each tokenizer to n bytes (over all its threads; at least 64 KiB are used)."""
    global _cache_bytes
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise ValueError(f"set_cache_bytes({n!r}): give a number of bytes, 0 or more")
    _cache_bytes = n


def _scanner_module(scanner, tier):
    return importlib.import_module(f"hftok._core.scanners.{scanner}_{tier}")


_tier = cpu.choose()


cdef class Affix:
    """Special tokens written around every row: ids before and after."""

    def __cinit__(self, prefix, suffix):
        cdef int64_t i
        self.n_prefix = len(prefix)
        self.n_suffix = len(suffix)
        self.data = <uint32_t *>malloc(<size_t>(self.n_prefix + self.n_suffix + 1) * 4)
        if self.data == NULL:
            raise MemoryError("no memory for the special tokens")
        for i in range(self.n_prefix):
            self.data[i] = prefix[i]
        for i in range(self.n_suffix):
            self.data[self.n_prefix + i] = suffix[i]

    def __dealloc__(self):
        free(self.data)


@cython.no_gc_clear  # freeing needs the model
cdef class WorkerBox:
    """A worker with its context, and what it was made for. It holds its engine during a call only: in the engine's pool that
    would be a cycle, and caches would outlive the tokenizer until the garbage collector runs."""

    def __cinit__(self, Engine engine):
        self.engine = engine
        self.model = engine.pipeline.model
        self.w = NULL
        memset(&self.context, 0, sizeof(Context))
        self.budget = -1

    cdef int prepare(self, int64_t budget) except -1:
        """Make the worker, or give it a new cache, where the budget or the engine's cache generation has changed."""
        cdef Engine e = self.engine
        if self.w == NULL:
            self.w = worker_new(e.kernels, &e.classifier.t if e.classifier is not None else NULL, budget)
            if self.w == NULL:
                raise MemoryError("no memory for an encoder's buffers")
            state_init(&self.context.exact, e.pipeline.model)
            self.context.pipeline = <void *>e.pipeline
            if e.classifier is not None:
                self.context.keeps_nul = e.classifier.keeps_nul
            if e.classifier is not None and e.classifier.in_bytes:
                self.context.kind = CHUNK_SPELLED
            if e.marked is not None:
                self.context.kind = CHUNK_WORDS
                self.context.marked = <void *>e.marked
                self.context.ends_show = e.marked.first or e.marked.strip_left or e.marked.strip_right
            if e.raw is not None:
                self.context.keeps_nul = 1
                self.context.kind = CHUNK_MARKS if e.raw.rules.marks else CHUNK_BYTES if e.raw.model.byte_level else CHUNK_SPELLED
                self.context.all_stable = e.raw.rules.stable if e.raw.all_stable else 0
                self.context.n_lacking = e.raw.model.n_lacking if e.raw.model.byte_level else 0
                self.context.ends_show = e.raw.rules.prefix == PREFIX_ALWAYS
                self.w.rules = &e.raw.rules
                self.w.normalize = _normalize
                self.use_seeds()
            if e.check is not None:
                self.context.check = &e.check.m
                self.context.check_bytes = byte_set([e.check.m.first[i] for i in range(256)])
            self.w.context = &self.context
            self.w.miss = _miss
            self.w.match = match_token
            self.w.matcher = &e.pipeline.raw.m
            self.w.region = _region
            self.budget = budget
            self.generation = e.generation
        elif budget != self.budget or self.generation != e.generation:
            # Calls of one thread and of several take turns with a worker: its words are kept as long as they are allowed.
            self.w.cache.budget = budget
            if self.generation != e.generation or cache_bytes(&self.w.cache) > budget:
                cache_clear(&self.w.cache)
                self.seeded = False
            self.budget = budget
            self.generation = e.generation
        return 0

    cdef void use_seeds(self):
        """Let the worker know what its engine knows by now about the vocabulary."""
        cdef Engine e = self.engine
        cdef BPEModel model = e.raw.model
        cdef const PairTable *t = &model.merge_table.table
        self.context.seeds = &e.seeds if e.seeded else NULL
        self.merges.table = t
        if self.context.kind == CHUNK_MARKS:
            self.merges.byte_ids = e.raw.char_ids
            self.merges.byte_pairs = e.raw.char_pairs
        else:
            self.merges.byte_ids = model.byte_ids
            self.merges.byte_pairs = model.byte_pairs
        if (t.packed == NULL or not t.scannable or model.sampling or self.merges.byte_pairs == NULL
                or (model.ignore_merges and not e.seeded)):
            self.w.merges = NULL
            return
        self.merges.lacking = e.raw.lacking
        self.merges.lacks_none = e.raw.lacks_none
        self.merges.seeds = self.context.seeds
        self.merges.early = &e.early.table if e.early is not None else NULL
        self.merges.whole = &model.map.table if model.ignore_merges else NULL
        # A word of spaces that stand for marks is not the vocabulary's as it is.
        self.merges.longest = 16 if model.ignore_merges and self.context.kind == CHUNK_MARKS else LONG_KEY
        self.w.merges = &self.merges

    def __dealloc__(self):
        worker_free(self.w)
        if self.model is not None:
            state_free(&self.context.exact, self.model)
        free(self.context.buffer)
        free(self.context.joined)
        free(self.context.ids)
        free(self.context.starts)
        free(self.context.buffer_marks)


cdef class Engine:
    """One tokenizer's sequences to tokens. pipeline: the compiled components; normalizer_spec, pre_tokenizer_spec: their
    descriptions, from which a scanner is chosen; fast=False keeps everything on the exact path (for tests)."""

    def __cinit__(self):
        self.has_prototype = False
        self.density = 1.0 / 3
        self.spare = NULL

    def __init__(self, Pipeline pipeline not None, normalizer_spec, pre_tokenizer_spec, fast=True):
        self.pipeline = pipeline
        self.pool = []
        self.generation = 0
        self.tier = _tier
        self.kernels = <const Kernels *><size_t>_scanner_module("charclass", _tier).kernels()
        self.classifier = None
        self.why_exact = self._choose(normalizer_spec, pre_tokenizer_spec, fast)
        self.scans = self.why_exact is None

    cdef object _choose(self, normalizer_spec, pre_tokenizer_spec, fast):
        """Set the scanner up, or say why there is none."""
        cdef Pipeline p = self.pipeline
        cdef CharClassifier classifier
        cdef MarkedWords marked = None
        if not fast:
            return "not wanted"
        planned = plan(normalizer_spec, pre_tokenizer_spec) or plan_runs(normalizer_spec, pre_tokenizer_spec)
        marks = plan_marks(normalizer_spec, pre_tokenizer_spec) if planned is None else None
        if planned is None and marks is None:
            return self._choose_raw(normalizer_spec, pre_tokenizer_spec)
        if not p.model.chunk_independent:
            return "the model's answer depends on more than the word"
        if p.raw.m.matches_empty or p.raw.m.begins_blank or p.normalized.m.matches_empty:
            return "an added token is empty or begins with white space"
        if marks is not None:
            try:
                marked = MarkedWords(p, marks)
            except ValueError as reason:
                return str(reason)
            classifier = marked.classifier
        else:
            first = bytes([i for i in range(256) if p.raw.m.first[i]])
            second = bytes([p.raw.m.second[i] for i in range(256)])
            classifier = CharClassifier(p.model, planned[0], planned[1], first, second, bool(p.normalized.size),
                                        words=planned[2] if len(planned) > 2 else None)
        if marks is None and not classifier.drops_whitespace and p.raw.takes_blanks:
            return "white space matters, and an added token strips it"
        if p.normalized.size:
            stripped = []
            for pattern in p.normalized.patterns:
                text = pattern.decode("utf-8")
                bare = "".join(c for c in text if not classifier.removes(ord(c)))
                if not bare:
                    return "an added token consists of separators"
                stripped.append((bare, 0, False, False, False, False))
            self.check = AddedMatcher(stripped)
            # A token without separators lies in one of the pieces that a document is cut to between words, if anywhere.
            self.checks_pieces = marks is None and not p.normalized.takes_blanks and all(
                pattern.decode("utf-8") == bare[0] and not p.normalized.m.rules[k].single_word
                for k, (pattern, bare) in enumerate(zip(p.normalized.patterns, stripped)))
        self.classifier = classifier
        self.marked = marked
        return None

    cdef object _choose_raw(self, normalizer_spec, pre_tokenizer_spec):
        cdef size_t boundaries = 0
        planned = plan_raw(normalizer_spec, pre_tokenizer_spec)
        if planned is None:
            return "no scanner for this pipeline"
        try:
            if planned[1] is not None:
                boundaries = _scanner_module("regex", _tier).kernels().get(planned[1], 0)
                if boundaries == 0:
                    return f"no scanner for the family {planned[1]}"
            self.raw = RawScanner(self.pipeline, planned, boundaries)
        except ValueError as reason:
            return str(reason)
        self.kernels = <const Kernels *><size_t>_scanner_module("raw", _tier).kernels()
        self.check = self.raw.check
        return None

    def __dealloc__(self):
        cdef PyObject *spare = <PyObject *>ht_take(<void **>&self.spare)
        Py_XDECREF(spare)
        if self.has_prototype:
            cache_free(&self.prototype)
        if self.seeded:
            seeds_free(&self.seeds)

    @property
    def is_fast(self):
        """Whether this pipeline has a scanner."""
        return self.scans

    # ------------------------------------------------------------------ workers

    cdef WorkerBox checkout(self, int threads):
        cdef WorkerBox box
        cdef int64_t budget = cache_bytes_allowed() // threads
        cdef PyObject *spare = <PyObject *>ht_take(<void **>&self.spare)
        if budget < 65536:
            budget = 65536
        if spare != NULL:
            box = <WorkerBox>spare
            Py_DECREF(box)       # the reference that the slot held
        else:
            try:
                box = self.pool.pop()
            except IndexError:
                box = WorkerBox(self)
        box.engine = self
        if box.budget != budget or box.generation != self.generation:
            box.prepare(budget)
        worker_reset(box.w)
        return box

    cdef void checkin(self, WorkerBox box):
        cdef Worker *w = box.w
        if w.id_capacity * 4 > KEEP_BYTES:
            worker_drop_ids(w)
        if w.capacity > KEEP_BYTES:
            free(w.text)
            free(w.index)
            w.text = NULL
            w.index = NULL
            w.capacity = 0
            w.used = 0
        if box.context.buffer_size > KEEP_BYTES:
            free(box.context.buffer)
            box.context.buffer = NULL
            box.context.buffer_size = 0
        box.engine = None
        Py_INCREF(box)           # for the slot
        if not ht_put(<void **>&self.spare, <void *>box):
            Py_DECREF(box)
            self.pool.append(box)

    cdef list idle(self):
        """The workers that no call is using right now."""
        cdef PyObject *spare = <PyObject *>ht_take(<void **>&self.spare)
        cdef WorkerBox box
        if spare != NULL:
            box = <WorkerBox>spare
            Py_DECREF(box)
            self.pool.append(box)
        return list(self.pool)

    cdef list strings(self):
        """Vocabulary strings by id (None for holes), where ids are dense enough for a list; [] otherwise."""
        cdef list table
        cdef int64_t top
        if self._strings is None:
            vocab = self.pipeline.model.vocab
            top = max(vocab.values(), default=-1) + 1
            if top > 4 * len(vocab) + 1024:
                self._strings = []
            else:
                table = [None] * top
                for token, id in vocab.items():
                    table[id] = token
                self._strings = table
        return self._strings

    cdef list strings_for(self, Py_ssize_t n):
        """`strings`, for n tokens; None where the model makes them one by one and these are too few to make all."""
        cdef Model model = self.pipeline.model
        if self._strings is None and isinstance(model, BPEModel) and (<BPEModel>model).makes_texts():
            self.made_singly += n
            if self.made_singly < (<BPEModel>model).map.table.size // 4:
                return None
        return self.strings()

    cdef object string_of(self, uint32_t id, list table):
        """The vocabulary's string of an id. table: what `strings_for` gave."""
        if table is None:
            return (<BPEModel>self.pipeline.model).text_of(id)
        return table[id] if id < <uint32_t>len(table) else self.pipeline.model.vocab_r.get(id)

    def clear_cache(self):
        """Forget every cached word; output does not change."""
        self.generation += 1
        self.idle()
        self.pool.clear()

    def cache_bytes_used(self):
        """Bytes of the caches that no call is using right now."""
        cdef WorkerBox box
        cdef int64_t total = 0
        for box in self.idle():
            if box.w != NULL:
                total += cache_bytes(&box.w.cache)
        return total

    def statistics(self):
        """What idle workers did so far: (chunks looked up, not in their home bucket, given to the model)."""
        cdef WorkerBox box
        cdef int64_t lookups = 0, beyond = 0, misses = 0
        for box in self.idle():
            lookups += box.w.lookups
            beyond += box.w.beyond
            misses += box.w.misses
        return lookups, beyond, misses

    cdef int _make_prototype(self) except -1:
        """A cache that knows every vocabulary string that is one token as a word; workers start from a copy of it."""
        cdef Value value
        cdef ht_key key
        cdef const uint8_t *p
        cdef int64_t i, n
        cdef Model model = self.pipeline.model
        cdef const VocabTable *v
        if (self.has_prototype or not model.knows_itself or not isinstance(model, WordPieceModel)
                or self.marked is not None):
            return 0             # where each string must go through the model, that costs more than it saves
        if cache_init(&self.prototype, 1 << 40, self.kernels.hash_key, self.kernels.hash_long) != 0:
            raise MemoryError("no memory for the word cache")
        self.has_prototype = True
        v = &(<WordPieceModel>model).map.table
        if cache_reserve(&self.prototype, v.size) != 0:
            raise MemoryError("no memory for the word cache")
        for i in range(v.size):
            p = v.text.data + v.offsets[i]
            n = v.offsets[i + 1] - v.offsets[i]
            if not 0 < n <= 16 or memchr(p, 0, <size_t>n) != NULL or not put_ids(&value, &v.ids[i], 1):
                continue
            memset(&key, 0, 16)
            memcpy(&key, p, <size_t>n)
            cache_insert(&self.prototype, &key, self.kernels.hash_key(key), &value)
        return 0

    cdef int _seed_raw(self, Documents documents) except -1:
        """What a scanner of raw text may know about the vocabulary, once there has been enough text to pay for it."""
        self.seen += documents.bytes
        if self.seen < PROVE_AT:
            return 0
        if not self.high_seen:
            # What serves text beyond ASCII only. Each such look takes some ten microseconds: there are fewer and fewer.
            self.high_looks += 1
            if self.high_looks & (self.high_looks - 1) == 0 and _holds_high(documents):
                self.high_seen = True
                self.early = early_chars(self.raw.model, self.raw.rules.marks)
        if not self.cuts_decided and (not self.raw.model.ignore_merges or self.high_seen):
            # Under ignore_merges that takes a proof of all tokens.
            self.cuts_decided = True
            self.raw.allow_cuts()
        if self.looked_through or not (self.raw.model.byte_level or self.raw.rules.marks):
            return 0
        self.looked_through = True
        self.seeded = seed_table(&self.seeds, self.kernels.hash_key, self.raw.model, self.raw.rules.marks)
        return 0

    # ------------------------------------------------------------------ the batch loop

    cdef int run(self, Call *call, Documents documents, list boxes, object parallel_flag, int64_t *n_units) except -1:
        """Encode all documents; boxes gets the workers used. The caller frees call.units and checks the boxes in."""
        cdef int64_t i, units, size, expected
        cdef int threads
        cdef WorkerBox box
        cdef bint hold = documents.bytes < HOLD_BYTES or self.pipeline.needs_gil
        call.docs = documents.docs
        call.error = 0
        call.error_doc = -1
        call.scanned = self.scans and not call.exact
        units = _make_units(self, call, documents)
        n_units[0] = units
        threads = 1 if self.pipeline.needs_gil else parallel.threads_for(units, parallel_flag)
        if call.scanned and documents.bytes >= SEED_AT:
            if self.raw is not None:
                self._seed_raw(documents)
            elif not self.has_prototype:
                self._make_prototype()
        call.workers = <Worker **>malloc(<size_t>threads * sizeof(void *))
        if call.workers == NULL:
            raise MemoryError("no memory for the encoder's threads")
        try:
            for i in range(threads):
                box = self.checkout(threads)
                boxes.append(box)
                if self.raw is not None:
                    box.use_seeds()
                elif call.scanned and documents.bytes >= SEED_AT and not box.seeded and self.has_prototype:
                    cache_adopt(&box.w.cache, &self.prototype)
                    box.seeded = True
                call.workers[i] = box.w
            expected = <int64_t>(<double>documents.bytes * self.density)
            # Without memory for as many tokens as there may be, each thread keeps what it makes: there may be fewer.
            if threads == 1 or documents.bytes < PLACE_AT or (call.places != NULL and places_begin(
                    call.places, expected + documents.n * (call.n_prefix + call.n_suffix) + 4096, call.want_spans, threads)):
                call.places = NULL
            if call.places != NULL:
                expected = <int64_t>(8 * UNIT_MOST * self.density)
            else:
                expected //= threads
            for box in boxes:
                self.set_up(box, call, expected)
            self.work(call, units, threads, hold)
            if call.again:
                call.again = 0
                call.error = 0
                call.whole = 1
                free(call.units)
                call.units = NULL
                n_units[0] = units = _make_units(self, call, documents)
                if call.places != NULL:
                    places_restart(call.places, threads)
                for box in boxes:
                    worker_reset(box.w)
                    self.set_up(box, call, expected)
                self.work(call, units, threads, hold)
        finally:
            free(call.workers)
            call.workers = NULL
        if call.error:
            raise self.failure(call.error, call.error_doc)
        if documents.bytes >= LEARN_AT:
            size = 0
            for i in range(units):
                size += call.units[i].n
            self.density = 1.05 * <double>size / <double>documents.bytes
        return 0

    cdef void set_up(self, WorkerBox box, const Call *call, int64_t expected):
        """Tell a worker what this call wants."""
        box.w.row_ends = call.row_ends
        box.w.expected = expected
        if expected > box.w.id_capacity:
            worker_drop_ids(box.w)       # made anew at that size: what a smaller call has left would grow, and be copied, many times
        box.w.prefix = call.prefix
        box.w.n_prefix = call.n_prefix
        box.w.suffix = call.suffix
        box.w.n_suffix = call.n_suffix
        box.w.want_spans = call.want_spans
        box.w.want_words = call.want_words

    cdef void work(self, Call *call, int64_t units, int threads, bint hold):
        if hold:
            parallel_for(_run_unit, call, units, 1)
        else:
            with nogil:
                parallel_for(_run_unit, call, units, threads)

    cdef int encode_short(self, WorkerBox box, object text, Affix affix, int64_t limit, int64_t *end) except -1:
        # _run_unit for one document, without what serves many.
        cdef Worker *w = box.w
        cdef Doc d
        cdef const uint8_t *data
        cdef int64_t size
        cdef int error = 0
        doc_of_str(&d, text)
        data = d.data
        size = d.size
        if d.kind != DOC_UTF8:
            data = doc_text(&d, 0, -1, w.kernels.utf8_valid, &box.context.buffer, &box.context.buffer_size, &size, &error)
            if error:
                raise self.failure(ERROR_DOCUMENT + error, 0)
        w.row_ends = end
        if affix is not None:
            w.prefix = affix.data
            w.n_prefix = affix.n_prefix
            w.suffix = affix.data + affix.n_prefix
            w.n_suffix = affix.n_suffix
        if not self.scans or not _scan_document(limit, w, data, size, 0, True, True, &error):
            if error == 0:
                error = _exact_document(w, data, size, 0, False, True)
        if error == 0:
            error = w.kernels.flush(w)
        if error == ERROR_EXACT + PT_PYTHON:
            return -1                # the exception is set
        if error:
            raise self.failure(error, 0)
        return 0

    cdef object failure(self, int error, int64_t doc):
        """The exception of a call's error."""
        if error == ERROR_DOCUMENT + DOC_ERR_SURROGATE:
            return TypeError(f"text {doc} holds a lone surrogate, which has no UTF-8 form: TextInputSequence must be str")
        if error >= ERROR_EXACT:
            return self.pipeline.failure(error - ERROR_EXACT)
        if error == SCAN_MISSING_UNK:
            return self.pipeline.model.missing_unk()
        if error == SCAN_TOO_LONG:
            return OverflowError("a text of 4 GiB or more cannot be encoded in one piece: cut it first")
        return MemoryError("out of memory while encoding")


# ---------------------------------------------------------------------- units

cdef bint _holds_high(Documents documents) noexcept:
    """Whether a sample of the texts has a fair part of characters beyond ASCII."""
    cdef int64_t i, k, n = 0, high = 0, step = documents.n // 64 + 1
    cdef const Doc *d
    for i in range(0, documents.n, step):
        d = &documents.docs[i]
        if d.kind == DOC_UCS2 or d.kind == DOC_UCS4:
            n += d.size
            high += d.size
            continue
        for k in range(0, d.size, d.size // 1024 + 1):
            high += d.data[k] >> 7
            n += 1
    return high * 16 > n


cdef int64_t _make_units(Engine engine, Call *call, Documents documents) except -1:
    """Deal the documents out; call.units gets them. Whole documents up to an eighth of a thread's share a unit, within limits;
    where the scanner allows it, a document of several units' size is cut."""
    cdef int64_t i, n = 0, capacity = 4, size = 0, first = 0, start, stop
    cdef int64_t target = UNIT_MOST
    cdef Unit *units = <Unit *>malloc(<size_t>capacity * sizeof(Unit))
    cdef Unit *grown
    cdef const Doc *d
    cdef bint cut = call.scanned and not call.whole and call.limit == 0 and not call.want_words and not call.want_spans and (
        engine.check is None or engine.checks_pieces)
    if cut and engine.raw is not None:
        cut = engine.raw.cuts_units
    elif cut:
        cut = engine.classifier.drops_whitespace and not engine.pipeline.raw.holds_blanks
        if engine.marked is not None:
            cut = engine.marked.cuts_units
    if units == NULL:
        raise MemoryError("no memory for the work units")
    if documents.bytes >= 2 * UNIT_LEAST:
        target = documents.bytes // (8 * parallel.max_threads())
        if target > UNIT_MOST:
            target = UNIT_MOST
        if target < UNIT_LEAST:
            target = UNIT_LEAST
    if documents.n and documents.bytes + 64 * documents.n < target:
        _whole_documents(&units[0], 0, documents.n)
        call.units = units
        call.n_units = 1
        return 1
    for i in range(documents.n + 1):
        if n + 2 > capacity:
            capacity *= 2
            grown = <Unit *>realloc(units, <size_t>capacity * sizeof(Unit))
            if grown == NULL:
                free(units)
                raise MemoryError("no memory for the work units")
            units = grown
        if i == documents.n or size >= target or (cut and _in_place(&documents.docs[i]) and documents.docs[i].size > 2 * target):
            if i > first:
                _whole_documents(&units[n], first, i)
                n += 1
            first = i
            size = 0
        if i == documents.n:
            break
        d = &documents.docs[i]
        if cut and _in_place(d) and d.size > 2 * target:
            start = 0
            while start < d.size:
                stop = start + target
                if stop >= d.size - target // 2:
                    stop = d.size
                else:
                    stop = _cut_after(engine, d.data, stop, d.size) if engine.raw is None else _cut_before(engine.raw, d.data, stop, d.size)
                if n + 2 > capacity:
                    capacity *= 2
                    grown = <Unit *>realloc(units, <size_t>capacity * sizeof(Unit))
                    if grown == NULL:
                        free(units)
                        raise MemoryError("no memory for the work units")
                    units = grown
                _whole_documents(&units[n], i, i + 1)
                units[n].start = start
                units[n].end = stop
                units[n].begins = start == 0
                units[n].finishes = stop == d.size
                n += 1
                start = stop
            first = i + 1
        else:
            size += d.size + 64
    call.units = units
    call.n_units = n
    return n


cdef inline void _whole_documents(Unit *unit, int64_t first, int64_t last) noexcept nogil:
    unit.first = first
    unit.last = last
    unit.start = 0
    unit.end = -1
    unit.begins = unit.finishes = 1
    unit.done = unit.placed = 0


cdef inline bint _in_place(const Doc *d) noexcept nogil:
    return d.kind == DOC_UTF8 or d.kind == DOC_RAW


cdef int64_t _cut_after(Engine engine, const uint8_t *text, int64_t at, int64_t size) noexcept nogil:
    """A place >= at where a document may be cut: after a separator and before a letter or digit of ASCII that begins no added
    token. Words end there, blanks that an added token strips stay on its side, and no normal form reaches across."""
    cdef uint8_t b
    while at < size:
        b = text[at]
        if (48 <= b <= 57 or 65 <= b <= 90 or 97 <= b <= 122) and not engine.classifier.t.first[b]:
            b = text[at - 1]
            if is_separator(&engine.classifier.t, b):
                if not engine.classifier.t.spaced:
                    return at
                # The separator belongs to the word behind it.
                b = text[at - 2]
                if 48 <= b <= 57 or 65 <= b <= 90 or 97 <= b <= 122:
                    return at - 1
        at += 1
    return size


cdef int64_t _cut_before(RawScanner raw, const uint8_t *text, int64_t at, int64_t size) noexcept nogil:
    """A place >= at, > 0, where a document of raw text may be cut: before a space between a letter or digit and a letter, where
    no added token can lie or reach (RawScanner.cuts_units)."""
    while at < size - 1:
        if text[at] == c' ' and raw.rules.cut_after[text[at - 1]] and 97 <= (text[at + 1] | 32) <= 122:
            return at
        at += 1
    return size


cdef inline void _fail(Call *call, int error, int64_t doc) noexcept nogil:
    # Several threads may fail; the least document wins where they see each other, and any error is an error.
    if call.error == 0 or doc < call.error_doc:
        call.error_doc = doc
        call.error = error


cdef void _run_unit(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Call *call = <Call *>ctx
    cdef Unit *u = &call.units[i]
    cdef Worker *w = call.workers[thread]
    cdef Context *c = <Context *>w.context
    cdef int64_t d, size
    cdef const uint8_t *text
    cdef int error = 0
    # Nothing but the scan decides about a document: of short ones each step between would be felt.
    cdef bint simple = (call.scanned and w.rules == NULL and c.kind != CHUNK_WORDS and not c.keeps_nul and c.check == NULL and u.begins and u.finishes)
    u.thread = thread
    u.at = w.n_ids
    u.n = 0
    if call.error or call.again:
        return
    w.row_begun = not u.begins
    w.word = 0
    for d in range(u.first, u.last):
        if call.docs[d].kind == DOC_UTF8 and u.end < 0:
            text = call.docs[d].data
            size = call.docs[d].size
            if simple and size < LONGEST_SCANNED:
                worker_begin(w, call.limit)
                w.hold = 0
                error = w.kernels.scan(w, text, size)
                if error == SCAN_OK or error == SCAN_FULL:
                    error = worker_end(w, d)
                if error:
                    _fail(call, error, d)
                    return
                continue
        else:
            size = 0
            text = doc_text(&call.docs[d], u.start, u.end, w.kernels.utf8_valid, &c.buffer, &c.buffer_size, &size, &error)
            if error:
                _fail(call, ERROR_DOCUMENT + error, d)
                return
        if not call.scanned or not _scan_document(call.limit, w, text, size, d, u.begins, u.finishes, &error):
            if error == 0 and c.ends_show and not (u.begins and u.finishes):
                call.again = 1
                return
            if error == 0:
                error = w.kernels.flush(w)
            if error == 0:
                error = _exact_document(w, text, size, d, call.exact, u.finishes)
        if error:
            _fail(call, error, d)
            return
    error = w.kernels.flush(w)
    if error:
        _fail(call, error, u.last - 1)
        return
    u.n = w.n_ids - u.at
    if call.places != NULL:
        places_done(call.places, call.units, call.n_units, i, w, call.row_ends)


cdef bint _scan_document(int64_t limit, Worker *w, const uint8_t *text, int64_t size, int64_t row, bint begins, bint finishes, int *error) noexcept nogil:
    """The fast path; False where the document must take the exact one (nothing of it is left then)."""
    cdef Context *c = <Context *>w.context
    cdef int64_t used = w.used, directs = w.n_directs
    if size >= LONGEST_SCANNED:
        return False
    if c.keeps_nul and size and memchr(text, 0, <size_t>size) != NULL:
        return False
    if w.rules != NULL:
        return _scan_raw(limit, w, text, size, row, begins, finishes, error)
    cdef uint32_t skipped = 0
    cdef bint first = False
    if c.kind == CHUNK_WORDS:
        if not (<MarkedWords>c.marked).admits(&text, &size, &skipped, w.want_spans, begins, finishes):
            return False
        first = begins and (<MarkedWords>c.marked).first
        c.text_size = size
    worker_begin(w, limit)
    w.hold = c.check != NULL or first
    w.character = skipped
    error[0] = w.kernels.scan(w, text, size)
    if error[0] == SCAN_FULL:
        error[0] = 0
    if error[0] == 0 and first:
        error[0] = (<MarkedWords>c.marked).mark_first(w, text, size, skipped)
    if error[0]:
        return True
    if c.check != NULL and _holds_normalized(w, used, error):
        w.n_starts = w.n_ends = w.first_chunk
        w.used = used
        w.n_directs = directs
        w.run = 0
        return False
    if finishes:
        error[0] = worker_end(w, row)
    elif w.run:
        w.ends[w.n_ends] = <uint32_t>w.used
        w.n_ends += 1
        w.run = 0
    return True


cdef bint _scan_raw(int64_t limit, Worker *w, const uint8_t *text, int64_t size, int64_t row, bint begins, bint finishes, int *error) noexcept nogil:
    """The same for chunks of raw text. What the scanner must not decide is known before it starts."""
    cdef Context *c = <Context *>w.context
    if c.kind == CHUNK_MARKS and _holds_mark(text, size):
        return False
    if c.check != NULL and _holds_token(<const Matcher *>c.check, text, size):
        return False
    if c.all_stable and not all_stable(text, size, c.all_stable):
        return False
    if c.n_lacking and _holds_lacking((<BPEModel>(<Pipeline>c.pipeline).model).lacking, c.n_lacking, text, size):
        return False
    worker_begin(w, limit)
    w.begins = begins
    error[0] = w.kernels.scan(w, text, size)
    if error[0] == SCAN_FULL:
        error[0] = 0
    if error[0] == 0 and finishes:
        error[0] = worker_end(w, row)
    return True


cdef bint _holds_mark(const uint8_t *text, int64_t size) noexcept nogil:
    """Whether a U+2581 stands in the text, which the chunk's spaces would hide."""
    cdef const uint8_t *p = text
    cdef const uint8_t *end = text + size
    while p < end:
        p = <const uint8_t *>memchr(p, 0xE2, <size_t>(end - p))
        if p == NULL or end - p < 3:
            return False
        if p[1] == 0x96 and p[2] == 0x81:
            return True
        p += 3
    return False


cdef bint _holds_lacking(const uint8_t *lacking, int n, const uint8_t *text, int64_t size) noexcept nogil:
    """Whether one of n bytes, for which the vocabulary has no token, stands in the text."""
    cdef int i
    for i in range(n):
        if memchr(text, lacking[i], <size_t>size) != NULL:
            return True
    return False


cdef bint _holds_token(const Matcher *m, const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i
    cdef Hit hit
    for i in range(size):
        if m.first[text[i]] and match_token(m, text, size, i, 0, &hit) != MATCH_NONE:
            return True
    return False


cdef int _normalize(Worker *w, const uint8_t *text, int64_t size, int64_t at, int64_t *written) noexcept nogil:
    """normalize_fn of a raw scanner: the normal form of a slice."""
    cdef Context *c = <Context *>w.context
    cdef PreTokenized *p = &c.exact.pt
    cdef const Split *s
    cdef int64_t k, n, cursor = 0, chars = 0
    cdef int error
    pt_reset(p, text, size)
    if p.error:
        return p.error + ERROR_EXACT
    (<Pipeline>c.pipeline).normalizer.run(p, &p.splits[0])
    if p.error:
        return p.error + ERROR_EXACT
    s = &p.splits[0]
    n = s.end - s.start
    error = worker_room(w, at - w.used + n + 256, 0)
    if error:
        return error
    memcpy(w.text + at, p.text + s.start, <size_t>n)
    if w.want_spans or w.want_words:
        for k in range(n):
            w.index[at + k] = w.character + char_index(p.original, &cursor, &chars, p.align[s.start + k].start)
        for k in range(size):
            w.character += (text[k] & 0xC0) != 0x80
    written[0] = n
    return SCAN_OK


cdef bint _holds_normalized(Worker *w, int64_t used, int *error) noexcept nogil:
    """Whether an added token of the normalized pass may occur in the document just scanned, from place `used` of the chunk text
    on. Its chunks are laid side by side,
    which leaves out every separator, and searched for the tokens without their separators: no occurrence is missed, and one
    too many only costs time."""
    cdef Context *c = <Context *>w.context
    cdef const Matcher *m = <const Matcher *>c.check
    cdef int64_t k, n = 0, need = w.used + 16, first = w.first_chunk
    cdef uint32_t at, end
    cdef uint8_t *p
    cdef Hit hit
    if not holds_byte(&c.check_bytes, w.text + used, w.used - used):
        return False
    if need > c.joined_size:
        p = <uint8_t *>realloc(c.joined, <size_t>need)
        if p == NULL:
            error[0] = SCAN_NO_MEMORY
            return False
        c.joined = p
        c.joined_size = need
    for k in range(first, w.n_starts):
        end = w.ends[k] if k < w.n_ends else <uint32_t>w.used
        if end >= KNOWN:
            end = w.starts[k] + utf8_len(w.text[w.starts[k]])
        at = w.starts[k] + (c.kind == CHUNK_WORDS and end > w.starts[k] and w.text[w.starts[k]] == c' ')
        memcpy(c.joined + n, w.text + at, end - at)
        n += end - at
    for k in range(n):
        if m.first[c.joined[k]] and match_token(m, c.joined, n, k, 0, &hit) != MATCH_NONE:
            return True
    return False


cdef int _exact_document(Worker *w, const uint8_t *text, int64_t size, int64_t row, bint plain, bint finishes) noexcept nogil:
    """One document through the exact path into the worker's output, or a piece of one, which does not end its row unless it
    finishes it. plain: the model is asked for every pre-token; else
    the cache is, where the pre-tokens can be chunks."""
    cdef Context *c = <Context *>w.context
    cdef ExactState *x = &c.exact
    cdef int64_t i
    cdef int error = (<Pipeline>c.pipeline).split(x, text, size)
    if error:
        return error + ERROR_EXACT
    if not plain and (<Pipeline>c.pipeline).model.chunk_independent and c.kind != CHUNK_MARKS:
        worker_begin(w, 0)
        error = _push_splits(w, x, 0)
        if error == 0:
            return worker_end(w, row) if finishes else 0
        if error > 0:
            return error
    error = (<Pipeline>c.pipeline).tokens(x, -1, False, w.want_spans)
    if error:
        return error + ERROR_EXACT
    error = worker_id_room(w, x.n_tokens + w.n_prefix + w.n_suffix + 8)
    if error:
        return error
    if not w.row_begun:
        emit_around(w, w.prefix, w.n_prefix)
        w.row_begun = 1
    for i in range(x.n_tokens):
        w.ids[w.n_ids] = x.tokens[i].id
        if w.want_spans:
            emit_span(w, w.n_ids, x.tokens[i].start, x.tokens[i].end)
        if w.want_words:
            w.words[w.n_ids] = x.tokens[i].word | (DIRECT_WORD if x.tokens[i].value == VALUE_ADDED else 0)
        w.n_ids += 1
    if not finishes:
        return 0
    emit_around(w, w.suffix, w.n_suffix)
    w.row_begun = 0
    w.word = 0
    w.row_ends[row] = w.n_ids
    return 0


# ---------------------------------------------------------------------- chunks that the home bucket does not know

cdef int _miss(Worker *w, int64_t chunk, const ht_key *key) noexcept nogil:
    cdef Context *c = <Context *>w.context
    cdef uint32_t s = w.starts[chunk], n = w.ends[chunk] - s
    cdef const uint8_t *text = w.text + s
    cdef uint8_t long_key[LONG_KEY]
    cdef uint32_t hash = 0, long_hash = <uint32_t>key.hi, id
    cdef Value *v = NULL
    cdef Value value
    cdef bint full = w.want_spans or w.want_words
    cdef Direct *d
    cdef ExactState *x = &c.exact
    cdef int error
    w.beyond += 1
    if n == 0:
        d = &w.directs[w.next_direct]
        w.next_direct += 1
        w.ids[w.n_ids] = d.id
        if w.want_spans:
            emit_span(w, w.n_ids, d.start, d.end)
        if w.want_words:
            w.words[w.n_ids] = w.word | DIRECT_WORD
        w.n_ids += 1
        return 0
    if n <= 16:
        hash = w.cache.hash_key(key[0])
        v = cache_find_overflow(&w.cache, key, hash)
        if v == NULL:
            v = cache_find_aside(&w.cache, key, hash)
        if v == NULL and c.seeds != NULL:
            id = seeds_find(c.seeds, key, hash)
            if id != NO_SEED and put_ids(&value, &id, 1):
                emit_value(w, chunk, &value, full)
                cache_insert(&w.cache, key, hash, &value)
                return 0
    elif n <= LONG_KEY:
        memset(long_key, 0, LONG_KEY)
        memcpy(long_key, text, n)
        v = cache_find_long(&w.cache, long_key, long_hash)
    elif n <= LONGEST_TEXT:
        cache_text_key(text, n, long_key)
        if not key.hi + 1:                       # not asked for ahead
            long_hash = w.cache.hash_long(long_key)
        v = cache_find_long(&w.cache, long_key, long_hash)
        if v != NULL and memcmp(w.cache.arena + v.block + 2 * v.count, text, n) != 0:
            v = NULL             # the hash lies: it will be put in the other's place, or beside it
    if v != NULL:
        emit_value(w, chunk, v, full)
        return 0
    w.misses += 1
    x.pieces.size = 0
    if c.kind == CHUNK_WORDS:
        error = (<MarkedWords>c.marked).tokenize(x, text, n, &c.buffer_marks, &c.buffer_marks_size)
    elif c.kind == CHUNK_SPELLED:
        error = _tokenize_spelled(c, text, n)
    elif c.kind != CHUNK_TEXT:
        error = _tokenize_bytes(c, text, n) if c.kind == CHUNK_BYTES else _tokenize_marks(c, text, n)
    elif w.unfinished and _unfinished(w, text, n):
        pt_reset(&x.pt, text, n)
        (<Pipeline>c.pipeline).normalizer.run(&x.pt, &x.pt.splits[0])
        if x.pt.error:
            return x.pt.error + ERROR_EXACT
        error = (<Pipeline>c.pipeline).model.tokenize(x.pt.text + x.pt.splits[0].start, x.pt.splits[0].end - x.pt.splits[0].start,
                                                      &x.pieces, x.model_scratch)
        _to_raw(x)
    else:
        error = (<Pipeline>c.pipeline).model.tokenize(text, n, &x.pieces, x.model_scratch)
    if error:
        return SCAN_MISSING_UNK if error == MODEL_MISSING_UNK else SCAN_NO_MEMORY
    error = _emit_pieces(w, s, &x.pieces, full)
    if error or n > LONGEST_TEXT:
        return error
    if not _pack(w, &x.pieces, text, n, &value):
        return 0
    if n <= 16:
        cache_insert(&w.cache, key, hash, &value)
    else:
        cache_insert_long(&w.cache, long_key, long_hash, &value)
    return 0


cdef int _tokenize_bytes(Context *c, const uint8_t *text, int64_t n) noexcept nogil:
    """The pieces of a chunk under a byte-level vocabulary."""
    cdef ExactState *x = &c.exact
    cdef int64_t i, count
    cdef void *p
    if n > c.room:
        count = 2 * n + 64
        p = realloc(c.ids, <size_t>count * 4)
        if p == NULL:
            return MODEL_NO_MEMORY
        c.ids = <uint32_t *>p
        p = realloc(c.starts, <size_t>count * 8)
        if p == NULL:
            return MODEL_NO_MEMORY
        c.starts = <int64_t *>p
        c.room = count
    if c.seeds != NULL and n <= 16:
        # No token is the whole of it, or it would have been found.
        count = (<BPEModel>(<Pipeline>c.pipeline).model).encode_pieces(text, n, c.ids, c.starts, <BPEScratch *>x.model_scratch)
    else:
        count = (<BPEModel>(<Pipeline>c.pipeline).model).encode_bytes(text, n, c.ids, c.starts, x.model_scratch)
    if count < 0:
        return MODEL_NO_MEMORY
    for i in range(count):
        if tv_push(&x.pieces, c.ids[i], 0, c.starts[i], c.starts[i + 1] if i + 1 < count else n):
            return MODEL_NO_MEMORY
    return 0


cdef uint8_t *_spelling(Context *c, int64_t size) noexcept nogil:
    """Room for a chunk as the model sees it, or NULL."""
    cdef uint8_t *p
    if c.buffer_marks_size < size:
        p = <uint8_t *>realloc(c.buffer_marks, <size_t>(2 * size + 64))
        if p == NULL:
            return NULL
        c.buffer_marks = p
        c.buffer_marks_size = 2 * size + 64
    return c.buffer_marks


cdef int _tokenize_spelled(Context *c, const uint8_t *text, int64_t n) noexcept nogil:
    """The pieces of a chunk that the model sees in ByteLevel characters."""
    cdef ExactState *x = &c.exact
    cdef int64_t i, k = 0, at, end
    cdef int error
    cdef uint8_t *p = _spelling(c, 2 * n + 1)
    if p == NULL:
        return MODEL_NO_MEMORY
    k = byte_chars(text, n, p)
    p[k] = 0
    error = (<Pipeline>c.pipeline).model.tokenize(p, k, &x.pieces, x.model_scratch)
    if error or k == n:
        return error
    # Back from places in that spelling to places in the chunk; pieces are in order. Where characters have vanished a piece may begin
    # inside one.
    i = k = 0
    for at in range(x.pieces.size):
        while k + utf8_len(p[k]) <= x.pieces.data[at].start:
            k += utf8_len(p[k])
            i += 1
        x.pieces.data[at].start = i
        end = k
        n = i
        while end < x.pieces.data[at].end:
            end += utf8_len(p[end])
            n += 1
        x.pieces.data[at].end = n
    return 0


cdef int _tokenize_marks(Context *c, const uint8_t *text, int64_t n) noexcept nogil:
    """The pieces of a chunk whose spaces stand for U+2581."""
    cdef ExactState *x = &c.exact
    cdef int64_t i, k = 0, at = 0
    cdef int error
    cdef uint8_t *p = _spelling(c, 3 * n)
    if p == NULL:
        return MODEL_NO_MEMORY
    for i in range(n):
        if text[i] == c' ':
            p[k] = 0xE2
            p[k + 1] = 0x96
            p[k + 2] = 0x81
            k += 3
        else:
            p[k] = text[i]
            k += 1
    error = (<Pipeline>c.pipeline).model.tokenize(p, k, &x.pieces, x.model_scratch)
    if error or k == n:
        return error
    # Back from places in the marked text to places in the chunk; pieces are in order.
    i = k = 0
    for at in range(x.pieces.size):
        while k + (3 if text[i] == c' ' else 1) <= x.pieces.data[at].start:
            k += 3 if text[i] == c' ' else 1
            i += 1
        x.pieces.data[at].start = i
        while k < x.pieces.data[at].end:
            k += 3 if text[i] == c' ' else 1
            i += 1
        x.pieces.data[at].end = i
        # The next piece may begin inside the last character.
        if i:
            i -= 1
            k -= 3 if text[i] == c' ' else 1
    return 0


cdef bint _unfinished(Worker *w, const uint8_t *text, int64_t n) noexcept nogil:
    """Whether a chunk holds a code point whose normalization was left to us."""
    cdef int64_t i = 0
    cdef int length
    cdef const CharEntry *e
    cdef uint32_t cp
    while i < n:
        if text[i] < 128:
            i += 1
            continue
        cp = utf8_decode(text + i, &length)
        e = char_entry(w.tables, cp)
        if e != NULL and e.action & ACT_UNFINISHED:
            return True
        i += length
    return False


cdef void _to_raw(ExactState *x) noexcept nogil:
    """Piece boundaries of the finished text as boundaries of the chunk's own bytes: first byte, and last byte + 1."""
    cdef int64_t i, base = x.pt.splits[0].start
    for i in range(x.pieces.size):
        x.pieces.data[i].start = x.pt.align[base + x.pieces.data[i].start].start
        x.pieces.data[i].end = x.pt.align[base + x.pieces.data[i].end - 1].end


cdef int _emit_pieces(Worker *w, uint32_t s, const TokenVec *pieces, bint full) noexcept nogil:
    cdef int64_t i
    cdef int error = worker_id_room(w, pieces.size + (MAX_SPILLED + 4) * BATCH)
    if error:
        return error
    for i in range(pieces.size):
        w.ids[w.n_ids] = pieces.data[i].id
        if full:
            if w.want_spans:
                if pieces.data[i].end > pieces.data[i].start:
                    emit_span(w, w.n_ids, w.index[s + pieces.data[i].start], w.index[s + pieces.data[i].end - 1] + 1)
                else:
                    emit_span(w, w.n_ids, w.index[s], w.index[s])
            if w.want_words:
                w.words[w.n_ids] = w.word
        w.n_ids += 1
    return 0


cdef bint _pack(Worker *w, const TokenVec *pieces, const uint8_t *text, uint32_t n, Value *value) noexcept nogil:
    """The pieces of a chunk of n bytes as a cache value; False where it is not to be cached."""
    cdef int64_t i, at = 0, words = (n + 3) // 4 if n > LONG_KEY else 0
    cdef uint32_t *block
    cdef uint32_t spill
    cdef uint32_t ids[INLINE_IDS]
    cdef bint tiled = True
    memset(value, 0, sizeof(Value))
    if pieces.size == 0:
        return False
    for i in range(pieces.size):
        if pieces.data[i].start != at or pieces.data[i].end <= at:
            tiled = False
        at = pieces.data[i].end
        if pieces.data[i].end <= pieces.data[i].start:
            return False
        if i == 0 and at == 1 and pieces.size > 1 and pieces.data[1].start == 0:
            at = 0               # a word mark before the word, see emit_value
    if at != n:
        tiled = False
    if tiled and pieces.size <= INLINE_IDS and words == 0:
        for i in range(pieces.size):
            ids[i] = pieces.data[i].id
        if put_ids(value, ids, pieces.size):
            for i in range(1, pieces.size):
                put_cut(value, i, <uint32_t>pieces.data[i].start)
            return True
    if pieces.size > MAX_SPILLED:
        return False
    spill = cache_spill(&w.cache, pieces.size, words)
    if spill == 0:
        return False
    block = w.cache.arena + spill
    for i in range(pieces.size):
        block[i] = pieces.data[i].id
        block[pieces.size + i] = (<uint32_t>pieces.data[i].start << 16) | <uint32_t>(pieces.data[i].end - 1)
    value.block = spill
    value.count = <uint32_t>pieces.size
    value.text_words = <uint32_t>words
    if words:
        memcpy(block + 2 * pieces.size, text, n)
    return True


# ---------------------------------------------------------------------- text that the scanner must not decide

cdef int _region(Worker *w, const uint8_t *text, int64_t start, int64_t end, uint32_t character) noexcept nogil:
    """Normalize and pre-tokenize text[start:end] exactly and append its chunks."""
    cdef Context *c = <Context *>w.context
    cdef PreTokenized *p = &c.exact.pt
    cdef int error
    if c.kind == CHUNK_WORDS:
        return (<MarkedWords>c.marked).region(w, &c.exact, text, start, end, c.text_size, character)
    pt_reset(p, text + start, end - start)
    if p.error:
        return p.error + ERROR_EXACT
    if (<Pipeline>c.pipeline).normalizer is not None:
        (<Pipeline>c.pipeline).normalizer.run(p, &p.splits[0])
    if not p.error and (<Pipeline>c.pipeline).pre_tokenizer is not None:
        (<Pipeline>c.pipeline).pre_tokenizer.run(p)
    if p.error:
        return p.error + ERROR_EXACT
    error = _push_splits(w, &c.exact, character)
    # A scanner's pipeline has no chunk that must not be cached: its characters have widths, and NUL is kept out.
    return SCAN_NO_MEMORY if error < 0 else error


cdef int _push_splits(Worker *w, ExactState *x, uint32_t character) noexcept nogil:
    """Append the splits of the exact path as chunks. 0, an error, or -1 (nothing is left then): one of them holds a NUL, which a
    cache key cannot, or spans are wanted and a character without width would not get its own."""
    cdef PreTokenized *p = &x.pt
    cdef int64_t i, k, n, cursor = 0, chars = 0, size, first = w.n_starts, used = w.used, directs = w.n_directs
    cdef uint32_t at, cp
    cdef Split *s
    cdef int error, length
    cdef bint bytes_wanted = (<Context *>w.context).kind == CHUNK_BYTES or (<Context *>w.context).kind == CHUNK_SPELLED
    cdef const uint8_t *lacks = NULL
    if (<Context *>w.context).kind == CHUNK_WORDS:
        return (<MarkedWords>(<Context *>w.context).marked).push(w, x, character)
    if (<Context *>w.context).kind == CHUNK_BYTES:
        lacks = (<BPEModel>(<Pipeline>(<Context *>w.context).pipeline).model).lacks
    for i in range(p.n_splits):
        s = &p.splits[i]
        size = s.end - s.start
        error = worker_room(w, size + 256, 256)
        if error:
            return error
        if w.joined != NULL:
            w.joined[w.n_starts] = w.joined[w.n_starts + 1] = 0
        if s.token >= 0:
            at = 0
            k = s.oend
            if w.want_spans and s.ostart < p.size:
                at = character + char_index(p.original, &cursor, &chars, s.ostart)
                k = char_index(p.original, &cursor, &chars, s.oend - 1) + 1 if s.oend > s.ostart else 0
                k += character
            error = worker_direct(w, <uint32_t>s.token, at, <uint32_t>k)
            if error:
                return error
            continue
        if bytes_wanted:
            # ByteLevel characters back to their bytes.
            k = n = 0
            while k < size:
                cp = utf8_decode(p.text + s.start + k, &length)
                if cp >= 512 or CHAR_BYTE[cp] <= 0 or (lacks != NULL and lacks[CHAR_BYTE[cp]]):
                    break
                w.text[w.used + n] = <uint8_t>CHAR_BYTE[cp]
                if w.want_spans:
                    if p.align[s.start + k].end <= p.align[s.start + k].start:
                        break
                    w.index[w.used + n] = character + char_index(p.original, &cursor, &chars, p.align[s.start + k].start)
                n += 1
                k += length
            if k < size:
                break
            w.starts[w.n_starts] = <uint32_t>w.used
            w.used += n
            w.ends[w.n_ends] = <uint32_t>w.used
            w.n_starts += 1
            w.n_ends += 1
            continue
        if memchr(p.text + s.start, 0, <size_t>size) != NULL:
            break
        memcpy(w.text + w.used, p.text + s.start, <size_t>size)
        if w.want_spans:
            for k in range(size):
                if p.align[s.start + k].end <= p.align[s.start + k].start:
                    break
                w.index[w.used + k] = character + char_index(p.original, &cursor, &chars, p.align[s.start + k].start)
            else:
                k = size
            if k < size:
                break
        w.starts[w.n_starts] = <uint32_t>w.used
        w.used += size
        w.ends[w.n_ends] = <uint32_t>w.used
        w.n_starts += 1
        w.n_ends += 1
    else:
        return 0
    w.n_starts = w.n_ends = first
    w.used = used
    w.n_directs = directs
    return -1
