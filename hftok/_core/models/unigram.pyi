"""Types of the compiled module; see unigram.pyx."""

from collections.abc import Callable, Sequence
from typing import Any

from hftok._core.models.model import Model
from hftok._core.models.piece_list import PieceList
from hftok._core.stored import Block, Buffer

class UnigramModel(Model):
    """Unigram over one pre-token."""

    def __init__(
        self,
        pieces: list[Any],
        unk_id: int | None = None,
        byte_fallback: bool = False,
        alpha: float | None = None,
        nbest_size: int | None = None,
    ) -> None: ...
    @property
    def vocab_list(self) -> list[Sequence[Any]]: ...
    @property
    def unk_id(self) -> int | None: ...
    @property
    def byte_fallback(self) -> bool: ...
    @property
    def alpha(self) -> float | None: ...
    @property
    def nbest_size(self) -> int | None: ...
    def replace(self, **options: float | int | None) -> UnigramModel: ...
    def sections(self) -> dict[str, Buffer]: ...
    @staticmethod
    def of_pieces(
        pieces: PieceList,
        make_pieces: Callable[[], list[tuple[str, float]]],
        make_vocab: Callable[[], dict[str, int]],
        unk_id: int | None,
        byte_fallback: bool,
        alpha: float | None,
        nbest_size: int | None,
    ) -> UnigramModel: ...
    @staticmethod
    def of_block(
        block: Block,
        make_pieces: Callable[[], list[tuple[str, float]]],
        make_vocab: Callable[[], dict[str, int]],
        unk_id: int | None,
        byte_fallback: bool,
        alpha: float | None,
        nbest_size: int | None,
    ) -> UnigramModel: ...
    def stored_size(self) -> int: ...
    def find(self, piece: str) -> int | None: ...
    def stored_pieces(self) -> list[tuple[str, float]]: ...
    def fix_seed(self, seed: int | None) -> None: ...
