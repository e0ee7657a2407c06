"""Word-level model: a pre-token is a token or it is unknown.

Rule (reference: models/wordlevel/mod.rs `tokenize`): the pre-token's id if it is in the vocabulary, else the id of the unk
token, else an error; always one token over the whole pre-token, and its string is the pre-token, or the unk token. The empty
pre-token is looked up like any other.

It leaves to others: how text is split into pre-tokens.
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.models.model cimport (
    MODEL_MISSING_UNK, Model, TokenVec, VALUE_TEXT, VALUE_UNK, VALUE_VOCAB, tv_push,
)
from hftok._core.models.vocab_map cimport VocabMap, vocab_find


cdef class WordLevelModel(Model):
    """Tokens are whole words. vocab: dict of str -> id (0 .. 2**32 - 1).

    >>> WordLevelModel({"<unk>": 0, "word": 1}).tokenize_str("word")
    [(1, 'word', (0, 4))]
    >>> WordLevelModel({"<unk>": 0, "word": 1}).tokenize_str("other")
    [(0, '<unk>', (0, 5))]
    """

    def __init__(self, dict vocab not None, str unk_token not None="<unk>"):
        Model.__init__(self, vocab)
        self.map = VocabMap(vocab)
        self.unk_token = unk_token
        found = self.map.get(unk_token)
        self.unk_id = -1 if found is None else <int64_t>found
        self.text_values = not self.map.unique_ids

    def replace(self, *, str unk_token not None):
        """A model with another unk token over the same vocabulary."""
        cdef WordLevelModel new = WordLevelModel.__new__(WordLevelModel)
        Model.__init__(new, self.vocab)
        new._vocab_r = self._vocab_r
        new.map = self.map
        new.text_values = self.text_values
        new.unk_token = unk_token
        found = self.map.get(unk_token)
        new.unk_id = -1 if found is None else <int64_t>found
        return new

    def missing_unk(self):
        return Exception("WordLevel error: Missing [UNK] token from the vocabulary")

    def unk_string(self):
        return self.unk_token

    cdef int tokenize(self, const uint8_t *text, int64_t size, TokenVec *out, void *scratch) noexcept nogil:
        cdef int64_t id = vocab_find(&self.map.table, text, size)
        if id >= 0:
            return tv_push(out, <uint32_t>id, VALUE_VOCAB if self.map.unique_ids else VALUE_TEXT, 0, size)
        if self.unk_id < 0:
            return MODEL_MISSING_UNK
        return tv_push(out, <uint32_t>self.unk_id, VALUE_UNK, 0, size)
