"""Counting the words of many texts with many threads.

What it does: a Counter takes blocks of texts (str) or of a file's lines (bytes), deals them out to threads in units of about 256
KiB, and counts into one table. A long sequence is cut where its words allow it. Bytes are checked for UTF-8 by the thread
that reads them. Between blocks the caller may stop, report progress or look at the memory in use.

Rule of the reference: train_from_files in tokenizer/mod.rs: a line, with its ending, is a sequence, and only \\n ends one. Left to
others: words of a sequence (sequences), tables (tally), iterators, files and progress (hftok.training).
"""
import time

from cpython.exc cimport PyErr_CheckSignals
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memchr

from hftok._core.documents cimport DOC_ERR_SURROGATE, Doc, Documents, doc_text
from hftok._core.normalized cimport PT_NO_MEMORY, PT_PANIC, pt_check
from hftok._core.parallel cimport parallel_for
from hftok._core.training.sequences cimport Lane, Words, count_sequence, cut_sequence, finish_sequences
from hftok._core.training.tally cimport Tallies
from hftok._core.utf8 cimport utf8_valid_prefix
from hftok._core.worker cimport Kernels

from hftok._core.training.bpe import thread_count
from hftok._core.training.words import check

cdef enum:
    ERROR_SURROGATE = 100       # beside the PT_* codes
    ERROR_UTF8 = 101
    UNIT = 1 << 18              # bytes of text for a thread at a time, about
    OUTBOX = 1 << 23            # bytes of words on their way at which the shards take them
    JOINT = 1 << 15             # bytes of lines taken as one sequence, where lines need not be told apart

cdef struct Unit:
    # Documents [first, last), or, where last < 0, bytes: lines, or a sequence or part of one.
    int64_t first
    int64_t last
    const uint8_t *data
    int64_t size
    bint lines

cdef struct Call:
    Lane *lanes
    Unit *units
    const Unit *batch           # those of them that run now
    int64_t n
    int64_t capacity
    const Doc *docs
    bint checked                # bytes are known to be UTF-8
    bint joint
    const uint8_t *start        # of all bytes
    const uint8_t *limit        # readable memory ends here
    const Kernels *kernels
    int error                   # the first one, where threads see each other
    int64_t where               # the byte or the document


class InvalidUtf8(ValueError):
    """Bytes that are no UTF-8. `position`: the first of them, in the block."""

    def __init__(self, position):
        super().__init__(f"invalid UTF-8 at byte {position}")
        self.position = position


cdef int add_unit(Call *c, int64_t first, int64_t last, const uint8_t *data, int64_t size, bint lines) noexcept nogil:
    cdef int64_t n
    cdef void *grown
    if c.n == c.capacity:
        n = max(2 * c.capacity, <int64_t>64)
        grown = realloc(c.units, <size_t>n * sizeof(Unit))
        if grown == NULL:
            return -1
        c.units = <Unit *>grown
        c.capacity = n
    c.units[c.n].first = first
    c.units[c.n].last = last
    c.units[c.n].data = data
    c.units[c.n].size = size
    c.units[c.n].lines = lines
    c.n += 1
    return 0


cdef inline void fail(Call *c, int error, int64_t where) noexcept nogil:
    if c.error == 0 or where < c.where:
        c.where = where
        c.error = error


cdef int count_lines(Lane *lane, const uint8_t *text, int64_t size, const uint8_t *limit, bint joint) noexcept nogil:
    cdef int64_t i = 0, end
    cdef const uint8_t *newline
    cdef int error
    while i < size:
        end = i
        if joint:
            end = min(size, i + JOINT) - 1
        newline = <const uint8_t *>memchr(text + end, 10, <size_t>(size - end))
        end = size if newline == NULL else newline - text + 1
        error = count_sequence(lane, text + i, end - i, limit)
        if error:
            return error
        i = end
    return 0


