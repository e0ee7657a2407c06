"""python -m benchmarks NAME [options]: one of the modules of this package."""

from __future__ import annotations

import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
NAMES = [name for name in ("encode", "load", "matrix", "prompt", "surface", "train") if (HERE / f"{name}.py").is_file()]


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in NAMES:
        print(f"usage: python -m benchmarks {{{','.join(NAMES)}}} [options]", file=sys.stderr)
        return 2
    status: int = importlib.import_module(f"benchmarks.{arguments[0]}").main(arguments[1:])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
