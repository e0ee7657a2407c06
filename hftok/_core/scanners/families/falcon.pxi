# falcon: Punctuation(contiguous), ByteLevel with its pattern (see gpt2.pxi), Digits(contiguous), then [0-9][0-9][0-9] isolated.
#
# Runs of punctuation are chunks of their own and end the texts that ByteLevel's pattern sees, so that no apostrophe is left.
# The last two steps see ByteLevel's characters, one for each byte: numeric are the digits and the bytes that stand for
# themselves as ² ³ ¹ ¼ ½ ¾ (`numeric`, whatever character they belong to). Chunks may thus begin inside a character.
#
# Masks: gpt2's, and a cut wherever `numeric` changes. Digits go in groups of three; where they touch other numeric bytes,
# which go with what is left of them, the plain form goes on.
#
# A block ends before white space or digits that reach its end, unless something else is known to follow.

cdef inline bint is_digit(uint8_t b) noexcept nogil:
    return c'0' <= b <= c'9'


cdef inline bint is_numeric_byte(uint8_t b) noexcept nogil:
    return is_digit(b) or b == 0xB2 or b == 0xB3 or b == 0xB9 or (0xBC <= b <= 0xBE)


cdef int64_t next_falcon(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    cdef int length
    cdef int64_t first = pos, at, end
    cdef uint32_t flags
    # the piece that ByteLevel gives; what is left of one is what would begin there
    while text[first] & 0xC0 == 0x80:
        first -= 1
    if splits_flags(utf8_decode(text + first, &length)) & FLAG_PUNCTUATION:
        end = run_of(BY_SPLITS, FLAG_PUNCTUATION, text, size, first)
    else:
        end = next_gpt2_rules(BY_PUNCTUATION, text, size, first)
    # the run of numeric bytes, or of others
    at = pos
    while at < end and is_numeric_byte(text[at]) == is_numeric_byte(text[pos]):
        at += 1
    end = at
    if is_numeric_byte(text[pos]):
        for at in range(pos, end - 2):
            if is_digit(text[at]) and is_digit(text[at + 1]) and is_digit(text[at + 2]):
                return at if at > pos else pos + 3
    return end


cdef int64_t scan_falcon(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    cdef int64_t i = 0, k = 0, count
    cdef int n
    cdef uint64_t letter, number, white, punctuation, other, space, digit, numeric, hard, begin, ahead
    cdef uint32_t flags
    # The character before the block; all 0 where a chunk is known to begin, and `fresh` 1.
    cdef uint64_t after_letter = 0, after_number = 0, after_other = 0, after_punctuation = 0, after_numeric = 0
    cdef uint64_t after_space = 0, fresh = 1
    cdef Block b
    cdef ht_stretches known
    known.known = 0
    while i < size:
        b = load_block(&splits, text + i, size - i, &known)
        punctuation = b.flag32
        white = b.flag4
        letter = b.flag1 & ~punctuation
        number = b.flag2 & ~punctuation
        other = b.live & ~(letter | number | white | punctuation)
        space = ht_equal(text + i, c' ') & b.live
        digit = b.flag16 & ~b.high
        numeric = digit
        hard = digit & after_numeric
        if b.high:
            numeric |= (ht_equal(text + i, 0xB2) | ht_equal(text + i, 0xB3) | ht_equal(text + i, 0xB9)
                        | ht_equal(text + i, 0xBC) | ht_equal(text + i, 0xBD) | ht_equal(text + i, 0xBE)) & b.live
            hard |= (numeric & ~digit) & (digit << 1) | digit & ((numeric & ~digit) << 1)
        n = <int>(size - i)
        ahead = 0
        if HT_LIKELY(size - i > 64):
            flags = flags_ahead(&splits, text + i)
            ahead = none_of(flags, FLAG_WHITE | FLAG_PUNCTUATION)
            n = 64
            if HT_UNLIKELY(((white & ~none_of(flags, FLAG_WHITE)) | (digit & ~none_of(flags, FLAG_NUMERIC))
                            | b.unfinished) >> 63):
                n = ht_trailing(white | digit | b.unfinished)
        if HT_UNLIKELY(hard != 0):
            n = least(n, ht_ctz64(hard) - 1)
        if HT_UNLIKELY(n <= 0):
            count = k
            i = go_on(next_falcon, text, size, base, starts, &count, i)
            k = count
            after_letter = after_number = after_other = after_punctuation = after_numeric = after_space = 0
            fresh = 1
            continue
        begin = ((letter & ~(letter << 1 | after_letter)) | (number & ~(number << 1 | after_number))
                 | (other & ~(other << 1 | after_other))) & ~(space << 1 | after_space)
        begin |= white & ~(white << 1) | ht_lead(white & ((b.live & ~white & ~punctuation) >> 1 | ahead), b.continuation)
        begin |= punctuation & ~(punctuation << 1 | after_punctuation)
        begin |= (numeric ^ (numeric << 1 | after_numeric)) | group_starts(digit, 0, 0, 3) | fresh
        k += ht_starts(begin & ht_low_bits(n), base + <uint32_t>i, starts + k)
        i += n
        after_letter = letter >> (n - 1) & 1
        after_number = number >> (n - 1) & 1
        after_other = other >> (n - 1) & 1
        after_punctuation = punctuation >> (n - 1) & 1
        after_numeric = numeric >> (n - 1) & 1
        after_space = space >> (n - 1) & 1
        fresh = 0
    return k
