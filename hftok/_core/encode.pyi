"""Types of the compiled module; see encode.pyx."""

from collections.abc import Sequence
from typing import Any

from hftok._core.encoding import Encoding, EncodingSource
from hftok._core.engine import Affix, Engine
from hftok._core.row_plan import RowPlan

def repeatable(engine: Engine) -> bool: ...

class Settings:
    post_processor: tuple[Any, ...] | None
    truncation: Any
    padding: Any
    full_overflow: bool
    def __init__(
        self,
        post_processor: tuple[Any, ...] | None,
        truncation: Any,
        padding: Any,
        full_overflow: bool,
        counts: tuple[int, int],
    ) -> None: ...
    def affix(self, add_special_tokens: bool) -> Affix | None: ...
    @property
    def trims(self) -> bool: ...
    def added(self, is_pair: bool) -> int: ...
    def plan(self, is_pair: bool, add_special_tokens: bool, bare_types: bool = False) -> RowPlan | None: ...

class Batch(EncodingSource): ...

def encode(
    engine: Engine, settings: Settings, sequence: Any, pair: Any, is_pretokenized: bool, add_special_tokens: bool
) -> Encoding: ...
def encode_batch(
    engine: Engine,
    settings: Settings,
    items: Sequence[Any],
    is_pretokenized: bool,
    add_special_tokens: bool,
    bare: bool = False,
    parallel: bool | None = None,
) -> list[Encoding]: ...
