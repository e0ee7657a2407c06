"""Which pipelines with word marks the scanner serves, and what its character table says about them."""

from __future__ import annotations

from typing import Any

import pytest
import word_mark_setups as marks

import hftok
from hftok._core.metaspace_chunks import MarkedWords, plan_marks

WHITE = ("WhitespaceSplit",)
METASPACE = ("Metaspace", marks.MARK, "always", True)
WORDS = ("Sequence", (WHITE, METASPACE))
MAP = ("Precompiled", marks.CHARSMAP)
SPACES = ("Replace", "Regex", " {2,}", " ")
MARKS = ("Replace", "Regex", " {2,}", marks.MARK)

ACT_SEPARATOR, ACT_RUN1, ACT_DROP, ACT_ESCAPE = 0, 1, 5, 6


def why_exact(normalizer: Any, pre_tokenizer: Any, tokens: str = "none") -> str | None:
    return hftok.Tokenizer.from_str(marks.definition(normalizer, pre_tokenizer, tokens))._ready()[0].why_exact


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer", "spaced", "doubles", "strip"),
    [
        (None, WORDS, 0, [], (False, False)),
        (MAP, WORDS, 0, [], (False, False)),
        (MAP, METASPACE, 1, [], (False, False)),
        (("Sequence", (MAP, SPACES)), METASPACE, 2, [], (False, False)),
        (
            ("Sequence", (("Strip", False, True), ("Replace", "Regex", " {2,}", marks.MARK))),
            METASPACE,
            2,
            [],
            (False, True),
        ),
        (("Sequence", (("Replace", "String", "``", '"'), MAP)), WORDS, 0, ["``"], (False, False)),
    ],
)
def test_plans(normalizer, pre_tokenizer, spaced, doubles, strip):
    plan = plan_marks(normalizer, pre_tokenizer)
    assert (plan.spaced, plan.doubles, plan.strip, plan.mark) == (spaced, doubles, strip, marks.MARK)


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer"),
    [
        (None, None),
        (None, ("Metaspace", marks.MARK, "always", False)),
        (None, ("Sequence", (METASPACE, METASPACE))),
        (None, ("Sequence", (("Punctuation", "isolated"), METASPACE))),
        (None, ("Sequence", (("ByteLevel", True, True, True), METASPACE))),
        (None, ("Metaspace", " ", "always", True)),
        (("Prepend", "_"), WORDS),
        (("Replace", "String", " ", "_"), WORDS),
        (("Replace", "String", "abc", "_"), WORDS),
        (("Replace", "String", "a b", "_"), WORDS),
        (("Replace", "String", "``", " "), WORDS),
        (("Sequence", (("Lowercase",), ("Replace", "String", "``", '"'))), WORDS),
        (("Sequence", (("Replace", "String", "ab", "c"), ("Replace", "String", "ac", "d"))), WORDS),
        (("Replace", "Regex", "a+", "_"), WORDS),
        (("Sequence", (SPACES, ("Lowercase",))), METASPACE),
        (("Replace", "Regex", " {2,}", marks.MARK), WORDS),
        (("Sequence", (MAP, ("Replace", "Regex", " {2,}", marks.MARK))), METASPACE),
        (("Sequence", (MAP, MAP)), WORDS),
        (("Sequence", (("NFC",), ("NFKC",))), WORDS),
        (("Sequence", (("Lowercase",), ("Strip", True, True))), WORDS),
    ],
)
def test_pipelines_that_are_left_alone(normalizer, pre_tokenizer):
    assert plan_marks(normalizer, pre_tokenizer) is None


def test_reasons():
    words, alone = marks.PRE_TOKENIZERS["white, always"], marks.PRE_TOKENIZERS["always"]
    assert why_exact(marks.MAP, words) is None
    assert "spaces" in why_exact(marks.precompiled({" \u0301": "x"}), words)
    assert "spaces" in why_exact(marks.precompiled({" ": "x"}), words)
    assert "join the one behind" in why_exact(marks.precompiled({"\u0600a": "x"}), words)
    assert "CR LF" in why_exact(marks.precompiled({"\r\n": "x"}), words)
    assert why_exact(marks.precompiled({"\r": " ", "\n": " "}), alone) is None
    tokenizer = hftok.Tokenizer.from_str(marks.definition(marks.MAP, words))
    tokenizer.add_tokens([hftok.AddedToken(marks.MARK + "x", normalized=True)])
    assert "word mark" in tokenizer._ready()[0].why_exact
    tokenizer = hftok.Tokenizer.from_str(marks.definition(marks.MAP, words))
    tokenizer.add_tokens([hftok.AddedToken(" x", normalized=False)])
    assert "begins with white space" in tokenizer._ready()[0].why_exact


@pytest.fixture(scope="module")
def table():
    engine = hftok.Tokenizer.from_str(
        marks.definition(marks.sequence(*marks.QUOTES, marks.MAP, marks.SPACES), marks.PRE_TOKENIZERS["always"], "none")
    )._ready()[0]
    plan = plan_marks(
        ("Sequence", (("Replace", "String", "``", '"'), ("Replace", "String", "''", '"'), MAP, SPACES)), METASPACE
    )
    return MarkedWords(engine.pipeline, plan)


@pytest.mark.parametrize(
    ("character", "action", "text"),
    [
        (" ", ACT_SEPARATOR, None),
        ("\n", ACT_SEPARATOR, None),
        ("\u3000", ACT_SEPARATOR, None),
        ("a", ACT_RUN1, "a"),
        ("A", ACT_RUN1, "aa"),
        ("ﬁ", ACT_RUN1, "fi"),
        ("\x01", ACT_DROP, None),
        ("中", ACT_ESCAPE, None),
        ("´", ACT_ESCAPE, None),
        (marks.MARK, ACT_ESCAPE, None),
        ("ς", ACT_ESCAPE, None),
        ("\u0301", ACT_ESCAPE, None),
        ("\u20d7", ACT_RUN1, "\u20d7"),
        ("क", ACT_RUN1, "क"),
        ("\u093e", ACT_RUN1, "\u093e"),
        ("각", ACT_RUN1, "각"),
    ],
)
def test_table(table, character, action, text):
    """What each character does. "zhong" is too long for an entry; marks and inner spaces are for the exact path."""
    found, data = table.entry(ord(character))
    assert found == action
    if text is not None:
        assert data == text.encode()
