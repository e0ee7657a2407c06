"""Types of the compiled module; see short_calls.pyx."""

from typing import Any

import numpy as np
import numpy.typing as npt

def encode_ids(self: Any, text: str, add_special_tokens: bool = True) -> npt.NDArray[np.uint32]: ...
