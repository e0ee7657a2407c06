"""Training of a WordPiece model: BPE with a continuing subword prefix, of which only the vocabulary is kept.

Rule of the reference: WordPieceTrainer in models/wordpiece/trainer.rs trains a BPE model with its own settings ("##" unless told
otherwise) and copies vocabulary and prefix. Ids of prefixed symbols follow the order of a hash map there, and ties follow the
ids, so that two runs of the reference give different vocabularies; here the words are taken in the order of their bytes (see
symbols).
"""
from hftok._core.training.bpe import train_bpe


def train_wordpiece(words, *, vocab_size=30000, min_frequency=0, special_tokens=(), limit_alphabet=None, initial_alphabet=(),
                    continuing_subword_prefix="##", end_of_word_suffix=None, base_symbol_order=None, threads=None,
                    memory_limit=None, progress=None):
    """The vocabulary of a WordPiece model, list of str in id order. Arguments and errors are those of bpe.train_bpe.

    >>> train_wordpiece({"low": 5, "lower": 2, "newest": 6}, vocab_size=21)[10:]
    ['##e', '##r', '##s', '##t', '##we', 'lo', 'ne', '##st', '##west', 'newest', 'low']
    """
    return train_bpe(
        words, vocab_size=vocab_size, min_frequency=min_frequency, special_tokens=special_tokens, limit_alphabet=limit_alphabet,
        initial_alphabet=initial_alphabet, continuing_subword_prefix=continuing_subword_prefix,
        end_of_word_suffix=end_of_word_suffix, base_symbol_order=base_symbol_order, threads=threads, memory_limit=memory_limit,
        progress=progress).vocab
