"""OpenAI's encodings: the addresses and hashes of their files, their patterns and special tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hftok.tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe

__all__ = ["ENCODING_CONSTRUCTORS"]

ENDOFTEXT = "<|endoftext|>"
FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
ENDOFPROMPT = "<|endofprompt|>"

BLOBS = "https://openaipublic.blob.core.windows.net"
HASHES = {
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
}

R50K = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|"""
    r"""\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_BEFORE, _AFTER = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
O200K = "|".join(
    [
        f"{_BEFORE}{_UPPER}*{_LOWER}+{_AFTER}",
        f"{_BEFORE}{_UPPER}+{_LOWER}*{_AFTER}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


def _ranks(name: str) -> dict[bytes, int]:
    return load_tiktoken_bpe(f"{BLOBS}/encodings/{name}.tiktoken", expected_hash=HASHES[name])


def _parts(name: str, pat_str: str, ranks: dict[bytes, int], special: dict[str, int], **more: int) -> dict[str, Any]:
    return {"name": name, "pat_str": pat_str, "mergeable_ranks": ranks, "special_tokens": special, **more}


def gpt2() -> dict[str, Any]:
    ranks = data_gym_to_mergeable_bpe_ranks(
        vocab_bpe_file=f"{BLOBS}/gpt-2/encodings/main/vocab.bpe",
        encoder_json_file=f"{BLOBS}/gpt-2/encodings/main/encoder.json",
        vocab_bpe_hash="1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
        encoder_json_hash="196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    )
    return _parts("gpt2", R50K, ranks, {ENDOFTEXT: 50256}, explicit_n_vocab=50257)


def r50k_base() -> dict[str, Any]:
    return _parts("r50k_base", R50K, _ranks("r50k_base"), {ENDOFTEXT: 50256}, explicit_n_vocab=50257)


def p50k_base() -> dict[str, Any]:
    return _parts("p50k_base", R50K, _ranks("p50k_base"), {ENDOFTEXT: 50256}, explicit_n_vocab=50281)


def p50k_edit() -> dict[str, Any]:
    special = {ENDOFTEXT: 50256} | {token: 50281 + i for i, token in enumerate(FIM)}
    return _parts("p50k_edit", R50K, _ranks("p50k_base"), special)


def cl100k_base() -> dict[str, Any]:
    special = {ENDOFTEXT: 100257} | {token: 100258 + i for i, token in enumerate(FIM)} | {ENDOFPROMPT: 100276}
    return _parts("cl100k_base", CL100K, _ranks("cl100k_base"), special)


def o200k_base() -> dict[str, Any]:
    return _parts("o200k_base", O200K, _ranks("o200k_base"), {ENDOFTEXT: 199999, ENDOFPROMPT: 200018})


def o200k_harmony() -> dict[str, Any]:
    named = {"startoftext": 199998, "endoftext": 199999, "return": 200002, "constrain": 200003}
    named |= {"channel": 200005, "start": 200006, "end": 200007, "message": 200008, "call": 200012}
    special = {ENDOFTEXT: 199999, ENDOFPROMPT: 200018}
    taken = set(named.values())
    for number in range(199998, 201088):
        if number < 200013 and number in taken:
            continue
        if number >= 200000:
            named[f"reserved_{number}"] = number
    special |= {f"<|{name}|>": number for name, number in sorted(named.items(), key=lambda item: item[1])}
    return _parts("o200k_harmony", O200K, _ranks("o200k_base"), special)


ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] = {
    "gpt2": gpt2,
    "r50k_base": r50k_base,
    "p50k_base": p50k_base,
    "p50k_edit": p50k_edit,
    "cl100k_base": cl100k_base,
    "o200k_base": o200k_base,
    "o200k_harmony": o200k_harmony,
}
