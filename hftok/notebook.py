"""Tokens to look at: as HTML in a notebook, in colour in a terminal.

    hftok.visualize("Hello world", tokenizer)          # the tokens, with ids and offsets
    hftok.compare("Hello world", [mine, theirs])       # side by side, with counts

Both take a tokenizer of hftok, of the tokenizers library, of transformers or of tiktoken. An `Encoding` and a
`Tokenizer` show themselves in a notebook by the same means. What comes from a text or a vocabulary is escaped.
"""

from __future__ import annotations

import functools
import html
import itertools
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from hftok._core.encoding import show_as_html

__all__ = ["Comparison", "Tokens", "compare", "visualize"]

SHOWN = 2000  # tokens; a browser takes long with more elements


class Tokens:
    """The tokens of one text by one tokenizer.

    Attributes:
        tokens: list of str. ids: list of int. offsets: list of (start, end) in characters of the text.
        special: list of bool, True where a post-processor or padding has put the token there, and (not for an
            Encoding alone, which does not know it) where the text holds a special token of the tokenizer.
        name: what the tokenizer is called.
    """

    def __init__(
        self,
        tokens: list[str],
        ids: list[int],
        offsets: list[tuple[int, int]],
        special: list[bool],
        name: str = "",
    ) -> None:
        self.tokens = tokens
        self.ids = ids
        self.offsets = offsets
        self.special = special
        self.name = name

    def __len__(self) -> int:
        return len(self.ids)

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return _page(self._list())

    def as_text(self, colour: bool | None = None) -> str:
        """The tokens with their character spans, for a terminal.

        Args:
            colour: None: where standard output is a terminal and NO_COLOR is not set.

        >>> print(Tokens(["hi", "!"], [7, 8], [(0, 2), (2, 3)], [False, False]).as_text(colour=False))
          hi[0:2] ![2:3]
        """
        from hftok.cli.terminal import Style

        return Style(colour).tokens(self)

    def _count(self) -> str:
        return "1 token" if len(self) == 1 else f"{len(self):,} tokens"

    def _list(self) -> str:
        rows = []
        columns = zip(self.tokens, self.ids, self.offsets, self.special, strict=True)
        for token, id_, (start, end), special in itertools.islice(columns, SHOWN):
            where = "" if special and start == end else f"characters {start} to {end}"
            # The token comes last: one that is written from right to left would turn the others around.
            what = ", ".join(filter(None, (f"id {id_}", "special" if special else "", where))) + f": {token}"
            kind = ' class="special"' if special else ""
            span = f' data-span="{start}:{end}"' if where else ""
            rows.append(f'<li{kind}{span} title="{_escaped(what)}">{_visible(token)}<small>{id_}</small></li>')
        more = f"<p>and {len(self) - SHOWN:,} more</p>" if len(self) > SHOWN else ""
        return f"<ol>{''.join(rows)}</ol>{more}"


class Comparison:
    """One text by several tokenizers.

    Attributes:
        rows: a `Tokens` for each tokenizer, in the order in which they were given.
    """

    def __init__(self, rows: list[Tokens]) -> None:
        self.rows = rows

    def __str__(self) -> str:
        return self.as_text()

    def __repr__(self) -> str:
        return self.as_text()

    def as_text(self, colour: bool | None = None) -> str:
        """Each tokenizer's name, its number of tokens and the tokens, for a terminal."""
        from hftok.cli.terminal import Style

        style = Style(colour)
        return "\n".join(f"{style.bold(row.name)}: {row._count()}\n{style.tokens(row)}" for row in self.rows)

    def _repr_html_(self) -> str:
        return _page("".join(f"<h4>{_escaped(row.name)}: {row._count()}</h4>{row._list()}" for row in self.rows))


def visualize(text: str, tokenizer: Any, add_special_tokens: bool = True) -> Tokens:
    """The tokens of `text`, to look at in a notebook (boxes with ids; offsets on hover, or when focused or clicked) or
    printed in a terminal.

    Args:
        text: what to encode.
        tokenizer: of hftok, tokenizers, transformers or tiktoken.
        add_special_tokens: as for the tokenizer's own encode; tiktoken's never adds any.

    Raises:
        TypeError: `tokenizer` is none of these, or one of transformers that is written in Python and has no offsets.

    >>> import hftok
    >>> tokenizer = hftok.Tokenizer(hftok.models.WordLevel({"hi": 0, "!": 1, "?": 2}, unk_token="?"))
    >>> tokenizer.pre_tokenizer = hftok.pre_tokenizers.Whitespace()
    >>> print(visualize("hi !", tokenizer).as_text(colour=False))
      hi[0:2] ![3:4]
    """
    name = getattr(tokenizer, "name_or_path", "") or getattr(tokenizer, "name", "") or type(tokenizer).__name__
    if hasattr(tokenizer, "backend_tokenizer"):  # of transformers: its settings are not those of its backend
        batch = tokenizer(
            text,
            add_special_tokens=add_special_tokens,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
            verbose=False,
        )
        ids, offsets = batch["input_ids"], batch["offset_mapping"]
        tokens, flags = tokenizer.convert_ids_to_tokens(ids), [bool(flag) for flag in batch["special_tokens_mask"]]
        return _marked(Tokens(tokens, ids, offsets, flags, name), text, tokenizer.added_tokens_decoder)
    if hasattr(tokenizer, "decode_with_offsets"):  # of tiktoken
        ids = tokenizer.encode(text, disallowed_special=())
        pieces = [piece.decode("utf-8", "backslashreplace") for piece in tokenizer.decode_tokens_bytes(ids)]
        starts = tokenizer.decode_with_offsets(ids)[1]
        return Tokens(pieces, ids, _spans(text, starts), [False] * len(ids), name)
    if not hasattr(tokenizer, "encode"):
        raise TypeError(f"a {type(tokenizer).__name__} is no tokenizer: it has no encode()")
    encoding = tokenizer.encode(text, add_special_tokens=add_special_tokens)
    if not hasattr(encoding, "offsets"):
        raise TypeError(f"a {type(tokenizer).__name__} is no tokenizer that can be shown: it gives ids without offsets")
    whole = getattr(tokenizer, "_tokenizer", tokenizer)  # that of a ready-made one (tokenizers.implementations)
    return _marked(_of_encoding(encoding, name), text, whole.get_added_tokens_decoder())


