"""The installed transformers: what of it the other modules use, and what differs between 5.x and 4.57.

transformers is an optional requirement and most of it has no types: it is imported here, once, as `Any`. No other
module looks at a version; each constant below names one thing that differs, and is what they ask.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "CALLS",
    "CONVERT",
    "EVERY_WINDOW",
    "LISTS_ARE_BATCHES",
    "PAD_ADVICE",
    "TAKES_ANY_ARGUMENT",
    "AddedToken",
    "BackendTokenizer",
    "BatchEncoding",
    "PaddingStrategy",
    "TensorType",
    "TokenizerBase",
    "TokenizersBackend",
    "TruncationStrategy",
    "auto",
    "backend_decoders",
    "transformers",
]


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"hftok.hf needs transformers: pip install hftok[hf] ({error})") from error


def _version(module: Any) -> tuple[int, int]:
    major, minor = module.__version__.split(".")[:2]
    return int(major), int(minor)


transformers: Any = _import("transformers")
_base: Any = _import("transformers.tokenization_utils_base")
auto: Any = _import("transformers.models.auto.tokenization_auto")

_IS_5 = _version(transformers) >= (5, 0)

AddedToken: Any = _base.AddedToken  # the reference's; transformers tells tokens from strings by it
BatchEncoding: Any = _base.BatchEncoding
TokenizerBase: Any = _base.PreTrainedTokenizerBase
TruncationStrategy: Any = _base.TruncationStrategy
PaddingStrategy: Any = _base.PaddingStrategy
TensorType: Any = _base.TensorType

# The class of all tokenizers that have a backend; and the reference's Tokenizer, of which transformers makes backends.
_backend: Any = _import(
    "transformers.tokenization_utils_tokenizers" if _IS_5 else "transformers.tokenization_utils_fast"
)
TokenizersBackend: Any = _backend.TokenizersBackend if _IS_5 else _backend.PreTrainedTokenizerFast
BackendTokenizer: Any = _backend.TokenizerFast
backend_decoders: Any = _import("tokenizers.decoders")

# The methods that a call runs through, besides `__call__` and `encode`: those that set up and use the backend, then
# those around them. 4.57 has a method for one text and one for a batch.
CALLS: tuple[tuple[str, ...], tuple[str, ...]] = (
    (("_encode_plus",), ("_get_padding_truncation_strategies", "set_truncation_and_padding", "_convert_encoding"))
    if _IS_5
    else (
        ("_encode_plus", "_batch_encode_plus"),
        (
            "_call_one",
            "encode_plus",
            "batch_encode_plus",
            "_get_padding_truncation_strategies",
            "set_truncation_and_padding",
            "_convert_encoding",
        ),
    )
)

# How 5.x makes a constructor's arguments from files; 4.57 leaves reading tokenizer.json to the constructor.
CONVERT: Any = TokenizersBackend.convert_to_native_format.__func__ if _IS_5 else None

# Whether `encode` and `decode` take a list for a batch; in 4.57 `encode` takes it for one input, `decode` refuses it.
LISTS_ARE_BATCHES = _IS_5

# Whether the methods of a call pass on arguments that they do not know (full_overflow is one), and take
# split_special_tokens=None for the tokenizer's own.
TAKES_ANY_ARGUMENT = _IS_5

# What `pad` gives advice about once (a key of `deprecation_warnings`); 5.x gives none.
PAD_ADVICE: str | None = None if _IS_5 else "Asking-to-pad-a-fast-tokenizer"

# Whether truncation keeps every window of a long text, as the tokenizers library did before 0.23. With it go the rules
# for added tokens of that time (hftok/hf/backend_022.py).
EVERY_WINDOW = _version(_import("tokenizers")) < (0, 23)
