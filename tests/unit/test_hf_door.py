"""hftok.hf: making, sharing and copying accelerated tokenizers, threads, processes, and what is not accelerated."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import json
import multiprocessing
import os
import pathlib
import pickle
import threading
import warnings
from typing import Any

import pytest
import tokenizers
import transformers

import hftok
import hftok.hf
from hftok import AddedToken, Tokenizer, UnsupportedTokenizerError, processors
from hftok._core import hf_calls
from hftok.arguments import is_foreign
from hftok.hf.library import CONVERT, EVERY_WINDOW, TokenizersBackend

VOCAB = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "hello",
    "world",
    "##s",
    "a",
    "b",
    "c",
    "d",
    "e",
    "!",
    "##a",
    "##b",
]
SPECIALS = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A BERT tokenizer as transformers saves it."""
    (tmp_path / "vocab.txt").write_text("\n".join(VOCAB) + "\n")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    return tmp_path


def of_vocabulary(cls: Any, folder: pathlib.Path) -> Any:
    """A BERT tokenizer made by its constructor; that of 4.57 takes files only."""
    if CONVERT is None:
        return cls(vocab_file=str(folder / "vocab.txt"))
    return cls(vocab={t: i for i, t in enumerate(VOCAB)})


@pytest.fixture
def tokenizer(folder: pathlib.Path) -> Any:
    return hftok.hf.AutoTokenizer.from_pretrained(folder)


def own() -> Tokenizer:
    made = Tokenizer(hftok.models.WordPiece({t: i for i, t in enumerate(VOCAB)}, unk_token="[UNK]"))
    made.normalizer = hftok.normalizers.BertNormalizer()
    made.pre_tokenizer = hftok.pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return made


# ---- classes ---------------------------------------------------------------------------------------------------------


def test_class_is_a_subclass_of_the_one_it_replaces(tokenizer: Any) -> None:
    assert tokenizer.is_accelerated
    assert isinstance(tokenizer, transformers.BertTokenizerFast)
    assert isinstance(tokenizer, transformers.PreTrainedTokenizerBase)
    assert type(tokenizer) is hftok.hf.BertTokenizerFast
    assert type(tokenizer).__name__ == transformers.BertTokenizerFast.__name__
    assert isinstance(tokenizer._tokenizer, Tokenizer)
    assert tokenizer.backend_tokenizer is tokenizer._tokenizer
    assert inspect.signature(type(tokenizer)) == inspect.signature(transformers.BertTokenizerFast)
    assert inspect.signature(tokenizer.__call__).parameters.keys() == inspect.signature(
        transformers.BertTokenizerFast.__call__
    ).parameters.keys() - {"self"}


def test_every_tokenizer_class_of_transformers_is_here() -> None:
    names = [name for name in dir(transformers) if "Tokenizer" in name]
    assert len(names) > 50
    found = 0
    for name in names:
        theirs = getattr(transformers, name)
        if not isinstance(theirs, type) or not issubclass(theirs, transformers.PreTrainedTokenizerBase):
            continue
        ours = getattr(hftok.hf, name)
        assert issubclass(ours, theirs)
        if issubclass(theirs, TokenizersBackend):
            assert ours is not theirs
            assert ours.is_accelerated
            found += 1
        else:
            assert ours is theirs
    assert found > 30
    assert hftok.hf.PreTrainedTokenizerFast is getattr(hftok.hf, TokenizersBackend.__name__)
    with pytest.raises(AttributeError, match="no such tokenizer class"):
        hftok.hf.NoSuchTokenizer  # noqa: B018
    with pytest.raises(AttributeError, match="import it from transformers"):
        hftok.hf.BertModel  # noqa: B018
    for name in ("AddedToken", "BatchEncoding", "CharSpan", "TensorType", "TokenSpan"):
        assert name in dir(hftok.hf)
        assert getattr(hftok.hf, name) is getattr(transformers, name)


def test_constructor_with_a_vocabulary(folder: pathlib.Path) -> None:
    ours = of_vocabulary(hftok.hf.BertTokenizerFast, folder)
    theirs = of_vocabulary(transformers.BertTokenizerFast, folder)
    assert ours.is_accelerated
    assert dict(ours("hello worlds")) == dict(theirs("hello worlds"))
    assert ours.backend_tokenizer.to_str() == theirs.backend_tokenizer.to_str()


