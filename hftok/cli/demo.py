"""`hftok demo`: the main job, with nothing but the package."""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

from hftok import __version__
from hftok._core import parallel
from hftok.cli.inputs import REFERENCE_VERSION, data_text, demo_tokenizer, reference_module
from hftok.cli.terminal import Style, table
from hftok.testing import find_difference
from hftok.tokenizer import Tokenizer

HELP = "Encode a batch to tensors with what ships with the package, show tokens, compare, and time it"
EPILOG = "Needs no network and no other file. Exit status 1: the reference is installed and gives something else."

SHOWN = 6
THROUGHPUT_BYTES = 4_000_000
REFERENCE_BYTES = 150_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--no-colour", "--no-color", action="store_true", help="plain text")


def tensors(tokenizer: Tokenizer, texts: list[str]) -> tuple[str, dict[str, Any]]:
    """A padded batch as torch tensors where torch is installed, else as NumPy arrays."""
    arrays: dict[str, Any] = dict(tokenizer.encode_batch_padded(texts, max_length=128))
    try:
        import torch
    except ImportError:
        return "numpy", arrays
    return "torch", {name: torch.from_numpy(array) for name, array in arrays.items()}


def _seconds(call: Any) -> float:
    call()
    begin = time.perf_counter()
    call()
    return max(time.perf_counter() - begin, 1e-9)


def run(options: argparse.Namespace) -> int:
    style = Style(False if options.no_colour else None)
    tokenizer = demo_tokenizer()
    texts = [text.strip("\n") for text in data_text("demo_texts.txt").split("\n\n")]
    engine, _ = tokenizer._ready()
    print(
        style.bold(f"hftok {__version__}")
        + f": a WordPiece tokenizer of {tokenizer.get_vocab_size():,} tokens, {len(texts)} texts in many scripts, "
        + f"{engine.tier} kernels"
    )

    library, batch = tensors(tokenizer, texts)
    print("\n" + style.bold("A batch, padded and cut at 128 tokens") + f" ({library})")
    rows = [(name, f"{tuple(value.shape)}", str(value.dtype).removeprefix("torch.")) for name, value in batch.items()]
    print(table(rows))
    print(f"  input_ids[0, :12] = {batch['input_ids'][0, :12].tolist()}")

    print("\n" + style.bold("Tokens and where they stand in the text"))
    for text in _samples(texts):
        print(f"\n  {text}")
        print(style.tokens(tokenizer.encode(text, add_special_tokens=False)))

    status = _compare(tokenizer, texts, style)
    _throughput(tokenizer, texts, style)
    return status


def _samples(texts: list[str]) -> list[str]:
    """The beginnings of some texts, far apart."""
    step = len(texts) // SHOWN
    return [" ".join(texts[i * step].split()[:9])[:44] for i in range(SHOWN)]


def _reference(tokenizer: Tokenizer) -> Any:
    module = reference_module()
    return None if module is None else module.Tokenizer.from_str(tokenizer.to_str())


def _compare(tokenizer: Tokenizer, texts: list[str], style: Style) -> int:
    print("\n" + style.bold("The same as the reference?"))
    reference = _reference(tokenizer)
    if reference is None:
        print(f"  not compared: tokenizers is not installed (pip install tokenizers=={REFERENCE_VERSION})")
        return 0
    pairs = list(itertools.pairwise(texts))
    difference = find_difference(tokenizer, reference, [*texts, *pairs])
    if difference is None:
        difference = find_difference(tokenizer, reference, texts, add_special_tokens=False)
    version = reference_module().__version__
    if difference is not None:
        print(style.bad(f"  no, tokenizers {version} gives something else:\n"))
        print(difference.report())
        return 1
    print(
        style.good("  yes")
        + f": {len(texts)} texts and {len(pairs)} pairs, alone and as batches, ids, offsets, words and masks equal to "
        + f"tokenizers {version}"
    )
    return 0


def _throughput(tokenizer: Tokenizer, texts: list[str], style: Style) -> None:
    size = sum(len(text.encode()) for text in texts)
    many = texts * max(THROUGHPUT_BYTES // size, 1)
    megabytes = len(many) // len(texts) * size / 1e6
    print("\n" + style.bold("Throughput") + " (these texts over and over, ids only)")
    rows = []
    one = megabytes / _seconds(lambda: tokenizer.encode_batch_ids(many, parallel=False))
    rows.append(("hftok, 1 thread", f"{one:.1f} MB/s"))
    if parallel.enabled(True) and parallel.max_threads() > 1:
        all_threads = megabytes / _seconds(lambda: tokenizer.encode_batch_ids(many, parallel=True))
        rows.append((f"hftok, {parallel.max_threads()} threads", f"{all_threads:.1f} MB/s"))
    reference = _reference(tokenizer)
    if reference is not None:
        few = texts * max(REFERENCE_BYTES // size, 1)
        speed = len(few) // len(texts) * size / 1e6 / _seconds(lambda: [reference.encode(text) for text in few])
        rows.append(("tokenizers, 1 thread", f"{speed:.1f} MB/s"))
    print(table(rows))
