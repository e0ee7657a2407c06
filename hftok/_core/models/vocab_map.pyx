"""The vocabulary as C: string bytes -> id.

Every model of the reference keeps its vocabulary in a hash map from string to id and looks text up in it. This is that map
for code without Python objects: the strings lie in one block in the order of the dict, and an open-addressing table of
64-bit slots (half of the hash, index of the string) finds them with, nearly always, one comparison. It is filled once and
never changes. The hash is seeded per process, so that a vocabulary cannot be written to collide on purpose.

It leaves to others: prefix search (`double_array`), what an id means, and the order of ids (`Model.vocab` keeps the dict).
"""
import os
from array import array

from cpython.dict cimport PyDict_SetItem
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    int PyUnicode_IS_COMPACT_ASCII(object text)
    int PyUnicode_KIND(object text)
    void *PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    object PyUnicode_New(Py_ssize_t size, Py_UCS4 maxchar)

from hftok._core.stored cimport Block, demand, view
from hftok._core.text cimport utf8_decode, utf8_encode
from hftok._core.utf8 cimport utf8_valid_prefix

cdef extern from "stored_checks.h" nogil:
    int64_t ht_check_entries(const uint64_t *slots, int64_t count, int64_t n)
    uint32_t ht_greatest(const uint32_t *numbers, int64_t n)
    bint ht_check_offsets(const int64_t *offsets, int64_t n, int64_t longest)
    bint ht_counts_up(const uint32_t *numbers, int64_t n, uint32_t first)

cdef uint64_t PROCESS_SEED = int.from_bytes(os.urandom(8), "little")


cdef int buffer_reserve(ByteBuffer *b, int64_t extra) except -1:
    cdef int64_t capacity
    cdef uint8_t *data
    if b.capacity - b.size >= extra and b.data != NULL:
        return 0
    capacity = (b.size + extra) + (b.size + extra) // 2 + 64
    data = <uint8_t *>realloc(b.data, <size_t>capacity)
    if data == NULL:
        raise MemoryError("out of memory while reading the vocabulary")
    b.data = data
    b.capacity = capacity
    return 0


cdef int append_utf8(ByteBuffer *b, str text) except -1:
    """Append the UTF-8 of a str. The str itself gets no UTF-8 copy attached, as asking CPython for it would do."""
    cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text)
    cdef Py_ssize_t i
    cdef int kind
    cdef void *data = PyUnicode_DATA(text)
    cdef uint8_t *p
    cdef uint32_t c
    cdef int bad = 0
    if PyUnicode_IS_COMPACT_ASCII(text):
        buffer_reserve(b, n)
        memcpy(b.data + b.size, data, <size_t>n)
        b.size += n
        return 0
    kind = PyUnicode_KIND(text)
    buffer_reserve(b, <int64_t>n * (2 if kind == 1 else 3 if kind == 2 else 4))
    p = b.data + b.size
    if kind == 1:
        for i in range(n):
            p += utf8_encode((<uint8_t *>data)[i], p)
    elif kind == 2:
        for i in range(n):
            c = (<uint16_t *>data)[i]
            bad |= 0xD800 <= c < 0xE000
            p += utf8_encode(c, p)
    else:
        for i in range(n):
            c = (<uint32_t *>data)[i]
            bad |= 0xD800 <= c < 0xE000
            p += utf8_encode(c, p)
    if bad:
        text.encode("utf-8")  # raises the UnicodeEncodeError that names the position
        return -1
    b.size = p - b.data
    return 0


cdef const uint8_t *utf8_view(str text, ByteBuffer *b, int64_t *size) except NULL:
    """The UTF-8 of a str: its own memory where that is ASCII, else written into `b`, whose former content is dropped."""
    if PyUnicode_IS_COMPACT_ASCII(text):
        size[0] = PyUnicode_GET_LENGTH(text)
        return <const uint8_t *>PyUnicode_DATA(text)
    b.size = 0
    append_utf8(b, text)
    size[0] = b.size
    return b.data


cdef bint are_texts(const uint8_t *text, const int64_t *offsets, int64_t n) noexcept nogil:
    cdef int64_t i, size = offsets[n]
    if utf8_valid_prefix(text, size) != size:
        return False
    for i in range(n):
        if offsets[i] < size and text[offsets[i]] & 0xC0 == 0x80:
            return False             # two halves that make a character together
    return True


cdef str text_of(const uint8_t *p, int64_t n):
    cdef str result
    cdef uint8_t high = 0
    cdef uint32_t most = 0, cp
    cdef int64_t i, count = 0
    cdef int length = 0, kind
    cdef void *data
    if n < 2:
        return PyUnicode_DecodeUTF8(<const char *>p, n, NULL)      # Python has them already
    for i in range(n):
        high |= p[i]
    if high < 0x80:
        result = PyUnicode_New(n, 127)
        memcpy(PyUnicode_DATA(result), p, <size_t>n)
        return result
    i = 0
    while i < n:
        cp = utf8_decode(p + i, &length)
        most = cp if cp > most else most
        i += length
        count += 1
    # A str has the narrowest characters that hold it.
    result = PyUnicode_New(count, most)
    data = PyUnicode_DATA(result)
    kind = PyUnicode_KIND(result)
    i = count = 0
    while i < n:
        cp = utf8_decode(p + i, &length)
        if kind == 1:
            (<uint8_t *>data)[count] = <uint8_t>cp
        elif kind == 2:
            (<uint16_t *>data)[count] = <uint16_t>cp
        else:
            (<uint32_t *>data)[count] = cp
        i += length
        count += 1
    return result


