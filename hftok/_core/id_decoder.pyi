from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hftok._core.decoders import DecoderProgram

class IdDecoder:
    program: DecoderProgram
    def __init__(
        self,
        program: DecoderProgram,
        id_to_token: Callable[[int], str | None],
        size: int,
        special_tokens: Iterable[str],
    ) -> None: ...
    def decode(self, ids: Sequence[int] | npt.NDArray[np.integer[Any]], skip_special_tokens: bool = True) -> str: ...
    def decode_batch(
        self, sequences: Sequence[Sequence[int] | npt.NDArray[np.integer[Any]]], skip_special_tokens: bool = True
    ) -> list[str]: ...
