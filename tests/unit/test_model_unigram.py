"""The Unigram kernel against the reference's."""

import doctest
import math
import random
import struct
from collections import Counter

import pytest
import tokenizers.models as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from model_reference import answer_of_kernel, answer_of_reference, construct

from hftok._core.models import unigram
from hftok._core.models.unigram import UnigramModel

ALPHABET = "abé漢🙂"
SCORES = st.one_of(
    st.sampled_from([0.0, -1.0, -1.0, -2.0, 1.0, -0.0, 0.1, 0.2, 0.3]),  # few values: many paths of equal score
    st.floats(-20, 5),
    st.sampled_from([math.inf, -math.inf, math.nan, 1e308, -1e308]),
)


@st.composite
def vocabularies(draw, scores=SCORES, duplicates=True):
    pieces = draw(st.lists(st.text(ALPHABET, max_size=5), max_size=14, unique=not duplicates))
    pieces += draw(st.lists(st.sampled_from(["<unk>", "x", "xx", "", "aaaaaaaa"]), max_size=4, unique=True))
    bytes_there = draw(st.sampled_from(["none", "all", "some"]))
    if bytes_there != "none":
        step = 1 if bytes_there == "all" else draw(st.integers(2, 7))
        pieces += [f"<0x{b:02X}>" for b in range(0, 256, step)]
    if not duplicates:
        pieces = list(dict.fromkeys(pieces))
    pieces = draw(st.permutations(pieces))
    few = draw(st.booleans())
    values = [draw(st.sampled_from([-1.0, -2.0]) if few or p.startswith("<0x") else scores) for p in pieces]
    unk = draw(st.one_of(st.none(), st.integers(0, len(pieces) - 1))) if pieces else None
    return list(zip(pieces, values, strict=True)), unk, draw(st.booleans())


@settings(max_examples=250, deadline=None)
@given(vocabularies(), st.lists(st.text(ALPHABET + "xy<", max_size=14), max_size=12), st.integers(0, 2**32))
def test_any_vocabulary(model, words, seed):
    ours, theirs = UnigramModel(*model), reference.Unigram(*model)
    rng = random.Random(seed)
    long_words = ["".join(rng.choices("ab" + ALPHABET[:3] + "x", k=k)) for k in (30, 120)]
    for word in ["", *words, *long_words, *(p for p, _ in model[0][:10])]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word), word


@pytest.mark.parametrize("seed", range(8))
def test_every_word_where_all_scores_are_equal(seed):
    rng = random.Random(seed)
    strings = [a + b + c for a in "ab" for b in ["", "a", "b"] for c in ["", "a", "b"]]
    strings = rng.sample(list(dict.fromkeys(strings)), 9)
    values = [0.0] if seed % 2 else [0.0, -0.5, -1.0]
    pieces = [("<unk>", 0.0)] + [(s, len(s) * rng.choice(values)) for s in strings]
    ours, theirs = UnigramModel(pieces, 0), reference.Unigram(pieces, 0)
    for n in range(1, 10):
        for bits in range(1 << n):
            word = "".join("ab"[bits >> i & 1] for i in range(n))
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_scores_are_exact_to_the_last_bit():
    """Scores near numbers of 32 bits are held in half the bytes: a bit more or less must decide as it does in full."""
    rng = random.Random(7)
    signs = [-1.0] * 6 + [1.0]
    kinds = Counter()
    for _ in range(4000):
        exponent = rng.choice([rng.randint(-3, 5), rng.randint(-70, 70), rng.choice([-65, -64, -63, 62, 63, 64, 65])])
        one = struct.unpack("f", struct.pack("f", math.ldexp(rng.uniform(1, 2), exponent)))[0]
        one = rng.choice([one, math.ldexp(1.0, exponent)]) * rng.choice(signs)
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            one = math.nextafter(one, rng.choice([-math.inf, math.inf]))
        other = rng.choice([0.0, -0.0, one, -1.5, one / 3])
        both = rng.choice([one + other, math.nextafter(one + other, 0.0), math.nextafter(one + other, -math.inf)])
        pieces = [("<unk>", -100.0), ("é", one), ("漢", other), ("é漢", both)]
        taken = [1, 2] if one + other > both else [3]
        kinds[taken[0]] += 1
        ours = UnigramModel(pieces, 0)
        assert [i for i, _, _ in ours.tokenize_str("é漢")] == taken, (one, other, both)
        assert answer_of_kernel(ours, "é漢") == answer_of_reference(reference.Unigram(pieces, 0), "é漢")
    assert min(kinds.values()) > 500


