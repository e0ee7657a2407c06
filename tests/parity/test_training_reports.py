"""What people have reported of the reference's trainers, by number: its answer where it has one, a right one where not.

Elsewhere: #2320 and #2327 (counts below zero) in tests/unit/test_train_bpe.py, #1921 (lines of progress) in
tests/unit/test_training_progress.py.
"""

from __future__ import annotations

import itertools
import json
import random
import resource
import sys
from pathlib import Path
from typing import Any

import pytest
from training_cases import both, description

import hftok
from hftok import Tokenizer, WordCounts, trainers

WORDS = ["low", "lower", "lowest", "new", "newer", "newest", "wide", "widest", "a", "é", "中文"]
FALLBACK = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["<0x41>", -1.0]], "byte_fallback": True}


def texts(seed: str, count: int = 60) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=12)) + "\n" for _ in range(count)]


def trained(library: Any, model: str, settings: dict[str, Any], corpus: Any, pre_tokenizer: Any = "whitespace") -> Any:
    own, theirs = both(description(model, pre_tokenizer))
    tokenizer = own if library is hftok else theirs
    names = {"bpe": "Bpe", "wordpiece": "WordPiece", "wordlevel": "WordLevel", "unigram": "Unigram"}
    trainer = getattr(library.trainers, f"{names[model]}Trainer")(show_progress=False, **settings)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def reference_trained(*arguments: Any) -> Any:
    import tokenizers

    return trained(tokenizers, *arguments)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece"])
def test_2058_437_counts_above_31_bits(kind: str) -> None:
    """The reference's counts wrap, and its most frequent pairs come last. Ours stay in order, times whatever."""
    words = WordCounts.from_iterator(texts("2058"), Tokenizer.from_str(description("bpe", "whitespace"))).to_dict()
    vocabs = []
    for factor in (1, 2**31, 2**40):
        tokenizer = Tokenizer.from_str(description(kind, "whitespace"))
        trainer = {"bpe": trainers.BpeTrainer, "wordpiece": trainers.WordPieceTrainer}[kind]
        settings = {"vocab_size": 40, "min_frequency": 20 * factor, "show_progress": False}
        tokenizer.train_from_counts({word: count * factor for word, count in words.items()}, trainer(**settings))
        vocabs.append(tokenizer.get_vocab())
    assert vocabs[0] == vocabs[1] == vocabs[2]


def test_1794_2066_668_wordpiece_in_every_run_alike() -> None:
    """Two runs of the reference give two vocabularies; ours give one, for any order of texts, with any threads."""
    corpus = texts("1794")
    settings = {"vocab_size": 45, "special_tokens": ["[UNK]"]}
    vocabs = [trained(hftok, "wordpiece", settings, corpus).get_vocab()]
    vocabs.append(trained(hftok, "wordpiece", settings, corpus[::-1]).get_vocab())
    tokenizer = Tokenizer.from_str(description("wordpiece", "whitespace"))
    tokenizer.train_from_iterator(corpus, trainers.WordPieceTrainer(show_progress=False, **settings), threads=5)
    vocabs.append(tokenizer.get_vocab())
    assert vocabs[0] == vocabs[1] == vocabs[2]
    theirs = reference_trained("wordpiece", {**settings, "vocab_size": 1000}, corpus)
    assert set(trained(hftok, "wordpiece", {**settings, "vocab_size": 1000}, corpus).get_vocab()) == set(
        theirs.get_vocab()
    )


@pytest.mark.parametrize("longest", [0, 1, 2, 3, 4, 5, 8, None])
def test_1461_max_token_length(longest: int | None) -> None:
    """1 forbids nothing that 2 allows: tokens of two symbols are always made, longer ones stay below the number."""
    settings = {"vocab_size": 200, "max_token_length": longest}
    ours = trained(hftok, "bpe", settings, texts("1461"))
    assert ours.to_str() == reference_trained("bpe", settings, texts("1461")).to_str()
    if longest is not None:
        assert max(map(len, ours.get_vocab())) <= max(longest - 1, 2)


def test_1534_2370_line_ends_of_files_and_iterators(tmp_path: Path) -> None:
    """A file is read by lines, so nothing is learnt across one; a text of an iterator may hold many."""
    path = tmp_path / "text.txt"
    path.write_bytes(b"a\n\n\nb\r\n\r\n" * 30 + b"\n\n\xe4\xb8\xad\r\r")
    for by_file in (True, False):
        outcomes = []
        own, theirs = both(description("bpe", "bytelevel"))
        for tokenizer in (own, theirs):
            if by_file:
                tokenizer.train([str(path)])
            else:
                tokenizer.train_from_iterator([path.read_bytes().decode()])
            outcomes.append(tokenizer.to_str())
        assert outcomes[0] == outcomes[1]
        assert ("ĊĊ" in own.get_vocab()) is not by_file


