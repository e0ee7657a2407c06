"""Distinct words and their counts: what every trainer learns from.

What it does: `WordCounts` is an open-addressing table from word (bytes) to a 64-bit count, with a nogil entry `add` for the
feeders, merging of tables, and plain arrays in and out. Words are kept one after another in the order of their first sight,
so the merge engines read them in place.

Rule of the reference: the `feed` of every trainer (models/*/trainer.rs) counts the splits of the pre-tokenizer, whole strings;
it counts Unigram's words in 32 bits, we count all in 64. Splitting text into words is left to the feeders, but for the
white space splitter at the end; files of counts are left to word_files.
"""
from collections.abc import Iterable, Mapping

import numpy as np

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy

from hftok._core.text cimport utf8_decode
from hftok._core.training.progress cimport Watch, stopped
from hftok._core.training.token_strings cimport string_hash

cdef uint64_t INDEX = (<uint64_t>1 << 40) - 1


cdef class WordCounts:
    """Distinct words with 64-bit counts.

    counts: a mapping from word (str or bytes) to count, or an iterable of words, each counted once; None for none.

    Words are bytes inside; a str is its UTF-8. Raises TypeError for a word or count of another type, ValueError for a negative
    count, OverflowError where a count passes 2**64 - 1, UnicodeEncodeError for a lone surrogate. A call that raises has counted
    the words before the bad one.

    >>> counts = WordCounts(["low", "lower", "low"])
    >>> counts["low"], len(counts), counts.total
    (2, 2, 3)
    """

    def __cinit__(self):
        self.text = NULL
        self.offset = NULL
        self.count = NULL
        self.slot = NULL
        self.size = self.capacity = self.text_capacity = 0
        self.bits = 0

    def __init__(self, counts=None):
        if self.reserve(0, 0):
            raise MemoryError("out of memory while counting words")
        if counts is not None:
            self.update(counts)

    def __dealloc__(self):
        free(self.text)
        free(self.offset)
        free(self.count)
        free(self.slot)

    # The table

    cdef int reserve(self, int64_t words, int64_t bytes) noexcept nogil:
        """Room for `words` words and `bytes` bytes in all."""
        cdef int64_t n, i
        cdef void *grown
        cdef uint64_t *slot
        cdef uint64_t h, mask
        cdef int bits = self.bits
        if bytes > self.text_capacity:
            n = max(bytes, self.text_capacity + (self.text_capacity >> 1), <int64_t>4096)
            grown = realloc(self.text, <size_t>n)
            if grown == NULL:
                return -1
            self.text = <uint8_t *>grown
            self.text_capacity = n
        if words > self.capacity or self.offset == NULL:
            n = max(words, self.capacity + (self.capacity >> 1), <int64_t>256)
            if n >= <int64_t>INDEX:
                return -1
            grown = realloc(self.count, <size_t>n * sizeof(uint64_t))
            if grown == NULL:
                return -1
            self.count = <uint64_t *>grown
            grown = realloc(self.offset, <size_t>(n + 1) * sizeof(int64_t))
            if grown == NULL:
                return -1
            if self.offset == NULL:
                (<int64_t *>grown)[0] = 0
            self.offset = <int64_t *>grown
            self.capacity = n
        # At most two thirds full.
        while bits == 0 or (<int64_t>2 << bits) < 3 * words:
            bits = bits + 1 if bits else 9
        if bits != self.bits:
            slot = <uint64_t *>calloc(<size_t>1 << bits, sizeof(uint64_t))
            if slot == NULL:
                return -1
            free(self.slot)
            self.slot = slot
            self.bits = bits
            mask = (<uint64_t>1 << bits) - 1
            for i in range(self.size):
                h = string_hash(self.text + self.offset[i], self.offset[i + 1] - self.offset[i])
                self.place(h, i)
        return 0

    cdef inline void place(self, uint64_t h, int64_t i) noexcept nogil:
        cdef uint64_t mask = (<uint64_t>1 << self.bits) - 1
        cdef uint64_t at = h >> (64 - self.bits)
        while self.slot[at]:
            at = (at + 1) & mask
        self.slot[at] = (h & <uint64_t>0xFFFFFF) << 40 | <uint64_t>(i + 1)

    cdef inline int64_t look_up(self, const uint8_t *word, int64_t n, uint64_t h) noexcept nogil:
        cdef uint64_t mask = (<uint64_t>1 << self.bits) - 1
        cdef uint64_t at = h >> (64 - self.bits)
        cdef uint64_t tag = h & <uint64_t>0xFFFFFF
        cdef uint64_t s
        cdef int64_t i
        while True:
            s = self.slot[at]
            if s == 0:
                return -1
            if s >> 40 == tag:
                i = <int64_t>(s & INDEX) - 1
                if self.offset[i + 1] - self.offset[i] == n and memcmp(self.text + self.offset[i], word, <size_t>n) == 0:
                    return i
            at = (at + 1) & mask

    cdef int reserve_exactly(self, int64_t words, int64_t bytes) noexcept nogil:
        """Room for so much and no more, in an empty table that the caller fills with distinct words (offsets from 0 on). It is
        indexed when a word is first looked for. 0, or -1 without memory."""
        free(self.slot)
        self.slot = NULL
        self.bits = 0
        free(self.text)
        free(self.offset)
        free(self.count)
        self.text = <uint8_t *>malloc(<size_t>max(bytes, <int64_t>1))
        self.offset = <int64_t *>malloc(<size_t>(words + 1) * sizeof(int64_t))
        self.count = <uint64_t *>malloc(<size_t>max(words, <int64_t>1) * sizeof(uint64_t))
        self.text_capacity = self.capacity = 0
        if self.text == NULL or self.offset == NULL or self.count == NULL:
            return -1
        self.offset[0] = 0
        self.text_capacity = bytes
        self.capacity = words
        return 0

    cdef int64_t find(self, const uint8_t *word, int64_t n) noexcept nogil:
        """The index of a word, or -1."""
        if self.slot == NULL and self.reserve(self.size, 0):
            return -1
        return self.look_up(word, n, string_hash(word, n))

    cdef int add(self, const uint8_t *word, int64_t n, uint64_t times) noexcept nogil:
        cdef uint64_t h = string_hash(word, n)
        cdef int64_t i
        if self.slot == NULL and self.reserve(self.size, 0):
            return -1
        i = self.look_up(word, n, h)
        if i >= 0:
            if self.count[i] > UINT64_MAX - times:
                return -2
            self.count[i] += times
            return 0
        i = self.size
        if self.reserve(i + 1, self.offset[i] + n):
            return -1
        if n:
            memcpy(self.text + self.offset[i], word, <size_t>n)
        self.offset[i + 1] = self.offset[i] + n
        self.count[i] = times
        self.size += 1
        self.place(h, i)
        return 0

    cdef int merge_from(self, WordCounts other) noexcept nogil:
        cdef int64_t i
        cdef int error
        for i in range(other.size):
            error = self.add(other.text + other.offset[i], other.offset[i + 1] - other.offset[i], other.count[i])
            if error:
                return error
        return 0

    # Python

    def update(self, words):
        """Count a mapping from word to count, or each word of an iterable once.

        >>> counts = WordCounts()
        >>> counts.update({"low": 5}); counts.update(["low", "new"])
        >>> counts.to_dict()
        {'low': 6, 'new': 1}
        """
        if isinstance(words, WordCounts):
            self.merge(words)
        elif isinstance(words, Mapping):
            for word, times in words.items():
                self.add_word(word, times)
        elif isinstance(words, Iterable) and not isinstance(words, (str, bytes)):
            for word in words:
                self.add_word(word)
        else:
            raise TypeError(f"words must be a mapping or an iterable of str, not {type(words).__name__}")

    def add_word(self, word, times=1):
        """Count one word, str or bytes, `times` times more. Empty words are ignored, as the reference does."""
        cdef Py_ssize_t n = 0
        cdef const char *p
        cdef int error
        if not isinstance(times, int):
            raise TypeError(f"a count must be an int, not {type(times).__name__}")
        if times < 0:
            raise ValueError(f"a count must not be negative, got {times}")
        if times > UINT64_MAX:
            raise OverflowError("a word's count passes 2**64 - 1; scale the counts down")
        if isinstance(word, str):
            p = PyUnicode_AsUTF8AndSize(word, &n)
        elif isinstance(word, bytes):
            p = word
            n = len(word)
        else:
            raise TypeError(f"a word must be str or bytes, not {type(word).__name__}")
        if n == 0:
            return
        check(self.add(<const uint8_t *>p, n, <uint64_t>times))

    def merge(self, WordCounts other not None):
        """Add the counts of another table. Order does not matter, so tables counted apart can be merged in any way."""
        cdef int error
        if other is self:
            other = WordCounts.from_arrays(*self.to_arrays())
        with nogil:
            error = self.merge_from(other)
        check(error)

    def add_whitespace_split(self, str text not None):
        """Count the pieces of a text between white space (the reference's WhitespaceSplit: Unicode White_Space).

        >>> counts = WordCounts()
        >>> counts.add_whitespace_split("low lower\\tlow")
        >>> counts.to_dict()
        {'low': 2, 'lower': 1}
        """
        cdef Py_ssize_t n = 0
        cdef const uint8_t *p = <const uint8_t *>PyUnicode_AsUTF8AndSize(text, &n)
        cdef int error
        with nogil:
            error = count_between_spaces(self, p, n)
        check(error)

    def __len__(self):
        return self.size

    def __getitem__(self, word):
        cdef bytes data = word.encode("utf-8") if isinstance(word, str) else bytes(word)
        cdef int64_t i = self.find(data, len(data))
        if i < 0:
            raise KeyError(word)
        return self.count[i]

    def __contains__(self, word):
        try:
            self[word]
        except (KeyError, TypeError, UnicodeEncodeError):
            return False
        return True

    @property
    def total(self):
        """The sum of all counts."""
        cdef int64_t i
        cdef uint64_t low = 0
        result = 0
        for i in range(self.size):
            if low > UINT64_MAX - self.count[i]:
                result += low
                low = 0
            low += self.count[i]
        return result + low

    @property
    def nbytes(self):
        """Bytes of memory in use."""
        return self.text_capacity + 16 * self.capacity + (8 << self.bits if self.slot != NULL else 0)

    @property
    def text_bytes(self):
        """Bytes of the distinct words together."""
        return self.offset[self.size]

    def to_dict(self):
        """The words as str (bytes that are not UTF-8 become lone surrogates) with their counts, in order of first sight."""
        return {word.decode("utf-8", "surrogateescape"): count for word, count in self.items()}

    def items(self):
        """(bytes, count) of each word, in order of first sight."""
        cdef int64_t i
        for i in range(self.size):
            yield (<char *>self.text)[self.offset[i]:self.offset[i + 1]], self.count[i]

    def to_arrays(self):
        """Copies as (text, offsets, counts): uint8 (bytes,), int64 (words + 1,), uint64 (words,)."""
        cdef int64_t n = self.offset[self.size]
        text = np.empty(n, dtype=np.uint8)
        offsets = np.empty(self.size + 1, dtype=np.int64)
        counts = np.empty(self.size, dtype=np.uint64)
        cdef uint8_t[::1] t = text
        cdef int64_t[::1] o = offsets
        cdef uint64_t[::1] c = counts
        if n:
            memcpy(&t[0], self.text, <size_t>n)
        memcpy(&o[0], self.offset, <size_t>(self.size + 1) * sizeof(int64_t))
        if self.size:
            memcpy(&c[0], self.count, <size_t>self.size * sizeof(uint64_t))
        return text, offsets, counts

    @staticmethod
    def from_arrays(text, offsets, counts):
        """A table from arrays as `to_arrays` gives them; duplicates add up, empty words are ignored.

        text     uint8, shape (bytes,), the words one after another
        offsets  int64, shape (words + 1,), ascending from 0 to len(text)
        counts   uint64, shape (words,)
        """
        cdef const uint8_t[::1] t = np.ascontiguousarray(text, dtype=np.uint8)
        cdef const int64_t[::1] o = np.ascontiguousarray(offsets, dtype=np.int64)
        cdef const uint64_t[::1] c = np.ascontiguousarray(counts, dtype=np.uint64)
        cdef int64_t n = c.shape[0]
        cdef int64_t i
        cdef int error = 0
        cdef const uint8_t *p = &t[0] if t.shape[0] else NULL
        if o.shape[0] != n + 1 or o[0] != 0 or o[n] != t.shape[0] or (np.diff(np.asarray(o)) < 0).any():
            raise ValueError("offsets must ascend from 0 to len(text) and have one entry more than counts")
        cdef WordCounts result = WordCounts()
        with nogil:
            if result.reserve(n, t.shape[0]):
                error = -1
            for i in range(n):
                if error:
                    break
                if o[i + 1] > o[i]:
                    error = result.add(p + o[i], o[i + 1] - o[i], c[i])
        check(error)
        return result

    def __reduce__(self):
        return WordCounts.from_arrays, self.to_arrays()


