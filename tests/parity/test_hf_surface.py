"""A transformers tokenizer besides the grid of calls: attributes, tokens, decoding, padding, chats, files, copies."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from hf_comparison import SPECIALS, TEXTS, outcome, plain, real_folder, reference_off, settings, wordpiece

import hftok
import hftok.hf
from hftok.hf.calls import CallBackend
from hftok.hf.library import CONVERT

BERT_NAMES = ["input_ids", "token_type_ids", "attention_mask"]
Step = Callable[[Any], Any]
MORE_SPECIAL_TOKENS = "additional_special_tokens" if CONVERT is None else "extra_special_tokens"


def make(**kwargs: Any) -> tuple[Any, Any]:
    backend = wordpiece()

    def given() -> dict[str, Any]:  # 4.57 keeps the very list of names that it is given
        return {**SPECIALS, "model_input_names": list(BERT_NAMES), "model_max_length": 64, **kwargs}

    return (
        transformers.PreTrainedTokenizerFast(tokenizer_object=backend, **given()),
        hftok.hf.PreTrainedTokenizerFast(tokenizer_object=backend, **given()),
    )


def check(reference: Any, ours: Any, steps: list[Step]) -> None:
    """Do the same to both, step by step."""
    expected = [(outcome(step, reference), settings(reference)) for step in steps]
    with reference_off():
        found = [(outcome(step, ours), settings(ours)) for step in steps]
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        if a[0][0][0] == "panic":
            assert b[0][0][0] == "error", (i, b)
        else:
            assert a == b, (i, a, b)


def attribute(name: str) -> Step:
    return lambda tokenizer: getattr(tokenizer, name)


def setting(name: str, value: Any) -> Step:
    return lambda tokenizer: setattr(tokenizer, name, value)


def method(name: str, *args: Any, **kwargs: Any) -> Step:
    return lambda tokenizer: getattr(tokenizer, name)(*copy.deepcopy(args), **copy.deepcopy(kwargs))


ATTRIBUTES = [
    *(f"{name}{suffix}" for name in ("bos_token", "eos_token", *SPECIALS) for suffix in ("", "_id")),
    "vocab_size",
    "special_tokens_map",
    "all_special_tokens",
    "all_special_ids",
    "extra_special_tokens",
    "extra_special_tokens_ids",
    "added_tokens_encoder",
    "added_tokens_decoder",
    "_added_tokens_encoder",
    "_added_tokens_decoder",
    "model_max_length",
    "max_len_single_sentence",
    "max_len_sentences_pair",
    "model_input_names",
    "padding_side",
    "truncation_side",
    "pad_token_type_id",
    "is_fast",
    "can_save_slow_tokenizer",
    "name_or_path",
    "clean_up_tokenization_spaces",
    "split_special_tokens",
    "init_kwargs",
    "init_inputs",
    "add_bos_token",
    "add_eos_token",
    "chat_template",
    "backend",
    "files_loaded",
    "verbose",
    "deprecation_warnings",
    "no_such_attribute",
]


def look() -> list[Step]:
    return [
        *map(attribute, ATTRIBUTES),
        repr,
        len,
        bool,
        lambda tokenizer: sorted(tokenizer.get_vocab().items()),  # the reference's order is random
        lambda tokenizer: sorted(tokenizer.vocab.items()),
        method("get_added_vocab"),
        method("num_special_tokens_to_add"),
        method("num_special_tokens_to_add", pair=True),
        lambda tokenizer: type(tokenizer).__name__,
        lambda tokenizer: tokenizer.backend_tokenizer.to_str(),
        lambda tokenizer: tokenizer.backend_tokenizer.get_vocab_size(),
        lambda tokenizer: repr(tokenizer.decoder),
    ]


def test_attributes() -> None:
    check(*make(), look())


def test_attributes_of_real_tokenizers() -> None:
    folder = real_folder("all-MiniLM-L6-v2")
    if folder is None:
        pytest.skip("needs the real tokenizers")
    reference = transformers.AutoTokenizer.from_pretrained(folder)
    check(reference, hftok.hf.AutoTokenizer.from_pretrained(folder), look())
    check(reference, hftok.hf.accelerate(transformers.AutoTokenizer.from_pretrained(folder)), look())
    with hftok.hf.patched():
        check(reference, transformers.AutoTokenizer.from_pretrained(folder), look())


def test_setting_attributes() -> None:
    call = method("__call__", [TEXTS[3], "a <new> b"], padding=True)
    steps: list[Step] = [call, call]
    for name, value in [
        ("pad_token", "[MASK]"),
        ("pad_token", None),
        ("pad_token_id", 3),
        ("pad_token", tokenizers.AddedToken("[PAD]", special=True)),
        ("pad_token", 5),
        ("padding_side", "left"),
        ("padding_side", "up"),
        ("padding_side", "right"),
        ("model_input_names", ["input_ids", "attention_mask"]),
        ("extra_special_tokens", ["<new>"]),
        ("extra_special_tokens", "x"),
        ("eos_token", "[SEP]"),
        ("split_special_tokens", True),
        ("split_special_tokens", False),
        ("add_bos_token", True),
        ("bos_token", "[CLS]"),
        ("add_bos_token", True),
        ("add_eos_token", True),
        ("add_bos_token", False),
        ("verbose", True),
        ("mask_token", None),
        ("clean_up_tokenization_spaces", True),
        ("max_len_single_sentence", 62),
        ("max_len_single_sentence", 7),
        ("model_max_length", 5),
    ]:
        steps += [setting(name, value), call, call, attribute(name), attribute("special_tokens_map")]
    check(*make(), steps)


def test_names_changed_in_place() -> None:
    def change(tokenizer: Any) -> None:
        tokenizer.model_input_names.remove("token_type_ids")

    def other_padding(tokenizer: Any) -> None:
        tokenizer._special_tokens_map["pad_token"] = "[SEP]"

    call = method("__call__", [TEXTS[3], TEXTS[4]], padding=True)
    check(*make(), [call, call, change, call, call, other_padding, call, call])


def test_adding_tokens() -> None:
    call = method("__call__", "hello <a><b> <c>world <d>unaffable quick <e>", return_offsets_mapping=True)
    added = tokenizers.AddedToken
    steps: list[Step] = [call, call]
    for step in [
        method("add_tokens", "<a>"),
        method("add_tokens", ["<a>", "<b>", ""]),
        method("add_tokens", [added("<c>", lstrip=True, special=True), "<d>"], special_tokens=True),
        method("add_tokens", added("quick", single_word=True)),
        method("add_tokens", []),
        method("add_tokens", ("<t>",)),
        method("add_tokens", [3]),
        method("add_special_tokens", {"eos_token": "<e>", "extra_special_tokens": ["<x>", added("<y>", rstrip=True)]}),
        method("add_special_tokens", {"additional_special_tokens": ["<z>"]}, replace_extra_special_tokens=False),
        method("add_special_tokens", {"no_token": "<z>"}),
        method("add_special_tokens", {"eos_token": 3}),
        method("add_special_tokens", {}),
    ]:
        names = "added_tokens_decoder", "all_special_tokens", "special_tokens_map"
        steps += [step, call, call, *map(attribute, names), len]
    check(*make(), steps)


def test_tokens_of_ours_are_taken_where_transformers_takes_its_own() -> None:
    reference, ours = make(mask_token=tokenizers.AddedToken("<m>", lstrip=True))
    backend = wordpiece()
    given = {**SPECIALS, "model_input_names": BERT_NAMES, "model_max_length": 64}
    given["mask_token"] = hftok.AddedToken("<m>", lstrip=True)
    ours = hftok.hf.PreTrainedTokenizerFast(tokenizer_object=backend, **given)

    def same(step: Callable[[Any, Any], Any]) -> None:
        a = outcome(step, reference, tokenizers.AddedToken)
        with reference_off():
            b = outcome(step, ours, hftok.AddedToken)
        assert a == b

    same(lambda t, token: t("hello  <m> world"))
    same(lambda t, token: t.add_tokens([token("<n>", rstrip=True)]))
    same(lambda t, token: t.add_special_tokens({"eos_token": token("<o>"), MORE_SPECIAL_TOKENS: [token("<p>")]}))
    same(lambda t, token: setattr(t, "bos_token", token("<n>", rstrip=True)))
    same(lambda t, token: (t.bos_token, t.special_tokens_map, t.added_tokens_decoder, t("<n>  a<o><p>")))


def test_converting() -> None:
    steps: list[Step] = []
    for ids in [7, [7, 8, 99999], [], -1, [2, 7, 3], np.array([2, 7, 3]), torch.tensor([2, 7]), "x", None, 1.5, [7.0]]:
        steps += [method("convert_ids_to_tokens", ids), method("convert_ids_to_tokens", ids, skip_special_tokens=True)]
    for tokens in ["hello", "zzz", ["hello", "zzz", "[MASK]"], [], None, 3, ["hello", None], ("hello",)]:
        steps.append(method("convert_tokens_to_ids", tokens))
    for tokens in [["un", "##aff", "##able", "!"], [], ["a"], "ab", None]:
        steps.append(method("convert_tokens_to_string", tokens))
    for ids in [[2, 7, 3], [], [2, 2, 9]]:
        steps.append(method("get_special_tokens_mask", ids, already_has_special_tokens=True))
    steps.append(method("get_special_tokens_mask", [2, 7]))
    steps.append(method("get_special_tokens_mask", [2, 7], [3], already_has_special_tokens=True))
    check(*make(), steps)


IDS: list[Any] = [
    [2, 7, 8, 3],
    [],
    7,
    [7],
    [[2, 7], [8, 3, 1]],
    [[], [7]],
    (2, 7),
    np.array([2, 7, 3]),
    np.array([[2, 7, 3], [7, 7, 7]]),
    np.array(7),
    np.array([], dtype=np.int64),
    np.int64(7),
    torch.tensor([2, 7, 3]),
    torch.tensor([[2, 7, 3]]),
    torch.tensor(7),
    [np.int64(7), np.int32(8)],
    [torch.tensor(7), torch.tensor(8)],
    {"input_ids": [2, 7, 3]},
    [99999, 7],
    [-1],
    [2**40],
    [7.0],
    "abc",
    None,
    [True, 7],
    [None],
    [[7, None]],
    [7, "8"],
]


def test_decoding() -> None:
    steps: list[Step] = []
    for ids in IDS:
        for kwargs in [{}, {"skip_special_tokens": True}, {"clean_up_tokenization_spaces": True}]:
            steps += [method("decode", ids, **kwargs), method("batch_decode", ids, **kwargs)]
    steps += [setting("clean_up_tokenization_spaces", True), *steps[:12]]
    steps.append(lambda tokenizer: tokenizer.decode([7, 8], use_source_tokenizer=True))
    steps.append(lambda tokenizer: tokenizer.decode([7, 8], False, unknown=3))
    steps.append(lambda tokenizer: tokenizer.batch_decode([[7, 8]], True, True))
    steps.append(method("clean_up_tokenization", "do n't , a . b ?"))
    check(*make(), steps)


def test_padding_what_was_encoded() -> None:
    inputs: list[Any] = [
        {"input_ids": [[2, 7, 3], [2, 7, 8, 3]]},
        [{"input_ids": [2, 7, 3], "labels": [1, 2, 3]}, {"input_ids": [2, 3], "labels": [1, 2]}],
        {"input_ids": [2, 7, 3], "token_type_ids": [0, 0, 1], "special_tokens_mask": [1, 0, 1]},
        [{"input_ids": [2, 7, 3], "attention_mask": [1, 1, 1]}, {"input_ids": [2], "attention_mask": [1]}],
        {"input_ids": []},
        {"ids": [1]},
        {"input_ids": np.array([[2, 3], [4, 5]])},
        {"input_ids": torch.tensor([[2, 3], [4, 5]])},
        [{"input_ids": torch.tensor([2, 3])}, {"input_ids": torch.tensor([2])}],
        [{"input_ids": np.array([2, 3])}, {"input_ids": np.array([2])}],
        [{"input_ids": [2, 3], "token_type_ids": [0, 0]}, {"input_ids": [2], "token_type_ids": [0]}],
        [{"input_ids": [2, 3], "x": "text"}, {"input_ids": [2], "x": "more"}],
        [{"input_ids": []}, {"input_ids": [2]}],
        [{"input_ids": ["a"]}],
        {"input_ids": None},
        [],
    ]
    steps: list[Step] = []
    for value in inputs:
        for kwargs in [
            {},
            {"padding": "max_length", "max_length": 6},
            {"padding": "max_length"},
            {"padding": False},
            {"padding": True, "pad_to_multiple_of": 4, "return_tensors": "pt"},
            {"return_tensors": "np", "padding_side": "left", "return_attention_mask": False},
            {"return_tensors": "pt", "max_length": 5},
            {"padding_side": "up"},
            {"return_attention_mask": True, "return_tensors": "pt", "verbose": False},
        ]:
            steps.append(method("pad", value, **kwargs))

    def collate(tokenizer: Any) -> Any:
        batch = [tokenizer(text, truncation=True, return_special_tokens_mask=True) for text in TEXTS]
        return transformers.DataCollatorWithPadding(tokenizer)(batch)

    def collate_tokens(tokenizer: Any) -> Any:
        batch = [{**tokenizer(text), "labels": [1] * len(tokenizer(text)["input_ids"])} for text in TEXTS[:4]]
        return transformers.DataCollatorForTokenClassification(tokenizer)(batch)

    def collate_for_masking(tokenizer: Any) -> Any:
        torch.manual_seed(1)
        batch = [tokenizer(text) for text in TEXTS[:4]]
        return transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.5)(batch)

    steps += [collate, collate_tokens, collate_for_masking]
    check(*make(), steps)


def test_attributes_set_before_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_to(name: str, value: Any) -> Step:
        return lambda tokenizer: setattr(tokenizer, name, value)

    call = method("__call__", TEXTS[:4], padding=True, truncation=True, max_length=9, return_tensors="pt")
    values = [
        *(("padding_side", side) for side in ("left", "left", "right", "right")),
        *(("truncation_side", side) for side in ("left", "left", "right")),
        *(("model_input_names", names) for names in (["input_ids"], ["input_ids"], ["input_ids", "attention_mask"])),
        *(("split_special_tokens", value) for value in (True, 1, True, False, 0)),
        *(("pad_token", token) for token in ("[SEP]", "[SEP]", "[PAD]")),
    ]
    reference, ours = make()
    check(reference, ours, [step for name, value in values for step in (set_to(name, value), call, call)])

    def refuse(self: Any) -> None:
        raise AssertionError("the slow way")

    monkeypatch.setattr(CallBackend, "publish", refuse)
    ours.padding_side = "right"
    assert plain(call(ours)) == plain(call(reference))
    ours.padding_side = "left"
    with pytest.raises(AssertionError, match="the slow way"):
        call(ours)


def test_padding_with_what_is_no_id() -> None:
    """It is asked for only where something has to be filled up."""

    def no_padding_token(tokenizer: Any) -> Any:
        tokenizer.unk_token, tokenizer.pad_token = None, "<none>"
        return tokenizer.pad_token_id

    def type_id(value: Any) -> Step:
        return lambda tokenizer: setattr(tokenizer, "_pad_token_type_id", value)

    pads = [
        method("pad", {"input_ids": ids, "token_type_ids": [[1] * len(row) for row in ids]}, **kwargs)
        for ids in ([[2, 3], [4, 5]], [[2, 3], [4]])
        for kwargs in ({"return_tensors": "pt"}, {"return_tensors": "np", "padding": False}, {"padding": False}, {})
    ]
    calls = [method("__call__", texts, padding=True, return_tensors="pt") for texts in (TEXTS[:2], TEXTS[:1])]
    check(*make(), [*pads, no_padding_token, *pads, *calls, *calls])
    check(*make(), [step for value in (None, 1 << 63, -1, 1.5) for step in (type_id(value), *pads, *calls, *calls)])


CHAT = (
    "{% for m in messages %}[{{ m['role'] }}]{% if m['role'] == 'assistant' %}{% generation %}{{ m['content'] }}[SEP]"
    "{% endgeneration %}{% else %}{{ m['content'] }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}{% if tools %}{{ tools | length }}{% endif %}"
)


def test_chats() -> None:
    chat = [{"role": "user", "content": "hello world [SEP]"}, {"role": "assistant", "content": "the quick brown fox"}]
    longer = [*chat, {"role": "user", "content": "café?"}, {"role": "assistant", "content": None}]

    def tool(x: int) -> int:
        """Doubles.

        Args:
            x: a number
        """
        return 2 * x

    steps: list[Step] = [
        method("apply_chat_template", c, **kwargs)
        for c in (chat, [chat, longer], [], [{"role": "user", "content": "a"}])
        for kwargs in [
            {},
            {"tokenize": False},
            {"return_dict": False},
            {"add_generation_prompt": True},
            {"return_tensors": "pt", "padding": True},
            {"return_tensors": "np"},
            {"return_assistant_tokens_mask": True},
            {"return_assistant_tokens_mask": True, "return_tensors": "pt", "padding": True},
            {"continue_final_message": True},
            {"continue_final_message": True, "add_generation_prompt": True},
            {"truncation": True, "max_length": 5},
            {"tokenizer_kwargs": {"return_offsets_mapping": True}},
            {"sanitize_control_tokens": True},
            {"sanitize_control_tokens": True, "padding": True, "return_tensors": "pt"},
            {"tools": [tool]},
            {"documents": [{"title": "a", "text": "b"}]},
        ]
    ]
    steps.append(method("encode_message_with_chat_template", chat[1], conversation_history=chat[:1]))
    steps.append(method("get_chat_template"))
    check(*make(chat_template=CHAT), steps)
    check(*make(), steps[:5])


def files_of(folder: pathlib.Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.rglob("*.json"))}


@pytest.mark.parametrize("name", ["made", "all-MiniLM-L6-v2"])
def test_saving_and_loading(name: str, tmp_path: pathlib.Path) -> None:
    if name == "made":
        reference, ours = make(chat_template="{{ messages }}", **{MORE_SPECIAL_TOKENS: ["<x>"]})
    else:
        folder = real_folder(name)
        if folder is None:
            pytest.skip("needs the real tokenizers")
        reference = transformers.AutoTokenizer.from_pretrained(folder)
        ours = hftok.hf.AutoTokenizer.from_pretrained(folder)
    for tokenizer, where in (reference, "a"), (ours, "b"):
        tokenizer.add_tokens(["<new>"])
        tokenizer(["a", "b c"], padding=True, truncation=True, max_length=9)
        tokenizer.save_pretrained(tmp_path / where)
    assert files_of(tmp_path / "a") == files_of(tmp_path / "b")
    assert [p.name for p in sorted((tmp_path / "a").iterdir())] == [p.name for p in sorted((tmp_path / "b").iterdir())]
    again = [
        transformers.AutoTokenizer.from_pretrained(tmp_path / "a"),
        hftok.hf.AutoTokenizer.from_pretrained(tmp_path / "b"),
    ]
    steps = [*look(), *(method("__call__", text, return_offsets_mapping=True) for text in TEXTS)]
    steps = [step for step in steps if step is not repr]
    for tokenizer in again:
        tokenizer.name_or_path = tokenizer.init_kwargs["name_or_path"] = "same"
        for key in ("vocab_file", "tokenizer_file"):
            tokenizer.init_kwargs.pop(key, None)
    check(again[0], again[1], steps)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda tokenizer: pickle.loads(pickle.dumps(tokenizer))])
def test_copies(copied: Callable[[Any], Any]) -> None:
    pairs = make()
    reference, ours = (copied(tokenizer) for tokenizer in pairs)
    assert type(ours) is type(pairs[1])
    check(reference, ours, [*look(), method("__call__", TEXTS, padding=True), method("add_tokens", ["<n>"]), len])
    # What is done to a copy is seen by the original exactly where it is with transformers.
    assert len(pairs[0]) == len(pairs[1])


def test_batch_encoding_methods() -> None:
    def ask(tokenizer: Any) -> Any:
        batch = tokenizer([TEXTS[3], TEXTS[4]], [TEXTS[9], TEXTS[0]], truncation=True, max_length=20, padding=True)
        answers: list[Any] = [batch.n_sequences, batch.is_fast, len(batch), list(batch), batch["input_ids"]]
        for i in range(2):
            answers += [batch.tokens(i), batch.word_ids(i), batch.sequence_ids(i), batch[i].ids, batch[i].offsets]
            for token in range(20):
                answers += [batch.token_to_word(i, token), batch.token_to_sequence(i, token)]
                answers.append(batch.token_to_chars(i, token))
            for char in range(12):
                answers += [batch.char_to_token(i, char), batch.char_to_word(i, char), batch.char_to_token(i, char, 1)]
            for word in range(3):
                answers += [batch.word_to_tokens(i, word), batch.word_to_chars(i, word)]
        answers += [pickle.loads(pickle.dumps(batch)), copy.copy(batch), copy.deepcopy(batch), batch[:1], batch[-1].ids]
        answers += [type(batch) is transformers.BatchEncoding, type(batch.encodings)]
        return answers

    def moved(tokenizer: Any) -> Any:
        return tokenizer("hello world", return_tensors="pt").to("cpu")

    def converted(tokenizer: Any) -> Any:
        return tokenizer(["hello world", "a b"]).convert_to_tensors("np")

    def missing(tokenizer: Any) -> Any:
        return tokenizer("hello").no_such_key

    def of_one(tokenizer: Any) -> Any:
        batch = tokenizer("hello worlds")
        made = transformers.BatchEncoding(batch.data, batch[0], tensor_type="np", prepend_batch_axis=True)
        return made, made.tokens(), made.n_sequences, made.word_ids(0)

    check(*make(), [ask, ask, moved, moved, converted, converted, missing, missing, of_one])


def test_batch_encodings_of_transformers_are_as_before() -> None:
    made = transformers.BatchEncoding({"input_ids": [1]})
    assert made.encodings is None
    assert not made.is_fast
    del made.__dict__["_encodings"]
    with pytest.raises(AttributeError):
        made._encodings  # noqa: B018
    assert plain(made.data) == plain({"input_ids": [1]})
