# deepseek_v3: three splits in a row (Split, pre_tokenizers/split.rs, isolated), each within the pieces of the one before:
#   \p{N}{1,3}
#   [一-龥぀-ゟ゠-ヿ]+
#   [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|
#   \s*[\r\n]+|\s+(?!\S)|\s+
# The third one sees runs of CJK, and what is between them and numbers. It leaves out what is none of L, M, P, S and white space
# (`rest`: control characters, unassigned ones): a run of these is a chunk, but for the last one if a letter or mark follows.
#
# Masks: as cl100k, with letters and marks as letters, visible characters (P, S) as others. Behind a visible ASCII character
# alone (`single`) go ASCII letters only, and the next letter begins a chunk. CJK letters and CJK visible characters are two
# more classes, whose runs are chunks.
#
# A block ends before white space, numbers or `rest` that reach its end, unless something else is known to follow. Left to the plain form: the unassigned among CJK.
#
# deepseek_coder: [\r\n], \s?\p{L}+, \s?\p{P}+, [一-龥ࠀ-一가-퟿]+ (`east`), each isolated, then Digits(individual_digits). Each
# step only adds cuts, and where depends on two characters that meet and, for white space, on the one behind them:
#   at both ends of a newline or numeric character, where `east` changes, at both ends of a run of letters or punctuation, but
#   before its white space if such a character is before it.

