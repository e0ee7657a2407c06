"""Component objects at work: their calls reach the kernels with the settings that they have at the moment."""

import random
from typing import Any

import numpy as np
import pytest
import tokenizers

from hftok import (
    NormalizedString,
    PreTokenizedString,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)
from hftok._core.models.bpe import BPEModel
from hftok._core.models.merges import MergeTable
from hftok._core.models.vocab_map import VocabMap
from hftok._core.pre_tokenizers import PreTokenizerProgram

WORDS = [
    "",
    "a",
    "b",
    "ab",
    "abab",
    "aabb",
    "ba",
    "c",
    "abc",
    "cab",
    "ccc",
    "é",
    "aé",
    "éa",
    "中",
    "abab" * 30,
    "a\0b",
    "</w>",
]


def tokens(model: Any, word: str) -> Any:
    try:
        return [token.as_tuple() for token in model.tokenize(word)]
    except Exception as error:
        return type(error).__name__


def same_tokens(ours: Any, theirs: Any) -> None:
    for word in WORDS:
        assert tokens(ours, word) == tokens(theirs, word), word


VOCAB = {"a": 0, "b": 1, "ab": 2, "abab": 3, "aab": 4, "<unk>": 5, "<0x63>": 6, "<0xC3>": 7, "<0xA9>": 8, "c": 11}
MERGES = [("a", "b"), ("ab", "ab"), ("a", "ab")]


def test_bpe():
    for options in (
        {},
        {"unk_token": "<unk>"},
        {"unk_token": "<unk>", "fuse_unk": True},
        {"byte_fallback": True},
        {"byte_fallback": True, "unk_token": "<unk>"},
        {"ignore_merges": True},
        {"unk_token": "missing"},
        {"dropout": 1.0},
        {"dropout": 0.0},
    ):
        same_tokens(models.BPE(VOCAB, MERGES, **options), tokenizers.models.BPE(VOCAB, MERGES, **options))


def test_bpe_after_changes():
    """The kernel follows the attributes. (The reference may answer words that it has seen from its cache: asked
    anew.)
    """
    model = models.BPE(VOCAB, MERGES)
    options: dict[str, Any] = {}
    for name, value in (
        ("unk_token", "<unk>"),
        ("fuse_unk", True),
        ("byte_fallback", True),
        ("ignore_merges", True),
        ("end_of_word_suffix", "b"),
        ("unk_token", None),
        ("byte_fallback", False),
        ("end_of_word_suffix", None),
    ):
        tokens(model, "ab")
        setattr(model, name, value)
        options[name] = value
        fresh = tokenizers.models.BPE(VOCAB, MERGES)
        for key, setting in options.items():
            setattr(fresh, key, setting)
        same_tokens(model, fresh)


def test_a_prefix_that_changes_leaves_the_merges():
    vocab = {"a": 0, "##b": 1, "ab": 2, "b": 3, "##a": 4, "##ab": 5, "a##b": 6}
    merges = [("a", "##b"), ("##a", "##b")]
    for prefix in ("", None, "#", "##", "x"):
        ours = models.BPE(vocab, merges, continuing_subword_prefix="##")
        theirs = tokenizers.models.BPE(vocab, merges, continuing_subword_prefix="##")
        ours.continuing_subword_prefix = theirs.continuing_subword_prefix = prefix
        same_tokens(ours, theirs)
        assert ours.__getstate__() == theirs.__getstate__()


def test_bpe_after_training_elsewhere():
    model = models.BPE(unk_token="<unk>")
    assert tokens(model, "ab") == "Exception"
    model._update(vocab=VOCAB, merges=MERGES)
    same_tokens(model, tokenizers.models.BPE(VOCAB, MERGES, unk_token="<unk>"))


def test_unigram():
    pieces = [
        ("<unk>", 0.0),
        ("a", -1.0),
        ("b", -1.5),
        ("ab", -1.25),
        ("abab", -5.0),
        ("<0xC3>", -9.0),
        ("<0xA9>", -9.0),
    ]
    for unk_id in (0, None):
        for fallback in (False, True):
            ours = models.Unigram(pieces, unk_id, fallback)
            same_tokens(ours, tokenizers.models.Unigram(pieces, unk_id, fallback))
            ours.alpha = 0.0
            same_tokens(ours, tokenizers.models.Unigram(pieces, unk_id, fallback))


def test_word_piece():
    vocab = {"a": 0, "##b": 1, "ab": 2, "##ab": 3, "[UNK]": 4, "b": 5, "##c": 6}
    ours, theirs = models.WordPiece(vocab), tokenizers.models.WordPiece(vocab)
    same_tokens(ours, theirs)
    for name, value in (
        ("max_input_chars_per_word", 3),
        ("continuing_subword_prefix", ""),
        ("unk_token", "b"),
        ("unk_token", "missing"),
        ("continuing_subword_prefix", "##"),
    ):
        setattr(ours, name, value)
        setattr(theirs, name, value)
        same_tokens(ours, theirs)


