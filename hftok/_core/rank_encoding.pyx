"""tiktoken's Encoding, as far as it computes: Python arguments in, lists and bytes out.

Rule (tiktoken 0.14: tiktoken/core.py and src/py.rs): which texts are refused, what lone surrogates become, which exception
a wrong argument raises. Unless the caller says otherwise, text that spells a special token is an error; with
`disallowed_special=()` it is encoded as the plain text that it is; it becomes the special token only where the caller
names it in `allowed_special`.

It leaves to others: encoding itself (`rank_bpe`), names, pickling, where vocabularies come from (`hftok.tiktoken`).
"""
import operator
from bisect import bisect_left
from functools import lru_cache

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_CheckExact
from cpython.long cimport PyLong_CheckExact
from cpython.tuple cimport PyTuple_CheckExact
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_Check, PyUnicode_DATA, PyUnicode_GET_LENGTH
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from hftok._core.arguments cimport u32_argument
from hftok._core.models.ranks cimport RankTable
from hftok._core.models.vocab_map cimport VocabTable, vocab_find
from hftok._core.parallel cimport parallel_for
from hftok._core.pylist cimport list_from_u32
from hftok._core.rank_bpe cimport RANK_OK, RankEncoder, RankWorker, rank_check
from hftok._core.rust_pattern cimport RustPattern

from hftok._core import engine as _engine
from hftok._core.oniguruma_tables import property_ranges
from hftok._core.parallel import threads_for
from hftok._core.rust_hash_order import overlapping, table_order

cdef extern from "Python.h":
    bint PyUnicode_IS_COMPACT_ASCII(object o)
    bint PyNumber_Check(object o)
    bint PySequence_Check(object o)
    object PyUnicode_DecodeUTF8(const char *s, Py_ssize_t size, const char *errors)
    long long PyLong_AsLongLongAndOverflow(object o, int *overflow) except? -1

cdef enum:
    GIL_LEAST = 4096         # bytes of text from which the GIL is given up
    UNIT = 1 << 18           # bytes of text in a work unit of a batch
    NO_ENTRY = 0xFFFFFFFF

cdef frozenset NOTHING = frozenset()
cdef str ALL = "all"


cdef inline const uint8_t *view(object text, Py_ssize_t *size) except NULL:
    """The UTF-8 of a str. Raises TypeError for anything else, UnicodeEncodeError for a lone surrogate."""
    if not PyUnicode_Check(text):
        raise TypeError(f"'{type(text).__name__}' object is not an instance of 'str'")
    if PyUnicode_IS_COMPACT_ASCII(text):
        size[0] = PyUnicode_GET_LENGTH(text)
        return <const uint8_t *>PyUnicode_DATA(text)
    return <const uint8_t *>PyUnicode_AsUTF8AndSize(text, size)


cdef str repaired(str text):
    """Surrogate pairs put together, lone surrogates replaced by U+FFFD: core.py `encode`."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


cdef inline bint is_all(object names):
    return names is ALL or (isinstance(names, str) and names == "all")


@lru_cache(maxsize=128)
def _any_of(frozenset names):
    import re

    return re.compile("|".join(sorted(map(re.escape, names), key=len, reverse=True)))


def refuse_special(token):
    """Raise the ValueError about a special token that stands in a text where it is not allowed."""
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        "If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )


cdef inline int64_t number_of(object token) except -1:
    """A token's number as pyo3 reads a u32."""
    cdef int overflow = 0
    cdef long long value
    if not PyLong_CheckExact(token):
        token = operator.index(token)
    value = PyLong_AsLongLongAndOverflow(token, &overflow)
    if overflow or value < 0 or value > 0xFFFFFFFF:
        raise OverflowError("out of range integral type conversion attempted")
    return value


