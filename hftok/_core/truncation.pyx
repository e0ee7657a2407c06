"""Truncation in numbers: how far the reference reads a sequence, and how many tokens of each sequence it keeps.

Two steps of the reference, one after the other. Reading (`tokenize_with_limit`, tokenizer/pre_tokenizer.rs): with truncation
set, a sequence is read from its beginning, or for direction left from its end, until max_length tokens are there; the
pre-token that reaches it counts as a whole, and added tokens, which have their ids already, count without ending the search.
Cutting (`truncate_encodings`, utils/truncation.rs): the lengths so found decide which sequence of a pair loses how much.
"""
from libc.stdint cimport int32_t, int64_t

cdef enum:
    DIRECT_WORD = 1 << 30    # flag in a token's word number: it is an added token


cdef Py_ssize_t kept_tokens(const int32_t *words, Py_ssize_t n, int64_t limit, bint left, Py_ssize_t *first) noexcept nogil:
    """Which of a sequence's tokens `tokenize_with_limit` would have made: n' tokens from *first on. A word counts as a
    whole; added tokens count, but do not end the search. A pre-token without tokens ends it where added tokens have reached
    the limit before: it shows as a gap in the words' numbers."""
    cdef Py_ssize_t i = 0, j
    cdef int64_t total = 0
    first[0] = 0
    if limit <= 0 or n == 0:
        return n
    if not left:
        while i < n:
            if total >= limit and _gap(words, i):
                return i
            j = i
            while j < n and words[j] == words[i]:
                j += 1
            total += j - i
            if total >= limit and not words[i] & DIRECT_WORD:
                return j
            i = j
        return n
    i = n
    while i > 0:
        if total >= limit and _gap(words, i):
            return n - i
        j = i
        while j > 0 and words[j - 1] == words[i - 1]:
            j -= 1
        total += i - j
        first[0] = j
        if total >= limit and not words[j] & DIRECT_WORD:
            return n - j
        i = j
    first[0] = 0
    return n


cdef inline bint _gap(const int32_t *words, Py_ssize_t i) noexcept nogil:
    """Whether a word without tokens stands before token i, which is not the first."""
    return (words[i] & (DIRECT_WORD - 1)) > (words[i - 1] & (DIRECT_WORD - 1)) + 1


cdef int64_t truncated_lengths(int64_t *a, int64_t *b, int64_t room, int strategy) noexcept nogil:
    """Tokens kept of both sequences of a row that may have `room` tokens (reference: truncate_encodings). b: NULL if there is
    no pair. strategy: 0 longest_first, 1 only_first, 2 only_second. 0, or 1: the sequence is too short to be cut enough;
    2: there is no second sequence."""
    cdef int64_t n1 = a[0], n2 = b[0] if b != NULL else 0, remove, low, high
    if room == 0:
        a[0] = 0
        if b != NULL:
            b[0] = 0
        return 0
    if n1 + n2 <= room:
        return 0
    remove = n1 + n2 - room
    if strategy == 0:
        if b == NULL:
            a[0] = room
            return 0
        low = n1 if n1 < n2 else n2
        if low > room:
            high = low
        else:
            high = room - low if room - low > low else low
        if low + high > room:
            low = room // 2
            high = low + room % 2
        if n1 > n2:
            a[0] = high
            b[0] = low
        else:
            a[0] = low
            b[0] = high
        return 0
    if strategy == 1:
        if n1 <= remove:
            return 1
        a[0] = n1 - remove
        return 0
    if b == NULL:
        return 2
    if n2 <= remove:
        return 1
    b[0] = n2 - remove
    return 0
