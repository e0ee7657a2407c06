"""Subclasses of transformers' tokenizer classes whose backend is an hftok.Tokenizer.

`accelerated_class(base)` makes, once, a subclass of the same name. Only what has to differ is in it: the constructor
takes care that `_tokenizer` is ours, and the methods of a call take the fast way. A method is replaced only where the
class has transformers' common one; what a class does in its own way it goes on doing, on our backend.
"""

from __future__ import annotations

import copy
import functools
import os
import threading
import warnings
from collections.abc import Callable
from typing import Any

from hftok._core import hf_calls
from hftok.added_tokens import AddedToken as OwnToken
from hftok.errors import UnsupportedTokenizerError
from hftok.hf.backends import Given, PreTokenizerAsReference, own_backend
from hftok.hf.calls import ORIGINALS, keeps_plans
from hftok.hf.library import TokenizerBase, TokenizersBackend
from hftok.hf.methods import replaced_methods
from hftok.hf.tokens import reference_token, reference_tokens
from hftok.hf.training import on_our_trainers
from hftok.tokenizer import Tokenizer

__all__ = ["accelerate", "accelerated_class", "is_accelerated", "not_accelerated"]

_classes: dict[Any, Any] = {}
_lock = threading.RLock()


def is_accelerated(cls: Any) -> bool:
    """Whether a class is one of ours, or derived from one."""
    return getattr(cls, "_accelerates", None) is not None


def accelerated_class(base: Any) -> Any:
    """The subclass of a `TokenizersBackend` class whose backend is ours; `base` itself where it is one already."""
    if is_accelerated(base):
        return base
    with _lock:
        cls = _classes.get(base)
        if cls is None:
            if not issubclass(base, TokenizersBackend):
                raise TypeError(f"{base.__name__} has no backend that could be replaced: it is no TokenizersBackend")
            cls = _classes[base] = type(base)(base.__name__, (base,), _namespace(base))
    return cls


def _namespace(base: Any) -> dict[str, Any]:
    namespace: dict[str, Any] = {
        "__module__": "hftok.hf",
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "_accelerates": base,
        "_keeps_plans": staticmethod(keeps_plans),
        "is_accelerated": True,
        "__init__": _constructor(base),
        "__setattr__": _setter(base),
        "__reduce__": _reduce(base),
        "add_special_tokens": _with_reference_tokens(base.add_special_tokens),
        "from_pretrained": _loader(base),
        "convert_to_native_format": _native_format(base),
        "_patch_mistral_regex": _mistral_regex(base),
    }
    calls = {"encode": hf_calls.encode, "_encode_plus": hf_calls.encode_plus}
    if not hasattr(base, "_switch_to_input_mode") and not hasattr(base, "_switch_to_target_mode"):
        calls["__call__"] = hf_calls.call
    for name, function in calls.items():
        if getattr(base, name) is ORIGINALS[name]:
            namespace[name] = function
    if base._encode_plus is not ORIGINALS["_encode_plus"]:
        namespace["_encode_plus"] = _one_at_a_time(base._encode_plus)
    if base.train_new_from_iterator is TokenizersBackend.train_new_from_iterator:
        namespace["train_new_from_iterator"] = on_our_trainers(base.train_new_from_iterator)
    return {**replaced_methods(base), **namespace}


# ---- construction ----------------------------------------------------------------------------------------------------


def _constructor(base: Any) -> Callable[..., None]:
    @functools.wraps(base.__init__)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        source = kwargs.get("tokenizer_object")
        try:
            _construct(self, base, args, reference_tokens(kwargs))
        except UnsupportedTokenizerError as error:
            if isinstance(source, (Tokenizer, Given)) or type(self) is not _classes.get(base):
                raise
            self.__class__ = base
            self.__dict__.clear()
            base.__init__(self, *args, **kwargs)
            not_accelerated(self, error)

    return construct


