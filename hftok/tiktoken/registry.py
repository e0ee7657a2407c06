"""Encodings by name: OpenAI's, and those of plugins.

A plugin is a module in the namespace package `tiktoken_ext` with a dict ENCODING_CONSTRUCTORS: name -> function that
gives the arguments of `Encoding`. Plugins written for tiktoken work here; its own `openai_public` is not asked.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading
from collections.abc import Callable, Sequence
from typing import Any

from hftok.tiktoken import openai_public
from hftok.tiktoken.core import Encoding

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]

Constructor = Callable[[], dict[str, Any]]

ENCODINGS: dict[str, Encoding] = {}
ENCODING_CONSTRUCTORS: dict[str, Constructor] | None = None

_lock = threading.RLock()


@functools.lru_cache
def _available_plugin_modules() -> Sequence[str]:
    try:
        import tiktoken_ext
    except ImportError:
        return []
    found = [name for _, name, _ in pkgutil.iter_modules(tiktoken_ext.__path__, "tiktoken_ext.")]
    return [name for name in found if name != "tiktoken_ext.openai_public"]


def _constructors() -> dict[str, Constructor]:
    global ENCODING_CONSTRUCTORS
    with _lock:
        if ENCODING_CONSTRUCTORS is None:
            found: dict[str, Constructor] = dict(openai_public.ENCODING_CONSTRUCTORS)
            for name in _available_plugin_modules():
                constructors = getattr(importlib.import_module(name), "ENCODING_CONSTRUCTORS", None)
                if constructors is None:
                    raise ValueError(f"tiktoken plugin {name} does not define ENCODING_CONSTRUCTORS")
                for encoding, constructor in constructors.items():
                    if encoding in found:
                        raise ValueError(f"Duplicate encoding name {encoding} in tiktoken plugin {name}")
                    found[encoding] = constructor
            ENCODING_CONSTRUCTORS = found
        return ENCODING_CONSTRUCTORS


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding of that name, made when it is first asked for and kept.

    OpenAI's encodings are read from tiktoken's cache folder (TIKTOKEN_CACHE_DIR, DATA_GYM_CACHE_DIR, or data-gym-cache
    in the folder for temporary files) and downloaded where they are not there.

    Raises:
        ValueError: there is no such encoding, or a file is not what it should be.
    """
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    found = ENCODINGS.get(encoding_name)
    if found is not None:
        return found
    with _lock:
        if encoding_name not in ENCODINGS:
            constructors = _constructors()
            if encoding_name not in constructors:
                raise ValueError(
                    f"Unknown encoding {encoding_name}.\n"
                    f"Encodings: {list(constructors)}\nPlugins found: {_available_plugin_modules()}"
                )
            ENCODINGS[encoding_name] = Encoding(**constructors[encoding_name]())
        return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """The names that `get_encoding` knows.

    >>> "cl100k_base" in list_encoding_names()
    True
    """
    return list(_constructors())
