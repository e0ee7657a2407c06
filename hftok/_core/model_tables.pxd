# The big tables of a tokenizer.json, read without a Python object for each entry; see model_tables.pyx.
from libc.stdint cimport int64_t, uint8_t

from hftok._core.merge_ids cimport RawMerge
from hftok._core.models.merges cimport MergeTable
from hftok._core.models.piece_list cimport PieceList
from hftok._core.models.vocab_map cimport VocabMap

# Each stands at pos, on the opening bracket, and moves it behind the closing one; or leaves it and gives None, where the text
# is anything but the plain form: then the general reader reads it, and says what is wrong, if something is.

# {"token": id, ...}: distinct strings, ids of 32 bits.
cdef VocabMap read_vocab(const uint8_t *data, int64_t size, int64_t *pos)

# [["piece", score], ...]
cdef PieceList read_pieces(const uint8_t *data, int64_t size, int64_t *pos)

# Merges that are told by where the source of their parts lies: both parts, not empty, and the whole are in the vocabulary.
cdef MergeTable merges_of_texts(VocabMap vocab, const uint8_t *data, const RawMerge *raw, int64_t n)
