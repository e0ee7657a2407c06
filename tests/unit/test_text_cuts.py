"""Where texts may be cut: each cut that is claimed gives the ids of the whole, for pipelines put together at random."""

from __future__ import annotations

import itertools

import pytest

from hftok import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers
from hftok._core import regex_syntax
from hftok._core.regex_neighbours import Neighbours, NotAnalysed
from hftok.normalizers import (
    NFC,
    NFD,
    NFKC,
    BertNormalizer,
    Lowercase,
    Prepend,
    Replace,
    Strip,
    StripAccents,
)
from hftok.pre_tokenizers import (
    BertPreTokenizer,
    ByteLevel,
    Digits,
    Metaspace,
    Punctuation,
    Split,
    Whitespace,
    WhitespaceSplit,
)
from hftok.text_cuts import TextCuts
from hftok.tiktoken.openai_public import CL100K, O200K

SAMPLES = [
    *["a", "b", "ab", "A", " ", "  ", "\n", "\t", " \n ", "1", "23", "1234567", ".", ",", "'s", "'", "``", '"', "é"],
    *[
        "e\u0301",
        "\u0301",
        "中",
        "中文，",
        "か",
        "\u3099",
        "▁",
        " ▁",
        "ß",
        "İ",
        "\u00a0",
        "\u3000",
        "👍🏽",
        "\r\n",
        "x y",
    ],
    *["<m>", "<s>", "<n>"],
]

NORMALIZERS = [
    [],
    [],
    [NFC()],
    [NFKC()],
    [NFD(), StripAccents(), Lowercase()],
    [BertNormalizer()],
    [Replace(" ", "▁")],
    [Prepend("▁"), Replace(" ", "▁")],
    [Strip(), Replace(Regex(" {2,}"), " ")],
    [Strip(False, True), Replace(Regex(" {2,}"), "▁")],
    [Replace("``", '"'), Lowercase()],
    [Replace(Regex(r"\s+"), " "), Lowercase()],
    [Replace("a", "")],
    [Replace("b a", "c")],
    [Replace(Regex(r"b\s"), "c")],
    [Replace(Regex("^▁+$"), "")],
    [Replace(" ", "  ")],
]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PRE_TOKENIZERS = [
    [],
    [ByteLevel(add_prefix_space=False)],
    [ByteLevel(add_prefix_space=True)],
    [ByteLevel(add_prefix_space=False, use_regex=False)],
    [Metaspace()],
    [Metaspace(prepend_scheme="first")],
    [Metaspace(prepend_scheme="first", split=False)],
    [Metaspace(prepend_scheme="never", split=False)],
    [WhitespaceSplit()],
    [WhitespaceSplit(), Metaspace()],
    [BertPreTokenizer()],
    [Whitespace()],
    [Punctuation("contiguous"), ByteLevel(add_prefix_space=False), Digits(False)],
    [Digits(True), ByteLevel(add_prefix_space=False)],
    [Split(Regex(O200K), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)],
    [Split(Regex(CL100K.replace("(?i:[sdmt]|ll|ve|re)", "(?i:'s|'t)")), "removed", invert=True)],
    [Split(Regex(r"\p{N}{1,3}"), "isolated"), Split(Regex("[一-龥]+"), "isolated"), Split(Regex(GPT2), "isolated")],
    [Split(" ", "merged_with_previous")],
    [Split(" ", "merged_with_next")],
    [Split(" ", "isolated")],
    [Split(" ", "removed")],
    [Split(Regex(r"b\s"), "isolated")],
    [Split(Regex(r"a(?= b)"), "isolated")],
    [Split(Regex(r"a(?=\s)|[^a]+"), "isolated")],
    [Split(Regex(r"\w+$|\w|\W"), "isolated")],
    [Split(Regex(r"(?<=a) |[^ ]+"), "isolated")],
    [Split(Regex(r"\S+|\s+"), "contiguous")],
]
ADDED = [
    [],
    [AddedToken("<m>", lstrip=True, normalized=False)],
    [AddedToken("<m>", rstrip=True, normalized=False)],
    [AddedToken("<m>", lstrip=True, rstrip=True, special=True), AddedToken("<s>", special=True)],
    [AddedToken("ab", single_word=True, normalized=False)],
    [AddedToken("a b", normalized=False), AddedToken("  ", normalized=False)],
    [AddedToken("A b", normalized=True)],
    [AddedToken("  ", normalized=True), AddedToken("<n>", normalized=True)],
    [AddedToken(" a", normalized=False), AddedToken("b ", normalized=False)],
    [AddedToken(" ", single_word=True, normalized=False)],
    [AddedToken("<n>", rstrip=True, normalized=True), AddedToken("1", normalized=True, single_word=True)],
]


def bpe(rng, **options):
    """Random merges over the letters of the samples, of byte-level letters and of marks."""
    letters = sorted({c for sample in SAMPLES for c in sample} | set("ĠĊÃ©▁"))
    vocab = {c: i for i, c in enumerate(letters) if rng.random() < 0.9}
    tokens, merges = list(vocab), []
    for _ in range(60):
        left, right = rng.choice(tokens), rng.choice(tokens[-40:])
        if left + right not in vocab and len(left + right) < 6:
            vocab[left + right] = len(letters) + len(merges)
            merges.append((left, right))
            tokens.append(left + right)
    return models.BPE(vocab, merges, unk_token=tokens[0], fuse_unk=rng.random() < 0.5, **options)


