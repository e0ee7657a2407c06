"""Merging through lists of occurrences: the way of the merge engine once its rules are rare.

What it does: makes for every pair in the table the sorted list of slots where it begins (`fill_lists`), rewrites a batch's
occurrences in place, sums their neighbours, and gives newborn pairs lists of their own. A token keeps its slots, its id in the
first and the last, DEAD between them, so that a neighbour is one slot away; an entry of a list may be stale and is
checked before use. Rules are units of parallel work: first all rewrite, then, on a text that stands still, all look around.

Rule of the reference: `merge` in models/bpe/word.rs, as in merge_passes. Choosing the batch is left to merge_engine.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from hftok._core.parallel cimport parallel_for
from hftok._core.training.merge_state cimport (
    ENGINE_DONE, ENGINE_NO_MEMORY, Birth, Engine, IS_LEFT, IS_RIGHT, LONG_WORK, Loss, Neighbour, Rule, Worker, add_row, born, drop_lists,
    end_batch, grow, made_now, prune, reserve_rows, take_places)
from hftok._core.training.pair_index cimport kth_largest, pair_hash, pair_key, queue_from_table, table_find
from hftok._core.training.progress cimport Watch, stopped, watched_for
from hftok._core.training.slots cimport DEAD, FIRST_ID, GAP, slot_t, slots_gather, slots_used

cdef extern from "training/relaxed.h":
    uint16_t load16 "hftok_load16"(const uint16_t *p) noexcept nogil
    uint32_t load32 "hftok_load32"(const uint32_t *p) noexcept nogil
    void store16 "hftok_store16"(uint16_t *p, uint16_t v) noexcept nogil
    void store32 "hftok_store32"(uint32_t *p, uint32_t v) noexcept nogil
    void prefetch "hftok_prefetch"(const void *p) noexcept nogil

cdef enum:
    AHEAD = 16                  # how far loops over lists prefetch


# Making lists


cdef struct Fill:
    Engine *engine
    int64_t parts
    int64_t ids
    uint32_t *matrix            # row + 1 by left and right id, where ids are few; else NULL
    uint32_t *counts            # parts x rows: how many entries a part has for a row, then where they go
    bint writing
    int64_t round               # each part is gone through in so many rounds, that one may stop between them
    int64_t rounds


cdef void fill_by_matrix(const Fill *f, const slot_t *s, int64_t start, int64_t end, uint32_t *count) noexcept nogil:
    """Row 0 and column 0, the pairs with a GAP, hold no row."""
    cdef uint32_t **place = f.engine.place
    cdef const uint32_t *matrix = f.matrix
    cdef int64_t ids = f.ids
    cdef int64_t i
    cdef uint32_t row
    for i in range(start, end):
        row = matrix[s[i] * ids + s[i + 1]]
        if row == 0:
            continue
        row -= 1
        if f.writing:
            place[row][count[row]] = <uint32_t>i
        count[row] += 1


cdef void fill_by_table(const Fill *f, const slot_t *s, int64_t start, int64_t end, uint32_t *count) noexcept nogil:
    cdef Engine *e = f.engine
    cdef uint64_t key[AHEAD]
    cdef int64_t at[AHEAD]
    cdef int64_t i = start
    cdef int64_t row
    cdef int n, k
    cdef int shift = 64 - e.table.bits
    while i < end:
        # Look-ups in groups, so that their cache misses overlap.
        n = 0
        while i < end and n < AHEAD:
            if s[i] != GAP and s[i + 1] != GAP:
                key[n] = pair_key(s[i], s[i + 1])
                at[n] = i
                prefetch(&e.table.slot[pair_hash(key[n]) >> shift])
                n += 1
            i += 1
        for k in range(n):
            row = table_find(&e.table, key[k])
            if row < 0 or e.table.count[row] < e.threshold:
                continue
            if f.writing:
                e.place[row][count[row]] = <uint32_t>at[k]
            count[row] += 1


cdef void fill_slots(const Fill *f, const slot_t *s, int64_t start, int64_t end, uint32_t *count) noexcept nogil:
    if f.matrix != NULL:
        fill_by_matrix(f, s, start, end, count)
    else:
        fill_by_table(f, s, start, end, count)


cdef void fill_part(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Fill *f = <Fill *>ctx
    cdef Engine *e = f.engine
    cdef int64_t used = slots_used(&e.slots)
    cdef int64_t first = used * i // f.parts
    cdef int64_t size = used * (i + 1) // f.parts - first
    cdef int64_t start = 1 + first + size * f.round // f.rounds
    cdef int64_t end = min(1 + first + size * (f.round + 1) // f.rounds, used)      # the last slot is a GAP
    if e.slots.wide:
        fill_slots(f, <const uint32_t *>e.slots.data, start, end, f.counts + i * e.table.rows)
    else:
        fill_slots(f, <const uint16_t *>e.slots.data, start, end, f.counts + i * e.table.rows)


cdef int make_matrix(Fill *f) noexcept nogil:
    """The rows to fill by their ids, where ids are so few that this is small (4 MiB). 0, or -1 without memory."""
    cdef Engine *e = f.engine
    cdef int64_t i
    cdef uint64_t key
    f.matrix = NULL
    f.ids = e.strings.size + FIRST_ID
    if f.ids > 2 * e.dense_ids:
        return 0
    f.matrix = <uint32_t *>calloc(<size_t>(f.ids * f.ids), sizeof(uint32_t))
    if f.matrix == NULL:
        return -1
    for i in range(e.table.rows):
        if e.table.count[i] >= e.threshold:
            key = e.table.key[i]
            f.matrix[<int64_t>(key >> 32) * f.ids + <int64_t>(key & <uint64_t>0xFFFFFFFF)] = <uint32_t>(i + 1)
    return 0


cdef int run_fill(Fill *f) noexcept nogil:
    """All slots once, as `writing` says. 0, or -1 where it was told to stop."""
    cdef Engine *e = f.engine
    f.rounds = 1 + slots_used(&e.slots) // (f.parts * LONG_WORK)
    for f.round in range(f.rounds):
        parallel_for(fill_part, f, f.parts, e.threads)
        if stopped(e.watch):
            return -1
    return 0


cdef int fill_lists(Engine *e) noexcept nogil:
    """Make the occurrence lists of all rows from closed-up slots, the ends of segments too. Raises the threshold where the
    lists would take more memory than the limit."""
    cdef Fill f
    cdef int64_t i, p, total, n
    cdef int64_t rows
    drop_lists(e)
    for i in range(e.id_capacity):
        e.span[i] = 1
    e.listed = False             # no lists to keep while rows move
    if prune(e) or reserve_rows(e, e.table.rows):
        return ENGINE_NO_MEMORY
    e.listed = True
    free(e.segment_end)
    e.segment_end = <int64_t *>malloc(<size_t>(e.slots.segments + 1) * sizeof(int64_t))
    if e.segment_end == NULL:
        return ENGINE_NO_MEMORY
    for i in range(e.slots.segments):
        e.segment_end[i] = e.slots.segment[i].start + e.slots.segment[i].size
    f.engine = e
    f.parts = e.threads
    f.writing = False
    f.counts = <uint32_t *>calloc(<size_t>(f.parts * e.table.rows + 1), sizeof(uint32_t))
    f.matrix = NULL
    if f.counts == NULL or make_matrix(&f):
        free(f.counts)
        return ENGINE_NO_MEMORY
    if run_fill(&f):
        free(f.counts)
        free(f.matrix)
        return ENGINE_NO_MEMORY
    rows = e.table.rows
    total = 0
    for i in range(rows):
        n = 0
        for p in range(f.parts):
            n += f.counts[p * rows + i]
        e.places[i] = <uint32_t>n
        total += n
    if total > e.memory_limit // 12:
        i = limit_places(e, e.memory_limit // 12, &total)
        free(f.matrix)
        if i or make_matrix(&f):
            free(f.counts)
            return ENGINE_NO_MEMORY
    e.place_block = <uint32_t *>malloc(<size_t>(total + 1) * sizeof(uint32_t))
    e.place_block_size = total
    if e.place_block == NULL:
        free(f.counts)
        free(f.matrix)
        return ENGINE_NO_MEMORY
    total = 0
    for i in range(rows):
        e.place[i] = e.place_block + total
        if e.table.count[i] < e.threshold:
            continue
        n = 0
        for p in range(f.parts):
            n += f.counts[p * rows + i]
            f.counts[p * rows + i] = <uint32_t>(n - f.counts[p * rows + i])
        total += n
    f.writing = True
    i = run_fill(&f)
    free(f.counts)
    free(f.matrix)
    return ENGINE_NO_MEMORY if i else ENGINE_DONE


cdef int limit_places(Engine *e, int64_t most, int64_t *total) noexcept nogil:
    """Raise the threshold until the lists have at most `most` entries, but keep the most frequent pairs in any case."""
    cdef int64_t n = e.queue.size
    cdef int64_t i, last
    cdef int64_t *count = <int64_t *>calloc(<size_t>(n + 1), sizeof(int64_t))
    cdef int64_t low = 0
    cdef int64_t high, middle, sum
    if count == NULL:
        return -1
    for i in range(n):
        count[i] = e.queue.entry[i].count
    # By halves on the rank: the sum of list sizes of the k most frequent pairs grows with k.
    low = 1
    high = n
    last = kth_largest(count, n, 1) if n else e.threshold
    while low <= high:
        middle = (low + high) // 2
        i = kth_largest(count, n, middle)
        sum = 0
        for row in range(e.table.rows):
            if e.table.count[row] >= i:
                sum += e.places[row]
        if sum <= most:
            last = i
            low = middle + 1
        else:
            high = middle - 1
    free(count)
    e.threshold = max(e.threshold, last)
    total[0] = 0
    for i in range(e.table.rows):
        if e.table.count[i] >= e.threshold:
            total[0] += e.places[i]
    return queue_from_table(&e.queue, &e.table, e.threshold)


# Applying a batch


cdef int apply_lists(Engine *e, int64_t *done) noexcept nogil:
    """Apply the batch through the occurrence lists."""
    cdef int64_t i, k, places = 0, births = 0
    cdef int64_t bytes = 0
    cdef Rule *rule
    cdef Worker *w
    cdef Birth *b
    cdef int64_t row
    cdef Watch *watch
    cdef int threads, t
    for i in range(e.rules):
        e.rule[i].first_near = places
        places += e.rule[i].places
    if places > e.near_capacity or e.slots.wide != e.near_wide:
        free(e.near)
        e.near_wide = e.slots.wide
        e.near_capacity = places + places // 4 + 1024
        e.near = malloc(<size_t>e.near_capacity * 2 * (4 if e.near_wide else 2))
        if e.near == NULL:
            return ENGINE_NO_MEMORY
    threads = e.threads if places >= e.serial_places else 1
    for t in range(e.threads):
        e.worker[t].losses = e.worker[t].births = 0
    # First all rules rewrite their own occurrences, which no two of them share; then, on a text that stands still,
    # each looks at its neighbours.
    watch = e.watch if places >= LONG_WORK else NULL
    if watched_for(rewrite_rule, e, e.rules, threads, watch) or watched_for(survey_rule, e, e.rules, threads, watch):
        return ENGINE_NO_MEMORY
    for t in range(e.threads):
        if e.worker[t].failed:
            return ENGINE_NO_MEMORY
        births += e.worker[t].births
        bytes += e.worker[t].block_bytes
    if reserve_rows(e, e.table.rows + births):
        return ENGINE_NO_MEMORY
    for i in range(e.rules):
        rule = &e.rule[i]
        w = &e.worker[rule.worker]
        for k in range(rule.first_loss, rule.first_loss + rule.losses):
            e.table.count[w.loss[k].row] -= w.loss[k].weight
        for k in range(rule.first_birth, rule.first_birth + rule.births):
            b = &w.birth[k]
            row = add_row(e, b.key, b.count)
            if row < 0:
                return ENGINE_NO_MEMORY
            e.place[row] = b.place
            e.places[row] = <uint32_t>b.places
    done[0] += 32 * places + 64 * e.rules
    end_batch(e)
    if e.table.rows > e.row_limit and prune(e):
        return ENGINE_NO_MEMORY
    # Lists of pairs merged long ago are freed by making all lists anew, which the closed-up text makes shorter.
    if bytes > max(4 * e.place_block_size, <int64_t>1 << 24) or bytes > max(e.memory_limit // 3, <int64_t>e.threads << 19):
        if slots_gather(&e.slots, e.span, e.watch):
            return ENGINE_NO_MEMORY
        e.scans += 1
        done[0] += 16 * slots_used(&e.slots)
        return fill_lists(e)
    return ENGINE_DONE


cdef inline uint32_t load(const slot_t *p) noexcept nogil:
    if slot_t is uint16_t:
        return load16(p)
    else:
        return load32(p)


cdef inline void store(slot_t *p, uint32_t v) noexcept nogil:
    if slot_t is uint16_t:
        store16(p, <uint16_t>v)
    else:
        store32(p, v)


cdef void rewrite_places(const Engine *e, Rule *rule, slot_t *s, slot_t *near) noexcept nogil:
    """Rewrite the rule's occurrences and keep those that were still there, with their neighbours of now.

    Another thread may be writing slots that a stale entry looks at. Whatever is read then, the answer is the same: a slot that
    another rule of the batch rewrites belongs to an occurrence of that rule, holds one of its ids before and its new
    id or DEAD after, and neither makes this rule's left and right id stand side by side. A neighbour that another rule may
    still take is looked at again in survey_places.
    """
    cdef uint32_t left = rule.left
    cdef uint32_t right = rule.right
    cdef uint32_t made = rule.made
    cdef int64_t step = e.span[left]
    cdef int64_t span = e.span[made]
    cdef uint32_t *place = rule.place
    cdef int64_t n = rule.places
    cdef int64_t kept = 0
    cdef int64_t i
    cdef slot_t *p
    for i in range(n):
        if i + AHEAD < n:
            prefetch(s + place[i + AHEAD])
        p = s + place[i]
        if load(p) != left or load(p + step) != right:
            continue
        near[2 * kept] = <slot_t>load(p - 1)
        near[2 * kept + 1] = <slot_t>load(p + span)
        if step > 1:
            store(p + step - 1, DEAD)
        if span > step + 1:
            store(p + step, DEAD)
        store(p, made)
        store(p + span - 1, made)
        place[kept] = place[i]
        kept += 1
    rule.places = kept


cdef void rewrite_rule(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Engine *e = <Engine *>ctx
    if e.slots.wide:
        rewrite_places(e, &e.rule[i], <uint32_t *>e.slots.data, <uint32_t *>e.near + 2 * e.rule[i].first_near)
    else:
        rewrite_places(e, &e.rule[i], <uint16_t *>e.slots.data, <uint16_t *>e.near + 2 * e.rule[i].first_near)


cdef inline void meet(Neighbour *side, uint32_t id, int64_t weight, uint32_t *touched, int64_t *n) noexcept nogil:
    cdef Neighbour *x = &side[id]
    if x.places == 0:
        touched[n[0]] = id
        n[0] += 1
    x.places += 1
    x.weight += weight


cdef int64_t segment_of(const int64_t *end, int64_t n, int64_t k, int64_t at) noexcept nogil:
    """The segment that holds slot `at`; it is k or a later one. Doubling steps, then halves."""
    cdef int64_t step = 1
    cdef int64_t low, high, middle
    if end[k] > at:
        return k
    while k + step < n and end[k + step] <= at:
        k += step
        step *= 2
    low = k + 1
    high = min(k + step, n - 1)
    while low < high:
        middle = (low + high) // 2
        if end[middle] > at:
            high = middle
        else:
            low = middle + 1
    return low


cdef int survey_places(Engine *e, Worker *w, Rule *rule, const slot_t *s, slot_t *near) noexcept nogil:
    """Sum the rule's neighbours, note what existing pairs lose, and make the newborn pairs with their lists.

    A token at the left that the batch made itself: the pair with it is counted here, by its right half, and not there.
    """
    cdef const uint32_t *place = rule.place
    cdef int64_t n = rule.places
    cdef int64_t span = e.span[rule.made]
    cdef uint32_t *right_touched = w.touched + e.id_capacity
    cdef int64_t lefts = 0
    cdef int64_t rights = 0
    cdef int64_t i, segment = 0
    cdef int64_t weight
    cdef int64_t end
    cdef uint32_t at, x
    cdef int failed = 0
    rule.first_loss = w.losses
    rule.first_birth = w.births
    if n == 0:
        return 0
    end = -1
    weight = 0
    for i in range(n):
        if i + AHEAD < n:
            x = near[2 * (i + AHEAD)]
            at = near[2 * (i + AHEAD) + 1]
            prefetch(&w.left[x])
            prefetch(&w.right[at])
            if e.role[x] & IS_RIGHT or e.role[at] & IS_LEFT:
                prefetch(s + place[i + AHEAD])
        at = place[i]
        if at >= end:
            segment = segment_of(e.segment_end, e.slots.segments, segment, at)
            end = e.segment_end[segment]
            weight = e.slots.segment[segment].weight
        x = near[2 * i]
        if e.role[x] & IS_RIGHT:
            x = s[at - 1]
            near[2 * i] = <slot_t>x
        meet(w.left, x, weight, w.touched, &lefts)
        x = near[2 * i + 1]
        if e.role[x] & IS_LEFT:
            x = s[at + span]
            near[2 * i + 1] = <slot_t>x
        if not made_now(e, x):
            meet(w.right, x, weight, right_touched, &rights)
    for i in range(lefts):
        if i + AHEAD < lefts:
            prefetch_pair(e, pair_key(was_at_left(e, w.touched[i + AHEAD]), rule.left))
        x = w.touched[i]
        if x == GAP or failed:
            continue
        failed |= note_loss(e, w, pair_key(was_at_left(e, x), rule.left), w.left[x].weight)
        if born(e, x, rule.made, w.left[x].weight):
            failed |= note_birth(w, rule, &w.left[x], pair_key(x, rule.made))
    for i in range(rights):
        if i + AHEAD < rights:
            prefetch_pair(e, pair_key(rule.right, right_touched[i + AHEAD]))
        x = right_touched[i]
        if x == GAP or failed:
            continue
        failed |= note_loss(e, w, pair_key(rule.right, x), w.right[x].weight)
        if born(e, rule.made, x, w.right[x].weight):
            failed |= note_birth(w, rule, &w.right[x], pair_key(rule.made, x))
    rule.losses = w.losses - rule.first_loss
    rule.births = w.births - rule.first_birth
    if rule.births and not failed:
        write_places(e, w, rule, near)
    for i in range(lefts):
        memset(&w.left[w.touched[i]], 0, sizeof(Neighbour))
    for i in range(rights):
        memset(&w.right[right_touched[i]], 0, sizeof(Neighbour))
    return failed


cdef inline uint32_t was_at_left(const Engine *e, uint32_t id) noexcept nogil:
    """The id that a left neighbour ended with before the batch: a token that the batch made ended with its rule's right id."""
    return e.rule[id - e.first_made].right if made_now(e, id) else id


