"""hftok answers by itself: with the reference's methods made to raise, and in a process where it cannot be imported."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest
import tokenizers
from grid_checks import calls, explain, group, same
from grid_setups import SETUPS, theirs
from grid_texts import grid_texts

import hftok
from hftok.testing import encoding_fields

TESTS = pathlib.Path(__file__).parent.parent
NAMES = ["bert_uncased", "bert_cased", "added_flags", "added_in_both_passes", "word_level"]
METHODS = [
    "encode",
    "encode_batch",
    "encode_batch_fast",
    "async_encode",
    "async_encode_batch",
    "async_encode_batch_fast",
    "decode",
    "decode_batch",
    "post_process",
    "train",
    "train_from_iterator",
    "from_str",
    "from_file",
    "from_buffer",
    "from_pretrained",
]
PARTS = [
    (tokenizers.models.Model, ["tokenize"]),
    (tokenizers.normalizers.Normalizer, ["normalize", "normalize_str"]),
    (tokenizers.pre_tokenizers.PreTokenizer, ["pre_tokenize", "pre_tokenize_str"]),
    (tokenizers.processors.PostProcessor, ["process"]),
    (tokenizers.decoders.Decoder, ["decode"]),
]


class UsedTheReferenceError(Exception):
    pass


def raising(*_args, **_kwargs):
    raise UsedTheReferenceError


@pytest.mark.parametrize("name", NAMES)
def test_grid_without_the_reference(name, monkeypatch):
    texts = grid_texts()
    cells = [(call, group(number * 5, texts)) for number, call in enumerate(calls()) if number % 3 == 0]
    other = theirs(name)
    expected = [call.run(other, part) for call, part in cells]
    decoded = [other.decode(other.encode(text).ids) for text in texts[:100]]
    for kind, methods in [(tokenizers.Tokenizer, METHODS), *PARTS]:
        for method in methods:
            monkeypatch.setattr(kind, method, raising)
    with pytest.raises(UsedTheReferenceError):
        other.encode("a")
    one = SETUPS[name](hftok)
    for (call, part), reference in zip(cells, expected, strict=True):
        mine = call.run(one, part)
        assert same(mine, reference), f"{call}: {explain(mine, reference, call.inputs(part))}"
    assert [one.decode(one.encode_ids(text)) for text in texts[:100]] == decoded


CHILD = """
import json, sys
sys.modules["tokenizers"] = sys.modules["transformers"] = None
sys.path.insert(0, sys.argv[1])
import hftok
from grid_setups import SETUPS
from grid_texts import grid_texts
from hftok.testing import encoding_fields
names = json.loads(sys.argv[2])
texts = list(grid_texts())
print(json.dumps([[encoding_fields(e) for e in SETUPS[name](hftok).encode_batch(texts)] for name in names]))
"""


def test_process_that_cannot_import_the_reference():
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(TESTS), json.dumps(NAMES)], env=environment, capture_output=True, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    rows = json.loads(done.stdout)
    for name, found in zip(NAMES, rows, strict=True):
        expected = [encoding_fields(e) for e in theirs(name).encode_batch(list(grid_texts()))]
        assert found == json.loads(json.dumps(expected)), name


def test_package_does_not_name_the_reference_as_a_module():
    """Imports of it are in the command line (to compare) and in the adapters (to be compared with), nowhere else."""
    allowed = {"cli", "hf"}
    root = pathlib.Path(hftok.__file__).parent
    for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyx")]):
        if path.relative_to(root).parts[0].removesuffix(".py") in allowed:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            words = line.strip().split()
            if len(words) > 1 and words[0] in ("import", "from", "cimport"):
                assert words[1].split(".")[0] != "tokenizers" or "import hftok" in line, f"{path}:{number}"
