"""The way into a transformers tokenizer on hftok: `__call__`, `encode` and `_encode_plus`; in 4.57 `encode_plus` and
`batch_encode_plus` in place of the last.

What it does: finds the plan of a call by its keyword arguments, in one dictionary look-up, and runs it. A call seen for the
first time, and any that is not of a simple form, takes the slow way: transformers' own code over a backend of its own
settings. When that was fine, the plan is made and kept.
Rule of the reference: these methods of transformers' `PreTrainedTokenizerBase` and `TokenizersBackend`. A plan is only ever used for calls that transformers answers without a warning, and only while nothing that it was made from has
changed: the backend's components and added tokens, any attribute of the tokenizer, the names of its inputs, its padding token.
Left to others: how arguments are resolved (hftok/hf/calls.py), how rows are made (hf_rows.pyx).
"""
from cpython.dict cimport PyDict_GetItem, PyDict_GetItemWithError, PyDict_Next
from cpython.long cimport PyLong_FromVoidPtr
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t

from hftok._core.hf_rows cimport Plan

cdef extern from "Python.h":
    bint PyLong_CheckExact(object o)
    bint PyUnicode_CheckExact(object o)

cdef enum:
    # What values an argument may have in a call that is looked up.
    BOOL = 1
    NONE = 2
    STR = 4
    INT = 8
    MEMBER = 16              # of transformers' enumerations
    FALSE = 32

cdef enum:
    KEPT_PLANS = 256         # per entry
    REPEATED = 4             # forms of a call that are known again without a key

cdef enum Entry:             # the order of ENTRIES
    CALL
    ENCODE
    RESOLVED                 # _encode_plus: strategies are resolved already
    ONE                      # encode_plus
    BATCH                    # batch_encode_plus

ENTRIES = ("__call__", "encode", "_encode_plus", "encode_plus", "batch_encode_plus")

cdef dict _common = {
    "add_special_tokens": BOOL, "max_length": NONE | INT, "stride": INT, "is_split_into_words": BOOL,
    "pad_to_multiple_of": NONE | INT, "padding_side": NONE | STR, "return_tensors": NONE | STR | MEMBER,
    "return_token_type_ids": NONE | BOOL, "return_attention_mask": NONE | BOOL, "return_overflowing_tokens": BOOL,
    "return_special_tokens_mask": BOOL, "return_offsets_mapping": BOOL, "return_length": BOOL, "verbose": BOOL,
    "split_special_tokens": NONE | BOOL, "sanitize_control_tokens": FALSE, "full_overflow": BOOL, "text": 0, "text_pair": 0,
}
cdef dict _of_call = {**_common, "padding": BOOL | STR | MEMBER, "truncation": NONE | BOOL | STR | MEMBER}
cdef dict _of_resolved = {**_common, "padding_strategy": MEMBER, "truncation_strategy": MEMBER}
cdef dict _of_batch = {**_of_call, "batch_text_or_text_pairs": 0}
_of_batch.pop("text")
_of_batch.pop("text_pair")

# In a key, True and 1 must not be the same.
cdef object _true = object()
cdef object _false = object()

cdef tuple _enumerations = ()
cdef tuple _slow_ways = (None,) * 5
cdef tuple _plans_of = (None,) * 5


def connect(enumerations, slow_ways, plans_of):
    """Give this module transformers' enumerations and, by the names of ENTRIES, the slow ways and what makes a call's Plan (or
    None)."""
    global _enumerations, _slow_ways, _plans_of
    _enumerations = tuple(enumerations)
    _slow_ways = tuple([slow_ways.get(name) for name in ENTRIES])
    _plans_of = tuple([plans_of.get(name) for name in ENTRIES])


cdef inline dict _kinds(Entry entry):
    return _of_batch if entry == BATCH else _of_resolved if entry == RESOLVED else _of_call


