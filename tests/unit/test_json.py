"""The JSON reader and writer beside serde_json, which the reference is read and written through."""

import json
import math
import random
import re
import struct

import pytest
import tokenizers

from hftok._core import json_reader, json_writer, merge_ids


def through_reference(numbers: list[str]) -> list[str]:
    """Numbers, read and written by the reference (as the scores of a Unigram model)."""
    pieces = ",".join(f'["p",{number}]' for number in numbers)
    text = f'{{"model":{{"type":"Unigram","unk_id":null,"vocab":[{pieces}],"byte_fallback":false}}}}'
    written = tokenizers.Tokenizer.from_str(text).to_str()
    return re.findall(r'\["p",([^\]]*)\]', written)


def decimals(count: int) -> list[str]:
    rng = random.Random(7)
    numbers = []
    for _ in range(count):
        whole = str(rng.randrange(10 ** rng.randrange(1, 24)))
        text = rng.choice(["", "-"]) + (whole if rng.random() < 0.9 else "0")
        if rng.random() < 0.8:
            text += "." + "".join(rng.choices("0123456789", k=rng.randrange(1, 24)))
        if rng.random() < 0.4:
            text += rng.choice("eE") + rng.choice(["", "+", "-"]) + str(rng.randrange(rng.choice([5, 40, 330])))
        numbers.append(text)
    return numbers


def readable(numbers: list[str]) -> list[str]:
    kept = []
    for number in numbers:
        try:
            json_reader.loads(number)
        except json_reader.JsonSyntaxError:
            continue
        kept.append(number)
    return kept


def test_decimals_are_read_and_written_as_there():
    # A correctly rounding reader gives other doubles for thousands of these.
    numbers = readable(decimals(20000))
    assert len(numbers) > 15000
    read = [json_reader.loads(number) for number in numbers]
    assert [json_writer.dumps(float(x)) for x in read] == through_reference(numbers)
    assert sum(float(x) != float(n) for x, n in zip(read, numbers, strict=True)) > 1000


def test_numbers_out_of_range_are_refused_as_there():
    for number in ("1e309", "-1e309", "1e400", "123456789e301", "9" * 310, "1e99999999999", "0.1e310"):
        with pytest.raises(json_reader.JsonSyntaxError, match="number out of range"):
            json_reader.loads(number)
        with pytest.raises(Exception, match="number out of range"):
            through_reference([number])
    small = ["1e-400", "-1e-400", "0e99999999999", "1e-99999999999", "0." + "0" * 400 + "1", "5e-324", "1e-325"]
    assert [json_writer.dumps(float(json_reader.loads(x))) for x in small] == through_reference(small)


def test_doubles_are_written_as_there():
    rng = random.Random(11)
    values = [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(5000)]
    values += [float(f"{m}e{e}") for m in ("1", "1.5", "9.99", "-123.456") for e in range(-30, 30)]
    values += [0.0, -0.0, 1e15, 1e16, 123456789012345678.0, 5e-324, math.inf, -math.inf, math.nan]
    state = tokenizers.models.Unigram([("p", value) for value in values], None, False).__getstate__().decode()
    assert [json_writer.dumps(value) for value in values] == re.findall(r'\["p",([^\]]*)\]', state)


def test_singles_are_written_as_there():
    rng = random.Random(13)
    values = [struct.unpack("<f", rng.randbytes(4))[0] for _ in range(500)]
    values += [float(f"1.5e{e}") for e in range(-12, 18)] + [0.1, 1e-5, 0.0, -0.0, math.inf]
    model = tokenizers.models.BPE()
    for value in values:
        model.dropout = value
        written = re.search(r'"dropout":([^,]*),', model.__getstate__().decode())
        assert json_writer.dumps(json_writer.Float32(model.dropout)) == written.group(1)


def test_integers():
    for text, value in {
        "0": 0,
        "-1": -1,
        "18446744073709551615": 2**64 - 1,
        "-9223372036854775808": -(2**63),
        "18446744073709551616": float(2**64),
        "-9223372036854775809": -float(2**63),
        "-0": -0.0,
    }.items():
        read = json_reader.loads(text)
        assert (type(read), repr(read)) == (type(value), repr(value))


