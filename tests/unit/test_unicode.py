"""The Unicode tables against the reference, on every scalar value.

The header was made by asking the reference about characters kept apart; here the tables predict what the reference
gives for long texts of all characters, and the prediction is compared as a whole. Oniguruma's classes, normal forms
and grapheme clusters have a file each beside this one.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy
import pytest
import tokenizers
from tokenizers import NormalizedString, normalizers, pre_tokenizers

from hftok._core import unicode

SCALARS = numpy.concatenate([numpy.arange(0xD800), numpy.arange(0xE000, 0x110000)])
TEXT = "".join(map(chr, SCALARS))
PROPS = unicode.table("props")


def has(name: str) -> numpy.ndarray:
    """For each character of TEXT whether it has a property."""
    return PROPS[SCALARS] & unicode.PROPERTIES[name] != 0


def text_of(code_points: Iterable[int]) -> str:
    return "".join(map(chr, code_points))


def runs(keys: numpy.ndarray, alone: numpy.ndarray | None = None) -> list[tuple[int, int]]:
    """Spans of equal keys; positions that are `alone` never share one."""
    cuts = keys[1:] != keys[:-1]
    if alone is not None:
        cuts |= alone[1:] | alone[:-1]
    edges = [0, *(numpy.flatnonzero(cuts) + 1).tolist(), len(keys)]
    return list(itertools.pairwise(edges))


def spans(splitter: pre_tokenizers.PreTokenizer, text: str = TEXT) -> list[tuple[int, int]]:
    return [span for _, span in splitter.pre_tokenize_str(text)]


def test_the_tables_are_those_of_the_installed_reference() -> None:
    assert tokenizers.__version__ == unicode.REFERENCE_VERSION


def test_whitespace() -> None:
    space = has("whitespace")
    assert spans(pre_tokenizers.WhitespaceSplit()) == [run for run in runs(space) if not space[run[0]]]


def test_numeric() -> None:
    assert spans(pre_tokenizers.Digits(individual_digits=False)) == runs(has("numeric"))


def test_punctuation() -> None:
    punctuation = has("punctuation")
    assert spans(pre_tokenizers.Punctuation("isolated")) == runs(punctuation, punctuation)


def test_word_characters_of_the_regex_crate() -> None:
    space = has("whitespace")
    expected = [run for run in runs(has("word") * 2 + space) if not space[run[0]]]
    assert spans(pre_tokenizers.Whitespace()) == expected


def bert(**options: bool) -> Callable[[str], str]:
    off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**{**off, **options}).normalize_str


def test_control_characters() -> None:
    other, space = has("other"), has("whitespace")
    assert [bool(PROPS[c] & unicode.PROPERTIES["other"]) for c in (0, 9, 10, 13, 0xFFFD)] == [True] * 4 + [False]
    expected = []
    for c, drop, blank in zip(TEXT, other.tolist(), space.tolist(), strict=True):
        if c in "\t\n\r":
            expected.append(" ")
        elif c != "\ufffd" and not drop:
            expected.append(" " if blank else c)
    assert bert(clean_text=True)(TEXT) == "".join(expected)


def test_chinese_characters() -> None:
    expected = "".join(f" {c} " if chinese else c for c, chinese in zip(TEXT, has("chinese").tolist(), strict=True))
    assert bert(handle_chinese_chars=True)(TEXT) == expected


def test_nonspacing_marks() -> None:
    marks = set(text_of(SCALARS[has("mark_nonspacing")]))
    decomposed = normalizers.NFD().normalize_str(TEXT)
    assert bert(strip_accents=True)(TEXT) == "".join(c for c in decomposed if c not in marks)
    for c in marks:  # also those that strip_accents never sees, because they decompose
        assert set(unicode.decompose(ord(c))) <= marks


def test_combining_marks() -> None:
    marks = set(text_of(SCALARS[has("combining_mark")]))
    assert normalizers.StripAccents().normalize_str(TEXT) == "".join(c for c in TEXT if c not in marks)


def test_case() -> None:
    assert normalizers.Lowercase().normalize_str(TEXT) == "".join(map(unicode.lower, SCALARS.tolist()))
    string = NormalizedString(TEXT)
    string.uppercase()
    assert string.normalized == "".join(map(unicode.upper, SCALARS.tolist()))


# --------------------------------------------------------------------------------------------------- UnicodeScripts


def script_starts(scripts: Sequence[int]) -> list[int]:
    """Where the pre-tokenizer starts a piece (pre_tokenizers/unicode_scripts/pre_tokenizer.rs)."""
    result, last = [], None
    for i, script in enumerate(scripts):
        if script and script != last:
            result.append(i)
            last = script
    return result


def test_unicode_scripts() -> None:
    fixed = unicode.table("script_fixed")
    splitter = pre_tokenizers.UnicodeScripts()
    scripts = fixed[SCALARS]
    assert [start for start, _ in spans(splitter)] == script_starts(scripts.tolist())
    # Within a run that leaves open which characters have script Any. Those that have it start no piece, whatever
    # stands before; the others start one after a letter of another script.
    nothing = text_of(SCALARS[scripts == 0])
    assert spans(splitter, "a" + nothing) == spans(splitter, "\u4eac" + nothing) == [(0, len(nothing) + 1)]
    known = SCALARS[scripts != 0]
    for other in "a\u4eac":
        both = numpy.full(2 * len(known), fixed[ord(other)])
        both[1::2] = fixed[known]
        text = other + other.join(text_of(known))
        assert [start for start, _ in spans(splitter, text)] == script_starts(both.tolist())
    # One character of each run against one of each class.
    heads = [int(SCALARS[start]) for start, _ in runs(scripts)]
    for i in sorted(set(scripts.tolist()) - {0}):
        one = next(c for c in heads if fixed[c] == i)
        mixed = [c for head in heads for c in (one, head)]
        assert [start for start, _ in spans(splitter, text_of(mixed))] == script_starts(fixed[mixed].tolist())


def test_scripts_before_fixing() -> None:
    names = [unicode.SCRIPTS[i] for i in unicode.table("script")[[0x20, 0x30FC, 0x3044, 0x30B0, 0x4EAC, 0x61]]]
    assert names == ["Common", "Common", "Hiragana", "Katakana", "Han", "Latin"]
    raw, fixed = unicode.table("script"), unicode.table("script_fixed")
    han = unicode.SCRIPTS.index("Han")
    changed = [c for c in SCALARS[raw[SCALARS] != fixed[SCALARS]].tolist() if c not in (0x20, 0x30FC)]
    assert {unicode.SCRIPTS[raw[c]] for c in changed} == {"Hiragana", "Katakana"}
    assert set(fixed[changed].tolist()) == {han}


# ------------------------------------------------------------------------------------------------------- accessors


def test_surrogates_have_no_property() -> None:
    assert {unicode.category(c) for c in range(0xD800, 0xE000)} == {"Cs"}
    assert not PROPS[0xD800:0xE000].any()
    assert not unicode.table("script")[0xD800:0xE000].any()
    assert [unicode.lower(0xD800), unicode.decompose(0xDFFF)] == ["\ud800", "\udfff"]


@pytest.mark.parametrize("call", [unicode.props, unicode.category, unicode.lower, unicode.upper, unicode.decompose])
@pytest.mark.parametrize("cp", [-1, 0x110000, 1 << 40])
def test_a_number_that_is_no_code_point(call: Callable[[int], object], cp: int) -> None:
    with pytest.raises(ValueError, match="not a code point"):
        call(cp)


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="no table is named 'bidi'"):
        unicode.table("bidi")
