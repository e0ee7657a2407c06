"""Unicode normal forms of a split's text, with alignment.

Rule: crate unicode-normalization-alignments (decompose.rs, recompose.rs), including how it attributes results to old
characters: the first character of a decomposition replaces, further ones are new, and a composed one takes the sum.

A character is settled for a form where the form leaves it alone, it is a starter and it never joins what stands before
it. Runs of settled characters are copied; the rest is worked off in windows that end before a settled character and, for
the composing forms, begin with the settled one before. The library's iterators hold no state across such an edge. A text
that is settled all through is found without copying.

Left to others: the mappings (unicode), the bookkeeping of changes (normalized).
"""
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

from hftok._core.normalized cimport (
    PT_OK, Change, PreTokenized, Split, ascii_prefix, copy_range, ns_emit_changes, ns_place, ns_spans_all, ns_transform,
    pt_reserve, pt_reserve_changes, pt_reserve_to,
)
from hftok._core.text cimport utf8_decode, utf8_prev
from hftok._core.unicode cimport uc_ccc, uc_compose, uc_decompose, uc_decompose_compat, uc_stable


cdef inline int settled(uint32_t cp, int bit) noexcept nogil:
    return cp < 0x80 or (uc_stable(cp) & bit) != 0


cdef enum:
    LONG_RUN = 24       # marks in a row; real text has one to three


cdef void sort_marks(Change *c, int64_t n) noexcept nogil:
    """Stable sort of a short run of marks by combining class (bits 8.. of `change`)."""
    cdef int64_t i, k
    cdef Change item
    for i in range(1, n):
        item = c[i]
        k = i
        while k > 0 and (c[k - 1].change >> 8) > (item.change >> 8):
            c[k] = c[k - 1]
            k -= 1
        c[k] = item


cdef int sort_long_run(PreTokenized *p, int64_t first, int64_t last) noexcept nogil:
    """The same for p.changes[first:last) in linear time, whatever the run's length: a counting sort."""
    cdef int64_t n = last - first, i, at
    cdef int64_t counts[257]
    cdef Change *run
    cdef Change *copy
    if pt_reserve_changes(p, n):
        return p.error
    run = p.changes + first
    copy = p.changes + p.n_changes
    memcpy(copy, run, <size_t>n * sizeof(Change))
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        counts[(copy[i].change >> 8) + 1] += 1
    for i in range(1, 257):
        counts[i] += counts[i - 1]
    for i in range(n):
        at = counts[copy[i].change >> 8]
        counts[copy[i].change >> 8] = at + 1
        run[at] = copy[i]
    return PT_OK


cdef int decompose_window(PreTokenized *p, int64_t start, int64_t end, int compat) noexcept nogil:
    """Arena bytes [start, end) decomposed and put in canonical order: p.changes, with the class in bits 8.. of `change`."""
    cdef int64_t i, first
    cdef int length, n, k
    cdef uint32_t cp
    cdef uint32_t out[18]
    p.n_changes = 0
    i = start
    while i < end:
        cp = utf8_decode(p.text + i, &length)
        i += length
        n = uc_decompose_compat(cp, out) if compat else uc_decompose(cp, out)
        if pt_reserve_changes(p, n):
            return p.error
        for k in range(n):
            p.changes[p.n_changes].cp = out[k]
            p.changes[p.n_changes].change = (uc_ccc(out[k]) << 8) | (k > 0)
            p.n_changes += 1
    i = 0
    while i < p.n_changes:
        if p.changes[i].change >> 8 == 0:
            i += 1
            continue
        first = i
        while i < p.n_changes and p.changes[i].change >> 8:
            i += 1
        if i - first > LONG_RUN:
            if sort_long_run(p, first, i):
                return p.error
        else:
            sort_marks(p.changes + first, i - first)
    return PT_OK


cdef void compose_window(PreTokenized *p) noexcept nogil:
    """Compose p.changes in place. Joining y to x gives x + y - 1 as the change: two replacements become one that drops a
    character, a replacement and its own second part one plain replacement."""
    cdef Change *c = p.changes
    cdef int64_t i, out = 0, starter = -1
    cdef int last_class = -1, cls
    cdef uint32_t joined
    for i in range(p.n_changes):
        cls = c[i].change >> 8
        if starter < 0:
            if cls == 0:
                starter = out
            c[out].cp = c[i].cp
            c[out].change = c[i].change & 0xFF
            out += 1
            continue
        if last_class < cls:
            joined = uc_compose(c[starter].cp, c[i].cp)
            if joined:
                c[starter].cp = joined
                c[starter].change += (c[i].change & 0xFF) - 1
                continue
        if cls == 0:
            starter = out
            last_class = -1
        else:
            last_class = cls
        c[out].cp = c[i].cp
        c[out].change = c[i].change & 0xFF
        out += 1
    p.n_changes = out


cdef int window_changes(PreTokenized *p, int64_t start, int64_t end, int compat, int compose) noexcept nogil:
    cdef int64_t i
    if decompose_window(p, start, end, compat):
        return p.error
    if compose:
        compose_window(p)
    else:
        for i in range(p.n_changes):
            p.changes[i].change &= 0xFF
    return PT_OK


cdef int normal_form(PreTokenized *p, Split *s, int compat, int compose) noexcept nogil:
    cdef int bit = 1 << (compat + 2 * compose)
    cdef int64_t i = s.start, end = s.end, copied = s.start, at = -1, first, k, need
    cdef int length
    if i == end:
        return PT_OK
    if not ns_spans_all(p, s):
        if window_changes(p, i, end, compat, compose):
            return p.error
        return ns_transform(p, s, 0)
    while True:
        # The next character that is not settled.
        while i < end:
            i += ascii_prefix(p.text + i, end - i)
            while i < end and p.text[i] >= 0x80:
                if not settled(utf8_decode(p.text + i, &length), bit):
                    break
                i += length
            else:
                continue
            break
        if i >= end:
            break
        first = i
        if compose and first > copied:
            first = utf8_prev(p.text + first) - p.text
        while i < end:
            if settled(utf8_decode(p.text + i, &length), bit):
                break
            i += length
        if window_changes(p, first, i, compat, compose):
            return p.error
        if at < 0:
            if pt_reserve(p, end - s.start + 256):
                return p.error
            at = p.used
        need = first - copied + 4 * p.n_changes + (end - i)
        if p.capacity - at < need and pt_reserve_to(p, at + need):
            return p.error
        at = copy_range(p, at, copied, first)
        at = ns_emit_changes(p, s, at, first - s.start, i - s.start)
        if p.error:
            return p.error
        copied = i
    if at < 0:
        return PT_OK
    if pt_reserve_to(p, at + end - copied):
        return p.error
    at = copy_range(p, at, copied, end)
    ns_place(p, s, at - p.used)
    return PT_OK


cdef int ns_nfd(PreTokenized *p, Split *s) noexcept nogil:
    return normal_form(p, s, 0, 0)


cdef int ns_nfkd(PreTokenized *p, Split *s) noexcept nogil:
    return normal_form(p, s, 1, 0)


cdef int ns_nfc(PreTokenized *p, Split *s) noexcept nogil:
    return normal_form(p, s, 0, 1)


cdef int ns_nfkc(PreTokenized *p, Split *s) noexcept nogil:
    return normal_form(p, s, 1, 1)
