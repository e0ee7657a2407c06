"""`python -m benchmarks train`: every trainer runs, results are compared, and a difference is told."""

from __future__ import annotations

import json
import pathlib
import sys
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


def test_the_grid_asks_the_reference_once(
    train: Any,
    text: str,
    tmp_path: pathlib.Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def figures(settings: dict[str, Any]) -> dict[str, Any]:
        asked.append(settings["trainer"])
        wrong = settings["trainer"] == "hftok" and settings["threads"] == 7 and settings["pre_tokenizer"] == "bert"
        return {"learnt": "other" if wrong else f"{settings['pre_tokenizer']} {settings['vocab_size']}"}

    monkeypatch.setattr(train, "_train", figures)
    arguments = ["--corpora", text, "--grid", "--kept", str(tmp_path / "kept.json")]
    settings = len(train.PRE_TOKENIZERS) * len(train.NORMALIZERS) * len(train.SIZES)
    assert train.main(arguments) == 1
    assert asked.count("tokenizers") == settings
    assert "differs with 7 threads" in capsys.readouterr().out
    asked.clear()
    train.main(arguments)
    assert asked.count("tokenizers") == 0
    assert asked.count("hftok") == settings * len(train.THREADS) * len(train.MEMORY)
