"""Which encoding an OpenAI model uses."""

from __future__ import annotations

from hftok.tiktoken.core import Encoding
from hftok.tiktoken.registry import get_encoding

__all__ = ["MODEL_PREFIX_TO_ENCODING", "MODEL_TO_ENCODING", "encoding_for_model", "encoding_name_for_model"]

# encoding -> beginnings of model names, in the order in which they are tried
_PREFIXES = (
    ("o200k_base", "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-"),
    ("cl100k_base", "gpt-4- gpt-3.5-turbo- gpt-35-turbo-"),
    ("o200k_harmony", "gpt-oss-"),
    ("o200k_base", "ft:gpt-4o"),
    ("cl100k_base", "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002"),
)
_NAMES = (
    ("o200k_base", "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o"),
    ("cl100k_base", "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002"),
    ("cl100k_base", "text-embedding-ada-002 text-embedding-3-small text-embedding-3-large"),
    ("p50k_base", "text-davinci-003 text-davinci-002"),
    ("r50k_base", "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada"),
    ("p50k_base", "code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 davinci-codex cushman-codex"),
    ("p50k_edit", "text-davinci-edit-001 code-davinci-edit-001"),
    ("r50k_base", "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001"),
    ("r50k_base", "text-similarity-ada-001 text-search-davinci-doc-001 text-search-curie-doc-001"),
    ("r50k_base", "text-search-babbage-doc-001 text-search-ada-doc-001 code-search-babbage-code-001"),
    ("r50k_base", "code-search-ada-code-001"),
    ("gpt2", "gpt2 gpt-2"),
)

MODEL_PREFIX_TO_ENCODING: dict[str, str] = {name: encoding for encoding, names in _PREFIXES for name in names.split()}
MODEL_TO_ENCODING: dict[str, str] = {name: encoding for encoding, names in _NAMES for name in names.split()}


def encoding_name_for_model(model_name: str) -> str:
    """The name of a model's encoding. Raises KeyError where the model is not known.

    >>> encoding_name_for_model("gpt-4o"), encoding_name_for_model("gpt-4-0314")
    ('o200k_base', 'cl100k_base')
    """
    if model_name in MODEL_TO_ENCODING:
        return MODEL_TO_ENCODING[model_name]
    for prefix, encoding in MODEL_PREFIX_TO_ENCODING.items():
        if model_name.startswith(prefix):
            return encoding
    raise KeyError(
        f"Could not automatically map {model_name} to a tokeniser. "
        "Please use `tiktoken.get_encoding` to explicitly get the tokeniser you expect."
    )


def encoding_for_model(model_name: str) -> Encoding:
    """A model's encoding. Raises KeyError where the model is not known."""
    return get_encoding(encoding_name_for_model(model_name))
