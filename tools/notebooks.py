"""Runs the notebooks of docs/notebooks and stores what their cells print.

    python tools/notebooks.py [--check] [NOTEBOOK ...]

Stored is text alone: what a cell prints, and the plain form of its last value, so that files stay small and the same
in every run; pictures appear when a reader runs the cell. tests/unit/test_docs_notebooks.py runs every notebook in this
way and fails where a cell raises or gives something else than what is stored.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
from typing import Any
from unittest import mock

import nbclient
import nbformat

import hftok

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "notebooks"
CELL_SECONDS = 120  # more than any cell takes on a busy machine

# What cells print must not depend on where they run: a terminal's width, threads, a proxy to a model hub.
ENVIRONMENT = {
    "COLUMNS": "100",
    "HF_HUB_OFFLINE": "1",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore",
    "TOKENIZERS_PARALLELISM": "true",
    "TQDM_DISABLE": "1",
}


def executed(notebook: Any) -> Any:
    """The notebook with the outputs that its cells give now, in the form in which they are stored.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raises.
        nbclient.exceptions.CellTimeoutError: a cell takes longer than CELL_SECONDS.
    """
    notebook = nbformat.from_dict(notebook)
    with tempfile.TemporaryDirectory() as scratch:
        # Jupyter keeps histories and connections in the home folder; these are for one run.
        own = {"IPYTHONDIR": scratch, "JUPYTER_RUNTIME_DIR": scratch, "TMPDIR": scratch}
        # The kernel imports the package that this process does.
        package = pathlib.Path(hftok.__file__).parent.parent
        path = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
        client = nbclient.NotebookClient(
            notebook,
            timeout=CELL_SECONDS,
            coalesce_streams=True,  # what is printed comes in pieces of any size
            kernel_name="python3",
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": scratch}},
        )
        with mock.patch.dict(os.environ, {**ENVIRONMENT, **own, "PYTHONPATH": path}):
            client.execute()
    return stored_form(notebook)


def stored_form(notebook: Any) -> Any:
    """Nothing but sources and text: no times, pictures or versions; cells numbered."""
    notebook = nbformat.from_dict(notebook)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    count = 0
    for number, cell in enumerate(notebook.cells, 1):
        cell.id, cell.metadata = f"cell-{number}", nbformat.from_dict({})
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = [kept for output in cell.outputs if (kept := _text_output(output, count))]
    return notebook


def _text_output(output: Any, count: int) -> Any:
    if output.output_type == "stream":
        return nbformat.from_dict({"output_type": "stream", "name": output.name, "text": output.text})
    if output.output_type == "execute_result":
        data = {"text/plain": output.data["text/plain"]}
        return nbformat.from_dict(
            {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": data}
        )
    return None


def written(notebook: Any) -> str:
    """The text of the file."""
    return nbformat.writes(notebook).rstrip("\n") + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("notebooks", nargs="*", type=pathlib.Path, default=sorted(FOLDER.glob("*.ipynb")))
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 where outputs differ")
    options = parser.parse_args()
    differing = 0
    for path in options.notebooks:
        before = path.read_text(encoding="utf-8")
        after = written(executed(nbformat.reads(before, as_version=4)))
        differing += before != after
        print(f"{path.name}: {'as stored' if before == after else 'other outputs'}")
        if not options.check:
            path.write_text(after, encoding="utf-8")
    return int(options.check and differing > 0)


if __name__ == "__main__":
    sys.exit(main())
