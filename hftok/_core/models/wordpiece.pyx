"""WordPiece: greedy longest match first (reference: models/wordpiece/mod.rs, `tokenize`).

A word of more than `max_input_chars_per_word` characters, or one that has a part without a match, is the unk token as a
whole. Otherwise each token is the longest vocabulary entry that the rest of the word begins with; every token after the
first is looked up behind the continuing subword prefix. Vocabulary entries are whole characters, so matches end between
characters. How the longest match is found: piece_table.pyx.

It leaves normalization, pre-tokenization and caching of words to the engine.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcmp

from hftok._core.models.model cimport MODEL_MISSING_UNK, MODEL_NO_MEMORY, MODEL_OK, VALUE_UNK, VALUE_VOCAB, Model, TokenVec, tv_push
from hftok._core.models.piece_table cimport pieces_add, pieces_free, pieces_init, pieces_longest
from hftok._core.models.vocab_map cimport VocabMap, VocabTable


cdef class WordPieceModel(Model):
    """The kernel of a WordPiece model.

    vocab: dict[str, int], ids below 2**32.

    >>> model = WordPieceModel({"un": 0, "##able": 1, "[UNK]": 2}, "[UNK]", "##", 100)
    >>> model.tokenize_str("unable")
    [(0, 'un', (0, 2)), (1, '##able', (2, 6))]
    >>> model.tokenize_str("unfit")
    [(2, '[UNK]', (0, 5))]
    """

    def __init__(self, dict vocab, str unk_token, str continuing_subword_prefix, max_input_chars_per_word):
        super().__init__(vocab)
        self.fill(VocabMap(vocab), unk_token, continuing_subword_prefix, max_input_chars_per_word)

    @staticmethod
    def of_vocab(VocabMap vocab not None, make_vocab, str unk_token, str continuing_subword_prefix, max_input_chars_per_word):
        """A model of a vocabulary that is there as a table. make_vocab: gives it as a dict when it is asked for."""
        cdef WordPieceModel new = WordPieceModel.__new__(WordPieceModel)
        Model.__init__(new, None)
        new.make_vocab = make_vocab
        new.fill(vocab, unk_token, continuing_subword_prefix, max_input_chars_per_word)
        return new

    cdef int fill(self, VocabMap vocab, str unk_token, str continuing_subword_prefix, max_input_chars_per_word) except -1:
        cdef const VocabTable *v = &vocab.table
        cdef bytes prefix = continuing_subword_prefix.encode("utf-8")
        cdef const char *prefix_text = prefix
        cdef int64_t prefix_size = len(prefix), following = 0, i, n
        cdef const uint8_t *p
        cdef int error = 0
        self.map = vocab
        self.unk_token = unk_token
        self.continuing_subword_prefix = continuing_subword_prefix
        self.max_chars = min(max_input_chars_per_word, (1 << 62))
        unk = vocab.get(unk_token)
        self.has_unk = unk is not None
        self.knows_itself = self.max_chars >= 16
        self.unk = unk if unk is not None else 0
        for i in range(v.size):      # few in most vocabularies: a smaller table misses the near caches less
            n = v.offsets[i + 1] - v.offsets[i]
            following += n > prefix_size and memcmp(v.text.data + v.offsets[i], prefix_text, <size_t>prefix_size) == 0
        if pieces_init(&self.first, v.size + 1) != 0 or pieces_init(&self.following, following + 1) != 0:
            raise MemoryError("no memory for the vocabulary")
        for i in range(v.size):
            p = v.text.data + v.offsets[i]
            n = v.offsets[i + 1] - v.offsets[i]
            error |= pieces_add(&self.first, p, n, v.ids[i])
            if n > prefix_size and memcmp(p, prefix_text, <size_t>prefix_size) == 0:
                error |= pieces_add(&self.following, p + prefix_size, n - prefix_size, v.ids[i])
        if error != 0:
            raise MemoryError("no memory for the vocabulary")
        return 0

    def __dealloc__(self):
        pieces_free(&self.first)
        pieces_free(&self.following)

    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil:
        cdef int64_t begin = out.size, start = 0, i, n, chars = 0
        cdef uint32_t id = 0
        if size > self.max_chars:
            for i in range(size):
                chars += (text[i] & 0xC0) != 0x80
            if chars > self.max_chars:
                start = -1
        while 0 <= start < size:
            n = pieces_longest(&self.first if start == 0 else &self.following, text + start, size - start, &id)
            if n == 0:
                start = -1
                break
            if tv_push(out, id, VALUE_VOCAB, start, start + n) != 0:
                return MODEL_NO_MEMORY
            start += n
        if start < 0:
            out.size = begin
            if not self.has_unk:
                return MODEL_MISSING_UNK
            if tv_push(out, self.unk, VALUE_UNK, 0, size) != 0:
                return MODEL_NO_MEMORY
        return MODEL_OK

    def unk_string(self):
        return self.unk_token

    def missing_unk(self):
        return Exception("WordPiece error: Missing [UNK] token from the vocabulary")
