"""rustbpe's API over this package's engine: `import hftok.rustbpe as rustbpe`.

Same ranks and token ids as rustbpe 0.1.0, faster and in less memory. A trained vocabulary goes on to tiktoken:

>>> import hftok.rustbpe as rustbpe, hftok.tiktoken as tiktoken
>>> trained = rustbpe.Tokenizer()
>>> trained.train_from_iterator(["low lower lowest", "new newer newest"], vocab_size=262)
>>> ranks = dict(trained.get_mergeable_ranks())
>>> enc = tiktoken.Encoding("mine", pat_str=trained.get_pattern(), mergeable_ranks=ranks, special_tokens={"<end>": 262})
>>> enc.encode("newest<end>", allowed_special="all") == [*trained.encode("newest"), 262]
True
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Sequence

from hftok._core.parallel import max_threads
from hftok._core.rank_encoding import RankEncoding
from hftok._core.training.bpe import train_bpe
from hftok._core.training.feed import Counter, next_block
from hftok._core.training.sequences import Words
from hftok.arguments import naming, optional, sequence_of, string, uint32, uint64
from hftok.errors import UnsupportedTokenizerError

__all__ = ["Tokenizer"]

log = logging.getLogger(__name__)

GPT4_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
BYTES = [bytes([value]) for value in range(256)]
BLOCK_CHARACTERS = 1 << 24  # a block of texts ends here, however few they are


class Tokenizer:
    """A byte-level BPE tokenizer that is trained on texts: no special tokens, no normalization.

    The first 256 ids are the bytes, each merge has the next one. A new Tokenizer has no merges and the empty pattern,
    so it encodes every text to nothing until it is trained.

    >>> tok = Tokenizer()
    >>> tok.train_from_iterator(["hug hugs", "bug"], vocab_size=258)
    >>> tok.encode("hugs bug"), tok.decode([257]), tok.vocab_size
    ([257, 115, 32, 98, 256], 'hug', 258)
    """

    def __init__(self) -> None:
        self._pattern = ""
        self._tokens = BYTES
        self._encoding: RankEncoding | None = None

    def train_from_iterator(
        self, iterator: Iterable[str], vocab_size: int, buffer_size: int = 8192, pattern: str | None = None
    ) -> None:
        """Learn merges from texts, in place of the ones that there are.

        Every match of the pattern is a word, wherever it occurs in a text; what the pattern does not match is left
        out. The most frequent pair of neighbours is merged first; of equally frequent ones, that with the lower ids.
        Training ends early where no pair is left. All cores are used (`OMP_NUM_THREADS`, `TOKENIZERS_PARALLELISM`),
        with the same result for any number of them.

        Args:
            iterator: the texts, str.
            vocab_size: 256 and the number of merges.
            buffer_size: how many texts are taken from the iterator at once, before they are counted.
            pattern: a regular expression (Rust's syntax, with look-around); None: that of GPT-4.

        Raises:
            ValueError: the pattern is none, or cannot be reproduced (UnsupportedTokenizerError); `vocab_size` is below
                256, or `buffer_size` below 1.
            TypeError: a text is no str, or an argument has the wrong type.
            OverflowError: a number is negative or does not fit 32 bits.
            UnicodeEncodeError: a text has a lone surrogate.

            Whatever the iterator raises is raised here. After any error the tokenizer is what it was before.

        >>> tok = Tokenizer()
        >>> tok.train_from_iterator(iter(["low lower", "lowest"]), 258, pattern=r"\\w+")
        >>> tok.get_mergeable_ranks()[256:]
        [(b'lo', 256), (b'low', 257)]
        """
        with naming("vocab_size"):
            size = uint32(vocab_size)
        with naming("buffer_size"):
            items = uint64(buffer_size)
        with naming("pattern"):
            chosen = optional(string)(pattern)
        if chosen is None:
            chosen = GPT4_PATTERN
        try:
            words = Words.of_pattern(chosen)
        except UnsupportedTokenizerError:
            raise
        except ValueError as error:
            raise ValueError(f"Invalid regex pattern: {error}") from None
        if size < 256:
            raise ValueError(f"vocab_size must be at least 256 (every byte is a token), got {size}")
        if items < 1:
            raise ValueError("buffer_size must be at least 1")
        counter = Counter(words)
        number = 0
        texts = iter(iterator)
        while block := next_block(texts, min(items, sys.maxsize), BLOCK_CHARACTERS, nested=False):
            counter.add_texts(block)
            number += len(block)
        counts = counter.take()
        log.info("processed %d texts, %d distinct words", number, len(counts))
        trained = train_bpe(counts, vocab_size=size, symbols="bytes")
        log.info("finished training: %d merges", len(trained.made))
        self._pattern = chosen
        self._tokens = trained.vocab
        self._encoding = None

    def get_pattern(self) -> str:
        """The pattern of the last training; "" before the first."""
        return self._pattern

    @property
    def vocab_size(self) -> int:
        """256 and the number of merges."""
        return len(self._tokens)

    def get_mergeable_ranks(self) -> list[tuple[bytes, int]]:
        """The bytes of every token with its id, in the order of ids: what tiktoken takes, as a dict.

        >>> Tokenizer().get_mergeable_ranks()[97]
        (b'a', 97)
        """
        return [(token, rank) for rank, token in enumerate(self._tokens)]

    def encode(self, text: str) -> list[int]:
        """The ids of a text's tokens.

        Raises:
            TypeError: it is no str.
            UnicodeEncodeError: it has a lone surrogate.

        >>> tok = Tokenizer()
        >>> tok.train_from_iterator(["hi hi"], 258)
        >>> tok.encode("hi there")
        [256, 32, 116, 104, 101, 114, 101]
        """
        with naming("text"):
            string(text)
        return self._encoder().encode_ordinary(text)

    def batch_encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of the tokens of several texts (a list, or another sequence of str), by all cores.

        Raises: see `encode`.

        >>> tok = Tokenizer()
        >>> tok.train_from_iterator(["hi hi"], 258)
        >>> tok.batch_encode(["hi", " hi hi"])
        [[256], [257, 257]]
        """
        with naming("texts"):
            strings = sequence_of(string)(texts)
        return self._encoder().encode_ordinary_batch(strings, num_threads=max_threads())

    def decode(self, ids: Sequence[int]) -> str:
        """The text that ids stand for.

        Raises:
            ValueError: there is no such id.
            TypeError: it is no sequence of int; or the bytes are not UTF-8, which may be where a character is cut.
            OverflowError: a number is negative or does not fit 32 bits.

        >>> Tokenizer().decode([104, 105])
        'hi'
        """
        with naming("ids"):
            try:
                data = self._encoder().decode_bytes(ids)
            except KeyError:
                unknown = next(number for number in map(uint32, ids) if number >= len(self._tokens))
                raise ValueError(f"Unknown token id: {unknown}") from None
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            # A TypeError, because that is what rustbpe's attempt at a UnicodeDecodeError comes to.
            raise TypeError(f"Decoded bytes are not valid UTF-8: {error.reason} at byte {error.start}") from None

    def _encoder(self) -> RankEncoding:
        if self._encoding is None:
            encoding = RankEncoding()
            ranks = {token: rank for rank, token in enumerate(self._tokens)}
            encoding._set_up(ranks, {}, self._pattern, skips_empty=True)
            self._encoding = encoding
        return self._encoding

    def __getstate__(self) -> tuple[str, list[bytes]]:
        return self._pattern, self._tokens

    def __setstate__(self, state: tuple[str, list[bytes]]) -> None:
        self._pattern, self._tokens = state
        self._encoding = None
