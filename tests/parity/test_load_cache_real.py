"""Real tokenizers from the load cache: the same as when they are loaded."""

from __future__ import annotations

import pytest

from hftok import Tokenizer, load_cache
from hftok.stored_fields import StoredFields

pytestmark = pytest.mark.real

NAMES = ["gemma3", "qwen3", "llama3.1", "xlm-roberta-base", "t5-small", "gpt2", "mistral-7b-v0.1"]


@pytest.mark.parametrize("name", NAMES)
def test_same_as_loaded(name, real_tokenizer, corpus_documents, tmp_path, monkeypatch):
    path = real_tokenizer(name)
    monkeypatch.setattr(load_cache, "_chosen", str(tmp_path / "cache"))
    direct = Tokenizer.from_file(path)
    direct.encode("")
    load_cache._writer.finish()
    cached = Tokenizer.from_file(path)
    fields = cached._model._description().fields
    assert isinstance(fields, StoredFields)
    assert fields.stored.block is not None
    for corpus in ("english", "chinese", "code", "multilingual"):
        texts = corpus_documents(corpus, 60_000)
        for one, other in zip(direct.encode_batch(texts), cached.encode_batch(texts), strict=True):
            assert one.ids == other.ids
            assert one.offsets == other.offsets
            assert one.tokens == other.tokens
        ids = [row.ids for row in direct.encode_batch(texts)]
        assert direct.decode_batch(ids) == cached.decode_batch(ids)
    assert direct.to_str() == cached.to_str()
    assert list(direct.get_vocab().items()) == list(cached.get_vocab().items())
    assert direct.get_added_tokens_decoder() == cached.get_added_tokens_decoder()
    for tok in (direct, cached):
        tok.add_tokens(["a new token", "the"])
    assert direct.encode("and a new token, the").ids == cached.encode("and a new token, the").ids
