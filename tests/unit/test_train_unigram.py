"""Unigram training against the installed reference.

The reference sums floating point numbers in hash order, and gives characters that have fallen out of the model their
penalties in hash order: what can be compared is the set of pieces, all scores as a sorted list, and the scores of
pieces of several characters.
"""

import doctest
import math
import random
from collections import Counter
from typing import Any

import pytest
from tokenizers import models, trainers
from train_reference import reference_model, zipf_words

from hftok._core.training import unigram
from hftok._core.training.unigram import TrainedUnigram, train_unigram


def reference_unigram(words: dict[str, int], **settings: Any) -> tuple[list[tuple[str, float]], int | None]:
    state = reference_model(models.Unigram(), trainers.UnigramTrainer(show_progress=False, **settings), words)
    return [(token, score) for token, score in state["vocab"]], state["unk_id"]


def assert_same(expected: tuple[list[tuple[str, float]], int | None], trained: TrainedUnigram, note: object) -> None:
    vocab, unk_id = expected
    assert trained.unk_id == unk_id, note
    assert sorted(token for token, _ in trained.vocab) == sorted(token for token, _ in vocab), note
    scores = [sorted(score for _, score in v) for v in (trained.vocab, vocab)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-9), note
    long_pieces = [sorted(piece for piece in v if len(piece[0]) > 1) for v in (trained.vocab, vocab)]
    for ours, theirs in zip(*long_pieces, strict=True):
        assert ours[0] == theirs[0], note
        assert ours[1] == pytest.approx(theirs[1], abs=1e-9), (note, ours)
    special = [token for token, score in vocab if score == 0.0]
    assert [token for token, score in trained.vocab if score == 0.0] == special, note
    if unk_id is not None:
        assert trained.vocab[unk_id][0] == vocab[unk_id][0], note


def random_case(rng: random.Random) -> tuple[dict[str, int], dict[str, Any]]:
    alphabet = rng.choice(["ab", "abcd", "abcdefghijklmnop", "aé字😀b"])
    lexicon = [
        "".join(rng.choice(alphabet) for _ in range(rng.randint(1, rng.choice([3, 6, 12]))))
        for _ in range(rng.choice([2, 10, 50, 300]))
    ]
    words: Counter[str] = Counter()
    for _ in range(rng.choice([5, 50, 400])):
        words["".join(rng.choice(lexicon) for _ in range(rng.choice([1, 1, 1, 2, 3])))] += rng.choice([1, 1, 2, 7])
    settings: dict[str, Any] = {"vocab_size": rng.choice([20, 25, 30, 50, 100, 300])}
    if rng.random() < 0.4:
        settings["unk_token"] = rng.choice(["<unk>", "a", "<s>"])
    if rng.random() < 0.4:
        settings["special_tokens"] = rng.sample(["<s>", "</s>", "<unk>", "ab", "a"], rng.randint(1, 4))
    if rng.random() < 0.3:
        settings["initial_alphabet"] = ["a", "z", "é"]
    if rng.random() < 0.3:
        settings["shrinking_factor"] = rng.choice([0.3, 0.5, 0.9])
    if rng.random() < 0.3:
        settings["n_sub_iterations"] = rng.choice([1, 3])
    if rng.random() < 0.3:
        settings["max_piece_length"] = rng.choice([1, 2, 3, 5, 30])
    if rng.random() < 0.2:
        settings["seed_size"] = rng.choice([1, 10, 100])
    return dict(words), settings


@pytest.mark.parametrize("part", range(2))
def test_random_settings(part: int) -> None:
    for seed in range(1000 * part, 1000 * part + 150):
        words, settings = random_case(random.Random(seed))
        assert_same(reference_unigram(words, **settings), train_unigram(words, threads=1, **settings), (seed, settings))


def test_larger_text() -> None:
    words = zipf_words(random.Random(0), 4000, "abcdefghijklmnopqrstuvwxyz", 12_000)
    trained = train_unigram(words, vocab_size=800, unk_token="<unk>", threads=1)
    assert_same(reference_unigram(words, vocab_size=800, unk_token="<unk>"), trained, "larger")
    # The order of words and the number of threads do not show, not in one bit.
    reordered = dict(sorted(words.items(), key=lambda item: item[0][::-1]))
    for threads in (2, 5):
        other = train_unigram(reordered, vocab_size=800, unk_token="<unk>", threads=threads)
        assert other.vocab == trained.vocab


