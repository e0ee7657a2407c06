"""Methods of transformers' tokenizers besides calls, for the arguments that they mostly get.

Each does what transformers' own method does; whatever is not of the simple form (tensors, nested or odd values, options
that change the text) goes to that method. Which methods of a class are replaced is in `REPLACED`: those where the class
has transformers' common version, of the method and of all that it stands for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from hftok._core.hf_padding import lengths_of_rows, padded_matrix
from hftok.added_tokens import AddedToken as OwnToken
from hftok.hf.library import LISTS_ARE_BATCHES, PAD_ADVICE, BatchEncoding, PaddingStrategy, TokenizersBackend
from hftok.hf.tokens import reference_token
from hftok.tokenizer import Tokenizer

__all__ = ["REPLACED", "replaced_methods"]


def _stands_in(self: Any, name: str) -> bool:
    """Whether what a method of ours stands for is as transformers has it; a subclass may have changed it."""
    cls, own = type(self), self.__dict__
    for other, theirs, ours in _STANDS_FOR[name]:
        found = getattr(cls, other)
        if (found is not theirs and found is not ours) or other in own:
            return False
    return True


def decode(self: Any, token_ids: Any, skip_special_tokens: Any = False, **kwargs: Any) -> Any:
    if type(token_ids) is list and token_ids and _leaves_text_alone(self, kwargs) and _stands_in(self, "decode"):
        kind = type(token_ids[0])
        if kind is int:
            return self._tokenizer.decode(token_ids, skip_special_tokens=skip_special_tokens)
        if (
            kind is list
            and LISTS_ARE_BATCHES
            and all(type(ids) is list and (not ids or type(ids[0]) is int) for ids in token_ids)
        ):
            backend_decode = self._tokenizer.decode
            return [backend_decode(ids, skip_special_tokens=skip_special_tokens) for ids in token_ids]
    return ORIGINALS["decode"](self, token_ids, skip_special_tokens, **kwargs)


def _leaves_text_alone(self: Any, kwargs: dict[str, Any]) -> bool:
    """Whether decoding ends with the backend's text."""
    clean = self.clean_up_tokenization_spaces
    if kwargs:
        if len(kwargs) > 1 or "clean_up_tokenization_spaces" not in kwargs:
            return False
        given = kwargs["clean_up_tokenization_spaces"]
        clean = clean if given is None else given
    return not clean


def convert_ids_to_tokens(self: Any, ids: Any, skip_special_tokens: bool = False) -> Any:
    backend = self._tokenizer
    known = isinstance(backend, Tokenizer)  # not so while a class constructs its backend
    if known and type(ids) is list and set(map(type, ids)) == {int} and min(ids) >= 0 and max(ids) <= 0xFFFFFFFF:
        if skip_special_tokens:
            skipped = set(self.all_special_ids)
            ids = [id_ for id_ in ids if id_ not in skipped]
        added, strings = backend._added, backend._model._vocab_r()
        if not added.tokens:
            return [strings.get(id_) for id_ in ids]
        return [added.string(id_) if id_ in added.tokens else strings.get(id_) for id_ in ids]
    return ORIGINALS["convert_ids_to_tokens"](self, ids, skip_special_tokens)


def convert_tokens_to_ids(self: Any, tokens: Any) -> Any:
    backend = self._tokenizer
    simple = isinstance(backend, Tokenizer) and type(tokens) is list and set(map(type, tokens)) == {str}
    if simple and _stands_in(self, "convert_tokens_to_ids"):
        added, ids = backend._added.ids, backend._model._vocab()
        found = [added[token] if token in added else ids.get(token) for token in tokens]
        if None not in found:
            return found
    return ORIGINALS["convert_tokens_to_ids"](self, tokens)


def pad(
    self: Any,
    encoded_inputs: Any,
    padding: Any = True,
    max_length: Any = None,
    pad_to_multiple_of: Any = None,
    padding_side: Any = None,
    return_attention_mask: Any = None,
    return_tensors: Any = None,
    verbose: Any = True,
) -> Any:
    done = None
    warned = (verbose and padding is True and max_length is not None) or (
        PAD_ADVICE is not None and not self.deprecation_warnings.get(PAD_ADVICE)
    )
    simple = return_tensors in ("pt", "np") and padding_side in (None, "right", "left") and not warned
    if simple and _stands_in(self, "pad"):
        done = _padded(
            self,
            encoded_inputs,
            padding,
            max_length,
            pad_to_multiple_of,
            self.padding_side if padding_side is None else padding_side,
            return_attention_mask,
            return_tensors,
        )
    if done is not None:
        return done
    return ORIGINALS["pad"](
        self,
        encoded_inputs,
        padding=padding,
        max_length=max_length,
        pad_to_multiple_of=pad_to_multiple_of,
        padding_side=padding_side,
        return_attention_mask=return_attention_mask,
        return_tensors=return_tensors,
        verbose=verbose,
    )


