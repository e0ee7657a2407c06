# Scanners of the regular expressions that byte-level BPE tokenizers pre-tokenize with: where the chunks of a text begin.
# Compiled once per CPU tier. A family is a pattern, or a sequence of pre-tokenizers, that cuts a text into pieces without
# loss; its file in families/ states the rule. `recognise` (recognise.py) tells which family a pre-tokenizer is of.
#
# Each family has two forms. The plain one, next_FAMILY, goes from one boundary to the next, character by character, in the
# order of the pattern's alternatives: the definition, which tests compare with the reference. The other, scan_FAMILY, takes
# 64 bytes at a time as masks of classes (classes.h), from which shifts give the boundaries; where a block alone does not
# settle them, it goes on by the plain form. In all families, what follows a boundary depends on nothing before it, so that
# blocks may begin anew at any boundary.
#
# What a chunk becomes is left to others, as are normalization, added tokens and the mapping of bytes to characters.
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

include "families/classes.pxi"
include "families/gpt2.pxi"
include "families/cl100k.pxi"
include "families/o200k.pxi"
include "families/deepseek.pxi"
include "families/bloom.pxi"
include "families/falcon.pxi"

# int64_t scan(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts)
#
# text[0:size] is valid UTF-8, the whole of what the pattern is matched against; 64 bytes before it and 128 behind it can be
# read. base + the byte position of every chunk's first byte is written to starts, in order, and their number returned; starts
# has room for size + 64 entries. No state, no allocation, no failure.
ctypedef int64_t (*scan_fn)(const uint8_t *text, int64_t size, uint32_t base, uint32_t *starts) noexcept nogil

cdef struct Family:
    const char *name
    scan_fn scan
    next_fn next

cdef Family families[24]
cdef int n_families = 0


cdef void add(const char *name, scan_fn scan, next_fn next) noexcept:
    global n_families
    families[n_families].name = name
    families[n_families].scan = scan
    families[n_families].next = next
    n_families += 1


add("gpt2", scan_gpt2, next_gpt2)
add("gpt2_digits", scan_gpt2_digits, next_gpt2_digits)
add("cl100k", scan_cl100k, next_cl100k)
add("cl100k_end", scan_cl100k_end, next_cl100k_end)
add("nanochat", scan_nanochat, next_nanochat)
add("qwen2", scan_qwen2, next_qwen2)
add("qwen3_5", scan_qwen3_5, next_qwen3_5)
add("seed_coder", scan_seed_coder, next_seed_coder)
add("o200k", scan_o200k, next_o200k)
add("tekken", scan_tekken, next_tekken)
add("kimi_k2", scan_kimi_k2, next_kimi_k2)
add("deepseek_v3", scan_deepseek_v3, next_deepseek_v3)
add("deepseek_coder", scan_deepseek_coder, next_deepseek_coder)
add("bloom", scan_bloom, next_bloom)
add("falcon", scan_falcon, next_falcon)


cdef const Family *family_named(str name) except NULL:
    cdef int i
    for i in range(n_families):
        if families[i].name.decode() == name:
            return &families[i]
    raise ValueError(f"there is no family {name!r}: use one of {', '.join(kernels())}")


def kernels():
    """Addresses of this tier's scan functions: dict of family name (str) to int."""
    cdef int i
    return {families[i].name.decode(): <size_t>families[i].scan for i in range(n_families)}


cdef class Room:
    """A text with what the scanners may read around it, filled with `around` again and again, and room for boundaries."""
    cdef uint8_t *buffer
    cdef uint8_t *text
    cdef uint32_t *starts
    cdef int64_t size

    def __cinit__(self, const uint8_t[::1] data, int alignment, const uint8_t[::1] around):
        cdef int64_t whole, i
        self.size = data.shape[0]
        whole = self.size + 320
        self.buffer = <uint8_t *>malloc(<size_t>whole)
        self.starts = <uint32_t *>malloc(<size_t>(self.size + 64) * sizeof(uint32_t))
        if self.buffer == NULL or self.starts == NULL:
            raise MemoryError("no memory for a text to scan")
        for i in range(whole):
            self.buffer[i] = around[i % around.shape[0]]
        # 64 bytes in front at least, and the text at `alignment` behind a multiple of 64
        i = 64 + (64 - <int64_t>(<size_t>self.buffer & 63)) % 64 + (alignment & 63)
        self.text = self.buffer + i
        for i in range(self.size):
            self.text[i] = data[i]

    def __dealloc__(self):
        free(self.buffer)
        free(self.starts)


def boundaries(str family not None, data, *, alignment=0, around=b"'s \n1\xe2\x80\x83a", plain=False):
    """Where the chunks of a text begin, for tests.

    Args:
        family: name of the family.
        data: the text as UTF-8 (bytes), which must be valid.
        alignment: address of the text modulo 64.
        around: bytes that stand before and behind the text, again and again; they must make no difference.
        plain: by the plain form of the family instead of the blocks.

    Returns:
        byte positions, ascending: list of int, the first 0 unless the text is empty.

    Raises:
        ValueError: no such family, or `around` is empty.
        UnicodeDecodeError: data is not UTF-8.
    """
    cdef const Family *f = family_named(family)
    cdef int64_t n = 0, at = 0
    cdef Room room
    bytes(data).decode("utf-8")
    if not around:
        raise ValueError("there must be at least one byte around the text")
    room = Room(data, alignment, around)
    if plain:
        while at < room.size:
            room.starts[n] = <uint32_t>at
            n += 1
            at = f.next(room.text, room.size, at)
    else:
        n = f.scan(room.text, room.size, 0, room.starts)
    return [room.starts[i] for i in range(n)]


def scan_again(str family not None, data, int64_t times, *, plain=False):
    """Scan a text `times` times and return the number of its chunks: for measurements, which time the call."""
    cdef const Family *f = family_named(family)
    cdef int64_t n = 0, at, i
    cdef bint by_next = plain
    cdef Room room = Room(data, 0, b"\n")
    with nogil:
        for i in range(times):
            if by_next:
                n = at = 0
                while at < room.size:
                    room.starts[n] = <uint32_t>at
                    n += 1
                    at = f.next(room.text, room.size, at)
            else:
                n = f.scan(room.text, room.size, 0, room.starts)
    return n
