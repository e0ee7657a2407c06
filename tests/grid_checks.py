"""Calls of the grids and how their answers are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hftok.testing import encoding_fields

GROUP = 8  # texts that a call is tried on in one setup


@dataclass(frozen=True)
class Call:
    """One way to encode: `form` is what is passed, the settings are made before and taken back after."""

    form: str = "text"  # text, pair, words, word pair
    special: bool = True
    truncation: tuple[int, int, str, str] | None = None  # max_length, stride, strategy, direction
    padding: tuple[tuple[str, Any], ...] | None = field(default=None)

    def configure(self, tokenizer: Any) -> None:
        """May raise, as the reference does."""
        if self.truncation is not None:
            max_length, stride, strategy, direction = self.truncation
            tokenizer.enable_truncation(max_length, stride=stride, strategy=strategy, direction=direction)
        if self.padding is not None:
            tokenizer.enable_padding(**dict(self.padding))

    def inputs(self, texts: Sequence[str]) -> list[Any]:
        if self.form == "text":
            return list(texts)
        if self.form == "words":
            return [text.split(" ") for text in texts]
        others = [*texts[1:], *texts[:1]]
        if self.form == "pair":
            return list(zip(texts, others, strict=True))
        return [(text.split(" "), other.split(" ")) for text, other in zip(texts, others, strict=True)]

    def run(self, tokenizer: Any, texts: Sequence[str]) -> Any:
        """Rows of fields, or the exception; the tokenizer is left without truncation and padding."""
        try:
            self.configure(tokenizer)
            options = {"is_pretokenized": "word" in self.form, "add_special_tokens": self.special}
            rows = []
            if self.padding is None:
                for value in self.inputs(texts):
                    parts = value if isinstance(value, tuple) else (value,)
                    rows.append(outcome(lambda p=parts: encoding_fields(tokenizer.encode(*p, **options))))
                return rows
            return outcome(lambda: [encoding_fields(e) for e in tokenizer.encode_batch(self.inputs(texts), **options)])
        except Exception as error:
            return error
        finally:
            tokenizer.no_truncation()
            tokenizer.no_padding()


def calls() -> Iterator[Call]:
    """Every call of the grid."""
    for form in ("text", "pair", "words", "word pair"):
        for special in (True, False):
            yield Call(form, special)
    lengths = [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (4, 1), (5, 2), (8, 0), (8, 3), (16, 5), (30, 29), (60, 0)]
    for number, (max_length, stride) in enumerate(lengths):
        for strategy in ("longest_first", "only_first", "only_second"):
            for direction in ("right", "left"):
                for form in ("text", "pair"):
                    yield Call(form, (number + len(strategy)) % 4 != 0, (max_length, stride, strategy, direction))
                yield Call("word pair", number % 2 == 0, (max_length, stride, strategy, direction))
    sizes: list[dict[str, Any]] = [
        {},
        {"pad_to_multiple_of": 8},
        {"length": 5},
        {"length": 20, "pad_to_multiple_of": 16},
        {"length": 0},
        {"pad_to_multiple_of": 0, "pad_id": 3, "pad_type_id": 7, "pad_token": "zz"},
    ]
    for direction in ("right", "left"):
        for size in sizes:
            padding = tuple({"direction": direction, **size}.items())
            for form in ("text", "pair", "words"):
                yield Call(form, True, None, padding)
            yield Call("pair", True, (12, 2, "longest_first", "right"), padding)
            yield Call("text", False, (6, 0, "longest_first", "left"), padding)


def outcome(call: Any) -> Any:
    """What a call gives, or its exception; a panic of the reference is one too."""
    try:
        return call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return error


def same(ours: Any, theirs: Any) -> bool:
    """Equal, or exceptions of one type. A ValueError stands for a panic of the reference (docs/differences.md)."""
    if isinstance(theirs, BaseException):
        if type(theirs).__name__ == "PanicException":
            return isinstance(ours, ValueError)
        return isinstance(ours, type(theirs))
    if isinstance(theirs, list) and isinstance(ours, list) and any(isinstance(row, BaseException) for row in theirs):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs)


def explain(ours: Any, theirs: Any, inputs: Sequence[Any] | None = None) -> str:
    """Where two answers part."""
    if isinstance(ours, list) and isinstance(theirs, list):
        for number, (row, other) in enumerate(zip(ours, theirs, strict=False)):
            if not same(row, other):
                shown = "" if inputs is None else f"input {inputs[number]!a}: "
                return f"row {number}: {shown}{explain(row, other)}"
        return f"{len(ours)} rows against {len(theirs)}"
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in theirs:
            if ours.get(name) != theirs[name]:
                return f"{name}: {ours.get(name)!a} against {theirs[name]!a}"
    return f"{ours!r} against {theirs!r}"


def group(number: int, texts: Sequence[str], size: int = GROUP) -> list[str]:
    """The `number`-th group of texts, round and round."""
    start = number * size % len(texts)
    return [texts[(start + i) % len(texts)] for i in range(size)]


def assert_rows(rows: Any, expected: Sequence[Any], texts: Sequence[Any]) -> None:
    """RaggedIds against the reference's encodings: ids, row offsets and, if they are there, offsets."""
    assert len(rows) == len(expected)
    assert rows.ids.dtype == np.uint32
    assert rows.row_offsets.dtype == np.int64
    for number, encoding in enumerate(expected):
        assert rows[number].tolist() == encoding.ids, f"ids of text {number}: {texts[number]!a}"
        if rows.offsets is not None:
            spans = [tuple(span) for span in rows.row_spans(number).tolist()]
            assert spans == encoding.offsets, f"offsets of text {number}: {texts[number]!a}"
    if rows.offsets is not None:
        assert rows.offsets.dtype == np.int32
        assert rows.offsets.shape == (len(rows.ids), 2)
    assert rows.row_offsets.tolist() == [0, *np.cumsum([len(e) for e in expected]).tolist()]
