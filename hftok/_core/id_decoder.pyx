"""Ids to text.

What it does: decodes whole sequences of ids. A program's one-token steps (replace, prefix and suffix rules, clean-up) give
the same bytes for an id wherever it stands, except at the first or last place; so each vocabulary entry goes through them
once, when it is first met, and a sequence of ids becomes a concatenation of remembered bytes. Byte-level text is then read
as UTF-8 with U+FFFD for what is not, byte tokens are collected in runs, and what follows a Fuse runs on the joined text.
A program that has another form (CTC, a custom decoder, two ByteFallbacks) runs over a list of token strings instead.
Rule of the reference: TokenizerImpl::decode (tokenizer/mod.rs): ids without a token are skipped, special tokens too if
asked; first and last are counted after that.
Left to others: the steps (decoders.pyx), what an id's token is (the caller's id_to_token: added tokens before the model).
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from hftok._core.arguments cimport bool_argument, check_sequence, u32_array_argument
from hftok._core.decoders cimport (
    LAST_TOKEN_STEP, STEP_BPE, STEP_BYTE_FALLBACK, STEP_BYTE_LEVEL, STEP_FUSE, STEP_METASPACE, STEP_SPACE, STEP_STRIP, STEP_WORDPIECE,
    DecoderProgram, Step, byte_level_bytes, byte_token)
from hftok._core.text cimport utf8_decode           # used by the C code below
from hftok._core.utf8_sequence cimport is_utf8, write_replacements


cdef extern from "Python.h":
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)
    void *PyUnicode_DATA(object s)
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)

cdef extern from *:
    """
    /* Copy `size` bytes; both sides have 16 bytes of slack. */
    static inline void hftok_copy_piece(uint8_t *to, const uint8_t *from, size_t size) {
        if (size <= 16) memcpy(to, from, 16);
        else memcpy(to, from, size);
    }

    /* Bit 7 of each byte of a word is that byte's answer; shifting left by k brings its bit 7 - k there. */
    #define HFTOK_BIT7 0x8080808080808080ull

    /* A str of UTF-8 that is known to be valid. */
    static PyObject *hftok_str_from_utf8(const uint8_t *p, Py_ssize_t n) {
        const uint8_t *end = p + n;
        Py_ssize_t i, characters = 0;
        uint64_t wide = 0, wider = 0;       /* a lead byte above C3 (not Latin-1); above EF (not BMP) */
        PyObject *s;
        for (i = 0; i + 8 <= n; i += 8) {
            uint64_t x, continuation;
            memcpy(&x, p + i, 8);
            continuation = x & ~(x << 1) & HFTOK_BIT7;
            characters += 8 - (Py_ssize_t)(((continuation >> 7) * 0x0101010101010101ull) >> 56);
            wide |= x & (x << 1) & ((x << 2) | (x << 3) | (x << 4) | (x << 5));
            wider |= x & (x << 1) & (x << 2) & (x << 3);
        }
        for (; i < n; i++) {
            characters += (p[i] & 0xC0) != 0x80;
            if (p[i] >= 0xC4) wide |= HFTOK_BIT7;
            if (p[i] >= 0xF0) wider |= HFTOK_BIT7;
        }
        wide &= HFTOK_BIT7;
        wider &= HFTOK_BIT7;
        s = PyUnicode_New(characters, wider ? 0x10FFFF : wide ? 0xFFFF : characters < n ? 0xFF : 0x7F);
        if (!s) return NULL;
        if (wider) {
            Py_UCS4 *to = PyUnicode_4BYTE_DATA(s);
            while (p < end) { int length; *to++ = hftok_utf8_decode(p, &length); p += length; }
        } else if (wide) {
            Py_UCS2 *to = PyUnicode_2BYTE_DATA(s);
            while (p < end) {
                unsigned c = *p;
                if (c >= 0xE0) { *to++ = (Py_UCS2)((c & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu)); p += 3; }
                else if (c < 0x80) { *to++ = (Py_UCS2)c; p++; }
                else { *to++ = (Py_UCS2)((c & 0x1F) << 6 | (p[1] & 0x3Fu)); p += 2; }
            }
        } else {
            Py_UCS1 *to = PyUnicode_1BYTE_DATA(s);
            while (p < end) {
                if (*p < 0x80) *to++ = *p++;
                else { *to++ = (Py_UCS1)((p[0] & 0x03) << 6 | (p[1] & 0x3F)); p += 2; }
            }
        }
        return s;
    }
    """
    object str_from_utf8 "hftok_str_from_utf8"(const uint8_t *p, Py_ssize_t n)
    void copy_piece "hftok_copy_piece"(uint8_t *to, const uint8_t *source, size_t size) noexcept nogil


cdef int64_t TABLE_LIMIT = 1 << 24      # ids up to here are looked up in an array (16 bytes each, touched when used)


cdef int _reserve(Output *out, int64_t extra) except -1:
    cdef int64_t capacity
    cdef uint8_t *data
    if out.capacity - out.size >= extra:
        return 0
    capacity = 2 * out.capacity + extra
    data = <uint8_t *>realloc(out.data, <size_t>capacity + 16)
    if data == NULL:
        raise MemoryError("no memory for the decoded text")
    out.data = data
    out.capacity = capacity
    return 0


cdef int _end_run(Output *out, int64_t start) except -1:
    # A run of byte tokens stands in the output from `start` on: it is text, or each of its bytes becomes U+FFFD.
    cdef int64_t n = out.size - start
    out.high = True
    if is_utf8(out.data + start, n):
        return 0
    _reserve(out, 2 * n)
    write_replacements(out.data + start, n)
    out.size = start + 3 * n
    return 0


cdef class IdDecoder:
    """Decodes ids with one vocabulary and one decoder.

    `id_to_token` gives the token of an id (int) or None, and must not change its mind; it is asked when an id is first
    met. `size` is the largest id + 1. `special_tokens` are the strings that skip_special_tokens leaves out.

    >>> from hftok._core.decoders import DecoderProgram
    >>> from hftok._core.id_decoder import IdDecoder
    >>> words = ["[CLS]", "un", "##do", "it"]
    >>> decoder = IdDecoder(DecoderProgram(("WordPiece", "##", True)), dict(enumerate(words)).get, 4, ["[CLS]"])
    >>> decoder.decode([0, 1, 2, 3])
    'undo it'
    >>> decoder.decode([0, 1, 2, 3], skip_special_tokens=False)
    '[CLS] undo it'
    """

    def __cinit__(self, DecoderProgram program not None, id_to_token, size, special_tokens):
        cdef int place
        self.program = program
        self.id_to_token = id_to_token
        self.special_tokens = frozenset(special_tokens)
        self.far_entries = {}
        self.n_entries = min(max(<int64_t>size, 0), TABLE_LIMIT)
        self.capacity = 4096
        self.blob = <uint8_t *>malloc(<size_t>self.capacity + 16)
        if self.blob == NULL:
            raise MemoryError("no memory for the decoded tokens")
        self._plan()
        for place in range(4):
            if (not place & PLACE_FIRST or self.first_differs) and (not place & PLACE_LAST or self.last_differs):
                self.tables[place] = <Entry *>calloc(<size_t>self.n_entries + 1, sizeof(Entry))
                if self.tables[place] == NULL:
                    raise MemoryError("no memory for the table of decoded tokens")

    def __dealloc__(self):
        cdef int place
        for place in range(4):
            free(self.tables[place])
        free(self.blob)

    def _plan(self):
        """Find the form of the program."""
        cdef list steps = self.program.steps
        cdef Step step
        cdef Py_ssize_t i = 0
        self.token_steps = []
        self.text_steps = []
        while i < len(steps) and (<Step>steps[i]).kind <= LAST_TOKEN_STEP:
            step = <Step>steps[i]
            self.token_steps.append(step)
            self.first_differs |= step.kind in (STEP_WORDPIECE, STEP_SPACE) or (step.kind == STEP_METASPACE and step.flag)
            self.last_differs |= step.kind == STEP_BPE
            i += 1
        self.join = JOIN_TEXT
        if i < len(steps) and (<Step>steps[i]).kind == STEP_BYTE_LEVEL:
            self.join = JOIN_BYTES
            i += 1
        elif i < len(steps) and (<Step>steps[i]).kind == STEP_BYTE_FALLBACK:
            self.join = JOIN_FALLBACK
            i += 1
            if i < len(steps):
                if (<Step>steps[i]).kind != STEP_FUSE:
                    self.join = JOIN_LIST
                i += 1
        elif i < len(steps) and (<Step>steps[i]).kind == STEP_FUSE:
            i += 1
        elif i < len(steps):
            self.join = JOIN_LIST
        self.text_steps = steps[i:]
        self.is_incremental = self.join != JOIN_LIST and not self.last_differs and len(self.text_steps) <= 1
        for step in self.text_steps:
            self.is_incremental &= step.kind == STEP_STRIP and step.stop == 0

    # --- the table ---

    cdef int fill(self, uint32_t number, Place place, Entry *e) except -1:
        cdef bytes data
        cdef uint8_t *blob
        cdef int64_t capacity, size, i
        cdef Entry made
        token = self.id_to_token(number)
        made.offset = 0
        made.size = 0
        made.special = made.high = 0
        made.state = ENTRY_MISSING
        if token is not None:
            made.special = token in self.special_tokens
            try:
                piece = self.piece(<str?>token, place)
            except ValueError:
                made.state = ENTRY_FAILS
                e[0] = made
                return 0
            if isinstance(piece, int):
                made.state = ENTRY_BYTE
                made.size = <uint32_t>piece
            else:
                data = <bytes>piece
                size = PyBytes_GET_SIZE(data)
                if size > 0xFFFFFFFF:
                    raise OverflowError("a token of 4 GiB or more cannot be decoded")
                if self.capacity - self.used < size:
                    capacity = 2 * self.capacity + size
                    blob = <uint8_t *>realloc(self.blob, <size_t>capacity + 16)
                    if blob == NULL:
                        raise MemoryError("no memory for the table of decoded tokens")
                    self.blob = blob
                    self.capacity = capacity
                memcpy(self.blob + self.used, PyBytes_AS_STRING(data), <size_t>size)
                made.state = ENTRY_PIECE
                made.offset = self.used
                made.size = <uint32_t>size
                for i in range(size):
                    made.high |= self.blob[self.used + i] >> 7
                self.used += size
        e[0] = made
        return 0

    cdef object piece(self, str text, Place place):
        """What a token becomes at a place: bytes, or the int value of a byte token."""
        cdef Step step
        cdef int value
        for step in self.token_steps:
            text = step.token(text, place & PLACE_FIRST, place & PLACE_LAST)
        if self.join == JOIN_FALLBACK:
            value = byte_token(text)
            if value >= 0:
                return value
        return byte_level_bytes(text) if self.join == JOIN_BYTES else text.encode("utf-8")

    cdef int fail(self, uint32_t number, Place place) except -1:
        self.piece(self.id_to_token(number), place)
        raise RuntimeError("a token that could not be decoded now can be: id_to_token changed its mind")

    cdef int entry(self, uint32_t number, Place place, Entry *e) except -1:
        cdef bytes kept
        cdef Entry *table = self.tables[<int>place]
        if <int64_t>number < self.n_entries:
            if table[number].state == ENTRY_UNKNOWN:
                self.fill(number, place, &table[number])
            e[0] = table[number]
            return 0
        kept = self.far_entries.get((number, <int>place))
        if kept is not None:
            memcpy(e, PyBytes_AS_STRING(kept), sizeof(Entry))
            return 0
        self.fill(number, place, e)
        if e.state != ENTRY_MISSING:        # any number of ids may be missing: not kept
            self.far_entries[(number, <int>place)] = (<char *>e)[:sizeof(Entry)]
        return 0

    # --- decoding ---

    cdef str decode_u32(self, const uint32_t *ids, Py_ssize_t n, bint skip_special_tokens):
        cdef Output out
        cdef str text
        if self.join == JOIN_LIST:
            return self.decode_list(ids, n, skip_special_tokens)
        out.size = 0
        out.high = False
        out.capacity = 8 * n + 64
        out.data = <uint8_t *>malloc(<size_t>out.capacity + 16)
        if out.data == NULL:
            raise MemoryError("no memory for the decoded text")
        try:
            with cython.critical_section(self):     # without the GIL: another thread may add entries
                self.join_ids(&out, ids, n, skip_special_tokens)
            if out.high and self.join == JOIN_BYTES and not is_utf8(out.data, out.size):
                text = PyUnicode_DecodeUTF8(<const char *>out.data, out.size, b"replace")
            elif out.high:
                text = str_from_utf8(out.data, out.size)
            else:
                text = PyUnicode_New(out.size, 127)
                memcpy(PyUnicode_DATA(text), out.data, <size_t>out.size)
        finally:
            free(out.data)
        if self.text_steps:
            text = self.finish(text)
        return text

    cdef str finish(self, str text):
        cdef Step step
        cdef list tokens = [text]
        for step in self.text_steps:
            tokens = step.chain(tokens)
        return "".join(tokens)

    cdef int join_ids(self, Output *out, const uint32_t *ids, Py_ssize_t n, bint skip) except -1:
        cdef Py_ssize_t i = 0, stop, last = -1
        cdef int64_t run = -1           # where in the output a run of byte tokens starts
        cdef Entry e
        cdef const Entry *inner = self.tables[<int>PLACE_INNER]
        cdef const Entry *met
        cdef const uint8_t *blob
        cdef uint8_t *p
        cdef const uint8_t *limit
        cdef int64_t n_entries = self.n_entries
        cdef Place place = PLACE_FIRST if self.first_differs else PLACE_INNER
        if self.last_differs:
            for i in range(n - 1, -1, -1):
                self.entry(ids[i], PLACE_INNER, &e)
                if e.state != ENTRY_MISSING and not (skip and e.special):
                    last = i
                    break
            i = 0
        while True:
            if run < 0 and place == PLACE_INNER:
                # As far as it goes: entries that were met before and are plain pieces.
                stop = last if last >= i else n
                blob = self.blob
                p = out.data + out.size
                limit = out.data + out.capacity
                while i < stop and <int64_t>ids[i] < n_entries:
                    met = inner + ids[i]
                    if met.state != ENTRY_PIECE or (met.special & <uint8_t>skip) or limit - p < <int64_t>met.size:
                        break
                    copy_piece(p, blob + met.offset, met.size)
                    p += met.size
                    out.high |= met.high
                    i += 1
                out.size = p - out.data
            if i >= n:
                break
            # One of any kind.
            if i == last:
                place = <Place>(place | PLACE_LAST)
            self.entry(ids[i], place, &e)
            if e.state == ENTRY_MISSING or (skip and e.special):
                i += 1
                continue
            if e.state == ENTRY_PIECE:
                if run >= 0:
                    _end_run(out, run)
                    run = -1
                _reserve(out, e.size)
                copy_piece(out.data + out.size, self.blob + e.offset, e.size)
                out.size += e.size
                out.high |= e.high
            elif e.state == ENTRY_BYTE:
                if run < 0:
                    run = out.size
                _reserve(out, 1)
                out.data[out.size] = <uint8_t>e.size
                out.size += 1
            else:
                self.fail(ids[i], place)
            place = PLACE_INNER
            i += 1
        if run >= 0:
            _end_run(out, run)
        return 0

    cdef str decode_list(self, const uint32_t *ids, Py_ssize_t n, bint skip):
        cdef Py_ssize_t i
        cdef list tokens = []
        for i in range(n):
            token = self.id_to_token(ids[i])
            if token is not None and not (skip and token in self.special_tokens):
                tokens.append(token)
        return "".join(self.program.run(tokens))

    def decode(self, ids, skip_special_tokens=True):
        """The text of a sequence of ids, str.

        Raises:
            TypeError, OverflowError: `ids` is no sequence of ints from 0 to 2**32 - 1.
            ValueError, Exception: as DecoderProgram.decode.
        """
        cdef Py_ssize_t n
        cdef uint32_t *numbers = u32_array_argument(ids, "ids", &n)
        try:
            return self.decode_u32(numbers, n, bool_argument(skip_special_tokens, "skip_special_tokens"))
        finally:
            free(numbers)

    def decode_batch(self, sequences, skip_special_tokens=True):
        """The texts of many sequences of ids, list[str]. Errors as `decode`."""
        cdef list result = []
        cdef bint skip = False
        cdef Py_ssize_t n
        cdef uint32_t *ids
        wrong = None
        try:
            check_sequence(sequences)
        except TypeError as error:
            error.add_note("while processing 'sequences'")
            raise
        try:
            skip = bool_argument(skip_special_tokens, "skip_special_tokens")
        except TypeError as error:
            wrong = error                   # the ids are looked at first
        for sequence in sequences:
            ids = u32_array_argument(sequence, "sequences", &n)
            try:
                if wrong is None:
                    result.append(self.decode_u32(ids, n, skip))
            finally:
                free(ids)
        if wrong is not None:
            raise wrong
        return result
