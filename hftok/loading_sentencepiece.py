"""SentencePiece model files as tokenizers, each in the way of the transformers class that it belongs to.

Rule (transformers 5.23: convert_slow_tokenizer.py `SentencePieceExtractor`, `convert_from_spm`; tokenization_utils_
tokenizers.py `_convert_from_sentencepiece`; models/*/tokenization_*.py): pieces become the vocabulary, for BPE with all
cuts of each piece into two pieces as merges, in the order of ids; control and user-defined pieces become added tokens.
What lies around the model is written in the classes, not in the file: only the character map is taken from there. A
class that is not known, or none, gets the general form (`build_tokenizer_from_spm_proto`).

A family below is a generator: it builds its tokenizer, yields it so that the special tokens are added
(`loading_special_tokens`), and does after that what its class does then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hftok import decoders, normalizers, pre_tokenizers
from hftok.added_tokens import AddedToken
from hftok.errors import UnsupportedTokenizerError
from hftok.loading_languages import MBART, MBART50, NLLB
from hftok.loading_special_tokens import Options, Token
from hftok.models import BPE, Unigram
from hftok.normalizers import Normalizer
from hftok.patterns import Regex
from hftok.pre_tokenizers import PreTokenizer
from hftok.processors import TemplateProcessing
from hftok.sentencepiece_file import CONTROL, UNIGRAM, USER_DEFINED, SentencePieceFile
from hftok.tokenizer import Tokenizer

__all__ = ["FAMILIES", "SLOW_CLASSES", "convert", "generate_merges"]

Vocab: TypeAlias = list[tuple[str, float]]

SPACES = Regex(" {2,}")


def generate_merges(vocab: dict[str, int]) -> list[tuple[str, str]]:
    """Every cut of a token into two tokens, by the id of the whole and then by the length of the left part.

    >>> generate_merges({"a": 0, "b": 1, "ab": 2, "ba": 3, "aba": 4})
    [('a', 'b'), ('b', 'a'), ('a', 'ba'), ('ab', 'a')]
    """
    merges = []
    for token, _ in sorted(vocab.items(), key=lambda item: item[1]):
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in vocab and right in vocab:
                merges.append((left, right))
    return merges


class Source(Options):
    """A model file and the options of the class that it is converted for."""

    def __init__(self, file: SentencePieceFile, values: dict[str, Any]) -> None:
        super().__init__(values)
        self.file = file
        self.values["additional_special_tokens"] = [
            AddedToken(piece, normalized=False, special=kind == CONTROL)
            for piece, _, kind in file.pieces
            if kind in (CONTROL, USER_DEFINED)
        ]

    @property
    def scored(self) -> Vocab:
        return [(piece, score) for piece, score, _ in self.file.pieces]

    @property
    def ids(self) -> dict[str, int]:
        return {piece: i for i, (piece, _, _) in enumerate(self.file.pieces)}

    def named(self, key: str, default: str) -> str:
        """The text of a special token, as an option or by default, that is still to be taken."""
        value: Token = self.values.get(key, default)
        return value.content if isinstance(value, AddedToken) else str(value)

    def unigram(self, vocab: Vocab, unk_id: int) -> Tokenizer:
        return Tokenizer(Unigram(vocab, unk_id, False))

    def bpe(self, byte_fallback: bool, unk_token: str | None = None, vocab: dict[str, int] | None = None) -> Tokenizer:
        """A BPE model; the merges are always those of the file's own vocabulary."""
        return Tokenizer(
            BPE(
                self.ids if vocab is None else vocab,
                generate_merges(self.ids),
                unk_token=unk_token,
                fuse_unk=True,
                byte_fallback=byte_fallback,
            )
        )

    def charsmap(self) -> list[Normalizer]:
        map_ = self.file.precompiled_charsmap
        return [normalizers.Precompiled(map_)] if map_ else []

    def tokens(self, *keys: str, **defaults: str) -> None:
        """Take the special tokens of a class whose names and defaults are these."""
        for key in (*keys, *defaults):
            self.token(f"{key}_token", defaults.get(key))


