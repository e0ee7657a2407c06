"""tokenizer.json: what is in it, and how it is read and written.

`load` accepts what the reference accepts (tokenizer/serialization.rs and the readers of the component modules), older
forms included; `dump` writes what the reference writes, byte for byte. A tokenizer holds its parts in its own way:
between it and the file stand `TokenizerParts`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from hftok._core.added_tokens import AddedMatcher
from hftok._core.json_reader import JsonSyntaxError, RepeatedKeys, loads
from hftok._core.json_writer import dumps
from hftok._core.utf8 import valid_prefix
from hftok.added_tokens import AddedToken, read_added_token
from hftok.added_vocabulary import AddedVocabulary
from hftok.component import Component
from hftok.decoders import Decoder
from hftok.json_forms import Field, FormError, option, string, struct, uint32, uint64, unit_variant, variant, wrong_type
from hftok.models import Model
from hftok.normalizers import Normalizer
from hftok.pre_tokenizers import PreTokenizer
from hftok.processors import PostProcessor
from hftok.representation import Struct, Tree, Unserializable, ValueVariant, Variant, describe, to_json

__all__ = [
    "PaddingParams",
    "TokenizerParts",
    "TruncationParams",
    "describe_parts",
    "dump",
    "load",
    "load_buffer",
    "load_file",
    "read_text",
]

VERSION = "1.0"
STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
DIRECTIONS = {"left": "Left", "right": "Right"}


class TruncationParams(NamedTuple):
    """How long inputs are cut.

    `strategy`: "longest_first", "only_first" or "only_second"; `direction`: "left" or "right".
    """

    max_length: int = 512
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"


class PaddingParams(NamedTuple):
    """How short inputs are filled. `length`: None for the longest of the batch."""

    length: int | None = None
    direction: str = "right"
    pad_to_multiple_of: int | None = None
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"


@dataclass
class TokenizerParts:
    """The parts of a tokenizer. `added_tokens`: ids and tokens, in the order of the file."""

    model: Model
    truncation: TruncationParams | None = None
    padding: PaddingParams | None = None
    added_tokens: list[tuple[int, AddedToken]] = field(default_factory=list)
    normalizer: Normalizer | None = None
    pre_tokenizer: PreTokenizer | None = None
    post_processor: PostProcessor | None = None
    decoder: Decoder | None = None
    # of a file that may be, or was, in the load cache (see stored_parts)
    added: AddedVocabulary | None = None
    origin: Origin | None = None


class Origin(Protocol):
    """What keeps a tokenizer that was read for the first time, once its kernels are made."""

    def keep(
        self, model: Model, added: AddedVocabulary, matchers: tuple[AddedMatcher, AddedMatcher] | None
    ) -> None: ...


# ---- reading ---------------------------------------------------------------------------------------------------------

_STRATEGY_OF = {written: name for name, written in STRATEGIES.items()}
_DIRECTION_OF = {written: name for name, written in DIRECTIONS.items()}
_TRUNCATION = (
    Field("direction", unit_variant(*_DIRECTION_OF), "Right"),
    Field("max_length", uint64),
    Field("strategy", unit_variant(*_STRATEGY_OF)),
    Field("stride", uint64),
)


def _truncation(value: Any) -> TruncationParams:
    fields = struct(value, "TruncationParams", _TRUNCATION)
    return TruncationParams(
        fields["max_length"], fields["stride"], _STRATEGY_OF[fields["strategy"]], _DIRECTION_OF[fields["direction"]]
    )


_batch_longest = unit_variant("BatchLongest", "Fixed")


def _padding_length(value: Any) -> int | None:
    if isinstance(value, dict) and "Fixed" in value:
        return variant(value, {"Fixed": uint64})[1]
    if _batch_longest(value) == "Fixed":
        raise FormError("invalid type: unit variant, expected newtype variant")
    return None


_PADDING = (
    Field("strategy", _padding_length),
    Field("direction", unit_variant(*_DIRECTION_OF)),
    Field("pad_to_multiple_of", option(uint64)),
    Field("pad_id", uint32),
    Field("pad_type_id", uint32),
    Field("pad_token", string),
)


def _padding(value: Any) -> PaddingParams:
    fields = struct(value, "PaddingParams", _PADDING)
    return PaddingParams(
        fields["strategy"],
        _DIRECTION_OF[fields["direction"]],
        fields["pad_to_multiple_of"],
        fields["pad_id"],
        fields["pad_type_id"],
        fields["pad_token"],
    )


def _added_tokens(value: Any) -> list[tuple[int, AddedToken]]:
    if not isinstance(value, (list, tuple)):
        raise wrong_type(value, "a sequence")
    return [(_id(item), read_added_token(item, as_array=False)) for item in value]


_ID = (Field("id", uint32),)


def _id(value: Any) -> int:
    id_: int = struct(value, "AddedTokenWithId", _ID, as_array=False)["id"]
    return id_


def _version(value: Any) -> str:
    if string(value) != VERSION:
        raise FormError(f"Unknown tokenizer version '{value}'")
    return VERSION


def _component(family: type[Component]) -> Any:
    def read(value: Any) -> Any:
        return family._of_description(family._read(value))

    return read


_READERS: dict[str, Any] = {
    "version": _version,
    "truncation": option(_truncation),
    "padding": option(_padding),
    "added_tokens": _added_tokens,
    "normalizer": option(_component(Normalizer)),
    "pre_tokenizer": option(_component(PreTokenizer)),
    "post_processor": option(_component(PostProcessor)),
    "decoder": option(_component(Decoder)),
    "model": _component(Model),
}


def _parts(value: Any, model: Model | None = None) -> TokenizerParts:
    if not isinstance(value, dict):
        raise wrong_type(value, "struct Tokenizer")
    parts: dict[str, Any] = {} if model is None else {"model": model}
    # Of a key that comes twice the last value counts; the earlier must be right too.
    earlier = value.overwritten if isinstance(value, RepeatedKeys) else ()
    for key, item in (*earlier, *value.items()):
        read = _READERS.get(key)
        if read is None:
            raise FormError(f"unknown field `{key}`, expected one of " + ", ".join(_READERS))
        try:
            parts[key] = read(item)
        except FormError as error:
            raise FormError(str(error) if key == "version" else f"{key}: {error}") from None
    parts.pop("version", None)
    if "model" not in parts:
        raise FormError("Model missing.")
    return TokenizerParts(**parts)


def load(data: bytes | str | dict[str, Any], model: Model | None = None) -> TokenizerParts:
    """Reads a tokenizer.json.

    Args:
        data: its text, or what a JSON reader made of it.
        model: a model that is none of the text's: it then needs to have none.

    Raises:
        Exception: not JSON (the message tells line and column), or not a tokenizer (the message tells which part).
        UnicodeEncodeError: a `str` with a lone surrogate.

    >>> load('{"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}').model
    WordLevel(vocab={"a":0}, unk_token="a")
    """
    try:
        return _parts(loads(data, _READERS, tables=True) if isinstance(data, (bytes, str)) else data, model)
    except (FormError, JsonSyntaxError) as error:
        raise Exception(str(error)) from None


def load_file(path: str) -> TokenizerParts:
    """`load` of a file; an Exception where it cannot be read or is not UTF-8."""
    return load(read_text(path))


def read_text(path: str) -> bytes:
    """What is in a file; an Exception where it cannot be read or is not UTF-8."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        message = f"{os.strerror(error.errno)} (os error {error.errno})" if error.errno else str(error)
        raise Exception(message) from None
    except ValueError as error:  # a NUL in the path
        raise Exception(str(error)) from None
    if valid_prefix(data) != len(data):
        raise Exception("stream did not contain valid UTF-8")
    return data