def test_670_886_1514_vocabulary_below_the_alphabet() -> None:
    """Special tokens and alphabet are kept in any case, and nothing is merged."""
    settings = {"vocab_size": 3, "special_tokens": ["<pad>", "<unk>"]}
    ours = trained(hftok, "bpe", settings, texts("670"))
    assert ours.to_str() == reference_trained("bpe", settings, texts("670")).to_str()
    assert json.loads(ours.to_str())["model"]["merges"] == []
    assert ours.get_vocab_size() > 10


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes there")
def test_1681_994_422_1824_memory_follows_the_words_not_the_text(tmp_path: Path) -> None:
    """Text that is twenty times as long and has the same words takes no more memory, from files and iterators."""
    line = " ".join(WORDS * 20) + "\n"
    path = tmp_path / "text.txt"
    path.write_text(line * 20_000, encoding="utf-8")
    tokenizer = Tokenizer.from_str(description("bpe", "bytelevel"))
    tokenizer.train_from_iterator(itertools.repeat(line, 1000))
    before, size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, path.stat().st_size
    tokenizer.train_from_iterator(itertools.repeat(line, 20_000))
    expected = tokenizer.to_str()
    tokenizer.train([str(path)])
    assert tokenizer.to_str() == expected
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < size // 3


def test_422_words_that_do_not_fit_go_to_files() -> None:
    """The words of the iterator take more than the limit."""
    rng = random.Random("422")
    corpus = ["".join(rng.choices("abcdefgh ", k=1000)) for _ in range(30)]
    expected = reference_trained("bpe", {"vocab_size": 300}, corpus).to_str()
    for limit in (2_000, 50_000, None):
        tokenizer = Tokenizer.from_str(description("bpe", "whitespace"))
        trainer = trainers.BpeTrainer(vocab_size=300, show_progress=False)
        tokenizer.train_from_iterator(corpus, trainer, memory_limit=limit)
        assert tokenizer.to_str() == expected


@pytest.mark.parametrize("model", ["bpe", "wordpiece"])
def test_814_1313_no_pre_tokenizer(model: str) -> None:
    """A sequence of a genome or a protein is one word, of any length; the reference's time grows with the square."""
    rng = random.Random("1313")
    corpus = ["".join(rng.choices("ACGT", weights=[5, 3, 2, 1], k=4000)) for _ in range(3)]
    settings = {"vocab_size": 60}
    ours, theirs = trained(hftok, model, settings, corpus, None), reference_trained(model, settings, corpus, None)
    if model == "bpe":
        assert ours.to_str() == theirs.to_str()
    else:
        assert len(ours.get_vocab()) == len(theirs.get_vocab()) == 60
    long = trained(hftok, model, {"vocab_size": 300}, ["".join(rng.choices("ACGT", k=1_000_000))], None)
    assert long.get_vocab_size() == 300


def test_717_wordlevel_ties() -> None:
    """Words of equal count, cut in the middle: by their bytes."""
    corpus = ["d c b a é 中 b"]
    for size in range(9):
        ours = trained(hftok, "wordlevel", {"vocab_size": size}, corpus)
        assert ours.to_str() == reference_trained("wordlevel", {"vocab_size": size}, corpus).to_str()
    assert ours.get_vocab() == {"b": 0, "a": 1, "c": 2, "d": 3, "é": 4, "中": 5}


def test_1198_821_unigram_on_texts_without_spaces() -> None:
    """Texts so long that their likelihood is below what a number can hold."""
    rng = random.Random("1198")
    corpus = ["".join(rng.choices(["ab", "cab", "b", "dd"], k=1500)) for _ in range(3)]
    settings = {"vocab_size": 30, "unk_token": "<unk>", "special_tokens": ["<unk>"]}
    ours = trained(hftok, "unigram", settings, corpus, None)
    assert set(ours.get_vocab()) == set(reference_trained("unigram", settings, corpus, None).get_vocab())
    scores = [score for _, score in json.loads(ours.to_str())["model"]["vocab"]]
    assert all(-50 < score <= 0 for score in scores)


def test_1515_unigram_learns_no_byte_fallback() -> None:
    """The trained model is a new one, whatever the one before could do."""
    own, theirs = both(json.dumps({**json.loads(description("unigram", "metaspace")), "model": FALLBACK}))
    for tokenizer in (own, theirs):
        tokenizer.train_from_iterator(texts("1515"))
    assert json.loads(own.to_str())["model"]["byte_fallback"] is False
    assert json.loads(theirs.to_str())["model"]["byte_fallback"] is False
