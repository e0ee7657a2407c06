"""A text as HTML with its tokens marked, and labelled stretches of it if there are any.

Which characters form one element, and the classes and data attributes of the elements, are those of the reference's
`tokenizers.tools.EncodingVisualizer`. The look is our own: it works without colour (every token has edges and a tooltip
with its number, piece and id), in dark and light, and for print. What comes from the text or a label is escaped.
"""

from __future__ import annotations

import html
import itertools
import pathlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from hftok.encoding import Encoding
    from hftok.tokenizer import Tokenizer

__all__ = ["Annotation", "CharState", "CharStateKey", "EncodingVisualizer", "HTMLBody"]

STYLES = (pathlib.Path(__file__).parent.parent / "data" / "visualizer.css").read_text(encoding="utf-8")


class Annotation:
    """A labelled stretch of a text.

    Args:
        start, end: in characters; `end` is not part of it.
        label: shown beneath the stretch; equal labels have one colour.

    >>> Annotation(0, 5, "GREETING").label
    'GREETING'
    """

    start: int
    end: int
    label: str

    def __init__(self, start: int, end: int, label: str) -> None:
        self.start = start
        self.end = end
        self.label = label


class _Pieces(NamedTuple):
    """What the elements read of an encoding, taken once: its attributes make a new list each time."""

    tokens: list[str]
    ids: list[int]


class CharStateKey(NamedTuple):
    """What neighbouring characters have in common that share an element."""

    token_ix: int | None
    anno_ix: int | None


class CharState:
    """A character of the text: the tokens that cover it and the annotation that it lies in.

    Args:
        char_ix: the character's index; None for a token that covers no character.
    """

    def __init__(self, char_ix: int | None) -> None:
        self.char_ix = char_ix
        self.anno_ix: int | None = None
        self.tokens: list[int] = []

    @property
    def token_ix(self) -> int | None:
        """The first token on the character, or None."""
        return self.tokens[0] if self.tokens else None

    @property
    def is_multitoken(self) -> bool:
        """Whether several tokens share the character, as bytes of it do."""
        return len(self.tokens) > 1

    def partition_key(self) -> CharStateKey:
        """The key that characters of one element share."""
        return CharStateKey(self.token_ix, self.anno_ix)


def _notebook() -> tuple[Callable[[Any], Any], Callable[[str], Any]]:
    """IPython's `display` and `HTML`."""
    try:
        from IPython.display import HTML, display
    except ImportError:
        raise ImportError(
            "EncodingVisualizer shows its page through IPython, which cannot be imported here; install IPython, or "
            "pass default_to_notebook=False to get the HTML as a string"
        ) from None
    return display, HTML


