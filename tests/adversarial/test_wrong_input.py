"""What is no proper input: the reference's exception, a message that helps, the tokenizer as it was, and no crash."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
import tokenizers
from grid_checks import outcome
from grid_setups import bert, ours, theirs, vocabulary

import hftok
from hftok.testing import encoding_fields

NOT_TEXTS = [
    None,
    b"bytes",
    bytearray(b"x"),
    5,
    5.5,
    True,
    object(),
    {"a": 1},
    {"a"},
    ("a",),
    ["a"],
    [],
    (),
    [None],
    range(3),
]
SURROGATES = ["\ud800", "a\udfffb", "\udc80 text", "x" * 100 + "\ud83d"]


@pytest.fixture
def unchanged():
    """The tokenizer answers afterwards as before."""
    one = ours("bert_uncased")
    before = one.to_str(), encoding_fields(one.encode("a text [MASK]"))
    yield one
    assert (one.to_str(), encoding_fields(one.encode("a text [MASK]"))) == before


def same_error(ours_found, theirs_found, where):
    """The type of the exception is that of the reference's, or one derived from it."""
    if isinstance(theirs_found, BaseException):
        assert isinstance(ours_found, type(theirs_found)), f"{where}: {ours_found!r} against {theirs_found!r}"
        assert str(ours_found), where
    else:
        assert ours_found == theirs_found, where


@pytest.mark.parametrize("value", [*NOT_TEXTS, *SURROGATES], ids=lambda value: ascii(value)[:20])
def test_encode(value, unchanged):
    other = theirs("bert_uncased")
    for call in (
        lambda t: encoding_fields(t.encode(value)),
        lambda t: encoding_fields(t.encode("a", value)),
        lambda t: encoding_fields(t.encode(value, is_pretokenized=True)),
        lambda t: encoding_fields(t.encode(["a"], value, is_pretokenized=True)),
        lambda t: [encoding_fields(e) for e in t.encode_batch(value)],
        lambda t: [encoding_fields(e) for e in t.encode_batch([value])],
        lambda t: [encoding_fields(e) for e in t.encode_batch(["a", value, "b"])],
        lambda t: [encoding_fields(e) for e in t.encode_batch([("a", value)])],
        lambda t: [encoding_fields(e) for e in t.encode_batch([value], is_pretokenized=True)],
        lambda t: [encoding_fields(e) for e in t.encode_batch_fast(["a", value])],
    ):
        same_error(outcome(lambda c=call: c(unchanged)), outcome(lambda c=call: c(other)), ascii(value))


@pytest.mark.parametrize("value", [None, b"bytes", 5, 5.5, object(), ["a"], "\ud800"], ids=ascii)
def test_array_doors(value, unchanged):
    """TypeError that names the place, from each of our own doors."""
    for call in (
        lambda: unchanged.encode_ids(value),
        lambda: unchanged.encode_batch_ids(["a", value]),
        lambda: unchanged.encode_batch_ids(["a", value], return_offsets=True),
        lambda: unchanged.encode_batch_padded(["a", value]),
        lambda: unchanged.encode_batch_padded(["a", "b"], ["a", value]),
        lambda: unchanged.count_tokens(["a", value]),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value)
    if not isinstance(value, str):
        with pytest.raises(TypeError, match=r"\[1\]"):
            unchanged.encode_batch_ids(["a", value])
    else:
        with pytest.raises(TypeError, match="text 1 "):
            unchanged.encode_batch_ids(["a", value])


@pytest.mark.parametrize("value", ["one text", b"bytes", None, 5])
def test_a_text_is_no_batch(value, unchanged):
    for call in (
        lambda: unchanged.encode_batch_ids(value),
        lambda: unchanged.count_tokens(value),
        lambda: unchanged.encode_batch_padded(value),
    ):
        with pytest.raises(TypeError):
            call()


def test_empty_batches(unchanged):
    assert unchanged.encode_batch([]) == []
    rows = unchanged.encode_batch_ids([], return_offsets=True)
    assert (len(rows), rows.ids.shape, rows.offsets.shape, rows.row_offsets.tolist()) == (0, (0,), (0, 2), [0])
    assert unchanged.count_tokens([]).shape == (0,)
    assert unchanged.encode_batch_ids(["", ""], add_special_tokens=False).to_list() == [[], []]
    assert unchanged.encode_ids("", add_special_tokens=False).tolist() == []
    assert unchanged.decode_batch([]) == []
    assert unchanged.decode([]) == ""


