from collections.abc import Iterable

from hftok._core.training.bpe import Words
from hftok._core.training.progress import Report

def train_wordpiece(
    words: Words,
    *,
    vocab_size: int = 30000,
    min_frequency: int = 0,
    special_tokens: Iterable[str] = (),
    limit_alphabet: int | None = None,
    initial_alphabet: Iterable[str] = (),
    continuing_subword_prefix: str | None = "##",
    end_of_word_suffix: str | None = None,
    base_symbol_order: Iterable[str] | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Report | None = None,
) -> list[str]: ...
