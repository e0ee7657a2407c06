# Scanner of the pipelines in which a pre-token is a run of characters of one class: BertPreTokenizer, Whitespace,
# WhitespaceSplit, Punctuation, Digits and their sequences, behind any normalizer that works character by character
# (BertNormalizer, Lowercase, NFD + StripAccents, NFC, ...). Compiled once per CPU tier.
#
# ASCII goes 64 bytes at a time: classes and mapped bytes come from ht_classify, boundaries from shifts of the class masks
# (a chunk begins where the class differs from the one before; an isolated character is a chunk). Everything else goes
# character by character through the two-level table of worker.pxd, whose entries the engine makes by running the exact
# normalizer and the pre-tokenizer's classes on each code point. Where a code point's effect depends on its neighbours
# (ACT_ESCAPE), the text between the separators around it is given to the exact path, which appends its chunks.
#
# The scan knows nothing of models: chunks end up in worker.starts/ends over worker.text, and `flush` looks them up.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from hftok._core.chunk_cache cimport INLINE_IDS, META_COUNT, META_CUT1, META_CUT2, Value, ht_key
from hftok._core.text cimport utf8_decode
from hftok._core.worker cimport (
    ACT_DROP, ACT_ESCAPE, ACT_ISOLATE, ACT_RUN3, ACT_SEPARATOR, ACT_UNFINISHED, BATCH, MATCH_NONE, MATCH_TOKEN, SCAN_FULL,
    SCAN_NO_MEMORY, SCAN_OK, CharEntry, CharTables, Hit, Kernels, Mark, Worker, char_entry, ht_ascii, worker_direct,
    worker_id_room, worker_room,
)

cdef extern from "block.h" nogil:
    ctypedef struct ht_masks:
        uint64_t run0
        uint64_t run1
        uint64_t isolate
        uint64_t special
    void ht_classify(const ht_ascii *t, const uint8_t *p, int n, uint8_t *out, ht_masks *m)
    int ht_positions(uint64_t mask, uint32_t base, uint32_t *dst)
    void ht_fill(const uint8_t *text, const uint32_t *starts, const uint32_t *ends, int n, ht_key *keys, uint32_t *hashes,
                 const uint8_t *table, uint32_t bucket_mask)
    int ht_probe(const uint8_t *bucket, const ht_key *key)
    uint32_t ht_hash_key(ht_key key)
    uint32_t ht_hash_long(const uint8_t *key48)
    void ht_iota(uint32_t base, int n, uint32_t *out)
    int ht_ctz64(uint64_t x)
    uint64_t ht_low_bits(int n)
    bint HT_LIKELY(bint x)
    bint HT_UNLIKELY(bint x)

cdef extern from "publish.h" nogil:
    void *ht_acquire(void **slot)

include "../emit.pxi"

cdef enum:
    FLUSH_TEXT = 16384       # bytes of chunk text that may pile up inside a document
    FLUSH_CHUNKS = 4096


cdef struct Checkpoint:
    # A place at or before the last separator, to which the scan can go back.
    int64_t at
    int64_t used
    int64_t n_starts
    int64_t n_ends
    int64_t n_directs
    int64_t skip
    uint32_t run
    uint32_t character


cdef inline int flush_chunks(Worker *w, bint full) noexcept nogil:
    """Look up every chunk, in order, and write the tokens; no chunk may be open. `full`: spans or words are wanted."""
    cdef int64_t n = w.n_ends
    cdef int64_t pos = 0, end, stop, base = 0, filled = 0, k, j
    cdef const uint8_t *table = w.cache.table
    cdef uint32_t mask = w.cache.mask
    cdef const uint8_t *bucket
    cdef const Value *v
    cdef int hit, error
    cdef uint32_t count
    for k in range(w.n_marks + 1):
        end = w.marks[k].chunk if k < w.n_marks else n
        if not w.row_begun and (k < w.n_marks or end > pos):
            error = worker_id_room(w, w.n_prefix + w.n_suffix + 4 * BATCH)
            if error:
                return error
            emit_around(w, w.prefix, w.n_prefix)
            w.row_begun = 1
        while pos < end:
            if pos == filled:
                j = n - filled
                if j > BATCH:
                    j = BATCH
                error = worker_id_room(w, 4 * BATCH)
                if error:
                    return error
                ht_fill(w.text, w.starts + filled, w.ends + filled, <int>j, w.keys, w.hashes, table, mask)
                base = filled
                filled += j
            stop = end if end < filled else filled
            while pos < stop:
                j = pos - base
                bucket = table + (<size_t>(w.hashes[j] & mask) << 6)
                hit = ht_probe(bucket, &w.keys[j])
                if HT_LIKELY(hit >= 0):
                    v = <const Value *>(bucket + 32 + (hit << 4))
                    count = v.meta & META_COUNT
                    if not full and HT_LIKELY(count != 0):
                        memcpy(w.ids + w.n_ids, v, 16)
                        w.n_ids += count
                    else:
                        error = emit_value(w, pos, v, full)
                        if error:
                            return error
                else:
                    error = w.miss(w, pos, &w.keys[j], w.hashes[j])
                    if error:
                        return error
                    table = w.cache.table
                    mask = w.cache.mask
                if full:
                    w.word += 1
                pos += 1
        if k < w.n_marks:
            error = worker_id_room(w, w.n_suffix + w.n_prefix + 4 * BATCH)
            if error:
                return error
            emit_around(w, w.suffix, w.n_suffix)
            w.row_ends[w.marks[k].row] = w.n_ids
            w.row_begun = 0
            w.word = 0
    w.flushed_chunks += n - w.first_chunk
    w.first_chunk = 0
    w.n_starts = w.n_ends = w.n_marks = w.n_directs = w.next_direct = w.used = 0
    return SCAN_OK


