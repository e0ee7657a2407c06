"""Rank files (.tiktoken) as tokenizers.

Rule (transformers 5.23: convert_slow_tokenizer.py `TikTokenConverter`; tokenization_utils_tokenizers.py
`_convert_from_tiktoken`): tokens are written in the byte-level alphabet; all cuts of a token into two tokens are
merges, by the token's rank and then by the ranks of the parts; a piece that is a token is not merged. Special tokens
get the numbers behind the largest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hftok import decoders, pre_tokenizers, processors
from hftok.added_tokens import AddedToken
from hftok.loading_special_tokens import Options
from hftok.models import BPE
from hftok.patterns import Regex
from hftok.pre_tokenizers import ByteLevel
from hftok.tiktoken.load import parse_tiktoken_bpe
from hftok.tokenizer import Tokenizer

__all__ = ["PATTERN", "convert", "from_ranks", "is_rank_file"]

# What a file without a word about it is split by: the pattern of cl100k_base as transformers has it.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def is_rank_file(data: bytes) -> bool:
    """Whether a file's first line is a token in base64, a blank and a rank."""
    parts = data[:4096].split(b"\n", 1)[0].split()
    return len(parts) == 2 and parts[1].isdigit() and parts[0].replace(b"=", b"").isascii() and parts[0][:1] > b" "


def from_ranks(
    ranks: Mapping[bytes, int],
    pattern: str = PATTERN,
    special_tokens: Mapping[str, int] | Iterable[str] = (),
    add_prefix_space: bool = False,
) -> Tokenizer:
    """A tokenizer of ranks (see `Tokenizer.from_tiktoken`)."""
    letters = {byte: letter for letter, byte in zip(_alphabet(), range(256), strict=True)}
    merges = []
    text_of = {token: "".join(map(letters.__getitem__, token)) for token in ranks}
    for token in sorted(ranks, key=ranks.__getitem__):
        cuts = [
            (ranks[token[:cut]], ranks[token[cut:]], text_of[token[:cut]], text_of[token[cut:]])
            for cut in range(1, len(token))
            if token[:cut] in ranks and token[cut:] in ranks
        ]
        merges += [(left, right) for _, _, left, right in sorted(cuts)]
    vocab = {text_of[token]: rank for token, rank in ranks.items()}
    tokenizer = Tokenizer(BPE(vocab, merges, fuse_unk=False, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated", False),
            ByteLevel(add_prefix_space=add_prefix_space, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    given: dict[str, int | None]
    if isinstance(special_tokens, Mapping):
        given = dict(sorted(special_tokens.items(), key=lambda item: item[1]))
    else:
        given = dict.fromkeys(special_tokens)
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in given])
    for name, number in given.items():
        if number is not None and tokenizer.token_to_id(name) != number:
            raise ValueError(
                f"the special token {name!r} cannot have the number {number}: it gets {tokenizer.token_to_id(name)}, "
                "as added tokens are numbered on from the last token; give tokens for the numbers that are left out"
            )
    return tokenizer


def _alphabet() -> list[str]:
    """The characters of the byte-level alphabet, by byte: many stand for themselves, the rest is U+0100 and on."""
    itself = {ord(letter) for letter in ByteLevel.alphabet()}
    others = iter(range(256, 512))
    return [chr(byte) if byte in itself else chr(next(others)) for byte in range(256)]


def convert(data: bytes, name: str, options: dict[str, Any]) -> Tokenizer:
    """The tokenizer of a rank file in a folder with transformers' configuration (see `loading_special_tokens`)."""
    ranks = parse_tiktoken_bpe(data, name)
    added = {int(number): token.content for number, token in options.get("added_tokens_decoder", {}).items()}
    extra = options.get("extra_special_tokens") or []
    special = [token.content if isinstance(token, AddedToken) else token for token in extra]
    if max(added, default=0) >= len(ranks):
        places = range(len(ranks), max(added) + 1)
        numbered = [added.get(number, f"<|reserved_token_{number}|>") for number in places]
        special = numbered + [token for token in special if token not in numbered]
    tokenizer = from_ranks(ranks, special_tokens=special)
    Options(options).finish(tokenizer)
    return tokenizer
