"""The BPE kernel against the reference's."""

import doctest
import itertools
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter

import pytest
import tokenizers.models as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from model_reference import (
    STRANGE,
    answer_of_kernel,
    answer_of_reference,
    construct,
    corpus,
    real_model,
    reference_of,
)

from hftok._core.models import bpe
from hftok._core.models.bpe import BPEModel

ALPHABET = "abcé漢🙂"
OPTIONS = ("unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges")


def as_reference(vocab, merges, **options):
    """The reference's constructor tells None from an absent affix."""
    return reference.BPE(vocab, merges, **{k: v for k, v in options.items() if v is not None})


@st.composite
def vocabularies(draw, affixes=True):
    """A vocabulary that holds together: every merge joins two tokens into a token. Some characters are left out."""
    prefix = draw(st.sampled_from(["", "", "#", "##", "é"])) if affixes else ""
    suffix = draw(st.sampled_from(["", "", "</w>", "$"])) if affixes else ""
    chars = draw(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=5, unique=True))
    strings = list(dict.fromkeys(p + c + s for c in chars for p in {"", prefix} for s in {"", suffix}))
    strings = draw(st.permutations(strings))
    merges = []
    for _ in range(draw(st.integers(0, 25))):
        left, right = draw(st.sampled_from(strings)), draw(st.sampled_from(strings))
        if len(left) + len(right) > 24 or len(right.encode()) < len(prefix.encode()):
            continue
        try:
            joined = (left.encode() + right.encode()[len(prefix.encode()) :]).decode()
        except UnicodeDecodeError:
            continue
        merges.append((left, right))
        if joined not in strings:
            strings.append(joined)
    merges = draw(st.permutations(merges))  # any order: a token may be used before the merge that makes it
    extra = draw(st.lists(st.sampled_from(["<unk>", "", "aab", "abcabc", "z"]), unique=True))
    bytes_there = draw(st.sampled_from(["none", "all", "some"]))
    if bytes_there != "none":
        step = 1 if bytes_there == "all" else draw(st.integers(2, 5))
        extra += [f"<0x{b:02X}>" for b in range(0, 256, step)]
    strings = list(dict.fromkeys([*strings, *extra]))
    ids = list(range(len(strings)))
    if draw(st.integers(0, 3)) == 0:
        ids = [draw(st.integers(0, 5)) if draw(st.booleans()) else i for i in ids]  # strings that share an id
    if draw(st.integers(0, 5)) == 0:
        ids = [i * 70_000_003 % 2**32 for i in ids]  # beyond what a packed table takes
    options = {
        "unk_token": draw(st.sampled_from([None, "<unk>", "a", "absent"])),
        "continuing_subword_prefix": prefix or draw(st.sampled_from([None, ""])),
        "end_of_word_suffix": suffix or draw(st.sampled_from([None, ""])),
        "fuse_unk": draw(st.booleans()),
        "byte_fallback": draw(st.booleans()),
        "ignore_merges": draw(st.booleans()),
    }
    return dict(zip(strings, ids, strict=True)), merges, options


def same_tokens(ours, theirs, shared_ids):
    if isinstance(ours, str) or isinstance(theirs, str) or not shared_ids:
        return ours == theirs
    # Where strings share an id, the reference's choice of the string differs from run to run.
    return [(i, o) for i, _, o in ours] == [(i, o) for i, _, o in theirs]


@settings(max_examples=600, deadline=None)
@given(vocabularies(), st.lists(st.text(ALPHABET + "xz#$<", max_size=14), max_size=12), st.integers(0, 2**32))
def test_any_vocabulary(model, words, seed):
    vocab, merges, options = model
    ours, theirs = BPEModel(vocab, merges, **options), as_reference(vocab, merges, **options)
    shared = len(set(vocab.values())) < len(vocab)
    rng = random.Random(seed)
    long_words = ["".join(rng.choices(ALPHABET[:3], k=k)) for k in (40, 63, 64, 65, 66, 150)]
    for word in ["", *words, *long_words, *list(vocab)[:8]]:
        assert same_tokens(answer_of_kernel(ours, word), answer_of_reference(theirs, word), shared), word


