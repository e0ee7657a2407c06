"""The load cache: a tokenizer that is read back is the one that was loaded, and nothing that lies in the folder can
make it another one, or crash."""

from __future__ import annotations

import contextlib
import copy
import errno
import json
import os
import pathlib
import pickle
import random
import stat
import subprocess
import sys
import time

import pytest

from hftok import AddedToken, Regex, Tokenizer, decoders, load_cache, models, normalizers, pre_tokenizers, processors
from hftok._core.stored import ContentHash
from hftok.stored_fields import StoredFields

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of files are POSIX's")

TEXTS = [
    "",
    "A first text, encoded once. And a second <one>, with <mark> and  two  blanks!",
    "low lower lowest newest widest wide ÄÖÜ äöü 東京 \U0001f600 <Mixed> x<one>y",
    "aa ab ba bb abab  aabb\n\n\tcaffè " * 7,
]


def joined(vocab: dict[str, int], *lines: str) -> list[tuple[str, str]]:
    """Merges, whose tokens the vocabulary gets."""
    merges = []
    for line in lines:
        left, right = line.split(" ")
        vocab[left + right] = len(vocab)
        merges.append((left, right))
    return merges


def byte_level() -> Tokenizer:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {c: i for i, c in enumerate(alphabet)}
    merges = joined(vocab, "l o", "lo w", "e r", "e s", "es t", "Ġ low", "w i", "a b")
    tok = Tokenizer(models.BPE(vocab, merges))
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.post_processor = processors.ByteLevel(trim_offsets=True)
    tok.add_special_tokens(["<one>", AddedToken("<mark>", lstrip=True, single_word=True, special=True)])
    tok.add_tokens(["two", AddedToken("Äö", normalized=True)])
    return tok


def split_by_pattern() -> Tokenizer:
    tok = byte_level()
    tok.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\p{L}+|\s+|[^\s\p{L}]+?(?!x)"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tok


def whole_words() -> Tokenizer:
    tok = byte_level()
    tok.model.ignore_merges = True
    return tok


