"""Texts for the grids: ordinary ones, strange ones, and random ones; all made here, the random ones from seeds."""
# ruff: noqa: E501 (escaped, some of these strings would be longer still)

from __future__ import annotations

import pathlib
import random
import unicodedata
from functools import cache

import hftok

# Each line holds strings of one kind of trouble.
STRANGE: dict[str, list[str]] = {
    "empty": ["", " ", "  ", "\n", "\t\n\r ", "\u00a0", "\u3000"],
    "accents": ["café naïve Ångström", "e\u0301le\u0301ve", "o\u0308\u0323 o\u0323\u0308", "Ấ ặ ữ", "ça, garçon; Łódź ø đ ħ"],
    "marks": [
        "a\u0301",
        "\u0301",
        "\u0301a",
        " \u0301 b",
        "a\u0301\u0302\u0303\u0304b",
        "x\u20e3 \u0488a",
        "1\u20e3",
        "נִקּוּד",
        "क्षि हिन्दी",
        "ก็ ที่",
        "a" + "\u0301" * 40 + "b",
        "\u1100\u1161\u11a8",
    ],
    "chinese": ["中文分词", "中a文b", "a中", "中 文", "𠀀𠮷野家", "豈更車", "。，！？「」", "日本語ひらがなカタカナ", "〇一二㐀龦"],
    "korean": ["한국어 텍스트", "한국어 자모", "ᄀᄀᄀ"],
    "emoji": ["👍", "👍🏽", "👨‍👩‍👧‍👦", "🇫🇮🇯🇵", "❤️ ❤", "a👍b", "☃️☂", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "✊🏿✊🏻"],
    "control": ["a\x00b", "\x00", "a\x01b\x1fc", "a\x7fb", "a\x80b\x9fc", "\ufffd", "a\ufffdb", "\x1b[1mbold\x1b[0m", "a\x0bb\x0cc"],
    "zero width": ["a\u200bb", "\u200b", "a\u200db", "\u200c\u200d", "a\u00adb", "\ufeffstart", "a\u2060b", "\u200ea\u200f", "\u034f"],
    "private": ["\ue000", "a\ue000b", "\U000f0000", "\ufdd0\uffff\U0010ffff", "\U000e0041", "\u0378"],
    "blanks": [
        "a\u00a0b",
        "a\u2003b\u2009c",
        "a\u202fb",
        "a\u3000b",
        "a\u1680b",
        "a\u180eb",
        "a\u2028b\u2029c",
        "a\x85b",
        "a\x1cb\x1dc",
        "a\r\nb\rc",
        "   a   b   ",
        "\u205fa",
    ],
    "case": ["ΟΔΟΣ ΣΑΣ Σ ασ ΑΣ.", "İSTANBUL ıi Iı", "i\u0307", "ǅ ǆ Ǆ", "ﬁ ﬂ ﬃ ﬀ", "ß ẞ STRASSE", "ⅠⅡⅷ Ⓐⓑ", "ŉ ǰ ΐ", "K Å Ω", "ꭰᎠᏸ"],
    "compatibility": ["ﷺ", "１２３ ％ Ａ", "½ ¾ ² ₃", "㎏ ㌔ ㍿", "™ ℠ № ℡", "…‥", "ｶﾞｷﾞ", "ſ ẛ̣"],
    "punctuation": ["a.b,c!d?", "...", "a--b", "$5.00 + 3% = #1 ^_^ `x` ~|<>", "«a» “b” ‘c’ „d“", "¿qué? ¡sí!", "a_b-c/d\\e", "§¶†‡•", "৳€₹", "'s n't"],
    "digits": ["1234567890", "3.14e-10", "٣٤٥", "१२३", "𝟏𝟐𝟑", "a1b22c333", "½¼", "Ⅷ", "2024-02-29T23:59:59Z"],
    "long": ["a" * 99, "a" * 100, "a" * 101, "ab" * 300, "é" * 120, "中" * 70, "x" * 1000, "un" * 60 + "able", "1" * 150, "." * 200],
    "special": [
        "[CLS]",
        "[SEP][SEP]",
        "a[MASK]b",
        "[ MASK ]",
        "[mask]",
        "[MASK",
        "MASK]",
        "x [UNK] y",
        "[PAD] [PAD]",
        "[[MASK]]",
        "[MASK][MASK]",
        " [MASK] ",
        "\t[MASK]\n",
        "[MÁSK]",
        "[MASK]s",
    ],
    "bytes": ["ÿ þ Ā ā", "\u07ff\u0800", "\uffff\U00010000", "\u007f\u0080"],
    "pieces": ["##able", "un ##able", "##", "#", "a##b", "## able"],
}  # fmt: skip

