# The classes of characters that the families' patterns speak of, as flags, and the tables that blocks are classified with.
#
# Three alphabets of eight flags: `words` (gpt2, cl100k, o200k and kin), `splits` (families of several splits: digits,
# Falcon, DeepSeek V3) and `lists` (BLOOM, DeepSeek Coder). Letters, marks, numbers, punctuation, symbols and white space are
# Oniguruma's (patterns of Split, and ByteLevel's: utils/onig.rs); FLAG_NUMERIC is char::is_numeric (pre_tokenizers/
# digits.rs) and FLAG_PUNCTUATION the test of pre_tokenizers/punctuation.rs, of other Unicode versions than Oniguruma.
#
# The scalar truth asks `words_flags`, `splits_flags`, `lists_flags` (unicode.pxd) about each code point; the leaves that
# blocks use are filled from the same functions when the module is imported. What is not here: anything about order.
from hftok._core.text cimport utf8_decode, utf8_len
from hftok._core.unicode cimport (
    UC_GC_LL, UC_GC_LO, UC_GC_LT, UC_GC_LU, UC_GC_MC, UC_GC_ME, UC_GC_MN, UC_GC_ND, UC_GC_NO, UC_GC_PC, UC_GC_PO, UC_GC_SM,
    UC_GC_SO, UC_NUMERIC, UC_PUNCTUATION, uc_onig_category, uc_onig_han, uc_onig_space, uc_props,
)

cdef extern from "unicode_tables.h" nogil:
    # By cp >> 7: code points with one block and equal lower bits have equal uc_props, uc_onig_category, uc_onig_space and
    # uc_onig_han.
    const uint16_t *uc_class_block "hftok_uc_class_1"

cdef extern from "classes.h" nogil:
    ctypedef struct ht_alphabet:
        const uint16_t *page
        const uint8_t *leaf
        uint8_t column[8][16]
    ctypedef struct ht_flags:
        uint64_t flag1, flag2, flag4, flag8, flag16, flag32, flag64, flag128
    int ht_ctz64(uint64_t x)
    int ht_clz64(uint64_t x)
    uint64_t ht_low_bits(int n)
    uint64_t ht_reach(uint64_t seeds, uint64_t runs)
    uint64_t ht_after(uint64_t seeds, uint64_t runs)
    uint64_t ht_paint(uint64_t leads, uint64_t continuation)
    uint64_t ht_lead(uint64_t last, uint64_t continuation)
    int ht_trailing(uint64_t runs)
    uint64_t ht_unfinished(const uint8_t *p, uint64_t continuation)
    uint64_t ht_equal(const uint8_t *p, uint8_t b)
    uint64_t ht_high(const uint8_t *p)
    uint64_t ht_continuation(const uint8_t *p)
    void ht_ascii_flags(const ht_alphabet *a, const uint8_t *p, ht_flags *f)
    ctypedef struct ht_stretches:
        int known            # 0: nothing is
    void ht_all_flags(const ht_alphabet *a, const uint8_t *p, uint64_t wanted, ht_stretches *s, ht_flags *f)
    int ht_starts(uint64_t mask, uint32_t base, uint32_t *dst)
    bint HT_LIKELY(bint x)
    bint HT_UNLIKELY(bint x)

cdef enum:
    # in all alphabets
    FLAG_LETTER = 1         # \p{L}
    FLAG_WHITE = 4          # \s
    # words and splits
    FLAG_NUMBER = 2         # \p{N}
    FLAG_MARK = 8           # \p{M}
    FLAG_VISIBLE = 128      # [\p{P}\p{S}]
    # words
    FLAG_UPPER = 16         # [\p{Lu}\p{Lt}]
    FLAG_LOWER = 32         # \p{Ll}
    FLAG_HAN = 64           # \p{Han}
    # splits and lists
    FLAG_NUMERIC = 16       # is_numeric
    # splits
    FLAG_PUNCTUATION = 32   # is_punctuation
    FLAG_CJK = 64           # [一-龥぀-ゟ゠-ヿ]
    # lists
    FLAG_ONIG_PUNCTUATION = 2   # \p{P}
    FLAG_EAST = 8           # [一-龥ࠀ-一가-퟿]
    FLAG_LISTED = 32        # [(\s|[.,!?…。，、।۔،])]
    FLAG_NEWLINE = 64       # [\r\n]

    FLAG_UNKNOWN = 256      # of the character behind a block, if it is not ASCII

    MAX_LEAVES = 768
    MAX_CLASSES = 1024
    PAGES = 0x110000 >> 6


