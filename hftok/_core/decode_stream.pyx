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
from libc.stdlib cimport free, realloc
from libc.string cimport memcmp, memcpy, memmove

from hftok._core.arguments cimport bool_argument, u32_argument, u32_array_argument
from hftok._core.decoders cimport Step
from hftok._core.id_decoder cimport (
    ENTRY_BYTE, ENTRY_FAILS, ENTRY_MISSING, JOIN_BYTES, JOIN_FALLBACK, PLACE_FIRST, PLACE_INNER, Entry, IdDecoder, Place)
from hftok._core.utf8_sequence cimport ends_in_replacement, may_follow, sequence_length, write_replacements


cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    const char *PyUnicode_AsUTF8AndSize(object s, Py_ssize_t *size) except NULL


cdef struct Bytes:
    uint8_t *data
    Py_ssize_t size
    Py_ssize_t capacity


cdef int bytes_room(Bytes *b, Py_ssize_t n) except -1:
    cdef uint8_t *grown
    cdef Py_ssize_t capacity
    if b.capacity - b.size < n:
        capacity = 2 * b.capacity + n + 64
        grown = <uint8_t *>realloc(b.data, <size_t>capacity)
        if grown == NULL:
            raise MemoryError("no memory for the text of a stream")
        b.data = grown
        b.capacity = capacity
    return 0


cdef int bytes_put(Bytes *b, const uint8_t *data, Py_ssize_t n) except -1:
    if n:
        bytes_room(b, n)
        memcpy(b.data + b.size, data, <size_t>n)
        b.size += n
    return 0


cdef int bytes_put_replacements(Bytes *b, Py_ssize_t count) except -1:
    bytes_room(b, 3 * count)
    write_replacements(b.data + b.size, count)
    b.size += 3 * count
    return 0


