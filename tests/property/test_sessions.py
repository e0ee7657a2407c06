"""Growing texts: whatever is appended or changed, a session's ids are those of the whole text."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import DATA
from grid_texts import grid_texts

from hftok import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from hftok.text_cuts import TextCuts

ALL = sorted(path.parent.name for path in (DATA / "tokenizers").glob("*/tokenizer.json")) or ["none"]
BITS = [
    *[
        "\n",
        " ",
        "  ",
        "\t",
        "'s",
        "'",
        "a",
        "1",
        "123456",
        "é",
        "e\u0301",
        "\u0301",
        "。",
        "中文",
        "か\u3099",
        "▁",
        " ▁",
    ],
    *[
        "``",
        "İ",
        "\u200d",
        "👍🏽",
        "\r\n",
        "\u00a0",
        "\u3000",
        "\x1c",
        "\x1f",
        "\x85",
        "<",
        "|>",
        "A",
        "\x00",
        "\u0600",
        " x",
        "x ",
        "word",
        ".",
        "the",
    ],
]


def small():
    """A byte-level tokenizer with special tokens around a text."""
    vocab = {c: i for i, c in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("Ġ", "w"), ("o", "r"), ("Ġw", "or"), ("l", "d"), ("Ġ", "Ġ")]
    for left, right in merges:
        vocab[left + right] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<s>", "</s>", AddedToken("<m>", lstrip=True)])
    special = [(token, tokenizer.token_to_id(token)) for token in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", None, special)
    return tokenizer


def grow(tokenizer, rng, pieces, steps=10, rounds=8):
    """Random growth and change. How many of the calls had a cut to begin from."""
    special = rng.random() < 0.5
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()][:30]
    cut = 0
    for _ in range(rounds):
        session, text = tokenizer.session(special), ""
        before = session.ids
        for _ in range(steps):
            if added and rng.random() < 0.1:
                piece = rng.choice(added)
            elif rng.random() < 0.5:
                piece = rng.choice(pieces)
            else:
                piece = "".join(rng.choice(BITS) for _ in range(rng.randint(1, 6)))
            cut += len(session._cuts) > 1
            if rng.random() < 0.25:
                text = text[: rng.randint(0, len(text))] + piece
                ids = session.encode(text)
            else:
                text += piece
                ids = session.append(piece) if rng.random() < 0.7 else session.encode(text)
            whole = tokenizer.encode_ids(text, special)
            assert ids.tolist() == whole.tolist(), text
            assert session.text == text
            assert len(session) == len(ids)
            changed = session.changed_from
            assert ids[:changed].tolist() == before[:changed].tolist()
            assert changed == min(len(before), len(ids)) or ids[changed] != before[changed]
            before = ids
    return cut


@pytest.mark.real
@pytest.mark.parametrize("name", ALL)
def test_real_tokenizers(name, real_tokenizer, rng):
    tokenizer = Tokenizer(real_tokenizer(name))
    pieces = [text[i : i + 60] for text in grid_texts() if len(text) < 5000 for i in range(0, len(text), 60)]
    cut = grow(tokenizer, rng, pieces)
    rules = TextCuts.of(tokenizer)
    assert rules is not None  # of all that are at hand
    assert cut > 10


def test_growth(rng):
    assert grow(small(), rng, [" the world", "the", "\n\n", "w or ld"], steps=30, rounds=15) > 200


def test_unknown_pipelines_encode_everything(rng):
    """Right, if not fast, where nothing is known about cuts."""
    tokenizer = Tokenizer(
        models.Unigram([("<unk>", 0.0), (" ", -1.0), ("a", -2.0), (" a", -1.5), ("the", -2.0)], 0, False)
    )
    assert grow(tokenizer, rng, ["a a", " the"]) == 0


def test_long_texts(rng):
    """Texts of many steps: changes in the middle are taken up from the last place before them."""
    tokenizer = small()
    session = tokenizer.session()
    text = "".join(rng.choice([" the", " world", "w", "\n", " ", "é", "中文，"]) for _ in range(20_000))
    assert session.encode(text).tolist() == tokenizer.encode_ids(text).tolist()
    assert len(session._cuts) > 5
    for _ in range(12):
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(["x", " the", "<s>", ""]) + text[at + rng.randint(0, 3) :]
        assert session.encode(text).tolist() == tokenizer.encode_ids(text).tolist()
        assert session.append(" more").tolist() == tokenizer.encode_ids(text + " more").tolist()
        assert session.encode(text).tolist() == tokenizer.encode_ids(text).tolist()


def test_results_stay_what_they_were():
    tokenizer = small()
    session = tokenizer.session()
    results = []
    text = ""
    for piece in ("the", " wor", "ld", " th", "e", "\n", " ", " ", "the", "<m>", " x" * 400, "y"):
        text += piece
        results.append((session.append(piece), tokenizer.encode_ids(text)))
        for result, expected in results:
            assert np.array_equal(result, expected)
            assert not result.flags.writeable
    assert np.array_equal(session.ids, results[-1][1])


def test_old_ids_are_not_copied():
    """What has been encoded stays in its place while nobody's array is in the way."""
    tokenizer = small()
    tokenizer.post_processor = processors.ByteLevel()
    session = tokenizer.session()
    session.append(" the world" * 2000)
    first = session.ids.ctypes.data
    for _ in range(50):
        session.append(" the world")
    assert session.ids.ctypes.data == first


