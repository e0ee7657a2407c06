from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.engine cimport Engine
from hftok._core.hf_output cimport Wanted
from hftok._core.row_plan cimport RowPlan

cdef class TrimTable:
    cdef uint8_t *leading
    cdef uint8_t *trailing
    cdef int64_t n


cdef class Plan:
    # What to publish on the backend, and what the plan was made from besides the engine.
    cdef readonly object truncation
    cdef readonly object padding
    cdef readonly bint special_as_text
    cdef readonly bint full_overflow
    cdef readonly object settings
    cdef object names                  # model_input_names: the list, and what was in it
    cdef tuple names_seen
    cdef object pad_token
    # How rows are made.
    cdef readonly Engine engine
    cdef RowPlan single
    cdef RowPlan pair
    cdef object sequences_single       # n_sequences of the result
    cdef object sequences_pair
    cdef bint add_special_tokens
    cdef bint is_split
    cdef bint takes_short              # a short text goes the shortest way: `_row_of_short`
    cdef bint takes_one                # what an input may be: one text (or pair), a list of them
    cdef bint takes_batches
    cdef int64_t max_length            # -1: no truncation
    cdef int64_t room_single           # tokens besides the special ones
    cdef int64_t room_pair
    cdef int64_t stride
    cdef int strategy
    cdef bint left_truncation
    cdef bint pads
    cdef int64_t pad_length            # -1: the longest row
    cdef int64_t pad_multiple
    cdef bint left_padding
    cdef uint32_t pad_id
    cdef uint32_t pad_type_id
    cdef Wanted want                   # what is given back
    cdef TrimTable trim                # None: offsets stay as they are
    cdef bint first_space_is_a_prefix
    cdef int64_t warn_above            # rows longer than this are warned about; -1: never
    cdef object run(self, object tokenizer, object backend, bint is_shown, object text, object pair)
