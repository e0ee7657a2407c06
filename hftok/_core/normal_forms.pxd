# Unicode normal forms (NormalizedString::nfd, nfkd, nfc, nfkc), in place.
from hftok._core.normalized cimport PreTokenized, Split

cdef int ns_nfd(PreTokenized *p, Split *s) noexcept nogil
cdef int ns_nfkd(PreTokenized *p, Split *s) noexcept nogil
cdef int ns_nfc(PreTokenized *p, Split *s) noexcept nogil
cdef int ns_nfkc(PreTokenized *p, Split *s) noexcept nogil
