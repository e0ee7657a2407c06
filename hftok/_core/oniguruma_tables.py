"""Character properties and case folds of Oniguruma as `tokenizers` 0.23.2 has it.

`property_ranges` and the fold tables are what the pattern compiler (regex_syntax, regex_program) needs; the matcher
itself sees only the classes of one pattern. The data are in oniguruma_data, which tools/oniguruma_tables.py packs as
this module unpacks them: a set of code points is its number of ranges, then for each the distance from the one before
and its length, seven bits to a byte; sets stand in the order of their names.
"""

from __future__ import annotations

import base64
import functools
import zlib

import numpy as np

from hftok._core.oniguruma_data import FOLDS, NAMES, SETS, SEVERAL

Ranges = tuple[tuple[int, int], ...]


def _unpack(data: str) -> bytes:
    return zlib.decompress(base64.b64decode(data))


@functools.cache
def _numbers() -> tuple[list[int], list[int]]:
    """The numbers that make up the sets, and where each set begins among them: how many ranges it has, then, for each
    range, how far it is from the end of the last one and how long it is."""
    data = np.frombuffer(_unpack(SETS), np.uint8)
    ends = data < 0x80  # the last byte of a number
    begins = np.flatnonzero(np.concatenate(([True], ends[:-1])))
    shift = 7 * (np.arange(len(data)) - begins[np.cumsum(ends) - ends])
    numbers: list[int] = np.add.reduceat((data & 0x7F).astype(np.int64) << shift, begins).tolist()
    places, at = [], 0
    while at < len(numbers):
        places.append(at)
        at += 1 + 2 * numbers[at]
    return numbers, places


@functools.cache
def _set(index: int) -> Ranges:
    numbers, places = _numbers()
    at = places[index]
    ranges, start = [], 0
    for i in range(at + 1, at + 1 + 2 * numbers[at], 2):
        first = start + numbers[i]
        last = first + numbers[i + 1]
        ranges.append((first, last))
        start = last + 1
    return tuple(ranges)


@functools.cache
def _names() -> dict[str, int]:
    groups = _unpack(NAMES).decode("utf-8").split(";")
    return {name: i for i, group in enumerate(groups) for name in group.split(" ")}


def property_ranges(name: str) -> Ranges | None:
    """Code point ranges (first, last) of a property (`han`, `lu`, ...; lower case, no blanks, hyphens or underscores),
    of a POSIX bracket (`[:alpha:]`) or of an escape (`\\w`, inside brackets `[\\w]`). None where the reference
    knows no such name.

    >>> property_ranges("asciihexdigit")
    ((48, 57), (65, 70), (97, 102))
    """
    index = _names().get(name)
    return None if index is None else _set(index)


@functools.cache
def fold_groups() -> dict[int, tuple[int, ...]]:
    """For every code point with single-character case variants: the whole group, itself included."""
    groups = [tuple(map(ord, group)) for group in _unpack(FOLDS).decode("utf-8").split(" ")]
    return {cp: group for group in groups for cp in group}


@functools.cache
def several_folds() -> dict[int, tuple[int, ...]]:
    """Characters whose full case fold is two or three characters long, with that fold."""
    return {ord(item[0]): tuple(map(ord, item[1:])) for item in _unpack(SEVERAL).decode("utf-8").split(" ")}
