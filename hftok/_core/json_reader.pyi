"""Types of the compiled module; see json_reader.pyx."""

from collections.abc import Collection
from typing import Any

class JsonSyntaxError(Exception): ...

class RepeatedKeys(dict[str, Any]):
    repeated: frozenset[str]
    overwritten: tuple[tuple[str, Any], ...]

def loads(data: str | bytes, fields: Collection[str] | None = None, tables: bool = False) -> Any: ...
