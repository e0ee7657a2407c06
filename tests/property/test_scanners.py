"""The scanners by blocks against their plain forms, in each CPU tier of this machine: the two must agree on every text,
wherever it lies and whatever stands around it."""

from __future__ import annotations

import importlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scanner_texts import LONG, POOLS, every_character, random_text

from hftok._core import cpu
from hftok._core.scanners import regex_scalar
from hftok._core.scanners.recognise import FAMILIES

TIERS = {name: importlib.import_module(f"hftok._core.scanners.regex_{name}") for name in cpu.available()}
AROUND = [b"'s \n1\xe2\x80\x83a", b"a", b" ", b"\n", b"'", b"1", b".", b"\xe4\xb8\xad", b"\xff", b"\xcc\x81", b"\x80"]


def check(family, text, alignments=(0,), around=AROUND[0]):
    data = text.encode()
    expected = regex_scalar.boundaries(family, data, plain=True)
    for name, tier in TIERS.items():
        for alignment in alignments:
            found = tier.boundaries(family, data, alignment=alignment, around=around)
            assert found == expected, (name, alignment, text)


def test_tiers_are_all_those_of_this_machine():
    assert "scalar" in TIERS
    assert cpu.choose() in TIERS
    for tier in TIERS.values():
        assert set(tier.kernels()) == set(FAMILIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_texts(family):
    rng = random.Random(family)
    for _ in range(4000):
        check(family, random_text(rng), (rng.randrange(64),), rng.choice(AROUND))


@pytest.mark.parametrize("pool", POOLS)
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_pools(pool, data):
    text = "".join(data.draw(st.lists(st.sampled_from(POOLS[pool]), max_size=100)))
    alignment = data.draw(st.integers(0, 63))
    around = data.draw(st.sampled_from(AROUND))
    for family in FAMILIES:
        check(family, text, (alignment,), around)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_alignment_and_length(family):
    rng = random.Random(family)
    for length in range(1, 200, 3):
        text = ""
        while len(text.encode()) < length:
            text += rng.choice(POOLS["all"])
        check(family, text, range(length % 4, 64, 4))


@pytest.mark.parametrize("family", FAMILIES)
def test_runs_around_the_ends_of_blocks(family):
    for piece in LONG:
        size = len(piece.encode())
        for length in (*range(56, 70), *range(120, 133), 192, 256, 1000):
            run = piece * (length // size)
            for before in ("", "a", " ", ".", "1", "中", "\n"):
                check(family, before + run)
                check(family, before + run + "b" if length % 2 else before + run + " 2")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_character(family):
    for frame in ("a{0}A {0} 1{0}.{0}\n", "  {0}'{0}中{0} "):
        characters = [c for c in every_character() if ord(c) < 0x3500 or 0x9F00 <= ord(c) < 0x20000 or ord(c) % 31 == 0]
        for start in range(0, len(characters), 20_000):
            check(family, "".join(map(frame.format, characters[start : start + 20_000])))


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", ["english", "code", "chinese", "multilingual", "sentences"])
def test_corpora(corpus_documents, corpus):
    text = "\n\n".join(corpus_documents(corpus, 400_000))
    for family in FAMILIES:
        check(family, text)


@pytest.mark.parametrize("family", FAMILIES)
def test_base_and_wrong_calls(family):
    assert regex_scalar.boundaries(family, b"") == []
    with pytest.raises(UnicodeDecodeError):
        regex_scalar.boundaries(family, b"a\xff")
    with pytest.raises(ValueError, match="no family"):
        regex_scalar.boundaries(family + "x", b"a")