@settings(max_examples=150, deadline=None)
@given(vocabularies(), st.integers(0, 2**32))
def test_scan_and_queue_agree(model, seed):
    # A vocabulary with one more, unused, pair of equal ids is outside the proof and takes the queue for every word.
    vocab, merges, options = model
    vocab = {s: i for i, s in enumerate(vocab)}
    by_scan = BPEModel(vocab, merges, **options)
    by_queue = BPEModel({**vocab, "unused 1": len(vocab), "unused 2": len(vocab)}, merges, **options)
    assert not by_queue.scannable
    rng = random.Random(seed)
    for _ in range(20):
        word = "".join(rng.choices("abcé漢", k=rng.randint(0, 70)))
        assert answer_of_kernel(by_scan, word) == answer_of_kernel(by_queue, word)


def test_scan_is_used_for_ordinary_vocabularies():
    assert BPEModel({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).scannable
    assert not BPEModel({"a": 0, "b": 0, "ab": 2}, [("a", "b")]).scannable
    assert not BPEModel({"a": 0, "": 1}, [("a", "")]).scannable


def test_stale_entry_that_the_reference_still_applies():
    # ("a", "") -> "a" makes no longer string, so an entry of the queue may outlive its symbols and still be applied.
    vocab = {"a": 0, "b": 1, "": 1, "ab": 2, "abb": 3}
    for merges in itertools.permutations([("a", "b"), ("ab", "b"), ("a", ""), ("ab", "")]):
        ours, theirs = BPEModel(vocab, list(merges)), reference.BPE(vocab, list(merges))
        for n in range(1, 7):
            for letters in itertools.product("ab", repeat=n):
                word = "".join(letters)
                assert same_tokens(answer_of_kernel(ours, word), answer_of_reference(theirs, word), True), (merges, word)


@settings(max_examples=100, deadline=None)
@given(vocabularies(affixes=False), st.lists(st.text(ALPHABET + "xz", max_size=10), max_size=5))
def test_replace_is_like_the_setters(model, words):
    vocab, merges, options = model
    ours, theirs = BPEModel(vocab, merges), reference.BPE(vocab, merges)
    ours = ours.replace(**options)
    for name, value in options.items():
        setattr(theirs, name, value)
    shared = len(set(vocab.values())) < len(vocab)
    for word in ["", *words, *list(vocab)[:6]]:
        assert same_tokens(answer_of_kernel(ours, word), answer_of_reference(theirs, word), shared), word
    for name in OPTIONS:
        assert getattr(ours, name) == getattr(theirs, name)


def test_replace_of_an_affix_keeps_the_merges():
    # The merges stay as they were made for the first prefix.
    vocab = {"a": 0, "#b": 1, "ab": 2, "b": 3, "b$": 4, "ab$": 5}
    ours = BPEModel(vocab, [("a", "#b")], continuing_subword_prefix="#")
    theirs = reference.BPE(vocab, [("a", "#b")], continuing_subword_prefix="#")
    # (The reference would answer by the old options for a word that its cache has seen; the kernel has no such memory.)
    assert answer_of_kernel(ours, "ab") == [(2, "ab", (0, 2))]
    ours = ours.replace(continuing_subword_prefix=None, end_of_word_suffix="$")
    theirs.continuing_subword_prefix = None
    theirs.end_of_word_suffix = "$"
    for word in ["ab", "a", "b", "bb", "aab"]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)
    with pytest.raises(TypeError, match="no option"):
        ours.replace(vocab={})


