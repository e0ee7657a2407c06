"""Where a tokenizer comes from: a path, a folder, JSON, a vocab.txt, a SentencePiece model, the Hub, an object."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from hftok.added_tokens import AddedToken
from hftok.errors import UnsupportedTokenizerError
from hftok.load_cache import load_file
from hftok.serialization import TokenizerParts, load

if TYPE_CHECKING:
    from hftok.tokenizer import Tokenizer

__all__ = ["hub_file", "load_source", "vocab_parts"]


def load_source(tokenizer: Tokenizer, source: Any) -> None:
    """Give a new tokenizer the parts that `source` stands for (see `Tokenizer`)."""
    tokenizer._set_parts(parts_of(source))
    _copy_state(tokenizer, source)


def parts_of(source: Any) -> TokenizerParts:
    """The parts that a source stands for."""
    from hftok.tokenizer import Tokenizer

    if isinstance(source, Tokenizer):
        return _of_object(source.to_str())
    if isinstance(source, (bytes, bytearray)):
        return load(bytes(source))
    if isinstance(source, (str, os.PathLike)):
        return _of_name(os.fspath(source))
    if isinstance(source, dict):
        return load(source)
    backend = getattr(source, "_tokenizer", None) or getattr(source, "backend_tokenizer", None) or source
    if isinstance(backend, Tokenizer):
        return _of_object(backend.to_str())
    to_str = getattr(backend, "to_str", None)
    if callable(to_str):
        try:
            text = to_str()
        except Exception as error:
            raise UnsupportedTokenizerError(
                f"this {type(source).__name__} has a component that cannot be written out ({error}), so it cannot be "
                "copied: build the tokenizer with hftok's own components",
                "custom component",
            ) from error
        return _of_object(text)
    raise TypeError(
        f"a Tokenizer cannot be made from a {type(source).__name__}: give a model, a path, the text of a "
        "tokenizer.json, a Hub id, or a tokenizer object"
    )


def _of_object(text: str) -> TokenizerParts:
    """The parts of an object that has just been written out.

    A tokenizer.json is read as the reference reads it, whose numbers may be off by the last bit (serde_json without its
    feature float_roundtrip). An object is what it is: its scores are read exactly.
    """
    import orjson

    parts: dict[str, Any] = orjson.loads(text)
    return load(parts)


def _copy_state(tokenizer: Tokenizer, source: Any) -> None:
    """What an object knows beside its written form."""
    backend = getattr(source, "_tokenizer", source)
    if getattr(backend, "encode_special_tokens", False) is True:
        tokenizer.encode_special_tokens = True


def _of_name(name: str) -> TokenizerParts:
    """A path, a folder, JSON text or a Hub id."""
    if name.lstrip()[:1] == "{":
        return load(name)
    if os.path.isdir(name):
        return _of_folder(name)
    if os.path.isfile(name):
        if name.endswith(".txt"):
            return vocab_parts(name)
        if name.endswith((".model", ".tiktoken")):
            return file_parts(name)
        return load_file(name)
    if (
        name.endswith((".json", ".txt", ".model", ".tiktoken"))
        or name.startswith((".", "/", "~"))
        or name.count("/") > 1
        or not name
    ):
        raise FileNotFoundError(f"there is no file or folder {name!r}")
    try:
        path = hub_file(name, "tokenizer.json")
    except ImportError:
        raise
    except Exception as error:  # what the Hub says does not tell that a file was looked for first
        error.add_note(f"{name!r} is no file or folder here, so it was taken for a Hub id")
        raise
    return load_file(path)


def _of_folder(folder: str) -> TokenizerParts:
    path = os.path.join(folder, "tokenizer.json")
    if os.path.isfile(path):
        return load_file(path)
    path = os.path.join(folder, "vocab.txt")
    if os.path.isfile(path):
        options: dict[str, Any] = {}
        config = os.path.join(folder, "tokenizer_config.json")
        if os.path.isfile(config):
            with open(config, encoding="utf-8") as file:
                given = json.load(file)
            names = {
                "do_lower_case": "lowercase",
                "strip_accents": "strip_accents",
                "tokenize_chinese_chars": "handle_chinese_chars",
            }
            options = {names[key]: value for key, value in given.items() if key in names}
            for key in ("unk_token", "cls_token", "sep_token", "pad_token", "mask_token"):
                value = given.get(key)
                if isinstance(value, dict):
                    value = value.get("content")
                if isinstance(value, str):
                    options[key] = value
        return vocab_parts(path, **options)
    from hftok.loading_folders import model_folder

    tokenizer = model_folder(folder)
    if tokenizer is not None:
        return tokenizer._parts()
    raise FileNotFoundError(
        f"the folder {folder!r} has no tokenizer.json, no vocab.txt, no SentencePiece model (*.model) and no *.tiktoken"
    )


def file_parts(path: str) -> TokenizerParts:
    """The parts of a SentencePiece model or of a rank file."""
    from hftok import loading_sentencepiece, loading_tiktoken
    from hftok.sentencepiece_file import SentencePieceFile
    from hftok.tiktoken.load import parse_tiktoken_bpe

    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".tiktoken") or loading_tiktoken.is_rank_file(data):
        return loading_tiktoken.from_ranks(parse_tiktoken_bpe(data, path))._parts()
    return loading_sentencepiece.convert(SentencePieceFile(data, path), None, {})._parts()


def vocab_parts(
    path: str,
    *,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    handle_chinese_chars: bool = True,
    clean_text: bool = True,
    unk_token: str = "[UNK]",
    cls_token: str = "[CLS]",
    sep_token: str = "[SEP]",
    pad_token: str = "[PAD]",
    mask_token: str = "[MASK]",
) -> TokenizerParts:
    """The parts of a BERT tokenizer with this vocab.txt, as transformers' BertTokenizer builds them."""
    from hftok import decoders, models, normalizers, pre_tokenizers, processors

    vocab = models.WordPiece.read_file(path)
    for name, token in (("unk_token", unk_token), ("cls_token", cls_token), ("sep_token", sep_token)):
        if token not in vocab:
            raise ValueError(
                f"{path}: {name} {token!r} is not in the vocabulary; say which token it is with {name}=..."
            )
    specials = dict.fromkeys([pad_token, unk_token, cls_token, sep_token, mask_token])
    parts = TokenizerParts(models.WordPiece(vocab, unk_token=unk_token))
    parts.normalizer = normalizers.BertNormalizer(
        clean_text=clean_text,
        handle_chinese_chars=handle_chinese_chars,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    parts.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    parts.decoder = decoders.WordPiece(prefix="##")
    parts.post_processor = processors.TemplateProcessing(
        single=f"{cls_token}:0 $A:0 {sep_token}:0",
        pair=f"{cls_token}:0 $A:0 {sep_token}:0 $B:1 {sep_token}:1",
        special_tokens=[(cls_token, vocab[cls_token]), (sep_token, vocab[sep_token])],
    )
    parts.added_tokens = [
        (vocab[token], AddedToken(token, special=True, normalized=False)) for token in specials if token in vocab
    ]
    return parts


def hub_file(identifier: str, filename: str, revision: str = "main", token: str | None = None) -> str:
    """The path of a file of a Hub repository, downloaded or from the cache."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError:
        raise ImportError(
            f"{identifier!r} is no file or folder here; to load it from the Hub install huggingface_hub "
            "(pip install hftok[hub])"
        ) from None
    return hf_hub_download(identifier, filename, revision=revision, token=token)