def unsplit() -> Tokenizer:
    vocab: dict[str, int] = {"<unk>": 0}
    for b in range(256):
        vocab[f"<0x{b:02X}>"] = len(vocab)
    for c in "▁abcdefghilnorstwäöü東京.,!<>":
        vocab[c] = len(vocab)
    merges = joined(vocab, "▁ a", "a b", "l o", "lo w", "東 京", "e s", "▁ low", "es t")
    tok = Tokenizer(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    tok.normalizer = normalizers.Replace(" ", "▁")
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tok.post_processor = processors.TemplateProcessing(single="<unk> $A", special_tokens=[("<unk>", 0)])
    tok.add_special_tokens(["<unk>", "<one>"])
    tok.enable_truncation(40, stride=3)
    tok.enable_padding(length=7, pad_token="<one>", pad_id=1)
    return tok


def unigram() -> Tokenizer:
    pieces = [
        ("<unk>", 0.0),
        ("▁", -2.5),
        ("▁low", -3.25),
        ("er", -3.1),
        ("est", -4.000001),
        ("▁a", -5.7),
        ("ab", -6.1),
    ]
    pieces += [(c, -7.0 - i / 3) for i, c in enumerate("abcdefghilnorstwäöü東京.,!")] + [("ab", -6.2)]
    tok = Tokenizer(models.Unigram(pieces, 0))
    tok.normalizer = normalizers.Lowercase()
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    tok.add_tokens(["<one>", AddedToken("<Mixed>", normalized=True, rstrip=True)])
    return tok


KINDS = {
    "byte_level": byte_level,
    "split_by_pattern": split_by_pattern,
    "whole_words": whole_words,
    "unsplit": unsplit,
    "unigram": unigram,
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own, in which files of any size are kept."""
    monkeypatch.setattr(load_cache, "LEAST_BYTES", 0)
    monkeypatch.setattr(load_cache, "_chosen", str(tmp_path / "cache"))
    monkeypatch.setattr(load_cache, "_limit", None)
    yield tmp_path / "cache"
    load_cache._writer.finish()


@pytest.fixture(params=KINDS)
def path(request, tmp_path):
    file = tmp_path / "tokenizer.json"
    KINDS[request.param]().save(str(file))
    return str(file)


def text_of(path: str) -> str:
    return pathlib.Path(path).read_text(encoding="utf-8")


def is_stored(tok: Tokenizer) -> bool:
    fields = tok._model._description().fields
    return isinstance(fields, StoredFields) and fields.stored.block is not None


def load_and_keep(path: str) -> Tokenizer:
    tok = Tokenizer.from_file(path)
    tok.encode("a")
    load_cache._writer.finish()
    return tok


@pytest.fixture(params=[1, 2], ids=["in turn", "side by side"])
def readers(request, monkeypatch):
    """Threads that read the file and its entry."""
    monkeypatch.setattr(load_cache, "_readers", lambda: request.param)


def both(path: str) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizer as it is loaded, and as it is read back."""
    direct = load_and_keep(path)
    assert not is_stored(direct)
    cached = Tokenizer.from_file(path)
    assert is_stored(cached)
    return direct, cached


def entries(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(folder.glob("*" + load_cache.SUFFIX))


def encoded(tok: Tokenizer) -> list[object]:
    found: list[object] = []
    for text in TEXTS:
        for encoding in (tok.encode(text), tok.encode(text, TEXTS[1], add_special_tokens=False)):
            found.append(
                (encoding.ids, encoding.tokens, encoding.offsets, encoding.word_ids, encoding.special_tokens_mask)
            )
            found.append([part.ids for part in encoding.overflowing])
        found.append(tok.decode(tok.encode(text).ids, skip_special_tokens=False))
    found.append([row.ids for row in tok.encode_batch([text * 50 for text in TEXTS])])
    return found


def described(tok: Tokenizer) -> list[object]:
    size = tok.get_vocab_size()
    return [
        tok.to_str(),
        tok.to_str(pretty=True),
        repr(tok),
        list(tok.get_vocab().items()),
        list(tok.get_vocab(with_added_tokens=False).items()),
        (size, tok.get_vocab_size(with_added_tokens=False)),
        [tok.id_to_token(i) for i in range(size + 3)],
        [tok.token_to_id(token) for token in ("low", "<one>", "nothing", "▁low", "two")],
        {i: repr(token) for i, token in tok.get_added_tokens_decoder().items()},
        (tok.truncation, tok.padding, tok.num_special_tokens_to_add(True)),
    ]


def assert_same(one: Tokenizer, other: Tokenizer) -> None:
    assert encoded(one) == encoded(other)
    assert described(one) == described(other)
    assert encoded(one) == encoded(other)


def test_read_back_is_what_was_loaded(folder, path, readers):
    direct, cached = both(path)
    assert encoded(direct) == encoded(cached)
    assert_same(direct, cached)
    assert len(entries(folder)) == 1


def test_nothing_is_made_that_nobody_asks_for(folder, path):
    _, cached = both(path)
    cached.encode("low lower lowest").ids  # noqa: B018
    assert cached._model._description().fields.stored.made == {}
    with pytest.raises(AttributeError):
        object.__getattribute__(cached._added, "ids")


def test_the_order_of_questions_does_not_matter(folder, path):
    for question in range(10):
        direct, cached = Tokenizer.from_file(path), Tokenizer.from_file(path)
        assert described(direct)[question] == described(cached)[question]
        assert_same(direct, cached)
        load_and_keep(path)


def test_the_file_may_go(folder, path):
    direct, cached = both(path)
    os.unlink(path)
    assert_same(direct, cached)


def _set(name, value):
    def change(tok):
        setattr(tok.model, name, value)

    return change


CHANGES = {
    "add_tokens": lambda tok: tok.add_tokens(["lowest", "two", AddedToken("b b", lstrip=True)]),
    "add_special_tokens": lambda tok: tok.add_special_tokens(["<new>", "<one>"]),
    "special_as_text": lambda tok: setattr(tok, "encode_special_tokens", True),
    "no_normalizer": lambda tok: setattr(tok, "normalizer", None),
    "lowercase": lambda tok: setattr(tok, "normalizer", normalizers.Lowercase()),
    "pre_tokenizer": lambda tok: setattr(tok, "pre_tokenizer", pre_tokenizers.WhitespaceSplit()),
    "no_post_processor": lambda tok: setattr(tok, "post_processor", None),
    "model": lambda tok: setattr(tok, "model", tok.model),
    "truncation": lambda tok: tok.enable_truncation(5),
}
MODEL_CHANGES = {
    "no_dropout": _set("dropout", 0.0),
    "dropout": _set("dropout", 1.0),
    "unk_token": _set("unk_token", "a"),
    "no_unk_token": _set("unk_token", None),
    "fuse_unk": _set("fuse_unk", False),
    "byte_fallback": _set("byte_fallback", True),
    "no_byte_fallback": _set("byte_fallback", False),
    "ignore_merges": _set("ignore_merges", True),
    "merges": _set("ignore_merges", False),
    "prefix": _set("continuing_subword_prefix", "l"),
    "suffix": _set("end_of_word_suffix", "w"),
}


@pytest.mark.parametrize("first", [True, False], ids=["changed at once", "changed after a text"])
def test_changes_act_alike(folder, path, first):
    both(path)
    kind = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["model"]["type"]
    changes = {**CHANGES, **(MODEL_CHANGES if kind == "BPE" else {"sampling": _set("nbest_size", 1)})}
    for name, change in changes.items():
        direct, cached = Tokenizer.from_str(text_of(path)), Tokenizer.from_file(path)
        assert is_stored(cached)
        for tok in (direct, cached):
            if not first:
                tok.encode(TEXTS[1])
            change(tok)
        try:
            assert_same(direct, cached)
        except Exception as error:
            raise AssertionError(name) from error


def test_two_changes_and_a_copy(folder, path):
    direct, cached = both(path)
    for tok in (direct, cached):
        tok.add_tokens(["lowest"])
        tok.encode("low")
        if isinstance(tok.model, models.BPE):
            tok.model.fuse_unk = True
            tok.model.ignore_merges = not tok.model.ignore_merges
    for made in (copy.copy, copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok)), Tokenizer):
        assert_same(made(direct), made(cached))


def test_copies_of_one_that_was_never_used(folder, path):
    both(path)
    direct = Tokenizer.from_str(text_of(path))
    for made in (copy.copy, copy.deepcopy, lambda tok: pickle.loads(pickle.dumps(tok)), Tokenizer):
        cached = Tokenizer.from_file(path)
        assert is_stored(cached)
        assert_same(direct, made(cached))


def test_model_object(folder, path, tmp_path):
    direct, cached = both(path)
    assert repr(direct.model) == repr(cached.model)
    assert pickle.dumps(direct.model) == pickle.dumps(cached.model)
    for text in ("lowest", "abab", "xyz"):
        assert [t.as_tuple() for t in direct.model.tokenize(text)] == [
            t.as_tuple() for t in cached.model.tokenize(text)
        ]
    for tok, name in ((direct, "one"), (cached, "other")):
        (tmp_path / name).mkdir()
        tok.model.save(str(tmp_path / name))
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "other" / file.name).read_bytes()


