"""Training of a WordLevel model: the most frequent words.

Rule of the reference: WordLevelTrainer::do_train in models/wordlevel/trainer.rs. Special tokens, then the words with at least
min_frequency occurrences by falling count, equal counts by their bytes; this list is cut at vocab_size, and only then is it
made a map from word to its place. A word that is also a special token, or a special token given twice, thus takes its last
place and leaves a hole at the first: the ids need not be 0, 1, 2, ... . Kept as it is.
"""
import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from hftok._core.training.bpe import checked_size
from hftok._core.training.progress cimport Progress, Watch, stopped
from hftok._core.training.words cimport Keyed, KeyedText, WordCounts, bytes_before, keyed_word


COMMON = 1 << 12                # counts below are found by counting


cdef struct Entry:
    uint64_t count
    Keyed word

ctypedef Entry Sorted
ctypedef KeyedText SortContext


cdef inline bint comes_before(const Entry *a, const Entry *b, const KeyedText *words) noexcept nogil:
    """More frequent words first, equally frequent ones by their bytes."""
    if a.count != b.count:
        return a.count > b.count
    return bytes_before(&a.word, &b.word, words)


include "merge_sort.pxi"


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
    cdef Progress clock
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
    if counts.size:
        memcpy(&view[0], counts.count, <size_t>counts.size * sizeof(uint64_t))
    # Words of count 0 are never fed; of the others only those that can make the cut are sorted, and only those that make it decoded.
    least = max(least, 1)
    chosen = np.flatnonzero(count >= least) if least <= (1 << 64) - 1 else np.empty(0, dtype=np.int64)
    if len(chosen) > room:
        # The count of the last word that makes it. Nearly all counts are small, so they are counted themselves.
        limited = np.minimum(count[chosen], COMMON).astype(np.int64)
        at_least = np.bincount(limited, minlength=COMMON + 1)[::-1].cumsum()[::-1]
        bound = int(np.flatnonzero(at_least >= room).max())
        if bound == COMMON:
            large = count[chosen[limited == COMMON]]
            bound = np.partition(large, len(large) - room)[len(large) - room]
        chosen = chosen[count[chosen] >= bound]
    cdef const int64_t[::1] words_chosen = chosen
    cdef int64_t n = len(chosen)
    cdef Entry *entry = <Entry *>malloc(<size_t>(n + 1) * sizeof(Entry))
    cdef KeyedText text
    cdef bytes word
    cdef int failed
    if entry == NULL:
        raise MemoryError("out of memory while sorting words")
    text.text = counts.text
    text.offset = counts.offset
    clock = Progress(None)
    try:
        with nogil:
            for i in range(n):
                entry[i].count = counts.count[words_chosen[i]]
                entry[i].word = keyed_word(&text, words_chosen[i])
            failed = merge_sort(entry, n, &text, &clock.watch)
        if failed:
            clock.fail("out of memory while sorting words")
        for i in range(min(n, room)):
            word = (<char *>counts.text)[counts.offset[entry[i].word.word]:counts.offset[entry[i].word.word + 1]]
            try:
                vocab[word.decode("utf-8")] = place
            except UnicodeDecodeError:
                raise ValueError(f"a word is not valid UTF-8: {word!r}") from None
            place += 1
    finally:
        free(entry)
    return vocab
