# Ids to text without a Python object per id: every vocabulary entry is decoded once, to bytes, when it is first met.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.decoders cimport DecoderProgram

cdef enum EntryState:
    ENTRY_UNKNOWN = 0       # not met yet
    ENTRY_PIECE = 1         # bytes in the blob
    ENTRY_BYTE = 2          # a byte token under ByteFallback: `size` is its value
    ENTRY_MISSING = 3       # no such id: skipped
    ENTRY_FAILS = 4         # the steps raise for this token; matters only where it is decoded

cdef struct Entry:
    int64_t offset          # into the blob
    uint32_t size
    uint8_t state           # ENTRY_*
    uint8_t special
    uint8_t high            # whether a byte >= 0x80 is in it

cdef enum Place:
    PLACE_INNER = 0         # neither first nor last, or where it makes no difference
    PLACE_FIRST = 1
    PLACE_LAST = 2
    PLACE_ONLY = 3          # first and last

cdef struct Output:
    uint8_t *data
    int64_t size
    int64_t capacity        # 16 bytes of slack behind it
    bint high               # a byte >= 0x80 was written

cdef enum JoinKind:
    JOIN_TEXT = 0           # pieces are UTF-8 and stand one after the other
    JOIN_BYTES = 1          # pieces are bytes (ByteLevel): read as UTF-8 with U+FFFD for what is not
    JOIN_FALLBACK = 2       # pieces are UTF-8; runs of byte tokens are text or U+FFFD each
    JOIN_LIST = 3           # the program does not fit: tokens are made and the steps run over them


cdef class IdDecoder:
    cdef readonly DecoderProgram program
    cdef object id_to_token             # callable: int -> str or None
    cdef frozenset special_tokens
    cdef JoinKind join
    cdef bint first_differs, last_differs
    # Whether a longer sequence decodes to the text of a shorter one and more, but for an unfinished end (decode_stream.pyx).
    cdef bint is_incremental
    cdef list token_steps               # one-token steps, run once per entry
    cdef list text_steps                # run over the joined text
    cdef Entry *tables[4]               # by Place; NULL where the place makes no difference
    cdef int64_t n_entries
    cdef dict far_entries               # (id, place) -> Entry as bytes, for ids beyond the tables
    cdef uint8_t *blob                  # pieces; 16 bytes of slack behind the last
    cdef int64_t used, capacity

    cdef int entry(self, uint32_t number, Place place, Entry *e) except -1
    cdef int fill(self, uint32_t number, Place place, Entry *e) except -1
    cdef object piece(self, str text, Place place)
    cdef int fail(self, uint32_t number, Place place) except -1     # raise what the steps raise
    cdef int join_ids(self, Output *out, const uint32_t *ids, Py_ssize_t n, bint skip) except -1
    cdef str finish(self, str text)
    cdef str decode_list(self, const uint32_t *ids, Py_ssize_t n, bint skip)
    cdef str decode_u32(self, const uint32_t *ids, Py_ssize_t n, bint skip_special_tokens)
