"""Pairs of components that public tokenizers use together, where one looks at what the other has made of the text."""

from __future__ import annotations

import itertools
import json
import sys
import unicodedata
from typing import Any

import pytest
import tokenizers
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, processors

import hftok
import hftok.hf
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
    for call in (ours.encode, ours.encode_ids, ours.count_tokens):
        with pytest.raises(ValueError, match="same length"):
            call("b")
    for call in (ours.encode_batch, ours.encode_batch_ids, ours.encode_batch_padded):
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


class Raising:
    """A custom normalizer that does something and then raises."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def normalize(self, normalized: Any) -> None:
        normalized.uppercase()
        normalized.replace("X", "--")
        if "!" in normalized.normalized:
            raise self.error("!")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_normalizers_that_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 49 of docs/differences.md: the text goes on as it was left; what stands behind in a Sequence is not run."""
    heard: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: heard.append(str(report.exc_value)))
    texts = ["ax b! <raw>x!", "ax b", "!", "", "é! x! <normal> !"]
    made = []
    for library in (hftok, tokenizers):
        one = library.normalizers
        vocab = {token: i for i, token in enumerate(["?", "A", "B", "-", "!", "B!", "--"])}
        tokenizer = library.Tokenizer(library.models.WordLevel(vocab, "?"))
        custom = one.Normalizer.custom(Raising(KeyError))
        tokenizer.pre_tokenizer = library.pre_tokenizers.Split(" ", "removed")
        tokenizer.add_tokens([library.AddedToken("<raw>", normalized=False), library.AddedToken("<normal>")])
        results = []
        for normalizer in (custom, one.Sequence([one.NFD(), custom, one.Replace("B", "A")])):
            tokenizer.normalizer = normalizer
            results += [encoding_fields(e) for e in (*map(tokenizer.encode, texts), *tokenizer.encode_batch(texts))]
            results.append(encoding_fields(tokenizer.encode(["x!", "b"], is_pretokenized=True)))
        with pytest.raises(Exception, match="KeyError"):
            custom.normalize_str("!")
        tokenizer.train_from_iterator(["x! b", "c"], library.trainers.WordLevelTrainer(show_progress=False))
        made.append((results, sorted(tokenizer.get_vocab())))
    assert made[0] == made[1]
    assert set(heard) == {"KeyError: '!'"}
    tokenizer = hftok.Tokenizer(hftok.models.WordLevel({"?": 0}, "?"))
    tokenizer.normalizer = hftok.normalizers.Normalizer.custom(Raising(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tokenizer.encode("a!")
    assert tokenizer.encode("a").ids == [0]


def sampling_models() -> list[Any]:
    letters = "abcdefgh"
    pairs = [("a", "b"), ("c", "d"), ("ab", "cd"), ("e", "f"), ("abcd", "ef")]
    tokens = ["?", *letters, *(a + b for a, b in pairs)]
    bpe = hftok.models.BPE({token: i for i, token in enumerate(tokens)}, pairs, dropout=0.5, unk_token="?")
    unigram = hftok.models.Unigram([("?", 0.0), *((token, -float(len(token))) for token in tokens[1:])], 0)
    unigram.alpha = 0.3
    return [bpe, unigram]


@pytest.mark.parametrize("model", sampling_models(), ids=["dropout", "sampling"])
@pytest.mark.parametrize("padded", [False, True])
def test_one_sample_for_all_columns(model: Any, padded: bool) -> None:
    """An Encoding of a model that samples is one sample: ids, tokens and offsets belong together."""
    tokenizer = hftok.Tokenizer(model)
    tokenizer.pre_tokenizer = hftok.pre_tokenizers.Whitespace()
    if padded:
        tokenizer.enable_padding(pad_to_multiple_of=8, pad_token="?")
    text = "abcdefgh abcdef zab"
    seen = set()
    backend = hftok.hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    for _ in range(40):
        encodings = [tokenizer.encode(text), tokenizer.encode(text, "abcdef"), *tokenizer.encode_batch([text, "abcd"])]
        result = backend([text, "abcd"], return_offsets_mapping=True)
        assert result["input_ids"] == [encoding.ids for encoding in result.encodings]
        assert result["offset_mapping"] == [encoding.offsets for encoding in result.encodings]
        for encoding in encodings + result.encodings:
            assert len(encoding.tokens) == len(encoding.offsets) == len(encoding.word_ids) == len(encoding.ids)
            for id_, token, (start, end) in zip(encoding.ids, encoding.tokens, encoding.offsets, strict=True):
                if id_:
                    assert tokenizer.id_to_token(id_) == token
                    assert end - start == len(token)
        seen.add(tuple(encodings[0].ids))
    assert len(seen) > 3


def test_custom_components_are_asked_once() -> None:
    """They may count, and may change between the call and the reading of its result."""
    calls: list[list[str]] = []
    made = []
    for library in (hftok, tokenizers):
        heard: list[str] = []

        class Component:
            mark = "!"

            def normalize(self, normalized: Any, heard: list[str] = heard) -> None:
                heard.append(f"normalize {normalized.normalized!r}")
                normalized.append(self.mark)

            def pre_tokenize(self, text: Any, heard: list[str] = heard) -> None:
                heard.append(f"pre_tokenize {[split[0] for split in text.get_splits()]}")
                text.split(lambda i, part: part.split(self.mark, "isolated"))

        component = Component()
        tokenizer = library.Tokenizer(library.models.WordLevel({"?": 0, "a": 1, "!": 2}, "?"))
        tokenizer.normalizer = library.normalizers.Normalizer.custom(component)
        tokenizer.pre_tokenizer = library.pre_tokenizers.PreTokenizer.custom(component)
        tokenizer.add_tokens([library.AddedToken("<raw>", normalized=False)])
        results = [tokenizer.encode(text) for text in ("a", "", "b a", "a<raw>b", "<raw>")]
        results += [tokenizer.encode(["a", "", "b"], is_pretokenized=True), tokenizer.encode("a", "b")]
        results += tokenizer.encode_batch(["a", "b"])
        component.mark = "#"
        made.append([encoding_fields(encoding) for encoding in results])
        calls.append(heard)
    assert made[0] == made[1]
    assert calls[0] == calls[1]


def test_pre_tokenizers_that_tokenize() -> None:
    """Row 50 of docs/differences.md."""
    for library in (hftok, tokenizers):

        class Whole:
            def pre_tokenize(self, text: Any, token: Any = library.Token) -> None:
                text.tokenize(lambda part: [token(1, part, (0, len(part)))])

        tokenizer = library.Tokenizer(library.models.WordLevel({"?": 0, "a": 1}, "?"))
        tokenizer.pre_tokenizer = library.pre_tokenizers.PreTokenizer.custom(Whole())
        if library is tokenizers:
            assert tokenizer.encode("x y").tokens == ["x y"]
            continue
        with pytest.raises(Exception, match="custom pre-tokenizer cannot tokenize"):
            tokenizer.encode("x y")
