"""The notebook views in a real browser: colours, contrast, nothing cut off, focus; in light and dark, at two widths.

One run of a headless Chromium for each view gives the page's own account (computed styles and places of all elements)
and a picture. Nothing here depends on which fonts are installed: pixels are looked at where only a background can be,
or for being of two colours at all.
"""

from __future__ import annotations

import itertools
import json
import pathlib
import re
import shutil
import struct
import subprocess
import zlib
from html import unescape
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hftok
from hftok.tools import Annotation, EncodingVisualizer

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed to look at the pages with")

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
]
HEIGHT = 900
# How notebooks say that they are light or dark, whatever the system is; light and dark in turns.
THEMES = [
    *('data-jp-theme-light="true"', 'data-jp-theme-light="false"', 'theme="light"', 'theme="dark"'),
    *('class="vscode-light"', 'class="vscode-dark"'),
]

# As strong as the rules by which JupyterLab styles what cells show, and against ours.
HOST = """
.jp-RenderedHTMLCommon { font: 20px/2 serif; color: #888888; }
.jp-RenderedHTMLCommon ol:not(.list-inline) { padding-left: 2em; }
.jp-RenderedHTMLCommon ol { list-style: decimal; margin-bottom: 1em; }
.jp-RenderedHTMLCommon h4 { font-size: 30px; margin: 1em 0; }
.jp-RenderedHTMLCommon h4:first-child { margin-top: 2em; }
.jp-RenderedHTMLCommon table { border: 3px solid; font-size: 30px; margin: 0 auto 1em; table-layout: fixed; }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr {
  border: none; line-height: normal; padding: 0.5em; vertical-align: middle; white-space: normal; }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td, :not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon th {
  text-align: right; }
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: #808080; }
"""

# What the page tells about itself. An element's paper is the first background that is not transparent, from itself up.
SCRIPT = """
const clear = "rgba(0, 0, 0, 0)";
const paper = e => { for (; e; e = e.parentElement) {
  const c = getComputedStyle(e).backgroundColor; if (c !== clear) return c; } return null; };
const about = e => { const s = getComputedStyle(e), r = e.getBoundingClientRect(); return {
  tag: e.tagName.toLowerCase(), text: e.textContent, title: e.title, kind: e.className,
  ink: s.color, paper: paper(e), edge: s.borderTopColor, line: s.borderTopStyle,
  left: r.left, top: r.top, right: r.right, bottom: r.bottom,
  wide: e.scrollWidth - e.clientWidth, shown: getComputedStyle(e, "::after").content }; };
const views = [...document.querySelectorAll(".hftok-tokens, .tokenized-text")];
const report = { dark: matchMedia("(prefers-color-scheme: dark)").matches,
  wide: document.documentElement.scrollWidth,
  labels: [...document.querySelectorAll(".annotation")].map(about),
  views: views.map(v => ({ ...about(v), inside: [...v.querySelectorAll("li, small, h4, p, th, td")].map(about) })) };
views[0].focus({ focusVisible: true });
const style = getComputedStyle(views[0]);
report.focus = { style: style.outlineStyle, width: style.outlineWidth, colour: style.outlineColor,
  tokens: [...views[0].querySelectorAll("li")].map(about) };
views[0].blur();
const told = document.createElement("script");
told.type = "application/json"; told.id = "report";
told.textContent = JSON.stringify(report).replaceAll("<", "\\u003c");
document.body.append(told);
"""


def demo() -> hftok.Tokenizer:
    return hftok.Tokenizer.from_vocab(files("hftok") / "data" / "demo_vocab.txt")


HARD = ["x" * 300, " ", "a  b", "\n", "\u202eleft", "e\u0301", "👩‍👩‍👧", "مرحبا", "שלום", "<b>&", "\u200b"]
ODD_TEXT = "|".join(HARD) + "<s>"


