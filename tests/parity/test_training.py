"""Training by all four trainers, against the installed reference: the tokenizer afterwards, the trainer, and errors."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
import tokenizers as reference
from training_cases import PRE_TOKENIZERS, added_token, both, description, random_text

import hftok

DETERMINISTIC = ("bpe", "wordlevel")
TRAINERS = {
    "bpe": "BpeTrainer",
    "wordpiece": "WordPieceTrainer",
    "wordlevel": "WordLevelTrainer",
    "unigram": "UnigramTrainer",
}


def trainers(model: str, **settings: Any) -> tuple[Any, Any]:
    """The same trainer of both; special tokens are given as (text, flags)."""
    special = settings.pop("special_tokens", [])
    made = []
    for library in (hftok, reference):
        tokens = [library.AddedToken(text, **flags) if flags else text for text, flags in special]
        kind = getattr(library.trainers, TRAINERS[model])
        made.append(kind(show_progress=False, special_tokens=tokens, **settings))
    return made[0], made[1]


def trained(model: str, pre_tokenizer: Any, texts: list[str], **settings: Any) -> tuple[Any, Any]:
    ours, theirs = both(description(model, pre_tokenizer))
    ours_by, theirs_by = trainers(model, **settings)
    ours.train_from_iterator(texts, ours_by)
    theirs.train_from_iterator(texts, theirs_by)
    return ours, theirs


SPECIAL: list[tuple[str, dict[str, bool]]] = [
    ("[UNK]", {}),
    ("a", {}),
    ("<x>", {"lstrip": True, "rstrip": True}),
    ("low", {"single_word": True, "normalized": True}),
]


def bpe_settings(rng: random.Random) -> dict[str, Any]:
    settings: dict[str, Any] = {"vocab_size": rng.choice([0, 5, 30, 60, 200])}
    if rng.random() < 0.4:
        settings["min_frequency"] = rng.choice([1, 2, 3, 10])
    if rng.random() < 0.4:
        settings["special_tokens"] = rng.sample(SPECIAL, rng.randrange(1, 4)) + SPECIAL[:1]
    if rng.random() < 0.3:
        settings["initial_alphabet"] = rng.sample(["a", "z", "xyz", "", "é", "中", "Ġ"], 3)
    if rng.random() < 0.3:
        settings["max_token_length"] = rng.choice([1, 2, 3, 5, 8])
    return settings


@pytest.mark.parametrize("alphabet", ["ab", "abc ", "aAbB cC.d1e", "mixed"])
def test_bpe(alphabet):
    rng = random.Random(alphabet)
    for _ in range(60):
        if alphabet == "mixed":
            texts = [random_text(rng, 40) for _ in range(rng.randrange(8))]
        else:
            texts = ["".join(rng.choices(alphabet, k=rng.randrange(30))) for _ in range(rng.randrange(12))]
        ours, theirs = trained("bpe", rng.choice(list(PRE_TOKENIZERS)), texts, **bpe_settings(rng))
        assert ours.to_str() == theirs.to_str()


def test_word_level():
    rng = random.Random("wordlevel")
    for _ in range(80):
        texts = ["".join(rng.choices("ab <x>low", k=rng.randrange(40))) for _ in range(rng.randrange(12))]
        settings = bpe_settings(rng)
        for name in ("initial_alphabet", "max_token_length"):
            settings.pop(name, None)
        ours, theirs = trained("wordlevel", rng.choice(list(PRE_TOKENIZERS)), texts, **settings)
        assert ours.get_vocab() == theirs.get_vocab()
        assert ours.to_str() == theirs.to_str()


def test_word_piece():
    """The reference gives `##` symbols their ids in random order, and ties follow the ids: where there are none, and
    apart from ids, both are the same."""
    texts = ["low " * 9 + "lower " * 7 + "lowest " * 5 + "new " * 3] * 2
    for settings in ({}, {"continuing_subword_prefix": "@@"}, {"end_of_word_suffix": "</w>"}):
        for size in (0, 12, 30, 300):
            ours, theirs = trained(
                "wordpiece", "whitespace", texts, vocab_size=size, special_tokens=SPECIAL[:1], **settings
            )
            if size != 30:
                assert set(ours.get_vocab()) == set(theirs.get_vocab())
            assert sorted(ours.get_vocab().values()) == sorted(theirs.get_vocab().values())
            own, their = json.loads(ours.to_str()), json.loads(theirs.to_str())
            own["model"].pop("vocab"), their["model"].pop("vocab")
            assert own == their


@pytest.mark.parametrize("unk", [None, "<unk>", "[UNK]"])
def test_unigram(unk):
    rng = random.Random(f"unigram {unk}")
    words = ["low", "lower", "lowest", "new", "newer", "wide", "widest", "in", "the", "中文", "字"]
    texts = [" ".join(rng.choices(words, k=rng.randrange(1, 30))) for _ in range(120)]
    for size in (60, 90):
        ours, theirs = trained(
            "unigram", "metaspace", texts, vocab_size=size, unk_token=unk, special_tokens=SPECIAL[:1]
        )
        own, their = json.loads(ours.to_str()), json.loads(theirs.to_str())
        own_pieces, their_pieces = own["model"].pop("vocab"), their["model"].pop("vocab")
        assert own == their
        assert {piece for piece, _ in own_pieces} == {piece for piece, _ in their_pieces}
        assert own_pieces[0] == their_pieces[0]


@pytest.mark.parametrize("model", TRAINERS)
def test_nothing_to_train_on(model):
    for texts in ([], [""], [[], ()]):
        ours, theirs = both(description(model, "whitespace"))
        ours_by, theirs_by = trainers(model, special_tokens=SPECIAL, vocab_size=50)
        outcomes = []
        for tokenizer, trainer in ((ours, ours_by), (theirs, theirs_by)):
            try:
                tokenizer.train_from_iterator(texts, trainer)
                outcomes.append(tokenizer.to_str())
            except Exception as error:
                outcomes.append(f"{type(error).__name__}: {error}")
        assert outcomes[0] == outcomes[1]


def test_fields_that_training_keeps_and_replaces():
    models = {
        "bpe": {
            "type": "BPE",
            "dropout": 0.5,
            "unk_token": "u",
            "continuing_subword_prefix": "##",
            "end_of_word_suffix": "</w>",
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": True,
            "vocab": {"u": 0},
            "merges": [],
        },
        "wordpiece": {
            "type": "WordPiece",
            "unk_token": "u",
            "continuing_subword_prefix": "@@",
            "max_input_chars_per_word": 7,
            "vocab": {"u": 0},
        },
        "wordlevel": {"type": "WordLevel", "vocab": {"u": 0}, "unk_token": "u"},
        "unigram": {"type": "Unigram", "unk_id": 0, "vocab": [["u", 0.0]], "byte_fallback": True},
    }
    for name, model in models.items():
        ours, theirs = both(description(model, "whitespace"))
        for tokenizer in (ours, theirs):
            tokenizer.enable_padding(pad_id=3)
            tokenizer.enable_truncation(5)
        ours_by, theirs_by = trainers(name, vocab_size=20, special_tokens=[("[PAD]", {})])
        ours.train_from_iterator(["aa aa aa"], ours_by)
        theirs.train_from_iterator(["aa aa aa"], theirs_by)
        assert ours.to_str() == theirs.to_str()


@pytest.mark.parametrize("model", DETERMINISTIC)
def test_added_tokens_before(model):
    """Earlier added tokens keep their ids, their texts are words of their own, and trained ones get the model's ids."""
    tokens = [added_token("<x>", 0, special=True), added_token("[Y]", 1, normalized=False), added_token("low", 2)]
    texts = ["low <x>lower[Y] <x> new low", "[Y][Y]"] * 3
    for special in ([], SPECIAL):
        ours, theirs = both(description(model, "whitespace", None, tokens))
        ours_by, theirs_by = trainers(model, vocab_size=40, special_tokens=special)
        ours.train_from_iterator(texts, ours_by)
        theirs.train_from_iterator(texts, theirs_by)
        assert ours.to_str() == theirs.to_str()
        assert ours.get_vocab() == theirs.get_vocab()
        assert ours.get_vocab_size() == theirs.get_vocab_size()
        for text in texts:
            assert ours.encode(text).ids == theirs.encode(text).ids