def compare(text: str, tokenizers: Sequence[Any], names: Sequence[str] | None = None) -> Comparison:
    """The tokens of `text` by several tokenizers, beneath each other, with their numbers.

    Args:
        text: what to encode.
        tokenizers: as for `visualize`.
        names: what to call them; otherwise by their own names or classes.

    Raises:
        ValueError: another number of names than of tokenizers.

    >>> import hftok
    >>> words = hftok.Tokenizer(hftok.models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    >>> letters = hftok.Tokenizer(hftok.models.BPE({"a": 0, "b": 1}, []))
    >>> print(compare("ab", [words, letters], ["words", "letters"]).as_text(colour=False))
    words: 1 token
      ?[0:2]
    letters: 2 tokens
      a[0:1] b[1:2]
    """
    rows = [visualize(text, tokenizer) for tokenizer in tokenizers]
    if names is not None:
        for row, name in zip(rows, names, strict=True):
            row.name = name
    return Comparison(rows)


def _spans(text: str, starts: list[int]) -> list[tuple[int, int]]:
    """Spans by where tokens begin; a token that begins inside a character shares it."""
    ends = [next((later for later in starts[i + 1 :] if later > start), len(text)) for i, start in enumerate(starts)]
    return list(zip(starts, ends, strict=True))


def _of_encoding(encoding: Any, name: str = "") -> Tokens:
    special = [bool(flag) for flag in encoding.special_tokens_mask]
    return Tokens(encoding.tokens, encoding.ids, encoding.offsets, special, name)


def _marked(tokens: Tokens, text: str, added: Mapping[int, Any]) -> Tokens:
    """With the special tokens that stand in the text; one for what is unknown stands nowhere in it."""
    for i, (id_, (start, end)) in enumerate(zip(tokens.ids, tokens.offsets, strict=True)):
        if id_ in added and added[id_].special and added[id_].content in text[start:end]:
            tokens.special[i] = True
    return tokens


@functools.cache
def _styles() -> str:
    return (pathlib.Path(__file__).parent / "data" / "tokens.css").read_text(encoding="utf-8")


def _page(content: str, label: str = "tokens") -> str:
    # The focus is for those who have no mouse: to scroll, and to see the offsets.
    box = f'<div class="hftok-tokens" role="group" aria-label="{label}" tabindex="0">{content}</div>'
    return f"<style>{_styles()}</style>{box}"


def _escaped(text: str) -> str:
    """Text for HTML; control characters, and blanks that cannot be told from nothing, as escapes."""
    return html.escape("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text))


def _visible(token: str) -> str:
    """A token for HTML; spaces are marked, so that they are seen."""
    return re.sub(" +", r"<i>\g<0></i>", _escaped(token))


def tokenizer_html(tokenizer: Any) -> str:
    """What an `hftok.Tokenizer` consists of, as a table."""
    parts = {
        "normalizer": tokenizer.normalizer,
        "pre_tokenizer": tokenizer.pre_tokenizer,
        "model": tokenizer.model,
        "post_processor": tokenizer.post_processor,
        "decoder": tokenizer.decoder,
        "truncation": tokenizer.truncation,
        "padding": tokenizer.padding,
    }
    rows = {name: "none" if part is None else _short(str(part)) for name, part in parts.items()}
    added = tokenizer.get_added_tokens_decoder()
    some = ", ".join(token.content for token in list(added.values())[:20])
    rows["vocabulary"] = f"{tokenizer.get_vocab_size():,} tokens"
    rows["added tokens"] = f"{len(added):,}" + (f": {some}" if some else "") + (", ..." if len(added) > 20 else "")
    cells = "".join(f"<tr><th>{name}</th><td>{_escaped(value)}</td></tr>" for name, value in rows.items())
    return _page(f"<h4>Tokenizer</h4><table>{cells}</table>", "tokenizer")


def _short(text: str) -> str:
    return text if len(text) <= 400 else f"{text[:397]}..."


show_as_html(lambda encoding: _of_encoding(encoding)._repr_html_())
