"""The tree of a pattern: its nodes, the rewritings that Oniguruma makes while it reads, and case variants.

`regex_syntax` builds these trees, `regex_program` turns them into programs for the matcher (patterns).
"""

from __future__ import annotations

from dataclasses import dataclass

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.oniguruma_tables import fold_groups, several_folds

INFINITE = -1


@dataclass(frozen=True, slots=True)
class Empty:
    pass


@dataclass(frozen=True, slots=True)
class Literal:
    """A run of characters, to be matched with or without regard to case."""

    cps: tuple[int, ...]
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class Set:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    body: Node
    low: int
    high: int  # INFINITE for no limit
    greedy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A group that stays one in the tree: capturing (`number` > 0) or with options of its own (0)."""

    body: Node
    number: int


@dataclass(frozen=True, slots=True)
class Atomic:
    body: Node


@dataclass(frozen=True, slots=True)
class Look:
    body: Node
    ahead: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Anchor:
    """One of ^ $ A z Z b B G (the letters of the escapes), or K for \\K."""

    kind: str


@dataclass(frozen=True, slots=True)
class BackReference:
    number: int


Node = Empty | Literal | Set | Sequence | Alternatives | Repeat | Group | Atomic | Look | Anchor | BackReference


def sequence(items: list[Node]) -> Node:
    """Items in a row: sequences within are opened, literals that meet are joined, empty ones dropped, but for a trace
    of them beside an anchor alone: that may be repeated, an anchor may not."""
    out: list[Node] = []
    for item in items:
        for node in item.items if isinstance(item, Sequence) else (item,):
            last = out[-1] if out else None
            if isinstance(node, Literal) and isinstance(last, Literal) and node.ignore_case == last.ignore_case:
                out[-1] = Literal(last.cps + node.cps, node.ignore_case)
            elif not isinstance(node, Empty):
                out.append(node)
    if not out:
        return Empty()
    if len(out) > 1:
        return Sequence(tuple(out))
    return Sequence((Empty(), out[0])) if len(items) > 1 and isinstance(out[0], Anchor | Look) else out[0]


_KINDS = {(0, 1): 0, (0, INFINITE): 1, (1, INFINITE): 2}

# A quantifier on a quantified node: what Oniguruma makes of ?, *, +, ??, *?, +? (rows: inner, columns: outer).
_REDUCED = (
    ("inner", "*", "*", "??", "*?", "both"),
    ("inner", "inner", "inner", "(+)??", "(+)??", "inner"),
    ("*", "*", "inner", "both", "(+)??", "inner"),
    ("inner", "*?", "*?", "inner", "*?", "*?"),
    ("inner", "inner", "inner", "inner", "inner", "inner"),
    ("both", "*", "+", "*?", "*?", "inner"),
)


def _kind(low: int, high: int, greedy: bool) -> int | None:
    kind = _KINDS.get((low, high))
    return kind if kind is None or greedy else kind + 3


def repeat(body: Node, low: int, high: int, greedy: bool) -> Node:
    if not isinstance(body, Repeat):
        return Repeat(body, low, high, greedy)
    inner, outer = _kind(body.low, body.high, body.greedy), _kind(low, high, greedy)
    if inner is None or outer is None:
        if inner in (1, 2) and outer is None and high != INFINITE and high > 1 and greedy:
            high = low or 1
        return Repeat(body, low, high, greedy)
    how = _REDUCED[inner][outer]
    if how == "inner":
        return body
    if how == "both":
        return Repeat(body, low, high, greedy)
    if how == "(+)??":
        return Repeat(Repeat(body.body, 1, INFINITE, True), 0, 1, False)
    simple = {"*": (0, INFINITE, True), "+": (1, INFINITE, True), "*?": (0, INFINITE, False), "??": (0, 1, False)}
    return Repeat(body.body, *simple[how])


# ---------------------------------------------------------------------------------------------------------------------
# Case


def case_variants(cp: int) -> Ranges:
    """The code points that match `cp` without regard to case, `cp` included, one character for one.

    >>> case_variants(ord("k"))
    ((75, 75), (107, 107), (8490, 8490))
    """
    group = fold_groups().get(cp)
    if group is None:
        fold = several_folds().get(cp)
        group = (cp,) if fold is None else tuple(other for other, f in several_folds().items() if f == fold)
    return code_points.from_pairs((other, other) for other in group)


def with_case_variants(ranges: Ranges) -> Ranges:
    extra = [
        (cp, cp)
        for cp in (*fold_groups(), *several_folds())
        if any(code_points.contains(ranges, other) for other, _ in case_variants(cp))
    ]
    return code_points.union(ranges, code_points.from_pairs(extra))