cdef tuple _key(dict kwargs, dict kinds):
    """What tells calls of different settings apart, or None for a call that is not looked up."""
    cdef PyObject *name
    cdef PyObject *value
    cdef Py_ssize_t position = 0, at = 0
    cdef tuple key
    cdef object item
    cdef PyObject *found
    cdef long kind
    if not kwargs:
        return ()
    key = PyTuple_New(2 * len(kwargs))
    while PyDict_Next(kwargs, &position, &name, &value):
        found = PyDict_GetItem(kinds, <object>name)
        if found == NULL:
            return None
        kind = <long><object>found
        item = <object>value
        if kind == 0:
            item = None                  # the text itself
        elif item is True:
            if not kind & BOOL:
                return None
            item = _true
        elif item is False:
            if not kind & (BOOL | FALSE):
                return None
            item = _false
        elif item is None:
            if not kind & NONE:
                return None
        elif PyUnicode_CheckExact(item):
            if not kind & STR:
                return None
        elif PyLong_CheckExact(item):
            if not kind & INT:
                return None
        elif kind & MEMBER and type(item) in _enumerations:
            item = PyLong_FromVoidPtr(<void *>item)
        else:
            return None
        Py_INCREF(<object>name)
        PyTuple_SET_ITEM(key, at, <object>name)
        Py_INCREF(item)
        PyTuple_SET_ITEM(key, at + 1, item)
        at += 2
    return key


cdef bint _same_objects(dict a, dict b):
    """Whether two dicts hold the same objects, not equal ones, in the same order."""
    cdef PyObject *name_a
    cdef PyObject *name_b
    cdef PyObject *value_a
    cdef PyObject *value_b
    cdef Py_ssize_t at_a = 0, at_b = 0
    if len(a) != len(b):
        return False
    while PyDict_Next(a, &at_a, &name_a, &value_a):
        if not PyDict_Next(b, &at_b, &name_b, &value_b) or name_a != name_b or value_a != value_b:
            return False
    return True


cdef class Door:
    """What a transformers tokenizer on hftok keeps between calls. It is empty in pickles and copies.

    is_open: whether plans may be used at all; False where a class or a user has replaced a method that they stand for.
    """
    cdef list plans                    # by Entry
    cdef list repeated                 # (keyword arguments, entry, plan) of calls, the first few: programs repeat theirs
    cdef object engines
    cdef readonly int64_t generation
    cdef public bint is_open
    cdef public bint is_judged         # is_open has been set

    def __init__(self):
        self.generation = 0
        self.is_open = self.is_judged = False
        self.engines = None
        self.forget()

    def __reduce__(self):
        return Door, ()

    def __deepcopy__(self, memo):
        return Door()

    def __copy__(self):
        return Door()

    def forget(self):
        """Something has changed: no plan holds any more."""
        self.generation += 1
        self.plans = [{}, {}, {}, {}, {}]
        self.repeated = []
        self.is_judged = False

    cdef object run(self, object tokenizer, dict attributes, tuple args, dict kwargs, Entry entry):
        """The call's result, or None where the slow way must be taken."""
        cdef PyObject *found
        cdef object backend, text, pair = None
        cdef dict state
        cdef Plan plan
        cdef tuple key
        cdef Py_ssize_t i, n = PyTuple_GET_SIZE(args)
        if n == 1:
            text = <object>PyTuple_GET_ITEM(args, 0)
        elif n == 2 and entry != BATCH:
            text = <object>PyTuple_GET_ITEM(args, 0)
            pair = <object>PyTuple_GET_ITEM(args, 1)
        elif n == 0:
            text = kwargs.get("batch_text_or_text_pairs" if entry == BATCH else "text")
        else:
            return None
        if text is None:
            return None
        plan = self.plan_of_repeated(kwargs, entry)
        if plan is None:
            key = _key(kwargs, _kinds(entry))
            if key is None:
                return None
            found = PyDict_GetItemWithError(<dict>self.plans[<int>entry], key)
            if found == NULL:
                return None
            if <object>found is None:
                return None
            plan = <Plan>found
            if kwargs:
                found = PyDict_GetItem(kwargs, "text_pair")
                if found != NULL:
                    if n == 2:
                        return None
                    pair = <object>found
                if n and PyDict_GetItem(kwargs, "batch_text_or_text_pairs" if entry == BATCH else "text") != NULL:
                    return None
            if n and (pair is None or n == 2) and len(self.repeated) < REPEATED:
                # No text is among the keywords: they alone say what the plan is.
                self.repeated.append((kwargs.copy(), entry, plan))
        found = PyDict_GetItem(attributes, "_tokenizer")
        if found == NULL:
            return None
        backend = <object>found
        state = <dict>backend.__dict__
        found = PyDict_GetItem(state, "_engines")
        if found == NULL or <object>found is not self.engines:
            self.forget()
            return None
        found = PyDict_GetItem(attributes, "model_input_names")
        if found == NULL or <object>found is not plan.names or len(<list>plan.names) != len(plan.names_seen):
            self.forget()
            return None
        for i in range(len(plan.names_seen)):
            if (<list>plan.names)[i] is not plan.names_seen[i]:
                self.forget()
                return None
        if plan.pads:
            found = PyDict_GetItem(attributes, "_special_tokens_map")
            if found != NULL:
                found = PyDict_GetItem(<object>found, "pad_token")
            if found == NULL or <object>found is not plan.pad_token:
                self.forget()
                return None
        found = PyDict_GetItem(state, "_published")
        return plan.run(tokenizer, backend, found != NULL and <object>found is plan, text, pair)

    cdef Plan plan_of_repeated(self, dict kwargs, Entry entry):
        cdef tuple known
        for known in self.repeated:
            if <int>known[1] == <int>entry and _same_objects(<dict>known[0], kwargs):
                return <Plan>known[2]
        return None

    cdef object keep(self, object tokenizer, dict attributes, dict kwargs, Entry entry):
        """After a call that went the slow way and was fine: make its plan, if there is one, and keep it."""
        cdef dict plans
        cdef tuple key = _key(kwargs, _kinds(entry))
        cdef object engines = getattr(attributes.get("_tokenizer"), "_engines", None)
        cdef int64_t generation
        if key is None:
            return None
        if engines is not self.engines:
            self.forget()
            self.engines = engines
            self.is_judged = True
        plans = <dict>self.plans[<int>entry]
        generation = self.generation
        if key in plans:
            return None
        plan = _plans_of[<int>entry](tokenizer, kwargs)
        if generation == self.generation:
            if len(plans) >= KEPT_PLANS:
                plans.clear()
            plans[key] = plan
        return None


