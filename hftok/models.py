"""Models: how a piece of text becomes tokens of a vocabulary. Descriptions only; the kernels are in `hftok._core.models`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from hftok._core.json import (
    Float32,
    JsonSyntaxError,
    MergeError,
    MergeIds,
    MergePanic,
    dumps,
    first_bad_id,
    loads,
    resolve_merges,
)
from hftok.arguments import (
    boolean,
    decimal,
    naming,
    optional,
    pair_of,
    sequence_of,
    single,
    string,
    uint32,
    uint64,
    vocabulary,
)
from hftok.component import Attribute, Cell, Component, Description
from hftok.json_forms import FormError, FormPanic, number, option, tagged_type, unit_variant, untagged, wrong_type
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import string as json_string
from hftok.json_forms import uint64 as json_uint64
from hftok.representation import Listing, Struct, Tree, to_json

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


class Model(Component):
    """Base class of the models. Made by itself it is an empty `BPE`."""

    __slots__ = ()

    _family: ClassVar[str] = "Model"

    def __init__(self) -> None:
        self._set_cells([Cell(BPE()._description())], many=False)

    # ---- the public surface -------------------------------------------------------------------------------------------

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
        return self._vocab().get(string(token))

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
                raise Exception(_os_error(error)) from None
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

    # ---- for the tokenizer and the trainers ---------------------------------------------------------------------------

    def _kernel(self) -> Any:
        """The model kernel, made when first asked for and again after a change."""
        return self._program(lambda spec: self._kind()._make_kernel(self._description().fields))

    def _kind(self) -> type[Model]:
        kind = self._description().kind
        assert issubclass(kind, Model)
        return kind

    def _vocab(self) -> Vocab:
        """Token -> id; not to be changed."""
        return self._kind()._vocab_of(self._description().fields)

    def _vocab_r(self) -> dict[int, str]:
        """Id -> token. Of tokens with the same id the later in the vocabulary (the reference: a random one)."""
        description = self._description()
        cache: dict[int, str] | None = _REVERSED.get(description)
        if cache is None:
            cache = {id_: token for token, id_ in self._vocab().items()}
            _REVERSED.keep(description, cache)
        return cache

    def _vocab_size(self) -> int:
        """The number of tokens (of pieces, for Unigram, where one may come twice)."""
        return len(self._vocab())

    def _update(self, **fields: Any) -> None:
        """Sets fields of the description in one change, as training does. A BPE takes `vocab` and `merges` (pairs)."""
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

    def _files(self) -> list[tuple[str, str]]:
        raise NotImplementedError

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        return (cls.__name__,)

    @classmethod
    def _read(cls, value: Any) -> Description:
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
        try:
            fields = _bpe_fields(vocab, merges, options)
        except (MergeError, _ModelError) as error:
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
            return _read_bpe_files(string(vocab), string(merges))
        except _ModelError as error:
            raise Exception(f"Error while reading vocab & merges files: {error}") from None

    @classmethod
    def from_file(cls, vocab: str, merges: str, **kwargs: Unpack[Options]) -> BPE:
        """A BPE of a vocab.json and a merges.txt, with the options of the constructor."""
        try:
            files = _read_bpe_files(string(vocab), string(merges))
        except _ModelError as error:
            raise Exception(f"Error while reading BPE files: {error}") from None
        return BPE(*files, **kwargs)

    def _clear_cache(self) -> None:
        """Without effect: the engine keeps its own cache."""

    def _resize_cache(self, capacity: int) -> None:
        """Without effect: the engine keeps its own cache."""
        uint64(capacity)

    @classmethod
    def _updated(cls, description: Description, fields: dict[str, Any]) -> Description:
        if "vocab" not in fields:
            return description.replace(**fields)
        merges = list(fields.pop("merges"))
        return Description(BPE, _bpe_fields(fields.pop("vocab"), merges, {**description.fields, **fields}))

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        from hftok._core.models.bpe import BPEModel

        return BPEModel(
            fields["vocab"],
            list(_merge_pairs(fields)),
            fields["dropout"],
            fields["unk_token"],
            fields["continuing_subword_prefix"],
            fields["end_of_word_suffix"],
            fields["fuse_unk"],
            fields["byte_fallback"],
            fields["ignore_merges"],
        )

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
            fields = _unigram_fields(pieces, unk, fallback)
        except _ModelError as error:
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
        cached: Vocab = fields["_ids"]
        if not cached:
            cached.update((piece[0], id_) for id_, piece in enumerate(fields["pieces"]))
        return cached

    def _vocab_size(self) -> int:
        return len(self._description().fields["pieces"])

    @classmethod
    def _updated(cls, description: Description, fields: dict[str, Any]) -> Description:
        if "pieces" in fields:
            fields["_ids"] = {}
        return description.replace(**fields)

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        from hftok._core.models.unigram import UnigramModel

        return UnigramModel(fields["pieces"], fields["unk_id"], fields["byte_fallback"])

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
        if isinstance(vocab, str):
            try:
                vocab = _read_word_level(vocab)
            except _ModelError as error:
                raise Exception(str(error)) from None
        self._create(vocab=vocab or {}, unk_token="<unk>" if unk_token is None else unk_token)

    @staticmethod
    def read_file(vocab: str) -> Vocab:
        """Reads a vocab.json.

        Raises:
            Exception: the file cannot be read, or is none.
        """
        try:
            return _read_word_level(string(vocab))
        except _ModelError as error:
            raise Exception(f"Error while reading WordLevel file: {error}") from None

    @classmethod
    def from_file(cls, vocab: str, unk_token: str | None = None) -> WordLevel:
        """A WordLevel of a vocab.json."""
        return WordLevel(WordLevel.read_file(vocab), unk_token)

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        from hftok._core.models.wordlevel import WordLevelModel

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
                options[key] = value
            else:
                print(f"Ignored unknown kwargs option {key}")
        if isinstance(vocab, str):
            try:
                vocab = _read_word_piece(vocab)
            except _ModelError as error:
                raise Exception(f"Error while initializing WordPiece: {error}") from None
        self._create(**options, vocab=vocab or {})

    @staticmethod
    def read_file(vocab: str) -> Vocab:
        """Reads a vocab.txt: one token a line, blanks at its end dropped; the id is the number of the line.

        Raises:
            Exception: the file cannot be read.
        """
        try:
            return _read_word_piece(string(vocab))
        except _ModelError as error:
            raise Exception(f"Error while reading WordPiece file: {error}") from None

    @classmethod
    def from_file(cls, vocab: str, **kwargs: Unpack[Options]) -> WordPiece:
        """A WordPiece of a vocab.txt, with the options of the constructor."""
        return WordPiece(WordPiece.read_file(vocab), **kwargs)

    @classmethod
    def _make_kernel(cls, fields: dict[str, Any]) -> Any:
        from hftok._core.models.wordpiece import WordPieceModel

        return WordPieceModel(
            fields["vocab"],
            fields["unk_token"],
            fields["continuing_subword_prefix"],
            fields["max_input_chars_per_word"],
        )

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


class _ModelError(Exception):
    """A model cannot be made of what was given; the message is the reference's."""


