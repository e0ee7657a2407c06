"""Pairs of components that public tokenizers use together, where one looks at what the other has made of the text."""

from __future__ import annotations

import itertools
import json
import unicodedata

import pytest
import tokenizers
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, processors

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


def template(ids: list[int], tokens: list[str], single: str = "[S] $A") -> str:
    """A tokenizer.json whose special token [S] is made of these."""
    tokenizer = tokenizers.Tokenizer(models.WordLevel({"a": 0, "b": 1, "[S]": 2, "[T]": 3}, "a"))
    tokenizer.post_processor = processors.TemplateProcessing(single, "$A $B:1", [("[S]", 2)])
    written = json.loads(tokenizer.to_str())
    written["post_processor"]["special_tokens"]["[S]"] = {"id": "[S]", "ids": ids, "tokens": tokens}
    return json.dumps(written)


@pytest.mark.parametrize(("ids", "tokens"), [([2, 3], ["[S]"]), ([2], ["[S]", "[T]"]), ([], ["[S]"]), ([2], [])])
def test_special_token_with_more_ids_than_tokens(ids: list[int], tokens: list[str]) -> None:
    """Row 48 of docs/differences.md. Where no template has it, it is nobody's business."""
    theirs = tokenizers.Tokenizer.from_str(template(ids, tokens)).encode("b")
    assert theirs.ids == [*ids, 1]
    assert theirs.tokens == [*tokens, "b"]
    ours = hftok.Tokenizer.from_str(template(ids, tokens))
    assert ours.num_special_tokens_to_add(False) == len(ids)
    for call in (ours.encode, ours.encode_ids):
        with pytest.raises(ValueError, match="same length"):
            call("b")
    for call in (ours.encode_batch_ids, ours.count_tokens):
        with pytest.raises(TypeError, match="wrap it in a list"):
            call("b")
    for call in (ours.encode_batch, ours.encode_batch_ids, ours.encode_batch_padded, ours.count_tokens):
        with pytest.raises(ValueError, match=r"same length|fixed form"):
            call(["b", "a"])
    assert ours.encode_ids("b", add_special_tokens=False).tolist() == [1]
    unused = template(ids, tokens, "$A")
    ours, theirs = hftok.Tokenizer.from_str(unused), tokenizers.Tokenizer.from_str(unused)
    assert ours.to_str() == theirs.to_str()
    assert encoding_fields(ours.encode("b")) == encoding_fields(theirs.encode("b"))
    assert ours.encode_ids("b").tolist() == [1]
    # The template asks for it later.
    ours.post_processor.single = "[S] $A"
    with pytest.raises(ValueError, match="same length"):
        ours.encode("b")
    with pytest.raises(ValueError, match="same length"):
        ours.encode_ids("b")


@pytest.mark.parametrize("tokens", [["[S]", "[T]"], []])
def test_special_token_of_several_or_none(tokens: list[str]) -> None:
    written = template([2, 3][: len(tokens)], tokens)
    ours, theirs = hftok.Tokenizer.from_str(written), tokenizers.Tokenizer.from_str(written)
    for pair in (None, "a"):
        assert encoding_fields(ours.encode("b", pair)) == encoding_fields(theirs.encode("b", pair))


@pytest.mark.parametrize("later", ["$A", "[S] $A [S] [S]"])
def test_template_that_changes_under_truncation(later: str) -> None:
    """The room for text is that of the template given first: set_single leaves `added_single` as it was
    (processors/template.rs), until the tokenizer is written and read again."""
    pair = []
    for library in (hftok, tokenizers):
        tokenizer = library.Tokenizer(library.models.WordLevel({"a": 0, "b": 1, "[S]": 2}, "a"))
        tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
        tokenizer.post_processor = library.processors.TemplateProcessing("[S] $A", "$A $B", [("[S]", 2)])
        tokenizer.post_processor.single = later
        tokenizer.enable_truncation(5, stride=1)
        pair += [tokenizer]
    for _ in range(2):
        ours, theirs = pair
        for length in range(8):
            text = " ".join("ab"[i % 2] for i in range(length))
            assert encoding_fields(ours.encode(text)) == encoding_fields(theirs.encode(text)), length
            found, expected = ours.encode_batch([text, "a"]), theirs.encode_batch([text, "a"])
            assert list(map(encoding_fields, found)) == list(map(encoding_fields, expected)), length
        pair = [type(tokenizer).from_str(tokenizer.to_str()) for tokenizer in pair]
