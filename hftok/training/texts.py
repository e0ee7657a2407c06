"""Texts to train on, and the counting of their words: files by memory map, iterators by blocks.

Reference: train_from_files and train in tokenizer/mod.rs, train_from_iterator in the bindings. Every line of a file,
with its ending, is a sequence, and every str of an iterator is; an item may be an iterable of str as well. Bytes that
are not UTF-8 are an error of the file, told before anything has changed (the reference has trained on what came before
them).
"""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hftok._core.training.bpe import checked_size
from hftok._core.training.feed import Counter, InvalidUtf8, next_block
from hftok._core.training.sequences import Words
from hftok._core.training.word_files import SpillingWordCounts
from hftok._core.training.words import WordCounts
from hftok.model_files import os_error
from hftok.training.progress import Report

__all__ = ["FileTexts", "IteratedTexts", "count_words"]

WINDOW = 1 << 22  # bytes of a file for each thread, between two reports; they are in memory at the same time
BLOCK_ITEMS = 4096
BLOCK_CHARACTERS = 1 << 23


class FileTexts:
    """The lines of files.

    Args:
        paths: as the caller gave them.
        ends: for files that are not read to their end, how many bytes are, up to the end of a line.

    Raises:
        Exception: a file cannot be opened, or is a folder; the message is the system's, with the path in a note.
    """

    def __init__(self, paths: list[str], ends: Mapping[str, int] | None = None) -> None:
        self.paths = paths
        self.ends = ends or {}
        self.size = 0
        for path in paths:
            with _reporting(path):
                info = os.stat(path)
                if stat.S_ISDIR(info.st_mode):
                    raise IsADirectoryError(21, "")
                if not os.access(path, os.R_OK):
                    open(path, "rb").close()  # for its error
                self.size += min(info.st_size, self.ends.get(path, info.st_size))

    def feed(self, count: _Counting, report: Report) -> None:
        stage = f"Pre-processing files ({self.size // 1_000_000} Mo)"
        done = 0
        report(stage, 0, self.size)
        for path in self.paths:
            with _reporting(path):
                for data, start, stop in _windows(path, WINDOW * count.counter.threads, self.ends.get(path)):
                    try:
                        count.counter.add_lines(data, start, stop)
                    except InvalidUtf8 as error:
                        raise _NotUtf8(error.position) from None
                    count.spill()
                    done += stop - start
                    report(stage, min(done, self.size), self.size)
        report(stage, self.size, self.size)


class IteratedTexts:
    """The items of an iterable: str, or iterables of str.

    Args:
        length: how many there are, for the progress bar.
    """

    def __init__(self, items: Iterable[Any], length: int | None) -> None:
        self.items = iter(items)
        self.length = length

    def feed(self, count: _Counting, report: Report) -> None:
        stage = "Pre-processing sequences"
        done = 0
        report(stage, 0, self.length)
        while block := next_block(self.items, BLOCK_ITEMS, BLOCK_CHARACTERS):
            count.counter.add_texts(block)
            count.spill()
            done += len(block)
            report(stage, done, self.length)


class _Counting:
    """A counter whose words go to temporary files when they take more than a limit."""

    def __init__(self, words: Words, threads: int | None, memory_limit: int | None) -> None:
        self.counter = Counter(words, threads)
        self.spilling: SpillingWordCounts | None = None
        if memory_limit is not None:
            self.spilling = SpillingWordCounts(checked_size("memory_limit", memory_limit, minimum=1))

    def spill(self) -> None:
        if self.spilling is not None and self.counter.nbytes > self.spilling.memory_limit:
            self.spilling.spill(self.counter.take())

    def finish(self) -> WordCounts:
        counts = self.counter.take()
        if self.spilling is not None and self.spilling.files:
            self.spilling.spill(counts)
            return self.spilling.finish()
        return counts

    def close(self) -> None:
        if self.spilling is not None:
            self.spilling.close()


def count_words(
    words: Words,
    texts: FileTexts | IteratedTexts,
    report: Report,
    threads: int | None = None,
    memory_limit: int | None = None,
) -> WordCounts:
    """The words of texts, each with how often it occurs.

    Args:
        threads: at most so many; None: as many as this process may use. The result is the same for any number.
        memory_limit: bytes that the table of words may take; what is more goes to temporary files.
    """
    counting = _Counting(words, threads, memory_limit)
    try:
        texts.feed(counting, report)
        return counting.finish()
    finally:
        counting.close()


# ---- files -----------------------------------------------------------------------------------------------------------


class _NotUtf8(Exception):
    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class _reporting:  # noqa: N801 (reads as a statement: `with _reporting(path):`)
    """Turns errors of a file into the reference's Exception."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            message = os_error(error)
        elif isinstance(error, _NotUtf8):
            message = f"stream did not contain valid UTF-8: byte {error.position} of {self.path}"
        elif isinstance(error, ValueError) and "\0" in self.path:
            message = "file name contained an unexpected NUL byte"
        else:
            return
        reported = Exception(message)
        reported.add_note(f"(file {self.path!r})")
        raise reported from None


def _windows(path: str, size: int, end: int | None) -> Iterator[tuple[Any, int, int]]:
    """Buffers, and stretches of whole lines in them, about `size` bytes long."""
    with open(path, "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode) or info.st_size == 0:
            # A pipe, or a file whose size the system does not know; the last line of a block waits for its rest.
            rest = b""
            while block := file.read(size):
                data = rest + block
                stop = data.rfind(b"\n") + 1
                if stop:
                    yield data, 0, stop
                rest = data[stop:]
            if rest:
                yield rest, 0, len(rest)
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            all_bytes = len(mapped) if end is None else min(end, len(mapped))
            start = 0
            while start < all_bytes:
                stop = all_bytes
                if stop - start > size:
                    stop = mapped.rfind(b"\n", start, start + size) + 1
                    stop = stop or mapped.find(b"\n", start + size) + 1 or all_bytes
                yield mapped, start, stop
                if hasattr(mapped, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
                    # Pages that have been read count as this process's memory until they are given back.
                    first = start - start % mmap.PAGESIZE
                    mapped.madvise(mmap.MADV_DONTNEED, first, stop - first)
                start = stop