def load_buffer(buffer: bytes) -> TokenizerParts:
    """`load` of a buffer; its errors are ValueErrors."""
    try:
        return _parts(loads(buffer, _READERS, tables=True))
    except (FormError, JsonSyntaxError) as error:
        raise ValueError(f"Cannot instantiate Tokenizer from buffer: {error}") from None


# ---- writing ---------------------------------------------------------------------------------------------------------


def _truncation_tree(truncation: TruncationParams | None) -> Tree:
    if truncation is None:
        return None
    return Struct(
        "TruncationParams",
        (
            ("direction", Variant(DIRECTIONS[truncation.direction])),
            ("max_length", truncation.max_length),
            ("strategy", Variant(STRATEGIES[truncation.strategy])),
            ("stride", truncation.stride),
        ),
        tagged=False,
    )


def _padding_tree(padding: PaddingParams | None) -> Tree:
    if padding is None:
        return None
    return Struct(
        "PaddingParams",
        (
            ("strategy", Variant("BatchLongest") if padding.length is None else ValueVariant("Fixed", padding.length)),
            ("direction", Variant(DIRECTIONS[padding.direction])),
            ("pad_to_multiple_of", padding.pad_to_multiple_of),
            ("pad_id", padding.pad_id),
            ("pad_type_id", padding.pad_type_id),
            ("pad_token", padding.pad_token),
        ),
        tagged=False,
    )


def _tree(parts: TokenizerParts) -> Struct:
    def part(component: Component | None) -> Tree:
        return None if component is None else component._description().tree()

    added = sorted(parts.added_tokens, key=lambda entry: entry[0])
    return Struct(
        "Tokenizer",
        (
            ("version", VERSION),
            ("truncation", _truncation_tree(parts.truncation)),
            ("padding", _padding_tree(parts.padding)),
            ("added_tokens", [{"id": id_, **token.__getstate__()} for id_, token in added]),
            ("normalizer", part(parts.normalizer)),
            ("pre_tokenizer", part(parts.pre_tokenizer)),
            ("post_processor", part(parts.post_processor)),
            ("decoder", part(parts.decoder)),
            ("model", part(parts.model)),
        ),
        tagged=False,
    )


def dump(parts: TokenizerParts, pretty: bool = False) -> str:
    """Writes a tokenizer.json.

    Args:
        parts: the parts; added tokens in any order.
        pretty: with line breaks and two blanks a level.

    Raises:
        Exception: a custom component, which has no written form.
    """
    try:
        return dumps(to_json(_tree(parts)), pretty)
    except Unserializable as error:
        raise Exception(str(error)) from None


def describe_parts(parts: TokenizerParts, *, full: bool) -> str:
    """The tokenizer's `repr` (full) or `str`."""
    try:
        return describe(_tree(parts), full=full)
    except Unserializable as error:
        raise Exception(str(error)) from None
