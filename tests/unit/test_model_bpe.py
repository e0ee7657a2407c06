"""The BPE kernel against the reference's."""

import doctest
import itertools
import os
import random
import subprocess
import sys
import time
from collections import Counter

import pytest
import tokenizers.models as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from model_reference import answer_of_kernel, answer_of_reference, byte_chars, construct

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


@settings(max_examples=300, deadline=None)
@given(vocabularies(), st.lists(st.text(ALPHABET + "xz#$<", max_size=14), max_size=12), st.integers(0, 2**32))
def test_any_vocabulary(model, words, seed):
    vocab, merges, options = model
    ours, theirs = BPEModel(vocab, merges, **options), as_reference(vocab, merges, **options)
    shared = len(set(vocab.values())) < len(vocab)
    rng = random.Random(seed)
    # Longer words are cut where no merge can join, and beyond 64 symbols a piece takes the queue.
    letters = rng.choice([ALPHABET[:3], ALPHABET, ALPHABET + "z"])
    long_words = ["".join(rng.choices(letters, k=k)) for k in (23, 30, 64, 65, 150)]
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


@st.composite
def run_vocabularies(draw):
    """Merges of a, b and what they make, in any order: for rows that are runs of a few equal symbols."""
    strings = ["a", "b", "-"]
    merges = []
    for _ in range(draw(st.integers(1, 14))):
        left, right = draw(st.sampled_from(strings)), draw(st.sampled_from(strings))
        merges.append((left, right))
        if left + right not in strings and len(left) + len(right) < 40:
            strings.append(left + right)
        elif left + right not in strings:
            merges.pop()
    if draw(st.booleans()):
        merges = draw(st.permutations(merges))
    return {s: i for i, s in enumerate(strings)}, list(dict.fromkeys(merges))


@settings(max_examples=400, deadline=None)
@given(run_vocabularies(), st.integers(0, 2**32))
def test_rows_of_few_runs(model, seed):
    # All places of a pair at once, where nothing that arises on the way comes first: as the queue, and the reference.
    vocab, merges = model
    # As far as is known beforehand any two characters might be joined: nothing is cut off.
    merges = [*merges, ("**", "**"), ("**", "a"), ("**", "b"), ("a", "**"), ("b", "**"), ("-", "**"), ("**", "-")]
    vocab = {s: i for i, s in enumerate(dict.fromkeys([*vocab, "*", "**", *(a + b for a, b in merges)]))}
    by_runs = BPEModel(vocab, merges)
    by_queue = BPEModel({**vocab, "unused 1": len(vocab), "unused 2": len(vocab)}, merges)
    theirs = reference.BPE(vocab, merges)
    assert by_runs.scannable
    rng = random.Random(seed)
    for most in (90, 90, 400, 3000):
        word = "".join(c * rng.randint(1, most) for c in rng.choices("ab-*", k=rng.randint(1, 7)))
        word += "*" * max(0, 65 - len(word))
        found = answer_of_kernel(by_runs, word)
        assert found == answer_of_kernel(by_queue, word), word
        assert found == answer_of_reference(theirs, word), word


# A pair that arises at one place ranks before the pair that is being merged, and the next places come out otherwise:
# found by trying what happens without each of the looks at such pairs.
EARLIER = [
    ("b aa,baa a,a a", "b" + "a" * 5),
    ("a aaa,aa a,a a,aaaa aa", "aaaa"),
    ("aaaaaa aaaa,a aaaa,aa aa,aaaa a,a aaaaa,a a", "aaaaaa"),
    ("aab a,aa b,a a", "b" * 5 + "a" * 8 + "b" + "a" * 6),
    ("ba b,b a,a a", "bbbbbabaa"),
]


@pytest.mark.parametrize(("lines", "word"), EARLIER)
def test_pair_that_arises_and_comes_first(lines, word):
    # No merge makes "--" of two dashes, but others might be joined to one, as far as is known beforehand: no cuts.
    merges = [tuple(line.split()) for line in lines.split(",")]
    merges += [("--", "--"), ("--", "a"), ("--", "b"), ("a", "--"), ("b", "--")]
    vocab = {s: i for i, s in enumerate(dict.fromkeys(["a", "b", "-", "--", *(a + b for a, b in merges)]))}
    ours, theirs = BPEModel(vocab, merges), reference.BPE(vocab, merges)
    assert ours.scannable
    for text in ("-" * 70 + word, word + "-" * 70, "-" * 70 + word + "-" * 9 + word):
        assert answer_of_kernel(ours, text) == answer_of_reference(theirs, text)


