"""The syntax of tiktoken's patterns: from a string to a tree.

tiktoken compiles `pat_str` with the Rust crate fancy-regex 0.19, which parses the pattern itself (parse.rs), hands
classes on to regex-syntax 0.8 (ast/parse.rs, hir/translate.rs) and matches like any backtracking engine. Where this
dialect and the one of `regex_syntax` read the same text differently: `^` and `$` are the ends of the text unless
`(?m)`, `(?s)` is dotall, `{n,m}+` is possessive, a bare `(?i)` holds until the enclosing `(?...:` ends (a capturing
group does not end it), case folding is one to one, classes know `--` and `~~` beside `&&`, `\\h` is a hexadecimal
digit, `\\w` includes the joiners, and a class inside a class is folded and negated by itself.

What the crates reject raises ValueError, as tiktoken does; what they accept and this package does not (back references,
recursion, conditions, absent groups, control verbs, `\\K`, `\\G`) raises UnsupportedTokenizerError, a ValueError too.

Left to others: tables (oniguruma_tables: both engines have Unicode 16), programs (regex_program), matching (patterns).
"""

from __future__ import annotations

from typing import NoReturn

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.errors import UnsupportedTokenizerError
from hftok._core.oniguruma_tables import property_ranges
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
    with_case_variants,
)

MAX_DEPTH = 64  # groups inside groups
MAX_REPEAT = 1000
MAX_SIZE = 10_000  # repeated nodes, multiplied out

NEWLINE: Ranges = ((10, 10),)
CR_LF: Ranges = ((10, 10), (13, 13))
LINE_BREAK = Atomic(Alternatives((Literal((13, 10), False), Set(((10, 13), (0x85, 0x85), (0x2028, 0x2029))))))
CONTROL_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "e": 27}
LETTERS_THAT_MAY_BE_ESCAPED = "kAzbBKGR"  # inside a class, where they mean themselves
META = "\\.+*?()|[]{}^$#&-~"

ASCII_CLASSES: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0, 0x7F),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "digit": ((0x30, 0x39),),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((9, 13), (32, 32)),
    "upper": ((0x41, 0x5A),),
    "word": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}

# General categories by their short names: the values of `\p{gc=...}`.
CATEGORIES = frozenset(
    [
        "c",
        "cc",
        "cf",
        "cn",
        "co",
        "cs",
        "l",
        "lc",
        "ll",
        "lm",
        "lo",
        "lt",
        "lu",
        "m",
        "mc",
        "me",
        "mn",
        "n",
        "nd",
        "nl",
        "no",
        "p",
        "pc",
        "pd",
        "pe",
        "pf",
        "pi",
        "po",
        "ps",
        "s",
        "sc",
        "sk",
        "sm",
        "so",
        "z",
        "zl",
        "zp",
        "zs",
    ]
)
# Names of properties that Oniguruma's table has and the Rust crates do not, or not with this meaning.
NOT_HERE = frozenset(
    ["xdigit", "incb", "newline", "posixpunct", "unknown", "zzzz", "surrogate", "graph", "print", "word"]
)


def parse(pattern: str) -> Node:
    """The tree of `pattern`.

    Raises:
        ValueError: it is no pattern, or (UnsupportedTokenizerError) one that this package cannot reproduce.

    >>> parse("a|[b-d]++")
    Alternatives(branches=(Literal(cps=(97,), ignore_case=False), Atomic(body=Repeat(body=Set(ranges=((98, 100),)), ...
    """
    parser = _Parser(pattern)
    node = parser.alternatives(0)
    if parser.more():
        raise parser.error("end of string not reached")
    if _size(node) > MAX_SIZE:
        raise UnsupportedTokenizerError("a pattern of this size", "pat_str")
    _check_loops(node)
    return node


def _unsupported(what: str) -> NoReturn:
    raise UnsupportedTokenizerError(f"{what} cannot be reproduced; please report this pattern", "pat_str")


