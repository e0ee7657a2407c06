# Where chunks are cut: at characters side by side that no merge ever joins (models/safe_cuts.pyx). Compiled once per CPU tier.
#
# Where the tier can, a slice of text is looked through at once, by bit sets that have a bit for each byte: where chunks begin, where
# characters may be cut, which chunks are too short for it. No branch depends on the text. Behind regular expressions that serves
# wide characters, those of three bytes from U+3000 on (Chinese, Japanese, Korean; `cut_slice`); in text that nothing splits, all of them
# (`unsplit_starts`). Elsewhere, and where word numbers are wanted, it goes chunk by chunk, from character to character
# (`cut_chunk`).
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from hftok._core.models.safe_cuts cimport CutTable, cut_hash, cut_key, is_marked, may_join, stays_whole
from hftok._core.text cimport utf8_decode, utf8_prev
from hftok._core.worker cimport SCAN_OK, RawRules, Worker, worker_join_room

cdef extern from "cuts.h" nogil:
    int ht_ascii_run(const uint8_t *p, int64_t n)
    int ht_cut_ascii(const uint8_t *p, int c, const uint32_t *joins, uint32_t base, uint32_t *out)
    int ht_wide_run(const uint8_t *p, int64_t n)
    bint HT_CUTS_MIXED
    int ht_cut_mixed(const uint8_t *p, int64_t n, uint32_t left, uint32_t key, uint32_t last, const uint8_t *gate, const uint64_t *bits,
                     uint32_t mask, uint32_t base, uint32_t *out, int *size)
    int ht_cut_wide(const uint8_t *p, int c, uint32_t left, uint32_t last, const uint8_t *gate, const uint64_t *bits, uint32_t mask,
                    uint32_t base, uint32_t *out)
    bint HT_WIDE_CUTS
    bint ht_wide_cuts(const uint8_t *p, int64_t n, const uint8_t *gate, const uint8_t *wide_gate, const uint64_t *bits, uint32_t mask,
                      const uint8_t *marks, uint32_t blank, uint64_t *wide, uint64_t *cuts, uint64_t *marked)
    void ht_ascii_cuts(const uint8_t *p, int64_t n, const uint32_t *joins, const uint64_t *wide, uint64_t *cuts, uint64_t *others)
    uint64_t ht_other_cuts(const uint8_t *p, uint64_t at, const uint64_t *bits, uint32_t mask, uint32_t blank)

cdef extern from "find.h" nogil:
    bint ht_any_undivided(const uint8_t *p, int n)

cdef enum:
    STRIDE = 8               # chunks that are looked through at once for characters of three bytes
    CUT_FROM = 7             # bytes of a chunk from which on it is cut where it can be
    MARK = 0x2581            # what a space stands for in SentencePiece text, ...
    MARK_FIRST = 0xE2        # ... and its first and last byte
    MARK_LAST = 0x81
    SET_WORDS = 256          # longest slice that has bit sets, 64 bytes


