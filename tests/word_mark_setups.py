"""Tokenizers whose words carry marks (Metaspace), and the texts that are hard for them: for the scanner's tests.

A setup is the JSON of a tokenizer, so that hftok and the reference read the same thing. NORMALIZERS and PRE_TOKENIZERS
hold what the scanner serves.
"""

from __future__ import annotations

import base64
import json
import random
from functools import cache
from typing import Any

import tokenizers as reference
from charsmaps import charsmap

import hftok

MARK = "\u2581"

# Keys of all kinds: removed, one to several, pairs with an extending character, ASCII, what becomes white space.
RULES = {
    "ﬁ": "fi", "ﬃ": "ffi", "é": "e", "e\u0301": "E", "\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ",
    "\r": " ", "１": "1",
    "½": "1/2", "™": "TM", "\u200b": " ", "\x01": "", "\x7f": "", "A": "aa", "中": "zhong", "©": "(c)",
    "😀": ":)", "ñ": "ñ",
    "\u200c": " ", "´": " \u0301", "a\u20d7": "→", "ｶ\uff9e": "ガ", "\uff9e": "\u3099", "Å": "Å",
    "ς": "\u2581", "o\u0327": "",
}  # fmt: skip
CHARSMAP = charsmap(RULES)


def precompiled(rules: dict[str, str]) -> dict[str, Any]:
    data = CHARSMAP if rules is RULES else charsmap(rules)
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "normalizers": list(parts)}


def split_words(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


def metaspace(scheme: str = "always", mark: str = MARK, split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": split}


MAP = precompiled(RULES)
STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
STRIP_RIGHT = {"type": "Strip", "strip_left": False, "strip_right": True}
SPACES = replace(" {2,}", " ", "Regex")
QUOTES = [replace("``", '"'), replace("''", '"')]
WHITE = {"type": "WhitespaceSplit"}

NORMALIZERS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "map": MAP,
    "map, spaces": sequence(MAP, SPACES),
    "strip, map, spaces": sequence(STRIP, MAP, SPACES),
    "strip, spaces to marks": sequence(STRIP_RIGHT, replace(" {2,}", MARK, "Regex")),
    "quotes, nfkd, accents, map": sequence(*QUOTES, {"type": "NFKD"}, {"type": "StripAccents"}, MAP),
    "quotes, nfkd, accents, lowercase, map, spaces": sequence(
        *QUOTES, {"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}, MAP, SPACES
    ),
    "quotes": sequence(replace("``", "'"), replace("''", "<"), replace("ab", "ba"), SPACES),
    "nmt, nfkc, spaces": sequence({"type": "Nmt"}, {"type": "NFKC"}, SPACES),
    "nfkc": {"type": "NFKC"},
    "nfc, letter": sequence({"type": "NFC"}, replace("a", "b c"), SPACES),
    "map, lowercase": sequence(MAP, {"type": "Lowercase"}),
}

PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "white, always": split_words(WHITE, metaspace()),
    "white, first": split_words(WHITE, metaspace("first")),
    "white, never": split_words(WHITE, metaspace("never")),
    "bert, always": split_words({"type": "BertPreTokenizer"}, metaspace()),
    "always": metaspace(),
    "first": metaspace("first"),
    "never": metaspace("never"),
    "other mark": metaspace("always", "_"),
}

PIECES = [
    ("<unk>", 0.0), (MARK, -2.0), ("_", -2.5), (MARK + "a", -3.0), (MARK + "the", -4.0), ("the", -4.5),
    ("a", -3.0), ("b", -3.1),
    ("e", -3.2), ("E", -9.0), ("h", -3.3), ("i", -3.4), ("fi", -4.0), ("t", -3.5), ("o", -3.6),
    ("\u0301", -6.0), ("中", -5.0),
    ("国", -5.1), ("中国", -7.0), ('"', -4.0), ("'", -4.1), (":)", -6.0), ("word", -6.5),
    (MARK + "word", -6.4), ("wo", -5.0),
    ("rd", -5.0), (MARK + MARK, -8.0), ("→", -8.0), ("1", -4.0), ("/", -4.0), ("aa", -5.0), ("z", -4.0),
    (".", -3.0), (",", -3.0),
]  # fmt: skip

ADDED = {
    "none": [],
    "some": [
        ("<mask>", {"lstrip": True}),
        ("</s>", {}),
        ("<r>", {"rstrip": True}),
        ("new", {"single_word": True}),
        ("(", {}),
    ],
    "normalized": [("<mask>", {"lstrip": True}), ("The", {"normalized": True}), ("[U]", {"normalized": True})],
}


def added(kind: str, first_id: int) -> list[dict[str, Any]]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return [{**plain, **flags, "id": first_id + i, "content": text} for i, (text, flags) in enumerate(ADDED[kind])]


def unigram() -> dict[str, Any]:
    return {"type": "Unigram", "unk_id": 0, "vocab": PIECES, "byte_fallback": False}


def byte_pairs() -> dict[str, Any]:
    vocab = {
        piece: i
        for i, piece in enumerate(dict.fromkeys([p for p, _ in PIECES if len(p) == 1] + ["<unk>", "th", "the"]))
    }
    vocab[MARK + "the"] = len(vocab)
    merges = [["t", "h"], ["th", "e"], [MARK, "the"]]
    return {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>", "fuse_unk": True}


def definition(normalizer: Any, pre_tokenizer: Any, tokens: str = "some", model: Any = None) -> str:
    model = model or unigram()
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added(tokens, len(model["vocab"])),
            "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": None,
            "decoder": None,
            "model": model,
        }
    )


