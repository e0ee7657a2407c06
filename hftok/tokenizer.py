"""The tokenizer: five components and the added tokens, compiled to an engine when first used."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt

from hftok._core import encode as _encode
from hftok._core import rows as _rows
from hftok._core.decoders import DecoderProgram
from hftok._core.engine import Engine
from hftok._core.exact import Pipeline
from hftok._core.id_decoder import IdDecoder
from hftok._core.normalizers import NormalizerProgram
from hftok._core.post_process import post_process as _post_process
from hftok._core.pre_tokenizers import PreTokenizerProgram
from hftok._core.short_calls import ShortCalls
from hftok.added_tokens import AddedToken, own_added_token
from hftok.added_vocabulary import AddedVocabulary
from hftok.arguments import boolean, choice, naming, not_instance, optional, sequence_of, string, uint32, uint64
from hftok.component import Component
from hftok.decoders import Decoder
from hftok.encoding import Encoding, RaggedIds
from hftok.foreign import component as own_component
from hftok.load_cache import load_file
from hftok.models import BPE, Model
from hftok.normalizers import Normalizer
from hftok.pre_tokenizers import PreTokenizer
from hftok.processors import PostProcessor
from hftok.serialization import (
    PaddingParams,
    TokenizerParts,
    TruncationParams,
    describe_parts,
    dump,
    load,
    load_buffer,
)
from hftok.sources import FileSource

if TYPE_CHECKING:
    from asyncio import Future

    from hftok import tiktoken
    from hftok.session import Session
    from hftok.trainers import Trainer

__all__ = ["Tokenizer"]

# A child of fork gets the locks as they were: one that another thread held then would never be free again.
_alive: weakref.WeakSet[Tokenizer] = weakref.WeakSet()


def _after_fork() -> None:
    for tokenizer in _alive:
        tokenizer._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

R = TypeVar("R")
Ids = npt.NDArray[np.uint32]
Padded = dict[str, npt.NDArray[np.int64]]

_strategy = choice(
    ("longest_first", "only_first", "only_second"),
    "Unknown `strategy`: `{}`. Use one of `longest_first`, `only_first`, or `only_second`",
)
_truncation_side = choice(("left", "right"), "Unknown `direction`: `{}`. Use one of `left` or `right`.")
_padding_side = choice(("left", "right"), "Unknown `direction`: `{}`. Use one of `left` or `right`")


class Tokenizer(ShortCalls):
    """Text to tokens and back, exactly as `tokenizers.Tokenizer` 0.23.2.

    Args:
        model: what to make it from: a model (as the reference's constructor), the path of a tokenizer.json, of a
            vocab.txt, of a SentencePiece model (.model), of a rank file (.tiktoken) or of a folder that holds one, the
            text or bytes of a tokenizer.json, a Hub id, a `tokenizers.Tokenizer`, or a transformers tokenizer. An
            object passed in is copied.

    Raises:
        UnsupportedTokenizerError: it has a component that cannot be reproduced exactly.
        Exception, ValueError, OSError: it cannot be read; the message says what is wrong where.

    >>> from hftok.models import WordPiece
    >>> from hftok.pre_tokenizers import WhitespaceSplit
    >>> tokenizer = Tokenizer(WordPiece({"un": 0, "##able": 1, "[UNK]": 2}, unk_token="[UNK]"))
    >>> tokenizer.pre_tokenizer = WhitespaceSplit()
    >>> tokenizer.encode("unable to").tokens
    ['un', '##able', '[UNK]']

    A tokenizer may be used from several threads at once. Changes (components, added tokens, truncation, padding) act on
    calls that begin after them; a call works on one snapshot of all settings.
    """

    _model: Model
    _normalizer: Normalizer | None
    _pre_tokenizer: PreTokenizer | None
    _post_processor: PostProcessor | None
    _decoder: Decoder | None
    _added: AddedVocabulary
    _truncation: TruncationParams | None
    _padding: PaddingParams | None
    _special_as_text: bool
    _full_overflow: bool
    _added_vocabulary = AddedVocabulary

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self._set_parts(TokenizerParts(BPE()))
        return self

    def __init__(self, model: Any) -> None:
        if isinstance(model, Model):
            self._set_parts(TokenizerParts(model))
            return
        from hftok.loading import load_source

        load_source(self, model)

    # ---- making and keeping the parts --------------------------------------------------------------------------------

    def _set_parts(self, parts: TokenizerParts) -> None:
        """Take over the parts of a tokenizer.json (or of another tokenizer)."""
        self._lock = threading.RLock()
        _alive.add(self)
        # Compiled on first use, one engine for each value of encode_special_tokens. A new list stands for a change of
        # what encoding depends on besides truncation and padding: who keeps something made from it compares the list's
        # identity.
        self._engines: list[Engine | None] = [None, None]
        self._state = None
        self._published: Any = None
        self._unpublished: tuple[TruncationParams | None, PaddingParams | None] | None = None
        self._id_decoder: IdDecoder | None = None
        self._model = self._owned(parts.model)
        self._normalizer = self._owned(parts.normalizer)
        self._pre_tokenizer = self._owned(parts.pre_tokenizer)
        self._post_processor = self._owned(parts.post_processor)
        self._decoder = self._owned(parts.decoder)
        self._truncation = parts.truncation
        self._padding = parts.padding
        self._special_as_text = False
        self._full_overflow = False
        self._added = self._added_vocabulary()
        if parts.added is not None:
            self._added = parts.added
        elif parts.added_tokens:
            # Ids come from the model or are given anew in the file's order, as the reference does; not from the file.
            self._added, _ = self._with_tokens([token for _, token in parts.added_tokens])
        # A file that gives a token twice is not kept: what it says is more than the tokens that come of it.
        self._origin = None
        if parts.origin is not None and len(parts.added_tokens) == len(self._added.tokens):
            self._origin = parts.origin, self._added

    def _owned(self, component: Any) -> Any:
        """A handle of a component that tells this tokenizer when it changes."""
        if component is None:
            return None
        component = component._share()
        component._add_owner(self)
        return component

    def _parts(self) -> TokenizerParts:
        return TokenizerParts(
            self._model,
            self._truncation,
            self._padding,
            list(self._added.tokens.items()),
            self._normalizer,
            self._pre_tokenizer,
            self._post_processor,
            self._decoder,
        )

    def _component_changed(self) -> None:
        """A component, or the added tokens, are not what they were: compile anew when next needed."""
        with self._lock:
            self._engines = [None, None]
            self._state = None
            self._id_decoder = None

    def _settings_changed(self) -> None:
        with self._lock:
            self._state = None
            self._published = None

    def _publish(
        self,
        by: Any,
        truncation: TruncationParams | None,
        padding: PaddingParams | None,
        special_as_text: bool,
        full_overflow: bool,
    ) -> None:
        """Show the settings of a call that has used its own (a transformers tokenizer leaves them on its backend).

        They act on later calls like settings that were set, but pickles keep those from before: a fingerprint of the
        tokenizer does not change with its use.

        Args:
            by: whose settings; `_published` is that until the settings change.
        """
        with self._lock:
            if self._unpublished is None:
                self._unpublished = self._truncation, self._padding
            self._truncation = truncation
            self._padding = padding
            self._full_overflow = full_overflow
            self._special_as_text = special_as_text
            self._state = None
            self._published = by

    def _replace(self, name: str, component: Component | None) -> None:
        with self._lock:
            old = getattr(self, name)
            if old is not None:
                old._remove_owner(self)
            setattr(self, name, self._owned(component))
            if name in ("_post_processor", "_decoder"):  # not part of an engine
                self._engines = list(self._engines)
                self._state = None
                self._id_decoder = None
            else:
                self._component_changed()

    def _ready(self) -> tuple[Engine, _encode.Settings]:
        """The engine and the settings, as one snapshot: what a call reads, once, at its beginning."""
        state = self._state
        if state is None:
            with self._lock:
                settings = self._settings(self._truncation, self._padding, self._full_overflow)
                state = self._state = self._engine_of(self._special_as_text), settings
        return state

    def _settings(
        self, truncation: TruncationParams | None, padding: PaddingParams | None, full_overflow: bool = False
    ) -> _encode.Settings:
        """What a call needs beside the engine, with the post-processor as it is now."""
        processor = self._post_processor
        return _encode.Settings(
            None if processor is None else processor._spec(),
            truncation,
            padding,
            full_overflow,
            (self.num_special_tokens_to_add(False), self.num_special_tokens_to_add(True)),
        )

    def _engine_of(self, special_as_text: bool) -> Engine:
        """The engine for that value of encode_special_tokens."""
        with self._lock:
            engine = self._engines[special_as_text]
            if engine is None:
                engine = self._engines[special_as_text] = self._compile(special_as_text)
        return engine

    def _compile(self, special_as_text: bool) -> Engine:
        raw, normalized = self._added.matchers(special_as_text)
        normalizer = None if self._normalizer is None else self._normalizer._spec()
        pre_tokenizer = None if self._pre_tokenizer is None else self._pre_tokenizer._spec()
        pipeline = Pipeline(
            self._model._kernel(),
            None if normalizer is None else NormalizerProgram(normalizer),
            None if pre_tokenizer is None else PreTokenizerProgram(pre_tokenizer),
            raw,
            normalized,
        )
        engine = Engine(pipeline, normalizer, pre_tokenizer)
        if self._origin is not None:
            (origin, added), self._origin = self._origin, None
            origin.keep(self._model, added, None if special_as_text or added is not self._added else (raw, normalized))
        return engine

    # ---- loading and saving ------------------------------------------------------------------------------------------

    @classmethod
    def _of_parts(cls, parts: TokenizerParts) -> Self:
        self = cls.__new__(cls)
        self._set_parts(parts)
        return self

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """A tokenizer from the text of a tokenizer.json.

        Raises:
            Exception: it is not one; the message says why.
        """
        return Tokenizer._of_parts(load(string(json)))

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """A tokenizer from a tokenizer.json.

        Raises:
            Exception: the file cannot be read, or is not a tokenizer.json.
        """
        return Tokenizer._of_parts(load_file(string(path)))

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """A tokenizer from the bytes of a tokenizer.json.

        Raises:
            ValueError: they are not one.
        """
        if not isinstance(buffer, bytes):
            raise not_instance(buffer, "bytes")
        return Tokenizer._of_parts(load_buffer(buffer))

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """A tokenizer from the Hub (needs huggingface_hub; its cache and HF_HUB_OFFLINE are honoured).

        Args:
            identifier: a repository that has a tokenizer.json.
            revision: branch, tag or commit.
            token: an access token for private repositories.
        """
        from hftok.loading import hub_file

        return Tokenizer.from_file(hub_file(string(identifier), "tokenizer.json", string(revision), token))

    @classmethod
    def from_vocab(
        cls,
        path: str | os.PathLike[str],
        lowercase: bool = True,
        *,
        strip_accents: bool | None = None,
        handle_chinese_chars: bool = True,
        clean_text: bool = True,
        unk_token: str = "[UNK]",
        cls_token: str = "[CLS]",
        sep_token: str = "[SEP]",
        pad_token: str = "[PAD]",
        mask_token: str = "[MASK]",
    ) -> Self:
        """A BERT tokenizer from a vocab.txt (one token a line, its id the line's number), as transformers builds it.

        Raises:
            Exception: the file cannot be read.
            ValueError: unk_token, cls_token or sep_token is not in the vocabulary.
        """
        from hftok.loading import vocab_parts

        return cls._of_parts(
            vocab_parts(
                os.fspath(path),
                lowercase=lowercase,
                strip_accents=strip_accents,
                handle_chinese_chars=handle_chinese_chars,
                clean_text=clean_text,
                unk_token=unk_token,
                cls_token=cls_token,
                sep_token=sep_token,
                pad_token=pad_token,
                mask_token=mask_token,
            )
        )

    @classmethod
    def from_tiktoken(
        cls,
        path: str | os.PathLike[str],
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | Iterable[str] = (),
        add_prefix_space: bool = False,
    ) -> Self:
        """A byte-level BPE tokenizer from a rank file (.tiktoken), as transformers converts one.

        Args:
            path: a file with one token a line: base64, a blank, the rank.
            pattern: what text is split by before it is merged; default: the pattern of cl100k_base.
            special_tokens: tokens that are numbered on from the last one in the given order; or with the numbers that
                they must get.
            add_prefix_space: put a blank before the text.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no rank file, or a special token cannot have its number.
        """
        from hftok.loading_tiktoken import PATTERN, from_ranks
        from hftok.tiktoken.load import parse_tiktoken_bpe

        with open(path, "rb") as file:
            ranks = parse_tiktoken_bpe(file.read(), os.fspath(path))
        tokenizer = from_ranks(ranks, PATTERN if pattern is None else pattern, special_tokens, add_prefix_space)
        return cls._of_parts(tokenizer._parts())

    @classmethod
    def from_sentencepiece(
        cls, path: str | os.PathLike[str], tokenizer_class: str | None = None, **options: Any
    ) -> Self:
        """A tokenizer from a SentencePiece model file (BPE or Unigram), as transformers converts one.

        Args:
            path: the .model file. The package sentencepiece is not needed.
            tokenizer_class: the transformers class whose normalizer, pre-tokenizer, post-processor and special tokens
                it gets ("LlamaTokenizer", "T5Tokenizer", ...); None: the general form, which transformers uses for
                models without a class of their own. A folder given to `Tokenizer` says its class itself.
            options: keyword arguments of that class, as tokenizer_config.json holds them: special tokens,
                add_bos_token, add_prefix_space, legacy, src_lang, ...

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no SentencePiece model, or lacks a piece that the class needs.
            UnsupportedTokenizerError: the class runs SentencePiece itself.
        """
        from hftok.loading_sentencepiece import convert
        from hftok.loading_special_tokens import read_options

        return cls._of_parts(convert(path, tokenizer_class, read_options(None, options))._parts())

    def to_str(self, pretty: bool = False) -> str:
        """The text of a tokenizer.json, byte for byte as the reference writes it.

        Raises:
            Exception: a custom component has no written form.
        """
        return dump(self._parts(), boolean(pretty))

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a tokenizer.json.

        Raises:
            Exception: it cannot be written.
        """
        text = self.to_str(pretty)
        try:
            with open(string(path), "wb") as file:
                file.write(text.encode())
        except OSError as error:
            raise Exception(f"{os.strerror(error.errno or 0)} (os error {error.errno})") from None

    def __getstate__(self) -> bytes:  # type: ignore[override]
        parts = self._parts()
        if self._unpublished is not None:
            parts.truncation, parts.padding = self._unpublished
        try:
            return dump(parts).encode()
        except Exception as error:
            raise Exception(f"Error while attempting to pickle Tokenizer: {error}") from None

    def __setstate__(self, state: bytes) -> None:
        if not isinstance(state, bytes):
            raise not_instance(state, "bytes")
        try:
            self._set_parts(load(state))
        except Exception as error:
            raise Exception(f"Error while attempting to unpickle Tokenizer: {error}") from None

    def __getnewargs__(self) -> tuple[Model]:
        return (BPE(),)

    def __copy__(self) -> Self:
        # As the reference's, a copy shares nothing. Unlike a pickle, it has the settings of the last call if they show.
        copied = type(self).__new__(type(self))
        copied.__setstate__(self.__getstate__())
        if self._unpublished is not None:
            copied._publish(None, self._truncation, self._padding, False, copied._full_overflow)
        return copied

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__copy__()

    def __repr__(self) -> str:
        return describe_parts(self._parts(), full=True)

    def __str__(self) -> str:
        return describe_parts(self._parts(), full=False)

    def _repr_html_(self) -> str:
        from hftok.notebook import tokenizer_html

        return tokenizer_html(self)

    # ---- components --------------------------------------------------------------------------------------------------

    @property
    def model(self) -> Model:
        """The model. Assigning one keeps the added tokens and their ids."""
        return self._model._share()

    @model.setter
    def model(self, model: Model) -> None:
        self._replace("_model", own_component(model, Model))

    @property
    def normalizer(self) -> Normalizer | None:
        """The normalizer, or None."""
        return None if self._normalizer is None else self._normalizer._share()

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer | None) -> None:
        if normalizer is not None:
            normalizer = own_component(normalizer, Normalizer)
        # Added tokens are matched in their normalized form: that is made here, and fails here if it fails.
        added = self._added.with_normalizer(None if normalizer is None else normalizer.normalize_str)
        with self._lock:
            self._added = added
            self._replace("_normalizer", normalizer)

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """The pre-tokenizer, or None."""
        return None if self._pre_tokenizer is None else self._pre_tokenizer._share()

    @pre_tokenizer.setter
    def pre_tokenizer(self, pre_tokenizer: PreTokenizer | None) -> None:
        if pre_tokenizer is not None:
            pre_tokenizer = own_component(pre_tokenizer, PreTokenizer)
        self._replace("_pre_tokenizer", pre_tokenizer)

    @property
    def post_processor(self) -> PostProcessor | None:
        """The post-processor, or None."""
        return None if self._post_processor is None else self._post_processor._share()

    @post_processor.setter
    def post_processor(self, post_processor: PostProcessor | None) -> None:
        if post_processor is not None:
            post_processor = own_component(post_processor, PostProcessor)
        self._replace("_post_processor", post_processor)

    @property
    def decoder(self) -> Decoder | None:
        """The decoder, or None."""
        return None if self._decoder is None else self._decoder._share()

    @decoder.setter
    def decoder(self, decoder: Decoder | None) -> None:
        if decoder is not None:
            decoder = own_component(decoder, Decoder)
        self._replace("_decoder", decoder)

    # ---- vocabulary --------------------------------------------------------------------------------------------------

    def _with_tokens(self, tokens: Sequence[AddedToken]) -> tuple[AddedVocabulary, int]:
        normalize = None if self._normalizer is None else self._normalizer.normalize_str
        return self._added.with_tokens(tokens, self._model._find, self._model._vocab_size(), normalize)

    def _add(self, tokens: Sequence[AddedToken]) -> int:
        with self._lock:
            self._added, added = self._with_tokens(tokens)
            if added:
                self._component_changed()
        return added

    def add_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Add tokens to the vocabulary; the number of those that were new or changed.

        Args:
            tokens: a list of str or AddedToken. A str is matched in the normalized text.
        """
        return self._add(_added_tokens(tokens, special=False))

    def add_special_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Add special tokens, which decoding may leave out; the number of those that were new or changed."""
        return self._add(_added_tokens(tokens, special=True))

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Every token and its id."""
        vocab = dict(self._model._vocab())
        if boolean(with_added_tokens):
            vocab.update(self._added.ids)
        return vocab

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of tokens."""
        size = self._model._vocab_size()
        if boolean(with_added_tokens):
            size += sum(self._model._find(token) is None for token in self._added.ids)
        return size

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The added tokens by id, in ascending order."""
        return {id_: token._copy() for id_, token in sorted(self._added.tokens.items())}

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, or None."""
        token = string(token)
        id_ = self._added.ids.get(token)
        return self._model._find(token) if id_ is None else id_

    def id_to_token(self, id: int) -> str | None:
        """The token of an id, or None. Of an added token whose normalized form differs, that form."""
        id = uint32(id)
        token = self._added.string(id)
        return self._model._vocab_r().get(id) if token is None else token

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in a text are treated as ordinary text."""
        return self._special_as_text

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        with self._lock:
            self._special_as_text = boolean(value)
            self._settings_changed()

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Special tokens that the post-processor adds to one sequence, or to a pair."""
        is_pair = boolean(is_pair)
        return 0 if self._post_processor is None else self._post_processor.num_special_tokens_to_add(is_pair)

    # ---- truncation and padding --------------------------------------------------------------------------------------

    def enable_truncation(self, max_length: int, **kwargs: Any) -> None:
        """Cut what is encoded from now on.

        Args:
            max_length: tokens of a row, special tokens included.
            stride: tokens that a piece in `overflowing` shares with the one before (default 0).
            strategy: "longest_first" (default), "only_first" or "only_second".
            direction: "right" (default) or "left".
            full_overflow: keep every piece of a long text in `overflowing`. The reference, from 0.23.1 on, stops
                reading a sequence once max_length tokens are there, and so do we by default.

        Raises:
            ValueError: unknown strategy or direction; a stride that leaves nothing to advance by.
        """
        with naming("max_length"):
            max_length = uint64(max_length)
        given: dict[str, Any] = {}
        full_overflow = False
        for key, value in kwargs.items():
            with naming(key):
                if key == "stride":
                    given[key] = uint64(value)
                elif key == "strategy":
                    given[key] = _strategy(value)
                elif key == "direction":
                    given[key] = _truncation_side(value)
                elif key == "full_overflow":
                    full_overflow = boolean(value)
                else:
                    print(f"Ignored unknown kwarg option {key}")
        params = TruncationParams(max_length, **given)
        added = self.num_special_tokens_to_add(False)
        # The reference subtracts without a check: below zero means no limit at all (for what is cut; a sequence is
        # still read only as far as max_length).
        room = (max_length - added) % (1 << 64)
        if room < params.stride:
            raise ValueError(
                f"tokenizer stride set to {params.stride}, which is greater than or equal to its effective max length "
                f"of {room} (= {max_length} original max length - {added} added special tokens), "
            )
        self._set_truncation(params, full_overflow)

    def no_truncation(self) -> None:
        """Cut nothing."""
        self._set_truncation(None, False)

    def _set_truncation(self, params: TruncationParams | None, full_overflow: bool) -> None:
        with self._lock:
            if self._unpublished is not None:
                self._unpublished = params, self._unpublished[1]
            self._truncation = params
            self._full_overflow = full_overflow
            self._settings_changed()

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The truncation settings (max_length, stride, strategy, direction), or None."""
        return None if self._truncation is None else self._truncation._asdict()

    def enable_padding(self, **kwargs: Any) -> None:
        """Pad what is encoded from now on.

        Args:
            direction: "right" (default) or "left".
            pad_id, pad_type_id, pad_token: what to pad with (0, 0, "[PAD]").
            length: how long; None (default): as the longest row of a batch.
            pad_to_multiple_of: round the length up.

        Raises:
            ValueError: unknown direction.
        """
        given: dict[str, Any] = {}
        for key, value in kwargs.items():
            with naming(key):
                if key == "direction":
                    given[key] = _padding_side(value)
                elif key in ("pad_id", "pad_type_id"):
                    given[key] = uint32(value)
                elif key == "pad_token":
                    given[key] = string(value)
                elif key == "pad_to_multiple_of":
                    given[key] = optional(uint64)(value)
                elif key in ("length", "max_length"):
                    if key == "max_length":
                        print("enable_padding(max_length=X) is deprecated, use enable_padding(length=X) instead")
                    given["length"] = optional(uint64)(value)
                else:
                    print(f"Ignored unknown kwarg option {key}")
        self._set_padding(PaddingParams(**given))

    def no_padding(self) -> None:
        """Pad nothing."""
        self._set_padding(None)

    def _set_padding(self, params: PaddingParams | None) -> None:
        with self._lock:
            if self._unpublished is not None:
                self._unpublished = self._unpublished[0], params
            self._padding = params
            self._settings_changed()

    @property
    def padding(self) -> dict[str, Any] | None:
        """The padding settings, or None."""
        padding = self._padding
        if padding is None:
            return None
        return {
            "length": padding.length,
            "pad_to_multiple_of": padding.pad_to_multiple_of,
            "pad_id": padding.pad_id,
            "pad_token": padding.pad_token,
            "pad_type_id": padding.pad_type_id,
            "direction": padding.direction,
        }

    # ---- encoding: objects -------------------------------------------------------------------------------------------

    def _encode_any(self, sequence: Any, pair: Any, is_pretokenized: Any, add_special_tokens: Any) -> Encoding:
        """`encode` of what is more than one short text."""
        engine, settings = self._ready()
        return _encode.encode(engine, settings, sequence, pair, boolean(is_pretokenized), boolean(add_special_tokens))

    def encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Encode many inputs, each as `encode` takes it; a pair is a tuple of two."""
        engine, settings = self._ready()
        return _encode.encode_batch(engine, settings, input, boolean(is_pretokenized), boolean(add_special_tokens))

    def encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """As `encode_batch`, without tokens, offsets and word ids."""
        engine, settings = self._ready()
        return _encode.encode_batch(
            engine, settings, input, boolean(is_pretokenized), boolean(add_special_tokens), True
        )

    def async_encode(
        self, sequence: Any, pair: Any | None = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[Encoding]:
        """`encode` in a thread; an awaitable."""
        return _in_thread(self.encode, sequence, pair, is_pretokenized, add_special_tokens)

    def async_encode_batch(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[list[Encoding]]:
        """`encode_batch` in a thread; an awaitable."""
        return _in_thread(self.encode_batch, input, is_pretokenized, add_special_tokens)

    def async_encode_batch_fast(
        self, input: Sequence[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Future[list[Encoding]]:
        """`encode_batch_fast` in a thread; an awaitable."""
        return _in_thread(self.encode_batch_fast, input, is_pretokenized, add_special_tokens)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncate, add special tokens and pad, as `encode` does at its end."""
        _, settings = self._ready()
        return _post_process(
            encoding, pair, boolean(add_special_tokens), settings.truncation, settings.padding, settings.post_processor
        )

    def tokenize(self, text: str, add_special_tokens: bool = False) -> list[str]:
        """The tokens of one text, as strings.

        >>> from hftok.models import WordLevel
        >>> Tokenizer(WordLevel({"a": 0}, unk_token="a")).tokenize("a")
        ['a']
        """
        return self.encode(text, None, False, add_special_tokens).tokens

    # ---- encoding: arrays --------------------------------------------------------------------------------------------

    def _ids_by_encoding(self, state: tuple[Engine, _encode.Settings], text: str, add_special_tokens: bool) -> Ids:
        """`encode_ids` where a post-processor is more than tokens around a sequence."""
        return np.asarray(_unbounded(*state, [text], add_special_tokens)[0].ids, dtype=np.uint32)

    def encode_batch_ids(
        self,
        texts: Iterable[str],
        add_special_tokens: bool = True,
        return_offsets: bool = False,
        parallel: bool | None = None,
    ) -> RaggedIds:
        """The ids of many texts in one array. Truncation and padding settings do not apply.

        Args:
            texts: a list (or iterable) of str.
            add_special_tokens: as in `encode`.
            return_offsets: also the character span of every token, int32 (n, 2).
            parallel: True, False, or None: several threads, unless TOKENIZERS_PARALLELISM or a worker process says no.

        Raises:
            TypeError: an item is no str, or holds a lone surrogate; its position is named.
        """
        engine, settings = self._ready()
        affix = settings.affix(add_special_tokens)
        if affix is None or (return_offsets and settings.trims):
            return RaggedIds._of_encodings(_unbounded(engine, settings, texts, add_special_tokens), return_offsets)
        return RaggedIds(*_rows.encode_batch(engine, texts, affix, return_offsets, parallel))

    def encode_files(
        self,
        source: FileSource | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        add_special_tokens: bool = True,
        return_offsets: bool = False,
        parallel: bool | None = None,
    ) -> RaggedIds:
        """The ids of every document of files, which are memory-mapped and cut into documents in the core.

        Args:
            source: a TextFileSource, a JsonlFileSource, or paths: each file one document.
            add_special_tokens, return_offsets, parallel: as in `encode_batch_ids`.

        Raises:
            OSError: a file cannot be read.
            ValueError: a line of a JsonlFileSource is not what it should be.
        """
        documents = (source if isinstance(source, FileSource) else FileSource(source))._documents(parallel)
        engine, settings = self._ready()
        affix = settings.affix(add_special_tokens)
        if affix is None or (return_offsets and settings.trims):
            encodings = _unbounded(engine, settings, documents.texts(), add_special_tokens)
            return RaggedIds._of_encodings(encodings, return_offsets)
        return RaggedIds(*_rows.encode_documents(engine, documents, affix, return_offsets, parallel))

    def encode_batch_padded(
        self,
        texts: Sequence[str],
        pairs: Sequence[str] | None = None,
        max_length: int | None = None,
        *,
        truncation: Literal["longest_first", "only_first", "only_second"] = "longest_first",
        padding: Literal["longest", "max_length"] = "longest",
        pad_to_multiple_of: int | None = None,
        padding_side: Literal["right", "left"] = "right",
        truncation_side: Literal["right", "left"] = "right",
        pad_id: int | None = None,
        pad_type_id: int | None = None,
        add_special_tokens: bool = True,
        return_attention_mask: bool = True,
        return_token_type_ids: bool = True,
        return_special_tokens_mask: bool = False,
        parallel: bool | None = None,
    ) -> Padded:
        """Matrices for a model: int64 (rows, width), written once, by several threads.

        Args:
            texts: a list of str; pairs: the second sequence of each row.
            max_length: cut rows to this many tokens, special tokens included; None: cut nothing.
            truncation: which sequence of a pair is cut.
            padding: to the longest row, or to max_length.
            pad_to_multiple_of: round the width up.
            pad_id, pad_type_id: what to pad with; default: the padding settings' or 0.
            return_attention_mask, return_token_type_ids, return_special_tokens_mask: which matrices beside input_ids.

        Returns:
            "input_ids", "token_type_ids", "attention_mask", "special_tokens_mask", as asked for.

        Raises:
            TypeError: a text is no str. ValueError: settings that contradict each other.
            Exception: truncation cannot reach its length (only_first, only_second).

        >>> from hftok.models import WordLevel
        >>> from hftok.pre_tokenizers import WhitespaceSplit
        >>> tokenizer = Tokenizer(WordLevel({"a": 1, "b": 2}, unk_token="a"))
        >>> tokenizer.pre_tokenizer = WhitespaceSplit()
        >>> tokenizer.encode_batch_padded(["a b", "b"])["input_ids"].tolist()
        [[1, 2], [2, 0]]
        """
        params = self._padding or PaddingParams()
        if padding not in ("longest", "max_length"):
            raise ValueError(f"padding must be 'longest' or 'max_length', not {padding!r}")
        if padding == "max_length" and max_length is None:
            raise ValueError("padding='max_length' needs max_length")
        engine, settings = self._ready()
        return _rows.encode_padded(
            engine,
            settings,
            texts,
            pairs,
            None
            if max_length is None
            else (uint64(max_length), _strategy(truncation), _truncation_side(truncation_side)),
            uint64(max_length) if padding == "max_length" and max_length is not None else None,
            pad_to_multiple_of or 0,
            _padding_side(padding_side),
            params.pad_id if pad_id is None else uint32(pad_id),
            params.pad_type_id if pad_type_id is None else uint32(pad_type_id),
            add_special_tokens,
            return_attention_mask,
            return_token_type_ids,
            return_special_tokens_mask,
            parallel,
        )

    def count_tokens(self, texts: Sequence[str], add_special_tokens: bool = True, parallel: bool | None = None) -> Any:
        """The number of tokens of each text, int64 (rows,)."""
        engine, settings = self._ready()
        affix = settings.affix(add_special_tokens)
        if affix is None:
            encodings = _unbounded(engine, settings, texts, add_special_tokens)
            return np.array([len(encoding) for encoding in encodings], dtype=np.int64)
        return _rows.count_tokens(engine, texts, affix, parallel)

    def clear_cache(self) -> None:
        """Forget the words that encoding has cached. Output does not change."""
        self._ready()[0].clear_cache()

    def session(self, add_special_tokens: bool = True) -> Session:
        """A growing text: `append` gives the ids of all of it at the cost of what is new (see `hftok.session`).

        >>> from hftok.models import WordLevel
        >>> from hftok.pre_tokenizers import WhitespaceSplit
        >>> tokenizer = Tokenizer(WordLevel({"a": 1, "b": 2}, unk_token="a"))
        >>> tokenizer.pre_tokenizer = WhitespaceSplit()
        >>> prompt = tokenizer.session()
        >>> prompt.append("a b").tolist(), prompt.append(" a").tolist()
        ([1, 2], [1, 2, 1])
        """
        from hftok.session import Session

        return Session(self, boolean(add_special_tokens))

    # ---- decoding ----------------------------------------------------------------------------------------------------

    def _decoding(self) -> IdDecoder:
        decoder = self._id_decoder
        if decoder is None:
            with self._lock:
                added, by_id = self._added, self._model._vocab_r()
                size = max(max(by_id, default=-1), max(added.tokens, default=-1)) + 1

                def id_to_token(id_: int) -> str | None:
                    token = added.string(id_)
                    return by_id.get(id_) if token is None else token

                program = DecoderProgram(None if self._decoder is None else self._decoder._spec())
                decoder = self._id_decoder = IdDecoder(program, id_to_token, size, added.special)
        return decoder

    def decode(self, ids: Sequence[int] | npt.NDArray[np.integer[Any]], skip_special_tokens: bool = True) -> str:
        """The text of ids; ids without a token are left out.

        Raises:
            TypeError, OverflowError: an id is no number below 2**32.
        """
        if skip_special_tokens is not True and skip_special_tokens is not False:
            skip_special_tokens = boolean(skip_special_tokens)
        decoder = self._id_decoder
        return (self._decoding() if decoder is None else decoder).decode(ids, skip_special_tokens)

    def decode_batch(self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """The texts of many sequences of ids."""
        return self._decoding().decode_batch(sequences, boolean(skip_special_tokens))

    def async_decode_batch(
        self, sequences: Sequence[Sequence[int]], skip_special_tokens: bool = True
    ) -> Future[list[str]]:
        """`decode_batch` in a thread; an awaitable."""
        return _in_thread(self.decode_batch, sequences, skip_special_tokens)

    # ---- training ----------------------------------------------------------------------------------------------------

    def train(
        self,
        files: Sequence[str],
        trainer: Trainer | None = None,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
    ) -> None:
        """Train the model on text files, of which every line is a text.

        Args:
            files: their paths.
            trainer: which model, with which settings; None: the default of this tokenizer's model.
            threads: at most so many; None: as many as this process may use. The result is the same for any number.
            memory_limit: bytes that word counts and pair index may take, roughly; less memory costs time.

        Raises:
            TypeError: `files` is no list of str. OverflowError: the counts pass 2**63 - 1 in sum.
            Exception: a file cannot be read or is not UTF-8 (the position is named); the trainer is for another kind of
                model; a Unigram vocabulary has no room for all characters.

        An error, or Ctrl-C, leaves the tokenizer as it was.
        """
        from hftok.training.driver import train_on_texts, trainer_for
        from hftok.training.texts import FileTexts

        with naming("files"):
            paths = sequence_of(string)(files)
        texts = FileTexts(paths)
        train_on_texts(self, trainer_for(self, trainer), texts, threads, memory_limit)

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        trainer: Trainer | None = None,
        length: int | None = None,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
    ) -> None:
        """Train the model on texts.

        Args:
            iterator: anything that can be iterated over and gives str, or iterables of str.
            trainer, threads, memory_limit: as in `train`.
            length: how many items there are, for the progress bar.

        Raises:
            TypeError: an item is neither. UnicodeEncodeError: a lone surrogate. Otherwise as `train`, and what the
                iterator raises.

        >>> from hftok import models, pre_tokenizers, trainers
        >>> tokenizer = Tokenizer(models.BPE())
        >>> tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        >>> tokenizer.train_from_iterator(["low lower lowest"], trainers.BpeTrainer(vocab_size=9))
        >>> tokenizer.encode("lowest").tokens
        ['low', 'e', 's', 't']
        """
        from hftok.training.driver import train_on_texts, trainer_for
        from hftok.training.texts import IteratedTexts

        with naming("length"):
            length = optional(uint64)(length)
        texts = IteratedTexts(iterator, length)
        train_on_texts(self, trainer_for(self, trainer), texts, threads, memory_limit)

    def train_from_counts(
        self,
        counts: Any,
        trainer: Trainer | None = None,
        *,
        threads: int | None = None,
        memory_limit: int | None = None,
    ) -> None:
        """Train the model on words that have been counted before, with the result of training on their texts.

        Args:
            counts: WordCounts, the path of saved ones, a mapping from word to count, (word, count) pairs, or a tuple of
                two arrays (words, counts), NumPy or Arrow. Words are what the model would get.
            trainer, threads, memory_limit: as in `train`.

        Raises:
            TypeError: counts are none of these. OverflowError: they pass 2**63 - 1 in sum. OSError: no such file.
            ValueError: a count is negative, a file is damaged, or the words were counted with another normalizer or
                pre-tokenizer than this tokenizer has.
            Exception: as `train`.

        >>> from hftok import models, trainers
        >>> tokenizer = Tokenizer(models.BPE())
        >>> tokenizer.train_from_counts({"low": 5, "lower": 2}, trainers.BpeTrainer(vocab_size=7))
        >>> tokenizer.encode("low").tokens
        ['low']
        """
        from hftok.training.driver import train_on_counts, trainer_for
        from hftok.training.interchange import counts_argument

        trainer = trainer_for(self, trainer)
        train_on_counts(self, trainer, counts_argument(counts, self), threads, memory_limit)

    def extend_vocabulary(
        self, counts: Any, trainer: Trainer, *, threads: int | None = None, memory_limit: int | None = None
    ) -> None:
        """Go on training a BPE: keep vocabulary and merges, and learn more of them.

        With the words and the settings of the first training this gives what one training with the larger vocab_size
        gives; with other words, a vocabulary that is fitted to them from there on.

        Args:
            counts: as in `train_from_counts`.
            trainer: a BpeTrainer; its vocab_size counts all tokens, old and new. Its special tokens and characters that
                are new get the first new ids; with limit_alphabet (any) no new characters are taken.
            threads, memory_limit: as in `train`.

        Raises:
            TypeError: the trainer is for another kind of model. Otherwise as `train_from_counts`.
            ValueError: the model has affixes, or a vocabulary that training cannot have made.

        >>> from hftok import models, trainers
        >>> tokenizer = Tokenizer(models.BPE())
        >>> counts = {"low": 5, "lower": 2}
        >>> tokenizer.train_from_counts(counts, trainers.BpeTrainer(vocab_size=6))
        >>> tokenizer.extend_vocabulary(counts, trainers.BpeTrainer(vocab_size=8))
        >>> tokenizer.encode("lower").tokens
        ['low', 'er']
        """
        from hftok.training.driver import trainer_for
        from hftok.training.extension import extend
        from hftok.training.interchange import counts_argument

        trainer = trainer_for(self, trainer)
        extend(self, trainer, counts_argument(counts, self), threads, memory_limit)

    def cut_vocabulary(self, vocab_size: int) -> None:
        """Make the vocabulary of a trained BPE smaller: what training with this vocab_size would have given.

        Special tokens and characters are kept, even where they alone are more.

        Raises:
            ValueError: the model has affixes, or a vocabulary that training cannot have made; or a token that was added
                later has an id in the part that would go.
        """
        from hftok.training.extension import cut

        with naming("vocab_size"):
            vocab_size = uint64(vocab_size)
        cut(self, vocab_size)

    def _put_in_place(self, fields: dict[str, Any], special_tokens: Sequence[AddedToken]) -> None:
        """Give the model the fields that training has made, and add the trainer's special tokens."""
        with self._lock:
            model = self._model
            changed = model._of_description(model._kind()._updated(model._description(), fields))
            normalize = None if self._normalizer is None else self._normalizer.normalize_str
            added, _ = self._added.with_tokens(special_tokens, changed._find, changed._vocab_size(), normalize)
            # What can fail has been done.
            self._added = added
            model._cell().set(changed._description())
            self._component_changed()

    # ---- other doors -------------------------------------------------------------------------------------------------

    def as_hf(self, **kwargs: Any) -> Any:
        """A transformers tokenizer on this one: a real subclass of the class that it replaces (see `hftok.hf`).

        Args:
            kwargs: as for `PreTrainedTokenizerFast(tokenizer_object=..., **kwargs)`: special tokens, ...
        """
        from hftok.hf import wrap

        return wrap(self, **kwargs)

    def as_tiktoken(self, name: str | None = None) -> tiktoken.Encoding:
        """A tiktoken Encoding (see `hftok.tiktoken`) with this tokenizer's ids. All added tokens become special tokens.

        Args:
            name: the Encoding's name; by default "tokenizer".

        Raises:
            UnsupportedTokenizerError: an Encoding cannot say what this tokenizer does. It needs a byte-level BPE whose
                merges are in the order of ids, and a pre-tokenizer that is one pattern; no normalizer.

        >>> from hftok import Tokenizer, models, pre_tokenizers
        >>> vocab = {c: i for i, c in enumerate(pre_tokenizers.ByteLevel.alphabet())} | {"hi": 256}
        >>> tok = Tokenizer(models.BPE(vocab, [("h", "i")]))
        >>> tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        >>> tok.as_tiktoken().encode("hi you")
        [256, 32, 121, 111, 117]
        """
        from hftok.tiktoken.conversion import as_tiktoken

        return as_tiktoken(self, name)

    def to_tiktoken(self, name: str | None = None) -> Any:
        """An Encoding of the package tiktoken, which must be installed: for code that wants an object of its own.
        `as_tiktoken` gives one of ours, which has the same methods.

        Args:
            name: the Encoding's name; by default "tokenizer".

        Raises:
            UnsupportedTokenizerError: see `as_tiktoken`; or one special token begins with another, and tiktoken would
                find the shorter one.
            ImportError: tiktoken is not installed.
        """
        from hftok.tiktoken.conversion import to_tiktoken

        return to_tiktoken(self, name)

    def save_tiktoken(self, path: str | os.PathLike[str]) -> None:
        """Write the tokens and their ranks to a file as tiktoken's `load_tiktoken_bpe` reads it: a line for each, its
        bytes as base64, a blank, the rank. Special tokens and the pattern are not part of such a file.

        Raises:
            UnsupportedTokenizerError: see `as_tiktoken`.
            OSError: the file cannot be written.
        """
        from hftok.tiktoken.conversion import save_tiktoken

        save_tiktoken(self, path)


def _added_tokens(tokens: Sequence[str | AddedToken], special: bool) -> list[AddedToken]:
    if not isinstance(tokens, list):
        raise not_instance(tokens, "list")
    result = []
    for token in tokens:
        if isinstance(token, str) and _has_utf8(token):
            result.append(AddedToken._of(token, special))
            continue
        own = own_added_token(token, special)
        if own is None:
            raise TypeError("Input must be a List[Union[str, AddedToken]]")
        result.append(own)
    return result


def _has_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unbounded(
    engine: Engine, settings: _encode.Settings, texts: Iterable[str], add_special_tokens: bool
) -> list[Encoding]:
    """Encodings without truncation and padding, for post-processors that are more than tokens around a sequence."""
    if isinstance(texts, str):
        raise TypeError("texts must be a list of str, not one str: wrap it in a list")
    counts = settings.added(False), settings.added(True)
    bare = _encode.Settings(settings.post_processor, None, None, False, counts)
    return _encode.encode_batch(engine, bare, list(texts), False, add_special_tokens)


def _in_thread(function: Callable[..., R], *args: Any) -> Future[R]:
    import asyncio

    return asyncio.get_running_loop().run_in_executor(None, function, *args)
