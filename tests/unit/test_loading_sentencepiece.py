"""Reading SentencePiece models and rank files: what is found, and what is said about files that are none."""

from __future__ import annotations

import base64
import json
import random

import pytest
from spm_models import BPE, BYTE, CONTROL, NORMAL, UNIGRAM, UNKNOWN, USER_DEFINED, message, model

from hftok import Tokenizer, UnsupportedTokenizerError, loading_tiktoken
from hftok.sentencepiece_file import SentencePieceFile

PIECES = [("<unk>", 0, UNKNOWN), ("<s>", 0, CONTROL), ("</s>", 0, CONTROL), ("<x>", 0, USER_DEFINED)]
LETTERS = [("▁", -1, NORMAL), ("a", -2, NORMAL), ("b", -3, NORMAL), ("ab", -4, NORMAL), ("▁ab", -5, NORMAL)]
SMALL = model([*PIECES, *LETTERS], [(3, BPE)])


def test_fields():
    file = SentencePieceFile(
        model(
            [*PIECES, ("<0x41>", -1.5, BYTE)],
            [(3, BPE), (24, 1), (35, 1), (40, 3), (41, -1), (45, "<u>"), (48, "<p>"), (99, b"skipped"), (98, 2.5)],
            [(1, "nfkc"), (2, b"\1\2"), (3, 0), (4, 0), (5, 1)],
        )
    )
    assert file.pieces[3:] == [("<x>", 0.0, USER_DEFINED), ("<0x41>", -1.5, BYTE)]
    assert (file.model_type, file.unk_id, file.bos_id, file.eos_id, file.pad_id) == (BPE, 3, -1, 2, -1)
    assert (file.unk_piece, file.bos_piece, file.pad_piece) == ("<u>", "<s>", "<p>")
    assert file.treat_whitespace_as_suffix
    assert file.byte_fallback
    assert file.precompiled_charsmap == b"\1\2"
    assert (file.add_dummy_prefix, file.remove_extra_whitespaces, file.escape_whitespaces) == (False, False, True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"plain text",
        b"\x0a\x05ab",  # ends in a field
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a length of more than 64 bits
        b"\x03",  # a kind that there is not
        b"\x08\x01",  # a number for a piece
        message((1, message((1, b"\xff\xfe")))),  # no UTF-8
        message((1, message((1, "a"), (2, 5)))),  # a score that is no float
        message((1, message((1, "a"))), (2, message((3, b"x")))),
        model([("a", 0, 1)], [(40, 7)]),  # the unknown piece is not there
        model([("a", 0, 1)], [(40, -1)]),
        b"\x00\x00",
    ],
)
def test_no_model(data, tmp_path):
    path = tmp_path / "x.model"
    path.write_bytes(data)
    for load in (Tokenizer, Tokenizer.from_sentencepiece):
        with pytest.raises(ValueError, match="no SentencePiece model"):
            load(str(path))


def test_hostile_files(tmp_path):
    """Damaged models are a ValueError (or a model, where the damage hits a score): never a crash, never a hang."""
    rng = random.Random(11)
    path = tmp_path / "x.model"
    read = 0
    for _ in range(3000):
        data = bytearray(SMALL)
        for _ in range(rng.randint(1, 4)):
            kind = rng.random()
            at = rng.randrange(len(data))
            if kind < 0.5:
                data[at] = rng.randrange(256)
            elif kind < 0.7:
                del data[at : at + rng.randint(1, 5)]
            elif kind < 0.9:
                data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
            else:
                del data[at:]
            if not data:
                break
        try:
            SentencePieceFile(bytes(data))
        except ValueError:
            continue
        read += 1
        if read % 5:
            continue
        path.write_bytes(data)
        try:
            Tokenizer(str(path)).encode("ab <x>")
        except Exception as error:
            if type(error) not in (ValueError, Exception):
                raise
    assert read > 100


def test_huge_lengths_allocate_nothing():
    with pytest.raises(ValueError, match="middle of a field"):
        SentencePieceFile(b"\x0a" + b"\xff" * 8 + b"\x7f" + b"x")


