"""Words that the cache lacks: a flush passes them over and fills them in later, whatever the tier, budget, threads."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from child_process import printed_by

import hftok
from hftok import decoders, models, normalizers, pre_tokenizers, processors, trainers
from hftok._core import cpu
from hftok._core import rows as core_rows

SYLLABLES = [
    "ba",
    "ne",
    "ti",
    "lor",
    "em",
    "ip",
    "su",
    "d",
    "qu",
    "x",
    "é",
    "ß",
    "да",
    "не",
    "漢",
    "字",
    "日本",
    "한",
    "กา",
    "😀",
]


def made_up(rng: random.Random, n: int) -> str:
    """n words, hardly any of them twice; now and then a long one, blanks, a token that is added."""
    words = []
    for _ in range(n):
        word = "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 7)))
        if rng.random() < 0.02:
            word = rng.choice([word * 9, "-" * rng.randint(17, 900), " " * rng.randint(2, 700), "<x>", "\n\n"])
        words.append(word)
    return " ".join(words)


def texts_of(seed: int) -> list[str]:
    """One text with far more new words than a flush passes over at a time, and many short and empty ones."""
    rng = random.Random(seed)
    texts = [made_up(rng, n) for n in (4000, 1, 0, 3, 700)] + [made_up(rng, rng.randint(0, 6)) for _ in range(900)]
    texts += texts[100:400]  # words met before beside words that are new
    return texts


def tokenizer_of(form: str | None, ignore_merges: bool = False) -> hftok.Tokenizer:
    tokenizer = hftok.Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if form is not None:
        tokenizer.normalizer = getattr(normalizers, form)()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        [made_up(random.Random(1), 3000)],
        trainers.BpeTrainer(
            vocab_size=900,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=["<s>", "</s>"],
            show_progress=False,
        ),
    )
    tokenizer.add_tokens(["<x>"])
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)])
    return tokenizer


def unsplit_tokenizer() -> hftok.Tokenizer:
    """Text that nothing splits, a space being a mark, as Gemma has it."""
    tokenizer = hftok.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=True)
    tokenizer.train_from_iterator(
        [made_up(random.Random(1), 3000)], trainers.BpeTrainer(vocab_size=900, show_progress=False)
    )
    model = json.loads(tokenizer.to_str())["model"]
    vocab = model["vocab"]
    for byte in range(256):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    vocab["<unk>"] = len(vocab)
    tokenizer = hftok.Tokenizer(
        models.BPE(
            vocab, [tuple(merge) for merge in model["merges"]], unk_token="<unk>", byte_fallback=True, fuse_unk=True
        )
    )
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.add_tokens(["<x>"])
    return tokenizer


def test_words_of_unsplit_text():
    tokenizer = unsplit_tokenizer()
    engine, _ = tokenizer._ready()
    assert engine.why_exact is None
    texts = texts_of(5)
    texts += [text.upper() + " z_z\ttab ba!ne ti\u1b6dne" for text in texts[:50]]  # characters that fall back to bytes
    ids, offsets = exactly(tokenizer, texts, True)
    for _ in range(2):
        rows = tokenizer.encode_batch_ids(texts)
        assert np.array_equal(rows.ids, ids)
        assert np.array_equal(rows.row_offsets, offsets)
    assert np.array_equal(tokenizer.encode_batch_ids(texts, return_offsets=True).ids, ids)


def test_characters_of_unsplit_text_are_symbols():
    # Once there has been enough text beyond ASCII, words of any characters are merged side by side; those with
    # characters that fall back to bytes are not.
    tokenizer = unsplit_tokenizer()
    tokenizer.encode_batch_ids(["漢字 да не ba " * 20_000] * 16)
    for seed in (11, 12):
        texts = texts_of(seed)
        texts += [text.upper().replace("Ti", "\u2581Ж語") for text in texts[:60]]
        rng = random.Random(seed)
        # Words that are ASCII for more than 16 bytes, and end in other characters.
        texts += [
            " ".join("".join(rng.choices(SYLLABLES[:9], k=11)) + rng.choice(["漢字", "да", "한ti"]) for _ in range(40))
        ]
        ids, offsets = exactly(tokenizer, texts, True)
        rows = tokenizer.encode_batch_ids(texts)
        assert np.array_equal(rows.ids, ids)
        assert np.array_equal(rows.row_offsets, offsets)
    assert tokenizer._ready()[0].statistics()[1] > 1000


def exactly(tokenizer: hftok.Tokenizer, texts: list[str], special: bool):
    engine, state = tokenizer._ready()
    return core_rows.encode_batch(engine, texts, state.affix(special), False, False, exact=True)[:2]


@pytest.mark.parametrize("form", [None, "NFC", "NFKC", "NFD"])
@pytest.mark.parametrize("special", [True, False])
def test_new_words_are_filled_in_where_they_belong(form, special):
    tokenizer = tokenizer_of(form)
    texts = texts_of(2)
    ids, offsets = exactly(tokenizer, texts, special)
    for _ in range(2):  # new, then known
        rows = tokenizer.encode_batch_ids(texts, add_special_tokens=special)
        assert np.array_equal(rows.ids, ids)
        assert np.array_equal(rows.row_offsets, offsets)
    again = tokenizer.encode_batch_ids(texts, add_special_tokens=special, return_offsets=True)
    assert np.array_equal(again.ids, ids)
    for text in (*texts[:5], *texts[-20:]):
        assert tokenizer_of(form).encode_ids(text).tolist() == tokenizer.encode_ids(text).tolist()


def test_whole_words_come_first_with_ignore_merges():
    """Such a model's words are passed over once its tokens are looked through, which takes some MB of text."""
    tokenizer = tokenizer_of(None, ignore_merges=True)
    vocab = tokenizer.get_vocab()
    # Tokens that no merge makes, and that a word is all the same.
    extra = [
        pre_tokenizers.ByteLevel(False).pre_tokenize_str(word)[0][0] for word in ("banetilor", "quxquxqux", "漢字漢字")
    ]
    tokenizer.model = models.BPE(
        {**vocab, **{token: len(vocab) + i for i, token in enumerate(extra)}},
        [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]],
        ignore_merges=True,
    )
    texts = ["banetilor quxquxqux 漢字漢字 banetilo banetilorr", *texts_of(3)] + [made_up(random.Random(4), 9000)] * 60
    assert sum(len(text.encode()) for text in texts) > 1 << 22
    ids, offsets = exactly(tokenizer, texts[:900], True)
    rows = tokenizer.encode_batch_ids(texts)
    assert np.array_equal(rows.ids[: len(ids)], ids)
    assert np.array_equal(rows.row_offsets[: len(offsets)], offsets)


