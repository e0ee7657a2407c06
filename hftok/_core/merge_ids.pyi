"""Types of the compiled module; see merge_ids.pyx."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

class MergeError(Exception): ...
class MergePanic(MergeError): ...

class MergeIds:
    rows: NDArray[np.uint32]
    vocab: dict[str, int]
    def __init__(self, rows: NDArray[np.uint32], vocab: dict[str, int]) -> None: ...

def first_bad_id(vocab: dict[str, Any]) -> str | None: ...
def resolve_merges(vocab: dict[str, int], merges: list[tuple[str, str]], prefix_size: int) -> NDArray[np.uint32]: ...
