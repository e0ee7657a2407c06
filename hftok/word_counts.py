"""WordCounts: the words of a corpus, each with how often it occurs; what every trainer learns from."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from hftok._core.training.sequences import as_characters
from hftok._core.training.word_files import load_word_counts, merge_word_counts, read_label, save_word_counts
from hftok._core.training.words import WordCounts as CoreWordCounts
from hftok.arguments import optional, sequence_of, string, uint64

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["WordCounts"]

Path = str | os.PathLike[str]
Symbols = Literal["characters", "byte_level"]


class WordCounts:
    """Distinct words with 64-bit counts: counted on one machine or many, merged, saved, and trained on.

    Args:
        counts: a mapping from word to count, or an iterable of (word, count) pairs; duplicates add up, empty words are
            left out. Words are what the model would get: under ByteLevel its characters.

    Raises:
        TypeError: a word is no str, or a count no int.
        ValueError: a count is negative. OverflowError: a count passes 2**64 - 1. UnicodeEncodeError: a lone surrogate.

    >>> counts = WordCounts({"low": 5, "new": 2})
    >>> counts.merge(WordCounts([("new", 1)]))
    >>> counts["new"], len(counts), counts.total
    (3, 2, 8)

    Counting in parts and merging gives the same counts as counting in one go, and training on them the same tokenizer.
    """

    __slots__ = ("_core", "_pipeline", "_symbols")

    _core: CoreWordCounts
    _symbols: Symbols
    _pipeline: str | None

    def __init__(self, counts: Mapping[str, int] | Iterable[tuple[str, int]] | None = None) -> None:
        self._core, self._symbols, self._pipeline = CoreWordCounts(), "characters", None
        if counts is None:
            return
        if not isinstance(counts, Iterable) or isinstance(counts, (str, bytes)):
            raise TypeError(f"counts must be a mapping or pairs of word and count, not {type(counts).__name__}")
        for word, count in counts.items() if isinstance(counts, Mapping) else counts:
            self._core.add_word(string(word), _count(count))

    # ---- counting ----------------------------------------------------------------------------------------------------

    @classmethod
    def from_files(
        cls,
        files: list[str],
        tokenizer: Tokenizer,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
        show_progress: bool = False,
    ) -> Self:
        """The words that a tokenizer's normalizer and pre-tokenizer make of the lines of files, as `train` counts them.

        Args:
            files: their paths.
            threads: at most so many; None: as many as this process may use. The counts are the same for any number.
            memory_limit: bytes that the table of words may take while counting; what is more goes to temporary files.
            show_progress: show a bar.

        Raises:
            Exception: a file cannot be read, or is not UTF-8; the position is named.
        """
        from hftok.training.texts import FileTexts

        return cls._counted(tokenizer, FileTexts(sequence_of(string)(files)), threads, memory_limit, show_progress)

    @classmethod
    def from_iterator(
        cls,
        iterator: Iterable[Any],
        tokenizer: Tokenizer,
        length: int | None = None,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
        show_progress: bool = False,
    ) -> Self:
        """The words that a tokenizer makes of texts, as `train_from_iterator` counts them.

        Args:
            iterator: str, or iterables of str.
            length: how many there are, for the progress bar.
            threads, memory_limit, show_progress: as in `from_files`.

        Raises:
            TypeError: an item is neither; and what the iterator raises.
        """
        from hftok.training.texts import IteratedTexts

        texts = IteratedTexts(iterator, optional(uint64)(length))
        return cls._counted(tokenizer, texts, threads, memory_limit, show_progress)

    @classmethod
    def _counted(
        cls, tokenizer: Tokenizer, texts: Any, threads: int | None, memory_limit: int | None, show_progress: bool
    ) -> Self:
        from hftok.training.pipeline import fingerprint, words_of
        from hftok.training.progress import report_for
        from hftok.training.texts import count_words

        words = words_of(tokenizer)
        report = report_for({"show_progress": show_progress})
        try:
            core = count_words(words, texts, report, threads, memory_limit)
        finally:
            report.close()
        return cls._of_core(core, words.symbols, fingerprint(tokenizer))

    @classmethod
    def from_arrays(cls, words: Any, counts: Any) -> Self:
        """Counts from two arrays of the same length, NumPy or Arrow (or lists): words and how often each occurs.

        Raises:
            ValueError: the lengths differ, a count is negative, or an array has nulls.
            TypeError: an array of another kind.
        """
        self = cls()
        text = _arrow_strings(words)
        values = _count_array(counts)
        if text is not None:
            if len(text[1]) - 1 != len(values):
                raise ValueError(f"{len(text[1]) - 1} words, but {len(values)} counts")
            self._core = CoreWordCounts.from_arrays(*text, values)
            return self
        listed = words.tolist() if isinstance(words, np.ndarray) else list(words)
        if len(listed) != len(values):
            raise ValueError(f"{len(listed)} words, but {len(values)} counts")
        for word, count in zip(listed, values.tolist(), strict=True):
            self._core.add_word(string(word), count)
        return self

    @classmethod
    def _of_core(cls, core: CoreWordCounts, symbols: Symbols, pipeline: str | None = None) -> Self:
        self: Self = object.__new__(cls)
        self._core, self._symbols, self._pipeline = core, symbols, pipeline
        return self

    # ---- merging, files ----------------------------------------------------------------------------------------------

    def merge(self, other: WordCounts) -> None:
        """Add the counts of another WordCounts. The order of merging does not matter.

        Raises:
            ValueError: both were counted, but by different pipelines. OverflowError: a count passes 2**64 - 1.
        """
        if not isinstance(other, WordCounts):
            raise TypeError(f"only WordCounts can be merged, not {type(other).__name__}")
        if other._pipeline is not None and self._pipeline is not None and other._pipeline != self._pipeline:
            raise ValueError("the words were counted by tokenizers with different normalizers or pre-tokenizers")
        if not len(self):
            self._core, self._symbols = CoreWordCounts(), other._symbols
        elif other._symbols != self._symbols and len(other):
            self._core, self._symbols = self._as_characters(), "characters"
            other = WordCounts._of_core(other._as_characters(), "characters", other._pipeline)
        before = self._core
        merged = CoreWordCounts.from_arrays(*before.to_arrays()) if other is self else before
        merged.merge(other._core)
        self._core = merged
        if self._pipeline is None:
            self._pipeline = other._pipeline

    def save(self, path: Path) -> None:
        """Write a file that `load` reads: words sorted and front-coded, and which pipeline counted them.

        Raises:
            OSError: it cannot be written; what was there stays.
        """
        save_word_counts(self._core, path, _label(self._symbols, self._pipeline))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file that `save` wrote.

        Raises:
            OSError: it cannot be read. ValueError: it is something else, or damaged.
        """
        symbols, pipeline = _read_label(path)
        return cls._of_core(load_word_counts(path), symbols, pipeline)

    @staticmethod
    def merge_files(paths: Iterable[Path], path: Path) -> None:
        """Merge saved counts into one file, in little memory however many words there are.

        Raises:
            OSError: a file cannot be read or written. OverflowError: a count passes 2**64 - 1.
            ValueError: a file is something else or damaged, or was counted by another pipeline.
        """
        paths = list(paths)
        labels = {_read_label(each) for each in paths}
        if len(labels) > 1:
            raise ValueError("the files were counted by tokenizers with different normalizers or pre-tokenizers")
        merge_word_counts(paths, path, _label(*(labels.pop() if labels else ("characters", None))))

    # ---- reading -----------------------------------------------------------------------------------------------------

    @property
    def symbols(self) -> Symbols:
        """How words are kept: "byte_level" for the bytes behind ByteLevel's characters, else "characters"."""
        return self._symbols

    @property
    def pipeline(self) -> str | None:
        """A hash of the normalizer, pre-tokenizer and added tokens that counted the words; None: not known."""
        return self._pipeline

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._core.total

    @property
    def nbytes(self) -> int:
        """Bytes of memory in use."""
        return self._core.nbytes

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, word: str) -> int:
        key = self._key(word)
        if key is None:
            raise KeyError(word)
        try:
            return self._core[key]
        except KeyError:
            raise KeyError(word) from None

    def __contains__(self, word: object) -> bool:
        key = self._key(word) if isinstance(word, str) else None
        return key is not None and key in self._core

    def _key(self, word: str) -> bytes | None:
        if self._symbols != "byte_level":
            return word.encode()
        try:
            return bytes(map(_BYTES.__getitem__, word))
        except KeyError:
            return None

    def items(self) -> Iterator[tuple[str, int]]:
        """(word, count) pairs, in the order of the words' bytes."""
        for word, count in sorted(self._as_characters().items()):
            yield word.decode(), count

    def to_dict(self) -> dict[str, int]:
        """The words with their counts, in the order of the words' bytes."""
        return dict(self.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordCounts) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"WordCounts({len(self)} words, {self.total} in all)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (*self._core.to_arrays(), self._symbols, self._pipeline)

    def _as_characters(self) -> CoreWordCounts:
        return as_characters(self._core) if self._symbols == "byte_level" else self._core


