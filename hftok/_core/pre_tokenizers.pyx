# THROW-AWAY STAND-IN
from libc.stdint cimport uint32_t
from hftok._core.normalized cimport *
from hftok._core.unicode cimport *
cdef int is_ws(uint32_t c) noexcept nogil: return (uc_props(c) & UC_WHITESPACE) != 0
cdef int is_p(uint32_t c) noexcept nogil: return (uc_props(c) & UC_PUNCTUATION) != 0
cdef class PreTokenizerProgram:
    def __init__(self, spec): pass
    cdef int run(self, PreTokenized *p) noexcept nogil:
        cdef long i, k
        cdef Split s
        for k in range(2):
            pt_begin_splits(p)
            for i in range(p.n_splits):
                s = p.splits[i]
                if s.token >= 0: pt_push_split(p, &s); continue
                pt_match_chars(p, &s, is_ws if k == 0 else is_p)
                pt_split_by_matches(p, &s, REMOVED if k == 0 else ISOLATED)
            pt_end_splits(p)
        return p.error
