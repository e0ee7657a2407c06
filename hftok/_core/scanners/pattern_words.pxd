# Where the next match of GPT-2's, cl100k's and o200k's patterns ends: see pattern_words.pyx.
#
# Text is valid UTF-8. Each function takes the place of a match's first byte and gives that of the byte after its last one; matches
# follow one another without gaps, for every character begins some alternative.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.text cimport utf8_decode

cdef extern from *:
    """
    #include "unicode_tables.h"
    enum { PW_OTHER, PW_SPACE, PW_NEWLINE, PW_NUMBER, PW_UPPER, PW_LOWER, PW_CASELESS, PW_MARK };

    #define PW_8(k) k, k, k, k, k, k, k, k
    static const uint8_t hftok_pw_ascii[128] = {
        PW_8(PW_OTHER), PW_OTHER, PW_SPACE, PW_NEWLINE, PW_SPACE, PW_SPACE, PW_NEWLINE, PW_OTHER, PW_OTHER,
        PW_8(PW_OTHER), PW_8(PW_OTHER),
        PW_SPACE, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_8(PW_OTHER),
        PW_8(PW_NUMBER), PW_NUMBER, PW_NUMBER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER,
        PW_OTHER, PW_UPPER, PW_UPPER, PW_UPPER, PW_UPPER, PW_UPPER, PW_UPPER, PW_UPPER, PW_8(PW_UPPER), PW_8(PW_UPPER),
        PW_UPPER, PW_UPPER, PW_UPPER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER,
        PW_OTHER, PW_LOWER, PW_LOWER, PW_LOWER, PW_LOWER, PW_LOWER, PW_LOWER, PW_LOWER, PW_8(PW_LOWER), PW_8(PW_LOWER),
        PW_LOWER, PW_LOWER, PW_LOWER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER, PW_OTHER,
    };
    /* Kind of a code point above ASCII. Bits 8 to 13 of the class: general category and white space, as Oniguruma has them. */
    static inline int hftok_pw_kind(uint32_t cp) {
        static const uint8_t kinds[64] = {
            [UC_GC_LU] = PW_UPPER, [UC_GC_LT] = PW_UPPER, [UC_GC_LL] = PW_LOWER, [UC_GC_LM] = PW_CASELESS,
            [UC_GC_LO] = PW_CASELESS, [UC_GC_MN] = PW_MARK, [UC_GC_MC] = PW_MARK, [UC_GC_ME] = PW_MARK,
            [UC_GC_ND] = PW_NUMBER, [UC_GC_NL] = PW_NUMBER, [UC_GC_NO] = PW_NUMBER,
            [32 + UC_GC_ZS] = PW_SPACE, [32 + UC_GC_ZL] = PW_SPACE, [32 + UC_GC_ZP] = PW_SPACE, [32 + UC_GC_CC] = PW_SPACE,
        };
        return kinds[(hftok_uc_class(cp) >> 8) & 63];
    }
    """
    enum:
        PW_OTHER                # neither space, letter, number nor mark
        PW_SPACE                # white space but \r and \n
        PW_NEWLINE              # \r, \n
        PW_NUMBER
        PW_UPPER                # letters: Lu and Lt, Ll, Lm and Lo
        PW_LOWER
        PW_CASELESS
        PW_MARK
    int pw_kind "hftok_pw_kind"(uint32_t cp) noexcept nogil
    const uint8_t *PW_ASCII "hftok_pw_ascii"

cdef enum Family:
    FAMILY_NONE = 0
    FAMILY_GPT2 = 1
    FAMILY_CL100K = 2
    FAMILY_O200K = 3

cdef enum Newlines:
    # What becomes of white space with a \r or \n in it.
    NEWLINES_NONE = 0           # nothing special
    NEWLINES_LAST = 1           # \s*[\r\n]+: cut after the last of them
    NEWLINES_LAST_BUT_TAIL = 2  # \s++$|\s*[\r\n]: unless the text ends with the white space

cdef struct PatternRule:
    int family
    int digits                  # most digits of a number; GPT-2: no limit
    int newlines

