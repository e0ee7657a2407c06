"""The word-level kernel against the reference's."""

import doctest

import pytest
import tokenizers.models as reference
from hypothesis import given, settings
from hypothesis import strategies as st
from model_reference import STRANGE, answer_of_kernel, answer_of_reference, corpus, real_model

from hftok._core.models import wordlevel
from hftok._core.models.wordlevel import WordLevelModel

WORDS = st.text("ab é漢<unk>", max_size=6)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, unique=True, max_size=12), WORDS, st.lists(WORDS, max_size=8))
def test_any_vocabulary(strings, unk, words):
    vocab = {s: i for i, s in enumerate(strings)}
    ours, theirs = WordLevelModel(vocab, unk), reference.WordLevel(vocab, unk)
    for word in [*words, *strings, unk, ""]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(WORDS, st.integers(0, 3), max_size=8), st.lists(WORDS, max_size=8))
def test_shared_ids(vocab, words):
    # Two strings with one id: the token's value is the text, not whichever string the id maps back to.
    ours, theirs = WordLevelModel(vocab, "a"), reference.WordLevel(vocab, "a")
    for word in [*words, *vocab]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_largest_ids():
    vocab = {"a": 2**32 - 1, "<unk>": 2**32 - 2}
    ours, theirs = WordLevelModel(vocab), reference.WordLevel(vocab)
    for word in ["a", "b"]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)
    with pytest.raises(OverflowError):
        WordLevelModel({"a": 2**32})
    with pytest.raises(OverflowError):
        WordLevelModel({"a": -1})


def test_wrong_types():
    with pytest.raises(TypeError):
        WordLevelModel({1: 1})
    with pytest.raises(TypeError):
        WordLevelModel({"a": "b"})
    with pytest.raises(UnicodeEncodeError):
        WordLevelModel({"\ud800": 1})
    with pytest.raises(TypeError):
        WordLevelModel(None)


def test_missing_unk_is_the_references_exception():
    model = WordLevelModel({"a": 0})
    with pytest.raises(Exception, match=r"^WordLevel error: Missing \[UNK\] token from the vocabulary$") as caught:
        model.tokenize_str("b")
    assert caught.type is Exception
    assert model.tokenize_str("a") == [(0, "a", (0, 1))]


def test_replace_keeps_the_vocabulary():
    model = WordLevelModel({"a": 0, "u": 1})
    other = model.replace(unk_token="u")
    assert other.tokenize_str("zz") == [(1, "u", (0, 2))]
    assert other.vocab is model.vocab
    assert "Missing" in answer_of_kernel(model, "zz")


def test_many_words():
    # Large enough for long probes and for strings of every length class of the hash.
    vocab = {f"{'x' * (i % 40)}{i}": i for i in range(50_000)}
    model = WordLevelModel(vocab, "x1")
    for string, i in vocab.items():
        assert model.tokenize_str(string)[0][0] == i
    assert model.tokenize_str("never")[0][0] == vocab["x1"]


@pytest.mark.real
@pytest.mark.corpus
def test_real_vocabulary():
    data = real_model("rwkv-midi")
    ours = WordLevelModel(data["vocab"], data["unk_token"])
    theirs = reference.WordLevel(data["vocab"], data["unk_token"])
    for word in [*corpus("multilingual").split(), *data["vocab"], *STRANGE]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


def test_examples():
    outcome = doctest.testmod(wordlevel)
    assert outcome.attempted
    assert not outcome.failed
