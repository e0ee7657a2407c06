"""From a Tokenizer to a tiktoken Encoding.

An Encoding merges by ranks: any two neighbours whose concatenation is a token, the lowest rank first, and a piece that
is a token stays whole. A Tokenizer merges by a list of pairs. Both give the same tokens on every text if

* the list is in the order of the numbers of what its lines make (so a number can serve as rank), and
* cutting each token into bytes and merging them back with the lines before its own leaves exactly two parts, and the
  list has that pair. Then no other pair that makes the token ever stands in a text when its turn comes: whatever lies
  inside the token's bytes was merged there as it is when they stand alone, and nothing that reaches across their ends
  was.

A token that no merges lead to comes out of an Encoding as a whole piece; so it does here with `ignore_merges`, which is
asked for in that case. Whatever else an Encoding cannot say is refused.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from hftok._core import code_points, regex_program, regex_syntax, rust_regex
from hftok._core.models.ranks import RankTable
from hftok._core.regex_neighbours import sure_starts
from hftok._core.regex_tree import Node
from hftok._core.rust_hash_order import table_order
from hftok.added_tokens import AddedToken
from hftok.errors import UnsupportedTokenizerError
from hftok.models import BPE
from hftok.pre_tokenizers import ByteLevel
from hftok.tiktoken.core import Encoding
from hftok.tiktoken.load import dump_tiktoken_bpe

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["BYTE_LEVEL_PATTERN", "as_tiktoken", "save_tiktoken", "to_tiktoken"]

# What ByteLevel splits by (reference: pre_tokenizers/byte_level.rs).
BYTE_LEVEL_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def as_tiktoken(tokenizer: Tokenizer, name: str | None = None) -> Encoding:
    """An Encoding that gives the tokenizer's ids (see `Tokenizer.as_tiktoken`)."""
    model = tokenizer.model
    if not isinstance(model, BPE):
        _refuse(type(model).__name__, "only byte-level BPE has ranks")
    if _form(tokenizer.normalizer) not in (None, {"type": "Sequence", "normalizers": []}):
        _refuse(type(tokenizer.normalizer).__name__, "an Encoding does not normalize")
    pattern = _pattern(_form(tokenizer.pre_tokenizer))
    _check_pattern(pattern)
    added = tokenizer.get_added_tokens_decoder()
    special = {}
    for number, token in added.items():
        if token.lstrip or token.rstrip or token.single_word:
            _refuse("AddedToken", f"{token.content!r} depends on what stands beside it; special tokens here do not")
        special[token.content] = number
    _check_passes(list(added.values()))
    encoding = Encoding.__new__(Encoding)
    encoding.__setstate__(
        (
            {
                "name": name or "tokenizer",
                "pat_str": pattern,
                "mergeable_ranks": _ranks(model, special),
                "special_tokens": special,
            },
            True,
        )
    )
    return encoding


def to_tiktoken(tokenizer: Tokenizer, name: str | None = None) -> Any:
    """An Encoding of the tiktoken package (see `Tokenizer.to_tiktoken`)."""
    encoding = as_tiktoken(tokenizer, name)
    # tiktoken tries special tokens in the order of its hash table, a Tokenizer finds the longest.
    tried: list[str] = []
    for token in table_order(encoding._special_tokens):
        shorter = next((other for other in tried if token.startswith(other)), None)
        if shorter is not None:
            _refuse("AddedToken", f"tiktoken finds {shorter!r} where the text has {token!r}")
        tried.append(token)
    return importlib.import_module("tiktoken").Encoding(
        encoding.name,
        pat_str=encoding._pat_str,
        mergeable_ranks=encoding._mergeable_ranks,
        special_tokens=encoding._special_tokens,
    )


