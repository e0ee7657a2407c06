"""The BPE merge loop where no string can be made in two ways: exact, in batches, by threads.

What it does: from words laid out as slots it makes merges in the reference's order (do_train in models/bpe/trainer.rs: highest
count, then lowest left id, then lowest right id) until the vocabulary is full or no pair is frequent enough. Four facts carry it:

1. A string is made by one pair only. So a pair is born in one step, its count only falls afterwards, and a newborn pair below
   a threshold that the queue never falls under can be forgotten (`threshold`; when the queue runs dry the text is counted
   again with a lower one, until min_frequency). Should a merge ever form a token that exists, the engine stops with
   ENGINE_COLLISION and the caller turns to affix_engine, which follows the reference there; only affixes can cause it.
2. Rules taken from the top of the queue, none of which has as its left id another's right id, cannot disturb each other: each
   changes only counts of pairs that are crossed with it, and what it gives birth to ranks after all of them. Such a batch
   is applied as one.
3. While rules are frequent a batch is one pass over the text, which closes up the slots as it goes. When they are rare,
   each has a sorted list of the slots where it occurs. A token then keeps its slots, its id standing in the first and the last,
   so neighbours are found without links; a list entry may be stale and is checked before use.
4. Births and losses of a merge are summed by neighbour, and the pair table is asked once for each neighbour.

Sums are integers and each list is written by one thread in text order, so the number of threads never shows. Symbols,
alphabets and affixes are left to symbols and bpe; counting pairs to pair_counts.
"""
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from hftok._core.parallel cimport parallel_for
from hftok._core.training.pair_counts cimport count_pairs
from hftok._core.training.pair_index cimport (
    PairTable, kth_largest, pair_hash, pair_key, queue_drop_top, queue_free, queue_from_table, queue_push,
    queue_replace_top, queue_zero, table_append, table_find, table_free, table_reserve, table_zero)
from hftok._core.training.slots cimport (
    DEAD, FIRST_ID, GAP, Segment, WordSource, slot_t, slots_free, slots_gather, slots_layout, slots_used, slots_widen, slots_zero)
from hftok._core.training.token_strings cimport strings_free, strings_join, strings_zero

cdef extern from "training/relaxed.h":
    uint16_t load16 "hftok_load16"(const uint16_t *p) noexcept nogil
    uint32_t load32 "hftok_load32"(const uint32_t *p) noexcept nogil
    void store16 "hftok_store16"(uint16_t *p, uint16_t v) noexcept nogil
    void store32 "hftok_store32"(uint32_t *p, uint32_t v) noexcept nogil
    void prefetch "hftok_prefetch"(const void *p) noexcept nogil

cdef enum:
    IS_LEFT = 1
    IS_RIGHT = 2
    CODES = 65                  # 0, and one for each of the 64 rules that a pass can have at most
    PASS_RULES = 64
    NARROW_IDS = 65536          # internal ids that a uint16 slot can hold
    AHEAD = 16                  # how far list loops prefetch

cdef int64_t SUM_CELLS = 1 << 19        # cells of a worker's sums in a pass, a side (4 MiB)
cdef int64_t SPENT = INT64_MIN // 2     # count of a row whose pair has been merged


cdef int engine_init(Engine *e, int threads) noexcept nogil:
    """Everything empty, default settings. 0, or -1 without memory."""
    memset(e, 0, sizeof(Engine))
    slots_zero(&e.slots)
    strings_zero(&e.strings)
    table_zero(&e.table)
    queue_zero(&e.queue)
    e.threads = threads
    e.least = 1
    e.max_length = INT64_MAX
    e.memory_limit = INT64_MAX
    e.pass_share = 24
    e.batch_limit = 4096
    e.spare_rows = 16384
    e.sum_cells = SUM_CELLS
    e.serial_places = 16384
    e.dense_ids = 512
    e.threshold = INT64_MAX
    e.worker = <Worker *>calloc(<size_t>threads, sizeof(Worker))
    e.match = <uint8_t *>calloc(CODES * CODES, 1)
    return -1 if e.worker == NULL or e.match == NULL else 0


cdef int engine_load(Engine *e, const WordSource *words, const int64_t *used, int64_t n) noexcept nogil:
    """Lay out the words, when `strings` holds the initial vocabulary; `used` are the ids that occur in words.
    0, or -1 without memory."""
    cdef int64_t i
    if reserve_ids(e, e.strings.size + FIRST_ID + 1):
        return -1
    for i in range(n):
        e.live[used[i]] = 1
        e.length[used[i]] = 1
    return slots_layout(&e.slots, words, e.strings.size + FIRST_ID > NARROW_IDS)


