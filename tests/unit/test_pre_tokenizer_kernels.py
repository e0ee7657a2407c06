"""Pre-tokenizers against the reference: pieces and offsets, each alone and in random sequences, every code point."""

from __future__ import annotations

import random
from typing import Any

import pytest
from exact_cases import (
    ATOMS,
    EVERYTHING,
    GLUED,
    NORMALIZERS,
    PRE_TOKENIZERS,
    ZERO_WIDTH,
    adversarial,
    alignment,
    outcome,
    reference_alignment,
    reference_pre_tokenizer,
)
from tokenizers import pre_tokenizers

from hftok._core.pre_tokenizers import PreTokenizerProgram
from hftok._core.pretokenized import PreTokenizedString


def name_of(spec: tuple[Any, ...]) -> str:
    return "-".join(map(str, spec))


@pytest.mark.parametrize("spec", PRE_TOKENIZERS, ids=name_of)
def test_pieces_and_offsets(spec: tuple[Any, ...]) -> None:
    rng = random.Random(name_of(spec))
    step, program = reference_pre_tokenizer(spec), PreTokenizerProgram(spec)
    for text in ["", " ", GLUED, GLUED[::-1], *ATOMS, *(adversarial(rng) for _ in range(150))]:
        assert program.pre_tokenize_str(text) == step.pre_tokenize_str(text), repr(text)
        assert alignment(text, None, spec) == reference_alignment(text, None, spec), repr(text)


@pytest.mark.parametrize("seed", range(8))
def test_random_sequences(seed: int) -> None:
    """After random normalizers, so that the splits begin with alignments of every kind."""
    rng = random.Random(100 + seed)
    errors = 0
    for _ in range(150):
        pool = NORMALIZERS + (ZERO_WIDTH if rng.random() < 0.2 else [])
        normalizer = ("Sequence", tuple(rng.choice(pool) for _ in range(rng.randint(0, 3))))
        spec = ("Sequence", tuple(rng.choice(PRE_TOKENIZERS) for _ in range(rng.randint(0, 3))))
        text = adversarial(rng)
        expected = outcome(lambda text=text, n=normalizer, s=spec: reference_alignment(text, n, s))
        errors += expected == "error"
        found = outcome(lambda text=text, n=normalizer, s=spec: alignment(text, n, s))
        assert found == expected, (normalizer, spec, text)
    assert errors < 75


CLASS_BASED = [("BertPreTokenizer",), ("Whitespace",), ("WhitespaceSplit",), ("UnicodeScripts",), ("Digits", True)]


@pytest.mark.parametrize(
    "spec", [*CLASS_BASED, ("Punctuation", "isolated"), ("ByteLevel", False, True, True)], ids=name_of
)
def test_every_code_point(spec: tuple[Any, ...]) -> None:
    step, program = reference_pre_tokenizer(spec), PreTokenizerProgram(spec)
    text = "a" + "a".join(map(chr, EVERYTHING))
    pretok = PreTokenizedString(text)
    program.pre_tokenize(pretok)
    assert [(s, o) for s, o, _ in pretok.get_splits(offset_type="byte")] == _reference_splits(step, text)


def _reference_splits(step: Any, text: str) -> list[Any]:
    import tokenizers

    pretok = tokenizers.PreTokenizedString(text)
    step.pre_tokenize(pretok)
    return [(s, o) for s, o, _ in pretok.get_splits(offset_type="byte")]


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("split", [True, False])
def test_metaspace_after_splits(scheme: str, split: bool) -> None:
    """`first` looks at where the split lies in the original text, not at its number."""
    for before in (("WhitespaceSplit",), ("Digits", True), ("Split", "String", "a", "removed", False)):
        spec = ("Sequence", (before, ("Metaspace", "▁", scheme, split)))
        step, program = reference_pre_tokenizer(spec), PreTokenizerProgram(spec)
        for text in ("ab 1 c", " ab", "▁ab", "a1", "aab", "", "1▁ 2", "é é"):
            assert program.pre_tokenize_str(text) == step.pre_tokenize_str(text), text


