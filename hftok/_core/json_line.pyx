"""The string under one key of an object that is one line of JSON, found without making anything.

The grammar is that of RFC 8259, with NaN and Infinity as Python's json reads them; of equal keys the last counts. Escaped
surrogates that do not pair read as U+FFFD, as invalid UTF-8 does.
Left to others: lines, and what is done with the text (files.pyx).
"""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy

from hftok._core.json_text cimport NO_ESCAPE, escaped as escaped_character, hex4, plain_end
from hftok._core.text cimport utf8_encode

cdef enum:
    MAX_DEPTH = 512


cdef void json_blanks(Line *l) noexcept nogil:
    while l.p < l.end and (l.p[0] == 32 or 9 <= l.p[0] <= 10 or l.p[0] == 13):
        l.p += 1


cdef bint _string(Line *l, const uint8_t **text, int64_t *size, bint *escaped) noexcept nogil:
    """A string, from its opening quote on."""
    cdef uint64_t high = 0
    escaped[0] = False
    if l.p >= l.end or l.p[0] != 34:
        l.error = "expected a string"
        return False
    l.p += 1
    text[0] = l.p
    while l.p < l.end:
        l.p = plain_end(l.p, l.end, &high)
        if l.p == l.end:
            break
        if l.p[0] == 34:
            size[0] = l.p - text[0]
            l.p += 1
            return True
        if l.p[0] == 92:
            escaped[0] = True
            l.p += 1
            if l.p >= l.end:
                break
            if l.p[0] == 117:
                if l.end - l.p < 5 or hex4(l.p + 1) < 0:
                    l.error = "invalid \\u escape"
                    return False
                l.p += 5
                continue
            if escaped_character(l.p[0]) == NO_ESCAPE:
                l.error = "invalid escape"
                return False
        else:
            l.error = "control character in a string"
            return False
        l.p += 1
    l.error = "unterminated string"
    return False


cdef bint _is_number(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The JSON grammar of numbers."""
    if p < end and p[0] == 45:
        p += 1
    if p >= end or not 48 <= p[0] <= 57:
        return False
    if p[0] == 48:
        p += 1
    else:
        while p < end and 48 <= p[0] <= 57:
            p += 1
    if p < end and p[0] == 46:
        p += 1
        if p >= end or not 48 <= p[0] <= 57:
            return False
        while p < end and 48 <= p[0] <= 57:
            p += 1
    if p < end and (p[0] | 32) == 101:
        p += 1
        if p < end and (p[0] == 43 or p[0] == 45):
            p += 1
        if p >= end or not 48 <= p[0] <= 57:
            return False
        while p < end and 48 <= p[0] <= 57:
            p += 1
    return p == end


cdef bint _scalar(Line *l) noexcept nogil:
    """A number, true, false or null (NaN and Infinity too, as Python's json reads them)."""
    cdef const uint8_t *start = l.p
    while l.p < l.end and (48 <= l.p[0] <= 57 or 65 <= (l.p[0] & 0xDF) <= 90 or l.p[0] == 43 or l.p[0] == 45 or l.p[0] == 46):
        l.p += 1
    if l.p == start:
        l.error = "expected a value"
        return False
    if 48 <= start[0] <= 57 or start[0] == 45:
        if _is_number(start, l.p) or (l.p - start == 9 and memcmp(start, b"-Infinity", 9) == 0):
            return True
        l.p = start
        l.error = "invalid number"
        return False
    if (l.p - start == 4 and (memcmp(start, b"true", 4) == 0 or memcmp(start, b"null", 4) == 0)) or (
            l.p - start == 5 and memcmp(start, b"false", 5) == 0) or (l.p - start == 3 and memcmp(start, b"NaN", 3) == 0) or (
            l.p - start == 8 and memcmp(start, b"Infinity", 8) == 0):
        return True
    l.p = start
    l.error = "expected a value"
    return False


cdef void json_line_parse(Line *l, const uint8_t *field, int64_t n) noexcept nogil:
    cdef uint8_t closing[MAX_DEPTH]
    cdef int depth = 0
    cdef const uint8_t *text
    cdef int64_t size
    cdef bint escaped, wanted = False, first
    if l.p[0] != 123:
        l.error = "the line is not a JSON object"
        return
    closing[0] = 125
    depth = 1
    l.p += 1
    first = True
    while depth:
        json_blanks(l)
        if l.p >= l.end:
            l.error = "the line ends inside the object"
            return
        if l.p[0] == closing[depth - 1]:
            # An object or array ends here: straight after its opening or after a value, never after a comma.
            l.p += 1
            depth -= 1
            first = False
            if depth == 0:
                break
            continue
        if not first:
            if l.p[0] != 44:
                l.error = "expected a comma or the end of the object or array"
                return
            l.p += 1
            json_blanks(l)
            if l.p < l.end and l.p[0] == closing[depth - 1]:
                l.error = "a comma before the end of the object or array"
                return
        wanted = False
        if closing[depth - 1] == 125:
            if not _string(l, &text, &size, &escaped):
                return
            if depth == 1:
                wanted = _equal(text, size, escaped, field, n)
            json_blanks(l)
            if l.p >= l.end or l.p[0] != 58:
                l.error = "expected a colon"
                return
            l.p += 1
            json_blanks(l)
        if l.p >= l.end:
            l.error = "the line ends inside the object"
            return
        first = False
        if wanted:
            l.found = NULL           # of equal keys the last counts, whatever its type
        if l.p[0] == 34:
            if not _string(l, &text, &size, &escaped):
                return
            if wanted:
                l.found = text
                l.size = size
                l.escaped = escaped
        elif l.p[0] == 123 or l.p[0] == 91:
            if depth == MAX_DEPTH:
                l.error = "objects and arrays are nested too deeply"
                return
            closing[depth] = l.p[0] + 2
            depth += 1
            l.p += 1
            first = True
        elif not _scalar(l):
            return
    json_blanks(l)
    if l.p < l.end:
        l.error = "text after the object"


cdef bint _equal(const uint8_t *text, int64_t size, bint escaped, const uint8_t *field, int64_t n) noexcept nogil:
    """Whether a key is the wanted field."""
    cdef uint8_t *p
    cdef bint same
    if not escaped:
        return size == n and memcmp(text, field, <size_t>n) == 0
    p = <uint8_t *>malloc(<size_t>size + 4)
    if p == NULL:
        return False
    same = json_unescape(text, size, p) == n and memcmp(p, field, <size_t>n) == 0
    free(p)
    return same


cdef int64_t json_unescape(const uint8_t *text, int64_t size, uint8_t *out) noexcept nogil:
    cdef int64_t i = 0, n
    cdef uint8_t *o = out
    cdef const uint8_t *slash
    cdef uint8_t c
    cdef uint32_t cp, low
    while i < size:
        slash = <const uint8_t *>memchr(text + i, 92, <size_t>(size - i))
        n = (size if slash == NULL else slash - text) - i
        memcpy(o, text + i, <size_t>n)
        o += n
        i += n + 2
        if slash == NULL:
            break
        c = slash[1]
        if c != 117:
            o[0] = escaped_character(c)
            o += 1
            continue
        cp = <uint32_t>hex4(text + i)
        i += 4
        if 0xD800 <= cp < 0xDC00 and i + 6 <= size and text[i] == 92 and text[i + 1] == 117:
            low = <uint32_t>hex4(text + i + 2)
            if 0xDC00 <= low < 0xE000:
                cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00)
                i += 6
        if 0xD800 <= cp < 0xE000:
            cp = 0xFFFD
        o += utf8_encode(cp, o)
    return o - out
