from typing import Any

from hftok._core.pretokenized import PreTokenizedText

GPT2_PATTERN: str
BEHAVIORS: dict[str, int]

class PreTokenizerProgram:
    needs_gil: bool
    spec: tuple[Any, ...]
    def __init__(self, spec: tuple[Any, ...]) -> None: ...
    def pre_tokenize_str(self, sequence: str) -> list[tuple[str, tuple[int, int]]]: ...
    def pre_tokenize(self, pretok: PreTokenizedText) -> None: ...
