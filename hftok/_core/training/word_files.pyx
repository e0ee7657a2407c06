"""Word counts on disk: saving, loading, merging of sorted files, and counting in bounded memory.

What it does: a file holds the words of a WordCounts in the order of their bytes, each as the number of bytes that it shares with
the word before, the bytes that follow, and its count; then the numbers of words and bytes and a checksum. Files counted
apart are merged word by word in little memory, so many machines can count and one can train, with the result of one count over
everything. SpillingWordCounts does the same with files of its own when its table grows too large.

The reference has nothing like it; its counts live in memory only. Layout, little-endian:

    8 bytes            the name of the format, HFTOKWC1
    4 bytes, n bytes   n, and a label: whatever the writer wants to be known about the words
    per word           shared bytes, further bytes (both LEB128), the further bytes, count (LEB128)
    8 + 8 + 4 bytes    words, bytes of all words, CRC-32 of the records
"""
import os
import struct
import tempfile
import zlib

from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcmp, memcpy

from hftok._core.training.words cimport WordCounts, byte_order

from hftok._core.training.words import check

MAGIC = b"HFTOKWC1"
cdef int64_t BLOCK = 1 << 20
TRAILER = struct.Struct("<QQI")
LABEL_SIZE = struct.Struct("<I")


cdef class Writer:
    """Writes words in ascending order to a temporary file beside the path, which takes its place on `close`."""
    cdef object file, path, temporary
    cdef bytearray buffer
    cdef uint8_t *last
    cdef int64_t last_size, last_capacity
    cdef uint64_t words, size
    cdef unsigned int checksum

    def __init__(self, path, bytes label=b""):
        self.path = os.fspath(path)
        self.temporary = f"{self.path}.{os.urandom(8).hex()}.tmp"
        self.file = open(self.temporary, "xb")
        self.file.write(MAGIC + LABEL_SIZE.pack(len(label)) + label)
        self.buffer = bytearray()

    def __dealloc__(self):
        free(self.last)

    cdef inline void number(self, uint64_t v):
        while v >= 0x80:
            self.buffer.append(<uint8_t>(v & 0x7F | 0x80))
            v >>= 7
        self.buffer.append(<uint8_t>v)

    cdef int write(self, const uint8_t *word, int64_t n, uint64_t count) except -1:
        cdef int64_t shared = 0
        cdef void *grown
        while shared < n and shared < self.last_size and word[shared] == self.last[shared]:
            shared += 1
        self.number(<uint64_t>shared)
        self.number(<uint64_t>(n - shared))
        self.buffer += (<const char *>word)[shared:n]
        self.number(count)
        if n > self.last_capacity:
            grown = realloc(self.last, <size_t>(2 * n))
            if grown == NULL:
                raise MemoryError("out of memory while writing word counts")
            self.last = <uint8_t *>grown
            self.last_capacity = 2 * n
        memcpy(self.last + shared, word + shared, <size_t>(n - shared))
        self.last_size = n
        self.words += 1
        self.size += <uint64_t>n
        if len(self.buffer) >= BLOCK:
            self.flush()
        return 0

    cdef int flush(self) except -1:
        self.checksum = zlib.crc32(self.buffer, self.checksum)
        self.file.write(self.buffer)
        self.buffer = bytearray()
        return 0

    def close(self):
        self.flush()
        self.file.write(TRAILER.pack(self.words, self.size, self.checksum))
        self.file.close()
        os.replace(self.temporary, self.path)

    def abandon(self):
        self.file.close()
        if os.path.exists(self.temporary):
            os.unlink(self.temporary)


