"""hftok.tiktoken against the installed tiktoken: real vocabularies and random small ones."""

from __future__ import annotations

import copy
import pickle
import random

import numpy as np
import pytest
import tiktoken as reference
import tiktoken.load
import tiktoken.model
import tiktoken_ext.openai_public
from grid_texts import grid_texts
from hypothesis import given, settings
from hypothesis import strategies as st

import hftok
import hftok.rustbpe
from hftok import tiktoken
from hftok.tiktoken import load, model, openai_public

PATTERNS = [
    openai_public.R50K,
    openai_public.CL100K,
    openai_public.O200K,
    r"\w+|\W",
    r"(?s:.)",
    r"\d{1,3}(?=(?:\d{3})*\b)|[^\d]+",
    r"(?i:straße|k)+|\S+|\s+",
    r"[[:alpha:]]+|[\p{Han}&&[^一]]+|\p{Greek}+|[^a-z]",
    "(?x) \\p{L}+ # words\n | \\s++ | .",
    r"(?m:^)\S+|\S+$|\s",
    r"(?<=a)b|a|\R|.",
    r"\h+|\H",
]
REAL = ["cl100k_base", "o200k_base", "gpt2", "llama3.1", "phi-2"]


def both(**parts):
    return tiktoken.Encoding(**parts), reference.Encoding(**parts)


def outcome(function, *args, **kwargs):
    """A result, or the kind and text of an exception; a panic counts as ValueError."""
    try:
        result = function(*args, **kwargs)
    except KeyError as error:
        return "KeyError", str(error)
    except Exception as error:
        return type(error).__name__, str(error) if isinstance(error, ValueError) else ""
    except BaseException as error:  # pyo3's PanicException
        if type(error).__name__ != "PanicException":
            raise
        return ("panic",)
    if isinstance(result, np.ndarray):
        return result.dtype, result.tolist()
    return result


def random_ranks(rng, alphabet=b"ab \n\xc3\xa9", count=40):
    """All single bytes and some longer tokens, in an order that no merges need have made."""
    tokens = [bytes([b]) for b in range(256)]
    longer = set()
    while len(longer) < count:
        longer.add(bytes(rng.choice(alphabet) for _ in range(rng.randint(2, 6))))
    rest = sorted(longer)
    rng.shuffle(rest)
    if rng.random() < 0.5:
        rng.shuffle(tokens)
    tokens += rest
    if rng.random() < 0.3:
        rng.shuffle(tokens)
    numbers = sorted(rng.sample(range(1000), len(tokens)))
    return dict(zip(tokens, numbers, strict=True))


@pytest.fixture(scope="module")
def real(real_tokenizer):
    """real(name): our Encoding, tiktoken's, and the Tokenizer."""
    made = {}

    def get(name):
        if name not in made:
            made.clear()  # one at a time: they are large
            tokenizer = hftok.Tokenizer(real_tokenizer(name))
            ours = tokenizer.as_tiktoken(name)
            parts = {
                "name": name,
                "pat_str": ours._pat_str,
                "mergeable_ranks": ours._mergeable_ranks,
                "special_tokens": ours._special_tokens,
            }
            made[name] = ours, reference.Encoding(**parts), tokenizer
        return made[name]

    return get


# ---- real vocabularies


