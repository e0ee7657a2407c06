"""Types of the compiled module; see wordpiece.pyx."""

from collections.abc import Callable

from hftok._core.models.model import Model
from hftok._core.models.vocab_map import VocabMap

class WordPieceModel(Model):
    """Greedy longest match first."""

    unk_token: str
    continuing_subword_prefix: str
    def __init__(
        self, vocab: dict[str, int], unk_token: str, continuing_subword_prefix: str, max_input_chars_per_word: int
    ) -> None: ...
    @staticmethod
    def of_vocab(
        vocab: VocabMap,
        make_vocab: Callable[[], dict[str, int]],
        unk_token: str,
        continuing_subword_prefix: str,
        max_input_chars_per_word: int,
    ) -> WordPieceModel: ...