Family: TypeAlias = Callable[[Source], Iterator[Tokenizer]]


def _metaspace(
    tokenizer: Tokenizer, scheme: str = "always", *before: PreTokenizer, split: bool = True, decoder: bool = True
) -> None:
    """Metaspace as pre-tokenizer, after others, and as decoder."""
    step = pre_tokenizers.Metaspace("▁", scheme, split)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, step]) if before else step
    if decoder:
        tokenizer.decoder = decoders.Metaspace("▁", scheme, split)


def _byte_fallback_decoder(strip: bool) -> decoders.Decoder:
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if strip else steps)


def _template(tokenizer: Tokenizer, single: str, pair: str, *tokens: str) -> None:
    tokenizer.post_processor = TemplateProcessing(single, pair, [(token, _id(tokenizer, token)) for token in tokens])


def _id(tokenizer: Tokenizer, token: str) -> int:
    number = tokenizer.token_to_id(token)
    if number is None:
        raise ValueError(f"the special token {token!r} of this class is not in the vocabulary of the model file")
    return number


def _around(cls: str, sep: str, second: int = 1) -> tuple[str, str]:
    return f"{cls}:0 $A:0 {sep}:0", f"{cls}:0 $A:0 {sep}:0 $B:{second} {sep}:{second}"


def _scheme(add_prefix_space: bool) -> str:
    return "always" if add_prefix_space else "never"


# ---------------------------------------------------------------------------------------------------------------------
# Families


