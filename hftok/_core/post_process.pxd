# The post-processing stage on Encoding objects. The engine's exact path ends here; its fast path assembles rows itself
# and must give the same.
from libc.stdint cimport uint32_t, uint64_t

from hftok._core.encoding cimport Encoding


cdef class PostProcessorProgram:
    cdef readonly object spec
    cdef list stages
    cdef uint64_t added_single, added_pair

    cdef uint64_t added(self, bint is_pair) noexcept
    cdef list run(self, list encodings, bint add_special_tokens)


cdef Encoding process_encodings(PostProcessorProgram program, Encoding encoding, Encoding pair, bint add_special_tokens)
cdef int pad_batch(list encodings, object padding) except -1
