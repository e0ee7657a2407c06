"""NormalizedString and PreTokenizedString against the reference's classes: every method, errors, odd arguments."""

from __future__ import annotations

import doctest
import importlib
import random
from collections.abc import Callable
from typing import Any

import pytest
import tokenizers as reference
from exact_cases import ATOMS, GLUED, adversarial, characters

from hftok._core.patterns import Pattern
from hftok._core.pretokenized import NormalizedString, PreTokenizedString, Token


class Expression:
    """What hftok takes for a Regex: anything with a str `pattern`."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern


OPERATIONS: list[tuple[str, tuple[Any, ...]]] = [
    *[(name, ()) for name in ("nfd", "nfkd", "nfc", "nfkc", "lowercase", "uppercase", "lstrip", "rstrip", "strip")],
    ("prepend", ("▁",)),
    ("prepend", ("é",)),
    ("append", ("xé",)),
    ("append", ("",)),
    ("filter", (str.isalnum,)),
    ("filter", (lambda c: c != "a",)),
    ("map", (lambda c: "é" if c == "a" else c,)),
    ("map", (str.upper,)),
    ("replace", (" ", "▁")),
    ("replace", ("a", "")),
    ("replace", ("", "x")),
    ("replace", (Expression(r"\s+"), "_")),
    ("replace", (Expression(r"\b"), "")),
    ("slice", ((1, 4),)),
    ("slice", (slice(0, 3),)),
    ("slice", (slice(2, None),)),
]


def theirs(argument: Any) -> Any:
    return reference.Regex(argument.pattern) if isinstance(argument, Expression) else argument


def state(n: Any) -> tuple[str, str, list[Any]]:
    """Text, original and, through slices, the original of every character."""
    return n.normalized, n.original, [c and c.original for c in (n[(i, i + 1)] for i in range(len(n.normalized)))]


@pytest.mark.parametrize("seed", range(6))
def test_random_operations(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(250):
        text = adversarial(rng)
        ours, other = NormalizedString(text), reference.NormalizedString(text)
        for _ in range(rng.randint(1, 5)):
            name, arguments = rng.choice(OPERATIONS)
            expected = result(lambda o=other, n=name, a=arguments: getattr(o, n)(*map(theirs, a)))
            found = result(lambda o=ours, n=name, a=arguments: getattr(o, n)(*a))
            if expected == "error" or found == "error":
                assert found == expected, (text, name)
                break
            if name == "slice":
                assert (found is None) == (expected is None), (text, name, arguments)
                if found is None:
                    break
                ours, other = found, expected
            assert state(ours) == state(other), (text, name, arguments)


def result(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException:
        return "error"


RANGES = [
    *range(-6, 7),
    *[(a, b) for a in (0, 1, 3, 5, 9) for b in (0, 1, 3, 5, 9)],
    *[slice(a, b, c) for a in (None, 0, 2, -2, 8) for b in (None, 0, 3, -1, 9) for c in (None, 1, -1, 2)],
    True,
]


@pytest.mark.parametrize("text", ["", "a", "abc", "héé日", "日本語", "ab😀"])
def test_slices(text: str) -> None:
    ours, other = NormalizedString(text), reference.NormalizedString(text)
    for n in (ours, other):
        n.nfd()
    for range_ in RANGES:
        for access in (lambda n, r: n.slice(r), lambda n, r: n[r]):
            expected = result(lambda a=access, r=range_: access_state(a(other, r)))
            assert result(lambda a=access, r=range_: access_state(a(ours, r))) == expected, range_


def access_state(n: Any) -> Any:
    return None if n is None else (n.normalized, n.original)


@pytest.mark.parametrize(
    "bad", ["a", 1.5, None, (1,), (1, 2, 3), (-1, 2), ("a", 2), [1, 2], 1 << 80, 1 << 63, -(1 << 63) - 1, (1 << 64, 0)]
)
def test_bad_slices(bad: Any) -> None:
    for make in (NormalizedString, reference.NormalizedString):
        with pytest.raises(TypeError):
            make("abc").slice(bad)
        with pytest.raises(TypeError):
            make("abc")[bad]


def test_negative_index_past_the_start() -> None:
    """Counted in bytes, with the reference's message."""
    for make in (NormalizedString, reference.NormalizedString):
        with pytest.raises(ValueError, match="4 is bigger than max len"):
            make("é")[-4]
        assert make("é")[-1] is None
        assert make("é")[-2].normalized == "é"


BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize(
    "pattern", ["-", "a", "é", "ab", "", Expression(r"\s+"), Expression(r"a|b"), Expression(""), Expression(r"\b"), " "]
)
def test_split(behavior: str, pattern: Any) -> None:
    rng = random.Random(behavior)
    texts = ["", "-", "a-b", "--a--b-", "ab ab", " a  b ", "é-é", *(adversarial(rng) for _ in range(30))]
    for text in texts:
        expected = result(
            lambda t=text: [state(p) for p in reference.NormalizedString(t).split(theirs(pattern), behavior)]
        )
        found = result(lambda t=text: [state(p) for p in NormalizedString(t).split(pattern, behavior)])
        assert found == expected, text


def test_clear_and_what_follows() -> None:
    """An emptied string takes `append` but no `prepend`, and a second text comes out of a transformation of it."""
    for make in (NormalizedString, reference.NormalizedString):
        n = make("abc")
        n.clear()
        assert (n.normalized, n.original) == ("", "abc")
        n.prepend("x")
        assert n.normalized == ""
        n.append("XY")
        assert n.normalized == "XY"
        m = make("")
        m.append("AB")
        m.lowercase()
        assert m.normalized == "abAB"


def test_representation() -> None:
    for text in ("ab", 'a"b', "é\n"):
        ours, other = NormalizedString(text), reference.NormalizedString(text)
        assert repr(ours) == repr(other)
        assert str(ours) == str(other)


@pytest.mark.parametrize("method", ["filter", "map", "for_each"])
def test_callbacks(method: str) -> None:
    for make in (NormalizedString, reference.NormalizedString):
        with pytest.raises(TypeError, match="expect a callable"):
            getattr(make("abc"), method)(3)
        seen: list[str] = []
        n = make("aé日")
        getattr(n, method)(lambda c, seen=seen: (seen.append(c), True if method == "filter" else c)[1])
        assert seen == ["a", "é", "日"]
        assert n.normalized == "aé日"


def test_wrong_results_of_callbacks() -> None:
    """The reference panics on these; here the text stays and the exception says what was expected."""
    n = NormalizedString("abc")
    for call, error in (
        (lambda: n.filter(lambda c: 1), TypeError),
        (lambda: n.map(lambda c: 1), TypeError),
        (lambda: n.map(lambda c: ""), ValueError),
        (lambda: n.map(lambda c: "\ud800"), UnicodeEncodeError),
        (lambda: n.map(lambda c: 1 / 0), ZeroDivisionError),
        (lambda: n.filter(lambda c: n.lowercase()), RuntimeError),
    ):
        with pytest.raises(error):
            call()
        assert n.normalized == "abc"


@pytest.mark.parametrize(
    "call",
    [
        lambda m, n: m(3),
        lambda m, n: m(),
        lambda m, n: n.split(3, "removed"),
        lambda m, n: n.split("a", 3),
        lambda m, n: n.split("a", "sideways"),
        lambda m, n: n.split("a"),
        lambda m, n: n.split(3, "sideways"),
        lambda m, n: n.split("\ud800", "removed"),
        lambda m, n: n.replace("\ud800", "a"),
        lambda m, n: n.replace("a", 3),
        lambda m, n: n.replace(None, "a"),
        lambda m, n: n.prepend(None),
        lambda m, n: n.append(b"a"),
        lambda m, n: m("a\ud800"),
    ],
)
def test_wrong_arguments(call: Callable[[Any, Any], Any]) -> None:
    errors = []
    for make in (NormalizedString, reference.NormalizedString):
        n = make("abc")
        with pytest.raises((TypeError, ValueError)) as error:
            call(make, n)
        errors.append(error.type)
        assert n.normalized == "abc"
    assert issubclass(errors[0], errors[1])


# ---------------------------------------------------------------------------------------------------------------------
# PreTokenizedString


