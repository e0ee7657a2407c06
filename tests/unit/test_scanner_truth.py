"""The plain forms of the scanners against the installed reference, whose patterns they state."""

from __future__ import annotations

import random

import pytest
from scanner_texts import every_character, random_text, reference_boundaries, reference_of, short_texts

from hftok._core.scanners import regex_scalar
from hftok._core.scanners.recognise import FAMILIES

SHORT = ["a", "B", "中", "ʰ", "\u0301", "1", "٣", " ", "\t", "\n", "\u3000", "'s", "'", "/", "。", "\x00"]


def plain(family, text):
    return regex_scalar.boundaries(family, text.encode(), plain=True)


def test_every_family_has_a_scanner():
    assert set(regex_scalar.kernels()) == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_short_texts(family):
    reference = reference_of(family)
    for text in ["", *SHORT, *short_texts(SHORT, 2), *random.Random(family).sample(short_texts(SHORT, 4), 3000)]:
        assert plain(family, text) == reference_boundaries(reference, text), repr(text)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_texts(family):
    reference = reference_of(family)
    rng = random.Random(family)
    for _ in range(1500):
        text = random_text(rng)
        assert plain(family, text) == reference_boundaries(reference, text), repr(text)


# One family of each set of classes, which test_unicode_oniguruma compares too.
@pytest.mark.parametrize("family", ["kimi_k2", "deepseek_v3", "gpt2_digits", "falcon", "bloom"])
def test_every_character(family):
    reference = reference_of(family)
    parts = (range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x12800), range(0x1D000, 0x1F000))
    characters = [c for c in every_character() if ord(c) % 61 == 0 or any(ord(c) in part for part in parts)]
    for start in range(0, len(characters), 5000):
        text = "".join(f"a{c}A {c} 1{c}.{c}\n" for c in characters[start : start + 5000])
        assert plain(family, text) == reference_boundaries(reference, text)


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", ["english", "code", "chinese", "multilingual"])
def test_corpora(corpus_documents, corpus):
    text = "\n\n".join(corpus_documents(corpus, 40_000))
    for family in FAMILIES:
        assert plain(family, text) == reference_boundaries(reference_of(family), text), family
