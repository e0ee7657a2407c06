"""The fields of a model whose tables lie in a stored block: strings and lists are made when somebody asks for them.

A tokenizer that is only encoded with never needs its vocabulary as a dict of half a million objects. `StoredFields` is
the dict of fields that a model's Description holds, in which `vocab`, `merges` or `pieces` appear at the first look.
"""

from __future__ import annotations

from typing import Any

from hftok._core.merge_ids import MergeIds
from hftok._core.models.bpe import BPEModel
from hftok._core.models.unigram import UnigramModel
from hftok._core.seeds import take_proof
from hftok._core.stored import Block

__all__ = ["StoredFields", "StoredModel"]


class StoredModel:
    """The kernel of a model in a block, and its big fields on demand.

    Args:
        block: what the kernel's arrays lie in.
        options: the other fields of the model.

    Raises:
        StoredError: the block is damaged.
    """

    def __init__(self, block: Block, options: dict[str, Any]) -> None:
        self.options = options
        self.made: dict[str, Any] = {}
        self.kernel: BPEModel | UnigramModel
        if "ignore_merges" in options:
            self.keys = frozenset(("vocab", "merges"))
            self.kernel = BPEModel.of_block(block, lambda: self.field("vocab"), **options)
            take_proof(self.kernel, block)
        else:
            self.keys = frozenset(("pieces",))
            self.kernel = UnigramModel.of_block(
                block, lambda: self.field("pieces"), lambda: self.field("vocab"), **options
            )

    def field(self, name: str) -> Any:
        """A field, the same object at each call."""
        value = self.made.get(name)
        if value is None:
            value = self.made.setdefault(name, self._make(name))  # of two threads the first one's is kept
        return value

    def _make(self, name: str) -> Any:
        kernel = self.kernel
        if isinstance(kernel, UnigramModel):
            if name == "pieces":
                return kernel.stored_pieces()
            return {piece: id_ for id_, (piece, _) in enumerate(self.field("pieces"))}
        if name == "vocab":
            return kernel.stored_vocab()
        return MergeIds(kernel.stored_rows(), self.field("vocab"))

    def __len__(self) -> int:
        """Tokens of the vocabulary (pieces, for Unigram)."""
        return self.kernel.stored_size()


class StoredFields(dict[str, Any]):
    """Fields of which those in `stored.keys` are made when they are first read."""

    __slots__ = ("stored",)

    def __init__(self, fields: dict[str, Any], stored: StoredModel) -> None:
        super().__init__(fields)
        self.stored = stored

    def __missing__(self, key: str) -> Any:
        if key not in self.stored.keys:
            raise KeyError(key)
        value = self[key] = self.stored.field(key)
        return value

    def replaced(self, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields with some of them others: stored ones still, unless the vocabulary is another."""
        if self.stored.keys & fields.keys():
            return {**self, **{key: self[key] for key in self.stored.keys}, **fields}
        return StoredFields({**self, **fields}, self.stored)
