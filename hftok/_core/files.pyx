"""Documents of files: memory-mapped, cut at a separator or at lines of JSON, without a Python object per document.

Text files: the file is cut at each occurrence of the separator, from left to right; an empty last document is dropped, as is
an empty file. JSON lines: one document a non-blank line, the string under `field` of the line's object (of equal keys the
last, as Python's json has it). Strings without escapes are read in place; others are unescaped into memory of ours. Escaped
surrogates that do not pair read as U+FFFD, as invalid UTF-8 does, which the encoding threads check (utf8.pyx).
"""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy

import mmap
import os

from hftok._core.documents cimport DOC_RAW, Documents
from hftok._core.text cimport utf8_encode

cdef enum:
    ARENA_BLOCK = 1 << 20
    MAX_DEPTH = 512

cdef struct Line:
    const uint8_t *p
    const uint8_t *end
    const char *error
    const uint8_t *found     # the wanted string: between its quotes, still escaped
    int64_t size
    bint escaped


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
    """The documents of a source, ready for the engine."""
    cdef list maps
    cdef uint8_t **blocks
    cdef int64_t n_blocks
    cdef uint8_t *room
    cdef int64_t left

    def __cinit__(self):
        self.maps = []
        self.blocks = NULL
        self.n_blocks = self.left = 0

    def __init__(self, paths, bytes separator=None, bytes field=None):
        cdef _Mapping m
        for path in paths:
            m = _Mapping(path)
            self.maps.append(m)
            if field is not None:
                self._jsonl(m, field, path)
            elif separator is not None:
                self._split(m, separator)
            else:
                self.add(m.data, m.size, DOC_RAW)
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

    cdef int _split(self, _Mapping m, bytes separator) except -1:
        cdef const uint8_t *s = separator
        cdef int64_t n = len(separator), start = 0, at, k = _rarest(s, n)
        while start < m.size:
            at = _find(m.data, start, m.size, s, n, k)
            if at < 0:
                return self.add(m.data + start, m.size - start, DOC_RAW)
            self.add(m.data + start, at - start, DOC_RAW)
            start = at + n
        return 0

    cdef uint8_t *_allocate(self, int64_t n) except NULL:
        cdef uint8_t **blocks
        cdef int64_t size
        cdef uint8_t *p
        if n > self.left:
            size = n if n > ARENA_BLOCK else ARENA_BLOCK
            blocks = <uint8_t **>realloc(self.blocks, <size_t>(self.n_blocks + 1) * sizeof(void *))
            if blocks == NULL:
                raise MemoryError("no memory for the documents")
            self.blocks = blocks
            p = <uint8_t *>malloc(<size_t>size)
            if p == NULL:
                raise MemoryError("no memory for the documents")
            blocks[self.n_blocks] = p
            self.n_blocks += 1
            self.room = p
            self.left = size
        p = self.room
        self.room += n
        self.left -= n
        return p

    cdef int _jsonl(self, _Mapping m, bytes field, path) except -1:
        cdef int64_t at = 0, end, line = 0
        cdef const uint8_t *nl
        cdef Line l
        cdef uint8_t *p
        while at < m.size:
            line += 1
            nl = <const uint8_t *>memchr(m.data + at, 10, <size_t>(m.size - at))
            end = m.size if nl == NULL else nl - m.data
            l.p = m.data + at
            l.end = m.data + end
            _blanks(&l)
            if l.p < l.end:
                l.error = NULL
                l.found = NULL
                _parse(&l, field, len(field))
                if l.error != NULL:
                    raise ValueError(f"{path}, line {line}, column {l.p - (m.data + at) + 1}: {l.error.decode('ascii')}")
                if l.found == NULL:
                    raise ValueError(f"{path}, line {line}: the object has no string under {field.decode('utf-8')!r}")
                if l.escaped:
                    p = self._allocate(l.size)
                    self.add(p, _unescape(l.found, l.size, p), DOC_RAW)
                else:
                    self.add(l.found, l.size, DOC_RAW)
            at = end + 1
        return 0


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
    int64_t _rarest "ht_rarest"(const uint8_t *s, int64_t n) noexcept nogil
    int64_t _find "ht_find"(const uint8_t *t, int64_t at, int64_t size, const uint8_t *s, int64_t n, int64_t k) noexcept nogil


