"""The trainers that installed packages have, each behind the same face: a file in, what was learnt out.

python -m benchmarks.trainers SETTINGS (JSON): one training in this process, which is new; its figures as JSON.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["ORDERS", "PATTERNS", "PRE_TOKENIZERS", "TRAINERS", "Clock", "train_tokenizer"]

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4 = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# By which pattern rustbpe splits as the pre-tokenizer of that name does.
PATTERNS = {"bytelevel": GPT2, "gpt4": GPT4, "o200k": O200K}
PRE_TOKENIZERS = ("bytelevel", "gpt4", "o200k", "whitespace", "bert", "metaspace", "digits", "none")


class Clock:
    """What happens inside `with`: from counting to the last merge, without imports and without writing the result."""

    merges: list[list[str]] | None = None  # to be compared with those of trainers that have another alphabet

    def __enter__(self) -> None:
        self.begin, self.cpu_begin = time.perf_counter(), time.process_time()

    def __exit__(self, *error: object) -> None:
        self.seconds = time.perf_counter() - self.begin
        self.cpu = time.process_time() - self.cpu_begin
        self.peak = _peak()


def _peak() -> int:
    """The most memory that this process has held, in bytes."""
    try:
        with open("/proc/self/status") as file:
            line = next(line for line in file if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        # Where a process starts as a copy of another this may be the other's.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _pre_tokenizer(package: Any, name: str) -> Any:
    kinds = package.pre_tokenizers
    if name == "bytelevel":
        return kinds.ByteLevel(add_prefix_space=False)
    if name in PATTERNS:
        split = kinds.Split(package.Regex(PATTERNS[name]), "isolated")
        return kinds.Sequence([split, kinds.ByteLevel(add_prefix_space=False, use_regex=False)])
    if name == "digits":
        return kinds.Sequence([kinds.Digits(individual_digits=True), kinds.Punctuation()])
    plain = {"whitespace": kinds.Whitespace, "bert": kinds.BertPreTokenizer, "metaspace": kinds.Metaspace}
    return plain[name]() if name in plain else None


def train_tokenizer(package: Any, settings: dict[str, Any], clock: Clock, **options: Any) -> str:
    """hftok and tokenizers: the same program."""
    models, trainers = package.models, package.trainers
    unknown = {"unk_token": "[UNK]"}
    kind = settings["model"]
    model = {
        "bpe": lambda: models.BPE(),
        "wordpiece": lambda: models.WordPiece(**unknown),
        "wordlevel": lambda: models.WordLevel(**unknown),
        "unigram": lambda: models.Unigram(),
    }[kind]()
    tokenizer = package.Tokenizer(model)
    if settings["normalizer"] == "nfkc-lowercase":
        normalizers = package.normalizers
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = _pre_tokenizer(package, settings["pre_tokenizer"])
    arguments = {"vocab_size": settings["vocab_size"], "show_progress": False}
    if kind == "bpe" and settings["pre_tokenizer"] in PATTERNS:
        arguments["initial_alphabet"] = package.pre_tokenizers.ByteLevel.alphabet()
    if kind == "unigram":
        arguments["unk_token"] = "[UNK]"
    if kind != "bpe":
        arguments["special_tokens"] = ["[UNK]"]
    trainer_names = {
        "bpe": "BpeTrainer",
        "wordpiece": "WordPieceTrainer",
        "wordlevel": "WordLevelTrainer",
        "unigram": "UnigramTrainer",
    }
    trainer = getattr(trainers, trainer_names[kind])(**arguments)
    with clock:
        tokenizer.train([settings["file"]], trainer, **options)
    learnt = json.loads(tokenizer.to_str())["model"]
    if kind == "bpe":
        clock.merges = learnt["merges"]
        return json.dumps([learnt["merges"], learnt["vocab"]])
    if kind == "wordlevel":
        return json.dumps(learnt["vocab"])
    if kind == "unigram":  # order and scores depend on the order of sums
        return json.dumps(sorted(piece for piece, _ in learnt["vocab"]))
    return str(len(learnt["vocab"]))  # the reference's is another one in every run


def _hftok(settings: dict[str, Any], clock: Clock) -> str:
    import hftok

    return train_tokenizer(
        hftok, settings, clock, threads=settings["threads"], memory_limit=settings.get("memory_limit")
    )


def _reference(settings: dict[str, Any], clock: Clock) -> str:
    import tokenizers

    return train_tokenizer(tokenizers, settings, clock)


def _bytes_in_order(module: Any, settings: dict[str, Any], clock: Clock) -> str:
    """hftok.rustbpe and rustbpe: the same program. Lines of a file are the texts, as for the others."""
    tokenizer = module.Tokenizer()
    with open(settings["file"], encoding="utf-8", newline="\n") as lines, clock:
        tokenizer.train_from_iterator(lines, settings["vocab_size"], pattern=PATTERNS[settings["pre_tokenizer"]])
    return json.dumps([bytes(token).hex() for token, _ in tokenizer.get_mergeable_ranks()])


def _hftok_rustbpe(settings: dict[str, Any], clock: Clock) -> str:
    import hftok.rustbpe

    return _bytes_in_order(hftok.rustbpe, settings, clock)


def _rustbpe(settings: dict[str, Any], clock: Clock) -> str:
    import rustbpe

    return _bytes_in_order(rustbpe, settings, clock)


def _gigabpe(settings: dict[str, Any], clock: Clock) -> str:
    import gigabpe

    kind = "bytelevel" if settings["pre_tokenizer"] == "bytelevel" else "whitespace"
    files, threads = [settings["file"]], settings["threads"]
    with clock:
        _, merges = gigabpe.train_bpe(files, settings["vocab_size"], pretokenizer=kind, threads=threads)
    clock.merges = list(map(list, merges))
    return ""


def _gigatoken(settings: dict[str, Any], clock: Clock) -> str:
    import gigatoken

    with clock:
        found = gigatoken.train_bpe(settings["file"], settings["vocab_size"], [], tie_breaking="huggingface")
    return repr(found)


TRAINERS: dict[str, Callable[[dict[str, Any], Clock], str]] = {
    "hftok": _hftok,
    "tokenizers": _reference,
    "hftok.rustbpe": _hftok_rustbpe,
    "rustbpe": _rustbpe,
    "gigabpe": _gigabpe,
    "gigatoken": _gigatoken,
}
# Trainers that must learn the same; the others count words or break ties in ways of their own.
ORDERS = (("hftok", "tokenizers"), ("hftok.rustbpe", "rustbpe"))


def main() -> None:
    settings = json.loads(sys.argv[1])
    # Read by the packages when they first run.
    os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(settings["threads"])
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if settings["threads"] > 1 else "false"
    clock = Clock()
    learnt = TRAINERS[settings["trainer"]](settings, clock)
    figures = {
        "seconds": clock.seconds,
        "cpu": clock.cpu,
        "peak": clock.peak,
        "learnt": hashlib.sha256(learnt.encode()).hexdigest(),
    }
    if clock.merges is not None:
        # A trainer that lacks some bytes has room for some more merges.
        figures["merges"] = hashlib.sha256(
            json.dumps(clock.merges[: settings["vocab_size"] - 256]).encode()
        ).hexdigest()
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
