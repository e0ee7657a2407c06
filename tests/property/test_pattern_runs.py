r"""CLIP's kind of pipeline: NFC and lower case, a pattern that takes runs and a few words, ByteLevel behind it. The
scanner must give what the reference gives in every CPU tier, whatever stands beside an apostrophe or under a mark."""

from __future__ import annotations

import hashlib
import itertools
import random
from typing import Any

import numpy as np
import pytest
import tokenizers as reference
from child_process import printed_by
from scanner_texts import QUOTES, random_text
from test_scripts import CHANGING, JOINING, MARKS, text_of

import hftok
from hftok._core import code_points, cpu
from hftok._core.char_tables import CharClassifier, plan, plan_runs
from hftok._core.models.wordlevel import WordLevelModel
from hftok._core.regex_syntax import parse
from hftok._core.scanners.recognise import recognise_runs

CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
RUNS = r"[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
PATTERN = rf"<\|startoftext\|>|<\|endoftext\|>|{CONTRACTIONS}|{RUNS}"
WORDS = [
    *("'s", "'S", "'re", "'Re", "'VE", "'ll", "'l", "'ſ", "''s", "!'s", "'s's", "'st", "1's", "é's", "'é", "'", "''"),
    *(
        "it's",
        "they'll",
        "<|endoftext|>",
        "<|ENDOFTEXT|>",
        "<|startoftext|>",
        "<|StartOfText|>",
        "<|startoftext|",
        "<",
        "|>",
    ),
    *(
        "<|ENDOFTEXT|>'s",
        "<|ENDOFTEXT|>!",
        "!<|ENDOFTEXT|>",
        "İ",
        "K",
        "ß",
        "Å",
        "\u0301",
        "e\u0301",
        "s\u0301",
        "'s\u0301",
    ),
    *(
        "नमस्ते",
        "สวัสดี",
        "مَرْحَبًا",
        "שָׁלוֹם",
        "한국",
        "\u1100\u1161",
        "മലയാളം",
        "\u0d46\u0d3e",
        "и\u0301",
        "q\u0307\u0323",
        "中文，",
        "。",
    ),
    *(
        "a",
        "The",
        "Ex",
        "ex",
        "e",
        "x",
        "1",
        "²",
        "١",
        ".",
        "...",
        " ",
        "  ",
        "\n",
        "\t",
        "\u3000",
        "\u2028",
        "\x00",
        "😀",
    ),
]


def texts_of(seed: int, n: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(n):
        text = random_text(rng) if rng.random() < 0.4 else ""
        text += rng.choice(["", "", " "]).join(rng.choices(WORDS, k=rng.choice([0, 2, 5, 20, 60])))
        texts.append(text + text_of(rng, 3, 0.2) if rng.random() < 0.2 else text)
    return texts


def tokenizer_of(library: Any, **options: Any) -> Any:
    """A small tokenizer of the kind. It knows few of the bytes that end a word, so that many are unknown."""
    pattern, use_regex = options.get("pattern", PATTERN), options.get("use_regex", True)
    steps = {
        "NFC": library.normalizers.NFC(),
        "blanks": library.normalizers.Replace(library.Regex(r"\s+"), " "),
        "lower": library.normalizers.Lowercase(),
    }
    symbols = sorted(library.pre_tokenizers.ByteLevel.alphabet())
    ended = [c + "</w>" for c in "abcdefghijklmnopqrstuvwxyz'.>!1²Ġ"]
    merges = [
        ("t", "h"),
        ("th", "e</w>"),
        ("'", "s</w>"),
        ("r", "e</w>"),
        ("'", "re</w>"),
        ("i", "t</w>"),
        ("<", "|</w>"),
    ]
    merges += [("Ã", "©"), ("l", "l</w>"), ("'", "ll</w>"), ("Ã©", "s</w>"), ("|", ">"), ("|", ">"), ("â", "Ģ")]
    tokens = ["<unk>", *symbols, *ended, "|</w>", *dict.fromkeys(left + right for left, right in merges)]
    affixes = {"unk_token": options.get("unk", "<unk>"), "end_of_word_suffix": options.get("suffix", "</w>")}
    model = library.models.BPE(
        {token: i for i, token in enumerate(dict.fromkeys(tokens))},
        merges,
        fuse_unk=options.get("fuse", False),
        **{name: value for name, value in affixes.items() if value is not None},
    )
    tokenizer = library.Tokenizer(model)
    tokenizer.normalizer = library.normalizers.Sequence(
        [steps[name] for name in options.get("steps", ("NFC", "blanks", "lower"))]
    )
    tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence(
        [
            library.pre_tokenizers.Split(library.Regex(pattern), "removed", invert=True),
            library.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex),
        ]
    )
    for text, settings in options.get("tokens", [("<|startoftext|>", {"normalized": True}), ("<|endoftext|>", {})]):
        tokenizer.add_special_tokens([library.AddedToken(text, **{"normalized": False, **settings})])
    ends = [(text, tokenizer.token_to_id(text)) for text in ("<|endoftext|>", "<|startoftext|>")]
    if None not in (ends[0][1], ends[1][1]):
        trim = options.get("trim", False)
        tokenizer.post_processor = library.processors.RobertaProcessing(
            *ends, trim_offsets=trim, add_prefix_space=False
        )
    return tokenizer