# ---------------------------------------------------------------------- one line of JSON

cdef inline void _blanks(Line *l) noexcept nogil:
    while l.p < l.end and (l.p[0] == 32 or 9 <= l.p[0] <= 10 or l.p[0] == 13):
        l.p += 1


cdef bint _string(Line *l, const uint8_t **text, int64_t *size, bint *escaped) noexcept nogil:
    """A string, from its opening quote on."""
    cdef int i
    escaped[0] = False
    if l.p >= l.end or l.p[0] != 34:
        l.error = "expected a string"
        return False
    l.p += 1
    text[0] = l.p
    while l.p < l.end:
        if l.p[0] == 34:
            size[0] = l.p - text[0]
            l.p += 1
            return True
        if l.p[0] == 92:
            escaped[0] = True
            l.p += 1
            if l.p >= l.end:
                break
            if l.p[0] == 117:
                for i in range(1, 5):
                    if l.p + i >= l.end or _hex(l.p[i]) < 0:
                        l.error = "invalid \\u escape"
                        return False
                l.p += 5
                continue
            if memchr(b'"\\/bfnrt', l.p[0], 8) == NULL:
                l.error = "invalid escape"
                return False
        elif l.p[0] < 32:
            l.error = "control character in a string"
            return False
        l.p += 1
    l.error = "unterminated string"
    return False


cdef inline int _hex(uint8_t c) noexcept nogil:
    if 48 <= c <= 57:
        return c - 48
    c |= 32
    return c - 87 if 97 <= c <= 102 else -1