cdef inline uint32_t common_flags(uint32_t cp, int category) noexcept nogil:
    cdef uint32_t flags = FLAG_WHITE if uc_onig_space(cp) else 0
    if UC_GC_LU <= category <= UC_GC_LO:
        flags |= FLAG_LETTER
    return flags


cdef inline uint32_t words_flags(uint32_t cp) noexcept nogil:
    cdef int category = uc_onig_category(cp)
    return words_flags_of(cp, category, common_flags(cp, category))


cdef inline uint32_t words_flags_of(uint32_t cp, int category, uint32_t flags) noexcept nogil:
    """`flags`: those of common_flags."""
    if category == UC_GC_LU or category == UC_GC_LT:
        flags |= FLAG_UPPER
    elif category == UC_GC_LL:
        flags |= FLAG_LOWER
    elif UC_GC_MN <= category <= UC_GC_ME:
        flags |= FLAG_MARK
    elif UC_GC_ND <= category <= UC_GC_NO:
        flags |= FLAG_NUMBER
    elif UC_GC_PC <= category <= UC_GC_SO:
        flags |= FLAG_VISIBLE
    if uc_onig_han(cp):
        flags |= FLAG_HAN
    return flags


cdef inline uint32_t splits_flags(uint32_t cp) noexcept nogil:
    cdef int category = uc_onig_category(cp)
    return splits_flags_of(cp, category, uc_props(cp), common_flags(cp, category))


cdef inline uint32_t splits_flags_of(uint32_t cp, int category, uint32_t props, uint32_t flags) noexcept nogil:
    if UC_GC_MN <= category <= UC_GC_ME:
        flags |= FLAG_MARK
    elif UC_GC_ND <= category <= UC_GC_NO:
        flags |= FLAG_NUMBER
    elif UC_GC_PC <= category <= UC_GC_SO:
        flags |= FLAG_VISIBLE
    if props & UC_NUMERIC:
        flags |= FLAG_NUMERIC
    if props & UC_PUNCTUATION:
        flags |= FLAG_PUNCTUATION
    if 0x4E00 <= cp <= 0x9FA5 or 0x3040 <= cp <= 0x30FF:
        flags |= FLAG_CJK
    return flags


cdef inline uint32_t lists_flags(uint32_t cp) noexcept nogil:
    cdef int category = uc_onig_category(cp)
    return lists_flags_of(cp, category, uc_props(cp), common_flags(cp, category))


cdef inline uint32_t lists_flags_of(uint32_t cp, int category, uint32_t props, uint32_t flags) noexcept nogil:
    if UC_GC_PC <= category <= UC_GC_PO:
        flags |= FLAG_ONIG_PUNCTUATION
    if props & UC_NUMERIC:
        flags |= FLAG_NUMERIC
    if 0x0800 <= cp <= 0x9FA5 or 0xAC00 <= cp <= 0xD7FF:
        flags |= FLAG_EAST
    if (flags & FLAG_WHITE or cp == c'(' or cp == c'|' or cp == c')' or cp == c'.' or cp == c',' or cp == c'!' or cp == c'?'
            or cp == 0x060C or cp == 0x06D4 or cp == 0x0964 or cp == 0x2026 or cp == 0x3001 or cp == 0x3002 or cp == 0xFF0C):
        flags |= FLAG_LISTED
    if cp == c'\n' or cp == c'\r':
        flags |= FLAG_NEWLINE
    return flags


cdef uint16_t _pages[PAGES]
cdef uint8_t _leaves[3][MAX_LEAVES * 64]
cdef ht_alphabet words
cdef ht_alphabet splits
cdef ht_alphabet lists


cdef uint64_t leaf_sum(int64_t leaf) noexcept nogil:
    """A number that two different leaves rarely have in common."""
    cdef uint64_t sum = 0, word
    cdef int k, i
    for k in range(3):
        for i in range(8):
            memcpy(&word, &_leaves[k][64 * leaf + 8 * i], 8)
            sum = (sum ^ word) * <uint64_t>0x9E3779B97F4A7C15
            sum ^= sum >> 29
    return sum


