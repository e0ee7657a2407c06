"""A tokenizer.json whose big tables are read without Python objects is the one that the general reader reads, whatever
is written in it; and what is wrong with a file is said in the same words."""

from __future__ import annotations

import functools
import json
import random
from typing import Any

import pytest

from hftok import Tokenizer, serialization
from hftok._core.json_reader import loads
from hftok._core.models.merges import MergeTable
from hftok._core.models.piece_list import PieceList
from hftok._core.models.vocab_map import VocabMap
from hftok.stored_fields import StoredFields

TEXTS = ["", "ab abc aab", 'x"y\\z é 東京 \U0001f600 a\tb', "aaaa bbbb abab caffè"]

TOKENS = ["a", "b", "c", '"', "\\", "é", "東", "京", "\U0001f600", "\t", "/", "Ġ", "", "a b", "\x7f", "\x00", "▁"]


def bpe(**options: Any) -> dict[str, Any]:
    vocab = {token: i for i, token in enumerate(TOKENS)}
    merges = []
    for left, right in (
        ("a", "b"),
        ("東", "京"),
        ("ab", "c"),
        ('"', "\\"),
        ("é", "\t"),
        ("\U0001f600", "a"),
        ("ab", "ab"),
    ):
        vocab[left + right] = len(vocab)
        merges.append([left, right])
    return {"type": "BPE", **options, "vocab": vocab, "merges": merges}


def unigram(**options: Any) -> dict[str, Any]:
    pieces = [[token, -0.1 - i / 7] for i, token in enumerate(TOKENS)] + [["ab", -3], ["a", -2.5], ["東京", -0.0]]
    return {"type": "Unigram", "unk_id": 0, "vocab": pieces, **options}


def word_piece() -> dict[str, Any]:
    model = bpe()
    return {
        "type": "WordPiece",
        "unk_token": "a",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 9,
        "vocab": model["vocab"],
    }


