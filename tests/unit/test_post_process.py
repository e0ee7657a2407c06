"""The post-processing stage against the reference: processors, truncation, padding and all of it together."""

import doctest
import importlib
from typing import Any

import pytest
import tokenizers
from encoding_cases import base_state, both, check, fields, outcome, same, seeded, states
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, processors

from hftok._core.post_process import PostProcessorProgram, pad_encodings, post_process, process, truncate_encodings
from hftok.encoding import Encoding

Spec = tuple[Any, ...]

CLS_SEP = st.sampled_from([(("[SEP]", 102), ("[CLS]", 101)), (("</s>", 2), ("<s>", 0)), (("", 2**32 - 1), ("é", 7))])
SPECIALS: dict[str, tuple[list[int], list[str]]] = {
    "[CLS]": ([101], ["[CLS]"]),
    "[SEP]": ([102], ["[SEP]"]),
    "<two>": ([7, 8], ["<", "two>"]),
    "<none>": ([], []),
}
PIECE = st.one_of(
    st.tuples(st.sampled_from("AB"), st.integers(0, 2)),
    st.tuples(st.just("special"), st.sampled_from(sorted(SPECIALS)), st.integers(0, 2)),
)


@st.composite
def templates(draw: Any) -> Spec:
    single = draw(st.lists(PIECE, max_size=4).map(lambda ps: [("A", p[1]) if p[0] == "B" else p for p in ps]))
    pair = [("A", 0), *draw(st.lists(PIECE, max_size=3)), ("B", 1), *draw(st.lists(PIECE, max_size=2))]
    return ("TemplateProcessing", tuple(single), tuple(draw(st.permutations(pair))), SPECIALS)


SIMPLE = st.one_of(
    CLS_SEP.map(lambda t: ("BertProcessing", *t)),
    st.tuples(CLS_SEP, st.booleans(), st.booleans()).map(lambda t: ("RobertaProcessing", *t[0], t[1], t[2])),
    st.tuples(st.just("ByteLevel"), st.booleans(), st.booleans(), st.booleans()),
    templates(),
)
SPEC = st.one_of(SIMPLE, st.lists(SIMPLE, max_size=3).map(lambda s: ("Sequence", tuple(s))))


def reference(spec: Spec | None) -> Any:
    if spec is None:
        return None
    kind = spec[0]
    if kind == "BertProcessing":
        return processors.BertProcessing(*spec[1:])
    if kind == "RobertaProcessing":
        return processors.RobertaProcessing(spec[1], spec[2], trim_offsets=spec[3], add_prefix_space=spec[4])
    if kind == "ByteLevel":
        return processors.ByteLevel(add_prefix_space=spec[1], trim_offsets=spec[2], use_regex=spec[3])
    if kind == "Sequence":
        return processors.Sequence([reference(s) for s in spec[1]])

    def pieces(template: Any) -> list[str]:
        return [f"{p[1]}:{p[2]}" if p[0] == "special" else f"${p[0]}:{p[1]}" for p in template]

    return processors.TemplateProcessing(
        single=pieces(spec[1]),
        pair=pieces(spec[2]),
        special_tokens=[{"id": name, "ids": ids, "tokens": tokens} for name, (ids, tokens) in spec[3].items()],
    )


PAIR = st.one_of(st.none(), states(max_len=6))


@seeded(150)
@given(SPEC, states(max_len=6), PAIR, st.booleans())
def test_process(spec: Spec, first: Any, second: Any, add: bool) -> None:
    mine, theirs = both(first)
    mine_pair, theirs_pair = both(second) if second else (None, None)
    before = fields(mine)
    got = outcome(lambda: fields(process(spec, mine, mine_pair, add)))
    want = outcome(lambda: fields(reference(spec).process(theirs, theirs_pair, add)))
    assert same(got, want), (got, want)
    assert fields(mine) == before
    program = PostProcessorProgram(spec)
    for is_pair in (False, True):
        assert program.added_tokens(is_pair) == reference(spec).num_special_tokens_to_add(is_pair)


