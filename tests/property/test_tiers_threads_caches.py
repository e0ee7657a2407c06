"""What must not change the output: the CPU tier, the number of threads, the size and the state of the cache."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest
from child_process import printed_by
from grid_setups import SETUPS, ours
from grid_texts import glued, grid_texts, ordinary, random_texts

import hftok
from hftok import load_cache
from hftok._core import cpu, parallel
from hftok._core.engine import cache_budget

NAMES = ["bert_uncased", "bert_cased", "added_flags", "added_in_both_passes", "word_level", "byte_pairs"]


def corpus() -> list[str]:
    return [*grid_texts(), *random_texts(21, 200, 200), glued(), glued(" "), " ".join(ordinary())]


def digest(*arrays) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def digests(names=NAMES) -> list[str]:
    """One digest a setup, of everything that its array doors give over a fixed corpus."""
    found = []
    for name in names:
        rows = SETUPS[name](hftok).encode_batch_ids(corpus(), return_offsets=True)
        again = SETUPS[name](hftok).encode_batch_ids(corpus())
        bare = SETUPS[name](hftok).encode_batch_ids(corpus(), add_special_tokens=False)
        found.append(digest(rows.ids, rows.row_offsets, rows.offsets, again.ids, bare.ids, bare.row_offsets))
    return found


CHILD = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/property"]
from hftok._core import cpu
from test_tiers_threads_caches import NAMES, digests
print(cpu.choose(), *digests())
"""


def in_a_process(timeout=120, **environment):
    return printed_by(CHILD, timeout, **environment).split()


@pytest.fixture(scope="module")
def expected():
    return digests()


# ---- tiers


@pytest.mark.parametrize("tier", cpu.available())
def test_tiers(tier, expected):
    """Every tier that this machine can run."""
    found = in_a_process(HFTOK_CPU=tier)
    assert found[0] == tier
    assert found[1:] == expected


def test_tiers_that_are_refused():
    for value, words in (("sse", "use one of"), ("neon" if "neon" not in cpu.available() else "avx2", "can run")):
        done = subprocess.run(
            [sys.executable, "-c", "import hftok"],
            env={**os.environ, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent), "HFTOK_CPU": value},
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0
        assert words in done.stderr


# ---- threads


@pytest.mark.parametrize("threads", ["1", "2", "7"])
def test_number_of_threads(threads, expected):
    assert in_a_process(OMP_NUM_THREADS=threads)[1:] == expected


@pytest.mark.parametrize("name", ["bert_uncased", "added_flags", "added_normalized"])
def test_threads_on_many_units(name, tmp_path, monkeypatch):
    """Enough text for every thread, as a list, as documents of a file and as one huge document."""
    one = SETUPS[name](hftok)
    texts = corpus() * 40
    path = tmp_path / "one.txt"
    path.write_bytes("\n".join(corpus() * 30).encode())
    size = sum(len(text.encode()) for text in texts)
    assert size > 3 << 20
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
        assert parallel.max_threads() == threads
        rows = one.encode_batch_ids(texts, return_offsets=True, parallel=True)
        whole = one.encode_files([path], parallel=True)
        matrix = one.encode_batch_padded(texts, max_length=40, parallel=True)
        found.append(digest(rows.ids, rows.row_offsets, rows.offsets, whole.ids, matrix["input_ids"]))
    rows = one.encode_batch_ids(texts, return_offsets=True, parallel=False)
    whole = one.encode_files([path], parallel=False)
    matrix = one.encode_batch_padded(texts, max_length=40, parallel=False)
    assert set(found) == {digest(rows.ids, rows.row_offsets, rows.offsets, whole.ids, matrix["input_ids"])}


