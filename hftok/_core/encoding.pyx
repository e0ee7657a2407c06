"""Encoding: the result of encoding one input.

What it does: holds ids, type ids, masks, tokens, offsets, word ids, overflowing pieces and sequence ranges in compact
columns (see encoding.pxd), answers the look-ups between tokens, words and characters, and merges, pads and truncates.
Tokens, offsets and word ids may be missing at first; they are asked of the source when something reads them.
Rule of the reference: tokenizer/encoding.rs for every answer, bindings encoding.rs for arguments and errors. Where the
reference panics (a stride that is too large, a sequence range outside the tokens) there is a ValueError, and the
Encoding stays as it was. Where several sequence ranges hold a token the reference answers with a random one; here the
lowest sequence answers.
Without the GIL each method holds the Encoding's own lock (critical_section; nothing where there is a GIL).
Left to others: special tokens, templates and padding of batches (post_process.pyx), the pickled form (encoding_state.pyx).
"""
cimport cython
from cpython.exc cimport PyErr_WarnEx
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove

from hftok._core.arguments cimport (
    bool_argument, check_sequence, str_argument, str_list_argument, u32_argument, u32_array_argument, usize_argument)
from hftok._core.pylist cimport (
    int_from_u64, list_from_u32, list_of_constant, list_of_optional, list_of_pairs)


cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except -1
    void Py_LeaveRecursiveCall()


# Longest Encoding: far above what memory holds, far below what makes a byte count overflow.
cdef uint64_t MAX_TOKENS = <uint64_t>1 << 48


cdef class EncodingSource:
    cdef int fill(self, Encoding encoding, int missing) except -1:
        raise NotImplementedError("a source of lazy encodings must implement fill")


# --- columns ---------------------------------------------------------------------------------------------------------

cdef inline Column constant_column(uint32_t value) noexcept nogil:
    cdef Column c
    c.data = NULL
    c.value = value
    return c


cdef inline Column window_of(Column c, Py_ssize_t start) noexcept nogil:
    if c.data != NULL:
        c.data += start
    return c


