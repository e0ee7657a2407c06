# Look-ups between tokens, words and characters (part of encoding.pyx). Rules: sequence_range, token_to_sequence,
# word_to_tokens, char_to_token and what is built on them in the reference's tokenizer/encoding.rs.

cdef SequenceRange range_of(Encoding e, uint64_t sequence) noexcept:
    # Encoding::sequence_range: an unknown sequence covers all tokens.
    cdef const SequenceRange *r = e.ranges()
    cdef SequenceRange whole
    cdef int i
    for i in range(e.n_ranges):
        if r[i].sequence == sequence:
            return r[i]
    whole.sequence = sequence
    whole.start = 0
    whole.end = <uint64_t>e.n
    return whole


cdef bint sequence_of(Encoding e, uint64_t token, uint64_t *sequence) noexcept:
    # Encoding::token_to_sequence, which lets the index one past the end through.
    cdef const SequenceRange *r = e.ranges()
    cdef int i
    sequence[0] = 0
    if token > <uint64_t>e.n:
        return False
    if e.n_ranges == 0:
        return True
    for i in range(e.n_ranges):
        if r[i].start <= token < r[i].end:
            sequence[0] = r[i].sequence
            return True
    return False


cdef int64_t word_of(Encoding e, uint64_t token) except -2:
    cdef uint64_t sequence
    if not sequence_of(e, token, &sequence) or token >= <uint64_t>e.n:
        return -1
    e.materialize(LAZY_SPANS)
    return -1 if e.word_column == NULL else e.word_column[token]


cdef bint word_span(Encoding e, uint32_t word, uint64_t sequence, Py_ssize_t *first, Py_ssize_t *last) except -1:
    # Encoding::word_to_tokens: reading stops at the first word that is greater; None is less than every word.
    cdef SequenceRange span = range_of(e, sequence)
    cdef Py_ssize_t i
    cdef bint found = False
    if span.start > span.end or span.end > <uint64_t>e.n:
        return False
    e.materialize(LAZY_SPANS)
    if e.word_column == NULL:
        return False
    for i in range(<Py_ssize_t>span.start, <Py_ssize_t>span.end):
        if e.word_column[i] > <int64_t>word:
            break
        if e.word_column[i] == <int64_t>word:
            if not found:
                first[0] = i
                found = True
            last[0] = i
    return found


cdef Py_ssize_t token_at(Encoding e, uint64_t position, uint64_t sequence) except -2:
    # Encoding::char_to_token. -1: None.
    cdef SequenceRange span = range_of(e, sequence)
    cdef Py_ssize_t i
    if span.start > span.end or span.end > <uint64_t>e.n:
        return -1
    e.materialize(LAZY_SPANS)
    if e.offset_pairs == NULL:
        return -1
    for i in range(<Py_ssize_t>span.start, <Py_ssize_t>span.end):
        if e.offset_pairs[2 * i] <= position < e.offset_pairs[2 * i + 1]:
            return i
    return -1
