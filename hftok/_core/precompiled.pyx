"""The Precompiled normalizer: a character map as SentencePiece compiles it.

Rules: normalizers/precompiled.rs and crate spm_precompiled. The map is a double-array trie over bytes and a blob of
NUL-terminated replacements. A grapheme cluster of fewer than six bytes is looked up as a whole, and what counts is the
*first, shortest* prefix of it that the trie holds: the whole cluster becomes its replacement. Otherwise each character is
looked up alone. Text in which nothing is found is left alone; otherwise the changes are attributed as `replace` there
does, including a replacement by nothing, which is booked on the character written before it or, at the start, nowhere.

Left to others: cluster boundaries (unicode), alignment (normalized).
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from hftok._core.normalized cimport PT_PANIC, PreTokenized, Split, ns_transform, pt_push_change
from hftok._core.text cimport utf8_decode, utf8_len
from hftok._core.unicode cimport uc_grapheme_start

cdef enum:
    FOUND = 1
    BROKEN = -1         # the reference would index past the trie or cut a character: it panics


cdef class Charsmap:
    """A compiled character map.

    Args:
        data: the bytes of `precompiled_charsmap`: the trie's size in bytes (32 bits, little endian), the trie, the rest.

    Raises:
        ValueError: not a character map.
    """

    def __cinit__(self, *args):
        self.trie = NULL

    def __init__(self, bytes data not None):
        cdef int64_t size = len(data), n, i
        cdef const uint8_t *p = data
        n = (p[0] | p[1] << 8 | p[2] << 16 | <uint32_t>p[3] << 24) // 4 if size >= 4 else -1
        if n < 0 or 4 + 4 * n > size:
            raise ValueError("Cannot parse precompiled_charsmap: it is shorter than its header says")
        self._replacements = data[4 + 4 * n:]
        try:
            self._replacements.decode("utf-8")
        except UnicodeDecodeError:
            raise ValueError("Cannot parse precompiled_charsmap: its replacements are not valid UTF-8") from None
        self.trie = <uint32_t *>malloc(<size_t>(n + 1) * sizeof(uint32_t))
        if self.trie == NULL:
            raise MemoryError("out of memory while reading a character map")
        for i in range(n):
            self.trie[i] = (
                p[4 + 4 * i] | p[5 + 4 * i] << 8 | p[6 + 4 * i] << 16 | <uint32_t>p[7 + 4 * i] << 24
            )
        self.trie_size = n
        self.replacements_size = len(self._replacements)
        self.replacements = self._replacements
        cdef int64_t first, last
        cdef uint8_t c
        for i in range(128):
            c = <uint8_t>i
            # CR joins LF; a lookup that fails outright is left to the slow way, which reports it.
            self.settled[i] = i != 13 and self.find(&c, 1, &first, &last) == 0
        for i in range(128, 256):
            self.settled[i] = 0

    def __dealloc__(self):
        free(self.trie)

    cdef int find(self, const uint8_t *text, int64_t size, int64_t *start, int64_t *end) noexcept nogil:
        """The replacement [start, end) of the shortest prefix of text[:size) in the trie: FOUND, 0 or BROKEN."""
        cdef int64_t node = 0, i, at
        cdef uint32_t unit
        if self.trie_size == 0:
            return BROKEN
        unit = self.trie[0]
        node ^= <int64_t>(unit >> 10) << ((unit & 512) >> 6)
        for i in range(size):
            if text[i] == 0:
                break
            node ^= text[i]
            if node >= self.trie_size:
                return BROKEN
            unit = self.trie[node]
            if unit & (<uint32_t>0x80000000 | 255) != text[i]:
                return 0
            node ^= <int64_t>(unit >> 10) << ((unit & 512) >> 6)
            if unit >> 8 & 1:
                if node >= self.trie_size:
                    return BROKEN
                at = self.trie[node] & <uint32_t>0x7FFFFFFF
                start[0] = at
                while at < self.replacements_size and self.replacements[at]:
                    at += 1
                end[0] = at
                if start[0] > self.replacements_size:
                    return BROKEN
                # A replacement begins and ends between characters.
                if start[0] < self.replacements_size and self.replacements[start[0]] & 0xC0 == 0x80:
                    return BROKEN
                # The reference looks at the whole match of prefixes: one that leaves the trie later panics all the same.
                for i in range(i + 1, size):
                    if text[i] == 0:
                        break
                    node ^= text[i]
                    if node >= self.trie_size:
                        return BROKEN
                    unit = self.trie[node]
                    if unit & (<uint32_t>0x80000000 | 255) != text[i]:
                        break
                    node ^= <int64_t>(unit >> 10) << ((unit & 512) >> 6)
                    if unit >> 8 & 1 and node >= self.trie_size:
                        return BROKEN
                return FOUND
        return 0

    cdef int normalize(self, PreTokenized *p, Split *s) noexcept nogil:
        cdef int64_t i = s.start, end = s.end, next_, k, first, last
        cdef uint32_t state = 0, cp
        cdef int length, found, modified = 0
        cdef const uint8_t *text = p.text
        p.n_changes = 0
        while i < end:
            if state == 0 and self.settled[text[i]] and (i + 1 == end or text[i + 1] < 0x80):
                # A character alone in its cluster that the map leaves alone.
                if pt_push_change(p, text[i], 0):
                    return p.error
                i += 1
                continue
            # One cluster: [i, next_). `state` has seen the character at i already when the previous one was measured.
            cp = utf8_decode(text + i, &length)
            if state == 0:
                uc_grapheme_start(&state, cp)
            next_ = i + length
            while next_ < end:
                cp = utf8_decode(text + next_, &length)
                if uc_grapheme_start(&state, cp):
                    break
                next_ += length
            found = 0
            if next_ - i < 6:
                found = self.find(text + i, next_ - i, &first, &last)
            if found == FOUND:
                modified = 1
                if self.push_replacement(p, i, next_, first, last):
                    return p.error
            else:
                k = i
                while k < next_ and found != BROKEN:
                    cp = utf8_decode(text + k, &length)
                    found = self.find(text + k, length, &first, &last)
                    if found == FOUND:
                        modified = 1
                        if self.push_replacement(p, k, k + length, first, last):
                            return p.error
                    elif found == 0:
                        if pt_push_change(p, cp, 0):
                            return p.error
                    k += length
                if found == BROKEN:
                    p.error = PT_PANIC
                    return p.error
            i = next_
            if i < end and text[i] < 0x80:
                state = 0       # nothing before an ASCII character that begins a cluster matters any more
        if not modified:
            return 0
        return ns_transform(p, s, 0)

    cdef int push_replacement(
        self, PreTokenized *p, int64_t start, int64_t end, int64_t first, int64_t last
    ) noexcept nogil:
        """Changes for old text [start, end) becoming a replacement [first, last)."""
        cdef int64_t old = 0, new = 0, i = first, at
        cdef int length
        cdef uint32_t cp
        for at in range(start, end):
            old += (p.text[at] & 0xC0) != 0x80
        while i < last:
            cp = utf8_decode(self.replacements + i, &length)
            if pt_push_change(p, cp, 0):
                return p.error
            i += length
            new += 1
        if new > old:
            for at in range(p.n_changes - (new - old), p.n_changes):
                p.changes[at].change = 1
        elif new < old and p.n_changes > 0:
            p.changes[p.n_changes - 1].change += <int32_t>(new - old)
        return 0
