"""What the exact path alone decides, against the reference: tokens that reach beyond their text, where reading ends."""

from __future__ import annotations

from typing import Any

import pytest
import tokenizers

import hftok
from hftok.testing import encoding_fields

BYTES = {f"<0x{byte:02X}>": 3 + byte for byte in range(256)}


def byte_fallback(library: Any, **options: Any) -> Any:
    vocab = {"<unk>": 0, "a": 1, "b": 2, **BYTES, "a</w>": 300, "##a": 301}
    tokenizer = library.Tokenizer(library.models.BPE(vocab, [], byte_fallback=True, **options))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Digits(individual_digits=True)
    return tokenizer


@pytest.mark.parametrize(
    "options",
    [
        {"end_of_word_suffix": "</w>"},
        {"continuing_subword_prefix": "##"},
        {"end_of_word_suffix": "</w>", "continuing_subword_prefix": "##"},
    ],
)
@pytest.mark.parametrize("trim", [None, True, False])
def test_byte_tokens_of_an_affix_reach_beyond_the_text(options: dict[str, str], trim: bool | None) -> None:
    """They are the bytes of the symbol with its affix (bpe/model.rs, merge_word), each one byte long; spans outside of
    the pre-token stay what they are (pre_tokenizer.rs, into_encoding)."""
    one, other = (byte_fallback(library, **options) for library in (hftok, tokenizers))
    if trim is not None:
        for tokenizer, library in ((one, hftok), (other, tokenizers)):
            tokenizer.post_processor = library.processors.ByteLevel(trim_offsets=trim)
    for text in ("0", "a0", "0 ", "00", "é", "aé", "éa", "中1é 2a", "a", "", "ab1ba", "0123456789é"):
        for _ in range(2):  # the second time from the cache, if it is there
            assert encoding_fields(one.encode(text)) == encoding_fields(other.encode(text)), text
        assert one.encode_batch_ids([text, text], return_offsets=True)[0].tolist() == other.encode(text).ids


@pytest.mark.parametrize("direction", ["left", "right"])
@pytest.mark.parametrize("max_length", [0, 1, 2])
def test_reading_ends_after_a_pre_token_without_tokens(max_length: int, direction: str) -> None:
    """A pre-token of which nothing is known gives no token, and still ends the reading (tokenize_with_limit)."""
    for text in ("a b", "x a b", "a x b", "a b x", "x", "x x a", "<s> x <s> a", "a <s> x <s>"):
        found = []
        for library in (hftok, tokenizers):
            tokenizer = library.Tokenizer(library.models.BPE({"a": 0, "b": 1}, []))
            tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
            tokenizer.add_special_tokens(["<s>"])
            tokenizer.enable_truncation(max_length, direction=direction)
            words = tokenizer.encode(text.split(" "), is_pretokenized=True)
            found.append((encoding_fields(tokenizer.encode(text)), encoding_fields(words)))
        assert found[0] == found[1], text
