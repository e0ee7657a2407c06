"""The scanner of raw text, avx512 tier (see raw_body.pxi)."""

include "raw_body.pxi"