SETUPS: dict[str, dict[str, Any]] = {
    "clip": {},
    "whole_words": {"use_regex": False},
    "no_words": {"pattern": RUNS},
    "contractions": {"pattern": f"{CONTRACTIONS}|{RUNS}"},
    "cased": {"steps": ("NFC", "blanks")},
    "no_normal_form": {"steps": ("lower",)},
    "lower_first": {"steps": ("blanks", "lower", "NFC")},
    "fused": {"fuse": True},
    "vanishing": {"unk": None},
    "no_suffix": {"suffix": None},
    "trimmed": {"trim": True},
    "tokens_in_words": {
        "tokens": [
            ("<|endoftext|>", {}),
            ("<|startoftext|>", {}),
            ("|>", {}),
            ("ex", {"single_word": True}),
            ("e", {"single_word": True}),
            ("re", {"single_word": True}),
            ("s's", {}),
            ("the", {"normalized": True, "lstrip": True}),
            ("中", {"rstrip": True, "lstrip": True}),
        ]
    },
}


def assert_same(ours: Any, theirs: Any, texts: list[str], **options: Any) -> None:
    expected = theirs.encode_batch(texts, **options)
    found = ours.encode_batch(texts, **options)
    for text, mine, other in zip(texts, found, expected, strict=True):
        assert mine.ids == other.ids, ascii(text)
        assert mine.offsets == other.offsets, ascii(text)
        assert mine.tokens == other.tokens, ascii(text)
        assert mine.word_ids == other.word_ids, ascii(text)
        assert [e.ids for e in mine.overflowing] == [e.ids for e in other.overflowing], ascii(text)
    if not options:
        rows = ours.encode_batch_ids(texts)
        spans = ours.encode_batch_ids(texts, return_offsets=True)
        for i, other in enumerate(expected):
            assert rows[i].tolist() == other.ids, ascii(texts[i])
            assert spans.row_spans(i).tolist() == [list(span) for span in other.offsets], ascii(texts[i])


def both(name: str = "clip") -> tuple[Any, Any]:
    ours, theirs = tokenizer_of(hftok, **SETUPS[name]), tokenizer_of(reference, **SETUPS[name])
    assert ours._ready()[0].is_fast, ours._ready()[0].why_exact
    return ours, theirs


# ---- the rule, plainly


def ranges_of(pattern: str) -> Any:
    return parse(pattern).ranges


LETTERS, NUMBERS, BLANKS = ranges_of(r"\p{L}"), ranges_of(r"\p{N}"), ranges_of(r"\s")


def plain_pieces(text: str, words: list[str]) -> list[tuple[int, int]]:
    """Where the pattern matches in normalized text: at each place one of the words, else a run of what is there."""

    def kind(at: int) -> int:
        return next(
            (k for k, ranges in enumerate((LETTERS, NUMBERS, BLANKS)) if code_points.contains(ranges, ord(text[at]))), 3
        )

    pieces, at = [], 0
    while at < len(text):
        end = at + next((len(word) for word in words if text.startswith(word, at)), 0)
        if end == at:
            end += 1
            while kind(at) in (0, 3) and end < len(text) and kind(end) == kind(at):
                end += 1
        if kind(at) != 2:
            pieces.append((at, end))
        at = end
    return pieces


