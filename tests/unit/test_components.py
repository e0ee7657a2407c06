"""The component objects beside the reference's: what they accept, refuse, show and keep.

Each case is a piece of Python that is run twice, with the names of the reference and with ours; the results (repr, str,
JSON state, attributes), the errors (type and text) and what is printed must be the same.
"""

import collections
import copy
import pickle
import types
import unicodedata
from typing import Any

import pytest
import tokenizers

import hftok.added_tokens
import hftok.decoders
import hftok.models
import hftok.normalizers
import hftok.patterns
import hftok.pre_tokenizers
import hftok.processors
import hftok.trainers

MODULES = ("normalizers", "pre_tokenizers", "processors", "decoders", "models", "trainers")
REFERENCE = {name: getattr(tokenizers, name) for name in MODULES}
REFERENCE |= {name: getattr(tokenizers, name) for name in ("AddedToken", "Regex", "Token")}
OURS = {name: getattr(hftok, name) for name in MODULES}
OURS |= {
    "AddedToken": hftok.added_tokens.AddedToken,
    "Regex": hftok.patterns.Regex,
    "Token": hftok.models.Token,
}
SHORT = {"normalizers": "N", "pre_tokenizers": "P", "processors": "R", "decoders": "D", "models": "M", "trainers": "T"}


def names(source: dict[str, Any]) -> dict[str, Any]:
    return {SHORT.get(name, name): value for name, value in source.items()} | {
        "collections": collections,
        "copy": copy,
        "pickle": pickle,
    }


def shown(value: Any) -> Any:
    """What a value looks like, whichever library it is from."""
    if isinstance(value, (list, tuple, set)):
        return type(value).__name__, [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, types.FunctionType) or type(value).__module__.startswith(("tokenizers", "hftok")):
        kind = type(value)
        if kind.__name__ == "Token":
            return kind.__name__, value.as_tuple()
        if kind.__name__ == "Regex":
            return kind.__name__
        parts = [kind.__name__, repr(value), str(value)]
        try:
            parts.append(value.__getstate__())
        except Exception as error:
            parts.append(str(error))
        attributes = {}
        for name in dir(kind):
            if name.startswith("_") or callable(getattr(kind, name)):
                continue
            try:
                attributes[name] = shown(getattr(value, name))
            except Exception as error:
                attributes[name] = type(error).__name__, str(error)
        return [*parts, attributes]
    return value


def outcome(code: str, source: dict[str, Any]) -> tuple[Any, ...]:
    space = names(source)
    *before, last = code.strip().split("\n")
    try:
        exec("\n".join(before), space)
        return "gives", shown(eval(last, space))
    except Exception as error:
        return "raises", type(error).__name__, str(error)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return ("panics",)


def same(code: str, *, text: bool = True) -> None:
    theirs = outcome(code, REFERENCE)
    ours = outcome(code, OURS)
    if theirs[0] == "panics":
        assert ours[0] == "raises", ours
    elif theirs[0] == "raises" and not text:
        assert ours[:2] == theirs[:2]
    else:
        assert ours == theirs


