"""The order in which tiktoken tries special tokens: that of a Rust hash table.

tiktoken joins its special tokens to one pattern in the order that an `FxHashMap<String, u32>` iterates in (src/lib.rs,
`new_internal`), and of two that match at the same place the earlier one in the pattern wins. That matters only where
one special token begins with another. The order is a matter of arithmetic: the hash of rustc-hash 2.1 and the table of
hashbrown 0.17 on a 64-bit machine with groups of sixteen (x86-64), filled in the order of the dict with room for all
from the start. On other machines the reference's order may differ; this package's does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

__all__ = ["overlapping", "table_order"]

MASK = 2**64 - 1
GROUP = 16


def _mix(x: int, y: int) -> int:
    full = x * y
    return (full & MASK) ^ (full >> 64)


def _hash_bytes(data: bytes) -> int:
    a, b = 0x243F6A8885A308D3, 0x13198A2E03707344
    n = len(data)
    if n > 16:
        at = 0
        while n - 1 - at >= 16:
            x = int.from_bytes(data[at : at + 8], "little")
            y = int.from_bytes(data[at + 8 : at + 16], "little")
            a, b = b, _mix(a ^ x, 0xA4093822299F31D0 ^ y)
            at += 16
        a ^= int.from_bytes(data[n - 16 : n - 8], "little")
        b ^= int.from_bytes(data[n - 8 :], "little")
    elif n >= 8:
        a ^= int.from_bytes(data[:8], "little")
        b ^= int.from_bytes(data[n - 8 :], "little")
    elif n >= 4:
        a ^= int.from_bytes(data[:4], "little")
        b ^= int.from_bytes(data[n - 4 :], "little")
    elif n > 0:
        a ^= data[0]
        b ^= data[n - 1] << 8 | data[n // 2]
    return _mix(a, b) ^ n


def _hash(text: str) -> int:
    """The FxHasher's hash of a str: its bytes, then 0xFF."""
    state = 0
    for part in (_hash_bytes(text.encode("utf-8")), 0xFF):
        state = (state + part) * 0xF1357AEA2E62A9C5 & MASK
    return (state << 26 | state >> 38) & MASK


def _buckets(capacity: int) -> int:
    if capacity < 15:
        return 4 if capacity < 4 else 8 if capacity < 8 else 16
    return 1 << (capacity * 8 // 7 - 1).bit_length()


def _free_place(table: list[str | None], pos: int) -> int:
    """The first free place from `pos` on, as the table's groups see it."""
    size = len(table)
    step = 0
    while True:
        for bit in range(GROUP):
            at = pos + bit
            # Small tables are followed by empty places up to a whole group, then by a copy of themselves.
            beyond = size <= at < GROUP
            if beyond or table[at % max(size, GROUP)] is None:
                place = at % size
                return place if table[place] is None else table.index(None)
        step += GROUP
        pos = (pos + step) % size


def table_order(keys: Iterable[str]) -> list[str]:
    """The keys in the order in which the table gives them back.

    >>> table_order(["<a>", "<a>b", "<c>"])
    ['<a>', '<a>b', '<c>']
    """
    keys = list(keys)
    if not keys:
        return []
    table: list[str | None] = [None] * _buckets(len(keys))
    for key in keys:
        table[_free_place(table, _hash(key) % len(table))] = key
    return [key for key in table if key is not None]


def overlapping(keys: Iterable[str]) -> bool:
    """Whether some key begins with another one.

    >>> overlapping(["<a>", "<b>"]), overlapping(["<a>", "<a>b"])
    (False, True)
    """
    ordered = sorted(keys)
    return any(b.startswith(a) for a, b in pairwise(ordered))
