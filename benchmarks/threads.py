"""What several threads gain over one, in one process: both take turns, each after some calls of its own.

A call right after one with another number of threads pays for the change (words that another thread has learnt, memory
that went to it), which a program that keeps to one number does not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.measure import print_table, seconds_of
from benchmarks.peers import Peer

__all__ = ["one_and_several"]

CALLS_BEFORE = 3
CALLS = 8


def one_and_several(
    what: str,
    calls: dict[str, tuple[Peer, Callable[[], Any]]],
    size: int,
    threads: int,
    options: argparse.Namespace,
) -> None:
    """Print the table of one corpus of `size` bytes, warm. Peers whose threads cannot be switched are left out."""
    calls = {name: pair for name, pair in calls.items() if pair[0].switches and pair[0].quick}
    seconds: dict[tuple[str, bool], list[float]] = {}
    for _ in range(options.rounds):
        for name, (peer, call) in calls.items():
            for parallel in (False, True):
                peer.parallel = parallel
                for _ in range(CALLS_BEFORE):
                    call()
                seconds.setdefault((name, parallel), []).extend(seconds_of(call) for _ in range(CALLS))
    table = []
    for name in calls:
        one, several = seconds[name, False], seconds[name, True]
        speeds = [size / value / 1e6 for times in (one, several) for value in (min(times), median(times))]
        ratios = min(one) / min(several), median(one) / median(several)
        table.append([name, *(f"{speed:.0f}" for speed in speeds), *(f"{ratio:.2f}x" for ratio in ratios)])
    header = ["", "one: best MB/s", "median", f"{threads} threads: best MB/s", "median", "ratio of best", "of medians"]
    count = options.rounds * CALLS
    print_table(f"{what}, one thread and {threads}, warm, {count} calls each", header, table, options.json)
