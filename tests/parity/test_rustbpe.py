"""hftok.rustbpe beside rustbpe: ranks, ids, errors."""

from __future__ import annotations

import array
import pickle
import random
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import rustbpe

import hftok.rustbpe
from hftok import UnsupportedTokenizerError
from hftok._core.training.feed import Counter
from hftok._core.training.sequences import Words

DEFAULT = hftok.rustbpe.GPT4_PATTERN
NANOCHAT = DEFAULT.replace("{1,3}", "{1,2}")
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# With rules of their own, without, leaving gaps, with empty matches, across lines.
PATTERNS = [None, NANOCHAT, GPT2, r"\w+", r"\S+|\s+", r"[^\n]*", "x*", "", "(?s:.+)", r"(?i:ab|é)", r"\b", r".(?=.)|$"]
ALPHABETS = ["ab", "aab ", "abc \n", "abcde fgh", "the cat sat on a mat\n", "é漢a' 1 23\r\n\U0001f600", "\x00\xff a"]


def texts(rng: random.Random, most: int = 8) -> list[str]:
    letters = rng.choice(ALPHABETS)
    return ["".join(rng.choices(letters, k=rng.randint(0, 60))) for _ in range(rng.randint(0, most))]


def answers(module: Any, given: list[str], vocab_size: int, pattern: str | None, probes: list[str]) -> list[Any]:
    tok = module.Tokenizer()
    tok.train_from_iterator(iter(given), vocab_size, pattern=pattern)
    return [tok.get_mergeable_ranks(), tok.vocab_size, tok.get_pattern(), tok.batch_encode(probes)]


def test_random_texts(rng: random.Random) -> None:
    for _ in range(250):
        given, probes = texts(rng), texts(rng)
        size = rng.choice([256, 257, 260, 300, 400, 2000])
        pattern = rng.choice(PATTERNS)
        args = (given, size, pattern, probes)
        assert answers(hftok.rustbpe, *args) == answers(rustbpe, *args), (given, size, pattern)


ATOMS = [*"abA1é. ", r"\d", r"\w", r"\s", r"\S", r"\W", "[ab]", "[^a]", r"[^\s]", r"\p{L}", r"\p{N}", r"\P{L}", r"\n"]
ATOMS += [r"[\p{Lu}b]", r"[\r\n]", r"\h", "[[:alpha:]]", "[a-c&&[^b]]", r"\x41", r"\t", r"\p{Han}", r"\D", r"\p{Greek}"]
REPEATS = ["*", "+", "?", "{1,2}", "{2}", "{1,}", "*+", "++", "?+", "*?", "+?", "??"]
LOOKS = ["(?!{})", "(?={})", "(?<=a)", "(?<!b)", "$", "^", r"\b", r"\B", "(?m:$)", "(?m:^)"]
GROUPS = ["(?i:{})", "(?>{})", "({})", "(?s:{})", "(?x: {} )", "(?i){}"]


def random_pattern(rng: random.Random, depth: int = 3) -> str:
    kind = rng.random()
    if depth <= 0 or kind < 0.3:
        return rng.choice(ATOMS)
    inner = random_pattern(rng, depth - 1)
    if kind < 0.45:
        return inner + random_pattern(rng, depth - 1)
    if kind < 0.6:
        return f"(?:{inner}|{random_pattern(rng, depth - 1)})"
    if kind < 0.85:
        return f"(?:{inner}){rng.choice(REPEATS)}"
    return rng.choice(LOOKS if kind < 0.93 else GROUPS).replace("{}", inner)


def test_random_patterns(rng: random.Random) -> None:
    """Training without end makes every match a token, so the ids show where the matches are."""
    compared = 0
    for _ in range(200):
        pattern = "|".join(random_pattern(rng) for _ in range(rng.randint(1, 3)))
        given = ["".join(rng.choices("  abAB1é漢\n\r\t.k'sſKα٣", k=rng.randint(0, 14))) for _ in range(5)]
        try:
            expected: Any = answers(rustbpe, given, 10_000, pattern, given)
        except ValueError:
            expected = ValueError
        try:
            found: Any = answers(hftok.rustbpe, given, 10_000, pattern, given)
        except UnsupportedTokenizerError:
            continue
        except ValueError:
            found = ValueError
        if expected is ValueError and found is not ValueError:
            continue  # a newer dialect than rustbpe's: tiktoken's
        assert found == expected, (pattern, given)
        compared += expected is not ValueError
    assert compared > 80


