"""Hard strings through every door, alone and glued together, and random Unicode documents: against the reference."""

from __future__ import annotations

import itertools

import pytest
from grid_checks import assert_rows, outcome, same
from grid_setups import SETUPS, ours, theirs
from grid_texts import ADDED, STRANGE, glued, random_texts, strange

from hftok.testing import assert_parity, encoding_fields

NAMES = [name for name in SETUPS if name != "missing_unknown"]
WORD_PIECE = [name for name in NAMES if name.startswith(("bert", "added"))]
SEPARATORS = ["", " ", "  ", "\n", "\u200b", "\u0301", ".", "[MASK]", "<both>", "中", "\u00a0", "\x00", "a"]


@pytest.mark.parametrize("kind", STRANGE)
def test_kinds(kind):
    """One kind of trouble on all setups: easy to read when it fails."""
    for name in WORD_PIECE:
        for text in STRANGE[kind]:
            found, expected = (
                outcome(lambda t=t, x=text: encoding_fields(t.encode(x))) for t in (ours(name), theirs(name))
            )
            assert found == expected, f"{name}: {text!a}"


@pytest.mark.parametrize("name", NAMES)
def test_glued(name):
    """All strings in one text, with something between them."""
    one, other = ours(name), theirs(name)
    texts = [glued(separator) for separator in SEPARATORS]
    expected = [other.encode(text) for text in texts]
    for mine, reference, separator in zip(one.encode_batch(texts), expected, SEPARATORS, strict=True):
        assert encoding_fields(mine) == encoding_fields(reference), f"between them: {separator!a}"
    assert_rows(one.encode_batch_ids(texts, return_offsets=True), expected, texts)


@pytest.mark.parametrize("name", ["bert_uncased", "bert_cased", "added_in_both_passes", "added_odd", "added_flags"])
def test_neighbours(name):
    """Every string right before and right after every other kind's first one."""
    firsts = [texts[-1] for texts in STRANGE.values()] + ADDED[::9]
    texts = [a + b for a, b in itertools.product(strange()[::2], firsts)] + [
        b + a for a, b in itertools.product(strange()[1::2], firsts)
    ]
    expected = theirs(name).encode_batch(texts)
    assert_rows(ours(name).encode_batch_ids(texts, return_offsets=True), expected, texts)
    for mine, reference, text in zip(ours(name).encode_batch(texts), expected, texts, strict=True):
        assert mine.tokens == reference.tokens, f"{text!a}"
        assert mine.word_ids == reference.word_ids, f"{text!a}"


@pytest.mark.parametrize("name", NAMES)
def test_random_documents(name):
    """400 documents of random Unicode, the same in every run."""
    texts = list(random_texts(7, 400, 120))
    assert len(set(texts)) == 400
    one, other = ours(name), theirs(name)
    expected = other.encode_batch(texts)
    for mine, reference, text in zip(one.encode_batch(texts), expected, texts, strict=True):
        assert encoding_fields(mine) == encoding_fields(reference), f"{text!a}"
    assert_rows(one.encode_batch_ids(texts, return_offsets=True), expected, texts)
    assert_rows(one.encode_batch_ids(texts, parallel=False), expected, texts)


@pytest.mark.parametrize("name", ["bert_uncased", "bert_template_swaps", "added_normalized", "word_level"])
def test_random_pairs(name):
    texts = random_texts(8, 60, 80)
    assert_parity(ours(name), theirs(name), list(zip(texts, texts[::-1], strict=True)))
    words = [text.split(" ") for text in texts]
    assert_parity(ours(name), theirs(name), words, is_pretokenized=True)


@pytest.mark.parametrize("name", WORD_PIECE)
def test_every_character_of_the_first_planes(name):
    """Each code point below U+3000 and some above, between letters: one text of all, cut in lines."""
    step = 1 if name in ("bert_uncased", "bert_cased") else 7
    codes = [
        c for c in itertools.chain(range(0, 0x3000, step), range(0x3000, 0x110000, 911)) if not 0xD800 <= c < 0xE000
    ]
    texts = [f"a{chr(c)}b {chr(c)}" for c in codes]
    expected = theirs(name).encode_batch(texts)
    assert_rows(ours(name).encode_batch_ids(texts, return_offsets=True), expected, texts)


@pytest.mark.parametrize("size", [*range(70), 126, 127, 128, 129, 191, 192, 193, 255, 256, 257, 1000])
def test_block_boundaries(size):
    """A word, a multi-byte character, an added token at each place of the blocks that the scanner reads."""
    for name in ("bert_uncased", "added_flags"):
        one, other = ours(name), theirs(name)
        texts = [
            fill * size + end
            for fill in ("a", " ", "é", "中", ".")
            for end in ("", "b", " b", "é", "中", "👍", "[MASK]", "<both> x", "\u0301b", "\u00a0")
        ]
        expected = other.encode_batch(texts)
        assert_rows(one.encode_batch_ids(texts, return_offsets=True), expected, texts)


@pytest.mark.parametrize("name", ["bert_uncased", "bert_without_words", "added_flags", "unigram", "byte_pairs"])
def test_long_runs(name):
    """Long words, runs of one character: linear time, and the same answer."""
    one, other = ours(name), theirs(name)
    texts = [
        "a" * 20_000,
        "ab " * 7_000,
        "." * 20_000,
        "中" * 10_000,
        " " * 20_000 + "a",
        "[MASK]" * 3_000,
        "\u0301" * 5_000,
    ]
    for text in texts:
        mine, reference = one.encode(text), other.encode(text)
        assert mine.ids == reference.ids, f"{text[:5]!a}"
        assert mine.offsets == reference.offsets, f"{text[:5]!a}"


@pytest.mark.parametrize("name", NAMES)
def test_every_prefix(name):
    """A text that grows by a character: no length is special."""
    text = "Été [MASK] 中文 <both>  naïve ΣΑΣ. 👍🏽 new york word~\u0301 x"
    texts = [text[:n] for n in range(len(text) + 1)] + [text[n:] for n in range(len(text))]
    one, other = ours(name), theirs(name)
    for part in texts:
        found, expected = (outcome(lambda t=t, x=part: encoding_fields(t.encode(x))) for t in (one, other))
        assert same(found, expected), f"{part!a}"
        assert found == expected, f"{part!a}"