def _general(source: Source) -> Iterator[Tokenizer]:
    file = source.file
    if file.model_type == UNIGRAM:
        tokenizer = Tokenizer(Unigram(source.scored, file.unk_id, file.byte_fallback))
    else:
        tokenizer = source.bpe(file.byte_fallback, file.unk_piece, _renamed(source))
    tokenizer.normalizer = normalizers.Sequence([*source.charsmap(), normalizers.Replace(" ", "▁")])
    steps: list[decoders.Decoder] = [decoders.Replace("▁", " ")]
    if file.byte_fallback:
        steps += [decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(steps)
    for name, number, piece in (
        ("bos_token", file.bos_id, file.bos_piece or "<s>"),
        ("eos_token", file.eos_id, file.eos_piece or "</s>"),
        ("unk_token", file.unk_id, file.unk_piece or "<unk>"),
    ):
        if number >= 0:
            source.token(name, piece)
    # transformers copies this one through JSON, which the reference reads with an error in the last bit of some scores.
    yield Tokenizer.from_str(tokenizer.to_str())


def _renamed(source: Source) -> dict[str, int]:
    """The vocabulary with the tokens of `added_tokens_decoder` in the places of their numbers."""
    vocab = source.ids
    token_of = {number: token for token, number in vocab.items()}
    for number, added in source.values.get("added_tokens_decoder", {}).items():
        current = token_of.get(number)
        if current and current != added.content and added.content not in vocab:
            vocab[added.content] = vocab.pop(current)
            token_of[number] = added.content
    return vocab


def _llama(source: Source) -> Iterator[Tokenizer]:
    tokenizer = source.bpe(True)
    add_prefix_space = source.take("add_prefix_space") is not False
    legacy = source.flag("legacy", False)
    scheme = ("always" if legacy else "first") if add_prefix_space else "never"
    _metaspace(tokenizer, scheme, split=False, decoder=False)
    tokenizer.decoder = _byte_fallback_decoder(add_prefix_space)
    source.tokens(unk="<unk>", bos="<s>", eos="</s>")
    yield tokenizer


def _code_llama(source: Source) -> Iterator[Tokenizer]:
    source.tokens(unk="<unk>", bos="<s>", eos="</s>")
    infill = {"prefix": "▁<PRE>", "middle": "▁<MID>", "suffix": "▁<SUF>", "eot": "▁<EOT>", "fill": "<FILL_ME>"}
    tokenizer = source.bpe(True, source.named("unk_token", "<unk>"))
    _metaspace(
        tokenizer, "first" if source.take("add_prefix_space") is not False else "never", split=False, decoder=False
    )
    tokenizer.decoder = _byte_fallback_decoder(True)
    source.set_extras([*source.extras(), *infill.values()])
    source.tokens(**infill)
    source.values.setdefault("add_bos_token", True)
    yield tokenizer


def _gemma(source: Source) -> Iterator[Tokenizer]:
    tokenizer = source.bpe(True, source.named("unk_token", "<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous", False)
    tokenizer.decoder = _byte_fallback_decoder(False)
    source.tokens(unk="<unk>", bos="<bos>", eos="<eos>", pad="<pad>", mask="<mask>")
    yield tokenizer


def _extra_ids(source: Source, count: int) -> list[Token]:
    extras = source.extras()
    listed = sum("<extra_id_" in str(token) for token in extras)
    if listed and count > 0 and listed != count:
        raise ValueError(
            f"extra_ids is {count}, but the model file has {listed} pieces <extra_id_...>; give extra_ids={listed}"
        )
    return extras if listed else [*extras, *(f"<extra_id_{i}>" for i in range(count))]


def _t5_like(source: Source, unk_id: int, with_extra_ids: bool) -> Tokenizer:
    count = source.take("extra_ids", 100)
    vocab = source.scored
    if with_extra_ids:
        vocab += [(f"<extra_id_{i}>", 0.0) for i in range(count - 1, -1, -1)]
    tokenizer = source.unigram(vocab, unk_id)
    if source.file.precompiled_charsmap:
        tokenizer.normalizer = source.charsmap()[0]
    _metaspace(tokenizer, "always", pre_tokenizers.WhitespaceSplit())
    source.set_extras(_extra_ids(source, count))
    source.tokens(eos="</s>", unk="<unk>", pad="<pad>")
    return tokenizer


def _t5(source: Source) -> Iterator[Tokenizer]:
    tokenizer = _t5_like(source, 2, True)
    yield tokenizer
    _template(tokenizer, "$A </s>", "$A </s> $B </s>", "</s>")


def _video_prism(source: Source) -> Iterator[Tokenizer]:
    yield _t5_like(source, 2, True)


def _lasr(source: Source) -> Iterator[Tokenizer]:
    tokenizer = _t5_like(source, 3, False)
    yield tokenizer
    _template(tokenizer, "$A </s>", "$A </s> $B </s>", "</s>")


def _udop(source: Source) -> Iterator[Tokenizer]:
    unk = source.named("unk_token", "<unk>")
    tokenizer = source.unigram(source.scored, next((i for i, (t, _) in enumerate(source.scored) if t == unk), 2))
    _metaspace(tokenizer, "always", pre_tokenizers.WhitespaceSplit())
    source.set_extras(source.extras())
    source.tokens(eos="</s>", sep="</s>", unk="<unk>", pad="<pad>")
    yield tokenizer
    _template(tokenizer, "$A </s>", "$A </s> $B </s>", "</s>")


def _fairseq_vocab(source: Source, first: tuple[str, str, str, str]) -> Vocab:
    """The first four tokens of fairseq models before all pieces but SentencePiece's own first three."""
    return [*((token, 0.0) for token in first), *source.scored[3:]]


def _fairseq_first(source: Source) -> tuple[str, str, str, str]:
    names = (("bos", "<s>"), ("pad", "<pad>"), ("eos", "</s>"), ("unk", "<unk>"))
    first = tuple(source.named(f"{name}_token", default) for name, default in names)
    return first[0], first[1], first[2], first[3]


def _fairseq_tokens(source: Source, **mask: bool) -> None:
    source.tokens(bos="<s>", eos="</s>", sep="</s>", cls="<s>", unk="<unk>", pad="<pad>")
    source.token("mask_token", "<mask>", **mask)


def _xlm_roberta(source: Source) -> Iterator[Tokenizer]:
    bos, eos = source.named("bos_token", "<s>"), source.named("eos_token", "</s>")
    mask = source.named("mask_token", "<mask>")
    tokenizer = source.unigram([*_fairseq_vocab(source, _fairseq_first(source)), (mask, 0.0)], 3)
    if source.file.precompiled_charsmap:
        tokenizer.normalizer = source.charsmap()[0]
    _metaspace(tokenizer, _scheme(source.flag("add_prefix_space", True)), pre_tokenizers.WhitespaceSplit())
    _fairseq_tokens(source)
    yield tokenizer
    _template(tokenizer, f"{bos} $A {eos}", f"{bos} $A {eos} {eos} $B {eos}", bos, eos)


def _layout_xlm(source: Source) -> Iterator[Tokenizer]:
    mask = source.named("mask_token", "<mask>")
    tokenizer = source.unigram([*_fairseq_vocab(source, _fairseq_first(source)), (mask, 0.0)], 3)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(False, True), normalizers.Replace(SPACES, "▁")])
    _metaspace(tokenizer, _scheme(source.flag("add_prefix_space", True)))
    cls, sep = source.named("cls_token", "<s>"), source.named("sep_token", "</s>")
    _fairseq_tokens(source, lstrip=True, rstrip=False)
    yield tokenizer
    single = f"{cls}:0 $A:0 {sep}:0"
    _template(tokenizer, single, f"{single} {sep}:0 $B:0 {sep}:0", cls, sep)


