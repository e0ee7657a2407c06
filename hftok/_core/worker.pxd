# What one thread owns while it encodes, and the character tables that all threads share. See worker.pyx.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from hftok._core.chunk_cache cimport LONG_KEY, ChunkCache, Value, hash_key_fn, hash_long_fn, ht_key
from hftok._core.early_chars cimport EarlyTable
from hftok._core.models.merges cimport PairTable
from hftok._core.models.vocab_map cimport VocabTable
from hftok._core.seeds cimport SeedTable

cdef extern from "block.h":
    ctypedef struct ht_ascii:
        uint8_t cls[128]
        uint8_t map[128]
        uint8_t columns[6][16]
        int32_t map_kind
        int32_t two_runs
        int32_t any_first
        int32_t high_second
    enum:
        HT_RUN0
        HT_RUN1
        HT_ISOLATE
        HT_SPECIAL
        HT_FIRST
        HT_SECOND

cdef enum:
    # What a code point does to the chunks (CharEntry.action).
    ACT_SEPARATOR = 0        # ends a chunk and is dropped
    ACT_RUN1 = 1             # belongs to a run of class 1, 2 or 3: a chunk is a run of one class
    ACT_RUN2 = 2
    ACT_RUN3 = 3
    ACT_ISOLATE = 4          # a chunk of its own
    ACT_KNOWN = 7            # the same, with one token: `bytes` is its id; the text is the raw code point
    ACT_DROP = 5             # vanishes without a trace
    ACT_ESCAPE = 6           # its effect depends on its neighbours: the text around it goes to the exact path
    ACT_UNFINISHED = 8       # flag on a run class: `bytes` is the raw code point; the model's side finishes normalizing it

    BATCH = 128              # chunks looked up at once
    PAGES = 0x1100

cdef enum:
    KNOWN = 0x80000000       # flag in a chunk's end: the rest is the id of its only token
    KNOWN_SIZE = 0x7FFFFFFF

cdef enum:
    SCAN_OK = 0
    SCAN_NO_MEMORY = 1
    SCAN_MISSING_UNK = 2
    SCAN_FULL = 3            # enough tokens: the rest of the document was not looked at
    SCAN_TOO_LONG = 4        # a pre-token or text of 4 GiB or more

cdef enum:
    MATCH_NONE = 0
    MATCH_REFUSED = 1        # an added token's text, but not as a token (single_word, encode_special_tokens)
    MATCH_TOKEN = 2

cdef enum:
    # When a code point is an escape after all (flags of CharEntry.depends).
    DEPENDS_BEFORE = 1       # behind a character with which it has fewer than six bytes
    DEPENDS_NEXT = 2         # before the ASCII character in the last place of `bytes`
    DEPENDS_GROWN = 4        # behind a character that becomes several ...
    GROWS = 8                # ... as this one does
    DEPENDS_MARK = 16        # behind one with which NFC joins it or changes its place

cdef enum:
    # What separators leave behind (CharTables.spaced).
    SPACED_NOT = 0           # nothing
    SPACED_ALL = 1           # each begins a chunk, as a space
    SPACED_LAST = 2          # the last one of a run does

cdef struct CharEntry:
    uint8_t action
    uint8_t size             # bytes that it becomes, 0..4
    uint16_t depends         # DEPENDS_*, 0 = on nothing
    uint8_t bytes[4]

cdef enum:
    MOST_WORDS = 64          # of a pattern
    BEGINS_TOKEN = 1         # flags of CharTables.first
    BEGINS_WORD = 2

cdef struct RunWord:
    # A piece that a pattern takes out of a run of others where that begins, if its text is there.
    uint8_t text[32]
    uint32_t size
    uint32_t begins          # a bit for each of its bytes with which a chunk begins

cdef struct CharTables
ctypedef CharEntry *(*page_fn)(CharTables *tables, uint32_t page) noexcept nogil

cdef struct CharTables:
    ht_ascii ascii
    void *pages[PAGES]       # CharEntry[256] each, made when first asked for
    uint64_t *cells          # the same for code points below U+FFFF, side by side (mixed.h); NULL: no memory for it
    uint8_t first[256]       # BEGINS_*: bytes that begin a raw added token, or one of `words`
    int32_t high_first       # one that begins a token is not ASCII
    int32_t n_words
    RunWord words[MOST_WORDS]
    uint32_t word_run        # run class of what they begin with
    int32_t spaced           # SPACED_*
    page_fn make_page        # NULL on failure
    void *context            # for make_page

cdef struct Mark:
    int64_t chunk            # chunks of the documents so far
    int64_t row              # number of the document

cdef struct Direct:
    # A chunk whose id is known (an added token): queued beside the chunks, which hold an empty span for it.
    uint32_t id
    uint32_t start           # characters of the document
    uint32_t end

cdef struct Hit:
    uint32_t id
    int64_t start            # bytes, blanks that the token takes with it included
    int64_t end
    int64_t resume           # where the search goes on (the end without the blanks)

