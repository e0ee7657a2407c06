# The Unicode tables seen from Python: for the tests, and for patterns whose classes are spelled out as ranges of code
# points. Text kernels cimport unicode.pxd and call the inline functions themselves.
#
# Rule: the classes and mappings of tokenizers as unicode_tables.h records them (pre_tokenizers/*, normalizers/*,
# utils/onig.rs). What a class is used for, and where the reference departs from it, is the caller's business; so are
# strings: normal forms are built from these tables in normalized.pyx.
import functools

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


cdef int fold_of(uint32_t cp) noexcept nogil:
    return <int>uc_onig_fold(cp)


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
    if name == "alphabetic":
        return <Property>uc_onig_alphabetic
    if name == "uppercase":
        return <Property>uc_onig_uppercase
    if name == "lowercase":
        return <Property>uc_onig_lowercase
    if name == "fold":
        return fold_of
    if name == "grapheme_class":
        return <Property>uc_grapheme_class
    if name == "ccc":
        return <Property>uc_ccc
    if name == "stable":
        return <Property>uc_stable
    raise ValueError(
        f"no table is named {name!r}: use props, category, space, word, word_in_class, han, alphabetic, uppercase, "
        "lowercase, fold, onig_script, script, script_fixed, grapheme_class, ccc or stable"
    )


