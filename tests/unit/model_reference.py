"""What the tests of the model kernels share: answers of reference and kernel in one form, and the real files."""

import json
import os
import pathlib
from functools import lru_cache

import pytest

DATA = pathlib.Path(os.environ.get("HFTOK_TEST_DATA", "no-such-folder"))


def answer_of_reference(model, text):
    """Tokens as (id, value, offsets), or the message of the exception."""
    try:
        return [(t.id, t.value, tuple(t.offsets)) for t in model.tokenize(text)]
    except Exception as error:
        return str(error)


def answer_of_kernel(model, text):
    try:
        return model.tokenize_str(text)
    except Exception as error:
        return str(error)


def construct(make, *args, **options):
    """The object and None, or None and the exception. A panic of the reference counts as an exception."""
    try:
        return make(*args, **options), None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return None, error


@lru_cache(maxsize=2)  # they are large
def real_model(name):
    """The `model` object of a real tokenizer.json."""
    path = DATA / "tokenizers" / name / "tokenizer.json"
    if not path.exists():
        pytest.skip(f"the real tokenizer {name} is not here (HFTOK_TEST_DATA)")
    return json.loads(path.read_text("utf-8"))["model"]


def reference_of(model):
    """The reference's model object, read from the same JSON."""
    import tokenizers

    text = json.dumps({"version": "1.0", "added_tokens": [], "model": model}, ensure_ascii=False)
    return tokenizers.Tokenizer.from_str(text).model


def corpus(name, start=0, size=200_000):
    """A piece of a corpus, cut at characters."""
    path = DATA / "corpora" / f"{name}.txt"
    if not path.exists():
        pytest.skip(f"the corpus {name} is not here (HFTOK_TEST_DATA)")
    with path.open("rb") as file:
        file.seek(start)
        return file.read(size).decode("utf-8", "ignore")


STRANGE = [
    "", " ", "a", "\0", "\n\n", "é", "e\u0301", "漢字", "日本語のテキスト", "한국어", "مرحبا بالعالم", "ไทยภาษา", "🙂",
    "👩‍👩‍👧‍👦", "\u200b\u200d", "\ufeffx", "\ufffd", "\U0010ffff", "İstanbul", "ſß", "ﬁ", "<unk>", "<0x41>",
    "</w>", "##a", "▁", "▁▁▁a", "Ġ", "ĠHello", "a" * 63, "a" * 64, "a" * 65, "a" * 300, "ab" * 200, "é" * 100,
    "漢" * 100, "🙂" * 40, "aé漢🙂" * 30,
]  # fmt: skip


def byte_chars():
    """The ByteLevel character of each byte."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in kept]
    return {**{b: chr(b) for b in kept}, **{b: chr(256 + i) for i, b in enumerate(others)}}
