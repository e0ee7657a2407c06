"""Pre-tokenizers: where text is split before the model. The kernels are in `hftok._core.pre_tokenizers`."""

from __future__ import annotations

from typing import Any, ClassVar

from hftok._core.pre_tokenizers import PreTokenizerProgram
from hftok.arguments import boolean, character, choice, naming, string, uint64
from hftok.component import Attribute, Component, Description, items_of, shared_cells, unit_reader
from hftok.json_forms import (
    Field,
    FormError,
    Reader,
    option,
    plain,
    sequence,
    struct,
    tagged_type,
    unit_variant,
    untagged,
)
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import character as json_character
from hftok.json_forms import string as json_string
from hftok.json_forms import uint64 as json_uint64
from hftok.patterns import (
    BEHAVIORS,
    BehaviorAttribute,
    Regex,
    behavior_reader,
    pattern_argument,
    pattern_tree,
    read_pattern,
)
from hftok.representation import Struct, Tree, Variant

__all__ = [
    "BertPreTokenizer",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "FixedLength",
    "Metaspace",
    "PreTokenizer",
    "Punctuation",
    "Sequence",
    "Split",
    "UnicodeScripts",
    "Whitespace",
    "WhitespaceSplit",
]

PREPEND_SCHEMES = ("first", "never", "always")
prepend_scheme_argument = choice(
    PREPEND_SCHEMES, "{} is an unknown variant, should be one of ['first', 'never', 'always']"
)


def metaspace_fields(replacement: Any, prepend_scheme: Any, split: Any) -> dict[str, Any]:
    """The arguments of the constructors; their types are looked at before the scheme's name."""
    with naming("replacement"):
        replacement = character(replacement)
    with naming("prepend_scheme"):
        prepend_scheme = string(prepend_scheme)
    with naming("split"):
        split = boolean(split)
    return {"replacement": replacement, "prepend_scheme": prepend_scheme, "split": split}


class PreTokenizer(Component):
    """Base class of the pre-tokenizers; made through one of its subclasses, or `custom`."""

    _family: ClassVar[str] = "PreTokenizer"
    _custom_family: ClassVar[str] = "PreTokenizer"

    @staticmethod
    def custom(pretok: Any) -> PreTokenizer:
        """A pre-tokenizer in Python: an object with `pre_tokenize(self, pretok: PreTokenizedString) -> None`.

        It cannot be saved or pickled.
        """
        return PreTokenizer._of_description(Description(PreTokenizer, {"custom": pretok}))

    def pre_tokenize(self, pretok: Any) -> None:
        """Splits a `PreTokenizedString` in place; it keeps the alignment with the original text."""
        self._program(PreTokenizerProgram).pre_tokenize(pretok)

    def pre_tokenize_str(self, s: str) -> list[tuple[str, tuple[int, int]]]:
        """Splits a text.

        Args:
            s: the text.

        Returns:
            the pieces, each with its start and end in characters of the text.
        """
        result: list[tuple[str, tuple[int, int]]] = self._program(PreTokenizerProgram).pre_tokenize_str(string(s))
        return result

    @classmethod
    def _read(cls, value: Any) -> Description:
        return read_pre_tokenizer(value)


class _Plain(PreTokenizer):
    """A pre-tokenizer without options."""

    def __init__(self) -> None:
        self._create()


class BertPreTokenizer(_Plain):
    """Splits on blanks, which vanish, and on each punctuation character, which stays as a piece."""


class ByteLevel(PreTokenizer):
    """Splits by GPT-2's pattern and turns each byte into one visible character.

    Args:
        add_prefix_space: put a space before the text where there is none.
        trim_offsets: of use to the post-processor of the same name only.
        use_regex: split; False where a `Split` does it.
        kwargs: ignored.

    >>> ByteLevel(add_prefix_space=False)
    ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)
    """

    add_prefix_space = Attribute(boolean)
    trim_offsets = Attribute(boolean)
    use_regex = Attribute(boolean)

    def __init__(
        self, add_prefix_space: bool = True, trim_offsets: bool = True, use_regex: bool = True, **_kwargs: Any
    ) -> None:
        self._create(add_prefix_space=add_prefix_space, trim_offsets=trim_offsets, use_regex=use_regex)

    @staticmethod
    def alphabet() -> list[str]:
        """The 256 characters that stand for the bytes 0 to 255, in that order (the reference: in random order).

        >>> len(ByteLevel.alphabet())
        256
        """
        kept = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
        others = iter(range(0x100, 0x200))
        return [chr(byte) if byte in kept else chr(next(others)) for byte in range(256)]


class CharDelimiterSplit(PreTokenizer):
    """Splits on one character, which vanishes.

    Args:
        delimiter: the character.

    >>> CharDelimiterSplit("-").delimiter
    '-'
    """

    delimiter = Attribute(character)

    def __init__(self, delimiter: str) -> None:
        self._create(delimiter=delimiter)

    def __getnewargs__(self) -> tuple[str]:
        return (" ",)


