"""The pages of docs/ and README.md: examples give what they show, and what they link to is there."""

from __future__ import annotations

import doctest
import importlib.util
import pathlib
import re
import shlex

import pytest

from hftok import cli

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(path):
    return str(path.relative_to(ROOT))


def test_pages_are_found():
    assert {"docs/quickstart.md", "docs/command-line.md", "README.md"} <= set(map(name_of, PAGES))


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=name_of)
def test_python_examples(page, monkeypatch):
    text = page.read_text()
    for package in ("transformers", "tokenizers", "tiktoken"):
        if re.search(rf"^>>> (import|from) {package}\b", text, re.M) and not importlib.util.find_spec(package):
            pytest.skip(f"{package} is not installed")
    monkeypatch.chdir(ROOT)
    found = doctest.testfile(str(page), module_relative=False, optionflags=FLAGS, encoding="utf-8")
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("page", [page for page in PAGES if "```console" in page.read_text()], ids=name_of)
def test_console_examples(page, monkeypatch, capsys):
    """Each `$ hftok ...` line, run in the root folder, prints what stands below it; `...` stands for anything."""
    monkeypatch.chdir(ROOT)
    for variable in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(variable, "1")  # the bench command sets them; given back at the end
    matches = doctest.OutputChecker().check_output
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.M | re.S):
        for example in block.split("$ ")[1:]:
            line, _, expected = example.partition("\n")
            program, *arguments = shlex.split(line)
            assert program == "hftok"
            assert cli.main(arguments) == 0
            printed = capsys.readouterr().out
            assert matches(expected, printed, FLAGS), f"$ {line}\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page):
    """Links within the project lead to a file, and tests that a page names are there."""
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target
    for target in re.findall(r"\btests/[\w/]+\.py\b", text):
        assert (ROOT / target).exists(), target