@pytest.mark.parametrize(
    "value", [None, -1, 2**32, 2**64, 1.5, "a", [None], object(), [-1], [2**32], ["a"], [1.5], [[1]]], ids=ascii
)
def test_decode(value, unchanged):
    other = theirs("bert_uncased")
    for call in (
        lambda t: t.decode(value),
        lambda t: t.decode_batch(value),
        lambda t: t.decode_batch([[1], value]),
        lambda t: t.id_to_token(value),
        lambda t: t.token_to_id(value),
    ):
        same_error(outcome(lambda c=call: c(unchanged)), outcome(lambda c=call: c(other)), ascii(value))


def test_arguments(unchanged):
    other = theirs("bert_uncased")
    calls = [
        lambda t: t.encode(),
        lambda t: t.encode("a", is_pretokenized=1),
        lambda t: t.encode("a", add_special_tokens="yes"),
        lambda t: t.encode("a", nothing=1),
        lambda t: t.encode_batch(["a"], None),
        lambda t: t.enable_truncation(),
        lambda t: t.enable_truncation(-1),
        lambda t: t.enable_truncation("a"),
        lambda t: t.enable_truncation(5, stride=-1),
        lambda t: t.enable_truncation(5, stride=9),
        lambda t: t.enable_truncation(5, strategy="none"),
        lambda t: t.enable_truncation(5, direction="up"),
        lambda t: t.enable_padding(direction="up"),
        lambda t: t.enable_padding(pad_id=-1),
        lambda t: t.enable_padding(pad_id=2**32),
        lambda t: t.enable_padding(length="a"),
        lambda t: t.enable_padding(pad_token=5),
        lambda t: t.add_tokens("a"),
        lambda t: t.add_tokens([5]),
        lambda t: t.add_tokens(None),
        lambda t: t.add_special_tokens(("a",)),
        lambda t: t.add_tokens(["\ud800"]),
        lambda t: setattr(t, "normalizer", 5),
        lambda t: setattr(t, "pre_tokenizer", "x"),
        lambda t: setattr(t, "post_processor", object()),
        lambda t: setattr(t, "decoder", 1),
        lambda t: setattr(t, "model", None),
        lambda t: setattr(t, "encode_special_tokens", 1),
        lambda t: t.get_vocab(5),
        lambda t: t.num_special_tokens_to_add("a"),
        lambda t: t.save(5),
        lambda t: t.save("/no/such/folder/t.json"),
        lambda t: t.post_process(5),
    ]
    for number, call in enumerate(calls):
        mine, reference = outcome(lambda c=call: c(unchanged)), outcome(lambda c=call: c(other))
        assert isinstance(reference, BaseException), number
        same_error(mine, reference, str(number))


# ---- loading

GOOD = json.loads(bert(hftok).to_str())


