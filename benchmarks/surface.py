"""The calls of training and serving code: a transformers tokenizer called on texts, batches and conversations."""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.corpora import default_corpora, default_tokenizer, documents, excerpts, tokenizer_path
from benchmarks.measure import add_options, machine, print_table, rounds_of_short, use_processor_time
from benchmarks.peers import failure

MESSAGES = 40
# For tokenizers that bring no chat template.
TEMPLATE = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def sides_of(path: str) -> dict[str, Any]:
    """The peers, on one tokenizer: that of a folder with a configuration, or a tokenizer.json with BERT's tokens."""
    import transformers

    import hftok.hf

    folder = pathlib.Path(path).parent
    sides: dict[str, Any]
    if (folder / "tokenizer_config.json").is_file():
        sides = {
            "hftok": hftok.hf.AutoTokenizer.from_pretrained(folder),
            "transformers": transformers.AutoTokenizer.from_pretrained(folder),
        }
        return sides | look_alikes(transformers.AutoTokenizer.from_pretrained(folder))
    tokens: dict[str, Any] = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    sides = {
        "hftok": hftok.hf.PreTrainedTokenizerFast(tokenizer_file=path, model_max_length=512, **tokens),
        "transformers": transformers.PreTrainedTokenizerFast(tokenizer_file=path, model_max_length=512, **tokens),
    }
    return sides | look_alikes(transformers.PreTrainedTokenizerFast(tokenizer_file=path, **tokens))


def look_alikes(live: Any) -> dict[str, Any]:
    """What nanotoken and gigatoken, where installed, make of a transformers tokenizer."""
    if live.pad_token is None:
        live.pad_token = live.eos_token
    found = {}
    for name in ("nanotoken", "gigatoken"):
        try:
            found[name] = import_module(name).Tokenizer(live).as_hf()
        except ImportError:
            continue
        except BaseException as error:
            print(f"({name} refuses this tokenizer: {failure(error)})")
    return found


def plain(result: Any) -> Any:
    if isinstance(result, str):
        return result
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in result.items()}


def calls(texts: list[str], sizes: list[int], max_length: int) -> Iterator[tuple[str, int, Callable[[Any], Any]]]:
    """(what it is, number of texts, the call)."""
    settings = {"padding": True, "truncation": True, "max_length": max_length}
    for size in sizes:
        batch: Any = texts[:size] if size > 1 else texts[0]
        other: Any = texts[size : 2 * size] if size > 1 else texts[1]
        for what, args, kwargs in (
            ("to tensors", (batch,), {"return_tensors": "pt"}),
            ("to lists", (batch,), {}),
            ("and their offsets to lists", (batch,), {"return_offsets_mapping": True}),
            ("and a second one each to tensors", (batch, other), {"return_tensors": "pt"}),
        ):
            yield f"{size} text(s) {what}", size, lambda t, a=args, k=kwargs: t(*a, **settings, **k)
    turns = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts[:MESSAGES])]
    for what, kwargs in (
        ("to text", {"tokenize": False}),
        ("to tensors", {"return_dict": True, "return_tensors": "pt"}),
    ):
        yield f"{MESSAGES} messages {what}", 1, lambda t, k=kwargs: t.apply_chat_template(turns, **k)


def parts_of_call(side: Any, texts: list[str], tensors: bool, max_length: int) -> dict[str, Callable[[], Any]]:
    """What a door cannot do without, by name: BatchEncodings of values that are ready, of the engine's rows."""
    import torch
    from transformers import BatchEncoding

    from_numpy = torch.from_numpy
    batch: Any = texts if len(texts) > 1 else texts[0]
    kwargs = {"padding": True, "truncation": True, "max_length": max_length}
    if not tensors:
        lists = dict(side(batch, **kwargs))
        return {"BatchEncoding of ready lists": lambda: BatchEncoding(lists.copy())}
    arrays = {name: value.numpy() for name, value in side(batch, return_tensors="pt", **kwargs).items()}
    parts = {
        "BatchEncoding of ready arrays": lambda: BatchEncoding({k: from_numpy(a) for k, a in arrays.items()}),
    }
    if len(texts) > 1:
        engine = side._tokenizer
        wanted = {f"return_{name}": name in arrays for name in ("attention_mask", "token_type_ids")}
        parts["encode_batch_padded to BatchEncoding"] = lambda: BatchEncoding(
            {k: from_numpy(a) for k, a in engine.encode_batch_padded(texts, max_length=max_length, **wanted).items()}
        )
    return parts


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks surface", description=__doc__)
    parser.add_argument("--tokenizer", default=default_tokenizer())
    parser.add_argument("--corpus", default=default_corpora()[0])
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 32, 1024])
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--characters", type=int, default=140, help="of a text")
    parser.add_argument("--rounds", type=int, default=5)
    add_options(parser)
    options = parser.parse_args(arguments)
    if options.processor_time:
        use_processor_time()
    import torch  # noqa: F401  (tensors are what is measured)

    print(json.dumps(machine()))
    sides = sides_of(tokenizer_path(options.tokenizer))
    for side in sides.values():
        if getattr(side, "chat_template", None) is None:
            side.chat_template = TEMPLATE
        if side.pad_token is None:
            side.pad_token = side.eos_token
    with excerpts([options.corpus], 4) as files:
        text = " ".join(documents(next(iter(files.values()))))
    texts = [text[i : i + options.characters] for i in range(0, len(text), options.characters)]
    for what, size, call in calls(texts, options.batches, options.max_length):
        able = dict(sides)
        expected = plain(call(sides["hftok"]))
        for name, side in sides.items():
            try:
                found = plain(call(side))
            except BaseException as error:
                if name in ("hftok", "transformers"):
                    raise
                failure(error)
                del able[name]  # a peer that does not do that
                continue
            if name == "transformers" and found != expected:
                print(f"{name} and hftok differ: {what}")
                return 1
            if isinstance(expected, dict):
                # The look-alikes leave out token type ids. One that leaves out more does not do what is asked.
                lacks = expected.keys() - found.keys() - {"token_type_ids"}
                if lacks or any(found[key] != expected[key] for key in expected.keys() & found.keys()):
                    print(f"\n({name} {'ignores' if lacks else 'differs'}: {what})")
                    del able[name]
        best = rounds_of_short({name: partial(call, side) for name, side in able.items()}, options.rounds)
        if what.endswith(("text(s) to tensors", "text(s) to lists")):
            parts = parts_of_call(sides["hftok"], texts[:size], what.endswith("tensors"), options.max_length)
            door = sides["hftok"]
            # The door and its parts once more, in turn: what is asked about is a difference of microseconds.
            best |= rounds_of_short(
                {"hftok, in turn with the following": partial(call, door), **parts}, 4 * options.rounds
            )
        table = [
            [name, f"{seconds * 1e6:.1f}", f"{seconds * 1e6 / size:.2f}", f"{seconds / best['hftok']:.2f}x"]
            for name, seconds in best.items()
        ]
        title = f"{what}, {options.characters} characters each"
        if "messages" not in what:
            title += f", padded, cut at {options.max_length}"
        print_table(title, ["", "us a call", "us a text", "to hftok"], table, options.json)
    return 0