@pytest.mark.parametrize("model", TRAINERS)
def test_default_trainer(model):
    ours, theirs = both(description(model, "whitespace"))
    texts = ["low lower lowest"] * 4
    ours.train_from_iterator(texts)
    theirs.train_from_iterator(texts)
    assert set(ours.get_vocab()) == set(theirs.get_vocab())


def test_model_object_is_trained_in_place():
    model = hftok.models.BPE()
    tokenizer = hftok.Tokenizer(model)
    other = hftok.Tokenizer(model)
    assert tokenizer.encode("low").tokens == []
    tokenizer.train_from_iterator(["low low"], hftok.trainers.BpeTrainer(vocab_size=9, show_progress=False))
    assert tokenizer.encode("low").tokens == other.encode("low").tokens == ["low"]
    assert model.token_to_id("low") == tokenizer.token_to_id("low")


def test_words_that_were_encoded_before():
    """The reference gives the old tokens of words in its cache."""
    tokenizer = hftok.Tokenizer(hftok.models.BPE({"l": 0, "o": 1, "w": 2}, []))
    tokenizer.pre_tokenizer = hftok.pre_tokenizers.Whitespace()
    assert tokenizer.encode("low").ids == [0, 1, 2]
    tokenizer.train_from_iterator(["low low"], hftok.trainers.BpeTrainer(vocab_size=9, show_progress=False))
    assert tokenizer.encode("low").ids == [tokenizer.token_to_id("low")]


