"""The other packages that do the same work, behind one face. One that is not installed is left out.

A peer gives `encode_file(path)` (ids of the documents between separators) and `encode_list(texts)`, each returning
(flat ids, row offsets) or an object from which `rows` takes them, and `forget()`, after which its caches are empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.corpora import SEPARATOR, documents

__all__ = ["Peer", "peers"]


class Peer:
    """hftok itself; the base of the others."""

    name = "hftok"

    def __init__(self, path: str, threads: int) -> None:
        import hftok

        self.path = path
        self.parallel = threads > 1
        self.tokenizer = hftok.Tokenizer(path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.source = lambda file: hftok.TextFileSource(file, SEPARATOR)

    def forget(self) -> None:
        self.tokenizer.clear_cache()

    def encode_file(self, path: str) -> Any:
        return self.tokenizer.encode_files(self.source(path), parallel=self.parallel)

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_ids(texts, parallel=self.parallel)

    def rows(self, result: Any) -> list[list[int]]:
        found: list[list[int]] = result.to_list()
        return found


class Nanotoken(Peer):
    name = "nanotoken"

    def __init__(self, path: str, threads: int) -> None:
        import nanotoken

        self.module = nanotoken
        self.path = path
        self.parallel = threads > 1
        self.tokenizer = nanotoken.Tokenizer(path)
        self.source = lambda file: nanotoken.TextFileSource(file, separator=SEPARATOR)

    def forget(self) -> None:
        self.tokenizer = self.module.Tokenizer(self.path)

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, parallel=self.parallel)

    def rows(self, result: Any) -> list[list[int]]:
        return [np.asarray(result[i]).tolist() for i in range(len(result))]


class Reference(Peer):
    """tokenizers: encode_batch_fast, which gives ids without offsets; texts of a file are read in Python first."""

    name = "tokenizers"

    def __init__(self, path: str, threads: int) -> None:
        import tokenizers

        self.tokenizer = tokenizers.Tokenizer.from_file(path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def forget(self) -> None:
        pass  # WordPiece has no cache there; that of BPE cannot be emptied

    def encode_file(self, path: str) -> Any:
        return self.encode_list(documents(path))

    def encode_list(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch_fast(texts)

    def rows(self, result: Any) -> list[list[int]]:
        return [encoding.ids for encoding in result]


def peers(path: str, threads: int, names: list[str] | None = None) -> list[Peer]:
    """Those that are installed and take this tokenizer; hftok first, the reference last."""
    found = []
    for kind in (Peer, Nanotoken, Reference):
        if names and kind.name not in names and kind is not Peer:
            continue
        try:
            found.append(kind(path, threads))
        except ImportError:
            continue
        except Exception as error:
            if kind is Peer:
                raise
            print(f"({kind.name} refuses this tokenizer: {str(error)[:100]})")
    return found