@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_real(name, real, corpus_documents):
    ours, theirs, tokenizer = real(name)
    texts = [*grid_texts(), *corpus_documents("multilingual", 20_000), *corpus_documents("code", 20_000)]
    for text in texts:
        ids = ours.encode_ordinary(text)
        assert ids == theirs.encode_ordinary(text), text[:100]
        assert ours.decode(ids) == theirs.decode(ids)
        assert ours.decode_bytes(ids) == text.encode()
        assert ours.decode_with_offsets(ids) == theirs.decode_with_offsets(ids)
    assert ours.encode_ordinary_batch(texts) == theirs.encode_ordinary_batch(texts)
    assert ours.encode_batch(texts, disallowed_special=()) == theirs.encode_batch(texts, disallowed_special=())
    allowed = ours.encode_batch(texts, allowed_special="all")
    assert allowed == [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    batch = allowed
    assert ours.decode_batch(batch) == theirs.decode_batch(batch) == texts
    assert ours.decode_bytes_batch(batch) == theirs.decode_bytes_batch(batch)
    assert ours.n_vocab == theirs.n_vocab
    assert ours.token_byte_values() == theirs.token_byte_values()


@pytest.mark.real
@pytest.mark.parametrize("name", ["cl100k_base", "gpt2"])
def test_real_unstable(name, real):
    ours, theirs, _ = real(name)
    for text in ("", "hello fanta", "a ", "x\n\n ", "  ", "don'", "日本", "price 12", "fan\t", "z\u3000", "."):
        tokens, completions = ours.encode_with_unstable(text)
        their_tokens, their_completions = theirs.encode_with_unstable(text)
        assert tokens == their_tokens
        assert completions == sorted(their_completions), text


@pytest.mark.real
def test_real_added_tokens_as_special_tokens(real):
    """Added tokens of which one begins with another: an Encoding of a Tokenizer finds the longest, as that does."""
    ours, _, tokenizer = real("phi-2")
    for copied in (ours, pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        for text in ("  x", "     y", "\t\t\t z", "a" + " " * 40 + "b", "<|endoftext|>  "):
            assert copied.encode(text, allowed_special="all") == tokenizer.encode(text).ids


# ---- random vocabularies


@pytest.mark.parametrize("pattern", PATTERNS)
def test_random_ranks(pattern, rng):
    alphabet = "aab b  \n\r\té ßſKk\u212a1234'sSſ.,一丁α\u2028\u00a0\u0301\U0001f600’"
    for _ in range(6):
        special = {"<a>": 2000, "b b": 2001, "é": 2002}
        ours, theirs = both(name="random", pat_str=pattern, mergeable_ranks=random_ranks(rng), special_tokens=special)
        for _ in range(60):
            text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 30)))
            if rng.random() < 0.3:
                text += "<a>" + text[:5]
            assert outcome(ours.encode_ordinary, text) == outcome(theirs.encode_ordinary, text), text
            for allowed in (set(), {"<a>"}, {"b b", "é", "zz"}, "all"):
                for refused in ("all", (), {"<a>"}, ["é", "a"]):
                    kwargs = {"allowed_special": allowed, "disallowed_special": refused}
                    mine, their = outcome(ours.encode, text, **kwargs), outcome(theirs.encode, text, **kwargs)
                    assert mine == their, (text, kwargs)
            kwargs = {"allowed_special": {"<a>"}, "disallowed_special": ()}
            mine, their = ours.encode_with_unstable(text, **kwargs), theirs.encode_with_unstable(text, **kwargs)
            assert mine == (their[0], sorted(their[1])), text
            assert outcome(ours.encode_to_numpy, text, **kwargs) == outcome(theirs.encode_to_numpy, text, **kwargs)


HAN = "的一是不了人我在有他这中大来上个国说们为子和你地出道也时年得就那要下以生会自着去之过家学对可"
KINDS = (HAN, HAN, HAN, "，。！", " ab1\n", "éßяжあア한국")


@pytest.mark.parametrize("pattern", [openai_public.R50K, openai_public.CL100K, openai_public.O200K])
@pytest.mark.parametrize("made_by_merges", [True, False])
def test_cut_pieces(pattern, made_by_merges, rng):
    """Once much text beyond ASCII has been seen, pieces are cut where no token joins two characters, unless a token is
    not what merging makes."""
    words = ["".join(rng.choices(HAN[:20], k=rng.randint(1, 4))) for _ in range(60)]
    texts = [" ".join(rng.choices([*words, "ab", "éa", "あア"], k=40)) for _ in range(60)]
    trained = hftok.rustbpe.Tokenizer()
    trained.train_from_iterator(texts, vocab_size=256 + 200, pattern=pattern)
    ranks = {bytes(token): rank for token, rank in trained.get_mergeable_ranks()}
    if not made_by_merges:
        ranks["们为子和你地".encode()] = 500
    ours, theirs = both(name="x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|end|>": 600})
    checked = ["".join(rng.choice(rng.choice(KINDS)) for _ in range(rng.randrange(40))) for _ in range(300)]
    others = [*words, *HAN, "，", " a", "们为子和你地"]
    checked += ["".join(rng.choices(others, k=rng.randrange(12))) for _ in range(300)]
    checked.append("".join(rng.choices([*words, "，", "。", " the one "], k=9000)))
    expected = [theirs.encode_ordinary(each) for each in checked]
    for seen in (False, True):
        assert ours._cuts_pieces is (seen and made_by_merges)
        assert [ours.encode_ordinary(each) for each in checked] == expected
        assert ours.encode_ordinary_batch(checked) == expected
        for each in checked[:200]:
            stable, completions = theirs.encode_with_unstable(each, disallowed_special=())
            assert ours.encode_with_unstable(each, disallowed_special=()) == (stable, sorted(completions))
            twice = each + "<|end|>" + each
            assert ours.encode(twice, allowed_special="all") == theirs.encode(twice, allowed_special="all")
        ours.encode_ordinary(HAN * 15_000)