cdef object sequence_of(object tokens):
    """A sequence of numbers as a list or tuple. Raises TypeError for what pyo3 takes for no sequence."""
    if PyList_CheckExact(tokens) or PyTuple_CheckExact(tokens):
        return tokens
    if PyUnicode_Check(tokens):
        raise TypeError("Can't extract `str` to `Vec`")
    if isinstance(tokens, np.ndarray) and tokens.ndim == 1 and tokens.dtype.kind in "iu":
        return tokens.tolist()
    if not PySequence_Check(tokens) or isinstance(tokens, dict):
        raise TypeError(f"'{type(tokens).__name__}' object is not an instance of 'Sequence'")
    return list(tokens)


@cython.auto_pickle(False)
cdef class RankEncoding:
    def __cinit__(self, *args, **kwargs):
        self.entry_of = NULL

    def __dealloc__(self):
        free(self.entry_of)

    def _set_up(self, mergeable_ranks, special_tokens, pat_str, longest_first=False, skips_empty=False):
        """Compile: ranks (dict of bytes -> int), special tokens (dict of str -> int), pattern. longest_first: of special
        tokens that begin at the same place the longest is taken, not the first of a hash table. skips_empty: an empty piece is
        nothing, not an error."""
        cdef RankTable table
        if not isinstance(pat_str, str):
            raise TypeError(f"'{type(pat_str).__name__}' object is not an instance of 'str'")
        table = RankTable(dict(mergeable_ranks))
        specials = dict(special_tokens)
        for name, value in specials.items():
            if not isinstance(name, str):
                raise TypeError(f"'{type(name).__name__}' object is not an instance of 'str'")
            u32_argument(value, "special_tokens")
        order = None
        if overlapping(specials):
            names = sorted(specials, key=len, reverse=True) if longest_first else table_order(specials)
            order = {name: i for i, name in enumerate(names)}
        self.encoder = RankEncoder(table, RustPattern(pat_str), specials, order)
        self.encoder.skips_empty = skips_empty
        self.special_entries = {name: i for i, name in enumerate(specials)}
        self.special_names = frozenset(specials)
        self.all_special = b"\1" * len(specials)
        self.build_decoder(specials)

    def _share(self, RankEncoding other not None):
        """Take over another Encoding's compiled parts, which are immutable."""
        self.encoder = other.encoder
        self.special_entries = other.special_entries
        self.special_names = other.special_names
        self.all_special = other.all_special
        self.build_decoder(other.special_entries)

    cdef int build_decoder(self, dict specials) except -1:
        cdef VocabTable *t = &self.encoder.table.r.tokens
        cdef VocabTable *s = &self.encoder.specials
        cdef int64_t i, largest = self.encoder.table.largest
        cdef list names = list(specials)
        free(self.entry_of)
        self.entry_of = NULL
        self.sparse = None
        for i in range(s.size):
            largest = max(largest, s.ids[i])
        if len({s.ids[i] for i in range(s.size)}) < s.size:
            # Special tokens that share a number: the reference keeps the last one of its hash table.
            place = {name: k for k, name in enumerate(table_order(names))}
            turn = [k for _, k in sorted([(place[names[k]], k) for k in range(s.size)])]
        else:
            turn = range(s.size)
        if largest < 4 * (t.size + s.size) + 65536:
            self.n_numbers = largest + 1
            self.entry_of = <uint32_t *>malloc(<size_t>self.n_numbers * 4)
            if self.entry_of == NULL:
                raise MemoryError("out of memory for a decoder's table")
            memset(self.entry_of, 0xFF, <size_t>self.n_numbers * 4)
            for i in turn:
                self.entry_of[s.ids[i]] = <uint32_t>(t.size + i)
            for i in range(t.size):      # a token wins over a special token of the same number
                self.entry_of[t.ids[i]] = <uint32_t>i
            return 0
        self.sparse = {s.ids[i]: t.size + i for i in turn}
        for i in range(t.size):
            self.sparse[t.ids[i]] = i
        return 0

    @property
    def _cuts_pieces(self):
        """Whether pieces are cut where no merge joins; for tests."""
        return self.encoder.cuts != NULL

    # -- encoding

    cdef bytes flags(self, object names):
        """One byte for each special token: whether `names` (a set of str) has it."""
        cdef bytearray out = bytearray(len(self.special_entries))
        if not isinstance(names, (set, frozenset)):
            raise TypeError(f"'{type(names).__name__}' object is not an instance of 'set'")
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"'{type(name).__name__}' object is not an instance of 'str'")
            entry = self.special_entries.get(name)
            if entry is not None:
                out[entry] = 1
            else:
                name.encode("utf-8")         # a lone surrogate is no text
                if not name and not self.special_entries:
                    raise ValueError("allowed_special has an empty string, which is no special token here")
        return bytes(out)

    def _check(self, text, names):
        """Raise where the text holds one of the names (a frozenset of str)."""
        cdef Py_ssize_t size = 0
        cdef const uint8_t *data
        cdef bytes flags
        cdef int64_t entry
        if isinstance(text, str) and all(name in self.special_entries for name in names) and "" not in names:
            try:
                data = view(text, &size)
            except UnicodeEncodeError:
                pass
            else:
                flags = self.flags(names)
                entry = self.encoder.holds_special(data, size, <const uint8_t *>PyBytes_AS_STRING(flags))
                if entry < 0:
                    return
                refuse_special(list(self.special_entries)[entry])
        found = _any_of(names).search(text)
        if found:
            refuse_special(found.group())

    def _rights(self, allowed_special, disallowed_special):
        """The two arguments as a set of allowed names and a frozenset of those to be refused."""
        if is_all(allowed_special):
            allowed_special = self.special_names
        if is_all(disallowed_special):
            disallowed_special = set(self.special_names) - allowed_special
        if disallowed_special:
            return allowed_special, frozenset(disallowed_special)
        return allowed_special, NOTHING

    cdef int fill(self, RankWorker *w, object text, const uint8_t *allowed) except -1:
        cdef Py_ssize_t size = 0
        cdef const uint8_t *data
        cdef int error
        cdef RankEncoder encoder = self.encoder
        try:
            data = view(text, &size)
        except UnicodeEncodeError:
            text = repaired(text)
            data = view(text, &size)
        if not PyUnicode_IS_COMPACT_ASCII(text):
            encoder.saw(size)
        if size < GIL_LEAST:
            error = encoder.encode(w, data, size, allowed)
        else:
            with nogil:
                error = encoder.encode(w, data, size, allowed)
        return rank_check(error)

    cdef list run(self, object text, const uint8_t *allowed):
        cdef RankWorker *w = self.encoder.take(_engine.cache_budget())
        try:
            self.fill(w, text, allowed)
            return list_from_u32(w.ids, w.n_ids)
        finally:
            self.encoder.give(w)

    def encode_ordinary(self, text):
        """The tokens of a str as a list of int; special tokens are text like any other.

        Raises:
            TypeError: `text` is no str.
            ValueError: the vocabulary cannot encode it (a byte is missing).

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"he": 256, b"ll": 257, b"hell": 258}
        >>> enc = tiktoken.Encoding("small", pat_str=r"\\w+|\\W", mergeable_ranks=ranks, special_tokens={"<end>": 259})
        >>> enc.encode_ordinary("hello<end>")
        [258, 111, 60, 101, 110, 100, 62]
        """
        return self.run(text, NULL)

    def encode(self, text, *, allowed_special=NOTHING, disallowed_special=ALL):
        """The tokens of a str as a list of int.

        Text that a user controls never becomes a special token by itself: as long as `allowed_special` is empty no number
        of a special token comes out, whatever the text says.

        Args:
            text: lone surrogates are encoded as U+FFFD.
            allowed_special: the special tokens (a set of str, or "all") that the text may spell.
            disallowed_special: those (a collection of str, or "all", which is all that are not allowed) whose spelling in
                the text is an error. With () they are encoded as the plain text that they are.

        Raises:
            ValueError: the text spells a disallowed special token, or the vocabulary cannot encode it.
            TypeError: `text` is no str, or `allowed_special` no set.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={"<end>": 256})
        >>> enc.encode("a<end>", allowed_special={"<end>"})
        [97, 256]
        >>> enc.encode("a<end>", disallowed_special=())
        [97, 60, 101, 110, 100, 62]
        >>> enc.encode("a<end>")
        Traceback (most recent call last):
        ...
        ValueError: Encountered text corresponding to disallowed special token '<end>'.
        ...
        """
        cdef Py_ssize_t size = 0
        cdef const uint8_t *data
        cdef int64_t entry
        cdef bytes flags
        if allowed_special is NOTHING and disallowed_special is ALL and not self.encoder.has_empty:
            entry = 0
            if PyUnicode_Check(text):
                try:
                    data = view(text, &size)
                    entry = self.encoder.holds_special(data, size, NULL)
                except UnicodeEncodeError:
                    pass
            if entry >= 0 and self.special_names:
                self._check(text, self.special_names)
            return self.run(text, NULL)
        if allowed_special is NOTHING and PyTuple_CheckExact(disallowed_special) and not disallowed_special and not (
                self.encoder.has_empty):
            return self.run(text, NULL)      # no token is allowed, none is refused: text all of it
        flags = self._allowed(text, allowed_special, disallowed_special)
        return self.run(text, <const uint8_t *>PyBytes_AS_STRING(flags))

    def _allowed(self, text, allowed_special, disallowed_special):
        """Check a text and give the flags of the allowed special tokens."""
        if is_all(allowed_special) and is_all(disallowed_special):
            return self.all_special
        allowed, refused = self._rights(allowed_special, disallowed_special)
        if refused:
            self._check(text, refused)
        return self.flags(allowed)

    def encode_to_numpy(self, text, *, allowed_special=NOTHING, disallowed_special=ALL):
        """`encode` as a read-only array of uint32, shape (number of tokens,). A lone surrogate is a UnicodeEncodeError.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.encode_to_numpy("ab")
        array([97, 98], dtype=uint32)
        """
        cdef bytes flags = self._allowed(text, allowed_special, disallowed_special)
        cdef Py_ssize_t size = 0
        cdef RankWorker *w
        view(text, &size)
        w = self.encoder.take(_engine.cache_budget())
        try:
            self.fill(w, text, <const uint8_t *>PyBytes_AS_STRING(flags))
            data = PyBytes_FromStringAndSize(<char *>w.ids, w.n_ids * 4)
        finally:
            self.encoder.give(w)
        return np.frombuffer(data, dtype=np.uint32)

    def encode_ordinary_batch(self, text, *, num_threads=8):
        """`encode_ordinary` of every str of an iterable, in parallel: a list of lists of int.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.encode_ordinary_batch(["ab", "c"])
        [[97, 98], [99]]
        """
        return _batch(self, text, num_threads, None, NOTHING)

    def encode_batch(self, text, *, num_threads=8, allowed_special=NOTHING, disallowed_special=ALL):
        """`encode` of every str of an iterable, in parallel: a list of lists of int.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={"<end>": 256})
        >>> enc.encode_batch(["ab", "c<end>"], allowed_special="all")
        [[97, 98], [99, 256]]
        """
        allowed, refused = self._rights(allowed_special, disallowed_special)
        return _batch(self, text, num_threads, self.flags(allowed), refused)

    def _encode_single_piece(self, text_or_bytes):
        """The tokens of a piece, which the pattern does not cut."""
        cdef bytes data = text_or_bytes.encode("utf-8") if isinstance(text_or_bytes, str) else text_or_bytes
        cdef RankWorker *w = self.encoder.take(_engine.cache_budget())
        try:
            rank_check(self.encoder.piece(w, <const uint8_t *>PyBytes_AS_STRING(data), len(data), True))
            return list_from_u32(w.ids, w.n_ids)
        finally:
            self.encoder.give(w)

    def _encode_bytes(self, bytes text not None):
        """The tokens of bytes that need not be UTF-8: from where they are not, one piece goes to the end."""
        cdef RankWorker *w
        cdef bytes rest
        try:
            return self.encode_ordinary(text.decode("utf-8"))
        except UnicodeDecodeError as error:
            valid = error.start
        w = self.encoder.take(_engine.cache_budget())
        try:
            self.fill(w, text[:valid].decode("utf-8"), NULL)
            tokens = self.unstable(w)
            rest = self.decode_bytes(tokens) + text[valid:]
            tokens = list_from_u32(w.ids, w.n_ids)
        finally:
            self.encoder.give(w)
        return tokens + self._encode_single_piece(rest)

    cdef list unstable(self, RankWorker *w):
        """Take the tokens of the last piece away and give them back, with the blank ones before them if it is blank:
        they may change when the text goes on (src/lib.rs `_increase_last_piece_token_len`)."""
        cdef int64_t n = w.last
        if n > 0 and self.is_blank(w.ids[w.n_ids - n]):
            while n < w.n_ids and self.is_blank(w.ids[w.n_ids - n - 1]):
                n += 1
        w.n_ids -= n
        return list_from_u32(w.ids + w.n_ids, n)

    def is_blank(self, uint32_t token):
        """Whether a token, special ones apart, is made of blanks, tabs and newlines alone."""
        cdef uint32_t number = 0
        cdef int64_t entry = self.entry(token, &number)
        if entry < 0 or entry >= self.encoder.table.r.tokens.size:
            return False
        return not self.entry_bytes(entry).strip(b" \n\t")

    def encode_with_unstable(self, text, *, allowed_special=NOTHING, disallowed_special=ALL):
        """The tokens that stay when the text goes on, and all ways in which the rest may begin: a pair of a list of int
        and a list of lists of int. The reference gives the second in no order; here it is sorted.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256, b"abc": 257}
        >>> enc = tiktoken.Encoding("small", pat_str=r"\\w+|\\W", mergeable_ranks=ranks, special_tokens={})
        >>> enc.encode_with_unstable("1 ab")
        ([49, 32], [[256], [257]])
        """
        cdef bytes flags = self._allowed(text, allowed_special, disallowed_special)
        cdef Py_ssize_t size = 0
        cdef RankWorker *w
        view(text, &size)
        w = self.encoder.take(_engine.cache_budget())
        try:
            self.fill(w, text, <const uint8_t *>PyBytes_AS_STRING(flags))
            last = self.unstable(w) if w.last else []
            tokens = list_from_u32(w.ids, w.n_ids)
        finally:
            self.encoder.give(w)
        return tokens, sorted(map(list, _completions(self, self.decode_bytes(last))))

    def encode_single_token(self, text_or_bytes):
        """The number of one token, special ones included, given as str or bytes. Raises KeyError where it is none.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={"<end>": 256})
        >>> enc.encode_single_token("<end>"), enc.encode_single_token(b"\\xff")
        (256, 255)
        """
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode("utf-8")
        elif not isinstance(text_or_bytes, bytes):
            raise TypeError(f"'{type(text_or_bytes).__name__}' object is not an instance of 'bytes'")
        cdef bytes data = text_or_bytes
        cdef const uint8_t *p = <const uint8_t *>PyBytes_AS_STRING(data)
        cdef int64_t number = vocab_find(&self.encoder.table.r.tokens, p, len(data))
        if number < 0:
            number = vocab_find(&self.encoder.specials, p, len(data))
        if number < 0:
            raise KeyError(data)
        return number

    # -- decoding

    cdef int64_t entry(self, object token, uint32_t *number) except -2:
        """A token's entry, or -1 where there is none of that number."""
        cdef int64_t value = number_of(token)
        number[0] = <uint32_t>value
        if self.entry_of == NULL:
            found = self.sparse.get(value)
            return -1 if found is None else found
        if value >= self.n_numbers or self.entry_of[value] == NO_ENTRY:
            return -1
        return self.entry_of[value]

    cdef bytes entry_bytes(self, int64_t entry):
        cdef VocabTable *t = &self.encoder.table.r.tokens
        if entry >= t.size:
            entry -= t.size
            t = &self.encoder.specials
        return (<char *>t.text.data)[t.offsets[entry]:t.offsets[entry + 1]]

    cdef bytes joined(self, object tokens):
        cdef VocabTable *t = &self.encoder.table.r.tokens
        cdef VocabTable *s = &self.encoder.specials
        cdef VocabTable *v
        cdef object sequence = sequence_of(tokens)
        cdef Py_ssize_t n = len(sequence), i
        cdef int64_t total = 0, e, missing = -1, size
        cdef uint32_t number = 0
        cdef int64_t *entries = <int64_t *>malloc(<size_t>(n + 1) * sizeof(int64_t))
        cdef bytes out
        cdef char *p
        if entries == NULL:
            raise MemoryError("out of memory while decoding")
        try:
            for i in range(n):
                e = self.entry(sequence[i], &number)
                entries[i] = e
                if e < 0:
                    if missing < 0:
                        missing = number
                elif e < t.size:
                    total += t.offsets[e + 1] - t.offsets[e]
                else:
                    total += s.offsets[e - t.size + 1] - s.offsets[e - t.size]
            if missing >= 0:
                raise KeyError(f"Invalid token for decoding: {missing}")
            out = PyBytes_FromStringAndSize(NULL, total)
            p = PyBytes_AS_STRING(out)
            for i in range(n):
                e = entries[i]
                v = t
                if e >= t.size:
                    v = s
                    e -= t.size
                size = v.offsets[e + 1] - v.offsets[e]
                memcpy(p, v.text.data + v.offsets[e], <size_t>size)
                p += size
            return out
        finally:
            free(entries)

    def decode_bytes(self, tokens):
        """The bytes that a sequence of tokens stands for; they need not be UTF-8.

        Raises:
            KeyError: a number is no token.
            TypeError: `tokens` is no sequence of int.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.decode_bytes([104, 105, 255])
        b'hi\\xff'
        """
        return self.joined(tokens)

    def decode(self, tokens, errors="replace"):
        """The str that a sequence of tokens stands for. `errors` says what becomes of bytes that are not UTF-8.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.decode([104, 105])
        'hi'
        """
        return (<object>self.joined(tokens)).decode("utf-8", errors)

    def decode_single_token_bytes(self, token):
        """The bytes of one token, special ones included. Raises KeyError where there is none of that number.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.decode_single_token_bytes(104)
        b'h'
        """
        cdef uint32_t number = 0
        cdef int64_t entry = self.entry(token, &number)
        if entry < 0:
            raise KeyError(str(number))
        return self.entry_bytes(entry)

    def decode_tokens_bytes(self, tokens):
        """The bytes of each token, as a list.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.decode_tokens_bytes([104, 105])
        [b'h', b'i']
        """
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens):
        """The str of a sequence of tokens and, for each, the index of the first character that has bytes of it.

        Raises UnicodeDecodeError where the bytes are not UTF-8.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.decode_with_offsets([104, 195, 169])
        ('hé', [0, 1, 1])
        """
        cdef bytes token
        cdef Py_ssize_t length = 0
        pieces = self.decode_tokens_bytes(tokens)
        offsets = []
        for token in pieces:
            offsets.append(max(0, length - (0x80 <= token[0] < 0xC0)))
            length += sum(1 for byte in token if not 0x80 <= byte < 0xC0)
        return b"".join(pieces).decode("utf-8"), offsets

    def decode_batch(self, batch, *, errors="replace", num_threads=8):
        """`decode` of every sequence of an iterable, as a list.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.decode_batch([[104], [105]])
        ['h', 'i']
        """
        _check_threads(num_threads)
        return [(<object>self.joined(tokens)).decode("utf-8", errors) for tokens in batch]

    def decode_bytes_batch(self, batch, *, num_threads=8):
        """`decode_bytes` of every sequence of an iterable, as a list.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.decode_bytes_batch([[104], [105]])
        [b'h', b'i']
        """
        _check_threads(num_threads)
        return [self.joined(tokens) for tokens in batch]

    def token_byte_values(self):
        """The bytes of all tokens but the special ones, sorted.

        >>> import hftok.tiktoken as tiktoken
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> enc = tiktoken.Encoding("bytes", pat_str="(?s:.)", mergeable_ranks=ranks, special_tokens={})
        >>> enc.token_byte_values()[97]
        b'a'
        """
        return list(self._sorted())

    def _sorted(self):
        if self.sorted_tokens is None:
            self.sorted_tokens = sorted(self.encoder.table.tokens())
        return self.sorted_tokens


