"""Reading SentencePiece's model files, which are Protocol Buffers messages.

The message ModelProto has 1 = pieces (each 1 = piece, 2 = score, 3 = type), 2 = trainer_spec, 3 = normalizer_spec.
Fields that are left out have SentencePiece's defaults, fields that no tokenizer is made of are skipped.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

__all__ = ["CONTROL", "USER_DEFINED", "SentencePieceFile"]

# Types of pieces, and algorithms.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE, WORD, CHAR = range(1, 5)

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_TRAINER_NUMBERS = {3: "model_type", 40: "unk_id", 41: "bos_id", 42: "eos_id", 43: "pad_id"}
_TRAINER_STRINGS = {45: "unk_piece", 46: "bos_piece", 47: "eos_piece", 48: "pad_piece"}
_TRAINER_FLAGS = {24: "treat_whitespace_as_suffix", 35: "byte_fallback"}
_NORMALIZER_FLAGS = {3: "add_dummy_prefix", 4: "remove_extra_whitespaces", 5: "escape_whitespaces"}


class SentencePieceFile:
    """The fields of a model file.

    Args:
        data: the file's bytes.
        name: what it is called in messages.

    Raises:
        ValueError: they are no SentencePiece model; the message says why.

    >>> piece = b"\\x0a\\x01a" + b"\\x15\\x00\\x00\\x80\\xbf"
    >>> SentencePieceFile(b"\\x0a" + bytes([len(piece)]) + piece).pieces
    [('a', -1.0, 1)]
    """

    def __init__(self, data: bytes, name: str = "the file") -> None:
        self.pieces: list[tuple[str, float, int]] = []
        self.model_type = UNIGRAM
        self.unk_id, self.bos_id, self.eos_id, self.pad_id = 0, 1, 2, -1
        self.unk_piece, self.bos_piece, self.eos_piece, self.pad_piece = "<unk>", "<s>", "</s>", "<pad>"
        self.treat_whitespace_as_suffix = self.byte_fallback = False
        self.add_dummy_prefix = self.remove_extra_whitespaces = self.escape_whitespaces = True
        self.precompiled_charsmap = b""
        try:
            for field, value in _fields(data):
                if field == 1:
                    self.pieces.append(_piece(_message(value, "piece")))
                elif field == 2:
                    self._trainer_spec(_message(value, "trainer_spec"))
                elif field == 3:
                    self._normalizer_spec(_message(value, "normalizer_spec"))
            if not self.pieces:
                raise ValueError("it has no pieces")
            if self.model_type == UNIGRAM and not 0 <= self.unk_id < len(self.pieces):
                raise ValueError(f"unk_id is {self.unk_id}, but there are {len(self.pieces)} pieces")
        except ValueError as error:
            raise ValueError(f"{name} is no SentencePiece model: {error}") from None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> SentencePieceFile:
        """The model of a file. Raises OSError where it cannot be read, ValueError where it is none."""
        with open(path, "rb") as file:
            return cls(file.read(), os.fspath(path))

    def _trainer_spec(self, data: bytes) -> None:
        for field, value in _fields(data):
            if field in _TRAINER_NUMBERS:
                setattr(self, _TRAINER_NUMBERS[field], _int32(value))
            elif field in _TRAINER_STRINGS:
                setattr(self, _TRAINER_STRINGS[field], _message(value, "string").decode())
            elif field in _TRAINER_FLAGS:
                setattr(self, _TRAINER_FLAGS[field], bool(_int32(value)))

    def _normalizer_spec(self, data: bytes) -> None:
        for field, value in _fields(data):
            if field == 2:
                self.precompiled_charsmap = _message(value, "precompiled_charsmap")
            elif field in _NORMALIZER_FLAGS:
                setattr(self, _NORMALIZER_FLAGS[field], bool(_int32(value)))


def _piece(data: bytes) -> tuple[str, float, int]:
    text, score, kind = "", 0.0, NORMAL
    for field, value in _fields(data):
        if field == 1:
            text = _message(value, "string").decode()
        elif field == 2:
            if not isinstance(value, bytes) or len(value) != 4:
                raise ValueError("the score of a piece is no number")
            score = struct.unpack("<f", value)[0]
        elif field == 3:
            kind = _int32(value)
    return text, score, kind


def _message(value: int | bytes, what: str) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError(f"it has a number where a {what} belongs")
    return value


def _int32(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError("it has bytes where a number belongs")
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """(field number, value) of a message: varints as int, everything else as its bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if not key >> 3:
            raise ValueError("a field has the number 0")
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
