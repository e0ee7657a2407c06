"""Decoders against the reference: lists of tokens, whole sequences of ids, and streams."""

import copy
import doctest
import importlib
import itertools
import random
from typing import Any

import numpy as np
import pytest
import tokenizers
from encoding_cases import outcome, same, seeded
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, decoders, implementations, models

import hftok.implementations
from hftok._core.decode_stream import DecodeStream
from hftok._core.decoders import DecoderProgram
from hftok._core.id_decoder import IdDecoder

Spec = tuple[Any, ...]

BYTE_CHARS = [chr(c) for c in range(0x21, 0x7F)] + [chr(c) for c in range(0xA1, 0x144) if c != 0xAD]
POOL = (
    [*"abc.?!,'|▁Ġ ", "a", "##b", "##", "#", "b</w>", "</w>", "▁a", "▁▁", "a▁b", "  ", " a ", "", "<pad>", "a<pad>b"]
    + [
        "n't",
        "'s",
        "do not",
        " do not",
        " ' ",
        "ve",
        "'ve",
        "'re",
        "'m",
        "é",
        "日本",
        "\U0001f600",
        "\ufffd",
        "a\ufffd",
    ]
    + ["Ã©", "Ã", "©", "ðŁĺ", "Ģ", "â", "\x00", "\u0144", "Ġthe", "Ġ日"]
    + [
        f"<0x{b}>"
        for b in ("41", "20", "E2", "82", "AC", "FF", "ef", "BF", "BD", "+A", "-0", "4g", "é", " 1", "0A", "f0")
    ]
)
TOKENS = st.lists(
    st.one_of(
        st.sampled_from(POOL),
        st.text(alphabet="ab .'#▁Ġé<>0x41w/|", max_size=6),
        st.text(alphabet=BYTE_CHARS, max_size=4),
        st.integers(0, 255).map(lambda b: f"<0x{b:02X}>"),
    ),
    max_size=8,
)
CHAR = st.sampled_from("a ▁é\U0001f600")
LITERAL = st.sampled_from(["▁", " ", "a", "aa", "", ".", "é", "\n", "-", "[a]", "\\", "<", "ab"])
SIMPLE = st.one_of(
    st.tuples(st.just("WordPiece"), st.sampled_from(["##", "", "a", "é"]), st.booleans()),
    st.just(("ByteLevel",)),
    st.tuples(st.just("Metaspace"), CHAR, st.sampled_from(["always", "never", "first"]), st.booleans()),
    st.tuples(st.just("Replace"), st.just("String"), LITERAL, st.sampled_from(["", " ", "xy", "é"])),
    st.tuples(st.just("BPEDecoder"), st.sampled_from(["</w>", "", "a"])),
    st.just(("Fuse",)),
    st.just(("ByteFallback",)),
    st.tuples(st.just("Strip"), CHAR, st.integers(0, 2), st.integers(0, 2)),
    st.tuples(st.just("CTC"), st.sampled_from(["<pad>", "", "a"]), st.sampled_from(["|", "", "▁"]), st.booleans()),
)
LLAMA: Spec = ("Sequence", (("Replace", "String", "▁", " "), ("ByteFallback",), ("Fuse",), ("Strip", " ", 1, 0)))
SPEC = st.one_of(SIMPLE, st.lists(SIMPLE, max_size=4).map(lambda s: ("Sequence", tuple(s))), st.just(LLAMA))


def reference(spec: Spec | None) -> Any:
    if spec is None:
        return None
    kind, *rest = spec
    if kind == "Sequence":
        return decoders.Sequence([reference(s) for s in rest[0]])
    if kind == "Replace":
        return decoders.Replace(rest[1] if rest[0] == "String" else Regex(rest[1]), rest[2])
    if kind == "Metaspace":
        return decoders.Metaspace(replacement=rest[0], prepend_scheme=rest[1], split=rest[2])
    if kind == "Custom":
        return decoders.Decoder.custom(rest[0])
    return getattr(decoders, kind)(*rest)


@seeded(600)
@given(SPEC, TOKENS)
def test_decode(spec: Spec, tokens: list[str]) -> None:
    program = DecoderProgram(spec)
    got, want = outcome(program.decode, tokens), outcome(reference(spec).decode, tokens)
    assert same(got, want), (got, want)
    if isinstance(got, str):
        assert "".join(program.decode_chain(tokens)) == got


