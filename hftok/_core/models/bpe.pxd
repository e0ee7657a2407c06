# Byte-pair encoding of one pre-token; see bpe.pyx.
from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from hftok._core.models.merges cimport MergeScratch, MergeTable
from hftok._core.models.model cimport Model, TokenVec
from hftok._core.models.safe_cuts cimport SafeCuts
from hftok._core.models.vocab_map cimport VocabMap, VocabTable
from hftok._core.stored cimport Block

cdef enum:
    NO_ID = 0xFFFFFFFF       # of a character or byte without a token (an id may have this value too: see char_id)

# The byte that each ByteLevel character stands for; -1: not one.
cdef int16_t CHAR_BYTE[512]

# Write the ByteLevel characters of some bytes, 2 * size bytes at most; their length.
cdef int64_t byte_chars(const uint8_t *raw, int64_t size, uint8_t *out) noexcept nogil
# Write the bytes that a text of ByteLevel characters stands for; their number, or 0 where it is none or they are more than `most`.
cdef int64_t raw_bytes(const uint8_t *text, int64_t size, uint8_t *out, int64_t most) noexcept nogil

# Code point -> id of the token that is this one character, in pages of 256; page 0 is empty.
cdef struct CharTable:
    uint16_t page[0x1100]
    uint32_t *ids
    int64_t pages

cdef class CharIds:
    """The one-character tokens, by the character's place in the word: between a prefix and a suffix, where there are any."""
    cdef CharTable tables[4]                 # 0 first, 1 later; + 2 where it is the last
    cdef CharTable *by_place[4]
    cdef Block block                         # keeps the memory of ids that are borrowed
    cdef bint borrowed
    cdef int add(self, CharTable *table, uint32_t cp, uint32_t id) except -1

# One thread's memory for encoding.
cdef struct BPEScratch:
    uint32_t *ids
    int64_t *starts
    int64_t size             # symbols
    int64_t end              # sum of the symbols' lengths
    int64_t capacity
    int64_t *cuts            # symbols that begin a piece by themselves (see safe_cuts), the first symbol left out
    int64_t cut_count
    int64_t cut_capacity
    uint8_t *text            # a word in ByteLevel characters, or in the bytes that they stand for
    int64_t text_capacity
    MergeScratch merge

# Id of the token whose ByteLevel characters stand for a word of at most SMALL bytes, or -1.
cdef int64_t find_whole(const VocabTable *t, const uint8_t *raw, int64_t size) noexcept nogil

cdef enum:
    MOST_LACKING = 32

cdef class BPEModel(Model):
    cdef VocabMap map
    cdef MergeTable merge_table
    cdef Block block                         # from which this was made, or None
    cdef CharIds chars
    cdef readonly object unk_token, continuing_subword_prefix, end_of_word_suffix
    cdef readonly bint fuse_unk, byte_fallback, ignore_merges
    cdef readonly bint byte_level            # the ByteLevel character of every byte of valid text is a token, but for ...
    cdef int n_lacking                       # ... these few; encode_bytes works for text without them
    cdef uint8_t lacking[MOST_LACKING]
    cdef uint8_t lacks[256]                  # bytes that have no token
    cdef bint has_dropout
    cdef float _dropout
    cdef bint sampling                       # dropout is set and not 0: no cache may keep an answer
    cdef bytes prefix_bytes, suffix_bytes
    cdef int64_t prefix_size, suffix_size
    cdef const uint8_t *prefix_data
    cdef const uint8_t *suffix_data
    cdef int64_t unk_id                      # -1: not in the vocabulary
    cdef int64_t byte_fallback_ids[256]      # "<0x00>" ...; -1: not in the vocabulary
    cdef uint32_t byte_ids[256]              # raw byte -> id of its ByteLevel character, or NO_SYMBOL
    cdef uint32_t *byte_pairs                # rank of the pair (byte << 8 | byte); borrowed from the block, if there is one
    cdef bint borrowed
    cdef SafeCuts char_cuts                  # None where the proof does not hold
    cdef SafeCuts byte_cuts                  # the same for encode_bytes
    cdef void *early                         # EarlyTable of the merges, once there has been text that it is worth making for
    cdef bint fixed_seed
    cdef uint64_t seed

    cdef bint makes_texts(self)              # the vocabulary has not been made, and `text_of` needs none
    cdef object text_of(self, uint32_t id)   # the string of an id, or None
    cdef int set_options(self, object dropout, object unk_token, object prefix, object suffix, bint fuse_unk,
                         bint byte_fallback, bint ignore_merges) except -1
    cdef int find_byte_level(self) except -1
    cdef int find_cuts(self, BPEModel source) except -1
    cdef int64_t bytes_of(self, const uint8_t *text, int64_t size, BPEScratch *s) noexcept nogil
    cdef int symbols(self, const uint8_t *text, int64_t size, BPEScratch *s) noexcept nogil
    cdef bint is_largest_id(self, uint32_t cp, int64_t place, bint last) noexcept nogil
    cdef int64_t merge(self, BPEScratch *s) noexcept nogil

    # Raw bytes -> ids, for byte-level vocabularies: what `tokenize` gives for the word's ByteLevel text. `ids` has room for
    # `size` ids; starts (NULL: not wanted) gets the first byte of each token. Returns the number of tokens or -1 (no memory).
    cdef int64_t encode_bytes(
        self, const uint8_t *raw, int64_t size, uint32_t *ids, int64_t *starts, void *scratch) noexcept nogil
    cdef int64_t encode_pieces(
        self, const uint8_t *raw, int64_t size, uint32_t *ids, int64_t *starts, BPEScratch *s) noexcept nogil
    cdef int64_t encode_piece(self, const uint8_t *raw, int64_t begin, int64_t end, uint32_t *ids, int64_t *starts,
                              BPEScratch *s) noexcept nogil