def _padded(
    self: Any,
    inputs: Any,
    padding: Any,
    max_length: int | None,
    multiple: int | None,
    side: str,
    return_attention_mask: bool | None,
    return_tensors: str,
) -> Any:
    """A batch of encoded texts as matrices, each written once; None where this is not one of lists of ints."""
    if isinstance(inputs, list) and inputs and isinstance(inputs[0], Mapping):
        try:
            columns = {key: [row[key] for row in inputs] for key in inputs[0]}
        except KeyError:
            return None
    elif isinstance(inputs, (dict, BatchEncoding)):
        columns = dict(inputs)
    else:
        return None
    name = self.model_input_names[0]
    rows = columns.get(name)
    if type(rows) is not list or not rows:
        return None
    lengths = lengths_of_rows(rows)
    if lengths is None or any(type(column) is not list or len(column) != len(rows) for column in columns.values()):
        return None
    longest, shortest = lengths
    strategy, _, max_length, _ = self._get_padding_truncation_strategies(
        padding=padding, max_length=max_length, verbose=False
    )
    if strategy == PaddingStrategy.LONGEST:
        width = longest
    elif strategy == PaddingStrategy.MAX_LENGTH and max_length is not None:
        width = max_length
    else:
        width = longest
        if shortest != longest:
            return None
    if strategy != PaddingStrategy.DO_NOT_PAD and multiple:
        width = -(-width // multiple) * multiple
    if longest > width or longest == 0:
        return None
    fill = {name: self.pad_token_id, "token_type_ids": self.pad_token_type_id, "special_tokens_mask": 1}
    if return_attention_mask is None:
        return_attention_mask = "attention_mask" in self.model_input_names
    if return_attention_mask:
        fill["attention_mask"] = 0
        if "attention_mask" not in columns:
            columns["attention_mask"] = [[1] * len(row) for row in rows]
    made: dict[str, Any] = {}
    for key, column in columns.items():
        if key in fill:
            if type(fill[key]) is not int or not -(1 << 63) <= fill[key] < 1 << 63:
                return None  # a padding token that is no token: transformers minds when there is something to pad
            matrix = padded_matrix(column, rows, width, fill[key], side == "left")
            if matrix is None:
                return None
            made[key] = matrix
        else:
            made[key] = column
    if return_tensors == "pt":
        import torch

        made = {key: torch.from_numpy(made[key]) if key in fill else value for key, value in made.items()}
    return BatchEncoding(made, tensor_type=return_tensors)


def _reference_tokens_by_id(self: Any) -> dict[int, Any]:
    """The added tokens by id, as instances of the reference's AddedToken, which is what transformers works with."""
    tokens = self._tokenizer.get_added_tokens_decoder()
    return {id_: reference_token(t) if isinstance(t, OwnToken) else t for id_, t in tokens.items()}


def _reference_ids_by_content(self: Any) -> dict[str, int]:
    backend = self._tokenizer
    if not isinstance(backend, Tokenizer) or not _stands_in(self, "get_added_vocab"):
        # The first while a class constructs its backend.
        found: dict[str, int] = ORIGINALS["get_added_vocab"](self)
        return found
    return {token.content: id_ for id_, token in sorted(backend._added.tokens.items())}


_added_tokens_encoder = property(_reference_ids_by_content, doc=TokenizersBackend.added_tokens_encoder.__doc__)


def get_added_vocab(self: Any) -> dict[str, int]:
    return _reference_ids_by_content(self)


_added_tokens_decoder = property(_reference_tokens_by_id, doc=TokenizersBackend.added_tokens_decoder.__doc__)

# name -> (ours, what else of transformers it stands for)
REPLACED: dict[str, tuple[Any, tuple[str, ...]]] = {
    "decode": (decode, ("_decode",)),
    "convert_ids_to_tokens": (convert_ids_to_tokens, ()),
    "convert_tokens_to_ids": (convert_tokens_to_ids, ("_convert_token_to_id_with_added_voc",)),
    "pad": (pad, ("_pad", "_get_padding_truncation_strategies")),
    "added_tokens_decoder": (_added_tokens_decoder, ()),
    "added_tokens_encoder": (_added_tokens_encoder, ("added_tokens_decoder",)),
    "get_added_vocab": (get_added_vocab, ("added_tokens_decoder",)),
    "_added_tokens_decoder": (_added_tokens_decoder, ()),
}
ORIGINALS: dict[str, Any] = {
    name: getattr(TokenizersBackend, name) for name in REPLACED if hasattr(TokenizersBackend, name)
}
# name -> (attribute that ours stands for, transformers' own, ours if there is one)
_STANDS_FOR: dict[str, list[tuple[str, Any, Any]]] = {
    name: [(other, getattr(TokenizersBackend, other), REPLACED.get(other, (None,))[0]) for other in REPLACED[name][1]]
    for name in ORIGINALS
}
for _name, _original in ORIGINALS.items():
    if not isinstance(_original, property):
        functools.update_wrapper(REPLACED[_name][0], _original)


def replaced_methods(base: Any) -> dict[str, Callable[..., Any] | property]:
    """The methods of `REPLACED` for a class of transformers."""
    return {
        name: REPLACED[name][0]
        for name, original in ORIGINALS.items()
        if getattr(base, name) is original
        and all(getattr(base, other) is getattr(TokenizersBackend, other) for other in REPLACED[name][1])
    }
