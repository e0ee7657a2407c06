"""The picture of an encoding, against the reference's: the same elements, classes and labels around the same text."""

from __future__ import annotations

import html
import sys
from html.parser import HTMLParser
from types import ModuleType
from typing import Any

import pytest
import tokenizers
from tokenizers.tools import Annotation as TheirAnnotation
from tokenizers.tools import EncodingVisualizer as TheirVisualizer

import hftok
from hftok.tools import Annotation, EncodingVisualizer
from hftok.tools.visualizer import CharState, HTMLBody


class Events(HTMLParser):
    """The start, end and text of each span in the body."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.events: list[Any] = []
        self.depth = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if tag == "div":
            self.depth = 1
        if tag == "span":
            classes = sorted((found.get("class") or "").split())
            label, stok, style = found.get("data-label"), found.get("data-stok"), found.get("style")
            self.events.append((classes, label, stok, style))

    def handle_endtag(self, tag: str) -> None:
        if tag == "span":
            self.events.append("end")
        elif tag == "div":
            self.depth = 0

    def handle_data(self, data: str) -> None:
        if self.depth:
            self.events.append(data)


def build(library: Any) -> Any:
    vocabulary = {"<unk>": 0, "hello": 1, "world": 2, ",": 3, "<0xE4>": 4, "<0xB8>": 5, "<0xAD>": 6, "o": 7, "k": 8}
    tokenizer = library.Tokenizer(library.models.BPE(vocabulary, [], unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    return tokenizer


TEXTS = ["ok", " ok", "ok 中 ok\n", "x & <ok>", "a\t\"o'k", "中中", "o" * 30]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("spans", [[], [(0, 1, "A")], [(0, 2, "B"), (1, 2, "A")], [(1, 2, "A"), (0, 1, "A")]])
def test_elements(text: str, spans: list[tuple[int, int, str]]) -> None:
    ours = EncodingVisualizer(build(hftok), default_to_notebook=False)
    theirs = TheirVisualizer(build(tokenizers), default_to_notebook=False)
    mine = Events(ours(text, [Annotation(*span) for span in spans]) or "").events
    reference = Events(theirs(text, [TheirAnnotation(*span) for span in spans])).events
    assert mine == reference[1:-1]  # without the indentation around them
    shown = [event for event in mine if isinstance(event, str) and event != "end"]
    assert "".join(shown) == text


def test_converter_and_override() -> None:
    visualizer = EncodingVisualizer(build(hftok), False, lambda name: Annotation(0, 1, name))
    page = visualizer("ok", ["first"], default_to_notebook=False)
    assert page is not None
    assert 'data-label="first"' in page


def test_text_labels_and_pieces_are_escaped() -> None:
    """The reference writes labels and unknown tokens as they are."""
    visualizer = EncodingVisualizer(build(hftok), default_to_notebook=False)
    label = '"><script>alert(1)</script>'
    page = visualizer("x<b>", [Annotation(0, 4, label)])
    assert page is not None
    assert "<script>" not in page
    assert html.escape(label) in page
    assert 'data-stok="&lt;unk&gt;"' in page


def test_colors() -> None:
    for count in (0, 1, 2, 7, 30):
        labels = [f"label {number * 7 % count}" for number in range(count)] * 2
        mine = EncodingVisualizer.calculate_label_colors([Annotation(0, 1, label) for label in labels])
        assert mine == TheirVisualizer.calculate_label_colors([TheirAnnotation(0, 1, label) for label in labels])


def test_a_token_without_characters() -> None:
    state = CharState(None)
    state.tokens.append(1)
    encoding = build(hftok).encode("ok")
    element = EncodingVisualizer.consecutive_chars_to_html([state], "ok", encoding)
    assert element == '<span class="special-token" data-stok="k"></span>'


def test_an_annotation_after_the_end() -> None:
    for kind, annotation, library in (
        (EncodingVisualizer, Annotation, hftok),
        (TheirVisualizer, TheirAnnotation, tokenizers),
    ):
        with pytest.raises(IndexError):
            kind(build(library), default_to_notebook=False)("ok", [annotation(1, 9, "x")])


def test_no_text() -> None:
    """An empty page; the reference fails on the first character that is not there."""
    with pytest.raises(IndexError):
        TheirVisualizer(build(tokenizers), default_to_notebook=False)("")
    page = EncodingVisualizer(build(hftok), default_to_notebook=False)("")
    assert Events(page or "none").events == []


def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ImportError, match="default_to_notebook=False"):
        EncodingVisualizer(build(hftok))
    shown: list[Any] = []
    module = ModuleType("IPython.display")
    module.display = shown.append  # type: ignore[attr-defined]
    module.HTML = lambda page: ("page", page)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    assert EncodingVisualizer(build(hftok))("ok") is None
    assert shown[0][0] == "page"
    assert shown[0][1].startswith("<!DOCTYPE html>")


def test_other_styles() -> None:
    assert "<style>\np {}</style>" in HTMLBody([], "p {}")
