# Operations on whole Encodings (part of encoding.pyx): copy, window, truncate, merge, pad. None changes its arguments; each
# gives a new Encoding, which shares blocks with them where it can. Rules: Encoding::truncate, merge_with and pad of the
# reference's tokenizer/encoding.rs. Left to others: arguments and errors of the public methods (the class).

cdef Encoding encoding_copy(Encoding e):
    # Blocks, the token list and the overflowing Encodings are never written after they are made: all are shared.
    cdef Encoding c = new_encoding(0)
    with cython.critical_section(e):
        c.n = e.n
        block_keep(e.rows)
        block_keep(e.spans)
        c.rows = e.rows
        c.spans = e.spans
        c.id_column = e.id_column
        c.type_id_column = e.type_id_column
        c.special_column = e.special_column
        c.attention_column = e.attention_column
        c.offset_pairs = e.offset_pairs
        c.word_column = e.word_column
        c.token_list = e.token_list
        c.overflow = e.overflow
        c.source = e.source
        c.key = e.key
        c.lazy = e.lazy
        copy_ranges(c, e, 0)
    return c


cdef Encoding window(Encoding e, Py_ssize_t start, Py_ssize_t stop):
    """Tokens [start, stop) of a materialized Encoding: columns shared, no ranges, no overflowing."""
    cdef Encoding w = new_encoding(stop - start)
    block_keep(e.rows)
    block_keep(e.spans)
    w.rows = e.rows
    w.spans = e.spans
    w.id_column = window_of(e.id_column, start)
    w.type_id_column = window_of(e.type_id_column, start)
    w.special_column = window_of(e.special_column, start)
    w.attention_column = window_of(e.attention_column, start)
    if e.offset_pairs != NULL:
        w.offset_pairs = e.offset_pairs + 2 * start
    if e.word_column != NULL:
        w.word_column = e.word_column + start
    w.token_list = e.token_list[start:stop]
    return w


cdef Encoding encoding_truncated(Encoding e, uint64_t max_length, uint64_t stride, bint left):
    cdef Encoding result
    cdef Py_ssize_t n = e.n, step, start, stop, width
    cdef list windows
    if max_length >= <uint64_t>n:
        return encoding_copy(e)
    if max_length == 0:
        # The whole Encoding, with its own overflowing, becomes the only overflowing piece of an empty one.
        result = new_encoding(0)
        result.token_list = []
        result.overflow = [encoding_copy(e)]
        return result
    if stride >= max_length:
        raise ValueError(
            f"the stride ({stride}) must be smaller than the number of tokens that one piece may hold ({max_length}, after the "
            "special tokens were subtracted from max_length): lower the stride or raise max_length")
    e.materialize(LAZY_ALL)
    width = <Py_ssize_t>max_length
    step = <Py_ssize_t>(max_length - stride)
    windows = []
    if left:
        stop = n
        while True:
            start = stop - width if stop > width else 0
            windows.append(window(e, start, stop))
            if start == 0:
                break
            stop -= step
    else:
        start = 0
        while True:
            stop = start + width if n - start > width else n
            windows.append(window(e, start, stop))
            if stop == n:
                break
            start += step
    result = <Encoding>windows[0]
    encoding_set_overflowing(result, windows[1:])
    return result


cdef Encoding encoding_join(list parts, bint growing_offsets):
    cdef Encoding e, part
    cdef uint64_t n = 0, offset
    cdef Py_ssize_t i, k
    cdef uint32_t *rows = NULL
    cdef uint64_t *pairs = NULL
    cdef int64_t *words = NULL
    cdef list tokens = []
    cdef uint64_t *pair
    for part in parts:
        part.materialize(LAZY_ALL)
        n += <uint64_t>part.n
    e = new_encoding(<Py_ssize_t>n)
    e.token_list = tokens
    if n:
        e.rows = new_block(n, 4 * sizeof(uint32_t))
        e.spans = new_block(n, 3 * sizeof(uint64_t))
        rows = <uint32_t *>block_data(e.rows)
        pairs = <uint64_t *>block_data(e.spans)
        words = <int64_t *>(pairs + 2 * n)
        e.id_column.data = rows
        e.type_id_column.data = rows + n
        e.special_column.data = rows + 2 * n
        e.attention_column.data = rows + 3 * n
        e.offset_pairs = pairs
        e.word_column = words
    k = 0
    for part in parts:
        copy_ranges(e, part, <uint64_t>k)
        if part.n == 0:
            continue
        tokens.extend(part.token_list)
        write_column(rows + k, part.id_column, part.n)
        write_column(rows + n + k, part.type_id_column, part.n)
        write_column(rows + 2 * n + k, part.special_column, part.n)
        write_column(rows + 3 * n + k, part.attention_column, part.n)
        offset = pairs[2 * k - 1] if growing_offsets and k else 0
        pair = pairs + 2 * k
        for i in range(part.n):
            pair[2 * i] = offset + (part.offset_pairs[2 * i] if part.offset_pairs != NULL else 0)
            pair[2 * i + 1] = offset + (part.offset_pairs[2 * i + 1] if part.offset_pairs != NULL else 0)
            words[k + i] = part.word_column[i] if part.word_column != NULL else -1
        k += part.n
    return e


