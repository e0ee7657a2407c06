"""Which pre-tokenizers the scanners of regular expressions serve: by what their patterns mean, in any spelling."""

from __future__ import annotations

import random

import pytest
from hftok._core.rust_pattern import RustPattern
from scanner_texts import random_text, reference_boundaries, reference_of
from tokenizers import Regex, pre_tokenizers

from hftok._core.scanners import recognise as recogniser
from hftok._core.scanners import regex_scalar
from hftok._core.scanners.recognise import FAMILIES, RUST_PATTERNS, TILING, form_of, recognise, recognise_rust

BYTES = ("ByteLevel", False, True, False)
GPT2_BYTES = ("ByteLevel", False, True, True)


def split(pattern, behavior="isolated", invert=False):
    return ("Split", "Regex", pattern, behavior, invert)


def then_bytes(*steps):
    return ("Sequence", (*steps, BYTES))


# Other ways of writing the patterns; most of them are those of tiktoken, Llama, Qwen, GLM and Phi.
SPELLINGS = [
    ("gpt2", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    ("gpt2", r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"),
    ("gpt2", r"(?:'s|'t|'re|'ve|'m|'ll|'d)| ?[\p{L}]+|[ ]?\p{N}+|\x20?[^\p{N}\p{L}\s]+|\s+(?![^\s])|\s+"),
    ("gpt2", r"('ve|'s|'re|'t|'m|'ll|'d)| ?(\p{L})+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    (
        "cl100k",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    ),
    (
        "cl100k_end",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    (
        "nanochat",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    ),
    (
        "qwen2",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}]+|[\p{N}]"
        r"| ?[^\s\p{L}\p{N}]+[\n\r]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    (
        "o200k",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{M}\p{Ll}\p{Lm}\p{Lo}]+(?i:'(?:[sdmt]|re|ve|ll))?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*('(?i:[sdmt]|re|ve|ll))?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[/\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s",
    ),
]

# Each a pattern that looks like one of a family and is none, with a text that shows it.
NEAR_MISSES = [
    # the contractions in another case, one less, one that another begins with
    ("gpt2", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "'S'Sa"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "'da"),
    ("gpt2", r"'s|'t|'r|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "'re"),
    # other classes
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\w+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "a1"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\d+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", " ²"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d|\s?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "\na"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}]+|\s+(?!\S)|\s+", ".1"),
    # white space: what a repeat gives back, and what `$` is
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s++(?!\S)|\s+", "  a"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+$|\s+(?!\S)|\s+", "  \n  a"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+?(?!\S)|\s+", "   a"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+", "  a"),
    ("gpt2", r"'s|'t|'re|'ve|'m|'ll|'d| ?+\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s|\S", None),
    # the order of the alternatives
    ("gpt2", r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|'s|'t|'re|'ve|'m|'ll|'d|\s+(?!\S)|\s+", "'sa"),
    # {1,3}+ is no possessive repeat
    (
        "cl100k",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "1234",
    ),
    (
        "cl100k",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,4}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "1234",
    ),
    # U+017F is a form of s for (?i) only
    (
        "cl100k",
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "'ſa",
    ),
    (
        "cl100k",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        "\ra",
    ),
    (
        "cl100k",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]?|\s*[\r\n]+|\s+(?!\S)|\s+",
        ".\n\na",
    ),
    (
        "cl100k",
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*?[\r\n]+|\s+(?!\S)|\s+",
        "\n \n",
    ),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_families_are_recognised(family):
    assert recognise(FAMILIES[family]) == family
    assert family in regex_scalar.kernels()


@pytest.mark.parametrize(("family", "pattern"), SPELLINGS)
def test_other_spellings(family, pattern):
    assert recognise(then_bytes(split(pattern))) == family
    assert recognise(then_bytes(split(pattern, invert=True))) == family
    pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    rng = random.Random(pattern)
    for _ in range(300):
        text = random_text(rng)
        assert reference_boundaries(pre_tokenizer, text) == reference_boundaries(reference_of(family), text), text


@pytest.mark.parametrize(("family", "pattern", "text"), NEAR_MISSES)
def test_near_misses(family, pattern, text):
    assert recognise(then_bytes(split(pattern))) is None
    if text is not None:
        pieces = pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)
        starts = [len(text[:start].encode()) for _, (start, _) in pieces]
        assert starts != reference_boundaries(reference_of(family), text)


