"""`python -m benchmarks encode | prompt | surface` on the texts of `hftok demo`: they run, and tell differences."""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]

Run = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs a command: (exit status, rows of its tables, all that it printed)."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.setattr(import_module("benchmarks.measure"), "TURN", 0.001)
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "1")  # commands set them; what they were comes back afterwards

    def run(name: str, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
        status = import_module(f"benchmarks.{name}").main([*arguments, "--tokenizer", "demo", "--json"])
        printed = capsys.readouterr().out
        return status, [json.loads(line) for line in printed.splitlines() if '"table"' in line], printed

    yield run
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        del sys.modules[name]


ENCODE = ("encode", "--corpora", "demo", "--megabytes", "0.02", "--rounds", "1", "--peers", "tokenizers", "tiktoken")


@pytest.mark.parametrize("how", [[], ["--lists"]])
def test_encode(run: Run, how: list[str]) -> None:
    status, rows, printed = run(*ENCODE, *how)
    assert status == 0
    assert [(row[""], row["ids"]) for row in rows] == [("hftok", ""), ("tokenizers", "equal")]
    assert all(float(row["cold MB/s"]) > 0 for row in rows)
    assert "(tiktoken refuses this tokenizer: WordPiece" in printed  # the demo's model is none of tiktoken's


def test_one_thread_and_several(run: Run) -> None:
    status, rows, _ = run(*ENCODE, "--threads", "1", "2")
    assert status == 0
    assert [row[""] for row in rows] == ["hftok"]
    assert float(rows[0]["ratio of best"].rstrip("x")) > 0


def test_thread_counts_must_make_sense(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    for counts in (["2", "1"], ["0"], ["1", "2", "3"]):
        with pytest.raises(SystemExit):
            run(*ENCODE, "--threads", *counts)
        assert "--threads takes one number, or 1 and a larger one" in capsys.readouterr().err


def test_short_texts(run: Run) -> None:
    status, rows, _ = run("encode", "--short", "--rounds", "1", "--peers", "tokenizers")
    assert status == 0
    assert {row[""]: row["ids"] for row in rows} == {
        "hftok encode_ids": "",
        "hftok encode": "equal",
        "tokenizers encode": "equal",
    }
    assert {row["table"].split(",")[0] for row in rows} == {f"one text of {n} characters" for n in (44, 200)}


def test_a_peer_that_differs_is_marked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    peers = import_module("benchmarks.peers")

    class Other(peers.Peer):  # type: ignore[misc, name-defined]
        name = "other"
        special_tokens = False

        def arrays(self, result: Any) -> Any:
            ids, offsets = super().arrays(result)
            offset = offsets[3]
            return peers.Rows(np.concatenate([ids[:offset], [ids[offset] + 1], ids[offset + 1 :]]), offsets)

    class Broken(peers.Peer):  # type: ignore[misc, name-defined]
        name = "broken"

        def encode_file(self, path: str) -> Any:
            raise RuntimeError("cannot\nreally")

    class Wrong(Other):
        name = "tokenizers"
        special_tokens = True

    monkeypatch.setattr(peers, "KINDS", (peers.Peer, Other, Broken, peers.Reference))
    status, rows, printed = run(*ENCODE[:-3])
    # Without special tokens every document of the demo begins with another id.
    assert {row[""]: row["ids"] for row in rows} == {
        "hftok": "",
        "other": "differs on document 0 of demo",
        "tokenizers": "equal",
    }
    assert status == 0
    assert "(broken cannot encode demo: cannot)" in printed
    monkeypatch.setattr(peers, "KINDS", (peers.Peer, Wrong))
    status, rows, _ = run(*ENCODE[:-3])
    assert status == 1
    assert rows[1]["ids"] == "differs on document 3 of demo"


def test_first_difference(run: Run) -> None:
    peers = import_module("benchmarks.peers")

    def rows(*lists: list[int]) -> Any:
        return peers._rows(lists)

    expected = rows([1, 2], [], [3])
    assert peers.first_difference(rows([1, 2], [], [3]), expected) is None
    assert peers.first_difference(rows([1, 2], [3]), expected) == 1
    assert peers.first_difference(rows([1, 2], []), expected) == 2
    assert peers.first_difference(rows([1, 2], [], [3], [4]), expected) == 3
    assert peers.first_difference(rows([1], [2], [3]), expected) == 0


def test_prompt(run: Run) -> None:
    status, rows, _ = run("prompt", "--corpus", "demo", "--tokens", "1000", "--growth", "50", "--steps", "2")
    assert status == 0
    assert [row[""] for row in rows] == ["encode_ids(whole)", "session.append(new)", "session.encode(whole)"]
    assert rows[0]["of the whole"] == "100.0 %"


def test_prompt_tells_a_difference(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from hftok.session import Session

    append = Session.append
    monkeypatch.setattr(Session, "append", lambda self, text: append(self, text)[1:])
    status, rows, printed = run("prompt", "--corpus", "demo", "--tokens", "1000", "--growth", "50", "--steps", "1")
    assert status == 1
    assert not rows
    assert "session.append(new) and encode_ids(whole) differ" in printed


def test_surface(run: Run) -> None:
    status, rows, _ = run("surface", "--corpus", "demo", "--batches", "2", "--rounds", "1", "--characters", "40")
    assert status == 0
    assert {"hftok", "transformers"} <= {row[""] for row in rows}
