"""The output of a tokenizer: `Encoding`."""

from hftok._core.encoding import Encoding

__all__ = ["Encoding"]
