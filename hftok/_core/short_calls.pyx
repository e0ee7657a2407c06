"""Calls with one short text, from Python's arguments to the result with nothing in between.

What it does: `ShortCalls` is the base of `hftok.Tokenizer` and holds the snapshot that a call reads, engine and settings, where
C finds it. A text of some words takes a quarter of a microsecond to encode, of which finding words and tokens is half: a
Python frame, a look-up of an attribute, a tuple more would be seen. The ids are copied from the worker into an array of
their number.
Rule of the reference: Tokenizer.encode; of which `encode_ids` gives the ids without truncation and padding.
Left to others: making the snapshot, and all else that a tokenizer is (hftok/tokenizer.py), encoding (engine.pyx), texts that are
not short (rows.pyx).
"""
cimport cython
from cpython.tuple cimport PyTuple_GET_ITEM
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH

from hftok._core.encode cimport Settings, encode_text
from hftok._core.encoding cimport Encoding
from hftok._core.engine cimport SHORT, Affix, Engine
from hftok._core.rows cimport ids_of_text


@cython.auto_pickle(False)
cdef class ShortCalls:
    """What a tokenizer does in C by itself. _state: (Engine, Settings), or None while they are to be made (`_ready`)."""
    cdef public tuple _state

    def encode(self, sequence, pair=None, is_pretokenized=False, add_special_tokens=True):
        """Encode one text, or a pair.

        Args:
            sequence: a str, or its words (a list or tuple of str) with `is_pretokenized`.
            pair: the second sequence.
            is_pretokenized: the input is cut into words already.
            add_special_tokens: let the post-processor add its special tokens.

        Raises:
            TypeError: the input is none of these, or holds a lone surrogate.
            Exception: truncation cannot reach its length; the model lacks its unknown token.

        >>> import hftok
        >>> tokenizer = hftok.Tokenizer(hftok.models.WordLevel({"a": 1, "b": 2}, unk_token="a"))
        >>> tokenizer.pre_tokenizer = hftok.pre_tokenizers.WhitespaceSplit()
        >>> tokenizer.encode("a b").offsets
        [(0, 1), (2, 3)]
        """
        cdef tuple state
        cdef Encoding encoding
        if (pair is None and is_pretokenized is False and (add_special_tokens is True or add_special_tokens is False)
                and PyUnicode_Check(sequence) and PyUnicode_GET_LENGTH(sequence) <= SHORT):
            state = self._state
            if state is None:
                state = self._ready()
            encoding = encode_text(<Engine>PyTuple_GET_ITEM(state, 0), <Settings>PyTuple_GET_ITEM(state, 1), sequence,
                                   add_special_tokens is True)
            if encoding is not None:
                return encoding
        return self._encode_any(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_ids(self, text, bint add_special_tokens=True):
        """The ids of one text, uint32 (n,). Truncation and padding settings do not apply.

        Args:
            text: a str.
            add_special_tokens: as in `encode`.

        Raises:
            TypeError: text is no str, or holds a lone surrogate.
            Exception: the model lacks its unknown token.

        >>> import hftok
        >>> tokenizer = hftok.Tokenizer(hftok.models.WordLevel({"a": 1, "b": 2}, unk_token="a"))
        >>> tokenizer.pre_tokenizer = hftok.pre_tokenizers.WhitespaceSplit()
        >>> tokenizer.encode_ids("a b")
        array([1, 2], dtype=uint32)
        """
        cdef tuple state = self._state
        cdef Settings settings
        cdef Affix affix
        if state is None:
            state = self._ready()
        settings = <Settings>PyTuple_GET_ITEM(state, 1)
        affix = settings.with_special if add_special_tokens else settings.without_special
        if affix is None:
            affix = settings.affix_of(add_special_tokens)
            if affix is None:
                return self._ids_by_encoding(state, text, add_special_tokens)
        return ids_of_text(<Engine>PyTuple_GET_ITEM(state, 0), text, affix, False)