class Digits(PreTokenizer):
    """Splits off numbers.

    Args:
        individual_digits: each digit alone, not each run of digits.

    >>> Digits(True)
    Digits(individual_digits=True)
    """

    individual_digits = Attribute(boolean)

    def __init__(self, individual_digits: bool = False) -> None:
        self._create(individual_digits=individual_digits)


class FixedLength(PreTokenizer):
    """Splits into pieces of a fixed length.

    Args:
        length: characters of a piece; the last may be shorter.

    >>> FixedLength(length=3).length
    3
    """

    length = Attribute(uint64)

    def __init__(self, length: int = 5) -> None:
        self._create(length=length)


class Metaspace(PreTokenizer):
    """Replaces spaces by a visible character and splits before it, as SentencePiece does.

    Args:
        replacement: the character that replaces a space.
        prepend_scheme: put it before the text too: "always", "never", or "first", which is only at the start of the
            input, not after an added token.
        split: split at all.

    >>> Metaspace(prepend_scheme="first")
    Metaspace(replacement="▁", prepend_scheme=first, split=True)
    """

    replacement = Attribute(character)
    prepend_scheme = Attribute(prepend_scheme_argument)
    split = Attribute(boolean)

    def __init__(self, replacement: str = "▁", prepend_scheme: str = "always", split: bool = True) -> None:
        self._create(**metaspace_fields(replacement, prepend_scheme, split))

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return metaspace_tree(fields)


class Punctuation(PreTokenizer):
    """Splits on punctuation characters.

    Args:
        behavior: what becomes of a punctuation character: "removed", "isolated", "merged_with_previous",
            "merged_with_next" or "contiguous" (a run of them is one piece).

    >>> Punctuation("removed").behavior
    'removed'
    """

    behavior = BehaviorAttribute()

    def __init__(self, behavior: str = "isolated") -> None:
        self._create(behavior=behavior)

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct("Punctuation", (("behavior", Variant(BEHAVIORS[fields["behavior"]])),))


class Sequence(PreTokenizer):
    """Pre-tokenizers applied one after another. The items are shared: changing one changes the sequence.

    Args:
        pre_tokenizers: list of pre-tokenizers; a `Sequence` among them gives its items.

    >>> Sequence([Whitespace(), Digits()])[1]
    Digits(individual_digits=False)
    """

    _items: ClassVar[str | None] = "pretokenizers"

    def __init__(self, pre_tokenizers: list[PreTokenizer]) -> None:
        self._set_cells(shared_cells(items_of(pre_tokenizers, PreTokenizer)), many=True)

    def __getnewargs__(self) -> tuple[list[PreTokenizer]]:
        return ([],)

    def __getitem__(self, index: int) -> PreTokenizer:
        uint64(index)
        if not self._many:
            raise IndexError("This processor is not a Sequence, it does not support __getitem__")
        return self._item(index)

    def __setitem__(self, index: int, value: PreTokenizer) -> None:
        self._set_item(
            index,
            value,
            PreTokenizer,
            nested="pre tokenizer should not be a sequence",
            single="pre tokenizer is not a sequence",
        )

    def __delitem__(self, index: int) -> None:
        raise NotImplementedError("can't delete item")


class Split(PreTokenizer):
    """Splits on the matches of a pattern.

    Args:
        pattern: a string, matched literally, or a `Regex`.
        behavior: what becomes of a match: "removed", "isolated", "merged_with_previous", "merged_with_next" or
            "contiguous".
        invert: the matches are the pieces, and what is between them takes the part of the matches.

    >>> Split(" ", "isolated")
    Split(pattern=String(" "), behavior=Isolated, invert=False)
    """

    behavior = BehaviorAttribute()
    invert = Attribute(boolean)

    def __init__(self, pattern: str | Regex, behavior: str, invert: bool = False) -> None:
        self._create(_pattern=pattern_argument(pattern), behavior=behavior, invert=invert)

    def __getnewargs__(self) -> tuple[str, str]:
        return " ", "removed"

    @property
    def pattern(self) -> None:
        """Not readable, as in the reference; `repr` shows it."""
        raise Exception("Cannot get pattern")

    @pattern.setter
    def pattern(self, pattern: str | Regex) -> None:
        pattern_argument(pattern)
        raise Exception("Cannot set pattern, please instantiate a new split pattern instead")

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        return ("Split", *fields["_pattern"], fields["behavior"], fields["invert"])

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        return Struct(
            "Split",
            (
                ("pattern", pattern_tree(fields["_pattern"])),
                ("behavior", Variant(BEHAVIORS[fields["behavior"]])),
                ("invert", fields["invert"]),
            ),
        )


