"""Make hftok/_core/oniguruma_tables.py: the character properties and case folds of the reference's regex library.

Run with the pinned reference (`tokenizers`) and `regex` installed:  python tools/oniguruma_tables.py

Every property is taken by asking the reference for all code points that `\\p{name}` matches; names to ask for are
those that `regex` knows, each also with the prefix `In` (blocks). Case folding is probed the same way: which code
points match `(?i:c)` for every c that has anything to do with case. Nothing is copied from a Unicode data file, so the
tables are those of the reference, whatever Unicode version it was built with.
"""

import base64
import pathlib
import re
import zlib

import regex._regex_core as regex_core
from tokenizers import NormalizedString, Regex, __version__

TARGET = pathlib.Path(__file__).parent.parent / "hftok" / "_core" / "oniguruma_tables.py"
EVERYTHING = "".join(chr(cp) for cp in range(0x110000) if not 0xD800 <= cp < 0xE000)
CTYPES = ("w", "d", "s", "h")
POSIX = ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"]


def matched(pattern: str) -> list[tuple[int, int]]:
    """Ranges of code points that the class `pattern` matches, surrogates joined to their neighbours when both match."""
    pieces = NormalizedString(EVERYTHING).split(Regex(pattern + "+"), "isolated")
    first = NormalizedString(pieces[0].normalized[0]).split(Regex(pattern), "removed")
    inside = not first
    ranges: list[tuple[int, int]] = []
    for piece in pieces:
        text = piece.normalized
        if inside:
            start, end = ord(text[0]), ord(text[-1])
            if ranges and ranges[-1][1] == 0xD7FF and start == 0xE000:
                ranges[-1] = (ranges[-1][0], end)
            else:
                ranges.append((start, end))
        inside = not inside
    return ranges


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def packed(ranges: list[tuple[int, int]]) -> bytes:
    out, at = varint(len(ranges)), 0
    for start, end in ranges:
        out += varint(start - at) + varint(end - start)
        at = end + 1
    return out


def known_names() -> list[str]:
    names = set()
    for key, (_, values) in regex_core.PROPERTIES.items():
        names |= {key, *values}
    plain = {re.sub(r"[ _-]", "", name).lower() for name in names}
    good = []
    for name in sorted(plain | {"in" + name for name in plain}):
        try:
            Regex(f"\\p{{{name}}}")
        except Exception:
            continue
        good.append(name)
    return good


def case_folds() -> tuple[list[list[int]], list[tuple[int, str]]]:
    """Groups of code points that match one another under (?i), and the characters that fold to several."""
    cased: set[int] = set()
    for name in ("cased", "changeswhencasemapped", "changeswhencasefolded"):
        for start, end in matched(f"\\p{{{name}}}"):
            cased |= set(range(start, end + 1))
    alphabet = sorted(cased | {ord(c) for cp in cased for c in chr(cp).casefold()})
    text = "\n".join(chr(cp) for cp in alphabet)
    groups: set[tuple[int, ...]] = set()
    for cp in alphabet:
        found = NormalizedString(text).split(Regex(f"(?i:\\x{{{cp:X}}})"), "isolated")
        group = tuple(sorted({ord(p.normalized) for p in found if len(p.normalized) == 1 and p.normalized != "\n"}))
        if len(group) > 1:
            groups.add(group)
    several = []
    for cp in alphabet:
        fold = chr(cp).casefold()
        if len(fold) > 1:
            pieces = NormalizedString(fold).split(Regex(f"(?i:\\x{{{cp:X}}})"), "removed")
            assert [p.normalized for p in pieces if p.normalized] == [], hex(cp)
            several.append((cp, fold))
    # Characters that fold to the same sequence match one another as well; that follows from `several`, so those groups
    # hold only single folds.
    multi = {cp for cp, _ in several}
    return sorted(sorted(g) for g in groups if not multi & set(g)), several


def lines(data: str, width: int = 110) -> str:
    return "\n".join(f'    "{data[i : i + width]}"' for i in range(0, len(data), width))


def main() -> None:
    sets: dict[bytes, int] = {}
    names: dict[str, int] = {}
    classes = {name: f"\\p{{{name}}}" for name in known_names()}
    # The same class inside brackets comes from another table there: \w and [\w] differ below U+0100.
    classes |= {f"\\{c}": f"\\{c}" for c in CTYPES} | {f"[\\{c}]": f"[\\{c}]" for c in CTYPES}
    classes |= {f"[:{c}:]": f"[[:{c}:]]" for c in [*POSIX, "ascii", "word"]}
    for name, pattern in classes.items():
        names[name] = sets.setdefault(packed(matched(pattern)), len(sets))
    groups, several = case_folds()
    by_set: dict[int, list[str]] = {}
    for name, index in names.items():
        by_set.setdefault(index, []).append(name)
    name_text = ";".join(" ".join(by_set[i]) for i in range(len(sets)))
    fold_text = " ".join("".join(map(chr, group)) for group in groups)
    several_text = " ".join(chr(cp) + fold for cp, fold in several)

    def blob(data: bytes) -> str:
        return lines(base64.b64encode(zlib.compress(data, 9)).decode("ascii"))

    TARGET.write_text(
        f'''"""Character properties and case folds of Oniguruma as `tokenizers` {__version__} has it.

Generated by tools/oniguruma_tables.py; do not edit. `property_ranges` and the fold tables are what the pattern compiler
(regex_syntax, regex_program) needs; the matcher itself sees only the classes of one pattern.
"""

from __future__ import annotations

import base64
import functools
import zlib

import numpy as np

Ranges = tuple[tuple[int, int], ...]


def _unpack(data: str) -> bytes:
    return zlib.decompress(base64.b64decode(data))


@functools.cache
def _numbers() -> tuple[list[int], list[int]]:
    """The numbers that make up the sets, and where each set begins among them: how many ranges it has, then, for each
    range, how far it is from the end of the last one and how long it is."""
    data = np.frombuffer(_unpack(_SETS), np.uint8)
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
    groups = _unpack(_NAMES).decode("utf-8").split(";")
    return {{name: i for i, group in enumerate(groups) for name in group.split(" ")}}


def property_ranges(name: str) -> Ranges | None:
    """Code point ranges (first, last) of a property (`han`, `lu`, ...; lower case, no blanks, hyphens or underscores),
    of a POSIX bracket (`[:alpha:]`) or of an escape (`\\\\w`, inside brackets `[\\\\w]`). None where the reference
    knows no such name.

    >>> property_ranges("asciihexdigit")
    ((48, 57), (65, 70), (97, 102))
    """
    index = _names().get(name)
    return None if index is None else _set(index)


@functools.cache
def fold_groups() -> dict[int, tuple[int, ...]]:
    """For every code point with single-character case variants: the whole group, itself included."""
    groups = [tuple(map(ord, group)) for group in _unpack(_FOLDS).decode("utf-8").split(" ")]
    return {{cp: group for group in groups for cp in group}}


@functools.cache
def several_folds() -> dict[int, tuple[int, ...]]:
    """Characters whose full case fold is two or three characters long, with that fold."""
    return {{ord(item[0]): tuple(map(ord, item[1:])) for item in _unpack(_SEVERAL).decode("utf-8").split(" ")}}


_NAMES = (
{blob(name_text.encode("utf-8"))}
)
_SETS = (
{blob(b"".join(sets))}
)
_FOLDS = (
{blob(fold_text.encode("utf-8"))}
)
_SEVERAL = (
{blob(several_text.encode("utf-8"))}
)
'''
    )


if __name__ == "__main__":
    main()