MAKE = """
N.BertNormalizer()
N.BertNormalizer(False, False, True, False)
N.BertNormalizer(strip_accents=False, lowercase=False)
N.ByteLevel()
N.Lowercase()
N.NFC()
N.NFD()
N.NFKC()
N.NFKD()
N.Nmt()
N.StripAccents()
N.Precompiled(bytes([4, 0, 0, 0, 1, 2, 3, 4]) + b"abc\\0")
N.Precompiled([4, 0, 0, 0, 1, 2, 3, 4])
N.Precompiled(b"")
N.Precompiled(bytes(4))
N.Precompiled(bytes([3, 0, 0, 0]))
N.Precompiled(bytes([4, 0, 0, 0, 1, 2, 3]))
N.Precompiled(bytes([4, 0, 0, 0, 1, 2, 3, 4, 255]))
N.Precompiled("abc")
N.Prepend()
N.Prepend("x")
N.Prepend(prepend="é\\n")
N.Replace("a", "b")
N.Replace(Regex(r"a+\\s"), "")
N.Replace("", "")
N.Replace(pattern="'", content='"')
N.Strip()
N.Strip(False)
N.Strip(right=False)
N.Sequence([])
N.Sequence([N.NFC(), N.Strip(), N.Sequence([N.NFD(), N.Lowercase()])])
N.Sequence(normalizers=[N.NFC()])
N.unicode_normalizer_from_str("nfkc")
N.unicode_normalizer_from_str("nfx")
P.BertPreTokenizer()
P.ByteLevel()
P.ByteLevel(False, False, False)
P.ByteLevel(use_regex=False, unknown=3)
P.CharDelimiterSplit("x")
P.CharDelimiterSplit(delimiter="é")
P.Digits()
P.Digits(True)
P.Digits(individual_digits=True)
P.FixedLength()
P.FixedLength(0)
P.FixedLength(length=2**64 - 1)
P.Metaspace()
P.Metaspace("_", "never", False)
P.Metaspace(prepend_scheme="first")
P.Punctuation()
P.Punctuation("removed")
P.Punctuation(behavior="contiguous")
P.Split("a", "removed")
P.Split(Regex("a|b"), "merged_with_previous", True)
P.Split(pattern=" ", behavior="merged_with_next", invert=True)
P.UnicodeScripts()
P.Whitespace()
P.WhitespaceSplit()
P.Sequence([])
P.Sequence([P.Whitespace(), P.Sequence([P.Digits()])])
sorted(P.ByteLevel.alphabet())
R.BertProcessing(("[SEP]", 102), ("[CLS]", 101))
R.BertProcessing(sep=("a", 0), cls_token=("b", 2**32 - 1))
R.RobertaProcessing(("</s>", 2), ("<s>", 0))
R.RobertaProcessing(("</s>", 2), ("<s>", 0), False, add_prefix_space=False)
R.ByteLevel()
R.ByteLevel(False, None, True)
R.ByteLevel(trim_offsets=False, anything=1)
R.TemplateProcessing()
R.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 1), (0, "[SEP]")])
R.TemplateProcessing(single="$0", pair="$A $B:1")
R.TemplateProcessing(["x y", "$"], None, [{"id": "x y", "ids": [1, 2], "tokens": ["a", "b"]}])
R.TemplateProcessing("$a $b:3 $7 $:4 $B", special_tokens=[])
R.TemplateProcessing("$1:2 $+3")
R.TemplateProcessing("a:+1", special_tokens=(("a", 1), ("b", 2), ("a", 3)))
R.Sequence([])
R.Sequence([R.ByteLevel(), R.Sequence([R.BertProcessing(("a", 1), ("b", 2))])])
D.BPEDecoder()
D.BPEDecoder("x")
D.ByteFallback()
D.ByteLevel()
D.ByteLevel(add_prefix_space=False, x=1)
D.CTC()
D.CTC("p", "w", False)
D.Fuse()
D.Metaspace()
D.Metaspace("_", "never", False)
D.Replace("a", "b")
D.Replace(Regex("a"), "b")
D.Strip()
D.Strip("x", 1, 2)
D.Strip(left=3)
D.WordPiece()
D.WordPiece("@@", cleanup=False)
D.Sequence([])
D.Sequence([D.Fuse(), D.Sequence([D.Strip()])])
M.Model()
M.BPE()
M.BPE({}, [])
M.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.1, unk_token="a", fuse_unk=True, byte_fallback=True)
M.BPE({"b": 1, "ab": 2, "a": 0}, (("a", "b"),), ignore_merges=True, cache_capacity=10)
M.BPE({"a": 0, "b": 1, "ab": 2, "abb": 5, "c": 7}, [("a", "b"), ("ab", "b"), ("a", "b")])
M.BPE({"a": 0, "##b": 1, "ab": 2}, [("a", "##b")], continuing_subword_prefix="##", end_of_word_suffix="")
M.BPE({"a": True, "é\\n": 2}, [])
M.BPE(unk_token=None, dropout=None)
M.BPE(dropout=1e-7)
M.BPE(dropout=True)
M.BPE(foo=1, bar=2)
M.BPE(collections.OrderedDict(b=3, a=1), [])
M.WordLevel(collections.Counter("aab"))
M.WordPiece()
M.WordPiece({"b": 3, "a": 1}, unk_token="a", max_input_chars_per_word=5, continuing_subword_prefix="")
M.WordPiece(vocab={"a": 1}, foo=1)
M.WordLevel()
M.WordLevel({"b": 3, "a": 1}, "b")
M.WordLevel(vocab={"a": 1}, unk_token="a")
M.Unigram()
M.Unigram([("a", 1), ("b", -2.5), ("c", 1e-7), ("d", 1e300)], 2, True)
M.Unigram([], None, False)
M.Unigram([("a", float("nan")), ("b", float("-inf")), ("c", -0.0)])
M.Unigram([("a", 0.0), ("a", 1.0)], alpha=0.5, nbest_size=3)
M.Unigram(alpha=1)
M.Unigram(byte_fallback=True)
T.BpeTrainer()
T.BpeTrainer(vocab_size=10, min_frequency=2, show_progress=False, progress_format="json", limit_alphabet=5)
T.BpeTrainer(special_tokens=["<a>", AddedToken("b", lstrip=True)], initial_alphabet=["abc", ""], progress_format="x")
T.BpeTrainer(continuing_subword_prefix="##", end_of_word_suffix="</w>", max_token_length=7)
T.BpeTrainer(max_token_length=None, foo=1)
T.WordPieceTrainer()
T.WordPieceTrainer(vocab_size=10, special_tokens=["x"], continuing_subword_prefix="", end_of_word_suffix="$")
T.WordPieceTrainer(max_token_length=3)
T.WordLevelTrainer()
T.WordLevelTrainer(vocab_size=1, min_frequency=1, show_progress=False, special_tokens=["x"], bar=2)
T.UnigramTrainer()
T.UnigramTrainer(vocab_size=5, shrinking_factor=1, unk_token="x", max_piece_length=3, n_sub_iterations=1, seed_size=9)
T.UnigramTrainer(unk_token=None, initial_alphabet=["é"], special_tokens=[AddedToken("x", normalized=True)], foo=1)
T.ParityBpeTrainer()
T.ParityBpeTrainer(5, "window", 1, [1.0, 2], 3, 4, 5, True, ["a"], False, 6, ["x"], "p", "s", 7)
AddedToken()
AddedToken("x")
AddedToken("x", special=True)
AddedToken("x", special=True, normalized=True)
AddedToken("é", single_word=True, lstrip=True, rstrip=True, normalized=False, foo=1)
AddedToken(None, special=False)
Token(1, "a", (0, 3))
Regex("a|b")
"""

