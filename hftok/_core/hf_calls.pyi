from collections.abc import Callable, Iterable
from typing import Any

from hftok._core.hf_rows import Plan

def connect(
    enumerations: Iterable[type[Any]],
    slow_call: Callable[..., Any],
    slow_encode: Callable[..., Any],
    slow_encode_plus: Callable[..., Any],
    plan_of_call: Callable[[Any, dict[str, Any]], Plan | None],
    plan_of_encode: Callable[[Any, dict[str, Any]], Plan | None],
    plan_of_encode_plus: Callable[[Any, dict[str, Any]], Plan | None],
) -> None: ...

class Door:
    is_open: bool
    is_judged: bool
    @property
    def generation(self) -> int: ...
    def forget(self) -> None: ...

def call(self: Any, *args: Any, **kwargs: Any) -> Any: ...
def encode(self: Any, *args: Any, **kwargs: Any) -> Any: ...
def encode_plus(self: Any, *args: Any, **kwargs: Any) -> Any: ...
