"""How a call's arguments become settings, and the slow way of a call.

The slow way is transformers' own code, over a backend with settings of its own: `CallBackend` shares everything with
the tokenizer but truncation, padding and `encode_special_tokens`, so that a call neither disturbs another thread's nor
is disturbed. Afterwards the settings are shown on the tokenizer's backend, as transformers leaves them there.

The fast way (`_core/hf_calls.pyx`) looks calls up in the plans that are made here, by the same code of transformers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hftok._core import hf_calls, hf_rows
from hftok._core.hf_rows import Plan, TrimTable, trimming_stages
from hftok._core.short_calls import ShortCalls
from hftok.hf.building import names_in
from hftok.hf.library import (
    CALLS,
    EVERY_WINDOW,
    LISTS_ARE_BATCHES,
    TAKES_ANY_ARGUMENT,
    BatchEncoding,
    PaddingStrategy,
    TensorType,
    TokenizersBackend,
    TruncationStrategy,
)
from hftok.serialization import TruncationParams
from hftok.tokenizer import Tokenizer

__all__ = ["CallBackend", "in_a_view", "keeps_plans", "only_checks"]

# What transformers does in a call.
ORIGINALS: dict[str, Any] = {
    name: getattr(TokenizersBackend, name) for name in ("__call__", "encode", *CALLS[0], *CALLS[1])
}

# What a plan stands for: where a class or a person has another of these, no plans are used.
STANDS_FOR = (*CALLS[0], *CALLS[1])


class CallBackend(Tokenizer):
    """A tokenizer's components with the settings of one call."""

    _of: Tokenizer
    _every_window: bool

    @classmethod
    def of(cls, tokenizer: Tokenizer, every_window: bool) -> CallBackend:
        """A backend for one call of `tokenizer`. every_window: truncation keeps all of `overflowing`."""
        self: CallBackend = ShortCalls.__new__(cls)
        self.__dict__.update(tokenizer.__dict__)
        self._of = tokenizer
        self._every_window = self._full_overflow = every_window
        self._published = self._state = None
        return self

    def _set_truncation(self, params: TruncationParams | None, full_overflow: bool) -> None:
        super()._set_truncation(params, full_overflow or self._every_window)

    def publish(self) -> None:
        """Show this call's settings on the tokenizer."""
        tokenizer = self._of
        mine = self._truncation, self._padding, self._special_as_text
        if mine != (tokenizer._truncation, tokenizer._padding, tokenizer._special_as_text):
            tokenizer._publish(None, *mine, self._full_overflow)


