# Unicode as the reference has it: classes and mappings of every code point, from unicode_tables.h, which
# tools/unicode_tables.py makes by probing the pinned reference on every code point. Several libraries of different
# Unicode versions meet in the reference; each class below names the one it stands for. All functions take any number;
# what is no scalar value has no property and maps to itself.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from hftok._core.text cimport utf8_decode

cdef extern from "unicode_tables.h" nogil:
    const char *UC_REFERENCE_VERSION
    # Bits of uc_props(cp).
    enum:
        UC_WHITESPACE       # Rust char::is_whitespace (White_Space), also regex \s
        UC_NUMERIC          # Rust char::is_numeric (Nd, Nl, No)
        UC_PUNCTUATION      # is_ascii_punctuation or unicode_categories is_punctuation (Bert and Punctuation
                            # pre-tokenizers)
        UC_OTHER            # unicode_categories is_other (BertNormalizer's control characters; \t \n \r NUL have it,
                            # U+FFFD has not: clean_text treats these five apart)
        UC_MARK_NONSPACING  # unicode_categories is_mark_nonspacing (BertNormalizer strip_accents, which decomposes
                            # first: a character that decomposes has the bit if all its parts have it)
        UC_COMBINING_MARK   # unicode_normalization_alignments is_combining_mark (StripAccents)
        UC_WORD             # \w of the regex crate (Whitespace pre-tokenizer, single_word added tokens)
        UC_CHINESE          # BertNormalizer's is_chinese_char
    uint32_t uc_props(uint32_t cp)
    # General category as Oniguruma's \p{..} sees it (patterns of Split and Replace): one of UC_GC_*. \p{L}, \p{M},
    # \p{N}, \p{P}, \p{S}, \p{Z}, \p{C} are the unions by first letter; \d is Nd.
    enum:
        UC_GC_CN, UC_GC_LU, UC_GC_LL, UC_GC_LT, UC_GC_LM, UC_GC_LO, UC_GC_MN, UC_GC_MC, UC_GC_ME, UC_GC_ND, UC_GC_NL
        UC_GC_NO
        UC_GC_PC, UC_GC_PD, UC_GC_PS, UC_GC_PE, UC_GC_PI, UC_GC_PF, UC_GC_PO, UC_GC_SM, UC_GC_SC, UC_GC_SK, UC_GC_SO
        UC_GC_ZS, UC_GC_ZL, UC_GC_ZP, UC_GC_CC, UC_GC_CF, UC_GC_CS, UC_GC_CO
    int uc_onig_category(uint32_t cp)
    int uc_onig_space(uint32_t cp)       # \s of Oniguruma
    int uc_onig_word(uint32_t cp)        # \w \W \b \B \p{Word} of Oniguruma, outside brackets
    int uc_onig_word_in_class(uint32_t cp)   # the same within [..], and [[:word:]]: without U+00B2 and its like (No)
    int uc_onig_han(uint32_t cp)         # \p{Han} of Oniguruma
    int uc_onig_script(uint32_t cp)      # \p{Script} of Oniguruma: one of UC_SCRIPT_*, UC_SCRIPT_UNKNOWN where none
    int uc_onig_alphabetic(uint32_t cp)  # \p{Alphabetic}, \p{Uppercase}, \p{Lowercase} of Oniguruma, also [[:alpha:]],
    int uc_onig_uppercase(uint32_t cp)   # [[:upper:]], [[:lower:]]
    int uc_onig_lowercase(uint32_t cp)
    uint32_t uc_onig_fold(uint32_t cp)   # (?i): characters match each other if this is equal (sequences, as ss for
                                         # U+00DF, are not in it)
    # Scripts: one enumeration for both tables, alphabetical; the ones that kernels need are named here.
    enum:
        UC_SCRIPT_ANY, UC_SCRIPT_UNKNOWN     # both 0
        UC_SCRIPT_COMMON, UC_SCRIPT_INHERITED, UC_SCRIPT_LATIN, UC_SCRIPT_HAN, UC_SCRIPT_HIRAGANA, UC_SCRIPT_KATAKANA
        UC_SCRIPT_COUNT
    const char *uc_script_name(int script)
    int uc_script(uint32_t cp)           # script of the UnicodeScripts pre-tokenizer (its own table, before fixing)
    int uc_script_fixed(uint32_t cp)     # ... after fixing: U+0020 is Any, U+30FC, Hiragana and Katakana are Han
    # Mappings: number of code points written to out (room for 3 in lower and upper, for 18 in decompositions).
    int uc_lower(uint32_t cp, uint32_t *out)
    int uc_upper(uint32_t cp, uint32_t *out)
    int uc_decompose(uint32_t cp, uint32_t *out)          # full canonical decomposition, Hangul included
    int uc_decompose_compat(uint32_t cp, uint32_t *out)   # full compatibility decomposition
    int uc_ccc(uint32_t cp)     # canonical combining class (what decomposes: that of the first of its parts)
    uint32_t uc_compose(uint32_t a, uint32_t b)           # primary composite of a b, Hangul included; 0 if none
    uint8_t uc_second "hftok_uc_second"(uint32_t cp)      # not 0: cp is the second part of a primary composite, Hangul not included
    # Bit 0: NFD leaves it alone, 1: NFKD, 2: NFC quick check yes, 3: NFKC quick check yes. Bits 0 and 1: copied
    # whatever stands around it. Bits 2 and 3: a text may be cut right before such a character and the pieces normalized
    # apart; a run of them is its own normal form, but for the last one if one without the bit follows (it may compose
    # with that one). The header states the rule in full.
    int uc_stable(uint32_t cp)
    # Extended grapheme clusters (crate unicode-segmentation, Precompiled normalizer). uc_grapheme_start tells whether a
    # cluster starts at cp: called for one character after the other, with *state 0 before the first. Controls always
    # start one, and so does any character after them.
    enum:
        UC_GB_OTHER, UC_GB_CR, UC_GB_LF, UC_GB_CONTROL, UC_GB_EXTEND, UC_GB_CONJUNCT_EXTEND, UC_GB_LINKER, UC_GB_ZWJ
        UC_GB_REGIONAL_INDICATOR, UC_GB_PREPEND, UC_GB_SPACING_MARK, UC_GB_L, UC_GB_V, UC_GB_T, UC_GB_LV, UC_GB_LVT
        UC_GB_PICTOGRAPHIC, UC_GB_CONSONANT
    int uc_grapheme_class(uint32_t cp)
    int uc_grapheme_start(uint32_t *state, uint32_t cp)


cdef inline bint all_stable(const uint8_t *text, int64_t size, int32_t bit) noexcept nogil:
    """Whether no character of UTF-8 text changes in a normal form, nor takes part in a change. bit: of uc_stable."""
    cdef int64_t i = 0
    cdef int length
    cdef uint64_t eight
    cdef uint32_t cp
    while i < size:
        if i + 8 <= size:
            memcpy(&eight, text + i, 8)
            if not eight & <uint64_t>0x8080808080808080:
                i += 8
                continue
        if text[i] < 128:
            i += 1
            continue
        cp = utf8_decode(text + i, &length)
        # Ideographs have no place in any normal form's tables.
        if not 0x4E00 <= cp <= 0x9FA5 and not uc_stable(cp) & bit:
            return False
        i += length
    return True
