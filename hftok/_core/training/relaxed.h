/* Loads and stores that several threads may do at once on one cell, where any order gives the same result (merge_engine
 * says why), and additions to shared counters. */
#ifndef HFTOK_RELAXED_H
#define HFTOK_RELAXED_H
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define HFTOK_LOAD(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define HFTOK_STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
static inline void hftok_add64(uint64_t *p, uint64_t v) { __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }
#define HFTOK_PREFETCH(p) __builtin_prefetch(p)
#else
#include <intrin.h>
#define HFTOK_LOAD(p) (*(p))
#define HFTOK_STORE(p, v) (*(p) = (v))
static inline void hftok_add64(uint64_t *p, uint64_t v) { _InterlockedExchangeAdd64((volatile long long *)p, (long long)v); }
#define HFTOK_PREFETCH(p) ((void)(p))
#endif

static inline uint16_t hftok_load16(const uint16_t *p) { return HFTOK_LOAD((const volatile uint16_t *)p); }
static inline uint32_t hftok_load32(const uint32_t *p) { return HFTOK_LOAD((const volatile uint32_t *)p); }
static inline void hftok_store16(uint16_t *p, uint16_t v) { HFTOK_STORE((volatile uint16_t *)p, v); }
static inline void hftok_store32(uint32_t *p, uint32_t v) { HFTOK_STORE((volatile uint32_t *)p, v); }
static inline void hftok_prefetch(const void *p) { HFTOK_PREFETCH((const char *)p); }
#endif
