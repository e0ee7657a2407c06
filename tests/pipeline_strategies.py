"""Strategies for whole tokenizers: every component with its options, as plans that either library builds.

A plan is a tuple (module, name, positional arguments, keyword arguments) whose arguments may hold plans; `build`
makes the object with `hftok` or `tokenizers`, which have the same names. `pipelines()` draws everything that a
tokenizer has; `texts(pipeline)` draws text in which its vocabulary and its added tokens are found, and nearly found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from charsmaps import CHARSMAP
from grid_texts import STRANGE
from hypothesis import strategies as st

Plan = tuple[str, str, tuple[Any, ...], dict[str, Any]]

# A small alphabet makes words meet the vocabulary; the rest is what components treat in a way of its own.
LETTERS = "abcdeAB "
ATOMS = [
    *"abcdeABxyz", *"019.,!-_'\"", " ", " ", " ", "  ", "\t", "\n", "\r\n", "\x00", "\xa0", "é", "É", "e\u0301",
    "\u0301", "ß", "İ", "Σ", "ς", "ﬁ", "½", "中", "文", "の", "ア", "가", "\u1100\u1161", "\u200b",
    "\u200d", "\ufeff", "\ufffd",
    "▁", "Ġ", "😀", "👨\u200d👩", "\u3000", "１", "ا", "ש\u05b8", "can't", " the", "##b", "<unk>", "<0x61>", "</w>",
]  # fmt: skip
BLANKS = ("", " ", "  ", "\n")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def plan(module: str, name: str, *arguments: Any, **options: Any) -> Plan:
    return module, name, arguments, options


def build(library: Any, value: Any) -> Any:
    """The object of a plan, with the plans in its arguments built."""
    if isinstance(value, tuple) and len(value) == 4 and isinstance(value[3], dict) and isinstance(value[1], str):
        module, name, arguments, options = value
        kind = getattr(getattr(library, module) if module else library, name)
        return kind(*build(library, list(arguments)), **{key: build(library, item) for key, item in options.items()})
    if isinstance(value, list):
        return [build(library, item) for item in value]
    return value


def flags(*names: str) -> st.SearchStrategy[dict[str, bool]]:
    """Some of the options, each True or False; the others keep their defaults."""
    return st.fixed_dictionaries({}, optional={name: st.booleans() for name in names})


# ---- normalizers


BEHAVIORS = st.sampled_from(["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"])
REGEXES = [
    r"\s+",
    r"\p{L}+",
    "[0-9]{1,3}",
    r"\s+(?!\S)|\s+",
    "a|b",
    r"(?i:'s|'t)|\p{L}+",
    " {2,}",
    r"\p{Han}",
    "[^a-c]",
]
PATTERNS = st.one_of(
    st.sampled_from(["a", " ", "▁", "é", "ab", "\n", "中", "  "]),
    st.sampled_from(REGEXES).map(lambda pattern: plan("", "Regex", pattern)),
)


def simple_normalizers() -> st.SearchStrategy[Plan]:
    def named(name: str) -> Any:
        return lambda options: plan("normalizers", name, **options)

    bert = st.fixed_dictionaries(
        {},
        optional={
            "clean_text": st.booleans(),
            "handle_chinese_chars": st.booleans(),
            "strip_accents": st.sampled_from([None, True, False]),
            "lowercase": st.booleans(),
        },
    )
    return st.one_of(
        st.sampled_from(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"]).map(
            lambda name: plan("normalizers", name)
        ),
        bert.map(named("BertNormalizer")),
        flags("left", "right").map(named("Strip")),
        st.builds(
            lambda pattern, content: plan("normalizers", "Replace", pattern, content),
            PATTERNS,
            st.sampled_from(["", " ", "▁", "a", "éa", "b "]),
        ),
        st.sampled_from(["▁", "a", "é", " "]).map(lambda text: plan("normalizers", "Prepend", text)),
        st.just(plan("normalizers", "Precompiled", CHARSMAP)),
    )


def normalizers() -> st.SearchStrategy[Plan | None]:
    return st.one_of(
        st.none(),
        simple_normalizers(),
        st.lists(simple_normalizers(), max_size=4).map(lambda parts: plan("normalizers", "Sequence", parts)),
    )


# ---- pre-tokenizers


def simple_pre_tokenizers() -> st.SearchStrategy[Plan]:
    def named(name: str) -> Any:
        return lambda options: plan("pre_tokenizers", name, **options)

    metaspace = st.fixed_dictionaries(
        {},
        optional={
            "replacement": st.sampled_from("▁_"),
            "prepend_scheme": st.sampled_from(["always", "first", "never"]),
            "split": st.booleans(),
        },
    )
    return st.one_of(
        st.sampled_from(["BertPreTokenizer", "Whitespace", "WhitespaceSplit", "UnicodeScripts"]).map(
            lambda name: plan("pre_tokenizers", name)
        ),
        BEHAVIORS.map(lambda behavior: plan("pre_tokenizers", "Punctuation", behavior)),
        flags("individual_digits").map(named("Digits")),
        flags("add_prefix_space", "trim_offsets", "use_regex").map(named("ByteLevel")),
        metaspace.map(named("Metaspace")),
        st.builds(
            lambda pattern, behavior, options: plan("pre_tokenizers", "Split", pattern, behavior, **options),
            PATTERNS,
            BEHAVIORS,
            flags("invert"),
        ),
        st.sampled_from("a é▁").map(lambda char: plan("pre_tokenizers", "CharDelimiterSplit", char)),
        st.integers(1, 6).map(lambda length: plan("pre_tokenizers", "FixedLength", length)),
    )


def pre_tokenizers() -> st.SearchStrategy[Plan | None]:
    return st.one_of(
        st.none(),
        simple_pre_tokenizers(),
        st.lists(simple_pre_tokenizers(), max_size=3).map(lambda parts: plan("pre_tokenizers", "Sequence", parts)),
    )


# ---- models


WORDS = st.text(st.sampled_from("abcdeABé中 ▁Ġ'１"), min_size=1, max_size=4)


@st.composite
def vocabularies(draw: Any, prefix: str = "") -> dict[str, int]:
    """Words, and single characters, each also with the prefix; ids from 0 on."""
    words = draw(st.lists(WORDS, max_size=14))
    letters = draw(st.sampled_from(["", LETTERS, LETTERS + "é中▁Ġ.,019ĊÃ©Ä"]))
    pieces = [*draw(st.sampled_from([[], ["<unk>"], ["<unk>", "[CLS]", "[SEP]", "<pad>"]])), *letters, *words]
    if prefix:
        pieces += [prefix + piece for piece in [*letters, *words] if draw(st.booleans()) or len(piece) == 1]
    if draw(st.integers(0, 3)) == 0:
        pieces += draw(st.sampled_from([BYTES, BYTES[:128], BYTES[60:200]]))
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


@st.composite
def byte_pair_models(draw: Any) -> Plan:
    prefix = draw(st.sampled_from([None, None, None, "##", "▁"]))
    suffix = draw(st.sampled_from([None, None, None, "</w>"]))
    symbols = list(draw(st.sampled_from([LETTERS, LETTERS + "é中▁Ġ.,019ĊÃ©Ä"])))
    symbols += [prefix + s for s in symbols] if prefix else []
    symbols += [s + suffix for s in symbols] if suffix else []
    vocab = draw(vocabularies())
    for symbol in symbols:
        vocab.setdefault(symbol, len(vocab))
    merges: dict[tuple[str, str], None] = {}
    for _ in range(draw(st.integers(0, 14))):
        left, right = draw(st.sampled_from(symbols)), draw(st.sampled_from(symbols))
        if prefix and not right.startswith(prefix):
            continue  # no pair ever looks like this
        merged = left + (right[len(prefix) :] if prefix else right)
        merges[left, right] = None
        vocab.setdefault(merged, len(vocab))
        symbols.append(merged)
    options = draw(flags("fuse_unk", "byte_fallback", "ignore_merges"))
    if prefix:
        options["continuing_subword_prefix"] = prefix
    if suffix:
        options["end_of_word_suffix"] = suffix
    if draw(st.booleans()):
        options["unk_token"] = draw(st.sampled_from(["<unk>", "a", "<unk>", "nowhere"]))
    if draw(st.booleans()):
        options["cache_capacity"] = draw(st.sampled_from([0, 10]))
    return plan("models", "BPE", vocab, list(merges), **options)


@st.composite
def unigram_models(draw: Any) -> Plan:
    vocab = draw(vocabularies())
    scores = st.sampled_from([-1.0, -2.5, -2.5, -3.25, -7.0, 0.0])
    pieces = [(piece, draw(scores)) for piece in vocab]
    unknown = draw(st.sampled_from([0, 0, 0, None])) if pieces else None
    return plan("models", "Unigram", pieces, unknown, draw(st.booleans()))


@st.composite
def word_piece_models(draw: Any) -> Plan:
    prefix = draw(st.sampled_from(["##", "##", "", "▁"]))
    vocab = draw(vocabularies(prefix))
    vocab.setdefault("<unk>", len(vocab))
    limit = draw(st.sampled_from([100, 100, 3, 0]))
    unknown = draw(st.sampled_from(["<unk>", "<unk>", "<unk>", "nowhere"]))
    return plan(
        "models",
        "WordPiece",
        vocab,
        unk_token=unknown,
        max_input_chars_per_word=limit,
        continuing_subword_prefix=prefix,
    )


@st.composite
def word_level_models(draw: Any) -> Plan:
    return plan("models", "WordLevel", draw(vocabularies()), draw(st.sampled_from(["<unk>", "<unk>", "a", "nowhere"])))


def models() -> st.SearchStrategy[Plan]:
    return st.one_of(byte_pair_models(), byte_pair_models(), unigram_models(), word_piece_models(), word_level_models())


# ---- post-processors and decoders


SPECIAL = [("[CLS]", 1), ("[SEP]", 2), ("<x>", 900)]


def pieces(names: list[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda name, kind: name + kind, st.sampled_from(names), st.sampled_from(["", ":0", ":1", ":2"]))


@st.composite
def templates(draw: Any) -> Plan:
    extras = st.lists(pieces([name for name, _ in SPECIAL]), max_size=2)
    single = [*draw(extras), draw(pieces(["$A"])), *draw(extras)]
    first, second = draw(st.sampled_from([("$A", "$B"), ("$B", "$A")]))
    both = [*draw(extras), draw(pieces([first])), *draw(extras), draw(pieces([second])), *draw(extras)]
    several: Any = {"id": "<x>", "ids": [900, 901], "tokens": ["<x>", "<y>"]}
    tokens: list[Any] = [*SPECIAL[:2], draw(st.sampled_from([SPECIAL[2], several]))]
    return plan("processors", "TemplateProcessing", single=single, pair=both, special_tokens=tokens)


def simple_processors() -> st.SearchStrategy[Plan]:
    return st.one_of(
        st.just(plan("processors", "BertProcessing", ("[SEP]", 2), ("[CLS]", 1))),
        flags("trim_offsets", "add_prefix_space").map(
            lambda options: plan("processors", "RobertaProcessing", ("[SEP]", 2), ("[CLS]", 1), **options)
        ),
        flags("trim_offsets", "add_prefix_space", "use_regex").map(
            lambda options: plan("processors", "ByteLevel", **options)
        ),
        templates(),
    )


def processors() -> st.SearchStrategy[Plan | None]:
    return st.one_of(
        st.none(),
        simple_processors(),
        st.lists(simple_processors(), max_size=3).map(lambda parts: plan("processors", "Sequence", parts)),
    )


def simple_decoders() -> st.SearchStrategy[Plan]:
    def named(name: str) -> Any:
        return lambda options: plan("decoders", name, **options)

    return st.one_of(
        st.sampled_from(["ByteLevel", "ByteFallback", "Fuse"]).map(lambda name: plan("decoders", name)),
        st.fixed_dictionaries({}, optional={"prefix": st.sampled_from(["##", "a"]), "cleanup": st.booleans()}).map(
            named("WordPiece")
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "replacement": st.sampled_from("▁_"),
                "prepend_scheme": st.sampled_from(["always", "first", "never"]),
            },
        ).map(named("Metaspace")),
        st.fixed_dictionaries({}, optional={"suffix": st.sampled_from(["</w>", "a"])}).map(named("BPEDecoder")),
        st.fixed_dictionaries(
            {},
            optional={
                "pad_token": st.sampled_from(["<pad>", "a"]),
                "word_delimiter_token": st.sampled_from(["|", "b"]),
                "cleanup": st.booleans(),
            },
        ).map(named("CTC")),
        st.builds(
            lambda content, left, right: plan("decoders", "Strip", content, left, right),
            st.sampled_from(" ab"),
            st.integers(0, 2),
            st.integers(0, 2),
        ),
        st.builds(
            lambda pattern, content: plan("decoders", "Replace", pattern, content),
            PATTERNS,
            st.sampled_from(["", " ", "b"]),
        ),
    )


def decoders() -> st.SearchStrategy[Plan | None]:
    return st.one_of(
        st.none(),
        simple_decoders(),
        st.lists(simple_decoders(), max_size=4).map(lambda parts: plan("decoders", "Sequence", parts)),
    )


# ---- added tokens, truncation, padding


CONTENTS = [
    *(
        "<a>",
        "<ab>",
        "<A>",
        "a",
        "ab",
        "ab c",
        "É",
        "é",
        " b",
        "b ",
        "[CLS]",
        "[SEP]",
        "<unk>",
        "\n",
        "中",
        "中文",
        "1",
    ),
    *("e\u0301", "ﬁ", "d", "_", "▁", "Ġ", "😀", "ß"),
]


def added_tokens() -> st.SearchStrategy[list[tuple[bool, Plan]]]:
    """(whether it is added as a special one, its plan), each content once."""
    token = st.builds(
        lambda content, options, special: (special, plan("", "AddedToken", content, **options)),
        st.sampled_from(CONTENTS),
        flags("lstrip", "rstrip", "single_word", "normalized", "special"),
        st.booleans(),
    )
    return st.lists(token, max_size=5, unique_by=lambda item: item[1][2])


TRUNCATION = st.fixed_dictionaries(
    {"max_length": st.integers(0, 9)},
    optional={
        "stride": st.integers(0, 3),
        "strategy": st.sampled_from(["longest_first", "only_first", "only_second"]),
        "direction": st.sampled_from(["left", "right"]),
    },
)
PADDING = st.fixed_dictionaries(
    {},
    optional={
        "direction": st.sampled_from(["left", "right"]),
        "pad_id": st.integers(0, 5),
        "pad_type_id": st.integers(0, 2),
        "pad_token": st.sampled_from(["<pad>", "é"]),
        "length": st.integers(0, 12),
        "pad_to_multiple_of": st.sampled_from([1, 4, 5]),
    },
)


@dataclass
class Pipeline:
    """A whole tokenizer."""

    model: Plan
    normalizer: Plan | None = None
    pre_tokenizer: Plan | None = None
    post_processor: Plan | None = None
    decoder: Plan | None = None
    added: list[tuple[bool, Plan]] = field(default_factory=list)
    added_first: bool = False  # before the normalizer is set
    encode_special_tokens: bool = False
    truncation: dict[str, Any] | None = None
    padding: dict[str, Any] | None = None

    def build(self, library: Any) -> Any:
        tokenizer = library.Tokenizer(build(library, self.model))
        if self.added_first:
            self._add(library, tokenizer)
        for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
            component = getattr(self, name)
            if component is not None:
                setattr(tokenizer, name, build(library, component))
        if not self.added_first:
            self._add(library, tokenizer)
        tokenizer.encode_special_tokens = self.encode_special_tokens
        if self.truncation is not None:
            tokenizer.enable_truncation(**self.truncation)
        if self.padding is not None:
            tokenizer.enable_padding(**self.padding)
        return tokenizer

    def _add(self, library: Any, tokenizer: Any) -> None:
        for special, token in self.added:
            add = tokenizer.add_special_tokens if special else tokenizer.add_tokens
            add([build(library, token)])


def pipelines() -> st.SearchStrategy[Pipeline]:
    return st.builds(
        Pipeline,
        model=models(),
        normalizer=normalizers(),
        pre_tokenizer=pre_tokenizers(),
        post_processor=processors(),
        decoder=decoders(),
        added=added_tokens(),
        added_first=st.booleans(),
        encode_special_tokens=st.sampled_from([False, False, False, True]),
        truncation=st.one_of(st.none(), TRUNCATION),
        padding=st.one_of(st.none(), PADDING),
    )


def texts(pipeline: Pipeline) -> st.SearchStrategy[str]:
    """Pieces of the vocabulary, added tokens, and strange characters, with and without blanks between them."""
    vocab = pipeline.model[2][0]
    known = [item if isinstance(item, str) else item[0] for item in vocab][:60]
    known += [token[2][0] for _, token in pipeline.added] * 4
    part = st.one_of(
        st.sampled_from(known or ["a"]),
        st.sampled_from(ATOMS),
        st.text(st.sampled_from("abcde"), min_size=1, max_size=6),
        st.sampled_from([text for kind in STRANGE.values() for text in kind if len(text) < 30]),
    )
    return st.lists(st.builds(lambda blank, text: blank + text, st.sampled_from(BLANKS), part), max_size=9).map("".join)
