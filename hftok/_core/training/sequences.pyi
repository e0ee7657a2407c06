from typing import Any, Literal

from hftok._core.training.words import WordCounts

class Words:
    symbols: Literal["characters", "byte_level"]  # of_pattern: "bytes"
    def __init__(
        self,
        normalizer_spec: tuple[Any, ...] | None,
        pre_tokenizer_spec: tuple[Any, ...] | None,
        raw: list[tuple[str, int, bool, bool, bool, bool]] = ...,
        normalized: list[tuple[str, int, bool, bool, bool, bool]] = ...,
        exact: bool = False,
        characters: bool = False,
    ) -> None: ...
    @staticmethod
    def of_pattern(pattern: str, exact: bool = False) -> Words: ...
    @property
    def way(self) -> Literal["exact", "classes", "pattern", "metaspace", "whole", "regex"]: ...
    @property
    def needs_gil(self) -> bool: ...

def is_written(token: tuple[str, int, bool, bool, bool, bool]) -> bool: ...
def as_characters(words: WordCounts) -> WordCounts: ...
