"""Pipelines and texts for the training tests, and the word counts that the reference's trainers keep."""

from __future__ import annotations

import json
import random
from typing import Any

import tokenizers as reference

import hftok

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(add_prefix_space: bool = False, use_regex: bool = True) -> dict[str, Any]:
    return {
        "type": "ByteLevel",
        "add_prefix_space": add_prefix_space,
        "trim_offsets": True,
        "use_regex": use_regex,
    }


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def metaspace(scheme: str = "always", splits: bool = True, replacement: str = "▁") -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": splits}


BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
PRE_TOKENIZERS: dict[str, Any] = {
    "none": None,
    "bytelevel": byte_level(),
    "bytelevel-prefix": byte_level(True),
    "bytelevel-whole": byte_level(False, False),
    "whitespace": {"type": "Whitespace"},
    "whitespace-split": {"type": "WhitespaceSplit"},
    "bert": {"type": "BertPreTokenizer"},
    "metaspace": metaspace(),
    "metaspace-first": metaspace("first"),
    "metaspace-never": metaspace("never", replacement="_"),
    "metaspace-whole": metaspace("always", False),
    "punctuation": {"type": "Punctuation", "behavior": "Isolated"},
    "digits-punctuation": sequence(
        {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"}
    ),
    "digits-bytelevel": sequence({"type": "Digits", "individual_digits": True}, byte_level()),
    "digit-runs-bytelevel": sequence({"type": "Digits", "individual_digits": False}, byte_level()),
    "cl100k": sequence(split(CL100K), byte_level(False, False)),
    "o200k": sequence(split(O200K), byte_level(False, False)),
    "gpt2-characters": split(GPT2),
    "gpt2-removed": split(GPT2, "Removed", True),
    "pattern-removed": split(r"\s+", "Removed"),
    "merged": split(r"[ae]", "MergedWithPrevious"),
    "unicode-scripts": {"type": "UnicodeScripts"},
    "char-delimiter": {"type": "CharDelimiterSplit", "delimiter": "e"},
    "bytelevel-then-digits": sequence(byte_level(), {"type": "Digits", "individual_digits": True}),
}
NORMALIZERS: dict[str, Any] = {
    "none": None,
    "bert": BERT,
    "nfkc-lower": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
    "nfc": {"type": "NFC"},
    "nfd-strip": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}]},
    "replace": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "prepend": {"type": "Prepend", "prepend": "x"},
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
}
MODELS: dict[str, Any] = {
    "bpe": {"type": "BPE", "vocab": {}, "merges": []},
    "wordpiece": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {},
    },
    "wordlevel": {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"},
    "unigram": {"type": "Unigram", "unk_id": None, "vocab": []},
}


def description(
    model: Any = "bpe", pre_tokenizer: Any = None, normalizer: Any = None, added: list[dict[str, Any]] | None = None
) -> str:
    """The text of a tokenizer.json; components by the names of the tables above, or as they are written."""
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added or [],
            "normalizer": NORMALIZERS[normalizer] if isinstance(normalizer, str) else normalizer,
            "pre_tokenizer": PRE_TOKENIZERS[pre_tokenizer] if isinstance(pre_tokenizer, str) else pre_tokenizer,
            "post_processor": None,
            "decoder": None,
            "model": MODELS[model] if isinstance(model, str) else model,
        }
    )


def both(text: str) -> tuple[hftok.Tokenizer, reference.Tokenizer]:
    return hftok.Tokenizer.from_str(text), reference.Tokenizer.from_str(text)


def added_token(content: str, id_: int, **flags: bool) -> dict[str, Any]:
    return {
        "id": id_,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": True,
        "special": False,
        **flags,
    }


def reference_words(tokenizer: reference.Tokenizer, texts: list[str]) -> dict[str, int]:
    """What the reference counts: its trainers keep the words, and write them into their pickles."""
    trainer = reference.trainers.WordLevelTrainer(vocab_size=1, show_progress=False)
    tokenizer = reference.Tokenizer.from_str(tokenizer.to_str())
    tokenizer.model = reference.models.WordLevel({}, "x")
    tokenizer.train_from_iterator(texts, trainer)
    words: dict[str, int] = json.loads(trainer.__getstate__())["WordLevelTrainer"]["words"]
    return words


PIECES = [
    *"aabbcdeeffoost  ..,'\"-_/1234\n\n\t\r",
    *["the", " the", "low", " lower", " newest", "'s", "'LL", "'ve", "  ", "\r\n", "12", " 3456", "!?", "-->"],
    *[
        "é",
        "É",
        "e\u0301",
        "ß",
        "İ",
        "ﬁ",
        "中",
        "文字",
        "，",
        "。",
        "ありがとう",
        "ทดสอบ",
        "\u3000",
        "\u00a0",
        "\u2028",
    ],
    *["🙂", "👩\u200d👩\u200d👧", "①", "²", "٣", "▁", "_", "Ġ", "##", "\x00", "\x85", "\u200d", "\ufeff", "ǅ"],
    *["<x>", "[MASK]", " foo", "foo "],
]


def random_text(rng: random.Random, most: int = 60) -> str:
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(most)))