def _barthez(source: Source) -> Iterator[Tokenizer]:
    if source.file.model_type != UNIGRAM:
        raise UnsupportedTokenizerError("BarthezTokenizer is made of a Unigram model", "SentencePiece model")
    tokenizer = source.unigram(source.scored, 3)
    tokenizer.normalizer = normalizers.Sequence(_unspaced())
    _metaspace(tokenizer, _scheme(source.flag("add_prefix_space", True)))
    _fairseq_tokens(source, lstrip=True, rstrip=False)
    yield tokenizer


def _unspaced() -> list[Normalizer]:
    return [
        normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
        normalizers.NFC(),
        normalizers.Strip(False, True),
    ]


def _camembert(source: Source) -> Iterator[Tokenizer]:
    if source.file.model_type != UNIGRAM:
        raise UnsupportedTokenizerError("CamembertTokenizer is made of a Unigram model", "SentencePiece model")
    pad, unk = source.named("pad_token", "<pad>"), source.named("unk_token", "<unk>")
    bos, eos = source.named("bos_token", "<s>"), source.named("eos_token", "</s>")
    vocab = [("<s>NOTUSED", 0.0), (pad, 0.0), ("</s>NOTUSED", 0.0), (unk, 0.0), ("<unk>NOTUSED", -100.0)]
    vocab += [*source.scored[1:], (source.named("mask_token", "<mask>"), 0.0)]
    tokenizer = source.unigram(vocab, next((i for i, (token, _) in enumerate(vocab) if token == unk), 0))
    if source.file.precompiled_charsmap:
        tokenizer.normalizer = source.charsmap()[0]
    _metaspace(tokenizer, _scheme(source.flag("add_prefix_space", True)), pre_tokenizers.WhitespaceSplit())
    source.set_extras(source.extras())
    _fairseq_tokens(source, lstrip=True, special=True)
    yield tokenizer
    _template(tokenizer, f"{bos} $A {eos}", f"{bos} $A {eos} {eos} $B {eos}", bos, eos)


def _quotes() -> list[Normalizer]:
    return [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]


def _folded(lower: bool, accents: bool) -> list[Normalizer]:
    """accents: keep them. lower: do not keep capitals."""
    steps: list[Normalizer] = [] if accents else [normalizers.NFKD(), normalizers.StripAccents()]
    return [*steps, normalizers.Lowercase()] if lower else steps


