"""The ready-made tokenizers against the reference's: what they build, encode, print, refuse, and how they train."""

from __future__ import annotations

import asyncio
import inspect
import json
import struct

import pytest
import tokenizers
from tokenizers import implementations as reference

import hftok
from hftok import implementations

NAMES = [name for name in implementations.__all__ if name != "BaseTokenizer"]
WORDS = {
    "[PAD]": 0,
    "[UNK]": 1,
    "[CLS]": 2,
    "[SEP]": 3,
    "un": 4,
    "##able": 5,
    "é": 6,
    "e": 7,
    "中": 8,
    "U": 9,
    "##n": 10,
}
LETTERS = {"<unk>": 0, "a": 1, "b": 2, "ab": 3, "▁": 4, "▁a": 5, "</w>": 6, "b</w>": 7, "ab</w>": 8, "Ġ": 9, "Ġa": 10}
MERGES = [("a", "b"), ("▁", "a"), ("a", "b</w>"), ("Ġ", "a")]
PIECES = [("<unk>", 0.0), ("▁", -2.5), ("a", -2.0), ("b", -2.25), ("▁a", -1.5)]
TEXTS = ["unable Unable", "é 中un  x", "ab a b  aab", "AB\u00a0ab", "ﬁ a\tb\nab", "", "[SEP] un<unk> a"]

SETTINGS = {
    "BertWordPieceTokenizer": [
        ((), {}),
        ((WORDS,), {}),
        ((WORDS,), {"lowercase": False, "wordpieces_prefix": "%%", "clean_text": False}),
        ((WORDS,), {"strip_accents": False, "handle_chinese_chars": False, "unk_token": "e"}),
        (({**WORDS, "<s>": 11, "</s>": 12},), {"sep_token": "</s>", "cls_token": "<s>", "pad_token": "<pad>"}),
    ],
    "ByteLevelBPETokenizer": [
        ((), {"dropout": 0.5}),
        ((LETTERS, MERGES), {}),
        ((LETTERS,), {}),
        ((LETTERS, MERGES), {"add_prefix_space": True, "lowercase": True, "trim_offsets": True}),
        ((LETTERS, MERGES), {"unicode_normalizer": "nfkc", "lowercase": True}),
        ((LETTERS, MERGES[2:3]), {"end_of_word_suffix": "</w>"}),
    ],
    "CharBPETokenizer": [
        ((), {}),
        ((LETTERS, MERGES), {}),
        ((None, MERGES), {}),
        ((LETTERS, MERGES), {"lowercase": True, "unicode_normalizer": "nfd", "split_on_whitespace_only": True}),
        ((LETTERS, MERGES), {"bert_normalizer": False, "suffix": "", "unk_token": "zz"}),
    ],
    "SentencePieceBPETokenizer": [
        ((), {}),
        ((LETTERS, MERGES), {}),
        ((LETTERS, MERGES), {"add_prefix_space": False, "replacement": "_", "fuse_unk": True}),
    ],
    "SentencePieceUnigramTokenizer": [
        ((), {}),
        ((PIECES,), {}),
        ((PIECES,), {"add_prefix_space": False, "replacement": "_"}),
    ],
}
CASES = [(name, *case) for name in NAMES for case in SETTINGS[name]]