def test_every_decoder_on_every_token() -> None:
    simple = [
        ("WordPiece", "##", True),
        ("WordPiece", "##", False),
        ("ByteLevel",),
        ("Metaspace", "▁", "always", True),
        ("Metaspace", "▁", "never", True),
        ("Replace", "String", "▁", " "),
        ("BPEDecoder", "</w>"),
        ("Fuse",),
        ("ByteFallback",),
        ("Strip", " ", 1, 0),
        ("Strip", "a", 2, 0),
        ("CTC", "<pad>", "|", True),
        ("CTC", "<pad>", "|", False),
    ]
    for spec in simple:
        program, theirs = DecoderProgram(spec), reference(spec)
        assert program.decode([]) == theirs.decode([])
        for token in POOL:
            assert program.decode([token]) == theirs.decode([token]), (spec, token)
        for tokens in itertools.product(POOL, POOL):
            assert program.decode(list(tokens)) == theirs.decode(list(tokens)), (spec, tokens)


def test_invalid_utf8_becomes_replacement_characters_as_in_the_reference() -> None:
    # String::from_utf8_lossy: one U+FFFD for each maximal part of a sequence
    spec = ("ByteLevel",)
    program, theirs = DecoderProgram(spec), reference(spec)
    order = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    char = {b: chr(b) for b in order} | {
        b: chr(0x100 + n) for n, b in enumerate(b for b in range(256) if b not in set(order))
    }
    edges = [
        0x00,
        0x41,
        0x7F,
        0x80,
        0x8F,
        0x90,
        0x9F,
        0xA0,
        0xBF,
        0xC0,
        0xC1,
        0xC2,
        0xDF,
        0xE0,
        0xE1,
        0xEC,
        0xED,
        0xEE,
        0xEF,
    ]
    edges += [0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF]
    for n in (1, 2, 3):
        for sequence in itertools.product(edges if n > 1 else range(256), repeat=n):
            token = "".join(char[b] for b in sequence)
            assert program.decode([token]) == theirs.decode([token]), sequence
    rng = random.Random(1)
    for _ in range(3000):
        token = "".join(char[rng.choice(edges)] for _ in range(rng.randrange(4, 9)))
        assert program.decode([token]) == theirs.decode([token])


def test_byte_fallback_reads_a_plus_sign() -> None:
    # u8::from_str_radix takes a sign
    program, theirs = DecoderProgram(("ByteFallback",)), decoders.ByteFallback()
    chars = [*"0123456789abcdefABCDEF+- gG٣", "é"]
    for a, b in itertools.product(chars, chars):
        assert program.decode([f"<0x{a}{b}>"]) == theirs.decode([f"<0x{a}{b}>"]), (a, b)
    for token in ("<0x4>", "<0x411>", "<0X41>", "<0x41", "0x41>", "<0xé>", "<0x41>>"):
        assert program.decode([token, "a"]) == theirs.decode([token, "a"])


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+",
        "b*",
        "[0-9]+",
        "(?i:A)",
        "▁",
        "é+",
        "^",
        "$",
        ".",
        "(?<=a)b",
        r"\p{Han}",
        "a|ab",
        r"</w>",
        "",
        r"\A.",
        "x*?",
    ],
)
def test_replace_by_regular_expression(pattern: str) -> None:
    pytest.importorskip("hftok._core.patterns", reason="this build has no regular expressions")
    for content in ("", "<é>"):
        spec = ("Sequence", (("Replace", "Regex", pattern, content), ("ByteFallback",), ("Fuse",)))
        program, theirs = DecoderProgram(spec), reference(spec)
        for token in [*POOL, "abba b12 ab", "aé日本é\n9", "A\nb  c"]:
            assert program.decode([token]) == theirs.decode([token]), token
        pair = Pair(spec, 7)
        for skip in (True, False):
            assert pair.decode(pair.ids, skip) == pair.theirs.decode(pair.ids, skip)


class Numbered:
    """A sequence by its __getitem__ alone."""

    def __getitem__(self, i: int) -> str:
        return ["a", "b"][i]


ODD_LISTS: list[Any] = [
    [1],
    ["a", None],
    "ab",
    None,
    5,
    ("a", "b"),
    {"a"},
    {"a": 1},
    ["\ud800"],
    ["a", "b\udfff"],
    np.array(["a", "b"]),
    np.array([1]),
    range(3),
    b"ab",
    Numbered(),
    [np.str_("x")],
]