def _every_window(tokenizer: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a call wants all windows of a long text: its argument `full_overflow`, or the tokenizer's attribute."""
    return EVERY_WINDOW or bool(kwargs.get("full_overflow", tokenizer.__dict__.get("full_overflow", False)))


def _view(tokenizer: Any, every_window: bool) -> Any:
    """The tokenizer as a call sees it: all of its attributes, but a backend for this call alone."""
    view = object.__new__(type(tokenizer))
    attributes = view.__dict__
    attributes.update(tokenizer.__dict__)
    attributes["_tokenizer"] = CallBackend.of(tokenizer._tokenizer, every_window)
    attributes["_door"] = None
    return view


def _slow_call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return ORIGINALS["__call__"](self, *args, **kwargs)


def _slow_encode(self: Any, *args: Any, **kwargs: Any) -> Any:
    return ORIGINALS["encode"](self, *args, **kwargs)


# What code looks up that only checks `is_split_into_words` and goes on to the method that it is in place of.
_NAMES_OF_CHECKS = {
    "get",
    "add_prefix_space",
    "super",
    *CALLS[0],
    "__class__",
    "__name__",
    "AssertionError",
    "Exception",
}
_checks: set[Any] = set()  # what `in_a_view` has made of such methods


def only_checks(function: Any) -> bool:
    """Whether a class's own method only refuses `is_split_into_words` in some cases (as GPT-2's in 4.57 does)."""
    if not isinstance(function, FunctionType) or not function.__module__.startswith("transformers.models."):
        return False
    return names_in(function.__code__) <= _NAMES_OF_CHECKS


def in_a_view(original: Any) -> Callable[..., Any]:
    """A method of transformers that sets up the backend and uses it, over a backend of its own settings."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        every_window = _every_window(self, kwargs)
        if not TAKES_ANY_ARGUMENT:
            kwargs.pop("full_overflow", None)
        backend = self._tokenizer
        if isinstance(backend, CallBackend) or not isinstance(backend, Tokenizer):
            # A call inside a call; or inside a constructor, where the backend may still be the reference's.
            return original(self, *args, **kwargs)
        view = _view(self, every_window)
        try:
            return original(view, *args, **kwargs)
        finally:
            view._tokenizer.publish()

    if only_checks(original):
        _checks.add(method)
    return method


def _checks_words(cls: Any) -> bool:
    return any(getattr(cls, name) in _checks for name in CALLS[0])


# ---- plans -----------------------------------------------------------------------------------------------------------


def _plan(
    tokenizer: Any,
    only_ids: bool,
    *,
    add_special_tokens: bool = True,
    padding_strategy: Any = PaddingStrategy.DO_NOT_PAD,
    truncation_strategy: Any = TruncationStrategy.DO_NOT_TRUNCATE,
    max_length: int | None = None,
    stride: int = 0,
    is_split_into_words: bool = False,
    pad_to_multiple_of: int | None = None,
    padding_side: str | None = None,
    return_tensors: Any = None,
    return_token_type_ids: bool | None = None,
    return_attention_mask: bool | None = None,
    return_overflowing_tokens: bool = False,
    return_special_tokens_mask: bool = False,
    return_offsets_mapping: bool = False,
    return_length: bool = False,
    verbose: bool = True,
    split_special_tokens: bool | None = None,
    full_overflow: bool = False,
) -> Plan:
    """The Plan of `TokenizersBackend._encode_plus` with these arguments; ValueError where there is none."""
    backend: Tokenizer = tokenizer._tokenizer
    view = _view(tokenizer, full_overflow)
    view.set_truncation_and_padding(
        padding_strategy=padding_strategy,
        truncation_strategy=truncation_strategy,
        max_length=max_length,
        stride=stride,
        pad_to_multiple_of=pad_to_multiple_of,
        padding_side=padding_side,
    )
    own: CallBackend = view._tokenizer
    names = tokenizer.model_input_names
    if split_special_tokens is None:
        split_special_tokens = bool(tokenizer.split_special_tokens)
    # As `_eventual_warn_about_too_long_sequence` of transformers decides.
    longest = tokenizer.model_max_length if max_length is None and verbose else None
    engine = backend._engine_of(split_special_tokens)
    settings = backend._settings(own._truncation, own._padding, own._full_overflow)
    trims = return_offsets_mapping and not only_ids and trimming_stages(settings.post_processor)
    return Plan(
        engine,
        settings,
        own._truncation,
        own._padding,
        split_special_tokens,
        own._full_overflow,
        names,
        tokenizer._special_tokens_map.get("pad_token"),
        add_special_tokens,
        is_split_into_words,
        "token_type_ids" in names if return_token_type_ids is None else return_token_type_ids,
        "attention_mask" in names if return_attention_mask is None else return_attention_mask,
        return_special_tokens_mask,
        return_offsets_mapping,
        return_length,
        return_overflowing_tokens,
        only_ids,
        None if return_tensors is None else TensorType(return_tensors).value,
        None if longest is None or longest == 0 else longest,
        _trim_table(backend, engine) if trims else None,
        only_ids and not LISTS_ARE_BATCHES,
    )


def _trim_table(backend: Tokenizer, engine: Any) -> TrimTable:
    """The table of a backend's vocabulary, made once."""
    kept = backend.__dict__.get("_trim_table")
    if kept is None or kept[0] is not engine:
        added = [(id_, t.content, t.lstrip or t.rstrip) for id_, t in backend._added.tokens.items()]
        kept = backend.__dict__["_trim_table"] = engine, TrimTable(engine, added)
    table: TrimTable = kept[1]
    return table


def _plan_of(tokenizer: Any, kwargs: dict[str, Any], only_ids: bool) -> Plan | None:
    """The Plan of a `__call__` or `encode` that transformers has just answered, or None."""
    given = {key: value for key, value in kwargs.items() if key not in ("text", "text_pair", "sanitize_control_tokens")}
    padding, truncation = given.pop("padding", False), given.pop("truncation", None)
    max_length, verbose = given.pop("max_length", None), given.get("verbose", True)
    if padding is True and max_length is not None and verbose and truncation in (None, False, "do_not_truncate"):
        return None  # transformers warns each time
    if given.get("split_special_tokens", False) is None and not TAKES_ANY_ARGUMENT:
        return None
    if given.get("is_split_into_words") and _checks_words(type(tokenizer)):
        return None
    given["full_overflow"] = _every_window(tokenizer, given)
    try:
        padding_strategy, truncation_strategy, max_length, _ = tokenizer._get_padding_truncation_strategies(
            padding=padding,
            truncation=truncation,
            max_length=max_length,
            pad_to_multiple_of=given.get("pad_to_multiple_of"),
            verbose=verbose,
        )
        return _plan(
            tokenizer,
            only_ids,
            padding_strategy=padding_strategy,
            truncation_strategy=truncation_strategy,
            max_length=max_length,
            **given,
        )
    except Exception:
        return None  # whatever is wrong, the slow way says it


def _plan_of_call(tokenizer: Any, kwargs: dict[str, Any]) -> Plan | None:
    return _plan_of(tokenizer, kwargs, only_ids=False)


def _plan_of_encode(tokenizer: Any, kwargs: dict[str, Any]) -> Plan | None:
    return _plan_of(tokenizer, kwargs, only_ids=True)


def _plan_of_encode_plus(tokenizer: Any, kwargs: dict[str, Any]) -> Plan | None:
    given = {key: value for key, value in kwargs.items() if key not in ("text", "text_pair", "sanitize_control_tokens")}
    given["full_overflow"] = _every_window(tokenizer, given)
    try:
        return _plan(tokenizer, False, **given)
    except Exception:
        return None


def keeps_plans(tokenizer: Any) -> bool:
    """Whether every method that a plan stands for is transformers' own or ours, on the class and on the object."""
    cls = type(tokenizer)
    for name in STANDS_FOR:
        method = getattr(cls, name)
        if name in tokenizer.__dict__ or (
            method not in (ORIGINALS[name], REPLACED.get(name)) and method not in _checks
        ):
            return False
    return isinstance(tokenizer.__dict__.get("_tokenizer"), Tokenizer)


_slow_encode_plus = in_a_view(ORIGINALS["_encode_plus"])
REPLACED: dict[str, Any] = {
    "__call__": hf_calls.call,
    "encode": hf_calls.encode,
    **{name: in_a_view(ORIGINALS[name]) for name in CALLS[0]},
}
if TAKES_ANY_ARGUMENT:
    REPLACED["_encode_plus"] = hf_calls.encode_plus
for _name, _function in REPLACED.items():
    functools.update_wrapper(_function, ORIGINALS[_name])  # transformers' name, documentation and signature

hf_rows.connect(BatchEncoding)
hf_calls.connect(
    (PaddingStrategy, TruncationStrategy, TensorType),
    _slow_call,
    _slow_encode,
    _slow_encode_plus,
    _plan_of_call,
    _plan_of_encode,
    _plan_of_encode_plus,
)