def test_trainer_keeps_the_words():
    """Its state has them, a second training replaces them, and a training that fails leaves them."""
    ours, theirs = both(description("bpe", "bytelevel"))
    ours_by, theirs_by = trainers("bpe", vocab_size=20, special_tokens=SPECIAL)
    for texts in (["héllo héllo hello"], ["low", "new"]):
        ours.train_from_iterator(texts, ours_by)
        theirs.train_from_iterator(texts, theirs_by)
        assert ours_by.get_word_count() == theirs_by.get_word_count()
        assert json.loads(ours_by.__getstate__()) == json.loads(theirs_by.__getstate__())
        again = reference.trainers.BpeTrainer()
        again.__setstate__(ours_by.__getstate__())
        assert again.get_word_count() == ours_by.get_word_count()
    with pytest.raises(ZeroDivisionError):
        ours.train_from_iterator((1 // 0 for _ in "a"), ours_by)
    assert ours_by.get_word_count() == 2


# ---- what iterators may give -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: ["low", "lower"],
        lambda: ("low", "lower"),
        lambda: iter(["low", "lower"]),
        lambda: [["low", "lower"], ("new",), iter(["x"])],
        lambda: (text for text in ("low", "", "lower")),
        lambda: {"low": 1, "lower": 2},
        lambda: [{"low": 1, "lower": 2}],
        lambda: "low lower",
        lambda: pytest.importorskip("numpy").array(["low", "lower"]),
        lambda: [str.__new__(type("Text", (str,), {}), "low")],
    ],
)
def test_iterators(make):
    ours, theirs = both(description("bpe", "whitespace"))
    ours.train_from_iterator(make(), length=2)
    theirs.train_from_iterator(make(), length=2)
    assert ours.to_str() == theirs.to_str()


