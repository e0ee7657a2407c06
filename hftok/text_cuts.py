"""Where a text may be cut so that its tokens are those of both sides, whatever comes later.

For a pipeline, `TextCuts.of(tokenizer)` knows pairs of neighbouring characters x, y such that a text can be encoded up
to x by itself, and what begins with y by itself, and the ids side by side are the ids of the whole. Each stage has to
agree:

* added tokens: none holds x and y side by side, and none takes white space or looks at what stands beside it there;
* the normalizer acts on both sides alone, and does to y at the beginning of a text what it does to it within one;
* the pre-tokenizer: some stage always ends a piece between x and y, and those before it join nothing there; or, where
  nothing splits the text, no merge of a BPE model joins x to y.

Only what is known to hold is said: the answer for anything else is that there is no cut. Normalizers are known for y a
blank and x a printable ASCII character (for NFC also for common scripts); patterns are analysed (`regex_neighbours`).

A pipeline that writes a blank before every text (Prepend, or Strip and then Metaspace) has its cut behind the blank,
which is then left out: `skip` is 1.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hftok._core import regex_syntax
from hftok._core.regex_neighbours import Neighbours, NotAnalysed
from hftok.models import BPE

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["TextCuts"]

Form: TypeAlias = dict[str, Any]

# What ByteLevel splits by.
_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# Normalizers that leave printable ASCII characters, blanks and U+2581 as they are, or write capitals small.
_LOCAL = frozenset(["NFC", "NFD", "NFKC", "NFKD", "Nmt", "StripAccents", "Lowercase", "Precompiled", "BertNormalizer"])

# Characters that NFC leaves alone, whatever stands beside them, and that join nothing before them: ASCII, Latin-1
# letters, Cyrillic, CJK punctuation, kana, ideographs, Hangul syllables, full-width forms.
_NFC_INERT = (
    (0x20, 0x7E),
    (0x0A, 0x0A),
    (0xC0, 0xFF),
    (0x410, 0x44F),
    (0x3001, 0x3020),
    (0x3041, 0x3096),
    (0x30A1, 0x30FA),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xFF01, 0xFF5E),
)
_MARK = "\u2581"
_NEAR = 32


def _is_blank(character: str) -> bool:
    """White_Space, which is what the reference asks for; Python calls four control characters so that are not."""
    return character.isspace() and not "\x1c" <= character <= "\x1f"


class _Unknown(Exception):
    """Nothing is known about cuts of this pipeline."""


class TextCuts:
    """Pairs of characters between which the texts of one pipeline may be cut.

    >>> from hftok import Tokenizer, models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> cuts = TextCuts.of(tokenizer)
    >>> cuts.last("ab cd e", 0), cuts.last("abcd", 0)
    (5, 0)
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = tokenizer.model
        if getattr(model, "dropout", None) or getattr(model, "alpha", None):
            raise _Unknown
        self.skip = 0
        self._blank_only = False  # y is a blank
        self._nfc = False
        self._follows: set[str] = set()  # what added tokens begin with
        self._steps = _normalizers(_form(tokenizer.normalizer))
        self._read_normalizer()
        self._stages = _stages(_form(tokenizer.pre_tokenizer))
        self._read_added(tokenizer)
        self._joined: dict[str, frozenset[str]] = {}
        self._model = model if isinstance(model, BPE) else None
        self._known: dict[str, bool] = {}
        if self.skip and not any(kind == "Prepend" for kind, _ in self._steps):
            # What Strip takes away must be what the first piece gets back, or what no piece holds.
            kind, form = self._stages[0] if self._stages else ("", {})
            if kind == "Metaspace" and form["prepend"]:
                return
            if kind not in ("WhitespaceSplit", "BertPreTokenizer", "Whitespace"):
                raise _Unknown

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> TextCuts | None:
        """The cuts of a tokenizer; None where nothing is known."""
        try:
            return cls(tokenizer)
        except _Unknown:
            return None

    def last(self, text: str, begin: int) -> int:
        """The last place in a text, behind `begin`, where it may be cut: the index of y, or `begin`. A place not far
        before it where pairs that have been decided allow a cut is as good: deciding takes a fraction of a millisecond.
        """
        known, skip = self._known, self.skip
        end = len(text) - 1 - skip
        for at in range(end, max(begin, end - _NEAR), -1):
            if known.get(text[at - 1 : at + 1]) and (not skip or self._may_follow(text[at + 1])):
                return at
        for at in range(end, begin, -1):
            pair = text[at - 1 : at + 1]
            answer = known.get(pair)
            if answer is None:
                if len(known) > 1 << 18:
                    known.clear()
                answer = known[pair] = self._decide(pair[0], pair[1])
            if answer and (not skip or self._may_follow(text[at + 1])):
                return at
        return begin

    def _may_follow(self, character: str) -> bool:
        return character.isascii() and character.isalnum() and character not in self._follows

    # ---- reading the pipeline

    def _read_normalizer(self) -> None:
        kinds = [kind for kind, _ in self._steps]
        if kinds and all(kind == "NFC" for kind in kinds):
            self._nfc = True
        elif kinds:
            self._blank_only = True
        for kind, form in self._steps:
            if kind == "Prepend" or (kind == "Strip" and form["strip_left"]):
                self.skip = 1
            elif kind not in _LOCAL and kind not in ("Strip", "Replace", "Regex"):
                raise _Unknown

    def _read_added(self, tokenizer: Tokenizer) -> None:
        self._added_pairs: set[str] = set()
        self._added_last: set[str] = set()  # of those that look or reach behind themselves
        self._added_first: set[str] = set()  # of those that look before themselves
        self._before_blank: set[str] = set()  # in those that are sought in normalized text
        self._reaching = False
        normalizer = tokenizer.normalizer if self._steps else None
        for token in tokenizer.get_added_tokens_decoder().values():
            contents = {token.content}
            if token.normalized and normalizer is not None:
                contents.add(normalizer.normalize_str(token.content))
                for content in contents:
                    self._before_blank.update(x for x, y in pairwise(content) if y in (" ", _MARK))
            for content in contents:
                if not content:
                    raise _Unknown
                self._added_pairs.update(map("".join, pairwise(content)))
                self._follows.add(content[0])
                # Where a blank is written before every text, one is written behind every added token, too.
                if token.single_word or token.rstrip or self.skip:
                    self._added_last.add(content[-1])
                if token.single_word:
                    self._added_first.add(content[0])
            self._reaching |= token.lstrip or token.rstrip

    # ---- deciding

    def _decide(self, x: str, y: str) -> bool:
        if self._blank_only and (y != " " or not "!" <= x <= "~"):
            return False
        if self._blank_only and not self._before_blank.isdisjoint(x.lower() + x.upper()):
            return False
        if self._nfc and not (_inert(x) and _inert(y)):
            return False
        if x + y in self._added_pairs or x in self._added_last or y in self._added_first:
            return False
        if self.skip and y in self._follows:
            return False  # the blank that is left out would be one of theirs
        if self._reaching and _is_blank(x):
            return False
        lefts, rights = {x}, {y}
        for kind, form in self._steps:
            if not self._passes(kind, form, lefts, rights):
                return False
        return all(self._split(left, right) for left in lefts for right in rights)

    def _passes(self, kind: str, form: Any, lefts: set[str], rights: set[str]) -> bool:
        """One step of the normalizer: what x and y may become. False where it may act across them."""
        if kind in ("Lowercase", "BertNormalizer"):
            lefts |= {x.lower() for x in lefts}
        elif kind == "Replace":
            pattern, content = form
            if any(y in pattern[1:] for y in rights):
                return False
            if any(y == pattern[0] for y in rights):
                if len(pattern) > 1 or len(content) != 1:
                    return False
                rights.discard(pattern)
                rights.add(content)
            if any(x in pattern for x in lefts):
                if not content:
                    return False
                lefts.add(content[-1])
        elif kind == "Regex":
            pattern, content = form
            if not all(pattern.apart(x, y) for x in lefts for y in rights):
                return False
            if any(pattern.holds(y) for y in rights):
                if len(content) != 1:
                    return False
                rights.add(content)
            if any(pattern.holds(x) for x in lefts):
                if not content:
                    return False
                lefts.add(content[-1])
        return True

    def _split(self, x: str, y: str) -> bool:
        """Whether x and y, as the normalizer leaves them, always end up in different pieces."""
        for kind, form in self._stages:
            blank = _is_blank(y)
            if kind == "Split":
                neighbours, bounds = form
                if bounds and neighbours.boundary(x, y):
                    return True
                if not neighbours.apart(x, y) or (not bounds and (neighbours.holds(x) or neighbours.holds(y))):
                    return False
            elif kind == "ByteLevel":
                if form["use_regex"] and _byte_level().boundary(x, y):
                    return y == " " or not form["add_prefix_space"]
                return False  # the characters that follow are others
            elif kind == "Metaspace":
                mark = form["replacement"]
                if y in (" ", mark) and form["split"]:
                    return True
                y = mark if y == " " else y
                x = mark if x == " " else x
                if y != mark:
                    return False
            elif kind in ("WhitespaceSplit", "BertPreTokenizer", "Whitespace"):
                return blank and not _is_blank(x)
            elif not blank or _is_blank(x):  # Digits, Punctuation: what is split off is no blank
                return False
        return self._never_merged(x, y)

    def _never_merged(self, x: str, y: str) -> bool:
        """Whether the model, where a text is one piece, joins nothing that ends with x to what begins with y."""
        if self._model is None or self._model.ignore_merges:
            return False
        if self._model.continuing_subword_prefix or self._model.end_of_word_suffix:
            return False
        if y not in self._joined:
            self._joined[y] = _free_before(self._model, y)
        return x in self._joined[y]


