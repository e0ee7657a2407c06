"""Documents of files: memory-mapped, cut at a separator or at lines of JSON, without a Python object per document.

Text files: the file is cut at each occurrence of the separator, from left to right; an empty last document is dropped, as is
an empty file. JSON lines: one document a non-blank line, the string under `field` of the line's object (json_line.pyx).
Strings without escapes are read in place; others are unescaped into memory of ours. Invalid UTF-8 is for the encoding
threads to find (utf8.pyx).

Large files are looked through by several threads, a stretch each: what begins in a stretch is that thread's. So a separator may
not overlap with itself ("\\n\\n" does in three line breaks, where only what comes before tells which one counts); files with
such a one are one stretch.
"""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy

import mmap
import os

from hftok._core import parallel as parallel_settings
from hftok._core.documents cimport DOC_RAW, Doc, Documents
from hftok._core.json_line cimport Line, json_blanks, json_line_parse, json_unescape
from hftok._core.parallel cimport parallel_body, parallel_for

cdef enum:
    ARENA_BLOCK = 1 << 20
    STRETCH = 1 << 20        # bytes of a file that one thread looks through at a time

cdef struct Stretch:
    # Bytes [start, end) of a file, and the documents that end with a separator, or lie on a line, that begins there.
    int64_t start
    int64_t end
    Doc *docs
    int64_t n
    int64_t capacity
    int64_t bytes            # of text in the documents
    int64_t behind           # text: the end of the last separator
    uint8_t **blocks         # memory of unescaped strings
    int64_t n_blocks
    uint8_t *room
    int64_t left
    bint no_memory
    int64_t bad_line         # where the first line lies that is wrong; -1: none is
    Line line                # ... and what of it is

cdef struct Search:
    const uint8_t *data
    int64_t size
    const uint8_t *separator # text: what to cut at, its length, and its rarest byte
    int64_t n
    int64_t rarest
    int64_t behind           # ... and the end of the last one in the stretches that have been taken
    const uint8_t *field     # JSON lines: the key and its length
    int64_t field_size
    Stretch *stretches


cdef class _Mapping:
    """One file in memory."""
    cdef object map
    cdef Py_buffer view
    cdef bint open
    cdef const uint8_t *data
    cdef int64_t size

    def __cinit__(self, path):
        cdef int64_t size
        self.open = False
        self.data = NULL
        self.size = 0
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size:
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                PyObject_GetBuffer(self.map, &self.view, PyBUF_SIMPLE)
                self.open = True
                self.data = <const uint8_t *>self.view.buf
                self.size = self.view.len

    def __dealloc__(self):
        if self.open:
            PyBuffer_Release(&self.view)


