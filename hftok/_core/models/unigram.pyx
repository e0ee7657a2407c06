"""Unigram segmentation of one pre-token: the path of pieces with the highest sum of scores.

Rules (reference: models/unigram/model.rs `encode_optimized`, `tokenize`):
- From each character on, pieces are tried from the shortest to the longest; a path replaces the one that ends at the same
  place only if its score is strictly higher, so of equal paths the one whose last piece begins first stays.
- Where a character is no piece itself, it may be taken as unknown for the lowest score of the vocabulary less 10.
- Scores are float64, added as piece score + score so far.
- Neighbouring pieces with the unk id (found or not) become one, whose text is then looked up like any piece: a known string
  gets its own id, an unknown one its byte tokens if byte fallback is on and all are there (each with the offsets of the
  whole), or the unk id with the text as its string.
- Of equal strings in the vocabulary the last one counts.
- alpha other than 0: a path is drawn (`lattice`).

It leaves to others: pre-tokenization (Metaspace), caching of words.
"""
from array import array

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memmove, memset

from hftok._core.double_array cimport (
    STEP_BASE, STEP_END, TRIE_END, TRIE_STARTS, Trie, TrieStart, Unit, trie_build, trie_find, trie_free, trie_starts, unit_score,
)
from hftok._core.models.lattice cimport (
    LATTICE_BAD_SCORES, LATTICE_NO_MEMORY, LATTICE_OK, lattice_fill, lattice_free, lattice_sample, lattice_sample_nbest,
)
from hftok._core.models.model cimport (
    MODEL_BAD_SCORES, MODEL_MISSING_UNK, MODEL_NO_MEMORY, MODEL_OK, Model, ModelToken, TokenVec, VALUE_TEXT, VALUE_VOCAB,
    tv_push,
)
from hftok._core.models.piece_list cimport PieceList
from hftok._core.random cimport random_fix, random_ready
from hftok._core.stored cimport Block, demand, view
from hftok._core.text cimport utf8_decode

cdef enum:
    SURELY_ROOM = 1 << 12        # bytes of a word for whose tokens there is room without counting them
    KEPT_POSITIONS = 1 << 20     # a scratch that grew beyond this gives its memory back after the word


cdef class Pieces:
    def __cinit__(self):
        memset(&self.trie, 0, sizeof(Trie))
        self.min_score = INFINITY

    def __dealloc__(self):
        if self.borrowed:
            free(self.trie.starts)
        else:
            trie_free(&self.trie)

    def __init__(self, PieceList pieces not None):
        cdef int64_t i
        cdef int error
        if self.trie.units != NULL:
            raise RuntimeError("Pieces are filled once, when they are made")
        self.pieces = pieces
        self.size = pieces.size
        for i in range(self.size):
            if pieces.scores[i] < self.min_score:
                self.min_score = pieces.scores[i]
        with nogil:
            error = trie_build(&self.trie, pieces.text.data, pieces.offsets, pieces.scores, self.size)
        if error != 0:
            raise MemoryError("out of memory while reading the vocabulary")
        self.find_byte_ids()

    cdef int find_byte_ids(self) except -1:
        cdef bytes name
        cdef int i
        for i in range(256):
            name = b"<0x%02X>" % i
            self.byte_ids[i] = trie_find(&self.trie, name, 6)
        return 0

    def sections(self):
        """The arrays by name (see stored)."""
        cdef const Trie *t = &self.trie
        sections = {
            "unigram.numbers": array("Q", [self.size, t.size, t.steps != NULL]).tobytes(),
            "unigram.units": view(t.units, t.size * sizeof(Unit)),
            "unigram.ids": view(t.ids, t.size * sizeof(uint32_t)),
        }
        sections.update(self.pieces.sections())
        if t.steps != NULL:
            sections["unigram.steps"] = view(t.steps, t.size * sizeof(uint32_t))
            sections["unigram.codes"] = view(t.codes, t.size * sizeof(uint32_t))
        return sections

    @staticmethod
    def of_block(Block block not None):
        """The pieces over the arrays of a block. StoredError where they are damaged."""
        cdef Pieces self = Pieces.__new__(Pieces)
        cdef Trie *t = &self.trie
        cdef const uint64_t *numbers = <const uint64_t *>block.exactly("unigram.numbers", 8, 3)
        cdef int64_t n, i, pieces
        cdef bint good = True
        self.block = block
        self.borrowed = True
        demand(numbers[0] < 0xFFFFFFFF and 256 <= numbers[1] <= <uint64_t>1 << 31 and numbers[1] & 255 == 0)
        self.size = pieces = <int64_t>numbers[0]
        t.size = t.capacity = n = <int64_t>numbers[1]
        t.units = <Unit *>block.exactly("unigram.units", sizeof(Unit), n)
        t.ids = <uint32_t *>block.exactly("unigram.ids", sizeof(uint32_t), n)
        if numbers[2] == 1:
            t.steps = <uint32_t *>block.exactly("unigram.steps", sizeof(uint32_t), n)
            t.codes = <uint32_t *>block.exactly("unigram.codes", sizeof(uint32_t), n)
        self.pieces = PieceList.of_block(block, pieces)
        t.scores = self.pieces.scores
        with nogil:
            # A child lies in the block of 256 units that its parent's base is in.
            for i in range(n):
                good &= <int64_t>(t.units[i].base & <uint32_t>0x7FFFFFFF) < n
            for i in range(n):
                good &= t.ids[i] < pieces or not t.units[i].base & <uint32_t>TRIE_END
            if t.steps != NULL:
                for i in range(n):
                    good &= <int64_t>(t.steps[i] >> STEP_BASE) < n
                    good &= (t.steps[i] & STEP_END != 0) == (t.units[i].base & <uint32_t>TRIE_END != 0)
            for i in range(pieces):
                if self.pieces.scores[i] < self.min_score:
                    self.min_score = self.pieces.scores[i]
        demand(good)
        if t.steps != NULL and trie_starts(t) != 0:
            raise MemoryError("out of memory while reading the vocabulary")
        self.find_byte_ids()
        return self


