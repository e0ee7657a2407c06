"""Words with marks on the fast path, against the exact path and the reference: made-up and seeded texts,
every CPU tier, thread count and cache size, and the real tokenizers over the corpora."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import tokenizers as reference
import word_mark_setups as marks
from child_process import printed_by
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hftok
from hftok._core import cpu
from hftok._core import rows as core_rows
from hftok._core.engine import Engine, cache_budget

PROFILE = settings(
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
TEXT = st.lists(
    st.one_of(
        st.sampled_from(marks.PARTS),
        st.sampled_from(marks.PARTS),
        st.sampled_from(marks.BLANKS),
        st.text(st.characters(codec="utf-8"), max_size=3),
        st.sampled_from("a 中\u0301 ").flatmap(lambda c: st.integers(1, 140).map(lambda n: c * n)),
    ),
    max_size=12,
).map("".join)
REAL = [
    "t5-small", "t5-like-yhn112", "xlm-roberta-base", "barthez", "mbart-trimmed-guiqiong", "xlnet-base-cased",
    "albert-privately", "deberta-v3", "bigbird-roberta-base", "toy-sqlpilot",
]  # fmt: skip
SOME = [
    ("map", "white, always", "some"), ("quotes, nfkd, accents, map", "white, first", "some"),
    ("map, spaces", "always", "some"),
    ("strip, map, spaces", "always", "normalized"), ("nfkc", "always", "none"),
    ("map", "first", "normalized"),
]  # fmt: skip


def engine_of(tokenizer: hftok.Tokenizer) -> Engine:
    return tokenizer._ready()[0]


def assert_same(one: hftok.Tokenizer, other: reference.Tokenizer, texts: list[str]) -> None:
    """Ids with and without spans, and offsets, of both paths."""
    expected = other.encode_batch(texts)
    assert one.encode_batch_ids(texts).to_list() == [e.ids for e in expected]
    rows = one.encode_batch_ids(texts, return_offsets=True)
    spans = [tuple(span) for span in rows.offsets.tolist()]
    found = [
        (ids, spans[a:b]) for ids, a, b in zip(rows.to_list(), rows.row_offsets, rows.row_offsets[1:], strict=False)
    ]
    for text, row, e in zip(texts, found, expected, strict=True):
        assert row == (e.ids, e.offsets), text
    engine, state = one._ready()
    ids, _, exact_spans = core_rows.encode_batch(engine, texts, state.affix(True), True, False, exact=True)
    assert np.array_equal(ids, rows.ids)
    assert np.array_equal(exact_spans, rows.offsets)


@pytest.mark.parametrize(("normalizer", "pre_tokenizer"), marks.combinations())
def test_seeded_texts(normalizer, pre_tokenizer):
    for number, tokens in enumerate(marks.ADDED):
        key = normalizer, pre_tokenizer, tokens
        engine = engine_of(marks.ours(*key))
        assert engine.is_fast, engine.why_exact
        assert_same(marks.ours(*key), marks.theirs(*key), marks.random_texts(number, 60))


@pytest.mark.parametrize("key", SOME)
def test_texts_of_hypothesis(key):
    @PROFILE
    @given(texts=st.lists(TEXT, min_size=1, max_size=4))
    def check(texts):
        assert_same(marks.ours(*key), marks.theirs(*key), texts)

    check()


@pytest.mark.parametrize("key", [("map", "white, always", "some", True), ("nfkc", "always", "none", True)])
def test_byte_pairs(key):
    assert engine_of(marks.ours(*key)).is_fast
    assert_same(marks.ours(*key), marks.theirs(*key), marks.random_texts(5, 400))


def described(e):
    return e.ids, e.tokens, e.offsets, e.word_ids, e.type_ids


@pytest.mark.parametrize("key", SOME)
def test_objects(key):
    """Tokens, words and masks of encodings, pairs, truncation and padding."""
    one, other = marks.ours(*key), marks.theirs(*key)
    texts = marks.random_texts(7, 60)
    for tokenizer in (one, other):
        tokenizer.enable_truncation(9, stride=2)
        tokenizer.enable_padding(length=9)
    try:
        for batch in (texts, list(zip(texts, texts[::-1], strict=True))):
            for mine, e in zip(one.encode_batch(batch), other.encode_batch(batch), strict=True):
                for a, b in zip([mine, *mine.overflowing], [e, *e.overflowing], strict=True):
                    assert described(a) == described(b)
        matrix = one.encode_batch_padded(texts, max_length=9)
        assert matrix["input_ids"].tolist() == [e.ids for e in other.encode_batch(texts)]
    finally:
        for tokenizer in (one, other):
            tokenizer.no_truncation()
            tokenizer.no_padding()


def test_long_documents():
    """Flushes in the middle of a document, and documents that are cut for threads."""
    texts = [" ".join(marks.random_texts(seed, 1000)).replace("\x00", "") for seed in (1, 2)]
    texts.append("the word a中国 " * 15_000)
    for key in [
        ("map", "white, always", "none"),
        ("map, spaces", "always", "none"),
        ("nfkc", "never", "none"),
        SOME[5],
    ]:
        one, expected = marks.ours(*key), marks.theirs(*key).encode_batch(texts)
        for parallel in (False, True):
            assert one.encode_batch_ids(texts, parallel=parallel).to_list() == [e.ids for e in expected]
        rows = one.encode_batch_ids(texts, return_offsets=True)
        assert [tuple(span) for span in rows.offsets.tolist()] == [span for e in expected for span in e.offsets]


# ---- what must not change the output


def digests() -> list[str]:
    """One digest a setup of everything that the array doors give."""
    texts = [*marks.random_texts(11, 300), " ".join(marks.random_texts(12, 400)), "the word 中国 new " * 3000]
    found = []
    for key in SOME:
        tokenizer = hftok.Tokenizer.from_str(marks.setup(*key))
        digest = hashlib.sha256()
        for _ in range(2):
            rows = tokenizer.encode_batch_ids(texts, return_offsets=True)
            again = tokenizer.encode_batch_ids(texts, parallel=True)
            for array in (rows.ids, rows.row_offsets, rows.offsets, again.ids):
                digest.update(np.ascontiguousarray(array).tobytes())
        found.append(digest.hexdigest())
    return found


CHILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/property"]
from hftok._core import cpu
from test_unigram_fast import digests
print(cpu.choose(), *digests())
"""


