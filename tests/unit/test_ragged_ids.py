"""RaggedIds: rows of different length in flat arrays."""

from __future__ import annotations

import numpy as np
import pytest

import hftok

TEXTS = ["one text", "", "a third, longer one", "Ünïcödé", "中文"]


@pytest.fixture(scope="module")
def tokenizer():
    vocab = {
        token: i for i, token in enumerate(["[UNK]", "one", "text", "a", "third", ",", "longer", "unicode", "中", "文"])
    }
    tokenizer = hftok.Tokenizer(hftok.models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = hftok.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = hftok.pre_tokenizers.BertPreTokenizer()
    return tokenizer


@pytest.fixture
def rows(tokenizer):
    return tokenizer.encode_batch_ids(TEXTS, return_offsets=True)


@pytest.fixture
def expected(tokenizer):
    return [tokenizer.encode(text) for text in TEXTS]


def test_arrays(rows, expected):
    assert rows.ids.dtype == np.uint32
    assert rows.row_offsets.dtype == np.int64
    assert rows.offsets.dtype == np.int32
    assert rows.offsets.shape == (len(rows.ids), 2)
    assert rows.row_offsets[0] == 0
    assert rows.row_offsets[-1] == rows.num_tokens == len(rows.ids) == sum(len(e) for e in expected)
    assert len(rows) == len(TEXTS)
    assert rows.lengths.tolist() == [len(e) for e in expected]


def test_rows(rows, expected):
    lists = [e.ids for e in expected]
    assert rows.to_list() == lists
    assert [row.tolist() for row in rows] == lists
    assert [row.tolist() for row in rows.to_numpy()] == lists
    for i in range(-len(rows), len(rows)):
        assert rows[i].tolist() == lists[i]
        assert list(map(tuple, rows.row_spans(i).tolist())) == expected[i].offsets
    for index in (len(rows), -len(rows) - 1):
        with pytest.raises(IndexError):
            rows[index]
        with pytest.raises(IndexError):
            rows.row_spans(index)


@pytest.mark.parametrize(
    "part",
    [slice(None), slice(1, 3), slice(3, 1), slice(-2, None), slice(None, None, 2), slice(None, None, -1), slice(9, 12)],
)
def test_slices(rows, expected, part):
    few = rows[part]
    assert few.to_list() == [e.ids for e in expected[part]]
    assert few.row_offsets[0] == 0
    assert few.num_tokens == len(few.ids)
    for i, encoding in enumerate(expected[part]):
        assert list(map(tuple, few.row_spans(i).tolist())) == encoding.offsets


def test_without_offsets(tokenizer):
    rows = tokenizer.encode_batch_ids(TEXTS)
    assert rows.offsets is None
    assert rows[1:4:2].offsets is None
    with pytest.raises(ValueError, match="return_offsets=True"):
        rows.row_spans(0)


def test_nothing(tokenizer):
    rows = tokenizer.encode_batch_ids([], return_offsets=True)
    assert (len(rows), rows.num_tokens, rows.to_list(), rows.lengths.tolist()) == (0, 0, [], [])
    assert rows.row_offsets.tolist() == [0]
    assert rows.offsets.shape == (0, 2)


def test_torch(rows):
    torch = pytest.importorskip("torch")
    ids, ends = rows.to_torch()
    assert ids.dtype == ends.dtype == torch.int64
    assert ids.tolist() == rows.ids.tolist()
    assert ends.tolist() == rows.row_offsets.tolist()


def test_arrow(rows):
    arrow = pytest.importorskip("pyarrow")
    column = rows.to_arrow()
    assert column.type == arrow.large_list(arrow.uint32())
    assert column.to_pylist() == rows.to_list()


def test_rows_are_views(rows):
    assert np.shares_memory(rows[0], rows.ids)
    assert np.shares_memory(rows[1:4].ids, rows.ids)
    assert np.shares_memory(rows[1:4].offsets, rows.offsets)