cdef Door _door(object tokenizer, dict attributes):
    """The tokenizer's door, or None where it is shut."""
    cdef PyObject *found = PyDict_GetItem(attributes, "_door")
    cdef Door door
    if found == NULL or not isinstance(<object>found, Door):
        return None
    door = <Door>found
    if not door.is_judged:
        door.is_open = type(tokenizer)._keeps_plans(tokenizer)
        door.is_judged = True
    return door if door.is_open else None


cdef object _enter(object tokenizer, tuple args, dict kwargs, Entry entry):
    cdef dict attributes = tokenizer.__dict__
    cdef Door door = _door(tokenizer, attributes)
    if door is None:
        return _slow_ways[<int>entry](tokenizer, *args, **kwargs)
    result = door.run(tokenizer, attributes, args, kwargs, entry)
    if result is not None:
        return result
    result = _slow_ways[<int>entry](tokenizer, *args, **kwargs)
    door.keep(tokenizer, attributes, kwargs, entry)
    return result


def call(self, *args, **kwargs):
    return _enter(self, args, kwargs, CALL)


cdef extern from *:
    """
    static void hftok_set_call(PyObject *type, ternaryfunc call) { ((PyTypeObject *)type)->tp_call = call; }
    """
    ctypedef object (*ternaryfunc)(object, object, PyObject *)
    void hftok_set_call(object type, ternaryfunc call)


cdef object _called(object self, object args, PyObject *kwargs):
    return _enter(self, <tuple>args, {} if kwargs == NULL else <dict>kwargs, CALL)


def call_directly(cls):
    """Let instances of a class whose `__call__` is `call` be called without a look at the class: the interpreter would find the
    method, take the dict of keywords apart and have it put together again. A class derived from this one looks as ever, and so
    does this one once its `__call__` is replaced, since Python sets the slot anew then."""
    if not isinstance(cls, type) or cls.__dict__.get("__call__") is not call:
        raise TypeError(f"{cls!r} is no class with this module's `call`")
    hftok_set_call(cls, _called)


def encode(self, *args, **kwargs):
    return _enter(self, args, kwargs, ENCODE)


def encode_resolved(self, *args, **kwargs):
    return _enter(self, args, kwargs, RESOLVED)


def encode_one(self, *args, **kwargs):
    return _enter(self, args, kwargs, ONE)


def encode_batch(self, *args, **kwargs):
    return _enter(self, args, kwargs, BATCH)
