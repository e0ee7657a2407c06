# Whole pre-tokens looked up in the vocabulary; see wordlevel.pyx.
from libc.stdint cimport int64_t

from hftok._core.models.model cimport Model
from hftok._core.models.vocab_map cimport VocabMap

cdef class WordLevelModel(Model):
    cdef VocabMap map
    cdef readonly str unk_token
    cdef int64_t unk_id          # -1: not in the vocabulary