cdef inline void prefetch_pair(const Engine *e, uint64_t key) noexcept nogil:
    prefetch(&e.table.slot[pair_hash(key) >> (64 - e.table.bits)])


cdef inline int note_loss(const Engine *e, Worker *w, uint64_t key, int64_t weight) noexcept nogil:
    cdef int64_t row = table_find(&e.table, key)
    if row < 0:
        return 0
    if w.losses == w.loss_capacity:
        if grow(<void **>&w.loss, 0, max(2 * w.loss_capacity, <int64_t>256), sizeof(Loss), False):
            return -1
        w.loss_capacity = max(2 * w.loss_capacity, <int64_t>256)
    w.loss[w.losses].row = row
    w.loss[w.losses].weight = weight
    w.losses += 1
    return 0


cdef int note_birth(Worker *w, const Rule *rule, Neighbour *x, uint64_t key) noexcept nogil:
    cdef Birth *b
    if w.births == w.birth_capacity:
        if grow(<void **>&w.birth, 0, max(2 * w.birth_capacity, <int64_t>256), sizeof(Birth), False):
            return -1
        w.birth_capacity = max(2 * w.birth_capacity, <int64_t>256)
    b = &w.birth[w.births]
    b.key = key
    b.count = x.weight
    b.places = 0
    b.place = take_places(w, x.places)
    if b.place == NULL:
        return -1
    w.births += 1
    x.birth = <uint32_t>(w.births - rule.first_birth)
    return 0


