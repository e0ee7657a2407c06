from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hftok._core.training.progress import Report
from hftok._core.training.words import WordCounts

Words = WordCounts | Mapping[str, int] | Mapping[bytes, int] | Iterable[str | bytes]

class TrainedBpe:
    vocab: list[Any]  # of str; of bytes where the symbols were bytes
    merges: NDArray[np.uint32]
    made: NDArray[np.uint32]
    statistics: dict[str, Any]
    def __init__(
        self, vocab: list[Any], merges: NDArray[np.uint32], made: NDArray[np.uint32], statistics: dict[str, Any]
    ) -> None: ...
    def merge_strings(self) -> list[tuple[Any, Any]]: ...

def checked_size(name: str, value: object, minimum: int = 0, most: int = ...) -> int: ...
def thread_count(threads: int | None) -> int: ...
def train_bpe(
    words: Words,
    *,
    vocab_size: int = 30000,
    min_frequency: int = 0,
    special_tokens: Iterable[str] = (),
    limit_alphabet: int | None = None,
    initial_alphabet: Iterable[str] = (),
    continuing_subword_prefix: str | None = None,
    end_of_word_suffix: str | None = None,
    max_token_length: int | None = None,
    symbols: Literal["characters", "byte_level", "bytes"] = "characters",
    base_symbol_order: Iterable[str] | None = None,
    after: NDArray[np.uint32] | None = None,
    threads: int | None = None,
    memory_limit: int | None = None,
    progress: Report | None = None,
    tuning: Mapping[str, int] | None = None,
) -> TrainedBpe: ...