def test_what_matters_around_the_pattern():
    for family in TILING:
        pattern = FAMILIES[family][1][0][2]
        assert recognise(then_bytes(split(pattern, "removed", True))) == family
        assert recognise(then_bytes(split(f"(?:{pattern})", "removed", True))) == family
        for behavior, invert in (("removed", False), ("contiguous", False), ("merged_with_previous", True)):
            assert recognise(then_bytes(split(pattern, behavior, invert))) is None
        assert recognise(split(pattern)) is None  # no bytes
        assert recognise(("Sequence", (split(pattern), GPT2_BYTES))) is None  # split twice
        assert recognise(then_bytes(("Split", "String", pattern, "isolated", False))) is None
        assert recognise(("Sequence", (BYTES, split(pattern)))) is None  # bytes first
    assert recognise(("ByteLevel", True, False, True)) == "gpt2"
    assert recognise(BYTES) is None
    assert recognise(None) is None
    assert recognise(("Sequence", ())) is None
    assert recognise(("Sequence", (("Digits", False), GPT2_BYTES))) is None
    assert recognise(("Sequence", (GPT2_BYTES, ("Digits", True)))) is None
    bloom = FAMILIES["bloom"][1][0][2]
    assert recognise(then_bytes(split(bloom, "removed", True))) is None  # leaves gaps
    assert recognise(("Sequence", (("Sequence", (("Digits", True),)), ("Sequence", (GPT2_BYTES,))))) == "gpt2_digits"
    three = FAMILIES["deepseek_v3"][1]
    assert recognise(("Sequence", (three[1], three[0], *three[2:]))) is None
    assert recognise(("Sequence", three[:2] + three[3:])) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a|b|[cd]", "[a-d]"),
        ("(?i:k)", "[kK\u212a]"),
        ("x(?:ab|cb)y", "x[ac]by"),
        ("[0-9]{3}", "[0-9][0-9][0-9]"),
        ("a++b", "a+b"),
        (r"(?:\s)++\z", r"\s++$"),
        ("(a)(b)", "ab"),
        ("ab|ac|b", "b|a[bc]"),
    ],
)
def test_equal_forms(one, other):
    assert form_of(one) is not None
    assert form_of(one) == form_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a|ab", "ab|a"),  # the first one that matches counts
        ("a++a", "a+a"),
        ("(?>ab|a)b", "(?:ab|a)b"),
        ("(?i:ss)", "[sS\u017f][sS\u017f]"),  # and U+00DF
        ("a+?", "a+"),
        (r"\s*[\r\n]b", r"\s*[\r\n]+b"),
        (r"a++$", r"a++\z"),  # at the end of a line
        ("(a)\\1", "aa"),
        ("^a", "a"),
        ("[a", "a"),
    ],
)
def test_different_forms(one, other):
    assert form_of(one) != form_of(other)


@pytest.mark.parametrize("pattern", [*RUST_PATTERNS, *(p.replace("\\s++$|", "(?:\\s++$)|") for p in RUST_PATTERNS)])
def test_patterns_of_tiktoken(pattern):
    """Those known by their spelling are known by their meaning too, and match where the exact matcher does."""
    family = recognise_rust(pattern)
    assert family is not None
    assert recognise_rust(f"(?:{pattern})") == family
    exact = RustPattern(pattern)
    rng = random.Random(pattern)
    for _ in range(1000):
        text = random_text(rng)
        spans = exact.spans(text)
        assert [start for start, _ in spans] == regex_scalar.boundaries(family, text.encode(), plain=True), text
        assert spans[-1][1] == len(text.encode())


def test_patterns_of_tiktoken_that_are_none_of_these():
    for pattern in RUST_PATTERNS:
        assert recognise_rust(pattern + "|x") is None
        assert recognise_rust(pattern.replace("(?!", "(?=")) is None
        assert recognise_rust(pattern.replace(r"\p{N}", r"\p{Nd}")) is None
        assert recognise_rust(pattern.replace("]|ll", "]|l|ll").replace("'t|'re", "'t|'r|'re")) is None
    assert recognise_rust("(") is None


def test_huge_patterns():
    """They are of no family, and this is found out at once."""
    words = "|".join(f"word{i}" for i in range(20_000))
    for pattern in (words, f"({words[:1900]})+", "(?:ab?c)?" * 200, "[a-z]" * 390, "(?:a|b)" * 200, "(?:a|bc)" * 200):
        assert recognise(then_bytes(split(pattern))) is None
        assert recognise_rust(pattern) is None


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt2", "gpt2"),
        ("starcoder2", "gpt2_digits"),
        ("command-r", "gpt2_digits"),
        ("llama3.1", "cl100k"),
        ("olmo-dolma2", "cl100k"),
        ("qwen3", "qwen2"),
        ("qwen3.5", "qwen3_5"),
        ("gpt-oss", "o200k"),
        ("llama4", "o200k"),
        ("mistral-nemo", "tekken"),
        ("kimi-k2", "kimi_k2"),
        ("deepseek-v3", "deepseek_v3"),
        ("falcon-7b", "falcon"),
        ("phi-2", "gpt2"),
        ("whisper-large-v3", "gpt2"),
    ],
)
def test_real_tokenizers(real_tokenizer, name, family):
    import json

    import hftok

    with open(real_tokenizer(name), encoding="utf-8") as file:
        described = json.load(file)
    small = {
        "pre_tokenizer": described["pre_tokenizer"],
        "model": {"type": "BPE", "vocab": {}, "merges": []},
        "added_tokens": [],
    }
    assert recognise(hftok.Tokenizer.from_str(json.dumps(small)).pre_tokenizer._spec()) == family


def with_line_ends(spec):
    """A pre-tokenizer with line ends in its patterns as themselves, not as escapes."""
    if spec[0] == "Sequence":
        return ("Sequence", tuple(map(with_line_ends, spec[1])))
    if spec[0] == "Split":
        return (*spec[:2], spec[2].replace(r"\r", "\r").replace(r"\n", "\n"), *spec[3:])
    return spec


@pytest.mark.parametrize("family", FAMILIES)
def test_line_ends_as_themselves(family, monkeypatch):
    spec = with_line_ends(FAMILIES[family])
    meant = recogniser._families().get(recogniser._steps(spec, recogniser._tiling()))
    assert meant == family  # by what it means
    monkeypatch.setattr(recogniser, "_steps", None)
    assert recognise(spec) == family  # and without parsing it


def test_an_escaped_line_end_is_another_pattern():
    for end in ("\r", "\n"):
        spec = then_bytes(split("[a\\" + end + "]+"))
        assert recogniser._spelling(spec)[0][2] == spec[1][0][2]


def test_patterns_that_are_declared_sound_are(monkeypatch):
    from hftok._core import patterns

    monkeypatch.setattr(patterns, "SOUND", set())
    recogniser._declare_sound()
    declared = set(patterns.SOUND)
    assert len(declared) > 20
    for pattern in declared:
        patterns.check_regex(pattern)
    for spec in FAMILIES.values():
        for step in recogniser._flat(with_line_ends(spec)):
            assert step[:2] != ("Split", "Regex") or step[2] in declared
