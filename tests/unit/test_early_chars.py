"""Characters taken as symbols from the start: the merges end in the same tokens."""

from __future__ import annotations

import itertools
import random

import pytest

from hftok import models, pre_tokenizers
from hftok._core import early_chars
from hftok._core.models.bpe import BPEModel

CHARACTERS = "дежзик漢字日กาあé"


def letters(raw: bytes) -> str:
    """The ByteLevel characters of bytes, whatever these are."""
    table = {bytes([b]): c for b, c in zip(BYTES, TEXTS, strict=True)}
    return "".join(table[bytes([b])] for b in raw)


BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]
TEXTS = [chr(b) for b in BYTES]
for other in sorted(set(range(256)) - set(BYTES)):
    TEXTS.append(chr(256 + len(TEXTS) - 188))
    BYTES.append(other)


def random_model(rng: random.Random) -> BPEModel:
    """Merges of bytes and of what they become, within characters, across their borders and in any order."""
    assert sorted(TEXTS) == sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [bytes([b]) for b in range(256)]
    known = set(tokens)
    merges: list[tuple[bytes, bytes]] = []
    text = [bytes([b]) for c in rng.choices(CHARACTERS + " a", k=400) for b in c.encode()]
    while len(merges) < rng.choice([20, 60, 150]):
        at = rng.randrange(len(text) - 1)
        pair = text[at], text[at + 1]
        whole = pair[0] + pair[1]
        if len(whole) > 12 or pair in merges or whole in known:
            if rng.random() < 0.02:
                break
            continue
        known.add(whole)
        tokens.append(whole)
        merges.append(pair)
        k = 0
        while k < len(text) - 1:
            if (text[k], text[k + 1]) == pair and rng.random() < 0.9:
                text[k : k + 2] = [whole]
            k += 1
    if rng.random() < 0.7:
        rng.shuffle(merges)  # parts may come after what is made of them
    vocab = {letters(token): i for i, token in enumerate(tokens)}
    return BPEModel(vocab, [(letters(a), letters(b)) for a, b in merges])


def merged(model: BPEModel, ranks: dict[tuple[int, int], tuple[int, int]], symbols: list[int]) -> list[int]:
    """The lowest rank first, then the leftmost place."""
    symbols = list(symbols)
    while True:
        found = [(ranks[pair][0], i) for i, pair in enumerate(itertools.pairwise(symbols)) if pair in ranks]
        if not found:
            return symbols
        _, i = min(found)
        symbols[i : i + 2] = [ranks[symbols[i], symbols[i + 1]][1]]


@pytest.mark.parametrize("seed", range(40))
def test_the_same_tokens(seed):
    rng = random.Random(seed)
    model = random_model(rng)
    early = early_chars.of_model(model)
    ids = model.vocab
    ranks = {(ids[a], ids[b]): (rank, ids[a + b]) for rank, (a, b) in enumerate(model.merges)}
    for _ in range(60):
        text = "".join(rng.choices(CHARACTERS + " a", k=rng.randint(1, 12))).encode()
        if rng.random() < 0.3:
            text = text[rng.randint(0, 2) : len(text) - rng.randint(0, 1)] or b"a"  # inside a character
        expected = [token[0] for token in model.tokenize_bytes(text)]
        symbols = []
        at = 0
        while at < len(text):
            found = early.find(text, at)
            if found is None:
                symbols.append(ids[letters(text[at : at + 1])])
                at += 1
                continue
            symbols.append(found)
            at += 3 if text[at] >= 0xE0 else 2
        assert merged(model, ranks, symbols) == expected, text


def test_some_are_early_and_some_are_not():
    vocab = {letters(bytes([b])): b for b in range(256)}
    d, e, z = "д".encode(), "е".encode(), "ж".encode()
    pairs = [
        (d[:1], d[1:]),
        (b" ", d[:1]),  # before the letter it follows in the list: a space takes the letter's first byte
        (e[:1], e[1:]),
    ]
    for left, right in pairs:
        vocab[letters(left + right)] = len(vocab)
    early = early_chars.of_model(BPEModel(vocab, [(letters(a), letters(b)) for a, b in pairs]))
    assert early.count() == 2
    assert early.find(d, 0) == vocab[letters(d)]
    assert early.find(b" " + d, 1) == vocab[letters(d)]
    assert early.find(b"a" + e, 1) == vocab[letters(e)]
    assert early.find(b" " + e, 1) is None
    assert early.find(z, 0) is None
    assert early.find(e[:1], 0) is None
    with pytest.raises(IndexError):
        early.find(e, 2)


def test_none_where_symbols_are_not_what_they_say():
    assert early_chars.of_model(BPEModel({"a": 0, "b": 1, "ab": 2}, [("a", "b")])) is None
    model = models.BPE({"a": 0, "b": 1, "##b": 2, "ab": 3}, [("a", "##b")], continuing_subword_prefix="##")
    assert early_chars.of_model(model._kernel()) is None
