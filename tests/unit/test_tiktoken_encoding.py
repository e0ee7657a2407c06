"""hftok.tiktoken by itself: special tokens and text that a user controls, batches, conversion from a Tokenizer."""

from __future__ import annotations

import copy
import pickle
import random
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hftok
from hftok import AddedToken, Regex, Tokenizer, UnsupportedTokenizerError, decoders, models, pre_tokenizers, tiktoken
from hftok.normalizers import NFC, Lowercase
from hftok.normalizers import Sequence as Normalizers
from hftok.pre_tokenizers import ByteLevel, Split
from hftok.pre_tokenizers import Sequence as Steps
from hftok.tiktoken.openai_public import CL100K, O200K, R50K

SPECIAL = {"<|endoftext|>": 1000, "<|im_start|>": 1001, "<|im_end|>": 1002}
RANKS = {bytes([b]): b for b in range(256)} | {b"<|": 256, b"|>": 257, b"en": 258, b"end": 259, b"  ": 260}


def encoding(pattern=CL100K, special=SPECIAL, ranks=RANKS):
    return tiktoken.Encoding("small", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


# ---- text that a user controls


@pytest.mark.parametrize("pattern", [R50K, CL100K, O200K])
@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from([*SPECIAL, "<|", "|>", "endoftext", "x", " ", "\n", "\ud800", "é"]) | st.text(max_size=3))
)
def test_text_never_becomes_a_special_token_by_itself(pattern, parts):
    """Without permission no number of a special token comes out of any of the methods, whatever the text spells."""
    enc, text = ENCODINGS[pattern], "".join(parts)
    numbers = set(SPECIAL.values())
    spelled = any(name in text for name in SPECIAL)
    for method in (enc.encode, enc.encode_with_unstable, lambda t: enc.encode_batch([t])[0]):
        if spelled:
            with pytest.raises(ValueError, match="disallowed special token"):
                method(text)
    assert numbers.isdisjoint(enc.encode_ordinary(text))
    assert numbers.isdisjoint(enc.encode_ordinary_batch([text])[0])
    for refused in ((), [], set()):
        assert enc.encode(text, disallowed_special=refused) == enc.encode_ordinary(text)
        assert enc.encode_batch([text], disallowed_special=refused) == [enc.encode_ordinary(text)]
    allowed = enc.encode(text, allowed_special={"<|im_end|>"}, disallowed_special=())
    assert numbers.intersection(allowed) <= {1002}
    assert allowed.count(1002) == text.count("<|im_end|>")


ENCODINGS = {pattern: encoding(pattern) for pattern in (R50K, CL100K, O200K)}


def test_special_tokens_of_allowed_ones_only():
    enc = ENCODINGS[CL100K]
    assert enc.encode("a<|endoftext|>b", allowed_special={"<|endoftext|>"}) == [97, 1000, 98]
    with pytest.raises(ValueError, match=r"im_end"):
        enc.encode("<|endoftext|><|im_end|>", allowed_special={"<|endoftext|>"})
    assert enc.encode("<|endoftext|><|im_end|>", allowed_special="all") == [1000, 1002]
    # Other words may be refused as well.
    with pytest.raises(ValueError, match="'password'"):
        enc.encode("my password", disallowed_special={"password"})


# ---- batches and threads


def test_batches_do_not_depend_on_threads():
    enc = ENCODINGS[O200K]
    rng = random.Random(3)
    texts = ["".join(rng.choice("ab <|end>\né") for _ in range(rng.randint(0, 20_000))) for _ in range(60)] + [""] * 5
    expected = [enc.encode_ordinary(text) for text in texts]
    for threads in (1, 2, 8, 64):
        assert enc.encode_ordinary_batch(texts, num_threads=threads) == expected
        assert enc.encode_batch(iter(texts), num_threads=threads) == expected
        assert enc.decode_batch(expected, num_threads=threads) == texts
        assert enc.decode_bytes_batch(expected, num_threads=threads) == [text.encode() for text in texts]
    with pytest.raises(ValueError):
        enc.encode_batch(texts, num_threads=0)
    assert enc.encode_batch([]) == []