TRUNCATION = st.one_of(
    st.none(),
    st.tuples(
        st.integers(0, 10),
        st.integers(0, 3),
        st.sampled_from(["longest_first", "only_first", "only_second"]),
        st.sampled_from(["left", "right"]),
    ),
)
PADDING = st.one_of(
    st.none(),
    st.tuples(
        st.one_of(st.none(), st.integers(0, 16)),
        st.sampled_from(["left", "right"]),
        st.sampled_from([None, 0, 1, 4, 7]),
        st.sampled_from([0, 9, 2**32 - 1]),
        st.integers(0, 2),
        st.sampled_from(["[PAD]", ""]),
    ),
)


def reference_tokenizer(spec: Spec | None, truncation: Any, padding: Any) -> Any:
    tokenizer = tokenizers.Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    if truncation:
        max_length, stride, strategy, direction = truncation
        tokenizer.enable_truncation(max_length, stride=stride, strategy=strategy, direction=direction)
    if padding:
        length, direction, multiple, pad_id, pad_type_id, pad_token = padding
        tokenizer.enable_padding(
            direction=direction,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
            length=length,
            pad_to_multiple_of=multiple,
        )
    tokenizer.post_processor = reference(spec)  # last: enable_truncation looks at it
    return tokenizer


@seeded(200)
@given(st.one_of(st.none(), SPEC), states(max_len=9), PAIR, st.booleans(), TRUNCATION, PADDING)
def test_post_process(spec: Spec | None, first: Any, second: Any, add: bool, truncation: Any, padding: Any) -> None:
    if truncation and truncation[1] > truncation[0]:
        truncation = (truncation[0], 0, *truncation[2:])  # the reference does not let one set it
    tokenizer = reference_tokenizer(spec, truncation, padding)
    mine, theirs = both(first)
    mine_pair, theirs_pair = both(second) if second else (None, None)
    before = fields(mine), second and fields(mine_pair)
    got = outcome(lambda: fields(post_process(mine, mine_pair, add, truncation, padding, spec)))
    want = outcome(lambda: fields(tokenizer.post_process(theirs, theirs_pair, add)))
    assert same(got, want), (got, want)
    assert (fields(mine), second and fields(mine_pair)) == before
    by_name = outcome(
        lambda: fields(
            post_process(
                mine, mine_pair, add, tokenizer.truncation, tokenizer.padding, spec and PostProcessorProgram(spec)
            )
        )
    )
    assert by_name == got


def test_too_small_a_length_for_the_special_tokens_truncates_nothing() -> None:
    # TokenizerImpl::post_process subtracts the number of added tokens without a check: the difference wraps around to
    # a huge length in the released wheel, and then nothing is too long.
    spec = ("BertProcessing", ("[SEP]", 102), ("[CLS]", 101))
    for length in range(5):
        truncation = (length, 0, "longest_first", "right")
        tokenizer = reference_tokenizer(spec, truncation, None)
        for second in (None, base_state(4)):
            mine, theirs = both(base_state(5))
            mine_pair, theirs_pair = both(second) if second else (None, None)
            result = post_process(mine, mine_pair, True, truncation, None, spec)
            check(result, tokenizer.post_process(theirs, theirs_pair, True))
            added = 3 if second else 2
            if length < added:
                assert len(result) == 5 + added + (4 if second else 0)


def stage(tokenizer: Any, first: Any, second: Any) -> Any:
    return fields(tokenizer.post_process(first, second, True))


def test_every_truncation_of_a_pair() -> None:
    for strategy in ("longest_first", "only_first", "only_second"):
        for direction in ("left", "right"):
            for max_length in range(12):
                for stride in range(3):
                    if stride > max_length:
                        continue
                    truncation = (max_length, stride, strategy, direction)
                    tokenizer = reference_tokenizer(None, truncation, None)
                    for n, m in [(5, None), (5, 4), (4, 5), (9, 1), (1, 9), (0, 6), (6, 0), (3, 3)]:
                        mine, theirs = both(base_state(n))
                        mine_pair, theirs_pair = both(base_state(m)) if m is not None else (None, None)

                        got = outcome(truncate_encodings, mine, mine_pair, truncation)
                        want = outcome(stage, tokenizer, theirs, theirs_pair)
                        if want == "panic" or (isinstance(want, tuple) and want[0] is Exception):
                            assert same(got, want), (truncation, n, m, got, want)
                        else:
                            cut, cut_pair = got
                            merged = process(None, cut, cut_pair, True)
                            assert fields(merged) == want, (truncation, n, m)


