"""Sets of code points as sorted, disjoint, non-adjacent ranges `((first, last), ...)`: what a character class means.

Surrogates are code points like any other here; no valid text holds one, so it does not matter whether a set has them.
"""

from __future__ import annotations

from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

LAST = 0x10FFFF
NOTHING: Ranges = ()
ANY: Ranges = ((0, LAST),)


def from_pairs(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Sorted ranges of any ranges, overlapping, unsorted and empty ones included; what lies past U+10FFFF is dropped.

    >>> from_pairs([(5, 9), (1, 2), (3, 4)])
    ((1, 9),)
    """
    out: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if first > last or first > LAST:
            continue
        last = min(last, LAST)
        if out and first <= out[-1][1] + 1:
            if last > out[-1][1]:
                out[-1] = (out[-1][0], last)
        else:
            out.append((first, last))
    return tuple(out)


def union(a: Ranges, b: Ranges) -> Ranges:
    if not a or a == b:
        return b
    return from_pairs((*a, *b)) if b else a


def complement(a: Ranges) -> Ranges:
    """
    >>> complement(((0, 9), (20, 29)))
    ((10, 19), (30, 1114111))
    """
    out, at = [], 0
    for first, last in a:
        if first > at:
            out.append((at, first - 1))
        at = last + 1
    if at <= LAST:
        out.append((at, LAST))
    return tuple(out)


def intersection(a: Ranges, b: Ranges) -> Ranges:
    """
    >>> intersection(((0, 9), (20, 29)), ((5, 24),))
    ((5, 9), (20, 24))
    """
    out, i, k = [], 0, 0
    while i < len(a) and k < len(b):
        first, last = max(a[i][0], b[k][0]), min(a[i][1], b[k][1])
        if first <= last:
            out.append((first, last))
        if a[i][1] < b[k][1]:
            i += 1
        else:
            k += 1
    return tuple(out)


def contains(a: Ranges, cp: int) -> bool:
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if a[middle][1] < cp:
            low = middle + 1
        else:
            high = middle
    return low < len(a) and a[low][0] <= cp


def lead_bytes(a: Ranges) -> int:
    """The bytes that UTF-8 of a member can begin with, as a bit set.

    >>> sorted(b for b in range(256) if lead_bytes(((0x41, 0x42), (0xE9, 0xE9))) >> b & 1)
    [65, 66, 195]
    """
    bits = 0
    for low, high, shift, mark in (
        (0, 0x7F, 0, 0), (0x80, 0x7FF, 6, 0xC0), (0x800, 0xFFFF, 12, 0xE0), (0x10000, LAST, 18, 0xF0),
    ):  # fmt: skip
        for first, last in intersection(a, ((low, high),)):
            for lead in range((first >> shift) | mark, ((last >> shift) | mark) + 1):
                bits |= 1 << lead
    return bits
