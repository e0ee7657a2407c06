# The Python objects that custom normalizers and pre-tokenizers work on.
from libc.stdint cimport int64_t

from hftok._core.normalized cimport PreTokenized, Split


ctypedef int (*Transformation)(PreTokenized *, Split *) noexcept nogil


cdef class NormalizedText:
    """What NormalizedString and the reference to one share: a split and the document that it lies in."""
    cdef PreTokenized *p
    cdef Split *s
    cdef object data                # bytes that the original span refers to, or None: p.original
    cdef bint busy                  # a callback runs

    cdef int open(self) except -1
    cdef int apply(self, Transformation f) except -1
    cdef list called(self, object func, str signature)
    cdef object document(self)


cdef class NormalizedString(NormalizedText):
    cdef PreTokenized own
    cdef Split own_split


cdef class NormalizedStringRefMut(NormalizedText):
    cdef void close(self) noexcept


cdef class PreTokenizedText:
    """What PreTokenizedString and the reference to one share."""
    cdef PreTokenized *p
    cdef list origins               # bytes that original spans refer to; [0] is the document
    cdef list tokens                # of each tokenized split, by Split.token; None: Split.token is an added token's id
    cdef bint busy

    cdef int open(self) except -1
    cdef object origin(self, int64_t k)
    cdef list tokens_of(self, const Split *s)
    cdef int adopt(self, NormalizedString n, Split *piece) except -1


cdef class PreTokenizedString(PreTokenizedText):
    cdef PreTokenized own


cdef class PreTokenizedStringRefMut(PreTokenizedText):
    cdef void close(self) noexcept


# Character offsets of a byte span, as BytesToCharOffsetConverter gives them. The cursor remembers where it was: spans
# that come in order cost one pass over the text.
cdef struct CharCursor:
    int64_t byte
    int64_t chars
cdef void char_span(const PreTokenized *p, CharCursor *c, int64_t *start, int64_t *end) noexcept nogil

# Call a custom component's method with a reference that dies when it returns. -1 with an Exception set, whose message is
# the original exception's type and message, as the reference has it.
cdef int call_normalizer(object component, PreTokenized *p, Split *s) except -1
cdef int call_pre_tokenizer(object component, PreTokenized *p) except -1