def test_scan_is_used_for_ordinary_vocabularies():
    assert BPEModel({"a": 0, "b": 1, "ab": 2}, [("a", "b")]).scannable
    assert not BPEModel({"a": 0, "b": 0, "ab": 2}, [("a", "b")]).scannable
    assert not BPEModel({"a": 0, "": 1}, [("a", "")]).scannable


# Strings that share ids: an entry of the queue outlives its symbols, and the pair that is there now has another rank
# but the same result. The reference applies the old entry, at the old rank.
STALE = [
    ({"a": 1, "b": 0, "c": 0, "cb": 2, "ca": 1, "ab": 2, "caca": 2}, "c a,c b,a b,ca ca", "aacba", [1, 2]),
    (
        {"a": 3, "b": 3, "c": 2, "cb": 13, "bc": 2, "cbcb": 4, "bcb": 16, "acb": 2},
        "cb cb,b cb,c b,b c,a cb",
        "bcabac",
        [13, 2],
    ),
    (
        {"a": 1, "b": 0, "c": 1, "aa": 13, "bb": 0, "cbb": 15, "bbc": 0, "baa": 0},
        "a a,bb c,b b,c bb,b aa",
        "bbcccb",
        [0],
    ),
    ({"a": 4, "b": 11, "c": 3, "bc": 0, "bcb": 3, "bcbc": 3, "cb": 16}, "b c,bc b,bc bc,c b", "abcbcb", [4, 16]),
]


@pytest.mark.parametrize("case", range(len(STALE)))
def test_stale_entry_that_the_reference_still_applies(case):
    vocab, merges, word, ids = STALE[case]
    merges = [tuple(m.split()) for m in merges.split(",")]
    ours, theirs = BPEModel(vocab, merges), reference.BPE(vocab, merges)
    assert [t.id for t in theirs.tokenize(word)] == ids
    assert [i for i, _, _ in ours.tokenize_str(word)] == ids


def test_merges_with_the_empty_string():
    # ("a", "") -> "a" makes no longer string: outside the proof, and never applied unless ids are shared.
    vocab = {"a": 0, "b": 1, "": 1, "ab": 2, "abb": 3}
    for merges in itertools.permutations([("a", "b"), ("ab", "b"), ("a", ""), ("ab", "")]):
        ours, theirs = BPEModel(vocab, list(merges)), reference.BPE(vocab, list(merges))
        for n in range(1, 7):
            for letters in itertools.product("ab", repeat=n):
                word = "".join(letters)
                ours_says, theirs_says = answer_of_kernel(ours, word), answer_of_reference(theirs, word)
                assert same_tokens(ours_says, theirs_says, True), (merges, word)


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
    for lines, number in [
        (["a b", "#version", "a  b"], 2),
        (["ab"], 1),
        (["a b c"], 1),
        ([""], 1),
        (["x y", "a b", "ab"], 3),
    ]:
        with pytest.raises(Exception, match=f"^Error while initializing BPE: Merges .* invalid at line {number}$"):
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
    message = "Unk token `u` not found in the vocabulary"
    assert answer_of_kernel(ours, "ab") == answer_of_reference(theirs, "ab") == message
    assert answer_of_kernel(ours, "aa") == answer_of_reference(theirs, "aa")


# --- dropout ---------------------------------------------------------------------------------------------------------