@pytest.mark.parametrize("value", ["", "off", "false", "f", "no", "n", "0", "FALSE", "No"])
def test_parallelism_that_is_off(value, monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", value)
    assert not parallel.enabled()
    assert parallel.threads_for(8) == 1
    assert parallel.enabled(True) == parallel.HAVE_OPENMP


@pytest.mark.parametrize("value", ["on", "true", "1", "yes", "anything"])
def test_parallelism_that_is_on(value, monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", value)
    assert parallel.enabled() == parallel.HAVE_OPENMP
    assert not parallel.enabled(False)


def test_cores_of_a_process_whose_threads_are_bound():
    """OMP_PROC_BIND ties the calling thread to one core; the others are still there for the other threads."""
    child = "from hftok._core import parallel; print(parallel.cores())"
    bound = printed_by(child, 60, OMP_PROC_BIND="true", OMP_PLACES="cores")
    assert int(bound) == parallel.cores()


def test_number_of_threads_from_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert parallel.max_threads() == 3
    for value in ("", "0", "-1", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert parallel.max_threads() == parallel.cores()
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "1")
    if parallel.HAVE_OPENMP:
        assert [parallel.threads_for(n) for n in (0, 1, 2, 5, 100)] == [1, 1, 2, 5, 5]
    assert parallel.threads_for(100, False) == 1


def test_python_threads_share_a_tokenizer():
    """Many threads on one tokenizer, while others change it: every answer is right for one state or the other."""
    one = SETUPS["bert_uncased"](hftok)
    texts = list(grid_texts()[150:350])
    before = one.encode_batch_ids(texts).to_list()
    twin = SETUPS["bert_uncased"](hftok)
    twin.add_tokens(["<new>", "the"])
    after = twin.encode_batch_ids(texts).to_list()
    assert before != after
    errors = []
    stop = threading.Event()

    def read():
        while not stop.is_set():
            found = one.encode_batch_ids(texts).to_list()
            if found not in (before, after):
                errors.append("ids")
            if one.encode("a text", "of two").ids[0] != 2:
                errors.append("encode")

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        one.enable_truncation(5)
        one.no_truncation()
        one.clear_cache()
    one.add_tokens(["<new>", "the"])
    for _ in range(5):
        assert one.encode_batch_ids(texts).to_list() == after
    stop.set()
    for reader in readers:
        reader.join(timeout=60)
        assert not reader.is_alive()
    assert errors == []


# ---- caches


@pytest.fixture
def budget():
    before = cache_budget()
    yield hftok.set_cache_bytes
    hftok.set_cache_bytes(before)


@pytest.mark.parametrize("size", [0, 1, 65_536, 300_000, 1 << 20, 1 << 28])
def test_cache_sizes(size, budget, expected):
    budget(size)
    assert cache_budget() == size
    assert digests() == expected


@pytest.mark.parametrize("size", ["0", "70000", "1048576", "nonsense"])
def test_cache_size_from_the_environment(size, expected):
    assert in_a_process(HFTOK_CACHE_BYTES=size)[1:] == expected


@pytest.mark.parametrize("value", [-1, 1.5, "1", None, True])
def test_cache_sizes_that_are_refused(value, budget):
    before = cache_budget()
    with pytest.raises(ValueError, match="give a number of bytes"):
        budget(value)
    assert cache_budget() == before


@pytest.mark.parametrize("name", ["bert_uncased", "added_normalized", "byte_pairs", "unigram"])
def test_cold_and_warm(name, budget):
    """The same output from an empty cache, from a full one, after clearing it, and after changing its size."""
    one = SETUPS[name](hftok)
    texts = corpus()
    cold = one.encode_batch_ids(texts, return_offsets=True)
    found = [digest(cold.ids, cold.offsets)]
    for step in range(5):
        rows = one.encode_batch_ids(texts, return_offsets=True)
        found.append(digest(rows.ids, rows.offsets))
        if step == 1:
            one.clear_cache()
        if step == 2:
            budget(65_536)
        if step == 3:
            budget(1 << 22)
    assert len(set(found)) == 1
    single = np.concatenate([one.encode_ids(text) for text in texts])
    assert np.array_equal(single, cold.ids)


def words(rng: np.random.Generator, count: int) -> str:
    """Random words of 5 to 12 letters: nearly all different."""
    letters = rng.integers(97, 123, count * 9, dtype=np.uint8)
    letters[rng.random(count * 9) < 0.12] = 32
    return letters.tobytes().decode()


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")


@linux
@pytest.mark.parametrize("size", [1 << 20, 8 << 20])
def test_cache_keeps_its_budget(size, budget):
    """A stream of new words for ever: the cache stays within its budget, and the process stays as large as it was."""
    load_cache._writer.finish()  # of tokenizers that other tests have loaded
    budget(size)
    one = SETUPS["bert_uncased"](hftok)
    rng = np.random.default_rng(5)
    engine, _ = one._ready()
    sizes = []
    for round_ in range(14):
        text = words(rng, 60_000)
        one.encode_ids(text)
        one.encode_batch_ids([text[:1000], text[1000:90_000]] * 2, parallel=True)
        assert engine.cache_bytes_used() <= size + (256 << 10), round_
        sizes.append(resident())
    assert sizes[-1] - sizes[6] < 6 << 20, sizes


@linux
def test_memory_does_not_grow_from_call_to_call():
    one = SETUPS["bert_uncased"](hftok)
    texts = corpus()
    text = " ".join(ordinary())

    def calls():
        one.encode_batch_ids(texts, return_offsets=True)
        one.encode_batch_padded(texts, max_length=64)
        one.encode_batch(texts[:300])
        one.count_tokens(texts)
        one.encode(text, text).overflowing  # noqa: B018
        one.decode_batch([[1, 2, 3, 400]] * 100)
        for bad in (None, 5, ["a", None]):
            with pytest.raises(TypeError):
                one.encode_batch_ids([bad])

    for _ in range(8):
        calls()
    before = resident()
    for _ in range(30):
        calls()
    assert resident() - before < 5 << 20


@linux
def test_memory_of_tokenizers_is_given_back():
    """Tokenizers that come and go, and one that changes all the time, leave nothing behind."""

    def once(number):
        one = SETUPS["bert_uncased"](hftok)
        one.encode_batch_ids(corpus()[:400])
        one.add_tokens([f"<{number}>"])
        one.encode("a <0> text")

    for number in range(4):
        once(number)
    before = resident()
    for number in range(12):
        once(number)
    assert resident() - before < 12 << 20


def test_setups_are_shared_between_tests():
    """The cached tokenizers of the grids were left without settings by the tests before."""
    for name in NAMES:
        assert ours(name).truncation is None
        assert ours(name).padding is None
