"""Forms of JSON values: which value is read as what.

A small counterpart of serde, whose derived readers decide what the reference accepts in a tokenizer.json: a struct is
an object with (at least) its fields, each once, or an array of all of them in order; an optional field may be absent or
null; a unit variant is its name, or `{name: null}`; an integer has no point and fits; the first matching form of
several wins (serde 1.0: serde/src/private/de.rs, serde_derive/src/de/; serde_json/src/de.rs). A reader is a function of
one value that returns the value read or raises `FormError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from hftok._core.json_reader import RepeatedKeys

__all__ = [
    "Field",
    "FormError",
    "FormPanic",
    "boolean",
    "character",
    "number",
    "option",
    "plain",
    "sequence",
    "string",
    "string_map",
    "struct",
    "tagged_type",
    "text_and_id",
    "uint32",
    "uint64",
    "unit_variant",
    "untagged",
    "variant",
]

T = TypeVar("T")
Reader = Callable[[Any], T]
_REQUIRED: Any = object()


class FormError(Exception):
    """The value has another form; the message says which was found and which expected."""


class FormPanic(FormError):
    """A form at which the reference panics: it tries no other."""


class Field(NamedTuple):
    """A field of a struct. `default`: what it is where absent (`option` fields are None where absent)."""

    name: str
    read: Reader[Any]
    default: Any = _REQUIRED


def found(value: Any) -> str:
    """The value in serde's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{str(value).lower()}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    if isinstance(value, float):
        return f"floating point `{value}`"
    if isinstance(value, str):
        return f'string "{value[:80]}"'
    return "map" if isinstance(value, dict) else "sequence"


def wrong_type(value: Any, expected: str) -> FormError:
    return FormError(f"invalid type: {found(value)}, expected {expected}")


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise wrong_type(value, "a boolean")
    return value


def string(value: Any) -> str:
    if not isinstance(value, str):
        raise wrong_type(value, "a string")
    return value


def character(value: Any) -> str:
    if not isinstance(value, str) or len(value) != 1:
        raise FormError(f"invalid value: {found(value)}, expected a character")
    return value


def _unsigned(value: Any, bits: int, expected: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type(value, expected)
    if not 0 <= value < 1 << bits:
        raise FormError(f"invalid value: {found(value)}, expected {expected}")
    return value


def uint32(value: Any) -> int:
    return _unsigned(value, 32, "u32")


def uint64(value: Any) -> int:
    return _unsigned(value, 64, "usize")


def number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong_type(value, "f64")
    return float(value)


def option(read: Reader[T]) -> Reader[T | None]:
    def read_option(value: Any) -> T | None:
        return None if value is None else read(value)

    read_option.optional = True  # type: ignore[attr-defined]
    return read_option


def sequence(read: Reader[T]) -> Reader[list[T]]:
    def read_sequence(value: Any) -> list[T]:
        if not isinstance(value, (list, tuple)):
            raise wrong_type(value, "a sequence")
        return [read(item) for item in value]

    return read_sequence


def string_map(read: Reader[T]) -> Reader[dict[str, T]]:
    def read_map(value: Any) -> dict[str, T]:
        if not isinstance(value, dict):
            raise wrong_type(value, "a map")
        return {key: read(item) for key, item in value.items()}

    return read_map


def text_and_id(value: Any) -> tuple[str, int]:
    """`["text", id]`."""
    if not isinstance(value, (list, tuple)):
        raise wrong_type(value, "a tuple of size 2")
    if len(value) != 2:
        raise FormError(f"invalid length {len(value)}, expected a tuple of size 2")
    return string(value[0]), uint32(value[1])


def unit_variant(*names: str, flattened: bool = False) -> Reader[str]:
    """One of the names, as a string or as `{name: null}`; in a flattened struct also `{name: {}}`."""

    def read_variant(value: Any) -> str:
        name = value
        if isinstance(value, dict) and len(value) == 1 and not isinstance(value, RepeatedKeys):
            ((name, content),) = value.items()
            if content is not None and not (flattened and content == {}):
                raise wrong_type(content, "unit")
        if not isinstance(name, str):
            raise wrong_type(value, "string or map")
        if name not in names:
            expected = f"`{names[0]}`" if len(names) == 1 else "one of " + ", ".join(f"`{n}`" for n in names)
            raise FormError(f"unknown variant `{name}`, expected {expected}")
        return name

    return read_variant


def variant(value: Any, readers: dict[str, Reader[T]]) -> tuple[str, T]:
    """`{name: content}`, with the content read by the reader of that name."""
    if not isinstance(value, dict) or len(value) != 1 or isinstance(value, RepeatedKeys):
        raise FormError("invalid value: expected map with a single key")
    ((name, content),) = value.items()
    if name not in readers:
        raise FormError(f"unknown variant `{name}`, expected one of " + ", ".join(f"`{n}`" for n in readers))
    return name, readers[name](content)


def struct(value: Any, name: str, fields: Iterable[Field], *, as_array: bool = True) -> dict[str, Any]:
    """The fields of an object (other keys are ignored), or of an array that holds all of them in order."""
    fields = tuple(fields)
    result: dict[str, Any] = {}
    if isinstance(value, dict):
        repeated = value.repeated if isinstance(value, RepeatedKeys) else ()
        for field in fields:
            if field.name in repeated:
                raise FormError(f"duplicate field `{field.name}`")
            if field.name in value:
                try:
                    result[field.name] = field.read(value[field.name])
                except FormError as error:
                    raise type(error)(f"{field.name}: {error}") from None
            elif field.default is not _REQUIRED:
                result[field.name] = field.default
            elif getattr(field.read, "optional", False):
                result[field.name] = None
            else:
                raise FormError(f"missing field `{field.name}`")
        return result
    if as_array and isinstance(value, (list, tuple)):
        if len(value) > len(fields):
            raise FormError(f"invalid length {len(value)}, expected struct {name} with {len(fields)} elements")
        for position, field in enumerate(fields):
            if position < len(value):
                result[field.name] = field.read(value[position])
            elif field.default is not _REQUIRED:
                result[field.name] = field.default
            else:
                raise FormError(f"invalid length {len(value)}, expected struct {name} with {len(fields)} elements")
        return result
    raise wrong_type(value, f"struct {name}")


def untagged(value: Any, name: str, readers: Iterable[Reader[T]]) -> T:
    """What the first reader that accepts the value makes of it."""
    for read in readers:
        try:
            return read(value)
        except FormPanic:
            raise
        except FormError:
            continue
    kind = value.get("type") if isinstance(value, dict) else None
    detail = f' (type "{kind}")' if isinstance(kind, str) else ""
    raise FormError(f"data did not match any variant of untagged enum {name}{detail}")


def plain(value: Any) -> Any:
    """The value with repeated keys forgotten, at every depth: the last one won."""
    if isinstance(value, dict):
        if isinstance(value, RepeatedKeys) or any(isinstance(item, (dict, list)) for item in value.values()):
            return {key: plain(item) for key, item in value.items()}
        return value
    if isinstance(value, list):
        return [plain(item) for item in value] if any(isinstance(item, (dict, list)) for item in value) else value
    return value


def tagged_type(value: Any, read_type: Reader[str]) -> str | None:
    """The value of "type", where there is one (and one only) and it is known."""
    if not isinstance(value, dict) or "type" not in value:
        return None
    if isinstance(value, RepeatedKeys) and "type" in value.repeated:
        return None
    try:
        return read_type(value["type"])
    except FormError:
        return None