# ---- fields ----------------------------------------------------------------------------------------------------------


def _by_id(vocab: Vocab) -> Vocab:
    """The vocabulary in the order of its ids, one token an id."""
    ids = list(vocab.values())
    if all(a < b for a, b in zip(ids, ids[1:], strict=False)):
        return vocab
    reverse = {id_: token for token, id_ in vocab.items()}
    return {reverse[id_]: id_ for id_ in sorted(reverse)}


def _bpe_fields(vocab: Vocab | str | None, merges: Merges | MergeIds | str | None, options: dict[str, Any]) -> Any:
    """Checks as BpeBuilder::build does, in its order; the merges are kept as ids (see MergeIds)."""
    dropout = options["dropout"]
    if dropout is not None and not 0.0 <= dropout <= 1.0:
        raise _ModelError("Dropout should be between 0 and 1, inclusive")
    if isinstance(vocab, str) and isinstance(merges, str):
        vocab, merges = _read_bpe_files(vocab, merges)
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


def _unigram_fields(pieces: list[tuple[str, float]], unk_id: int | None, byte_fallback: bool) -> dict[str, Any]:
    if unk_id is not None:
        if not pieces:
            raise _ModelError("The vocabulary is empty but at least <unk> is needed")
        if unk_id >= len(pieces):
            raise _ModelError("The `unk_id` is larger than vocabulary size")
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
        return string(value)
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
        return string(value)
    try:
        if isinstance(value, list) and set(map(type, value)) <= {tuple} and set(map(len, value)) <= {2}:
            parts = [part for pair in value for part in pair]
            if set(map(type, parts)) <= {str}:
                "".join(parts).encode()  # a lone surrogate is a UnicodeEncodeError
                return list(value)
        return _pairs_argument(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`merges` must be a list of pairs of str, or the path of a file: {error}") from None


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


# ---- files -----------------------------------------------------------------------------------------------------------

# Rust's White_Space; Python's str.rstrip would take U+001C to U+001F too.
_BLANKS = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def _os_error(error: OSError) -> str:
    return f"{os.strerror(error.errno)} (os error {error.errno})" if error.errno else str(error)


def _read_text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise _ModelError(_os_error(error)) from None
    except UnicodeDecodeError:
        raise _ModelError("stream did not contain valid UTF-8") from None
    except ValueError as error:  # a NUL in the path
        raise _ModelError(str(error)) from None


def _lines(text: str) -> list[str]:
    """Rust's BufRead::lines."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _read_json(path: str) -> Any:
    try:
        return loads(_read_text(path))
    except JsonSyntaxError as error:
        raise _ModelError(str(error)) from None


def _read_vocab_json(path: str) -> Vocab:
    """Entries that are no numbers are left out; ids wrap at 2^32 (models/bpe/model.rs, models/wordlevel/mod.rs)."""
    value = _read_json(path)
    if not isinstance(value, dict):
        raise _ModelError("Bad vocabulary json file")
    if type(value) is dict and first_bad_id(value) is None:
        return value
    vocab = {}
    for token, id_ in value.items():
        if isinstance(id_, (int, float)) and not isinstance(id_, bool):
            if isinstance(id_, float) or id_ < 0:
                raise _ModelError("Bad vocabulary json file")
            vocab[token] = id_ & 0xFFFFFFFF
    return vocab


def _read_merges(lines: list[str]) -> Merges:
    """Lines with two tokens; those that start with "#version" are left out."""
    merges = []
    for number_, line in enumerate((line for line in lines if not line.startswith("#version")), 1):
        parts = line.split(" ")
        if len(parts) != 2:
            raise _ModelError(f"Merges text file invalid at line {number_}")
        merges.append((parts[0], parts[1]))
    return merges


def _read_bpe_files(vocab: str, merges: str) -> tuple[Vocab, Merges]:
    return _read_vocab_json(vocab), _read_merges(_lines(_read_text(merges)))


def _read_word_level(path: str) -> Vocab:
    return _read_vocab_json(path)


def _read_word_piece(path: str) -> Vocab:
    return {line.rstrip(_BLANKS): number_ for number_, line in enumerate(_lines(_read_text(path)))}


# ---- reading JSON (reference: models/mod.rs, models/*/serialization.rs) -----------------------------------------------


def _json_vocab(value: Any) -> Vocab:
    if not isinstance(value, dict):
        raise wrong_type(value, "a map")
    vocab = value if type(value) is dict else dict(value)
    bad = first_bad_id(vocab)
    if bad is not None:
        raise FormError(f"vocab: the id of `{bad}` is {value[bad]!r}, expected u32")
    return vocab


def _json_merges(value: Any) -> Merges | MergeIds:
    if isinstance(value, MergeIds):
        return value
    if isinstance(value, (list, tuple)):
        if all(
            isinstance(item, (list, tuple)) and len(item) == 2 and type(item[0]) is type(item[1]) is str
            for item in value
        ):
            return [(item[0], item[1]) for item in value]
        if all(type(item) is str for item in value):
            try:
                return _read_merges(list(value))
            except _ModelError as error:
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
    vocab = _json_vocab(value["vocab"])
    try:
        return Description(BPE, _bpe_fields(vocab, _json_merges(value["merges"]), options))
    except MergePanic as error:
        raise FormPanic(str(error)) from None
    except (MergeError, _ModelError) as error:
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
    return Description(
        WordPiece,
        {
            "unk_token": _required(value, "unk_token", json_string),
            "continuing_subword_prefix": _required(value, "continuing_subword_prefix", json_string),
            "max_input_chars_per_word": _required(value, "max_input_chars_per_word", json_uint64),
            "vocab": _required(value, "vocab", _json_vocab),
        },
    )


def _read_word_level_model(value: Any) -> Description:
    value = _model_object(value, "WordLevel")
    return Description(
        WordLevel,
        {"vocab": _required(value, "vocab", _json_vocab), "unk_token": _required(value, "unk_token", json_string)},
    )


def _json_pieces(value: Any) -> list[tuple[str, float]]:
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
        return Description(Unigram, _unigram_fields(_json_pieces(value["vocab"]), unk_id, byte_fallback))
    except _ModelError as error:
        raise FormError(f"Unable to load vocab: {error}") from None


_READERS = {
    "BPE": _read_bpe,
    "WordPiece": _read_word_piece_model,
    "WordLevel": _read_word_level_model,
    "Unigram": _read_unigram,
}
_read_type = unit_variant(*_READERS)


def _without_type(read: Any) -> Any:
    # A "type" that comes to a model's own reader is refused there (it wants a borrowed string, and gets an owned one).
    def read_untyped(value: Any) -> Description:
        if isinstance(value, dict) and "type" in value:
            raise FormError("invalid type: string, expected a borrowed string")
        description: Description = read(value)
        return description

    return read_untyped


def read_model(value: Any) -> Description:
    kind = tagged_type(value, _read_type)
    if kind is not None:
        return _READERS[kind](value)
    return untagged(value, "ModelUntagged", [_without_type(read) for read in _READERS.values()])