def test_a_long_word_of_unknown_characters():
    """Beyond the length up to which there is room for a token for each byte."""
    byte_pieces = [(f"<0x{b:02X}>", -3.0) for b in range(256)]
    for pieces, fallback in [
        ([("<unk>", 0.0), ("a", -1.0), ("zz", -1.0)], False),
        ([("<unk>", 0.0), ("a", -1.0), *byte_pieces], True),
        ([("<unk>", 0.0), ("a", -1.0), *byte_pieces[:-100]], True),
    ]:
        ours, theirs = UnigramModel(pieces, 0, fallback), reference.Unigram(pieces, 0, fallback)
        for word in ["漢" * 2000, "a漢" * 1500, "z" * 5000 + "a", "a" * 5000, "zé" * 2048, "a" * 4095 + "漢"]:
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word), word[:5]


def test_unknown_pieces_are_fused_and_looked_up():
    pieces = [("<unk>", 0.0), ("xx", -100.0), ("a", -1.0), *((f"<0x{b:02X}>", -5.0) for b in "é".encode())]
    for byte_fallback in (False, True):
        ours, theirs = UnigramModel(pieces, 0, byte_fallback), reference.Unigram(pieces, 0, byte_fallback)
        for word in ["xx", "xxx", "axxa", "éé", "aé<unk>x", "<unk>", "<unk><unk>", "é漢", "漢"]:
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)
    # Unknown + unknown beats the piece "xx", and is then called by that piece's id.
    assert UnigramModel(pieces, 0).tokenize_str("axxa")[1] == (1, "xx", (1, 3))


def test_errors_of_construction():
    for args in [([], 0), ([("a", 0.0)], 1), ([("a", 0.0)], 2**40)]:
        ours, our_error = construct(UnigramModel, *args)
        theirs, their_error = construct(reference.Unigram, *args)
        assert (ours, theirs) == (None, None)
        assert str(our_error) == str(their_error)
        assert type(our_error) is type(their_error) is Exception
    for args in [([("a", 0.0)], -1), ([("a", 0.0)], 0, False, 0.5, -1)]:
        ours, our_error = construct(UnigramModel, *args)
        theirs, their_error = construct(reference.Unigram, *args)
        assert (ours, theirs) == (None, None)
        assert type(our_error) is type(their_error) is OverflowError
    for pieces in [[("a",)], [("a", "b")], [(1, 2.0)], ["a"], [None], [("a", 1.0, 2)], None]:
        with pytest.raises(TypeError):
            UnigramModel(pieces)
    with pytest.raises(UnicodeEncodeError):
        UnigramModel([("\ud800", 0.0)])


def test_missing_unk_id():
    pieces = [("a", 0.0), ("ab", 1.0)]
    ours, theirs = UnigramModel(pieces), reference.Unigram(pieces)
    message = "Encountered an unknown token but `unk_id` is missing"
    assert answer_of_kernel(ours, "ax") == answer_of_reference(theirs, "ax") == message
    # "b" is unknown, but the path through it is not better than the piece "ab", whose end it shares.
    assert answer_of_kernel(ours, "ab") == answer_of_reference(theirs, "ab") == [(1, "ab", (0, 2))]
    assert UnigramModel([]).tokenize_str("") == []
    assert answer_of_kernel(UnigramModel([]), "a") == answer_of_reference(reference.Unigram([]), "a") == message


def test_strings_by_id():
    model = UnigramModel([("a", 0.0), ["b", -1], ("a", -2.0)], 1)
    assert model.vocab == {"a": 2, "b": 1}
    assert model.vocab_r == {0: "a", 1: "b", 2: "a"}
    assert model.unk_id == 1
    assert answer_of_kernel(model, "ab") == [(2, "a", (0, 1)), (1, "b", (1, 2))]


