"""Types of the compiled module; see exact.pyx."""

from hftok._core.added_tokens import AddedMatcher
from hftok._core.models.model import Model
from hftok._core.normalizers import NormalizerProgram
from hftok._core.pre_tokenizers import PreTokenizerProgram

class Pipeline:
    normalizer: NormalizerProgram | None
    pre_tokenizer: PreTokenizerProgram | None
    model: Model
    raw: AddedMatcher
    normalized: AddedMatcher
    needs_gil: bool
    def __init__(
        self,
        model: Model,
        normalizer: NormalizerProgram | None,
        pre_tokenizer: PreTokenizerProgram | None,
        raw: AddedMatcher,
        normalized: AddedMatcher,
    ) -> None: ...
