"""A prompt that grows: what a session takes for the new text, beside encoding the whole again.

The prompt is cut from a corpus at the given number of tokens; each step adds text that was not there before. A session is
asked in both of its ways: `append` with the new text, and `encode` with the whole. Both must give the ids of the whole.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.corpora import default_corpora, default_tokenizer, documents, excerpts, tokenizer_path
from benchmarks.measure import machine, print_table, seconds_of, use_processor_time

CHARACTERS_OF_A_TOKEN = 12  # more than any tokenizer's average: text to cut from


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks prompt", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokenizer", nargs="+", default=[default_tokenizer()])
    parser.add_argument("--corpus", default=default_corpora()[0])
    parser.add_argument("--tokens", type=int, default=100_000, help="of the prompt before it grows")
    parser.add_argument("--growth", type=int, default=1_000, help="tokens that each step adds")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--processor-time", action="store_true", help="of all threads, where the machine is busy")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.processor_time:
        use_processor_time()
    print(json.dumps(machine()))
    wanted = options.tokens + options.growth * options.steps
    same = True
    with excerpts([options.corpus], wanted * CHARACTERS_OF_A_TOKEN / 1e6) as files:
        text = "\n".join(documents(next(iter(files.values()))))
        for name in options.tokenizer:
            same &= _grow(name, text, options)
    return 0 if same else 1


def _grow(name: str, text: str, options: argparse.Namespace) -> bool:
    """Measure one tokenizer; False where a session's ids are not those of the whole text."""
    import hftok

    tokenizer = hftok.Tokenizer(tokenizer_path(name))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    counts = [options.tokens + options.growth * step for step in range(options.steps + 1)]
    rows = tokenizer.encode_batch_ids([text], add_special_tokens=False, return_offsets=True)
    while len(rows.ids) < counts[-1]:  # a small corpus: from its beginning again
        text += text
        rows = tokenizer.encode_batch_ids([text], add_special_tokens=False, return_offsets=True)
    ends = [int(rows.offsets[count - 1][1]) for count in counts]

    appending, encoding = tokenizer.session(), tokenizer.session()
    appending.append(text[: ends[0]])
    encoding.encode(text[: ends[0]])
    ways: dict[str, Callable[[int, int], Any]] = {
        "session.append(new)": lambda begin, end: appending.append(text[begin:end]),
        "session.encode(whole)": lambda begin, end: encoding.encode(text[:end]),
        # Last, and in favour of it: every new word is in the cache by then.
        "encode_ids(whole)": lambda begin, end: tokenizer.encode_ids(text[:end]),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for begin, end in itertools.pairwise(ends):
        given: dict[str, Any] = {}
        for way, call in ways.items():
            seconds[way].append(seconds_of(lambda w=way, c=call, g=given, b=begin, e=end: g.update({w: c(b, e)})))
        whole = given["encode_ids(whole)"]
        for way, ids in given.items():
            if not np.array_equal(ids, whole):
                print(f"{name}: {way} and encode_ids(whole) differ at {end} characters")
                return False
    table = []
    for way, times in seconds.items():
        ratio = median(part / whole for part, whole in zip(times, seconds["encode_ids(whole)"], strict=True))
        table.append([way, f"{min(times) * 1e3:.3f}", f"{median(times) * 1e3:.3f}", f"{100 * ratio:.1f} %"])
    title = f"{name}: a prompt of {options.tokens:,} tokens grows by {options.growth:,}, {options.steps} times"
    print_table(title, ["", "best ms", "median ms", "of the whole"], table, options.json)
    return True
