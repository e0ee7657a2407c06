"""What transformers 4.57 has and 5.x has not, and what the tokenizers library did before 0.23."""

from __future__ import annotations

import copy
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers
import transformers
from hf_comparison import SPECIALS, TEXTS, outcome, real_folder, reference_off, wordpiece
from spm_models import trained
from test_hf_surface import check, make, method
from tokenizers import normalizers

import hftok
import hftok.hf
from hftok.hf.backend_022 import Tokenizer022
from hftok.hf.calls import CallBackend
from hftok.hf.library import CONVERT, EVERY_WINDOW

if CONVERT is not None or not EVERY_WINDOW:
    pytest.skip("needs transformers 4.57 and tokenizers 0.22: requirements-test-4.57.txt", allow_module_level=True)

WINDOWS = {"truncation": True, "max_length": 7, "stride": 2, "return_overflowing_tokens": True}


def test_methods_for_one_and_for_a_batch() -> None:
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    words = [text.split() for text in TEXTS]
    steps = [
        *(method("encode_plus", text, return_offsets_mapping=True) for text in TEXTS),
        *(method("encode_plus", text, TEXTS[3], padding="max_length", max_length=40) for text in TEXTS),
        *(method("encode_plus", text.split(), is_split_into_words=True, **WINDOWS) for text in TEXTS),
        method("encode_plus", TEXTS),
        method("encode_plus", TEXTS[:2]),
        method("encode", TEXTS),
        method("encode", TEXTS[:2]),
        method("encode", TEXTS[:2]),
        method("encode", words, is_split_into_words=True),
        method("encode", words[3], is_split_into_words=True),
        method("encode", words[3], is_split_into_words=True),
        method("encode", TEXTS[3], return_tensors="pt"),
        method("batch_encode_plus", TEXTS, padding=True, return_tensors="np"),
        method("batch_encode_plus", pairs, truncation="only_first", max_length=100),
        method("batch_encode_plus", pairs, truncation="only_first", max_length=20),
        method("batch_encode_plus", TEXTS[3]),
        method("batch_encode_plus", words, is_split_into_words=True, **WINDOWS),
        method("batch_encode_plus", []),
        method("batch_encode_plus", batch_text_or_text_pairs=TEXTS, padding=True),
        method("batch_encode_plus", TEXTS, batch_text_or_text_pairs=TEXTS),
        method("batch_encode_plus", TEXTS[:2], False),
        method("batch_encode_plus", words[3], is_split_into_words=True),
        method("encode_plus", text=TEXTS[3], text_pair=TEXTS[4], return_tensors="pt"),
        method("encode_plus", TEXTS[3], TEXTS[4], False),
        method("encode_plus", text_pair=TEXTS[4]),
        method("__call__", TEXTS[3], text_target=TEXTS[4]),
        method("__call__", TEXTS[3:6], text_target=TEXTS[4:7], padding=True, return_tensors="pt"),
        method("__call__", TEXTS[3], split_special_tokens=None),
        method("__call__", TEXTS[3], truncation_strategy="only_first", max_length=5),
        method("__call__", TEXTS, return_tensors="tf"),
        method("__call__", TEXTS, **WINDOWS),
        method("__call__", [[1, 2]]),
        method("__call__", TEXTS[:2], unknown=1),
        method("tokenize", TEXTS[3], TEXTS[4], add_special_tokens=True),
    ]
    check(*make(), steps * 2)
    check(*make(padding_side="left", truncation_side="left", split_special_tokens=True), steps)


def test_the_second_call_goes_the_fast_way(monkeypatch: pytest.MonkeyPatch) -> None:
    _, ours = make()
    steps = [
        method("encode_plus", TEXTS[3], TEXTS[4], truncation=True, max_length=9, return_tensors="pt"),
        method("encode_plus", TEXTS[3].split(), is_split_into_words=True, return_offsets_mapping=True),
        method("batch_encode_plus", TEXTS, padding=True, return_tensors="np"),
        method("batch_encode_plus", batch_text_or_text_pairs=[(TEXTS[3], TEXTS[4])]),
        method("__call__", TEXTS[3], text_target=TEXTS[4]),
        method("__call__", TEXTS, text_target=TEXTS, padding=True),
        method("prepare_seq2seq_batch", TEXTS[3:5], TEXTS[4:6], max_length=9, return_tensors="pt"),
        method("tokenize", TEXTS[3]),
    ]
    expected = [outcome(step, ours)[0] for step in steps]

    def refuse(self: Any) -> None:
        raise AssertionError("the slow way")

    monkeypatch.setattr(CallBackend, "publish", refuse)
    for step, result in zip(steps, expected, strict=True):
        assert outcome(step, ours)[0] == result
    with pytest.raises(AssertionError, match="the slow way"):
        ours.encode_plus(TEXTS[3], max_length=9)


