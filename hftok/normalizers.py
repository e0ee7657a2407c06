"""Normalizers: what happens to text before it is split. The kernels are in `hftok._core.normalizers`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any, ClassVar

from hftok._core.normalizers import NormalizerProgram
from hftok.arguments import boolean, sequence_of, string, uint64
from hftok.component import Attribute, Component, Description, items_of, shared_cells, unit_reader
from hftok.json_forms import (
    Field,
    FormError,
    FormPanic,
    option,
    plain,
    sequence,
    struct,
    tagged_type,
    unit_variant,
    untagged,
)
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import string as json_string
from hftok.patterns import Regex, pattern_argument, pattern_tree, read_pattern
from hftok.representation import Struct, Tree

__all__ = [
    "NFC",
    "NFD",
    "NFKC",
    "NFKD",
    "NORMALIZERS",
    "BertNormalizer",
    "ByteLevel",
    "Lowercase",
    "Nmt",
    "Normalizer",
    "Precompiled",
    "Prepend",
    "Replace",
    "Sequence",
    "Strip",
    "StripAccents",
    "unicode_normalizer_from_str",
]


class Normalizer(Component):
    """Base class of the normalizers; made through one of its subclasses, or `custom`."""

    _family: ClassVar[str] = "Normalizer"
    _custom_family: ClassVar[str] = "Normalizer"

    @staticmethod
    def custom(obj: Any) -> Normalizer:
        """A normalizer in Python: an object with `normalize(self, normalized: NormalizedString) -> None`.

        It cannot be saved or pickled. An exception that it raises while texts are encoded goes to `sys.unraisablehook`,
        and the text is taken as it left it; `normalize` and `normalize_str` raise an Exception.
        """
        return Normalizer._of_description(Description(Normalizer, {"custom": obj}))

    def normalize(self, normalized: Any) -> None:
        """Normalizes a `NormalizedString` in place; it keeps the alignment with the original text."""
        self._program(NormalizerProgram).normalize(normalized)

    def normalize_str(self, sequence: str) -> str:
        """Normalizes a text.

        Args:
            sequence: the text.

        Returns:
            the normalized text.
        """
        result: str = self._program(NormalizerProgram).normalize_str(string(sequence))
        return result

    @classmethod
    def _read(cls, value: Any) -> Description:
        return read_normalizer(value)


class _Plain(Normalizer):
    """A normalizer without options."""

    def __init__(self) -> None:
        self._create()


class BertNormalizer(Normalizer):
    """The text clean-up of BERT.

    Args:
        clean_text: remove control characters, turn every kind of blank into a space.
        handle_chinese_chars: put spaces around CJK ideographs.
        strip_accents: remove accents; None: as `lowercase` says.
        lowercase: lowercase.

    >>> BertNormalizer(lowercase=False)
    BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=False)
    """

    clean_text = Attribute(boolean)
    handle_chinese_chars = Attribute(boolean)
    strip_accents: Attribute[bool | None] = Attribute(lambda value: None if value is None else boolean(value))
    lowercase = Attribute(boolean)

    def __init__(
        self,
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
    ) -> None:
        self._create(
            clean_text=clean_text,
            handle_chinese_chars=handle_chinese_chars,
            strip_accents=strip_accents,
            lowercase=lowercase,
        )


class ByteLevel(_Plain):
    """Each byte of the UTF-8 text becomes one visible character (GPT-2's table)."""


class Lowercase(_Plain):
    """Lowercases, by the Unicode mapping of each character."""


class NFC(_Plain):
    """Unicode normalization form C: canonical decomposition, then composition."""


class NFD(_Plain):
    """Unicode normalization form D: canonical decomposition."""


class NFKC(_Plain):
    """Unicode normalization form KC: compatibility decomposition, then composition."""


class NFKD(_Plain):
    """Unicode normalization form KD: compatibility decomposition."""


class Nmt(_Plain):
    """The character clean-up of SentencePiece's `nmt` rules."""


class StripAccents(_Plain):
    """Removes combining marks; after NFD or NFKD."""


class Precompiled(Normalizer):
    """The character map of a SentencePiece model.

    Args:
        precompiled_charsmap: the bytes of the model's `precompiled_charsmap`.

    Raises:
        Exception: the bytes are no such map.
    """

    def __init__(self, precompiled_charsmap: bytes) -> None:
        if isinstance(precompiled_charsmap, (bytes, bytearray)):
            charsmap = bytes(precompiled_charsmap)
        else:
            charsmap = bytes(sequence_of(_byte)(precompiled_charsmap))
        try:
            check_charsmap(charsmap)
        except ValueError as error:
            raise Exception(f"Error while attempting to build Precompiled normalizer: {error}") from None
        self._create(precompiled_charsmap=charsmap)

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct(
            "Precompiled", (("precompiled_charsmap", base64.b64encode(fields["precompiled_charsmap"]).decode()),)
        )


class Prepend(Normalizer):
    """Puts a text before the text, unless that is empty.

    Args:
        prepend: the text to put before.

    >>> Prepend("▁").prepend
    '▁'
    """

    prepend = Attribute(string)

    def __init__(self, prepend: str = "▁") -> None:
        self._create(prepend=prepend)


class Replace(Normalizer):
    """Replaces every match of a pattern.

    Args:
        pattern: a string, matched literally, or a `Regex`.
        content: what each match becomes.

    >>> Replace("-", " ")
    Replace(pattern=String("-"), content=" ")
    """

    content = Attribute(string)

    def __init__(self, pattern: str | Regex, content: str) -> None:
        self._create(_pattern=pattern_argument(pattern), content=content)

    @property
    def pattern(self) -> None:
        """Not readable, as in the reference; `repr` shows it."""
        raise Exception("Cannot get pattern")

    @pattern.setter
    def pattern(self, pattern: str | Regex) -> None:
        pattern_argument(pattern)
        raise Exception("Cannot set pattern, please instantiate a new replace pattern instead")

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        return ("Replace", *fields["_pattern"], fields["content"])

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct("Replace", (("pattern", pattern_tree(fields["_pattern"])), ("content", fields["content"])))


class Sequence(Normalizer):
    """Normalizers applied one after another. The items are shared: changing one changes the sequence.

    Args:
        normalizers: list of normalizers; a `Sequence` among them gives its items.

    >>> len(Sequence([NFD(), StripAccents()]))
    2
    """

    _items: ClassVar[str | None] = "normalizers"

    def __init__(self, normalizers: list[Normalizer]) -> None:
        self._set_cells(shared_cells(items_of(normalizers, Normalizer)), many=True)

    def __getnewargs__(self) -> tuple[list[Normalizer]]:
        return ([],)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Normalizer]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, index: int) -> Normalizer:
        if not self._many:  # a Sequence inside a Sequence that was read from JSON is one item to the reference
            uint64(index)
            return self._share()
        return self._item(index)

    def __setitem__(self, index: int, value: Normalizer) -> None:
        self._set_item(
            index,
            value,
            Normalizer,
            nested="normalizer should not be a sequence",
            single="normalizer is not a sequence",
        )

    def __delitem__(self, index: int) -> None:
        raise NotImplementedError("can't delete item")


