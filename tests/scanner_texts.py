"""Texts that are hard for the scanners of regular expressions, and what the installed reference makes of a text.

The scanners take 64 bytes at a time, so most texts are made of short pieces in which something is decided by what
comes much later or came much earlier: white space, numbers, contractions, newlines behind other characters, cased and
caseless letters.
"""

from __future__ import annotations

import itertools
import random
from functools import cache
from typing import Any

from tokenizers import Regex, pre_tokenizers

from hftok._core.scanners.recognise import FAMILIES


def pieces(text: str, separator: str = "|") -> list[str]:
    return text.split(separator)


BLANKS = pieces("| |  |   |\t|\n|\r\n|\n\n| \n|\n | \n |\u3000|\u00a0|\u2028|\u0085|\x0b")
QUOTES = pieces("'|'s|'S|'t|'re|'RE|'Ve|'ll|'lL|'m|'d|'\u017f|'l|'r|''s|'se|\u2019s")
LETTERS = pieces("a|b|Z|aB|AB|ab|é|É|ß|ǅ|ʰ|ª|中|中文|の|カ|한|ا|א|ж|Ж|𐐀|𐐨|ı")
MARKS = pieces("\u0301|\u0301\u0302|\u0e31|\u20dd|\u093e|\ufe0f|\U000e0100")
NUMBERS = pieces("1|12|123|1234|12345678|²|½|٣|١٢|Ⅷ|〇|㊀|四|𝟙|①")
OTHERS = pieces(
    ".@,@!@?!@...@/@//@-@_@(@)@|@€@😀@👨\u200d👩@\u200b@\x00@\x7f@“@。@、@\ufffd@\U0010ffff@\ue000@々@〆@゛@・@।@،@۔"
    "@…@<|endoftext|>@$@+@`@~@^@[@]@\\@/\n@\n/@./\r@\u0378",
    "@",
)
POOLS = {
    "blanks": [*BLANKS, "a", "Z", ".", "1", "中", "\u0301"],
    "quotes": [*QUOTES, "a", "s", "T", " ", ".", "1", "\n", "é", "中"],
    "cases": [*LETTERS, *MARKS, "a", "A", "bB", "Bb", "aA", "中", "ʰ", "'s", "'LL", " ", ".", "/"],
    "marks": [*MARKS, ".", "/", "\n", " ", "a", "A", "1", "😀", "中", "!", "-"],
    "numbers": [*NUMBERS, "1", "2", "33", " ", ".", "a", "\n"],
    "newlines": ["\n", "\r", "\r\n", "/", "//", ".", "!", " ", "  ", "\t", "a", "1", "\u3000", "\u0301", "中"],
    "all": [*BLANKS, *QUOTES, *LETTERS, *MARKS, *NUMBERS, *OTHERS],
    "ascii": [chr(i) for i in range(128)],
}
LONG = pieces(" |\n|a|A|1|.|/|'|中|\u0301|é|\u3000|²|aB|' |'s|.\n| \n|12 |😀|ʰ|の")


def random_text(rng: random.Random) -> str:
    """Pieces of one pool up to some 300 bytes, now and then with a long run, whose length is near a multiple of 64."""
    pool = POOLS[rng.choice(list(POOLS))]
    pieces = [rng.choice(pool) for _ in range(rng.choice((3, 10, 40, 100)))]
    if rng.random() < 0.3:
        piece = rng.choice(LONG)
        n = (64 * rng.randrange(1, 3) + rng.randrange(-4, 5)) // len(piece.encode())
        pieces.insert(rng.randrange(len(pieces) + 1), piece * n)
    return "".join(pieces)


def short_texts(pieces: list[str], length: int) -> list[str]:
    """All texts of `length` pieces."""
    return ["".join(row) for row in itertools.product(pieces, repeat=length)]


@cache
def every_character() -> str:
    return "".join(map(chr, itertools.chain(range(0xD800), range(0xE000, 0x110000))))


def _reference(spec: tuple[Any, ...]) -> Any:
    kind, *arguments = spec
    if kind == "Sequence":
        return pre_tokenizers.Sequence([_reference(step) for step in arguments[0]])
    if kind == "Split":
        return pre_tokenizers.Split(Regex(arguments[1]), arguments[2], arguments[3])
    if kind == "ByteLevel":
        prefix, trim, use_regex = arguments
        return pre_tokenizers.ByteLevel(add_prefix_space=prefix, trim_offsets=trim, use_regex=use_regex)
    return getattr(pre_tokenizers, kind)(*arguments)


@cache
def reference_of(family: str) -> Any:
    """The installed reference's pre-tokenizer of a family."""
    return _reference(FAMILIES[family])


def reference_boundaries(pre_tokenizer: Any, text: str) -> list[int]:
    """The byte positions at which the pieces begin, which must make up the text (ByteLevel: a character per byte)."""
    lengths = [len(piece) for piece, _ in pre_tokenizer.pre_tokenize_str(text)]
    assert sum(lengths) == len(text.encode())
    return [0, *itertools.accumulate(lengths)][:-1]
