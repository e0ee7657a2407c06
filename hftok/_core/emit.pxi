# Writing the tokens of a chunk to a worker's output. Included where it must be inlined (scanners, miss handling).

cdef extern from "block.h" nogil:
    void ht_unpack(const uint8_t *v, uint32_t *out)


cdef inline void emit_span(Worker *w, int64_t at, uint32_t start, uint32_t end) noexcept nogil:
    w.spans[2 * at] = start
    w.spans[2 * at + 1] = end


cdef inline void emit_around(Worker *w, const uint32_t *ids, int64_t n) noexcept nogil:
    """Special tokens of the template: no characters, no word. The caller has made room."""
    cdef int64_t i
    for i in range(n):
        w.ids[w.n_ids] = ids[i]
        if w.want_spans:
            emit_span(w, w.n_ids, 0, 0)
        if w.want_words:
            w.words[w.n_ids] = -1
        w.n_ids += 1


cdef inline void emit_spilled(Worker *w, uint32_t start, const uint32_t *block, int64_t n, bint full) noexcept nogil:
    """n ids, then per id (first byte << 16 | last byte) relative to the chunk, which begins at `start` of the chunk text."""
    cdef int64_t i
    for i in range(n):
        w.ids[w.n_ids + i] = block[i]
    if full:
        for i in range(n):
            if w.want_spans:
                emit_span(w, w.n_ids + i, w.index[start + (block[n + i] >> 16)], w.index[start + (block[n + i] & 0xFFFF)] + 1)
            if w.want_words:
                w.words[w.n_ids + i] = w.word
    w.n_ids += n


cdef inline void emit_value(Worker *w, int64_t chunk, const Value *v, bint full) noexcept nogil:
    """The tokens of a cached chunk. The batch has made room for MAX_SPILLED + 4 of them."""
    cdef uint32_t count = v.meta & META_COUNT
    cdef uint32_t s, e, cut
    cdef int64_t i
    if count == 0:
        emit_spilled(w, w.starts[chunk], w.cache.arena + v.block, v.count, full)
        return
    ht_unpack(<const uint8_t *>v, w.ids + w.n_ids)
    if full:
        s = w.starts[chunk]
        e = w.ends[chunk]
        if w.want_spans:
            for i in range(count - 1):
                # A first token of no bytes is a word mark, at the place of the first character.
                cut = w.starts[chunk] + cut_of(v, i + 1)
                emit_span(w, w.n_ids + i, w.index[s], w.index[cut - (cut > s)] + 1)
                s = cut
            emit_span(w, w.n_ids + count - 1, w.index[s], w.index[e - 1] + 1)
        if w.want_words:
            for i in range(count):
                w.words[w.n_ids + i] = w.word
    w.n_ids += count