def _free_before(model: BPE, y: str) -> frozenset[str]:
    """The characters x such that no merge joins something that ends with x to something that begins with y. Only
    those of the vocabulary: others are left out, or become tokens that are not what they say."""
    fields = model._description().fields
    vocab: dict[str, int] = fields["vocab"]
    rows = np.asarray(fields["merges"].rows)
    if y not in vocab:
        return frozenset()
    letters = {token for token in vocab if len(token) == 1}
    if not len(rows):
        return frozenset(letters)
    parts = np.zeros(max(vocab.values()) + 1, dtype=bool)
    parts[rows[:, :2].ravel()] = True
    # Unknown characters and bytes are tokens of another text than theirs; merges must not take them.
    stand_ins = [vocab.get(model.unk_token or "")]
    stand_ins += [vocab.get(f"<0x{byte:02X}>") for byte in range(256)]
    if any(number is not None and parts[number] for number in stand_ins):
        return frozenset()
    begins = np.zeros(len(parts), dtype=bool)
    begins[[number for token, number in vocab.items() if token.startswith(y)]] = True
    joined = set(np.unique(rows[begins[rows[:, 1]], 0]).tolist())
    return frozenset(letters - {token[-1] for token, number in vocab.items() if number in joined and token})


def _inert(character: str) -> bool:
    cp = ord(character)
    return any(first <= cp <= last for first, last in _NFC_INERT)


