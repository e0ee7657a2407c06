# Rows of tokens as numbers, and what is to be made of them. See hf_output.pyx.
from libc.stdint cimport int64_t, uint32_t

from hftok._core.row_plan cimport Item

cdef enum Tensors:
    LISTS = 0
    NUMPY = 1
    TORCH = 2


cdef struct Wanted:
    int types
    int attention
    int special
    int offsets
    int length
    int overflow             # overflow_to_sample_mapping
    int only_ids             # the ids and nothing else, not in a dict
    Tensors tensors


cdef struct Sequence:
    # Tokens of one sequence: of a text, or of the words of one.
    const uint32_t *ids
    const uint32_t *spans    # pairs of characters, where offsets are wanted
    int64_t n


cdef struct Row:
    # One row of the result: a stretch of sequence A, and of B.
    int64_t sample           # which input it is of
    int64_t first_a
    int64_t n_a
    int64_t first_b
    int64_t n_b
    int64_t length           # with special tokens, without padding
    const uint32_t *spans_a  # of the stretches, where offsets are wanted
    const uint32_t *spans_b


cdef struct Rows:
    Wanted want
    Sequence *sequences      # `per` for each sample
    int per
    int64_t samples
    int bare                 # lists: one row, not in a list of rows
    Row *rows
    int64_t n
    int64_t capacity
    int64_t longest          # row, with padding
    # What a row consists of, and what it is padded with.
    const Item *items
    int n_items
    int64_t n_special
    int64_t times_a          # items that are sequence A, and B
    int64_t times_b
    int pads
    int64_t width            # of rows that are padded, unless they are longer
    int left_padding
    uint32_t pad_id
    uint32_t pad_type_id
    # Matrices while they are written; NULL: not wanted.
    int64_t *ids
    int64_t *types
    int no_types             # they are zero, all of them
    int64_t *attention
    int64_t *special
    int64_t *offsets


cdef inline int64_t width_of(const Rows *r, int64_t i) noexcept nogil:
    """Tokens of a row with padding."""
    if r.pads and r.width > r.rows[i].length:
        return r.width
    return r.rows[i].length


# A dict of columns (or the ids alone), or None: matrices cannot be made of rows of different lengths.
cdef object output(Rows *r)
