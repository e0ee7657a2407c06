"""What the tests of the exact path's text stage share: hard strings, specs, reading alignments off both sides."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import tokenizers as reference
from charsmaps import CHARSMAP
from tokenizers import Regex, normalizers, pre_tokenizers

from hftok._core import pretokenized
from hftok._core.normalizers import NormalizerProgram
from hftok._core.pre_tokenizers import PreTokenizerProgram

ATOMS = [
    *"aAbzZ019 .,!?_-'\"", "\t", "\n", "\r", "\r\n", "\x00", "\x01", "\x7f", "\x85", "\xa0", "é", "É", "e\u0301",
    "\u0301", "\u0316", "\u0327", "ü", "ñ", "ß", "ẞ", "İ", "ı", "Σ", "ς", "ﬁ", "ﬃ", "ſ", "Å", "\u212b", "\u2126", "中",
    "文", "字", "日", "の", "ア", "ー", "가", "각", "\u1100", "\u1161", "\u11a8", "\u200b", "\u200d", "\u200e",
    "\ufeff", "\ufffd", "▁", "😀", "👨\u200d👩\u200d👧", "🇩🇪", "\u2028", "\u3000", "\u1680", "۱", "１", "½", "²",
    "Ⅷ", "ا", "ء", "\u0653", "ש", "\u05b8", "क", "\u093f", "\u0915\u094d\u0937", "\u0344", "\u1e9b\u0323", "\ufdfa",
    "\u0f73", "\U0001d15e", "\u0958", "\u09dc", "\u0344\u0345", "can't", "the ", "１２", "a\u0315\u0300\u05ae\u0062",
    "©\u200d☺",
]  # fmt: skip

EVERYTHING = [cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000]


def adversarial(rng: random.Random, most: int = 14) -> str:
    return "".join(rng.choice(ATOMS) for _ in range(rng.randint(0, most)))


GLUED = "".join(ATOMS)


NORMALIZERS: list[tuple[Any, ...]] = [
    ("Lowercase",),
    ("NFC",),
    ("NFD",),
    ("NFKC",),
    ("NFKD",),
    ("StripAccents",),
    ("Nmt",),
    ("ByteLevel",),
    ("Strip", True, True),
    ("Strip", True, False),
    ("Strip", False, True),
    ("Strip", False, False),
    ("Prepend", "▁"),
    ("Prepend", "ab"),
    ("Precompiled", CHARSMAP),
    ("Replace", "String", " ", "▁"),
    ("Replace", "String", "a", "b"),
    ("Replace", "String", "é", "xyz"),
    ("Replace", "String", "a", ""),
    ("Replace", "String", "``", '"'),
    ("Replace", "Regex", r"\s+", " "),
    ("Replace", "Regex", r" {2,}", "▁"),
    ("Replace", "Regex", r"\p{L}\p{M}?", ""),
    ("BertNormalizer", True, True, None, True),
    ("BertNormalizer", True, True, None, False),
    ("BertNormalizer", False, True, True, False),
    ("BertNormalizer", True, False, False, True),
    ("BertNormalizer", False, False, False, False),
]

# Steps that leave text before the first character without a width, which the reference mostly panics on afterwards.
ZERO_WIDTH: list[tuple[Any, ...]] = [
    ("Replace", "Regex", "^", "X"),
    ("Replace", "Regex", "", "é"),
    ("Replace", "String", "", "__"),
    ("Prepend", ""),
]

PRE_TOKENIZERS: list[tuple[Any, ...]] = [
    ("BertPreTokenizer",),
    ("Whitespace",),
    ("WhitespaceSplit",),
    *[("Punctuation", b) for b in ("isolated", "removed", "contiguous", "merged_with_previous", "merged_with_next")],
    ("Digits", True),
    ("Digits", False),
    ("ByteLevel", True, True, True),
    ("ByteLevel", False, True, True),
    ("ByteLevel", True, True, False),
    ("ByteLevel", False, False, False),
    ("Metaspace", "▁", "always", True),
    ("Metaspace", "▁", "first", True),
    ("Metaspace", "_", "never", True),
    ("Metaspace", "▁", "always", False),
    ("Metaspace", "▁", "first", False),
    ("Split", "Regex", r"\p{L}+", "isolated", False),
    ("Split", "Regex", r"\s", "removed", True),
    ("Split", "Regex", r"[0-9]{1,3}", "contiguous", False),
    ("Split", "Regex", "", "removed", True),
    ("Split", "String", "a", "merged_with_next", False),
    ("Split", "String", "\n", "merged_with_previous", False),
    ("Split", "String", "", "isolated", False),
    ("CharDelimiterSplit", "é"),
    ("CharDelimiterSplit", " "),
    ("UnicodeScripts",),
    ("FixedLength", 3),
    ("FixedLength", 1),
]


def reference_normalizer(spec: tuple[Any, ...]) -> Any:
    name, *rest = spec
    if name == "Sequence":
        return normalizers.Sequence([reference_normalizer(part) for part in rest[0]])
    if name == "Replace":
        return normalizers.Replace(rest[1] if rest[0] == "String" else Regex(rest[1]), rest[2])
    return getattr(normalizers, name)(*rest)


def reference_pre_tokenizer(spec: tuple[Any, ...]) -> Any:
    name, *rest = spec
    if name == "Sequence":
        return pre_tokenizers.Sequence([reference_pre_tokenizer(part) for part in rest[0]])
    if name == "Split":
        return pre_tokenizers.Split(rest[1] if rest[0] == "String" else Regex(rest[1]), *rest[2:])
    return getattr(pre_tokenizers, name)(*rest)


def characters(token_type: Callable[..., Any]) -> Callable[[str], list[Any]]:
    """A model whose tokens are the characters: their offsets show the alignment."""

    def tokenize(text: str) -> list[Any]:
        tokens, at = [], 0
        for c in text:
            size = len(c.encode())
            tokens.append(token_type(0, c, (at, at + size)))
            at += size
        return tokens

    return tokenize


def outcome(make: Callable[[], Any]) -> Any:
    """What `make` returns, or "error": the reference panics where hftok raises, so types are not compared here."""
    try:
        return make()
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException:
        return "error"


def reference_alignment(text: str, normalizer: Any = None, pre_tokenizer: Any = None) -> Any:
    """Characters, their spans and words, and the splits, by the reference.

    The normalizer runs on a NormalizedString that `split` hands out: a panic under `normalize` would abort the process.
    """
    pretok = reference.PreTokenizedString(text)
    if normalizer is not None:
        step = reference_normalizer(normalizer)
        pretok.split(lambda _, n: (step.normalize(n), [n])[1])
    if pre_tokenizer is not None:
        reference_pre_tokenizer(pre_tokenizer).pre_tokenize(pretok)
    pretok.tokenize(characters(reference.Token))
    encoding = pretok.to_encoding()
    return encoding.tokens, encoding.offsets, encoding.word_ids, [(s, o) for s, o, _ in pretok.get_splits()]


def alignment(text: str, normalizer: Any = None, pre_tokenizer: Any = None) -> Any:
    """The same by hftok."""
    pretok = pretokenized.PreTokenizedString(text)
    if normalizer is not None:
        step = NormalizerProgram(normalizer)
        pretok.split(lambda _, n: (step.normalize(n), [n])[1])
    if pre_tokenizer is not None:
        PreTokenizerProgram(pre_tokenizer).pre_tokenize(pretok)
    pretok.tokenize(characters(pretokenized.Token))
    encoding = pretok.to_encoding()
    return encoding.tokens, encoding.offsets, encoding.word_ids, [(s, o) for s, o, _ in pretok.get_splits()]