def test_training_goes_on(folder, tmp_path):
    from hftok.trainers import BpeTrainer

    file = str(tmp_path / "tokenizer.json")
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tok.train_from_iterator(TEXTS, trainer)
    tok.save(file)
    direct, cached = both(file)
    for each in (direct, cached):
        each.extend_vocabulary({"Ġnewest": 9, "Ġwidest": 7}, BpeTrainer(vocab_size=320, show_progress=False))
    assert_same(direct, cached)
    direct, cached = Tokenizer.from_str(text_of(file)), Tokenizer.from_file(file)
    for each in (direct, cached):
        each.train_from_iterator(TEXTS[2:], trainer)
    assert_same(direct, cached)


def test_all_ways_lead_through_it(folder, path, tmp_path):
    load_and_keep(path)
    assert is_stored(Tokenizer(path))
    assert is_stored(Tokenizer(str(tmp_path)))
    os.rename(path, tmp_path / "another name.json")
    assert is_stored(Tokenizer(tmp_path / "another name.json"))


def test_what_changed_before_the_first_text(folder, path):
    """An entry tells of the file, not of what became of the tokenizer."""
    direct = Tokenizer.from_str(text_of(path))
    tok = Tokenizer.from_file(path)
    tok.add_tokens(["lowest", "a"])
    tok.normalizer = None
    tok.encode_special_tokens = True
    tok.encode("a")
    load_cache._writer.finish()
    cached = Tokenizer.from_file(path)
    assert is_stored(cached)
    assert_same(direct, cached)


def test_a_changed_model_is_not_kept(folder, path):
    tok = Tokenizer.from_file(path)
    if isinstance(tok.model, models.BPE):
        tok.model.fuse_unk = not tok.model.fuse_unk
    else:
        tok.model.nbest_size = 3
    tok.encode("a")
    load_cache._writer.finish()
    assert entries(folder) == []


@pytest.mark.parametrize("model", [models.WordPiece({"a": 0, "[UNK]": 1}), models.WordLevel({"a": 0, "<unk>": 1})])
def test_models_that_are_not_kept(folder, tmp_path, model):
    file = str(tmp_path / "tokenizer.json")
    Tokenizer(model).save(file)
    for _ in range(2):
        assert load_and_keep(file).encode("a").ids == [0]
    assert entries(folder) == []


def test_small_files_are_not_kept(folder, path, monkeypatch):
    monkeypatch.setattr(load_cache, "LEAST_BYTES", os.path.getsize(path) + 1)
    load_and_keep(path)
    assert not folder.exists()


# ---- the file --------------------------------------------------------------------------------------------------------


def test_same_size_and_times_but_another_content(folder, path, readers):
    text = pathlib.Path(path).read_bytes()
    both(path)
    status = os.stat(path)
    other = text.replace(b'"es"', b'"eS"').replace(b'"<one>"', b'"<two>"')
    assert other != text
    assert len(other) == len(text)
    with open(path, "r+b") as file:
        file.write(other)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert os.stat(path).st_mtime_ns == status.st_mtime_ns
    try:
        expected = Tokenizer.from_str(other.decode())
    except Exception as error:
        with pytest.raises(type(error), match=r"."):
            Tokenizer.from_file(path)
        return
    changed = Tokenizer.from_file(path)
    assert not is_stored(changed)
    assert_same(expected, changed)


