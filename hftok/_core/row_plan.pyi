"""Types of the compiled module; see row_plan.pyx."""

from typing import Any

Item = tuple[Any, ...]

class RowPlan:
    is_pair: bool
    ranges: bool
    trims: bool
    n_special: int
    tokens: list[list[str] | None]
    prefix: list[int]
    suffix: list[int]
    def __init__(self, items: list[Item], is_pair: bool, ranges: bool, trims: bool) -> None: ...
    @property
    def is_wrapped_sequence(self) -> bool: ...

def items_of(spec: tuple[Any, ...] | None, is_pair: bool, add_special_tokens: bool, bare_type_id: int = 1) -> Any: ...
def make_plan(
    spec: tuple[Any, ...] | None, is_pair: bool, add_special_tokens: bool, bare_type_id: int = 1
) -> RowPlan | None: ...
