# Scanner of the pipelines in which a pre-token is a piece of the raw text: byte-level BPE behind its regular expression, and
# SentencePiece-style BPE, whose text nothing splits. Compiled once per CPU tier.
#
# A document falls into segments between added tokens, a segment into slices of some KiB between places where the text can be
# cut whatever surrounds it (`find_cut`); a slice is copied into the chunk text on the way. Its chunks come from the family's
# scanner (rules.boundaries), and, where characters stand side by side that no merge ever joins, from the model's table of safe
# cuts: merges never reach across, so the parts of such a pre-token are encoded by themselves, and short parts come
# again and again where whole runs of Chinese do not.
#
# A chunk's text is raw bytes: what the ByteLevel or Metaspace alphabet makes of it is the business of the model's side
# (engine `_miss`), once per different chunk. Text that the normalizer may change is normalized slice by slice (w.normalize).
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from hftok._core.models.safe_cuts cimport CutTable, may_join
from hftok._core.scanners.cuts cimport is_han_start, is_stop_mark
from hftok._core.text cimport utf8_decode, utf8_prev
from hftok._core.unicode cimport uc_ccc, uc_compose, uc_decompose, uc_stable
from hftok._core.worker cimport (
    KIND_CHANGES, KIND_JOINS, MATCH_NONE, MATCH_TOKEN, PREFIX_ALWAYS, PREFIX_FIRST, PREFIX_NONE, PREFIX_SPACE, SCAN_FULL, SCAN_OK, Finder, Hit, RawRules, Worker,
    worker_direct, worker_join_room, worker_room,
)

include "lookup.pxi"
include "holes.pxi"
include "cutting.pxi"

cdef extern from "find.h" nogil:
    uint64_t ht_find(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, uint64_t *high)
    uint64_t ht_equal(const uint8_t *p, int n, uint8_t byte)

cdef extern from "stable.h" nogil:
    int ht_stable_block(const uint8_t *p, int64_t n, const uint32_t *bits)

cdef enum:
    SLICE = 4096             # bytes from which on a place to cut is looked for
    FLUSH_TEXT = 8192        # bytes of chunk text that may pile up inside a document
    STEP = 256
    WINDOWS = 8              # stretches of a slice that are normalized by themselves


cdef int64_t find_cut(const RawRules *r, const uint8_t *text, int64_t size, int64_t begin, int64_t end) noexcept nogil:
    """A place in [begin, end) at which a chunk begins, whatever comes before and behind, or -1: a space between a letter or
    digit and a letter; or one of the commonest marks of Chinese text behind an ideograph. Every regular expression of the
    families ends a chunk there; in text that nothing splits, the model's table of joins must agree. begin >= 3, and at most 64
    places are looked at."""
    cdef int64_t i
    cdef uint64_t places
    cdef uint8_t b
    cdef bint split = r.boundaries != NULL
    cdef const Finder *f = &r.inner
    if end > size - 3:
        end = size - 3
    if end <= begin:
        return -1
    places = ht_equal(text + begin, <int>(end - begin), c' ') | ht_equal(text + begin, <int>(end - begin), 0xE3) | ht_equal(text + begin, <int>(end - begin), 0xEF)
    while places:
        i = begin + ht_ctz64(places)
        places &= places - 1
        b = text[i]
        if b == c' ':
            if r.cut_after[text[i - 1]] and 97 <= (text[i + 1] | 32) <= 122 and not f.first[text[i + 1]] and not (
                    f.first[c' '] and f.second[text[i + 1]]):
                return i
        elif is_stop_mark(text + i) and is_han_start(text + i - 3) and not f.first[b]:
            if split or (r.cuts != NULL and not may_join(<const CutTable *>r.cuts, <uint32_t>(text[i - 3] & 15) << 12 | <uint32_t>(text[i - 2] & 63) << 6 | (text[i - 1] & 63), text[i - 1],
                                    0x3000 | <uint32_t>(text[i + 2] & 63) if b == 0xE3 else 0xFF0C, b)):
                return i
    return -1


cdef inline uint32_t fill_index(const uint8_t *text, int64_t size, uint32_t character, uint32_t *index) noexcept nogil:
    """The number of each byte's character; returns the number of the character after them."""
    cdef int64_t i = 0
    cdef uint64_t eight
    while i < size:
        if i + 8 <= size:
            memcpy(&eight, text + i, 8)
            if not eight & <uint64_t>0x8080808080808080:
                ht_iota(character, 8, index + i)
                character += 8
                i += 8
                continue
        character += (text[i] & 0xC0) != 0x80
        index[i] = character - 1
        i += 1
    return character


