"""What the training tests compare with: the installed reference, and a plain model of BPE for what it cannot count."""

import itertools
import json
import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# On texts as small as these the reference's threads only cost time, and so do OpenMP's where they spin at barriers.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("RAYON_NUM_THREADS", "1")

from tokenizers import Tokenizer, models, trainers

Vocab = list[str]
Merges = list[tuple[str, str]]


def in_id_order(vocab: Mapping[str, int]) -> Vocab:
    return [token for token, _ in sorted(vocab.items(), key=lambda item: item[1])]


def reference_model(model: Any, trainer: Any, words: Mapping[str, int]) -> dict[str, Any]:
    """The reference's model after training on whole strings, each as often as its count says."""
    tokenizer = Tokenizer(model)
    tokenizer.train_from_iterator([word for word, count in words.items() for _ in range(count)], trainer)
    state: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return state


def reference_bpe(words: Mapping[str, int], **settings: Any) -> tuple[Vocab, Merges]:
    state = reference_model(models.BPE(), trainers.BpeTrainer(show_progress=False, **settings), words)
    return in_id_order(state["vocab"]), [tuple(merge) for merge in state["merges"]]


def plain_bpe(
    words: Mapping[Sequence[Any], int], ids: Mapping[Any, int], merges: int, least: int = 1
) -> list[tuple[int, int]]:
    """Textbook BPE, every count taken anew before each merge: ids of the pairs merged. No affixes, any counts."""
    text = [([ids[symbol] for symbol in word], count) for word, count in words.items()]
    result: list[tuple[int, int]] = []
    new = max(ids.values(), default=-1) + 1
    while len(result) < merges:
        counts: Counter[tuple[int, int]] = Counter()
        for word, count in text:
            for pair in itertools.pairwise(word):
                counts[pair] += count
        if not counts:
            break
        pair = min(counts, key=lambda p: (-counts[p], p))
        if counts[pair] < least:
            break
        for word, _ in text:
            i = 0
            while i + 1 < len(word):
                if (word[i], word[i + 1]) == pair:
                    word[i : i + 2] = [new]
                i += 1
        result.append(pair)
        new += 1
    return result


def random_words(rng: random.Random) -> dict[str, int]:
    """Words over a small alphabet, so that merges overlap, tie, and run into each other."""
    alphabet = rng.choice(["ab", "abc", "abcdefgh", "ab😀é", "aAbBcC 字"])
    longest = rng.choice([3, 8, 30])
    words: dict[str, int] = {}
    for _ in range(rng.choice([1, 3, 10, 60, 200])):
        word = "".join(rng.choice(alphabet) for _ in range(rng.randint(1, longest)))
        words[word] = words.get(word, 0) + rng.choice([1, 1, 1, 2, 3, 10])
    return words


def random_settings(rng: random.Random) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "vocab_size": rng.choice([0, 5, 12, 30, 100, 1000]),
        "min_frequency": rng.choice([0, 0, 1, 2, 3]),
    }
    if rng.random() < 0.4:
        tokens = ["[UNK]", "a", "ab", "abc", "ba", "aa", "字b", "<s>"]
        settings["special_tokens"] = rng.sample(tokens, rng.randint(1, 5))
    if rng.random() < 0.5:
        settings["max_token_length"] = rng.choice([0, 1, 2, 3, 4, 5, 6, 8, 9, 100])
    if rng.random() < 0.3:
        settings["initial_alphabet"] = rng.sample(["z", "a", "q", "b", "xyz", "字"], 3)
    return settings


def zipf_words(rng: random.Random, words: int, alphabet: str, tokens: int) -> dict[str, int]:
    """Something like text: `tokens` draws from a lexicon of `words` words, the r-th with a probability like 1 / r."""
    sizes = [min(1 + int(rng.expovariate(0.2)), 40) for _ in range(words)]
    lexicon = ["".join(rng.choices(alphabet, k=size)) for size in sizes]
    weights = [1 / rank for rank in range(1, words + 1)]
    return dict(Counter(rng.choices(lexicon, weights, k=tokens)))
