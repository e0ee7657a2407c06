"""The files that models are kept in: vocab.txt, vocab.json, merges.txt."""

from __future__ import annotations

import os
from typing import Any

from hftok._core.json_reader import JsonSyntaxError, loads
from hftok._core.merge_ids import first_bad_id

__all__ = ["BLANKS", "ModelError", "os_error", "read_bpe_files", "read_merges", "read_vocab_json", "read_vocab_txt"]

Vocab = dict[str, int]
Merges = list[tuple[str, str]]


class ModelError(Exception):
    """A model cannot be made of what was given; the message is the reference's."""


# Rust's White_Space; Python's str.rstrip would take U+001C to U+001F too.
BLANKS = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def os_error(error: OSError) -> str:
    return f"{os.strerror(error.errno)} (os error {error.errno})" if error.errno else str(error)


def _read_text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise ModelError(os_error(error)) from None
    except UnicodeDecodeError:
        raise ModelError("stream did not contain valid UTF-8") from None
    except ValueError as error:  # a NUL in the path
        raise ModelError(str(error)) from None


def _lines(text: str) -> list[str]:
    """Rust's BufRead::lines."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _read_json(path: str) -> Any:
    try:
        return loads(_read_text(path))
    except JsonSyntaxError as error:
        raise ModelError(str(error)) from None


def read_vocab_json(path: str) -> Vocab:
    """Entries that are no numbers are left out; ids wrap at 2^32 (models/bpe/model.rs, models/wordlevel/mod.rs)."""
    value = _read_json(path)
    if not isinstance(value, dict):
        raise ModelError("Bad vocabulary json file")
    if type(value) is dict and first_bad_id(value) is None:
        return value
    vocab = {}
    for token, id_ in value.items():
        if isinstance(id_, (int, float)) and not isinstance(id_, bool):
            if isinstance(id_, float) or id_ < 0:
                raise ModelError("Bad vocabulary json file")
            vocab[token] = id_ & 0xFFFFFFFF
    return vocab


def read_merges(lines: list[str]) -> Merges:
    """Lines with two tokens; those that start with "#version" are left out."""
    merges = []
    for number_, line in enumerate((line for line in lines if not line.startswith("#version")), 1):
        parts = line.split(" ")
        if len(parts) != 2:
            raise ModelError(f"Merges text file invalid at line {number_}")
        merges.append((parts[0], parts[1]))
    return merges


def read_bpe_files(vocab: str, merges: str) -> tuple[Vocab, Merges]:
    return read_vocab_json(vocab), read_merges(_lines(_read_text(merges)))


def read_vocab_txt(path: str) -> Vocab:
    return {line.rstrip(BLANKS): number_ for number_, line in enumerate(_lines(_read_text(path)))}
