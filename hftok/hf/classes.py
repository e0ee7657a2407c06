"""Subclasses of transformers' tokenizer classes whose backend is an hftok.Tokenizer.

`accelerated_class(base)` makes, once, a subclass of the same name. Only what has to differ is in it: the constructor
takes care that `_tokenizer` is ours, and the methods of a call take the fast way. A method is replaced only where the
class has transformers' common one; what a class does in its own way it goes on doing, on our backend.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import threading
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hftok._core import hf_calls
from hftok.added_tokens import AddedToken as OwnToken
from hftok.errors import UnsupportedTokenizerError
from hftok.hf.backends import (
    Given,
    PreTokenizerAsReference,
    backend_copy,
    backend_from_file,
    own_backend,
    reference_component,
    reference_tokenizer,
)
from hftok.hf.building import forget_handed_out, native_format, on_our_components
from hftok.hf.calls import ORIGINALS, REPLACED, in_a_view, keeps_plans, only_checks
from hftok.hf.library import CALLS, CONVERT, TokenizerBase, TokenizersBackend
from hftok.hf.methods import replaced_methods
from hftok.hf.tokens import reference_token, reference_tokens
from hftok.hf.training import on_our_trainers
from hftok.processors import PostProcessor
from hftok.tokenizer import Tokenizer

__all__ = ["accelerate", "accelerated_class", "is_accelerated", "not_accelerated"]

_classes: dict[Any, Any] = {}
_lock = threading.RLock()


# A class that has its own of these does something around a call.
_SWITCHES = ("_switch_to_input_mode", "_switch_to_target_mode")


# Attributes that no plan depends on: as_target_tokenizer() sets it, for classes with switches.
_OF_NO_PLAN = ("_in_target_context_manager",)


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
            if cls.__dict__.get("__call__") is hf_calls.call:
                hf_calls.call_directly(cls)
    return cls


def _namespace(base: Any) -> dict[str, Any]:
    namespace: dict[str, Any] = {
        # Where a class of somebody else's is written, transformers looks for the code that it saves with a tokenizer.
        "__module__": "hftok.hf" if base.__module__.startswith("transformers.") else base.__module__,
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
        "_repr_html_": _as_html,
    }
    if CONVERT is not None:
        namespace["convert_to_native_format"] = _native_format(base)
        namespace["_patch_mistral_regex"] = _mistral_regex(base)
    for name, function in REPLACED.items():
        if getattr(base, name) is ORIGINALS[name]:
            namespace[name] = function
    if any(getattr(base, name, None) is not getattr(TokenizersBackend, name, None) for name in _SWITCHES):
        namespace.pop("__call__", None)
    for name in ORIGINALS:
        own = getattr(base, name)
        if own is ORIGINALS[name]:
            continue
        if name in CALLS[0] and only_checks(own):
            namespace[name] = in_a_view(own)
        elif name in CALLS[0] or name in ("encode_plus", "batch_encode_plus"):
            namespace[name] = _one_at_a_time(own)
    if base.train_new_from_iterator is TokenizersBackend.train_new_from_iterator:
        namespace["train_new_from_iterator"] = on_our_trainers(base.train_new_from_iterator)
    return {**replaced_methods(base), **namespace}


# ---- construction ----------------------------------------------------------------------------------------------------


def _constructor(base: Any) -> Callable[..., None]:
    """A constructor that leaves `_tokenizer` ours.

    transformers' own constructors run as they are. Where they would load a tokenizer.json, they are given our tokenizer
    instead; a class that builds its backend itself does so with the reference's objects, which it may take apart and
    put together, and the finished backend is copied.
    """

    @functools.wraps(base.__init__)
    def construct(self: Any, *args: Any, **kwargs: Any) -> None:
        # A vocabulary holds no AddedTokens; it is big.
        big = {key: kwargs[key] for key in ("vocab", "merges") if key in kwargs}
        given = {**reference_tokens({key: value for key, value in kwargs.items() if key not in big}), **big}
        source = given.get("tokenizer_object")
        try:
            own = _own_source(base, args, given)
        except UnsupportedTokenizerError as error:
            if isinstance(source, (Tokenizer, Given)) or type(self) is not _classes.get(base):
                raise
            self.__class__ = base
            base.__init__(self, *args, **_for_transformers(kwargs))
            not_accelerated(self, error)
            return
        built = own is None and _built_on_ours(base, self, args, given)
        forget_handed_out()
        if own is None:
            if not built:
                base.__init__(self, *args, **_for_transformers(given))
        elif source is not None or base.__init__ is TokenizersBackend.__init__:
            given.pop("tokenizer_file", None)
            given = {**_for_transformers(given), "tokenizer_object": own}
            if base.__init__ is TokenizersBackend.__init__:
                base.__init__(self, *args, **given)
            elif not _constructed(base.__init__, self, args, given):  # CLIP's of 4.57 asks for the reference's classes
                base.__init__(self, *args, **{**given, "tokenizer_object": reference_tokenizer(own.tokenizer)})
        elif not _built_on_file(base, self, args, {**given, "tokenizer_object": own}):
            own = None
            base.__init__(self, *args, **_for_transformers(given))
        try:
            _finish(self)
        except UnsupportedTokenizerError as error:
            if own is not None or type(self) is not _classes.get(base):
                raise
            self.__dict__.pop("_door", None)
            self.__class__ = base
            not_accelerated(self, error)

    return construct


def _for_transformers(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Arguments for a constructor that works with the reference's components."""
    given = kwargs.get("post_processor")
    if isinstance(given, PostProcessor):
        return {**kwargs, "post_processor": reference_component("post_processor", given)}
    return kwargs


