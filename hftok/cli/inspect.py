"""`hftok inspect`: what a tokenizer consists of, and how it will run here."""

from __future__ import annotations

import argparse
import json
from typing import Any

from hftok._core import parallel
from hftok._core.engine import cache_budget
from hftok.cli.inputs import TOKENIZER, UserError, open_tokenizer
from hftok.cli.terminal import Style
from hftok.tokenizer import Tokenizer

HELP = "Show a tokenizer's components, and whether a scanner or the exact path runs it and why"
EPILOG = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokenizer", metavar="TOKENIZER", help=TOKENIZER)
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    parser.add_argument("--no-colour", "--no-color", action="store_true", help="plain text")


def facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """What `hftok inspect` shows."""
    engine, _ = tokenizer._ready()
    added = tokenizer.get_added_tokens_decoder()
    components = {
        name: None if part is None else str(part)
        for name, part in (
            ("normalizer", tokenizer.normalizer),
            ("pre_tokenizer", tokenizer.pre_tokenizer),
            ("post_processor", tokenizer.post_processor),
            ("decoder", tokenizer.decoder),
        )
    }
    return {
        "model": type(tokenizer.model).__name__,
        "vocabulary": tokenizer.get_vocab_size(with_added_tokens=False),
        "added_tokens": len(added),
        "special_tokens": sum(token.special for token in added.values()),
        **components,
        "truncation": tokenizer.truncation,
        "padding": tokenizer.padding,
        "path": "scanner" if engine.is_fast else "exact",
        "why_exact": engine.why_exact,
        "cpu_tier": engine.tier,
        "threads": parallel.max_threads() if parallel.HAVE_OPENMP else 1,
        "openmp": parallel.HAVE_OPENMP,
        "cache_bytes": cache_budget(),
    }


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 100 else text[:97] + "..."


def run(options: argparse.Namespace) -> int:
    tokenizer = open_tokenizer(options.tokenizer)
    try:
        found = facts(tokenizer)
    except Exception as error:
        raise UserError(f"the tokenizer {options.tokenizer!r} cannot be made ready: {error}") from None
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
        return 0
    style = Style(False if options.no_colour else None)
    rows = [
        ("model", f"{found['model']}, {found['vocabulary']:,} tokens"),
        ("added tokens", f"{found['added_tokens']:,}, special: {found['special_tokens']:,}"),
        ("normalizer", _short(found["normalizer"])),
        ("pre-tokenizer", _short(found["pre_tokenizer"])),
        ("post-processor", _short(found["post_processor"])),
        ("decoder", _short(found["decoder"])),
        ("truncation", _short(found["truncation"])),
        ("padding", _short(found["padding"])),
        ("path", "scanner" if found["path"] == "scanner" else f"exact, because: {found['why_exact']}"),
        ("processor", f"{found['cpu_tier']} kernels"),
        ("threads", f"{found['threads']}" if found["openmp"] else "1 (built without OpenMP)"),
        ("cache", f"up to {found['cache_bytes'] / 2**20:.0f} MiB"),
    ]
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{style.bold(name.ljust(width))}  {value}")
    return 0
