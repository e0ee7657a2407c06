"""What is shipped, what is promised about it, and whether the promises agree with each other."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib

import pytest

import hftok

PACKAGE = pathlib.Path(hftok.__file__).parent
ROOT = pathlib.Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(name):
    lines = (ROOT / name).read_text().split("\n")
    return dict(line.split("==") for line in lines if line and line[0] != "#")


PINS, PINS_4_57 = pins("requirements-test.txt"), pins("requirements-test-4.57.txt")


def test_versions_agree():
    assert PROJECT["project"]["version"] == hftok.__version__
    assert f"## {hftok.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    from hftok.cli.inputs import REFERENCE_VERSION

    assert PINS["tokenizers"] == REFERENCE_VERSION
    readme = (ROOT / "README.md").read_text()
    assert f"`tokenizers` {PINS['tokenizers']} and `transformers` {PINS['transformers']}" in readme
    assert f"torch {PINS['torch']}" in readme


def test_pins_are_exact_and_cover_the_run_time():
    for pinned in PINS, PINS_4_57:
        assert all(re.fullmatch(r"[0-9][0-9.]*", version) for version in pinned.values())
        for requirement in PROJECT["project"]["dependencies"]:
            assert re.match(r"[\w-]+", requirement).group() in pinned, requirement
    assert PINS_4_57["transformers"].startswith("4.57.")
    for name in ("numpy", "torch", "pytest", "hypothesis", "regex", "orjson"):
        assert PINS_4_57[name] == PINS[name]


@pytest.mark.parametrize("name", ["tokenizers", "transformers", "hypothesis", "pytest"])
def test_installed_as_pinned(name):
    """The suite means little against another reference."""
    assert importlib.metadata.version(name) == PINS[name]


def test_readme_commands():
    """The two commands stand in the README in the form that CI runs."""
    readme = (ROOT / "README.md").read_text()
    assert "\npip install . && hftok demo\n" in readme
    assert len(re.findall(r"^pip install -r requirements-test.txt -e \. && pytest$", readme, re.MULTILINE)) == 1
    script = (ROOT / ".ci/run").read_text()
    assert "grep -m 1 '^pip install -r requirements-test.txt' README.md" in script
    for command in ("demo", "encode", "inspect", "parity", "bench"):
        assert f"hftok {command}" in readme.replace("hftok\nparity", "hftok parity"), command


def test_differences_name_tests_that_exist():
    """Rows stand by subject, in the order of their numbers in each; a number is given once and kept."""
    text = (ROOT / "docs/differences.md").read_text()
    rows = re.findall(r"^\| (\d+) \|(.*)\|$", text, re.MULTILINE)
    assert sorted(int(number) for number, _ in rows) == list(range(1, len(rows) + 1))
    for section in text.split("\n## "):
        numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]
        assert numbers == sorted(numbers)
    for number, row in rows:
        cells = row.split("|")
        test = cells[-1].strip().split("::")
        assert (ROOT / test[0]).is_file(), number
        if len(test) > 1:
            assert f"def {test[1]}" in (ROOT / test[0]).read_text(), number


def test_documents_name_no_private_places():
    """Nothing that is shipped speaks of the machine that it was written on."""
    pattern = re.compile(r"/(?:root|home|work|tmp)/\w|localhost|\b10\.\d+\.\d+\.\d+")
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb")]
    for path in [*documents, *PACKAGE.rglob("*.py"), *ROOT.glob("benchmarks/*.py"), *ROOT.glob("tools/*.py")]:
        assert not pattern.search(path.read_text(encoding="utf-8")), path


# ---- types


def test_marked_as_typed():
    assert (PACKAGE / "py.typed").is_file()


def stubs():
    return sorted(PACKAGE.rglob("*.pyi"))


@pytest.mark.parametrize("path", stubs(), ids=lambda path: ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
def test_stubs_tell_the_truth(path):
    """Every name of a stub is in its module, every method in its class."""
    name = ".".join(("hftok", *path.relative_to(PACKAGE).with_suffix("").parts))
    module = importlib.import_module(name)
    for node in ast.parse(path.read_text()).body:
        if getattr(node, "name", "").startswith("_"):  # of the stub itself
            continue
        if isinstance(node, ast.FunctionDef):
            assert callable(getattr(module, node.name)), f"{name}.{node.name}"
        elif isinstance(node, ast.ClassDef):
            kind = getattr(module, node.name)
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name != "__getattr__":  # which promises any attribute
                    assert hasattr(kind, item.name), f"{name}.{node.name}.{item.name}"
                elif isinstance(item, ast.AnnAssign) and kind.__dictoffset__ == 0:  # attributes of the type alone
                    assert isinstance(item.target, ast.Name)
                    assert hasattr(kind, item.target.id), f"{name}.{node.name}.{item.target.id}"


def test_compiled_modules_have_stubs():
    """Each compiled module that the Python layer imports from."""
    missing = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hftok._core"):
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                for name in names:
                    file = PACKAGE.joinpath(*name.split(".")[1:])
                    compiled = file.parent.is_dir() and any(file.parent.glob(f"{file.name}.*.so"))
                    if compiled and not file.with_suffix(".pyi").is_file():
                        missing.add(name)
    assert not missing


# ---- distributions


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The names in a source distribution, made from the tree as it is."""
    if not (ROOT / "setup.py").is_file():
        pytest.skip("these tests do not run in the source tree")
    folder = tmp_path_factory.mktemp("sdist")
    done = subprocess.run(
        [sys.executable, "setup.py", "-q", "egg_info", "-e", str(folder), "sdist", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        return {name.partition("/")[2] for name in tar.getnames()}


def test_source_distribution_holds_what_a_build_needs(sdist):
    wanted = {
        "pyproject.toml",
        "setup.py",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "requirements-test.txt",
        "requirements-test-4.57.txt",
    }
    for pattern in ("*.py", "*.pyx", "*.pxd", "*.pxi", "*.h", "*.pyi", "data/*"):
        wanted |= {str(path.relative_to(ROOT)) for path in (ROOT / "hftok").rglob(pattern) if path.is_file()}
    wanted |= {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")}
    assert wanted <= sdist, sorted(wanted - sdist)
    generated = {name for name in sdist if name.endswith((".so", ".pyd", ".pyc", ".c", ".html"))}
    assert not generated


def test_installed_files():
    """The installed distribution holds the stubs, the data and no sources of the core."""
    try:
        files = importlib.metadata.files("hftok") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("hftok is not installed, only built in place")
    names = {str(file) for file in files}
    if not any(name.startswith("hftok/") for name in names):
        pytest.skip("an editable install lists no files of the package")
    assert {"hftok/py.typed", "hftok/data/demo_vocab.txt", "hftok/data/demo_texts.txt"} <= names
    assert any(name.endswith(".pyi") for name in names)
    assert not [name for name in names if name.endswith((".c", ".pyx", ".h", ".pxd"))]
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "tools"))]