def _built_on_ours(base: Any, self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Run a class's constructor on our components, if it builds its backend and that is fine with ours."""
    constructor = on_our_components(base.__init__)
    return constructor is not None and _constructed(constructor, self, args, kwargs)


def _built_on_file(base: Any, self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Run a class's own constructor on our backend in place of the file that it would read (4.57); some ask for classes
    of the reference."""
    return _constructed(base.__init__, self, args, kwargs)


def _constructed(constructor: Any, self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    before = dict(self.__dict__)
    try:
        constructor(self, *args, **kwargs)
        if isinstance(self._tokenizer, Tokenizer):
            self._tokenizer._ready()
            return True
    except Exception:  # whatever is wrong, the constructor itself says it
        pass
    self.__dict__.clear()
    self.__dict__.update(before)
    return False


class _Asked(Exception):
    """What a class's constructor gives to transformers' common one."""

    def __init__(self, kwargs: dict[str, Any]) -> None:
        self.kwargs = kwargs


class _Asking(TokenizersBackend):  # type: ignore[misc]
    """Stands between a class and transformers' common one, to see what the class's constructor asks for."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _Asked(kwargs)


class _Silent:
    """A logger that logs nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **kwargs: None


def _without_log(function: Any) -> Any:
    """A constructor that does not log: it is only asked, and logs when it is run."""
    if not isinstance(function, FunctionType):
        return function
    names = {**function.__globals__, "logger": _Silent()}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _from_slow(base: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a constructor has its backend converted from a vocabulary file although there is a tokenizer.json.

    In 4.57 T5's and Llama's do so when they are given `add_prefix_space`, Pegasus' for special tokens of other names.
    """
    if kwargs.get("from_slow"):
        return True
    constructors = (cls.__dict__.get("__init__") for cls in base.__mro__[: base.__mro__.index(TokenizersBackend)])
    if not any("from_slow" in made.__code__.co_consts for made in constructors if isinstance(made, FunctionType)):
        return False
    try:
        asking = type(base)(base.__name__, (base, _Asking), {})
        ask = _without_log(base.__init__)
        ask(object.__new__(asking), *args, **copy.deepcopy(kwargs))  # some add to the lists that they get
    except _Asked as asked:
        return bool(asked.kwargs.get("from_slow"))
    except Exception:  # whatever is wrong, the constructor itself says it
        pass
    return False


def _own_source(base: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Given | None:
    """Our backend for a constructor, where it is known beforehand; UnsupportedTokenizerError where there is none."""
    source = kwargs.get("tokenizer_object")
    if isinstance(source, Given):
        return source  # shared with the tokenizer that as_hf() was called on
    if isinstance(source, Tokenizer):
        made = backend_copy(source)  # transformers copies what it is given
    elif source is None and (base.__init__ is TokenizersBackend.__init__ or CONVERT is None):
        file = kwargs.get("tokenizer_file")
        if file is None or not os.path.isfile(file) or _from_slow(base, args, kwargs):
            return None
        made = backend_from_file(os.fspath(file))
    else:
        return None
    made._ready()  # what cannot be reproduced is refused now
    return Given(made)


def _finish(self: Any) -> None:
    """Make the backend of a constructed tokenizer ours, and its calls fast."""
    before = self._tokenizer
    backend = own_backend(before)
    if not isinstance(backend, Tokenizer):
        raise UnsupportedTokenizerError("it is no tokenizer of the tokenizers library", type(backend).__name__)
    backend._ready()
    self.__dict__["_tokenizer"] = backend
    self.__dict__["_door"] = hf_calls.Door()
    if backend is not before and "decode" in getattr(before, "__dict__", {}):
        wrap = getattr(self, "_wrap_decode_method_backend_tokenizer", None)
        if wrap is not None:
            wrap()  # CLIP puts a function of its own on the backend


def not_accelerated(tokenizer: Any, reason: object) -> None:
    """Mark a tokenizer that stays as transformers has made it, and say why."""
    tokenizer.is_accelerated = False
    warnings.warn(f"{type(tokenizer).__name__} is not accelerated by hftok: {reason}", stacklevel=3)


def _same(before: Any, now: Any) -> bool:
    """Whether an attribute is what it was before it was set; programs set padding_side before every call."""
    return type(before) is type(now) and type(now) in (str, int, bool) and before == now


def _setter(base: Any) -> Callable[[Any, str, Any], None]:
    original = base.__setattr__

    def set_attribute(self: Any, key: str, value: Any) -> None:
        before = self.__dict__.get(key, original)
        if key == "_tokenizer" and "_door" in self.__dict__:  # a constructor works with what it makes
            value = own_backend(value)
        elif isinstance(value, OwnToken):
            value = reference_token(value)
        elif key in ("extra_special_tokens", "additional_special_tokens"):
            value = reference_tokens(value)
        original(self, key, value)
        door = self.__dict__.get("_door")
        if door is not None and key not in _OF_NO_PLAN and not _same(before, self.__dict__.get(key)):
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
    if getattr(original, "__wrapped__", original) is CONVERT:
        original = native_format

    @functools.wraps(CONVERT)
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


def _as_html(self: Any) -> str:
    """The tokenizer's backend as a table, which notebooks show."""
    html: str = self._tokenizer._repr_html_()
    return html


def _one_at_a_time(original: Callable[..., Any]) -> Callable[..., Any]:
    """A class's own `_encode_plus` sets the shared backend and then uses it: calls from other threads must wait."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        backend = self._tokenizer
        with backend._lock if isinstance(backend, Tokenizer) else contextlib.nullcontext():
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
    before = dict(tokenizer.__dict__)
    try:
        _finish(tokenizer)
        tokenizer.__dict__.pop("is_accelerated", None)
        tokenizer.__class__ = accelerated_class(cls)
    except BaseException:
        tokenizer.__dict__.clear()
        tokenizer.__dict__.update(before)
        raise
    return tokenizer
