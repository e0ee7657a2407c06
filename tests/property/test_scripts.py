"""Byte-level BPE on text of all scripts: marks that a normal form may move or join, words that are cut between
characters, classes of characters 64 bytes at a time. The reference is asked each time."""

from __future__ import annotations

import random
import unicodedata

import numpy as np
import pytest
import tokenizers as reference
from child_process import printed_by

import hftok
from hftok import models, normalizers, pre_tokenizers, trainers
from hftok._core import cpu

# A stretch of code points of each script, and blanks.
SCRIPTS = [
    (0x41, 0x7A),
    (0xC0, 0x24F),
    (0x370, 0x3FF),
    (0x400, 0x52F),
    (0x5D0, 0x5EA),
    (0x620, 0x6D5),
    (0x900, 0x97F),
    (0xD00, 0xD7F),
    (0xE00, 0xE7F),
    (0xF40, 0xFBC),
    (0x1780, 0x17D3),
    (0x1E00, 0x1FFF),
    (0x2010, 0x2060),
    (0x3041, 0x30FF),
    (0x4E00, 0x4E40),
    (0x1100, 0x11FF),
    (0xAC00, 0xAC40),
    (0xFF01, 0xFF60),
    (0x1F600, 0x1F640),
]
MARKS = [chr(c) for c in range(0x300, 0x10000) if unicodedata.combining(chr(c))]
JOINING = [
    *map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))),
    *map(chr, (0x9BE, 0x9D7, 0xB3E, 0xBBE, 0xCC2, 0xD3E, 0xDCF, 0x102E, 0x3099)),
]
CHANGING = [chr(c) for c in (0x340, 0x344, 0x958, 0x9DC, 0xFB1D, 0xF900, 0x2126, 0xFB01, 0xFF76, 0x1D160, 0x1F71)]


def characters(script: tuple[int, int]) -> list[str]:
    return [chr(c) for c in range(*script)]


def text_of(rng: random.Random, words: int, marks: float) -> str:
    """Words mostly of one script, with so many marks after their letters."""
    found = []
    for _ in range(words):
        letters = characters(rng.choice(SCRIPTS))
        word = []
        for _ in range(rng.choice([1, 2, 5, 9, 14, 30])):
            word.append(rng.choice(letters if rng.random() < 0.97 else characters(rng.choice(SCRIPTS))))
            while rng.random() < marks:
                word.append(rng.choice(rng.choice([MARKS, MARKS, JOINING, CHANGING])))
        found.append("".join(word))
    return rng.choice([" ", " ", "", "\n", "  "]).join(found)


def texts_of(seed: int, n: int = 250) -> list[str]:
    rng = random.Random(seed)
    return [text_of(rng, rng.choice([1, 3, 20, 60]), rng.choice([0.0, 0.1, 0.4])) for _ in range(n)]


def tokenizer_of(form: str | None) -> hftok.Tokenizer:
    tokenizer = hftok.Tokenizer(models.BPE())
    if form is not None:
        tokenizer.normalizer = getattr(normalizers, form)()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1_500, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts_of(1, 60), trainer)
    return tokenizer


def assert_same(ours: hftok.Tokenizer, theirs: reference.Tokenizer, texts: list[str]) -> None:
    rows = ours.encode_batch_ids(texts, return_offsets=True)
    plain = ours.encode_batch_ids(texts)
    for i, encoding in enumerate(theirs.encode_batch(texts)):
        assert rows[i].tolist() == encoding.ids, ascii(texts[i])
        assert plain[i].tolist() == encoding.ids, ascii(texts[i])
        assert rows.row_spans(i).tolist() == [list(span) for span in encoding.offsets], ascii(texts[i])


@pytest.mark.parametrize("form", [None, "NFC", "NFKC", "NFD", "NFKD"])
def test_marks(form):
    """Canonical order, joining and decomposition, alone and after every kind of character."""
    ours = tokenizer_of(form)
    assert ours._ready()[0].is_fast
    theirs = reference.Tokenizer.from_str(ours.to_str())
    assert_same(ours, theirs, texts_of(2))
    bases = [
        "",
        "a",
        "e\u0301",
        "\u00e9",
        "\u1100",
        "\uac00",
        "\u0d46",
        "\u0e01",
        "\u0915",
        "\u304b",
        "\u4e00",
        "\U0001d157",
    ]
    singles = [base + mark for base in bases for mark in (*MARKS[::7], *JOINING, *CHANGING)]
    assert_same(ours, theirs, singles)
    rng = random.Random(3)
    runs = [
        rng.choice(bases) + "".join(rng.choices([*MARKS, *JOINING, *CHANGING], k=rng.randint(2, 5))) for _ in range(600)
    ]
    assert_same(ours, theirs, runs)
    assert_same(ours, theirs, ["".join(runs), " ".join(runs)])


@pytest.mark.parametrize("form", [None, "NFC"])
def test_words_that_are_cut(form):
    """After some MB of text, words are cut between characters that no token holds side by side."""
    ours = tokenizer_of(form)
    theirs = reference.Tokenizer.from_str(ours.to_str())
    many = [text_of(random.Random(seed), 2_500, 0.02) for seed in range(4)] * 24
    assert sum(len(text.encode()) for text in many) > 1 << 22
    ours.encode_batch_ids(many)
    assert ours._ready()[0].is_fast
    assert_same(ours, theirs, many[:4])
    assert_same(ours, theirs, texts_of(4))


CHILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/property"]
import hashlib
from test_scripts import text_of, texts_of, tokenizer_of, random
for form in (None, "NFC"):
    tokenizer = tokenizer_of(form)
    many = [text_of(random.Random(seed), 2_000, 0.1) for seed in range(3)] * 25
    for texts in (many, many[:3] + texts_of(5)):
        rows = tokenizer.encode_batch_ids(texts)
        print(hashlib.sha256(rows.ids.tobytes() + rows.row_offsets.tobytes()).hexdigest())
"""


def test_every_tier_gives_the_same():
    seen = {printed_by(CHILD, HFTOK_CPU=tier) for tier in cpu.available()}
    assert len(seen) == 1


def test_numbers_of_threads():
    tokenizer = tokenizer_of("NFC")
    texts = texts_of(6) * 20
    rows = tokenizer.encode_batch_ids(texts, parallel=True)
    assert np.array_equal(rows.ids, tokenizer.encode_batch_ids(texts, parallel=False).ids)
