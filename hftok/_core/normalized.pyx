"""Text with alignment: the kernels of NormalizedString and PreTokenizedString.

Rules: tokenizer/normalizer.rs (transform, slice, split, replace and the char-wise methods) and
tokenizer/pre_tokenizer.rs (split passes).

Every transformation has two ways. Where the range that the reference transforms is the whole text (all but the texts
that begin with zero-width alignments, see ns_spans_all) a one-pass kernel writes the answer directly; otherwise the
list of changes is built and ns_transform replays the reference's bookkeeping, panics included. A text that the
transformation leaves alone is found without copying.

Left to others: normal forms (normal_forms), which characters a test holds for (unicode.pxd), regex matches (patterns),
Python objects (pretokenized).
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy, memmove, memset

from hftok._core.text cimport utf8_decode, utf8_encode, utf8_len, utf8_prev, utf8_size
from hftok._core.unicode cimport UC_WHITESPACE, uc_lower, uc_props, uc_upper

cdef int pt_check(int error) except -1:
    if error == PT_OK:
        return 0
    if error == PT_NO_MEMORY:
        raise MemoryError("out of memory while normalizing or splitting a text")
    if error == PT_TOO_LONG:
        raise OverflowError("a text of 4 GiB or more cannot be aligned: split it into shorter texts")
    if error == PT_PANIC:
        raise ValueError(
            "these components cannot process this text (the reference implementation panics here): a transformation "
            "reaches past the text that it was given, or a pattern takes too many attempts"
        )
    return -1  # PT_PYTHON: the exception is set


# ---------------------------------------------------------------------------------------------------------------------
# Memory

cdef inline int fail(PreTokenized *p, int error) noexcept nogil:
    if p.error == PT_OK:
        p.error = error
    return p.error


cdef int64_t grown(int64_t capacity, int64_t need) noexcept nogil:
    cdef int64_t wanted = capacity + (capacity >> 1)
    if wanted < need:
        wanted = need
    return wanted if wanted > 256 else 256


cdef int pt_reserve_to(PreTokenized *p, int64_t need) noexcept nogil:
    cdef int64_t capacity
    cdef void *data
    if need <= p.capacity:
        return PT_OK
    capacity = grown(p.capacity, need)
    data = realloc(p.text, <size_t>capacity)
    if data == NULL:
        return fail(p, PT_NO_MEMORY)
    p.text = <uint8_t *>data
    data = realloc(p.align, <size_t>capacity * sizeof(Align))
    if data == NULL:
        return fail(p, PT_NO_MEMORY)
    p.align = <Align *>data
    p.capacity = capacity
    return PT_OK


cdef int pt_reserve(PreTokenized *p, int64_t extra) noexcept nogil:
    return pt_reserve_to(p, p.used + extra)


cdef int pt_reserve_changes(PreTokenized *p, int64_t extra) noexcept nogil:
    cdef int64_t capacity
    cdef void *data
    if p.n_changes + extra > p.change_capacity:
        capacity = grown(p.change_capacity, p.n_changes + extra)
        data = realloc(p.changes, <size_t>capacity * sizeof(Change))
        if data == NULL:
            return fail(p, PT_NO_MEMORY)
        p.changes = <Change *>data
        p.change_capacity = capacity
    return PT_OK


cdef int pt_push_change(PreTokenized *p, uint32_t cp, int32_t change) noexcept nogil:
    if p.n_changes == p.change_capacity and pt_reserve_changes(p, 1):
        return p.error
    p.changes[p.n_changes].cp = cp
    p.changes[p.n_changes].change = change
    p.n_changes += 1
    return PT_OK


cdef int pt_push_match(PreTokenized *p, int64_t start, int64_t end, int is_match) noexcept nogil:
    cdef int64_t capacity
    cdef Match *data
    if p.n_matches == p.match_capacity:
        capacity = grown(p.match_capacity, p.n_matches + 1)
        data = <Match *>realloc(p.matches, <size_t>capacity * sizeof(Match))
        if data == NULL:
            return fail(p, PT_NO_MEMORY)
        p.matches = data
        p.match_capacity = capacity
    p.matches[p.n_matches].start = start
    p.matches[p.n_matches].end = end
    p.matches[p.n_matches].is_match = is_match
    p.n_matches += 1
    return PT_OK


cdef int push_fresh(PreTokenized *p, const Split *s) noexcept nogil:
    cdef int64_t capacity
    cdef Split *data
    if p.n_fresh == p.fresh_capacity:
        capacity = grown(p.fresh_capacity, p.n_fresh + 1)
        data = <Split *>realloc(p.fresh, <size_t>capacity * sizeof(Split))
        if data == NULL:
            return fail(p, PT_NO_MEMORY)
        p.fresh = data
        p.fresh_capacity = capacity
    p.fresh[p.n_fresh] = s[0]
    p.n_fresh += 1
    return PT_OK


cdef void pt_init(PreTokenized *p) noexcept nogil:
    memset(p, 0, sizeof(PreTokenized))


cdef void pt_free(PreTokenized *p) noexcept nogil:
    free(p.text)
    free(p.align)
    free(p.splits)
    free(p.fresh)
    free(p.changes)
    free(p.matches)
    free(p.spare_text)
    free(p.spare_align)
    free(p.stack)
    memset(p, 0, sizeof(PreTokenized))


cdef void pt_reset(PreTokenized *p, const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i = 0, run, k
    cdef uint32_t end
    cdef Split whole
    p.original = text
    p.size = size
    p.used = 0
    p.n_splits = p.n_fresh = p.n_changes = p.n_matches = 0
    p.error = PT_OK
    if size >= <int64_t>0xFFFFFFFF:
        p.error = PT_TOO_LONG
        return
    if pt_reserve_to(p, size):
        return
    if size:
        memcpy(p.text, text, <size_t>size)
    while i < size:
        run = ascii_prefix(text + i, size - i)
        for k in range(i, i + run):
            p.align[k].start = <uint32_t>k
            p.align[k].end = <uint32_t>(k + 1)
        i += run
        while i < size and text[i] >= 0x80:
            end = <uint32_t>(i + utf8_len(text[i]))
            for k in range(i, end):
                p.align[k].start = <uint32_t>i
                p.align[k].end = end
            i = end
    p.used = size
    whole.start = whole.ostart = 0
    whole.end = whole.oend = size
    whole.token = -1
    whole.origin = 0
    # The first split goes in whatever its size: an empty text is one empty split.
    push_fresh(p, &whole)
    pt_end_splits(p)


cdef int pt_copy(PreTokenized *p, const PreTokenized *other) noexcept nogil:
    cdef int64_t i
    p.original = other.original
    p.size = other.size
    p.used = 0
    p.n_splits = p.n_fresh = p.n_changes = p.n_matches = 0
    p.error = PT_OK
    if pt_reserve_to(p, other.used):
        return p.error
    if other.used:
        memcpy(p.text, other.text, <size_t>other.used)
        memcpy(p.align, other.align, <size_t>other.used * sizeof(Align))
    p.used = other.used
    for i in range(other.n_splits):
        if push_fresh(p, &other.splits[i]):
            return p.error
    pt_end_splits(p)
    return p.error


cdef int pt_compact(PreTokenized *p) noexcept nogil:
    cdef int64_t i, first, start, size, live = 0, at = 0
    cdef uint8_t *text
    cdef void *data
    cdef Align *align
    for i in range(p.n_splits):
        live += p.splits[i].end - p.splits[i].start
    if p.used - live <= live + 65536:
        return PT_OK
    if p.spare_capacity < live:
        data = realloc(p.spare_text, <size_t>live)
        if data == NULL:
            return fail(p, PT_NO_MEMORY)
        p.spare_text = <uint8_t *>data
        data = realloc(p.spare_align, <size_t>live * sizeof(Align))
        if data == NULL:
            return fail(p, PT_NO_MEMORY)
        p.spare_align = <Align *>data
        p.spare_capacity = live
    i = 0
    while i < p.n_splits:
        # Neighbours in the arena move together.
        first = i
        start = p.splits[i].start
        size = 0
        while i < p.n_splits and p.splits[i].start == start + size:
            size += p.splits[i].end - p.splits[i].start
            i += 1
        if size:
            memcpy(p.spare_text + at, p.text + start, <size_t>size)
            memcpy(p.spare_align + at, p.align + start, <size_t>size * sizeof(Align))
        while first < i:
            p.splits[first].start += at - start
            p.splits[first].end += at - start
            first += 1
        at += size
    text = p.text
    align = p.align
    size = p.capacity
    p.text = p.spare_text
    p.align = p.spare_align
    p.capacity = p.spare_capacity
    p.spare_text = text
    p.spare_align = align
    p.spare_capacity = size
    p.used = at
    return PT_OK


# ---------------------------------------------------------------------------------------------------------------------
# Splitting

cdef void pt_begin_splits(PreTokenized *p) noexcept nogil:
    p.n_fresh = 0


cdef int pt_push_split(PreTokenized *p, const Split *s) noexcept nogil:
    if s.start == s.end:
        return PT_OK
    return push_fresh(p, s)


cdef void pt_end_splits(PreTokenized *p) noexcept nogil:
    cdef Split *splits = p.splits
    cdef int64_t capacity = p.split_capacity
    if p.error:
        return
    p.splits = p.fresh
    p.split_capacity = p.fresh_capacity
    p.n_splits = p.n_fresh
    p.fresh = splits
    p.fresh_capacity = capacity
    p.n_fresh = 0
    pt_compact(p)


cdef Split pt_slice(PreTokenized *p, const Split *s, int64_t start, int64_t end) noexcept nogil:
    cdef Split piece = s[0]
    piece.start = s.start + start
    piece.end = s.start + end
    if start == end:
        # convert_offsets gives an empty range back unconverted, so an empty slice counts normalized bytes as original.
        piece.ostart = piece.oend = s.ostart + start
    else:
        piece.ostart = p.align[piece.start].start
        piece.oend = p.align[piece.end - 1].end
    return piece


cdef void pt_apply_behavior(PreTokenized *p, int behavior) noexcept nogil:
    cdef int64_t i, out = 0
    cdef int previous = 0, is_match, joins
    cdef Match *m = p.matches
    if behavior == REMOVED:
        for i in range(p.n_matches):
            if not m[i].is_match:
                m[out] = m[i]
                out += 1
        p.n_matches = out
    elif behavior == CONTIGUOUS or behavior == MERGED_WITH_PREVIOUS:
        for i in range(p.n_matches):
            is_match = m[i].is_match
            if behavior == CONTIGUOUS:
                joins = is_match == previous
            else:
                joins = is_match != 0 and previous == 0
            if out and joins:
                m[out - 1].end = m[i].end
            else:
                m[out] = m[i]
                out += 1
            previous = is_match
        p.n_matches = out
    elif behavior == MERGED_WITH_NEXT:
        # The same from the right; what is kept gathers at the end of the array.
        out = p.n_matches
        for i in range(p.n_matches - 1, -1, -1):
            is_match = m[i].is_match
            if out < p.n_matches and is_match != 0 and previous == 0:
                m[out].start = m[i].start
            else:
                out -= 1
                m[out] = m[i]
            previous = is_match
        if out:
            p.n_matches -= out
            memmove(m, m + out, <size_t>p.n_matches * sizeof(Match))


cdef int pt_split_by_matches(PreTokenized *p, const Split *s, int behavior) noexcept nogil:
    cdef int64_t i
    cdef Split piece
    pt_apply_behavior(p, behavior)
    for i in range(p.n_matches):
        if p.matches[i].start != p.matches[i].end:
            piece = pt_slice(p, s, p.matches[i].start, p.matches[i].end)
            if push_fresh(p, &piece):
                return p.error
    return p.error


cdef int pt_match_chars(PreTokenized *p, const Split *s, CharTest test) noexcept nogil:
    cdef const uint8_t *text = p.text + s.start
    cdef int64_t size = s.end - s.start, i = 0, last = 0
    cdef int length
    cdef uint32_t cp
    p.n_matches = 0
    if size == 0:
        return pt_push_match(p, 0, 0, 0)
    while i < size:
        cp = utf8_decode(text + i, &length)
        if test(cp):
            if last < i and pt_push_match(p, last, i, 0):
                return p.error
            if pt_push_match(p, i, i + length, 1):
                return p.error
            last = i + length
        i += length
    if last < size:
        pt_push_match(p, last, size, 0)
    return p.error


cdef int pt_match_literal(PreTokenized *p, const Split *s, const uint8_t *literal, int64_t size) noexcept nogil:
    cdef const uint8_t *text = p.text + s.start
    cdef const uint8_t *found
    cdef int64_t n = s.end - s.start, i = 0, last = 0, at, count = 0
    p.n_matches = 0
    if size == 0:
        # One stretch without a match, whose end the reference counts in characters and then uses as a byte position.
        for i in range(n):
            count += (text[i] & 0xC0) != 0x80
        return pt_push_match(p, 0, count, 0)
    if n == 0:
        return pt_push_match(p, 0, 0, 0)
    while i + size <= n:
        found = <const uint8_t *>memchr(text + i, literal[0], <size_t>(n - size - i + 1))
        if found == NULL:
            break
        at = found - text
        if size > 1 and memcmp(found + 1, literal + 1, <size_t>(size - 1)) != 0:
            i = at + 1
            continue
        if last < at and pt_push_match(p, last, at, 0):
            return p.error
        if pt_push_match(p, at, at + size, 1):
            return p.error
        i = last = at + size
    if last < n:
        pt_push_match(p, last, n, 0)
    return p.error


cdef void pt_invert_matches(PreTokenized *p) noexcept nogil:
    cdef int64_t i
    for i in range(p.n_matches):
        p.matches[i].is_match = not p.matches[i].is_match


# ---------------------------------------------------------------------------------------------------------------------
# Transformations: the general way

cdef int ns_spans_all(PreTokenized *p, const Split *s) noexcept nogil:
    """Whether transform()'s Range::Original(..) converts to the whole normalized text.

    convert_offsets looks for the first byte whose alignment has a width; bytes before it (inserted at the very beginning
    by an empty match or an empty prepend) stay outside the range. Alignments never pass the end of the original.
    """
    return (
        s.end > s.start
        and s.oend > s.ostart
        and p.align[s.start].start != p.align[s.start].end
    )


cdef void ns_place(PreTokenized *p, Split *s, int64_t size) noexcept nogil:
    """Move the split to the `size` bytes written at p.used; the arena's tail is reused where the old text was there."""
    if s.end == p.used:
        if size:
            memmove(p.text + s.start, p.text + p.used, <size_t>size)
            memmove(p.align + s.start, p.align + p.used, <size_t>size * sizeof(Align))
        s.end = s.start + size
        p.used = s.end
    else:
        s.start = p.used
        s.end = p.used + size
        p.used = s.end


