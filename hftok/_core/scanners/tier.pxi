# The kernels of one scanner in one CPU tier, as the engine takes them.
cdef extern from *:
    """
    #include "utf8.h"
    #if defined(HT_UTF8_SIMD)
    #define HT_UTF8_KERNEL ht_utf8_valid
    #else
    #define HT_UTF8_KERNEL NULL
    #endif
    """
    valid_fn HT_UTF8_KERNEL

cdef Kernels _kernels
_kernels.utf8_valid = HT_UTF8_KERNEL
_kernels.scan = scan
_kernels.flush = flush
_kernels.fill = NULL
_kernels.hash_key = ht_hash_key
_kernels.hash_long = ht_hash_long


def kernels():
    """Address of this tier's Kernels struct, for the engine."""
    return <size_t>&_kernels