BAD = [
    ({"a": 0, "ab": 1}, [("a", "b")], {}),
    ({"b": 0, "ab": 1}, [("a", "b")], {}),
    ({"a": 0, "b": 1, "xyz": 2}, [("a", "b")], {}),
    ({"a": 0, "#b": 1, "a#b": 2}, [("a", "#b")], {"continuing_subword_prefix": "#"}),
    ({"a": 0}, [], {"dropout": -0.1}),
    ({"a": 0}, [], {"dropout": 1.1}),
    ({"a": 0}, [], {"dropout": float("nan")}),
    ({"a": 0}, [("b", "a")], {"dropout": 2.0}),  # dropout is looked at first
]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_errors_of_construction(case):
    vocab, merges, options = BAD[case]
    ours, our_error = construct(BPEModel, vocab, merges, **options)
    theirs, their_error = construct(as_reference, vocab, merges, **options)
    assert ours is None
    assert theirs is None
    assert str(our_error) == str(their_error)
    assert type(our_error) is type(their_error) is Exception


PANICS = [
    ({"a": 0, "b": 1}, [("a", "b")], {}),
    ({"a": 0, "b": 1, "ab": 2}, [("a", "b"), ("ab", "a")], {}),
    ({"a": 0, "b": 1, "ab": 2}, [("a", "b")], {"continuing_subword_prefix": "##"}),
    ({"aa": 0, "b": 1}, [("aa", "b")], {}),
]


@pytest.mark.parametrize("case", range(len(PANICS)))
def test_value_error_where_the_reference_panics(case, capfd):
    vocab, merges, options = PANICS[case]
    # A result longer than every token, and a right part shorter than the prefix.
    ours, our_error = construct(BPEModel, vocab, merges, **options)
    theirs, their_error = construct(as_reference, vocab, merges, **options)
    assert (ours, theirs) == (None, None)
    assert type(their_error).__name__ == "PanicException"
    assert type(our_error) is ValueError
    assert str(our_error).startswith("Error while initializing BPE: ")


def test_wrong_types():
    for merges in [[1], [("a",)], [("a", "b", "c")], [("a", 1)], ["a b", ("a", "b")], [("a", "b"), "a b"], [None]]:
        with pytest.raises(TypeError):
            BPEModel({"a": 0, "b": 1, "ab": 2}, merges)
    with pytest.raises(TypeError):
        BPEModel(None, [])
    with pytest.raises(TypeError):
        BPEModel({}, None)
    with pytest.raises(UnicodeEncodeError):
        BPEModel({"a": 0}, [("a", "\udc00")])


def test_lines_are_read_as_in_a_merges_file():
    vocab = {"a": 0, "b": 1, "ab": 2, "aba": 3, "": 4, "#version": 5, "#versionb": 6}
    pairs = [("a", "b"), ("ab", "a")]
    lines = ["#version: 0.2", "a b", "#version again", "ab a"]
    by_line, by_pair = BPEModel(vocab, lines), BPEModel(vocab, pairs)
    assert by_line.merges == by_pair.merges == pairs
    assert answer_of_kernel(by_line, "abaab") == answer_of_kernel(by_pair, "abaab")
    assert BPEModel(vocab, ["a "]).merges == [("a", "")]
    for lines, number in [(["a b", "#version", "a  b"], 2), (["ab"], 1), (["a b c"], 1), ([""], 1), (["x y", "a b", "ab"], 3)]:
        with pytest.raises(Exception, match=f"^Error while initializing BPE: Merges text file invalid at line {number}$"):
            BPEModel(vocab, lines)


def test_merges_file_errors_are_the_references(tmp_path):
    (tmp_path / "v.json").write_text('{"a":0,"b":1,"ab":2}')
    for lines in [["a b", "#version", "a  b"], ["x y", "ab"], ["#version", "a"], ["a c"], ["x b", "a b"]]:
        (tmp_path / "m.txt").write_text("\n".join(lines) + "\n")
        _, ours = construct(BPEModel, {"a": 0, "b": 1, "ab": 2}, lines)
        _, theirs = construct(reference.BPE, str(tmp_path / "v.json"), str(tmp_path / "m.txt"))
        assert str(ours) == str(theirs)
        assert type(ours) is type(theirs)