def test_fixed_length_zero() -> None:
    """The reference panics (a chunk size of zero); an empty text is fine there, too."""
    program = PreTokenizerProgram(("FixedLength", 0))
    assert program.pre_tokenize_str("") == pre_tokenizers.FixedLength(0).pre_tokenize_str("")
    with pytest.raises(BaseException, match="non-zero"):
        pre_tokenizers.FixedLength(0).pre_tokenize_str("a")
    with pytest.raises(ValueError, match="panics"):
        program.pre_tokenize_str("a")


def test_unicode_scripts_lose_leading_blanks() -> None:
    program = PreTokenizerProgram(("UnicodeScripts",))
    for text in ("  ab", " ", "", "ab  日本", "ー", "a ー"):
        assert program.pre_tokenize_str(text) == pre_tokenizers.UnicodeScripts().pre_tokenize_str(text)
    assert program.pre_tokenize_str("  ab") == [("ab", (2, 4))]


class Halves:
    """Cuts in the middle, lowercases, and drops what is empty."""

    def pre_tokenize(self, pretok: Any) -> None:
        pretok.split(lambda _, n: [n.slice((0, len(str(n)) // 2)), n.slice((len(str(n)) // 2, len(str(n))))])
        pretok.normalize(lambda n: n.lowercase())


def test_custom() -> None:
    spec = ("Sequence", (("WhitespaceSplit",), ("Custom", Halves()), ("Split", "String", "b", "isolated", False)))
    program = PreTokenizerProgram(spec)
    assert program.needs_gil
    theirs = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.PreTokenizer.custom(Halves()),
            pre_tokenizers.Split("b", "isolated"),
        ]
    )
    for text in ("ABC DEF", "ÉÈ ab", "long words here", "日本語 text"):
        assert program.pre_tokenize_str(text) == theirs.pre_tokenize_str(text), text


class Failing:
    def pre_tokenize(self, pretok: Any) -> None:
        pretok.split(lambda i, n: 3)


def test_custom_error() -> None:
    with pytest.raises(Exception, match="Sequence") as expected:
        pre_tokenizers.PreTokenizer.custom(Failing()).pre_tokenize_str("abc")
    program = PreTokenizerProgram(("Sequence", (("Digits", True), ("Custom", Failing()))))
    with pytest.raises(Exception, match="Sequence") as found:
        program.pre_tokenize_str("abc")
    assert type(found.value) is type(expected.value)
    pretok = PreTokenizedString("a1b")
    with pytest.raises(Exception, match="Sequence"):
        program.pre_tokenize(pretok)
    assert pretok.get_splits() == [("a1b", (0, 3), None)]


class Keeping:
    kept: Any = None

    def pre_tokenize(self, pretok: Any) -> None:
        self.kept = pretok


def test_reference_dies_after_the_call() -> None:
    ours, theirs = Keeping(), Keeping()
    PreTokenizerProgram(("Custom", ours)).pre_tokenize_str("abc")
    pre_tokenizers.PreTokenizer.custom(theirs).pre_tokenize_str("abc")
    for use in (lambda p: p.get_splits(), lambda p: p.split(lambda i, n: [n]), lambda p: p.to_encoding()):
        with pytest.raises(Exception, match="outside") as expected:
            use(theirs.kept)
        with pytest.raises(Exception, match="outside") as found:
            use(ours.kept)
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize(
    "spec",
    [
        ("Nothing",),
        (),
        ("Punctuation", "sideways"),
        ("Metaspace", "ab", "always", True),
        ("Metaspace", "▁", "sometimes", True),
        ("CharDelimiterSplit", ""),
        ("Split", "Regex", "(", "isolated", False),
    ],
)
def test_bad_specs(spec: Any) -> None:
    with pytest.raises(Exception, match=r"\S"):
        PreTokenizerProgram(spec)


@pytest.mark.parametrize("spec", PRE_TOKENIZERS, ids=name_of)
def test_long_line(spec: tuple[Any, ...]) -> None:
    """A long line costs what its length says: no step is quadratic (a quadratic one takes minutes here)."""
    text = (GLUED + " plain words and more of them; ") * 700 + " " * 200_000
    pretok = PreTokenizedString(text)
    PreTokenizerProgram(spec).pre_tokenize(pretok)
