# Chunks whose only token is known from the vocabulary alone; see seeds.pyx.
from libc.stdint cimport int32_t

from hftok._core.chunk_cache cimport ChunkCache
from hftok._core.models.bpe cimport BPEModel

# Ranks by id: of the merge that makes the token from its own text; BASE for a symbol that text begins with; UNPROVED.
cdef enum:
    BASE = -1
    UNPROVED = -2

cdef int32_t *ranks_of_making(BPEModel model) except NULL

# Put the tokens of at most 16 bytes that are what their own text is encoded to into an empty cache.
cdef int seed_cache(ChunkCache *cache, BPEModel model, bint marks) except -1
cdef bint all_proved(BPEModel model) except -1
