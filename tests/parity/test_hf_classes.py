"""Every tokenizer class of transformers that has a backend, and what some of them do in their own way."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import tokenizers
import transformers
from hf_comparison import outcome, real_folder, reference_off, settings, small_file
from tokenizers import decoders, models, normalizers, pre_tokenizers

import hftok
import hftok.hf
from hftok.hf.library import CONVERT, TokenizersBackend


def classes() -> dict[str, Any]:
    found: dict[Any, str] = {}
    for name in sorted(dir(transformers)):
        if "Tokenizer" in name:
            cls = getattr(transformers, name)
            if isinstance(cls, type) and issubclass(cls, transformers.PreTrainedTokenizerFast):
                found.setdefault(cls, name)
    return {name: cls for cls, name in found.items()}


def made(module: Any, name: str, **kwargs: Any) -> Any:
    """A tokenizer of that class on a vocabulary of next to nothing; in 4.57 a class needs a file for that."""
    cls = getattr(module, name)
    if CONVERT is None:
        kwargs["tokenizer_file"] = small_file(name)
    return cls(**kwargs)


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("__call__", ("hello world",), {}),
    ("__call__", (["a b", "c"],), {"padding": True, "return_tensors": "np"}),
    ("__call__", ("a", "b c"), {"return_offsets_mapping": True, "truncation": True, "max_length": 4}),
    ("__call__", ("a",), {"text_target": "b"}),
    ("__call__", (["a", "b"],), {"is_split_into_words": True, "return_offsets_mapping": True}),
    ("tokenize", ("hello </s> x",), {}),
    ("encode", ("a", "b"), {}),
    ("decode", ([0, 1, 2, 3, 4, 5],), {}),
    ("decode", ([[0, 1, 2], [3]],), {"skip_special_tokens": True}),
    ("convert_ids_to_tokens", ([0, 1, 2, 3, 4, 9],), {}),
    ("convert_tokens_to_ids", (["a", "</s>", "[SEP]"],), {}),
    ("add_tokens", (["<new>", "hello"],), {}),
    ("__call__", ("hello <new> world",), {}),
]


@pytest.mark.parametrize("name", classes())
def test_made_without_a_vocabulary(name: str) -> None:
    expected_kind = outcome(made, transformers, name)[0]
    if expected_kind[0] == "error":
        # This class cannot be made from nothing: ours must say so too.
        assert outcome(made, hftok.hf, name)[0] == expected_kind
        return
    theirs, ours = made(transformers, name), made(hftok.hf, name)
    assert ours.is_accelerated
    assert ours.backend_tokenizer.to_str() == theirs.backend_tokenizer.to_str()
    expected = [(outcome(getattr(theirs, m), *args, **kwargs), settings(theirs)) for m, args, kwargs in CALLS * 2]
    with reference_off():
        found = [(outcome(getattr(ours, m), *args, **kwargs), settings(ours)) for m, args, kwargs in CALLS * 2]
    for call, a, b in zip(CALLS * 2, expected, found, strict=True):
        assert a[0][0][0] == "panic" or a == b, (call, a, b)
    again = pickle.loads(pickle.dumps(ours))
    assert type(again) is type(ours)
    assert outcome(again, "hello world") == outcome(pickle.loads(pickle.dumps(theirs)), "hello world")
    assert outcome(copy.deepcopy(ours), "hello world") == outcome(copy.deepcopy(theirs), "hello world")


def both(name: str, **kwargs: Any) -> tuple[Any, Any]:
    return made(transformers, name, **kwargs), made(hftok.hf, name, **kwargs)


def same(pair: tuple[Any, Any], steps: list[Any]) -> None:
    theirs, ours = pair
    expected = [outcome(step, theirs) for step in steps]
    with reference_off():
        found = [outcome(step, ours) for step in steps]
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        assert a == b, (i, a, b)


@pytest.mark.parametrize("name", ["NllbTokenizerFast", "MBartTokenizerFast", "MBart50TokenizerFast"])
def test_languages(name: str) -> None:
    source, target = ("eng_Latn", "fra_Latn") if name == "NllbTokenizerFast" else ("en_XX", "fr_XX")
    steps: list[Any] = [
        lambda t: t("hello world"),
        lambda t: t("hello world", text_target="a b"),
        lambda t: setattr(t, "src_lang", target),
        lambda t: t(["hello", "a b"], padding=True),
        lambda t: t._switch_to_target_mode(),
        lambda t: t.backend_tokenizer.post_processor.num_special_tokens_to_add(False),
        lambda t: t.set_tgt_lang_special_tokens(source),
        lambda t: t("hello"),
        lambda t: t._build_translation_inputs("hello", "pt", source, target),
    ]
    same(both(name, src_lang=source, tgt_lang=target), steps * 2)


def test_engine_is_kept_when_languages_change() -> None:
    ours = made(hftok.hf, "NllbTokenizerFast", src_lang="eng_Latn", tgt_lang="fra_Latn")
    ours("hello")
    engine = ours.backend_tokenizer._ready()[0]
    for _ in range(3):
        ours("hello", text_target="a")
        ours.src_lang = "fra_Latn"
        ours("hello")
    assert ours.backend_tokenizer._ready()[0] is engine


def test_whisper() -> None:
    folder = real_folder("whisper-large-v3")
    if folder is None:
        pytest.skip("needs the real tokenizers")
    pair = (
        transformers.WhisperTokenizerFast.from_pretrained(folder),
        hftok.hf.WhisperTokenizerFast.from_pretrained(folder),
    )
    ids = [50258, 50259, 50360, 50365, 2425, 1002, 50415, 50415, 2425, 50515, 50257]
    same(
        pair,
        [
            lambda t: t("Hello world"),
            lambda t: t.set_prefix_tokens(language="french", task="translate", predict_timestamps=False),
            lambda t: t.prefix_tokens,
            lambda t: t("Hello world", "there"),
            lambda t: t.decode(ids),
            lambda t: t.decode(ids, skip_special_tokens=True),
            lambda t: t.decode(ids, decode_with_timestamps=True),
            lambda t: t.decode(ids, output_offsets=True),
            lambda t: t.batch_decode([ids, ids[:4]], skip_special_tokens=True, normalize=True),
            lambda t: t.get_prompt_ids("hello"),
            lambda t: t.get_decoder_prompt_ids(language="german", task="transcribe"),
            lambda t: t.get_special_tokens_mask(ids, already_has_special_tokens=True),
            lambda t: t.build_inputs_with_special_tokens([1, 2]),
        ],
    )


def test_infilling() -> None:
    folder = real_folder("codellama")
    if folder is None:
        pytest.skip("needs the real tokenizers")
    pair = (transformers.AutoTokenizer.from_pretrained(folder), hftok.hf.AutoTokenizer.from_pretrained(folder))
    assert type(pair[0]) is transformers.CodeLlamaTokenizerFast
    steps: list[Any] = [
        lambda t: t("def f(x):\n    <FILL_ME>\n    return y"),
        lambda t: t("def f(x):", suffix="return y"),
        lambda t: t("def f(x):", suffix="return y", suffix_first=True),
        lambda t: t.tokenize("def f(x):\n    <FILL_ME>\n    return y"),
        lambda t: t(["a", "b c"], padding=True),
        lambda t: t("plain"),
    ]
    same(pair, steps * 2)


def test_clip_from_a_tokenizer_of_ours() -> None:
    """In 4.57 its constructor asks whether a backend's components are of the reference's classes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    symbols = [*alphabet, *(letter + "</w>" for letter in alphabet), "lo", "<|startoftext|>", "<|endoftext|>"]
    model = models.BPE(
        {token: i for i, token in enumerate(symbols)},
        [("l", "o")],
        end_of_word_suffix="</w>",
        unk_token="<|endoftext|>",
    )
    backend = tokenizers.Tokenizer(model)
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(tokenizers.Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    pattern = tokenizers.Regex(r"<\|startoftext\|>|<\|endoftext\|>|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+")
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(pattern, "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    backend.decoder = decoders.ByteLevel()
    theirs = transformers.CLIPTokenizerFast(tokenizer_object=backend)
    ours = hftok.hf.CLIPTokenizerFast(tokenizer_object=hftok.Tokenizer(backend))
    assert ours.is_accelerated
    assert ours.backend_tokenizer.to_str() == theirs.backend_tokenizer.to_str()
    trained, other = (t.train_new_from_iterator(["low lower lowest"] * 9, 530) for t in (ours, theirs))
    assert trained.is_accelerated
    assert type(trained) is type(ours)
    for a, b in (ours, theirs), (trained, other):
        assert a.special_tokens_map == b.special_tokens_map
        assert a.tokenize("Low  lower") == b.tokenize("Low  lower")
        assert a.decode(a("low lower")["input_ids"]) == b.decode(b("low lower")["input_ids"])
    with pytest.raises(AttributeError):
        hftok.hf.CLIPTokenizerFast(tokenizer_object=1)


def test_clip_decodes_in_its_own_way() -> None:
    folder = real_folder("clip-vit-base")
    if folder is None:
        pytest.skip("needs the real tokenizers")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ids = theirs("a photo of 2 cats, really!")["input_ids"]
    expected = [theirs.decode(ids), theirs.decode(ids, skip_special_tokens=True)]
    for ours in (
        hftok.hf.AutoTokenizer.from_pretrained(folder),
        hftok.hf.accelerate(transformers.AutoTokenizer.from_pretrained(folder)),
    ):
        assert [ours.decode(ids), ours.decode(ids, skip_special_tokens=True)] == expected


@pytest.mark.parametrize("name", [f"{n}TokenizerFast" for n in ("LayoutLMv2", "LayoutLMv3", "LayoutXLM", "Udop")])
def test_boxes(name: str) -> None:
    words, boxes = ["hello", "world", "x"], [[1, 2, 3, 4], [5, 6, 7, 8], [9, 9, 9, 9]]
    steps: list[Any] = [
        lambda t: t(words, boxes=boxes),
        lambda t: t(words, boxes=boxes, word_labels=[1, 2, 3], padding="max_length", max_length=12),
        lambda t: t([words, words[:1]], boxes=[boxes, boxes[:1]], padding=True, return_tensors="pt"),
        lambda t: t("a question", words, boxes=boxes, truncation="only_second", max_length=8, stride=1),
        lambda t: t(words, boxes=boxes, return_offsets_mapping=True, return_special_tokens_mask=True),
        lambda t: t.tokenize("hello world"),
    ]
    same(both(name), steps * 2)


def test_entities() -> None:
    if not issubclass(transformers.LukeTokenizer, TokenizersBackend):
        pytest.skip("LukeTokenizer of 4.57 is written in Python")
    steps: list[Any] = [
        lambda t: t("hello world", entity_spans=[(0, 5)]),
        lambda t: t("hello world", entity_spans=[(0, 5)], entities=["hello"], padding="max_length", max_length=9),
        lambda t: t(["a b", "c"], padding=True, return_tensors="pt"),
    ]
    same(both("LukeTokenizer"), steps * 2)


def test_questions_with_passages() -> None:
    steps: list[Any] = [
        lambda t: t(questions=["a b"], titles=["c"], texts=["d e f"]),
        lambda t: t(questions="a", titles=["b", "c"], texts=["d", "e f"], padding=True, return_tensors="pt"),
    ]
    same(both("DPRReaderTokenizerFast"), steps * 2)
