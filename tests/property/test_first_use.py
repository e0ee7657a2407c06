"""The first use of everything, by many threads at the same moment, and in several processes: tables made on demand,
caches, the engine itself, and what an Encoding finds out when it is read."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

import hftok

TESTS = pathlib.Path(__file__).parent.parent


@pytest.fixture(scope="module")
def definitions(tmp_path_factory) -> str:
    """tokenizer.json files of one tokenizer for each way through the engine."""
    folder = tmp_path_factory.mktemp("definitions")
    sys.path.insert(0, str(TESTS))
    from grid_setups import SETUPS
    from grid_texts import grid_texts

    for name in ("bert_uncased", "added_in_both_passes", "word_level", "punctuation_behaviors", "unigram"):
        (folder / f"{name}.json").write_text(SETUPS[name](hftok).to_str(), encoding="utf-8")
    texts = list(grid_texts())
    trained = {
        "byte_level": (hftok.pre_tokenizers.ByteLevel(add_prefix_space=False), hftok.decoders.ByteLevel()),
        "marks": (hftok.pre_tokenizers.Metaspace(split=False), hftok.decoders.Metaspace()),
        "exact": (
            hftok.pre_tokenizers.Split(hftok.Regex(r"\p{L}+|\s|[^\p{L}\s]{1,2}"), "isolated"),
            hftok.decoders.Fuse(),
        ),
    }
    for name, (pre_tokenizer, decoder) in trained.items():
        tokenizer = hftok.Tokenizer(hftok.models.BPE(unk_token=None if name == "byte_level" else "<unk>"))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizer, decoder
        alphabet = hftok.pre_tokenizers.ByteLevel.alphabet() if name == "byte_level" else []
        trainer = hftok.trainers.BpeTrainer(
            vocab_size=2000, special_tokens=["<unk>"], initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator(texts, trainer)
        (folder / f"{name}.json").write_text(tokenizer.to_str(), encoding="utf-8")
    return str(folder)


PROGRAM = """
import pathlib, random, sys, threading
sys.path[:0] = [sys.argv[1]]
import hftok
from grid_texts import glued, grid_texts

sys.setswitchinterval(1e-5)
rng = random.Random(int(sys.argv[3]))
texts = rng.sample(list(grid_texts()), 40) + [glued()[:6000], glued(" ")[:9000]]
# Enough text for the GIL to be given up, and for several work units.
batch = list(grid_texts()) * 4

def together(n, work):
    "What each of n threads gives, which begin at the same moment."
    barrier, found = threading.Barrier(n), [None] * n
    def run(i):
        barrier.wait()
        try:
            found[i] = work(i)
        except BaseException as error:
            found[i] = repr(error)
    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found

def columns(encoding, order):
    read = {name: getattr(encoding, name) for name in order}
    return [read[name] for name in sorted(read)]

NAMES = ["tokens", "offsets", "word_ids", "ids", "sequence_ids"]

def answers(tokenizer, i):
    doors = [
        lambda: [columns(tokenizer.encode(text), NAMES) for text in texts],
        lambda: [tokenizer.encode_ids(text).tolist() for text in texts],
        lambda: [tokenizer.decode(tokenizer.encode_ids(text).tolist(), False) for text in texts],
        lambda: tokenizer.encode_batch_ids(batch, return_offsets=True).to_list(),
        lambda: [e.ids for e in tokenizer.encode_batch([(text, text) for text in texts])],
        lambda: tokenizer.encode_batch_ids(texts, parallel=True).to_list(),
    ]
    order = sorted(range(len(doors)), key=lambda k: (k + i) % len(doors))
    found = {k: doors[k]() for k in order}
    return [found[k] for k in range(len(doors))]

bad = []
for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    definition = path.read_text(encoding="utf-8")
    expected = answers(hftok.Tokenizer.from_str(definition), 0)
    for attempt in range(2):
        fresh = hftok.Tokenizer.from_str(definition)
        for i, found in enumerate(together(6, lambda i: answers(fresh, i))):
            if found != expected:
                bad.append((path.name, i, found if isinstance(found, str) else [
                    k for k in range(len(expected)) if found[k] != expected[k]]))
    # One Encoding, which several threads read.
    whole = columns(fresh.encode(texts[-1]), NAMES)
    for attempt in range(20):
        encoding = fresh.encode(texts[-1])
        orders = [rng.sample(NAMES, len(NAMES)) for _ in range(4)]
        for i, found in enumerate(together(4, lambda i: columns(encoding, orders[i]))):
            if found != whole:
                bad.append((path.name, "Encoding", found if isinstance(found, str) else i))
print(bad)
"""


def test_many_threads_begin_at_once(definitions) -> None:
    """Two processes at the same time, each with other texts and with threads of its own."""
    plain = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"}
    plain |= {"PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent), "OMP_NUM_THREADS": "3"}
    running = [
        subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-c", PROGRAM, str(TESTS), definitions, str(seed)],
            env=plain,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for seed in range(2)
    ]
    for process in running:
        out, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
        assert out == "[]\n"


def test_ways_through_the_engine(definitions) -> None:
    """The tokenizers above are of all kinds: raw bytes, marks, words, characters with classes, and none of these."""
    kinds = {}
    for path in pathlib.Path(definitions).iterdir():
        kinds[path.stem] = hftok.Tokenizer(str(path))._ready()[0].is_fast
    assert kinds.pop("exact") is False
    assert kinds["byte_level"]
    assert kinds["bert_uncased"]
