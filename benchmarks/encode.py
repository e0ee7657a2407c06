"""Whole files and lists of texts: ids of every document, from an empty cache (cold) and from a full one (warm)."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from benchmarks.corpora import default_corpora, default_tokenizer, documents, excerpts, tokenizer_path
from benchmarks.measure import machine, print_table, rounds, seconds_of, use_processor_time

REFERENCE_MEGABYTES = 3.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks encode", description=__doc__)
    parser.add_argument("--tokenizer", default=default_tokenizer())
    parser.add_argument("--corpora", nargs="+", default=default_corpora())
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="+", help="only these beside hftok")
    parser.add_argument("--lists", action="store_true", help="lists of str instead of files")
    parser.add_argument("--offsets", action="store_true", help="hftok with and without offsets, too")
    parser.add_argument("--processor-time", action="store_true", help="of one thread, where the machine is busy")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.processor_time:
        if options.threads != 1:
            parser.error("--processor-time adds up what all threads spend: it goes with --threads 1")
        use_processor_time()
    # Read by the packages when they first run.
    os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if options.threads > 1 else "false"
    path = tokenizer_path(options.tokenizer)
    print(json.dumps(machine()))
    with excerpts(options.corpora, options.megabytes) as files:
        for corpus, file in files.items():
            if not _corpus(corpus, file, path, options):
                return 1
    return 0


def _corpus(corpus: str, file: str, path: str, options: argparse.Namespace) -> bool:
    """Measure one corpus; False where a peer's ids differ."""
    from benchmarks.peers import peers

    found = peers(path, options.threads, options.peers)
    size = os.path.getsize(file)
    texts = documents(file)
    few = texts[: max(1, int(len(texts) * REFERENCE_MEGABYTES * 1e6 / size))]
    expected = found[0].rows(found[0].encode_list(few))
    for peer in found[1:]:
        rows = peer.rows(peer.encode_list(few))
        if rows != expected:
            first = next(i for i, (a, b) in enumerate(zip(rows, expected, strict=False)) if a != b)
            print(f"{peer.name} and hftok differ on document {first} of {corpus}")
            return False

    quick = [peer for peer in found if peer.name != "tokenizers"]

    def call(peer: Any) -> Any:
        return (lambda: peer.encode_list(texts)) if options.lists else (lambda: peer.encode_file(file))

    calls = {peer.name: call(peer) for peer in quick}
    cold = dict.fromkeys(calls, float("inf"))
    for _ in range(options.rounds):
        for peer in quick:
            peer.forget()
            cold[peer.name] = min(cold[peer.name], seconds_of(calls[peer.name]))
    warm = rounds(calls, options.rounds)
    speeds = {name: (size / cold[name] / 1e6, size / warm[name] / 1e6) for name in calls}
    if found[-1].name == "tokenizers":  # too slow for all of it
        bytes_of_few = sum(len(text.encode()) for text in few)
        speed = bytes_of_few / rounds({"": lambda: found[-1].encode_list(few)}, 2)[""] / 1e6
        speeds["tokenizers"] = (speed, speed)
    ours = speeds["hftok"]
    title = (
        f"{corpus}: {size / 1e6:.1f} MB, {len(texts)} documents, {'lists' if options.lists else 'files'}, "
        f"{options.threads} thread(s)"
    )
    rows_of_table = [
        [name, f"{c:.1f}", f"{w:.1f}", f"{ours[0] / c:.2f}x", f"{ours[1] / w:.2f}x"] for name, (c, w) in speeds.items()
    ]
    header = ["", "cold MB/s", "warm MB/s", "hftok cold", "hftok warm"]
    print_table(title, header, rows_of_table, options.json)
    if options.offsets:
        _offsets(corpus, found[0].tokenizer, texts, size, options)
    return True


def _offsets(corpus: str, tokenizer: Any, texts: list[str], size: int, options: argparse.Namespace) -> None:
    parallel = options.threads > 1
    best = rounds(
        {
            "ids": lambda: tokenizer.encode_batch_ids(texts, parallel=parallel),
            "ids and offsets": lambda: tokenizer.encode_batch_ids(texts, return_offsets=True, parallel=parallel),
        },
        options.rounds + 1,
    )
    table = [[name, f"{size / s / 1e6:.1f}", f"{best['ids'] / s:.2f}x"] for name, s in best.items()]
    print_table(f"{corpus}: with offsets, warm", ["", "MB/s", "of ids alone"], table, options.json)
