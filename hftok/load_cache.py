"""What loading a tokenizer.json makes, kept for later processes: the load cache.

A file of a megabyte or more is read, checked and compiled once on a machine; its tables are then written to a folder of
the user, and the next process that loads the same content (under whatever name) reads them back. What is loaded is the
same with and without: nothing about a file is taken from its name or its times, all of it is read and hashed each time.
They are written by a thread in the background, some time after the tokenizer's first text, and not at all if the
process is cut off before.

An entry's name is a digest of the content under a key that only this folder has (see `ContentHash`); the entry ends in
such a digest of itself. One that is damaged, cut off, of another version or byte order is passed over and written anew.
Entries hold arrays and JSON, nothing that is executed, and each offset in them is checked before use. A folder that
others can write to, or own, is not used. Whatever goes wrong here, the tokenizer.json is read as if there were no
cache.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import secrets
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import orjson

from hftok import serialization
from hftok._core import parallel
from hftok._core.added_tokens import AddedMatcher
from hftok._core.stored import ALIGNMENT, Block, ContentHash, StoredError
from hftok.added_vocabulary import AddedVocabulary
from hftok.component import Description
from hftok.models import Model
from hftok.serialization import TokenizerParts
from hftok.stored_parts import parts_of_block, rest_of, sections_of

if TYPE_CHECKING:
    from hftok._core.models.bpe import BPEModel
    from hftok._core.models.unigram import UnigramModel
    from hftok._core.stored import Buffer

__all__ = ["load_cache_folder", "load_file", "set_load_cache"]

# To be raised with every change of what is in a section, of a hash whose tables are stored, or of what is read of them.
FORMAT = 5
MAGIC = b"hftok tokenizer\n"
SUFFIX = ".hftok"
LEAST_BYTES = 1 << 20  # of a tokenizer.json that is kept: below, reading it takes some milliseconds anyhow
LIMIT_BYTES = 1 << 30  # of all entries
CHUNK = 1 << 20  # a multiple of ContentHash's blocks
DIGEST = 32
DELAY = 0.5  # seconds from a first text until its tokenizer is written
EXIT_SECONDS = 3.0  # that a process which ends waits for that at most
PREFIX = 32  # magic, bytes of the header, bytes of the whole
OFF = frozenset(("0", "off", "no", "false"))
ON = frozenset(("", "1", "on", "yes", "true"))

_Content: TypeAlias = tuple[Block, dict[str, Any]]  # an entry and its header

_chosen: str | bool | None = None  # by set_load_cache; None: not yet
_limit: int | None = None


def set_load_cache(folder: str | os.PathLike[str] | bool, limit: int | None = None) -> None:
    """Say where tokenizers that have been loaded are kept for the next process, or that they are not.

    Args:
        folder: a folder of the user, made if need be; True for the default one, False to keep none. It must belong to
            the user and be writable by nobody else, or it is not used. A tokenizer is written there half a second after
            its first text, in the background, or when the process ends, which waits up to three seconds for that.
        limit: bytes that all entries may take; the least recently used ones go first. None: as before, 1 GiB at first.

    Without a call the environment decides: HFTOK_LOAD_CACHE is a folder or 0, HFTOK_LOAD_CACHE_BYTES the limit. The
    default folder is hftok in the user's cache folder ($XDG_CACHE_HOME or ~/.cache; ~/Library/Caches; %LOCALAPPDATA%).

    Raises:
        TypeError, ValueError: an argument is none of these.

    >>> import hftok
    >>> hftok.set_load_cache(hftok.load_cache_folder() or False)  # as it is
    """
    global _chosen, _limit
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int)):
        raise TypeError(f"limit is a number of bytes, not {limit!r}")
    if limit is not None and limit < 0:
        raise ValueError(f"limit is a number of bytes, 0 or more, not {limit}")
    if not isinstance(folder, bool):
        folder = os.fspath(folder)
        if not isinstance(folder, str) or not folder:
            raise ValueError(f"folder is the path of a folder, True or False, not {folder!r}")
    _chosen = folder
    if limit is not None:
        _limit = limit


def load_cache_folder() -> str | None:
    """The folder in which loaded tokenizers are kept, whether it exists yet or not; None where they are not kept."""
    chosen = _chosen
    if chosen is None:
        value = os.environ.get("HFTOK_LOAD_CACHE", "").strip()
        chosen = False if value.lower() in OFF else True if value.lower() in ON else value
    if chosen is False:
        return None
    return _default_folder() if chosen is True else os.path.expanduser(chosen)


def _default_folder() -> str | None:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        # A relative path there is to be ignored (XDG Base Directory Specification).
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    return os.path.join(base, "hftok") if os.path.isabs(base) else None


def _limit_bytes() -> int:
    if _limit is not None:
        return _limit
    value = os.environ.get("HFTOK_LOAD_CACHE_BYTES", "").strip()
    return int(value) if value.isdecimal() else LIMIT_BYTES


# ---- loading ---------------------------------------------------------------------------------------------------------


def load_file(path: str) -> TokenizerParts:
    """`serialization.load_file`, by way of the cache where there is one."""
    try:
        size, folder, key = _place(path)
        found = _find(path, folder, size, key)
    except (_NoCache, OSError, ValueError, MemoryError):
        return serialization.load_file(path)
    if found is not None:
        with contextlib.suppress(Exception):  # what is wrong with an entry is of no interest: the file is there
            return _parts(*found)
    data = serialization.read_text(path)
    parts = serialization.load(data)
    with contextlib.suppress(Exception):
        rest = rest_of(parts)
        if rest is not None:
            digest = _digest_of(data, key)
            parts.origin = _Origin(_entry(folder, len(data), digest), key, digest, parts.model._description(), rest)
    return parts


class _NoCache(Exception):
    """There is no cache for this file."""


def _place(path: str) -> tuple[int, str, bytes]:
    """The size of a file that may be kept, the folder of the cache and its key."""
    folder = load_cache_folder()
    if folder is None:
        raise _NoCache
    status = os.stat(path)  # before it is opened: a pipe can be read once only
    if not stat.S_ISREG(status.st_mode) or status.st_size < LEAST_BYTES:
        raise _NoCache
    return status.st_size, folder, _key(folder)


def _entry(folder: str, size: int, digest: bytes) -> str:
    """The path of the entry of a content."""
    return os.path.join(folder, f"{digest.hex()[:40]}-{size}{SUFFIX}")


def _entries(folder: str, size: int) -> list[str]:
    """The paths of the entries of contents of that size: if there is none, no content needs to be hashed."""
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(f"-{size}{SUFFIX}")]


def _readers() -> int:
    """Threads that may read a file and its entry."""
    return parallel.threads_for(2)


def _find(path: str, folder: str, size: int, key: bytes) -> tuple[str, _Content, bytes] | None:
    """The entry of a file, what it holds, and the digest of the file; None where there is none of use. Where one entry
    only can be the file's, it is read while the file is hashed. Errors are those of the file."""
    entries = _entries(folder, size)
    if not entries:
        return None
    contents: dict[str, _Content] = {}

    def read(entry: str) -> None:
        with contextlib.suppress(Exception):
            contents[entry] = _content(entry, key)

    thread = None
    if len(entries) == 1 and _readers() > 1:
        thread = threading.Thread(target=read, args=entries, name="hftok load cache entry", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # there are no threads, or no longer
            thread = None
    try:
        digest = _digest_of_file(path, key)
    finally:
        if thread is not None:
            thread.join()
    entry = _entry(folder, size, digest)
    if thread is None and entry in entries:
        read(entry)
    return (entry, contents[entry], digest) if entry in contents else None


def _digest_of_file(path: str, key: bytes) -> bytes:
    hash_ = ContentHash(key)
    buffer = memoryview(bytearray(CHUNK))
    with open(path, "rb", buffering=0) as file:
        for size in _chunks(file, buffer):
            hash_.update(buffer[:size])
    return hash_.digest()


def _chunks(file: IO[bytes], buffer: memoryview) -> Iterator[int]:
    """Fill the buffer time after time until the file ends: how much of it is filled."""
    while True:
        size = _fill(file, buffer)
        if size:
            yield size
        if size < len(buffer):
            return


def _fill(file: IO[bytes], buffer: memoryview) -> int:
    filled = 0
    while filled < len(buffer):
        size = file.readinto(buffer[filled:])  # type: ignore[attr-defined]
        if not size:
            break
        filled += size
    return filled


def _digest_of(data: Buffer, key: bytes) -> bytes:
    hash_ = ContentHash(key)
    hash_.update(data)
    return hash_.digest()


# ---- folder and key --------------------------------------------------------------------------------------------------


def _is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder is the user's and nobody else can write to it."""
    if sys.platform == "win32":
        return True  # the user's own folders are so by their access lists
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _flags(*names: str) -> int:
    """Flags of os.open, as far as the platform has them."""
    flags = 0
    for name in (*names, "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    return flags


def _open_ours(path: str) -> IO[bytes]:
    """Open a file of the folder for reading; an OSError where it is not one of ours."""
    file = open(os.open(path, os.O_RDONLY | _flags("O_NOFOLLOW", "O_NONBLOCK")), "rb", buffering=0)  # noqa: SIM115
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or not _is_ours(status):
        file.close()
        raise PermissionError(f"{path!r} is not a file that only this user can write to")
    return file


def _key(folder: str) -> bytes:
    """The folder's key, drawn when it is first used. An OSError where the folder cannot be used."""
    path = os.path.join(folder, "key")
    for _ in range(2):
        with contextlib.suppress(FileNotFoundError):
            status = os.lstat(folder)
            if not stat.S_ISDIR(status.st_mode) or not _is_ours(status):
                raise PermissionError(f"{folder!r} is not a folder that only this user can write to")
            with _open_ours(path) as file:
                key = file.read(64)
            if len(key) == 32:
                return key
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _write(path, [secrets.token_bytes(32)])
    raise OSError(f"no key in {folder!r}")


def _write(path: str, parts: Iterable[Buffer]) -> None:
    """Write a file that is there whole or not at all."""
    temporary = f"{path}.{os.getpid()}-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _flags(), 0o600)
    try:
        with open(descriptor, "wb", buffering=0) as file:
            for part in parts:
                left = memoryview(part)
                while left:
                    left = left[file.write(left) :]
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


# ---- entries ---------------------------------------------------------------------------------------------------------


def _content(path: str, key: bytes) -> _Content:
    """An entry as it was written, and its header; an exception of any kind where it is missing or damaged."""
    with _open_ours(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size < PREFIX + DIGEST:
            raise StoredError("cut off")
        block = Block(size)
        memory = block.writable()
        hash_ = ContentHash(key)
        for start in range(0, size, CHUNK):
            part = memory[start : start + CHUNK]
            if _fill(file, part) < len(part):
                raise StoredError("cut off")
            hash_.update(part[: max(size - DIGEST - start, 0)])
        if hash_.digest() != memory[size - DIGEST :]:
            raise StoredError("damaged")
        header_size = int.from_bytes(memory[16:24], "little")
        if memory[:16] != MAGIC or int.from_bytes(memory[24:32], "little") != size or header_size > size - PREFIX:
            raise StoredError("damaged")
        return block, orjson.loads(memory[PREFIX : PREFIX + header_size])


def _parts(path: str, content: _Content, digest: bytes) -> TokenizerParts:
    """The parts that an entry holds; an exception of any kind where it is of another kind or wrong."""
    block, header = content
    if {name: header[name] for name in _identity(digest)} != _identity(digest):
        raise StoredError("of another kind")
    block.set_sections(header["sections"])
    parts = parts_of_block(block)
    with contextlib.suppress(OSError):
        os.utime(path)  # used just now
    return parts


def _identity(digest: bytes) -> dict[str, object]:
    """What an entry must say of itself."""
    from hftok import __version__

    return {"format": FORMAT, "version": __version__, "order": sys.byteorder, "content": digest.hex()}


def _packed(sections: dict[str, Buffer], key: bytes, digest: bytes) -> tuple[int, Iterator[Buffer]]:
    """An entry: its size, and its bytes in order, a part at a time (each is gone when the next one is asked for)."""

    def rounded(size: int) -> int:
        return -(-size // ALIGNMENT) * ALIGNMENT

    header: dict[str, object] = _identity(digest)
    # Room for the header with places of the greatest length; what is left of it are zeros.
    widest = {name: (1 << 40, 1 << 40) for name in sections}
    at = rounded(PREFIX + len(orjson.dumps({**header, "sections": widest})))
    places: dict[str, tuple[int, int]] = {}
    for name, section in sections.items():
        places[name] = (at, len(section))
        at += rounded(len(section))
    text = orjson.dumps({**header, "sections": places})
    size = at + DIGEST
    first = MAGIC + len(text).to_bytes(8, "little") + size.to_bytes(8, "little") + text
    starts = [(0, memoryview(first)), *((places[name][0], memoryview(section)) for name, section in sections.items())]
    return size, _parts_and_digest(starts, at, key)


def _parts_and_digest(parts: list[tuple[int, memoryview]], size: int, key: bytes) -> Iterator[Buffer]:
    """The parts, each from its place on, with zeros between them up to `size`, and their digest behind. In whole
    chunks: there is no second copy of all of it, and the interpreter is free while they are hashed and written."""
    hash_ = ContentHash(key)
    buffer = memoryview(bytearray(CHUNK))
    filled = at = 0
    for start, part in (*parts, (size, memoryview(b""))):
        for piece in (memoryview(bytes(start - at)), part):
            at += len(piece)
            while piece:
                step = min(len(piece), CHUNK - filled)
                buffer[filled : filled + step] = piece[:step]
                piece = piece[step:]
                filled += step
                if filled == CHUNK:
                    hash_.update(buffer)
                    yield buffer
                    filled = 0
    hash_.update(buffer[:filled])
    yield buffer[:filled]
    yield hash_.digest()


class _Origin:
    """A tokenizer.json that has been read and is not in the cache yet."""

    def __init__(self, path: str, key: bytes, digest: bytes, model: Description, rest: bytes) -> None:
        self.path = path
        self.key = key
        self.digest = digest
        self.model = model
        self.rest = rest

    def keep(self, model: Model, added: AddedVocabulary, matchers: tuple[AddedMatcher, AddedMatcher] | None) -> None:
        """Have the entry written, if the model is still the one of the file. `added`: the added tokens of the file;
        `matchers`: theirs, if they are at hand."""
        if model._description() is self.model:
            _writer.put(functools.partial(self._write, model._kernel(), added, matchers))

    def _write(
        self,
        kernel: BPEModel | UnigramModel,
        added: AddedVocabulary,
        matchers: tuple[AddedMatcher, AddedMatcher] | None,
    ) -> None:
        folder = os.path.dirname(self.path)
        if load_cache_folder() != folder:
            return  # no longer wanted there
        sections = sections_of(kernel, added, matchers, self.rest)
        if sections is None:
            return
        size, parts = _packed(sections, self.key, self.digest)
        if size <= _limit_bytes():
            _write(self.path, parts)
            _make_room(folder)


class _Writer:
    """Writes entries behind the program's back: in a thread that waits until the program has got going. It ends with
    the process at any time; an entry that is not complete then has never been there. Only an orderly exit gives it
    some time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.jobs: list[Callable[[], None]] = []
        self.thread: threading.Thread | None = None
        self.hurry = threading.Event()

    def put(self, job: Callable[[], None]) -> None:
        with self.lock:
            self.jobs.append(job)
            if self.thread is not None:
                return
            self.thread = threading.Thread(target=self.run, name="hftok load cache", daemon=True)
            try:
                self.thread.start()
                return
            except RuntimeError:  # there are no threads, or no longer
                self.thread = None
        self.run()

    def run(self) -> None:
        self.hurry.wait(DELAY if self.thread is not None else 0)
        while True:
            with self.lock:
                if not self.jobs:
                    self.thread = None
                    return
                job = self.jobs.pop(0)
            with contextlib.suppress(Exception):
                job()
            del job  # and what it holds, before the next one

    def finish(self, seconds: float | None = None) -> None:
        """Write now what is to be written, and wait until it is, at most so long (None: without limit)."""
        self.hurry.set()
        with self.lock:
            thread = self.thread
        if thread is not None:
            thread.join(seconds)
        self.hurry.clear()


_writer = _Writer()
atexit.register(lambda: _writer.finish(EXIT_SECONDS))


def _after_fork() -> None:
    """The child has no such thread, and no part in what the parent is to write."""
    global _writer
    _writer = _Writer()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _make_room(folder: str) -> None:
    """Remove what has not been used for longest until the rest keeps within the limit, and what writers left behind."""
    entries = []
    now = time.time()
    with os.scandir(folder) as found:
        for entry in found:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(".tmp"):
                    if now - status.st_mtime > 3600:
                        os.unlink(entry.path)
                elif entry.name.endswith(SUFFIX):
                    entries.append((status.st_mtime, status.st_size, entry.path))
    entries.sort(reverse=True)
    total = 0
    for _, size, path in entries:
        total += size
        if total > _limit_bytes():
            with contextlib.suppress(OSError):
                os.unlink(path)
