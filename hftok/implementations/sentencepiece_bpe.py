"""BPE on text whose blanks are marked, as SentencePiece does it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hftok import decoders, pre_tokenizers
from hftok.added_tokens import AddedToken
from hftok.implementations.base_tokenizer import BaseTokenizer, Texts, Tokens, add_special_if_known, as_list
from hftok.models import BPE
from hftok.normalizers import NFKC
from hftok.tokenizer import Tokenizer
from hftok.trainers import BpeTrainer

__all__ = ["SentencePieceBPETokenizer"]


class SentencePieceBPETokenizer(BaseTokenizer):
    """A BPE tokenizer in SentencePiece's manner, from vocabulary and merges or to be trained.

    Args:
        vocab: token -> id, or the path of a vocab.json.
        merges: pairs of tokens, or the path of a merges.txt. Without both, the model is empty, for training.
        unk_token: the token of unknown characters.
        replacement: the character that stands for a blank.
        add_prefix_space: put one before the text.
        dropout: probability that a merge is skipped.
        fuse_unk: make one token of neighbouring unknown characters.

    >>> vocab = {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3}
    >>> SentencePieceBPETokenizer(vocab, [("▁", "a")]).encode("a a").tokens
    ['▁a', '▁a']
    """

    def __init__(
        self,
        vocab: str | dict[str, int] | None = None,
        merges: str | Sequence[tuple[str, str]] | None = None,
        unk_token: str | AddedToken = "<unk>",
        replacement: str = "▁",
        add_prefix_space: bool = True,
        dropout: float | None = None,
        fuse_unk: bool | None = False,
    ) -> None:
        if vocab is None or merges is None:
            vocab = merges = None
        options: Any = {"dropout": dropout, "unk_token": unk_token, "fuse_unk": fuse_unk}
        tokenizer = Tokenizer(BPE(vocab, as_list(merges), **options))
        add_special_if_known(tokenizer, unk_token)
        tokenizer.normalizer = NFKC()
        scheme = "always" if add_prefix_space else "never"
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
        tokenizer.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)
        super().__init__(
            tokenizer,
            {
                "model": "SentencePieceBPE",
                "unk_token": unk_token,
                "replacement": replacement,
                "add_prefix_space": add_prefix_space,
                "dropout": dropout,
            },
        )

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> SentencePieceBPETokenizer:
        """A tokenizer of a vocab.json and a merges.txt, with the options of the constructor."""
        vocab, merges = BPE.read_file(vocab_filename, merges_filename)
        return SentencePieceBPETokenizer(vocab, merges, **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: Tokens = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
    ) -> None:
        """Train the model on text files (one path or several). Arguments: see `trainers.BpeTrainer`."""
        trainer = BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=as_list(special_tokens),
            limit_alphabet=limit_alphabet,
            initial_alphabet=as_list(initial_alphabet),
            show_progress=show_progress,
        )
        self._train(files, trainer)

    def train_from_iterator(
        self,
        iterator: Texts,
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: Tokens = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
        length: int | None = None,
    ) -> None:
        """Train the model on texts, or on batches of texts. length: how many there are, for the progress bar."""
        trainer = BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=as_list(special_tokens),
            limit_alphabet=limit_alphabet,
            initial_alphabet=as_list(initial_alphabet),
            show_progress=show_progress,
        )
        self._train_from_iterator(iterator, trainer, length)
