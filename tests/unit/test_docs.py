"""The pages of docs/ and README.md: examples give what they show, and what they link to is there."""

from __future__ import annotations

import doctest
import importlib.util
import json
import pathlib
import re
import shlex

import pytest

from hftok import cli

ROOT = pathlib.Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("docs/**/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
LINKING = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name_of(path):
    return str(path.relative_to(ROOT))


def test_pages_are_found():
    assert {"docs/command-line.md", "docs/growing-prompts.md", "README.md"} <= set(map(name_of, PAGES))


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


def test_readme_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    """In a folder with nothing but the README: its tokenizer is trained, and each of its Python examples runs."""
    for package in ("transformers", "tokenizers"):
        pytest.importorskip(package)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    pathlib.Path("README.md").write_text(text, encoding="utf-8")
    (line,) = re.findall(r"^hftok (train .*)$", text, re.M)
    assert cli.main(shlex.split(line)) == 0
    # A model's name needs a network; this folder stands for it.
    model = tmp_path / "model"
    model.mkdir()
    (model / "vocab.txt").write_bytes((ROOT / "hftok" / "data" / "demo_vocab.txt").read_bytes())
    (model / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= 4
    for block in blocks:
        names = {}
        exec(compile(block.replace("bert-base-uncased", str(model)), "README.md", "exec"), names)
        for name in [name for name in names if name.startswith("test_")]:
            names[name]()


def test_architecture_names_every_module():
    """Each file and folder of the package has its place on the page, and what the page names is there."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    layout = text[text.index("## Layout") : text.index("### The core")]
    parts = [path for path in (ROOT / "hftok").iterdir() if path.name[0] not in "._" or path.name == "_core"]
    for path in parts:
        if path.suffix == ".py":
            named = re.sub(r"^loading_.*", "loading_*.py", path.name)
            assert named in layout, path.name
        elif any(path.glob("*.py*")):
            assert f"{path.name}/" in layout, path.name
    for name in re.findall(r"`([\w/]+\.(?:py|pyx|h|pxi))`", text):
        assert any((ROOT / "hftok").rglob(name.removeprefix("hftok/"))), name


def prose(page):
    """A page's text without its code, where a link is no link; of a notebook the same."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchors(page):
    """The names by which links reach the headings of a page."""
    headings = re.findall(r"^#+ +(.+)$", prose(page), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page):
    """The links within the project that lead nowhere, and the tests that a page names and that are not there."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        target, _, anchor = link.partition("#")
        if "://" in link:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            broken.append(link)
    for test, name in re.findall(r"\b(tests/[\w/]+\.py)(?:::(\w+))?", prose(page)):
        file = ROOT / test
        if not file.exists() or (
            name and not re.search(rf"^def {name}(?:_|\()", file.read_text(encoding="utf-8"), re.M)
        ):
            broken.append(f"{test}::{name}")
    return broken


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_links(page):
    assert broken_links(page) == []


def test_broken_links_are_seen(tmp_path):
    page = tmp_path / "page.md"
    links = "[a](page.md#a-page-of-two) [b](page.md#b) [c](none.md) [d](#a-page-of-two) [e](#a)"
    page.write_text(f"# A page: of two\n{links} tests/none.py tests/unit/test_docs.py::test_lin")
    assert broken_links(page) == ["page.md#b", "none.md", "#a", "tests/none.py::", "tests/unit/test_docs.py::test_lin"]


def test_every_page_can_be_reached():
    """Nothing in docs/ that no page links to."""
    linked = {
        (page.parent / link.partition("#")[0]).resolve()
        for page in LINKING
        for link in re.findall(r"\]\(([^)\s]+)\)", prose(page))
    }
    assert {page for page in LINKING if "docs" in page.relative_to(ROOT).parts} <= linked
