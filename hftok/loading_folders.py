"""Folders with a SentencePiece model or a rank file and transformers' configuration files.

Rule (transformers 5.23: models/auto/tokenization_auto.py `AutoTokenizer.from_pretrained`): tokenizer_config.json names
a class, config.json may name one and has a model type, which has a class of its own; where they contradict each other
the named class wins, unless the model type has none of its own or is known for files that name a wrong one.
"""

from __future__ import annotations

import os
from typing import Any

from hftok import loading_sentencepiece, loading_tiktoken
from hftok.errors import UnsupportedTokenizerError
from hftok.loading_model_types import CLASS_OF_TYPE, DISTRUSTED, GENERAL
from hftok.loading_sentencepiece import FAMILIES, SLOW_CLASSES
from hftok.loading_special_tokens import read_json, read_options
from hftok.sentencepiece_file import SentencePieceFile
from hftok.tokenizer import Tokenizer

__all__ = ["class_of", "model_folder"]


def class_of(config: dict[str, Any], model_config: dict[str, Any]) -> str | None:
    """The class that a folder's tokenizer has, None for the general form.

    Args:
        config: tokenizer_config.json.
        model_config: config.json.

    >>> class_of({"tokenizer_class": "LlamaTokenizerFast"}, {}), class_of({}, {"model_type": "mt5"})
    ('LlamaTokenizer', 'T5Tokenizer')
    """
    model_type = model_config.get("model_type") or ""
    named = str(config.get("tokenizer_class") or model_config.get("tokenizer_class") or "").removesuffix("Fast")
    own = CLASS_OF_TYPE.get(model_type, "")
    if named and (own or model_type in GENERAL) and named != own:
        return None if model_type in GENERAL else _known(own if model_type in DISTRUSTED else named)
    return _known(named or own)


def _known(name: str) -> str | None:
    return name if name in FAMILIES or name in SLOW_CLASSES else None


def model_folder(folder: str) -> Tokenizer | None:
    """The tokenizer of a folder that has no tokenizer.json; None where there is no file for one.

    Raises:
        UnsupportedTokenizerError: its class is not known to give a tokenizer, or is code that the folder brings along.
        ValueError: a file is not what it should be. OSError: it cannot be read.
    """
    config = read_json(folder, "tokenizer_config.json")
    name = class_of(config, read_json(folder, "config.json"))
    path = _file(folder, name)
    if path is None:
        return None
    if config.get("auto_map") and name is None:
        raise UnsupportedTokenizerError(
            f"{folder}: the tokenizer's class is code in the folder, which is not run; name a class with "
            "Tokenizer.from_sentencepiece(path, tokenizer_class=...)",
            "auto_map",
        )
    options = read_options(folder, config)
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".tiktoken") or loading_tiktoken.is_rank_file(data):
        return loading_tiktoken.convert(data, path, options)
    return loading_sentencepiece.convert(SentencePieceFile(data, path), name, options)


def _file(folder: str, name: str | None) -> str | None:
    """The file of the class, or the only one that the folder has."""
    names = sorted(entry for entry in os.listdir(folder) if entry.endswith((".model", ".tiktoken")))
    first = FAMILIES[name].file if name in FAMILIES else "tokenizer.model"
    if first in names:
        return os.path.join(folder, first)
    if len(names) > 1:
        raise ValueError(f"the folder {folder!r} has several model files ({', '.join(names)}): give the path of one")
    return os.path.join(folder, names[0]) if names else None
