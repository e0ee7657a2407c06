import numpy as np
import numpy.typing as npt

def lengths_of_rows(rows: list[list[int]]) -> tuple[int, int] | None: ...
def padded_matrix(
    rows: list[list[int]], like: list[list[int]], width: int, fill: int, left: bool
) -> npt.NDArray[np.int64] | None: ...
