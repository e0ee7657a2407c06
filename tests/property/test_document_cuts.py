"""A huge document is cut into pieces for the threads; what a piece holds must not change what it is a piece of."""

from __future__ import annotations

import random
from typing import Any

import pytest
import tokenizers as reference
import word_mark_setups as marks

import hftok

SPACES_TO_MARKS = marks.replace(" ", marks.MARK)
SENTENCE_PIECE = {
    "prepended": (marks.sequence({"type": "Prepend", "prepend": marks.MARK}, SPACES_TO_MARKS), None),
    "replaced": (SPACES_TO_MARKS, None),
    "first": (None, marks.metaspace("first", split=False)),
    "always": (None, marks.metaspace("always", split=False)),
}
WORDS = [
    ("none", "white, first"),
    ("none", "white, always"),
    ("map", "first"),
    ("strip, map, spaces", "always"),
    ("quotes, nfkd, accents, map", "white, first"),
]
# What scanners leave to the exact path, which must not take a piece for a text.
RARE = ["\x00", marks.MARK, "é\u0301", "\r\n", " <r> ", "[U]"]


def document(rare: str, often: bool) -> str:
    """Some 170 KB, with something rare near the end, or in many places."""
    rng = random.Random(RARE.index(rare))
    words = [" the", " word", " a", "the ", "abab", "b", "  ", " e.", " the", " 中国", "hi ", "\n"]
    parts = rng.choices(words, k=60_000)
    parts[-2_000:-2_000] = [rare]
    if often:
        for _ in range(40):
            parts.insert(rng.randrange(len(parts)), rare)
    return "".join(parts)


def assert_cut_well(definition: str, rare: str, path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = hftok.Tokenizer.from_str(definition), reference.Tokenizer.from_str(definition)
    text = document(rare, len(definition) % 2 == 0)
    path.write_bytes(text.encode())
    expected = theirs.encode(text).ids
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert ours.encode_files([path]).ids.tolist() == expected, (rare, threads)


@pytest.mark.parametrize("kind", SENTENCE_PIECE)
def test_sentence_piece(kind, tmp_path, monkeypatch):
    letters = sorted(set(marks.MARK + "abcdefghijklmnopqrstuvwxyz.中国\n") | {"<"})
    vocab = {piece: i for i, piece in enumerate([*letters, marks.MARK * 2, "th", "the", marks.MARK + "the"])}
    merges = [[marks.MARK, marks.MARK], ["t", "h"], ["th", "e"], [marks.MARK, "the"]]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<"}
    definition = marks.definition(*SENTENCE_PIECE[kind], "none", model)
    for rare in RARE:
        assert_cut_well(definition, rare, tmp_path / "document.txt", monkeypatch)


@pytest.mark.parametrize(("normalizer", "pre_tokenizer"), WORDS)
def test_words(normalizer, pre_tokenizer, tmp_path, monkeypatch):
    for rare in RARE:
        assert_cut_well(marks.setup(normalizer, pre_tokenizer), rare, tmp_path / "document.txt", monkeypatch)