cdef int64_t next_deepseek_v3(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    cdef int length, by = BY_NUMBERS_CJK
    cdef int64_t at, last
    cdef uint32_t following, flags = splits_flags(utf8_decode(text + pos, &length))
    if flags & FLAG_NUMBER:
        return number_chunk(BY_SPLITS, 3, text, size, pos)
    if flags & FLAG_CJK:
        by = BY_CJK
    at = pos + length
    following = class_at(by, text + at, &length) if at < size else FLAG_END
    if flags & FLAG_VISIBLE and text[pos] < 0x80 and is_ascii_letter(text, size, at):
        while is_ascii_letter(text, size, at):
            at += 1
        return at
    if flags & (FLAG_LETTER | FLAG_MARK):
        return run_of(by, FLAG_LETTER | FLAG_MARK, text, size, at)
    if not flags & FLAG_VISIBLE and text[pos] != c'\r' and text[pos] != c'\n' and following & (FLAG_LETTER | FLAG_MARK):
        return run_of(by, FLAG_LETTER | FLAG_MARK, text, size, at)
    if flags & FLAG_VISIBLE or (text[pos] == c' ' and following & FLAG_VISIBLE):
        at = run_of(by, FLAG_VISIBLE, text, size, at)
        return run_of_newlines(text, size, at, False) if by == BY_NUMBERS_CJK else at
    if flags & FLAG_WHITE:
        return white_chunk(by, True, text, size, pos)
    # what the pattern leaves out
    while at < size:
        flags = class_at(by, text + at, &length)
        if flags & (FLAG_LETTER | FLAG_MARK | FLAG_VISIBLE | FLAG_WHITE | FLAG_END):
            break
        last = at
        at += length
        if at < size and class_at(by, text + at, &length) & (FLAG_LETTER | FLAG_MARK):
            return last
    return at


cdef inline bint is_ascii_letter(const uint8_t *text, int64_t size, int64_t at) noexcept nogil:
    return at < size and c'a' <= (text[at] | 0x20) <= c'z'


cdef int64_t scan_deepseek_v3(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    cdef int64_t i = 0, k = 0, count
    cdef int n
    cdef uint64_t word, ascii_letter, number, cjk, cjk_word, cjk_visible, white, visible, rest, space, newline, blank
    cdef uint64_t absorbed, blank_starts, white_starts, single, behind, tails, begin, hard, ahead
    cdef uint32_t flags
    # The character before the block; all 0 where a chunk is known to begin. after_head: a visible ASCII character that
    # begins a chunk; after_tail: a letter that belongs to one.
    cdef uint64_t after_word = 0, after_visible = 0, after_head = 0, after_tail = 0, after_cjk_word = 0, after_cjk_visible = 0
    cdef uint64_t after_space = 0, after_blank = 0
    cdef Block b
    cdef ht_stretches known
    known.known = 0
    while i < size:
        b = load_block(&splits, text + i, size - i, &known)
        white = b.flag4
        number = b.flag2
        cjk = b.flag64 & ~number
        word = b.flag1 | b.flag8
        visible = b.flag128
        cjk_word = word & cjk
        cjk_visible = visible & cjk
        word &= ~cjk
        visible &= ~cjk
        hard = cjk & ~(cjk_word | cjk_visible)
        rest = b.live & ~(word | number | cjk | white | visible)
        ascii_letter = word & ~b.high
        space = ht_equal(text + i, c' ') & b.live
        newline = (ht_equal(text + i, c'\n') | ht_equal(text + i, c'\r')) & b.live
        n = <int>(size - i)
        ahead = 0
        if HT_LIKELY(size - i > 64):
            rest &= ~b.unfinished
            flags = flags_ahead(&splits, text + i)
            ahead = none_of(flags, FLAG_WHITE | FLAG_NUMBER)
            n = 64
            if HT_UNLIKELY(((white & ~none_of(flags, FLAG_WHITE)) | (number & ~none_of(flags, FLAG_NUMBER)) | rest
                            | b.unfinished) >> 63):
                n = ht_trailing(white | number | rest | b.unfinished)
        if HT_UNLIKELY(hard != 0):
            n = least(n, ht_ctz64(hard))
        if HT_UNLIKELY(n == 0):
            count = k
            i = go_on(next_deepseek_v3, text, size, base, starts, &count, i)
            k = count
            after_word = after_visible = after_head = after_tail = after_cjk_word = after_cjk_visible = 0
            after_space = after_blank = 0
            continue
        blank = white & ~newline
        absorbed = ht_reach(visible << 1 | after_visible, newline)
        white_starts = white & ~absorbed & (~(white << 1) | absorbed << 1)
        blank_starts = blank & ~(blank << 1)
        begin = white_starts | ht_lead(blank & ((b.live & ~(white | number | cjk)) >> 1 | ahead), b.continuation)
        begin |= blank_starts & (newline << 1) & ~blank_lines(blank_starts, blank, newline, white_starts)
        begin |= (rest & ~(rest << 1)) | ht_lead(rest & (word >> 1), b.continuation)
        single = visible & ~(visible << 1 | after_visible) & ~(space << 1 | after_space)
        behind = ascii_letter & ((single & ~b.high) << 1 | after_head | after_tail)
        tails = ht_reach(behind, ascii_letter)
        begin |= single | (word & ~((word | blank | rest) << 1 | after_word | after_blank) & ~behind)
        begin |= word & ~ascii_letter & (tails << 1 | after_tail)
        begin |= (cjk_word & ~(cjk_word << 1 | after_cjk_word)) | (cjk_visible & ~(cjk_visible << 1 | after_cjk_visible))
        begin |= group_starts(number, b.high, b.continuation, 3)
        k += ht_starts(begin & ht_low_bits(n), base + <uint32_t>i, starts + k)
        i += n
        after_word = word >> (n - 1) & 1
        after_visible = visible >> (n - 1) & 1
        after_head = (single & ~b.high) >> (n - 1) & 1
        after_tail = tails >> (n - 1) & 1
        after_cjk_word = cjk_word >> (n - 1) & 1
        after_cjk_visible = cjk_visible >> (n - 1) & 1
        after_space = space >> (n - 1) & 1
        after_blank = blank >> (n - 1) & 1
    return k


cdef int64_t next_deepseek_coder(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    cdef int length, more
    cdef int64_t at
    cdef uint32_t run = FLAG_LETTER | FLAG_ONIG_PUNCTUATION
    cdef uint32_t before, flags = lists_flags(utf8_decode(text + pos, &length)), following
    at = pos + length
    while at < size:
        before = flags
        flags = lists_flags(utf8_decode(text + at, &length))
        following = lists_flags(utf8_decode(text + at + length, &more)) if at + length < size else 0
        if ((before | flags) & (FLAG_NEWLINE | FLAG_NUMERIC) or (before ^ flags) & FLAG_EAST
                or ((before ^ flags) & run and not (before & FLAG_WHITE and flags & run))
                or (flags & FLAG_WHITE and following & run)):
            break
        at += length
    return at


cdef int64_t scan_deepseek_coder(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    cdef int64_t i = 0, k = 0, count
    cdef int n
    cdef uint64_t letter, punctuation, east, white, alone, begin, ahead
    cdef uint32_t flags
    # The character before the block; `fresh`: the block begins a chunk.
    cdef uint64_t after_letter = 0, after_punctuation = 0, after_east = 0, after_alone = 0, after_white = 0, fresh = 1
    cdef Block b
    cdef ht_stretches known
    known.known = 0
    while i < size:
        b = load_block(&lists, text + i, size - i, &known)
        letter = b.flag1
        punctuation = b.flag2
        white = b.flag4
        east = b.flag8
        alone = b.flag16 | b.flag64
        n = <int>(size - i)
        ahead = 0
        if HT_LIKELY(size - i > 64):
            flags = flags_ahead(&lists, text + i)
            ahead = <uint64_t>(flags & (FLAG_LETTER | FLAG_ONIG_PUNCTUATION) != 0) << 63
            n = 64
            if HT_UNLIKELY(((white & ~none_of(flags, 0)) | b.unfinished) >> 63):
                n = ht_trailing(white | b.unfinished)
            if HT_UNLIKELY(n == 0):
                count = k
                i = go_on(next_deepseek_coder, text, size, base, starts, &count, i)
                k = count
                after_white = 0
                fresh = 1
                continue
        begin = (letter ^ (letter << 1 | after_letter)) | (punctuation ^ (punctuation << 1 | after_punctuation))
        begin &= ~((white << 1 | after_white) & (letter | punctuation))
        begin |= alone | alone << 1 | after_alone | (east ^ (east << 1 | after_east))
        begin = begin & ~b.continuation | ht_lead(white & ((letter | punctuation) >> 1 | ahead), b.continuation) | fresh
        k += ht_starts(begin & ht_low_bits(n), base + <uint32_t>i, starts + k)
        i += n
        after_letter = letter >> (n - 1) & 1
        after_punctuation = punctuation >> (n - 1) & 1
        after_east = east >> (n - 1) & 1
        after_alone = alone >> (n - 1) & 1
        after_white = white >> (n - 1) & 1
        fresh = 0
    return k