def _albert(source: Source) -> Iterator[Tokenizer]:
    tokenizer = source.unigram(source.scored, 1)
    folded = _folded(source.flag("do_lower_case", True), source.flag("keep_accents", False))
    tokenizer.normalizer = normalizers.Sequence([*_quotes(), *folded, *source.charsmap()])
    _metaspace(tokenizer, _scheme(source.flag("add_prefix_space", True)), pre_tokenizers.WhitespaceSplit())
    cls, sep = source.named("cls_token", "[CLS]"), source.named("sep_token", "[SEP]")
    ids = _id(tokenizer, cls), _id(tokenizer, sep)
    tokenizer.post_processor = TemplateProcessing(*_around("[CLS]", "[SEP]"), [("[CLS]", ids[0]), ("[SEP]", ids[1])])
    source.tokens(bos="[CLS]", eos="[SEP]", sep="[SEP]", cls="[CLS]", unk="<unk>", pad="<pad>", mask="[MASK]")
    yield tokenizer


def _rembert(source: Source) -> Iterator[Tokenizer]:
    tokenizer = source.unigram(source.scored, 2)
    folded = _folded(source.flag("do_lower_case", False), source.flag("keep_accents", True))
    tokenizer.normalizer = normalizers.Sequence(
        [*_quotes(), normalizers.Replace(SPACES, " "), *folded, *source.charsmap()]
    )
    _metaspace(tokenizer, _scheme(source.flag("add_prefix_space", True)))
    cls, sep = source.named("cls_token", "[CLS]"), source.named("sep_token", "[SEP]")
    source.tokens(bos="[CLS]", eos="[SEP]", sep="[SEP]", cls="[CLS]", unk="<unk>", pad="<pad>", mask="[MASK]")
    yield tokenizer
    _template(tokenizer, *_around(cls, sep), cls, sep)
    source.add_again(tokenizer)


def _xlnet(source: Source) -> Iterator[Tokenizer]:
    tokenizer = source.unigram(source.scored, source.take("unk_id", source.file.unk_id))
    folded = _folded(source.flag("do_lower_case", False), False)
    tokenizer.normalizer = normalizers.Sequence([*_quotes(), *folded, *source.charsmap()])
    _metaspace(tokenizer, "always", pre_tokenizers.WhitespaceSplit())
    sep, cls = source.named("sep_token", "<sep>"), source.named("cls_token", "<cls>")
    source.set_extras(source.extras())
    source.tokens(bos="<s>", eos="</s>", unk="<unk>", sep="<sep>", pad="<pad>", cls="<cls>")
    source.token("mask_token", "<mask>", lstrip=True, rstrip=False)
    yield tokenizer
    _template(tokenizer, f"$A:0 {sep}:0 {cls}:2", f"$A:0 {sep}:0 $B:1 {sep}:1 {cls}:2", sep, cls)


def _big_bird(source: Source) -> Iterator[Tokenizer]:
    unk = source.named("unk_token", "<unk>"), 0.0
    tokenizer = source.unigram(source.scored, source.scored.index(unk) if unk in source.scored else 100)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Strip(False, False), normalizers.Replace(SPACES, "▁")])
    _metaspace(tokenizer, _scheme(source.flag("add_prefix_space", True)))
    cls, sep = source.named("cls_token", "[CLS]"), source.named("sep_token", "[SEP]")
    for name, default in (("bos", "<s>"), ("eos", "</s>"), ("unk", "<unk>"), ("pad", "<pad>")):
        source.token(f"{name}_token", default, lstrip=False, rstrip=False)
    source.token("mask_token", "[MASK]", lstrip=True, rstrip=False)
    for name, default in (("cls", "[CLS]"), ("sep", "[SEP]")):
        source.token(f"{name}_token", default, lstrip=False, rstrip=False)
    yield tokenizer
    _template(tokenizer, *_around(cls, sep), cls, sep)


