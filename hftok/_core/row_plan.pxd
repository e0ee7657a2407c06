from libc.stdint cimport int32_t, int64_t, uint32_t

cdef enum:
    MAX_ITEMS = 16
    ITEM_SPECIAL = 2         # items: 0 = sequence A, 1 = sequence B, 2 = special tokens

cdef struct Item:
    int32_t kind
    uint32_t type_id
    const uint32_t *ids      # special tokens
    int64_t n

cdef class RowPlan:
    cdef Item items[MAX_ITEMS]
    cdef int n_items
    cdef readonly bint is_pair
    cdef readonly bint ranges            # the sequences' ranges are recorded
    cdef readonly bint trims             # offsets are changed afterwards (ByteLevel's trim_offsets)
    cdef readonly int64_t n_special      # special tokens in a row
    cdef readonly list tokens            # per item: strings of the special tokens, or None
    cdef uint32_t *ids
    cdef bint wraps                      # specials, one A, specials: prefix and suffix
    cdef readonly list prefix
    cdef readonly list suffix
