"""Fixtures that all tests may use: the real tokenizers and corpora, where the machine has them, and seeds.

`HFTOK_TEST_DATA` names a folder with tokenizers/NAME/tokenizer.json and corpora/NAME.txt (documents separated by a line
`<|endoftext|>`). Without it the tests marked `real` and `corpus` are skipped; all others need nothing.
"""

from __future__ import annotations

import gc
import os
import pathlib
import random
import tempfile

import pytest

# The reference panics where hftok raises; the grids provoke it, and backtraces would take longer than the tests.
os.environ["RUST_BACKTRACE"] = "0"

# Tokenizers that are loaded again come from a load cache of this run. What tests start finds it too.
_CACHE: tempfile.TemporaryDirectory[str] | None = None
if not os.environ.get("HFTOK_LOAD_CACHE"):
    _CACHE = tempfile.TemporaryDirectory(prefix="hftok-tests-")
    os.environ["HFTOK_LOAD_CACHE"] = _CACHE.name


def pytest_unconfigure() -> None:
    if _CACHE is not None:
        _CACHE.cleanup()


DATA = pathlib.Path(os.environ.get("HFTOK_TEST_DATA") or "no-such-folder")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    have = {"real": (DATA / "tokenizers").is_dir(), "corpus": (DATA / "corpora").is_dir()}
    for item in items:
        for name, present in have.items():
            if not present and item.get_closest_marker(name):
                what = "real tokenizers" if name == "real" else "corpora"
                item.add_marker(pytest.mark.skip(reason=f"HFTOK_TEST_DATA names no folder with {what}"))


@pytest.fixture(scope="session")
def real_tokenizer():
    """real_tokenizer(name): the path of its tokenizer.json; the test is skipped where it is missing."""

    def path(name: str) -> str:
        file = DATA / "tokenizers" / name / "tokenizer.json"
        if not file.is_file():
            pytest.skip(f"the real tokenizer {name} is not in HFTOK_TEST_DATA")
        return str(file)

    return path


@pytest.fixture(autouse=True, scope="module")
def _what_stays():
    """What a module leaves behind (real tokenizers, texts) is left out of later collections, which would look at all of
    it each time: some tests took forty times as long at the end of a run as by themselves."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def corpus_documents():
    """corpus_documents(name, characters): the first documents of a corpus, about so many characters of them."""

    def documents(name: str, characters: int = 100_000) -> list[str]:
        file = DATA / "corpora" / f"{name}.txt"
        if not file.is_file():
            pytest.skip(f"the corpus {name} is not in HFTOK_TEST_DATA")
        with open(file, encoding="utf-8", errors="replace") as stream:
            text = stream.read(characters)
        return text.split("\n<|endoftext|>\n")

    return documents


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """A generator that is seeded with the test's name: the same in every run, another one in every test."""
    return random.Random(request.node.nodeid)
