"""Programs of patterns: from a tree to what the matcher in patterns.pyx runs.

A program is a list of instructions for a backtracking matcher whose choices are tried in the order that Oniguruma
tries them. What makes it fast is decided here: characters out of one set repeat in a single instruction; such a repeat
keeps no way back where what follows cannot begin with a member or cannot fail; alternatives are entered through a table
indexed by the next byte; a choice whose other side cannot begin with the next byte is not remembered.

Literals without regard to case follow unicode.c of Oniguruma: two or three characters that are together the fold of one
character match that character as well (`(?i:ss)` matches U+00DF), leftmost longest within the literal; in a look-behind
only one-for-one variants count.

Left to others: syntax (regex_syntax), tables of the classes (patterns.pyx).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.errors import UnsupportedTokenizerError
from hftok._core.oniguruma_tables import fold_groups, property_ranges, several_folds
from hftok._core.regex_tree import (
    INFINITE,
    Alternatives,
    Anchor,
    Atomic,
    BackReference,
    Empty,
    Group,
    Literal,
    Look,
    Node,
    Repeat,
    Sequence,
    Set,
    case_variants,
    sequence,
)


class Op(IntEnum):
    """Instructions; a, b, c, d are their operands. "fail" means: take up the last choice."""

    MATCH = 0
    CHAR = 1  # the byte a
    STRING = 2  # the b bytes at a of the literals
    SET = 3  # one character of class a
    RUN = 4  # b..c characters of class a, as many as there are, one less after each failure; d: bytes that may follow
    RUN_ATOMIC = 5  # the same without a way back
    RUN_LAZY = 6  # the same, as few as possible first
    JUMP = 7  # to a
    CHOICE = 8  # go on here, else at a; b: bytes that can begin here, c: at a (-1: any, the end included)
    ALTERNATIVES = 9  # table a, whose masks say which of the branch addresses from b on can begin with the next byte
    MARK = 10  # remember in register a how many choices are open
    CUT = 11  # forget the choices since register a
    LOOK = 12  # MARK a and remember the position in register a + 1 and the end of the text in a + 2
    LOOK_END = 13  # CUT a and return to that position and end
    LOOK_NOT = 14  # as LOOK, with b as the way on when what follows fails
    LOOK_NOT_END = 15  # CUT a with that way too, and fail
    NEXT_IS = 16  # the next character is (b = 1: is not) of class a; at the end it is not
    BEFORE_IS = 17  # the same for the character before
    LINE_START = 18
    LINE_END = 19
    TEXT_START = 20
    TEXT_END = 21
    TEXT_END_NEWLINE = 22
    WORD_EDGE = 23  # b = 1: no edge; class a holds the word characters
    SEARCH_START = 24
    SET_COUNT = 25  # register a = 0
    COUNT = 26  # register a += 1
    COUNTED = 27  # by register a: below b go on; from c on (c >= 0) go to d; between both, as CHOICE
    COUNTED_LAZY = 28
    LOOP_START = 29  # register a = position
    LOOP_EMPTY = 30  # to b if register a is still the position
    SAVE = 31  # register a = position (captures)
    REFERENCE = 32  # the text of the capture in registers a, a + 1
    KEEP = 33  # the match begins here (a register, like SAVE)
    BEHIND = 34  # after LOOK or LOOK_NOT: start b characters back, on failure one more each, up to c (-1: no limit);
    #              if b and c differ the text ends at the position
    BEHIND_END = 35  # fail unless the position is that of register a + 1
    FAIL = 36
    CHOICE_LAZY = 37  # go on at a, else here; b, c as in CHOICE


@dataclass(slots=True)
class Program:
    code: list[list[int]] = field(default_factory=list)
    classes: list[Ranges] = field(default_factory=list)
    literals: bytearray = field(default_factory=bytearray)
    byte_sets: list[int] = field(default_factory=list)  # bit sets of 256
    tables: list[list[int]] = field(default_factory=list)  # 257 masks each, the last one for the end of the text
    branches: list[int] = field(default_factory=list)
    registers: int = 0
    keep: int = -1  # the register of KEEP
    required: bytes = b""  # occurs in every match
    first: int = -1  # the byte set that a match can begin with; -1: anything, the end included


@dataclass(frozen=True, slots=True)
class _Next:
    """What can come next: the characters that it can begin with, whether it can match nothing, whether it always
    succeeds."""

    ranges: Ranges
    nullable: bool
    certain: bool


_END = _Next(code_points.NOTHING, True, True)
EXPANSION_LIMIT = 400


def build(tree: Node) -> Program:
    """The program of a tree from `regex_syntax.parse`."""
    try:
        return _Builder(tree).program
    except RecursionError:
        raise UnsupportedTokenizerError("groups nested too deeply", "Regex") from None


def _references(node: Node) -> set[int]:
    if isinstance(node, BackReference):
        return {node.number}
    if isinstance(node, Sequence | Alternatives):
        children = node.items if isinstance(node, Sequence) else node.branches
        return set().union(*map(_references, children))
    if isinstance(node, Repeat | Group | Atomic | Look):
        return _references(node.body)
    return set()


def _as_set(node: Node) -> Ranges | None:
    """The set of a node that always matches exactly one character."""
    if isinstance(node, Set):
        return node.ranges
    if isinstance(node, Literal) and len(node.cps) == 1:
        if not node.ignore_case:
            return ((node.cps[0], node.cps[0]),)
        if node.cps[0] not in several_folds():
            return case_variants(node.cps[0])
    if isinstance(node, Alternatives):
        sets = [_as_set(branch) for branch in node.branches]
        if all(s is not None for s in sets):
            return code_points.from_pairs(pair for s in sets if s for pair in s)
    if isinstance(node, Group) and node.number == 0:
        return _as_set(node.body)
    return None


def expand_literal(literal: Literal, behind: bool) -> Node:
    """A literal without regard to case as sets and alternatives."""
    if not literal.ignore_case:
        return literal
    items: list[Node] = []
    folds = several_folds()
    by_fold: dict[tuple[int, ...], list[int]] = {}
    for cp, fold in folds.items():
        by_fold.setdefault(fold, []).append(cp)
    at = 0
    while at < len(literal.cps):
        cp = literal.cps[at]
        if not behind:
            simple = [_simple_fold(c) for c in literal.cps[at : at + 3]]
            found = next((tuple(simple[:n]) for n in (3, 2) if len(simple) >= n and tuple(simple[:n]) in by_fold), None)
            if found is None and cp in folds:
                found = folds[cp]
                length = 1
            else:
                length = len(found) if found else 1
            if found is not None:
                single = code_points.from_pairs((c, c) for c in by_fold[found])
                spelled = sequence([Set(case_variants(c)) for c in found])
                items.append(Alternatives((spelled, Set(single))))
                at += length
                continue
        items.append(Set(case_variants(cp)))
        at += 1
    return sequence(items)


def _simple_fold(cp: int) -> int:
    """The representative of a group of case variants: the lower-case one, as case folding has it."""
    group = fold_groups().get(cp)
    if group is None:
        return cp
    return next((other for other in group if _is_fold(other)), cp)


def _is_fold(cp: int) -> bool:
    """Whether `cp` stands in some several-character fold; only those representatives are ever looked up."""
    return any(cp in fold for fold in several_folds().values())


class _Builder:
    def __init__(self, tree: Node) -> None:
        self.program = Program()
        self.class_ids: dict[Ranges, int] = {}
        self.set_ids: dict[int, int] = {}
        self.nexts: dict[tuple[int, bool], _Next] = {}
        self.alive: list[Node] = []  # nodes made on the way, so that the ids in `nexts` stay theirs
        self.captures: dict[int, int] = {}
        self.behind = False
        for number in sorted(_references(tree)):
            self.captures[number] = self.register(2)
        tree = self.expanded(tree)
        if self.captures:
            self.check_captures(tree, False)
        first = self.next_of(tree)
        if not first.nullable:
            self.program.first = self.byte_set(code_points.lead_bytes(first.ranges))
        self.program.required = _required(tree)
        self.emit(tree, _END)
        self.op(Op.MATCH)

    def expanded(self, node: Node, behind: bool = False) -> Node:
        """The tree with its literals spelled out and one-character alternatives made sets."""
        if isinstance(node, Literal):
            return expand_literal(node, behind)
        single = _as_set(node)
        if single is not None:
            return Set(single)
        if isinstance(node, Sequence):
            return sequence([self.expanded(item, behind) for item in node.items])
        if isinstance(node, Alternatives):
            return Alternatives(tuple(self.expanded(branch, behind) for branch in node.branches))
        if isinstance(node, Repeat):
            return Repeat(self.expanded(node.body, behind), node.low, node.high, node.greedy)
        if isinstance(node, Group):
            body = self.expanded(node.body, behind)
            # In a look-behind a capturing group counts even if nothing refers to it (see _length).
            return Group(body, node.number) if node.number in self.captures or (behind and node.number) else body
        if isinstance(node, Atomic):
            return Atomic(self.expanded(node.body, behind))
        if isinstance(node, Look):
            body = self.expanded(node.body, behind or not node.ahead)
            if not node.ahead:
                _check_behind(body)
            return Look(body if node.ahead else _without_leading_repeats(body), node.ahead, node.negative)
        return node

    def check_captures(self, node: Node, in_loop: bool) -> None:
        """A loop over something that can match nothing also looks at captures in the reference; that is not built."""
        if isinstance(node, Group) and in_loop:
            raise UnsupportedTokenizerError("a back reference into a loop that can match nothing", "Regex")
        if isinstance(node, Repeat):
            in_loop = in_loop or (node.high == INFINITE and self.next_of(node.body).nullable)
        if isinstance(node, Sequence | Alternatives):
            for child in node.items if isinstance(node, Sequence) else node.branches:
                self.check_captures(child, in_loop)
        elif isinstance(node, Repeat | Group | Atomic | Look):
            self.check_captures(node.body, in_loop)

    # -- what can come next

    def next_of(self, node: Node) -> _Next:
        key = (id(node), True)
        found = self.nexts.get(key)
        if found is None:
            self.alive.append(node)
            found = self.nexts[key] = self.find_next(node)
        return found

    def find_next(self, node: Node) -> _Next:
        if isinstance(node, Empty):
            return _END
        if isinstance(node, Literal):
            return _Next(((node.cps[0], node.cps[0]),), False, False)
        if isinstance(node, Set):
            return _Next(node.ranges, False, False)
        if isinstance(node, Sequence):
            result = _END
            for item in reversed(node.items):
                result = _then(self.next_of(item), result)
            return result
        if isinstance(node, Alternatives):
            nexts = [self.next_of(branch) for branch in node.branches]
            return _Next(
                code_points.from_pairs(pair for n in nexts for pair in n.ranges),
                any(n.nullable for n in nexts),
                any(n.certain for n in nexts),
            )
        if isinstance(node, Repeat):
            if node.high == 0:
                return _END
            body = self.next_of(node.body)
            return _Next(body.ranges, node.low == 0 or body.nullable, node.low == 0 or body.certain)
        if isinstance(node, Group | Atomic):
            return self.next_of(node.body)
        if isinstance(node, BackReference):
            return _Next(code_points.ANY, True, False)
        return _Next(code_points.NOTHING, True, isinstance(node, Anchor) and node.kind == "K")

    # -- tables

    def class_id(self, ranges: Ranges) -> int:
        if ranges not in self.class_ids:
            self.class_ids[ranges] = len(self.program.classes)
            self.program.classes.append(ranges)
        return self.class_ids[ranges]

    def byte_set(self, bits: int) -> int:
        if bits not in self.set_ids:
            self.set_ids[bits] = len(self.program.byte_sets)
            self.program.byte_sets.append(bits)
        return self.set_ids[bits]

    def bytes_of(self, following: _Next) -> int:
        return -1 if following.nullable else self.byte_set(code_points.lead_bytes(following.ranges))

    def register(self, count: int = 1) -> int:
        self.program.registers += count
        return self.program.registers - count

    def op(self, op: Op, a: int = 0, b: int = 0, c: int = 0, d: int = 0) -> int:
        self.program.code.append([int(op), a, b, c, d])
        return len(self.program.code) - 1

    @property
    def here(self) -> int:
        return len(self.program.code)

    # -- code

    def emit(self, node: Node, following: _Next) -> None:
        if isinstance(node, Literal):
            data = "".join(map(chr, node.cps)).encode("utf-8")
            if len(data) == 1:
                self.op(Op.CHAR, data[0])
            else:
                self.op(Op.STRING, len(self.program.literals), len(data))
                self.program.literals += data
        elif isinstance(node, Set):
            self.one(node.ranges)
        elif isinstance(node, Sequence):
            tails = [following]
            for item in reversed(node.items[1:]):
                tails.append(_then(self.next_of(item), tails[-1]))
            for item, tail in zip(node.items, reversed(tails), strict=True):
                self.emit(item, tail)
        elif isinstance(node, Alternatives):
            self.alternatives(list(node.branches), following)
        elif isinstance(node, Repeat):
            self.repeat(node, following)
        elif isinstance(node, Group):
            register = self.captures.get(node.number, -1)
            if register >= 0:
                self.op(Op.SAVE, register)
            self.emit(node.body, following)
            if register >= 0:
                self.op(Op.SAVE, register + 1)
        elif isinstance(node, Atomic):
            register = self.register()
            self.op(Op.MARK, register)
            # What follows must not prune the body: its first way through counts, even if the rest then fails.
            self.emit(node.body, _END)
            self.op(Op.CUT, register)
        elif isinstance(node, Look):
            self.look(node)
        elif isinstance(node, Anchor):
            self.anchor(node.kind)
        elif isinstance(node, BackReference):
            self.op(Op.REFERENCE, self.captures[node.number])

    def one(self, ranges: Ranges) -> None:
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1] < 0x80:
            self.op(Op.CHAR, ranges[0][0])
        elif ranges:
            self.op(Op.SET, self.class_id(ranges))
        else:
            self.op(Op.FAIL)

    def anchor(self, kind: str) -> None:
        if kind in "bB":
            word = property_ranges("\\w")
            assert word is not None
            self.op(Op.WORD_EDGE, self.class_id(word), int(kind == "B"))
        else:
            ops = {"^": Op.LINE_START, "$": Op.LINE_END, "A": Op.TEXT_START, "z": Op.TEXT_END}
            ops |= {"Z": Op.TEXT_END_NEWLINE, "G": Op.SEARCH_START, "K": Op.KEEP}
            if kind == "K" and self.program.keep < 0:
                self.program.keep = self.register()
            self.op(ops[kind], self.program.keep if kind == "K" else 0)

    def alternatives(self, branches: list[Node], following: _Next) -> None:
        if len(branches) > 32:
            branches = [*branches[:31], Alternatives(tuple(branches[31:]))]
        masks = [0] * 257
        for i, branch in enumerate(branches):
            start = _then(self.next_of(branch), following)
            bits = code_points.lead_bytes(start.ranges)
            for byte in range(257):
                if start.nullable or (byte < 256 and bits >> byte & 1):
                    masks[byte] |= 1 << i
        table = len(self.program.tables)
        self.program.tables.append(masks)
        first = len(self.program.branches)
        self.program.branches += [0] * len(branches)
        self.op(Op.ALTERNATIVES, table, first)
        jumps = []
        for i, branch in enumerate(branches):
            self.program.branches[first + i] = self.here
            self.emit(branch, following)
            jumps.append(self.op(Op.JUMP))
        for jump in jumps:
            self.program.code[jump][1] = self.here

    def repeat(self, node: Repeat, following: _Next) -> None:
        if node.high == 0:
            return
        single = _as_set(node.body)
        if single is not None:
            self.run(single, node, following)
            return
        if self.next_of(node.body).nullable and max(node.low, node.high) > 1 and not _tame(node.body):
            # Oniguruma counts turns with an instruction or spells them out, as their size has it; in the first form
            # an empty turn ends the repeat, even below its lower limit. It shows where that is not the last resort.
            raise UnsupportedTokenizerError("a counted repeat of something that can match nothing", "Regex")
        again = _then(self.next_of(node.body), following)
        inside = _Next(
            code_points.union(again.ranges, following.ranges),
            again.nullable or following.nullable,
            following.certain and node.low == 0,
        )
        copies = node.low + (1 if node.high == INFINITE else node.high - node.low)
        if copies > 1 and copies * _size(node.body) > EXPANSION_LIMIT:
            self.counted(node, inside, following)
            return
        for _ in range(node.low):
            self.emit(node.body, inside)
        choice = Op.CHOICE if node.greedy else Op.CHOICE_LAZY
        into, past = self.bytes_of(self.next_of(node.body)), self.bytes_of(following)
        if node.high == INFINITE:
            loop = self.op(choice, 0, into, past)
            if self.next_of(node.body).nullable:
                register = self.register()
                self.op(Op.LOOP_START, register)
                self.emit(node.body, inside)
                check = self.op(Op.LOOP_EMPTY, register)
                self.op(Op.JUMP, loop)
                self.program.code[check][2] = self.here
            else:
                self.emit(node.body, inside)
                self.op(Op.JUMP, loop)
            self.program.code[loop][1] = self.here
            return
        choices = []
        for _ in range(node.high - node.low):
            choices.append(self.op(choice, 0, into, past))
            self.emit(node.body, inside)
        for at in choices:
            self.program.code[at][1] = self.here

    def counted(self, node: Repeat, inside: _Next, following: _Next) -> None:
        register = self.register()
        empty = node.high == INFINITE and self.next_of(node.body).nullable
        self.op(Op.SET_COUNT, register)
        loop = self.op(Op.COUNTED if node.greedy else Op.COUNTED_LAZY, register, node.low, node.high)
        start = self.register() if empty else -1
        if empty:
            self.op(Op.LOOP_START, start)
        self.emit(node.body, inside)
        self.op(Op.COUNT, register)
        check = self.op(Op.LOOP_EMPTY, start) if empty else -1
        self.op(Op.JUMP, loop)
        self.program.code[loop][4] = self.here
        if empty:
            # Below the lower limit an empty turn still counts as one: all that are missing are empty, too.
            self.program.code[check][2] = self.here

    def run(self, single: Ranges, node: Repeat, following: _Next) -> None:
        high = node.high
        if not single:
            if node.low:
                self.op(Op.FAIL)
            return
        if node.low == high == 1:
            self.one(single)
            return
        disjoint = not following.nullable and not code_points.intersection(single, following.ranges)
        if following.certain and not node.greedy:
            high = node.low
        if node.low == high or following.certain or disjoint:
            # Nothing can come of giving characters back; a lazy run before a non-member ends where a greedy one does.
            self.op(Op.RUN_ATOMIC, self.class_id(single), node.low, high)
        else:
            op = Op.RUN if node.greedy else Op.RUN_LAZY
            self.op(op, self.class_id(single), node.low, high, self.bytes_of(following))

    def look(self, node: Look) -> None:
        low, high, sure = _length(node.body)
        if not node.ahead:
            if isinstance(node.body, Alternatives) and low != high and all(map(_fixed, node.body.branches[1:])):
                # Branches of fixed lengths become look-behinds of their own.
                parts = [Look(branch, False, node.negative) for branch in node.body.branches]
                self.alive.extend(parts)
                whole = Sequence(tuple(parts)) if node.negative else Alternatives(tuple(parts))
                self.emit(whole, _Next(code_points.NOTHING, True, False))
                return
            if low == 0 and sure:
                # A look-behind that can match nothing is decided while compiling (regcomp.c, tune_look_behind), even
                # where running its body, an atomic group say, would decide otherwise.
                if node.negative:
                    self.op(Op.FAIL)
                return
        single = _as_set(node.body)
        if single is not None:
            self.op(Op.NEXT_IS if node.ahead else Op.BEFORE_IS, self.class_id(single), int(node.negative))
            return
        register = self.register(3)
        start = self.op(Op.LOOK_NOT if node.negative else Op.LOOK, register)
        if not node.ahead:
            self.op(Op.BEHIND, register, low, high)
        # Once a look-ahead's body has matched nothing can fail any more; a look-behind's must also end at the position.
        self.emit(node.body, _Next(code_points.NOTHING, True, node.ahead))
        if not node.ahead:
            self.op(Op.BEHIND_END, register)
        self.op(Op.LOOK_NOT_END if node.negative else Op.LOOK_END, register)
        self.program.code[start][2] = self.here


def _then(a: _Next, b: _Next) -> _Next:
    if not a.nullable:
        return _Next(a.ranges, False, a.certain and b.certain)
    return _Next(code_points.union(a.ranges, b.ranges), b.nullable, a.certain and b.certain)


def _required(node: Node) -> bytes:
    """The longest literal that every match holds, of those that are easy to see: without one in the text there is no
    match, however many ways there would be to look for it."""
    if isinstance(node, Literal):
        return "".join(map(chr, node.cps)).encode("utf-8")
    if isinstance(node, Set) and len(node.ranges) == 1 and node.ranges[0][0] == node.ranges[0][1]:
        return chr(node.ranges[0][0]).encode("utf-8", "ignore")
    if isinstance(node, Sequence):
        return max((_required(item) for item in node.items), key=len)
    if isinstance(node, Group | Atomic) or (isinstance(node, Repeat) and node.low > 0):
        return _required(node.body)
    return b""


def _tame(node: Node) -> bool:
    """Whether a node's last way to match, and one that is always open, is to match nothing."""
    if isinstance(node, Empty):
        return True
    if isinstance(node, Repeat):
        return node.greedy and (node.low == 0 or _tame(node.body))
    if isinstance(node, Sequence):
        return all(map(_tame, node.items))
    return False