def answer(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


def facts(tokenizer, text):
    encoding = tokenizer.encode(text, text)
    return encoding.ids, encoding.tokens, encoding.offsets, encoding.type_ids, tokenizer.decode(encoding.ids)


@pytest.mark.parametrize("name", implementations.__all__)
def test_names(name):
    assert getattr(hftok.implementations, name) is getattr(implementations, name)
    if name != "BaseTokenizer":
        assert getattr(hftok, name) is getattr(implementations, name)
    ours, theirs = (
        {key for key in vars(kind) if not key.startswith("_")}
        for kind in (getattr(implementations, name), getattr(reference, name))
    )
    assert theirs == ours


@pytest.mark.parametrize("name", implementations.__all__)
def test_arguments(name):
    """Every method takes the same arguments with the same defaults (a tuple stands for the list it never becomes)."""
    ours, theirs = getattr(implementations, name), getattr(reference, name)
    for key, value in vars(theirs).items():
        function = getattr(value, "__func__", value)
        if not inspect.isfunction(function) or (key.startswith("_") and key != "__init__"):
            continue
        mine = getattr(vars(ours)[key], "__func__", vars(ours)[key])
        assert inspect.iscoroutinefunction(mine) == inspect.iscoroutinefunction(function)
        assert [
            (p.name, p.kind, list(p.default) if isinstance(p.default, tuple) else p.default)
            for p in inspect.signature(mine).parameters.values()
        ] == [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()], key


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES)
def test_same_tokenizer(name, args, kwargs):
    ours, theirs = (getattr(library, name)(*args, **kwargs) for library in (hftok, tokenizers))
    assert ours.to_str() == theirs.to_str()
    assert repr(ours) == repr(theirs)
    for text in TEXTS:
        assert answer(lambda t=text: facts(ours, t)) == answer(lambda t=text: facts(theirs, t)), text


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (({"[UNK]": 0},), {}),
        (({"[UNK]": 0, "[SEP]": 1},), {}),
        ((WORDS,), {"cls_token": "<s>"}),
        (("no-such-file.txt",), {}),
    ],
)
def test_bert_refuses(args, kwargs):
    ours, theirs = (answer(lambda kind=k: kind.BertWordPieceTokenizer(*args, **kwargs)) for k in (hftok, tokenizers))
    assert ours == theirs


def test_added_token_loses_its_flags():
    def build(library):
        token = library.AddedToken("<unk>", lstrip=True)
        return library.SentencePieceBPETokenizer(LETTERS, MERGES, unk_token="<unk>"), library.BertWordPieceTokenizer(
            {**WORDS, "<unk>": 11}, unk_token=token
        )

    for ours, theirs in zip(build(hftok), build(tokenizers), strict=True):
        assert ours.to_str() == theirs.to_str()
        assert repr(ours) == repr(theirs)


def test_from_file(tmp_path):
    (tmp_path / "vocab.txt").write_text("".join(f"{word}\n" for word in WORDS))
    tokenizers.models.BPE(LETTERS, MERGES).save(str(tmp_path))
    vocab, merges = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    for name in NAMES[:-1]:
        files = [str(tmp_path / "vocab.txt")] if name.startswith("Bert") else [vocab, merges]
        options = {"dropout": None} if len(files) == 2 else {"lowercase": False}
        ours, theirs = (getattr(library, name).from_file(*files, **options) for library in (hftok, tokenizers))
        assert ours.to_str() == theirs.to_str()
        assert repr(ours) == repr(theirs)
    ours, theirs = (library.ByteLevelBPETokenizer(vocab, merges) for library in (hftok, tokenizers))
    assert ours.to_str() == theirs.to_str()
    assert answer(lambda: hftok.BertWordPieceTokenizer.from_file("none")) == answer(
        lambda: tokenizers.BertWordPieceTokenizer.from_file("none")
    )