REFUSED = """
N.BertNormalizer(1)
N.BertNormalizer(clean_text="x")
N.BertNormalizer(strip_accents=0)
N.BertNormalizer(lowercase=None)
N.Prepend(None)
N.Prepend("\\ud800")
N.Strip(1)
N.Replace("a", 5)
N.Replace("a", None)
N.Sequence((N.NFC(),))
N.Sequence(["x"])
N.Sequence([P.Whitespace()])
N.Sequence([N.NFC])
P.ByteLevel(1)
P.CharDelimiterSplit("")
P.CharDelimiterSplit("ab")
P.CharDelimiterSplit(5)
P.Digits(1)
P.FixedLength(-1)
P.FixedLength(2**64)
P.FixedLength(1.0)
P.FixedLength("1")
P.Metaspace("ab")
P.Metaspace(prepend_scheme="x")
P.Metaspace(prepend_scheme=None)
P.Punctuation("x")
P.Punctuation(None)
P.Split("a", "x")
P.Split("a", "removed", 1)
P.Sequence(P.Whitespace())
R.BertProcessing(["a", 1], ("b", 2))
R.BertProcessing(("a", 1, 2), ("b", 2))
R.BertProcessing(("a", -1), ("b", 2))
R.BertProcessing(("a", 2**32), ("b", 2))
R.BertProcessing((1, "a"), ("b", 2))
R.RobertaProcessing(("a", 1), ("b", 2), 1)
R.ByteLevel(1)
R.TemplateProcessing("$x")
R.TemplateProcessing("[CLS] $A")
R.TemplateProcessing("a:b:c")
R.TemplateProcessing("a:-1")
R.TemplateProcessing("$A:x")
R.TemplateProcessing(pair="$A")
R.TemplateProcessing(5)
R.TemplateProcessing([5])
R.TemplateProcessing("a", special_tokens=["a"])
R.TemplateProcessing("a", special_tokens=[("a", "b")])
R.TemplateProcessing("a", special_tokens=[{"id": "a", "ids": [1], "tokens": []}])
R.TemplateProcessing("a", special_tokens=[{"ids": [1], "tokens": []}])
R.TemplateProcessing("a", special_tokens=[{"id": "a", "tokens": []}])
R.TemplateProcessing("a", special_tokens=[{"id": "a", "ids": []}])
R.TemplateProcessing("a", special_tokens=[{"id": 5, "ids": [], "tokens": []}])
R.Sequence([N.NFC()])
D.BPEDecoder(None)
D.CTC(cleanup=1)
D.Metaspace(replacement="")
D.Metaspace(prepend_scheme="sometimes")
D.Strip("xx")
D.Strip("x", -1)
D.WordPiece(1)
D.Sequence((D.Fuse(),))
D.Sequence([D.Decoder.custom(object())])
M.BPE({"a": 0})
M.BPE(None, [])
M.BPE({"a": 0}, "file")
M.BPE("file", [])
M.BPE("no such file", "no such file")
M.BPE({"a": 0, "b": 1}, [("a", "b")])
M.BPE({"a": 0, "bcd": 1}, [("a", "b")])
M.BPE({"a": 0, "bcd": 1}, [("a", "a")])
M.BPE({"a": 0, "#b": 1, "a#b": 2}, [("a", "#b")], continuing_subword_prefix="##")
M.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], continuing_subword_prefix="##")
M.BPE(dropout=2)
M.BPE(dropout=-0.1)
M.BPE(dropout="x")
M.BPE(dropout=float("nan"))
M.BPE(cache_capacity=-1)
M.BPE(cache_capacity=None)
M.BPE(unk_token=1)
M.BPE(continuing_subword_prefix=None)
M.BPE(end_of_word_suffix=None)
M.BPE(fuse_unk=None)
M.BPE(byte_fallback=1)
M.BPE(ignore_merges="x")
M.WordPiece("no such file")
M.WordPiece(unk_token=None)
M.WordPiece(max_input_chars_per_word=-1)
M.WordPiece(continuing_subword_prefix=None)
M.WordLevel("no such file")
M.WordLevel({}, 5)
M.Unigram([("a", 1.0)], 1)
M.Unigram([], 0)
M.Unigram(None, 0)
M.Unigram([["a", 1.0]])
M.Unigram([("a", "x")])
M.Unigram([("a", 1.0)], -1)
M.Unigram([("a", 1.0)], 0, 1)
M.Unigram([("a", 1.0)], nbest_size=-1)
M.Unigram("ab")
T.BpeTrainer(vocab_size=-1)
T.BpeTrainer(vocab_size=None)
T.BpeTrainer(special_tokens=("a",))
T.BpeTrainer(special_tokens=[5])
T.BpeTrainer(special_tokens=["\\ud800"])
T.BpeTrainer(special_tokens="a")
T.BpeTrainer(limit_alphabet=None)
T.BpeTrainer(initial_alphabet="abc")
T.BpeTrainer(initial_alphabet=[5])
T.BpeTrainer(continuing_subword_prefix=None)
T.BpeTrainer(progress_format=None)
T.BpeTrainer(max_token_length=-1)
T.WordPieceTrainer(show_progress=1)
T.WordLevelTrainer(min_frequency=-1)
T.UnigramTrainer(vocab_size=2**32)
T.UnigramTrainer(shrinking_factor="x")
T.UnigramTrainer(unk_token=5)
T.ParityBpeTrainer(variant="x")
AddedToken(5)
AddedToken("x", special=1)
AddedToken("x", lstrip=None)
AddedToken("\\ud800")
Token(-1, "a", (0, 1))
Token(1, 2, (0, 1))
Token(1, "a", [0, 1])
Token(1, "a", (0, -1))
Regex(5)
Regex("(")
Regex("a**[")
N.Replace(Regex("\\\\"), "")
"""