def test_a_file_that_changes_while_it_is_read(folder, path, readers, monkeypatch):
    read = load_cache.serialization.read_text

    def changing(name):
        os.utime(name)
        text = read(name)
        return text.replace(b'"<one>"', b'"<two>"')

    load_and_keep(path)
    monkeypatch.setattr(load_cache, "_parts", None)  # as if the entry were damaged
    monkeypatch.setattr(load_cache.serialization, "read_text", changing)
    assert load_and_keep(path).token_to_id("<two>") is not None
    monkeypatch.undo()
    monkeypatch.setattr(load_cache, "LEAST_BYTES", 0)
    monkeypatch.setattr(load_cache, "_chosen", str(folder))
    assert len(entries(folder)) == 2
    tok = Tokenizer.from_file(path)
    assert is_stored(tok)
    assert tok.token_to_id("<two>") is None


def test_several_contents_of_one_size(folder, tmp_path, readers):
    """Which entry is the file's is known only when the file has been hashed."""
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    KINDS["byte_level"]().save(str(one))
    other.write_bytes(one.read_bytes().replace(b'"<one>"', b'"<two>"'))
    assert one.read_bytes() != other.read_bytes()
    kept = [load_and_keep(str(path)) for path in (one, other)]
    assert not any(map(is_stored, kept))
    assert len({entry.name.split("-")[1] for entry in entries(folder)}) == 1
    for path, expected in zip((one, other), kept, strict=True):
        found = Tokenizer.from_file(str(path))
        assert is_stored(found)
        assert_same(expected, found)


def test_no_second_thread_to_read_with(folder, path, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    load_and_keep(path)
    monkeypatch.setattr(load_cache, "_readers", lambda: 2)
    monkeypatch.setattr(load_cache.threading.Thread, "start", refuse)
    assert is_stored(Tokenizer.from_file(path))


@pytest.mark.parametrize("text", [b"{", b"\xff" * 5000, b'{"model": 1}'])
def test_errors_are_those_without_a_cache(folder, readers, tmp_path, text):
    file = tmp_path / "tokenizer.json"
    file.write_bytes(text)
    messages = []
    for choice in (str(folder), False):
        load_cache.set_load_cache(choice)
        with pytest.raises(Exception) as caught:
            Tokenizer.from_file(str(file))
        messages.append((type(caught.value), str(caught.value)))
    assert messages[0] == messages[1]
    with pytest.raises(Exception, match="No such file"):
        Tokenizer.from_file(str(tmp_path / "missing.json"))


# ---- damage ----------------------------------------------------------------------------------------------------------


def read_entry(path: str) -> Tokenizer | None:
    tok = Tokenizer.from_file(path)
    return tok if is_stored(tok) else None


def test_damaged_entries_are_refused(folder, path, readers, rng):
    direct, _ = both(path)
    (entry,) = entries(folder)
    whole = entry.read_bytes()
    damaged = []
    for _ in range(60):
        at = rng.randrange(len(whole))
        damaged.append(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
    damaged += [whole[:size] for size in (0, 1, 31, 32, 63, 64, 4096, len(whole) - 32, len(whole) - 1)]
    damaged += [whole[: rng.randrange(len(whole))] for _ in range(20)]
    damaged += [whole + b"\0", whole[1:], b"\0" * len(whole), whole[::-1], b""]
    for start in range(0, len(whole), 4096):
        if any(whole[start : start + 4096]):
            damaged.append(whole[:start] + bytes(len(whole[start : start + 4096])) + whole[start + 4096 :])
    for content in rng.sample(damaged, min(len(damaged), 120)):
        entry.write_bytes(content)
        assert read_entry(path) is None
    assert_same(direct, load_and_keep(path))  # and it is written anew
    assert read_entry(path) is not None
    assert entry.read_bytes()[:16] == load_cache.MAGIC


def test_an_entry_under_another_name_or_key(folder, readers, tmp_path):
    names = []
    for kind in ("byte_level", "unigram"):
        names.append(str(tmp_path / f"{kind}.json"))
        KINDS[kind]().save(names[-1])
        both(names[-1])
    one, other = entries(folder)
    content = one.read_bytes(), other.read_bytes()
    one.write_bytes(content[1])
    other.write_bytes(content[0])
    assert [read_entry(name) for name in names] == [None, None]
    one.write_bytes(content[0])
    other.write_bytes(content[1])
    assert None not in [read_entry(name) for name in names]
    (folder / "key").write_bytes(bytes(32))
    os.chmod(folder / "key", 0o600)
    assert [read_entry(name) for name in names] == [None, None]


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 33])
def test_a_bad_key_is_drawn_anew(folder, readers, path, key):
    direct, _ = both(path)
    (folder / "key").write_bytes(key)
    assert_same(direct, load_and_keep(path))
    assert read_entry(path) is not None
    assert len((folder / "key").read_bytes()) == 32