MALFORMED = [
    "",
    " ",
    "\n\n x",
    "{",
    "[",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    '{"a"',
    '{"a":',
    '{"a":1',
    '{"a":1,',
    '{"a":1,}',
    "{,}",
    "{1:2}",
    '{"a" 1}',
    '{"a":1 "b":2}',
    '{"a":1,2}',
    "nul",
    "nulx",
    "tru",
    "fals",
    "falze",
    "NaN",
    "Infinity",
    "-",
    "-a",
    "+1",
    "01",
    "-01",
    "1.",
    "1.a",
    ".5",
    "1e",
    "1e+",
    "1ea",
    "1.5e-",
    '"',
    '"abc',
    '"\\',
    '"\\x"',
    '"\\u12"',
    '"\\u12',
    '"\\uzzzz"',
    '"\\ud800"',
    '"\\ud800x"',
    '"\\ud800\\n"',
    '"\\ud800\\u0041"',
    '"\\udc00"',
    '"\\ud83d\\ude00',
    '"a\nb"',
    '"a\tb"',
    '"\x00"',
    "'a'",
    "{} x",
    "[] []",
    "1 2",
    "\ufeff{}",
    "é",
    "\x00",
    "[" * 127 + "]" * 127 + "x",
    "[" * 128,
    "[" * 200 + "]" * 200,
    '{"a":' * 128 + "1" + "}" * 128,
    "1e400",
]


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: repr(text[:20]))
def test_malformed(text):
    """The same text is refused at the same place, in the same words."""
    padded = f'{{"model":{{"type":"BPE","vocab":{{}},\n"merges":[],"x":\n{text}'
    with pytest.raises(json_reader.JsonSyntaxError) as ours:
        json_reader.loads(padded)
    with pytest.raises(Exception, match=r"line \d+ column \d+$") as theirs:
        tokenizers.Tokenizer.from_str(padded)
    assert str(ours.value) == str(theirs.value)


COMPLETE = '{"model":{"type":"BPE","vocab":{},"merges":[]}}'


@pytest.mark.parametrize("text", ["", " ", "\n", '{"a', "\ufeff{}", COMPLETE + "x", COMPLETE + "\n {}"])
def test_malformed_alone(text):
    with pytest.raises(json_reader.JsonSyntaxError) as ours:
        json_reader.loads(text)
    with pytest.raises(Exception, match=r"line \d+ column \d+$") as theirs:
        tokenizers.Tokenizer.from_str(text)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("raw", [b'"\xff"', b'"a\xc3"', b'{"\xed\xa0\x80": 1}', b'["\xf5\x80\x80\x80"]', b'"\xc0\x80"'])
def test_bytes_that_are_not_utf8(raw):
    with pytest.raises(json_reader.JsonSyntaxError, match="invalid unicode code point at line 1 column"):
        json_reader.loads(raw)


def test_surrogates_in_a_str():
    with pytest.raises(UnicodeEncodeError):
        json_reader.loads('"\ud800"')


def test_values_that_any_reader_agrees_on():
    rng = random.Random(3)
    alphabet = 'aé中😀"\\/\b\f\n\r\t\x1f\x7f\u2028 #'

    def value(depth: int) -> object:
        kind = rng.randrange(8 if depth < 5 else 6)
        if kind == 6:
            return [value(depth + 1) for _ in range(rng.randrange(5))]
        if kind == 7:
            return {text(): value(depth + 1) for _ in range(rng.randrange(5))}
        return [None, True, False, rng.randrange(-(2**63), 2**64), rng.randrange(1000) / 8, text()][kind]

    def text() -> str:
        return "".join(rng.choices(alphabet, k=rng.randrange(20)))

    for _ in range(500):
        tree = value(0)
        for ascii_only in (False, True):
            for indent in (None, 1, 8):
                written = json.dumps(tree, ensure_ascii=ascii_only, indent=indent)
                assert json_reader.loads(written) == tree
                assert json_reader.loads(written.encode()) == tree
        for pretty in (False, True):
            assert json.loads(json_writer.dumps(tree, pretty)) == tree
            assert json_reader.loads(json_writer.dumps(tree, pretty)) == tree
        assert json_writer.dumps(tree) == json.dumps(tree, ensure_ascii=False, separators=(",", ":")) or "\x7f" in repr(
            tree
        )


def test_pretty():
    assert json_writer.dumps({"a": [], "b": {}, "c": [1, {"d": None}]}, True) == (
        '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    {\n      "d": null\n    }\n  ]\n}'
    )


def test_what_cannot_be_written():
    with pytest.raises(TypeError):
        json_writer.dumps({1: 2})
    with pytest.raises(TypeError):
        json_writer.dumps(object())
    with pytest.raises(UnicodeEncodeError):
        json_writer.dumps("\ud800")


def test_repeated_keys_are_marked():
    read = json_reader.loads('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}')
    assert read == {"a": 3, "b": {"c": 2}}
    assert read.repeated == {"a"}
    assert read["b"].repeated == {"c"}
    assert type(json_reader.loads('{"a": 1}')) is dict


def bpe(vocab: str, merges: str, more: str = "") -> object:
    return json_reader.loads(f'{{"vocab": {vocab}, {more} "merges": {merges}}}')


VOCAB = '{"a": 0, "b": 1, "ab": 2, "abb": 3, "\\"": 4, "a\\"": 5, "é": 6, "é\\u00e9": 7, "#": 9, "##": 10}'


