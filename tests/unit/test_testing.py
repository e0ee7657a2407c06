"""hftok.testing: what it finds, how short it makes it, and that it finds nothing where there is nothing."""

from __future__ import annotations

import itertools
import random

import pytest
import tokenizers

import hftok
from hftok.testing import Difference, assert_parity, encoding_fields, find_difference, shrink, shrink_sequence

WORDS = ["[UNK]", "[CLS]", "[SEP]", "a", "b", "##b", "c", "é", "e", "abc", "##x", "."]
VOCAB = {word: number for number, word in enumerate(WORDS)}
TEXTS = ["a b ab", "abc é c.", "", "zzz", "A\u0301 bx . . a"]


def pair(**changes):
    """Ours and the reference's BERT tokenizer of the same vocabulary, the reference's with some options changed."""
    return hftok.BertWordPieceTokenizer(VOCAB)._tokenizer, tokenizers.BertWordPieceTokenizer(
        VOCAB, **changes
    )._tokenizer


def test_no_difference():
    ours, theirs = pair()
    assert find_difference(ours, theirs, TEXTS) is None
    assert_parity(ours, theirs, list(itertools.product(TEXTS, TEXTS)), add_special_tokens=False)
    assert_parity(ours, theirs, [text.split() for text in TEXTS], is_pretokenized=True)
    assert_parity(ours, theirs, iter(TEXTS))
    assert_parity(ours, theirs, [])


def test_fields_are_all_compared():
    """A difference in any one field is found."""
    ours, theirs = pair()

    class Changed:
        def __init__(self, field):
            self.field = field

        def encode(self, *args, **kwargs):
            return Row(theirs.encode(*args, **kwargs), self.field)

        def encode_batch(self, *args, **kwargs):
            return [Row(row, self.field) for row in theirs.encode_batch(*args, **kwargs)]

    class Row:
        def __init__(self, row, field):
            self.row, self.field = row, field

        def __len__(self):
            return len(self.row)

        def __getattr__(self, name):
            value = getattr(self.row, name)
            if name == self.field:
                return [value[0], *value[:-1]]
            return value

    for field in encoding_fields(ours.encode("a")):
        if field in ("overflowing", "attention_mask"):
            continue
        found = find_difference(ours, Changed(field), [("a b c", "a")], shorten=False)
        assert found is not None, field
        assert found.field == field


def test_overflowing_is_compared():
    ours, theirs = pair()
    ours.enable_truncation(4, stride=1)
    theirs.enable_truncation(4, stride=0)
    found = find_difference(ours, theirs, ["abc é c. a b abc"])
    assert found is not None
    assert "overflowing" in found.field
    theirs.enable_truncation(4, stride=1)
    assert find_difference(ours, theirs, ["abc é c. a b abc"]) is None


@pytest.mark.parametrize("seed", range(5))
def test_difference_is_made_short(seed):
    ours, theirs = pair(strip_accents=False)
    rng = random.Random(seed)
    text = " ".join(rng.choices(["a", "b", "abc", "zz", "."], k=300))
    at = rng.randrange(len(text))
    text = f"{text[:at]} é e\u0301 {text[at:]}"
    found = find_difference(ours, theirs, ["a b", text])
    assert isinstance(found, Difference)
    assert found.original == text
    assert found.input in ("é", "\u0301")
    assert found.call == "encode"
    assert found.field == "ids"
    assert found.index == 1 or found.input == "\u0301"
    with pytest.raises(AssertionError) as caught:
        assert_parity(ours, theirs, [text])
    message = str(caught.value)
    assert "the ids differ" in message
    assert ascii(found.input) in message
    assert message.isascii()
    assert f"hftok {hftok.__version__}" in message
    assert f"tokenizers {tokenizers.__version__}" in message
    assert "shrunk from" in message


def test_pairs_and_words_are_made_short():
    ours, theirs = pair(lowercase=False)
    found = find_difference(ours, theirs, [("a b c", "a A b . . .")])
    assert found.input == ("", "A")
    found = find_difference(ours, theirs, [["a", "b", "Ab", "c"]], is_pretokenized=True)
    assert found.input == ["A"]
    assert found.arguments == {"is_pretokenized": True}
    assert "is_pretokenized=True" in found.report()


def test_batch_difference():
    """Rows that are equal alone and differ in a batch: padding."""
    ours, theirs = pair()
    ours.enable_padding()
    found = find_difference(ours, theirs, ["a", "a b", "a b c", "a", "a"])
    assert found.call == "encode_batch"
    assert len(found.input) == 2
    assert "row" in found.field
    assert "a" in found.report()


def test_errors_are_compared():
    ours, theirs = pair()
    with pytest.raises(AssertionError, match="error"):
        assert_parity(ours, Raises(), ["a"])
    assert find_difference(ours, theirs, [None, 5, "\ud800", ["a"]]) is None
    assert find_difference(Raises(), Raises(), ["a"]) is None
    assert find_difference(Raises(KeyError), Raises(ValueError), ["a"]).field == "error"


class Raises:
    def __init__(self, error=ValueError):
        self.error = error

    def encode(self, text):
        raise self.error("no")

    def encode_batch(self, texts):
        raise self.error("no")


def test_array_doors_are_compared(monkeypatch):
    ours, theirs = pair()
    encode_batch_ids = hftok.Tokenizer.encode_batch_ids

    def wrong(self, *args, **kwargs):
        rows = encode_batch_ids(self, *args, **kwargs)
        rows.ids[rows.ids == VOCAB["c"]] = 0
        return rows

    monkeypatch.setattr(hftok.Tokenizer, "encode_batch_ids", wrong)
    found = find_difference(ours, theirs, ["a b", "b c a", "a"])
    assert found.call == "encode_batch_ids"
    assert found.input == ["c"]


def test_transformers_tokenizers():
    transformers = pytest.importorskip("transformers")
    one, other, same = (
        transformers.PreTrainedTokenizerFast(tokenizer_object=pair(**changes)[1], pad_token="[UNK]")
        for changes in ({}, {"lowercase": False}, {})
    )
    assert_parity(one, same, TEXTS, padding=True, return_tensors="np")
    assert_parity(one, same, [("a", "b"), ("abc", "é")], truncation=True, max_length=4, return_offsets_mapping=True)
    found = find_difference(one, other, ["a b", "b A"], padding="max_length", max_length=9)
    assert found.input == "A"
    assert found.field == "input_ids"
    found = find_difference(one, other, ["A"], return_tensors="np")
    assert found.field == "input_ids"


# ---- shrinking


@pytest.mark.parametrize("seed", range(20))
def test_shrink_sequence_is_minimal(seed):
    rng = random.Random(seed)
    items = list(range(rng.randrange(1, 200)))
    needed = sorted(rng.sample(items, rng.randrange(min(len(items), 6))))
    calls = 0

    def fails(part):
        nonlocal calls
        calls += 1
        return set(needed) <= set(part)

    assert shrink_sequence(items, fails) == needed
    assert calls < 40 * (len(needed) + 1) * 8


def test_shrink_keeps_failing_and_gives_up_in_time():
    text = "x" * 1000 + "needle" + "y" * 1000
    assert shrink(text, lambda part: "needle" in part) == "needle"
    assert "needle" in shrink(text, lambda part: "needle" in part, seconds=0)
    assert shrink("aXbXc", lambda part: part.count("X") == 2) == "XX"
    assert shrink("", lambda part: True) == ""
    assert shrink("anything", lambda part: True) == ""
    assert shrink("\u00e9\u200b", lambda part: len(part) == 2) == "aa"
