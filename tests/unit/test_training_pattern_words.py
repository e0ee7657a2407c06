"""The matches of the byte-level patterns found by hand, against the reference's regular expressions and rustbpe's."""

import random

import pytest
import rustbpe
import tokenizers as reference
from hftok._core.scanners.pattern_words import _rules, is_known, pieces

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
RUSTBPE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
NANOCHAT = RUSTBPE.replace("{1,3}", "{1,2}")
TIKTOKEN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s"
)
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# One or more of every kind of character, those that contractions are made of, and the borders of the fast tests.
CHARACTERS = (
    "   \t\n\r\x0b\x1c\x85\u00a0\u2028\u3000'''sStTmMdDrReEvVlLaAbBſßǅʰªא漢一龥䷿䷀鿿\ua000"
    "01²Ⅷ٣!/.-_€\u0301\u0903\u20dd\U0001f600\U0001d400\U00020000\u0378\x00\x7f"
)


def texts(seed: int, number: int) -> list[str]:
    rng = random.Random(seed)
    made = []
    for _ in range(number):
        letters = rng.sample(CHARACTERS, rng.randint(2, 12)) if rng.random() < 0.7 else CHARACTERS
        made.append("".join(rng.choices(letters, k=rng.randint(1, 14))))
    return made


@pytest.mark.parametrize("pattern", [GPT2, LLAMA3, QWEN2, RUSTBPE, NANOCHAT, O200K, R50K])
def test_equal_to_the_references_split(pattern: str) -> None:
    split = reference.pre_tokenizers.Split(reference.Regex(pattern), "isolated")
    for text in texts(1, 4000):
        assert pieces(pattern, text) == [piece for piece, _ in split.pre_tokenize_str(text)], repr(text)


@pytest.mark.parametrize("pattern", [GPT2, RUSTBPE, NANOCHAT, TIKTOKEN, R50K, O200K])
def test_equal_to_rustbpes_split(pattern: str) -> None:
    trained = rustbpe.Tokenizer()
    # Every piece of the text becomes a token of its own: as many merges as there can be.
    for text in texts(2, 400):
        trained.train_from_iterator([text], 256 + 100, pattern=pattern)
        found = pieces(pattern, text, True)
        assert "".join(found) == text
        ids = [trained.encode(piece) for piece in found]
        assert trained.encode(text) == [id_ for piece in ids for id_ in piece], repr(text)
        assert all(len(piece) == 1 for piece in ids), repr(text)


def test_every_character_has_its_kind() -> None:
    """Alone, between letters, and behind a blank, each code point is split as the reference splits it."""
    split = reference.pre_tokenizers.Split(reference.Regex(O200K), "isolated")
    for start in range(0, 0x110000, 256):
        characters = [chr(c) for c in range(start, start + 256) if not 0xD800 <= c < 0xE000]
        text = "".join(f"{c}a {c}B{c}\n" for c in characters)
        if not text or (start > 0x32000 and not 0xE0000 <= start < 0xE0200 and start % 0x4000):
            continue
        assert pieces(O200K, text) == [piece for piece, _ in split.pre_tokenize_str(text)]


def test_patterns_that_an_engine_reads_otherwise_are_left_alone() -> None:
    assert is_known(TIKTOKEN, True)
    assert not is_known(TIKTOKEN, False)
    assert not is_known(r"\p{L}+")
    with pytest.raises(ValueError, match="none of the patterns"):
        pieces("a", "a")


def test_every_known_spelling_means_what_its_rule_says() -> None:
    sample = texts(3, 60)
    rng = random.Random(4)
    for pattern in rng.sample(sorted(_rules(False)), 40):
        split = reference.pre_tokenizers.Split(reference.Regex(pattern), "isolated")
        for text in sample:
            assert pieces(pattern, text) == [piece for piece, _ in split.pre_tokenize_str(text)], (pattern, text)
