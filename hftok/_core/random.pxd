# Random numbers for BPE dropout and Unigram sampling: one small generator per thread's scratch (SplitMix64), seeded from
# the operating system when first used and again in the child of a fork, so that no two threads or processes share a stream.
# Tests may fix the seed. The reference draws from another generator: distributions can be the same, draws cannot.
from libc.stdint cimport uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdio.h>
    #include <time.h>
    #if defined(_WIN32)
    extern int __cdecl rand_s(unsigned int *);   /* stdlib.h shows it only when a macro came before the first include */
    static inline uint64_t hftok_process(void) { return 1; }   /* no fork */
    static inline int hftok_os_random(uint64_t *out) {
        unsigned int a, b;
        if (rand_s(&a) != 0 || rand_s(&b) != 0) return 0;
        *out = ((uint64_t)a << 32) | b;
        return 1;
    }
    #else
    #include <unistd.h>
    #include <fcntl.h>
    static inline uint64_t hftok_process(void) { return (uint64_t)getpid(); }
    static inline int hftok_os_random(uint64_t *out) {
        int got, file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
        if (file < 0) return 0;
        got = read(file, out, sizeof *out) == (ssize_t)sizeof *out;
        close(file);
        return got;
    }
    #endif

    typedef struct { uint64_t state; uint64_t process; } hftok_random;   /* process 0: not seeded; UINT64_MAX: fixed seed */

    static inline uint64_t hftok_random_next(hftok_random *r) {
        uint64_t z = (r->state += UINT64_C(0x9E3779B97F4A7C15));
        z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
        return z ^ (z >> 31);
    }

    static inline void hftok_random_fix(hftok_random *r, uint64_t seed) { r->state = seed; r->process = UINT64_MAX; }

    /* Call before a run of draws. */
    static inline void hftok_random_ready(hftok_random *r) {
        if (r->process == UINT64_MAX || r->process == hftok_process()) return;
        if (!hftok_os_random(&r->state)) {
            /* no random device (a bare chroot): time, process and address are all there is */
            r->state ^= (uint64_t)time(NULL) * UINT64_C(0x9E3779B97F4A7C15) ^ hftok_process() << 32 ^ (uint64_t)(uintptr_t)r;
            r->state ^= (uint64_t)clock();
        }
        r->process = hftok_process();
    }

    /* Uniform in [0, 1), steps of 2**-24 and 2**-53. */
    static inline float hftok_random_float(hftok_random *r) {
        return (float)(hftok_random_next(r) >> 40) * (1.0f / 16777216.0f);
    }
    static inline double hftok_random_double(hftok_random *r) {
        return (double)(hftok_random_next(r) >> 11) * (1.0 / 9007199254740992.0);
    }
    """
    ctypedef struct Random "hftok_random":
        uint64_t state
        uint64_t process
    uint64_t random_next "hftok_random_next"(Random *r) noexcept nogil
    void random_fix "hftok_random_fix"(Random *r, uint64_t seed) noexcept nogil
    void random_ready "hftok_random_ready"(Random *r) noexcept nogil
    float random_float "hftok_random_float"(Random *r) noexcept nogil
    double random_double "hftok_random_double"(Random *r) noexcept nogil
