"""Encoding: a pattern, ranks and special tokens under a name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from hftok._core.rank_encoding import RankEncoding

__all__ = ["Encoding"]


class Encoding(RankEncoding):
    """A byte-level BPE encoding given by ranks.

    Args:
        name: what it is called; encodings with different special tokens should have different names.
        pat_str: the pattern (Rust's syntax, with look-around) whose matches are the pieces that are encoded one by one.
        mergeable_ranks: bytes -> rank, 0..2**32 - 1, each different. Lower ranks are merged first.
        special_tokens: str -> number.
        explicit_n_vocab: if given, the number of all tokens, for a check.

    Raises:
        ValueError: the pattern is not valid, or cannot be reproduced (UnsupportedTokenizerError); two tokens have one
            rank; there are no ranks.
        TypeError, OverflowError: keys or numbers of the wrong kind.
        AssertionError: the counts are not what `explicit_n_vocab` says.

    >>> ranks = {bytes([i]): i for i in range(256)}
    >>> enc = Encoding("bytes", pat_str=r"\\S+|\\s", mergeable_ranks=ranks, special_tokens={})
    >>> enc.encode("hi"), enc.n_vocab
    ([104, 105], 256)
    """

    # Of special tokens that begin at the same place the longest is found, as a Tokenizer does; tiktoken takes the first
    # of a hash table. Set for what comes out of `Tokenizer.as_tiktoken`.
    _longest_first = False

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self.max_token_value: int = max(max(mergeable_ranks.values()), max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            count = len(mergeable_ranks) + len(special_tokens)
            if count != explicit_n_vocab or self.max_token_value != explicit_n_vocab - 1:
                raise AssertionError(
                    f"explicit_n_vocab is {explicit_n_vocab}, but there are {count} tokens and the largest number is "
                    f"{self.max_token_value}"
                )
        self._special_token_values = set(special_tokens.values())
        self._set_up(mergeable_ranks, special_tokens, pat_str, self._longest_first)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    @property
    def eot_token(self) -> int:
        """The number of `<|endoftext|>`. Raises KeyError where there is no such token."""
        return self._special_tokens["<|endoftext|>"]

    @functools.cached_property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether a number is that of a special token.

        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = Encoding("bytes", pat_str=".", mergeable_ranks=ranks, special_tokens={"<end>": 256})
        >>> enc.is_special_token(256), enc.is_special_token(97)
        (True, False)
        """
        if not isinstance(token, int):
            raise AssertionError(f"a token is an int, not a {type(token).__name__}")
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """The largest number plus one."""
        return self.max_token_value + 1

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """`encode_ordinary` with the pattern run by the package regex, which reads some patterns differently."""
        import regex

        tokens: list[int] = []
        for piece in regex.findall(self._pat_str, text):
            tokens.extend(self._encode_single_piece(piece))
        return tokens

    def __getstate__(self) -> object:
        from hftok.tiktoken import registry

        if self is registry.ENCODINGS.get(self.name):
            return self.name  # a registered encoding travels as its name
        state = {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }
        return (state, True) if self._longest_first else state

    def __setstate__(self, value: str | Mapping[str, Any] | tuple[Mapping[str, Any], bool]) -> None:
        from hftok.tiktoken import registry

        if isinstance(value, str):
            other = registry.get_encoding(value)
            self.__dict__ = other.__dict__
            self._share(other)
            return
        if isinstance(value, tuple):
            value, self._longest_first = value
        self.__init__(**value)  # type: ignore[misc]
