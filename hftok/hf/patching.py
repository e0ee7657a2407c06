"""transformers' own classes giving accelerated tokenizers: for one load, for a block, or until further notice.

All of transformers' fast tokenizers are made by calling a subclass of `TokenizersBackend`, whoever calls it. The class
gets a `__new__` that makes, while acceleration is wanted, an instance of the accelerated subclass instead (whose
constructor runs then); at other times it does what `object.__new__` does. It stays once it is there: CPython does not
forget a `__new__`. So does the way in which files are read for the constructor (hftok/hf/building.py).

Servers stream with `tokenizers.decoders.DecodeStream`, which steps on tokenizers of the reference only. While
transformers is patched that name stands for our DecodeStream, which steps on those of both.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hftok.decoders import DecodeStream
from hftok.hf.building import native_format
from hftok.hf.classes import accelerated_class, is_accelerated
from hftok.hf.library import CONVERT, TokenizersBackend, backend_decoders

__all__ = ["accelerating", "patch", "patched", "unpatch"]

_here: ContextVar[bool] = ContextVar("hftok_accelerating", default=False)
_everywhere = 0
_lock = threading.Lock()
_decode_stream = backend_decoders.DecodeStream


def _new(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    # No arguments: pickle and copy make an empty object of the class that they have the state of.
    if (_everywhere or _here.get()) and (args or kwargs) and not is_accelerated(cls):
        cls = accelerated_class(cls)
    return object.__new__(cls)


def _convert_to_native_format(cls: Any, *args: Any, **kwargs: Any) -> Any:
    return (native_format if _everywhere or _here.get() else CONVERT)(cls, *args, **kwargs)


def _install() -> None:
    if TokenizersBackend.__new__ is not _new:
        TokenizersBackend.__new__ = _new
        if CONVERT is not None:
            method = functools.update_wrapper(_convert_to_native_format, CONVERT)
            TokenizersBackend.convert_to_native_format = classmethod(method)


@contextmanager
def accelerating() -> Iterator[None]:
    """What this thread loads inside the block is accelerated."""
    _install()
    token = _here.set(True)
    try:
        yield
    finally:
        _here.reset(token)


def _set_everywhere(wanted: int) -> int:
    """Set whether acceleration is wanted everywhere; returns what it was. The caller holds the lock."""
    global _everywhere
    before, _everywhere = _everywhere, wanted
    backend_decoders.DecodeStream = DecodeStream if wanted else _decode_stream
    return before


def patch() -> None:
    """From now on transformers' own AutoTokenizer and tokenizer classes give accelerated tokenizers, in all threads.

    A tokenizer that cannot be reproduced exactly comes as transformers makes it, with a warning and
    `is_accelerated == False`. Tokenizers that exist already: see `accelerate`. Call it before the imports of programs
    that take `DecodeStream` from `tokenizers.decoders`: they get hftok's, which takes the tokenizers of both.
    """
    _install()
    with _lock:
        _set_everywhere(1)


def unpatch() -> None:
    """Undo `patch()`. Accelerated tokenizers stay accelerated."""
    with _lock:
        _set_everywhere(0)


@contextmanager
def patched() -> Iterator[None]:
    """`patch()` for a block."""
    _install()
    with _lock:
        before = _set_everywhere(1)
    try:
        yield
    finally:
        with _lock:
            _set_everywhere(before)
