"""SentencePiece models and rank files: the tokenizer that transformers' own conversion gives, byte for byte."""

from __future__ import annotations

import base64
import json

import pytest
import transformers
from spm_models import TEXTS, trained
from transformers.models.auto import tokenization_auto

import hftok
from hftok import loading_folders, loading_model_types, loading_tiktoken
from hftok.loading_sentencepiece import FAMILIES, SLOW_CLASSES

# class: the models that it is tried on
CASES = {
    None: "unigram bpe t5 unigram_bytes bpe_nmt",
    "AlbertTokenizer": "albert",
    "BarthezTokenizer": "unigram unigram_bytes",
    "BigBirdTokenizer": "unigram_bytes unigram",
    "CamembertTokenizer": "unigram unigram_bytes",
    "CodeLlamaTokenizer": "bpe",
    "DebertaV2Tokenizer": "unigram albert",
    "GemmaTokenizer": "bpe",
    "LasrTokenizer": "t5",
    "LayoutXLMTokenizer": "unigram",
    "LlamaTokenizer": "bpe bpe_nmt",
    "MBart50Tokenizer": "unigram unigram_bytes",
    "MBartTokenizer": "unigram unigram_bytes",
    "NllbTokenizer": "bpe bpe_nmt",
    "PegasusTokenizer": "pegasus",
    "ReformerTokenizer": "bpe_nmt bpe",
    "RemBertTokenizer": "unigram albert",
    "SeamlessM4TTokenizer": "bpe_nmt bpe",
    "T5Tokenizer": "t5 unigram_bytes",
    "Tipsv2Tokenizer": "bpe bpe_nmt",
    "UdopTokenizer": "unigram t5",
    "VideoPrismTokenizer": "t5",
    "XLMRobertaTokenizer": "unigram unigram_bytes",
    "XLNetTokenizer": "unigram_bytes unigram",
}


def token(content, **flags):
    return {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False, **flags, "content": content}


CONFIGS = {
    "bare": {},
    "bos and eos": {"add_bos_token": True, "add_eos_token": True, "pad_token": "<pad>"},
    "flags": {
        "unk_token": {"__type": "AddedToken", **token("<unk>", lstrip=True)},
        "additional_special_tokens": ["<new>", "<s>"],
        "add_prefix_space": False,
        "legacy": True,
        "do_lower_case": True,
        "keep_accents": True,
        "split_by_punct": True,
        "legacy_behaviour": True,
        "src_lang": "fr_XX",
        "extra_ids": 7,
        "offset": 5,
    },
    "added": {
        "added_tokens_decoder": {
            "0": token("<zero>", special=True),
            "2000": token("<far>", lstrip=True, normalized=True, special=False),
        },
        "mask_token": "<far>",
        "image_token": "<img>",
    },
}
# transformers trips over these: renamed pieces of a Unigram model, language codes that the class does not know.
FAILS = {(None, "unigram", "added"), (None, "t5", "added"), (None, "unigram_bytes", "added")}


def outcome(function, tokenizer):
    try:
        return function(tokenizer)
    except Exception as error:  # the renamed piece was the unknown token
        return str(error)


def folder_of(tmp_path, class_name, model, config):
    name = FAMILIES[class_name].file if class_name else "tokenizer.model"
    (tmp_path / name).write_bytes(trained(model))
    config = {**config, "tokenizer_class": class_name} if class_name else config
    if config:
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return str(tmp_path)


def test_every_class_is_tried():
    assert {name for name in CASES if name} == set(FAMILIES)


@pytest.mark.parametrize("class_name", CASES)
@pytest.mark.parametrize("config", CONFIGS)
def test_folder(class_name, config, tmp_path):
    for model in CASES[class_name].split():
        if (class_name, model, config) in FAILS:
            continue
        folder = folder_of(tmp_path, class_name, model, CONFIGS[config])
        theirs = transformers.AutoTokenizer.from_pretrained(folder).backend_tokenizer
        ours = hftok.Tokenizer(folder)
        assert ours.to_str() == theirs.to_str()
        for text in [*TEXTS, " a  b\n", "", "<x>é<mask> <s>", "▁a"]:
            ids = outcome(lambda t, text=text: t.encode(text).ids, ours)
            assert ids == outcome(lambda t, text=text: t.encode(text).ids, theirs)
            if isinstance(ids, list):
                assert ours.decode(ids) == theirs.decode(ids)


