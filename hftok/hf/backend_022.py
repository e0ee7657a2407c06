"""A backend that does as the tokenizers library did before 0.23, where that differs.

transformers 4.57 runs on that library. What changed in 0.23, besides speed: truncation stops reading a text early, so
that `overflowing` loses windows; and added tokens. Before (reference: AddedVocabulary in 0.22.2,
tokenizer/added_vocabulary.rs):
- An id stands for a token as it was written when decoding, not for its normalized form.
- Tokens are looked for in the order special ones first, then others, as they were added; of two with the same
  normalized form the first is found.
- A token that is added again with other flags is looked for in both ways.
- Setting a normalizer leaves the normalized forms alone until tokens are added the next time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hftok.added_tokens import AddedToken
from hftok.added_vocabulary import AddedVocabulary, Find, Normalize, Pattern, free_ids
from hftok.serialization import TruncationParams, load
from hftok.tokenizer import Tokenizer

__all__ = ["AddedVocabulary022", "Tokenizer022"]


class AddedVocabulary022(AddedVocabulary):
    """Added tokens by the rules before 0.23. Immutable.

    >>> added, _ = AddedVocabulary022().with_tokens([AddedToken("A"), AddedToken("a")], {}.get, 0, str.lower)
    >>> added.string(0), [pattern[:2] for pattern in added.patterns(False)[1]]
    ('A', [('a', 0)])
    """

    __slots__ = ("_forms", "_others", "_specials")

    def __init__(self) -> None:
        super().__init__()
        self._specials: tuple[AddedToken, ...] = ()  # each once, as it was when it first was special
        self._others: tuple[AddedToken, ...] = ()  # each as often as it was added with other flags
        self._forms: dict[str, str] = {}  # normalized forms, by content

    def with_tokens(
        self, tokens: Iterable[AddedToken], find: Find, size: int, normalize: Normalize | None
    ) -> tuple[AddedVocabulary022, int]:
        result = AddedVocabulary022()
        ids = result.ids = dict(self.ids)
        by_id = result.tokens = dict(self.tokens)
        tokens = [token._copy() for token in tokens]
        special, specials, others = set(self._special), list(self._specials), list(self._others)
        for token in tokens:
            if token.special and token.content and token.content not in special:
                specials.append(token)
                special.add(token.content)
        existing = {token._key() for token in by_id.values()}
        free = free_ids(by_id, size)
        added = 0
        for token in tokens:
            content = token.content
            if not content or token._key() in existing:
                continue
            known = ids.get(content)
            if known is None:
                known = find(content)
            if known is None:
                known = next(free)
            ids[content] = known
            by_id[known] = token
            if content not in special:
                others.append(token)
            existing.add(token._key())
            added += 1
        result._special = frozenset(special)
        result._specials, result._others = tuple(specials), tuple(others)
        if normalize is not None:
            result._forms = {t.content: normalize(t.content) for t in (*specials, *others) if t.normalized}
        return result, added

    def with_normalizer(self, normalize: Normalize | None) -> AddedVocabulary022:
        return self

    def string(self, id_: int) -> str | None:
        token = self.tokens.get(id_)
        return None if token is None else token.content

    def patterns(self, encode_special_tokens: bool) -> tuple[list[Pattern], list[Pattern]]:
        raw: dict[str, Pattern] = {}
        normalized: dict[str, Pattern] = {}
        for listed in (*self._specials, *self._others):
            id_ = self.ids[listed.content]
            token = self.tokens[id_]  # whose flags count, however it came to be listed
            text = self._forms.get(listed.content, listed.content) if listed.normalized else listed.content
            refused = encode_special_tokens and token.content in self._special
            found = normalized if listed.normalized else raw
            found.setdefault(text, (text, id_, token.single_word, token.lstrip, token.rstrip, refused))
        return list(raw.values()), list(normalized.values())


class Tokenizer022(Tokenizer):
    """A Tokenizer by the rules before 0.23."""

    _added_vocabulary = AddedVocabulary022

    def _set_truncation(self, params: TruncationParams | None, full_overflow: bool) -> None:
        super()._set_truncation(params, True)

    def _add(self, tokens: Sequence[AddedToken]) -> int:
        added = super()._add(tokens)
        self._component_changed()  # tokens that were there already may be looked for in a new form
        return added

    def _set_parts(self, parts: Any) -> None:
        if parts.added is not None:  # from the load cache, by the rules of 0.23; in the order of the file
            parts = replace(parts, added=None, added_tokens=list(parts.added.tokens.items()))
        super()._set_parts(replace(parts, origin=None))
        self._full_overflow = True

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        return Tokenizer022._of_parts(load(json))
