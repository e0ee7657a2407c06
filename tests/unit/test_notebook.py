"""Tokens as HTML and in a terminal: everything is shown, escaped, and told apart without colour."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

import hftok


class Page(HTMLParser):
    """The elements of a page; fails on tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.items: list[dict[str, Any]] = []
        self.cells: list[str] = []
        self.styles = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "li":
            self.items.append({**dict(attrs), "text": "", "small": ""})

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "small" in self.open:
            self.items[-1]["small"] += data
        elif "li" in self.open:
            self.items[-1]["text"] += data
        elif self.open[-1:] == ["style"]:
            self.styles += data
        elif self.open:
            self.cells.append(data)


@pytest.fixture
def tokenizer() -> hftok.Tokenizer:
    vocab = {"[UNK]": 0, "<b>": 1, "hi": 2, "&": 3, "[CLS]": 4, "tab\there": 5}
    made = hftok.Tokenizer(hftok.models.WordLevel(vocab, unk_token="[UNK]"))
    made.pre_tokenizer = hftok.pre_tokenizers.WhitespaceSplit()
    made.post_processor = hftok.processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 4)])
    return made


def test_page(tokenizer: hftok.Tokenizer) -> None:
    text = 'hi <b> & "x"'
    encoding = tokenizer.encode(text)
    for html in hftok.visualize(text, tokenizer)._repr_html_(), encoding._repr_html_():
        page = Page(html)
        assert [item["text"] for item in page.items] == encoding.tokens
        assert [int(item["small"]) for item in page.items] == encoding.ids
        assert [item.get("class") for item in page.items] == ["special", None, None, None, None]
        assert page.items[0]["title"] == "id 4, special: [CLS]"
        assert page.items[2]["title"] == "id 1, characters 3 to 6: <b>"
        assert page.items[2]["data-span"] == "3:6"
        assert "data-span" not in page.items[0]
        assert "prefers-color-scheme: dark" in page.styles


def test_blanks_are_shown(tokenizer: hftok.Tokenizer) -> None:
    tokenizer.add_tokens(["\u200b\n"])
    page = Page(hftok.visualize("hi\u200b\n", tokenizer, add_special_tokens=False)._repr_html_())
    assert [item["text"] for item in page.items] == ["hi", "\\u200b\\n"]


def test_special_tokens_in_the_text_are_marked(tokenizer: hftok.Tokenizer) -> None:
    """What a text smuggles in is told from what it spells."""
    tokenizer.add_special_tokens(["<end>"])
    tokenizer.add_tokens(["plain"])
    shown = hftok.visualize("hi<end>plain", tokenizer)
    assert shown.tokens == ["[CLS]", "hi", "<end>", "plain"]
    assert shown.special == [True, False, True, False]
    assert Page(shown._repr_html_()).items[2]["title"] == "id 6, special, characters 2 to 7: <end>"
    tokenizer.add_special_tokens(["[UNK]"])
    shown = hftok.visualize("what? [UNK]", tokenizer)  # one for what is unknown, and one that the text spells
    assert shown.tokens == ["[CLS]", "[UNK]", "[UNK]"]
    assert shown.special == [True, False, True]
    tokenizer.encode_special_tokens = True
    assert hftok.visualize("hi <end>", tokenizer).special == [True, False, False]
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer.from_str(tokenizer.to_str())
    assert hftok.visualize("hi<end>plain", theirs).special == [True, False, True, False]


def test_long_texts_are_cut(tokenizer: hftok.Tokenizer) -> None:
    page = Page(hftok.visualize("hi " * 5000, tokenizer)._repr_html_())
    assert len(page.items) == 2000
    assert "and 3,001 more" in page.cells


