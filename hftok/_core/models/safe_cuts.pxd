# Between which neighbouring characters no merge can ever join; see safe_cuts.pyx.
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from hftok._core.models.merges cimport MergeTable
from hftok._core.stored cimport Block
from hftok._core.models.vocab_map cimport VocabTable
from hftok._core.models.word_hash cimport word_hash

cdef struct CutTable:
    # Bit (last byte of the left character << 8 | first byte of the right one): joined whatever the characters. Decides pairs
    # of ASCII characters, and stands for all pairs that share those bytes where a token holds only part of a character.
    uint8_t gate[8192]
    uint8_t wide_gate[128]   # the part of it for characters of three bytes on both sides (fill_wide_gate)
    uint64_t *bits           # pairs of whole characters, by hash; a pair that is not there is never joined
    uint64_t mask            # number of bits - 1
    # Words that are not what they would be as a part of another one: bits by `word_bit`, or NULL if there are none.
    uint64_t *whole
    uint64_t whole_mask      # number of bits - 1
    uint64_t sizes[256]      # by a word's first byte: a bit for each number of bytes that a marked one has, the last for 63 and more
    uint8_t marks[256]       # pairs of wide characters with which marked words begin: two bits by their hash (mark_word)
    int32_t marks_char       # a marked word is a single wide character: `marks` does not tell all


cdef inline uint32_t cut_key(uint32_t left) noexcept nogil:
    return (left << 16) ^ ((left >> 16) * <uint32_t>0x85EBCA6B)


cdef inline uint32_t cut_product(uint32_t left, uint32_t right) noexcept nogil:
    """In 32 bits, for the scanners do it for 16 pairs at once (simd/cuts.h)."""
    return (cut_key(left) ^ right ^ ((right >> 16) * <uint32_t>0xC2B2AE35)) * <uint32_t>0x9E3779B1


cdef inline uint64_t cut_hash(uint32_t left, uint32_t right) noexcept nogil:
    cdef uint32_t h = cut_product(left, right)
    return h ^ (h >> 15)


cdef inline bint may_join(const CutTable *t, uint32_t left, uint8_t left_last, uint32_t right, uint8_t right_first) noexcept nogil:
    """May some merge join a symbol that ends with the left character to one that begins with the right one? If not, the text
    can be cut between them and each side encoded by itself. The bytes are the left one's last and the right one's first."""
    cdef uint32_t k = (<uint32_t>left_last << 8) | right_first
    cdef uint64_t h
    if t.gate[k >> 3] >> (k & 7) & 1:
        return True
    if left < 128 and right < 128:
        return False
    h = cut_hash(left, right) & t.mask
    return t.bits[h >> 6] >> (h & 63) & 1


# Mark a word, of whose text 8 bytes from the first on are readable. Wide characters have three bytes and begin at U+3000.
cdef void mark_word(CutTable *t, const uint8_t *text, int64_t size) noexcept nogil

# The bit that a word of `size` bytes has in CutTable.whole; 8 bytes from its first on are readable.
cdef inline uint64_t word_bit(const CutTable *t, const uint8_t *text, int64_t size) noexcept nogil:
    return (word_hash(text, size) >> 32) & t.whole_mask


cdef inline uint64_t size_bit(int64_t size) noexcept nogil:
    return <uint64_t>1 << (size if size < 63 else 63)


cdef inline bint is_marked(const CutTable *t, const uint8_t *text, int64_t size) noexcept nogil:
    """Whether the word is marked, where CutTable.whole is not NULL; at worst one too many."""
    cdef uint64_t bit
    if not t.sizes[text[0]] & size_bit(size):
        return False
    bit = word_bit(t, text, size)
    return t.whole[bit >> 6] >> (bit & 63) & 1


# Whether a word that is cut at these places, offsets into text in order, must stay whole after all, where CutTable.whole is not
# NULL; at worst one too many.
cdef bint stays_whole(const CutTable *t, const uint8_t *text, int64_t begin, int64_t end, const uint32_t *cuts, int64_t n) noexcept nogil

# The next safe cut after `begin` in raw bytes, or size. Bytes that are not UTF-8 are never cut from their neighbours.
cdef int64_t next_cut(const CutTable *t, const uint8_t *text, int64_t begin, int64_t size) noexcept nogil

cdef class SafeCuts:
    """Read-only; made from a table of merges, over characters or over the bytes of ByteLevel tokens."""
    cdef CutTable table
    cdef Block block                     # keeps the memory of bits that are borrowed
    cdef bint borrowed
    cdef readonly int64_t pairs          # different hashes in the table of whole characters
    @staticmethod
    cdef SafeCuts of_tokens(const VocabTable *tokens)    # for vocabularies given by ranks: tokens are bytes, in any cut of two
    cdef int add_token(self, const uint8_t *p, int64_t n) except -1
    cdef int add_chars(self, MergeTable merges) except -1
    cdef int add_bytes(self, MergeTable merges, const int16_t *byte_of) except -1
    cdef void add_pair(self, uint32_t left, uint8_t left_last, uint32_t right, uint8_t right_first) noexcept nogil
