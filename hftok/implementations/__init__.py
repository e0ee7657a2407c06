"""Ready-made tokenizers: a model with the normalizer, pre-tokenizer, post-processor and decoder that belong to it."""

from __future__ import annotations

from hftok.implementations.base_tokenizer import BaseTokenizer
from hftok.implementations.bert_wordpiece import BertWordPieceTokenizer
from hftok.implementations.byte_level_bpe import ByteLevelBPETokenizer
from hftok.implementations.char_level_bpe import CharBPETokenizer
from hftok.implementations.sentencepiece_bpe import SentencePieceBPETokenizer
from hftok.implementations.sentencepiece_unigram import SentencePieceUnigramTokenizer

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]