@pytest.mark.parametrize("tokens", ODD_LISTS, ids=repr)
def test_arguments(tokens: Any) -> None:
    program = DecoderProgram(("Fuse",))
    assert outcome(program.decode, tokens) == outcome(decoders.Fuse().decode, tokens)
    assert outcome(program.decode, iter(["a"]))[:2] == outcome(decoders.Fuse().decode, iter(["a"]))[:2]


class Custom:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def decode_chain(self, tokens: list[str]) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer if self.answer is not None else [t.upper() for t in tokens]

    def decode(self, tokens: list[str]) -> str:
        raise AssertionError("the reference calls decode_chain only")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        ["a", "b"],
        ("a", "b"),
        "ab",
        [1],
        5,
        ValueError("x"),
        ValueError(),
        KeyError("k"),
        OSError(2, "zz"),
        ["\ud800"],
        KeyboardInterrupt(),
        SystemExit(3),
    ],
    ids=repr,
)
def test_custom_decoders(answer: Any) -> None:
    spec = ("Custom", Custom(answer))
    assert outcome(DecoderProgram(spec).decode, ["q", "r"]) == outcome(reference(spec).decode, ["q", "r"])


def test_custom_decoder_without_the_method() -> None:
    spec = ("Custom", object())
    assert outcome(DecoderProgram(spec).decode, ["q"]) == outcome(reference(spec).decode, ["q"])
    nested = ("Sequence", (("Replace", "String", "q", "s"), ("Custom", Custom(None)), ("Fuse",)))
    assert DecoderProgram(nested).decode(["q", "a"]) == "SA"


