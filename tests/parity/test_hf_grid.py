"""A grid of calls through hftok.hf against transformers' tokenizers; the reference is switched off while hftok runs."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
import transformers
from hf_comparison import SPECIALS, TEXTS, outcome, reference_off, settings, wordpiece
from tokenizers import normalizers, pre_tokenizers, processors

import hftok.hf
from hftok import Tokenizer

BERT_NAMES = ["input_ids", "token_type_ids", "attention_mask"]

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def pair_of_tokenizers(backend: Any, **kwargs: Any) -> tuple[Any, Any]:
    given = {**SPECIALS, **kwargs}
    return (
        transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **given),
        hftok.hf.PreTrainedTokenizerFast(tokenizer_object=backend, **given),
    )


BACKENDS: dict[str, Any] = {
    "bert": lambda: pair_of_tokenizers(wordpiece(), model_input_names=BERT_NAMES),
    "bert cased": lambda: pair_of_tokenizers(
        wordpiece(normalizer=normalizers.BertNormalizer(lowercase=False, strip_accents=True))
    ),
    "limited": lambda: pair_of_tokenizers(wordpiece(), model_input_names=BERT_NAMES, model_max_length=12),
    "left": lambda: pair_of_tokenizers(
        wordpiece(), model_input_names=BERT_NAMES, padding_side="left", truncation_side="left", model_max_length=20
    ),
    "bert processing": lambda: pair_of_tokenizers(
        wordpiece(template=False, post_processor=processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))),
        model_input_names=BERT_NAMES,
    ),
    "no processor": lambda: pair_of_tokenizers(wordpiece(template=False), model_input_names=BERT_NAMES),
    "split special tokens": lambda: pair_of_tokenizers(
        wordpiece(normalizer=normalizers.Lowercase(), pre_tokenizer=pre_tokenizers.BertPreTokenizer()),
        split_special_tokens=True,
    ),
}


def words(rng: random.Random, pool: list[str]) -> list[str]:
    found = rng.choice(pool).split(" ")[: rng.choice([0, 1, 3, 10, 100])]
    return found


def texts(rng: random.Random, pool: list[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that are text, and those that go with them."""
    batch = [rng.choice(pool) for _ in range(rng.choice([1, 2, 3, 7]))]
    other = [rng.choice(pool) for _ in batch]
    kind = rng.randrange(16)
    if kind < 3:
        return (batch[0],), {}
    if kind < 5:
        return (batch[0], other[0]), {}
    if kind < 8:
        return (batch,), {}
    if kind < 10:
        return (batch, other), {}
    if kind == 10:
        return ([list(p) if rng.random() < 0.3 else p for p in zip(batch, other, strict=True)],), {}
    if kind == 11:
        return (words(rng, pool),), {"is_split_into_words": True}
    if kind == 12:
        return (words(rng, pool), words(rng, pool)), {"is_split_into_words": True}
    if kind == 13:
        return ([words(rng, pool) for _ in batch],), {"is_split_into_words": True}
    if kind == 14:
        return ([words(rng, pool) for _ in batch], [words(rng, pool) for _ in batch]), {"is_split_into_words": True}
    return (tuple(batch),), {}


MAYBE: list[tuple[float, str, list[Any]]] = [
    (0.5, "padding", [True, False, "longest", "max_length", "do_not_pad", transformers.utils.PaddingStrategy.LONGEST]),
    (0.5, "truncation", [True, False, None, "longest_first", "only_first", "only_second", "do_not_truncate"]),
    (0.5, "max_length", [None, 3, 4, 5, 8, 9, 16, 17, 64, 1, 2, 0]),
    (0.3, "stride", [0, 1, 2, 3, 5]),
    (0.15, "pad_to_multiple_of", [None, 1, 2, 4, 8]),
    (0.15, "padding_side", ["left", "right", None]),
    (0.5, "return_tensors", ["pt", "np", None, transformers.TensorType.PYTORCH]),
    (0.2, "return_token_type_ids", [True, False, None]),
    (0.2, "return_attention_mask", [True, False, None]),
    (0.2, "return_overflowing_tokens", [True, False]),
    (0.3, "return_special_tokens_mask", [True, False]),
    (0.3, "return_offsets_mapping", [True, False]),
    (0.2, "return_length", [True, False]),
    (0.2, "add_special_tokens", [True, False]),
    (0.1, "split_special_tokens", [True, False, None]),
    (0.1, "verbose", [True, False]),
]


# What 4.57 had besides.
OLD_METHODS = [name for name in ("encode_plus", "batch_encode_plus") if hasattr(transformers.BertTokenizerFast, name)]


