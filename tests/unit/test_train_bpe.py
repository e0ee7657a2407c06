"""BPE training against the installed reference and rustbpe: merge for merge, id for id."""

import _thread
import doctest
import os
import random
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
import rustbpe
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from train_reference import plain_bpe, random_settings, random_words, reference_bpe, zipf_words

from hftok._core.training import bpe, symbols
from hftok._core.training.bpe import TrainedBpe, train_bpe
from hftok._core.training.words import WordCounts

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def random_tuning(rng: random.Random) -> dict[str, Any]:
    """Engine settings that must not show: when it goes from passes to lists, how many rules a batch may have, how
    many pairs it keeps, how text is cut."""
    return {
        "tuning": {
            "pass_share": rng.choice([0, 1, 2, 24, 10**9]),
            "batch_limit": rng.choice([1, 2, 5, 4096]),
            "spare_rows": rng.choice([0, -1000, 3, 16384]),
            "sum_cells": rng.choice([1, 300, 1 << 19]),
            "chunk_size": rng.choice([1, 7, 50, 1 << 18]),
            "dense_ids": rng.choice([0, 512]),
            "serial_places": rng.choice([0, 16384]),
        },
        "threads": rng.choice([1, 1, 1, 1, 1, 1, 1, 2, 3]),
        "memory_limit": rng.choice([None, None, 1, 100, 10000]),
    }


def assert_same(expected: tuple[list[str], list[tuple[str, str]]], trained: TrainedBpe, note: object) -> None:
    assert trained.vocab == expected[0], note
    assert trained.merge_strings() == expected[1], note
    for (left, right), made in zip(trained.merges.tolist(), trained.made.tolist(), strict=True):
        assert trained.vocab[made].startswith(trained.vocab[left]), (note, left, right)


@pytest.mark.parametrize("part", range(4))
def test_random_settings(part: int) -> None:
    engines = set()
    for seed in range(1000 * part, 1000 * part + 300):
        rng = random.Random(seed)
        words, settings, tuning = random_words(rng), random_settings(rng), random_tuning(rng)
        trained = train_bpe(words, **settings, **tuning)
        assert_same(reference_bpe(words, **settings), trained, (seed, words, settings, tuning))
        statistics = trained.statistics
        assert statistics["engine"] == "merge_engine"  # without affixes no string is made in two ways
        engines.add((statistics["listed"], statistics["scans"] > 1))
    assert len(engines) == 4  # lists and passes, with and without counting again


def test_affixes() -> None:
    """Ids of symbols with affixes are random in the reference, so ours are told to be the same. Where two entries of
    its queue are equal, even the merges differ from run to run there; then one of its runs must give what we give."""
    engines = set()
    for seed in range(500):
        rng = random.Random(seed)
        words, settings = random_words(rng), random_settings(rng)
        prefix = rng.choice([None, "a", "b", "ab", "##", "aa", "", "#"])
        suffix = rng.choice([None, "a", "b", "ab", "</w>", "ba", ""])
        if prefix is not None:
            settings["continuing_subword_prefix"] = prefix
        if suffix is not None:
            settings["end_of_word_suffix"] = suffix
        if rng.random() < 0.15:
            settings["special_tokens"] = ["##a", "ab", "a##"]
        for _ in range(60):
            expected = reference_bpe(words, **settings)
            trained = train_bpe(words, base_symbol_order=expected[0], **settings)
            if (trained.vocab, trained.merge_strings()) == expected:
                break
        assert_same(expected, trained, (seed, words, settings))
        engines.add(trained.statistics["engine"])
    assert engines == {"merge_engine", "affix_engine"}


def test_negative_counts_are_merged_first() -> None:
    """With affixes and max_token_length the reference lets a pair's count fall below zero and then takes it for a huge
    one (`pair_counts[&pair] as u64`, models/bpe/trainer.rs). The affix engine follows."""
    found = 0
    for seed in range(400):
        rng = random.Random(seed)
        words = {"".join(rng.choice("ab") for _ in range(rng.randint(2, 14))): rng.randint(1, 3) for _ in range(12)}
        settings: dict[str, Any] = {"vocab_size": 200, "end_of_word_suffix": "b", "max_token_length": rng.randint(3, 6)}
        expected = reference_bpe(words, **settings)
        trained = train_bpe(words, base_symbol_order=expected[0], **settings)
        found += trained.statistics.get("below_zero", 0) > 0
        for _ in range(60):
            if (trained.vocab, trained.merge_strings()) == expected:
                break
            expected = reference_bpe(words, **settings)
            trained = train_bpe(words, base_symbol_order=expected[0], **settings)
        assert_same(expected, trained, (seed, words, settings))
    assert found


