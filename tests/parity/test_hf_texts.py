"""Many texts through hftok.hf: every text of the grid in each of twenty calls, against transformers' tokenizers."""

from __future__ import annotations

from typing import Any

import pytest
from grid_texts import grid_texts
from test_hf_grid import BACKENDS, Call, compare

TENSORS = {"padding": True, "return_tensors": "np"}
CALLS: list[dict[str, Any]] = [
    {},
    {"add_special_tokens": False},
    {"return_offsets_mapping": True, "return_special_tokens_mask": True},
    {"return_offsets_mapping": True, "return_length": True, "add_special_tokens": False},
    {"truncation": True, "max_length": 8},
    {"truncation": True, "max_length": 9, "return_offsets_mapping": True},
    {"truncation": True, "max_length": 6, "stride": 2, "return_overflowing_tokens": True},
    {"padding": "max_length", "max_length": 24, "truncation": True},
    {**TENSORS},
    {**TENSORS, "truncation": True, "max_length": 16},
    {**TENSORS, "pad_to_multiple_of": 8, "return_special_tokens_mask": True},
    {**TENSORS, "return_tensors": "pt", "truncation": True, "max_length": 12, "return_offsets_mapping": True},
]
PAIRS: list[dict[str, Any]] = [
    {},
    {"return_offsets_mapping": True},
    {"truncation": "longest_first", "max_length": 9},
    {"truncation": "only_first", "max_length": 40},
    {"truncation": "only_second", "max_length": 40, "stride": 3, "return_overflowing_tokens": True},
    {**TENSORS},
    {**TENSORS, "return_tensors": "pt", "truncation": True, "max_length": 20},
    {**TENSORS, "padding": "max_length", "truncation": True, "max_length": 32, "return_offsets_mapping": True},
]
GROUP = 8


def groups() -> list[list[str]]:
    texts = grid_texts()
    return [texts[i : i + GROUP] for i in range(0, len(texts), GROUP)]


def test_size_of_the_grid() -> None:
    texts = {text for group in groups() for text in group}
    assert len(texts) >= 400
    assert len(texts) * (len(CALLS) + len(PAIRS)) >= 10_000


@pytest.mark.parametrize("name", ["bert", "bert cased"])
def test_texts(name: str) -> None:
    reference, ours = BACKENDS[name]()
    calls: list[Call] = []
    for number, kwargs in enumerate(CALLS):
        calls += [("__call__", (group,), kwargs) for group in groups()[:: 1 if name == "bert" else 3]]
        calls += [("__call__", (group[number % len(group)],), kwargs) for group in groups()[number % 3 :: 3]]
    compare(reference, ours, calls)


@pytest.mark.parametrize("name", ["bert", "left"])
def test_pairs(name: str) -> None:
    reference, ours = BACKENDS[name]()
    calls: list[Call] = []
    for kwargs in PAIRS:
        calls += [("__call__", (group, group[::-1]), kwargs) for group in groups()[:: 1 if name == "bert" else 3]]
    compare(reference, ours, calls)