@pytest.mark.parametrize("code", MAKE.strip().split("\n"))
def test_made(code, capfd):
    same(code)
    lines = capfd.readouterr().out.split("\n")[:-1]
    half = len(lines) // 2
    assert lines[:half] == lines[half:]


@pytest.mark.parametrize("code", REFUSED.strip().split("\n"))
def test_refused(code):
    same(code)


NOT_THEIR_WORDS = """
N.Normalizer()
P.PreTokenizer()
R.PostProcessor()
D.Decoder()
T.Trainer()
AddedToken("a") < "b"
N.BertNormalizer(zz=1)
N.BertNormalizer(True, True, None, True, True)
N.Sequence()
N.Replace("a")
N.Replace(5, "b")
N.Replace("\\ud800", "b")
setattr(N.Replace("a", "b"), "pattern", 5)
setattr(N.Replace("a", "b"), "pattern", "c")
setattr(P.Split("a", "removed"), "pattern", "\\ud800")
P.Split("\\ud800", "removed")
D.Replace("\\ud800", "b")
R.TemplateProcessing("\\ud800")
P.Metaspace(prepend_scheme="sometimes", split=5)
P.Metaspace("ab", prepend_scheme="sometimes", split=5)
D.Metaspace(prepend_scheme="sometimes", split=5)
N.Replace(b"a", "b")
P.Split(5, "removed")
P.Split("a")
P.CharDelimiterSplit()
R.BertProcessing(("a", 1))
D.Replace("a")
M.BPE({"a": -1}, [])
M.BPE({"a": 2**32}, [])
M.BPE({"a": 2**70}, [])
M.BPE({"a": "x"}, [])
M.BPE({1: 1}, [])
M.BPE({"a": 1.0}, [])
M.BPE([("a", 1)], [])
M.BPE({"a": 0}, [["a", "a"]])
M.BPE({"a": 0}, [("a", "a", "a")])
M.BPE({"a": 0}, iter([]))
M.BPE({"a": 0}, [("a", 1)])
M.BPE({"\\ud800": 0}, [])
M.BPE({"a": 0}, [("\\ud800", "a")])
M.WordPiece({"a": -1})
M.BPE("\\ud800", [])
M.BPE({"a": 0}, "\\ud800")
M.WordPiece([])
M.WordPiece("\\ud800")
M.WordPiece("no such file", max_input_chars_per_word="x")
M.WordLevel("no such file", 5)
M.WordLevel("\\ud800")
M.WordLevel.from_file("no such file", 5)
M.WordLevel({"a": None})
M.WordLevel({}, None, None)
T.BpeTrainer(1)
T.WordPieceTrainer([])
T.ParityBpeTrainer(variant="x", alpha="x")
T.ParityBpeTrainer(variant=5, num_merges=-1)
AddedToken("a").__setstate__({1: "a"})
Regex()
Token(1)
setattr(Regex("a"), "foo", 1)
setattr(M.BPE(), "foo", 1)
setattr(T.BpeTrainer(), "foo", 1)
delattr(N.BertNormalizer(), "lowercase")
"""


@pytest.mark.parametrize("code", NOT_THEIR_WORDS.strip().split("\n"))
def test_refused_with_our_own_words(code):
    """The type is theirs; the text tells which argument, where theirs tells how the binding was generated."""
    same(code, text=False)


