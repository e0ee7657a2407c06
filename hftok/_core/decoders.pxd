# Decoders as programs: a flat list of steps over a list of tokens.
from libc.stdint cimport uint8_t, uint64_t

cdef enum StepKind:
    # one token to one token, knowing only whether it is the first or the last
    STEP_WORDPIECE = 0
    STEP_METASPACE = 1
    STEP_REPLACE = 2
    STEP_REPLACE_REGEX = 3
    STEP_BPE = 4
    STEP_STRIP = 5
    STEP_SPACE = 6              # no decoder: a space before every token but the first
    LAST_TOKEN_STEP = 6
    # the whole list
    STEP_BYTE_LEVEL = 7
    STEP_FUSE = 8
    STEP_BYTE_FALLBACK = 9
    STEP_CTC = 10
    STEP_CUSTOM = 11


cdef class Step:
    cdef StepKind kind
    cdef str text, content      # prefix, suffix, pattern, character; what replaces it
    cdef bint flag              # cleanup; whether the first token's replacement characters are dropped
    cdef uint64_t start, stop
    cdef object other           # regex; custom decoder

    # One token through a one-token step.
    cdef str token(self, str token, bint first, bint last)
    cdef list chain(self, list tokens)


cdef class DecoderProgram:
    cdef readonly object spec
    cdef list steps             # Step

    cdef list run(self, list tokens)


cdef str cleanup(str text)
# The value of a byte token ("<0x41>"), or -1.
cdef int byte_token(str token) noexcept
# Append the bytes of a byte-level token.
cdef bytes byte_level_bytes(str token)
cdef bint is_valid_utf8(bytes data)