# The rule of a pattern, as Oniguruma reads it or, with `crate`, as the regex crates of Rust do; FAMILY_NONE if it is none.
cdef PatternRule rule_of(object pattern, bint crate) except *


cdef inline int kind_at(const uint8_t *t, int64_t i, int *length) noexcept nogil:
    cdef uint8_t b = t[i]
    if b < 0x80:
        length[0] = 1
        return PW_ASCII[b]
    if 0xE5 <= b <= 0xE9 or (b == 0xE4 and t[i + 1] >= 0xB8):
        length[0] = 3
        return PW_CASELESS           # U+4E00 to U+9FFF, ideographs all
    return pw_kind(utf8_decode(t + i, length))


cdef inline bint is_letter(int kind) noexcept nogil:
    return PW_UPPER <= kind <= PW_CASELESS


cdef inline int64_t letters_end(const uint8_t *t, int64_t i, int64_t end) noexcept nogil:
    cdef int length = 1
    while i < end and is_letter(kind_at(t, i, &length)):
        i += length
    return i


cdef inline int64_t numbers_end(const uint8_t *t, int64_t i, int64_t end, int most) noexcept nogil:
    cdef int length = 1
    while i < end and most and kind_at(t, i, &length) == PW_NUMBER:
        i += length
        most -= 1
    return i


cdef inline int64_t others_end(const uint8_t *t, int64_t i, int64_t end) noexcept nogil:
    """After [^\\s\\p{L}\\p{N}]*."""
    cdef int length = 1
    cdef int kind
    while i < end:
        kind = kind_at(t, i, &length)
        if kind != PW_OTHER and kind != PW_MARK:
            return i
        i += length
    return i


cdef inline int64_t blanks_end(const uint8_t *t, int64_t i, int64_t end, int newlines) noexcept nogil:
    """White space begins at i. By \\s+(?!\\S)|\\s+ its match is the whole run if that ends the text, else all but its last
    character, but at least one."""
    cdef int length = 1
    cdef int64_t start = i
    cdef int64_t last = i            # the run's last character
    cdef int64_t newline = -1
    cdef int kind
    while i < end:
        kind = kind_at(t, i, &length)
        if kind == PW_NEWLINE:
            newline = i + 1
        elif kind != PW_SPACE:
            break
        last = i
        i += length
    if newlines and newline >= 0 and not (newlines == NEWLINES_LAST_BUT_TAIL and i == end):
        return newline
    return i if i == end or last == start else last


cdef inline int64_t contraction_end(const uint8_t *t, int64_t i, int64_t end) noexcept nogil:
    """After (?i:'s|'t|'re|'ve|'m|'ll|'d) at i, or i itself. U+017F is a form of s."""
    cdef uint8_t a, b
    if i + 1 >= end or t[i] != c"'":
        return i
    a = t[i + 1] | 0x20
    if t[i + 1] < 0x80:
        if a == c's' or a == c't' or a == c'm' or a == c'd':
            return i + 2
        if i + 2 < end and t[i + 2] < 0x80:
            b = t[i + 2] | 0x20
            if (b == c'e' and (a == c'r' or a == c'v')) or (a == c'l' and b == c'l'):
                return i + 3
    elif t[i + 1] == 0xC5 and t[i + 2] == 0xBF:
        return i + 3
    return i


cdef inline int64_t gpt2_end(const uint8_t *t, int64_t i, int64_t end) noexcept nogil:
    """'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"""
    cdef int length = 1
    cdef int64_t start = i
    cdef int kind
    if t[i] == c"'" and i + 1 < end:
        if t[i + 1] == c's' or t[i + 1] == c't' or t[i + 1] == c'm' or t[i + 1] == c'd':
            return i + 2
        if i + 2 < end and (((t[i + 1] == c'r' or t[i + 1] == c'v') and t[i + 2] == c'e') or (t[i + 1] == c'l' and t[i + 2] == c'l')):
            return i + 3
    if t[i] == c' ' and i + 1 < end:
        i += 1
    kind = kind_at(t, i, &length)
    if is_letter(kind):
        return letters_end(t, i + length, end)
    if kind == PW_NUMBER:
        i += length
        while i < end and kind_at(t, i, &length) == PW_NUMBER:
            i += length
        return i
    if kind == PW_OTHER or kind == PW_MARK:
        return others_end(t, i + length, end)
    return blanks_end(t, start, end, NEWLINES_NONE)


