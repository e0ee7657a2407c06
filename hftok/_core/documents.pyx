"""The texts of one call, as pointers, without a Python object per text once they are collected.

ASCII strings (and bytes of files) are read in place. Other strings are transcoded to UTF-8 by the thread that encodes them,
into its own buffer: asking the string itself for UTF-8 would hold the GIL and leave a copy attached to every text.
"""
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free, malloc, realloc

from hftok._core.worker cimport valid_fn
from hftok._core.utf8 cimport utf8_repair, utf8_repaired_size, utf8_valid_prefix

cdef extern from "transcode.h" nogil:
    int64_t ht_from_latin1(const uint8_t *s, int64_t n, uint8_t *out)
    int64_t ht_from_ucs2(const uint16_t *s, int64_t n, uint8_t *out)
    int64_t ht_from_ucs4(const uint32_t *s, int64_t n, uint8_t *out)


cdef class Documents:
    def __cinit__(self):
        self.docs = NULL
        self.n = self.capacity = self.bytes = 0

    def __dealloc__(self):
        free(self.docs)

    cdef int room(self, int64_t more) except -1:
        """Make room for so many more documents."""
        cdef int64_t capacity
        cdef Doc *docs
        if self.n + more > self.capacity:
            capacity = self.capacity * 2 if self.capacity else 16
            if capacity < self.n + more:
                capacity = self.n + more
            docs = <Doc *>realloc(self.docs, <size_t>capacity * sizeof(Doc))
            if docs == NULL:
                raise MemoryError("no memory for the list of documents")
            self.docs = docs
            self.capacity = capacity
        return 0

    cdef Py_ssize_t add_list(self, list texts) except -1:
        """The str of a list, which nobody else has and which is kept, up to the first item that is none: their number."""
        cdef Py_ssize_t i, n = PyList_GET_SIZE(texts)
        cdef PyObject *text
        cdef int64_t total = 0
        cdef Doc *d
        self.keep = texts
        self.room(n)
        d = self.docs + self.n
        for i in range(n):
            text = PyList_GET_ITEM(texts, i)
            if not PyUnicode_Check(<object>text):
                n = i
                break
            total += doc_of_str(&d[i], <object>text)
        self.n += n
        self.bytes += total
        return n

    cdef int add(self, const uint8_t *data, int64_t size, int kind) except -1:
        self.room(1)
        self.docs[self.n].data = data
        self.docs[self.n].size = size
        self.docs[self.n].kind = kind
        self.n += 1
        self.bytes += size
        return 0

    cdef int add_str(self, object text) except -1:
        """One Python str, which must stay alive as long as this object (see `keep`)."""
        self.room(1)
        self.bytes += doc_of_str(&self.docs[self.n], text)
        self.n += 1
        return 0


cdef const uint8_t *doc_text(const Doc *d, int64_t start, int64_t end, valid_fn valid, uint8_t **buffer, int64_t *capacity,
                             int64_t *size, int *error) noexcept nogil:
    cdef const uint8_t *data = d.data
    cdef int64_t need, n = d.size
    cdef bint is_valid
    cdef uint8_t *p
    if end >= 0:
        data += start
        n = end - start
    if d.kind == DOC_UTF8:
        size[0] = n
        return data
    if d.kind == DOC_RAW:
        if valid != NULL:
            is_valid = valid(data, n)
        else:
            is_valid = utf8_valid_prefix(data, n) == n
        if is_valid:
            size[0] = n
            return data
        need = utf8_repaired_size(data, n)
    else:
        need = n * (2 if d.kind == DOC_LATIN1 else 3 if d.kind == DOC_UCS2 else 4) + 16
    if need > capacity[0]:
        p = <uint8_t *>realloc(buffer[0], <size_t>need)
        if p == NULL:
            error[0] = DOC_ERR_MEMORY
            return NULL
        buffer[0] = p
        capacity[0] = need
    p = buffer[0]
    if d.kind == DOC_RAW:
        n = utf8_repair(data, n, p)
    elif d.kind == DOC_LATIN1:
        n = ht_from_latin1(data, n, p)
    elif d.kind == DOC_UCS2:
        n = ht_from_ucs2(<const uint16_t *>data, n, p)
    else:
        n = ht_from_ucs4(<const uint32_t *>data, n, p)
    if n < 0:
        error[0] = DOC_ERR_SURROGATE
        return NULL
    size[0] = n
    return p
