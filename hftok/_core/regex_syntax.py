"""The syntax of patterns: from a string to a tree.

The reference hands the patterns of Split and Replace to Oniguruma 6.9.10 with its default syntax (utils/onig.rs), so
this is a parser of that syntax with its readings: `^` and `$` are line anchors, `(?m)` is what others call dotall, a
bare `(?i)` opens a group that runs to the end of the enclosing one *across* its bars, `{n}?` is an optional `{n}`,
`{n,m}+` repeats a greedy repeat and only `{m,n}` with m > n is a possessive one, `[a-[b]]` loses the `a`, `\\w` and
`[\\w]` differ below U+0100. What Oniguruma rejects raises RegexSyntaxError with its message; what it accepts and this
package does not (recursion, absent groups, call-outs, conditions, text segments) raises UnsupportedTokenizerError.

Left to others: single characters (regex_characters), brackets (regex_brackets), case folding of literals and everything
about execution (regex_program), tables (oniguruma_tables).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.errors import RegexSyntaxError, UnsupportedTokenizerError
from hftok._core.oniguruma_tables import property_ranges, several_folds
from hftok._core.regex_brackets import BracketReader
from hftok._core.regex_characters import unsupported
from hftok._core.regex_tree import (
    INFINITE,
    Alternatives,
    Anchor,
    Atomic,
    BackReference,
    Group,
    Literal,
    Look,
    Node,
    Repeat,
    Sequence,
    Set,
    case_variants,
    repeat,
    sequence,
    with_case_variants,
)

MAX_REPEAT = 100_000


NEWLINE: Ranges = ((10, 10),)
LINE_BREAK = Alternatives((Literal((13, 10), False), Set(((10, 13), (0x85, 0x85), (0x2028, 0x2029)))))


def parse(pattern: str) -> Node:
    """The tree of `pattern`.

    >>> parse("a|b+")
    Alternatives(branches=(Literal(cps=(97,), ignore_case=False), Repeat(body=Literal(cps=(98,), ...
    """
    try:
        return _Parser(pattern).whole()
    except RecursionError:
        raise UnsupportedTokenizerError("groups nested too deeply", "Regex") from None


@dataclass(frozen=True, slots=True)
class _Options:
    ignore_case: bool = False
    extended: bool = False
    dot_all: bool = False


class _Parser(BracketReader):
    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self.groups = 0
        self.names: dict[str, list[int]] = {}
        self.numbered_references = False
        self.references: list[int] = []
        self.unnamed: set[int] = set()

    # -- structure

    def whole(self) -> Node:
        node = self.alternatives(_Options(), nested=False)
        if self.names:
            if self.numbered_references:
                raise RegexSyntaxError("numbered backref/call is not allowed. (use name)")
            node = _without_unnamed_captures(node, self.unnamed)
        elif any(number > self.groups for number in self.references):
            raise RegexSyntaxError("invalid backref number/name")
        _check_look_behind(node)
        return node

    def alternatives(self, options: _Options, nested: bool) -> Node:
        """Up to the closing parenthesis, which is left to the caller, or the end."""
        branches = [self.branch(options, nested)]
        while self.accept("|"):
            branches.append(self.branch(options, nested))
        if nested and not self.more():
            raise RegexSyntaxError("end pattern with unmatched parenthesis")
        return branches[0] if len(branches) == 1 else Alternatives(tuple(branches))

    def skip_ignored(self, options: _Options) -> None:
        """Comments, and in extended mode blanks."""
        while True:
            if self.accept("(?#"):
                while True:
                    if not self.more():
                        raise RegexSyntaxError("end pattern in group")
                    c = self.take()
                    if c == "\\":
                        if self.more():
                            self.take()
                    elif c == ")":
                        break
            elif options.extended and self.more() and self.peek() in " \t\n\r\f":
                self.take()
            elif options.extended and self.peek() == "#":
                while self.more() and self.take() != "\n":
                    pass
            else:
                return

    def branch(self, options: _Options, nested: bool) -> Node:
        items: list[Node] = []
        while True:
            self.skip_ignored(options)
            if not self.more() or self.peek() == "|":
                break
            if self.peek() == ")":
                if nested:
                    break
                raise RegexSyntaxError("unmatched close parenthesis")
            node, rest = self.item(options, nested)
            items.append(node)
            if rest:
                break  # a bare (?i) has swallowed the rest of the enclosing group
        return sequence(items)

    def item(self, options: _Options, nested: bool) -> tuple[Node, bool]:
        grouped = False
        if self.peek() == "(":
            self.take()
            node, kind = self.group(options, nested)
            if kind == "rest":
                return node, True
            grouped = kind == "plain"
        elif self.peek() in "*+?" or (self.peek() == "{" and self.interval(peek=True) is not None):
            raise RegexSyntaxError("target of repeat operator is not specified")
        else:
            node = self.atom(options)
        return self.quantifiers(node, grouped, options), False

    # -- repetition

    def interval(self, peek: bool = False) -> tuple[int, int, bool, bool] | None:
        """`{..}` at the current position as (low, high, fixed, possessive), or None where it is not an interval."""
        start = self.at
        assert self.take() == "{"
        low = self.number()
        high: int | None
        fixed = False
        if self.accept(","):
            high = self.number()
            bad = low is None and high is None
            if high is None:
                high = INFINITE
        else:
            high, fixed, bad = low, True, low is None
        if max(low or 0, high or 0) > MAX_REPEAT:
            raise RegexSyntaxError("too big number for repeat range")
        if bad or not self.accept("}"):
            self.at = start
            return None
        if peek:
            self.at = start
        assert high is not None
        low = low or 0
        if high != INFINITE and low > high:
            return high, low, fixed, True
        return low, high, fixed, False

    def quantifier(self) -> tuple[int, int, bool, bool] | None:
        """(low, high, greedy, possessive), or None."""
        c = self.peek()
        if c and c in "*+?":
            self.take()
            low, high = {"*": (0, INFINITE), "+": (1, INFINITE), "?": (0, 1)}[c]
            if self.accept("?"):
                return low, high, False, False
            return low, high, True, self.accept("+")
        if c == "{":
            found = self.interval()
            if found is None:
                return None
            low, high, fixed, possessive = found
            if not fixed and not possessive and self.accept("?"):
                return low, high, False, False
            return low, high, True, possessive
        return None

    def quantifiers(self, node: Node, grouped: bool, options: _Options) -> Node:
        before: list[Node] = []
        while True:
            self.skip_ignored(options)
            found = self.quantifier()
            if found is None:
                return sequence([*before, node])
            if _is_anchor(node):
                raise RegexSyntaxError("target of repeat operator is invalid")
            low, high, greedy, possessive = found
            if low == high == 1:
                grouped = False  # x{1} is x, and (?:abc){1}+ goes on as abc+
                continue
            if not grouped and isinstance(node, Literal) and len(node.cps) > 1:
                before.append(Literal(node.cps[:-1], node.ignore_case))
                node = Literal(node.cps[-1:], node.ignore_case)
            node = repeat(node, low, high, greedy)
            if possessive:
                node = Atomic(node)
            grouped = False

    # -- groups

    def close(self) -> None:
        if not self.accept(")"):
            raise RegexSyntaxError("end pattern with unmatched parenthesis")

    def body(self, options: _Options) -> Node:
        node = self.alternatives(options, nested=True)
        self.close()
        return node

    def group(self, options: _Options, nested: bool) -> tuple[Node, str]:
        """After the opening parenthesis: the node and how to treat it (plain: its parentheses leave no trace)."""
        if not self.more():
            raise RegexSyntaxError("end pattern with unmatched parenthesis")
        if self.peek() == "*":
            unsupported("the call-out (*...)")
        if not self.accept("?"):
            self.groups += 1
            number = self.groups
            self.unnamed.add(number)
            return Group(self.body(options), number), "group"
        if not self.more():
            raise RegexSyntaxError("end pattern in group")
        c = self.take()
        if c == ":":
            return self.body(options), "plain"
        if c in "=!":
            return Look(self.body(options), True, c == "!"), "group"
        if c == ">":
            return Atomic(self.body(options)), "group"
        if c == "'" or (c == "<" and self.peek() not in ("=", "!")):
            if c == "<" and not self.more():
                raise RegexSyntaxError("end pattern with unmatched parenthesis")
            name = self.name("'" if c == "'" else ">")
            self.groups += 1
            number = self.groups
            self.names.setdefault(name, []).append(number)
            return Group(self.body(options), number), "group"
        if c == "<":
            negative = self.take() == "!"
            return Look(self.body(options), False, negative), "group"
        if c in "~{(":
            unsupported({"~": "the absent group (?~...)", "{": "a call-out", "(": "the condition (?(...)...)"}[c])
        return self.options(c, options, nested)

    def options(self, c: str, options: _Options, nested: bool) -> tuple[Node, str]:
        negative = False
        while True:
            if c == "-":
                negative = True
            elif c == "i":
                options = replace(options, ignore_case=not negative)
            elif c == "x":
                options = replace(options, extended=not negative)
            elif c == "m":
                options = replace(options, dot_all=not negative)
            elif c == ":":
                return Group(self.body(options), 0), "group"
            elif c == ")":
                if self.text[self.at - 2] == "?":
                    raise RegexSyntaxError("undefined group option")
                return Group(self.alternatives(options, nested), 0), "rest"
            elif c in "WDSPyCIL":
                unsupported(f"the option (?{c})")
            else:
                raise RegexSyntaxError("undefined group option")
            if not self.more():
                raise RegexSyntaxError("end pattern in group")
            c = self.take()

    def name(self, closing: str) -> str:
        start = self.at
        if not self.more() or self.peek() == closing:
            raise RegexSyntaxError("group name is empty")
        word = property_ranges("\\w")
        assert word is not None
        while self.more() and self.peek() not in (closing, ")"):
            self.take()
        name = self.text[start : self.at]
        if name[0] in "0123456789-+":
            raise RegexSyntaxError(f"invalid group name <{name}>")
        if not all(code_points.contains(word, ord(c)) for c in name):
            raise RegexSyntaxError(f"invalid char in group name <{name}>")
        if not self.accept(closing):
            raise RegexSyntaxError(f"invalid group name <{name}>")
        return name

    # -- atoms

    def atom(self, options: _Options) -> Node:
        c = self.take()
        if c == ".":
            return Set(code_points.ANY if options.dot_all else code_points.complement(NEWLINE))
        if c in "^$":
            return Anchor(c)
        if c == "[":
            return self.bracket(options)
        if c == "\\":
            return self.escape(options)
        return Literal((ord(c),), options.ignore_case)

    def escape(self, options: _Options) -> Node:
        if not self.more():
            raise RegexSyntaxError("end pattern at escape")
        c = self.take()
        if c in "wWdDsShH":
            ranges = property_ranges("\\" + c.lower())
            assert ranges is not None
            return Set(ranges if c.islower() else code_points.complement(ranges))
        if c in "pP" and self.peek() == "{":
            return Set(self.property(c == "P", inside=False))
        if c in "AzZbBGK":
            return Anchor(c)
        if c == "R":
            return Atomic(LINE_BREAK)
        if c == "N":
            return Set(code_points.complement(NEWLINE))
        if c == "O":
            return Set(code_points.ANY)
        if c in "XyY":
            unsupported(f"the text segment \\{c}")
        if c == "g" and self.peek() in ("<", "'"):
            unsupported("the subexpression call \\g")
        if c == "k" and self.peek() in ("<", "'"):
            return self.named_reference(options)
        if c in "123456789":
            self.at -= 1
            start = self.at
            number = self.number()
            assert number is not None
            if number <= 1000 and (number <= self.groups or number <= 9):
                self.numbered_references = True
                return self.reference(number, options)
            self.at = start + 1
            if c in "89":
                return Literal((ord(c),), options.ignore_case)
        cp, single = self.escaped_value(c, None)
        if cp > code_points.LAST or (single and cp > 0x7F):
            return Set(code_points.NOTHING)
        return Literal((cp,), options.ignore_case)

    def reference(self, number: int, options: _Options) -> Node:
        if options.ignore_case:
            unsupported("a back reference without regard to case")
        self.references.append(number)
        return BackReference(number)

    def named_reference(self, options: _Options) -> Node:
        closing = {"<": ">", "'": "'"}[self.take()]
        start = self.at
        while self.more() and self.peek() not in (closing, ")"):
            self.take()
        name = self.text[start : self.at]
        if not name:
            raise RegexSyntaxError("group name is empty")
        if not self.accept(closing):
            raise RegexSyntaxError(f"invalid group name <{name}>")
        if name.lstrip("+-").isascii() and name.lstrip("+-").isdigit() and len(name.lstrip("+-")) >= len(name) - 1:
            number = int(name)
            if name[0] in "+-":
                number = self.groups + number + (1 if number < 0 else 0)
            if number <= 0:
                raise RegexSyntaxError("invalid backref number/name")
            self.numbered_references = True
            return self.reference(number, options)
        if "+" in name or "-" in name:
            unsupported("a back reference with a level")
        numbers = self.names.get(name, [])
        if not numbers:
            raise RegexSyntaxError(f"undefined name <{name}> reference")
        if len(numbers) > 1:
            unsupported("a reference to a name that several groups share")
        return self.reference(numbers[0], options)

    def bracket(self, options: _Options) -> Node:
        ranges, negative = self.bracket_set()
        if not options.ignore_case:
            return Set(code_points.complement(ranges) if negative else ranges)
        # Case variants are added before the negation; characters that fold to several become further alternatives, and
        # only of a class that is not negated.
        folds = several_folds()
        extra = {folds[cp] for cp in folds if code_points.contains(ranges, cp)}
        ranges = with_case_variants(ranges)
        if negative:
            return Set(code_points.complement(ranges))
        if not extra:
            return Set(ranges)
        sequences = [sequence([Set(case_variants(cp)) for cp in fold]) for fold in sorted(extra)]
        return Alternatives((Set(ranges), *sequences))


# ---------------------------------------------------------------------------------------------------------------------
# Trees


def _is_anchor(node: Node) -> bool:
    """Whether a quantifier after `node` is an error: anchors, look-arounds, and alternatives with one as a branch."""
    if isinstance(node, Alternatives):
        return any(_is_anchor(branch) for branch in node.branches)
    return isinstance(node, Anchor | Look)


def _without_unnamed_captures(node: Node, unnamed: set[int]) -> Node:
    """With a named group in the pattern, plain parentheses do not capture."""
    if isinstance(node, Sequence):
        return Sequence(tuple(_without_unnamed_captures(item, unnamed) for item in node.items))
    if isinstance(node, Alternatives):
        return Alternatives(tuple(_without_unnamed_captures(branch, unnamed) for branch in node.branches))
    if isinstance(node, Group):
        number = 0 if node.number in unnamed else node.number
        return Group(_without_unnamed_captures(node.body, unnamed), number)
    if isinstance(node, Repeat | Atomic | Look):
        return replace(node, body=_without_unnamed_captures(node.body, unnamed))
    return node


def _check_look_behind(node: Node, kind: str = "") -> None:
    """Oniguruma's limits on what stands in a look-behind (`kind`: "", "positive", "negative")."""
    if kind:
        bad = (
            (isinstance(node, Look) and (node.ahead or (kind == "positive" and node.negative)))
            or (isinstance(node, Anchor) and node.kind in "zZ")
            or (isinstance(node, Group) and node.number > 0 and kind == "negative")
        )
        if bad:
            raise RegexSyntaxError("invalid pattern in look-behind")
        if isinstance(node, Anchor) and node.kind == "K":
            unsupported("\\K in a look-behind")
        if isinstance(node, Atomic) and node.body == LINE_BREAK:
            unsupported("\\R in a look-behind")
    if isinstance(node, Look):
        if not node.ahead:
            _check_look_behind(node.body, "negative" if node.negative or kind == "negative" else "positive")
        else:
            _check_look_behind(node.body, kind)
    elif isinstance(node, Sequence):
        for item in node.items:
            _check_look_behind(item, kind)
    elif isinstance(node, Alternatives):
        for branch in node.branches:
            _check_look_behind(branch, kind)
    elif isinstance(node, Repeat | Group | Atomic):
        _check_look_behind(node.body, kind)