def odd() -> hftok.Tokenizer:
    """A tokenizer whose tokens are all that is hard to show."""
    vocabulary = {token: i for i, token in enumerate(["?", *HARD, "<s>"])}
    tokenizer = hftok.Tokenizer(hftok.models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = hftok.pre_tokenizers.Split("|", "removed")
    tokenizer.add_special_tokens(["<s>"])
    return tokenizer


def views() -> list[Any]:
    tokenizer, hard = demo(), odd()
    return [
        tokenizer.encode("Unaffable tokenizers, 東京!", "A pair."),
        hftok.visualize(ODD_TEXT, hard),
        hftok.compare("One  text.", [tokenizer, hard], ["a name", "n" * 200]),
        tokenizer,
        hftok.visualize("", hard),
    ]


def annotated() -> str:
    """The picture of tokenizers.tools: a text with labels and a word that is longer than a line."""
    labels = [Annotation(0, 12, "PER"), Annotation(22, 28, "LOC")]
    visualizer = EncodingVisualizer(demo(), default_to_notebook=False)
    page = visualizer("Ada Lovelace lived in London. " + "x" * 300, labels)
    assert page is not None
    style, body = re.findall(r"<style>.*?</style>|<body>.*?</body>", page, re.S)
    return style + body.removeprefix("<body>").removesuffix("</body>")


class Seen:
    """One page in one browser window."""

    def __init__(self, report: dict[str, Any], picture: npt.NDArray[np.uint8]) -> None:
        self.report = report
        self.picture = picture

    @property
    def elements(self) -> list[dict[str, Any]]:
        return [element for view in self.report["views"] for element in view["inside"]]

    def tokens(self, view: int) -> list[dict[str, Any]]:
        return [element for element in self.report["views"][view]["inside"] if element["tag"] == "li"]


def look(folder: pathlib.Path, width: int, dark: bool) -> Seen:
    # A window has a least width; a frame has none.
    content = "".join(f"<div>{view._repr_html_()}</div>" for view in views())
    content += f"<style>{HOST}</style>"
    for view in views()[0], views()[3]:
        content += f'<div class="jp-RenderedHTMLCommon">{view._repr_html_()}</div>'
    content += annotated()
    for theme in THEMES:
        content += f"<div {theme}>{demo().encode('a theme')._repr_html_()}</div>"
    page = f'<!doctype html><meta charset="utf-8"><body style="margin: 0">{content}<script>{SCRIPT}</script>'
    (folder / "page.html").write_text(page, encoding="utf-8")
    frame = f'<iframe src="page.html" style="border: 0; width: {width}px; height: {HEIGHT}px"></iframe>'
    copy = "document.body.append(frames[0].document.getElementById('report'))"
    (folder / "frame.html").write_text(
        f'<!doctype html><body style="margin: 0">{frame}<script>onload = () => {copy}</script>', encoding="utf-8"
    )
    assert BROWSER is not None
    command = [
        *(BROWSER, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={max(width, 600)},{HEIGHT}"),
        # 0 is dark, 1 is light, as prefers-color-scheme reports them.
        *(f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--allow-file-access-from-files"),
        *("--dump-dom", f"--screenshot={folder / 'page.png'}", (folder / "frame.html").as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, timeout=120)
    found = re.search(r'id="report">(.*?)</script>', done.stdout.decode(), re.S)
    assert found, done.stderr.decode()[-2000:]
    report = json.loads(unescape(found[1]))
    assert report["dark"] is dark
    return Seen(report, pixels((folder / "page.png").read_bytes()))


def pixels(png: bytes) -> npt.NDArray[np.uint8]:
    """A PNG of 8-bit RGB or RGBA, as browsers write them: uint8 (height, width, 3)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    data, at = b"", 8
    while at < len(png):
        (size,), kind = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", png[at + 8 : at + 18])
        elif kind == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += size + 12
    assert depth == 8
    channels = {2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    out = np.zeros((height + 1, width + 1, channels), np.int64)  # a black row above, a black column before
    for y, row in enumerate(rows):
        line, filtered = row[0], row[1:].reshape(width, channels).astype(np.int64)
        above, current = out[y], out[y + 1]
        if line == 0:
            current[1:] = filtered
        elif line == 1:
            current[1:] = np.cumsum(filtered, axis=0) % 256
        elif line == 2:
            current[1:] = (filtered + above[1:]) % 256
        else:
            for x in range(1, width + 1):
                a, b, c = current[x - 1], above[x], above[x - 1]
                if line == 3:
                    guess = (a + b) // 2
                else:
                    to_a, to_b, to_c = abs(b - c), abs(a - c), abs(a + b - 2 * c)
                    guess = np.where((to_a <= to_b) & (to_a <= to_c), a, np.where(to_b <= to_c, b, c))
                current[x] = (filtered[x - 1] + guess) % 256
    return out[1:, 1:, :3].astype(np.uint8)


@pytest.fixture(scope="module", params=[(400, False), (400, True), (900, False), (900, True)], ids=str)
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return look(tmp_path_factory.mktemp("page"), *request.param)


def rgb(colour: str) -> tuple[int, ...]:
    parts = re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour)
    assert parts, f"{colour} is no plain colour"
    return tuple(map(int, parts.groups()))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        red, green, blue = (
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (part / 255 for part in rgb(colour))
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read(seen: Seen) -> None:
    assert {element["tag"] for element in seen.elements} == {"li", "small", "h4", "th", "td"}
    for element in seen.elements:
        assert contrast(element["ink"], element["paper"]) >= 4.5, element
        if element["tag"] == "li":
            assert contrast(element["edge"], element["paper"]) >= 3, element
    dark = [contrast(view["paper"], "rgb(255, 255, 255)") > 10 for view in seen.report["views"]]
    assert dark[: -len(THEMES)] == [seen.report["dark"]] * (len(views()) + 3)
    assert dark[-len(THEMES) :] == [False, True] * 3


def test_a_notebook_does_not_change_it(seen: Seen) -> None:
    """Inside of a cell's output everything looks as it does outside, whatever the notebook does to lists and tables."""
    alone = [seen.report["views"][0], seen.report["views"][3]]
    inside = seen.report["views"][len(views()) : len(views()) + 2]
    for one, other in zip(alone, inside, strict=True):
        for a, b in zip([one, *one["inside"]], [other, *other["inside"]], strict=True):
            assert {key: a[key] for key in ("text", "ink", "paper")} == {
                key: b[key] for key in ("text", "ink", "paper")
            }
            for side, origin in ("left", "left"), ("right", "left"), ("top", "top"), ("bottom", "top"):
                assert a[side] - one[origin] == pytest.approx(b[side] - other[origin], abs=0.1), (a, b)


def test_nothing_is_wider_than_the_page(seen: Seen, request: pytest.FixtureRequest) -> None:
    width = request.node.callspec.params["seen"][0]
    assert seen.report["wide"] == width
    for view in seen.report["views"]:
        assert view["wide"] <= 0, view["text"][:200]
        for element in view["inside"]:
            assert view["left"] <= element["left"] < element["right"] <= view["right"], element
            assert element["wide"] <= 0 or element["tag"] == "small", element


def test_tokens_are_drawn(seen: Seen) -> None:
    """Left of a token's first letter is its background; something else is on it, but for tokens of blanks."""
    papers = set()
    checked = 0
    for element in seen.tokens(0) + seen.tokens(1):
        left, top = round(element["left"]), round(element["top"])
        right, bottom = round(element["right"]), round(element["bottom"])
        if bottom >= HEIGHT:
            continue
        box = seen.picture[top:bottom, left:right]
        assert tuple(box[len(box) // 2, 3]) == rgb(element["paper"]), element
        inner = box[3:-3, 3:-3].reshape(-1, 3)
        assert len(np.unique(inner, axis=0)) > 1, f"an empty box: {element}"
        papers.add(element["paper"])
        checked += 1
    assert checked > 15
    assert len(papers) == 5  # four for neighbours to differ, one for special tokens


def test_neighbours_differ(seen: Seen) -> None:
    """In colour, or in the line around them where both are special."""
    tokens = seen.tokens(0)
    for one, other in itertools.pairwise(tokens):
        assert (one["paper"], one["line"]) != (other["paper"], other["line"]), (one, other)


def test_special_tokens_are_told_apart_without_colour(seen: Seen) -> None:
    for element in seen.tokens(0) + seen.tokens(1):
        assert (element["line"] == "dashed") is (element["kind"] == "special") is ("special" in element["title"])
    assert [element["text"] for element in seen.tokens(1) if element["line"] == "dashed"] == ["<s>12"]


def test_labels_of_annotations(seen: Seen) -> None:
    """Each is shown, inside of the page, and can be told from it."""
    view = seen.report["views"][len(views()) + 2]
    assert [label["shown"] for label in seen.report["labels"]] == ['"PER"', '"LOC"']
    for label in seen.report["labels"]:
        assert view["left"] <= label["left"] < label["right"] <= view["right"]
        assert contrast("rgb(0, 0, 0)", label["ink"]) >= 4.5  # the label's letters are black


def test_hover(seen: Seen) -> None:
    encoding = hftok.visualize(ODD_TEXT, odd())
    for element, id_, (start, end) in zip(seen.tokens(1), encoding.ids, encoding.offsets, strict=True):
        assert element["title"].startswith(f"id {id_}, ")
        assert f"characters {start} to {end}: " in element["title"]


def test_focus_shows_itself_and_the_offsets(seen: Seen) -> None:
    """Without a mouse: Tab brings the focus, and the spans that hovering tells appear below the ids."""
    focus, view = seen.report["focus"], seen.report["views"][0]
    assert (focus["style"], focus["width"]) == ("solid", "3px")
    assert contrast(focus["colour"], view["paper"]) >= 3
    encoding = demo().encode("Unaffable tokenizers, 東京!", "A pair.")
    expected = [f'"{start}:{end}"' if end else "none" for start, end in encoding.offsets]
    assert [element["shown"] for element in focus["tokens"]] == expected
    assert {element["shown"] for element in seen.tokens(0)} == {"none"}
    assert all(view["left"] <= token["left"] < token["right"] <= view["right"] for token in focus["tokens"])