def table(str name):
    """A whole table as an int32 array of shape (0x110000,), indexed by code point (surrogates included).

    `name` is one of props, category (index into CATEGORIES), space, word, word_in_class, han, alphabetic, uppercase,
    lowercase, fold, onig_script, script, script_fixed (indices into SCRIPTS), grapheme_class, ccc and stable: the
    functions uc_* and uc_onig_* of unicode.pxd. ValueError for other names.

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


def graphemes(str text):
    """The extended grapheme clusters of a text, as a list of strings.

    >>> graphemes("e\u0301a") == ["e\u0301", "a"]
    True
    """
    cdef uint32_t state = 0
    starts = [i for i, c in enumerate(text) if uc_grapheme_start(&state, ord(c))]
    return [text[i:j] for i, j in zip(starts, starts[1:] + [len(text)])]


# --------------------------------------------------------------------------- classes as they are written in a pattern

# Long names of the general categories, as Oniguruma compares names: in lower case, without "_", "-" and blanks.
LONG_CATEGORIES = {
    "letter": "L", "uppercaseletter": "Lu", "lowercaseletter": "Ll", "titlecaseletter": "Lt", "casedletter": "LC",
    "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M", "nonspacingmark": "Mn",
    "spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd", "letternumber": "Nl",
    "othernumber": "No", "punctuation": "P", "connectorpunctuation": "Pc", "dashpunctuation": "Pd",
    "openpunctuation": "Ps", "closepunctuation": "Pe", "initialpunctuation": "Pi", "finalpunctuation": "Pf",
    "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk",
    "othersymbol": "So", "separator": "Z", "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp",
    "other": "C", "control": "Cc", "format": "Cf", "surrogate": "Cs", "privateuse": "Co", "unassigned": "Cn",
}
OTHER_SPELLINGS = {"alpha": "alphabetic", "upper": "uppercase", "lower": "lowercase", "whitespace": "space"}


def in_categories(*names):
    numbers = [i for i, name in enumerate(CATEGORIES) if name in names or name[:1] in names]
    return numpy.isin(table("category"), numbers)


def ascii_only(characters):
    mask = numpy.zeros(CODE_POINTS, dtype=bool)
    mask[[ord(c) for c in characters]] = True
    return mask


def named_class(name, word):
    """The class of a name that is written the same in \\p{..} and in [[:..:]]; None where there is none."""
    if name in ("alphabetic", "uppercase", "lowercase", "space"):
        return table(name) != 0
    if name == "word":
        return table(word) != 0
    if name == "alnum":
        return (table("alphabetic") != 0) | in_categories("Nd")
    if name == "blank":
        return in_categories("Zs") | ascii_only("\t")
    if name == "cntrl":
        return in_categories("Cc")
    if name == "digit":
        return in_categories("Nd")
    if name == "graph":
        return ~in_categories("Cn", "Cc", "Cs", "Z")
    if name == "print":
        return ~in_categories("Cn", "Cc", "Cs", "Zl", "Zp")
    if name == "xdigit":
        return ascii_only("0123456789ABCDEFabcdef")
    if name == "ascii":
        return ascii_only(map(chr, range(128)))
    return None


def class_mask(str spelling):
    """The code points of a class of Oniguruma, as a bool array of shape (0x110000,).

    `spelling` is what stands in the pattern: \\w, [\\w] (which is another class), \\s, \\d, \\h, \\p{Name},
    [\\p{Name}], [[:name:]]. Names are general categories, scripts, the POSIX classes, Alphabetic, Uppercase, Lowercase,
    White_Space, Any and Assigned. ValueError for another spelling: Oniguruma has more names, and none is guessed.

    >>> bool(class_mask(r"\\p{Lu}")[ord("A")])
    True
    """
    cdef str name = spelling
    word = "word"
    found = None
    if name.startswith("[\\") and name.endswith("]"):
        name, word = name.removeprefix("[").removesuffix("]"), "word_in_class"
    if name in ("\\w", "\\s", "\\d", "\\h"):
        found = named_class({"w": "word", "s": "space", "d": "digit", "h": "xdigit"}[name[1]], word)
    elif name.startswith("[[:") and name.endswith(":]]"):
        name = name.removeprefix("[[:").removesuffix(":]]")
        if name == "punct":
            found = in_categories("P", "S")
        elif name in OTHER_SPELLINGS and name != "whitespace":
            found = named_class(OTHER_SPELLINGS[name], word)
        elif name not in ("alphabetic", "uppercase", "lowercase"):
            found = named_class(name, "word_in_class")
    elif name.startswith("\\p{") and name.endswith("}"):
        name = "".join([c for c in name.removeprefix("\\p{").removesuffix("}").lower() if c not in " _-"])
        category = LONG_CATEGORIES.get(name, name.capitalize())
        if name == "any":
            found = numpy.ones(CODE_POINTS, dtype=bool)
        elif name == "assigned":
            found = ~in_categories("Cn")
        elif name == "punct":
            found = in_categories("P")
        elif name == "lc" or category == "LC":
            found = in_categories("Lu", "Ll", "Lt")
        elif category in CATEGORIES or category in set("LMNPSZC"):
            found = in_categories(category)
        elif name in SCRIPT_NUMBERS:
            found = table("onig_script") == SCRIPT_NUMBERS[name]
        else:
            found = named_class(OTHER_SPELLINGS.get(name, name), word)
    if found is None:
        raise ValueError(f"{spelling!r} is not among the classes whose code points are known")
    return found


SCRIPT_NUMBERS = {name.replace("_", "").lower(): i for i, name in enumerate(SCRIPTS)}


@functools.cache
def class_ranges(str spelling):
    """The code points of a class as a tuple of (first, last), both included; `spelling` as for class_mask.

    >>> class_ranges(r"[[:xdigit:]]")
    ((48, 57), (65, 70), (97, 102))
    """
    edges = numpy.flatnonzero(numpy.diff(class_mask(spelling).astype(numpy.int8), prepend=0, append=0))
    return tuple([(int(first), int(end) - 1) for first, end in edges.reshape(-1, 2)])


def class_set(str spelling):
    """A class as ranges to stand between the brackets of another engine's set; `spelling` as for class_mask.

    >>> class_set(r"\\h")
    '\\\\U00000030-\\\\U00000039\\\\U00000041-\\\\U00000046\\\\U00000061-\\\\U00000066'
    """
    return "".join([f"\\U{first:08X}-\\U{last:08X}" for first, last in class_ranges(spelling)])


def folding_class(cp):
    """All characters that match a character under (?i) of Oniguruma, itself included, as a sorted list of ints.

    >>> [hex(c) for c in folding_class(ord("s"))]
    ['0x53', '0x73', '0x17f']
    """
    return folding_classes().get(uc_onig_fold(checked(cp)), [cp])


@functools.cache
def folding_classes():
    fold = table("fold")
    result = {}
    for cp in numpy.flatnonzero(fold != numpy.arange(CODE_POINTS)):
        result.setdefault(int(fold[cp]), [int(fold[cp])]).append(int(cp))
    return {representative: sorted(members) for representative, members in result.items()}
