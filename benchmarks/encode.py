"""Whole files and lists of texts: ids of every document, from an empty cache (cold) and from a full one (warm).

Ids are compared first: hftok's with the reference's on a few megabytes, the peers' with hftok's on all that they are
asked for. A peer that differs is marked and measured all the same; only a difference from the reference makes the run
fail. --short measures calls with one short text instead, --threads 1 N what N threads gain over one.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from typing import Any

from benchmarks.corpora import default_corpora, default_tokenizer, documents, excerpts, tokenizer_path
from benchmarks.measure import add_options, machine, print_table, rounds, seconds_of, use_processor_time
from benchmarks.peers import Peer, Rows, failure, first_difference, peers
from benchmarks.short import short_texts
from benchmarks.threads import one_and_several

REFERENCE_MEGABYTES = 3.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks encode", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", default=default_tokenizer(), help="name, path, or `demo`")
    parser.add_argument("--corpora", nargs="+", default=default_corpora(), help="names, files, or `demo`")
    parser.add_argument("--megabytes", type=float, default=20, help="of each corpus")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="N, or 1 N: both in turn, and the ratio")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="+", help="only these beside hftok")
    parser.add_argument("--lists", action="store_true", help="lists of str instead of files")
    parser.add_argument(
        "--short", action="store_true", help="one text of 44 and of 200 characters, each peer's own calls"
    )
    parser.add_argument("--offsets", action="store_true", help="hftok with and without offsets, too")
    add_options(parser, "one thread")
    options = parser.parse_args(arguments)
    several = max(options.threads)
    if min(options.threads) < 1 or options.threads not in ([several], [1, several]):
        parser.error("--threads takes one number, or 1 and a larger one")
    if options.processor_time:
        if several != 1:
            parser.error("--processor-time adds up what all threads spend: it goes with --threads 1")
        use_processor_time()
    # Read by the packages when they first run.
    os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(several)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if several > 1 else "false"
    path = tokenizer_path(options.tokenizer)
    print(json.dumps(machine()))
    if options.short:
        return 0 if short_texts(path, options.peers, options.rounds, options.json) else 1
    same = True
    with excerpts(options.corpora, options.megabytes) as files:
        for number, (corpus, file) in enumerate(files.items()):
            same &= _corpus(corpus, file, path, several, options, not number)
    return 0 if same else 1


def _corpus(corpus: str, file: str, path: str, threads: int, options: argparse.Namespace, first: bool) -> bool:
    """Measure one corpus, the first of several or not; False where hftok's ids are not the reference's."""
    size = os.path.getsize(file)
    texts = documents(file)
    few = texts[: max(1, int(len(texts) * REFERENCE_MEGABYTES * 1e6 / size))]

    def call(peer: Peer) -> Callable[[], Any]:
        if not peer.quick:
            return lambda: peer.encode_list(few)
        return (lambda: peer.encode_list(texts)) if options.lists else (lambda: peer.encode_file(file))

    found = peers(path, threads, options.peers, tell=first)
    said = _compare(found, corpus, texts, len(few), call)
    found = [peer for peer in found if peer.name in said]
    same = not said.get("tokenizers", "equal").startswith("differs")
    what = f"{corpus}: {size / 1e6:.1f} MB, {len(texts)} documents, {'lists' if options.lists else 'files'}"
    if len(options.threads) > 1:
        one_and_several(what, {peer.name: (peer, call(peer)) for peer in found}, size, threads, options)
        return same

    bytes_of_few = sum(len(text.encode()) for text in few)
    sizes = {peer.name: size if peer.quick else bytes_of_few for peer in found}
    calls = {peer.name: call(peer) for peer in found}
    cold = dict.fromkeys(calls, float("inf"))
    for _ in range(options.rounds):
        for peer in found:
            if peer.name != "tokenizers":
                peer.forget()
                cold[peer.name] = min(cold[peer.name], seconds_of(calls[peer.name]))
    warm = rounds(calls, options.rounds)
    cold["tokenizers"] = warm.get("tokenizers", 0.0)  # whose cache cannot be emptied
    speeds = {name: (sizes[name] / cold[name] / 1e6, sizes[name] / warm[name] / 1e6) for name in calls}
    ours = speeds["hftok"]
    table = [
        [name, f"{c:.1f}", f"{w:.1f}", f"{ours[0] / c:.2f}x", f"{ours[1] / w:.2f}x", said[name]]
        for name, (c, w) in speeds.items()
    ]
    header = ["", "cold MB/s", "warm MB/s", "hftok cold", "hftok warm", "ids"]
    print_table(f"{what}, {threads} thread(s)", header, table, options.json)
    if options.offsets:
        _offsets(corpus, found[0].tokenizer, texts, size, options)
    return same


def _compare(
    found: list[Peer], corpus: str, texts: list[str], few: int, call: Callable[[Peer], Callable[[], Any]]
) -> dict[str, str]:
    """What is to be said of every peer's ids, by its name; peers that cannot encode the corpus are left out."""
    ours, *others = found
    complete = ours.arrays(call(ours)())
    plain = complete
    adds = ours.tokenizer.num_special_tokens_to_add(False) > 0
    if adds and not all(peer.special_tokens for peer in others):
        plain = ours.without_special_tokens(texts)
    said = {ours.name: ""}
    for peer in others:
        try:
            rows = peer.arrays(call(peer)())
        except BaseException as error:
            print(f"({peer.name} cannot encode {corpus}: {failure(error)})")
            continue
        expected = complete if peer.special_tokens else plain
        if not peer.quick:
            expected = Rows(expected.ids[: expected.offsets[few]], expected.offsets[: few + 1])
        document = first_difference(rows, expected)
        if document is None:
            said[peer.name] = "equal" if peer.special_tokens or not adds else "equal but for special tokens"
        else:
            said[peer.name] = f"differs on document {document} of {corpus}"
    return said


def _offsets(corpus: str, tokenizer: Any, texts: list[str], size: int, options: argparse.Namespace) -> None:
    parallel = max(options.threads) > 1
    best = rounds(
        {
            "ids": lambda: tokenizer.encode_batch_ids(texts, parallel=parallel),
            "ids and offsets": lambda: tokenizer.encode_batch_ids(texts, return_offsets=True, parallel=parallel),
        },
        options.rounds + 1,
    )
    table = [[name, f"{size / s / 1e6:.1f}", f"{best['ids'] / s:.2f}x"] for name, s in best.items()]
    print_table(f"{corpus}: with offsets, warm", ["", "MB/s", "of ids alone"], table, options.json)
