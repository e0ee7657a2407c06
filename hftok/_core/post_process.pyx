"""Post-processing: from the Encodings of one or two sequences to the final one.

What it does: truncates, adds special tokens by one of the reference's post-processors, merges the sequences and pads,
all on Encoding objects. Input Encodings are never changed (pad_encodings excepted, whose purpose it is).
Rules of the reference: TokenizerImpl::post_process (tokenizer/mod.rs), truncate_encodings (utils/truncation.rs),
pad_encodings (utils/padding.rs), processors/{bert,roberta,template,sequence}.rs, process_offsets
(pre_tokenizers/byte_level.rs). Where they panic there is a ValueError that says what is wrong.
Left to others: the Encoding and its operations (encoding.pyx); checks at the time a setting is made (tokenizer).

A processor comes as a spec, nested tuples:
    ("BertProcessing", (sep, id), (cls, id))
    ("RobertaProcessing", (sep, id), (cls, id), trim_offsets, add_prefix_space)
    ("ByteLevel", add_prefix_space, trim_offsets, use_regex)
    ("TemplateProcessing", single, pair, special_tokens[, (added_single, added_pair)])
        single, pair: pieces ("A", type_id), ("B", type_id) or ("special", name, type_id)
        special_tokens: {name: (ids, tokens)}; the numbers of added tokens are counted unless given
    ("Sequence", (spec, ...))
    None: no processor
Truncation is None, (max_length, stride, strategy, direction) or the mapping that Tokenizer.truncation gives; padding is
None, (length or None, direction, pad_to_multiple_of or None, pad_id, pad_type_id, pad_token) or Tokenizer.padding.
"""
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from hftok._core.arguments cimport bool_argument, str_argument, str_list_argument, u32_argument, u32_array_argument, usize_argument
from hftok._core.encoding cimport (
    LAZY_ALL, Block, Column, Encoding, block_data, block_drop, block_new, encoding_copy, encoding_from_arrays, encoding_join,
    encoding_merge, encoding_padded, encoding_set_overflowing, encoding_set_range, encoding_truncated)


cdef enum Kind:
    BERT
    ROBERTA
    BYTE_LEVEL
    TEMPLATE


cdef class Stage:
    """One processor of a program."""
    cdef Kind kind
    cdef str sep, cls
    cdef uint32_t sep_id, cls_id
    cdef bint trim_offsets, add_prefix_space
    cdef list single, pair      # pieces: (0 or 1, type_id) for a sequence, (2, Encoding of a special token or its missing name)


cdef class PostProcessorProgram:
    """A post-processor made ready to run.

    >>> from hftok._core.post_process import PostProcessorProgram
    >>> PostProcessorProgram(("BertProcessing", ("[SEP]", 102), ("[CLS]", 101))).added_tokens(is_pair=True)
    3
    """

    def __init__(self, spec):
        """`spec` as described in the module; ValueError or TypeError where it is none."""
        self.spec = spec
        self.stages = []
        self.added_single = self.added_pair = 0
        if spec is not None:
            _compile(self, spec)

    cdef uint64_t added(self, bint is_pair) noexcept:
        return self.added_pair if is_pair else self.added_single

    def added_tokens(self, is_pair):
        """How many special tokens the program adds to one sequence or to a pair, int."""
        return self.added(is_pair)

    cdef list run(self, list encodings, bint add_special_tokens):
        # PostProcessor::process_encodings. The list and its Encodings are the caller's own copies; they change.
        cdef Stage stage
        for stage in self.stages:
            if stage.kind == BERT:
                if add_special_tokens:
                    encodings = _add_cls_sep(stage, encodings, False)
            elif stage.kind == ROBERTA:
                if stage.trim_offsets:
                    encodings = _trim(encodings, stage.add_prefix_space)
                _set_type_ids(encodings, 0)
                if add_special_tokens:
                    encodings = _add_cls_sep(stage, encodings, True)
            elif stage.kind == BYTE_LEVEL:
                if stage.trim_offsets:
                    encodings = _trim(encodings, stage.add_prefix_space)
                _set_sequence_ids(encodings)
            else:
                encodings = _apply_template(stage, encodings, add_special_tokens)
        return encodings

    def process(self, Encoding encoding not None, Encoding pair=None, bint add_special_tokens=True):
        """PostProcessor.process of the reference: the final Encoding of one sequence or a pair."""
        return process_encodings(self, encoding, pair, add_special_tokens)


