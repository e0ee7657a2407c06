"""The special tokens of a tokenizer that is made from a vocabulary file and transformers' configuration files.

Rule (transformers 5.23: tokenization_utils_base.py `_from_pretrained`, `__init__`; tokenization_utils_tokenizers.py
`__init__`, `update_post_processor`): a class has special tokens with names (bos_token, ...) and others without; the
configuration may name others. After the class has built its tokenizer they become added tokens, first those of
`added_tokens_decoder` in the order of their ids, and the post-processor is made anew where there is none or the
configuration speaks of bos or eos.
"""

from __future__ import annotations

import json
import os
from typing import Any, TypeAlias

from hftok.added_tokens import AddedToken
from hftok.processors import TemplateProcessing
from hftok.tokenizer import Tokenizer

__all__ = ["Options", "read_options"]

NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

Token: TypeAlias = str | AddedToken

_MISSING = object()


def read_json(folder: str | None, name: str) -> dict[str, Any]:
    """A JSON object of a folder, {} where file or folder are missing. Raises ValueError for what is none."""
    path = os.path.join(folder or "", name)
    if folder is None or not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        try:
            value = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold a JSON object, not a {type(value).__name__}")
    return value


def _tokens(value: Any) -> Any:
    """Dicts that stand for added tokens as such."""
    if isinstance(value, dict):
        if value.get("__type") == "AddedToken":
            return AddedToken(**{key: item for key, item in value.items() if key != "__type"})
        return {key: _tokens(item) for key, item in value.items()}
    return [_tokens(item) for item in value] if isinstance(value, list) else value


