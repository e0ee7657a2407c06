"""Which family of scanners serves a pre-tokenizer (see regex_body.pxi for what a family is).

`recognise(spec)` compares what the pre-tokenizer means, not how it is written. Patterns are parsed (regex_syntax) and brought
to a form in which spellings of the same thing are equal; two patterns with equal forms find the same matches in every text.
The rewritings, each with the reason why it changes no match:

- Groups that only hold together are opened, capturing ones too: no family has a back reference, and a tree with one in it is
  equal to none of theirs. Characters without regard to case become sets of their variants, but for those that several
  characters fold to, or that are part of such a fold: these stay as they are.
- `_words`: alternatives of finite length side by side ('s|'t|'re) form a set of words if none can match where another one
  that goes on matches: then at most one of them matches at any place, and their order says nothing.
- `_loose`: a possessive repeat of one set is a plain one where giving characters back could not help: nothing that can fail
  follows it in its branch, or what follows must begin with a character that is not in the set.
- `_white`: W*N, with N a part of W, takes a run of W up to its last N, and so does W*N+. Behind the alternative W+(?!not W),
  which only fails at single characters, W and W+ are the same. W++$ is W++\\z if W has the newline, since `$` stands before a
  newline or at the end, and is needless before an alternative W+(?!not W), which takes all of that run too.

Splits: what a pattern of a family matches makes up the text, hence "isolated" and "removed" with `invert` do the same; for
patterns that leave gaps only "isolated" is known. `invert` does not matter to "isolated".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from hftok._core import code_points
from hftok._core.code_points import Ranges
from hftok._core.errors import RegexSyntaxError, UnsupportedTokenizerError
from hftok._core.oniguruma_tables import several_folds
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


def _cl100k(
    numbers: str, letters: str = r"\p{L}", others: str = r"[^\s\p{L}\p{N}]+[\r\n]*", white: str = WHITE
) -> str:
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


def _then_bytes(*patterns: str) -> Spec:
    return ("Sequence", (*map(_split, patterns), ("ByteLevel", False, True, False)))


# Each family as a pre-tokenizer. In those of one pattern, this matches something at every place but the end.
FAMILIES: dict[str, Spec] = {
    "gpt2": ("ByteLevel", False, True, True),
    "gpt2_digits": ("Sequence", (("Digits", True), ("ByteLevel", False, True, True))),
    "cl100k": _then_bytes(_cl100k(r"\p{N}{1,3}")),
    "cl100k_end": _then_bytes(_cl100k(r"\p{N}{1,3}", white=rf"\s++$|{WHITE}")),
    "nanochat": _then_bytes(_cl100k(r"\p{N}{1,2}")),
    "qwen2": _then_bytes(_cl100k(r"\p{N}")),
    "qwen3_5": _then_bytes(_cl100k(r"\p{N}", r"[\p{L}\p{M}]", r"[^\s\p{L}\p{M}\p{N}]+[\r\n]*")),
    "seed_coder": _then_bytes(_cl100k(r"\p{N}", others=r"[^\s\p{L}\p{N}\r\n]+")),
    "o200k": _then_bytes(_o200k(r"\p{N}{1,3}", FOLDED, r"[\r\n/]")),
    "tekken": _then_bytes(_o200k(r"\p{N}", "", r"[\r\n/]")),
    "kimi_k2": _then_bytes(_o200k(r"\p{N}{1,3}", FOLDED, r"[\r\n]", r"&&[^\p{Han}]", r"[\p{Han}]+|")),
}


# ---------------------------------------------------------------------------------------------------------------------
# Patterns

Word = tuple[Ranges, ...]


@dataclass(frozen=True, slots=True)
class Words:
    """One of several words, of which at most one matches at any place: rows of sets of characters."""

    words: frozenset[Word]


def _form(pattern: str) -> Node | Words | None:
    """The form of a pattern in which it is compared; None if it has none, such as a pattern with a syntax error."""
    try:
        return _simple(parse(pattern))
    except (RegexSyntaxError, UnsupportedTokenizerError):
        return None
