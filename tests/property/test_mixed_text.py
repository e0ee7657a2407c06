"""Scripts side by side: the scanner reads ASCII and longer characters of a stretch at once. It must give what the
reference gives, in every CPU tier, wherever a stretch begins and ends and whatever stands in it."""

from __future__ import annotations

import hashlib
import random

import pytest
from child_process import printed_by
from grid_checks import assert_rows
from grid_setups import ours, theirs

from hftok._core import cpu

NAMES = ["bert_uncased", "bert_cased", "bert_unclean", "added_flags", "added_normalized"]
PIECES = {
    "words": [
        "слово",
        "Ёлка",
        "привет",
        "λόγος",
        "ΣΊΣΥΦΟΣ",
        "שלום",
        "سلام",
        "naïve",
        "ǅ",
        "İi",
        "ß",
        "ﬁ",
        "Việt",
        "한국어",
        "각",
        "กา",
    ],
    "ideographs": ["中", "国文", "日本語", "漢字かな交じり", "鿕", "㐀", "龥"],
    "kana": ["ひらがな", "カタカナ", "ガ", "か\u3099", "ｶﾞ"],
    "vanish": ["\u200d", "\ufeff", "\u0301", "\u0327\u0301", "\xad", "\x01", "\x00", "\x7f", "\ufffd", "\u200b"],
    "blanks": [" ", "  ", "\u00a0", "\u3000", "\u2003", "\u2028", "\n", "\t", "\x85", "\x1c"],
    "marks": [".", "!?", "—", "«", "、", "。", "،", "…", "\u0589", "¿", "-", "'"],
    "ascii": ["a", "word", "The", "x9", "0", "ABC"],
    "beyond": ["😀", "𝒜", "🇩🇪", "👩\u200d🚀", "𠀀", "\U000e0001", "\uffff", "\ufffe"],
    "tokens": ["[CLS]", "[MASK]", "<ent>", "[", "<"],
}
MIXTURES = [
    {"words": 6, "blanks": 4, "marks": 1},
    {"words": 6, "blanks": 4, "marks": 1, "ascii": 2, "vanish": 1},
    {"ideographs": 6, "kana": 4, "marks": 1},
    {"ideographs": 6, "kana": 3, "blanks": 1, "words": 1, "ascii": 1, "beyond": 1},
    {"words": 5, "blanks": 3, "tokens": 1, "marks": 1, "ideographs": 1},
    {kind: 1 for kind in PIECES},
]


def texts_of(seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for mixture in MIXTURES:
        kinds, weights = list(mixture), list(mixture.values())
        for n in [*range(0, 24, 2), 40, 90, 400]:
            text = "".join(rng.choice(PIECES[kind]) for kind in rng.choices(kinds, weights, k=n))
            texts.append("a" * rng.randrange(3) + text)
    return texts


@pytest.mark.parametrize("name", NAMES)
def test_as_the_reference_has_it(name):
    one, other = ours(name), theirs(name)
    for seed in range(3):
        texts = texts_of(seed)
        expected = other.encode_batch(texts)
        for _ in range(2):  # pages of the table are made when first met
            assert_rows(one.encode_batch_ids(texts, return_offsets=True), expected, texts)
            assert_rows(one.encode_batch_ids(texts), expected, texts)
    for text in texts[::7]:
        mine, reference = one.encode(text), other.encode(text)
        assert (mine.tokens, mine.offsets, mine.word_ids) == (reference.tokens, reference.offsets, reference.word_ids)


@pytest.mark.parametrize("name", NAMES[:2])
def test_wherever_a_stretch_begins_and_ends(name):
    """Each text moved along by up to a block of 64 bytes, and cut off at every character of its first two."""
    one, other = ours(name), theirs(name)
    base = "Ёлка中国 ка\u0301к \u200dと, 한글—naïve 😀[MASK] ǅ\x00да\u3000нет«слово» "
    base += "İstanbul, 東京タワー ひらがなとカタカナ; ещё одно слово"
    texts = ["a" * shift + base for shift in range(65)] + [base[:end] for end in range(len(base))]
    texts += [("a" * shift + base) * 3 for shift in range(0, 65, 5)]
    expected = other.encode_batch(texts)
    assert_rows(one.encode_batch_ids(texts, return_offsets=True), expected, texts)
    assert_rows(one.encode_batch_ids(texts), expected, texts)


CHILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/property"]
from test_mixed_text import digests
print(digests())
"""


def digests() -> list[str]:
    found = []
    for name in NAMES:
        rows = ours(name).encode_batch_ids(texts_of(7), return_offsets=True)
        found.append(
            hashlib.sha256(rows.ids.tobytes() + rows.row_offsets.tobytes() + rows.offsets.tobytes()).hexdigest()
        )
    return found


def test_every_tier_gives_the_same():
    seen = {str(digests())} | {printed_by(CHILD, HFTOK_CPU=tier).strip() for tier in cpu.available()}
    assert len(seen) == 1
