"""What the commands read: tokenizers, the reference to compare with, documents."""

from __future__ import annotations

import importlib
import json
import mmap
import os
from collections.abc import Iterator
from importlib import resources
from typing import Any

from hftok.sources import FileSource, JsonlFileSource, TextFileSource
from hftok.tokenizer import Tokenizer

__all__ = [
    "REFERENCE_VERSION",
    "TOKENIZER",
    "UserError",
    "data_text",
    "demo_tokenizer",
    "documents",
    "open_reference",
    "open_tokenizer",
    "reference_module",
    "source_of",
]

# The version of `tokenizers` that this package reproduces.
REFERENCE_VERSION = "0.23.2"

# What the commands say of their first argument.
TOKENIZER = "a tokenizer.json, a folder, a vocab.txt, a Hub id, or `demo`"


class UserError(Exception):
    """Something that the person at the keyboard can put right; printed without a traceback."""


def data_text(name: str) -> str:
    """A file that ships with the package."""
    return resources.files("hftok").joinpath("data", name).read_text(encoding="utf-8")


def demo_tokenizer() -> Tokenizer:
    """The small BERT tokenizer that ships with the package."""
    with resources.as_file(resources.files("hftok").joinpath("data", "demo_vocab.txt")) as path:
        return Tokenizer.from_vocab(path)


def open_tokenizer(name: str) -> Tokenizer:
    """A tokenizer by path, folder or Hub id; "demo" is the one that ships with the package."""
    if name == "demo" and not os.path.exists(name):
        return demo_tokenizer()
    try:
        return Tokenizer(name)
    except (Exception, RecursionError) as error:
        reason = str(error)
        if notes := getattr(error, "__notes__", None):
            reason = f"{'; '.join(notes)}: {reason}"
        elif os.path.isfile(name) and " at line " in reason:
            reason = f"it is not a tokenizer.json: {reason}"
        raise UserError(f"cannot load the tokenizer {name!r}: {reason}") from None


def reference_module() -> Any:
    """The installed reference, or None."""
    try:
        return importlib.import_module("tokenizers")
    except ImportError:
        return None


def open_reference(name: str, tokenizer: Tokenizer) -> Any:
    """The same tokenizer in the reference. From the same file where there is one; else from what `tokenizer` writes."""
    module = reference_module()
    if module is None:
        raise UserError(
            f"there is nothing to compare with: install the reference (pip install tokenizers=={REFERENCE_VERSION})"
        )
    path = os.path.join(name, "tokenizer.json") if os.path.isdir(name) else name
    try:
        if os.path.isfile(path) and not path.endswith(".txt"):
            return module.Tokenizer.from_file(path)
        return module.Tokenizer.from_str(tokenizer.to_str())
    except Exception as error:
        raise UserError(f"the reference cannot load the tokenizer {name!r}: {error}") from None


def source_of(path: str, separator: str | None, field: str | None) -> FileSource:
    """A file as a source of documents."""
    if not os.path.isfile(path):
        raise UserError(f"there is no file {path!r}")
    if field is not None:
        return JsonlFileSource(path, field)
    return TextFileSource(path, _separator(separator))


def _separator(separator: str | None) -> str | None:
    """A separator as typed: \\n, \\t, \\x00 and the like are read as in a Python string."""
    if separator is None:
        return None
    if not separator:
        raise UserError("--separator is empty: give the text that stands between two documents, for example '\\n\\n'")
    if "\\" not in separator:
        return separator
    try:
        return separator.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError as error:
        raise UserError(f"--separator {separator!r} has an escape that cannot be read: {error.reason}") from None


def documents(path: str, separator: str | None, field: str | None) -> Iterator[str]:
    """The documents of a file as str, one after the other, read independently of the core."""
    separator = _separator(separator)
    try:
        if field is not None:
            yield from _lines(path, field)
        else:
            yield from _texts(path, separator)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None


def _texts(path: str, separator: str | None) -> Iterator[str]:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            if separator is None:
                yield ""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if separator is None:
                yield data[:].decode("utf-8", "replace")
                return
            mark = separator.encode()
            start = 0
            while start < size:
                end = data.find(mark, start)
                end = size if end < 0 else end
                yield data[start:end].decode("utf-8", "replace")
                start = end + len(mark)


def _lines(path: str, field: str) -> Iterator[str]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                text = json.loads(line)[field]
            except (ValueError, KeyError, TypeError):
                text = None
            if not isinstance(text, str):
                raise UserError(f"{path}, line {number}: it is no JSON object with a string under {field!r}")
            # Escaped surrogates that do not pair read as U+FFFD, as in the core.
            yield text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
