"""What the ready-made tokenizers have in common: a `Tokenizer` inside, its methods outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from hftok.added_tokens import AddedToken
from hftok.decoders import Decoder
from hftok.encoding import Encoding
from hftok.models import Model
from hftok.normalizers import Normalizer
from hftok.pre_tokenizers import PreTokenizer
from hftok.processors import PostProcessor
from hftok.tokenizer import Tokenizer

if TYPE_CHECKING:
    from hftok.trainers import Trainer

__all__ = ["BaseTokenizer"]

Texts: TypeAlias = "Iterator[str] | Iterator[Iterator[str]] | Iterable[str]"
Tokens: TypeAlias = "Sequence[str | AddedToken]"


def as_list(value: Any) -> Any:
    """A tuple (our defaults are tuples) as the list that trainers ask for; anything else as it is."""
    return list(value) if isinstance(value, tuple) else value


def add_special_if_known(tokenizer: Tokenizer, *tokens: str | AddedToken) -> None:
    """Make special tokens of those that the vocabulary has, without the flags that an AddedToken brings."""
    for token in tokens:
        text = str(token)
        if tokenizer.token_to_id(text) is not None:
            tokenizer.add_special_tokens([text])


class BaseTokenizer:
    """A `Tokenizer` together with the parameters that it was made with, which its repr shows.

    Args:
        tokenizer: the tokenizer that does the work.
        parameters: names and values for the repr.

    >>> from hftok.models import WordLevel
    >>> BaseTokenizer(Tokenizer(WordLevel({"a": 0}, unk_token="a")), {"model": "words"})
    Tokenizer(vocabulary_size=1, model=words)
    """

    def __init__(self, tokenizer: Tokenizer, parameters: dict[str, Any] | None = None) -> None:
        self._tokenizer = tokenizer
        self._parameters: dict[str, Any] = {} if parameters is None else parameters

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value}" for name, value in self._parameters.items())
        return f"Tokenizer(vocabulary_size={self._tokenizer.get_vocab_size()}, {parameters})"

    # ---- vocabulary

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Special tokens that the post-processor adds to one sequence, or to a pair."""
        return self._tokenizer.num_special_tokens_to_add(is_pair)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Every token and its id."""
        return self._tokenizer.get_vocab(with_added_tokens=with_added_tokens)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The added tokens by id."""
        return self._tokenizer.get_added_tokens_decoder()

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of tokens."""
        return self._tokenizer.get_vocab_size(with_added_tokens=with_added_tokens)

    def add_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Add tokens (a list); the number of those that were new or changed."""
        return self._tokenizer.add_tokens(tokens)

    def add_special_tokens(self, special_tokens: Sequence[str | AddedToken]) -> int:
        """Add special tokens (a list); the number of those that were new or changed."""
        return self._tokenizer.add_special_tokens(special_tokens)

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        return self._tokenizer.token_to_id(token)

    def id_to_token(self, id: int) -> str | None:
        """The token of an id, or None."""
        return self._tokenizer.id_to_token(id)

    # ---- truncation and padding

    def enable_padding(
        self,
        direction: str | None = "right",
        pad_to_multiple_of: int | None = None,
        pad_id: int | None = 0,
        pad_type_id: int | None = 0,
        pad_token: str | None = "[PAD]",
        length: int | None = None,
    ) -> None:
        """Pad what is encoded from now on (see `Tokenizer.enable_padding`)."""
        return self._tokenizer.enable_padding(
            direction=direction,
            pad_to_multiple_of=pad_to_multiple_of,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
            length=length,
        )

    def no_padding(self) -> None:
        """Pad nothing."""
        return self._tokenizer.no_padding()

    @property
    def padding(self) -> dict[str, Any] | None:
        """The padding settings, or None."""
        return self._tokenizer.padding

    def enable_truncation(
        self, max_length: int, stride: int | None = 0, strategy: str | None = "longest_first"
    ) -> None:
        """Cut what is encoded from now on (see `Tokenizer.enable_truncation`)."""
        return self._tokenizer.enable_truncation(max_length, stride=stride, strategy=strategy)

    def no_truncation(self) -> None:
        """Cut nothing."""
        return self._tokenizer.no_truncation()

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The truncation settings, or None."""
        return self._tokenizer.truncation

    # ---- encoding and decoding

    def normalize(self, sequence: str) -> str:
        """A text after the normalizer. AttributeError if there is none."""
        normalizer: Any = self._tokenizer.normalizer
        result: str = normalizer.normalize_str(sequence)
        return result

    def encode(
        self, sequence: Any, pair: Any | None = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Encode one text or a pair (see `Tokenizer.encode`). ValueError: sequence is None."""
        if sequence is None:
            raise ValueError("encode: `sequence` can't be `None`")
        return self._tokenizer.encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self, inputs: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode many inputs (see `Tokenizer.encode_batch`). ValueError: inputs is None."""
        if inputs is None:
            raise ValueError("encode_batch: `inputs` can't be `None`")
        return self._tokenizer.encode_batch(inputs, is_pretokenized, add_special_tokens)

    async def async_encode_batch(
        self, inputs: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """`encode_batch` in a thread. ValueError: inputs is None."""
        if inputs is None:
            raise ValueError("async_encode_batch: `inputs` can't be `None`")
        return await self._tokenizer.async_encode_batch(inputs, is_pretokenized, add_special_tokens)

    async def async_encode_batch_fast(
        self, inputs: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """`Tokenizer.encode_batch_fast` in a thread: no offsets. ValueError: inputs is None."""
        if inputs is None:
            raise ValueError("async_encode_batch_fast: `inputs` can't be `None`")
        return await self._tokenizer.async_encode_batch_fast(inputs, is_pretokenized, add_special_tokens)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids. ValueError: ids is None."""
        if ids is None:
            raise ValueError("None input is not valid. Should be a list of integers.")
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The texts of many sequences of ids. ValueError: sequences is None."""
        if sequences is None:
            raise ValueError("None input is not valid. Should be list of list of integers.")
        return self._tokenizer.decode_batch(sequences, skip_special_tokens=skip_special_tokens)

    async def async_decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """`decode_batch` in a thread. ValueError: sequences is None."""
        if sequences is None:
            raise ValueError("async_decode_batch: `sequences` can't be `None`")
        return await self._tokenizer.async_decode_batch(sequences, skip_special_tokens)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate, add special tokens and pad, as `encode` does at its end."""
        return self._tokenizer.post_process(encoding, pair, add_special_tokens)

    # ---- saving

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Write the model's files (vocab.txt, or vocab.json and merges.txt, ...) to a folder; their paths."""
        return self._tokenizer.model.save(directory, prefix=prefix)

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a tokenizer.json."""
        return self._tokenizer.save(path, pretty)

    def to_str(self, pretty: bool = False) -> str:
        """The text of a tokenizer.json."""
        return self._tokenizer.to_str(pretty)

    # ---- training

    def _train(self, files: str | Sequence[str], trainer: Trainer) -> None:
        self._tokenizer.train([files] if isinstance(files, str) else files, trainer=trainer)

    def _train_from_iterator(self, iterator: Any, trainer: Trainer, length: int | None) -> None:
        self._tokenizer.train_from_iterator(iterator, trainer=trainer, length=length)

    # ---- components

    @property
    def model(self) -> Model:
        """The model."""
        return self._tokenizer.model

    @model.setter
    def model(self, model: Model) -> None:
        self._tokenizer.model = model

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer, or None."""
        return self._tokenizer.normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer | None) -> None:
        self._tokenizer.normalizer = normalizer

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """The pre-tokenizer, or None."""
        return self._tokenizer.pre_tokenizer

    @pre_tokenizer.setter
    def pre_tokenizer(self, pre_tokenizer: PreTokenizer | None) -> None:
        self._tokenizer.pre_tokenizer = pre_tokenizer

    @property
    def post_processor(self) -> PostProcessor | None:
        """The post-processor, or None."""
        return self._tokenizer.post_processor

    @post_processor.setter
    def post_processor(self, post_processor: PostProcessor | None) -> None:
        self._tokenizer.post_processor = post_processor

    @property
    def decoder(self) -> Decoder | None:
        """The decoder, or None."""
        return self._tokenizer.decoder

    @decoder.setter
    def decoder(self, decoder: Decoder | None) -> None:
        self._tokenizer.decoder = decoder
