"""Merging in one pass over the text: the way of the merge engine while its rules are frequent.

What it does: rewrites every segment from left to right, closing it up as it goes, and sums for each rule of the batch the
weight of its left and right neighbours; then enters losses and births into the pair table, one operation for each neighbour.
Chunks are units of parallel work, sums are per thread.

Rule of the reference: `merge` in models/bpe/word.rs, occurrences from left to right, none overlapping, with the changes of counts
that it reports, netted over the batch. Choosing the batch is left to merge_engine.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from hftok._core.training.merge_lists cimport fill_lists
from hftok._core.training.merge_state cimport (
    CODES, ENGINE_DONE, ENGINE_NO_MEMORY, Engine, LONG_WORK, Rule, Worker, add_row, born, end_batch, made_now, prune)
from hftok._core.training.pair_index cimport pair_key, table_find
from hftok._core.training.progress cimport watched_for
from hftok._core.training.slots cimport FIRST_ID, GAP, Segment, slot_t, slots_gather, slots_used


cdef int apply_pass(Engine *e, int64_t *done) noexcept nogil:
    """Apply the batch in one pass over the text."""
    cdef int64_t used = slots_used(&e.slots)
    cdef int64_t applied = 0
    cdef int64_t i, k
    cdef int64_t cells = e.rules * e.row_width
    cdef Worker *w
    cdef Rule *rule
    cdef uint8_t lefts = 0
    cdef uint8_t rights = 0
    cdef int t
    for t in range(e.threads):
        w = &e.worker[t]
        w.applied = 0
        if w.cells < cells:
            # choose_batch keeps rules * ids within sum_cells, a batch of one rule excepted.
            free(w.left_sum)
            free(w.right_sum)
            w.cells = max(cells, e.sum_cells)
            w.left_sum = <int64_t *>calloc(<size_t>w.cells, sizeof(int64_t))
            w.right_sum = <int64_t *>calloc(<size_t>w.cells, sizeof(int64_t))
            if w.left_sum == NULL or w.right_sum == NULL:
                return ENGINE_NO_MEMORY
    for i in range(e.rules):
        rule = &e.rule[i]
        if e.left_code[rule.left] == 0:
            lefts += 1
            e.left_code[rule.left] = lefts
        if e.right_code[rule.right] == 0:
            rights += 1
            e.right_code[rule.right] = rights
        e.match[e.left_code[rule.left] * CODES + e.right_code[rule.right]] = <uint8_t>(i + 1)
    if watched_for(pass_chunk, e, e.slots.chunks, e.threads if used >= 4 * e.serial_places else 1,
                   e.watch if used >= LONG_WORK else NULL):
        return ENGINE_NO_MEMORY
    for i in range(e.rules):
        rule = &e.rule[i]
        e.match[e.left_code[rule.left] * CODES + e.right_code[rule.right]] = 0
    for i in range(e.rules):
        e.left_code[e.rule[i].left] = 0
        e.right_code[e.rule[i].right] = 0
    for t in range(e.threads):
        applied += e.worker[t].applied
        if t:
            for k in range(cells):
                e.worker[0].left_sum[k] += e.worker[t].left_sum[k]
                e.worker[0].right_sum[k] += e.worker[t].right_sum[k]
            memset(e.worker[t].left_sum, 0, <size_t>cells * sizeof(int64_t))
            memset(e.worker[t].right_sum, 0, <size_t>cells * sizeof(int64_t))
    for i in range(e.rules):
        if settle_pass(e, &e.rule[i], e.worker[0].left_sum + i * e.row_width, e.worker[0].right_sum + i * e.row_width):
            return ENGINE_NO_MEMORY
    memset(e.worker[0].left_sum, 0, <size_t>cells * sizeof(int64_t))
    memset(e.worker[0].right_sum, 0, <size_t>cells * sizeof(int64_t))
    end_batch(e)
    e.passes += 1
    done[0] += used
    if e.table.rows > e.row_limit and prune(e):
        return ENGINE_NO_MEMORY
    # List entries are 32-bit: a larger text stays with passes.
    e.applied += (applied - e.applied) // 4 if e.passes > 1 else applied
    if e.applied * e.pass_share < used and slots_used(&e.slots) < <int64_t>0xFFFFFFF0:
        if slots_gather(&e.slots, NULL, e.watch):
            return ENGINE_NO_MEMORY
        done[0] += 16 * used
        return fill_lists(e)
    return ENGINE_DONE


cdef int64_t pass_segment(Engine *e, Worker *w, slot_t *s, const Segment *g, int64_t out) noexcept nogil:
    """Rewrite one segment in place from slot `out` on (at or before its start); returns where the next one goes."""
    cdef const uint8_t *left_code = e.left_code
    cdef const uint8_t *right_code = e.right_code
    cdef const uint8_t *match = e.match
    cdef int64_t *left_sum = w.left_sum
    cdef int64_t *right_sum = w.right_sum
    cdef int64_t width = e.row_width
    cdef int64_t weight = g.weight
    cdef int64_t i = g.start
    cdef int64_t last = g.start + g.size - 1     # a GAP
    cdef int64_t word = out
    cdef int64_t applied = 0
    cdef int64_t made = -1          # the rule that made the token before, or -1
    cdef slot_t first_made = <slot_t>e.first_made
    cdef slot_t before = GAP
    cdef slot_t t = s[i]
    cdef slot_t next
    cdef int r
    while i < last:
        next = s[i + 1]
        # Looked up at every slot: half of a pair is met so often that a test for it would mostly be mispredicted.
        r = match[<int>left_code[t] * CODES + right_code[next]]
        if r:
            made = r - 1
            left_sum[made * width + before] += weight
            before = <slot_t>(first_made + made)
            s[out] = before
            out += 1
            i += 2
            t = s[i]
            applied += 1
            continue
        if made >= 0:
            right_sum[made * width + t] += weight
            made = -1
        s[out] = t
        out += 1
        if t == GAP:
            if out - word == 2:
                out = word           # the word is one token now and holds no pair any more
            word = out
        before = t
        t = next
        i += 1
    s[out] = GAP
    out += 1
    w.applied += applied
    return word if out - word == 2 else out


cdef void pass_chunk(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Engine *e = <Engine *>ctx
    cdef Segment *g
    cdef int64_t k, next
    cdef int64_t out = e.slots.segment[e.slots.chunk[i]].start
    for k in range(e.slots.chunk[i], e.slots.chunk[i + 1]):
        g = &e.slots.segment[k]
        if g.size == 0:
            continue
        if e.slots.wide:
            next = pass_segment(e, &e.worker[thread], <uint32_t *>e.slots.data, g, out)
        else:
            next = pass_segment(e, &e.worker[thread], <uint16_t *>e.slots.data, g, out)
        g.start = out
        g.size = next - out
        out = next


cdef int settle_pass(Engine *e, const Rule *rule, const int64_t *left_sum, const int64_t *right_sum) noexcept nogil:
    """Enter one rule's sums into table and queue. A left neighbour may itself have been made by the batch: what the text has
    lost is then the pair with that rule's right id. 0, or -1 without memory."""
    cdef int64_t x, row
    cdef uint32_t was
    for x in range(FIRST_ID, e.row_width):
        if left_sum[x]:
            was = e.rule[x - e.first_made].right if made_now(e, <uint32_t>x) else <uint32_t>x
            row = table_find(&e.table, pair_key(was, rule.left))
            if row >= 0:
                e.table.count[row] -= left_sum[x]
            if born(e, <uint32_t>x, rule.made, left_sum[x]) and add_row(e, pair_key(<uint32_t>x, rule.made), left_sum[x]) < 0:
                return -1
        if right_sum[x]:
            row = table_find(&e.table, pair_key(rule.right, <uint32_t>x))
            if row >= 0:
                e.table.count[row] -= right_sum[x]
            if born(e, rule.made, <uint32_t>x, right_sum[x]) and add_row(e, pair_key(rule.made, <uint32_t>x), right_sum[x]) < 0:
                return -1
    return 0