FORGE = """
import contextlib, os, random, sys
import hftok
from hftok import load_cache
from hftok._core.stored import ContentHash
import orjson
load_cache.LEAST_BYTES = 0
path, folder, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
hftok.set_load_cache(folder)
rng = random.Random(seed)
key = open(os.path.join(folder, "key"), "rb").read()
(name,) = [name for name in os.listdir(folder) if name.endswith(load_cache.SUFFIX)]
entry = os.path.join(folder, name)
whole = open(entry, "rb").read()
size = int.from_bytes(whole[16:24], "little")
sections = orjson.loads(whole[32 : 32 + size])["sections"]
texts = ["low lower lowest <one> <mark>  two aabb \\u6771\\u4eac \\u00c4\\u00f6\\u00dc", "ab" * 300, "x<Mixed>\\n" * 40]
taken = refused = 0
names = [name for name, (_, n) in sections.items() if n]
for turn in range(int(sys.argv[4])):
    changed = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2, 5))):
        start, n = sections[rng.choice(names)]
        width = rng.choice((1, 2, 4, 8))
        at = start + rng.randrange(max(n // width, 1)) * width
        value = rng.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, rng.getrandbits(64), rng.getrandbits(9)))
        if rng.random() < 0.3:
            value = int.from_bytes(changed[at : at + width], "little") + rng.choice((-1, 1, 2, 256))
        changed[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    if rng.random() < 0.1:
        for at in range(32, 32 + size):
            if rng.random() < 0.005:
                changed[at] = rng.randrange(256)
    hash_ = ContentHash(key)
    hash_.update(bytes(changed[:-32]))
    changed[-32:] = hash_.digest()
    with open(entry, "wb") as file:
        file.write(changed)
    os.chmod(entry, 0o600)
    tok = hftok.Tokenizer.from_file(path)
    fields = tok._model._description().fields
    if type(fields) is dict or fields.stored.block is None:
        refused += 1
        continue
    taken += 1
    for text in texts:
        with contextlib.suppress(Exception):
            encoding = tok.encode(text)
            encoding.ids, encoding.offsets, encoding.tokens
        with contextlib.suppress(Exception):
            tok.encode_batch_ids([text * 30] * 3)
    for ask in (tok.get_vocab, tok.to_str, lambda: tok.decode(list(range(300))), lambda: tok.add_tokens(["lowest"])):
        with contextlib.suppress(Exception):
            ask()
    with contextlib.suppress(Exception):
        tok.encode(texts[0]).ids
print(taken, refused)
"""


@pytest.mark.parametrize(
    ("kind", "turns"), [("byte_level", "200"), ("whole_words", "200"), ("unsplit", "200"), ("unigram", "40")]
)
def test_forged_entries_never_crash(folder, tmp_path, kind, turns):
    """Bytes in every section are changed and the digest is made anew, as one could who has the key: the entry is
    refused, or what it says is used within its bounds."""
    file = str(tmp_path / "tokenizer.json")
    KINDS[kind]().save(file)
    both(file)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", FORGE, file, str(folder), "7", turns],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    taken, refused = map(int, done.stdout.split())
    assert taken > 0
    assert refused > 3


# ---- the writer ------------------------------------------------------------------------------------------------------


@pytest.fixture
def no_haste(monkeypatch):
    """The writer waits until it is asked to finish, or the process ends."""
    load_cache._writer.finish()
    monkeypatch.setattr(load_cache, "DELAY", 1e6)


def test_a_first_text_does_not_wait_for_the_writer(folder, path, no_haste):
    tok = Tokenizer.from_file(path)
    tok.encode("a")
    assert entries(folder) == []
    writing = load_cache._writer.thread
    assert writing is not None
    assert writing.daemon
    load_cache._writer.finish()
    assert len(entries(folder)) == 1
    assert load_cache._writer.thread is None
    assert not writing.is_alive()
    assert is_stored(Tokenizer.from_file(path))


def test_several_are_written_by_one_thread(folder, tmp_path, no_haste):
    for name, make in KINDS.items():
        make().save(str(tmp_path / f"{name}.json"))
        Tokenizer.from_file(str(tmp_path / f"{name}.json")).encode("a")
    assert len(load_cache._writer.jobs) == len(KINDS)
    load_cache._writer.finish()
    assert len(entries(folder)) == len(KINDS)
    assert load_cache._writer.jobs == []


def test_without_haste_it_is_written_all_the_same(folder, path, monkeypatch):
    monkeypatch.setattr(load_cache, "DELAY", 0.01)
    Tokenizer.from_file(path).encode("a")
    for _ in range(1000):
        if entries(folder):
            break
        time.sleep(0.01)
    assert is_stored(Tokenizer.from_file(path))