@cache
def setup(normalizer: str, pre_tokenizer: str, tokens: str = "some", bpe: bool = False) -> str:
    """The JSON of one combination."""
    parts = NORMALIZERS[normalizer], PRE_TOKENIZERS[pre_tokenizer]
    return definition(*parts, tokens, byte_pairs() if bpe else None)


@cache
def ours(*key: Any) -> hftok.Tokenizer:
    return hftok.Tokenizer.from_str(setup(*key))


@cache
def theirs(*key: Any) -> reference.Tokenizer:
    return reference.Tokenizer.from_str(setup(*key))


def combinations() -> list[tuple[str, str]]:
    """Every normalizer with every pre-tokenizer that the scanner serves together."""
    return [(n, p) for n in NORMALIZERS for p in PRE_TOKENIZERS if not ("to marks" in n and p != "always")]


BLANKS = [
    " ", " ", " ", " ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u00a0",
    "\u1680", "\u2003",
    "\u2028", "\u3000", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad",
]  # fmt: skip
PARTS = [
    *"aeiothbdAEZ019.,-_'\"`/", "''", "``", "'''", "ab", "abab", "the", "The", "word", "new", MARK,
    MARK + MARK, " " + MARK,
    "\u0301", "\u0327", "\u0308", "\u0345", "\u05b0", "\u064b", "\u0653", "\u093c", "\u0e33", "\u20d7",
    "\u20e3", "\ufe0f",
    "\u3099", "\uff9e", "ｶ", "\u1100", "\u1161", "\u11a8", "각", "가", "\U0001f1e6", "\U0001f1e7", "👍",
    "\U0001f3fb", "❤",
    "©", "™", "ﬁ", "ﬃ", "½", "１", "Å", "é", "ñ", "ß", "İ", "Σ", "ς", "中", "国", "。", "क", "ा", "्", "ษ", "ไ",
    "א", "ب",
    "\u0600", "\u0604 ", "\u06dd", "\x00", "\x01", "\x07", "\x7f", "\x8f", "\ufffd", "\uffff", "\U0010ffff",
    "´", "¨", "😀",
    "<mask>", " <mask> ", "</s>", "<r>", " <r> ", "(", "[U]", "[u]", "<",
]  # fmt: skip


def random_texts(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(n):
        pool = BLANKS + PARTS if rng.random() < 0.5 else rng.sample(PARTS, 8) + rng.sample(BLANKS, 4) + [" "] * 3
        texts.append("".join(rng.choice(pool) for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 20, 60]))))
    return texts