@pytest.mark.parametrize("pattern", [openai_public.R50K, openai_public.CL100K, openai_public.O200K])
def test_every_character(pattern):
    """The usual patterns are matched by hand: each character is of the class that tiktoken's Unicode tables say."""
    ranks = BYTES | {bytes([a, b]): 256 + 256 * a + b for a in range(256) for b in range(256)}
    ours, theirs = both(name="pairs", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    # All but most of the ideographs, syllables, private and unassigned ones, whose blocks are of one kind.
    blocks = (0, 0x4E10), (0x9FF0, 0xAC10), (0xD7A0, 0xD800), (0xF8F0, 0x17010), (0x18CF0, 0x20010), (0xE0000, 0xE01F0)
    points = [point for first, last in blocks for point in range(first, last)]
    for start in range(0, len(points), 40_000):
        text = "".join(f"a{c} {c}b1{c}'s{c}\n" for c in map(chr, points[start : start + 40_000]))
        mine, their = ours.encode_to_numpy(text), theirs.encode_to_numpy(text)
        assert np.array_equal(mine, their), hex(start)


BYTES = {bytes([b]): b for b in range(256)}
SMALL = both(
    name="small",
    pat_str=openai_public.CL100K,
    mergeable_ranks=random_ranks(random.Random(5), count=80),
    special_tokens={"<|endoftext|>": 3000, "<|end": 3001, "oftext|>": 3002, "<|endoftext|>x": 3003},
)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters() | st.sampled_from("ab é\n"), max_size=40))
def test_any_text(text):
    ours, theirs = SMALL
    assert outcome(ours.encode_ordinary, text) == outcome(theirs.encode_ordinary, text)
    assert outcome(ours.encode, text) == outcome(theirs.encode, text)
    assert outcome(ours.encode_batch, [text, "a"]) == outcome(theirs.encode_batch, [text, "a"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["<|endoftext|>", "<|end", "oftext|>", "x", "a", "<", "|>", "<|endoftext|>x"])))
def test_overlapping_special_tokens(parts):
    """Which special token is taken where several begin: the order of tiktoken's hash table."""
    ours, theirs = SMALL
    text = "".join(parts)
    for allowed in ("all", {"<|end"}, {"<|endoftext|>", "oftext|>"}):
        mine = ours.encode(text, allowed_special=allowed, disallowed_special=())
        assert mine == theirs.encode(text, allowed_special=allowed, disallowed_special=())


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=20))
def test_any_bytes(data):
    ours, theirs = SMALL
    assert ours._encode_bytes(data) == theirs._encode_bytes(data)
    assert ours._encode_single_piece(data or b"a") == theirs._encode_single_piece(data or b"a")
    assert outcome(ours.encode_single_token, data) == outcome(theirs.encode_single_token, data)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-1, 300) | st.sampled_from([3000, 3003, 5000, 2**32, 2**70, -(2**70)]), max_size=8))