def _size(node: Node) -> int:
    """About how many instructions a node takes."""
    if isinstance(node, Sequence):
        return sum(map(_size, node.items))
    if isinstance(node, Alternatives):
        return 1 + sum(1 + _size(branch) for branch in node.branches)
    if isinstance(node, Repeat):
        if _as_set(node.body) is not None:
            return 1
        copies = node.low + (1 if node.high == INFINITE else node.high - node.low)
        return min(2 + copies * (1 + _size(node.body)), EXPANSION_LIMIT)
    if isinstance(node, Group | Atomic | Look):
        return 3 + _size(node.body)
    return 1


def _fixed(node: Node) -> bool:
    low, high, _ = _length(node)
    return low == high


def _without_leading_repeats(body: Node) -> Node:
    """A look-behind's body with the repeats that it begins with cut down to what they need (regcomp.c,
    alt_reduce_in_look_behind)."""
    if isinstance(body, Alternatives):
        return Alternatives(tuple(map(_without_leading_repeats, body.branches)))
    items: list[Node] = list(body.items) if isinstance(body, Sequence) else [body]
    for i, item in enumerate(items):
        if not (isinstance(item, Repeat) and isinstance(item.body, Set | Literal)):
            break
        items[i] = Repeat(item.body, item.low, item.low, item.greedy)
        if item.low > 0:
            break
    return sequence(items)


