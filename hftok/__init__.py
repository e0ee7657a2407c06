"""Exact, fast drop-in for Hugging Face fast tokenizers, tiktoken and rustbpe.

`import hftok as tokenizers` gives the names of the `tokenizers` package; `hftok.hf` stands in for transformers'
tokenizers.
"""

from hftok import decoders, implementations, models, normalizers, pre_tokenizers, processors, trainers
from hftok._core.engine import set_cache_bytes
from hftok._core.pretokenized import NormalizedString, PreTokenizedString
from hftok.added_tokens import AddedToken
from hftok.aliases import answer_to_other_names as _answer_to_other_names
from hftok.encoding import Encoding, RaggedIds
from hftok.errors import UnsupportedTokenizerError
from hftok.implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from hftok.input_types import (
    EncodeInput,
    InputSequence,
    OffsetReferential,
    Offsets,
    OffsetType,
    PreTokenizedEncodeInput,
    PreTokenizedInputSequence,
    SplitDelimiterBehavior,
    TextEncodeInput,
    TextInputSequence,
)
from hftok.load_cache import load_cache_folder, set_load_cache
from hftok.models import Token
from hftok.notebook import compare, visualize
from hftok.patterns import Regex
from hftok.sources import JsonlFileSource, TextFileSource
from hftok.tokenizer import Tokenizer
from hftok.word_counts import WordCounts

__version__ = "0.1.0"

_answer_to_other_names(__name__)

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "JsonlFileSource",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "RaggedIds",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextFileSource",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "UnsupportedTokenizerError",
    "WordCounts",
    "__version__",
    "compare",
    "decoders",
    "implementations",
    "load_cache_folder",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "set_cache_bytes",
    "set_load_cache",
    "trainers",
    "visualize",
]