# --- the trie --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_every_piece_is_found(seed):
    # Each piece alone is its own best path when its score is high: the trie finds all of them, and nothing else.
    rng = random.Random(seed)
    letters = ["ab", "abcdefghij", "aé漢🙂\0\x7f", "a"][seed % 4]
    strings = list({"".join(rng.choices(letters, k=rng.randint(1, 30 if seed < 4 else 300))) for _ in range(3000)})
    rng.shuffle(strings)
    pieces = [("<unk>", -1.0)] + [(s, 1000.0 * len(s.encode()) ** 2) for s in strings]
    model = UnigramModel(pieces, 0)
    for i, s in enumerate(strings, 1):
        assert model.tokenize_str(s) == [(i, s, (0, len(s.encode())))]
    known = set(strings)
    for s in strings[:300]:
        for other in (s + "z", s[:-1] + "z", "z" + s):
            ours = model.tokenize_str(other)
            assert all(value in known or i == 0 for i, value, _ in ours)


def test_strings_that_fork_at_every_byte():
    # "b", "ab", "aab", ...: a trie as deep as the longest string, with a fork at each step.
    n = 2000
    pieces = [("<unk>", 0.0)] + [("a" * i + "b", float((i + 1) ** 2)) for i in range(n)]
    random.Random(1).shuffle(pieces)
    model = UnigramModel(pieces, pieces.index(("<unk>", 0.0)))
    places = {p: i for i, (p, _) in enumerate(pieces)}
    for i in (0, 1, n // 2, n - 1):
        assert model.tokenize_str("a" * i + "b") == [(places["a" * i + "b"], "a" * i + "b", (0, i + 1))]


def test_many_equal_pieces():
    pieces = [("ab", float(-i)) for i in range(500)] + [("a", -1.0), ("b", -1.0)]
    random.Random(2).shuffle(pieces)
    ours, theirs = UnigramModel(pieces), reference.Unigram(pieces)
    for word in ["ab", "abab", "a", "ba"]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


# --- sampling --------------------------------------------------------------------------------------------------------

SAMPLED = [
    ("<unk>", -3.0), ("a", -1.0), ("b", -1.2), ("c", -2.0), ("ab", -1.5), ("bc", -2.2), ("abc", -2.9), ("ca", -2.4),
]  # fmt: skip
TIES = [("<unk>", -3.0)] + [(s, -float(len(s))) for s in ["a", "b", "ab", "ba", "aa", "bb", "aab", "bab", "abab"]]


def outcomes(tokenize, word, n):
    return Counter(tuple(t[0] if isinstance(t, tuple) else t.id for t in tokenize(word)) for _ in range(n))


def assert_same_distribution(a, b, n):
    # Two samples of n from one distribution: counts differ by more than 6 standard deviations hardly ever.
    for key in a.keys() | b.keys():
        mean = (a[key] + b[key]) / 2
        assert abs(a[key] - b[key]) <= 6 * (2 * mean * (1 - mean / n)) ** 0.5 + 6, (key, a[key], b[key])


@pytest.mark.parametrize("alpha", [0.1, 0.7, 1.0, 2.5, -0.5])
@pytest.mark.parametrize("nbest_size", [None, 0, 1, 2, 5, 64])
@pytest.mark.parametrize("word", ["abcab", "xxabxc"])
def test_sampling_has_the_references_distribution(alpha, nbest_size, word):
    ours = UnigramModel(SAMPLED, 0, False, alpha, nbest_size)
    theirs = reference.Unigram(SAMPLED, 0, False, alpha, nbest_size)
    ours.fix_seed(5)
    if alpha > 1 and not nbest_size and "x" in word:
        # The forward weights multiply by alpha at every step: beyond 1 they soon leave the range of floats.
        assert type(construct(theirs.tokenize, word)[1]).__name__ == "PanicException"
        assert type(construct(ours.tokenize_str, word)[1]) is ValueError
        return
    n = 2500
    assert_same_distribution(outcomes(ours.tokenize_str, word, n), outcomes(theirs.tokenize, word, n), n)


@pytest.mark.parametrize("nbest_size", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("word", ["ababab", "aabbaabbab", "abababababab"])
def test_which_of_equal_paths_are_among_the_best(nbest_size, word):
    # All paths score the same: the reference's heap decides which are drawn from, so the sets must agree.
    ours = UnigramModel(TIES, 0, False, 1.0, nbest_size)
    theirs = reference.Unigram(TIES, 0, False, 1.0, nbest_size)
    ours.fix_seed(6)
    n = 200 * nbest_size
    a, b = outcomes(ours.tokenize_str, word, n), outcomes(theirs.tokenize, word, n)
    assert len(a) == nbest_size
    assert a.keys() == b.keys()
    assert_same_distribution(a, b, n)


@settings(max_examples=150, deadline=None)
@given(
    vocabularies(scores=st.sampled_from([-1.0, -2.0, -0.5, -3.0]), duplicates=False),
    st.text("abéx", min_size=1, max_size=9),
    st.sampled_from([1, 2, 3]),
)
def test_best_few_of_any_vocabulary(model, word, nbest_size):
    # A large alpha makes the best path nearly certain; several best ones share the draw.
    ours, theirs = UnigramModel(*model, 200.0, nbest_size), reference.Unigram(*model, 200.0, nbest_size)
    ours.fix_seed(1)
    try:
        a = {tuple(ours.tokenize_str(word)) for _ in range(40)}
    except Exception as error:
        a = str(error)
    try:
        b = {tuple((t.id, t.value, tuple(t.offsets)) for t in theirs.tokenize(word)) for _ in range(40)}
    except Exception as error:
        b = str(error)
    assert a == b


def test_alpha_of_zero_is_the_best_path():
    ours, theirs = UnigramModel(SAMPLED, 0, False, 0.0), reference.Unigram(SAMPLED, 0, False, 0.0)
    for word in ["abcab", "xabcx"]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_value_error_where_the_reference_panics(capfd):
    for pieces, unk, alpha, nbest_size, word in [
        ([("a", 0.0)], None, 1.0, None, "ax"),  # no path
        ([("<unk>", 0.0), ("a", 0.0)], 0, math.nan, None, "a"),
        ([("<unk>", 0.0), ("a", 2000.0)], 0, 1.0, 1, "a"),  # an infinite weight
        ([("<unk>", 0.0), ("a", 2000.0), ("aa", 1.0)], 0, 1.0, 4, "aa"),
    ]:
        theirs = reference.Unigram(pieces, unk, False, alpha, nbest_size)
        _, their_error = construct(theirs.tokenize, word)
        assert type(their_error).__name__ == "PanicException"
        with pytest.raises(ValueError, match="no distribution"):
            UnigramModel(pieces, unk, False, alpha, nbest_size).tokenize_str(word)


def test_sampling_without_an_unk_id():
    # Any piece asks for the unk id when a path is drawn; a word without a path has no piece.
    pieces = [("a", 0.0)]
    for nbest_size in (1, 2):
        args = (pieces, None, False, 1.0, nbest_size)
        ours, theirs = UnigramModel(*args), reference.Unigram(*args)
        for word in ["a", "aa", "ax", "x", "xa"]:
            assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_replace_and_seed():
    model = UnigramModel(SAMPLED, 0)
    best = model.tokenize_str("abcab")
    drawn = model.replace(alpha=0.2, nbest_size=8)
    assert (drawn.alpha, drawn.nbest_size, model.alpha) == (0.2, 8, None)
    runs = []
    for seed in (1, 1, 2):
        drawn.fix_seed(seed)
        runs.append([drawn.tokenize_str("abcab") for _ in range(40)])
    assert runs[0] == runs[1] != runs[2]
    assert model.chunk_independent
    assert not drawn.chunk_independent
    assert drawn.replace(alpha=0.0).chunk_independent
    assert drawn.replace(alpha=None).tokenize_str("abcab") == best
    with pytest.raises(TypeError, match="no option"):
        model.replace(unk_id=1)


def test_examples():
    outcome = doctest.testmod(unigram)
    assert outcome.attempted
    assert not outcome.failed
