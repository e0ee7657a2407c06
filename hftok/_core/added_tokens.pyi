"""Types of the compiled module; see added_tokens.pyx."""

from typing import TypeAlias

from hftok._core.stored import Block

# pattern, id, single_word, lstrip, rstrip, refused
Pattern: TypeAlias = tuple[str, int, bool, bool, bool, bool]

class AddedMatcher:
    size: int
    meets_cut: bool
    @property
    def patterns(self) -> list[bytes]: ...
    takes_blanks: bool
    holds_blanks: bool
    def __init__(self, tokens: list[Pattern]) -> None: ...
    def sections(self, prefix: str) -> dict[str, bytes]: ...
    @staticmethod
    def of_block(block: Block, prefix: str) -> AddedMatcher: ...
    def find(self, text: str) -> list[tuple[int, int, int]]: ...
