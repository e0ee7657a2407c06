/* One pointer, set once, read by many threads: a page made on demand is published with release order and read with
 * acquire order. Of two threads that make the same page, the first to publish wins. Or a flag: what was written before it was set
 * is seen by whoever sees it set. Or a cell of a table, which is whole or not there yet.
 *
 * A slot for one pointer that whoever takes it has for himself: ht_take empties it, ht_put fills it if it is empty. Python's
 * lock, where there is one, makes them whole. */
#ifndef HFTOK_PUBLISH_H
#define HFTOK_PUBLISH_H
#include <stddef.h>
#include <stdint.h>
#if defined(_MSC_VER)
#include <intrin.h>
static __forceinline void *ht_acquire(void *volatile *slot) { void *p = *slot; _ReadWriteBarrier(); return p; }
static __forceinline void *ht_publish(void *volatile *slot, void *p) {
    void *old = _InterlockedCompareExchangePointer(slot, p, NULL);
    return old ? old : p;
}
static __forceinline int ht_is_ready(const int *ready) { return (int)_InterlockedOr((volatile long *)ready, 0); }
static __forceinline void ht_put_cell(uint64_t *cell, uint64_t value) { *(volatile uint64_t *)cell = value; }
static __forceinline void ht_set_ready(int *ready) { _InterlockedExchange((volatile long *)ready, 1); }
#if defined(Py_GIL_DISABLED)
static __forceinline void *ht_take(void *volatile *slot) { return _InterlockedExchangePointer(slot, NULL); }
static __forceinline int ht_put(void *volatile *slot, void *p) { return !_InterlockedCompareExchangePointer(slot, p, NULL); }
#endif
#else
static inline void *ht_acquire(void **slot) { return __atomic_load_n(slot, __ATOMIC_ACQUIRE); }
/* Returns what the slot holds afterwards: p, or what another thread put there first. */
static inline void *ht_publish(void **slot, void *p) {
    void *old = NULL;
    return __atomic_compare_exchange_n(slot, &old, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? p : old;
}
static inline int ht_is_ready(const int *ready) { return __atomic_load_n(ready, __ATOMIC_ACQUIRE); }
static inline void ht_put_cell(uint64_t *cell, uint64_t value) { __atomic_store_n(cell, value, __ATOMIC_RELAXED); }
static inline void ht_set_ready(int *ready) { __atomic_store_n(ready, 1, __ATOMIC_RELEASE); }
#if defined(Py_GIL_DISABLED)
static inline void *ht_take(void **slot) { return __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL); }
static inline int ht_put(void **slot, void *p) { void *old = NULL; return __atomic_compare_exchange_n(slot, &old, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE); }
#endif
#endif
#if !defined(Py_GIL_DISABLED)
static inline void *ht_take(void **slot) { void *p = *slot; *slot = NULL; return p; }
static inline int ht_put(void **slot, void *p) { if (*slot) return 0; *slot = p; return 1; }
#endif
#endif
