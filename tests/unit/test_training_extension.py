"""Vocabularies that are extended and cut: the same as those that were trained at that size from the start."""

from __future__ import annotations

import random

import pytest

from hftok import AddedToken, Tokenizer, WordCounts, models, pre_tokenizers, trainers


def corpus(rng: random.Random, alphabet: str) -> dict[str, int]:
    return {"".join(rng.choices(alphabet, k=rng.randrange(1, 12))): rng.randrange(1, 9) for _ in range(60)}


def trained(counts, size, **settings) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.train_from_counts(counts, trainers.BpeTrainer(vocab_size=size, show_progress=False, **settings))
    return tokenizer


SETTINGS = [
    {},
    {"min_frequency": 3},
    {"max_token_length": 4},
    {"special_tokens": ["<pad>", "a", "aa", "ab"]},
    {"special_tokens": ["abab", "é"], "initial_alphabet": ["z"], "max_token_length": 7},
]


@pytest.mark.parametrize("alphabet", ["ab", "abc", "abcdeé中"])
@pytest.mark.parametrize("settings", SETTINGS)
def test_extended_and_cut(alphabet, settings):
    rng = random.Random(f"{alphabet} {settings}")
    for _ in range(8):
        counts = corpus(rng, alphabet)
        sizes = sorted(rng.sample(range(90), 2))
        small, large = (trained(counts, size, **settings) for size in sizes)
        again = Tokenizer.from_str(small.to_str())
        again.extend_vocabulary(counts, trainers.BpeTrainer(vocab_size=sizes[1], show_progress=False, **settings))
        assert again.to_str() == large.to_str()
        again.cut_vocabulary(sizes[0])
        assert again.to_str() == small.to_str()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_long_words(threads):
    """Words beyond the length that is gone through again and again, alone and in runs of the same letter."""
    rng = random.Random("long")
    counts = {"".join(rng.choices("ab", k=n)): 1 + n % 3 for n in range(60, 70)} | {
        "a" * 301: 2,
        "ab" * 500: 1,
        "b" * 64: 1,
    }
    large = trained(counts, 90)
    again = trained(counts, 30)
    again.extend_vocabulary(counts, trainers.BpeTrainer(vocab_size=90, show_progress=False), threads=threads)
    assert again.to_str() == large.to_str()


def test_other_words():
    """Old merges stay; what is new comes after them: special tokens, characters, merges."""
    tokenizer = trained({"low": 5, "lower": 2}, 20, special_tokens=["<unk>"])
    old = tokenizer.get_vocab()
    trainer = trainers.BpeTrainer(vocab_size=60, special_tokens=["<new>"], show_progress=False)
    tokenizer.extend_vocabulary({"lowest": 4, "zebra": 3}, trainer)
    vocab = tokenizer.get_vocab()
    assert {token: vocab[token] for token in old} == old
    assert vocab["<new>"] == len(old)
    assert [vocab[c] for c in "abstz"] == list(range(len(old) + 1, len(old) + 6))
    assert tokenizer.encode("lowest").tokens == ["lowest"]
    assert tokenizer.encode("lower<new>").tokens == ["lower", "<new>"]
    limited = trained({"low": 5, "lower": 2}, 20)
    trainer = trainers.BpeTrainer(vocab_size=60, limit_alphabet=1, show_progress=False)
    limited.extend_vocabulary({"lowest": 4, "zebra": 3}, trainer)
    assert "z" not in limited.get_vocab()


def test_byte_level():
    texts = ["héllo wörld " * 9, "hello world low lower lowest " * 5]
    tokenizers = []
    for size in (60, 40):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, show_progress=False))
        tokenizers.append(tokenizer)
    counts = WordCounts.from_iterator(texts, tokenizers[1])
    tokenizers[1].extend_vocabulary(counts, trainers.BpeTrainer(vocab_size=60, show_progress=False))
    assert tokenizers[0].to_str() == tokenizers[1].to_str()


def test_nothing_to_extend_or_cut():
    empty = Tokenizer(models.BPE())
    empty.cut_vocabulary(5)
    assert empty.get_vocab() == {}
    empty.extend_vocabulary({"ab": 2}, trainers.BpeTrainer(vocab_size=9, show_progress=False))
    assert empty.to_str() == trained({"ab": 2}, 9).to_str()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (models.WordLevel({"a": 0}), "only a BPE"),
        (models.BPE({"a": 0, "b": 2}, []), "ids of the vocabulary"),
        (models.BPE({"a": 0}, [], continuing_subword_prefix="##"), "affixes"),
        (models.BPE({"a": 0, "aa": 1, "aaa": 2}, [("aa", "a"), ("a", "a")]), "later merge"),
    ],
)
def test_refused(model, message):
    tokenizer = Tokenizer(model)
    before = tokenizer.to_str()
    with pytest.raises(ValueError, match=message):
        tokenizer.cut_vocabulary(1)
    if isinstance(model, models.BPE):
        with pytest.raises(ValueError, match=message):
            tokenizer.extend_vocabulary({"aa": 1}, trainers.BpeTrainer(show_progress=False))
    assert tokenizer.to_str() == before


def test_arguments():
    tokenizer = trained({"low": 5, "lower": 2}, 20)
    before = tokenizer.to_str()
    with pytest.raises(OverflowError):
        tokenizer.cut_vocabulary(-1)
    with pytest.raises(ValueError, match="affixes"):
        tokenizer.extend_vocabulary({"a": 1}, trainers.BpeTrainer(end_of_word_suffix="</w>"))
    with pytest.raises(TypeError):
        tokenizer.extend_vocabulary(5, trainers.BpeTrainer())
    assert tokenizer.to_str() == before
    tokenizer.add_tokens([AddedToken("low", special=True)])
    with pytest.raises(ValueError, match="'low'"):
        tokenizer.cut_vocabulary(5)
