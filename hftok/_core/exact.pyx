"""The exact path: one sequence through all stages with alignment, any combination of components. The definition of right.

Reference: TokenizerImpl::encode_single_sequence (tokenizer/mod.rs): added tokens in the raw text, then per piece the
normalizer and the added tokens in the normalized text, then the pre-tokenizer on all other pieces, then the model.
`tokenize_with_limit` (tokenizer/pre_tokenizer.rs) is the early stop under truncation. Offsets are converted to characters
as PreTokenizedString::into_encoding does.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from hftok._core.added_tokens cimport AddedMatcher, is_empty_behind, match_token
from hftok._core.models.model cimport MODEL_BAD_SCORES, MODEL_MISSING_UNK, MODEL_NO_MEMORY, VALUE_TEXT, Model, ModelToken, tv_free
from hftok._core.normalized cimport (
    PT_NO_MEMORY, PT_PANIC, PT_PYTHON, PT_TOO_LONG, Align, PreTokenized, Split, ns_original_span, pt_begin_splits, pt_end_splits,
    pt_free, pt_init, pt_push_split, pt_reserve, pt_reset, pt_slice,
)
from hftok._core.normalizers cimport NormalizerProgram
from hftok._core.pre_tokenizers cimport PreTokenizerProgram
from hftok._core.worker cimport MATCH_NONE, MATCH_TOKEN, Hit


cdef int state_init(ExactState *x, Model model) noexcept nogil:
    memset(x, 0, sizeof(ExactState))
    pt_init(&x.pt)
    x.model_scratch = model.new_scratch()
    return 0


cdef void state_free(ExactState *x, Model model) noexcept nogil:
    pt_free(&x.pt)
    tv_free(&x.pieces)
    if x.model_scratch != NULL:
        model.free_scratch(x.model_scratch)
    free(x.tokens)
    memset(x, 0, sizeof(ExactState))


cdef inline ExactToken *_next_token(ExactState *x) noexcept nogil:
    cdef int64_t capacity
    cdef ExactToken *tokens
    if x.n_tokens == x.capacity:
        capacity = x.capacity * 2 if x.capacity else 256
        tokens = <ExactToken *>realloc(x.tokens, <size_t>capacity * sizeof(ExactToken))
        if tokens == NULL:
            return NULL
        x.tokens = tokens
        x.capacity = capacity
    x.n_tokens += 1
    return &x.tokens[x.n_tokens - 1]


cdef uint32_t char_index(const uint8_t *text, int64_t *cursor, int64_t *chars, int64_t at) noexcept nogil:
    """Number of the character that holds byte `at`; the cursor remembers a byte and the characters that begin before it."""
    cdef int64_t i = cursor[0], n = chars[0]
    while i <= at:
        n += (text[i] & 0xC0) != 0x80
        i += 1
    while i > at + 1:
        i -= 1
        n -= (text[i] & 0xC0) != 0x80
    cursor[0] = i
    chars[0] = n
    return <uint32_t>(n - 1)


cdef extern from "Python.h":
    bint PyErr_ExceptionMatches(object kind)
    void PyErr_WriteUnraisable(object where)


cdef bint reported(object component) noexcept with gil:
    """Hands the exception that is set to sys.unraisablehook; not so a KeyboardInterrupt and the like, which stay set."""
    if not PyErr_ExceptionMatches(Exception):
        return False
    PyErr_WriteUnraisable(component)
    return True


cdef class Pipeline:
    """The components of one tokenizer, compiled. Immutable; `split` and `tokens` are safe from many threads at once, each
    with its own state, unless `needs_gil` is set (Python components), when they must run with the GIL held."""

    def __init__(self, Model model not None, NormalizerProgram normalizer, PreTokenizerProgram pre_tokenizer,
                 AddedMatcher raw not None, AddedMatcher normalized not None):
        self.model = model
        self.normalizer = normalizer
        self.pre_tokenizer = pre_tokenizer
        self.raw = raw
        self.normalized = normalized
        self.needs_gil = (normalizer is not None and normalizer.needs_gil) or (
            pre_tokenizer is not None and pre_tokenizer.needs_gil)

    cdef int split(self, ExactState *x, const uint8_t *text, int64_t size) noexcept nogil:
        cdef PreTokenized *p = &x.pt
        cdef int64_t i
        cdef Split s
        pt_reset(p, text, size)
        if p.error:
            return p.error
        if size == 0:
            p.n_splits = 0           # what is empty is no split any more when the normalizer comes
        elif self.raw.size or p.n_splits == 0:
            pt_begin_splits(p)
            for i in range(p.n_splits):
                s = p.splits[i]
                _split_added(p, &s, self.raw)
            pt_end_splits(p)
        pt_begin_splits(p)
        for i in range(p.n_splits):
            s = p.splits[i]
            if s.token >= 0:
                pt_push_split(p, &s)
                continue
            if self.normalizer is not None and self.normalizer.run(p, &s) != 0:
                # What a custom normalizer raises is dropped here, and nowhere else, and the text goes on as it left it
                # (added_vocabulary.rs, extract_and_normalize).
                if p.error != PT_PYTHON or not reported(self.normalizer):
                    return p.error if p.error else PT_PYTHON
                p.error = 0
            if self.normalized.size:
                _split_added(p, &s, self.normalized)
            else:
                if self.normalizer is not None and s.end > s.start:
                    # A slice even without tokens (split_with_indices): the span in the original text begins with the first
                    # character that is left, which Metaspace's "first" looks at.
                    s = pt_slice(p, &s, 0, s.end - s.start)
                pt_push_split(p, &s)
        pt_end_splits(p)
        if self.pre_tokenizer is not None and not p.error and self.pre_tokenizer.run(p) != 0:
            return p.error if p.error else PT_PYTHON
        return p.error

    cdef int tokens(self, ExactState *x, int64_t limit, bint left, bint spans) noexcept nogil:
        cdef PreTokenized *p = &x.pt
        cdef int64_t first = 0, last = p.n_splits, i, k, total = 0, n, cursor = 0, chars = 0
        cdef int error
        cdef Split *s
        cdef ModelToken *t
        cdef ExactToken *out
        cdef int64_t a, b
        x.n_tokens = 0
        if limit >= 0 and left:
            # Which splits the reference would tokenize, counted from the end (their tokens are made again below).
            i = last
            first = last
            while i > 0:
                i -= 1
                first = i
                if p.splits[i].token >= 0:
                    total += 1
                    continue
                x.pieces.size = 0
                error = self.model.tokenize(p.text + p.splits[i].start, p.splits[i].end - p.splits[i].start, &x.pieces, x.model_scratch)
                if error:
                    return error + 16
                total += x.pieces.size
                if total >= limit:
                    break
        total = 0
        for i in range(first, last):
            s = &p.splits[i]
            if s.token >= 0:
                out = _next_token(x)
                if out == NULL:
                    return PT_NO_MEMORY
                out.id = <uint32_t>s.token
                out.value = VALUE_ADDED
                out.word = <int32_t>(i - first)
                out.text_start = s.start
                out.text_end = s.end
                if spans:
                    _span(p, s, 0, s.end - s.start, &cursor, &chars, out)
                total += 1
                continue
            x.pieces.size = 0
            error = self.model.tokenize(p.text + s.start, s.end - s.start, &x.pieces, x.model_scratch)
            if error:
                return error + 16
            for k in range(x.pieces.size):
                t = &x.pieces.data[k]
                out = _next_token(x)
                if out == NULL:
                    return PT_NO_MEMORY
                out.id = t.id
                out.value = t.value
                out.word = <int32_t>(i - first)
                if t.value == VALUE_TEXT:
                    out.text_start = s.start + t.start
                    out.text_end = s.start + t.end
                if spans:
                    _span(p, s, t.start, t.end, &cursor, &chars, out)
            total += x.pieces.size
            if limit >= 0 and not left and total >= limit:
                break
        return 0

    cdef object failure(self, int error):
        """The exception of an error code (returned, not raised)."""
        if error == 16 + MODEL_MISSING_UNK:
            return self.model.missing_unk()
        if error == 16 + MODEL_BAD_SCORES:
            return self.model.bad_scores()
        if error == PT_NO_MEMORY or error == 16 + MODEL_NO_MEMORY:
            return MemoryError("out of memory while encoding")
        if error == PT_TOO_LONG:
            return OverflowError("a text of 4 GiB or more cannot be encoded in one piece: cut it first")
        if error == PT_PANIC:
            return ValueError("the normalizer and the added tokens leave no valid split of this text (the reference panics here)")
        return RuntimeError(f"encoding failed (code {error})")


cdef void _span(PreTokenized *p, const Split *s, int64_t start, int64_t end, int64_t *cursor, int64_t *chars, ExactToken *out) noexcept nogil:
    """Character span of a token. Where its first byte is the text's end the reference keeps the byte offsets."""
    cdef int64_t a, b
    ns_original_span(p, s, start, end, &a, &b)
    if a >= p.size or a < 0:
        out.start = <uint32_t>a
        out.end = <uint32_t>b
        return
    out.start = char_index(p.original, cursor, chars, a)
    if b < p.size:
        out.end = char_index(p.original, cursor, chars, b)
    else:
        out.end = char_index(p.original, cursor, chars, p.size - 1) + 1