cdef inline int64_t emit(PreTokenized *p, int64_t at, uint32_t cp, Align align) noexcept nogil:
    """Write one code point at arena position `at` (room is there); the position after it."""
    cdef int n = utf8_encode(cp, p.text + at)
    cdef int i
    for i in range(n):
        p.align[at + i] = align
    return at + n


cdef int64_t ns_emit_changes(PreTokenized *p, const Split *s, int64_t at, int64_t offset, int64_t limit) noexcept nogil:
    """Write p.changes at `at`, consuming old text of the split from `offset` up to `limit` (both relative).

    The reference's rule: a new character (change > 0) takes the alignment of the byte before the current offset, or the
    empty span at the very beginning; any other takes the one at the offset, then steps over the character it replaces
    and over -change more. Past the end of the alignments the reference panics.
    """
    cdef int64_t i, k, size = s.end - s.start
    cdef const uint8_t *text
    cdef Align align
    for i in range(p.n_changes):
        if p.changes[i].change > 0:
            if offset < 1:
                align.start = align.end = <uint32_t>s.ostart
            else:
                align = p.align[s.start + offset - 1]
        else:
            if offset >= size:
                fail(p, PT_PANIC)
                return at
            align = p.align[s.start + offset]
            text = p.text + s.start
            k = 1 - <int64_t>p.changes[i].change
            while k > 0 and offset < limit:
                offset += utf8_len(text[offset])
                k -= 1
        at = emit(p, at, p.changes[i].cp, align)
    return at


