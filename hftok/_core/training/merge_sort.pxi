# A stable bottom-up merge sort, to be included where these are defined:
#   Sorted       what is sorted, a struct or number
#   SortContext  what the comparison needs beside two of them
#   cdef inline bint comes_before(const Sorted *a, const Sorted *b, const SortContext *context) noexcept nogil
# The includer cimports Watch and stopped from hftok._core.training.progress.


cdef int merge_sort(Sorted *item, int64_t n, const SortContext *context, Watch *watch) noexcept nogil:
    """Sort; equal items keep their order. 0, or -1 without memory or where it was told to stop: the order is then any."""
    cdef Sorted *scratch = <Sorted *>malloc(<size_t>(n + 1) * sizeof(Sorted))
    cdef Sorted *from_ = item
    cdef Sorted *to = scratch
    cdef Sorted *swap
    cdef int64_t width = 1
    cdef int64_t low, middle, high, i, j, k
    cdef int64_t looked = 0         # items that were moved since it was last asked
    cdef bint done = scratch != NULL
    while done and width < n:
        low = 0
        while low < n:
            middle = min(low + width, n)
            high = min(low + 2 * width, n)
            i = low
            j = middle
            for k in range(low, high):
                if i < middle and (j >= high or not comes_before(&from_[j], &from_[i], context)):
                    to[k] = from_[i]
                    i += 1
                else:
                    to[k] = from_[j]
                    j += 1
            looked += high - low
            low = high
            if looked >= 1 << 17:
                looked = 0
                if stopped(watch):
                    done = False
                    break
        swap = from_
        from_ = to
        to = swap
        width *= 2
    if done and from_ != item:
        memcpy(item, from_, <size_t>n * sizeof(Sorted))
    free(scratch)
    return 0 if done else -1