class UnicodeScripts(_Plain):
    """Splits where the script changes; Han, Hiragana and Katakana count as one."""


class Whitespace(_Plain):
    r"""Splits into runs of word characters and runs of other characters that are not blank: `\w+|[^\w\s]+`."""


class WhitespaceSplit(_Plain):
    """Splits on blanks, which vanish."""


def metaspace_tree(fields: dict[str, Any]) -> Tree:
    return Struct(
        "Metaspace",
        (
            ("replacement", fields["replacement"]),
            ("prepend_scheme", Variant(fields["prepend_scheme"])),
            ("split", fields["split"]),
        ),
    )


# ---- reading JSON (reference: pre_tokenizers/mod.rs and its siblings) ------------------------------------------------


def read_metaspace(value: Any) -> dict[str, Any]:
    """The older `add_prefix_space: false` wants `prepend_scheme: never` beside it (pre_tokenizers/metaspace.rs)."""
    fields = struct(value, "MetaspaceHelper", _METASPACE)
    if fields["add_prefix_space"] is False and fields["prepend_scheme"] != "never":
        raise FormError("add_prefix_space does not match declared prepend_scheme")
    split = True if fields["split"] is None else fields["split"]
    return {"replacement": fields["replacement"], "prepend_scheme": fields["prepend_scheme"], "split": split}


def read_byte_level(value: Any) -> dict[str, Any]:
    fields = struct(value, "ByteLevel", _BYTE_LEVEL, as_array=False)
    del fields["type"]
    return fields


def _metaspace(value: Any) -> Description:
    return Description(Metaspace, read_metaspace(value))


def _byte_level(value: Any) -> Description:
    return Description(ByteLevel, read_byte_level(value))


def _with_fields(kind: type[PreTokenizer], *fields: Field) -> Any:
    all_fields = (Field("type", unit_variant(kind.__name__)), *fields)

    def read(value: Any) -> Description:
        values = struct(value, kind.__name__, all_fields, as_array=False)
        del values["type"]
        return Description(kind, values)

    return read


def _sequence(value: Any) -> Description:
    fields = struct(value, "Sequence", _SEQUENCE, as_array=False)
    return Description(Sequence, {"pretokenizers": tuple(fields["pretokenizers"])})


def _split(value: Any) -> Description:
    fields = struct(value, "SplitHelper", _SPLIT)
    return Description(
        Split, {"_pattern": fields["pattern"], "behavior": fields["behavior"], "invert": fields["invert"]}
    )


_METASPACE = (
    Field("type", unit_variant("Metaspace")),
    Field("replacement", json_character),
    Field("add_prefix_space", option(json_boolean)),
    Field("prepend_scheme", unit_variant(*PREPEND_SCHEMES), "always"),
    Field("split", option(json_boolean)),
    Field("str_rep", option(json_string)),
)
_BYTE_LEVEL = (
    Field("type", unit_variant("ByteLevel")),
    Field("add_prefix_space", json_boolean),
    Field("trim_offsets", json_boolean),
    Field("use_regex", json_boolean, True),
)
_SPLIT = (
    Field("type", unit_variant("Split")),
    Field("pattern", read_pattern),
    Field("behavior", behavior_reader()),
    Field("invert", json_boolean),
)

_UNTAGGED: dict[str, Reader[Description]] = {
    "BertPreTokenizer": unit_reader(BertPreTokenizer),
    "ByteLevel": _byte_level,
    "CharDelimiterSplit": _with_fields(CharDelimiterSplit, Field("delimiter", json_character)),
    "Metaspace": _metaspace,
    "Whitespace": unit_reader(Whitespace),
    "Sequence": _sequence,
    "Split": _split,
    "Punctuation": _with_fields(Punctuation, Field("behavior", behavior_reader(flattened=True), "isolated")),
    "WhitespaceSplit": unit_reader(WhitespaceSplit),
    "Digits": _with_fields(Digits, Field("individual_digits", json_boolean)),
    "UnicodeScripts": unit_reader(UnicodeScripts),
    "FixedLength": _with_fields(FixedLength, Field("length", json_uint64, 5)),
}
# The tag of CharDelimiterSplit is "Delimiter" to the dispatcher, a name that its own reader then refuses; under its
# written name it is known by its fields.
_TAGGED = {name if name != "CharDelimiterSplit" else "Delimiter": read for name, read in _UNTAGGED.items()}
_read_type = unit_variant(*_TAGGED)


def read_pre_tokenizer(value: Any) -> Description:
    kind = tagged_type(value, _read_type)
    value = plain(value)
    if kind is not None:
        return _TAGGED[kind]({**value, "type": kind})
    return untagged(value, "PreTokenizerUntagged", _UNTAGGED.values())


_SEQUENCE = (Field("type", unit_variant("Sequence")), Field("pretokenizers", sequence(read_pre_tokenizer)))
