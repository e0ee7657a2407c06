/* Memory for tables and large outputs: aligned, and on huge pages where the system has them on request. */
#ifndef HFTOK_MEMORY_H
#define HFTOK_MEMORY_H
#include <stdint.h>
#include <stdlib.h>
#if defined(_MSC_VER)
#include <malloc.h>
static __inline void *ht_aligned(size_t size) { return _aligned_malloc(size, 64); }
static __inline void ht_aligned_free(void *p) { _aligned_free(p); }
static __inline void ht_huge(void *p, size_t size) { (void)p; (void)size; }
static __inline void *ht_reserve(size_t size) { (void)size; return NULL; }
static __inline void ht_unreserve(void *p, size_t size) { (void)p; (void)size; }
static __inline void *ht_extend(void *p, size_t size, size_t wanted) { (void)p; (void)size; (void)wanted; return NULL; }
#else
#if defined(__linux__)
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#endif
/* Tables of 2 MiB and more are aligned to huge pages. */
static inline void *ht_aligned(size_t size) {
    void *p = NULL;
    const size_t align = size >= ((size_t)2 << 20) ? ((size_t)2 << 20) : 64;
    return posix_memalign(&p, align, size) == 0 ? p : NULL;
}
static inline void ht_aligned_free(void *p) { free(p); }
/* Ask for huge pages in the whole pages of 2 MiB inside [p, p + size); to be called before they are first touched. */
static inline void ht_huge(void *p, size_t size) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t huge = (uintptr_t)2 << 20;
    const uintptr_t first = ((uintptr_t)p + huge - 1) & ~(huge - 1), last = ((uintptr_t)p + size) & ~(huge - 1);
    if (last > first) (void)madvise((void *)first, (size_t)(last - first), MADV_HUGEPAGE);
#else
    (void)p; (void)size;
#endif
}
/* Addresses for `size` bytes (a multiple of 2 MiB), on huge pages, whose memory is taken when it is touched, and is zero then; NULL
 * where the system has no such thing. */
static inline void *ht_reserve(size_t size) {
#if defined(__linux__) && defined(MAP_NORESERVE)
    const size_t huge = (size_t)2 << 20;
    char *p = (char *)mmap(NULL, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t before;
    if ((void *)p == MAP_FAILED) return NULL;
    before = (huge - (uintptr_t)p % huge) % huge;
    if (before) (void)munmap(p, before);
    (void)munmap(p + before + size, huge - before);
    ht_huge(p + before, size);
    return p + before;
#else
    (void)size;
    return NULL;
#endif
}
static inline void ht_unreserve(void *p, size_t size) {
#if defined(__linux__)
    (void)munmap(p, size);
#else
    (void)p; (void)size;
#endif
}
/* Reserved memory with more room, elsewhere: its pages go there, no byte is copied. NULL, and nothing happens, where that cannot be. */
static inline void *ht_extend(void *p, size_t size, size_t wanted) {
#if defined(__linux__) && defined(MREMAP_FIXED)
    void *to = ht_reserve(wanted);
    if (to == NULL) return NULL;
    if (mremap(p, size, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED) return to;
    ht_unreserve(to, wanted);
    return NULL;
#else
    (void)p; (void)size; (void)wanted;
    return NULL;
#endif
}
#endif
#endif