CHARACTERS = "漢字日本語文東京大学一二三四五六七八九十"


@pytest.mark.parametrize("others", ["", "aé\u2014", "aéßдж" * 8])
@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_parts_of_words_are_no_whole_words(seed, least, others):
    """A word is cut where no merge joins its characters, but for tokens that no merge makes: a word that is one stays
    whole, and a part that looks like one is not it. least: characters of such a token."""
    rng = random.Random(seed)
    characters = CHARACTERS + others * 2

    def run() -> str:
        most = 40 if rng.random() < 0.05 else 14
        return "".join(rng.choice(characters) for _ in range(rng.randint(1, most)))

    tokenizer = hftok.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [" ".join(run() for _ in range(300))],
        trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False),
    )
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    vocab = model["vocab"]
    characters += "龍虎"  # of which no merge makes a token
    lengths = [1, 2, 2, 2, 3, 4] if least == 1 else [2, 2, 3, 4]
    parts = ["".join(rng.choice(characters) for _ in range(rng.choice(lengths))) for _ in range(60)]
    for part in parts:
        vocab.setdefault(pre_tokenizers.ByteLevel(False).pre_tokenize_str(part)[0][0], len(vocab))
    tokenizer.model = models.BPE(vocab, merges, ignore_merges=True)
    texts = [
        " ".join(rng.choice([run(), rng.choice(parts), run() + rng.choice(parts)]) for _ in range(40))
        for _ in range(300)
    ]
    texts += [" ".join(run() for _ in range(3000))] * 80
    assert sum(len(text.encode()) for text in texts) > 1 << 22
    ids, offsets = exactly(tokenizer, texts[:301], False)
    for _ in range(2):
        rows = tokenizer.encode_batch_ids(texts)
        assert np.array_equal(rows.ids[: len(ids)], ids)
        assert np.array_equal(rows.row_offsets[: len(offsets)], offsets)
    spans = tokenizer.encode_batch_ids(texts, return_offsets=True)
    assert np.array_equal(spans.ids, rows.ids)