class Strip(Normalizer):
    """Removes blanks at the ends of the text.

    Args:
        left: at the start.
        right: at the end.

    >>> Strip(right=False).right
    False
    """

    left = Attribute(boolean)
    right = Attribute(boolean)

    def __init__(self, left: bool = True, right: bool = True) -> None:
        self._create(left=left, right=right)

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct("Strip", (("strip_left", fields["left"]), ("strip_right", fields["right"])))


NORMALIZERS: dict[str, type[Normalizer]] = {"nfc": NFC, "nfd": NFD, "nfkc": NFKC, "nfkd": NFKD}


def unicode_normalizer_from_str(normalizer: str) -> Normalizer:
    """The Unicode normalization form of that name: "nfc", "nfd", "nfkc" or "nfkd".

    >>> unicode_normalizer_from_str("nfc")
    NFC()
    """
    if normalizer not in NORMALIZERS:
        raise ValueError(f"{normalizer} is not a known unicode normalizer. Available are {NORMALIZERS.keys()}")
    return NORMALIZERS[normalizer]()


def _byte(value: Any) -> int:
    number = uint64(value)
    if number > 255:
        raise OverflowError("out of range integral type conversion attempted")
    return number


def check_charsmap(charsmap: bytes) -> None:
    """A charsmap is the size of a trie in bytes (32 bits, little-endian), the trie (32-bit units), and UTF-8 text."""
    if len(charsmap) >= 4:
        units = int.from_bytes(charsmap[:4], "little") // 4
        text = charsmap[4 + 4 * units :]
        if 4 + 4 * units <= len(charsmap):
            try:
                text.decode()
                return
            except UnicodeDecodeError:
                pass
    raise ValueError("Cannot parse precompiled_charsmap")


