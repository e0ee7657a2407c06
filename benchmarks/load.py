"""From nothing to the first token: importing, loading a tokenizer, the first encode; each in a process of its own.

`hftok` is a first load; when its process ends it writes to the load cache (of this round, in a temporary folder), as it
would half a second later while it goes on. `hftok again` is the next process that loads the same file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

from benchmarks.corpora import default_tokenizer, tokenizer_path
from benchmarks.measure import add_options, machine, print_table

OURS = "import hftok; m = now(); t = hftok.Tokenizer(path); l = now(); ids = t.encode(text).ids"
SCRIPTS = {
    "hftok": OURS,
    "hftok again": OURS,
    "tokenizers": (
        "import tokenizers; m = now(); t = tokenizers.Tokenizer.from_file(path); l = now(); ids = t.encode(text).ids"
    ),
    "nanotoken": "import nanotoken; m = now(); t = nanotoken.Tokenizer(path); l = now(); ids = t.encode(text).tolist()",
}
PROGRAM = """
import json, sys, time
path, text = sys.argv[1:]
now = time.{clock}
begin = now()
{script}
print(json.dumps([m - begin, l - m, now() - l, ids]))
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks load", description=__doc__)
    parser.add_argument("--tokenizer", nargs="+", default=[default_tokenizer()])
    parser.add_argument("--text", default="A first text, encoded once.")
    parser.add_argument("--rounds", type=int, default=7)
    add_options(parser)
    options = parser.parse_args(arguments)
    clock = "process_time" if options.processor_time else "perf_counter"
    print(json.dumps(machine()))
    for name in options.tokenizer:
        path = tokenizer_path(name)
        best: dict[str, list[float]] = {}
        ids = {}
        for _ in range(options.rounds):
            with tempfile.TemporaryDirectory() as cache:
                for peer, script in SCRIPTS.items():
                    done = subprocess.run(
                        [sys.executable, "-c", PROGRAM.format(script=script, clock=clock), path, options.text],
                        capture_output=True,
                        text=True,
                        env={**os.environ, "HFTOK_LOAD_CACHE": cache},
                    )
                    if done.returncode:
                        continue
                    *times, ids[peer] = json.loads(done.stdout)
                    if peer not in best or times[1] + times[2] < best[peer][1] + best[peer][2]:
                        best[peer] = times
        if any(found != ids["hftok"] for found in ids.values()):
            print(f"{name}: the ids differ: {ids}")
            return 1
        ours = best["hftok"][1] + best["hftok"][2]
        table = [
            [peer, *(f"{seconds * 1e3:.1f}" for seconds in times), f"{(times[1] + times[2]) / ours:.2f}x"]
            for peer, times in best.items()
        ]
        print_table(f"{name}: milliseconds", ["", "import", "load", "first encode", "to hftok"], table, options.json)
    return 0