def _restore(text: Any, offsets: Any, counts: Any, symbols: Symbols, pipeline: str | None) -> WordCounts:
    return WordCounts._of_core(CoreWordCounts.from_arrays(text, offsets, counts), symbols, pipeline)


def _byte_level_bytes() -> dict[str, int]:
    from hftok._core.training.symbols import byte_level_characters

    return {chr(character): byte for byte, character in enumerate(byte_level_characters())}


_BYTES = _byte_level_bytes()


def _count(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError("a count must be an int, not bool")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"a count must be an int, not {type(value).__name__}") from None


def _label(symbols: Symbols, pipeline: str | None) -> bytes:
    return json.dumps({"symbols": symbols, "pipeline": pipeline}).encode()


def _read_label(path: Path) -> tuple[Symbols, str | None]:
    label = read_label(path)
    try:
        known = json.loads(label)
        symbols, pipeline = known["symbols"], known["pipeline"]
    except (ValueError, KeyError, TypeError):
        symbols = pipeline = None
    if symbols not in ("characters", "byte_level") or not isinstance(pipeline, (str, type(None))):
        raise ValueError(f"{os.fspath(path)!r} has a label of another version; count again")
    return symbols, pipeline


# ---- arrays ----------------------------------------------------------------------------------------------------------