class EncodingVisualizer:
    """Draws encodings of one tokenizer.

    Args:
        tokenizer: has `encode`.
        default_to_notebook: show the page in a notebook; otherwise a call returns it as a string.
        annotation_converter: makes an `Annotation` of whatever a call is given as one.

    Raises:
        ImportError: `default_to_notebook` is set, and IPython cannot be imported.

    >>> from hftok import Tokenizer
    >>> from hftok.models import WordLevel
    >>> from hftok.pre_tokenizers import Whitespace
    >>> tokenizer = Tokenizer(WordLevel({"<unk>": 0, "hi": 1}, unk_token="<unk>"))
    >>> tokenizer.pre_tokenizer = Whitespace()
    >>> page = EncodingVisualizer(tokenizer, default_to_notebook=False)("hi there", [Annotation(0, 2, "GREETING")])
    >>> 'data-label="GREETING"' in page, 'data-stok="&lt;unk&gt;"' in page
    (True, True)
    """

    # A piece that stands for something unknown; its name is shown above the text that it replaced.
    unk_token_regex: ClassVar[re.Pattern[str]] = re.compile("unk|oov", re.IGNORECASE)

    def __init__(
        self,
        tokenizer: Tokenizer,
        default_to_notebook: bool = True,
        annotation_converter: Callable[[Any], Annotation] | None = None,
    ) -> None:
        if default_to_notebook:
            _notebook()
        self.tokenizer = tokenizer
        self.default_to_notebook = default_to_notebook
        self.annotation_coverter = annotation_converter  # the reference's spelling

    def __call__(
        self, text: str, annotations: Sequence[Any] | None = None, default_to_notebook: bool | None = None
    ) -> str | None:
        """Draw `text` as the tokenizer encodes it.

        Args:
            text: what to encode.
            annotations: `Annotation`s, or what the converter makes them of; where they overlap, the last one is shown.
            default_to_notebook: overrides the visualizer's own setting.

        Returns:
            A page of HTML, or None when it was shown in a notebook.

        Raises:
            IndexError: an annotation ends after the text.
            ImportError: a notebook is wanted, and IPython cannot be imported.
        """
        in_notebook = self.default_to_notebook if default_to_notebook is None else default_to_notebook
        shown = _notebook() if in_notebook else None
        converted: list[Annotation] = list(annotations or [])
        if self.annotation_coverter is not None:
            converted = [self.annotation_coverter(annotation) for annotation in converted]
        page = HTMLBody(list(_elements(text, self.tokenizer.encode(text), converted)))
        if shown is None:
            return page
        display, as_html = shown
        display(as_html(page))
        return None

    @staticmethod
    def calculate_label_colors(annotations: Sequence[Annotation]) -> dict[str, str]:
        """A colour for each label, in the order of the labels: the same labels always have the same colours.

        >>> EncodingVisualizer.calculate_label_colors([Annotation(0, 1, "b"), Annotation(1, 2, "a")])
        {'a': 'hsl(10,32%,64%)', 'b': 'hsl(137,32%,64%)'}
        """
        labels = sorted({annotation.label for annotation in annotations})
        step = max(255 // len(labels), 20) if labels else 0
        return {label: f"hsl({10 + number * step},32%,64%)" for number, label in enumerate(labels)}

    @staticmethod
    def consecutive_chars_to_html(
        consecutive_chars_list: list[CharState], text: str, encoding: Encoding | _Pieces
    ) -> str:
        """One element for neighbouring characters of one token and one annotation.

        Args:
            consecutive_chars_list: the characters, at least one.
            text: what was encoded.
            encoding: its encoding.
        """
        first, last = consecutive_chars_list[0], consecutive_chars_list[-1]
        token = first.token_ix
        if first.char_ix is None or last.char_ix is None:
            piece = "" if token is None else html.escape(encoding.tokens[token])
            return f'<span class="special-token" data-stok="{piece}"></span>'
        content = html.escape(text[first.char_ix : last.char_ix + 1])
        if token is None:
            return f'<span class="non-token">{content}</span>'
        piece = encoding.tokens[token]
        classes = ["token", *["multi-token"] * first.is_multitoken, "odd-token" if token % 2 else "even-token"]
        data = ""
        if EncodingVisualizer.unk_token_regex.search(piece):
            classes.append("special-token")
            data = f' data-stok="{html.escape(piece)}"'
        tip = "; ".join(f"token {t}: {encoding.tokens[t]} (id {encoding.ids[t]})" for t in first.tokens)
        return f'<span class="{" ".join(classes)}"{data} title="{html.escape(tip)}">{content}</span>'


def _char_states(text: str, encoding: Encoding, annotations: Sequence[Annotation]) -> list[CharState]:
    states = [CharState(index) for index in range(len(text))]
    for token in range(len(encoding.tokens)):
        span = encoding.token_to_chars(token)
        for index in range(*span) if span is not None else ():
            states[index].tokens.append(token)
    for number, annotation in enumerate(annotations):
        for index in range(annotation.start, annotation.end):
            states[index].anno_ix = number
    return states


def _elements(text: str, encoding: Encoding, annotations: Sequence[Annotation]) -> Iterator[str]:
    """The elements of the text: those of an annotation stand in one of its own."""
    colors = EncodingVisualizer.calculate_label_colors(annotations)
    states = _char_states(text, encoding, annotations)
    pieces = _Pieces(encoding.tokens, encoding.ids)
    for number, part in itertools.groupby(states, lambda state: state.anno_ix):
        if number is not None:
            label = annotations[number].label
            name = html.escape(str(label))
            yield f'<span class="annotation" style="color:{colors[label]}" data-label="{name}">'
        for _, group in itertools.groupby(part, CharState.partition_key):
            yield EncodingVisualizer.consecutive_chars_to_html(list(group), text, pieces)
        if number is not None:
            yield "</span>"


def HTMLBody(children: list[str], css_styles: str = STYLES) -> str:  # noqa: N802 (the reference's name)
    """A page that shows `children`, elements of HTML, one after the other.

    >>> "<b>x</b>" in HTMLBody(["<b>x</b>"])
    True
    """
    return (
        '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n<title>Tokens of a text</title>\n'
        f"<style>\n{css_styles}</style>\n</head>\n<body>\n"
        f'<div class="tokenized-text" dir="auto" role="region" aria-label="Text with its tokens" tabindex="0">'
        f"{''.join(children)}</div>\n</body>\n</html>\n"
    )
