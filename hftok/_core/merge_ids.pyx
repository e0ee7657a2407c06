# The merges of a BPE model as ids: which tokens a merge joins, and which token it makes.
#
# The rule (reference: models/bpe/model.rs, BpeBuilder::build): left and right part are tokens, and so is the left
# part with the right one behind it, less the bytes of the continuing subword prefix; of merges of the same two ids
# the last counts, at its own rank. Half a million merges are looked up without an object per string where their texts
# are at hand: a table with short texts inside its slots, and look-ups in batches, so that memory is fetched ahead.
# Left to others: where the texts come from (json_reader), what merging does (models.merges).
import numpy as np

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.long cimport PyLong_CheckExact
from cpython.object cimport PyObject
from libc.stdint cimport UINT32_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

cdef extern from "Python.h":
    object PyUnicode_Concat(object left, object right)
    unsigned long long PyLong_AsUnsignedLongLong(object value) except? <unsigned long long>-1
    long long PyLong_AsLongLongAndOverflow(object value, int *overflow) except? -1

cdef extern from *:
    """
    #if defined(_MSC_VER) && !defined(__clang__)
    #define __builtin_prefetch(address) ((void)0)
    #endif
    """
    void __builtin_prefetch(const void *address) noexcept nogil

cdef enum:
    BATCH = 32                 # look-ups in flight

cdef struct Slot:
    # The token's text where it has at most 8 bytes, else where it starts: most look-ups touch this one line of memory.
    uint64_t head
    uint32_t id
    uint16_t tag
    uint16_t size              # 0: free


class MergeIds:
    """The merges of a BPE model as ids: `rows` is a uint32 array (n, 3) of left id, right id and id of the merged
    token, by rising rank, no two rows with the same pair; `vocab` is the dict that the ids are from."""

    __slots__ = ("rows", "vocab")

    def __init__(self, rows, vocab):
        self.rows = rows
        self.vocab = vocab


