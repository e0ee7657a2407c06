"""`hftok parity`: the documents of files into hftok and into the reference, every field compared."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any

from hftok.cli.inputs import (
    REFERENCE_VERSION,
    TOKENIZER,
    UserError,
    documents,
    open_reference,
    open_tokenizer,
    reference_module,
)
from hftok.cli.terminal import Style, counted
from hftok.testing import Difference, encoding_fields, find_difference

HELP = "Compare ids, offsets, type ids and word ids with the installed reference on files"
EPILOG = "The first difference is made short and printed so that it can be pasted into a report; exit status 1."

BATCH_CHARACTERS = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokenizer", metavar="TOKENIZER", help=TOKENIZER)
    parser.add_argument("files", metavar="FILE", nargs="+", help="UTF-8 text; one document, if nothing else is said")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--separator", metavar="S", help="what stands between two documents ('\\n\\n', '<|endoftext|>')")
    how.add_argument("--jsonl-field", metavar="F", help="one JSON object a line; the text is under this key")
    parser.add_argument("--documents", metavar="N", type=int, help="compare the first N documents of every file only")
    parser.add_argument("--pairs", action="store_true", help="encode every document together with the one before it")
    parser.add_argument("--no-special-tokens", action="store_true", help="leave special tokens out")
    parser.add_argument("--no-colour", "--no-color", action="store_true", help="plain text")


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in batches of some size, the last one smaller."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _compare(tokenizer: Any, reference: Any, batch: list[Any], special: bool) -> tuple[int, Difference | None]:
    """(tokens compared, the first difference in a batch)."""
    try:
        ours = tokenizer.encode_batch(batch, add_special_tokens=special)
        theirs = reference.encode_batch(batch, add_special_tokens=special)
    except Exception:  # on one side or on both: document by document
        return 0, find_difference(tokenizer, reference, batch, add_special_tokens=special)
    tokens = 0
    for item, one, other in zip(batch, ours, theirs, strict=True):
        tokens += len(other)
        if encoding_fields(one) != encoding_fields(other):
            found = find_difference(tokenizer, reference, [item], add_special_tokens=special)
            return tokens, found or find_difference(tokenizer, reference, batch, add_special_tokens=special)
    return tokens, None


def run(options: argparse.Namespace) -> int:
    if options.documents is not None and options.documents < 1:
        raise UserError("--documents must be 1 or more")
    tokenizer = open_tokenizer(options.tokenizer)
    reference = open_reference(options.tokenizer, tokenizer)
    style = Style(False if options.no_colour else None)
    version = reference_module().__version__
    special = not options.no_special_tokens
    number = tokens = characters = 0
    begin = time.monotonic()
    for path in options.files:
        texts = itertools.islice(documents(path, options.separator, options.jsonl_field), options.documents)
        previous = ""
        for batch in batches(texts):
            items: list[Any] = list(batch)
            if options.pairs:
                items = list(zip([previous, *batch[:-1]], batch, strict=True))
                previous = batch[-1]
            more, difference = _compare(tokenizer, reference, items, special)
            if difference is not None:
                print(style.bad(f"{path}: a difference") + f" (after {counted(number, 'document')} without one)\n")
                print(difference.report())
                return 1
            number += len(batch)
            tokens += more
            characters += sum(map(len, batch))
            if sys.stderr.isatty():
                print(f"\r{number:,} documents, {tokens:,} tokens", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r", end="", file=sys.stderr)
    print(
        style.good("equal")
        + f": {counted(number, 'document')}, {counted(characters, 'character')}, {counted(tokens, 'token')}, all fields"
        + f" (tokenizers {version}, {time.monotonic() - begin:.1f} s)"
    )
    if version != REFERENCE_VERSION:
        print(style.dim(f"note: hftok reproduces tokenizers {REFERENCE_VERSION}"))
    return 0
