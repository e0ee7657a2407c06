from typing import Any

from hftok._core.pretokenized import NormalizedText

class NormalizerProgram:
    needs_gil: bool
    spec: tuple[Any, ...]
    def __init__(self, spec: tuple[Any, ...]) -> None: ...
    def normalize_str(self, sequence: str) -> str: ...
    def normalize(self, normalized: NormalizedText) -> None: ...