def test_word_level():
    ours, theirs = models.WordLevel(VOCAB), tokenizers.models.WordLevel(VOCAB)
    same_tokens(ours, theirs)
    ours.unk_token = theirs.unk_token = "missing"
    same_tokens(ours, theirs)


@pytest.mark.parametrize("value", [3, None, b"a", "\ud800"])
def test_what_cannot_be_tokenized(value):
    for model in (models.BPE(VOCAB, MERGES), tokenizers.models.BPE(VOCAB, MERGES)):
        with pytest.raises((TypeError, UnicodeEncodeError)) as error:
            model.tokenize(value)
        assert type(error.value) is (UnicodeEncodeError if isinstance(value, str) else TypeError)


# ---- merges as ids ---------------------------------------------------------------------------------------------------


def test_a_kernel_from_ids_is_the_kernel_from_strings():
    rng = random.Random(23)
    for _ in range(150):
        words = list("abé中#")
        merges = []
        for _ in range(rng.randrange(30)):
            left, right = rng.choices(words, k=2)
            if left + right not in words:
                words.append(left + right)
            merges.append((left, right))
        spread = rng.choice([1, 7, 1 << 20])
        ids = [i * spread for i in rng.sample(range(len(words)), len(words))]
        vocab = dict(zip(words, ids, strict=True))
        model = models.BPE(vocab, merges)
        from_strings = BPEModel(vocab, merges)
        kernel = model._kernel()
        assert kernel.merges == from_strings.merges
        assert kernel.scannable == from_strings.scannable
        for word in words:
            assert kernel.takes_part(word) == from_strings.takes_part(word)
            assert kernel.cut(word.encode()) == from_strings.cut(word.encode())
        for _ in range(30):
            text = "".join(rng.choices("abé中#", k=rng.randrange(20)))
            assert kernel.tokenize_str(text) == from_strings.tokenize_str(text)


def test_ids_that_are_not_in_the_vocabulary():
    for far in (1, 1 << 30):
        vocab = VocabMap({"a": 0, "b": far})
        for row in ([0, far, far + 1], [2**32 - 1, 0, 0], [0, 5, 0]):
            with pytest.raises(ValueError, match="is not in the vocabulary"):
                MergeTable(vocab, np.array([row], dtype=np.uint32))
    with pytest.raises(ValueError, match="left id, right id and merged id"):
        MergeTable(VocabMap({"a": 0}), np.zeros((2, 2), dtype=np.uint32))


# ---- normalizers and pre-tokenizers ---------------------------------------------------------------------------------

NORMALIZERS = [
    "BertNormalizer()",
    "BertNormalizer(False, False, False, False)",
    "ByteLevel()",
    "Lowercase()",
    "NFC()",
    "NFD()",
    "NFKC()",
    "NFKD()",
    "Nmt()",
    'Prepend("▁")',
    'Replace("a", "bb")',
    'Replace(Regex("a+|é"), "-")',
    "Sequence([])",
    'Sequence([NFD(), StripAccents(), Lowercase(), Prepend("x")])',
    "Strip()",
    "Strip(False, True)",
    "StripAccents()",
]
PRE_TOKENIZERS = [
    "BertPreTokenizer()",
    "ByteLevel()",
    "ByteLevel(False, True, False)",
    'CharDelimiterSplit("a")',
    "Digits()",
    "Digits(True)",
    "FixedLength(3)",
    "Metaspace()",
    'Metaspace("_", "never", False)',
    "Punctuation()",
    'Punctuation("merged_with_next")',
    "Sequence([])",
    "Sequence([WhitespaceSplit(), Punctuation(), Digits(True)])",
    'Split(" ", "contiguous")',
    r'Split(Regex(r"\w+"), "isolated", True)',
    "UnicodeScripts()",
    "Whitespace()",
    "WhitespaceSplit()",
]
TEXTS = ["", "a", "  Héllo, aaa wörld 123 ", "中文abc どこ カナ", "e\u0301\u200b ﬁ ½ \t\n", "a\0b", "don't stop… 42%"]


def names(module: Any, regex: Any) -> dict[str, Any]:
    return {**vars(module), "Regex": regex}