def _check_behind(body: Node) -> None:
    """Refuse the look-behinds that Oniguruma reads in ways of its own."""
    for branch in body.branches if isinstance(body, Alternatives) else (body,):
        if isinstance(branch, Sequence) and all(isinstance(item, Repeat) and item.low == 0 for item in branch.items):
            # Mostly an error there ("undefined error code"), as all of it may be cut away.
            raise UnsupportedTokenizerError("a look-behind of optional parts only", "Regex")
    _check_plain(body)


def _check_plain(node: Node) -> None:
    if isinstance(node, Atomic | Look | BackReference):
        raise UnsupportedTokenizerError("an atomic group, look-around or back reference in a look-behind", "Regex")
    if isinstance(node, Sequence | Alternatives):
        for child in node.items if isinstance(node, Sequence) else node.branches:
            _check_plain(child)
    elif isinstance(node, Repeat | Group):
        _check_plain(node.body)


def _length(node: Node) -> tuple[int, int, bool]:
    """Fewest and most characters (INFINITE: no limit) that a node can match, and whether Oniguruma takes the fewest for
    granted (regcomp.c, node_char_len1: not with anchors and captures)."""
    if isinstance(node, Set):
        return 1, 1, True
    if isinstance(node, Literal):
        return len(node.cps), len(node.cps), True
    if isinstance(node, Sequence):
        lengths = [_length(item) for item in node.items]
        most = INFINITE if any(high == INFINITE for _, high, _ in lengths) else sum(high for _, high, _ in lengths)
        return sum(low for low, _, _ in lengths), most, all(sure for _, _, sure in lengths)
    if isinstance(node, Alternatives):
        lengths = [_length(branch) for branch in node.branches]
        most = INFINITE if any(high == INFINITE for _, high, _ in lengths) else max(high for _, high, _ in lengths)
        least = min(low for low, _, _ in lengths)
        return least, most, any(sure for low, _, sure in lengths if low == least)
    if isinstance(node, Repeat):
        if node.high == 0:
            return 0, 0, True
        low, high, sure = _length(node.body)
        most = INFINITE if INFINITE in (high, node.high) and high != 0 else high * node.high
        return low * node.low, most, sure
    if isinstance(node, Group):
        low, high, sure = _length(node.body)
        return low, high, sure and not node.number
    if isinstance(node, Atomic):
        return _length(node.body)
    if isinstance(node, BackReference):
        return 0, INFINITE, False
    return 0, 0, isinstance(node, Empty)
