"""What transformers does to put a backend together, done with our components.

Many classes (Qwen2Tokenizer, T5Tokenizer, ...) make their backend from the vocabulary in a tokenizer.json and from
components. The functions that do so are run as they are, but find our components under the names of the reference's, so
that the reference's backend need not be built, written and read again, which takes several times as long. Where that
raises anything, the caller runs the function itself: what it makes or raises is then what transformers makes or raises.
"""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import orjson

import hftok
from hftok import decoders, models, normalizers, pre_tokenizers, processors
from hftok.hf.library import CONVERT

__all__ = ["names_in", "native_format", "on_our_components"]

_MODULES: dict[str, Any] = {
    "decoders": decoders,
    "models": models,
    "normalizers": normalizers,
    "pre_tokenizers": pre_tokenizers,
    "processors": processors,
}


@functools.cache
def _reference() -> dict[int, Any]:
    """id of a module or class of the reference -> ours."""
    theirs: Any = importlib.import_module("tokenizers")
    found = {id(theirs.Tokenizer): hftok.Tokenizer, id(theirs.Regex): hftok.Regex}
    for name, own in _MODULES.items():
        module = getattr(theirs, name)
        found[id(module)] = own
        for key, value in vars(module).items():
            if isinstance(value, type) and hasattr(own, key):
                found[id(value)] = getattr(own, key)
    return found


class _Json:
    """The json module, with a faster `load`."""

    @staticmethod
    def load(file: Any) -> Any:
        text = file.read()
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:  # or what only json takes: NaN, lone surrogates
            return json.loads(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(json, name)


@functools.cache
def on_our_components(function: Any) -> Callable[..., Any] | None:
    """`function` with our components for the reference's; None where it uses none by the names of its module."""
    if not isinstance(function, FunctionType):
        return None
    names: dict[str, Any] = {}
    for name in names_in(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, (type, ModuleType)) and id(value) in _reference():
            names[name] = _reference()[id(value)]
    if hftok.Tokenizer not in names.values():
        return None
    if function.__globals__.get("json") is json:
        names["json"] = _Json()
    names = {**function.__globals__, **names}
    made = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def native_format(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """transformers' `TokenizersBackend.convert_to_native_format`: the arguments of a constructor, from files."""
    ours = on_our_components(CONVERT)
    if ours is not None:
        try:
            return ours(cls, *args, **kwargs)
        except Exception:  # whatever is wrong, the method itself says it
            pass
    return CONVERT(cls, *args, **kwargs)


def names_in(code: Any) -> set[str]:
    """The names that code and the functions inside it look up."""
    return {*code.co_names, *(name for part in code.co_consts if hasattr(part, "co_names") for name in names_in(part))}