def test_the_rule():
    split = reference.pre_tokenizers.Split(reference.Regex(PATTERN), "removed", invert=True)
    words = ["<|startoftext|>", "<|endoftext|>", *CONTRACTIONS.split("|")]
    for text in [*texts_of(1, 400), *map("".join, itertools.product([*QUOTES[:9], "a", "!", " ", "1"], repeat=3))]:
        assert [span for _, span in split.pre_tokenize_str(text)] == plain_pieces(text, words), ascii(text)


# ---- the scanner and the reference


@pytest.mark.parametrize("name", SETUPS)
def test_same_as_the_reference(name):
    ours, theirs = both(name)
    assert_same(ours, theirs, texts_of(2, 500))


def test_around_apostrophes():
    """Every way in which an apostrophe and its neighbours may stand, across the edges of blocks too."""
    ours, theirs = both()
    parts = ["'", "s", "R", "e", "l", "!", " ", "1", "é", "\u0301", "<|ENDOFTEXT|>", "<|endoftext|>"]
    texts = ["".join(row) for row in itertools.product(parts, repeat=4)]
    assert_same(ours, theirs, texts[:: 1 if len(texts) < 10_000 else 3])
    texts = [
        filler * n + word + "a b"
        for filler in "a.é"
        for n in range(56, 66)
        for word in ("'s", "'re", "'rx", " 'll", "<|ENDOFTEXT|>")
    ]
    assert_same(ours, theirs, texts)


def test_settings_of_a_call():
    ours, theirs = both()
    texts = texts_of(3, 120)
    for tokenizer in (ours, theirs):
        tokenizer.enable_truncation(12, stride=3)
    # (The array doors have truncation of their own.)
    assert_same(ours, theirs, texts, add_special_tokens=True)
    assert_same(ours, theirs, list(zip(texts, reversed(texts), strict=True)), add_special_tokens=True)
    for tokenizer in (ours, theirs):
        tokenizer.no_truncation()
        tokenizer.enable_padding(length=20)
    assert_same(ours, theirs, [text.split(" ") for text in texts], is_pretokenized=True)
    assert_same(ours, theirs, texts, add_special_tokens=False)


def test_every_character():
    """Alone, behind a letter and before a contraction. From U+1F000 on, where neighbours are alike, a sample."""
    ours, theirs = both()
    points = [
        *itertools.chain(range(0xD800), range(0xE000, 0x1F000), range(0x1F000, 0x32400, 16)),
        *itertools.chain(range(0x3FFE0, 0x40010), range(0xE0000, 0xE0200), range(0x10FFE0, 0x110000)),
    ]
    texts = ["".join(f"{chr(cp)} a{chr(cp)}'s" for cp in points[i : i + 512]) for i in range(0, len(points), 512)]
    rows = ours.encode_batch_ids(texts, return_offsets=True)
    for i, other in enumerate(theirs.encode_batch(texts)):
        assert rows[i].tolist() == other.ids, hex(points[512 * i])
        assert np.array_equal(rows.row_spans(i), np.array(other.offsets)), hex(points[512 * i])


def test_nothing_becomes_a_character_of_the_words():
    """The scanner looks for words in the text as it is, ASCII's case aside."""
    lower = hftok.normalizers.Sequence([hftok.normalizers.NFC(), hftok.normalizers.Lowercase()])
    made = "".join(chr(cp) for cp in range(0x80, 0x30000) if not 0xD800 <= cp < 0xE000)
    assert not set(lower.normalize_str("\n".join(made))) & set("<|startoftext|>'sdmrevl")


# ---- marks under NFC


@pytest.mark.parametrize("name", ["clip", "lower_first", "no_normal_form"])
def test_marks(name):
    ours, theirs = both(name)
    bases = [
        "",
        "a",
        "e\u0301",
        "é",
        "и",
        "\u1100",
        "가",
        "각",
        "\u0d46",
        "\u0d4a",
        "ก",
        "क",
        "か",
        "中",
        "'s",
        "İ",
        "'",
        ".",
    ]
    assert_same(ours, theirs, [base + mark for base in bases for mark in (*MARKS[::3], *JOINING, *CHANGING)])
    rng = random.Random(3)
    runs = [
        rng.choice(bases) + "".join(rng.choices([*MARKS, *JOINING, *CHANGING], k=rng.randint(2, 5)))
        for _ in range(1500)
    ]
    assert_same(ours, theirs, runs)
    assert_same(ours, theirs, ["".join(runs), " ".join(runs), "a".join(runs)])
    assert_same(ours, theirs, [text_of(rng, 30, 0.3) for _ in range(60)])