def outcome(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as error:
        return type(error).__name__
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "panic"


@pytest.mark.parametrize("code", NORMALIZERS)
def test_normalizers(code):
    ours = eval(code, names(normalizers, Regex))
    theirs = eval(code, names(tokenizers.normalizers, tokenizers.Regex))
    for text in TEXTS:
        assert ours.normalize_str(text) == theirs.normalize_str(text)
        mine, other = NormalizedString(text), tokenizers.NormalizedString(text)
        ours.normalize(mine)
        theirs.normalize(other)
        assert (mine.normalized, mine.original) == (other.normalized, other.original)
    for wrong in (3, None, b"a", "\ud800"):
        for method in ("normalize_str", "normalize"):
            expected = outcome(getattr(theirs, method), wrong)
            assert isinstance(expected, str)
            assert outcome(getattr(ours, method), wrong) == expected


@pytest.mark.parametrize("code", PRE_TOKENIZERS)
def test_pre_tokenizers(code):
    ours = eval(code, names(pre_tokenizers, Regex))
    theirs = eval(code, names(tokenizers.pre_tokenizers, tokenizers.Regex))
    for text in TEXTS:
        assert ours.pre_tokenize_str(text) == theirs.pre_tokenize_str(text)
        mine, other = PreTokenizedString(text), tokenizers.PreTokenizedString(text)
        ours.pre_tokenize(mine)
        theirs.pre_tokenize(other)
        assert mine.get_splits() == other.get_splits()
    for wrong in (3, None, b"a", "\ud800"):
        for method in ("pre_tokenize_str", "pre_tokenize"):
            expected = outcome(getattr(theirs, method), wrong)
            assert isinstance(expected, str)
            assert outcome(getattr(ours, method), wrong) == expected


def test_normalizers_and_pre_tokenizers_after_changes():
    ours, theirs = normalizers.BertNormalizer(), tokenizers.normalizers.BertNormalizer()
    sequences = normalizers.Sequence([ours]), tokenizers.normalizers.Sequence([theirs])
    assert sequences[0].normalize_str("HÉ") == sequences[1].normalize_str("HÉ") == "he"
    for name, value in (("lowercase", False), ("strip_accents", True), ("handle_chinese_chars", False)):
        setattr(ours, name, value)
        setattr(theirs, name, value)
        for one, other in zip((ours, sequences[0]), (theirs, sequences[1]), strict=True):
            assert one.normalize_str("HÉ 中") == other.normalize_str("HÉ 中")
    split = pre_tokenizers.Split(" ", "removed"), tokenizers.pre_tokenizers.Split(" ", "removed")
    for behavior in ("isolated", "merged_with_previous", "merged_with_next", "contiguous", "removed"):
        for one in split:
            one.behavior = behavior
        assert split[0].pre_tokenize_str("a  b c") == split[1].pre_tokenize_str("a  b c")


def test_what_a_tokenizer_shows_is_compiled_once(monkeypatch):
    """`tokenizer.pre_tokenizer.pre_tokenize_str(text)` in a loop over texts is how words are counted."""
    counted: list[Any] = []

    def counting(kind: Any) -> Any:
        return lambda spec: counted.append(spec) or kind(spec)

    monkeypatch.setattr("hftok.pre_tokenizers.PreTokenizerProgram", counting(PreTokenizerProgram))
    tokenizer = Tokenizer(models.BPE(VOCAB, MERGES))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Digits()])
    for _ in range(3):
        assert [text for text, _ in tokenizer.pre_tokenizer.pre_tokenize_str("a b")] == ["a", "b"]
        assert [token.id for token in tokenizer.model.tokenize("ab")] == [2]
    assert len(counted) == 1
    assert tokenizer.model._kernel() is tokenizer.model._kernel()
    tokenizer.pre_tokenizer[0].behavior = "isolated"
    assert [text for text, _ in tokenizer.pre_tokenizer.pre_tokenize_str("a b")] == ["a", " ", "b"]
    tokenizer.pre_tokenizer[0] = pre_tokenizers.Punctuation()
    assert [text for text, _ in tokenizer.pre_tokenizer.pre_tokenize_str("a b")] == ["a b"]
    assert len(counted) == 3