cdef inline int64_t space_starts(const RawRules *r, const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil:
    """Text that nothing splits: a chunk begins at the beginning and at every space behind something else, unless a merge may
    join the two."""
    cdef int64_t k = 0, n = 1, at
    cdef uint64_t spaces, begin, before = 1
    cdef int m, length
    cdef const uint8_t *p
    starts[0] = base
    while k < size:
        m = <int>(size - k) if size - k < 64 else 64
        spaces = ht_equal(text + k, m, c' ')
        begin = spaces & ~((spaces << 1) | before)
        before = spaces >> 63
        while begin:
            at = k + ht_ctz64(begin)
            begin &= begin - 1
            if text[at - 1] < 128:
                if r.joins_mark[text[at - 1]]:
                    continue
            else:
                p = utf8_prev(text + at)
                if may_join(<const CutTable *>r.cuts, utf8_decode(p, &length), text[at - 1], MARK, MARK_FIRST):
                    continue
            starts[n] = base + <uint32_t>at
            n += 1
        k += 64
    return n


cdef inline int64_t cut_chunk(const RawRules *r, const uint8_t *text, int64_t at, int64_t end, uint32_t *out) noexcept nogil:
    """The places behind `at` where no merge joins the characters on its two sides; their number. Up to 16 more may be written."""
    cdef const CutTable *t = <const CutTable *>r.cuts
    cdef int64_t k = 0
    cdef int length, run
    cdef uint32_t left, right, pair
    cdef uint64_t h
    cdef uint8_t last, first
    left = utf8_decode(text + at, &length)
    last = text[at + length - 1]
    if r.marks and left == c' ':
        left = MARK
        last = MARK_LAST
    at += length
    while at < end:
        first = text[at]
        if first >> 4 == 14:
            # The bulk of Chinese, Japanese and Korean: without branches, for there is no telling which way they go.
            run = ht_wide_run(text + at, end - at)
            if run > 2:
                k += ht_cut_wide(text + at, run, cut_key(left), last, t.gate, t.bits, <uint32_t>t.mask, <uint32_t>at, out + k)
                at += 3 * run
                left = utf8_decode(text + at - 3, &length)
                last = text[at - 1]
                continue
        if HT_CUTS_MIXED and not r.marks and end - at > 6:
            run = 0
            k += ht_cut_mixed(text + at, end - at, left, cut_key(left), last, t.gate, t.bits, <uint32_t>t.mask, <uint32_t>at, out + k, &run)
            if run:
                at += run
                left = utf8_decode(utf8_prev(text + at), &length)
                last = text[at - 1]
                continue
        if first >> 4 == 14:
            right = <uint32_t>(first & 15) << 12 | <uint32_t>(text[at + 1] & 63) << 6 | (text[at + 2] & 63)
            pair = <uint32_t>last << 8 | first
            h = cut_hash(left, right) & t.mask
            out[k] = <uint32_t>at
            k += ~(t.gate[pair >> 3] >> (pair & 7) | <uint32_t>(t.bits[h >> 6] >> (h & 63))) & 1
            left = right
            last = text[at + 2]
            at += 3
            continue
        if r.marks and text[at - 1] < 128:
            run = ht_ascii_run(text + at, end - at)
            if run > 3:
                k += ht_cut_ascii(text + at, run, r.ascii_joins, <uint32_t>at, out + k)
                at += run
                left = last = text[at - 1]
                if left == c' ':
                    left = MARK
                    last = MARK_LAST
                continue
        right = utf8_decode(text + at, &length)
        if r.marks and right == c' ':
            right = MARK
            first = MARK_FIRST
        if (r.marks or left >= 128 or right >= 128) and not may_join(t, left, last, right, first):
            out[k] = <uint32_t>at
            k += 1
        left = right
        last = MARK_LAST if first == MARK_FIRST and right == MARK else text[at + length - 1]
        at += length
    return k


cdef inline bint worth_cutting(const uint8_t *text, int64_t n) noexcept nogil:
    """Whether a chunk is likely to be of parts that come again more often than it does: text that blanks do not divide. Words
    of other scripts are cut once or twice at most, which makes two look-ups of one."""
    return n > LONG_KEY or ht_any_undivided(text, <int>n)


cdef inline void set_bit(uint64_t *bits, int64_t at) noexcept nogil:
    bits[at >> 6] |= <uint64_t>1 << (at & 63)


cdef inline int64_t next_of(const uint64_t *one, const uint64_t *other, int64_t at) noexcept nogil:
    """The first bit from `at` on that is set in one of the two; there is one."""
    cdef int64_t i = at >> 6
    cdef uint64_t found = (one[i] | other[i]) & (<uint64_t>-1 << (at & 63))
    while not found:
        i += 1
        found = one[i] | other[i]
    return i * 64 + ht_ctz64(found)


cdef inline int64_t last_of(const uint64_t *one, const uint64_t *other, int64_t at) noexcept nogil:
    """The last such bit up to `at`; there is one."""
    cdef int64_t i = at >> 6
    cdef uint64_t found = (one[i] | other[i]) & ((<uint64_t>2 << (at & 63)) - 1)
    while not found:
        i -= 1
        found = one[i] | other[i]
    return i * 64 + highest_bit(found)


cdef inline int64_t next_bit_not(const uint64_t *bits, int64_t at) noexcept nogil:
    """The first bit from `at` on that is not set; there is one."""
    cdef int64_t i = at >> 6
    cdef uint64_t found = ~bits[i] & (<uint64_t>-1 << (at & 63))
    while not found:
        i += 1
        found = ~bits[i]
    return i * 64 + ht_ctz64(found)


cdef void drop_cuts(uint64_t *cuts, int64_t begin, int64_t end) noexcept nogil:
    """No cuts in [begin, end)."""
    cdef int64_t i
    for i in range(begin >> 6, (end + 63) >> 6):
        cuts[i] &= ~((<uint64_t>-1 << (begin & 63) if i == begin >> 6 else <uint64_t>-1)
                     & ((<uint64_t>1 << (end & 63)) - 1 if i == end >> 6 else <uint64_t>-1))


cdef void drop_marked(const CutTable *t, const uint8_t *text, const uint64_t *begins, uint64_t *cuts, int64_t at) noexcept nogil:
    """No cuts in the chunk that text[at] belongs to, but does not begin, if it is marked, or that part of it to which the byte
    before belongs."""
    cdef int64_t begin = last_of(begins, begins, at), end = next_of(begins, begins, at + 1)
    cdef int64_t left = last_of(begins, cuts, at - 1), right = next_of(begins, cuts, at)
    if left == begin and right == end:
        return                   # it has no cuts
    if is_marked(t, text + left, right - left) or is_marked(t, text + begin, end - begin):
        drop_cuts(cuts, begin + 1, end)


cdef inline uint64_t short_chunks(const uint64_t *begins, int64_t i, uint64_t *left) noexcept nogil:
    """The bytes among 64 * i and the 64 that follow that belong to chunks of fewer than CUT_FROM bytes. left: those of the word before,
    *left becomes those of this one. begins has a word behind word i."""
    cdef uint64_t here = begins[i], next = begins[i + 1], soon = 0, found
    cdef int k
    for k in range(1, CUT_FROM):
        soon |= here >> k | next << (64 - k)
    found = here & soon | ~here & left[0] >> 63          # ... begins, and what goes on from the word before
    for k in range(CUT_FROM - 2):
        found |= found << 1 & ~here
    left[0] = found
    return found


cdef inline bint has_bit_sets(const CutTable *t, int64_t size) noexcept nogil:
    return HT_WIDE_CUTS and t != NULL and not t.marks_char and size <= 64 * SET_WORDS


cdef int64_t unsplit_starts(const RawRules *r, const uint8_t *text, int64_t size, uint32_t base, bint high, uint32_t *starts) noexcept nogil:
    """`space_starts` and `cut_chunks` at once, by bit sets, for at most 64 * SET_WORDS bytes: base + the place of each chunk, and their
    number. high: not all of the text is ASCII."""
    cdef uint64_t wide[SET_WORDS + 2]
    cdef uint64_t cuts[SET_WORDS + 2]
    cdef uint64_t begins[SET_WORDS + 2]
    cdef uint64_t others[SET_WORDS + 2]
    cdef const CutTable *t = <const CutTable *>r.cuts
    cdef int64_t words = size // 64 + 1, i, k = 0
    cdef uint64_t spaces, before = 0, left = 0
    if high:
        ht_wide_cuts(text, size, t.gate, t.wide_gate, t.bits, <uint32_t>t.mask, NULL, MARK, wide, cuts, NULL)
    else:
        memset(wide, 0, <size_t>words * 8)
        memset(cuts, 0, <size_t>words * 8)
    others[words - 1] = 0
    ht_ascii_cuts(text, size, r.ascii_joins, wide, cuts, others)
    for i in range(words):
        if high and others[i]:
            cuts[i] |= ht_other_cuts(text + i * 64, others[i], t.bits, <uint32_t>t.mask, MARK)
        spaces = ht_equal(text + i * 64, 64, c' ')
        begins[i] = cuts[i] & spaces & ~(spaces << 1 | before)
        before = spaces >> 63
    begins[0] |= 1
    begins[words] = 0
    set_bit(begins, size)
    for i in range(words):
        cuts[i] &= ~short_chunks(begins, i, &left)
    begins[size >> 6] &= ~(<uint64_t>1 << (size & 63))
    cuts[0] &= ~<uint64_t>1
    for i in range(words):
        k += ht_positions(begins[i] | cuts[i], base + <uint32_t>(i * 64), starts + k)
    return k


cdef int64_t cut_slice(Worker *w, int64_t first, int64_t n, int64_t base, int64_t end) noexcept nogil:
    """The same as `cut_chunks` by bit sets, for text[base:end] of at most 64 * SET_WORDS bytes: the number of chunks, which are starts
    only. Between characters of which one is not wide only long chunks are cut."""
    cdef uint64_t wide[SET_WORDS + 2]
    cdef uint64_t cuts[SET_WORDS + 2]
    cdef uint64_t begins[SET_WORDS + 2]
    cdef uint64_t marked[SET_WORDS + 2]
    cdef const CutTable *t = <const CutTable *>w.rules.cuts
    cdef const uint8_t *text = w.text + base
    cdef uint32_t *starts = w.starts + first
    cdef uint32_t *scratch = w.ends + first
    cdef int64_t size = end - base, words = size // 64 + 1, i, j, k, m, at, stop
    cdef uint64_t here, left_one = 0, left_three = 0, left_wide = 0, found
    cdef bint any = ht_wide_cuts(text, size, t.gate, t.wide_gate, t.bits, <uint32_t>t.mask, t.marks if t.whole != NULL else NULL,
                                 c' ', wide, cuts, marked)
    starts[n] = <uint32_t>end
    if not any:
        k = 0
        for i in range(n):
            k |= starts[i + 1] - starts[i] > LONG_KEY
        if not k:
            return n
    memset(begins, 0, <size_t>(words + 1) * 8)
    for i in range(n):
        at = starts[i] - base
        stop = starts[i + 1] - base
        set_bit(begins, at)
        if stop - at > LONG_KEY and next_bit_not(wide, at) < stop:
            m = cut_chunk(w.rules, w.text, base + at, base + stop, scratch)
            for j in range(m):
                set_bit(cuts, scratch[j] - base)
            if m and t.whole != NULL and stays_whole(t, w.text, base + at, base + stop, scratch, m):
                drop_cuts(cuts, at + 1, stop)
    set_bit(begins, size)
    for i in range(words):
        # Two characters, or a blank and one, stay together.
        here = begins[i]
        cuts[i] &= ~(here | ((here << 3 | left_three) | (here << 1 | left_one)) & (here >> 3 | begins[i + 1] << 61))
        left_three = here >> 61
        left_one = here >> 63
    if t.whole != NULL:
        left_three = 0
        for i in range(words):
            # A marked word may begin three bytes before; or here other characters begin or end inside a chunk, and some are in the
            # part with the byte before. So all parts are met: one that begins with two wide characters at the second, one with
            # others where these begin or end. (No single wide character is marked: marks_char.)
            here = begins[i] | cuts[i]
            found = marked[i] & (here << 3 | left_three)
            found |= (wide[i] ^ (wide[i] << 1 | left_wide)) & ~begins[i]
            left_three = here >> 61
            left_wide = wide[i] >> 63
            while found:
                at = i * 64 + ht_ctz64(found)
                found &= found - 1
                if at < size:
                    drop_marked(t, text, begins, cuts, at)
    begins[size >> 6] &= ~(<uint64_t>1 << (size & 63))
    k = 0
    for i in range(words):
        k += ht_positions(begins[i] | cuts[i], <uint32_t>(base + i * 64), starts + k)
    return k


cdef int cut_chunks(Worker *w, int64_t first, int64_t n, int64_t base, int64_t end, bint words, int64_t *total) noexcept nogil:
    """Cut the long ones of the n chunks from `first` on, the text[base:end], where that is safe. *total becomes their number."""
    cdef int64_t i = 0, k = 0, m, at, stop
    cdef int error
    cdef uint32_t *starts = w.starts + first
    cdef uint32_t *out = w.ends + first      # collected here, copied back below
    cdef const CutTable *t = <const CutTable *>w.rules.cuts
    cdef bint marks = w.rules.marks
    if not marks and not words and has_bit_sets(t, end - base):
        total[0] = cut_slice(w, first, n, base, end)
        return SCAN_OK
    if words:
        error = worker_join_room(w)
        if error:
            return error
    while i < n:
        at = starts[i]
        if not marks and i + STRIDE < n and starts[i + STRIDE] - at <= 64 and not ht_any_undivided(w.text + at, 64):
            # Chunks without any such character stay as they are.
            memcpy(out + k, starts + i, STRIDE * 4)
            if words:
                memset(w.joined + first + k, 0, STRIDE)
            k += STRIDE
            i += STRIDE
            continue
        stop = starts[i + 1] if i + 1 < n else end
        out[k] = <uint32_t>at
        m = 0
        if stop - at >= CUT_FROM and (marks or worth_cutting(w.text + at, stop - at)):
            m = cut_chunk(w.rules, w.text, at, stop, out + k + 1)
            if m and t.whole != NULL and stays_whole(t, w.text, at, stop, out + k + 1, m):
                m = 0
        if words:
            w.joined[first + k] = 0
            memset(w.joined + first + k + 1, 1, <size_t>m)
        k += m + 1
        i += 1
    if words:
        w.joined[first + k] = 0
    memcpy(starts, out, <size_t>k * 4)
    total[0] = k
    return SCAN_OK