def test_general_form(tmp_path):
    path = tmp_path / "x.model"
    path.write_bytes(SMALL)
    tokenizer = Tokenizer(str(path))
    assert tokenizer.encode("ab<x> ab").tokens == ["ab", "<x>", "▁ab"]
    assert tokenizer.get_added_tokens_decoder()[3].special is False
    assert tokenizer.get_added_tokens_decoder()[1].special is True
    assert Tokenizer.from_sentencepiece(path).to_str() == tokenizer.to_str()
    llama = Tokenizer.from_sentencepiece(path, "LlamaTokenizerFast", add_bos_token=True)
    assert llama.encode("ab").tokens == ["<s>", "▁ab"]


def test_classes_that_need_what_the_file_lacks(tmp_path):
    path = tmp_path / "x.model"
    path.write_bytes(model([*PIECES, *LETTERS], [(3, UNIGRAM)]))
    with pytest.raises(ValueError, match=r"'\[CLS\]'"):
        Tokenizer.from_sentencepiece(path, "AlbertTokenizer")
    (tmp_path / "t5.model").write_bytes(model([*PIECES, ("<extra_id_0>", 0, USER_DEFINED)]))
    with pytest.raises(ValueError, match="extra_ids=1"):
        Tokenizer.from_sentencepiece(tmp_path / "t5.model", "T5Tokenizer")
    with pytest.raises(UnsupportedTokenizerError, match="MarianTokenizer"):
        Tokenizer.from_sentencepiece(path, "MarianTokenizer")
    path.write_bytes(SMALL)
    with pytest.raises(UnsupportedTokenizerError, match="Unigram"):
        Tokenizer.from_sentencepiece(path, "CamembertTokenizer")


def test_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="SentencePiece model"):
        Tokenizer(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        Tokenizer(str(tmp_path / "none.model"))
    (tmp_path / "a.model").write_bytes(SMALL)
    assert Tokenizer(str(tmp_path)).get_vocab_size() == 9  # the only file, whatever its name
    (tmp_path / "b.model").write_bytes(SMALL)
    with pytest.raises(ValueError, match=r"a\.model, b\.model"):
        Tokenizer(str(tmp_path))
    (tmp_path / "tokenizer.model").write_bytes(SMALL)
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"auto_map": {"AutoTokenizer": ["x.Y", None]}, "tokenizer_class": "Y"}))
    with pytest.raises(UnsupportedTokenizerError, match="code in the folder"):
        Tokenizer(str(tmp_path))
    for text, match in (("[1]", "JSON object"), ("{", "not JSON")):
        config.write_text(text)
        with pytest.raises(ValueError, match=match):
            Tokenizer(str(tmp_path))


# ---- rank files


def rank_file(ranks):
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())


BYTES = {bytes([b]): b for b in range(256)}


def test_rank_file(tmp_path):
    path = tmp_path / "x.tiktoken"
    path.write_bytes(rank_file({**BYTES, b"ab": 256, b" ab": 257}))
    tokenizer = Tokenizer.from_tiktoken(path, special_tokens={"<b>": 259, "<a>": 258})
    assert tokenizer.encode("ab ab<a>").ids == [256, 257, 258]
    assert tokenizer.decode([256, 257]) == "ab ab"
    assert tokenizer.as_tiktoken().encode("ab ab<a>", allowed_special="all") == [256, 257, 258]
    with pytest.raises(ValueError, match="cannot have the number 300"):
        Tokenizer.from_tiktoken(path, special_tokens={"<a>": 300})
    with pytest.raises(OSError, match="No such file"):
        Tokenizer.from_tiktoken(tmp_path / "none.tiktoken")
    path.write_bytes(b"YQ== x\n")
    with pytest.raises(ValueError, match="Error parsing line"):
        Tokenizer.from_tiktoken(path)


def test_what_a_rank_file_looks_like():
    assert loading_tiktoken.is_rank_file(rank_file(BYTES))
    for data in (b"", SMALL, b"\n", b"a b c\n", b"plain\n", b"\xff\xfe 1\n"):
        assert not loading_tiktoken.is_rank_file(data)