@seeded(40)
@given(st.lists(states(max_len=6), max_size=4), PADDING.filter(bool))
def test_pad_encodings(all_states: list[Any], padding: Any) -> None:
    # the reference pads batches only inside encode_batch: pad its Encodings one by one to the length it would choose
    pairs = [both(s) for s in all_states]
    length, direction, multiple, pad_id, pad_type_id, pad_token = padding
    if length is None:
        length = max((len(e) for e, _ in pairs), default=0)
    if multiple and length % multiple:
        length += multiple - length % multiple
    pad_encodings([e for e, _ in pairs], padding)
    for mine, theirs in pairs:
        theirs.pad(length, direction=direction, pad_id=pad_id, pad_type_id=pad_type_id, pad_token=pad_token)
        assert fields(mine) == fields(theirs)


def test_padding_of_a_real_batch() -> None:
    tokenizer = reference_tokenizer(None, None, None)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    texts = ["a b c", "", "a", "a b c d e"]
    for padding in [
        (None, "right", None, 3, 1, "<p>"),
        (None, "left", 4, 3, 1, "<p>"),
        (2, "right", None, 3, 1, "<p>"),
        (2, "left", 8, 0, 0, ""),
    ]:
        tokenizer.no_padding()
        mine = [both(fields(e))[0] for e in tokenizer.encode_batch(texts)]
        length, direction, multiple, pad_id, pad_type_id, pad_token = padding
        tokenizer.enable_padding(
            direction=direction,
            pad_id=pad_id,
            pad_type_id=pad_type_id,
            pad_token=pad_token,
            length=length,
            pad_to_multiple_of=multiple,
        )
        pad_encodings(mine, tokenizer.padding)
        for got, want in zip(mine, tokenizer.encode_batch(texts), strict=True):
            check(got, want)


def test_padding_without_memory_leaves_the_batch_alone() -> None:
    batch = [both(base_state(n))[0] for n in (3, 70)]
    before = [fields(e) for e in batch]
    with pytest.raises(MemoryError):
        pad_encodings(batch, (2**62, "right", None, 0, 0, "[PAD]"))
    assert [fields(e) for e in batch] == before


def test_templates_that_panic_in_the_reference() -> None:
    special = {"[C]": ([5], ["[C]"])}
    single_b: Spec = ("TemplateProcessing", (("B", 0),), (("A", 0), ("B", 0)), special)
    missing: Spec = ("TemplateProcessing", (("special", "[D]", 0), ("A", 0)), (("A", 0), ("B", 0)), special)
    twice: Spec = (
        "Sequence",
        (
            (
                "TemplateProcessing",
                (("special", "[C]", 0), ("A", 0)),
                (("A", 0), ("special", "[C]", 0), ("B", 1)),
                special,
            ),
        )
        * 2,
    )
    mine, theirs = both(base_state(2))
    assert same(
        outcome(lambda: process(single_b, mine, None, True)), outcome(lambda: reference(single_b).process(theirs))
    )
    assert same(
        outcome(lambda: process(twice, mine, mine, True)), outcome(lambda: reference(twice).process(theirs, theirs))
    )
    stale = processors.TemplateProcessing(single="[C] $A", pair="$A $B", special_tokens=[("[C]", 5)])
    stale.single = "[D] $A"
    assert same(outcome(lambda: process(missing, mine, None, True)), outcome(lambda: stale.process(theirs)))
    check(process(missing, mine, None, False), stale.process(theirs, add_special_tokens=False))


def test_the_number_of_added_tokens_may_be_given() -> None:
    # TemplateProcessing.single can be set later in the reference, and the count is not made anew.
    theirs = processors.TemplateProcessing(single="[C] $A [C]", pair="$A $B", special_tokens=[("[C]", 5)])
    theirs.single = "$A"
    assert theirs.num_special_tokens_to_add(False) == 2
    program = PostProcessorProgram(
        ("TemplateProcessing", (("A", 0),), (("A", 0), ("B", 0)), {"[C]": ([5], ["[C]"])}, (2, 0))
    )
    assert [program.added_tokens(False), program.added_tokens(True)] == [2, 0]


