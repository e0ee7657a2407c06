"""Timing on a machine that does other things too: peers take turns, and the best of several turns counts."""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import time
import timeit
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "add_options",
    "clock",
    "machine",
    "print_table",
    "rounds",
    "rounds_of_short",
    "seconds_of",
    "use_processor_time",
]

_clock: Callable[[], float] = time.perf_counter


def add_options(parser: argparse.ArgumentParser, of: str = "all threads") -> None:
    """What all programs that measure have: --processor-time, of one thread or of all, and --json."""
    parser.add_argument("--processor-time", action="store_true", help=f"of {of}, where the machine is busy")
    parser.add_argument("--json", action="store_true")


def use_processor_time() -> None:
    """Measure what the process spends on processors, all its threads together, instead of the time on the wall.

    For one thread both are the same on a quiet machine; on a busy one only the former says something.
    """
    global _clock
    _clock = time.process_time


def clock() -> Callable[[], float]:
    """What time is measured with."""
    return _clock


def seconds_of(call: Callable[[], Any]) -> float:
    """The time of one call, without the collector running into it."""
    gc.collect()
    gc.disable()
    try:
        begin = _clock()
        call()
        return _clock() - begin
    finally:
        gc.enable()


def rounds(calls: dict[str, Callable[[], Any]], count: int) -> dict[str, float]:
    """The best time of every call out of `count` rounds, in which they take turns: a slow phase hits all of them."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(count):
        for name, call in calls.items():
            best[name] = min(best[name], seconds_of(call))
    return best


TURN = 0.05  # seconds that a turn of a short call should take


def rounds_of_short(calls: dict[str, Callable[[], Any]], count: int) -> dict[str, float]:
    """As `rounds`, for calls too short to be timed alone: in its turn each is made as often as fills the turn."""
    best = dict.fromkeys(calls, float("inf"))
    numbers = {}
    for name, call in calls.items():
        timer = timeit.Timer(call, timer=_clock)
        numbers[name] = 1
        while (seconds := timer.timeit(numbers[name])) < TURN / 4:
            numbers[name] *= 4
        numbers[name] = max(1, int(numbers[name] * TURN / seconds))
    for _ in range(count):
        for name, call in calls.items():
            best[name] = min(best[name], timeit.Timer(call, timer=_clock).timeit(numbers[name]) / numbers[name])
    return best


def machine() -> dict[str, Any]:
    """What a figure means little without."""
    from importlib.metadata import PackageNotFoundError, version

    from hftok import __version__
    from hftok._core import cpu, engine, parallel

    versions = {"hftok": __version__}
    for name in (
        "tokenizers",
        "transformers",
        "nanotoken",
        "gigatoken",
        "tiktoken",
        "tokie",
        "kitoken",
        "rustbpe",
        "torch",
        "numpy",
    ):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    model = ""
    try:
        with open("/proc/cpuinfo") as file:
            model = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        model = platform.processor()
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "kernels": cpu.choose(),
        "openmp": parallel.HAVE_OPENMP,
        "cache_bytes": engine.cache_budget(),
        "python": platform.python_version(),
        "versions": versions,
    }


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]], as_json: bool = False) -> None:
    """A table for people, or one JSON object a row."""
    if as_json:
        for row in rows:
            print(json.dumps({"table": title, **dict(zip(header, row, strict=True))}, ensure_ascii=False))
        return
    print(f"\n{title}")
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    words = {i for i in range(len(header)) if any(str(row[i])[:1].isalpha() for row in rows)}
    for row in [header, *rows]:
        cells = [
            str(c).ljust(w) if i == 0 or i in words else str(c).rjust(w)
            for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())