def test_first_error_of_a_batch():
    enc = ENCODINGS[CL100K]
    with pytest.raises(ValueError, match="im_end"):
        enc.encode_batch(["a", "<|im_end|>", "<|endoftext|>", 5])
    with pytest.raises(TypeError):
        enc.encode_batch(["a", 5, "<|im_end|>"])
    assert enc.encode("still works") == enc.encode_ordinary("still works")


def test_several_threads_at_once():
    enc = ENCODINGS[CL100K]
    texts = [f"text {i} " * 300 for i in range(8)]
    expected = [enc.encode(text) for text in texts]
    results = [None] * 8

    def work(i):
        for _ in range(20):
            results[i] = enc.encode(texts[i])
            if results[i] != expected[i]:
                return

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == expected


def test_an_empty_cache_changes_nothing():
    texts = ["a b  c end\n" * 50, "<|x|> " * 40, "é" * 3000]
    before = [ENCODINGS[CL100K].encode(text) for text in texts]
    hftok.set_cache_bytes(0)
    try:
        assert [encoding().encode(text) for text in texts] == before
    finally:
        hftok.set_cache_bytes(64 << 20)


@pytest.mark.parametrize("pattern", [r"(\w)\1|.", r"(?<x>a)\k<x>", r"(a)?(?(1)b|c)"])
def test_unsupported_patterns(pattern):
    with pytest.raises(UnsupportedTokenizerError, match="cannot be reproduced"):
        encoding(pattern=pattern)


def test_long_pieces():
    """A piece of a megabyte takes a time that grows with its length, not with the square of it."""
    enc = encoding(pattern="(?s:.+)")
    text = "  enend<|" * 100_000
    ids = enc.encode_ordinary(text)
    assert enc.decode(ids) == text
    assert ids[:6] == [260, 258, 259, 256, 260, 258]


# ---- from a Tokenizer


def byte_level(merges=(), special=(), pre_tokenizer=None, **options):
    vocab = {c: i for i, c in enumerate(sorted(ByteLevel.alphabet()))}
    for left, right in merges:
        vocab[left + right] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab, list(merges), **options))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False) if pre_tokenizer is None else pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(special))
    return tokenizer


MERGES = [("h", "e"), ("l", "l"), ("he", "ll"), ("Ġ", "hell"), ("hell", "o"), ("Ã", "©"), ("1", "2"), ("Ġ", "Ġ")]


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        ByteLevel(add_prefix_space=False),
        Steps([Split(Regex(O200K), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]),
        Steps([Split(Regex(r"\p{L}+|\s"), "removed", invert=True), ByteLevel(add_prefix_space=False, use_regex=False)]),
    ],
    ids=["ByteLevel", "Split", "inverted Split"],
)
def test_as_tiktoken(pre_tokenizer, rng):
    tokenizer = byte_level(MERGES, ["<s>", "<s>x"], pre_tokenizer)
    tokenizer.normalizer = Normalizers([])
    enc = tokenizer.as_tiktoken("mine")
    assert (enc.name, enc.n_vocab) == ("mine", tokenizer.get_vocab_size())
    for copied in (enc, copy.copy(enc), pickle.loads(pickle.dumps(enc))):
        for _ in range(100):
            text = "".join(
                rng.choice(["hello", "he", "l", " ", "  ", "é", "12", "<s>", "x", "\n", "!"]) for _ in range(9)
            )
            ids = tokenizer.encode(text).ids
            assert copied.encode(text, allowed_special="all") == ids
            if isinstance(pre_tokenizer, ByteLevel):
                assert copied.decode(ids) == tokenizer.decode(ids, skip_special_tokens=False) == text


def refused(tokenizer, match):
    with pytest.raises(UnsupportedTokenizerError, match=match):
        tokenizer.as_tiktoken()


