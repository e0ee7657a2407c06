"""Which family of scanners serves a pre-tokenizer (see regex_body.pxi for what a family is).

`recognise(spec)` and, for the patterns of tiktoken and rustbpe, `recognise_rust(pattern)` compare what is meant, not
how it is written. Patterns are parsed (regex_syntax, rust_regex) and brought to a form in which spellings of the same
thing are equal; two patterns with equal forms find the same matches in every text. The rewritings, each with the
reason why it changes no match:

- Groups that only hold together are opened, capturing ones too: no family has a back reference, and a tree with one
  in it is equal to none of theirs. Characters without regard to case become sets of their variants, but for those
  that fold to several characters, or that are such a fold together: these stay as they are.
- `_words`: alternatives of finite length side by side ('s|'t|'re) form a set of words if no two of them can match at
  the same place: then their order says nothing.
- `_loose`: a possessive repeat of one set is a plain one where giving characters back could not help: nothing that
  can fail follows it in its branch, or what follows must begin with a character that is not in the set.
- `_white`: W*N, with N a part of W, takes a run of W up to its last N, and so does W*N+. Behind the alternative
  W+(?!not W), which only fails at single characters, W and W+ are the same. W++$ is W++\\z if W has the newline,
  since `$` stands before a newline or at the end, and is needless before an alternative W+(?!not W), which takes all
  of that run too.

Splits: what a pattern of a family matches makes up the text, hence "isolated" and "removed" with `invert` do the
same; for patterns that leave gaps only "isolated" is known. `invert` does not matter to "isolated".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from hftok._core import code_points, rust_regex
from hftok._core.code_points import Ranges
from hftok._core.errors import RegexSyntaxError, UnsupportedTokenizerError
from hftok._core.oniguruma_tables import several_folds
from hftok._core.patterns import declare_sound
from hftok._core.regex_syntax import parse
from hftok._core.regex_tree import (
    INFINITE,
    Alternatives,
    Anchor,
    Atomic,
    Empty,
    Group,
    Literal,
    Look,
    Node,
    Repeat,
    Sequence,
    Set,
    case_variants,
)

Spec = tuple[Any, ...]

CONTRACTIONS = "'s|'t|'re|'ve|'m|'ll|'d"
WHITE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = CONTRACTIONS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
FOLDED = f"(?i:{CONTRACTIONS})?"


def _cl100k(numbers: str, letters: str = r"\p{L}", others: str = r"[^\s\p{L}\p{N}]+[\r\n]*", white: str = WHITE) -> str:
    return rf"(?i:{CONTRACTIONS})|[^\r\n\p{{L}}\p{{N}}]?{letters}+|{numbers}| ?{others}|{white}"


def _o200k(numbers: str, contractions: str, tail: str, minus: str = "", first: str = "") -> str:
    upper, lower = rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}{minus}]", rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}{minus}]"
    prefix = r"[^\r\n\p{L}\p{N}]?"
    return (
        f"{first}{prefix}{upper}*{lower}+{contractions}|{prefix}{upper}+{lower}*{contractions}|{numbers}"
        rf"| ?[^\s\p{{L}}\p{{N}}]+{tail}*|{WHITE}"
    )


def _split(pattern: str) -> Spec:
    return ("Split", "Regex", pattern, "isolated", False)


def _then_bytes(*steps: str | Spec) -> Spec:
    splits = (_split(step) if isinstance(step, str) else step for step in steps)
    return ("Sequence", (*splits, ("ByteLevel", False, True, False)))


GPT2_BYTES: Spec = ("ByteLevel", False, True, True)


# Each family as a pre-tokenizer.
FAMILIES: dict[str, Spec] = {
    "gpt2": GPT2_BYTES,
    "gpt2_digits": ("Sequence", (("Digits", True), GPT2_BYTES)),
    "cl100k": _then_bytes(_cl100k(r"\p{N}{1,3}")),
    "cl100k_end": _then_bytes(_cl100k(r"\p{N}{1,3}", white=rf"\s++$|{WHITE}")),
    "nanochat": _then_bytes(_cl100k(r"\p{N}{1,2}")),
    "qwen2": _then_bytes(_cl100k(r"\p{N}")),
    "qwen3_5": _then_bytes(_cl100k(r"\p{N}", r"[\p{L}\p{M}]", r"[^\s\p{L}\p{M}\p{N}]+[\r\n]*")),
    "seed_coder": _then_bytes(_cl100k(r"\p{N}", others=r"[^\s\p{L}\p{N}\r\n]+")),
    "o200k": _then_bytes(_o200k(r"\p{N}{1,3}", FOLDED, r"[\r\n/]")),
    "tekken": _then_bytes(_o200k(r"\p{N}", "", r"[\r\n/]")),
    "kimi_k2": _then_bytes(_o200k(r"\p{N}{1,3}", FOLDED, r"[\r\n]", r"&&[^\p{Han}]", r"[\p{Han}]+|")),
    "deepseek_v3": _then_bytes(
        r"\p{N}{1,3}",
        "[一-龥\u3040-ゟ゠-ヿ]+",
        r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"""
        r" ?[\p{P}\p{S}]+[\r\n]*|" + WHITE,
    ),
    "deepseek_coder": _then_bytes(
        r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥\x{0800}-一가-\x{D7FF}]+", ("Digits", True)
    ),
    "bloom": _then_bytes(" ?[^(\\s|[.,!?…。，、।۔،])]+"),
    "falcon": (
        "Sequence",
        (("Punctuation", "contiguous"), GPT2_BYTES, ("Digits", False), _split("[0-9][0-9][0-9]")),
    ),
}