# ---- reading JSON (reference: normalizers/mod.rs) --------------------------------------------------------------------


def _bert(value: Any) -> Description:
    return Description(BertNormalizer, struct(value, "BertNormalizer", _BERT))


def _strip(value: Any) -> Description:
    fields = struct(value, "Strip", (Field("strip_left", json_boolean), Field("strip_right", json_boolean)))
    return Description(Strip, {"left": fields["strip_left"], "right": fields["strip_right"]})


def _sequence(value: Any) -> Description:
    fields = struct(value, "Sequence", (Field("normalizers", sequence(read_normalizer)),))
    return Description(Sequence, {"normalizers": tuple(fields["normalizers"])})


def _charsmap(value: Any) -> bytes:
    try:
        # Padding may be left out, in part too; bits beyond the last byte may not be set.
        body = json_string(value).rstrip("=")
        padded = body + "=" * (-len(body) % 4)
        charsmap = base64.b64decode(padded, validate=True)
        if base64.b64encode(charsmap).decode() != padded or len(value) > len(padded):
            raise ValueError("precompiled_charsmap is not base64")
        check_charsmap(charsmap)
    except (ValueError, binascii.Error, FormError) as error:
        raise FormPanic(str(error)) from None
    return charsmap


def _precompiled(value: Any) -> Description:
    return Description(Precompiled, struct(value, "Precompiled", (Field("precompiled_charsmap", _charsmap),)))


def _replace(value: Any) -> Description:
    fields = struct(value, "Replace", (Field("pattern", read_pattern), Field("content", json_string)))
    return Description(Replace, {"_pattern": fields["pattern"], "content": fields["content"]})


def _prepend(value: Any) -> Description:
    return Description(Prepend, struct(value, "Prepend", (Field("prepend", json_string),)))


_BERT = (
    Field("clean_text", json_boolean),
    Field("handle_chinese_chars", json_boolean),
    Field("strip_accents", option(json_boolean)),
    Field("lowercase", json_boolean),
)

# By "type"; "BertNormalizer", which the writer gives, is not among them and is known by its fields.
_TAGGED = {
    "Bert": _bert,
    "Strip": _strip,
    "StripAccents": unit_reader(StripAccents),
    "NFC": unit_reader(NFC),
    "NFD": unit_reader(NFD),
    "NFKC": unit_reader(NFKC),
    "NFKD": unit_reader(NFKD),
    "Sequence": _sequence,
    "Lowercase": unit_reader(Lowercase),
    "Nmt": unit_reader(Nmt),
    "Precompiled": _precompiled,
    "Replace": _replace,
    "Prepend": _prepend,
    "ByteLevel": unit_reader(ByteLevel),
}
_read_type = unit_variant(*_TAGGED)
# Without a known "type" the fields decide, in this order; a charsmap is not read this way (it wants a borrowed string).
_UNTAGGED = tuple(read for name, read in _TAGGED.items() if name != "Precompiled")


def read_normalizer(value: Any) -> Description:
    kind = tagged_type(value, _read_type)
    value = plain(value)
    if kind is not None:
        return _TAGGED[kind]({**value, "type": kind})
    return untagged(value, "NormalizerUntagged", _UNTAGGED)
