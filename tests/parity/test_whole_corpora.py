"""Whole corpora, beside what the reference said of them once (benchmarks/reference_digests.json).

Every real tokenizer reads the smallest corpus; each of the large ones is read by two of different kinds.
`python -m benchmarks matrix` has all of them, with tiers and threads. The corpus of code is gathered from the machine
that the tests run on, so nothing recorded holds for it: the reference is asked of some of its documents here and now.
"""

import os
import pathlib
import sys
from importlib import import_module

import numpy as np
import pytest
import tokenizers


def program():
    """benchmarks/matrix.py, which is no part of the package."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
    try:
        return import_module("benchmarks.matrix")
    finally:
        sys.path.pop(0)


matrix = program()
CODE_CHARACTERS = 2_000_000  # that the reference reads of the corpus of code
DATA = pathlib.Path(os.environ.get("HFTOK_TEST_DATA", "no-such-folder"))
LARGE = [
    ("bert-base-uncased", "multilingual"),
    ("qwen3", "multilingual"),
    ("llama3.1", "chinese"),
    ("gemma3", "chinese"),
    ("gpt2", "english"),
    ("xlm-roberta-base", "english"),
]
CELLS = sorted({tuple(cell.split()) for cell in matrix.recorded() if cell.endswith(" sentences")} | set(LARGE))


@pytest.mark.parametrize(("name", "corpus"), CELLS)
def test_ids_are_the_references(name, corpus):
    path = DATA / "tokenizers" / name / "tokenizer.json"
    text = DATA / "corpora" / f"{corpus}.txt"
    if not path.is_file() or not text.is_file():
        pytest.skip(f"{name} or {corpus} is not here (HFTOK_TEST_DATA)")
    cell = matrix.recorded()[f"{name} {corpus}"]
    data = text.read_bytes()
    assert matrix.key_of(path.read_bytes()) == cell["tokenizer"], "the reference was asked for another tokenizer"
    assert matrix.key_of(data) == cell["corpus"], "the reference was asked for another corpus"
    found = matrix.document_digests(str(path), data)
    assert len(found) == cell["documents"]
    assert matrix.cell_digest(found) == cell["digest"], "python -m benchmarks matrix --digests FOLDER says where"


@pytest.mark.parametrize("name", ["bert-base-uncased", "deepseek-v3", "gpt2", "llama2"])
def test_ids_of_this_machines_code_are_the_references(name):
    path = DATA / "tokenizers" / name / "tokenizer.json"
    text = DATA / "corpora" / "code.txt"
    if not path.is_file() or not text.is_file():
        pytest.skip(f"{name} or the corpus of code is not here (HFTOK_TEST_DATA)")
    data = text.read_bytes()
    documents = matrix.documents_of(data)
    every = max(1, len(data) // CODE_CHARACTERS)
    found = matrix.document_digests(str(path), data)
    assert len(found) == len(documents)
    expected = matrix.reference_digests(tokenizers.Tokenizer.from_file(str(path)), documents[::every])
    assert np.flatnonzero(found[::every] != expected).tolist() == []