cdef class Reader:
    """Reads the words of a file in their order."""
    cdef object file, path
    cdef bytes block
    cdef const uint8_t *p
    cdef int64_t at, end, left          # in the block; bytes of records not yet read
    cdef uint8_t *word
    cdef int64_t size, capacity
    cdef uint64_t count
    cdef readonly uint64_t words, text_size
    cdef readonly bytes label
    cdef uint64_t read_words, read_size
    cdef unsigned int checksum, expected

    def __init__(self, path):
        self.path = os.fspath(path)
        self.file = open(self.path, "rb")
        self.block = b""
        try:
            length = os.fstat(self.file.fileno()).st_size
            start = len(MAGIC) + LABEL_SIZE.size
            if length < start + TRAILER.size or self.file.read(len(MAGIC)) != MAGIC:
                raise ValueError(f"{self.path!r} is not a file of word counts")
            size, = LABEL_SIZE.unpack(self.file.read(LABEL_SIZE.size))
            start += size
            if length < start + TRAILER.size:
                raise self.damaged()
            self.label = self.file.read(size)
            self.file.seek(length - TRAILER.size)
            self.words, self.text_size, self.expected = TRAILER.unpack(self.file.read(TRAILER.size))
            self.left = length - start - TRAILER.size
            self.file.seek(start)
        except BaseException:
            self.file.close()
            raise

    def __dealloc__(self):
        free(self.word)

    def close(self):
        self.file.close()

    cdef object damaged(self):
        return ValueError(f"{self.path!r} is damaged: its word counts do not add up; count again")

    cdef int fill(self) except -1:
        """The next block; the one before must be used up."""
        self.block = self.file.read(min(self.left, BLOCK))
        self.end = len(self.block)
        self.at = 0
        self.p = self.block
        self.left -= self.end
        self.checksum = zlib.crc32(self.block, self.checksum)
        if self.end == 0:
            raise self.damaged()
        return 0

    cdef inline uint64_t number(self) except? 0:
        cdef uint64_t v = 0
        cdef int shift = 0
        cdef uint8_t b
        while True:
            if self.at == self.end:
                self.fill()
            b = self.p[self.at]
            self.at += 1
            if shift == 63 and b > 1:
                raise self.damaged()
            v |= <uint64_t>(b & 0x7F) << shift
            if b < 0x80:
                return v
            shift += 7

    cdef int next(self) except -1:
        """1 with the next word and count, 0 after the last."""
        cdef uint64_t shared, more
        cdef int64_t n, part
        cdef void *grown
        cdef bint greater = False
        if self.read_words == self.words:
            if self.at != self.end or self.left or self.read_size != self.text_size or self.checksum != self.expected:
                raise self.damaged()
            return 0
        shared = self.number()
        more = self.number()
        if shared > <uint64_t>self.size or more == 0 or more > <uint64_t>(self.end - self.at + self.left):
            raise self.damaged()
        n = <int64_t>(shared + more)
        if n > self.capacity:
            grown = realloc(self.word, <size_t>(2 * n))
            if grown == NULL:
                raise MemoryError("out of memory while reading word counts")
            self.word = <uint8_t *>grown
            self.capacity = 2 * n
        n = <int64_t>shared
        while more:
            if self.at == self.end:
                self.fill()
            # The first byte that differs must be greater, or the file is not sorted.
            if n == <int64_t>shared and n < self.size and self.p[self.at] <= self.word[n]:
                raise self.damaged()
            part = min(<int64_t>more, self.end - self.at)
            memcpy(self.word + n, self.p + self.at, <size_t>part)
            self.at += part
            n += part
            more -= <uint64_t>part
        self.size = n
        self.count = self.number()
        self.read_words += 1
        self.read_size += <uint64_t>n
        return 1


cdef inline int order_of(Reader a, Reader b) noexcept:
    cdef int order = memcmp(a.word, b.word, <size_t>min(a.size, b.size))
    return order if order else (a.size > b.size) - (a.size < b.size)


def save_word_counts(WordCounts words not None, path, bytes label=b""):
    """Write word counts to a file, with a label that `read_label` gives back. Raises OSError; the file is there whole or as it was before."""
    cdef int64_t i, k
    cdef int64_t n = words.size
    cdef int64_t *order = <int64_t *>malloc(<size_t>(n + 1) * sizeof(int64_t))
    cdef Writer writer
    cdef int failed
    try:
        failed = -1
        if order != NULL:
            with nogil:
                failed = byte_order(words, order, NULL)
        if failed:
            raise MemoryError("out of memory while sorting words")
        writer = Writer(path, label)
        try:
            for k in range(n):
                i = order[k]
                if words.count[i]:
                    writer.write(words.text + words.offset[i], words.offset[i + 1] - words.offset[i], words.count[i])
            writer.close()
        except BaseException:
            writer.abandon()
            raise
    finally:
        free(order)


def read_label(path):
    """The label of a file of word counts. Raises as load_word_counts does."""
    cdef Reader reader = Reader(path)
    reader.close()
    return reader.label


def load_word_counts(path, min_count=1):
    """The word counts of a file; words that occur less than `min_count` times are left out.

    Raises OSError, and ValueError for a file that is something else or damaged.
    """
    cdef Reader reader = Reader(path)
    cdef WordCounts words = WordCounts()
    cdef uint64_t least = min(max(min_count, 0), UINT64_MAX)
    try:
        if least <= 1:
            read_all(reader, words)
        while reader.next():
            if reader.count >= least:
                check(words.add(reader.word, reader.size, reader.count))
    finally:
        reader.close()
    return words


