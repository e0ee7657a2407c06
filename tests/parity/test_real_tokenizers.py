"""Real tokenizers on real text, against the installed reference."""

from __future__ import annotations

import numpy as np
import pytest
import tokenizers
from conftest import DATA
from grid_checks import assert_rows, calls, explain, group, same
from grid_texts import glued, grid_texts, random_texts

import hftok
from hftok.testing import assert_parity, encoding_fields

WORD_PIECE = ["bert-base-uncased", "bert-base-cased", "bert-base-chinese", "all-MiniLM-L6-v2", "gte-small"]
CORPORA = ["english", "multilingual", "chinese", "code", "sentences"]
ALL = sorted(path.parent.name for path in (DATA / "tokenizers").glob("*/tokenizer.json")) or ["none"]


@pytest.fixture(scope="module")
def pair_of_tokenizers(real_tokenizer):
    loaded = {}

    def load(name):
        if name not in loaded:
            if len(loaded) > len(WORD_PIECE):
                loaded.clear()  # all of them take gigabytes
            path = real_tokenizer(name)
            loaded[name] = hftok.Tokenizer(path), tokenizers.Tokenizer.from_file(path)
        return loaded[name]

    return load


def unlimited(one, other):
    for tokenizer in (one, other):
        tokenizer.no_truncation()
        tokenizer.no_padding()
    return one, other


@pytest.mark.real
@pytest.mark.parametrize("name", WORD_PIECE)
def test_loaded(name, pair_of_tokenizers):
    one, other = pair_of_tokenizers(name)
    assert one.to_str() == other.to_str()
    assert one.get_vocab() == other.get_vocab()
    assert one.truncation == other.truncation
    assert one.padding == other.padding
    assert repr(one) == repr(other)


@pytest.mark.real
@pytest.mark.parametrize("name", WORD_PIECE)
def test_settings_of_the_file(name, pair_of_tokenizers, real_tokenizer):
    """Truncation and padding as the file has them."""
    path = real_tokenizer(name)
    one, other = hftok.Tokenizer(path), tokenizers.Tokenizer.from_file(path)
    texts = [*grid_texts()[::5], glued(" ")]
    ours, theirs = one.encode_batch(texts), other.encode_batch(texts)
    assert [encoding_fields(e) for e in ours] == [encoding_fields(e) for e in theirs]
    pairs = list(zip(texts, texts[::-1], strict=True))
    ours, theirs = one.encode_batch(pairs), other.encode_batch(pairs)
    assert [encoding_fields(e) for e in ours] == [encoding_fields(e) for e in theirs]


@pytest.mark.real
@pytest.mark.parametrize("name", WORD_PIECE)
def test_grid(name, pair_of_tokenizers):
    one, other = unlimited(*pair_of_tokenizers(name))
    texts = grid_texts()
    for number, call in enumerate(calls()):
        part = group(number * 11 + len(name), texts)
        mine, reference = call.run(one, part), call.run(other, part)
        assert same(mine, reference), f"{call}: {explain(mine, reference, call.inputs(part))}"


@pytest.mark.real
@pytest.mark.parametrize("name", WORD_PIECE)
def test_strange_texts(name, pair_of_tokenizers):
    one, other = unlimited(*pair_of_tokenizers(name))
    assert_parity(one, other, grid_texts())
    assert_parity(one, other, [*random_texts(2, 150, 200), glued(), glued(" "), glued("[MASK]")])
    assert_parity(one, other, grid_texts()[::4], add_special_tokens=False)


@pytest.mark.real
@pytest.mark.corpus
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", WORD_PIECE)
def test_corpus(name, corpus, pair_of_tokenizers, corpus_documents, tmp_path):
    one, other = unlimited(*pair_of_tokenizers(name))
    documents = corpus_documents(corpus, 60_000)
    expected = other.encode_batch(documents)
    for mine, reference, text in zip(one.encode_batch(documents), expected, documents, strict=True):
        assert encoding_fields(mine) == encoding_fields(reference), f"{text[:100]!a}"
    assert_rows(one.encode_batch_ids(documents, return_offsets=True), expected, documents)
    path = tmp_path / "corpus.txt"
    path.write_bytes("\n<|endoftext|>\n".join(documents).encode())
    rows = one.encode_files(hftok.TextFileSource(path, "\n<|endoftext|>\n"))
    assert_rows(rows, expected, documents)
    assert np.array_equal(one.count_tokens(documents), rows.lengths)
    matrices = one.encode_batch_padded(documents, max_length=100)
    other.enable_truncation(100)
    other.enable_padding()
    try:
        padded = other.encode_batch(documents)
    finally:
        unlimited(one, other)
    assert matrices["input_ids"].tolist() == [e.ids for e in padded]
    assert matrices["attention_mask"].tolist() == [e.attention_mask for e in padded]
    assert one.decode_batch([e.ids for e in expected]) == other.decode_batch([e.ids for e in expected])


@pytest.mark.real
@pytest.mark.parametrize("name", ALL)
def test_every_real_tokenizer(name, pair_of_tokenizers):
    """Loads and agrees; nothing of what these tokenizers use is refused."""
    one, other = unlimited(*pair_of_tokenizers(name))
    texts = [*grid_texts()[::6], *random_texts(3, 10, 80), glued(" ")[:400]]
    for text in texts:
        mine, reference = one.encode(text), other.encode(text)
        assert encoding_fields(mine) == encoding_fields(reference), f"{text!a}"
        assert one.decode(reference.ids) == other.decode(reference.ids), f"{text!a}"