def test_affix_symbols_are_numbered_as_they_are_met() -> None:
    words = {"cba": 2, "abc": 1, "é": 1}
    trained = train_bpe(words, vocab_size=0, continuing_subword_prefix="##", end_of_word_suffix="</w>")
    assert trained.vocab == ["a", "b", "c", "é", "##b", "##c</w>", "##a</w>", "é</w>"]


def test_affix_symbols_of_words_with_a_common_beginning() -> None:
    words = {"abababababz": 1, "abababababyx": 1, "abababab": 0, "ab": 1, "b": 1, "ac\0": 1, "ac": 1}
    settings = {"vocab_size": 0, "continuing_subword_prefix": "##", "special_tokens": ["##a"]}
    expected = ["##a", "##b", "##y", "##x", "##z", "##c"]
    assert [t for t in train_bpe(words, **settings).vocab if t[:2] == "##"] == [*expected, "##\0"]
    raw = {word.encode(): count for word, count in words.items()}
    trained = train_bpe(raw, symbols="byte_level", **settings)
    assert [t for t in trained.vocab if t[:2] == "##"] == [*expected, "##Ā"]


@pytest.mark.parametrize("seed", range(3))
def test_affix_symbols_of_one_word_are_those_of_the_reference(seed: int) -> None:
    """Nothing is random there with a single word, nor are the ties that follow."""
    rng = random.Random(seed)
    text = "".join(rng.choice("hgfedcba é東") for _ in range(60))
    for prefix, suffix in (("##", None), (None, "</w>"), ("##", "</w>")):
        affixes = {}
        if prefix:
            affixes["continuing_subword_prefix"] = prefix
        if suffix:
            affixes["end_of_word_suffix"] = suffix
        theirs = Tokenizer(models.BPE())
        trainer = trainers.BpeTrainer(vocab_size=60, show_progress=False, **affixes)
        theirs.train_from_iterator([text], trainer)
        expected = [token for token, _ in sorted(theirs.get_vocab().items(), key=lambda item: item[1])]
        assert train_bpe({text: 1}, vocab_size=60, **affixes).vocab == expected


def test_limit_alphabet() -> None:
    """Where the cut falls between two different counts, the reference's choice is certain."""
    rng = random.Random(5)
    for limit in range(6):
        for _ in range(20):
            words = {"".join(rng.choices("abcd", k=rng.randint(1, 9))): rng.randint(1, 5) for _ in range(20)}
            # Lift the letters apart: d is the rarest by far, then c, b, a.
            for k, letter in enumerate("abcd"):
                words[letter] = 1000 >> (2 * k)
            special_tokens = ["[UNK]", "d"][: rng.randint(0, 2)]
            settings: dict[str, Any] = {"vocab_size": 40, "limit_alphabet": limit, "special_tokens": special_tokens}
            assert_same(reference_bpe(words, **settings), train_bpe(words, **settings), (words, settings))


def test_limit_alphabet_keeps_low_code_points_of_equal_counts() -> None:
    words = {"dcba": 1, "ab": 1}
    assert train_bpe(words, vocab_size=0, limit_alphabet=3).vocab == ["a", "b", "c"]
    assert train_bpe(words, vocab_size=0, limit_alphabet=2, initial_alphabet=["z", "y", "x"]).vocab == ["x", "y"]


@pytest.mark.parametrize("name", ["latin", "han"])
def test_larger_text(name: str) -> None:
    rng = random.Random(name)
    alphabet = LETTERS if name == "latin" else "".join(map(chr, range(0x4E00, 0x4E00 + 3000)))
    words = zipf_words(rng, 20_000, alphabet, 60_000)
    settings: dict[str, Any] = {"vocab_size": 6000, "min_frequency": 2}
    expected = reference_bpe(words, **settings)
    trained = train_bpe(words, **settings)
    assert_same(expected, trained, name)
    for threads in (1, 2, 5):
        for memory_limit in (None, 2_000_000, 100_000):
            tuning = {"serial_places": 2048}
            other = train_bpe(words, threads=threads, memory_limit=memory_limit, tuning=tuning, **settings)
            assert np.array_equal(other.merges, trained.merges), (threads, memory_limit)
            assert other.vocab == trained.vocab


