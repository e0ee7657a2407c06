"""Patterns: where a literal or a regular expression matches in a text.

Rules: utils/onig.rs and tokenizer/pattern.rs (matches and the stretches between them cover the text; an empty text is one
stretch without a match) and FindMatches of the crate onig (after an empty match right behind the last match the search
starts again one character on). What a pattern means is Oniguruma's business, rebuilt in regex_syntax and regex_program;
here is the matcher: a backtracking machine over UTF-8 whose choices lie on an explicit stack, so that no text makes it
recurse, with single instructions for the repeats of character classes that patterns mostly consist of.

The reference gives up (it panics) after ten million retries at one position. This matcher needs no more for the same
search; it gives up, with an error, where the text is long only at a multiple of that, so that long runs of blanks pass.
"""
import threading

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memset

from hftok._core.normalized cimport (
    PT_NO_MEMORY, PT_OK, PT_PANIC, PreTokenized, Split, pt_check, pt_free, pt_init, pt_match_literal, pt_push_match,
    pt_reset,
)
from hftok._core.text cimport utf8_decode, utf8_len, utf8_prev

from hftok._core import regex_program, regex_syntax


cdef enum:
    OP_MATCH = 0
    OP_CHAR = 1
    OP_STRING = 2
    OP_SET = 3
    OP_RUN = 4
    OP_RUN_ATOMIC = 5
    OP_RUN_LAZY = 6
    OP_JUMP = 7
    OP_CHOICE = 8
    OP_ALTERNATIVES = 9
    OP_MARK = 10
    OP_CUT = 11
    OP_LOOK = 12
    OP_LOOK_END = 13
    OP_LOOK_NOT = 14
    OP_LOOK_NOT_END = 15
    OP_NEXT_IS = 16
    OP_BEFORE_IS = 17
    OP_LINE_START = 18
    OP_LINE_END = 19
    OP_TEXT_START = 20
    OP_TEXT_END = 21
    OP_TEXT_END_NEWLINE = 22
    OP_WORD_EDGE = 23
    OP_SEARCH_START = 24
    OP_SET_COUNT = 25
    OP_COUNT = 26
    OP_COUNTED = 27
    OP_COUNTED_LAZY = 28
    OP_LOOP_START = 29
    OP_LOOP_EMPTY = 30
    OP_SAVE = 31
    OP_REFERENCE = 32
    OP_KEEP = 33
    OP_BEHIND = 34
    OP_BEHIND_END = 35
    OP_FAIL = 36
    OP_CHOICE_LAZY = 37

cdef enum:
    NO_MATCH = -1
    FAILED = -2         # p.error is set

