"""Counts that were made elsewhere: what `train_from_counts` takes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from hftok.training.pipeline import fingerprint
from hftok.word_counts import WordCounts

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["counts_argument"]


def counts_argument(counts: Any, tokenizer: Tokenizer) -> WordCounts:
    """The WordCounts that an argument stands for, checked against the tokenizer that is to be trained.

    Raises:
        TypeError, ValueError, OverflowError, OSError: see `Tokenizer.train_from_counts`.
    """
    if isinstance(counts, (str, os.PathLike)):
        counts = WordCounts.load(counts)
    elif isinstance(counts, tuple) and len(counts) == 2 and all(map(_is_array, counts)):
        counts = WordCounts.from_arrays(*counts)
    elif not isinstance(counts, WordCounts):
        if not isinstance(counts, Iterable):
            raise TypeError(f"counts must be WordCounts, a mapping, pairs or a path, not {type(counts).__name__}")
        counts = WordCounts(counts)
    result: WordCounts = counts
    if result.pipeline is not None:
        own = fingerprint(tokenizer)
        if own is not None and own != result.pipeline:
            raise ValueError(
                "the words were counted with another normalizer, pre-tokenizer or added tokens than this tokenizer "
                "has; count them with this tokenizer's pipeline"
            )
    return result


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "null_count")
