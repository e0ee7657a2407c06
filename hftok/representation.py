"""What a component looks like written down: as JSON, and as `repr` and `str`.

Both come from one tree. Its nodes are plain values (None, bool, int, float, str, list, dict, and tuple where the
reference has a tuple) and the four below. `to_json` gives what `hftok._core.json_writer.dumps` writes; `describe`
follows the reference's own text format (bindings/python/src/utils/serde_pyo3.rs): names of structs and variants bare,
strings without escapes, the sixth element of a long list replaced by dots in `str`, the hundredth in `repr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from hftok._core.json_writer import Float32, decimal_parts

__all__ = [
    "Float32",
    "Listing",
    "Struct",
    "StructVariant",
    "Unserializable",
    "ValueVariant",
    "Variant",
    "describe",
    "positional",
    "to_json",
]

Tree = Any


class Unserializable(Exception):
    """A part (a custom Python component) has no written form."""


class Struct(NamedTuple):
    """Named fields. `tagged`: the JSON object starts with "type": name."""

    name: str
    fields: tuple[tuple[str, Tree], ...]
    tagged: bool = True


class Variant(NamedTuple):
    """One of a set of names: a string in JSON, the bare name in `repr`."""

    name: str


class ValueVariant(NamedTuple):
    """A name with one value: `{name: value}`, `name(value)`."""

    name: str
    value: Tree


class StructVariant(NamedTuple):
    """A name with named fields: `{name: {...}}`, `name(field=...)`."""

    name: str
    fields: tuple[tuple[str, Tree], ...]


class Listing:
    """A list that is made item by item, so that `repr` need not make half a million."""

    def __init__(self, items: Callable[[], Iterable[Tree]]) -> None:
        self.items = items


def to_json(node: Tree) -> Any:
    """The node as dicts, lists and plain values."""
    if isinstance(node, Struct):
        result: dict[str, Any] = {"type": node.name} if node.tagged else {}
        for name, value in node.fields:
            result[name] = to_json(value)
        return result
    if isinstance(node, Variant):
        return node.name
    if isinstance(node, ValueVariant):
        return {node.name: to_json(node.value)}
    if isinstance(node, StructVariant):
        return {node.name: {name: to_json(value) for name, value in node.fields}}
    if isinstance(node, dict):
        # A vocabulary: plain already, and too large to copy.
        if any(type(value) is not int for value in node.values()):
            return {key: to_json(value) for key, value in node.items()}
        return node
    if isinstance(node, list):
        if node and isinstance(node[0], (Struct, Variant, ValueVariant, StructVariant)):
            return [to_json(value) for value in node]
        return node
    if isinstance(node, Listing):
        return iter(node.items())
    return node


def describe(node: Tree, *, full: bool) -> str:
    """The text of `repr` (full) or `str`.

    >>> describe(Struct("Strip", (("strip_left", True), ("strip_right", False))), full=True)
    'Strip(strip_left=True, strip_right=False)'
    >>> describe([1, 2, 3, 4, 5, 6, 7], full=False)
    '[1, 2, 3, 4, 5, ...]'
    """
    describer = _Describer(max_depth=200, max_elements=100, max_string=None) if full else _Describer(20, 6, 100)
    describer.write(node)
    return "".join(describer.parts)


def positional(x: float) -> str:
    """A number as Rust's Display prints it: the shortest digits, never an exponent."""
    if x != x:
        return "NaN"
    if x in (float("inf"), float("-inf")):
        return "inf" if x > 0 else "-inf"
    negative, raw, point = decimal_parts(x)
    digits = raw.decode()
    if digits == "0":
        body = "0"
    elif point <= 0:
        body = "0." + "0" * -point + digits
    elif point >= len(digits):
        body = digits + "0" * (point - len(digits))
    else:
        body = digits[:point] + "." + digits[point:]
    return "-" + body if negative else body


class _Describer:
    def __init__(self, max_depth: int, max_elements: int, max_string: int | None) -> None:
        self.parts: list[str] = []
        self.counts = [0] * max_depth
        self.level = 0
        self.max_elements = max_elements
        self.max_string = max_string

    def enter(self, opening: str) -> None:
        self.parts.append(opening)
        # Beyond the deepest level all share one counter, as in the reference.
        self.level = min(len(self.counts) - 1, self.level + 1)
        self.counts[self.level] = 0

    def leave(self, closing: str) -> None:
        self.counts[self.level] = 0
        self.level = max(0, self.level - 1)
        self.parts.append(closing)

    def element(self, opening: str) -> bool | None:
        """Whether the next element is shown; None where neither it nor any after it is."""
        self.counts[self.level] += 1
        count = self.counts[self.level]
        if count < self.max_elements:
            if not self.parts[-1].endswith(opening):
                self.parts.append(", ")
            return True
        if count == self.max_elements:
            self.parts.append(", ...")
        return None if self.level < len(self.counts) - 1 else False

    def elements(self, items: Iterable[Tree], opening: str, closing: str) -> None:
        self.enter(opening)
        for item in items:
            shown = self.element(opening)
            if shown:
                self.write(item)
            elif shown is None:
                break
        self.leave(closing)

    def fields(self, name: str, fields: tuple[tuple[str, Tree], ...]) -> None:
        self.enter(name + "(")
        for key, value in fields:
            if not self.parts[-1].endswith("("):
                self.parts.append(", ")
            self.parts.append(key + "=")
            self.write(value)
        self.leave(")")

    def write(self, node: Tree) -> None:
        if isinstance(node, str):
            self.parts.append('"' + self.shorten(node) + '"')
        elif node is None or isinstance(node, (bool, int)):
            self.parts.append(str(node))
        elif isinstance(node, float):
            self.parts.append(positional(node))
        elif isinstance(node, Float32):
            self.parts.append(positional(node.value))
        elif isinstance(node, (Struct, StructVariant)):
            self.fields(node.name, node.fields)
        elif isinstance(node, Variant):
            self.parts.append(node.name)
        elif isinstance(node, ValueVariant):
            self.parts.append(node.name + "(")
            self.write(node.value)
            self.parts.append(")")
        elif isinstance(node, tuple):
            self.elements(node, "(", ")")
        elif isinstance(node, list):
            self.elements(node, "[", "]")
        elif isinstance(node, Listing):
            self.elements(node.items(), "[", "]")
        else:
            self.map(node)

    def map(self, node: dict[str, Tree]) -> None:
        self.enter("{")
        for key, value in node.items():
            shown = self.element("{")
            if shown:
                self.write(key)
                self.parts.append(":")
                self.write(value)
            elif shown is None:
                break
        self.leave("}")

    def shorten(self, text: str) -> str:
        if self.max_string is None or (len(text) <= self.max_string and len(text.encode()) <= self.max_string):
            return text
        # The reference cuts bytes, and panics inside a character; here the cut is after the character before.
        return text.encode()[: self.max_string].decode("utf-8", "ignore") + "..."
