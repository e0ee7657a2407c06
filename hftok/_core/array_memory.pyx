"""Memory of big result arrays, used again.

What it does: makes arrays that own their memory as any array does, and buffers that may become such arrays. Once one is gone, its memory is kept for
the next one, up to KEPT_BYTES in KEPT_BLOCKS blocks a process. A batch in a training loop has arrays of some MB: memory
fresh from the operating system costs a page fault every 4 KiB, which is many times what writing the values costs.
How: NumPy asks the handler that is set while an array is made for its memory (PyDataMem_Handler), and gives it back there.
Blocks are given out again for a need of at least half of their size.
Left to others: what is written. Values are not set here.
"""
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

cnp.import_array()

cdef extern from "pythread.h":
    ctypedef void *PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock()
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait) noexcept nogil
    void PyThread_release_lock(PyThread_type_lock lock) noexcept nogil

cdef extern from "memory.h" nogil:
    void *ht_reserve(size_t size)
    void ht_unreserve(void *p, size_t size)
    void *ht_extend(void *p, size_t size, size_t wanted)

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyArray_Descr:
        pass
    PyTypeObject PyArray_Type
    # Takes the reference to the descriptor over.
    object PyArray_NewFromDescr(PyTypeObject *kind, PyArray_Descr *descriptor, int dimensions, cnp.npy_intp *shape, cnp.npy_intp *strides,
                                void *data, int flags, PyObject *like)

cdef enum:
    FROM_BYTES = 32768       # smaller arrays are NumPy's own matter
    KEPT_BLOCKS = 16
    HUGE = 2097152
    HUGE_FROM = 4194304      # larger blocks are on huge pages, where clearing and faults take half the time, and grow without a copy
    HEADER = 64              # before the data, which is aligned to a cache line as the block is to 16 bytes

cdef int64_t KEPT_BYTES = 64 << 20

cdef struct Block:
    int64_t capacity
    size_t reserved          # bytes of it and this header if it is on huge pages of its own, else 0

cdef Block *_kept[KEPT_BLOCKS]           # the oldest first
cdef int _n = 0
cdef int64_t _bytes = 0
cdef PyThread_type_lock _lock = PyThread_allocate_lock()


cdef inline bint _enter() noexcept nogil:
    # Never waits: memory is then got and given back without the pool. So a lock that was held during a fork does no harm.
    return _lock != NULL and PyThread_acquire_lock(_lock, 0)


cdef Block *_take(int64_t size) noexcept nogil:
    """The kept block that fits best, or NULL."""
    global _n, _bytes
    cdef int i, best = -1
    cdef Block *block = NULL
    if not _enter():
        return NULL
    for i in range(_n):
        if size <= _kept[i].capacity and _kept[i].capacity // 2 <= size:
            if best < 0 or _kept[i].capacity <= _kept[best].capacity:
                best = i
    if best >= 0:
        block = _kept[best]
        _drop(best)
    PyThread_release_lock(_lock)
    return block


cdef inline void _release(Block *block) noexcept nogil:
    if block.reserved:
        ht_unreserve(block, block.reserved)
    else:
        free(block)


cdef void _drop(int which) noexcept nogil:
    global _n, _bytes
    cdef int i
    _bytes -= _kept[which].capacity
    _n -= 1
    for i in range(which, _n):
        _kept[i] = _kept[i + 1]


cdef void _give_back(Block *block) noexcept nogil:
    global _n, _bytes
    cdef Block *oldest
    if block.capacity > KEPT_BYTES or not _enter():
        _release(block)
        return
    while _n == KEPT_BLOCKS or _bytes + block.capacity > KEPT_BYTES:
        oldest = _kept[0]
        _drop(0)
        _release(oldest)
    _kept[_n] = block
    _n += 1
    _bytes += block.capacity
    PyThread_release_lock(_lock)


cdef inline size_t _whole_pages(size_t size) noexcept nogil:
    return (HEADER + size + HUGE - 1) & ~<size_t>(HUGE - 1)


cdef inline Block *_on_pages(void *p, size_t size) noexcept nogil:
    """Reserved memory as a block; NULL if there is none."""
    cdef Block *block = <Block *>p
    if block != NULL:
        block.reserved = size
        block.capacity = <int64_t>(size - HEADER)
    return block


cdef Block *_new(size_t size) noexcept nogil:
    cdef Block *block = NULL
    if size >= HUGE_FROM:
        block = _on_pages(ht_reserve(_whole_pages(size)), _whole_pages(size))
        if block != NULL:
            return block
    block = <Block *>malloc(HEADER + size)
    if block != NULL:
        block.reserved = 0
        block.capacity = <int64_t>size
    return block


