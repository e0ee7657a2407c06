"""What transformers does to put a backend together, done with our components.

Many classes (Qwen2Tokenizer, T5Tokenizer, ...) make their backend from the vocabulary in a tokenizer.json and from
components. The functions that do so are run as they are, but find our components under the names of the reference's, so
that the reference's backend need not be built, written and read again, which takes several times as long; and large
files are read by way of the load cache. Where that raises anything, the caller runs the function itself: what it makes
or raises is then what transformers makes or raises.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import orjson

import hftok
from hftok import decoders, load_cache, models, normalizers, pre_tokenizers, processors, serialization
from hftok.hf.library import CONVERT
from hftok.models import _HANDED_OUT, BPE

__all__ = ["forget_handed_out", "names_in", "native_format", "on_our_components"]

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
        found = _large_bpe(getattr(file, "name", None))
        if found is not None:
            return found
        text = file.read()
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:  # or what only json takes: NaN, lone surrogates
            return json.loads(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(json, name)


def _large_bpe(path: Any) -> dict[str, Any] | None:
    """A tokenizer.json as JSON, from a tokenizer that was loaded from it, by way of the load cache; None for all but
    large ones with a BPE model. A model made of its vocabulary and merges is then that tokenizer's."""
    if not isinstance(path, str):
        return None
    try:
        if os.path.getsize(path) < load_cache.LEAST_BYTES:
            return None
        tokenizer = hftok.Tokenizer.from_file(path)
        model = tokenizer._model
        if not isinstance(model, BPE):
            return None
        tokenizer._engine_of(False)  # what it makes is kept
        rest = json.loads(serialization.dump(replace(tokenizer._parts(), model=BPE(), added_tokens=[])))
        fields = model._description().fields
        vocab, merges = model._hand_out()
    except Exception:  # whatever it is, it is read as JSON
        return None
    options = {name: value for name, value in fields.items() if name not in ("vocab", "merges")}
    rest["model"] = {"type": "BPE", **options, "vocab": vocab, "merges": merges}
    return rest  # type: ignore[no-any-return]


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


def forget_handed_out() -> None:
    """Let go of the vocabulary that was last read for a constructor."""
    _HANDED_OUT.clear()


def native_format(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """transformers' `TokenizersBackend.convert_to_native_format`: the arguments of a constructor, from files."""
    ours = on_our_components(CONVERT)
    if ours is not None:
        try:
            return ours(cls, *args, **kwargs)
        except Exception:  # whatever is wrong, the method itself says it
            forget_handed_out()
    return CONVERT(cls, *args, **kwargs)


def names_in(code: Any) -> set[str]:
    """The names that code and the functions inside it look up."""
    return {*code.co_names, *(name for part in code.co_consts if hasattr(part, "co_names") for name in names_in(part))}
