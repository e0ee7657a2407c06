"""ParityBpeTrainer: settings for training a BPE model that balances several languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from hftok._core.merge_ids import MergeIds
from hftok._core.training.parity import ParityError, train
from hftok.added_tokens import AddedToken, special_tokens_argument
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
    uint64,
)
from hftok.model_files import BLANKS
from hftok.models import BPE
from hftok.representation import positional

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

T = TypeVar("T")

_characters = sequence_of(character)
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
    special_tokens: _Setting[list[AddedToken]] = _Setting(special_tokens_argument, _copies)  # type: ignore[arg-type]
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
        # All arguments are converted, in order, before the variant is looked at.
        self._values: dict[str, Any] = {}
        self.num_merges = num_merges
        with naming("variant"):
            self._values["variant"] = string(variant)
        self.min_frequency = min_frequency
        self._values["ratio"] = _ratio(ratio)
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
        _variant_argument(variant)

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
            RuntimeError: settings that do not fit each other.
        """
        from tqdm import tqdm  # type: ignore[import-untyped]

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
        training = [_word_counts(tokenizer, texts) for texts in languages]
        checking = [_word_counts(tokenizer, texts) for texts in development or ()]
        wanted = self._values["num_merges"]
        with tqdm(total=wanted, desc="Compute merges", disable=not self._values["show_progress"]) as progress:
            try:
                vocab, rows = train(training, checking, target, self._values, progress.update)
            except ParityError as error:
                raise RuntimeError(f"Training error: {error}") from None
        model = BPE()
        model._update(vocab=vocab, merges=MergeIds(rows, vocab))
        model.continuing_subword_prefix = self._values["continuing_subword_prefix"]
        model.end_of_word_suffix = self._values["end_of_word_suffix"]
        tokenizer.model = model
        tokenizer.add_special_tokens(_copies(self._values["special_tokens"]))

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


def _texts(iterable: Any) -> Iterator[str]:
    for element in iterable:
        if isinstance(element, str):
            yield string(element)
        else:
            for text in element:
                yield string(text)


def _word_counts(tokenizer: Tokenizer, iterable: Any) -> dict[str, int]:
    """The words of texts, as the tokenizer normalizes and splits them, each with how often it occurs."""
    normalizer, pre_tokenizer = tokenizer.normalizer, tokenizer.pre_tokenizer
    counts: Counter[str] = Counter()
    for text in _texts(iterable):
        if normalizer is not None:
            text = normalizer.normalize_str(text)
        if pre_tokenizer is not None:
            counts.update(word for word, _ in pre_tokenizer.pre_tokenize_str(text) if word)
        elif text.strip(BLANKS):
            counts[text.strip(BLANKS)] += 1
    return dict(counts)


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