cdef class FileDocuments(Documents):
    """The documents of a source, ready for the engine. parallel: as in Tokenizer.encode_batch_ids."""
    cdef list maps
    cdef object parallel
    cdef uint8_t **blocks
    cdef int64_t n_blocks

    def __cinit__(self):
        self.maps = []
        self.blocks = NULL
        self.n_blocks = 0

    def __init__(self, paths, bytes separator=None, bytes field=None, parallel=None):
        cdef _Mapping m
        self.parallel = parallel
        for path in paths:
            m = _Mapping(path)
            self.maps.append(m)
            if field is None and separator is None:
                self.add(m.data, m.size, DOC_RAW)
            elif m.size:
                self._look_through(m, separator, field, path)
        self.keep = self.maps

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_blocks):
            free(self.blocks[i])
        free(self.blocks)

    def texts(self):
        """The documents as str."""
        cdef int64_t i
        return [(<const char *>self.docs[i].data)[:self.docs[i].size].decode("utf-8", "replace") for i in range(self.n)]

    cdef int _look_through(self, _Mapping m, bytes separator, bytes field, path) except -1:
        cdef Search search
        cdef int64_t i, n = (m.size + STRETCH - 1) // STRETCH
        cdef int threads
        cdef parallel_body look = _lines if field is not None else _pieces
        search.data = m.data
        search.size = m.size
        search.separator = search.field = NULL
        search.n = search.field_size = search.behind = 0
        if field is not None:
            search.field = field
            search.field_size = len(field)
        else:
            search.separator = separator
            search.n = len(separator)
            search.rarest = _rarest(search.separator, search.n)
            if _overlaps(search.separator, search.n):
                n = 1
        search.stretches = <Stretch *>calloc(<size_t>n, sizeof(Stretch))
        if search.stretches == NULL:
            raise MemoryError("no memory for the documents")
        try:
            for i in range(n):
                search.stretches[i].start = i * STRETCH
                search.stretches[i].end = (i + 1) * STRETCH if i + 1 < n else m.size
                search.stretches[i].bad_line = -1
            threads = parallel_settings.threads_for(n, self.parallel)
            with nogil:
                parallel_for(look, &search, n, threads)
            for i in range(n):
                if search.stretches[i].bad_line >= 0:
                    raise _wrong_line(m, &search.stretches[i], field, path)
                self._take(m, &search, &search.stretches[i])
        finally:
            for i in range(n):
                _drop(&search.stretches[i])
            free(search.stretches)
        return 0

    cdef int _take(self, _Mapping m, Search *search, Stretch *s) except -1:
        """The documents of the next stretch, and what memory they lie in."""
        cdef uint8_t **blocks
        cdef const uint8_t *start = m.data + search.behind
        cdef int64_t before
        if s.no_memory:
            raise MemoryError("no memory for the documents")
        if s.n:
            if search.separator != NULL:
                # The first document begins where the last one of the stretches before ended.
                before = s.docs[0].data - start
                s.docs[0].data = start
                s.docs[0].size += before
                s.bytes += before
                search.behind = s.behind
            self.room(s.n)
            memcpy(self.docs + self.n, s.docs, <size_t>s.n * sizeof(Doc))
            self.n += s.n
            self.bytes += s.bytes
        if search.separator != NULL and s.end == m.size and search.behind < m.size:
            self.add(m.data + search.behind, m.size - search.behind, DOC_RAW)
        if s.n_blocks:
            blocks = <uint8_t **>realloc(self.blocks, <size_t>(self.n_blocks + s.n_blocks) * sizeof(void *))
            if blocks == NULL:
                raise MemoryError("no memory for the documents")
            memcpy(blocks + self.n_blocks, s.blocks, <size_t>s.n_blocks * sizeof(void *))
            self.blocks = blocks
            self.n_blocks += s.n_blocks
            s.n_blocks = 0
        return 0


cdef object _wrong_line(_Mapping m, const Stretch *s, bytes field, path):
    cdef int64_t line = 1, at = 0
    cdef const uint8_t *nl
    while at < s.bad_line:
        nl = <const uint8_t *>memchr(m.data + at, 10, <size_t>(s.bad_line - at))
        if nl == NULL:
            break
        line += 1
        at = nl - m.data + 1
    if s.line.error != NULL:
        return ValueError(f"{path}, line {line}, column {s.line.p - (m.data + s.bad_line) + 1}: {s.line.error.decode('ascii')}")
    return ValueError(f"{path}, line {line}: the object has no string under {field.decode('utf-8')!r}")


# ---------------------------------------------------------------------- one stretch

cdef void _drop(Stretch *s) noexcept nogil:
    cdef int64_t i
    for i in range(s.n_blocks):
        free(s.blocks[i])
    free(s.blocks)
    free(s.docs)


cdef bint _add(Stretch *s, const uint8_t *data, int64_t size) noexcept nogil:
    """One more document; False: there is no memory."""
    cdef int64_t capacity
    cdef Doc *docs
    if s.n == s.capacity:
        capacity = s.capacity * 2 if s.capacity else 64
        docs = <Doc *>realloc(s.docs, <size_t>capacity * sizeof(Doc))
        if docs == NULL:
            s.no_memory = True
            return False
        s.docs = docs
        s.capacity = capacity
    s.docs[s.n].data = data
    s.docs[s.n].size = size
    s.docs[s.n].kind = DOC_RAW
    s.n += 1
    s.bytes += size
    return True


cdef uint8_t *_room(Stretch *s, int64_t n) noexcept nogil:
    """Memory for n bytes, or NULL."""
    cdef uint8_t **blocks
    cdef int64_t size
    cdef uint8_t *p
    if n > s.left:
        size = n if n > ARENA_BLOCK else ARENA_BLOCK
        blocks = <uint8_t **>realloc(s.blocks, <size_t>(s.n_blocks + 1) * sizeof(void *))
        if blocks != NULL:
            s.blocks = blocks
        p = <uint8_t *>malloc(<size_t>size)
        if blocks == NULL or p == NULL:
            free(p)
            s.no_memory = True
            return NULL
        blocks[s.n_blocks] = p
        s.n_blocks += 1
        s.room = p
        s.left = size
    p = s.room
    s.room += n
    s.left -= n
    return p