CHANGED = {
    "flags": """
n = N.BertNormalizer()
n.clean_text = n.handle_chinese_chars = n.lowercase = False
n.strip_accents = True
n
""",
    "an optional flag": """
n = N.BertNormalizer(strip_accents=True)
n.strip_accents = None
n
""",
    "a flag that is none": """
n = N.BertNormalizer()
n.lowercase = 1
n
""",
    "strip": """
n = N.Strip()
n.left = False
n.right = False
n
""",
    "prepend": """
n = N.Prepend("a")
n.prepend = "b"
n
""",
    "replace content": """
n = N.Replace("a", "b")
n.content = "c"
n
""",
    "replace pattern": """
n = N.Replace("a", "b")
n.pattern = "c"
n
""",
    "split pattern": """
n = P.Split("a", "removed")
n.pattern = Regex("c")
n
""",
    "split": """
n = P.Split("a", "removed")
n.behavior = "contiguous"
n.invert = True
n
""",
    "split wrongly": """
n = P.Split("a", "removed")
n.behavior = "x"
n
""",
    "byte level": """
n = P.ByteLevel()
n.add_prefix_space = n.use_regex = n.trim_offsets = False
n
""",
    "delimiter": """
n = P.CharDelimiterSplit("a")
n.delimiter = "é"
n
""",
    "delimiter of two": """
n = P.CharDelimiterSplit("a")
n.delimiter = "ab"
n
""",
    "metaspace": """
n = P.Metaspace()
n.replacement = "_"
n.prepend_scheme = "first"
n.split = False
n
""",
    "metaspace wrongly": """
n = P.Metaspace()
n.prepend_scheme = "x"
n
""",
    "digits, punctuation, length": """
a, b, c = P.Digits(), P.Punctuation(), P.FixedLength()
a.individual_digits = True
b.behavior = "merged_with_next"
c.length = 9
a, b, c
""",
    "length below zero": """
c = P.FixedLength()
c.length = -1
c
""",
    "bert processing": """
n = R.BertProcessing(("a", 1), ("b", 2))
n.sep = ("c", 3)
n.cls = ("d", 4)
n, n.num_special_tokens_to_add(True), n.num_special_tokens_to_add(False)
""",
    "bert processing with a list": """
n = R.BertProcessing(("a", 1), ("b", 2))
n.sep = ["c", 3]
n
""",
    "roberta processing": """
n = R.RobertaProcessing(("a", 1), ("b", 2))
n.sep = ("c", 3)
n.cls = ("d", 4)
n.trim_offsets = n.add_prefix_space = False
n, n.num_special_tokens_to_add(True), n.num_special_tokens_to_add(False)
""",
    "template": """
n = R.TemplateProcessing("x $0", "x $A $B x", [("x", 1)])
n.single = "x x $A:2 y"
n, n.num_special_tokens_to_add(True), n.num_special_tokens_to_add(False)
""",
    "template counts after pickling": """
n = R.TemplateProcessing("x $0", special_tokens=[("x", 1)])
n.single = ["x", "x"]
n = pickle.loads(pickle.dumps(n))
n, n.num_special_tokens_to_add(True), n.num_special_tokens_to_add(False)
""",
    "template that is none": """
n = R.TemplateProcessing()
n.single = 5
n
""",
    "counts in a sequence": """
n = R.Sequence([R.BertProcessing(("a", 1), ("b", 2)), R.ByteLevel(), R.RobertaProcessing(("a", 1), ("b", 2))])
n.num_special_tokens_to_add(True), n.num_special_tokens_to_add(False)
""",
    "counts need a bool": """
R.ByteLevel().num_special_tokens_to_add(1)
""",
    "decoders": """
a, b, c, d = D.BPEDecoder(), D.CTC(), D.Strip(), D.WordPiece()
a.suffix = "x"
b.pad_token, b.word_delimiter_token, b.cleanup = "p", "w", False
c.content, c.start, c.stop = "y", 3, 4
d.prefix, d.cleanup = "", False
a, b, c, d
""",
    "decoder metaspace": """
n = D.Metaspace()
n.replacement = "_"
n.prepend_scheme = "never"
n.split = False
n
""",
    "bpe": """
n = M.BPE({"a": 0}, [])
n.dropout, n.unk_token, n.continuing_subword_prefix, n.end_of_word_suffix = 0.3, "u", "p", "s"
n.fuse_unk = n.byte_fallback = n.ignore_merges = True
n
""",
    "bpe back to none": """
n = M.BPE({"a": 0}, [], dropout=0.5, unk_token="a", continuing_subword_prefix="x", end_of_word_suffix="y")
n.dropout = n.unk_token = n.continuing_subword_prefix = n.end_of_word_suffix = None
n
""",
    "dropout is not checked when assigned": """
n = M.BPE()
n.dropout = 1e39
n.dropout, n
""",
    "word piece": """
n = M.WordPiece({"a": 0})
n.unk_token, n.continuing_subword_prefix, n.max_input_chars_per_word = "a", "", 7
n
""",
    "word level": """
n = M.WordLevel({"a": 0})
n.unk_token = "a"
n
""",
    "unigram": """
n = M.Unigram([("a", 1.0)])
n.alpha, n.nbest_size = 0.1, 5
n, n.alpha, n.nbest_size
""",
    "models have no place for more": """
n = M.BPE()
setattr(n, "foo", 1)
n
""",
    "components do": """
n = N.NFC()
n.foo = 1
n.foo, hasattr(copy.copy(n), "foo")
""",
    "trainer": """
n = T.BpeTrainer()
n.vocab_size, n.min_frequency, n.show_progress, n.progress_format = 1, 2, False, "silent"
n.limit_alphabet, n.max_token_length = 3, 4
n.continuing_subword_prefix, n.end_of_word_suffix = "a", "b"
n.special_tokens = ["x", AddedToken("y", rstrip=True)]
n.initial_alphabet = ["é"]
n, n.get_word_count()
""",
    "trainer alphabet of longer strings": """
n = T.BpeTrainer()
n.initial_alphabet = ["ab"]
n
""",
    "trainer alphabet as a string": """
n = T.UnigramTrainer()
n.initial_alphabet = "ab"
n
""",
    "trainers": """
a, b, c = T.WordPieceTrainer(), T.WordLevelTrainer(), T.UnigramTrainer()
a.vocab_size = b.vocab_size = c.vocab_size = 12
a.special_tokens = b.special_tokens = c.special_tokens = [AddedToken("x")]
a.limit_alphabet = None
a.continuing_subword_prefix = None
b.min_frequency = 3
c.show_progress = False
a, b, c
""",
    "a passed token becomes special": """
t = AddedToken("x")
n = T.BpeTrainer(special_tokens=[t])
t, n.special_tokens[0] is t
""",
    "tokens are copies": """
n = T.BpeTrainer(special_tokens=["x"])
n.special_tokens[0].content = "y"
n
""",
    "added token": """
t = AddedToken("x")
t.special = True
a = repr(t)
t.content = "y"
t, a, str(t), len({t, AddedToken("y")}), t == AddedToken("y", special=True), t == "y", t != AddedToken("y")
""",
    "added token, read-only": """
t = AddedToken("x")
t.normalized = True
t
""",
    "added tokens have no order": """
a, b = AddedToken("a"), AddedToken("b")
a < b, a <= a, a > b, a >= a
""",
    "hashes": """
[hash(AddedToken(x)) for x in ("", "a", "[UNK]", "1234567", "12345678", "a much longer token, with spaces", "é中😀")]
""",
    "added token state": """
t = AddedToken("x", lstrip=True)
t.__setstate__({"content": "z", "normalized": False, "other": 1})
t, t.__getstate__()
""",
    "added token state that is none": """
AddedToken("x").__setstate__(5)
""",
    "parity trainer": """
n = T.ParityBpeTrainer()
n.num_merges, n.min_frequency, n.global_merges, n.window_size, n.alpha = 1, 2, 3, 4, 5
n.total_symbols, n.show_progress, n.special_tokens, n.limit_alphabet = True, False, ["x"], 9
n.initial_alphabet, n.continuing_subword_prefix, n.end_of_word_suffix, n.max_token_length = ["a", "b"], "p", "s", 3
n, pickle.loads(pickle.dumps(n))
""",
    "parity trainer's variant is fixed": """
n = T.ParityBpeTrainer()
n.variant = "window"
n
""",
}


