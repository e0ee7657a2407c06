"""Word counting: the table, its arrays, its files, counting in bounded memory."""

import doctest
import os
import pickle
import random
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tokenizers import pre_tokenizers

from hftok._core.training import word_files, words
from hftok._core.training.word_files import SpillingWordCounts, load_word_counts, merge_word_counts, save_word_counts
from hftok._core.training.words import WordCounts


def random_counter(rng: random.Random, size: int) -> Counter[str]:
    counter: Counter[str] = Counter()
    for _ in range(size):
        word = "".join(rng.choice("abé字😀\x00") for _ in range(rng.randint(1, rng.choice([2, 9, 300]))))
        counter[word] += rng.choice([1, 2, 300, 1 << 40])
    return counter


def test_counting() -> None:
    rng = random.Random(1)
    for size in (0, 1, 300, 20_000):
        counter = random_counter(rng, size)
        counts = WordCounts(counter)
        assert len(counts) == len(counter)
        assert counts.to_dict() == counter
        assert list(counts.to_dict()) == list(counter)  # order of first sight
        assert counts.total == sum(counter.values())
        for word in list(counter)[:50]:
            assert counts[word] == counter[word]
            assert word in counts
    assert "missing" not in counts
    assert 5 not in counts
    with pytest.raises(KeyError):
        counts["missing"]


def test_bytes_and_empty_words() -> None:
    counts = WordCounts([b"\xff\xfe", "a", b"a", "", b""])
    assert dict(counts.items()) == {b"\xff\xfe": 1, b"a": 2}


def test_total_passes_64_bits() -> None:
    counts = WordCounts({"a": (1 << 64) - 1, "b": (1 << 64) - 1})
    assert counts.total == 2 * ((1 << 64) - 1)
    with pytest.raises(OverflowError, match="scale"):
        counts.add_word("a")
    with pytest.raises(OverflowError, match="scale"):
        counts.add_word("c", 1 << 64)
    assert counts["a"] == (1 << 64) - 1


def test_merging_is_counting_together() -> None:
    rng = random.Random(2)
    parts = [random_counter(rng, 500) for _ in range(5)]
    whole = WordCounts()
    for part in parts:
        whole.update(WordCounts(part))
    assert whole.to_dict() == sum(parts, Counter())
    before = whole.to_dict()
    whole.merge(whole)
    assert whole.to_dict() == {word: 2 * count for word, count in before.items()}


def test_arrays() -> None:
    counter = random_counter(random.Random(3), 400)
    counts = WordCounts(counter)
    text, offsets, numbers = counts.to_arrays()
    assert text.dtype == np.uint8
    assert offsets.dtype == np.int64
    assert numbers.dtype == np.uint64
    assert WordCounts.from_arrays(text, offsets, numbers).to_dict() == counter
    assert pickle.loads(pickle.dumps(counts)).to_dict() == counter
    # Duplicates add up, empty words are ignored.
    twice = WordCounts.from_arrays(np.frombuffer(b"abab", np.uint8), [0, 2, 2, 4], [3, 9, 4])
    assert twice.to_dict() == {"ab": 7}
    for offsets in ([0, 2], [1, 4, 4], [0, 3, 2, 4], [0, 2, 3], [0, 2, 2, 5]):
        with pytest.raises(ValueError, match="offsets"):
            WordCounts.from_arrays(np.frombuffer(b"abab", np.uint8), offsets, [1] * (max(len(offsets), 4) - 1))
    assert len(WordCounts.from_arrays(np.empty(0, np.uint8), [0], [])) == 0


def test_whitespace_split_is_the_reference() -> None:
    splitter = pre_tokenizers.WhitespaceSplit()
    spaces = [c for c in map(chr, range(0x3100)) if c.isspace()]
    rng = random.Random(4)
    for _ in range(300):
        text = "".join(rng.choice([*spaces, "a", "b", "字", "​", "᠎", "\x00"]) for _ in range(rng.randint(0, 40)))
        counts = WordCounts()
        counts.add_whitespace_split(text)
        assert counts.to_dict() == Counter(piece for piece, _ in splitter.pre_tokenize_str(text)), repr(text)
    for code_point in range(0x110000):
        if not 0xD800 <= code_point < 0xE000 and (code_point < 0x3100 or chr(code_point).isspace()):
            counts = WordCounts()
            counts.add_whitespace_split(f"a{chr(code_point)}b")
            assert len(counts) == len(splitter.pre_tokenize_str(f"a{chr(code_point)}b")), hex(code_point)


def test_lone_surrogates() -> None:
    counts = WordCounts()
    with pytest.raises(UnicodeEncodeError):
        counts.add_whitespace_split("a \ud800")
    with pytest.raises(UnicodeEncodeError):
        counts.add_word("\udfff")
    assert len(counts) == 0