cdef inline int _push_piece(PreTokenized *p, const Split *s, int64_t start, int64_t end, int64_t token, int64_t *covered) noexcept nogil:
    """Push a slice of a split. An added token that begins with blanks may lie in those that the one before has stripped: what
    overlaps gets a copy of its text, since splits are transformed in place."""
    cdef Split piece = pt_slice(p, s, start, end)
    cdef int64_t size = end - start
    piece.token = token
    if start < covered[0] and size:
        if pt_reserve(p, size):
            return p.error
        memcpy(p.text + p.used, p.text + piece.start, <size_t>size)
        memcpy(p.align + p.used, p.align + piece.start, <size_t>size * sizeof(Align))
        piece.start = p.used
        p.used += size
        piece.end = p.used
    if end > covered[0]:
        covered[0] = end
    return pt_push_split(p, &piece)


cdef int _split_added(PreTokenized *p, const Split *s, AddedMatcher matcher) noexcept nogil:
    """Cut the added tokens out of one split's normalized text and push the pieces."""
    cdef int64_t size = s.end - s.start, i = 0, floor = 0, behind = -1, covered = 0
    cdef Hit hit
    cdef int found
    while i < size or (i == size and matcher.m.matches_empty):
        if i < size and not matcher.m.first[p.text[s.start + i]]:
            i += 1
            continue
        found = match_token(&matcher.m, p.text + s.start, size, i, floor, &hit)
        if found == MATCH_NONE or is_empty_behind(&matcher.m, &hit, i, behind):
            i += 1
            continue
        i = hit.resume
        behind = i if hit.id != matcher.m.empty.id else -1
        if found != MATCH_TOKEN:
            continue
        if hit.start > hit.end:
            p.error = PT_PANIC
            return PT_PANIC
        if floor < hit.start:
            _push_piece(p, s, floor, hit.start, -1, &covered)
        _push_piece(p, s, hit.start, hit.end, hit.id, &covered)
        floor = hit.end
    if floor != size:
        _push_piece(p, s, floor, size, -1, &covered)
    return p.error