def test_subclass_of_ours_keeps_its_own_methods(folder: pathlib.Path) -> None:
    class Louder(hftok.hf.BertTokenizerFast):  # type: ignore[misc]
        def _encode_plus(self, text: Any, *args: Any, **kwargs: Any) -> Any:
            return super()._encode_plus(text + "!", *args, **kwargs)

    louder = of_vocabulary(Louder, folder)
    for _ in range(3):
        assert louder("hello")["input_ids"] == [2, 5, 13, 3]
        assert louder.encode("hello") == [2, 5, 13, 3]
    again = copy.deepcopy(louder)
    assert type(again) is Louder
    assert again("hello")["input_ids"] == [2, 5, 13, 3]


def test_methods_below_ours_may_be_overridden(folder: pathlib.Path) -> None:
    def changed(base: Any) -> Any:
        class Changed(base):  # type: ignore[misc]
            def _decode(self, *args: Any, **kwargs: Any) -> Any:
                return super()._decode(*args, **kwargs).upper()

            def _pad(self, *args: Any, **kwargs: Any) -> Any:
                return {**super()._pad(*args, **kwargs), "length": [1]}

            def _convert_token_to_id_with_added_voc(self, token: str) -> int:
                return 7

            @property
            def added_tokens_decoder(self) -> Any:
                return {3: hftok.AddedToken("three")}

        return Changed

    def ask(tokenizer: Any) -> list[Any]:
        return [
            tokenizer.decode([5, 6]),
            tokenizer.batch_decode([[5], [6]]),
            dict(tokenizer.pad({"input_ids": [[5], [5, 6]]}, return_tensors="np")).keys(),
            tokenizer.convert_tokens_to_ids(["hello", "world"]),
            tokenizer.added_tokens_encoder,
            tokenizer.get_added_vocab(),
        ]

    theirs = ask(of_vocabulary(changed(transformers.BertTokenizerFast), folder))
    assert theirs[0] == "HELLO WORLD"
    assert ask(of_vocabulary(changed(hftok.hf.BertTokenizerFast), folder)) == theirs
    with hftok.hf.patched():
        assert ask(of_vocabulary(changed(transformers.BertTokenizerFast), folder)) == theirs


