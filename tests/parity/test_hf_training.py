"""`train_new_from_iterator` of accelerated objects: what transformers gives, without anything of the reference."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tokenizers
import transformers

import hftok
import hftok.hf

TEXTS = [
    ["The lowest of the low, a newer one and the newest; it's [SEP] wider.", "Größe und Straße, naïve café."],
    ["numbers 12 345, 中文 and 日本語", "def f(x):\n    return x <e>", "the low lower lowest new newer newest"],
] * 4
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NAMED = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}


def backend(kind: str) -> str:
    """A tokenizer.json whose vocabulary is of no importance."""
    models, pre, norm = tokenizers.models, tokenizers.pre_tokenizers, tokenizers.normalizers
    vocab = {token: number for number, token in enumerate([*SPECIAL, "a", "b"])}
    if kind == "wordlevel":
        tok = tokenizers.Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
        tok.pre_tokenizer = pre.Whitespace()
    elif kind == "wordpiece":
        tok = tokenizers.Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
        tok.normalizer = norm.BertNormalizer()
        tok.pre_tokenizer = pre.BertPreTokenizer()
        tok.decoder = tokenizers.decoders.WordPiece()
    elif kind == "unigram":
        tok = tokenizers.Tokenizer(models.Unigram([(token, 0.0) for token in vocab], unk_id=1))
        tok.normalizer = norm.NFKC()
        tok.pre_tokenizer = pre.Metaspace()
        tok.decoder = tokenizers.decoders.Metaspace()
    elif kind == "bpe with a suffix":
        tok = tokenizers.Tokenizer(models.BPE(vocab, [], unk_token="[UNK]", end_of_word_suffix="</w>"))
        tok.normalizer = norm.Lowercase()
        tok.pre_tokenizer = pre.BertPreTokenizer()
    else:
        tok = tokenizers.Tokenizer(models.BPE(vocab, []))
        byte_level = pre.ByteLevel(add_prefix_space=False)
        tok.pre_tokenizer = pre.Sequence([pre.Digits(), byte_level]) if kind == "bpe after digits" else byte_level
        tok.decoder = tokenizers.decoders.ByteLevel()
    tok.add_special_tokens(SPECIAL)
    tok.add_tokens([tokenizers.AddedToken("<e>", lstrip=True)])
    tok.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    text: str = tok.to_str()
    return text


def both(kind: str) -> tuple[Any, Any]:
    text = backend(kind)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer.from_str(text), **NAMED)
    ours = hftok.hf.PreTrainedTokenizerFast(tokenizer_object=hftok.Tokenizer.from_str(text), **NAMED)
    return theirs, ours


def batches() -> Iterator[list[str]]:
    yield from TEXTS


def form(tokenizer: Any) -> Any:
    return json.loads(tokenizer.backend_tokenizer.to_str())


# Made anew for each training: trainers make the tokens that they are given special.
OPTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": dict,
    "new tokens": lambda: {"new_special_tokens": ["<new>", tokenizers.AddedToken("<other>", rstrip=True)]},
    "renamed": lambda: {"special_tokens_map": {"[UNK]": "<unknown>", "[CLS]": "<first>"}},
    "for the trainer": lambda: {"min_frequency": 3},
}


@pytest.fixture
def no_reference(monkeypatch: pytest.MonkeyPatch) -> Any:
    """After a call of it, nothing of the reference's Tokenizer can train or be made."""

    def forbid() -> None:
        def raising(*_: Any, **__: Any) -> Any:
            raise AssertionError("the reference was asked")

        for name in ("train", "train_from_iterator", "from_str", "encode", "encode_batch"):
            monkeypatch.setattr(tokenizers.Tokenizer, name, raising)

    return forbid


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", ["wordlevel", "bpe", "bpe after digits"])
def test_where_the_reference_is_deterministic(kind: str, options: str, no_reference: Any) -> None:
    theirs, ours = both(kind)
    arguments, own_arguments = OPTIONS[options](), OPTIONS[options]()
    expected = theirs.train_new_from_iterator(batches(), 320, length=8, **arguments)
    texts = ["the newest [SEP] low <e>", "Größe 12 <new> ?", ""]
    answers = [dict(expected(texts)), expected.special_tokens_map, len(expected), form(expected)]
    no_reference()
    trained = ours.train_new_from_iterator(batches(), 320, length=8, **own_arguments)
    assert repr(own_arguments) == repr(arguments)
    assert type(trained) is type(ours)
    assert trained.is_accelerated
    assert [dict(trained(texts)), trained.special_tokens_map, len(trained), form(trained)] == answers


@pytest.mark.parametrize("options", ["plain", "new tokens", "renamed"])
@pytest.mark.parametrize("kind", ["wordpiece", "unigram", "bpe with a suffix"])
def test_where_it_is_not(kind: str, options: str, no_reference: Any) -> None:
    """All but the order of tokens, and for WordPiece which ones are learnt last."""
    theirs, ours = both(kind)
    expected = theirs.train_new_from_iterator(batches(), 150, **OPTIONS[options]())
    reference = form(expected)
    no_reference()
    trained = ours.train_new_from_iterator(batches(), 150, **OPTIONS[options]())
    found = form(trained)
    for name in ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"):
        assert found[name] == reference[name], name
    vocab, other = (model.pop("vocab") for model in (found["model"], reference["model"]))
    merges, _ = (model.pop("merges", None) for model in (found["model"], reference["model"]))
    assert found["model"] == reference["model"]
    assert trained.special_tokens_map == expected.special_tokens_map
    if kind == "unigram":
        assert sorted(piece for piece, _ in vocab) == sorted(piece for piece, _ in other)
    elif kind == "wordpiece":
        assert len(vocab) == len(other)
        assert {token for token in vocab if len(token) == 1} == {token for token in other if len(token) == 1}
    else:
        assert merges
        assert set(vocab) == set(other)


@pytest.mark.parametrize("given", [["one text"], "text", [["a"], ["b", "c"]], [[]], []])
def test_texts_of_any_shape(given: Any) -> None:
    theirs, ours = both("bpe")
    assert form(ours.train_new_from_iterator(given, 300)) == form(theirs.train_new_from_iterator(given, 300))


@pytest.mark.parametrize("given", [[b"bytes"], [1], 5, [None], [["a", 2]]])
def test_what_is_no_text(given: Any) -> None:
    theirs, ours = both("bpe")
    for tokenizer in (theirs, ours):
        before = form(tokenizer)
        with pytest.raises(TypeError):
            tokenizer.train_new_from_iterator(given, 300)
        assert form(tokenizer) == before


def test_arguments_that_the_trainer_does_not_have() -> None:
    theirs, ours = both("bpe")
    assert form(ours.train_new_from_iterator(TEXTS, 300, unknown=1)) == form(
        theirs.train_new_from_iterator(TEXTS, 300, unknown=1)
    )


@pytest.mark.real
@pytest.mark.corpus
@pytest.mark.parametrize("name", ["gpt2", "llama3.1", "qwen2"])
def test_real_tokenizers(name: str, real_tokenizer: Any, corpus_documents: Any, no_reference: Any) -> None:
    path = real_tokenizer(name)
    documents = corpus_documents("multilingual", 60_000)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=path)
    ours = hftok.hf.PreTrainedTokenizerFast(tokenizer_file=path)
    expected = theirs.train_new_from_iterator([documents], 1000)
    texts = documents[:3]
    answers = form(expected), expected(texts)["input_ids"]
    no_reference()
    trained = ours.train_new_from_iterator([documents], 1000)
    assert (form(trained), trained(texts)["input_ids"]) == answers
