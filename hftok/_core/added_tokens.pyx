"""Added tokens in a text: leftmost-longest matching and the rules of each token's flags.

Reference: AddedVocabulary::find_matches (tokenizer/added_vocabulary.rs). Matches are found leftmost-longest and do not
overlap; the search goes on at a match's end whether the token is then accepted or refused. A token is refused as a
special one while `encode_special_tokens` is set, and with `single_word` if a word character stands on either side (\\w of
the regex crate; text taken by an earlier token still counts as its neighbour). `lstrip` and `rstrip` take the white space
around along, on the left not beyond the end of the previous token.

pyahocorasick builds the automaton; `dump()` gives its trie, which is flattened here for use without the GIL. Leftmost
matches need no failure links: candidates are the places where some token's first byte stands, and a walk from there finds
the longest token or none. Two tokens with one pattern (possible behind a normalizer): the one with the greater id wins; the
reference takes either, at random.

A normalizer may leave nothing of a token. The empty pattern is then found at every byte where no other token is, at the
text's end too, but not right behind one, and takes what its flags give it: often nothing, and all that it does is to cut the text there. Inside a
character that is no place to cut (a panic of the reference, MATCH_TOKEN with start > end here).
"""
import re
from array import array
from itertools import accumulate

import ahocorasick

from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from hftok._core.stored cimport Block, copied, demand
from hftok._core.text cimport utf8_decode, utf8_prev
from hftok._core.trie cimport ByteTrie, Edge, TRIE_NONE, trie_add, trie_find, trie_free, trie_init, trie_step
from hftok._core.unicode cimport UC_WHITESPACE, UC_WORD, uc_props
from hftok._core.worker cimport MATCH_NONE, MATCH_REFUSED, MATCH_TOKEN, Hit

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject *o)
    void Py_DECREF(PyObject *o)
    Py_ssize_t PyTuple_GET_SIZE(object o)
    PyObject *PyTuple_GET_ITEM(object o, Py_ssize_t i)
    PyObject *PyList_GET_ITEM(object o, Py_ssize_t i)


cdef inline bint _word_before(const uint8_t *text, int64_t at) noexcept nogil:
    cdef int length
    return at > 0 and (uc_props(utf8_decode(utf8_prev(text + at), &length)) & UC_WORD) != 0


cdef inline bint _word_after(const uint8_t *text, int64_t size, int64_t at) noexcept nogil:
    cdef int length
    return at < size and (uc_props(utf8_decode(text + at, &length)) & UC_WORD) != 0


cdef int match_token(const void *matcher, const uint8_t *text, int64_t size, int64_t at, int64_t floor, Hit *hit) noexcept nogil:
    cdef const Matcher *m = <const Matcher *>matcher
    cdef uint32_t node = 0, rule = TRIE_NONE
    cdef int64_t i = at, end = at
    cdef const uint8_t *p
    cdef int length
    cdef const TokenRule *r
    while i < size:
        node = trie_step(&m.trie, node, text[i])
        if node == TRIE_NONE:
            break
        i += 1
        if m.trie.values[node] != TRIE_NONE:
            rule = m.trie.values[node]
            end = i
    if rule == TRIE_NONE and not m.matches_empty:
        return MATCH_NONE
    r = &m.rules[rule] if rule != TRIE_NONE else &m.empty
    hit.id = r.id
    hit.start = at
    hit.end = end
    hit.resume = end if end > at else at + 1
    if r.refused:
        return MATCH_REFUSED
    if at < size and (text[at] & 0xC0) == 0x80:
        hit.start = at + 1
        hit.end = at
        return MATCH_TOKEN
    if r.single_word and (_word_before(text, at) or _word_after(text, size, end)):
        return MATCH_REFUSED
    if r.lstrip:
        i = at
        while i > floor:
            p = utf8_prev(text + i)
            if not uc_props(utf8_decode(p, &length)) & UC_WHITESPACE:
                break
            i = p - text
        hit.start = i if i > floor else floor        # what an earlier token took stays taken
    if r.rstrip:
        i = end
        while i < size:
            if not uc_props(utf8_decode(text + i, &length)) & UC_WHITESPACE:
                break
            i += length
        hit.end = i
    return MATCH_TOKEN


cdef bint is_empty_behind(const Matcher *m, const Hit *hit, int64_t at, int64_t behind) noexcept nogil:
    return m.matches_empty and at == behind and hit.id == m.empty.id


cdef int _fill(TokenRule *rule, tuple token) except -1:
    rule.id = token[1]
    rule.single_word = bool(token[2])
    rule.lstrip = bool(token[3])
    rule.rstrip = bool(token[4])
    rule.refused = bool(token[5])
    return 0


