"""The tables of normal forms against the reference: decompositions, combining classes, compositions, uc_stable.

`normal_form` below builds normal forms from nothing but the tables; what it gives is compared with the reference's
normalizers, on every character and on random sequences of the characters that normal forms turn on.
"""

import functools
import itertools
import random
from collections.abc import Callable, Iterable

import numpy
import pytest
from tokenizers import normalizers

from hftok._core import unicode

SCALARS = numpy.concatenate([numpy.arange(0xD800), numpy.arange(0xE000, 0x110000)])
TEXT = "".join(map(chr, SCALARS))
CCC = unicode.table("ccc")
STABLE = unicode.table("stable")
FORMS = ("NFD", "NFKD", "NFC", "NFKC")


def text_of(code_points: Iterable[int]) -> str:
    return "".join(map(chr, code_points))


def reference(form: str) -> Callable[[str], str]:
    return getattr(normalizers, form)().normalize_str


def normal_form(text: str, form: str) -> str:
    """A normal form by the definition (Unicode Standard, section 3.11), from nothing but the tables."""
    decompose = unicode.decompose_compat if "K" in form else unicode.decompose
    parts = [ord(c) for c in "".join(map(decompose, map(ord, text)))]
    i = 0
    while i < len(parts):
        j = i
        while j < len(parts) and CCC[parts[j]]:
            j += 1
        if j > i + 1:
            parts[i:j] = sorted(parts[i:j], key=lambda c: CCC[c])
        i = j + 1
    if form.endswith("D"):
        return text_of(parts)
    result: list[int] = []
    starter, last = -1, 0  # where the last starter is, and the class of the last character left after it
    for c in parts:
        number = int(CCC[c])
        blocked = starter < len(result) - 1 and (last >= number or last == 0)
        if starter >= 0 and not blocked and (joined := unicode.compose(result[starter], c)):
            result[starter] = joined
            continue
        result.append(c)
        if number == 0:
            starter = len(result) - 1
        last = number
    return text_of(result)


@pytest.mark.parametrize("form", FORMS)
def test_normal_form_of_each_character(form: str) -> None:
    if "K" in form:  # some compatibility decompositions have full stops
        rest = [c for c in TEXT if "." not in unicode.decompose_compat(ord(c))]
        assert len(rest) > len(TEXT) - 100
        for c in set(TEXT) - set(rest):
            assert reference(form)(c) == normal_form(c, form)
    else:
        rest = [c for c in TEXT if c != "."]
    pieces = reference(form)(".".join(rest)).split(".")
    assert len(pieces) == len(rest)
    decompose = unicode.decompose_compat if "K" in form else unicode.decompose
    for c, piece in zip(rest, pieces, strict=True):
        if form.endswith("D"):
            assert decompose(ord(c)) == piece, f"U+{ord(c):04X}"
        elif piece != c or decompose(ord(c)) != c:
            assert normal_form(c, form) == piece, f"U+{ord(c):04X}"


@pytest.mark.parametrize("form", ["NFD", "NFKC"])
def test_normal_form_of_all_characters_at_once(form: str) -> None:
    assert reference(form)(TEXT) == normal_form(TEXT, form)


def marks() -> list[int]:
    """The characters of a combining class other than 0 that do not decompose."""
    return [c for c in SCALARS[CCC[SCALARS] != 0].tolist() if unicode.decompose(c) == chr(c)]


def test_combining_classes() -> None:
    call = reference("NFD")
    ladder = {int(CCC[c]): c for c in marks()}
    assert len(ladder) > 50
    assert min(ladder) == 1
    assert max(ladder) == 240
    # Every mark before and after one mark of every class.
    texts = [text_of(pair) for c in marks() for one in ladder.values() for pair in ((c, one), (one, c))]
    expected = [text_of(sorted(map(ord, text), key=lambda c: CCC[c])) for text in texts]
    assert call("|".join(texts)).split("|") == expected
    # No other character moves: none before the mark of the lowest class, none after that of the highest.
    rest = [c for c in SCALARS.tolist() if unicode.decompose(c) == chr(c) and not CCC[c]]
    text = text_of(c for other in rest for c in (ladder[240], other, ladder[1]))
    assert call(text) == text


@functools.cache
def parts_of_compositions() -> tuple[dict[tuple[int, int], int], list[int], list[int]]:
    """The pairs that compose, by the reference: a character that NFC keeps is made of its first and its last part."""
    call = reference("NFC")
    pairs = {}
    for c in SCALARS.tolist():
        parts = unicode.decompose(c)
        if len(parts) > 1 and not 0xAC00 <= c < 0xD7A4 and call(chr(c)) == chr(c):
            pairs[ord(call(parts[:-1])), ord(parts[-1])] = c
    return pairs, sorted({a for a, _ in pairs}), sorted({b for _, b in pairs})


