"""tiktoken's `pat_str` as a Pattern: where it matches in a text.

Rule (fancy-regex, `Matches::next_with`): matches are sought one after the other; an empty one right behind the last match
does not count, and the search goes on one character further. What a pattern means is the business of `rust_regex`, and the
matcher is the one of `patterns`; the reference gives up after a million backtracks or choices on its stack, with an error
in `encode` and a panic elsewhere, and this matcher goes on (see `patterns`).
"""
from libc.stdint cimport int64_t, uint8_t

from hftok._core.normalized cimport PreTokenized, pt_check, pt_free, pt_init
from hftok._core.text cimport utf8_len

from hftok._core import regex_program, rust_regex


cdef class RustPattern(Pattern):
    """A compiled `pat_str`.

    Raises ValueError: not a pattern, or (UnsupportedTokenizerError) one that cannot be reproduced.
    """
    def __init__(self, str pattern not None):
        self.kind = "Rust"
        self.pattern = pattern
        self.load(regex_program.build(rust_regex.parse(pattern)))

    cdef int64_t next(
        self, PreTokenized *p, const uint8_t *text, int64_t size, int64_t at, int64_t last, int64_t *start
    ) noexcept nogil:
        cdef int64_t end
        while at <= size:
            end = self.search(p, text, size, at, start)
            if end < 0 or end > start[0] or end != last:
                return end
            at = end + (utf8_len(text[end]) if end < size else 1)
        return -1

    def spans(self, str text not None):
        """Where the pattern matches, in bytes of UTF-8.

        >>> RustPattern(r"[a-z]++|\\\\s").spans("ab 12 c")
        [(0, 2), (2, 3), (5, 6), (6, 7)]
        """
        cdef bytes data = text.encode("utf-8")
        cdef const uint8_t *bytes_ = data
        cdef int64_t size = len(data), at = 0, last = -1, start = 0, end
        cdef PreTokenized p
        found = []
        pt_init(&p)
        try:
            while True:
                end = self.next(&p, bytes_, size, at, last, &start)
                if end < 0:
                    break
                found.append((start, end))
                last = end
                at = end if end > start else end + (utf8_len(bytes_[end]) if end < size else 1)
            pt_check(p.error)
        finally:
            pt_free(&p)
        return found
