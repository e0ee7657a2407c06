"""From a trained vocabulary to tiktoken: what it loads encodes the same."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import rustbpe
import tiktoken
from tiktoken.load import load_tiktoken_bpe

import hftok.rustbpe
import hftok.tiktoken
from hftok import AddedToken, Regex, Tokenizer, UnsupportedTokenizerError, models, pre_tokenizers, trainers

GPT4 = hftok.rustbpe.GPT4_PATTERN
TEXTS = [
    "The cat sat on the mat, and the rat sat with it.\n\n",
    "They'll say 1234567 things; WE'VE heard 42 of them!",
    "def f(x):\n    return x  # naïve façade 漢字 漢字テスト\r\n",
    "<|end|> is no token here, <|endoftext|> might be",
] * 3
PROBES = [*TEXTS[:4], "", " ", "the the\t\tthe", "<|endoftext|>", "a<|end|>b<|endoftext|>", "\U0001f600é\x00 ''s"]


def trained(
    pattern: str | None = None, vocab_size: int = 350, tokens: tuple[Any, ...] = ("<|endoftext|>", "<|end|>")
) -> Any:
    tok = Tokenizer(models.BPE())
    if pattern is None:
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        tok.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(pattern), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(tokens),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator(TEXTS, trainer)
    return tok


@pytest.mark.parametrize("pattern", [None, GPT4])
def test_the_object(pattern: str | None) -> None:
    tok = trained(pattern)
    enc = tok.to_tiktoken("mine")
    ours = tok.as_tiktoken("mine")
    assert type(enc) is tiktoken.Encoding
    assert (enc.name, enc.n_vocab, enc.special_tokens_set) == ("mine", 350, {"<|endoftext|>", "<|end|>"})
    for text in PROBES:
        ids = enc.encode(text, allowed_special="all")
        assert ids == tok.encode(text).ids == ours.encode(text, allowed_special="all")
        assert enc.decode(ids) == text


@pytest.mark.parametrize("pattern", [None, GPT4])
def test_the_file(pattern: str | None, tmp_path: Path) -> None:
    tok = trained(pattern)
    tok.save_tiktoken(tmp_path / "ranks.tiktoken")
    ranks = load_tiktoken_bpe(str(tmp_path / "ranks.tiktoken"))
    enc = tok.to_tiktoken("mine")
    assert ranks == enc._mergeable_ranks
    again = tiktoken.Encoding(
        "mine", pat_str=enc._pat_str, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 0, "<|end|>": 1}
    )
    for text in PROBES:
        assert again.encode(text, allowed_special="all") == tok.encode(text).ids


def test_random_texts(rng: random.Random) -> None:
    tok = trained(GPT4, 350, ())
    enc = tok.to_tiktoken("mine")
    letters = sorted(set("".join(TEXTS)))
    for _ in range(300):
        text = "".join(rng.choices(letters, k=rng.randint(0, 60)))
        assert enc.encode(text, disallowed_special=()) == tok.encode(text).ids


def test_what_cannot_be_said() -> None:
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.train_from_iterator(TEXTS, trainers.BpeTrainer(vocab_size=300, show_progress=False))
    for convert in (lambda: tok.to_tiktoken("mine"), lambda: tok.save_tiktoken("never-written")):
        with pytest.raises(UnsupportedTokenizerError, match="initial_alphabet"):
            convert()
    assert not Path("never-written").exists()
    with pytest.raises(UnsupportedTokenizerError, match="stands beside it"):
        trained(tokens=(AddedToken("<x>", lstrip=True, special=True),)).to_tiktoken("mine")


def test_special_tokens_that_begin_alike() -> None:
    """tiktoken finds the one that its hash table has first. Where that is the longer one, all is well."""
    answers = set()
    for number in range(12):
        tokens = (f"<{number}", f"<{number}>>")
        tok = trained(tokens=tokens)
        try:
            enc = tok.to_tiktoken("mine")
        except UnsupportedTokenizerError:
            answers.add("refused")
            theirs = tiktoken.Encoding(
                "mine",
                pat_str=tok.as_tiktoken()._pat_str,
                mergeable_ranks=tok.as_tiktoken()._mergeable_ranks,
                special_tokens=tok.as_tiktoken()._special_tokens,
            )
            assert theirs.encode(tokens[1], allowed_special="all") != tok.encode(tokens[1]).ids
            continue
        answers.add("given")
        assert enc.encode(tokens[1], allowed_special="all") == tok.encode(tokens[1]).ids == [1]
    assert answers == {"refused", "given"}


SPECIAL_TOKENS = ["<|bos|>", "<|user_start|>", "<|user_end|>", "<|assistant_start|>", "<|assistant_end|>"]


def nanochat(trainer_module: Any, tiktoken_module: Any, folder: Path) -> list[Any]:
    """nanochat's way: train without special tokens, number them after the merges, hand over to tiktoken, pickle."""
    vocab_size = 512
    tokenizer = trainer_module.Tokenizer()
    without_special = vocab_size - len(SPECIAL_TOKENS)
    pattern = GPT4.replace("{1,3}", "{1,2}")
    tokenizer.train_from_iterator(iter(TEXTS), without_special, pattern=pattern)
    ranks = {bytes(token): rank for token, rank in tokenizer.get_mergeable_ranks()}
    special = {name: len(ranks) + i for i, name in enumerate(SPECIAL_TOKENS)}
    enc = tiktoken_module.Encoding(
        name="rustbpe", pat_str=tokenizer.get_pattern(), mergeable_ranks=ranks, special_tokens=special
    )
    (folder / "tokenizer.pkl").write_bytes(pickle.dumps(enc))
    enc = pickle.loads((folder / "tokenizer.pkl").read_bytes())
    bos = enc.encode_single_token("<|bos|>")
    lengths = [len(enc.decode_single_token_bytes(token)) for token in range(enc.n_vocab)]
    rows = [[bos, *row] for row in enc.encode_ordinary_batch(PROBES, num_threads=2)]
    assert [enc.decode(row[1:]) for row in rows] == PROBES
    return [ranks, special, enc.n_vocab, lengths, rows, enc.encode("<|bos|>hi<|user_end|>", allowed_special="all")]


def test_nanochats_way(tmp_path: Path) -> None:
    expected = nanochat(rustbpe, tiktoken, tmp_path)
    assert nanochat(hftok.rustbpe, tiktoken, tmp_path) == expected
    assert nanochat(hftok.rustbpe, hftok.tiktoken, tmp_path) == expected
