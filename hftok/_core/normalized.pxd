# The exact path's text: a document cut into splits, each with its normalized form and the alignment of every
# normalized byte to the original. This is the NormalizedString/PreTokenizedString pair of the reference
# (tokenizer/normalizer.rs, tokenizer/pre_tokenizer.rs) laid out flat: one arena of normalized bytes for the whole
# document, splits as ranges of it. Kernels that change a split's text append the new text to the arena and move the
# split there; kernels that only cut it make new ranges.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    PT_OK = 0
    PT_NO_MEMORY = 1        # -> MemoryError
    PT_TOO_LONG = 2         # a text of 4 GiB or more on the exact path -> OverflowError
    PT_PYTHON = 3           # a Python exception is set (only where the GIL is held)
    PT_PANIC = 4            # the reference would panic here -> ValueError

cdef struct Align:
    # Original span (bytes, absolute in the document) of one normalized byte.
    uint32_t start
    uint32_t end

cdef struct Change:
    # One code point of a transformation's result, with the reference's `change`: 0 replaces the next old code point,
    # 1 is new, -n replaces one and drops the n that follow it.
    uint32_t cp
    int32_t change

cdef struct Match:
    # A span of a split's normalized text (bytes, relative to the split), matched by the pattern or lying between.
    int64_t start
    int64_t end
    int32_t is_match

cdef struct Split:
    int64_t start           # normalized bytes: [start, end) of the arena
    int64_t end
    int64_t ostart          # original bytes (absolute): what `offsets_original` gives
    int64_t oend
    int64_t token           # id of the added token that this split is, or -1
    int64_t origin          # 0: the original span lies in the document; k > 0: in the k-th foreign text that a Python
                            # component brought in (only PreTokenizedString in pretokenized.pyx sets and reads it)

cdef struct PreTokenized:
    const uint8_t *original # borrowed: the document, valid UTF-8
    int64_t size
    uint8_t *text           # the arena: normalized bytes ...
    Align *align            # ... and their alignments
    int64_t used
    int64_t capacity
    Split *splits
    int64_t n_splits
    int64_t split_capacity
    Split *fresh            # the next generation of splits while a split pass runs
    int64_t n_fresh
    int64_t fresh_capacity
    Change *changes         # scratch of the char-wise transformations
    int64_t n_changes
    int64_t change_capacity
    Match *matches          # scratch of the patterns
    int64_t n_matches
    int64_t match_capacity
    uint8_t *spare_text     # the other half of a compaction
    Align *spare_align
    int64_t spare_capacity
    void *stack             # backtrack stack of the patterns
    int64_t stack_capacity  # bytes
    int error               # the first PT_* error; kernels do nothing once it is set

ctypedef int (*CharTest)(uint32_t cp) noexcept nogil
ctypedef uint32_t (*CharMap)(uint32_t cp) noexcept nogil

cdef enum SplitBehavior:
    REMOVED = 0
    ISOLATED = 1
    MERGED_WITH_PREVIOUS = 2
    MERGED_WITH_NEXT = 3
    CONTIGUOUS = 4

# Life of a document. pt_init zeroes the struct; pt_reset puts one document into it (one split, the whole text, arena
# filled with the text and its identity alignment) and keeps the buffers; pt_free releases them.
cdef void pt_init(PreTokenized *p) noexcept nogil
cdef void pt_reset(PreTokenized *p, const uint8_t *text, int64_t size) noexcept nogil
cdef void pt_free(PreTokenized *p) noexcept nogil
cdef int pt_reserve(PreTokenized *p, int64_t extra) noexcept nogil           # arena room; 0 or an error
cdef int pt_reserve_to(PreTokenized *p, int64_t need) noexcept nogil         # the same, counted from the arena's start
cdef int pt_copy(PreTokenized *p, const PreTokenized *other) noexcept nogil     # a deep copy (into an initialized p)
cdef int pt_reserve_changes(PreTokenized *p, int64_t extra) noexcept nogil
# Give back the arena's garbage once it outweighs the text that splits still use. Moves splits, so never inside a pass.
cdef int pt_compact(PreTokenized *p) noexcept nogil
# Raise the exception of a PT_* error (PT_PYTHON: the one that is set). Returns 0 for PT_OK.
cdef int pt_check(int error) except -1
cdef int pt_push_change(PreTokenized *p, uint32_t cp, int32_t change) noexcept nogil
cdef int pt_push_match(PreTokenized *p, int64_t start, int64_t end, int is_match) noexcept nogil

