"""Where a tokenizer comes from: each source gives the same one, and what is written out gives it again."""

from __future__ import annotations

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import tokenizers
from grid_texts import grid_texts

import hftok
from hftok.testing import assert_parity

VOCAB = pathlib.Path(hftok.__file__).parent / "data" / "demo_vocab.txt"
TEXTS = [*grid_texts()[::7], "[CLS] x [MASK]", "[mask]"]


@pytest.fixture(scope="module")
def reference():
    """A BERT tokenizer as the reference builds and writes it."""
    vocab = {line: i for i, line in enumerate(VOCAB.read_text(encoding="utf-8").splitlines())}
    tokenizer = tokenizers.BertWordPieceTokenizer(vocab)._tokenizer
    tokenizer.enable_truncation(40, stride=3)
    tokenizer.enable_padding(pad_to_multiple_of=4, pad_id=vocab["[PAD]"])
    tokenizer.add_tokens(["naïve café", tokenizers.AddedToken("<extra>", lstrip=True)])
    return tokenizer


@pytest.fixture(scope="module")
def text(reference):
    return reference.to_str()


@pytest.fixture
def file(text, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_paths_text_and_bytes(reference, text, file):
    sources = [str(file), file, text, "\n " + text, text.encode(), str(file.parent), file.parent]
    for source in sources:
        tokenizer = hftok.Tokenizer(source)
        assert tokenizer.to_str() == text, type(source)
    assert_parity(tokenizer, reference, TEXTS)


def test_named_constructors(text, file):
    assert hftok.Tokenizer.from_file(str(file)).to_str() == text
    assert hftok.Tokenizer.from_str(text).to_str() == text
    assert hftok.Tokenizer.from_buffer(text.encode()).to_str() == text


def test_live_objects(reference, text):
    tokenizer = hftok.Tokenizer(reference)
    assert tokenizer.to_str() == text
    tokenizer.add_tokens(["<ours>"])
    assert reference.token_to_id("<ours>") is None  # a copy
    assert hftok.Tokenizer(hftok.Tokenizer(text)).to_str() == text
    wrapped = tokenizers.BertWordPieceTokenizer({"[UNK]": 0, "[SEP]": 1, "[CLS]": 2, "a": 3})
    assert hftok.Tokenizer(wrapped).to_str() == wrapped.to_str()


def test_live_transformers_object(text, file):
    transformers = pytest.importorskip("transformers")
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(file), pad_token="[PAD]")
    assert hftok.Tokenizer(theirs).to_str() == theirs.backend_tokenizer.to_str()
    assert hftok.Tokenizer(hftok.Tokenizer(text).as_hf(pad_token="[PAD]")).encode("a b").ids


def test_vocab_txt_is_what_transformers_makes_of_it(tmp_path):
    transformers = pytest.importorskip("transformers")
    for options in (
        {"do_lower_case": True},
        {"do_lower_case": False, "tokenize_chinese_chars": False},
        {"do_lower_case": True, "strip_accents": False},
    ):
        folder = tmp_path / "-".join(map(str, options.values()))
        folder.mkdir()
        shutil.copy(VOCAB, folder / "vocab.txt")
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer", **options}))
        theirs = transformers.BertTokenizer.from_pretrained(folder).backend_tokenizer
        ours = [
            hftok.Tokenizer(folder),
            hftok.Tokenizer.from_vocab(
                folder / "vocab.txt",
                lowercase=options["do_lower_case"],
                strip_accents=options.get("strip_accents"),
                handle_chinese_chars=options.get("tokenize_chinese_chars", True),
            ),
        ]
        for tokenizer in ours:
            assert_parity(tokenizer, theirs, TEXTS)


def test_hub_id(text, tmp_path):
    """From the Hub's cache folder, without network."""
    pytest.importorskip("huggingface_hub")
    repository = tmp_path / "hub" / "models--some-one--some-model"
    snapshot = repository / "snapshots" / ("a" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("a" * 40)
    (snapshot / "tokenizer.json").write_text(text, encoding="utf-8")
    program = (
        "import sys, hftok, huggingface_hub\n"
        "one = hftok.Tokenizer('some-one/some-model').to_str()\n"
        "other = hftok.Tokenizer.from_pretrained('some-one/some-model').to_str()\n"
        "assert one == other\n"
        "sys.stdout.buffer.write(one.encode())\n"
        "try:\n"
        "    hftok.Tokenizer('some-one/not-there')\n"
        "except huggingface_hub.errors.LocalEntryNotFoundError as error:\n"
        "    assert 'no file or folder here' in error.__notes__[0]\n"
        "else:\n"
        "    raise AssertionError\n"
    )
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environment.pop("HF_HUB_CACHE", None)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == text


def test_what_is_written_is_read_by_the_reference(text, tmp_path):
    tokenizer = hftok.Tokenizer(text)
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.add_tokens([hftok.AddedToken("word", single_word=True, rstrip=True)])
    tokenizer.normalizer = hftok.normalizers.Sequence([hftok.normalizers.NFKC(), hftok.normalizers.Lowercase()])
    for pretty in (True, False):
        path = tmp_path / f"{pretty}.json"
        tokenizer.save(str(path), pretty=pretty)
        theirs = tokenizers.Tokenizer.from_file(str(path))
        assert theirs.to_str() == tokenizer.to_str()
        assert theirs.to_str(pretty=True) == tokenizer.to_str(pretty=True)
        assert_parity(tokenizer, theirs, [*TEXTS, "a word, words <s>"])


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("no-such-folder/tokenizer.json", FileNotFoundError),
        ("./no-such-folder", FileNotFoundError),
        ("", FileNotFoundError),
        (None, TypeError),
        (3, TypeError),
        (io.StringIO("{}"), TypeError),
        (["tokenizer.json"], TypeError),
        ("{", Exception),
        (b"\xff\xfe", Exception),
    ],
)
def test_no_source(source, error):
    with pytest.raises(error) as caught:
        hftok.Tokenizer(source)
    assert str(caught.value)


def test_an_empty_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no tokenizer\.json, no vocab\.txt"):
        hftok.Tokenizer(tmp_path)


def test_what_cannot_be_reproduced_is_refused():
    """A component of Python code in the reference has no written form; it is named, not left out."""

    class Custom:
        def pre_tokenize(self, pretok):
            pretok.split(lambda i, s: [s])

    theirs = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0}))
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Custom())
    with pytest.raises(Exception, match=r"[Cc]ustom|serial|pre.tokenizer"):
        hftok.Tokenizer(theirs)
