"""`python -m benchmarks train`: every trainer runs, results are compared, and a difference is told."""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.train

    yield benchmarks.train
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        del sys.modules[name]


@pytest.fixture
def text(tmp_path: pathlib.Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text("the lowest of the low, a newer one\nand the newest: 中文 12\n" * 50, encoding="utf-8")
    return str(path)


def rows(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines() if '"table"' in line]


def test_a_table(train: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--corpora", text, "--vocab-size", "300", "--json", "--peers", "tokenizers", "rustbpe"]
    assert train.main(arguments) == 0
    found = {row[""]: row for row in rows(capsys.readouterr().out)}
    assert list(found) == ["hftok", "tokenizers", "hftok.rustbpe", "rustbpe"]
    assert found["tokenizers"]["learnt"] == found["rustbpe"]["learnt"] == "equal"
    assert all(float(row["peak MB"]) > 5 for row in found.values())


def test_a_difference(
    train: Any, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def figures(settings: dict[str, Any]) -> dict[str, Any]:
        return {"seconds": 1.0, "cpu": 1.0, "peak": 1, "learnt": settings["trainer"]}

    monkeypatch.setattr(train, "_train", figures)
    assert train.main(["--corpora", text, "--json", "--peers", "tokenizers"]) == 1
    assert [row["learnt"] for row in rows(capsys.readouterr().out)] == ["", "DIFFERENT"]


def test_the_grid(
    train: Any,
    text: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reference is asked once for each setting, and what an earlier run has done is not done again."""
    from benchmarks import train_grid

    asked: list[Any] = []

    def process(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for cell in settings["cells"]:
            asked.append((settings["trainer"], *cell))
            if len(asked) == stop:
                raise KeyboardInterrupt
            wrong = settings["trainer"] == "hftok" and cell[1] == 7 and settings["pre_tokenizer"] == "bert"
            answers = {str(size): "other" if wrong else f"{settings['pre_tokenizer']} {size}" for size in sizes}
            yield {"cell": cell, "answers": answers}

    monkeypatch.setattr(train_grid, "_process", process)
    sizes = train_grid.SIZES
    results = tmp_path / "results"
    arguments = ["--corpora", text, "--grid", "--kept", str(tmp_path / "kept.json"), "--results", str(results)]
    settings = len(train.PRE_TOKENIZERS) * len(train_grid.NORMALIZERS)
    cells = settings * len(sizes) * len(train_grid.THREADS) * len(train_grid.BUDGETS)
    stop = 100
    with pytest.raises(KeyboardInterrupt):
        train.main(arguments)
    assert len(results.read_text().splitlines()) == sum(name == "hftok" for name, *_ in asked) - 1
    stop = 0
    for _ in range(2):
        assert train.main(arguments) == 1
        printed = capsys.readouterr().out
        assert printed.count("differs with 7 threads") == cells // len(train.PRE_TOKENIZERS) // len(train_grid.THREADS)
        assert f"text: {cells * 23 // 24} of {cells} trainings equal" in printed
        assert len(asked) == cells + settings + 1
    assert [name for name, *_ in asked].count("tokenizers") == settings


@pytest.mark.parametrize("pre_tokenizer", ["bytelevel", "whitespace"])
def test_a_smaller_vocabulary_is_the_beginning_of_a_larger_one(train: Any, text: str, pre_tokenizer: str) -> None:
    """Which is why the grid asks the reference for the largest only; hftok is asked for each, with each budget."""
    import tokenizers

    import hftok
    from benchmarks.train_grid import BUDGETS, answer, budget
    from benchmarks.trainers import Clock, train_tokenizer

    settings = {"file": text, "model": "bpe", "pre_tokenizer": pre_tokenizer, "normalizer": None}
    largest = train_tokenizer(tokenizers, {**settings, "vocab_size": 300}, Clock())
    answers = set()
    for size in (0, 5, 24, 31, 255, 257, 280, 300):
        smaller = train_tokenizer(tokenizers, {**settings, "vocab_size": size}, Clock())
        assert answer(smaller, size) == answer(largest, size)
        for each in BUDGETS:
            options = {"threads": 2, "memory_limit": budget(each, size) or 1}
            ours = train_tokenizer(hftok, {**settings, "vocab_size": size}, Clock(), **options)
            assert answer(ours, size) == answer(largest, size)
        answers.add(answer(largest, size))
    assert len(answers) > 2