@pytest.mark.parametrize(
    "spec",
    [
        (),
        "Fuse",
        ("Fuse", 1),
        ("Nothing",),
        ("Strip", "ab", 1, 1),
        ("Strip", "a", -1, 0),
        ("Replace", "Glob", "a", "b"),
        ("WordPiece", 1, True),
        ("Sequence", (("x",),)),
    ],
)
def test_specs_that_are_none(spec: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        DecoderProgram(spec)


# --- ids -------------------------------------------------------------------------------------------------------------


def vocabulary(rng: random.Random, n: int = 40) -> list[str]:
    made = ["".join(rng.choice(BYTE_CHARS) for _ in range(rng.randrange(1, 4))) for _ in range(20)]
    return list(dict.fromkeys(rng.sample(POOL, n) + made + [f"<0x{rng.randrange(256):02X}>" for _ in range(20)]))


class Pair:
    """A reference tokenizer and an hftok IdDecoder with the same vocabulary, special tokens and decoder."""

    def __init__(self, spec: Spec | None, seed: int, holes: bool = True) -> None:
        rng = random.Random(seed)
        words = vocabulary(rng)
        ids = rng.sample(range(3 * len(words)), len(words)) if holes else range(len(words))
        self.theirs = tokenizers.Tokenizer(models.WordLevel(dict(zip(words, ids, strict=True)), unk_token=words[0]))
        self.theirs.add_special_tokens([*rng.sample(words, 5), "<special>"])
        self.theirs.add_tokens(["<added>", "▁added"])
        self.theirs.decoder = reference(spec)
        specials = [t.content for t in self.theirs.get_added_tokens_decoder().values() if t.special]
        size = max(self.theirs.get_vocab().values()) + 1
        self._id_decoder = IdDecoder(DecoderProgram(spec), self.theirs.id_to_token, size, specials)
        self.ids = [rng.randrange(size + 2) for _ in range(400)]

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        return self._id_decoder.decode(ids, skip_special_tokens)


@seeded(300)
@given(st.one_of(st.none(), SPEC), st.integers(0, 2**16), st.integers(0, 30), st.booleans())
def test_decode_ids(spec: Spec | None, seed: int, n: int, skip: bool) -> None:
    pair = Pair(spec, seed)
    for start in (0, n, 2 * n):
        ids = pair.ids[start : start + n]
        got, want = outcome(pair.decode, ids, skip), outcome(pair.theirs.decode, ids, skip)
        assert same(got, want), (got, want)
        if isinstance(got, str):
            assert pair._id_decoder.decode(np.array(ids, np.uint32), skip) == got
            assert pair._id_decoder.decode(np.array(ids, np.int64), skip) == got


FIXED: list[Spec | None] = [
    None,
    LLAMA,
    ("WordPiece", "##", True),
    ("WordPiece", "##", False),
    ("ByteLevel",),
    ("Metaspace", "▁", "always", True),
    ("Metaspace", "▁", "never", True),
    ("BPEDecoder", "</w>"),
    ("CTC", "<pad>", "|", True),
    ("ByteFallback",),
    ("Sequence", (("ByteFallback",), ("Fuse",))),
    ("Sequence", (("ByteFallback",), ("Metaspace", "▁", "always", True))),
    ("Sequence", (("Replace", "String", "▁", " "), ("ByteFallback",), ("Fuse",))),
    ("Sequence", (("Replace", "String", "▁", " "), ("Fuse",))),
    ("Sequence", (("ByteFallback",), ("Fuse",), ("Metaspace", "▁", "first", True))),
    ("Sequence", (("ByteLevel",), ("Replace", "String", "a", "bb"))),
    ("Sequence", (("WordPiece", "##", True), ("BPEDecoder", "a"), ("Metaspace", "▁", "always", True))),
    ("Sequence", ()),
]


@pytest.mark.parametrize("spec", FIXED, ids=repr)
def test_long_sequences_of_ids(spec: Spec | None) -> None:
    for seed in range(6):
        pair = Pair(spec, seed, holes=seed % 2 == 0)
        ids = pair.ids * 5
        for skip in (False, True):
            assert pair.decode(ids, skip) == pair.theirs.decode(ids, skip)
            for i in range(0, 400, 7):
                assert pair.decode(ids[i : i + i % 9], skip) == pair.theirs.decode(ids[i : i + i % 9], skip)
        batch = [ids[i : i + 11] for i in range(0, 300, 11)]
        assert pair._id_decoder.decode_batch(batch, True) == pair.theirs.decode_batch(batch, True)


ODD_IDS: list[Any] = [
    (0, 1),
    range(3),
    b"\x00\x01",
    memoryview(b"\x00"),
    np.array([0, 1]),
    np.array([0, -1]),
    np.array([0, 2**32]),
    np.array([0.0]),
    np.array([True]),
    np.array([[0, 1]]),
    np.array([1, 2, 3, 4])[::2],
    np.array([1, 2], dtype=">u4"),
    np.array([], np.int64),
    [0.0],
    [-1],
    [2**32],
    [2**70],
    ["0"],
    "0",
    None,
    [None],
    [True],
    [np.int64(1)],
    {0: 1},
    {0},
    [[0]],
    5,
    [2**32 - 1],
]


@pytest.mark.parametrize("ids", ODD_IDS, ids=repr)
def test_id_arguments(ids: Any) -> None:
    pair = Pair(("Fuse",), 3)
    assert outcome(pair._id_decoder.decode, ids) == outcome(pair.theirs.decode, ids)
    assert outcome(pair._id_decoder.decode, [0, 1], ids if isinstance(ids, (int, list)) else None) == outcome(
        pair.theirs.decode, [0, 1], ids if isinstance(ids, (int, list)) else None
    )


def test_texts_of_every_width() -> None:
    words = [
        "a",
        "Z9",
        "\x7f",
        "\x80",
        "é",
        "ÿ",
        "\u0100",
        "\u07ff",
        "\u0800",
        "日本",
        "\uffff",
        "\U00010000",
        "\U0010ffff",
        "abcdefgh" * 3,
    ]
    decoder = IdDecoder(DecoderProgram(("Fuse",)), dict(enumerate(words)).get, len(words), [])
    rng = random.Random(5)
    for top in range(1, len(words) + 1):
        for _ in range(60):
            ids = [rng.randrange(top) for _ in range(rng.randrange(14))]
            text = decoder.decode(ids)
            assert text == "".join(words[i] for i in ids)
            assert text.isascii() == ("".join(words[i] for i in ids)).isascii()
            assert text.encode("utf-16-le") == "".join(words[i] for i in ids).encode("utf-16-le")


def test_ids_far_apart() -> None:
    words = {0: "a", 7: "##b", 2**31: "c", 2**32 - 1: "##d"}
    decoder = IdDecoder(DecoderProgram(("WordPiece", "##", True)), words.get, 2**32, ["c"])
    for _ in range(2):
        assert decoder.decode([0, 7, 2**31, 2**32 - 1, 8, 2**31 + 1], False) == "ab cd"
        assert decoder.decode([0, 7, 2**31, 2**32 - 1], True) == "abd"
        assert decoder.decode([2**32 - 1, 0], True) == "##d a"


def test_a_failing_vocabulary_leaves_the_decoder_usable() -> None:
    fail = True

    def token(i: int) -> str | None:
        if fail and i == 2:
            raise RuntimeError("no vocabulary")
        return "abc"[i] if i < 3 else None

    decoder = IdDecoder(DecoderProgram(("ByteLevel",)), token, 3, [])
    with pytest.raises(RuntimeError, match="no vocabulary"):
        decoder.decode([0, 1, 2])
    fail = False
    assert decoder.decode([0, 1, 2]) == "abc"


def test_tokens_that_cannot_be_stripped_matter_only_where_they_are_decoded() -> None:
    words = ["a", "b", "aa"]
    specs = [(("Strip", "a", 0, 2), 2), (("Sequence", (("WordPiece", "##", False), ("Strip", "a", 0, 2))), 0)]
    for spec, first in specs:
        theirs = tokenizers.Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="b"))
        theirs.decoder = reference(spec)
        theirs.add_special_tokens(["a"])
        decoder = IdDecoder(DecoderProgram(spec), theirs.id_to_token, 3, ["a"])
        for ids in ([first, 0, 1], [0], [first, 0], [first, 2, 1], [1, 2]):
            for skip in (True, False):
                got, want = outcome(decoder.decode, ids, skip), outcome(theirs.decode, ids, skip)
                assert same(got, want), (spec, ids, skip, got, want)