# The families of one pattern that matches something at every place but the end.
TILING = ("cl100k", "cl100k_end", "nanochat", "qwen2", "qwen3_5", "seed_coder", "o200k", "tekken", "kimi_k2")


# ---------------------------------------------------------------------------------------------------------------------
# Patterns

Word = tuple[Ranges, ...]

MOST_WORDS = 64  # of a pattern's part that is written out
LONGEST = 2000  # characters of a pattern that is looked at: those of the families are far shorter


@dataclass(frozen=True, slots=True)
class Words:
    """One of several words, of which at most one matches at any place. A word is a row of sets of characters."""

    words: frozenset[Word]


Form = Node | Words


@lru_cache(64)
def form_of(pattern: str) -> Form | None:
    """The form of a pattern in which patterns are compared; None if it has none: too long, or an error in it.

    >>> form_of("'s|'t|(?:'re)") == form_of("'(?:[st]|re)")
    True
    """
    if len(pattern) > LONGEST:
        return None
    try:
        return _form(parse(pattern))
    except (RegexSyntaxError, UnsupportedTokenizerError):
        return None


def _form(tree: Node) -> Form:
    form = _simple(tree)
    branches = [_loose(branch) for branch in (form.branches if isinstance(form, Alternatives) else (form,))]
    return _alternatives(_white(branches))


def _simple(node: Form) -> Form:
    match node:
        case Literal():
            return _row(_characters(node))
        case Group():
            return _simple(node.body)
        case Sequence():
            return _row([_simple(item) for item in node.items])
        case Alternatives():
            return _alternatives([_simple(branch) for branch in node.branches])
        case Repeat() if 2 <= node.low == node.high <= 4:
            return _row([_simple(node.body)] * node.low)
        case Repeat():
            return Repeat(_simple(node.body), node.low, node.high, node.greedy)  # type: ignore[arg-type]
        case Atomic():
            return Atomic(_simple(node.body))  # type: ignore[arg-type]
        case Look():
            return Look(_simple(node.body), node.ahead, node.negative)  # type: ignore[arg-type]
    return node