# --- specs -----------------------------------------------------------------------------------------------------------

cdef int _compile(PostProcessorProgram program, object spec) except -1:
    cdef Stage stage = Stage.__new__(Stage)
    if not isinstance(spec, tuple) or not spec:
        raise ValueError(f"a post-processor's spec is a tuple that starts with its name, not {spec!r}")
    kind, *rest = spec
    if kind == "Sequence" and len(rest) == 1:
        for part in rest[0]:
            _compile(program, part)
        return 0
    if kind == "BertProcessing" and len(rest) == 2:
        stage.kind = BERT
        _compile_cls_sep(stage, rest[0], rest[1])
        program.added_single += 2
        program.added_pair += 3
    elif kind == "RobertaProcessing" and len(rest) == 4:
        stage.kind = ROBERTA
        _compile_cls_sep(stage, rest[0], rest[1])
        stage.trim_offsets = bool_argument(rest[2], "trim_offsets")
        stage.add_prefix_space = bool_argument(rest[3], "add_prefix_space")
        program.added_single += 2
        program.added_pair += 4
    elif kind == "ByteLevel" and len(rest) == 3:
        stage.kind = BYTE_LEVEL
        stage.add_prefix_space = bool_argument(rest[0], "add_prefix_space")
        stage.trim_offsets = bool_argument(rest[1], "trim_offsets")
        bool_argument(rest[2], "use_regex")
    elif kind == "TemplateProcessing" and len(rest) in (3, 4):
        stage.kind = TEMPLATE
        used = {piece[1] for piece in (*rest[0], *rest[1]) if piece[0] == "special"}
        specials = {name: _special_token(ids, tokens) for name, (ids, tokens) in rest[2].items() if name in used}
        stage.single = [_piece(piece, specials) for piece in rest[0]]
        stage.pair = [_piece(piece, specials) for piece in rest[1]]
        counts = rest[3] if len(rest) == 4 else (_count_added(stage.single), _count_added(stage.pair))
        program.added_single += usize_argument(counts[0], "added_single")
        program.added_pair += usize_argument(counts[1], "added_pair")
    else:
        raise ValueError(f"there is no post-processor {kind!r} with {len(rest)} parameters")
    program.stages.append(stage)
    return 0


cdef int _compile_cls_sep(Stage stage, object sep, object cls) except -1:
    token, number = sep
    stage.sep = str_argument(token, "sep")
    stage.sep_id = u32_argument(number, "sep")
    token, number = cls
    stage.cls = str_argument(token, "cls")
    stage.cls_id = u32_argument(number, "cls")
    return 0


cdef Encoding _special_token(object ids, object tokens):
    cdef Py_ssize_t n
    cdef uint32_t *numbers
    cdef list strings = str_list_argument(tokens, "tokens")
    numbers = u32_array_argument(ids, "ids", &n)
    try:
        if n != len(strings):
            raise ValueError("SpecialToken: ids and tokens must be of the same length")
        return encoding_from_arrays(n, numbers, NULL, 0, NULL, 1, NULL, 1, NULL, NULL, strings)
    finally:
        free(numbers)


cdef tuple _piece(object piece, dict specials):
    if piece[0] == "special" and len(piece) == 3:
        name, type_id = piece[1:]
        if name not in specials:
            return 2, name      # panics in the reference, but only when it is used
        special = encoding_copy(<Encoding>specials[name])
        (<Encoding>special).type_id_column = _constant(u32_argument(type_id, "type_id"))
        return 2, special
    if piece[0] in ("A", "B") and len(piece) == 2:
        return int(piece[0] == "B"), u32_argument(piece[1], "type_id")
    raise ValueError(f"{piece!r} is no piece of a template: it must be ('A', type_id), ('B', type_id) or ('special', name, type_id)")


cdef Py_ssize_t _count_added(list pieces) except -1:
    cdef Py_ssize_t n = 0
    for kind, what in pieces:
        if kind == 2 and isinstance(what, Encoding):
            n += (<Encoding>what).n
    return n