@pytest.mark.parametrize(
    ("name", "model", "file", "given"),
    [
        ("T5TokenizerFast", "t5", "spiece.model", {}),
        ("T5TokenizerFast", "t5", "spiece.model", {"add_prefix_space": False}),
        ("T5TokenizerFast", "t5", "spiece.model", {"add_prefix_space": True, "additional_special_tokens": ["<x>"]}),
        ("LlamaTokenizerFast", "bpe", "tokenizer.model", {}),
        ("LlamaTokenizerFast", "bpe", "tokenizer.model", {"add_prefix_space": False, "legacy": False}),
        ("LlamaTokenizerFast", "bpe", "tokenizer.model", {"from_slow": True, "legacy": False}),
        ("PegasusTokenizerFast", "pegasus", "spiece.model", {}),
        ("PegasusTokenizerFast", "pegasus", "spiece.model", {"unk_token": "<nothing>"}),
    ],
)
def test_constructors_that_convert_although_there_is_a_file(
    tmp_path: pathlib.Path, name: str, model: str, file: str, given: dict[str, Any]
) -> None:
    (tmp_path / file).write_bytes(trained(model))
    cls = getattr(transformers, name)
    cls(vocab_file=str(tmp_path / file)).save_pretrained(tmp_path)
    assert (tmp_path / "tokenizer.json").is_file()
    for folder_has_model in True, False:
        theirs = outcome(cls.from_pretrained, tmp_path, **copy.deepcopy(given))
        ours = outcome(getattr(hftok.hf, name).from_pretrained, tmp_path, **copy.deepcopy(given))
        assert ours[0][0] == theirs[0][0]
        assert ours[1:] == theirs[1:]
        if ours[0][0] == "value":
            a, b = theirs[0][1][1], ours[0][1][1]
            assert b.is_accelerated
            assert b.backend_tokenizer.to_str() == a.backend_tokenizer.to_str()
            assert b.init_kwargs == a.init_kwargs
            check(a, b, [method("__call__", "Hello <x> naïve  world</s> and", add_special_tokens=False)])
        if folder_has_model:
            (tmp_path / file).unlink()
        else:
            assert (ours[0][0] == "error") == bool(given)  # which all make it convert, from what is not there any more


def test_warnings_of_constructors_come_once(tmp_path: pathlib.Path) -> None:
    own = tokenizers.Tokenizer(tokenizers.models.BPE({"<unk>": 0, "<s>": 1, "</s>": 2, "a": 3}, []))
    own.save(str(tmp_path / "tokenizer.json"))
    theirs, ours = (
        outcome(package.LlamaTokenizerFast.from_pretrained, tmp_path) for package in (transformers, hftok.hf)
    )
    assert [level for level, _ in ours[2]] == [level for level, _ in theirs[2]] == ["WARNING"]
    assert "legacy behaviour of the <class 'hftok.hf.LlamaTokenizerFast'>" in ours[2][0][1]


def test_vocabularies_that_cannot_be_loaded(tmp_path: pathlib.Path) -> None:
    tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a")).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "PLBartTokenizer"}')
    assert transformers.AutoTokenizer.from_pretrained(tmp_path) is False
    assert hftok.hf.AutoTokenizer.from_pretrained(tmp_path) is False


def test_preparing_ids() -> None:
    ids, other = list(range(20, 50)), list(range(60, 75))
    steps = [
        *(
            method("prepare_for_model", ids, pair, truncation=truncation, max_length=n, stride=s, padding="max_length")
            for pair in (None, other)
            for truncation in (False, "longest_first", "only_first", "only_second")
            for n in (12, 40, 64)
            for s in (0, 3)
        ),
        method("prepare_for_model", ids, return_tensors="pt", prepend_batch_axis=True),
        method("prepare_for_model", ids, return_offsets_mapping=True),
        method("prepare_for_model", ids, other, return_special_tokens_mask=True, return_length=True),
        method("prepare_for_model", ids, truncation=True, max_length=9, return_overflowing_tokens=True),
        method("build_inputs_with_special_tokens", ids, other),
        method("create_token_type_ids_from_sequences", ids, other),
        method("truncate_sequences", ids, other, num_tokens_to_remove=5, stride=2),
        method("truncate_sequences", ids, None, num_tokens_to_remove=5, truncation_strategy="only_first"),
        method("get_special_tokens_mask", ids),
        method("sanitize_special_tokens"),
        method("prepare_seq2seq_batch", TEXTS[3:5], TEXTS[4:6], max_length=9, return_tensors="pt"),
        method("pad", {"input_ids": [ids, other]}, return_tensors="pt"),
        method("pad", {"input_ids": [ids, other]}, return_tensors="pt"),
        method("decode", [ids, other]),
        method("decode", ids, use_source_tokenizer=True),
        method("decode", ids),
        method("batch_decode", [ids, other], skip_special_tokens=True),
    ]
    check(*make(), steps)

    def as_target(tokenizer: Any) -> Any:
        with tokenizer.as_target_tokenizer():
            inside = tokenizer(TEXTS[3])
        return inside, tokenizer(TEXTS[3])

    check(*make(), [as_target, as_target])


