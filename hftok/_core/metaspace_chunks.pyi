"""Types of the compiled module; see metaspace_chunks.pyx."""

from typing import Any

from hftok._core.exact import Pipeline

class Marks:
    mark: str
    scheme: str
    spaced: int
    stages: list[tuple[Any, ...]]
    rules: list[int]
    doubles: list[str]
    strip: tuple[bool, bool]
    pre_tokenizers: list[tuple[Any, ...]]
    def __init__(self, **values: Any) -> None: ...

def plan_marks(normalizer_spec: tuple[Any, ...] | None, pre_tokenizer_spec: tuple[Any, ...] | None) -> Marks | None: ...

class MarkedWords:
    marks: Marks
    def __init__(self, pipeline: Pipeline, marks: Marks) -> None: ...
    def entry(self, cp: int) -> tuple[int, bytes]: ...
