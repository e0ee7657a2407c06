"""The BPE merge loop where no string can be made in two ways: exact, in batches, by threads.

What it does: from words laid out as slots it makes merges in the reference's order (do_train in models/bpe/trainer.rs: highest
count, then lowest left id, then lowest right id) until the vocabulary is full or no pair is frequent enough. Four facts carry it:

1. A string is made by one pair only. So a pair is born in one step, its count only falls afterwards, and a newborn pair below
   a threshold that the queue never falls under can be forgotten (`threshold`; when the queue runs dry the text is counted
   again with a lower one, until min_frequency). Should a merge ever form a token that exists, the engine stops with
   ENGINE_COLLISION and the caller turns to affix_engine, which follows the reference there; only affixes can cause it.
2. Rules taken from the top of the queue, none of which has as its left id another's right id (two that do are crossed),
   cannot disturb each other. Applying (a, b) changes only counts of pairs (x, a) and (b, y), which are crossed with it and
   so not in the batch. A newborn (x, ab) is not more frequent than (x, a) was, which ranks after the batch; where the
   counts are equal it still ranks after, for the new id is higher than a. In the same way (ab, y), after (b, y). Such a
   batch is applied as one. An id that is not new (a special token's) breaks the argument, and (a, a) is crossed with itself:
   each goes alone.
3. While rules are frequent a batch is one pass over the text, which closes up the slots as it goes. When they are rare, each
   has a sorted list of the slots where it occurs. A token then keeps its slots, its id standing in the first and the last,
   so neighbours are found without links; a list entry may be stale and is checked before use.
4. Births and losses of a merge are summed by neighbour, and the pair table is asked once for each neighbour.

Sums are integers and each list is written by one thread in text order, so the number of threads never shows. Passes are
merge_passes, lists merge_lists, arrays and rows merge_state; initial symbols are left to symbols, counting pairs to pair_counts.
"""
from libc.stdint cimport INT64_MAX, INT64_MIN, int64_t, uint32_t, uint64_t

from hftok._core.training.merge_lists cimport apply_lists, fill_lists
from hftok._core.training.merge_passes cimport apply_pass
from hftok._core.training.merge_state cimport (
    ENGINE_COLLISION, ENGINE_DONE, ENGINE_NO_MEMORY, ENGINE_PAUSED, Engine, IS_LEFT, IS_RIGHT, NARROW_IDS, PASS_RULES, Rule,
    drop_lists, grow, reserve_ids, reserve_merges, wanted_rows)
from hftok._core.training.pair_counts cimport count_pairs
from hftok._core.training.pair_index cimport queue_drop_top, queue_from_table, queue_replace_top
from hftok._core.training.slots cimport FIRST_ID, slots_gather, slots_used, slots_widen
from hftok._core.training.token_strings cimport strings_join

cdef int64_t SPENT = INT64_MIN // 2     # count of a row whose pair has been merged


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


cdef int recount(Engine *e) noexcept nogil:
    """The queue has run dry above its threshold: count again with a lower one."""
    cdef int64_t below = e.threshold
    if slots_gather(&e.slots, e.span if e.listed else NULL, e.watch):
        return ENGINE_NO_MEMORY
    drop_lists(e)
    if count_pairs(&e.slots, e.strings.size + FIRST_ID, wanted_rows(e), e.least, below, e.threads, e.dense_ids, &e.table,
                   &e.threshold, e.watch):
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
