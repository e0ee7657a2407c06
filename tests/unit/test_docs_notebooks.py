"""The notebooks of docs/notebooks: every cell runs, and gives what is stored below it."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import re
import sys
from types import ModuleType
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
PACKAGES = ("transformers", "tokenizers", "tiktoken", "torch")


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebooks", ROOT / "tools" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def notebooks() -> ModuleType:
    return tool()


def of_cells(*sources: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def shown(notebook: Any) -> list[tuple[str, list[str]]]:
    """Each code cell with what it gives, to be compared and read where it differs."""
    return [
        (cell.source, [output.get("text") or output.data["text/plain"] for output in cell.outputs])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def test_subjects() -> None:
    assert {path.stem for path in NOTEBOOKS} >= {
        "quickstart",
        "coming-from-transformers",
        "coming-from-tokenizers",
        "coming-from-tiktoken",
        "question-answering",
        "token-classification",
        "training",
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_form(path: pathlib.Path, notebooks: ModuleType) -> None:
    """Small, the same for everybody, with something that is claimed and checked."""
    text = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    assert text == notebooks.written(notebooks.stored_form(notebook)), "store it with tools/notebooks.py"
    assert len(text) < 20_000
    assert "assert" in text
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_run(path: pathlib.Path, notebooks: ModuleType) -> None:
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    sources = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    for package in PACKAGES:
        if re.search(rf"^\s*(import|from) {package}\b", sources, re.M) and not importlib.util.find_spec(package):
            pytest.skip(f"{package} is not installed")
    assert shown(notebooks.executed(notebook)) == shown(notebook)


def test_a_cell_that_raises_is_seen(notebooks: ModuleType) -> None:
    import nbclient

    with pytest.raises(nbclient.exceptions.CellExecutionError, match="AssertionError"):
        notebooks.executed(of_cells("1 + 1", "assert 1 + 1 == 3"))


def test_what_is_printed_in_pieces_is_one(notebooks: ModuleType) -> None:
    source = "import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.3)"
    assert shown(notebooks.executed(of_cells(source)))[0][1] == ["0\n1\n2\n"]


def test_what_is_stored(notebooks: ModuleType) -> None:
    """Text, not pictures; the package that this process has."""
    import hftok

    source = (
        "import hftok, sys\nprint(sys.version_info[:2])\nprint(hftok.__file__)\nhftok.Tokenizer(hftok.models.BPE())"
    )
    result = notebooks.executed(of_cells(source))
    printed, value = shown(result)[0][1]
    assert printed == f"{sys.version_info[:2]}\n{hftok.__file__}\n"
    assert value.startswith("Tokenizer(")
    assert "text/html" not in json.dumps(result)
    assert notebooks.written(notebooks.stored_form(result)) == notebooks.written(result)
