# Words with word marks (Metaspace) as chunks. See metaspace_chunks.pyx.
from libc.stdint cimport int64_t, uint8_t, uint32_t

from hftok._core.added_tokens cimport AddedMatcher
from hftok._core.char_tables cimport CharClassifier
from hftok._core.exact cimport ExactState, Pipeline
from hftok._core.models.model cimport Model
from hftok._core.normalizers cimport NormalizerProgram
from hftok._core.pre_tokenizers cimport PreTokenizerProgram
from hftok._core.worker cimport Worker

cdef struct Bytes:
    # A set of bytes to look for: up to four by memchr, more one by one.
    uint8_t flags[256]
    uint8_t few[4]
    int n                        # -1: more than four

cdef Bytes byte_set(flags)
cdef bint holds_byte(const Bytes *bytes, const uint8_t *text, int64_t size) noexcept nogil

cdef class MarkedWords:
    cdef readonly object marks               # Marks
    cdef CharClassifier classifier
    cdef NormalizerProgram normalizer        # of a region: the pipeline's, without Strip
    cdef PreTokenizerProgram pre_tokenizer   # ... without the mark that only a document's beginning gets
    cdef Model model
    cdef AddedMatcher raw
    cdef bytes mark_object
    cdef const uint8_t *mark
    cdef int64_t mark_size
    cdef bint prepends                       # a chunk without its own mark gets one
    cdef bint first                          # the chunk at the document's very beginning gets one
    cdef bint strip_left
    cdef bint strip_right
    cdef bint has_map                        # Precompiled, ...
    cdef bint drops_before_map               # ... behind stages that may remove characters
    cdef bint joins_lines                    # CR LF is one character to it
    cdef bint keeps_blanks                   # some white space becomes part of a chunk
    cdef bint cuts_units                     # huge documents may be cut between words
    cdef Bytes tokens                        # bytes that begin added tokens
    cdef Bytes takers                        # ... that take the white space on their left
    # Whether the scanner may take a document; strips it where the normalizer does: *skipped characters fewer in front.
    cdef bint admits(self, const uint8_t **text, int64_t *size, uint32_t *skipped, bint spans, bint begins, bint finishes) noexcept nogil
    cdef bint settled(self, const uint8_t *text, int64_t at, int64_t size) noexcept nogil
    cdef bint tokens_admit(self, const Bytes *bytes, const uint8_t *text, int64_t size, bint spans) noexcept nogil
    cdef bint token_admits(self, const uint8_t *text, int64_t size, int64_t at, bint spans) noexcept nogil
    # After the scan of a document's beginning.
    cdef int mark_first(self, Worker *w, const uint8_t *text, int64_t size, uint32_t skipped) noexcept nogil
    # The pieces of a chunk; spans in its bytes.
    cdef int tokenize(self, ExactState *x, const uint8_t *text, int64_t n, uint8_t **buffer, int64_t *room) noexcept nogil
    # region_fn of worker.pxd, and how the exact path's splits become chunks (as _push_splits of engine.pyx).
    cdef int region(self, Worker *w, ExactState *x, const uint8_t *text, int64_t start, int64_t end, int64_t size, uint32_t character) noexcept nogil
    cdef int push(self, Worker *w, ExactState *x, uint32_t character) noexcept nogil
