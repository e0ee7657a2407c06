"""Python code in a process of its own, with settings that a process reads once (HFTOK_CPU, OMP_NUM_THREADS, ...)."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import hftok

TESTS = pathlib.Path(__file__).parent


def printed_by(code: str, timeout: float = 120, **environment: str) -> str:
    """What `code` prints. It finds the tests' folder in sys.argv[1], and fails the test if it fails."""
    done = subprocess.run(
        [sys.executable, "-c", code, str(TESTS)],
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent), **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