cdef int ns_transform_range(PreTokenized *p, Split *s, int64_t start, int64_t end, int64_t initial_offset) noexcept nogil:
    cdef int64_t size = s.end - s.start, at, offset = start, i, extra = size - (end - start)
    for i in range(p.n_changes):
        extra += utf8_size(p.changes[i].cp)
    if pt_reserve(p, extra):
        return p.error
    while initial_offset > 0 and offset < end:
        offset += utf8_len(p.text[s.start + offset])
        initial_offset -= 1
    at = copy_range(p, p.used, s.start, s.start + start)
    at = ns_emit_changes(p, s, at, offset, end)
    if p.error:
        return p.error
    at = copy_range(p, at, s.start + end, s.end)
    ns_place(p, s, at - p.used)
    return PT_OK


cdef int ns_transform(PreTokenized *p, Split *s, int64_t initial_offset) noexcept nogil:
    cdef int64_t i, size = s.end - s.start
    if s.oend <= s.ostart:
        return ns_transform_range(p, s, 0, 0, initial_offset)
    for i in range(size):
        if p.align[s.start + i].start != p.align[s.start + i].end:
            return ns_transform_range(p, s, i, size, initial_offset)
    if size == 0:
        return PT_OK        # nothing to convert: the reference returns without a change
    return ns_transform_range(p, s, size, size, initial_offset)