cdef Encoding merge_two(Encoding a, Encoding b, bint growing_offsets):
    # Encoding::merge_with. Every piece of one side meets the other side and all its pieces; since the side that is
    # met keeps its own pieces, the results have overflowing pieces of their own.
    cdef Encoding result, x, y
    cdef list overflow = []
    if a.n == 0 and a.overflow is None and a.n_ranges == 0:
        return encoding_copy(b)
    Py_EnterRecursiveCall(" while merging overflowing encodings")
    try:
        if a.overflow is not None:
            for x in a.overflow:
                overflow.append(merge_two(x, b, growing_offsets))
                if b.overflow is not None:
                    for y in b.overflow:
                        overflow.append(merge_two(x, y, growing_offsets))
        if b.overflow is not None:
            for y in b.overflow:
                overflow.append(merge_two(a, y, growing_offsets))
    finally:
        Py_LeaveRecursiveCall()
    result = encoding_join([a, b], growing_offsets)
    encoding_set_overflowing(result, overflow)
    return result


cdef Encoding encoding_merge(list parts, bint growing_offsets):
    cdef Encoding part, result
    cdef Py_ssize_t i, at = -1, with_pieces = 0
    cdef list overflow, others
    if len(parts) == 1:
        return encoding_copy(<Encoding>parts[0])
    for i, part in enumerate(parts):
        if part.overflow is not None:
            with_pieces += 1
            at = i
    if with_pieces == 0:
        return encoding_join(parts, growing_offsets)
    if with_pieces == 1:
        # What merging two by two comes to when only one part has pieces: each piece in the part's place.
        overflow = []
        others = parts[:]
        Py_EnterRecursiveCall(" while merging overflowing encodings")
        try:
            for part in (<Encoding>parts[at]).overflow:
                others[at] = part
                overflow.append(encoding_merge(others, growing_offsets))
        finally:
            Py_LeaveRecursiveCall()
        result = encoding_join(parts, growing_offsets)
        encoding_set_overflowing(result, overflow)
        return result
    result = encoding_join([], growing_offsets)
    for part in parts:
        result = merge_two(result, part, growing_offsets)
    return result


cdef inline void pad_column(
    Column *c, uint32_t *room, Column old, Py_ssize_t n, Py_ssize_t pads, uint32_t value, bint left) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t *out = room
    if old.data == NULL and (old.value == value or n == 0):
        c[0] = constant_column(value)
        return
    if not left:
        write_column(out, old, n)
        out += n
    for i in range(pads):
        out[i] = value
    if left:
        write_column(out + pads, old, n)
    c.data = room


cdef Encoding encoding_padded(Encoding e, uint64_t length, uint32_t pad_id, uint32_t pad_type_id, str pad_token, bint left):
    cdef Encoding p, piece
    cdef list overflow = None
    cdef Py_ssize_t pads, n = e.n, at
    cdef uint32_t *rows
    cdef uint64_t *pairs
    cdef int64_t *words
    cdef size_t total
    cdef list padding
    if e.overflow is not None:
        overflow = []
        Py_EnterRecursiveCall(" while padding overflowing encodings")
        try:
            for piece in e.overflow:
                overflow.append(encoding_padded(piece, length, pad_id, pad_type_id, pad_token, left))
        finally:
            Py_LeaveRecursiveCall()
    if <uint64_t>n >= length:
        p = encoding_copy(e)
        encoding_set_overflowing(p, overflow)
        return p
    e.materialize(LAZY_ALL)
    if length > MAX_TOKENS:
        raise MemoryError(f"no memory to pad an Encoding to {length} tokens")
    total = <size_t>length
    pads = <Py_ssize_t>length - n
    p = new_encoding(<Py_ssize_t>length)
    try:
        padding = [pad_token] * pads
        p.token_list = padding + e.token_list if left else e.token_list + padding
        p.rows = new_block(length, 4 * sizeof(uint32_t))
        p.spans = new_block(length, 3 * sizeof(uint64_t))
    except MemoryError:
        raise MemoryError(f"no memory to pad an Encoding to {length} tokens") from None
    rows = <uint32_t *>block_data(p.rows)
    pad_column(&p.id_column, rows, e.id_column, n, pads, pad_id, left)
    pad_column(&p.type_id_column, rows + total, e.type_id_column, n, pads, pad_type_id, left)
    pad_column(&p.special_column, rows + 2 * total, e.special_column, n, pads, 1, left)
    pad_column(&p.attention_column, rows + 3 * total, e.attention_column, n, pads, 0, left)
    at = pads if left else 0
    pairs = <uint64_t *>block_data(p.spans)
    words = <int64_t *>(pairs + 2 * total)
    fill_spans(pairs, words, 0, at, NULL, NULL)
    fill_spans(pairs, words, at, n, e.offset_pairs, e.word_column)
    fill_spans(pairs, words, at + n, pads - at, NULL, NULL)
    p.offset_pairs = pairs
    p.word_column = words
    copy_ranges(p, e, <uint64_t>at)
    encoding_set_overflowing(p, overflow)
    return p


cdef inline void fill_spans(
    uint64_t *pairs, int64_t *words, Py_ssize_t at, Py_ssize_t n, const uint64_t *offsets, const int64_t *numbers) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        pairs[2 * (at + i)] = offsets[2 * i] if offsets != NULL else 0
        pairs[2 * (at + i) + 1] = offsets[2 * i + 1] if offsets != NULL else 0
        words[at + i] = numbers[i] if numbers != NULL else -1