def test_delegation():
    """Every method acts on the tokenizer inside."""

    def story(library, folder):
        tokenizer = library.BertWordPieceTokenizer(WORDS)
        seen = [tokenizer.num_special_tokens_to_add(True), tokenizer.get_vocab(False), tokenizer.get_vocab_size()]
        seen += [tokenizer.add_tokens(["new", "un"]), tokenizer.add_special_tokens(["<x>"])]
        seen += [tokenizer.token_to_id("<x>"), tokenizer.id_to_token(4), tokenizer.get_vocab_size(False)]
        seen += [sorted(tokenizer.get_added_tokens_decoder())]
        tokenizer.enable_truncation(8, stride=1)
        tokenizer.enable_padding(length=7, pad_id=1, pad_token="[UNK]", direction="left")
        seen += [tokenizer.truncation, tokenizer.padding, tokenizer.encode("un new <x> e e e", "e e e").ids]
        seen += [[row.ids for row in tokenizer.encode_batch(["un", ("e", "un")])]]
        seen += [[row.ids for row in tokenizer.encode_batch([["un", "x"]], is_pretokenized=True)]]
        tokenizer.no_truncation()
        tokenizer.no_padding()
        seen += [tokenizer.truncation, tokenizer.padding, tokenizer.normalize("ÉA")]
        seen += [tokenizer.decode([4, 5, 3], skip_special_tokens=False), tokenizer.decode_batch([[4, 5], [2, 7]])]
        one, two = (tokenizer.encode(text, add_special_tokens=False) for text in ("un", "e"))
        seen += [tokenizer.post_process(one, two).tokens]
        files = tokenizer.save_model(str(folder), "p")
        seen += [[file.rpartition("/")[2] for file in files], (folder / "p-vocab.txt").read_text()]
        tokenizer.save(str(folder / "t.json"))
        seen += [(folder / "t.json").read_text(), tokenizer.to_str(True)]
        for method in ("encode", "encode_batch", "decode", "decode_batch"):
            seen += [answer(lambda name=method: getattr(tokenizer, name)(None))]
        seen += [asyncio.run(asynchronous(tokenizer))]
        return seen

    async def asynchronous(tokenizer):
        rows = await tokenizer.async_encode_batch(["un", "e"])
        fast = await tokenizer.async_encode_batch_fast(["un", "e"])
        seen = [[row.ids for row in rows], [row.offsets for row in rows], [row.ids for row in fast]]
        seen += [await tokenizer.async_decode_batch([[4, 5]])]
        for method in ("async_encode_batch", "async_encode_batch_fast", "async_decode_batch"):
            try:
                await getattr(tokenizer, method)(None)
            except ValueError as error:
                seen.append(str(error))
        return seen

    import pathlib
    import tempfile

    stories = []
    for library in (hftok, tokenizers):
        with tempfile.TemporaryDirectory() as folder:
            stories.append(story(library, pathlib.Path(folder)))
    assert stories[0] == stories[1]


def test_components():
    tokenizer = hftok.CharBPETokenizer(LETTERS, MERGES)
    other = hftok.BertWordPieceTokenizer(WORDS)
    for name in ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder"):
        setattr(tokenizer, name, getattr(other, name))
        assert getattr(tokenizer, name) is not None
    assert tokenizer.encode("Unable").tokens == ["[CLS]", "un", "##able", "[SEP]"]
    assert implementations.BaseTokenizer(hftok.Tokenizer(hftok.models.BPE())).decoder is None
    with pytest.raises(AttributeError):
        implementations.BaseTokenizer(hftok.Tokenizer(hftok.models.BPE())).normalize("a")


def settings_of(trainer):
    """A trainer's JSON; the reference writes the initial alphabet, a hash set, in another order in every process."""
    state = json.loads(trainer.__getstate__())
    for settings in [state, *state.values()]:
        for part in (settings, settings.get("bpe_trainer", {})) if isinstance(settings, dict) else ():
            if "initial_alphabet" in part:
                part["initial_alphabet"].sort()
    return state


