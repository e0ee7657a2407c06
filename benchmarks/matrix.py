"""Every real tokenizer on every corpus, whole: each document's ids against the reference, tiers and threads in turn.

The reference takes hours for it, so it was asked once: `reference_digests.json` beside this file has one digest for
each tokenizer and corpus, by the contents of both. `--digests FOLDER` asks it anew, or for what is not there, and keeps
a digest of eight bytes for each document, which tells where something differs; `--record` puts what the folder has into
the file. The corpus of code is gathered from the machine at hand: elsewhere it has to be asked anew.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.corpora import DATA, SEPARATOR, tokenizer_path

BATCH = 2_000_000  # characters that the reference gets in one call
RECORDED = pathlib.Path(__file__).with_name("reference_digests.json")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks matrix", description=__doc__)
    parser.add_argument("--tokenizers", nargs="+", default=_names("tokenizers", "*/tokenizer.json", parent=True))
    parser.add_argument("--corpora", nargs="+", default=_names("corpora", "*.txt"))
    parser.add_argument("--megabytes", type=float, help="of each corpus from its beginning (default: all of it)")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 7])
    parser.add_argument("--tiers", nargs="+", default=[], help="scalar, avx2, avx512, ... (default: the best one here)")
    parser.add_argument("--digests", type=pathlib.Path, help="folder of what the reference says of each document")
    parser.add_argument("--reference-only", action="store_true", help="ask the reference, compare nothing")
    parser.add_argument("--record", action="store_true", help="write what is in the folder to reference_digests.json")
    options = parser.parse_args(arguments)
    if options.digests is None and (options.reference_only or options.record or options.megabytes):
        parser.error("--digests FOLDER is needed for this")
    if options.digests:
        options.digests.mkdir(parents=True, exist_ok=True)
    if options.record:
        return _record(options)
    asked = len(options.threads) > 1 or os.environ.get("OMP_NUM_THREADS") != str(options.threads[0])
    if asked or options.tiers:  # both are read once by a process
        return _other_processes(options)
    failed = 0
    for corpus, name in itertools.product(options.corpora, options.tokenizers):
        failed += not _cell(name, corpus, options)
    print(f"{failed} cells differ" if failed else "all equal", flush=True)
    return min(failed, 1)


def _names(folder: str, pattern: str, parent: bool = False) -> list[str]:
    return sorted(path.parent.name if parent else path.stem for path in (DATA / folder).glob(pattern))


def _other_processes(options: argparse.Namespace) -> int:
    status = 0
    for tier, threads in itertools.product(options.tiers or [None], options.threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")
        if tier:
            environment["HFTOK_CPU"] = tier
        print(f"# {tier or 'best tier'}, {threads} thread(s)", flush=True)
        command = [sys.executable, "-m", "benchmarks", "matrix"]
        command += ["--digests", str(options.digests)] if options.digests else []
        command += ["--threads", str(threads), "--tokenizers", *options.tokenizers, "--corpora", *options.corpora]
        command += ["--megabytes", str(options.megabytes)] if options.megabytes else []
        command += ["--reference-only"] if options.reference_only else []
        status |= subprocess.run(command, env=environment).returncode
    return status


def _cell(name: str, corpus: str, options: argparse.Namespace) -> bool:
    path = tokenizer_path(name)
    data = (DATA / "corpora" / f"{corpus}.txt").read_bytes()
    if options.megabytes:
        data = data[: int(options.megabytes * 1e6)]
    begin = time.perf_counter()
    if options.digests is None:
        return _as_recorded(name, corpus, path, data)
    expected = _reference(path, data, options.digests)
    between = time.perf_counter()
    if options.reference_only:
        print(f"{name} {corpus}: {len(expected)} documents in {between - begin:.0f} s", flush=True)
        return True
    found = document_digests(path, data)
    took = time.perf_counter() - between
    if len(found) == len(expected) and (found == expected).all():
        print(f"{name} {corpus}: {len(found)} documents equal, {took:.1f} s", flush=True)
        return True
    shared = min(len(found), len(expected))
    different = np.flatnonzero(found[:shared] != expected[:shared])
    first = int(different[0]) if len(different) else shared
    print(f"{name} {corpus}: {len(different)} of {len(expected)} documents DIFFER, first {first}", flush=True)
    return False


def recorded() -> dict[str, dict[str, Any]]:
    """What the reference said: tokenizer and corpus -> digests of the contents of both (hexadecimal), the number of
    documents and a digest of theirs."""
    cells: dict[str, dict[str, Any]] = json.loads(RECORDED.read_text())["cells"]
    return cells


def key_of(data: bytes) -> str:
    """The digest of a file by its contents."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def cell_digest(digests: np.ndarray[Any, Any]) -> str:
    """One digest of those of all documents."""
    return hashlib.blake2b(digests.astype("<u8").tobytes(), digest_size=16).hexdigest()


