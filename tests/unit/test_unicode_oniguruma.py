"""Oniguruma's classes (patterns of Split and Replace) against the reference, on every scalar value."""

import random
from collections.abc import Iterable

import numpy
import pytest
import regex
from tokenizers import Regex, pre_tokenizers

from hftok._core import unicode

SCALARS = numpy.concatenate([numpy.arange(0xD800), numpy.arange(0xE000, 0x110000)])
TEXT = "".join(map(chr, SCALARS))
CATEGORY = unicode.table("category")


def text_of(code_points: Iterable[int]) -> str:
    return "".join(map(chr, code_points))


def matches(pattern: str, text: str) -> str:
    """The characters of `text` that the pattern of one character matches."""
    splitter = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return "".join(piece for piece, _ in splitter.pre_tokenize_str(text))


def check_class(pattern: str, members: numpy.ndarray) -> None:
    """The pattern matches exactly the scalar values of a mask over code points."""
    assert matches(pattern, TEXT) == text_of(SCALARS[members[SCALARS] != 0])


def test_categories() -> None:
    blocks = {name: text_of(SCALARS[CATEGORY[SCALARS] == i]) for i, name in enumerate(unicode.CATEGORIES)}
    assert blocks["Cs"] == ""
    for name, block in blocks.items():  # each has all that the table gives it ...
        assert not block or matches(rf"\p{{{name}}}", block) == block, name
    # ... and no character is in two: not one is in the union of a category's intersections with those before it.
    names = [rf"\p{{{name}}}" for name in blocks]
    twice = "".join(f"[{name}&&[{''.join(names[:i])}]]" for i, name in enumerate(names) if i)
    assert matches(f"[{twice}]", TEXT) == ""
    assert matches(f"[{twice}\\p{{Lu}}]", blocks["Ll"] + blocks["Lu"]) == blocks["Lu"]


def test_unions_of_categories() -> None:
    text = text_of(SCALARS[~numpy.isin(CATEGORY[SCALARS], [unicode.CATEGORIES.index(name) for name in ("Cn", "Co")])])
    for letter in "LMNPSZC":
        expected = [c for c in text if unicode.category(ord(c))[0] == letter]
        assert matches(rf"\p{{{letter}}}", text) == "".join(expected)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (r"\s", "space"),
        (r"\w", "word"),
        (r"[\w]", "word_in_class"),
        (r"\p{Han}", "han"),
        (r"\p{Alphabetic}", "alphabetic"),
        (r"\p{Uppercase}", "uppercase"),
        (r"\p{Lowercase}", "lowercase"),
    ],
)
def test_oniguruma_classes(pattern: str, name: str) -> None:
    check_class(pattern, unicode.table(name))


def test_oniguruma_digits() -> None:
    check_class(r"\d", numpy.equal(CATEGORY, unicode.CATEGORIES.index("Nd")))


NAMES = (
    r"\w [\w] \s [\s] \d [\d] \h [\h] \p{L} \p{LC} \p{Letter} \p{upper-case_Letter} \p{Sc} \p{Currency_Symbol} \p{C} "
    r"\p{Other} \p{Unassigned} \p{Private_Use} \p{Combining_Mark} \p{Mark} \p{Word} [\p{Word}] \p{Punct} [\p{Punct}] "
    r"\p{Punctuation} \p{Alnum} \p{Alpha} \p{Blank} \p{Cntrl} \p{Digit} \p{Graph} \p{Lower} \p{Print} \p{Space} "
    r"\p{Upper} \p{XDigit} \p{ASCII} \p{Any} \p{Assigned} \p{White_Space} \p{han} \p{Hiragana} \p{Old_Italic} "
    r"\p{olditalic} \p{Common} \p{Unknown} [[:alnum:]] [[:alpha:]] [[:blank:]] [[:cntrl:]] [[:digit:]] [[:graph:]] "
    r"[[:lower:]] [[:print:]] [[:punct:]] [[:space:]] [[:upper:]] [[:xdigit:]] [[:word:]] [[:ascii:]]"
)


@pytest.mark.parametrize("spelling", NAMES.split())
def test_classes_by_their_spelling(spelling: str) -> None:
    some = numpy.concatenate([SCALARS[:0x800], SCALARS[0x800::17]])
    mask = unicode.class_mask(spelling)
    assert matches(spelling, text_of(some)) == text_of(some[mask[some]])
    ranges = unicode.class_ranges(spelling)
    assert sum(last - first + 1 for first, last in ranges) == mask.sum()
    assert all(mask[first : last + 1].all() for first, last in ranges)
    few = text_of(some[:: max(1, len(some) // 3000)])
    assert "".join(regex.findall(f"[{unicode.class_set(spelling)}]", few)) == matches(spelling, few)


@pytest.mark.parametrize(
    "spelling", [r"\p{Emoji}", r"\p{}", r"\p{Lx}", r"\pL", "[[:PUNCT:]]", "[[:alphabetic:]]", "w", ""]
)
def test_a_class_that_is_not_known(spelling: str) -> None:
    with pytest.raises(ValueError, match="not among the classes"):
        unicode.class_mask(spelling)


def test_case_folding() -> None:
    fold = unicode.table("fold")
    changed = SCALARS[fold[SCALARS] != SCALARS]
    classes = {tuple(unicode.folding_class(c)) for c in changed.tolist()}
    members = [c for one in classes for c in one]
    assert len(members) == len(set(members)) > 2900
    text = "|".join(map(chr, members))
    draw = random.Random(5)
    for one in sorted(classes):
        assert all(unicode.folding_class(c) == list(one) for c in one)
        assert sorted(map(ord, matches(rf"(?i:\x{{{draw.choice(one):x}}})", text))) == list(one)
    # No character outside matches one of these, or another one that (by Oniguruma's property) has a case.
    every = "".join(rf"\x{{{c:x}}}" for c in members)
    assert matches(f"(?i:[{every}])", TEXT) == text_of(sorted(members))
    rest = text_of(set(map(ord, matches(r"[\p{Cased}\p{Changes_When_Casemapped}]", TEXT))) - set(members))
    for c in rest:
        assert unicode.folding_class(ord(c)) == [ord(c)]
    for i in range(0, len(rest), 200):
        several = "".join(rf"\x{{{ord(c):x}}}" for c in rest[i : i + 200])
        assert set(matches(f"(?i:[{several}])", "|".join(rest))) == set(rest[i : i + 200])


def test_oniguruma_scripts() -> None:
    script = unicode.table("onig_script")
    known = SCALARS[script[SCALARS] != 0]
    check_class(r"\p{Unknown}", script == 0)
    ordered = known[numpy.argsort(script[known], kind="stable")]
    text = text_of(ordered)
    edges = numpy.searchsorted(script[ordered], range(len(unicode.SCRIPTS) + 1)).tolist()
    for name, first, end in zip(unicode.SCRIPTS[1:], edges[1:-1], edges[2:], strict=True):
        # its block, and one character before and after it: the blocks together are all characters
        around = text[max(first - 1, 0) : end + 1]
        assert matches(rf"\p{{{name}}}", around) == text[first:end], name
