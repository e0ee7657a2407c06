from libc.stdint cimport int64_t, uint32_t

from hftok._core.documents cimport Documents, Unit
from hftok._core.engine cimport Affix, Engine
from hftok._core.places cimport Places
from hftok._core.worker cimport Worker

cdef Documents documents_of(object texts, str what=*)

# Ids of one text, uint32 (n,). exact: by the exact path (for tests).
cdef object ids_of_text(Engine engine, object text, Affix affix, bint exact)

cdef class Encoded:
    cdef Engine engine
    cdef list boxes
    cdef Unit *units
    cdef int64_t n_units
    cdef int64_t n_rows
    cdef int64_t total
    cdef int64_t *ends               # per row: global end of its tokens
    cdef int64_t last_unit
    cdef bint cut                    # huge documents may be cut into several units
    cdef bint gathers                # threads may put their tokens into one array at once, ...
    cdef Places places               # ... this one: if `places.ids` is not NULL
    cdef Documents documents
    cdef void release(self)
    cdef const Worker *worker(self, int thread)
    cdef int encode(self, Engine engine, Documents documents, Affix affix, int64_t limit, bint spans, bint words, object par,
                    bint exact) except -1
    # Copy n ids from global position `at` on; quick for positions asked in ascending order.
    cdef void copy_ids(self, int64_t at, int64_t n, uint32_t *out)

# How many tokens truncation leaves of both sequences of a row. See rows.pyx.
