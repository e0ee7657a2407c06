"""Types of the compiled module; see merges.pyx."""

import numpy as np
from numpy.typing import NDArray

from hftok._core.models.vocab_map import VocabMap

class MergeTable:
    """Read-only table of merges of a vocabulary."""

    @property
    def vocab(self) -> VocabMap: ...
    @property
    def distinct(self) -> int: ...
    def __len__(self) -> int: ...
    def rows(self) -> NDArray[np.uint32]: ...
