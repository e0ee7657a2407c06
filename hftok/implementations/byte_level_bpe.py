"""BPE on bytes, as GPT-2 uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hftok import decoders, pre_tokenizers, processors
from hftok.implementations.base_tokenizer import BaseTokenizer, Texts, Tokens, as_list
from hftok.models import BPE
from hftok.normalizers import Lowercase, Normalizer, unicode_normalizer_from_str
from hftok.normalizers import Sequence as NormalizerSequence
from hftok.tokenizer import Tokenizer
from hftok.trainers import BpeTrainer

__all__ = ["ByteLevelBPETokenizer", "normalizer_of"]


def normalizer_of(parts: list[Normalizer]) -> Normalizer | None:
    """None, the only one, or a Sequence: nothing is wrapped that need not be."""
    if len(parts) > 1:
        return NormalizerSequence(parts)
    return parts[0] if parts else None


class ByteLevelBPETokenizer(BaseTokenizer):
    """A byte-level BPE tokenizer, from vocabulary and merges or to be trained.

    Args:
        vocab: token -> id, or the path of a vocab.json.
        merges: pairs of tokens, or the path of a merges.txt. Without both, the model is empty, for training.
        add_prefix_space: treat the first word as the others, which follow a blank.
        lowercase: lower the case.
        dropout: probability that a merge is skipped.
        unicode_normalizer: "nfc", "nfd", "nfkc" or "nfkd".
        continuing_subword_prefix, end_of_word_suffix: see `models.BPE`.
        trim_offsets: leave blanks out of the offsets.

    >>> ByteLevelBPETokenizer({"a": 0, "b": 1, "ab": 2}, [("a", "b")], lowercase=True).encode("AB").tokens
    ['ab']
    """

    def __init__(
        self,
        vocab: str | dict[str, int] | None = None,
        merges: str | Sequence[tuple[str, str]] | None = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: float | None = None,
        unicode_normalizer: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        trim_offsets: bool = False,
    ) -> None:
        if vocab is not None and merges is not None:
            model = BPE(
                vocab,
                as_list(merges),
                dropout=dropout,
                continuing_subword_prefix=continuing_subword_prefix or "",
                end_of_word_suffix=end_of_word_suffix or "",
            )
        else:
            model = BPE()  # as in the reference, without the options
        tokenizer = Tokenizer(model)
        normalizers: list[Normalizer] = []
        if unicode_normalizer:
            normalizers.append(unicode_normalizer_from_str(unicode_normalizer))
        if lowercase:
            normalizers.append(Lowercase())
        tokenizer.normalizer = normalizer_of(normalizers)
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        super().__init__(
            tokenizer,
            {
                "model": "ByteLevelBPE",
                "add_prefix_space": add_prefix_space,
                "lowercase": lowercase,
                "dropout": dropout,
                "unicode_normalizer": unicode_normalizer,
                "continuing_subword_prefix": continuing_subword_prefix,
                "end_of_word_suffix": end_of_word_suffix,
                "trim_offsets": trim_offsets,
            },
        )

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> ByteLevelBPETokenizer:
        """A tokenizer of a vocab.json and a merges.txt, with the options of the constructor."""
        vocab, merges = BPE.read_file(vocab_filename, merges_filename)
        return ByteLevelBPETokenizer(vocab, merges, **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Tokens = (),
    ) -> None:
        """Train the model on text files (one path or several). Arguments: see `trainers.BpeTrainer`."""
        trainer = BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            show_progress=show_progress,
            special_tokens=as_list(special_tokens),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        self._train(files, trainer)

    def train_from_iterator(
        self,
        iterator: Texts,
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Tokens = (),
        length: int | None = None,
    ) -> None:
        """Train the model on texts, or on batches of texts. length: how many there are, for the progress bar."""
        trainer = BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            show_progress=show_progress,
            special_tokens=as_list(special_tokens),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        self._train_from_iterator(iterator, trainer, length)
