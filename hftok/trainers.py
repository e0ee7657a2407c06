"""Trainers: the settings of training. Training itself is done in `hftok._core.training`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict, Unpack

from hftok.added_tokens import AddedToken, read_added_token, special_tokens_argument
from hftok.arguments import (
    boolean,
    character,
    decimal,
    naming,
    optional,
    sequence_of,
    string,
    uint32,
    uint64,
)
from hftok.component import Attribute, Cell, Component, Description
from hftok.json_forms import (
    Field,
    FormError,
    Reader,
    number,
    option,
    sequence,
    string_map,
    struct,
    unit_variant,
    variant,
)
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import character as json_character
from hftok.json_forms import string as json_string
from hftok.json_forms import uint32 as json_uint32
from hftok.json_forms import uint64 as json_uint64
from hftok.parity_trainer import ParityBpeTrainer
from hftok.representation import Struct, Tree, ValueVariant, Variant

if TYPE_CHECKING:
    from hftok.word_counts import WordCounts

__all__ = ["BpeTrainer", "ParityBpeTrainer", "Trainer", "UnigramTrainer", "WordLevelTrainer", "WordPieceTrainer"]

PROGRESS_FORMATS = {"indicatif": "Indicatif", "json": "JsonLines", "silent": "Silent"}


class _SpecialTokens(Attribute[list[AddedToken]]):
    def __init__(self) -> None:
        super().__init__(special_tokens_argument)  # type: ignore[arg-type]

    def read(self, stored: Any) -> Any:
        return [token._copy() for token in stored]


_texts = sequence_of(string)
_characters = sequence_of(character)


def _ordered(characters: Iterable[str]) -> tuple[str, ...]:
    """The reference keeps a set and shows it in random order; here it is that of the code points."""
    return tuple(sorted(set(characters)))


def _first_characters(value: Any) -> tuple[str, ...]:
    """The alphabet as the constructors take it: of each string the first character."""
    return _ordered(text[0] for text in _texts(value) if text)


class _Alphabet(Attribute[list[str]]):
    def __init__(self) -> None:
        super().__init__(lambda value: _ordered(_characters(value)))  # type: ignore[arg-type, return-value]

    def read(self, stored: Any) -> Any:
        return list(stored)


def _progress_format(value: Any) -> str:
    name = string(value)
    return name if name in PROGRESS_FORMATS else "indicatif"


class Trainer(Component):
    """Base class of the trainers; made through one of its subclasses."""

    __slots__ = ()

    _family: ClassVar[str] = "PyTrainer"
    # what the constructor takes: (conversion, default)
    _options: ClassVar[dict[str, tuple[Any, Any]]] = {}

    def _configure(self, kwargs: dict[str, Any]) -> None:
        fields = {name: default for name, (_, default) in self._options.items()}
        for key, value in kwargs.items():
            if key not in self._options:
                print(f"Ignored unknown kwargs option {key}")
                continue
            with naming(key):
                fields[key] = self._options[key][0](value)
        # Word counts of what was fed last; training fills them (`_set_words`).
        fields["_words"] = {}
        self._set_cells([Cell(Description(type(self), fields))], many=False)

    def _settings(self) -> dict[str, Any]:
        """All settings, for the trainer kernels: also those that have no public attribute."""
        return self._description().fields

    def _set_words(self, words: Mapping[str, int] | WordCounts) -> None:
        """The word counts of the corpus that was fed."""
        cell = self._cell()
        cell.set(cell.description.replace(_words=words))

    @classmethod
    def _read(cls, value: Any) -> Description:
        return read_trainer(value)

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return ValueVariant(cls.__name__, cls._body(fields))

    @classmethod
    def _body(cls, fields: dict[str, Any]) -> Struct:
        raise NotImplementedError


class _PairTrainer(Trainer):
    """What BpeTrainer and WordPieceTrainer share: the second trains a BPE and takes its vocabulary."""

    __slots__ = ()

    vocab_size = Attribute(uint64)
    min_frequency = Attribute(uint64)
    show_progress = Attribute(boolean)
    special_tokens = _SpecialTokens()
    limit_alphabet: Attribute[int | None] = Attribute(optional(uint64))
    initial_alphabet = _Alphabet()
    continuing_subword_prefix: Attribute[str | None] = Attribute(optional(string))
    end_of_word_suffix: Attribute[str | None] = Attribute(optional(string))


def _word_dict(words: dict[str, int] | WordCounts) -> dict[str, int]:
    """The words that were fed last; after training they are kept as they were counted."""
    return words if isinstance(words, dict) else words.to_dict()


class BpeTrainer(_PairTrainer):
    """Settings for training a `BPE` model.

    Args:
        vocab_size: size of the vocabulary, special tokens and alphabet included; 30000.
        min_frequency: how often a pair must occur to be merged; 0.
        show_progress: show progress bars; True.
        progress_format: "indicatif" (bars), "json" (lines on standard error) or "silent"; anything else is the first.
        special_tokens: list of strings and AddedTokens that get the first ids.
        limit_alphabet: keep at most so many characters.
        initial_alphabet: characters to keep in any case; of longer strings the first character counts.
        continuing_subword_prefix: prefix of tokens that do not start a word.
        end_of_word_suffix: suffix of tokens that end a word.
        max_token_length: make no longer tokens, in characters.

    Unknown keyword arguments are ignored with a line on standard output.

    >>> BpeTrainer(vocab_size=1000, special_tokens=["<unk>"]).special_tokens[0].content
    '<unk>'
    """

    __slots__ = ()

    progress_format = Attribute(_progress_format)
    max_token_length: Attribute[int | None] = Attribute(optional(uint64))

    class Options(TypedDict, total=False):
        vocab_size: int
        min_frequency: int
        show_progress: bool
        progress_format: str
        special_tokens: list[str | AddedToken]
        limit_alphabet: int
        initial_alphabet: list[str]
        continuing_subword_prefix: str
        end_of_word_suffix: str
        max_token_length: int | None

    _options: ClassVar[dict[str, tuple[Any, Any]]] = {
        "min_frequency": (uint64, 0),
        "vocab_size": (uint64, 30000),
        "show_progress": (boolean, True),
        "progress_format": (_progress_format, "indicatif"),
        "special_tokens": (special_tokens_argument, ()),
        "limit_alphabet": (uint64, None),
        "initial_alphabet": (_first_characters, ()),
        "continuing_subword_prefix": (string, None),
        "end_of_word_suffix": (string, None),
        "max_token_length": (optional(uint64), None),
    }

    def __init__(self, **kwargs: Unpack[Options]) -> None:
        self._configure(dict(kwargs))

    def get_word_count(self) -> int:
        """The number of distinct words of the corpus that was fed last."""
        return len(self._settings()["_words"])

    @classmethod
    def _body(cls, fields: dict[str, Any]) -> Struct:
        return Struct(
            "BpeTrainer",
            (
                ("min_frequency", fields["min_frequency"]),
                ("vocab_size", fields["vocab_size"]),
                ("show_progress", fields["show_progress"]),
                ("progress_format", Variant(PROGRESS_FORMATS[fields["progress_format"]])),
                ("special_tokens", [token._tree() for token in fields["special_tokens"]]),
                ("limit_alphabet", fields["limit_alphabet"]),
                ("initial_alphabet", list(fields["initial_alphabet"])),
                ("continuing_subword_prefix", fields["continuing_subword_prefix"]),
                ("end_of_word_suffix", fields["end_of_word_suffix"]),
                ("max_token_length", fields["max_token_length"]),
                ("words", _word_dict(fields["_words"])),
            ),
            tagged=False,
        )


class WordPieceTrainer(_PairTrainer):
    """Settings for training a `WordPiece` model.

    Args:
        vocab_size: size of the vocabulary, special tokens and alphabet included; 30000.
        min_frequency: how often a pair must occur to be merged; 0.
        show_progress: show progress bars; True.
        special_tokens: list of strings and AddedTokens that get the first ids.
        limit_alphabet: keep at most so many characters.
        initial_alphabet: characters to keep in any case; of longer strings the first character counts.
        continuing_subword_prefix: prefix of tokens that do not start a word; `##`.
        end_of_word_suffix: suffix of tokens that end a word.

    Unknown keyword arguments are ignored with a line on standard output.

    >>> WordPieceTrainer().continuing_subword_prefix
    '##'
    """

    __slots__ = ()

    class Options(TypedDict, total=False):
        vocab_size: int
        min_frequency: int
        show_progress: bool
        special_tokens: list[str | AddedToken]
        limit_alphabet: int
        initial_alphabet: list[str]
        continuing_subword_prefix: str
        end_of_word_suffix: str

    _options: ClassVar[dict[str, tuple[Any, Any]]] = {
        "min_frequency": (uint64, 0),
        "vocab_size": (uint64, 30000),
        "show_progress": (boolean, True),
        "special_tokens": (special_tokens_argument, ()),
        "limit_alphabet": (uint64, None),
        "initial_alphabet": (_first_characters, ()),
        "continuing_subword_prefix": (string, "##"),
        "end_of_word_suffix": (string, None),
    }

    def __init__(self, **kwargs: Unpack[Options]) -> None:
        self._configure(dict(kwargs))

    @classmethod
    def _body(cls, fields: dict[str, Any]) -> Struct:
        inner = BpeTrainer._body({"progress_format": "indicatif", "max_token_length": None, **fields})
        return Struct("WordPieceTrainer", (("bpe_trainer", inner),), tagged=False)


class WordLevelTrainer(Trainer):
    """Settings for training a `WordLevel` model.

    Args:
        vocab_size: size of the vocabulary, special tokens included; 30000.
        min_frequency: how often a word must occur to be kept; 0.
        show_progress: show progress bars; True.
        special_tokens: list of strings and AddedTokens that get the first ids.

    Unknown keyword arguments are ignored with a line on standard output.

    >>> WordLevelTrainer(min_frequency=2).min_frequency
    2
    """

    __slots__ = ()

    vocab_size = Attribute(uint64)
    min_frequency = Attribute(uint64)
    show_progress = Attribute(boolean)
    special_tokens = _SpecialTokens()

    class Options(TypedDict, total=False):
        vocab_size: int
        min_frequency: int
        show_progress: bool
        special_tokens: list[str | AddedToken]

    _options: ClassVar[dict[str, tuple[Any, Any]]] = {
        "min_frequency": (uint64, 0),
        "vocab_size": (uint64, 30000),
        "show_progress": (boolean, True),
        "special_tokens": (special_tokens_argument, ()),
    }

    def __init__(self, **kwargs: Unpack[Options]) -> None:
        self._configure(dict(kwargs))

    @classmethod
    def _body(cls, fields: dict[str, Any]) -> Struct:
        return Struct(
            "WordLevelTrainer",
            (
                ("min_frequency", fields["min_frequency"]),
                ("vocab_size", fields["vocab_size"]),
                ("show_progress", fields["show_progress"]),
                ("special_tokens", [token._tree() for token in fields["special_tokens"]]),
                ("words", _word_dict(fields["_words"])),
            ),
            tagged=False,
        )


class UnigramTrainer(Trainer):
    """Settings for training a `Unigram` model.

    Args:
        vocab_size: size of the vocabulary, special tokens included; 8000.
        show_progress: show progress bars; True.
        special_tokens: list of strings and AddedTokens that get the first ids.
        initial_alphabet: characters to keep in any case; of longer strings the first character counts.
        shrinking_factor: part of the pieces that survives a pruning step; 0.75.
        unk_token: the unknown token.
        max_piece_length: length of the longest piece, in characters; 16.
        n_sub_iterations: steps of expectation maximization before a pruning step; 2.
        seed_size: number of pieces to start from; 1000000.

    Unknown keyword arguments are ignored with a line on standard output.

    >>> UnigramTrainer(unk_token="<unk>").vocab_size
    8000
    """

    __slots__ = ()

    vocab_size = Attribute(uint32)
    show_progress = Attribute(boolean)
    special_tokens = _SpecialTokens()
    initial_alphabet = _Alphabet()

    class Options(TypedDict, total=False):
        vocab_size: int
        show_progress: bool
        special_tokens: list[str | AddedToken]
        initial_alphabet: list[str]
        shrinking_factor: float
        unk_token: str | None
        max_piece_length: int
        n_sub_iterations: int
        seed_size: int

    _options: ClassVar[dict[str, tuple[Any, Any]]] = {
        "show_progress": (boolean, True),
        "vocab_size": (uint32, 8000),
        "n_sub_iterations": (uint32, 2),
        "shrinking_factor": (decimal, 0.75),
        "special_tokens": (special_tokens_argument, ()),
        "initial_alphabet": (_first_characters, ()),
        "unk_token": (optional(string), None),
        "max_piece_length": (uint64, 16),
        "seed_size": (uint64, 1000000),
    }

    def __init__(self, **kwargs: Unpack[Options]) -> None:
        self._configure(dict(kwargs))

    @classmethod
    def _body(cls, fields: dict[str, Any]) -> Struct:
        return Struct(
            "UnigramTrainer",
            (
                ("show_progress", fields["show_progress"]),
                ("vocab_size", fields["vocab_size"]),
                ("n_sub_iterations", fields["n_sub_iterations"]),
                ("shrinking_factor", fields["shrinking_factor"]),
                ("special_tokens", [token._tree() for token in fields["special_tokens"]]),
                ("initial_alphabet", list(fields["initial_alphabet"])),
                ("unk_token", fields["unk_token"]),
                ("max_piece_length", fields["max_piece_length"]),
                ("seed_size", fields["seed_size"]),
                ("words", _word_dict(fields["_words"])),
            ),
            tagged=False,
        )


# ---- reading JSON (reference: models/mod.rs TrainerWrapper and the trainers' derived readers) ------------------------


def _alphabet(value: Any) -> tuple[str, ...]:
    return _ordered(sequence(json_character)(value))


def _special_tokens(value: Any) -> tuple[AddedToken, ...]:
    return tuple(sequence(read_added_token)(value))


_read_format = unit_variant(*PROGRESS_FORMATS.values())


def _format(value: Any) -> str:
    written = _read_format(value)
    return next(name for name, spelling in PROGRESS_FORMATS.items() if spelling == written)


_BPE = (
    Field("min_frequency", json_uint64),
    Field("vocab_size", json_uint64),
    Field("show_progress", json_boolean),
    Field("progress_format", _format),
    Field("special_tokens", _special_tokens),
    Field("limit_alphabet", option(json_uint64)),
    Field("initial_alphabet", _alphabet),
    Field("continuing_subword_prefix", option(json_string)),
    Field("end_of_word_suffix", option(json_string)),
    Field("max_token_length", option(json_uint64)),
    Field("words", string_map(json_uint64)),
)
_WORD_LEVEL = (
    Field("min_frequency", json_uint64),
    Field("vocab_size", json_uint64),
    Field("show_progress", json_boolean),
    Field("special_tokens", _special_tokens),
    Field("words", string_map(json_uint64)),
)
_UNIGRAM = (
    Field("show_progress", json_boolean),
    Field("vocab_size", json_uint32),
    Field("n_sub_iterations", json_uint32),
    Field("shrinking_factor", number),
    Field("special_tokens", _special_tokens),
    Field("initial_alphabet", _alphabet),
    Field("unk_token", option(json_string)),
    Field("max_piece_length", json_uint64),
    Field("seed_size", json_uint64),
    Field("words", string_map(json_uint32)),
)


def _reader(kind: type[Trainer], fields: tuple[Field, ...]) -> Reader[Description]:
    def read(value: Any) -> Description:
        values = struct(value, kind.__name__, fields)
        values["_words"] = values.pop("words")
        return Description(kind, values)

    return read


_read_bpe = _reader(BpeTrainer, _BPE)


def _read_word_piece(value: Any) -> Description:
    inner: Description = struct(value, "WordPieceTrainer", (Field("bpe_trainer", _read_bpe),))["bpe_trainer"]
    return Description(WordPieceTrainer, inner.fields)


def read_trainer(value: Any) -> Description:
    if not isinstance(value, dict):
        raise FormError("invalid value: expected map with a single key")
    return variant(
        value,
        {
            "BpeTrainer": _read_bpe,
            "WordPieceTrainer": _read_word_piece,
            "WordLevelTrainer": _reader(WordLevelTrainer, _WORD_LEVEL),
            "UnigramTrainer": _reader(UnigramTrainer, _UNIGRAM),
        },
    )[1]
