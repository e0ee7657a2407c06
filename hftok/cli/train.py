"""`hftok train`: text files to a tokenizer.json."""

from __future__ import annotations

import argparse
import heapq
import logging
import os
import re
import time
from dataclasses import dataclass
from typing import Any

from hftok import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from hftok.cli.inputs import UserError
from hftok.cli.terminal import Style, printable, size_of
from hftok.errors import UnsupportedTokenizerError
from hftok.rustbpe import GPT4_PATTERN
from hftok.training.driver import train_on_texts
from hftok.training.texts import FileTexts

HELP = "Train a tokenizer on text files and write it to a tokenizer.json"
EPILOG = (
    "Every line of a FILE, with its ending, is a text. The result is that of `Tokenizer.train` on the same lines; it "
    "does not depend on --threads and --memory-limit. A little text at the end of the largest FILE is held back, and "
    "shows how well the vocabulary does on text that it has not seen; --held-back 0 trains on everything."
)
O200K_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# gpt2 is ByteLevel's own.
BYTE_PATTERNS = {"gpt2": None, "gpt4": GPT4_PATTERN, "o200k": O200K_PATTERN}
WORD_PATTERNS = {
    "whitespace": pre_tokenizers.Whitespace,
    "bert": pre_tokenizers.BertPreTokenizer,
    "metaspace": pre_tokenizers.Metaspace,
}
DEFAULT_PATTERN = {"bpe": "gpt2", "wordpiece": "bert", "unigram": "metaspace", "wordlevel": "whitespace"}
DEFAULT_SPECIAL = {
    "bpe": [],
    "wordpiece": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "unigram": ["<unk>"],
    "wordlevel": ["[UNK]"],
}
UNKNOWN = {"wordpiece": "[UNK]", "unigram": "<unk>", "wordlevel": "[UNK]"}
MOST_HELD_BACK = 1 << 20
SHOWN = 6

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", metavar="FILE", nargs="+", help="UTF-8 text")
    parser.add_argument("--out", metavar="PATH", required=True, help="the tokenizer.json to write")
    parser.add_argument("--tiktoken", metavar="PATH", help="write the ranks of a byte-level BPE to this file, too")
    parser.add_argument("--model", choices=tuple(DEFAULT_PATTERN), default="bpe")
    parser.add_argument("--vocab-size", metavar="N", type=int, default=32_000, help="default: 32000")
    parser.add_argument("--min-frequency", metavar="N", type=int, help="how often a pair or word must occur")
    parser.add_argument(
        "--pattern",
        metavar="P",
        help="how text is split: gpt2 (default for bpe), gpt4, o200k, whitespace, bert, metaspace, none, or a regular "
        "expression whose matches are the pieces",
    )
    parser.add_argument("--lowercase", action="store_true", help="lower the case of all text")
    parser.add_argument(
        "--special-token",
        metavar="T",
        action="append",
        help="a token that text is not split into; first ids, in this order (may be repeated)",
    )
    parser.add_argument(
        "--held-back",
        metavar="PERCENT",
        type=float,
        default=1.0,
        help="leave so much of the text out of the training, at most 1 MiB (default: 1)",
    )
    parser.add_argument("--threads", metavar="N", type=int, help="default: as many as there are cores")
    parser.add_argument("--memory-limit", metavar="MB", type=float, help="keep counts and index below it; takes longer")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    parser.add_argument("--verbose", action="store_true", help="log the stages to standard error")
    parser.add_argument("--no-colour", "--no-color", action="store_true", help="plain text")


