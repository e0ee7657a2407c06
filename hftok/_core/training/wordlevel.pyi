from collections.abc import Iterable

from hftok._core.training.bpe import Words

def train_wordlevel(
    words: Words, *, vocab_size: int = 30000, min_frequency: int = 0, special_tokens: Iterable[str] = ()
) -> dict[str, int]: ...