@pytest.mark.parametrize("case", CHANGED)
def test_changed(case):
    same(CHANGED[case], text=not any(words in case for words in ("read-only", "fixed", "no place")))


SHARED = {
    "an item is the component itself": """
b = N.BertNormalizer()
s = N.Sequence([b, N.NFC()])
b.lowercase = False
s[0].clean_text = False
s, b, s[0], len(s), s[1]
""",
    "nested sequences are flattened and shared": """
b = N.Strip()
inner = N.Sequence([b, N.NFC()])
outer = N.Sequence([N.NFD(), inner])
b.left = False
outer[1].right = False
inner, outer, len(outer)
""",
    "assigning an item changes every handle of it": """
n = N.Lowercase()
s = N.Sequence([n])
other = N.Sequence([n, N.NFC()])
s[0] = N.Prepend("x")
s, other, repr(n), type(n).__name__, type(s[0]).__name__
""",
    "a handle that no longer fits ignores assignments": """
b = N.BertNormalizer()
s = N.Sequence([b])
s[0] = N.Strip()
b.lowercase = False
s, repr(b)
""",
    "and cannot be read": """
b = N.BertNormalizer()
s = N.Sequence([b])
s[0] = N.Strip()
b.lowercase
""",
    "assigned items are copied": """
p = N.Prepend("x")
s = N.Sequence([N.NFC()])
s[0] = p
p.prepend = "y"
s
""",
    "no sequence as an item": """
s = N.Sequence([N.NFC()])
s[0] = N.Sequence([])
s
""",
    "no item beyond the end": """
N.Sequence([N.NFC()])[1]
""",
    "nor assignment": """
s = N.Sequence([N.NFC()])
s[1] = N.NFC()
s
""",
    "nor negative index": """
N.Sequence([N.NFC()])[-1]
""",
    "nor slices": """
N.Sequence([N.NFC()])[0:1]
""",
    "nor deletion": """
N.Sequence([N.NFC()]).__delitem__(0)
""",
    "nor other kinds": """
s = N.Sequence([N.NFC()])
s[0] = P.Whitespace()
s
""",
    "iteration": """
list(N.Sequence([N.NFC(), N.Strip()])), list(P.Sequence([P.Digits()])), list(R.Sequence([R.ByteLevel()]))
""",
    "pre-tokenizers": """
d = P.Digits()
s = P.Sequence([d, P.Whitespace()])
s[0].individual_digits = True
s[1] = P.Metaspace("_")
s, d, s[1]
""",
    "pre-tokenizers, no sequence": """
s = P.Sequence([P.Digits()])
s[0] = P.Sequence([])
s
""",
    "pre-tokenizers, beyond": """
P.Sequence([])[0]
""",
    "processors": """
d = R.ByteLevel()
s = R.Sequence([d, R.BertProcessing(("a", 1), ("b", 2))])
s[0].trim_offsets = False
s[1].sep = ("c", 3)
s[1] = R.ByteLevel(False)
s, d, s[1]
""",
    "processors, no sequence": """
s = R.Sequence([R.ByteLevel()])
s[0] = R.Sequence([])
s
""",
    "decoders are copied": """
d = D.Strip()
s = D.Sequence([d])
d.start = 5
s
""",
    "decoders have no items": """
D.Sequence([D.Fuse()])[0]
""",
    "copies share nothing": """
b = N.BertNormalizer()
s = N.Sequence([b])
c, d, e = copy.copy(s), copy.deepcopy(s), pickle.loads(pickle.dumps(s))
b.lowercase = False
s, c, d, e
""",
    "state of another kind": """
n = N.NFC()
n.__setstate__(N.Strip().__getstate__())
repr(n), type(n).__name__
""",
    "state that is a sequence": """
n = N.Sequence([])
n.__setstate__(b'{"type":"Sequence","normalizers":[{"type":"Sequence","normalizers":[{"type":"NFC"}]},{"type":"NFD"}]}')
n, len(n), n[0], len(n[0]), n[0][0], n[0][9]
""",
    "nested pre-tokenizers have no items": """
n = P.Sequence([])
n.__setstate__(b'{"type":"Sequence","pretokenizers":[{"type":"Sequence","pretokenizers":[{"type":"Whitespace"}]}]}')
n[0][0]
""",
    "and take none": """
n = N.Sequence([])
n.__setstate__(b'{"type":"Sequence","normalizers":[{"type":"Sequence","normalizers":[{"type":"NFC"}]}]}')
n[0][0] = N.NFC()
n
""",
    "custom normalizer": """
n = N.Normalizer.custom(object())
s = N.Sequence([n, N.NFC()])
type(n).__name__, type(s[0]).__name__, s[1], len(s)
""",
    "custom normalizer has no repr": """
repr(N.Normalizer.custom(object()))
""",
    "nor a sequence with one": """
str(N.Sequence([N.Normalizer.custom(object())]))
""",
    "custom state": """
N.Normalizer.custom(object()).__getstate__()
""",
    "custom pre-tokenizer": """
repr(P.Sequence([P.PreTokenizer.custom(object())]))
""",
    "custom pre-tokenizer state": """
P.PreTokenizer.custom(object()).__getstate__()
""",
    "custom decoder": """
repr(D.Decoder.custom(object()))
""",
    "custom decoder state": """
D.Decoder.custom(object()).__getstate__()
""",
}