# --- stages ----------------------------------------------------------------------------------------------------------

cdef inline Column _constant(uint32_t value) noexcept nogil:
    cdef Column c
    c.data = NULL
    c.value = value
    return c


cdef int _set_type_ids(list encodings, uint32_t type_id) except -1:
    cdef Encoding e
    for e in encodings:
        e.type_id_column = _constant(type_id)
    return 0


cdef int _set_sequence_ids(list encodings) except -1:
    cdef Encoding e
    cdef uint64_t i = 0
    for e in encodings:
        encoding_set_range(e, i, 0, <uint64_t>e.n)
        i += 1
    return 0


cdef list _add_cls_sep(Stage stage, list encodings, bint roberta):
    # The first Encoding becomes cls A sep; every other one A sep (Bert, type id 1) or sep A sep (Roberta). Special
    # tokens are left out of the sequence's range. Pieces get the same, and lose pieces of their own.
    cdef Encoding e, piece, done
    cdef list result = [], pieces
    cdef bint first = True
    for e in encodings:
        done = _wrapped(stage, e, first, roberta, False)
        if e.overflow is not None:
            pieces = []
            for piece in e.overflow:
                pieces.append(_wrapped(stage, piece, first, roberta, True))
            encoding_set_overflowing(done, pieces)
        result.append(done)
        first = False
    return result


cdef Encoding _wrapped(Stage stage, Encoding e, bint first, bint roberta, bint is_piece):
    cdef bint before = first or roberta
    cdef Py_ssize_t i, n, k = 1 if before else 0
    cdef Py_ssize_t m = e.n + k + 1
    cdef uint32_t edge_type = 0 if first or roberta else 1
    cdef uint32_t *ids
    cdef uint32_t *type_ids
    cdef uint32_t *special
    cdef uint64_t *pairs
    cdef int64_t *words
    cdef void *room
    cdef Encoding result
    cdef list tokens = []
    e.materialize(LAZY_ALL)
    n = e.n
    room = malloc(<size_t>m * (3 * sizeof(uint64_t) + 3 * sizeof(uint32_t)))
    if room == NULL:
        raise MemoryError(f"no memory for an Encoding of {m} tokens")
    pairs = <uint64_t *>room
    words = <int64_t *>(pairs + 2 * m)
    ids = <uint32_t *>(words + m)
    type_ids = ids + m
    special = type_ids + m
    for i in range(n):
        ids[k + i] = e.id_column.data[i]
        # Roberta's type ids are 0: the main Encoding's were set, and a piece's are replaced here
        type_ids[k + i] = 0 if roberta and is_piece else (
            e.type_id_column.data[i] if e.type_id_column.data != NULL else e.type_id_column.value)
        special[k + i] = 0
        pairs[2 * (k + i)] = e.offset_pairs[2 * i] if e.offset_pairs != NULL else 0
        pairs[2 * (k + i) + 1] = e.offset_pairs[2 * i + 1] if e.offset_pairs != NULL else 0
        words[k + i] = e.word_column[i] if e.word_column != NULL else -1
    if before:
        ids[0] = stage.cls_id if first else stage.sep_id
        tokens.append(stage.cls if first else stage.sep)
        _special_entry(type_ids, special, pairs, words, 0, edge_type)
    ids[m - 1] = stage.sep_id
    _special_entry(type_ids, special, pairs, words, m - 1, edge_type)
    try:
        if n:
            tokens.extend(e.token_list)
        tokens.append(stage.sep)
        result = encoding_from_arrays(m, ids, type_ids, 0, special, 0, NULL, 1, pairs, words, tokens)
    finally:
        free(room)
    encoding_set_range(result, 0 if first else 1, <uint64_t>k, <uint64_t>(m - 1))
    return result


cdef inline void _special_entry(
    uint32_t *type_ids, uint32_t *special, uint64_t *pairs, int64_t *words, Py_ssize_t i, uint32_t type_id) noexcept nogil:
    type_ids[i] = type_id
    special[i] = 1
    pairs[2 * i] = pairs[2 * i + 1] = 0
    words[i] = -1


