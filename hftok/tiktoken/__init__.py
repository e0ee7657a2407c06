"""tiktoken's API over this package's engine: `import hftok.tiktoken as tiktoken`.

Same token ids, same errors, same files and cache folder as tiktoken 0.14. Text that a user controls never becomes a
special token unless the caller allows it: see `Encoding.encode`.

>>> import hftok.tiktoken as tiktoken
>>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
>>> enc = tiktoken.Encoding("small", pat_str=r"\\w+|\\W", mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 257})
>>> enc.encode("ab<|endoftext|>", allowed_special="all")
[256, 257]
"""

from hftok.tiktoken.core import Encoding
from hftok.tiktoken.model import encoding_for_model, encoding_name_for_model
from hftok.tiktoken.registry import get_encoding, list_encoding_names

__all__ = ["Encoding", "encoding_for_model", "encoding_name_for_model", "get_encoding", "list_encoding_names"]

__version__ = "0.14.0"  # of the API that is mirrored