@pytest.mark.parametrize("case", SHARED)
def test_shared(case):
    same(SHARED[case], text="no items" not in case or "nested" in case)


STATES = [
    "x",
    b"",
    b"{",
    b"null",
    b"5",
    b"{}",
    b'{"type":"NFC"}',
    b'{"type":"Nothing"}',
    b'{"type":"Whitespace"}',
    b'{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true}',
    b'{"type":"Fuse"}',
    b'{"type":"BPE","vocab":{},"merges":[]}',
    b'{"vocab":{"a":0},"unk_token":"a"}',
    b'{"BpeTrainer":{}}',
    b'{"WordLevelTrainer":{"min_frequency":0,"vocab_size":3,"show_progress":true,"special_tokens":[],"words":{"a":2}}}',
    b'{"WordLevelTrainer":[0,3,true,[["a",true,true,true,true,true]],{"a":2}]}',
]


@pytest.mark.parametrize(
    "made", ["N.NFC()", "P.Whitespace()", "R.ByteLevel()", "D.Fuse()", "M.BPE()", "T.BpeTrainer()"]
)
@pytest.mark.parametrize("state", STATES, ids=repr)
def test_states(made, state):
    code = f"n = {made}\nn.__setstate__({state!r})\nrepr(n)"
    theirs, ours = outcome(code, REFERENCE), outcome(code, OURS)
    if theirs[0] == "raises":
        assert ours[:2] == theirs[:2]
        start = theirs[2].partition(":")[0]  # what was attempted; the reason is told in our words
        assert ours[2].startswith(start)
    else:
        assert ours == theirs


def test_pickles_that_the_reference_cannot_read_back():
    """It lacks `__getnewargs__` there, and fails with a TypeError; ours come back."""
    for made in ('N.Replace("a", "b")', 'D.Replace(Regex("a"), "b")', "N.Precompiled(bytes(4))"):
        assert outcome(f"pickle.loads(pickle.dumps({made}))", REFERENCE)[:2] == ("raises", "TypeError")
        back = outcome(f"pickle.loads(pickle.dumps({made}))", OURS)
        assert back == outcome(made, OURS)
        assert back[0] == "gives"


def test_str_cuts_between_characters():
    """The reference cuts long strings at the 100th byte, and panics inside a character."""
    code = 'str(N.Prepend("x" + "é" * 60))'
    assert outcome(code, REFERENCE) == ("panics",)
    assert outcome(code, OURS) == ("gives", 'Prepend(prepend="x' + "é" * 49 + '...")')
    same('str(N.Prepend("é" * 60)), str(N.Prepend("x" * 100)), str(N.Prepend("x" * 101))')


def test_repr_limits():
    same("M.WordLevel({str(i): i for i in range(150)})")
    same("M.WordLevel({str(i): i for i in range(99)})")
    same("M.WordLevel({str(i): i for i in range(100)})")
    same("M.Unigram([(str(i), -i / 7) for i in range(101)])")
    same("T.BpeTrainer(special_tokens=[str(i) for i in range(8)])")
    vocab = "{**{chr(97 + i): i for i in range(20)}, **{chr(97 + i) * 2: 20 + i for i in range(20)}}"
    same(f"M.BPE({vocab}, [(chr(97 + i), chr(97 + i)) for i in range(20)])")