# ---------------------------------------------------------------------------------------------------------------------
# Char-wise transformations

cdef int filter_chars(PreTokenized *p, Split *s, CharTest keep, int ascii_kept) noexcept nogil:
    """ns_filter; `ascii_kept` says that the test holds for all of ASCII, so that runs of it need no test."""
    cdef int64_t i = s.start, end = s.end, out, run, removed = 0, first = 0
    cdef int length, kept
    cdef uint32_t cp, last = 0
    if ns_spans_all(p, s):
        # Kept characters keep their own alignment, so they only move up.
        while i < end:
            if ascii_kept:
                i += ascii_prefix(p.text + i, end - i)
                if i == end:
                    break
            cp = utf8_decode(p.text + i, &length)
            if not keep(cp):
                break
            i += length
        if i == end:
            return PT_OK
        out = i
        while i < end:
            run = ascii_prefix(p.text + i, end - i) if ascii_kept else 0
            if run == 0:
                cp = utf8_decode(p.text + i, &length)
                run = length
                if not keep(cp):
                    i += run
                    continue
            memmove(p.text + out, p.text + i, <size_t>run)
            memmove(p.align + out, p.align + i, <size_t>run * sizeof(Align))
            out += run
            i += run
        if p.used == end:
            p.used = out
        s.end = out
        return PT_OK
    p.n_changes = 0
    kept = 0
    while i < end:
        cp = utf8_decode(p.text + i, &length)
        i += length
        if keep(cp):
            if kept:
                if pt_push_change(p, last, -<int32_t>removed):
                    return p.error
            else:
                first = removed
            kept = 1
            last = cp
            removed = 0
        else:
            removed += 1
    if kept and pt_push_change(p, last, -<int32_t>removed):
        return p.error
    return ns_transform(p, s, first)