def test_pair_listed_twice_holds_where_it_stands_last():
    vocab = {"a": 0, "b": 1, "ab": 2, "ba": 3}
    merges = [("a", "b"), ("b", "a"), ("a", "b")]
    ours, theirs = BPEModel(vocab, merges), reference.BPE(vocab, merges)
    assert answer_of_kernel(ours, "aba") == answer_of_reference(theirs, "aba")
    assert [i for i, _, _ in ours.tokenize_str("aba")] == [0, 3]
    assert ours.merges == [("b", "a"), ("a", "b")]


def test_byte_tokens_go_before_an_unk_that_is_held_back():
    # The unk for "é" is held back and comes out after the byte tokens of "漢"; fused, it takes in the "é" behind them.
    vocab = {"<unk>": 0, "a": 1, **{f"<0x{b:02X}>": b for b in "漢".encode()}}
    for fuse in (False, True):
        ours = BPEModel(vocab, [], unk_token="<unk>", byte_fallback=True, fuse_unk=fuse)
        theirs = reference.BPE(vocab, [], unk_token="<unk>", byte_fallback=True, fuse_unk=fuse)
        for word in ["é漢éa", "éé漢漢éé", "a漢é", "é漢"]:
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)
    assert [i for i, _, _ in ours.tokenize_str("é漢éa")] == [230, 188, 162, 0, 1]


def test_largest_ids():
    # 2**32 - 1 is the kernel's own mark of "no token"; as an id it must still work.
    top = 2**32 - 1
    for vocab, merges in [
        ({"a": top, "b": 0, "ab": 1}, [("a", "b")]),
        ({"a": 0, "b": 1, "ab": top, "aba": 2}, [("a", "b"), ("ab", "a")]),
        ({"#a": top, "a": 5, "a$": 7, "#a$": 8, "é": 9, "#é$": 10}, []),
    ]:
        affixes = {"continuing_subword_prefix": "#", "end_of_word_suffix": "$"} if "#a" in vocab else {}
        ours, theirs = BPEModel(vocab, merges, **affixes), as_reference(vocab, merges, **affixes)
        for word in ["a", "b", "ab", "aba", "aaa", "xax", "é", "aé"]:
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_missing_unk():
    ours, theirs = BPEModel({"a": 0}, [], unk_token="u"), reference.BPE({"a": 0}, [], unk_token="u")
    assert answer_of_kernel(ours, "ab") == answer_of_reference(theirs, "ab") == "Unk token `u` not found in the vocabulary"
    assert answer_of_kernel(ours, "aa") == answer_of_reference(theirs, "aa")


# --- dropout -----------------------------------------------------------------------------------------------------------

