"""WordPiece and WordLevel training against the installed reference."""

import doctest
import random
from typing import Any

import pytest
from tokenizers import models, trainers
from train_reference import in_id_order, random_words, reference_model

from hftok._core.training import wordlevel, wordpiece
from hftok._core.training.wordlevel import train_wordlevel
from hftok._core.training.wordpiece import train_wordpiece


def test_wordpiece() -> None:
    """The reference numbers symbols with a prefix at random; ours are told to be the same. Where its queue holds equal
    entries, which only happens when '#' is in the text, one of its runs must be ours."""
    for seed in range(300):
        rng = random.Random(seed)
        words = random_words(rng)
        if rng.random() < 0.2:
            words |= {"##": 3, "a##b": 2, "#a": 4, "###": 1}
        settings: dict[str, Any] = {"vocab_size": rng.choice([5, 30, 100]), "min_frequency": rng.choice([0, 2])}
        if rng.random() < 0.5:
            settings["special_tokens"] = ["[UNK]", "##a", "ab"][: rng.randint(1, 3)]
        if rng.random() < 0.3:
            settings["initial_alphabet"] = ["z", "#"]
        if rng.random() < 0.2:
            settings["continuing_subword_prefix"] = rng.choice(["@@", "a"])
        for _ in range(60):
            trainer = trainers.WordPieceTrainer(show_progress=False, **settings)
            expected = in_id_order(reference_model(models.WordPiece(), trainer, words)["vocab"])
            trained = train_wordpiece(words, base_symbol_order=expected, **settings)
            if trained == expected:
                break
        assert trained == expected, (seed, words, settings)


def test_wordpiece_is_the_same_in_every_run() -> None:
    words = random_words(random.Random(1))
    reversed_words = dict(reversed(words.items()))
    assert train_wordpiece(words, vocab_size=80) == train_wordpiece(reversed_words, vocab_size=80, threads=2)


def test_both_forms_of_a_character_are_kept() -> None:
    """`x` is in the vocabulary even where it never begins a word: the alphabet is added before the prefixed symbols."""
    assert train_wordpiece({"ab": 1}, vocab_size=3) == ["a", "b", "##b"]


def test_wordlevel() -> None:
    for seed in range(400):
        rng = random.Random(seed)
        words = random_words(rng)
        settings: dict[str, Any] = {
            "vocab_size": rng.choice([0, 1, 3, 10, 1000]),
            "min_frequency": rng.choice([0, 1, 2, 5]),
            # Special tokens that are words, or given twice: they take their last place and leave a hole.
            "special_tokens": rng.choices(["[UNK]", "a", "b", "ab", "字", "ba"], k=rng.randint(0, 4)),
        }
        trainer = trainers.WordLevelTrainer(show_progress=False, **settings)
        expected = reference_model(models.WordLevel(), trainer, words)["vocab"]
        assert train_wordlevel(words, **settings) == expected, (seed, words, settings)


def test_wordlevel_cut_between_any_counts() -> None:
    """The last count that makes it may be a small one, which is found by counting, or a large one."""
    rng = random.Random("cut")
    prefix = "a word longer than eight bytes "
    for counts in ((1, 2, 3), (1, 4095, 4096, 4097, 5000), (1 << 20, 1 << 40, (1 << 64) - 1)):
        words = {prefix * (i % 2) + str(rng.randrange(10**6)): rng.choice(counts) for i in range(300)}
        ranked = sorted(words, key=lambda word: (-words[word], word.encode()))
        for size in range(0, 320, 7):
            assert list(train_wordlevel(words, vocab_size=size)) == ranked[:size]


def test_wordlevel_hole() -> None:
    assert train_wordlevel({"[UNK]": 3, "a": 2, "b": 1}, special_tokens=["[UNK]", "b"]) == {"[UNK]": 2, "a": 3, "b": 4}


def test_wordlevel_orders_equal_counts_by_bytes() -> None:
    words = {"b": 1, "a": 1, "é": 1, "z": 1, "😀": 1, "\uffff": 1, "ab": 1}
    assert list(train_wordlevel(words)) == ["a", "ab", "b", "z", "é", "\uffff", "😀"]


def test_wordlevel_counts_have_64_bits() -> None:
    assert list(train_wordlevel({"a": 1 << 63, "b": (1 << 63) + 1, "c": (1 << 64) - 1})) == ["c", "b", "a"]
    assert train_wordlevel({"a": 5}, min_frequency=(1 << 64) - 1) == {}


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="UTF-8"):
        train_wordlevel([b"\xff"])
    with pytest.raises(OverflowError, match="vocab_size"):
        train_wordlevel(["a"], vocab_size=-1)
    with pytest.raises(OverflowError, match="min_frequency"):
        train_wordpiece(["a"], min_frequency=-1)
    with pytest.raises(TypeError, match="mapping"):
        train_wordlevel(7)


def test_examples_in_docstrings() -> None:
    results = [doctest.testmod(module) for module in (wordlevel, wordpiece)]
    assert all(result.attempted for result in results)
    assert not any(result.failed for result in results)