def test_any_tokens(tokens):
    ours, theirs = SMALL
    for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        assert outcome(getattr(ours, name), tokens) == outcome(getattr(theirs, name), tokens), name
    for errors in ("ignore", "strict", "backslashreplace"):
        mine, their = outcome(ours.decode, tokens, errors), outcome(theirs.decode, tokens, errors)
        assert mine == their
    for token in tokens:
        mine, their = outcome(ours.decode_single_token_bytes, token), outcome(theirs.decode_single_token_bytes, token)
        assert mine == their
        assert ours.is_special_token(token) == theirs.is_special_token(token)


def test_surrogates():
    ours, theirs = SMALL
    for points in ([0xD800], [97, 0xDFFF, 98], [0xD83D, 0xDE00], [0xDE00, 0xD83D], [233, 0xD800, 98]):
        lone = "".join(map(chr, points)) + "oftext|>"
        for name in ("encode_ordinary", "encode", "encode_to_numpy", "encode_with_unstable", "encode_single_token"):
            assert outcome(getattr(ours, name), lone) == outcome(getattr(theirs, name), lone), name
        for kwargs in ({"allowed_special": "all"}, {"disallowed_special": ()}):
            assert outcome(ours.encode, lone, **kwargs) == outcome(theirs.encode, lone, **kwargs)
        for name in ("encode_batch", "encode_ordinary_batch"):
            assert outcome(getattr(ours, name), ["x", lone]) == outcome(getattr(theirs, name), ["x", lone]), name


WRONG = [None, 1, b"a", ["a"], 1.5, object()]


@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_wrong_arguments(value):
    ours, theirs = SMALL
    for name in ("encode_ordinary", "encode", "encode_to_numpy", "encode_with_unstable", "decode_single_token_bytes"):
        assert outcome(getattr(ours, name), value)[0] == outcome(getattr(theirs, name), value)[0], name
    names = "encode_batch", "encode_ordinary_batch", "decode", "decode_bytes", "decode_batch", "encode_single_token"
    for name in names:
        mine, their = outcome(getattr(ours, name), value), outcome(getattr(theirs, name), value)
        assert mine == their or mine[0] == their[0], name
    assert outcome(ours.encode, "a", allowed_special=value)[0] == outcome(theirs.encode, "a", allowed_special=value)[0]