def test_marks_before_other_pre_tokenizers():
    """The same table serves pipelines without a pattern."""
    words = {chr(cp): i for i, cp in enumerate(range(0x300, 0x380))} | {"<unk>": 1000}
    made = []
    for library in (hftok, reference):
        tokenizer = library.Tokenizer(library.models.WordLevel(words, "<unk>"))
        parts = [library.normalizers.NFC(), library.normalizers.StripAccents(), library.normalizers.Lowercase()]
        tokenizer.normalizer = library.normalizers.Sequence(parts)
        tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
        made.append(tokenizer)
    assert made[0]._ready()[0].is_fast
    rng = random.Random(4)
    assert_same(*made, [text_of(rng, 20, 0.3) for _ in range(150)])


def test_common_marks_stay_on_the_fast_path():
    spec = ("Sequence", (("Split", "Regex", PATTERN, "removed", True), ("ByteLevel", False, True, True)))
    planned = plan_runs(("Sequence", (("NFC",), ("Lowercase",))), spec)
    table = CharClassifier(WordLevelModel({}), *planned[:2], b"", bytes(256), words=planned[2])
    escape = table.entry(0x958)[0]
    assert all(table.entry(cp)[0] != escape for cp in (0x94D, 0xE48, 0x64E, 0x5B0, 0xD3E, 0x301, 0xFF0C, 0x1161))
    assert all(table.entry(cp)[0] == escape for cp in (0x340, 0x130, 0x2126, 0xF900))


# ---- tiers, threads, pieces of documents

CHILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/property"]
from test_pattern_runs import digest
print(digest())
"""


def digest() -> str:
    found = hashlib.sha256()
    texts = texts_of(5, 200)
    for name in ("clip", "tokens_in_words"):
        tokenizer = tokenizer_of(hftok, **SETUPS[name])
        for documents in (texts, [" ".join(texts * 6)], ["".join(texts)]):
            rows = tokenizer.encode_batch_ids(documents, return_offsets=True)
            plain = tokenizer.encode_batch_ids(documents)
            for array in (rows.ids, rows.offsets, rows.row_offsets, plain.ids, plain.row_offsets):
                found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def test_every_tier_and_number_of_threads_gives_the_same():
    here = digest()
    for tier, threads in zip(cpu.available(), itertools.cycle("172")):
        assert printed_by(CHILD, HFTOK_CPU=tier, OMP_NUM_THREADS=threads).strip() == here


@pytest.mark.parametrize("name", ["clip", "tokens_in_words"])
def test_a_document_of_many_units(name):
    """It is cut between words. Tokens of the normalized pass, which send their piece to the exact path, are in some."""
    ours, theirs = both(name)
    rng = random.Random(6)
    words = ["the", "it's", "End", "'re", "1999", "naïve", "中文", "é", "don't!"]
    parts = [" ".join(rng.choices(words, k=5_000)) for _ in range(10)]
    for document in ("\n".join(parts), "\n'\x00s ".join(parts), "\n<|STARTOFTEXT|> ".join(parts), "The ".join(parts)):
        expected = theirs.encode(document).ids
        for parallel in (False, True):
            assert ours.encode_batch_ids([document, "a"], parallel=parallel)[0].tolist() == expected


@pytest.mark.parametrize(
    "token",
    [
        ("the", {}),
        ("a.b", {}),
        ("b", {"single_word": True}),
        ("the end", {}),
        ("x", {"lstrip": True}),
        ("x", {"rstrip": True}),
    ],
)
def test_pieces_of_documents_with_normalized_tokens(token):
    """Of other pipelines, too: where a token holds what separates words, or looks at it, documents stay whole."""
    made = []
    for library in (hftok, reference):
        words = ["<unk>", "the", "end", "a", "b", "x", "1", "_", "é", "\x00"]
        tokenizer = library.Tokenizer(library.models.WordLevel({word: i for i, word in enumerate(words)}, "<unk>"))
        tokenizer.normalizer = library.normalizers.Lowercase()
        parts = [library.pre_tokenizers.WhitespaceSplit(), library.pre_tokenizers.Punctuation("removed")]
        tokenizer.pre_tokenizer = library.pre_tokenizers.Sequence(parts)
        tokenizer.add_tokens([library.AddedToken(token[0], normalized=True, **token[1])])
        made.append(tokenizer)
    assert made[0]._ready()[0].is_fast
    rng = random.Random(7)
    plain = ["end", "1", "End.", "é", "and", "2", "a", "_"]
    mixed = [*plain, "the", "The", "a.b", "B", "_b", "b_", "the end", " x ", "x", "\x00"]
    document = " ".join(rng.choices(plain, k=35_000) + rng.choices(mixed, k=5_000) + rng.choices(plain, k=30_000))
    expected = made[1].encode(document).ids
    for parallel in (False, True):
        assert made[0].encode_batch_ids([document, "a"], parallel=parallel)[0].tolist() == expected


# ---- which pre-tokenizers


def spec_of(pattern: str, behavior: str = "removed", invert: bool = True, prefix: bool = False) -> tuple[Any, ...]:
    return ("Sequence", (("Split", "Regex", pattern, behavior, invert), ("ByteLevel", prefix, True, True)))


def test_recognised():
    words = sorted(["<|startoftext|>", "<|endoftext|>", *CONTRACTIONS.split("|")])
    assert sorted(recognise_runs(spec_of(PATTERN))) == words
    assert sorted(recognise_runs(spec_of(rf"'(?:[sdmt]|re|ve|ll)|<\|(?:start|end)oftext\|>|{RUNS}"))) == words
    assert recognise_runs(spec_of(r"\p{L}+|\p{N}|[^\p{N}\p{L}\s]++")) == []
    assert recognise_runs(spec_of(r"'s|[^\s\p{L}\p{N}]+|\p{N}|(?:\p{L})+")) == ["'s"]


@pytest.mark.parametrize(
    "spec",
    [
        None,
        spec_of(PATTERN, "isolated"),
        spec_of(PATTERN, "removed", False),
        spec_of(PATTERN, prefix=True),
        spec_of(rf"{RUNS}|'s"),  # never taken
        spec_of(rf"'s|'sa|{RUNS}"),  # two at one place
        spec_of(rf"(?i:'s)|{RUNS}"),  # U+017F too
        spec_of(rf"the|{RUNS}"),  # inside a run of letters
        spec_of(rf"' s|{RUNS}"),
        spec_of(rf"'\p{{L}}|{RUNS}"),
        spec_of(rf"'s+|{RUNS}"),
        spec_of(r"'s|\p{L}+|\p{N}+|[^\s\p{L}\p{N}]+"),
        spec_of(r"'s|\p{L}+|\p{N}|[^\s\p{L}]+"),
        spec_of(r"'s|\w+|\p{N}|[^\s\p{L}\p{N}]+"),
        ("Split", "Regex", PATTERN, "removed", True),
    ],
)
def test_not_recognised(spec):
    assert recognise_runs(spec) is None


def test_normalizers_that_do_more():
    spec = spec_of(PATTERN)
    assert plan_runs(None, spec)[0] == []
    for stage in (
        ("NFKC",),
        ("NFD",),
        ("Strip", True, True),
        ("Replace", "Regex", r"\s+", ""),
        ("Replace", "Regex", "a", " "),
    ):
        assert plan_runs(stage, spec) is None
    assert plan_runs(("Sequence", (("NFC",), ("NFC",))), spec) is None


def test_ideographs_are_known_tokens():
    """With BERT's normalizer an ideograph is a word; the table has the id of one that is a token."""
    normalizer = ("BertNormalizer", True, True, None, True)
    planned = plan(normalizer, ("BertPreTokenizer",))
    table = CharClassifier(WordLevelModel({"漢": 7, "[UNK]": 0}, "[UNK]"), *planned, b"", bytes(256))
    known, data = table.entry(ord("漢"))
    assert int.from_bytes(data[:3], "little") == 7
    assert table.entry(ord("字"))[0] == known
    assert table.entry(ord("é"))[0] != known
    assert table.entry(ord("。"))[0] == known
