"""A huge document is cut into pieces for the threads; what a piece holds must not change what it is a piece of."""

from __future__ import annotations

import json
import random
from functools import cache
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
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
RARE = ["\x00", marks.MARK, "é\u0301", "\r\n", " <r> ", "[U]"]


@cache
def document(rare: str, often: bool) -> str:
    """Some 136 KB, with something rare near the end, or in many places."""
    rng = random.Random(RARE.index(rare))
    words = [" the", " word", " a", "the ", "abab", "b", "  ", " e.", " the", " 中国", "hi ", "\n"]
    parts = rng.choices(words, k=41_000)
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
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert ours.encode_files([path]).ids.tolist() == expected, rare


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


@pytest.mark.parametrize("content", ["word ", "e a", " the", " ", "the", "d", "the  "])
@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"rstrip": True}, {"single_word": True}, {"normalized": True}])
def test_added_tokens_at_a_cut(content, flags, tmp_path, monkeypatch):
    """A document is cut before a space, which a token may hold, end with, begin with or take along."""
    vocab = {character: i for i, character in enumerate(sorted(reference.pre_tokenizers.ByteLevel.alphabet()))}
    definition = {
        "version": "1.0",
        "added_tokens": [{"id": 256, "content": content, **dict.fromkeys(FLAGS, False), **flags}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }
    assert_cut_well(json.dumps(definition), "\x00", tmp_path / "document.txt", monkeypatch)


@pytest.mark.parametrize("lacking", [False, True])
def test_special_tokens_around_a_document_in_pieces(lacking, tmp_path, monkeypatch):
    """Pieces that take the exact path neither begin nor end their document's row."""
    alphabet = sorted(reference.pre_tokenizers.ByteLevel.alphabet())
    vocab = {character: i for i, character in enumerate(c for c in alphabet if not lacking or c != "\u0100")}
    special = {"id": "!", "ids": [0, 1], "tokens": ["!", '"']}
    around = [{"SpecialToken": {"id": "!", "type_id": 0}}]
    definition = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [*around, {"Sequence": {"id": "A", "type_id": 0}}, *around],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"!": special},
        },
        "model": {"type": "BPE", "vocab": vocab, "merges": []},
    }
    text = "".join(("the word " * 6_000, "\x00", " the word" * 9_000, "\x00", " a b" * 9_000))
    one = reference.Tokenizer.from_str(json.dumps(definition))
    ours = hftok.Tokenizer.from_str(json.dumps(definition))
    path = tmp_path / "document.txt"
    path.write_text(text)
    expected = one.encode(text).ids
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for parallel in (False, True, True, True):
        rows = ours.encode_files([path, path], parallel=parallel)
        assert rows.to_list() == [expected, expected]
