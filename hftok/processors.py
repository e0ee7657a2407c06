"""Post-processors: special tokens, type ids, offset trimming. The kernels are in `hftok._core.post_process`."""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar

from hftok._core.encoding import Encoding
from hftok._core.post_process import PostProcessorProgram
from hftok.arguments import boolean, exact, naming, pair_of, sequence_of, string, string_or_other, uint32, uint64
from hftok.component import Attribute, Component, Description, items_of, shared_cells
from hftok.json_forms import Field, sequence, string_map, struct, text_and_id, unit_variant, untagged, variant
from hftok.json_forms import boolean as json_boolean
from hftok.json_forms import string as json_string
from hftok.json_forms import uint32 as json_uint32
from hftok.pre_tokenizers import read_byte_level
from hftok.representation import Struct, StructVariant, Tree, Variant

__all__ = ["BertProcessing", "ByteLevel", "PostProcessor", "RobertaProcessing", "Sequence", "TemplateProcessing"]

# ("A" | "B", type id), or ("special", name, type id)
Piece = tuple[str, int] | tuple[str, str, int]
# id of the special token in the template, ids, tokens
Special = tuple[str, tuple[int, ...], tuple[str, ...]]

_text_and_id = pair_of(string, uint32)
_id_and_text = pair_of(uint32, string)


