"""Types of the compiled module; see bpe.pyx."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hftok._core.models.merges import MergeTable
from hftok._core.models.model import Model
from hftok._core.stored import Block, Buffer

class BPEModel(Model):
    """BPE over one pre-token."""

    def __init__(
        self,
        vocab: dict[str, int],
        merges: list[str] | list[tuple[str, str]] | list[list[str]] | NDArray[np.uint32],
        dropout: float | None = None,
        unk_token: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        fuse_unk: bool = False,
        byte_fallback: bool = False,
        ignore_merges: bool = False,
    ) -> None: ...
    @property
    def dropout(self) -> float | None: ...
    @property
    def unk_token(self) -> str | None: ...
    @property
    def continuing_subword_prefix(self) -> str | None: ...
    @property
    def end_of_word_suffix(self) -> str | None: ...
    @property
    def fuse_unk(self) -> bool: ...
    @property
    def byte_fallback(self) -> bool: ...
    @property
    def ignore_merges(self) -> bool: ...
    @property
    def byte_level(self) -> bool: ...
    @property
    def scannable(self) -> bool: ...
    @property
    def merges(self) -> list[tuple[str, str]]: ...
    def replace(self, **options: float | str | bool | None) -> BPEModel: ...
    def sections(self) -> dict[str, Buffer] | None: ...
    @staticmethod
    def of_tables(
        merges: MergeTable,
        make_vocab: Callable[[], dict[str, int]],
        dropout: float | None,
        unk_token: str | None,
        continuing_subword_prefix: str | None,
        end_of_word_suffix: str | None,
        fuse_unk: bool,
        byte_fallback: bool,
        ignore_merges: bool,
    ) -> BPEModel: ...
    @staticmethod
    def of_block(
        block: Block,
        make_vocab: Callable[[], dict[str, int]],
        dropout: float | None,
        unk_token: str | None,
        continuing_subword_prefix: str | None,
        end_of_word_suffix: str | None,
        fuse_unk: bool,
        byte_fallback: bool,
        ignore_merges: bool,
    ) -> BPEModel: ...
    def merge_pairs(self, tokens: list[str]) -> list[tuple[str, str]]: ...
    def stored_size(self) -> int: ...
    def find(self, token: str) -> int | None: ...
    def stored_vocab(self) -> dict[str, int]: ...
    def stored_rows(self) -> NDArray[np.uint32]: ...
    def takes_part(self, token: str) -> bool: ...
    def cut(self, text: bytes) -> list[bytes]: ...
    def fix_seed(self, seed: int | None) -> None: ...
    def tokenize_each(self, words: Iterable[str]) -> Iterator[list[tuple[int, int, int]]]: ...
    def tokenize_bytes(self, raw: bytes) -> list[tuple[int, int, int]]: ...

OPTIONS: Sequence[str]