def damaged():
    """Texts that are no tokenizer.json, in many ways."""
    text = json.dumps(GOOD)
    yield "empty", ""
    yield "blank", "  \n"
    for part in (0.1, 0.5, 0.9, 0.999):
        yield f"cut at {part}", text[: int(len(text) * part)]
    yield "tail", text + "}"
    yield "no object", "[]"
    yield "null", "null"
    yield "number", "5"
    yield "deep", "[" * 100_000
    yield "deep object", '{"a":' * 100_000
    yield "deep normalizer", '{"version":"1.0","normalizer":' + '{"type":"Sequence","normalizers":[' * 20_000
    yield "NaN", text.replace('"truncation": null', '"truncation": NaN')
    yield "bad escape", text.replace("[PAD]", "\\q", 1)
    yield "control", text.replace("[PAD]", "\x01", 1)
    for key in ("model", "version", "added_tokens"):
        yield f"without {key}", json.dumps({k: v for k, v in GOOD.items() if k != key})
    for path, value in [
        (("version",), "2.0"),
        (("model", "type"), "Nothing"),
        (("model", "vocab"), None),
        (("model", "vocab"), []),
        (("model", "vocab"), {"a": -1}),
        (("model", "vocab"), {"a": 2**32}),
        (("model", "vocab"), {"a": 1.5}),
        (("model", "vocab"), {"a": "0"}),
        (("model", "vocab"), {"a": None}),
        (("model", "unk_token"), 5),
        (("model", "max_input_chars_per_word"), -1),
        (("model", "max_input_chars_per_word"), "many"),
        (("normalizer",), {"type": "Nothing"}),
        (("normalizer",), 5),
        (("normalizer", "lowercase"), "yes"),
        (("pre_tokenizer",), {"type": None}),
        (("post_processor", "sep"), ["[SEP]"]),
        (("post_processor", "sep"), ["[SEP]", -1]),
        (("post_processor", "cls"), None),
        (("decoder",), {"type": "WordPiece", "prefix": 1}),
        (("truncation",), {"max_length": -1}),
        (("truncation",), {"max_length": 5, "strategy": "Nothing", "stride": 0}),
        (("padding",), {"strategy": "Nothing"}),
        (("added_tokens",), [{"id": 0}]),
        (("added_tokens",), [5]),
        (("added_tokens",), {}),
        (("added_tokens", 0, "id"), -1),
        (("added_tokens", 0, "id"), 2**32),
        (("added_tokens", 0, "content"), None),
        (("added_tokens", 0, "special"), "yes"),
    ]:
        tree = copy.deepcopy(GOOD)
        place = tree
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        yield f"{'.'.join(map(str, path))} = {value!r}", json.dumps(tree)


