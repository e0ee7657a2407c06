"""The installed transformers, and what of it the other modules use.

transformers is an optional requirement and most of it has no types: it is imported here, once, as `Any`.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "AddedToken",
    "BackendTokenizer",
    "BatchEncoding",
    "PaddingStrategy",
    "TensorType",
    "TokenizerBase",
    "TokenizersBackend",
    "TruncationStrategy",
    "auto",
    "transformers",
]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"hftok.hf needs transformers: pip install hftok[hf] ({error})") from error


transformers: Any = _import("transformers")
_base: Any = _import("transformers.tokenization_utils_base")
_backend: Any = _import("transformers.tokenization_utils_tokenizers")
auto: Any = _import("transformers.models.auto.tokenization_auto")

AddedToken: Any = _base.AddedToken  # the reference's; transformers tells tokens from strings by it
BatchEncoding: Any = _base.BatchEncoding
TokenizerBase: Any = _base.PreTrainedTokenizerBase
TruncationStrategy: Any = _base.TruncationStrategy
PaddingStrategy: Any = _base.PaddingStrategy
TensorType: Any = _base.TensorType
TokenizersBackend: Any = _backend.TokenizersBackend
BackendTokenizer: Any = _backend.TokenizerFast  # the reference's, of which transformers makes its backends