cdef inline int kind_of(const RawRules *r, uint32_t cp) noexcept nogil:
    """0: the normal form leaves the character alone, whatever stands around it; else as in RawRules.kinds."""
    if cp < 0x10000:
        return r.kinds[cp]
    return 0 if uc_stable(cp) & r.stable else KIND_CHANGES


cdef int64_t quiet_until(const RawRules *r, const uint8_t *text, int64_t i, int64_t size) noexcept nogil:
    """Behind the characters from i on that are not stable, if the normal form leaves them and the one before them as they
    are; else -1. What normal_forms' windows do, looked at without doing it: no character has a decomposition, marks stand in
    canonical order, and nothing joins the last starter (decompose_window, compose_window)."""
    cdef uint32_t parts[18]
    cdef uint32_t cp, starter = 0
    cdef int length, kind, cls, last = -1
    cdef bint started = False
    if i:
        starter = utf8_decode(utf8_prev(text + i), &length)
        started = True
        # The parts of a composed character may change places with marks behind it.
        if starter >= 128 and (uc_decompose(starter, parts) != 1 or parts[0] != starter):
            return -1
    while i < size and text[i] >= 128:
        cp = utf8_decode(text + i, &length)
        kind = kind_of(r, cp)
        if kind == 0:
            return i
        if kind == KIND_CHANGES:
            return -1
        cls = kind
        if kind == KIND_JOINS:
            cls = uc_ccc(cp)
            if started and last < cls and uc_compose(starter, cp):
                return -1
        if cls == 0:
            starter = cp
            started = True
            last = -1
        elif cls < last:
            return -1
        else:
            last = cls
        i += length
    return i


cdef inline int64_t stable_until(const RawRules *r, const uint8_t *text, int64_t i, int64_t size) noexcept nogil:
    """The first place from i on with a character that the normal form may change, or that may take part in a change; or size."""
    cdef int length, m
    cdef int64_t stop, quiet
    cdef uint64_t eight
    while i < size:
        m = ht_stable_block(text + i, 64, r.stable_bits) if size - i >= 66 else 0
        if m > 0:
            i += m
            continue
        stop = i + 64 if size - i > 64 else size
        while i < stop:
            if i + 8 <= size:
                memcpy(&eight, text + i, 8)
                if not eight & <uint64_t>0x8080808080808080:
                    i += 8
                    continue
            if text[i] < 128:
                i += 1
                continue
            if kind_of(r, utf8_decode(text + i, &length)) == 0:
                i += length
                continue
            quiet = quiet_until(r, text, i, size)
            if quiet < 0:
                return i
            i = quiet
    return size


cdef int normal_slice(Worker *w, const uint8_t *text, int64_t size, int64_t at, int64_t bad, bint full, int64_t *written) noexcept nogil:
    """A slice with a character at `bad` that may change, normalized into w.text[at:]. No change reaches beyond the characters that
    may change and the one before them, which they may be joined to: so these are normalized, and the rest is copied; behind
    the first WINDOWS of them all is normalized at once."""
    cdef const RawRules *r = w.rules
    cdef int64_t i = 0, out = at, start, stop, n, windows = 0
    cdef int error, length
    while True:
        start = utf8_prev(text + bad) - text if bad > i else bad
        error = worker_room(w, out - w.used + size - i + 256, 0)
        if error:
            return error
        n = start - i
        memcpy(w.text + out, text + i, <size_t>n)
        if full:
            w.character = fill_index(text + i, n, w.character, w.index + out)
        out += n
        stop = size
        windows += 1
        if windows < WINDOWS:
            stop = bad
            while stop < size and text[stop] >= 128 and kind_of(r, utf8_decode(text + stop, &length)) != 0:
                stop += length
        error = w.normalize(w, text + start, stop - start, out, &n)
        if error:
            return error
        out += n
        i = stop
        if i == size:
            break
        bad = stable_until(r, text, i, size)
        if bad == size:
            error = worker_room(w, out - w.used + size - i + 256, 0)
            if error:
                return error
            memcpy(w.text + out, text + i, <size_t>(size - i))
            if full:
                w.character = fill_index(text + i, size - i, w.character, w.index + out)
            out += size - i
            break
    written[0] = out - at
    return SCAN_OK


