"""Build of the Cython core.

Every ``.pyx`` below ``hftok/`` is one extension module. A name that ends in a CPU tier (``_avx2``, ``_avx512``,
``_neon``) is compiled for that tier and only on its architecture; the tier to run is chosen at import by
``hftok._core.cpu``.

Environment:
  HFTOK_OPENMP=0            build without OpenMP (serial, same output)
  HFTOK_SANITIZE=a,b        compile and link with -fsanitize=a,b (address, undefined)
  HFTOK_CHECKED=1           Cython bounds checks on, for tests of the kernels
  HFTOK_OPTIMIZE=N          -O level, 3 by default; 0 compiles in a fifth of the time, for trials
  HFTOK_LINETRACE=1         keep debug symbols (profilers)
  HFTOK_JOBS=N              compilers at once (default: the number of cores)
"""

import os
import pathlib
import platform
import subprocess
import sys
import sysconfig
import tempfile

from setuptools import Extension, setup

ROOT = pathlib.Path(__file__).parent
MSVC = sys.platform == "win32"
MACHINE = platform.machine().lower()
X86 = MACHINE in ("x86_64", "amd64")
ARM = MACHINE in ("aarch64", "arm64")
CHECKED = os.environ.get("HFTOK_CHECKED") == "1"
OPTIMIZE = os.environ.get("HFTOK_OPTIMIZE") or "3"
SANITIZE = os.environ.get("HFTOK_SANITIZE", "")

TIER_FLAGS = {
    "avx2": ["/arch:AVX2"] if MSVC else ["-march=x86-64-v3", "-maes", "-mpclmul"],
    "avx512": ["/arch:AVX512"]
    if MSVC
    else ["-march=x86-64-v4", "-mavx512vbmi", "-mavx512vbmi2", "-mvaes", "-maes", "-mprefer-vector-width=512"],
    "neon": [],
}
TIER_HERE = {"avx2": X86, "avx512": X86, "neon": ARM}


def compiler() -> list[str]:
    return (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()


def openmp_flags() -> tuple[list[str], list[str]]:
    """Compile and link flags for OpenMP, found by compiling and linking a small program; empty where there is none."""
    if os.environ.get("HFTOK_OPENMP") == "0" or sys.platform == "darwin":
        return [], []  # macOS: two OpenMP runtimes in one process crash; the build is serial there
    if MSVC:
        return ["/openmp:llvm"], []
    source = "#include <omp.h>\nint main(void) { return omp_get_max_threads() > 0 ? 0 : 1; }\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "trial.c")
        path.write_text(source)
        command = [*compiler(), "-fopenmp", str(path), "-o", str(path.with_suffix(".out"))]
        try:
            done = subprocess.run(command, capture_output=True, timeout=60).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            done = False
    return (["-fopenmp"], ["-fopenmp"]) if done else ([], [])


def extensions() -> list[Extension]:
    import numpy

    compile_args = (
        ["/O2"] if MSVC else [f"-O{OPTIMIZE}", "-fvisibility=hidden", "-Wno-unused-function", "-Wno-unused-variable"]
    )
    link_args: list[str] = []
    if not MSVC:
        compile_args += ["-g1"] if os.environ.get("HFTOK_LINETRACE") == "1" else ["-g0"]
    if SANITIZE:
        compile_args += [f"-fsanitize={SANITIZE}", "-g", "-O1", "-fno-omit-frame-pointer"]
        link_args += [f"-fsanitize={SANITIZE}"]
    omp_compile, omp_link = openmp_flags()
    result = []
    for path in sorted((ROOT / "hftok").rglob("*.pyx")):
        relative = path.relative_to(ROOT)
        tier = relative.stem.rpartition("_")[2]
        if tier in TIER_HERE and not TIER_HERE[tier]:
            continue
        extra = TIER_FLAGS.get(tier, []) if tier in TIER_HERE else []
        macros = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("CYTHON_PEP489_MULTI_PHASE_INIT", "1")]
        parallel = relative.stem == "parallel"
        result.append(
            Extension(
                ".".join(relative.with_suffix("").parts),
                [str(relative)],
                include_dirs=[numpy.get_include(), "hftok/_core", "hftok/_core/simd"],
                define_macros=macros,
                extra_compile_args=compile_args + extra + (omp_compile if parallel else []),
                extra_link_args=link_args + (omp_link if parallel else []),
            )
        )
    return result


DIRECTIVES = {
    "language_level": 3,
    "boundscheck": CHECKED,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": CHECKED,
    "embedsignature": True,
    "freethreading_compatible": True,
}

# Commands that only describe or pack the sources need no C.
PACKS = {"egg_info", "dist_info", "sdist", "clean"} & set(sys.argv)
COMPILES = not PACKS or {"bdist_wheel", "build_ext"} & set(sys.argv)

jobs = int(os.environ.get("HFTOK_JOBS") or os.cpu_count() or 1)
modules = []
if COMPILES:
    from Cython.Build import cythonize

    modules = cythonize(extensions(), nthreads=jobs, compiler_directives=DIRECTIVES, language_level=3)
setup(ext_modules=modules, options={"build_ext": {"parallel": jobs}})