def test_compositions() -> None:
    pairs, firsts, seconds = parts_of_compositions()
    assert len(pairs) == 940
    call = reference("NFC")
    for b in seconds:
        assert [unicode.compose(a, b) for a in firsts] == [pairs.get((a, b), 0) for a in firsts]
        texts = [text_of((a, b)) for a in firsts]
        assert call("|".join(texts)).split("|") == [normal_form(text, "NFC") for text in texts]
    for (a, b), c in pairs.items():
        assert call(text_of((a, b))) == chr(c)
    # No other character is the second part of a composition, tried after two firsts that have many.
    others = [c for c in SCALARS.tolist() if c not in seconds and unicode.decompose(c) == chr(c) and c != 0x7C]
    others = [c for c in others if not 0x1161 <= c < 0x11C3]
    for a in (0x65, 0x3B1):
        assert not any(unicode.compose(a, c) for c in others)
        text = "|".join(text_of((a, c)) for c in others)
        assert call(text) == text


def test_hangul() -> None:
    leading, vowels, trailing = range(0x10FD, 0x1118), range(0x115E, 0x1179), range(0x11A4, 0x11C6)
    call = reference("NFC")
    texts = [text_of((a, b)) for a in leading for b in vowels]
    texts += [text_of((a, b)) for a in range(0xAC00, 0xAC00 + 11172, 7) for b in trailing]
    texts += [text_of((a, b, c)) for a in leading for b in vowels for c in (0x11A7, 0x11A8, 0x11C2, 0x11C3)]
    assert call("|".join(texts)).split("|") == [normal_form(text, "NFC") for text in texts]


def random_texts(seed: int, count: int) -> list[str]:
    """Texts of the characters that normal forms turn on: marks, both parts of compositions, what decomposes, Hangul."""
    draw = random.Random(seed)
    pairs, firsts, seconds = parts_of_compositions()
    decomposing = [c for c in SCALARS.tolist() if unicode.decompose_compat(c) != chr(c) and not 0xAC00 <= c < 0xD7A4]
    hangul = [*range(0x1100, 0x1113), *range(0x1161, 0x1176), *range(0x11A8, 0x11C3), *range(0xAC00, 0xAC40)]
    every_mark = marks()
    common_marks = [0x300, 0x301, 0x308, 0x323, 0x31B, 0x327, 0x345, 0x334, 0x5B0, 0x3099, 0x93C]
    pools = [
        firsts,
        seconds,
        every_mark,
        common_marks,
        decomposing,
        hangul,
        list(pairs.values()),
        list(map(ord, "aeo 1")),
    ]
    result = []
    for _ in range(count):
        kinds = draw.sample(pools, 4)
        result.append(text_of(draw.choice(draw.choice(kinds)) for _ in range(draw.randint(1, 12))))
    return result


@pytest.mark.parametrize("form", FORMS)
def test_random_sequences(form: str) -> None:
    call = reference(form)
    for text in random_texts(sum(map(ord, form)), 20000):
        assert call(text) == normal_form(text, form), [hex(ord(c)) for c in text]


@pytest.mark.parametrize("form", FORMS)
def test_stable_characters_cut_a_text(form: str) -> None:
    """The rule of uc_stable: cut before each stable character; the pieces are normalized apart, one alone is copied."""
    bit = 1 << FORMS.index(form)
    call = reference(form)
    for text in random_texts(7 + bit, 5000):
        cuts = [0, *(i for i, c in enumerate(text) if i and STABLE[ord(c)] & bit), len(text)]
        pieces = [text[i:j] for i, j in itertools.pairwise(cuts)]
        assert call(text) == "".join(
            piece if len(piece) == 1 and STABLE[ord(piece)] & bit else call(piece) for piece in pieces
        )
        if form.endswith("D"):  # here a stable character is also cut off from what follows
            assert call(text) == "".join(
                piece[0] + call(piece[1:]) if STABLE[ord(piece[0])] & bit else call(piece) for piece in pieces
            )


@pytest.mark.parametrize("form", FORMS)
def test_stable_characters_are_copied(form: str) -> None:
    """All of them, between two characters that would join or move if anything could."""
    bit = 1 << FORMS.index(form)
    call = reference(form)
    stable = text_of(SCALARS[STABLE[SCALARS] & bit != 0])
    assert len(stable) > 1_050_000
    assert call(stable) == stable
    decomposing = text_of(c for c in map(ord, stable) if unicode.decompose_compat(c) != chr(c))
    for text, after in [
        ("e\u0345", stable),
        *itertools.product(["\u1100", "\uac00", "\u0915\u0345", "\u09c7"], [decomposing]),
    ]:
        prefix = call(text)
        assert call(text + text.join(after)) == prefix + prefix.join(after)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_not_stable_has_a_reason(form: str) -> None:
    """Every character without the bit changes, or moves, or joins another: the bit is not held back needlessly."""
    bit = 1 << FORMS.index(form)
    call = reference(form)
    pairs, _, _ = parts_of_compositions()
    joins = {b for _, b in pairs} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))
    for c in SCALARS[STABLE[SCALARS] & bit == 0].tolist():
        starts_with_joining = form.endswith("C") and ord(unicode.decompose_compat(c)[0]) in joins
        assert call(chr(c)) != chr(c) or CCC[c] or starts_with_joining, hex(c)
