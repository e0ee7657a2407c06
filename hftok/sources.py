"""Documents read in the core: text files and JSON lines, memory-mapped, without a Python object per document."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from hftok._core.files import FileDocuments

__all__ = ["FileSource", "JsonlFileSource", "TextFileSource"]

Path: TypeAlias = "str | os.PathLike[str]"


def _paths(paths: Path | Sequence[Path]) -> tuple[str, ...]:
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    found = tuple(os.fspath(path) for path in paths)
    for path in found:
        if not isinstance(path, str):
            raise TypeError(f"a path must be a str or os.PathLike[str], not {type(path).__name__}")
    return found


class FileSource:
    """Base of the sources. `paths`: the files, in order."""

    def __init__(self, paths: Path | Sequence[Path]) -> None:
        self.paths = _paths(paths)

    def _documents(self, parallel: bool | None = None) -> Any:
        """The documents, for the engine. OSError: a file cannot be read."""
        return FileDocuments(self.paths)


class TextFileSource(FileSource):
    """Text files (UTF-8), each one document or, with `separator`, as many as the separator divides it into.

    The separator itself is dropped, and so is an empty document at a file's end. Invalid UTF-8 reads as U+FFFD.

    Args:
        paths: one path or several.
        separator: a non-empty str or bytes; None: every file is one document.

    >>> TextFileSource("corpus.txt", separator="<|endoftext|>")
    TextFileSource(['corpus.txt'], separator='<|endoftext|>')
    """

    def __init__(self, paths: Path | Sequence[Path], separator: str | bytes | None = None) -> None:
        super().__init__(paths)
        if separator is not None and not isinstance(separator, (str, bytes)):
            raise TypeError(f"separator must be str, bytes or None, not {type(separator).__name__}")
        if separator is not None and not separator:
            raise ValueError("separator is empty: give a non-empty string, or None for one document a file")
        self.separator = separator

    def _documents(self, parallel: bool | None = None) -> Any:
        separator = self.separator.encode() if isinstance(self.separator, str) else self.separator
        return FileDocuments(self.paths, separator, None, parallel)

    def __repr__(self) -> str:
        return f"TextFileSource({list(self.paths)!r}, separator={self.separator!r})"


class JsonlFileSource(FileSource):
    """Files of JSON objects, one a line: the string under `field` is the document. Blank lines are skipped.

    Args:
        paths: one path or several.
        field: the key of the text, "text" by default.

    A line that is no JSON object, or has no string under the field, is a ValueError that names file and line.

    >>> JsonlFileSource(["a.jsonl", "b.jsonl"], field="content")
    JsonlFileSource(['a.jsonl', 'b.jsonl'], field='content')
    """

    def __init__(self, paths: Path | Sequence[Path], field: str = "text") -> None:
        super().__init__(paths)
        if not isinstance(field, str):
            raise TypeError(f"field must be a str, not {type(field).__name__}")
        self.field = field

    def _documents(self, parallel: bool | None = None) -> Any:
        return FileDocuments(self.paths, None, self.field.encode(), parallel)

    def __repr__(self) -> str:
        return f"JsonlFileSource({list(self.paths)!r}, field={self.field!r})"