def _meets_cut(str text, bint single_word, bint takes_blanks):
    """Whether a token may lie across the place before a space between a letter or digit and a letter, take that space along, or
    begin there and look at what is before it."""
    return (
        re.search("[A-Za-z0-9] ([A-Za-z]|\\Z)", text) is not None
        or (takes_blanks and text != "" and (text[0].isalnum() or text[len(text) - 1].isalnum()))
        or (single_word and text[:1] == " ")
    )


cdef object let_go(tuple dump):
    """A dump of pyahocorasick's, whose lists and their items have one owner each: up to 2.3 it keeps a reference to each for ever,
    some KB for every set of tokens that was ever compiled. The dump is new, so whoever else may own something is nobody."""
    cdef PyObject *values
    cdef PyObject *item
    cdef Py_ssize_t i, k
    for i in range(PyTuple_GET_SIZE(dump)):
        values = PyTuple_GET_ITEM(dump, i)
        for k in range(PyList_GET_SIZE(<object>values)):
            item = PyList_GET_ITEM(<object>values, k)
            while Py_REFCNT(item) > 1:
                Py_DECREF(item)
        while Py_REFCNT(values) > 1:
            Py_DECREF(values)
    return dump


cdef class AddedMatcher:
    """The added tokens of one pass (raw or normalized).

    tokens: list of (pattern: str, id, single_word, lstrip, rstrip, refused).
    """

    def __cinit__(self):
        memset(&self.m, 0, sizeof(Matcher))

    def __init__(self, list tokens):
        cdef int64_t i, n
        cdef uint32_t node
        cdef bytes data
        cdef dict by_pattern = {}
        for token in sorted(tokens, key=_by_id):
            by_pattern[token[0].encode("utf-8")] = token
        self.size = len(by_pattern)
        self._patterns = list(by_pattern)
        self.takes_blanks = any(token[3] or token[4] for token in by_pattern.values())
        self.holds_blanks = any(any(c.isspace() for c in token[0]) for token in by_pattern.values())
        self.meets_cut = any(_meets_cut(token[0], bool(token[2]), self.takes_blanks) for token in by_pattern.values())
        self.m.n_rules = self.size
        self.m.rules = <TokenRule *>calloc(<size_t>self.size + 1, sizeof(TokenRule))
        if self.m.rules == NULL or trie_init(&self.m.trie, 16 * self.size + 16) != 0:
            raise MemoryError("no memory for the added tokens")
        empty = by_pattern.pop(b"", None)
        if empty is not None:
            self.m.matches_empty = 1
            _fill(&self.m.empty, empty)
            memset(self.m.first, 1, 256)
        automaton = ahocorasick.Automaton()
        for i, (data, token) in enumerate(by_pattern.items()):
            _fill(&self.m.rules[i], token)
            automaton.add_word(data.decode("latin-1"), i)
            self.m.first[data[0]] = 1
            if len(data) > 1:
                self.m.second[data[1]] = 1
            else:
                memset(self.m.second, 1, 256)
            if token[0][0].isspace():
                self.m.begins_blank = 1
        if by_pattern:
            automaton.make_automaton()
            self._flatten(let_go(automaton.dump()))
            for i, data in enumerate(by_pattern):
                node = trie_find(&self.m.trie, 0, data, len(data))
                self.m.trie.values[node] = <uint32_t>i

    cdef _flatten(self, dump):
        """The trie of a pyahocorasick automaton: edges (node, label, child), parents before children."""
        nodes, edges, _ = dump
        cdef dict number = {}
        cdef dict children = {}
        cdef uint8_t label
        cdef uint32_t node
        for parent, byte, child in edges:
            children.setdefault(parent, []).append((byte, child))
        have_parent = {child for _, _, child in edges}
        roots = [node_id for node_id, _ in nodes if node_id not in have_parent]
        stack = [(roots[0], 0)]
        while stack:
            node_id, at = stack.pop()
            for byte, child in children.get(node_id, ()):
                label = ord(byte) if isinstance(byte, str) else byte[0]
                node = trie_add(&self.m.trie, at, &label, 1)
                if node == TRIE_NONE:
                    raise MemoryError("no memory for the added tokens")
                stack.append((child, node))

    def __dealloc__(self):
        if not self.borrowed:
            free(self.m.rules)
            trie_free(&self.m.trie)

    @property
    def patterns(self):
        """list of bytes: what is looked for, in the order of ids."""
        cdef const int64_t *ends
        cdef const char *text
        cdef int64_t size = 0, at = 0, i
        if self._patterns is None:
            result = []
            text = <const char *>self.block.array(self.prefix + ".text", 1, &size)
            ends = <const int64_t *>self.block.exactly(self.prefix + ".ends", 8, self.size)
            for i in range(self.size):
                demand(at <= ends[i] <= size)
                result.append(text[at:ends[i]])
                at = ends[i]
            self._patterns = result
        return self._patterns

    def sections(self, str prefix not None):
        """Copies of the arrays by name (see stored), the names behind a prefix of their own."""
        cdef const ByteTrie *t = &self.m.trie
        numbers = array("Q", [
            self.size, t.mask, t.n_edges, t.n_nodes, self.m.matches_empty, self.m.begins_blank, self.takes_blanks,
            self.holds_blanks, self.meets_cut])
        return {
            prefix + ".numbers": numbers.tobytes(),
            prefix + ".text": b"".join(self.patterns),
            prefix + ".ends": array("q", accumulate(map(len, self.patterns))).tobytes(),
            prefix + ".edges": copied(t.edges, (<int64_t>t.mask + 1) * sizeof(Edge)),
            prefix + ".values": copied(t.values, t.n_nodes * sizeof(uint32_t)),
            prefix + ".rules": copied(self.m.rules, self.size * sizeof(TokenRule)),
            prefix + ".empty": copied(&self.m.empty, sizeof(TokenRule)),
            prefix + ".first": copied(self.m.first, 256),
            prefix + ".second": copied(self.m.second, 256),
        }

    @staticmethod
    def of_block(Block block not None, str prefix not None):
        """The matcher over the arrays of a block. StoredError where they are damaged."""
        cdef AddedMatcher self = AddedMatcher.__new__(AddedMatcher)
        cdef ByteTrie *t = &self.m.trie
        cdef const uint64_t *numbers = <const uint64_t *>block.exactly(prefix + ".numbers", 8, 9)
        cdef int64_t i, free_slots = 0, size = 0, at = 0
        cdef const int64_t *ends
        cdef const uint8_t *text
        cdef bint good = True
        self.block = block
        self.borrowed = True
        self.prefix = prefix
        demand(numbers[0] < <uint64_t>1 << 32 and numbers[1] < <uint64_t>1 << 31 and 0 < numbers[3] < <uint64_t>1 << 24)
        self.size = self.m.n_rules = <int64_t>numbers[0]
        t.mask = <uint32_t>numbers[1]
        t.n_edges = <int64_t>numbers[2]
        t.n_nodes = t.node_capacity = <int64_t>numbers[3]
        self.m.matches_empty = numbers[4] == 1
        self.m.begins_blank = numbers[5] == 1
        self.takes_blanks = numbers[6] == 1
        self.holds_blanks = numbers[7] == 1
        self.meets_cut = numbers[8] == 1
        demand(t.mask & (t.mask + 1) == 0)
        t.edges = <Edge *>block.exactly(prefix + ".edges", sizeof(Edge), <int64_t>t.mask + 1)
        t.values = <uint32_t *>block.exactly(prefix + ".values", sizeof(uint32_t), t.n_nodes)
        # No rules are an array of no bytes, whose place nobody reads.
        self.m.rules = <TokenRule *>block.exactly(prefix + ".rules", sizeof(TokenRule), self.size)
        memcpy(&self.m.empty, block.exactly(prefix + ".empty", sizeof(TokenRule), 1), sizeof(TokenRule))
        memcpy(self.m.first, block.exactly(prefix + ".first", 1, 256), 256)
        memcpy(self.m.second, block.exactly(prefix + ".second", 1, 256), 256)
        for i in range(<int64_t>t.mask + 1):
            free_slots += t.edges[i].key == 0
            good &= t.edges[i].child < t.n_nodes
        for i in range(t.n_nodes):
            good &= t.values[i] == TRIE_NONE or t.values[i] < self.size
        demand(good and free_slots > 0 and free_slots == <int64_t>t.mask + 1 - t.n_edges)
        # The hash of today gives the places of then.
        text = <const uint8_t *>block.array(prefix + ".text", 1, &size)
        ends = <const int64_t *>block.exactly(prefix + ".ends", 8, self.size)
        for i in range(min(self.size, <int64_t>8)):
            demand(at <= ends[i] <= size)
            demand(at == ends[i] or trie_find(t, 0, text + at, ends[i] - at) != TRIE_NONE)
            at = ends[i]
        return self

    def find(self, str text):
        """Every accepted token of a text as (id, start, end), byte offsets, blanks included; for tests.

        >>> AddedMatcher([("[X]", 7, False, True, False, False)]).find("a [X]b")
        [(7, 1, 5)]
        """
        cdef bytes data = text.encode("utf-8")
        cdef const uint8_t *p = data
        cdef int64_t i = 0, floor = 0, behind = -1, n = len(data)
        cdef Hit hit
        cdef int found
        result = []
        while i < n or (i == n and self.m.matches_empty):
            if i < n and not self.m.first[p[i]]:
                i += 1
                continue
            found = match_token(&self.m, p, n, i, floor, &hit)
            if found == MATCH_NONE or is_empty_behind(&self.m, &hit, i, behind):
                i += 1
                continue
            behind = hit.resume if hit.id != self.m.empty.id else -1
            if found == MATCH_TOKEN:
                result.append((hit.id, hit.start, hit.end))
                floor = hit.end
            i = hit.resume
        return result


def _by_id(token):
    return token[1]
