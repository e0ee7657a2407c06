"""Prompts that grow: the ids of a text that is the one before and some more, at the cost of what is new."""

from __future__ import annotations

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
_NO_IDS: Ids = np.zeros(0, dtype=np.uint32)


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
    apply. The text is cut where no later text can change what is before; where no such place is known (a model that
    takes the text as one piece, as Unigram without a pre-tokenizer; text without blanks; a normalizer or pre-tokenizer
    of the caller's) more is encoded anew, at worst all of it.

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

    def __init__(self, tokenizer: Tokenizer, add_special_tokens: bool = True) -> None:
        self._tokenizer = tokenizer
        self._add_special_tokens = add_special_tokens
        self._context: _Context | None = None
        self.clear()

    def clear(self) -> None:
        """Forget the text."""
        # The text between one cut and the next, and behind the last; the places of the cuts (0 is the first) and how
        # many ids are before each; those ids, and room.
        self._parts: list[str] = []
        self._tail = ""
        self._cuts: list[tuple[int, int]] = [(0, 0)]
        self._ids = np.empty(256, dtype=np.uint32)
        self._last = _NO_IDS
        self._changed_from = 0

    # ---- what a user reads

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join([*self._parts, self._tail])

    @property
    def ids(self) -> Ids:
        """The ids of the whole text, uint32 (n,), as the last call gave them."""
        return self._last

    @property
    def changed_from(self) -> int:
        """The index of the first id that is not what it was before the last call: the smaller number of ids where one
        result is the beginning of the other."""
        return self._changed_from

    def __len__(self) -> int:
        """The number of ids."""
        return len(self._last)

    def __repr__(self) -> str:
        return f"<Session of {self._cuts[-1][0] + len(self._tail)} characters, {len(self)} ids>"

    def append(self, text: str) -> Ids:
        """The ids of the text so far with this behind it, uint32 (n,).

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
        """The ids of a whole text, uint32 (n,). What it has in common with the beginning of the last one is found here,
        and not encoded again.

        Raises:
            TypeError: text is no str, or holds a lone surrogate; the session stays as it was.
        """
        if not isinstance(text, str):
            raise TypeError(f"encode takes a str, not a {type(text).__name__}")
        context = self._current()
        if context is not self._context:
            return self._update(context, 0, text)
        old = self.text
        keep = len(self._cuts) - 1
        if not text.startswith(old):
            # At a cut the character behind it, and the next, must be what they were.
            common = _common(old, text)
            while keep and self._cuts[keep][0] + 2 > common:
                keep -= 1
        return self._update(context, keep, text[self._cuts[keep][0] :])

    def copy(self) -> Session:
        """A session with the same text, which goes on by itself."""
        other = Session(self._tokenizer, self._add_special_tokens)
        other.__dict__.update(self.__dict__)
        other._parts, other._cuts, other._ids = list(self._parts), list(self._cuts), self._ids.copy()
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
            if self._tokenizer._ready() == (engine, settings):  # else it was changed meanwhile
                return context

    def _update(self, context: _Context, keep: int, tail: str) -> Ids:
        """Encode the text behind a cut, which may be cut further. Nothing is kept unless all of it could be encoded."""
        rules = context.cuts
        if rules is None or context.around is None:
            text = "".join([*self._parts[:keep], tail])
            ids = self._tokenizer.encode_ids(text, self._add_special_tokens)
            self._context, self._parts, self._tail, self._cuts = context, [], text, [(0, 0)]
            return self._show(ids, 0)
        skip = rules.skip
        begin, count = self._cuts[keep]
        places = _places(rules, tail)
        pieces = [
            tail[place + (skip if place or begin else 0) : end]
            for place, end in zip(places, [*places[1:], len(tail)], strict=True)
        ]
        ends: list[int] = []
        if len(pieces) == 1:
            ids = _rows.encode_one(context.engine, pieces[0], _NOTHING_AROUND)
        else:
            ids, rows, _ = _rows.encode_batch(context.engine, pieces, None)
            ends = rows[1:-1].tolist()
        kept = ends[-1] if ends else 0
        if count + kept > len(self._ids):
            self._ids = np.concatenate([self._ids[:count], np.empty(count + 2 * kept, dtype=np.uint32)])
        self._ids[count : count + kept] = ids[:kept]
        del self._parts[keep:], self._cuts[keep + 1 :]
        for place, end, n in zip(places, places[1:], ends, strict=False):
            self._add(begin + end, count + n, tail[place:end])
        self._context, self._tail = context, tail[places[-1] :]
        prefix, suffix = context.around
        return self._show(np.concatenate([prefix, self._ids[: count + kept], ids[kept:], suffix]), len(prefix) + count)

    def _add(self, place: int, count: int, text: str) -> None:
        """A new last cut. The one before it goes where the cuts would come to stand close."""
        if len(self._cuts) > 1 and place - self._cuts[-2][0] < _STEP:
            self._cuts[-1] = place, count
            self._parts[-1] += text
        else:
            self._cuts.append((place, count))
            self._parts.append(text)

    def _show(self, ids: Ids, same: int) -> Ids:
        """The result of a call, of which so many ids are known to be as before."""
        old, self._last = self._last, ids
        n = min(len(old), len(ids))
        same = min(same, n)
        different = np.flatnonzero(old[same:n] != ids[same:n])
        self._changed_from = same + int(different[0]) if len(different) else n
        return ids


def _places(rules: TextCuts, tail: str) -> list[int]:
    """Where a text begins and where it is cut: about every two steps, and at last as late as can be."""
    places = [0]
    while len(tail) - places[-1] > 2 * _STEP:
        place = rules.last(tail[: places[-1] + 2 * _STEP], places[-1])
        if place == places[-1]:
            break
        places.append(place)
    place = rules.last(tail, places[-1])
    if place > places[-1]:
        places.append(place)
    return places


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