def first_bad_id(dict vocab not None):
    """The first key of a JSON object whose value is not an integer in [0, 2^32), or None."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t position = 0
    cdef int overflow
    cdef long long n
    while PyDict_Next(vocab, &position, &key, &value):
        if not PyLong_CheckExact(<object>value):
            return <object>key
        n = PyLong_AsLongLongAndOverflow(<object>value, &overflow)
        if overflow or not 0 <= n <= UINT32_MAX:
            return <object>key
    return None


class MergeError(Exception):
    """A merge that the vocabulary cannot serve: a part, or the whole, is not in it."""


class MergePanic(MergeError):
    """One of those where the reference panics: the whole is longer than any token, or a part shorter than the prefix.
    """


def resolve_merges(dict vocab not None, list merges not None, Py_ssize_t prefix_size):
    """Merges as ids.

    Args:
        vocab: token -> id.
        merges: list of pairs of strings.
        prefix_size: bytes that the right part loses when it is joined to the left one (the continuing subword prefix).

    Returns:
        uint32 array of shape (n, 3): left id, right id, id of the merged token, by rising rank. Of merges with the
        same two ids only the last is kept, at its own rank (BpeBuilder::build collects them into a map).

    Raises:
        MergeError: "Token `x` out of vocabulary"; a MergePanic where the reference panics.
    """
    cdef Py_ssize_t i, n = len(merges)
    cdef uint32_t left, right, merged
    result = np.empty((n, 3), dtype=np.uint32)
    cdef uint32_t[:, ::1] out = result
    for i in range(n):
        a, b = merges[i]
        left = _id_of(vocab, a)
        right = _id_of(vocab, b)
        if prefix_size == 0:
            whole = PyUnicode_Concat(a, b)
        else:
            tail = (<str>b).encode()
            if len(tail) < prefix_size:
                raise MergePanic(f"the merge of `{a}` and `{b}` does not carry the continuing subword prefix")
            # A cut inside a character gives bytes that no token has.
            whole = (<str>a).encode() + tail[prefix_size:]
            try:
                whole = whole.decode()
            except UnicodeDecodeError:
                raise MergeError(f"Token `{whole.decode('utf-8', 'replace')}` out of vocabulary") from None
        if whole not in vocab and len(whole.encode()) > max(len(token.encode()) for token in vocab):
            raise MergePanic(f"Token `{whole}` out of vocabulary")
        merged = _id_of(vocab, whole)
        out[i, 0] = left
        out[i, 1] = right
        out[i, 2] = merged
    return last_of_each_pair(result, out)


cdef uint32_t _id_of(dict vocab, object token) except? 0xFFFFFFFF:
    cdef PyObject *found = PyDict_GetItemWithError(vocab, token)
    if found == NULL:
        raise MergeError(f"Token `{token}` out of vocabulary")
    return <uint32_t>PyLong_AsUnsignedLongLong(<object>found)


def last_of_pairs(rows not None):
    """Rows as in MergeIds without those whose pair comes again later."""
    return last_of_each_pair(rows, rows)


cdef object last_of_each_pair(result, uint32_t[:, ::1] rows):
    cdef int64_t n = rows.shape[0], i
    cdef uint64_t mask = 1, h
    cdef int64_t *slot
    while mask < <uint64_t>n * 2:
        mask *= 2
    slot = <int64_t *>malloc(<size_t>mask * sizeof(int64_t))
    if slot == NULL:
        raise MemoryError("out of memory while reading merges")
    memset(slot, 0xFF, <size_t>mask * sizeof(int64_t))
    mask -= 1
    repeated = None
    for i in range(n - 1, -1, -1):
        h = ((<uint64_t>rows[i, 0] << 32) | rows[i, 1]) * 0x9E3779B97F4A7C15ULL
        h = (h ^ (h >> 32)) & mask
        while slot[h] >= 0 and (rows[slot[h], 0] != rows[i, 0] or rows[slot[h], 1] != rows[i, 1]):
            h = (h + 1) & mask
        if slot[h] >= 0:
            if repeated is None:
                repeated = []
            repeated.append(i)
        else:
            slot[h] = i
    free(slot)
    return result if repeated is None else np.delete(result, repeated, axis=0)


cdef inline uint64_t hash_text(const uint8_t *text, uint32_t size, uint64_t *head) noexcept nogil:
    """Hash of a text; `head` gets its first 8 bytes, zeros after the end."""
    cdef uint64_t h = <uint64_t>size * 0x9E3779B97F4A7C15ULL, w = 0
    cdef uint32_t i = 8
    memcpy(&w, text, min(size, <uint32_t>8))
    head[0] = w
    h = (h ^ w) * 0xD6E8FEB86659FD93ULL
    h ^= h >> 32
    while i < size:
        w = 0
        memcpy(&w, text + i, min(size - i, <uint32_t>8))
        h = (h ^ w) * 0xD6E8FEB86659FD93ULL
        h ^= h >> 32
        i += 8
    return h * 0x9E3779B97F4A7C15ULL


cdef bint resolve_texts(
    const uint8_t *data,
    const VocabEntry *entries,
    int64_t entry_count,
    const RawMerge *raw,
    int64_t n,
    uint32_t[:, ::1] rows,
) except -1:
    """The ids of merges that are told by where their texts lie in `data`, into `rows`; False where a part, or a whole,
    is not an entry by its text, or is empty or longer than 65535 bytes. The texts of the entries must be distinct."""
    cdef uint64_t capacity = 1024, mask, h
    cdef Slot *slots
    cdef Slot slot
    cdef int64_t i, j, k, batch
    cdef int part
    cdef uint64_t[3 * BATCH] hashes
    cdef uint64_t[3 * BATCH] heads
    cdef uint32_t[3 * BATCH] sizes
    cdef uint8_t *whole
    cdef bint found = True
    cdef RawMerge m
    cdef int64_t longest = 0
    while capacity < 2 * <uint64_t>entry_count:
        capacity *= 2
    mask = capacity - 1
    for i in range(n):
        longest = max(longest, <int64_t>raw[i].left_size + raw[i].right_size)
    if longest > 0xFFFF:
        return False
    slots = <Slot *>calloc(<size_t>capacity, sizeof(Slot))
    whole = <uint8_t *>malloc(<size_t>(longest + 8) * BATCH)
    if slots == NULL or whole == NULL:
        free(slots)
        free(whole)
        raise MemoryError("out of memory while reading merges")
    with nogil:
        for i in range(entry_count):
            if entries[i].size == 0:
                continue  # a merge with an empty part goes the general way
            h = hash_text(data + entries[i].start, entries[i].size, &slot.head)
            slot.tag = <uint16_t>(h >> 48)
            slot.size = <uint16_t>entries[i].size
            slot.id = entries[i].id
            if slot.size > 8:
                slot.head = entries[i].start
            h &= mask
            while slots[h].size:
                h = (h + 1) & mask
            slots[h] = slot
        i = 0
        while i < n and found:
            batch = min(<int64_t>BATCH, n - i)
            for j in range(batch):
                m = raw[i + j]
                if m.left_size == 0 or m.right_size == 0:
                    found = False
                memcpy(whole + j * longest, data + m.left, m.left_size)
                memcpy(whole + j * longest + m.left_size, data + m.right, m.right_size)
                sizes[3 * j] = m.left_size
                sizes[3 * j + 1] = m.right_size
                sizes[3 * j + 2] = m.left_size + m.right_size
                hashes[3 * j] = hash_text(data + m.left, m.left_size, &heads[3 * j])
                hashes[3 * j + 1] = hash_text(data + m.right, m.right_size, &heads[3 * j + 1])
                hashes[3 * j + 2] = hash_text(whole + j * longest, sizes[3 * j + 2], &heads[3 * j + 2])
                for part in range(3):
                    __builtin_prefetch(slots + (hashes[3 * j + part] & mask))
            for j in range(batch):
                m = raw[i + j]
                for part in range(3):
                    k = 3 * j + part
                    h = hashes[k] & mask
                    while slots[h].size:
                        slot = slots[h]
                        if slot.size == sizes[k] and slot.tag == <uint16_t>(hashes[k] >> 48):
                            if slot.size <= 8:
                                if slot.head == heads[k]:
                                    break
                            elif memcmp(
                                data + slot.head,
                                data + m.left if part == 0 else data + m.right if part == 1
                                else whole + j * longest,
                                slot.size,
                            ) == 0:
                                break
                        h = (h + 1) & mask
                    if slots[h].size == 0:
                        found = False
                        break
                    rows[i + j, part] = slots[h].id
            i += batch
    free(slots)
    free(whole)
    return found