def save_tiktoken(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> None:
    """Write the ranks to a file (see `Tokenizer.save_tiktoken`)."""
    dump_tiktoken_bpe(as_tiktoken(tokenizer)._mergeable_ranks, os.fspath(path))


def _refuse(component: str, why: str) -> NoReturn:
    raise UnsupportedTokenizerError(f"{why}, so this tokenizer cannot be given as a tiktoken Encoding", component)


def _check_passes(added: list[AddedToken]) -> None:
    """A Tokenizer seeks added tokens in two passes, those that are `normalized` in what the first one left. A single
    pass finds the same ones unless a token of the second pass may begin first and reach into one of the first."""
    first = [token.content for token in added if not token.normalized]
    for late in (token.content for token in added if token.normalized):
        for early in first:
            if late.startswith(early) or any(
                early.startswith(late[at:]) or late[at:].startswith(early) for at in range(1, len(late))
            ):
                _refuse("AddedToken", f"{late!r} is normalized, {early!r} is not, and where they overlap that decides")


def _form(component: Any) -> Any:
    """A component as JSON has it."""
    return None if component is None else json.loads(component.__getstate__())


# ---------------------------------------------------------------------------------------------------------------------
# Pattern


def _pattern(form: Any) -> str:
    """The pattern of ByteLevel, or of one Split before a ByteLevel that only maps bytes."""
    kind = form["type"] if form is not None else "None"
    steps = form["pretokenizers"] if kind == "Sequence" else [] if form is None else [form]
    if not steps or steps[-1]["type"] != "ByteLevel" or len(steps) > 2:
        _refuse(kind, "the pre-tokenizer must be a ByteLevel, or one Split and then a ByteLevel")
    if steps[-1]["add_prefix_space"]:
        _refuse("ByteLevel", "add_prefix_space changes the text")
    if len(steps) == 1:
        if not steps[0].get("use_regex", True):
            _refuse("ByteLevel", "without use_regex a text is a single piece of any length, which no pattern is for")
        return BYTE_LEVEL_PATTERN
    split = steps[0]
    if steps[1].get("use_regex", True) or split["type"] != "Split" or "Regex" not in split["pattern"]:
        _refuse(kind, "before the ByteLevel, which must have use_regex=False, may stand one Split by a Regex")
    pattern: str = split["pattern"]["Regex"]
    if (split["behavior"], split["invert"]) in (("Isolated", False), ("Removed", True)):
        if split["behavior"] == "Isolated" and not _covers(rust_regex.parse(pattern)):
            _refuse("Split", "text that the pattern does not match is a piece too, and an Encoding would drop it")
        return pattern
    _refuse(
        "Split", f"its behavior is {split['behavior']}{' inverted' * split['invert']}, and the pieces must be matches"
    )


def _check_pattern(pattern: str) -> None:
    """The pattern must mean to fancy-regex what it means to Oniguruma: the same program comes out of both readings."""
    if regex_program.build(regex_syntax.parse(pattern)) != regex_program.build(rust_regex.parse(pattern)):
        _refuse("Regex", f"tiktoken's regular expressions read the pattern {pattern!r} in another way")


def _covers(tree: Node) -> bool:
    """Whether a match begins at every character: each is one that some branch needs nothing else for."""
    # No text holds a surrogate.
    return code_points.union(sure_starts(tree), ((0xD800, 0xDFFF),)) == code_points.ANY


# ---------------------------------------------------------------------------------------------------------------------
# Ranks


def _ranks(model: BPE, special: dict[str, int]) -> dict[bytes, int]:
    if model.dropout:
        _refuse("BPE", "dropout is random")
    if model.continuing_subword_prefix or model.end_of_word_suffix:
        _refuse("BPE", "tokens with a prefix or suffix are no bytes")
    byte_of = {character: byte for byte, character in enumerate(ByteLevel.alphabet())}
    fields = model._description().fields
    ranks: dict[bytes, int] = {}
    for token, number in fields["vocab"].items():
        if token in special:
            continue
        try:
            ranks[bytes([byte_of[character] for character in token])] = number
        except KeyError:
            _refuse("BPE", f"the token {token!r} has characters that are not of the byte-level alphabet")
    if b"" in ranks:
        _refuse("BPE", "there is an empty token")
    missing = [byte for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        _refuse(
            "BPE",
            f"{len(missing)} bytes are no tokens (the first is {missing[0]}), and text with them is dropped (train "
            "with initial_alphabet=ByteLevel.alphabet())",
        )
    if len(set(ranks.values())) != len(ranks):
        _refuse("BPE", "two tokens have the same number")
    _check_merges(ranks, np.asarray(fields["merges"].rows), bool(model.ignore_merges))
    return ranks


def _check_merges(ranks: dict[bytes, int], rows: Any, ignore_merges: bool) -> None:
    """See the head of this file. rows: left id, right id, merged id of each line of the list."""
    numbers = np.fromiter(sorted(ranks.values()), np.int64, len(ranks))
    made = rows[:, 2].astype(np.int64)
    if (np.diff(made) < 0).any():
        _refuse("BPE", "the merges are not in the order of the numbers that they make")
    if not np.isin(rows, numbers).all():
        _refuse("BPE", "a merge takes or makes an added token")
    parts = RankTable(ranks).last_merges()
    length_of = {number: len(token) for token, number in ranks.items()}
    lines = {(int(left), int(right)): int(result) for left, right, result in rows}
    for entry, (left, right) in enumerate(parts.tolist()):
        number = int(numbers[entry])
        if length_of[number] < 2:
            continue
        if left < 0:
            if not ignore_merges:
                _refuse("BPE", f"no merges make the token {number}, which tiktoken would find as a whole piece")
        elif lines.get((int(numbers[left]), int(numbers[right]))) != number:
            _refuse("BPE", f"the merges do not make the token {number} of the tokens that its rank makes it of")
