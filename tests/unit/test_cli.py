"""The command line: what each command prints, its exit status, and no traceback for what a person gets wrong."""

from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tokenizers

import hftok
from hftok import cli
from hftok.cli import bench, demo, inputs, parity
from hftok.cli.terminal import Style, table

TEXTS = ["one token, two tokens", "Größe und Straße", "中文 and 日本語", "", "a\tb\u00a0c", "naïve café"]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("<|end|>".join(TEXTS), encoding="utf-8")
    return str(path)


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"n": i, "body": text}) + "\n\n" for i, text in enumerate(TEXTS)))
    return str(path)


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The bench command sets these; give them back."""
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
        if not os.environ[name]:
            monkeypatch.delenv(name)
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def short_throughput(monkeypatch):
    monkeypatch.setattr(demo, "THROUGHPUT_BYTES", 200_000)
    monkeypatch.setattr(demo, "REFERENCE_BYTES", 20_000)


@pytest.fixture
def run(capsys):
    def run_command(*arguments):
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = stop.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run_command


@pytest.fixture
def other_reference(monkeypatch):
    """A reference that does not lower the case, so that it differs."""

    def opened(*_):
        tokenizer = tokenizers.Tokenizer.from_str(inputs.demo_tokenizer().to_str())
        tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
        return tokenizer

    monkeypatch.setattr(parity, "open_reference", opened)
    monkeypatch.setattr(bench, "open_reference", opened)
    monkeypatch.setattr(demo, "_reference", opened)


# ---- the data that ships with the package


def test_demo_data():
    tokenizer = inputs.demo_tokenizer()
    assert 2000 <= tokenizer.get_vocab_size() <= 8000
    text = inputs.data_text("demo_texts.txt")
    scripts = ["a", "é", "ж", "ω", "ا", "א", "क", "ก", "中", "の", "한"]
    assert [character for character in scripts if character not in text] == []
    unknown = tokenizer.token_to_id("[UNK]")
    ids = tokenizer.encode_ids(text)
    assert (ids == unknown).mean() < 0.001, "its own vocabulary covers its own texts"
    assert len(text.split("\n\n")) > 30


# ---- demo


def test_demo(run):
    status, out, err = run("demo", "--no-colour")
    assert (status, err) == (0, "")
    assert "input_ids" in out
    assert f"equal to tokenizers {tokenizers.__version__}" in out
    assert "MB/s" in out
    assert "\x1b" not in out


def test_demo_needs_nothing(tmp_path):
    """From an empty folder, in a process without torch and the reference."""
    code = (
        "import sys\n"
        "for name in ('torch', 'tokenizers', 'transformers', 'huggingface_hub'): sys.modules[name] = None\n"
        "from hftok.cli import main\n"
        "sys.exit(main(['demo']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent), "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "(numpy)" in done.stdout
    assert "not compared" in done.stdout
    assert "\x1b" not in done.stdout, "no colour where standard output is no terminal"
    assert not list(tmp_path.iterdir())


def test_demo_reports_a_difference(run, other_reference):
    status, out, _ = run("demo")
    assert status == 1
    assert "gives something else" in out
    assert "the ids differ" in out
    assert "shrunk from" in out


def test_module_entry_point(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-m", "hftok", "--version"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, f"hftok {hftok.__version__}")


# ---- colour


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_colour_only_on_a_terminal(monkeypatch):
    encoding = inputs.demo_tokenizer().encode("two tokens\tand\u200bmore")
    assert "\x1b" not in Style().tokens(encoding)
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[30;48;5;" in Style().tokens(encoding)
    assert "\x1b" not in Style(False).tokens(encoding)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in Style().tokens(encoding)
    monkeypatch.setenv("NO_COLOR", "")
    assert "\x1b" in Style().bold("x")
    monkeypatch.setenv("TERM", "dumb")
    assert Style().bold("x") == "x"


def test_tokens_and_offsets_are_all_shown(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    encoding = inputs.demo_tokenizer().encode("some words that do not fit into one line of fifty columns, surely")
    shown = Style(False).tokens(encoding)
    expected = [f"{token}[{a}:{b}]" for token, (a, b) in zip(encoding.tokens, encoding.offsets, strict=True)]
    assert shown.split() == expected
    assert max(map(len, shown.split("\n"))) <= 50


def test_table():
    assert table([("a", "bb"), ("ccc", "d")]) == "  a    bb\n  ccc   d"


# ---- encode


def test_encode(run, corpus, lines, monkeypatch):
    tokenizer = inputs.demo_tokenizer()
    assert run("encode", "demo", "one token", "--ids")[1].split() == list(map(str, tokenizer.encode("one token").ids))
    status, out, _ = run("encode", "demo", "one", "zwei", "--json", "--pair", "b", "--no-special-tokens")
    rows = [json.loads(line) for line in out.splitlines()]
    expected = [tokenizer.encode(text, "b", add_special_tokens=False) for text in ("one", "zwei")]
    assert [row["ids"] for row in rows] == [e.ids for e in expected]
    assert [row["tokens"] for row in rows] == [e.tokens for e in expected]
    assert [[tuple(span) for span in row["offsets"]] for row in rows] == [e.offsets for e in expected]
    assert [row["type_ids"] for row in rows] == [e.type_ids for e in expected]
    assert status == 0
    for arguments in (["--file", corpus, "--separator", "<|end|>"], ["--file", lines, "--jsonl-field", "body"]):
        out = run("encode", "demo", *arguments, "--ids")[1]
        assert [list(map(int, line.split())) for line in out.splitlines()] == [tokenizer.encode(t).ids for t in TEXTS]
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\ntwo\n"))
    assert len(run("encode", "demo")[1].splitlines()) == 2


def test_encode_a_saved_tokenizer(run, tmp_path):
    tokenizer = inputs.demo_tokenizer()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for name in (tmp_path, tmp_path / "tokenizer.json"):
        assert run("encode", name, "text", "--ids")[1].split() == list(map(str, tokenizer.encode("text").ids))


# ---- inspect


def test_inspect(run, tmp_path):
    status, out, _ = run("inspect", "demo")
    assert status == 0
    assert "WordPiece, 4,000 tokens" in out
    assert "BertNormalizer(" in out
    found = json.loads(run("inspect", "demo", "--json")[1])
    assert found["path"] == "scanner"
    assert found["why_exact"] is None
    assert found["cpu_tier"] in ("scalar", "avx2", "avx512", "neon")
    assert found["cache_bytes"] > 0
    slow = hftok.Tokenizer(hftok.models.WordLevel({"a": 0}, unk_token="a"))
    slow.add_tokens([" "])
    slow.save(str(tmp_path / "t.json"))
    found = json.loads(run("inspect", tmp_path / "t.json", "--json")[1])
    assert found["path"] == "exact"
    assert found["why_exact"]
    assert found["added_tokens"] == 1
    assert "exact, because" in run("inspect", tmp_path / "t.json")[1]


# ---- parity


def test_parity(run, corpus, lines):
    status, out, _ = run("parity", "demo", corpus, "--separator", "<|end|>")
    assert status == 0
    assert f"equal: {len(TEXTS)} documents" in out
    assert run("parity", "demo", lines, lines, "--jsonl-field", "body")[1].startswith("equal: 12 documents")
    assert run("parity", "demo", corpus, "--no-special-tokens")[1].startswith("equal: 1 document,")
    out = run("parity", "demo", corpus, "--separator", "<|end|>", "--pairs", "--documents", "4")[1]
    assert out.startswith("equal: 4 documents")


def test_parity_shrinks_the_first_difference(run, corpus, other_reference):
    status, out, _ = run("parity", "demo", corpus, "--separator", "<|end|>", "--no-colour")
    assert status == 1
    assert "after 0 documents" in out
    assert "input = 'G'" in out or "input = 'S'" in out
    assert "the ids differ" in out


def test_parity_sees_offsets(run, corpus, monkeypatch):
    real = parity.open_reference("demo", inputs.demo_tokenizer())

    class Shifted:
        def encode(self, *args, **kwargs):
            return Row(real.encode(*args, **kwargs))

        def encode_batch(self, *args, **kwargs):
            return [Row(row) for row in real.encode_batch(*args, **kwargs)]

    class Row:
        def __init__(self, row):
            self.row = row

        def __len__(self):
            return len(self.row)

        def __getattr__(self, name):
            value = getattr(self.row, name)
            return (
                [(a, b + ("é" in t)) for (a, b), t in zip(value, self.row.tokens, strict=True)]
                if (name == "offsets")
                else [i if i is None else i + ("," in self.row.tokens) for i in value]
                if name == "word_ids"
                else value
            )

    monkeypatch.setattr(parity, "open_reference", lambda *_: Shifted())
    status, out, _ = run("parity", "demo", corpus, "--separator", "<|end|>")
    assert status == 1
    assert "the word_ids differ" in out
    assert "input = ','" in out


def test_parity_with_another_version(run, corpus, monkeypatch):
    monkeypatch.setattr(parity, "REFERENCE_VERSION", "0.0.1")
    assert "hftok reproduces tokenizers 0.0.1" in run("parity", "demo", corpus)[1]


# ---- bench


def test_bench(run, corpus, lines):
    status, out, _ = run("bench", "demo", corpus, "--separator", "<|end|>", "--validate", "--threads", "1")
    assert status == 0
    assert f"{len(TEXTS)} documents" in out
    assert "hftok, cold" in out
    assert f"tokenizers {tokenizers.__version__}" in out
    assert f"ids equal in all {len(TEXTS)} documents" in out
    found = json.loads(
        run("bench", "demo", lines, "--jsonl-field", "body", "--json", "--validate", "--threads", "2")[1]
    )
    assert found["documents"] == len(TEXTS)
    assert found["validation"] == {"documents": len(TEXTS)}
    assert found["tokens"] == sum(len(inputs.demo_tokenizer().encode(text)) for text in TEXTS)
    assert found["ratio"]["cold"] > 0
    assert found["bytes"] == os.path.getsize(lines)
    found = json.loads(run("bench", "demo", corpus, "--json", "--hf-mb", "0")[1])
    assert "reference" not in found
    assert found["documents"] == 1


def test_bench_limits_the_reference(run, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("some words to count\n" * 5000)
    found = json.loads(run("bench", "demo", path, "--separator", "\\n", "--json", "--hf-mb", "0.02")[1])
    assert found["documents"] == 5000
    assert found["reference"]["bytes"] == pytest.approx(20_000, rel=0.01)


def test_bench_names_the_first_difference(run, corpus, other_reference):
    status, out, _ = run("bench", "demo", corpus, "--separator", "<|end|>", "--validate", "--no-colour")
    assert status == 1
    assert "document 1 differs at token" in out
    assert "Stra\\xdfe" in out
    status, out, _ = run("bench", "demo", corpus, "--separator", "<|end|>", "--validate", "--json")
    assert status == 1
    assert json.loads(out)["validation"]["different"] == 1


def test_bench_without_the_reference(run, corpus, monkeypatch):
    monkeypatch.setattr(bench, "reference_module", lambda: None)
    status, out, _ = run("bench", "demo", corpus)
    assert status == 0
    assert "tokenizers" not in out.replace("tokens/s", "")


# ---- documents are read as the core reads them


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a",
        b"a--b----c--",
        b"--a",
        "é--中".encode(),
        b"bad \xff\xfe--\xe4\xb8--\xed\xa0\x80--\xf0\x9f\x98",
        b"a\r\nb\x00c",
    ],
)
@pytest.mark.parametrize("separator", [None, "--"])
def test_documents_of_text(tmp_path, data, separator):
    path = tmp_path / "f.txt"
    path.write_bytes(data)
    found = list(inputs.documents(str(path), separator, None))
    tokenizer = inputs.demo_tokenizer()
    rows = tokenizer.encode_files(hftok.TextFileSource(path, separator), return_offsets=True)
    expected = tokenizer.encode_batch_ids(found, return_offsets=True)
    assert np.array_equal(rows.row_offsets, expected.row_offsets)
    assert np.array_equal(rows.ids, expected.ids)
    assert np.array_equal(rows.offsets, expected.offsets)


# ---- what a person gets wrong


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "no/such/file.json"], "there is no file or folder"),
        (["encode", "no.json", "a"], "cannot load the tokenizer 'no.json'"),
        (["inspect", "FILE"], "cannot load the tokenizer"),
        (["inspect", "DIR"], "has no tokenizer.json, no vocab.txt"),
        (["bench", "demo", "no-file"], "there is no file 'no-file'"),
        (["parity", "demo", "no-file"], "No such file"),
        (["parity", "demo", "DIR"], "Is a directory"),
        (["bench", "demo", "FILE", "--threads", "0"], "--threads must be 1 or more"),
        (["bench", "demo", "FILE", "--separator", ""], "--separator is empty"),
        (["bench", "demo", "FILE", "--jsonl-field", "x"], "FILE"),
        (["parity", "demo", "FILE", "--jsonl-field", "x"], "line 1: it is no JSON object with a string under 'x'"),
        (["parity", "demo", "FILE", "--documents", "0"], "--documents must be 1 or more"),
        (["encode", "demo", "a", "--separator", "x"], "need a --file"),
        (["encode", "demo", "--file", "no-file"], "No such file"),
        (["encode", "demo", "--file", "FILE", "--separator", "\\x1"], "an escape that cannot be read"),
        (["encode", "demo", "a\ud800"], "cannot be encoded"),
    ],
)
def test_errors_are_one_line(run, tmp_path, arguments, message):
    file = tmp_path / "FILE"
    file.write_text("[1, 2]\nhello")
    arguments = [
        str(file) if argument == "FILE" else str(tmp_path) if argument == "DIR" else argument for argument in arguments
    ]
    status, out, err = run(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith(f"hftok {arguments[0]}: ")
    assert message in err
    assert "Traceback" not in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["encode"], ["bench", "demo"], ["demo", "--what"]])
def test_usage(run, arguments):
    status, _, err = run(*arguments)
    assert status == 2
    assert err.startswith("usage: hftok")


def test_commands_without_the_reference(run, corpus, monkeypatch):
    monkeypatch.setattr(inputs, "reference_module", lambda: None)
    for arguments in (["parity", "demo", corpus], ["bench", "demo", corpus, "--validate"]):
        status, _, err = run(*arguments)
        assert status == 2
        assert "pip install tokenizers==0.23.2" in err


def test_interrupt_and_broken_pipe(run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.encode, "open_tokenizer", interrupted)
    assert run("encode", "demo", "a")[0] == 130


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are closed in another way there")
def test_reader_that_goes_away(tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("word " * 40 + "\n")
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(hftok.__file__).parent.parent)}
    writer = subprocess.Popen(
        [sys.executable, "-m", "hftok", "encode", "demo", *["a b c d e f"] * 5000, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    writer.stdout.readline()
    writer.stdout.close()
    err = writer.stderr.read()
    assert writer.wait(timeout=60) == 141
    assert err == b""


def test_no_command_prints_the_help(run):
    status, out, err = run()
    assert (status, out) == (2, "")
    assert err.startswith("usage: hftok")
    assert "demo" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["encode", "no/such/thing.json", "x"], "there is no file or folder"),
        (["encode", __file__, "x"], "it is not a tokenizer.json: "),
        (["train", "no-such-file", "--out", "x.json"], "hftok train: there is no file 'no-such-file'"),
        (["bench", "demo", __file__, "--hf-mb", "-1"], "--hf-mb must be 0 or more"),
    ],
)
def test_wrong_use_is_told_in_a_line(run, arguments, said):
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_one_is_singular(run, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("one text", encoding="utf-8")
    _, out, _ = run("bench", "demo", path, "--validate", "--hf-mb", "0", "--threads", "1")
    assert f"{path}: 8 bytes, 1 document, 4 tokens, 1 thread\n" in out
    assert "ids equal in 1 document\n" in out
    _, out, _ = run("parity", "demo", path)
    assert out.startswith("equal: 1 document, 8 characters, 4 tokens, all fields")