class PostProcessor(Component):
    """Base class of the post-processors; made through one of its subclasses."""

    _family: ClassVar[str] = "PostProcessor"

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many special tokens are added.

        Args:
            is_pair: to a pair of sequences, not to a single one.
        """
        with naming("is_pair"):
            pair = boolean(is_pair)
        return _added(self._description(), pair)

    def process(self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True) -> Encoding:
        """Post-processes one or two encodings into one.

        Args:
            encoding: of the first sequence.
            pair: of the second.
            add_special_tokens: add them.

        Returns:
            a new encoding.
        """
        with naming("encoding"):
            exact(encoding, Encoding)
        with naming("pair"):
            pair = None if pair is None else exact(pair, Encoding)
        with naming("add_special_tokens"):
            special = boolean(add_special_tokens)
        program: PostProcessorProgram = self._program(PostProcessorProgram)
        return program.process(encoding, pair, special)

    @classmethod
    def _read(cls, value: Any) -> Description:
        return read_post_processor(value)


def _added(description: Description, is_pair: bool) -> int:
    fields = description.fields
    if description.kind is BertProcessing:
        return 3 if is_pair else 2
    if description.kind is RobertaProcessing:
        return 4 if is_pair else 2
    if description.kind is TemplateProcessing:
        count: int = fields["_added"][is_pair]
        return count
    if description.kind is Sequence:
        return sum(_added(item, is_pair) for item in fields["processors"])
    return 0


class BertProcessing(PostProcessor):
    """`[CLS] A [SEP]`, `[CLS] A [SEP] B [SEP]`.

    Args:
        sep: the separator token and its id.
        cls_token: the classification token and its id (attribute `cls`).

    >>> BertProcessing(("[SEP]", 102), ("[CLS]", 101)).cls
    ('[CLS]', 101)
    """

    sep = Attribute(_text_and_id)
    cls = Attribute(_text_and_id)

    def __init__(self, sep: tuple[str, int], cls_token: tuple[str, int]) -> None:
        self._create(sep=sep, cls=cls_token)

    def __getnewargs__(self) -> tuple[tuple[str, int], tuple[str, int]]:
        return ("", 0), ("", 0)


class ByteLevel(PostProcessor):
    """Trims the spaces that byte-level tokens carry off the offsets.

    Args:
        add_prefix_space: as the pre-tokenizer's; None: True.
        trim_offsets: do trim; None: True.
        use_regex: as the pre-tokenizer's, without effect; None: True.
        kwargs: ignored.

    >>> ByteLevel(trim_offsets=False)
    ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True)
    """

    add_prefix_space = Attribute(boolean)
    trim_offsets = Attribute(boolean)
    use_regex = Attribute(boolean)

    def __init__(
        self,
        add_prefix_space: bool | None = None,
        trim_offsets: bool | None = None,
        use_regex: bool | None = None,
        **_kwargs: Any,
    ) -> None:
        self._create(
            add_prefix_space=True if add_prefix_space is None else add_prefix_space,
            trim_offsets=True if trim_offsets is None else trim_offsets,
            use_regex=True if use_regex is None else use_regex,
        )


class RobertaProcessing(PostProcessor):
    """`<s> A </s>`, `<s> A </s></s> B </s>`, and offsets trimmed as `ByteLevel` does.

    Args:
        sep: the separator token and its id.
        cls_token: the classification token and its id (attribute `cls`).
        trim_offsets: trim.
        add_prefix_space: as the pre-tokenizer's.

    >>> RobertaProcessing(("</s>", 2), ("<s>", 0)).num_special_tokens_to_add(True)
    4
    """

    sep = Attribute(_text_and_id)
    cls = Attribute(_text_and_id)
    trim_offsets = Attribute(boolean)
    add_prefix_space = Attribute(boolean)

    def __init__(
        self,
        sep: tuple[str, int],
        cls_token: tuple[str, int],
        trim_offsets: bool = True,
        add_prefix_space: bool = True,
    ) -> None:
        self._create(sep=sep, cls=cls_token, trim_offsets=trim_offsets, add_prefix_space=add_prefix_space)

    def __getnewargs__(self) -> tuple[tuple[str, int], tuple[str, int]]:
        return ("", 0), ("", 0)


class TemplateProcessing(PostProcessor):
    """Places special tokens as a template says.

    A template is a list of pieces, or a string of pieces with one space between two. A piece is `$A` or `$B`, the
    sequence; `$0`, `$1`, ... sequence A with that type id; or the name of a special token; each may end in `:` and a
    type id.

    Args:
        single: template for one sequence; by default `$0`.
        pair: template for two; by default `$A:0 $B:1`.
        special_tokens: list of `(token, id)`, `(id, token)`, or a dict with "id" (the name in the template), "ids" and
            "tokens" (what is put there).

    Raises:
        ValueError: a piece that is none, a special token that is not listed, a pair template without both sequences.

    >>> bert = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 0)])
    >>> bert.num_special_tokens_to_add(False)
    2
    """

    def __init__(
        self,
        single: str | list[str] | None = None,
        pair: str | list[str] | None = None,
        special_tokens: list[tuple[str, int] | tuple[int, str] | dict[str, Any]] | None = None,
    ) -> None:
        with naming("single"):
            single_pieces = None if single is None else template(single)
        with naming("pair"):
            pair_pieces = None if pair is None else template(pair)
        with naming("special_tokens"):
            specials = {} if special_tokens is None else {t[0]: t for t in sequence_of(special_token)(special_tokens)}
        if pair_pieces is not None and not {"A", "B"} <= {piece[0] for piece in pair_pieces if len(piece) == 2}:
            raise ValueError("Template for `pair` must use both sequences")
        used = dict.fromkeys(piece[1] for piece in [*(single_pieces or ()), *(pair_pieces or ())] if len(piece) == 3)
        missing = [name for name in used if name not in specials]
        if missing:
            raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")
        if single_pieces is None:
            single_pieces = template("$0")
        if pair_pieces is None:
            pair_pieces = template("$A:0 $B:1")
        self._create(**_template_fields(single_pieces, pair_pieces, specials))

    @property
    def single(self) -> str:
        """The template for one sequence, in the reference's debug notation; assign a template to change it."""
        return _debug(self._single)

    @single.setter
    def single(self, single: str | list[str]) -> None:
        self._single = template(single)

    _single: Attribute[tuple[Piece, ...]] = Attribute(tuple)

    @classmethod
    def _spec_of(cls, fields: dict[str, Any]) -> tuple[Any, ...]:
        specials = {name: (token[1], token[2]) for name, token in fields["_special_tokens"].items()}
        return ("TemplateProcessing", fields["_single"], fields["_pair"], specials, fields["_added"])

    @classmethod
    def _tree_of(cls, fields: dict[str, Any]) -> Tree:
        specials = fields["_special_tokens"]
        return Struct(
            "TemplateProcessing",
            (
                ("single", [_piece_tree(piece) for piece in fields["_single"]]),
                ("pair", [_piece_tree(piece) for piece in fields["_pair"]]),
                ("special_tokens", {name: _special_tree(specials[name]) for name in sorted(specials)}),
            ),
        )


