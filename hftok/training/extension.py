"""Going on from a trained vocabulary, and going back: more merges, or fewer.

Merges are learnt one after another and no later one changes an earlier one. So the vocabulary of a smaller size is a
prefix of a larger one's, and training may be taken up again after the last merge, on the same words or on others. The
reference has nothing like it. Affixes break the property (a string may then be made in two ways), so vocabularies
with a prefix or suffix are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hftok._core.merge_ids import MergeIds
from hftok._core.training.bpe import train_bpe
from hftok.models import BPE
from hftok.trainers import BpeTrainer, Trainer
from hftok.training.driver import index_limit
from hftok.training.progress import report_for

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer
    from hftok.word_counts import WordCounts

__all__ = ["cut", "extend"]

Rows = npt.NDArray[np.uint32]


def extend(
    tokenizer: Tokenizer, trainer: Trainer, counts: WordCounts, threads: int | None, memory_limit: int | None
) -> None:
    """Learn more merges after those that the tokenizer's model has."""
    if trainer._description().kind is not BpeTrainer:
        raise TypeError("only a BPE vocabulary can be extended, by a BpeTrainer")
    settings = trainer._settings()
    if settings["continuing_subword_prefix"] or settings["end_of_word_suffix"]:
        raise ValueError("a vocabulary cannot be extended with affixes")
    vocab, rows = _trained(tokenizer)
    tokens = settings["special_tokens"]
    report = report_for(settings)
    try:
        trained = train_bpe(
            counts._core,
            vocab_size=settings["vocab_size"],
            min_frequency=settings["min_frequency"],
            special_tokens=[*vocab, *(token.content for token in tokens)],
            limit_alphabet=None if settings["limit_alphabet"] is None else 0,
            initial_alphabet=settings["initial_alphabet"],
            max_token_length=settings["max_token_length"],
            symbols=counts.symbols,
            after=rows,
            threads=threads,
            memory_limit=index_limit(counts) if memory_limit is None else memory_limit,
            progress=report,
        )
    finally:
        report.close()
    tokenizer._put_in_place(_fields(trained.vocab, np.column_stack((trained.merges, trained.made))), tokens)
    trainer._set_words(counts)


def cut(tokenizer: Tokenizer, vocab_size: int) -> None:
    """Keep what training with a smaller vocab_size would have given."""
    vocab, rows = _trained(tokenizer)
    made = np.zeros(len(vocab), dtype=bool)
    made[rows[:, 2]] = True
    # A merge may have taken the id of a special token, which stands before all others and is kept in any case.
    first = int(np.argmax(made)) if made.any() else len(vocab)
    while first < len(vocab) and not made[first:].all():
        first += 1 + int(len(vocab) - first - 1 - np.argmin(made[first:][::-1]))
    size = first
    kept = 0
    while kept < len(rows) and size < vocab_size:
        size += int(rows[kept, 2] >= first)
        kept += 1
    added = set(tokenizer._added.tokens)
    lost = [id_ for id_ in range(size, len(vocab)) if id_ in added]
    if lost:
        raise ValueError(f"added token {tokenizer.id_to_token(lost[0])!r} has an id of the vocabulary that would go")
    tokenizer._put_in_place(_fields(vocab[:size], rows[:kept]), [])


def _fields(vocab: list[str], rows: Rows) -> dict[str, Any]:
    ids = {token: id_ for id_, token in enumerate(vocab)}
    return {"vocab": ids, "merges": MergeIds(np.ascontiguousarray(rows, dtype=np.uint32).reshape(-1, 3), ids)}


def _trained(tokenizer: Tokenizer) -> tuple[list[str], Rows]:
    """The tokens by id and the merges of a model that looks as if training has made it."""
    model = tokenizer.model
    if model._kind() is not BPE:
        raise ValueError(f"only a BPE vocabulary can be extended or cut, not a {model._kind().__name__}")
    fields = model._description().fields
    if fields["continuing_subword_prefix"] or fields["end_of_word_suffix"]:
        raise ValueError("a vocabulary with affixes can be neither extended nor cut")
    by_id = sorted((id_, token) for token, id_ in fields["vocab"].items())
    if any(id_ != place for place, (id_, _) in enumerate(by_id)):
        raise ValueError("the ids of the vocabulary are not 0, 1, 2, ...: training has not made it")
    rows: Rows = fields["merges"].rows
    rank = np.full(len(by_id), -1, dtype=np.int64)
    rank[rows[::-1, 2]] = np.arange(len(rows))[::-1]  # the first merge that makes each
    if (rank[rows[:, :2]] >= np.arange(len(rows))[:, None]).any():
        raise ValueError("a merge uses a token that a later merge makes: training has not made this vocabulary")
    return [token for _, token in by_id], rows