cdef list _apply_template(Stage stage, list encodings, bint add_special_tokens):
    # A sequence that the template names keeps the type id and range it got there: later pieces copy it again.
    cdef Encoding e
    cdef list template, result = []
    cdef int kind
    if len(encodings) == 1:
        template = stage.single
    elif len(encodings) == 2:
        template = stage.pair
    else:
        raise ValueError(
            f"TemplateProcessing was given {len(encodings)} parts: in a Sequence it must come before a processor that splits its input, "
            "and only once")
    for kind, what in template:
        if kind == 2:
            if not add_special_tokens:
                continue
            if not isinstance(what, Encoding):
                raise ValueError(f"the template uses the special token {what!r}, which `special_tokens` does not define")
            result.append(encoding_copy(<Encoding>what))
        else:
            if kind >= len(encodings):
                raise ValueError("the template for a single sequence uses the second sequence ($B), which is not there")
            e = <Encoding>encodings[kind]
            e.type_id_column = _constant(<uint32_t>what)
            encoding_set_range(e, <uint64_t>kind, 0, <uint64_t>e.n)
            result.append(encoding_copy(e))
    return result


# --- trimming of offsets ---------------------------------------------------------------------------------------------

cdef inline bint _is_space(Py_UCS4 c) noexcept nogil:
    # U+0120 stands for a space in byte-level tokens; the rest is Rust's char::is_whitespace (White_Space).
    if c < 0x80:
        return c == 0x20 or 9 <= c <= 13
    return (c == 0x120 or c == 0x85 or c == 0xA0 or c == 0x1680 or 0x2000 <= c <= 0x200A or c == 0x2028 or c == 0x2029
            or c == 0x202F or c == 0x205F or c == 0x3000)


cdef list _trim(list encodings, bint add_prefix_space):
    cdef Encoding e, piece
    cdef list result = [], pieces
    for e in encodings:
        trimmed = _trimmed(e, add_prefix_space)
        if e.overflow is not None:
            pieces = []
            for piece in e.overflow:
                pieces.append(_trimmed(piece, add_prefix_space))
            encoding_set_overflowing(trimmed, pieces)
        result.append(trimmed)
    return result


cdef Encoding _trimmed(Encoding e, bint add_prefix_space):
    cdef Encoding result
    cdef Block *block
    cdef uint64_t *pairs
    cdef int64_t *words
    cdef Py_ssize_t i, size, leading, trailing
    cdef uint64_t start, end
    cdef str token
    e.materialize(LAZY_ALL)
    result = encoding_copy(e)
    if e.n == 0 or e.offset_pairs == NULL:
        return result
    block = block_new(<size_t>e.n * 3 * sizeof(uint64_t))
    if block == NULL:
        raise MemoryError(f"no memory for the offsets of {e.n} tokens")
    pairs = <uint64_t *>block_data(block)
    words = <int64_t *>(pairs + 2 * e.n)
    for i in range(e.n):
        token = <str>e.token_list[i]
        size = len(token)
        leading = 0
        while leading < size and _is_space(token[leading]):
            leading += 1
        trailing = 0
        while trailing < size and _is_space(token[size - 1 - trailing]):
            trailing += 1
        start = e.offset_pairs[2 * i]
        end = e.offset_pairs[2 * i + 1]
        if leading:
            # A single space at the start may be the one that add_prefix_space put there: it is not in the text.
            if add_prefix_space and leading == 1 and (i == 0 or start == 0):
                leading = 0
            start = min(start + <uint64_t>leading, end)
        if trailing and end >= <uint64_t>trailing:
            end = max(end - <uint64_t>trailing, start)
        pairs[2 * i] = start
        pairs[2 * i + 1] = end
    if e.word_column != NULL:
        memcpy(words, e.word_column, <size_t>e.n * sizeof(int64_t))
    block_drop(result.spans)
    result.spans = block
    result.offset_pairs = pairs
    result.word_column = words if e.word_column != NULL else NULL
    return result


# --- the stage -------------------------------------------------------------------------------------------------------

