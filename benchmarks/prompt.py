"""A prompt that grows: what a session takes for the new text, beside encoding the whole again.

The prompt is cut from a corpus at the given number of tokens; each step adds text that was not there before. A session
is asked in both of its ways: `append` with the new text, and `encode` with the whole. Ids must be those of the whole.
Cold: the new text was never seen, and the whole is encoded with an empty cache. Warm: the same growth once more.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.corpora import default_corpora, default_tokenizer, documents, excerpts, tokenizer_path
from benchmarks.measure import add_options, clock, machine, print_table, use_processor_time

CHARACTERS_OF_A_TOKEN = 12  # more than any tokenizer's average: text to cut from
WAYS = ("encode_ids(whole)", "session.append(new)", "session.encode(whole)")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks prompt", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", nargs="+", default=[default_tokenizer()])
    parser.add_argument("--corpus", default=default_corpora()[0])
    parser.add_argument("--tokens", type=int, default=100_000, help="of the prompt before it grows")
    parser.add_argument("--growth", type=int, default=1_000, help="tokens that each step adds")
    parser.add_argument("--steps", type=int, default=20)
    add_options(parser)
    options = parser.parse_args(arguments)
    if options.processor_time:
        use_processor_time()
    print(json.dumps(machine()))
    counts = [options.tokens + options.growth * step for step in range(options.steps + 1)]
    same = True
    with excerpts([options.corpus], counts[-1] * CHARACTERS_OF_A_TOKEN / 1e6) as files:
        text = "\n".join(documents(next(iter(files.values()))))
    for name in options.tokenizer:
        same &= _measure(name, text, counts, options.json)
    return 0 if same else 1


def _measure(name: str, text: str, counts: list[int], as_json: bool) -> bool:
    """Print the table of one tokenizer; False where a session's ids are not those of the whole text."""
    path = tokenizer_path(name)
    ends = _ends(path, text, counts)
    # Each way has a tokenizer of its own, so that none learns words for another, and its turn for all steps: the whole
    # would empty the near caches for what is new.
    tokenizers = {way: _load(path) for way in WAYS}
    seconds: dict[str, dict[str, list[float]]] = {way: {"cold": [], "warm": []} for way in WAYS}
    for which in ("cold", "warm"):
        for way in WAYS:
            for start, stop, _ in _growth(tokenizers[way], way, text, ends, which == "cold"):
                seconds[way][which].append(stop - start)
    steps_of_all = [_growth(tokenizers[way], way, text, ends, False) for way in WAYS]
    for end, results in zip(ends[1:], zip(*steps_of_all, strict=True), strict=True):
        for way, (_, _, ids) in zip(WAYS, results, strict=True):
            if not np.array_equal(ids, results[0][2]):
                print(f"{name}: {way} and encode_ids(whole) differ at {end} characters")
                return False
    all_of_it = {which: median(times) for which, times in seconds[WAYS[0]].items()}
    table = []
    for way in WAYS:
        row = [way]
        for which, times in seconds[way].items():
            row += [f"{median(times) * 1e6:.0f}", f"{100 * median(times) / all_of_it[which]:.1f} %"]
        table.append(row)
    steps = f"grows by {counts[1] - counts[0]:,} {len(counts) - 1} times" if len(counts) > 1 else ""
    header = ["", "cold us", "of the whole", "warm us", "of the whole"]
    print_table(f"{name}: a prompt of {counts[0]:,} tokens {steps}, medians", header, table, as_json)
    return True


def _growth(tokenizer: Any, way: str, text: str, ends: list[int], cold: bool) -> Iterator[tuple[float, float, Any]]:
    """When each step began and ended, and the ids of the whole text behind it."""
    now = clock()
    session = tokenizer.session()
    session.append(text[: ends[0]])
    for begin, end in itertools.pairwise(ends):
        new, whole = text[begin:end], text[:end]
        if way == WAYS[0]:
            if cold:
                tokenizer.clear_cache()
            call, argument = tokenizer.encode_ids, whole
        else:
            call, argument = (session.append, new) if way == WAYS[1] else (session.encode, whole)
        start = now()
        ids = call(argument)
        yield start, now(), ids


def _load(path: str) -> Any:
    import hftok

    tokenizer = hftok.Tokenizer(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _ends(path: str, text: str, counts: list[int]) -> list[int]:
    """Where in the text, in characters, its first tokens end, for each number of them."""
    rows = _load(path).encode_batch_ids([text], add_special_tokens=False, return_offsets=True)
    if len(rows.ids) < counts[-1]:
        raise SystemExit(f"the corpus has only {len(rows.ids):,} tokens: fewer --tokens, or another --corpus")
    return [int(rows.offsets[count - 1][1]) for count in counts]