def _as_recorded(name: str, corpus: str, path: str, data: bytes) -> bool:
    cell = recorded().get(f"{name} {corpus}")
    if cell is None or cell["tokenizer"] != key_of(pathlib.Path(path).read_bytes()) or cell["corpus"] != key_of(data):
        print(f"{name} {corpus}: NOT RECORDED, ask the reference: --digests FOLDER", flush=True)
        return False
    begin = time.perf_counter()
    found = document_digests(path, data)
    equal = len(found) == cell["documents"] and cell_digest(found) == cell["digest"]
    took = time.perf_counter() - begin
    print(f"{name} {corpus}: {len(found)} documents {'equal' if equal else 'DIFFER'}, {took:.1f} s", flush=True)
    return equal


def _record(options: argparse.Namespace) -> int:
    import tokenizers

    cells = recorded() if RECORDED.is_file() else {}
    for corpus in options.corpora:
        text = key_of((DATA / "corpora" / f"{corpus}.txt").read_bytes())
        for name in options.tokenizers:
            key = key_of(pathlib.Path(tokenizer_path(name)).read_bytes())
            kept = options.digests / f"{tokenizers.__version__}-{key}-{text}.npy"
            if kept.is_file():
                digests = np.load(kept)
                cells[f"{name} {corpus}"] = {
                    "tokenizer": key,
                    "corpus": text,
                    "documents": len(digests),
                    "digest": cell_digest(digests),
                }
    lines = ",\n".join(f"  {json.dumps(cell)}: {json.dumps(cells[cell])}" for cell in sorted(cells))
    RECORDED.write_text(f'{{"tokenizers": "{tokenizers.__version__}", "cells": {{\n{lines}\n}}}}\n')
    print(f"{len(cells)} cells recorded")
    return 0


def _digests(rows: Any) -> np.ndarray[Any, Any]:
    """Eight bytes of BLAKE2 over each row of uint32 ids."""
    parts = (hashlib.blake2b(row, digest_size=8).digest() for row in rows)
    return np.frombuffer(b"".join(parts), "<u8")


def _reference(path: str, data: bytes, folder: pathlib.Path) -> np.ndarray[Any, Any]:
    import tokenizers

    key = key_of(pathlib.Path(path).read_bytes())
    text = key_of(data)
    kept = folder / f"{tokenizers.__version__}-{key}-{text}.npy"
    if kept.is_file():
        known: np.ndarray[Any, Any] = np.load(kept)
        return known
    digests = reference_digests(tokenizers.Tokenizer.from_file(path), documents_of(data))
    unfinished = kept.with_suffix(f".{os.getpid()}.npy")
    np.save(unfinished, digests)
    unfinished.replace(kept)
    return digests


def documents_of(data: bytes) -> list[str]:
    """The documents of a corpus."""
    documents = data.decode("utf-8", "replace").split(SEPARATOR)
    if not documents[-1]:
        documents.pop()
    return documents


def reference_digests(tokenizer: Any, documents: list[str]) -> np.ndarray[Any, Any]:
    """The reference's ids of each document, as a digest of eight bytes each (uint64)."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found = []
    batch: list[str] = []
    size = 0
    for number, document in enumerate(documents, 1):
        batch.append(document)
        size += len(document)
        if size >= BATCH or number == len(documents):
            encodings = tokenizer.encode_batch_fast(batch)
            found.append(_digests(np.array(encoding.ids, "<u4").tobytes() for encoding in encodings))
            batch, size = [], 0
    return np.concatenate(found)


def document_digests(path: str, data: bytes) -> np.ndarray[Any, Any]:
    """hftok's ids of each document of a corpus, as a digest of eight bytes each (uint64)."""
    import hftok

    tokenizer = hftok.Tokenizer(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "text")
        file.write_bytes(data)
        rows = tokenizer.encode_files(hftok.TextFileSource(str(file), SEPARATOR))
    flat = memoryview(np.ascontiguousarray(rows.ids)).cast("B")
    ends = (rows.row_offsets * 4).tolist()
    return _digests(flat[a:b] for a, b in itertools.pairwise(ends))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
