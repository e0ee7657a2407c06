"""Bracket classes of a pattern: `[...]` with ranges, nested classes, POSIX brackets, escapes and intersections.

The states are Oniguruma's: a hyphen is a member at the start, at the end and after a whole range; a nested class after
`a-` makes it forget the `a`; `&&` binds weaker than everything else; a range between two bytes means bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.errors import RegexSyntaxError
from hftok._core.oniguruma_tables import property_ranges
from hftok._core.regex_characters import CharacterReader


@dataclass(slots=True)
class _ClassState:
    """Where a bracket class stands while it is read: the set so far and the value that may begin a range."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    state: str = "start"  # start, value, range, complete
    value: int | None = None  # None: the last item was a class (\w, [:alpha:], \p{..})
    single: bool = False  # the value is one byte: ASCII, or \x80..\xFF written as a byte, which no text holds


class BracketReader(CharacterReader):
    """Reads bracket classes."""

    def bracket_set(self) -> tuple[Ranges, bool]:
        """After the opening bracket: the set before negation, and whether it is negated."""
        negative = self.accept("^")
        if self.peek() == "]":
            # A closing bracket right at the start is a member, if another one follows.
            rest, at = False, self.at + 1
            while at < len(self.text):
                if self.text[at] == "\\":
                    at += 1
                elif self.text[at] == "]":
                    rest = True
                    break
                at += 1
            if not rest:
                raise RegexSyntaxError("empty char-class")
            literal_close = True
        else:
            literal_close = False
        state = _ClassState()
        left: Ranges | None = None
        while True:
            if not self.more():
                raise RegexSyntaxError("premature end of char-class")
            c = self.take()
            if c == "]" and not literal_close:
                break
            literal_close = False
            if c == "-":
                self.class_hyphen(state)
            elif c == "[":
                self.class_bracket(state)
            elif c == "&" and self.peek() == "&":
                self.take()
                self.class_flush(state)
                left = _and(left, code_points.from_pairs(state.pairs))
                state = _ClassState()
            elif c == "\\":
                self.class_escape(state)
            else:
                self.class_value(state, ord(c))
        self.class_flush(state)
        return _and(left, code_points.from_pairs(state.pairs)), negative

    def class_flush(self, state: _ClassState) -> None:
        if state.state == "value" and state.value is not None and not (state.single and state.value > 0x7F):
            state.pairs.append((state.value, state.value))

    def class_value(self, state: _ClassState, cp: int, single: bool | None = None) -> None:
        if single is None:
            single = cp < 0x80
        if state.state == "range":
            assert state.value is not None
            if state.value > cp:
                raise RegexSyntaxError("empty range in char class")
            # A range between two bytes means bytes: of those, only ASCII occurs as a character of its own.
            state.pairs.append((state.value, min(cp, 0x7F) if single and state.single else cp))
            state.state = "complete"
        else:
            self.class_flush(state)
            state.state = "value"
        state.value, state.single = cp, single

    def class_set(self, state: _ClassState, ranges: Ranges) -> None:
        if state.state == "range":
            raise RegexSyntaxError("char-class value at end of range")
        self.class_flush(state)
        state.pairs.extend(ranges)
        state.state = "value"
        state.value = None

    def class_hyphen(self, state: _ClassState) -> None:
        ends = self.peek() == "]" or self.text.startswith("&&", self.at)
        if state.state == "value":
            if ends:
                self.class_value(state, ord("-"))
            elif state.value is None:
                raise RegexSyntaxError("unmatched range specifier in char-class")
            else:
                state.state = "range"
        else:
            # Not after a value it is a member; after a whole range too, as in [0-9-a].
            self.class_value(state, ord("-"))

    def class_bracket(self, state: _ClassState) -> None:
        if self.peek() == ":":
            end = self.at + 1
            if self.text[end : end + 1] == "^":
                end += 1
            start = end
            while end < len(self.text) and self.text[end].isalpha():
                end += 1
            if end > start and self.text.startswith(":]", end):
                negative = self.text[self.at + 1] == "^"
                name = self.text[start:end]
                ranges = property_ranges(f"[:{name}:]")
                if ranges is None:
                    raise RegexSyntaxError("invalid POSIX bracket type")
                self.at = end + 2
                self.class_set(state, code_points.complement(ranges) if negative else ranges)
                return
        if state.state == "value":
            self.class_flush(state)
        state.state = "complete"
        ranges, negative = self.bracket_set()
        state.pairs.extend(code_points.complement(ranges) if negative else ranges)

    def class_escape(self, state: _ClassState) -> None:
        if not self.more():
            raise RegexSyntaxError("end pattern at escape")
        c = self.take()
        if c in "wWdDsShH":
            ranges = property_ranges(f"[\\{c.lower()}]")
            assert ranges is not None
            self.class_set(state, ranges if c.islower() else code_points.complement(ranges))
        elif c in "pP" and self.peek() == "{":
            self.class_set(state, self.property(c == "P", inside=True))
        else:
            self.class_value(state, *self.escaped_value(c, state.state))


def _and(left: Ranges | None, right: Ranges) -> Ranges:
    return right if left is None else code_points.intersection(left, right)
