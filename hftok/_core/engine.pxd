from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from hftok._core.added_tokens cimport AddedMatcher
from hftok._core.char_tables cimport CharClassifier
from hftok._core.chunk_cache cimport ChunkCache
from hftok._core.documents cimport Doc, Documents, Unit
from hftok._core.exact cimport ExactState, Pipeline
from hftok._core.metaspace_chunks cimport Bytes, MarkedWords
from hftok._core.models.model cimport Model, TokenVec
from hftok._core.places cimport Places
from hftok._core.raw_rules cimport RawScanner
from hftok._core.early_chars cimport EarlyChars
from hftok._core.seeds cimport SeedTable
from hftok._core.worker cimport Kernels, WordMerges, Worker

cdef enum:
    SHORT = 512              # characters of a text that is encoded without more ado, with the GIL held

cdef enum:
    # What a chunk's text is to the model.
    CHUNK_TEXT = 0           # the pre-token
    CHUNK_BYTES = 1          # the bytes that ByteLevel characters stand for
    CHUNK_MARKS = 2          # the pre-token, its U+2581 written as spaces
    CHUNK_WORDS = 3          # the pre-token without its word mark (metaspace_chunks)
    CHUNK_SPELLED = 4        # the bytes that ByteLevel characters stand for, where the model's vocabulary is any (char_tables.plan_runs)

cdef struct Context:
    # What a worker needs beside its chunks: the engine's kernels, scratch of the exact path, transcoded text.
    void *pipeline           # borrowed, as is all of this: the box keeps the engine alive
    const SeedTable *seeds   # chunks that are one token, read by all workers, or NULL. With ignore_merges: all such chunks
    Bytes check_bytes        # bytes that begin a token of `check`
    const void *check        # Matcher of the normalized added tokens without their separators, or NULL
    int keeps_nul
    int kind                 # CHUNK_*
    int all_stable           # bit of uc_stable that a text's characters must have for the scanner to take it
    int ends_show            # what the exact path makes of a piece of a document depends on where the document begins and ends
    int n_lacking            # so many bytes have no token: a text with one of them goes to the exact path
    uint32_t *ids            # CHUNK_BYTES: the tokens of one chunk
    int64_t *starts
    int64_t room
    void *marked             # CHUNK_WORDS: MarkedWords (borrowed)
    int64_t text_size        # ... size of the document being scanned
    uint8_t *buffer_marks    # CHUNK_MARKS, CHUNK_WORDS: a chunk with its marks; CHUNK_SPELLED: in ByteLevel characters
    int64_t buffer_marks_size
    ExactState exact
    uint8_t *buffer
    int64_t buffer_size
    uint8_t *joined          # chunk texts of one document side by side
    int64_t joined_size

cdef class WorkerBox:
    cdef Worker *w
    cdef Context context
    cdef Engine engine
    cdef Model model         # the engine's, whose scratch the context holds
    cdef WordMerges merges
    cdef int64_t budget
    cdef int64_t generation
    cdef bint seeded
    cdef void use_seeds(self)
    cdef int prepare(self, int64_t budget) except -1

cdef class Affix:
    cdef uint32_t *data
    cdef readonly int64_t n_prefix
    cdef readonly int64_t n_suffix

cdef struct Call:
    const Doc *docs
    Unit *units
    Worker **workers
    Places *places           # where tokens go, if they are not to stay with the workers, or NULL
    int64_t n_units
    int64_t limit            # chunks per document, 0 = all
    int64_t *row_ends
    const uint32_t *prefix
    int64_t n_prefix
    const uint32_t *suffix
    int64_t n_suffix
    int want_spans
    int want_words
    int exact                # neither scanner nor cache: every pre-token goes through the model (for tests)
    int scanned              # documents go through the scanner
    int whole                # do not cut documents
    int again                # a piece of a cut document cannot be encoded by itself after all: once more, with whole documents
    int error                # the first one (any thread)
    int64_t error_doc

cdef int64_t cache_bytes_allowed() except -1

cdef class Engine:
    cdef readonly Pipeline pipeline
    cdef CharClassifier classifier           # None: no scanner for this pipeline
    cdef MarkedWords marked                  # words with word marks: what the classifier's chunks leave out
    cdef RawScanner raw                      # the same for pipelines whose chunks are raw text
    cdef const Kernels *kernels
    cdef AddedMatcher check                  # normalized added tokens without their separators
    cdef bint checks_pieces                  # ... which may be looked for in the pieces of a document
    cdef list pool
    cdef PyObject *spare                     # one more worker, where it costs the least to take and to give back
    cdef list idle(self)
    cdef int64_t generation
    cdef ChunkCache prototype
    cdef bint has_prototype
    cdef SeedTable seeds                     # the same for raw chunks, if `seeded`
    cdef bint seeded
    cdef bint looked_through                 # ... which has been decided
    cdef bint cuts_decided                   # so has it been whether raw chunks may be cut
    cdef bint high_seen                      # there has been text with a fair part of characters beyond ASCII, ...
    cdef int64_t high_looks                  # ... which so many calls were looked through for
    cdef EarlyChars early                    # characters that are symbols from the start, or None; made then
    cdef double density                      # tokens that a byte of text is likely to give
    cdef int64_t seen                        # bytes of text in all calls with a fair amount of it
    cdef list _strings
    cdef list strings(self)
    cdef list strings_for(self, Py_ssize_t n)
    cdef object string_of(self, uint32_t id, list table)
    cdef int64_t made_singly                 # strings of single ids, where there was no list of all
    cdef readonly str tier
    cdef readonly str why_exact
    cdef bint scans                          # there is a scanner
    cdef object _choose(self, normalizer_spec, pre_tokenizer_spec, fast)
    cdef object _choose_raw(self, normalizer_spec, pre_tokenizer_spec)
    cdef int _make_prototype(self) except -1
    cdef int _seed_raw(self, Documents documents) except -1
    cdef WorkerBox checkout(self, int threads)
    cdef void set_up(self, WorkerBox box, const Call *call, int64_t expected)
    cdef void work(self, Call *call, int64_t units, int threads, bint hold)
    cdef void checkin(self, WorkerBox box)
    cdef int run(self, Call *call, Documents documents, list boxes, object parallel, int64_t *n_units) except -1
    # One text of at most SHORT characters, in the calling thread, with the GIL held: ids in box.w, *end = their number. limit: as
    # in Call.
    cdef int encode_short(self, WorkerBox box, object text, Affix affix, int64_t limit, int64_t *end) except -1
    cdef object failure(self, int error, int64_t doc)