def test_no_longer_wanted(folder, path, no_haste):
    Tokenizer.from_file(path).encode("a")
    load_cache.set_load_cache(False)
    load_cache._writer.finish()
    load_cache.set_load_cache(str(folder))
    assert entries(folder) == []


def test_where_there_are_no_threads(folder, path, no_haste, monkeypatch):
    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(load_cache.threading.Thread, "start", refuse)
    Tokenizer.from_file(path).encode("a")
    monkeypatch.undo()
    assert len(entries(folder)) == 1


def test_a_failing_job_does_not_stop_the_others(folder, path, no_haste):
    def fail():
        raise OSError("no")

    load_cache._writer.put(fail)
    Tokenizer.from_file(path).encode("a")
    load_cache._writer.finish()
    assert len(entries(folder)) == 1


def test_changes_while_it_waits_do_not_show(folder, path, no_haste):
    """What is written is the tokenizer of the file, though it is another one by then."""
    direct = Tokenizer.from_str(text_of(path))
    tok = Tokenizer.from_file(path)
    tok.encode("a")
    tok.add_tokens(["lowest", "a"])
    tok.normalizer = None
    if isinstance(tok.model, models.BPE):
        tok.model.ignore_merges = not tok.model.ignore_merges
        tok.model = models.BPE()
    tok.encode("lowest")
    del tok
    load_cache._writer.finish()
    cached = Tokenizer.from_file(path)
    assert is_stored(cached)
    assert_same(direct, cached)


ENDS = """
import os, sys, threading
import hftok
from hftok import load_cache
load_cache.LEAST_BYTES = 0
load_cache.DELAY = 1e6
hftok.set_load_cache(sys.argv[2])
hftok.Tokenizer.from_file(sys.argv[1]).encode("low")
"""


@pytest.fixture
def one(tmp_path):
    """The path of one tokenizer: processes of their own take time."""
    file = tmp_path / "tokenizer.json"
    byte_level().save(str(file))
    return str(file)


def run_and_end(path: str, folder: pathlib.Path, ending: str) -> tuple[int, float]:
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-c", ENDS + ending, path, str(folder)], capture_output=True, timeout=300)
    assert b"Error" not in done.stderr
    return done.returncode, time.monotonic() - begin


def test_a_process_that_ends_writes_first(folder, one):
    assert run_and_end(one, folder, "")[0] == 0
    assert len(entries(folder)) == 1
    assert is_stored(Tokenizer.from_file(one))


def test_a_process_that_is_cut_off_leaves_nothing(folder, one):
    assert run_and_end(one, folder, "os._exit(3)")[0] == 3
    assert [file.name for file in folder.iterdir()] == ["key"]


def test_an_end_in_the_middle_of_the_file(folder, one):
    """What was written by then has no name that is read."""
    cut = "load_cache.os.replace = lambda *_: os._exit(4)\n"
    assert run_and_end(one, folder, cut)[0] == 4
    assert entries(folder) == []
    assert len(list(folder.glob("*.tmp"))) == 1
    assert not is_stored(load_and_keep(one))
    assert is_stored(Tokenizer.from_file(one))


def test_a_process_does_not_hang_on_a_folder_that_does(folder, one):
    hang = "load_cache.EXIT_SECONDS = 0.1\nload_cache._write = lambda *_: threading.Event().wait()\n"
    code, seconds = run_and_end(one, folder, hang)
    assert code == 0
    assert seconds < 120
    assert entries(folder) == []


@posix
def test_a_forked_child_writes_nothing_of_its_parent(folder, one):
    code = """
pid = os.fork()
if not pid:
    assert load_cache._writer.thread is None and not load_cache._writer.jobs
    load_cache._writer.finish()
    assert not [name for name in os.listdir(sys.argv[2]) if name.endswith(load_cache.SUFFIX)]
    hftok.Tokenizer.from_file(sys.argv[1]).encode("low")  # it can write for itself
    load_cache._writer.finish()
    assert [name for name in os.listdir(sys.argv[2]) if name.endswith(load_cache.SUFFIX)]
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    assert run_and_end(one, folder, code)[0] == 0
    assert len(entries(folder)) == 1
    assert is_stored(Tokenizer.from_file(one))


# ---- what is proved of a vocabulary ----------------------------------------------------------------------------------


def test_the_proof_is_kept(folder, path):
    from hftok._core import seeds

    direct, cached = both(path)
    if not isinstance(direct.model, models.BPE):
        return
    one, other = direct._model._kernel(), cached._model._kernel()
    written = seeds.proof_sections(one)
    assert {name: bytes(part) for name, part in written.items()} == {
        name: bytes(part) for name, part in seeds.proof_sections(other).items()
    }
    assert "proof.tokens" in written
    assert seeds.proved_tokens(one) == seeds.proved_tokens(other)
    fresh = Tokenizer.from_str(text_of(path))._model._kernel()
    assert seeds.proof_sections(fresh) == {}
    assert seeds.proved_tokens(fresh) == seeds.proved_tokens(other)
    if direct._ready()[0].is_fast:
        text = "low lower lowest newest aabb ÄÖÜ 東京 " * 100_000  # beyond the size from which the proof is used
        assert (direct.encode_ids(text) == cached.encode_ids(text)).all()


# ---- the folder ------------------------------------------------------------------------------------------------------

LOAD = """
import sys
import hftok
from hftok import load_cache
load_cache.LEAST_BYTES = 0
hftok.set_load_cache(sys.argv[2])
for _ in range(5):
    print(hftok.Tokenizer.from_file(sys.argv[1]).encode("low lower lowest <one>").ids)
