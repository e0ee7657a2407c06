"""Progress of training: bars on a terminal or in a notebook, lines of JSON, or nothing.

Reference: setup_progress, update_progress, finalize_progress and emit_json_progress of the trainers, and the bars of
train and train_from_files (tokenizer/mod.rs). The stages have its names and totals. It draws its bars on terminals
only, and so do we; the empty lines that it prints after each stage are left out.
"""

from __future__ import annotations

import sys
from typing import Any, Protocol

__all__ = ["Bars", "JsonLines", "Report", "Silence", "report_for"]


class Report(Protocol):
    """Is told how far a stage has come; the last report of a stage has `current == total`."""

    def __call__(self, stage: str, current: int, total: int | None) -> None: ...

    def close(self) -> None:
        """Training has ended, well or not."""


class Silence:
    """Shows nothing."""

    def __call__(self, stage: str, current: int, total: int | None) -> None:
        return None

    def close(self) -> None:
        return None


class Bars:
    """One bar for each stage, on standard error."""

    def __init__(self) -> None:
        self.stage: str | None = None
        self.bar: Any = None
        # Only here: it takes ten megabytes, which a training without bars can do without.
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        self.new_bar = tqdm

    def __call__(self, stage: str, current: int, total: int | None) -> None:
        if stage != self.stage:
            self.close()
            sized = stage.startswith("Pre-processing files")
            self.bar = self.new_bar(
                total=total, desc=stage, unit="B" if sized else "", unit_scale=sized, file=sys.stderr
            )
            self.stage = stage
        if self.bar.total != total:
            self.bar.total = total
        self.bar.update(current - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
        self.bar = self.stage = None


class JsonLines:
    """The lines of the reference's `progress_format="json"`, on standard error: a stage's start, every merge, its end.

    Args:
        vocab_size: the trainer's, which is the total of "Compute merges" until that ends.
    """

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size
        self.words = 0
        self.merges: int | None = None  # told so far; None: that stage has not begun

    def __call__(self, stage: str, current: int, total: int | None) -> None:
        if stage == "Tokenize words":
            # The engine counts the pairs in the same go.
            self.words = current
            self.write([(name, done, current) for name in (stage, "Count pairs") for done in (0, current)])
        elif stage == "Compute merges":
            lines = [] if self.merges is not None else [(stage, 0, self.vocab_size)]
            told = self.merges or 0
            lines += [(stage, merge, self.vocab_size) for merge in range(told + 1, current + 1)]
            self.merges = max(told, current)
            self.write(lines)

    def write(self, lines: list[tuple[str, int, int]]) -> None:
        texts = (f'{{"stage":"{stage}","current":{current},"total":{total}}}\n' for stage, current, total in lines)
        sys.stderr.write("".join(texts))
        sys.stderr.flush()

    def finish(self) -> None:
        """All merges are made."""
        merges = self.merges or 0
        self.write([("Compute merges", merges, merges)])

    def close(self) -> None:
        return None


def report_for(settings: dict[str, Any]) -> Bars | JsonLines | Silence:
    """What a trainer with these settings asks for."""
    form = settings.get("progress_format", "indicatif")
    if form == "json":
        return JsonLines(settings["vocab_size"])
    if form == "indicatif" and settings["show_progress"] and _shows_bars():
        return Bars()
    return Silence()


def _shows_bars() -> bool:
    stream = sys.stderr
    return stream is not None and (stream.isatty() or _in_a_notebook())


def _in_a_notebook() -> bool:
    """Whether a Jupyter kernel runs this process; a program that merely imports ipykernel has no bars to show."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