class Sequence(PostProcessor):
    """Post-processors applied one after another. The items are shared: changing one changes the sequence.

    Args:
        processors_py: list of post-processors; a `Sequence` among them gives its items.

    >>> Sequence([ByteLevel(), BertProcessing(("[SEP]", 1), ("[CLS]", 0))]).num_special_tokens_to_add(False)
    2
    """

    _items: ClassVar[str | None] = "processors"

    def __init__(self, processors_py: list[PostProcessor]) -> None:
        self._set_cells(shared_cells(items_of(processors_py, PostProcessor)), many=True)

    def __getnewargs__(self) -> tuple[list[PostProcessor]]:
        return ([],)

    def __getitem__(self, index: int) -> PostProcessor:
        uint64(index)
        if not self._many:
            raise IndexError("This processor is not a Sequence, it does not support __getitem__")
        return self._item(index)

    def __setitem__(self, index: int, value: PostProcessor) -> None:
        self._set_item(
            index,
            value,
            PostProcessor,
            nested="processor should not be a sequence",
            single="This processor is not a Sequence, it does not support __setitem__",
        )

    def __delitem__(self, index: int) -> None:
        raise NotImplementedError("can't delete item")


# ---- templates (reference: processors/template.rs) -------------------------------------------------------------------


def _type_id(text: str) -> int | None:
    """Rust's `u32::from_str`: ASCII digits, perhaps after a plus sign."""
    digits = text[1:] if text.startswith("+") else text
    if not (digits.isascii() and digits.isdigit()) or int(digits) >= 1 << 32:
        return None
    return int(digits)


def _piece(text: str) -> Piece:
    fault = ValueError(f'Cannot build Piece from string "{text}"')
    parts = text.split(":")
    if len(parts) > 2:
        raise fault
    type_id: int | None = 0
    if len(parts) == 2:
        type_id = _type_id(parts[1])
        if type_id is None:
            raise fault
    name = parts[0]
    if not name.startswith("$"):
        return "special", name, type_id or 0
    rest = name[1:]
    if rest in ("", "A", "a"):
        return "A", type_id or 0
    if rest in ("B", "b"):
        return "B", type_id or 0
    own = _type_id(rest)
    if own is None:
        raise fault
    return "A", own if len(parts) == 1 else type_id or 0


def template(value: Any) -> tuple[Piece, ...]:
    """A template given as a string or a list of strings."""
    if isinstance(value, str):
        return tuple(_piece(text) for text in string_or_other(value).split(" "))
    try:
        pieces = sequence_of(string)(value)
    except (TypeError, UnicodeEncodeError):
        raise TypeError("Expected Union[str, List[str]]") from None
    return tuple(_piece(text) for text in pieces)


def special_token(value: Any) -> Special:
    """A special token given as `(token, id)`, `(id, token)` or a dict."""
    for extract in (_text_and_id, _id_and_text):
        try:
            pair = extract(value)
        except (TypeError, ValueError, OverflowError):
            continue
        token, id_ = (pair[0], pair[1]) if isinstance(pair[0], str) else (pair[1], pair[0])
        return token, (id_,), (token,)
    if not isinstance(value, dict):
        raise TypeError("Expected Union[Tuple[str, int], Tuple[int, str], dict]")
    for key in ("id", "ids", "tokens"):
        if key not in value:
            raise ValueError(f"`{key}` must be specified")
    ids = tuple(sequence_of(uint32)(value["ids"]))
    tokens = tuple(sequence_of(string)(value["tokens"]))
    if len(ids) != len(tokens):
        raise Exception("SpecialToken: ids and tokens must be of the same length")
    return string(value["id"]), ids, tokens


def _template_fields(
    single: tuple[Piece, ...], pair: tuple[Piece, ...], specials: dict[str, Special]
) -> dict[str, Any]:
    """The counts of added tokens are taken once: as in the reference, assigning `single` later does not change them."""

    def count(pieces: tuple[Piece, ...]) -> int:
        return sum(len(specials[piece[1]][1]) for piece in pieces if len(piece) == 3 and piece[1] in specials)

    return {
        "_single": single,
        "_pair": pair,
        "_special_tokens": specials,
        "_added": (count(single), count(pair)),
    }