"""


def test_several_processes_at_once(folder, path):
    running = [
        subprocess.Popen([sys.executable, "-c", LOAD, path, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    lines = [line for process in running for line in process.communicate()[0].splitlines()]
    assert len(lines) == 20
    assert set(lines) == {str(Tokenizer.from_str(text_of(path)).encode("low lower lowest <one>").ids)}
    assert not list(folder.glob("*.tmp"))
    assert is_stored(load_and_keep(path)) or is_stored(load_and_keep(path))


@posix
def test_modes(folder, path):
    before = os.umask(0)
    try:
        both(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
def test_a_folder_that_others_can_write_to(folder, path, mode):
    both(path)
    os.chmod(folder, mode)
    assert not is_stored(load_and_keep(path))
    os.chmod(folder, 0o755)
    assert is_stored(load_and_keep(path))


@posix
@pytest.mark.parametrize("name", ["key", "*" + load_cache.SUFFIX])
def test_files_that_others_can_write_to_and_links(folder, readers, path, name, tmp_path):
    direct, _ = both(path)
    (file,) = folder.glob(name)
    os.chmod(file, 0o666)
    assert not is_stored(Tokenizer.from_file(path))
    (file,) = folder.glob(name)
    os.chmod(file, 0o600)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert not is_stored(Tokenizer.from_file(path))
    assert_same(direct, load_and_keep(path))


@posix
def test_another_owner(folder, path, monkeypatch):
    direct, _ = both(path)
    monkeypatch.setattr(load_cache.os, "geteuid", lambda: os.getuid() + 1)
    tok = load_and_keep(path)
    assert not is_stored(tok)
    assert_same(direct, tok)


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(folder, path):
    both(path)
    (entry,) = entries(folder)
    entry.unlink()
    os.chmod(folder, 0o500)
    try:
        assert not is_stored(load_and_keep(path))
        assert not is_stored(load_and_keep(path))
    finally:
        os.chmod(folder, 0o700)


def test_a_file_in_the_folder_s_place(folder, path):
    folder.write_text("not a folder")
    assert not is_stored(load_and_keep(path))
    assert not is_stored(load_and_keep(path))
    assert folder.read_text() == "not a folder"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_or_locked_disk(folder, path, code, monkeypatch):
    load_cache._key(str(load_cache.load_cache_folder()))

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(load_cache.os, "replace", fail)
    expected = encoded(Tokenizer.from_str(text_of(path)))
    assert encoded(load_and_keep(path)) == expected
    assert [file.name for file in folder.iterdir()] == ["key"]
    monkeypatch.setattr(load_cache.os, "open", fail)
    assert encoded(load_and_keep(path)) == expected


def test_the_least_recently_used_goes(folder, tmp_path):
    names = []
    for number in range(4):
        tok = byte_level()
        tok.add_tokens([f"token {number}"])
        names.append(str(tmp_path / f"{number}.json"))
        tok.save(names[-1])
    for name in names[:3]:
        load_and_keep(name)
    size = max(entry.stat().st_size for entry in entries(folder))
    old = time.time() - 1000
    for i, entry in enumerate(entries(folder)):
        os.utime(entry, (old + i, old + i))
    assert is_stored(Tokenizer.from_file(names[0]))  # used just now
    load_cache.set_load_cache(str(folder), limit=2 * size + 100)
    (folder / "left.tmp").write_text("by a writer that was killed")
    os.utime(folder / "left.tmp", (old - 10_000, old - 10_000))
    (folder / "other.txt").write_text("not ours")
    load_and_keep(names[3])
    assert len(entries(folder)) == 2
    assert is_stored(Tokenizer.from_file(names[0]))
    assert is_stored(Tokenizer.from_file(names[3]))
    assert not (folder / "left.tmp").exists()
    assert (folder / "other.txt").exists()
    load_cache.set_load_cache(str(folder), limit=10)
    load_and_keep(names[1])
    assert len(entries(folder)) == 2


# ---- switches --------------------------------------------------------------------------------------------------------


def test_switches(monkeypatch, tmp_path):
    monkeypatch.setattr(load_cache, "_chosen", None)
    monkeypatch.setattr(load_cache, "_limit", None)
    for value in ("0", "off", "False", " no "):
        monkeypatch.setenv("HFTOK_LOAD_CACHE", value)
        assert load_cache.load_cache_folder() is None
    monkeypatch.setenv("HFTOK_LOAD_CACHE", str(tmp_path))
    assert load_cache.load_cache_folder() == str(tmp_path)
    monkeypatch.setenv("HFTOK_LOAD_CACHE_BYTES", "123")
    assert load_cache._limit_bytes() == 123
    if sys.platform not in ("win32", "darwin"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        for value in ("", "1", "on"):
            monkeypatch.setenv("HFTOK_LOAD_CACHE", value)
            assert load_cache.load_cache_folder() == str(tmp_path / "xdg" / "hftok")
        monkeypatch.setenv("XDG_CACHE_HOME", "relative")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert load_cache.load_cache_folder() == str(tmp_path / "home" / ".cache" / "hftok")
    load_cache.set_load_cache(False, limit=7)
    assert load_cache.load_cache_folder() is None
    assert load_cache._limit_bytes() == 7
    load_cache.set_load_cache(tmp_path)
    assert load_cache.load_cache_folder() == str(tmp_path)


@pytest.mark.parametrize("arguments", [(1,), (None,), ("",), (b"x",), (True, -1), (True, "1"), (True, True)])
def test_wrong_switches(arguments, monkeypatch):
    monkeypatch.setattr(load_cache, "_chosen", None)
    with pytest.raises((TypeError, ValueError)):
        load_cache.set_load_cache(*arguments)
    assert load_cache._chosen is None


def test_off_means_off(folder, path):
    load_cache.set_load_cache(False)
    load_and_keep(path)
    assert not is_stored(load_and_keep(path))
    assert not folder.exists()


# ---- the hash --------------------------------------------------------------------------------------------------------


def test_content_hash(rng):
    key = rng.randbytes(32)
    data = rng.randbytes(3 * 4096 + 77)

    def digest(*parts, key=key):
        hash_ = ContentHash(key)
        for part in parts:
            hash_.update(part)
        return hash_.digest()

    whole = digest(data)
    assert digest(data[:4096], data[4096:12288], data[12288:]) == whole
    assert digest(bytearray(data)) == digest(memoryview(data)) == whole
    different = {whole, digest(data, key=bytes(32)), digest(data + b"\0"), digest(data[:-1]), digest(), digest(b"\0")}
    assert len(different) == 6
    for at in rng.sample(range(len(data)), 200):
        different.add(digest(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]))
    assert len(different) == 206
    with pytest.raises(ValueError, match="32 bytes"):
        ContentHash(b"short")
    with pytest.raises(ValueError, match="last part"):
        digest(b"abc", b"def")


def test_universal_hash_is_nh():
    """The blocks' hashes follow the definition: sums of products of words, each with a word of the key added."""
    import hashlib

    key, data = bytes(range(32)), bytes(random.Random(1).randbytes(4096))
    long_key = hashlib.shake_128(b"hftok blocks" + key).digest(8 * 514)
    k = [int.from_bytes(long_key[8 * i : 8 * i + 8], sys.byteorder) for i in range(514)]
    m = [int.from_bytes(data[8 * i : 8 * i + 8], sys.byteorder) for i in range(512)]
    sums = []
    for shift in (0, 2):
        total = sum(((m[i] + k[i + shift]) % 2**64) * ((m[i + 1] + k[i + 1 + shift]) % 2**64) for i in range(0, 512, 2))
        sums.append(total % 2**128)
    blocks = b"".join((s % 2**64).to_bytes(8, sys.byteorder) + (s >> 64).to_bytes(8, sys.byteorder) for s in sums)
    expected = hashlib.blake2b(blocks + (4096).to_bytes(8, "little"), digest_size=32, key=key).digest()
    hash_ = ContentHash(key)
    hash_.update(data)
    assert hash_.digest() == expected


def test_forked_and_threaded_use(folder, path):
    from concurrent.futures import ThreadPoolExecutor

    direct, _ = both(path)
    expected = described(direct)
    for _ in range(5):
        cached = Tokenizer.from_file(path)
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(described, [cached] * 4):
                assert found == expected


def test_a_model_of_the_cache_outlives_its_tokenizer(folder, path):
    _, cached = both(path)
    model = cached.model
    before = model.tokenize("lowest")
    del cached
    with contextlib.suppress(MemoryError):
        bytearray(1 << 20)
    assert [t.as_tuple() for t in model.tokenize("lowest")] == [t.as_tuple() for t in before]
