# One line of JSON and the string under a key. See json_line.pyx.
from libc.stdint cimport int64_t, uint8_t

cdef struct Line:
    const uint8_t *p
    const uint8_t *end
    const char *error
    const uint8_t *found     # the wanted string: between its quotes, still escaped
    int64_t size
    bint escaped

# Step over blanks.
cdef void json_blanks(Line *l) noexcept nogil
# The line's object; l.found is set if it has a string under the field. On an error l.p is where.
cdef void json_line_parse(Line *l, const uint8_t *field, int64_t n) noexcept nogil
# A JSON string's text (checked by json_line_parse) without escapes; never longer. Returns its size.
cdef int64_t json_unescape(const uint8_t *text, int64_t size, uint8_t *out) noexcept nogil
