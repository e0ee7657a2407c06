"""The command line: `hftok demo | encode | inspect | parity | bench | train`.

Exit status: 0: done; 1: a difference from the reference was found; 2: wrong use, or something cannot be read.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from hftok import __version__
from hftok.cli import bench, demo, encode, inspect, parity, train
from hftok.cli.inputs import UserError

__all__ = ["main"]

COMMANDS = (demo, encode, inspect, parity, bench, train)


class _Command(argparse.ArgumentParser):
    """The parser of one command: options may stand between the other arguments, too."""

    _inside = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._inside:
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hftok",
        description="Exact, fast tokenization. Try `hftok demo` first.",
        epilog="TOKENIZER is the path of a tokenizer.json, of a folder or of a vocab.txt, a Hub id, or `demo`.",
    )
    parser.add_argument("--version", action="version", version=f"hftok {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Command)
    for module in COMMANDS:
        name = module.__name__.rpartition(".")[2]
        command = commands.add_parser(name, help=module.HELP, description=module.HELP + ".", epilog=module.EPILOG)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit status.

    >>> main(["encode", "demo", "[CLS] [SEP]", "--ids", "--no-special-tokens"])
    2 3
    0
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return 2
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a character is no reason to fail
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except UserError as error:
        print(f"hftok {options.command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone (`| head`); nothing may be written any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status
