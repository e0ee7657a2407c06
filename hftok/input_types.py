"""Names for what goes in and out: the types of inputs, offsets, and how offsets and splits are meant."""

from __future__ import annotations

from enum import Enum

__all__ = [
    "EncodeInput",
    "InputSequence",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
]

# start and end
Offsets = tuple[int, int]

TextInputSequence = str
PreTokenizedInputSequence = list[str] | tuple[str]
# one sequence, or a pair
TextEncodeInput = TextInputSequence | tuple[TextInputSequence, TextInputSequence] | list[TextInputSequence]
PreTokenizedEncodeInput = (
    PreTokenizedInputSequence
    | tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]
    | list[PreTokenizedInputSequence]
)
InputSequence = TextInputSequence | PreTokenizedInputSequence
EncodeInput = TextEncodeInput | PreTokenizedEncodeInput


class OffsetReferential(Enum):
    """What offsets count in: the text as given, or as normalized."""

    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(Enum):
    """What offsets count: bytes of UTF-8, or characters."""

    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(Enum):
    """What becomes of the delimiter where text is split."""

    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"
