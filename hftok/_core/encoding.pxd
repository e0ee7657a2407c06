# The storage of an Encoding and the ways to make one from C.
#
# An Encoding is a handful of columns. A column points into a Block: one malloc'ed, reference-counted piece of memory
# that is written once and then only read, so copies, windows and the engine's batches share it. Whatever changes an
# Encoding (pad, truncate, ...) builds new columns and swaps them in. A u32 column whose entries are all alike has no
# memory at all: data is NULL and `value` is the entry.
from libc.stdint cimport int64_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdlib.h>
    #ifndef HFTOK_BLOCK
    #define HFTOK_BLOCK
    /* Header of 16 bytes, then the data, aligned for uint64_t. */
    typedef struct { Py_ssize_t references; size_t size; } hftok_block;

    static inline hftok_block *hftok_block_new(size_t size) {       /* no GIL needed; NULL: no memory */
        hftok_block *b;
        if (size > (size_t)PY_SSIZE_T_MAX - sizeof(hftok_block)) return NULL;
        b = (hftok_block *)malloc(sizeof(hftok_block) + size);
        if (b) { b->references = 1; b->size = size; }
        return b;
    }
    static inline void *hftok_block_data(hftok_block *b) { return (void *)(b + 1); }
    #ifdef Py_GIL_DISABLED
    #define HFTOK_BLOCK_ADD(b, d) (_Py_atomic_add_ssize(&(b)->references, (d)) + (d))
    #else
    #define HFTOK_BLOCK_ADD(b, d) ((b)->references += (d))
    #endif
    static inline void hftok_block_keep(hftok_block *b) { if (b) (void)HFTOK_BLOCK_ADD(b, 1); }     /* GIL held */
    static inline void hftok_block_drop(hftok_block *b) { if (b && HFTOK_BLOCK_ADD(b, -1) == 0) free(b); }
    #endif
    """
    ctypedef struct Block "hftok_block":
        pass
    Block *block_new "hftok_block_new"(size_t size) noexcept nogil
    void *block_data "hftok_block_data"(Block *b) noexcept nogil
    void block_keep "hftok_block_keep"(Block *b) noexcept
    void block_drop "hftok_block_drop"(Block *b) noexcept

cdef struct Column:
    const uint32_t *data    # NULL: every entry is `value`
    uint32_t value

cdef struct SequenceRange:
    uint64_t sequence
    uint64_t start
    uint64_t end

cdef enum:
    LAZY_TOKENS = 1
    LAZY_SPANS = 2          # offsets and word ids
    LAZY_ALL = 3


cdef class EncodingSource:
    """Where lazy Encodings get what they do not hold. The engine subclasses it; `encoding.key` says which row is meant."""
    # Fill what `missing` (LAZY_*) names with encoding_set_tokens and encoding_set_spans.
    cdef int fill(self, Encoding encoding, int missing) except -1


cdef class Encoding:
    cdef Py_ssize_t n
    cdef Column id_column, type_id_column, special_column, attention_column
    cdef const uint64_t *offset_pairs       # 2n numbers (start, end); NULL: all (0, 0)
    cdef const int64_t *word_column         # -1: None; NULL: all None
    cdef Block *rows                        # owner of the u32 columns, or NULL
    cdef Block *spans                       # owner of offsets and words, or NULL
    cdef list token_list                    # n exact str, never changed once set; None while LAZY_TOKENS
    cdef list overflow                      # Encodings that nobody else sees, or None
    cdef object source                      # EncodingSource or any object with materialize(encoding)
    cdef int64_t key                        # the source's own
    cdef int lazy                           # LAZY_*
    cdef int n_ranges
    cdef SequenceRange near_ranges[2]       # sorted by sequence; used while n_ranges <= 2
    cdef SequenceRange *far_ranges          # malloc'ed when there are more
    cdef dict __dict__                      # users may hang attributes on it

    cdef const SequenceRange *ranges(self) noexcept
    cdef int materialize(self, int needed) except -1
    cdef int become(self, Encoding other) except -1     # take other's columns; other must not be used after


# An Encoding that copies what it is given. type_ids, special, attention: NULL for a constant column of the value that
# follows; offsets: 2n or NULL (all (0, 0)); words: n, -1 for None, or NULL (all None); tokens: a list of n exact str
# that the caller gives away, or None together with a source (then tokens and spans are lazy if not given).
cdef Encoding encoding_from_arrays(
    Py_ssize_t n, const uint32_t *ids, const uint32_t *type_ids, uint32_t type_id, const uint32_t *special,
    uint32_t special_value, const uint32_t *attention, uint32_t attention_value, const uint64_t *offsets,
    const int64_t *words, list tokens)
# The same without a copy: the columns point into `rows`, of which the Encoding takes one reference of its own; tokens
# and spans come from `source` when asked for. This is the cheapest way: one object, no other allocation.
cdef Encoding encoding_over_block(
    Py_ssize_t n, Block *rows, Column ids, Column type_ids, Column special, Column attention, object source, int64_t key)
cdef int encoding_set_tokens(Encoding e, list tokens) except -1
# Copies n offset pairs and words; either may be NULL (all (0, 0); all None).
cdef int encoding_set_spans(Encoding e, const uint64_t *offsets, const int64_t *words) except -1
cdef int encoding_set_range(Encoding e, uint64_t sequence, uint64_t start, uint64_t end) except -1
cdef int encoding_set_overflowing(Encoding e, list overflowing) except -1

# Object-level operations; none changes its arguments, all materialize them first where they must.
cdef Encoding encoding_copy(Encoding e)
cdef Encoding encoding_join(list parts, bint growing_offsets)       # columns and ranges, overflowing dropped
cdef Encoding encoding_merge(list parts, bint growing_offsets)      # Encoding::merge
cdef Encoding encoding_truncated(Encoding e, uint64_t max_length, uint64_t stride, bint left)
cdef Encoding encoding_padded(Encoding e, uint64_t length, uint32_t pad_id, uint32_t pad_type_id, str pad_token, bint left)
