"""Exceptions of the core that have a type of their own."""

from __future__ import annotations


class UnsupportedTokenizerError(ValueError):
    """A tokenizer uses something that this package cannot reproduce exactly; it is refused, not approximated.

    ``component`` names what is not supported (``"Regex"``, ``"Precompiled"``, ...).

    >>> raise UnsupportedTokenizerError("a conditional group", "Regex")
    Traceback (most recent call last):
    ...
    hftok._core.errors.UnsupportedTokenizerError: Regex: a conditional group
    """

    def __init__(self, message: str, component: str) -> None:
        super().__init__(f"{component}: {message}")
        self.component = component

    def __reduce__(self) -> tuple[type[UnsupportedTokenizerError], tuple[str, str]]:
        message = str(self.args[0]).removeprefix(f"{self.component}: ")
        return type(self), (message, self.component)


class RegexSyntaxError(Exception):
    """A pattern that is not a regular expression. The reference raises a plain ``Exception`` with the same message."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Oniguruma error: {reason}")
        self.reason = reason

    def __reduce__(self) -> tuple[type[RegexSyntaxError], tuple[str]]:
        return type(self), (self.reason,)
