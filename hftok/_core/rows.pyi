"""Types of the compiled module; see rows.pyx."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hftok._core.documents import Documents
from hftok._core.encode import Settings
from hftok._core.engine import Affix, Engine

# ids, row offsets, character spans
Rows: TypeAlias = tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int32] | None]

class Encoded: ...

def encode_one(engine: Engine, text: str, affix: Affix | None, exact: bool = False) -> npt.NDArray[np.uint32]: ...
def encode_batch(
    engine: Engine,
    texts: Iterable[str],
    affix: Affix | None,
    spans: bool = False,
    par: bool | None = None,
    exact: bool = False,
) -> Rows: ...
def encode_documents(
    engine: Engine,
    documents: Documents,
    affix: Affix | None,
    spans: bool = False,
    par: bool | None = None,
    exact: bool = False,
) -> Rows: ...
def count_tokens(
    engine: Engine, texts: Iterable[str], affix: Affix | None, par: bool | None = None
) -> npt.NDArray[np.int64]: ...
def encode_padded(
    engine: Engine,
    settings: Settings,
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    truncation: tuple[int, str, str] | None,
    length: int | None,
    multiple: int,
    padding_side: str,
    pad_id: int,
    pad_type_id: int,
    add_special_tokens: bool,
    want_attention: bool,
    want_types: bool,
    want_special: bool,
    par: bool | None = None,
) -> dict[str, npt.NDArray[np.int64]]: ...