def whole(model: Any) -> dict[str, Any]:
    added = [
        {
            "id": 3,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for content in ("ab", "<new>")
    ]
    return {"version": "1.0", "added_tokens": added, "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}


def outcome(data: str | bytes) -> Any:
    try:
        tok = Tokenizer.from_buffer(data) if isinstance(data, bytes) else Tokenizer.from_str(data)
    except Exception as error:
        return type(error), str(error)
    found: list[Any] = [
        repr(tok.model),
        list(tok.get_vocab().items()),
        tok.get_vocab_size(False),
        [tok.token_to_id(token) for token in (*TOKENS, "ab", "none", "<new>")],
        [tok.id_to_token(i) for i in range(30)],
    ]
    for ask in (tok.to_str, lambda: [(e.ids, e.tokens, e.offsets) for e in tok.encode_batch(TEXTS)]):
        try:
            found.append(ask())
        except Exception as error:
            found.append((type(error), str(error)))
    return found


@pytest.fixture
def generally(monkeypatch):
    """`outcome` by the general reader alone."""

    def read(data: str | bytes) -> Any:
        with monkeypatch.context() as m:
            m.setattr(serialization, "loads", lambda data, fields, tables: loads(data, fields))
            return outcome(data)

    return read


def tables_of(model: Any) -> tuple[type, ...]:
    read = loads(json.dumps({"model": model}), None, True)["model"]
    return tuple(type(read[name]) for name in ("vocab", "merges") if name in read)


def test_the_usual_forms_become_tables():
    assert tables_of(bpe()) == (VocabMap, MergeTable)
    assert tables_of({**bpe(), "merges": ["a b", "ab c"]}) == (VocabMap, MergeTable)
    assert tables_of(unigram()) == (PieceList,)
    assert tables_of(word_piece()) == (VocabMap,)
    assert tables_of({**bpe(), "vocab": {"a": 0, "b": 2**32}, "merges": []}) == (dict, list)
    assert type(loads(json.dumps(bpe()), None, True)["vocab"]) is dict  # not under "model"
    tok = Tokenizer.from_str(json.dumps(whole(bpe())))
    fields = tok._model._description().fields
    assert isinstance(fields, StoredFields)
    tok.encode("ab abc")
    tok.get_vocab_size()
    assert tok.token_to_id("<new>") == len(bpe()["vocab"])
    assert tok.token_to_id("ab") == bpe()["vocab"]["ab"]
    assert fields.stored.made == {}
    Tokenizer.from_str(json.dumps(whole(unigram()))).encode("ab abc")


VARIANTS = {
    "bpe": bpe(),
    "lines": {**bpe(), "merges": ["a b", "ab c", "ab ab", "é \t"]},
    "no type": {name: value for name, value in bpe().items() if name != "type"},
    "type last": {**{name: value for name, value in bpe().items() if name != "type"}, "type": "BPE"},
    "merges first": {"type": "BPE", "merges": bpe()["merges"], "vocab": bpe()["vocab"]},
    "a merge twice": {**bpe(), "merges": [*bpe()["merges"], ["a", "b"]]},
    "an id twice": {**bpe(), "vocab": {**bpe()["vocab"], "c": 0}},
    "great ids": {**bpe(), "vocab": {**bpe()["vocab"], "c": 2**32 - 1}},
    "an id too great": {**bpe(), "vocab": {**bpe()["vocab"], "c": 2**32}},
    "a negative id": {**bpe(), "vocab": {**bpe()["vocab"], "c": -1}},
    "a fraction": {**bpe(), "vocab": {**bpe()["vocab"], "c": 1.0}},
    "a string as id": {**bpe(), "vocab": {**bpe()["vocab"], "c": "1"}},
    "a part that is not there": {**bpe(), "merges": [["a", "b"], ["a", "z"]]},
    "a whole that is not there": {**bpe(), "merges": [["a", "b"], ["b", "a"]]},
    "an empty part": {**bpe(), "merges": [["a", ""]]},
    "three parts": {**bpe(), "merges": [["a", "b", "c"]]},
    "two blanks": {**bpe(), "merges": ["a  b"]},
    "a version": {**bpe(), "merges": ["#version: 0.2", "a b"]},
    "no merges": {**bpe(), "merges": []},
    "merges are missing": {"type": "BPE", "vocab": bpe()["vocab"]},
    "the vocabulary is missing": {"type": "BPE", "merges": []},
    "an empty vocabulary": {"type": "BPE", "vocab": {}, "merges": []},
    "pieces for BPE": {**bpe(), "vocab": unigram()["vocab"]},
    "pieces as merges": {**bpe(), "merges": unigram()["vocab"]},
    "a prefix": {**bpe(), "continuing_subword_prefix": "a"},
    "a prefix behind": {**{name: value for name, value in bpe().items()}, "continuing_subword_prefix": "b"},
    "a suffix": {**bpe(), "end_of_word_suffix": "b"},
    "dropout": bpe(dropout=0.0),
    "bad dropout": bpe(dropout=1.5),
    "bad dropout, bad merges": {**bpe(dropout=1.5), "merges": [["a", "z"]]},
    "options": bpe(unk_token="c", fuse_unk=True, byte_fallback=True, ignore_merges=True),
    "unigram": unigram(),
    "unigram without type": {name: value for name, value in unigram().items() if name != "type"},
    "no unk": unigram(unk_id=None),
    "unk beyond": unigram(unk_id=99),
    "no pieces": unigram(vocab=[]),
    "a dict for Unigram": unigram(vocab=bpe()["vocab"]),
    "a piece of three": unigram(vocab=[["a", 0.0], ["b", 0.0, 1]]),
    "a piece without score": unigram(vocab=[["a", 0.0], ["b"]]),
    "a score of text": unigram(vocab=[["a", 0.0], ["b", "0"]]),
    "a dict as score": unigram(vocab=[["a", 0.0], ["b", {}]]),
    "fallback": unigram(byte_fallback=True),
    "wordpiece": word_piece(),
    "wordpiece, type last": {**{n: v for n, v in word_piece().items() if n != "type"}, "type": "WordPiece"},
    "wordlevel": {"type": "WordLevel", "unk_token": "a", "vocab": bpe()["vocab"]},
    "wordlevel of pieces": {"type": "WordLevel", "unk_token": "a", "vocab": unigram()["vocab"]},
    "a list as type": {**bpe(), "type": ["BPE"]},
    "not a model": ["vocab", {"vocab": {"a": 0}}],
}


@pytest.mark.parametrize("name", VARIANTS)
def test_variants(name, generally):
    model = VARIANTS[name]
    for dump in (json.dumps, functools.partial(json.dumps, ensure_ascii=False, indent=3)):
        text = dump(whole(model))
        assert outcome(text) == generally(text)
        assert outcome(text.encode()) == generally(text.encode())


ENTRIES = [
    '"a": 0, "a": 1',
    '"a": 0, "\\u0061": 1',
    '"a": 00',
    '"a": 01',
    '"a": +1',
    '"a": 1e1',
    '"a": 1.5',
    '"a": -0',
    '"a": 4294967295',
    '"a": 4294967296',
    '"a": 18446744073709551616',
    '"a" 0',
    '"a": 0,',
    '"a": 0 "b": 1',
    '"a\n": 0',
    '"\\x": 0',
    '"\\u12": 0',
    '"\\u12G4": 0',
    '"\\ud800": 0',
    '"\\udc00": 0',
    '"\\ud83d\\u0041": 0',
    '"\\ud83d\\ude00": 0',
    '"\\ud83d\\ude0',
    '"\\',
    '"a',
    '"a": ',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t": 0',
    "a: 0",
    '"a": null',
    '\t"a"\r\n:\n  0        ,          "b"                  :1   ',
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_spellings_of_a_vocabulary(entry, generally):
    for text in (
        f'{{"model": {{"type": "BPE", "vocab": {{{entry}}}, "merges": []}}}}',
        f'{{"model": {{"vocab": {{"b": 7, {entry}}}, "merges": [["b", "b"]]}}}}',
        f'{{"model": {{"type": "BPE", "vocab": {{{entry}',
    ):
        assert outcome(text) == generally(text)


SCORES = (
    "0 -0 0.0 -0.0 1 -1 -1.5 12.25 1e3 -1E-3 1.e5 01 .5 -.5 - -a 1. 1.5.2 18446744073709551615 18446744073709551616"
)
DECIMALS = [
    "-13.574999809265137",
    "-3.40999999999999999999999",
    "0.1234567890123456789",
    "-9.5367431640625e-07",
    "1e400",
]


@pytest.mark.parametrize("score", [*SCORES.split(), *DECIMALS, "0.000000000000000000000000000012345"])
def test_spellings_of_a_score(score, generally):
    text = f'{{"model": {{"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", {score}], ["b" , -2 ]]}}}}'
    assert outcome(text) == generally(text)


def test_scores_to_the_last_bit(rng, generally):
    """Each is what serde_json makes of its digits, which is not always the nearest float."""
    numbers = [f"-{rng.randrange(30)}.{rng.randrange(10**n):0{n}}" for n in range(1, 18) for _ in range(40)]
    pieces = ",".join(f'["t{i}",{number}]' for i, number in enumerate(numbers))
    text = f'{{"model":{{"type":"Unigram","vocab":[{pieces}]}}}}'
    assert type(loads(text, None, True)["model"]["vocab"]) is PieceList
    expected = loads(text)["model"]["vocab"]
    assert [score.hex() for _, score in loads(text, None, True)["model"]["vocab"].to_list()] == [
        score.hex() for _, score in expected
    ]
    assert outcome(text) == generally(text)


def test_bytes_that_are_no_text(generally):
    text = json.dumps(whole(bpe()), ensure_ascii=False).encode()
    other = json.dumps(whole(unigram()), ensure_ascii=False).encode()
    for data in (text, other):
        for old, new in (
            ("東".encode(), b"\xe6\x9d"),
            ("京".encode(), b"\x80"),
            ("é".encode(), b"\xff"),
            (b"ab", b"\xc3"),
        ):
            damaged = data.replace(old, new)
            assert outcome(damaged) == generally(damaged)
    # Two halves of a character, which would be one if nothing lay between them.
    halves = b'{"model": {"type": "BPE", "vocab": {"\xc3": 0, "\xa9": 1}, "merges": []}}'
    assert outcome(halves) == generally(halves)
    assert outcome(halves)[0] is not list


@pytest.mark.parametrize(
    "model", [bpe(), unigram(), {**bpe(), "merges": ["a b", "ab c"]}], ids=["bpe", "unigram", "lines"]
)
def test_damaged_texts(model, generally, rng):
    text = json.dumps({"model": model}, ensure_ascii=False).encode()
    cut = [text[:n] for n in range(len(text))]
    for data in (*rng.sample(cut, 150), *(changed(text, rng) for _ in range(400))):
        assert outcome(data) == generally(data), data


def changed(text: bytes, rng: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[at] = rng.choice(b'"\\{}[],: 019-.eEu\x00\x1f\x80\xc3\xff\nab')
        elif kind == 1:
            del data[at : at + rng.choice((1, 1, 3, 10))]
        elif kind == 2:
            data[at:at] = rng.choice((b'"', b"\\", b" ", b",", b"0", b"\\u0061", b"[", b"]", b'"a":0,', b'["a","b"],'))
        else:
            other = rng.randrange(len(data))
            data[at : at + 5], data[other : other + 5] = data[other : other + 5], data[at : at + 5]
    return bytes(data)


def test_random_merges(generally, rng):
    """Whatever the order of the vocabulary: the wholes of merges follow each other there, or not."""
    for _ in range(60):
        tokens = list("abcé")
        merges = []
        for _ in range(rng.randint(1, 60)):
            left, right = rng.choice(tokens), rng.choice(tokens)
            if len(left + right) < 80:
                merges.append([left, right])
                if left + right not in tokens:
                    tokens.append(left + right)
        if rng.random() < 0.5:
            rng.shuffle(tokens)
        ids = list(range(len(tokens)))
        if rng.random() < 0.5:
            ids = rng.sample(range(5 * len(tokens)), len(tokens))
        if rng.random() < 0.2:
            tokens.pop()
        text = json.dumps(whole({"type": "BPE", "vocab": dict(zip(tokens, ids, strict=False)), "merges": merges}))
        assert outcome(text) == generally(text)
