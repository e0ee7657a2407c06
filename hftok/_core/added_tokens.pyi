"""Types of the compiled module; see added_tokens.pyx."""

from typing import TypeAlias

# pattern, id, single_word, lstrip, rstrip, refused
Pattern: TypeAlias = tuple[str, int, bool, bool, bool, bool]

class AddedMatcher:
    size: int
    patterns: list[bytes]
    takes_blanks: bool
    holds_blanks: bool
    def __init__(self, tokens: list[Pattern]) -> None: ...
    def find(self, text: str) -> list[tuple[int, int, int]]: ...
