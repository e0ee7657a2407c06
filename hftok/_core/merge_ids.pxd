# Merges as ids, for the JSON reader: source texts in, ids out.
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef struct VocabEntry:
    uint32_t start             # where the token's text lies in the source
    uint32_t size
    uint32_t id

cdef struct RawMerge:
    uint32_t left
    uint32_t left_size
    uint32_t right
    uint32_t right_size

cdef bint resolve_texts(
    const uint8_t *data,
    const VocabEntry *entries,
    int64_t entry_count,
    const RawMerge *raw,
    int64_t n,
    uint32_t[:, ::1] rows,
) except -1
cdef object last_of_each_pair(result, uint32_t[:, ::1] rows)
