"""The fields of a model that is there as tables: strings, dicts and lists are made when somebody asks for them.

A tokenizer that is only encoded with never needs its vocabulary as a dict of half a million objects. The tables come
from a tokenizer.json (`model_tables`) or from a block of the load cache. `StoredFields` is the dict of fields that a
model's Description holds, in which `vocab`, `merges` or `pieces` appear at the first look.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hftok._core.merge_ids import MergeIds
from hftok._core.models.bpe import BPEModel
from hftok._core.models.merges import MergeTable
from hftok._core.models.piece_list import PieceList
from hftok._core.models.unigram import UnigramModel
from hftok._core.models.vocab_map import VocabMap
from hftok._core.models.wordpiece import WordPieceModel
from hftok._core.seeds import take_proof
from hftok._core.stored import Block

__all__ = ["StoredFields", "StoredModel"]

Kernel = BPEModel | UnigramModel | WordPieceModel


class StoredModel:
    """A model as tables: its kernel, and its big fields on demand. Made by one of the class methods.

    Args:
        options: the other fields of the model.
        size: tokens of the vocabulary (pieces, for Unigram).
        makers: by name, what makes a big field.
        make_kernel: makes the kernel.
        find: the id of a token that is not empty, or None.
        block: where the tables lie, if they are read from the load cache.
    """

    def __init__(
        self,
        options: dict[str, Any],
        size: int,
        makers: dict[str, Callable[[], Any]],
        make_kernel: Callable[[], Kernel],
        find: Callable[[str], int | None],
        block: Block | None = None,
    ) -> None:
        self.options = options
        self.keys = frozenset(("pieces",) if "pieces" in makers else makers.keys())
        self.made: dict[str, Any] = {}
        self.block = block
        self._size = size
        self._makers = makers
        self._make_kernel = make_kernel
        self._vocab: VocabMap | None = None
        self._find = find
        self._kernel: Kernel | None = None

    @classmethod
    def of_merges(cls, merges: MergeTable, options: dict[str, Any]) -> StoredModel:
        """A BPE model of a vocabulary and merges of it, no two of them of the same tokens."""
        vocab = merges.vocab
        made = cls(
            options,
            len(vocab),
            {"vocab": vocab.to_dict, "merges": lambda: MergeIds(merges.rows(), made.field("vocab"))},
            lambda: BPEModel.of_tables(merges, lambda: made.field("vocab"), **options),
            vocab.get,
        )
        return made

    @classmethod
    def of_words(cls, vocab: VocabMap, options: dict[str, Any]) -> StoredModel:
        """A WordPiece model of a vocabulary."""
        made = cls(
            options,
            len(vocab),
            {"vocab": vocab.to_dict},
            lambda: made.words(options),
            vocab.get,
        )
        made._vocab = vocab
        return made

    def words(self, options: dict[str, Any]) -> WordPieceModel:
        """The kernel of a WordPiece model with these options."""
        assert self._vocab is not None
        return WordPieceModel.of_vocab(
            self._vocab,
            lambda: self.field("vocab"),
            options["unk_token"],
            options["continuing_subword_prefix"],
            options["max_input_chars_per_word"],
        )

    @classmethod
    def of_pieces(cls, pieces: PieceList, options: dict[str, Any]) -> StoredModel:
        """A Unigram model of pieces."""
        made = cls(
            options,
            len(pieces),
            {"pieces": pieces.to_list, "vocab": lambda: _ids_of(made.field("pieces"))},
            lambda: UnigramModel.of_pieces(
                pieces, lambda: made.field("pieces"), lambda: made.field("vocab"), **options
            ),
            lambda token: made.kernel.find(token),
        )
        return made

    @classmethod
    def of_block(cls, block: Block, options: dict[str, Any]) -> StoredModel:
        """The model of a block. StoredError where it is damaged."""
        kernel: Kernel
        makers: dict[str, Callable[[], Any]]
        if "ignore_merges" in options:
            bpe = kernel = BPEModel.of_block(block, lambda: made.field("vocab"), **options)
            take_proof(bpe, block)
            makers = {"vocab": bpe.stored_vocab, "merges": lambda: MergeIds(bpe.stored_rows(), made.field("vocab"))}
        else:
            unigram = kernel = UnigramModel.of_block(
                block, lambda: made.field("pieces"), lambda: made.field("vocab"), **options
            )
            makers = {"pieces": unigram.stored_pieces, "vocab": lambda: _ids_of(made.field("pieces"))}
        made = cls(options, kernel.stored_size(), makers, lambda: kernel, kernel.find, block)
        return made

    @property
    def kernel(self) -> Any:
        """The kernel, the same object at each call."""
        if self._kernel is None:
            kernel = self._make_kernel()
            if self._kernel is None:  # of two threads the first one's is kept
                self._kernel = kernel
        return self._kernel

    def field(self, name: str) -> Any:
        """A field, the same object at each call."""
        value = self.made.get(name)
        if value is None:
            value = self.made.setdefault(name, self._makers[name]())  # of two threads the first one's is kept
        return value

    def find(self, token: str) -> int | None:
        """The id of a token, or None, without a dict if there is none yet."""
        vocab: dict[str, int] | None = self.made.get("vocab")
        if vocab is None and token:
            try:
                return self._find(token)
            except UnicodeEncodeError:  # a lone surrogate
                return None
        found: int | None = self.field("vocab").get(token)
        return found

    def __len__(self) -> int:
        return self._size


def _ids_of(pieces: list[tuple[str, float]]) -> dict[str, int]:
    return {piece: id_ for id_, (piece, _) in enumerate(pieces)}


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
