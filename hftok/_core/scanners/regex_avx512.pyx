"""The scanners of regular expressions, avx512 tier (see regex_body.pxi)."""

include "regex_body.pxi"