# --- streams ---------------------------------------------------------------------------------------------------------


class Plain:
    """A tokenizer of which only decode is known."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.visited = pair, 0

    def decode(self, ids: list[int], skip_special_tokens: bool = True) -> str:
        self.visited += len(ids)
        return self.pair.decode(ids, skip_special_tokens)


def compare_streams(pair: Pair, steps: list[Any], start: list[int] | None, skip: bool) -> int:
    """Step all three streams to the end or the first error (after which the reference keeps the id that failed, and
    hftok does not); the number of steps that gave text."""
    theirs = decoders.DecodeStream(start, skip_special_tokens=skip)
    mine = [(DecodeStream(start, skip_special_tokens=skip), pair), (DecodeStream(start, skip), Plain(pair))]
    texts = 0
    for step in steps:
        want = outcome(theirs.step, pair.theirs, step)
        for i, (stream, tokenizer) in enumerate(mine):
            got = outcome(stream.step, tokenizer, step)
            assert same(got, want), (i, step, got, want)
            if len(steps) % 2:
                mine[i] = (copy.copy(stream) if i else copy.deepcopy(stream), tokenizer)
        if isinstance(want, tuple) or want == "panic":
            break
        texts += want is not None
    return texts


@seeded(300)
@given(st.one_of(st.sampled_from(FIXED), SPEC), st.integers(0, 2**16), st.integers(0, 12), st.booleans(), st.data())
def test_streams(spec: Spec | None, seed: int, n_start: int, skip: bool, data: Any) -> None:
    pair = Pair(spec, seed)
    start = data.draw(st.sampled_from([None, [], pair.ids[:n_start]]))
    one = pair.ids[n_start : n_start + 25]
    many = [pair.ids[i : i + i % 4] for i in range(n_start, n_start + 25)]
    compare_streams(pair, data.draw(st.sampled_from([one, many])), start, skip)


@pytest.mark.parametrize("spec", FIXED, ids=repr)
def test_long_streams(spec: Spec | None) -> None:
    texts = 0
    for seed in range(8):
        pair = Pair(spec, seed)
        for skip in (False, True):
            texts += compare_streams(pair, pair.ids, pair.ids[: seed * 3], skip)
    assert texts > 300


def test_a_stream_error_changes_nothing() -> None:
    # tokenizer/mod.rs, step_decode_stream keeps the ids of a step that fails; here the stream stays as it was.
    words = ["<0x41>", "<0xFF>", "b"]
    theirs = tokenizers.Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="b"))
    theirs.decoder = decoders.ByteFallback()
    decoder = IdDecoder(DecoderProgram(("ByteFallback",)), theirs.id_to_token, 3, [])

    class Tokenizer:
        _id_decoder: Any = decoder

        def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
            return decoder.decode(ids, skip_special_tokens)

    class PlainTokenizer(Tokenizer):
        _id_decoder = None

    for tokenizer in (Tokenizer(), PlainTokenizer()):
        stream, other = DecodeStream(), decoders.DecodeStream()
        for i in (0, 1, 2):
            got, want = outcome(stream.step, tokenizer, i), outcome(other.step, theirs, i)
            assert got == want
        assert got[0] is Exception
        assert got[1].startswith("Invalid prefix encountered while decoding stream. Token ID: 2, Expected prefix: 'A'")
        assert outcome(stream.step, tokenizer, 2) == got


def test_streams_are_linear() -> None:
    words = ["a", "Ã", "©", "<s>"]
    calls = 0

    def token(i: int) -> str:
        nonlocal calls
        calls += 1
        return words[i]

    decoder = IdDecoder(DecoderProgram(("ByteLevel",)), token, 4, ["<s>"])

    class Tokenizer:
        _id_decoder = decoder

        def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
            raise AssertionError("a whole sequence is decoded again")

    stream = DecodeStream(skip_special_tokens=True)
    out = [stream.step(Tokenizer(), i) for i in [0, 1, 2] * 20000]
    assert out == ["a", None, "é"] * 20000
    # half a character, then special tokens that are skipped: the ids pile up, the work does not
    stream = DecodeStream([0], True)
    assert [stream.step(Tokenizer(), i) for i in [1] + [3] * 100_000] == [None] * 100_001
    assert stream.step(Tokenizer(), 2) == "é"
    assert calls == 4


ODD_STEPS: list[Any] = [
    0,
    True,
    np.int64(1),
    [0, 1],
    (0, 1),
    np.array([0, 1]),
    [],
    b"\x00",
    -1,
    2**32,
    "a",
    None,
    1.0,
    [2**32],
    [None],
    {0: 1},
    range(2),
]


@pytest.mark.parametrize("step", ODD_STEPS, ids=repr)
def test_stream_arguments(step: Any) -> None:
    pair = Pair(("Fuse",), 5)
    got = outcome(DecodeStream(skip_special_tokens=False).step, pair, step)
    want = outcome(decoders.DecodeStream(skip_special_tokens=False).step, pair.theirs, step)
    assert got == want
    plain = outcome(DecodeStream(skip_special_tokens=False).step, Plain(pair), step)
    assert plain == want
    ids = step
    assert outcome(lambda: bool(DecodeStream(ids))) == outcome(lambda: bool(decoders.DecodeStream(ids)))


def test_streams_do_not_step_on_what_wraps_a_tokenizer() -> None:
    vocab = {"a": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3}
    theirs = implementations.BertWordPieceTokenizer(vocab)
    ours = hftok.implementations.BertWordPieceTokenizer(vocab)
    want = outcome(decoders.DecodeStream().step, theirs, 0)
    assert want[:2] == (TypeError, "'BertWordPieceTokenizer' object is not an instance of 'Tokenizer'")
    assert outcome(DecodeStream().step, ours, 0) == want
    assert DecodeStream().step(ours._tokenizer, 0) == decoders.DecodeStream().step(theirs._tokenizer, 0) == "a"


def test_stream_object() -> None:
    pair = Pair(("Fuse",), 5)
    for cls, tokenizer in ((DecodeStream, pair), (decoders.DecodeStream, pair.theirs)):
        assert cls(None, None).step(tokenizer, []) is None
        with pytest.raises(TypeError):
            cls([1], 1)
        with pytest.raises(TypeError):
            cls([1], True, 3)
        with pytest.raises(TypeError):
            cls(other=3)
        with pytest.raises(TypeError):
            type("Sub", (cls,), {})
        with pytest.raises(AttributeError):
            cls().note = 1
        with pytest.raises(TypeError):
            cls().step(tokenizer)
    got = outcome(DecodeStream().step, 1, 2)
    assert got == outcome(decoders.DecodeStream().step, 1, 2)
    assert outcome(DecodeStream, [1], 1) == outcome(decoders.DecodeStream, [1], 1)


def test_a_stream_follows_a_changed_decoder() -> None:
    pair, other = Pair(("ByteLevel",), 1), Pair(LLAMA, 1)
    mine, theirs = DecodeStream(skip_special_tokens=False), decoders.DecodeStream(skip_special_tokens=False)
    for i, token in enumerate(pair.ids[:60]):
        now = pair if i % 10 < 5 else other
        got, want = outcome(mine.step, now, token), outcome(theirs.step, now.theirs, token)
        assert got == want
        if isinstance(want, tuple):
            break


@pytest.mark.parametrize("module", ["hftok._core.decoders", "hftok._core.id_decoder", "hftok._core.decode_stream"])
def test_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed
