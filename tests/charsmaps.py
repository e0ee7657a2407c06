"""Precompiled character maps, made of rules: the form that SentencePiece models carry."""

from __future__ import annotations

import struct
from typing import Any


def charsmap(rules: dict[str, str]) -> bytes:
    """A precompiled character map: a double array over the bytes of the keys, then the replacements."""
    blob, values = bytearray(), {}
    for key, value in rules.items():
        values[key.encode()] = len(blob)
        blob += value.encode() + b"\0"
    trie: dict[int, Any] = {}
    for key, value in values.items():
        node = trie
        for byte in key:
            node = node.setdefault(byte, {})
        node[-1] = value
    units, used = [0] * 256, {0}

    def place(node: dict[int, Any], at: int) -> None:
        # A node's children, and its value under byte 0, stand at base ^ byte. An offset has 21 bits.
        wanted = [0 if byte == -1 else byte for byte in node]
        base = next(b for b in range(1, 1 << 21) if all((b ^ w) not in used for w in wanted) and (b ^ at) < 1 << 21)
        for w in wanted:
            used.add(base ^ w)
            units.extend([0] * ((base ^ w) + 256 - len(units)))
        units[at] |= (at ^ base) << 10
        if -1 in node:
            units[at] |= 1 << 8
            units[base] = node[-1] | 1 << 31
        for byte, child in node.items():
            if byte != -1:
                units[base ^ byte] |= byte
                place(child, base ^ byte)

    place(trie, 0)
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + bytes(blob)


RULES = {
    "ﬁ": "fi", "ﬃ": "ffi", "é": "e", "e\u0301": "E", "\u00a0": " ", "\u3000": " ", "１": "1", "½": "1/2", "\u200b": "",
    "\x01": "", "A": "aa", "中": "zhong", "\u0301": "", "©": "(c)", "\r\n": "\n", "😀": ":)", "ñ": "ñ",
}  # fmt: skip
CHARSMAP = charsmap(RULES)
