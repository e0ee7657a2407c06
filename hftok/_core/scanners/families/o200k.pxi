# o200k and the families with its two alternatives of cased words (Split with a pattern, pre_tokenizers/split.rs):
#   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
#   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|
#   \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
# o200k    as it stands
# tekken   no contractions, \p{N}
# kimi_k2  [\p{Han}]+ first, Han in neither set of the words, and [\r\n]* behind the others
#
# A word is uppers, then lowers; caseless letters and marks are both. Of a run of these a chunk begins
#   - at an upper right behind a lower;
#   - at an upper behind caseless ones, if a lower of the same word is before them; if none is, the first alternative goes on
#     over uppers to the next lower or caseless character, and only if there is none it ends with the last caseless one.
# A contraction belongs to the word before it; a second one right behind it is a word of its own, and so are the letters that
# follow. A mark is in the set of others as well: one behind others is of a word only if a single other character is before it
# that could begin one (`single`), else it is one of them.
#
# Otherwise as cl100k. Left to the plain form: Han characters that are no letters, marks behind
# a slash that went with newlines, and behind the character after one.

cdef enum:
    O200K_CONTRACTIONS = 1
    O200K_SLASHES = 2
    O200K_HAN = 4


cdef inline int64_t cased_word(const uint8_t *text, int64_t size, int64_t pos, int rules) noexcept nogil:
    """The end of the first two alternatives at pos, behind their optional first character; pos if they do not match."""
    cdef int64_t at = pos, caseless = pos
    cdef int length
    cdef uint32_t flags
    while at < size:
        flags = class_at(BY_WORDS, text + at, &length)
        if not flags & (FLAG_LETTER | FLAG_MARK) or (rules & O200K_HAN and flags & FLAG_HAN):
            break
        if flags & FLAG_LOWER:
            # lowers to the end
            while True:
                at += length
                if at == size:
                    break
                flags = class_at(BY_WORDS, text + at, &length)
                if not flags & (FLAG_LETTER | FLAG_MARK) or flags & FLAG_UPPER or (rules & O200K_HAN and flags & FLAG_HAN):
                    break
            caseless = at
            break
        at += length
        if not flags & FLAG_UPPER:
            caseless = at
    if caseless > pos:
        at = caseless
    if at > pos and at < size and rules & O200K_CONTRACTIONS:
        at += contraction(text, size, at, True)
    return at


cdef inline int64_t next_o200k_rules(const uint8_t *text, int64_t size, int64_t pos, int most, int rules) noexcept nogil:
    cdef int length
    cdef uint32_t flags = class_at(BY_WORDS, text + pos, &length)
    cdef int64_t at
    if rules & O200K_HAN and flags & FLAG_HAN:
        return run_of(BY_WORDS, FLAG_HAN, text, size, pos)
    if not flags & (FLAG_LETTER | FLAG_NUMBER | FLAG_MARK) and text[pos] != c'\r' and text[pos] != c'\n' and pos + length < size:
        at = cased_word(text, size, pos + length, rules)
        if at > pos + length:
            return at
    # A mark may be taken for the first character or for one of the word: the word is the same.
    at = cased_word(text, size, pos, rules)
    if at > pos:
        return at
    if flags & FLAG_NUMBER:
        return number_chunk(BY_WORDS, most, text, size, pos)
    at = pos + 1 if text[pos] == c' ' and pos + 1 < size else pos
    if not class_at(BY_WORDS, text + at, &length) & (FLAG_WHITE | FLAG_LETTER | FLAG_NUMBER):
        at = run_without(BY_WORDS, FLAG_WHITE | FLAG_LETTER | FLAG_NUMBER, text, size, at)
        return run_of_newlines(text, size, at, rules & O200K_SLASHES)
    return white_chunk(BY_WORDS, True, text, size, pos)


cdef inline uint64_t absorb(uint64_t seeds, uint64_t runs) noexcept nogil:
    """The members of runs from the first seed of each run on."""
    cdef uint64_t found = 0, reached
    while seeds:
        reached = ht_reach(seeds & (0 - seeds), runs)
        found |= reached
        seeds &= ~reached & (seeds - 1)
    return found