@pytest.mark.parametrize("name", ["gpt2", "roberta-base", "whisper-large-v3"])
def test_words_are_refused_without_a_prefix_space(name: str) -> None:
    folder = real_folder(name)
    if folder is None:
        pytest.skip("needs the real tokenizers")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = hftok.hf.AutoTokenizer.from_pretrained(folder)
    words = TEXTS[3].split()
    steps: list[Callable[[Any], Any]] = []
    for prefix in False, True:
        steps.append(lambda t, prefix=prefix: setattr(t, "add_prefix_space", prefix))
        steps += [method("__call__", words, is_split_into_words=True)] * 2
        steps += [method("__call__", [words, words[:1]], is_split_into_words=True)] * 2
        steps += [method("__call__", words), method("__call__", words), method("encode", TEXTS[3])]
    check(theirs, ours, steps)
    assert ours._door.is_open
    before = ours.backend_tokenizer.__getstate__()
    ours(words, truncation=True, max_length=3, full_overflow=True)
    assert ours.backend_tokenizer.__getstate__() == before


@pytest.mark.parametrize("seed", range(60))
def test_added_tokens_before_0_23(seed: int) -> None:
    """Tokens added in any order, with any flags, and normalizers set between."""
    rng = random.Random(f"added {seed}")
    contents = ["Foo", "foo", "FOO", "é", "e\u0301", "E", "hello", "Hello", "[MASK]", "<x>", "lo w", ""]
    steps: list[Callable[[Any, Any], Any]] = []
    for _ in range(12):
        kind = rng.randrange(6)
        flags = [
            (
                rng.choice(contents),
                {key: rng.random() < 0.4 for key in ("single_word", "lstrip", "rstrip", "normalized", "special")},
            )
            for _ in range(rng.choice([1, 2, 5]))
        ]
        if kind < 2:
            steps.append(lambda t, m, flags=flags: t.add_tokens([m.AddedToken(c, **f) for c, f in flags]))
        elif kind == 2:
            steps.append(lambda t, m, flags=flags: t.add_special_tokens([m.AddedToken(c, **f) for c, f in flags]))
        elif kind == 3:
            steps.append(lambda t, m, flags=flags: t.add_tokens([c for c, _ in flags]))
        else:
            made = rng.choice(["Lowercase", "NFD", "NFC", "BertNormalizer"])
            steps.append(lambda t, m, made=made: setattr(t, "normalizer", getattr(m.normalizers, made)()))
        if rng.random() < 0.2:
            steps.append(lambda t, m: setattr(t, "encode_special_tokens", not t.encode_special_tokens))
        steps.append(
            lambda t, m: [e.ids for e in t.encode_batch(["Foo foo FOO", "é E hello<x>Hello  [MASK] lo w foo"])]
        )
        steps.append(lambda t, m: (t.decode(list(range(190, 215)), skip_special_tokens=False), t.get_vocab_size()))
        steps.append(lambda t, m: [t.id_to_token(i) for i in range(195, 215)])
        steps.append(lambda t, m: t.to_str())
    theirs = wordpiece(normalizer=normalizers.Lowercase())
    ours = Tokenizer022.from_str(theirs.to_str())
    expected = [outcome(step, theirs, tokenizers) for step in steps]
    with reference_off():
        found = [outcome(step, ours, hftok) for step in steps]
    assert found == expected
    assert type(copy.deepcopy(ours)) is Tokenizer022


def test_every_window_before_0_23() -> None:
    theirs = wordpiece()
    ours = Tokenizer022.from_str(theirs.to_str())
    for direction in "left", "right":
        for tokenizer in theirs, ours:
            tokenizer.enable_truncation(9, stride=2, direction=direction)
        for text in TEXTS:
            expected = [e.tokens for e in theirs.encode(text).overflowing]
            assert [e.tokens for e in ours.encode(text).overflowing] == expected
    wrapped = hftok.hf.wrap(transformers.PreTrainedTokenizerFast(tokenizer_object=theirs, **SPECIALS))
    assert type(wrapped.backend_tokenizer) is Tokenizer022