cdef int ns_filter(PreTokenized *p, Split *s, CharTest keep) noexcept nogil:
    return filter_chars(p, s, keep, 0)


cdef int ns_filter_above_ascii(PreTokenized *p, Split *s, CharTest keep) noexcept nogil:
    return filter_chars(p, s, keep, 1)


cdef int ns_map(PreTokenized *p, Split *s, CharMap f) noexcept nogil:
    cdef int64_t i = s.start, end = s.end, at
    cdef int length
    cdef uint32_t cp, mapped
    if not ns_spans_all(p, s):
        p.n_changes = 0
        while i < end:
            cp = utf8_decode(p.text + i, &length)
            i += length
            if pt_push_change(p, f(cp), 0):
                return p.error
        return ns_transform(p, s, 0)
    # In place as long as the sizes agree.
    while i < end:
        cp = utf8_decode(p.text + i, &length)
        mapped = f(cp)
        if mapped != cp:
            if utf8_size(mapped) != length:
                break
            utf8_encode(mapped, p.text + i)
        i += length
    if i == end:
        return PT_OK
    if pt_reserve(p, end - s.start + 64):
        return p.error
    at = copy_range(p, p.used, s.start, i)
    while i < end:
        cp = utf8_decode(p.text + i, &length)
        if p.capacity - at < 8 and pt_reserve_to(p, at + 8):
            return p.error
        at = emit(p, at, f(cp), p.align[i])
        i += length
    ns_place(p, s, at - p.used)
    return PT_OK