cdef void _pieces(void *ctx, int64_t i, int thread) noexcept nogil:
    """The documents between the separators of a stretch; the first one begins at the stretch, for now."""
    cdef const Search *search = <const Search *>ctx
    cdef Stretch *s = &search.stretches[i]
    cdef int64_t at, start = s.start, end = s.end + search.n - 1
    if end > search.size:
        end = search.size
    while True:
        at = _find(search.data, start, end, search.separator, search.n, search.rarest)
        if at < 0 or not _add(s, search.data + start, at - start):
            return
        start = s.behind = at + search.n


cdef void _lines(void *ctx, int64_t i, int thread) noexcept nogil:
    """The documents of the lines that begin in a stretch."""
    cdef const Search *search = <const Search *>ctx
    cdef Stretch *s = &search.stretches[i]
    cdef const uint8_t *data = search.data
    cdef const uint8_t *nl
    cdef int64_t at = s.start, end
    cdef uint8_t *p
    cdef Line l
    if at:
        nl = <const uint8_t *>memchr(data + at - 1, 10, <size_t>(search.size - at + 1))
        if nl == NULL:
            return
        at = nl - data + 1
    while at < s.end:
        nl = <const uint8_t *>memchr(data + at, 10, <size_t>(search.size - at))
        end = search.size if nl == NULL else nl - data
        l.p = data + at
        l.end = data + end
        json_blanks(&l)
        if l.p < l.end:
            l.error = NULL
            l.found = NULL
            json_line_parse(&l, search.field, search.field_size)
            if l.error != NULL or l.found == NULL:
                s.bad_line = at
                s.line = l
                return
            if not l.escaped:
                if not _add(s, l.found, l.size):
                    return
            else:
                p = _room(s, l.size)
                if p == NULL or not _add(s, p, json_unescape(l.found, l.size, p)):
                    return
        at = end + 1


cdef extern from *:
    """
    #include <string.h>
    #include <stdint.h>
    static int ht_common(uint8_t b) {
        if (b == ' ' || (b >= 'a' && b <= 'z')) return 4;
        if (b >= 0x80 || (b >= 'A' && b <= 'Z') || (b >= '0' && b <= '9') || b == 10) return 3;
        if (b == 34 || b == 39 || memchr(".,-()/:;_=", b, 10)) return 2;
        return b == '|' || b == '~' || b == '^' || b < 9 ? 0 : 1;
    }
    /* Whether an occurrence of s may begin inside another one: whether s ends as it begins. */
    static int ht_overlaps(const uint8_t *s, int64_t n) {
        int64_t i;
        for (i = 1; i < n; i++) if (memcmp(s, s + i, (size_t)(n - i)) == 0) return 1;
        return 0;
    }
    static int64_t ht_rarest(const uint8_t *s, int64_t n) {
        int64_t i, k = 0;
        for (i = 1; i < n; i++) if (ht_common(s[i]) < ht_common(s[k])) k = i;
        return k;
    }
    /* k: the place of the byte of s that text has least of, which memchr finds at the speed of the memory: of "<|endoftext|>" a
       bar. */
    static int64_t ht_find(const uint8_t *t, int64_t at, int64_t size, const uint8_t *s, int64_t n, int64_t k) {
        while (at + n <= size) {
            const uint8_t *p = (const uint8_t *)memchr(t + at + k, s[k], (size_t)(size - at - n + 1));
            if (!p) return -1;
            if (memcmp(p - k, s, (size_t)n) == 0) return p - k - t;
            at = p - k - t + 1;
        }
        return -1;
    }
    """
    bint _overlaps "ht_overlaps"(const uint8_t *s, int64_t n) noexcept nogil
    int64_t _rarest "ht_rarest"(const uint8_t *s, int64_t n) noexcept nogil
    int64_t _find "ht_find"(const uint8_t *t, int64_t at, int64_t size, const uint8_t *s, int64_t n, int64_t k) noexcept nogil
