"""Normalizers against the reference: text and alignment, each alone and in random sequences, every code point."""

from __future__ import annotations

import random
from typing import Any

import pytest
from charsmaps import CHARSMAP, charsmap
from exact_cases import (
    ATOMS,
    EVERYTHING,
    GLUED,
    NORMALIZERS,
    ZERO_WIDTH,
    adversarial,
    alignment,
    outcome,
    reference_alignment,
    reference_normalizer,
)
from tokenizers import normalizers

from hftok._core.errors import UnsupportedTokenizerError
from hftok._core.normalizers import NormalizerProgram
from hftok._core.pretokenized import NormalizedString


def name_of(spec: tuple[Any, ...]) -> str:
    return "-".join("map" if isinstance(part, bytes) else str(part) for part in spec)


@pytest.mark.parametrize("spec", NORMALIZERS + ZERO_WIDTH, ids=name_of)
def test_text_and_alignment(spec: tuple[Any, ...]) -> None:
    rng = random.Random(name_of(spec))
    texts = ["", " ", "  \t", GLUED, GLUED[::-1], *ATOMS, *(adversarial(rng) for _ in range(150))]
    for text in texts:
        expected = outcome(lambda text=text: reference_alignment(text, spec))
        assert outcome(lambda text=text: alignment(text, spec)) == expected, repr(text)
        assert NormalizerProgram(spec).normalize_str(text) == reference_normalizer(spec).normalize_str(text)


@pytest.mark.parametrize("seed", range(8))
def test_random_sequences(seed: int) -> None:
    rng = random.Random(seed)
    errors = 0
    for _ in range(150):
        pool = NORMALIZERS + (ZERO_WIDTH if rng.random() < 0.3 else [])
        spec = ("Sequence", tuple(rng.choice(pool) for _ in range(rng.randint(0, 4))))
        text = adversarial(rng)
        expected = outcome(lambda text=text, spec=spec: reference_alignment(text, spec))
        errors += expected == "error"
        assert outcome(lambda text=text, spec=spec: alignment(text, spec)) == expected, (spec, text)
    assert errors < 75


EVERY_SPEC = [spec for spec in NORMALIZERS if spec[0] not in ("Prepend", "Replace")]


@pytest.mark.parametrize("spec", EVERY_SPEC, ids=name_of)
def test_every_code_point(spec: tuple[Any, ...]) -> None:
    """All code points in one text, each between characters that do not meet it, in both orders of neighbours."""
    step, program = reference_normalizer(spec), NormalizerProgram(spec)
    for template in ("x{}\n", "{}é") if spec[0].startswith("NF") else ("x{}\n",):
        text = "".join(template.format(chr(cp)) for cp in EVERYTHING)
        assert program.normalize_str(text) == step.normalize_str(text)


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_normal_forms_of_random_marks(form: str) -> None:
    """Characters that decompose, compose or reorder, in random company; long runs of marks take another sort."""
    rng = random.Random(form)
    step = getattr(normalizers, form)()
    changing = [chr(cp) for cp in EVERYTHING if normalizers.NFKD().normalize_str(chr(cp)) != chr(cp)]
    marks = [chr(cp) for cp in EVERYTHING if cp > 0x2FF and not normalizers.StripAccents().normalize_str(chr(cp))]
    pool = rng.sample(changing, 400) + rng.sample(marks, 200) + list("aeo\u1100\u1161\u11a8가 ") * 8
    program = NormalizerProgram((form,))
    for _ in range(300):
        text = "".join(rng.choice(pool) for _ in range(rng.randint(1, 12)))
        assert program.normalize_str(text) == step.normalize_str(text), repr(text)
        assert alignment(text, (form,)) == reference_alignment(text, (form,)), repr(text)
    for length in (20, 25, 60, 300):
        text = "e" + "".join(rng.choice(marks) for _ in range(length)) + "x"
        assert alignment(text, (form,)) == reference_alignment(text, (form,))


def test_composition_pairs() -> None:
    """Every primary composite's parts, and each of its parts before every other second part."""
    parts = []
    for cp in EVERYTHING:
        whole = chr(cp)
        if len(decomposed := normalizers.NFD().normalize_str(whole)) > 1 and not 0xAC00 <= cp < 0xD7A4:
            parts.append((decomposed[:-1], decomposed[-1]))
    step, program = normalizers.NFC(), NormalizerProgram(("NFC",))
    text = "\n".join(a + b + "\u0316" + b for a, b in parts)
    assert program.normalize_str(text) == step.normalize_str(text)
    rng = random.Random(0)
    seconds = sorted({b for _, b in parts})
    text = "\n".join(a + rng.choice(seconds) + rng.choice(seconds) for a, _ in parts)
    assert program.normalize_str(text) == step.normalize_str(text)


def test_precompiled_maps() -> None:
    """Random maps, replacements by nothing and clusters around the six-byte limit included."""
    rng = random.Random(3)
    for _ in range(60):
        keys = rng.sample([atom for atom in ATOMS if atom != "\x00"], 8)
        data = charsmap({key: rng.choice(["", "x", "yz", "ééé", key + key]) for key in keys})
        spec = ("Precompiled", data)
        for _ in range(12):
            text = "".join(rng.choice([*keys, *keys, rng.choice(ATOMS)]) for _ in range(rng.randint(0, 9)))
            expected = outcome(lambda text=text, spec=spec: reference_alignment(text, spec))
            assert outcome(lambda text=text, spec=spec: alignment(text, spec)) == expected, (keys, text)


