"""The doors that give arrays, on every setup: against the reference's encodings of the same texts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from grid_checks import assert_rows, group, outcome, same
from grid_setups import SETUPS, ours, theirs
from grid_texts import glued, grid_texts

import hftok

NAMES = list(SETUPS)
SEPARATOR = "\n<|separator|>\n"


def good_texts(name, special=True):
    """Texts that the reference can encode, and its encodings."""
    texts, encodings = [], []
    for text in grid_texts():
        encoding = outcome(lambda t=text: theirs(name).encode(t, add_special_tokens=special))
        if not isinstance(encoding, BaseException):
            texts.append(text)
            encodings.append(encoding)
    return texts, encodings


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_ids_of_texts(name, special):
    texts, encodings = good_texts(name, special)
    one = ours(name)
    for text, encoding in zip(texts, encodings, strict=True):
        ids = one.encode_ids(text, add_special_tokens=special)
        assert ids.dtype == np.uint32
        assert ids.tolist() == encoding.ids, f"{text!a}"
    for parallel in (None, False, True):
        assert_rows(one.encode_batch_ids(texts, special, parallel=parallel), encodings, texts)
        assert_rows(
            one.encode_batch_ids(tuple(texts), special, return_offsets=True, parallel=parallel), encodings, texts
        )
    counts = one.count_tokens(texts, add_special_tokens=special)
    assert counts.dtype == np.int64
    assert counts.tolist() == [len(encoding) for encoding in encodings]


@pytest.mark.parametrize("name", NAMES)
def test_texts_that_cannot_be_encoded(name):
    """The error of a text is that of the reference through every door, and nothing is left behind."""
    one = ours(name)
    texts, _ = good_texts(name)
    bad = [text for text in grid_texts() if text not in set(texts)]
    assert bool(bad) == (name == "missing_unknown")
    for text in bad[:20]:
        expected = outcome(lambda t=text: theirs(name).encode(t))
        for call in (
            lambda t=text: one.encode_ids(t),
            lambda t=text: one.encode_batch_ids(["a", t, "b"]),
            lambda t=text: one.encode_batch_ids(["a", t, "b"], return_offsets=True),
            lambda t=text: one.count_tokens([t]),
            lambda t=text: one.encode_batch_padded([t, "a"]),
        ):
            assert same(outcome(call), expected)
        assert one.encode_ids("a").tolist() == theirs(name).encode("a").ids


@pytest.mark.parametrize("name", NAMES)
def test_settings_do_not_apply_to_ids(name):
    one = ours(name)
    text = "a b a b a b"
    expected = one.encode_ids(text).tolist()
    try:
        one.enable_truncation(3)
        one.enable_padding(length=20)
        assert one.encode_ids(text).tolist() == expected
        rows = one.encode_batch_ids([text, "a"], return_offsets=True)
        assert rows[0].tolist() == expected
        assert one.count_tokens([text]).tolist() == [len(expected)]
    finally:
        one.no_truncation()
        one.no_padding()


@pytest.mark.parametrize("name", NAMES)
def test_files(name, tmp_path):
    texts, encodings = good_texts(name)
    one = ours(name)
    kept = [(t, e) for t, e in zip(texts, encodings, strict=True) if t]  # an empty last document is dropped
    texts, encodings = [t for t, _ in kept], [e for _, e in kept]
    path = tmp_path / "texts.txt"
    path.write_bytes(SEPARATOR.join(texts).encode())
    for separator in (SEPARATOR, SEPARATOR.encode()):
        source = hftok.TextFileSource(path, separator=separator)
        assert_rows(one.encode_files(source), encodings, texts)
    assert_rows(one.encode_files(source, return_offsets=True, parallel=False), encodings, texts)
    plain = [theirs(name).encode(text, add_special_tokens=False) for text in texts]
    assert_rows(one.encode_files(source, add_special_tokens=False), plain, texts)

    lines = tmp_path / "texts.jsonl"
    records = [json.dumps({"id": i, "text": t}, ensure_ascii=bool(i % 2)) for i, t in enumerate(texts)]
    lines.write_text("\n".join(records) + "\n\n", encoding="utf-8")
    assert_rows(one.encode_files(hftok.JsonlFileSource(lines), return_offsets=True), encodings, texts)

    paths = []
    for number in range(0, len(texts), 40):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_bytes(texts[number].encode())
    assert_rows(one.encode_files(paths, return_offsets=True), encodings[::40], texts[::40])
    assert_rows(one.encode_files([str(path) for path in paths]), encodings[::40], texts[::40])


def padded_calls():
    """Keyword arguments of encode_batch_padded and the reference's settings for the same."""
    number = 0
    for max_length in (None, 3, 4, 7, 16, 64):
        for strategy in ("longest_first", "only_first", "only_second") if max_length else ("longest_first",):
            for side in ("right", "left"):
                for padding in ("longest", "max_length") if max_length else ("longest",):
                    number += 1
                    yield {
                        "max_length": max_length,
                        "truncation": strategy,
                        "padding": padding,
                        "padding_side": side,
                        "truncation_side": ("right", "left")[number // 2 % 2],
                        "pad_to_multiple_of": (None, 8)[number // 3 % 2],
                        "pad_id": (0, 5)[number // 5 % 2],
                        "pad_type_id": (0, 2)[number // 7 % 2],
                        "add_special_tokens": number % 5 != 0,
                    }


def reference_matrices(tokenizer, texts, pairs, call):
    try:
        if call["max_length"] is not None:
            tokenizer.enable_truncation(
                call["max_length"], strategy=call["truncation"], direction=call["truncation_side"]
            )
        tokenizer.enable_padding(
            direction=call["padding_side"],
            length=call["max_length"] if call["padding"] == "max_length" else None,
            pad_to_multiple_of=call["pad_to_multiple_of"],
            pad_id=call["pad_id"],
            pad_type_id=call["pad_type_id"],
        )
        inputs = texts if pairs is None else list(zip(texts, pairs, strict=True))
        rows = tokenizer.encode_batch(inputs, add_special_tokens=call["add_special_tokens"])
        return {
            "input_ids": [row.ids for row in rows],
            "token_type_ids": [row.type_ids for row in rows],
            "attention_mask": [row.attention_mask for row in rows],
            "special_tokens_mask": [row.special_tokens_mask for row in rows],
        }
    finally:
        tokenizer.no_truncation()
        tokenizer.no_padding()


@pytest.mark.parametrize("name", NAMES)
def test_padded(name):
    one, other = ours(name), theirs(name)
    good, _ = good_texts(name)
    for number, call in enumerate(padded_calls()):
        texts = group(number * 3 + len(name), good, 9)
        for pairs in (None, texts[::-1]):
            ours_found = outcome(
                lambda t=texts, p=pairs, c=call: one.encode_batch_padded(t, p, return_special_tokens_mask=True, **c)
            )
            expected = outcome(lambda t=texts, p=pairs, c=call: reference_matrices(other, t, p, c))
            added = one.num_special_tokens_to_add(pairs is not None) if call["add_special_tokens"] else 0
            if call["max_length"] is not None and call["max_length"] < added:
                # The reference, whose subtraction wraps, cuts nothing then; a matrix that is too wide helps nobody.
                assert isinstance(ours_found, ValueError)
                continue
            where = f"{call}, {texts!a}, {'pairs' if pairs else 'single'}"
            if isinstance(expected, BaseException) or isinstance(ours_found, BaseException):
                assert same(ours_found, expected), f"{where}: {ours_found!r} against {expected!r}"
                continue
            assert set(ours_found) == set(expected)
            for key, rows in expected.items():
                assert ours_found[key].dtype == np.int64, where
                assert ours_found[key].tolist() == rows, f"{key} of {where}"
                assert ours_found[key].flags["C_CONTIGUOUS"]


def test_padded_shapes():
    one = ours("bert_uncased")
    empty = one.encode_batch_padded([])
    assert empty["input_ids"].shape[0] == 0
    assert set(one.encode_batch_padded(["a"], return_attention_mask=False, return_token_type_ids=False)) == {
        "input_ids"
    }
    assert one.encode_batch_padded(["a"], max_length=9, padding="max_length")["input_ids"].shape == (1, 9)
    with pytest.raises(ValueError, match="needs max_length"):
        one.encode_batch_padded(["a"], padding="max_length")
    with pytest.raises(ValueError, match="padding must be"):
        one.encode_batch_padded(["a"], padding="none")
    with pytest.raises(ValueError, match="differ in length"):
        one.encode_batch_padded(["a"], ["a", "b"])
    many = one.encode_batch_padded(["a b c"] * 5000 + [""])
    assert many["input_ids"].shape == (5001, 5)
    assert (many["input_ids"][:5000] == many["input_ids"][0]).all()


@pytest.mark.parametrize(
    "name", ["bert_uncased", "bert_cased", "added_normalized", "added_flags", "lowercase_whitespace"]
)
def test_huge_document(name, tmp_path):
    """A document of many work units, cut where it does not show; and many small ones in one unit."""
    one, other = ours(name), theirs(name)
    texts = grid_texts()
    piece = " ".join(texts[::2]) + " " + glued(" x ") + "\n"
    document = piece * (5_000_000 // len(piece))
    path = tmp_path / "huge.txt"
    path.write_bytes(document.encode())
    whole = one.encode_files([path], parallel=True)
    assert np.array_equal(whole.ids, one.encode_files([path], parallel=False).ids)
    assert np.array_equal(whole.ids, one.encode_ids(document))
    # The reference needs its time: the first copies, and the last ones after the same beginning.
    few = other.encode(piece * 3).ids
    assert whole.ids[: len(few) - 50].tolist() == few[:-50]
    assert whole.ids[-(len(few) - 50) :].tolist() == few[50:]
