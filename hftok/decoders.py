"""Decoders: how tokens become text again. The kernels are in `hftok._core.decoders`."""

from __future__ import annotations

from typing import Any, ClassVar

from hftok._core.decode_stream import DecodeStream
from hftok._core.decoders import DecoderProgram
from hftok.arguments import boolean, character, sequence_of, string, uint64
from hftok.component import Attribute, Cell, Component, Description, items_of
from hftok.json_forms import Field, FormError, Reader, plain, sequence, struct, tagged_type, unit_variant, untagged
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import character as json_character
from hftok.json_forms import string as json_string
from hftok.json_forms import uint64 as json_uint64
from hftok.patterns import Regex, pattern_argument, pattern_tree, read_pattern
from hftok.pre_tokenizers import (
    metaspace_fields,
    metaspace_tree,
    prepend_scheme_argument,
    read_byte_level,
    read_metaspace,
)
from hftok.representation import Struct, Tree

__all__ = [
    "CTC",
    "BPEDecoder",
    "ByteFallback",
    "ByteLevel",
    "DecodeStream",
    "Decoder",
    "Fuse",
    "Metaspace",
    "Replace",
    "Sequence",
    "Strip",
    "WordPiece",
]


_texts = sequence_of(string)


class Decoder(Component):
    """Base class of the decoders; made through one of its subclasses, or `custom`."""

    _family: ClassVar[str] = "Decoder"
    _custom_family: ClassVar[str] = "PyDecoder"

    @staticmethod
    def custom(decoder: Any) -> Decoder:
        """A decoder in Python: an object with `decode_chain(self, tokens: list[str]) -> list[str]`.

        It cannot be saved, pickled or put into a `Sequence`.
        """
        made: Decoder = Decoder._of_description(Description(Decoder, {"custom": decoder}))
        return made

    def decode(self, tokens: list[str]) -> str:
        """The text of a list of tokens."""
        program: DecoderProgram = self._program(DecoderProgram)
        return program.decode(_texts(tokens))

    @classmethod
    def _of_description(cls, description: Description) -> Any:
        # The items of a decoder Sequence are copies, not shared: one cell for the whole.
        return cls._of_cell(Cell(description))

    @classmethod
    def _read(cls, value: Any) -> Description:
        return read_decoder(value)


class _Plain(Decoder):
    """A decoder without options."""

    def __init__(self) -> None:
        self._create()


class BPEDecoder(Decoder):
    """Joins tokens; the end-of-word suffix becomes a space, but for the last token.

    Args:
        suffix: the suffix.

    >>> BPEDecoder()
    BPEDecoder(suffix="</w>")
    """

    suffix = Attribute(string)

    def __init__(self, suffix: str = "</w>") -> None:
        self._create(suffix=suffix)


class ByteFallback(_Plain):
    """Turns runs of tokens like `<0x61>` into the text that their bytes are in UTF-8; U+FFFD for each that is none."""


class ByteLevel(Decoder):
    """Turns the visible characters of the byte-level alphabet back into bytes, and these into text.

    Args:
        kwargs: ignored.
    """

    def __init__(self, **_kwargs: Any) -> None:
        self._create(add_prefix_space=True, trim_offsets=True, use_regex=True)

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        return ("ByteLevel",)


class CTC(Decoder):
    """Joins the output of connectionist temporal classification: repeats and pads vanish.

    Args:
        pad_token: the pad token.
        word_delimiter_token: the token that becomes a space.
        cleanup: undo spaces before punctuation and in English contractions.

    >>> CTC().pad_token
    '<pad>'
    """

    pad_token = Attribute(string)
    word_delimiter_token = Attribute(string)
    cleanup = Attribute(boolean)

    def __init__(self, pad_token: str = "<pad>", word_delimiter_token: str = "|", cleanup: bool = True) -> None:
        self._create(pad_token=pad_token, word_delimiter_token=word_delimiter_token, cleanup=cleanup)


class Fuse(_Plain):
    """Joins all tokens into one."""


class Metaspace(Decoder):
    """Turns the replacement character of the `Metaspace` pre-tokenizer back into spaces.

    Args:
        replacement: the character.
        prepend_scheme: as the pre-tokenizer's; unless "never", it vanishes from the first token.
        split: as the pre-tokenizer's; without effect.

    >>> Metaspace(prepend_scheme="never").prepend_scheme
    'never'
    """

    replacement = Attribute(character)
    prepend_scheme = Attribute(prepend_scheme_argument)
    split = Attribute(boolean)

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        self._create(**metaspace_fields(replacement, prepend_scheme, split))

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return metaspace_tree(fields)