cdef void write_places(const Engine *e, Worker *w, const Rule *rule, const slot_t *near) noexcept nogil:
    """Fill the lists of the rule's newborn pairs: the rule's places are ascending, so these are, too."""
    cdef Birth *birth = w.birth + rule.first_birth - 1
    cdef Birth *b
    cdef int64_t i
    cdef uint32_t x
    for i in range(rule.places):
        x = near[2 * i]
        if w.left[x].birth:
            b = &birth[w.left[x].birth]
            b.place[b.places] = rule.place[i] - e.span[x]
            b.places += 1
        x = near[2 * i + 1]
        if w.right[x].birth:
            b = &birth[w.right[x].birth]
            b.place[b.places] = rule.place[i]
            b.places += 1


cdef void survey_rule(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Engine *e = <Engine *>ctx
    cdef Rule *rule = &e.rule[i]
    cdef Worker *w = &e.worker[thread]
    cdef int failed
    rule.worker = thread
    if e.slots.wide:
        failed = survey_places(e, w, rule, <const uint32_t *>e.slots.data, <uint32_t *>e.near + 2 * rule.first_near)
    else:
        failed = survey_places(e, w, rule, <const uint16_t *>e.slots.data, <uint16_t *>e.near + 2 * rule.first_near)
    if failed:
        w.failed = 1
