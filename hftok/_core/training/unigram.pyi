from collections.abc import Iterable

from hftok._core.training.bpe import Words
from hftok._core.training.progress import Report

class TrainedUnigram:
    vocab: list[tuple[str, float]]
    unk_id: int | None
    def __init__(self, vocab: list[tuple[str, float]], unk_id: int | None) -> None: ...

def train_unigram(
    words: Words,
    *,
    vocab_size: int = 8000,
    special_tokens: Iterable[str] = (),
    initial_alphabet: Iterable[str] = (),
    unk_token: str | None = None,
    shrinking_factor: float = 0.75,
    n_sub_iterations: int = 2,
    max_piece_length: int = 16,
    seed_size: int = 1_000_000,
    threads: int | None = None,
    progress: Report | None = None,
) -> TrainedUnigram: ...