class Replace(Decoder):
    """Replaces every match of a pattern in each token.

    Args:
        pattern: a string, matched literally, or a `Regex`.
        content: what each match becomes.

    >>> Replace("▁", " ")
    Replace(pattern=String("▁"), content=" ")
    """

    def __init__(self, pattern: str | Regex, content: str) -> None:
        self._create(_pattern=pattern_argument(pattern), _content=string(content))

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        return ("Replace", *fields["_pattern"], fields["_content"])

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct("Replace", (("pattern", pattern_tree(fields["_pattern"])), ("content", fields["_content"])))


class Sequence(Decoder):
    """Decoders applied one after another. The items are copied: changing one later does not change the sequence.

    Args:
        decoders_py: list of decoders.

    Raises:
        ValueError: a custom decoder among them (the reference panics).

    >>> Sequence([ByteFallback(), Fuse()])
    Sequence(decoders=[ByteFallback(), Fuse()])
    """

    _items: ClassVar[str | None] = "decoders"

    def __init__(self, decoders_py: list[Decoder]) -> None:
        items = [item._description() for item in items_of(decoders_py, Decoder)]
        if any("custom" in item.fields for item in items):
            raise ValueError("a custom decoder cannot be part of a Sequence; call the others from the custom one")
        self._create(decoders=tuple(items))

    def __getnewargs__(self) -> tuple[list[Decoder]]:
        return ([],)


class Strip(Decoder):
    """Removes up to so many of a character at the ends of each token.

    Args:
        content: the character.
        left: how many at the start (attribute `start`).
        right: how many at the end (attribute `stop`).

    >>> Strip("▁", left=1).start
    1
    """

    content = Attribute(character)
    start = Attribute(uint64)
    stop = Attribute(uint64)

    def __init__(self, content: str = " ", left: int = 0, right: int = 0) -> None:
        self._create(content=content, start=left, stop=right)


class WordPiece(Decoder):
    """Joins word pieces: the prefix vanishes, a token without it gets a space before.

    Args:
        prefix: the continuing subword prefix.
        cleanup: undo spaces before punctuation and in English contractions.

    >>> WordPiece().prefix
    '##'
    """

    prefix = Attribute(string)
    cleanup = Attribute(boolean)

    def __init__(self, prefix: str = "##", cleanup: bool = True) -> None:
        self._create(prefix=prefix, cleanup=cleanup)


# ---- reading JSON (reference: decoders/mod.rs and its siblings) ------------------------------------------------------


def _with_fields(kind: type[Decoder], *fields: Field) -> Any:
    """A struct whose "type" is not looked at."""

    def read(value: Any) -> Description:
        return Description(kind, struct(value, kind.__name__, fields))

    return read


def _named(kind: type[Decoder]) -> Any:
    """A struct of which "type" is all, and a plain string (crate monostate)."""

    def read_name(value: Any) -> str:
        if value != kind.__name__:
            raise FormError(f'invalid value, expected string "{kind.__name__}"')
        return kind.__name__

    fields = (Field("type", read_name),)

    def read(value: Any) -> Description:
        struct(value, kind.__name__, fields)
        return Description(kind, {})

    return read


def _byte_level(value: Any) -> Description:
    return Description(ByteLevel, read_byte_level(value))


def _metaspace(value: Any) -> Description:
    return Description(Metaspace, read_metaspace(value))


def _sequence(value: Any) -> Description:
    fields = struct(value, "Sequence", _SEQUENCE, as_array=False)
    return Description(Sequence, {"decoders": tuple(fields["decoders"])})


def _replace(value: Any) -> Description:
    fields = struct(value, "Replace", (Field("pattern", read_pattern), Field("content", json_string)))
    return Description(Replace, {"_pattern": fields["pattern"], "_content": fields["content"]})


_READERS: dict[str, Reader[Description]] = {
    "BPEDecoder": _with_fields(BPEDecoder, Field("suffix", json_string)),
    "ByteLevel": _byte_level,
    "WordPiece": _with_fields(WordPiece, Field("prefix", json_string), Field("cleanup", json_boolean)),
    "Metaspace": _metaspace,
    "CTC": _with_fields(
        CTC, Field("pad_token", json_string), Field("word_delimiter_token", json_string), Field("cleanup", json_boolean)
    ),
    "Sequence": _sequence,
    "Replace": _replace,
    "Fuse": _named(Fuse),
    "Strip": _with_fields(
        Strip, Field("content", json_character), Field("start", json_uint64), Field("stop", json_uint64)
    ),
    "ByteFallback": _named(ByteFallback),
}
_read_type = unit_variant(*_READERS)


def read_decoder(value: Any) -> Description:
    kind = tagged_type(value, _read_type)
    value = plain(value)
    if kind is not None:
        return _READERS[kind]({**value, "type": kind})
    return untagged(value, "DecoderUntagged", _READERS.values())


_SEQUENCE = (Field("type", unit_variant("Sequence")), Field("decoders", sequence(read_decoder)))
