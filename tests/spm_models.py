"""SentencePiece model files for tests: written by hand, or trained where the package sentencepiece is there."""

from __future__ import annotations

import functools
import io
import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def message(*fields: tuple[int, int | float | str | bytes]) -> bytes:
    """A Protocol Buffers message of (field number, value)."""
    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def model(pieces, trainer=(), normalizer=()) -> bytes:
    """A model file of (piece, score, type) and fields of its two specifications."""
    fields = [(1, message((1, piece), (2, float(score)), (3, kind))) for piece, score, kind in pieces]
    return message(*fields, (2, message(*trainer)), (3, message(*normalizer)))


TEXTS = [
    "The quick brown fox jumps over the lazy dog, and the other dogs sleep.",
    "``Quoted'' text: naïve café — ﬁne; 1,200 of 3.5 (x+y)",
    "中文 日本語 テスト 한국어",
    "Hello   world\tand more",
    "pack my box with five dozen liquor jugs; sphinx of black quartz, judge my vow",
    "how vexingly quick daft zebras jump, 0123456789 times",
]

# name: how it is trained
TRAINED = {
    "unigram": {"model_type": "unigram", "vocab_size": 120},
    "unigram_bytes": {
        "model_type": "unigram",
        "byte_fallback": True,
        "vocab_size": 400,
        "user_defined_symbols": ["<sep>", "<cls>", "\t"],
        "control_symbols": ["<mask>"],
    },
    "bpe": {
        "model_type": "bpe",
        "byte_fallback": True,
        "vocab_size": 420,
        "user_defined_symbols": ["<x>", "  "],
        "control_symbols": ["<c>"],
        "normalization_rule_name": "identity",
        "split_digits": True,
    },
    "bpe_nmt": {"model_type": "bpe", "vocab_size": 160, "treat_whitespace_as_suffix": True},
    "t5": {"model_type": "unigram", "vocab_size": 120, "pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "albert": {
        "model_type": "unigram",
        "vocab_size": 130,
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": 2,
        "eos_id": 3,
        "bos_piece": "[CLS]",
        "eos_piece": "[SEP]",
        "control_symbols": ["[MASK]"],
        "add_dummy_prefix": False,
    },
    "pegasus": {
        "model_type": "unigram",
        "vocab_size": 130,
        "pad_id": 0,
        "eos_id": 1,
        "unk_id": 2,
        "bos_id": -1,
        "user_defined_symbols": ["<mask_1>"],
        "remove_extra_whitespaces": False,
    },
}


@functools.cache
def trained(name: str) -> bytes:
    import sentencepiece

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 20),
        model_writer=out,
        minloglevel=2,
        hard_vocab_limit=False,
        num_threads=1,
        **TRAINED[name],
    )
    return out.getvalue()