def run(options: argparse.Namespace) -> int:
    if options.verbose:
        logging.basicConfig(level=logging.INFO, format="%(relativeCreated)7d ms %(name)s: %(message)s")
    _check(options)
    tokenizer, trainer = _untrained(options)
    held = _held_back(options.files, options.held_back)
    begin = time.perf_counter()
    try:
        texts = FileTexts(options.files, {held.path: held.start} if held else {})
        limit = None if options.memory_limit is None else int(options.memory_limit * 1e6)
        train_on_texts(tokenizer, trainer, texts, options.threads, limit)
    except Exception as error:
        message = str(error)
        where = " ".join(getattr(error, "__notes__", []))
        raise UserError(message if any(path in message for path in options.files) else f"{message} {where}") from None
    seconds = time.perf_counter() - begin
    if options.model == "wordpiece":
        ends = [(token, tokenizer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
        if all(number is not None for _, number in ends):
            tokenizer.post_processor = processors.BertProcessing(*ends)  # type: ignore[arg-type]
    try:
        tokenizer.save(options.out)
        if options.tiktoken is not None:
            tokenizer.save_tiktoken(options.tiktoken)
    except UnsupportedTokenizerError as error:
        raise UserError(f"--tiktoken: {error}") from None
    except Exception as error:
        raise UserError(f"cannot write: {error}") from None
    log.info("wrote %s", options.out)
    if not options.quiet:
        speed = f"{size_of(texts.size)} in {seconds:.1f} s"
        print(_summary(tokenizer, options, held, speed, Style(False if options.no_colour else None)))
    return 0


def _check(options: argparse.Namespace) -> None:
    """What would be a pity to find out after an hour."""
    for path in filter(None, (options.out, options.tiktoken)):
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise UserError(f"there is no folder {folder!r} to write {path!r} to")
        if os.path.isdir(path):
            raise UserError(f"{path!r} is a folder: name the file to write")
    for path in options.files:
        if not os.path.exists(path):
            raise UserError(f"there is no file {path!r}")
    for name, least in (("vocab_size", 0), ("min_frequency", 0), ("threads", 1), ("memory_limit", 1e-6)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UserError(f"--{name.replace('_', '-')} must be {'positive' if least else '0 or more'}, got {value}")
    if not 0 <= options.held_back < 100:
        raise UserError(f"--held-back is a percentage below 100, got {options.held_back}")
    if options.tiktoken is not None and (
        options.lowercase or not _is_byte_level(options) or _pattern(options) == "none"
    ):
        raise UserError("--tiktoken needs a byte-level BPE that splits by a pattern and does not lower the case")


# ---- the tokenizer ---------------------------------------------------------------------------------------------------


def _pattern(options: argparse.Namespace) -> str:
    pattern: str = DEFAULT_PATTERN[options.model] if options.pattern is None else options.pattern
    return pattern


def _is_byte_level(options: argparse.Namespace) -> bool:
    """BPE works on bytes, unless words are split in a way that is for characters."""
    return options.model == "bpe" and _pattern(options) not in WORD_PATTERNS


def _untrained(options: argparse.Namespace) -> tuple[Tokenizer, trainers.Trainer]:
    special = DEFAULT_SPECIAL[options.model] if options.special_token is None else list(options.special_token)
    unknown = UNKNOWN.get(options.model) or ("[UNK]" if not _is_byte_level(options) else None)
    if unknown is not None and unknown not in special:
        special = [unknown, *special]
    arguments: dict[str, Any] = {
        "vocab_size": options.vocab_size,
        "special_tokens": special,
        "show_progress": not options.quiet,
    }
    if options.min_frequency is not None:
        if options.model == "unigram":
            raise UserError("--min-frequency is nothing that a unigram model has")
        arguments["min_frequency"] = options.min_frequency
    model: models.Model
    trainer: trainers.Trainer
    if options.model == "wordpiece":
        model, trainer = models.WordPiece(unk_token=UNKNOWN[options.model]), trainers.WordPieceTrainer(**arguments)
    elif options.model == "wordlevel":
        model, trainer = models.WordLevel(unk_token=unknown), trainers.WordLevelTrainer(**arguments)
    elif options.model == "unigram":
        model, trainer = models.Unigram(), trainers.UnigramTrainer(unk_token=unknown, **arguments)
    else:
        if _is_byte_level(options):
            arguments["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()
        model, trainer = models.BPE(unk_token=unknown), trainers.BpeTrainer(**arguments)
    tokenizer = Tokenizer(model)
    _set_pipeline(tokenizer, options)
    return tokenizer, trainer


def _set_pipeline(tokenizer: Tokenizer, options: argparse.Namespace) -> None:
    pattern = _pattern(options)
    if options.model == "wordpiece":
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=options.lowercase)
        tokenizer.decoder = decoders.WordPiece()
    else:
        steps: list[Any] = [normalizers.NFKC()] if options.model == "unigram" else []
        steps += [normalizers.Lowercase()] if options.lowercase else []
        if steps:
            tokenizer.normalizer = normalizers.Sequence(steps) if len(steps) > 1 else steps[0]
    if _is_byte_level(options):
        tokenizer.decoder = decoders.ByteLevel()
        if pattern == "gpt2":
            tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
            return
        to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        if pattern == "none":
            tokenizer.pre_tokenizer = to_bytes
            return
        expression = BYTE_PATTERNS.get(pattern) or pattern
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([_split(expression, "isolated", False), to_bytes])
    elif pattern in WORD_PATTERNS:
        tokenizer.pre_tokenizer = WORD_PATTERNS[pattern]()
        if pattern == "metaspace":
            tokenizer.decoder = decoders.Metaspace()
    elif pattern in BYTE_PATTERNS:
        tokenizer.pre_tokenizer = _split(BYTE_PATTERNS[pattern] or GPT4_PATTERN, "isolated", False)
    elif pattern != "none":
        tokenizer.pre_tokenizer = _split(pattern, "removed", True)


def _split(pattern: str, behavior: str, invert: bool) -> pre_tokenizers.Split:
    if re.fullmatch(r"[a-z0-9_-]+", pattern):
        names = ", ".join([*BYTE_PATTERNS, *WORD_PATTERNS, "none"])
        raise UserError(f"--pattern {pattern}: there is no pattern of that name; choose from {names}")
    try:
        return pre_tokenizers.Split(Regex(pattern), behavior, invert)
    except Exception as error:
        raise UserError(f"--pattern {pattern!r}: {error}") from None


# ---- the summary -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldBack:
    """The end of a file that the training does not see."""

    path: str
    start: int

    def text(self) -> str:
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read().decode("utf-8", "replace")


def _held_back(files: list[str], percent: float) -> HeldBack | None:
    """Whole lines from the end of the largest file; None where there is none to spare."""
    sizes = {path: os.path.getsize(path) for path in files if os.path.isfile(path) and files.count(path) == 1}
    if not sizes:
        return None
    path = max(sizes, key=lambda name: sizes[name])
    size = min(int(sum(sizes.values()) * percent / 100), MOST_HELD_BACK, sizes[path] // 2)
    if size == 0:
        return None
    with open(path, "rb") as file:
        file.seek(sizes[path] - size)
        file.readline()  # the rest of a line that the training sees
        start = file.tell()
    return HeldBack(path, start) if start < sizes[path] else None


def _summary(tokenizer: Tokenizer, options: argparse.Namespace, held: HeldBack | None, speed: str, style: Style) -> str:
    vocab = tokenizer.get_vocab()
    token_of = {number: token for token, number in vocab.items()}
    special = set(tokenizer.get_added_tokens_decoder())
    text_of = decoders.ByteLevel().decode if _is_byte_level(options) else "".join
    tokens = sorted((number, token) for number, token in token_of.items() if number not in special)
    longest = heapq.nlargest(SHOWN, tokens, key=lambda item: (len(text_of([item[1]])), -item[0]))

    def shown(number: int) -> str:
        return _quoted(text_of([token_of[number]]))

    rows = [["vocabulary", f"{len(vocab):,} tokens, trained on {speed}"]]
    if held is not None:
        text = held.text()
        size = len(text.encode())
        count = tokenizer.count_tokens([text], add_special_tokens=False)[0] if size else 0
        rows.append(
            [
                "held back",
                f"{count / size:.4f} tokens a byte ({size / max(count, 1):.2f} bytes a token) on {size:,} bytes",
            ]
        )
    rows.append(["longest", "  ".join(shown(number) for number, _ in longest)])
    if options.model == "bpe" and tokens:
        merges = tokenizer.model._description().fields["merges"].rows.tolist()
        pairs = [f"{shown(left)}+{shown(right)}" for left, right, _ in merges[-SHOWN:]] or [
            "no pair was frequent enough"
        ]
        rows.append([f"last of {len(merges):,} merges", "  ".join(pairs)])
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{style.bold(name.ljust(width))}  {value}" for name, value in rows)


def _quoted(text: str) -> str:
    """A token for the summary: a run of one character is told by its length."""
    if len(text) > 8 and text == text[0] * len(text):
        return f"'{printable(text[0])}' x {len(text)}"
    return f"'{printable(text)}'"
