"""`hftok train`: what it writes is the reference's, the summary tells the truth, mistakes are told in one line."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from tiktoken.load import load_tiktoken_bpe

import hftok
from hftok import cli
from hftok.cli.train import GPT4_PATTERN, O200K_PATTERN

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_command(*arguments: object) -> tuple[int, str, str]:
        try:
            status: Any = cli.main(["train", *map(str, arguments)])
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_command


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rng = random.Random(5)
    words = ["the", "lowest", "newer", "Ünïcode", "漢字", "it's", "42", "wider", "----------", "naïve", "low"]
    lines = [" ".join(rng.choices(words, k=rng.randint(1, 12))) for _ in range(400)]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def reference(text: Path, pre_tokenizer: Any, **settings: Any) -> Any:
    tok = tokenizers.Tokenizer(tokenizers.models.BPE())
    tok.pre_tokenizer = pre_tokenizer
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False, **settings)
    tok.train([str(text)], trainer)
    return json.loads(tok.to_str())["model"]


PRE = tokenizers.pre_tokenizers


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "o200k", r"\w+|\W"])
def test_bpe_equals_the_reference(pattern: str, text: Path, tmp_path: Path, run: Run) -> None:
    if pattern == "gpt2":
        pre: Any = PRE.ByteLevel(add_prefix_space=False)
    else:
        expression = {"gpt4": GPT4_PATTERN, "o200k": O200K_PATTERN}.get(pattern, pattern)
        split = PRE.Split(tokenizers.Regex(expression), "isolated")
        pre = PRE.Sequence([split, PRE.ByteLevel(add_prefix_space=False, use_regex=False)])
    out = tmp_path / "tok.json"
    status, _, errors = run(
        text, "--out", out, "--pattern", pattern, "--vocab-size", 300, "--special-token", "<e>", "--held-back", 0
    )
    assert (status, errors) == (0, "")
    assert json.loads(out.read_text())["model"] == reference(text, pre, vocab_size=300, special_tokens=["<e>"])
    tok = hftok.Tokenizer.from_file(str(out))
    assert tok.decode(tok.encode("newer it's 漢字<e>").ids, skip_special_tokens=False) == "newer it's 漢字<e>"


def test_text_that_is_held_back(text: Path, tmp_path: Path, run: Run) -> None:
    """The training sees the file without its last lines, and the summary is about them."""
    out = tmp_path / "tok.json"
    status, output, _ = run(text, "--out", out, "--vocab-size", 330, "--held-back", 10)
    assert status == 0
    size = int(re.search(r"on ([\d,]+) bytes", output).group(1).replace(",", ""))  # type: ignore[union-attr]
    data = text.read_bytes()
    assert 0 < size <= len(data) // 10
    seen, held = data[:-size], data[-size:].decode()
    assert seen.endswith(b"\n")
    shorter = tmp_path / "seen.txt"
    shorter.write_bytes(seen)
    model = reference(shorter, PRE.ByteLevel(add_prefix_space=False), vocab_size=330)
    assert json.loads(out.read_text())["model"] == model
    tokens = len(tokenizers.Tokenizer.from_file(str(out)).encode(held).ids)
    assert f"{tokens / size:.4f} tokens a byte" in output
    assert f"last of {len(model['merges'])} merges" in output
    assert "'-' x 10" in output


@pytest.mark.parametrize("model", ["wordpiece", "unigram", "wordlevel"])
def test_other_models(model: str, text: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "tok.json"
    status, output, _ = run(text, "--model", model, "--out", out, "--vocab-size", 60, "--lowercase", "--held-back", 10)
    assert (status, output.split()[0]) == (0, "vocabulary")
    tok = hftok.Tokenizer.from_file(str(out))
    theirs = tokenizers.Tokenizer.from_file(str(out))
    assert tok.get_vocab_size() <= 60
    assert tok.encode("The LOW lowest").tokens == theirs.encode("The LOW lowest").tokens
    if model == "wordpiece":
        assert tok.encode("low").tokens[0] == "[CLS]"
    if model == "wordlevel":
        assert tok.encode("low lower").tokens == ["low", "[UNK]"]


def test_words_of_characters(text: Path, tmp_path: Path, run: Run) -> None:
    out = tmp_path / "tok.json"
    assert run(text, "--pattern", "whitespace", "--out", out, "--vocab-size", 60)[0] == 0
    assert hftok.Tokenizer.from_file(str(out)).encode("low ?").tokens == ["low", "[UNK]"]


def test_ranks_for_tiktoken(text: Path, tmp_path: Path, run: Run) -> None:
    out, ranks = tmp_path / "tok.json", tmp_path / "ranks"
    assert run(text, "--out", out, "--tiktoken", ranks, "--vocab-size", 280)[0] == 0
    assert len(load_tiktoken_bpe(str(ranks))) == 280


def test_quiet_and_verbose(text: Path, tmp_path: Path, run: Run, caplog: pytest.LogCaptureFixture) -> None:
    out = tmp_path / "tok.json"
    assert run(text, "--out", out, "--quiet", "--vocab-size", 280) == (0, "", "")
    with caplog.at_level("INFO"):
        assert run(text, "--out", out, "--verbose", "--vocab-size", 280)[0] == 0
    assert [record.getMessage() for record in caplog.records if record.name == "hftok.cli.train"] == [f"wrote {out}"]
    assert any("distinct words" in record.getMessage() for record in caplog.records)


def test_threads_and_memory_change_nothing(text: Path, tmp_path: Path, run: Run) -> None:
    found = set()
    for number, more in enumerate([(), ("--threads", 1), ("--threads", 3), ("--memory-limit", 0.001)]):
        out = tmp_path / f"{number}.json"
        assert run(text, text.with_name("text.txt"), "--out", out, "--vocab-size", 300, *more)[0] == 0
        found.add(out.read_text())
    assert len(found) == 1


def test_empty_text(tmp_path: Path, run: Run) -> None:
    (tmp_path / "empty").touch()
    status, output, _ = run(tmp_path / "empty", "--out", tmp_path / "tok.json")
    assert status == 0
    assert "256 tokens" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-file"], "there is no file"),
        (["."], "Is a directory"),
        (["bad.txt"], "byte 2 of bad.txt"),
        (["text.txt", "--pattern", "gpt5"], "choose from gpt2"),
        (["text.txt", "--pattern", "("], "'('"),
        (["text.txt", "--vocab-size", "-1"], "--vocab-size must be"),
        (["text.txt", "--threads", "0"], "--threads must be"),
        (["text.txt", "--memory-limit", "-1"], "--memory-limit must be"),
        (["text.txt", "--held-back", "100"], "percentage"),
        (["text.txt", "--held-back", "nan"], "percentage"),
        (["text.txt", "--out", "no/folder/x"], "no folder 'no/folder'"),
        (["text.txt", "--out", "."], "is a folder"),
        (["text.txt", "--tiktoken", "x", "--model", "unigram"], "byte-level BPE"),
        (["text.txt", "--tiktoken", "x", "--pattern", "none"], "byte-level BPE"),
        (["text.txt", "--tiktoken", "x", "--pattern", "a+"], "--tiktoken: "),
        (["text.txt", "--model", "unigram", "--min-frequency", "2"], "--min-frequency"),
        (["text.txt", "--model", "unigram", "--vocab-size", "3"], "vocabulary"),
    ],
)
def test_mistakes(arguments: list[str], message: str, text: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(text.parent)
    Path("bad.txt").write_bytes(b"ab\xffcd\n")
    status, output, errors = run("--out", "out.json", *arguments)
    assert (status, output) == (2, "")
    assert errors.startswith("hftok train: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert "a+" in arguments or not os.path.exists("out.json")
