"""Truncation where pre-tokens have no tokens: how far the reference reads decides the lengths, and they what is cut.

`tokenize_with_limit` (tokenizer/pre_tokenizer.rs) asks after every pre-token whether max_length tokens are there, but
not after added tokens: a pre-token without tokens behind such as have filled the room ends the reading.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
import tokenizers
import transformers
from tokenizers import AddedToken, models, pre_tokenizers, processors

import hftok
import hftok.hf

STRATEGIES = ("longest_first", "only_first", "only_second")


def reference(template: bool) -> tokenizers.Tokenizer:
    """BPE without an unknown token: characters that it does not know leave nothing."""
    vocab = {token: i for i, token in enumerate(["a", "b", "c", "ab", "[S]", "[T]", "[P]"])}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab, [("a", "b")]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_tokens(["[S]", AddedToken("[T]", lstrip=True, rstrip=True)])
    tokenizer.add_special_tokens(["[P]"])
    if template:
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[P] $A", pair="[P] $A [P] $B:1", special_tokens=[("[P]", 6)]
        )
    return tokenizer


def texts(seed: int, n: int) -> list[str]:
    words = ["x", "xx", "a", "ab", "abc", "cxb", "[S]", "[S]", "[S][S]", "[T]", "[S]x", "x[S]"]
    choice = random.Random(seed)
    return [" ".join(choice.choices(words, k=choice.randrange(9))) for _ in range(n)]


def outcome(call):
    try:
        return call()
    except Exception as error:
        return type(error), str(error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return ValueError, "row 1 of docs/differences.md"


@pytest.mark.parametrize("template", [False, True])
@pytest.mark.parametrize("side", ["right", "left"])
def test_arrays(template: bool, side: str) -> None:
    theirs = reference(template)
    ours = hftok.Tokenizer(theirs)
    a, b = texts(1, 400), texts(2, 400)
    theirs.enable_padding()
    for max_length in range(3, 9):
        for strategy in STRATEGIES:
            theirs.enable_truncation(max_length, strategy=strategy, direction=side)
            ours.enable_truncation(max_length, strategy=strategy, direction=side)
            for first, second in zip(a, b, strict=True):
                expected = outcome(lambda x=first, y=second: theirs.encode(x, y).ids)
                got = outcome(lambda x=first, y=second: ours.encode(x, y).ids)
                matrix = outcome(
                    lambda x=first, y=second, n=max_length, s=strategy: ours.encode_batch_padded(
                        [x], pairs=[y], max_length=n, truncation=s, truncation_side=side
                    )["input_ids"][0].tolist()
                )
                assert got == expected, (first, second, max_length, strategy)
                assert matrix == expected, (first, second, max_length, strategy)


@pytest.mark.parametrize("side", ["right", "left"])
def test_rows_of_transformers(side: str) -> None:
    kwargs = {"tokenizer_object": reference(True), "pad_token": "[P]", "truncation_side": side}
    theirs = transformers.PreTrainedTokenizerFast(**kwargs)
    ours = hftok.hf.PreTrainedTokenizerFast(**kwargs)
    a, b = texts(3, 120), texts(4, 120)
    for max_length in range(3, 9):
        for strategy in STRATEGIES:
            for extra in ({}, {"return_overflowing_tokens": True, "stride": 1}):
                for args in ((a,), (a, b)):
                    for i in range(0, len(a), 3):
                        call = {
                            "max_length": max_length,
                            "truncation": strategy,
                            "padding": True,
                            "return_tensors": "np",
                            **extra,
                        }
                        part = [x[i : i + 3] for x in args]
                        x = outcome(lambda p=part, c=call: dict(theirs(*p, **c)))
                        y = outcome(lambda p=part, c=call: dict(ours(*p, **c)))
                        if isinstance(x, tuple):
                            assert x[0] is y[0], (part, call, y)
                            continue
                        assert isinstance(y, dict), (part, call, y)
                        assert list(x) == list(y)
                        for key in x:
                            assert np.array_equal(x[key], y[key]), (part, call, key)
