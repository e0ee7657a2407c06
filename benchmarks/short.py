"""One short text through each peer's own calls: what one costs where a program has nothing else to encode."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.measure import print_table, rounds_of_short
from benchmarks.peers import failure

__all__ = ["short_texts"]

TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "Well before sunrise, 14 old boats left the harbour: not a word, nets lay dry, and the lamp's light "
    "(a dim one) went round over the water. \"Who's on watch?\" asked Ana; it wasn't Tom's turn, he replied.",
)


class Door(NamedTuple):
    """One way in. `kind` is what it returns, and says beside which call of hftok it is set; `plain` reads its ids."""

    name: str
    kind: str
    call: Callable[[str], Any]
    plain: Callable[[Any], list[int]]


def _ids(result: Any) -> list[int]:
    return list(result.ids)


def _doors(path: str, names: list[str] | None) -> Iterator[Callable[[], list[Door]]]:
    """Makers of the doors of each package, without special tokens, as most of the packages have no others."""
    import hftok

    tokenizer = hftok.Tokenizer(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    yield lambda: [
        Door("hftok encode_ids", "array", lambda text: tokenizer.encode_ids(text, add_special_tokens=False), list),
        Door("hftok encode", "object", lambda text: tokenizer.encode(text, add_special_tokens=False), _ids),
    ]

    def ours_as_tiktoken() -> list[Door]:
        encoding = tokenizer.as_tiktoken()
        return [
            Door("hftok as_tiktoken().encode", "list", encoding.encode, list),
            Door("hftok as_tiktoken().encode_ordinary", "list", encoding.encode_ordinary, list),
        ]

    def gigatoken() -> list[Door]:
        other = import_module("gigatoken").Tokenizer(path)
        return [Door("gigatoken encode", "array", other.encode, list)]

    def gigatoken_as_tiktoken() -> list[Door]:
        encoding = import_module("gigatoken").Tokenizer(path).as_tiktoken()
        return [
            Door("gigatoken as_tiktoken().encode", "list", encoding.encode, list),
            Door("gigatoken as_tiktoken().encode_ordinary", "list", encoding.encode_ordinary, list),
        ]

    def tiktoken() -> list[Door]:
        import_module("tiktoken")
        encoding = tokenizer.to_tiktoken()
        return [
            Door("tiktoken encode", "list", encoding.encode, list),
            Door("tiktoken encode_ordinary", "list", encoding.encode_ordinary, list),
        ]

    def tokie() -> list[Door]:
        other = import_module("tokie").Tokenizer.from_json(path)
        other.no_truncation()
        other.no_padding()
        return [Door("tokie encode", "object", lambda text: other.encode(text, False), _ids)]

    def kitoken() -> list[Door]:
        other = import_module("kitoken").Kitoken.from_tokenizers_file(path)
        return [Door("kitoken encode", "list", lambda text: other.encode(text, True), list)]

    def reference() -> list[Door]:
        other = import_module("tokenizers").Tokenizer.from_file(path)
        other.no_truncation()
        other.no_padding()
        return [Door("tokenizers encode", "object", lambda text: other.encode(text, add_special_tokens=False), _ids)]

    yield ours_as_tiktoken
    for name, make in (
        ("gigatoken", gigatoken),
        ("gigatoken", gigatoken_as_tiktoken),
        ("tiktoken", tiktoken),
        ("tokie", tokie),
        ("kitoken", kitoken),
        ("tokenizers", reference),
    ):
        if not names or name in names:
            yield make


def short_texts(path: str, names: list[str] | None, rounds: int, as_json: bool) -> bool:
    """Print a table for each text; False where the reference's ids are others."""
    doors: list[Door] = []
    for make in _doors(path, names):
        try:
            doors += make()
        except ImportError:
            continue
        except BaseException as error:
            print(f"({make.__name__.replace('_', ' ')}: {failure(error)})")
    same = True
    for text in TEXTS:
        expected = [int(i) for i in doors[0].call(text)]
        said = {doors[0].name: ""}
        for door in list(doors[1:]):
            try:
                equal = [int(i) for i in door.plain(door.call(text))] == expected
            except BaseException as error:
                print(f"({door.name}: {failure(error)})")
                doors.remove(door)
                continue
            said[door.name] = "equal" if equal else "differs"
            same &= equal or not door.name.startswith("tokenizers")
        best = rounds_of_short({door.name: partial(door.call, text) for door in doors}, 4 * rounds)
        ours = {door.kind: best[door.name] for door in reversed(doors) if door.name.startswith("hftok")}
        table = [
            [
                door.name,
                door.kind,
                f"{best[door.name] * 1e6:.2f}",
                _ratio(best[door.name], ours.get(door.kind)),
                said[door.name],
            ]
            for door in doors
        ]
        header = ["", "gives", "us a call", "to hftok's", "ids"]
        print_table(f"one text of {len(text)} characters, {len(expected)} tokens", header, table, as_json)
    return same


def _ratio(seconds: float, ours: float | None) -> str:
    return f"{seconds / ours:.2f}x" if ours else ""
