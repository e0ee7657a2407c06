"""Types of the compiled module; see short_calls.pyx."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hftok._core.encode import Settings
from hftok._core.encoding import Encoding
from hftok._core.engine import Engine

class ShortCalls:
    _state: tuple[Engine, Settings] | None
    def encode(
        self, sequence: Any, pair: Any | None = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding: ...
    def encode_ids(self, text: str, add_special_tokens: bool = True) -> npt.NDArray[np.uint32]: ...