@pytest.fixture(scope="module")
def expected():
    return digests()


@pytest.mark.parametrize(
    "environment",
    [
        *({"HFTOK_CPU": tier} for tier in cpu.available()),
        *({"OMP_NUM_THREADS": n} for n in "127"),
        {"HFTOK_CACHE_BYTES": "1"},
    ],
)
def test_tiers_threads_and_caches(environment, expected):
    tier, *found = printed_by(CHILD, **environment).split()
    assert tier == environment.get("HFTOK_CPU", tier)
    assert found == expected


@pytest.mark.parametrize("size", [0, 65_536, 300_000, 1 << 28])
def test_cache_sizes(size, expected):
    before = cache_budget()
    hftok.set_cache_bytes(size)
    try:
        assert digests() == expected
    finally:
        hftok.set_cache_bytes(before)


# ---- real tokenizers


@pytest.mark.real
@pytest.mark.corpus
@pytest.mark.parametrize("name", REAL)
def test_real_tokenizers(name, real_tokenizer, corpus_documents):
    one = hftok.Tokenizer.from_file(real_tokenizer(name))
    other = reference.Tokenizer.from_file(real_tokenizer(name))
    for tokenizer in (one, other):
        tokenizer.no_padding()
        tokenizer.no_truncation()
    assert engine_of(one).is_fast, engine_of(one).why_exact
    assert_same(one, other, marks.random_texts(17, 400))
    for corpus in ("english", "chinese", "multilingual", "code", "sentences"):
        assert_same(one, other, corpus_documents(corpus, 60_000))