@pytest.mark.parametrize(("what", "text"), [pytest.param(w, t, id=w[:60]) for w, t in damaged()])
def test_damaged_files(what, text, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(text)
    for call in (
        lambda t: t.from_str(text).encode("a").ids,
        lambda t: t.from_buffer(text.encode()).encode("a").ids,
        lambda t: t.from_file(str(path)).encode("a").ids,
    ):
        mine, reference = outcome(lambda c=call: c(hftok.Tokenizer)), outcome(lambda c=call: c(tokenizers.Tokenizer))
        same_error(mine, reference, what)
    expected = outcome(lambda: tokenizers.Tokenizer.from_str(text))
    mine = outcome(lambda: hftok.Tokenizer(path))
    assert isinstance(mine, Exception) == isinstance(expected, BaseException)


@pytest.mark.parametrize(
    "tree",
    [
        {"vocab": {"a": 4_000_000_000, "[UNK]": 4_294_967_295}},
        {"vocab": {"": 0, "[UNK]": 1}},
        {"vocab": {}},
        {"vocab": {"[UNK]": 7, "a": 9_000_000}},
        {"vocab": {"a" * 100_000: 0, "[UNK]": 1}},
        {"vocab": {"##": 0, "#": 1, "[UNK]": 2}, "continuing_subword_prefix": ""},
        {"vocab": {"a": 0, "[UNK]": 1}, "max_input_chars_per_word": 0},
        {"vocab": {"a": 0, "[UNK]": 1}, "max_input_chars_per_word": 2**63},
    ],
    ids=lambda tree: str(tree)[:50],
)
def test_odd_vocabularies(tree):
    """Strange but legal: duplicate, huge and missing ids, empty and very long tokens."""
    data = copy.deepcopy(GOOD)
    data["added_tokens"] = []
    data["model"].update(tree)
    text = json.dumps(data)
    for call in (
        lambda t: [encoding_fields(e) for e in t.from_str(text).encode_batch(["a b", "", "##", "a" * 200])],
        lambda t: sorted(t.from_str(text).get_vocab().items()),
        lambda t: t.from_str(text).decode([0, 1, 2, 4_000_000_000]),
        lambda t: t.from_str(text).get_vocab_size(),
    ):
        mine, reference = outcome(lambda c=call: c(hftok.Tokenizer)), outcome(lambda c=call: c(tokenizers.Tokenizer))
        same_error(mine, reference, str(tree)[:60])


def test_one_id_for_two_tokens():
    """Which of the two strings the reference shows for the id is random from run to run; the ids are not."""
    data = copy.deepcopy(GOOD)
    data["added_tokens"] = []
    data["model"]["vocab"] = {"a": 0, "b": 0, "[UNK]": 1}
    one, other = (t.from_str(json.dumps(data)) for t in (hftok.Tokenizer, tokenizers.Tokenizer))
    for text in ("a b", "ab", "a z"):
        found, expected = one.encode(text), other.encode(text)
        assert (found.ids, found.offsets, found.word_ids) == (expected.ids, expected.offsets, expected.word_ids)
    assert one.id_to_token(0) == "b"
    assert one.get_vocab_size() == other.get_vocab_size()


def test_added_tokens_with_odd_ids():
    for ids in ([0, 0], [4_294_967_295, 5], [100_000, 3]):
        data = copy.deepcopy(GOOD)
        data["added_tokens"] = [
            {
                "id": i,
                "content": f"<{n}>",
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for n, i in enumerate(ids)
        ]
        text = json.dumps(data)
        found, expected = (
            outcome(lambda t=t, x=text: encoding_fields(t.from_str(x).encode("a <0> <1> b")))
            for t in (hftok.Tokenizer, tokenizers.Tokenizer)
        )
        same_error(found, expected, str(ids))


@pytest.mark.parametrize("value", [None, 5, b"{}", "{}", [], object(), 1.5, True], ids=ascii)
def test_constructor(value):
    with pytest.raises((TypeError, ValueError, OSError, Exception)) as caught:
        hftok.Tokenizer(value)
    assert str(caught.value)
    for name in ("from_str", "from_file", "from_buffer"):
        mine, reference = (
            outcome(lambda k=k, n=name: getattr(k, n)(value)) for k in (hftok.Tokenizer, tokenizers.Tokenizer)
        )
        assert isinstance(reference, BaseException)
        assert isinstance(mine, type(reference)), name


def test_files_that_are_not_there(tmp_path, unchanged):
    for call in (
        lambda: hftok.Tokenizer(tmp_path / "none.json"),
        lambda: hftok.Tokenizer(tmp_path),
        lambda: hftok.Tokenizer("no/such/folder/"),
        lambda: (
            hftok.TextFileSource([tmp_path / "none"], separator="\n")
            and unchanged.encode_files(hftok.TextFileSource([tmp_path / "none"]))
        ),
        lambda: unchanged.encode_files([tmp_path / "none"]),
        lambda: unchanged.encode_files(hftok.JsonlFileSource(tmp_path / "none")),
    ):
        with pytest.raises(OSError):
            call()
    with pytest.raises(Exception, match="No such file"):
        hftok.Tokenizer.from_file(str(tmp_path / "none"))
    with pytest.raises(Exception, match=r"No such file|not found|cannot"):
        hftok.Tokenizer.from_vocab(tmp_path / "none.txt")


# ---- vocab.txt


@pytest.mark.parametrize(
    "data",
    [
        b"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\na\n",
        b"[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\nb\r\n",
        b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n\n\na\n  b  \n",
        b"[PAD]\n[UNK]\n[CLS]\n[SEP]\na",
        b"[UNK]\n[CLS]\n[SEP]\n\xc3\xa9\n##\xe4\xb8\xad\n\xe2\x80\xa8x\n",
    ],
)
def test_vocabulary_files(data, tmp_path):
    """Duplicates (the last line counts), CRLF, empty lines, no newline at the end: read as the reference reads them."""
    path = tmp_path / "vocab.txt"
    path.write_bytes(data)
    expected = tokenizers.models.WordPiece.read_file(str(path))
    assert hftok.models.WordPiece.read_file(str(path)) == expected
    for tokenizer in (hftok.Tokenizer.from_vocab(path), hftok.Tokenizer(path)):
        assert tokenizer.get_vocab(with_added_tokens=False) == expected
        other = tokenizers.Tokenizer.from_str(tokenizer.to_str())
        for text in ("a b", "é中", "[SEP] a"):
            assert encoding_fields(tokenizer.encode(text)) == encoding_fields(other.encode(text))


@pytest.mark.parametrize("data", [b"", b"a\nb\n", b"[UNK]\n[CLS]\n", b"\xff\xfe\x00"])
def test_vocabulary_files_that_will_not_do(data, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(data)
    with pytest.raises(Exception) as caught:
        hftok.Tokenizer.from_vocab(path)
    assert "vocab.txt" in str(caught.value) or "UTF-8" in str(caught.value)


# ---- corpora

BAD_UTF8 = [
    b"\xff",
    b"a\xffb",
    b"\xc3",
    b"\xe4\xb8",
    b"\xf0\x9f\x91",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xc0\x80",
    b"\xe0\x80\x80",
    b"\x80\x80",
    b"caf\xe9 na\xefve",
    b"\xe4\xb8\xad\xe4\xb8 \xe4\xb8\xad",
    b"a" * 63 + b"\xe4\xb8",
    b"a" * 64 + b"\xff" + b"b" * 70,
    bytes(range(256)) * 3,
]


@pytest.mark.parametrize("data", BAD_UTF8, ids=lambda data: ascii(data)[:30])
@pytest.mark.parametrize("name", ["bert_uncased", "added_flags", "bert_without_words"])
def test_bad_utf8_reads_as_replacement_characters(data, name, tmp_path):
    one = ours(name)
    path = tmp_path / "f.txt"
    path.write_bytes(b"x " + data + b" y|" + data)
    texts = (b"x " + data + b" y").decode("utf-8", "replace"), data.decode("utf-8", "replace")
    if b"|" in data:
        texts = tuple(part.decode("utf-8", "replace") for part in path.read_bytes().split(b"|"))
    rows = one.encode_files(hftok.TextFileSource(path, "|"), return_offsets=True)
    expected = one.encode_batch_ids(texts, return_offsets=True)
    assert rows.to_list() == expected.to_list()
    assert np.array_equal(rows.offsets, expected.offsets)
    lines = tmp_path / "f.jsonl"
    clean = data.replace(b'"', b"").replace(b"\\", b"").replace(b"\n", b"").translate(None, bytes(range(32)))
    lines.write_bytes(b'{"text": "' + clean + b'"}\n')
    rows = one.encode_files(hftok.JsonlFileSource(lines))
    assert rows.to_list() == one.encode_batch_ids([clean.decode("utf-8", "replace")]).to_list()


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"5",
        b'{"text": 5}',
        b'{"other": "x"}',
        b'{"text": null}',
        b'{"text": "x"',
        b'{"text": "x"} trailing',
        b'{"text": "\\q"}',
        b'{"text": "a\x01"}',
        b"{'text': 'x'}",
        b"[" * 5000,
        b'{"a":' * 5000,
        b'{"text": "x", "n": 01}',
    ],
    ids=lambda line: ascii(line)[:30],
)
def test_lines_that_are_no_documents(line, tmp_path, unchanged):
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'{"text": "fine"}\n\n' + line + b"\n")
    with pytest.raises(ValueError) as caught:
        unchanged.encode_files(hftok.JsonlFileSource(path))
    assert "line 3" in str(caught.value)
    assert "f.jsonl" in str(caught.value)