def test_errors_of_the_constructor():
    for parts in (
        {"pat_str": "(", "mergeable_ranks": BYTES, "special_tokens": {}},
        {"pat_str": 1, "mergeable_ranks": BYTES, "special_tokens": {}},
        {"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {}, "explicit_n_vocab": 3},
        {"pat_str": ".", "mergeable_ranks": {}, "special_tokens": {}},
        {"pat_str": ".", "mergeable_ranks": {b"a": -1}, "special_tokens": {}},
        {"pat_str": ".", "mergeable_ranks": {b"a": 2**32}, "special_tokens": {}},
        {"pat_str": ".", "mergeable_ranks": {"a": 1}, "special_tokens": {}},
        {"pat_str": ".", "mergeable_ranks": {b"a": "1"}, "special_tokens": {}},
        {"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {b"a": 300}},
        {"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {"a": 300.0}},
        {"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {"a": float("nan")}},
        {"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {"a": -1}},
        {"pat_str": ".", "mergeable_ranks": BYTES, "special_tokens": {"a": 2**32}},
    ):
        mine, their = (outcome(lib.Encoding, "x", **parts) for lib in (tiktoken, reference))
        assert mine[0] == their[0], parts


def test_missing_bytes():
    """What panics in tiktoken is a ValueError here (docs/differences.md)."""
    parts = {"name": "x", "pat_str": ".", "mergeable_ranks": {b"a": 0, b"b": 1}, "special_tokens": {}}
    ours, theirs = both(**parts)
    assert ours.encode("abba") == theirs.encode("abba")
    assert outcome(theirs.encode, "c") == ("panic",)
    with pytest.raises(ValueError, match="a byte that is no token"):
        ours.encode("c")


# ---- names, files, models


def test_names():
    assert tiktoken.list_encoding_names() == reference.list_encoding_names()
    assert tiktoken.__all__ == sorted(n for n in dir(reference) if n in tiktoken.__all__)
    public = {n for n in dir(reference.Encoding) if not n.startswith("_")}
    assert public <= set(dir(tiktoken.Encoding))
    assert model.MODEL_TO_ENCODING == reference.model.MODEL_TO_ENCODING
    assert model.MODEL_PREFIX_TO_ENCODING == reference.model.MODEL_PREFIX_TO_ENCODING
    for name in ("gpt-4", "gpt-4o-2024", "ft:gpt-4o:x", "gpt-oss-20b", "o1-mini", "nothing", "gpt-3.5-turbo-0301"):
        mine, their = (outcome(m.encoding_name_for_model, name) for m in (model, reference.model))
        assert mine == their
    assert outcome(tiktoken.get_encoding, "nothing")[0] == outcome(reference.get_encoding, "nothing")[0]
    assert outcome(tiktoken.get_encoding, 5) == outcome(reference.get_encoding, 5)


@pytest.mark.parametrize("name", tiktoken.list_encoding_names())
def test_constructors(name, monkeypatch):
    """Addresses, hashes, patterns and special tokens of OpenAI's encodings: what would be read and made."""

    def noted(*args, **kwargs):
        return {"read": (args, tuple(kwargs.items()))}

    for module in (openai_public, tiktoken_ext.openai_public):
        monkeypatch.setattr(module, "load_tiktoken_bpe", noted)
        monkeypatch.setattr(module, "data_gym_to_mergeable_bpe_ranks", noted)
    mine = openai_public.ENCODING_CONSTRUCTORS[name]()
    their = tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]()
    assert mine == their
    assert list(mine["special_tokens"]) == list(their["special_tokens"])


def test_rank_files(tmp_path, monkeypatch):
    ranks = random_ranks(random.Random(1))
    path = str(tmp_path / "ranks.tiktoken")
    load.dump_tiktoken_bpe(ranks, path)
    mine = (tmp_path / "ranks.tiktoken").read_bytes()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert load.load_tiktoken_bpe(path) == reference.load.load_tiktoken_bpe(path) == ranks
    (tmp_path / "bad").write_bytes(mine + b"broken\n")
    bad = str(tmp_path / "bad")
    assert outcome(load.load_tiktoken_bpe, bad) == outcome(reference.load.load_tiktoken_bpe, bad)
    digest = load.hashlib.sha256(mine).hexdigest()
    assert load.load_tiktoken_bpe(path, digest) == ranks


def test_cache_folder(tmp_path, monkeypatch):
    """What tiktoken has downloaded is found, and what this package keeps is found by tiktoken."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    path = str(tmp_path / "data")
    (tmp_path / "data").write_bytes(b"YQ== 0\n")
    assert reference.load.read_file_cached(path) == b"YQ== 0\n"
    (tmp_path / "data").unlink()
    assert load.read_file_cached(path) == b"YQ== 0\n"
    (tmp_path / "other").write_bytes(b"YQ== 1\n")
    other = str(tmp_path / "other")
    assert load.load_tiktoken_bpe(other) == {b"a": 1}
    (tmp_path / "other").unlink()
    assert reference.load.load_tiktoken_bpe(other) == {b"a": 1}
    # A damaged file of the cache is read anew, and a wrong original is an error.
    (tmp_path / "other").write_bytes(b"YQ== 2\n")
    digest = load.hashlib.sha256(b"YQ== 2\n").hexdigest()
    assert load.load_tiktoken_bpe(other, digest) == {b"a": 2}
    for module in (load, reference.load):
        assert outcome(module.load_tiktoken_bpe, other, "0" * 64)[0] == "ValueError"


def test_pickle_and_copy():
    ours, theirs = SMALL
    assert ours.__getstate__() == theirs.__getstate__()
    for copied in (pickle.loads(pickle.dumps(ours)), copy.copy(ours), copy.deepcopy(ours)):
        assert copied.name == "small"
        assert copied.encode("ab<|endoftext|>", allowed_special="all") == ours.encode(
            "ab<|endoftext|>", allowed_special="all"
        )
        assert copied.special_tokens_set == theirs.special_tokens_set
        assert repr(copied) == repr(theirs)
    assert ours.eot_token == theirs.eot_token == 3000