cdef inline int64_t cl100k_end(const uint8_t *t, int64_t i, int64_t end, int digits, int newlines) noexcept nogil:
    """(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|..."""
    cdef int length = 1
    cdef int kind, next_kind, next_length
    cdef int64_t j = contraction_end(t, i, end)
    if j > i:
        return j
    kind = kind_at(t, i, &length)
    if is_letter(kind):
        return letters_end(t, i + length, end)
    if kind == PW_NUMBER:
        return numbers_end(t, i + length, end, digits - 1)
    next_kind = -1
    if kind != PW_NEWLINE and i + length < end:
        next_length = 1
        next_kind = kind_at(t, i + length, &next_length)
        if is_letter(next_kind):
            return letters_end(t, i + length + next_length, end)
    if kind == PW_OTHER or kind == PW_MARK or (t[i] == c' ' and (next_kind == PW_OTHER or next_kind == PW_MARK)):
        i = others_end(t, i + length, end)
        while i < end and (t[i] == c'\n' or t[i] == c'\r'):
            i += 1
        return i
    return blanks_end(t, i, end, newlines)


cdef inline int64_t o200k_end(const uint8_t *t, int64_t i, int64_t end, int digits, int newlines) noexcept nogil:
    """P?U*W+C?|P?U+W*C?|\\p{N}{1,digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+, where P is [^\\r\\n\\p{L}\\p{N}],
    U all letters but lowercase ones, and marks, W all letters but uppercase ones, and marks, C a contraction."""
    cdef int length = 1
    cdef int kind, first_kind, first_length
    cdef int64_t start = i
    cdef int64_t word = i            # where U* begins
    cdef int64_t flexible = -1       # after the last character of U* that is also in W
    first_kind = kind_at(t, i, &first_length)
    if first_kind == PW_NUMBER:
        return numbers_end(t, i + first_length, end, digits - 1)
    kind = first_kind
    if first_kind == PW_OTHER or first_kind == PW_SPACE or first_kind == PW_MARK:
        word = i + first_length
    i = word
    while i < end:
        kind = kind_at(t, i, &length)
        if kind != PW_UPPER and kind != PW_CASELESS and kind != PW_MARK:
            break
        i += length
        if kind != PW_UPPER:
            flexible = i
    if i < end and kind == PW_LOWER and first_kind != PW_NEWLINE:
        # W+ after all of U*.
        i += length
        while i < end:
            kind = kind_at(t, i, &length)
            if kind != PW_LOWER and kind != PW_CASELESS and kind != PW_MARK:
                break
            i += length
        return contraction_end(t, i, end)
    if first_kind != PW_NEWLINE:
        if flexible >= 0:
            return contraction_end(t, flexible, end)     # W+ takes what U* gives back
        if first_kind == PW_MARK:
            return contraction_end(t, word, end)         # not as a prefix but as W+
        if i > word:
            return contraction_end(t, i, end)            # uppercase letters only
    i = start
    if first_kind == PW_OTHER or (t[i] == c' ' and i + 1 < end and kind_at(t, i + 1, &length) == PW_OTHER):
        i = others_end(t, i + 1 if t[i] == c' ' else i, end)
        while i < end and (t[i] == c'\n' or t[i] == c'\r' or t[i] == c'/'):
            i += 1
        return i
    return blanks_end(t, i, end, newlines)


cdef inline int64_t match_end(const PatternRule *rule, const uint8_t *t, int64_t i, int64_t end) noexcept nogil:
    if rule.family == FAMILY_GPT2:
        return gpt2_end(t, i, end)
    if rule.family == FAMILY_CL100K:
        return cl100k_end(t, i, end, rule.digits, rule.newlines)
    return o200k_end(t, i, end, rule.digits, rule.newlines)
