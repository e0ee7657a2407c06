"""The words that a pipeline feeds to its trainer are the reference's, by every way through a text, with all threads."""

from __future__ import annotations

import json
import random

import pytest
import tokenizers as reference
from training_cases import NORMALIZERS, PRE_TOKENIZERS, added_token, both, description, random_text, reference_words

import hftok
from hftok._core.training.feed import Counter
from hftok._core.training.sequences import Words, as_characters
from hftok.training.pipeline import words_of

TOKENS = [
    added_token("<x>", 0, special=True, normalized=False),
    added_token("[MASK]", 1, special=True, normalized=False, lstrip=True),
    added_token("foo", 2, single_word=True),
    added_token("É", 3),
]


def counted(tokenizer: hftok.Tokenizer, texts: list[str], threads: int, characters: bool = False) -> dict[str, int]:
    words = words_of(tokenizer, characters=characters)
    counter = Counter(words, threads)
    counter.add_texts(texts)
    core = counter.take()
    return (as_characters(core) if words.symbols == "byte_level" else core).to_dict()


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS)
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_words(pre_tokenizer, normalizer):
    rng = random.Random(f"{pre_tokenizer} {normalizer}")
    texts = [random_text(rng) for _ in range(70)]
    for added in ([], TOKENS[:1], TOKENS):
        ours, theirs = both(description("bpe", pre_tokenizer, normalizer, added))
        expected = reference_words(theirs, texts)
        for threads in (1, 2, 7):
            assert counted(ours, texts, threads) == expected
        assert counted(ours, texts, 1, characters=True) == expected


@pytest.mark.parametrize("pre_tokenizer", PRE_TOKENIZERS)
def test_no_shortcut_changes_a_word(pre_tokenizer):
    """Long texts, which threads share where they may be cut, against the exact path."""
    rng = random.Random(pre_tokenizer)
    ours, _ = both(description("bpe", pre_tokenizer))
    long = [("".join(random_text(rng) for _ in range(300)) + " word" * 9) * 40, "x" * 3_000_000]
    normalizer, pre = ours.normalizer, ours.pre_tokenizer
    exact = Words(None if normalizer is None else normalizer._spec(), None if pre is None else pre._spec(), exact=True)
    slow = Counter(exact, 1)
    slow.add_texts(long)
    expected = slow.take()
    expected = (as_characters(expected) if exact.symbols == "byte_level" else expected).to_dict()
    for threads in (1, 3):
        assert counted(ours, long, threads) == expected


def test_lines_of_a_file(tmp_path):
    """A line ends at \\n only, and keeps it."""
    text = "\ufefflow lower\r\nnewest\rwidest\n\n \n\x85a\u2028b\nno newline at the end"
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode() * 3)
    for pre_tokenizer in ("none", "bytelevel", "whitespace", "metaspace", "cl100k", "bert"):
        ours, theirs = both(description("bpe", pre_tokenizer))
        lines = (text * 3).split("\n")
        expected = reference_words(theirs, [line + "\n" for line in lines[:-1]] + [lines[-1]])
        assert hftok.WordCounts.from_files([str(path)], ours).to_dict() == expected


def test_special_tokens_as_text():
    text = "a <x> b<x>"
    for special in (False, True):
        ours, theirs = both(description("bpe", "whitespace", None, TOKENS[:1]))
        ours.encode_special_tokens = theirs.encode_special_tokens = special
        trainer = reference.trainers.BpeTrainer(vocab_size=0, show_progress=False)
        theirs.train_from_iterator([text], trainer)
        expected = json.loads(trainer.__getstate__())["BpeTrainer"]["words"]
        assert ("<" in expected) == special
        assert hftok.WordCounts.from_iterator([text], ours).to_dict() == expected


class Upper:
    def pre_tokenize(self, pretok):
        pretok.normalize(lambda text: text.uppercase() or None)
        pretok.split(lambda _, text: text.split(" ", "removed"))


def test_python_component():
    ours, _ = both(description("bpe"))
    ours.pre_tokenizer = hftok.pre_tokenizers.PreTokenizer.custom(Upper())
    assert hftok.WordCounts.from_iterator(["low LOW new"], ours).to_dict() == {"LOW": 2, "NEW": 1}
