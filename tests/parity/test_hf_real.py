"""The grid of calls on every real tokenizer at hand, of all model families."""

from __future__ import annotations

import json
import os
import pathlib
import random
from typing import Any

import pytest
import transformers
from grid_texts import grid_texts
from hf_comparison import TEXTS, outcome, plain
from test_hf_grid import Call, compare, random_call
from tokenizers import AddedToken

import hftok.hf

FOLDER = pathlib.Path(os.environ.get("HFTOK_TEST_DATA", "/nowhere"), "tokenizers")
EVERY = int(os.environ.get("HFTOK_GRID_EVERY", "1"))  # 3: each third tokenizer
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/tokenizer.json"))[::EVERY]
CALLS = int(os.environ.get("HFTOK_GRID_CALLS", "10"))  # of each kind: the long run uses hundreds

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not NAMES, reason="needs the real tokenizers"),
]


def load(name: str) -> tuple[Any, Any]:
    folder = FOLDER / name
    config = folder / "tokenizer_config.json"
    if config.exists() and "auto_map" in json.loads(config.read_text()):
        pytest.skip("a tokenizer with code of its own, which is not at hand")
    names = ("AutoTokenizer", "PreTrainedTokenizerFast")  # what one version knows, another may not
    name = next(n for n in names if outcome(getattr(transformers, n).from_pretrained, folder)[0][0] == "value")
    theirs = getattr(transformers, name).from_pretrained(folder)
    ours = getattr(hftok.hf, name).from_pretrained(folder)
    assert ours.is_accelerated
    assert ours.backend_tokenizer.to_str() == theirs.backend_tokenizer.to_str()
    assert plain(ours.added_tokens_decoder) == plain(theirs.added_tokens_decoder)
    if theirs.pad_token is None:
        added = theirs.added_tokens_decoder
        theirs.pad_token = ours.pad_token = next(iter(added.values())).content if added else theirs.decode([0])
    if theirs.model_max_length > 2000:
        theirs.model_max_length = ours.model_max_length = 2000  # padding to a hundred thousand tokens takes its time
    return theirs, ours


@pytest.mark.parametrize("name", NAMES)
def test_calls(name: str) -> None:
    rng = random.Random(f"real {name}")
    theirs, ours = load(name)
    pool = [*TEXTS * 10, *grid_texts()]
    compare(theirs, ours, [random_call(rng, pool) for _ in range(CALLS)])
    changes: list[Call] = [
        ("__setattr__", (name, value), {})
        for name, value in [
            ("truncation_side", "left"),
            ("padding_side", "left"),
            ("model_max_length", 30),
            ("split_special_tokens", True),
            ("split_special_tokens", False),
        ]
    ]
    changes.append(("add_tokens", (["<new>", "hello", AddedToken("quick", lstrip=True, single_word=True)],), {}))
    changes.append(("add_special_tokens", ({"eos_token": "<end>"},), {}))
    rng.shuffle(changes)
    calls = [random_call(rng, pool) for _ in range(CALLS // 2)]
    for change in changes:
        calls.insert(rng.randrange(len(calls) + 1), change)
    compare(theirs, ours, calls)