def _deberta_v2(source: Source) -> Iterator[Tokenizer]:
    unk = source.named("unk_token", "[UNK]"), 0.0
    unk_id = source.take("unk_id", source.file.unk_id)
    tokenizer = source.unigram(source.scored, source.scored.index(unk) if unk in source.scored else unk_id)
    lower: list[Normalizer] = [normalizers.Lowercase()] if source.flag("do_lower_case", False) else []
    tokenizer.normalizer = normalizers.Sequence([*lower, *_unspaced()])
    scheme = "always" if source.flag("add_prefix_space", True) else "first"
    steps: list[PreTokenizer] = [pre_tokenizers.Metaspace("▁", scheme)]
    if source.flag("split_by_punct", False):
        steps.insert(0, pre_tokenizers.Punctuation("isolated"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tokenizer.decoder = decoders.Metaspace("▁", scheme)
    cls, sep = source.named("cls_token", "[CLS]"), source.named("sep_token", "[SEP]")
    source.tokens(bos="[CLS]", eos="[SEP]", unk="[UNK]", sep="[SEP]", cls="[CLS]", pad="[PAD]", mask="[MASK]")
    yield tokenizer
    _template(tokenizer, *_around(cls, sep), cls, sep)


def _mbart(source: Source) -> Iterator[Tokenizer]:
    vocab = [*_fairseq_vocab(source, _fairseq_first(source)), *((code, 0.0) for code in MBART)]
    tokenizer = source.unigram([*vocab, (source.named("mask_token", "<mask>"), 0.0)], 3)
    _metaspace(tokenizer, "always", pre_tokenizers.WhitespaceSplit())
    extras = [token for token in source.extras() if token not in MBART]
    source.set_extras([*MBART, *extras])
    eos = source.named("eos_token", "</s>")
    _fairseq_tokens(source, lstrip=True, rstrip=False)
    yield tokenizer
    code = source.take("src_lang") or "en_XX"
    _template(tokenizer, f"$A {eos} {code}", f"$A $B {eos} {code}", eos, code)


def _mbart50(source: Source) -> Iterator[Tokenizer]:
    _, pad, eos, unk = _fairseq_first(source)
    vocab = [*_fairseq_vocab(source, (source.named("cls_token", "<s>"), pad, eos, unk)), *((c, 0.0) for c in MBART50)]
    tokenizer = source.unigram([*vocab, (source.named("mask_token", "<mask>"), 0.0)], 3)
    tokenizer.normalizer = normalizers.Sequence([*source.charsmap(), normalizers.Replace(SPACES, " ")])
    _metaspace(tokenizer)
    source.set_extras([*source.extras(), *MBART50])
    source.tokens(eos="</s>", sep="</s>", cls="<s>", unk="<unk>", pad="<pad>")
    source.token("mask_token", "<mask>", lstrip=True, rstrip=False)
    yield tokenizer
    code = source.take("src_lang") or "en_XX"
    _template(tokenizer, f"{code} $A {eos}", f"{code} $A $B {eos}", code, eos)


def _nllb(source: Source) -> Iterator[Tokenizer]:
    first = _fairseq_first(source)
    vocab = {token: i for i, token in enumerate(first)}
    for piece, _, _ in source.file.pieces:
        vocab.setdefault(piece, len(vocab))
    tokenizer = source.bpe(False, first[3], vocab)
    if source.file.precompiled_charsmap:
        tokenizer.normalizer = normalizers.Sequence([*source.charsmap(), normalizers.Replace(SPACES, " ")])
    _metaspace(tokenizer)
    extra = source.take("extra_special_tokens")
    source.values["extra_special_tokens"] = source.extras() if extra is None else extra
    source.take("additional_special_tokens")
    _fairseq_tokens(source, normalized=True, lstrip=True, special=True)
    yield tokenizer
    code, eos = source.take("src_lang") or NLLB, first[2]
    if source.flag("legacy_behaviour", False):
        _language(tokenizer, ["$A", eos, code], ["$A", "$B", eos, code], eos, code, first[3])
    else:
        _language(tokenizer, [code, "$A", eos], [code, "$A", "$B", eos], eos, code, first[3])


def _language(tokenizer: Tokenizer, single: list[str], pair: list[str], eos: str, code: str, unk: str) -> None:
    """A template with a language code, which has the number of the unknown token where the vocabulary lacks it."""
    number = tokenizer.token_to_id(code)
    numbers = _id(tokenizer, eos), _id(tokenizer, unk) if number is None else number
    tokenizer.post_processor = TemplateProcessing(single, pair, [(eos, numbers[0]), (code, numbers[1])])


def _seamless(source: Source) -> Iterator[Tokenizer]:
    vocab = {"<pad>": 0, "<unk>": 1, "<s>": 2, "</s>": 3} | {piece: i + 1 for piece, i in source.ids.items()}
    unk = source.named("unk_token", "<unk>")
    tokenizer = source.bpe(False, unk, vocab)
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\n\r\t]"), " "),
            normalizers.NFKC(),
            normalizers.Strip(False, True),
            normalizers.Replace(Regex(" +▁"), "▁"),
            normalizers.Replace(Regex("^▁+$"), ""),
            normalizers.Replace(SPACES, "▁"),
        ]
    )
    _metaspace(tokenizer, "first")
    eos = source.named("eos_token", "</s>")
    source.set_extras(source.extras())
    source.tokens(bos="<s>", eos="</s>", sep="</s>", cls="<s>", unk="<unk>", pad="<pad>")
    yield tokenizer
    code = source.take("tgt_lang", "fra")
    code = code if "__" in code else f"__{code}__"
    code = unk if tokenizer.token_to_id(code) is None else code
    _template(tokenizer, f"{eos} {code} $A {eos}", f"{eos} {code} $A $B {eos}", eos, code)