def _size(node: Node) -> int:
    if isinstance(node, Sequence | Alternatives):
        return sum(map(_size, node.items if isinstance(node, Sequence) else node.branches))
    if isinstance(node, Repeat):
        if isinstance(node.body, Set):
            return 1
        return _size(node.body) * max(node.low, 1 if node.high == INFINITE else node.high, 1)
    return _size(node.body) if isinstance(node, Atomic | Group | Look) else 1


def _nullable(node: Node) -> bool:
    """Whether a node can match nothing."""
    if isinstance(node, Sequence):
        return all(map(_nullable, node.items))
    if isinstance(node, Alternatives):
        return any(map(_nullable, node.branches))
    if isinstance(node, Repeat):
        return node.low == 0 or _nullable(node.body)
    if isinstance(node, Group | Atomic):
        return _nullable(node.body)
    return not isinstance(node, Set | Literal)


def _nothing_last(node: Node) -> bool:
    """Whether matching nothing is a node's last choice."""
    if isinstance(node, Sequence):
        return all(map(_nothing_last, node.items))
    if isinstance(node, Alternatives):
        return not any(map(_nullable, node.branches[:-1])) and _nothing_last(node.branches[-1])
    if isinstance(node, Repeat):
        return node.greedy and (not _nullable(node.body) or _nothing_last(node.body))
    if isinstance(node, Group | Atomic):
        return _nothing_last(node.body)
    return True


def _check_loops(node: Node) -> None:
    """Refuse loops in which a turn that matches nothing comes before one that matches something. A backtracking engine
    leaves such a loop there; the automata of the crate regex, to which fancy-regex leaves patterns that need no
    backtracking, go on."""
    if isinstance(node, Repeat) and node.high == INFINITE and _nullable(node.body) and not _nothing_last(node.body):
        _unsupported("a loop whose body prefers to match nothing")
    if isinstance(node, Sequence | Alternatives):
        for child in node.items if isinstance(node, Sequence) else node.branches:
            _check_loops(child)
    elif isinstance(node, Repeat | Group | Atomic | Look):
        _check_loops(node.body)


# ---------------------------------------------------------------------------------------------------------------------
# Sets


def word_ranges() -> Ranges:
    """`\\w`: letters, marks, decimal numbers, connecting punctuation and the two joiners (UTS 18)."""
    return code_points.from_pairs(
        pair for name in ("alphabetic", "m", "nd", "pc", "joincontrol") for pair in property_ranges(name) or ()
    )


def perl_class(letter: str) -> Ranges:
    if letter.lower() == "w":
        ranges = word_ranges()
    else:
        ranges = property_ranges("nd" if letter.lower() == "d" else "whitespace") or ()
    return ranges if letter.islower() else code_points.complement(ranges)


def _loose(name: str) -> str:
    """A property's name without case, blanks, hyphens and underscores, and without a leading `is` (UAX44-LM3)."""
    start = 2 if name[:2].lower() == "is" else 0
    name = "".join(c for c in name[start:].lower() if c not in " _-" and c.isascii())
    return "isc" if start and name == "c" else name


def unicode_property(name: str) -> Ranges:
    """The set of `\\p{name}`."""
    for mark in ("!=", ":", "="):
        key, found, value = name.partition(mark)
        if found:
            ranges = _valued(_loose(key), _loose(value))
            return code_points.complement(ranges) if mark == "!=" else ranges
    name = _loose(name)
    ranges_or_none = None if name in NOT_HERE or name.startswith("in") else property_ranges(name)
    if name == "inherited":
        ranges_or_none = property_ranges(name)
    if ranges_or_none is None:
        raise ValueError(f"there is no Unicode property named {name!r}")
    return ranges_or_none


def _valued(key: str, value: str) -> Ranges:
    if key in ("gc", "generalcategory"):
        ranges = property_ranges(value)
        if ranges is None or all(ranges != property_ranges(category) for category in CATEGORIES):
            raise ValueError(f"there is no general category named {value!r}")
        return ranges
    if key in ("sc", "script"):
        ranges = property_ranges(value)
        if ranges is None or value in NOT_HERE or any(ranges == property_ranges(category) for category in CATEGORIES):
            raise ValueError(f"there is no script named {value!r}")
        return ranges
    _unsupported(f"the property \\p{{{key}=...}}")


class _Class:
    """Reads a class as regex-syntax does, from the text that fancy-regex made of it."""

    def __init__(self, text: str, ignore_case: bool) -> None:
        self.text = text
        self.at = 0
        self.ignore_case = ignore_case

    def peek(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.text[at] if at < len(self.text) else ""

    def fold(self, ranges: Ranges) -> Ranges:
        return with_case_variants(ranges) if self.ignore_case else ranges

    def whole(self) -> Ranges:
        if self.peek() == "[":
            ranges = self.bracket()
        else:
            item = self.item()
            ranges = ((item, item),) if isinstance(item, int) else item
            ranges = self.fold(ranges)
        if self.at != len(self.text):
            raise ValueError(f"{self.text!r} is not a single character class")
        return ranges

    def bracket(self) -> Ranges:
        self.at += 1
        negative = self.peek() == "^"
        self.at += negative
        pairs: list[tuple[int, int]] = []
        while self.peek() == "-":
            pairs.append((0x2D, 0x2D))
            self.at += 1
        if not pairs and self.peek() == "]":
            pairs.append((0x5D, 0x5D))
            self.at += 1
        left: Ranges | None = None
        operator = ""
        while True:
            c = self.peek()
            if not c:
                raise ValueError("a character class is not closed")
            if c == "]":
                self.at += 1
                break
            if c == "[":
                named = self.ascii_class()
                pairs.extend(self.bracket() if named is None else named)
            elif c in "&-~" and self.peek(1) == c:
                self.at += 2
                left, operator, pairs = self.combined(left, operator, pairs), c, []
            else:
                pairs.extend(self.range())
        ranges = self.fold(self.combined(left, operator, pairs))
        return code_points.complement(ranges) if negative else ranges

    def combined(self, left: Ranges | None, operator: str, pairs: list[tuple[int, int]]) -> Ranges:
        right = code_points.from_pairs(pairs)
        if left is None:
            return right
        left, right = self.fold(left), self.fold(right)
        if operator == "&":
            return code_points.intersection(left, right)
        without = code_points.intersection(left, code_points.complement(right))
        if operator == "-":
            return without
        return code_points.union(without, code_points.intersection(right, code_points.complement(left)))

    def ascii_class(self) -> Ranges | None:
        if self.peek(1) != ":":
            return None
        negative = self.peek(2) == "^"
        start = self.at + 2 + negative
        end = self.text.find(":", start)
        if end < 0 or self.text[end : end + 2] != ":]" or self.text[start:end] not in ASCII_CLASSES:
            return None
        ranges = ASCII_CLASSES[self.text[start:end]]
        self.at = end + 2
        return code_points.complement(ranges) if negative else ranges

    def range(self) -> Ranges:
        first = self.item()
        if not self.peek():
            raise ValueError("a character class is not closed")
        if self.peek() != "-" or self.peek(1) in ("]", "-"):
            return ((first, first),) if isinstance(first, int) else first
        self.at += 1
        if not self.peek():
            raise ValueError("a character class is not closed")
        last = self.item()
        if not isinstance(first, int) or not isinstance(last, int):
            raise ValueError("a range in a character class must have single characters at both ends")
        if first > last:
            raise ValueError(f"the range {chr(first)}-{chr(last)} in a character class is empty")
        return ((first, last),)

    def item(self) -> int | Ranges:
        c = self.peek()
        if not c:
            raise ValueError("a character class is not closed")
        self.at += 1
        if c != "\\":
            return ord(c)
        c = self.peek()
        self.at += 1
        if c in "dDsSwW":
            return perl_class(c)
        if c in "pP":
            if self.peek() != "{":
                name = self.peek()
                if not name or name == "\\":
                    raise ValueError("\\p without a name")
                self.at += 1
            else:
                end = self.text.find("}", self.at)
                name = self.text[self.at + 1 : end]
                self.at = end + 1
            ranges = self.fold(unicode_property(name))
            return code_points.complement(ranges) if c == "P" else ranges
        if c == "x":  # of fancy-regex's own rewritings
            self.at += 2
            return int(self.text[self.at - 2 : self.at], 16)
        return CONTROL_ESCAPES[c] if c in "tnvfr" else ord(c)


# Oniguruma's names, which fancy-regex spells out before regex-syntax sees them (remap_unicode_property_if_necessary):
# what stands in the brackets, and whether they are negated for the plain name.
_REMAPPED = {
    "alnum": (r"\p{alpha}\p{digit}", False),
    "blank": (r"\p{Zs}\x09", False),
    "cntrl": (r"\x00-\x1F\x7F-\x9F", False),
    "graph": (r"\p{White_Space}\p{C}", True),
    "print": (r"\p{C}\t\n\v\f\r", True),
}


def _property_text(text: str, in_class: bool) -> str:
    if text[2:3] != "{":
        return text
    negative = text[1] == "P"
    name = text[3:-1]
    if name.startswith("^"):
        name, negative = name[1:], not negative
    name = name.lower()
    if name in _REMAPPED:
        inner, inverted = _REMAPPED[name]
        if inverted or negative or not in_class:
            return f"[{'^' if inverted != negative else ''}{inner}]"
        return inner
    if name == "word":
        return r"\W" if negative else r"\w"
    if name == "cs":
        return r"\p{any}" if negative else r"\P{any}"
    return f"\\{'P' if negative else 'p'}{{{name}}}"


# ---------------------------------------------------------------------------------------------------------------------
# Patterns


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.repeatable = False  # the last atom: not a look-around, nor nothing
        self.looks: list[Node] = []  # look-arounds that the pattern spells out, unlike those that stand for assertions
        self.flags = {"i": False, "m": False, "R": False, "s": False, "U": False, "x": False}

    def error(self, reason: str) -> ValueError:
        position = len(self.text[: self.at].encode("utf-8", "surrogatepass"))
        return ValueError(f"Parsing error at position {position}: {reason}")

    def more(self) -> bool:
        return self.at < len(self.text)

    def peek(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.text[at] if at < len(self.text) else ""

    def accept(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def skip_ignored(self) -> None:
        """Comments `(?#...)`, and with `(?x)` blanks and `#` to the end of the line."""
        while self.more():
            c = self.peek()
            if self.flags["x"] and c == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end + 1
            elif self.flags["x"] and c in " \r\n\t":
                self.at += 1
            elif self.accept("(?#"):
                while not self.accept(")"):
                    if not self.more():
                        raise self.error("Opening parenthesis without closing parenthesis")
                    self.at += 2 if self.peek() == "\\" else 1
            else:
                return

    # -- structure

    def alternatives(self, depth: int) -> Node:
        branches = [self.branch(depth)]
        self.skip_ignored()
        while self.accept("|"):
            branches.append(self.branch(depth))
            self.skip_ignored()
        return branches[0] if len(branches) == 1 else Alternatives(tuple(branches))

    def branch(self, depth: int) -> Node:
        items: list[Node] = []
        while self.more():
            before = self.at
            node = self.quantified(self.atom(depth), before)
            if self.at == before:
                break
            if not isinstance(node, Empty):
                items.append(node)
        return _sequence(items)

    def close(self) -> None:
        self.skip_ignored()
        if not self.more():
            raise self.error("Opening parenthesis without closing parenthesis")
        if not self.accept(")"):
            raise self.error("expected close paren")

    def atom(self, depth: int) -> Node:
        self.skip_ignored()
        c = self.peek()
        self.repeatable = False
        if not c or c in "+*?|)":
            return Empty()
        if c == "(":
            return self.group(depth + 1)
        self.repeatable = True
        if c == "\\":
            return self.escape()
        if c == "[":
            return Set(_Class(self.bracket_text(), self.flags["i"]).whole())
        self.at += 1
        if c == ".":
            return self.dot(newline=self.flags["s"], cr_lf=self.flags["R"])
        if c == "^":
            return self.line_start() if self.flags["m"] else Anchor("A")
        if c == "$":
            return self.line_end() if self.flags["m"] else Anchor("z")
        return self.literal(ord(c), self.flags["i"])

    def literal(self, cp: int, ignore_case: bool) -> Node:
        if ignore_case:
            return Set(case_variants(cp))
        return Literal((cp,), False)

    def dot(self, newline: bool, cr_lf: bool) -> Node:
        if newline:
            return Set(code_points.ANY)
        return Set(code_points.complement(CR_LF if cr_lf else NEWLINE))

    def line_start(self) -> Node:
        if not self.flags["R"]:
            return _behind(code_points.complement(NEWLINE), negative=True)
        # Behind a line feed, or behind a carriage return that no line feed follows.
        after_cr = _sequence([_behind(((13, 13),)), _ahead(NEWLINE, negative=True)])
        return Alternatives((Anchor("A"), _behind(NEWLINE), after_cr))

    def line_end(self) -> Node:
        if not self.flags["R"]:
            return _ahead(code_points.complement(NEWLINE), negative=True)
        before_lf = _sequence([_ahead(NEWLINE), _behind(((13, 13),), negative=True)])
        return Alternatives((Anchor("z"), _ahead(((13, 13),)), before_lf))

    # -- repetition

    def quantified(self, node: Node, start: int) -> Node:
        self.skip_ignored()
        c = self.peek()
        if not c:
            return node
        if c == "{":
            interval = self.interval()
            if interval is None:
                return node  # a literal, then
            low, high = interval
        elif c in "?*+":
            low, high = {"?": (0, 1), "*": (0, INFINITE), "+": (1, INFINITE)}[c]
            self.at += 1
        else:
            return node
        if not self.repeatable:
            raise self.error("Target of repeat operator is invalid")
        self.skip_ignored()
        greedy = True
        if self.accept("?"):
            greedy = False
        greedy ^= self.flags["U"]
        possessive = self.accept("+")
        if high != INFINITE and low > high:
            raise ValueError(f"the repetition {{{low},{high}}} has its limits in the wrong order")
        if max(low, high) > MAX_REPEAT:
            _unsupported(f"a repetition of more than {MAX_REPEAT} times")
        repeated: Node = Repeat(node, low, high, greedy)
        return Atomic(repeated) if possessive else repeated

    def interval(self) -> tuple[int, int] | None:
        """`{n}`, `{n,}`, `{,m}` or `{n,m}`, which is skipped; None where it is none of them."""
        start = self.at
        self.at += 1
        found = self._interval()
        if found is None:
            self.at = start
        return found

    def _interval(self) -> tuple[int, int] | None:
        self.skip_ignored()
        low: int | None = 0 if self.peek() == "," else self.number()
        self.skip_ignored()
        if low is None or not self.more():
            return None
        high: int | None = low
        if self.accept(","):
            self.skip_ignored()
            high = self.number()
            self.skip_ignored()
        if not self.accept("}"):
            return None
        return low, INFINITE if high is None else high

    def number(self) -> int | None:
        start = self.at
        while self.peek() and self.peek() in "0123456789":
            self.at += 1
        return int(self.text[start : self.at]) if self.at > start else None

    # -- groups

    def group(self, depth: int) -> Node:
        if depth >= MAX_DEPTH:
            raise self.error("Pattern too deeply nested")
        self.at += 1
        self.skip_ignored()
        look: tuple[bool, bool] | None = None
        atomic = False
        looks = (("?=", (True, False)), ("?!", (True, True)), ("?<=", (False, False)), ("?<!", (False, True)))
        for mark, kind in looks:
            if self.accept(mark):
                look = kind
                break
        else:
            if self.accept("?<") or self.accept("?P<") or self.accept("?'"):
                end = self.text.find("'" if self.text[self.at - 1] == "'" else ">", self.at)
                if end <= self.at:
                    raise self.error("Could not parse group name")
                self.at = end + 1
            elif self.accept("?>"):
                atomic = True
            elif self.text.startswith(("?P=", "?P>", "?~", "?(", "*"), self.at):
                _unsupported(f"the group ({self.text[self.at : self.at + 3]}...)")
            elif self.peek() == "?":
                return self.options(depth)
        body = self.alternatives(depth)
        self.close()
        self.repeatable = look is None
        if look is not None:
            ahead, negative = look
            self.looks.append(Look(body, ahead, negative))
            return self.looks[-1]
        if atomic:
            return Atomic(body)
        return Group(body, 0) if isinstance(body, Look | Empty) else body

    def options(self, depth: int) -> Node:
        """`(?flags)`, which hold from here on, and `(?flags:...)`."""
        self.at += 1
        start = self.at
        before = dict(self.flags)
        negative = False
        while True:
            self.skip_ignored()
            c = self.peek()
            if not c:
                raise self.error("Opening parenthesis without closing parenthesis")
            if c in self.flags:
                self.flags[c] = not negative
            elif c == "u":
                if negative:
                    raise self.error("Disabling Unicode not supported")
            elif c == "-" and not negative:
                negative = True
            elif c == ")" and self.at > start + negative:
                self.at += 1
                self.repeatable = False
                return Empty()
            elif c == ":" and not (negative and self.at == start + 1):
                self.at += 1
                body = self.alternatives(depth)
                if not self.more():
                    raise self.error("Opening parenthesis without closing parenthesis")
                if not self.accept(")"):
                    raise self.error("expected close paren")
                self.flags = before
                # These parentheses leave no trace: of a look-around alone, or of nothing, there is still no repeat.
                self.repeatable = not isinstance(body, Empty) and not any(body is look for look in self.looks)
                return body
            else:
                raise self.error(f"Unknown group flag: (?{self.text[start : self.at + 1]}")
            self.at += 1

    # -- escapes

    def escape(self) -> Node:
        ignore_case = self.flags["i"]
        found = self.escaped(in_class=False)
        if isinstance(found, str):
            return Set(_Class(found, ignore_case and found not in ("[0-9A-Fa-f]", "[^0-9A-Fa-f]")).whole())
        if isinstance(found, tuple):
            cp, foldable = found
            return self.literal(cp, ignore_case and foldable)
        return found

    def escaped(self, in_class: bool) -> Node | str | tuple[int, bool]:
        """After a backslash: a node, the text of a class, or a character and whether `(?i)` holds for it."""
        c = self.peek(1)
        if not c:
            raise self.error("Backslash without following character")
        start = self.at
        self.at += 2
        if c in "0123456789" or (c in "kg" and not in_class):
            if in_class:
                raise self.error("Invalid character class")
            _unsupported(f"the reference \\{c}")
        if c in "dDsSwW":
            return "\\" + c
        if c in "hH":
            return "[0-9A-Fa-f]" if c == "h" else "[^0-9A-Fa-f]"
        if c in "xuU":
            return self.hexadecimal({"x": 2, "u": 4, "U": 8}[c]), True
        if c in "pP" and self.more():
            end = self.at + 1
            if self.peek() == "{":
                end = self.text.find("}", self.at) + 1
                if not end:
                    raise self.error("Unclosed Unicode name")
            self.at = end
            return _property_text(self.text[start:end], in_class)
        if not in_class:
            node = self.assertion(c)
            if node is not None:
                return node
        if c in CONTROL_ESCAPES:
            return CONTROL_ESCAPES[c], False
        if c.isascii() and c.isalpha() and c not in LETTERS_THAT_MAY_BE_ESCAPED:
            self.at = start
            raise self.error(f"Invalid escape: \\{c}")
        return ord(c), False

    def assertion(self, c: str) -> Node | None:
        if c in "Az":
            return Anchor(c)
        if c == "Z":
            newlines = Repeat(Set(CR_LF if self.flags["R"] else NEWLINE), 0, INFINITE, True)
            return Look(_sequence([newlines, Anchor("z")]), True, False)
        if c in "bB":
            return self.word_boundary(c)
        if c in "<>":
            return _word_edge(start=c == "<")
        if c in "KG":
            _unsupported(f"\\{c}")
        if c == "R":
            return LINE_BREAK
        if c == "O":
            return self.dot(newline=True, cr_lf=True)
        if c == "N":
            return self.dot(newline=False, cr_lf=False)
        return None

    def word_boundary(self, c: str) -> Node:
        after = self.at
        self.skip_ignored()
        if self.accept("{"):
            self.skip_ignored()
            if not (self.peek() and (self.peek() in "0123456789" or self.peek() == ",")):
                end = self.text.find("}", self.at)
                name = self.text[self.at : end] if end >= 0 else ""
                self.at = end + 1 if end >= 0 else after
                if c == "b" and name in ("start", "end"):
                    return _word_edge(start=name == "start")
                if c == "b" and name == "start-half":
                    return _behind(word_ranges(), negative=True)
                if c == "b" and name == "end-half":
                    return _ahead(word_ranges(), negative=True)
                raise self.error(f"Invalid escape: \\{c}{{{name}}}")
        self.at = after
        edges = (_word_edge(start=True), _word_edge(start=False))
        if c == "b":
            return Alternatives(edges)
        word = word_ranges()
        return Alternatives(
            (
                _sequence([_behind(word), _ahead(word)]),
                _sequence([_behind(word, negative=True), _ahead(word, negative=True)]),
            )
        )

    def hexadecimal(self, digits: int) -> int:
        self.skip_ignored()
        found = self.text[self.at : self.at + digits]
        if len(found) == digits and all(c in "0123456789abcdefABCDEF" for c in found):
            self.at += digits
        elif self.accept("{"):
            found = ""
            while True:
                self.skip_ignored()
                c = self.peek()
                if c == "}" and found:
                    self.at += 1
                    break
                if not c or c not in "0123456789abcdefABCDEF" or len(found) >= 8:
                    raise self.error("Invalid hex escape")
                found += c
                self.at += 1
        else:
            raise self.error("Invalid hex escape")
        cp = int(found, 16)
        if cp > code_points.LAST or 0xD800 <= cp < 0xE000:
            raise self.error("Invalid codepoint for hex or unicode escape")
        return cp

    # -- classes

    def bracket_text(self) -> str:
        """The class that begins here, as fancy-regex hands it to regex-syntax."""
        self.at += 1
        out = ["["]
        if self.accept("^"):
            out.append("^")
        if self.accept("]"):
            out.append("]")
        nested = 1
        seen_negated = False
        while True:
            c = self.peek()
            if not c:
                raise self.error("Invalid character class")
            if c == "\\":
                found = self.escaped(in_class=True)
                if isinstance(found, str):
                    if found.startswith("[^") and ("\\p{" in found or "\\P{" in found or "[:" in found):
                        # A second one of these is intersected with all before it: parse_class, is_negated_prop.
                        if seen_negated:
                            out.append("&&")
                        seen_negated = True
                    out.append(found)
                elif isinstance(found, tuple):
                    cp = found[0]
                    out.append("\\" + chr(cp) if chr(cp) in META else chr(cp))
                else:
                    raise self.error("Invalid character class")
                continue
            self.at += 1
            out.append(c)
            if c == "[":
                nested += 1
                if self.accept("^"):
                    out.append("^")
                if self.accept("]"):
                    out.append("]")
            elif c == "]":
                nested -= 1
                if not nested:
                    return "".join(out)


def _sequence(items: list[Node]) -> Node:
    """Items in a row; literals that meet are joined."""
    out: list[Node] = []
    for item in items:
        last = out[-1] if out else None
        if isinstance(item, Literal) and isinstance(last, Literal):
            out[-1] = Literal(last.cps + item.cps, False)
        elif isinstance(item, Sequence):
            out.extend(item.items)
        elif not isinstance(item, Empty):
            out.append(item)
    if not out:
        return Empty()
    return out[0] if len(out) == 1 else Sequence(tuple(out))


def _ahead(ranges: Ranges, negative: bool = False) -> Node:
    return Look(Set(ranges), True, negative)


def _behind(ranges: Ranges, negative: bool = False) -> Node:
    return Look(Set(ranges), False, negative)


def _word_edge(start: bool) -> Node:
    word = word_ranges()
    return _sequence([_behind(word, negative=start), _ahead(word, negative=not start)])
