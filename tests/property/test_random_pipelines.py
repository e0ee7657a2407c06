"""Tokenizers and texts that hypothesis makes up, against the reference: every component and option, all at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tokenizers
from grid_checks import explain, outcome, same
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from pipeline_strategies import Pipeline, pipelines, texts

import hftok
from hftok.testing import encoding_fields

PROFILE = settings(
    database=None,
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def comparable(pipeline: Pipeline, other: Any) -> bool:
    """Whether the reference's answer is one and the same in every run.

    It finds one at random of two added tokens with one normalized form (docs/differences.md), and one of two ids.
    """
    forms = []
    for _, token in pipeline.added:
        content = token[2][0]
        form = outcome(lambda content=content: other.normalizer.normalize_str(content) if other.normalizer else content)
        if isinstance(form, BaseException) or form == "":
            return False
        forms += {content, form}
    return len(forms) == len(set(forms))


def compare(what: str, one: Any, other: Any, call: Any, batch: bool = False) -> Any:
    """The reference's answer, after a check that ours is the same. Of several errors in a batch it gives any one."""
    expected = outcome(lambda: call(other))
    found = outcome(lambda: call(one))
    agree = isinstance(found, BaseException) if batch and isinstance(expected, BaseException) else same(found, expected)
    assert agree, f"{what}: {explain(found, expected)}"
    return expected


def forms(draw: Any, pipeline: Pipeline) -> list[tuple[Any, bool]]:
    """(arguments of encode, is_pretokenized)."""
    text = texts(pipeline)
    words = st.lists(text, max_size=4)
    first, second = draw(text), draw(text)
    return [
        ((first,), False),
        ((first, second), False),
        ((draw(words),), True),
        ((draw(words), draw(words)), True),
    ]


def check_pipeline(pipeline: Pipeline, data: st.DataObject) -> None:
    other, one = outcome(lambda: pipeline.build(tokenizers)), outcome(lambda: pipeline.build(hftok))
    if isinstance(other, BaseException):
        assert same(one, other), (one, other)
        return
    assert not isinstance(one, BaseException), repr(one)
    if not comparable(pipeline, other):
        return
    compare("to_str", one, other, lambda t: json.loads(t.to_str()))
    compare("vocabulary", one, other, lambda t: sorted(t.get_vocab().items()))
    again = hftok.Tokenizer.from_str(one.to_str())
    again.encode_special_tokens = pipeline.encode_special_tokens  # is not in the file
    inputs = forms(data.draw, pipeline)
    ids: list[int] = []
    for special in (True, False):
        for arguments, pretokenized in inputs:
            options = {"is_pretokenized": pretokenized, "add_special_tokens": special}

            def encode(t: Any, a: Any = arguments, options: Any = options) -> Any:
                return encoding_fields(t.encode(*a, **options))

            expected = compare(f"encode{arguments!a}", one, other, encode)
            found = outcome(lambda encode=encode: encode(again))
            assert same(found, expected), f"reloaded, {arguments!a}: {explain(found, expected)}"
            if isinstance(expected, dict):
                ids = expected["ids"]
                skip = special

                def decode(t: Any, ids: Any = ids, skip: bool = skip) -> Any:
                    return t.decode(ids, skip_special_tokens=skip)

                compare(f"decode{ids}", one, other, decode)
        for part in (inputs[:2], inputs[2:]):
            rows = [a if len(a) == 2 else a[0] for a, _ in part]

            def encode_batch(t: Any, rows: Any = rows, p: bool = part[0][1], s: bool = special) -> Any:
                found = t.encode_batch(rows, is_pretokenized=p, add_special_tokens=s)
                return [encoding_fields(e) for e in found]

            compare(f"encode_batch({rows!a})", one, other, encode_batch, batch=True)
    one.no_truncation(), one.no_padding(), other.no_truncation(), other.no_padding()
    batch = [inputs[0][0][0], *inputs[1][0]]
    rows = outcome(lambda: [e.ids for e in other.encode_batch(batch)])
    assert same(outcome(lambda: one.encode_batch_ids(batch).to_list()), rows)
    many = data.draw(st.lists(st.integers(0, 40), max_size=12))
    compare(f"decode({many})", one, other, lambda t: t.decode(many, skip_special_tokens=False))


@pytest.mark.parametrize("number", range(8))
def test_random_pipelines(number: int) -> None:
    @seed(number)
    @PROFILE
    @given(pipeline=pipelines(), data=st.data())
    def check(pipeline: Pipeline, data: st.DataObject) -> None:
        check_pipeline(pipeline, data)

    check()