cdef int _check_threads(object num_threads) except -1:
    if num_threads <= 0:
        raise ValueError("max_workers must be greater than 0")
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Completions of a text that may go on

cdef frozenset BLANKS = frozenset(
    chr(c) for first, last in property_ranges("whitespace") for c in range(first, last + 1))


def _completions(RankEncoding encoding, bytes rest):
    """src/lib.rs `_encode_unstable_native`: every way in which a text that ends in `rest` may go on, up to the token that
    covers its end."""
    found = set()
    if not rest:
        return found
    tokens = encoding._sorted()
    number = encoding.encode_single_token
    # Tokens that begin with the whole rest; then those that begin with an end of it, put behind what comes before.
    for cut in range(len(rest)):
        end = rest[cut:]
        i = bisect_left(tokens, end)
        while i < len(tokens) and tokens[i].startswith(end):
            if cut == 0:
                found.add((number(tokens[i]),))
            else:
                data = rest[:cut] + tokens[i]
                try:
                    ids = encoding.encode_ordinary(data.decode("utf-8"))
                except UnicodeDecodeError:
                    ids = _merged(encoding, data)
                length = 0
                for n, token in enumerate(ids, 1):
                    length += len(encoding.decode_single_token_bytes(token))
                    if length >= len(rest):
                        break
                else:
                    n = len(ids)
                found.add(tuple(ids[:n]))
            i += 1
    # A blank at the end may become a piece of its own.
    if len(rest) > 1:
        for size in range(1, 5):
            try:
                last = rest[-size:].decode("utf-8")
            except UnicodeDecodeError:
                continue
            if len(last) == 1 and last in BLANKS and len(rest) > size:
                found.add((*_merged(encoding, rest[:-size]), *_merged(encoding, rest[-size:])))
            break
    return found