def _form(component: Any) -> Form | None:
    """A component as JSON has it."""
    if component is None:
        return None
    try:
        form: Form = json.loads(component.__getstate__())
    except Exception:
        raise _Unknown from None  # a component of the caller's
    return form


def _regex(pattern: Form) -> Neighbours:
    try:
        if "Regex" in pattern:
            return Neighbours(regex_syntax.parse(pattern["Regex"]))
        return Neighbours(regex_syntax.parse("".join(f"\\x{{{ord(c):x}}}" for c in pattern["String"])))
    except NotAnalysed:
        raise _Unknown from None


_byte_level_neighbours: list[Neighbours] = []


def _byte_level() -> Neighbours:
    if not _byte_level_neighbours:
        _byte_level_neighbours.append(_regex({"Regex": _BYTE_LEVEL}))
    return _byte_level_neighbours[0]


def _normalizers(form: Form | None) -> list[tuple[str, Any]]:
    """The steps of a normalizer, in order."""
    if form is None:
        return []
    kind = form["type"]
    if kind == "Sequence":
        return [step for part in form["normalizers"] for step in _normalizers(part)]
    if kind == "Replace":
        pattern = form["pattern"]
        if "String" in pattern:
            if not pattern["String"]:
                raise _Unknown
            return [("Replace", (pattern["String"], form["content"]))]
        return [("Regex", (_regex(pattern), form["content"]))]
    if kind == "BertNormalizer" or kind in _LOCAL or kind in ("Strip", "Prepend"):
        return [(kind, form)]
    raise _Unknown


def _stages(form: Form | None) -> list[tuple[str, Any]]:
    """The stages of a pre-tokenizer, in order."""
    if form is None:
        return []
    kind = form["type"]
    if kind == "Sequence":
        return [stage for part in form["pretokenizers"] for stage in _stages(part)]
    if kind == "Split":
        bounds = form["behavior"] in ("Isolated", "Removed")
        return [("Split", (_regex(form["pattern"]), bounds))]
    if kind == "ByteLevel":
        return [(kind, {"use_regex": form.get("use_regex", True), "add_prefix_space": form["add_prefix_space"]})]
    if kind == "Metaspace":
        prepend = form["prepend_scheme"] != "never"
        return [(kind, {"replacement": form["replacement"], "split": form["split"], "prepend": prepend})]
    if kind in ("WhitespaceSplit", "BertPreTokenizer", "Whitespace", "Digits", "Punctuation"):
        return [(kind, form)]
    raise _Unknown