@pytest.mark.corpus
@pytest.mark.parametrize("corpus", ["english", "code", "multilingual", "chinese"])
def test_corpora(corpus: str, corpus_documents: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = corpus_documents(corpus, 150_000)
    args = (documents, 1500, None, documents[:5])
    expected = answers(rustbpe, *args)
    for threads in ("1", "2", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert answers(hftok.rustbpe, *args) == expected


def test_rules_and_the_matcher_find_the_same_words(rng: random.Random) -> None:
    for pattern in (DEFAULT, NANOCHAT, GPT2):
        given = [text for _ in range(60) for text in texts(rng)]
        counts = []
        for exact in (False, True):
            words = Words.of_pattern(pattern, exact)
            assert words.way == ("regex" if exact else "pattern")
            counter = Counter(words, 1)
            counter.add_texts(given)
            counts.append(dict(counter.take().items()))
        assert counts[0] == counts[1]


def test_a_long_text_by_several_threads(rng: random.Random) -> None:
    """Longer than what one thread is given: with a rule it is cut, else not."""
    text = "".join(rng.choices(["the ", "cat", "'s ", "\n\n", "42 ", "é"], k=600_000))
    for pattern in (None, r"\w+|\s"):
        args = ([text], 300, pattern, [])
        assert answers(hftok.rustbpe, *args) == answers(rustbpe, *args)


def trained(module: Any) -> Any:
    tok = module.Tokenizer()
    tok.train_from_iterator(["ab abc"] * 3, 300)
    return tok


def broken() -> Iterator[str]:
    yield "ab"
    raise KeyError("no more")


class Word(str):
    pass


CALLS: dict[str, Callable[[Any], Any]] = {
    "arguments of the class": lambda m: m.Tokenizer(1),
    "any iterable": lambda m: trained(m).train_from_iterator("abab", 300),
    "dict": lambda m: answers(m, {"abab": 1}, 300, None, []),  # type: ignore[arg-type]
    "subclass of str": lambda m: answers(m, [Word("abab")], 300, None, [Word("ab")]),
    "no iterable": lambda m: trained(m).train_from_iterator(5, 300),
    "bytes": lambda m: trained(m).train_from_iterator(["ab", b"ab"], 300),
    "int": lambda m: trained(m).train_from_iterator(["ab", 1], 300),
    "None": lambda m: trained(m).train_from_iterator([None], 300),
    "nested": lambda m: trained(m).train_from_iterator([["ab"]], 300),
    "surrogate": lambda m: trained(m).train_from_iterator(["\ud800"], 300),
    "error of the iterator": lambda m: trained(m).train_from_iterator(broken(), 300),
    "no pattern": lambda m: trained(m).train_from_iterator(["ab"], 300, pattern="("),
    "pattern before size": lambda m: trained(m).train_from_iterator(["ab"], 10, pattern="("),
    "type of pattern": lambda m: trained(m).train_from_iterator(["ab"], 300, pattern=5),
    "negative size": lambda m: trained(m).train_from_iterator(["ab"], -1),
    "large size": lambda m: trained(m).train_from_iterator(["ab"], 1 << 32),
    "float size": lambda m: trained(m).train_from_iterator(["ab"], 300.0),
    "str size": lambda m: trained(m).train_from_iterator(["ab"], "300"),
    "numpy size": lambda m: trained(m).train_from_iterator(["ab"], np.int64(300)),
    "negative buffer": lambda m: trained(m).train_from_iterator(["ab"], 300, -1),
    "small buffer": lambda m: trained(m).train_from_iterator(iter(["ab", "ab", "b"]), 300, 2),
    "encode": lambda m: trained(m).encode(text="ab c"),
    "encode bytes": lambda m: trained(m).encode(b"ab"),
    "encode surrogate": lambda m: trained(m).encode("\ud800"),
    "encode nothing": lambda m: trained(m).encode(),
    "decode": lambda m: trained(m).decode(ids=[256, 99, 195, 169]),
    "decode tuple": lambda m: trained(m).decode((97,)),
    "decode range": lambda m: trained(m).decode(range(97, 99)),
    "decode bytes": lambda m: trained(m).decode(b"ab"),
    "decode array": lambda m: trained(m).decode(array.array("i", [97])),
    "decode numpy": lambda m: trained(m).decode(np.array([97, 98])),
    "decode bool": lambda m: trained(m).decode([True]),
    "decode nothing": lambda m: trained(m).decode([]),
    "decode unknown": lambda m: trained(m).decode([97, 10_000]),
    "decode unknown before negative": lambda m: trained(m).decode([10_000, -1]),
    "decode negative": lambda m: trained(m).decode([-1]),
    "decode large": lambda m: trained(m).decode([1 << 32]),
    "decode float": lambda m: trained(m).decode([1.0]),
    "decode str": lambda m: trained(m).decode("a"),
    "decode set": lambda m: trained(m).decode({97}),
    "decode iterator": lambda m: trained(m).decode(iter([97])),
    "decode half a character": lambda m: trained(m).decode([195]),
    "batch": lambda m: trained(m).batch_encode(texts=("ab", "abc")),
    "batch of nothing": lambda m: trained(m).batch_encode([]),
    "batch of numpy": lambda m: trained(m).batch_encode(np.array(["ab"])),
    "batch of str": lambda m: trained(m).batch_encode("ab"),
    "batch of iterator": lambda m: trained(m).batch_encode(iter(["ab"])),
    "batch of dict": lambda m: trained(m).batch_encode({"ab": 1}),
    "batch with bytes": lambda m: trained(m).batch_encode(["a", b"ab"]),
    "batch with None": lambda m: trained(m).batch_encode(["ab", None]),
    "batch with surrogate": lambda m: trained(m).batch_encode(["ab", "\ud800"]),
    "vocab_size is read-only": lambda m: setattr(trained(m), "vocab_size", 3),
    "untrained": lambda m: [m.Tokenizer().encode("ab"), m.Tokenizer().decode([97]), m.Tokenizer().get_pattern()],
    "untrained ranks": lambda m: [m.Tokenizer().get_mergeable_ranks(), m.Tokenizer().vocab_size],
}


@pytest.mark.parametrize("name", CALLS)
def test_same_answer_or_error(name: str) -> None:
    def outcome(module: Any) -> Any:
        try:
            return CALLS[name](module)
        except Exception as error:
            return type(error)

    assert outcome(hftok.rustbpe) == outcome(rustbpe)


def test_where_rustbpe_panics_or_never_ends() -> None:
    tok = hftok.rustbpe.Tokenizer()
    with pytest.raises(ValueError, match="at least 256"):
        tok.train_from_iterator(["ab"], 255)
    with pytest.raises(BaseException, match="at least 256"):
        rustbpe.Tokenizer().train_from_iterator(["ab"], 255)
    with pytest.raises(ValueError, match="buffer_size"):
        tok.train_from_iterator(["ab"], 300, 0)


def test_a_pattern_that_backtracks_much() -> None:
    tok = hftok.rustbpe.Tokenizer()
    arguments = (["a" * 26 + " cc"], 300, 1, r"(?:(?:a|aa)+(?!x)b|c+)")
    tok.train_from_iterator(*arguments)
    assert tok.get_mergeable_ranks()[256:] == [(b"cc", 256)]
    assert tok.encode(arguments[0][0]) == [256]
    with pytest.raises(BaseException, match="BacktrackLimitExceeded"):
        rustbpe.Tokenizer().train_from_iterator(*arguments)


@pytest.mark.parametrize(
    "arguments",
    [(broken(), 300), (["ab", 1], 300), (["ab"], 300, 10, "("), (["ab"], 255), (["\ud800"], 300), (["ab"], 300, 0)],
)
def test_an_error_changes_nothing(arguments: tuple[Any, ...]) -> None:
    tok = trained(hftok.rustbpe)
    before = tok.get_mergeable_ranks(), tok.get_pattern(), tok.encode("ab abc")
    with pytest.raises((ValueError, TypeError, KeyError)):
        tok.train_from_iterator(*arguments)
    assert (tok.get_mergeable_ranks(), tok.get_pattern(), tok.encode("ab abc")) == before


def test_training_again_forgets_the_first() -> None:
    ours, theirs = trained(hftok.rustbpe), trained(rustbpe)
    assert ours.encode("ab zz") == theirs.encode("ab zz")
    for tok in (ours, theirs):
        tok.train_from_iterator(["zz zz"], 257, pattern=r"\w+")
    assert ours.get_mergeable_ranks() == theirs.get_mergeable_ranks()
    assert ours.encode("ab zz") == theirs.encode("ab zz")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers that send signals")
def test_ctrl_c() -> None:
    """Heeded while the core counts, without a line of Python in between; nothing has changed."""
    tok = trained(hftok.rustbpe)
    before = tok.get_mergeable_ranks()
    given = ["the cat sat on the mat " * 1000] * 2000  # seconds of work

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            tok.train_from_iterator(given, 300, pattern=r"(?i:the|cat)|\w|\s")
        assert time.monotonic() - begin < 3  # half a second, on a machine that has nothing else to do
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    assert tok.get_mergeable_ranks() == before


def test_pickling() -> None:
    tok = trained(hftok.rustbpe)
    tok.encode("ab")
    other = pickle.loads(pickle.dumps(tok))
    assert other.get_mergeable_ranks() == tok.get_mergeable_ranks()
    assert other.encode("ab abc") == tok.encode("ab abc")