cdef bint _is_number(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The JSON grammar of numbers."""
    if p < end and p[0] == 45:
        p += 1
    if p >= end or not 48 <= p[0] <= 57:
        return False
    if p[0] == 48:
        p += 1
    else:
        while p < end and 48 <= p[0] <= 57:
            p += 1
    if p < end and p[0] == 46:
        p += 1
        if p >= end or not 48 <= p[0] <= 57:
            return False
        while p < end and 48 <= p[0] <= 57:
            p += 1
    if p < end and (p[0] | 32) == 101:
        p += 1
        if p < end and (p[0] == 43 or p[0] == 45):
            p += 1
        if p >= end or not 48 <= p[0] <= 57:
            return False
        while p < end and 48 <= p[0] <= 57:
            p += 1
    return p == end


cdef bint _scalar(Line *l) noexcept nogil:
    """A number, true, false or null (NaN and Infinity too, as Python's json reads them)."""
    cdef const uint8_t *start = l.p
    while l.p < l.end and (48 <= l.p[0] <= 57 or 65 <= (l.p[0] & 0xDF) <= 90 or l.p[0] == 43 or l.p[0] == 45 or l.p[0] == 46):
        l.p += 1
    if l.p == start:
        l.error = "expected a value"
        return False
    if 48 <= start[0] <= 57 or start[0] == 45:
        if _is_number(start, l.p) or (l.p - start == 9 and memcmp(start, b"-Infinity", 9) == 0):
            return True
        l.p = start
        l.error = "invalid number"
        return False
    if (l.p - start == 4 and (memcmp(start, b"true", 4) == 0 or memcmp(start, b"null", 4) == 0)) or (
            l.p - start == 5 and memcmp(start, b"false", 5) == 0) or (l.p - start == 3 and memcmp(start, b"NaN", 3) == 0) or (
            l.p - start == 8 and memcmp(start, b"Infinity", 8) == 0):
        return True
    l.p = start
    l.error = "expected a value"
    return False


cdef void _parse(Line *l, const uint8_t *field, int64_t n) noexcept nogil:
    """The line's object; l.found is set if it has a string under the field. On an error l.p is where."""
    cdef uint8_t closing[MAX_DEPTH]
    cdef int depth = 0
    cdef const uint8_t *text
    cdef int64_t size
    cdef bint escaped, wanted = False, first
    if l.p[0] != 123:
        l.error = "the line is not a JSON object"
        return
    closing[0] = 125
    depth = 1
    l.p += 1
    first = True
    while depth:
        _blanks(l)
        if l.p >= l.end:
            l.error = "the line ends inside the object"
            return
        if l.p[0] == closing[depth - 1]:
            # An object or array ends here: straight after its opening or after a value, never after a comma.
            l.p += 1
            depth -= 1
            first = False
            if depth == 0:
                break
            continue
        if not first:
            if l.p[0] != 44:
                l.error = "expected a comma or the end of the object or array"
                return
            l.p += 1
            _blanks(l)
            if l.p < l.end and l.p[0] == closing[depth - 1]:
                l.error = "a comma before the end of the object or array"
                return
        wanted = False
        if closing[depth - 1] == 125:
            if not _string(l, &text, &size, &escaped):
                return
            if depth == 1:
                wanted = _equal(text, size, escaped, field, n)
            _blanks(l)
            if l.p >= l.end or l.p[0] != 58:
                l.error = "expected a colon"
                return
            l.p += 1
            _blanks(l)
        if l.p >= l.end:
            l.error = "the line ends inside the object"
            return
        first = False
        if wanted:
            l.found = NULL           # of equal keys the last counts, whatever its type
        if l.p[0] == 34:
            if not _string(l, &text, &size, &escaped):
                return
            if wanted:
                l.found = text
                l.size = size
                l.escaped = escaped
        elif l.p[0] == 123 or l.p[0] == 91:
            if depth == MAX_DEPTH:
                l.error = "objects and arrays are nested too deeply"
                return
            closing[depth] = l.p[0] + 2
            depth += 1
            l.p += 1
            first = True
        elif not _scalar(l):
            return
    _blanks(l)
    if l.p < l.end:
        l.error = "text after the object"


cdef bint _equal(const uint8_t *text, int64_t size, bint escaped, const uint8_t *field, int64_t n) noexcept nogil:
    """Whether a key is the wanted field."""
    cdef uint8_t *p
    cdef bint same
    if not escaped:
        return size == n and memcmp(text, field, <size_t>n) == 0
    p = <uint8_t *>malloc(<size_t>size + 4)
    if p == NULL:
        return False
    same = _unescape(text, size, p) == n and memcmp(p, field, <size_t>n) == 0
    free(p)
    return same


cdef inline uint32_t _u16(const uint8_t *p) noexcept nogil:
    return <uint32_t>((_hex(p[0]) << 12) | (_hex(p[1]) << 8) | (_hex(p[2]) << 4) | _hex(p[3]))


cdef int64_t _unescape(const uint8_t *text, int64_t size, uint8_t *out) noexcept nogil:
    """A JSON string's text (checked by _string) without escapes; never longer. Returns its size."""
    cdef int64_t i = 0
    cdef uint8_t *o = out
    cdef uint8_t c
    cdef uint32_t cp, low
    while i < size:
        c = text[i]
        i += 1
        if c != 92:
            o[0] = c
            o += 1
            continue
        c = text[i]
        i += 1
        if c != 117:
            o[0] = 8 if c == 98 else 12 if c == 102 else 10 if c == 110 else 13 if c == 114 else 9 if c == 116 else c
            o += 1
            continue
        cp = _u16(text + i)
        i += 4
        if 0xD800 <= cp < 0xDC00 and i + 6 <= size and text[i] == 92 and text[i + 1] == 117:
            low = _u16(text + i + 2)
            if 0xDC00 <= low < 0xE000:
                cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00)
                i += 6
        if 0xD800 <= cp < 0xE000:
            cp = 0xFFFD
        o += utf8_encode(cp, o)
    return o - out