def random_call(rng: random.Random, pool: list[str] = TEXTS) -> Call:
    args, kwargs = texts(rng, pool)
    for chance, name, values in MAYBE:
        if rng.random() < chance:
            kwargs[name] = rng.choice(values)
    method = rng.choice(["__call__"] * 6 + ["encode", "tokenize", "text_target", *OLD_METHODS])
    if method == "tokenize":
        kwargs = {k: v for k, v in kwargs.items() if k in ("add_special_tokens", "split_special_tokens")}
    if method == "text_target":
        return "__call__", (), {"text": args[0], "text_target": rng.choice(TEXTS), **kwargs}
    if method == "batch_encode_plus":
        args = (list(zip(*args, strict=False)) if len(args) == 2 and isinstance(args[0], list) else args[0],)
    return method, args, kwargs


def core_calls() -> list[Call]:
    """Every padding and truncation strategy with every kind of input, of tensors and of output."""
    inputs: list[tuple[Any, ...]] = [
        (TEXTS[3],),
        (TEXTS[3], TEXTS[9]),
        (TEXTS,),
        (TEXTS[:5], TEXTS[6:11]),
    ]
    calls: list[Call] = []
    for args, padding, truncation, max_length, tensors, extra in itertools.product(
        inputs,
        [False, True, "max_length"],
        [None, "longest_first", "only_first", "only_second"],
        [None, 7, 32],
        [None, "np", "pt"],
        [{}, {"return_offsets_mapping": True, "return_special_tokens_mask": True, "return_length": True}],
    ):
        kwargs = {"padding": padding, "truncation": truncation, "max_length": max_length, "return_tensors": tensors}
        calls.append(("__call__", args, {**kwargs, **extra}))
    return calls


def compare(reference: Any, ours: Any, calls: list[Call]) -> None:
    assert ours.is_accelerated
    assert isinstance(ours.backend_tokenizer, Tokenizer)
    expected = []
    for method, args, kwargs in calls:
        for _ in range(2):  # the first time a call is seen, it takes another way than the second time
            expected.append((outcome(getattr(reference, method), *args, **kwargs), settings(reference)))
    with reference_off():
        found = []
        for method, args, kwargs in calls:
            for _ in range(2):
                found.append((outcome(getattr(ours, method), *args, **kwargs), settings(ours)))
    wrong = []
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a[0][0][0] == "panic":
            assert b[0][0][0] == "error", (calls[i // 2], b)
        elif a != b:
            wrong.append((i % 2, calls[i // 2], a, b))
    assert not wrong, f"{len(wrong)} of {len(found)} differ; first:\n" + "\n".join(map(str, wrong[0]))


@pytest.mark.parametrize("name", BACKENDS)
def test_core(name: str) -> None:
    reference, ours = BACKENDS[name]()
    compare(reference, ours, core_calls()[:: 1 if name == "bert" else 7])


@pytest.mark.parametrize("name", BACKENDS)
def test_random_calls(name: str) -> None:
    rng = random.Random(f"grid {name}")
    reference, ours = BACKENDS[name]()
    compare(reference, ours, [random_call(rng) for _ in range(400)])


@pytest.mark.parametrize("name", ["bert", "left"])
def test_lengths_around_that_of_a_short_text(name: str) -> None:
    """A text of at most 512 characters goes its own way, batches of few rows lie on the stack."""
    reference, ours = BACKENDS[name]()
    calls: list[Call] = []
    for k, characters in enumerate((511, 512, 513)):
        for text in ("the fox " * 65, "é 東 the " * 65):
            text = text[:characters]
            for tensors, padding, truncation, length in (
                (None, False, False, None),
                (None, "max_length", True, 140),
                ("np", True, True, 40),
                ("pt", "max_length", "only_second", 150),
                ("pt", True, "only_first", 2),
            ):
                kwargs = {
                    "return_tensors": tensors,
                    "padding": padding,
                    "truncation": truncation,
                    "max_length": length,
                    "return_special_tokens_mask": k == 1,
                    "return_length": k == 2,
                }
                calls += [("__call__", (text,), kwargs)]
                calls += [("encode", (text,), {"truncation": truncation, "max_length": length})]
    for rows in (32, 33, 63, 64, 65):
        texts = [TEXTS[i % len(TEXTS)] for i in range(rows)]
        calls += [("__call__", (texts,), {"padding": True, "return_tensors": "pt"})]
        calls += [("__call__", (texts, texts[::-1]), {"padding": True, "truncation": True, "max_length": 30})]
    compare(reference, ours, calls)