def _construct(self: Any, base: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    self.__dict__["_door"] = hf_calls.Door()
    source = kwargs.get("tokenizer_object")
    if source is not None:
        # transformers copies what it is given; a tokenizer that as_hf() is called on is shared.
        if isinstance(source, Tokenizer):
            kwargs["tokenizer_object"] = Given(copy.deepcopy(source))
        elif not isinstance(source, Given):
            own = own_backend(source)
            if own is not source:
                kwargs["tokenizer_object"] = Given(own)
    elif base.__init__ is TokenizersBackend.__init__:
        # transformers would load the file with the reference.
        file = kwargs.get("tokenizer_file")
        if file is not None and os.path.isfile(file):
            del kwargs["tokenizer_file"]
            kwargs["tokenizer_object"] = Given(Tokenizer.from_file(os.fspath(file)))
    base.__init__(self, *args, **kwargs)
    self._tokenizer._ready()  # what cannot be reproduced is refused now


def not_accelerated(tokenizer: Any, reason: object) -> None:
    """Mark a tokenizer that stays as transformers has made it, and say why."""
    tokenizer.is_accelerated = False
    warnings.warn(f"{type(tokenizer).__name__} is not accelerated by hftok: {reason}", stacklevel=3)


def _setter(base: Any) -> Callable[[Any, str, Any], None]:
    original = base.__setattr__

    def set_attribute(self: Any, key: str, value: Any) -> None:
        if key == "_tokenizer":
            value = own_backend(value)
        elif isinstance(value, OwnToken):
            value = reference_token(value)
        elif key in ("extra_special_tokens", "additional_special_tokens"):
            value = reference_tokens(value)
        original(self, key, value)
        door = self.__dict__.get("_door")
        if door is not None:
            door.forget()

    return set_attribute


def _loader(base: Any) -> Any:
    original = base.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
        return original(cls, *args, **reference_tokens(kwargs))

    return classmethod(from_pretrained)


def _native_format(base: Any) -> Any:
    original = base.convert_to_native_format.__func__

    @functools.wraps(original)
    def convert_to_native_format(cls: Any, *args: Any, **kwargs: Any) -> Any:
        # It asks whether the class has a constructor of its own: ours does not count.
        return original(base if cls is _classes.get(base) else cls, *args, **kwargs)

    return classmethod(convert_to_native_format)


def _mistral_regex(base: Any) -> Any:
    original = base._patch_mistral_regex.__func__

    @functools.wraps(original)
    def _patch_mistral_regex(cls: Any, tokenizer: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(tokenizer, Tokenizer):
            return original(cls, tokenizer, *args, **kwargs)
        stand_in = PreTokenizerAsReference(tokenizer)
        original(cls, stand_in, *args, **kwargs)
        stand_in.settle()
        return tokenizer

    return classmethod(_patch_mistral_regex)


# ---- copies ----------------------------------------------------------------------------------------------------------


def _rebuild(base: Any) -> Any:
    cls = accelerated_class(base)
    return cls.__new__(cls)


def _reduce(base: Any) -> Callable[[Any], tuple[Any, ...]]:
    def reduce(self: Any) -> tuple[Any, ...]:
        state = self.__getstate__()
        if isinstance(state, dict):
            state = {**state, "_door": hf_calls.Door()}
        cls = type(self)
        return (_rebuild, (base,), state) if cls is _classes.get(base) else (cls.__new__, (cls,), state)

    return reduce


# ---- methods ---------------------------------------------------------------------------------------------------------


def _with_reference_tokens(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *reference_tokens(args), **reference_tokens(kwargs))

    return method


def _one_at_a_time(original: Callable[..., Any]) -> Callable[..., Any]:
    """A class's own `_encode_plus` sets the shared backend and then uses it: calls from other threads must wait."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._tokenizer._lock:
            return original(self, *args, **kwargs)

    return method


# ---- tokenizers that exist -------------------------------------------------------------------------------------------


def accelerate(tokenizer: Any) -> Any:
    """Give a loaded transformers tokenizer our backend, in place.

    Args:
        tokenizer: a `TokenizersBackend` (any "fast" tokenizer). One that is accelerated already stays as it is.

    Returns:
        The same object.

    Raises:
        UnsupportedTokenizerError: its backend cannot be reproduced exactly; the tokenizer is unchanged.
        TypeError: it is no such tokenizer.
    """
    cls = type(tokenizer)
    if is_accelerated(cls):
        return tokenizer
    if not isinstance(tokenizer, TokenizersBackend):
        name = "tokenizer written in Python" if isinstance(tokenizer, TokenizerBase) else "transformers tokenizer"
        raise TypeError(f"{cls.__name__} is a {name}, without a backend that could be replaced")
    backend = own_backend(tokenizer._tokenizer)
    if not isinstance(backend, Tokenizer):
        raise TypeError(f"the backend of this {cls.__name__} is a {type(backend).__name__}")
    backend._ready()
    accelerated = accelerated_class(cls)
    wraps_decode = "decode" in getattr(tokenizer._tokenizer, "__dict__", {})
    tokenizer.__dict__["_door"] = hf_calls.Door()
    tokenizer.__dict__["_tokenizer"] = backend
    tokenizer.__dict__.pop("is_accelerated", None)
    tokenizer.__class__ = accelerated
    if wraps_decode and hasattr(tokenizer, "_wrap_decode_method_backend_tokenizer"):
        tokenizer._wrap_decode_method_backend_tokenizer()  # CLIP puts a function of its own on the backend
    return tokenizer
