"""ParityBpeTrainer beside the reference's: the same tokenizers from the same texts."""

import json
import random
from typing import Any

import pytest
import tokenizers

import hftok
from hftok._core.training import parity
from hftok.trainers import ParityBpeTrainer

ALPHABETS = ["abcde", "αβγδ", "あいう中", "aeé"]


def texts(rng: random.Random, alphabet: str, count: int) -> list[str]:
    """Words that come again, so that pairs differ in how often they occur."""
    words = ["".join(rng.choices(alphabet, k=rng.randrange(1, 8))) for _ in range(12)]
    return [" ".join(rng.choices(words, k=rng.randrange(1, 9))) for _ in range(count)]


def trained(library: Any, trainer: Any, train: Any, dev: Any, ratio: Any, byte_level: bool) -> dict[str, Any]:
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel() if byte_level else library.pre_tokenizers.Whitespace()
    tokenizer.normalizer = library.normalizers.Lowercase()
    trainer.train_from_iterator(tokenizer, train, dev, ratio)
    return json.loads(tokenizer.to_str())


def both(settings: dict[str, Any], *arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    settings = {"show_progress": False, **settings}
    return (
        trained(tokenizers, tokenizers.trainers.ParityBpeTrainer(**settings), *arguments),
        trained(hftok, ParityBpeTrainer(**settings), *arguments),
    )


class Endless(Exception):
    """The reference would not come back from this training."""


def fails(*arguments: Any) -> None:
    raise Endless


def test_trained(monkeypatch):
    rng = random.Random(31)
    compared = 0
    for _ in range(120):
        languages = rng.randrange(1, 5)
        alphabets = [rng.choice(ALPHABETS) for _ in range(languages)]
        train = [texts(rng, alphabet, rng.randrange(1, 30)) for alphabet in alphabets]
        dev = [texts(rng, alphabet, rng.randrange(1, 10)) for alphabet in alphabets] if rng.random() < 0.5 else None
        if dev and rng.random() < 0.5:
            dev = [lines + train[i][:3] for i, lines in enumerate(dev)]
        ratio = [rng.choice([0.5, 1.0, 1.5, 3.0]) for _ in range(languages)] if rng.random() < 0.4 else None
        settings = {
            "num_merges": rng.choice([0, 5, 40, 300]),
            "variant": rng.choice(["base", "window"]),
            "min_frequency": rng.choice([0, 0, 2, 5]),
            "global_merges": rng.choice([0, 0, 3, 50]),
            "window_size": rng.choice([1, 3, 100]),
            "alpha": rng.choice([0.5, 1.0, 2.0]),
            "total_symbols": rng.random() < 0.3,
            "special_tokens": rng.choice([[], ["<s>", "a"], ["[UNK]"]]),
            "initial_alphabet": rng.choice([[], ["z", "a", "é"]]),
            "max_token_length": rng.choice([None, None, 2, 4, 10]),
        }
        arguments = settings, train, dev, ratio, rng.random() < 0.3
        with monkeypatch.context() as patch:
            patch.setattr(parity._Training, "longest_left", fails)
            try:
                trained(hftok, ParityBpeTrainer(show_progress=False, **settings), *arguments[1:])
            except Endless:
                continue
        expected, got = both(*arguments)
        assert got == expected, arguments
        compared += 1
    assert compared > 80


def test_ends_where_the_reference_does_not():
    """A language goes on alone after its share of the window, and beside a language without texts."""
    settings = {"variant": "window", "window_size": 2, "alpha": 0.1, "num_merges": 50, "show_progress": False}
    written = trained(hftok, ParityBpeTrainer(**settings), [["ab"] * 9, ["abcdefgh"]], None, None, False)
    assert len(written["model"]["merges"]) == 7
    settings = {"num_merges": 50, "show_progress": False}
    written = trained(hftok, ParityBpeTrainer(**settings), [["abc"], []], None, [1.0, 1.0], False)
    assert len(written["model"]["merges"]) == 2


def test_affixes():
    """The ids of characters with affixes follow a hash table there: compared by their strings."""
    rng = random.Random(37)
    for _ in range(40):
        train = [texts(rng, alphabet, 10) for alphabet in ALPHABETS[:2]]
        dev = [lines[:4] for lines in train] if rng.random() < 0.5 else None
        settings = {
            "num_merges": 30,
            "continuing_subword_prefix": rng.choice([None, "##", "a"]),
            "end_of_word_suffix": rng.choice([None, "</w>", "b"]),
        }
        expected, got = both(settings, train, dev, None, False)
        for document in (expected, got):
            document["model"]["vocab"] = sorted(document["model"]["vocab"])
        assert got == expected, settings


def test_lists_of_texts_and_texts_without_pre_tokenizer():
    for library, trainer in ((tokenizers, tokenizers.trainers.ParityBpeTrainer), (hftok, ParityBpeTrainer)):
        tokenizer = library.Tokenizer(library.models.BPE())
        trainer(num_merges=3, show_progress=False).train_from_iterator(
            tokenizer, [[["ab ", "\x1cab\x1c"], " \u3000"], iter(["ba", ["ab"]])]
        )
        written = json.loads(tokenizer.to_str())
        if library is tokenizers:
            expected = written
    assert written == expected


@pytest.mark.parametrize(
    ("settings", "arguments"),
    [
        ({}, ([],)),
        ({}, ([["a"]], [["a"], ["b"]])),
        ({}, ([["a"]], [])),
        ({}, ([["a"]], None, [1.0, 2.0])),
        ({}, ([["a"]], None, [0.0])),
        ({"ratio": [-1.0]}, ([["a"]],)),
        ({"variant": "window", "window_size": 0}, ([["a"]],)),
        ({"variant": "window", "alpha": 0.0}, ([["a"]],)),
        ({"variant": "window", "alpha": float("inf")}, ([["a"]],)),
        ({}, (["a"],)),
        ({}, ([5],)),
        ({}, ([[5]],)),
        ({}, ([[["a", 5]]],)),
        ({}, (5,)),
        ({}, ([["a"]], None, ["x"])),
    ],
)
def test_refused(settings, arguments):
    errors = []
    for library, kind in ((tokenizers, tokenizers.trainers.ParityBpeTrainer), (hftok, ParityBpeTrainer)):
        tokenizer = library.Tokenizer(library.models.BPE())
        before = tokenizer.to_str()
        try:
            kind(show_progress=False, **settings).train_from_iterator(tokenizer, *arguments)
        except Exception as error:
            errors.append((type(error), str(error) if isinstance(error, (RuntimeError, ValueError)) else ""))
            assert tokenizer.to_str() == before
        else:
            errors.append(None)
    assert errors[0] == errors[1]


def test_the_tokenizer_must_be_one():
    for kind in (tokenizers.trainers.ParityBpeTrainer, ParityBpeTrainer):
        with pytest.raises(TypeError):
            kind().train_from_iterator(None, [["a"]])
