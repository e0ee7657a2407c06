"""hftok under the name of another package, in a process of its own: submodules are the ones that hftok has."""

import subprocess
import sys

PROGRAM = """
import sys
import hftok
sys.modules["tokenizers"] = hftok
import tokenizers.models
from tokenizers import Tokenizer, normalizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.implementations import ByteLevelBPETokenizer
import tokenizers.implementations.byte_level_bpe as nested
from tokenizers.tools import EncodingVisualizer
import hftok.trainers, hftok.implementations, hftok.tools
assert tokenizers.models is hftok.models and BPE is hftok.models.BPE
assert hftok.models.__spec__.name == hftok.models.__name__ == "hftok.models"
assert BpeTrainer is hftok.trainers.BpeTrainer and EncodingVisualizer is hftok.tools.EncodingVisualizer
assert nested is sys.modules["hftok.implementations.byte_level_bpe"]
assert nested.ByteLevelBPETokenizer is ByteLevelBPETokenizer is hftok.ByteLevelBPETokenizer
tokenizer = Tokenizer(BPE({}, []))
tokenizer.pre_tokenizer = ByteLevel()
tokenizer.train_from_iterator(["aa aa aa"], BpeTrainer(show_progress=False))
assert tokenizer.encode("aa").tokens == ["\u0120aa"]
try:
    import tokenizers.nothing
except ModuleNotFoundError as error:
    assert error.name == "tokenizers.nothing", error.name
else:
    raise AssertionError
importlib = __import__("importlib")
assert importlib.reload(hftok.errors) is hftok.errors
"""


def test_submodules_under_another_name() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