def test_code_of_a_class_is_saved_with_its_tokenizer(
    folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenization_of_mine.py").write_text(
        "import transformers\n\nclass MyTokenizerFast(transformers.BertTokenizerFast):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    written = importlib.import_module("tokenization_of_mine")
    written.MyTokenizerFast.register_for_auto_class()
    saved = []
    for accelerated in False, True:
        with hftok.hf.patched() if accelerated else contextlib.nullcontext():
            made = of_vocabulary(written.MyTokenizerFast, folder)
        assert hasattr(made, "is_accelerated") == accelerated
        assert type(made).__module__ == "tokenization_of_mine"
        assert type(pickle.loads(pickle.dumps(made))) is type(made)
        made.save_pretrained(tmp_path / str(accelerated))
        config = json.loads((tmp_path / str(accelerated) / "tokenizer_config.json").read_text())
        saved.append((config, sorted(os.listdir(tmp_path / str(accelerated)))))
    assert saved[0] == saved[1]
    assert "tokenization_of_mine.py" in saved[0][1]
    assert "tokenization_of_mine.MyTokenizerFast" in saved[0][0]["auto_map"]["AutoTokenizer"]


def test_method_set_on_an_object_is_used(tokenizer: Any) -> None:
    assert tokenizer("hello", padding="max_length", max_length=5)["input_ids"] == [2, 5, 3, 0, 0]
    assert tokenizer("hello", padding="max_length", max_length=5)["input_ids"] == [2, 5, 3, 0, 0]
    tokenizer.set_truncation_and_padding = lambda **kwargs: None
    for _ in range(2):
        assert tokenizer("hello")["input_ids"] == [2, 5, 3, 0, 0]
        assert tokenizer("hello", padding="max_length", max_length=9)["input_ids"] == [2, 5, 3, 0, 0]


def test_call_that_is_replaced_on_the_class(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter calls our objects without a look at the class, as long as the class's `__call__` is ours."""

    class Counting(hftok.hf.BertTokenizerFast):
        calls = 0

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            Counting.calls += 1
            return super().__call__(*args, **kwargs)

    class Plain(hftok.hf.BertTokenizerFast):
        pass

    tokenizer = of_vocabulary(hftok.hf.BertTokenizerFast, folder)
    expected = tokenizer("hello world")
    assert tokenizer("hello world") == tokenizer.__call__("hello world") == expected
    assert of_vocabulary(Plain, folder)("hello world") == of_vocabulary(Counting, folder)("hello world") == expected
    assert Counting.calls == 1
    with monkeypatch.context() as patched:
        patched.setattr(hftok.hf.BertTokenizerFast, "__call__", lambda self, text: text.upper())
        assert tokenizer("hello") == of_vocabulary(Plain, folder)("hello") == "HELLO"
    assert tokenizer("hello world") == expected
    with pytest.raises(TypeError, match="no class with this"):
        hf_calls.call_directly(Counting)
    with pytest.raises(TypeError, match="no class with this"):
        hf_calls.call_directly(tokenizer)


# ---- wrap, accelerate, patch -----------------------------------------------------------------------------------------


def test_wrapped_tokenizer_is_shared() -> None:
    backend = own()
    wrapped = backend.as_hf(**SPECIALS)
    assert wrapped._tokenizer is backend
    assert wrapped("hello")["input_ids"] == [2, 5, 3]
    backend.add_tokens(["hello world"])
    assert wrapped("hello world")["input_ids"] == [2, 16, 3]
    wrapped.add_tokens(["<x>"])
    assert backend.encode("<x>").ids == [2, 17, 3]
    backend.enable_truncation(3)
    backend.enable_padding(length=4)
    assert backend.encode("a b").ids == [2, 8, 3, 0]
    assert wrapped("a b")["input_ids"] == [2, 8, 9, 3]  # a call has its own settings ...
    assert backend.encode("a b").ids == [2, 8, 9, 3]  # ... and leaves them, as transformers does
    wrapped("a", padding="max_length", max_length=5)
    assert backend.padding is not None
    assert backend.padding["length"] == 5
    wrapped.backend_tokenizer.post_processor = None
    assert backend.encode("a", add_special_tokens=True).ids == [8, 0, 0, 0, 0]
    assert wrapped("a")["input_ids"] == [8]


def test_given_tokenizer_is_copied() -> None:
    backend = own()
    made = hftok.hf.PreTrainedTokenizerFast(tokenizer_object=backend, **SPECIALS)
    assert made._tokenizer is not backend
    made.add_tokens(["<x>"])
    assert backend.token_to_id("<x>") is None
    reference = tokenizers.Tokenizer.from_str(backend.to_str())
    made = hftok.hf.PreTrainedTokenizerFast(tokenizer_object=reference, **SPECIALS)
    assert made.is_accelerated
    assert made("hello")["input_ids"] == [2, 5, 3]


def test_wrapping_other_things(folder: pathlib.Path) -> None:
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    wrapped = hftok.hf.wrap(theirs)
    assert type(wrapped) is hftok.hf.BertTokenizerFast
    assert dict(wrapped("hello")) == dict(theirs("hello"))
    wrapped.add_tokens(["<x>"])
    assert len(theirs) == len(wrapped) - 1
    assert hftok.hf.wrap(theirs._tokenizer, **SPECIALS)("hello")["input_ids"] == [2, 5, 3]
    with pytest.raises(TypeError, match="no tokenizer"):
        hftok.hf.wrap(3)


def test_accelerating_in_place(folder: pathlib.Path) -> None:
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    theirs.note = "kept"
    expected = dict(theirs(["hello", "a b"], padding=True))
    assert hftok.hf.accelerate(theirs) is theirs
    assert theirs.is_accelerated
    assert theirs.note == "kept"
    assert dict(theirs(["hello", "a b"], padding=True)) == expected
    assert hftok.hf.accelerate(theirs) is theirs
    with pytest.raises(TypeError):
        hftok.hf.accelerate("x")


def custom(folder: pathlib.Path) -> Any:
    """A tokenizer with a component made of Python code, which has no written form."""

    class Splitter:
        def pre_tokenize(self, text: Any) -> None:
            text.split(lambda i, part: [part])

    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    theirs._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Splitter())
    return theirs


def test_refused_tokenizers(folder: pathlib.Path) -> None:
    theirs = custom(folder)
    for refuse in (hftok.hf.accelerate, hftok.hf.wrap):
        with pytest.raises((UnsupportedTokenizerError, Exception), match="Custom PreTokenizer cannot be serialized"):
            refuse(theirs)
    assert type(theirs) is transformers.BertTokenizerFast
    assert theirs("hello")["input_ids"] == [2, 5, 3]
    with pytest.raises(UnsupportedTokenizerError):
        hftok.hf.wrap(theirs._tokenizer)


def test_refused_tokenizer_comes_as_transformers_makes_it(
    folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any) -> Any:
        raise UnsupportedTokenizerError("not this one", "Something")

    monkeypatch.setattr(Tokenizer, "_ready", refuse)
    with pytest.warns(
        UserWarning, match="BertTokenizer(Fast)? is not accelerated by hftok: Something: not this one"
    ) as seen:
        made = hftok.hf.AutoTokenizer.from_pretrained(folder)
    assert len(seen) == 1
    assert type(made) is transformers.BertTokenizerFast
    assert made.is_accelerated is False
    assert made("hello")["input_ids"] == [2, 5, 3]
    with pytest.raises(UnsupportedTokenizerError):
        own().as_hf()


def test_tokenizers_without_a_backend(tmp_path: pathlib.Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.warns(UserWarning, match="ByT5Tokenizer is not accelerated by hftok") as seen:
        made = hftok.hf.AutoTokenizer.from_pretrained(tmp_path)
    assert len(seen) == 1
    assert made.is_accelerated is False
    assert made("ab")["input_ids"] == [100, 101, 1]
    with pytest.raises(TypeError, match="written in Python"):
        hftok.hf.accelerate(made)
    assert hftok.hf.ByT5Tokenizer is transformers.ByT5Tokenizer


def test_patching(folder: pathlib.Path) -> None:
    from transformers import AutoTokenizer, BertTokenizerFast

    before = AutoTokenizer.from_pretrained(folder)
    assert not hasattr(before, "is_accelerated")
    with hftok.hf.patched():
        for made in (
            AutoTokenizer.from_pretrained(folder),
            BertTokenizerFast.from_pretrained(folder),
            of_vocabulary(BertTokenizerFast, folder),
        ):
            assert made.is_accelerated
            assert dict(made("hello worlds")) == dict(before("hello worlds"))
        assert type(pickle.loads(pickle.dumps(before))) is BertTokenizerFast
        assert type(copy.copy(before)) is BertTokenizerFast
    assert not hasattr(AutoTokenizer.from_pretrained(folder), "is_accelerated")
    hftok.hf.patch()
    try:
        assert AutoTokenizer.from_pretrained(folder).is_accelerated
    finally:
        hftok.hf.unpatch()
    assert type(AutoTokenizer.from_pretrained(folder)) is BertTokenizerFast


def test_streams_of_the_reference_step_on_accelerated_tokenizers(folder: pathlib.Path) -> None:
    theirs = tokenizers.decoders.DecodeStream
    plain = transformers.AutoTokenizer.from_pretrained(folder)
    with hftok.hf.patched():
        from tokenizers.decoders import DecodeStream

        accelerated = transformers.AutoTokenizer.from_pretrained(folder)
        assert accelerated.is_accelerated
        for tokenizer in plain, accelerated:
            stream = DecodeStream(skip_special_tokens=True)
            assert [stream.step(tokenizer._tokenizer, id_) for id_ in (2, 5, 6, 7, 3)] == [
                None,
                "hello",
                " world",
                "s",
                None,
            ]
    assert tokenizers.decoders.DecodeStream is theirs
    hftok.hf.patch()
    with hftok.hf.patched():
        pass
    assert tokenizers.decoders.DecodeStream is hftok.decoders.DecodeStream
    hftok.hf.unpatch()
    assert tokenizers.decoders.DecodeStream is theirs


def test_loading_does_not_accelerate_what_other_threads_load(folder: pathlib.Path) -> None:
    from hftok.hf.patching import accelerating

    made: list[Any] = []
    with accelerating():
        thread = threading.Thread(target=lambda: made.append(transformers.AutoTokenizer.from_pretrained(folder)))
        thread.start()
        thread.join()
    assert type(made[0]) is transformers.BertTokenizerFast


# ---- state -----------------------------------------------------------------------------------------------------------


def test_changes_are_seen_by_the_next_call(tokenizer: Any) -> None:
    def ids(**kwargs: Any) -> Any:
        return [tokenizer("hello <n> a", **kwargs)["input_ids"] for _ in range(2)][-1]

    assert ids() == [2, 5, 1, 1, 1, 8, 3]
    tokenizer.add_tokens([AddedToken("<n>")])
    assert ids() == [2, 5, 16, 8, 3]
    tokenizer.backend_tokenizer.normalizer.lowercase = False
    assert ids() == [2, 5, 16, 8, 3]
    tokenizer.backend_tokenizer.normalizer = None
    assert ids() == [2, 5, 16, 8, 3]
    tokenizer.backend_tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A [SEP]", pair="$A $B", special_tokens=[("[SEP]", 3)]
    )
    assert ids() == [5, 16, 8, 3]
    tokenizer.padding_side = "left"
    assert ids(padding="max_length", max_length=6) == [0, 0, 5, 16, 8, 3]
    tokenizer.pad_token = "[MASK]"
    assert ids(padding="max_length", max_length=6) == [4, 4, 5, 16, 8, 3]
    tokenizer.model_max_length = 3
    assert ids(truncation=True) == [5, 16, 3]
    assert "attention_mask" in tokenizer("a")
    tokenizer.model_input_names = list(tokenizer.model_input_names)  # not the class's, which 4.57 hands out
    assert "attention_mask" in tokenizer("hello")
    tokenizer.model_input_names.remove("attention_mask")
    assert "attention_mask" not in tokenizer("a")


def test_true_is_not_one(tokenizer: Any) -> None:
    for _ in range(2):
        assert tokenizer(["hello", "a b"], padding=True)["input_ids"][0] == [2, 5, 3, 0]
    with pytest.raises(ValueError, match="1 is not a valid PaddingStrategy"):
        tokenizer(["hello", "a b"], padding=1)
    for _ in range(2):
        assert tokenizer("hello a b", max_length=4, truncation=True)["input_ids"] == [2, 5, 8, 3]
    with pytest.raises(TypeError):
        tokenizer("hello a b", max_length=5.0, truncation=True)


def test_calls_that_repeat_their_arguments(tokenizer: Any) -> None:
    """The same objects as before are known without a look at what they are; equal ones and texts among them are not."""
    reference = transformers.BertTokenizerFast.from_pretrained(tokenizer.name_or_path)
    texts = ["hello worlds", "a b c d e"]
    forms: list[dict[str, Any]] = [
        {"padding": True, "truncation": True, "max_length": 5},
        {"padding": True, "truncation": True, "max_length": int("5") + 0},
        {"truncation": True, "padding": True, "max_length": 4},
        {"padding": "max_length", "truncation": True, "max_length": 6},
        {"padding": True, "max_length": None},
        {"padding": True, "text_pair": None},
        {},
    ]
    for _ in range(3):
        for form in forms:
            assert tokenizer(texts, **form) == reference(texts, **form)
            assert tokenizer(text=texts, **form) == reference(text=texts, **form)
            if "text_pair" not in form:
                assert tokenizer(texts, texts[::-1], **form) == reference(texts, texts[::-1], **form)
                assert tokenizer(texts, text_pair=texts, **form) == reference(texts, text_pair=texts, **form)
    for change in (
        lambda t: t.add_tokens(["world"]),
        lambda t: setattr(t, "padding_side", "left"),
        lambda t: setattr(t, "model_input_names", ["input_ids"]),
    ):
        change(tokenizer)
        change(reference)
        for form in forms:
            assert tokenizer(texts, **form) == reference(texts, **form)


def test_too_long_a_text_is_warned_about_once(
    tokenizer: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer.model_max_length = 4
    logger = transformers.logging.get_logger("transformers")
    # transformers lets its records rise to the root logger, where caplog listens too, when the environment says CI.
    monkeypatch.setattr(logger, "propagate", False)
    logger.addHandler(caplog.handler)
    try:
        for text in ["hello", "a b c d", "a b c d e"]:
            tokenizer(text)
            tokenizer(text)
    finally:
        logger.removeHandler(caplog.handler)
    assert [r.getMessage() for r in caplog.records if "longer than" in r.getMessage()] == [
        "Token indices sequence length is longer than the specified maximum sequence length for this model (6 > 4). "
        "Running this sequence through the model will result in indexing errors"
    ]


def test_every_window_of_a_long_text(tokenizer: Any) -> None:
    text = "a b c d " * 6
    settings: dict[str, Any] = {
        "max_length": 6,
        "truncation": True,
        "return_overflowing_tokens": True,
        "return_offsets_mapping": True,
    }
    for _ in range(2):
        # transformers 5.23 stops reading at max_length, 4.57 does not.
        assert len(tokenizer(text, **settings)["input_ids"]) == (6 if EVERY_WINDOW else 2)
        every = tokenizer(text, full_overflow=True, **settings)
        assert len(every["input_ids"]) == 6
        assert every["overflow_to_sample_mapping"] == [0] * 6
        assert [i for row in every["input_ids"] for i in row[1:-1]] == [8, 9, 10, 11] * 6
        assert len(every.encodings) == 6
    tokenizer.full_overflow = True
    assert len(tokenizer(text, **settings)["input_ids"]) == 6
    assert len(tokenizer(text, **settings)["input_ids"]) == 6


def test_encodings_are_made_of_the_texts_as_they_were(tokenizer: Any) -> None:
    texts = ["hello world", "a b"]
    batch = tokenizer(texts)
    batch = tokenizer(texts)
    texts[0] = "c"
    tokenizer.add_tokens(["hello"])
    assert batch.tokens(0) == ["[CLS]", "hello", "world", "[SEP]"]
    assert batch.encodings is batch.encodings
    assert batch.word_ids(1) == [None, 0, 1, None]


def test_pickles_do_not_change_with_use(tokenizer: Any) -> None:
    before = pickle.dumps(tokenizer)
    tokenizer("hello")
    tokenizer(["hello", "a"], padding=True, truncation=True, max_length=7, return_tensors="np")
    tokenizer.encode("a", split_special_tokens=True)
    tokenizer.backend_tokenizer.encode("a")
    assert pickle.dumps(tokenizer) == before
    tokenizer.backend_tokenizer.enable_truncation(9)
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.backend_tokenizer.truncation["max_length"] == 9
    assert again.is_accelerated
    assert type(again) is type(tokenizer)
    assert dict(again("hello")) == dict(tokenizer("hello"))


def test_copies_have_the_settings_of_the_last_call(folder: pathlib.Path) -> None:
    def shown(tokenizer: Any) -> list[Any]:
        seen = []
        tokenizer.backend_tokenizer.enable_truncation(12)
        for kwargs in {}, {"truncation": True, "max_length": 7}, {"padding": "max_length", "max_length": 5}, {}:
            tokenizer("hello", **kwargs)
            for copied in copy.deepcopy(tokenizer), copy.copy(tokenizer):
                backend = copied.backend_tokenizer
                seen += [backend.truncation, backend.padding, backend.encode("hello world a").ids]
            seen += [copy.copy(tokenizer._tokenizer).truncation, copy.deepcopy(tokenizer._tokenizer).padding]
        return seen

    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = hftok.hf.AutoTokenizer.from_pretrained(folder)
    assert shown(ours) == shown(theirs)
    assert pickle.dumps(copy.deepcopy(ours)) == pickle.dumps(ours)


def test_copies_are_independent(tokenizer: Any) -> None:
    tokenizer("hello", padding="max_length", max_length=5)
    shallow, deep = copy.copy(tokenizer), copy.deepcopy(tokenizer)
    assert shallow._tokenizer is tokenizer._tokenizer
    assert deep._tokenizer is not tokenizer._tokenizer
    deep.padding_side = shallow.padding_side = "left"
    assert tokenizer("hello", padding="max_length", max_length=5)["input_ids"] == [2, 5, 3, 0, 0]
    assert shallow("hello", padding="max_length", max_length=5)["input_ids"] == [0, 0, 2, 5, 3]
    deep.add_tokens(["<n>"])
    assert len(deep) == len(tokenizer) + 1


# ---- threads and processes -------------------------------------------------------------------------------------------


def test_threads_with_mixed_settings(tokenizer: Any) -> None:
    texts = [f"hello world a {'b ' * (i % 5)}" for i in range(8)]
    calls: list[dict[str, Any]] = [
        {},
        {"truncation": True, "max_length": 5},
        {"padding": "max_length", "max_length": 20},
        {"padding": True, "split_special_tokens": True},
        {"truncation": True, "max_length": 5, "stride": 1, "return_overflowing_tokens": True},
        {"padding": True, "padding_side": "left", "text_target": texts},
        {"truncation": True, "max_length": 4, "return_offsets_mapping": True},
    ]
    expected = [dict(tokenizer(texts, **call)) for call in calls]
    problems: list[Any] = []

    def work(first: int) -> None:
        try:
            for i in range(150):
                k = (first + i) % len(calls)
                found = dict(tokenizer(texts, **calls[k]))
                if found != expected[k]:
                    problems.append((k, found))
                if i % 50 == first:
                    tokenizer.note = i  # forgets all plans
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fork_while_another_thread_holds_the_lock(tokenizer: Any) -> None:
    texts = ["hello world"] * 50
    expected = tokenizer(texts, padding=True)["input_ids"]
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with tokenizer._tokenizer._lock:
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        same = tokenizer(texts, padding=True, truncation=True, max_length=9)["input_ids"] == expected
        os._exit(0 if same else 1)
    _, status = os.waitpid(pid, 0)
    done.set()
    thread.join()
    assert status == 0


def _ids(tokenizer: Any, text: str) -> Any:
    return tokenizer.is_accelerated, tokenizer(text)["input_ids"]


def test_spawned_processes(tokenizer: Any) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.starmap(_ids, [(tokenizer, "hello"), (tokenizer, "a b")]) == [
            (True, [2, 5, 3]),
            (True, [2, 8, 9, 3]),
        ]


# ---- components and tokens of the reference --------------------------------------------------------------------------


def test_components_of_the_reference_are_taken() -> None:
    backend = own()
    reference = tokenizers.Tokenizer.from_str(backend.to_str())
    for target in backend, reference:
        target.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
        target.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
        target.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
        target.decoder = tokenizers.decoders.WordPiece(prefix="##", cleanup=False)
        target.model = tokenizers.models.WordPiece({t: i for i, t in enumerate(VOCAB)}, unk_token="[UNK]")
        target.add_tokens([tokenizers.AddedToken("<t>", lstrip=True)])
        target.add_special_tokens([tokenizers.AddedToken("<s>", normalized=True), "<u>"])
    assert backend.to_str() == reference.to_str()
    assert isinstance(backend.normalizer, hftok.normalizers.BertNormalizer)
    assert backend.encode("Hello <t><s>").ids == reference.encode("Hello <t><s>").ids
    with pytest.raises(TypeError):
        backend.normalizer = tokenizers.decoders.WordPiece()  # type: ignore[assignment]
    with pytest.raises(TypeError):
        backend.pre_tokenizer = 3  # type: ignore[assignment]


# ---- backends that a class puts together -----------------------------------------------------------------------------


def test_classes_build_their_backend_of_our_components(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference's backend is not built first and read afterwards."""
    expected = transformers.AutoTokenizer.from_pretrained(folder)
    expected.save_pretrained(folder)  # with a tokenizer.json
    copied = []
    monkeypatch.setattr(
        "hftok.hf.backends.is_foreign", lambda value, kind: copied.append(value) or is_foreign(value, kind)
    )
    for load in (
        lambda: hftok.hf.AutoTokenizer.from_pretrained(folder),
        lambda: hftok.hf.BertTokenizerFast.from_pretrained(folder),
        lambda: (
            hftok.hf.BertTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
            if CONVERT is None
            else of_vocabulary(hftok.hf.BertTokenizerFast, folder)
        ),
    ):
        made = load()
        assert made.is_accelerated
        assert not [value for value in copied if is_foreign(value, "Tokenizer")]
        assert made.backend_tokenizer.to_str() == expected.backend_tokenizer.to_str()
    with hftok.hf.patched():
        assert transformers.AutoTokenizer.from_pretrained(folder).is_accelerated
    assert not [value for value in copied if is_foreign(value, "Tokenizer")]
    assert type(transformers.AutoTokenizer.from_pretrained(folder)) is transformers.BertTokenizerFast


# A number is taken for an open file's where a path is asked for (4.57), so it must be none that is open.
@pytest.mark.parametrize("vocab", [1 << 30, {"a": "b"}, [("a", 1)], "no/such/file"])
def test_wrong_vocabularies_are_refused_as_by_transformers(vocab: Any) -> None:
    name = "vocab_file" if CONVERT is None else "vocab"
    with pytest.raises(Exception) as theirs:
        transformers.BertTokenizerFast(**{name: vocab})
    with pytest.raises(type(theirs.value)) as ours:
        hftok.hf.BertTokenizerFast(**{name: vocab})
    assert str(ours.value) == str(theirs.value)