cdef Encoding process_encodings(PostProcessorProgram program, Encoding encoding, Encoding pair, bint add_special_tokens):
    cdef list encodings, pieces
    cdef Encoding e, piece, copy
    cdef uint64_t i = 0
    if program.spec is None:
        # default_process: one sequence is left as it is; a pair is merged, and only then are sequence ids set.
        if pair is None:
            return encoding_copy(encoding)
        encodings = [encoding_copy(encoding), encoding_copy(pair)]
        _set_sequence_ids(encodings)
        return encoding_merge(encodings, False)
    # PostProcessor::process: type ids are set on the Encoding itself, not on its pieces; sequence ids on both.
    encodings = [encoding_copy(encoding)] if pair is None else [encoding_copy(encoding), encoding_copy(pair)]
    for e in encodings:
        encoding_set_range(e, i, 0, <uint64_t>e.n)
        if e.overflow is not None:
            pieces = []
            for piece in e.overflow:
                copy = encoding_copy(piece)
                encoding_set_range(copy, i, 0, <uint64_t>copy.n)
                pieces.append(copy)
            encoding_set_overflowing(e, pieces)
        e.type_id_column = _constant(<uint32_t>i)
        i += 1
    return encoding_merge(program.run(encodings, add_special_tokens), False)


cdef PostProcessorProgram _program(object spec):
    return <PostProcessorProgram>spec if isinstance(spec, PostProcessorProgram) else PostProcessorProgram(spec)


def process(spec, Encoding encoding not None, Encoding pair=None, bint add_special_tokens=True):
    """The final Encoding of one sequence or a pair by the processor `spec` (or a PostProcessorProgram).

    >>> from hftok.encoding import Encoding
    >>> from hftok._core.post_process import process
    >>> process(("BertProcessing", ("[SEP]", 102), ("[CLS]", 101)), Encoding()).tokens
    ['[CLS]', '[SEP]']
    """
    return process_encodings(_program(spec), encoding, pair, add_special_tokens)


cdef tuple _truncation(object truncation):
    if isinstance(truncation, dict):
        return truncation["max_length"], truncation["stride"], truncation["strategy"], truncation["direction"]
    if not isinstance(truncation, tuple) or len(truncation) != 4:
        raise ValueError(f"truncation must be None, a mapping or (max_length, stride, strategy, direction), not {truncation!r}")
    return <tuple>truncation


cdef tuple _truncate(Encoding encoding, Encoding pair, uint64_t max_length, uint64_t stride, str strategy, str direction):
    cdef bint left
    cdef uint64_t n, m, total, remove, low, high
    if direction not in ("left", "right"):
        raise ValueError(f"Invalid truncation direction value : {direction}")
    if strategy not in ("longest_first", "only_first", "only_second"):
        raise ValueError(f"unknown truncation strategy {strategy!r}: use longest_first, only_first or only_second")
    left = direction == "left"
    n = <uint64_t>encoding.n
    m = <uint64_t>pair.n if pair is not None else 0
    if max_length == 0:
        return encoding_truncated(encoding, 0, stride, left), None if pair is None else encoding_truncated(pair, 0, stride, left)
    total = n + m
    if total <= max_length:
        return encoding, pair
    remove = total - max_length
    if strategy == "longest_first":
        if pair is None:
            return encoding_truncated(encoding, max_length, stride, left), None
        # The longer one is cut first, down to the length of the shorter; then both, to halves.
        low, high = min(n, m), max(n, m)
        high = low if low > max_length else max(low, max_length - low)
        if low + high > max_length:
            low = max_length // 2
            high = low + max_length % 2
        if n > m:
            low, high = high, low
        return encoding_truncated(encoding, low, stride, left), encoding_truncated(pair, high, stride, left)
    if strategy == "only_first":
        if n <= remove:
            raise Exception("Truncation error: Sequence to truncate too short to respect the provided max_length")
        return encoding_truncated(encoding, n - remove, stride, left), pair
    if pair is None:
        raise Exception("Truncation error: Second sequence not provided")
    if m <= remove:
        raise Exception("Truncation error: Sequence to truncate too short to respect the provided max_length")
    return encoding, encoding_truncated(pair, m - remove, stride, left)