cdef inline int64_t scan_o200k_rules(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts, next_fn next,
                                     int most, int rules) noexcept nogil:
    cdef int64_t i = 0, k = 0, count
    cdef int n, e, length
    cdef uint64_t word, upper, lower, caseless, mark, han, number, white, other, space, newline, slash, blank, quote
    cdef uint64_t absorbed, blank_starts, white_starts, single, before, begin, hard, closed, some, bit, behind, ahead
    cdef uint32_t flags
    # The character before the block; all 0 where a chunk is known to begin. after_closed: it is caseless, and behind it in
    # its word is a lower; after_open: it is caseless, and there is none.
    cdef uint64_t after_word = 0, after_lower = 0, after_closed = 0, after_open = 0
    cdef uint64_t after_han = 0, after_other = 0, after_single = 0, after_space = 0, after_blank = 0, keep
    cdef Block b
    cdef ht_stretches known
    known.known = 0
    while i < size:
        b = load_block(&words, text + i, size - i, &known)
        white = b.flag4
        number = b.flag2
        mark = b.flag8
        upper = b.flag16
        lower = b.flag32
        word = b.flag1 | mark
        han = 0
        hard = 0
        if rules & O200K_HAN and b.high:
            han = b.flag64
            hard = han & ~b.flag1
            word &= ~han
            mark &= ~han
        other = b.live & ~(word | han | number | white)
        space = ht_equal(text + i, c' ') & b.live
        newline = (ht_equal(text + i, c'\n') | ht_equal(text + i, c'\r')) & b.live
        slash = ht_equal(text + i, c'/') & b.live if rules & O200K_SLASHES else 0
        quote = ht_equal(text + i, c"'") & b.live if rules & O200K_CONTRACTIONS else 0
        n = <int>(size - i)
        ahead = 0
        if HT_LIKELY(size - i > 64):
            flags = flags_ahead(&words, text + i)
            # a slash behind newlines may go with them
            ahead = none_of(flags, FLAG_WHITE) if text[i + 64] != c'/' else 0
            n = 64
            if HT_UNLIKELY(((white & ~ahead) | slash | b.unfinished) >> 63):
                n = ht_trailing(white | slash | b.unfinished)
            if most > 1 and HT_UNLIKELY(((number & ~none_of(flags, FLAG_NUMBER)) | b.unfinished) >> 63):
                n = least(n, ht_trailing(number | b.unfinished))
            n = end_before_quotes(n, quote)

        # Marks behind others: with them unless a single one is before.
        some = mark & ~(mark << 1) & (other << 1 | after_other)
        while HT_UNLIKELY(some != 0):
            bit = some & (0 - some)
            some ^= bit
            if bit == 1:
                single = after_single
            else:
                # the first byte of the character before, and what is in front of that
                before = b.live & ~b.continuation & (bit - 1)
                before = <uint64_t>1 << (63 - ht_clz64(before))
                single = before & ~((other | space) << 1 | after_other | after_space)
            if not single:
                bit = ht_reach(bit, mark)
                other |= bit
                word &= ~bit

        absorbed = (other << 1 | after_other) & newline
        if HT_LIKELY(not (newline << 1) & slash):
            absorbed = ht_reach(absorbed, newline)
        else:
            absorbed = absorb(absorbed, newline | slash)
            other &= ~absorbed
            bit = (absorbed & slash) << 1
            hard |= mark & (bit | ht_paint(bit, b.continuation) << 1)
        blank = white & ~newline
        white_starts = white & ~absorbed & (~(white << 1) | absorbed << 1)
        blank_starts = blank & ~(blank << 1)
        begin = white_starts | ht_lead(blank & ((b.live & ~white) >> 1 | ahead), b.continuation)
        begin |= blank_starts & (newline << 1) & ~blank_lines(blank_starts, blank, newline, white_starts)
        single = other & ~(other << 1 | after_other) & ~(space << 1 | after_space)
        before = ht_paint(single, b.continuation)
        begin |= single | (word & ~((word | blank | before) << 1 | after_word | after_single | after_blank))
        begin |= han & ~(han << 1 | after_han)
        begin |= group_starts(number, b.high, b.continuation, most)

        begin |= upper & (lower << 1 | after_lower)
        closed = 0
        caseless = word & ~(upper | lower)
        if caseless or after_closed or after_open:
            closed = ht_reach(lower << 1 | after_lower | after_closed, caseless)
            begin |= upper & (closed << 1 | after_closed)
            some = upper & ((caseless & ~closed) << 1 | after_open)
            while HT_UNLIKELY(some != 0):
                bit = some & (0 - some)
                some ^= bit
                behind = ht_after(bit, upper)
                if size - i > 64 and (behind == 0 or behind & b.unfinished):
                    n = least(n, ht_ctz64(bit))         # the end of the uppers is not in sight
                elif not behind & (caseless | lower):
                    begin |= bit

        if HT_UNLIKELY(hard != 0):
            n = least(n, ht_ctz64(hard))
        keep = 1
        quote &= (word << 1 | after_word) & (word >> 1) & ht_low_bits(n)
        length = -1
        while HT_UNLIKELY(quote != 0):
            e = ht_ctz64(quote)
            quote &= quote - 1
            if e == length:
                continue        # right behind a contraction
            length = contraction(text, size, i + e, True)
            if length:
                begin &= ~(ht_low_bits(length) << e)
                length += e
                if length == n or (word >> length) & 1:
                    # What follows is read as from the beginning.
                    n = length
                    keep = 0
                    break
        if n:
            k += ht_starts(begin & ht_low_bits(n), base + <uint32_t>i, starts + k)
            i += n
            after_word = word >> (n - 1) & keep
            after_lower = lower >> (n - 1) & keep
            after_closed = closed >> (n - 1) & keep
            after_open = (caseless & ~closed) >> (n - 1) & keep
            after_han = han >> (n - 1) & keep
            after_other = other >> (n - 1) & keep
            after_single = before >> (n - 1) & keep
            after_space = space >> (n - 1) & keep
            after_blank = blank >> (n - 1) & keep
        if HT_UNLIKELY(n == 0 or (hard and keep and hard >> n & 1)):
            count = k
            i = go_on(next, text, size, base, starts, &count, i)
            k = count
            after_word = after_lower = after_closed = after_open = 0
            after_han = after_other = after_single = after_space = after_blank = 0
    return k


cdef int64_t next_o200k(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_o200k_rules(text, size, pos, 3, O200K_CONTRACTIONS | O200K_SLASHES)


cdef int64_t next_tekken(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_o200k_rules(text, size, pos, 1, O200K_SLASHES)


cdef int64_t next_kimi_k2(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    return next_o200k_rules(text, size, pos, 3, O200K_CONTRACTIONS | O200K_HAN)


cdef int64_t scan_o200k(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_o200k_rules(text, size, base, starts, next_o200k, 3, O200K_CONTRACTIONS | O200K_SLASHES)


cdef int64_t scan_tekken(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_o200k_rules(text, size, base, starts, next_tekken, 1, O200K_SLASHES)


cdef int64_t scan_kimi_k2(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    return scan_o200k_rules(text, size, base, starts, next_kimi_k2, 3, O200K_CONTRACTIONS | O200K_HAN)
