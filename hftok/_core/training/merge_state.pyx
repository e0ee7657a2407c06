"""The state of the textbook merge engine: its arrays, its rows, and what its parts have in common.

What it does: sets up and frees an Engine, grows its arrays, adds rows for newborn pairs and drops rows that will hardly be wanted
(`prune`, which raises the threshold). How merges are chosen is merge_engine's, how they are applied that of merge_passes and
merge_lists.
"""
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from hftok._core.training.pair_index cimport (
    PairTable, kth_largest, queue_free, queue_from_table, queue_push, queue_zero, table_append, table_free, table_reserve,
    table_zero)
from hftok._core.training.slots cimport FIRST_ID, WordSource, slots_free, slots_layout, slots_zero
from hftok._core.training.token_strings cimport strings_free, strings_zero


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
    e.sum_cells = 1 << 19            # 4 MiB
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
    return slots_layout(&e.slots, words, e.strings.size + FIRST_ID > NARROW_IDS, e.watch)


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


cdef int reserve_merges(Engine *e) noexcept nogil:
    cdef int64_t n
    if e.merges < e.merge_capacity:
        return 0
    n = max(2 * e.merge_capacity, <int64_t>1024)
    if grow(<void **>&e.merge, 0, 3 * n, sizeof(uint32_t), False):
        return -1
    e.merge_capacity = n
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


cdef void drop_lists(Engine *e) noexcept nogil:
    cdef int t
    free(e.place_block)
    e.place_block = NULL
    for t in range(e.threads):
        free_blocks(&e.worker[t])


# Rows


cdef int64_t wanted_rows(const Engine *e) noexcept nogil:
    """How many pairs to keep: enough for the merges still to make, though crossed ones will lose occurrences meanwhile."""
    cdef int64_t left = e.vocab_size - e.strings.size
    left = min(left, <int64_t>1 << 28)
    return max(min(2 * left + e.spare_rows, e.memory_limit // 800), <int64_t>1)


cdef int64_t add_row(Engine *e, uint64_t key, int64_t count) noexcept nogil:
    """A newborn pair; its row, or -1 without memory."""
    cdef int64_t row = table_append(&e.table, key, count)
    if row < 0 or queue_push(&e.queue, count, key, row):
        return -1
    return row


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


cdef void end_batch(Engine *e) noexcept nogil:
    cdef int64_t i
    for i in range(e.rules):
        e.role[e.rule[i].left] = 0
        e.role[e.rule[i].right] = 0
    e.rules = 0
