"""The parts of a tokenizer as sections of a stored block, and parts made of such a block.

Stored are the arrays of the model's kernel and of the matchers of added tokens; the added tokens with the ids that they
have got; and all the rest as a small tokenizer.json with an empty vocabulary. Only BPE and Unigram models are: others
are small. Checking a block's bytes is not done here (load_cache does that before), but what would not fit together is
refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hftok._core.added_tokens import AddedMatcher
from hftok._core.models.bpe import BPEModel
from hftok._core.patterns import declare_sound
from hftok._core.seeds import proof_sections, prove
from hftok._core.stored import Block
from hftok.added_tokens import AddedToken
from hftok.added_vocabulary import AddedVocabulary
from hftok.component import Description
from hftok.models import BPE, Model, Unigram
from hftok.serialization import TokenizerParts, dump, load
from hftok.stored_fields import StoredFields, StoredModel

if TYPE_CHECKING:
    from hftok._core.models.unigram import UnigramModel
    from hftok._core.stored import Buffer

__all__ = ["parts_of_block", "rest_of", "sections_of"]

# What is not an option: made of the arrays when somebody asks for it (`_ids` is a cache).
_BIG_FIELDS: dict[type[Model], tuple[str, ...]] = {BPE: ("vocab", "merges"), Unigram: ("pieces", "_ids")}
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized")


def rest_of(parts: TokenizerParts) -> bytes | None:
    """Everything but vocabulary, merges and added tokens; None for parts that cannot be stored."""
    kind = parts.model._kind()
    if kind not in _BIG_FIELDS:
        return None
    fields = parts.model._description().fields
    options = {name: value for name, value in fields.items() if name not in _BIG_FIELDS[kind]}
    text = dump(
        TokenizerParts(
            BPE(),
            parts.truncation,
            parts.padding,
            [],
            parts.normalizer,
            parts.pre_tokenizer,
            parts.post_processor,
            parts.decoder,
        )
    )
    tokenizer = orjson.loads(text)
    del tokenizer["model"]
    patterns = sorted(_patterns(tokenizer))
    return orjson.dumps({"tokenizer": tokenizer, "kind": kind.__name__, "options": options, "patterns": patterns})


def _patterns(value: Any) -> set[str]:
    """The regular expressions anywhere in a tokenizer.json."""
    if isinstance(value, list):
        return set().union(*map(_patterns, value))
    if not isinstance(value, dict):
        return set()
    found = set().union(*map(_patterns, value.values()))
    if isinstance(value.get("Regex"), str):
        found.add(value["Regex"])
    return found


def sections_of(
    kernel: BPEModel | UnigramModel,
    added: AddedVocabulary,
    matchers: tuple[AddedMatcher, AddedMatcher] | None,
    rest: bytes,
) -> dict[str, Buffer] | None:
    """All sections by name; None where the model's kernel is not one that is stored. The views are of memory that the
    kernel owns. `matchers`: those of the added tokens, if they are at hand. What a large text would ask of the
    vocabulary is found out beforehand, which takes up to a tenth of a second."""
    arrays = kernel.sections()
    if arrays is None:
        return None
    sections: dict[str, Buffer] = dict(arrays)
    if isinstance(kernel, BPEModel):
        prove(kernel)
        sections.update(proof_sections(kernel))
    raw, normalized = added.matchers(False) if matchers is None else matchers
    sections.update(raw.sections("raw"))
    sections.update(normalized.sections("normalized"))
    sections["added"] = orjson.dumps(
        {
            "ids": list(added.ids.items()),
            "tokens": [
                (id_, token.content, token.special, [token._flags[flag] for flag in _FLAGS])  # all are fixed
                for id_, token in added.tokens.items()
            ],
            "special": sorted(added.special),
            "normalized": list(added._normalized.items()),
        }
    )
    sections["rest"] = rest
    return sections


class StoredAdded(AddedVocabulary):
    """Added tokens in a block: its dicts are made when they are first read."""

    __slots__ = ("_block",)

    def __init__(self, block: Block) -> None:
        # The slots of the base class stay empty: reading one of them calls __getattr__.
        self._block = block

    def __getattr__(self, name: str) -> Any:
        if name not in AddedVocabulary.__slots__:
            raise AttributeError(name)
        stored = orjson.loads(self._block.bytes("added"))
        tokens = {}
        for id_, content, special, flags in stored["tokens"]:
            token: AddedToken = AddedToken.__new__(AddedToken)
            token._content = content
            token._special = special
            token._flags = dict(zip(_FLAGS, flags, strict=True))
            tokens[id_] = token
        self.ids = dict(stored["ids"])
        self.tokens = tokens
        self._special = frozenset(stored["special"])
        self._normalized = dict(stored["normalized"])
        return object.__getattribute__(self, name)

    def matchers(self, encode_special_tokens: bool) -> tuple[AddedMatcher, AddedMatcher]:
        if encode_special_tokens:
            return super().matchers(encode_special_tokens)
        return AddedMatcher.of_block(self._block, "raw"), AddedMatcher.of_block(self._block, "normalized")


def parts_of_block(block: Block) -> TokenizerParts:
    """The parts that `sections_of` wrote.

    Raises:
        StoredError: the block is damaged.
    """
    rest = orjson.loads(block.bytes("rest"))
    for pattern in rest["patterns"]:
        declare_sound(pattern)
    kind, options = {"BPE": BPE, "Unigram": Unigram}[rest["kind"]], rest["options"]
    small = options if kind is BPE else {**options, "_ids": {}}
    fields = StoredFields(small, StoredModel.of_block(block, options))
    # An object is what it is: its numbers are read exactly (see loading).
    parts = load(rest["tokenizer"], Model._of_description(Description(kind, fields)))
    parts.added = StoredAdded(block)
    parts.added.matchers(False)  # refused now rather than later
    return parts
