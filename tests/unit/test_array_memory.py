"""Memory of big results: used again once a result is gone, never before, and bounded."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import hftok
from hftok._core.array_memory import kept_blocks

KEPT_BYTES = 64 << 20


@pytest.fixture(scope="module")
def tokenizer():
    vocab = {"[UNK]": 0, "a": 1, "b": 2}
    tokenizer = hftok.Tokenizer(hftok.models.WordLevel(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = hftok.pre_tokenizers.Whitespace()
    return tokenizer


def batch(tokenizer, text: str, rows: int, words: int) -> dict[str, np.ndarray]:
    return tokenizer.encode_batch_padded([" ".join([text] * words)] * rows)


def test_memory_of_a_live_array_is_not_given_out(tokenizer):
    first = batch(tokenizer, "a", 64, 512)["input_ids"]
    view = first[3:, ::2]
    del first
    others = [batch(tokenizer, "b", 64, 512) for _ in range(20)]
    assert (view == 1).all()
    assert all((other["input_ids"] == 2).all() for other in others)


def test_memory_is_used_again(tokenizer):
    batch(tokenizer, "a", 64, 512)
    assert kept_blocks()
    addresses = set()
    for _ in range(10):
        addresses.add(batch(tokenizer, "a", 64, 512)["input_ids"].ctypes.data)
    assert len(addresses) <= 4


def test_kept_memory_is_bounded(tokenizer):
    sizes = [(1024, 1000), (700, 333), (64, 100), (256, 4096)] * 2
    for rows, words in sizes:
        held = [batch(tokenizer, "a", rows, words) for _ in range(2)]
        assert (held[0]["input_ids"] == 1).all()
        del held
        kept = kept_blocks()
        assert sum(kept) <= KEPT_BYTES
        assert len(kept) <= 16


def test_arrays_own_their_memory(tokenizer):
    array = batch(tokenizer, "a", 64, 512).pop("input_ids")
    assert array.flags.owndata
    assert array.flags.writeable
    assert array.ctypes.data % 16 == 0
    array[0] = 7
    array.resize((64, 1024), refcheck=False)
    assert (array.ravel()[:512] == 7).all()
    assert (array.ravel()[512 : 64 * 512] == 1).all()
    array.resize((2, 2), refcheck=False)
    assert (array == 7).all()


def test_numpy_keeps_its_own_handler(tokenizer):
    name = np._core.multiarray.get_handler_name
    before = name()
    array = batch(tokenizer, "a", 64, 512)["input_ids"]
    assert name() == before
    assert name(array) == "hftok_result_memory"
    assert name(np.empty(100_000)) == before


def test_threads(tokenizer):
    wrong = []

    def work(text: str, id_: int) -> None:
        for k in range(25):
            if not (batch(tokenizer, text, 20 + k, 200)["input_ids"] == id_).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=pair) for pair in [("a", 1), ("b", 2), ("c", 0)] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