def test_colours_have_contrast(tokenizer: hftok.Tokenizer) -> None:
    """Every text colour on every background, in each of the four palettes."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    styles = Page(tokenizer.encode("hi")._repr_html_()).styles
    palettes = [dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in styles.split("}") if "--ink:" in block]
    assert len(palettes) == 4
    for palette in palettes:
        for ink in "ink", "quiet":
            for paper in "paper", "token-0", "token-1", "token-2", "token-3":
                dark, light = sorted((luminance(palette[ink]), luminance(palette[paper])))
                assert (light + 0.05) / (dark + 0.05) >= 7


def test_tokenizer_as_a_table(tokenizer: hftok.Tokenizer) -> None:
    tokenizer.add_tokens(["<new>"])
    tokenizer.enable_truncation(7)
    cells = Page(tokenizer._repr_html_()).cells
    assert "6 tokens" not in cells
    assert "7 tokens" in cells
    assert "1: <new>" in cells
    assert any("WhitespaceSplit" in cell for cell in cells)
    assert any("'max_length': 7" in cell for cell in cells)


def test_terminal(tokenizer: hftok.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = hftok.visualize("hi & x", tokenizer)
    assert shown.as_text(colour=False) == "  [CLS][0:0] hi[0:2] &[3:4] [UNK][5:6]"
    assert repr(shown) == str(shown) == shown.as_text()
    assert "\x1b[" in shown.as_text(colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown.as_text(colour=True)).split() == [
        "[CLS]0:0",
        "hi0:2",
        "&3:4",
        "[UNK]5:6",
    ]


def test_terminal_lines_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters of two columns are counted as such."""
    monkeypatch.setenv("COLUMNS", "60")
    characters = "分词器把一段文字切成模型认识的小块"
    made = hftok.Tokenizer(hftok.models.WordLevel({c: i for i, c in enumerate(characters)}, unk_token="分"))
    made.pre_tokenizer = hftok.pre_tokenizers.Split("", "isolated")
    lines = hftok.visualize(characters, made).as_text(colour=False).split("\n")
    assert "".join(re.findall(r"(\S)\[", "".join(lines))) == characters
    widths = [len(line) + sum(c in characters for c in line) for line in lines]
    assert len(lines) == 3
    assert max(widths) <= 60


def test_comparison(tokenizer: hftok.Tokenizer) -> None:
    letters = hftok.Tokenizer(hftok.models.BPE({"h": 0, "i": 1}, []))
    compared = hftok.compare("hi", [tokenizer, letters], ["words", "<letters>"])
    assert [len(row) for row in compared.rows] == [2, 2]
    assert Page(compared._repr_html_()).cells == ["words: 2 tokens", "<letters>: 2 tokens"]
    assert "<letters>: 2 tokens\n  h[0:1] i[1:2]" in compared.as_text(colour=False)
    with pytest.raises(ValueError):
        hftok.compare("hi", [tokenizer], ["a", "b"])


def test_other_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    reference = tokenizers.Tokenizer(tokenizers.models.WordLevel({"hi": 0, "?": 1}, unk_token="?"))
    assert hftok.visualize("hi", reference).tokens == ["hi"]
    ready_made = tokenizers.implementations.BertWordPieceTokenizer({"hi": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3})
    assert hftok.visualize("hi", ready_made).special == [True, False, True]
    with pytest.raises(TypeError, match="no tokenizer"):
        hftok.visualize("hi", 5)
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([i]): i for i in range(256)}
    encoding = tiktoken.Encoding("bytes", pat_str=r"(?s).", mergeable_ranks=ranks, special_tokens={"<e>": 256})
    shown = hftok.visualize("aé<e>", encoding)
    assert shown.tokens == ["a", "\\xc3", "\\xa9", "<", "e", ">"]
    assert shown.offsets[:3] == [(0, 1), (1, 2), (1, 2)]


def test_transformers_tokenizer(tmp_path: Any) -> None:
    pytest.importorskip("transformers")
    import hftok.hf

    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\nhi\n")
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    tokenizer = hftok.hf.AutoTokenizer.from_pretrained(tmp_path)
    shown = hftok.visualize("hi [SEP]", tokenizer)
    assert shown.tokens == ["[CLS]", "hi", "[SEP]", "[SEP]"]
    assert shown.special == [True, False, True, True]
    with pytest.raises(TypeError, match="without offsets"):
        hftok.visualize("hi", hftok.hf.CanineTokenizer())
    shown = hftok.visualize("hi hi", tokenizer)
    assert shown.tokens == ["[CLS]", "hi", "hi", "[SEP]"]
    assert shown.special == [True, False, False, True]
    assert any("BertPreTokenizer" in cell for cell in Page(tokenizer._repr_html_()).cells)
