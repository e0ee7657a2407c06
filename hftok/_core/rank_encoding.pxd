from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.rank_bpe cimport RankEncoder, RankWorker

cdef class RankEncoding:
    """The methods of tiktoken's Encoding over a RankEncoder."""
    cdef RankEncoder encoder
    cdef uint32_t *entry_of          # number -> entry (special tokens after the others), 0xFFFFFFFF: none; NULL: sparse
    cdef int64_t n_numbers
    cdef dict sparse
    cdef dict special_entries        # str -> entry
    cdef frozenset special_names
    cdef bytes all_special           # flags, every one set
    cdef list sorted_tokens
    cdef int build_decoder(self, dict specials) except -1
    cdef int64_t entry(self, object token, uint32_t *number) except -2
    cdef bytes entry_bytes(self, int64_t entry)
    cdef bytes joined(self, object tokens)
    cdef bytes flags(self, object names)
    cdef list run(self, object text, const uint8_t *allowed)
    cdef int fill(self, RankWorker *w, object text, const uint8_t *allowed) except -1
    cdef list unstable(self, RankWorker *w)
