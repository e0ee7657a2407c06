"""Files of ranks: reading, checking, keeping in tiktoken's cache folder, writing.

A rank file has one token a line: base64, a blank, the rank. The cache folder is tiktoken's own (TIKTOKEN_CACHE_DIR or
DATA_GYM_CACHE_DIR; an empty one turns it off; else data-gym-cache in the folder for temporary files); a file in it is
named by the SHA-1 of its address.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import tempfile
import uuid

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]


def _blobfile(path: str) -> object:
    try:
        import blobfile
    except ImportError:
        raise ImportError(
            f"{path} is neither a path nor an http address; to read it, please install blobfile: pip install blobfile"
        ) from None
    return blobfile


def read_file(blobpath: str) -> bytes:
    """The bytes of a local file, of an http(s) address, or of what the package blobfile can read.

    Raises OSError where it is not there or cannot be had.
    """
    if "://" not in blobpath:
        with open(blobpath, "rb") as file:
            return file.read()
    if blobpath.startswith(("http://", "https://")):
        from urllib.request import urlopen

        with urlopen(blobpath) as response:
            content: bytes = response.read()
            return content
    data: bytes = _blobfile(blobpath).read_bytes(blobpath)  # type: ignore[attr-defined]
    return data


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Whether the SHA-256 of `data`, in hexadecimal, is `expected_hash`.

    >>> check_hash(b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    True
    """
    return hashlib.sha256(data).hexdigest() == expected_hash


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """`read_file` through the cache folder.

    Raises ValueError where what was read does not have the expected SHA-256. A file in the cache that does not is read
    anew.
    """
    chosen = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    folder = os.path.join(tempfile.gettempdir(), "data-gym-cache") if chosen is None else chosen
    if not folder:
        return read_file(blobpath)
    path = os.path.join(folder, hashlib.sha1(blobpath.encode()).hexdigest())
    if os.path.exists(path):
        with open(path, "rb") as file:
            data = file.read()
        if expected_hash is None or check_hash(data, expected_hash):
            return data
        with contextlib.suppress(OSError):
            os.remove(path)
    data = read_file(blobpath)
    if expected_hash and not check_hash(data, expected_hash):
        raise ValueError(
            f"Hash mismatch for data downloaded from {blobpath} (expected {expected_hash}). "
            "This may indicate a corrupted download. Please try again."
        )
    try:
        os.makedirs(folder, exist_ok=True)
        part = f"{path}.{uuid.uuid4()}.tmp"
        with open(part, "wb") as file:
            file.write(data)
        os.replace(part, path)
    except OSError:
        if chosen is not None:
            raise  # a folder that was asked for must work; the default one is a convenience
    return data


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """The ranks of a rank file: bytes -> int.

    Raises:
        ValueError: a line is not base64, a blank and a number; or the file's SHA-256 is not the expected one.
        OSError: the file cannot be read.
    """
    return parse_tiktoken_bpe(read_file_cached(tiktoken_bpe_file, expected_hash), tiktoken_bpe_file)


def parse_tiktoken_bpe(data: bytes, name: str) -> dict[bytes, int]:
    """The ranks in the bytes of a rank file, called `name` in messages.

    >>> parse_tiktoken_bpe(b"YWI= 0\\nYw== 1\\n", "two lines")
    {b'ab': 0, b'c': 1}
    """
    ranks: dict[bytes, int] = {}
    decode = base64.b64decode
    for line in data.splitlines():
        if not line:
            continue
        try:
            token, rank = line.split()
            ranks[decode(token)] = int(rank)
        except ValueError as error:
            raise ValueError(f"Error parsing line {line!r} in {name}") from error
    return ranks


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write ranks to a rank file, in their order."""
    lines = [
        base64.b64encode(token) + b" " + str(rank).encode() + b"\n"
        for token, rank in sorted(bpe_ranks.items(), key=lambda item: item[1])
    ]
    if "://" in tiktoken_bpe_file:
        with _blobfile(tiktoken_bpe_file).BlobFile(tiktoken_bpe_file, "wb") as file:  # type: ignore[attr-defined]
            file.write(b"".join(lines))
        return
    with open(tiktoken_bpe_file, "wb") as file:
        file.write(b"".join(lines))


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """Ranks from GPT-2's two files: the list of merges and the numbers of the tokens.

    Raises AssertionError where the numbers are not what the merges give.
    """
    printable = [b for b in range(256) if chr(b).isprintable() and chr(b) != " "]
    order = printable + [b for b in range(256) if b not in printable]
    byte_of = {chr(b): b for b in printable}
    byte_of |= {chr(256 + i): b for i, b in enumerate(order[len(printable) :])}

    def decoded(text: str) -> bytes:
        return bytes(byte_of[c] for c in text)

    ranks = {bytes([b]): i for i, b in enumerate(order)}
    merges = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    for rank, merge in enumerate(merges, len(ranks)):
        first, second = merge.split()
        ranks[decoded(first) + decoded(second)] = rank
    encoder = {decoded(k): v for k, v in json.loads(read_file_cached(encoder_json_file, encoder_json_hash)).items()}
    for special in (b"<|endoftext|>", b"<|startoftext|>"):
        encoder.pop(special, None)
    if clobber_one_byte_tokens:
        ranks |= {token: number for token, number in encoder.items() if len(token) == 1}
    if ranks != encoder:
        raise AssertionError(
            f"the numbers in {encoder_json_file} are not those that the merges in {vocab_bpe_file} give"
        )
    return ranks