def pipeline(rng):
    kind = rng.random()
    if kind < 0.7:
        model = bpe(rng, ignore_merges=rng.random() < 0.2)
    elif kind < 0.85:
        model = models.WordPiece({"[UNK]": 0, "a": 1, "##b": 2, "ab": 3, "##1": 4, "▁": 5, "▁a": 6}, unk_token="[UNK]")
    else:
        pieces = [("<unk>", 0.0), ("▁", -1.0), ("a", -2.0), ("ab", -2.5), ("▁a", -2.25), ("b▁", -2.0), ("中", -3.0)]
        model = models.Unigram(pieces, 0, False)
    tokenizer = Tokenizer(model)
    steps, stages = rng.choice(NORMALIZERS), rng.choice(PRE_TOKENIZERS)
    if steps:
        tokenizer.normalizer = steps[0] if len(steps) == 1 else normalizers.Sequence(steps)
    if stages:
        tokenizer.pre_tokenizer = stages[0] if len(stages) == 1 else pre_tokenizers.Sequence(stages)
    tokenizer.add_tokens(rng.choice(ADDED))
    return tokenizer


@pytest.mark.parametrize("part", range(4))
def test_cuts_of_random_pipelines(part, rng):
    known = cuts = 0
    for _ in range(80):
        tokenizer = pipeline(rng)
        rules = TextCuts.of(tokenizer)
        if rules is None:
            continue
        known += 1
        for _ in range(8):
            text = "".join(rng.choice(SAMPLES) for _ in range(rng.randint(2, 14)))
            whole = tokenizer.encode_ids(text).tolist()
            end = len(text)
            while end:
                # Claims are made for a text whatever follows, so a part of it gives the same.
                at = rules.last(text[:end], 0)
                if not at:
                    break
                cuts += 1
                left = tokenizer.encode_ids(text[:at]).tolist()
                right = tokenizer.encode_ids(text[at + rules.skip :]).tolist()
                assert left + right == whole, (text, at, tokenizer)
                end = at
    assert known > 30
    assert cuts > 150


def test_what_is_not_known():
    tokenizer = Tokenizer(models.Unigram([("<unk>", 0.0), ("▁", -1.0), ("a", -1.0)], 0, False))
    rules = TextCuts.of(tokenizer)
    assert rules is None or rules.last("a a a", 0) == 0  # the text is one piece
    tokenizer.normalizer = normalizers.Normalizer.custom(object())
    assert TextCuts.of(tokenizer) is None
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = Split(Regex(r"(?<=a) "), "isolated")
    assert TextCuts.of(tokenizer) is None
    tokenizer = Tokenizer(models.BPE({"a": 0}, [], dropout=0.5))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    assert TextCuts.of(tokenizer) is None


def test_common_pipelines_have_cuts(rng):
    """Not only are cuts right, there are some."""
    text = "some words, and others"
    for pre_tokenizer in (ByteLevel(add_prefix_space=False), WhitespaceSplit(), Metaspace(), BertPreTokenizer()):
        for normalizer in (None, NFC(), Lowercase(), BertNormalizer()):
            tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
            tokenizer.pre_tokenizer = pre_tokenizer
            if normalizer is not None:
                tokenizer.normalizer = normalizer
            assert TextCuts.of(tokenizer).last(text, 0) == text.rindex(" ")
    # Without blanks: between words and punctuation.
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    assert TextCuts.of(tokenizer).last("中文，日本語", 0) == 3
    assert TextCuts.of(tokenizer).last("中文日本語", 0) == 0


# ---- patterns


@pytest.mark.parametrize("pattern", [GPT2, O200K, r"\w+|[^\w\s]+", r"a(?!b)|.", r"(?i:st)|.", r"[ab]{1,3}c?|\s+$|\s"])
def test_neighbours(pattern, rng):
    """Matches before a cut stay what they are, and end there, whatever comes behind it."""
    split = Split(Regex(pattern), "isolated")

    def pieces(text):
        return [piece for piece, _ in split.pre_tokenize_str(text)]

    neighbours = Neighbours(regex_syntax.parse(pattern))
    alphabet = "ab c1'stﬆ.\n 中"
    seen = 0
    for _ in range(400):
        text = "".join(rng.choice(alphabet) for _ in range(rng.randint(2, 12)))
        for at in range(1, len(text)):
            if not neighbours.boundary(text[at - 1], text[at]):
                continue
            seen += 1
            assert pieces(text) == pieces(text[:at]) + pieces(text[at:]), (text, at)
    assert seen > 50


@pytest.mark.parametrize("pattern", [r"(?<=a)b", r"\bab", r"^a|b", r"a(?=bc)|.", r"a*", r"(a)\1"])
def test_patterns_that_look_around(pattern):
    with pytest.raises(NotAnalysed):
        Neighbours(regex_syntax.parse(pattern))


def test_pairs_are_symmetric_in_nothing():
    neighbours = Neighbours(regex_syntax.parse("ab|c"))
    apart = {x + y: neighbours.apart(x, y) for x, y in itertools.product("abc", repeat=2)}
    assert [pair for pair, value in apart.items() if not value] == ["ab"]
