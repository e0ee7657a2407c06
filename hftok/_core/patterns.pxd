# Patterns of Split, Replace and NormalizedString.split: where they match. Programs are immutable and run without the GIL,
# with the document's own scratch (PreTokenized.stack) for memory.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from hftok._core.normalized cimport PreTokenized, Split

cdef struct Insn:
    int32_t op
    int32_t a
    int32_t b
    int32_t c
    int32_t d

cdef struct Frame:              # a choice to take up again, or a register to restore
    int64_t pos
    int64_t extra
    int32_t pc
    int32_t kind

cdef struct CharClass:
    uint8_t ascii[128]
    uint16_t pages[0x1100]      # block of each 256 code points
    const uint8_t *blocks       # 32 bytes each

cdef class Pattern:
    """A compiled pattern. kind "String": the literal text (an empty one matches between all characters, as the regex
    engine has it); kind "Regex": Oniguruma syntax."""
    cdef readonly str kind
    cdef readonly str pattern
    cdef bytes _literal
    cdef const uint8_t *literal     # of _literal; NULL for a regular expression
    cdef int64_t literal_size
    cdef Insn *code
    cdef CharClass *classes
    cdef uint8_t *blocks
    cdef uint8_t *literals
    cdef bytes _required
    cdef const uint8_t *required    # of _required: what every match holds
    cdef int64_t required_size
    cdef uint8_t (*byte_sets)[256]
    cdef uint32_t (*tables)[257]
    cdef int32_t *branches
    cdef int32_t n_registers
    cdef int32_t keep
    cdef int32_t first
    cdef int has_undo
    cdef int ready                  # compiled; a pattern known to be sound is compiled when it is first looked for
    cdef int compile_now(self) noexcept with gil
    cdef void take_over(self, Pattern other) noexcept
    cdef load(self, program)
    cdef int64_t search(self, PreTokenized *p, const uint8_t *text, int64_t size, int64_t at, int64_t *start) noexcept nogil
    cdef int64_t run(
        self, PreTokenized *p, const uint8_t *text, int64_t size, int64_t start, int64_t search_start, int64_t *begin
    ) noexcept nogil
    cdef int64_t cut(self, Frame *frames, int64_t mark, int64_t depth) noexcept nogil
    # Pattern::find_matches over the split's text: p.matches covers it.
    cdef int match(self, PreTokenized *p, const Split *s) noexcept nogil
