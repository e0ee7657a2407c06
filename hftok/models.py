"""Models: how a piece of text becomes tokens of a vocabulary. The kernels are in `hftok._core.models`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from hftok._core.json_writer import Float32, dumps
from hftok._core.merge_ids import MergeError, MergeIds, resolve_merges
from hftok._core.models.bpe import BPEModel
from hftok._core.models.piece_list import PieceList
from hftok._core.models.unigram import UnigramModel
from hftok._core.models.wordlevel import WordLevelModel
from hftok._core.models.wordpiece import WordPieceModel
from hftok._core.pretokenized import set_token_type
from hftok.arguments import (
    boolean,
    decimal,
    naming,
    optional,
    pair_of,
    sequence_of,
    single,
    string,
    string_or_other,
    uint32,
    uint64,
    vocabulary,
)
from hftok.component import Attribute, Cell, Component, Description
from hftok.model_files import ModelError, os_error, read_bpe_files, read_vocab_json, read_vocab_txt
from hftok.representation import Listing, Struct, Tree, to_json
from hftok.stored_fields import StoredFields

if TYPE_CHECKING:
    from hftok.trainers import Trainer

__all__ = ["BPE", "Model", "Token", "Unigram", "WordLevel", "WordPiece"]

Vocab = dict[str, int]
Merges = list[tuple[str, str]]


_offsets = pair_of(uint64, uint64)


class Token:
    """A token that a model gives. Not to be changed.

    Args:
        id: its id.
        value: its text.
        offsets: its start and end, in bytes of the text that was tokenized.

    >>> Token(1, "a", (0, 1)).as_tuple()
    (1, 'a', (0, 1))
    """

    __slots__ = ("_id", "_offsets", "_value")

    def __init__(self, id: int, value: str, offsets: tuple[int, int]) -> None:
        self._id = uint32(id)
        self._value = string(value)
        self._offsets = _offsets(offsets)

    @property
    def id(self) -> int:
        """The id."""
        return self._id

    @property
    def value(self) -> str:
        """The text."""
        return self._value

    @property
    def offsets(self) -> tuple[int, int]:
        """Start and end in bytes."""
        return self._offsets

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """(id, value, offsets)."""
        return self._id, self._value, self._offsets

    def __repr__(self) -> str:
        return f"Token(id={self._id}, value={self._value!r}, offsets={self._offsets})"


set_token_type(Token)


class Model(Component):
    """Base class of the models. Made by itself it is an empty `BPE`."""

    __slots__ = ()

    _family: ClassVar[str] = "Model"

    def __init__(self) -> None:
        self._set_cells([Cell(BPE()._description())], many=False)

    # ---- the public surface ------------------------------------------------------------------------------------------

    def tokenize(self, sequence: str) -> list[Token]:
        """The tokens of one piece of text.

        Args:
            sequence: the text, as the pre-tokenizer would give it.

        Raises:
            Exception: the text needs the unknown token and the model has none.
        """
        return [Token(*token) for token in self._kernel().tokenize_str(string(sequence))]

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self._find(string(token))

    def id_to_token(self, id: int) -> str | None:
        """The token of an id, or None."""
        return self._vocab_r().get(uint32(id))

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Writes the model's own files, over older ones of the same names.

        Args:
            folder: where to.
            prefix: what the file names start with, before a dash.
            name: the deprecated name of `prefix`.

        Returns:
            the paths of the files.

        Raises:
            Exception: a file cannot be written.
        """
        folder = string(folder)
        prefix = None if prefix is None else string(prefix)
        if name is not None:
            import warnings

            message = "Deprecated in 0.10.0: Parameter `name` of Model.save has been renamed `prefix`"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            prefix = string(name) if prefix is None else prefix
        paths = []
        for file, text in self._files():
            path = os.path.join(folder, file if prefix is None else f"{prefix}-{file}")
            try:
                with open(path, "wb") as stream:
                    stream.write(text.encode())
            except OSError as error:
                raise Exception(os_error(error)) from None
            paths.append(path)
        return paths

    def get_trainer(self) -> Trainer:
        """A new trainer for this kind of model, with its defaults."""
        from hftok import trainers

        kinds: dict[type[Component], type[Trainer]] = {
            BPE: trainers.BpeTrainer,
            WordPiece: trainers.WordPieceTrainer,
            WordLevel: trainers.WordLevelTrainer,
            Unigram: trainers.UnigramTrainer,
        }
        return kinds[self._description().kind]()

    # ---- for the tokenizer and the trainers --------------------------------------------------------------------------

    def _kernel(self) -> Any:
        """The model kernel, made when first asked for, and after a change from the one before where that is quicker."""
        fields = self._description().fields
        before = self._program_for
        if before is not None and before[0][0].kind is self._kind() and before[0][0] is not self._description():
            changed = self._kind()._changed_options(before[0][0].fields, fields)
            if changed is not None:
                self._program_for = ([self._description()], before[1].replace(**changed))
        return self._program(lambda spec: self._kind()._make_kernel(fields))

    def _kind(self) -> type[Model]:
        kind = self._description().kind
        assert issubclass(kind, Model)
        return kind

    def _vocab(self) -> Vocab:
        """Token -> id; not to be changed."""
        return self._kind()._vocab_of(self._description().fields)

    def _find(self, token: str) -> int | None:
        """The id of a token, or None; no dict is made for it."""
        fields = self._description().fields
        return fields.stored.find(token) if isinstance(fields, StoredFields) else self._vocab().get(token)

    def _vocab_r(self) -> dict[int, str]:
        """Id -> token. Of tokens with the same id the later in the vocabulary (the reference: a random one)."""
        description = self._description()
        cache: dict[int, str] | None = _REVERSED.get(description)
        if cache is None:
            cache = self._kind()._vocab_r_of(description.fields)
            _REVERSED.keep(description, cache)
        return cache

    @classmethod
    def _vocab_r_of(cls, fields: dict[str, Any]) -> dict[int, str]:
        return {id_: token for token, id_ in cls._vocab_of(fields).items()}

    def _vocab_size(self) -> int:
        """The number of tokens (of pieces, for Unigram, where one may come twice)."""
        return len(self._vocab())

    def _update(self, **fields: Any) -> None:
        """Sets fields of the description in one change, as training does. A BPE takes `vocab` with `merges` (pairs, or
        MergeIds)."""
        cell = self._cell()
        cell.set(self._kind()._updated(cell.description, fields))

    @classmethod
    def _updated(cls, description: Description, fields: dict[str, Any]) -> Description:
        return description.replace(**fields)

    @classmethod
    def _vocab_of(cls, fields: dict[str, Any]) -> Vocab:
        vocab: Vocab = fields["vocab"]
        return vocab

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        raise NotImplementedError

    @classmethod
    def _changed_options(cls, before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any] | None:
        """Which options are other ones; None where more than options is, or the kernel cannot take them over."""
        return None

    def _files(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        return (cls.__name__,)

    @classmethod
    def _read(cls, value: Any) -> Description:
        from hftok.model_json import read_model

        return read_model(value)


class BPE(Model):
    """Byte-pair encoding.

    Args:
        vocab: token -> id; or the path of a vocab.json, and then `merges` is the path of a merges.txt.
        merges: pairs of tokens, the first merged first.
        cache_capacity: accepted and without effect: the engine keeps its own cache.
        dropout: probability, in [0, 1], that a merge is skipped.
        unk_token: the token of unknown characters.
        continuing_subword_prefix: what tokens that do not start a word start with.
        end_of_word_suffix: what tokens that end a word end with.
        fuse_unk: make one token of neighbouring unknown characters.
        byte_fallback: make byte tokens (`<0x61>`) of unknown characters.
        ignore_merges: take a piece of text that is a token as that token.

    Raises:
        ValueError: one of `vocab` and `merges` alone, or one a path and one not.
        Exception: a merge whose tokens are not in the vocabulary, or a dropout out of range.

    >>> BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).token_to_id("ab")
    2
    """

    __slots__ = ()

    dropout: Attribute[float | None] = Attribute(optional(single))
    unk_token: Attribute[str | None] = Attribute(optional(string))
    continuing_subword_prefix: Attribute[str | None] = Attribute(optional(string))
    end_of_word_suffix: Attribute[str | None] = Attribute(optional(string))
    fuse_unk = Attribute(boolean)
    byte_fallback = Attribute(boolean)
    ignore_merges = Attribute(boolean)

    class Options(TypedDict, total=False):
        cache_capacity: int
        dropout: float | None
        unk_token: str | None
        continuing_subword_prefix: str
        end_of_word_suffix: str
        fuse_unk: bool
        byte_fallback: bool
        ignore_merges: bool

    def __init__(
        self,
        vocab: Vocab | str | None = None,
        merges: Merges | str | None = None,
        **kwargs: Unpack[Options],
    ) -> None:
        handed = _HANDED_OUT.take(vocab, merges)
        if handed is None:
            vocab, merges = _vocab_argument(vocab), _merges_argument(merges)
        if (vocab is None) != (merges is None):
            raise ValueError("`vocab` and `merges` must be both specified")
        if isinstance(vocab, str) != isinstance(merges, str):
            raise ValueError("`vocab` and `merges` must be both be from memory or both filenames")
        options: dict[str, Any] = dict(_BPE_DEFAULTS)
        for key, value in kwargs.items():
            convert = _BPE_OPTIONS.get(key)
            if convert is None:
                print(f"Ignored unknown kwarg option {key}")
                continue
            with naming(key):
                options[key] = convert(value)
        del options["cache_capacity"]
        if handed is not None and not _options_that_need_more(options):
            description, kernel = handed
            same = all(description.fields[name] == value for name, value in options.items())
            description = description if same else description.replace(**options)
            self._set_cells([Cell(description)], many=False)
            self._program_for = ([handed[0]], kernel)
            return
        try:
            fields = bpe_fields(vocab, merges, options)
        except (MergeError, ModelError) as error:
            raise Exception(f"Error while initializing BPE: {error}") from None
        self._set_cells([Cell(Description(BPE, fields))], many=False)

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[Vocab, Merges]:
        """Reads a vocab.json and a merges.txt.

        Returns:
            what `BPE` takes as `vocab` and `merges`.

        Raises:
            Exception: a file cannot be read, or is none.
        """
        try:
            return read_bpe_files(string(vocab), string(merges))
        except ModelError as error:
            raise Exception(f"Error while reading vocab & merges files: {error}") from None

    @classmethod
    def from_file(cls, vocab: str, merges: str, **kwargs: Unpack[Options]) -> BPE:
        """A BPE of a vocab.json and a merges.txt, with the options of the constructor."""
        try:
            files = read_bpe_files(string(vocab), string(merges))
        except ModelError as error:
            raise Exception(f"Error while reading BPE files: {error}") from None
        return BPE(*files, **kwargs)

    def _clear_cache(self) -> None:
        """Without effect: the engine keeps its own cache."""

    def _resize_cache(self, capacity: int) -> None:
        """Without effect: the engine keeps its own cache."""
        uint64(capacity)

    def _hand_out(self) -> tuple[Vocab, Merges]:
        """Vocabulary and merges as arguments of another BPE, which, if they come back unchanged, need not be looked up
        again. They are the caller's."""
        fields = self._description().fields
        kernel = self._kernel()
        vocab = dict(fields["vocab"])
        merges: Merges = kernel.merge_pairs(list(vocab))
        _HANDED_OUT.put(vocab, merges, self._description(), kernel)
        return vocab, merges

    @classmethod
    def _updated(cls, description: Description, fields: dict[str, Any]) -> Description:
        if "vocab" not in fields:
            return description.replace(**fields)
        merges = fields.pop("merges")
        merges = merges if isinstance(merges, MergeIds) else list(merges)
        return Description(BPE, bpe_fields(fields.pop("vocab"), merges, {**description.fields, **fields}))

    def _vocab_size(self) -> int:
        fields = self._description().fields
        return len(fields.stored) if isinstance(fields, StoredFields) else len(fields["vocab"])

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        if isinstance(fields, StoredFields):
            stored = fields.stored
            changed = {name: fields[name] for name, value in stored.options.items() if fields[name] is not value}
            return stored.kernel.replace(**changed) if changed else stored.kernel
        return BPEModel(
            fields["vocab"],
            fields["merges"].rows,
            fields["dropout"],
            fields["unk_token"],
            fields["continuing_subword_prefix"],
            fields["end_of_word_suffix"],
            fields["fuse_unk"],
            fields["byte_fallback"],
            fields["ignore_merges"],
        )

    @classmethod
    def _changed_options(cls, before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any] | None:
        return _options_that_differ(before, now, ("vocab", "merges"))

    def _files(self) -> list[tuple[str, str]]:
        fields = self._description().fields
        lines = "".join(f"{left} {right}\n" for left, right in _merge_pairs(fields))
        return [("vocab.json", dumps(_by_id(fields["vocab"]))), ("merges.txt", "#version: 0.2\n" + lines)]

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        dropout = fields["dropout"]
        return Struct(
            "BPE",
            (
                ("dropout", None if dropout is None else Float32(dropout)),
                ("unk_token", fields["unk_token"]),
                ("continuing_subword_prefix", fields["continuing_subword_prefix"]),
                ("end_of_word_suffix", fields["end_of_word_suffix"]),
                ("fuse_unk", fields["fuse_unk"]),
                ("byte_fallback", fields["byte_fallback"]),
                ("ignore_merges", fields["ignore_merges"]),
                ("vocab", _by_id(fields["vocab"])),
                ("merges", Listing(lambda: _merge_pairs(fields))),
            ),
        )


class Unigram(Model):
    """The unigram language model of SentencePiece.

    Args:
        vocab: pieces with their scores (log probabilities); None: one piece `<unk>`.
        unk_id: position of the unknown piece.
        byte_fallback: make byte tokens (`<0x61>`) of unknown characters; None: False.
        alpha: smoothing of subword sampling; None: no sampling.
        nbest_size: sample among so many best paths; None: among all.

    Raises:
        ValueError: `unk_id` without `vocab`.
        Exception: `unk_id` is no position of the vocabulary.

    >>> Unigram([("<unk>", 0.0), ("a", -1.5)], unk_id=0).id_to_token(1)
    'a'
    """

    __slots__ = ()

    alpha: Attribute[float | None] = Attribute(optional(decimal))
    nbest_size: Attribute[int | None] = Attribute(optional(uint64))

    def __init__(
        self,
        vocab: list[tuple[str, float]] | None = None,
        unk_id: int | None = None,
        byte_fallback: bool | None = None,
        alpha: float | None = None,
        nbest_size: int | None = None,
    ) -> None:
        with naming("vocab"):
            pieces = None if vocab is None else _pieces(vocab)
        with naming("unk_id"):
            unk = None if unk_id is None else uint64(unk_id)
        with naming("byte_fallback"):
            fallback = False if byte_fallback is None else boolean(byte_fallback)
        if pieces is None:
            if unk is not None:
                raise ValueError("`vocab` and `unk_id` must be both specified")
            pieces, unk, fallback = [("<unk>", 0.0)], 0, False
        try:
            fields = unigram_fields(pieces, unk, fallback)
        except ModelError as error:
            raise Exception(f"Error while loading Unigram: {error}") from None
        self._create(**{**fields, "alpha": alpha, "nbest_size": nbest_size})

    def id_to_token(self, id: int) -> str | None:
        """The piece at that position, or None."""
        position = uint32(id)
        pieces = self._description().fields["pieces"]
        return pieces[position][0] if position < len(pieces) else None

    def _clear_cache(self) -> None:
        """Without effect: the engine keeps its own cache."""

    def _resize_cache(self, capacity: int) -> None:
        """Without effect: the engine keeps its own cache."""
        uint64(capacity)

    @classmethod
    def _vocab_of(cls, fields: dict[str, Any]) -> Vocab:
        if isinstance(fields, StoredFields):
            stored: Vocab = fields.stored.field("vocab")
            return stored
        cached: Vocab = fields["_ids"]
        if not cached:
            pieces = fields["pieces"]
            cached.update(zip([piece[0] for piece in pieces], range(len(pieces)), strict=True))
        return cached

    @classmethod
    def _vocab_r_of(cls, fields: dict[str, Any]) -> dict[int, str]:
        return {id_: piece[0] for id_, piece in enumerate(fields["pieces"])}  # a piece that comes twice has two ids

    def _vocab_size(self) -> int:
        fields = self._description().fields
        return len(fields.stored) if isinstance(fields, StoredFields) else len(fields["pieces"])

    @classmethod
    def _updated(cls, description: Description, fields: dict[str, Any]) -> Description:
        if "pieces" in fields:
            fields["_ids"] = {}
        return description.replace(**fields)

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        if isinstance(fields, StoredFields):
            stored = fields.stored
            changed = {name: fields[name] for name in ("alpha", "nbest_size") if fields[name] is not None}
            return stored.kernel.replace(**changed) if changed else stored.kernel
        return UnigramModel(
            fields["pieces"], fields["unk_id"], fields["byte_fallback"], fields["alpha"], fields["nbest_size"]
        )

    @classmethod
    def _changed_options(cls, before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any] | None:
        return _options_that_differ(before, now, ("pieces", "_ids", "unk_id", "byte_fallback"))

    def _files(self) -> list[tuple[str, str]]:
        return [("unigram.json", dumps(to_json(self._description().tree()), True))]

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct(
            "Unigram",
            (
                ("unk_id", fields["unk_id"]),
                ("vocab", fields["pieces"]),
                ("byte_fallback", fields["byte_fallback"]),
            ),
        )


class WordLevel(Model):
    """One token for each piece of text that is in the vocabulary.

    Args:
        vocab: token -> id, or the path of a vocab.json.
        unk_token: the token of everything else; None: `<unk>`.

    >>> WordLevel({"a": 0}, unk_token="?")
    WordLevel(vocab={"a":0}, unk_token="?")
    """

    __slots__ = ()

    unk_token = Attribute(string)

    def __init__(self, vocab: Vocab | str | None = None, unk_token: str | None = None) -> None:
        vocab = _vocab_argument(vocab)
        with naming("unk_token"):
            unk_token = "<unk>" if unk_token is None else string(unk_token)
        if isinstance(vocab, str):
            try:
                vocab = read_vocab_json(vocab)
            except ModelError as error:
                raise Exception(str(error)) from None
        self._create(vocab=vocab or {}, unk_token=unk_token)

    @staticmethod
    def read_file(vocab: str) -> Vocab:
        """Reads a vocab.json.

        Raises:
            Exception: the file cannot be read, or is none.
        """
        try:
            return read_vocab_json(string(vocab))
        except ModelError as error:
            raise Exception(f"Error while reading WordLevel file: {error}") from None

    @classmethod
    def from_file(cls, vocab: str, unk_token: str | None = None) -> WordLevel:
        """A WordLevel of a vocab.json."""
        with naming("unk_token"):
            unk_token = None if unk_token is None else string(unk_token)
        return WordLevel(WordLevel.read_file(vocab), unk_token)

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        return WordLevelModel(fields["vocab"], fields["unk_token"])

    def _files(self) -> list[tuple[str, str]]:
        return [("vocab.json", dumps(_by_id(self._vocab())))]

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct("WordLevel", (("vocab", _by_id(fields["vocab"])), ("unk_token", fields["unk_token"])))


class WordPiece(Model):
    """Greedy longest-match-first word pieces, as in BERT.

    Args:
        vocab: token -> id, or the path of a vocab.txt.
        unk_token: the token of words that cannot be put together.
        max_input_chars_per_word: words with more characters are unknown.
        continuing_subword_prefix: what tokens that do not start a word start with.

    >>> WordPiece({"a": 0, "##b": 1}, unk_token="?").continuing_subword_prefix
    '##'
    """

    __slots__ = ()

    unk_token = Attribute(string)
    continuing_subword_prefix = Attribute(string)
    max_input_chars_per_word = Attribute(uint64)

    class Options(TypedDict, total=False):
        unk_token: str
        max_input_chars_per_word: int
        continuing_subword_prefix: str

    def __init__(self, vocab: Vocab | str | None = None, **kwargs: Unpack[Options]) -> None:
        vocab = _vocab_argument(vocab)
        options: dict[str, Any] = {
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
        }
        for key, value in kwargs.items():
            if key in options:
                with naming(key):
                    options[key] = getattr(WordPiece, key).convert(value)
            else:
                print(f"Ignored unknown kwargs option {key}")
        if isinstance(vocab, str):
            try:
                vocab = read_vocab_txt(vocab)
            except ModelError as error:
                raise Exception(f"Error while initializing WordPiece: {error}") from None
        self._create(**options, vocab=vocab or {})

    @staticmethod
    def read_file(vocab: str) -> Vocab:
        """Reads a vocab.txt: one token a line, blanks at its end dropped; the id is the number of the line.

        Raises:
            Exception: the file cannot be read.
        """
        try:
            return read_vocab_txt(string(vocab))
        except ModelError as error:
            raise Exception(f"Error while reading WordPiece file: {error}") from None

    @classmethod
    def from_file(cls, vocab: str, **kwargs: Unpack[Options]) -> WordPiece:
        """A WordPiece of a vocab.txt, with the options of the constructor."""
        return WordPiece(WordPiece.read_file(vocab), **kwargs)

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        if isinstance(fields, StoredFields):
            stored = fields.stored
            changed = any(fields[name] is not value for name, value in stored.options.items())
            return stored.words(fields) if changed else stored.kernel
        return WordPieceModel(
            fields["vocab"],
            fields["unk_token"],
            fields["continuing_subword_prefix"],
            fields["max_input_chars_per_word"],
        )

    def _vocab_size(self) -> int:
        fields = self._description().fields
        return len(fields.stored) if isinstance(fields, StoredFields) else len(fields["vocab"])

    def _files(self) -> list[tuple[str, str]]:
        by_id = sorted(self._vocab().items(), key=lambda item: item[1])
        return [("vocab.txt", "".join(f"{token}\n" for token, _ in by_id))]

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct(
            "WordPiece",
            (
                ("unk_token", fields["unk_token"]),
                ("continuing_subword_prefix", fields["continuing_subword_prefix"]),
                ("max_input_chars_per_word", fields["max_input_chars_per_word"]),
                ("vocab", _by_id(fields["vocab"])),
            ),
        )


def _options_that_differ(before: dict[str, Any], now: dict[str, Any], fixed: tuple[str, ...]) -> dict[str, Any] | None:
    stored = isinstance(before, StoredFields) and isinstance(now, StoredFields) and before.stored is now.stored
    if not stored and any(before[name] is not now[name] for name in fixed):
        return None
    return {name: value for name, value in now.items() if name not in fixed and value is not before[name]}


# ---- fields ----------------------------------------------------------------------------------------------------------


def _by_id(vocab: Vocab) -> Vocab:
    """The vocabulary in the order of its ids, one token an id."""
    ids = list(vocab.values())
    if all(a < b for a, b in pairwise(ids)):
        return vocab
    reverse = {id_: token for token, id_ in vocab.items()}
    return {reverse[id_]: id_ for id_ in sorted(reverse)}


def check_dropout(options: dict[str, Any]) -> None:
    """A ModelError where the dropout is no probability."""
    dropout = options["dropout"]
    if dropout is not None and not 0.0 <= dropout <= 1.0:
        raise ModelError("Dropout should be between 0 and 1, inclusive")


def bpe_fields(vocab: Vocab | str | None, merges: Merges | MergeIds | str | None, options: dict[str, Any]) -> Any:
    """Checks as BpeBuilder::build does, in its order; the merges are kept as ids (see MergeIds)."""
    check_dropout(options)
    if isinstance(vocab, str) and isinstance(merges, str):
        vocab, merges = read_bpe_files(vocab, merges)
    assert not isinstance(vocab, str)
    assert not isinstance(merges, str)
    vocab = {} if vocab is None else vocab
    if not isinstance(merges, MergeIds) or merges.vocab is not vocab:
        assert not isinstance(merges, MergeIds)
        prefix = options["continuing_subword_prefix"] or ""
        merges = MergeIds(resolve_merges(vocab, merges or [], len(prefix.encode())), vocab)
    return {**options, "vocab": vocab, "merges": merges}


def _merge_pairs(fields: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The merges as pairs of tokens (of the tokens that stand for their ids)."""
    rows = fields["merges"].rows
    if len(rows):
        token = {id_: token for token, id_ in fields["vocab"].items()}
        for start in range(0, len(rows), 1024):
            for left, right, _ in rows[start : start + 1024].tolist():
                yield token[left], token[right]


def unigram_fields(
    pieces: list[tuple[str, float]] | PieceList, unk_id: int | None, byte_fallback: bool
) -> dict[str, Any]:
    if unk_id is not None:
        if not pieces:
            raise ModelError("The vocabulary is empty but at least <unk> is needed")
        if unk_id >= len(pieces):
            raise ModelError("The `unk_id` is larger than vocabulary size")
    return {
        "pieces": pieces,
        "unk_id": unk_id,
        "byte_fallback": byte_fallback,
        "alpha": None,
        "nbest_size": None,
        "_ids": {},  # piece -> id, filled when first asked for
    }


_pieces_argument = sequence_of(pair_of(string, decimal))


def _pieces(value: Any) -> list[tuple[str, float]]:
    return _pieces_argument(value)


_BPE_OPTIONS: dict[str, Any] = {
    "cache_capacity": uint64,
    "dropout": optional(single),
    "unk_token": optional(string),
    "continuing_subword_prefix": string,
    "end_of_word_suffix": string,
    "fuse_unk": boolean,
    "byte_fallback": boolean,
    "ignore_merges": boolean,
}
_BPE_DEFAULTS = {
    "cache_capacity": None,
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}


def _vocab_argument(value: Any) -> Vocab | str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return string_or_other(value)
    try:
        return vocabulary(value)
    except (TypeError, OverflowError, UnicodeEncodeError) as error:
        # Whatever is wrong inside, the reference calls it a TypeError: neither of the two forms fits.
        raise TypeError(f"`vocab` must be a dict of str to int, or the path of a file: {error}") from None


_pairs_argument = sequence_of(pair_of(string, string))


def _merges_argument(value: Any) -> Merges | str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return string_or_other(value)
    try:
        if isinstance(value, list) and set(map(type, value)) <= {tuple} and set(map(len, value)) <= {2}:
            parts = [part for pair in value for part in pair]
            if set(map(type, parts)) <= {str}:
                "".join(parts).encode()  # a lone surrogate is a UnicodeEncodeError
                return list(value)
        return _pairs_argument(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`merges` must be a list of pairs of str, or the path of a file: {error}") from None


def _options_that_need_more(options: dict[str, Any]) -> bool:
    """Whether a model with these options asks more of its merges than one without affixes, or is refused."""
    dropout = options["dropout"]
    bad = dropout is not None and not 0.0 <= dropout <= 1.0
    return bad or bool(options["continuing_subword_prefix"] or options["end_of_word_suffix"])


class _HandedOut:
    """The arguments that `BPE._hand_out` gave last in each thread, until a model is made of them."""

    def __init__(self) -> None:
        self.local = threading.local()

    def put(self, vocab: Vocab, merges: Merges, description: Description, kernel: Any) -> None:
        # Affixes are part of what merges mean: such a model is made anew.
        plain = not _options_that_need_more(description.fields)
        self.local.given = (vocab, merges, tuple(merges), description, kernel) if plain else None

    def take(self, vocab: Any, merges: Any) -> tuple[Description, Any] | None:
        given = getattr(self.local, "given", None)
        if given is None or vocab is not given[0]:
            return None
        self.local.given = None
        _, _, pairs, description, kernel = given
        if type(merges) is not list or tuple(merges) != pairs or vocab != description.fields["vocab"]:
            return None
        return description, kernel

    def clear(self) -> None:
        self.local.given = None


_HANDED_OUT = _HandedOut()


class _Reversed:
    """The id -> token tables of the descriptions that were asked last (descriptions never change)."""

    def __init__(self) -> None:
        self.kept: list[tuple[Description, dict[int, str]]] = []

    def get(self, description: Description) -> dict[int, str] | None:
        for known, table in self.kept:
            if known is description:
                return table
        return None

    def keep(self, description: Description, table: dict[int, str]) -> None:
        self.kept = [(description, table), *self.kept[:3]]


_REVERSED = _Reversed()
