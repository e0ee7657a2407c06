"""Fast path against exact path against the reference, on texts that hypothesis makes up."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from grid_checks import assert_rows
from grid_setups import SETUPS, ours, theirs
from grid_texts import ADDED, STRANGE, random_texts, strange
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hftok._core import rows as core_rows
from hftok._core.engine import Engine

NAMES = [name for name in SETUPS if name != "missing_unknown"]
WORD_PIECE = [name for name in NAMES if name.startswith(("bert", "added"))]

# Derandomized: the same examples in every run.
PROFILE = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
CHARACTERS = st.characters(codec="utf-8")
SPACES = st.sampled_from(STRANGE["blanks"] + STRANGE["zero width"] + [" ", " ", "\n"])
TEXT = st.lists(
    st.one_of(
        st.text(st.sampled_from("abcehintuwAÉéèΣσςİıßﬁ中国日\u0301\u0327.,![]<>~#-_0123456789"), max_size=8),
        st.text(CHARACTERS, max_size=4),
        st.sampled_from(strange()),
        st.sampled_from(ADDED),
        SPACES,
        st.sampled_from("ab. é中").flatmap(lambda c: st.integers(1, 140).map(lambda n: c * n)),
    ),
    max_size=9,
).map("".join)


@cache
def exact_engine(name: str) -> Engine:
    """The engine of a setup without its scanner."""
    engine, _ = ours(name)._ready()
    return Engine(engine.pipeline, None, None, fast=False)


def through_exact_path(name, texts):
    engine, state = ours(name)._ready()
    return core_rows.encode_batch(engine, texts, state.affix(True), True, False, exact=True)


def test_which_setups_have_a_scanner():
    """These tests compare two paths only where there are two."""
    fast = {name for name in NAMES if ours(name)._ready()[0].is_fast}
    assert {"bert_uncased", "bert_cased", "bert_unclean", "added_flags", "added_normalized"} <= fast
    assert not exact_engine("bert_uncased").is_fast
    assert exact_engine("bert_uncased").why_exact == "not wanted"


@pytest.mark.parametrize("name", NAMES)
def test_three_ways(name):
    one, other = ours(name), theirs(name)

    @PROFILE
    @given(texts=st.lists(TEXT, min_size=1, max_size=4))
    def check(texts):
        expected = other.encode_batch(texts)
        assert_rows(one.encode_batch_ids(texts, return_offsets=True), expected, texts)
        rows = one.encode_batch_ids(texts)
        assert_rows(rows, expected, texts)
        ids, offsets, spans = through_exact_path(name, texts)
        assert np.array_equal(ids, rows.ids)
        assert np.array_equal(offsets, rows.row_offsets)
        assert [tuple(span) for span in spans.tolist()] == [span for e in expected for span in e.offsets]

    check()


@pytest.mark.parametrize("name", WORD_PIECE)
def test_words_and_tokens(name):
    one, other = ours(name), theirs(name)

    @PROFILE
    @given(text=TEXT, pair=TEXT)
    def check(text, pair):
        mine, reference = one.encode(text, pair), other.encode(text, pair)
        assert mine.tokens == reference.tokens
        assert mine.word_ids == reference.word_ids
        assert mine.offsets == reference.offsets
        for position in range(0, len(text), 3):
            assert mine.char_to_token(position) == reference.char_to_token(position)
            assert mine.char_to_word(position) == reference.char_to_word(position)

    check()


@pytest.mark.parametrize(
    "name", ["bert_uncased", "bert_cased", "added_flags", "added_normalized", "added_in_both_passes"]
)
def test_engine_without_a_scanner(name):
    texts = list(random_texts(11, 300, 150))
    engine, state = ours(name)._ready()
    slow = exact_engine(name)
    affix = state.affix(True)
    for spans in (False, True):
        fast_rows = core_rows.encode_batch(engine, texts, affix, spans)
        slow_rows = core_rows.encode_batch(slow, texts, affix, spans)
        for a, b in zip(fast_rows, slow_rows, strict=True):
            assert np.array_equal(a, b) if a is not None else b is None
    for text in texts[:60]:
        assert np.array_equal(
            core_rows.encode_one(engine, text, affix), core_rows.encode_one(engine, text, affix, exact=True)
        )
        assert np.array_equal(core_rows.encode_one(engine, text, affix), core_rows.encode_one(slow, text, affix))


@pytest.mark.parametrize("name", ["bert_uncased", "added_flags"])
def test_batches_do_not_touch_each_other(name):
    """A text gives the same tokens alone, among others, and wherever it stands."""
    one = ours(name)

    @PROFILE
    @given(texts=st.lists(TEXT, min_size=2, max_size=8), data=st.data())
    def check(texts, data):
        alone = [one.encode_ids(text).tolist() for text in texts]
        assert one.encode_batch_ids(texts).to_list() == alone
        order = data.draw(st.permutations(range(len(texts))))
        assert one.encode_batch_ids([texts[i] for i in order]).to_list() == [alone[i] for i in order]
        assert one.count_tokens(texts).tolist() == list(map(len, alone))

    check()


@pytest.mark.parametrize("name", WORD_PIECE)
def test_offsets_make_sense(name):
    """Spans lie in the text, in order, and a token's text normalizes to something that holds the token."""
    one = ours(name)

    @PROFILE
    @given(text=TEXT)
    def check(text):
        encoding = one.encode(text, add_special_tokens=False)
        previous = 0
        for start, end in encoding.offsets:
            assert 0 <= start <= end <= len(text)
            assert start >= previous
            previous = start

    check()