@pytest.mark.parametrize("trim", [True, False])
@pytest.mark.parametrize("prefix", [True, False])
def test_trimmed_offsets(trim: bool, prefix: bool) -> None:
    # byte_level.rs, process_offsets: Ġ and char::is_whitespace, which is White_Space and not U+001C..U+001F
    tokens = [
        "Ġa",
        "ĠĠa",
        "aĠ",
        "ĠaĠĠ",
        "Ġ",
        "ĠĠ",
        " a",
        "\t\n",
        "\x1ca",
        "\u200ba",
        "\u3000a\u2029",
        "\x85",
        "\u180e",
        "",
        "aĠb",
        "\xa0",
        "a\u205f",
    ]
    for offset in range(4):
        state = base_state(
            len(tokens), tokens=tokens, offsets=[[offset * (i % 2), offset + i % 3] for i in range(len(tokens))]
        )
        state["overflowing"] = [state | {"offsets": [[0, 3]] * len(tokens)}]
        mine, theirs = both(state)
        for spec in (("ByteLevel", prefix, trim, True), ("RobertaProcessing", ("b", 1), ("c", 2), trim, prefix)):
            check(process(spec, mine, None, True), reference(spec).process(theirs))


def test_every_whitespace_character_is_trimmed_as_in_the_reference() -> None:
    for start in range(0, 0x3100, 0x100):
        tokens = [chr(c) + "a" for c in range(start, start + 0x100) if not 0xD800 <= c < 0xE000]
        mine, theirs = both(base_state(len(tokens), tokens=tokens, offsets=[[1, 3]] * len(tokens)))
        spec = ("ByteLevel", False, True, True)
        assert process(spec, mine, None, True).offsets == reference(spec).process(theirs).offsets


@pytest.mark.parametrize(
    "spec",
    [
        ("Bert",),
        (),
        "BertProcessing",
        ("BertProcessing", ("a", 1)),
        ("BertProcessing", ("a", -1), ("b", 1)),
        ("TemplateProcessing", (("C", 0),), (), {}),
        ("TemplateProcessing", (("special", "a", 0),), (), {"a": ([1], [])}),
        ("Sequence", (("x",),)),
        ("ByteLevel", 1, True, True),
    ],
)
def test_specs_that_are_none(spec: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        PostProcessorProgram(spec)


@pytest.mark.parametrize(
    "truncation", [(1, 0, "longest", "right"), (1, 0, "only_first", "up"), (-1, 0, "only_first", "left"), (1,), 5]
)
def test_bad_truncation(truncation: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        truncate_encodings(both(base_state(3))[0], None, truncation)


def test_pieces_of_a_pair_have_pieces() -> None:
    # Encoding::merge_with clones the side that is met together with its overflowing pieces
    truncation = (6, 0, "longest_first", "right")
    spec = ("BertProcessing", ("[SEP]", 102), ("[CLS]", 101))
    tokenizer = reference_tokenizer(spec, truncation, None)
    (mine, theirs), (mine_pair, theirs_pair) = both(base_state(5)), both(base_state(4))
    result = post_process(mine, mine_pair, True, truncation, None, spec)
    check(result, tokenizer.post_process(theirs, theirs_pair, True))
    assert [len(e.overflowing) for e in result.overflowing] != [0] * len(result.overflowing)


def test_lazy_encodings_are_filled_first() -> None:
    class Source:
        def materialize(self, encoding: Encoding) -> None:
            encoding._fill(tokens=["Ġa", "b"], offsets=[(0, 2), (2, 3)], word_ids=[0, None])

    def make() -> Encoding:
        return Encoding._lazy(Source(), [1, 2], [0, 0], [0, 0], [1, 1])

    theirs = tokenizers.Encoding()
    theirs.__setstate__(make().__getstate__())
    for spec in (
        None,
        ("BertProcessing", ("s", 1), ("c", 2)),
        ("ByteLevel", True, True, True),
        ("TemplateProcessing", (("A", 3),), (("B", 1), ("A", 2)), {}),
    ):
        tokenizer = reference_tokenizer(spec, (1, 0, "longest_first", "left"), (5, "left", None, 0, 0, "p"))
        for add in (False, True):
            got = post_process(make(), None, add, tokenizer.truncation, tokenizer.padding, spec)
            assert fields(got) == fields(tokenizer.post_process(theirs, None, add))


@pytest.mark.parametrize("module", ["hftok._core.encoding", "hftok._core.post_process"])
def test_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed
