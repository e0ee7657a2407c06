"""Types of the compiled module; see json_writer.pyx."""

from typing import Any

class Float32:
    value: float
    def __init__(self, value: float) -> None: ...

def dumps(value: Any, pretty: bool = False) -> str: ...
def decimal_parts(x: float, single: bool = False) -> tuple[bool, bytes, int]: ...
