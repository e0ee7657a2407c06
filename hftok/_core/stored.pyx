"""Arrays of kernels as one block of memory that is written to a file once and read again by later processes.

A tokenizer's tables take long to make and are quick to read. Kernels that can be stored have `sections()`, their arrays by
name as views of memory, and `of_block(block)`, which makes the same kernel over the arrays of a block without copying them.
Everything that a kernel uses without a check of its own (offsets, indices, sizes of hash tables, a free slot where a search
ends) is checked there: a block of whatever bytes gives the kernel, or StoredError.

`ContentHash` tells contents apart: a universal hash of each 4096 bytes (universal_hash.h), then keyed BLAKE2b of those, so
that whoever does not know the key cannot make two contents with one digest, at the speed of reading memory.

It leaves to others: where files lie and whom to trust (hftok.load_cache), what is in them (hftok.stored_parts).
"""
import hashlib

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from "Python.h":
    object PyMemoryView_FromMemory(char *data, Py_ssize_t size, int flags)
    enum:
        PyBUF_READ
        PyBUF_WRITE

cdef extern from "memory.h" nogil:
    void *ht_aligned(size_t size)
    void ht_aligned_free(void *p)
    void ht_huge(void *p, size_t size)

cdef extern from "universal_hash.h" nogil:
    enum:
        HT_NH_BLOCK
        HT_NH_KEY
    void ht_nh(const uint8_t *p, const uint64_t *key, uint64_t *out)

cdef enum:
    PADDING = 64             # zeros behind the last byte: decoding UTF-8 may look beyond a damaged end
    DIGEST = 32

ALIGNMENT = 64


class StoredError(Exception):
    """A stored block is not what it should be."""


cdef int demand(bint condition) except -1:
    if not condition:
        raise StoredError("damaged")
    return 0


cdef object view(const void *p, int64_t size):
    return PyMemoryView_FromMemory(<char *>p, size, PyBUF_READ) if size else b""


cdef bytes copied(const void *p, int64_t size):
    return (<const char *>p)[:size]


cdef class Block:
    def __cinit__(self, int64_t size):
        if size < 0:
            raise ValueError("a block has no negative size")
        self.size = size
        self.sections = {}
        self.data = <uint8_t *>ht_aligned(<size_t>size + PADDING)
        if self.data == NULL:
            raise MemoryError("no memory for a stored tokenizer")
        ht_huge(self.data, <size_t>size + PADDING)
        memset(self.data + size, 0, PADDING)

    def __dealloc__(self):
        ht_aligned_free(self.data)

    def writable(self):
        """The memory, to be filled before anything is made of it. Valid while the block is."""
        return PyMemoryView_FromMemory(<char *>self.data, self.size, PyBUF_WRITE)

    def set_sections(self, dict sections not None):
        """Say where the arrays lie: name -> (offset, bytes). StoredError where one is not inside the block, or not aligned."""
        cdef int64_t offset, size
        for name, place in sections.items():
            demand(type(place) is list and len(place) == 2 and type(place[0]) is int and type(place[1]) is int)
            demand(0 <= place[0] <= self.size and 0 <= place[1] <= self.size)
            offset, size = place
            demand(offset % ALIGNMENT == 0 and size <= self.size - offset)
        self.sections = sections

    def bytes(self, str name not None):
        """A copy of a section."""
        cdef int64_t count
        cdef char *p = <char *>self.array(name, 1, &count)
        return p[:count]

    cdef void *array(self, str name, int64_t item, int64_t *count) except NULL:
        place = self.sections.get(name)
        demand(place is not None)
        cdef int64_t offset = place[0], size = place[1]
        demand(size % item == 0)
        count[0] = size // item
        return self.data + offset

    cdef void *exactly(self, str name, int64_t item, int64_t count) except NULL:
        cdef int64_t found = 0
        cdef void *p = self.array(name, item, &found)
        demand(found == count)
        return p


cdef class ContentHash:
    """A digest of 32 bytes under a key of 32 bytes.

    Two contents have one digest with a chance below 2**-120, whoever made them, as long as the key was not known to him.

    >>> one, other = ContentHash(bytes(32)), ContentHash(bytes(32))
    >>> one.update(b"text"); other.update(b"test")
    >>> len(one.digest()), one.digest() == other.digest()
    (32, False)
    """
    cdef uint64_t[HT_NH_KEY] key
    cdef object rest                         # the cryptographic hash of the blocks' hashes
    cdef int64_t size
    cdef bint ended

    def __init__(self, bytes key not None):
        if len(key) != 32:
            raise ValueError("the key of a ContentHash has 32 bytes")
        cdef bytes long_key = hashlib.shake_128(b"hftok blocks" + key).digest(8 * HT_NH_KEY)
        memcpy(self.key, PyBytes_AS_STRING(long_key), 8 * HT_NH_KEY)
        self.rest = hashlib.blake2b(b"", digest_size=DIGEST, key=key)
        self.size = 0
        self.ended = False

    def update(self, const uint8_t[::1] data not None):
        """Take in the next part. Only the last one may end inside 4096 bytes (ValueError)."""
        cdef int64_t n = data.shape[0], i, whole = n // HT_NH_BLOCK
        cdef uint8_t[HT_NH_BLOCK] last
        cdef const uint8_t *p
        cdef bytes hashes
        cdef uint64_t *out
        if n == 0:
            return
        if self.ended:
            raise ValueError("only the last part may end inside a block")
        p = &data[0]
        hashes = PyBytes_FromStringAndSize(NULL, 32 * (whole + (n % HT_NH_BLOCK != 0)))
        out = <uint64_t *>PyBytes_AS_STRING(hashes)
        with nogil:
            for i in range(whole):
                ht_nh(p + i * HT_NH_BLOCK, self.key, out + 4 * i)
            if n % HT_NH_BLOCK:
                memset(last, 0, HT_NH_BLOCK)
                memcpy(last, p + whole * HT_NH_BLOCK, <size_t>(n % HT_NH_BLOCK))
                ht_nh(last, self.key, out + 4 * whole)
        self.ended = n % HT_NH_BLOCK != 0
        self.size += n
        self.rest.update(hashes)

    def digest(self):
        """The digest of all parts."""
        rest = self.rest.copy()
        rest.update(int(self.size).to_bytes(8, "little"))
        return rest.digest()