def test_precompiled_takes_the_shortest_prefix_for_the_cluster() -> None:
    """The quirk by name: a cluster below six bytes becomes the replacement of the shortest key that begins it."""
    spec = ("Precompiled", charsmap({"e": "X"}))
    assert NormalizerProgram(spec).normalize_str("e\u0301f e") == "Xf X"
    assert NormalizerProgram(spec).normalize_str("e\u0301\u0301\u0301") == "X\u0301\u0301\u0301"


@pytest.mark.parametrize("data", [b"", b"abc", b"\xff\0\0\0", b"\x04\0\0\0", b"\0\0\0\0\xff"])
def test_precompiled_rejects(data: bytes) -> None:
    with pytest.raises(ValueError, match="Cannot parse precompiled_charsmap"):
        NormalizerProgram(("Precompiled", data))


def test_precompiled_broken_trie() -> None:
    """An index out of the trie is a panic there, and an error here."""
    with pytest.raises(ValueError, match="panics"):
        NormalizerProgram(("Precompiled", b"\x04\0\0\0\xff\xff\xff\xff")).normalize_str("aé")


class Upper:
    def normalize(self, normalized: Any) -> None:
        normalized.map(str.upper)
        normalized.replace("B", "--")


def test_custom() -> None:
    spec = ("Sequence", (("NFD",), ("Custom", Upper()), ("Replace", "String", "-", "é")))
    program = NormalizerProgram(spec)
    assert program.needs_gil
    custom = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Normalizer.custom(Upper()), normalizers.Replace("-", "é")]
    )
    for text in ("abé", "", "ab b", GLUED.replace("ß", "").replace("ﬁ", "").replace("ﬃ", "")):
        assert program.normalize_str(text) == custom.normalize_str(text)


class Failing:
    def normalize(self, normalized: Any) -> None:
        normalized.lowercase()
        raise KeyError("no")


def test_custom_error() -> None:
    """The message carries the type, as the reference has it; the string stays as it was."""
    theirs = normalizers.Normalizer.custom(Failing())
    with pytest.raises(Exception, match="KeyError") as expected:
        theirs.normalize_str("ABC")
    program = NormalizerProgram(("Custom", Failing()))
    with pytest.raises(Exception, match="KeyError") as found:
        program.normalize_str("ABC")
    assert type(found.value) is type(expected.value)
    assert str(found.value) == str(expected.value)
    assert isinstance(found.value.__cause__, KeyError)
    text = NormalizedString("ABC")
    with pytest.raises(Exception, match="KeyError"):
        program.normalize(text)
    assert text.normalized == "ABC"


class Keeping:
    kept: Any = None

    def normalize(self, normalized: Any) -> None:
        self.kept = normalized


def test_reference_dies_after_the_call() -> None:
    ours, theirs = Keeping(), Keeping()
    NormalizerProgram(("Custom", ours)).normalize_str("abc")
    normalizers.Normalizer.custom(theirs).normalize_str("abc")
    for use in (lambda n: n.normalized, lambda n: n.nfd(), lambda n: n.slice(0), lambda n: n.replace("a", "b")):
        with pytest.raises(Exception, match="outside") as expected:
            use(theirs.kept)
        with pytest.raises(Exception, match="outside") as found:
            use(ours.kept)
        assert str(found.value) == str(expected.value)
        assert type(found.value) is type(expected.value)
    assert type(ours.kept).__name__ == "NormalizedStringRefMut"


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (("Nothing",), ValueError),
        ((), ValueError),
        ("NFC", ValueError),
        (("Replace", "Regex", "(", ""), Exception),
        (("Replace", "Regex", r"\X", ""), UnsupportedTokenizerError),
        (("Replace", "Glob", "*", ""), ValueError),
    ],
)
def test_bad_specs(spec: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        NormalizerProgram(spec)


def test_state_after_an_error() -> None:
    """A sequence that cannot be aligned leaves the string as it was, whatever ran before."""
    spec = ("Sequence", (("Lowercase",), ("Replace", "Regex", "^", "X"), ("NFKC",), ("Lowercase",)))
    text = NormalizedString("ÀBC")
    with pytest.raises(ValueError, match="panics"):
        NormalizerProgram(spec).normalize(text)
    assert (text.normalized, text._alignments()) == ("ÀBC", [(0, 2), (0, 2), (2, 3), (3, 4)])


@pytest.mark.parametrize("spec", NORMALIZERS, ids=name_of)
def test_long_line(spec: tuple[Any, ...]) -> None:
    """A long line costs what its length says: no step is quadratic (a quadratic one takes minutes here)."""
    text = (GLUED.replace("\x00", "") + " plain words and more of them; ") * 1500
    program = NormalizerProgram(spec)
    assert program.normalize_str(text + text)
    assert len(CHARSMAP) > 0
