"""Objects of the reference library, taken over.

transformers builds objects of the `tokenizers` package and hands them to its backend (`_tokenizer.post_processor =
...` or `add_tokens([AddedToken(...)])`), and people do the same with `backend_tokenizer`. A Tokenizer passes what it
is given through here: an object of ours comes back as it is, one of the reference is copied, through its written
form, into one of ours; it is not kept, so later changes to it are not seen. Nothing here imports the reference: its
classes are known by module and name.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hftok._core.json_reader import loads
from hftok.added_tokens import AddedToken, added_token_of_state
from hftok.arguments import not_instance
from hftok.component import Component
from hftok.errors import UnsupportedTokenizerError
from hftok.json_forms import FormError

__all__ = ["added_token", "component", "is_foreign"]

C = TypeVar("C", bound=Component)


def is_foreign(value: Any, name: str) -> bool:
    """Whether a value is an instance of the reference's class of that name."""
    return any(
        kind.__name__ == name and kind.__module__.partition(".")[0] == "tokenizers" for kind in type(value).__mro__
    )


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


def added_token(value: Any, special: bool = False) -> AddedToken | None:
    """An added token, or None where the value is none.

    Args:
        special: it becomes special first; so does the object that was given.
    """
    own = isinstance(value, AddedToken)
    if not own and not is_foreign(value, "AddedToken"):
        return None
    if special:
        value.special = True
    if own:
        token: AddedToken = value
        return token
    return added_token_of_state(value.__getstate__())
