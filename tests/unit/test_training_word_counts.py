"""WordCounts and training from them: counted in parts, in little memory, from arrays and files, by worker processes."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

import hftok
from hftok import Tokenizer, WordCounts, models, pre_tokenizers, trainers


def tokenizer_of(pre_tokenizer=None) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer


def byte_level() -> Tokenizer:
    return tokenizer_of(pre_tokenizers.ByteLevel(add_prefix_space=False))


def trainer(size: int = 200) -> trainers.BpeTrainer:
    return trainers.BpeTrainer(vocab_size=size, show_progress=False)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    rng = random.Random("word counts")
    words = ["".join(rng.choices("abcdeéß中文'1 ", k=rng.randrange(1, 9))) for _ in range(400)]
    return [" ".join(rng.choices(words, k=30)) + "\n" for _ in range(300)]


@pytest.mark.parametrize("make", [byte_level, lambda: tokenizer_of(pre_tokenizers.Whitespace()), tokenizer_of])
def test_one_result_by_every_way(make, texts, tmp_path):
    """Files, iterator, counts of the whole, merged counts of parts, merged files, dict, arrays: the same tokenizer."""
    path = tmp_path / "text.txt"
    path.write_text("".join(texts), encoding="utf-8", newline="")
    tokenizer = make()
    tokenizer.train([str(path)], trainer())
    expected = tokenizer.to_str()
    assert len(tokenizer.get_vocab()) > 20

    whole = WordCounts.from_files([str(path)], make())
    parts = [WordCounts.from_iterator(texts[i::3], make(), threads=1 + i) for i in range(3)]
    for i, part in enumerate(parts):
        part.save(tmp_path / f"part{i}")
    merged = WordCounts()
    for part in reversed(parts):
        merged.merge(part)
    assert merged == whole
    assert merged.pipeline == whole.pipeline is not None
    WordCounts.merge_files([tmp_path / f"part{i}" for i in range(3)], tmp_path / "all")
    assert WordCounts.load(tmp_path / "all") == whole
    assert WordCounts.load(tmp_path / "all").pipeline == whole.pipeline
    items = list(whole.to_dict().items())
    words, counts = [word for word, _ in items], [count for _, count in items]
    pieces = [(word, 1) for word in words] + [(word, count - 1) for word, count in items]
    for way in (
        whole,
        merged,
        str(tmp_path / "all"),
        tmp_path / "all",
        pickle.loads(pickle.dumps(whole)),
        whole.to_dict(),
        pieces,
        iter(pieces),
        (np.array(words), np.array(counts)),
        (np.array(words, dtype=object), np.array(counts, dtype=np.int32)),
        WordCounts.from_arrays(words, counts),
    ):
        tokenizer = make()
        tokenizer.train_from_counts(way, trainer())
        assert tokenizer.to_str() == expected
    for threads in (1, 2, 7):
        for memory_limit in (1, 20_000, 1 << 30):
            tokenizer = make()
            tokenizer.train([str(path)], trainer(), threads=threads, memory_limit=memory_limit)
            assert tokenizer.to_str() == expected
            tokenizer.train_from_iterator(texts, trainer(), threads=threads, memory_limit=memory_limit)
            assert tokenizer.to_str() == expected


@pytest.mark.parametrize("kind", ["WordPiece", "WordLevel", "Unigram"])
def test_other_trainers(kind, texts):
    """They take counts too, under ByteLevel as its characters."""
    expected = None
    for source in ("texts", "counts", "dict"):
        tokenizer = byte_level()
        tokenizer.model = getattr(models, kind)()
        by = getattr(hftok.trainers, f"{kind}Trainer")(vocab_size=120, show_progress=False)
        if source == "texts":
            tokenizer.train_from_iterator(texts, by)
            expected = tokenizer.to_str()
            assert by.__getstate__().count(b"\\u0120") + by.__getstate__().decode().count("Ġ") > 9
            continue
        counts = WordCounts.from_iterator(texts, byte_level())
        assert counts.symbols == "byte_level"
        tokenizer.train_from_counts(counts if source == "counts" else counts.to_dict(), by)
        assert tokenizer.to_str() == expected


def test_arrow(texts):
    arrow = pytest.importorskip("pyarrow")
    whole = WordCounts.from_iterator(texts, byte_level()).to_dict()
    words, counts = list(whole), list(whole.values())
    for array in (
        arrow.array(words),
        arrow.array(words, arrow.large_string()),
        arrow.array(["no", *words, "no"])[1:-1],
        arrow.chunked_array([words[:5], words[5:]]),
    ):
        for numbers in (arrow.array(counts), arrow.chunked_array([counts[:9], counts[9:]]), np.array(counts)):
            assert WordCounts.from_arrays(array, numbers).to_dict() == whole
    assert len(WordCounts.from_arrays(arrow.array([], arrow.string()), arrow.array([], arrow.int64()))) == 0
    with pytest.raises(ValueError, match="nulls"):
        WordCounts.from_arrays(arrow.array(["a", None]), arrow.array([1, 2]))
    with pytest.raises(ValueError, match="nulls"):
        WordCounts.from_arrays(arrow.array(["a", "b"]), arrow.array([1, None]))


def test_as_a_mapping():
    counts = WordCounts({"low": 2, "": 5, "é": 1})
    assert (len(counts), counts.total, counts["low"], "é" in counts, "x" in counts, 5 in counts) == (
        2,
        3,
        2,
        True,
        False,
        False,
    )
    assert counts.to_dict() == {"low": 2, "é": 1}
    assert repr(counts) == "WordCounts(2 words, 3 in all)"
    with pytest.raises(KeyError):
        counts["x"]
    other = WordCounts.from_iterator([" low é", " low"], byte_level())
    assert (other["Ġlow"], other["ĠÃ©"], "Ġ" in other, "é" in other, "中" in other) == (2, 1, False, False, False)
    assert other.to_dict() == {"Ġlow": 2, "ĠÃ©": 1}
    assert other.nbytes > 0
    assert other != counts
    counts.merge(other)
    assert counts.to_dict() == {"low": 2, "Ġlow": 2, "ĠÃ©": 1, "é": 1}
    counts.merge(counts)
    assert counts.total == 12


@pytest.mark.parametrize(
    ("counts", "error"),
    [
        ({"a": -1}, ValueError),
        ({"a": 1 << 64}, OverflowError),
        ([("a", (1 << 64) - 1), ("a", 1)], OverflowError),
        ({"a": 1 << 63}, OverflowError),
        ({"ab": 1 << 62}, OverflowError),
        ({"a": 1.5}, TypeError),
        ({"a": True}, TypeError),
        ({"a": "1"}, TypeError),
        ({5: 1}, TypeError),
        ({b"a": 1}, TypeError),
        ({"\ud800": 1}, UnicodeEncodeError),
        ([("a",)], ValueError),
        ([5], TypeError),
        (5, TypeError),
        (None, TypeError),
        (b"low", TypeError),
        ((np.array(["a", "b"]), np.array([1])), ValueError),
        ((np.array(["a"]), np.array([-1])), ValueError),
        ((np.array(["a"]), np.array([1.0])), TypeError),
        ((np.array([1]), np.array([1])), TypeError),
        ("no such file", FileNotFoundError),
    ],
)
def test_wrong_counts(counts, error):
    tokenizer = tokenizer_of()
    tokenizer.train_from_counts({"low": 2}, trainer())
    before = tokenizer.to_str()
    by = trainer()
    with pytest.raises(error):
        tokenizer.train_from_counts(counts, by)
    assert tokenizer.to_str() == before
    assert by.get_word_count() == 0


def test_counts_beyond_32_bits():
    """The reference wraps its counts at 2**31 and then merges in another order (row T1 of docs/differences.md)."""
    tokenizer = tokenizer_of()
    tokenizer.train_from_counts({"ab": 1 << 40, "cd": (1 << 40) + 1, "ef": 1 << 33}, trainer(9))
    assert [tokenizer.token_to_id(token) for token in ("cd", "ab", "ef")] == [6, 7, 8]


def test_other_pipeline(tmp_path):
    counts = WordCounts.from_iterator(["low lower"], tokenizer_of(pre_tokenizers.Whitespace()))
    with pytest.raises(ValueError, match="another normalizer"):
        byte_level().train_from_counts(counts, trainer())
    with pytest.raises(ValueError, match="different normalizers"):
        counts.merge(WordCounts.from_iterator(["low"], byte_level()))
    counts.save(tmp_path / "a")
    WordCounts.from_iterator(["low"], byte_level()).save(tmp_path / "b")
    with pytest.raises(ValueError, match="different normalizers"):
        WordCounts.merge_files([tmp_path / "a", tmp_path / "b"], tmp_path / "c")
    assert not (tmp_path / "c").exists()
    special = tokenizer_of(pre_tokenizers.Whitespace())
    special.add_special_tokens(["<x>"])
    with pytest.raises(ValueError, match="another normalizer"):
        special.train_from_counts(counts, trainer())
    with pytest.raises(TypeError, match="only WordCounts"):
        counts.merge({"low": 1})


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"memory_limit": 0}, OverflowError),
        ({"memory_limit": -1}, OverflowError),
        ({"memory_limit": "1G"}, TypeError),
        ({"threads": 0}, OverflowError),
        ({"threads": 1 << 20}, OverflowError),
        ({"threads": 1.5}, TypeError),
    ],
)
def test_wrong_limits(settings, error):
    """They are refused before a text is read."""
    tokenizer = tokenizer_of()

    def texts():
        raise AssertionError("read")
        yield ""

    with pytest.raises(error):
        tokenizer.train_from_iterator(texts(), trainer(), **settings)
    with pytest.raises(error):
        WordCounts.from_iterator(texts(), tokenizer, **settings)
    with pytest.raises(error):
        tokenizer.train_from_counts({"a": 1}, trainer(), **settings)


def test_long_words_that_share_much(tmp_path):
    """The words of a file may be far longer together than the file."""
    counts = WordCounts({"x" * n: n for n in range(1, 1500)})
    counts.save(tmp_path / "f")
    assert (tmp_path / "f").stat().st_size < 20_000
    loaded = WordCounts.load(tmp_path / "f")
    assert loaded == counts
    loaded.merge(WordCounts({"x": 5, "y": 1}))
    assert (loaded["x"], loaded["y"], len(loaded)) == (6, 1, 1500)


def test_files_that_are_none(tmp_path):
    path = tmp_path / "f"
    for data in (b"", b"HFTOKWC1", b"{}" * 50):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"not a file of word counts|damaged"):
            WordCounts.load(path)
    WordCounts({"low": 2}).save(path)
    good = path.read_bytes()
    for i in range(len(good)):
        path.write_bytes(good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :])
        try:
            assert WordCounts.load(path).to_dict() == {"low": 2}
        except ValueError:
            continue
    with pytest.raises(OSError, match="No such file"):
        WordCounts({"low": 2}).save(tmp_path / "no" / "folder")