cdef class VocabMap:
    def __cinit__(self):
        memset(&self.table, 0, sizeof(VocabTable))

    def __dealloc__(self):
        if self.borrowed:
            return
        free(self.table.text.data)
        free(self.table.offsets)
        free(self.table.ids)
        free(self.table.slots)

    def __init__(self, dict vocab not None):
        """Read a dict of str -> int. Raises TypeError for other types, OverflowError for an id outside 0..2**32 - 1,
        UnicodeEncodeError for a lone surrogate, MemoryError."""
        cdef VocabTable *t = &self.table
        cdef int64_t n = len(vocab)
        cdef int64_t i = 0
        cdef uint64_t slots = 16
        if t.slots != NULL:
            raise RuntimeError("a VocabMap is filled once, when it is made")
        if n >= 0xFFFFFFFF:
            raise OverflowError("a vocabulary holds fewer than 2**32 - 1 strings")
        while slots < <uint64_t>n * 3 // 2:
            slots *= 2
        t.offsets = <int64_t *>malloc(<size_t>(n + 1) * sizeof(int64_t))
        t.ids = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
        t.slots = <uint64_t *>calloc(<size_t>slots, sizeof(uint64_t))
        if t.offsets == NULL or t.ids == NULL or t.slots == NULL:
            raise MemoryError("out of memory while reading the vocabulary")
        t.mask = slots - 1
        t.seed = PROCESS_SEED
        buffer_reserve(&t.text, n * 8)
        for key, value in vocab.items():
            if i >= n:
                raise RuntimeError("the vocabulary changed while it was read")
            if type(key) is not str and not isinstance(key, str):
                raise TypeError(f"a vocabulary maps str to int, not {type(key).__name__} to int")
            t.offsets[i] = t.text.size
            append_utf8(&t.text, <str>key)
            t.ids[i] = value
            if t.ids[i] > self.max_id:
                self.max_id = t.ids[i]
            i += 1
        t.offsets[i] = t.text.size
        t.size = i
        # The keys of a dict differ, and so do their encodings: no comparison is needed while the table is filled.
        self.fill_slots(False)
        self.unique_ids = self._ids_differ()

    @staticmethod
    cdef VocabMap of_texts(ByteBuffer text, int64_t *offsets, uint32_t *ids, int64_t n):
        """The map of n strings, one after the other in `text`, with room for n + 1 offsets; takes all three over. None where
        a string comes twice."""
        cdef VocabMap self = VocabMap.__new__(VocabMap)
        cdef VocabTable *t = &self.table
        cdef uint64_t slots = 16
        cdef int64_t i
        t.text = text
        t.offsets = offsets
        t.ids = ids
        while slots < <uint64_t>n * 3 // 2:
            slots *= 2
        t.slots = <uint64_t *>calloc(<size_t>slots, sizeof(uint64_t))
        if t.slots == NULL:
            raise MemoryError("out of memory while reading the vocabulary")
        t.mask = slots - 1
        t.seed = PROCESS_SEED
        t.size = n
        self.in_order = True
        for i in range(n):
            self.in_order &= ids[i] == <uint32_t>i
            if ids[i] > self.max_id:
                self.max_id = ids[i]
        if not self.fill_slots(True):
            return None
        self.unique_ids = self.in_order or self._ids_differ()
        return self

    cdef bint fill_slots(self, bint compare) noexcept:
        """Put every string in its slot. compare: False where two strings are equal."""
        cdef VocabTable *t = &self.table
        cdef int64_t i, length, other
        cdef uint64_t h, k
        cdef const uint8_t *p
        for i in range(t.size):
            p = t.text.data + t.offsets[i]
            length = t.offsets[i + 1] - t.offsets[i]
            if length > t.longest:
                t.longest = length
            h = hash_bytes(p, length, t.seed)
            k = h & t.mask
            while t.slots[k] != 0:
                if compare and t.slots[k] >> 32 == h >> 32:
                    other = <int64_t>(t.slots[k] & 0xFFFFFFFFu) - 1
                    if (t.offsets[other + 1] - t.offsets[other] == length
                            and bytes_differ(t.text.data + t.offsets[other], p, <size_t>length) == 0):
                        return False
                k = (k + 1) & t.mask
            t.slots[k] = (h >> 32 << 32) | <uint64_t>(i + 1)
        return True

    cdef bint _ids_differ(self) except -1:
        cdef VocabTable *t = &self.table
        cdef int64_t i
        cdef uint8_t *seen
        cdef uint32_t id
        cdef bint differ = True
        if <int64_t>self.max_id >= 16 * t.size + 1024:  # sparse ids: a bitmap would be mostly air
            return len({t.ids[i] for i in range(t.size)}) == t.size
        seen = <uint8_t *>calloc(<size_t>(self.max_id >> 3) + 1, 1)
        if seen == NULL:
            raise MemoryError("out of memory while reading the vocabulary")
        for i in range(t.size):
            id = t.ids[i]
            if seen[id >> 3] >> (id & 7) & 1:
                differ = False
                break
            seen[id >> 3] |= 1 << (id & 7)
        free(seen)
        return differ

    # ---- as a part of a block ------------------------------------------------------------------------------------------

    def sections(self):
        """The arrays by name (see stored). The seed of the hash is kept with them: it was drawn at random and is known to
        nobody who writes vocabularies."""
        cdef const VocabTable *t = &self.table
        numbers = array("Q", [t.size, t.mask, t.seed, t.longest, self.max_id, self.unique_ids])
        return {
            "vocab.numbers": numbers.tobytes(),
            "vocab.text": view(t.text.data, t.text.size),
            "vocab.offsets": view(t.offsets, (t.size + 1) * sizeof(int64_t)),
            "vocab.ids": view(t.ids, t.size * sizeof(uint32_t)),
            "vocab.slots": view(t.slots, <int64_t>(t.mask + 1) * sizeof(uint64_t)),
        }

    @staticmethod
    def of_block(Block block not None):
        """The map over the arrays of a block. StoredError where they are damaged."""
        cdef VocabMap self = VocabMap.__new__(VocabMap)
        cdef VocabTable *t = &self.table
        cdef const uint64_t *numbers = <const uint64_t *>block.exactly("vocab.numbers", 8, 6)
        cdef int64_t n, i, free_slots
        cdef uint32_t max_id
        cdef bint good
        self.block = block
        self.borrowed = True
        demand(numbers[0] < 0xFFFFFFFF and numbers[1] < <uint64_t>1 << 40 and numbers[4] <= 0xFFFFFFFF)
        t.size = n = <int64_t>numbers[0]
        t.mask = numbers[1]
        t.seed = numbers[2]
        t.longest = <int64_t>numbers[3]
        self.max_id = <uint32_t>numbers[4]
        self.unique_ids = numbers[5] == 1
        demand(t.mask & (t.mask + 1) == 0)
        t.text.data = <uint8_t *>block.array("vocab.text", 1, &t.text.size)
        t.offsets = <int64_t *>block.exactly("vocab.offsets", sizeof(int64_t), n + 1)
        t.ids = <uint32_t *>block.exactly("vocab.ids", sizeof(uint32_t), n)
        t.slots = <uint64_t *>block.exactly("vocab.slots", sizeof(uint64_t), <int64_t>t.mask + 1)
        with nogil:
            good = t.offsets[0] == 0 and t.offsets[n] == t.text.size
            if t.longest > t.text.size or not ht_check_offsets(t.offsets, n, t.longest):
                good = False
            max_id = ht_greatest(t.ids, n)
            self.in_order = ht_counts_up(t.ids, n, 0)
            free_slots = ht_check_entries(t.slots, <int64_t>t.mask + 1, n)
        demand(good and max_id == self.max_id and free_slots == <int64_t>t.mask + 1 - n)
        demand(free_slots > 0)
        # The hash of today gives the places of then.
        for i in range(0, n, n // 64 + 1):
            demand(vocab_entry(t, t.text.data + t.offsets[i], t.offsets[i + 1] - t.offsets[i]) == i)
        return self

    cdef str text(self, int64_t entry):
        cdef const VocabTable *t = &self.table
        try:
            return PyUnicode_DecodeUTF8(
                <char *>t.text.data + t.offsets[entry], t.offsets[entry + 1] - t.offsets[entry], NULL)
        except UnicodeDecodeError:
            demand(False)

    def to_dict(self):
        """The vocabulary as it was read: str -> id, in its order. StoredError where a text is not UTF-8."""
        cdef const VocabTable *t = &self.table
        cdef int64_t i
        cdef dict result = {}
        if self.borrowed:
            demand(are_texts(t.text.data, t.offsets, t.size))
        for i in range(t.size):
            PyDict_SetItem(result, text_of(t.text.data + t.offsets[i], t.offsets[i + 1] - t.offsets[i]), t.ids[i])
        return result

    def __len__(self):
        return self.table.size

    def get(self, str text not None):
        """Id of a string, or None."""
        cdef ByteBuffer b
        cdef int64_t n = 0, id
        cdef const uint8_t *p
        b.data = NULL
        b.size = b.capacity = 0
        try:
            p = utf8_view(text, &b, &n)
            id = vocab_find(&self.table, p, n)
        finally:
            free(b.data)
        return None if id < 0 else id
