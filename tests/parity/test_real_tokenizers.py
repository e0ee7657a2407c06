"""Real tokenizers on real text, against the installed reference."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tokenizers
from conftest import DATA
from grid_checks import assert_rows, calls, explain, group, outcome, same
from grid_texts import glued, grid_texts, random_texts

import hftok
from hftok.testing import FIELDS, assert_parity, encoding_fields, find_difference

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
    """Loads, agrees on strange texts and comes back from its own file; nothing that it uses is refused."""
    one, other = unlimited(*pair_of_tokenizers(name))
    assert one.to_str() == other.to_str()
    again = hftok.Tokenizer.from_str(one.to_str(pretty=True))
    texts = [*grid_texts()[::6], *random_texts(3, 10, 80), glued(" ")[:400]]
    for text in texts:
        mine, reference = one.encode(text), other.encode(text)
        assert encoding_fields(mine) == encoding_fields(reference), f"{text!a}"
        assert again.encode(text).ids == reference.ids, f"{text!a}"
        for skip in (True, False):
            decoded = outcome(lambda ids=reference.ids, skip=skip: other.decode(ids, skip_special_tokens=skip))
            assert same(
                outcome(lambda ids=reference.ids, skip=skip: one.decode(ids, skip_special_tokens=skip)), decoded
            )


# The whole matrix: HFTOK_PARITY_CHARACTERS=2000000 pytest tests/parity/test_real_tokenizers.py -k matrix
CHARACTERS = int(os.environ.get("HFTOK_PARITY_CHARACTERS", "6000"))


@pytest.mark.real
@pytest.mark.corpus
@pytest.mark.parametrize("corpus", ["english", "code", "chinese", "multilingual", "strange"])
@pytest.mark.parametrize("name", ALL)
def test_matrix(name, corpus, pair_of_tokenizers, corpus_documents):
    """Every field and the decoded text, of texts, pairs and words, whole documents and one long one."""
    one, other = unlimited(*pair_of_tokenizers(name))
    if corpus == "strange":
        documents = [
            *grid_texts()[::3],
            *random_texts(5, max(CHARACTERS // 1000, 10), 200),
            *map(glued, ("", " ", "a")),
        ]
    else:
        documents = corpus_documents(corpus, CHARACTERS)
        documents.append("\n".join(documents)[:100_000])
    pairs = list(zip(documents[::2], documents[1::2], strict=False))
    words = [document.split(" ") for document in documents]
    for inputs, pretokenized, special in ((documents, False, True), (pairs, False, True), (words, True, False)):
        for start in range(0, len(inputs), 200):
            part = inputs[start : start + 200]
            options = {"is_pretokenized": pretokenized, "add_special_tokens": special}
            theirs = outcome(lambda part=part, options=options: other.encode_batch(part, **options))
            ours = outcome(lambda part=part, options=options: one.encode_batch(part, **options))
            if isinstance(theirs, BaseException):
                assert same(ours, theirs), f"{ours!r} against {theirs!r}"
                continue
            for mine, reference, text in zip(ours, theirs, part, strict=True):
                for field in FIELDS:
                    if getattr(mine, field) != getattr(reference, field):
                        raise AssertionError(difference(one, other, text, options))
            if inputs is documents:
                ids = [encoding.ids for encoding in theirs]
                assert one.encode_batch_ids(part).to_list() == ids
                decoded = outcome(lambda ids=ids: other.decode_batch(ids))
                assert same(outcome(lambda ids=ids: one.decode_batch(ids)), decoded)


def difference(one, other, text, options):
    found = find_difference(one, other, [text], **options)
    return f"in a batch only: {text!a}" if found is None else found.report()
