"""`BatchEncoding.encodings`, made when somebody asks.

A call's rows are made without Encoding objects. Its BatchEncoding has no `_encodings` of its own then, but what they
can be made from; this descriptor on transformers' class makes them at the first access (`word_ids()`,
`char_to_token()`, `encodings`, pickling, ...) and leaves them on the object. A BatchEncoding that transformers has
made has its `_encodings`: the descriptor is never asked.

Its constructor takes one Encoding for a list of one, and tells it by the reference's class: here it learns ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hftok.encoding import Encoding
from hftok.hf.library import BatchEncoding

__all__ = ["EncodingsOnDemand"]


class EncodingsOnDemand:
    """A non-data descriptor: an object's own attribute comes first."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            raise AttributeError("_encodings")
        lazy = instance.__dict__.get("_lazy_encodings")
        if lazy is None:
            raise AttributeError("_encodings")
        encodings = instance.__dict__["_encodings"] = lazy.make()
        instance.__dict__.pop("_lazy_encodings", None)
        return encodings


def _takes_ours(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def construct(self: Any, data: Any = None, encoding: Any = None, *args: Any, **kwargs: Any) -> None:
        original(self, data, [encoding] if isinstance(encoding, Encoding) else encoding, *args, **kwargs)

    return construct


BatchEncoding._encodings = EncodingsOnDemand()
BatchEncoding.__init__ = _takes_ours(BatchEncoding.__init__)