cdef void engine_free(Engine *e) noexcept nogil:
    cdef int t
    for t in range(e.threads):
        if e.worker == NULL:
            break
        free(e.worker[t].left_sum)
        free(e.worker[t].right_sum)
        free(e.worker[t].left)
        free(e.worker[t].right)
        free(e.worker[t].touched)
        free(e.worker[t].loss)
        free(e.worker[t].birth)
        free_blocks(&e.worker[t])
    free(e.worker)
    free(e.match)
    slots_free(&e.slots)
    strings_free(&e.strings)
    free(e.live)
    free(e.length)
    free(e.span)
    free(e.role)
    free(e.left_code)
    free(e.right_code)
    free(e.merge)
    table_free(&e.table)
    queue_free(&e.queue)
    free(e.place)
    free(e.places)
    free(e.place_block)
    free(e.rule)
    free(e.segment_end)
    free(e.near)
    memset(e, 0, sizeof(Engine))


# Growing arrays


cdef inline int grow(void **p, int64_t old, int64_t new, size_t item, bint zeroed) noexcept nogil:
    cdef void *grown = realloc(p[0], <size_t>new * item)
    if grown == NULL:
        return -1
    p[0] = grown
    if zeroed:
        memset(<char *>grown + <size_t>old * item, 0, <size_t>(new - old) * item)
    return 0


cdef int reserve_ids(Engine *e, int64_t ids) noexcept nogil:
    """Room in all arrays by id for internal ids below `ids`."""
    cdef int64_t n = max(ids, e.id_capacity + (e.id_capacity >> 1), <int64_t>1024)
    cdef int64_t old = e.id_capacity
    cdef int64_t i
    cdef int t
    if ids <= old:
        return 0
    if (grow(<void **>&e.live, old, n, 1, True) or grow(<void **>&e.length, old, n, sizeof(int64_t), True)
            or grow(<void **>&e.span, old, n, sizeof(uint32_t), False) or grow(<void **>&e.role, old, n, 1, True)
            or grow(<void **>&e.left_code, old, n, 1, True) or grow(<void **>&e.right_code, old, n, 1, True)):
        return -1
    for t in range(e.threads):
        if (grow(<void **>&e.worker[t].left, old, n, sizeof(Neighbour), True)
                or grow(<void **>&e.worker[t].right, old, n, sizeof(Neighbour), True)
                or grow(<void **>&e.worker[t].touched, 0, 2 * n, sizeof(uint32_t), False)):
            return -1
    for i in range(old, n):
        e.span[i] = 1
    e.id_capacity = n
    return 0


cdef int reserve_rows(Engine *e, int64_t rows) noexcept nogil:
    cdef int64_t n = max(rows, e.row_capacity + (e.row_capacity >> 1))
    if rows <= e.row_capacity:
        return 0
    if (grow(<void **>&e.place, e.row_capacity, n, sizeof(uint32_t *), False)
            or grow(<void **>&e.places, e.row_capacity, n, sizeof(uint32_t), False)):
        return -1
    e.row_capacity = n
    return 0


cdef void free_blocks(Worker *w) noexcept nogil:
    cdef void *block = w.block
    cdef void *next
    while block != NULL:
        next = (<void **>block)[0]
        free(block)
        block = next
    w.block = NULL
    w.block_used = w.block_size = w.block_bytes = 0


cdef uint32_t *take_places(Worker *w, int64_t n) noexcept nogil:
    """Room for n list entries, until the lists are next made anew; NULL without memory."""
    cdef int64_t bytes = (n * 4 + 7) & ~<int64_t>7
    cdef int64_t size
    cdef void *block
    if w.block == NULL or w.block_used + bytes > w.block_size:
        size = max(bytes + 8, <int64_t>1 << 18)
        block = malloc(<size_t>size)
        if block == NULL:
            return NULL
        (<void **>block)[0] = w.block
        w.block = block
        w.block_used = 8
        w.block_size = size
        w.block_bytes += size
    w.block_used += bytes
    return <uint32_t *>(<char *>w.block + w.block_used - bytes)


# The loop


cdef int engine_run(Engine *e, int64_t work) noexcept nogil:
    """Make merges; returns with ENGINE_PAUSED after about `work` slots have been looked at. Any other status is final."""
    cdef int status
    cdef int64_t done = 0
    while done < work:
        if e.rules == 0:
            status = choose_batch(e)
            if status != ENGINE_DONE:
                return status
        if e.rules == 0:
            if e.strings.size >= e.vocab_size or e.threshold <= e.least:
                return ENGINE_DONE
            status = recount(e)
            done += 8 * slots_used(&e.slots)
        elif e.listed:
            status = apply_lists(e, &done)
        else:
            status = apply_pass(e, &done)
        if status != ENGINE_DONE:
            return status
    return ENGINE_PAUSED


