# bloom: the pattern " ?[^(\s|[.,!?…。，、।۔،])]+" (Split, pre_tokenizers/split.rs, isolated). To Oniguruma the brackets within are
# a class in a class: what is not matched are white space, ( ) | and the marks listed (`listed`). A run of these is a chunk, but
# for a U+0020 at its end if something else follows, which it goes with.
#
# Masks: a block ends before a U+0020 at its end, unless it is known what follows.

cdef int64_t next_bloom(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    cdef int length
    cdef int64_t at = pos
    cdef bint space = False
    while at < size and lists_flags(utf8_decode(text + at, &length)) & FLAG_LISTED:
        space = text[at] == c' '
        at += length
    if at == size:
        return size
    if at > pos + 1 or (at > pos and not space):
        return at - 1 if space else at
    while at < size and not lists_flags(utf8_decode(text + at, &length)) & FLAG_LISTED:
        at += length
    return at


cdef int64_t scan_bloom(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    cdef int64_t i = 0, k = 0
    cdef int n
    cdef uint64_t listed, word, space, begin, ahead
    cdef uint32_t flags
    # The character before the block; none at the beginning.
    cdef uint64_t after_listed = 0, after_word = 0, after_space = 0
    cdef Block b
    cdef ht_stretches known
    known.known = 0
    while i < size:
        b = load_block(&lists, text + i, size - i, &known)
        listed = b.flag32
        word = b.live & ~(listed | b.unfinished)
        space = ht_equal(text + i, c' ') & b.live
        n = <int>(size - i)
        ahead = 0
        if HT_LIKELY(size - i > 64):
            flags = flags_ahead(&lists, text + i)
            ahead = none_of(flags, FLAG_LISTED)
            n = 64
            if HT_UNLIKELY(((space & ~none_of(flags, 0)) | b.unfinished) >> 63):
                n = ht_trailing(b.unfinished)
                n -= <int>(space >> (n - 1) & 1)
        begin = (listed & ~(listed << 1 | after_listed)) | (space & (word >> 1 | ahead))
        begin |= word & ~((word | space) << 1 | after_word | after_space)
        k += ht_starts(begin & ht_low_bits(n), base + <uint32_t>i, starts + k)
        i += n
        after_listed = listed >> (n - 1) & 1
        after_word = word >> (n - 1) & 1
        after_space = space >> (n - 1) & 1
    return k
