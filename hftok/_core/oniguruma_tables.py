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

from hftok._core.oniguruma_data import FOLDS, NAMES, SETS, SEVERAL

Ranges = tuple[tuple[int, int], ...]


def _unpack(data: str) -> bytes:
    return zlib.decompress(base64.b85decode(data))


@functools.cache
def _sets() -> tuple[Ranges, ...]:
    data, at, sets = _unpack(SETS), 0, []

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    while at < len(data):
        ranges, start = [], 0
        for _ in range(number()):
            first = start + number()
            last = first + number()
            ranges.append((first, last))
            start = last + 1
        sets.append(tuple(ranges))
    return tuple(sets)


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
    return None if index is None else _sets()[index]


@functools.cache
def fold_groups() -> dict[int, tuple[int, ...]]:
    """For every code point with single-character case variants: the whole group, itself included."""
    groups = [tuple(map(ord, group)) for group in _unpack(FOLDS).decode("utf-8").split(" ")]
    return {cp: group for group in groups for cp in group}


@functools.cache
def several_folds() -> dict[int, tuple[int, ...]]:
    """Characters whose full case fold is two or three characters long, with that fold."""
    return {ord(item[0]): tuple(map(ord, item[1:])) for item in _unpack(SEVERAL).decode("utf-8").split(" ")}