@pytest.mark.parametrize("budget", [0, 1 << 17, 1 << 20, 1 << 26])
@pytest.mark.parametrize("parallel", [False, True])
def test_no_budget_and_no_thread_changes_anything(budget, parallel):
    tokenizer = tokenizer_of("NFC")
    texts = [made_up(random.Random(seed), 5000) for seed in range(8)]
    ids, offsets = exactly(tokenizer, texts, True)
    hftok.set_cache_bytes(budget)
    try:
        for _ in range(3):  # the cache grows, and is full in the end where the budget is small
            rows = tokenizer.encode_batch_ids(texts, parallel=parallel)
            assert np.array_equal(rows.ids, ids)
            assert np.array_equal(rows.row_offsets, offsets)
    finally:
        hftok.set_cache_bytes(64 << 20)


def test_results_stay_when_their_memory_could_be_used_again():
    tokenizer = tokenizer_of(None)
    texts = [made_up(random.Random(seed), 8000) for seed in range(4)]
    expected = [exactly(tokenizer, [text], True)[0] for text in texts]
    kept = [tokenizer.encode_batch_ids([text], parallel=False).ids for text in texts]
    for text, ids in zip(texts, kept, strict=True):
        tokenizer.encode_batch_ids([text], parallel=False)  # made and dropped
        assert ids.base is not None
        ids[0] += 0  # writable, as it is the caller's own
    for ids, wanted in zip(kept, expected, strict=True):
        assert np.array_equal(ids, wanted)
    del kept[::2]
    tokenizer.encode_batch_ids([texts[2]], parallel=False)
    assert np.array_equal(kept[0], expected[1])
    assert np.array_equal(kept[1], expected[3])


CHILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/property"]
import hashlib
from test_new_words import texts_of, tokenizer_of, unsplit_tokenizer
for tokenizer in (tokenizer_of(None), tokenizer_of("NFC"), unsplit_tokenizer()):
    rows = tokenizer.encode_batch_ids(texts_of(2))
    print(hashlib.sha256(rows.ids.tobytes() + rows.row_offsets.tobytes()).hexdigest())
"""


def test_every_tier_gives_the_same():
    seen = {printed_by(CHILD, HFTOK_CPU=tier) for tier in cpu.available()}
    assert len(seen) == 1


def short_documents(rng: random.Random) -> list[str]:
    """Documents of no chunk to some dozens: known characters, added tokens, long and unknown words at their borders."""
    pieces = ["a", "b c", "漢字", "漢", "<x>", "-" * 30, "un" * 40, "é", "", " ", "word", "!?", "zzz", "\u0378"]
    return [" ".join(rng.choice(pieces) for _ in range(rng.choice([0, 1, 1, 2, 5, 40]))) for _ in range(1200)]


def word_pieces(vocabulary: list[str]) -> hftok.Tokenizer:
    made = hftok.Tokenizer(models.WordPiece({t: i for i, t in enumerate(["[UNK]", *vocabulary])}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def test_borders_of_short_documents() -> None:
    """Documents without tokens around them are looked up together; each is to get its own."""
    tokenizer = word_pieces(["a", "b", "c", "漢", "word", "w", "##o", "!", "?", "un", "##un", "-", "e"])
    tokenizer.add_tokens(["<x>"])
    texts = short_documents(random.Random(5))
    rows = tokenizer.encode_batch_ids(texts, add_special_tokens=False)
    engine = tokenizer._ready()[0]
    ids, offsets, _ = core_rows.encode_batch(engine, texts, None, exact=True)
    assert np.array_equal(rows.ids, ids)
    assert np.array_equal(rows.row_offsets, offsets)
    assert [row.tolist() for row in rows] == [tokenizer.encode_ids(t, add_special_tokens=False).tolist() for t in texts]


def test_words_put_aside_come_home() -> None:
    """The vocabulary fills the buckets of the cache; words of the text that find them full are not left outside."""
    rng = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = sorted({"".join(rng.choice(letters) for _ in range(6)) for _ in range(16000)})
    rng.shuffle(words)
    known, new = words[:8000], words[8000:9500]
    tokenizer = word_pieces([*letters, *("##" + c for c in letters), *known])
    texts = [" ".join(rng.choice(new if rng.random() < 0.7 else known[:500]) for _ in range(40)) for _ in range(400)]
    expected = core_rows.encode_batch(tokenizer._ready()[0], texts, None, exact=True)[0]
    engine = tokenizer._ready()[0]
    beyond = []
    for _ in range(8):
        before = engine.statistics()
        assert np.array_equal(tokenizer.encode_batch_ids(texts, add_special_tokens=False, parallel=False).ids, expected)
        beyond.append(engine.statistics()[1] - before[1])
    assert beyond[1] > 0
    assert beyond[-1] < beyond[0] / 10, beyond
    assert engine.statistics()[0] == 8 * 400 * 40
