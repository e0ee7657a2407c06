"""Pairs of components that public tokenizers use together, where one looks at what the other has made of the text."""

from __future__ import annotations

import itertools
import unicodedata

import pytest
import tokenizers
from tokenizers import AddedToken, models, normalizers, pre_tokenizers

import hftok
from hftok.testing import encoding_fields


def byte_level(form: str, words: list[str]) -> tokenizers.Tokenizer:
    """All bytes and the merges of some words, a normal form, and a space in front."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = sorted({(a, b) for word in words for a, b in itertools.pairwise(word)})
    vocab = {token: i for i, token in enumerate([*alphabet, *(a + b for a, b in merges)])}
    tokenizer = tokenizers.Tokenizer(models.BPE(vocab, merges))
    tokenizer.normalizer = getattr(normalizers, form)()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.add_tokens([AddedToken("<raw>", normalized=False), AddedToken("<normal>", normalized=True)])
    return tokenizer


# Characters whose compatibility decomposition begins with a space, and some that only look as if.
BLANK_FORMS = [chr(c) for c in range(0x80, 0x10000) if unicodedata.normalize("NFKD", chr(c))[0] == " "]
OTHERS = [" ", "\u0300", "\u2001", "\u0385", "\u1680", "\ufeff", "\x85", "\uff21"]


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_prefix_space_before_what_becomes_a_space(form: str) -> None:
    """ByteLevel asks the normalized text whether it begins with a space (pre_tokenizers/byte_level.rs)."""
    assert len(BLANK_FORMS) > 30
    theirs = byte_level(form, ["Ġth", "ĠĠ", "Ġa"])
    ours = hftok.Tokenizer(theirs)
    starts = [*BLANK_FORMS, *OTHERS]
    texts = [c + rest for c in starts for rest in ("", "the", " a", c)]
    texts += [f"a{token}{c}the{token}" for c in starts for token in ("<raw>", "<normal>")]
    expected = theirs.encode_batch(texts)
    rows = ours.encode_batch_ids(texts, return_offsets=True)
    for i, (text, encoding) in enumerate(zip(texts, expected, strict=True)):
        assert rows[i].tolist() == encoding.ids, f"{text!a}"
        assert [tuple(span) for span in rows.row_spans(i).tolist()] == encoding.offsets, f"{text!a}"
        assert encoding_fields(ours.encode(text)) == encoding_fields(encoding), f"{text!a}"
