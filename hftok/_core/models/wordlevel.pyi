"""Types of the compiled module; see wordlevel.pyx."""

from hftok._core.models.model import Model

class WordLevelModel(Model):
    """Tokens are whole words."""

    def __init__(self, vocab: dict[str, int], unk_token: str = "<unk>") -> None: ...
    @property
    def unk_token(self) -> str: ...
    def replace(self, *, unk_token: str) -> WordLevelModel: ...