# Text in which the added tokens of grid_setups.py are found, and nearly found.
ADDED = [
    "<a>", "<a", "<ab>", "<abc>", "x<a>y", "<a><a>", "<a> <ab> <abc>", "<A>", " <a> ", "<<a>>", "<a>.", "<abc", "<ab <a>",
    "new york", "New York", "new  york", "in new york city", "newyork", "anew york", "new yorker", "\tnew york\n",
    "word", "words", "a word.", "sword", "word word", "word\u0301", "_word_", "1word", "中word中", "word\u200b",
    "<left> x", "a  <left>  b", "\n<left>", "a<left>b", "<right>  x", "a <right>\u00a0\n b", "<right>", "<both>", "a  <both>  b",
    "<both>  <both>", "  <left>  <right>  <both>  ", "<both>\u3000x", "x\u200b<both>", "état", "ÉTAT", "e\u0301tat", "Etat",
    "l'état, c'est", "ETAT", "étatisme", "σας ΣΑΣ", "ΣΑΣ.", "İx", "i\u0307x", "istanbul", "中国", "我在中国", "中 国", "👍🏽", "👍",
    "a👍b", "👍🏽👍", "~", "a~b", "~~", "ab~ ~c", "ﬁn", "fin", "\u200b|", "a\u200b|b", "<a>état<both> new york~word",
]  # fmt: skip


def strange() -> list[str]:
    """Every strange string."""
    return [text for texts in STRANGE.values() for text in texts] + ADDED


def glued(separator: str = "") -> str:
    """All of them in one text."""
    return separator.join(strange())


@cache
def ordinary() -> tuple[str, ...]:
    """Sentences and lines in many languages: the texts that ship with the package, in pieces."""
    path = pathlib.Path(hftok.__file__).parent / "data" / "demo_texts.txt"
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    pieces = []
    for line in lines:
        words = line.split(" ")
        size = max(len(words) // 3, 1)
        pieces += [" ".join(words[i : i + size]) for i in range(0, len(words), size)]
    return tuple(dict.fromkeys(lines + pieces))


# ---- random documents

_RANGES = [
    (0x20, 0x7F), (0x20, 0x7F), (0x20, 0x7F), (0x00, 0x20), (0x80, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x780),
    (0x900, 0xE80), (0x1100, 0x1200), (0x1E00, 0x2000), (0x2000, 0x2070), (0x2070, 0x2500), (0x2600, 0x27C0), (0x3000, 0x3100),
    (0x3130, 0x3400), (0x3400, 0xA000), (0xAC00, 0xD7A4), (0xF900, 0xFB50), (0xFB50, 0x10000), (0x10000, 0x10800), (0x1D400, 0x1D800),
    (0x1F000, 0x1FA00), (0x20000, 0x2FA20), (0xE0000, 0xE0200), (0x0, 0x110000),
]  # fmt: skip
_BLANKS = " \t\n\r\u00a0\u2003\u3000\x0b\x85\u200b\u2028"


def random_text(rng: random.Random, size: int) -> str:
    """Random characters of a few ranges, with blanks, marks, and pieces of the strange strings between them."""
    ranges = rng.sample(_RANGES, rng.randrange(1, 5))
    strings = strange()
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        kind = rng.random()
        if kind < 0.6:
            low, high = rng.choice(ranges)
            parts.append("".join(_scalar(rng, low, high) for _ in range(rng.randrange(1, 12))))
        elif kind < 0.8:
            parts.append(rng.choice(_BLANKS) * rng.choice((1, 1, 1, 2, 5)))
        elif kind < 0.9:
            parts.append(rng.choice(strings))
        elif kind < 0.95:
            parts.append(unicodedata.normalize("NFD", rng.choice(ordinary())[:20]))
        else:
            parts.append(rng.choice(ordinary())[: rng.randrange(1, 40)])
    return "".join(parts)


def _scalar(rng: random.Random, low: int, high: int) -> str:
    code = rng.randrange(low, high)
    return "\u0301" if 0xD800 <= code < 0xE000 else chr(code)


@cache
def random_texts(seed: int, count: int, size: int) -> tuple[str, ...]:
    """`count` different random texts of about up to `size` characters."""
    rng = random.Random(seed)
    texts: dict[str, None] = {}
    while len(texts) < count:
        texts[random_text(rng, rng.randrange(1, size))] = None
    return tuple(texts)


@cache
def grid_texts() -> tuple[str, ...]:
    """The texts of the grids, each once: several hundred."""
    short = [text for text in ordinary() if len(text) <= 120]
    return tuple(dict.fromkeys([*strange(), *short, *random_texts(1, 120, 60)]))