def test_custom_normalizer_and_pre_tokenizer():
    class Shout:
        def normalize(self, normalized: Any) -> None:
            normalized.append("!")

    class Halves:
        def pre_tokenize(self, pretok: Any) -> None:
            pretok.split(lambda i, text: [text[: len(str(text)) // 2], text[len(str(text)) // 2 :]])

    for one, other in ((normalizers, pre_tokenizers), (tokenizers.normalizers, tokenizers.pre_tokenizers)):
        custom = one.Normalizer.custom(Shout())
        assert one.Sequence([one.Lowercase(), custom]).normalize_str("A") == "a!"
        custom = other.PreTokenizer.custom(Halves())
        assert other.Sequence([other.Whitespace(), custom]).pre_tokenize_str("abcd ef") == [
            ("ab", (0, 2)),
            ("cd", (2, 4)),
            ("e", (5, 6)),
            ("f", (6, 7)),
        ]


# ---- decoders --------------------------------------------------------------------------------------------------------

DECODERS = [
    "BPEDecoder()",
    'BPEDecoder("b")',
    "ByteFallback()",
    "ByteLevel()",
    "CTC()",
    'CTC("a", "b", False)',
    "Fuse()",
    "Metaspace()",
    'Metaspace("_", "never", False)',
    'Replace("a", "xy")',
    'Strip("a", 1, 0)',
    "WordPiece()",
    'WordPiece("@@", False)',
    "Sequence([])",
    'Sequence([Replace("_", " "), ByteFallback(), Fuse(), Strip(" ", 1, 0)])',
]
TOKENS = [
    ["a"],
    ["a", "##b", "b", ",", "ca</w>", "."],
    ["▁a", "▁b", "c_d"],
    ["<0x61>", "<0xC3>", "<0xA9>", "<0xFF>", "x"],
    ["Ġa", "b", "Ã", "©", "é"],
    ["a", "a", "<pad>", "a", "|", "b"],
    ["aaa", "aba", "_x", "do", "##n't"],
]


@pytest.mark.parametrize("code", DECODERS)
def test_decoders(code):
    ours, theirs = eval(code, vars(decoders).copy()), eval(code, vars(tokenizers.decoders).copy())
    for texts in TOKENS:
        assert ours.decode(texts) == theirs.decode(texts)
        assert ours.decode(tuple(texts)) == theirs.decode(tuple(texts))
    for wrong in ("ab", 3, [3], ["a", None]):
        with pytest.raises(TypeError):
            theirs.decode(wrong)
        with pytest.raises(TypeError):
            ours.decode(wrong)


def test_decoders_after_changes():
    ours, theirs = decoders.WordPiece(), tokenizers.decoders.WordPiece()
    assert ours.decode(["a", "##b"]) == theirs.decode(["a", "##b"]) == "ab"
    ours.prefix = theirs.prefix = "@@"
    assert ours.decode(["a", "##b", "@@c"]) == theirs.decode(["a", "##b", "@@c"]) == "a ##bc"
    ours.__setstate__(decoders.Fuse().__getstate__())
    assert ours.decode(["a", "##b"]) == "a##b"


def test_custom_decoder():
    class Reversed:
        def decode_chain(self, tokens: list[str]) -> list[str]:
            return tokens[::-1]

    for module in (decoders, tokenizers.decoders):
        assert module.Decoder.custom(Reversed()).decode(["a", "b"]) == "ba"


# ---- post-processors -------------------------------------------------------------------------------------------------


def encoded(processor: Any, pair: bool, special: bool) -> tuple[list[int], list[int]]:
    """What the reference makes of two texts."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"x": 7, "y": 8}, "x"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = processor
    encoding = tokenizer.encode("x y", "y" if pair else None, add_special_tokens=special)
    return encoding.ids, encoding.type_ids


def raw(ids: list[int]) -> Any:
    from hftok._core.encoding import Encoding

    n = len(ids)
    zeros = np.zeros(n, dtype=np.uint32)
    return Encoding._from_arrays(
        np.array(ids, dtype=np.uint32),
        zeros,
        zeros,
        np.ones(n, dtype=np.uint32),
        np.array([[i, i + 1] for i in range(n)], dtype=np.uint64),
        np.arange(n, dtype=np.int64),
        ["x"] * n,
    )


PROCESSORS = [
    'BertProcessing(("s", 1), ("c", 2))',
    'RobertaProcessing(("s", 1), ("c", 2))',
    "ByteLevel()",
    'TemplateProcessing("c $A s", "c $A s $B:1 s:1", [("c", 1), ("s", 2)])',
    "Sequence([])",
    'Sequence([ByteLevel(), BertProcessing(("s", 1), ("c", 2))])',
]


@pytest.mark.parametrize("code", PROCESSORS)
def test_processors(code):
    ours, theirs = eval(code, vars(processors).copy()), eval(code, vars(tokenizers.processors).copy())
    for pair in (False, True):
        for special in (False, True):
            made = ours.process(raw([7, 8]), raw([8]) if pair else None, special)
            assert (made.ids, made.type_ids) == encoded(theirs, pair, special)
            added = len(made.ids) - (3 if pair else 2)
            assert added == (ours.num_special_tokens_to_add(pair) if special else 0)


def test_processors_after_changes():
    processor = processors.BertProcessing(("s", 1), ("c", 2))
    assert processor.process(raw([7])).ids == [2, 7, 1]
    processor.sep = ("t", 5)
    assert processor.process(raw([7])).ids == [2, 7, 5]
    for wrong in ((3,), (raw([7]), 3), (raw([7]), None, 1)):
        with pytest.raises(TypeError):
            processor.process(*wrong)