def test_byte_level_words() -> None:
    """Raw bytes with symbols="byte_level" give what the reference makes of ByteLevel's characters."""
    rng = random.Random(11)
    pieces = ["naïve", "low", "字体", "lower", "\u0000x", "it's", "😀😀", "  "]
    lines = [" ".join(rng.choices(pieces, k=8)) + "\n" for _ in range(300)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    settings: dict[str, Any] = {"vocab_size": 330, "special_tokens": ["<s>", "low"], "initial_alphabet": alphabet}
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(show_progress=False, **settings))
    expected = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    code = {chr(c): b for b, c in enumerate(symbols.byte_level_characters())}
    counts = WordCounts()
    for line in lines:
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(line):
            counts.add_word(bytes(code[c] for c in word))
    assert train_bpe(counts, symbols="byte_level", **settings).vocab == expected


def test_bytes_order_is_rustbpe() -> None:
    rng = random.Random(3)
    for round in range(6):
        alphabet = [LETTERS, "ab", "字体表示é😀"][round % 3]
        words = zipf_words(rng, 500, alphabet, 3000)
        text = " ".join(word for word, count in words.items() for _ in range(count))
        trainer = rustbpe.Tokenizer()
        trainer.train_from_iterator(iter([text]), 700, pattern="[^ ]+| ")
        expected = [bytes(token) for token, _ in trainer.get_mergeable_ranks()]
        trained = train_bpe({word.encode(): count for word, count in words.items()}, vocab_size=700, symbols="bytes")
        assert trained.vocab == expected
        assert trained.vocab[:256] == [bytes([b]) for b in range(256)]


def test_counts_have_64_bits() -> None:
    """The reference wraps at 32 bits. Counts scaled by 2**33 leave the order as it is."""
    rng = random.Random(17)
    for _ in range(40):
        words = random_words(rng)
        letters = sorted({c for word in words for c in word})
        ids = {c: i for i, c in enumerate(letters)}
        huge = {word: count << 33 for word, count in words.items()}
        trained = train_bpe(huge, vocab_size=len(letters) + 40, min_frequency=2 << 33)
        assert list(map(tuple, trained.merges.tolist())) == plain_bpe(huge, ids, 40, 2 << 33)
    assert len(train_bpe({"ab": (1 << 62) - 1}, vocab_size=3).merges) == 1
    with pytest.raises(OverflowError, match="scale"):
        train_bpe({"ab": 1 << 62}, vocab_size=3)


def test_ids_beyond_16_bits() -> None:
    """Slots are 16 bits wide until an id no longer fits."""
    rng = random.Random(23)
    words = zipf_words(rng, 400, "abcd", 2000)
    for specials in (65_520, 65_600):
        settings: dict[str, Any] = {"vocab_size": specials + 150, "special_tokens": [f"<{i}>" for i in range(specials)]}
        expected = reference_bpe(words, **settings)
        for pass_share in (0, 10**9):
            trained = train_bpe(words, tuning={"pass_share": pass_share}, **settings)
            assert_same(expected, trained, (specials, pass_share))


def test_long_words() -> None:
    """Nothing is quadratic in the length of a word; runs of one symbol pair from the left."""
    for word in ("a" * 1000, "ab" * 700, "a" * 31 + "b" + "a" * 64, "abcabcabx" * 90):
        expected = reference_bpe({word: 2}, vocab_size=60)
        for pass_share in (0, 10**9):
            assert_same(expected, train_bpe({word: 2}, vocab_size=60, tuning={"pass_share": pass_share}), word)
    assert len(train_bpe({"ab" * 500_000: 1}, vocab_size=40).merges) > 15


