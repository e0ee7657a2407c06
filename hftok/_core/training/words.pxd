# Distinct words with counts: see words.pyx.
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from hftok._core.training.progress cimport Watch

cdef struct Keyed:
    # A word as it is sorted by its bytes.
    uint64_t key                    # the first eight, the first one highest
    int64_t word

cdef struct KeyedText:
    const uint8_t *text
    const int64_t *offset


cdef inline Keyed keyed_word(const KeyedText *words, int64_t word) noexcept nogil:
    cdef Keyed k
    cdef int64_t at = words.offset[word], n = words.offset[word + 1] - at, j
    k.key = 0
    k.word = word
    for j in range(8):
        k.key = k.key << 8 | (words.text[at + j] if j < n else 0)
    return k


cdef inline bint bytes_before(const Keyed *a, const Keyed *b, const KeyedText *words) noexcept nogil:
    """Whether a word stands before another by its bytes."""
    cdef int64_t n, m
    cdef int order
    if a.key != b.key:
        return a.key < b.key
    n = words.offset[a.word + 1] - words.offset[a.word]
    m = words.offset[b.word + 1] - words.offset[b.word]
    order = memcmp(words.text + words.offset[a.word], words.text + words.offset[b.word], <size_t>min(n, m))
    return order < 0 or (order == 0 and n < m)


cdef class WordCounts:
    cdef uint8_t *text              # the words one after another, in the order of their first sight
    cdef int64_t text_capacity
    cdef int64_t *offset            # size + 1 entries
    cdef uint64_t *count
    cdef int64_t size
    cdef int64_t capacity
    cdef uint64_t *slot             # tag in the upper 24 bits, word + 1 in the lower 40; 0: empty. NULL: not indexed yet
    cdef int bits

    # Count a word of n bytes `times` times more. 0, or -1 without memory, -2 where the count would pass 2**64 - 1; nothing has
    # changed then. Not for two threads at once on one object.
    cdef int add(self, const uint8_t *word, int64_t n, uint64_t times) noexcept nogil
    cdef int64_t find(self, const uint8_t *word, int64_t n) noexcept nogil
    cdef int reserve(self, int64_t words, int64_t bytes) noexcept nogil
    cdef int reserve_exactly(self, int64_t words, int64_t bytes) noexcept nogil
    cdef void place(self, uint64_t h, int64_t i) noexcept nogil
    cdef int64_t look_up(self, const uint8_t *word, int64_t n, uint64_t h) noexcept nogil
    cdef int merge_from(self, WordCounts other) noexcept nogil


# The words' indices in the order of their bytes. 0, or -1 without memory or where it was told to stop.
cdef int byte_order(WordCounts words, int64_t *order, Watch *watch) noexcept nogil