@pytest.mark.parametrize(
    ("merges", "rows"),
    [
        ('[["a", "b"], ["ab", "b"]]', [[0, 1, 2], [2, 1, 3]]),
        ('["a b", "ab b"]', [[0, 1, 2], [2, 1, 3]]),
        ('[ [ "a" , "b" ] ]', [[0, 1, 2]]),
        ('["a b", "ab b", "a b"]', [[2, 1, 3], [0, 1, 2]]),
        ('["# #"]', [[9, 9, 10]]),
        ('["a \\""]', [[0, 4, 5]]),
    ],
)
def test_merges_become_ids(merges, rows):
    model = bpe(VOCAB, merges)
    assert model["merges"].rows.tolist() == rows
    assert model["merges"].vocab is model["vocab"]


@pytest.mark.parametrize(
    "merges",
    [
        "[]",
        "null",
        "{}",
        '[["a", "c"]]',
        '[["a", "a"]]',
        '[["a", "b"], "a b"]',
        '["a b", ["a", "b"]]',
        '[["a", "b", "c"]]',
        '[["a"]]',
        '[["a", 1]]',
        '["ab"]',
        '["a b c"]',
        '["a  b"]',
        '["#version: 0.2", "a b"]',
        '["#versions b"]',
        '["a\\u0020b"]',
        '["\\u0023version"]',
        '[["", "a"]]',
        '[["a", ""]]',
        '[["é", "é"]]',
    ],
)
def test_other_merges_stay_as_they_are(merges):
    model = bpe(VOCAB, merges)
    assert model["merges"] == json.loads(merges)


def test_merges_stay_where_the_vocabulary_comes_later_or_is_another():
    assert json_reader.loads('{"merges": [["a", "b"]], "vocab": {"a": 0, "b": 1, "ab": 2}}')[
        "merges"
    ].rows.tolist() == [[0, 1, 2]]
    for vocab in (
        '{"a": 0, "b": 1, "ab": 2, "a": 3}',
        '{"a": 0, "b": 1, "ab": -2}',
        '{"a": 0, "b": 1, "ab": 2.0}',
        "[]",
    ):
        assert bpe(vocab, '[["a", "b"]]')["merges"] == [["a", "b"]]
    assert bpe(VOCAB, '[["a", "b"]]', '"continuing_subword_prefix": "##",')["merges"] == [["a", "b"]]
    with pytest.raises(json_reader.JsonSyntaxError):
        bpe(VOCAB, '[["a", "b"], ["a\\x", "b"]]')


def test_merges_by_ids_and_by_strings_are_the_same():
    rng = random.Random(5)
    letters = 'ab"\\é中\n'
    for _ in range(100):
        tokens = list(dict.fromkeys("".join(rng.choices(letters, k=rng.randrange(1, 12))) for _ in range(200)))
        tokens += [c for c in letters if c not in tokens]
        merges = []
        for _ in range(rng.randrange(1, 80)):
            left, right = rng.choices(tokens, k=2)
            if left + right not in tokens:
                tokens.append(left + right)
            merges.append((left, right))
        ids = rng.sample(range(1000), len(tokens))
        vocab = dict(zip(tokens, ids, strict=True))
        read = json_reader.loads(json.dumps({"vocab": vocab, "merges": merges}, ensure_ascii=rng.random() < 0.5))
        assert read["merges"].rows.tolist() == merge_ids.resolve_merges(vocab, merges, 0).tolist()


def test_resolve_merges():
    vocab = {"a": 0, "b": 1, "##b": 2, "ab": 3, "é": 4, "aé": 5}
    assert merge_ids.resolve_merges(vocab, [], 0).shape == (0, 3)
    assert merge_ids.resolve_merges(vocab, [("a", "##b")], 2).tolist() == [[0, 2, 3]]
    for merges, prefix in ([("a", "x")], 0), ([("x", "a")], 0), ([("a", "a")], 0), ([("a", "b")], 2), ([("a", "é")], 1):
        with pytest.raises(merge_ids.MergeError):
            merge_ids.resolve_merges(vocab, merges, prefix)


def test_first_bad_id():
    assert merge_ids.first_bad_id({}) is None
    assert merge_ids.first_bad_id({"a": 0, "b": 2**32 - 1}) is None
    for bad in (-1, 2**32, 2**70, -(2**70), 1.0, True, None, "1"):
        assert merge_ids.first_bad_id({"a": 0, "b": bad, "c": 1}) == "b"


def test_pieces_of_a_unigram_model():
    assert json_reader.loads('{"vocab": [["a", -1.5], ["b", 2]]}')["vocab"] == [("a", -1.5), ("b", 2.0)]
    assert type(json_reader.loads('{"vocab": [["a", -1]]}')["vocab"][0][1]) is float
    for other in (
        '[["a"]]',
        '[["a", "b"]]',
        '[["a", 1, 2]]',
        "[1]",
        "[]",
        '[["a", 1], 2]',
        '[[1, "a"]]',
        '[["a", null]]',
    ):
        assert json_reader.loads(f'{{"vocab": {other}}}')["vocab"] == json.loads(other)