def test_repr_of_deep_sequences():
    """Beyond the deepest level counters are shared between levels (19 in `str`)."""
    deep = "D.Fuse()"
    for _ in range(25):
        deep = f"D.Sequence([D.Strip(), {deep}, D.Fuse(), D.Fuse(), D.Fuse(), D.Fuse(), D.Fuse()])"
    same(deep)


def test_owners_are_told_and_not_kept_alive():
    class Owner:
        changes = 0

        def _component_changed(self) -> None:
            self.changes += 1

    owner = Owner()
    item = hftok.normalizers.BertNormalizer()
    sequence = hftok.normalizers.Sequence([item, hftok.normalizers.NFC()])
    sequence._add_owner(owner)
    sequence._add_owner(owner)
    item.lowercase = False
    assert owner.changes == 1
    sequence[1] = hftok.normalizers.Prepend("x")
    assert owner.changes == 2
    sequence[1].prepend = "y"
    assert owner.changes == 3
    with pytest.raises(TypeError):
        item.lowercase = 1
    assert owner.changes == 3
    sequence._remove_owner(owner)
    item.lowercase = True
    assert owner.changes == 3
    sequence._add_owner(owner)
    del owner
    item.lowercase = False  # nobody is left to be told


def test_specs():
    n, p, r, d = hftok.normalizers, hftok.pre_tokenizers, hftok.processors, hftok.decoders
    regex = hftok.patterns.Regex
    custom = object()
    charsmap = bytes(4)
    pairs = [
        (n.BertNormalizer(strip_accents=True), ("BertNormalizer", True, True, True, True)),
        (n.Lowercase(), ("Lowercase",)),
        (n.Replace("a", "b"), ("Replace", "String", "a", "b")),
        (n.Replace(regex("a"), "b"), ("Replace", "Regex", "a", "b")),
        (n.Strip(False), ("Strip", False, True)),
        (n.Prepend("x"), ("Prepend", "x")),
        (n.Precompiled(charsmap), ("Precompiled", charsmap)),
        (n.Normalizer.custom(custom), ("Custom", custom)),
        (n.Sequence([n.NFC(), n.Sequence([n.NFD()])]), ("Sequence", (("NFC",), ("NFD",)))),
        (p.BertPreTokenizer(), ("BertPreTokenizer",)),
        (p.Punctuation("removed"), ("Punctuation", "removed")),
        (p.Digits(True), ("Digits", True)),
        (p.ByteLevel(False, True, False), ("ByteLevel", False, True, False)),
        (p.Metaspace("_", "first", False), ("Metaspace", "_", "first", False)),
        (p.Split(regex("a"), "merged_with_next", True), ("Split", "Regex", "a", "merged_with_next", True)),
        (p.CharDelimiterSplit("x"), ("CharDelimiterSplit", "x")),
        (p.FixedLength(3), ("FixedLength", 3)),
        (p.PreTokenizer.custom(custom), ("Custom", custom)),
        (p.Sequence([p.Whitespace(), p.Digits()]), ("Sequence", (("Whitespace",), ("Digits", False)))),
        (r.BertProcessing(("s", 1), ("c", 2)), ("BertProcessing", ("s", 1), ("c", 2))),
        (r.RobertaProcessing(("s", 1), ("c", 2)), ("RobertaProcessing", ("s", 1), ("c", 2), True, True)),
        (r.ByteLevel(), ("ByteLevel", True, True, True)),
        (
            r.TemplateProcessing("x $A", "$A:1 x:2 $B:3", [{"id": "x", "ids": [1, 2], "tokens": ["y", "z"]}]),
            (
                "TemplateProcessing",
                (("special", "x", 0), ("A", 0)),
                (("A", 1), ("special", "x", 2), ("B", 3)),
                {"x": ((1, 2), ("y", "z"))},
                (2, 2),
            ),
        ),
        (r.Sequence([r.ByteLevel()]), ("Sequence", (("ByteLevel", True, True, True),))),
        (d.WordPiece(), ("WordPiece", "##", True)),
        (d.ByteLevel(), ("ByteLevel",)),
        (d.Metaspace(), ("Metaspace", "▁", "always", True)),
        (d.Replace("a", "b"), ("Replace", "String", "a", "b")),
        (d.BPEDecoder(), ("BPEDecoder", "</w>")),
        (d.Strip("x", 1, 2), ("Strip", "x", 1, 2)),
        (d.CTC(), ("CTC", "<pad>", "|", True)),
        (d.Decoder.custom(custom), ("Custom", custom)),
        (d.Sequence([d.Fuse(), d.ByteFallback()]), ("Sequence", (("Fuse",), ("ByteFallback",)))),
    ]
    for component, spec in pairs:
        assert component._spec() == spec


def test_debug_notation_of_templates():
    """`TemplateProcessing.single` shows Rust's Debug notation: escapes, for every kind of character."""
    for start in range(0, 0x110000, 0x1000):
        chars = [chr(c) for c in range(start, start + 0x1000, 3) if c not in (0x3A, 0x24)]
        # Not those that Python's older Unicode lacks: `regex` may know newer ones than the reference.
        chars = [c for c in chars if unicodedata.category(c) not in ("Cn", "Cs")]
        if not chars:
            continue
        ours = hftok.processors.TemplateProcessing(chars, special_tokens=[(c, 0) for c in chars])
        theirs = tokenizers.processors.TemplateProcessing(chars, special_tokens=[(c, 0) for c in chars])
        assert ours.single == theirs.single
