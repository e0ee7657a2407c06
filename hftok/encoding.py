"""What encoding gives: `Encoding`, one row as an object, and `RaggedIds`, many rows as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from hftok._core.encoding import Encoding

__all__ = ["Encoding", "RaggedIds"]


class RaggedIds:
    """Token ids of many documents in one array.

    Attributes:
        ids: uint32 (n,), the ids of all rows, one after the other.
        row_offsets: int64 (rows + 1,); row i is ids[row_offsets[i]:row_offsets[i + 1]].
        offsets: int32 (n, 2), the character span of every token in its document, or None.

    >>> rows = RaggedIds(np.array([1, 2, 3], np.uint32), np.array([0, 2, 3]))
    >>> len(rows), rows[1].tolist(), rows.to_list()
    (2, [3], [[1, 2], [3]])
    """

    __slots__ = ("ids", "offsets", "row_offsets")

    def __init__(
        self,
        ids: npt.NDArray[np.uint32],
        row_offsets: npt.NDArray[np.int64],
        offsets: npt.NDArray[np.int32] | None = None,
    ) -> None:
        self.ids = ids
        self.row_offsets = row_offsets
        self.offsets = offsets

    @classmethod
    def _of_encodings(cls, encodings: Sequence[Encoding], with_offsets: bool) -> RaggedIds:
        rows = [np.asarray(encoding.ids, np.uint32) for encoding in encodings]
        ends = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
        ids = np.concatenate(rows) if rows else np.empty(0, np.uint32)
        offsets = None
        if with_offsets:
            spans = [np.asarray(encoding.offsets, np.int32).reshape(-1, 2) for encoding in encodings]
            offsets = np.concatenate(spans) if spans else np.empty((0, 2), np.int32)
        return cls(ids, ends, offsets)

    def __len__(self) -> int:
        return len(self.row_offsets) - 1

    @overload
    def __getitem__(self, index: int) -> npt.NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, index: slice) -> RaggedIds: ...
    def __getitem__(self, index: int | slice) -> npt.NDArray[np.uint32] | RaggedIds:
        """One row as a view of `ids`, or several as RaggedIds (views where the step is 1)."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                rows = [self[i] for i in range(start, stop, step)]
                spans = None
                if self.offsets is not None:
                    parts = [self.row_spans(i) for i in range(start, stop, step)]
                    spans = np.concatenate(parts) if parts else np.empty((0, 2), np.int32)
                ends = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64)
                return RaggedIds(np.concatenate(rows) if rows else np.empty(0, np.uint32), ends, spans)
            stop = max(start, stop)
            ends = self.row_offsets[start : stop + 1]
            first, last = int(ends[0]), int(ends[-1])
            spans = None if self.offsets is None else self.offsets[first:last]
            return RaggedIds(self.ids[first:last], ends - first, spans)
        index = range(len(self))[index]
        return self.ids[self.row_offsets[index] : self.row_offsets[index + 1]]

    def row_spans(self, index: int) -> npt.NDArray[np.int32]:
        """The character spans of one row, int32 (tokens, 2).

        Raises:
            ValueError: offsets were not asked for when encoding.
        """
        if self.offsets is None:
            raise ValueError("encoded without offsets: use return_offsets=True")
        index = range(len(self))[index]
        return self.offsets[self.row_offsets[index] : self.row_offsets[index + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.uint32]]:
        return (self[i] for i in range(len(self)))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each row, int64 (rows,)."""
        return np.diff(self.row_offsets)

    @property
    def num_tokens(self) -> int:
        """Tokens of all rows."""
        return len(self.ids)

    def to_list(self) -> list[list[int]]:
        """Rows as lists of int."""
        flat = self.ids.tolist()
        ends = self.row_offsets.tolist()
        return [flat[a:b] for a, b in pairwise(ends)]

    def to_numpy(self) -> list[npt.NDArray[np.uint32]]:
        """Rows as arrays (views)."""
        return list(self)

    def to_torch(self) -> Any:
        """(ids int64 (n,), row offsets int64 (rows + 1,)) as torch tensors."""
        import torch

        return torch.from_numpy(self.ids.astype(np.int64)), torch.from_numpy(self.row_offsets)

    def to_arrow(self) -> Any:
        """A pyarrow LargeListArray of uint32, without a copy of the ids."""
        import pyarrow as pa

        return pa.LargeListArray.from_arrays(pa.array(self.row_offsets), pa.array(self.ids))

    def __repr__(self) -> str:
        spans = "" if self.offsets is None else ", with offsets"
        return f"RaggedIds({len(self)} rows, {self.num_tokens} tokens{spans})"