def test_edges() -> None:
    assert train_bpe({}).vocab == []
    assert train_bpe({}, special_tokens=["<s>", "<s>", "x"], initial_alphabet=["a", ""]).vocab == ["<s>", "x", "a"]
    assert train_bpe({"abc": 9}, vocab_size=2).vocab == ["a", "b", "c"]  # the alphabet is kept even if it is too large
    assert train_bpe({"abc": 9, "z": 0}, vocab_size=2).vocab == ["a", "b", "c"]
    assert train_bpe({"ab": 2}, min_frequency=3).merge_strings() == []
    assert train_bpe({"ab": 2}, min_frequency=2).merge_strings() == [("a", "b")]
    assert train_bpe(["ab", "ab"]).merge_strings() == [("a", "b")]
    assert "2 tokens" in repr(train_bpe(["ab"], vocab_size=2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"words": 5}, TypeError, "mapping"),
        ({"words": "text"}, TypeError, "mapping"),
        ({"words": {"a": -1}}, ValueError, "negative"),
        ({"words": {"a": 1.5}}, TypeError, "int"),
        ({"words": {3: 1}}, TypeError, "str or bytes"),
        ({"words": {"\ud800": 1}}, UnicodeEncodeError, "surrogates"),
        ({"words": {b"\xff\xfe": 1}}, ValueError, "not valid UTF-8"),
        ({"words": {b"\xed\xa0\x80": 1}}, ValueError, "not valid UTF-8"),
        ({"words": {b"\xc0\x80": 1}}, ValueError, "not valid UTF-8"),
        ({"words": {b"\xf4\x90\x80\x80": 1}}, ValueError, "not valid UTF-8"),
        ({"words": {b"a\xe4\xb8": 1}}, ValueError, "not valid UTF-8"),
        ({"vocab_size": -1}, OverflowError, "vocab_size"),
        ({"vocab_size": "9"}, TypeError, "vocab_size"),
        ({"min_frequency": 1 << 64}, OverflowError, "min_frequency"),
        ({"max_token_length": -3}, OverflowError, "max_token_length"),
        ({"threads": 0}, OverflowError, "threads"),
        ({"memory_limit": 0}, OverflowError, "memory_limit"),
        ({"symbols": "runes"}, ValueError, "characters"),
        ({"symbols": "bytes", "continuing_subword_prefix": "##"}, ValueError, "affixes"),
        ({"symbols": "bytes", "limit_alphabet": 3}, ValueError, "alphabet"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train_bpe(**{"words": {"ab": 1}, **arguments})


def test_progress_and_errors_in_it() -> None:
    calls: list[tuple[str, int, int]] = []
    words = WordCounts(zipf_words(random.Random(1), 2000, LETTERS, 5000))
    before = words.to_dict()
    train_bpe(words, vocab_size=500, progress=lambda *call: calls.append(call))
    assert calls[0] == ("Tokenize words", len(words), len(words))
    assert calls[-1][0] == "Compute merges"
    assert calls[-1][1] == calls[-1][2]

    def fail(stage: str, current: int, total: int) -> None:
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        train_bpe(words, vocab_size=500, progress=fail)
    assert words.to_dict() == before


def test_ctrl_c() -> None:
    words = WordCounts(zipf_words(random.Random(2), 60_000, LETTERS, 300_000))
    timer = threading.Timer(0.05, _thread.interrupt_main)
    timer.start()

    def train_until_interrupted() -> None:
        for _ in range(200):
            train_bpe(words, vocab_size=30_000, threads=1)

    with pytest.raises(KeyboardInterrupt):
        train_until_interrupted()
    timer.join()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are set in Linux's way")
def test_out_of_memory_is_an_exception() -> None:
    program = """
import hashlib, resource, random
from hftok._core.training.bpe import train_bpe
from hftok._core.training.words import WordCounts
rng = random.Random(0)
words = WordCounts({"".join(rng.choices("abcdefghij", k=60)): 1 for _ in range(30000)})
pages = int(open("/proc/self/statm").read().split()[0])
for extra in (1, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 400):
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (extra << 20), -1))
    try:
        print(hashlib.sha256(repr(train_bpe(words, vocab_size=3000, threads=1).vocab).encode()).hexdigest())
    except MemoryError:
        print("MemoryError")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    outcomes = done.stdout.split()
    assert outcomes[0] == "MemoryError", done.stderr
    assert outcomes[-1] != "MemoryError", done.stderr
    assert set(outcomes) == {"MemoryError", outcomes[-1]}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_forked_child_trains() -> None:
    """After a fork the threads of the parent are gone; waiting for them would be for ever."""
    program = """
import os
from hftok._core.training.bpe import train_bpe
from hftok._core.training.unigram import train_unigram
words = {chr(97 + i % 26) * (1 + i % 7) + str(i): 1 + i % 5 for i in range(3000)}
tuning = {"chunk_size": 100, "serial_places": 0}
expected = train_bpe(words, vocab_size=300, threads=2, tuning=tuning).vocab
pid = os.fork()
same = train_bpe(words, vocab_size=300, threads=2, tuning=tuning).vocab == expected
train_unigram(words, vocab_size=300, threads=2)
if pid == 0:
    os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "0", done.stderr


def test_examples_in_docstrings() -> None:
    results = [doctest.testmod(module) for module in (bpe, symbols)]
    assert sum(result.attempted for result in results) >= 3
    assert not any(result.failed for result in results)
