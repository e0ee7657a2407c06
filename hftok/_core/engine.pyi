"""Types of the compiled module; see engine.pyx."""

from collections.abc import Sequence
from typing import Any

from hftok._core.exact import Pipeline

CORE_CACHE_BYTES: int
MOST_CACHE_BYTES: int

def cache_budget() -> int: ...
def set_cache_bytes(n: int) -> None: ...

class Affix:
    n_prefix: int
    n_suffix: int
    def __init__(self, prefix: Sequence[int], suffix: Sequence[int]) -> None: ...

class WorkerBox: ...

class Engine:
    pipeline: Pipeline
    tier: str
    why_exact: str | None
    def __init__(
        self,
        pipeline: Pipeline,
        normalizer_spec: tuple[Any, ...] | None,
        pre_tokenizer_spec: tuple[Any, ...] | None,
        fast: bool = True,
    ) -> None: ...
    @property
    def is_fast(self) -> bool: ...
    def clear_cache(self) -> None: ...
    def cache_bytes_used(self) -> int: ...
    def statistics(self) -> tuple[int, int, int]: ...
