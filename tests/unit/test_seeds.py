"""Tokens that are proved to encode to themselves do."""

from __future__ import annotations

import random

import pytest

from hftok import models
from hftok._core.seeds import proved_tokens


@pytest.mark.parametrize("seed", range(60))
def test_proved_tokens_encode_to_themselves(seed):
    """Random lists of merges over few letters, in which many tokens are never reached."""
    rng = random.Random(seed)
    tokens = list("abc")
    merges = []
    for _ in range(rng.randint(1, 40)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if left + right not in tokens:
            tokens.append(left + right)
        if (left, right) not in merges:
            merges.append((left, right))
    rng.shuffle(merges)
    vocab = {token: i for i, token in enumerate(tokens)}
    model = models.BPE(vocab, merges)
    whole = {i for token, i in vocab.items() if [piece.id for piece in model.tokenize(token)] == [i]}
    proved = set(proved_tokens(model._kernel()))
    assert {0, 1, 2} <= proved <= whole


def test_nothing_is_proved_of_a_model_with_affixes():
    model = models.BPE({"a": 0, "##b": 1, "ab": 2}, [("a", "##b")], continuing_subword_prefix="##")
    assert proved_tokens(model._kernel()) == []