cdef inline bint reserve(TokenVec *v, int64_t n) noexcept nogil:
    """Room for n more tokens, or False."""
    cdef int64_t capacity = 2 * v.capacity
    cdef ModelToken *p
    if v.size + n <= v.capacity:
        return True
    if capacity < v.size + n + 16:
        capacity = v.size + n + 16
    p = <ModelToken *>realloc(v.data, <size_t>capacity * sizeof(ModelToken))
    if p == NULL:
        return False
    v.data = p
    v.capacity = capacity
    return True


cdef inline void close_gap(TokenVec *v, int64_t room, ModelToken *first) noexcept nogil:
    """Append the tokens that end where `room` more of them would end, from `first` on."""
    cdef int64_t n = v.data + v.size + room - first
    memmove(v.data + v.size, first, <size_t>n * sizeof(ModelToken))
    v.size += n


cdef inline void put_token(ModelToken *t, uint32_t id, uint32_t value, int64_t start, int64_t end) noexcept nogil:
    t.id = id
    t.value = value
    t.start = start
    t.end = end


cdef inline void offer(Best *best, double score, uint32_t unit, int64_t length) noexcept nogil:
    """A path to a place, whose last piece has so many bytes: kept if it is the first or strictly better."""
    if best.length == 0 or score > best.score:
        best.score = score
        best.unit = unit
        best.length = <uint32_t>length


cdef UnigramModel of_trie(
        Pieces pieces, object make_pieces, object make_vocab, object unk_id, bint byte_fallback, object alpha, object nbest_size):
    cdef UnigramModel new = UnigramModel.__new__(UnigramModel)
    new.pieces = pieces
    Model.__init__(new, None)
    new.make_pieces = make_pieces
    new.make_vocab = make_vocab
    new.set_options(unk_id, byte_fallback, alpha, nbest_size)
    return new