def test_arrays_take_turns(rng):
    """Who gives a result up for the next makes a session copy little; what is kept stays as it was."""
    tokenizer = small()
    session = tokenizer.session()
    text, kept, places = "", [], set()
    ids = session.append("world " * 2000)
    for step in range(300):
        if rng.random() < 0.1:
            kept.append((ids, ids.tolist()))
        piece = "the " * rng.randint(0, 20) + rng.choice(["wor", "the", " ", "x"])
        if rng.random() < 0.1:
            ids = session.encode(session.text[: -rng.randint(1, 300)] + piece)
        else:
            ids = session.append(piece)
        if step % 10 == 0:
            text = session.text
            assert ids.tolist() == tokenizer.encode_ids(text).tolist()
        places.add(ids.ctypes.data)
    assert all(array.tolist() == values for array, values in kept)
    assert len(places) < 2 * len(kept) + 20  # not a new one each time


def test_changes_of_the_tokenizer(rng):
    tokenizer = small()
    session = tokenizer.session()
    session.append("the world")
    for change in (
        lambda: tokenizer.add_tokens(["wor"]),
        lambda: setattr(tokenizer, "normalizer", normalizers.Lowercase()),
        lambda: setattr(tokenizer, "encode_special_tokens", True),
        lambda: setattr(tokenizer, "post_processor", processors.ByteLevel()),
        lambda: tokenizer.enable_truncation(3),
        lambda: setattr(tokenizer, "pre_tokenizer", pre_tokenizers.WhitespaceSplit()),
    ):
        change()
        assert session.append(" THE<s> world").tolist() == tokenizer.encode_ids(session.text).tolist()
        assert session.encode(session.text[:9]).tolist() == tokenizer.encode_ids(session.text).tolist()


def test_errors_change_nothing():
    tokenizer = small()
    session = tokenizer.session()
    session.append("the wor")
    state = session.text, session.ids.tolist(), session.changed_from
    for call in (session.append, session.encode):
        for wrong in ("x\ud800", "the wor\udfff", None, b"a", 5):
            with pytest.raises(TypeError):
                call(wrong)
            assert (session.text, session.ids.tolist(), session.changed_from) == state
    tokenizer.normalizer = normalizers.Lowercase()  # and where everything is to be encoded anew
    with pytest.raises(TypeError):
        session.append("\ud800")
    assert (session.text, session.ids.tolist()) == state[:2]
    assert session.append("ld").tolist() == tokenizer.encode_ids("the world").tolist()


def test_copies_and_clearing():
    tokenizer = small()
    session = tokenizer.session(add_special_tokens=False)
    session.append("the world the")
    other = session.copy()
    assert other.append(" wor").tolist() == tokenizer.encode_ids("the world the wor", False).tolist()
    assert session.append("ld").tolist() == tokenizer.encode_ids("the world theld", False).tolist()
    assert other.text == "the world the wor"
    session.clear()
    assert (session.text, len(session)) == ("", 0)
    assert session.append("w").tolist() == tokenizer.encode_ids("w", False).tolist()
    assert repr(session) == "<Session of 1 characters, 1 ids>"