def test_sources_refuse(tmp_path):
    for call in (
        lambda: hftok.TextFileSource(5),
        lambda: hftok.TextFileSource("f", separator=5),
        lambda: hftok.JsonlFileSource("f", field=5),
        lambda: hftok.TextFileSource([b"bytes"]),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="separator is empty"):
        hftok.TextFileSource("f", separator="")


# ---- pickles


@pytest.mark.parametrize("data", [b"", b"{}", b"garbage", b"null", "text", None, 5])
def test_states_that_are_none(data):
    one = bert(hftok)
    before = one.to_str()
    other = bert(tokenizers)
    mine, reference = outcome(lambda: one.__setstate__(data)), outcome(lambda: other.__setstate__(data))
    assert isinstance(reference, BaseException)
    assert isinstance(mine, type(reference))
    assert one.to_str() == before
    assert one.encode("a").ids == bert(hftok).encode("a").ids


def test_pickle_and_copy():
    one = ours("added_flags")
    for other in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert other.to_str() == one.to_str()
        assert other.encode("a <both> [MASK]").tokens == one.encode("a <both> [MASK]").tokens
        other.add_tokens(["brand new"])
        assert one.token_to_id("brand new") is None


def test_nul_and_nothing(unchanged):
    for text in ("\x00", "a\x00b", "\x00" * 100, "a" * 20 + "\x00" + "b" * 100):
        assert encoding_fields(unchanged.encode(text)) == encoding_fields(theirs("bert_uncased").encode(text))
    assert len(vocabulary()) > 0