DROPPING = ({"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "aba": 6}, [("a", "b"), ("b", "c"), ("ab", "c"), ("ab", "a")])


def outcomes(tokenize, word, n):
    return Counter(tuple(t[0] if isinstance(t, tuple) else t.id for t in tokenize(word)) for _ in range(n))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("word", ["abc", "ababcab"])
def test_dropout_has_the_references_distribution(p, word):
    ours = BPEModel(*DROPPING, dropout=p)
    ours.fix_seed(7)
    theirs = reference.BPE(*DROPPING, dropout=p)
    n = 6000
    a, b = outcomes(ours.tokenize_str, word, n), outcomes(theirs.tokenize, word, n)
    # Two samples of n from one distribution: counts differ by more than 6 standard deviations hardly ever.
    for key in a.keys() | b.keys():
        mean = (a[key] + b[key]) / 2
        assert abs(a[key] - b[key]) <= 6 * (2 * mean * (1 - mean / n)) ** 0.5 + 6, (key, a[key], b[key])


def test_dropout_of_one_makes_no_merges_and_of_zero_all():
    vocab, merges = DROPPING
    for p in (0.0, 1.0, 1.00000001):
        ours, theirs = BPEModel(vocab, merges, dropout=p), reference.BPE(vocab, merges, dropout=p)
        assert ours.dropout == theirs.dropout
        for word in ["abcab", "a" * 100, "abc"]:
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_dropout_set_later_is_not_checked():
    vocab, merges = {**DROPPING[0], "abca": 7}, DROPPING[1]
    for p in (-1.0, 2.0, float("nan"), 0.0, None):
        ours = BPEModel(vocab, merges, ignore_merges=True).replace(dropout=p)
        theirs = reference.BPE(vocab, merges, ignore_merges=True)
        theirs.dropout = p
        assert repr(ours.dropout) == repr(theirs.dropout)
        for word in ["abca", "abcab", "abc", "a"]:  # ignore_merges counts only where dropout is None or 0
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_dropout_seed():
    model = BPEModel(*DROPPING, dropout=0.5)
    draws = []
    for seed in (1, 1, 2):
        model.fix_seed(seed)
        draws.append([model.tokenize_str("abcababcab") for _ in range(30)])
    assert draws[0] == draws[1] != draws[2]
    model.fix_seed(None)
    free = [[model.tokenize_str("abcababcab") for _ in range(30)] for _ in range(2)]
    assert free[0] != free[1]


def test_one_memory_for_many_words():
    model = BPEModel(*DROPPING)
    words = ["abcab" * k for k in (1, 100, 3, 20, 0, 500, 2)]
    each = list(model.tokenize_each(words))
    assert each == [[(i, *span) for i, _, span in model.tokenize_str(w)] for w in words]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_dropout_draws_differ_in_a_forked_child():
    code = """
import os
from hftok._core.models.bpe import BPEModel
model = BPEModel({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.5)
words = iter(lambda: "ab" * 200, None)
draws = model.tokenize_each(words)
next(draws)
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(write, repr(next(draws)).encode().ljust(1 << 15))
    os._exit(0)
mine = repr(next(draws)).encode().ljust(1 << 15)
theirs = b""
while len(theirs) < 1 << 15:
    theirs += os.read(read, 1 << 15)
os.waitpid(pid, 0)
print(mine != theirs)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "True", done.stderr


# --- bytes -------------------------------------------------------------------------------------------------------------


def byte_chars():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in kept]
    return {**{b: chr(b) for b in kept}, **{b: chr(256 + i) for i, b in enumerate(others)}}


def byte_model(seed, merges=400, **options):
    rng = random.Random(seed)
    chars = byte_chars()
    strings = list(chars.values())
    rng.shuffle(strings)
    pairs = []
    common = [chars[b] for b in b" abcde\xe6\xbc\xa2\xc3\xa9"]
    for _ in range(merges):
        left, right = rng.choice(common), rng.choice(common)
        pairs.append((left, right))
        common.append(left + right)
    return dict.fromkeys([*strings, *common]), pairs, options


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_bytes_and_byte_level_text_agree(ignore_merges):
    vocab, merges, _ = byte_model(3)
    model = BPEModel({s: i for i, s in enumerate(vocab)}, merges, ignore_merges=ignore_merges)
    theirs = reference.BPE({s: i for i, s in enumerate(vocab)}, merges, ignore_merges=ignore_merges)
    assert model.byte_level
    chars = byte_chars()
    rng = random.Random(5)
    for _ in range(1500):
        raw = bytes(rng.choices(b" abcde\xe6\xbc\xa2\xc3\xa9\x00\xff", k=rng.choice([0, 1, 2, 3, 5, 8, 13, 30, 63, 64, 65, 200])))
        text = "".join(chars[b] for b in raw)
        expected = answer_of_reference(theirs, text)
        assert answer_of_kernel(model, text) == expected
        spans, at = [], 0
        for i, value, _ in expected:
            spans.append((i, at, at + len(value)))  # one character a byte
            at += len(value)
        assert model.tokenize_bytes(raw) == spans


def test_bytes_need_a_byte_level_vocabulary():
    model = BPEModel({"a": 0}, [])
    assert not model.byte_level
    with pytest.raises(ValueError, match="ByteLevel"):
        model.tokenize_bytes(b"a")


# --- real vocabularies -------------------------------------------------------------------------------------------------

REAL = [
    "gpt2", "gpt2-pairs-format", "qwen3", "llama2", "gemma3", "clip-vit-base", "openai-gpt", "llama3.1", "mistral-nemo",
    "deepseek-v3", "gpt-oss", "kimi-k2", "yi-6b", "barthez", "pgn-chess-bpe", "pix2tex-latex-ocr", "toy-sqlpilot",
    "whisper-large-v3", "starcoder2", "mistral-7b-v0.1",
]  # fmt: skip


def kernel_of(data):
    names = ("dropout", *OPTIONS)
    return BPEModel(data["vocab"], data["merges"], **{k: data[k] for k in names if k in data})


def words_for(data):
    """Words as the model meets them: ByteLevel characters where the vocabulary has them, '▁' where it has that."""
    texts = [corpus(name, size=60_000) for name in ("english", "chinese", "multilingual", "code")]
    words = set()
    for text in texts:
        words.update(re.findall(r" ?\w+|[^\w\s]+|\s+", text))
        words.update(text[i : i + 150] for i in range(0, 15_000, 1500))
    words = sorted(words)
    if "Ġ" in data["vocab"]:
        chars = byte_chars()
        words = ["".join(chars[b] for b in w.encode()) for w in words]
    elif "▁" in data["vocab"]:
        words = [w.replace(" ", "▁") for w in words]
    rng = random.Random(1)
    return [*rng.sample(words, min(4000, len(words))), *rng.sample(list(data["vocab"]), 300), *STRANGE]


@pytest.mark.real
@pytest.mark.corpus
@pytest.mark.parametrize("name", REAL)
def test_real_vocabulary(name):
    data = real_model(name)
    ours, theirs = kernel_of(data), reference_of(data)
    for word in words_for(data):
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word), word


@pytest.mark.real
@pytest.mark.corpus
@pytest.mark.parametrize("name", ["llama2", "gemma3", "yi-6b", "gpt2"])
def test_a_whole_document_as_one_word(name):
    data = real_model(name)
    ours, theirs = kernel_of(data), reference_of(data)
    for source in ("english", "chinese", "multilingual", "code"):
        text = corpus(source, size=30_000).replace(" ", "▁" if "▁" in data["vocab"] else "Ġ")
        assert answer_of_kernel(ours, text) == answer_of_reference(theirs, text)


@pytest.mark.parametrize("char", ["a", " ", "^"])
def test_a_million_equal_characters(char):
    # Runs of each length are tokens, as in real vocabularies: many equal ranks, many stale entries.
    chars = byte_chars()
    c = chars[ord(char)]
    vocab = list(chars.values()) + [c * n for n in (2, 3, 4, 8, 16, 32, 64)]
    merges = [(c * n, c * n) for n in (1, 2, 4, 8, 16, 32)] + [(c * 2, c)]
    model = BPEModel({s: i for i, s in enumerate(vocab)}, merges)
    begin = time.process_time()
    tokens = model.tokenize_bytes(char.encode() * 1_000_000)
    assert time.process_time() - begin < 20  # a quadratic loop takes hours
    assert [i for i, _, _ in tokens] == [vocab.index(c * 64)] * 15625
    assert tokens[-1][2] == 1_000_000


@pytest.mark.real
@pytest.mark.parametrize("char", ["a", "Ġ", "^"])
def test_a_hundred_thousand_equal_characters_under_gpt2(char):
    data = real_model("gpt2")
    ours, theirs = kernel_of(data), reference_of(data)
    assert answer_of_kernel(ours, char * 100_001) == answer_of_reference(theirs, char * 100_001)


@pytest.mark.real
@pytest.mark.parametrize("name", ["gpt2", "llama2"])
def test_merges_are_given_back(name):
    data = real_model(name)
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in data["merges"]]
    assert kernel_of(data).merges == pairs


def test_examples():
    outcome = doctest.testmod(bpe)
    assert outcome.attempted and not outcome.failed