cdef enum:
    FRAME_CHOICE = 0        # resume at pc with pos
    FRAME_RUN = 1           # pc is the RUN; pos where it ended, extra the least end
    FRAME_RUN_LAZY = 2      # pc is the RUN_LAZY; pos where it ended, extra the characters so far
    FRAME_UNDO = 3          # register pc was pos
    FRAME_ALTERNATIVES = 4  # pc is the ALTERNATIVES; extra the branches left
    FRAME_BEHIND = 5        # pc is the BEHIND; pos where it started, extra the characters it may still go back (-1: all)
    FRAME_LIMIT = 6         # the text ended at pos

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int hftok_lowest_bit(uint32_t x) { unsigned long i; _BitScanForward(&i, x); return (int)i; }
    #else
    static inline int hftok_lowest_bit(uint32_t x) { return __builtin_ctz(x); }
    #endif
    """
    int lowest_bit "hftok_lowest_bit"(uint32_t x) noexcept nogil

cdef extern from "publish.h" nogil:
    int is_ready "ht_is_ready"(const int *ready)
    void set_ready "ht_set_ready"(int *ready)

_swapping = threading.Lock()

# Regular expressions that have compiled before, here or (load_cache) in another process.
SOUND = set()


def declare_sound(str pattern not None):
    """Take it that this regular expression compiles: it is then compiled when it is first needed."""
    if len(SOUND) >= 1024:
        SOUND.clear()
    SOUND.add(pattern)


cdef inline int has(const CharClass *cls, uint32_t cp) noexcept nogil:
    return (cls.blocks[32 * cls.pages[cp >> 8] + ((cp & 255) >> 3)] >> (cp & 7)) & 1


cdef inline int has_at(const CharClass *cls, const uint8_t *p, int *length) noexcept nogil:
    if p[0] < 0x80:
        length[0] = 1
        return cls.ascii[p[0]]
    return has(cls, utf8_decode(p, length))


cdef inline int64_t run_end(const CharClass *cls, const uint8_t *text, int64_t pos, int64_t size) noexcept nogil:
    cdef int length
    cdef uint32_t cp
    while pos < size:
        if text[pos] < 0x80:
            if not cls.ascii[text[pos]]:
                return pos
            pos += 1
        else:
            cp = utf8_decode(text + pos, &length)
            if not has(cls, cp):
                return pos
            pos += length
    return pos


cdef int64_t find(
    const uint8_t *text, int64_t size, int64_t pos, const uint8_t *literal, int64_t length
) noexcept nogil:
    """Where `literal` stands in text[pos:size), or -1."""
    cdef const uint8_t *found
    while pos + length <= size:
        found = <const uint8_t *>memchr(text + pos, literal[0], <size_t>(size - length - pos + 1))
        if found == NULL:
            return -1
        if memcmp(found, literal, <size_t>length) == 0:
            return found - text
        pos = found - text + 1
    return -1


cdef int64_t grow_stack(PreTokenized *p, int64_t need) noexcept nogil:
    cdef int64_t capacity = p.stack_capacity + (p.stack_capacity >> 1)
    cdef void *data
    if capacity < need + 4096:
        capacity = need + 4096
    data = realloc(p.stack, <size_t>capacity)
    if data == NULL:
        if p.error == PT_OK:
            p.error = PT_NO_MEMORY
        return FAILED
    p.stack = data
    p.stack_capacity = capacity
    return 0


cdef class Pattern:
    def __cinit__(self, *args, **kwargs):
        self.literal = NULL
        self.code = NULL
        self.classes = NULL
        self.blocks = self.literals = NULL
        self.byte_sets = NULL
        self.tables = NULL
        self.branches = NULL

    def __dealloc__(self):
        free(self.code)
        free(self.classes)
        free(self.blocks)
        free(self.literals)
        free(self.byte_sets)
        free(self.tables)
        free(self.branches)

    def __init__(self, str kind, str pattern):
        if kind not in ("String", "Regex"):
            raise ValueError(f"a pattern is 'String' or 'Regex', not {kind!r}")
        self.kind = kind
        self.pattern = pattern
        if kind == "String" and pattern:
            self._literal = pattern.encode("utf-8")
            self.literal = self._literal
            self.literal_size = len(self._literal)
        elif pattern not in SOUND:
            self.load(regex_program.build(regex_syntax.parse(pattern)))
            declare_sound(pattern)

    cdef int compile_now(self) noexcept with gil:
        """Compile a sound pattern, at the first text that it is looked for in (most are served by a scanner, and never are).
        Another object does it and gives its arrays away, so that no thread sees a part of them. Waits for the GIL, once."""
        cdef Pattern other
        try:
            other = Pattern.__new__(Pattern)
            other.load(regex_program.build(regex_syntax.parse(self.pattern)))
        except MemoryError:
            return PT_NO_MEMORY
        except Exception:
            return PT_PANIC          # it was not sound
        with _swapping:
            self.take_over(other)
        return PT_OK

    cdef void take_over(self, Pattern other) noexcept:
        if is_ready(&self.ready):
            return                   # someone else was faster
        self.code, other.code = other.code, self.code
        self.classes, other.classes = other.classes, self.classes
        self.blocks, other.blocks = other.blocks, self.blocks
        self.literals, other.literals = other.literals, self.literals
        self.byte_sets, other.byte_sets = other.byte_sets, self.byte_sets
        self.tables, other.tables = other.tables, self.tables
        self.branches, other.branches = other.branches, self.branches
        self._required = other._required
        self.required = other.required
        self.required_size = other.required_size
        self.n_registers = other.n_registers
        self.keep = other.keep
        self.first = other.first
        self.has_undo = other.has_undo
        set_ready(&self.ready)

    cdef load(self, program):
        cdef int64_t i, k, n, block
        cdef uint8_t *bitmap
        cdef int64_t first, last
        cdef uint8_t *page
        n = len(program.code)
        self.code = <Insn *>malloc(<size_t>n * sizeof(Insn))
        self.literals = <uint8_t *>malloc(<size_t>len(program.literals) + 1)
        self.byte_sets = <uint8_t (*)[256]>calloc(<size_t>len(program.byte_sets) + 1, 256)
        self.tables = <uint32_t (*)[257]>malloc(<size_t>(len(program.tables) + 1) * 257 * sizeof(uint32_t))
        self.branches = <int32_t *>malloc(<size_t>(len(program.branches) + 1) * sizeof(int32_t))
        self.classes = <CharClass *>calloc(<size_t>len(program.classes) + 1, sizeof(CharClass))
        bitmap = <uint8_t *>malloc(0x110000 // 8)
        if (
            self.code == NULL or self.literals == NULL or self.byte_sets == NULL or self.tables == NULL
            or self.branches == NULL or self.classes == NULL or bitmap == NULL
        ):
            free(bitmap)
            raise MemoryError("out of memory while compiling a pattern")
        try:
            self.has_undo = 0
            for i in range(n):
                self.code[i].op, self.code[i].a, self.code[i].b, self.code[i].c, self.code[i].d = program.code[i]
                if self.code[i].op in (OP_SET_COUNT, OP_COUNT, OP_LOOP_START, OP_SAVE, OP_KEEP):
                    self.has_undo = 1
            for i in range(len(program.literals)):
                self.literals[i] = program.literals[i]
            for i in range(len(program.byte_sets)):
                bits = program.byte_sets[i]
                for k in range(256):
                    self.byte_sets[i][k] = bits >> k & 1
            for i in range(len(program.tables)):
                for k in range(257):
                    self.tables[i][k] = program.tables[i][k]
            for i in range(len(program.branches)):
                self.branches[i] = program.branches[i]
            self.n_registers = program.registers
            self.keep = program.keep
            self.first = program.first
            self._required = bytes(program.required)
            self.required = self._required
            self.required_size = len(self._required)
            # Classes: pages of 256 code points; block 0 is empty, block 1 full, others are added as they come.
            blocks = bytearray(bytes(32) + b"\xff" * 32)
            for i in range(len(program.classes)):
                memset(bitmap, 0, 0x110000 // 8)
                for pair in program.classes[i]:
                    first, last = pair
                    fill(bitmap, first, last)
                for k in range(128):
                    self.classes[i].ascii[k] = (bitmap[k >> 3] >> (k & 7)) & 1
                for k in range(0x1100):
                    page = bitmap + 32 * k
                    block = -1
                    if page[0] == 0 or page[0] == 255:
                        if memcmp(page, page + 1, 31) == 0:
                            block = page[0] != 0
                    if block < 0:
                        block = len(blocks) // 32
                        if block > 0xFFFF:
                            raise regex_syntax.UnsupportedTokenizerError("too many character classes", "Regex")
                        blocks += page[:32]
                    self.classes[i].pages[k] = <uint16_t>block
            self.blocks = <uint8_t *>malloc(<size_t>len(blocks))
            if self.blocks == NULL:
                raise MemoryError("out of memory while compiling a pattern")
            for k in range(len(blocks)):
                self.blocks[k] = blocks[k]
            for i in range(len(program.classes)):
                self.classes[i].blocks = self.blocks
            set_ready(&self.ready)
        finally:
            free(bitmap)

    cdef int match(self, PreTokenized *p, const Split *s) noexcept nogil:
        cdef const uint8_t *text = p.text + s.start
        cdef int64_t size = s.end - s.start, previous = 0, at = 0, last_match = -1, start, end
        if self.literal != NULL:
            return pt_match_literal(p, s, self.literal, self.literal_size)
        p.n_matches = 0
        if p.error:
            return p.error
        if not is_ready(&self.ready):
            p.error = self.compile_now()
            if p.error:
                return p.error
        if size == 0:
            return pt_push_match(p, 0, 0, 0)
        while at <= size:
            end = self.search(p, text, size, at, &start)
            if end < 0:
                break
            if start == end and last_match == end:
                at += utf8_len(text[at]) if at < size else 1
                continue
            at = last_match = end
            if previous != start and pt_push_match(p, previous, start, 0):
                return p.error
            if pt_push_match(p, start, end, 1):
                return p.error
            previous = end
        if p.error:
            return p.error
        if previous != size:
            pt_push_match(p, previous, size, 0)
        return p.error

    cdef int64_t search(
        self, PreTokenized *p, const uint8_t *text, int64_t size, int64_t at, int64_t *start
    ) noexcept nogil:
        """The leftmost match that begins at `at` or later: its end, and its beginning in `start`; else NO_MATCH."""
        cdef int64_t pos = at, end, needed = -1
        cdef const uint8_t *first = NULL
        if self.first >= 0:
            first = &self.byte_sets[self.first][0]
        while pos <= size:
            if first != NULL:
                while pos < size and not first[text[pos]]:
                    pos += 1
                if pos >= size:
                    return NO_MATCH
            if self.required_size and needed < pos:
                needed = find(text, size, pos, self.required, self.required_size)
                if needed < 0:
                    return NO_MATCH
            start[0] = pos
            end = self.run(p, text, size, pos, at, start)
            if end != NO_MATCH:
                return end
            if pos >= size:
                break
            pos += utf8_len(text[pos])
        return NO_MATCH

    cdef int64_t run(
        self, PreTokenized *p, const uint8_t *text, int64_t size, int64_t start, int64_t search_start, int64_t *begin
    ) noexcept nogil:
        """Match at `start` alone: the end, NO_MATCH or FAILED."""
        cdef const Insn *code = self.code
        cdef const Insn *in_
        cdef const CharClass *cls
        cdef const uint8_t *bytes_
        cdef int32_t pc = 0, kind
        cdef int64_t pos = start, n, least, other, limit = size
        cdef int64_t depth = 0              # frames in use
        cdef int64_t room                   # frames that fit
        cdef int64_t retries = 0, patience = 10_000_000 + 4 * size
        cdef int length, yes, before, after
        cdef uint32_t mask
        cdef Frame *f
        cdef int64_t registers = <int64_t>self.n_registers * 8
        cdef int64_t *regs
        cdef Frame *frames
        if p.stack_capacity < registers + 64 * <int64_t>sizeof(Frame) and grow_stack(p, registers + 64 * sizeof(Frame)):
            return FAILED
        regs = <int64_t *>p.stack
        frames = <Frame *>(<uint8_t *>p.stack + registers)
        room = (p.stack_capacity - registers) // <int64_t>sizeof(Frame)
        for n in range(self.n_registers):
            regs[n] = -1
        if self.keep >= 0:
            regs[self.keep] = start
        while True:
            # Every instruction needs two frames at most.
            if depth + 2 > room:
                if grow_stack(p, registers + (depth + 2) * <int64_t>sizeof(Frame)):
                    return FAILED
                regs = <int64_t *>p.stack
                frames = <Frame *>(<uint8_t *>p.stack + registers)
                room = (p.stack_capacity - registers) // <int64_t>sizeof(Frame)
            in_ = code + pc
            yes = 0     # whether the instruction succeeded
            if in_.op == OP_MATCH:
                if self.keep >= 0:
                    begin[0] = regs[self.keep]
                return pos
            elif in_.op == OP_CHAR:
                if pos < limit and text[pos] == <uint8_t>in_.a:
                    pos += 1
                    pc += 1
                    yes = 1
            elif in_.op == OP_STRING:
                if limit - pos >= in_.b and memcmp(text + pos, self.literals + in_.a, <size_t>in_.b) == 0:
                    pos += in_.b
                    pc += 1
                    yes = 1
            elif in_.op == OP_SET:
                if pos < limit and has_at(self.classes + in_.a, text + pos, &length):
                    pos += length
                    pc += 1
                    yes = 1
            elif in_.op == OP_RUN_ATOMIC:
                cls = self.classes + in_.a
                if in_.b <= 1 and in_.c < 0:
                    least = pos
                    pos = run_end(cls, text, pos, limit)
                    if pos > least or in_.b == 0:
                        pc += 1
                        yes = 1
                else:
                    n = 0
                    while (in_.c < 0 or n < in_.c) and pos < limit and has_at(cls, text + pos, &length):
                        pos += length
                        n += 1
                    if n >= in_.b:
                        pc += 1
                        yes = 1
            elif in_.op == OP_RUN:
                cls = self.classes + in_.a
                n = 0
                least = pos
                if in_.c < 0:
                    while n < in_.b and pos < limit and has_at(cls, text + pos, &length):
                        pos += length
                        n += 1
                    if n == in_.b:
                        least = pos
                        pos = run_end(cls, text, pos, limit)
                else:
                    while n < in_.c and pos < limit and has_at(cls, text + pos, &length):
                        pos += length
                        n += 1
                        if n == in_.b:
                            least = pos
                if n >= in_.b:
                    yes = 1
                    if in_.d >= 0:
                        bytes_ = &self.byte_sets[in_.d][0]
                        while pos >= limit or not bytes_[text[pos]]:
                            if pos <= least:
                                yes = 0
                                break
                            pos = utf8_prev(text + pos) - text
                    if yes:
                        if pos > least:
                            f = frames + depth
                            f.kind = FRAME_RUN
                            f.pc = pc
                            f.pos = pos
                            f.extra = least
                            depth += 1
                        pc += 1
            elif in_.op == OP_RUN_LAZY:
                cls = self.classes + in_.a
                n = 0
                while n < in_.b and pos < limit and has_at(cls, text + pos, &length):
                    pos += length
                    n += 1
                if n == in_.b:
                    f = frames + depth
                    f.kind = FRAME_RUN_LAZY
                    f.pc = pc
                    f.pos = pos
                    f.extra = n
                    depth += 1
                    pc += 1
                    yes = 1
            elif in_.op == OP_JUMP:
                pc = in_.a
                yes = 1
            elif in_.op == OP_CHOICE or in_.op == OP_CHOICE_LAZY:
                yes = 1
                if in_.b >= 0 and (pos >= limit or not self.byte_sets[in_.b][text[pos]]):
                    pc = in_.a
                elif in_.c >= 0 and (pos >= limit or not self.byte_sets[in_.c][text[pos]]):
                    pc += 1
                else:
                    f = frames + depth
                    f.kind = FRAME_CHOICE
                    f.pos = pos
                    depth += 1
                    if in_.op == OP_CHOICE:
                        f.pc = in_.a
                        pc += 1
                    else:
                        f.pc = pc + 1
                        pc = in_.a
            elif in_.op == OP_ALTERNATIVES:
                mask = self.tables[in_.a][text[pos] if pos < limit else 256]
                if mask:
                    other = mask & (mask - 1)
                    if other:
                        f = frames + depth
                        f.kind = FRAME_ALTERNATIVES
                        f.pc = pc
                        f.pos = pos
                        f.extra = other
                        depth += 1
                    pc = self.branches[in_.b + lowest_bit(mask)]
                    yes = 1
            elif in_.op == OP_MARK:
                regs[in_.a] = depth
                pc += 1
                yes = 1
            elif in_.op == OP_CUT:
                depth = self.cut(frames, regs[in_.a], depth)
                pc += 1
                yes = 1
            elif in_.op == OP_LOOK:
                regs[in_.a] = depth
                regs[in_.a + 1] = pos
                regs[in_.a + 2] = limit
                pc += 1
                yes = 1
            elif in_.op == OP_LOOK_END:
                depth = self.cut(frames, regs[in_.a], depth)
                pos = regs[in_.a + 1]
                limit = regs[in_.a + 2]
                pc += 1
                yes = 1
            elif in_.op == OP_LOOK_NOT:
                regs[in_.a] = depth
                regs[in_.a + 1] = pos
                regs[in_.a + 2] = limit
                f = frames + depth
                f.kind = FRAME_CHOICE
                f.pc = in_.b
                f.pos = pos
                depth += 1
                pc += 1
                yes = 1
            elif in_.op == OP_LOOK_NOT_END:
                depth = self.cut(frames, regs[in_.a], depth)
                limit = regs[in_.a + 2]
            elif in_.op == OP_NEXT_IS:
                before = 0
                if pos < limit:
                    before = has_at(self.classes + in_.a, text + pos, &length)
                if before != in_.b:
                    pc += 1
                    yes = 1
            elif in_.op == OP_BEFORE_IS:
                before = 0
                if pos > 0:
                    before = has_at(self.classes + in_.a, utf8_prev(text + pos), &length)
                if before != in_.b:
                    pc += 1
                    yes = 1
            elif in_.op == OP_LINE_START:
                # Not after a newline that ends the text.
                if pos == 0 or (pos < size and text[pos - 1] == c'\n'):
                    pc += 1
                    yes = 1
            elif in_.op == OP_LINE_END:
                if pos == size or text[pos] == c'\n':
                    pc += 1
                    yes = 1
            elif in_.op == OP_TEXT_START:
                if pos == 0:
                    pc += 1
                    yes = 1
            elif in_.op == OP_TEXT_END:
                if pos == size:
                    pc += 1
                    yes = 1
            elif in_.op == OP_TEXT_END_NEWLINE:
                if pos == size or (pos == size - 1 and text[pos] == c'\n'):
                    pc += 1
                    yes = 1
            elif in_.op == OP_WORD_EDGE:
                cls = self.classes + in_.a
                before = after = 0
                if pos > 0:
                    before = has_at(cls, utf8_prev(text + pos), &length)
                # At the start of the text the end that a look-behind sets hides what comes next.
                if pos < (size if pos > 0 else limit):
                    after = has_at(cls, text + pos, &length)
                if (before ^ after) != in_.b:
                    pc += 1
                    yes = 1
            elif in_.op == OP_SEARCH_START:
                if pos == search_start:
                    pc += 1
                    yes = 1
            elif (
                in_.op == OP_SET_COUNT or in_.op == OP_COUNT or in_.op == OP_LOOP_START or in_.op == OP_SAVE
                or in_.op == OP_KEEP
            ):
                f = frames + depth
                f.kind = FRAME_UNDO
                f.pc = in_.a
                f.pos = regs[in_.a]
                depth += 1
                if in_.op == OP_SET_COUNT:
                    regs[in_.a] = 0
                elif in_.op == OP_COUNT:
                    regs[in_.a] += 1
                else:
                    regs[in_.a] = pos
                pc += 1
                yes = 1
            elif in_.op == OP_COUNTED or in_.op == OP_COUNTED_LAZY:
                yes = 1
                n = regs[in_.a]
                if n < in_.b:
                    pc += 1
                elif in_.c >= 0 and n >= in_.c:
                    pc = in_.d
                else:
                    f = frames + depth
                    f.kind = FRAME_CHOICE
                    f.pos = pos
                    depth += 1
                    if in_.op == OP_COUNTED:
                        f.pc = in_.d
                        pc += 1
                    else:
                        f.pc = pc + 1
                        pc = in_.d
            elif in_.op == OP_LOOP_EMPTY:
                pc = in_.b if regs[in_.a] == pos else pc + 1
                yes = 1
            elif in_.op == OP_REFERENCE:
                n = regs[in_.a + 1] - regs[in_.a]
                if regs[in_.a] >= 0 and regs[in_.a + 1] >= 0 and n >= 0 and limit - pos >= n:
                    if memcmp(text + regs[in_.a], text + pos, <size_t>n) == 0:
                        pos += n
                        pc += 1
                        yes = 1
            elif in_.op == OP_BEHIND:
                n = 0
                if in_.c != in_.b:
                    f = frames + depth
                    f.kind = FRAME_LIMIT
                    f.pos = limit
                    depth += 1
                    limit = pos
                while n < in_.b and pos > 0:
                    pos = utf8_prev(text + pos) - text
                    n += 1
                if n == in_.b:
                    if in_.c != in_.b:
                        f = frames + depth
                        f.kind = FRAME_BEHIND
                        f.pc = pc
                        f.pos = pos
                        f.extra = -1 if in_.c < 0 else in_.c - in_.b
                        depth += 1
                    pc += 1
                    yes = 1
            elif in_.op == OP_BEHIND_END:
                if pos == regs[in_.a + 1]:
                    pc += 1
                    yes = 1
            if yes:
                continue
            # Take up the last choice.
            while True:
                if depth == 0:
                    return NO_MATCH
                f = frames + depth - 1
                kind = f.kind
                if kind == FRAME_UNDO:
                    regs[f.pc] = f.pos
                    depth -= 1
                    continue
                if kind == FRAME_LIMIT:
                    limit = f.pos
                    depth -= 1
                    continue
                retries += 1
                if retries > patience:
                    if p.error == PT_OK:
                        p.error = PT_PANIC
                    return FAILED
                if kind == FRAME_CHOICE:
                    pc = f.pc
                    pos = f.pos
                    depth -= 1
                    break
                elif kind == FRAME_RUN:
                    in_ = code + f.pc
                    pos = utf8_prev(text + f.pos) - text
                    if in_.d >= 0:
                        bytes_ = &self.byte_sets[in_.d][0]
                        while pos > f.extra and not bytes_[text[pos]]:
                            pos = utf8_prev(text + pos) - text
                        if not bytes_[text[pos]]:
                            depth -= 1
                            continue
                    pc = f.pc + 1
                    if pos > f.extra:
                        f.pos = pos
                    else:
                        depth -= 1
                    break
                elif kind == FRAME_RUN_LAZY:
                    in_ = code + f.pc
                    cls = self.classes + in_.a
                    pos = f.pos
                    if (in_.c >= 0 and f.extra >= in_.c) or pos >= limit or not has_at(cls, text + pos, &length):
                        depth -= 1
                        continue
                    f.pos = pos + length
                    f.extra += 1
                    if in_.d >= 0 and (f.pos >= limit or not self.byte_sets[in_.d][text[f.pos]]):
                        continue
                    pos = f.pos
                    pc = f.pc + 1
                    break
                elif kind == FRAME_ALTERNATIVES:
                    mask = <uint32_t>f.extra
                    pos = f.pos
                    in_ = code + f.pc
                    pc = self.branches[in_.b + lowest_bit(mask)]
                    mask &= mask - 1
                    if mask:
                        f.extra = mask
                    else:
                        depth -= 1
                    break
                else:
                    if f.extra == 0 or f.pos == 0:
                        depth -= 1
                        continue
                    f.pos = utf8_prev(text + f.pos) - text
                    if f.extra > 0:
                        f.extra -= 1
                    pos = f.pos
                    pc = f.pc + 1
                    break

    cdef int64_t cut(self, Frame *frames, int64_t mark, int64_t depth) noexcept nogil:
        """Forget the choices from `mark` on; what they would have undone is kept."""
        cdef int64_t i, out = mark
        if not self.has_undo:
            return mark
        for i in range(mark, depth):
            if frames[i].kind == FRAME_UNDO:
                frames[out] = frames[i]
                out += 1
        return out

    def find_matches(self, str text):
        """Matches and what lies between them, covering `text`: a list of ((start, end), is_match), in bytes of UTF-8.

        >>> Pattern("Regex", "[0-9]+").find_matches("a12b")
        [((0, 1), False), ((1, 3), True), ((3, 4), False)]
        """
        cdef bytes data = text.encode("utf-8")
        cdef PreTokenized p
        cdef int64_t i
        cdef int error
        pt_init(&p)
        try:
            pt_reset(&p, data, len(data))
            pt_check(p.error)
            with nogil:
                error = self.match(&p, &p.splits[0])
            pt_check(error)
            return [((p.matches[i].start, p.matches[i].end), p.matches[i].is_match != 0) for i in range(p.n_matches)]
        finally:
            pt_free(&p)


cdef inline void fill(uint8_t *bitmap, int64_t first, int64_t last) noexcept nogil:
    cdef int64_t i = first
    while i <= last:
        if i & 7 == 0 and i + 7 <= last:
            bitmap[i >> 3] = 255
            i += 8
        else:
            bitmap[i >> 3] |= 1 << (i & 7)
            i += 1


def check_regex(str pattern not None):
    """Raise what is wrong with a pattern: an Exception with the reference's message where it is no regular expression,
    UnsupportedTokenizerError (a ValueError) where it cannot be reproduced.

    >>> check_regex("a+")
    """
    regex_program.build(regex_syntax.parse(pattern))
