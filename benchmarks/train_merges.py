"""BPE training beside the installed trainers, one process each: CPU seconds, peak memory, and whether the merges agree.

    python benchmarks/train_merges.py TEXT_FILE [--vocab-size 32000] [--megabytes 20] [--threads 1]

Words are what stands between white space, for all trainers alike. `feed` is the time to count them, `merge` the rest;
the peers do not tell the two apart. rustbpe has another base order, so it is compared with hftok's symbols="bytes".
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

Row = dict[str, float | str]


def lines(path: str, size: int) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            size -= len(line.encode())
            if size < 0:
                return
            yield line


def digest(merges: list[tuple[bytes, bytes]]) -> str:
    return hashlib.sha256(repr(merges).encode()).hexdigest()[:12]


def run_hftok(path: str, size: int, vocab_size: int, threads: int, symbols: str = "characters") -> Row:
    from hftok._core.training.bpe import train_bpe
    from hftok._core.training.words import WordCounts

    start = time.process_time()
    words = WordCounts()
    for line in lines(path, size):
        words.add_whitespace_split(line)
    fed = time.process_time()
    trained = train_bpe(words, vocab_size=vocab_size, threads=threads, symbols=symbols)  # type: ignore[arg-type]
    end = time.process_time()
    merges = trained.merge_strings() if symbols == "characters" else trained.vocab[256:]
    return {"feed": fed - start, "merge": end - fed, "merges": digest(merges)}


def run_hftok_bytes(path: str, size: int, vocab_size: int, threads: int) -> Row:
    return run_hftok(path, size, vocab_size, threads, "bytes")


def run_tokenizers(path: str, size: int, vocab_size: int, threads: int) -> Row:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    start = time.process_time()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, show_progress=False)
    tokenizer.train_from_iterator(lines(path, size), trainer)
    end = time.process_time()
    merges = [tuple(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]
    return {"merge": end - start, "merges": digest(merges)}


def run_rustbpe(path: str, size: int, vocab_size: int, threads: int) -> Row:
    import rustbpe

    start = time.process_time()
    trainer = rustbpe.Tokenizer()
    trainer.train_from_iterator(lines(path, size), vocab_size, pattern=r"\S+")
    end = time.process_time()
    return {"merge": end - start, "merges": digest([bytes(token) for token, _ in trainer.get_mergeable_ranks()][256:])}


TRAINERS: dict[str, Callable[[str, int, int, int], Row]] = {
    "hftok": run_hftok,
    "tokenizers": run_tokenizers,
    "hftok bytes": run_hftok_bytes,
    "rustbpe": run_rustbpe,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--vocab-size", type=int, default=32000)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", choices=TRAINERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        size = int(arguments.megabytes * 1e6)
        row = TRAINERS[arguments.only](arguments.path, size, arguments.vocab_size, arguments.threads)
        row["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(row))
        return
    environment = {**os.environ, "RAYON_NUM_THREADS": str(arguments.threads)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path.cwd()), environment.get("PYTHONPATH")]))
    print(f"{'trainer':<12} {'feed CPU s':>10} {'merge CPU s':>11} {'peak MiB':>9}  merges")
    for name in TRAINERS:
        command = [sys.executable, __file__, *sys.argv[1:], "--only", name]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            print(f"{name:<12} {done.stderr.strip().splitlines()[-1]}")
            continue
        row = json.loads(done.stdout.splitlines()[-1])
        feed = f"{row['feed']:.2f}" if "feed" in row else ""
        print(f"{name:<12} {feed:>10} {row['merge']:>11.2f} {row['peak']:>9.0f}  {row['merges']}")


if __name__ == "__main__":
    main()