cdef list _merged(RankEncoding encoding, bytes data):
    """The tokens of one piece by merging alone: it is not looked up as a whole."""
    cdef RankWorker *w = encoding.encoder.take(_engine.cache_budget())
    try:
        rank_check(encoding.encoder.piece(w, <const uint8_t *>PyBytes_AS_STRING(data), len(data), False))
        return list_from_u32(w.ids, w.n_ids)
    finally:
        encoding.encoder.give(w)


# ---------------------------------------------------------------------------------------------------------------------
# Batches

cdef struct Text:
    const uint8_t *data
    Py_ssize_t size
    int64_t count            # tokens
    int64_t refused          # entry of the special token that it must not have, or -1
    int error

cdef struct Unit:
    Py_ssize_t first
    Py_ssize_t last
    uint32_t *ids

cdef struct Job:
    void *encoder
    RankWorker **workers
    Text *texts
    Unit *units
    const uint8_t *allowed
    const uint8_t *refused


cdef void _encode_unit(void *context, int64_t i, int thread) noexcept nogil:
    cdef Job *job = <Job *>context
    cdef Unit *unit = &job.units[i]
    cdef RankWorker *w = job.workers[thread]
    cdef Text *text
    cdef Py_ssize_t k
    cdef int64_t before
    w.n_ids = 0
    for k in range(unit.first, unit.last):
        text = &job.texts[k]
        if job.refused != NULL:
            text.refused = (<RankEncoder>job.encoder).holds_special(text.data, text.size, job.refused)
            if text.refused >= 0:
                break
        before = w.n_ids
        text.error = (<RankEncoder>job.encoder).encode(w, text.data, text.size, job.allowed)
        if text.error:
            break
        text.count = w.n_ids - before
    unit.ids = <uint32_t *>malloc(<size_t>(w.n_ids + 1) * 4)
    if unit.ids == NULL:
        job.texts[unit.first].error = -1
        return
    memcpy(unit.ids, w.ids, <size_t>w.n_ids * 4)


