"""Tokenizers for the grids: made of the same parts in hftok and in the reference.

`SETUPS[name](library)` builds one, with `library` either `hftok` or `tokenizers`: the names are the same. A setup is
there because of something that it does: a flag, an order of components, a kind of added token.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from functools import cache
from typing import Any

import hftok

SETUPS: dict[str, Callable[[Any], Any]] = {}
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@cache
def vocabulary() -> dict[str, int]:
    """The vocabulary that ships with the package, with some words of the added tokens in it."""
    path = pathlib.Path(hftok.__file__).parent / "data" / "demo_vocab.txt"
    words = path.read_text(encoding="utf-8").split("\n")[:-1]
    extra = ["état", "É", "##É", "A", "##A", "E", "New", "York", "Σ", "##Σ", "##ς", "ﬁ", "½", "İ", "<both>", "mask"]
    return {word: number for number, word in enumerate(dict.fromkeys([*words, *extra]))}


def setup(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SETUPS[function.__name__] = function
    return function


def word_piece(library: Any, **options: Any) -> Any:
    return library.Tokenizer(library.models.WordPiece(vocabulary(), unk_token="[UNK]", **options))


def bert(library: Any, **options: Any) -> Any:
    tokenizer = word_piece(library)
    tokenizer.normalizer = library.normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = library.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.decoder = library.decoders.WordPiece()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def added(library: Any, *tokens: tuple[str, str]) -> list[Any]:
    """AddedTokens of (content, flags): l(strip), r(strip), (single) w(ord), n(ormalized) or not (o), s(pecial)."""
    result = []
    for content, flags in tokens:
        options = {
            name: True for flag, name in (("l", "lstrip"), ("r", "rstrip"), ("w", "single_word")) if flag in flags
        }
        if "n" in flags or "o" in flags:
            options["normalized"] = "n" in flags
        result.append(library.AddedToken(content, special="s" in flags, **options))
    return result


# ---- the flags of BERT's normalizer


@setup
def bert_uncased(library):
    return bert(library)


@setup
def bert_cased(library):
    return bert(library, lowercase=False)


@setup
def bert_keeps_accents(library):
    return bert(library, strip_accents=False, handle_chinese_chars=False)


@setup
def bert_unclean(library):
    return bert(library, clean_text=False, strip_accents=True, lowercase=False)


@setup
def bert_template_swaps(library):
    """B before A, odd types, two tokens for one special token."""
    tokenizer = bert(library)
    tokenizer.post_processor = library.processors.TemplateProcessing(
        single="[CLS] $0 [SEP] [MASK]:2",
        pair="$B:3 [SEP]:1 two $A:0 [CLS]:4",
        special_tokens=[
            ("[CLS]", 2),
            ("[SEP]", 3),
            ("[MASK]", 4),
            {"id": "two", "ids": [7, 8], "tokens": ["7", "8"]},
        ],
    )
    return tokenizer


@setup
def bert_without_words(library):
    """No pre-tokenizer: the whole text is one word."""
    tokenizer = bert(library)
    tokenizer.pre_tokenizer = None
    return tokenizer


# ---- added tokens


@setup
def added_flags(library):
    tokenizer = bert(library)
    tokenizer.add_tokens(
        added(library, ("<left>", "lo"), ("<right>", "ro"), ("<both>", "lro"), ("word", "wo"), ("~", "o"), ("<a>", "o"))
    )
    return tokenizer


@setup
def added_special(library):
    tokenizer = bert(library)
    tokenizer.add_special_tokens(
        added(library, ("<left>", "l"), ("<right>", "r"), ("<both>", "lr"), ("word", "w"), ("~", "wlr"), ("<a>", ""))
    )
    return tokenizer


@setup
def added_normalized(library):
    """Found in the normalized text."""
    tokenizer = bert(library)
    tokenizer.add_tokens(
        added(
            library, ("<LEFT>", "ln"), ("<right>", "rn"), ("<Both>", "lrn"), ("WORD", "wn"), ("état", "n"), ("ΣΑΣ", "n")
        )
    )
    return tokenizer


@setup
def added_normalized_cased(library):
    tokenizer = bert(library, lowercase=False)
    tokenizer.add_tokens(
        added(
            library, ("<LEFT>", "ln"), ("<both>", "lrn"), ("word", "wn"), ("état", "nw"), ("İx", "n"), ("[mask]", "ns")
        )
    )
    return tokenizer


@setup
def added_in_both_passes(library):
    tokenizer = bert(library)
    tokenizer.add_tokens(
        added(
            library,
            ("new york", "n"),
            ("New York", "o"),
            ("<a>", "n"),
            ("<ab>", "o"),
            ("中国", "n"),
            ("👍", "o"),
            ("👍🏽", "n"),
        )
    )
    return tokenizer


@setup
def added_prefixes(library):
    """Tokens that begin with others: the longest at the leftmost place wins."""
    tokenizer = bert(library)
    tokenizer.add_tokens(
        added(library, ("<a", "o"), ("<a>", "o"), ("<ab>", "o"), ("<abc>", "n"), ("a", "wn"), ("<", "n"))
    )
    return tokenizer


@setup
def added_with_blanks(library):
    tokenizer = bert(library)
    tokenizer.add_tokens(
        added(
            library,
            ("new york", "o"),
            ("new  york", "n"),
            ("york city", "wn"),
            ("a b", "w"),
            (" word", "o"),
            ("\n", "o"),
        )
    )
    return tokenizer


@setup
def added_as_text(library):
    """encode_special_tokens: special tokens in a text are text."""
    tokenizer = bert(library)
    tokenizer.add_tokens(added(library, ("<both>", "lr"), ("<a>", "s"), ("word", "ws")))
    tokenizer.add_special_tokens(["<ab>"])
    tokenizer.encode_special_tokens = True
    return tokenizer


@setup
def added_odd(library):
    """A combining mark, a zero-width character, a control character, a letter that lower-casing changes, digits."""
    tokenizer = bert(library)
    tokenizer.add_tokens(
        added(
            library,
            ("\u0301", "o"),
            ("\u200b|", "n"),
            ("\x00", "o"),
            ("İx", "n"),
            ("12", "wn"),
            ("ﬁn", "o"),
            ("中", "lro"),
        )
    )
    return tokenizer


@setup
def added_before_normalizer(library):
    """The normalizer is set after the tokens were added; a token is added twice with other flags."""
    tokenizer = word_piece(library)
    tokenizer.add_tokens(added(library, ("ÉTAT", "n"), ("<A>", "n"), ("word", "o")))
    tokenizer.add_tokens(added(library, ("word", "wlo"), ("Etats", "n")))
    tokenizer.normalizer = library.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    return tokenizer


# ---- other normalizers and pre-tokenizers


@setup
def lowercase_whitespace(library):
    tokenizer = word_piece(library)
    tokenizer.normalizer = library.normalizers.Lowercase()
    tokenizer.pre_tokenizer = library.pre_tokenizers.Whitespace()
    tokenizer.add_tokens(added(library, ("WORD", "nw"), ("<both>", "lro")))
    return tokenizer


@setup
def nfc_whitespace_split(library):
    tokenizer = word_piece(library, max_input_chars_per_word=20)
    tokenizer.normalizer = library.normalizers.NFC()
    tokenizer.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    tokenizer.add_tokens(added(library, ("état", "n"), ("<left>", "ln")))
    return tokenizer


@setup
def nfd_strip_accents(library):
    n, p = library.normalizers, library.pre_tokenizers
    tokenizer = word_piece(library)
    tokenizer.normalizer = n.Sequence([n.NFD(), n.StripAccents(), n.Lowercase()])
    tokenizer.pre_tokenizer = p.Sequence([p.WhitespaceSplit(), p.Punctuation()])
    tokenizer.post_processor = library.processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 3)]
    )
    tokenizer.add_special_tokens(["[SEP]"])
    return tokenizer


@setup
def nfkc_strip_replace_digits(library):
    n, p = library.normalizers, library.pre_tokenizers
    tokenizer = word_piece(library)
    tokenizer.normalizer = n.Sequence(
        [n.NFKC(), n.Strip(), n.Replace("a", "éa"), n.Replace(library.Regex("[0-9]+"), "1")]
    )
    tokenizer.pre_tokenizer = p.Sequence([p.Whitespace(), p.Digits(individual_digits=True)])
    tokenizer.add_tokens(added(library, ("word", "n"), ("a", "nw")))
    return tokenizer


@setup
def nfkd_strip_left(library):
    n, p = library.normalizers, library.pre_tokenizers
    tokenizer = word_piece(library)
    tokenizer.normalizer = n.Sequence([n.NFKD(), n.Lowercase(), n.Strip(left=True, right=False)])
    tokenizer.pre_tokenizer = p.Sequence([p.Digits(individual_digits=False), p.BertPreTokenizer()])
    tokenizer.add_tokens(added(library, ("ﬁn", "n"), ("<both>", "lrn")))
    return tokenizer


@setup
def punctuation_behaviors(library):
    p = library.pre_tokenizers
    tokenizer = word_piece(library)
    tokenizer.pre_tokenizer = p.Sequence(
        [
            p.Punctuation("merged_with_previous"),
            p.Punctuation("contiguous"),
            p.CharDelimiterSplit("a"),
            p.Split(library.Regex("[eo]"), "merged_with_next"),
            p.WhitespaceSplit(),
        ]
    )
    return tokenizer


@setup
def no_normalizer(library):
    tokenizer = word_piece(library, continuing_subword_prefix="")
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.add_tokens(added(library, ("É", "n"), ("état", "nw"), ("  ", "o")))
    return tokenizer


@setup
def nothing_but_a_model(library):
    return word_piece(library, max_input_chars_per_word=60)


# ---- other models


@setup
def word_level(library):
    tokenizer = library.Tokenizer(library.models.WordLevel(vocabulary(), unk_token="[UNK]"))
    tokenizer.normalizer = library.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = library.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


@setup
def missing_unknown(library):
    """The unknown token is not in the vocabulary: an error where it is needed, and only there."""
    tokenizer = library.Tokenizer(library.models.WordPiece({"a": 0, "b": 1, "##b": 2, ".": 3}, unk_token="<none>"))
    tokenizer.normalizer = library.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    return tokenizer


@setup
def byte_pairs(library):
    letters = sorted({piece for piece in vocabulary() if len(piece) == 1})
    merges = [("t", "h"), ("th", "e"), ("i", "n"), ("a", "n"), ("e", "r"), ("o", "n"), ("n", "e"), ("ne", "w")]
    words = ["<unk>", *letters, *dict.fromkeys(a + b for a, b in merges)]
    model = library.models.BPE({word: i for i, word in enumerate(words)}, merges, unk_token="<unk>")
    tokenizer = library.Tokenizer(model)
    tokenizer.normalizer = library.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    return tokenizer


@setup
def unigram(library):
    letters = sorted({piece for piece in vocabulary() if len(piece) == 1})
    pieces = [("<unk>", 0.0), *((letter, -6.0) for letter in letters), ("the", -2.0), ("new", -2.5), ("in", -2.25)]
    tokenizer = library.Tokenizer(library.models.Unigram(pieces, 0))
    tokenizer.normalizer = library.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    return tokenizer


@cache
def ours(name: str) -> Any:
    """The hftok tokenizer of a setup; shared, so that caches are warm: take care to leave its settings as they were."""
    return SETUPS[name](hftok)


@cache
def theirs(name: str) -> Any:
    """The reference's."""
    import tokenizers

    return SETUPS[name](tokenizers)
