"""From counted words to a trained tokenizer.

Reference: `Trainer::train` of the four trainers (models/*/trainer.rs) and train in tokenizer/mod.rs. A trainer replaces
the vocabulary of the tokenizer's model and little else of it; then its special tokens are added to the tokenizer, with
the ids that they have in the new vocabulary. Everything is made first and put in place at the end: an error or Ctrl-C
leaves tokenizer and trainer as they were.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from hftok._core.merge_ids import MergeIds
from hftok._core.training.bpe import TrainedBpe, train_bpe
from hftok._core.training.unigram import train_unigram
from hftok._core.training.wordlevel import train_wordlevel
from hftok.foreign import component as own_component
from hftok.models import BPE, Model, Unigram, WordLevel, WordPiece
from hftok.trainers import BpeTrainer, Trainer, UnigramTrainer, WordLevelTrainer, WordPieceTrainer
from hftok.training.pipeline import words_of
from hftok.training.progress import Bars, JsonLines, Silence, report_for
from hftok.training.texts import FileTexts, IteratedTexts, count_words
from hftok.word_counts import WordCounts

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["index_limit", "train_on_counts", "train_on_texts", "trainer_for"]

SMALL_TEXT = 1 << 23
SMALL_INDEX = 24_000_000
INDEX_BYTES = 20  # for each byte beyond a small text

log = logging.getLogger("hftok.training")

_MODELS: dict[type[Trainer], type[Model]] = {
    BpeTrainer: BPE,
    WordPieceTrainer: WordPiece,
    WordLevelTrainer: WordLevel,
    UnigramTrainer: Unigram,
}


def trainer_for(tokenizer: Tokenizer, trainer: Any) -> Trainer:
    """The trainer to use: the given one, or the model's default.

    Raises:
        TypeError: it is no trainer.
        Exception: it is one for another kind of model (told before the texts are read, not after).
    """
    if trainer is None:
        return tokenizer.model.get_trainer()
    own: Trainer = own_component(trainer, Trainer)
    wanted = _MODELS[_kind(own)]
    if tokenizer.model._kind() is not wanted:
        raise Exception(f"{_kind(own).__name__} can only train a {wanted.__name__}")
    return own


def train_on_texts(
    tokenizer: Tokenizer,
    trainer: Trainer,
    texts: FileTexts | IteratedTexts,
    threads: int | None,
    memory_limit: int | None,
) -> None:
    """Count the words of texts, and train the tokenizer on them."""
    settings = trainer._settings()
    report = report_for(settings)
    words = words_of(tokenizer, characters=_kind(trainer) in (WordLevelTrainer, UnigramTrainer))
    try:
        counted = count_words(words, texts, report, threads, memory_limit)
        log.info("counted %d distinct words", len(counted))
        _train(tokenizer, trainer, WordCounts._of_core(counted, words.symbols), report, threads, memory_limit)
    finally:
        report.close()


def train_on_counts(
    tokenizer: Tokenizer, trainer: Trainer, counts: WordCounts, threads: int | None, memory_limit: int | None
) -> None:
    """Train the tokenizer on words that have been counted before."""
    report = report_for(trainer._settings())
    try:
        _train(tokenizer, trainer, counts, report, threads, memory_limit)
    finally:
        report.close()


def _kind(trainer: Trainer) -> type[Trainer]:
    kind = trainer._description().kind
    assert issubclass(kind, Trainer)
    return kind


def _train(
    tokenizer: Tokenizer,
    trainer: Trainer,
    counts: WordCounts,
    report: Bars | JsonLines | Silence,
    threads: int | None,
    memory_limit: int | None,
) -> None:
    settings = trainer._settings()
    kind = _kind(trainer)
    tokens = settings["special_tokens"]
    contents = [token.content for token in tokens]
    fields: dict[str, Any]
    if kind is WordLevelTrainer:
        vocab = train_wordlevel(
            counts._as_characters(),
            vocab_size=settings["vocab_size"],
            min_frequency=settings["min_frequency"],
            special_tokens=contents,
        )
        fields = {"vocab": vocab}
    elif kind is UnigramTrainer:
        options = {name: settings[name] for name in _UNIGRAM_OPTIONS}
        trained = train_unigram(
            counts._as_characters(), special_tokens=contents, threads=threads, progress=report, **options
        )
        # The reference puts a new model in the place of the old one, whatever that had been set to.
        fields = {
            "pieces": trained.vocab,
            "unk_id": trained.unk_id,
            "byte_fallback": False,
            "alpha": None,
            "nbest_size": None,
        }
    else:
        options = {name: settings[name] for name in _PAIR_OPTIONS}
        merged = train_bpe(
            counts._core,
            special_tokens=contents,
            symbols=counts.symbols,
            max_token_length=settings.get("max_token_length"),
            threads=threads,
            memory_limit=index_limit(counts) if memory_limit is None else memory_limit,
            progress=report,
            **options,
        )
        if isinstance(report, JsonLines):
            report.finish()
        fields = _word_piece_fields(merged, settings) if kind is WordPieceTrainer else _bpe_fields(merged, settings)
    log.info("trained a vocabulary of %d tokens", len(fields["pieces" if kind is UnigramTrainer else "vocab"]))
    tokenizer._put_in_place(fields, tokens)
    trainer._set_words(counts)


def index_limit(counts: WordCounts) -> int:
    """Bytes for the index of pairs where the caller sets no limit.

    A small text fits in the processor's caches, and to index it anew now and then costs no time, only less memory. A
    large one gets as much as it could use.
    """
    text = counts._core.text_bytes
    return SMALL_INDEX + INDEX_BYTES * max(text - SMALL_TEXT, 0)


_PAIR_OPTIONS = (
    "vocab_size",
    "min_frequency",
    "limit_alphabet",
    "initial_alphabet",
    "continuing_subword_prefix",
    "end_of_word_suffix",
)
_UNIGRAM_OPTIONS = (
    "vocab_size",
    "initial_alphabet",
    "unk_token",
    "shrinking_factor",
    "n_sub_iterations",
    "max_piece_length",
    "seed_size",
)


def _bpe_fields(trained: TrainedBpe, settings: dict[str, Any]) -> dict[str, Any]:
    vocab = {token: id_ for id_, token in enumerate(trained.vocab)}
    rows = np.column_stack((trained.merges, trained.made)) if len(trained.made) else np.empty((0, 3), dtype=np.uint32)
    return {
        "vocab": vocab,
        "merges": MergeIds(np.ascontiguousarray(rows, dtype=np.uint32), vocab),
        "continuing_subword_prefix": settings["continuing_subword_prefix"],
        "end_of_word_suffix": settings["end_of_word_suffix"],
    }


def _word_piece_fields(trained: TrainedBpe, settings: dict[str, Any]) -> dict[str, Any]:
    prefix = settings["continuing_subword_prefix"]
    # WordPiece::from_bpe starts from a default model, which a trainer without a prefix leaves as it is.
    return {
        "vocab": {token: id_ for id_, token in enumerate(trained.vocab)},
        "continuing_subword_prefix": "##" if prefix is None else prefix,
    }