def read_options(folder: str | None, config: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments that the files of a folder stand for.

    Args:
        folder: where special_tokens_map.json and added_tokens.json may be.
        config: what tokenizer_config.json holds.
    """
    options = {key: value for key, value in config.items() if key not in ("tokenizer_class", "auto_map")}
    if "additional_special_tokens" in options and not options.get("extra_special_tokens"):
        options["extra_special_tokens"] = options.pop("additional_special_tokens")
    named = {
        key: options.pop(key)
        for key in list(options)
        if key not in NAMES and key.endswith("_token") and isinstance(options[key], str)
    }
    if isinstance(options.get("extra_special_tokens"), dict):
        named |= options.pop("extra_special_tokens")
    added: dict[int, AddedToken] = {}
    if "added_tokens_decoder" in options:
        for number, token in options["added_tokens_decoder"].items():
            added[int(number)] = AddedToken(**{key: item for key, item in token.items() if key != "__type"})
    else:
        named |= _special_tokens_map(folder, options)
        special = {str(options[key]) for key in NAMES if options.get(key)}
        special.update(str(token) for token in options.get("extra_special_tokens") or [])
        for content, number in read_json(folder, "added_tokens.json").items():
            is_special = content in special
            added[number] = AddedToken(content, normalized=not is_special, special=is_special)
    if named:
        options["model_specific_special_tokens"] = named
    options = dict(_tokens(options))
    options["added_tokens_decoder"] = added
    by_content = {token.content: token for token in added.values()}
    for key in NAMES:
        if options.get(key) is not None:
            options[key] = by_content.get(_text(options[key]), options[key])
    return options


def _special_tokens_map(folder: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Put special_tokens_map.json into the options; what it names beside the usual names is returned."""
    for key, value in read_json(folder, "special_tokens_map.json").items():
        if isinstance(value, dict) and key != "extra_special_tokens":
            value = AddedToken(**{name: item for name, item in value.items() if name != "special"}, special=True)
        elif key == "extra_special_tokens" and isinstance(value, list):
            merged = list(options.get("extra_special_tokens") or [])
            for token in value:
                token = AddedToken(**{**token, "special": True}) if isinstance(token, dict) else token
                if token not in merged:
                    merged.append(token)
            value = merged
        options[key] = value
    if isinstance(options.get("extra_special_tokens"), dict):
        return dict(options.pop("extra_special_tokens"))
    return {}


def _text(token: Token) -> str:
    return token.content if isinstance(token, AddedToken) else token


class Options:
    """The keyword arguments of a class, and the special tokens that it has so far.

    Args:
        values: keyword arguments, which are copied.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = dict(values)
        self._named: dict[str, Token | None] = {}

    def take(self, key: str, default: Any = None) -> Any:
        """The value of an argument that the class knows, which is then done with."""
        value = self.values.pop(key, _MISSING)
        return default if value is _MISSING else value

    def flag(self, key: str, default: bool) -> bool:
        return bool(self.take(key, default))

    def token(self, key: str, default: str | None = None, **flags: bool) -> str:
        """A special token with a name, as text. flags: of the added token that a plain str becomes."""
        value = self.take(key, default)
        if isinstance(value, str) and flags:
            value = AddedToken(value, **flags)
        self._named[key] = value
        return _text(value) if value is not None else "None"

    def extras(self) -> list[Token]:
        """What the class gets as `additional_special_tokens`."""
        return list(self.take("additional_special_tokens") or [])

    def set_extras(self, tokens: list[Token]) -> None:
        """Special tokens without names; those that the configuration lists go before."""
        self.values.setdefault("extra_special_tokens", tokens)

    # ---- what the base class does

    def finish(self, tokenizer: Tokenizer) -> None:
        """Add the special tokens, and make the post-processor where that is due."""
        values = self.values
        if "additional_special_tokens" in values:
            self.set_extras(values["additional_special_tokens"])
        for key in NAMES:
            if key in values:
                self._named[key] = values[key]
        explicit = "add_bos_token" in values or "add_eos_token" in values
        self._update = explicit or tokenizer.post_processor is None
        named = [self._named[key] for key in NAMES if self._named.get(key) is not None]
        extra = values.get("extra_special_tokens")
        specific = {key: token for key, token in self._named.items() if key not in NAMES}
        if isinstance(extra, dict):
            specific = {**extra, **specific}
            extra = None
        specific |= values.get("model_specific_special_tokens") or {}
        named += [token for token in specific.values() if token is not None]
        self._all: list[Any] = [*named, *(extra or [])]
        self._add(tokenizer, named, list(extra or []))
        if self._update:
            self._update_post_processor(tokenizer)

    def _add(self, tokenizer: Tokenizer, named: list[Any], extra: list[Any]) -> None:
        have = tokenizer.get_added_tokens_decoder()
        known = {repr(token) for token in have.values()}
        tokens: list[Any] = [
            token
            for _, token in sorted(self.values.get("added_tokens_decoder", {}).items())
            if repr(token) not in known
        ]
        contents = {token.content for token in have.values()} | {_text(token) for token in tokens}
        for token in (*named, *extra):
            if _text(token) not in contents and token not in tokens:
                tokens.append(token)
        names = {_text(token) for token in named if _text(token)}
        for i, token in enumerate(tokens):
            if isinstance(token, str):
                tokens[i] = AddedToken(token, special=True)
            elif not token.special and token.content in names:
                token.special = True
        if tokens:
            tokenizer.add_tokens(tokens)

    def add_again(self, tokenizer: Tokenizer) -> None:
        """Add all special tokens once more as special ones, as the classes do that call `_post_init` themselves."""
        tokens = [
            token if isinstance(token, AddedToken) else AddedToken(token, special=True, normalized=False)
            for token in self._all
        ]
        if tokens:
            tokenizer.add_special_tokens(tokens)
        if self._update:  # whatever the class has put there in the meantime
            self._update_post_processor(tokenizer)

    def _update_post_processor(self, tokenizer: Tokenizer) -> None:
        """A template of what the configuration says about bos and eos: nothing around the text unless it does."""
        single, pair = "$A:0", "$B:1"
        special: list[Any] = []
        for key, name in (("add_bos_token", "bos_token"), ("add_eos_token", "eos_token")):
            token = self._named.get(name)
            if not self.values.get(key, False) or token is None:
                continue
            text = _text(token)
            special.append((text, tokenizer.token_to_id(text) or 0))
            if name == "bos_token":
                single, pair = f"{text}:0 {single}", f"{text}:1 {pair}"
            else:
                single, pair = f"{single} {text}:0", f"{pair} {text}:1"
        tokenizer.post_processor = TemplateProcessing(single, f"{single} {pair}", special)
