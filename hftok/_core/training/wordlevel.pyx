"""Training of a WordLevel model: the most frequent words.

Rule of the reference: WordLevelTrainer::do_train in models/wordlevel/trainer.rs. Special tokens, then the words with at least
min_frequency occurrences by falling count, equal counts by their bytes; this list is cut at vocab_size, and only then is it
made a map from word to its place. A word that is also a special token, or a special token given twice, thus takes its last
place and leaves a hole at the first: the ids need not be 0, 1, 2, ... . Kept as it is.
"""
import numpy as np

from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint64_t

from hftok._core.training.bpe import checked_size
from hftok._core.training.words cimport WordCounts


def train_wordlevel(words, *, vocab_size=30000, min_frequency=0, special_tokens=()):
    """The vocabulary of a WordLevel model, dict from token to id.

    words           WordCounts, or what its constructor takes
    vocab_size      at most this many places are given out
    min_frequency   words that occur less often are left out
    special_tokens  str, first places in this order

    Raises ValueError for a word that is not UTF-8.

    >>> train_wordlevel({"the": 3, "a": 2, "low": 2}, vocab_size=3, special_tokens=["[UNK]"])
    {'[UNK]': 0, 'the': 1, 'a': 2}
    """
    cdef WordCounts counts = words if isinstance(words, WordCounts) else WordCounts(words)
    cdef int64_t i
    size = checked_size("vocab_size", vocab_size)
    least = checked_size("min_frequency", min_frequency)
    vocab = {}
    place = 0
    for token in special_tokens:
        if place >= size:
            break
        vocab[token] = place
        place += 1
    room = size - place
    if room <= 0:
        return vocab
    count = np.empty(counts.size, dtype=np.uint64)
    cdef uint64_t[::1] view = count
    for i in range(counts.size):
        view[i] = counts.count[i]
    # Words of count 0 are never fed; of the others only those that can make the cut are decoded and sorted.
    least = max(least, 1)
    chosen = np.flatnonzero(count >= least) if least <= (1 << 64) - 1 else np.empty(0, dtype=np.int64)
    if len(chosen) > room:
        bound = np.partition(count[chosen], len(chosen) - room)[len(chosen) - room]
        chosen = chosen[count[chosen] >= bound]
    entries = []
    for i in chosen.tolist():
        entries.append((-int(view[i]), (<char *>counts.text)[counts.offset[i]:counts.offset[i + 1]]))
    entries.sort()
    for _, word in entries[:room]:
        try:
            vocab[word.decode("utf-8")] = place
        except UnicodeDecodeError:
            raise ValueError(f"a word is not valid UTF-8: {word!r}") from None
        place += 1
    return vocab
