"""Prompts that grow: the ids of a text that is the one before and some more, at the cost of what is new."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hftok._core import rows as _rows
from hftok._core.engine import Affix
from hftok.text_cuts import TextCuts

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["Session"]

Ids = npt.NDArray[np.uint32]

# Characters between the places from which a text that is not the old one any more can be taken up again.
_STEP = 4096

_NOTHING_AROUND = Affix([], [])


class _Context(NamedTuple):
    """What a session knows of its tokenizer, as long as that does not change."""

    engine: Any
    settings: Any
    cuts: TextCuts | None
    around: tuple[Ids, Ids] | None  # ids before and after every text; None: the post-processor does something else


class Session:
    """The ids of one growing text (see `Tokenizer.session`).

    Args:
        tokenizer: whose ids. Changes to it act on the next call.
        add_special_tokens: as in `Tokenizer.encode`.

    The ids are those of `tokenizer.encode_ids(whole_text, add_special_tokens)`, always; truncation and padding do not
    apply. The text is cut where no later text can change what is before (see `hftok.text_cuts`). Where no such place is
    known (a model that takes the text as one piece, as Unigram without a pre-tokenizer; text without blanks; a
    normalizer or pre-tokenizer of the caller's) more is encoded anew, at worst all of it.

    Arrays that calls return are never written to again. They share memory where they agree, so that a call need not
    copy what is old; they are read-only.

    A session belongs to one thread at a time; several sessions of one tokenizer may be used at once.

    >>> from hftok import Tokenizer, models, pre_tokenizers
    >>> tokenizer = Tokenizer(models.WordLevel({"one": 1, "two": 2, "twofold": 3}, unk_token="one"))
    >>> tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    >>> session = tokenizer.session()
    >>> session.append("one two")
    array([1, 2], dtype=uint32)
    >>> session.append("fold one")
    array([1, 3, 1], dtype=uint32)
    >>> session.changed_from
    1
    """

    _ids: Ids
    _spare: Ids
    _spare_n: int  # ids that the spare array has in common with the other
    _alone: int  # references to an array that nobody else holds

    def __init__(self, tokenizer: Tokenizer, add_special_tokens: bool = True) -> None:
        self._tokenizer = tokenizer
        self._add_special_tokens = add_special_tokens
        self._context: _Context | None = None
        self.clear()

    def clear(self) -> None:
        """Forget the text."""
        self._whole: str | None = ""  # the whole text, where it is at hand
        # The text between one cut and the next, and behind the last one; where the cuts are (the first is the
        # beginning) and how many ids the text before each has.
        self._parts: list[str] = []
        self._tail = ""
        self._cuts: list[tuple[int, int]] = [(0, 0)]
        self._n = 0
        self._changed_from = 0
        self._begin_memory()

    # ---- what a user reads

    @property
    def text(self) -> str:
        """The whole text."""
        if self._whole is None:
            self._whole = "".join([*self._parts, self._tail])
        return self._whole

    @property
    def ids(self) -> Ids:
        """The ids of the whole text, uint32 (n,), as the last call gave them; read-only."""
        view = self._ids[: self._n]
        view.flags.writeable = False
        return view

    @property
    def changed_from(self) -> int:
        """The index of the first id that is not what it was before the last call: the smaller number of ids where one
        result is the beginning of the other."""
        return self._changed_from

    def __len__(self) -> int:
        """The number of ids."""
        return self._n

    def __repr__(self) -> str:
        return f"<Session of {self._cuts[-1][0] + len(self._tail)} characters, {self._n} ids>"

    def append(self, text: str) -> Ids:
        """The ids of the text so far with this behind it, uint32 (n,), read-only.

        Raises:
            TypeError: text is no str, or holds a lone surrogate; the session stays as it was.
        """
        if not isinstance(text, str):
            raise TypeError(f"append takes a str, not a {type(text).__name__}")
        context = self._current()
        if context is not self._context:
            return self._update(context, 0, self.text + text)
        return self._update(context, len(self._cuts) - 1, self._tail + text)

    def encode(self, text: str) -> Ids:
        """The ids of a whole text, uint32 (n,), read-only. What it has in common with the beginning of the last one is
        found here, and not encoded again.

        Raises:
            TypeError: text is no str, or holds a lone surrogate; the session stays as it was.
        """
        if not isinstance(text, str):
            raise TypeError(f"encode takes a str, not a {type(text).__name__}")
        context = self._current()
        keep = 0
        if context is self._context:
            keep = len(self._cuts) - 1
            if not text.startswith(self.text):
                # At a cut the character behind it, and the next, must be what they were.
                common = _common(self.text, text)
                while keep and self._cuts[keep][0] + 2 > common:
                    keep -= 1
        ids = self._update(context, keep, text[self._cuts[keep][0] :])
        self._whole = text
        return ids

    def copy(self) -> Session:
        """A session with the same text, which goes on by itself."""
        other = Session(self._tokenizer, self._add_special_tokens)
        other.__dict__.update(self.__dict__)
        other._parts, other._cuts = list(self._parts), list(self._cuts)
        other._ids, other._spare, other._spare_n = self._ids.copy(), self._ids[:0].copy(), 0
        return other

    # ---- the work

    def _current(self) -> _Context:
        """The context; another object than before where the tokenizer has changed."""
        while True:
            engine, settings = self._tokenizer._ready()
            old = self._context
            if old is not None and old.engine is engine and old.settings is settings:
                return old
            affix = settings.affix(self._add_special_tokens)
            around = None
            if affix is not None:
                both = _rows.encode_one(engine, "", affix)
                around = both[: affix.n_prefix], both[affix.n_prefix :]
            context = _Context(engine, settings, TextCuts.of(self._tokenizer), around)
            if self._tokenizer._ready()[0] is engine:  # else it was changed meanwhile
                return context

    def _update(self, context: _Context, keep: int, tail: str) -> Ids:
        """Encode the text behind a cut, which may be cut further. Nothing is kept unless all of it could be encoded."""
        cuts, engine = context.cuts, context.engine
        if cuts is None or context.around is None:
            text = "".join([*self._parts[:keep], tail])
            ids = self._tokenizer.encode_ids(text, self._add_special_tokens)
            self._context, self._parts, self._tail, self._cuts, self._whole = context, [], text, [(0, 0)], text
            return self._show(0, [ids])
        begin, count = self._cuts[keep]
        prefix, suffix = context.around
        places = _places(cuts, tail)
        skip = cuts.skip
        pieces = [
            tail[place + (skip if place or begin else 0) : end]
            for place, end in zip(places, [*places[1:], len(tail)], strict=True)
        ]
        if len(pieces) < 3:
            encoded = [_rows.encode_one(engine, piece, _NOTHING_AROUND) for piece in pieces]
            ends = [len(encoded[0])]
        else:
            together, rows, _ = _rows.encode_batch(engine, pieces, None)
            encoded, ends = [together], rows[1:].tolist()
        del self._parts[keep:], self._cuts[keep + 1 :]
        for i in range(1, len(places)):
            self._add(begin + places[i], count + ends[i - 1], tail[places[i - 1] : places[i]])
        self._context, self._tail, self._whole = context, tail[places[-1] :], None
        if begin:
            return self._show(len(prefix) + count, [*encoded, suffix])
        return self._show(0, [prefix, *encoded, suffix])

    def _add(self, place: int, count: int, text: str) -> None:
        """A new last cut. The one before it goes where the cuts would come to stand close."""
        if len(self._cuts) > 1 and place - self._cuts[-2][0] < _STEP:
            self._cuts[-1] = place, count
            self._parts[-1] += text
        else:
            self._cuts.append((place, count))
            self._parts.append(text)

    def _show(self, same: int, parts: list[Ids]) -> Ids:
        """The result of a call: so many ids as before, and these behind them."""
        end = changed = same
        equal = True
        for part in parts:
            if equal and end < self._n:
                number = min(len(part), self._n - end)
                first = _first_other(self._ids[end : end + number], part[:number])
                equal = first == number
                changed += first
            end += len(part)
        self._changed_from = changed
        # An array that somebody holds still shows what is to be replaced now: leave it that memory.
        held = changed < self._n and sys.getrefcount(self._ids) != self._alone
        if held or end > len(self._ids):
            self._make_room(end, changed)
        self._spare_n = min(self._spare_n, changed)
        ids, place = self._ids, same
        for part in parts:
            stop = place + len(part)
            if stop > changed:
                ids[max(place, changed) : stop] = part[max(changed - place, 0) :]
            place = stop
        self._n = end
        return self.ids

    def _make_room(self, size: int, n: int) -> None:
        """Other memory for so many ids, with the first n of these. Who holds the last result only, and gives it up for
        the next, makes two arrays take turns: each lacks no more than what came since its last turn."""
        if size <= len(self._spare) and sys.getrefcount(self._spare) == self._alone:
            self._spare[self._spare_n : n] = self._ids[self._spare_n : n]
            self._ids, self._spare = self._spare, self._ids
        else:
            self._spare, self._ids = self._ids, np.empty(max(size + (size >> 1), 256), dtype=np.uint32)
            self._ids[:n] = self._spare[:n]
        self._spare_n = n

    def _begin_memory(self) -> None:
        self._ids, self._spare = np.empty(256, dtype=np.uint32), np.empty(0, dtype=np.uint32)
        self._spare_n = 0
        self._alone = sys.getrefcount(self._ids)


def _places(cuts: TextCuts, tail: str) -> list[int]:
    """Where a text begins and where it is cut: about every two steps, and at last as late as can be."""
    places = [0]
    while len(tail) - places[-1] > 2 * _STEP:
        place = cuts.last(tail[: places[-1] + 2 * _STEP], places[-1])
        if place == places[-1]:
            break
        places.append(place)
    place = cuts.last(tail, places[-1])
    if place > places[-1]:
        places.append(place)
    return places


def _first_other(a: Ids, b: Ids) -> int:
    """The first index at which two arrays of one length differ; their length where they do not."""
    if len(a) <= 32:  # mostly: what the last few tokens became
        return next((i for i, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True)) if x != y), len(a))
    unequal = a != b
    return int(unequal.argmax()) if unequal.any() else len(a)


def _common(a: str, b: str) -> int:
    """The number of characters that two texts have in common at their beginnings."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
