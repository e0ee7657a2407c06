"""Extended grapheme clusters against the reference, where they show: in the Precompiled normalizer.

A cluster of less than 6 bytes whose beginning is in the map is replaced as a whole; in all others each character is
replaced by itself (normalizers/precompiled.rs). So a mark is lost or kept with the cluster that it is in.
"""

import itertools
import random
import struct
from collections.abc import Callable

import pytest
from tokenizers import normalizers

from hftok._core import unicode

SCALARS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CLASSES = unicode.table("grapheme_class")
MARK = "\u0300"
FENCE = "\x01"

# Some of each class, in one, two, three and four bytes where there are such, among them those of the rules for
# pictographs, conjuncts and Hangul.
POOL = (
    "xab1 \t\r\n\x01\x7f\xad\u200b\u2028\U000e0001"
    "\u0300\u0301\u0308\u0345\u200c\u200d\ufe0f\u20e3\U0001f3fb\U000e0101"
    "\u0903\u093e\u0e33\u0eb3\u0bbe\u1b44"
    "\u0915\u0916\u0995\u0d15\u1000\u1b13\u094d\u09cd\u0d4d\u1039\U00011133\u093c"
    "\u0600\u06dd\u070f\u0890\u0d4e\U000110bd"
    "\u1100\ua960\u1161\ud7b0\u11a8\ud7cb\uac00\uac01\ud7a3"
    "\xa9\xae\u2122\u203c\u2764\U0001f468\U0001f525\U0001f1e6\U0001f1ff"
    "\xe9\u4e00\U0001d4d0\u0378"
)


def charsmap(mapping: dict[str, str]) -> bytes:
    """A precompiled_charsmap: size of the double array, its 32-bit units, the results with NUL after each."""
    results, offsets = bytearray(), {}
    for key, value in mapping.items():
        offsets[key.encode() + b"\0"] = len(results)
        results += value.encode() + b"\0"
    prefixes = sorted({key[:i] for key in offsets for i in range(len(key))})
    children = {
        p: sorted({key[len(p)] for key in offsets if key.startswith(p) and len(key) > len(p)}) for p in prefixes
    }
    # The children of the n-th prefix have a block of 256 units for themselves, the root has unit 0.
    block = {prefix: 256 * (n + 1) for n, prefix in enumerate(prefixes)}
    units = [0] * (256 * (len(prefixes) + 1))
    for prefix in prefixes:
        at = block[prefix[:-1]] + prefix[-1] if prefix else 0
        units[at] |= (at ^ block[prefix]) << 10 | (0 in children[prefix]) << 8 | (prefix[-1] if prefix else 0)
        if 0 in children[prefix]:
            units[block[prefix]] = 1 << 31 | offsets[prefix + b"\0"]
    array = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(array)) + array + bytes(results)


def reference(mapping: dict[str, str]) -> Callable[[str], str]:
    return normalizers.Precompiled(charsmap(mapping)).normalize_str


def replaced(text: str, mapping: dict[str, str]) -> str:
    """What the rule above makes of a text."""
    result = []
    for cluster in unicode.graphemes(text):
        if len(cluster.encode()) < 6 and cluster[0] in mapping:
            result.append(mapping[cluster[0]])
        else:
            result += [mapping.get(c, c) for c in cluster]
    return "".join(result)


def test_the_map_works() -> None:
    mapping = {"x": "X", "\xae": "(R)", "\u0915": "", "\U0001f525": "fire"}
    text = "ax\xae\u0915\U0001f525\u4e00"
    assert reference(mapping)(text) == "aX(R)fire\u4e00" == replaced(text, mapping)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x", "x" + MARK),  # what extends the first, what is prepended to the second, what does neither
        ("\xa9", "\xae" + MARK),  # ZWJ
        ("\xa9", "\u200d\xae" + MARK),  # Extend, pictographs
        ("\u0916", "\u0915" + MARK),  # linkers
        ("\u0916", "\u094d\u0915" + MARK),  # what may stand in a conjunct, consonants
        ("", "\u1100" + MARK),  # Hangul
        ("", "\u1161" + MARK),
        ("", "\u11a8" + MARK),
        ("", "\u0301" + MARK),  # control characters
    ],
)
def test_every_character(before: str, after: str) -> None:
    mapping = dict.fromkeys(("x", "\xae", "\u0915", "\u1100", "\u1161", "\u11a8", "\u0301"), "#")
    call = reference(mapping)
    special = {*mapping, *before, *after, FENCE}
    for c in special - {FENCE}:
        assert call(before + c + after) == replaced(before + c + after, mapping)
    # Else the result depends on the character's class and length only: one shows how to put all of a group together.
    groups: dict[tuple[int, int], list[str]] = {}
    for c, number in zip(map(chr, SCALARS), CLASSES[SCALARS].tolist(), strict=True):
        groups.setdefault((number, len(c.encode())), []).append(c)
    for kind, group in groups.items():
        rest = [c for c in group if c not in special]
        if rest:
            around = replaced(before + rest[0] + after, mapping).split(rest[0])
            expected = FENCE.join(c.join(around) for c in rest)
            assert call(FENCE.join(before + c + after for c in rest)) == expected, kind


def test_random_texts() -> None:
    draw = random.Random(11)
    for _ in range(60):
        mapping = {c: draw.choice(["", "#", "<>", "###"]) for c in draw.sample(sorted(set(POOL) - {MARK}), 12)}
        call = reference(mapping)
        for _ in range(300):
            pool = [*draw.sample(POOL, 8), MARK]
            text = "".join(draw.choice(pool) for _ in range(draw.randint(1, 16)))
            assert call(text) == replaced(text, mapping), ascii(text)


def test_all_triples_of_the_pool() -> None:
    """Each third character mapped, with a mark behind it, so that its cluster's beginning shows."""
    for key in POOL:
        if key in (MARK, FENCE):
            continue
        mapping = {key: "#"}
        texts = [
            first + second + key + MARK
            for first, second in itertools.product(POOL, POOL)
            if FENCE not in first + second
        ]
        assert reference(mapping)(FENCE.join(texts)) == FENCE.join(replaced(text, mapping) for text in texts)


def test_clusters() -> None:
    """Where no call of the reference tells: by Unicode Standard Annex 29."""
    assert unicode.graphemes("") == []
    for clusters in (
        ["\r\n", "\n", "\r"],
        ["\U0001f1e6\U0001f1e7", "\U0001f1e6\U0001f1e7", "\U0001f1e6"],
        ["\u1100\u1161\u11a8", "\u1100\uac00\u11a8", "\uac01\u11a8", "\uac00"],
        ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f3fb" + MARK][:1],
        ["e" + MARK * 50, "a"],
        ["\u0600a", "b"],
        ["\u0915\u094d\u200d\u0937\u093f", "\u0915"],
    ):
        assert unicode.graphemes("".join(clusters)) == clusters