@pytest.mark.parametrize(
    "make",
    [
        lambda: 5,
        lambda: None,
        lambda: [5],
        lambda: [None],
        lambda: ["low", b"low"],
        lambda: b"low",
        lambda: [["low", 5]],
        lambda: [[["low"]]],
        lambda: ["low", "\ud800"],
        lambda: ["low" * 5000, ["\ud800"]],
        lambda: (str(1 // n) for n in (1, 0)),
        lambda: (str(1 // n) for n in (*range(1, 10_000), 0)),
    ],
)
def test_bad_iterators(make):
    """The reference's exception, and nothing has changed."""
    ours, theirs = both(description("bpe", "whitespace"))
    before = ours.to_str()
    with pytest.raises(BaseException) as wanted:
        theirs.train_from_iterator(make())
    with pytest.raises(wanted.type) as raised:
        ours.train_from_iterator(make())
    assert raised.type is wanted.type
    if not isinstance(wanted.value, UnicodeEncodeError):
        assert str(raised.value) == str(wanted.value)
    assert ours.to_str() == before


# ---- files -----------------------------------------------------------------------------------------------------------


def test_files(tmp_path):
    rng = random.Random("files")
    paths = []
    for i in range(4):
        path = tmp_path / f"{i}.txt"
        path.write_bytes("".join(random_text(rng) for _ in range(50 * i)).encode())
        paths.append(str(path))
    for pre_tokenizer in ("bytelevel", "whitespace", "none"):
        for files in (paths, tuple(paths[:2]), []):
            ours, theirs = both(description("bpe", pre_tokenizer))
            ours_by, theirs_by = trainers("bpe", vocab_size=300)
            ours.train(files, ours_by)
            theirs.train(files, theirs_by)
            assert ours.to_str() == theirs.to_str()


def test_bad_files(tmp_path):
    good = tmp_path / "good.txt"
    good.write_text("low lower")
    for files in (
        [str(tmp_path / "missing")],
        [str(good), str(tmp_path / "missing")],
        [str(tmp_path)],
        str(good),
        [good],
        [5],
        None,
        [str(good), "a\0b"],
        ["\ud800"],
    ):
        ours, theirs = both(description("bpe", "whitespace"))
        before = ours.to_str()
        with pytest.raises(BaseException) as wanted:
            theirs.train(files)
        with pytest.raises(wanted.type) as raised:
            ours.train(files)
        assert raised.type is wanted.type
        if raised.type is Exception:
            assert str(raised.value) == str(wanted.value)
        assert ours.to_str() == before


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"])
def test_bytes_that_are_not_utf8(tmp_path, bad):
    """The position is named, and the model untouched (the reference trains on what stands before)."""
    path = tmp_path / "bad.txt"
    for start in (0, 5, 70_000, 700_000):
        path.write_bytes((b"low lower\n" * 70_000)[:start] + bad + b" newest\n")
        ours, _ = both(description("bpe", "whitespace"))
        before = ours.to_str()
        for threads in (1, 3):
            with pytest.raises(Exception, match=f"^stream did not contain valid UTF-8: byte {start} of ") as raised:
                ours.train([str(path)], threads=threads)
            assert raised.type is Exception
        assert ours.to_str() == before


def test_trainer_for_another_model():
    for model in TRAINERS:
        for other in TRAINERS:
            if model == other:
                continue
            ours, theirs = both(description(model, "whitespace"))
            ours_by, theirs_by = trainers(other)
            with pytest.raises(Exception) as wanted:
                theirs.train_from_iterator(["low"], theirs_by)
            with pytest.raises(Exception) as raised:
                ours.train_from_iterator(["low"], ours_by)
            assert (raised.type, str(raised.value)) == (wanted.type, str(wanted.value))


def test_no_trainer():
    ours, theirs = both(description("bpe", "whitespace"))
    for trainer in ("BpeTrainer", hftok.trainers.BpeTrainer, 5):
        for tokenizer in (ours, theirs):
            with pytest.raises(TypeError):
                tokenizer.train_from_iterator(["low"], trainer)


def test_trainer_of_the_reference():
    """People who change one import at a time have such objects."""
    ours, theirs = both(description("bpe", "whitespace"))
    trainer = reference.trainers.BpeTrainer(vocab_size=9, show_progress=False, special_tokens=["[UNK]"])
    ours.train_from_iterator(["low low lower"], trainer)
    theirs.train_from_iterator(["low low lower"], trainer)
    assert ours.to_str() == theirs.to_str()


def _given(library: Any) -> list[Any]:
    token = library.AddedToken
    return [
        "[UNK]",
        token("<a>", lstrip=True),
        token("<b>", normalized=True, single_word=True),
        token("<c>", rstrip=True, special=True),
        token("d e", normalized=False),
    ]


@pytest.mark.parametrize("model", TRAINERS)
@pytest.mark.parametrize("where", ["constructor", "attribute"])
def test_added_tokens_of_the_reference(model, where):
    """Half of the imports replaced: the reference's AddedTokens are taken, and become special, as there."""

    def trained(library: Any, tokens: list[Any]) -> Any:
        kind = getattr(library.trainers, TRAINERS[model])
        settings = {"unk_token": "[UNK]"} if model == "unigram" else {}
        if where == "constructor":
            trainer = kind(special_tokens=tokens, show_progress=False, vocab_size=60, **settings)
        else:
            trainer = kind(show_progress=False, vocab_size=60, **settings)
            trainer.special_tokens = tokens
        tokenizer = library.Tokenizer.from_str(description(model, "whitespace"))
        tokenizer.train_from_iterator(["ab abc bcd <a> cab", "d e abc <b>ab"] * 3, trainer)
        shown = [repr(token) for token in trainer.special_tokens]
        found = [t for t in tokenizer.encode("x <a> ab<b> <c>  d e").tokens if t in ("<a>", "<b>", "<c>", "d e")]
        return json.loads(tokenizer.to_str())["added_tokens"], shown, found

    ours, expected = _given(reference), _given(reference)
    assert trained(hftok, ours) == trained(reference, expected)
    assert [repr(token) for token in ours] == [repr(token) for token in expected]  # made special themselves
    assert all(token.special for token in ours[1:])


@pytest.mark.parametrize("bad", [None, 1, b"<a>", ["<a>"], {"content": "<a>"}, object(), reference.Regex("a")])
def test_special_tokens_that_are_neither(bad):
    for library in (hftok, reference):
        tokenizer = library.Tokenizer(library.models.BPE())
        with pytest.raises(TypeError, match=r"special_tokens must be a List\[Union\[str, AddedToken\]\]"):
            library.trainers.BpeTrainer(special_tokens=["<a>", bad])
        for add in (tokenizer.add_tokens, tokenizer.add_special_tokens):
            with pytest.raises(TypeError, match=r"Input must be a List\[Union\[str, AddedToken\]\]"):
                add(["<a>", bad])
        assert tokenizer.get_vocab_size() == 0


def test_too_small_a_vocabulary():
    """Special tokens and alphabet are kept, and nothing is merged; Unigram says so."""
    ours, theirs = trained("bpe", "whitespace", ["low lower"], vocab_size=2, special_tokens=SPECIAL)
    assert ours.to_str() == theirs.to_str()
    ours, theirs = both(description("unigram", "whitespace"))
    before = ours.to_str()
    ours_by, theirs_by = trainers("unigram", vocab_size=2)
    for tokenizer, trainer in ((ours, ours_by), (theirs, theirs_by)):
        with pytest.raises(Exception, match="The vocabulary is not large enough to contain all chars"):
            tokenizer.train_from_iterator(["low lower"], trainer)
    assert ours.to_str() == before


def test_normalizer_that_fails_at_the_end():
    """Special tokens are normalized when they are added: where that fails, the model is as it was."""

    class Failing:
        def normalize(self, normalized):
            if "[PAD]" in normalized.normalized:
                raise KeyError("[PAD]")

    tokenizer = hftok.Tokenizer(hftok.models.BPE())
    tokenizer.normalizer = hftok.normalizers.Normalizer.custom(Failing())
    token = hftok.AddedToken("[PAD]", normalized=True)
    with pytest.raises(Exception, match="KeyError"):
        tokenizer.train_from_iterator(["low"], hftok.trainers.BpeTrainer(special_tokens=[token], show_progress=False))
    assert tokenizer.get_vocab() == {}