cdef inline int zone_of(int64_t page) noexcept nogil:
    """Pages of one zone have the same flags wherever they have the same classes; -1: a page like no other, as it holds a
    code point that some flag names."""
    if page < 0x80 >> 6 or page == 0x9F80 >> 6 or (page == 0x060C >> 6 or page == 0x06D4 >> 6 or page == 0x0964 >> 6
                                                   or page == 0x2026 >> 6 or page == 0x3001 >> 6 or page == 0xFF0C >> 6):
        return -1
    if 0x3040 >> 6 <= page < 0x3100 >> 6 or 0x4E00 >> 6 <= page < 0x9F80 >> 6:
        return 2    # FLAG_CJK and FLAG_EAST
    return 1 if 0x0800 >> 6 <= page < 0x9F80 >> 6 or 0xAC00 >> 6 <= page < 0xD800 >> 6 else 0


cdef int fill_tables() except -1:
    """Fill the tables; called once, at import."""
    cdef ht_alphabet **alphabets = [&words, &splits, &lists]
    cdef int64_t page, i, n = 0, found
    cdef int k, b, zone, half, category
    cdef uint32_t cp, props, flags
    cdef uint64_t[MAX_LEAVES] sums
    cdef uint16_t[3][MAX_CLASSES] known     # the leaf of a zone's pages with these classes, and 1
    memset(known, 0, sizeof(known))
    for page in range(PAGES):
        # The unassigned middle of the code space is one leaf.
        if 0x40000 >> 6 < page < 0xE0000 >> 6:
            _pages[page] = _pages[page - 1]
            continue
        zone, half = zone_of(page), 2 * uc_class_block[page >> 1] + (page & 1)  # classes are kept by 128
        if half >= MAX_CLASSES:
            zone = -1
        if zone >= 0 and known[zone][half]:
            _pages[page] = known[zone][half] - 1
            continue
        if n == MAX_LEAVES:
            raise ImportError("the scanners' class tables are too small: raise MAX_LEAVES")
        for i in range(64):
            cp = <uint32_t>(64 * page + i)
            category, props = uc_onig_category(cp), uc_props(cp)
            flags = common_flags(cp, category)
            _leaves[0][64 * n + i] = <uint8_t>words_flags_of(cp, category, flags)
            _leaves[1][64 * n + i] = <uint8_t>splits_flags_of(cp, category, props, flags)
            _leaves[2][64 * n + i] = <uint8_t>lists_flags_of(cp, category, props, flags)
        # Equal leaves mostly follow each other: looked for from the last one. The two of ASCII stay apart.
        sums[n] = leaf_sum(n)
        found = n - 1
        while found >= 2 and (sums[found] != sums[n]
                              or memcmp(&_leaves[0][64 * found], &_leaves[0][64 * n], 64)
                              or memcmp(&_leaves[1][64 * found], &_leaves[1][64 * n], 64)
                              or memcmp(&_leaves[2][64 * found], &_leaves[2][64 * n], 64)):
            found -= 1
        if found < 2:
            found = n
            n += 1
        _pages[page] = <uint16_t>found
        if zone >= 0:
            known[zone][half] = <uint16_t>(found + 1)
    for k in range(3):
        alphabets[k].page = _pages
        alphabets[k].leaf = _leaves[k]
        for b in range(8):
            memset(alphabets[k].column[b], 0, 16)
            for i in range(128):
                alphabets[k].column[b][i & 15] |= <uint8_t>(((_leaves[k][i] >> b) & 1) << (i >> 4))
    return 0


fill_tables()


# ---------------------------------------------------------------------- blocks

cdef struct Block:
    # Masks of up to 64 bytes, painted on all bytes of a character; only bits of `live` can be set.
    uint64_t live               # bytes of the text
    uint64_t high               # bytes >= 0x80
    uint64_t continuation       # bytes of a character but for its first
    uint64_t unfinished         # bytes of a character that goes on behind the block: in no class
    uint64_t flag1, flag2, flag4, flag8, flag16, flag32, flag64, flag128


