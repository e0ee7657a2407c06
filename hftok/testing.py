"""Checks against another tokenizer, for your own test suite: the same input into both, every field compared.

`assert_parity` is for a test; `find_difference` gives the first difference as an object; `shrink` makes a failing input
short, which is what turns a difference somewhere in a corpus into a report that a person can act on.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["FIELDS", "Difference", "assert_parity", "encoding_fields", "find_difference", "shrink", "shrink_sequence"]

T = TypeVar("T")

FIELDS = (
    "ids",
    "type_ids",
    "tokens",
    "offsets",
    "attention_mask",
    "special_tokens_mask",
    "word_ids",
    "sequence_ids",
)

# Attempts to make an input shorter end after this time; what is found by then is reported.
SHRINK_SECONDS = 20.0


def encoding_fields(encoding: Any, fields: Sequence[str] = FIELDS) -> dict[str, Any]:
    """The fields of an Encoding (of this package or of the reference) as lists, with those of its overflowing pieces.

    >>> from hftok import Tokenizer
    >>> from hftok.models import WordLevel
    >>> encoding_fields(Tokenizer(WordLevel({"a": 0}, unk_token="a")).encode("a"), ["ids", "offsets"])
    {'ids': [0], 'offsets': [(0, 1)], 'overflowing': []}
    """
    found: dict[str, Any] = {name: getattr(encoding, name) for name in fields}
    found["overflowing"] = [encoding_fields(piece, fields) for piece in encoding.overflowing]
    return found


# ---- shrinking


def shrink_sequence(items: Sequence[T], fails: Callable[[list[T]], bool], seconds: float = SHRINK_SECONDS) -> list[T]:
    """A part of `items`, in order, for which `fails` still holds, and without any one item of which it does not.

    Delta debugging (Zeller and Hildebrandt 2002): drop pieces, halves first, then ever smaller ones.

    Args:
        items: what fails; `fails(items)` must be true.
        fails: whether the failure shows.
        seconds: how long to try; the shortest failing part found by then is returned.

    >>> shrink_sequence(list(range(100)), lambda part: 17 in part and 71 in part)
    [17, 71]
    """
    current = list(items)
    end = time.monotonic() + seconds
    size = max(len(current) // 2, 1)
    while current:
        at = 0
        smaller = False
        while at < len(current):
            if time.monotonic() > end:
                return current
            candidate = current[:at] + current[at + size :]
            if fails(candidate):
                current = candidate
                smaller = True
            else:
                at += size
        if size > 1:
            size = max(min(size, len(current)) // 2, 1)
        elif not smaller:
            break
    return current


def shrink(text: str, fails: Callable[[str], bool], seconds: float = SHRINK_SECONDS) -> str:
    """A part of a text for which `fails` still holds and no character can be left out; then simpler characters.

    >>> shrink("some text with a naïve word", lambda text: "ï" in text)
    'ï'
    >>> shrink("one, two", lambda text: "," in text and len(text) > 3)
    'aaa,'
    """
    end = time.monotonic() + seconds
    characters = shrink_sequence(text, lambda part: fails("".join(part)), seconds)
    for index, character in enumerate(characters):
        for simple in "a ":
            if character == simple or time.monotonic() > end:
                break
            candidate = [*characters[:index], simple, *characters[index + 1 :]]
            if fails("".join(candidate)):
                characters = candidate
                break
    return "".join(characters)


def _shrink_input(value: Any, fails: Callable[[Any], bool], seconds: float) -> Any:
    """An input of any form: a text, words, or a pair of either."""
    if isinstance(value, str):
        return shrink(value, fails, seconds)
    if isinstance(value, tuple) and len(value) == 2:
        first = _shrink_input(value[0], lambda part: fails((part, value[1])), seconds / 2)
        return first, _shrink_input(value[1], lambda part: fails((first, part)), seconds / 2)
    if isinstance(value, list):
        words = shrink_sequence(value, fails, seconds / 2)
        for index in range(len(words)):
            if isinstance(words[index], str):

                def fails_with(word: str, at: int = index) -> bool:
                    return fails([*words[:at], word, *words[at + 1 :]])

                words[index] = shrink(words[index], fails_with, seconds / 2 / len(words))
        return words
    return value


# ---- comparing


@dataclasses.dataclass
class Difference:
    """The first difference that was found.

    Attributes:
        input: what shows it, made short; `original`: as it was passed.
        call: the method called, `arguments`: its keyword arguments.
        field: what differs: a field of Encoding, a key of BatchEncoding, or "error".
        index: the first position that differs, or None.
        ours, theirs: the whole values of that field.
    """

    input: Any
    original: Any
    call: str
    arguments: dict[str, Any]
    field: str
    ours: Any
    theirs: Any
    index: int | None = None
    notes: list[str] = dataclasses.field(default_factory=list)

    def report(self) -> str:
        """The difference as text, to be pasted into a report."""
        arguments = "".join(f", {name}={value!r}" for name, value in self.arguments.items())
        where = "" if self.index is None else f" at position {self.index}"
        lines = [
            f"{self.call}: the {self.field} differ{where}.",
            "",
            f"    input = {self.input!a}",
            f"    {self.call}(input{arguments})",
            "",
        ]
        if self.index is None:
            lines += [f"    hftok:     {self.ours!r}", f"    reference: {self.theirs!r}"]
        else:
            start = max(self.index - 3, 0)
            for name, value in (("hftok:    ", self.ours), ("reference:", self.theirs)):
                shown = list(value[start : self.index + 5])
                before, after = "... " if start else "", " ..." if self.index + 5 < len(value) else ""
                lines.append(f"    {name} {len(value)} entries: {before}{shown!a}{after}")
        if self.input != self.original:
            lines += ["", f"(shrunk from {_measure(self.original)} to {_measure(self.input)})"]
        return "\n".join([*lines, *self.notes, "", _versions()])


def _measure(value: Any) -> str:
    if isinstance(value, str):
        return f"{len(value)} characters"
    if isinstance(value, tuple):
        return " and ".join(_measure(item) for item in value)
    return f"{len(value)} items"


def _versions() -> str:
    from importlib.metadata import PackageNotFoundError, version

    from hftok import __version__
    from hftok._core.cpu import choose

    found = [f"hftok {__version__}"]
    for name in ("tokenizers", "transformers", "numpy"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"({', '.join(found)}; Python {platform.python_version()}, {platform.machine()} {choose()})"


def _outcome(call: Callable[[Any, Any], Any], side: Any, value: Any) -> tuple[str, Any]:
    """("value", what a call gave) or ("error", its exception)."""
    try:
        return "value", call(side, value)
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:  # a panic of the reference is no Exception
        return "error", error


def _same_error(ours: BaseException, theirs: BaseException) -> bool:
    """The same type, whatever the words; a ValueError where the reference panics (docs/differences.md)."""
    if type(theirs).__name__ == "PanicException":
        return isinstance(ours, ValueError)
    return isinstance(ours, type(theirs))


def _plain(value: Any) -> Any:
    """Tensors and arrays as lists, with their dtype."""
    if hasattr(value, "tolist") and hasattr(value, "dtype"):
        return [str(value.dtype).rpartition(".")[2], value.tolist()]
    return value


def _first_difference(ours: Any, theirs: Any) -> tuple[str, Any, Any, int | None] | None:
    """(field, ours, theirs, index) of two dicts of fields."""
    for name in [*ours, *(key for key in theirs if key not in ours)]:
        if name not in ours or name not in theirs:
            return name, ours.get(name), theirs.get(name), None
        a, b = ours[name], theirs[name]
        if name == "overflowing" and isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return "overflowing (number of pieces)", len(a), len(b), None
            for number, (piece, other) in enumerate(zip(a, b, strict=True)):
                found = _first_difference(piece, other)
                if found is not None:
                    return f"{found[0]} of overflowing piece {number}", *found[1:]
            continue
        if type(a) is not type(b) or a != b:
            if isinstance(a, list) and isinstance(b, list):
                index = next(
                    (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y or type(x) is not type(y)),
                    min(len(a), len(b)),
                )
                return name, a, b, index
            return name, a, b, None
    return None


class _Door:
    """One way to encode that both sides offer: `single` and `batch` give dicts of fields."""

    def __init__(self, ours: Any, theirs: Any, fields: Sequence[str], arguments: dict[str, Any]) -> None:
        self.sides = ours, theirs
        self.fields = fields
        self.arguments = arguments
        # A transformers tokenizer is called; everything else has encode and encode_batch.
        self.called = not hasattr(theirs, "encode_batch")
        self.single_name = "tokenizer" if self.called else "encode"
        self.batch_name = "tokenizer" if self.called else "encode_batch"

    def single(self, side: Any, value: Any) -> Any:
        parts = value if isinstance(value, tuple) and len(value) == 2 else (value,)
        if self.called:
            return self._read_called(side(*parts, **self.arguments))
        return encoding_fields(side.encode(*parts, **self.arguments), self.fields)

    def batch(self, side: Any, values: list[Any]) -> list[Any]:
        if self.called:
            return [self._read_called(side(values, **self.arguments))]
        return [encoding_fields(row, self.fields) for row in side.encode_batch(values, **self.arguments)]

    def _read_called(self, batch: Any) -> dict[str, Any]:
        found: dict[str, Any] = {name: _plain(value) for name, value in batch.items()}
        for number, encoding in enumerate(batch.encodings or ()):
            for name, value in encoding_fields(encoding, self.fields).items():
                found[f"{name} of encodings[{number}]" if name != "overflowing" else name] = value
        return found

    def difference(self, value: Any, batch: bool) -> tuple[str, Any, Any, int | None] | None:
        call = self.batch if batch else self.single
        kind, ours = _outcome(call, self.sides[0], value)
        their_kind, theirs = _outcome(call, self.sides[1], value)
        if "error" in (kind, their_kind):
            if kind == their_kind and _same_error(ours, theirs):
                return None
            shown = [
                f"{type(result).__name__}: {result}" if how == "error" else "no error"
                for how, result in ((kind, ours), (their_kind, theirs))
            ]
            return "error", shown[0], shown[1], None
        if not batch:
            return _first_difference(ours, theirs)
        if len(ours) != len(theirs):
            return "number of rows", len(ours), len(theirs), None
        for number, (row, other) in enumerate(zip(ours, theirs, strict=True)):
            found = _first_difference(row, other)
            if found is not None:
                return (f"{found[0]} of row {number}", *found[1:])
        return None


def find_difference(
    tok: Any,
    reference: Any,
    texts: Iterable[Any],
    *,
    fields: Sequence[str] = FIELDS,
    shorten: bool = True,
    seconds: float = SHRINK_SECONDS,
    **calls: Any,
) -> Difference | None:
    """The first input that `tok` and `reference` encode differently, or None.

    Every input is encoded alone, then all of them as a batch; of an `hftok.Tokenizer` also the arrays of
    `encode_batch_ids` are compared. An exception on one side only, or of another type, is a difference.

    Args:
        tok: an `hftok.Tokenizer`, or a transformers tokenizer on it (`as_hf()`).
        reference: the `tokenizers.Tokenizer`, or the transformers tokenizer, to compare with.
        texts: str, pairs (tuples of two), or lists of words with `is_pretokenized=True`.
        fields: the fields of Encoding to compare (default: all).
        shorten: make the input of the difference short, in at most `seconds`.
        calls: keyword arguments of every call: add_special_tokens, is_pretokenized; of transformers tokenizers padding,
            truncation, max_length, return_tensors, ...
    """
    inputs = list(texts)
    door = _Door(tok, reference, fields, calls)
    for value in inputs:
        found = door.difference(value, False)
        if found is not None:
            small = value
            if shorten:
                small = _shrink_input(value, lambda part: door.difference(part, False) is not None, seconds)
                found = door.difference(small, False) or found
            return Difference(small, value, door.single_name, calls, found[0], found[1], found[2], found[3])
    found = door.difference(inputs, True)
    if found is not None:
        few = inputs
        if shorten:
            few = shrink_sequence(inputs, lambda part: door.difference(part, True) is not None, seconds)
            found = door.difference(few, True) or found
        return Difference(few, inputs, door.batch_name, calls, found[0], found[1], found[2], found[3])
    return _array_difference(tok, reference, inputs, shorten, seconds, calls)


def _array_difference(
    tok: Any, reference: Any, inputs: list[Any], shorten: bool, seconds: float, calls: dict[str, Any]
) -> Difference | None:
    from hftok.tokenizer import Tokenizer

    if (
        not isinstance(tok, Tokenizer)
        or not hasattr(reference, "encode_batch")
        or not all(isinstance(value, str) for value in inputs)
        or calls.get("is_pretokenized")
        or tok.truncation is not None
        or tok.padding is not None
    ):
        return None
    special = {name: value for name, value in calls.items() if name == "add_special_tokens"}

    def difference(part: list[str]) -> tuple[str, Any, Any, int | None] | None:
        rows = tok.encode_batch_ids(part, return_offsets=True, **special)
        expected = reference.encode_batch(part, **special)
        ends = np.cumsum([0, *(len(row) for row in expected)]).tolist()
        spans = [] if rows.offsets is None else [tuple(span) for span in rows.offsets.tolist()]
        ours = {"row offsets": rows.row_offsets.tolist(), "ids": rows.ids.tolist(), "offsets": spans}
        theirs = {
            "row offsets": ends,
            "ids": [id_ for row in expected for id_ in row.ids],
            "offsets": [span for row in expected for span in row.offsets],
        }
        return _first_difference(ours, theirs)

    found = difference(inputs)
    if found is None:
        return None
    few = inputs
    if shorten:
        few = shrink_sequence(inputs, lambda part: difference(part) is not None, seconds / 2)
        few = _shrink_input(few, lambda part: difference(part) is not None, seconds / 2)
        found = difference(few) or found
    return Difference(few, inputs, "encode_batch_ids", special, found[0], found[1], found[2], found[3])


def assert_parity(tok: Any, reference: Any, texts: Iterable[Any], **calls: Any) -> None:
    """Fail unless `tok` and `reference` give the same answer for every text, alone and as a batch.

    Args:
        tok, reference, texts, calls: as in `find_difference`.

    Raises:
        AssertionError: they differ. The message holds the shortest input found that shows it.

    >>> from hftok import Tokenizer
    >>> from hftok.models import WordLevel
    >>> one = Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a"))
    >>> assert_parity(one, one, ["a", "b", ("a", "b")], add_special_tokens=False)
    """
    found = find_difference(tok, reference, texts, **calls)
    if found is not None:
        raise AssertionError(found.report())
