"""AddedTokens on their way between hftok and transformers.

transformers knows tokens as instances of the reference's AddedToken, and so do people who use it: what goes into its
code is made that, and so is what its attributes give back. hftok's backend takes both (hftok/foreign.py).
"""

from __future__ import annotations

from typing import Any

from hftok.added_tokens import AddedToken as OwnToken
from hftok.hf.library import AddedToken

__all__ = ["reference_token", "reference_tokens"]


def reference_token(token: OwnToken) -> Any:
    """A token of ours as transformers knows it."""
    state = token.__getstate__()
    if token._flags["normalized"] is None:
        del state["normalized"]  # never given: it goes on following `special`
    return AddedToken(**state)


def reference_tokens(value: Any) -> Any:
    """A value with every AddedToken of ours in it, lists and dicts included, as transformers knows it."""
    if isinstance(value, OwnToken):
        return reference_token(value)
    if type(value) is dict:
        return {key: reference_tokens(item) for key, item in value.items()} if _holds_own(value.values()) else value
    if type(value) in (list, tuple) and _holds_own(value):
        return type(value)([reference_tokens(item) for item in value])
    return value


def _holds_own(values: Any) -> bool:
    return any(isinstance(item, (OwnToken, dict, list, tuple)) for item in values)