def both(text: str, steps: Callable[[Any, Any], None]) -> tuple[Any, Any]:
    results = []
    for make, token in ((PreTokenizedString, Token), (reference.PreTokenizedString, reference.Token)):
        pretok = make(text)
        steps(pretok, token)
        results.append(pretok)
    return results[0], results[1]


def everything(pretok: Any) -> list[Any]:
    def plain(splits: list[Any]) -> list[Any]:
        return [(s, o, t and [(x.id, x.value, x.offsets) for x in t]) for s, o, t in splits]

    return [
        plain(pretok.get_splits(offset_referential=r, offset_type=k))
        for r in ("original", "normalized")
        for k in ("char", "byte")
    ]


def fields(encoding: Any) -> tuple[Any, ...]:
    return (
        encoding.ids, encoding.type_ids, encoding.tokens, encoding.offsets, encoding.attention_mask,
        encoding.special_tokens_mask, encoding.word_ids, encoding.sequence_ids, encoding.overflowing,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_splits_normalization_and_tokens(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(120):
        text = adversarial(rng)
        behavior, mark = rng.choice(BEHAVIORS), rng.choice([" ", "a", "\n", "é"])
        form = rng.choice(["nfd", "nfkc", "lowercase", "uppercase", "strip"])
        size = rng.randint(1, 3)

        def steps(
            pretok: Any, token: Any, behavior: str = behavior, mark: str = mark, form: str = form, size: int = size
        ) -> None:
            pretok.split(lambda i, n: n.split(mark, behavior) if i % 2 == 0 else [n])
            pretok.normalize(lambda n: getattr(n, form)())
            pretok.split(lambda i, n: [p for p in (n[(0, size)], n[(size, 1000)]) if p is not None])

        ours, other = both(text, steps)
        assert everything(ours) == everything(other), text
        for pretok, token in ((ours, Token), (other, reference.Token)):
            pretok.tokenize(characters(token))
        assert everything(ours) == everything(other), text
        for arguments in ((), (3,), (0, 7), (1, 0)):
            assert fields(ours.to_encoding(*arguments)) == fields(other.to_encoding(*arguments)), text
        for pretok in (ours, other):
            # Tokenized splits are left alone from now on.
            pretok.split(lambda i, n: [])
            pretok.normalize(lambda n: n.clear())
        assert everything(ours) == everything(other), text


def test_strings_from_elsewhere() -> None:
    """A callback may return strings that have nothing to do with the text; offsets and originals are their own."""

    def steps(make: Any) -> Callable[[Any, Any], None]:
        def run(pretok: Any, token: Any) -> None:
            pretok.split(lambda i, n: [make("elsewhere é"), n, make("x")])
            seen = []
            pretok.normalize(lambda n: seen.append(n.original))
            assert seen == ["elsewhere é", "ab", "x"]

        return run

    ours, other = PreTokenizedString("ab"), reference.PreTokenizedString("ab")
    steps(NormalizedString)(ours, None)
    steps(reference.NormalizedString)(other, None)
    assert everything(ours) == everything(other)


def test_offsets_outside_the_text() -> None:
    """Tokens may claim any bytes; what cannot be converted is kept."""
    for offsets in ((0, 0), (0, 1), (1, 2), (0, 9), (3, 1), (5, 9), (2, 2), (9, 9)):

        def steps(pretok: Any, token: Any, offsets: tuple[int, int] = offsets) -> None:
            pretok.split(lambda i, n: n.split(" ", "removed"))
            pretok.tokenize(lambda s: [token(1, s, offsets)])

        ours, other = both("é bc dé", steps)
        assert fields(ours.to_encoding()) == fields(other.to_encoding()), offsets


def test_errors() -> None:
    for make in (PreTokenizedString, reference.PreTokenizedString):
        pretok = make("a b")
        with pytest.raises(Exception, match="has not been tokenized"):
            pretok.to_encoding()
        for method, match in (("split", "List"), ("normalize", "NormalizedString"), ("tokenize", "Token")):
            with pytest.raises(TypeError, match=match):
                getattr(pretok, method)(3)
        with pytest.raises(ValueError, match="OffsetReferential"):
            pretok.get_splits("elsewhere")
        with pytest.raises(ValueError, match="OffsetType"):
            pretok.get_splits("original", "words")
        empty = make("")
        empty.split(lambda i, n: [n])
        assert empty.get_splits() == []
        assert empty.to_encoding().ids == []


@pytest.mark.parametrize(
    "call",
    [
        lambda p: p.split(lambda i, n: 3),
        lambda p: p.split(lambda i, n: "ab"),
        lambda p: p.split(lambda i, n: [1]),
        lambda p: p.split(lambda i, n: 1 / 0),
        lambda p: p.normalize(lambda n: 1 / 0),
        lambda p: p.tokenize(lambda s: 3),
        lambda p: p.tokenize(lambda s: [3]),
        lambda p: p.tokenize(lambda s: 1 / 0),
        lambda p: p.normalize(lambda n: n.split(3, "removed")),
    ],
)
def test_errors_in_callbacks(call: Callable[[Any], Any]) -> None:
    """An Exception whose message begins with the type, as there; here the string stays as it was."""
    ours, other = PreTokenizedString("a b"), reference.PreTokenizedString("a b")
    with pytest.raises(Exception, match="Error: ") as expected:
        call(other)
    with pytest.raises(Exception, match="Error: ") as found:
        call(ours)
    assert type(found.value) is type(expected.value) is Exception
    assert str(found.value).split(":")[0] == str(expected.value).split(":")[0]
    assert ours.get_splits() == [("a b", (0, 3), None)]


def test_failure_in_the_middle_changes_nothing() -> None:
    pretok = PreTokenizedString("a b c")
    pretok.split(lambda i, n: n.split(" ", "removed"))
    before = everything(pretok)

    def fail_late(n: Any) -> None:
        n.uppercase()
        n.append("!")
        if n.normalized == "C!":
            raise KeyError("late")

    with pytest.raises(Exception, match="late"):
        pretok.normalize(fail_late)
    assert everything(pretok) == before
    pretok.normalize(lambda n: n.uppercase())
    assert [s for s, _, _ in pretok.get_splits()] == ["A", "B", "C"]


def test_use_of_itself_in_a_callback() -> None:
    pretok = PreTokenizedString("a b")
    with pytest.raises(Exception, match="Already borrowed"):
        pretok.split(lambda i, n: (pretok.get_splits(), [n])[1])
    with pytest.raises(Exception, match="Already borrowed"):
        pretok.normalize(lambda n: pretok.normalize(lambda m: None))
    assert pretok.get_splits() == [("a b", (0, 3), None)]


@pytest.mark.parametrize(
    "module",
    [
        *("code_points", "errors", "normalizers", "oniguruma_tables", "patterns", "pre_tokenizers", "pretokenized"),
        *("regex_syntax", "regex_tree"),
    ],
)
def test_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"hftok._core.{module}"), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_literal_patterns_are_found_as_they_stand() -> None:
    for literal in ("a", "aa", "é", ".", "a.", "日本", "\n"):
        pattern = Pattern("String", literal)
        for text in ("", GLUED, "aaaa", "a.a.", "日本日本語", *ATOMS):
            data, at, pieces = text.encode(), 0, []
            for found in text.split(literal)[:-1]:
                pieces += [((at, at + len(found.encode())), False)] if found else []
                at += len(found.encode())
                pieces.append(((at, at + len(literal.encode())), True))
                at += len(literal.encode())
            pieces += [((at, len(data)), False)] if at < len(data) or not data else []
            assert pattern.find_matches(text) == pieces


def test_garbage_is_given_back() -> None:
    """Changing every piece of a long text again and again keeps the memory at a few times the text."""
    pretok = PreTokenizedString("word " * 4000)
    pretok.split(lambda i, n: n.split(" ", "merged_with_previous"))
    for _ in range(20):
        pretok.normalize(lambda n: n.append("é"))
        pretok.split(lambda i, n: [n])
    assert [s for s, _, _ in pretok.get_splits()] == ["word " + "é" * 20] * 4000
    # Nine bytes for each of a word's 45, and 50 for a split. Without compaction it would be twenty times that.
    assert pretok._held_bytes() < 10 * 4000 * (9 * 45 + 50)
