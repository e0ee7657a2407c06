"""Added tokens where they meet other things: blanks inside, blanks shared, bytes that a vocabulary lacks."""

from __future__ import annotations

import gc
import itertools
import json
import tracemalloc
from typing import Any

import pytest
import tokenizers
from grid_checks import outcome, same

import hftok
from hftok.testing import encoding_fields

MARK = "\u2581"
FLAGS = ("lstrip", "rstrip", "normalized")


def definition(added: list[tuple[str, set[str]]], **parts: Any) -> str:
    vocab = parts["model"]["vocab"]
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                {**plain, **dict.fromkeys(flags, True), "id": len(vocab) + i, "content": content}
                for i, (content, flags) in enumerate(added)
            ],
            "normalizer": None,
            "pre_tokenizer": None,
            "post_processor": None,
            "decoder": None,
            **parts,
        }
    )


def characters(text: str, **options: Any) -> dict[str, Any]:
    """A BPE model of single characters."""
    vocab = {character: i for i, character in enumerate(dict.fromkeys(text))}
    return {"type": "BPE", "vocab": vocab, "merges": [], **options}


def _byte_characters() -> dict[int, str]:
    """ByteLevel's character of each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    found = {b: chr(b) for b in printable}
    others = (b for b in range(256) if b not in found)
    return found | {b: chr(256 + i) for i, b in enumerate(others)}


BYTE_CHARACTERS = _byte_characters()


def byte_level(lacking: int = -1) -> dict[str, Any]:
    """A BPE model of single bytes, but for one."""
    return characters("".join(c for b, c in BYTE_CHARACTERS.items() if b != lacking))


def assert_same(text: str, texts: list[str]) -> hftok.Tokenizer:
    ours, theirs = hftok.Tokenizer.from_str(text), tokenizers.Tokenizer.from_str(text)
    ids = {}
    for one in texts:
        expected = outcome(lambda one=one: theirs.encode(one))
        if isinstance(expected, BaseException):
            assert same(outcome(lambda one=one: ours.encode(one)), expected), one
            continue
        assert encoding_fields(ours.encode(one)) == encoding_fields(expected), one
        assert ours.encode_ids(one).tolist() == expected.ids, one
        ids[one] = expected.ids
    assert ours.encode_batch_ids(list(ids)).to_list() == list(ids.values())
    return ours


SPACES_TO_MARKS = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
PREPENDED = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK}, SPACES_TO_MARKS]}


@pytest.mark.parametrize("normalizer", [PREPENDED, SPACES_TO_MARKS])
@pytest.mark.parametrize("content", ["a b", "a  b", " a b", "a b ", "a", MARK + "a b", "a" + MARK + "b"])
def test_blanks_inside_a_normalized_token(normalizer: dict[str, Any], content: str) -> None:
    """A normalized token holds marks where the text has spaces (or marks): the scanner of raw text must see it."""
    model = characters(MARK + "abcxy<", unk_token="<")
    texts = ["a b", "xa by", "a  b", " a b ", "ab", f"a{MARK}b", f"{MARK}a b", "a", "", "ca b a b", "a \tb"]
    text = definition([(content, {"normalized"})], normalizer=normalizer, model=model)
    assert_same(text, texts)


def test_a_scanner_with_blanks_inside_a_normalized_token() -> None:
    """Such a token does not keep the text from its scanner."""
    model = characters(MARK + "abc<", unk_token="<")
    ours = assert_same(definition([("a b", {"normalized"})], normalizer=PREPENDED, model=model), ["a b c", "c c"])
    assert ours._ready()[0].is_fast


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_bytes_that_normal_forms_bring(form: str) -> None:
    """Bytes without a token vanish; the normal form may hold some that the text does not, or lose what it holds."""
    texts = ["A\u0301", "\u00c1", "\u212b", "a\u0300b", "\ufb01\u0300", "\u1100\u1161", "\uac00", "a", "x\u0344"]
    for lost in (0x81, 0xC3, 0xCC, 0x80, 0x41):
        model = byte_level(lacking=lost)
        text = definition(
            [],
            normalizer={"type": form},
            pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
            model=model,
        )
        ours = assert_same(text, texts)
        assert ours._ready()[0].is_fast


BLANK_TOKENS = ["\n", "\n\n", "  ", " the", "x", "x "]


@pytest.mark.parametrize("pre_tokenizer", ["ByteLevel", "Metaspace", "Whitespace"])
@pytest.mark.parametrize("flags", [set(part) for n in range(4) for part in itertools.combinations(FLAGS, n)])
def test_tokens_that_share_blanks(pre_tokenizer: str, flags: set[str]) -> None:
    """A token that strips, and one that begins with blanks: the second lies in what the first has taken, and both keep
    their own text, as does what is left behind them."""
    part: dict[str, Any] = {"type": pre_tokenizer}
    if pre_tokenizer == "ByteLevel":
        part |= {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    elif pre_tokenizer == "Metaspace":
        part |= {"replacement": "_", "prepend_scheme": "always", "split": True}
    model = byte_level()
    model["vocab"].setdefault("_", len(model["vocab"]))
    texts = ["".join(row) for row in itertools.product(["x", "\n", "\n\n\n", "  ", "   the", "\t "], repeat=3)]
    for number, (first, second) in enumerate(itertools.permutations(BLANK_TOKENS, 2)):
        added = [(first, flags), (second, set()), ("\t", {"rstrip", "lstrip"})]
        assert_same(definition(added, pre_tokenizer=part, model=model), texts[number % 3 :: 3])


def test_changes_of_the_added_tokens_lose_no_memory() -> None:
    """Each change compiles a matcher anew; what one took goes with it."""
    tokenizer = hftok.Tokenizer(hftok.models.WordLevel({"a": 0, "[U]": 1}, "[U]"))

    def change(number: int) -> None:
        tokenizer.add_tokens([f"<{number % 2}>"])
        tokenizer.post_processor = None
        tokenizer.normalizer = hftok.normalizers.NFC() if number % 2 else None
        assert tokenizer.encode(f"a<{number % 2}>").ids[1] == 2 + number % 2

    for number in range(20):
        change(number)
    tracemalloc.start()
    change(0)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(100):
        change(number)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 5000  # a tuple for each change would be more