def test_entry_point():
    scripts = PROJECT["project"]["scripts"]
    module, _, name = scripts["hftok"].partition(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_importing_is_light():
    """`import hftok` brings no package that it can do without."""
    code = (
        "import sys, hftok; print(*[m for m in ('torch', 'transformers', 'tokenizers', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(PACKAGE.parent)}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


# ---- examples


def modules():
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] != "__main__":
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    return names


@pytest.mark.parametrize("name", modules())
def test_examples_of_docstrings(name):
    """Every example in the Python layer runs."""
    import doctest

    if name.startswith("hftok.hf"):
        pytest.importorskip("transformers")
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


@pytest.mark.parametrize("path", stubs(), ids=lambda path: ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
def test_examples_of_compiled_modules(path):
    import doctest

    name = ".".join(("hftok", *path.relative_to(PACKAGE).with_suffix("").parts))
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    texts = {"": module.__doc__ or ""}
    texts |= {key: value for key, value in getattr(module, "__test__", {}).items() if isinstance(value, str)}
    for kind, value in vars(module).items():
        if getattr(value, "__module__", None) == name and callable(value) and not kind.startswith("_"):
            texts.setdefault(kind, value.__doc__ or "")
    for key, text in texts.items():
        test = doctest.DocTestParser().get_doctest(text, dict(vars(module)), f"{name}.{key}", None, 0)
        if test.examples:
            runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
