"""What becomes the backend (`_tokenizer`) of a transformers tokenizer: always an hftok.Tokenizer."""

from __future__ import annotations

import copy
import json
from typing import Any

from hftok.arguments import is_foreign
from hftok.hf.backend_022 import Tokenizer022
from hftok.hf.library import EVERY_WINDOW, BackendTokenizer
from hftok.load_cache import load_file
from hftok.tokenizer import Tokenizer

__all__ = [
    "Given",
    "OwnBackend",
    "PreTokenizerAsReference",
    "backend_copy",
    "backend_from_file",
    "own_backend",
    "reference_component",
    "reference_tokenizer",
]

# What the installed tokenizers library would answer.
OwnBackend: type[Tokenizer] = Tokenizer022 if EVERY_WINDOW else Tokenizer


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
    return OwnBackend(value) if is_foreign(value, "Tokenizer") else value


def backend_copy(tokenizer: Tokenizer) -> Tokenizer:
    """A backend of its own with the same components, tokens and settings."""
    made = copy.deepcopy(tokenizer)
    return made if isinstance(made, OwnBackend) else OwnBackend._of_parts(made._parts())


def backend_from_file(path: str) -> Tokenizer:
    """A backend from a tokenizer.json."""
    return OwnBackend._of_parts(load_file(path))


def reference_component(name: str, component: Any) -> Any:
    """A component of ours as the reference's. name: the attribute of a tokenizer that holds it."""
    if component is None:
        return None
    empty = {"model": {"type": "BPE", "vocab": {}, "merges": []}, name: json.loads(component.__getstate__())}
    return getattr(BackendTokenizer.from_str(json.dumps(empty)), name)


def reference_tokenizer(tokenizer: Tokenizer) -> Any:
    """A tokenizer of ours as the reference's (a copy)."""
    return BackendTokenizer.from_str(tokenizer.to_str())


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
