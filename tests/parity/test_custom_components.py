"""Custom components, and models that sample: what runs once may answer something else the second time."""

from __future__ import annotations

import sys
from typing import Any

import pytest
import tokenizers

import hftok
import hftok.hf
from hftok.testing import encoding_fields


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


class Stubborn:
    """Custom components that do nothing but raise."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def normalize(self, normalized: Any) -> None:
        raise self.error("no")

    def pre_tokenize(self, text: Any) -> None:
        raise self.error("no")


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize(
    ("which", "error"), [("pre", KeyError), ("pre", KeyboardInterrupt), ("norm", KeyboardInterrupt)]
)
def test_exceptions_of_components_at_every_door(which: str, error: type[BaseException], truncated: bool) -> None:
    tokenizer = hftok.Tokenizer(hftok.models.WordLevel({"?": 0, "a": 1}, "?"))
    backend = hftok.hf.PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    for one in (tokenizer, backend._tokenizer):
        if which == "pre":
            one.pre_tokenizer = hftok.pre_tokenizers.PreTokenizer.custom(Stubborn(error))
        else:
            one.normalizer = hftok.normalizers.Normalizer.custom(Stubborn(error))
    if truncated:
        tokenizer.enable_truncation(3)
    trainer = hftok.trainers.WordLevelTrainer(show_progress=False)
    for call in (
        lambda: tokenizer.encode("a b"),
        lambda: tokenizer.encode("a", "b"),
        lambda: tokenizer.encode(["a", "b"], is_pretokenized=True),
        lambda: tokenizer.encode_batch(["a", "b"]),
        lambda: tokenizer.encode_batch_fast(["a", "b"]),
        lambda: tokenizer.encode_ids("a"),
        lambda: tokenizer.encode_batch_ids(["a", "b"]),
        lambda: tokenizer.encode_batch_ids(["a " * 3000] * 2, return_offsets=True),
        lambda: tokenizer.encode_batch_padded(["a", "b"]),
        lambda: tokenizer.count_tokens(["a"]),
        lambda: tokenizer.train_from_iterator(["a"], trainer),
        lambda: backend("a"),
        lambda: backend(["a", "b"]),
    ):
        with pytest.raises(error if error is KeyboardInterrupt else Exception, match="no") as caught:
            call()
        assert not isinstance(caught.value, SystemError)
