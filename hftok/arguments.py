"""Arguments of the public classes: what is accepted, converted how, refused with which error.

The rules are those of the reference's bindings (crate pyo3's FromPyObject): a flag must be a bool, not an int; an
integer may be anything with `__index__`, and an OverflowError tells that it does not fit; a list of strings may be any
sequence but a string. Messages are pyo3's, a note names the argument.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from hftok._core.merge_ids import first_bad_id

__all__ = [
    "boolean",
    "character",
    "choice",
    "decimal",
    "exact",
    "is_foreign",
    "naming",
    "optional",
    "pair_of",
    "sequence_of",
    "single",
    "string",
    "string_or_other",
    "uint32",
    "uint64",
    "vocabulary",
]

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
Converter = Callable[[Any], T]


class naming:  # noqa: N801 (reads as a statement: `with naming("length"):`)
    """Adds the argument's name, as a note, to the error of a conversion."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (TypeError, ValueError, OverflowError)):
            error.add_note(f"(argument `{self.name}`)")


def is_foreign(value: Any, name: str) -> bool:
    """Whether a value is an instance of the reference's class of that name."""
    return any(
        kind.__name__ == name and kind.__module__.partition(".")[0] == "tokenizers" for kind in type(value).__mro__
    )


def not_instance(value: Any, expected: str) -> TypeError:
    what = "'None' is" if value is None else f"'{type(value).__name__}' object is"
    return TypeError(f"{what} not an instance of '{expected}'")


def boolean(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise not_instance(value, "bool")


def string(value: Any) -> str:
    if not isinstance(value, str):
        raise not_instance(value, "str")
    if not value.isascii():
        value.encode()  # a lone surrogate is a UnicodeEncodeError
    return str(value)


def string_or_other(value: str) -> str:
    """The string of an argument that may also be something else: whatever is wrong with it, none of the forms fits."""
    try:
        return string(value)
    except UnicodeEncodeError as error:
        raise TypeError(str(error)) from None


def exact(value: Any, kind: type[T], name: str | None = None) -> T:
    """An instance of `kind`, as it is."""
    if not isinstance(value, kind):
        raise not_instance(value, name or kind.__name__)
    return value


def character(value: Any) -> str:
    text = string(value)
    if len(text) != 1:
        raise ValueError("expected a string of length 1")
    return text


def choice(options: tuple[str, ...], message: str) -> Converter[str]:
    """A string out of `options`; else ValueError(message), where `{}` stands for the value."""

    def convert(value: Any) -> str:
        text = string(value)
        if text not in options:
            raise ValueError(message.replace("{}", text))
        return text

    return convert


def _index(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer") from None


def uint64(value: Any) -> int:
    number = _index(value)
    if number < 0:
        raise OverflowError("can't convert negative int to unsigned")
    if number >= 1 << 64:
        raise OverflowError("int too big to convert")
    return number


def uint32(value: Any) -> int:
    number = _index(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("Python int too large to convert to C long")
    if not 0 <= number < 1 << 32:
        raise OverflowError("out of range integral type conversion attempted")
    return number


def decimal(value: Any) -> float:
    """A double."""
    if isinstance(value, str) or not (hasattr(type(value), "__float__") or hasattr(type(value), "__index__")):
        raise TypeError(f"must be real number, not {type(value).__name__}")
    return float(value)


def single(value: Any) -> float:
    """A single precision float, given back as the double of the same value."""
    number = decimal(value)
    if math.isfinite(number) and abs(number) > 3.4028235677973366e38:
        return math.copysign(math.inf, number)
    return float(np.float32(number))


def optional(convert: Converter[T]) -> Converter[T | None]:
    def convert_optional(value: Any) -> T | None:
        return None if value is None else convert(value)

    return convert_optional


def sequence_of(convert: Converter[T]) -> Converter[list[T]]:
    def convert_sequence(value: Any) -> list[T]:
        if isinstance(value, str):
            raise TypeError("Can't extract `str` to `Vec`")
        if not isinstance(value, (Sequence, np.ndarray)):
            raise not_instance(value, "Sequence")
        return [convert(item) for item in value]

    return convert_sequence


def pair_of(first: Converter[A], second: Converter[B]) -> Converter[tuple[A, B]]:
    def convert_pair(value: Any) -> tuple[A, B]:
        if not isinstance(value, tuple):
            raise not_instance(value, "tuple")
        if len(value) != 2:
            raise ValueError(f"expected tuple of length 2, but got tuple of length {len(value)}")
        return first(value[0]), second(value[1])

    return convert_pair


def vocabulary(value: Any) -> dict[str, int]:
    """A dict of strings to ids below 2^32, copied."""
    if not isinstance(value, dict):
        raise not_instance(value, "dict")
    vocab = dict(value)
    if first_bad_id(vocab) is None and set(map(type, vocab)) <= {str}:
        "".join(vocab).encode()  # a lone surrogate is a UnicodeEncodeError
        return vocab
    return {string(token): uint32(id_) for token, id_ in value.items()}
