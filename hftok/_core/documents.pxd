# The texts of one call, as pointers, and how they are dealt out to threads. See documents.pyx.
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from hftok._core.worker cimport valid_fn

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object o)

cdef enum:
    DOC_UTF8 = 0             # valid UTF-8 (ASCII strings included)
    DOC_LATIN1 = 1           # Python's Latin-1, UCS-2, UCS-4 storage: transcoded by the thread that encodes it
    DOC_UCS2 = 2
    DOC_UCS4 = 3
    DOC_RAW = 4              # bytes of a file: UTF-8 not checked yet; invalid parts read as U+FFFD

cdef struct Doc:
    const uint8_t *data
    int64_t size             # bytes, or code units
    int32_t kind

cdef inline int64_t doc_of_str(Doc *d, object text):
    """A Python str, which must stay alive as long as the document is looked at; the bytes of its storage."""
    cdef int kind = 1
    d.data = <const uint8_t *>PyUnicode_DATA(text)
    d.size = PyUnicode_GET_LENGTH(text)
    d.kind = DOC_UTF8
    if not PyUnicode_IS_COMPACT_ASCII(text):
        kind = PyUnicode_KIND(text)
        d.kind = DOC_LATIN1 if kind == 1 else DOC_UCS2 if kind == 2 else DOC_UCS4
    return d.size * kind

cdef struct Unit:
    # A stretch of documents for one thread, or a piece of one huge document.
    int64_t first            # documents [first, last)
    int64_t last
    int64_t start            # piece: bytes [start, end) of document `first`; end == -1: whole documents
    int64_t end
    int32_t begins           # the piece is its document's first / last
    int32_t finishes
    int32_t thread           # filled when done: whose buffer holds the output, from where, how much
    int64_t at
    int64_t n
    int64_t row              # global position of its first token
    int32_t done             # for Places: this much is known of it
    int32_t placed           # ... its tokens are where they belong, no longer with the thread
    int64_t later            # ... the next one of the same thread

cdef class Documents:
    cdef Doc *docs
    cdef int64_t n
    cdef int64_t capacity
    cdef int64_t bytes       # of text, roughly (code units x width)
    cdef object keep         # what the pointers point into
    cdef int room(self, int64_t more) except -1
    cdef Py_ssize_t add_list(self, list texts) except -1
    cdef int add_str(self, object text) except -1
    cdef int add(self, const uint8_t *data, int64_t size, int kind) except -1

cdef enum:
    DOC_ERR_MEMORY = 1
    DOC_ERR_SURROGATE = 2

# Text of a document (or of its bytes [start, end), end >= 0) as UTF-8: its own bytes, or `buffer` (grown as needed) with the
# transcoded or repaired text. NULL: error[0] says why.
cdef const uint8_t *doc_text(const Doc *d, int64_t start, int64_t end, valid_fn valid, uint8_t **buffer, int64_t *capacity,
                             int64_t *size, int *error) noexcept nogil
