"""Trainers: the settings of training. Descriptions only; training itself is done in `hftok._core.training`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypedDict, TypeVar, Unpack, overload

from hftok.added_tokens import AddedToken, read_added_token
from hftok.arguments import (
    boolean,
    character,
    choice,
    decimal,
    exact,
    naming,
    not_instance,
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
from hftok.representation import Struct, Tree, ValueVariant, Variant, positional

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["BpeTrainer", "ParityBpeTrainer", "Trainer", "UnigramTrainer", "WordLevelTrainer", "WordPieceTrainer"]

T = TypeVar("T")

PROGRESS_FORMATS = {"indicatif": "Indicatif", "json": "JsonLines", "silent": "Silent"}


def _tokens(value: Any) -> tuple[AddedToken, ...]:
    """Special tokens as copies. As the reference does, an AddedToken that was passed becomes special itself."""
    if not isinstance(value, list):
        raise not_instance(value, "list")
    tokens = []
    for item in value:
        if isinstance(item, str):
            tokens.append(AddedToken._of(string(item), special=True)._copy())
        elif isinstance(item, AddedToken):
            item.special = True
            tokens.append(item._copy())
        else:
            raise TypeError("special_tokens must be a List[Union[str, AddedToken]]")
    return tuple(tokens)


class _SpecialTokens(Attribute[list[AddedToken]]):
    def __init__(self) -> None:
        super().__init__(_tokens)  # type: ignore[arg-type]

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

    def _set_words(self, words: dict[str, int]) -> None:
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


class BpeTrainer(_PairTrainer):
    """Settings for training a `BPE` model.

    Args:
        vocab_size: size of the vocabulary, special tokens and alphabet included; 30000.
        min_frequency: how often a pair must occur to be merged; 0.
        show_progress: show progress bars; True.
        progress_format: "indicatif" (bars), "json" (lines on standard error) or "silent"; anything else counts as the first.
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

    _options = {
        "min_frequency": (uint64, 0),
        "vocab_size": (uint64, 30000),
        "show_progress": (boolean, True),
        "progress_format": (_progress_format, "indicatif"),
        "special_tokens": (_tokens, ()),
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
                ("words", fields["_words"]),
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

    _options = {
        "min_frequency": (uint64, 0),
        "vocab_size": (uint64, 30000),
        "show_progress": (boolean, True),
        "special_tokens": (_tokens, ()),
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

    _options = {
        "min_frequency": (uint64, 0),
        "vocab_size": (uint64, 30000),
        "show_progress": (boolean, True),
        "special_tokens": (_tokens, ()),
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
                ("words", fields["_words"]),
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

    _options = {
        "show_progress": (boolean, True),
        "vocab_size": (uint32, 8000),
        "n_sub_iterations": (uint32, 2),
        "shrinking_factor": (decimal, 0.75),
        "special_tokens": (_tokens, ()),
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
                ("words", fields["_words"]),
            ),
            tagged=False,
        )


# ---- reading JSON (reference: models/mod.rs TrainerWrapper and the trainers' derived readers) --------------------------


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


def _reader(kind: type[Trainer], fields: tuple[Field, ...]) -> Any:
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


# ---- parity-aware BPE ------------------------------------------------------------------------------------------------


_variant_argument = choice(("base", "window"), "Unknown variant '{}'. Use 'base' or 'window'.")


class _Setting(Generic[T]):
    """A setting of ParityBpeTrainer, which is no Component: it has a state of its own and is shared by nobody."""

    def __init__(self, convert: Callable[[Any], T], show: Callable[[Any], Any] | None = None) -> None:
        self.convert = convert
        self.show = show

    def __set_name__(self, owner: type[ParityBpeTrainer], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type[ParityBpeTrainer]) -> _Setting[T]: ...

    @overload
    def __get__(self, instance: ParityBpeTrainer, owner: type[ParityBpeTrainer]) -> T: ...

    def __get__(self, instance: ParityBpeTrainer | None, owner: type[ParityBpeTrainer]) -> _Setting[T] | T:
        if instance is None:
            return self
        stored = instance._values[self.name]
        value: T = stored if self.show is None else self.show(stored)
        return value

    def __set__(self, instance: ParityBpeTrainer, value: T) -> None:
        with naming(self.name):
            instance._values[self.name] = self.convert(value)


def _copies(tokens: Any) -> list[AddedToken]:
    return [token._copy() for token in tokens]


class ParityBpeTrainer:
    """Training of a `BPE` model that balances several languages (parity-aware BPE).

    Args:
        num_merges: merges to make.
        variant: "base", or "window" (balances within a moving window).
        min_frequency: how often a pair must occur to be merged.
        ratio: target compression of each language, for training without development texts.
        global_merges: plain merges to make first.
        window_size: size of the window.
        alpha: how far a language may run ahead in the window.
        total_symbols: count the alphabet into `num_merges`.
        special_tokens: list of strings and AddedTokens that get the first ids.
        show_progress: show progress bars.
        limit_alphabet: keep at most so many characters.
        initial_alphabet: characters to keep in any case.
        continuing_subword_prefix: prefix of tokens that do not start a word.
        end_of_word_suffix: suffix of tokens that end a word.
        max_token_length: make no longer tokens, in characters.

    >>> ParityBpeTrainer(num_merges=100).variant
    'base'
    """

    num_merges = _Setting(uint64)
    min_frequency = _Setting(uint64)
    global_merges = _Setting(uint64)
    window_size = _Setting(uint64)
    alpha = _Setting(decimal)
    total_symbols = _Setting(boolean)
    special_tokens: _Setting[list[AddedToken]] = _Setting(_tokens, _copies)  # type: ignore[arg-type]
    show_progress = _Setting(boolean)
    limit_alphabet: _Setting[int | None] = _Setting(optional(uint64))
    initial_alphabet: _Setting[list[str]] = _Setting(_characters, list)
    continuing_subword_prefix: _Setting[str | None] = _Setting(optional(string))
    end_of_word_suffix: _Setting[str | None] = _Setting(optional(string))
    max_token_length: _Setting[int | None] = _Setting(optional(uint64))

    def __init__(
        self,
        num_merges: int = 32000,
        variant: str = "base",
        min_frequency: int = 0,
        ratio: list[float] | None = None,
        global_merges: int = 0,
        window_size: int = 100,
        alpha: float = 2.0,
        total_symbols: bool = False,
        special_tokens: list[str | AddedToken] | None = None,
        show_progress: bool = True,
        limit_alphabet: int | None = None,
        initial_alphabet: list[str] | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
    ) -> None:
        self._values: dict[str, Any] = {"variant": _variant_argument(variant), "ratio": _ratio(ratio)}
        self.num_merges = num_merges
        self.min_frequency = min_frequency
        self.global_merges = global_merges
        self.window_size = window_size
        self.alpha = alpha
        self.total_symbols = total_symbols
        self.special_tokens = [] if special_tokens is None else special_tokens  # type: ignore[assignment]
        self.show_progress = show_progress
        self.limit_alphabet = limit_alphabet
        self.initial_alphabet = [] if initial_alphabet is None else initial_alphabet
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.max_token_length = max_token_length

    @property
    def variant(self) -> str:
        """The variant; fixed."""
        name: str = self._values["variant"]
        return name

    def train_from_iterator(
        self,
        tokenizer: Tokenizer,
        train_iterators: list[Any],
        dev_iterators: list[Any] | None = None,
        ratio: list[float] | None = None,
    ) -> None:
        """Trains a tokenizer's model, in place.

        Args:
            tokenizer: gets a new BPE model and the special tokens.
            train_iterators: for each language an iterable of texts, or of lists of texts.
            dev_iterators: for each language development texts, the same in all of them.
            ratio: target compression of each language; without effect beside `dev_iterators`.

        Raises:
            ValueError: no language, or not as many development texts as languages.
        """
        from hftok.tokenizer import Tokenizer as PublicTokenizer

        exact(tokenizer, PublicTokenizer, "Tokenizer")
        languages = sequence_of(lambda item: item)(train_iterators)
        if not languages:
            raise ValueError("train_iterators must not be empty")
        development = None if dev_iterators is None else sequence_of(lambda item: item)(dev_iterators)
        if development is not None and len(development) != len(languages):
            raise ValueError(
                f"dev_iterators length ({len(development)}) must match train_iterators length ({len(languages)})"
            )
        target = None if development else _ratio(ratio) or self._values["ratio"]
        from hftok._core.training.parity import train

        train(tokenizer, dict(self._values), languages, development, target)

    def __repr__(self) -> str:
        return (
            f'ParityBpeTrainer(num_merges={self.num_merges}, variant="{self.variant}", '
            f"min_frequency={self.min_frequency}, global_merges={self.global_merges}, window_size={self.window_size}, "
            f"alpha={positional(self.alpha)}, total_symbols={str(self.total_symbols).lower()})"
        )

    def __getstate__(self) -> dict[str, Any]:
        state = {name: self._values[name] for name in _PARITY_STATE}
        state["special_tokens"] = [token.content for token in self._values["special_tokens"]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict):
            raise not_instance(state, "dict")
        for name in _PARITY_STATE:
            if name not in state:
                raise KeyError(name)
        made = ParityBpeTrainer(**{name: state[name] for name in _PARITY_STATE})
        self._values = made._values


_PARITY_STATE = (
    "num_merges",
    "variant",
    "min_frequency",
    "global_merges",
    "window_size",
    "alpha",
    "total_symbols",
    "show_progress",
    "ratio",
    "special_tokens",
    "limit_alphabet",
    "initial_alphabet",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "max_token_length",
)


_decimals = sequence_of(decimal)


def _ratio(value: Any) -> list[float] | None:
    return None if value is None else _decimals(value)
