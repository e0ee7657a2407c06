"""Parity-aware BPE: merges that are chosen for one language at a time and made in all of them.

Rules (reference: models/bpe/parity_trainer.rs, do_train; words are merged as in models/bpe/word.rs):
- The first `global_merges` merges are the most frequent pair of all languages together, the others that of one
  language. That is the language whose development texts are longest in tokens (training texts, where there are none),
  or with target ratios the one that is compressed least for its ratio; "window" passes over a language that had more
  than its share of the last choices. A language without a pair is out; the global phase without one ends the training.
- Of pairs with the same count the later in the order of their two strings is taken.
- Counts are kept as the reference keeps them: a merge adds and subtracts at its neighbours, in overlapping places
  twice.
Where the reference follows the order of a hash table (the ids of affixed characters, characters of the same count at
the limit of the alphabet), the order here is that of the words as given, and of the code points. Where it searches
without end, the training here goes on or ends (`longest_left`).

Plain Python over dicts and heaps: exact, not fast. Left to others: texts to words (hftok.parity_trainer).
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, deque
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ParityError", "train"]

Pair = tuple[int, int]
WordCounts = dict[str, int]


class ParityError(Exception):
    """The settings do not fit each other or the number of languages."""


class _Later:
    """Strings of a pair, sorted with the later first."""

    __slots__ = ("strings",)

    def __init__(self, strings: tuple[str, str]) -> None:
        self.strings = strings

    def __lt__(self, other: _Later) -> bool:
        return self.strings > other.strings


class _Queue:
    """Pairs by count; counts that have changed since are put right when an entry comes up."""

    def __init__(self, counts: dict[Pair, int], tokens: list[str]) -> None:
        self.counts = counts
        self.tokens = tokens
        self.heap = [self.entry(pair, count) for pair, count in counts.items() if count > 0]
        heapq.heapify(self.heap)

    def entry(self, pair: Pair, count: int) -> tuple[int, _Later, Pair]:
        return -count, _Later((self.tokens[pair[0]], self.tokens[pair[1]])), pair

    def push(self, pair: Pair) -> None:
        count = self.counts.get(pair, 0)
        if count > 0:
            heapq.heappush(self.heap, self.entry(pair, count))

    def pop(self) -> tuple[Pair, int] | None:
        while self.heap:
            minus, _, pair = heapq.heappop(self.heap)
            count = self.counts.get(pair, 0)
            if count == -minus:
                return pair, count
            self.push(pair)
        return None


class _Language:
    """The words of one language, its pairs, and in which words they are."""

    def __init__(self, words: list[list[int]], counts: list[int]) -> None:
        self.words = words
        self.lengths = [[1] * len(word) for word in words]
        self.counts = counts
        self.pairs: dict[Pair, int] = {}
        self.where: dict[Pair, set[int]] = {}
        for i, word in enumerate(words):
            for pair in pairwise(word):
                self.pairs[pair] = self.pairs.get(pair, 0) + counts[i]
                self.where.setdefault(pair, set()).add(i)

    def size(self) -> int:
        return sum(len(word) * count for word, count in zip(self.words, self.counts, strict=True))

    def merge(self, pair: Pair, made: int, longest: float) -> tuple[int, dict[Pair, None]]:
        """Makes the merge in all words. Returns the tokens saved in the texts, and the pairs whose counts changed."""
        places = self.where.pop(pair, None)
        changed: dict[Pair, None] = {}
        if places is None:
            return 0, changed
        saved = 0
        for i in places:
            before = len(self.words[i])
            for other, change in _merge(self.words[i], self.lengths[i], pair, made, longest):
                self.pairs[other] = self.pairs.get(other, 0) + change * self.counts[i]
                if change > 0:
                    self.where.setdefault(other, set()).add(i)
                changed[other] = None
            saved += (before - len(self.words[i])) * self.counts[i]
        self.pairs[pair] = 0
        return saved, changed


def _merge(word: list[int], lengths: list[int], pair: Pair, made: int, longest: float) -> list[tuple[Pair, int]]:
    """One word, in place. Returns the changes of pair counts; tokens that would get too long make no pair."""
    left, right = pair
    changes: list[tuple[Pair, int]] = []
    i = 0
    while i + 1 < len(word):
        if word[i] == left and word[i + 1] == right:
            length = lengths[i] + lengths[i + 1]
            if i > 0:
                changes.append(((word[i - 1], left), -1))
                if lengths[i - 1] + length < longest:
                    changes.append(((word[i - 1], made), 1))
            word[i : i + 2] = [made]
            lengths[i : i + 2] = [length]
            if i + 1 < len(word):
                changes.append(((right, word[i + 1]), -1))
                if lengths[i + 1] + length < longest:
                    changes.append(((made, word[i + 1]), 1))
        i += 1
    return changes


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.inf if a else math.nan


class _Training:
    def __init__(
        self,
        words: list[WordCounts],
        development: list[WordCounts],
        ratio: list[float] | None,
        settings: dict[str, Any],
    ) -> None:
        self.settings = settings
        self.count = len(words)
        self.ratio = ratio
        self.development = development
        self.prefix: str = settings["continuing_subword_prefix"] or ""
        self.suffix: str = settings["end_of_word_suffix"] or ""
        self.check()
        self.ids: dict[str, int] = {}
        self.tokens: list[str] = []
        for token in settings["special_tokens"]:
            self.token(token.content)
        self.add_alphabet([*words, *development])
        self.languages = [self.language(counts) for counts in words]
        self.queues = [_Queue(language.pairs, self.tokens) for language in self.languages]
        together: Counter[Pair] = Counter()
        if settings["global_merges"]:
            for language in self.languages:
                for pair, count in language.pairs.items():
                    if count > 0:
                        together[pair] += count
        self.together: dict[Pair, int] = dict(together)
        self.together_queue = _Queue(self.together, self.tokens)
        self.texts: dict[tuple[int, ...], list[int]] = {}
        self.lengths = [language.size() for language in self.languages]
        self.first_lengths = list(self.lengths)
        if development and ratio is None:
            self.read_development()
        self.out: set[int] = set()
        self.chosen: deque[int] = deque()

    def check(self) -> None:
        if self.ratio is not None and len(self.ratio) != self.count:
            raise ParityError(f"ratio length ({len(self.ratio)}) does not match number of languages ({self.count})")
        if self.settings["variant"] == "window":
            if self.settings["window_size"] == 0:
                raise ParityError("window_size must be > 0 when variant is Window")
            alpha = self.settings["alpha"]
            if not math.isfinite(alpha) or alpha <= 0:
                raise ParityError(f"alpha must be a positive finite number when variant is Window (got {alpha:g})")
        for i, value in enumerate(self.ratio or ()):
            if not math.isfinite(value) or value <= 0:
                raise ParityError(f"ratio[{i}] must be a positive finite number (got {value:g})")

    # ---- the start -------------------------------------------------------------------------------------------------

    def token(self, text: str) -> int:
        id_ = self.ids.setdefault(text, len(self.tokens))
        if id_ == len(self.tokens):
            self.tokens.append(text)
        return id_

    def add_alphabet(self, all_words: list[WordCounts]) -> None:
        alphabet: Counter[str] = Counter()
        for words in all_words:
            for word, count in words.items():
                for character in word:
                    alphabet[character] += count
        for character in self.settings["initial_alphabet"]:
            alphabet[character] = 1 << 64  # more than any count
        kept = sorted(alphabet, key=lambda character: (alphabet[character], character))
        limit = self.settings["limit_alphabet"]
        if limit is not None:
            kept = kept[max(0, len(kept) - limit) :]
        for character in sorted(kept):
            self.token(character)

    def symbol(self, word: str, i: int) -> str:
        """Character i of a word, with the affixes that it has there."""
        text = word[i] if i == 0 else self.prefix + word[i]
        return text + self.suffix if i == len(word) - 1 else text

    def language(self, counts: WordCounts) -> _Language:
        """Characters that are not in the alphabet are left out."""
        words = [[self.token(self.symbol(word, i)) for i, c in enumerate(word) if c in self.ids] for word in counts]
        return _Language(words, list(counts.values()))

    def read_development(self) -> None:
        """Words with a symbol that the training texts lack do not count."""
        for i, words in enumerate(self.development):
            for word, count in words.items():
                symbols = [self.ids.get(self.symbol(word, k)) if c in self.ids else None for k, c in enumerate(word)]
                if symbols and None not in symbols:
                    key = tuple(symbol for symbol in symbols if symbol is not None)
                    self.texts.setdefault(key, [0] * self.count)[i] += count
        self.lengths = [sum(len(word) * n[i] for word, n in self.texts.items()) for i in range(self.count)]

    # ---- the merges ------------------------------------------------------------------------------------------------

    def values(self) -> list[float]:
        """Which language needs the next merge most: that with the largest value. Those that are out have the least."""
        if self.ratio is None:
            values: list[float] = list(self.lengths)
        else:
            pairs = zip(self.first_lengths, self.lengths, self.ratio, strict=True)
            values = [-_divided(_divided(first, now), ratio) for first, now, ratio in pairs]
        for i in self.out:
            values[i] = -math.inf
        return values

    def choose(self) -> int:
        values = self.values()
        if self.settings["variant"] == "base":
            return self.largest(values)
        language = self.choose_in_window(values)
        self.chosen.append(language)
        if len(self.chosen) > self.settings["window_size"]:
            self.chosen.popleft()
        return language

    def largest(self, values: list[float]) -> int:
        """The first language where there is none with a value (not a number: a language without texts, with ratios)."""
        best, value = 0, -math.inf
        for i, other in enumerate(values):
            if other > value:
                best, value = i, other
        return best

    def choose_in_window(self, values: list[float]) -> int:
        threshold = self.settings["alpha"] / self.count
        left = list(values)
        passed: set[int] = set()
        while len(passed) < self.count:
            best = self.largest(left)
            if self.chosen.count(best) / self.settings["window_size"] <= threshold:
                return best
            if best in passed:
                return self.longest_left(values) or 0
            passed.add(best)
            left[best] = -math.inf
        return best

    def longest_left(self, values: list[float]) -> int | None:
        """Where the reference goes on searching without end, as none but languages that are out is left to choose.

        Then the window gives way to the language that needs a merge most; without one, the training ends.
        """
        best = self.largest(values)
        return best if values[best] > -math.inf else None

    def run(self, report: Callable[[], object]) -> tuple[dict[str, int], NDArray[np.uint32]]:
        wanted: int = self.settings["num_merges"]
        if self.settings["total_symbols"]:
            wanted = max(0, wanted - len(self.tokens))
        longest = math.inf if self.settings["max_token_length"] is None else self.settings["max_token_length"]
        merges: dict[Pair, tuple[int, int]] = {}
        step = 0
        while step < wanted and len(self.out) < self.count:
            language = None if step < self.settings["global_merges"] else self.choose()
            best = (self.together_queue if language is None else self.queues[language]).pop()
            if best is None or best[1] < self.settings["min_frequency"]:
                if language is None:
                    break
                if language in self.out and self.longest_left(self.values()) is None:
                    break
                self.out.add(language)
                continue
            pair = best[0]
            left, right = self.tokens[pair[0]], self.tokens[pair[1]]
            made = self.token(left + right.removeprefix(self.prefix))
            merges[pair] = step, made
            self.apply(pair, made, longest)
            step += 1
            report()
        rows = sorted((rank, *pair, made) for pair, (rank, made) in merges.items())
        return self.ids, np.array([row[1:] for row in rows], dtype=np.uint32).reshape(-1, 3)

    def apply(self, pair: Pair, made: int, longest: float) -> None:
        all_changed: dict[Pair, None] = {}
        for i, language in enumerate(self.languages):
            saved, changed = language.merge(pair, made, longest)
            for other in changed:
                self.queues[i].push(other)
            all_changed |= changed
            if self.ratio is not None or not self.development:
                self.lengths[i] -= saved
        if self.settings["global_merges"]:
            all_changed[pair] = None
            for other in all_changed:
                total = sum(language.pairs.get(other, 0) for language in self.languages)
                self.together[other] = max(total, 0)
                self.together_queue.push(other)
        if self.texts:
            self.merge_development(pair, made)

    def merge_development(self, pair: Pair, made: int) -> None:
        """Of two words that become the same the second takes the place of the first, as in the reference."""
        for word in [word for word in self.texts if pair in pairwise(word)]:
            numbers = self.texts.pop(word)
            symbols = list(word)
            _merge(symbols, [0] * len(symbols), pair, made, math.inf)
            for i in range(self.count):
                self.lengths[i] -= (len(word) - len(symbols)) * numbers[i]
            self.texts[tuple(symbols)] = numbers


def train(
    words: list[WordCounts],
    development: list[WordCounts],
    ratio: list[float] | None,
    settings: dict[str, Any],
    report: Callable[[], object] = lambda: None,
) -> tuple[dict[str, int], NDArray[np.uint32]]:
    """Trains on word counts.

    Args:
        words: for each language, words and how often they occur.
        development: the same for the development texts; empty for none.
        ratio: target compression of each language, or None; wins over `development`.
        settings: the attributes of ParityBpeTrainer.
        report: called after each merge.

    Returns:
        the vocabulary (token -> id), and the merges as a uint32 array (n, 3) of left id, right id and merged id.

    Raises:
        ParityError: settings that do not fit.
    """
    return _Training(words, development, ratio, settings).run(report)
