# The Unicode tables seen from Python: for the tests, and for patterns whose classes are spelled out as ranges of code
# points. Text kernels cimport unicode.pxd and call the inline functions themselves.
#
# Rule: the classes and mappings of tokenizers as unicode_tables.h records them (pre_tokenizers/*, normalizers/*,
# utils/onig.rs). What a class is used for, and where the reference departs from it, is the caller's business; so are
# strings: normal forms are built from these tables in normalized.pyx.
import numpy

CODE_POINTS = 0x110000
REFERENCE_VERSION = UC_REFERENCE_VERSION.decode()

SCRIPTS = tuple([uc_script_name(i).decode() for i in range(UC_SCRIPT_COUNT)])
CATEGORIES = tuple("Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co".split())
PROPERTIES = {
    "whitespace": UC_WHITESPACE,
    "numeric": UC_NUMERIC,
    "punctuation": UC_PUNCTUATION,
    "other": UC_OTHER,
    "mark_nonspacing": UC_MARK_NONSPACING,
    "combining_mark": UC_COMBINING_MARK,
    "word": UC_WORD,
    "chinese": UC_CHINESE,
}

ctypedef int (*Property)(uint32_t) noexcept nogil
ctypedef int (*Mapping)(uint32_t, uint32_t *) noexcept nogil


cdef int props_of(uint32_t cp) noexcept nogil:
    return <int>uc_props(cp)


cdef uint32_t checked(object cp) except? 0xFFFFFFFF:
    if not 0 <= cp < CODE_POINTS:
        raise ValueError(f"{cp} is not a code point: use a number from 0 to 0x10FFFF")
    return cp


cdef str mapped(Mapping mapping, object cp):
    cdef uint32_t out[18]
    cdef int i, n = mapping(checked(cp), out)
    return "".join([chr(out[i]) for i in range(n)])


def props(cp):
    """The classes of a code point, as an int with the bits of PROPERTIES.

    >>> props(0x20) & PROPERTIES["whitespace"] != 0
    True
    """
    return uc_props(checked(cp))


def category(cp):
    """General category of a code point as Oniguruma has it.

    >>> category(0x41)
    'Lu'
    """
    return CATEGORIES[uc_onig_category(checked(cp))]


def lower(cp):
    """Lower case of a code point (Rust's char::to_lowercase): one or two characters.

    >>> lower(0x130)
    'i̇'
    """
    return mapped(<Mapping>uc_lower, cp)


def upper(cp):
    """Upper case of a code point (Rust's char::to_uppercase): one to three characters.

    >>> upper(0xDF)
    'SS'
    """
    return mapped(<Mapping>uc_upper, cp)


def decompose(cp):
    """Full canonical decomposition of a code point; the character itself where there is none.

    >>> [hex(ord(c)) for c in decompose(0xE9)]
    ['0x65', '0x301']
    """
    return mapped(<Mapping>uc_decompose, cp)


def decompose_compat(cp):
    """Full compatibility decomposition of a code point; the character itself where there is none.

    >>> decompose_compat(0xFB01)
    'fi'
    """
    return mapped(<Mapping>uc_decompose_compat, cp)


def compose(a, b):
    """The primary composite of two code points as an int, 0 where there is none.

    >>> hex(compose(0x65, 0x301))
    '0xe9'
    """
    return uc_compose(checked(a), checked(b))


cdef Property property_named(str name) except NULL:
    if name == "props":
        return props_of
    if name == "category":
        return <Property>uc_onig_category
    if name == "space":
        return <Property>uc_onig_space
    if name == "word":
        return <Property>uc_onig_word
    if name == "word_in_class":
        return <Property>uc_onig_word_in_class
    if name == "han":
        return <Property>uc_onig_han
    if name == "onig_script":
        return <Property>uc_onig_script
    if name == "script":
        return <Property>uc_script
    if name == "script_fixed":
        return <Property>uc_script_fixed
    if name == "ccc":
        return <Property>uc_ccc
    if name == "stable":
        return <Property>uc_stable
    raise ValueError(
        f"no table is named {name!r}: use props, category, space, word, word_in_class, han, onig_script, script, "
        "script_fixed, ccc or stable"
    )


def table(str name):
    """A whole table as an int32 array of shape (0x110000,), indexed by code point (surrogates included).

    `name` is one of props, category (index into CATEGORIES), space, word, word_in_class, han, onig_script, script,
    script_fixed (indices into SCRIPTS), ccc and stable: the functions uc_* of unicode.pxd. ValueError for other names.

    >>> int(table("ccc")[0x301])
    230
    """
    cdef Property function = property_named(name)
    result = numpy.empty(CODE_POINTS, dtype=numpy.int32)
    cdef int[::1] values = result
    cdef uint32_t cp
    with nogil:
        for cp in range(0x110000):
            values[cp] = function(cp)
    return result