def truncate_encodings(Encoding encoding not None, Encoding pair, truncation):
    """One sequence or a pair cut to max_length tokens together: (encoding, pair or None); the inputs do not change.

    Raises:
        Exception: "Truncation error: ..." where the strategy cannot reach the length.
        ValueError: the stride is not smaller than what one sequence may keep.
    """
    max_length, stride, strategy, direction = _truncation(truncation)
    return _truncate(
        encoding, pair, usize_argument(max_length, "max_length"), usize_argument(stride, "stride"), str_argument(strategy, "strategy"),
        str_argument(direction, "direction"))


cdef int pad_batch(list encodings, object padding) except -1:
    cdef Encoding e
    cdef uint64_t length = 0, multiple
    cdef uint32_t pad_id, pad_type_id
    cdef str pad_token
    cdef bint left
    cdef list padded
    if not encodings:
        return 0
    if isinstance(padding, dict):
        padding = tuple([padding[name] for name in ("length", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token")])
    if not isinstance(padding, tuple) or len(padding) != 6:
        raise ValueError(
            "padding must be None, a mapping or (length, direction, pad_to_multiple_of, pad_id, pad_type_id, pad_token), "
            f"not {padding!r}")
    if padding[1] not in ("left", "right"):
        raise ValueError(f"Unknown `direction`: `{padding[1]}`. Use one of `left` or `right`")
    left = padding[1] == "left"
    pad_id = u32_argument(padding[3], "pad_id")
    pad_type_id = u32_argument(padding[4], "pad_type_id")
    pad_token = str_argument(padding[5], "pad_token")
    if padding[0] is None:
        for e in encodings:
            length = max(length, <uint64_t>e.n)
    else:
        length = usize_argument(padding[0], "length")
    if padding[2] is not None:
        multiple = usize_argument(padding[2], "pad_to_multiple_of")
        if multiple and length % multiple:
            if length > <uint64_t>0xFFFFFFFFFFFFFFFF - multiple:
                raise MemoryError(f"no memory to pad an Encoding to a multiple of {multiple} tokens")
            length += multiple - length % multiple
    # All are padded before the first changes: an error leaves the batch as it was.
    padded = []
    for e in encodings:
        padded.append(None if <uint64_t>e.n >= length and e.overflow is None else encoding_padded(
            encoding_copy(e), length, pad_id, pad_type_id, pad_token, left))
    for e, done in zip(encodings, padded):
        if done is not None:
            e.become(<Encoding>done)
    return 0


def pad_encodings(list encodings not None, padding):
    """Pad a batch in place: to a length, or to the longest of the batch, and up to a multiple. Pieces are padded too.

    Raises:
        MemoryError: no memory; nothing was changed.
    """
    for e in encodings:
        if not isinstance(e, Encoding):
            raise TypeError(f"'{type(e).__name__}' object is not an instance of 'Encoding'")
    pad_batch(encodings, padding)


def post_process(Encoding encoding not None, Encoding pair, bint add_special_tokens, truncation, padding, spec):
    """TokenizerImpl::post_process: truncate, add special tokens and merge, pad. Returns a new Encoding.

    >>> from hftok.encoding import Encoding
    >>> from hftok._core.post_process import post_process
    >>> bert = ("BertProcessing", ("[SEP]", 102), ("[CLS]", 101))
    >>> post_process(Encoding(), None, True, None, (4, "right", None, 0, 0, "[PAD]"), bert).ids
    [101, 102, 0, 0]

    Raises:
        Exception, ValueError: as `truncate_encodings`; ValueError also for a template that does not fit its input.
    """
    cdef PostProcessorProgram program = _program(spec)
    cdef uint64_t added, max_length
    cdef Encoding result
    if truncation is not None:
        length, stride, strategy, direction = _truncation(truncation)
        max_length = usize_argument(length, "max_length")
        if add_special_tokens:
            # Unsigned, as in the reference: where max_length is smaller than the number of added tokens the
            # difference is huge, and nothing is truncated.
            added = program.added(pair is not None)
            max_length -= added
        encoding, pair = _truncate(
            encoding, pair, max_length, usize_argument(stride, "stride"), str_argument(strategy, "strategy"),
            str_argument(direction, "direction"))
    result = process_encodings(program, encoding, pair, add_special_tokens)
    if padding is not None:
        pad_batch([result], padding)
    return result
