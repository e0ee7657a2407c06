"""Make hftok/_core/oniguruma_data.py: the character properties and case folds of the reference's regex library.

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

TARGET = pathlib.Path(__file__).parent.parent / "hftok" / "_core" / "oniguruma_data.py"
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
        f'''"""Oniguruma's properties and case folds in `tokenizers` {__version__}, packed; read by oniguruma_tables.

Generated by tools/oniguruma_tables.py; do not edit.
"""

NAMES = (
{blob(name_text.encode("utf-8"))}
)
SETS = (
{blob(b"".join(sets))}
)
FOLDS = (
{blob(fold_text.encode("utf-8"))}
)
SEVERAL = (
{blob(several_text.encode("utf-8"))}
)
'''
    )


if __name__ == "__main__":
    main()
