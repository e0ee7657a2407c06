"""What hftok learns over a grid of settings, threads and memory budgets, compared with the reference; no figures.

`python -m benchmarks train --grid` runs it. A setting is a corpus, a pre-tokenizer and a normalizer. For each the
reference is trained once, at the largest size, and its answers at all sizes are kept by the hash of the corpus: merges
are learnt one after another, so a smaller vocabulary is the beginning of a larger one.
hftok is trained once for every cell: size, threads, budget. Cells whose result is known from an earlier run are not run
again, so that runs which are stopped add up.

python -m benchmarks.train_grid SETTINGS (JSON): one setting in this process; a line of JSON for each cell that is done.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.trainers import Clock, train_tokenizer

__all__ = ["BUDGETS", "NORMALIZERS", "SIZES", "THREADS", "answer", "budget", "run_grid"]

NORMALIZERS = (None, "nfkc-lowercase")
SIZES = (8_000, 32_000, 100_000)
THREADS = (1, 2, 7)
BUDGETS = ("tiny", "quarter", "half", "all")

Cell = tuple[int, int, str]  # vocabulary size, threads, budget


def budget(name: str, vocab_size: int) -> int:
    """A budget as `memory_limit`, in bytes: a part of what the index of pairs takes where nothing bounds it."""
    whole = 1600 * vocab_size
    return {"tiny": whole // 32, "quarter": whole // 4, "half": whole // 2, "all": 1 << 40}[name]


def answer(learnt: str, vocab_size: int) -> str:
    """The hash of the vocabulary and merges that training at `vocab_size` gives, from those of a larger training."""
    merges, vocab = json.loads(learnt)
    alphabet = len(vocab) - len(merges)
    merges = merges[: max(0, vocab_size - alphabet)]
    tokens = sorted(vocab, key=vocab.__getitem__)[: alphabet + len(merges)]
    return hashlib.sha256(json.dumps([merges, tokens]).encode()).hexdigest()


def run_grid(
    files: dict[str, str], pre_tokenizers: Iterable[str], kept: pathlib.Path, results: pathlib.Path | None
) -> bool:
    """Run all cells over corpora, given by name and path.

    Args:
        kept: file of the reference's answers, read and added to.
        results: file of cells that are done, read and added to; None: all are run.

    Returns whether no cell differed, earlier ones included.
    """
    answers: dict[str, str] = json.loads(kept.read_text()) if kept.is_file() else {}
    known: dict[str, bool] = {}
    if results is not None and results.is_file():
        known = {line["cell"]: line["equal"] for line in map(json.loads, results.read_text().splitlines())}
    hashes = {name: _hash(file) for name, file in files.items()}
    equal: dict[str, list[bool]] = {name: [] for name in files}
    # All corpora by the first setting, then by the next: a run that is stopped has seen something of each.
    for pre_tokenizer, normalizer, corpus in itertools.product(pre_tokenizers, NORMALIZERS, files):
        setting = {
            "file": files[corpus],
            "model": "bpe",
            "pre_tokenizer": pre_tokenizer,
            "normalizer": normalizer,
        }
        prefix = f"{hashes[corpus]}-{pre_tokenizer}-{normalizer}"
        names = {cell: f"{prefix}-{'-'.join(map(str, cell))}" for cell in itertools.product(SIZES, THREADS, BUDGETS)}
        missing = [cell for cell, name in names.items() if name not in known]
        if missing:
            if any(f"{prefix}-{size}" not in answers for size in SIZES):
                for line in _process({**setting, "trainer": "tokenizers", "cells": [(max(SIZES), 1, "all")]}):
                    answers |= {f"{prefix}-{size}": line["answers"][str(size)] for size in SIZES}
                if kept.parent.is_dir() and os.access(kept.parent, os.W_OK):
                    kept.write_text(json.dumps(answers, indent=1))
            for line in _process({**setting, "trainer": "hftok", "cells": missing}):
                cell: Cell = tuple(line["cell"])
                same = line["answers"][str(cell[0])] == answers[f"{prefix}-{cell[0]}"]
                known[names[cell]] = same
                if results is not None:
                    with open(results, "a") as stream:
                        stream.write(json.dumps({"cell": names[cell], "corpus": corpus, "equal": same}) + "\n")
        for cell, name in names.items():
            equal[corpus].append(known[name])
            if not known[name]:
                size, threads, memory = cell
                where = f"{corpus}, {pre_tokenizer}, {normalizer}, {size}"
                print(f"{where}: differs with {threads} threads, memory {memory}", flush=True)
        print(f"{corpus}, {pre_tokenizer}, {normalizer}: {len(missing)} trainings", flush=True)
    for corpus, each in equal.items():
        print(f"{corpus}: {sum(each)} of {len(each)} trainings equal to the reference's")
    return all(map(all, equal.values()))


def _hash(file: str) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _process(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The lines of one setting's process, as they come. Raises RuntimeError with the last line of what it said."""
    root = str(pathlib.Path(__file__).parent.parent)
    # More threads than processors must not spin while they wait for each other.
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")])),
        "OMP_WAIT_POLICY": "passive",
    }
    command = [sys.executable, "-m", "benchmarks.train_grid", json.dumps(settings)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.returncode:
        raise RuntimeError(f"training with {settings} ended with exit status {process.returncode}")


def main() -> None:
    settings = json.loads(sys.argv[1])
    for size, threads, memory in settings["cells"]:
        options: dict[str, Any] = {}
        if settings["trainer"] == "hftok":
            import hftok as package

            options = {"threads": threads, "memory_limit": budget(memory, size)}
        else:
            import tokenizers as package  # type: ignore[no-redef]
        learnt = train_tokenizer(package, {**settings, "vocab_size": size}, Clock(), **options)
        answers = {each: answer(learnt, each) for each in SIZES if each <= size}
        print(json.dumps({"cell": [size, threads, memory], "answers": answers}), flush=True)


if __name__ == "__main__":
    main()