cdef class Decoded:
    """The decoding of a growing list of ids: finished text, and an end that more ids can still change."""
    cdef IdDecoder decoder
    cdef bint skip
    cdef Place place                # of the next id
    cdef Bytes text                 # finished, valid UTF-8
    cdef uint8_t held[4]            # start of a sequence that is not complete (byte-level, and in a run)
    cdef int n_held
    cdef Bytes run                  # byte tokens in a row (ByteFallback) ...
    cdef bint run_broken            # ... that are no UTF-8 whatever follows
    cdef Bytes whole                # room to put text and end together
    cdef bytes strip                # the character that is stripped from the start of the joined text
    cdef uint64_t strip_count       # how often at most

    def __cinit__(self, IdDecoder decoder, bint skip):
        self.decoder = decoder
        self.skip = skip
        if decoder.text_steps:
            self.strip = (<Step>decoder.text_steps[0]).text.encode("utf-8")
            self.strip_count = (<Step>decoder.text_steps[0]).start
        self.clear()

    def __dealloc__(self):
        free(self.text.data)
        free(self.run.data)
        free(self.whole.data)

    cdef void clear(self) noexcept:
        self.place = PLACE_FIRST if self.decoder.first_differs else PLACE_INNER
        self.text.size = 0
        self.n_held = 0
        self.run.size = 0
        self.run_broken = False

    cdef int push(self, uint32_t number) except -1:
        with cython.critical_section(self.decoder):     # without the GIL: another thread may add entries
            return self.push_entry(number)

    cdef int push_entry(self, uint32_t number) except -1:
        cdef Entry e
        self.decoder.entry(number, self.place, &e)
        if e.state == ENTRY_MISSING or (self.skip and e.special):
            return 0
        if e.state == ENTRY_FAILS:
            return self.decoder.fail(number, self.place)
        self.place = PLACE_INNER
        if e.state == ENTRY_BYTE:
            return self.push_byte(<uint8_t>e.size)
        return self.push_piece(self.decoder.blob + e.offset, <Py_ssize_t>e.size, e.high)

    cdef int push_piece(self, const uint8_t *data, Py_ssize_t n, bint high) except -1:
        cdef Py_ssize_t i
        if self.decoder.join == JOIN_BYTES and (high or self.n_held):
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
        cdef int length
        if self.n_held:
            if may_follow(self.held, self.n_held, b):
                self.held[self.n_held] = b
                self.n_held += 1
                if self.n_held == sequence_length(self.held[0]):
                    bytes_put(&self.text, self.held, self.n_held)
                    self.n_held = 0
                return 0
            bytes_put_replacements(&self.text, 1)
            self.n_held = 0
        length = sequence_length(b)
        if length == 1:
            return bytes_put(&self.text, &b, 1)
        if length == 0:
            return bytes_put_replacements(&self.text, 1)
        self.held[0] = b
        self.n_held = 1
        return 0

    cdef int push_byte(self, uint8_t b) except -1:
        cdef int length
        bytes_put(&self.run, &b, 1)
        if self.run_broken:
            return 0
        if self.n_held:
            if not may_follow(self.held, self.n_held, b):
                self.run_broken = True
                return 0
            self.held[self.n_held] = b
            self.n_held += 1
            if self.n_held == sequence_length(self.held[0]):
                self.n_held = 0
            return 0
        length = sequence_length(b)
        if length == 0:
            self.run_broken = True
        elif length > 1:
            self.held[0] = b
            self.n_held = 1
        return 0

    cdef bint run_is_text(self) noexcept:
        return not self.run_broken and self.n_held == 0

    cdef int put_run(self, Bytes *out) except -1:
        if self.run_is_text():
            return bytes_put(out, self.run.data, self.run.size)
        return bytes_put_replacements(out, self.run.size)

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

    cdef int view(self, const uint8_t **data, Py_ssize_t *n) except -1:
        """All of the decoding; valid until the next change."""
        cdef Py_ssize_t cut = self.stripped()
        if self.run.size == 0 and self.n_held == 0:
            if self.text.size == 0:
                data[0] = <const uint8_t *>b""
                n[0] = 0
                return 0
            data[0] = self.text.data + cut
            n[0] = self.text.size - cut
            return 0
        self.whole.size = 0
        bytes_put(&self.whole, self.text.data, self.text.size)
        if self.run.size:
            self.put_run(&self.whole)
        else:
            bytes_put_replacements(&self.whole, 1)
        data[0] = self.whole.data + cut
        n[0] = self.whole.size - cut
        return 0


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
    cdef Bytes prefix               # the decoding of the first prefix_index ids, given out before
    cdef Py_ssize_t prefix_index
    cdef Decoded decoded            # of all kept ids, or None
    cdef Decoded spare              # another of the same decoder, or None

    def __cinit__(self, ids=None, skip_special_tokens=False):
        if ids is not None:
            self.ids = u32_array_argument(ids, "ids", &self.n)
            self.capacity = self.n
        if skip_special_tokens is not None:
            self.skip = bool_argument(skip_special_tokens, "skip_special_tokens")

    def __dealloc__(self):
        free(self.ids)
        free(self.prefix.data)

    def __reduce__(self):
        raise TypeError("cannot pickle 'hftok.decoders.DecodeStream' object")

    @cython.critical_section
    def __copy__(self):
        cdef DecodeStream other = DecodeStream.__new__(DecodeStream, None, self.skip)
        other.reserve(self.n)
        if self.n:
            memcpy(other.ids, self.ids, <size_t>self.n * sizeof(uint32_t))
        other.n = self.n
        bytes_put(&other.prefix, self.prefix.data, self.prefix.size)
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

    @cython.critical_section
    def step(self, tokenizer, id):
        """The text that one id (int) or several (list of int) add, or None while it is not complete.

        Raises:
            TypeError: `id` is neither, or `tokenizer` cannot decode or only wraps a tokenizer (step on its `_tokenizer`).
            Exception: the text so far is not how the new text starts (byte tokens that turn out to be no text).
        """
        cdef Py_ssize_t n_new, n_before = self.n
        cdef uint32_t one
        cdef uint32_t *many = NULL
        cdef const uint32_t *new
        offered = getattr(tokenizer, "_id_decoder", None)
        # What wraps a tokenizer (a transformers tokenizer, a ready-made one of `implementations`) is none: PyDecodeStream.step
        # takes a Tokenizer, and the decode of a wrapper does more than decode. Its `_tokenizer` is what to step on.
        if not isinstance(offered, IdDecoder) and (hasattr(tokenizer, "_tokenizer") or not hasattr(tokenizer, "decode")):
            error = TypeError(
                "'None' is not an instance of 'Tokenizer'" if tokenizer is None
                else f"'{type(tokenizer).__name__}' object is not an instance of 'Tokenizer'")
            error.add_note("while processing 'tokenizer'")
            raise error
        try:
            one = u32_argument(id, None)
            new = &one
            n_new = 1
        except Exception:
            try:
                many = u32_array_argument(id, None, &n_new)
                new = many
            except Exception:
                error = TypeError("StreamInput must be either an integer or a list of integers")
                error.add_note("while processing 'id'")
                raise error from None
        try:
            self.reserve(n_new)
            if isinstance(offered, IdDecoder) and (<IdDecoder>offered).is_incremental:
                return self.step_decoder(<IdDecoder>offered, new, n_new)
            self.decoded = None
            return self.step_tokenizer(tokenizer, <IdDecoder>offered if isinstance(offered, IdDecoder) else None, new, n_new)
        except BaseException:
            self.n = n_before
            self.decoded = None
            raise
        finally:
            free(many)

    cdef void append(self, const uint32_t *new, Py_ssize_t n) noexcept:
        if n:                                   # there is room: step reserved it
            memcpy(self.ids + self.n, new, <size_t>n * sizeof(uint32_t))
            self.n += n

    cdef object step_decoder(self, IdDecoder decoder, const uint32_t *new, Py_ssize_t n_new):
        cdef Decoded decoded = self.decoded, spare
        cdef const uint8_t *text
        cdef Py_ssize_t i, n
        if decoded is None or decoded.decoder is not decoder:
            decoded = Decoded(decoder, self.skip)
            for i in range(self.n):
                decoded.push(self.ids[i])
            self.decoded = decoded
            self.spare = Decoded(decoder, self.skip)
        spare = self.spare
        if self.prefix.size == 0 and self.n and not decoded.unfinished():
            decoded.view(&text, &n)
            bytes_put(&self.prefix, text, n)
            self.prefix_index = self.n
        for i in range(n_new):
            decoded.push(new[i])
        self.append(new, n_new)
        if decoded.length() <= self.prefix.size or decoded.unfinished():
            return None
        decoded.view(&text, &n)
        result = self.continuation(text, n)
        spare.clear()
        for i in range(self.prefix_index, self.n):
            spare.push(self.ids[i])
        self.decoded = spare
        self.spare = decoded
        spare.view(&text, &n)
        self.advance(text, n)
        return result

    cdef object step_tokenizer(self, object tokenizer, IdDecoder decoder, const uint32_t *new, Py_ssize_t n_new):
        cdef str text
        cdef const uint8_t *data
        cdef Py_ssize_t n
        if self.prefix.size == 0 and self.n:
            text = self.decode(tokenizer, decoder, 0)
            data = <const uint8_t *>PyUnicode_AsUTF8AndSize(text, &n)
            if not ends_in_replacement(data, n):
                bytes_put(&self.prefix, data, n)
                self.prefix_index = self.n
        self.append(new, n_new)
        text = self.decode(tokenizer, decoder, 0)
        data = <const uint8_t *>PyUnicode_AsUTF8AndSize(text, &n)
        if n <= self.prefix.size or ends_in_replacement(data, n):
            return None
        result = self.continuation(data, n)
        text = self.decode(tokenizer, decoder, self.prefix_index)
        data = <const uint8_t *>PyUnicode_AsUTF8AndSize(text, &n)
        self.advance(data, n)
        return result

    cdef str decode(self, object tokenizer, IdDecoder decoder, Py_ssize_t start):
        cdef Py_ssize_t i
        if decoder is not None:
            return decoder.decode_u32(self.ids + start, self.n - start, self.skip)
        return <str?>tokenizer.decode([self.ids[i] for i in range(start, self.n)], skip_special_tokens=bool(self.skip))

    cdef object continuation(self, const uint8_t *text, Py_ssize_t n):
        """What `text` adds to the prefix."""
        if self.prefix.size and memcmp(text, self.prefix.data, <size_t>self.prefix.size) != 0:
            if self.n == 0:
                raise ValueError("the tokenizer decodes no ids to some text, and to another one each time")
            raise Exception(
                f"Invalid prefix encountered while decoding stream. Token ID: {self.ids[self.n - 1]}, Expected prefix: "
                f"'{(<bytes>self.prefix.data[:self.prefix.size]).decode('utf-8')}', Actual string: '{(<bytes>text[:n]).decode('utf-8')}'")
        return PyUnicode_DecodeUTF8(<const char *>text + self.prefix.size, n - self.prefix.size, NULL)

    cdef int advance(self, const uint8_t *prefix, Py_ssize_t n) except -1:
        # The ids whose text was given out before go; what was new now is the context of the next step.
        cdef Py_ssize_t kept = self.n - self.prefix_index
        bytes_room(&self.prefix, n)
        self.prefix.size = 0
        bytes_put(&self.prefix, prefix, n)
        if kept:
            memmove(self.ids, self.ids + self.prefix_index, <size_t>kept * sizeof(uint32_t))
        self.n = kept
        self.prefix_index = kept
        return 0
