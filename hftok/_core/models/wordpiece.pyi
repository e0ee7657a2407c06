"""Types of the compiled module; see wordpiece.pyx."""

from hftok._core.models.model import Model

class WordPieceModel(Model):
    """Greedy longest match first."""

    unk_token: str
    continuing_subword_prefix: str
    def __init__(
        self, vocab: dict[str, int], unk_token: str, continuing_subword_prefix: str, max_input_chars_per_word: int
    ) -> None: ...
