"""Patterns as arguments: plain strings, and regular expressions in Oniguruma's syntax."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hftok._core.errors import RegexSyntaxError
from hftok._core.patterns import Pattern as CompiledPattern
from hftok.arguments import string, string_or_other
from hftok.component import Attribute
from hftok.json_forms import FormError, Reader, unit_variant, variant
from hftok.json_forms import string as json_string
from hftok.representation import ValueVariant

__all__ = ["BEHAVIORS", "BehaviorAttribute", "Pattern", "Regex", "behavior_reader", "pattern_argument", "read_pattern"]

# kind ("String" or "Regex") and text
Pattern = tuple[str, str]

BEHAVIORS = {
    "removed": "Removed",
    "isolated": "Isolated",
    "merged_with_previous": "MergedWithPrevious",
    "merged_with_next": "MergedWithNext",
    "contiguous": "Contiguous",
}


class Regex:
    """A regular expression (Oniguruma's syntax), to be passed where a plain string would be matched literally.

    Args:
        s: the expression.

    Raises:
        Exception: the expression is not valid.

    >>> Regex(r"\\s+").pattern
    '\\\\s+'
    """

    __slots__ = ("__weakref__", "_pattern")

    def __init__(self, s: str) -> None:
        self._pattern = check_regex(string(s))

    @property
    def pattern(self) -> str:
        """The expression."""
        return self._pattern


@lru_cache(maxsize=256)
def check_regex(pattern: str) -> str:
    """The pattern. An Exception where it is none, UnsupportedTokenizerError where it cannot be reproduced."""
    try:
        CompiledPattern("Regex", pattern)
    except RegexSyntaxError as error:
        raise Exception(str(error)) from None
    return pattern


def pattern_argument(value: Any) -> Pattern:
    """A `str` or a `Regex` as (kind, text)."""
    if isinstance(value, Regex):
        return "Regex", value.pattern
    if not isinstance(value, str):
        raise TypeError(f"a pattern must be a str or a Regex, not {type(value).__name__}")
    return "String", string_or_other(value)


def _read_regex(value: Any) -> str:
    pattern = json_string(value)
    try:
        CompiledPattern("Regex", pattern)  # at once, where it has been compiled before
    except RegexSyntaxError as error:
        raise FormError(str(error)) from None
    return pattern


def read_pattern(value: Any) -> Pattern:
    """`{"String": text}` or `{"Regex": text}`."""
    readers: dict[str, Reader[str]] = {"String": json_string, "Regex": _read_regex}
    return variant(value, readers)


def behavior_argument(value: Any) -> str:
    """A split behavior by its public name."""
    name = string(value)
    if name not in BEHAVIORS:
        raise ValueError(
            "Wrong value for SplitDelimiterBehavior, expected one of: `removed, isolated, merged_with_previous, "
            "merged_with_next, contiguous`"
        )
    return name


class BehaviorAttribute(Attribute[str]):
    """A split behavior. It is read back without underscores ("mergedwithnext"), as the reference gives it."""

    def __init__(self) -> None:
        super().__init__(behavior_argument)

    def read(self, stored: Any) -> Any:
        return BEHAVIORS[stored].lower()


def pattern_tree(pattern: Pattern) -> ValueVariant:
    return ValueVariant(*pattern)


def behavior_reader(*, flattened: bool = False) -> Reader[str]:
    """Reads a split behavior by its JSON name."""
    read_name = unit_variant(*_BEHAVIOR_OF, flattened=flattened)
    return lambda value: _BEHAVIOR_OF[read_name(value)]


_BEHAVIOR_OF = {written: name for name, written in BEHAVIORS.items()}