# Where the chunks of a segment begin: writes base + byte position of each, in order, and returns their number. text[0:size]
# is valid UTF-8, all that lies between two added tokens or two safe cuts; 64 bytes before it and 128 after may be read;
# starts has room for size + 64 entries. (scanners of regular expressions; see scanners/)
ctypedef int64_t (*boundaries_fn)(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil

cdef enum:
    # When the text that follows an added token (or the document's beginning) gets a space in front.
    PREFIX_NONE = 0
    PREFIX_SPACE = 1         # unless it begins with one (ByteLevel, Metaspace "always")
    PREFIX_ALWAYS = 2        # (Prepend)
    PREFIX_FIRST = 3         # as PREFIX_SPACE, at the beginning of the document only (Metaspace "first")

cdef struct Finder:
    # Looks for the added tokens of one pass.
    ht_ascii ascii           # FIRST and SECOND flags, nothing else
    uint8_t first[256]       # bytes that begin a token, ...
    uint8_t second[256]      # ... and that may come next
    uint8_t high[4]          # those of `first` that are not ASCII, if they are few
    int32_t n_high           # -1: they are many
    const void *matcher

cdef enum:
    KIND_JOINS = 254         # may be joined to the character before it
    KIND_CHANGES = 255       # any other character that a normal form may change

cdef struct RawRules:
    # Scanners whose chunks are pieces of the raw text (scanners/raw_body.pxi).
    Finder outer             # the tokens that cut the text first, where there are two kinds
    Finder inner
    int32_t has_outer
    boundaries_fn boundaries # NULL: text that nothing splits, cut where spaces begin
    const void *cuts         # CutTable of the model, or NULL
    int32_t marks            # a space stands for U+2581
    int32_t unchecked        # nobody looks through the chunks' text for tokens that begin in one and end in another
    int32_t prefix
    int32_t stable           # bit of uc_stable that text must have to be left as it is; 0: no normalizer
    const uint32_t *stable_bits      # then by code point below U+10000, a bit each, ...
    const uint8_t *kinds             # ... and what those without it are: KIND_*, or the combining class of a mark that joins nothing
    uint8_t cut_after[256]   # before a space behind this byte, with a letter behind it, a chunk begins in every text
    uint32_t ascii_joins[512]        # marks: bit (left << 7 | right), some merge joins the two, a space being a mark
    uint8_t joins_mark[128]  # marks: some merge joins this character and a mark behind it

cdef struct Worker
ctypedef int (*scan_fn)(Worker *w, const uint8_t *text, int64_t size) noexcept nogil
ctypedef int (*flush_fn)(Worker *w) noexcept nogil
# A chunk that is not in its home bucket: emit its tokens.
ctypedef int (*miss_fn)(Worker *w, int64_t chunk, const ht_key *key) noexcept nogil
# An added token at text[at:]? Fills hit; `floor` is the end of the previous one.
ctypedef int (*match_fn)(const void *matcher, const uint8_t *text, int64_t size, int64_t at, int64_t floor, Hit *hit) noexcept nogil
# The exact path's chunks of text[start:end], whose first character has number `character`; appended to the worker's chunks.
ctypedef int (*region_fn)(Worker *w, const uint8_t *text, int64_t start, int64_t end, uint32_t character) noexcept nogil

# The normal form of text[0:size] written behind worker.used, with character indices where wanted (from `character`); *written is
# its length.
ctypedef int (*normalize_fn)(Worker *w, const uint8_t *text, int64_t size, int64_t at, int64_t *written) noexcept nogil

ctypedef int (*valid_fn)(const uint8_t *text, int64_t size) noexcept nogil

cdef enum:
    HOLES = 256              # words that a flush may pass over at a time
    HOLE_IDS = LONG_KEY      # tokens of such a word at most: it has so many bytes at most

cdef struct Hole:
    # A word that a flush has passed over: its tokens are to be put at ids[at:].
    uint8_t key[LONG_KEY]    # the word, and NULs: 16 bytes, or all for a word of more
    int64_t at
    int64_t mark             # the document's number among those of the flush
    uint64_t begins          # a bit for each byte that begins a token
    uint32_t hash
    uint32_t size            # bytes
    uint32_t count           # tokens
    uint32_t ids[HOLE_IDS]

# Finds the tokens of all words passed over and puts them in their places.
ctypedef int (*fill_fn)(Worker *w) noexcept nogil

cdef struct WordMerges:
    # How words of at most LONG_KEY bytes become tokens.
    const PairTable *table   # packed and scannable
    const uint32_t *byte_ids         # byte -> id of the symbol it is, or NO_SYMBOL: words with such bytes are not for this
    const uint32_t *byte_pairs       # byte << 8 | byte -> rank of the merge of the two, or NO_RANK
    const SeedTable *seeds   # words of at most 16 bytes that are one token, or NULL
    const VocabTable *whole  # where a longer word is looked up before it is merged, or NULL
    uint32_t longest         # bytes of the longest word
    const EarlyTable *early  # characters that are symbols from the start, or NULL
    const uint8_t *lacking   # 1 for bytes that are no symbols, of 256
    bint lacks_none          # no byte of UTF-8 is one of them

cdef struct Kernels:
    valid_fn utf8_valid      # NULL: no better than byte by byte
    scan_fn scan
    flush_fn flush
    hash_key_fn hash_key
    hash_long_fn hash_long
    fill_fn fill             # NULL: the scanner passes nothing over

cdef struct Worker:
    const Kernels *kernels
    CharTables *tables
    ChunkCache cache
    # Chunk text: normalized bytes of the chunks that are not looked up yet, and per byte the character it came from.
    uint8_t *text
    uint32_t *index
    int64_t used
    int64_t capacity
    # Chunks: [starts, ends) in text, or ends = KNOWN | id. n_starts == n_ends + 1 while a chunk is open.
    uint32_t *starts
    uint32_t *ends
    int64_t n_starts
    int64_t n_ends
    int64_t chunk_capacity
    uint8_t *joined          # per chunk: it is one pre-token with the chunk before it; NULL: no chunk is
    Direct *directs
    int64_t n_directs
    int64_t direct_capacity
    int64_t next_direct      # flush: the next one to be emitted
    Mark *marks
    int64_t n_marks
    int64_t mark_capacity
    # The document being scanned.
    uint32_t run             # class of the open chunk, 0 = none
    uint32_t character       # index of the next character
    int64_t first_chunk      # its first chunk that is still in `starts`
    int64_t flushed_chunks   # its chunks that were flushed already
    int64_t limit            # stop after this many chunks, added tokens not counted (each has at least one token); 0 = all
    int64_t added            # added tokens of the document
    int hold                 # do not flush inside the document
    int begins               # the text begins its document
    int unfinished           # some chunk since the last flush may be unfinished (ACT_UNFINISHED)
    # Output.
    uint32_t *ids
    uint32_t *spans          # 2 per token (characters), where wanted
    int32_t *words           # 1 per token, where wanted
    int64_t n_ids
    int64_t id_capacity
    int64_t expected         # a guess at the tokens of the call
    int64_t *row_ends        # per document: n_ids after it
    int32_t word             # number of the next chunk in its document
    int32_t row_begun        # the document's prefix is written
    int want_spans
    int want_words
    # Tokens written around every document.
    const uint32_t *prefix
    int64_t n_prefix
    const uint32_t *suffix
    int64_t n_suffix
    # Callbacks into the engine.
    miss_fn miss
    match_fn match
    const void *matcher      # for match
    region_fn region
    normalize_fn normalize
    const RawRules *rules
    # Words that are not in their home bucket, while ids alone are wanted (scanners/holes.pxi). NULL: each goes to miss.
    const WordMerges *merges
    Hole *holes
    int64_t n_holes
    int64_t mark             # documents of this flush that have ended
    void *context            # the engine's own per-worker state, for miss and region
    int64_t lookups          # chunks looked up, ...
    int64_t beyond           # ... of these not in their home bucket, ...
    int64_t misses           # ... and of these given to the model
    int error
    ht_key keys[BATCH + 4]
    uint32_t places[BATCH + 4]

cdef Worker *worker_new(const Kernels *kernels, CharTables *tables, int64_t cache_budget) noexcept nogil
cdef void worker_free(Worker *w) noexcept nogil
cdef void worker_reset(Worker *w) noexcept nogil
cdef int worker_room(Worker *w, int64_t bytes, int64_t chunks) noexcept nogil    # text and chunks
cdef void worker_drop_ids(Worker *w) noexcept nogil                               # give the memory of the output back
cdef int worker_id_room(Worker *w, int64_t tokens) noexcept nogil
cdef int worker_join_room(Worker *w) noexcept nogil                               # make `joined`
cdef int worker_direct(Worker *w, uint32_t id, uint32_t start, uint32_t end) noexcept nogil
cdef int worker_begin(Worker *w, int64_t limit) noexcept nogil                    # a document begins
cdef int worker_end(Worker *w, int64_t row) noexcept nogil                        # ... ends
cdef inline int id_room(Worker *w, int64_t tokens) noexcept nogil:
    """worker_id_room where there mostly is room already."""
    if w.n_ids + tokens + 8 <= w.id_capacity and (w.spans != NULL or not w.want_spans) and (w.words != NULL or not w.want_words):
        return SCAN_OK
    return worker_id_room(w, tokens)


cdef inline bint is_separator(const CharTables *t, uint8_t byte) noexcept nogil:
    """Whether an ASCII byte ends a chunk and is dropped."""
    return byte < 128 and (t.ascii.cls[byte] & (HT_RUN0 | HT_RUN1 | HT_ISOLATE | HT_SPECIAL)) == 0


cdef const CharEntry *char_entry(CharTables *tables, uint32_t cp) noexcept nogil