class Recorder:
    """Stands in for the tokenizer inside, to see what training is asked for."""

    def train(self, files, trainer):
        self.seen = files, settings_of(trainer)

    def train_from_iterator(self, iterator, trainer, length):
        self.seen = iterator, settings_of(trainer), length


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("settings", ["default", "given"])
def test_trainers(name, settings):
    seen = []
    for library in (hftok, tokenizers):
        tokenizer = getattr(library, name)()
        tokenizer._tokenizer = Recorder()
        options = {}
        if settings == "given":
            options = {
                "vocab_size": 77,
                "show_progress": False,
                "special_tokens": ["<a>", library.AddedToken("<b>", lstrip=True)],
            }
            if name != "SentencePieceUnigramTokenizer":
                options["min_frequency"] = 5
            if name not in ("ByteLevelBPETokenizer",):
                options["initial_alphabet"] = ["x", "yz"]
            if name == "BertWordPieceTokenizer":
                options["wordpieces_prefix"] = "@@"
            if name == "SentencePieceUnigramTokenizer":
                options["unk_token"] = "<a>"
            if name == "CharBPETokenizer":
                options["suffix"] = "$"
                options["limit_alphabet"] = 3
        for files in ("one.txt", ["one.txt", "two.txt"]):
            tokenizer.train(files, **options)
            seen.append(tokenizer._tokenizer.seen)
        tokenizer.train_from_iterator(["a b"], length=1, **options)
        seen.append(tokenizer._tokenizer.seen)
    assert seen[:3] == seen[3:]


# ---- SentencePiece model files


def message(*fields):
    """A Protocol Buffers message of (number, value): int as varint, float as fixed32, bytes and str as they are."""

    def varint(number):
        out = bytearray()
        while number > 127:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
        return bytes(out)

    out = b""
    for number, value in fields:
        if isinstance(value, float):
            out += varint(number << 3 | 5) + struct.pack("<f", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


def spm(pieces=PIECES, trainer=(), normalizer=()):
    fields = [(1, message((1, piece), (2, float(score)), (3, 1))) for piece, score in pieces]
    return message(*fields, (2, message(*trainer)), (3, message(*normalizer)))


@pytest.mark.parametrize(
    ("trainer", "unk_id", "byte_fallback"),
    [((), 0, False), (((3, 1), (40, 2), (35, 1), (4, 8000), (10, 0.9995)), 2, True)],
)
def test_from_spm(tmp_path, trainer, unk_id, byte_fallback):
    path = tmp_path / "m.model"
    path.write_bytes(spm(trainer=trainer, normalizer=((1, "nmt_nfkc"), (2, b""))))
    ours = hftok.SentencePieceUnigramTokenizer.from_spm(str(path))
    assert isinstance(ours, hftok.SentencePieceUnigramTokenizer)
    t = tokenizers
    theirs = t.Tokenizer(t.models.Unigram(PIECES, unk_id, byte_fallback))
    theirs.normalizer = t.normalizers.Sequence([t.normalizers.Replace(t.Regex(" {2,}"), " ")])
    theirs.pre_tokenizer = t.pre_tokenizers.Metaspace("▁", "always")
    theirs.decoder = t.decoders.Metaspace("▁", "always")
    assert ours.to_str() == theirs.to_str()
    assert repr(ours) == "Tokenizer(vocabulary_size=5, model=SentencePieceUnigram)"
    assert ours.encode("ab a").tokens == theirs.encode("ab a").tokens


@pytest.mark.parametrize(
    "data", [b"", b"\x0a", b"\x0a\x05ab", b"not a model at all", spm()[:-1], b"\xff" * 20, spm(pieces=[])]
)
def test_from_spm_refuses_what_is_no_model(tmp_path, data):
    path = tmp_path / "m.model"
    path.write_bytes(data)
    with pytest.raises(ValueError, match="is no SentencePiece model"):
        hftok.SentencePieceUnigramTokenizer.from_spm(str(path))


def test_from_spm_refuses_other_algorithms(tmp_path):
    path = tmp_path / "m.model"
    path.write_bytes(spm(trainer=((3, 2),)))
    with pytest.raises(Exception, match="different algorithm"):
        hftok.SentencePieceUnigramTokenizer.from_spm(str(path))
    with pytest.raises(FileNotFoundError):
        hftok.SentencePieceUnigramTokenizer.from_spm(str(tmp_path / "none"))
