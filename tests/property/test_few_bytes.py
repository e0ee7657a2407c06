"""Byte-level patterns before vocabularies that are not of bytes: most of the 256 characters are missing, words end in a
mark, or unknown characters vanish. The model is given ByteLevel characters then, the scanner stays the same."""

from __future__ import annotations

from typing import Any

import pytest
import tokenizers as reference
from test_pattern_runs import assert_same, texts_of

import hftok

MODELS: dict[str, dict[str, Any]] = {
    "few": {"unk_token": "<unk>"},
    "fused": {"unk_token": "<unk>", "fuse_unk": True},
    "vanishing": {},
    "ends_marked": {"unk_token": "<unk>", "end_of_word_suffix": "</w>"},
    "bytes_for_unknown": {"unk_token": "<unk>", "byte_fallback": True},
    "whole_words": {"unk_token": "<unk>", "ignore_merges": True},
}


def made(library: Any, name: str, form: str | None, prefix: bool) -> Any:
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "a"), ("Ã", "©"), ("1", "2"), (".", "."), ("Ġ", "Ġ")]
    merges += [("th", "e</w>"), ("e", "s</w>")] if name == "ends_marked" else []
    tokens = ["<unk>", *"abcdefghijklmnopqrstuvwxyzTE'.,!12345ĠĊÃ©âĢ", *(f"<0x{byte:02X}>" for byte in range(256))]
    tokens += ["s</w>", "e</w>", "a</w>", "1</w>", "it's"] + [left + right for left, right in merges]
    vocab = {token: i for i, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = library.Tokenizer(library.models.BPE(vocab, merges, **MODELS[name]))
    if form is not None:
        tokenizer.normalizer = getattr(library.normalizers, form)()
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.add_tokens([library.AddedToken("中", normalized=True)])
    return tokenizer


@pytest.mark.parametrize("form", [None, "NFC"])
@pytest.mark.parametrize("name", MODELS)
def test_same_as_the_reference(name, form):
    ours, theirs = (made(library, name, form, name == "fused") for library in (hftok, reference))
    assert ours._ready()[0].is_fast, ours._ready()[0].why_exact
    assert_same(ours, theirs, texts_of(11, 250))
    for tokenizer in (ours, theirs):
        tokenizer.enable_truncation(7, stride=2)
    assert_same(ours, theirs, texts_of(12, 60), add_special_tokens=False)


def test_much_text():
    """Beyond the size from which on a vocabulary of bytes would be looked through, on any number of threads."""
    ours, theirs = (made(library, "ends_marked", None, False) for library in (hftok, reference))
    texts = texts_of(13, 300)
    many = texts * (1 + (1 << 22) // sum(len(text.encode()) for text in texts))
    expected = [encoding.ids for encoding in theirs.encode_batch(texts)]
    for parallel in (False, True, None):
        rows = ours.encode_batch_ids(many, parallel=parallel)
        assert [rows[i].tolist() for i in range(len(texts))] == expected
        assert rows[len(many) - 1].tolist() == expected[-1]
    whole = "the " + " ".join(texts)
    assert ours.encode_batch_ids([whole * 8])[0].tolist() == theirs.encode(whole * 8).ids
