"""Forked children, data loader workers and spawned processes: no hang, the right output.

Each story runs in a process of its own with a time limit, so that a hang is a failure and not a hang of the tests.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import hftok

PRELUDE = """
import os, sys
sys.path[:0] = [sys.argv[1]]
os.environ.setdefault("OMP_NUM_THREADS", "2")
import numpy as np
import hftok
from grid_setups import SETUPS
from grid_texts import grid_texts
tokenizer = SETUPS["bert_uncased"](hftok)
texts = list(grid_texts()) * 120
expected = tokenizer.encode_batch_ids(texts, return_offsets=True, parallel=True)
assert sum(len(t.encode()) for t in texts) > 2 << 20, "several threads were at work"

def same():
    for parallel in (True, None, False):
        rows = tokenizer.encode_batch_ids(texts, return_offsets=True, parallel=parallel)
        if not (np.array_equal(rows.ids, expected.ids) and np.array_equal(rows.offsets, expected.offsets)):
            return False
    return tokenizer.encode("a text").ids == [2, *tokenizer.encode("a text", add_special_tokens=False).ids, 3]
"""


def story(code: str, **environment: str) -> str:
    # Other tests run programs in this process that say how many threads there may be.
    plain = {
        name: value for name, value in os.environ.items() if name not in ("OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM")
    }
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, str(pathlib.Path(__file__).parent.parent)],
        env={**plain, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent), **environment},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")


@needs_fork
def test_fork_after_a_parallel_call():
    out = story("""
for _ in range(3):
    child = os.fork()
    if child == 0:
        os._exit(0 if same() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert same(), "the parent goes on with its threads"
print("fine")
""")
    assert out == "fine\n"


@needs_fork
def test_fork_of_a_fork_and_changes_in_the_child():
    out = story("""
child = os.fork()
if child == 0:
    grandchild = os.fork()
    if grandchild == 0:
        tokenizer.add_tokens(["<brand new>"])
        tokenizer.enable_truncation(4)
        ok = tokenizer.encode("x <brand new>", add_special_tokens=False).tokens[-1] == "<brand new>"
        os._exit(0 if ok else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1])
    os._exit(code if same() else 2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert tokenizer.token_to_id("<brand new>") is None
print("fine")
""")
    assert out == "fine\n"


@needs_fork
def test_fork_while_threads_encode():
    """The child must not wait for a lock that a thread of the parent held."""
    out = story("""
import threading
stop = threading.Event()
def work():
    while not stop.is_set():
        tokenizer.encode_batch_ids(texts[:1000], parallel=False)
        tokenizer.clear_cache()
        tokenizer.add_tokens(["zz"])
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(8):
    child = os.fork()
    if child == 0:
        row = tokenizer.encode("fork", add_special_tokens=False).tokens
        tokenizer.add_tokens(["yy"])
        tokenizer.encode_batch_ids(["a", "b"])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for thread in threads:
    thread.join()
print("fine")
""")
    assert out == "fine\n"


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_multiprocessing_pool(context, tmp_path):
    if context != "spawn" and not hasattr(os, "fork"):
        pytest.skip("there is no fork on this system")
    script = tmp_path / "pool.py"
    script.write_text(f"""
import multiprocessing, os, sys
sys.path[:0] = [{str(pathlib.Path(__file__).parent.parent)!r}]
import hftok
from grid_setups import SETUPS
from grid_texts import grid_texts

tokenizer = SETUPS["added_flags"](hftok)

def ids(text):
    return tokenizer.encode_ids(text).tolist()

def with_tokenizer(job):
    other, text = job
    return other.encode(text).ids

if __name__ == "__main__":
    texts = list(grid_texts())
    expected = tokenizer.encode_batch_ids(texts * 30, parallel=True).to_list()[: len(texts)]
    with multiprocessing.get_context({context!r}).Pool(2) as pool:
        assert pool.map(ids, texts, chunksize=50) == expected
        assert pool.map(with_tokenizer, [(tokenizer, text) for text in texts[:20]]) == expected[:20]
    print("fine")
""")
    done = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent), "OMP_NUM_THREADS": "2"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "fine\n"


def test_data_loader_with_two_workers():
    pytest.importorskip("torch")
    out = story("""
import torch
from torch.utils.data import DataLoader, Dataset

class Texts(Dataset):
    def __len__(self):
        return len(texts)
    def __getitem__(self, index):
        return texts[index]

def collate(batch):
    found = tokenizer.encode_batch_padded(batch, max_length=32, padding="max_length", parallel=None)
    return torch.from_numpy(found["input_ids"])

whole = tokenizer.encode_batch_padded(texts, max_length=32, padding="max_length", parallel=True)["input_ids"]
for workers in (0, 2):
    seen = torch.cat(list(DataLoader(Texts(), batch_size=512, num_workers=workers, collate_fn=collate)))
    assert torch.equal(seen, torch.from_numpy(whole))
print("fine")
""")
    assert out == "fine\n"


def test_workers_of_a_pool_are_serial():
    """A worker process leaves the other cores to its siblings, unless it is told otherwise."""
    out = story("""
import multiprocessing
from hftok._core import parallel

def found(_):
    return parallel.enabled(), parallel.enabled(False)

if hasattr(os, "fork"):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(found, [0]) == [(False, False)]
assert parallel.enabled() == parallel.HAVE_OPENMP
print("fine")
""")
    assert out == "fine\n"


def test_torch_before_and_after():
    """Two users of one OpenMP library in a process: torch imported before, or after, a parallel call."""
    pytest.importorskip("torch")
    multiply = "import torch; torch.set_num_threads(2); torch.randn(300, 300) @ torch.randn(300, 300)\n"
    for first in (multiply, ""):
        out = story(first + multiply + "assert same()\nprint('fine')\n")
        assert out == "fine\n"