def _pegasus(source: Source) -> Iterator[Tokenizer]:
    # The names of the two masks are exchanged between the conversion and the class.
    offset = source.take("offset", 103)
    eos = source.named("eos_token", "</s>")
    mask, sent = source.named("mask_token", "<mask_1>"), source.named("mask_token_sent", "<mask_2>")
    vocab = [(source.named("pad_token", "<pad>"), 0.0), (eos, 0.0)]
    if mask != "None":
        vocab.append((mask, 0.0))
    if sent not in ("None", mask):
        vocab.append((sent, 0.0))
    vocab += [*((f"<unk_{i}>", -100.0) for i in range(2, offset)), *source.scored[2:]]
    unk = source.named("unk_token", "<unk>"), 0.0
    if unk not in vocab[1:]:
        raise ValueError(f"the model file has no piece {unk[0]!r} of score 0, which PegasusTokenizer needs")
    tokenizer = source.unigram(vocab, vocab.index(unk, 1))
    steps = source.charsmap() or [normalizers.Replace(Regex(r"\n"), " ")]
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(SPACES, " ")])
    _metaspace(tokenizer)
    sent = source.take("mask_token_sent", "<mask_1>")
    extras: list[Token] = [sent] if sent is not None and sent not in source.extras() else []
    source.set_extras([*extras, *(f"<unk_{i}>" for i in range(2, offset))])
    source.tokens(pad="<pad>", eos="</s>", unk="<unk>", mask="<mask_2>")
    yield tokenizer
    _template(tokenizer, f"$A {eos}", f"$A $B {eos}", eos)


def _reformer(source: Source) -> Iterator[Tokenizer]:
    tokenizer = source.bpe(False, source.named("unk_token", "<unk>"))
    if source.file.precompiled_charsmap:
        tokenizer.normalizer = normalizers.Sequence([*source.charsmap(), normalizers.Replace(SPACES, " ")])
    _metaspace(tokenizer)
    source.set_extras(source.extras())
    source.tokens(eos="</s>", unk="<unk>")
    yield tokenizer
    source.add_again(tokenizer)


def _tips(source: Source) -> Iterator[Tokenizer]:
    tokenizer = source.bpe(True)
    lower: list[Normalizer] = [normalizers.Lowercase()] if source.flag("do_lower_case", True) else []
    tokenizer.normalizer = normalizers.Sequence([*lower, *source.charsmap()])
    _metaspace(tokenizer, "always", pre_tokenizers.WhitespaceSplit())
    tokenizer.decoder = decoders.Sequence([decoders.Metaspace("▁", "always"), decoders.ByteFallback(), decoders.Fuse()])
    source.tokens("bos", "eos", unk="<unk>", pad="<pad>")
    yield tokenizer


