"""Text to measure on: corpora of HFTOK_TEST_DATA, given files, or, without either, repeated texts of `hftok demo`."""

from __future__ import annotations

import os
import pathlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

SEPARATOR = "\n<|endoftext|>\n"
DATA = pathlib.Path(os.environ.get("HFTOK_TEST_DATA") or "no-such-folder")


@contextmanager
def excerpts(names: list[str], megabytes: float) -> Iterator[dict[str, str]]:
    """Paths of excerpts by name, cut at a document's end; each a file whose documents the SEPARATOR divides."""
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name in names:
            source = pathlib.Path(name) if os.path.isfile(name) else DATA / "corpora" / f"{name}.txt"
            limit = int(megabytes * 1e6)
            if name == "all" and not source.is_file():
                data = _mixture(limit)
            elif source.is_file():
                with open(source, "rb") as file:
                    data = file.read(limit)
                end = data.rfind(SEPARATOR.encode())
                data = data[:end] if end > 0 else data
            elif name == "demo":
                from hftok.cli.inputs import data_text

                text = data_text("demo_texts.txt").replace("\n\n", SEPARATOR)
                data = SEPARATOR.join([text] * (limit // len(text.encode()) + 1)).encode()
            else:
                raise SystemExit(f"there is no corpus {name!r}: set HFTOK_TEST_DATA, give a file, or use `demo`")
            path = pathlib.Path(folder, f"{pathlib.Path(name).stem}.txt")
            path.write_bytes(data)
            found[pathlib.Path(name).stem] = str(path)
        yield found


def _mixture(limit: int) -> bytes:
    """All corpora one after the other, each cut in proportion; from the beginning again where they are not enough."""
    sources = [DATA / "corpora" / f"{name}.txt" for name in default_corpora()]
    sources = [source for source in sources if source.is_file()]
    if not sources:
        raise SystemExit("there are no corpora to mix: set HFTOK_TEST_DATA")
    parts = []
    size = 0
    share = limit / sum(source.stat().st_size for source in sources)
    while size < limit:
        for source in sources:
            with open(source, "rb") as file:
                data = file.read(min(limit - size, max(1, int(share * source.stat().st_size))))
            end = data.rfind(b"\n") + 1
            parts.append(data[:end] if end else data)
            size += len(parts[-1])
            if not parts[-1] or size >= limit - 4096:
                return b"".join(parts)
    return b"".join(parts)


def documents(path: str) -> list[str]:
    """The documents of an excerpt as str."""
    return pathlib.Path(path).read_bytes().decode("utf-8", "replace").split(SEPARATOR)


def default_corpora() -> list[str]:
    folder = DATA / "corpora"
    names = ["english", "code", "multilingual", "chinese"]
    return [name for name in names if (folder / f"{name}.txt").is_file()] or ["demo"]


def tokenizer_path(name: str) -> str:
    """A path, or the name of a real tokenizer of HFTOK_TEST_DATA, or `demo`."""
    real = DATA / "tokenizers" / name / "tokenizer.json"
    if real.is_file():
        return str(real)
    if os.path.exists(name):
        return name
    if name == "demo":
        from hftok.cli.inputs import demo_tokenizer

        path = pathlib.Path(tempfile.mkdtemp(), "tokenizer.json")
        demo_tokenizer().save(str(path))
        return str(path)
    raise SystemExit(f"there is no tokenizer {name!r}: set HFTOK_TEST_DATA, give a path, or use `demo`")


def default_tokenizer() -> str:
    return "bert-base-uncased" if (DATA / "tokenizers" / "bert-base-uncased").is_dir() else "demo"
