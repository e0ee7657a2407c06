"""DecodeStream: the text of ids as they come, one step after the other.

What it does: keeps the ids since the last text that was given out, and gives out what a step adds to their decoding, unless
that ends in U+FFFD (half a character) or adds nothing. A tokenizer may offer an IdDecoder under the name `_id_decoder`;
where that can be extended id by id, the decoding of the ids so far is kept, so that a step costs its own ids only. Any
other tokenizer is asked to decode the kept ids again, as the reference does at every step.
Rule of the reference: step_decode_stream (tokenizer/mod.rs), PyDecodeStream (bindings decoders.rs). Lengths are compared in
UTF-8 bytes. After an error the stream is as it was before the step (the reference keeps the ids of the failed step).
Left to others: decoding itself (id_decoder.pyx, the tokenizer).
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove

from hftok._core.arguments cimport bool_argument, u32_argument, u32_array_argument
from hftok._core.decoders cimport Step
from hftok._core.id_decoder cimport (
    ENTRY_BYTE, ENTRY_FAILS, ENTRY_MISSING, JOIN_BYTES, JOIN_FALLBACK, Entry, IdDecoder)


cdef struct Bytes:
    uint8_t *data
    Py_ssize_t size
    Py_ssize_t capacity


cdef int bytes_put(Bytes *b, const uint8_t *data, Py_ssize_t n) except -1:
    cdef uint8_t *grown
    cdef Py_ssize_t capacity
    if b.capacity - b.size < n:
        capacity = 2 * b.capacity + n + 32
        grown = <uint8_t *>realloc(b.data, <size_t>capacity)
        if grown == NULL:
            raise MemoryError("no memory for the text of a stream")
        b.data = grown
        b.capacity = capacity
    if n:
        memcpy(b.data + b.size, data, <size_t>n)
    b.size += n
    return 0


cdef const uint8_t *REPLACEMENT = <const uint8_t *>b"\xef\xbf\xbd"


cdef inline bint ends_in_replacement(const uint8_t *data, Py_ssize_t n) noexcept nogil:
    return n >= 3 and data[n - 3] == 0xEF and data[n - 2] == 0xBF and data[n - 1] == 0xBD


cdef inline int utf8_need(uint8_t b) noexcept nogil:
    # Length of the sequence that starts with b; 0: no sequence does.
    if b < 0x80:
        return 1
    if b < 0xC2:
        return 0
    if b < 0xE0:
        return 2
    if b < 0xF0:
        return 3
    return 4 if b < 0xF5 else 0


cdef inline bint utf8_follows(const uint8_t *held, int n, uint8_t b) noexcept nogil:
    # Whether b may come after the n >= 1 bytes of an unfinished sequence.
    if n == 1:
        if held[0] == 0xE0:
            return 0xA0 <= b <= 0xBF
        if held[0] == 0xED:
            return 0x80 <= b <= 0x9F
        if held[0] == 0xF0:
            return 0x90 <= b <= 0xBF
        if held[0] == 0xF4:
            return 0x80 <= b <= 0x8F
    return 0x80 <= b <= 0xBF


cdef class Decoded:
    """The decoding of a growing list of ids: finished text, and an end that more ids can still change."""
    cdef IdDecoder decoder
    cdef bint skip, first
    cdef Bytes text                 # finished, valid UTF-8
    cdef uint8_t held[4]            # start of a sequence that is not complete (byte-level; in a run also)
    cdef int n_held
    cdef Bytes run                  # byte tokens in a row (ByteFallback) ...
    cdef bint run_broken            # ... that are no UTF-8 whatever follows
    cdef bytes strip                # the character that is stripped from the start of the joined text, or empty
    cdef uint64_t strip_count       # how often at most

    def __cinit__(self, IdDecoder decoder, bint skip):
        self.decoder = decoder
        self.skip = skip
        self.first = decoder.first_differs
        self.strip = b""
        if decoder.text_steps:
            self.strip = (<Step>decoder.text_steps[0]).text.encode("utf-8")
            self.strip_count = (<Step>decoder.text_steps[0]).start

    def __dealloc__(self):
        free(self.text.data)
        free(self.run.data)

    cdef int push(self, uint32_t number) except -1:
        cdef Entry e
        self.decoder.entry(number, &e)
        if e.state == ENTRY_MISSING or (self.skip and e.special):
            return 0
        if self.first:
            piece = self.decoder.edge_piece(number, True, False)
            self.first = False
            if isinstance(piece, int):
                return self.push_byte(piece)
            return self.push_piece(<const uint8_t *><const char *>(<bytes>piece), len(<bytes>piece))
        if e.state == ENTRY_FAILS:
            return self.decoder.fail(number)
        if e.state == ENTRY_BYTE:
            return self.push_byte(<uint8_t>e.size)
        return self.push_piece(self.decoder.blob + e.offset, <Py_ssize_t>e.size)

    cdef int push_piece(self, const uint8_t *data, Py_ssize_t n) except -1:
        cdef Py_ssize_t i
        if self.decoder.join == JOIN_BYTES:
            for i in range(n):
                self.push_lossy(data[i])
            return 0
        if self.decoder.join == JOIN_FALLBACK and self.run.size:
            self.put_run(&self.text)
            self.run.size = 0
            self.n_held = 0
            self.run_broken = False
        return bytes_put(&self.text, data, n)

    cdef int push_lossy(self, uint8_t b) except -1:
        # One U+FFFD for each maximal part of a sequence, as String::from_utf8_lossy.
        cdef int need
        if self.n_held:
            if utf8_follows(self.held, self.n_held, b):
                self.held[self.n_held] = b
                self.n_held += 1
                if self.n_held == utf8_need(self.held[0]):
                    bytes_put(&self.text, self.held, self.n_held)
                    self.n_held = 0
                return 0
            bytes_put(&self.text, REPLACEMENT, 3)
            self.n_held = 0
        need = utf8_need(b)
        if need == 1:
            bytes_put(&self.text, &b, 1)
        elif need == 0:
            bytes_put(&self.text, REPLACEMENT, 3)
        else:
            self.held[0] = b
            self.n_held = 1
        return 0

    cdef int push_byte(self, uint8_t b) except -1:
        cdef int need
        bytes_put(&self.run, &b, 1)
        if self.run_broken:
            return 0
        if self.n_held:
            if not utf8_follows(self.held, self.n_held, b):
                self.run_broken = True
                return 0
            self.held[self.n_held] = b
            self.n_held += 1
            if self.n_held == utf8_need(self.held[0]):
                self.n_held = 0
            return 0
        need = utf8_need(b)
        if need == 0:
            self.run_broken = True
        elif need > 1:
            self.held[0] = b
            self.n_held = 1
        return 0

    cdef bint run_is_text(self) noexcept:
        return not self.run_broken and self.n_held == 0

    cdef int put_run(self, Bytes *out) except -1:
        cdef Py_ssize_t i
        if self.run_is_text():
            return bytes_put(out, self.run.data, self.run.size)
        for i in range(self.run.size):
            bytes_put(out, REPLACEMENT, 3)
        return 0

    cdef bint unfinished(self) noexcept:
        """Whether the decoding ends in U+FFFD."""
        cdef bint replaced
        if self.run.size:
            replaced = not self.run_is_text() or ends_in_replacement(self.run.data, self.run.size)
        else:
            replaced = self.n_held or ends_in_replacement(self.text.data, self.text.size)
        return replaced and (self.strip_count == 0 or self.length() > 0)    # U+FFFD itself may be what is stripped

    cdef Py_ssize_t full_length(self) noexcept:
        if self.run.size:
            return self.text.size + (self.run.size if self.run_is_text() else 3 * self.run.size)
        return self.text.size + (3 if self.n_held else 0)

    cdef Py_ssize_t stripped(self) noexcept:
        """Bytes that the Strip after the join takes from the start."""
        cdef const uint8_t *character
        cdef Py_ssize_t n, done = 0, in_run = 0
        cdef uint64_t count = 0
        if self.strip_count == 0:
            return 0
        character = <const uint8_t *>PyBytes_AS_STRING(self.strip)
        n = PyBytes_GET_SIZE(self.strip)
        while count < self.strip_count and self.text.size - done >= n and memcmp(self.text.data + done, character, <size_t>n) == 0:
            done += n
            count += 1
        if done < self.text.size:
            return done
        if self.run.size and self.run_is_text():
            while count < self.strip_count and self.run.size - in_run >= n and memcmp(
                    self.run.data + in_run, character, <size_t>n) == 0:
                in_run += n
                count += 1
            return done + in_run
        if n == 3 and ends_in_replacement(character, 3):
            while count < self.strip_count and done < self.full_length():
                done += 3
                count += 1
        return done

    cdef Py_ssize_t length(self) noexcept:
        return self.full_length() - self.stripped()

    cdef bytes render(self):
        cdef Bytes out
        cdef Py_ssize_t cut = self.stripped()
        out.data = NULL
        out.size = out.capacity = 0
        try:
            bytes_put(&out, self.text.data, self.text.size)
            if self.run.size:
                self.put_run(&out)
            elif self.n_held:
                bytes_put(&out, REPLACEMENT, 3)
            return (<char *>out.data)[cut:out.size] if out.size else b""
        finally:
            free(out.data)


@cython.final
cdef class DecodeStream:
    """Decodes ids as a model produces them.

    `ids` is what came before the stream (a prompt, say): it is context for what follows and its text is not given out.

    >>> from hftok._core.decode_stream import DecodeStream
    >>> class Tokenizer:
    ...     def decode(self, ids, skip_special_tokens=True):
    ...         return bytes(ids).decode("utf-8", "replace")
    >>> stream = DecodeStream()
    >>> [stream.step(Tokenizer(), byte) for byte in "né".encode()]
    ['n', None, 'é']
    """
    cdef bint skip
    cdef uint32_t *ids
    cdef Py_ssize_t n, capacity
    cdef bytes prefix               # UTF-8: the decoding of the first prefix_index ids, given out before
    cdef Py_ssize_t prefix_index
    cdef Decoded decoded            # of all kept ids, or None

    def __cinit__(self, ids=None, skip_special_tokens=False):
        self.prefix = b""
        if ids is not None:
            self.ids = u32_array_argument(ids, "ids", &self.n)
            self.capacity = self.n
        if skip_special_tokens is not None:
            self.skip = bool_argument(skip_special_tokens, "skip_special_tokens")

    def __dealloc__(self):
        free(self.ids)

    def __reduce__(self):
        raise TypeError("cannot pickle 'hftok.decoders.DecodeStream' object")

    def __copy__(self):
        cdef DecodeStream other = DecodeStream.__new__(DecodeStream, None, self.skip)
        other.reserve(self.n)
        if self.n:
            memcpy(other.ids, self.ids, <size_t>self.n * sizeof(uint32_t))
        other.n = self.n
        other.prefix = self.prefix
        other.prefix_index = self.prefix_index
        return other

    def __deepcopy__(self, memo):
        return self.__copy__()

    cdef int reserve(self, Py_ssize_t extra) except -1:
        cdef uint32_t *grown
        cdef Py_ssize_t capacity
        if self.capacity - self.n >= extra:
            return 0
        capacity = 2 * self.capacity + extra + 8
        grown = <uint32_t *>realloc(self.ids, <size_t>capacity * sizeof(uint32_t))
        if grown == NULL:
            raise MemoryError("no memory for the ids of a stream")
        self.ids = grown
        self.capacity = capacity
        return 0

    def step(self, tokenizer, id):
        """The text that one id (int) or several (list of int) add, or None while it is not complete.

        Raises:
            TypeError: `id` is neither, or `tokenizer` cannot decode.
            Exception: the text so far is not how the new text starts (byte tokens that turn out to be no text).
        """
        cdef Py_ssize_t n_new, n_before = self.n
        cdef uint32_t one
        cdef uint32_t *many = NULL
        cdef IdDecoder decoder = None
        if not hasattr(tokenizer, "decode"):
            error = TypeError(
                "'None' is not an instance of 'Tokenizer'" if tokenizer is None
                else f"'{type(tokenizer).__name__}' object is not an instance of 'Tokenizer'")
            error.add_note("while processing 'tokenizer'")
            raise error
        try:
            one = u32_argument(id, None)
            n_new = 1
        except Exception:
            try:
                many = u32_array_argument(id, None, &n_new)
            except Exception:
                error = TypeError("StreamInput must be either an integer or a list of integers")
                error.add_note("while processing 'id'")
                raise error from None
        offered = getattr(tokenizer, "_id_decoder", None)
        if isinstance(offered, IdDecoder) and (<IdDecoder>offered).is_incremental:
            decoder = <IdDecoder>offered
        try:
            self.reserve(n_new)
            if decoder is not None:
                return self.step_decoder(decoder, many if many != NULL else &one, n_new)
            self.decoded = None
            return self.step_tokenizer(tokenizer, many if many != NULL else &one, n_new)
        except BaseException:
            self.n = n_before
            self.decoded = None
            raise
        finally:
            free(many)

    cdef object step_decoder(self, IdDecoder decoder, const uint32_t *new, Py_ssize_t n_new):
        cdef Decoded decoded = self.decoded
        cdef bytes text
        cdef Py_ssize_t i
        if decoded is None or decoded.decoder is not decoder:
            decoded = Decoded(decoder, self.skip)
            for i in range(self.n):
                decoded.push(self.ids[i])
            self.decoded = decoded
        if not self.prefix and self.n and not decoded.unfinished():
            self.prefix = decoded.render()
            self.prefix_index = self.n
        for i in range(n_new):
            decoded.push(new[i])
        memcpy(self.ids + self.n, new, <size_t>n_new * sizeof(uint32_t))
        self.n += n_new
        if decoded.length() <= len(self.prefix) or decoded.unfinished():
            return None
        text = decoded.render()
        if not text.startswith(self.prefix):
            raise self.invalid_prefix(text)
        decoded = Decoded(decoder, self.skip)
        for i in range(self.prefix_index, self.n):
            decoded.push(self.ids[i])
        return self.advance(text, decoded, decoded.render())

    cdef object step_tokenizer(self, object tokenizer, const uint32_t *new, Py_ssize_t n_new):
        cdef bytes text
        if not self.prefix and self.n:
            text = self.decode(tokenizer, 0)
            if not ends_in_replacement(<const uint8_t *><const char *>text, len(text)):
                self.prefix = text
                self.prefix_index = self.n
        memcpy(self.ids + self.n, new, <size_t>n_new * sizeof(uint32_t))
        self.n += n_new
        text = self.decode(tokenizer, 0)
        if len(text) <= len(self.prefix) or ends_in_replacement(<const uint8_t *><const char *>text, len(text)):
            return None
        if not text.startswith(self.prefix):
            raise self.invalid_prefix(text)
        return self.advance(text, None, self.decode(tokenizer, self.prefix_index))

    cdef bytes decode(self, object tokenizer, Py_ssize_t start):
        cdef Py_ssize_t i
        cdef list ids = [self.ids[i] for i in range(start, self.n)]
        return (<str?>tokenizer.decode(ids, skip_special_tokens=bool(self.skip))).encode("utf-8")

    cdef object advance(self, bytes text, Decoded decoded, bytes prefix):
        # The ids whose text was given out before go; what was new now is the context of the next step.
        cdef Py_ssize_t kept = self.n - self.prefix_index
        result = text[len(self.prefix):].decode("utf-8")
        memmove(self.ids, self.ids + self.prefix_index, <size_t>kept * sizeof(uint32_t))
        self.n = kept
        self.prefix_index = kept
        self.prefix = prefix
        self.decoded = decoded
        return result

    cdef object invalid_prefix(self, bytes text):
        return Exception(
            f"Invalid prefix encountered while decoding stream. Token ID: {self.ids[self.n - 1]}, "
            f"Expected prefix: '{self.prefix.decode('utf-8')}', Actual string: '{text.decode('utf-8')}'")
