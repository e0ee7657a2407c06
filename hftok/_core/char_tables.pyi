"""Types of the compiled module; see char_tables.pyx."""

from typing import Any

from hftok._core.models.model import Model

NORMALIZERS: set[str]
COMPOSING: set[str]
MAX_STAGE_RULES: int

def rule_of(stage: tuple[Any, ...]) -> int | None: ...
def flatten(spec: tuple[Any, ...] | None) -> list[tuple[Any, ...]]: ...
def plan(
    normalizer_spec: tuple[Any, ...] | None, pre_tokenizer_spec: tuple[Any, ...] | None
) -> tuple[list[Any], list[Any]] | None: ...

class CharClassifier:
    drops_whitespace: bool
    keeps_nul: bool
    def __init__(
        self,
        model: Model,
        stages: list[Any],
        rules: list[Any],
        first_bytes: bytes,
        second_bytes: bytes,
        finish_all: bool = False,
        marks: Any = None,
    ) -> None: ...
    def removes(self, cp: int) -> bool: ...
    def entry(self, cp: int) -> Any: ...
