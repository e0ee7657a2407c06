"""Components of the reference library, taken over.

transformers builds objects of the `tokenizers` package and hands them to its backend (`_tokenizer.post_processor =
...`), and people do the same with `backend_tokenizer`. A Tokenizer passes what it is given through here: an object of
ours comes back as it is, one of the reference is copied, through its written form, into one of ours; it is not kept,
so later changes to it are not seen. Nothing here imports the reference: its classes are known by module and name
(`arguments.is_foreign`). Its added tokens are taken over in added_tokens.py.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hftok._core.json_reader import loads
from hftok.arguments import is_foreign, not_instance
from hftok.component import Component
from hftok.errors import UnsupportedTokenizerError
from hftok.json_forms import FormError

__all__ = ["component"]

C = TypeVar("C", bound=Component)


def component(value: Any, family: type[C]) -> C:
    """A component of that family (`Normalizer`, `Model`, ...).

    Raises:
        TypeError: it is none.
        UnsupportedTokenizerError: a component of the reference that has no written form (one made of Python code).
    """
    if isinstance(value, family):
        return value
    if not is_foreign(value, family.__name__):
        raise not_instance(value, family.__name__)
    try:
        state = value.__getstate__()
    except Exception as error:
        raise UnsupportedTokenizerError(
            f"a component that cannot be written out cannot be copied ({error}): make it with hftok's own classes",
            type(value).__name__,
        ) from error
    try:
        return family._of_description(family._read(loads(state)))
    except FormError as error:
        raise UnsupportedTokenizerError(str(error), type(value).__name__) from None
