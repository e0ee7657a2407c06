"""Characters of a pattern: the position in it, and the escapes that stand for one character or a property.

The readings are Oniguruma's: `\\x` alone is NUL (a literal x at the very end), bytes of UTF-8 may be spelled out as
`\\xHH` or octal, a single byte from 0x80 on is accepted in places although no text holds it.
"""

from __future__ import annotations

from typing import NoReturn

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.errors import RegexSyntaxError, UnsupportedTokenizerError
from hftok._core.oniguruma_tables import property_ranges

CONTROL_ESCAPES = {"n": 10, "t": 9, "r": 13, "f": 12, "a": 7, "b": 8, "e": 27, "v": 11}


def unsupported(what: str) -> NoReturn:
    raise UnsupportedTokenizerError(f"{what} cannot be reproduced; please report this pattern", "Regex")


class CharacterReader:
    """A pattern and a position in it."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0

    def more(self) -> bool:
        return self.at < len(self.text)

    def peek(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.text[at] if at < len(self.text) else ""

    def take(self) -> str:
        c = self.text[self.at]
        self.at += 1
        return c

    def accept(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def number(self) -> int | None:
        start = self.at
        while self.more() and self.peek() in "0123456789":
            self.at += 1
        return int(self.text[start : self.at]) if self.at > start else None

    def digits(self, base: str, limit: int) -> str:
        start = self.at
        while self.at - start < limit and self.more() and self.peek() in base:
            self.at += 1
        return self.text[start : self.at]

    def property(self, negative: bool, inside: bool) -> Ranges:
        """After \\p, at the opening brace."""
        self.take()
        if self.accept("^"):
            negative = not negative
        start = self.at
        while self.more():
            c = self.take()
            if c == "}":
                break
            if c in "(){|":
                raise RegexSyntaxError("end pattern with unmatched parenthesis")
        else:
            raise RegexSyntaxError("end pattern with unmatched parenthesis")
        name = self.text[start : self.at - 1]
        plain = name.replace(" ", "").replace("-", "").replace("_", "").lower()
        if plain == "word" and inside:
            plain = "[\\w]"
        ranges = property_ranges(plain) if plain.isascii() else None
        if ranges is None:
            raise RegexSyntaxError(f"invalid character property name {{{name}}}")
        return code_points.complement(ranges) if negative else ranges

    def escaped_value(self, c: str, state: str | None) -> tuple[int, bool]:
        """An escape that stands for one character (`c` follows the backslash): its code point and whether it is a
        single byte. `state` is the class state inside brackets, None outside."""
        if c == "x" and self.more():
            cp = self.braced("0123456789abcdefABCDEF", 16, 8, state) if self.peek() == "{" else None
            if cp is None:
                return self.crude(c, state)
        elif c == "o" and self.peek() == "{":
            cp = self.braced("01234567", 8, 11, state)
        elif c == "u" and self.more():
            digits = self.digits("0123456789abcdefABCDEF", 4)
            if len(digits) < 4:
                raise RegexSyntaxError("invalid code point value")
            cp = int(digits, 16)
        elif c in "01234567":
            return self.crude(c, state)
        elif c in "xu":
            cp = ord(c)
        else:
            self.at -= 1
            cp = self.control_value()
        return cp, cp < 0x80

    def control_value(self) -> int:
        """\\M-x, \\C-x, \\cx or a plain escape, the backslash already read."""
        if not self.more():
            raise RegexSyntaxError("end pattern at escape")
        c = self.take()
        if c == "M":
            for wanted in ("-", ""):
                if not self.more():
                    raise RegexSyntaxError("end pattern at meta")
                if wanted and self.take() != wanted:
                    raise RegexSyntaxError("invalid meta-code syntax")
            value = ord(self.take())
            if value == ord("\\"):
                value = self.control_value()
            return value & 0xFF | 0x80
        if c in "Cc":
            if c == "C":
                if not self.more():
                    raise RegexSyntaxError("end pattern at control")
                if self.take() != "-":
                    raise RegexSyntaxError("invalid control-code syntax")
            if not self.more():
                raise RegexSyntaxError("end pattern at control")
            value = ord(self.take())
            if value == ord("?"):
                return 0x7F
            if value == ord("\\"):
                value = self.control_value()
            return value & 0x9F
        return CONTROL_ESCAPES.get(c, ord(c))

    def braced(self, base: str, radix: int, limit: int, state: str | None) -> int:
        start = self.at
        self.take()
        digits = self.digits(base, limit)
        cp = int(digits, radix) if digits else 0
        if cp > 0xFFFFFFFF:
            raise RegexSyntaxError("too big number")
        if self.more() and self.peek() in ("0123456789abcdefABCDEF" if radix == 16 else "0123456789"):
            raise RegexSyntaxError("too long wide-char value")
        if not digits:
            self.at = start
            return ord(self.text[start - 1])
        if not self.accept("}"):
            if self.more() and self.peek() in " \n-":
                unsupported("several code points in one \\x{...}")
            raise RegexSyntaxError("invalid code point value")
        if cp >= 0x140000 and state != "range":
            raise RegexSyntaxError("invalid code point value")
        return cp

    def crude(self, c: str, state: str | None) -> tuple[int, bool]:
        """A character written as the bytes of its UTF-8, each \\xHH or \\OOO; `c` of the first one is read."""

        def byte(c: str) -> int:
            if c == "x":
                digits = self.digits("0123456789abcdefABCDEF", 2)
                return int(digits, 16) if digits else 0
            self.at -= 1
            value = int(self.digits("01234567", 3), 8)
            if value > 0xFF and state is not None:
                raise RegexSyntaxError("too big number")
            return value & 0xFF

        values = bytearray([byte(c)])
        lead = values[0]
        need = 1 if lead < 0xC0 or lead > 0xF4 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        if 0x80 <= lead < 0xC0 and state is None:
            raise RegexSyntaxError("invalid code point value")
        while len(values) < need:
            follows = self.peek() == "\\" and (
                self.peek(1) == "x" if c == "x" else self.peek(1) != "" and self.peek(1) in "01234567"
            )
            if not follows:
                raise RegexSyntaxError("too short multibyte code string")
            self.take()
            values.append(byte(self.take()))
        if need == 1:
            return lead, True
        if any(value & 0xC0 != 0x80 for value in values[1:]):
            raise RegexSyntaxError("invalid code point value")
        try:
            return ord(values.decode("utf-8")), False
        except UnicodeDecodeError:
            return code_points.LAST + 1, False  # accepted, and in no text
