# THROW-AWAY STAND-IN
from libc.stdint cimport uint32_t
from hftok._core.normalized cimport *
from hftok._core.unicode cimport *
cdef int keep_clean(uint32_t c) noexcept nogil:
    if c == 9 or c == 10 or c == 13: return 1
    return not (c == 0 or c == 0xfffd or uc_props(c) & UC_OTHER)
cdef uint32_t map_ws(uint32_t c) noexcept nogil:
    return 32 if (c == 9 or c == 10 or c == 13 or uc_props(c) & UC_WHITESPACE) else c
cdef int keep_mn(uint32_t c) noexcept nogil:
    return not (uc_props(c) & UC_MARK_NONSPACING)
from hftok._core.text cimport utf8_decode
cdef class NormalizerProgram:
    def __init__(self, spec):
        stages = spec[1] if spec[0] == "Sequence" else (spec,)
        self.n = 0
        for st in stages:
            if st[0] == "BertNormalizer":
                self.kinds[self.n] = 1
                self.flags[0] = st[1]; self.flags[1] = st[2]; self.flags[2] = st[4] if st[3] is None else st[3]; self.flags[3] = st[4]
            elif st[0] == "Lowercase": self.kinds[self.n] = 2
            else: raise NotImplementedError(st)
            self.n += 1
    def normalize_str(self, str s):
        cdef PreTokenized p
        pt_init(&p)
        b = s.encode()
        pt_reset(&p, b, len(b))
        self.run(&p, &p.splits[0])
        r = (<char*>p.text)[p.splits[0].start:p.splits[0].end].decode()
        pt_free(&p)
        return r
    cdef int run(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef int i, l
        cdef long j
        cdef uint32_t c
        for i in range(self.n):
            if self.kinds[i] == 1:
                if self.flags[0]:
                    ns_filter(p, s, keep_clean)
                    ns_map(p, s, map_ws)
                if self.flags[1]:
                    p.n_changes = 0
                    j = s.start
                    while j < s.end:
                        c = utf8_decode(p.text + j, &l)
                        if uc_props(c) & UC_CHINESE:
                            pt_push_change(p, 32, 0); pt_push_change(p, c, 1); pt_push_change(p, 32, 1)
                        else: pt_push_change(p, c, 0)
                        j += l
                    ns_transform(p, s, 0)
                if self.flags[2]:
                    ns_nfd(p, s)
                    ns_filter(p, s, keep_mn)
                if self.flags[3]:
                    ns_lowercase(p, s)
            else: ns_lowercase(p, s)
        return p.error
