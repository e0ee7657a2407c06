"""`hftok bench`: how fast a file is encoded here, beside the reference, and whether the ids agree."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

from hftok.cli.inputs import (
    TOKENIZER,
    UserError,
    documents,
    open_reference,
    open_tokenizer,
    reference_module,
    source_of,
)
from hftok.cli.parity import batches
from hftok.cli.terminal import Style, counted, size_of, table

HELP = "Time the encoding of a file, cold and warm, beside the reference where it is installed"
EPILOG = (
    "Cold: with an empty cache; warm: the best of three more runs. The reference encodes with encode_batch_fast, which "
    "gives ids only, as the run of hftok does. A speed on one machine says little; the ratio says more."
)
WARM_RUNS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokenizer", metavar="TOKENIZER", help=TOKENIZER)
    parser.add_argument("file", metavar="FILE", help="UTF-8 text; one document, if nothing else is said")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--separator", metavar="S", help="what stands between two documents ('\\n\\n', '<|endoftext|>')")
    how.add_argument("--jsonl-field", metavar="F", help="one JSON object a line; the text is under this key")
    parser.add_argument(
        "--validate", action="store_true", help="compare the ids of every document; exit 1 if they differ"
    )
    parser.add_argument("--threads", metavar="N", type=int, help="for both (default: as many as there are cores)")
    parser.add_argument(
        "--hf-mb",
        metavar="MB",
        type=float,
        default=100,
        help="let the reference time only so much (default 100; 0: skip)",
    )
    parser.add_argument("--json", action="store_true", help="the figures as one JSON object")
    parser.add_argument("--no-colour", "--no-color", action="store_true", help="plain text")


def _timed(call: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def _speed(bytes_read: int, seconds: float, tokens: int) -> dict[str, float]:
    seconds = max(seconds, 1e-9)
    return {"seconds": seconds, "mb_per_s": bytes_read / seconds / 1e6, "tokens_per_s": tokens / seconds}


def _first(texts: Iterable[str], limit: float) -> Iterator[str]:
    """Texts until they are `limit` bytes; the one that reaches it is the last."""
    size = 0
    for text in texts:
        yield text
        size += len(text.encode("utf-8"))
        if size >= limit:
            return


def _validate(rows: Any, reference: Any, texts: Iterable[str]) -> dict[str, Any]:
    """Every row against the reference; {"documents": n} and, where one differs, its number, text and position."""
    number = 0
    for batch in batches(texts):
        for text, encoding in zip(batch, reference.encode_batch_fast(batch), strict=True):
            if number >= len(rows) or rows[number].tolist() != encoding.ids:
                ours = rows[number].tolist() if number < len(rows) else []
                at = next((i for i, (a, b) in enumerate(zip(ours, encoding.ids, strict=False)) if a != b), None)
                at = min(len(ours), len(encoding.ids)) if at is None else at
                return {
                    "documents": number,
                    "different": number,
                    "position": at,
                    "hftok": ours[at : at + 5],
                    "reference": encoding.ids[at : at + 5],
                    "text": text[:200],
                }
            number += 1
    if number != len(rows):
        return {"documents": number, "different": number, "reference_documents": number, "hftok_documents": len(rows)}
    return {"documents": number}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """The figures that `hftok bench` prints."""
    if options.threads is not None and options.threads < 1:
        raise UserError("--threads must be 1 or more")
    if options.hf_mb < 0:
        raise UserError("--hf-mb must be 0 or more")
    if options.threads is not None:
        # Read by the core at each call, and by the reference when it first runs.
        os.environ["OMP_NUM_THREADS"] = os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    parallel = options.threads != 1
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if parallel else "false"
    from hftok._core.parallel import enabled, max_threads

    source = source_of(options.file, options.separator, options.jsonl_field)
    size = os.path.getsize(options.file)
    load, tokenizer = _timed(lambda: open_tokenizer(options.tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.clear_cache()
    try:
        cold, rows = _timed(lambda: tokenizer.encode_files(source, parallel=parallel))
        warm = min(_timed(lambda: tokenizer.encode_files(source, parallel=parallel))[0] for _ in range(WARM_RUNS))
    except (OSError, ValueError) as error:
        raise UserError(f"{options.file}: {error}") from None
    found: dict[str, Any] = {
        "file": options.file,
        "bytes": size,
        "documents": len(rows),
        "tokens": rows.num_tokens,
        "threads": max_threads() if parallel and enabled(True) else 1,
        "hftok": {
            "load_seconds": load,
            "cold": _speed(size, cold, rows.num_tokens),
            "warm": _speed(size, warm, rows.num_tokens),
        },
    }
    if reference_module() is None and not options.validate:
        return found
    load, reference = _timed(lambda: open_reference(options.tokenizer, tokenizer))
    reference.no_truncation()
    reference.no_padding()
    if options.hf_mb > 0:
        seconds, read, tokens = 0.0, 0, 0
        texts = documents(options.file, options.separator, options.jsonl_field)
        for batch in batches(_first(texts, options.hf_mb * 1e6)):
            took, encodings = _timed(lambda batch=batch: reference.encode_batch_fast(batch))
            seconds += took
            read += sum(len(text.encode("utf-8")) for text in batch)
            tokens += sum(map(len, encodings))
        found["reference"] = {
            "version": reference_module().__version__,
            "load_seconds": load,
            "bytes": read,
            "run": _speed(read, seconds, tokens),
        }
        if read:
            speed = found["reference"]["run"]["mb_per_s"]
            found["ratio"] = {name: found["hftok"][name]["mb_per_s"] / speed for name in ("cold", "warm")}
    if options.validate:
        texts = documents(options.file, options.separator, options.jsonl_field)
        found["validation"] = _validate(rows, reference, texts)
    return found


def run(options: argparse.Namespace) -> int:
    found = measure(options)
    different = "different" in found.get("validation", {})
    if options.json:
        print(json.dumps(found, ensure_ascii=False))
        return 1 if different else 0
    style = Style(False if options.no_colour else None)
    print(
        f"{found['file']}: {size_of(found['bytes'])}, {counted(found['documents'], 'document')}, "
        f"{counted(found['tokens'], 'token')}, {counted(found['threads'], 'thread')}"
    )
    rows = [("", "load", "MB/s", "tokens/s", "ratio")]
    for name in ("cold", "warm"):
        speed = found["hftok"][name]
        ratio = f"{found['ratio'][name]:.1f}x" if "ratio" in found else ""
        load = f"{found['hftok']['load_seconds'] * 1e3:.0f} ms" if name == "cold" else ""
        rows.append((f"hftok, {name}", load, f"{speed['mb_per_s']:.1f}", f"{speed['tokens_per_s']:,.0f}", ratio))
    if "reference" in found:
        reference = found["reference"]
        label = f"tokenizers {reference['version']}"
        if reference["bytes"] < found["bytes"] * 0.99:
            label += f" ({size_of(reference['bytes'])} of it)"
        speed = reference["run"]
        load = f"{reference['load_seconds'] * 1e3:.0f} ms"
        rows.append((label, load, f"{speed['mb_per_s']:.1f}", f"{speed['tokens_per_s']:,.0f}", "1.0x"))
    print(table(rows))
    if "validation" in found:
        validation = found["validation"]
        if not different:
            print(
                style.good("ids equal")
                + f" in {'all ' if validation['documents'] > 1 else ''}{counted(validation['documents'], 'document')}"
            )
        elif "position" in validation:
            print(style.bad(f"document {validation['different']} differs") + f" at token {validation['position']}:")
            print(f"  hftok     {validation['hftok']}\n  reference {validation['reference']}")
            print(f"  text      {validation['text']!a}")
            print("`hftok parity` with the same arguments shows the shortest text that differs.")
        else:
            print(
                style.bad("different documents")
                + f": hftok {validation['hftok_documents']:,}, read apart {validation['reference_documents']:,}"
            )
    return 1 if different else 0