cdef class UnigramModel(Model):
    """Unigram over one pre-token.

    pieces: list of (str, score), a piece's place is its id. unk_id: place of the unk piece, or None. alpha: with a number
    other than 0, paths are drawn, weighted by exp(alpha * score); nbest_size: from the best so many only (None, 0: from all).
    Raises Exception with the reference's sentence for an unk_id outside the vocabulary; TypeError, OverflowError,
    UnicodeEncodeError, MemoryError.

    >>> model = UnigramModel([("<unk>", 0.0), ("a", -1.0), ("b", -1.0), ("ab", -1.5)], unk_id=0)
    >>> model.tokenize_str("abxa")
    [(3, 'ab', (0, 2)), (0, 'x', (2, 3)), (1, 'a', (3, 4))]
    """

    def __init__(self, list pieces not None, unk_id=None, bint byte_fallback=False, alpha=None, nbest_size=None):
        if unk_id is not None:
            if unk_id < 0:
                raise OverflowError("unk_id is a place in the vocabulary: 0 or more")
            if not pieces:
                raise Exception("Error while loading Unigram: The vocabulary is empty but at least <unk> is needed")
            if unk_id >= len(pieces):
                raise Exception("Error while loading Unigram: The `unk_id` is larger than vocabulary size")
        self.pieces = Pieces(PieceList(pieces))
        self._vocab_list = pieces = list(pieces)
        Model.__init__(self, None)
        self.make_vocab = lambda: {item[0]: i for i, item in enumerate(pieces)}
        self.set_options(unk_id, byte_fallback, alpha, nbest_size)

    def replace(self, **options):
        """A model with another `alpha` or `nbest_size` over the same pieces."""
        cdef UnigramModel new = UnigramModel.__new__(UnigramModel)
        chosen = {"alpha": self.alpha, "nbest_size": self.nbest_size}
        for name in options:
            if name not in chosen:
                raise TypeError(f"a Unigram model has no option {name!r} to replace")
        chosen.update(options)
        Model.__init__(new, self._vocab)
        new.make_vocab = self.make_vocab
        new._vocab_r = self._vocab_r
        new.pieces = self.pieces
        new._vocab_list = self._vocab_list
        new.make_pieces = self.make_pieces
        new.set_options(self.unk_id, self.byte_fallback, chosen["alpha"], chosen["nbest_size"])
        return new

    # ---- as a part of a block ------------------------------------------------------------------------------------------

    def sections(self):
        """The arrays by name (see stored)."""
        return self.pieces.sections()

    @staticmethod
    def of_pieces(PieceList pieces not None, make_pieces, make_vocab, unk_id, bint byte_fallback, alpha, nbest_size):
        """A model of a list of pieces. make_pieces, make_vocab: give the pieces with their scores as a list, and the dict, when they
        are asked for."""
        return of_trie(Pieces(pieces), make_pieces, make_vocab, unk_id, byte_fallback, alpha, nbest_size)

    @staticmethod
    def of_block(Block block not None, make_pieces, make_vocab, unk_id, bint byte_fallback, alpha, nbest_size):
        """The same over the arrays of a block. StoredError where it is damaged."""
        cdef Pieces pieces = Pieces.of_block(block)
        demand(unk_id is None or 0 <= unk_id < pieces.size)
        return of_trie(pieces, make_pieces, make_vocab, unk_id, byte_fallback, alpha, nbest_size)

    def stored_size(self):
        """int: the number of pieces."""
        return self.pieces.size

    def stored_pieces(self):
        """The pieces, made anew: list of (piece, score)."""
        return self.pieces.pieces.to_list()

    def find(self, str piece not None):
        """The id of a piece that is not empty, or None."""
        cdef bytes text = piece.encode("utf-8")
        cdef int64_t id = trie_find(&self.pieces.trie, text, len(text))
        return None if id < 0 else id

    @property
    def vocab_list(self):
        """list of (piece, score), by id."""
        if self._vocab_list is None:
            self._vocab_list = self.make_pieces()
        return self._vocab_list

    cdef int set_options(self, object unk_id, bint byte_fallback, object alpha, object nbest_size) except -1:
        if nbest_size is not None and nbest_size < 0:
            raise OverflowError("nbest_size is a number of paths: 0 or more")
        self._unk_id = -1 if unk_id is None else <int64_t>unk_id
        self.byte_fallback = byte_fallback
        self.alpha = None if alpha is None else float(alpha)
        self.nbest_size = nbest_size
        self.alpha_value = 0.0 if alpha is None else <double>alpha
        self.sampling = alpha is not None and self.alpha_value != 0.0
        self.chunk_independent = not self.sampling
        self.text_values = True  # unknown pieces
        self.nbest_value = 0 if nbest_size is None else min(<object>nbest_size, <object>(1 << 60))
        self.unk_score = self.pieces.min_score - 10.0
        return 0

    @property
    def unk_id(self):
        return None if self._unk_id < 0 else self._unk_id

    @property
    def vocab_r(self):
        """id -> piece, for every place in the list."""
        if self._vocab_r is None:
            self._vocab_r = {i: item[0] for i, item in enumerate(self.vocab_list)}
        return self._vocab_r

    def missing_unk(self):
        return Exception("Encountered an unknown token but `unk_id` is missing")

    def bad_scores(self):
        return ValueError(
            "the scores of these pieces and this alpha give no distribution to sample from (no path, an infinite or an "
            "undefined weight, or only zeros); set alpha to None to get the best path")

    def fix_seed(self, seed):
        """For tests: each scratch made from now on draws from a stream that follows from the seed and from how many were made
        before. None: seeds come from the operating system again."""
        self.fixed_seed = seed is not None
        self.seed = 0 if seed is None else seed

    cdef void *new_scratch(self) noexcept nogil:
        cdef UnigramScratch *s = <UnigramScratch *>calloc(1, sizeof(UnigramScratch))
        if s != NULL and self.fixed_seed:
            random_fix(&s.random, self.seed)
            self.seed += <uint64_t>0x632BE59BD9B4E019
        return s

    cdef void free_scratch(self, void *scratch) noexcept nogil:
        cdef UnigramScratch *s = <UnigramScratch *>scratch
        if s != NULL:
            free(s.best)
            lattice_free(&s.lattice)
            free(s)

    cdef int best_path(self, const uint8_t *text, int64_t size, UnigramScratch *s) noexcept nogil:
        cdef const Unit *units = self.pieces.trie.units
        cdef const Trie *trie = &self.pieces.trie
        cdef const uint32_t *steps = self.pieces.trie.steps
        cdef const TrieStart *starts = self.pieces.trie.starts
        cdef Best *best
        cdef int64_t start = 0, next, i
        cdef uint32_t node, child, base, step, b, cp
        cdef double here, score
        cdef int length
        cdef bint single
        if s.capacity < size + 1:
            free(s.best)
            s.capacity = size + 1 + size // 2 + 64
            s.best = <Best *>malloc(<size_t>s.capacity * sizeof(Best))
            if s.best == NULL:
                s.capacity = 0
                return MODEL_NO_MEMORY
        best = s.best
        memset(best, 0, <size_t>(size + 1) * sizeof(Best))
        while start < size:
            here = best[start].score
            cp = utf8_decode(text + start, &length)
            next = start + length
            single = False
            i = start
            if steps != NULL:
                if cp < TRIE_STARTS:
                    if starts[cp].step & STEP_END:
                        child = starts[cp].unit
                        score = here + unit_score(trie, child)
                        offer(&best[next], score, child, length)
                        single = True
                    base = starts[cp].step >> STEP_BASE
                    i = next
                else:
                    base = steps[0] >> STEP_BASE
                for i in range(i, size):
                    b = text[i]
                    child = base ^ b
                    step = steps[child]
                    if step & 0xFF != b:
                        break
                    base = step >> STEP_BASE
                    if step & STEP_END:
                        score = here + unit_score(trie, child)
                        offer(&best[i + 1], score, child, i + 1 - start)
                        if i + 1 == next:
                            single = True
            node = 0
            base = units[0].base
            for i in range(start, size if steps == NULL else start):
                child = (base & <uint32_t>0x7FFFFFFF) ^ text[i]
                if units[child].check != node:
                    break
                node = child
                base = units[node].base
                if base & <uint32_t>TRIE_END:
                    offer(&best[i + 1], trie.scores[trie.ids[node]] + here, node, i + 1 - start)
                    if i + 1 == next:
                        single = True
            if not single:
                score = self.unk_score + here
                if best[next].length == 0 or score > best[next].score:
                    if self._unk_id < 0:
                        return MODEL_MISSING_UNK
                    best[next].score = score
                    best[next].unit = 0
                    best[next].length = <uint32_t>length
            start = next
        return MODEL_OK

    cdef ModelToken *put_unknown(self, const uint8_t *text, int64_t start, int64_t end, ModelToken *last) noexcept nogil:
        """Write the tokens of a run of pieces with the unk id before `last`, one for each byte at most; where they begin."""
        cdef int64_t id = trie_find(&self.pieces.trie, text + start, end - start), i
        if id < 0 and self.byte_fallback:
            i = start
            while i < end and self.pieces.byte_ids[text[i]] >= 0:
                i += 1
            if i == end:
                while i > start:
                    i -= 1
                    last -= 1
                    put_token(last, <uint32_t>self.pieces.byte_ids[text[i]], VALUE_VOCAB, start, end)
                return last
        last -= 1
        if id >= 0:
            put_token(last, <uint32_t>id, VALUE_VOCAB, start, end)
        else:
            put_token(last, <uint32_t>self._unk_id, VALUE_TEXT, start, end)
        return last

    cdef int emit_best(self, const uint8_t *text, int64_t size, UnigramScratch *s, TokenVec *out) noexcept nogil:
        """Write the tokens of the path from the last one on, with room for one for each byte before them, and close the gap."""
        cdef int64_t end = size, room = size, run = -1, id
        cdef const Best *b
        cdef ModelToken *t
        if size > SURELY_ROOM:
            room = 0
            while end > 0:
                b = &s.best[end]
                room += 1 if b.unit and <int64_t>self.pieces.trie.ids[b.unit] != self._unk_id else b.length
                end -= b.length
            end = size
        if not reserve(out, room):
            return MODEL_NO_MEMORY
        t = out.data + out.size + room
        while end > 0:
            b = &s.best[end]
            id = <int64_t>self.pieces.trie.ids[b.unit] if b.unit else self._unk_id
            if id != self._unk_id:
                if run >= 0:
                    t = self.put_unknown(text, end, run, t)
                    run = -1
                t -= 1
                put_token(t, <uint32_t>id, VALUE_VOCAB, end - b.length, end)
            elif run < 0:
                run = end
            end -= b.length
        if run >= 0:
            t = self.put_unknown(text, 0, run, t)
        close_gap(out, room, t)
        return MODEL_OK

    cdef int emit_path(self, const uint8_t *text, UnigramScratch *s, TokenVec *out) noexcept nogil:
        cdef int64_t i = 0, start, end
        while i < s.lattice.path_length:
            start = s.lattice.nodes[s.lattice.path[i]].begin
            end = start + s.lattice.nodes[s.lattice.path[i]].length
            if self._unk_id < 0:
                return MODEL_MISSING_UNK  # model.rs encode_unoptimized asks for the unk id at every piece
            if s.lattice.nodes[s.lattice.path[i]].id != self._unk_id:
                if tv_push(out, <uint32_t>s.lattice.nodes[s.lattice.path[i]].id, VALUE_VOCAB, start, end) != MODEL_OK:
                    return MODEL_NO_MEMORY
                i += 1
            else:
                i += 1
                while i < s.lattice.path_length and s.lattice.nodes[s.lattice.path[i]].id == self._unk_id:
                    end += s.lattice.nodes[s.lattice.path[i]].length
                    i += 1
                if not reserve(out, end - start):
                    return MODEL_NO_MEMORY
                close_gap(out, end - start, self.put_unknown(text, start, end, out.data + out.size + (end - start)))
        return MODEL_OK

    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil:
        cdef UnigramScratch *s = <UnigramScratch *>scratch
        cdef int error
        if size == 0:
            return MODEL_OK
        if s == NULL:
            return MODEL_NO_MEMORY
        if self.sampling:
            random_ready(&s.random)
            error = lattice_fill(
                &s.lattice, &self.pieces.trie, text, size, self._unk_id, self.unk_score, self.pieces.size)
            if error == LATTICE_OK:
                if self.nbest_value > 0:
                    error = lattice_sample_nbest(&s.lattice, self.nbest_value, self.alpha_value, &s.random)
                else:
                    error = lattice_sample(&s.lattice, self.alpha_value, &s.random)
            if error != LATTICE_OK:
                return MODEL_NO_MEMORY if error == LATTICE_NO_MEMORY else MODEL_BAD_SCORES
            error = self.emit_path(text, s, out)
            if s.lattice.capacity > KEPT_POSITIONS or s.lattice.hypotheses_capacity > KEPT_POSITIONS:
                lattice_free(&s.lattice)
                memset(&s.lattice, 0, sizeof(s.lattice))
            return error
        error = self.best_path(text, size, s)
        if error == MODEL_OK:
            error = self.emit_best(text, size, s, out)
        if s.capacity > KEPT_POSITIONS:
            free(s.best)
            s.best = NULL
            s.capacity = 0
        return error