# Files


@pytest.mark.parametrize("size", [0, 1, 500, 40_000])
def test_save_and_load(tmp_path: Path, size: int) -> None:
    counter = random_counter(random.Random(5), size)
    save_word_counts(WordCounts(counter), tmp_path / "w")
    loaded = load_word_counts(tmp_path / "w")
    assert loaded.to_dict() == counter
    assert list(loaded.items()) == sorted((word.encode(), count) for word, count in counter.items())
    assert load_word_counts(tmp_path / "w", min_count=200).to_dict() == {w: c for w, c in counter.items() if c >= 200}
    assert os.listdir(tmp_path) == ["w"]


def test_files_are_the_same_for_any_order(tmp_path: Path) -> None:
    counter = random_counter(random.Random(6), 300)
    save_word_counts(WordCounts(counter), tmp_path / "a")
    save_word_counts(WordCounts(dict(sorted(counter.items(), reverse=True))), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_merge_files(tmp_path: Path) -> None:
    rng = random.Random(7)
    for parts in (0, 1, 2, 7):
        counters = [random_counter(rng, rng.choice([0, 3, 2000])) for _ in range(parts)]
        paths = [tmp_path / f"{parts}-{i}" for i in range(parts)]
        for counter, path in zip(counters, paths, strict=True):
            save_word_counts(WordCounts(counter), path)
        merge_word_counts(paths, tmp_path / "all")
        assert load_word_counts(tmp_path / "all").to_dict() == sum(counters, Counter())
    merge_word_counts([tmp_path / "all", tmp_path / "all"], tmp_path / "all")
    assert load_word_counts(tmp_path / "all").to_dict() == {w: 2 * c for w, c in sum(counters, Counter()).items()}


def test_damaged_files(tmp_path: Path) -> None:
    """Every byte changed, every cut: never a crash, never wrong counts without a word about it."""
    good = tmp_path / "good"
    save_word_counts(WordCounts({"low": 300, "lower": 2, "newest": 1 << 50}), good)
    data = good.read_bytes()
    bad = tmp_path / "bad"
    for i in range(len(data)):
        for flip in (1, 0x80, 0xFF):
            bad.write_bytes(data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :])
            with pytest.raises(ValueError, match=r"word counts"):
                load_word_counts(bad)
        bad.write_bytes(data[:i])
        with pytest.raises(ValueError, match=r"word counts"):
            load_word_counts(bad)
        bad.write_bytes(data[:i] + b"\x00" + data[i:])
        with pytest.raises(ValueError, match=r"word counts"):
            load_word_counts(bad)
    with pytest.raises(FileNotFoundError):
        load_word_counts(tmp_path / "missing")


def test_errors_leave_the_file_as_it_was(tmp_path: Path) -> None:
    huge, target, bad = tmp_path / "huge", tmp_path / "target", tmp_path / "bad"
    save_word_counts(WordCounts({"a": (1 << 64) - 1}), huge)
    save_word_counts(WordCounts({"kept": 1}), target)
    bad.write_bytes(huge.read_bytes()[:-1] + b"?")
    with pytest.raises(OverflowError):
        merge_word_counts([huge, huge], target)
    with pytest.raises(ValueError):
        merge_word_counts([target, bad], target)
    assert load_word_counts(target).to_dict() == {"kept": 1}
    assert sorted(os.listdir(tmp_path)) == ["bad", "huge", "target"]
    with pytest.raises(OSError):
        save_word_counts(WordCounts(["a"]), tmp_path / "no" / "folder")


@pytest.mark.skipif(os.name != "posix", reason="permission bits of POSIX")
def test_files_have_ordinary_permissions(tmp_path: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    save_word_counts(WordCounts(["a"]), tmp_path / "w")
    assert stat.S_IMODE((tmp_path / "w").stat().st_mode) == 0o666 & ~mask


def test_spilling(tmp_path: Path) -> None:
    rng = random.Random(8)
    counter: Counter[str] = Counter()
    with SpillingWordCounts(memory_limit=30_000, directory=tmp_path) as spilling:
        for _ in range(30):
            part = random_counter(rng, 200)
            counter.update(part)
            spilling.counts.update(part)
            spilling.spill_if_large()
        assert spilling.files > 5
        assert spilling.finish().to_dict() == counter
    assert os.listdir(tmp_path) == []
    with SpillingWordCounts(memory_limit=1 << 40, directory=tmp_path) as spilling:
        spilling.counts.update(["a", "a", "b"])
        spilling.spill_if_large()
        assert spilling.finish(min_count=2).to_dict() == {"a": 2}


def test_examples_in_docstrings() -> None:
    results = [doctest.testmod(module) for module in (words, word_files)]
    assert all(result.attempted for result in results)
    assert not any(result.failed for result in results)
