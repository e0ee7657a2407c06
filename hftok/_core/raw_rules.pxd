# What the scanner of raw text needs to know about one tokenizer; see raw_rules.pyx.
from libc.stdint cimport uint8_t, uint32_t

from hftok._core.added_tokens cimport AddedMatcher
from hftok._core.models.bpe cimport BPEModel
from hftok._core.models.safe_cuts cimport CutTable
from hftok._core.worker cimport Finder, RawRules

cdef class RawScanner:
    cdef RawRules rules
    cdef readonly str family         # of the regular expression, or "unsplit"
    cdef AddedMatcher check          # a text that may hold one of these goes to the exact path, or None
    cdef readonly bint all_stable    # so does a text that the normalizer may change
    cdef readonly bint cuts_units    # a huge document may be cut at a space
    cdef BPEModel model
    cdef uint32_t char_ids[256]      # unsplit text: ids of the ASCII characters, a space being a mark; or NO_SYMBOL
    cdef uint32_t *char_pairs        # ... character << 8 | character -> rank of the merge of the two, or NO_RANK
    cdef uint8_t lacking[256]        # 1: the byte is no symbol by itself
    cdef bint lacks_none             # ... which no byte of UTF-8 is
    cdef CutTable word_cuts          # allow_cuts: the model's, with words that are not to be cut
    cdef object keep

    cdef int watch(self, Finder *f, AddedMatcher matcher) except -1
    cdef object set_up_spaces(self)
