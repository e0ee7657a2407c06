"""Training on the beginnings of real corpora: the installed reference's tokenizer, for every number of threads."""

from __future__ import annotations

import pytest
from training_cases import CL100K, O200K, both, byte_level, description, metaspace, sequence, split

import hftok

NFKC_LOWER = {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}
PIPELINES = {
    "bytelevel": byte_level(),
    "whitespace": {"type": "Whitespace"},
    "bert": {"type": "BertPreTokenizer"},
    "metaspace": metaspace(),
    "digits-punctuation": sequence(
        {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"}
    ),
    "cl100k": sequence(split(CL100K), byte_level(False, False)),
    "o200k": sequence(split(O200K), byte_level(False, False)),
    "none": None,
}

pytestmark = pytest.mark.corpus


@pytest.mark.parametrize("corpus", ["english", "chinese", "code", "multilingual"])
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("normalizer", [None, NFKC_LOWER], ids=["as-is", "nfkc-lower"])
def test_bpe(corpus, pipeline, normalizer, tmp_path, corpus_documents):
    documents = corpus_documents(corpus, 50_000 if pipeline == "none" else 150_000)
    path = tmp_path / "text.txt"
    path.write_text("\n<|endoftext|>\n".join(documents), encoding="utf-8", newline="")
    text = description("bpe", PIPELINES[pipeline], normalizer)
    ours, theirs = both(text)
    settings = {"vocab_size": 3000, "min_frequency": 2, "special_tokens": ["<unk>"], "show_progress": False}
    reference_trainer = type(theirs.model.get_trainer())
    theirs.train([str(path)], reference_trainer(**settings))
    expected = theirs.to_str()
    for threads in (1, 2, 7):
        ours.train([str(path)], hftok.trainers.BpeTrainer(**settings), threads=threads)
        assert ours.to_str() == expected


@pytest.mark.parametrize("corpus", ["english", "code"])
def test_unigram(corpus, corpus_documents):
    """The same pieces; scores differ as they do between two runs of the reference (row T7 of docs/differences.md)."""
    documents = corpus_documents(corpus, 60_000)
    ours, theirs = both(description("unigram", "metaspace"))
    settings = {"vocab_size": 1500, "unk_token": "<unk>", "special_tokens": ["<s>"], "show_progress": False}
    theirs.train_from_iterator(documents, type(theirs.model.get_trainer())(**settings))
    results = []
    for threads in (1, 2, 7):
        ours.train_from_iterator(documents, hftok.trainers.UnigramTrainer(**settings), threads=threads)
        results.append(ours.to_str())
    assert set(ours.get_vocab()) == set(theirs.get_vocab())
    assert results[0] == results[1] == results[2]
