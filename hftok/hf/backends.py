"""What becomes the backend (`_tokenizer`) of a transformers tokenizer: always an hftok.Tokenizer."""

from __future__ import annotations

import json
from typing import Any

from hftok.foreign import is_foreign
from hftok.hf.library import BackendTokenizer
from hftok.tokenizer import Tokenizer

__all__ = ["Given", "PreTokenizerAsReference", "own_backend", "reference_component"]


class Given:
    """A backend for transformers' constructor, which copies what it is given: a copy of this is the backend itself."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    def __deepcopy__(self, memo: Any) -> Tokenizer:
        return self.tokenizer


def own_backend(value: Any) -> Any:
    """A tokenizer of the reference as one of ours (a copy); anything else as it is.

    Raises:
        UnsupportedTokenizerError: it cannot be reproduced.
    """
    return Tokenizer(value) if is_foreign(value, "Tokenizer") else value


def reference_component(name: str, component: Any) -> Any:
    """A component of ours as the reference's. name: the attribute of a tokenizer that holds it."""
    if component is None:
        return None
    empty = {"model": {"type": "BPE", "vocab": {}, "merges": []}, name: json.loads(component.__getstate__())}
    return getattr(BackendTokenizer.from_str(json.dumps(empty)), name)


class PreTokenizerAsReference:
    """A backend whose `pre_tokenizer` is the reference's, for code of transformers that asks for its classes.

    `settle` takes over what that code has made of it.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        object.__setattr__(self, "_tokenizer", tokenizer)
        object.__setattr__(self, "_seen", None)

    @property
    def pre_tokenizer(self) -> Any:
        if self._seen is None:
            seen = reference_component("pre_tokenizer", self._tokenizer.pre_tokenizer)
            object.__setattr__(self, "_seen", seen)
        return self._seen

    def settle(self) -> None:
        """Give the tokenizer the pre-tokenizer that stands here, if it is not the same."""
        own = self._tokenizer.pre_tokenizer
        if self._seen is not None and (own is None or self._seen.__getstate__() != own.__getstate__()):
            self._tokenizer.pre_tokenizer = self._seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "pre_tokenizer":
            object.__setattr__(self, "_seen", value)
        else:
            setattr(self._tokenizer, name, value)
