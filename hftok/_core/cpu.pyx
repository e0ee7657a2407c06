"""Which tier of the kernels this process uses: scalar, avx2, avx512 (x86-64) or neon (arm64).

Chosen once at import: the best tier that was built, that the processor has (cpuid) and whose registers the operating system
saves (xgetbv). `HFTOK_CPU=scalar|avx2|avx512|neon` forces one; a tier that this machine cannot run is refused with
ValueError, so that a test of a tier never silently tests another.
"""
import os

cdef extern from *:
    """
    #if defined(__x86_64__) || defined(_M_X64)
    #if defined(_MSC_VER)
    #include <intrin.h>
    static void hf_cpuid(int leaf, int sub, int r[4]) { __cpuidex(r, leaf, sub); }
    static unsigned long long hf_xgetbv(void) { return _xgetbv(0); }
    #else
    #include <cpuid.h>
    static void hf_cpuid(int leaf, int sub, int r[4]) {
        unsigned a = 0, b = 0, c = 0, d = 0;
        __cpuid_count(leaf, sub, a, b, c, d);
        r[0] = (int)a; r[1] = (int)b; r[2] = (int)c; r[3] = (int)d;
    }
    static unsigned long long hf_xgetbv(void) {
        unsigned lo, hi;
        __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(lo), "=d"(hi) : "c"(0));
        return ((unsigned long long)hi << 32) | lo;
    }
    #endif
    /* bit 0: avx2 tier, bit 1: avx512 tier, bit 2: neon */
    static int hftok_tiers(void) {
        int r[4], max, tiers = 0;
        unsigned long long x;
        hf_cpuid(0, 0, r); max = r[0];
        if (max < 7) return 0;
        hf_cpuid(1, 0, r);
        if (!(r[2] & (1 << 27))) return 0;                          /* OSXSAVE */
        x = hf_xgetbv();
        {
            const int c1 = r[2];
            const int base = (c1 >> 12 & 1) && (c1 >> 22 & 1) && (c1 >> 23 & 1) && (c1 >> 25 & 1) && (c1 >> 28 & 1)
                             && (c1 >> 29 & 1) && (c1 >> 1 & 1);     /* FMA MOVBE POPCNT AES AVX F16C PCLMUL */
            int e[4];
            hf_cpuid((int)0x80000001u, 0, e);
            hf_cpuid(7, 0, r);
            if (base && (e[2] >> 5 & 1) && (x & 6) == 6 && (r[1] >> 5 & 1) && (r[1] >> 3 & 1) && (r[1] >> 8 & 1)) {
                tiers |= 1;                                          /* LZCNT AVX2 BMI1 BMI2 */
                if ((x & 0xE6) == 0xE6 && (r[1] >> 16 & 1) && (r[1] >> 17 & 1) && (r[1] >> 28 & 1) && (r[1] >> 30 & 1)
                    && (r[1] >> 31 & 1) && (r[2] >> 1 & 1) && (r[2] >> 6 & 1) && (r[2] >> 9 & 1))
                    tiers |= 2;                                      /* F DQ CD BW VL VBMI VBMI2 VAES */
            }
        }
        return tiers;
    }
    #elif defined(__aarch64__) || defined(_M_ARM64)
    static int hftok_tiers(void) { return 4; }
    #else
    static int hftok_tiers(void) { return 0; }
    #endif
    """
    int hftok_tiers() noexcept nogil

_BITS = {"avx2": 1, "avx512": 2, "neon": 4}


def available():
    """Tiers that this machine can run, the best last.

    >>> available()[0]
    'scalar'
    """
    cdef int bits = hftok_tiers()
    return ["scalar"] + [name for name, bit in _BITS.items() if bits & bit]


def choose():
    """The tier to use: `HFTOK_CPU` if set, else the best one."""
    tiers = available()
    wanted = os.environ.get("HFTOK_CPU", "").strip().lower()
    if not wanted:
        return tiers[len(tiers) - 1]
    if wanted not in ("scalar", "avx2", "avx512", "neon"):
        raise ValueError(f"HFTOK_CPU={wanted!r}: use one of scalar, avx2, avx512, neon, or leave it unset")
    if wanted not in tiers:
        raise ValueError(f"HFTOK_CPU={wanted!r}: this machine can run {', '.join(tiers)} only")
    return wanted
