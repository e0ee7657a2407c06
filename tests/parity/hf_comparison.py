"""Comparing transformers' tokenizers with those of hftok.hf: results, warnings, log lines, errors, settings shown."""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import logging
import os
import pathlib
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

import hftok
from hftok.testing import FIELDS, encoding_fields

os.environ["RUST_BACKTRACE"] = "0"  # the panics that the tests provoke are expected; keep the report readable

SPECIALS = {
    "unk_token": "[UNK]",
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
VOCAB = """
the of and to in is you that it he was for on are as with his they at be this have from or one had by word but not what
all were we when your can said there use an each which she do how their if will up other about out many then them these
so some her would make like him into time has look two more write go see number no way could people my than first water
been call who oil its now find long down day did get come made may part hello world quick brown fox lazy dog 京 都
東 é ß ##s ##ing ##ed ##er ##ly ##a ##e ##i ##o ##n ##t ##r ##京
a b c d e f g h i j k l m n o p q r s t u v w x y z 0 1 2 3 4 5 6 7 8 9 . , ! ? ' - [ ] ( )
##b ##c ##d ##f ##g ##h ##j ##k ##l ##m ##p ##q ##u ##v ##w ##x ##y ##z ##0 ##1 ##2 ##3 ##4 ##5 ##6 ##7 ##8 ##9
"""

TEXTS = [
    "hello world",
    "",
    " ",
    "The quick brown fox, the lazy dog!",
    "Café naïve ÉTÉ — don't: 12th [MASK] un[MASK]ed [SEP]",
    "京都 東京 hello😀 world👩‍👩‍👧",
    "unaffable \t lines\nand more.  Two   spaces ",
    "a" * 120,
    "word " * 60,
    "The people of the world could find water and oil down there, but what they made was not what you would like to"
    " see. Each of them had one number; when all numbers were written down, the first was called the longest day.",
    "\u0130stanbul \u00df \ufb01 \u2126 \u0301 x\u0000y\u200b",
]


def wordpiece(**parts: Any) -> tokenizers.Tokenizer:
    """A small BERT tokenizer of the reference."""
    vocab: dict[str, int] = {}
    for token in [*SPECIALS.values(), *VOCAB.split()]:
        vocab.setdefault(token, len(vocab))
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=50))
    tokenizer.normalizer = parts.get("normalizer", normalizers.BertNormalizer())
    tokenizer.pre_tokenizer = parts.get("pre_tokenizer", pre_tokenizers.BertPreTokenizer())
    tokenizer.decoder = decoders.WordPiece()
    if parts.get("template", True):
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS]:0 $A:0 [SEP]:0",
            pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
            special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])],
        )
    elif parts.get("post_processor") is not None:
        tokenizer.post_processor = parts["post_processor"]
    tokenizer.add_special_tokens(list(SPECIALS.values()))
    return tokenizer


@functools.cache
def small_file(name: str) -> str:
    """A tokenizer.json that a class of that name can work with."""
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>"]
    words = list(dict.fromkeys([*VOCAB.split(), "▁hello", "▁world", "▁", "▁a", "▁b", "▁c"]))
    if name.startswith(("MBart", "LayoutXLM", "Camem", "Barthez", "XLMR", "BigBird", "RemBert")):
        kind = "scores"
    elif re.search("GPT2|Roberta|Bart|LED|Longformer|LayoutLMv3|Markup|Whisper", name):
        kind = "bytes"
    elif re.search("Bert|DPR|LayoutLM|Electra|Funnel|MPNet|Lxmert|Splinter", name):
        kind = "pieces"
    else:
        kind = "scores"
    if kind == "bytes":
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        tokenizer = tokenizers.Tokenizer(models.BPE({t: i for i, t in enumerate([*marks, *alphabet])}, []))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    elif kind == "pieces":
        vocab = {t: i for i, t in enumerate(dict.fromkeys([*marks, *words]))}
        tokenizer = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
    else:
        scores = [(t, 0.0 if i < len(marks) else -1.0 - i / 100) for i, t in enumerate(dict.fromkeys([*marks, *words]))]
        tokenizer = tokenizers.Tokenizer(models.Unigram(scores, 3, False))
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(marks)
    file = tempfile.NamedTemporaryFile(suffix=".json", delete=False)  # noqa: SIM115
    file.close()
    atexit.register(os.unlink, file.name)
    tokenizer.save(file.name)
    return file.name


def real_folder(name: str) -> pathlib.Path | None:
    """The folder of a real tokenizer, where they are at hand."""
    base = os.environ.get("HFTOK_TEST_DATA")
    folder = pathlib.Path(base, "tokenizers", name) if base else None
    return folder if folder is not None and folder.is_dir() else None


def of_encoding(encoding: Any) -> dict[str, Any]:
    return encoding_fields(encoding, (*FIELDS, "n_sequences"))


def plain(value: Any, encodings: bool = True) -> Any:
    """A value with its types, in a form that == compares."""
    if isinstance(value, transformers.BatchEncoding):
        data = [(key, plain(item)) for key, item in value.items()]
        made = value.encodings
        found = None if made is None or not encodings else (type(made), [of_encoding(e) for e in made])
        return type(value), data, value.n_sequences, found, value.is_fast
    if isinstance(value, torch.Tensor):
        return "tensor", value.dtype, tuple(value.shape), value.tolist(), value.is_contiguous(), value.requires_grad
    if isinstance(value, np.ndarray):
        items = [plain(item) for item in value] if value.dtype == object else value.tolist()
        return "ndarray", value.dtype, value.shape, items
    if isinstance(value, (tokenizers.Encoding, hftok.Encoding)):
        return "encoding", of_encoding(value)
    if isinstance(value, list) and set(map(type, value)) == {int}:
        return "ints", value
    if isinstance(value, (list, tuple)):
        return type(value), [plain(item) for item in value]
    if isinstance(value, dict):
        return type(value), [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, (tokenizers.AddedToken, hftok.AddedToken)):
        return type(value), str(value), repr(value)
    return type(value), value


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelname, record.getMessage()))


def outcome(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    """What a call does: (what it gives or raises, warnings, log lines)."""
    handler = Lines()
    logging.Logger.warning_once.cache_clear()  # type: ignore[attr-defined]  # transformers' own
    logger = logging.getLogger("transformers")
    logger.addHandler(handler)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                result = "value", plain(function(*args, **kwargs))
            except Exception as error:
                result = "error", type(error)
            except BaseException as error:  # a panic of the reference
                result = "panic", type(error).__name__
    finally:
        logger.removeHandler(handler)
    return result, [(w.category, str(w.message)) for w in seen], handler.lines


def settings(tokenizer: Any) -> tuple[Any, ...]:
    """What is visible on the backend after a call."""
    backend = tokenizer.backend_tokenizer
    return backend.truncation, backend.padding, backend.encode_special_tokens, dict(tokenizer.deprecation_warnings)


ENCODING = ("encode", "encode_batch", "encode_batch_fast", "decode", "decode_batch", "train", "train_from_iterator")


@contextmanager
def reference_off() -> Iterator[None]:
    """The reference's encoding, decoding and training raise inside this block: hftok must not lean on them."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("hftok called the reference")

    methods = gc.get_referents(tokenizers.Tokenizer.__dict__)[0]
    before = {name: methods[name] for name in ENCODING}
    methods.update(dict.fromkeys(ENCODING, refuse))
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(tokenizers.Tokenizer))
    try:
        yield
    finally:
        methods.update(before)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(tokenizers.Tokenizer))
