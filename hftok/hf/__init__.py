"""transformers' tokenizers on hftok: the same objects, the same results, faster.

    from hftok.hf import AutoTokenizer            # instead of: from transformers import AutoTokenizer
    tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")

Every tokenizer class name of transformers is here too (`hftok.hf.BertTokenizerFast`, ...), and what is imported beside
them (`BatchEncoding`, `AddedToken`, ...) is transformers' own. An object is an instance of a subclass of the
transformers class that it replaces; its `is_accelerated` is True and its backend an `hftok.Tokenizer`. What hftok
cannot reproduce exactly comes as transformers makes it, with a warning and `is_accelerated == False`.

`patch()` makes transformers' own names give such objects, `accelerate(tokenizer)` changes a loaded one in place, and
`hftok.Tokenizer.as_hf()` (`wrap`) puts a transformers tokenizer on a tokenizer that it shares.
"""

from __future__ import annotations

import copy as _copy
from typing import Any

from hftok.hf import encodings as _encodings  # noqa: F401  (BatchEncoding learns to make its encodings on demand)
from hftok.hf import library as _library
from hftok.hf.backends import Given, own_backend
from hftok.hf.classes import accelerate, accelerated_class, is_accelerated, not_accelerated
from hftok.hf.patching import accelerating, patch, patched, unpatch
from hftok.hf.tokens import reference_tokens
from hftok.tokenizer import Tokenizer

__all__ = ["AutoTokenizer", "accelerate", "patch", "patched", "unpatch", "wrap"]


class AutoTokenizer(_library.auto.AutoTokenizer):  # type: ignore[misc]
    """transformers' AutoTokenizer, giving accelerated tokenizers."""

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *inputs: Any, **kwargs: Any) -> Any:
        """A tokenizer from a folder or the Hub, with all arguments of transformers' method.

        Returns:
            An accelerated tokenizer. Where hftok refuses the tokenizer, or transformers' class has no backend to
            replace (one written in Python): transformers' own object, a warning, and `is_accelerated == False`.
        """
        with accelerating():
            tokenizer = _library.auto.AutoTokenizer.from_pretrained(
                pretrained_model_name_or_path, *inputs, **reference_tokens(kwargs)
            )
        if isinstance(tokenizer, bool):  # False, for a vocabulary that a class written in Python cannot load
            return tokenizer
        if not is_accelerated(type(tokenizer)) and getattr(tokenizer, "is_accelerated", True):
            not_accelerated(tokenizer, "it has no backend that could be replaced")
        return tokenizer


def wrap(tokenizer: Any, **kwargs: Any) -> Any:
    """A transformers tokenizer on a tokenizer of ours, which both then share.

    Args:
        tokenizer: an `hftok.Tokenizer`; or a tokenizer of transformers or the reference, which is copied.
        kwargs: as for `PreTrainedTokenizerFast(tokenizer_object=..., **kwargs)`: special tokens, model_max_length, ...

    Raises:
        UnsupportedTokenizerError: it cannot be reproduced exactly.
        TypeError: it is no tokenizer.
    """
    if isinstance(tokenizer, _library.TokenizerBase):
        copied = accelerate(_copy.deepcopy(tokenizer))
        for key, value in kwargs.items():
            setattr(copied, key, value)
        return copied
    own = own_backend(tokenizer)
    if not isinstance(own, Tokenizer):
        raise TypeError(f"a {type(tokenizer).__name__} is no tokenizer")
    return accelerated_class(_library.TokenizersBackend)(tokenizer_object=Given(own), **kwargs)


# What programs import in the same line as a tokenizer class.
_BESIDE_TOKENIZERS = frozenset(
    {"AddedToken", "BatchEncoding", "CharSpan", "SpecialTokensMixin", "TensorType", "TokenSpan"}
)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(_library.transformers, name, None)
    if found is not None and name in _BESIDE_TOKENIZERS:
        return found
    if found is None and "Tokenizer" in name:
        found = _library.auto.tokenizer_class_from_name(name)
    if not isinstance(found, type) or not issubclass(found, _library.TokenizerBase):
        reason = "transformers has no such tokenizer class" if found is None else "import it from transformers"
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {reason}")
    return accelerated_class(found) if issubclass(found, _library.TokenizersBackend) else found


def __dir__() -> list[str]:
    names = (name for name in dir(_library.transformers) if "Tokenizer" in name or name in _BESIDE_TOKENIZERS)
    return sorted({*__all__, *names})
