"""The BPE and Unigram kernels against the reference's on real vocabularies and real text."""

import random
import re

import pytest
from model_reference import (
    STRANGE,
    answer_of_kernel,
    answer_of_reference,
    byte_chars,
    corpus,
    real_model,
    reference_of,
)

from hftok._core.models.bpe import BPEModel
from hftok._core.models.unigram import UnigramModel

pytestmark = [pytest.mark.real, pytest.mark.corpus]

SOURCES = ("english", "chinese", "multilingual", "code")
BPE_OPTIONS = (
    "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges",
)  # fmt: skip
BYTE_LEVEL = [
    "gpt2", "gpt2-pairs-format", "qwen3", "llama3.1", "mistral-nemo", "deepseek-v3", "gpt-oss", "whisper-large-v3",
    "starcoder2", "pix2tex-latex-ocr",
]  # fmt: skip
CHARACTERS = [
    "llama2", "gemma3", "yi-6b", "mistral-7b-v0.1", "clip-vit-base", "openai-gpt", "barthez", "pgn-chess-bpe",
    "toy-sqlpilot",
]  # fmt: skip
UNIGRAM = [
    "xlm-roberta-base", "t5-small", "albert-privately", "bigbird-roberta-base", "deberta-v3", "mbart-trimmed-guiqiong",
    "t5-like-yhn112", "xlnet-base-cased",
]  # fmt: skip
# Read without any splitting: the model gets a whole document as one word.
WHOLE = ["llama2", "gemma3", "yi-6b", "gpt2"]


def bpe_of(data):
    return BPEModel(data["vocab"], data["merges"], **{k: data[k] for k in BPE_OPTIONS if k in data})


def sample_words(vocab, n=4000):
    words = set()
    for source in SOURCES:
        text = corpus(source, size=60_000)
        words.update(re.findall(r" ?\w+|[^\w\s]+|\s+", text))
        words.update(text[i : i + 150] for i in range(0, 15_000, 1500))
    words = sorted(words)
    rng = random.Random(1)
    return rng.sample(words, min(n, len(words))), rng.sample(list(vocab), min(300, len(vocab)))


@pytest.mark.parametrize("name", BYTE_LEVEL)
def test_byte_level_bpe(name):
    data = real_model(name)
    ours, theirs = bpe_of(data), reference_of(data)
    chars = byte_chars()
    words, tokens = sample_words(data["vocab"])
    for word in words:
        raw = word.encode()
        text = "".join(chars[b] for b in raw)
        expected = answer_of_reference(theirs, text)
        assert answer_of_kernel(ours, text) == expected, word
        if ours.byte_level:
            spans, at = [], 0
            for i, value, _ in expected:
                spans.append((i, at, at + len(value)))
                at += len(value)
            assert ours.tokenize_bytes(raw) == spans, word
    whole = ["".join(chars[b] for b in corpus(s, size=30_000).encode()) for s in SOURCES if name in WHOLE]
    for text in [*tokens, *STRANGE, *whole]:
        assert answer_of_kernel(ours, text) == answer_of_reference(theirs, text)


@pytest.mark.parametrize("name", CHARACTERS)
def test_bpe_over_characters(name):
    data = real_model(name)
    ours, theirs = bpe_of(data), reference_of(data)
    space = "▁" if "▁" in data["vocab"] else ""
    words, tokens = sample_words(data["vocab"])
    whole = [corpus(s, size=30_000) for s in SOURCES if name in WHOLE]
    for word in [*(w.replace(" ", space) for w in [*words, *whole]), *tokens, *STRANGE]:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word)


@pytest.mark.parametrize("name", UNIGRAM)
def test_unigram(name):
    data = real_model(name)
    ours = UnigramModel(data["vocab"], data["unk_id"], data.get("byte_fallback", False))
    theirs = reference_of(data)
    words = list(STRANGE)
    for source in SOURCES:
        text = corpus(source, size=40_000)
        words += ["▁" + w for w in text.split()[:2500]]
        words += [text[i : i + 400].replace(" ", "▁") for i in range(0, 8000, 400)]
    words += random.Random(3).sample([p for p, _ in data["vocab"]], 300)
    for word in words:
        assert answer_of_kernel(ours, word) == answer_of_reference(theirs, word), word


@pytest.mark.parametrize("char", ["a", "Ġ", "^"])
def test_a_hundred_thousand_equal_characters_under_gpt2(char):
    data = real_model("gpt2")
    ours, theirs = bpe_of(data), reference_of(data)
    assert answer_of_kernel(ours, char * 100_001) == answer_of_reference(theirs, char * 100_001)


@pytest.mark.parametrize("name", ["gpt2", "llama2"])
def test_merges_are_given_back(name):
    data = real_model(name)
    pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in data["merges"]]
    assert bpe_of(data).merges == pairs


def test_cuts_in_real_text():
    # What the cuts are for: Chinese falls into short pieces under a byte-level vocabulary, prose into words under
    # llama2's.
    text = corpus("chinese", size=30_000).encode()
    assert len(bpe_of(real_model("qwen3")).cut(text)) > len(text) / 15
    text = corpus("english", size=30_000).replace(" ", "▁").encode()
    assert len(bpe_of(real_model("llama2")).cut(text)) > text.count("▁".encode()) * 0.9