@cache
def _folds() -> dict[int, list[tuple[int, ...]]]:
    """What characters fold to that fold to several, by the first one of it."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for fold in several_folds().values():
        found.setdefault(fold[0], []).append(fold)
    return found


def _characters(literal: Literal) -> list[Form]:
    if not literal.ignore_case:
        return [Set(((cp, cp),)) for cp in literal.cps]
    variants = [case_variants(cp) for cp in literal.cps]
    for start, first in enumerate(variants):
        if literal.cps[start] in several_folds():
            return [literal]
        for fold in (fold for low, high in first for cp in range(low, high + 1) for fold in _folds().get(cp, ())):
            here = variants[start : start + len(fold)]
            if len(here) == len(fold) and all(map(code_points.contains, here, fold)):
                return [literal]
    return [Set(ranges) for ranges in variants]


def _row(items: list[Form]) -> Form:
    flat: list[Form] = []
    for item in items:
        if isinstance(item, Sequence):
            flat.extend(item.items)
        elif not isinstance(item, Empty):
            flat.append(item)
    if len(flat) == 1:
        return flat[0]
    whole = Sequence(tuple(flat))  # type: ignore[arg-type]
    if any(isinstance(item, Words | Alternatives) for item in flat):
        words = _language(whole)
        if words is not None:
            return _words(words) or whole
    return whole if flat else Empty()


def _alternatives(branches: list[Form]) -> Form:
    flat: list[Form] = []
    for each in branches:
        flat.extend(each.branches if isinstance(each, Alternatives) else (each,))
    out: list[Form] = []
    run: list[Form] = []  # of finite length, side by side
    for i in range(len(flat) + 1):
        branch = flat[i] if i < len(flat) else None
        if branch is not None and _language(branch) is not None:
            run.append(branch)
            continue
        words = [word for member in run for word in _language(member) or ()]
        joined = _words(words) if 1 < len(words) <= MOST_WORDS else None
        out.extend(run if joined is None else [joined])
        run = []
        if branch is not None:
            out.append(branch)
    return out[0] if len(out) == 1 else Alternatives(tuple(out))  # type: ignore[arg-type]


def _language(form: Form) -> list[Word] | None:
    """The words that a form stands for, in the order of its alternatives; None if they are not few and fixed."""
    match form:
        case Set():
            return [(form.ranges,)]
        case Words():
            return sorted(form.words)
        case Sequence():
            words: list[Word] = [()]
            for item in form.items:
                more = _language(item)
                if more is None or len(words) * len(more) > MOST_WORDS:
                    return None
                words = [word + other for word in words for other in more]
            return words
        case Alternatives():
            lists = [_language(branch) for branch in form.branches]
            words = [word for each in lists for word in each or ()]
            return words if None not in lists and len(words) <= MOST_WORDS else None
    return None


def _words(words: list[Word]) -> Form | None:
    """Words as a set of them, those joined that differ in one place; None if two may match at the same place."""
    for i, word in enumerate(words):
        for other in words[:i]:
            if not any(code_points.intersection(a, b) == () for a, b in zip(word, other, strict=False)):
                return None
    joined = sorted(words)
    i = 0
    while i < len(joined):
        for k in range(i):
            differ = [at for at in range(len(joined[i])) if joined[i][at : at + 1] != joined[k][at : at + 1]]
            if len(joined[i]) == len(joined[k]) and len(differ) == 1:
                at = differ[0]
                union = code_points.union(joined[i][at], joined[k][at])
                one = (*joined[k][:at], union, *joined[k][at + 1 :])
                joined = sorted([*joined[:k], one, *joined[k + 1 : i], *joined[i + 1 :]])
                i = -1
                break
        i += 1
    return _row([Set(ranges) for ranges in joined[0]]) if len(joined) == 1 else Words(frozenset(joined))


def _items(branch: Form) -> tuple[Form, ...]:
    return branch.items if isinstance(branch, Sequence) else (branch,)


def _first(item: Form | None) -> Ranges | None:
    """What `item` begins with, if that is one set and it matches no empty text."""
    match item:
        case Set():
            return item.ranges
        case Atomic():
            return _first(item.body)
        case Repeat() if item.low:
            return _first(item.body)
    return None


def _never_fails(item: Form) -> bool:
    return _never_fails(item.body) if isinstance(item, Atomic) else isinstance(item, Repeat) and item.low == 0


def _loose(branch: Form) -> Form:
    """A branch of the whole pattern without the possessive repeats that are none in effect."""
    items = list(_items(branch))
    for i, item in enumerate(items):
        match item:
            case Atomic(body=Repeat(body=Set(ranges=ranges), greedy=True) as body):
                following = _first(items[i + 1]) if i + 1 < len(items) else None
                apart = following is not None and code_points.intersection(following, ranges) == ()
                if apart or all(map(_never_fails, items[i + 1 :])):
                    items[i] = body
            case Atomic() if i + 1 == len(items):
                items[i] = item.body
    return _row(items)


def _white(branches: list[Form]) -> list[Form]:
    """The branches of the whole pattern, those that match runs of one set written one way."""
    out: list[Form] = []
    for branch in branches:
        match _items(branch):
            case (Repeat(body=Set(ranges=w), low=0, high=-1, greedy=True) as run, Set(ranges=n)) if _within(n, w):
                branch = Sequence((run, Repeat(Set(n), 1, INFINITE, True)))
            case (Atomic(body=Repeat(body=Set(ranges=w), low=1, high=-1, greedy=True) as run), Anchor(kind="$")) if (
                code_points.contains(w, 10)
            ):
                branch = Sequence((run, Anchor("z")))
            case (Atomic(body=Repeat(body=Set(), low=1, high=-1, greedy=True) as run), Anchor(kind="z")):
                branch = Sequence((run, Anchor("z")))
        before = out[-1] if out else None
        if isinstance(branch, Set) and before == _but_last(branch):
            branch = Repeat(branch, 1, INFINITE, True)
        match _items(before) if before is not None else ():
            case (Repeat(body=Set() as white, low=1, high=-1, greedy=True), Anchor(kind="z")) if branch == _but_last(
                white
            ):
                out.pop()
        out.append(branch)
    return out


def _within(n: Ranges, w: Ranges) -> bool:
    return code_points.intersection(n, w) == n


def _but_last(white: Set) -> Form:
    """W+(?!not W)"""
    return Sequence((Repeat(white, 1, INFINITE, True), Look(Set(code_points.complement(white.ranges)), True, True)))


# ---------------------------------------------------------------------------------------------------------------------
# Pre-tokenizers


def _flat(spec: Spec) -> list[Spec]:
    return [step for each in spec[1] for step in _flat(each)] if spec[0] == "Sequence" else [spec]


def _steps(spec: Spec, tiling: frozenset[Form]) -> tuple[Any, ...] | None:
    """A pre-tokenizer as a row of steps that can be compared; None if it is of no family."""
    out: list[Any] = []
    for kind, *arguments in _flat(spec):
        if kind == "ByteLevel":
            if arguments[2]:
                out.append(form_of(GPT2))
            out.append("bytes")
        elif kind in ("Digits", "Punctuation"):
            out.append((kind, *arguments))
        elif kind == "Split" and arguments[0] == "Regex":
            form = form_of(arguments[1])
            behavior, invert = arguments[2:]
            if form is None or not (behavior == "isolated" or (behavior == "removed" and invert and form in tiling)):
                return None
            out.append(form)
        else:
            return None
    return tuple(out)


@cache
def _tiling() -> frozenset[Form]:
    """The forms of the patterns that match at every place of every text."""
    patterns = [FAMILIES[name][1][0][2] for name in TILING]
    return frozenset(form for form in map(form_of, (GPT2, *patterns)) if form is not None)


@cache
def _families() -> dict[tuple[Any, ...], str]:
    found: dict[tuple[Any, ...], str] = {}
    for name, spec in FAMILIES.items():
        steps = _steps(spec, frozenset())
        assert steps is not None
        found[steps] = name
    return found


@cache
def _patterns() -> dict[Form | None, str]:
    return {form_of(GPT2): "gpt2"} | {form_of(FAMILIES[name][1][0][2]): name for name in TILING}


# tiktoken's patterns (r50k_base and p50k_base, cl100k_base, o200k_base) and nanochat's, as they are written there.
RUST_PATTERNS = {
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s": "gpt2",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s": "cl100k_end",
    _o200k(r"\p{N}{1,3}", FOLDED, r"[\r\n/]"): "o200k",
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+": "nanochat",
}


@lru_cache(64)
def recognise_rust(pattern: str) -> str | None:
    r"""The family whose scanner finds the matches of a pattern in fancy-regex's syntax (tiktoken, rustbpe), or None.
    Its classes may be of another Unicode version: then the forms differ.

    >>> recognise_rust(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s")
    'gpt2'
    """
    if pattern in RUST_PATTERNS:
        return RUST_PATTERNS[pattern]  # without parsing
    if len(pattern) > LONGEST:
        return None
    try:
        return _patterns().get(_form(rust_regex.parse(pattern)))
    except ValueError:  # not a pattern, or one that cannot be reproduced
        return None


LONGEST_WORD = 31  # characters
RUNS = r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"


@cache
def _runs() -> frozenset[Node]:
    form = form_of(RUNS)
    assert isinstance(form, Alternatives)
    return frozenset(form.branches)


def recognise_runs(spec: Spec | None) -> list[str] | None:
    r"""The words of a pre-tokenizer of CLIP's kind, or None: white space is dropped, and pieces are one of these words,
    a run of letters, a number, or a run of others; in bytes. Words are of ASCII, without white space, and begin with
    one of the others, so that they may only stand where a run of these would begin; no two fit the same place.

    >>> recognise_runs(("Sequence", (("Split", "Regex", r"'s|'re|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "removed", True),
    ...     ("ByteLevel", False, True, True))))
    ["'re", "'s"]
    """
    steps = [] if spec is None else _flat(spec)
    if [step[0] for step in steps] != ["Split", "ByteLevel"] or steps[1][1]:
        return None
    _, kind, pattern, behavior, invert = steps[0]
    form = form_of(pattern) if (kind, behavior, bool(invert)) == ("Regex", "removed", True) else None
    if not isinstance(form, Alternatives) or frozenset(form.branches[-3:]) != _runs() or len(form.branches) > 4:
        return None
    words: list[str] = []
    if len(form.branches) == 4:
        words = [text for word in _language(form.branches[0]) or () for text in _texts(word)]
        if not 0 < len(words) <= MOST_WORDS or not all(map(_fits, words)):
            return None
    return words


def _texts(word: Word) -> list[str]:
    """The texts that a word stands for; none where they are many, which the empty text says."""
    texts = [""]
    for ranges in word:
        members = [chr(cp) for low, high in ranges for cp in range(low, min(high, low + MOST_WORDS) + 1)]
        texts = [text + member for text in texts for member in members]
        if len(texts) > MOST_WORDS:
            return [""]
    return texts


def _fits(word: str) -> bool:
    return (
        1 < len(word) <= LONGEST_WORD
        and word.isascii()
        and word.isprintable()
        and " " not in word
        and not word[0].isalnum()
    )


def _spelling(spec: Spec) -> tuple[Spec, ...]:
    """A pre-tokenizer as it is written, without what does not matter."""
    return tuple(map(_step_spelling, _flat(spec)))


def _step_spelling(step: Spec) -> Spec:
    if step[0] == "ByteLevel":
        return ("ByteLevel", step[3])
    if step[:2] == ("Split", "Regex") and not ("\\\r" in step[2] or "\\\n" in step[2]):
        # Line ends may stand in a pattern as themselves, or as escapes.
        return (*step[:2], step[2].replace("\r", r"\r").replace("\n", r"\n"), *step[3:])
    return step


@cache
def _spellings() -> dict[tuple[Spec, ...], str]:
    """The usual ways of writing the families: no pattern has to be parsed for these."""
    found = {_spelling(spec): name for name, spec in FAMILIES.items()}
    for name in TILING:
        (_, _, pattern, _, _), then = FAMILIES[name][1]
        found[_spelling(("Sequence", (("Split", "Regex", pattern, "removed", True), then)))] = name
    return found


def recognise(spec: Spec | None) -> str | None:
    """The family of a pre-tokenizer, given as in pre_tokenizers.pyx, or None. Whether ByteLevel puts a space in front
    of the text, and what it does to offsets, does not matter here.

    >>> recognise(("ByteLevel", True, True, True))
    'gpt2'
    >>> recognise(("Sequence", (("Split", "Regex", "[a-z]+", "isolated", False), ("ByteLevel", False, True, False))))
    """
    if spec is None:
        return None
    known = _spellings().get(_spelling(spec))
    if known is not None:
        return known
    steps = _steps(spec, _tiling())
    return None if steps is None else _families().get(steps)


def _declare_sound() -> None:
    """The patterns of the families need not be compiled to be known to be patterns (tests do)."""
    for spec in FAMILIES.values():
        for step in _flat(spec):
            if step[:2] == ("Split", "Regex"):
                declare_sound(step[2])
                declare_sound(step[2].replace(r"\r", "\r").replace(r"\n", "\n"))
    declare_sound(GPT2)


_declare_sound()