def test_as_tiktoken_refuses():
    split = [Split(Regex(r"\w+"), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]
    refused(Tokenizer(models.WordLevel({"a": 0}, unk_token="a")), "only byte-level BPE")
    for normalizer in (NFC(), Lowercase()):
        tokenizer = byte_level(MERGES)
        tokenizer.normalizer = normalizer
        refused(tokenizer, "does not normalize")
    refused(byte_level(MERGES, pre_tokenizer=ByteLevel(add_prefix_space=True)), "add_prefix_space")
    refused(byte_level(MERGES, pre_tokenizer=ByteLevel(add_prefix_space=False, use_regex=False)), "single piece")
    refused(byte_level(MERGES, pre_tokenizer=pre_tokenizers.Whitespace()), "must be a ByteLevel")
    refused(byte_level(MERGES, pre_tokenizer=Steps(split)), "does not match is a piece too")
    refused(byte_level(MERGES, pre_tokenizer=Steps([Split(" ", "isolated"), split[1]])), "one Split by a Regex")
    for behavior in ("removed", "merged_with_next", "contiguous"):
        refused(byte_level(MERGES, pre_tokenizer=Steps([Split(Regex(O200K), behavior), split[1]])), "behavior")
    # What `$` means: the end of a line to Oniguruma, of the text to Rust.
    refused(byte_level(MERGES, pre_tokenizer=Steps([Split(Regex(r"\S+$|\S|\s"), "isolated"), split[1]])), "another way")
    refused(byte_level(MERGES, dropout=0.5), "random")
    refused(byte_level(continuing_subword_prefix="##"), "prefix")
    refused(byte_level(special=[AddedToken("<m>", lstrip=True, normalized=False)]), "beside it")
    refused(byte_level(special=[AddedToken("b>", normalized=False), AddedToken("<b", normalized=True)]), "overlap")
    lacking = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    lacking.pre_tokenizer = ByteLevel(add_prefix_space=False)
    refused(lacking, "254 bytes are no tokens")


def test_as_tiktoken_refuses_merges_that_ranks_do_not_say():
    # The pair that makes a token is not the one that lower ranks leave: (a, bc) where ab comes before bc.
    refused(byte_level([("a", "b"), ("b", "c"), ("a", "bc")]), "merges do not make the token")
    # Out of the order of the numbers.
    tokenizer = byte_level([("a", "b"), ("c", "d")])
    vocab = tokenizer.get_vocab()
    swapped = Tokenizer(models.BPE(vocab, [("c", "d"), ("a", "b")]))
    swapped.pre_tokenizer = tokenizer.pre_tokenizer
    refused(swapped, "order of the numbers")
    # A token that no merges lead to: only where pieces that are tokens are not merged.
    vocab["abxd"] = len(vocab)
    for ignore_merges in (False, True):
        whole = Tokenizer(models.BPE(vocab, [("a", "b"), ("c", "d")], ignore_merges=ignore_merges))
        whole.pre_tokenizer = tokenizer.pre_tokenizer
        if ignore_merges:
            assert whole.as_tiktoken().encode("abxd abxde") == whole.encode("abxd abxde").ids
        else:
            refused(whole, "no merges make the token")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_as_tiktoken_is_exact_or_refused(data):
    """Random merges over a few letters: what is not refused gives the same tokens on every text."""
    parts = list("abc")
    merges = []
    for _ in range(data.draw(st.integers(1, 8))):
        pair = data.draw(st.sampled_from(parts)), data.draw(st.sampled_from(parts))
        if pair[0] + pair[1] not in parts:
            merges.append(pair)
            parts.append(pair[0] + pair[1])
    tokenizer = byte_level(merges, ignore_merges=data.draw(st.booleans()))
    try:
        enc = tokenizer.as_tiktoken()
    except UnsupportedTokenizerError:
        return
    for text in data.draw(st.lists(st.text("abc ", max_size=14), max_size=20)):
        assert enc.encode(text) == tokenizer.encode(text).ids
