"""Which neighbouring characters no match of a pattern can hold side by side.

A pattern is seen as the set of all strings that its branches spell, whatever its assertions say: more than what it
matches. From that follows, for two neighbours x and y of a text at which no branch goes on from x to y: no match
reaches across, an attempt that begins before y has failed or ended when y is reached, and so what is matched before y
depends on nothing after it. Assertions are let in where they cannot break this: lookahead for one character, and the
end of the text, both only where they are not asked between x and y, or would say the same at the end of the text as
before y.

(Glushkov's construction: a position for each set of characters in the tree, and which positions may follow which.)
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable
from dataclasses import dataclass, field

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.oniguruma_tables import several_folds
from hftok._core.regex_tree import (
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

__all__ = ["Neighbours", "sure_starts"]


class NotAnalysed(Exception):
    """The pattern looks around in ways that are not followed here."""


@dataclass(frozen=True)
class _Part:
    """What a node spells: whether nothing at all, where it may begin and end (bit sets of positions)."""

    empty: bool
    first: int
    last: int


_NOTHING = _Part(True, 0, 0)


@dataclass
class _Positions:
    sets: list[Ranges | None] = field(default_factory=list)  # None: an assertion, which consumes nothing
    follow: list[int] = field(default_factory=list)
    refused: list[Ranges] = field(default_factory=list)  # what an assertion sees, by position

    def add(self, ranges: Ranges | None, seen: Ranges = code_points.NOTHING) -> int:
        self.sets.append(ranges)
        self.follow.append(0)
        self.refused.append(seen)
        return 1 << (len(self.sets) - 1)

    def connect(self, last: int, first: int) -> None:
        while last:
            low = last & -last
            self.follow[low.bit_length() - 1] |= first
            last ^= low

    # ---- the tree

    def part(self, node: Node) -> _Part:
        match node:
            case Empty():
                return _NOTHING
            case Set():
                bit = self.add(node.ranges)
                return _Part(False, bit, bit)
            case Literal():
                return self.row([self.literal(cp, node.ignore_case) for cp in node.cps])
            case Sequence():
                return self.row([self.part(item) for item in node.items])
            case Alternatives():
                parts = [self.part(branch) for branch in node.branches]
                return _Part(any(p.empty for p in parts), _union(p.first for p in parts), _union(p.last for p in parts))
            case Group() | Atomic():
                return self.part(node.body)
            case Repeat():
                body = self.part(node.body)
                if node.high != 1:
                    self.connect(body.last, body.first)
                return _Part(body.empty or node.low == 0, body.first, body.last)
            case Look() if node.ahead:
                return self.assertion(_single(node.body))
            case Anchor() if node.kind in "$zZ":
                return self.assertion(code_points.ANY)
        raise NotAnalysed

    def literal(self, cp: int, ignore_case: bool) -> _Part:
        ranges: Ranges = ((cp, cp),)
        if ignore_case:
            # One character may match several of the pattern: such characters count as all of them.
            several = code_points.from_pairs((other, other) for other in several_folds())
            ranges = code_points.union(case_variants(cp), several)
        bit = self.add(ranges)
        return _Part(False, bit, bit)

    def assertion(self, seen: Ranges) -> _Part:
        bit = self.add(None, seen)
        return _Part(False, bit, bit)

    def row(self, parts: list[_Part]) -> _Part:
        whole = _NOTHING
        for part in parts:
            self.connect(whole.last, part.first)
            whole = _Part(
                whole.empty and part.empty,
                whole.first | part.first if whole.empty else whole.first,
                whole.last | part.last if part.empty else part.last,
            )
        return whole

    def through_assertions(self, bits: int) -> tuple[int, Ranges]:
        """Positions that consume, reached from these without consuming; and what the assertions on the way see."""
        done, seen = 0, code_points.NOTHING
        while bits & ~done:
            low = bits & ~done & -(bits & ~done)
            done |= low
            i = low.bit_length() - 1
            if self.sets[i] is None:
                seen = code_points.union(seen, self.refused[i])
                bits |= self.follow[i]
        for i, ranges in enumerate(self.sets):
            if ranges is None:
                done &= ~(1 << i)
        return done, seen


def _union(values: Iterable[int]) -> int:
    return functools.reduce(operator.or_, values, 0)


def _single(node: Node) -> Ranges:
    """The characters of a lookahead that sees one. Raises NotAnalysed for any other."""
    match node:
        case Set():
            return node.ranges
        case Group() | Atomic():
            return _single(node.body)
        case Literal() if len(node.cps) == 1 and not node.ignore_case:
            return ((node.cps[0], node.cps[0]),)
        case Alternatives():
            ranges = code_points.NOTHING
            for branch in node.branches:
                ranges = code_points.union(ranges, _single(branch))
            return ranges
    raise NotAnalysed


def sure_starts(tree: Node) -> Ranges:
    """Characters at each of which a match begins, if none reaches over them: some branch needs nothing else."""
    branches = tree.branches if isinstance(tree, Alternatives) else (tree,)
    return code_points.from_pairs(pair for branch in branches for pair in _sure_starts(branch))


def _sure_starts(branch: Node) -> Ranges:
    items = branch.items if isinstance(branch, Sequence) else (branch,)
    needed: Ranges | None = None
    taken = code_points.NOTHING  # by an atomic group before, which does not give them back
    for item in items:
        inner = item.body if isinstance(item, Atomic) else item
        if isinstance(inner, Empty):
            continue
        if isinstance(inner, Repeat) and inner.low == 0:
            if isinstance(item, Atomic) and needed is None:
                if not isinstance(inner.body, Set):
                    return code_points.NOTHING
                taken = code_points.union(taken, inner.body.ranges)
            continue
        single = inner.body if isinstance(inner, Repeat) and inner.low == 1 else inner
        if needed is not None or not isinstance(single, Set):
            return code_points.NOTHING
        needed = single.ranges
    return code_points.intersection(needed or code_points.NOTHING, code_points.complement(taken))


class Neighbours:
    """What a pattern says about two neighbouring characters of a text.

    Args:
        tree: of the pattern.

    Raises:
        NotAnalysed: it looks behind itself, or further ahead than one character.

    >>> from hftok._core import regex_syntax
    >>> words = Neighbours(regex_syntax.parse(r" ?\\w+|\\s+(?!\\S)|\\s+"))
    >>> words.apart("a", " "), words.apart(" ", "a"), words.apart("a", "b"), words.apart(" ", " ")
    (True, False, False, False)
    """

    def __init__(self, tree: Node) -> None:
        positions = _Positions()
        whole = positions.part(tree)
        first, _ = positions.through_assertions(whole.first)
        if whole.empty or not first:
            raise NotAnalysed  # an empty match is nobody's boundary
        self._sets = [ranges or code_points.NOTHING for ranges in positions.sets]
        reached = [positions.through_assertions(bits) for bits in positions.follow]
        self._follow = [bits for bits, _ in reached]
        self._seen = [seen for _, seen in reached]
        self._sure = sure_starts(tree)
        self._bits: dict[str, int] = {}
        self._cache: dict[tuple[str, str], tuple[bool, bool]] = {}

    def holds(self, character: str) -> bool:
        """Whether the character may be part of a match."""
        return self._positions(character) != 0

    def apart(self, x: str, y: str) -> bool:
        """Whether no match holds x and y side by side, and what is matched before y does not depend on what follows."""
        return self._pair(x, y)[0]

    def boundary(self, x: str, y: str) -> bool:
        """`apart`, and one of the two is surely matched: matches, and what lies between them, end between x and y."""
        return self._pair(x, y)[1]

    def _positions(self, character: str) -> int:
        bits = self._bits.get(character)
        if bits is None:
            cp = ord(character)
            bits = sum(1 << i for i, ranges in enumerate(self._sets) if code_points.contains(ranges, cp))
            self._bits[character] = bits
        return bits

    def _pair(self, x: str, y: str) -> tuple[bool, bool]:
        answer = self._cache.get((x, y))
        if answer is None:
            if len(self._cache) > 1 << 16:
                self._cache.clear()
            answer = self._cache[x, y] = self._decide(x, y)
        return answer

    def _decide(self, x: str, y: str) -> tuple[bool, bool]:
        bits, right, i = self._positions(x), self._positions(y), 0
        while bits:
            if bits & 1 and (self._follow[i] & right or code_points.contains(self._seen[i], ord(y))):
                return False, False
            bits >>= 1
            i += 1
        sure = code_points.contains(self._sure, ord(x)) or code_points.contains(self._sure, ord(y))
        return True, sure