DROPPING = (
    {"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4, "abc": 5, "aba": 6},
    [("a", "b"), ("b", "c"), ("ab", "c"), ("ab", "a")],
)


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


def test_what_the_engine_asks():
    vocab, merges = DROPPING
    assert BPEModel(vocab, merges).chunk_independent
    assert BPEModel(vocab, merges, dropout=0.0).chunk_independent
    assert not BPEModel(vocab, merges, dropout=0.1).chunk_independent
    assert not BPEModel(vocab, merges).replace(dropout=float("nan")).chunk_independent
    assert not BPEModel(vocab, merges, ignore_merges=True).text_values
    assert BPEModel({**vocab, "x": 0}, merges, ignore_merges=True).text_values


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
draws = model.tokenize_each(iter(lambda: "ab" * 3, None))
some = lambda: "".join(str(token[0]) for _ in range(200) for token in next(draws)).encode().ljust(1200)
some()
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(write, some())
    os._exit(0)
mine = some()
theirs = os.read(read, 1200)
os.waitpid(pid, 0)
print(len(theirs) == 1200 and mine != theirs)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "True", done.stderr


# --- safe cuts -------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(vocabularies(affixes=False), st.integers(0, 2**32))
def test_pieces_between_cuts_are_encoded_by_themselves(model, seed):
    vocab, merges, options = model
    ours, theirs = BPEModel(vocab, merges, **options), as_reference(vocab, merges, **options)
    rng = random.Random(seed)
    chars = [c for c in ALPHABET if c in vocab]  # an unknown character takes part in unk fusion: no matter of the cuts
    for _ in range(4 if chars else 0):
        text = "".join(rng.choices(chars, k=40))
        pieces = [p.decode() for p in ours.cut(text.encode())]
        assert "".join(pieces) == text
        ids = [[t.id for t in theirs.tokenize(p)] for p in ([text] if options["ignore_merges"] else pieces)]
        assert list(itertools.chain(*ids)) == [t.id for t in theirs.tokenize(text)]


def test_cuts_fall_where_no_merge_joins():
    strings = ["a", "b", "c", "é", "漢", "ab", "bé", "漢a", "abé", "<unk>", "<unk>a", "<0x41>", "<0x41>a"]
    vocab = {s: i for i, s in enumerate(strings)}
    merges = [("a", "b"), ("b", "é"), ("漢", "a"), ("a", "bé")]
    model = BPEModel(vocab, merges, unk_token="<unk>", byte_fallback=True)
    text = "ccabéé漢ab漢漢acab"
    assert [p.decode() for p in model.cut(text.encode())] == ["c", "c", "abé", "é", "漢ab", "漢", "漢a", "c", "ab"]
    # Not cut: affixes, ids that are shared, and unk or byte tokens that merge.
    whole = [text.encode()]
    assert BPEModel(vocab, merges, end_of_word_suffix="é").cut(whole[0]) == whole
    assert BPEModel({**vocab, "x": 0}, merges).cut(whole[0]) == whole
    assert BPEModel(vocab, [*merges, ("<unk>", "a")], unk_token="<unk>").cut(whole[0]) == whole
    assert BPEModel(vocab, [*merges, ("<0x41>", "a")], byte_fallback=True).cut(whole[0]) == whole
    assert BPEModel(vocab, [*merges, ("<0x41>", "a")]).cut(whole[0]) != whole


def test_characters_that_vanish_leave_neighbours_that_merge():
    # Without an unk token "z" gives no symbol, and the "a" and "b" around it are neighbours.
    vocab, merges = {"a": 0, "b": 1, "ab": 2}, [("a", "b")]
    ours, theirs = BPEModel(vocab, merges), reference.BPE(vocab, merges)
    word = "azb" * 20
    assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)
    assert {i for i, _, _ in ours.tokenize_str(word)} == {2}


def test_tokens_with_parts_of_characters_keep_those_together():
    # A token of the last byte of "漢" and the first two of "字": these two stay joined, and so does any pair that
    # shares the two bytes at the seam; "字漢" does not.
    chars = byte_chars()
    kanji, ji = "漢".encode(), "字".encode()
    seam = [chars[kanji[2]], chars[ji[0]] + chars[ji[1]]]
    vocab = {s: i for i, s in enumerate([*chars.values(), seam[1], "".join(seam)])}
    model = BPEModel(vocab, [(chars[ji[0]], chars[ji[1]]), tuple(seam)])
    theirs = reference.BPE(vocab, [(chars[ji[0]], chars[ji[1]]), tuple(seam)])
    assert [p.decode() for p in model.cut("漢字漢字a字".encode())] == ["漢字", "漢字", "a", "字"]
    raw = "漢字漢字a字".encode() * 8
    expected = [t.id for t in theirs.tokenize("".join(chars[b] for b in raw))]
    assert [i for i, _, _ in model.tokenize_bytes(raw)] == expected
    # Bytes that are no characters are never cut from what is beside them.
    assert model.cut(b"\xff\x80\x80\x80\xe6") == [b"\xff\x80\x80\x80\xe6"]
    assert model.cut(b"aa\xe6aa") == [b"a", b"a\xe6a", b"a"]


# --- bytes -----------------------------------------------------------------------------------------------------------


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
    lengths = [0, 1, 2, 3, 5, 8, 13, 30, 63, 64, 65, 200]
    for _ in range(1500):
        raw = bytes(rng.choices(b" abcde\xe6\xbc\xa2\xc3\xa9\x00\xff", k=rng.choice(lengths)))
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


def test_examples():
    outcome = doctest.testmod(bpe)
    assert outcome.attempted
    assert not outcome.failed
