"""Every real tokenizer on every corpus, whole: each document's ids against the reference, tiers and threads in turn.

The reference takes hours for it. What it says is kept as one digest of eight bytes a document, by the contents of
tokenizer and corpus, so that it is asked once: `--digests FOLDER`.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import os
import pathlib
import subprocess
import sys
import time
from typing import Any

import numpy as np

from benchmarks.corpora import DATA, SEPARATOR, tokenizer_path

BATCH = 2_000_000  # characters that the reference gets in one call


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks matrix", description=__doc__)
    parser.add_argument("--tokenizers", nargs="+", default=_names("tokenizers", "*/tokenizer.json", parent=True))
    parser.add_argument("--corpora", nargs="+", default=_names("corpora", "*.txt"))
    parser.add_argument("--megabytes", type=float, help="of each corpus from its beginning (default: all of it)")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2, 7])
    parser.add_argument("--tiers", nargs="+", default=[], help="scalar, avx2, avx512, ... (default: the best one here)")
    parser.add_argument("--digests", type=pathlib.Path, required=True, help="folder of what the reference said")
    parser.add_argument("--reference-only", action="store_true", help="ask the reference, compare nothing")
    options = parser.parse_args(arguments)
    options.digests.mkdir(parents=True, exist_ok=True)
    if len(options.threads) > 1 or options.tiers:  # both are read once by a process
        return _other_processes(arguments, options)
    failed = 0
    for corpus, name in itertools.product(options.corpora, options.tokenizers):
        failed += not _cell(name, corpus, options)
    print(f"{failed} cells differ" if failed else "all equal", flush=True)
    return min(failed, 1)


def _names(folder: str, pattern: str, parent: bool = False) -> list[str]:
    return sorted(path.parent.name if parent else path.stem for path in (DATA / folder).glob(pattern))


def _other_processes(arguments: list[str], options: argparse.Namespace) -> int:
    status = 0
    for tier, threads in itertools.product(options.tiers or [None], options.threads):
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_WAIT_POLICY="passive")
        if tier:
            environment["HFTOK_CPU"] = tier
        print(f"# {tier or 'best tier'}, {threads} thread(s)", flush=True)
        command = [sys.executable, "-m", "benchmarks", "matrix", "--digests", str(options.digests)]
        command += ["--threads", str(threads), "--tokenizers", *options.tokenizers, "--corpora", *options.corpora]
        command += ["--megabytes", str(options.megabytes)] if options.megabytes else []
        status |= subprocess.run(command, env=environment).returncode
    return status


def _cell(name: str, corpus: str, options: argparse.Namespace) -> bool:
    path = tokenizer_path(name)
    data = (DATA / "corpora" / f"{corpus}.txt").read_bytes()
    if options.megabytes:
        data = data[: int(options.megabytes * 1e6)]
    begin = time.perf_counter()
    expected = _reference(path, data, options.digests)
    between = time.perf_counter()
    if options.reference_only:
        print(f"{name} {corpus}: {len(expected)} documents in {between - begin:.0f} s", flush=True)
        return True
    found = _ours(path, data, options.digests)
    took = time.perf_counter() - between
    if len(found) == len(expected) and (found == expected).all():
        print(f"{name} {corpus}: {len(found)} documents equal, {took:.1f} s", flush=True)
        return True
    shared = min(len(found), len(expected))
    different = np.flatnonzero(found[:shared] != expected[:shared])
    first = int(different[0]) if len(different) else shared
    print(f"{name} {corpus}: {len(different)} of {len(expected)} documents DIFFER, first {first}", flush=True)
    return False


def _digests(rows: Any) -> np.ndarray[Any, Any]:
    """Eight bytes of BLAKE2 over each row of uint32 ids."""
    parts = (hashlib.blake2b(row, digest_size=8).digest() for row in rows)
    return np.frombuffer(b"".join(parts), "<u8")


def _reference(path: str, data: bytes, folder: pathlib.Path) -> np.ndarray[Any, Any]:
    import tokenizers

    key = hashlib.blake2b(pathlib.Path(path).read_bytes(), digest_size=12).hexdigest()
    text = hashlib.blake2b(data, digest_size=12).hexdigest()
    kept = folder / f"{tokenizers.__version__}-{key}-{text}.npy"
    if kept.is_file():
        known: np.ndarray[Any, Any] = np.load(kept)
        return known
    tokenizer = tokenizers.Tokenizer.from_file(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    documents = data.decode("utf-8", "replace").split(SEPARATOR)
    if not documents[-1]:
        documents.pop()
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
    digests = np.concatenate(found)
    unfinished = kept.with_suffix(f".{os.getpid()}.npy")
    np.save(unfinished, digests)
    unfinished.replace(kept)
    return digests


def _ours(path: str, data: bytes, folder: pathlib.Path) -> np.ndarray[Any, Any]:
    import hftok

    tokenizer = hftok.Tokenizer(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    file = folder / f"text-{os.getpid()}.txt"
    file.write_bytes(data)
    try:
        rows = tokenizer.encode_files(hftok.TextFileSource(str(file), SEPARATOR))
    finally:
        file.unlink()
    flat = memoryview(np.ascontiguousarray(rows.ids)).cast("B")
    ends = (rows.row_offsets * 4).tolist()
    return _digests(flat[a:b] for a, b in itertools.pairwise(ends))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
