# gpt2: the pattern of ByteLevel (pre_tokenizers/byte_level.rs),
#   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
# and gpt2_digits: Digits(individual_digits) before it (pre_tokenizers/digits.rs), whose numeric characters stand alone and
# end the texts that the pattern sees.
#
# Masks: a run of letters, numbers or others begins a chunk unless the character before is U+0020, which then begins it;
# white space begins one where its run begins and at its last character, unless the text ends with it. An apostrophe that
# begins a chunk may take letters along, which moves the boundary behind it.
#
# A block ends before white space that reaches its end, unless something else is known to follow (`ahead`). So no run of white
# space goes on from one block into the next, and all that is carried over is the class of the last character.

cdef inline int64_t next_gpt2_rules(int by, const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    cdef int length
    cdef int64_t at = pos
    cdef uint32_t flags
    length = contraction(text, size, pos, False)
    if length:
        return pos + length
    if text[pos] == c' ' and pos + 1 < size:
        at = pos + 1
    flags = class_at(by, text + at, &length)
    if flags & FLAG_END:
        return at if at > pos else at + length
    if flags & FLAG_WHITE:
        return white_chunk(by, False, text, size, pos)
    if flags & FLAG_LETTER:
        return run_of(by, FLAG_LETTER, text, size, at)
    if flags & FLAG_NUMBER:
        return run_of(by, FLAG_NUMBER, text, size, at)
    return run_without(by, FLAG_WHITE | FLAG_LETTER | FLAG_NUMBER, text, size, at)


cdef int64_t next_gpt2(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_gpt2_rules(BY_WORDS, text, size, pos)


cdef int64_t next_gpt2_digits(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_gpt2_rules(BY_DIGITS, text, size, pos)


cdef inline int64_t scan_gpt2_rules(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts,
                                    bint digits) noexcept nogil:
    cdef int64_t i = 0, k = 0, count
    cdef int n, e, length
    cdef uint64_t letter, number, white, other, numeric, space, quote, begin, ahead
    cdef uint32_t flags
    # The class of the character before the block; all 0 where a chunk is known to begin.
    cdef uint64_t after_letter = 0, after_number = 0, after_other = 0, after_space = 0, keep
    cdef Block b
    cdef ht_stretches known
    known.known = 0
    while i < size:
        b = load_block(&splits if digits else &words, text + i, size - i, &known)
        white = b.flag4
        numeric = b.flag16 if digits else 0
        letter = b.flag1
        number = b.flag2 & ~numeric
        other = b.live & ~(letter | number | white | numeric)
        space = ht_equal(text + i, c' ') & b.live
        quote = ht_equal(text + i, c"'") & b.live
        n = <int>(size - i)
        ahead = 0
        if HT_LIKELY(size - i > 64):
            flags = flags_ahead(&splits if digits else &words, text + i)
            n = 64
            if HT_UNLIKELY(((white & ~none_of(flags, FLAG_WHITE)) | b.unfinished) >> 63):
                n = ht_trailing(white | b.unfinished)
            n = end_before_quotes(n, quote)
            ahead = none_of(flags, FLAG_WHITE | FLAG_NUMERIC if digits else FLAG_WHITE)
            if HT_UNLIKELY(n == 0):
                count = k
                i = go_on(next_gpt2_digits if digits else next_gpt2, text, size, base, starts, &count, i)
                k = count
                after_letter = after_number = after_other = after_space = 0
                continue
        begin = ((letter & ~(letter << 1 | after_letter)) | (number & ~(number << 1 | after_number))
                 | (other & ~(other << 1 | after_other))) & ~(space << 1 | after_space)
        begin |= white & ~(white << 1) | ht_lead(white & ((b.live & ~white & ~numeric) >> 1 | ahead), b.continuation)
        begin |= numeric & ~b.continuation
        keep = 1
        quote &= begin & (letter >> 1) & ht_low_bits(n)
        while HT_UNLIKELY(quote != 0):
            e = ht_ctz64(quote)
            quote &= quote - 1
            length = contraction(text, size, i + e, False)
            if length:
                begin &= ~(<uint64_t>2 << e)
                e += length
                if e == n:
                    keep = 0
                elif (letter >> e) & 1:
                    begin |= <uint64_t>1 << e
        k += ht_starts(begin & ht_low_bits(n), base + <uint32_t>i, starts + k)
        i += n
        after_letter = letter >> (n - 1) & keep
        after_number = number >> (n - 1) & keep
        after_other = other >> (n - 1) & keep
        after_space = space >> (n - 1) & keep
    return k


cdef int64_t scan_gpt2(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_gpt2_rules(text, size, base, starts, False)


cdef int64_t scan_gpt2_digits(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_gpt2_rules(text, size, base, starts, True)
