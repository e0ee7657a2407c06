# cl100k and the families that differ from it in a detail (Split with a pattern, pre_tokenizers/split.rs):
#   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
# cl100k      as it stands                       nanochat    \p{N}{1,2}
# qwen2       \p{N}                              seed_coder  \p{N}, and no newlines behind [^\s\p{L}\p{N}]+
# qwen3_5     \p{N}, and marks count as letters  cl100k_end  \s++$ before \s*[\r\n]: white space at the end is one chunk
#
# Masks: letters go with one character before them that is no newline, number or letter, if that begins a chunk by itself:
# the last of a run of blanks (white space but for newlines), or an other character alone (`single`: no other one and no
# U+0020 before it). Newlines right behind others belong to those (`absorbed`). In what is left of a run of white space a
# chunk begins at its start, behind its last newline, and at its last character if that is a blank and text follows.
#
# A block ends before white space or grouped numbers that reach its end, unless something else is known to follow (`ahead`), so
# that no run of these goes on into the next one.

cdef inline int64_t next_cl100k_rules(const uint8_t *text, int64_t size, int64_t pos, int most, bint marks, bint tail,
                                      bint end) noexcept nogil:
    cdef int length = contraction(text, size, pos, True)
    cdef int64_t at
    cdef uint32_t flags, letters = FLAG_LETTER | (FLAG_MARK if marks else 0)
    if length:
        return pos + length
    flags = class_at(BY_WORDS, text + pos, &length)
    at = pos + length
    if flags & letters:
        return run_of(BY_WORDS, letters, text, size, at)
    if flags & FLAG_NUMBER:
        return number_chunk(BY_WORDS, most, text, size, pos)
    if text[pos] != c'\r' and text[pos] != c'\n' and at < size and class_at(BY_WORDS, text + at, &length) & letters:
        return run_of(BY_WORDS, letters, text, size, at)
    at = pos + 1 if text[pos] == c' ' and pos + 1 < size else pos
    if not class_at(BY_WORDS, text + at, &length) & (FLAG_WHITE | letters | FLAG_NUMBER):
        at = run_without(BY_WORDS, FLAG_WHITE | letters | FLAG_NUMBER, text, size, at)
        return run_of_newlines(text, size, at, False) if tail else at
    if end and run_of(BY_WORDS, FLAG_WHITE, text, size, pos) == size:
        return size
    return white_chunk(BY_WORDS, True, text, size, pos)


cdef inline int64_t scan_cl100k_rules(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts, next_fn next,
                                      int most, bint marks, bint tail, bint end) noexcept nogil:
    cdef int64_t i = 0, k = 0, count
    cdef int n, e, length
    cdef uint64_t letter, number, white, other, space, newline, blank, quote
    cdef uint64_t absorbed, blank_starts, white_starts, single, before, begin, ahead
    cdef uint32_t flags
    # The class of the character before the block; all 0 where a chunk is known to begin.
    cdef uint64_t after_letter = 0, after_other = 0, after_single = 0, after_space = 0, after_blank = 0, keep
    cdef Block b
    cdef ht_stretches known
    known.known = 0
    while i < size:
        b = load_block(&words, text + i, size - i, &known)
        white = b.flag4
        number = b.flag2
        letter = b.flag1 | b.flag8 if marks else b.flag1
        other = b.live & ~(letter | number | white)
        space = ht_equal(text + i, c' ') & b.live
        quote = ht_equal(text + i, c"'") & b.live
        newline = (ht_equal(text + i, c'\n') | ht_equal(text + i, c'\r')) & b.live
        n = <int>(size - i)
        ahead = 0
        if HT_LIKELY(size - i > 64):
            flags = flags_ahead(&words, text + i)
            ahead = none_of(flags, FLAG_WHITE)
            n = 64
            if HT_UNLIKELY(((white & ~ahead) | b.unfinished) >> 63):
                n = ht_trailing(white | b.unfinished)
            if most > 1 and HT_UNLIKELY(((number & ~none_of(flags, FLAG_NUMBER)) | b.unfinished) >> 63):
                n = least(n, ht_trailing(number | b.unfinished))
            n = end_before_quotes(n, quote)
            if HT_UNLIKELY(n == 0):
                count = k
                i = go_on(next, text, size, base, starts, &count, i)
                k = count
                after_letter = after_other = after_single = after_space = after_blank = 0
                continue
        blank = white & ~newline
        absorbed = ht_reach(other << 1 | after_other, newline) if tail else 0
        white_starts = white & ~absorbed & (~(white << 1) | absorbed << 1)
        blank_starts = blank & ~(blank << 1)
        begin = white_starts | ht_lead(blank & ((b.live & ~white) >> 1 | ahead), b.continuation)
        begin |= blank_starts & (newline << 1) & ~blank_lines(blank_starts, blank, newline, white_starts)
        if end and size - i <= 64:
            begin &= white_starts | ht_low_bits(ht_trailing(white | ~b.live))
        single = other & ~(other << 1 | after_other) & ~(space << 1 | after_space)
        before = ht_paint(single, b.continuation)
        begin |= single | (letter & ~((letter | blank | before) << 1 | after_letter | after_single | after_blank))
        begin |= group_starts(number, b.high, b.continuation, most)
        keep = 1
        quote &= single & (letter >> 1) & ht_low_bits(n)
        while HT_UNLIKELY(quote != 0):
            e = ht_ctz64(quote)
            quote &= quote - 1
            length = contraction(text, size, i + e, True)
            if length:
                e += length
                if e == n:
                    keep = 0
                else:
                    begin |= letter & <uint64_t>1 << e
        k += ht_starts(begin & ht_low_bits(n), base + <uint32_t>i, starts + k)
        i += n
        after_letter = letter >> (n - 1) & keep
        after_other = other >> (n - 1) & keep
        after_single = before >> (n - 1) & keep
        after_space = space >> (n - 1) & keep
        after_blank = blank >> (n - 1) & keep
    return k


cdef int64_t next_cl100k(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_cl100k_rules(text, size, pos, 3, False, True, False)


cdef int64_t next_cl100k_end(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_cl100k_rules(text, size, pos, 3, False, True, True)


cdef int64_t next_nanochat(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_cl100k_rules(text, size, pos, 2, False, True, False)


cdef int64_t next_qwen2(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_cl100k_rules(text, size, pos, 1, False, True, False)


cdef int64_t next_qwen3_5(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_cl100k_rules(text, size, pos, 1, True, True, False)


cdef int64_t next_seed_coder(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_cl100k_rules(text, size, pos, 1, False, False, False)


cdef int64_t scan_cl100k(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_cl100k_rules(text, size, base, starts, next_cl100k, 3, False, True, False)


cdef int64_t scan_cl100k_end(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_cl100k_rules(text, size, base, starts, next_cl100k_end, 3, False, True, True)


cdef int64_t scan_nanochat(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_cl100k_rules(text, size, base, starts, next_nanochat, 2, False, True, False)


cdef int64_t scan_qwen2(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_cl100k_rules(text, size, base, starts, next_qwen2, 1, False, True, False)


cdef int64_t scan_qwen3_5(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_cl100k_rules(text, size, base, starts, next_qwen3_5, 1, True, True, False)


cdef int64_t scan_seed_coder(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_cl100k_rules(text, size, base, starts, next_seed_coder, 1, False, False, False)