cdef inline int add_slice(Worker *w, const uint8_t *text, int64_t size, bint high, bint prefix, bint begins, bint ends, bint full) noexcept nogil:
    """The chunks of one slice, whose bytes have been copied behind w.used (one further with a prefix). begins, ends: with it its
    segment does."""
    cdef const RawRules *r = w.rules
    cdef int64_t base = w.used + prefix, n, k = size, end
    cdef int error
    cdef bint by_sets
    end = base + size
    if high and r.stable:
        k = stable_until(r, text, 0, size)
    if k < size:
        error = normal_slice(w, text, size, base, k, full, &n)
        if error:
            return error
        end = base + n
    elif full:
        if high:
            w.character = fill_index(text, size, w.character, w.index + base)
        else:
            ht_iota(w.character, <int>size, w.index + base)
            w.character += <uint32_t>size
    # The space goes before text that does not begin with one, and what begins it is the normal form's business: U+00A0 is a
    # space in NFKC, U+00A8 a space and a mark (pre_tokenizers/byte_level.rs looks at normalized text).
    if prefix and not (k == 0 and w.text[base] == c' '):
        w.text[base - 1] = c' '
        base -= 1
        if full:
            w.index[base] = w.index[base + 1]
    # At most as many chunks as bytes.
    error = worker_room(w, end - w.used, end - base + 2)
    if error:
        return error
    by_sets = r.marks and not (full and w.want_words) and has_bit_sets(<const CutTable *>r.cuts, end - base)
    if by_sets:
        n = unsplit_starts(r, w.text + base, end - base, <uint32_t>base, high, w.starts + w.n_starts)
    elif r.boundaries != NULL:
        n = r.boundaries(w.text + base, end - base, <uint32_t>base, w.starts + w.n_starts)
    else:
        n = space_starts(r, w.text + base, end - base, <uint32_t>base, w.starts + w.n_starts)
    if r.cuts != NULL and (high or r.marks) and not by_sets:
        error = cut_chunks(w, w.n_starts, n, base, end, full and w.want_words, &n)
        if error:
            return error
        if r.marks and full and w.want_words:
            # The whole segment is one pre-token.
            memset(w.joined + w.n_starts, 1, <size_t>(n + 1))
            w.joined[w.n_starts] = not begins
            w.joined[w.n_starts + n] = not ends
    elif full and w.joined != NULL:
        memset(w.joined + w.n_starts, 0, <size_t>(n + 1))
    k = w.n_starts
    memcpy(w.ends + k, w.starts + k + 1, <size_t>(n - 1) * 4)
    w.ends[k + n - 1] = <uint32_t>end
    w.n_starts = w.n_ends = k + n
    w.used = end
    return SCAN_OK


cdef int find_outer(Worker *w, const uint8_t *text, int64_t size, int64_t begin, int64_t floor, int64_t *skip, Hit *hit) noexcept nogil:
    """MATCH_TOKEN with the next token of the outer pass at or behind `begin`, or MATCH_NONE."""
    cdef const Finder *f = &w.rules.outer
    cdef int64_t k = begin, p
    cdef uint8_t copy[64]
    cdef uint64_t special, hi
    cdef int n, x, found
    while k < size:
        n = <int>(size - k) if size - k < 64 else 64
        special = ht_find(&f.ascii, text + k, n, copy, &hi)
        if hi and f.n_high:
            special |= high_candidates(f, text + k, n, hi)
        while special:
            p = k + ht_ctz64(special)
            special &= special - 1
            if p < skip[0] or not f.first[text[p]]:
                continue
            found = w.match(f.matcher, text, size, p, floor, hit)
            if found == MATCH_TOKEN:
                return found
            if found != MATCH_NONE:
                skip[0] = hit.resume
        k += n
    return MATCH_NONE


cdef inline uint64_t high_candidates(const Finder *f, const uint8_t *text, int n, uint64_t high) noexcept nogil:
    cdef int i
    cdef uint64_t found = 0
    if f.n_high < 0:
        return high
    for i in range(f.n_high):
        found |= ht_equal(text, n, f.high[i])
    return found


