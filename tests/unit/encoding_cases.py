"""Encodings for the tests: random states, the same Encoding in both libraries, and everything one can read off one."""

import json
import os
from typing import Any

import tokenizers
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from hftok.encoding import Encoding

os.environ["RUST_BACKTRACE"] = "0"  # the panics that the tests provoke are expected; keep the report readable

U64 = 2**64 - 1


def seeded(max_examples: int = 100) -> settings:
    """Hypothesis settings of these tests: the same examples on every run, no time limit for one, nothing written.
    HFTOK_EXAMPLES=20 in the environment runs twenty times as many, other ones every time."""
    times = int(os.environ.get("HFTOK_EXAMPLES", "1"))
    return settings(
        max_examples=max_examples * times,
        derandomize=times == 1,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


TOKEN = st.one_of(
    st.sampled_from(
        ["a", "##b", "Ġ", "Ġa", "ĠĠ", "Ġ a ", " ", "\u3000x\u00a0", "é", "日本", "\U0001f600", "[PAD]", ""]
    ),
    st.text(alphabet='ab Ġ"\\/\x00\x1f\n\r\t\b\f\x7f\u2028é\U0001f600', max_size=4),
)


@st.composite
def states(draw: Any, max_len: int = 9, depth: int = 1, big: bool = False) -> dict[str, Any]:
    """A state of an Encoding as its pickle holds it; sequence ranges are disjoint (where they overlap the reference
    answers at random)."""
    n = draw(st.integers(0, max_len))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    top = U64 if big else 12
    cuts = sorted(draw(st.lists(st.integers(0, n), min_size=4, max_size=4)))
    ranges = {}
    for seq, (start, stop) in zip(
        draw(st.sampled_from([(), (0,), (1,), (0, 1), (2, 0), (1, 0)])), (cuts[:2], cuts[2:]), strict=False
    ):
        ranges[str(seq)] = {"start": start, "end": stop}
    return {
        "ids": column(st.integers(0, 2**32 - 1 if big else 300)),
        "type_ids": column(st.integers(0, 2)),
        "tokens": column(TOKEN),
        "words": column(st.one_of(st.none(), st.integers(0, 2**32 - 1 if big else 4))),
        "offsets": column(st.tuples(st.integers(0, top), st.integers(0, top)).map(list)),
        "special_tokens_mask": column(st.integers(0, 1)),
        "attention_mask": column(st.integers(0, 1)),
        "overflowing": draw(st.lists(states(max_len, depth - 1), max_size=3)) if depth else [],
        "sequence_ranges": ranges,
    }


def raw(state: dict[str, Any]) -> bytes:
    return json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()


def both(state: dict[str, Any]) -> tuple[Encoding, Any]:
    """The Encoding of a state in hftok and in the reference."""
    mine, theirs = Encoding(), tokenizers.Encoding()
    mine.__setstate__(raw(state))
    theirs.__setstate__(raw(state))
    return mine, theirs


def from_reference(encoding: Any) -> Encoding:
    """The hftok Encoding with the fields of one of the reference."""
    result = Encoding()
    result.__setstate__(encoding.__getstate__())
    return result


def fields(encoding: Any) -> dict[str, Any]:
    """All stored fields, nested overflowing included, from the pickled state."""
    return json.loads(encoding.__getstate__())


def view(encoding: Any, depth: int = 2) -> dict[str, Any]:
    """What the properties say."""
    result = {
        name: getattr(encoding, name)
        for name in (
            "ids",
            "type_ids",
            "tokens",
            "offsets",
            "attention_mask",
            "special_tokens_mask",
            "word_ids",
            "sequence_ids",
            "n_sequences",
        )
    }
    result["len"] = len(encoding)
    result["repr"] = repr(encoding)
    if depth:
        result["overflowing"] = [view(e, depth - 1) for e in encoding.overflowing]
    return result


def outcome(function: Any, *args: Any) -> Any:
    """The answer, or the type and text of the exception; a panic of the reference is a ValueError of hftok."""
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", [])
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return "panic"


def same(mine: Any, theirs: Any) -> bool:
    """Whether two outcomes agree; where the reference panics hftok raises ValueError."""
    if theirs == "panic":
        return isinstance(mine, tuple) and mine[0] is ValueError and len(mine[1].split()) > 5
    return mine == theirs


def base_state(n: int = 4, **changes: Any) -> dict[str, Any]:
    """A plain state of n tokens, one word and one character each."""
    state: dict[str, Any] = {
        "ids": list(range(n)),
        "type_ids": [0] * n,
        "tokens": [f"t{i}" for i in range(n)],
        "words": list(range(n)),
        "offsets": [[i, i + 1] for i in range(n)],
        "special_tokens_mask": [0] * n,
        "attention_mask": [1] * n,
        "overflowing": [],
        "sequence_ranges": {},
    }
    return state | changes


def check(mine: Encoding, theirs: Any) -> None:
    assert view(mine) == view(theirs)
    assert fields(mine) == fields(theirs)