# Split passes: begin, then for each old split push what it becomes, then end. Splits that are added tokens are passed
# through by the caller; empty pieces are dropped by pt_push_split (reference: PreTokenizedString::split).
cdef void pt_begin_splits(PreTokenized *p) noexcept nogil
cdef int pt_push_split(PreTokenized *p, const Split *s) noexcept nogil
cdef void pt_end_splits(PreTokenized *p) noexcept nogil
# NormalizedString::slice by a normalized range relative to the split.
cdef Split pt_slice(PreTokenized *p, const Split *s, int64_t start, int64_t end) noexcept nogil
# NormalizedString::split: p.matches covers the split's text. pt_apply_behavior rewrites p.matches into the pieces to
# keep, in order, empty ones included; pt_split_by_matches does so and pushes them.
cdef void pt_apply_behavior(PreTokenized *p, int behavior) noexcept nogil
cdef int pt_split_by_matches(PreTokenized *p, const Split *s, int behavior) noexcept nogil
# Matches of a one-code-point test (Pattern for Fn(char) -> bool) over the split's text into p.matches.
cdef int pt_match_chars(PreTokenized *p, const Split *s, CharTest test) noexcept nogil
# Matches of a literal (Pattern for &str; an empty literal matches nothing).
cdef int pt_match_literal(PreTokenized *p, const Split *s, const uint8_t *literal, int64_t size) noexcept nogil
cdef void pt_invert_matches(PreTokenized *p) noexcept nogil

# Transformations of one split, in place (reference: the NormalizedString methods of the same names).
cdef int ns_transform(PreTokenized *p, Split *s, int64_t initial_offset) noexcept nogil   # Range::Original(..), p.changes
cdef int ns_transform_range(PreTokenized *p, Split *s, int64_t start, int64_t end, int64_t initial_offset) noexcept nogil
cdef int ns_spans_all(PreTokenized *p, const Split *s) noexcept nogil   # whether Range::Original(..) is the whole text
cdef int ns_clear(PreTokenized *p, Split *s) noexcept nogil
# New text is written behind p.used (pt_reserve, pt_reserve_to) and then given to the split with ns_place. ns_emit_changes
# writes p.changes at `at`, consuming old text from `offset` up to `limit` (relative); it returns the position after them.
cdef int64_t ns_emit_changes(PreTokenized *p, const Split *s, int64_t at, int64_t offset, int64_t limit) noexcept nogil
cdef void ns_place(PreTokenized *p, Split *s, int64_t size) noexcept nogil
cdef int ns_filter(PreTokenized *p, Split *s, CharTest keep) noexcept nogil
cdef int ns_filter_above_ascii(PreTokenized *p, Split *s, CharTest keep) noexcept nogil   # for a test that all ASCII passes
cdef int ns_map(PreTokenized *p, Split *s, CharMap f) noexcept nogil
cdef int ns_lowercase(PreTokenized *p, Split *s) noexcept nogil
cdef int ns_uppercase(PreTokenized *p, Split *s) noexcept nogil
cdef int ns_strip(PreTokenized *p, Split *s, int left, int right) noexcept nogil
cdef int ns_prepend(PreTokenized *p, Split *s, const uint8_t *text, int64_t size) noexcept nogil
cdef int ns_append(PreTokenized *p, Split *s, const uint8_t *text, int64_t size) noexcept nogil
cdef int ns_replace(PreTokenized *p, Split *s, const uint8_t *content, int64_t size) noexcept nogil   # p.matches
# ns_replace of every occurrence of one ASCII character.
cdef int ns_replace_byte(PreTokenized *p, Split *s, uint8_t byte, const uint8_t *content, int64_t size) noexcept nogil
# NormalizedString::convert_offsets(Range::Normalized(start..end)) to absolute original bytes; where the reference
# returns None the token's own offsets are kept relative, as PreTokenizedString::into_encoding does.
cdef void ns_original_span(PreTokenized *p, const Split *s, int64_t start, int64_t end, int64_t *ostart, int64_t *oend) noexcept nogil

cdef extern from *:
    """
    #include <string.h>
    /* Length of the ASCII prefix of p[0..n). */
    static inline int64_t hftok_ascii_prefix(const uint8_t *p, int64_t n) {
        int64_t i = 0;
        uint64_t w;
        for (; i + 8 <= n; i += 8) {
            memcpy(&w, p + i, 8);
            if (w & UINT64_C(0x8080808080808080)) break;
        }
        while (i < n && p[i] < 0x80) i++;
        return i;
    }
    """
    int64_t ascii_prefix "hftok_ascii_prefix"(const uint8_t *p, int64_t n) noexcept nogil


cdef inline int64_t copy_range(PreTokenized *p, int64_t at, int64_t start, int64_t end) noexcept nogil:
    """Copy arena bytes [start, end) to `at` (room is there); the position after them."""
    if end > start:
        memcpy(p.text + at, p.text + start, <size_t>(end - start))
        memcpy(p.align + at, p.align + start, <size_t>(end - start) * sizeof(Align))
    return at + end - start
