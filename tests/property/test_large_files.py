"""Files that several threads look through, and tokens of which they make one array: the answer is one thread's."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import hftok

STRETCH = 1 << 20  # bytes of a file that one thread looks through at a time


@pytest.fixture(scope="module")
def tokenizer():
    vocab = {"[UNK]": 0, "a": 1, "b": 2, "##a": 3, "##b": 4, "ab": 5, "##ab": 6, "c": 7, "|": 8, "é": 9}
    tokenizer = hftok.Tokenizer(hftok.models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = hftok.pre_tokenizers.BertPreTokenizer()
    return tokenizer


@pytest.fixture
def threads(monkeypatch):
    def use(n):
        monkeypatch.setenv("OMP_NUM_THREADS", str(n))

    return use


def test_separators_at_the_ends_of_stretches(tokenizer, tmp_path, threads):
    """One begins a few bytes before, at and behind each end, and one stretch has none."""
    separator = "<|end|>"
    for shift in range(-len(separator) - 1, 3):
        text = bytearray(b"ab " * (4 * STRETCH // 3))
        for end in (STRETCH, 3 * STRETCH):
            text[end + shift : end + shift + len(separator)] = separator.encode()
        path = tmp_path / "text"
        path.write_bytes(text)
        documents = text.decode().split(separator)
        assert len(documents) == 3
        source = hftok.TextFileSource(path, separator)
        threads(3)
        found = source._documents(True)
        assert found.texts() == documents, shift
        assert source._documents(False).texts() == documents, shift


@pytest.mark.parametrize("separator", ["\n\n", "aba", "aa", "|"])
def test_separators_that_overlap(separator, tmp_path, threads):
    """str.split finds them from left to right; so do we, whatever the threads."""
    rng = random.Random(len(separator))
    text = "".join(rng.choices([separator, separator[0], "b", "x "], k=STRETCH))
    assert len(text) > STRETCH
    path = tmp_path / "text"
    path.write_text(text, newline="")
    documents = text.split(separator)
    if not documents[-1]:
        documents.pop()
    threads(2)
    assert hftok.TextFileSource(path, separator)._documents(True).texts() == documents


def test_lines_across_stretches(tmp_path, threads):
    """Lines of 1 byte to 2.5 MB, blank ones among them, with escapes, over the ends of stretches."""
    rng = random.Random(1)
    documents, lines = [], []
    for size in [0, 10, 2_500_000, 7, 1_000_000, 3, *(rng.randrange(3000) for _ in range(900))]:
        document = "".join(rng.choices(["a", "é", '"', "\\", "\n", "\t", "中", "\U0001f600", "bc "], k=size // 2))
        documents.append(document)
        lines.append(json.dumps({"n": size, "text": document, "m": [1]}, ensure_ascii=rng.random() < 0.5))
        lines += ["", "  "][: rng.randrange(3)]
    path = tmp_path / "lines.jsonl"
    path.write_bytes("\n".join(lines).encode())
    assert path.stat().st_size > 3 * STRETCH
    source = hftok.JsonlFileSource(path)
    threads(3)
    assert source._documents(True).texts() == documents
    assert source._documents(False).texts() == documents


def test_the_first_wrong_line_is_named(tokenizer, tmp_path, threads):
    threads(2)
    good = json.dumps({"text": "ab " * 100})
    lines = [good] * 12_000
    cases = {'{"text": "a': "column 12: unterminated string", '{"tex": "a"}': "the object has no string under 'text'"}
    for wrong, what in cases.items():
        lines[9_000] = wrong
        lines[11_000] = "nothing"
        path = tmp_path / "lines.jsonl"
        path.write_text("\n".join(lines))
        for parallel in (True, False):
            with pytest.raises(ValueError, match="line 9001") as error:
                tokenizer.encode_files(hftok.JsonlFileSource(path), parallel=parallel)
            assert what in str(error.value)


@pytest.mark.parametrize("spans", [False, True])
def test_tokens_of_several_threads(tokenizer, spans, threads):
    """More tokens than a first call expects, then what it has learnt; documents of all sizes, one of them huge."""
    rng = random.Random(5)
    sizes = rng.choices([0, 3, 50, 3_000], k=1_500)
    texts = ["".join(rng.choices(["a", "b", "ab", "é", " ", " c "], k=size)) for size in sizes]
    texts.insert(700, "ab c " * 400_000)
    texts.insert(900, "|" * 1_500_000)
    threads(1)
    expected = tokenizer.encode_batch_ids(texts, return_offsets=spans)
    for count in (2, 7):
        threads(count)
        fresh = hftok.Tokenizer.from_str(tokenizer.to_str())
        for _ in range(3):
            rows = fresh.encode_batch_ids(texts, return_offsets=spans, parallel=True)
            assert np.array_equal(rows.ids, expected.ids)
            assert np.array_equal(rows.row_offsets, expected.row_offsets)
            if spans:
                assert np.array_equal(rows.offsets, expected.offsets)


def test_a_call_that_begins_again(threads):
    """A piece of a cut document cannot be encoded by itself: once more, whole, after threads have placed tokens."""
    tokenizer = hftok.Tokenizer(hftok.models.BPE({"▁": 0, "a": 1, "b": 2, "▁a": 3}, [("▁", "a")]))
    tokenizer.pre_tokenizer = hftok.pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    texts = ["a b" * 100_000, "ab a" * 600_000 + "▁" + " a b" * 50_000, "a"]
    threads(1)
    expected = tokenizer.encode_batch_ids(texts, parallel=False).ids
    threads(3)
    assert np.array_equal(tokenizer.encode_batch_ids(texts, parallel=True).ids, expected)


def test_an_error_after_tokens_were_placed(tokenizer, threads):
    threads(2)
    texts = ["ab " * 1_000] * 2_000
    texts[1_700] = "a\ud800"
    with pytest.raises(TypeError, match="text 1700 holds a lone surrogate"):
        tokenizer.encode_batch_ids(texts, parallel=True)
    assert tokenizer.encode_batch_ids(["ab"], parallel=True).to_list() == [[5]]
