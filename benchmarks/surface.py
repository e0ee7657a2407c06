"""The calls of training and serving code: a transformers tokenizer called on single texts and batches."""

from __future__ import annotations

import argparse
import json
import time
import timeit
from typing import Any

from benchmarks.corpora import default_corpora, default_tokenizer, documents, excerpts, tokenizer_path
from benchmarks.measure import machine, print_table


def plain(batch: Any) -> dict[str, Any]:
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in batch.items()}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks surface", description=__doc__)
    parser.add_argument("--tokenizer", default=default_tokenizer())
    parser.add_argument("--corpus", default=default_corpora()[0])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 32, 1024])
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--characters", type=int, default=140, help="of a text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processor-time", action="store_true", help="of all threads, where the machine is busy")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    clock = time.process_time if options.processor_time else time.perf_counter
    import torch  # noqa: F401  (tensors are what is measured)
    import transformers

    import hftok

    print(json.dumps(machine()))
    path = tokenizer_path(options.tokenizer)
    tokens = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    sides: dict[str, Any] = {
        "hftok": hftok.Tokenizer(path).as_hf(model_max_length=512, **tokens),
        "transformers": transformers.PreTrainedTokenizerFast(tokenizer_file=path, model_max_length=512, **tokens),
    }
    try:
        import nanotoken

        live = transformers.PreTrainedTokenizerFast(tokenizer_file=path, **tokens)
        sides["nanotoken"] = nanotoken.Tokenizer(live).as_hf()
    except ImportError:
        pass
    with excerpts([options.corpus], 4) as files:
        text = " ".join(documents(next(iter(files.values()))))
    texts = [text[i : i + options.characters] for i in range(0, len(text), options.characters)]
    settings = {"padding": True, "truncation": True, "max_length": options.max_length}
    for size in options.batches:
        batch = texts[:size] if size > 1 else texts[0]
        for tensors in ("pt", None):
            expected = plain(sides["hftok"](batch, return_tensors=tensors, **settings))
            for name, side in sides.items():
                found = plain(side(batch, return_tensors=tensors, **settings))
                if {key: found[key] for key in expected if key in found} != expected:
                    print(f"{name} and hftok differ at batch {size}, tensors {tensors}")
                    return 1
            best = dict.fromkeys(sides, float("inf"))
            for _ in range(options.rounds):
                for name, side in sides.items():
                    timer = timeit.Timer(
                        lambda s=side, b=batch, t=tensors: s(b, return_tensors=t, **settings), timer=clock
                    )
                    number = max(1, timer.autorange()[0] // 4)
                    best[name] = min(best[name], timer.timeit(number) / number)
            table = [
                [name, f"{seconds * 1e6:.1f}", f"{seconds * 1e6 / size:.2f}", f"{seconds / best['hftok']:.2f}x"]
                for name, seconds in best.items()
            ]
            what = "lists" if tensors is None else tensors
            title = f"{size} text(s) of {options.characters} characters to {what}, padded, cut at {options.max_length}"
            print_table(title, ["", "us a call", "us a text", "to hftok"], table, options.json)
    return 0
