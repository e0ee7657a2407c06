"""The pieces of a Unigram vocabulary and their scores, in the order of their ids, without a Python object for each.

Rule (reference: models/unigram/model.rs `Unigram::from`): a piece's place in the list is its id; a piece may come twice, and a
score is a float64. The list is what a tokenizer.json says; it is kept beside the trie that `unigram` makes of it, which
knows only the last of equal pieces, for those who ask for the vocabulary and for the load cache.

It leaves to others: looking pieces up (`unigram`), reading them from JSON (`model_tables`).
"""
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from hftok._core.models.vocab_map cimport ByteBuffer, append_utf8, are_texts, buffer_reserve, text_of
from hftok._core.stored cimport Block, demand, view

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(PyObject *op) noexcept
    int PyGC_Enable() noexcept
    int PyGC_Disable() noexcept


cdef class PieceList:
    def __cinit__(self):
        memset(&self.text, 0, sizeof(ByteBuffer))

    def __dealloc__(self):
        if not self.borrowed:
            free(self.text.data)
            free(self.offsets)
            free(self.scores)

    def __init__(self, list pieces not None):
        """Read a list of (piece, score). TypeError for other items, OverflowError for too many or too long ones,
        UnicodeEncodeError for a lone surrogate, MemoryError."""
        cdef int64_t n = len(pieces), i, before
        if self.offsets != NULL:
            raise RuntimeError("a PieceList is filled once, when it is made")
        if n >= 0xFFFFFFFF:
            raise OverflowError("a Unigram vocabulary holds fewer than 2**32 - 1 pieces")
        self.offsets = <int64_t *>malloc(<size_t>(n + 1) * sizeof(int64_t))
        self.scores = <double *>malloc(<size_t>(n + 1) * sizeof(double))
        if self.offsets == NULL or self.scores == NULL:
            raise MemoryError("out of memory while reading the vocabulary")
        buffer_reserve(&self.text, n * 8)
        for i in range(n):
            item = pieces[i]
            if type(item) is tuple and len(<tuple>item) == 2:
                piece, score = <tuple>item
            elif type(item) is list and len(<list>item) == 2:
                piece, score = <list>item
            else:
                raise TypeError(f"a Unigram vocabulary is a list of (piece, score), not of {item!r:.80}")
            if not isinstance(piece, str):
                raise TypeError(f"a Unigram piece is a str, not {type(piece).__name__}")
            self.offsets[i] = before = self.text.size
            append_utf8(&self.text, <str>piece)
            if self.text.size - before >= 0xFFFFFFFF:
                raise OverflowError("a Unigram piece is shorter than 2**32 - 1 bytes")
            self.scores[i] = score
        self.offsets[n] = self.text.size
        self.size = n

    def __len__(self):
        return self.size

    def to_list(self):
        """The pieces and their scores: list of (str, float). StoredError where a text of a block is not UTF-8."""
        cdef int64_t i
        cdef list result = []
        cdef tuple pair
        cdef bint collecting
        if self.borrowed:
            demand(are_texts(self.text.data, self.offsets, self.size))
        collecting = PyGC_Disable()  # there is nothing to collect, and it would be looked for every 700 tuples
        try:
            for i in range(self.size):
                pair = (text_of(self.text.data + self.offsets[i], self.offsets[i + 1] - self.offsets[i]), self.scores[i])
                PyObject_GC_UnTrack(<PyObject *>pair)    # no cycle goes through text and number
                result.append(pair)
        finally:
            if collecting:
                PyGC_Enable()
        return result

    # ---- as a part of a block ------------------------------------------------------------------------------------------

    def sections(self):
        """The arrays by name (see stored)."""
        return {
            "pieces.text": view(self.text.data, self.text.size),
            "pieces.offsets": view(self.offsets, (self.size + 1) * sizeof(int64_t)),
            "pieces.scores": view(self.scores, self.size * sizeof(double)),
        }

    @staticmethod
    def of_block(Block block not None, int64_t size):
        """So many pieces over the arrays of a block. StoredError where they are damaged."""
        cdef PieceList self = PieceList.__new__(PieceList)
        cdef int64_t i
        cdef bint good
        self.block = block
        self.borrowed = True
        self.size = size
        self.text.data = <uint8_t *>block.array("pieces.text", 1, &self.text.size)
        self.offsets = <int64_t *>block.exactly("pieces.offsets", sizeof(int64_t), size + 1)
        self.scores = <double *>block.exactly("pieces.scores", sizeof(double), size)
        with nogil:
            good = self.offsets[0] == 0 and self.offsets[size] == self.text.size
            for i in range(size):
                good &= self.offsets[i] <= self.offsets[i + 1]
        demand(good)
        return self
