"""Progress of training, and stopping it: bars, the reference's JSON lines, silence, Ctrl-C."""

from __future__ import annotations

import io
import itertools
import logging
import os
import random
import signal
import sys
import threading
import time
import types
from functools import partial

import numpy as np
import pytest
import tokenizers as reference
import tqdm

import hftok
from hftok import Tokenizer, WordCounts, models, pre_tokenizers, trainers


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def texts() -> list[str]:
    rng = random.Random("progress")
    return ["".join(rng.choices("abcdef ", k=50)) for _ in range(200)]


def test_json_lines(capfd):
    """Every line of the reference, in its order."""
    for settings in ({"vocab_size": 60}, {"vocab_size": 3}, {"vocab_size": 500, "min_frequency": 20}):
        lines = []
        for library in (reference, hftok):
            tokenizer = library.Tokenizer(library.models.BPE())
            tokenizer.pre_tokenizer = library.pre_tokenizers.Whitespace()
            trainer = library.trainers.BpeTrainer(progress_format="json", show_progress=False, **settings)
            for corpus in (texts(), []):
                tokenizer.train_from_iterator(corpus, trainer)
                lines.append(capfd.readouterr().err)
        assert lines[:2] == lines[2:]
        assert lines[0].count("\n") > 5


def test_bars_on_a_terminal(monkeypatch, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(texts()))
    for kind, stages in {
        "BPE": ["Tokenize words", "Compute merges"],
        "WordPiece": ["Tokenize words", "Compute merges"],
        "WordLevel": [],
        "Unigram": ["Suffix array seeds", "EM training"],
    }.items():
        for source in ("files", "iterator"):
            tokenizer = Tokenizer(getattr(models, kind)())
            tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
            trainer = getattr(trainers, f"{kind.title() if kind == 'BPE' else kind}Trainer".replace("BPET", "BpeT"))()
            terminal = Terminal()
            monkeypatch.setattr(sys, "stderr", terminal)
            if source == "files":
                tokenizer.train([str(path)], trainer)
            else:
                tokenizer.train_from_iterator(texts(), trainer, length=200)
            monkeypatch.undo()
            shown = terminal.getvalue()
            first = "Pre-processing files (0 Mo)" if source == "files" else "Pre-processing sequences"
            for stage in (first, *stages):
                assert f"{stage}: 100%" in shown


@pytest.mark.parametrize(
    ("settings", "stream"),
    [
        ({}, io.StringIO()),
        ({"show_progress": False}, Terminal()),
        ({"progress_format": "silent"}, Terminal()),
    ],
)
def test_silence(monkeypatch, settings, stream, capfd):
    """Where nothing is wanted, and where nobody looks."""
    monkeypatch.setattr(sys, "stderr", stream)
    Tokenizer(models.BPE()).train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=30, **settings))
    monkeypatch.undo()
    assert stream.getvalue() == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kernel", [None, object()])
def test_bars_in_a_notebook(monkeypatch, kernel):
    """In one, and not where its packages are merely imported."""
    ipython = types.ModuleType("IPython")
    shell = types.SimpleNamespace(kernel=kernel)
    ipython.get_ipython = lambda: None if kernel is None else shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("tqdm.auto.tqdm", tqdm.tqdm)  # no widgets here
    Tokenizer(models.BPE()).train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=30))
    monkeypatch.undo()
    assert ("Compute merges: 100%" in stream.getvalue()) == (kernel is not None)


def test_no_standard_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    Tokenizer(models.BPE()).train_from_iterator(texts(), trainers.BpeTrainer(vocab_size=30))


def test_log(caplog):
    with caplog.at_level(logging.INFO, logger="hftok.training"):
        Tokenizer(models.BPE()).train_from_iterator(["ab ab"], trainers.BpeTrainer(vocab_size=5, show_progress=False))
    assert [record.message for record in caplog.records] == [
        "counted 1 distinct words",
        "trained a vocabulary of 5 tokens",
    ]


def interrupted(work, after: float = 0.3) -> float:
    """Seconds of processor time from Ctrl-C to KeyboardInterrupt."""
    sent = []

    def press() -> None:
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, press)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        return time.process_time() - sent[0]
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to its own process")
@pytest.mark.parametrize("stage", ["iterator", "lines", "merges"])
def test_ctrl_c(stage, tmp_path):
    """Training stops at once and leaves all as it was."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=1_000_000, show_progress=False)
    tokenizer.train_from_iterator(["low"], trainer)
    before, state = tokenizer.to_str(), trainer.__getstate__()
    if stage == "iterator":
        seconds = interrupted(lambda: tokenizer.train_from_iterator(itertools.repeat("low lower " * 9), trainer))
    elif stage == "lines":
        path = tmp_path / "text.txt"
        path.write_text("low lower newest\n" * 40_000)
        seconds = interrupted(lambda: tokenizer.train([str(path)] * 100_000, trainer))
    else:
        rng = random.Random("merges")
        text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=1 << 16)) * 8
        counts = WordCounts([(text[i : i + 3001] + str(i), 1 + i % 3) for i in range(0, 400_000, 200)])
        seconds = interrupted(lambda: tokenizer.train_from_counts(counts, trainer))
    assert seconds < 0.5
    assert tokenizer.to_str() == before
    assert trainer.__getstate__() == state


def many_words(count: int, alphabet: str) -> WordCounts:
    """Words of 15 symbols that share much, in no time."""
    rng = np.random.default_rng(7)
    letters = np.frombuffer(alphabet.encode("utf-32-le"), dtype=np.uint32)
    text = "".join(map(chr, letters[rng.integers(0, len(letters), 15 * count)].tolist()))
    return WordCounts((text[i : i + 15], 1 + i % 7) for i in range(0, 15 * count, 15))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to its own process")
@pytest.mark.parametrize(
    ("trainer", "after"),
    [
        *((trainers.UnigramTrainer(show_progress=False), after) for after in (0.05, 0.3, 1.0)),
        (trainers.BpeTrainer(vocab_size=1_000_000, show_progress=False), 0.03),
        (trainers.WordPieceTrainer(vocab_size=1_000_000, show_progress=False), 0.03),
    ],
    ids=["unigram, words", "unigram, seeds", "unigram, later", "bpe", "wordpiece"],
)
def test_ctrl_c_in_the_middle_of_a_stage(trainer, after):
    """Between two reports of progress, too: each of these stages takes longer than people like to wait."""
    model = models.Unigram() if isinstance(trainer, trainers.UnigramTrainer) else models.BPE()
    if isinstance(trainer, trainers.WordPieceTrainer):
        model = models.WordPiece()
    tokenizer = Tokenizer(model)
    counts = many_words(150_000, "abcdefghijklmnop")
    before, state = tokenizer.to_str(), trainer.__getstate__()
    for threads in (1, 2):
        assert interrupted(partial(tokenizer.train_from_counts, counts, trainer, threads=threads), after) < 0.5
    assert tokenizer.to_str() == before
    assert trainer.__getstate__() == state