def _count_array(counts: Any) -> np.ndarray[Any, np.dtype[np.uint64]]:
    if hasattr(counts, "null_count"):
        if counts.null_count:
            raise ValueError("counts must have no nulls")
        counts = counts.to_numpy() if hasattr(counts, "chunks") else counts.to_numpy(zero_copy_only=False)
    array = np.asarray(counts)
    if array.size == 0:
        return np.empty(0, dtype=np.uint64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        if array.ndim == 1 and array.dtype == object:
            values = [_count(value) for value in array.tolist()]
            if min(values) < 0:
                raise ValueError(f"a count must not be negative, got {min(values)}")
            return np.array(values, dtype=np.uint64)
        raise TypeError(f"counts must be a one-dimensional array of integers, not {array.dtype} {array.shape}")
    if array.dtype.kind == "i" and array.min() < 0:
        raise ValueError(f"a count must not be negative, got {array.min()}")
    return array.astype(np.uint64)


def _arrow_strings(words: Any) -> tuple[Any, Any] | None:
    """(bytes, offsets) of an Arrow array of strings, or None where it is something else."""
    if not hasattr(words, "null_count") or not hasattr(words, "cast"):
        return None
    if words.null_count:
        raise ValueError("words must have no nulls")
    words = words.cast("large_string")
    if hasattr(words, "chunks"):
        words = words.combine_chunks()
        if hasattr(words, "chunks"):  # older versions give an array of one chunk
            words = words.chunk(0)
    _, offsets, data = words.buffers()
    n = len(words)
    if n == 0:
        return np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    bounds = np.frombuffer(offsets, dtype=np.int64)[words.offset : words.offset + n + 1]
    text = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return text[bounds[0] : bounds[-1]], bounds - bounds[0]