cdef void *_malloc(void *context, size_t size) noexcept nogil:
    cdef Block *block
    if size > <size_t>(1 << 62):
        return NULL
    block = _take(<int64_t>size)
    if block == NULL:
        block = _new(size)
    return <char *>block + HEADER if block != NULL else NULL


cdef void *_calloc(void *context, size_t n, size_t size) noexcept nogil:
    cdef void *data
    if size and n > <size_t>(1 << 62) // size:
        return NULL
    data = _malloc(context, n * size)
    if data != NULL:
        memset(data, 0, n * size)
    return data


cdef void *_realloc(void *context, void *data, size_t size) noexcept nogil:
    cdef void *moved
    if data == NULL or <size_t>((<Block *>(<char *>data - HEADER)).capacity // 2) <= size:
        return kept_realloc(data, size)
    # Much smaller: the surplus is given back.
    moved = _malloc(context, size)
    if moved == NULL:
        return NULL
    memcpy(moved, data, size)
    kept_free(data)
    return moved


cdef void _free(void *context, void *data, size_t size) noexcept nogil:
    if data != NULL:
        _give_back(<Block *>(<char *>data - HEADER))


cdef cnp.PyDataMem_Handler _handler
memset(&_handler, 0, sizeof(_handler))
memcpy(_handler.name, <const char *>b"hftok_result_memory", 20)
_handler.version = 1
_handler.allocator.malloc = <void *(*)(void *, size_t) noexcept nogil>_malloc
_handler.allocator.calloc = <void *(*)(void *, size_t, size_t) noexcept nogil>_calloc
_handler.allocator.realloc = <void *(*)(void *, void *, size_t) noexcept nogil>_realloc
_handler.allocator.free = <void (*)(void *, void *, size_t) noexcept nogil>_free
cdef object _capsule = PyCapsule_New(&_handler, b"mem_handler", NULL)


cdef void *kept_malloc(size_t size) noexcept nogil:
    return _malloc(NULL, size)


cdef void *kept_realloc(void *data, size_t size) noexcept nogil:
    cdef Block *block
    cdef Block *grown
    if data == NULL:
        return _malloc(NULL, size)
    block = <Block *>(<char *>data - HEADER)
    if size <= <size_t>block.capacity:
        return data
    if size > <size_t>(1 << 62):
        return NULL
    if block.reserved:
        grown = _on_pages(ht_extend(block, block.reserved, _whole_pages(size)), _whole_pages(size))
        if grown != NULL:
            return <char *>grown + HEADER
    if block.reserved or size >= HUGE_FROM:
        grown = _new(size)
        if grown == NULL:
            return NULL
        memcpy(<char *>grown + HEADER, data, <size_t>block.capacity)
        _release(block)
        return <char *>grown + HEADER
    block = <Block *>realloc(block, HEADER + size)
    if block == NULL:
        return NULL
    block.capacity = <int64_t>size
    return <char *>block + HEADER


cdef void kept_free(void *data) noexcept nogil:
    _free(NULL, data, 0)


cdef void _free_adopted(object capsule) noexcept:
    kept_free(PyCapsule_GetPointer(capsule, NULL))


cdef object adopt(void *data, cnp.npy_intp *shape, int dimensions, int kind):
    cdef object base
    try:
        base = PyCapsule_New(data, NULL, _free_adopted)
    except BaseException:
        kept_free(data)
        raise
    array = cnp.PyArray_SimpleNewFromData(dimensions, shape, kind, data)
    cnp.set_array_base(<cnp.ndarray>array, base)
    return array


cdef object new_int64(int dimensions, cnp.npy_intp *shape):
    return new_array(dimensions, shape, cnp.NPY_INT64, 8)


cdef object new_array(int dimensions, cnp.npy_intp *shape, int kind, int item_size):
    cdef int i
    cdef double size = item_size
    for i in range(dimensions):
        size *= shape[i]
    if size < FROM_BYTES:
        return cnp.PyArray_EMPTY(dimensions, shape, kind, 0)
    before = cnp.PyDataMem_SetHandler(_capsule)
    try:
        return cnp.PyArray_EMPTY(dimensions, shape, kind, 0)
    finally:
        cnp.PyDataMem_SetHandler(before)


cdef object _uint32 = cnp.dtype("uint32")


cdef object new_uint32(cnp.npy_intp n):
    Py_INCREF(_uint32)
    return PyArray_NewFromDescr(&PyArray_Type, <PyArray_Descr *>_uint32, 1, &n, NULL, NULL, 0, NULL)


def kept_blocks():
    """Capacities in bytes of the blocks that are kept, the oldest first.

    >>> all(size > 0 for size in kept_blocks())
    True
    """
    cdef int i
    return [_kept[i].capacity for i in range(_n)]
