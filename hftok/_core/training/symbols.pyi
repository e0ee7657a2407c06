from collections.abc import Iterable

from hftok._core.training.words import WordCounts

MODES: tuple[str, str, str]

def byte_level_characters() -> list[int]: ...

class Symbols:
    vocab: list[bytes]
    used: list[int]
    def __init__(
        self,
        words: WordCounts,
        mode: str = "characters",
        special_tokens: Iterable[str] = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Iterable[str] = (),
        prefix: str | None = None,
        suffix: str | None = None,
        base_symbol_order: Iterable[str] | None = None,
    ) -> None: ...