cdef inline Block load_block(const ht_alphabet *alphabet, const uint8_t *p, int64_t room, ht_stretches *known) noexcept nogil:
    """The block at p, where a character begins and `room` bytes of text are left. `known` is of the blocks before it, and this alphabet."""
    cdef Block b
    cdef ht_flags f
    b.live = ht_low_bits(64 if room > 64 else <int>room)
    b.high = ht_high(p) & b.live
    b.continuation = 0
    b.unfinished = 0
    if HT_UNLIKELY(b.high != 0):
        b.continuation = ht_continuation(p) & b.live
        if room > 64:
            b.unfinished = ht_unfinished(p, b.continuation)
        ht_all_flags(alphabet, p, b.high & ~b.unfinished, known, &f)
    else:
        ht_ascii_flags(alphabet, p, &f)
    b.flag1 = f.flag1 & b.live
    b.flag2 = f.flag2 & b.live
    b.flag4 = f.flag4 & b.live
    b.flag8 = f.flag8 & b.live
    b.flag16 = f.flag16 & b.live
    b.flag32 = f.flag32 & b.live
    b.flag64 = f.flag64 & b.live
    b.flag128 = f.flag128 & b.live
    return b


cdef inline int least(int a, int b) noexcept nogil:
    return a if a < b else b


cdef inline uint32_t flags_ahead(const ht_alphabet *alphabet, const uint8_t *p) noexcept nogil:
    """The flags of the character behind the block at p. Blocks should nearly always be whole: where the next one begins is then
    foreseen, and need not wait for the masks of this one."""
    return <uint32_t>alphabet.leaf[p[64]] if p[64] < 0x80 else <uint32_t>FLAG_UNKNOWN


cdef inline uint64_t none_of(uint32_t flags, uint32_t which) noexcept nogil:
    """Bit 63 if the character behind the block is known to have none of the flags."""
    return 0 if flags & (which | FLAG_UNKNOWN) else <uint64_t>1 << 63


cdef inline int end_before_quotes(int n, uint64_t quote) noexcept nogil:
    """n, or the place of an apostrophe among the block's last three bytes: what it takes along would not be in sight."""
    return least(n, 61 + ht_ctz64(quote >> 61)) if quote >> 61 else n


cdef inline uint64_t group_starts(uint64_t number, uint64_t high, uint64_t continuation, int most) noexcept nogil:
    """Where the groups of \\p{N}{1,most} begin in the runs of numbers, none of which goes on from before the block."""
    cdef uint64_t starts = number & ~(number << 1), more, rest
    cdef int n, i
    if most == 1:
        return number & ~continuation
    if HT_LIKELY(not number & high):
        more = number & (number << 1) & (number << 2)
        if most == 3:
            more &= number << 3
        rest = starts
        while more:
            rest = (rest << most) & more
            if not rest:
                break
            starts |= rest
        return starts
    more = starts
    rest = number & ~continuation
    n = 0
    while rest:
        i = ht_ctz64(rest)
        rest &= rest - 1
        if n == most or (more >> i) & 1:
            starts |= <uint64_t>1 << i
            n = 0
        n += 1
    return starts


cdef inline uint64_t blank_lines(uint64_t blank_starts, uint64_t blank, uint64_t newline, uint64_t others) noexcept nogil:
    """Those of `blank_starts`, the beginnings of runs of blanks, that begin no chunk although a newline is before: because one
    comes behind them as well, and nothing else (`others`) begins a chunk there."""
    cdef uint64_t behind = ht_after(blank_starts, blank) & newline, found = 0
    cdef int i
    while HT_UNLIKELY(behind != 0):
        i = ht_ctz64(behind)
        behind &= behind - 1
        found |= <uint64_t>1 << (63 - ht_clz64(blank_starts & ht_low_bits(i)))
    return found & ~others


ctypedef int64_t (*next_fn)(const uint8_t *text, int64_t size, int64_t pos) noexcept nogil


cdef int64_t go_on(next_fn next, const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts, int64_t *count,
                   int64_t i) noexcept nogil:
    """By the plain rules from the last boundary before i to one that is well behind i, where a character begins and the blocks
    may begin again. All before that are written, and it is returned; or the size of the text."""
    cdef int64_t k = count[0], at
    if k == 0:
        starts[0] = base
        k = 1
    at = starts[k - 1] - base
    while True:
        at = next(text, size, at)
        if at >= size or (at >= i + 48 and text[at] & 0xC0 != 0x80):
            break
        starts[k] = base + <uint32_t>at
        k += 1
    count[0] = k
    return at