def check(int error):
    """The exception of an error code of `WordCounts.add`."""
    if error == -1:
        raise MemoryError("out of memory while counting words")
    if error == -2:
        raise OverflowError("a word's count passes 2**64 - 1; scale the counts down")


ctypedef Keyed Sorted
ctypedef KeyedText SortContext


cdef inline bint comes_before(const Keyed *a, const Keyed *b, const KeyedText *words) noexcept nogil:
    return bytes_before(a, b, words)


include "merge_sort.pxi"


cdef int byte_order(WordCounts words, int64_t *order, Watch *watch) noexcept nogil:
    cdef int64_t n = words.size
    cdef Keyed *keyed = <Keyed *>malloc(<size_t>(n + 1) * sizeof(Keyed))
    cdef KeyedText text
    cdef int64_t i
    cdef int failed
    if keyed == NULL:
        return -1
    text.text = words.text
    text.offset = words.offset
    for i in range(n):
        keyed[i] = keyed_word(&text, i)
    failed = merge_sort(keyed, n, &text, watch)
    for i in range(n):
        order[i] = keyed[i].word
    free(keyed)
    return failed


cdef inline bint is_space(uint32_t c) noexcept nogil:
    """Unicode White_Space."""
    if c <= 0x20:
        return c == 0x20 or 9 <= c <= 13
    if c < 0x85:
        return False
    return (c == 0x85 or c == 0xA0 or c == 0x1680 or 0x2000 <= c <= 0x200A or c == 0x2028 or c == 0x2029 or c == 0x202F
            or c == 0x205F or c == 0x3000)


cdef int count_between_spaces(WordCounts counts, const uint8_t *p, int64_t n) noexcept nogil:
    cdef int64_t i = 0
    cdef int64_t start = 0
    cdef int length = 1
    cdef int error
    while i < n:
        if is_space(utf8_decode(p + i, &length)):
            if i > start:
                error = counts.add(p + start, i - start, 1)
                if error:
                    return error
            start = i + length
        i += length
    return counts.add(p + start, n - start, 1) if n > start else 0
