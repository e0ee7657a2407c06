"""Which words a tokenizer makes of a text: its pipeline up to the pre-tokens, compiled for counting."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from hftok._core.json_writer import dumps
from hftok._core.training.sequences import Words
from hftok.representation import Unserializable, to_json

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["fingerprint", "words_of"]


def words_of(tokenizer: Tokenizer, *, characters: bool = False) -> Words:
    """The compiled pipeline of a tokenizer.

    Args:
        characters: words are strings in any case. Otherwise they are bytes where the pipeline ends in ByteLevel: that
            is quicker, and the pair trainers read them as the characters that ByteLevel writes.
    """
    normalizer, pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    raw, normalized = tokenizer._added.patterns(tokenizer.encode_special_tokens)
    return Words(
        None if normalizer is None else normalizer._spec(),
        None if pre_tokenizer is None else pre_tokenizer._spec(),
        raw,
        normalized,
        characters=characters,
    )


def fingerprint(tokenizer: Tokenizer) -> str | None:
    """A hash of all that decides which words a tokenizer makes; None where Python code has a part in it."""
    raw, normalized = tokenizer._added.patterns(tokenizer.encode_special_tokens)
    parts: list[Any] = []
    for component in (tokenizer.normalizer, tokenizer.pre_tokenizer):
        try:
            parts.append(None if component is None else to_json(component._description().tree()))
        except Unserializable:
            return None
    # Ids are of no importance, nor is the order.
    parts += [sorted([text, *flags] for text, _, *flags in patterns) for patterns in (raw, normalized)]
    return hashlib.sha256(dumps(parts).encode()).hexdigest()