cdef inline void write_column(uint32_t *out, Column c, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if c.data != NULL:
        memcpy(out, c.data, <size_t>n * sizeof(uint32_t))
    else:
        for i in range(n):
            out[i] = c.value


cdef list column_list(Column c, Py_ssize_t n):
    if c.data != NULL:
        return list_from_u32(c.data, n)
    return list_of_constant(int_from_u64(c.value), n)


cdef Block *new_block(uint64_t n, uint64_t entry_size) except NULL:
    cdef Block *block = NULL
    if n <= MAX_TOKENS:
        block = block_new(<size_t>(n * entry_size))
    if block == NULL:
        raise MemoryError(f"no memory for an Encoding of {n} tokens")
    return block


cdef inline Encoding new_encoding(Py_ssize_t n):
    cdef Encoding e = Encoding.__new__(Encoding)
    e.n = n
    return e


# --- making one from C -----------------------------------------------------------------------------------------------

cdef Encoding encoding_from_arrays(
    Py_ssize_t n, const uint32_t *ids, const uint32_t *type_ids, uint32_t type_id, const uint32_t *special,
    uint32_t special_value, const uint32_t *attention, uint32_t attention_value, const uint64_t *offsets,
    const int64_t *words, list tokens):
    cdef Encoding e = new_encoding(n)
    cdef uint32_t *out
    if tokens is None or len(tokens) != n:
        raise ValueError(f"an Encoding of {n} ids needs {n} tokens")
    e.token_list = tokens
    e.type_id_column.value = type_id
    e.special_column.value = special_value
    e.attention_column.value = attention_value
    if n == 0:
        return e
    e.rows = new_block(<uint64_t>n, 4 * sizeof(uint32_t))
    out = <uint32_t *>block_data(e.rows)
    memcpy(out, ids, <size_t>n * sizeof(uint32_t))
    e.id_column.data = out
    if type_ids != NULL:
        out += n
        memcpy(out, type_ids, <size_t>n * sizeof(uint32_t))
        e.type_id_column.data = out
    if special != NULL:
        out += n
        memcpy(out, special, <size_t>n * sizeof(uint32_t))
        e.special_column.data = out
    if attention != NULL:
        out += n
        memcpy(out, attention, <size_t>n * sizeof(uint32_t))
        e.attention_column.data = out
    encoding_set_spans(e, offsets, words)
    return e


cdef Encoding encoding_over_block(
    Py_ssize_t n, Block *rows, Column ids, Column type_ids, Column special, Column attention, object source, int64_t key):
    cdef Encoding e = new_encoding(n)
    block_keep(rows)
    e.rows = rows
    e.id_column = ids
    e.type_id_column = type_ids
    e.special_column = special
    e.attention_column = attention
    e.source = source
    e.key = key
    e.lazy = LAZY_ALL
    return e


cdef int encoding_set_tokens(Encoding e, list tokens) except -1:
    if len(tokens) != e.n:
        raise ValueError(f"an Encoding of {e.n} ids was given {len(tokens)} tokens")
    e.token_list = tokens
    e.lazy &= ~LAZY_TOKENS
    return 0


cdef int encoding_set_spans(Encoding e, const uint64_t *offsets, const int64_t *words) except -1:
    cdef size_t n = <size_t>e.n
    cdef Block *block = NULL
    cdef uint64_t *pairs = NULL
    cdef int64_t *numbers = NULL
    if n and (offsets != NULL or words != NULL):
        block = new_block(n, 3 * sizeof(uint64_t))
        pairs = <uint64_t *>block_data(block)
        numbers = <int64_t *>(pairs + 2 * n)
        if offsets != NULL:
            memcpy(pairs, offsets, 2 * n * sizeof(uint64_t))
        if words != NULL:
            memcpy(numbers, words, n * sizeof(int64_t))
    block_drop(e.spans)
    e.spans = block
    e.offset_pairs = pairs if offsets != NULL else NULL
    e.word_column = numbers if words != NULL else NULL
    e.lazy &= ~LAZY_SPANS
    return 0


cdef int encoding_set_range(Encoding e, uint64_t sequence, uint64_t start, uint64_t end) except -1:
    # Sorted by sequence: the canonical order of what is a hash map in the reference.
    cdef int i = 0, n = e.n_ranges
    cdef SequenceRange *r = e.far_ranges if n > 2 else &e.near_ranges[0]
    cdef SequenceRange *grown
    while i < n and r[i].sequence < sequence:
        i += 1
    if i == n or r[i].sequence != sequence:
        if n >= 2:
            grown = <SequenceRange *>malloc(<size_t>(n + 1) * sizeof(SequenceRange))
            if grown == NULL:
                raise MemoryError("no memory for the sequence ranges of an Encoding")
            memcpy(grown, r, <size_t>n * sizeof(SequenceRange))
            free(e.far_ranges)
            e.far_ranges = r = grown
        memmove(r + i + 1, r + i, <size_t>(n - i) * sizeof(SequenceRange))
        e.n_ranges = n + 1
    r[i].sequence = sequence
    r[i].start = start
    r[i].end = end
    return 0


cdef int copy_ranges(Encoding e, Encoding other, uint64_t shift) except -1:
    cdef int i
    cdef const SequenceRange *r = other.ranges()
    for i in range(other.n_ranges):
        encoding_set_range(e, r[i].sequence, r[i].start + shift, r[i].end + shift)
    return 0


cdef int encoding_set_overflowing(Encoding e, list overflowing) except -1:
    e.overflow = overflowing if overflowing else None
    return 0


include "encoding_operations.pxi"
include "encoding_lookups.pxi"


cdef tuple STATE_FUNCTIONS = None


cdef tuple _state_functions():
    # (dump, load); that module needs this one, so it is not imported at the top.
    global STATE_FUNCTIONS
    if STATE_FUNCTIONS is None:
        from hftok._core.encoding_state import dump, load
        STATE_FUNCTIONS = (dump, load)
    return STATE_FUNCTIONS


# --- the class -------------------------------------------------------------------------------------------------------

cdef object _as_html = None


def show_as_html(function):
    """Have `_repr_html_` of every Encoding give function(encoding); the package's front end sets it."""
    global _as_html
    _as_html = function


@cython.final
@cython.no_gc
@cython.auto_pickle(False)
cdef class Encoding:
    """The output of a tokenizer for one input: ids and everything that is known about them.

    All properties have one entry per token and return a new list each time. Tokens, offsets and word ids may be
    computed when they are first read.

    >>> from hftok.encoding import Encoding
    >>> encoding = Encoding()
    >>> encoding.pad(2, pad_id=7, pad_token="<pad>")
    >>> encoding.ids, encoding.tokens, encoding.attention_mask
    ([7, 7], ['<pad>', '<pad>'], [0, 0])
    """

    def __init__(self):
        pass                                    # an empty Encoding; with arguments TypeError

    def __dealloc__(self):
        block_drop(self.rows)
        block_drop(self.spans)
        free(self.far_ranges)

    cdef const SequenceRange *ranges(self) noexcept:
        return self.far_ranges if self.n_ranges > 2 else &self.near_ranges[0]

    cdef int materialize(self, int needed) except -1:
        cdef int missing = self.lazy & needed
        cdef object source
        if not missing:
            if self.token_list is None and not self.lazy & LAZY_TOKENS:
                self.token_list = []        # an empty Encoding made from Python
            return 0
        # A reference of our own: a thread that reads the same Encoding may be done before, and drop the source.
        source = self.source
        if isinstance(source, EncodingSource):
            (<EncodingSource>source).fill(self, missing)
        else:
            source.materialize(self)
        if self.lazy & needed:
            raise RuntimeError(
                f"{type(source).__name__}.materialize() left the tokens or the offsets of an Encoding unset: it must "
                "call _fill")
        if not self.lazy:
            self.source = None
        return 0

    cdef int become(self, Encoding other) except -1:
        block_drop(self.rows)
        block_drop(self.spans)
        free(self.far_ranges)
        self.n = other.n
        self.id_column = other.id_column
        self.type_id_column = other.type_id_column
        self.special_column = other.special_column
        self.attention_column = other.attention_column
        self.offset_pairs = other.offset_pairs
        self.word_column = other.word_column
        self.rows = other.rows
        self.spans = other.spans
        self.far_ranges = other.far_ranges
        self.n_ranges = other.n_ranges
        self.near_ranges[0] = other.near_ranges[0]
        self.near_ranges[1] = other.near_ranges[1]
        self.token_list = other.token_list
        self.overflow = other.overflow
        self.source = other.source
        self.key = other.key
        self.lazy = other.lazy
        other.rows = NULL
        other.spans = NULL
        other.far_ranges = NULL
        other.n_ranges = 0
        other.n = 0
        return 0

    # --- private ways in ---

    @staticmethod
    def _from_arrays(
        const uint32_t[::1] ids, const uint32_t[::1] type_ids, const uint32_t[::1] special_tokens_mask,
        const uint32_t[::1] attention_mask, const uint64_t[:, ::1] offsets, const int64_t[::1] word_ids, tokens,
        sequence_ranges=None, overflowing=None):
        """An Encoding from arrays: n ids, type ids and masks (uint32), n x 2 offsets (uint64), n word ids (int64, -1
        for None) and n strings. `sequence_ranges` maps a sequence to (first token, last token + 1)."""
        cdef Py_ssize_t n = ids.shape[0]
        cdef Encoding e
        if not (n == type_ids.shape[0] == special_tokens_mask.shape[0] == attention_mask.shape[0] == offsets.shape[0]
                == word_ids.shape[0] and (n == 0 or offsets.shape[1] == 2)):
            raise ValueError("the columns of an Encoding must have the same length")
        tokens = str_list_argument(tokens, "tokens")
        if n:
            e = encoding_from_arrays(
                n, &ids[0], &type_ids[0], 0, &special_tokens_mask[0], 0, &attention_mask[0], 1, &offsets[0, 0],
                &word_ids[0], tokens)
        else:
            e = encoding_from_arrays(0, NULL, NULL, 0, NULL, 0, NULL, 1, NULL, NULL, tokens)
        _set_extras(e, sequence_ranges, overflowing)
        return e

    @staticmethod
    def _lazy(
        source, ids, type_ids, special_tokens_mask, attention_mask, *, int64_t key=0, sequence_ranges=None,
        overflowing=None):
        """An Encoding that asks `source.materialize(encoding)` for tokens, offsets and word ids when they are first
        read; the source answers by calling `encoding._fill(...)`. `key` is the source's own (see `_key`)."""
        cdef Encoding e
        cdef Block *block = NULL
        cdef Py_ssize_t n = len(ids)
        cdef Py_ssize_t i, m
        cdef uint32_t *values
        cdef Column columns[4]
        if not n == len(type_ids) == len(special_tokens_mask) == len(attention_mask):
            raise ValueError("the columns of an Encoding must have the same length")
        block = new_block(<uint64_t>n, 4 * sizeof(uint32_t))
        try:
            for i, (name, column) in enumerate((
                    ("ids", ids), ("type_ids", type_ids), ("special_tokens_mask", special_tokens_mask),
                    ("attention_mask", attention_mask))):
                columns[i].data = <uint32_t *>block_data(block) + i * n
                columns[i].value = 0
                values = u32_array_argument(column, name, &m)
                if m != n:
                    free(values)
                    raise ValueError("the columns of an Encoding must have the same length")
                memcpy(<uint32_t *>columns[i].data, values, <size_t>n * sizeof(uint32_t))
                free(values)
            e = encoding_over_block(n, block, columns[0], columns[1], columns[2], columns[3], source, key)
        finally:
            block_drop(block)
        _set_extras(e, sequence_ranges, overflowing)
        return e

    @property
    def _key(self):
        return self.key

    def _fill(self, *, tokens=None, offsets=None, word_ids=None):
        """The answer of a source: `tokens`, n strings; `offsets`, n pairs, and with them `word_ids`, n ints or None."""
        cdef Py_ssize_t i, n = self.n
        cdef Block *block
        cdef uint64_t *pairs
        cdef int64_t *words
        if tokens is not None:
            encoding_set_tokens(self, str_list_argument(tokens, "tokens"))
        if offsets is not None:
            if word_ids is None or len(offsets) != n or len(word_ids) != n:
                raise ValueError(f"an Encoding of {n} ids needs {n} offsets and {n} word ids")
            block = new_block(<uint64_t>n, 3 * sizeof(uint64_t))
            try:
                pairs = <uint64_t *>block_data(block)
                words = <int64_t *>(pairs + 2 * n)
                for i in range(n):
                    start, end = offsets[i]
                    pairs[2 * i] = usize_argument(start, "offsets")
                    pairs[2 * i + 1] = usize_argument(end, "offsets")
                    word = word_ids[i]
                    words[i] = -1 if word is None else <int64_t>u32_argument(word, "word_ids")
                encoding_set_spans(self, pairs, words)
            finally:
                block_drop(block)

    # --- protocol ---

    def __repr__(self):
        return (f"Encoding(num_tokens={self.n}, attributes=[ids, type_ids, tokens, offsets, attention_mask, "
                "special_tokens_mask, overflowing])")

    def _repr_html_(self):
        """The tokens as HTML, which notebooks show."""
        return None if _as_html is None else _as_html(self)

    def __len__(self):
        return self.n

    @cython.critical_section
    def __copy__(self):
        return encoding_copy(self)

    @cython.critical_section
    def __deepcopy__(self, memo):
        return encoding_copy(self)

    def __getstate__(self):
        return _state_functions()[0](self)

    def __setstate__(self, state):
        self.become(_state_functions()[1](state))

    # --- properties ---

    @property
    @cython.critical_section
    def ids(self):
        """The ids, list[int]: what a model takes as input."""
        return column_list(self.id_column, self.n)

    @property
    @cython.critical_section
    def type_ids(self):
        """The segment of each token, list[int]; how the parts of a pair are told apart by BERT-like models."""
        return column_list(self.type_id_column, self.n)

    @property
    @cython.critical_section
    def tokens(self):
        """The strings of the ids, list[str]."""
        self.materialize(LAZY_TOKENS)
        return self.token_list[:]

    @property
    @cython.critical_section
    def offsets(self):
        """Where each token comes from, list[tuple[int, int]]: first and last + 1 character of the input sequence it
        belongs to; (0, 0) for special and padding tokens."""
        self.materialize(LAZY_SPANS)
        if self.offset_pairs == NULL:
            return list_of_constant((0, 0), self.n)
        return list_of_pairs(self.offset_pairs, self.n)

    @property
    @cython.critical_section
    def attention_mask(self):
        """1 for tokens, 0 for padding, list[int]."""
        return column_list(self.attention_column, self.n)

    @property
    @cython.critical_section
    def special_tokens_mask(self):
        """1 for tokens that the post-processor or the padding added, list[int]."""
        return column_list(self.special_column, self.n)

    @property
    @cython.critical_section
    def word_ids(self):
        """The word of each token, list[int | None]; None for tokens that come from no word."""
        self.materialize(LAZY_SPANS)
        if self.word_column == NULL:
            return list_of_constant(None, self.n)
        return list_of_optional(self.word_column, self.n)

    @property
    @cython.critical_section
    def words(self):
        """Deprecated name of `word_ids`."""
        PyErr_WarnEx(
            DeprecationWarning,
            b"Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead.", 1)
        return self.word_ids

    @property
    @cython.critical_section
    def sequence_ids(self):
        """The input sequence of each token, list[int | None]: 0 or 1, None for special tokens.

        Raises:
            ValueError: a sequence range reaches outside the tokens (an Encoding unpickled from such a state).
        """
        cdef list result
        cdef const SequenceRange *r = self.ranges()
        cdef SequenceRange span
        cdef uint64_t sequence, i
        cdef object number
        if self.n_ranges == 0:
            return list_of_constant(0, self.n)
        result = list_of_constant(None, self.n)
        # As many sequences as there are ranges, counted from 0; one that has no range of its own covers everything.
        for sequence in range(<uint64_t>self.n_ranges):
            span = range_of(self, sequence)
            if span.start > span.end or span.end > <uint64_t>self.n:
                raise ValueError(
                    f"sequence {sequence} covers tokens {span.start} to {span.end} of an Encoding that has {self.n}: its "
                    "state is damaged")
            number = int_from_u64(sequence)
            for i in range(span.start, span.end):
                result[i] = number
        return result

    @property
    @cython.critical_section
    def n_sequences(self):
        """The number of input sequences in this Encoding, int."""
        return self.n_ranges if self.n_ranges else 1

    @property
    @cython.critical_section
    def overflowing(self):
        """The further pieces of a truncated input, list[Encoding]. They are copies."""
        cdef Encoding piece
        if self.overflow is None:
            return []
        return [encoding_copy(piece) for piece in self.overflow]

    # --- look-ups ---

    @cython.critical_section
    def word_to_tokens(self, word_index, sequence_index=0):
        """The tokens of a word of an input sequence: (first token, last token + 1), or None.

        Raises:
            OverflowError, TypeError: an index is negative, too large or no integer.
        """
        cdef Py_ssize_t first, last
        cdef uint32_t word = u32_argument(word_index, "word_index")
        if not word_span(self, word, usize_argument(sequence_index, "sequence_index"), &first, &last):
            return None
        return first, last + 1

    @cython.critical_section
    def word_to_chars(self, word_index, sequence_index=0):
        """The characters of a word of an input sequence: (first, last + 1), or None. Errors as `word_to_tokens`."""
        cdef Py_ssize_t first, last
        cdef uint32_t word = u32_argument(word_index, "word_index")
        if not word_span(self, word, usize_argument(sequence_index, "sequence_index"), &first, &last):
            return None
        if self.offset_pairs == NULL:
            return 0, 0
        return self.offset_pairs[2 * first], self.offset_pairs[2 * last + 1]

    @cython.critical_section
    def token_to_sequence(self, token_index):
        """The input sequence that holds a token: 0 or 1, or None for special tokens. Errors as `word_to_tokens`."""
        cdef uint64_t sequence
        return sequence if sequence_of(self, usize_argument(token_index, "token_index"), &sequence) else None

    @cython.critical_section
    def token_to_chars(self, token_index):
        """The characters of a token in its input sequence: (first, last + 1), or None. Errors as `word_to_tokens`."""
        cdef uint64_t token = usize_argument(token_index, "token_index")
        cdef uint64_t sequence
        if not sequence_of(self, token, &sequence) or token >= <uint64_t>self.n:
            return None
        self.materialize(LAZY_SPANS)
        if self.offset_pairs == NULL:
            return 0, 0
        return self.offset_pairs[2 * token], self.offset_pairs[2 * token + 1]

    @cython.critical_section
    def token_to_word(self, token_index):
        """The word of its input sequence that holds a token, or None. Errors as `word_to_tokens`."""
        cdef int64_t word = word_of(self, usize_argument(token_index, "token_index"))
        return None if word < 0 else word

    @cython.critical_section
    def char_to_token(self, char_pos, sequence_index=0):
        """The first token that holds a character of an input sequence, or None. Errors as `word_to_tokens`."""
        cdef uint64_t position = usize_argument(char_pos, "char_pos")
        cdef Py_ssize_t token = token_at(self, position, usize_argument(sequence_index, "sequence_index"))
        return None if token < 0 else token

    @cython.critical_section
    def char_to_word(self, char_pos, sequence_index=0):
        """The word that holds a character of an input sequence, or None. Errors as `word_to_tokens`."""
        cdef uint64_t position = usize_argument(char_pos, "char_pos")
        cdef Py_ssize_t token = token_at(self, position, usize_argument(sequence_index, "sequence_index"))
        cdef int64_t word = -1 if token < 0 else word_of(self, <uint64_t>token)
        return None if word < 0 else word

    # --- changes ---

    @staticmethod
    def merge(encodings, growing_offsets=True):
        """One Encoding of several, one after the other; `growing_offsets` shifts the offsets of each by the end of the
        one before it. Overflowing pieces are combined, each with each.

        Raises:
            TypeError: `encodings` is no sequence of Encodings, or `growing_offsets` no bool.
        """
        cdef list parts
        try:
            check_sequence(encodings)
            parts = list(encodings)
            for part in parts:
                if not isinstance(part, Encoding):
                    if part is None:
                        raise TypeError("'None' is not an instance of 'Encoding'")
                    raise TypeError(f"'{type(part).__name__}' object is not an instance of 'Encoding'")
        except BaseException as error:
            error.add_note("while processing 'encodings'")
            raise
        parts = [encoding_copy(<Encoding>part) for part in parts]
        return encoding_merge(parts, bool_argument(growing_offsets, "growing_offsets"))

    @cython.critical_section
    def set_sequence_id(self, sequence_id):
        """Say that all tokens belong to the given input sequence.

        Raises:
            OverflowError, TypeError: `sequence_id` is negative, too large or no integer.
        """
        encoding_set_range(self, usize_argument(sequence_id, "sequence_id"), 0, <uint64_t>self.n)

    @cython.critical_section
    def pad(self, length, **kwargs):
        """Pad to `length` tokens, overflowing pieces included; what is longer stays.

        Keyword arguments: `direction` ("right" or "left"), `pad_id` (0), `pad_type_id` (0), `pad_token` ("[PAD]").
        An unknown one is named on the standard output and ignored, as the reference does.

        Raises:
            ValueError: unknown direction.
            OverflowError, TypeError: an argument has the wrong type or range.
            MemoryError: the padding does not fit in memory.

        >>> from hftok.encoding import Encoding
        >>> encoding = Encoding()
        >>> encoding.pad(3, direction="left", pad_id=1)
        >>> encoding.ids
        [1, 1, 1]
        """
        cdef uint64_t size = usize_argument(length, "length")
        cdef uint32_t pad_id = 0, pad_type_id = 0
        cdef str pad_token = "[PAD]"
        cdef bint left = False
        for key, value in kwargs.items():
            if key == "direction":
                direction = str_argument(value, None)
                if direction not in ("left", "right"):
                    raise ValueError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`")
                left = direction == "left"
            elif key == "pad_id":
                pad_id = u32_argument(value, None)
            elif key == "pad_type_id":
                pad_type_id = u32_argument(value, None)
            elif key == "pad_token":
                pad_token = str_argument(value, None)
            else:
                print(f"Ignored unknown kwarg option {key}")
        self.become(encoding_padded(self, size, pad_id, pad_type_id, pad_token, left))

    @cython.critical_section
    def truncate(self, max_length, stride=0, direction="right"):
        """Cut to `max_length` tokens; the rest goes to `overflowing`, in pieces of at most `max_length` tokens that
        each repeat `stride` tokens of the piece before. `direction` is the side that is cut. Which tokens belong to
        which sequence is forgotten.

        Raises:
            ValueError: unknown direction, or `stride` is not smaller than `max_length`.
            OverflowError, TypeError: an argument has the wrong type or range.
        """
        cdef uint64_t size = usize_argument(max_length, "max_length")
        cdef uint64_t step = usize_argument(stride, "stride")
        side = str_argument(direction, "direction")
        if side not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {side}")
        self.become(encoding_truncated(self, size, step, side == "left"))


cdef int _set_extras(Encoding e, object sequence_ranges, object overflowing) except -1:
    if sequence_ranges:
        for sequence, (start, end) in sequence_ranges.items():
            encoding_set_range(e, usize_argument(sequence, None), usize_argument(start, None), usize_argument(end, None))
    if overflowing:
        encoding_set_overflowing(e, [encoding_copy(piece) for piece in overflowing])
    return 0