def _piece_tree(piece: Piece) -> Tree:
    if len(piece) == 3:
        return StructVariant("SpecialToken", (("id", piece[1]), ("type_id", piece[2])))
    return StructVariant("Sequence", (("id", Variant(piece[0])), ("type_id", piece[1])))


def _special_tree(token: Special) -> Tree:
    return Struct("SpecialToken", (("id", token[0]), ("ids", list(token[1])), ("tokens", list(token[2]))), tagged=False)


def _debug(pieces: tuple[Piece, ...]) -> str:
    shown = [
        f"SpecialToken {{ id: {_debug_string(piece[1])}, type_id: {piece[2]} }}"
        if len(piece) == 3
        else f"Sequence {{ id: {piece[0]}, type_id: {piece[1]} }}"
        for piece in pieces
    ]
    return f"Template([{', '.join(shown)}])"


def _debug_string(text: str) -> str:
    """A string as Rust's Debug prints it."""
    short = {" ": " ", "\t": "\\t", "\r": "\\r", "\n": "\\n", "\0": "\\0", '"': '\\"', "\\": "\\\\"}
    return '"' + "".join(short.get(c) or (f"\\u{{{ord(c):x}}}" if _escaped().match(c) else c) for c in text) + '"'


@cache
def _escaped() -> Any:
    """Characters that do not show by themselves."""
    import regex  # type: ignore[import-untyped]

    return regex.compile(r"[\p{Grapheme_Extend}\p{C}\p{Z}\u115f\u1160\u3164\uffa0]")


# ---- reading JSON (reference: processors/mod.rs and its siblings) ----------------------------------------------------


def _bert(value: Any) -> Description:
    return Description(BertProcessing, struct(value, "BertProcessing", _BERT))


def _roberta(value: Any) -> Description:
    return Description(RobertaProcessing, struct(value, "RobertaProcessing", _ROBERTA))


def _byte_level(value: Any) -> Description:
    return Description(ByteLevel, read_byte_level(value))


def _read_sequence_piece(value: Any) -> Piece:
    fields = struct(value, "Sequence", (Field("id", unit_variant("A", "B")), Field("type_id", json_uint32)))
    return fields["id"], fields["type_id"]


def _read_special_piece(value: Any) -> Piece:
    fields = struct(value, "SpecialToken", (Field("id", json_string), Field("type_id", json_uint32)))
    return "special", fields["id"], fields["type_id"]


def _read_piece(value: Any) -> Piece:
    return variant(value, {"Sequence": _read_sequence_piece, "SpecialToken": _read_special_piece})[1]


def _read_special(value: Any) -> Special:
    fields = struct(value, "SpecialToken", _SPECIAL)
    return fields["id"], tuple(fields["ids"]), tuple(fields["tokens"])


def _template(value: Any) -> Description:
    fields = struct(value, "TemplateProcessingDeserializer", _TEMPLATE)
    return Description(
        TemplateProcessing,
        _template_fields(tuple(fields["single"]), tuple(fields["pair"]), fields["special_tokens"]),
    )


def _sequence(value: Any) -> Description:
    fields = struct(value, "Sequence", _SEQUENCE, as_array=False)
    return Description(Sequence, {"processors": tuple(fields["processors"])})


def read_post_processor(value: Any) -> Description:
    """The fields decide, in this order (only ByteLevel and Sequence look at "type"), so RobertaProcessing is first."""
    return untagged(value, "PostProcessorWrapper", (_roberta, _bert, _byte_level, _template, _sequence))


_BERT = (Field("sep", text_and_id), Field("cls", text_and_id))
_ROBERTA = (*_BERT, Field("trim_offsets", json_boolean), Field("add_prefix_space", json_boolean))
_SPECIAL = (
    Field("id", json_string),
    Field("ids", sequence(json_uint32)),
    Field("tokens", sequence(json_string)),
)
_TEMPLATE = (
    Field("single", sequence(_read_piece)),
    Field("pair", sequence(_read_piece)),
    Field("special_tokens", string_map(_read_special)),
)
_SEQUENCE = (Field("type", unit_variant("Sequence")), Field("processors", sequence(read_post_processor)))
