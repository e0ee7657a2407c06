"""What a post-processor does to a row, as a flat list of items: sequence A, sequence B, special tokens.

Every post-processor of the reference is such a list (TemplateProcessing by definition; BertProcessing, RobertaProcessing
and no processor have fixed ones), up to offsets trimmed by ByteLevel and RobertaProcessing, which is a flag here. With a
plan, rows of ids, type ids and masks are written straight into their arrays; `post_process.pyx` does the same on Encoding
objects, with all of its cases, and the tests hold the two against each other.
"""
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, malloc


def items_of(spec, bint is_pair, bint add_special_tokens, uint32_t bare_type_id=1):
    """(items, ranges, trims) of a post-processor's spec, or None where it is not of this kind.

    Items are ("A" | "B", type_id) and ("special", ids, tokens, type_id). bare_type_id: type id of sequence B where no
    processor sets it.

    >>> items_of(("BertProcessing", ("[SEP]", 102), ("[CLS]", 101)), False, True)[0]
    [('special', [101], ['[CLS]'], 0), ('A', 0), ('special', [102], ['[SEP]'], 0)]
    """
    if spec is None:
        return ([("A", 0), ("B", bare_type_id)] if is_pair else [("A", 0)]), is_pair, False
    kind = spec[0]
    if kind == "Sequence":
        trims = False
        parts = spec[1]
        while len(parts) > 1 and parts[0][0] == "ByteLevel":
            trims = trims or parts[0][2]
            parts = parts[1:]
        if len(parts) != 1:
            return None
        inner = items_of(parts[0], is_pair, add_special_tokens)
        return None if inner is None else (inner[0], inner[1], inner[2] or trims)
    bare = [("A", 0), ("B", 1)] if is_pair else [("A", 0)]
    if kind == "ByteLevel":
        return bare, True, bool(spec[2])
    if kind == "BertProcessing":
        if not add_special_tokens:
            return bare, True, False
        (sep, sep_id), (cls, cls_id) = spec[1], spec[2]
        items = [("special", [cls_id], [cls], 0), ("A", 0), ("special", [sep_id], [sep], 0)]
        if is_pair:
            items += [("B", 1), ("special", [sep_id], [sep], 1)]
        return items, True, False
    if kind == "RobertaProcessing":
        if not add_special_tokens:
            return [(name, 0) for name, _ in bare], True, bool(spec[3])
        (sep, sep_id), (cls, cls_id) = spec[1], spec[2]
        items = [("special", [cls_id], [cls], 0), ("A", 0), ("special", [sep_id], [sep], 0)]
        if is_pair:
            items += [("special", [sep_id], [sep], 0), ("B", 0), ("special", [sep_id], [sep], 0)]
        return items, True, bool(spec[3])
    if kind == "TemplateProcessing":
        items = []
        for piece in spec[2] if is_pair else spec[1]:
            if piece[0] != "special":
                if piece[0] == "B" and not is_pair:
                    return None
                items.append((piece[0], piece[1]))
            elif add_special_tokens:
                if piece[1] not in spec[3]:
                    return None
                ids, tokens = spec[3][piece[1]]
                if len(ids) != len(tokens):
                    return None
                items.append(("special", list(ids), list(tokens), piece[2]))
        return items, True, False
    return None


cdef class RowPlan:
    """The items of one kind of row, ready for C. See items_of."""

    def __cinit__(self, list items, bint is_pair, bint ranges, bint trims):
        cdef int64_t total = 0, at = 0
        cdef int i
        if len(items) > MAX_ITEMS:
            raise ValueError(f"a template of more than {MAX_ITEMS} pieces")
        self.is_pair = is_pair
        self.ranges = ranges
        self.trims = trims
        self.tokens = []
        for item in items:
            if item[0] == "special":
                total += len(item[1])
        self.ids = <uint32_t *>malloc(<size_t>(total + 1) * 4)
        if self.ids == NULL:
            raise MemoryError("no memory for the special tokens")
        self.n_special = total
        self.n_items = len(items)
        for i, item in enumerate(items):
            if item[0] == "special":
                self.items[i].kind = ITEM_SPECIAL
                self.items[i].type_id = item[3]
                self.items[i].ids = self.ids + at
                self.items[i].n = len(item[1])
                for id in item[1]:
                    self.ids[at] = id
                    at += 1
                self.tokens.append(item[2])
            else:
                self.items[i].kind = 0 if item[0] == "A" else 1
                self.items[i].type_id = item[1]
                self.items[i].ids = NULL
                self.items[i].n = 0
                self.tokens.append(None)
        sequences = [i for i, item in enumerate(items) if item[0] != "special"]
        self.wraps = len(sequences) == 1 and items[sequences[0]][0] == "A"
        self.prefix = []
        self.suffix = []
        if self.wraps:
            self.prefix = [id for item in items[:sequences[0]] for id in item[1]]
            self.suffix = [id for item in items[sequences[0] + 1:] for id in item[1]]

    def __dealloc__(self):
        free(self.ids)

    @property
    def is_wrapped_sequence(self):
        """Whether a row is one sequence with special tokens around it."""
        return bool(self.wraps)


def make_plan(spec, bint is_pair, bint add_special_tokens, uint32_t bare_type_id=1):
    """The RowPlan of a post-processor's spec, or None."""
    found = items_of(spec, is_pair, add_special_tokens, bare_type_id)
    if found is None or len(found[0]) > MAX_ITEMS:
        return None
    return RowPlan(found[0], is_pair, found[1], found[2])