def test_long_texts_do_not_underflow() -> None:
    """Without a pre-tokenizer a text has thousands of characters; its likelihood is far below what a float can hold."""
    rng = random.Random(4)
    lexicon = ["".join(rng.choice("abcdefgh") for _ in range(rng.randint(2, 7))) for _ in range(60)]
    words = {"".join(rng.choice(lexicon) for _ in range(900)): 1 + i % 3 for i in range(6)}
    settings: dict[str, Any] = {"vocab_size": 60, "unk_token": "<unk>"}
    assert_same(reference_unigram(words, **settings), train_unigram(words, **settings), "long")


def test_nul_is_a_boundary_of_seeds() -> None:
    """NUL ends a substring of the seeds and is never counted as a character, yet the vocabulary must hold it."""
    words = {"ab\x00ab": 3, "ab\x00cab": 2, "cab": 4, "abc": 2, "\x00": 2}
    settings: dict[str, Any] = {"vocab_size": 20}
    assert_same(reference_unigram(words, **settings), train_unigram(words, **settings), "NUL")


def test_empty() -> None:
    assert train_unigram({}).vocab == reference_unigram({})[0] == []
    trained = train_unigram({}, unk_token="<unk>", special_tokens=["<s>"], initial_alphabet=["a", ""])
    assert [token for token, _ in trained.vocab] == ["<unk>", "<s>", "a"]
    assert trained.unk_id == 0


def test_vocabulary_too_small() -> None:
    with pytest.raises(Exception, match="The vocabulary is not large enough to contain all chars") as ours:
        train_unigram({"abc": 1}, vocab_size=2)
    with pytest.raises(Exception, match="The vocabulary is not large enough to contain all chars") as theirs:
        reference_unigram({"abc": 1}, vocab_size=2)
    assert ours.type is theirs.type


def test_where_the_reference_panics_or_never_ends() -> None:
    # Five characters and the unknown piece are six pieces, and vocab_size=5 allows five: the reference prunes for ever.
    with pytest.raises(ValueError, match="raise vocab_size"):
        train_unigram({"a": 9, "b": 9, "c": 9, "d": 9, "e": 9}, vocab_size=5)
    # The text of its own unknown piece has no likelihood: the reference panics.
    with pytest.raises(ValueError, match="<UNK>"):
        train_unigram({"<UNK>": 3, "U": 1, "<N": 2, "K>": 1}, vocab_size=30)
    with pytest.raises(BaseException, match="likelihood is NAN"):
        reference_unigram({"<UNK>": 3, "U": 1, "<N": 2, "K>": 1}, vocab_size=30)


def test_counts_have_64_bits() -> None:
    """2**33 occurrences are none in the reference, whose counts wrap at 32 bits."""
    scores = dict(train_unigram({"ab": 1 << 33, "cd": 1 << 10}, vocab_size=10).vocab)
    assert scores["a"] == pytest.approx(math.log(0.5), abs=1e-5)
    assert scores["c"] == pytest.approx(math.log(0.5) - 23 * math.log(2), abs=1e-2)
    with pytest.raises(OverflowError, match="scale"):
        train_unigram({"aa": 1 << 63}, vocab_size=10)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"words": 5}, TypeError, "mapping"),
        ({"words": {b"\xff": 1}}, ValueError, "UTF-8"),
        ({"vocab_size": -1}, OverflowError, "vocab_size"),
        ({"vocab_size": 1 << 32}, OverflowError, "vocab_size"),
        ({"n_sub_iterations": -1}, OverflowError, "n_sub_iterations"),
        ({"max_piece_length": "x"}, TypeError, "max_piece_length"),
        ({"threads": 0}, OverflowError, "threads"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train_unigram(**{"words": {"ab": 1}, **arguments})


def test_errors_in_progress() -> None:
    def fail(stage: str, current: int, total: int) -> None:
        raise RuntimeError(stage)

    with pytest.raises(RuntimeError, match="Suffix array seeds"):
        train_unigram({"abab": 3}, vocab_size=10, progress=fail)


def test_examples_in_docstrings() -> None:
    result = doctest.testmod(unigram)
    assert result.attempted
    assert not result.failed
