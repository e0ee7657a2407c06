"""`train_new_from_iterator` on our trainers.

transformers' method takes its tokenizer apart as JSON, builds a new one without a vocabulary, trains that, and puts the
parts together. It is run as it is, but finds our tokenizer and trainers under the names of the reference's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hftok import pre_tokenizers, trainers
from hftok.hf.backends import OwnBackend

__all__ = ["on_our_trainers"]


_NAMES: dict[str, Any] = {
    "TokenizerFast": OwnBackend,
    "pre_tokenizers_fast": pre_tokenizers,
    "MODEL_TO_TRAINER_MAPPING": {
        "BPE": trainers.BpeTrainer,
        "Unigram": trainers.UnigramTrainer,
        "WordLevel": trainers.WordLevelTrainer,
        "WordPiece": trainers.WordPieceTrainer,
    },
}


def on_our_trainers(original: FunctionType) -> Callable[..., Any]:
    """transformers' `train_new_from_iterator` with our tokenizer and trainers."""

    @functools.wraps(original)
    def train_new_from_iterator(self: Any, *args: Any, **kwargs: Any) -> Any:
        names = {**original.__globals__, **_NAMES}
        run = FunctionType(original.__code__, names, original.__name__, original.__defaults__, original.__closure__)
        run.__kwdefaults__ = original.__kwdefaults__
        return run(self, *args, **kwargs)

    return train_new_from_iterator
