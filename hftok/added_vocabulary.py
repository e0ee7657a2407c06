"""The tokens added on top of a model's vocabulary: their ids, their flags, what they are matched with.

Reference: AddedVocabulary (tokenizer/added_vocabulary.rs), quirks included: a token that is added again with other
flags replaces the one under its id, but its old string still leads to the id; a token counts as special once any token
of that string was; the normalized form of a token is fixed when it is added or when the normalizer is set, and is what
`id_to_token` gives. An instance is never changed: `with_tokens` and `with_normalizer` give a new one, so that a failing
normalizer leaves the tokenizer as it was and a running call keeps what it began with.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from hftok._core.added_tokens import AddedMatcher
from hftok.added_tokens import AddedToken

__all__ = ["AddedVocabulary", "free_ids"]

Normalize = Callable[[str], str]
Find = Callable[[str], int | None]
Pattern = tuple[str, int, bool, bool, bool, bool]


def free_ids(taken: Collection[int], size: int) -> Iterator[int]:
    """Ids for new tokens: from one above the greatest of those taken, but not below `size`, the model's. OverflowError
    where none is left.

    >>> next(free_ids([5, 7], 3)), next(free_ids([], 3))
    (8, 3)
    """
    top = max(taken, default=-1)
    first = top + 1 if taken and (top >= size or size == 0) else size

    def numbers() -> Iterator[int]:
        yield from range(first, 1 << 32)
        raise OverflowError("no ids are left for added tokens")

    return numbers()


class AddedVocabulary:
    """Added tokens by string and by id. Immutable.

    >>> added, n = AddedVocabulary().with_tokens([AddedToken("<x>", special=True)], {}.get, 0, None)
    >>> n, added.ids
    (1, {'<x>': 0})
    """

    __slots__ = ("_normalized", "_special", "ids", "tokens")

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.tokens: dict[int, AddedToken] = {}
        self._special: frozenset[str] = frozenset()
        self._normalized: dict[int, str] = {}

    def with_tokens(
        self, tokens: Iterable[AddedToken], find: Find, size: int, normalize: Normalize | None
    ) -> tuple[AddedVocabulary, int]:
        """Add tokens: (the new vocabulary, how many were not empty and not there already with the same flags).

        `find` and `size` are the model's: the id of a token, or None; how many there are.
        A token that the model or an earlier addition knows keeps that id; others get the next free one, which is one
        above the greatest added id, but not below `size`, the model's.
        """
        result = AddedVocabulary()
        ids = result.ids = dict(self.ids)
        by_id = result.tokens = dict(self.tokens)
        normalized = result._normalized = dict(self._normalized)
        special = set(self._special)
        free = free_ids(by_id, size)
        added = 0
        for token in tokens:
            content = token.content
            if not content:
                continue
            known = ids.get(content)
            if known is not None and by_id.get(known) == token:
                continue
            if known is None:
                known = find(content)
            if known is None:
                known = next(free)
            if token.normalized and normalize is not None:
                text = normalize(content)
                if text != content:
                    normalized[known] = text
            ids[content] = known
            if token.special:
                special.add(content)
            by_id[known] = token._copy()
            added += 1
        result._special = frozenset(special)
        return result, added

    def with_normalizer(self, normalize: Normalize | None) -> AddedVocabulary:
        """The same tokens behind another normalizer."""
        result = AddedVocabulary()
        result.ids = self.ids
        result.tokens = self.tokens
        result._special = self._special
        if normalize is not None:
            for id_, token in self.tokens.items():
                if token.normalized:
                    text = normalize(token.content)
                    if text != token.content:
                        result._normalized[id_] = text
        return result

    def string(self, id_: int) -> str | None:
        """What an id stands for when decoding: the token's normalized form, if that differs; None: no added token."""
        token = self.tokens.get(id_)
        return None if token is None else self._normalized.get(id_, token.content)

    def is_special(self, text: str) -> bool:
        """Whether a string is that of a special token."""
        return text in self._special

    @property
    def special(self) -> frozenset[str]:
        """Strings of all special tokens."""
        return self._special

    def matchers(self, encode_special_tokens: bool) -> tuple[AddedMatcher, AddedMatcher]:
        """What finds them in the raw and in the normalized text."""
        raw, normalized = self.patterns(encode_special_tokens)
        return AddedMatcher(raw), AddedMatcher(normalized)

    def patterns(self, encode_special_tokens: bool) -> tuple[list[Pattern], list[Pattern]]:
        """What to look for in the raw and the normalized text: (pattern, id, single_word, lstrip, rstrip, refused)."""
        raw: list[Pattern] = []
        normalized: list[Pattern] = []
        for id_, token in self.tokens.items():
            refused = encode_special_tokens and token.content in self._special
            flags = (id_, token.single_word, token.lstrip, token.rstrip, refused)
            if token.normalized:
                normalized.append((self._normalized.get(id_, token.content), *flags))
            else:
                raw.append((token.content, *flags))
        return raw, normalized
