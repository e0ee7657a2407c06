"""Models from JSON (reference: models/mod.rs, models/*/serialization.rs)."""

from __future__ import annotations

from typing import Any

from hftok._core.merge_ids import MergeError, MergeIds, MergePanic, first_bad_id, last_of_pairs
from hftok._core.models.merges import MergeTable
from hftok._core.models.piece_list import PieceList
from hftok._core.models.vocab_map import VocabMap
from hftok.arguments import single
from hftok.component import Description
from hftok.json_forms import (
    FormError,
    FormPanic,
    Reader,
    number,
    option,
    tagged_type,
    unit_variant,
    untagged,
    wrong_type,
)
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import string as json_string
from hftok.json_forms import uint64 as json_uint64
from hftok.model_files import Merges, ModelError, Vocab, read_merges
from hftok.models import BPE, Unigram, WordLevel, WordPiece, bpe_fields, check_dropout, unigram_fields
from hftok.stored_fields import StoredFields, StoredModel

__all__ = ["read_model"]


def _json_vocab(value: Any) -> Vocab:
    if isinstance(value, VocabMap):
        return value.to_dict()
    value = _as_list(value)
    if not isinstance(value, dict):
        raise wrong_type(value, "a map")
    vocab = value if type(value) is dict else dict(value)
    bad = first_bad_id(vocab)
    if bad is not None:
        raise FormError(f"vocab: the id of `{bad}` is {value[bad]!r}, expected u32")
    return vocab


def _as_list(value: Any) -> Any:
    """Pieces where none are asked for, as JSON has them."""
    return value.to_list() if isinstance(value, PieceList) else value


def _json_merges(value: Any) -> Merges | MergeIds:
    if isinstance(value, MergeIds):
        return value
    value = _as_list(value)
    if isinstance(value, (list, tuple)):
        if all(
            isinstance(item, (list, tuple)) and len(item) == 2 and type(item[0]) is type(item[1]) is str
            for item in value
        ):
            return [(item[0], item[1]) for item in value]
        if all(type(item) is str for item in value):
            try:
                return read_merges(list(value))
            except ModelError as error:
                raise FormError(str(error)) from None
    raise FormError("data did not match any variant of untagged enum MergeType")


def _model_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise wrong_type(value, f"struct {name}")
    return value


def _optional(value: dict[str, Any], key: str, read: Any, default: Any) -> Any:
    item = value.get(key)
    return default if item is None else read(item)


def _json_single(value: Any) -> float:
    return single(number(value))


def _read_bpe(value: Any) -> Description:
    value = _model_object(value, "BPE")
    options = {
        "dropout": _optional(value, "dropout", _json_single, None),
        "unk_token": _optional(value, "unk_token", json_string, None),
        "continuing_subword_prefix": _optional(value, "continuing_subword_prefix", json_string, None),
        "end_of_word_suffix": _optional(value, "end_of_word_suffix", json_string, None),
        "fuse_unk": _optional(value, "fuse_unk", json_boolean, False),
        "byte_fallback": _optional(value, "byte_fallback", json_boolean, False),
        "ignore_merges": _optional(value, "ignore_merges", json_boolean, False),
    }
    if "vocab" not in value or "merges" not in value:
        raise FormError("Missing vocab/merges")
    merges = value["merges"]
    try:
        if isinstance(merges, MergeTable):
            if merges.distinct == len(merges):
                check_dropout(options)
                return Description(BPE, StoredFields(options, StoredModel.of_merges(merges, options)))
            vocab = merges.vocab.to_dict()
            merges = MergeIds(last_of_pairs(merges.rows()), vocab)
        else:
            vocab = _json_vocab(value["vocab"])
        return Description(BPE, bpe_fields(vocab, _json_merges(merges), options))
    except MergePanic as error:
        raise FormPanic(str(error)) from None
    except (MergeError, ModelError) as error:
        raise FormError(str(error)) from None


def _required(value: dict[str, Any], key: str, read: Any) -> Any:
    if key not in value:
        raise FormError(f"missing field `{key}`")
    try:
        return read(value[key])
    except FormError as error:
        raise FormError(f"{key}: {error}") from None


def _read_word_piece_model(value: Any) -> Description:
    value = _model_object(value, "WordPiece")
    options = {
        "unk_token": _required(value, "unk_token", json_string),
        "continuing_subword_prefix": _required(value, "continuing_subword_prefix", json_string),
        "max_input_chars_per_word": _required(value, "max_input_chars_per_word", json_uint64),
    }
    vocab = value.get("vocab")
    if isinstance(vocab, VocabMap):
        return Description(WordPiece, StoredFields(options, StoredModel.of_words(vocab, options)))
    return Description(WordPiece, {**options, "vocab": _required(value, "vocab", _json_vocab)})


def _read_word_level_model(value: Any) -> Description:
    value = _model_object(value, "WordLevel")
    return Description(
        WordLevel,
        {"vocab": _required(value, "vocab", _json_vocab), "unk_token": _required(value, "unk_token", json_string)},
    )


def _json_pieces(value: Any) -> list[tuple[str, float]] | PieceList:
    if isinstance(value, PieceList):
        return value
    if isinstance(value, VocabMap):
        value = value.to_dict()
    if not isinstance(value, (list, tuple)):
        raise wrong_type(value, "a sequence")
    if isinstance(value, list) and value and type(value[0]) is tuple and type(value[0][1]) is float:
        return value  # read as such
    pieces = []
    for item in value:
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise FormError("vocab: expected tuples of a string and a score")
        pieces.append((json_string(item[0]), number(item[1])))
    return pieces


def _read_unigram(value: Any) -> Description:
    value = _model_object(value, "Unigram")
    unk_id = option(json_uint64)(value.get("unk_id"))
    byte_fallback = json_boolean(value["byte_fallback"]) if "byte_fallback" in value else False
    if "vocab" not in value:
        raise FormError("Missing vocab")
    try:
        fields = unigram_fields(_json_pieces(value["vocab"]), unk_id, byte_fallback)
    except ModelError as error:
        raise FormError(f"Unable to load vocab: {error}") from None
    if isinstance(fields["pieces"], PieceList):
        pieces = fields.pop("pieces")
        options = {name: item for name, item in fields.items() if name != "_ids"}
        fields = StoredFields(fields, StoredModel.of_pieces(pieces, options))
    return Description(Unigram, fields)


_READERS: dict[str, Reader[Description]] = {
    "BPE": _read_bpe,
    "WordPiece": _read_word_piece_model,
    "WordLevel": _read_word_level_model,
    "Unigram": _read_unigram,
}
_read_type = unit_variant(*_READERS)


def _without_type(read: Reader[Description]) -> Reader[Description]:
    # A "type" that comes to a model's own reader is refused there (it wants a borrowed string, and gets an owned one).
    def read_untyped(value: Any) -> Description:
        if isinstance(value, dict) and "type" in value:
            raise FormError("invalid type: string, expected a borrowed string")
        return read(value)

    return read_untyped


def read_model(value: Any) -> Description:
    kind = tagged_type(value, _read_type)
    if kind is not None:
        return _READERS[kind](value)
    return untagged(value, "ModelUntagged", [_without_type(read) for read in _READERS.values()])
