"""What the commands print: colour where it is wanted, tokens beside their offsets, tables."""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

__all__ = ["Style", "counted", "size_of", "table"]

# Backgrounds that black text can be read on; neighbours differ.
_BACKGROUNDS = (152, 223, 151, 225, 187)


class Style:
    """Colours, or nothing at all.

    Args:
        colour: True or False; None: where standard output is a terminal and NO_COLOR is not set.
    """

    def __init__(self, colour: bool | None = None) -> None:
        if colour is None:
            # no-color.org: any value but an empty one means no.
            colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and sys.stdout.isatty()
        self.colour = colour

    def _wrap(self, codes: str, text: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self.colour else text

    def bold(self, text: str) -> str:
        return self._wrap("1", text)

    def dim(self, text: str) -> str:
        return self._wrap("2", text)

    def good(self, text: str) -> str:
        return self._wrap("32", text)

    def bad(self, text: str) -> str:
        return self._wrap("31", text)

    def token(self, text: str, number: int) -> str:
        """A token on a background of its own."""
        return self._wrap(f"30;48;5;{_BACKGROUNDS[number % len(_BACKGROUNDS)]}", text)

    def tokens(self, encoding: Any, indent: str = "  ") -> str:
        """Every token with its character span, wrapped to the width of the terminal."""
        width = max(shutil.get_terminal_size().columns, 40)
        lines, line, used = [], "", 0
        for number, (token, (start, end)) in enumerate(zip(encoding.tokens, encoding.offsets, strict=True)):
            shown, span = printable(token), f"{start}:{end}"
            size = columns(shown) + len(span) + 2
            if line and used + size > width - len(indent):
                lines.append(line)
                line, used = "", 0
            line += f"{self.token(shown, number)}{self.dim(span)} " if self.colour else f"{shown}[{span}] "
            used += size + (0 if self.colour else 1)
        return "\n".join(indent + part.rstrip() for part in [*lines, line])


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for East Asian characters and emoji, none for marks.

    >>> columns("ab"), columns("東京"), columns("e\u0301")
    (2, 4, 1)
    """
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.category(c) in ("Mn", "Me") for c in text)


def printable(text: str) -> str:
    """Control characters and blanks other than a space as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def counted(number: int, noun: str) -> str:
    """A number and what is counted.

    >>> counted(1, "document"), counted(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_of(number: int) -> str:
    """A number of bytes in the unit that shows something of it.

    >>> size_of(1), size_of(6_772), size_of(108_900_000)
    ('1 byte', '6.8 kB', '108.9 MB')
    """
    if number < 1000:
        return counted(number, "byte")
    return f"{number / 1e3:.1f} kB" if number < 999_950 else f"{number / 1e6:,.1f} MB"


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Rows of equal length as columns: the first to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return "\n".join(lines)