cdef int read_all(Reader reader, WordCounts words) except -1:
    """Read everything into an empty table. Words of a file are distinct, so none needs to be looked for."""
    cdef int64_t n, capacity
    cdef void *grown
    # A record takes four bytes at least. What is claimed beyond the file's own size is believed as it is read.
    if reader.words > <uint64_t>reader.left // 4:
        raise reader.damaged()
    check(words.reserve_exactly(<int64_t>reader.words, <int64_t>min(reader.text_size, <uint64_t>(4 * reader.left))))
    while reader.next():
        n = words.offset[words.size] + reader.size
        if <uint64_t>n > reader.text_size:
            raise reader.damaged()
        if n > words.text_capacity:
            capacity = <int64_t>min(reader.text_size, <uint64_t>(2 * n))
            grown = realloc(words.text, <size_t>capacity)
            if grown == NULL:
                check(-1)
            words.text = <uint8_t *>grown
            words.text_capacity = capacity
        memcpy(words.text + words.offset[words.size], reader.word, <size_t>reader.size)
        words.count[words.size] = reader.count
        words.size += 1
        words.offset[words.size] = n
    return 0


def merge_word_counts(paths, path, bytes label=b""):
    """Merge files of word counts into one, in memory for a block of each. Its label is `label`.

    Raises OSError, ValueError for a file that is something else or damaged, OverflowError where a count passes 2**64 - 1; `path`
    is then as it was. It may be one of `paths`.
    """
    cdef list heap = []             # of Readers, least word first
    cdef Reader reader, least
    cdef Writer writer
    cdef int64_t i, child, n
    cdef uint64_t count
    readers = []
    writer = Writer(path, label)
    try:
        for name in paths:
            reader = Reader(name)
            readers.append(reader)
            if reader.next():
                heap.append(reader)
        for i in range(len(heap) // 2 - 1, -1, -1):
            sink(heap, i)
        while heap:
            least = heap[0]
            count = least.count
            # All other readers with the same word stand below the first in the heap; take them one after another.
            word = (<char *>least.word)[:least.size]
            advance(heap)
            while heap and same_word(heap[0], word):
                least = heap[0]
                if count > UINT64_MAX - least.count:
                    check(-2)
                count += least.count
                advance(heap)
            writer.write(<const uint8_t *><const char *>word, len(word), count)
        writer.close()
    except BaseException:
        writer.abandon()
        raise
    finally:
        for reader in readers:
            reader.close()


cdef bint same_word(Reader reader, bytes word):
    return reader.size == len(word) and memcmp(reader.word, <const char *>word, <size_t>reader.size) == 0


cdef int advance(list heap) except -1:
    """Move the first reader on, or out."""
    cdef Reader first = heap[0]
    if first.next() == 0:
        last = heap.pop()
        if not heap:
            return 0
        heap[0] = last
    sink(heap, 0)
    return 0


cdef int sink(list heap, int64_t i) except -1:
    cdef int64_t n = len(heap)
    cdef int64_t child
    cdef Reader x = heap[i]
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and order_of(heap[child + 1], heap[child]) < 0:
            child += 1
        if order_of(heap[child], x) >= 0:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = x
    return 0


class SpillingWordCounts:
    """Word counts in bounded memory: count into `counts`, call `spill_if_large` now and then, and `finish` at the end.

    memory_limit  bytes that the table may take before it is written to a file
    directory     where the files go; None: the system's temporary folder. They are removed by `finish` and `close`

    >>> with SpillingWordCounts(memory_limit=1) as spilling:
    ...     for word in ["low", "new", "low"]:
    ...         spilling.counts.add_word(word)
    ...         spilling.spill_if_large()
    ...     counts = spilling.finish()
    >>> counts["low"], len(counts)
    (2, 2)
    """

    def __init__(self, memory_limit, directory=None):
        self.counts = WordCounts()
        self.memory_limit = memory_limit
        self.files = 0
        self._folder = tempfile.TemporaryDirectory(dir=directory, prefix="hftok-words-")

    def _path(self, number):
        return os.path.join(self._folder.name, f"{number}.words")

    def spill(self, counts):
        """Write counts that were made elsewhere to a file; they are part of what `finish` gives."""
        if len(counts):
            save_word_counts(counts, self._path(self.files))
            self.files += 1

    def spill_if_large(self):
        """Write the counts to a file and start anew if they take more memory than the limit."""
        if len(self.counts) and self.counts.nbytes > self.memory_limit:
            self.spill(self.counts)
            self.counts = WordCounts()

    def finish(self, min_count=1):
        """All counts in one WordCounts; words that occur less than `min_count` times are left out."""
        if self.files == 0 and min_count <= 1:
            counts = self.counts
        else:
            save_word_counts(self.counts, self._path(self.files))
            self.counts = WordCounts()
            target = os.path.join(self._folder.name, "all.words")
            merge_word_counts([self._path(i) for i in range(self.files + 1)], target)
            counts = load_word_counts(target, min_count)
        self.close()
        return counts

    def close(self):
        """Remove the files."""
        self._folder.cleanup()
        self.files = 0
        self.counts = WordCounts()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
