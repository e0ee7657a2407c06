"""Every call of the grid on every setup: Encodings, field by field, against the installed reference."""

from __future__ import annotations

import itertools

import pytest
from grid_checks import GROUP, calls, explain, group, outcome, same
from grid_setups import SETUPS, ours, theirs
from grid_texts import grid_texts

from hftok.testing import encoding_fields

CALLS = list(calls())
NAMES = list(SETUPS)


def encoded(tokenizer, *args, **kwargs):
    """The fields of an encoding, or the exception."""
    return outcome(lambda: encoding_fields(tokenizer.encode(*args, **kwargs)))


def cells():
    """(setup, call, texts) of the whole grid: each call meets other texts in each setup."""
    texts = grid_texts()
    for setup, call in itertools.product(range(len(NAMES)), range(len(CALLS))):
        yield NAMES[setup], CALLS[call], group(setup * len(CALLS) + call * 7 + setup, texts)


def test_size_of_the_grid():
    pairs, texts = set(), set()
    for _, call, group_texts in cells():
        pairs.update((text, call) for text in group_texts)
        texts.update(group_texts)
    assert len(texts) >= 400
    assert len(pairs) >= 10_000
    assert len(NAMES) >= 12
    assert len(NAMES) * len(CALLS) * GROUP >= 30_000


@pytest.mark.parametrize("name", NAMES)
def test_grid(name):
    one, other = ours(name), theirs(name)
    for setup, call, texts in cells():
        if setup != name:
            continue
        mine, reference = call.run(one, texts), call.run(other, texts)
        assert same(mine, reference), f"{call}: {explain(mine, reference, call.inputs(texts))}"


@pytest.mark.parametrize("name", NAMES)
def test_every_text(name):
    """Alone, with the next one, and all in one batch; `encode_batch_fast` too."""
    texts = grid_texts()
    one, other = ours(name), theirs(name)
    good = []
    for number, text in enumerate(texts):
        pair = texts[number - 1] if number % 3 == 0 else None
        mine, reference = (encoded(tokenizer, text, pair) for tokenizer in (one, other))
        assert same(mine, reference), f"{text!a}, {pair!a}: {explain(mine, reference)}"
        if isinstance(reference, dict):
            good.append((text, pair, reference) if pair is not None else (text, reference))
    inputs = [item[0] if len(item) == 2 else item[:2] for item in good]
    rows = [encoding_fields(encoding) for encoding in one.encode_batch(inputs)]
    assert rows == [item[-1] for item in good]
    fast = one.encode_batch_fast(inputs)
    theirs_fast = other.encode_batch_fast(inputs[:50])
    for encoding, reference in zip(fast, theirs_fast, strict=False):
        assert encoding_fields(encoding) == encoding_fields(reference)
    assert [encoding.ids for encoding in fast] == [item[-1]["ids"] for item in good]


@pytest.mark.parametrize("name", NAMES)
def test_tokenize_and_decode(name):
    one, other = ours(name), theirs(name)
    for text in grid_texts()[::3]:
        encoding = outcome(lambda t=text: other.encode(t))
        if isinstance(encoding, BaseException):
            continue
        assert one.tokenize(text, add_special_tokens=True) == encoding.tokens
        for skip in (True, False):
            assert one.decode(encoding.ids, skip_special_tokens=skip) == other.decode(
                encoding.ids, skip_special_tokens=skip
            )


@pytest.mark.parametrize("name", NAMES)
def test_vocabulary(name):
    one, other = ours(name), theirs(name)
    assert one.get_vocab() == other.get_vocab()
    assert one.get_vocab_size() == other.get_vocab_size()
    assert one.get_vocab(with_added_tokens=False) == other.get_vocab(with_added_tokens=False)
    assert [one.id_to_token(i) for i in range(5000)] == [other.id_to_token(i) for i in range(5000)]
    for token in ("a", "<a>", "état", "ETAT", "none", "[CLS]"):
        assert one.token_to_id(token) == other.token_to_id(token)


@pytest.mark.parametrize("name", NAMES)
def test_saved_and_loaded(name, tmp_path):
    """What hftok writes the reference reads, and the other way round: with the same output."""
    import tokenizers

    import hftok

    one, other = ours(name), theirs(name)
    assert one.to_str() == other.to_str()
    path = str(tmp_path / "t.json")
    one.save(path)
    back = tokenizers.Tokenizer.from_file(path)
    loaded = hftok.Tokenizer(path)
    if other.encode_special_tokens:  # not part of the file
        back.encode_special_tokens = loaded.encode_special_tokens = True
    live = hftok.Tokenizer(other)
    for text in grid_texts()[::11]:
        expected = encoded(other, text)
        for tokenizer in (back, loaded, live):
            found = encoded(tokenizer, text)
            assert same(found, expected), f"{text!a}: {explain(found, expected)}"
