"""Training: from a file to a vocabulary, counting and learning, beside every installed trainer, each in a new process.

What was learnt is compared with the trainers that must agree: `tokenizers` with hftok, rustbpe with hftok.rustbpe.
`--grid` compares many settings, threads and memory budgets instead, and measures nothing (benchmarks/train_grid.py).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

from benchmarks.corpora import DATA, default_corpora, excerpts
from benchmarks.measure import machine, print_table
from benchmarks.train_grid import run_grid
from benchmarks.trainers import ORDERS, PATTERNS, PRE_TOKENIZERS, TRAINERS


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks train", description=__doc__)
    parser.add_argument("--corpora", nargs="+", default=default_corpora(), help="names, files, or `all` for a mixture")
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--model", choices=("bpe", "wordpiece", "wordlevel", "unigram"), default="bpe")
    parser.add_argument("--pre-tokenizer", choices=PRE_TOKENIZERS, default="bytelevel")
    parser.add_argument("--vocab-size", type=int, default=32000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peers", nargs="+", choices=TRAINERS, help="only these beside hftok")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--grid", action="store_true", help="compare over pre-tokenizers, normalizers, sizes, threads")
    parser.add_argument("--kept", type=pathlib.Path, default=DATA / "trained.json", help="known answers of the grid")
    parser.add_argument("--results", type=pathlib.Path, help="file of the grid's done cells: runs with one add up")
    options = parser.parse_args(arguments)
    print(json.dumps(machine()))
    same = True
    with excerpts(options.corpora, options.megabytes) as files:
        if options.grid:
            return 0 if run_grid(files, PRE_TOKENIZERS, options.kept, options.results) else 1
        for corpus, file in files.items():
            same &= _corpus(corpus, file, options)
    return 0 if same else 1


def _train(settings: dict[str, Any]) -> dict[str, Any]:
    """One training in a new process. Raises RuntimeError with the last line of what it said."""
    root = str(pathlib.Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}
    command = [sys.executable, "-m", "benchmarks.trainers", json.dumps(settings)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _names(options: argparse.Namespace) -> list[str]:
    chosen = set(options.peers or TRAINERS) | {"hftok"}
    if "rustbpe" in chosen:
        chosen.add("hftok.rustbpe")
    names = [name for name in TRAINERS if name in chosen]
    if options.model != "bpe":
        names = [name for name in names if name in ("hftok", "tokenizers")]
    if options.pre_tokenizer not in PATTERNS:
        names = [name for name in names if "rustbpe" not in name]
    if options.pre_tokenizer != "bytelevel":
        names = [name for name in names if name != "gigatoken"]
    if options.pre_tokenizer not in ("bytelevel", "whitespace"):
        names = [name for name in names if name != "gigabpe"]
    return [name for name in names if find_spec(name.partition(".")[0])]


def _corpus(corpus: str, file: str, options: argparse.Namespace) -> bool:
    """Measure one corpus; False where what was learnt differs and must not."""
    settings = {
        "file": file,
        "model": options.model,
        "pre_tokenizer": options.pre_tokenizer,
        "normalizer": None,
        "vocab_size": options.vocab_size,
        "threads": options.threads,
    }
    best: dict[str, dict[str, Any]] = {}
    for _ in range(options.rounds):
        for name in _names(options):
            try:
                found = _train({**settings, "trainer": name})
            except RuntimeError as error:
                print(f"({name} does not train: {str(error)[:200]})")
                continue
            if name not in best or found["seconds"] < best[name]["seconds"]:
                best[name] = found
    same = True
    ours = best["hftok"]
    rows = []
    for name, figures in best.items():
        order = next((order for order in ORDERS if name in order and order[0] in best), None)
        agrees = ""
        if order and name != order[0]:
            agrees = "equal" if figures["learnt"] == best[order[0]]["learnt"] else "DIFFERENT"
            same &= agrees == "equal"
        elif name == "gigabpe":
            agrees = "equal merges" if figures.get("merges") == ours.get("merges") else "other merges"
        ratio = figures["seconds"] / ours["seconds"], figures["peak"] / ours["peak"]
        rows.append(
            [
                name,
                f"{figures['seconds']:.2f}",
                f"{figures['cpu']:.2f}",
                f"{figures['peak'] / 1e6:.0f}",
                f"{ratio[0]:.2f}x",
                f"{ratio[1]:.2f}x",
                agrees,
            ]
        )
    title = (
        f"{corpus}: {os.path.getsize(file) / 1e6:.1f} MB, {options.model}, {options.pre_tokenizer}, vocabulary "
        f"{options.vocab_size}, {options.threads} thread(s)"
    )
    header = ["", "seconds", "CPU s", "peak MB", "of hftok's time", "of its memory", "learnt"]
    print_table(title, header, rows, options.json)
    return same
