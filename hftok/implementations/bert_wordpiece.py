"""WordPiece as BERT uses it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hftok.added_tokens import AddedToken
from hftok.decoders import WordPiece as WordPieceDecoder
from hftok.implementations.base_tokenizer import BaseTokenizer, Texts, Tokens, add_special_if_known, as_list
from hftok.models import WordPiece
from hftok.normalizers import BertNormalizer
from hftok.pre_tokenizers import BertPreTokenizer
from hftok.processors import BertProcessing
from hftok.tokenizer import Tokenizer
from hftok.trainers import WordPieceTrainer

__all__ = ["BertWordPieceTokenizer"]

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class BertWordPieceTokenizer(BaseTokenizer):
    """A BERT tokenizer, from a vocabulary or to be trained.

    Args:
        vocab: token -> id, or the path of a vocab.txt; None: an empty model, for training.
        unk_token, sep_token, cls_token, pad_token, mask_token: the special tokens.
        clean_text: drop control characters, make every blank a space.
        handle_chinese_chars: make a word of every Chinese character.
        strip_accents: drop accents; None: where `lowercase` is on.
        lowercase: lower the case.
        wordpieces_prefix: what pieces inside a word start with. As in the reference it reaches the decoder only; the
            model of a given vocabulary keeps "##".

    Raises:
        TypeError: the vocabulary lacks sep_token or cls_token.

    >>> vocab = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "un": 3, "##able": 4}
    >>> BertWordPieceTokenizer(vocab).encode("Unable").tokens
    ['[CLS]', 'un', '##able', '[SEP]']
    """

    def __init__(
        self,
        vocab: str | dict[str, int] | None = None,
        unk_token: str | AddedToken = "[UNK]",
        sep_token: str | AddedToken = "[SEP]",
        cls_token: str | AddedToken = "[CLS]",
        pad_token: str | AddedToken = "[PAD]",
        mask_token: str | AddedToken = "[MASK]",
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        tokenizer = Tokenizer(WordPiece(vocab, unk_token=str(unk_token)))
        add_special_if_known(tokenizer, unk_token, sep_token, cls_token, pad_token, mask_token)
        tokenizer.normalizer = BertNormalizer(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )
        tokenizer.pre_tokenizer = BertPreTokenizer()
        if vocab is not None:
            ends = []
            for name, token in (("sep_token", sep_token), ("cls_token", cls_token)):
                id_ = tokenizer.token_to_id(str(token))
                if id_ is None:
                    raise TypeError(f"{name} not found in the vocabulary")
                ends.append((str(token), id_))
            tokenizer.post_processor = BertProcessing(*ends)
        tokenizer.decoder = WordPieceDecoder(prefix=wordpieces_prefix)
        super().__init__(
            tokenizer,
            {
                "model": "BertWordPiece",
                "unk_token": unk_token,
                "sep_token": sep_token,
                "cls_token": cls_token,
                "pad_token": pad_token,
                "mask_token": mask_token,
                "clean_text": clean_text,
                "handle_chinese_chars": handle_chinese_chars,
                "strip_accents": strip_accents,
                "lowercase": lowercase,
                "wordpieces_prefix": wordpieces_prefix,
            },
        )

    @staticmethod
    def from_file(vocab: str, **kwargs: Any) -> BertWordPieceTokenizer:
        """A tokenizer of a vocab.txt, with the options of the constructor. Exception: the file cannot be read."""
        return BertWordPieceTokenizer(WordPiece.read_file(vocab), **kwargs)

    def train(
        self,
        files: str | Sequence[str],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        special_tokens: Tokens = SPECIAL_TOKENS,
        show_progress: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        """Train the model on text files (one path or several). Arguments: see `trainers.WordPieceTrainer`."""
        trainer = WordPieceTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            limit_alphabet=limit_alphabet,
            initial_alphabet=as_list(initial_alphabet),
            special_tokens=as_list(special_tokens),
            show_progress=show_progress,
            continuing_subword_prefix=wordpieces_prefix,
        )
        self._train(files, trainer)

    def train_from_iterator(
        self,
        iterator: Texts,
        vocab_size: int = 30000,
        min_frequency: int = 2,
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        special_tokens: Tokens = SPECIAL_TOKENS,
        show_progress: bool = True,
        wordpieces_prefix: str = "##",
        length: int | None = None,
    ) -> None:
        """Train the model on texts, or on batches of texts. length: how many there are, for the progress bar."""
        trainer = WordPieceTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            limit_alphabet=limit_alphabet,
            initial_alphabet=as_list(initial_alphabet),
            special_tokens=as_list(special_tokens),
            show_progress=show_progress,
            continuing_subword_prefix=wordpieces_prefix,
        )
        self._train_from_iterator(iterator, trainer, length)
