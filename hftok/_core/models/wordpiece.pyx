"""WordPiece: greedy longest match first (reference: models/wordpiece/mod.rs, `tokenize`).

A word of more than `max_input_chars_per_word` characters, or one that has a part without a match, is the unk token as a
whole. Otherwise each token is the longest vocabulary entry that the rest of the word begins with; every token after the
first is looked up behind the continuing subword prefix. One byte trie holds the vocabulary; the walk for a continuing
token begins at the prefix's node. Vocabulary entries are UTF-8 of whole characters, so matches end at characters.

It leaves normalization, pre-tokenization and caching of words to the engine.
"""
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.models.model cimport MODEL_MISSING_UNK, MODEL_NO_MEMORY, MODEL_OK, VALUE_UNK, VALUE_VOCAB, Model, TokenVec, tv_push
from hftok._core.trie cimport TRIE_NONE, trie_add, trie_find, trie_free, trie_init, trie_step


cdef class WordPieceModel(Model):
    """The kernel of a WordPiece model.

    vocab: dict[str, int], ids below 2**32. Raises ValueError for a vocabulary of more than 16 million trie nodes.

    >>> model = WordPieceModel({"un": 0, "##able": 1, "[UNK]": 2}, "[UNK]", "##", 100)
    >>> model.tokenize_str("unable")
    [(0, 'un', (0, 2)), (1, '##able', (2, 6))]
    >>> model.tokenize_str("unfit")
    [(2, '[UNK]', (0, 5))]
    """

    def __init__(self, dict vocab, str unk_token, str continuing_subword_prefix, max_input_chars_per_word):
        super().__init__(vocab)
        self.unk_token = unk_token
        self.continuing_subword_prefix = continuing_subword_prefix
        self.max_chars = min(max_input_chars_per_word, (1 << 62))
        unk = vocab.get(unk_token)
        self.has_unk = unk is not None
        self.unk = unk if unk is not None else 0
        cdef const char *p
        cdef Py_ssize_t n
        cdef uint32_t node
        cdef bytes prefix = continuing_subword_prefix.encode("utf-8")
        if trie_init(&self.trie, 4 * len(vocab) + 64) != 0:
            raise MemoryError("no memory for the vocabulary's trie")
        for token, id in vocab.items():
            p = PyUnicode_AsUTF8AndSize(token, &n)
            node = trie_add(&self.trie, 0, <const uint8_t *>p, n)
            if node == TRIE_NONE:
                raise ValueError("the vocabulary is too large for a WordPiece model (16 million trie nodes)")
            self.trie.values[node] = id
        self.continuing = trie_find(&self.trie, 0, <const uint8_t *><const char *>prefix, len(prefix))

    def __dealloc__(self):
        trie_free(&self.trie)

    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil:
        cdef int64_t first = out.size, start = 0, i, end, chars = 0
        cdef uint32_t node, value, found = 0
        if size > self.max_chars:
            for i in range(size):
                chars += (text[i] & 0xC0) != 0x80
            if chars > self.max_chars:
                start = -1
        node = 0
        while 0 <= start < size:
            end = -1
            i = start
            while i < size:
                node = trie_step(&self.trie, node, text[i])
                if node == TRIE_NONE:
                    break
                i += 1
                value = self.trie.values[node]
                if value != TRIE_NONE:
                    end = i
                    found = value
            if end < 0:
                start = -1
                break
            if tv_push(out, found, VALUE_VOCAB, start, end) != 0:
                return MODEL_NO_MEMORY
            start = end
            node = self.continuing
            if node == TRIE_NONE and start < size:
                start = -1
        if start < 0:
            out.size = first
            if not self.has_unk:
                return MODEL_MISSING_UNK
            if tv_push(out, self.unk, VALUE_UNK, 0, size) != 0:
                return MODEL_NO_MEMORY
        return MODEL_OK

    def unk_string(self):
        return self.unk_token

    def missing_unk(self):
        return Exception("WordPiece error: Missing [UNK] token from the vocabulary")