cdef void run_unit(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Call *c = <Call *>ctx
    cdef Lane *lane = &c.lanes[thread]
    cdef const Unit *u = &c.batch[i]
    cdef const uint8_t *text
    cdef int64_t d, size
    cdef int error = 0
    if c.error:
        return
    if u.last < 0:
        if not c.checked and (c.kernels.utf8_valid == NULL or not c.kernels.utf8_valid(u.data, u.size)):
            size = utf8_valid_prefix(u.data, u.size)
            if size < u.size:
                fail(c, ERROR_UTF8, u.data + size - c.start)
                return
        if u.lines:
            error = count_lines(lane, u.data, u.size, c.limit, c.joint)
        else:
            error = count_sequence(lane, u.data, u.size, c.limit)
        if error:
            fail(c, error, u.data - c.start)
    for d in range(u.first, u.last):
        size = 0
        text = doc_text(&c.docs[d], 0, -1, c.kernels.utf8_valid, &lane.transcoded, &lane.transcoded_size, &size, &error)
        if error:
            error = ERROR_SURROGATE if error == DOC_ERR_SURROGATE else PT_NO_MEMORY
        else:
            error = count_sequence(lane, text, size, text + size)
        if error:
            fail(c, error, d)
            return
    finish_sequences(lane)


cdef class Counter:
    """Counts the words of texts.

    words    the pipeline
    threads  at most so many; None: as many as this process may use, by TOKENIZERS_PARALLELISM and OMP_NUM_THREADS too

    A pipeline with Python components runs on the calling thread. An exception leaves the counter of no use.

    >>> from hftok._core.training.sequences import Words
    >>> counter = Counter(Words(None, ("WhitespaceSplit",)))
    >>> counter.add_texts(["low lower", "low"])
    >>> counter.take().to_dict()["low"]
    2
    """
    cdef readonly Words words
    cdef readonly int threads
    cdef Tallies tallies
    cdef Lane *lanes
    cdef int64_t share               # units for each thread between two looks at the clock

    def __cinit__(self, Words words not None, threads=None):
        cdef int i
        self.words = words
        self.share = 1
        self.threads = 1 if words.pipeline.needs_gil else thread_count(threads)
        self.tallies = Tallies(self.threads)
        self.lanes = <Lane *>calloc(<size_t>self.threads, sizeof(Lane))
        if self.lanes == NULL:
            check(-1)
        for i in range(self.threads):
            words.open_lane(&self.lanes[i], &self.tallies.tally[i])

    def __dealloc__(self):
        cdef int i
        if self.lanes != NULL:
            for i in range(self.threads):
                if self.lanes[i].plan != NULL:
                    self.words.close_lane(&self.lanes[i])
            free(self.lanes)

    cdef int run(self, Call *c) except -1:
        """Run the units, free them, and raise what went wrong. Ctrl-C is heeded in between."""
        cdef int64_t i = 0, k, n
        c.lanes = self.lanes
        c.kernels = self.words.plan.kernels
        c.joint = self.words.plan.joint
        c.error = 0
        c.where = 0
        try:
            while i < c.n and c.error == 0:
                n = min(c.n - i, self.threads * self.share)
                start = time.monotonic()
                c.batch = c.units + i
                if self.words.pipeline.needs_gil:
                    for k in range(n):
                        run_unit(c, k, 0)
                else:
                    with nogil:
                        parallel_for(run_unit, c, n, self.threads)
                self.tallies.collect(OUTBOX if i + n < c.n else 0)
                # As much at a time as takes a tenth of a second: threads wait for each other, and people for Ctrl-C, not long.
                took = time.monotonic() - start
                if took < 0.05 and n == self.threads * self.share:
                    self.share = min(2 * self.share, <int64_t>64)
                elif took > 0.2 and self.share > 1:
                    self.share //= 2
                i += n
                if c.error == 0:
                    PyErr_CheckSignals()
        finally:
            free(c.units)
            c.units = NULL
        if c.error == ERROR_UTF8:
            raise InvalidUtf8(c.where)
        if c.error == PT_PANIC:
            if self.words.way == "regex":
                raise ValueError("the pattern needs too many steps on a text; make it backtrack less")
            raise ValueError("the pipeline leaves no valid split of a text (the reference panics here)")
        if c.error and c.error != ERROR_SURROGATE:
            pt_check(c.error)
        return 0

    def add_lines(self, data, int64_t start=0, int64_t stop=-1):
        """Count the words of bytes [start, stop) of a buffer, a line at a time. They begin a line, and end one or the text.

        Raises InvalidUtf8 (a ValueError) with the position in the buffer, and what a Python component raises.
        """
        cdef Py_buffer view
        cdef Call c
        cdef const uint8_t *text
        cdef const uint8_t *newline
        cdef int64_t i, j, end
        cdef int failed = 0
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            if stop < 0:
                stop = view.len
            if not 0 <= start <= stop <= view.len:
                raise ValueError(f"bytes {start} to {stop} of a buffer of {view.len}")
            text = <const uint8_t *>view.buf
            c.units = NULL
            c.n = c.capacity = 0
            c.docs = NULL
            c.checked = False
            c.start = text
            c.limit = text + view.len
            i = start
            with nogil:
                while i < stop and not failed:
                    # As many whole lines as make a unit; a longer line by itself, in parts where that is possible.
                    end = stop
                    if stop - i > UNIT:
                        newline = last_newline(text + i, UNIT)
                        if newline == NULL:
                            newline = <const uint8_t *>memchr(text + i + UNIT, 10, <size_t>(stop - i - UNIT))
                            end = stop if newline == NULL else newline - text + 1
                            while i < end and not failed:
                                j = end if end - i <= 2 * UNIT else i + cut_sequence(&self.words.plan, text + i, UNIT, end - i)
                                failed = add_unit(&c, 0, -1, text + i, j - i, False)
                                i = j
                            continue
                        end = newline - text + 1
                    failed = add_unit(&c, 0, -1, text + i, end - i, True)
                    i = end
            if failed:
                free(c.units)
                check(-1)
            self.run(&c)
        finally:
            PyBuffer_Release(&view)

    def add_texts(self, list texts not None):
        """Count the words of each str of a list, a sequence by itself.

        Raises TypeError for anything else, UnicodeEncodeError for a lone surrogate, and what a Python component raises.
        """
        cdef Documents documents = Documents()
        cdef list large = []         # texts that may be cut, and the bytes of those that are not ASCII
        cdef Call c
        cdef int64_t first = 0, size = 0, d
        cdef int failed = 0
        for text in texts:
            if not isinstance(text, str):
                raise TypeError(f"'{type(text).__name__}' object is not an instance of 'str'")
            documents.add_str(text)
        c.units = NULL
        c.n = c.capacity = 0
        c.docs = documents.docs
        c.checked = True
        c.start = c.limit = NULL
        for d in range(documents.n):
            if documents.docs[d].size > 4 * UNIT and self.threads > 1:
                large.append(texts[d])
                failed |= first < d and add_unit(&c, first, d, NULL, 0, False)
                first = d + 1
                size = 0
                continue
            size += documents.docs[d].size + 64
            if size >= UNIT:
                failed |= add_unit(&c, first, d + 1, NULL, 0, False)
                first = d + 1
                size = 0
        failed |= first < documents.n and add_unit(&c, first, documents.n, NULL, 0, False)
        if failed:
            free(c.units)
            check(-1)
        self.run(&c)
        if c.error == ERROR_SURROGATE:
            texts[c.where].encode("utf-8")
        for text in large:
            self.add_large(text.encode("utf-8"))

    cdef int add_large(self, bytes data) except -1:
        """Count the words of one long text by several threads."""
        cdef Call c
        cdef const uint8_t *text = data
        cdef int64_t i = 0, j, size = len(data)
        cdef int failed = 0
        c.units = NULL
        c.n = c.capacity = 0
        c.docs = NULL
        c.checked = True
        c.start = text
        c.limit = text + size
        while i < size and not failed:
            j = size if size - i <= 2 * UNIT else i + cut_sequence(&self.words.plan, text + i, UNIT, size - i)
            failed = add_unit(&c, 0, -1, text + i, j - i, False)
            i = j
        if failed:
            free(c.units)
            check(-1)
        return self.run(&c)

    @property
    def nbytes(self):
        """Bytes of memory that the distinct words take so far."""
        return self.tallies.nbytes

    def take(self):
        """All words counted so far, as WordCounts; the counter begins anew."""
        return self.tallies.take()


def next_block(items, Py_ssize_t most_items, Py_ssize_t most_characters, bint nested=True):
    """The next texts of an iterator as a list, at least one item's; empty at its end. An item is a str, or, where `nested`, an
    iterable of str.

    Raises TypeError for anything else, and what iterating raises.

    >>> items = iter(["a", ["b", "c"], "d"])
    >>> next_block(items, 2, 100), next_block(items, 2, 100), next_block(items, 2, 100)
    (['a', 'b', 'c'], ['d'], [])
    """
    cdef list block = []
    cdef Py_ssize_t size = 0
    for item in items:
        if isinstance(item, str):
            block.append(item)
            size += len(<str>item)
        else:
            for text in item if nested else (item,):
                if not isinstance(text, str):
                    raise TypeError(f"'{type(text).__name__}' object is not an instance of 'str'")
                block.append(text)
                size += len(<str>text)
        if len(block) >= most_items or size >= most_characters:
            break
    return block


cdef const uint8_t *last_newline(const uint8_t *text, int64_t size) noexcept nogil:
    while size > 0:
        size -= 1
        if text[size] == 10:
            return text + size
    return NULL