cdef inline int add_token(Worker *w, const uint8_t *text, const Hit *hit, bint full) noexcept nogil:
    cdef uint32_t first = w.character
    cdef int64_t i
    cdef int error
    if full:
        for i in range(hit.start, hit.end):
            w.character += (text[i] & 0xC0) != 0x80
    error = worker_room(w, 0, STEP)
    if error:
        return error
    if w.joined != NULL:
        w.joined[w.n_starts] = w.joined[w.n_starts + 1] = 0
    if full or hit.id > KNOWN_SIZE or not w.rules.unchecked:
        return worker_direct(w, hit.id, first, w.character)
    # The id is all that is wanted of it: it stands in the chunk's end, and no call is made for it.
    w.added += 1
    w.starts[w.n_starts] = <uint32_t>w.used
    w.ends[w.n_ends] = KNOWN | hit.id
    w.n_starts += 1
    w.n_ends += 1
    return SCAN_OK


cdef inline int scan_segment(Worker *w, const uint8_t *text, int64_t size, bint begins, bint first, bint full) noexcept nogil:
    """Chunks and tokens of the inner pass. begins: the text is not the rest of a segment; first: it begins its document."""
    cdef const RawRules *r = w.rules
    cdef const Finder *f = &r.inner
    cdef int64_t i = 0, k, q, end, p, base, floor = 0, skip = 0, target, most = SLICE
    cdef bint prefix
    cdef uint64_t special, hi, high
    cdef int n, error, found
    cdef Hit hit
    if w.limit and w.limit < SLICE // 8:
        most = 8 * w.limit + 64
    while i < size:
        if w.used < 64:
            w.used = 64          # the family's scanner looks back
        prefix = False
        if begins and r.prefix != PREFIX_NONE:
            prefix = r.prefix == PREFIX_ALWAYS or (text[i] != c' ' and (r.prefix == PREFIX_SPACE or (i == 0 and first)))
        base = w.used + prefix
        # A slice: up to an added token, to a place to cut, to the end.
        k = i
        target = i + most
        end = -1
        high = 0
        found = MATCH_NONE
        while end < 0:
            if k >= size:
                end = size
                break
            if HT_UNLIKELY(base + (k - i) + STEP > w.capacity):
                error = worker_room(w, prefix + (k - i) + STEP + SLICE, 0)
                if error:
                    return error
            n = <int>(size - k) if size - k < 64 else 64
            special = ht_find(&f.ascii, text + k, n, w.text + base + (k - i), &hi)
            if HT_UNLIKELY(hi and f.n_high):
                special |= high_candidates(f, text + k, n, hi)
            high |= hi
            q = -1
            if HT_UNLIKELY(k >= target):
                q = find_cut(r, text, size, k, k + n)
            while HT_UNLIKELY(special != 0):
                p = k + ht_ctz64(special)
                special &= special - 1
                if q >= 0 and p >= q:
                    break
                if p < skip or not f.first[text[p]]:
                    continue
                found = w.match(f.matcher, text, size, p, floor, &hit)
                if found == MATCH_TOKEN:
                    end = hit.start
                    break
                if found != MATCH_NONE:
                    skip = hit.resume
                found = MATCH_NONE
            if end < 0:
                end = q
            k += n
        if end > i:
            error = add_slice(w, text + i, end - i, high != 0, prefix, begins, found == MATCH_TOKEN or end == size, full)
            if error:
                return error
            begins = False
        i = end
        if found == MATCH_TOKEN:
            error = add_token(w, text, &hit, full)
            if error:
                return error
            i = floor = hit.end
            skip = hit.resume
            begins = True
        if w.limit and w.flushed_chunks + w.n_ends - w.first_chunk - w.added >= w.limit:
            return SCAN_FULL
        if w.used > FLUSH_TEXT:
            error = flush(w)
            if error:
                return error
    return SCAN_OK


cdef inline int scan_text(Worker *w, const uint8_t *text, int64_t size, bint full) noexcept nogil:
    cdef int64_t i = 0, floor = 0, skip = 0
    cdef int error
    cdef Hit hit
    cdef bint begins = w.begins, first = w.begins
    if w.rules.has_outer:
        while find_outer(w, text, size, i, floor, &skip, &hit) == MATCH_TOKEN:
            error = scan_segment(w, text + i, hit.start - i, begins, first, full)
            if error == SCAN_OK:
                error = add_token(w, text, &hit, full)
            if error:
                return error
            i = floor = hit.end
            skip = hit.resume
            begins = True
            first = False
    return scan_segment(w, text + i, size - i, begins, first and i == 0, full)


cdef int scan(Worker *w, const uint8_t *text, int64_t size) noexcept nogil:
    if w.want_spans or w.want_words:
        return scan_text(w, text, size, True)
    return scan_text(w, text, size, False)


include "tier.pxi"

_kernels.fill = fill_holes
