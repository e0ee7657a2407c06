"""`hftok encode`: texts to tokens."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator

from hftok.cli.inputs import TOKENIZER, UserError, documents, open_tokenizer
from hftok.cli.terminal import Style

HELP = "Encode texts and print tokens with their offsets, ids, or JSON"
EPILOG = "Without a TEXT and without --file, every line of standard input is a text."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokenizer", metavar="TOKENIZER", help=TOKENIZER)
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what to encode")
    parser.add_argument("--pair", metavar="TEXT", help="the second sequence of every text")
    parser.add_argument("--file", metavar="FILE", action="append", default=[], help="encode the documents of a file")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--separator", metavar="S", help="what stands between two documents of a FILE ('\\n', ...)")
    how.add_argument("--jsonl-field", metavar="F", help="FILE has one JSON object a line; the text is under this key")
    parser.add_argument("--no-special-tokens", action="store_true", help="leave special tokens out")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--ids", action="store_true", help="one line of ids a text")
    form.add_argument("--json", action="store_true", help="one JSON object a text: ids, tokens, offsets, type_ids")
    form.add_argument("--no-colour", "--no-color", action="store_true", help="plain text")


def _texts(options: argparse.Namespace) -> Iterator[str]:
    yield from options.text
    for path in options.file:
        yield from documents(path, options.separator, options.jsonl_field)
    if not options.text and not options.file:
        for line in sys.stdin:
            yield line.removesuffix("\n")


def run(options: argparse.Namespace) -> int:
    if (options.separator is not None or options.jsonl_field is not None) and not options.file:
        raise UserError("--separator and --jsonl-field need a --file")
    tokenizer = open_tokenizer(options.tokenizer)
    style = Style(False if options.no_colour else None)
    special = not options.no_special_tokens
    for text in _texts(options):
        try:
            encoding = tokenizer.encode(text, options.pair, add_special_tokens=special)
        except Exception as error:
            raise UserError(f"{text[:60]!r} cannot be encoded: {error}") from None
        if options.ids:
            print(" ".join(map(str, encoding.ids)))
        elif options.json:
            fields = {name: getattr(encoding, name) for name in ("ids", "tokens", "offsets", "type_ids")}
            print(json.dumps(fields, ensure_ascii=False))
        else:
            print(style.tokens(encoding, ""))
    return 0
