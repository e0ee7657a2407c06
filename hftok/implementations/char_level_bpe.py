"""BPE on characters with a suffix at the end of words, as Sennrich et al. (2016) and GPT-1 use it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hftok import pre_tokenizers
from hftok.added_tokens import AddedToken
from hftok.decoders import BPEDecoder
from hftok.implementations.base_tokenizer import BaseTokenizer, Texts, Tokens, add_special_if_known, as_list
from hftok.implementations.byte_level_bpe import normalizer_of
from hftok.models import BPE
from hftok.normalizers import BertNormalizer, Lowercase, Normalizer, unicode_normalizer_from_str
from hftok.tokenizer import Tokenizer
from hftok.trainers import BpeTrainer

__all__ = ["CharBPETokenizer"]


class CharBPETokenizer(BaseTokenizer):
    """A character-level BPE tokenizer, from vocabulary and merges or to be trained.

    Args:
        vocab: token -> id, or the path of a vocab.json.
        merges: pairs of tokens, or the path of a merges.txt. Without both, the model is empty, for training.
        unk_token: the token of unknown characters.
        suffix: what tokens that end a word end with.
        dropout: probability that a merge is skipped.
        lowercase: lower the case.
        unicode_normalizer: "nfc", "nfd", "nfkc" or "nfkd".
        bert_normalizer: clean the text as BERT does, case kept.
        split_on_whitespace_only: do not make words of punctuation.

    >>> vocab = {"<unk>": 0, "a": 1, "b</w>": 2, "ab</w>": 3}
    >>> CharBPETokenizer(vocab, [("a", "b</w>")]).encode("ab c").tokens
    ['ab</w>', '<unk>']
    """

    def __init__(
        self,
        vocab: str | dict[str, int] | None = None,
        merges: str | Sequence[tuple[str, str]] | None = None,
        unk_token: str | AddedToken = "<unk>",
        suffix: str = "</w>",
        dropout: float | None = None,
        lowercase: bool = False,
        unicode_normalizer: str | None = None,
        bert_normalizer: bool = True,
        split_on_whitespace_only: bool = False,
    ) -> None:
        if vocab is None or merges is None:
            vocab = merges = None
        tokenizer = Tokenizer(
            BPE(vocab, as_list(merges), dropout=dropout, unk_token=str(unk_token), end_of_word_suffix=suffix)
        )
        add_special_if_known(tokenizer, unk_token)
        normalizers: list[Normalizer] = []
        if unicode_normalizer:
            normalizers.append(unicode_normalizer_from_str(unicode_normalizer))
        if bert_normalizer:
            normalizers.append(BertNormalizer(lowercase=False))
        if lowercase:
            normalizers.append(Lowercase())
        tokenizer.normalizer = normalizer_of(normalizers)
        if split_on_whitespace_only:
            tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        else:
            tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = BPEDecoder(suffix=suffix)
        super().__init__(
            tokenizer,
            {
                "model": "BPE",
                "unk_token": unk_token,
                "suffix": suffix,
                "dropout": dropout,
                "lowercase": lowercase,
                "unicode_normalizer": unicode_normalizer,
                "bert_normalizer": bert_normalizer,
                "split_on_whitespace_only": split_on_whitespace_only,
            },
        )

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> CharBPETokenizer:
        """A tokenizer of a vocab.json and a merges.txt, with the options of the constructor."""
        vocab, merges = BPE.read_file(vocab_filename, merges_filename)
        return CharBPETokenizer(vocab, merges, **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: Tokens = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        suffix: str | None = "</w>",
        show_progress: bool = True,
    ) -> None:
        """Train the model on text files (one path or several). Arguments: see `trainers.BpeTrainer`."""
        self._train(
            files,
            _trainer(
                vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, suffix, show_progress
            ),
        )

    def train_from_iterator(
        self,
        iterator: Texts,
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: Tokens = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        suffix: str | None = "</w>",
        show_progress: bool = True,
        length: int | None = None,
    ) -> None:
        """Train the model on texts, or on batches of texts. length: how many there are, for the progress bar."""
        self._train_from_iterator(
            iterator,
            _trainer(
                vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, suffix, show_progress
            ),
            length,
        )


def _trainer(
    vocab_size: int,
    min_frequency: int,
    special_tokens: Tokens,
    limit_alphabet: int,
    initial_alphabet: Sequence[str],
    suffix: Any,
    show_progress: bool,
) -> BpeTrainer:
    return BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=as_list(special_tokens),
        limit_alphabet=limit_alphabet,
        initial_alphabet=as_list(initial_alphabet),
        end_of_word_suffix=suffix,
        show_progress=show_progress,
    )
