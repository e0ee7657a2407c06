"""Calls with one short text, which go their own way through the core, against the reference; and their caches."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tokenizers

import hftok
from hftok._core.engine import cache_budget
from hftok.testing import FIELDS, encoding_fields

SHORT = 512  # characters

WORDS = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "a", "b", "bc", "##b", "##c", "##d", "é", "ж", "中", "😀", ",", "<x>"]
TEXTS = [
    "",
    " ",
    "a",
    "a bc, abcd <x> b",
    "é a\u00e9 b",
    "a ж bc",
    "中 a中b",
    "😀 a 😀b",
    "a[SEP]b [CLS]",
    "zzz a",
    "a\x00b",
    "e\u0301 a",
    "a " * (SHORT // 2 - 1) + "bc",
    "a " * (SHORT // 2) + "b",
    "abcd " * (SHORT // 5) + "b",
    "ж " * (SHORT // 2) + "a",
]


def bert(module: Any) -> Any:
    tokenizer = module.Tokenizer(module.models.WordPiece({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = module.normalizers.BertNormalizer(strip_accents=False)
    tokenizer.pre_tokenizer = module.pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
    tokenizer.add_tokens([module.AddedToken("<x>", normalized=True)])
    return tokenizer


def wrapped(module: Any) -> Any:
    tokenizer = bert(module)
    tokenizer.post_processor = module.processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return tokenizer


def two_types(module: Any) -> Any:
    tokenizer = bert(module)
    tokenizer.post_processor = module.processors.TemplateProcessing(
        single="[CLS]:3 $A:1 [SEP]:1", pair="$A $B:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def one_type(module: Any) -> Any:
    tokenizer = bert(module)
    tokenizer.post_processor = module.processors.TemplateProcessing(
        single="[CLS]:7 [SEP]:7 $A:7", pair="$A $B:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def twice(module: Any) -> Any:
    tokenizer = bert(module)
    tokenizer.post_processor = module.processors.TemplateProcessing(
        single="$A [SEP] $A", pair="$A $B:1", special_tokens=[("[SEP]", 2)]
    )
    return tokenizer


def trimmed(module: Any) -> Any:
    alphabet = sorted(module.pre_tokenizers.ByteLevel.alphabet())
    vocab = {c: i for i, c in enumerate(alphabet)} | {"\u0120a": 256, "bc": 257}
    tokenizer = module.Tokenizer(module.models.BPE(vocab, [("\u0120", "a"), ("b", "c")]))
    tokenizer.pre_tokenizer = module.pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = module.processors.ByteLevel(trim_offsets=True)
    return tokenizer


def untrimmed(module: Any) -> Any:
    tokenizer = trimmed(module)
    tokenizer.post_processor = module.processors.ByteLevel(trim_offsets=False)
    return tokenizer


def truncated(module: Any) -> Any:
    tokenizer = wrapped(module)
    tokenizer.enable_truncation(5, stride=1)
    return tokenizer


def padded(module: Any) -> Any:
    tokenizer = wrapped(module)
    tokenizer.enable_padding(length=8, direction="left", pad_id=3, pad_token="[PAD]")
    return tokenizer


SETUPS: list[Callable[[Any], Any]] = [
    bert, wrapped, two_types, one_type, twice, trimmed, untrimmed, truncated, padded,
]  # fmt: skip


def everything(encoding: Any) -> dict[str, Any]:
    return encoding_fields(encoding, (*FIELDS, "n_sequences"))


@pytest.mark.parametrize("setup", SETUPS, ids=lambda s: s.__name__)
@pytest.mark.parametrize("add_special_tokens", [True, False])
def test_same_as_the_reference(setup, add_special_tokens):
    ours, theirs = setup(hftok), setup(tokenizers)
    bare = setup(tokenizers)
    bare.no_truncation()
    bare.no_padding()
    for text in TEXTS * 2:
        found = ours.encode(text, add_special_tokens=add_special_tokens)
        assert everything(found) == everything(theirs.encode(text, add_special_tokens=add_special_tokens)), text
        ids = ours.encode_ids(text, add_special_tokens)
        assert ids.dtype == np.uint32
        assert ids.flags.owndata
        assert ids.flags.writeable
        assert ids.tolist() == bare.encode(text, add_special_tokens=add_special_tokens).ids, text


@pytest.mark.parametrize("setup", SETUPS, ids=lambda s: s.__name__)
def test_what_is_done_with_an_encoding(setup):
    for text in TEXTS[:12]:
        ours, theirs = setup(hftok).encode(text), setup(tokenizers).encode(text)
        assert everything(pickle.loads(pickle.dumps(ours))) == everything(theirs)
        for change in (
            lambda e: e.pad(9, pad_id=3),
            lambda e: e.truncate(2, stride=0) if len(e) > 2 else None,
            lambda e: e.set_sequence_id(1),
        ):
            change(ours)
            change(theirs)
            assert everything(ours) == everything(theirs), text
        assert ours.char_to_token(0) == theirs.char_to_token(0)
        assert ours.word_to_tokens(0) == theirs.word_to_tokens(0)


@pytest.mark.parametrize(
    "arguments",
    [
        (None,),
        (b"a",),
        (3,),
        ("a", None, True),
        ("a", None, 1),
        ("a", None, None),
        ("a", None, False, None),
        ("a", None, False, "yes"),
        ("a", 3),
        ("\ud800",),
        ("a \udfff",),
        ("a", "\ud800"),
    ],
    ids=ascii,
)
def test_wrong_input_as_in_the_reference(arguments):
    ours, theirs = wrapped(hftok), wrapped(tokenizers)
    with pytest.raises(Exception) as expected:
        theirs.encode(*arguments)
    with pytest.raises(type(expected.value)):
        ours.encode(*arguments)
    assert ours.encode("a").ids == [1, 4, 2]
    assert ours.encode_ids("a").tolist() == [1, 4, 2]


@pytest.mark.parametrize("text", [None, b"a", 3, ["a"], "\ud800", "ж\udc00"], ids=ascii)
def test_wrong_text_for_ids(text):
    tokenizer = wrapped(hftok)
    with pytest.raises(TypeError, match="TextInputSequence must be str"):
        tokenizer.encode_ids(text)
    assert tokenizer.encode_ids("a").tolist() == [1, 4, 2]


def test_a_missing_unknown_token_is_reported():
    ours = hftok.Tokenizer(hftok.models.WordLevel({"a": 0}, unk_token="[UNK]"))
    ours.pre_tokenizer = hftok.pre_tokenizers.WhitespaceSplit()
    theirs = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, unk_token="[UNK]"))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    for call in (ours.encode, ours.encode_ids):
        with pytest.raises(Exception, match="WordLevel error: Missing"):
            call("a b")
        assert len(call("a a")) == 2
    with pytest.raises(Exception, match="WordLevel error: Missing"):
        theirs.encode("a b")


def test_changes_are_seen_by_the_next_call():
    tokenizer = bert(hftok)
    assert tokenizer.encode_ids("a q").tolist() == [4, 0]
    tokenizer.add_tokens(["q"])
    assert tokenizer.encode_ids("a q").tolist() == [4, 16]
    tokenizer.post_processor = hftok.processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    assert tokenizer.encode_ids("a q").tolist() == tokenizer.encode("a q").ids == [1, 4, 16, 2]
    tokenizer.encode_special_tokens = True
    assert 2 not in tokenizer.encode_ids("a [SEP]", False)
    tokenizer.encode_special_tokens = False
    assert 2 in tokenizer.encode_ids("a [SEP]", False)
    tokenizer.enable_truncation(3)
    assert tokenizer.encode("a q").ids == [1, 4, 2]
    assert tokenizer.encode_ids("a q").tolist() == [1, 4, 16, 2]
    tokenizer.no_truncation()
    tokenizer.enable_padding(length=5)
    assert tokenizer.encode("a q").ids == [1, 4, 16, 2, 0]


def test_copies_have_a_state_of_their_own():
    tokenizer = wrapped(hftok)
    tokenizer.encode_ids("a")
    for other in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer), copy.copy(tokenizer)):
        other.add_tokens(["q"])
        assert other.encode_ids("q").tolist() == [1, 16, 2]
        assert tokenizer.encode_ids("q").tolist() == [1, 0, 2]


def test_a_subclass_and_its_attributes():
    class Mine(hftok.Tokenizer):
        def __init__(self) -> None:
            super().__init__(hftok.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
            self.mine = 5

        def encode(self, sequence: Any, *args: Any, **kwargs: Any) -> Any:
            return super().encode(sequence * 2, *args, **kwargs)

    mine = Mine()
    mine.pre_tokenizer = hftok.pre_tokenizers.WhitespaceSplit()
    assert mine.mine == 5
    assert mine.encode("a ").ids == [0, 0]
    assert mine.encode_ids("b a").tolist() == [1, 0]


def test_signatures_are_the_references():
    ours = inspect.signature(hftok.Tokenizer.encode)
    theirs = inspect.signature(tokenizers.Tokenizer.encode)
    assert list(ours.parameters) == list(theirs.parameters)
    assert [p.default for p in ours.parameters.values()] == [p.default for p in theirs.parameters.values()]
    assert list(inspect.signature(hftok.Tokenizer.encode_ids).parameters) == ["self", "text", "add_special_tokens"]


def test_a_call_inside_a_call():
    """A component in Python that uses the tokenizer while a worker of its is in use."""
    inner = wrapped(hftok)

    class Nosy:
        def pre_tokenize(self, pretok: Any) -> None:
            seen.append(inner.encode_ids("a bc").tolist())
            seen.append(outer.encode_ids("") is not None if len(seen) < 8 else True)
            pretok.split(lambda _, text: text.split(" ", "isolated"))

    seen: list[Any] = []
    outer = hftok.Tokenizer(hftok.models.WordLevel({"a": 0, "b": 1, " ": 2}, unk_token="a"))
    outer.pre_tokenizer = hftok.pre_tokenizers.PreTokenizer.custom(Nosy())
    assert outer.encode_ids("b a").tolist() == [1, 2, 0]
    assert outer.encode("b a").ids == [1, 2, 0]
    assert [1, 4, 6, 2] in seen


def test_many_threads():
    tokenizer = wrapped(hftok)
    texts = [text for text in TEXTS if text]
    expected = [tokenizer.encode(text).ids for text in texts]
    wrong: list[str] = []

    def work(k: int) -> None:
        for i in range(150):
            at = (i * 7 + k) % len(texts)
            if (
                tokenizer.encode_ids(texts[at]).tolist() != expected[at]
                or tokenizer.encode(texts[at]).ids != expected[at]
            ):
                wrong.append(texts[at])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.fixture
def budget():
    before = cache_budget()
    yield hftok.set_cache_bytes
    hftok.set_cache_bytes(before)


def words(n: int) -> list[str]:
    return [f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{i}" for i in range(n)]


def letters(module: Any) -> Any:
    vocab = {c: i for i, c in enumerate("abcdefghijklmnopqrstuvwxyz0123456789")}
    vocab |= {f"##{c}": i + len(vocab) for c, i in list(vocab.items())} | {"[UNK]": 100}
    tokenizer = module.Tokenizer(module.models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = module.pre_tokenizers.WhitespaceSplit()
    return tokenizer


def misses(tokenizer: Any, call: Callable[[], Any]) -> int:
    before = tokenizer._ready()[0].statistics()
    call()
    after = tokenizer._ready()[0].statistics()
    return int(after[2] - before[2])


def test_a_cache_serves_calls_of_one_thread_and_of_several():
    """A worker may have fewer bytes in a call of several threads: no reason to forget its words."""
    tokenizer = letters(hftok)
    texts = [" ".join(words(400)[i : i + 20]) for i in range(0, 400, 20)]
    tokenizer.encode_batch_ids(texts * 400, parallel=False)
    for text in texts:
        tokenizer.encode_ids(text)
    tokenizer.encode_batch_ids(texts * 400, parallel=True)
    for text in texts:
        assert misses(tokenizer, lambda text=text: tokenizer.encode_ids(text)) == 0


def test_a_smaller_budget_is_kept(budget):
    tokenizer = letters(hftok)
    budget(1 << 22)
    text = " ".join(words(20_000))
    ids = tokenizer.encode_batch_ids([text], parallel=False)[0]
    assert tokenizer._ready()[0].cache_bytes_used() > 65_536
    budget(65_536)
    assert tokenizer.encode_ids("aa0 ba1").tolist() == ids[:6].tolist()
    assert tokenizer._ready()[0].cache_bytes_used() <= 65_536


@pytest.mark.parametrize("n", [10, 100, 300, 600, 1000])
def test_few_words_are_all_found_again(n, rng):
    """As long as caches are small there is room for nearly every word, of whatever length."""
    tokenizer = letters(hftok)
    texts = ["".join(rng.choices("abcdefghij0123456789", k=rng.randint(3, 48))) for _ in range(n)]
    for text in texts:
        tokenizer.encode_ids(text)
    assert misses(tokenizer, lambda: [tokenizer.encode_ids(text) for text in texts]) <= n // 200
