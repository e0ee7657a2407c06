from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.stored cimport Block
from hftok._core.trie cimport ByteTrie
from hftok._core.worker cimport Hit

cdef struct TokenRule:
    uint32_t id
    uint8_t single_word
    uint8_t lstrip
    uint8_t rstrip
    uint8_t refused          # special, and encode_special_tokens is set

cdef struct Matcher:
    ByteTrie trie            # value: index of the rule
    TokenRule *rules
    int64_t n_rules
    uint8_t first[256]       # bytes that begin a token
    uint8_t second[256]      # bytes that may follow: second bytes of tokens, every byte if there is a token of one byte
    int matches_empty        # a token whose pattern is the empty string: it is found at every byte, the end included
    TokenRule empty          # that token
    int begins_blank         # a token that begins with white space

# match_fn of worker.pxd; matcher is a Matcher*.
cdef int match_token(const void *matcher, const uint8_t *text, int64_t size, int64_t at, int64_t floor, Hit *hit) noexcept nogil

# Whether a match of the empty pattern at `at` is none, since another token ends there (`behind`).
cdef bint is_empty_behind(const Matcher *m, const Hit *hit, int64_t at, int64_t behind) noexcept nogil

cdef class AddedMatcher:
    cdef Matcher m
    cdef readonly int64_t size
    cdef list _patterns                      # None: of a block, made when they are asked for
    cdef readonly bint takes_blanks          # lstrip or rstrip anywhere
    cdef readonly bint holds_blanks          # white space inside a pattern
    cdef readonly bint meets_cut             # some token makes it unsafe to cut a text before a space between words
    cdef Block block                         # keeps the memory of arrays that are borrowed
    cdef str prefix                          # of their names there
    cdef bint borrowed
