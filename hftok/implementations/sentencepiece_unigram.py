"""Unigram on text whose blanks are marked, as SentencePiece does it; and SentencePiece's own model files."""

from __future__ import annotations

from collections.abc import Sequence

from hftok import decoders, normalizers, pre_tokenizers
from hftok.added_tokens import AddedToken
from hftok.implementations.base_tokenizer import BaseTokenizer, Texts
from hftok.models import Unigram
from hftok.patterns import Regex
from hftok.sentencepiece_file import UNIGRAM, SentencePieceFile
from hftok.tokenizer import Tokenizer
from hftok.trainers import UnigramTrainer

__all__ = ["SentencePieceUnigramTokenizer"]


class SentencePieceUnigramTokenizer(BaseTokenizer):
    """A Unigram tokenizer in SentencePiece's manner, from a vocabulary or to be trained.

    Args:
        vocab: (token, score) in the order of the ids; None: an empty model, for training.
        replacement: the character that stands for a blank.
        add_prefix_space: put one before the text.

    >>> tokenizer = SentencePieceUnigramTokenizer([("▁", -3.0), ("a", -2.0), ("▁a", -1.0)])
    >>> tokenizer.encode("a  a").tokens
    ['▁a', '▁a']
    """

    def __init__(
        self,
        vocab: list[tuple[str, float]] | None = None,
        replacement: str = "▁",
        add_prefix_space: bool = True,
    ) -> None:
        tokenizer = Tokenizer(Unigram() if vocab is None else Unigram(vocab))
        tokenizer.normalizer = normalizers.Sequence(
            [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        )
        _mark_blanks(tokenizer, replacement, add_prefix_space)
        super().__init__(
            tokenizer,
            {
                "model": "SentencePieceUnigram",
                "replacement": replacement,
                "add_prefix_space": add_prefix_space,
            },
        )

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: list[str | AddedToken] | None = None,
        initial_alphabet: list[str] | None = None,
        unk_token: str | None = None,
    ) -> None:
        """Train the model on text files (one path or several). Arguments: see `trainers.UnigramTrainer`."""
        trainer = UnigramTrainer(
            vocab_size=vocab_size,
            special_tokens=[] if special_tokens is None else special_tokens,
            show_progress=show_progress,
            initial_alphabet=[] if initial_alphabet is None else initial_alphabet,
            unk_token=unk_token,
        )
        self._train(files, trainer)

    def train_from_iterator(
        self,
        iterator: Texts,
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: list[str | AddedToken] | None = None,
        initial_alphabet: list[str] | None = None,
        unk_token: str | None = None,
        length: int | None = None,
    ) -> None:
        """Train the model on texts, or on batches of texts. length: how many there are, for the progress bar."""
        trainer = UnigramTrainer(
            vocab_size=vocab_size,
            special_tokens=[] if special_tokens is None else special_tokens,
            show_progress=show_progress,
            initial_alphabet=[] if initial_alphabet is None else initial_alphabet,
            unk_token=unk_token,
        )
        self._train_from_iterator(iterator, trainer, length)

    @staticmethod
    def from_spm(filename: str) -> SentencePieceUnigramTokenizer:
        """A tokenizer of a SentencePiece model file. No other package is needed.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no SentencePiece model.
            Exception: its algorithm is not Unigram.
        """
        model = SentencePieceFile.read(filename)
        if model.model_type != UNIGRAM:
            raise Exception(
                f"{filename}: a `Unigram` model is wanted, but this file was trained with a different algorithm"
            )
        pieces = [(piece, score) for piece, score, _ in model.pieces]
        tokenizer = Tokenizer(Unigram(pieces, model.unk_id, model.byte_fallback))
        spaces: normalizers.Normalizer = normalizers.Replace(Regex(" {2,}"), " ")
        parts = [spaces]
        if model.precompiled_charsmap:
            parts.insert(0, normalizers.Precompiled(model.precompiled_charsmap))
        tokenizer.normalizer = normalizers.Sequence(parts)
        _mark_blanks(tokenizer, "▁", True)
        self = SentencePieceUnigramTokenizer.__new__(SentencePieceUnigramTokenizer)
        BaseTokenizer.__init__(self, tokenizer, {"model": "SentencePieceUnigram"})
        return self


def _mark_blanks(tokenizer: Tokenizer, replacement: str, add_prefix_space: bool) -> None:
    scheme = "always" if add_prefix_space else "never"
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)