# ---------------------------------------------------------------------- for the scalar truth

cdef enum:
    # Whose classes a scalar function goes by. FLAG_END marks characters that end the text that a pattern sees, since an
    # earlier step has cut them out.
    BY_WORDS = 0
    BY_DIGITS = 1           # behind Digits: numeric characters are FLAG_END
    BY_NUMBERS_CJK = 2      # behind the first two splits of DeepSeek V3: numbers and CJK are FLAG_END
    BY_PUNCTUATION = 3      # behind Punctuation: it is FLAG_END
    BY_SPLITS = 4           # no FLAG_END
    BY_CJK = 5              # in a piece that the second split of DeepSeek V3 makes: all but CJK is FLAG_END
    FLAG_END = 256


cdef inline uint32_t class_at(int by, const uint8_t *p, int *length) noexcept nogil:
    cdef uint32_t cp = utf8_decode(p, length), flags
    if by == BY_WORDS:
        return words_flags(cp)
    flags = splits_flags(cp)
    if by == BY_SPLITS:
        return flags
    if by == BY_CJK:
        return flags if flags & FLAG_CJK and not flags & FLAG_NUMBER else FLAG_END
    if flags & (FLAG_NUMERIC if by == BY_DIGITS else FLAG_NUMBER | FLAG_CJK if by == BY_NUMBERS_CJK else FLAG_PUNCTUATION):
        return FLAG_END
    return flags


cdef inline int64_t run_of(int by, uint32_t flags, const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    """Where the run of characters with one of the flags ends that may begin at pos."""
    cdef int length
    while pos < size and class_at(by, text + pos, &length) & flags:
        pos += length
    return pos


cdef inline int64_t run_without(int by, uint32_t flags, const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    """Where the run of characters without any of the flags ends that may begin at pos."""
    cdef int length
    while pos < size and not class_at(by, text + pos, &length) & (flags | FLAG_END):
        pos += length
    return pos


cdef inline int64_t run_of_newlines(const uint8_t *text, int64_t size, int64_t pos, bint slashes) noexcept nogil:
    """Where the run [\r\n]* (or [\r\n/]*) at pos ends."""
    while pos < size and (text[pos] == c'\n' or text[pos] == c'\r' or (slashes and text[pos] == c'/')):
        pos += 1
    return pos


cdef inline int64_t number_chunk(int by, int most, const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    """The end of \p{N}{1,most} at pos; `most` 0: without limit."""
    cdef int length, n = 0
    while pos < size and (most == 0 or n < most) and class_at(by, text + pos, &length) & FLAG_NUMBER:
        pos += length
        n += 1
    return pos


cdef inline int64_t white_chunk(int by, bint lines, const uint8_t *text, int64_t size, int64_t pos) noexcept nogil:
    """The end of \s+(?!\S)|\s+ at pos, which is white: the run but for its last character, unless the text ends there;
    `lines`: with \s*[\r\n]+ before these two, the run up to its last newline, if it has one."""
    cdef int64_t at = pos, last = pos, newline = -1
    cdef int length
    cdef uint32_t flags = 0
    while at < size:
        flags = class_at(by, text + at, &length)
        if not flags & FLAG_WHITE:
            break
        last = at
        if text[at] == c'\n' or text[at] == c'\r':
            newline = at + 1
        at += length
    if lines and newline >= 0:
        return newline
    return at if at == size or flags & FLAG_END or last == pos else last


cdef inline int contraction(const uint8_t *text, int64_t size, int64_t pos, bint fold) noexcept nogil:
    """The length of 's|'t|'re|'ve|'m|'ll|'d at pos, or 0; `fold`: under (?i), where U+017F is an s too."""
    cdef uint8_t a, b
    if text[pos] != c"'" or pos + 1 >= size:
        return 0
    a = text[pos + 1]
    b = text[pos + 2] if pos + 2 < size else 0
    if fold:
        if a == 0xC5 and b == 0xBF:
            return 3
        a |= 0x20
        b |= 0x20
    if a == c's' or a == c't' or a == c'm' or a == c'd':
        return 2
    if (a == c'l' and b == c'l') or ((a == c'r' or a == c'v') and b == c'e'):
        return 3
    return 0