cdef int64_t wanted_rows(const Engine *e) noexcept nogil:
    """How many pairs to keep: enough for the merges still to make, though crossed ones will lose occurrences meanwhile."""
    cdef int64_t left = e.vocab_size - e.strings.size
    left = min(left, <int64_t>1 << 28)
    return max(min(2 * left + e.spare_rows, e.memory_limit // 128), <int64_t>1)


cdef int choose_batch(Engine *e) noexcept nogil:
    """Take rules from the queue: the longest prefix of its order that holds no crossed pair, and what else ends a batch."""
    cdef int64_t limit = e.batch_limit
    cdef int64_t row, count, merged
    cdef uint64_t key
    cdef uint32_t left, right
    cdef bint fresh = False
    cdef Rule *rule
    cdef int64_t n = 0
    if not e.listed:
        limit = min(limit, <int64_t>PASS_RULES, max(e.sum_cells // (e.strings.size + FIRST_ID + PASS_RULES), <int64_t>1))
    while n < limit and e.strings.size < e.vocab_size and e.queue.size:
        row = e.queue.entry[0].row
        count = e.table.count[row]
        if count != e.queue.entry[0].count:
            if count >= e.threshold:
                queue_replace_top(&e.queue, count)
            else:
                queue_drop_top(&e.queue)     # a later recount will find it
            continue
        key = e.table.key[row]
        left = <uint32_t>(key >> 32)
        right = <uint32_t>key
        if n and (left == right or e.role[left] & IS_RIGHT or e.role[right] & IS_LEFT):
            break
        if not e.slots.wide and e.strings.size + FIRST_ID >= NARROW_IDS:
            if n:
                break
            if slots_widen(&e.slots):
                return ENGINE_NO_MEMORY
        if reserve_ids(e, e.strings.size + FIRST_ID + 1) or reserve_merges(e):
            return ENGINE_NO_MEMORY
        if n == e.rule_capacity:
            if grow(<void **>&e.rule, 0, max(2 * n, <int64_t>64), sizeof(Rule), False):
                return ENGINE_NO_MEMORY
            e.rule_capacity = max(2 * n, <int64_t>64)
        merged = strings_join(&e.strings, left - FIRST_ID, right - FIRST_ID, e.prefix, e.prefix_size, &fresh)
        if merged < 0:
            return ENGINE_NO_MEMORY
        if not fresh:
            # A token that is live: this pair would be merged into ids that other pairs are made of. A special token that
            # nothing has made yet: the merge takes its id, which is lower than the batch's order allows for.
            if n:
                break
            if e.live[merged]:
                return ENGINE_COLLISION
        rule = &e.rule[n]
        rule.left = left
        rule.right = right
        rule.made = <uint32_t>(merged + FIRST_ID)
        rule.row = row
        rule.place = e.place[row] if e.listed else NULL
        rule.places = e.places[row] if e.listed else 0
        rule.losses = rule.births = 0
        if n == 0:
            e.first_made = rule.made
        e.live[merged] = 1
        e.length[merged] = e.length[left - FIRST_ID] + e.length[right - FIRST_ID]
        e.span[rule.made] = e.span[left] + e.span[right]
        e.role[left] |= IS_LEFT
        e.role[right] |= IS_RIGHT
        e.table.count[row] = SPENT
        queue_drop_top(&e.queue)
        e.merge[3 * e.merges] = left - FIRST_ID
        e.merge[3 * e.merges + 1] = right - FIRST_ID
        e.merge[3 * e.merges + 2] = <uint32_t>merged
        e.merges += 1
        n += 1
        if left == right or not fresh:
            break
    e.rules = n
    e.row_width = e.strings.size + FIRST_ID
    e.batches += n > 0
    return ENGINE_DONE


cdef void end_batch(Engine *e) noexcept nogil:
    cdef int64_t i
    for i in range(e.rules):
        e.role[e.rule[i].left] = 0
        e.role[e.rule[i].right] = 0
    e.rules = 0


cdef int reserve_merges(Engine *e) noexcept nogil:
    cdef int64_t n
    if e.merges < e.merge_capacity:
        return 0
    n = max(2 * e.merge_capacity, <int64_t>1024)
    if grow(<void **>&e.merge, 0, 3 * n, sizeof(uint32_t), False):
        return -1
    e.merge_capacity = n
    return 0


cdef inline bint made_now(const Engine *e, uint32_t id) noexcept nogil:
    """Whether the batch in work makes this id."""
    return <uint32_t>(id - e.first_made) < <uint32_t>e.rules


cdef inline bint born(const Engine *e, uint32_t left, uint32_t right, int64_t count) noexcept nogil:
    """Whether a newborn pair is to be kept. Its length is checked now, once (`merge` of models/bpe/word.rs)."""
    return count >= e.threshold and e.length[left - FIRST_ID] + e.length[right - FIRST_ID] < e.max_length


cdef int recount(Engine *e) noexcept nogil:
    """The queue has run dry above its threshold: count again with a lower one."""
    cdef int64_t below = e.threshold
    if slots_gather(&e.slots, e.span if e.listed else NULL):
        return ENGINE_NO_MEMORY
    drop_lists(e)
    if count_pairs(&e.slots, e.strings.size + FIRST_ID, wanted_rows(e), e.least, below, e.threads, e.dense_ids, &e.table, &e.threshold):
        return ENGINE_NO_MEMORY
    if e.max_length < INT64_MAX and e.merges:
        forget_long(e)
    e.scans += 1
    e.row_limit = 4 * wanted_rows(e)
    if queue_from_table(&e.queue, &e.table, e.threshold):
        return ENGINE_NO_MEMORY
    return fill_lists(e) if e.listed else ENGINE_DONE


cdef void forget_long(Engine *e) noexcept nogil:
    """A count from scratch finds pairs that were refused at their birth for their length: they must not come back. Two initial
    symbols are always a pair."""
    cdef int64_t i, a, b
    for i in range(e.table.rows):
        a = e.length[(e.table.key[i] >> 32) - FIRST_ID]
        b = e.length[(e.table.key[i] & <uint64_t>0xFFFFFFFF) - FIRST_ID]
        if a + b > 2 and a + b >= e.max_length:
            e.table.count[i] = SPENT


cdef void drop_lists(Engine *e) noexcept nogil:
    cdef int t
    free(e.place_block)
    e.place_block = NULL
    for t in range(e.threads):
        free_blocks(&e.worker[t])


cdef int prune(Engine *e) noexcept nogil:
    """Too many rows: raise the threshold so that only those are left that may still be wanted."""
    cdef int64_t n = 0
    cdef int64_t i
    cdef int64_t wanted = wanted_rows(e)
    cdef int64_t *count = <int64_t *>malloc(<size_t>(e.table.rows + 1) * sizeof(int64_t))
    cdef PairTable kept
    if count == NULL:
        return -1
    for i in range(e.table.rows):
        if e.table.count[i] >= e.threshold:
            count[n] = e.table.count[i]
            n += 1
    if n > wanted:
        e.threshold = max(e.threshold, kth_largest(count, n, wanted))
    free(count)
    table_zero(&kept)
    if table_reserve(&kept, 1):
        return -1
    n = 0
    for i in range(e.table.rows):
        if e.table.count[i] >= e.threshold:
            if table_append(&kept, e.table.key[i], e.table.count[i]) < 0:
                table_free(&kept)
                return -1
            if e.listed:
                e.place[n] = e.place[i]
                e.places[n] = e.places[i]
            n += 1
    table_free(&e.table)
    e.table = kept
    e.row_limit = max(4 * wanted, 2 * n)
    return queue_from_table(&e.queue, &e.table, e.threshold)


# Passes


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
    parallel_for(pass_chunk, e, e.slots.chunks, e.threads if used >= 4 * e.serial_places else 1)
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
        if slots_gather(&e.slots, NULL):
            return ENGINE_NO_MEMORY
        done[0] += 16 * used
        return fill_lists(e)
    return ENGINE_DONE


cdef int64_t pass_segment(Engine *e, Worker *w, slot_t *s, const Segment *g, int64_t out) noexcept nogil:
    """Rewrite one segment in place from slot `out` on (at or before its start); returns where the next one goes."""
    cdef const uint8_t *left_code = e.left_code
    cdef const uint8_t *right_code = e.right_code
    cdef const uint8_t *match = e.match
    cdef const Rule *rule = e.rule
    cdef int64_t *left_sum = w.left_sum
    cdef int64_t *right_sum = w.right_sum
    cdef int64_t width = e.row_width
    cdef int64_t weight = g.weight
    cdef int64_t i = g.start
    cdef int64_t end = g.start + g.size
    cdef int64_t word = out
    cdef int64_t applied = 0
    cdef int64_t made = -1          # the rule that made the token before, or -1
    cdef slot_t before = GAP
    cdef slot_t t
    cdef int code, r
    while i < end:
        t = s[i]
        code = left_code[t]
        if code:
            r = match[code * CODES + right_code[s[i + 1]]]
            if r:
                made = r - 1
                left_sum[made * width + before] += weight
                before = <slot_t>rule[made].made
                s[out] = before
                out += 1
                i += 2
                applied += 1
                continue
        if made >= 0:
            right_sum[made * width + t] += weight
            made = -1
        s[out] = t
        out += 1
        i += 1
        before = t
        if t == GAP:
            if out - word == 2:
                out = word           # the word is one token now and holds no pair any more
            word = out
    w.applied += applied
    return out


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


cdef int64_t add_row(Engine *e, uint64_t key, int64_t count) noexcept nogil:
    """A newborn pair; its row, or -1 without memory."""
    cdef int64_t row = table_append(&e.table, key, count)
    if row < 0 or queue_push(&e.queue, count, key, row):
        return -1
    return row


# Lists


cdef struct Fill:
    Engine *engine
    int64_t parts
    uint32_t *counts            # parts x rows: how many entries a part has for a row, then where they go
    bint writing


cdef void fill_part_slots(Fill *f, const slot_t *s, int64_t start, int64_t end, uint32_t *count) noexcept nogil:
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


cdef void fill_part(void *ctx, int64_t i, int thread) noexcept nogil:
    cdef Fill *f = <Fill *>ctx
    cdef Engine *e = f.engine
    cdef int64_t used = slots_used(&e.slots)
    cdef int64_t start = 1 + used * i // f.parts
    cdef int64_t end = 1 + used * (i + 1) // f.parts
    if end > used:
        end = used               # the last slot is a GAP
    if e.slots.wide:
        fill_part_slots(f, <const uint32_t *>e.slots.data, start, end, f.counts + i * e.table.rows)
    else:
        fill_part_slots(f, <const uint16_t *>e.slots.data, start, end, f.counts + i * e.table.rows)


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
    if f.counts == NULL:
        return ENGINE_NO_MEMORY
    parallel_for(fill_part, &f, f.parts, e.threads)
    rows = e.table.rows
    total = 0
    for i in range(rows):
        n = 0
        for p in range(f.parts):
            n += f.counts[p * rows + i]
        e.places[i] = <uint32_t>n
        total += n
    if total > e.memory_limit // 8:
        i = limit_places(e, e.memory_limit // 8, &total)
        if i:
            free(f.counts)
            return ENGINE_NO_MEMORY
    e.place_block = <uint32_t *>malloc(<size_t>(total + 1) * sizeof(uint32_t))
    e.place_block_size = total
    if e.place_block == NULL:
        free(f.counts)
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
    parallel_for(fill_part, &f, f.parts, e.threads)
    free(f.counts)
    return ENGINE_DONE


cdef int limit_places(Engine *e, int64_t most, int64_t *total) noexcept nogil:
    """Raise the threshold until the lists have at most `most` entries, but keep the most frequent pairs in any case."""
    cdef int64_t n = e.queue.size
    cdef int64_t i, last
    cdef int64_t *count = <int64_t *>malloc(<size_t>(n + 1) * sizeof(int64_t))
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


cdef int apply_lists(Engine *e, int64_t *done) noexcept nogil:
    """Apply the batch through the occurrence lists."""
    cdef int64_t i, k, places = 0, births = 0
    cdef int64_t bytes = 0
    cdef Rule *rule
    cdef Worker *w
    cdef Birth *b
    cdef int64_t row
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
    parallel_for(rewrite_rule, e, e.rules, threads)
    parallel_for(survey_rule, e, e.rules, threads)
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
    # Lists of the past are freed by making all lists anew, which the closed-up text makes shorter.
    if bytes > max(8 * e.place_block_size, <int64_t>1 << 24) or bytes > max(e.memory_limit // 2, <int64_t>1 << 20):
        if slots_gather(&e.slots, e.span):
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
            prefetch(&w.left[near[2 * (i + AHEAD)]])
            prefetch(&w.right[near[2 * (i + AHEAD) + 1]])
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
        x = w.touched[i]
        if x == GAP or failed:
            continue
        failed |= note_loss(e, w, pair_key(e.rule[x - e.first_made].right if made_now(e, x) else x, rule.left), w.left[x].weight)
        if born(e, x, rule.made, w.left[x].weight):
            failed |= note_birth(w, rule, &w.left[x], pair_key(x, rule.made))
    for i in range(rights):
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
