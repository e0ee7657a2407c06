"""The scanners of regular expressions, avx2 tier (see regex_body.pxi)."""

include "regex_body.pxi"
