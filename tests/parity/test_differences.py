"""The rows of docs/differences.md: what the reference does, and what hftok does instead."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import tokenizers
from grid_checks import outcome
from grid_setups import bert

import hftok
from hftok.testing import encoding_fields

RANDOM = """
import tokenizers
t = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0, "x": 1}, unk_token="[UNK]"))
t.add_tokens([tokenizers.AddedToken(c * 3, normalized=True) for c in ("A", "a")])
t.normalizer = tokenizers.normalizers.Lowercase()
print(*t.encode("aaa").ids)
"""


def test_row_1_a_stride_that_does_not_fit():
    one, other = bert(hftok), bert(tokenizers)
    for tokenizer in (one, other):
        tokenizer.enable_truncation(4, stride=1)
    text = "a b c d e f g", "a b c d e f"
    assert type(outcome(lambda: other.encode(*text))).__name__ == "PanicException"
    with pytest.raises(ValueError, match="stride"):
        one.encode(*text)
    assert one.encode("a b").ids == other.encode("a b").ids


def test_row_2_added_tokens_of_one_normalized_form():
    def build(library):
        tokenizer = library.Tokenizer(library.models.WordPiece({"[UNK]": 0, "x": 1}, unk_token="[UNK]"))
        tokenizer.add_tokens([library.AddedToken(c * 3, normalized=True) for c in ("A", "a")])
        tokenizer.normalizer = library.normalizers.Lowercase()
        return tokenizer

    assert {tuple(build(hftok).encode("aaa").ids) for _ in range(5)} == {(3,)}
    # It may be either, so no more than that can be asked of the reference in one process.
    assert build(tokenizers).encode("aaa").ids in ([2], [3])
    seen = {subprocess.run([sys.executable, "-c", RANDOM], capture_output=True, text=True).stdout for _ in range(4)}
    assert seen <= {"2\n", "3\n"}


def test_row_3_one_id_for_two_tokens():
    data = json.loads(bert(hftok).to_str())
    data["model"]["vocab"] = {"a": 0, "b": 0, "[UNK]": 1}
    data["added_tokens"] = []
    one, other = (t.from_str(json.dumps(data)) for t in (hftok.Tokenizer, tokenizers.Tokenizer))
    assert one.id_to_token(0) == "b"
    assert other.id_to_token(0) in ("a", "b")
    assert one.encode("a b").ids == other.encode("a b").ids


def test_row_4_full_overflow():
    text = " ".join("abcdefghij")
    one, other = bert(hftok), bert(tokenizers)
    one.enable_truncation(5, stride=1)
    other.enable_truncation(5, stride=1)
    mine, reference = one.encode(text), other.encode(text)
    assert [e.ids for e in mine.overflowing] == [e.ids for e in reference.overflowing]
    one.enable_truncation(5, stride=1, full_overflow=True)
    full = one.encode(text)
    assert full.ids == mine.ids
    windows = [full, *full.overflowing]
    assert [e.tokens[1:-1] for e in windows] == [list("abc"), list("cde"), list("efg"), list("ghi"), list("ij")]
    assert len(full.overflowing) > len(mine.overflowing)


def test_row_5_what_a_tokenizer_is_made_of(tmp_path):
    one = bert(hftok)
    path = tmp_path / "tokenizer.json"
    one.save(str(path))
    for source in (path, str(path), tmp_path, one.to_str(), one.to_str().encode(), one, bert(tokenizers)):
        assert hftok.Tokenizer(source).encode("a b").ids == one.encode("a b").ids
    assert isinstance(outcome(lambda: tokenizers.Tokenizer(str(path))), TypeError)


NOTHING = "\u0301"  # what StripAccents leaves nothing of


def with_an_empty_token(library, *others, **flags):
    letters = {letter: number for number, letter in enumerate("abcx é")}
    tokenizer = library.Tokenizer(library.models.BPE(letters, []))
    tokenizer.normalizer = library.normalizers.StripAccents()
    for content in (NOTHING, *others):
        tokenizer.add_tokens([library.AddedToken(content, normalized=True, **flags)])
    return tokenizer


def never_ends(text, others):
    """Whether the reference goes on for ever, which takes all memory: the text ends like the beginning of a token."""
    return any(text.endswith(token[:size]) for token in others for size in range(1, len(token)))


@pytest.mark.parametrize("flags", [{}, {"lstrip": True}, {"rstrip": True}, {"lstrip": True, "rstrip": True}])
@pytest.mark.parametrize("others", [(), ("ab",), ("abc", "b"), ("ab", " x")])
def test_row_10_added_tokens_of_which_nothing_is_left(others, flags):
    """Found at every byte; the reference never ends on texts that end like the beginning of another token."""
    one, other = (with_an_empty_token(library, *others, **flags) for library in (hftok, tokenizers))
    compared = 0
    for text in ("", "x", " ", "xabx", "ab  x", "x  abx  ", "  abcx", "ab  x", "abcb x", "x x  x", "xabx x cx"):
        for arguments, pretokenized in ((text, False), (text.split(" "), True)):
            if any(never_ends(part, others) for part in (arguments if pretokenized else [text])):
                continue
            mine, reference = (t.encode(arguments, is_pretokenized=pretokenized) for t in (one, other))
            assert encoding_fields(mine) == encoding_fields(reference), text
            compared += 1
    assert compared > 12
    assert "".join(one.encode("xabxa").tokens) == "xabxa"
    assert type(outcome(lambda: other.encode("xé"))).__name__ == "PanicException"
    with pytest.raises(ValueError, match="no valid split"):
        one.encode("xé")


def test_row_10_an_empty_token_that_is_a_word_or_not_wanted():
    for flags in ({"single_word": True}, {"special": True}, {"special": True, "single_word": True}):
        one, other = (with_an_empty_token(library, "ab", **flags) for library in (hftok, tokenizers))
        for as_text in (False, True):
            one.encode_special_tokens = other.encode_special_tokens = as_text
            for text in ("xx", "x  ab  x", "ab ", "  ", " x x"):
                assert encoding_fields(one.encode(text)) == encoding_fields(other.encode(text)), (flags, text)


class Upper:
    def decode_chain(self, tokens):
        return [token.upper() for token in tokens]


def _decoded_by_a_sequence(tokenizer, decoders):
    tokenizer.decoder = decoders.Sequence([decoders.Decoder.custom(Upper()), decoders.Fuse()])
    return tokenizer.decode([0])


def test_row_15_decoders():
    for library, error in ((hftok, ValueError), (tokenizers, BaseException)):
        for content, start, stop, token in (("a", 0, 3, "a"), ("é", 1, 1, "é")):
            with pytest.raises(error):
                library.decoders.Strip(content, start, stop).decode([token])
        decoder = library.decoders
        tokenizer = library.Tokenizer(library.models.WordLevel({"a": 0}, unk_token="a"))
        with pytest.raises(error):
            _decoded_by_a_sequence(tokenizer, decoder)
        tokenizer.decoder = decoder.Decoder.custom(Upper())
        assert tokenizer.decode([0]) == "A"


def test_row_22_a_key_twice():
    state = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}, "a")).encode("a").__getstate__()
    twice = state.replace(b'"ids":[0]', b'"ids":[1],"ids":[0]')
    with pytest.raises(Exception, match="duplicate field"):
        tokenizers.Encoding().__setstate__(twice)
    encoding = hftok.Encoding()
    encoding.__setstate__(twice)
    assert encoding.__getstate__() == state


def test_row_24_settings_hold_for_words_that_were_seen():
    def split(library, seen):
        model = library.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
        if seen:
            model.tokenize("ab")
        model.end_of_word_suffix = "b"
        return [token.value for token in model.tokenize("ab")]

    assert split(hftok, False) == split(tokenizers, False) == split(hftok, True) == ["a"]
    assert split(tokenizers, True) == ["ab"]


def test_row_25_word_caches_have_no_settings():
    for library in (hftok, tokenizers):
        model = library.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], cache_capacity=1)
        assert model._resize_cache(3) is None
        assert [token.value for token in model.tokenize("ab")] == ["ab"]
        assert model._clear_cache() is None
        assert [token.value for token in model.tokenize("ab")] == ["ab"]
        assert b"cache" not in model.__getstate__()


def test_matrices_are_never_wider_than_asked_for():
    with pytest.raises(ValueError, match="special tokens alone are 2"):
        bert(hftok).encode_batch_padded(["a b c"], max_length=1)
