"""Pre-tokens of the patterns that byte-level tokenizers split with: GPT-2's, cl100k's and o200k's, character by character.

What it does: recognizes these patterns in the spellings that are in use, and finds the end of a match by hand, with one look at
each character and none back (the functions are inline, in the .pxd). It is what wide scanners are to be compared with, and
the one that the training feed uses.

Rule of the reference: pre_tokenizers/split.rs and byte_level.rs, which let Oniguruma find the matches. Classes are those of
its Unicode tables; the regex crate of rustbpe has the same. Other patterns are left to patterns (the backtracking matcher).
"""
from libc.stdint cimport int64_t, uint8_t

from functools import cache

_GPT2 = (
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
)
_CONTRACTIONS = ("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'(?i:[sdmt]|ll|ve|re)", "'(?i:[sdtm]|ll|ve|re)")
_FIRST = (r"[^\r\n\p{L}\p{N}]?\p{L}+", r"[^\r\n\p{L}\p{N}]?+\p{L}+", r"[^\r\n\p{L}\p{N}]?+\p{L}++")
_OTHER = (r" ?[^\s\p{L}\p{N}]+[\r\n]*", r" ?[^\s\p{L}\p{N}]++[\r\n]*", r" ?[^\s\p{L}\p{N}]++[\r\n]*+")
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K = tuple(
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}{upper}{_LOWER}{lower}(?i:'s|'t|'re|'ve|'m|'ll|'d)?" for upper, lower in ("*+", "+*")
)


@cache
def _rules(bint crate):
    """Pattern -> (family, digits, newlines). What `$` and a + after braces mean depends on the engine: only the crates' are known."""
    found = dict.fromkeys(_GPT2, (FAMILY_GPT2, 0, NEWLINES_NONE))
    numbers = {r"\p{N}": 1, r"\p{N}{1,2}": 2, r"\p{N}{1,3}": 3}
    if crate:
        numbers |= {r"\p{N}{1,2}+": 2, r"\p{N}{1,3}+": 3}
    blanks = {rf"\s*[\r\n]{a}|\s+(?!\S)|\s{b}": NEWLINES_LAST for a in ("+", "") for b in ("+", "")}
    if crate:
        blanks[r"\s++$|\s*[\r\n]|\s+(?!\S)|\s"] = NEWLINES_LAST_BUT_TAIL
    for number, digits in numbers.items():
        for blank, newlines in blanks.items():
            for contraction in _CONTRACTIONS:
                for first in _FIRST:
                    for other in _OTHER:
                        pattern = "|".join((contraction, first, number, other, blank))
                        found[pattern] = FAMILY_CL100K, digits, newlines
            found["|".join((*_O200K, number, r" ?[^\s\p{L}\p{N}]+[\r\n/]*", blank))] = FAMILY_O200K, digits, newlines
    return found


cdef PatternRule rule_of(object pattern, bint crate) except *:
    cdef PatternRule rule
    rule.family, rule.digits, rule.newlines = _rules(crate).get(pattern, (FAMILY_NONE, 0, NEWLINES_NONE))
    return rule


def is_known(str pattern not None, bint crate=False):
    """Whether a pattern is one of those that are matched here.

    >>> is_known(r"\\p{L}+")
    False
    """
    return rule_of(pattern, crate).family != FAMILY_NONE


def pieces(str pattern not None, str text not None, bint crate=False):
    """The matches of a known pattern, which make up the text.

    >>> pieces(r"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", "It's  so")
    ['It', "'s", ' ', ' so']
    """
    cdef PatternRule rule = rule_of(pattern, crate)
    cdef bytes data = text.encode("utf-8")
    cdef const uint8_t *t = data
    cdef int64_t i = 0, j, n = len(data)
    if rule.family == FAMILY_NONE:
        raise ValueError(f"{pattern!r} is none of the patterns known here")
    found = []
    while i < n:
        j = match_end(&rule, t, i, n)
        found.append(data[i:j].decode("utf-8"))
        i = j
    return found