def test_legacy_files(tmp_path):
    """special_tokens_map.json and added_tokens.json, which older folders have."""
    folder = folder_of(tmp_path, "LlamaTokenizer", "bpe", {"pad_token": "<pad>"})
    special = {
        "bos_token": token("<s>", lstrip=True),
        "mask_token": "<c>",
        "extra_special_tokens": ["<e>", token("<f>")],
    }
    (tmp_path / "special_tokens_map.json").write_text(json.dumps(special))
    (tmp_path / "added_tokens.json").write_text(json.dumps({"<pad>": 420, "plain word": 421, "<e>": 422}))
    theirs = transformers.AutoTokenizer.from_pretrained(folder).backend_tokenizer
    assert hftok.Tokenizer(folder).to_str() == theirs.to_str()


@pytest.mark.parametrize("model_type", ["t5", "umt5", "mistral", "phi3", "gemma2", "xlm-roberta", "llama", "idefics"])
@pytest.mark.parametrize("named", [None, "T5Tokenizer", "LlamaTokenizerFast", "PreTrainedTokenizerFast"])
def test_class_of_a_folder(model_type, named, tmp_path):
    """Which of the two configuration files has its way."""
    for name in ("tokenizer.model", "spiece.model", "sentencepiece.bpe.model"):
        (tmp_path / name).write_bytes(trained("bpe"))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    config = {"tokenizer_class": named} if named else {}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    try:
        theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    except (ValueError, TypeError, OSError):
        return  # a BPE model for a Unigram class
    found = loading_folders.class_of(config, {"model_type": model_type})
    assert (found or "TokenizersBackend") == type(theirs).__name__
    assert hftok.Tokenizer(str(tmp_path)).to_str() == theirs.backend_tokenizer.to_str()


def test_model_types():
    mapping = {
        key: (value or "").removesuffix("Fast") for key, value in tokenization_auto.TOKENIZER_MAPPING_NAMES.items()
    }
    plain = ("TokenizersBackend", "PythonBackend", "PreTrainedTokenizerFast", "MistralCommonBackend")
    assert {key for key, value in mapping.items() if value in plain} == loading_model_types.GENERAL
    assert {key: value for key, value in mapping.items() if value in FAMILIES} == loading_model_types.CLASS_OF_TYPE
    assert tokenization_auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS == loading_model_types.DISTRUSTED
    for name in SLOW_CLASSES:
        kind = getattr(transformers, name)
        assert name in ("MLukeTokenizer", "XGLMTokenizer") or not issubclass(kind, transformers.TokenizersBackend)


def ranks_of(count=60):
    ranks = {bytes([b]): b for b in range(256)}
    words = b"the quick brown fox then thequ  \n\xc3\xa9 1234"
    for size in (2, 3, 4):
        for i in range(len(words) - size):
            ranks.setdefault(words[i : i + size], len(ranks))
    return dict(list(ranks.items())[: 256 + count])


@pytest.mark.parametrize("special", [(), ["<|a|>", "<|b|>"]])
@pytest.mark.parametrize("options", [{}, {"pattern": r"\p{L}+|\P{L}"}, {"add_prefix_space": True}])
def test_rank_file(special, options, tmp_path):
    from transformers.convert_slow_tokenizer import TikTokenConverter

    ranks = ranks_of()
    path = tmp_path / "x.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(key) + b" %d\n" % rank for key, rank in ranks.items()))
    theirs = TikTokenConverter(str(path), extra_special_tokens=list(special), **options).converted()
    ours = hftok.Tokenizer.from_tiktoken(path, special_tokens=special, **options)
    assert ours.to_str() == theirs.to_str()
    for text in [*TEXTS, "the quick<|b|>", "é\n\n 1234"]:
        assert ours.encode(text).ids == theirs.encode(text).ids
    if not options and not special:
        assert hftok.Tokenizer(str(path)).to_str() == theirs.to_str()


@pytest.mark.parametrize("config", ["bare", "bos and eos", "added"])
def test_rank_file_in_a_folder(config, tmp_path):
    ranks = ranks_of()
    data = b"".join(base64.b64encode(key) + b" %d\n" % rank for key, rank in ranks.items())
    (tmp_path / "tokenizer.model").write_bytes(data)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **CONFIGS[config], "bos_token": "<b>", "eos_token": "<e>"}
    if config == "added":
        numbers = {"316": token("<sixteen>", special=True), "318": token("<eighteen>", special=True)}
        settings |= {"added_tokens_decoder": numbers, "extra_special_tokens": ["<more>"]}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert loading_tiktoken.is_rank_file(data)
    theirs = transformers.AutoTokenizer.from_pretrained(str(tmp_path)).backend_tokenizer
    assert hftok.Tokenizer(str(tmp_path)).to_str() == theirs.to_str()