def _batch(RankEncoding encoding, items, num_threads, flags, frozenset refused):
    """Tokens of every text; of several errors that of the first text is raised, as if they came one after the other.
    flags: the allowed special tokens (None: of no text is a special token made)."""
    cdef RankEncoder encoder = encoding.encoder
    cdef list kept = [], out
    cdef list names = list(encoding.special_entries)
    cdef Py_ssize_t n, k, n_units = 0, size = 0
    cdef int64_t total = 0, at
    cdef int threads = 1, t, taken = 0
    cdef Job job
    cdef Unit *unit
    cdef bytes refused_flags = None
    cdef object late = None
    cdef object check = None
    _check_threads(num_threads)
    memset(&job, 0, sizeof(Job))
    if refused:
        if encoder.has_empty or not all(name in encoding.special_entries for name in refused):
            check = refused                  # not special tokens only: one by one
        else:
            refused_flags = encoding.flags(refused)
            job.refused = <const uint8_t *>PyBytes_AS_STRING(refused_flags)
    if flags is not None:
        job.allowed = <const uint8_t *>PyBytes_AS_STRING(<bytes>flags)
    for text in items:
        try:
            if check is not None:
                encoding._check(text, check)
            try:
                view(text, &size)
            except UnicodeEncodeError:
                if refused:
                    encoding._check(text, refused)
                text = repaired(text)
        except Exception as error:           # texts before this one may have an error of their own, which comes first
            late = error
            break
        kept.append(text)
    n = len(kept)
    job.encoder = <void *>encoder
    job.texts = <Text *>calloc(<size_t>n + 1, sizeof(Text))
    job.units = <Unit *>calloc(<size_t>n + 1, sizeof(Unit))
    try:
        if job.texts == NULL or job.units == NULL:
            raise MemoryError("out of memory while encoding")
        for k in range(n):
            job.texts[k].data = view(kept[k], &job.texts[k].size)
            job.texts[k].refused = -1
            if n_units == 0 or total + job.texts[k].size > UNIT:
                n_units += 1
                job.units[n_units - 1].first = k
                total = 0
            total += job.texts[k].size
            if not PyUnicode_IS_COMPACT_ASCII(kept[k]):
                encoder.saw(job.texts[k].size)
            job.units[n_units - 1].last = k + 1
        threads = min(threads_for(n_units), num_threads)
        job.workers = <RankWorker **>calloc(<size_t>threads, sizeof(RankWorker *))
        if job.workers == NULL:
            raise MemoryError("out of memory while encoding")
        for t in range(threads):
            job.workers[t] = encoder.take(_engine.cache_budget() // threads)
            taken += 1
        with nogil:
            parallel_for(_encode_unit, &job, n_units, threads)
        out = [None] * n
        for t in range(n_units):
            unit = &job.units[t]
            at = 0
            for k in range(unit.first, unit.last):
                if job.texts[k].refused >= 0:
                    refuse_special(names[job.texts[k].refused])
                rank_check(job.texts[k].error)
                out[k] = list_from_u32(unit.ids + at, job.texts[k].count)
                at += job.texts[k].count
            free(unit.ids)
            unit.ids = NULL
        if late is not None:
            raise late
        return out
    finally:
        for t in range(taken):
            encoder.give(job.workers[t])
        for t in range(n_units):
            free(job.units[t].ids)
        free(job.workers)
        free(job.texts)
        free(job.units)