@dataclass(frozen=True)
class _Known:
    family: Family
    file: str  # the name of the model file in a folder


_SPIECE, _BPE, _TOKENIZER = "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"

FAMILIES = {
    "AlbertTokenizer": _Known(_albert, _SPIECE),
    "BarthezTokenizer": _Known(_barthez, _BPE),
    "BigBirdTokenizer": _Known(_big_bird, _SPIECE),
    "CamembertTokenizer": _Known(_camembert, _BPE),
    "CodeLlamaTokenizer": _Known(_code_llama, _TOKENIZER),
    "DebertaV2Tokenizer": _Known(_deberta_v2, "spm.model"),
    "GemmaTokenizer": _Known(_gemma, _TOKENIZER),
    "LasrTokenizer": _Known(_lasr, _TOKENIZER),
    "LayoutXLMTokenizer": _Known(_layout_xlm, _BPE),
    "LlamaTokenizer": _Known(_llama, _TOKENIZER),
    "MBartTokenizer": _Known(_mbart, _BPE),
    "MBart50Tokenizer": _Known(_mbart50, _BPE),
    "NllbTokenizer": _Known(_nllb, _BPE),
    "PegasusTokenizer": _Known(_pegasus, _SPIECE),
    "ReformerTokenizer": _Known(_reformer, _SPIECE),
    "RemBertTokenizer": _Known(_rembert, "sentencepiece.model"),
    "SeamlessM4TTokenizer": _Known(_seamless, _BPE),
    "T5Tokenizer": _Known(_t5, _SPIECE),
    "Tipsv2Tokenizer": _Known(_tips, _TOKENIZER),
    "UdopTokenizer": _Known(_udop, _SPIECE),
    "VideoPrismTokenizer": _Known(_video_prism, _SPIECE),
    "XLMRobertaTokenizer": _Known(_xlm_roberta, _BPE),
    "XLNetTokenizer": _Known(_xlnet, _SPIECE),
}

# Classes that run SentencePiece itself, whose answers no tokenizer of five components gives, or that are made of other
# files too.
SLOW_CLASSES = frozenset(
    [
        "BartphoTokenizer",
        "BertGenerationTokenizer",
        "CpmTokenizer",
        "GPTSw3Tokenizer",
        "M2M100Tokenizer",
        "MLukeTokenizer",
        "MarianTokenizer",
        "PLBartTokenizer",
        "SiglipTokenizer",
        "Speech2TextTokenizer",
        "SpeechT5Tokenizer",
        "XGLMTokenizer",
    ]
)


def convert(
    source: str | os.PathLike[str] | SentencePieceFile, class_name: str | None, options: dict[str, Any]
) -> Tokenizer:
    """The tokenizer of a model file.

    Args:
        source: the file.
        class_name: the transformers class; None, or one that is not known: the general form.
        options: keyword arguments of the class (see `loading_special_tokens.read_options`).

    Raises:
        UnsupportedTokenizerError: the class is one that no tokenizer can be made for.
        ValueError: the file is no SentencePiece model, or not one of this class. OSError: it cannot be read.
    """
    if class_name is not None:
        class_name = class_name.removesuffix("Fast")
    if class_name in SLOW_CLASSES:
        raise UnsupportedTokenizerError(
            f"{class_name} runs SentencePiece itself, or needs more than the model file, so there is no tokenizer to "
            "be reproduced; name another class with tokenizer_class=",
            class_name,
        )
    file = source if isinstance(source, SentencePieceFile) else SentencePieceFile.read(source)
    known = FAMILIES.get(class_name or "")
    given = Source(file, options)
    steps = (_general if known is None else known.family)(given)
    tokenizer = next(steps)
    given.finish(tokenizer)
    for _ in steps:
        pass
    return tokenizer