cdef int flush(Worker *w) noexcept nogil:
    if w.want_spans or w.want_words:
        return flush_chunks(w, True)
    return flush_chunks(w, False)


cdef inline void _close(Worker *w) noexcept nogil:
    if w.run:
        w.ends[w.n_ends] = <uint32_t>w.used
        w.n_ends += 1
        w.run = 0


cdef inline void _save(Worker *w, Checkpoint *c, int64_t at, int64_t skip) noexcept nogil:
    c.at = at
    c.used = w.used
    c.n_starts = w.n_starts
    c.n_ends = w.n_ends
    c.n_directs = w.n_directs
    c.skip = skip
    c.run = w.run
    c.character = w.character


cdef inline int64_t _characters(const uint8_t *text, int64_t start, int64_t end) noexcept nogil:
    cdef int64_t n = 0
    while start < end:
        n += (text[start] & 0xC0) != 0x80
        start += 1
    return n


cdef int scan(Worker *w, const uint8_t *text, int64_t size) noexcept nogil:
    cdef CharTables *t = w.tables
    cdef int64_t i = 0, stop = size, region_end = 0, floor = 0, skip = 0, r
    cdef Checkpoint check
    cdef ht_masks m
    cdef uint64_t live, r0, r1, iso, p0, p1, pi, differs
    cdef int n, nb, length, error, found
    cdef uint32_t cp, last
    cdef uint64_t eight
    cdef uint8_t byte, action
    cdef const CharEntry *entry
    cdef Hit hit
    cdef bint full = w.want_spans or w.want_words
    _save(w, &check, 0, 0)
    while True:
        while i < stop:
            # Room for a block; and now and then a flush, after a separator only, so that no escape reaches behind it.
            if HT_UNLIKELY(w.used + 256 > w.capacity or w.n_starts + 256 > w.chunk_capacity or w.used > FLUSH_TEXT):
                if w.used > FLUSH_TEXT and not w.hold and w.run == 0 and i > floor and text[i - 1] < 128 and t.ascii.cls[text[i - 1]] == 0:
                    error = flush(w)
                    if error:
                        return error
                    _save(w, &check, i, skip)
                    floor = i
                error = worker_room(w, 256, 256)
                if error:
                    return error
            if w.limit and w.flushed_chunks + w.n_ends - w.first_chunk >= w.limit:
                w.n_starts = w.n_ends
                w.run = 0
                return SCAN_FULL
            n = <int>(stop - i) if stop - i < 64 else 64
            ht_classify(&t.ascii, text + i, n, w.text + w.used, &m)
            nb = ht_ctz64(m.special) if m.special else n
            if nb:
                live = ht_low_bits(nb)
                r0 = m.run0 & live
                r1 = m.run1 & live
                iso = m.isolate & live
                p0 = (r0 << 1) | (w.run & 1)
                p1 = (r1 << 1) | (w.run >> 1)
                pi = iso << 1
                differs = (r0 ^ p0) | (r1 ^ p1) | iso | pi
                if (r0 | r1 | iso) != live:
                    _save(w, &check, i, skip)
                w.n_starts += ht_positions(differs & (r0 | r1 | iso), <uint32_t>w.used, w.starts + w.n_starts)
                w.n_ends += ht_positions(differs & (p0 | p1 | pi) & live, <uint32_t>w.used, w.ends + w.n_ends)
                if full:
                    ht_iota(w.character, nb, w.index + w.used)
                w.used += nb
                w.character += <uint32_t>nb
                i += nb
                w.ends[w.n_ends] = <uint32_t>w.used
                w.n_ends += (iso >> (nb - 1)) & 1
                w.run = <uint32_t>(((r0 >> (nb - 1)) & 1) | (((r1 >> (nb - 1)) & 1) << 1))
                if nb == n:
                    continue
            # Character by character, until eight bytes of ASCII are in sight.
            while i < stop:
                byte = text[i]
                if HT_UNLIKELY(t.first[byte]) and i >= skip:
                    found = w.match(w.matcher, text, size, i, floor, &hit)
                    if found == MATCH_TOKEN:
                        _close(w)
                        # Characters of the blanks that it takes along on the left were counted already.
                        last = w.character - <uint32_t>_characters(text, hit.start, i)
                        w.character += <uint32_t>_characters(text, i, hit.end)
                        error = worker_direct(w, hit.id, last, w.character)
                        if error:
                            return error
                        i = hit.end
                        floor = i
                        skip = hit.resume
                        _save(w, &check, i, skip)
                        if w.used + 256 > w.capacity or w.n_starts + 256 > w.chunk_capacity:
                            error = worker_room(w, 256, 256)
                            if error:
                                return error
                        continue
                    elif found != MATCH_NONE:
                        skip = hit.resume
                cp = utf8_decode(text + i, &length)
                entry = <const CharEntry *>ht_acquire(&t.pages[cp >> 8])
                if HT_UNLIKELY(entry == NULL):
                    entry = char_entry(t, cp)
                    if entry == NULL:
                        return SCAN_NO_MEMORY
                else:
                    entry = entry + (cp & 255)
                action = entry.action
                if (action & 7) <= ACT_RUN3 and action != ACT_SEPARATOR:
                    if w.run != <uint32_t>(action & 3):
                        _close(w)
                        w.starts[w.n_starts] = <uint32_t>w.used
                        w.n_starts += 1
                        w.run = action & 3
                    memcpy(w.text + w.used, entry.bytes, 4)
                    if full:
                        w.index[w.used] = w.character
                        w.index[w.used + 1] = w.character
                        w.index[w.used + 2] = w.character
                        w.index[w.used + 3] = w.character
                    w.used += entry.size
                elif action == ACT_ISOLATE:
                    _close(w)
                    w.starts[w.n_starts] = <uint32_t>w.used
                    w.n_starts += 1
                    memcpy(w.text + w.used, entry.bytes, 4)
                    if full:
                        w.index[w.used] = w.character
                        w.index[w.used + 1] = w.character
                        w.index[w.used + 2] = w.character
                        w.index[w.used + 3] = w.character
                    w.used += entry.size
                    w.ends[w.n_ends] = <uint32_t>w.used
                    w.n_ends += 1
                elif action == ACT_SEPARATOR:
                    _close(w)
                    if byte < 128:
                        i += 1
                        w.character += 1
                        _save(w, &check, i, skip)
                        if w.used + 256 > w.capacity or w.n_starts + 256 > w.chunk_capacity or w.used > FLUSH_TEXT:
                            break
                        if i + 8 <= stop:
                            memcpy(&eight, text + i, 8)
                            if not (eight & <uint64_t>0x8080808080808080):
                                break
                        continue
                elif action != ACT_DROP:
                    # Escape: go back to the last separator, scan up to it, then hand the text up to the next one over.
                    r = i
                    while r > floor and not (text[r - 1] < 128 and t.ascii.cls[text[r - 1]] == 0):
                        r -= 1
                    region_end = i + length
                    while region_end < size:
                        byte = text[region_end]
                        if byte < 128 and t.ascii.cls[byte] == 0:
                            break
                        if t.first[byte] and region_end >= skip:
                            found = w.match(w.matcher, text, size, region_end, floor, &hit)
                            if found == MATCH_TOKEN:
                                break
                            if found != MATCH_NONE:
                                skip = hit.resume
                        region_end += 1
                    i = check.at
                    w.used = check.used
                    w.n_starts = check.n_starts
                    w.n_ends = check.n_ends
                    w.n_directs = check.n_directs
                    w.run = check.run
                    w.character = check.character
                    # `skip` stays: matches refused up to region_end were decided the same way the first time.
                    stop = r
                    break
                i += length
                w.character += 1
                if HT_UNLIKELY(w.used + 64 > w.capacity or w.n_starts + 64 > w.chunk_capacity):
                    error = worker_room(w, 256, 256)
                    if error:
                        return error
                if i + 8 <= stop:
                    memcpy(&eight, text + i, 8)
                    if not (eight & <uint64_t>0x8080808080808080):
                        break
        if stop == size:
            return SCAN_OK
        # The text before an escape has been scanned; now the escape's own region.
        _close(w)
        error = w.region(w, text, stop, region_end, w.character)
        if error:
            return error
        w.character += <uint32_t>_characters(text, stop, region_end)
        i = region_end
        floor = i
        stop = size
        w.run = 0
        _save(w, &check, i, skip)


cdef Kernels _kernels
_kernels.scan = scan
_kernels.flush = flush
_kernels.hash_key = ht_hash_key
_kernels.hash_long = ht_hash_long


def kernels():
    """Address of this tier's Kernels struct, for the engine."""
    return <size_t>&_kernels
