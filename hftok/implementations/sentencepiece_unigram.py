"""Unigram on text whose blanks are marked, as SentencePiece does it; and SentencePiece's own model files."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from hftok import decoders, normalizers, pre_tokenizers
from hftok.added_tokens import AddedToken
from hftok.implementations.base_tokenizer import BaseTokenizer, Texts
from hftok.models import Unigram
from hftok.patterns import Regex
from hftok.tokenizer import Tokenizer
from hftok.trainers import UnigramTrainer

__all__ = ["SentencePieceUnigramTokenizer"]


class SentencePieceUnigramTokenizer(BaseTokenizer):
    """A Unigram tokenizer in SentencePiece's manner, from a vocabulary or to be trained.

    Args:
        vocab: (token, score) in the order of the ids; None: an empty model, for training.
        replacement: the character that stands for a blank.
        add_prefix_space: put one before the text.

    >>> tokenizer = SentencePieceUnigramTokenizer([("▁", -3.0), ("a", -2.0), ("▁a", -1.0)])
    >>> tokenizer.encode("a  a").tokens
    ['▁a', '▁a']
    """

    def __init__(
        self,
        vocab: list[tuple[str, float]] | None = None,
        replacement: str = "▁",
        add_prefix_space: bool = True,
    ) -> None:
        tokenizer = Tokenizer(Unigram() if vocab is None else Unigram(vocab))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        _mark_blanks(tokenizer, replacement, add_prefix_space)
        super().__init__(
            tokenizer,
            {
                "model": "SentencePieceUnigram",
                "replacement": replacement,
                "add_prefix_space": add_prefix_space,
            },
        )

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: list[str | AddedToken] | None = None,
        initial_alphabet: list[str] | None = None,
        unk_token: str | None = None,
    ) -> None:
        """Train the model on text files (one path or several). Arguments: see `trainers.UnigramTrainer`."""
        trainer = UnigramTrainer(
            vocab_size=vocab_size,
            special_tokens=[] if special_tokens is None else special_tokens,
            show_progress=show_progress,
            initial_alphabet=[] if initial_alphabet is None else initial_alphabet,
            unk_token=unk_token,
        )
        self._train(files, trainer)

    def train_from_iterator(
        self,
        iterator: Texts,
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: list[str | AddedToken] | None = None,
        initial_alphabet: list[str] | None = None,
        unk_token: str | None = None,
        length: int | None = None,
    ) -> None:
        """Train the model on texts, or on batches of texts. length: how many there are, for the progress bar."""
        trainer = UnigramTrainer(
            vocab_size=vocab_size,
            special_tokens=[] if special_tokens is None else special_tokens,
            show_progress=show_progress,
            initial_alphabet=[] if initial_alphabet is None else initial_alphabet,
            unk_token=unk_token,
        )
        self._train_from_iterator(iterator, trainer, length)

    @staticmethod
    def from_spm(filename: str) -> SentencePieceUnigramTokenizer:
        """A tokenizer of a SentencePiece model file. No other package is needed.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no SentencePiece model.
            Exception: its algorithm is not Unigram.
        """
        with open(filename, "rb") as file:
            model = _SentencePieceModel(file.read(), filename)
        if model.model_type != 1:
            raise Exception(
                f"{filename}: a `Unigram` model is wanted, but this file was trained with a different algorithm"
            )
        tokenizer = Tokenizer(Unigram(model.pieces, model.unk_id, model.byte_fallback))
        spaces: normalizers.Normalizer = normalizers.Replace(Regex(" {2,}"), " ")
        parts = [normalizers.Precompiled(model.charsmap), spaces] if model.charsmap else [spaces]
        tokenizer.normalizer = normalizers.Sequence(parts)
        _mark_blanks(tokenizer, "▁", True)
        self = SentencePieceUnigramTokenizer.__new__(SentencePieceUnigramTokenizer)
        BaseTokenizer.__init__(self, tokenizer, {"model": "SentencePieceUnigram"})
        return self


def _mark_blanks(tokenizer: Tokenizer, replacement: str, add_prefix_space: bool) -> None:
    scheme = "always" if add_prefix_space else "never"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)


# ---- the model file: a Protocol Buffers message

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class _SentencePieceModel:
    """The fields of a ModelProto that a Unigram tokenizer is made of.

    ModelProto: 1 = pieces (1 = piece, 2 = score), 2 = trainer_spec (3 = model_type, 35 = byte_fallback, 40 = unk_id),
    3 = normalizer_spec (2 = precompiled_charsmap). Fields left out have SentencePiece's defaults.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self.pieces: list[tuple[str, float]] = []
        self.model_type = 1
        self.unk_id = 0
        self.byte_fallback = False
        self.charsmap = b""
        try:
            for field, value in _fields(data):
                if field == 1 and isinstance(value, bytes):
                    self.pieces.append(_piece(value))
                elif field == 2 and isinstance(value, bytes):
                    for key, item in _fields(value):
                        if key == 3 and isinstance(item, int):
                            self.model_type = item
                        elif key == 35:
                            self.byte_fallback = bool(item)
                        elif key == 40 and isinstance(item, int):
                            self.unk_id = item
                elif field == 3 and isinstance(value, bytes):
                    for key, item in _fields(value):
                        if key == 2 and isinstance(item, bytes):
                            self.charsmap = item
            if not self.pieces:
                raise ValueError("it has no pieces")
        except (ValueError, struct.error) as error:
            raise ValueError(f"{name} is no SentencePiece model: {error}") from None


def _piece(data: bytes) -> tuple[str, float]:
    piece, score = "", 0.0
    for field, value in _fields(data):
        if field == 1 and isinstance(value, bytes):
            piece = value.decode()
        elif field == 2 and isinstance(value, bytes):
            score = struct.unpack("<f", value)[0]
    return piece, score


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) of a message: varints as int, everything else as its bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _varint(data, at)
            yield key >> 3, number
            continue
        if kind == _BYTES:
            size, at = _varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError(f"field {key >> 3} is of the unknown kind {kind}")
        if at + size > len(data):
            raise ValueError("it ends in the middle of a field")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise ValueError("it ends in the middle of a number")
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
    raise ValueError("a number of more than 64 bits")