cdef inline void ascii_lower(uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i
    for i in range(size):
        text[i] = text[i] + ((<uint8_t>(text[i] - c'A') < 26) << 5)


cdef inline void ascii_upper(uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i
    for i in range(size):
        text[i] = text[i] - ((<uint8_t>(text[i] - c'a') < 26) << 5)


cdef int change_case(PreTokenized *p, Split *s, int upper) noexcept nogil:
    cdef int64_t i = s.start, end = s.end, run, at
    cdef int length, n, k
    cdef uint32_t cp
    cdef uint32_t out[18]
    cdef Align align
    if not ns_spans_all(p, s):
        p.n_changes = 0
        while i < end:
            cp = utf8_decode(p.text + i, &length)
            i += length
            n = uc_upper(cp, out) if upper else uc_lower(cp, out)
            for k in range(n):
                if pt_push_change(p, out[k], k > 0):
                    return p.error
        return ns_transform(p, s, 0)
    # In place up to the first character whose mapping has another size.
    while i < end:
        run = ascii_prefix(p.text + i, end - i)
        if upper:
            ascii_upper(p.text + i, run)
        else:
            ascii_lower(p.text + i, run)
        i += run
        n = 1
        while i < end and p.text[i] >= 0x80:
            cp = utf8_decode(p.text + i, &length)
            n = uc_upper(cp, out) if upper else uc_lower(cp, out)
            if n != 1 or utf8_size(out[0]) != length:
                n = 0
                break
            if out[0] != cp:
                utf8_encode(out[0], p.text + i)
            i += length
        if n == 0:
            break
    if i == end:
        return PT_OK
    if pt_reserve(p, end - s.start + 128):
        return p.error
    at = copy_range(p, p.used, s.start, i)
    while i < end:
        if p.capacity - at < 128 and pt_reserve_to(p, at + 128):
            return p.error
        align = p.align[i]
        cp = p.text[i]
        if cp < 0x80:
            if upper:
                cp -= (<uint32_t>(cp - c'a') < 26) << 5
            else:
                cp += (<uint32_t>(cp - c'A') < 26) << 5
            p.text[at] = <uint8_t>cp
            p.align[at] = align
            at += 1
            i += 1
            continue
        cp = utf8_decode(p.text + i, &length)
        n = uc_upper(cp, out) if upper else uc_lower(cp, out)
        for k in range(n):
            at = emit(p, at, out[k], align)
        i += length
    ns_place(p, s, at - p.used)
    return PT_OK


cdef int ns_lowercase(PreTokenized *p, Split *s) noexcept nogil:
    return change_case(p, s, 0)


cdef int ns_uppercase(PreTokenized *p, Split *s) noexcept nogil:
    return change_case(p, s, 1)


cdef int ns_clear(PreTokenized *p, Split *s) noexcept nogil:
    p.n_changes = 0
    return ns_transform(p, s, s.end - s.start)


cdef int ns_strip(PreTokenized *p, Split *s, int left, int right) noexcept nogil:
    cdef const uint8_t *text = p.text + s.start
    cdef const uint8_t *before
    cdef int64_t size = s.end - s.start, start = 0, end = size, leading = 0, trailing = 0, count, i, index
    cdef int length
    if left:
        while start < size:
            if not uc_props(utf8_decode(text + start, &length)) & UC_WHITESPACE:
                break
            start += length
            leading += 1
    if right:
        while end > 0:
            before = utf8_prev(text + end)
            if not uc_props(utf8_decode(before, &length)) & UC_WHITESPACE:
                break
            end = before - text
            trailing += 1
    if leading == 0 and trailing == 0:
        return PT_OK
    if ns_spans_all(p, s):
        if end < start:
            end = start     # all blank: both runs are the whole text
        if p.used == s.end:
            p.used = s.start + end
        s.end = s.start + end
        s.start += start
        return PT_OK
    # The reference marks the last kept character by comparing its index with the length in bytes (lrstrip); where the
    # two counts differ the mark is simply never set.
    count = 0
    for i in range(size):
        count += (text[i] & 0xC0) != 0x80
    p.n_changes = 0
    i = index = 0
    while i < size:
        if index >= leading and index < count - trailing:
            if pt_push_change(
                p, utf8_decode(text + i, &length), -<int32_t>trailing if index == size - trailing - 1 else 0
            ):
                return p.error
        i += utf8_len(text[i])
        index += 1
    return ns_transform(p, s, leading)


cdef int ns_prepend(PreTokenized *p, Split *s, const uint8_t *text, int64_t size) noexcept nogil:
    """All of `text` and the old first character take that character's alignment; an empty `text` makes it zero-width."""
    cdef int64_t i = 0, n = s.end - s.start
    cdef int length, first
    cdef uint32_t cp
    if n == 0:
        return PT_OK
    p.n_changes = 0
    while i < size:
        cp = utf8_decode(text + i, &length)
        if pt_push_change(p, cp, i > 0):
            return p.error
        i += length
    cp = utf8_decode(p.text + s.start, &first)
    if pt_push_change(p, cp, 1):
        return p.error
    return ns_transform_range(p, s, 0, first, 0)


cdef int ns_append(PreTokenized *p, Split *s, const uint8_t *text, int64_t size) noexcept nogil:
    cdef int64_t i = 0, n = s.end - s.start, last = 0
    cdef int length
    cdef uint32_t cp
    p.n_changes = 0
    if n:
        last = utf8_prev(p.text + s.end) - (p.text + s.start)
        cp = utf8_decode(p.text + s.start + last, &length)
        if pt_push_change(p, cp, 0):
            return p.error
    while i < size:
        cp = utf8_decode(text + i, &length)
        if pt_push_change(p, cp, 1):
            return p.error
        i += length
    return ns_transform_range(p, s, last, n, 0)


cdef int ns_replace(PreTokenized *p, Split *s, const uint8_t *content, int64_t size) noexcept nogil:
    """Each match becomes `content`, all of it new characters after the match: the alignment of the match's last byte (for
    an empty match of the byte before it, or the empty span at the very beginning)."""
    cdef int64_t i, k, at, last = 0, end, need = s.end - s.start
    cdef int any_match = 0
    cdef Align align
    for i in range(p.n_matches):
        if p.matches[i].is_match:
            any_match = 1
            need += size - (p.matches[i].end - p.matches[i].start)
    if not any_match:
        return PT_OK
    if pt_reserve(p, need):
        return p.error
    at = p.used
    for i in range(p.n_matches):
        if not p.matches[i].is_match:
            continue
        at = copy_range(p, at, s.start + last, s.start + p.matches[i].start)
        end = p.matches[i].end
        if end < 1:
            align.start = align.end = <uint32_t>s.ostart
        else:
            align = p.align[s.start + end - 1]
        if size:
            memcpy(p.text + at, content, <size_t>size)
            for k in range(size):
                p.align[at + k] = align
            at += size
        last = end
    at = copy_range(p, at, s.start + last, s.end)
    ns_place(p, s, at - p.used)
    return PT_OK


cdef int ns_replace_byte(PreTokenized *p, Split *s, uint8_t byte, const uint8_t *content, int64_t size) noexcept nogil:
    cdef int64_t i, k, at, count = 0, last = s.start
    cdef const uint8_t *found
    cdef Align align
    for i in range(s.start, s.end):
        count += p.text[i] == byte
    if count == 0:
        return PT_OK
    if size == 1:
        for i in range(s.start, s.end):
            if p.text[i] == byte:
                p.text[i] = content[0]
        return PT_OK
    if pt_reserve(p, s.end - s.start + count * (size - 1)):
        return p.error
    at = p.used
    while True:
        found = NULL
        if last < s.end:
            found = <const uint8_t *>memchr(p.text + last, byte, <size_t>(s.end - last))
        if found == NULL:
            break
        i = found - p.text
        # Mostly words: short enough for a plain loop.
        for k in range(last, i):
            p.text[at] = p.text[k]
            p.align[at] = p.align[k]
            at += 1
        align = p.align[i]
        for k in range(size):
            p.text[at] = content[k]
            p.align[at] = align
            at += 1
        last = i + 1
    at = copy_range(p, at, last, s.end)
    ns_place(p, s, at - p.used)
    return PT_OK


# ---------------------------------------------------------------------------------------------------------------------
# Offsets

cdef void ns_original_span(
    PreTokenized *p, const Split *s, int64_t start, int64_t end, int64_t *ostart, int64_t *oend
) noexcept nogil:
    if start == end:
        ostart[0] = s.ostart + start
        oend[0] = s.ostart + end
    elif start < 0 or start > end or end > s.end - s.start:
        ostart[0] = start
        oend[0] = end
    else:
        ostart[0] = p.align[s.start + start].start
        oend[0] = p.align[s.start + end - 1].end
