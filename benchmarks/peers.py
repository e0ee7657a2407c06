"""The other packages that encode whole files and lists, behind one face. One that is not installed is left out.

A peer gives `encode_file(path)` (ids of the documents between separators) and `encode_list(texts)`, with whatever
object its own door returns; `arrays(result)`, which makes `Rows` of that object and is not measured; and `forget()`,
after which its caches are empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.corpora import SEPARATOR, documents

__all__ = ["Peer", "Rows", "failure", "first_difference", "peers"]


class Rows(NamedTuple):
    """The ids of several documents: those of the i-th are `ids[offsets[i]:offsets[i + 1]]`."""

    ids: npt.NDArray[Any]
    offsets: npt.NDArray[Any]


def first_difference(found: Rows, expected: Rows) -> int | None:
    """The number of the first document whose ids are others; None where there is none."""
    if np.array_equal(found.ids, expected.ids) and np.array_equal(found.offsets, expected.offsets):
        return None
    for number, (begin, end) in enumerate(itertools.pairwise(expected.offsets.tolist())):
        if number + 1 >= len(found.offsets):
            return number
        if not np.array_equal(found.ids[found.offsets[number] : found.offsets[number + 1]], expected.ids[begin:end]):
            return number
    return len(expected.offsets) - 1


def _rows(lists: Iterable[Any]) -> Rows:
    arrays = [np.asarray(ids, dtype=np.uint32) for ids in lists]
    offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in arrays], dtype=np.int64)])
    return Rows(np.concatenate(arrays) if arrays else np.zeros(0, np.uint32), offsets)


class Peer:
    """hftok itself; the base of the others.

    Attributes:
        special_tokens: what the post-processor adds is added. Ids of a peer that has no such thing are compared with
            those without.
        quick: whole corpora can be asked of it; of the others, and in lists, a few megabytes are.
        switches: `parallel` says before each call whether it may use several threads.
    """

    name = "hftok"
    special_tokens = True
    quick = True
    switches = True

    def __init__(self, path: str, threads: int) -> None:
        self.path = path
        self.threads = threads
        self.parallel = threads > 1
        self.load()

    def load(self) -> None:
        import hftok

        self.tokenizer: Any = hftok.Tokenizer(self.path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def forget(self) -> None:
        self.tokenizer.clear_cache()

    def encode_file(self, path: str) -> Any:
        import hftok

        return self.tokenizer.encode_files(hftok.TextFileSource(path, SEPARATOR), parallel=self.parallel)

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_ids(texts, parallel=self.parallel)

    def arrays(self, result: Any) -> Rows:
        return Rows(np.asarray(result.ids), np.asarray(result.row_offsets))

    def without_special_tokens(self, texts: list[str]) -> Rows:
        return self.arrays(self.tokenizer.encode_batch_ids(texts, add_special_tokens=False, parallel=self.parallel))


class Nanotoken(Peer):
    name = "nanotoken"

    def load(self) -> None:
        self.module = import_module("nanotoken")
        self.tokenizer = self.module.Tokenizer(self.path)

    def forget(self) -> None:
        self.load()

    def encode_file(self, path: str) -> Any:
        source = self.module.TextFileSource(path, separator=SEPARATOR)
        return self.tokenizer.encode_files(source, parallel=self.parallel)

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, parallel=self.parallel)

    def arrays(self, result: Any) -> Rows:
        return _rows(result[i] for i in range(len(result)))


class Gigatoken(Nanotoken):
    """Its results are awkward arrays."""

    name = "gigatoken"
    special_tokens = False

    def load(self) -> None:
        self.module = import_module("gigatoken")
        self.tokenizer = self.module.Tokenizer(self.path)

    def encode_file(self, path: str) -> Any:
        source = self.module.TextFileSource([path], separator=SEPARATOR)
        return self.tokenizer.encode_files(source, parallel=self.parallel)

    def arrays(self, result: Any) -> Rows:
        awkward = import_module("awkward")

        counts = np.asarray(awkward.num(result, axis=1))
        ids = np.asarray(awkward.flatten(result, axis=1), dtype=np.uint32)
        return Rows(ids, np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]))


class Tokie(Peer):
    """Its threads are those of RAYON_NUM_THREADS, from the first call on. From files it leaves out empty documents. Of
    some templates (T5, XLM-R) 0.1.4 forgets what comes behind the text, so it is asked for the text's own ids."""

    name = "tokie"
    special_tokens = False
    switches = False

    def load(self) -> None:
        self.tokenizer = import_module("tokie").Tokenizer.from_json(self.path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def forget(self) -> None:
        self.load()

    def encode_file(self, path: str) -> Any:
        return self.tokenizer.encode_files([path], separator=SEPARATOR.encode())

    def encode_list(self, texts: list[str]) -> Any:
        ids, lengths = self.tokenizer.encode_batch_flat(texts, False)
        return ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])

    def arrays(self, result: Any) -> Rows:
        return Rows(np.asarray(result[0]), np.asarray(result[1]).astype(np.int64))


class Tiktoken(Peer):
    """For byte-level BPE that an Encoding of it can state: the vocabulary's ranks and the pattern. It has no cache, and
    knows no special tokens in text (`encode_ordinary_batch`)."""

    name = "tiktoken"
    special_tokens = False
    quick = False

    def load(self) -> None:
        import hftok

        import_module("tiktoken")
        self.tokenizer = hftok.Tokenizer(self.path).to_tiktoken()

    def forget(self) -> None:
        pass

    def encode_file(self, path: str) -> Any:
        return self.encode_list(documents(path))

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_ordinary_batch(texts, num_threads=self.threads if self.parallel else 1)

    def arrays(self, result: Any) -> Rows:
        return _rows(result)


class Kitoken(Tiktoken):
    """One thread, lists only."""

    name = "kitoken"
    switches = False

    def load(self) -> None:
        self.tokenizer = import_module("kitoken").Kitoken.from_tokenizers_file(self.path)

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_all(texts, True)


class Reference(Peer):
    """tokenizers: encode_batch_fast, which gives ids without offsets; texts of a file are read in Python first."""

    name = "tokenizers"
    quick = False
    switches = False

    def load(self) -> None:
        self.tokenizer = import_module("tokenizers").Tokenizer.from_file(self.path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def forget(self) -> None:
        pass  # WordPiece has no cache there; that of BPE cannot be emptied

    def encode_file(self, path: str) -> Any:
        return self.encode_list(documents(path))

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_fast(texts)

    def arrays(self, result: Any) -> Rows:
        return _rows(encoding.ids for encoding in result)


KINDS: tuple[type[Peer], ...] = (Peer, Nanotoken, Gigatoken, Tokie, Kitoken, Tiktoken, Reference)


def peers(path: str, threads: int, names: list[str] | None = None, tell: bool = True) -> list[Peer]:
    """Those that are installed and take this tokenizer; hftok first, the reference last. `tell`: print who does not."""
    found = []
    for kind in KINDS:
        if names and kind.name not in names and kind is not Peer:
            continue
        try:
            found.append(kind(path, threads))
        except ImportError:
            continue
        except BaseException as error:
            if kind is Peer:
                raise
            reason = failure(error)
            if tell:
                print(f"({kind.name} refuses this tokenizer: {reason})")
    return found


def failure(error: BaseException) -> str:
    """What an error says, in one line. Panics of other packages are no Exceptions; what ends a program goes on."""
    if isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        raise error
    return (str(error).strip().partition("\n")[0] or type(error).__name__)[:100]
